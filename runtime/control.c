/* SPDX-License-Identifier: MIT */
/* control.c - start and stop, pause and resume, copies, and fork.
 *
 * Stopping clears a flag and ends the file.  It waits for no thread: their late writes to
 * the old recording's mapping are harmless, and the last thread to drop it unmaps it. */
#include "control.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "activation.h"
#include "block.h"
#include "calibrate.h"
#include "cancel.h"
#include "clock.h"
#include "live-set.h"
#include "objects.h"
#include "retain.h"
#include "sampler.h"
#include "share.h"
#include "sites.h"
#include "space.h"
#include "stack.h"

static pthread_mutex_t control_mutex = PTHREAD_MUTEX_INITIALIZER;
static int starts; /* nested ones; guarded by control_mutex, as is `epochs` */
static uint32_t epochs;
int tt_unusable;
__thread struct tt_work tt_work;

static void control_lock(void)
{
    TT_ASSERT(!tt_work.control && !tt_work.threads);
    tt_work.control = 1;
    pthread_mutex_lock(&control_mutex);
}

static void control_unlock(void)
{
    pthread_mutex_unlock(&control_mutex);
    tt_work.control = 0;
}

/* ── Children that no handler of fork sees ────────────────────────────────────────── */

/* A bare system call, or _Fork, makes a child that has the parent's file and the parent's
 * locks.  The system clears this page for it. */
static uint32_t *seen_page;
static const uint32_t seen = 1;
const uint32_t *tt_seen = &seen;

enum { WIPE_ON_FORK = 18, KEEP_ON_FORK = 19 }; /* as in Linux's headers, since 4.14 */

