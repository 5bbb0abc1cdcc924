/* SPDX-License-Identifier: MIT */
/* query.c - whatever a query says, it is read or an error says why; what was read can be
 * said again; whatever a pattern says, it is one or an error says why. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pattern.h"
#include "query.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_pattern(const char *text)
{
    char error[160] = "";
    struct tt_pattern *p = tt_pattern_new(text, error, sizeof error);

    if (!p && !error[0])
        abort();
    if (!p)
        return;
    (void)tt_pattern_matches(p, "operator[]");
    if (text[0] != '/' && !tt_pattern_matches(p, text))
        abort();
    tt_pattern_free(p);
}

/* What a query holds is accepted when it is set key by key. */
static void check_filters(const struct tt_query *q)
{
    static const char *const keys[] = {"select", "exclude", "fold",     "prune", "root",
                                       "strand", "centre",  "collapse", "time"};
    const struct tt_filter *f = q->filter.item;
    struct tt_query again;

    _Static_assert(sizeof keys / sizeof *keys == TT_FILTERS, "one for each kind");
    tt_query_init(&again, NULL);
    for (size_t i = 0; i < q->filter.count; i++) {
        int named = !(f[i].share > 0) && !f[i].amount;
        if (f[i].share < 0 || f[i].share > 1 || (named && f[i].metric))
            abort();
        if (named && tt_query_set(&again, keys[f[i].kind], f[i].pattern) != 0)
            abort();
    }
    tt_query_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct tt_query q;
    int error;

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    tt_query_init(&q, NULL);
    error = tt_query_parse(&q, text);
    if ((error != 0) != (q.error[0] != '\0'))
        abort();
    if (!error)
        check_filters(&q);
    tt_query_fini(&q);
    check_pattern(text);
    free(text);
    return 0;
}
