/* SPDX-License-Identifier: MIT */
/* range.c - parses a range of time: FROM..TO.
 *
 *      12.3s  1m30s  250ms      from the beginning of the run
 *      -5s                      before its end
 *      80%                      a share of it
 *      14:03:10.5               the time of day, UTC; the first such moment of the run
 *
 * Either may be omitted, and `A` alone is the second that begins there.  With `not:` before
 * it, it is the rest of the run. */
#include "range.h"

#include <stdio.h>
#include <string.h>

enum { NS = 1000000000, DAY = 24 * 3600 };

enum moment_kind { FROM_START, FROM_END, SHARE, OF_DAY };
struct moment {
    enum moment_kind kind;
    uint64_t ns; /* of a share: in billionths */
};

/* ── Reading ──────────────────────────────────────────────────────────────────────── */

/* Reads a decimal number.  Returns its end, or NULL if there is none. */
static const char *read_number(const char *p, uint64_t *whole, uint64_t *billionths)
{
    uint64_t unit = NS;
    const char *digits = p;

    *whole = *billionths = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        if (*whole > UINT64_MAX / 100)
            return NULL;
        *whole = *whole * 10 + (uint64_t)(*p - '0');
    }
    if (*p == '.' && p[1] != '.')
        for (p++; *p >= '0' && *p <= '9'; p++) {
            unit /= 10;
            *billionths += (uint64_t)(*p - '0') * unit;
        }
    return p == digits || (p == digits + 1 && *digits == '.') ? NULL : p;
}

static const char *read_billionths(const char *p, uint64_t *value)
{
    uint64_t whole, billionths;
    const char *end = read_number(p, &whole, &billionths);

    if (!end || whole > UINT64_MAX / 4 / NS)
        return NULL;
    *value = whole * NS + billionths;
    return end;
}

/* "1h2m3.5s", "250ms": in falling units. */
static const char *read_duration(const char *p, uint64_t *ns)
{
    static const struct {
        const char *name;
        uint64_t many, parts;
    } units[] = {{"h", 3600, 1}, {"min", 60, 1},     {"ms", 1, 1000}, {"m", 60, 1},
                 {"s", 1, 1},    {"us", 1, 1000000}, {"ns", 1, NS}};
    uint64_t whole, billionths, unit, last = UINT64_MAX;
    const size_t count = sizeof units / sizeof *units;

    *ns = 0;
    do {
        const char *end = read_number(p, &whole, &billionths);
        size_t i = 0;
        while (end && i < count &&
               strncmp(end, units[i].name, strlen(units[i].name)) != 0)
            i++;
        if (!end || i == count)
            return NULL;
        unit = units[i].many * NS / units[i].parts;
        if (whole > UINT64_MAX / 8 / unit || unit >= last)
            return NULL;
        last = unit;
        *ns += whole * unit + billionths * units[i].many / units[i].parts;
        p = end + strlen(units[i].name);
    } while (*p >= '0' && *p <= '9');
    return p;
}

/* "14:03", "14:03:10.5" */
static const char *read_time_of_day(const char *p, uint64_t *ns)
{
    unsigned hour, minute;
    int used = 0;
    uint64_t seconds = 0;

    if (*p < '0' || *p > '9' || sscanf(p, "%2u:%2u%n", &hour, &minute, &used) != 2 ||
        !used || hour > 23 || minute > 59)
        return NULL;
    p += used;
    if (*p == ':')
        p = read_billionths(p + 1, &seconds);
    if (seconds > 60ull * NS)
        return NULL;
    *ns = ((uint64_t)hour * 3600 + minute * 60) * NS + seconds;
    return p;
}

/* Returns the end of the moment, or NULL if there is none. */
static const char *read_moment(const char *p, struct moment *m)
{
    const char *end;

    if (*p == '-') {
        m->kind = FROM_END;
        return read_duration(p + 1, &m->ns);
    }
    m->kind = OF_DAY;
    if ((end = read_time_of_day(p, &m->ns)) != NULL)
        return end;
    m->kind = SHARE;
    end = read_billionths(p, &m->ns);
    if (end && *end == '%')
        return m->ns <= 100ull * NS ? end + 1 : NULL;
    m->kind = FROM_START;
    if (end && m->ns == 0 && (!*end || strncmp(end, "..", 2) == 0))
        return end; /* 0 needs no unit */
    return read_duration(p, &m->ns);
}

struct written {
    struct moment from, to;
    int is_alone;   /* the second was omitted, with its dots */
    int is_outside; /* `not:` was before it */
};

