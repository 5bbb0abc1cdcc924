/* SPDX-License-Identifier: MIT */
/* block.c - the process's blocks: from an identity to a small number, once and for all.
 *
 * The registry lives in separate memory, because blocks may be made before a recording
 * starts and are kept over several; a recording gets a block's record when a runtime
 * declares it, or when a strand first enters it.  Entries are in chunks that never move,
 * so a number is turned into an entry without a lock.  The registry is capped, like
 * everything else: blocks beyond the cap are [other blocks]. */
#include "block.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "control.h"
#include "share.h"

enum {
    ARENA_STEP = 256 * 1024, /* memory is taken from the system in steps of this size */
    REGISTRY_CAP = 16 << 20, /* bytes, when no recording says otherwise */
    STRING_CAP = 4000,       /* longer names are cut */
    SHARED_STRINGS = 256,
    NO_ROOM = -1,
};
#define NOT_PUBLISHED 0x80000000u /* with the epoch: there was no room for it */

static struct registry {
    pthread_mutex_t lock;
    const void *holder;      /* a thread that has it by tt_block_try: its tt_self */
    uint32_t *bucket;        /* a hash table of chains */
    uint32_t buckets, count; /* count: of entries, from 1 on */
    char *arena, *arena_end;
    size_t taken;
    struct tt_metric_record metric[TT_METRICS_MAX + 1];
    uint32_t metrics;
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};
struct tt_block_entry *tt_block_chunk[TT_BLOCK_CHUNKS];

int tt_block_held(void)
{
    return __atomic_load_n(&registry.holder, __ATOMIC_RELAXED) == &tt_self;
}

/* ── Memory ───────────────────────────────────────────────────────────────────────── */

static size_t registry_cap(void)
{
    const struct tt_recording *r = tt_recording_now();

    return r && r->options.budget / 4 > REGISTRY_CAP ? (size_t)(r->options.budget / 4)
                                                     : (size_t)REGISTRY_CAP;
}

