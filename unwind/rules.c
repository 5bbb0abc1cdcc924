/* SPDX-License-Identifier: MIT */
/* rules.c - the table of a module: its index, and the functions that were looked up. */
#include "rules.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "assertion.h"
#include "frame-info.h"
#include "tallytree.h"

enum {
    NONE = -1,
    BUCKETS_MIN = 16,
    BUCKETS_MAX = 2048,
    SAMPLE = 64,
    SOON = 4096,
    READ = 8,
    CHUNK = 1 << 18,
};

/* Storage, in a separate mapping. */
struct chunk {
    struct chunk *before;
    size_t size;
    _Atomic size_t used;
};

/* Of all tables whose modules stay.  They are never freed, and close together: a process
 * that ends soon pays most for the pages that it touches. */
static struct chunk *_Atomic staying;

struct tt_rule_store {
    struct chunk *_Atomic *chunks; /* `staying`, or */
    struct chunk *_Atomic own;
    uint64_t covered;
    uint32_t mask;                                      /* buckets - 1 */
    const struct tt_function *_Atomic *_Atomic buckets; /* NULL: no function so far */
};

static size_t align(size_t size) { return (size + 15) & ~(size_t)15; }

/* ── The index ────────────────────────────────────────────────────────────────────── */

static struct tt_frame_entry entry_at(const struct tt_rules *r, uint32_t i)
{
    struct tt_frame_entry e;

    TT_ASSERT(i < r->functions);
    memcpy(&e, (const char *)r->entry + (size_t)i * sizeof e, sizeof e);
    return e;
}

static uint32_t offset_of(const struct tt_rules *r, uint32_t i)
{
    return (uint32_t)entry_at(r, i).at + r->at_shift;
}

/* The last entry that starts at or before `at`. */
static int64_t find_entry(const struct tt_rules *r, int64_t at)
{
    uint32_t first = 0, n = r->functions;

    at -= r->start_shift;
    while (n > 1) {
        uint32_t half = n / 2;
        first += entry_at(r, first + half).start <= at ? half : 0;
        n -= half;
    }
    return n && entry_at(r, first).start <= at ? (int64_t)first : NONE;
}

/* ── Functions ────────────────────────────────────────────────────────────────────── */

static const struct tt_function *find_made(const struct tt_rules *r, uint32_t i)
{
    const struct tt_function *_Atomic *b = atomic_load_explicit(&r->store->buckets,
                                                                memory_order_acquire);
    const struct tt_function *f = b ? atomic_load_explicit(&b[i & r->store->mask],
                                                           memory_order_acquire)
                                    : NULL;

    while (f && f->entry != i)
        f = f->next;
    return f;
}

/* NULL: it is full, or there is none. */
static void *take_of(struct chunk *c, size_t size)
{
    size_t used = c ? atomic_load(&c->used) : 0;

    if (!c)
        return NULL;
    do
        if (c->size - used < size)
            return NULL;
    while (!atomic_compare_exchange_weak(&c->used, &used, used + size));
    return (char *)c + used;
}

