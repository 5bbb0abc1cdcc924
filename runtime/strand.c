/* SPDX-License-Identifier: MIT */
/* strand.c - threads and their strands.
 *
 * A thread gets its strand at its first push.  When it ends, its tree is kept unchanged
 * while there is room; later, the ended strands of one name are merged into one row, so
 * that any number of threads fits into the budget. */
#include "strand.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "activation.h"
#include "clock.h"
#include "control.h"
#include "sampler.h"
#include "slowest.h"
#include "stack.h"
#include "tree-merge.h"

__thread struct tt_strand tt_self;
int tt_on;
void (*tt_thread_ended)(struct tt_thread *);
void (*tt_function_dropped)(const struct tt_frame *);

enum { THREAD_BYTES = 32 << 10, ENDED_BYTES = 16 << 10, ROWS_MAX = 64, RETRY = 256 };
/* Of a machine: profiles keep places for 4096 strands in what they store by strand. */
enum { MACHINE_ROWS_MAX = 1024, MACHINE_ENDED_MAX = 1024 };
/* The rest is for frames; beyond them the slow path is taken. */
_Static_assert(sizeof(struct tt_thread) <= THREAD_BYTES / 2, "room for 256 frames");

struct ended { /* a strand without a thread, or a row of merged ones */
    struct tt_tree tree;
    struct ended *next;
};

static pthread_mutex_t threads_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct { /* all guarded by threads_mutex */
    struct tt_thread *first;
    struct ended *ended, *rows, *spare;
    uint32_t row_count, ended_count;
    uint32_t record, record_end; /* cells for records not used so far */
    uint32_t free_record;        /* a chain of records given back, by `root` */
    uint32_t index;              /* of the next strand */
} all;

static pthread_key_t thread_key;
static int thread_key_made;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

/* ── The list ─────────────────────────────────────────────────────────────────────── */

void tt_threads_lock(void)
{
    TT_ASSERT(!tt_work.threads);
    tt_work.threads = 1;
    pthread_mutex_lock(&threads_mutex);
}

void tt_threads_unlock(void)
{
    pthread_mutex_unlock(&threads_mutex);
    tt_work.threads = 0;
}

struct tt_thread *tt_threads_first(void) { return all.first; }

struct tt_thread *const *tt_threads_head(void) { return &all.first; }

void tt_threads_stop(void)
{
    tt_threads_lock();
    for (struct tt_thread *t = all.first; t; t = t->next) {
        tt_strand_close(t->self);
        __atomic_store_n(&t->modes.plain, 0, __ATOMIC_SEQ_CST);
        __atomic_store_n(&t->modes.tells, 0, __ATOMIC_SEQ_CST);
    }
    tt_threads_unlock();
}

static void close_fast_path(struct tt_thread *t)
{
    tt_strand_close(t->self);
    __atomic_store_n(&t->modes.plain, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&t->modes.tells, 0, __ATOMIC_RELAXED);
}

static void link_thread(struct tt_thread *t)
{
    TT_ASSERT(tt_work.threads && !t->link);
    t->next = all.first;
    t->link = &all.first;
    if (all.first)
        all.first->link = &t->next;
    all.first = t;
}

static void unlink_thread(struct tt_thread *t)
{
    if (!t->link)
        return;
    TT_ASSERT(tt_work.threads && *t->link == t);
    *t->link = t->next;
    if (t->next)
        t->next->link = t->link;
    t->link = NULL;
}

/* ── Records ──────────────────────────────────────────────────────────────────────── */

static struct tt_strand_record *take_record(struct tt_recording *r)
{
    const uint32_t cells = sizeof(struct tt_strand_record) / TT_CELL_SIZE;
    struct tt_strand_record *record;
    uint32_t page;

    TT_ASSERT(tt_work.threads);
    if (all.free_record) {
        record = (struct tt_strand_record *)(void *)tt_cell(r->base, all.free_record);
        all.free_record = record->root;
        memset(record, 0, sizeof *record);
    } else {
        if (all.record == all.record_end) {
            page = tt_page_take(r, TT_PAGE_STRAND, 0, 0);
            if (!page)
                return NULL;
            all.record = tt_page_cell(r, page);
            all.record_end = all.record + TT_PAGE_CELLS;
        }
        record = (struct tt_strand_record *)(void *)tt_cell(r->base, all.record);
        all.record += cells;
    }
    TT_ASSERT(record->state == TT_STRAND_NONE && !record->redo.count);
    record->index = all.index++;
    record->members = 1;
    return record;
}

