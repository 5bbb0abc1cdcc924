/* SPDX-License-Identifier: MIT */
/* lua-block.c - functions of Lua, and their lines, as blocks.
 *
 * The key of a function is its prototype, which all its closures share; that of a C
 * function is its address.  Their places in Lua's private structures are tested at the
 * start.  If a test fails, the adapter asks Lua each time, and the key of a closure is
 * its source and line.  A freed prototype is forgotten, so that its address may be used
 * again. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lua-watch.h"

/* ── A table by address ───────────────────────────────────────────────────────────── */

#define GRAVE ((const void *)(uintptr_t)1)

static struct block_entry *entry_of(const struct block_table *t, const void *key,
                                    int line)
{
    uint64_t hash = ((uintptr_t)key ^ (uint64_t)line << 48) * 0x9e3779b97f4a7c15u;
    uint32_t i = (uint32_t)(hash >> 32);

    while (t->at[i & (t->size - 1)].key &&
           (t->at[i & (t->size - 1)].key != key || t->at[i & (t->size - 1)].line != line))
        i++;
    return &t->at[i & (t->size - 1)];
}

static int grow(struct block_table *t)
{
    struct block_table grown = {.size = t->size ? t->size * 2 : 256};

    grown.at = calloc(grown.size, sizeof *grown.at);
    if (!grown.at)
        return -1;
    for (uint32_t i = 0; i < t->size; i++)
        if (t->at[i].key && t->at[i].key != GRAVE) {
            *entry_of(&grown, t->at[i].key, t->at[i].line) = t->at[i];
            grown.count++;
        }
    free(t->at);
    *t = grown;
    return 0;
}

static tt_block find(const struct block_table *t, const void *key, int line)
{
    return t->size ? entry_of(t, key, line)->block : 0;
}

static void keep(struct block_table *t, const void *key, int line, tt_block block)
{
    if (t->count * 2 >= t->size && grow(t) != 0)
        return;
    *entry_of(t, key, line) = (struct block_entry){key, line, block};
    t->count++;
}

void tt_lua_block_forget(struct watch *w, const void *prototype)
{
    struct block_table *t = &w->blocks;
    struct block_entry *e = t->size ? entry_of(t, prototype, 0) : NULL;

    w->last.key = NULL;
    if (!e || !e->key)
        return;
    *e = (struct block_entry){.key = GRAVE};
    for (uint32_t i = 0; w->mode == MODE_LINES && i < t->size; i++)
        if (t->at[i].key == prototype)
            t->at[i] = (struct block_entry){.key = GRAVE};
}

/* ── What Lua keeps private ───────────────────────────────────────────────────────── */

static int probe_level(lua_State *L, lua_Debug *ar)
{
    const struct value *v = *(const struct value *const *)(const void *)ar->i_ci;
    int tag = v->tag & TAG_BITS, ok;
    lua_CFunction f;
    uintptr_t address;

    lua_getinfo(L, "f", ar);
    f = lua_tocfunction(L, -1);
    memcpy(&address, &f, sizeof address);
    if (f)
        ok = (tag == LIGHT_C && (uintptr_t)v->it == address) ||
             (tag == C_CLOSURE && v->it == lua_topointer(L, -1) &&
              (uintptr_t)tt_lua_key_in(v->it) == address);
    else
        ok = tag == LUA_CLOSURE && v->it == lua_topointer(L, -1);
    lua_pop(L, 1);
    return ok;
}

/* Two closures of one prototype, and one of another. */
static int probe_prototype(lua_State *L)
{
    static const char text[] = "local function f() return function() end end "
                               "return f(), f(), f";
    const void *a, *b, *c;

    if (sizeof(void *) != 8 || luaL_loadstring(L, text) || lua_pcall(L, 0, 3, 0)) {
        lua_pop(L, 1);
        return 0;
    }
    a = lua_topointer(L, -3);
    b = lua_topointer(L, -2);
    c = lua_topointer(L, -1);
    lua_pop(L, 3);
    return a != b && tt_lua_key_in(a) == tt_lua_key_in(b) &&
           tt_lua_key_in(a) != tt_lua_key_in(c);
}

int tt_lua_layout_is_known(lua_State *L)
{
    lua_Debug ar;
    void *below = NULL;

    if (lua_version(L) != 504 || !probe_prototype(L))
        return 0;
    for (int i = 0; lua_getstack(L, i, &ar); i++) {
        if (!probe_level(L, &ar) || (i && below != (void *)ar.i_ci))
            return 0;
        below = tt_lua_call_below(ar.i_ci);
    }
    return !below;
}

/* ── Names ────────────────────────────────────────────────────────────────────────── */

