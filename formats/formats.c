/* SPDX-License-Identifier: MIT */
/* formats.c - the list of formats, and the detection of a content's format. */
#include "formats.h"

#include <string.h>

/* Formats are tried in this order: first those that are certain after the first bytes,
 * then those that read more, then those that guess. */
/* clang-format off */
const struct tt_format *const tt_formats[] = {
    &tt_format_pgcl,
    &tt_format_ocr,
    &tt_format_gperftools,
    &tt_format_perfdata,
    &tt_format_pstats,
    &tt_format_jfr,
    &tt_format_nettrace,
    &tt_format_gotrace,
    &tt_format_stackprof,
    &tt_format_simpleperf,
    &tt_format_xctrace,
    &tt_format_stacks,
    &tt_format_hp,
    &tt_format_ghc,
    &tt_format_tdk,
    &tt_format_bpftrace,
    &tt_format_austin,
    &tt_format_sample,
    &tt_format_dtrace,
    &tt_format_cali,
    &tt_format_dot,
    &tt_format_mermaid,
    &tt_format_memray,
    &tt_format_memtrace,
    &tt_format_gmon,
    &tt_format_uftrace,
    &tt_format_callgrind,
    &tt_format_massif,
    &tt_format_dhat,
    &tt_format_heaptrack,
    &tt_format_otlp,
    &tt_format_pprof,
    &tt_format_perfetto,
    &tt_format_perf,
    &tt_format_speedscope,
    &tt_format_chrome,
    &tt_format_snapshot,
    &tt_format_v8,
    &tt_format_caliper,
    &tt_format_firefox,
    &tt_format_gecko,
    &tt_format_folded,
    NULL,
};
/* clang-format on */

const struct tt_format *tt_format_find(const char *name)
{
    for (size_t i = 0; tt_formats[i]; i++)
        if (strcmp(tt_formats[i]->name, name) == 0)
            return tt_formats[i];
    return NULL;
}

const struct tt_format *tt_format_detect(struct tt_source *s)
{
    enum { HEAD = 1 << 16 };
    const struct tt_format *maybe = NULL;
    int64_t have = tt_source_want(s, HEAD);

    if (have <= 0)
        return NULL;
    for (size_t i = 0; tt_formats[i]; i++) {
        const struct tt_format *f = tt_formats[i];
        enum tt_match match = f->detect ? f->detect(tt_source_at(s), (size_t)have)
                                        : TT_MATCH_NO;
        if (match == TT_MATCH_YES)
            return f;
        if (match == TT_MATCH_MAYBE && !maybe)
            maybe = f;
    }
    return maybe;
}
