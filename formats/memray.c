/* SPDX-License-Identifier: MIT */
/* memray.c - allocations that memray recorded of Python: reading.
 *
 *      head │ record │ record │ … │ end │ 0 0 0          mostly packed by lz4
 *
 * A file has either every allocation and release, between which frames are pushed to and
 * popped from the stacks of threads, or what was alive at the peak and at the end, by
 * stack.  A record begins with its kind and some bits of its content; many numbers are
 * written as differences to the last one of their kind.  If the program was killed, the
 * end is missing, and zeros may be there instead. */
#include <stdlib.h>
#include <string.h>

#include "formats.h"
#include "memray-heap.h"
#include "memray-stacks.h"
#include "memray.h"

enum {
    OLDEST = 8,
    WITH_MAIN = 9,
    WITH_FORM = 10,
    WITH_RAW = 11,
    PACKED = 12,
    NEWEST = 13
};
enum { MOST_NAME = 1 << 20, RECENT = 15 };
enum kind {
    NO_RECORD, /* zeros after the last record */
    THE_END,
    MEMORY,
    NATIVE,
    IMAGES,
    IMAGE,
    THREAD,
    SWITCH,
    CODE, /* of versions before 12: a frame */
    POP,  /* `bits`: one less than how many */
    PUSH, /* `bits`: is it called by the interpreter itself? */
    OBJECT,
    ALLOCATION,
    OLD_NATIVE_ALLOCATION,
    SNAPSHOT,
    AGGREGATED,
    PYTHON_FRAME,
    PYTHON_TRACE,
    WRONG
};

struct file {
    struct tt_memray m;
    struct tt_source *s;
    int version, has_native, is_aggregated;
    uint64_t started, ended;
    uint32_t thread; /* index of the current one; TT_NONE: none so far */
    struct {         /* what was written last */
        uint64_t native, address, pointer, frame, line;
    } last;
    uint64_t recent[RECENT];       /* addresses of allocations, the last one first */
    struct tt_vector frame, trace; /* of an aggregated file: uint32_t, frames and nodes */
    int is_cut, error;             /* the file ended within a record; or what is wrong */
};

/* ── Pieces ───────────────────────────────────────────────────────────────────────── */

static int is_over(const struct file *f) { return f->is_cut || f->error; }

/* Sets *at to the next `size` bytes. */
static int have(struct file *f, size_t size, const char **at)
{
    int64_t n;

    if (is_over(f))
        return 0;
    n = tt_source_want(f->s, size);
    if (n < 0)
        f->error = (int)n;
    else if ((uint64_t)n < size)
        f->is_cut = 1;
    *at = tt_source_at(f->s);
    return !is_over(f);
}

/* A number of so many bytes; 0 after a failure. */
static uint64_t fixed(struct file *f, size_t size)
{
    const char *at;
    uint64_t n;

    if (!have(f, size, &at))
        return 0;
    n = tt_number_at(at, (int)size);
    tt_source_skip(f->s, size);
    return n;
}

static uint64_t varied(struct file *f)
{
    uint64_t n = 0;

    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint64_t byte = fixed(f, 1);
        n |= (byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return n;
    }
    if (!is_over(f))
        f->error = tt_source_fail(f->s, "a number has more than 64 bits");
    return 0;
}

static uint64_t difference(struct file *f, uint64_t *last)
{
    uint64_t n = varied(f);

    *last += n >> 1 ^ -(n & 1);
    return *last;
}

/* Notes a text that ends with a 0, and returns its place. */
static size_t text(struct file *f)
{
    const size_t place = f->m.text.count;
    const char *at, *end = NULL;
    size_t size = 0;
    char *to;

    while (!end && !is_over(f)) {
        int64_t n = tt_source_want(f->s, 2 * size + 64);
        if (n < 0)
            f->error = (int)n;
        else if ((size_t)n == size)
            f->is_cut = 1;
        else if (size > MOST_NAME)
            f->error = tt_source_fail(f->s, "a name has more than a million bytes");
        at = tt_source_at(f->s);
        end = is_over(f) ? NULL : memchr(at + size, '\0', (size_t)n - size);
        size = end ? (size_t)(end - at) + 1 : (size_t)(n > 0 ? n : 0);
    }
    if (is_over(f))
        return 0;
    to = tt_vector_add(&f->m.text, size);
    if (!to) {
        f->error = tt_source_no_memory(f->s);
        return 0;
    }
    memcpy(to, tt_source_at(f->s), size);
    tt_source_skip(f->s, size);
    return place;
}

