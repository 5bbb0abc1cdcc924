/* SPDX-License-Identifier: MIT */
/* lua-package.c - the module `tallytree` of Lua.
 *
 *      local tt = require "tallytree"
 *      tt.start { output = "prog.tallytree", mode = "calls" }      -- or lines, sampled
 *      tt.stop()
 *
 * What is recorded is all that the universe of the caller does on the calling thread. */
#include <stdlib.h>
#include <string.h>

#include "lua-watch.h"

static const char watch_key, cycle_key;
enum { WORDS = 1200 };

struct watch *tt_lua_watch_of(lua_State *L)
{
    struct watch *w;

    lua_rawgetp(L, LUA_REGISTRYINDEX, &watch_key);
    w = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return w;
}

/* ── Cycles of the collector ──────────────────────────────────────────────────────── */

/* Garbage at once, whose finaliser makes the next: it is called once a cycle. */
static int on_cycle(lua_State *L);

static void make_sentinel(lua_State *L)
{
    (void)lua_newuserdatauv(L, 1, 0);
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &cycle_key) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_createtable(L, 0, 1);
        lua_pushcfunction(L, on_cycle);
        lua_setfield(L, -2, "__gc");
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &cycle_key);
    }
    lua_setmetatable(L, -2);
    lua_pop(L, 1);
}

static int on_cycle(lua_State *L)
{
    struct watch *w = tt_lua_watch_of(L);

    if (!w)
        return 0;
    w->cycles++;
    tt_add(tt_metric_get("collections", ""), 1);
    make_sentinel(L);
    return 0;
}

/* ── Start and stop ───────────────────────────────────────────────────────────────── */

static int end_watch(lua_State *L)
{
    struct watch *w = tt_lua_watch_of(L);

    if (!w)
        return 0;
    if (w->mode == MODE_SAMPLED)
        tt_lua_sample_end(w);
    else
        tt_lua_calls_end(w);
    tt_lua_heap_end(w);
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &watch_key);
    free(w->blocks.at);
    memset(&w->blocks, 0, sizeof w->blocks);
    return 1;
}

static int stop(lua_State *L)
{
    if (!end_watch(L))
        return luaL_error(L, "tallytree: not started");
    if (tt_stop() != 0)
        return luaL_error(L, "tallytree: the recording could not be ended");
    return 0;
}

/* When the universe is closed. */
static int close_universe(lua_State *L)
{
    if (lua_touserdata(L, 1) == (void *)tt_lua_watch_of(L) && end_watch(L))
        (void)tt_stop();
    return 0;
}

/* It stays on the stack: the text of a number has no other reference. */
static const char *field(lua_State *L, const char *name, const char *otherwise)
{
    const char *value;

    if (lua_type(L, 1) != LUA_TTABLE)
        return otherwise;
    lua_getfield(L, 1, name);
    value = lua_tostring(L, -1);
    return value ? value : otherwise;
}

static void add_words(lua_State *L, char *words, const char *name, const char *value)
{
    size_t used = strlen(words);

    if (!value)
        return;
    if (strpbrk(value, ", \t\n"))
        luaL_error(L, "tallytree: no blanks and commas in %s = '%s'", name, value);
    if (used + strlen(name) + strlen(value) + 3 > WORDS)
        luaL_error(L, "tallytree: '%s' is too long", value);
    (void)strcat(strcat(strcat(strcat(words, ","), name), "="), value);
}

static const char *check_fields(lua_State *L)
{
    static const char *const known[] = {"output",    "mode",   "hz",      "heap",
                                        "recursion", "budget", "options", NULL};
    const char *name;
    int i;

    if (lua_isnoneornil(L, 1))
        return NULL;
    luaL_checktype(L, 1, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        for (i = 0; known[i] && strcmp(known[i], name) != 0; i++)
            ;
        if (!known[i])
            return name;
    }
    return NULL;
}

static int is_set(lua_State *L, const char *name)
{
    int set = 0;

    if (lua_type(L, 1) == LUA_TTABLE) {
        lua_getfield(L, 1, name);
        set = lua_toboolean(L, -1);
        lua_pop(L, 1);
    }
    return set;
}

