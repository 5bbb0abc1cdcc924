/* SPDX-License-Identifier: MIT */
/* header.c - how a profile was made and what it lacks, printed before any figures.
 *
 * Every fact has a line, known here or not, unless it is zero or empty.  The name of an
 * amount is "subject" or "subject.of what":
 *
 *      lost.calls 12                   lost        12 calls
 *      hidden.unseen 3000 of "time"    hidden      3.000 µs unseen of time */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "header.h"
#include "range.h"
#include "table-print.h"

/* Facts in the order of the header; all others come after them. */
static const char *const order[] = {
    "program", "host",     "format",        "source",     "paths",
    "started", "until",    "gap",           "lasted",     "cpu",
    "clock",   "modes",    "rate",          "recursion",  "stacks",
    "budget",  "overhead", "overhead.most", "recordings", "unresolved"};

enum { KNOWN = sizeof order / sizeof *order };

static int is_known(const char *name)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (strcmp(order[i], name) == 0)
            return 1;
    return 0;
}

static const char *name_of(const struct tt_profile *p, const struct tt_fact *f)
{
    return tt_profile_string(p, f->name);
}

static int is_named(const struct tt_profile *p, uint32_t i, const char *name)
{
    return i < p->facts && strcmp(name_of(p, &p->fact[i]), name) == 0;
}

/* Facts that are texts, and count the recordings that have them; "subject.of" facts have
 * a text that names the object. */
static int is_text(const struct tt_profile *p, const struct tt_fact *f)
{
    const char *name = name_of(p, f);

    return f->rule == TT_FACT_EACH &&
           (!strchr(name, '.') || strcmp(name, TT_FACT_UNSPLIT) == 0);
}

static void put_label(struct tt_text *out, const char *label)
{
    enum { LABEL = 11 };
    size_t width = tt_text_width(label);

    tt_text_show(out, label, SIZE_MAX);
    tt_text_repeat(out, ' ', width < LABEL ? LABEL - width + 1 : 1);
}

/* Prints all texts of a name on one line: "exact, sampled"; a few if there are many. */
static void put_texts(struct tt_text *out, const struct tt_profile *p, const char *name,
                      uint32_t first, uint32_t end)
{
    enum { SHOWN = 4 };
    uint32_t seen = 0;

    for (uint32_t i = first; i < end; i++) {
        const char *text = tt_profile_string(p, p->fact[i].text);
        if (!is_named(p, i, name) || !is_text(p, &p->fact[i]) || !*text)
            continue;
        if (seen == 0)
            put_label(out, strcmp(name, TT_FACT_UNSPLIT) == 0 ? "unsplit" : name);
        else if (seen < SHOWN)
            tt_text_put(out, ", ");
        if (seen++ < SHOWN)
            tt_text_show(out, text, SIZE_MAX);
    }
    if (seen > SHOWN)
        tt_text_printf(out, " and %u more", seen - SHOWN);
    if (seen)
        tt_text_put(out, "\n");
}

static void put_date(struct tt_text *out, uint64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000);
    char text[64];
    struct tm t;

    if (gmtime_r(&seconds, &t) &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &t))
        tt_text_put(out, text);
}

static const char *unit_of(const struct tt_profile *p, const char *metric)
{
    uint32_t i = tt_metric_find(p, metric);

    return i == TT_NONE ? "" : p->metric[i].unit;
}

/* Evicted amounts are in the unit of time, which is that of the clock. */
static const char *unit_of_time(const struct tt_profile *p)
{
    for (uint32_t i = 0; i < p->metrics; i++)
        if (p->metric[i].flags & TT_METRIC_TIME)
            return p->metric[i].unit;
    return "";
}

