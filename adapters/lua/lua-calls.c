/* SPDX-License-Identifier: MIT */
/* lua-calls.c - every call and return of Lua, and every line if requested.
 *
 * Lua calls a hook; a tail call replaces its caller.  Errors leave functions without an
 * event, so each event is compared with the stack of Lua: calls that are no longer on it
 * are popped.  A coroutine has a separate fiber.  A coroutine that was made before the
 * hooks were set is found when it is resumed: its thread is among the arguments of
 * coroutine.resume, or an upvalue of the function made by coroutine.wrap. */
#include <stdlib.h>
#include <string.h>

#include "lua-watch.h"

static const char routines_key; /* of a table in the registry: threads → routines */
static __thread struct routine *current;

/* ── Our stack ────────────────────────────────────────────────────────────────────── */

/* The common case of an event is inline; this is the rest. */
#define ASIDE __attribute__((noinline))

static ASIDE int grow_calls(struct routine *r)
{
    struct call *grown = realloc(r->call, (size_t)(r->room * 2 + 16) * sizeof *grown);

    if (!grown)
        return -1;
    r->call = grown;
    r->room = r->room * 2 + 16;
    return 0;
}

static inline struct call *add_call(struct routine *r, void *ci)
{
    if (r->count == r->room && grow_calls(r) != 0)
        return NULL;
    r->call[r->count] = (struct call){.ci = ci};
    return &r->call[r->count++];
}

static ASIDE void leave_others(struct routine *r, const void *ci)
{
    int count = r->count;

    while (count && r->call[count - 1].ci != ci)
        count--;
    if (count < r->count)
        tt_pop(r->call[count].mark);
    r->count = count;
}

/* Pops the calls above this one; all of them if it is not there. */
static inline void leave_above(struct routine *r, const void *ci)
{
    if (!r->count || r->call[r->count - 1].ci != ci)
        leave_others(r, ci);
}

static inline void enter(struct routine *r, lua_State *L, lua_Debug *ar, const void *key)
{
    tt_block block = tt_lua_block(r->watch, L, ar, key);
    struct call *c = block ? add_call(r, ar->i_ci) : NULL;

    if (c)
        c->mark = tt_push(block);
}

/* Running functions are entered as if they were called now. */
static void enter_all(struct routine *r, lua_State *L)
{
    lua_Debug ar;
    int level = 0;

    while (lua_getstack(L, level, &ar))
        level++;
    while (level-- > 0)
        if (lua_getstack(L, level, &ar))
            enter(r, L, &ar, tt_lua_key(r->watch, &ar));
}

/* ── Coroutines ───────────────────────────────────────────────────────────────────── */

static int forget_routine(lua_State *L)
{
    struct routine *r = lua_touserdata(L, 1);

    if (current == r) {
        tt_fiber_switch(NULL);
        current = NULL;
    }
    tt_fiber_free(r->fiber);
    free(r->call);
    memset(r, 0, sizeof *r);
    return 0;
}

static struct routine *make_routine(struct watch *w, lua_State *L)
{
    struct routine *r = lua_newuserdatauv(L, sizeof *r, 0);

    *r = (struct routine){.L = L, .watch = w};
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, forget_routine);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    if (L != w->main)
        r->fiber = tt_fiber_new();
    return r;
}

/* A collected thread removes its routine. */
static struct routine *routine_of(struct watch *w, lua_State *L)
{
    struct routine *r;

