#!/bin/bash
# SPDX-License-Identifier: MIT
# aarch64-preload.t - programs of aarch64, emulated, with what `record` has loaded into them:
# their stacks, what they allocate, and what their compiler's hooks tell.
. "$(dirname "$0")/../tap.sh"
. tools/rooms
tallytree=$TT_BUILD/tallytree
compiler=(aarch64-linux-gnu-gcc -std=gnu11 -D_GNU_SOURCE -pthread)
command -v qemu-aarch64 >/dev/null && command -v "${compiler[0]}" >/dev/null || {
    echo "1..0 # SKIP there is no qemu-aarch64, or no compiler for aarch64"
    exit
}

# sources LIST... - of meson.build.
sources()
{
    local list
    for list; do
        sed -n "/^$list = .*files(/,/^)/s#.*'\([a-z]*/[a-z0-9-]*\.c\)'.*#$PWD/\1#p" meson.build
    done
}

# The library that records allocations, too.
library()
{
    sources {picture,runtime,collect,preload,heap}_sources heap_collector >"$tmp/sources"
    printf '%s\n' "$PWD"/{functions/hooks-aarch64,functions/hooks-quick,unwind/machine-aarch64,interpreters/safe-copy-aarch64}.c >>"$tmp/sources"
    (cd "$tmp" && xargs -P 2 -n 30 "${compiler[@]}" -O1 -fPIC -fvisibility=hidden -ftls-model=initial-exec \
        "${headers[@]/-I/-I$OLDPWD/}" -c <sources) &&
        "${compiler[@]}" -shared -Wl,-z,nodelete -Wl,-z,now -Wl,-Bsymbolic -Wl,--undefined-version \
            -Wl,--version-script=runtime/tallytree.map -o "$tmp/library.so" "$tmp"/*.o
}

# run OPTIONS PROGRAM ARGS... - with the library; it ends with 3, and $tmp/tt is its profile.
run()
{
    rm -rf "$tmp/folder" && mkdir "$tmp/folder" &&
        TALLYTREE=$1 TALLYTREE_FOLDER=$tmp/folder TALLYTREE_HEAP=0 timeout -k 5 100 \
            qemu-aarch64 -L /usr/aarch64-linux-gnu -E "LD_PRELOAD=$tmp/library.so" "${@:2}" >"$tmp/out"
    [ $? = 3 ] && "$tallytree" symbolize -o "$tmp/tt" "$tmp"/folder/*
}

# folded METRIC
folded() { "$tallytree" export --to folded --metric "$1" "$tmp/tt"; }

cat >"$tmp/work.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
static volatile unsigned sink;
__attribute__((noinline)) void leaf(int n) { while (n--) sink = sink * 1103515245u + 12345u; }
__attribute__((noinline)) void inner(int n) { leaf(n); sink++; }
__attribute__((noinline)) void outer(int n)
{
    for (int i = 0; i < 10; i++) {
        void *volatile p = malloc(1000 + i);
        inner(n);
        free(p);
    }
    sink++;
}
int main(void)
{
    for (int i = 0; i < 200; i++) outer(100000);
    void *volatile keep = malloc(5000);
    puts(keep ? "done" : "");
    return 3;
}
END
sampled()
{
    "${compiler[@]}" -O2 -o "$tmp/work" "$tmp/work.c" && run native=sampled "$tmp/work" && [ "$(cat "$tmp/out")" = "done" ] || return
    folded samples | awk '{ all += $NF; whole += $0 ~ /^_start;.*;main;outer(;inner(;leaf)?)? [0-9]*$/ ? $NF : 0 }
        END { print whole, "of", all; exit !(all >= 5 && whole >= 0.7 * all) }' || { folded samples; return 1; }
}
allocated()
{
    folded objects | grep -q ';main;outer 2000$' && folded allocated | grep -q ';main;outer 2009000$' &&
        folded live | grep -q ';main 5000$' || { folded allocated; return 1; }
}
coroutines()
{
    "${compiler[@]}" -w "${@:2}" -o "$tmp/coroutines" test/coroutines.c && run calls,native=calls,recursion=none "$tmp/coroutines" "$1" threads 1 || return
    [ "$(wc -l <"$tmp/out")" -gt 500 ] && folded calls | LC_ALL=C sort | diff <(LC_ALL=C sort "$tmp/out") - >"$tmp/differs" ||
        { head "$tmp/differs"; return 1; }
}
try "what is loaded into programs compiles" library
try "stacks of samples reach the root" sampled
try "objects are counted where they are allocated" allocated
try "hooks are told apart by coroutines: -finstrument-functions" coroutines hand -O2 -finstrument-functions
try "-pg" coroutines ucontext -O2 -pg
finish
