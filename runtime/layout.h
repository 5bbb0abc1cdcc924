/* SPDX-License-Identifier: MIT */
/* layout.h - the layout of a recording, for the runtime and for every reader.
 *
 *      ┌ header ─┬ page map ─┬ page ─┬ page ─┬ page ─┬ …            little-endian
 *      └ 8 KiB ──┴ 4 B each ─┴ 1 KiB: 16 cells of 64 bytes ─┴ …
 *
 * The page map has the kind and the owner of each page.  All references are cell numbers
 * (offset in the file / 64), so the file means the same at any address.  Cell 0 is the
 * header; as a reference it means "none".
 *
 *      cells      contexts, arcs and their small extensions, one cell each
 *      data       tables of transitions and large extensions; found only through cells
 *      strands    one record of 512 bytes a thread
 *      blocks     one cell a block, or a type of objects
 *      space      the live objects of the whole process, one record
 *      holdings   one cell for each context that allocates, of all strands
 *      bands      one each of the process's series: those of an allocator's objects
 *      parts      what a page of holdings had at each maximum
 *      log        samples in the order of time, 120 a page; see sample-log.c
 *      strings    {length, bytes, NUL}, at multiples of 4
 *
 * A cell is filled in before its `kind` is set, and a figure is one aligned word, so the
 * file can be read at any moment, or after `kill -9`.  Code that moves figures from cell
 * to cell (eviction, merging) first writes its changes into the strand's `redo`. */
#ifndef TT_LAYOUT_H
#define TT_LAYOUT_H

#include "assertion.h"
#include "tallytree.h"

#define TT_MAGIC "Tallytr\n"
#define TT_LAYOUT_VERSION 1u

enum {
    TT_CELL_SIZE = 64,
    TT_PAGE_SIZE = 1024,
    TT_PAGE_CELLS = 16,
    TT_HEADER_SIZE = 8192
};

enum tt_page_type {
    TT_PAGE_FREE,
    TT_PAGE_CELL,
    TT_PAGE_DATA,
    TT_PAGE_STRAND,
    TT_PAGE_BLOCK,
    TT_PAGE_STRING,
    TT_PAGE_SPACE,
    TT_PAGE_HOLDING,
    TT_PAGE_BAND,
    TT_PAGE_PARTS,
    TT_PAGE_LOG,
    TT_PAGE_TYPES
};
/* A word of the page map: type | owner << 8; the owner is the strand's index + 1. */

enum tt_cell_kind {
    TT_CELL_FREE,    /* target: the context it was evicted to, if any */
    TT_CELL_CONTEXT, /* struct tt_node */
    TT_CELL_ARC,     /* struct tt_node; parent → target, which is on parent's path */
    TT_CELL_LOSS,    /* struct tt_loss, an extension of a context */
    TT_CELL_METRICS, /* struct tt_metrics, an extension of a context or a tally */
    TT_CELL_TALLY,   /* struct tt_tally */
    TT_CELL_SPACE,   /* struct tt_space, an extension of a context */
    TT_CELL_SPACE_BELOW, /* the same, of contexts that were evicted below it */
    TT_CELL_KINDS
};

enum tt_node_flags {
    TT_NODE_OUTERMOST = 1, /* no context above it is of the same block */
    TT_NODE_LEAVING = 2,   /* its block's tally has its cost with all below as hidden */
    TT_NODE_AGAIN = 64,    /* one is; and so it is where an arc comes from */
};

/* A cell's generation counts how often it was given back.  From here on it goes round. */
#define TT_GENERATION_SPENT 0x8000u

/* The one before it is never the last of those that are not spent. */
static inline uint16_t tt_generation_after(uint16_t generation)
{
    return generation == UINT16_MAX ? TT_GENERATION_SPENT + 1
                                    : (uint16_t)(generation + 1);
}

#define TT_KEY_HIDES 0x80000000u /* in an arc's key: it hides blocks of the true stack */
#define TT_KEY_STAYS                                                                     \
    0x40000000u /* in an arc's key: it leads to another block's context */
