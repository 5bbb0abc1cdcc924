/* SPDX-License-Identifier: MIT */
/* frames-preload.c - preloaded into a program, unwinds it at every signal of a timer, with
 * our tables and with libunwind, and says at its end how often they agree.
 *
 *      FRAMES=FILE LD_PRELOAD=libframes-preload.so PROGRAM ARGS...
 *
 * FILE gets a line `name value` for each count, and examples of stacks that differ. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include "unwind.h"

enum { ROOM = 8192, EXAMPLES = 12 };

struct list {
    uint32_t count;
    int end; /* ours: how it ended; theirs: what the last step returned */
    struct tt_native frame[ROOM];
};

#define SIGNAL (SIGRTMAX - 3) /* one that programs do not have plans for */

static struct {
    const char *end; /* of the main thread's stack */
    timer_t timer;
    int busy, examples, file;
    pid_t pid;
    uint64_t random;
    unsigned long samples, frames, ends[TT_UNWIND_ENDS], same, longer, shorter, differ,
        lost_theirs;
    unsigned long guessed, lost;
    struct list ours, theirs;
} state;

/* ── The two stacks ───────────────────────────────────────────────────────────────── */

static void unwind_ours(struct list *l, const struct tt_modules *modules, void *ucontext)
{
    struct tt_registers r;
    struct tt_peek peek;
    static struct tt_unwind_cache cache; /* of the busy thread; used every other time */
    struct tt_unwound out = {
        .frame = l->frame, .room = ROOM, .cache = state.samples % 2 ? &cache : NULL};
    const char *sp;

    tt_registers_of_context(&r, ucontext);
    sp = (const char *)(uintptr_t)r.value[TT_REGISTER_SP];
    tt_peek_own(&peek, sp, sp < state.end ? state.end : NULL);
    tt_native_unwind(&out, modules, &r, &peek);
    l->count = out.count;
    l->end = (int)out.end;
}

static void unwind_theirs(struct list *l, void *ucontext)
{
    unw_cursor_t cursor;
    unw_word_t word;

    l->count = 0;
    l->end = unw_init_local2(&cursor, ucontext, UNW_INIT_SIGNAL_FRAME);
    while (l->end >= 0 && l->count < ROOM) {
        struct tt_native *f = &l->frame[l->count++];
        unw_get_reg(&cursor, UNW_REG_IP, &word);
        f->pc = word;
        unw_get_reg(&cursor, UNW_REG_SP, &word);
        f->sp = word;
        if ((l->end = unw_step(&cursor)) <= 0)
            break;
    }
    /* It gives the zero that ends a stack as a frame, too. */
    while (l->count && l->frame[l->count - 1].pc == 0)
        l->count--;
}

/* ── Saying ───────────────────────────────────────────────────────────────────────── */

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char text[512];
    va_list more;
    int n;

    va_start(more, format);
    n = vsnprintf(text, sizeof text, format, more);
    va_end(more);
    if (n > 0 && write(state.file, text, (size_t)n) != n)
        state.lost++;
}

static void say_frame(const char *who, const struct list *l, uint32_t i,
                      const struct tt_modules *modules)
{
    const struct tt_mapping *m;

    if (i >= l->count) {
        say("#   %s: nothing\n", who);
        return;
    }
    m = tt_modules_find(modules, l->frame[i].pc);
    say("#   %s: %lx sp %lx in %s+%lx\n", who, l->frame[i].pc, l->frame[i].sp,
        m ? m->module->path : "?", m ? l->frame[i].pc - m->bias : 0);
}

static void say_example(uint32_t at, const struct tt_modules *modules)
{
    uint32_t from = at > 3 ? at - 3 : 0;

    if (state.examples++ >= EXAMPLES)
        return;
    say("# differ at frame %u of %u, %u; ours: %s; theirs: %d\n", at, state.ours.count,
        state.theirs.count, tt_unwind_reason((enum tt_unwind_end)state.ours.end),
        state.theirs.end);
    for (uint32_t i = from; i < at + 3; i++) {
        say_frame("ours  ", &state.ours, i, modules);
        say_frame("theirs", &state.theirs, i, modules);
    }
}

/* ── Comparing ────────────────────────────────────────────────────────────────────── */

/* Is their result wrong, at a place without code?  While longjmp is about to jump, the
 * stack pointer is in another register, which libunwind does not read. */
static int is_astray(const struct list *l, const struct tt_modules *modules)
{
    for (uint32_t i = 0; i < l->count; i++)
        if (!tt_modules_find(modules, l->frame[i].pc))
            return 1;
    return 0;
}