/* Zeroed, and never freed; NULL when the cap of the registry is reached. */
static void *registry_alloc(size_t size)
{
    struct registry *g = &registry;
    size_t step;
    int saved = errno;
    char *p;

    size = (size + 15) & ~(size_t)15;
    step = size > ARENA_STEP ? size : ARENA_STEP;
    if ((size_t)(g->arena_end - g->arena) < size) {
        if (g->taken + step > registry_cap())
            return NULL;
        p = mmap(NULL, step, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        errno = saved;
        if (p == MAP_FAILED)
            return NULL;
        g->taken += step;
        g->arena = p;
        g->arena_end = p + step;
    }
    p = g->arena;
    g->arena += size;
    return p;
}

static const char *keep_string(const char *text)
{
    size_t length = text ? strnlen(text, STRING_CAP) : 0;
    char *copy;

    if (length == 0)
        return "";
    copy = registry_alloc(length + 1);
    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

/* ── Identity ─────────────────────────────────────────────────────────────────────── */

static uint32_t hash_number(uint32_t h, uint64_t n)
{
    for (int i = 0; i < 8; i++, n >>= 8)
        h = (h ^ (uint32_t)(n & 0xff)) * 16777619u;
    return h;
}

static uint32_t hash_text(uint32_t h, const char *text)
{
    for (size_t i = 0; text && i < STRING_CAP && text[i]; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

static uint32_t hash_info(const struct tt_block_info *i)
{
    uint32_t h = hash_number(2166136261u, i->offset);

    h = hash_number(h, (uint64_t)i->line << 32 | i->column);
    h = hash_text(hash_text(hash_text(h, i->name), i->file), i->module);
    return (h ^ (uint32_t)i->kind) * 16777619u;
}

static int same_text(const char *kept, const char *text)
{
    return strncmp(kept, text ? text : "", STRING_CAP) == 0;
}

static int same_info(const struct tt_block_info *a, const struct tt_block_info *b)
{
    return a->kind == b->kind && a->line == b->line && a->column == b->column &&
           a->offset == b->offset && same_text(a->name, b->name) &&
           same_text(a->file, b->file) && same_text(a->module, b->module);
}

/* ── Entries ──────────────────────────────────────────────────────────────────────── */

static struct tt_block_entry *entry_of(tt_block block)
{
    return __atomic_load_n(&tt_block_chunk[block / TT_BLOCK_CHUNK], __ATOMIC_ACQUIRE) +
           block % TT_BLOCK_CHUNK;
}

const struct tt_block_entry *tt_block_entry(tt_block block) { return entry_of(block); }

uint32_t tt_block_count(void)
{
    return __atomic_load_n(&registry.count, __ATOMIC_ACQUIRE);
}

static tt_block find_block(const struct tt_block_info *info, uint32_t hash)
{
    uint32_t i = registry.buckets ? registry.bucket[hash & (registry.buckets - 1)] : 0;

    while (i && !(entry_of(i)->hash == hash && same_info(&entry_of(i)->info, info)))
        i = entry_of(i)->chain;
    return i;
}

static int grow_buckets(void)
{
    struct registry *g = &registry;
    uint32_t n = g->buckets ? g->buckets * 2 : 1024;
    uint32_t *bucket = registry_alloc(n * sizeof *bucket);

    if (!bucket)
        return NO_ROOM;
    for (uint32_t i = 1; i <= g->count; i++) {
        struct tt_block_entry *e = entry_of(i);
        e->chain = bucket[e->hash & (n - 1)];
        bucket[e->hash & (n - 1)] = i;
    }
    g->bucket = bucket;
    g->buckets = n;
    return 0;
}

/* The next entry, zeroed, or NULL. */
static struct tt_block_entry *next_entry(void)
{
    struct registry *g = &registry;
    uint32_t id = g->count + 1;
    struct tt_block_entry *chunk;

    if (id >= TT_BLOCKS_MAX || (g->count >= g->buckets && grow_buckets() != 0))
        return NULL;
    if (!tt_block_chunk[id / TT_BLOCK_CHUNK]) {
        chunk = registry_alloc(TT_BLOCK_CHUNK * sizeof *chunk);
        if (!chunk)
            return NULL;
        __atomic_store_n(&tt_block_chunk[id / TT_BLOCK_CHUNK], chunk, __ATOMIC_RELEASE);
    }
    return entry_of(id);
}

/* `borrowed`: file and module are the caller's, and stay for ever. */
static tt_block add_block(const struct tt_block_info *info, uint32_t hash, int borrowed)
{
    struct tt_block_entry *e = next_entry();
    tt_block id = registry.count + 1;

    if (!e)
        return TT_BLOCK_OTHER;
    e->info = *info;
    e->info.name = keep_string(info->name);
    if (!borrowed) {
        e->info.file = keep_string(info->file);
        e->info.module = keep_string(info->module);
    }
    if (!e->info.name || !e->info.file || !e->info.module)
        return TT_BLOCK_OTHER;
    e->hash = hash;
    e->chain = registry.bucket[hash & (registry.buckets - 1)];
    registry.bucket[hash & (registry.buckets - 1)] = id;
    __atomic_store_n(&registry.count, id, __ATOMIC_RELEASE);
    return id;
}

static void add_other(void)
{
    struct tt_block_info other = {.name = "[other blocks]", .kind = TT_KIND_BLOCK};

    if (registry.count == 0)
        add_block(&other, hash_info(&other), 0);
}

int tt_block_init(void)
{
    uint32_t count;

    tt_block_lock();
    add_other();
    count = registry.count;
    tt_block_unlock();
    return count == 0 ? -TT_ERR_MEMORY : 0;
}

/* Returns 0 in a signal handler that interrupted the profiler, if it would have to wait:
 * for its own thread, or for one that waits for it. */
static int lock_for_program(int at_work)
{
    if (!at_work)
        tt_block_lock();
    else if (tt_work.blocks || tt_block_held() ||
             pthread_mutex_trylock(&registry.lock) != 0)
        return 0;
    tt_work.blocks = 1;
    return 1;
}

static void declare_all(struct tt_recording *);

/* A thread that holds the lock finds a stable recording: the next start waits for it
 * (tt_metric_publish) before it drops the last one, and declares the blocks made until
 * then. */
tt_block tt_block_make(const struct tt_block_info *info)
{
    uint32_t hash = hash_info(info);
    int at_work = tt_is_at_work();
    tt_block block;

    TT_HAND_ON(tt_block_make, info);
    if (!lock_for_program(at_work))
        return TT_BLOCK_OTHER;
    add_other();
    block = find_block(info, hash);
    if (!block)
        block = add_block(info, hash, 0);
    if (!at_work && __atomic_load_n(&tt_on, __ATOMIC_ACQUIRE))
        declare_all(tt_recording_now());
    tt_block_unlock();
    return block;
}

static tt_block find_or_add(const struct tt_block_info *info, int borrowed)
{
    uint32_t hash = hash_info(info);
    tt_block block = find_block(info, hash);

    return block ? block : add_block(info, hash, borrowed);
}

tt_block tt_block_native(const struct tt_block_info *info)
{
    return find_or_add(info, 1);
}

tt_block tt_block_interpreted(const struct tt_block_info *info)
{
    return find_or_add(info, 0);
}

tt_block tt_block_find(const struct tt_block_info *info)
{
    return find_block(info, hash_info(info));
}

void tt_block_belongs(tt_block block, tt_block first)
{
    if (block == first)
        return;
    __atomic_store_n(&entry_of(block)->function, first, __ATOMIC_RELAXED);
    __atomic_store_n(&entry_of(first)->function, first, __ATOMIC_RELAXED);
}

tt_block tt_block_function(tt_block block)
{
    return __atomic_load_n(&entry_of(block)->function, __ATOMIC_RELAXED);
}

tt_block tt_block_get(const char *name, const char *file, uint32_t line, uint32_t column)
{
    struct tt_block_info info = {
        .name = name, .file = file, .line = line, .column = column};

    return tt_block_make(&info);
}

/* ── In the recording ─────────────────────────────────────────────────────────────── */

/* Strings and records go into separate pages, filled one after the other; guarded by
 * the registry's lock. */
static struct publisher {
    uint32_t epoch;
    uint32_t string, string_end; /* offsets / 4 */
    uint32_t cell, cell_end;
    uint32_t pages;    /* taken; at most a quarter of the budget */
    uint32_t declared; /* blocks up to this one */
    struct {
        const char *text;
        uint32_t at;
    } shared[SHARED_STRINGS]; /* of native blocks: by address, the last of each place */
} publisher;

static int publisher_page(struct tt_recording *r, enum tt_page_type type, uint32_t order,
                          uint32_t *cell)
{
    uint32_t page;

    if (publisher.pages + (1u << order) > r->options.budget / 4 / TT_PAGE_SIZE)
        return NO_ROOM;
    page = tt_page_take(r, type, 0, order);
    if (!page)
        return NO_ROOM;
    publisher.pages += 1u << order;
    *cell = tt_page_cell(r, page);
    return 0;
}

/* A string's place / 4; 0 for the empty one, UINT32_MAX without room. */
static uint32_t publish_string(struct tt_recording *r, const char *text)
{
    uint32_t length = (uint32_t)strlen(text), words = (length + 1 + 3) / 4 + 1, at,
             order = 0;
    char *place;

    if (length == 0)
        return 0;
    if (publisher.string_end - publisher.string < words) {
        while (((uint32_t)TT_PAGE_SIZE << order) < words * 4)
            order++;
        if (publisher_page(r, TT_PAGE_STRING, order, &at) != 0)
            return UINT32_MAX;
        publisher.string = at * (TT_CELL_SIZE / 4);
        publisher.string_end = publisher.string + ((uint32_t)TT_PAGE_SIZE << order) / 4;
    }
    at = publisher.string;
    publisher.string += words;
    place = r->base + 4 * (size_t)at;
    memcpy(place + 4, text, length + 1);
    memcpy(place, &length, sizeof length);
    return at;
}

/* A module's path or build-id, which many blocks share. */
static uint32_t publish_shared(struct tt_recording *r, const char *text)
{
    size_t i = ((uintptr_t)text >> 4) * 0x9e3779b1u % SHARED_STRINGS;
    uint32_t at;

    if (publisher.shared[i].text == text)
        return publisher.shared[i].at;
    at = publish_string(r, text);
    if (at != UINT32_MAX) {
        publisher.shared[i].text = text;
        publisher.shared[i].at = at;
    }
    return at;
}

static int publish_record(struct tt_recording *r, tt_block block)
{
    struct tt_block_entry *e = entry_of(block);
    const struct tt_block_info *i = &e->info;
    struct tt_block_record *record;
    int native = i->kind == TT_KIND_NATIVE;
    uint32_t name = publish_string(r, i->name),
             file = native ? publish_shared(r, i->file) : publish_string(r, i->file),
             module = native ? publish_shared(r, i->module)
                             : publish_string(r, i->module),
             cell;

    if (name == UINT32_MAX || file == UINT32_MAX || module == UINT32_MAX)
        return NO_ROOM;
    if (publisher.cell == publisher.cell_end) {
        if (publisher_page(r, TT_PAGE_BLOCK, 0, &publisher.cell) != 0)
            return NO_ROOM;
        publisher.cell_end = publisher.cell + TT_PAGE_CELLS;
    }
    cell = publisher.cell++;
    __atomic_store_n(&e->record, cell, __ATOMIC_RELAXED);
    record = (struct tt_block_record *)(void *)tt_cell(r->base, cell);
    *record = (struct tt_block_record){.kind = (uint32_t)i->kind,
                                       .offset = i->offset,
                                       .line = i->line,
                                       .column = i->column,
                                       .length = i->length,
                                       .name = name,
                                       .file = file,
                                       .module = module};
    __atomic_store_n(&record->id, block, __ATOMIC_RELEASE);
    return 0;
}

static uint32_t find_mark(const struct tt_options *o, const char *name)
{
    for (uint32_t i = 0; i < o->marked_count; i++)
        if (strcmp(o->marked[i].name, name) == 0)
            return i + 1;
    return 0;
}

/* Fails if the recording is over, and the thread has not noticed the next one yet. */
static int turn_to(const struct tt_recording *r)
{
    if (publisher.epoch < r->epoch) {
        memset(&publisher, 0, sizeof publisher);
        publisher.epoch = r->epoch;
    }
    return publisher.epoch == r->epoch;
}

static int is_published(const struct tt_block_entry *e, const struct tt_recording *r)
{
    return (__atomic_load_n(&e->published, __ATOMIC_ACQUIRE) & ~NOT_PUBLISHED) ==
           r->epoch;
}

/* ── Whose objects are recorded ───────────────────────────────────────────────────── */

static struct { /* guarded by the registry's lock */
    int (*wants)(const struct tt_block_info *, void *arg);
    void *arg;
} selector;
int tt_block_selecting;

static void select_block(const struct tt_options *o, struct tt_block_entry *e)
{
    int wanted = !o->select[0] || strstr(e->info.name, o->select) != NULL;

    if (wanted && selector.wants && e->info.kind != TT_KIND_TYPE)
        wanted = selector.wants(&e->info, selector.arg) > 0;
    __atomic_store_n(&e->unselected, !wanted, __ATOMIC_RELAXED);
}

int tt_select(int (*wants)(const struct tt_block_info *, void *arg), void *arg)
{
    struct tt_recording *r;

    TT_HAND_ON(tt_select, wants, arg);
    if (!lock_for_program(tt_is_at_work()))
        return -TT_ERR_BUSY;
    selector.wants = wants;
    selector.arg = arg;
    __atomic_store_n(&tt_block_selecting, wants != NULL, __ATOMIC_RELAXED);
    r = __atomic_load_n(&tt_on, __ATOMIC_ACQUIRE) ? tt_recording_now() : NULL;
    for (uint32_t i = 1; r && i <= registry.count; i++)
        select_block(&r->options, entry_of(i));
    tt_block_unlock();
    return 0;
}

int tt_block_is_selected(const struct tt_recording *r, tt_block block)
{
    if (!r->options.select[0] && !__atomic_load_n(&tt_block_selecting, __ATOMIC_RELAXED))
        return 1;
    return block != TT_BLOCK_ROOT &&
           !__atomic_load_n(&entry_of(block)->unselected, __ATOMIC_RELAXED);
}

static void publish(struct tt_recording *r, tt_block block)
{
    struct tt_block_entry *e = entry_of(block);

    e->marks = find_mark(&r->options, e->info.name);
    select_block(&r->options, e);
    if (publish_record(r, block) == 0) {
        __atomic_store_n(&e->published, r->epoch, __ATOMIC_RELEASE);
    } else {
        __atomic_store_n(&e->published, r->epoch | NOT_PUBLISHED, __ATOMIC_RELEASE);
        tt_bump_shared(&r->header->lost_blocks, 1);
    }
}

/* A block that a runtime declares is in the recording even if it never runs, so that
 * views can show that it did not; but half of the room is kept for blocks that run.
 * Scopes and native functions are not declared: they are found when they run. */
static void declare_all(struct tt_recording *r)
{
    const uint32_t room = (uint32_t)(r->options.budget / 8 / TT_PAGE_SIZE);

    if (!turn_to(r))
        return;
    while (publisher.declared < registry.count) {
        const struct tt_block_entry *e = entry_of(++publisher.declared);
        if (e->info.kind != TT_KIND_SCOPE && e->info.kind != TT_KIND_NATIVE &&
            e->info.kind != TT_KIND_INTERPRETED && publisher.pages < room &&
            !is_published(e, r))
            publish(r, publisher.declared);
    }
}

void tt_block_declare_all(struct tt_recording *r)
{
    tt_block_lock();
    declare_all(r);
    tt_block_unlock();
}

static tt_block known_block(tt_block block)
{
    return block && block <= __atomic_load_n(&registry.count, __ATOMIC_ACQUIRE)
               ? block
               : TT_BLOCK_OTHER;
}

tt_block tt_block_publish(struct tt_recording *r, tt_block block)
{
    struct tt_block_entry *e = entry_of(block = known_block(block));

    if (!is_published(e, r)) {
        if (tt_work.blocks && !tt_block_held())
            return TT_BLOCK_OTHER; /* a handler must not wait for its own thread */
        tt_block_lock();
        if (!is_published(e, r) && turn_to(r))
            publish(r, block);
        tt_block_unlock();
    }
    if (__atomic_load_n(&e->published, __ATOMIC_ACQUIRE) == r->epoch ||
        block == TT_BLOCK_OTHER)
        return block;
    return tt_block_publish(r, TT_BLOCK_OTHER);
}

/* After a recording has ended, the next one may have taken the block's record.  Figures
 * charged then are lost, but they must not be written outside the mapping. */
struct tt_block_record *tt_block_record(struct tt_recording *r, tt_block block)
{
    static struct tt_block_record nowhere;
    const struct tt_header *h = r->header;
    uint32_t cell = __atomic_load_n(&entry_of(block)->record, __ATOMIC_RELAXED),
             end = (uint32_t)((h->first + (uint64_t)h->pages * TT_PAGE_SIZE) /
                              TT_CELL_SIZE);

    return cell < end ? (struct tt_block_record *)(void *)tt_cell(r->base, cell)
                      : &nowhere;
}

uint32_t tt_block_marked(tt_block block) { return entry_of(block)->marks; }

/* ── Metrics ──────────────────────────────────────────────────────────────────────── */

/* `out` is all zeros before. */
static void keep_name(char out[TT_NAME_SIZE], const char *text)
{
    if (text)
        memcpy(out, text, strnlen(text, TT_NAME_SIZE - 1));
}

tt_metric tt_metric_get(const char *name, const char *unit)
{
    struct tt_metric_record wanted = {{0}, {0}};
    struct tt_recording *r;
    tt_metric m = 1;

    TT_HAND_ON(tt_metric_get, name, unit);
    keep_name(wanted.name, name);
    keep_name(wanted.unit, unit);
    if (!lock_for_program(tt_is_at_work()))
        return 0;
    r = tt_recording_now();
    while (m <= registry.metrics && strcmp(registry.metric[m].name, wanted.name) != 0)
        m++;
    if (m > TT_METRICS_MAX) {
        m = 0;
        if (r) /* what is added to it */
            tt_bump_shared(&r->header->lost_figures, 1);
    } else if (m > registry.metrics) {
        registry.metric[m] = wanted;
        registry.metrics = m;
        if (r)
            r->header->metric[m] = wanted;
    }
    tt_block_unlock();
    return m;
}

void tt_metric_publish(struct tt_recording *r)
{
    tt_block_lock();
    memcpy(r->header->metric, registry.metric, sizeof registry.metric);
    tt_block_unlock();
}

/* ── Locks ────────────────────────────────────────────────────────────────────────── */

void tt_block_lock(void)
{
    if (tt_block_held())
        return;
    tt_work.blocks = 1;
    pthread_mutex_lock(&registry.lock);
}

void tt_block_unlock(void)
{
    if (tt_block_held())
        return;
    pthread_mutex_unlock(&registry.lock);
    tt_work.blocks = 0;
}

void tt_block_forget_lock(void)
{
    pthread_mutex_init(&registry.lock, NULL);
    registry.holder = NULL;
    tt_work.blocks = 0;
}

int tt_block_try(void)
{
    if (pthread_mutex_trylock(&registry.lock) != 0)
        return 0;
    __atomic_store_n(&registry.holder, &tt_self, __ATOMIC_RELAXED);
    return 1;
}

void tt_block_done(void)
{
    __atomic_store_n(&registry.holder, NULL, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&registry.lock);
}