static void give_record(struct tt_recording *r, struct tt_strand_record *record)
{
    TT_ASSERT(tt_work.threads);
    TT_ASSERT(record->moves % 2 == 0 && !record->redo.count);
    __atomic_store_n(&record->state, TT_STRAND_NONE, __ATOMIC_RELEASE);
    record->root = all.free_record;
    all.free_record = (uint32_t)((size_t)((char *)record - r->base) / TT_CELL_SIZE);
}

static void name_record(struct tt_strand_record *record)
{
    record->thread = (uint32_t)syscall(SYS_gettid);
    if ((pid_t)record->thread == getpid())
        memcpy(record->name, "main", 5);
    else if (pthread_getname_np(pthread_self(), record->name, TT_NAME_SIZE) != 0)
        record->name[0] = '\0';
}

/* Threads are mostly named after they were made.  Async-signal-safe. */
void tt_thread_rename_to(struct tt_thread *t, const char *name)
{
    char whole[TT_NAME_SIZE] = "";

    memcpy(whole, name, strnlen(name, TT_NAME_SIZE - 1));
    if (whole[0] && !t->named && (pid_t)t->record->thread != getpid())
        memcpy(t->record->name, whole, TT_NAME_SIZE);
}

void tt_thread_rename(struct tt_thread *t)
{
    char name[TT_NAME_SIZE] = "";

    if (prctl(PR_GET_NAME, name) == 0)
        tt_thread_rename_to(t, name);
}

/* ── Ended strands ────────────────────────────────────────────────────────────────── */

/* Not from malloc, which a signal handler that comes here may have interrupted. */
static struct ended *take_ended(void)
{
    struct ended *e;
    void *p;

    if (!all.spare) {
        p = mmap(NULL, ENDED_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                 -1, 0);
        if (p == MAP_FAILED)
            return NULL;
        e = p;
        for (size_t i = 0; i < ENDED_BYTES / sizeof *e; i++, e++) {
            e->next = all.spare;
            all.spare = e;
        }
    }
    e = all.spare;
    all.spare = e->next;
    memset(e, 0, sizeof *e);
    return e;
}

static void give_ended(struct ended *e)
{
    e->next = all.spare;
    all.spare = e;
}

static int is_of_row(const struct tt_strand_record *row, const struct tt_strand_record *r)
{
    return strcmp(row->name, r->name) == 0 &&
           (!tt_recording->header->processors ||
            memcmp(&row->owner, &r->owner, sizeof r->owner) == 0);
}

static struct ended *find_row(const struct tt_strand_record *record)
{
    struct ended *row = all.rows;

    while (row && !is_of_row(row->tree.record, record))
        row = row->next;
    return row;
}

static struct ended *share_row(struct tt_strand_record *record)
{
    memset(record->name, 0, TT_NAME_SIZE);
    memcpy(record->name, "[other threads]", sizeof "[other threads]");
    return find_row(record);
}

/* The first so many names have separate rows; all others share one.  On a machine each
 * program has its own rows, as long as there are not too many; so has the machine itself. */
static struct ended *row_for(struct tt_strand_record *record)
{
    const int of_machine = tt_recording->header->processors != 0;
    const uint32_t most = of_machine ? MACHINE_ROWS_MAX : ROWS_MAX;
    struct ended *row = find_row(record);

    if (row || all.row_count < most - 1 || (of_machine && !record->process))
        return row;
    row = share_row(record);
    if (row || !of_machine || all.row_count < 2 * most - 1)
        return row;
    memset(&record->owner, 0, sizeof record->owner);
    return find_row(record);
}

/* The first of its name becomes the row. */
static int merge_one(struct ended *e, struct tt_recording *r, uint32_t *pages)
{
    struct ended *row = row_for(e->tree.record);

    if (row && tt_merge(&row->tree, &e->tree) == 0) {
        *pages += e->tree.page_count;
        give_record(r, e->tree.record);
        tt_tree_fini(&e->tree);
        give_ended(e);
        return 0;
    }
    if (row || tt_merge_first(&e->tree) != 0)
        return -TT_ERR_MEMORY;
    if (r->header->processors)
        e->tree.record->process = 0; /* of many */
    e->next = all.rows;
    all.rows = e;
    all.row_count++;
    return 0;
}

static uint32_t merge_ended(struct tt_recording *r)
{
    struct ended *e, *next, *left = NULL;
    uint32_t pages = 0;

    for (e = all.ended; e; e = next) {
        next = e->next;
        if (merge_one(e, r, &pages) != 0) { /* not even room for that: unchanged */
            e->next = left;
            left = e;
        }
    }
    all.ended = left;
    all.ended_count = 0;
    return pages;
}