static int read_range(const char *text, struct written *w)
{
    const char *p = text;

    *w = (struct written){{FROM_START, 0}, {FROM_END, 0}, 0, 0};
    if (strncmp(p, TT_RANGE_NOT, strlen(TT_RANGE_NOT)) == 0) {
        w->is_outside = 1;
        p += strlen(TT_RANGE_NOT);
    }
    if (!*p)
        return -TT_ERR_OPTION;
    if (strncmp(p, "..", 2) != 0)
        p = read_moment(p, &w->from);
    if (!p)
        return -TT_ERR_OPTION;
    w->is_alone = !*p;
    if (w->is_alone)
        return 0;
    if (strncmp(p, "..", 2) != 0)
        return -TT_ERR_OPTION;
    p += 2;
    if (*p)
        p = read_moment(p, &w->to);
    return p && !*p ? 0 : -TT_ERR_OPTION;
}

int tt_range_is_right(const char *text)
{
    struct written w;

    return read_range(text, &w) == 0;
}

/* ── Ranges of a profile ──────────────────────────────────────────────────────────── */

struct tt_range tt_range_of_run(const struct tt_profile *p)
{
    const struct tt_profile *whole = p->whole ? p->whole : p;
    const uint64_t until = tt_fact_number(whole, "until"), /* of several, the last one */
        began = tt_fact_number(whole, TT_FACT_BEGAN);
    struct tt_range r = {tt_fact_number(whole, "started"), 0, 0};

    if (!r.from && whole->samples)
        r.from = whole->sample[0].time;
    if (tt_fact_text(whole, TT_FACT_BEGAN) && began < r.from)
        r.from = began;
    r.to = r.from + tt_fact_number(whole, "lasted");
    r.to = until ? until : r.to; /* several chains last longer together */
    if (whole->samples) {        /* they are in the order of time */
        const struct tt_sample_row *s = &whole->sample[whole->samples - 1];
        const uint64_t length = tt_fact_number(whole, TT_FACT_BEGINS) ? s->weight : 0,
                       last = s->time < UINT64_MAX - length ? s->time + length : s->time;
        r.from = whole->sample[0].time < r.from ? whole->sample[0].time : r.from;
        r.to = last >= r.to && last < UINT64_MAX ? last + 1 : r.to;
    }
    return r;
}

struct tt_range tt_range_shown(const struct tt_profile *p)
{
    const struct tt_range run = tt_range_of_run(p);
    const uint64_t from = tt_fact_number(p, TT_FACT_FROM),
                   to = tt_fact_number(p, TT_FACT_TO);

    return to ? (struct tt_range){from, to, 0} : run;
}

uint64_t tt_range_started(const struct tt_profile *p)
{
    const uint64_t started = tt_fact_number(p, "started");

    if (!started && !tt_fact_text(p, TT_FACT_BEGAN))
        return 0; /* its times have no date */
    return tt_fact_number(p, TT_FACT_TO) ? tt_fact_number(p, TT_FACT_FROM) : started;
}

uint64_t tt_range_lasted(const struct tt_profile *p)
{
    const uint64_t length = tt_fact_number(p, TT_FACT_LENGTH);

    return length ? length : tt_fact_number(p, "lasted");
}

static uint64_t time_of(const struct moment *m, const struct tt_range *run)
{
    const uint64_t length = run->to - run->from, day = (uint64_t)DAY * NS;
    uint64_t at = m->ns;

    if (m->kind == OF_DAY)
        at = (m->ns + day - run->from % day) % day;
    if (m->kind == SHARE)
        at = (uint64_t)((unsigned __int128)length * m->ns / (100ull * NS));
    if (at > length)
        at = length;
    return m->kind == FROM_END ? run->to - at : run->from + at;
}

uint64_t tt_range_length(const struct tt_range *r, const struct tt_range *run)
{
    const uint64_t inside = r->to - r->from;

    return r->is_outside ? run->to - run->from - inside : inside;
}

int tt_range_find(const struct tt_profile *p, const char *text, struct tt_range *r,
                  char *reason, size_t size)
{
    const struct tt_profile *whole = p->whole ? p->whole : p;
    const struct tt_range run = tt_range_of_run(p);
    struct written w;

    *r = run;
    if (read_range(text, &w) != 0) {
        (void)snprintf(reason, size, "a range is FROM..TO, such as 2s..3.5s or -10s..");
        return -TT_ERR_OPTION;
    }
    if (!whole->samples && !whole->points) {
        (void)snprintf(reason, size, "this profile has no samples by time");
        return -TT_ERR_OPTION;
    }
    r->from = time_of(&w.from, &run);
    r->to = w.is_alone ? r->from + NS : time_of(&w.to, &run);
    r->to = r->to > run.to ? run.to : r->to;
    r->is_outside = w.is_outside;
    if (r->from >= r->to || !tt_range_length(r, &run)) {
        (void)snprintf(reason, size, "the range is empty: the run took %.3f s",
                       (double)(run.to - run.from) / NS);
        return -TT_ERR_OPTION;
    }
    return 0;
}
