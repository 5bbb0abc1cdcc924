/* SPDX-License-Identifier: MIT */
/* frame-info.c - reads .eh_frame and .debug_frame.
 *
 *      CIE   common data of entries: encodings, first instructions
 *      FDE   a function, and instructions: "from here on the CFA is ..."
 *
 * Any bytes are safe: reading ends, and one bad entry costs only its function. */
#include "frame-info.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "assertion.h"
#include "byte-reader.h"
#include "machine.h"
#include "tallytree.h"

enum {
    CIE_MAX = 1024,                                  /* bytes of first instructions */
    ENCODING_NONE = 255,                             /* DW_EH_PE_omit */
    COLUMNS = TT_REGISTERS < 32 ? TT_REGISTERS : 32, /* others are not followed */
};

/* An entry while it runs. */
struct run {
    struct tt_frame_reader *r;
    const struct tt_frame_common *common;
    struct tt_byte_reader s;
    struct tt_leaving now;
    unsigned depth;
    uint64_t start;
    uint32_t size, at; /* of the function; where in it */
    int rows;          /* 0 for first instructions, which have no place */
};

/* ── Sections ─────────────────────────────────────────────────────────────────────── */

static void set_section(struct tt_frame_reader *r, unsigned debug)
{
    r->bytes = debug ? r->info->debug : r->info->bytes;
    r->size = debug ? r->info->debug_size : r->info->size;
    r->debug = debug;
}

/* ── Numbers ──────────────────────────────────────────────────────────────────────── */

static uint64_t address_of(const struct tt_frame_reader *r, const uint8_t *at)
{
    return r->info->address + (uint64_t)(at - r->bytes);
}

static uint64_t take_value(struct tt_byte_reader *s, unsigned format)
{
    switch (format) {
    case 0x00:
    case 0x04:
    case 0x0c:
        return tt_byte_reader_number(s, 8);
    case 0x01:
        return tt_byte_reader_uleb(s);
    case 0x02:
        return tt_byte_reader_number(s, 2);
    case 0x03:
        return tt_byte_reader_number(s, 4);
    case 0x09:
        return (uint64_t)tt_byte_reader_sleb(s);
    case 0x0a:
        return (uint64_t)tt_byte_reader_signed(s, 2);
    case 0x0b:
        return (uint64_t)tt_byte_reader_signed(s, 4);
    default:
        return tt_byte_reader_fail(s);
    }
}

/* A pointer in its encoding, in .debug_frame a plain one; indirect ones are an error. */
static uint64_t take_pointer(const struct tt_frame_reader *r, struct tt_byte_reader *s,
                             unsigned encoding)
{
    uint64_t here = address_of(r, s->at), value;

    if (encoding == ENCODING_NONE)
        return 0;
    if (encoding == 0x50 || /* aligned: of no use to a section that moves */
        (encoding && r->debug))
        return tt_byte_reader_fail(s);
    value = take_value(s, encoding & 0x0f);
    switch (encoding & 0x70) {
    case 0x00:
        return value;
    case 0x10:
        return value + here;
    case 0x30:
        return r->info->header ? value + r->info->header : tt_byte_reader_fail(s);
    default:
        return tt_byte_reader_fail(s);
    }
}

/* ── Instructions ─────────────────────────────────────────────────────────────────── */

static void set_register(struct run *run, uint64_t reg, enum tt_how how, int64_t n)
{
    if (reg >= COLUMNS)
        return; /* vectors, and columns that are no registers */
    run->now.set |= (uint32_t)1 << reg;
    run->now.reg[reg].how = (uint8_t)how;
    run->now.reg[reg].n = n;
}

static void same_register(struct run *run, uint64_t reg)
{
    if (reg < COLUMNS)
        run->now.set &= ~((uint32_t)1 << reg);
}

static void restore_register(struct run *run, uint64_t reg)
{
    const struct tt_leaving *first = &run->common->first;

    if (reg < COLUMNS && (first->set & (uint32_t)1 << reg))
        set_register(run, reg, first->reg[reg].how, first->reg[reg].n);
    else
        same_register(run, reg);
}

static void set_base(struct run *run, uint64_t reg)
{
    run->now.base = reg < COLUMNS ? (uint8_t)reg : 255;
}