#define TT_KEY_BLOCK 0x00ffffffu
#define TT_METRIC_ELSEWHERE 0x80000000u

enum { TT_BLOCK_ROOT = 0, TT_BLOCK_OTHER = 1, TT_BLOCKS_MAX = 1 << 24 };

/* Every cell begins with this. */
#define TT_CELL_HEAD                                                                     \
    uint32_t key;                                                                        \
    uint16_t generation;                                                                 \
    uint8_t kind, flags

struct tt_amounts {
    uint64_t calls, self, samples;
};

struct tt_loss { /* figures evicted below a context */
    TT_CELL_HEAD;
    uint32_t next, reserved;
    struct tt_amounts elsewhere;
    uint64_t missed;  /* how much of this context was evicted before, at most */
    uint64_t arrived; /* calls through arcs that were evicted */
    uint64_t spare;
};

struct tt_metrics {
    TT_CELL_HEAD;
    uint32_t next, reserved;
    uint32_t metric[4]; /* 0: unused */
    uint64_t amount[4];
};

struct tt_tally { /* figures that the tree lacks of a block; key: block */
    TT_CELL_HEAD;
    uint32_t next; /* its metrics: what was hidden of them */
    uint32_t reserved;
    uint64_t hidden;           /* charged while on the true stack but not on the path */
    struct tt_amounts evicted; /* self tallies of evicted contexts */
    uint64_t spare[2];
};

struct tt_objects {
    uint64_t number, bytes, overhead;
};

/* Objects that a context made, or that are reported with the place where they were made:
 * allocated if they come from no generation, freed if they go to none, else copied. */
struct tt_space {
    TT_CELL_HEAD;         /* key: the type, and `from` << 24; flags: `to` */
    uint32_t next, stamp; /* stamp: how often `to` had been collected when this changed */
    struct tt_objects all;
    struct tt_objects gone; /* those among them that are no longer in `to`, as of its last
                             * collection: the survivors have been counted again */
};

#define TT_SPACE_FROM_SHIFT 24

enum { TT_NO_GENERATION = 0xff };

/* The generation that a row's objects came to, or have left.  Objects that are reported
 * with an age are in the first. */
static inline uint32_t tt_space_generation(const struct tt_space *row)
{
    uint32_t n = row->flags != TT_NO_GENERATION ? row->flags
                                                : row->key >> TT_SPACE_FROM_SHIFT;

    return n & 0x80 ? 0 : n;
}

enum tt_extension_type { TT_TIMES = 16, TT_HISTOGRAM, TT_HISTORY, TT_SLOWEST, TT_BAND };
enum {
    TT_TIMES_ORDER = 1,
    TT_HISTOGRAM_ORDER = 3,
    TT_SLOWEST_ORDER = 4,
    TT_ROWS_ORDER = 6
};

/* A large extension, in a data page: begins as a cell does, with its type as `kind`. */

struct tt_square { /* a 128-bit sum of squares */
    uint64_t low, high;
};

struct tt_times { /* of the activations through one edge, all in ticks */
    TT_CELL_HEAD;
    uint32_t next, tally;
    uint64_t count, sum, min, max;
    struct tt_square square;
    uint64_t children; /* spent in callees */
    struct tt_square children_square;
    uint64_t recursive; /* of activations whose block was active already */
    struct tt_square recursive_square;
    uint64_t weighed; /* every:N: sum scaled to all activations */
    uint64_t reserved;
};

enum { TT_HISTOGRAM_BINS = 62 };
struct tt_histogram { /* bin i counts activations of [2^i, 2^(i+1)) ticks; bin 0 also 0 */
    TT_CELL_HEAD;
    uint32_t next, reserved;
    uint64_t bin[TT_HISTOGRAM_BINS];
};

struct tt_activation {
    uint64_t start, duration; /* ticks since the start of the recording */
};
enum { TT_HISTORY_MAX = 30 };
struct tt_history { /* the last activations through this edge: a ring */
    TT_CELL_HEAD;
    uint32_t next, capacity;
    uint64_t count;
    struct tt_activation ring[TT_HISTORY_MAX];
};

