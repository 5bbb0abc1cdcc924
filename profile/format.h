/* SPDX-License-Identifier: MIT */
/* format.h - the layout of a profile (.tt), byte by byte; see doc/format.md.
 *
 *      ┌ header ─┬ section table ──┬ section ─┬ section ─┬ …          little-endian
 *      └ 64 B ───┴ 32 B a section ─┴ at multiples of 64 bytes
 *
 * A section is an array.  Contexts are numbered in preorder, 0 being the root; the
 * children of a context are in the order of their blocks, and blocks in the order of
 * their identity (name, module, file, line, column, offset, length, kind), after block 0,
 * the root's.  A figure of contexts is kept as running sums: with S of n + 1 numbers,
 *
 *      self of c                  S[c + 1] - S[c]
 *      c with its subtree         S[c + size[c]] - S[c]
 *
 * so one column answers both, without a walk. */
#ifndef TT_FORMAT_H
#define TT_FORMAT_H

#include <stdint.h>

#define TT_PROFILE_MAGIC "Tallytr.\n"
#define TT_PROFILE_VERSION 3u /* 1: without a digest; 2: whose blocks have no edges */
#define TT_NONE UINT32_MAX

struct tt_file_header {
    char magic[8]; /* the first 8 bytes of TT_PROFILE_MAGIC */
    uint32_t version, header_size;
    uint64_t size; /* of the whole file */
    uint32_t sections, section_size;
    uint32_t contexts, arcs, blocks, metrics;
    uint32_t strands, depth; /* depth: of the deepest context, the root's being 0 */
    uint32_t digests;        /* rows of the digest; 0: there is none, as in version 1 */
    uint32_t edges;          /* between blocks, in the digest; 0: they are not there */
};

enum tt_section_kind {
    TT_SECTION_NONE,
    TT_SECTION_STRINGS,       /* bytes, each string ended by a NUL; 0 is the empty one */
    TT_SECTION_FACTS,         /* struct tt_fact */
    TT_SECTION_BLOCKS,        /* struct tt_block_row */
    TT_SECTION_METRICS,       /* struct tt_metric_row */
    TT_SECTION_CONTEXT_BLOCK, /* uint32_t, of each context */
    TT_SECTION_CONTEXT_SIZE,  /* uint32_t: contexts of its subtree, itself included */
    TT_SECTION_SELF,          /* key: metric; uint64_t[contexts + 1], running sums */
    TT_SECTION_ELSEWHERE,     /* the same: evicted below a context, beside its self */
    TT_SECTION_LOW,           /* the same: self without what measuring may have added */
    TT_SECTION_MISSED, /* key: metric; uint64_t a context: evicted of it, at most */
    TT_SECTION_ARCS,   /* struct tt_arc_row, by from, block, to */
    TT_SECTION_BLOCK_FIGURES, /* key: metric; struct tt_block_figures, of each block */
    TT_SECTION_TIMES,         /* struct tt_times_row, by row, strand */
    TT_SECTION_BINS,          /* struct tt_bin_row, by row, bin: log histograms */
    TT_SECTION_ACTIVATIONS,   /* struct tt_activation_row, by row, slow, start */
    TT_SECTION_SLOW,          /* struct tt_slow_figure: subtrees of slow activations */
    TT_SECTION_STRAND_ROWS,   /* struct tt_strand_row */
    TT_SECTION_ENTRIES,       /* struct tt_entry, by strand, row, metric */
    TT_SECTION_SPREAD,        /* key: metric; struct tt_spread of each context's total */
    TT_SECTION_SPREAD_SELF,   /* the same, of its self */
    TT_SECTION_SPACE,         /* struct tt_space_row, by context, type, from, to */
    TT_SECTION_SERIES,        /* struct tt_series_row */
    TT_SECTION_POINTS,        /* struct tt_point, by series, time, label */
    TT_SECTION_DIGEST,        /* struct tt_digest_row, by context */
    TT_SECTION_DIGEST_LEAST,  /* uint64_t a metric: contexts with at least this are in the
                                 digest */
    TT_SECTION_DIGEST_SELF,   /* key: metric; struct tt_digest_figure a row */
    TT_SECTION_DIGEST_ELSEWHERE,
    TT_SECTION_DIGEST_LOW,
    TT_SECTION_BLOCK_CONTEXTS, /* uint32_t of each block: contexts that are its */
    TT_SECTION_BLOCK_TALLIES,  /* key: metric; struct tt_block_tally, of each block */
    TT_SECTION_EDGES,          /* struct tt_edge_row, by caller, callee */
    TT_SECTION_EDGE_TALLIES,   /* key: metric; struct tt_edge_tally, of each edge */
    TT_SECTIONS
};