static void set_cfa(struct run *run, uint64_t reg, int64_t offset)
{
    set_base(run, reg);
    run->now.offset = offset;
    run->now.flags &= (uint8_t)~TT_RULE_EXPRESSION;
}

static int take_expression(struct run *run, int64_t *place)
{
    const struct tt_frame_reader *r = run->r;

    *place = run->s.at - r->bytes + (int64_t)(r->debug ? r->info->size : 0);
    return tt_byte_reader_bytes(&run->s, tt_byte_reader_uleb(&run->s)) ? 0
                                                                       : -TT_ERR_FORMAT;
}

static int set_expression(struct run *run, enum tt_how how)
{
    uint64_t reg = tt_byte_reader_uleb(&run->s);
    int64_t place;
    int error = take_expression(run, &place);

    if (!error)
        set_register(run, reg, how, place);
    return error;
}

static int set_cfa_expression(struct run *run)
{
    int error = take_expression(run, &run->now.offset);

    run->now.base = 0;
    run->now.flags |= TT_RULE_EXPRESSION;
    return error;
}

/* The present state holds for the next `delta`. */
static int advance(struct run *run, uint64_t delta)
{
    uint32_t size = run->size;
    int error = 0;

    if (__builtin_mul_overflow(delta, run->common->code_factor, &delta))
        return -TT_ERR_FORMAT;
    if (run->rows && delta && run->at < size)
        error = tt_rule_builder_row(&run->r->building, run->at, &run->now);
    run->at = delta < size - run->at ? run->at + (uint32_t)delta : size;
    return error;
}

static int set_location(struct run *run)
{
    uint64_t to = take_pointer(run->r, &run->s, run->common->encoding) - run->start;

    if (run->s.bad || to < run->at || to > run->size || !run->common->code_factor)
        return -TT_ERR_FORMAT;
    return advance(run, (to - run->at) / run->common->code_factor);
}

static int keep_state(struct run *run)
{
    if (run->depth == TT_STATES_KEPT)
        return -TT_ERR_FORMAT;
    run->r->kept[run->depth++] = run->now;
    return 0;
}

static int restore_state(struct run *run)
{
    if (!run->depth)
        return -TT_ERR_FORMAT;
    run->now = run->r->kept[--run->depth];
    return 0;
}

static int64_t factored(const struct run *run, int64_t n)
{
    return (int64_t)((uint64_t)n * (uint64_t)run->common->data_factor);
}

enum { NOT_MINE = 1 };

/* Operations that advance, or save and restore the state. */
static int run_place(struct run *run, unsigned op)
{
    switch (op) {
    case 0x00: /* nop */
    case 0x2d: /* aarch64's negate_ra_state: a signature is taken off wherever it is */
        return 0;
    case 0x01:
        return set_location(run);
    case 0x02:
        return advance(run, tt_byte_reader_number(&run->s, 1));
    case 0x03:
        return advance(run, tt_byte_reader_number(&run->s, 2));
    case 0x04:
        return advance(run, tt_byte_reader_number(&run->s, 4));
    case 0x0a:
        return keep_state(run);
    case 0x0b:
        return restore_state(run);
    case 0x2e: /* GNU_args_size */
        tt_byte_reader_uleb(&run->s);
        return 0;
    default:
        return NOT_MINE;
    }
}

static int run_cfa(struct run *run, unsigned op)
{
    struct tt_byte_reader *s = &run->s;
    uint64_t reg;

    switch (op) {
    case 0x0c: /* def_cfa */
        reg = tt_byte_reader_uleb(s);
        set_cfa(run, reg, (int64_t)tt_byte_reader_uleb(s));
        return 0;
    case 0x0d: /* def_cfa_register */
        set_base(run, tt_byte_reader_uleb(s));
        return 0;
    case 0x0e: /* def_cfa_offset */
        run->now.offset = (int64_t)tt_byte_reader_uleb(s);
        return 0;
    case 0x0f:
        return set_cfa_expression(run);
    case 0x12: /* def_cfa_sf */
        reg = tt_byte_reader_uleb(s);
        set_cfa(run, reg, factored(run, tt_byte_reader_sleb(s)));
        return 0;
    case 0x13: /* def_cfa_offset_sf */
        run->now.offset = factored(run, tt_byte_reader_sleb(s));
        return 0;
    default:
        return NOT_MINE;
    }
}