struct tt_block_record {
    uint32_t id;
    uint32_t kind;
    uint64_t offset;
    uint32_t line, column, length;
    uint32_t name, module, file;  /* strings, at 4 × this; 0: empty */
    uint64_t calls, self, hidden; /* of all strands: figures without room for a tally */
};

/* The record of a type of objects: a block's of kind TT_KIND_TYPE, with other figures. */
struct tt_type_record {
    uint32_t id, kind;
    uint64_t number, bytes; /* made objects of unknown context */
    uint32_t length, name;
    uint64_t overhead;
    struct tt_objects freed; /* of these or others, by an unknown block */
};
_Static_assert(offsetof(struct tt_type_record, name) ==
                   offsetof(struct tt_block_record, name),
               "name");

enum tt_strand_state {
    TT_STRAND_NONE,
    TT_STRAND_OPEN,
    TT_STRAND_ENDED,
    TT_STRAND_MERGED
};

enum { TT_NAME_SIZE = 32, TT_TOP_FRAMES = 8 };

/* Words that change together: see journal.c. */
enum { TT_JOURNAL_WORDS = 15 };
struct tt_journal {
    uint32_t count;                   /* 0: nothing is under way */
    uint32_t where[TT_JOURNAL_WORDS]; /* in the file, / 8 */
    uint64_t value[TT_JOURNAL_WORDS];
};
typedef uint64_t __attribute__((may_alias)) tt_word;

struct tt_strand_record {
    uint32_t state, index;
    uint32_t root, thread; /* a cell; the kernel's thread id */
    uint64_t current;      /* offset of the thread's context at the last slow event */
    uint64_t moves;        /* odd while figures move between cells */
    uint64_t charged;      /* exact mode: all ticks so far */
    uint64_t depth;        /* exact mode: open activations */
    uint64_t last;         /* when its time was last charged */
    uint64_t cpu;          /* sampled mode: CPU time accounted for, ns */
    uint64_t threshold;    /* no context of this size or more was evicted */
    uint64_t evictions, paused;
    uint64_t lost_pushes, lost_ticks; /* no room even for a tally */
    char name[TT_NAME_SIZE];
    union {
        struct tt_top {
            uint64_t entered;
            uint32_t edge, depth;
        } top[TT_TOP_FRAMES]; /* exact mode: open activations, at depth modulo 8 */
        struct tt_owner { /* in a recording of a machine, which times nothing exactly */
            char process[TT_NAME_SIZE]; /* the name of the process whose thread it was */
            tt_block labels; /* its name is "KEY=VALUE", a line each; 0: none */
        } owner;
    };
    struct tt_journal redo;
    uint64_t members; /* threads that share this row; 1 unless strands were merged */
    struct tt_square square; /* of their total ticks */
    uint64_t least, most;    /* of them, and the kernel's ids of the threads they were */
    uint32_t least_thread, most_thread;
    uint64_t limbo;   /* ticks of pushes that found no room even with all cold contexts
                       evicted: any context may have missed them */
    uint32_t bands;   /* a chain of struct tt_band, in data pages */
    uint32_t process; /* of its thread, if not the header's; or 0 */
};

/* Live bytes over time: of a strand's share, the change in each interval of 2^shift
 * ticks, from the start of the recording on. */
enum tt_band_of {
    TT_BAND_TYPE,
    TT_BAND_BLOCK,
    TT_BAND_CENTRE,
    TT_BAND_USE,
    TT_BAND_RETAINERS,
    TT_BANDS
};
enum { TT_USE_LAG = 1, TT_USE_USE, TT_USE_DRAG, TT_USE_VOID, TT_USE_INHERENT, TT_USES };
enum { TT_BAND_POINTS = 124 };
struct tt_band {
    TT_CELL_HEAD; /* key: type (also of a set of retainers), block or state, TT_BLOCK_OTHER:
                     of others; and the generation << 24; flags: enum tt_band_of */
    uint32_t next, reserved;
    struct {
        uint32_t shift,
            halved; /* the points before it are of twice the length; the others begin at
                     * delta[2 × halved] */
    } pace;
    int64_t delta[TT_BAND_POINTS];
};