static void compare(const struct tt_modules *modules)
{
    const struct list *a = &state.ours, *b = &state.theirs;
    uint32_t i = 0, n = a->count < b->count ? a->count : b->count;

    while (i < n && a->frame[i].pc == b->frame[i].pc && a->frame[i].sp == b->frame[i].sp)
        i++;
    state.samples++;
    state.frames += i;
    state.ends[a->end]++;
    for (uint32_t g = 0; g < a->count; g++)
        state.guessed += (a->frame[g].flags & TT_NATIVE_GUESSED) != 0;
    if (i < n && a->end == TT_UNWIND_ROOT && is_astray(b, modules))
        state.lost_theirs++;
    else if (i < n)
        state.differ++;
    else if (a->count > n)
        state.longer++;
    else if (b->count > n)
        state.shorter++;
    else
        state.same++;
    if (i < n || a->count != b->count || a->end != TT_UNWIND_ROOT)
        say_example(i, modules);
}

/* Once, at a time that no loop of the program can be in step with: a handler that takes long
 * must leave the program time to go on. */
static void set_timer(void)
{
    struct itimerspec once = {{0, 0}, {0, 0}};

    state.random = state.random * 6364136223846793005u + 1442695040888963407u;
    once.it_value.tv_nsec = (long)(100000 + (state.random >> 33) % 400000);
    timer_settime(state.timer, 0, &once, NULL);
}

/* Whether the loader may hold its lock, which libunwind takes: it would wait for ever. */
static int in_loader(const struct list *l)
{
    for (uint32_t i = 0; i < l->count; i++) {
        const struct tt_native *f = &l->frame[i];
        if (f->function == (uintptr_t)dl_iterate_phdr ||
            (f->mapping && strstr(f->mapping->module->path, "/ld-")))
            return 1;
    }
    return 0;
}

static void on_signal(int number, siginfo_t *info, void *ucontext)
{
    int saved = errno;
    struct tt_hold hold;

    (void)number;
    (void)info;
    if (__atomic_exchange_n(&state.busy, 1, __ATOMIC_ACQUIRE)) {
        __atomic_fetch_add(&state.lost, 1, __ATOMIC_RELAXED);
        return;
    }
    tt_modules_hold(&hold);
    unwind_ours(&state.ours, hold.modules, ucontext);
    if (!in_loader(&state.ours)) {
        unwind_theirs(&state.theirs, ucontext);
        compare(hold.modules);
    }
    tt_modules_release(&hold);
    __atomic_store_n(&state.busy, 0, __ATOMIC_RELEASE);
    set_timer();
    errno = saved;
}

/* ── Beginning and end ────────────────────────────────────────────────────────────── */

__attribute__((visibility("default"))) void *dlopen(const char *path, int flags)
{
    static void *(*next)(const char *, int);
    void *handle;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "dlopen");
    handle = next(path, flags);
    tt_modules_refresh();
    return handle;
}

__attribute__((visibility("default"))) int dlclose(void *handle)
{
    static int (*next)(void *);
    int result;

    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "dlclose");
    result = next(handle);
    tt_modules_refresh();
    return result;
}

static void find_stack(void)
{
    pthread_attr_t attr;
    void *low;
    size_t size;

    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &low, &size);
        state.end = (char *)low + size;
        pthread_attr_destroy(&attr);
    }
}

static void start_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGNAL};
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_RESTART};

    sigaction(SIGNAL, &action, NULL);
    if (timer_create(CLOCK_MONOTONIC, &event, &state.timer) == 0)
        set_timer();
}

__attribute__((constructor)) static void start(void)
{
    const char *file = getenv("FRAMES");

    if (!file ||
        (state.file = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) < 0)
        return;
    unsetenv("FRAMES");
    unsetenv("LD_PRELOAD");
    state.file = fcntl(state.file, F_DUPFD_CLOEXEC, 700);
    state.pid = getpid();
    unw_set_caching_policy(unw_local_addr_space, UNW_CACHE_PER_THREAD);
    find_stack();
    if (tt_modules_refresh() == 0)
        start_timer();
}

__attribute__((destructor)) static void stop(void)
{
    if (!state.pid || state.pid != getpid())
        return;
    timer_delete(state.timer);
    signal(SIGNAL, SIG_IGN);
    say("samples %lu\nframes %lu\nlost %lu\nguessed %lu\n", state.samples, state.frames,
        state.lost, state.guessed);
    say("astray %lu\n", state.lost_theirs);
    say("same %lu\nlonger %lu\nshorter %lu\ndiffer %lu\n", state.same, state.longer,
        state.shorter, state.differ);
    for (int i = 0; i < TT_UNWIND_ENDS; i++)
        say("end%d %lu %s\n", i, state.ends[i], tt_unwind_reason((enum tt_unwind_end)i));
}
