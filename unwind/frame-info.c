/* SPDX-License-Identifier: MIT */
/* frame-info.c - reading .eh_frame and .debug_frame: what each entry says is run once, into
 * rows.
 *
 *      CIE   what entries have in common: encodings, first instructions
 *      FDE   a function, and instructions: "from here on the CFA is ..."
 *
 * Entries are read in the order of the section, sorted by address, and run.  Whatever the
 * bytes are: each is looked at a bounded number of times, and one bad entry costs its own
 * function alone. */
#include <string.h>

#include "byte-reader.h"
#include "machine.h"
#include "rule-builder.h"
#include "tallytree.h"

enum {
    REMEMBERED = 16,     /* states on the stack of an entry */
    CIES = 8,            /* kept while entries that share them go by */
    CIE_MAX = 1024,      /* bytes of first instructions; they are run again and again */
    ENCODING_NONE = 255, /* DW_EH_PE_omit */
    COLUMNS = TT_REGISTERS < 32 ? TT_REGISTERS : 32, /* others are not followed */
};

struct cie {
    uint64_t at; /* its offset + 1, and of which section; 0: none */
    uint8_t encoding, augmented, valid;
    uint64_t code_factor;
    int64_t data_factor;
    struct tt_leaving first;
};

struct entry {
    uint32_t start, end; /* from `base` */
    uint64_t debug : 1;  /* in .debug_frame */
    uint64_t cie : 63;   /* offsets in the section */
    uint64_t at, after;  /* instructions, and their end */
};

struct reading {
    const struct tt_frame_info *info;
    const uint8_t *bytes; /* the section that is read now */
    size_t size;
    unsigned debug; /* it is .debug_frame */
    struct tt_rule_builder building;
    struct tt_mapped_array entries;
    struct cie cie[CIES];
    uint64_t base;
    struct tt_leaving kept[REMEMBERED]; /* of the entry that runs */
};

/* An entry while it runs. */
struct run {
    struct reading *r;
    const struct cie *cie;
    struct tt_byte_reader s;
    struct tt_leaving now;
    unsigned depth;
    uint32_t start, end, at; /* `at` counts from the start */
    int rows;                /* 0 for first instructions, which have no place */
};

/* ── Sections ─────────────────────────────────────────────────────────────────────── */

static void set_section(struct reading *r, unsigned debug)
{
    r->bytes = debug ? r->info->debug : r->info->bytes;
    r->size = debug ? r->info->debug_size : r->info->size;
    r->debug = debug;
}

/* ── Numbers ──────────────────────────────────────────────────────────────────────── */

static uint64_t address_of(const struct reading *r, const uint8_t *at)
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

/* A pointer as its encoding says, in .debug_frame a plain one; what is stored elsewhere is
 * not looked up. */
