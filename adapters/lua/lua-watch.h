/* SPDX-License-Identifier: MIT */
/* lua-watch.h - declarations for the files of the adapter for Lua.
 *
 *      watch ── one a Lua universe that is recorded: a main state with its coroutines
 *        ├── routines: each coroutine's calls, and its fiber
 *        ├── blocks of functions, found by prototype or C function
 *        └── allocator: the universe's own, with us in front of it */
#ifndef TT_LUA_WATCH_H
#define TT_LUA_WATCH_H

#include <lauxlib.h>
#include <lua.h>
#include <tallytree.h>

enum mode { MODE_CALLS, MODE_LINES, MODE_SAMPLED };

struct call { /* a function that runs; ci: how Lua knows it, for as long as it does */
    void *ci;
    tt_mark mark, line; /* line: of the line that runs, 0: none */
};

struct routine {
    lua_State *L;
    struct watch *watch;
    tt_fiber *fiber; /* NULL: the thread's own stack */
    struct call *call;
    int count, room;
};

struct value { /* as Lua has it */
    void *it;
    unsigned char tag;
};
enum { LUA_CLOSURE = 0x06, LIGHT_C = 0x16, C_CLOSURE = 0x26, TAG_BITS = 0x3f };
enum { IN_CLOSURE = 24 }; /* a closure's prototype, or its C function */

struct block_table { /* from the address of a prototype or C function, and a line */
    struct block_entry {
        const void *key;
        int line;
        tt_block block;
    } * at;
    uint32_t size, count; /* a power of two; with the graves */
};

/* Recorded objects, if only some are recorded: their addresses, and those whose function
 * is not known yet. */
enum { WAITING = 32, SMALL = 512 };
struct picked {
    uintptr_t *slot;
    uint32_t size, count;
    int is_all; /* then none is kept here */
    uint64_t dice;
    uint32_t others[SMALL + 1]; /* how many others an object of that many bytes counts
                                   for */
    struct waiting {
        uintptr_t at;
        tt_type type;
        size_t size;
    } waiting[WAITING];
    int waits;
};

struct watch {
    lua_State *main;
    enum mode mode;
    int heap, private_layout;
    const void *resume, *wrapped; /* coroutine.resume, what coroutine.wrap makes */
    struct block_table blocks;
    struct block_entry last; /* that was asked for */
    lua_Alloc allocate;      /* the universe's own */
    void *ud;
    size_t thread_size, prototype_size; /* 0: none was made so far */
    uint64_t cycles;                    /* of the collector */
    lua_State **known;                  /* sampling: those that may run */
    int known_count, known_room;
    lua_State *fresh[4]; /* made, but not ready; by how many allocations ago */
    int is_fresh;        /* one of them may be */
    void *timer;
    uint64_t cpu;
    volatile int is_due; /* the timer went off */
    struct picked picked;
};

/* If Lua's layout is known: the key of a call's function, NULL if it is of no known type;
 * and the call below one, NULL if there is none, as the first call of a thread has no
 * caller. */
static inline const void *tt_lua_key_in(const void *closure)
{
    return *(const void *const *)(const void *)((const char *)closure + IN_CLOSURE);
}

static inline const void *tt_lua_private_key(const void *ci)
{
    const struct value *v = *(const struct value *const *)ci;
    int tag = v->tag & TAG_BITS;

    if (tag == LUA_CLOSURE || tag == C_CLOSURE)
        return tt_lua_key_in(v->it);
    return tag == LIGHT_C ? v->it : NULL;
}

static inline void *tt_lua_call_before(const void *ci) { return ((void *const *)ci)[2]; }

static inline void *tt_lua_call_below(const void *ci)
{
    void *below = tt_lua_call_before(ci);

    return below && tt_lua_call_before(below) ? below : NULL;
}

/* Returns the key of the running function, NULL: Lua is asked each time. */
static inline const void *tt_lua_key(const struct watch *w, const lua_Debug *ar)
{
    return w->private_layout ? tt_lua_private_key(ar->i_ci) : NULL;
}

/* lua-block.c: the block of the function of this key, which runs, or of its current line. */
tt_block tt_lua_find_block(struct watch *, lua_State *, lua_Debug *, const void *key);
tt_block tt_lua_line_block(struct watch *, lua_State *, lua_Debug *);
void tt_lua_block_forget(struct watch *, const void *prototype);
int tt_lua_layout_is_known(lua_State *);

static inline tt_block tt_lua_block(struct watch *w, lua_State *L, lua_Debug *ar,
                                    const void *key)
{
    return key && w->last.key == key && !w->last.line ? w->last.block
                                                      : tt_lua_find_block(w, L, ar, key);
}

/* Can the called function resume a coroutine? */
void tt_lua_find_resume(struct watch *, lua_State *);
static inline int tt_lua_may_resume(const struct watch *w, const void *key)
{
    return !key || key == w->resume || key == w->wrapped;
}

/* lua-calls.c: every call and return, or line, as an event. */
void tt_lua_calls_begin(struct watch *);
void tt_lua_calls_end(struct watch *);

/* lua-heap.c: the allocator. */
void tt_lua_heap_begin(struct watch *);
void tt_lua_heap_end(struct watch *);

/* Records waiting objects at the profiler's current context. */
void tt_lua_heap_tell(struct watch *);

/* lua-sample.c: samples the stack. */
int tt_lua_sample_begin(struct watch *, int hz);
void tt_lua_sample_end(struct watch *);
void tt_lua_sample_add(struct watch *, lua_State *);
void tt_lua_sample_drop(struct watch *, lua_State *);

/* Samples at the next instruction.  0: it is unknown which thread is running. */
int tt_lua_sample_soon(struct watch *);

/* lua-package.c: returns the watch of a universe, or NULL. */
struct watch *tt_lua_watch_of(lua_State *);

#endif