/* A chunk more, unless another thread adds one.  0 without memory. */
static int add_chunk(struct chunk *_Atomic *chunks, struct chunk *before, size_t least)
{
    size_t size = least > CHUNK / 4 ? least + CHUNK : CHUNK;
    struct chunk *c = mmap(NULL, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (c == MAP_FAILED)
        return 0;
    c->before = before;
    c->size = size;
    c->used = align(sizeof *c);
    if (!atomic_compare_exchange_strong(chunks, &before, c))
        munmap(c, size);
    return 1;
}

static void *take_room(struct chunk *_Atomic *chunks, size_t size)
{
    struct chunk *c;
    void *room;

    do
        c = atomic_load(chunks);
    while (!(room = take_of(c, align(size))) && add_chunk(chunks, c, size));
    return room;
}

/* Many modules are never on a stack, and then need none.  If another thread was faster,
 * these are lost. */
static const struct tt_function *_Atomic *buckets_of(struct tt_rule_store *s)
{
    const struct tt_function *_Atomic *none = NULL,
                                      *_Atomic *buckets = atomic_load(&s->buckets);

    if (buckets || !(buckets = take_room(s->chunks, (s->mask + 1) * sizeof *buckets)))
        return buckets;
    if (!atomic_compare_exchange_strong(&s->buckets, &none, buckets))
        return none;
    return buckets;
}

/* If another thread was faster, the table has both, and they are equal. */
static const struct tt_function *publish(const struct tt_rules *r, struct tt_function *f)
{
    const struct tt_function *_Atomic *bucket = buckets_of(r->store);

    if (!bucket)
        return NULL;
    bucket += f->entry & r->store->mask;
    f->next = atomic_load(bucket);
    while (!atomic_compare_exchange_weak(bucket, &f->next, f))
        ;
    return f;
}

static const struct tt_function *store(const struct tt_rules *r, uint32_t i,
                                       const struct tt_frame_function *from,
                                       const struct tt_rule_builder *b)
{
    size_t rows = b->rows * sizeof *b->row, words = b->words * sizeof *b->word;
    struct tt_function *f = take_room(r->store->chunks, sizeof *f + rows + words);

    if (!f)
        return NULL;
    f->entry = i;
    f->start = (uint32_t)(from->start - r->base);
    f->end = (uint32_t)(from->end - r->base);
    f->rows = b->rows;
    memcpy(f->row, b->row, rows);
    memcpy(&f->row[b->rows], b->word, words);
    return publish(r, f);
}

static const struct tt_function *make(const struct tt_rules *r, uint32_t i)
{
    struct tt_frame_reader *reader = tt_frame_reader_take(&r->info);
    struct tt_frame_function from = {.start = r->base, .end = r->base};
    const struct tt_function *f;

    if (!reader)
        return NULL;
    tt_rule_builder_begin(&reader->building);
    if (!tt_frame_read(reader, offset_of(r, i), &from))
        from.start = from.end = r->base;
    else if (tt_frame_run(reader, &from) != 0)
        tt_rule_builder_begin(&reader->building);
    f = store(r, i, &from, &reader->building);
    tt_frame_reader_give(reader);
    return f;
}

/* async-signal-safe */
const struct tt_function *tt_rules_function(const struct tt_rules *r, uint32_t i)
{
    const struct tt_function *f = find_made(r, i);

    return f ? f : make(r, i);
}

/* async-signal-safe */
const struct tt_rule *tt_rules_find(const struct tt_rules *r, uint64_t at,
                                    const struct tt_function **function)
{
    int64_t i = at > INT32_MAX ? NONE : find_entry(r, (int64_t)at);
    const struct tt_function *f = i == NONE ? NULL : tt_rules_function(r, (uint32_t)i);
    const struct tt_unwind_row *row;
    uint32_t within;

    *function = NULL;
    if (!f || at < f->start || at >= f->end || !f->rows)
        return NULL;
    *function = f;
    within = (uint32_t)at - f->start;
    row = f->row;
    for (uint32_t n = f->rows; n > 1; n -= n / 2)
        row += row[n / 2].at <= within ? n / 2 : 0;
    return tt_function_rule(f, row);
}

const uint8_t *tt_frame_bytes(const struct tt_frame_info *i, uint32_t at, size_t *size)
{
    int debug = at >= i->size;
    size_t from = debug ? at - i->size : at, all = debug ? i->debug_size : i->size;

    if (from >= all)
        return NULL;
    *size = all - from;
    return (debug ? i->debug : i->bytes) + from;
}

/* ── How much code has rules ──────────────────────────────────────────────────────── */

/* Up to where the next function starts, if that is soon; else 0. */
static uint64_t gap_after(const struct tt_rules *r, uint32_t i)
{
    int64_t gap = SOON;

    if (i + 1 < r->functions)
        gap = (int64_t)entry_at(r, i + 1).start - entry_at(r, i).start;
    return gap >= 0 && gap < SOON ? (uint64_t)gap : 0;
}

/* Each entry may be in a page of the file that nothing else needs: of functions after which another
 * one starts soon, some are read, and the others are taken to be as near to it. */
static uint64_t sum_sizes(const struct tt_rules *r, uint32_t step)
{
    struct tt_frame_reader *reader = tt_frame_reader_take(&r->info);
    const uint32_t some = r->functions / step / READ + 1;
    uint64_t gaps = 0, sum = 0, read = 0, of = 0, n = 0;
    struct tt_frame_function f;

    if (!reader)
        return 0;
    for (uint64_t i = 0; i < r->functions; i += step, n++) {
        const uint64_t gap = gap_after(r, (uint32_t)i);
        gaps += gap;
        if (gap && n % some)
            continue;
        of += gap;
        if (tt_frame_read(reader, offset_of(r, (uint32_t)i), &f))
            *(gap ? &read : &sum) += f.end - f.start;
    }
    tt_frame_reader_give(reader);
    return sum + (of ? (uint64_t)((double)gaps * ((double)read / (double)of)) : 0);
}

uint64_t tt_rules_covered(const struct tt_rules *r)
{
    uint64_t code = r->info.high - r->info.low, covered = r->store->covered;
    uint32_t step = r->functions / SAMPLE;

    if (covered)
        return covered;
    if (step > 1) {
        covered = sum_sizes(r, step) * step;
        if (covered < code / 4 || covered > code / 4 * 3)
            return covered;
    }
    return sum_sizes(r, 1);
}

/* ── Making a table ───────────────────────────────────────────────────────────────── */

/* An entry of an index that is made here. */
struct found {
    uint32_t start, end;
    uint32_t at;
};

struct making {
    const struct tt_frame_info *info;
    struct tt_frame_reader *reader;
    struct tt_mapped_array found; /* empty where the module brings a table */
    uint64_t after;               /* where the last entry ends, if it is known */
    uint64_t covered;
};

static int add_found(void *arg, uint64_t at, uint64_t after)
{
    struct making *m = arg;
    struct tt_frame_function f;
    struct found *to;

    if (after > m->after)
        m->after = after;
    if (at > UINT32_MAX || !tt_frame_read(m->reader, at, &f))
        return 0;
    if (!(to = tt_mapped_array_add(&m->found, sizeof *to)))
        return -TT_ERR_MEMORY;
    to->start = (uint32_t)(f.start - m->info->low);
    to->end = (uint32_t)(f.end - m->info->low);
    to->at = (uint32_t)at;
    return 0;
}

/* If both sections have an entry for a place, .eh_frame comes first. */
static int is_before(const struct found *a, const struct found *b)
{
    return a->start != b->start ? a->start < b->start : a->at < b->at;
}

static void sift(struct found *e, size_t at, size_t n)
{
    struct found moved = e[at];
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

/* By address, without memory; most sections are already sorted. */
static void sort(struct found *e, size_t n)
{
    size_t i = 1;

    while (i < n && !is_before(&e[i], &e[i - 1]))
        i++;
    if (i >= n)
        return;
    for (i = n / 2; i-- > 0;)
        sift(e, i, n);
    for (i = n; i-- > 1;) {
        struct found last = e[i];
        e[i] = e[0];
        e[0] = last;
        sift(e, 0, i);
    }
}

/* Of two entries for one place, keeps the first. */
static void drop_overlaps(struct making *m)
{
    struct found *e = m->found.bytes;
    size_t n = m->found.used / sizeof *e, kept = 0;
    uint32_t end = 0;

    for (size_t i = 0; i < n; i++) {
        if (e[i].start < end)
            continue;
        end = e[i].end;
        m->covered += e[i].end - e[i].start;
        e[kept++] = e[i];
    }
    m->found.used = kept * sizeof *e;
}

static int scan(struct making *m)
{
    int error = tt_frame_each(m->reader, add_found, m);

    if (error)
        return error;
    sort(m->found.bytes, m->found.used / sizeof(struct found));
    drop_overlaps(m);
    return 0;
}

/* The end of the last entry that a module's own table names. */
static uint64_t last_of_table(const struct tt_frame_info *info)
{
    uint64_t last = 0, size = 0;
    struct tt_frame_entry e;

    for (uint32_t i = 0; i < info->entries; i++) {
        memcpy(&e, (const char *)info->table + (size_t)i * sizeof e, sizeof e);
        uint64_t at = info->header + (uint64_t)(int64_t)e.at - info->address;
        if (at > last && at < info->size)
            last = at;
    }
    if (info->size - last < 4)
        return info->size;
    memcpy(&size, info->bytes + last, 4);
    return size < info->size - last - 4 ? last + 4 + size : info->size;
}

static size_t count_of(const struct making *m)
{
    return m->info->table ? m->info->entries : m->found.used / sizeof(struct found);
}

static uint32_t buckets_for(size_t functions)
{
    uint32_t n = BUCKETS_MIN;

    while (n < BUCKETS_MAX && n < functions / 4)
        n *= 2;
    return n;
}

/* Parts copied after the table: its index, and the sections. */
struct parts {
    size_t entries, bytes, debug;
};

static struct parts parts_of(const struct making *m)
{
    const struct tt_frame_info *info = m->info;
    struct parts p = {.entries = count_of(m) * sizeof(struct tt_frame_entry)};

    if (info->stays || info->is_lent)
        p.entries = info->table ? 0 : p.entries;
    else
        p.bytes = info->table   ? (size_t)last_of_table(info)
                  : info->debug ? info->size
                                : (size_t)m->after;
    p.debug = info->stays || info->is_lent || !info->debug ? 0 : info->debug_size;
    return p;
}

static void *copy(char **to, const void *from, size_t size)
{
    void *at = *to;

    if (size)
        memcpy(at, from, size);
    *to += align(size);
    return at;
}

static void copy_found(struct tt_rules *r, const struct making *m, char **to)
{
    const struct found *e = m->found.bytes;

    r->entry = *to;
    for (uint32_t i = 0; i < r->functions; i++)
        ((struct tt_frame_entry *)(void *)*to)[i] = (struct tt_frame_entry){
            (int32_t)e[i].start, (int32_t)e[i].at};
    *to += align(r->functions * sizeof(struct tt_frame_entry));
}

static void fill(struct tt_rules *r, const struct making *m, const struct parts *p,
                 char *to)
{
    r->info = *m->info;
    if (!m->info->table) {
        copy_found(r, m, &to);
    } else {
        r->entry = p->entries ? copy(&to, m->info->table, p->entries) : m->info->table;
        r->start_shift = (int64_t)(m->info->header - m->info->low);
        r->at_shift = (uint32_t)(m->info->header - m->info->address);
    }
    if (m->info->stays || m->info->is_lent)
        return;
    r->info.bytes = copy(&to, m->info->bytes, p->bytes);
    r->info.size = p->bytes;
    r->info.debug = p->debug ? copy(&to, m->info->debug, p->debug) : NULL;
    r->info.debug_size = p->debug;
    r->info.table = NULL;
}

static int allocate(struct tt_rules **rules, const struct making *m)
{
    struct parts p = parts_of(m);
    size_t functions = count_of(m),
           before = align(sizeof **rules) + align(p.entries) + align(p.bytes) +
                    align(p.debug),
           size = before + sizeof(struct tt_rule_store);
    struct tt_rules *r = m->info->stays ? take_room(&staying, size)
                                        : mmap(NULL, size, PROT_READ | PROT_WRITE,
                                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (!r || r == MAP_FAILED)
        return -TT_ERR_MEMORY;
    r->size = size;
    r->base = m->info->low;
    r->functions = (uint32_t)functions;
    r->store = (struct tt_rule_store *)(void *)((char *)r + before);
    r->store->chunks = m->info->stays ? &staying : &r->store->own;
    r->store->mask = buckets_for(functions) - 1;
    r->store->covered = m->covered;
    fill(r, m, &p, (char *)r + align(sizeof *r));
    *rules = r;
    return 0;
}

int tt_rules_new(struct tt_rules **rules, const struct tt_frame_info *info)
{
    struct making m = {.info = info};
    int error = tt_frame_readers_prepare();

    *rules = NULL;
    if (!error && !info->table) {
        if (!(m.reader = tt_frame_reader_take(info)))
            return -TT_ERR_MEMORY;
        error = scan(&m);
        tt_frame_reader_give(m.reader);
    }
    if (!error)
        error = allocate(rules, &m);
    tt_mapped_array_fini(&m.found);
    return error;
}

void tt_rules_free(struct tt_rules *r)
{
    struct chunk *c = r ? atomic_load(&r->store->own) : NULL;

    while (c) {
        struct chunk *before = c->before;
        munmap(c, c->size);
        c = before;
    }
    if (r && !r->info.stays)
        munmap(r, r->size);
}