/* In the table, other sections follow those that the header counts; `reserved` of the
 * first entry is their number.  A reader skips those that it does not know. */
enum tt_extra_kind {
    TT_EXTRA_PLACES = 256,  /* struct tt_place_row: addresses of code */
    TT_EXTRA_PLACE_FRAMES,  /* struct tt_place_frame, of places */
    TT_EXTRA_TRAILS,        /* struct tt_trail_row: stacks as addresses */
    TT_EXTRA_TRAIL_ENTRIES, /* struct tt_entry, by strand, row, metric; row: a trail */
    TT_EXTRA_SAMPLES,       /* struct tt_sample_row, by time, strand, context */
    TT_EXTRAS
};

struct tt_section {
    uint32_t kind, key;
    uint64_t offset, count;   /* count: of items */
    uint32_t width, reserved; /* reserved: of the first entry, how many extras follow */
};

enum tt_fact_rule { /* what merging makes of two facts of one name */
                    TT_FACT_SUM,
                    TT_FACT_MIN,
                    TT_FACT_MAX,
                    TT_FACT_EACH, /* every text is kept once, with the sum of its numbers */
                    TT_FACT_RULES
};

struct tt_fact {
    uint32_t name, text; /* strings */
    uint32_t rule, reserved;
    uint64_t number;
};

struct tt_block_row {
    uint32_t name, module, file; /* strings */
    uint32_t kind;               /* enum tt_kind */
    uint32_t line, column, length, reserved;
    uint64_t offset;
};

enum tt_metric_flags {
    TT_METRIC_CALLS = 1,   /* counts activations: a folded block's vanish with it */
    TT_METRIC_TIME = 2,    /* time or ticks, of the clock */
    TT_METRIC_SAMPLED = 4, /* estimated by samples, of a part of the identity */
    TT_METRIC_SPACE = 8,   /* bytes or objects */
    TT_METRIC_PEAK = 16,   /* alive at present, not a sum over time */
};

struct tt_metric_row { /* its identity: name, unit, flags */
    uint32_t name, unit;
    uint32_t flags, reserved;
};

struct tt_arc_row { /* a push that led back into the path */
    uint32_t from, to;
    uint32_t block,
        reserved; /* what was pushed: the block of `to`, or one that was dropped */
    uint64_t calls;
};

struct tt_block_figures {
    uint64_t
        hidden; /* charged while on the true stack, but not on the path in the tree; below
                   0 where contexts show more than what a file states of the block */
    uint64_t beside; /* self at no context of the block, because it was evicted */
};

struct tt_sum128 {
    uint64_t low, high;
};

/* The activations through one edge, in the metric of time.  Rows: contexts, for the edge
 * from their parent, then arcs. */
struct tt_times_row {
    uint32_t row, strand; /* strand TT_NONE: of all */
    uint64_t count, sum, min, max;
    struct tt_sum128 square;
    uint64_t children;
    struct tt_sum128 children_square;
    uint64_t recursive; /* of activations whose block was active already */
    struct tt_sum128 recursive_square;
    uint64_t weighed;                /* every:N: sum scaled to all activations */
    uint32_t min_strand, max_strand; /* whose they were; TT_NONE when not known */
};

struct tt_bin_row { /* activations of [2^bin, 2^(bin+1)) ticks; bin 0 also 0 */
    uint32_t row, bin;
    uint64_t count;
};

struct tt_activation_row {
    uint32_t row, strand;
    uint64_t start, duration;
    uint32_t slow, figures;  /* slow: one of the slowest, and not of the last */
    uint64_t first, dropped; /* figures: from SLOW[first], parents first */
};

struct tt_slow_figure {
    uint32_t block, parent; /* parent: a figure of the same activation + 1; 0: itself */
    uint64_t calls, self;
};

struct
    tt_strand_row { /* identity: host, process, pid, rank, node, thread, name, labels */
    uint32_t host, process, node, name; /* strings */
    uint64_t pid, thread;
    uint32_t rank;    /* TT_NONE: none */
    uint32_t labels;  /* a string: "KEY=VALUE", a line each, of the process */
    uint64_t members; /* threads that share this row; of their time, when many: */
    uint64_t least, most, least_thread, most_thread;
    struct tt_sum128 square;
};

/* One strand's share of a figure.  Rows: contexts' self; then arcs' calls; blocks'
 * `beside`; blocks' `hidden`; contexts' `elsewhere`, and `low`. */