static const char *text_at(const struct file *f, size_t place)
{
    return (const char *)f->m.text.item + place;
}

static void set(struct file *f, int error)
{
    if (!f->error)
        f->error = error;
}

/* ── Frames ───────────────────────────────────────────────────────────────────────── */

static uint32_t function(struct file *f, size_t name, size_t file, uint64_t line)
{
    uint32_t block = tt_builder_block(
        f->m.b, &(struct tt_block_info){.name = *text_at(f, name) ? text_at(f, name)
                                                                  : "(unknown)",
                                        .file = text_at(f, file),
                                        .line = line < INT32_MAX ? (uint32_t)line : 0,
                                        .kind = TT_KIND_FUNCTION});

    if (block == TT_NONE)
        set(f, tt_source_no_memory(f->s));
    return block;
}

/* A frame of an old file, whose line is the one that was running: it is left out. */
static void take_old_frame(struct file *f, int is_entry)
{
    const size_t start = f->m.text.count;
    uint64_t number = f->is_aggregated ? fixed(f, 8) : difference(f, &f->last.frame);
    size_t name = text(f), file = text(f);

    if (f->is_aggregated) {
        (void)fixed(f, 4);
        is_entry = fixed(f, 1) != 0;
    } else {
        (void)difference(f, &f->last.line);
    }
    if (is_over(f))
        return;
    set(f, tt_memray_frame(&f->m, number, 0, function(f, name, file, 0), is_entry));
    f->m.text.count = start;
}

/* What is compiled, a function mostly, at its first line. */
static void take_code(struct file *f)
{
    const size_t start = f->m.text.count;
    uint64_t number = varied(f), line, size;
    size_t name = text(f), file = text(f);
    uint32_t block;
    const char *at;

    line = difference(f, &f->last.line);
    size = varied(f); /* of a table of lines */
    for (size_t part; size && !is_over(f); size -= part) {
        part = size < 4096 ? (size_t)size : 4096;
        if (have(f, part, &at))
            tt_source_skip(f->s, part);
    }
    block = is_over(f) ? TT_NONE : function(f, name, file, line);
    for (uint64_t is_entry = 0; is_entry < 2 && !is_over(f); is_entry++)
        set(f, tt_memray_frame(&f->m, number, 1 + is_entry, block, (int)is_entry));
    f->m.text.count = start;
}

/* Numbers of frames of an aggregated file, which refer to code. */
static void take_python_frame(struct file *f)
{
    uint64_t code, is_entry;

    if (f->version < PACKED) {
        take_old_frame(f, 1);
        return;
    }
    (void)varied(f); /* they are in order */
    code = varied(f);
    (void)varied(f); /* the place in it */
    is_entry = fixed(f, 1) != 0;
    if (!is_over(f)) {
        uint32_t frame = tt_memray_find_frame(&f->m, code, 1 + is_entry);
        if (frame == TT_NONE || tt_vector_push(&f->frame, &frame) != 0)
            set(f, tt_source_no_memory(f->s));
    }
}

static void take_trace(struct file *f)
{
    const int is_old = f->version < PACKED;
    uint64_t frame = is_old ? fixed(f, 8) : varied(f);
    uint64_t parent = is_old ? fixed(f, 4) : varied(f);
    uint32_t number, node = 0;

    if (is_over(f))
        return;
    if (parent > f->trace.count || (!is_old && frame >= f->frame.count)) {
        set(f, tt_source_fail(f->s, "a stack refers to what there is not"));
        return;
    }
    number = is_old ? tt_memray_find_frame(&f->m, frame, 0)
                    : ((const uint32_t *)f->frame.item)[frame];
    if (parent)
        parent = ((const uint32_t *)f->trace.item)[parent - 1];
    if (number != TT_NONE)
        node = tt_memray_node(&f->m, (uint32_t)parent, number);
    if (!node || tt_vector_push(&f->trace, &node) != 0)
        set(f, tt_source_no_memory(f->s));
}

static void take_native(struct file *f)
{
    uint64_t address = difference(f, &f->last.address);
    uint64_t parent = difference(f, &f->last.native);

    if (!is_over(f))
        set(f, tt_memray_native(&f->m, address, parent));
}