static int is_duration(const char *name)
{
    static const char *const names[] = {"lasted", "cpu", "preempted", "gap"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return 0;
}

static void put_amount(struct tt_text *out, const struct tt_profile *p,
                       const struct tt_fact *f)
{
    const char *name = name_of(p, f), *of = strchr(name, '.'),
               *text = tt_profile_string(p, f->text), *unit = unit_of(p, text);
    const int is_of_log = strcmp(name, "lost.timed") == 0;
    char label[64];

    if (strcmp(name, "evicted") == 0 || is_of_log)
        unit = unit_of_time(p);
    if (is_duration(name))
        unit = "ns";
    (void)snprintf(label, sizeof label, "%.*s", (int)strcspn(name, "."), name);
    put_label(out, label);
    if (strcmp(name, "started") == 0 || strcmp(name, "until") == 0)
        put_date(out, f->number);
    else
        tt_text_amount(out, f->number, unit);
    if (of) {
        tt_text_put(out, " ");
        tt_text_show(out, is_of_log ? "of samples found no room in the log" : of + 1,
                     SIZE_MAX);
    }
    if (*text) {
        tt_text_put(out, of ? " of " : " ");
        tt_text_show(out, text, SIZE_MAX);
    }
    tt_text_put(out, "\n");
}

/* The range of --time, as seconds of the run; it has both ends. */
static int put_range(struct tt_text *out, const struct tt_profile *p,
                     const struct tt_fact *f)
{
    const struct tt_range run = tt_range_of_run(p);

    if (strncmp(name_of(p, f), TT_FACT_PROGRAM_BEGAN, strlen(TT_FACT_PROGRAM_BEGAN)) ==
            0 ||
        strcmp(name_of(p, f), TT_FACT_TO) == 0 ||
        strcmp(name_of(p, f), TT_FACT_LENGTH) == 0 ||
        strcmp(name_of(p, f), TT_FACT_BEGAN) == 0 ||
        strcmp(name_of(p, f), TT_FACT_BEGINS) == 0)
        return 1;
    if (strcmp(name_of(p, f), TT_FACT_FROM) != 0)
        return 0;
    put_label(out, "time");
    tt_text_printf(out, "from %.3f s to %.3f s, of %.3f s\n",
                   (double)(f->number - run.from) / 1e9,
                   (double)(tt_fact_number(p, TT_FACT_TO) - run.from) / 1e9,
                   (double)(run.to - run.from) / 1e9);
    return 1;
}

/* Prints the cost of an activation, as a range. */
static int put_overhead(struct tt_text *out, const struct tt_profile *p,
                        const struct tt_fact *f)
{
    if (strcmp(name_of(p, f), "overhead.least") == 0)
        return 1;
    if (strcmp(name_of(p, f), "overhead.most") != 0)
        return 0;
    put_label(out, "overhead");
    tt_text_printf(out, "%.1f to %.1f ns an activation\n",
                   (double)tt_fact_number(p, "overhead.least") / 1000,
                   (double)f->number / 1000);
    return 1;
}

/* Prints the CPU time of threads that have no samples. */
static int put_unsampled(struct tt_text *out, const struct tt_profile *p,
                         const struct tt_fact *f)
{
    if (strcmp(name_of(p, f), "threads.unseen") != 0)
        return 0;
    put_label(out, "unsampled");
    tt_text_amount(out, f->number, "ns");
    tt_text_put(out, " of CPU time, in threads without a sample\n");
    return 1;
}

/* How samples were weighed shows in each ±, and what was sampled of memory in the modes. */
static int is_of_weights(const struct tt_profile *p, const struct tt_fact *f)
{
    return strncmp(name_of(p, f), "weights.", 8) == 0 ||
           strcmp(name_of(p, f), TT_FACT_HEAP_RATE) == 0;
}

/* Prints the facts from `first` to `end` that have a name and are not empty. */
static void put_facts(struct tt_text *out, const struct tt_profile *p, const char *name,
                      uint32_t first, uint32_t end)
{
    int has_texts = 0;

    for (uint32_t i = first; i < end; i++) {
        if (!is_named(p, i, name) || !p->fact[i].number)
            continue;
        if (is_text(p, &p->fact[i]))
            has_texts = 1;
        else if (!is_of_weights(p, &p->fact[i]) && !put_overhead(out, p, &p->fact[i]) &&
                 !put_unsampled(out, p, &p->fact[i]) && !put_range(out, p, &p->fact[i]))
            put_amount(out, p, &p->fact[i]);
    }
    if (has_texts)
        put_texts(out, p, name, first, end);
}

void tt_text_header(struct tt_text *out, const struct tt_profile *p, int color)
{
    uint32_t end;

    if (color)
        tt_text_put(out, "\033[2m");
    for (size_t i = 0; i < KNOWN; i++)
        if (strcmp(order[i], "recordings") != 0 || tt_fact_number(p, "recordings") > 1)
            put_facts(out, p, order[i], 0, p->facts);
    for (uint32_t i = 0; i < p->facts; i = end) {
        const char *name = name_of(p, &p->fact[i]);
        for (end = i + 1; is_named(p, end, name);)
            end++;
        if (!is_known(name))
            put_facts(out, p, name, i, end);
    }
    if (p->strands > 1) {
        put_label(out, "strands");
        tt_text_printf(out, "%u\n", p->strands);
    }
    if (color)
        tt_text_put(out, "\033[0m");
    tt_text_put(out, "\n");
}