uint32_t tt_strands_merge(struct tt_recording *r)
{
    uint32_t pages;

    tt_threads_lock();
    pages = all.ended ? merge_ended(r) : 0;
    tt_threads_unlock();
    return pages;
}

static void forget_list(struct ended **list)
{
    struct ended *e;

    while ((e = *list)) {
        *list = e->next;
        tt_tree_forget(&e->tree);
        give_ended(e);
    }
}

static void forget_all(void)
{
    forget_list(&all.ended);
    forget_list(&all.rows);
    all.row_count = all.ended_count = all.record = all.record_end = all.free_record =
        all.index = 0;
}

void tt_strands_forget(void)
{
    tt_threads_lock();
    forget_all();
    tt_threads_unlock();
}

static int is_tight(struct tt_recording *r)
{
    const struct tt_header *h = r->header;

    return tt_pages_left(r, TT_PAGE_DATA) < h->pages - h->pages / 2 ||
           (h->budget_nodes &&
            tt_pages_left(r, TT_PAGE_CELL) < h->budget_nodes / TT_PAGE_CELLS / 2);
}

/* ── Attaching ────────────────────────────────────────────────────────────────────── */

/* tt_step, which alone moves the caller's clock fast, is for statements too. */
static uint32_t plain_of(const struct tt_options *o)
{
    uint32_t clock = tt_clock_in_use();

    for (uint32_t i = 0; i < o->marked_count; i++)
        if (o->marked[i].slowest)
            return 0;
    if (o->mode[TT_KIND_SCOPE] != TT_MODE_EXACT ||
        o->mode[TT_KIND_BLOCK] != TT_MODE_EXACT)
        return 0;
    if (clock == TT_CLOCK_CYCLES)
        return TT_PLAIN_CYCLES;
    return clock == TT_CLOCK_CALLER && o->mode[TT_KIND_STATEMENT] == TT_MODE_EXACT &&
                   o->mode[TT_KIND_CENTRE] == TT_MODE_EXACT
               ? TT_PLAIN_CALLER
               : 0;
}

/* Objects are all recorded, and nothing is kept of them but rows and the bands of types. */
static uint32_t tells_of(const struct tt_options *o)
{
    return (o->space & ~(uint32_t)TT_SPACE_COPIES) == (TT_SPACE_ALLOC | TT_SPACE_TYPES) &&
           !o->space_rate && !o->select[0] && !(o->series & ~(1u << TT_BAND_TYPE)) &&
           tt_clock_in_use() == TT_CLOCK_CYCLES;
}

static void show_fast_path(struct tt_thread *t)
{
    struct tt_strand *s = t->self;
    const struct tt_options *o = &t->recording->options;
    uint32_t mode = o->mode[TT_KIND_SCOPE], plain;

    s->base = t->recording->base;
    s->sparse = mode == TT_MODE_SAMPLED ? 1 : mode == TT_MODE_EVERY ? o->every : 0;
    t->modes.exact = mode == TT_MODE_EXACT;
    mode = o->mode[TT_KIND_FUNCTION];
    t->modes.exact_functions = mode == TT_MODE_EXACT;
    s->picking = mode == TT_MODE_SAMPLED ? 0
                 : mode == TT_MODE_EVERY ? o->every - 1
                                         : UINT64_MAX;
    t->modes.timing = 0;
    for (int i = 0; i < TT_KINDS; i++)
        t->modes.timing |= o->mode[i] == TT_MODE_EXACT;
    mode = o->mode[TT_KIND_SCOPE] == o->mode[TT_KIND_BLOCK] && !t->modes.timing
               ? o->mode[TT_KIND_BLOCK]
               : TT_MODES;
    t->modes.quick = mode == TT_MODE_SAMPLED ? TT_QUICK_SAMPLED
                     : mode == TT_MODE_CALLS ? TT_QUICK_COUNTED
                                             : TT_QUICK_NOT;
    t->modes.detailed = o->histogram || o->marked_count;
    plain = plain_of(o);
    __atomic_store_n(&t->modes.plain, plain, __ATOMIC_SEQ_CST);
    __atomic_store_n(&t->modes.tells, tells_of(o), __ATOMIC_SEQ_CST);
    tt_stack_open(t);
    if (t->recording != __atomic_load_n(&tt_recording, __ATOMIC_SEQ_CST) ||
        !__atomic_load_n(&tt_on, __ATOMIC_SEQ_CST)) /* stopped since it was attached */
        close_fast_path(t);
}