/* The most that was alive in one part of the run.  There may be TT_PARTS of them; then each
 * two become one, which keeps the greater. */
enum { TT_PARTS = 8 };
struct tt_maximum {
    uint64_t time; /* ticks since the recording began */
    uint64_t most; /* bytes; 0: no maximum */
};

/* Data of the whole process: 16 cells, from header.space on. */
struct tt_space_record {
    uint32_t collections[TT_GENERATIONS]; /* of each generation, so far */
    uint64_t collected;                   /* collections in all */
    uint32_t collecting, last_collected; /* the generation + 1; 0: not now, none so far */
    uint64_t collecting_since;           /* ticks since the recording began */
    /* In bytes: allocated by an allocator; live bytes of its or runtimes' objects, now
     * and at most in this part of the run; and how often the maximum has grown. */
    uint64_t clock, live, most, peak;
    uint64_t most_time;         /* ticks since the recording began */
    uint32_t bands, part_shift; /* bands: a chain.  Parts are of 2^part_shift ticks; */
    uint64_t part;              /* the current one; */
    struct tt_maximum maximum[TT_PARTS]; /* and those of earlier ones */
    struct tt_journal redo;              /* of changes in these bands */
    uint64_t reserved[79 - TT_GENERATIONS / 2];
};

/* The live objects of a context, whoever frees them, now and at the peak. */
struct tt_holding {
    uint32_t context;    /* a cell; 0: none yet; UINT32_MAX: unknown */
    uint16_t generation; /* of that cell; if the cell has another one, it was evicted */
    uint16_t collected;  /* of a runtime's objects: their generation + 1; else 0 */
    uint32_t type, other;
    uint64_t live, live_number; /* bytes; objects */
    uint64_t peak, peak_number; /* at the last peak before number `changed` */
    uint64_t changed;           /* from this peak on: the live amount */
    uint32_t parts; /* of the first of a page: struct tt_live_set, of all of it;
                                   0: they had nothing at any maximum */
    uint32_t next;  /* of a runtime's: another of the generation; or 0 */
};

struct tt_live_set { /* by holding and maximum: bytes */
    uint64_t amount[TT_PAGE_CELLS][TT_PARTS];
};

/* The head of a page of the sample log: written by the thread that has the page open, then
 * under the recording's lock. */
enum tt_log_state { TT_LOG_EMPTY, TT_LOG_LIVE };
struct tt_log_page {
    uint64_t base; /* times of its entries count from here: ticks since the start */
    uint64_t rest; /* ticks that its entries' rounded weights lack; may be below 0 */
    uint64_t more; /* its samples, beyond one for each entry */
    uint32_t first, last; /* numbers of the pages that it was made of; 0: it is open */
    uint32_t next, prev;  /* in its queue */
    uint32_t owner;       /* all of it is of this strand's index + 1; 0: not known */
    uint8_t state, shift; /* shift: times are in units of 2^shift ticks */
    uint16_t level;       /* how often two of its entries have become one */
    uint64_t spare[2];
};
enum { TT_LOG_ENTRIES = (TT_PAGE_SIZE - 64) / 8 };

enum tt_recording_state { TT_RECORDING_OPEN = 1, TT_RECORDING_ENDED };
enum tt_clock_kind { TT_CLOCK_CYCLES, TT_CLOCK_MONOTONIC, TT_CLOCK_CALLER };
enum tt_mode { TT_MODE_EXACT, TT_MODE_CALLS, TT_MODE_SAMPLED, TT_MODE_EVERY };
enum tt_recursion {
    TT_RECURSION_EDGE,
    TT_RECURSION_REPEAT,
    TT_RECURSION_BLOCK,
    TT_RECURSION_CYCLE,
    TT_RECURSION_DROP,
    TT_RECURSION_RECENT,
    TT_RECURSION_NONE
};

enum tt_stacks { TT_STACKS_APPLICATION, TT_STACKS_CREATION, TT_STACKS_GHC };