static int run_register(struct run *run, unsigned op)
{
    struct tt_byte_reader *s = &run->s;
    uint64_t reg;

    if (op == 0x10)
        return set_expression(run, TT_HOW_AT);
    if (op == 0x16)
        return set_expression(run, TT_HOW_IS);
    reg = tt_byte_reader_uleb(s);
    switch (op) {
    case 0x05: /* offset_extended */
        set_register(run, reg, TT_HOW_SAVED,
                     factored(run, (int64_t)tt_byte_reader_uleb(s)));
        return 0;
    case 0x06: /* restore_extended */
        restore_register(run, reg);
        return 0;
    case 0x07: /* undefined */
        set_register(run, reg, TT_HOW_LOST, 0);
        return 0;
    case 0x08: /* same_value */
        same_register(run, reg);
        return 0;
    case 0x09: /* register */
        set_register(run, reg, TT_HOW_REGISTER, (int64_t)tt_byte_reader_uleb(s));
        return 0;
    case 0x11: /* offset_extended_sf */
        set_register(run, reg, TT_HOW_SAVED, factored(run, tt_byte_reader_sleb(s)));
        return 0;
    case 0x14: /* val_offset */
        set_register(run, reg, TT_HOW_OFFSET,
                     factored(run, (int64_t)tt_byte_reader_uleb(s)));
        return 0;
    case 0x15: /* val_offset_sf */
        set_register(run, reg, TT_HOW_OFFSET, factored(run, tt_byte_reader_sleb(s)));
        return 0;
    case 0x2f: /* GNU_negative_offset_extended */
        set_register(run, reg, TT_HOW_SAVED,
                     factored(run, -(int64_t)tt_byte_reader_uleb(s)));
        return 0;
    default:
        return -TT_ERR_FORMAT;
    }
}

/* Operations of a whole byte. */
static int run_extended(struct run *run, unsigned op)
{
    int error = run_place(run, op);

    if (error == NOT_MINE)
        error = run_cfa(run, op);
    return error == NOT_MINE ? run_register(run, op) : error;
}

static int run_all(struct run *run)
{
    int error = 0;

    while (!error && run->s.at < run->s.end) {
        unsigned op = *run->s.at++, low = op & 0x3f;
        if (op >> 6 == 1)
            error = advance(run, low);
        else if (op >> 6 == 2)
            set_register(run, low, TT_HOW_SAVED,
                         factored(run, (int64_t)tt_byte_reader_uleb(&run->s)));
        else if (op >> 6 == 3)
            restore_register(run, low);
        else
            error = run_extended(run, op);
        if (run->s.bad)
            error = -TT_ERR_FORMAT;
    }
    return error;
}

/* ── Entries ──────────────────────────────────────────────────────────────────────── */

/* Reads the length and returns a span of the entry's contents.  The result is the width
 * of the field that refers to its CIE, or marks it as one; 0: the end. */
static unsigned take_entry(const struct tt_frame_reader *r, struct tt_byte_reader *all,
                           struct tt_byte_reader *entry)
{
    uint64_t size = tt_byte_reader_number(all, 4);
    unsigned width = r->debug && size == UINT32_MAX ? 8 : 4;

    if (size == UINT32_MAX)
        size = tt_byte_reader_number(all, 8);
    entry->bad = 0;
    entry->at = all->at;
    if (all->bad || size < width || !tt_byte_reader_bytes(all, size))
        return 0;
    entry->end = all->at;
    return width;
}

static uint64_t cie_id(const struct tt_frame_reader *r, unsigned width)
{
    return !r->debug ? 0 : width == 8 ? UINT64_MAX : UINT32_MAX;
}

/* The letters of an augmentation that begins with z, and their data.  An unknown letter
 * hides those after it. */
static void read_augmentation(struct tt_frame_reader *r, struct tt_frame_common *c,
                              struct tt_byte_reader *s, const char *letters)
{
    uint64_t size = tt_byte_reader_uleb(s);
    const uint8_t *data = tt_byte_reader_bytes(s, size);
    struct tt_byte_reader a = {data, data ? data + size : data, 0};

