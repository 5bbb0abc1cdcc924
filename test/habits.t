#!/bin/bash
# SPDX-License-Identifier: MIT
# Options that users of perf, py-spy and pprof know work in the same way.
. "$(dirname "$0")/tap.sh"
PATH=$(realpath "${TT_BUILD:-build}"):$PATH
cat >"$tmp/burn.c" <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sink;
static inline __attribute__((always_inline)) void inner(void)
{
    for (int i = 0; i < 100000; i++)
        sink += (unsigned long)i;
}
__attribute__((noinline)) static void outer(double seconds)
{
    struct timespec t;
    do {
        inner();
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while ((double)t.tv_sec + (double)t.tv_nsec * 1e-9 < seconds);
}
int main(int count, char **argument)
{
    double seconds = atof(argument[1]);
    for (int i = 2; i < count; i++)
        if (fork() == 0) {
            prctl(PR_SET_NAME, argument[i]);
            outer(seconds);
            _exit(0);
        }
    outer(seconds);
    while (wait(NULL) > 0)
        ;
    return 0;
}
END
cc -O2 -g -o "$tmp/burn" "$tmp/burn.c" || exit
mkdir "$tmp/here"
cd "$tmp/here" || exit
perf_allowed=
tallytree record --kernel -o "$tmp/k.tt" true 2>"$tmp/denied" && perf_allowed=1
# where_perf WHAT COMMAND... - a test where perf events are allowed.
where_perf()
{
    if [ "$perf_allowed" ]; then try "$@"; else skip "$1" "$(tail -n 1 "$tmp/denied")"; fi
}

fact() { tallytree report header --csv "$1" | sed -n "s/^entry,[^,]*,[^,]*,$2,//p"; }
# selves FILE - the names of functions that have self time.
selves() { tallytree export --to folded "$1" | sed 's/ [0-9]*$//; s/.*;//' | sort -u; }

# ── Values behind a blank ────────────────────────────────────────────────────────────
blank()
{
    tallytree record --sampled 99 -o "$tmp/a.tt" ../burn 0.05 2>err && fact "$tmp/a.tt" modes | grep "native sampled at 99 Hz"
}
try "the value of a flag that may lack it stands behind a blank too" blank
heap() { tallytree record --heap 512K -o "$tmp/h.tt" true 2>err && fact "$tmp/h.tt" program | grep true; }
try "so does one of bytes" heap
word() { tallytree report --color always "$tmp/a.tt" | grep $'\033'; }
try "so does a word" word
operand() { tallytree report --color "$tmp/a.tt" >out && grep "total" out; }
try "what is no value of the flag stays an operand" operand

# ── Recordings that have no name ─────────────────────────────────────────────────────
newest()
{
    tallytree record ../burn 0.05 2>err && ls tallytree.burn.*.tt || return
    tallytree report >out 2>said && grep "the newest profile here is tallytree.burn.*\.tt" said && grep "^program *burn" out || return
    cp "$tmp/a.tt" later.tt && touch -d tomorrow later.tt
    tallytree report flat 2>said >out && grep "is later.tt" said
}
try "a recording without a name ends in .tt, and report alone takes the newest" newest
none_here()
{
    mkdir -p empty && (cd empty && ! tallytree report 2>../said) && grep "no file \*.tt in this folder" said
}
try "where there is none the message says what makes one" none_here

# ── Inlined functions ────────────────────────────────────────────────────────────────
inlines()
{
    tallytree record -F 200 -o in.tt ../burn 0.3 2>err && selves in.tt | grep -x inner || return
    tallytree record -F 200 --no-inlines -o no.tt ../burn 0.3 2>err && selves no.tt | grep -x outer && ! selves no.tt | grep -x inner
}
try "--no-inlines charges inlined functions to their callers" inlines

# ── More often than the system ticks ─────────────────────────────────────────────────
tick=$(python3 -c 'import time; print(round(1 / time.clock_getres(6)))') # CLOCK_MONOTONIC_COARSE
fast()
{
    tallytree record -F $((tick * 4)) -o f.tt ../burn 0.5 2>err && fact f.tt source | grep "perf events.*more than the system's ticks" || return
    fact f.tt modes | grep " $((tick * 4)) Hz" || return
    [ -z "$(fact f.tt rate)" ] || return
    # So many ticks are in half a second of CPU time: more samples were taken than twice that.
    sed -n 's/.*: \([0-9]*\) samples.*/\1/p' err | awk -v tick="$tick" '{ print } $1 > tick { more = 1 } END { exit !more }'
}
where_perf "a rate beyond the ticks is reached by perf events, and the header says so" fast
slow() { tallytree record -F $((tick / 4)) -o s.tt ../burn 0.05 2>err && ! fact s.tt source | grep "perf events"; }
try "one that the ticks allow is taken from within" slow

# ── perf's other flags ───────────────────────────────────────────────────────────────
kernel()
{
    tallytree record --all-kernel -F 500 -o ak.tt dd if=/dev/zero of=/dev/null bs=1M count=2000 2>err || return
    fact ak.tt source | grep "the kernel alone" || return
    # The module of each sample's function, by its identity in JSON.
    tallytree report flat --limit all --json ak.tt >ak.json && python3 - <<'PY'
import json
table = json.load(open('ak.json'))
keys = [c['key'] for c in table['columns']]
rows = [dict(zip(keys, r['values'])) for r in table['rows'] if r['role'] == 'entry']
own = {r['name']: (r['self'], r['module']) for r in rows if r['self']}
print(own)
assert own and not [n for n, (s, module) in own.items() if module.startswith('/')]
PY
}
where_perf "--all-kernel takes samples in the kernel alone" kernel
user()
{
    tallytree record --all-user -F 500 -o au.tt dd if=/dev/zero of=/dev/null bs=1M count=500 2>err && fact au.tt source | grep "no time in the kernel"
}
where_perf "--all-user takes none there" user

# ── Several processes ────────────────────────────────────────────────────────────────
strands() { tallytree report strands --limit all --csv "$1" >strands.csv && cat strands.csv; }
# two PIDS-FLAGS... - records two processes for a second by these flags; @A and @B are their ids.
two()
{
    local a b status
    ../burn 60 & a=$!
    ../burn 60 & b=$!
    # shellcheck disable=SC2046 # they are several words
    tallytree record -F 200 --duration 1 -o l.tt $(sed "s/@A/$a/; s/@B/$b/" <<<"$*") 2>err
    status=$?
    kill $a $b
    [ $status = 0 ] || { cat err; return 1; }
    strands l.tt
    [ "$(grep -c ^entry strands.csv)" = 2 ] && grep ",$a," strands.csv && grep ",$b," strands.csv
}
where_perf "-p A,B records both" two -p @A,@B
where_perf "so does -p A -p B" two -p @A -p @B
family()
{
    local parent child children status
    ../burn 60 one two & parent=$!
    # shellcheck disable=SC2317 # called by patiently
    made() { [ "$(wc -w <"/proc/$parent/task/$parent/children")" = 2 ]; }
    patiently made || return
    children=$(cat /proc/$parent/task/$parent/children)
    tallytree record -F 200 --duration 1 -o c.tt -p $parent 2>err
    status=$?
    # shellcheck disable=SC2086
    kill $parent $children
    [ $status = 0 ] || { cat err; return 1; }
    strands c.tt
    for child in $parent $children; do
        grep -q ",$child," strands.csv || { echo "no $child"; return 1; }
    done
}
if [ -r /proc/$$/task/$$/children ]; then
    where_perf "-p of a parent records the children that it has" family
else
    skip "-p of a parent records the children that it has" "this system does not say which children a process has"
fi
ends()
{
    local a b recorder
    ../burn 60 & a=$!
    ../burn 60 & b=$!
    tallytree record -o e.tt -p $a,$b 2>err & recorder=$!
    # shellcheck disable=SC2317 # called by patiently
    watches() { readlink /proc/"$recorder"/fd/* 2>/dev/null | grep pidfd || ! kill -0 "$recorder" 2>/dev/null; }
    patiently watches || { kill $a $b $recorder; return 1; }
    kill $a
    sleep 0.5
    kill -0 $recorder || { kill $b; cat err; return 1; }
    kill $b
    reap $recorder || { cat err; return 1; }
}
where_perf "the recording ends with the last of them" ends
nobody() { tallytree record -p $$,999999999 2>err; [ $? = 125 ] && grep 999999999 err; }
try "one that is not there is refused by its number" nobody

# ── Help ─────────────────────────────────────────────────────────────────────────────
all_options()
{
    local flag
    tallytree report --help >page
    for flag in by context to sequence rings uncovered file series centre view select sort; do
        grep -q -e "--$flag" page || { echo "no --$flag"; return 1; }
    done
}
try "report --help lists the flags of the views too" all_options
finish