static uint64_t take_pointer(const struct reading *r, struct tt_byte_reader *s,
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
    const struct tt_leaving *first = &run->cie->first;

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
    uint64_t size = tt_byte_reader_uleb(&run->s);
    const uint8_t *bytes = tt_byte_reader_bytes(&run->s, size);

    *place = 0;
    if (!bytes)
        return -TT_ERR_FORMAT;
    return tt_rule_builder_expression(&run->r->building, bytes, (size_t)size, place);
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

/* The state holds up to the place that lies `delta` on. */
static int advance(struct run *run, uint64_t delta)
{
    uint32_t size = run->end - run->start;
    int error = 0;

    if (__builtin_mul_overflow(delta, run->cie->code_factor, &delta))
        return -TT_ERR_FORMAT;
    if (run->rows && delta && run->at < size)
        error = tt_rule_builder_row(&run->r->building, run->at, &run->now);
    run->at = delta < size - run->at ? run->at + (uint32_t)delta : size;
    return error;
}

static int set_location(struct run *run)
{
    uint64_t to = take_pointer(run->r, &run->s, run->cie->encoding) - run->r->base;

    if (run->s.bad || to < run->start + run->at || to > run->end ||
        !run->cie->code_factor)
        return -TT_ERR_FORMAT;
    return advance(run, (to - run->start - run->at) / run->cie->code_factor);
}

static int keep_state(struct run *run)
{
    if (run->depth == REMEMBERED)
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
    return (int64_t)((uint64_t)n * (uint64_t)run->cie->data_factor);
}

enum { NOT_MINE = 1 };

/* Those that move on, and those that keep the state. */
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

/* Those that have a byte of their own. */
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

/* Takes the length off and leaves a span of what the entry consists of.  How many bytes say
 * first which CIE it has, or that it is one; 0: the end. */
static unsigned take_entry(const struct reading *r, struct tt_byte_reader *all,
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

static uint64_t cie_id(const struct reading *r, unsigned width)
{
    return !r->debug ? 0 : width == 8 ? UINT64_MAX : UINT32_MAX;
}

/* The letters of an augmentation that begins with z, and their data.  An unknown letter
 * hides those after it. */
static void read_augmentation(struct reading *r, struct cie *c, struct tt_byte_reader *s,
                              const char *letters)
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

static int read_cie(struct reading *r, struct cie *c, struct tt_byte_reader s,
                    unsigned width)
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
    struct run run = {.r = r, .cie = c, .s = s, .now = c->first};
    int error = run_all(&run);
    c->first = run.now;
    return error;
}

/* NULL when it is none that we can read. */
static const struct cie *find_cie(struct reading *r, uint64_t at)
{
    struct cie *c = &r->cie[(at >> 3) % CIES];
    struct tt_byte_reader all = {r->bytes + at, r->bytes + r->size, 0}, s;
    uint64_t key = (uint64_t)r->debug << 63 | (at + 1);
    unsigned width;

    if (c->at != key) {
        memset(c, 0, sizeof *c);
        c->at = key;
        c->first.base = 255;
        width = take_entry(r, &all, &s);
        c->valid = width && read_cie(r, c, s, width) == 0;
    }
    return c->valid ? c : NULL;
}

/* Adds the function that an FDE is of; one that is bad is passed over. */
static int read_fde(struct reading *r, struct tt_byte_reader s, uint64_t cie_at)
{
    const struct cie *c = find_cie(r, cie_at);
    uint64_t start, size, high = r->info->high;
    struct entry *e;

    if (!c)
        return 0;
    start = take_pointer(r, &s, c->encoding);
    size = take_value(&s, c->encoding & 0x0f);
    if (c->augmented)
        tt_byte_reader_bytes(&s, tt_byte_reader_uleb(&s));
    if (s.bad || start < r->info->low || start >= high || !size || size > high - start ||
        start + size - r->base >= UINT32_MAX)
        return 0;
    if (!(e = tt_mapped_array_add(&r->entries, sizeof *e)))
        return -TT_ERR_MEMORY;
    e->start = (uint32_t)(start - r->base);
    e->end = (uint32_t)(start + size - r->base);
    e->debug = r->debug & 1;
    e->cie = cie_at & INT64_MAX;
    e->at = (uint64_t)(s.at - r->bytes);
    e->after = (uint64_t)(s.end - r->bytes);
    return 0;
}

/* In .eh_frame an entry says how far back its CIE is, in .debug_frame where. */
static int read_entries(struct reading *r)
{
    struct tt_byte_reader all = {r->bytes, r->bytes + r->size, 0}, s;
    unsigned width;
    int error = 0;

    while (!error && (width = take_entry(r, &all, &s))) {
        uint64_t here = (uint64_t)(s.at - r->bytes),
                 id = tt_byte_reader_number(&s, width);
        if (r->debug && id < r->size)
            error = read_fde(r, s, id);
        else if (!r->debug && id && id <= here)
            error = read_fde(r, s, here - id);
    }
    return error;
}

static int read_sections(struct reading *r)
{
    int error;

    set_section(r, 0);
    error = read_entries(r);
    if (error || !r->info->debug)
        return error;
    set_section(r, 1);
    return read_entries(r);
}

/* ── Sorting ──────────────────────────────────────────────────────────────────────── */

/* Where both sections have a place, .eh_frame is the first. */
static int is_before(const struct entry *a, const struct entry *b)
{
    return a->start != b->start ? a->start < b->start : a->debug < b->debug;
}

static void sift(struct entry *e, size_t at, size_t n)
{
    struct entry moved = e[at];
    size_t child;

    for (; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && is_before(&e[child], &e[child + 1]))
            child++;
        if (!is_before(&moved, &e[child]))
            break;
        e[at] = e[child];
    }
    e[at] = moved;
}

/* By address, without memory; most sections are sorted as they are. */
static void sort(struct entry *e, size_t n)
{
    size_t i = 1;

    while (i < n && !is_before(&e[i], &e[i - 1]))
        i++;
    if (i >= n)
        return;
    for (i = n / 2; i-- > 0;)
        sift(e, i, n);
    for (i = n; i-- > 1;) {
        struct entry last = e[i];
        e[i] = e[0];
        e[0] = last;
        sift(e, 0, i);
    }
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

static int run_entry(struct reading *r, const struct entry *e)
{
    struct run run = {.r = r, .start = e->start, .end = e->end, .rows = 1};
    const struct cie *c;
    int error = tt_rule_builder_function(&r->building, e->start, e->end);

    set_section(r, e->debug);
    run.cie = c = find_cie(r, e->cie);
    run.s = (struct tt_byte_reader){r->bytes + e->at, r->bytes + e->after, 0};
    if (error || !c)
        return -TT_ERR_MEMORY;
    run.now = c->first;
    error = run_all(&run);
    if (!error && run.at < run.end - run.start)
        error = tt_rule_builder_row(&r->building, run.at, &run.now);
    if (error == -TT_ERR_FORMAT) {
        tt_rule_builder_drop(&r->building);
        error = 0;
    }
    return error;
}

/* Of two entries for one place the first is believed. */
static int run_entries(struct reading *r)
{
    struct entry *e = r->entries.bytes;
    size_t n = r->entries.used / sizeof *e;
    uint32_t end = 0;
    int error = 0;

    sort(e, n);
    for (size_t i = 0; i < n && !error; i++) {
        if (e[i].start < end)
            continue;
        end = e[i].end;
        error = run_entry(r, &e[i]);
    }
    return error;
}

int tt_rules_new(struct tt_rules **rules, const struct tt_frame_info *info)
{
    struct reading r;
    int error;

    *rules = NULL;
    memset(&r, 0, sizeof r);
    r.info = info;
    r.base = info->low;
    error = read_sections(&r);
    if (!error)
        error = run_entries(&r);
    if (!error)
        error = tt_rule_builder_finish(&r.building, r.base, rules);
    tt_mapped_array_fini(&r.entries);
    tt_rule_builder_fini(&r.building);
    return error;
}