    c->augmented = 1;
    for (; data && *letters && !a.bad; letters++) {
        if (*letters == 'R')
            c->encoding = (uint8_t)tt_byte_reader_number(&a, 1);
        else if (*letters == 'P')
            take_pointer(r, &a, (unsigned)tt_byte_reader_number(&a, 1) & 0x7f);
        else if (*letters == 'L')
            tt_byte_reader_number(&a, 1);
        else if (*letters == 'S')
            c->first.flags |= TT_RULE_SIGNAL;
        else if (*letters != 'B') /* signed by aarch64's other key */
            return;
    }
    if (a.bad)
        s->bad = 1;
}

static int read_common(struct tt_frame_reader *r, struct tt_frame_common *c,
                       struct tt_byte_reader s, unsigned width)
{
    uint8_t version;
    const char *letters;
    uint64_t ra;

    if (tt_byte_reader_number(&s, width) != cie_id(r, width))
        return -TT_ERR_FORMAT;
    version = (uint8_t)tt_byte_reader_number(&s, 1);
    letters = (const char *)s.at;
    while (tt_byte_reader_number(&s, 1))
        ;
    if (s.bad || (version != 1 && version != 3 && version != 4))
        return -TT_ERR_FORMAT;
    if (version == 4)
        tt_byte_reader_number(&s, 2); /* sizes of addresses and segments */
    c->code_factor = tt_byte_reader_uleb(&s);
    c->data_factor = tt_byte_reader_sleb(&s);
    ra = version == 1 ? tt_byte_reader_number(&s, 1) : tt_byte_reader_uleb(&s);
    c->first.ra = ra < COLUMNS ? (uint8_t)ra : 0;
    if (letters[0] == 'z')
        read_augmentation(r, c, &s, letters + 1);
    if (s.bad || ra >= COLUMNS || (letters[0] && letters[0] != 'z') ||
        s.end - s.at > CIE_MAX)
        return -TT_ERR_FORMAT;
    struct run run = {.r = r, .common = c, .s = s, .now = c->first};
    int error = run_all(&run);
    c->first = run.now;
    return error;
}

/* NULL if it is not a readable CIE. */
static const struct tt_frame_common *find_common(struct tt_frame_reader *r, uint64_t at)
{
    struct tt_frame_common *c = &r->common[(at >> 3) % TT_CIES_KEPT];
    struct tt_byte_reader all = {r->bytes + at, r->bytes + r->size, 0}, s;
    uint64_t key = (uint64_t)r->debug << 63 | (at + 1);
    unsigned width;

    if (c->at != key) {
        memset(c, 0, sizeof *c);
        c->at = key;
        c->first.base = 255;
        width = take_entry(r, &all, &s);
        c->valid = width && read_common(r, c, s, width) == 0;
    }
    return c->valid ? c : NULL;
}

/* ── Functions ────────────────────────────────────────────────────────────────────── */

/* In .eh_frame an entry has the distance of its CIE, in .debug_frame its offset. */
static int find_own(const struct tt_frame_reader *r, struct tt_byte_reader *s,
                    unsigned width, uint64_t *common)
{
    uint64_t here = (uint64_t)(s->at - r->bytes), id = tt_byte_reader_number(s, width);

    *common = r->debug ? id : here - id;
    return r->debug ? id < r->size : id && id <= here;
}

int tt_frame_read(struct tt_frame_reader *r, uint64_t at, struct tt_frame_function *f)
{
    struct tt_byte_reader all, s;
    const struct tt_frame_common *c;
    unsigned width;
    uint64_t size;

    set_section(r, at >= r->info->size);
    at -= r->debug ? r->info->size : 0;
    if (!r->bytes || at >= r->size)
        return 0;
    all = (struct tt_byte_reader){r->bytes + at, r->bytes + r->size, 0};
    if (!(width = take_entry(r, &all, &s)) || !find_own(r, &s, width, &f->common) ||
        !(c = find_common(r, f->common)))
        return 0;
    f->start = take_pointer(r, &s, c->encoding);
    size = take_value(&s, c->encoding & 0x0f);
    if (c->augmented)
        tt_byte_reader_bytes(&s, tt_byte_reader_uleb(&s));
    f->end = f->start + size;
    f->at = (uint64_t)(s.at - r->bytes);
    f->after = (uint64_t)(s.end - r->bytes);
    return !s.bad && f->start >= r->info->low && f->start < r->info->high && size &&
           size <= r->info->high - f->start && f->end - r->info->low <= INT32_MAX;
}