/* Without a page that the system clears at a fork, forks are not detected. */
static void make_page(void)
{
    void *p = mmap(NULL, sizeof *seen_page, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return;
    if (madvise(p, sizeof *seen_page, WIPE_ON_FORK) != 0) {
        munmap(p, sizeof *seen_page);
        return;
    }
    seen_page = p;
    *seen_page = 1;
    __atomic_store_n(&tt_seen, seen_page, __ATOMIC_RELEASE);
}

static void advise_page(int advice)
{
    int saved = errno;

    if (seen_page)
        (void)madvise(seen_page, sizeof *seen_page, advice);
    errno = saved;
}

/* ── Fork ─────────────────────────────────────────────────────────────────────────── */

/* A signal handler that interrupted the profiler forks: when it returns, the interrupted
 * work of this thread goes on in the child as well, on a copy. */
static __thread int fork_unsafe;
static __thread void *fork_copy;

/* The calling thread, if it has a tree: in this recording or an older one. */
static struct tt_thread *thread_with_tree(void)
{
    struct tt_thread *t = tt_self.thread;

    return t && t->recording ? t : NULL;
}

/* Has a handler ended brief work by longjmp?  It has if `here` is above the stored
 * address: a handler's frame is below it.  The margin is HARDLY, as a signal's
 * frame is larger.  An address FAR above all that was seen of this stack is on another
 * stack. */
static TT_ASIDE int is_left(const struct tt_thread *t, uintptr_t here)
{
#if defined(__SANITIZE_THREAD__) /* it calls handlers from atomic operations, too */
    enum { HARDLY = 0, FAR = 8 << 10 };
#else
    enum { HARDLY = 512, FAR = 8 << 10 };
#endif

    return tt_busy_is_brief(&t->busy) && here + HARDLY >= t->busy.work &&
           here <= t->stack.fiber->high + FAR && !tt_on_signal_stack(here);
}

/* A thread that is not busy any more is cleaned up by the first check that finds this. */
static int is_busy(struct tt_thread *t, uintptr_t here)
{
    if (!t || !TT_UNLIKELY(t->busy.work))
        return 0;
    if (!is_left(t, here))
        return 1;
    tt_stack_mend(t);
    tt_busy_end(&t->busy);
    return 0;
}

int tt_is_at_work_below(uintptr_t sp)
{
    return tt_has_ceased() || is_busy(tt_self.thread, sp) || tt_holds_locks() ||
           tt_block_held();
}

int tt_is_at_work(void)
{
    return tt_is_at_work_below((uintptr_t)__builtin_frame_address(0));
}

int (*tt_is_collecting)(void);
static int ceased;

void tt_cease(void)
{
    __atomic_store_n(&ceased, 1, __ATOMIC_RELAXED);
    tt_share_turn(0);
}

int tt_has_ceased(void)
{
    if (TT_UNLIKELY(tt_is_unseen()) && !ceased) {
        if (__atomic_load_n(&tt_on, __ATOMIC_RELAXED))
            tt_bump_shared(&tt_recording->header->lost_children, 1);
        tt_cease();
        tt_strand_close(&tt_self);
    }
    return __atomic_load_n(&ceased, __ATOMIC_RELAXED);
}

static void before_fork(void)
{
    struct tt_thread *own = thread_with_tree();

    if (tt_has_ceased())
        return;
    fork_unsafe = tt_is_at_work() || (tt_is_collecting && tt_is_collecting());
    if (fork_unsafe) {
        fork_copy = tt_recording ? tt_recording_detached(tt_recording) : NULL;
        return;
    }
    if (tt_self.thread)
        tt_thread_begin(tt_self.thread); /* no sample meanwhile */
    control_lock();
    tt_threads_lock();
    for (struct tt_thread *t = tt_threads_first(); t; t = t->next) {
        tt_nested_lock(&t->tree.lock, &tt_self);
        for (struct tt_fiber *f = t->stack.suspended; f; f = f->next)
            tt_stack_keep_blocks(t, f);
    }
    if (own)
        tt_stack_keep_blocks(own, own->stack.fiber);
    tt_live_set_lock();
    tt_block_lock();
    if (tt_recording)
        pthread_mutex_lock(&tt_recording->lock);
    tt_objects_lock();
    tt_retainers_lock();
    advise_page(KEEP_ON_FORK);
}

static void unlock_all(void)
{
    advise_page(WIPE_ON_FORK);
    tt_retainers_unlock();
    tt_objects_unlock();
    if (tt_recording)
        pthread_mutex_unlock(&tt_recording->lock);
    tt_block_unlock();
    tt_live_set_unlock();
    for (struct tt_thread *t = tt_threads_first(); t; t = t->next)
        tt_nested_unlock(&t->tree.lock);
    tt_threads_unlock();
    control_unlock();
}

static void after_fork_in_parent(void)
{
    if (tt_has_ceased())
        return;
    if (fork_unsafe) {
        if (fork_copy)
            munmap(fork_copy, tt_recording->header->size);
        fork_unsafe = 0; /* the handler may have interrupted a fork */
        return;
    }
    unlock_all();
    if (tt_self.thread)
        tt_thread_leave(tt_self.thread);
}

/* Only the calling thread is left.  Pointers into its tree stay valid until it drops the
 * parent's recording, as at a new start: a handler may have forked in the middle of a
 * push. */
static void forget_others(struct tt_thread *own)
{
    struct tt_fiber *f;

    for (struct tt_thread *t = tt_threads_first(); t; t = t->next)
        while ((f = t->stack.suspended)) {
            t->stack.suspended = f->next;
            f->thread = NULL;
            f->link = NULL;
            f->epoch = 0;
        }
    if (own) {
        own->link = NULL;
        tt_strand_close(own->self);
        own->modes.plain = own->modes.tells = 0;
        own->sampler.armed = 0; /* timers are not inherited */
    }
    tt_threads_forked();
}

/* Other threads, which may have held locks, do not exist.  If this thread holds one, that
 * work goes on when the handler returns; tt_work shows this. */
static void forget_locks(struct tt_thread *own)
{
    pthread_mutex_init(&control_mutex, NULL);
    tt_threads_forget_lock();
    tt_block_forget_lock();
    tt_objects_forget_lock();
    tt_live_set_forget();
    tt_retainers_forget();
    if (tt_recording)
        pthread_mutex_init(&tt_recording->lock, NULL);
    if (own)
        tt_nested_forget(&own->tree.lock, &tt_self);
}

static void go_on_without(struct tt_thread *own)
{
    tt_unusable = 1;
    if (seen_page)
        *seen_page = 1;
    tt_share_turn(0);
    if (own) {
        tt_strand_close(own->self);
        own->sampler.armed = 0; /* the timer is the parent's: here its number is free */
    }
    if (tt_recording) {
        tt_bump_shared(&tt_recording->header->lost_children, 1);
        tt_recording_detach(tt_recording, fork_copy);
    }
    forget_locks(own);
}

static void go_on_beside(struct tt_thread *own, struct tt_recording *parent)
{
    struct tt_recording *r = NULL;

    if (starts > 0 && tt_recording_fork(&r, parent) != 0) {
        starts = 0;
        tt_share_turn(0);
    }
    tt_recording_detach(parent, NULL);
    if (!r)
        return;
    r->epoch = ++epochs;
    tt_recording = r;
    tt_block_declare_all(r);
    parent->attached = 1;
    if (!own || own->recording != parent)
        tt_recording_drop(parent);
    tt_sampler_forked(r);
}

static void after_fork_in_child(void)
{
    struct tt_thread *own = thread_with_tree();

    if (fork_unsafe) {
        go_on_without(own);
        return;
    }
    if (tt_has_ceased())
        return;
    unlock_all();
    control_lock();
    forget_others(own);
    if (tt_recording)
        go_on_beside(own, tt_recording);
    control_unlock();
    if (tt_self.thread)
        tt_thread_leave(tt_self.thread);
}

/* ── Start and stop ───────────────────────────────────────────────────────────────── */

/* Threads that end, forks and signals come back to this code: a library that it is part of
 * must stay.  Nothing of the kind exists in a static program. */
extern __typeof__(dladdr) dladdr __attribute__((weak));
extern __typeof__(dlopen) dlopen __attribute__((weak));

int tt_stays_loaded;

void tt_stay_loaded(void)
{
    Dl_info self, program;
    const void *headers = (const void *)(uintptr_t)getauxval(AT_PHDR);

    if (tt_stays_loaded || !dladdr || !dlopen || !dladdr(&starts, &self) ||
        (dladdr(headers, &program) && program.dli_fbase == self.dli_fbase))
        return;
    (void)dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* Once a process.  Without handlers of fork a child would write into its parent's file. */
static int settle_in(void)
{
    static int settled;

    if (!settled) {
        if (tt_block_init() != 0 ||
            pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) != 0)
            return -TT_ERR_MEMORY;
        make_page();
        tt_stay_loaded();
        settled = 1;
    }
    return 0;
}

static int begin(const struct tt_options *o)
{
    struct tt_recording *r, *old = tt_recording;
    int error = settle_in();

    if (!error)
        error = tt_sites_switch(1);
    if (error)
        return error;
    error = tt_recording_open(&r, o);
    if (error) {
        (void)tt_sites_switch(0);
        return error;
    }
    r->epoch = ++epochs;
    tt_clock_choose(r->header);
    r->exact = tt_options_are_exact(o);
    if (r->exact) {
        tt_calibrate(r->header);
        r->preempted = tt_clock_preempted(NULL, &r->threads);
    }
    (void)tt_block_publish(r, TT_BLOCK_OTHER); /* while there is room for certain */
    tt_threads_stop();
    tt_strands_forget();
    tt_threads_lock();
    __atomic_store_n(&tt_recording, r, __ATOMIC_SEQ_CST);
    tt_threads_unlock();
    tt_metric_publish(r);
    if (old)
        tt_recording_drop(old);
    __atomic_store_n(&tt_space_rate, o->space_rate, __ATOMIC_RELAXED);
    tt_threads_stop();         /* again: threads may have seen the old recording */
    (void)tt_sampler_start(r); /* without it calls are still counted */
    tt_share_turn(1);
    tt_block_declare_all(r);
    return 0;
}

int tt_start_with(const struct tt_options *o)
{
    TT_NOT_CANCELLED();
    int error = 0;

    if (tt_unusable || tt_is_at_work())
        return -TT_ERR_BUSY;
    (void)tt_space_any_type(); /* while we may wait for the blocks */
    control_lock();
    if (starts == 0)
        error = begin(o);
    starts += !error;
    control_unlock();
    return error;
}

/* Of the thread's last start; "" if no option was refused. */
static __thread char option_error[104];

/* 0, or an error whose text names the option. */
static int read_options(struct tt_options *o, const char *words)
{
    size_t at = 0;
    int error = tt_options_read(o, words, &at);

    option_error[0] = '\0';
    if (error == -TT_ERR_OPTION)
        (void)snprintf(option_error, sizeof option_error,
                       "no such option, or its value is out of range: '%.*s'",
                       (int)strcspn(words + at, TT_OPTIONS_SEPARATORS), words + at);
    if (error || tt_options_complete(o) == 0)
        return error;
    (void)strcpy(option_error, "options 'profile-...' need 'profile=PATH'");
    return -TT_ERR_OPTION;
}

int tt_start(const char *words)
{
    struct tt_options o;
    int error = read_options(&o, words);

    TT_HAND_ON(tt_start, words);
    return error ? error : tt_start_with(&o);
}

static void close_own_books(void)
{
    struct tt_thread *t = tt_self.thread ? tt_thread_enter_anyway() : NULL;

    if (!t) /* not even a strand */
        return;
    tt_stack_close(t);
    tt_objects_end(t);
    tt_thread_leave(t);
}

int tt_stop(void)
{
    TT_NOT_CANCELLED();
    int error = 0;

    TT_HAND_ON(tt_stop);
    if (tt_unusable || tt_is_at_work())
        return -TT_ERR_BUSY;
    control_lock();
    if (starts == 0) {
        error = -TT_ERR_STATE;
    } else if (--starts == 0) {
        close_own_books();
        tt_share_turn(0);
        tt_sampler_stop(tt_recording);
        tt_threads_stop();
        (void)tt_sites_switch(0);
        tt_recording_end(tt_recording,
                         tt_clock_in_use() == TT_CLOCK_CALLER ? 0 : tt_clock_now());
    }
    control_unlock();
    return error;
}

/* ── Pause and resume ─────────────────────────────────────────────────────────────── */

int tt_pause(void)
{
    struct tt_thread *t;
    uint64_t now;

    TT_HAND_ON(tt_pause);
    t = tt_thread_enter();
    if (!t)
        return -TT_ERR_STATE;
    now = tt_time_now(t);
    tt_charge_time(t, now, t->self->top);
    if (t->clock.pauses == 0)
        t->clock.paused_at = now + t->stack.fiber->away;
    TT_SHOW(t->clock.pauses, t->clock.pauses + 1);
    t->record->paused = 1;
    tt_thread_leave(t);
    return 0;
}

int tt_resume(void)
{
    struct tt_thread *t;

    TT_HAND_ON(tt_resume);
    t = tt_thread_enter();
    if (!t)
        return -TT_ERR_STATE;
    if (t->clock.pauses == 0) {
        tt_thread_leave(t);
        return -TT_ERR_STATE;
    }
    if (t->clock.pauses == 1) {
        tt_sampler_skip(t);
        t->record->paused = 0;
    }
    TT_SHOW(t->clock.pauses, t->clock.pauses - 1);
    if (t->clock.pauses == 0)
        t->clock.paused_ticks += tt_time_now(t) + t->stack.fiber->away -
                                 t->clock.paused_at;
    tt_thread_leave(t);
    return 0;
}

/* ── Copies ───────────────────────────────────────────────────────────────────────── */

/* Has an eviction moved figures while the copy was made?  Then it is inconsistent. */
static uint64_t count_moves(const char *base, const struct tt_header *h, int *odd)
{
    const uint32_t *map = (const uint32_t *)(const void *)(base + h->map);
    uint64_t moves = 0;

    uint32_t used = __atomic_load_n(&h->used, __ATOMIC_ACQUIRE);

    for (uint32_t page = 0; page < used; page++) {
        const char *at = base + h->first + (size_t)page * TT_PAGE_SIZE;
        if ((__atomic_load_n(&map[page], __ATOMIC_ACQUIRE) & 0xff) != TT_PAGE_STRAND)
            continue;
        for (size_t i = 0; i < TT_PAGE_SIZE; i += sizeof(struct tt_strand_record)) {
            const struct tt_strand_record *s = (const void *)(at + i);
            uint64_t n = __atomic_load_n(&s->moves, __ATOMIC_ACQUIRE);
            moves += n;
            *odd |= (int)(n & 1);
        }
    }
    return moves;
}

/* Ticks of a caller's clock are the thread's own: charges those since its last push or pop. */
static void charge_own_ticks(void)
{
    struct tt_thread *t = tt_clock_in_use() == TT_CLOCK_CALLER && tt_self.thread
                              ? tt_thread_enter()
                              : NULL;

    if (!t)
        return;
    tt_charge_time(t, tt_time_now(t), t->self->top);
    tt_thread_leave(t);
}

void *tt_snapshot(size_t *size)
{
    enum { TRIES = 16 };
    struct tt_recording *r;
    struct tt_header *h;
    void *copy = NULL;
    int whole = 0;

    *size = 0;
    if (tt_unusable || tt_is_at_work())
        return NULL; /* in a signal handler that interrupted us */
    charge_own_ticks();
    control_lock();
    r = tt_recording;
    for (int i = 0; r && !whole && i < TRIES; i++) {
        int odd = 0;
        uint64_t before = count_moves(r->base, r->header, &odd);
        if (copy)
            munmap(copy, *size);
        copy = tt_recording_copy(r, size);
        whole = !copy || (count_moves(r->base, r->header, &odd) == before && !odd);
    }
    if (copy) {
        h = copy;
        h->torn = !whole;
        h->pages = h->used;
        if (h->state == TT_RECORDING_OPEN && h->clock != TT_CLOCK_CALLER)
            h->end_ticks = tt_clock_now();
        if (h->state == TT_RECORDING_OPEN) {
            pthread_mutex_lock(&r->lock);
            h->preempted = tt_recording_preempted(r);
            pthread_mutex_unlock(&r->lock);
        }
    }
    control_unlock();
    return copy;
}

int tt_write(const char *path)
{
    size_t size;
    void *copy;
    int error;

    TT_HAND_ON(tt_write, path);
    if (tt_unusable || tt_is_at_work())
        return -TT_ERR_BUSY;
    if (!tt_recording)
        return -TT_ERR_STATE;
    copy = tt_snapshot(&size);
    if (!copy)
        return -TT_ERR_MEMORY;
    error = tt_file_write(path, copy, size);
    munmap(copy, size);
    return error;
}

const char *tt_error_text(int error)
{
    static const char *const texts[] = {
        "no error",
        "not built in",
        "no such option, or its value is out of range",
        "the file cannot be created, grown or written",
        "no memory",
        "not started, or more resumes than pauses",
        "not a recording, or a damaged one",
        "called from a signal handler that interrupted the profiler",
    };
    unsigned n = error < 0 ? 0u - (unsigned)error : (unsigned)error;

    if (n == TT_ERR_CODE)
        return tt_sites_refusal();
    if (n == TT_ERR_OPTION && option_error[0])
        return option_error;
    return n < sizeof texts / sizeof *texts ? texts[n] : "unknown error";
}