enum {
    TT_MODES = TT_MODE_EVERY + 1,
    TT_RECURSIONS = TT_RECURSION_NONE + 1,
    TT_STACKS_RULES = TT_STACKS_GHC + 1
};

/* The options' words for these; "?": no such value. */
static inline __attribute__((unused)) const char *tt_clock_word(uint32_t i)
{
    static const char *const words[] = {"cycles", "monotonic", "caller"};

    return i <= TT_CLOCK_CALLER ? words[i] : "?";
}

/* A sixteenth of the period of samples, in ns. */
static inline __attribute__((unused)) uint64_t tt_look_unit(uint32_t hz)
{
    return hz ? 1000000000u / 16 / hz + 1 : 1;
}

static inline const char *tt_mode_word(uint32_t i)
{
    static const char *const words[TT_MODES] = {"exact", "calls", "sampled", "every"};

    return i < TT_MODES ? words[i] : "?";
}

static inline const char *tt_recursion_word(uint32_t i)
{
    static const char *const words[TT_RECURSIONS] = {"edge", "repeat", "block", "cycle",
                                                     "drop", "recent", "none"};

    return i < TT_RECURSIONS ? words[i] : "?";
}

static inline const char *tt_stacks_word(uint32_t i)
{
    static const char *const words[TT_STACKS_RULES] = {"application", "creation", "ghc"};

    return i < TT_STACKS_RULES ? words[i] : "?";
}

enum { TT_METRICS_MAX = 63 };

struct tt_bracket {
    uint64_t low, high; /* in 1/1024 tick */
};

struct tt_header {
    char magic[8];
    uint32_t version, header_size;
    uint64_t size;        /* of the whole file when the budget is used up */
    uint32_t pages, used; /* all there may be; those taken from the front so far */
    uint32_t map, first;  /* offsets: of the page map, of page 0 */
    uint32_t state, torn; /* torn: a copy that was changed while it was made */
    uint32_t clock, pid;
    uint64_t ticks_per_second;
    uint64_t start_ticks, end_ticks, start_time; /* start_time: ns since 1970 */
    uint32_t recursion, recursion_length;
    uint32_t mode[8]; /* by enum tt_kind */
    uint32_t every, sample_hz, sampler_thread, histogram;
    uint64_t budget, budget_nodes;     /* bytes; cells, 0: no separate cap */
    struct tt_bracket inside, outside; /* own cost, in an activation's time and around */
    uint64_t lost_blocks, lost_strands, lost_children, lost_pushes, lost_ticks;
    uint64_t lost_calls;   /* evicted with no room for a tally */
    uint64_t lost_figures; /* statistics and metrics that found no room */
    char program[128], host[64];
    char source[128];    /* how native stacks are sampled, and why; "": not */
    uint64_t truncated;  /* stacks that were deeper than there was room for, */
    uint64_t broken;     /* and that could not be followed to their root */
    uint64_t late;       /* samples missed in a bad moment: the next one has their time */
    uint64_t unseen;     /* CPU time of threads without a strand, ns */
    uint64_t lost_pages; /* of the budget, that the disk had no room for */
    uint64_t lost_samplers; /* threads whose time is not sampled, or 1 for all */
    uint64_t space; /* a cell: struct tt_space_record; 0: no event of space so far */
    uint64_t lost_objects; /* events of space that could not be recorded */
    uint64_t rank;         /* in a parallel job, + 1; 0: none */
    uint64_t stacks;       /* enum tt_stacks: of closures that are called */
    uint64_t lost_samples; /* for want of room in the system: their time is lost */
    uint64_t wall;         /* samples of native stacks are of all time, with waits */
    uint64_t space_rate;   /* smaller objects of runtimes are sampled; 0: none */
    uint64_t cpu; /* that the process spent while its native stacks were sampled, ns */
    uint64_t
        tick; /* ns: CPU timers end at the system's ticks alone; 0: no timer samples */
    uint64_t preempted; /* ns in which threads could run and others had the processors */
    uint64_t
        unwound; /* enum tt_recursion + 1, of stacks that are unwound; 0: as pushes */
    uint64_t unwound_length;
    uint64_t
        processors; /* of a recording of a machine, whose strands have owners; else 0 */
    char interpreters[96]; /* those found, and why their functions are not shown */
    uint64_t interpreted;  /* stacks with functions of an interpreter in them */
    uint64_t unplaced;     /* of all stacks, those with functions that were not placed */
    uint64_t log;          /* limit of the sample log in pages; 0: there is none */
    uint64_t log_bits;     /* of its entries, for a cell */
    uint64_t log_lost;     /* ticks of samples that found no room in it */
    uint64_t lost_stacks;  /* of waits and wakings, that the system had no room for */
    uint64_t names_file;   /* inode of TT_PERF_MAP if it is written for us; or 0 */
    uint64_t recorder;     /* process that records this one from outside; 0: itself */
    uint64_t skipped; /* samples for which a thread had no time left: see sampler.c */
    /* Of in-process samples of native stacks: how many, and the sums of their times, in
     * tt_look_unit, and of the squares of these. */
    uint64_t looks, look_times, look_squares;
    uint64_t
        heap_rate; /* mean distance of sampled bytes of the allocator; 0: it records all */
    uint64_t reserved[4];
    struct tt_metric_record {
        char name[TT_NAME_SIZE], unit[TT_NAME_SIZE];
    } metric[TT_METRICS_MAX + 1]; /* 0 is unused */
};

