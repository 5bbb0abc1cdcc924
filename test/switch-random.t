#!/bin/bash
# SPDX-License-Identifier: MIT
# Random calls, tail calls and jumps of functions that are switched on: each is counted, under
# every policy.
. "$(dirname "$0")/tap.sh"
[ "$(uname -m)" = x86_64 ] || { echo "1..0 # SKIP functions are not switched on this machine"; exit; }
build=$(cd "$TT_BUILD" && pwd)
tallytree=$build/tallytree
include=$PWD/include
cd "$tmp" || exit 1

cat >walk.c <<'END'
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include "tallytree-switch.h"

/* Functions f0 to f15: each calls some of the others, to a depth.  Odd ones end in a tail call, and
 * some catch jumps. */
enum { MANY = 16, CALLS = 30000 };
#define PLAIN __attribute__((patchable_function_entry(0), noinline))
typedef int function(unsigned depth);
static function *const all[MANY];
static unsigned long calls[MANY];
static unsigned seed, left;
static jmp_buf *catcher;
PLAIN static unsigned draw(void)
{
    seed = seed * 1664525 + 1013904223;
    return seed >> 10;
}
PLAIN static void some(unsigned self, unsigned depth)
{
    jmp_buf here, *outer = catcher;
    unsigned r = draw();
    calls[self]++;
    if (!left || !depth)
        return;
    left--;
    if (r % 7 == 0) {
        catcher = &here;
        if (setjmp(here) == 0)
            all[draw() % MANY](depth - 1);
        catcher = outer;
    }
    for (unsigned i = 0; i < r % 3; i++)
        all[draw() % MANY](depth - 1);
    if (r % 11 == 0 && catcher)
        longjmp(*catcher, 1);
}
#define WALKS(n)                                                                  \
    __attribute__((noinline)) int f##n(unsigned depth)                            \
    {                                                                             \
        some(n, depth);                                                           \
        return n % 2 && depth ? all[draw() % MANY](depth - 1) : n;                \
    }
WALKS(0) WALKS(1) WALKS(2) WALKS(3) WALKS(4) WALKS(5) WALKS(6) WALKS(7)
WALKS(8) WALKS(9) WALKS(10) WALKS(11) WALKS(12) WALKS(13) WALKS(14) WALKS(15)
static function *const all[MANY] = {f0, f1, f2, f3, f4, f5, f6, f7,
                                    f8, f9, f10, f11, f12, f13, f14, f15};

/* A handler calls some too; they are nobody's. */
__attribute__((noinline)) int handled(int n) { return n ? handled(n - 1) + 1 : 0; }
__attribute__((noinline)) int above(int n) { return handled(n); }
static int wrong, handlers;
static void handler(int signal) { wrong += above(signal % 5) != signal % 5; handlers++; }

int main(int argc, char **argv)
{
    struct itimerval often = {{0, 300}, {0, 300}};
    seed = (unsigned)atoi(argv[2]);
    if (tt_start(argv[1]) != 0 || tt_functions_on("[fha]*", NULL) != 0)
        return 2;
    if (argc > 3 && (signal(SIGALRM, handler) == SIG_ERR || setitimer(ITIMER_REAL, &often, NULL) != 0))
        return 3;
    for (left = CALLS; left;)
        all[draw() % MANY](12);
    if (argc > 3) {
        memset(&often, 0, sizeof often);
        setitimer(ITIMER_REAL, &often, NULL);
    }
    if (tt_stop() != 0 || wrong)
        return 4;
    for (int i = 0; i < MANY; i++)
        printf("f%d %lu\n", i, calls[i]);
    return 0;
}
END
gcc -O2 -fpatchable-function-entry=5 -I"$include" -o walk walk.c -L"$build" -Wl,-rpath,"$build" -ltallytree-switch

# counts FILE - calls by function.
counts()
{
    "$tallytree" symbolize -o named "$1" && "$tallytree" report flat -m calls --csv --limit all named |
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
                 $at["name"] ~ /^f[0-9]+$/ { print $at["name"], $at["self"] }' | sort -V
}

counted() { [ "$(wc -l <calls)" = 16 ] && counts walk.tt | cmp - calls; }

n=0
for policy in none edge block cycle recent:6; do
    for mode in calls exact; do
        n=$((n + 1))
        timeout -k 5 500 ./walk "hooks=$mode,recursion=$policy,output=walk.tt" $n >calls
        try "every call of walk $n is counted, $mode, $policy" counted
        timeout -k 5 500 ./walk "hooks=$mode,recursion=$policy,output=walk.tt" $n handlers >calls
        try "signal handlers may come in between" counted
    done
done
finish