static void take_images(struct file *f) { set(f, tt_memray_images(&f->m)); }

static void take_image(struct file *f)
{
    enum { SEGMENT = 8 };
    size_t path = text(f);
    uint64_t count = varied(f), base = fixed(f, 8);

    for (; count && !is_over(f); count--) {
        uint64_t kind = fixed(f, 1), start = fixed(f, 8), size = varied(f);
        if (is_over(f))
            return;
        if (kind != SEGMENT)
            set(f, tt_source_fail(f->s, "an image lacks a part"));
        else
            set(f, tt_memray_image(&f->m, base + start, size, base, path));
    }
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

static struct tt_memray_thread *thread(const struct file *f)
{
    return (struct tt_memray_thread *)f->m.thread.item + f->thread;
}

static void take_switch(struct file *f, uint64_t id)
{
    int is_new;
    uint32_t *at = is_over(f) ? NULL : tt_pairs_get(&f->m.threads, id, 0, &is_new);
    struct tt_memray_thread *to;

    if (at && is_new) {
        to = tt_vector_add(&f->m.thread, 1);
        if (to) {
            *to = (struct tt_memray_thread){.id = id};
            tt_vector_init(&to->name, f->s->memory, 1);
            tt_vector_init(&to->stack, f->s->memory, sizeof(uint32_t));
            *at = (uint32_t)f->m.thread.count;
        } else {
            at = NULL;
        }
    }
    if (at)
        f->thread = *at - 1;
    else if (!is_over(f))
        set(f, tt_source_no_memory(f->s));
}

static int has_thread(struct file *f)
{
    if (!is_over(f) && f->thread == TT_NONE)
        set(f, tt_source_fail(f->s, "this belongs to no thread"));
    return !is_over(f);
}

static void take_name(struct file *f)
{
    const size_t start = text(f), size = f->m.text.count - start;
    struct tt_vector *name = has_thread(f) ? &thread(f)->name : NULL;
    char *to;

    if (!name)
        return;
    name->count = 0;
    to = tt_vector_add(name, size);
    if (to)
        memcpy(to, text_at(f, start), size);
    else
        set(f, tt_source_no_memory(f->s));
    f->m.text.count = start;
}

static void take_push(struct file *f, int is_entry)
{
    uint64_t number = f->version < PACKED ? difference(f, &f->last.frame) : varied(f);
    struct tt_vector *stack;
    uint32_t frame, node = 0;

    if (f->version >= PACKED)
        (void)varied(f); /* the place in it */
    if (!has_thread(f))
        return;
    stack = &thread(f)->stack;
    frame = tt_memray_find_frame(&f->m, number,
                                 f->version < PACKED ? 0 : 1 + (uint64_t)is_entry);
    if (frame != TT_NONE)
        node = tt_memray_node(
            &f->m, stack->count ? ((const uint32_t *)stack->item)[stack->count - 1] : 0,
            frame);
    if (!node || tt_vector_push(stack, &node) != 0)
        set(f, tt_source_no_memory(f->s));
}

static void take_pop(struct file *f, size_t count)
{
    struct tt_vector *stack;

    if (!has_thread(f))
        return;
    stack = &thread(f)->stack;
    if (count > stack->count)
        set(f, tt_source_fail(f->s, "more frames are popped than were pushed"));
    else
        stack->count -= count;
}

/* ── Allocations ──────────────────────────────────────────────────────────────────── */

/* As old files number the functions that allocate. */
static unsigned allocator_of(unsigned old)
{
    static const unsigned char now[16] = {0,  6,  5,  8,  7, 9, 10, 11,
                                          12, 13, 14, 15, 2, 3, 4,  1};

    return now[old & 15];
}

/* An address is one of those that were used last, or a new one. */
static uint64_t take_address(struct file *f, unsigned index)
{
    if (index < RECENT)
        return f->recent[index];
    memmove(f->recent + 1, f->recent, (RECENT - 1) * sizeof *f->recent);
    f->recent[0] = difference(f, &f->last.pointer) << 3;
    return f->recent[0];
}

static int is_release(unsigned allocator)
{
    return allocator == TT_MEMRAY_FREE || allocator == TT_MEMRAY_PY_FREE;
}

static void add_allocation(struct file *f, unsigned allocator, uint64_t address,
                           uint64_t size, uint64_t native)
{
    struct tt_memray_site site = {.thread = f->thread,
                                  .allocator = allocator,
                                  .native = native < TT_NONE ? (uint32_t)native : 0,
                                  .images = (uint32_t)f->m.list.count};
    const struct tt_vector *stack;

    if (!has_thread(f))
        return;
    if (!allocator || allocator > TT_MEMRAY_MUNMAP) {
        set(f, tt_source_fail(f->s, "what allocates here is not known"));
    } else if (is_release(allocator)) {
        tt_memray_free(&f->m, address);
    } else if (allocator == TT_MEMRAY_MUNMAP) {
        set(f, tt_memray_unmap(&f->m, address, size));
    } else {
        stack = &thread(f)->stack;
        if (stack->count)
            site.node = ((const uint32_t *)stack->item)[stack->count - 1];
        set(f, tt_memray_allocate(&f->m, &site, address, size));
    }
}

/* bits: the index of the address, 4 bits, and what allocates, or 0. */
static void take_allocation(struct file *f, unsigned bits)
{
    uint64_t address = take_address(f, bits >> 3 & 15), size = 0, native = 0;
    unsigned allocator = bits & 7;

    if (!allocator)
        allocator = (unsigned)fixed(f, 1);
    if (f->has_native && !is_release(allocator))
        native = difference(f, &f->last.native);
    if (!is_release(allocator))
        size = varied(f);
    add_allocation(f, allocator, address, size, native);
}

static void take_old_allocation(struct file *f, unsigned old, int has_native)
{
    const unsigned allocator = allocator_of(old);
    uint64_t address = difference(f, &f->last.pointer), size = 0, native = 0;

    if (has_native || !is_release(allocator))
        size = varied(f);
    if (has_native)
        native = difference(f, &f->last.native);
    add_allocation(f, allocator, address, size, native);
}

/* An object of Python was made or removed; its memory has records of its own. */
static void take_object(struct file *f, unsigned bits)
{
    enum { IS_NEW = 1 };

    if (f->is_aggregated) {
        (void)varied(f);
        if (f->has_native)
            (void)varied(f);
        return;
    }
    (void)take_address(f, bits >> 1 & 15);
    if (f->has_native && (bits & IS_NEW))
        (void)difference(f, &f->last.native);
}

/* What was alive of a stack, at the peak and at the end. */
static void take_aggregated(struct file *f)
{
    uint64_t thread = fixed(f, 8), allocator = fixed(f, 8) & 0xff, native = fixed(f, 8);
    uint64_t node = fixed(f, 8), images = fixed(f, 8), peaks = fixed(f, 8);
    uint64_t lives = fixed(f, 8), peak = fixed(f, 8), live = fixed(f, 8);
    struct tt_memray_figures *to;

    take_switch(f, thread);
    if (is_over(f))
        return;
    if (f->version < PACKED)
        allocator = allocator < 16 ? allocator_of((unsigned)allocator) : 0;
    if (node > f->trace.count || !allocator || is_release((unsigned)allocator) ||
        allocator >= TT_MEMRAY_MUNMAP) {
        set(f, tt_source_fail(f->s, "an allocation has no stack, or is of no kind"));
        return;
    }
    to = tt_memray_place(
        &f->m, &(struct tt_memray_site){
                   .thread = f->thread,
                   .allocator = (uint32_t)allocator,
                   .node = node ? ((const uint32_t *)f->trace.item)[node - 1] : 0,
                   .native = native < TT_NONE ? (uint32_t)native : 0,
                   .images = images < TT_NONE ? (uint32_t)images : 0});
    if (!to)
        set(f, -TT_ERR_MEMORY);
    else if (__builtin_add_overflow(to->peak, peak, &to->peak) ||
             __builtin_add_overflow(to->live, live, &to->live) ||
             __builtin_add_overflow(to->peak_number, peaks, &to->peak_number) ||
             __builtin_add_overflow(to->live_number, lives, &to->live_number))
        set(f, tt_source_fail(f->s, TT_TOO_MUCH));
}

/* ── Sizes over time ──────────────────────────────────────────────────────────────── */

static void note_time(struct file *f, uint64_t ms)
{
    if (__builtin_mul_overflow(ms, 1000000, &f->m.time) || f->m.time > INT64_MAX)
        set(f, tt_source_fail(f->s, "this is no time in ms"));
}

static void take_memory(struct file *f)
{
    uint64_t resident = varied(f);

    note_time(f, varied(f));
    if (is_over(f))
        return;
    tt_heap_line_point(&f->m.resident, f->m.time, resident);
    tt_heap_line_point(&f->m.line, f->m.time, f->m.live);
}

static void take_snapshot(struct file *f)
{
    uint64_t ms = fixed(f, 8), resident = fixed(f, 8), heap = fixed(f, 8);

    note_time(f, ms > f->started ? ms - f->started : 0);
    if (is_over(f))
        return;
    tt_heap_line_point(&f->m.resident, f->m.time, resident);
    tt_heap_line_point(&f->m.line, f->m.time, heap);
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static enum kind kind_of_old(unsigned byte, unsigned *bits)
{
    static const enum kind kinds[16] = {WRONG,  ALLOCATION, OLD_NATIVE_ALLOCATION,
                                        CODE,   PUSH,       NATIVE,
                                        IMAGES, IMAGE,      WRONG,
                                        POP,    THREAD,     MEMORY,
                                        SWITCH, WRONG,      WRONG,
                                        WRONG};
    enum { AN_END = 0x10 };

    *bits = byte >> 4;
    return !byte ? NO_RECORD : byte == AN_END ? THE_END : kinds[byte & 15];
}

static enum kind kind_of_new(unsigned byte, unsigned *bits)
{
    static const enum kind kinds[16] = {NO_RECORD, THE_END, MEMORY, WRONG, WRONG,  NATIVE,
                                        IMAGES,    IMAGE,   WRONG,  WRONG, THREAD, WRONG,
                                        SWITCH,    WRONG,   CODE,   WRONG};

    *bits = byte;
    if (byte & 0x80)
        return ALLOCATION;
    if (byte & 0x40)
        return PUSH;
    if (byte & 0x20)
        return OBJECT;
    if (byte & 0x10)
        return POP;
    return kinds[byte];
}

static enum kind kind_of_aggregated(unsigned byte)
{
    static const enum kind kinds[16] = {NO_RECORD,    SNAPSHOT, AGGREGATED, PYTHON_TRACE,
                                        PYTHON_FRAME, NATIVE,   IMAGES,     IMAGE,
                                        WRONG,        WRONG,    THREAD,     WRONG,
                                        SWITCH,       OBJECT,   CODE,       THE_END};

    return byte < 16 ? kinds[byte] : WRONG;
}

static void take_record(struct file *f, enum kind kind, unsigned bits)
{
    const int is_old = f->version < PACKED;

    switch (kind) {
    case MEMORY:
        take_memory(f);
        break;
    case NATIVE:
        take_native(f);
        break;
    case IMAGES:
        take_images(f);
        break;
    case IMAGE:
        take_image(f);
        break;
    case THREAD:
        take_name(f);
        break;
    case SWITCH:
        take_switch(f, fixed(f, 8));
        break;
    case CODE:
        is_old ? take_old_frame(f, !(bits & 1)) : take_code(f);
        break;
    case POP:
        take_pop(f, (bits & 15) + 1);
        break;
    case PUSH:
        take_push(f, bits & 1);
        break;
    case OBJECT:
        take_object(f, bits);
        break;
    case ALLOCATION:
        is_old ? take_old_allocation(f, bits, 0) : take_allocation(f, bits);
        break;
    case OLD_NATIVE_ALLOCATION:
        take_old_allocation(f, bits, 1);
        break;
    case SNAPSHOT:
        take_snapshot(f);
        break;
    case AGGREGATED:
        take_aggregated(f);
        break;
    case PYTHON_FRAME:
        take_python_frame(f);
        break;
    case PYTHON_TRACE:
        take_trace(f);
        break;
    default:
        set(f, tt_source_fail(f->s, "no record begins like this"));
    }
}

static void take_records(struct file *f)
{
    unsigned bits = 0;

    while (!is_over(f)) {
        unsigned byte = (unsigned)fixed(f, 1);
        enum kind kind = f->is_aggregated      ? kind_of_aggregated(byte)
                         : f->version < PACKED ? kind_of_old(byte, &bits)
                                               : kind_of_new(byte, &bits);
        if (is_over(f) || kind == THE_END)
            return;
        if (kind == NO_RECORD)
            f->is_cut = 1;
        else
            take_record(f, kind, bits);
    }
}

static void take_version(struct file *f)
{
    enum { MAGIC = 7 };
    const char *at;

    if (!have(f, MAGIC + 4, &at))
        return;
    f->version = (int)tt_number_at(at + MAGIC, 4);
    tt_source_skip(f->s, MAGIC + 4);
    if (f->version < OLDEST || f->version > NEWEST)
        set(f, tt_source_fail(f->s,
                              "version %d of memray's files is not known, only %d to %d "
                              "are; the memray that wrote it reads it: 'memray "
                              "flamegraph FILE'",
                              f->version, OLDEST, NEWEST));
}

/* Where Python's modules are. */
static void skip_paths(struct file *f)
{
    const size_t start = f->m.text.count;

    (void)text(f);
    for (int list = 0; list < 2 && !is_over(f);) {
        size_t place = text(f);
        list += !is_over(f) && !*text_at(f, place);
        f->m.text.count = start;
    }
}

static void take_head(struct file *f)
{
    size_t command;

    take_version(f);
    if (f->version >= PACKED)
        (void)fixed(f, 4); /* the version of Python */
    f->has_native = fixed(f, 1) != 0;
    f->is_aggregated = f->version >= WITH_FORM && fixed(f, 1) != 0;
    (void)fixed(f, 8);
    (void)fixed(f, 8); /* how many allocations, how many frames */
    f->started = fixed(f, 8);
    f->ended = fixed(f, 8);
    command = text(f);
    f->m.pid = fixed(f, 4);
    if (f->version >= WITH_MAIN) {
        f->m.main = fixed(f, 8);
        f->m.skipped = fixed(f, 8);
    }
    (void)fixed(f, 1); /* what Python allocates by */
    if (f->version >= WITH_RAW)
        (void)fixed(f, 1); /* is its own memory tracked? */
    if (f->version >= PACKED)
        (void)fixed(f, 1); /* are its objects? */
    if (f->version >= NEWEST)
        skip_paths(f);
    if (f->is_cut)
        set(f, tt_source_fail(f->s, "the file ends within its head"));
    else if (!f->error && *text_at(f, command))
        tt_builder_fact(f->m.b, "program", TT_FACT_EACH, 1, text_at(f, command));
}

static int finish(struct file *f)
{
    struct tt_builder *b = f->m.b;
    int error = tt_memray_finish(&f->m);

    if (error)
        return error;
    if (f->ended > f->started && f->ended - f->started < INT64_MAX / 1000000)
        tt_builder_fact(b, "lasted", TT_FACT_MAX, (f->ended - f->started) * 1000000, "");
    if (f->m.lost)
        tt_builder_fact(b, "lost.mappings", TT_FACT_SUM, f->m.lost, "");
    if (f->m.unmerged)
        tt_builder_fact(b, "left out", TT_FACT_EACH, 1,
                        "native frames, as the interpreter's symbols are not here");
    if (f->m.deep)
        tt_builder_fact(b, "left out", TT_FACT_EACH, 1,
                        "native frames of stacks with more than 4096 frames of Python");
    if (f->is_cut)
        tt_builder_fact(b, "cut off", TT_FACT_SUM, 1, "");
    return 0;
}

static int read_memray(struct tt_source *s, struct tt_builder *b)
{
    struct file *f = tt_memory_get(s->memory, sizeof *f);

    if (!f)
        return tt_source_no_memory(s);
    f->m.s = f->s = s;
    f->m.b = b;
    f->thread = TT_NONE;
    tt_vector_init(&f->m.text, s->memory, 1);
    tt_vector_init(&f->m.thread, s->memory, sizeof(struct tt_memray_thread));
    tt_vector_init(&f->frame, s->memory, sizeof(uint32_t));
    tt_vector_init(&f->trace, s->memory, sizeof(uint32_t));
    tt_pairs_init(&f->m.threads, s->memory);
    tt_memray_stacks_init(&f->m);
    tt_memray_heap_init(&f->m);
    if (!tt_vector_add(&f->m.text, 1)) /* of those without a name */
        set(f, tt_source_no_memory(s));
    take_head(f);
    take_records(f);
    return f->error ? f->error : finish(f);
}

static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if(size >= 7 && memcmp(head, "memray", 7) == 0);
}

const struct tt_format tt_format_memray = {
    .name = "memray",
    .about = "allocations of Python, by memray",
    .flags = TT_FORMAT_NATIVE,
    .detect = detect,
    .read = read_memray,
};
