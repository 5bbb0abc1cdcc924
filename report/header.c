/* SPDX-License-Identifier: MIT */
/* header.c - what produced a profile and what it lacks, before any figure is shown. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "print.h"

/* Facts in the order of the header; those it does not know come after them. */
static const char *const order[] = {"program",  "host",      "started",   "lasted",
                                    "clock",    "modes",     "recursion", "budget",
                                    "overhead", "recordings"};

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

/* All texts of a fact, between commas: "exact, sampled"; a few of many. */
static void put_texts(struct tt_text *out, const struct tt_profile *p, const char *name)
{
    enum { SHOWN = 4 };
    uint32_t seen = 0;

    for (uint32_t i = 0; i < p->facts; i++) {
        if (strcmp(name_of(p, &p->fact[i]), name) != 0)
            continue;
        if (seen < SHOWN)
            tt_text_printf(out, "%s%s", seen ? ", " : "",
                           tt_profile_string(p, p->fact[i].text));
        seen++;
    }
    if (seen > SHOWN)
        tt_text_printf(out, " and %u more", seen - SHOWN);
}

static void put_time(struct tt_text *out, uint64_t ns)
{
    time_t seconds = (time_t)(ns / 1000000000);
    char text[64];
    struct tm t;

    if (gmtime_r(&seconds, &t) &&
        strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &t))
        tt_text_put(out, text);
}

static void put_fact(struct tt_text *out, const struct tt_profile *p,
                     const struct tt_fact *f)
{
    const char *name = name_of(p, f);

    tt_text_printf(out, "%-11s ", name);
    if (strcmp(name, "started") == 0)
        put_time(out, f->number);
    else if (strcmp(name, "lasted") == 0)
        tt_text_printf(out, "%.3f s", (double)f->number / 1e9);
    else if (f->rule == TT_FACT_EACH && is_known(name))
        put_texts(out, p, name);
    else if (f->rule == TT_FACT_EACH)
        tt_text_printf(out, "%llu %s", (unsigned long long)f->number,
                       tt_profile_string(p, f->text));
    else
        tt_text_printf(out, "%llu", (unsigned long long)f->number);
    tt_text_put(out, "\n");
}

static const struct tt_fact *find(const struct tt_profile *p, const char *name)
{
    for (uint32_t i = 0; i < p->facts; i++)
        if (strcmp(name_of(p, &p->fact[i]), name) == 0)
            return &p->fact[i];
    return NULL;
}

static int is_first_of_name(const struct tt_profile *p, uint32_t i)
{
    return i == 0 || p->fact[i].name != p->fact[i - 1].name;
}

void tt_text_header(struct tt_text *out, const struct tt_profile *p, int color)
{
    if (color)
        tt_text_put(out, "\033[2m");
    for (size_t i = 0; i < KNOWN; i++) {
        const struct tt_fact *f = find(p, order[i]);
        int is_one = f && strcmp(order[i], "recordings") == 0 && f->number == 1;
        int has_text = f && (f->rule != TT_FACT_EACH || *tt_profile_string(p, f->text));
        if (f && !is_one && (has_text || f->number == 0))
            put_fact(out, p, f);
    }
    for (uint32_t i = 0; i < p->facts; i++)
        if (p->fact[i].number && is_first_of_name(p, i) &&
            !is_known(name_of(p, &p->fact[i])))
            put_fact(out, p, &p->fact[i]);
    if (p->strands > 1)
        tt_text_printf(out, "%-11s %u\n", "strands", p->strands);
    if (color)
        tt_text_put(out, "\033[0m");
    tt_text_put(out, "\n");
}