#define TT_PERF_MAP "/tmp/perf-%llu.map" /* of a process: names of compiled code */

enum { TT_SLOW_ROWS = 170 };
struct tt_slow_row {        /* of the subtree of a slow activation, parents first */
    uint32_t block, parent; /* parent: a row + 1; 0: the activation itself */
    uint64_t calls, self;
};
struct tt_slow {
    uint64_t start, duration;
    uint32_t rows, count; /* a cell, of 170 rows' room */
    uint64_t dropped;     /* self ticks of rows that found no room */
};
struct tt_slowest { /* the slowest activations through this edge, in no order */
    TT_CELL_HEAD;
    uint32_t next, capacity;
    uint64_t count;
    struct tt_slow slot[TT_HISTORY_MAX];
};

#define TT_IS_CELL(type) _Static_assert(sizeof(type) == TT_CELL_SIZE, #type)
TT_IS_CELL(struct tt_node);
TT_IS_CELL(struct tt_loss);
TT_IS_CELL(struct tt_metrics);
TT_IS_CELL(struct tt_tally);
TT_IS_CELL(struct tt_space);
TT_IS_CELL(struct tt_holding);
TT_IS_CELL(struct tt_block_record);
TT_IS_CELL(struct tt_type_record);
_Static_assert(sizeof(struct tt_frame) == 64, "frame");
_Static_assert(sizeof(struct tt_times) == 2 * TT_CELL_SIZE, "times");
_Static_assert(sizeof(struct tt_histogram) == 8 * TT_CELL_SIZE, "histogram");
_Static_assert(sizeof(struct tt_history) <= 8 * TT_CELL_SIZE, "history");
_Static_assert(sizeof(struct tt_slowest) <= 16 * TT_CELL_SIZE, "slowest");
_Static_assert(sizeof(struct tt_slow_row) * TT_SLOW_ROWS <= 64 * TT_CELL_SIZE,
               "slow rows");
_Static_assert(sizeof(struct tt_strand_record) == 512, "strand");
_Static_assert(sizeof(struct tt_owner) <= TT_TOP_FRAMES * sizeof(struct tt_top), "owner");

/* The module of blocks whose names are the labels of processes. */
#define TT_LABELS "[labels]"
_Static_assert(sizeof(struct tt_band) <= TT_PAGE_SIZE, "band");
_Static_assert(sizeof(struct tt_space_record) == TT_PAGE_SIZE, "space");
_Static_assert(sizeof(struct tt_live_set) == TT_PAGE_SIZE, "held");
_Static_assert(sizeof(struct tt_log_page) == TT_CELL_SIZE, "log");
_Static_assert(sizeof(struct tt_header) <= TT_HEADER_SIZE, "header");

#endif
