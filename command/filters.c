/* SPDX-License-Identifier: MIT */
/* filters.c - from flags to the filters of a query, in the order given. */
#include "filters.h"

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "complain.h"

const struct tt_flag tt_filter_flags[] = {
    {"select", 0, TT_FILTER_KEY, "PATTERN", NULL,
     "keep paths with a matching block; --exclude: drop them"},
    {"exclude", 0, TT_FILTER_KEY, "PATTERN", NULL, NULL},
    {"fold", 0, TT_FILTER_KEY, "PATTERN", NULL,
     "charge blocks to their callers; --centre: all others"},
    {"centre", 0, TT_FILTER_KEY, "PATTERN", NULL, NULL},
    {"prune", 0, TT_FILTER_KEY, "WHAT", NULL,
     "drop parts below 0.5%, 10ms, 1000, calls<9, or by name"},
    {"root", 0, TT_FILTER_KEY, "PATTERN", NULL,
     "begin paths at matches; --collapse: each once on it"},
    {"collapse", 0, TT_FILTER_KEY, "PATTERN", NULL, NULL},
    {"strand", 0, TT_FILTER_KEY, "PATTERN", NULL,
     "keep only threads, processes or ranks that match"},
    {"time", 0, TT_FILTER_KEY, "FROM..TO", NULL,
     "keep only this time: 2s..1m30s, -10s.., not:2s..3s"},
    {"by", 0, TT_FILTER_KEY, "WHAT", "process program cgroup container unit user", NULL},
    {"metric", 'm', TT_FILTER_KEY, "NAME", "time ticks calls samples",
     "show this metric; 'report header' lists them"},
    {"focus", 0, TT_FILTER_KEY, "REGEX", NULL, NULL},
    {"ignore", 0, TT_FILTER_KEY, "REGEX", NULL, NULL},
    {"hide", 0, TT_FILTER_KEY, "REGEX", NULL, NULL},
    {"show_from", 0, TT_FILTER_KEY, "REGEX", NULL, NULL},
    {"sample_index", 0, TT_FILTER_KEY, "NAME", NULL, NULL},
    {"clean", 0, TT_FILTER_CLEAN, NULL, NULL, NULL},
    {"min-ticks", 0, TT_FILTER_MIN_TICKS, "N", NULL, NULL},
    {"min-words", 0, TT_FILTER_MIN_WORDS, "N", NULL, NULL},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static int set_key(struct tt_query *q, const char *command, const char *key,
                   const char *value)
{
    int error = tt_query_set(q, key, value);

    if (error)
        tt_complain("%s: %s", command, q->error);
    return error;
}

/* --min-ticks and --min-words. */
static int set_least(struct tt_query *q, const char *command, const char *metric,
                     const struct tt_flag *flag, const char *value)
{
    char text[40];

    (void)snprintf(text, sizeof text, "%s<%.20s", metric, value);
    if (value[0] && value[strspn(value, "0123456789")] == '\0')
        return set_key(q, command, "prune", text);
    tt_complain("%s: '--%s' wants a number, not '%s'", command, flag->name, value);
    return -TT_ERR_OPTION;
}

int tt_filter_take(struct tt_query *q, const char *command, int clean,
                   const struct tt_flag *flag, const char *value)
{
    const char *key = flag->name;

    switch (flag->id) {
    case TT_FILTER_MIN_TICKS:
        return set_least(q, command, "time", flag, value);
    case TT_FILTER_MIN_WORDS:
        return set_least(q, command, "words", flag, value);
    case TT_FILTER_KEY:
        /* The converter of Clean's profiles has the name and the sizes of what it prunes. */
        if (clean && strcmp(key, "exclude") == 0)
            key = "prune";
        return set_key(q, command, key, value);
    default:
        return 0;
    }
}

int tt_filter_refuse(const char *command, const char *what, const char *name,
                     const struct tt_flag *flag)
{
    tt_complain("%s: the %s '%s' has no '%s'; 'tallytree report %s --help' lists its "
                "flags",
                command, what, name, flag->name, name);
    return -TT_ERR_OPTION;
}
