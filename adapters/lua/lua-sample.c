/* SPDX-License-Identifier: MIT */
/* lua-sample.c - samples Lua's stack, while Lua runs at full speed.
 *
 * A signal of the thread's CPU time sets a hook on every thread of Lua, as it is unknown
 * which one is running; the next instruction of the running one calls it.  The hook
 * removes all hooks, enters the functions on the stack, and charges the time since the
 * last sample.  The allocator knows the threads: a new one is hooked only after it has
 * got its stack, two allocations later. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lua-watch.h"

enum { DEEPEST = 400 };

static struct watch *volatile sampled; /* one universe in a process is sampled */

static uint64_t cpu_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ── Hooks ────────────────────────────────────────────────────────────────────────── */

static void look(lua_State *L, lua_Debug *ar);

static void take_hooks_off(const struct watch *w)
{
    for (int i = 0; i < w->known_count; i++)
        if (lua_gethook(w->known[i]) == look)
            lua_sethook(w->known[i], NULL, 0, 0);
}

/* A hook of the program is kept. */
static int put_hooks_on(const struct watch *w)
{
    int count = 0;

    for (int i = 0; i < w->known_count; i++) {
        if (!lua_gethook(w->known[i]))
            lua_sethook(w->known[i], look,
                        LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT, 1);
        count += lua_gethook(w->known[i]) == look;
    }
    return count;
}

/* With a great many threads that would take too long. */
int tt_lua_sample_soon(struct watch *w)
{
    enum { MANY = 64 };

    if (w->picked.waits)
        return 1;
    return sampled == w && w->known_count <= MANY && put_hooks_on(w) == w->known_count;
}

/* ── The look ─────────────────────────────────────────────────────────────────────── */

/* Collects the blocks of the running functions, the innermost first. */
static int stack_of(struct watch *w, lua_State *L, tt_block *block)
{
    lua_Debug ar;
    int depth = 0, more = lua_getstack(L, 0, &ar);
    void *ci;

    while (more && depth < DEEPEST) {
        block[depth++] = tt_lua_block(w, L, &ar, tt_lua_key(w, &ar));
        if (w->private_layout) {
            ci = tt_lua_call_below(ar.i_ci);
            more = ci != NULL;
            ar.i_ci = ci;
        } else {
            more = lua_getstack(L, depth, &ar);
        }
    }
    return depth;
}

/* Waiting objects were made before now: not by a function that is only being called. */
static void look(lua_State *L, lua_Debug *ar)
{
    struct watch *w = sampled;
    tt_block block[DEEPEST];
    tt_mark bottom = 0, mark;
    uint64_t now;

    if (!w)
        return;
    take_hooks_off(w);
    for (int i = stack_of(w, L, block); i-- > 0;) {
        if (i == 0 && ar->event == LUA_HOOKCALL)
            tt_lua_heap_tell(w);
        mark = tt_push(block[i]);
        bottom = bottom ? bottom : mark;
    }
    tt_lua_heap_tell(w);
    if (w->is_due) {
        w->is_due = 0;
        now = cpu_now();
        tt_sample(now - w->cpu);
        w->cpu = now;
    }
    if (bottom)
        tt_pop(bottom);
}

static void on_signal(int number)
{
    struct watch *w = sampled;
    int saved = errno;

    (void)number;
    if (w) {
        w->is_due = 1;
        (void)put_hooks_on(w);
    }
    errno = saved;
}

/* ── Which threads there are ──────────────────────────────────────────────────────── */

static void block_signal(sigset_t *before)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGPROF);
    (void)pthread_sigmask(SIG_BLOCK, &set, before);
}

static void add_known(struct watch *w, lua_State *L)
{
    sigset_t before;
    lua_State **grown;

    block_signal(&before);
    if (w->known_count == w->known_room) {
        grown = realloc(w->known, (size_t)(w->known_room * 2 + 16) * sizeof *grown);
        if (grown) {
            w->known = grown;
            w->known_room = w->known_room * 2 + 16;
        }
    }
    if (w->known_count < w->known_room)
        w->known[w->known_count++] = L;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* A thread begins after the extra space that Lua reserves for its host. */
static lua_State *thread_in(void *memory)
{
    return (lua_State *)(void *)((char *)memory + LUA_EXTRASPACE);
}

void tt_lua_sample_add(struct watch *w, lua_State *memory)
{
    enum { READY = sizeof w->fresh / sizeof *w->fresh - 1 };

    w->is_fresh = memory || w->fresh[0] || w->fresh[1] || w->fresh[2];
    if (w->fresh[READY])
        add_known(w, w->fresh[READY]);
    memmove(w->fresh + 1, w->fresh, READY * sizeof *w->fresh);
    w->fresh[0] = memory ? thread_in(memory) : NULL;
}

void tt_lua_sample_drop(struct watch *w, lua_State *memory)
{
    lua_State *L = thread_in(memory);
    sigset_t before;

    for (size_t i = 0; i < sizeof w->fresh / sizeof *w->fresh; i++)
        if (w->fresh[i] == L)
            w->fresh[i] = NULL;
    for (int i = 0; i < w->known_count; i++)
        if (w->known[i] == L) {
            block_signal(&before);
            w->known[i] = w->known[--w->known_count];
            (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
            return;
        }
}

/* ── Beginning and end ────────────────────────────────────────────────────────────── */

int tt_lua_sample_begin(struct watch *w, int hz)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    struct itimerspec every = {.it_value = {hz == 1, 1000000000 / hz % 1000000000}};
    timer_t timer;

    if (sampled || sigaction(SIGPROF, NULL, &before) != 0 ||
        (!(before.sa_flags & SA_SIGINFO) && before.sa_handler != SIG_DFL))
        return -1;
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) != 0)
        return -1;
    w->timer = timer;
    w->cpu = cpu_now();
    add_known(w, w->main);
    sampled = w;
    every.it_interval = every.it_value;
    (void)sigaction(SIGPROF, &action, NULL);
    return timer_settime(timer, 0, &every, NULL);
}

/* A signal that is still on its way finds nothing. */
void tt_lua_sample_end(struct watch *w)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, def = {.sa_handler = SIG_DFL};

    if (sampled != w)
        return;
    (void)timer_delete(w->timer);
    (void)sigaction(SIGPROF, &ignore, NULL);
    (void)sigaction(SIGPROF, &def, NULL);
    sampled = NULL;
    take_hooks_off(w);
    free(w->known);
    w->known = NULL;
    w->known_count = w->known_room = 0;
}