static int attach_locked(struct tt_thread *t)
{
    struct tt_recording *r = tt_recording;
    struct tt_strand_record *record;

    if (!__atomic_load_n(&tt_on, __ATOMIC_ACQUIRE))
        return -TT_ERR_STATE;
    record = take_record(r);
    if (!record || tt_tree_init(&t->tree, r, record) != 0) {
        if (record)
            give_record(r, record);
        tt_bump_shared(&r->header->lost_strands, 1);
        return -TT_ERR_MEMORY;
    }
    tt_recording_hold(r);
    memset(t->charging.hidden, 0, sizeof t->charging.hidden);
    t->objects.told_so = 0;
    t->record = record;
    tt_stack_reset(t);
    TT_BARRIER();
    t->recording = r; /* from here on signal handlers add to it */
    name_record(record);
    link_thread(t);
    __atomic_store_n(&record->state, TT_STRAND_OPEN, __ATOMIC_RELEASE);
    return 0;
}

int tt_thread_attach(struct tt_thread *t)
{
    int error;

    tt_threads_lock();
    error = attach_locked(t);
    tt_threads_unlock();
    if (error)
        return error;
    tt_recording_joined(t->recording, t->last == t->recording);
    tt_bump_shared(&t->recording->header->lost_pushes, t->refusal.strays);
    t->refusal.strays = 0;
    t->record->last = tt_time_now(t);
    t->stack.end = t->stack.fiber->segment->end;
    show_fast_path(t);
    tt_stack_resolve(t, 1);
    tt_stack_disturb(t);
    tt_sampler_arm(t);
    return 0;
}

/* Makes stacks that still refer to the tree independent of it. */
static void let_go_of_stacks(struct tt_thread *t)
{
    struct tt_fiber *f;

    tt_stack_keep_blocks(t, t->stack.fiber);
    tt_threads_lock(); /* another thread may be taking one of them away */
    tt_nested_lock(&t->tree.lock, &tt_self);
    while ((f = t->stack.suspended)) {
        tt_stack_keep_blocks(t, f);
        t->stack.suspended = f->next;
        __atomic_store_n(&f->thread, NULL, __ATOMIC_RELAXED);
        f->link = NULL;
    }
    tt_nested_unlock(&t->tree.lock);
    tt_threads_unlock();
}

/* The tree outlives its thread: it is kept unchanged, or merged at once if room is tight.
 * A recording that is over needs neither. */
static void leave_tree(struct tt_thread *t, struct tt_recording *r)
{
    struct ended *e;

    if (t->record->state == TT_STRAND_NONE) { /* hidden until it would be used */
        tt_tree_fini(&t->tree);
        give_record(r, t->record);
        return;
    }
    __atomic_store_n(&t->record->state, TT_STRAND_ENDED, __ATOMIC_RELEASE);
    if (r != tt_recording ||
        __atomic_load_n(&r->header->state, __ATOMIC_RELAXED) != TT_RECORDING_OPEN ||
        !(e = take_ended())) {
        tt_tree_forget(&t->tree);
        return;
    }
    e->tree = t->tree;
    e->tree.lock = (struct tt_nested){0};
    e->next = all.ended;
    all.ended = e;
    all.ended_count++;
    if (is_tight(r) || (r->header->processors && all.ended_count > MACHINE_ENDED_MAX))
        merge_ended(r);
}