/* A name under which the function at the top is in a loaded module: "string.format". */
static int is_in_module(lua_State *L, int function, char *name, size_t size)
{
    const char *module = lua_tostring(L, -2);

    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING && lua_rawequal(L, -1, function)) {
            const char *key = lua_tostring(L, -2);
            if (strcmp(module, "_G") == 0)
                (void)snprintf(name, size, "%s", key);
            else
                (void)snprintf(name, size, "%s.%s", module, key);
            lua_pop(L, 2);
            return 1;
        }
    return 0;
}

/* Those of _G come first. */
static int find_global(lua_State *L, char *name, size_t size)
{
    int function = lua_gettop(L), found = 0;

    if (lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE) != LUA_TTABLE) {
        lua_settop(L, function);
        return 0;
    }
    lua_pushstring(L, "_G");
    if (lua_getfield(L, -2, "_G") == LUA_TTABLE)
        found = is_in_module(L, function, name, size);
    lua_settop(L, function + 1);
    for (lua_pushnil(L); !found && lua_next(L, function + 1); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING && lua_type(L, -1) == LUA_TTABLE &&
            is_in_module(L, function, name, size))
            found = 1;
    lua_settop(L, function);
    return found;
}

/* Lua also has "?", "integer index" and "for iterator", which say less than a line. */
static int is_identifier(const char *name)
{
    return name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")];
}

static void name_it(lua_State *L, lua_Debug *ar, char *name, size_t size)
{
    lua_getinfo(L, "f", ar);
    if (strcmp(ar->what, "main") == 0)
        (void)snprintf(name, size, "main chunk");
    else if (find_global(L, name, size))
        ;
    else if (is_identifier(ar->name) || (ar->name && ar->what[0] == 'C'))
        (void)snprintf(name, size, "%s", ar->name);
    else if (ar->what[0] == 'C')
        (void)snprintf(name, size, "C function");
    else
        (void)snprintf(name, size, "function <%s:%d>", ar->short_src, ar->linedefined);
    lua_pop(L, 1);
}

static const char *file_of(const lua_Debug *ar)
{
    return ar->source[0] == '@' || ar->source[0] == '=' ? ar->source + 1 : ar->short_src;
}

static enum tt_kind kind_of(const struct watch *w)
{
    return w->mode == MODE_SAMPLED ? TT_KIND_NATIVE : TT_KIND_BLOCK;
}

static tt_block make_block(struct watch *w, lua_State *L, lua_Debug *ar)
{
    char name[200];
    struct tt_block_info info = {.name = name, .kind = kind_of(w)};

    if (!lua_checkstack(L, 10))
        return 0;
    lua_getinfo(L, "nS", ar);
    name_it(L, ar, name, sizeof name);
    info.file = file_of(ar);
    info.line = ar->linedefined > 0 ? (uint32_t)ar->linedefined : 0;
    return tt_block_make(&info);
}

static tt_block make_line(lua_Debug *ar, int line)
{
    char name[300];
    struct tt_block_info info = {
        .name = name, .kind = TT_KIND_STATEMENT, .line = (uint32_t)line};

    info.file = file_of(ar);
    (void)snprintf(name, sizeof name, "%.280s:%d", info.file, line);
    return tt_block_make(&info);
}

/* ── The block of what runs ───────────────────────────────────────────────────────── */

static tt_block known(struct watch *w, lua_State *L, lua_Debug *ar, const void *key,
                      int line)
{
    tt_block block = key ? find(&w->blocks, key, line) : 0;

    if (!block) {
        lua_getinfo(L, "S", ar);
        block = line ? make_line(ar, line) : make_block(w, L, ar);
        if (key && block)
            keep(&w->blocks, key, line, block);
    }
    if (key && block)
        w->last = (struct block_entry){key, line, block};
    return block;
}

tt_block tt_lua_find_block(struct watch *w, lua_State *L, lua_Debug *ar, const void *key)
{
    return known(w, L, ar, key, 0);
}

tt_block tt_lua_line_block(struct watch *w, lua_State *L, lua_Debug *ar)
{
    const void *key = tt_lua_key(w, ar);
    int line = ar->currentline;

    if (line <= 0)
        return 0;
    return key && w->last.key == key && w->last.line == line ? w->last.block
                                                             : known(w, L, ar, key, line);
}

/* ── Functions that resume coroutines ─────────────────────────────────────────────── */

static const void *function_at_top(lua_State *L)
{
    lua_CFunction f = lua_tocfunction(L, -1);
    const void *address;

    memcpy(&address, &f, sizeof address);
    return address;
}

void tt_lua_find_resume(struct watch *w, lua_State *L)
{
    if (luaL_loadstring(L, "return coroutine.resume, coroutine.wrap(print)") == LUA_OK &&
        lua_pcall(L, 0, 2, 0) == LUA_OK) {
        w->wrapped = function_at_top(L);
        lua_pop(L, 1);
        w->resume = function_at_top(L);
    }
    lua_pop(L, 1);
}
