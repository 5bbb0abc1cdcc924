/* SPDX-License-Identifier: MIT */
/* lua-host.c - a program that has Lua in it: lua-host MODULE OUT SCRIPT */
#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>

static int fail(lua_State *L)
{
    fprintf(stderr, "lua-host: %s\n", lua_tostring(L, -1));
    lua_close(L);
    return 1;
}

int main(int argc, char **argv)
{
    lua_State *L = luaL_newstate(), *made;

    if (!L || argc != 4)
        return 2;
    luaL_openlibs(L);
    made = lua_newthread(L); /* before the start, and run by us and no Lua */
    if (luaL_loadfile(made, argv[3]))
        return fail(made);
    lua_pushstring(L, argv[1]);
    lua_pushstring(L, argv[2]);
    lua_setglobal(L, "out");
    lua_setglobal(L, "module");
    if (luaL_dostring(L, "tt = assert(package.loadlib(module, 'luaopen_tallytree'))() "
                         "tt.start{output = out}") ||
        luaL_loadfile(L, argv[3]) || lua_pcall(L, 0, 0, 0) ||
        luaL_dostring(L, "tt.stop()"))
        return fail(L);
    lua_close(L);
    return 0;
}
