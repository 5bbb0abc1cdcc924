/* SPDX-License-Identifier: MIT */
/* formats.h - foreign formats, all with one interface.
 *
 *      bytes ─ unpack ─ source ─ read ─▶ builder ─▶ profile ─▶ write ─ writer ─ (gzip) ─ bytes
 *
 * A format is one file, NAME.c, that ends in its `const struct tt_format tt_format_NAME`.
 * To add one: write that file; name it in the list below, in formats.c (the order there
 * is the order of detection) and in meson.build; add test/formats-NAME.t, a corpus
 * fuzz/formats/NAME/ (fuzz/formats.c drives any format) and its section in
 * doc/formats.md.
 *
 * A reader takes bytes or lines from a source, and adds to a builder (profile/builder.h),
 * through frames.h if frames come as text.  It gets whole lines and as many bytes as it
 * asks for; compression and UTF-16 are already decoded.  It trusts no size that it reads:
 * it takes memory for data that has arrived, and depth costs no C stack.  What it takes
 * from the source's memory is freed with the source.  On wrong input it ends by `return
 * tt_source_fail(s, "…")`, which notes file and line (or byte); the builder is thrown away
 * then.  A writer walks the profile, after filters were applied,
 * and puts text or bytes; it ignores errors, as the writer keeps them.  Neither does I/O,
 * so both run in a browser too.  Exceptions are unpack.c, pack.c, the list in formats.c,
 * and formats that read traces with the runtime (events.h); such a format has its writer
 * in a separate file. */
#ifndef TT_FORMATS_H
#define TT_FORMATS_H

#include "builder.h"
#include "source.h"
#include "writer.h"

/* What to write: all metrics if the format can hold them, or the chosen one. */
struct tt_export {
    const struct tt_profile *profile; /* checked, and never NULL */
    const struct tt_profile
        *before;           /* TT_FORMAT_DIFFERS: what it is compared to, or NULL */
    uint32_t metric;       /* the chosen metric, or TT_NONE */
    const char *first;     /* the metric to show first, if there are several; NULL: the
                          default */
    uint32_t series;       /* TT_FORMAT_SERIES: 1 + the chosen series, or 0 */
    uint32_t part;         /* of a format with several files: the one to write */
    uint32_t node, thread; /* the numbers of the next file */
    const char *sources;   /* html: texts as JSON, {"FILE":"TEXT",...}; NULL: none */
    int as_ocr;            /* with the flaws of the files of OCR's profiler */
    int by_time;         /* TT_FORMAT_BY_TIME: threads in the order of time: by-time.h */
    const char *service; /* otlp: the name of the service; NULL: the program */
    const char *const *attribute; /* otlp: more of the resource, as "KEY=VALUE", */
    size_t attributes;            /* and how many */
    char error[160];              /* why it cannot be written */
};

enum { TT_PART_NAME = 300 };

enum tt_match { TT_MATCH_NO, TT_MATCH_MAYBE, TT_MATCH_YES };

enum tt_format_flags {
    TT_FORMAT_PACKED = 1,  /* its files are compressed by gzip */
    TT_FORMAT_DIFFERS = 2, /* it can show two profiles beside each other */
    TT_FORMAT_SERIES = 4,  /* it shows a series, which is chosen like a metric */
    TT_FORMAT_PATHS = 8,   /* it has paths, and no other place for dropped pushes */
    TT_FORMAT_NATIVE =
        16, /* its addresses get names when it is read, as recordings' addresses do */
    TT_FORMAT_BY_TIME = 32 /* its writer knows tt_export.by_time */
};

/* For `detect`: begins the head with this text; has it the text; its first character that
 * is no blank, 0: none. */
static inline int tt_head_begins(const char *head, size_t size, const char *text)
{
    return size >= strlen(text) && memcmp(head, text, strlen(text)) == 0;
}
static inline int tt_head_has(const char *head, size_t size, const char *text)
{
    return memmem(head, size, text, strlen(text)) != NULL;
}
static inline char tt_head_first(const char *head, size_t size)
{
    size_t at = 0;

    while (at < size && head[at] && strchr(" \t\r\n", head[at]))
        at++;
    return at < size ? head[at] : '\0';
}
static inline enum tt_match tt_match_if(int is_sure)
{
    return is_sure ? TT_MATCH_YES : TT_MATCH_NO;
}

struct tt_format {
    const char *name;  /* as --to has it */
    const char *about; /* one line, without a full stop */
    unsigned flags;
    /* Is this the beginning of such a file?  `head` is all of it, or its first 64 KiB.
     * MAYBE: only if no other format says YES.  NULL: there is no reader. */
    enum tt_match (*detect)(const char *head, size_t size);
    /* 0, or an error, which the source has noted; NULL: the format is only written. */
    int (*read)(struct tt_source *, struct tt_builder *);
    /* -TT_ERR_OPTION with `error`, or -TT_ERR_MEMORY; the writer keeps other errors.
     * NULL: the format is only read. */
    int (*write)(struct tt_export *, struct tt_writer *);
    /* For a format with several files: returns the name of file e->part, from 0 on.  1:
     * there is one; 0: there are no more; 2: this one is empty.  NULL: it is one file. */
    int (*part)(struct tt_export *e, char name[TT_PART_NAME]);
};

/* clang-format off */
extern const struct tt_format
    tt_format_austin,
    tt_format_bpftrace,
    tt_format_cali,
    tt_format_caliper,
    tt_format_callgrind,
    tt_format_chrome,
    tt_format_dhat,
    tt_format_dot,
    tt_format_dtrace,
    tt_format_firefox,
    tt_format_folded,
    tt_format_gecko,
    tt_format_ghc,
    tt_format_gmon,
    tt_format_gotrace,
    tt_format_gperftools,
    tt_format_heaptrack,
    tt_format_hp,
    tt_format_jfr,
    tt_format_massif,
    tt_format_memray,
    tt_format_memtrace,
    tt_format_mermaid,
    tt_format_nettrace,
    tt_format_ocr,
    tt_format_otlp,
    tt_format_perf,
    tt_format_perfdata,
    tt_format_perfetto,
    tt_format_pgcl,
    tt_format_pprof,
    tt_format_pstats,
    tt_format_sample,
    tt_format_simpleperf,
    tt_format_snapshot,
    tt_format_speedscope,
    tt_format_stackprof,
    tt_format_stacks,
    tt_format_tdk,
    tt_format_uftrace,
    tt_format_v8,
    tt_format_xctrace;
/* clang-format on */

/* All of them, up to a NULL. */
extern const struct tt_format *const tt_formats[];

const struct tt_format *tt_format_find(const char *name); /* or NULL */
/* Detects the format of a source by its content.  NULL: unknown format, or the source
 * cannot be read, and then its `error` is not empty.  Consumes nothing. */
const struct tt_format *tt_format_detect(struct tt_source *);

#endif
