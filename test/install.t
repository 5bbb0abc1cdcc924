#!/bin/bash
# SPDX-License-Identifier: MIT
# Installed files work in any folder: with pkg-config, with CMake, and the command alone.
. "$(dirname "$0")/tap.sh"
build=$(realpath "${TT_BUILD:-build}")
there=$tmp/elsewhere
tallytree="$there/bin/tallytree"

installs()
{
    DESTDIR=$tmp/stage meson install -C "$build" --no-rebuild --quiet &&
        mv "$(dirname "$(find "$tmp/stage" -type d -name bin)")" "$there"
}

# The libraries' folder: lib, or lib/x86_64-linux-gnu.
library() { dirname "$(find "$there" -name 'libtallytree.a')"; }

has_the_files()
{
    local page name
    for page in doc/man/*; do
        [ -e "$there/share/man/man${page##*.}/${page##*/}" ] || echo "no $page"
    done
    for name in include/tallytree.h include/tallytree/{disabled,scope,reduce}.h include/tallytree/profiler/profiler.h \
        share/bash-completion/completions/tallytree share/zsh/site-functions/_tallytree \
        share/fish/vendor_completions.d/tallytree.fish share/tallytree/tallytree-mpi.c; do
        [ -e "$there/$name" ] || echo "no $name"
    done
    [ ! -e "$lib/libtallytree-switch.so" ] || [ -e "$there/include/tallytree-switch.h" ] ||
        echo "no include/tallytree-switch.h"
    find "$there" -type f -perm /111 | while read -r name; do
        readelf -d "$name" | grep -E 'R(UN)?PATH' | grep -v '\[\$ORIGIN[^]]*\]'
    done
}

finds_its_libraries()
{
    for name in "$there"/bin/* "$lib"/*.so "$lib"/*/*.so; do
        LD_LIBRARY_PATH=$lib ldd "$name" | grep 'not found' && echo "for $name"
    done
}

# ── The command ──────────────────────────────────────────────────────────────────────

records()
{
    "$tallytree" record "$@" -o "$tmp/profile" sh -c 'for i in 1 2 3; do ls -R /etc >/dev/null 2>&1; done' &&
        "$tallytree" report header "$tmp/profile" | grep -q '^program .*sh$'
}

records_tcl()
{
    echo 'proc f x { expr {$x * 2} }; for {set i 0} {$i < 10} {incr i} { f $i }' >"$tmp/a.tcl"
    "$tallytree" tcl -o "$tmp/profile" "$tmp/a.tcl" &&
        "$tallytree" report flat --csv "$tmp/profile" | grep -qE '\bf\b'
}

records_lua()
{
    echo 'local function f(x) return x * 2 end for i = 1, 10 do f(i) end' >"$tmp/a.lua"
    "$tallytree" lua -o "$tmp/profile" "$tmp/a.lua" &&
        "$tallytree" report flat --csv "$tmp/profile" | grep -qE '\bf\b'
}

requires_lua()
{
    LUA_CPATH="$lib/lua/5.4/?.so" lua5.4 -e 'local t = require "tallytree"; assert(t.start and t.stop)'
}

requires_tcl()
{
    echo "lappend auto_path $lib/tcltk; puts [package require tallytree]" | sed "s/$lib/{&}/" >"$tmp/b.tcl"
    TCLLIBPATH="{$lib/tcltk}" tclsh8.6 <<<'puts [package require tallytree]' | grep -q '^0'
}

# ── Programs ─────────────────────────────────────────────────────────────────────────

cat >"$tmp/program.c" <<'EOF'
#include <tallytree.h>

int main(int argc, char **argv)
{
    int error = argc > 1 ? tt_start(argv[1]) : 0;
    for (int i = 0; i < 100; i++) {
        TT_SCOPE("round");
        TT_SCOPE("inner");
    }
    return argc > 1 ? error || tt_stop() : 0;
}
EOF
cp "$tmp/program.c" "$tmp/program.cpp"

of_package() { PKG_CONFIG_PATH=$lib/pkgconfig pkg-config "$@" tallytree; }

has_its_version()
{
    of_package --modversion | grep -qx "$("$tallytree" --version | grep -oE '[0-9.]+')"
}

counts_rounds()
{
    "$tallytree" dump "$1" | grep -qP '^context\tround;inner\tcalls=100\t'
}

# builds COMPILER FILE FLAG... - a program by pkg-config; what it records is what it did.
builds()
{
    local words
    eval "words=($(of_package --static --cflags --libs))"
    "$1" -Wall -Wextra -Werror "$tmp/$2" "${words[@]}" "${@:3}" -o "$tmp/program" &&
        LD_LIBRARY_PATH=$lib "$tmp/program" "output=$tmp/recording" && counts_rounds "$tmp/recording"
}

# The program's library is the one that was loaded before it.
is_recorded()
{
    LD_LIBRARY_PATH=$lib "$tallytree" record -o "$tmp/profile" "$tmp/program" &&
        "$tallytree" export --to folded --metric calls "$tmp/profile" | grep -q 'round;inner 100$'
}

configures()
{
    mkdir -p "$tmp/cmake/bin" && cp "$tmp/program.c" "$tmp/cmake" && cat >"$tmp/cmake/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.13)
project(program C)
find_package(tallytree $1 CONFIG REQUIRED)
add_executable(shared program.c)
target_link_libraries(shared tallytree::tallytree)
add_executable(static program.c)
target_link_libraries(static tallytree::static)
EOF
    cmake -S "$tmp/cmake" -B "$tmp/cmake/bin" -DCMAKE_PREFIX_PATH="$there"
}

makes()
{
    cmake --build "$tmp/cmake/bin" --target "$1" && "$tmp/cmake/bin/$1" "output=$tmp/recording" &&
        counts_rounds "$tmp/recording"
}

needs_tallytree()
{
    readelf -d "$tmp/cmake/bin/$1" | grep -q 'NEEDED.*\[libtallytree.so.0\]'
}

try "it is installed, and moved" installs
lib=$(library)
none "all of it is there" has_the_files
none "no library is missing" finds_its_libraries
try "the command records" records
try "and the heap too" records --heap
if [ -e "$lib/tcltk/tallytree/libtallytree-tcl.so" ]; then
    try "it records a script of Tcl's" records_tcl
    try "which finds the package" requires_tcl
fi
if [ -e "$lib/tallytree/libtallytree-lua.so" ]; then
    try "it records a script of Lua's" records_lua
    try "which finds the module" requires_lua
fi
try "pkg-config knows the version" has_its_version
try "builds a program of C" builds cc program.c
try "which the command records" is_recorded
try "one of C++" builds c++ program.cpp
try "and one that needs no other library" builds cc program.c -static -DTT_STATIC
try "CMake finds it" configures 0.1
try "builds a program with the shared library" makes shared
try "which is not in it" needs_tallytree shared
try "and one with the static one" makes static
try "which is" eval '! needs_tallytree static'
rm -rf "$tmp/cmake"
try "a version that may differ too much is not taken" eval '! configures 0.0.1 && ! configures 0.2 && ! configures 1'
finish