static struct watch *make_watch(lua_State *L, enum mode mode)
{
    struct watch *w = lua_newuserdatauv(L, sizeof *w, 0);

    memset(w, 0, sizeof *w);
    w->mode = mode;
    w->heap = is_set(L, "heap");
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, close_universe);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    w->main = lua_tothread(L, -1);
    lua_pop(L, 1);
    w->private_layout = tt_lua_layout_is_known(L);
    tt_lua_find_resume(w, L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &watch_key);
    return w;
}

static void stop_at_exit(void) { (void)tt_stop(); }

static void begin_watch(lua_State *L, struct watch *w, int hz)
{
    static int is_noted;

    if (!is_noted)
        is_noted = atexit(stop_at_exit) == 0; /* of a universe that is not closed */
    tt_lua_heap_begin(w);
    if (w->mode != MODE_SAMPLED) {
        tt_lua_calls_begin(w);
    } else if (tt_lua_sample_begin(w, hz) != 0) {
        (void)end_watch(L);
        (void)tt_stop();
        luaL_error(L, "tallytree: SIGPROF is in use, or another Lua state is sampled");
    }
    make_sentinel(L);
}

static int start(lua_State *L)
{
    static const char *const modes[] = {"calls", "lines", "sampled", NULL};
    static const char *const words_of[] = {
        "exact", "exact", "calls,space-rate=4096,clock=monotonic,native=sampled"};
    const char *unknown = check_fields(L), *name = field(L, "mode", "calls");
    const char *hz = field(L, "hz", "250"), *more = field(L, "options", NULL);
    char words[WORDS + 1];
    int mode = 0, error;

    if (unknown)
        return luaL_error(L, "tallytree: there is no '%s' to start with", unknown);
    if (tt_lua_watch_of(L))
        return luaL_error(L, "tallytree: started already");
    while (modes[mode] && strcmp(modes[mode], name) != 0)
        mode++;
    if (!modes[mode])
        return luaL_error(L, "tallytree: mode '%s' is none of calls, lines, sampled",
                          name);
    if (atoi(hz) < 1 || atoi(hz) > 10000)
        return luaL_error(L, "tallytree: %s samples a second", hz);
    (void)strcpy(words, words_of[mode]);
    if (mode == MODE_SAMPLED)
        (void)strcat(strcat(words, "="), hz);
    add_words(L, words, "output", field(L, "output", NULL));
    add_words(L, words, "recursion", field(L, "recursion", NULL));
    add_words(L, words, "budget", field(L, "budget", NULL));
    if (more && strlen(words) + strlen(more) + 1 > WORDS)
        return luaL_error(L, "tallytree: '%s' is too long", more);
    if (more)
        (void)strcat(strcat(words, ","), more);
    error = tt_start(words);
    if (error)
        return luaL_error(L, "tallytree: %s", tt_error_text(error));
    begin_watch(L, make_watch(L, (enum mode)mode), atoi(hz));
    return 0;
}

/* ── The rest ─────────────────────────────────────────────────────────────────────── */

static int result(lua_State *L, int error)
{
    return error ? luaL_error(L, "tallytree: %s", tt_error_text(error)) : 0;
}

static int pause_it(lua_State *L) { return result(L, tt_pause()); }
static int resume_it(lua_State *L) { return result(L, tt_resume()); }
static int print_it(lua_State *L) { return result(L, tt_print(1)); }

static int write_it(lua_State *L) { return result(L, tt_write(luaL_checkstring(L, 1))); }

static int cycles(lua_State *L)
{
    const struct watch *w = tt_lua_watch_of(L);

    lua_pushinteger(L, w ? (lua_Integer)w->cycles : 0);
    return 1;
}

__attribute__((visibility("default"))) int luaopen_tallytree(lua_State *L);

int luaopen_tallytree(lua_State *L)
{
    static const luaL_Reg functions[] = {{"start", start},    {"stop", stop},
                                         {"pause", pause_it}, {"resume", resume_it},
                                         {"write", write_it}, {"print", print_it},
                                         {"cycles", cycles},  {NULL, NULL}};

    luaL_newlib(L, functions);
    lua_pushstring(L, TT_VERSION);
    lua_setfield(L, -2, "version");
    return 1;
}
