/* SPDX-License-Identifier: MIT */
/* likeness.c - elapsed time, CPU time and time with waits have one name, `time`; how they were
 * recorded says which it is. */
#include "likeness.h"

#include <string.h>

/* Which share of the recordings has waits? */
enum waits { NO_WAITS, SOME_WAITS, ALL_WAITS };

static uint64_t waiting(const struct tt_profile *p) { return tt_fact_number(p, "wall"); }

static enum waits waits_of(const struct tt_profile *p)
{
    const uint64_t with = waiting(p);

    return !with                                    ? NO_WAITS
           : with < tt_fact_number(p, "recordings") ? SOME_WAITS
                                                    : ALL_WAITS;
}

/* A mode that measures time, or counts calls?  1 if no modes are known. */
static int has_mode(const struct tt_profile *p, int of_time)
{
    int modes = 0;

    for (uint32_t i = 0; i < p->facts; i++)
        if (strcmp(tt_profile_string(p, p->fact[i].name), "modes") == 0) {
            const char *text = tt_profile_string(p, p->fact[i].text),
                       *word = strchr(text, ' ');
            modes++;
            if (word &&
                strncmp(word, of_time ? " calls" : " sampled", of_time ? 6 : 8) != 0)
                return 1;
        }
    return !modes;
}

int tt_is_measured(const struct tt_profile *p, const struct tt_metric_columns *m)
{
    const int is_time = strcmp(m->name, "time") == 0 || strcmp(m->name, "ticks") == 0,
              is_calls = strcmp(m->name, "calls") == 0;

    return (!is_time && !is_calls) || tt_grand_total(p, m) || has_mode(p, is_time);
}

const char *tt_unlikeness(const struct tt_profile *a,
                          const struct tt_metric_columns *of_a,
                          const struct tt_profile *b,
                          const struct tt_metric_columns *of_b, struct tt_table *t)
{
    static const char *const of_waits[] = {"CPU time", "partly time with waits",
                                           "time with waits"};
    const int by_a = (of_a->flags & TT_METRIC_SAMPLED) != 0,
              by_b = (of_b->flags & TT_METRIC_SAMPLED) != 0;

    if (!(of_a->flags & of_b->flags & TT_METRIC_TIME))
        return NULL;
    if (by_a != by_b)
        return tt_table_text(t, "%s of the first is %s, of the second %s", of_a->name,
                             by_a ? "sampled" : "measured",
                             by_b ? "sampled" : "measured");
    if (by_a && waits_of(a) != waits_of(b))
        return tt_table_text(t, "%s of the first is %s, of the second %s", of_a->name,
                             of_waits[waits_of(a)], of_waits[waits_of(b)]);
    return NULL;
}

void tt_note_mixture(const struct tt_profile *p, const struct tt_metric_columns *m,
                     struct tt_table *t)
{
    const uint64_t all = tt_fact_number(p, "recordings");

    if ((m->flags & TT_METRIC_SAMPLED) && waits_of(p) == SOME_WAITS)
        tt_table_note(
            t, "mixed",
            "mixed: of %llu recordings, %llu have waiting time, too; the others "
            "have CPU time alone",
            (unsigned long long)all, (unsigned long long)waiting(p));
    for (uint32_t i = 0; i < p->metrics; i++)
        if (&p->metric[i] != m && strcmp(p->metric[i].name, m->name) == 0 &&
            p->metric[i].flags & TT_METRIC_SAMPLED && tt_grand_total(p, &p->metric[i]))
            tt_table_note(t, "not shown",
                          "not shown: %s that was sampled, of some recordings; "
                          "--metric '%s" TT_SAMPLED_NAME "' shows it",
                          m->name, m->name);
}
