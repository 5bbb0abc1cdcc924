#!/bin/bash
# SPDX-License-Identifier: MIT
# A debugger sees whole stacks where functions are switched on.
. "$(dirname "$0")/tap.sh"
skip() { echo "1..0 # SKIP $1"; exit; }
[ "$(uname -m)" = x86_64 ] || skip "functions are not switched on this machine"
command -v gdb >/dev/null || skip "there is no gdb"
build=$(cd "$TT_BUILD" && pwd)
include=$PWD/include
cd "$tmp" || exit 1

cat >deep.c <<'END'
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tallytree-switch.h"
static volatile int sink;
static jmp_buf back;
__attribute__((noinline)) int wait_here(int n)
{
    char c;
    puts("here");
    fflush(stdout);
    sink += (int)read(0, &c, 1);
    return n;
}
__attribute__((noinline)) int jump(int n) { if (n) jump(n - 1); else longjmp(back, 1); return ++sink; }
__attribute__((noinline)) int again(int n) { sink += n ? again(n - 1) : wait_here(n); return sink; }
__attribute__((noinline)) int tail(int n) { sink++; return again(n); }
__attribute__((noinline)) int compare(const void *a, const void *b)
{
    static int done;
    (void)a, (void)b;
    if (!done++)
        sink += tail(3);
    return 0;
}
int main(int argc, char **argv)
{
    int list[2] = {1, 2};
    (void)argc;
    if (tt_start(argv[1]) != 0 || tt_functions_on("[wjatc]*", NULL) != 0)
        return 2;
    if (setjmp(back) == 0)
        jump(4);
    qsort(list, 2, sizeof *list, compare);
    return sink < 0;
}
END
gcc -g -O1 -foptimize-sibling-calls -fpatchable-function-entry=5 -I"$include" -o deep deep.c -L"$build" -Wl,-rpath,"$build" -ltallytree-switch

said_or_gone() { [ -s out ] || is_gone "$pid"; }
# stack MODE - function names, from the innermost; empty when gdb may not look.
stack()
{
    local pid
    rm -f fifo out
    mkfifo fifo
    ./deep "hooks=$1,output=deep.tt" <fifo >out &
    pid=$!
    exec 7>fifo
    patiently said_or_gone
    DEBUGINFOD_URLS='' timeout -k 5 500 gdb -nx -batch -p "$pid" -ex bt >bt 2>errors
    exec 7>&-
    wait "$pid"
    status=$?
    sed -n 's/^#[0-9]* *\(0x[0-9a-f]* in \)\{0,1\}\([a-z_]*\) (.*/\2/p' bt | grep -xE 'wait_here|again|tail|compare|jump|main|tallytree_thunk' | tr '\n' ' '
    return "$status"
}

[ -n "$(stack calls)" ] || skip "gdb may not look at processes here: $(tail -n 1 errors)"
thunk=tallytree_thunk
for mode in calls exact; do
    seen=$(stack $mode)
    try "the program goes on, $mode" test $? = 0
    # The innermost function was reached by a jump: its caller has left.
    try "gdb sees the whole stack, $mode" test "$seen" = \
        "wait_here $thunk again $thunk again $thunk again $thunk again $thunk compare $thunk main "
done
finish