struct tt_entry {
    uint32_t strand, metric;
    uint64_t row;
    uint64_t amount;
};

struct tt_spread {  /* over strands; those that lack the context count as 0 */
    uint32_t count; /* strands that have it */
    uint32_t min_strand, max_strand, reserved;
    uint64_t min, max; /* of those that have it */
    struct tt_sum128 square;
};

struct tt_space_row { /* generations from 0; allocated: from TT_NONE; freed: to TT_NONE */
    uint32_t context, type; /* type: a string */
    uint32_t from, to;
    uint64_t number, bytes, overhead;
};

struct tt_series_row {
    uint32_t name, unit, label; /* strings; label: what its points are identified by */
    uint32_t strand;            /* TT_NONE: all */
    uint64_t interval;
};

struct tt_point {
    uint32_t series, label; /* label: a string */
    uint64_t time, amount;  /* time: ns since the start */
};

/* Samples by time: the number of original samples; if there were too many, those of one
 * strand in one interval were combined. */
enum { TT_SAMPLES_MAX = 1 << 18 };
struct tt_sample_row {
    uint64_t time;   /* ns since 1970; of a caller's clock, ticks from the start on */
    uint64_t weight; /* in the metric of time */
    uint64_t ran;    /* its time run, see samples.c; 0: it has its own weight only */
    uint32_t context, strand;
};

/* The digest of a large profile: the data of its first views, in one place.  The columns
 * contain the same figures. */
struct tt_digest_row {
    uint32_t context, block, size; /* context TT_NONE: no more rows */
};

struct tt_digest_figure {
    uint64_t own, all; /* of the context alone, and with its subtree */
};

struct
    tt_block_tally { /* what a block's contexts add up to; inclusive: the outermost's */
    uint64_t self, inclusive, self_low, inclusive_low;
};

struct tt_edge_row { /* calls of one block by another */
    uint32_t caller, callee;
    uint32_t contexts, reserved; /* to which they lead */
    uint64_t calls, by_arcs;     /* down the tree, and back into the path */
};

struct tt_edge_tally { /* inclusive; a path counts once */
    uint64_t inclusive, inclusive_low;
};

struct tt_place_row {    /* an address; identity: module, id, address, frames */
    uint32_t module, id; /* strings: path; build-id in hex, or where JIT code has names */
    uint64_t address;    /* in the file; of a call: of its last byte */
    uint32_t first, frames; /* of the frames: the functions there, outermost first */
};

struct tt_place_frame {    /* a function, and the position in it of the address or of the
                        inlined call */
    uint32_t block, file;  /* file: a string */
    uint32_t line, column; /* 0: not known */
};

struct tt_trail_row { /* a path of addresses; parents come before their children */
    uint32_t parent, context; /* parent: TT_NONE: it is the outermost address */
    uint32_t place,
        reserved; /* place: TT_NONE: what has no address, below one that has */
};

#define TT_HAS_SIZE(type, n) _Static_assert(sizeof(struct type) == (n), #type)
TT_HAS_SIZE(tt_file_header, 64);
TT_HAS_SIZE(tt_section, 32);
TT_HAS_SIZE(tt_fact, 24);
TT_HAS_SIZE(tt_block_row, 40);
TT_HAS_SIZE(tt_metric_row, 16);
TT_HAS_SIZE(tt_arc_row, 24);
TT_HAS_SIZE(tt_block_figures, 16);
TT_HAS_SIZE(tt_times_row, 120);
TT_HAS_SIZE(tt_bin_row, 16);
TT_HAS_SIZE(tt_activation_row, 48);
TT_HAS_SIZE(tt_slow_figure, 24);
TT_HAS_SIZE(tt_strand_row, 96);
TT_HAS_SIZE(tt_entry, 24);
TT_HAS_SIZE(tt_spread, 48);
TT_HAS_SIZE(tt_space_row, 40);
TT_HAS_SIZE(tt_series_row, 24);
TT_HAS_SIZE(tt_point, 24);
TT_HAS_SIZE(tt_sample_row, 32);
TT_HAS_SIZE(tt_digest_row, 12);
TT_HAS_SIZE(tt_digest_figure, 16);
TT_HAS_SIZE(tt_block_tally, 32);
TT_HAS_SIZE(tt_edge_row, 32);
TT_HAS_SIZE(tt_edge_tally, 16);
TT_HAS_SIZE(tt_place_row, 24);
TT_HAS_SIZE(tt_place_frame, 16);
TT_HAS_SIZE(tt_trail_row, 16);

#endif