int tt_frame_run(struct tt_frame_reader *r, const struct tt_frame_function *f)
{
    struct run run = {.r = r, .start = f->start, .rows = 1};
    int error;

    run.size = (uint32_t)(f->end - f->start);
    run.common = find_common(r, f->common);
    run.s = (struct tt_byte_reader){r->bytes + f->at, r->bytes + f->after, 0};
    TT_ASSERT(run.common && run.size);
    run.now = run.common->first;
    tt_rule_builder_begin(&r->building);
    error = run_all(&run);
    if (!error && run.at < run.size)
        error = tt_rule_builder_row(&r->building, run.at, &run.now);
    return error;
}

static int each_of_section(struct tt_frame_reader *r, unsigned debug,
                           int (*each)(void *arg, uint64_t at, uint64_t after), void *arg)
{
    uint64_t first = debug ? r->info->size : 0;
    struct tt_byte_reader all, s;
    int result = 0;

    set_section(r, debug);
    if (!r->bytes)
        return 0;
    all = (struct tt_byte_reader){r->bytes, r->bytes + r->size, 0};
    while (!result && all.at < all.end) {
        const uint8_t *at = all.at;
        if (!take_entry(r, &all, &s))
            break;
        result = each(arg, first + (uint64_t)(at - r->bytes),
                      first + (uint64_t)(all.at - r->bytes));
        set_section(r, debug);
    }
    return result;
}

int tt_frame_each(struct tt_frame_reader *r,
                  int (*each)(void *arg, uint64_t at, uint64_t after), void *arg)
{
    int result = each_of_section(r, 0, each, arg);

    return result || !r->info->debug ? result : each_of_section(r, 1, each, arg);
}

/* ── Readers ──────────────────────────────────────────────────────────────────────── */

enum { READERS = 2, TRIES = 20000 }; /* for a second at most */

/* Untouched pages of it cost nothing. */
static struct tt_frame_reader *_Atomic readers;
static _Atomic uintptr_t taken[READERS]; /* by which thread */

int tt_frame_readers_prepare(void)
{
    struct tt_frame_reader *none = NULL, *all;

    if (atomic_load(&readers))
        return 0;
    all = mmap(NULL, READERS * sizeof *all, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        return -TT_ERR_MEMORY;
    if (!atomic_compare_exchange_strong(&readers, &none, all))
        munmap(all, READERS * sizeof *all);
    return 0;
}

static uintptr_t this_thread(void) { return (uintptr_t)__builtin_thread_pointer(); }

/* Not nanosleep, which may be where a thread is cancelled. */
static void sleep_briefly(void)
{
    const struct timespec time = {0, 50000};
    int saved = errno;

    (void)syscall(SYS_nanosleep, &time, NULL);
    errno = saved;
}

/* A reader is held for about a microsecond, by a thread that may be preempted then. */
struct tt_frame_reader *tt_frame_reader_take(const struct tt_frame_info *info)
{
    struct tt_frame_reader *all = atomic_load(&readers);

    for (unsigned n = 0; all && n < TRIES * READERS; n++) {
        uintptr_t none = 0;
        unsigned i = n % READERS;
        if (atomic_compare_exchange_strong(&taken[i], &none, this_thread())) {
            for (unsigned c = 0; c < TT_CIES_KEPT; c++)
                all[i].common[c].at = 0;
            all[i].info = info;
            return &all[i];
        }
        if (i == READERS - 1)
            sleep_briefly();
    }
    return NULL;
}

void tt_frame_reader_give(struct tt_frame_reader *r)
{
    atomic_store(&taken[r - atomic_load(&readers)], 0);
}

void tt_frame_readers_forked(void)
{
    for (unsigned i = 0; i < READERS; i++)
        if (atomic_load(&taken[i]) != this_thread())
            atomic_store(&taken[i], 0);
}
