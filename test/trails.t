#!/bin/bash
# SPDX-License-Identifier: MIT
# Addresses of recorded programs are kept by every recorder, add up to the figures of functions,
# and are where addr2line says.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
work=$tmp/work
mkdir "$work"

cat >"$work/hot.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <signal.h>
#include <sys/wait.h>
static inline __attribute__((always_inline)) unsigned mix(unsigned x)
{
    x ^= x << 13;
    x ^= x >> 17;
    return x ^ x << 5;
}
__attribute__((noinline)) unsigned deep(unsigned n, unsigned s)
{
    unsigned v[8];
    for (unsigned i = 0; i < 8; i++)
        v[i] = s = mix(s + i);
    if (!n)
        return s;
    return s & 64 ? deep(n - 1, s ^ v[s & 7]) + v[n & 7] : deep(n - 1, s + 1) ^ v[s & 7];
}
__attribute__((noinline)) unsigned shallow(unsigned n)
{
    char *p = NULL;
    unsigned s = 0;
    for (unsigned i = 0; i < n; i++) {
        s += mix(i);
        p = realloc(p, 16 + (s & 255));
        memset(p, (int)s, 16);
    }
    free(p);
    return s;
}
int main(int argc, char **argv)
{
    unsigned s = 0;
    long times = argc > 1 ? atol(argv[1]) : 60;
    if (argc > 2 && fork() == 0)
        for (;;) {
            s += deep(s & 31, s) + shallow(1000);
            if (argc > 3 && times-- < 0)
                raise(SIGKILL);
        }
    for (long i = 0; i < times; i++) {
        for (unsigned k = 0; k < 3000; k++)
            s += deep(k & 31, k);
        s += shallow(60000);
    }
    if (argc > 3)
        wait(NULL);
    return s == 1;
}
END
gcc -O2 -g -o "$work/hot" "$work/hot.c" || exit

# recorded NAME ARGS... - records; the profile is $work/NAME.tt.
recorded()
{
    local name=$1
    shift
    "$tallytree" record -o "$work/$name.tt" "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null
}

# looked NAME CHECK... - holds when these checks of trails.py do.
looked()
{
    local name=$1
    shift
    cat "$work/$name.err"
    python3 test/trails.py "$work/$name.tt" "$@"
}

recorded timer -- "$work/hot" && try "by timers: addresses add up to functions" looked timer some sums
try "functions and lines of addresses are addr2line's" looked timer lines
recorded lines --lines -- "$work/hot" && try "with --lines: the same" looked lines some sums lines
recorded wall --wall -- sh -c "'$work/hot' 20; sleep 0.1" && try "with --wall: the same" looked wall some sums
recorded heap --heap -- "$work/hot" 2 && try "with --heap: of bytes and objects" looked heap some sums lines
recorded child -- "$work/hot" 60 fork kill && try "of a child that was killed: the same" looked child some sums
recorded small --budget 128K --sampled=1000 -- "$work/hot" 150 && try "evicted contexts leave their addresses to their functions" looked small some sums

evicted() { "$tallytree" report header --csv "$work/small.tt" | grep -q '^[^,]*,[^,]*,[^,]*,evict'; }
evicted || skip "contexts were evicted there" "there were too few samples"

if recorded outside --kernel -- "$work/hot"; then
    try "by perf events: the same" looked outside some sums lines
    "$work/hot" 100000 &
    pid=$!
    recorded running --duration 1 -p $pid
    kill $pid
    wait $pid 2>/dev/null
    try "of a process that runs: the same" looked running some sums lines
else
    skip "by perf events: the same" "$(tail -n 1 "$work/outside.err")"
    skip "of a process that runs: the same" "there are no perf events"
fi

merged()
{
    "$tallytree" merge -o "$work/one.tt" "$work/timer.tt" "$work/heap.tt" "$work/child.tt" &&
        "$tallytree" merge -o "$work/two.tt" "$work/child.tt" "$work/timer.tt" &&
        "$tallytree" merge -o "$work/other.tt" "$work/heap.tt" "$work/two.tt" &&
        cmp "$work/one.tt" "$work/other.tt" && python3 test/trails.py "$work/one.tt" some sums
}
try "merged in another order and grouping the file is the same" merged

# Calls of hooks are at the first instruction of their function: as many as the program makes.
cat >"$work/hooked.c" <<'END'
__attribute__((noinline)) int leaf(int x) { return x * 3; }
int main(void)
{
    int s = 0;
    for (int i = 0; i < 1000; i++)
        s += leaf(i);
    return s == 1;
}
END
gcc -O1 -g -finstrument-functions -o "$work/hooked" "$work/hooked.c" || exit
calls_at()
{
    recorded hooked --calls -- "$work/hooked"
    python3 - "$work/hooked.tt" "$(nm "$work/hooked" | awk '$3 == "leaf" { print $1 }')" <<'END'
import sys
sys.argv, address = [sys.argv[0], sys.argv[1]], int(sys.argv[2], 16)
sys.path.insert(0, "test")
from trails import Profile
p = Profile(sys.argv[1])
got = sum(e[3] for e in p.entry if p.has_address(e[2]) and p.place[p.trail[e[2]][2]][2] == address
          and p.text(p.metric[e[1]][0]) == "calls")
assert got == 1000, got
END
}
try "calls of hooks are at the first instruction of their function" calls_at
finish