    if (!lua_checkstack(L, 8))
        return NULL;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &routines_key);
    lua_pushthread(L);
    if (lua_rawget(L, -2) == LUA_TNIL) {
        lua_pop(L, 1);
        r = make_routine(w, L);
        lua_pushthread(L);
        lua_insert(L, -2);
        lua_rawset(L, -3);
    } else {
        r = lua_touserdata(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return r;
}

/* Returns the routine of the current event.  If it is new, enters all its frames,
 * including that of this event. */
static struct routine *switch_to(lua_State *L, const lua_Debug *ar, int *is_entered)
{
    struct watch *w = tt_lua_watch_of(L);
    struct routine *r = w ? routine_of(w, L) : NULL;

    if (!r)
        return NULL;
    tt_fiber_switch(r->fiber);
    current = r;
    if (r->count == 0) {
        enter_all(r, L);
        *is_entered = ar->event != LUA_HOOKRET;
    }
    return r;
}

static void on_event(lua_State *L, lua_Debug *ar);

static int mask_of(const struct watch *w)
{
    return LUA_MASKCALL | LUA_MASKRET | (w->mode == MODE_LINES ? LUA_MASKLINE : 0);
}

static void watch_thread(const struct watch *w, lua_State *L)
{
    if (L && !lua_gethook(L))
        lua_sethook(L, on_event, mask_of(w), 0);
}

/* An argument or an upvalue of a C function may be a coroutine to resume. */
static ASIDE void look_for_thread(const struct watch *w, lua_State *L, lua_Debug *ar)
{
    if (lua_getlocal(L, ar, 1)) {
        watch_thread(w, lua_tothread(L, -1));
        lua_pop(L, 1);
    }
    lua_getinfo(L, "f", ar);
    if (lua_iscfunction(L, -1) && lua_getupvalue(L, -1, 1)) {
        watch_thread(w, lua_tothread(L, -1));
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

static ASIDE void *ask_for_caller(lua_State *L)
{
    lua_Debug caller;

    return lua_getstack(L, 1, &caller) ? (void *)caller.i_ci : NULL;
}

static inline void *caller_of(const struct watch *w, lua_State *L, const lua_Debug *ar)
{
    return w->private_layout ? tt_lua_call_below(ar->i_ci) : ask_for_caller(L);
}

static ASIDE void on_call(struct routine *r, lua_State *L, lua_Debug *ar, int is_entered)
{
    const void *key = tt_lua_key(r->watch, ar);

    if (!is_entered) {
        leave_above(r, caller_of(r->watch, L, ar));
        enter(r, L, ar, key);
    }
    if (tt_lua_may_resume(r->watch, key))
        look_for_thread(r->watch, L, ar);
}

static ASIDE void on_tail_call(struct routine *r, lua_State *L, lua_Debug *ar)
{
    const void *key = tt_lua_key(r->watch, ar);
    tt_block block = tt_lua_block(r->watch, L, ar, key);

    leave_above(r, ar->i_ci);
    if (!r->count) {
        enter(r, L, ar, key);
        return;
    }
    if (r->call[r->count - 1].line)
        tt_pop(r->call[r->count - 1].line);
    r->call[r->count - 1].line = 0;
    if (block)
        tt_replace(block);
}

static inline void on_return(struct routine *r, const lua_Debug *ar)
{
    leave_above(r, ar->i_ci);
    if (r->count)
        tt_pop(r->call[--r->count].mark);
}

static ASIDE void on_line(struct routine *r, lua_State *L, lua_Debug *ar)
{
    tt_block block = tt_lua_line_block(r->watch, L, ar);
    struct call *c;

    leave_above(r, ar->i_ci);
    if (!r->count)
        return;
    c = &r->call[r->count - 1];
    if (c->line)
        tt_pop(c->line);
    c->line = block ? tt_push(block) : 0;
}

static inline __attribute__((always_inline)) void on_event_of(struct routine *r,
                                                              lua_State *L, lua_Debug *ar,
                                                              int is_entered)
{
    switch (ar->event) {
    case LUA_HOOKCALL:
        on_call(r, L, ar, is_entered);
        break;
    case LUA_HOOKTAILCALL:
        if (!is_entered)
            on_tail_call(r, L, ar);
        break;
    case LUA_HOOKRET:
        on_return(r, ar);
        break;
    case LUA_HOOKLINE:
        on_line(r, L, ar);
        break;
    }
}

static ASIDE void on_other_routine(lua_State *L, lua_Debug *ar)
{
    int is_entered = 0;
    struct routine *r = switch_to(L, ar, &is_entered);

    if (r)
        on_event_of(r, L, ar, is_entered);
}

static void on_event(lua_State *L, lua_Debug *ar)
{
    struct routine *r = current;

    if (r && r->L == L)
        on_event_of(r, L, ar, 0);
    else
        on_other_routine(L, ar);
}

/* ── Beginning and end ────────────────────────────────────────────────────────────── */

void tt_lua_calls_begin(struct watch *w)
{
    lua_State *L = w->main;

    lua_createtable(L, 0, 0);
    lua_createtable(L, 0, 1);
    lua_pushstring(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &routines_key);
    lua_sethook(L, on_event, mask_of(w), 0);
}

void tt_lua_calls_end(struct watch *w)
{
    lua_State *L = w->main;
    struct routine *r = routine_of(w, L);

    tt_fiber_switch(NULL);
    if (r)
        leave_above(r, NULL);
    if (current && current->watch == w)
        current = NULL;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &routines_key);
    for (lua_pushnil(L); lua_istable(L, -2) && lua_next(L, -2); lua_pop(L, 1))
        if (lua_gethook(lua_tothread(L, -2)) == on_event)
            lua_sethook(lua_tothread(L, -2), NULL, 0, 0);
    lua_pop(L, 1);
    if (lua_gethook(L) == on_event)
        lua_sethook(L, NULL, 0, 0);
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &routines_key);
}