void tt_thread_detach(struct tt_thread *t)
{
    struct tt_recording *r = t->recording;

    if (!r)
        return;
    if (tt_thread_ended)
        tt_thread_ended(t);
    tt_sampler_disarm(t);
    tt_thread_rename(t);
    tt_slowest_drop(t);
    if (__atomic_load_n(&tt_on, __ATOMIC_ACQUIRE) && r == tt_recording_now())
        tt_stack_close(t);
    if (__atomic_load_n(&r->header->state, __ATOMIC_RELAXED) == TT_RECORDING_OPEN &&
        t->record->charged) /* else nothing of it was timed, and no file is opened */
        tt_recording_left(r);
    tt_log_leave(r, &t->log);
    let_go_of_stacks(t);
    close_fast_path(t);
    tt_threads_lock();
    unlink_thread(t);
    t->recording = NULL; /* from here on signal handlers keep away */
    TT_BARRIER();
    leave_tree(t, r);
    tt_threads_unlock();
    t->record = NULL;
    if (t->last)
        tt_recording_drop(t->last);
    t->last = r;
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

/* Those of ended threads, which unwinders may still read: see tt_function_dropped. */
static struct tt_thread *spare_threads;

static struct tt_thread *take_spare(void)
{
    struct tt_thread *t;

    if (!__atomic_load_n(&spare_threads, __ATOMIC_RELAXED))
        return NULL;
    tt_threads_lock();
    t = spare_threads;
    if (t)
        __atomic_store_n(&spare_threads, t->collector, __ATOMIC_RELAXED);
    tt_threads_unlock();
    if (t)
        memset(t, 0, THREAD_BYTES);
    return t;
}

static void give_spare(struct tt_thread *t)
{
    tt_threads_lock();
    t->collector = spare_threads;
    __atomic_store_n(&spare_threads, t, __ATOMIC_RELAXED);
    tt_threads_unlock();
}

struct tt_thread *tt_thread_new(struct tt_strand *self)
{
    struct tt_thread *t = take_spare();

    if (!t)
        t = mmap(NULL, THREAD_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                 -1, 0);

    if ((void *)t == MAP_FAILED)
        return NULL;
    tt_stack_init(&t->stack.own, t + 1, THREAD_BYTES - sizeof *t);
    t->stack.fiber = &t->stack.own;
    t->stack.own.running = 1;
    t->self = self;
    t->stack.end = t->stack.own.segment->end;
    self->top = t->stack.own.top;
    self->thread = t;
    return t;
}

void tt_thread_free(struct tt_thread *t)
{
    if (!t)
        return;
    memset(t->self, 0, sizeof *t->self);
    tt_stack_fini(&t->stack.own);
    if (t->last)
        tt_recording_drop(t->last);
    if (tt_function_dropped)
        give_spare(t);
    else
        munmap(t, THREAD_BYTES);
}

static __thread int thread_is_over;

int tt_thread_is_over(void) { return thread_is_over && !tt_self.thread; }

/* At a thread's end.  The system calls destructors in several rounds; the program's run in
 * them, too.  A thread that was seen to begin ends before the last one, in which sanitizers
 * end it.  Of others it is not known which round it is. */
static void end_thread(void *arg)
{
    struct tt_thread *t = arg;

    if (!tt_has_ceased() && ++t->rounds < PTHREAD_DESTRUCTOR_ITERATIONS - 1 &&
        pthread_setspecific(thread_key, t) == 0)
        return;
    thread_is_over = 1;
    if (tt_has_ceased())
        return;
    tt_busy_enter(&t->busy);
    tt_thread_detach(t);
    tt_thread_free(t);
}

static void make_key(void)
{
    thread_key_made = pthread_key_create(&thread_key, end_thread) == 0;
}

static struct tt_thread *make_thread(void)
{
    static __thread int making;
    int saved = errno;
    struct tt_thread *t;

    if (making)
        return NULL;
    making = 1;
    pthread_once(&thread_once, make_key);
    t = thread_key_made ? tt_thread_new(&tt_self) : NULL;
    if (t && pthread_setspecific(thread_key, t) != 0) {
        memset(&tt_self, 0, sizeof tt_self);
        munmap(t, THREAD_BYTES);
        t = NULL;
    }
    if (t)
        t->rounds = PTHREAD_DESTRUCTOR_ITERATIONS;
    making = 0;
    errno = saved;
    return t;
}

/* A thread that got no strand tries again from time to time. */
static int attach_again(struct tt_thread *t)
{
    int error;
    uint32_t epoch;

    tt_thread_detach(t);
    tt_threads_lock(); /* the recording stays meanwhile */
    epoch = tt_recording->epoch;
    tt_threads_unlock();
    if (t->refusal.epoch != epoch)
        t->refusal.pushes = 0;
    t->refusal.epoch = epoch;
    error = t->refusal.pushes % RETRY ? -TT_ERR_MEMORY : tt_thread_attach(t);
    t->refusal.pushes = error ? t->refusal.pushes + 1 : 0;
    return error;
}

/* A handler must not wait for its own thread. */
struct tt_thread *tt_thread_enter(void)
{
    return tt_is_at_work() ? NULL : tt_thread_enter_anyway();
}

struct tt_thread *tt_thread_enter_anyway(void)
{
    struct tt_thread *t = tt_self.thread;

    if (!__atomic_load_n(&tt_on, __ATOMIC_ACQUIRE) ||
        (!t && (thread_is_over || !(t = make_thread()))))
        return NULL;
    tt_thread_begin(t);
    if (t->stack.fiber->high < (uintptr_t)__builtin_frame_address(0))
        t->stack.fiber->high = (uintptr_t)__builtin_frame_address(0);
    if (TT_UNLIKELY(t->recording != tt_recording_now()) && attach_again(t) != 0) {
        tt_thread_leave(t);
        return NULL;
    }
    return t;
}

/* ── Fork ─────────────────────────────────────────────────────────────────────────── */

void tt_threads_forget_lock(void) { pthread_mutex_init(&threads_mutex, NULL); }

void tt_threads_forked(void)
{
    all.first = NULL;
    forget_all();
}
