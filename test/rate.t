#!/bin/bash
# SPDX-License-Identifier: MIT
# A rate of samples that cannot be reached is said, with what to do; one that can is not.
# The oracle is the kernel's own word for how long its tick is.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
work=$tmp/work
mkdir "$work"

tick=$(python3 -c 'import time; print(round(1 / time.clock_getres(6)))') # CLOCK_MONOTONIC_COARSE
cat >"$work/burn.c" <<'END'
#include <stdlib.h>
#include <time.h>
static volatile unsigned long sink;
int main(int count, char **argument)
{
    double seconds = count > 1 ? atof(argument[1]) : 1;
    struct timespec t;
    do {
        for (int i = 0; i < 100000; i++)
            sink += (unsigned long)i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while ((double)t.tv_sec + (double)t.tv_nsec * 1e-9 < seconds);
    return 0;
}
END
cat >"$work/scopes.c" <<'END'
#include <tallytree.h>
#define main burn
#include "burn.c"
#undef main
int main(int count, char **argument)
{
    (void)count;
    tt_start(argument[1]);
    {
        TT_SCOPE("work");
        burn(1, argument);
    }
    return tt_stop();
}
END
cc -O1 -o "$work/burn" "$work/burn.c"
cc -O1 -Iinclude -I"$TT_BUILD" -o "$work/scopes" "$work/scopes.c" -L"$TT_BUILD" -ltallytree -Wl,-rpath,"$TT_BUILD"

# said PROFILE - what its header says of the rate.
said()
{
    "$tallytree" report header --csv "$1" | awk -F, '$4 == "rate"'
}

# recorded HZ SECONDS - in a.tt, from within, as allocations are only seen there.
recorded()
{
    "$tallytree" record --heap --sampled="$1" -o "$work/a.tt" "$work/burn" "$2" 2>"$work/err"
}

too_fast()
{
    recorded $((tick * 16)) 1 && said "$work/a.tt" &&
        said "$work/a.tt" | grep "$((tick * 16)) Hz was asked for, and at most $tick Hz was reached" &&
        said "$work/a.tt" | grep -e "--kernel takes" &&
        grep "$((tick * 16)) Hz was asked for, and at most $tick Hz" "$work/err" &&
        "$tallytree" report flat "$work/a.tt" | grep "^rate .*$tick Hz"
}
try "a rate beyond the system's ticks is said, in the header and in the terminal" too_fast

# quiet HZ SECONDS - nothing is said of the rate.
quiet()
{
    recorded "$1" "$2" && [ -z "$(said "$work/a.tt")" ] && ! grep "asked for" "$work/err"
}
try "a rate that the ticks allow is not" quiet $((tick / 2)) 0.5
try "nor one that a program is too short for" quiet $((tick * 16)) 0

busy()
{
    local i pids=()
    for i in 1 2 3 4; do "$work/burn" 60 & pids+=($!); done
    quiet "$tick" 0.3
    i=$?
    kill "${pids[@]}"
    return $i
}
try "nor where other programs have the processors" busy

linked()
{
    (cd "$work" && ./scopes "sampled=$1,output=s.tt${2:-}") && said "$work/s.tt"
}
beyond() { linked $((tick * 16)) | grep "at most $tick Hz was reached.*sampler=thread"; }
try "it is said of linked scopes, too" beyond
by_thread() { [ -z "$(linked $((tick * 16)) ,sampler=thread)" ]; }
try "and not where a thread takes the samples" by_thread

outside()
{
    "$tallytree" record --kernel --sampled=$((tick * 4)) -o "$work/o.tt" "$work/burn" 1 2>"$work/err" ||
        { cat "$work/err"; return 1; }
    [ -z "$(said "$work/o.tt")" ] && sed -n 's/.*: \([0-9]*\) samples.*/\1/p' "$work/err" |
        awk -v tick="$tick" '{ print } $1 > 2 * tick { more = 1 } END { exit !more }'
}
if "$tallytree" record --kernel -o "$work/o.tt" true 2>"$work/err"; then
    try "what the message advises reaches the rate" outside
else
    skip "what the message advises reaches the rate" "$(tail -n 1 "$work/err")"
fi
# ── No sample at all ─────────────────────────────────────────────────────────────────
# A process that has slept: what to do is said, but not of what a filter has left.
nothing()
{
    "$tallytree" record --sampled=1 -o "$work/n.tt" sleep 0.01 2>"$work/err" || return
    samples=$("$tallytree" report header --csv "$work/n.tt" | awk -F, '$5 == "samples" { print $NF }')
    [ "${samples:-0}" = 0 ] || { echo "$samples samples, by chance"; return; }
    "$tallytree" report "$work/n.tt" | grep "no sample was taken.*--sampled=HZ.*--wall"
}
try "where there is no sample the report says what to do" nothing
filtered()
{
    "$tallytree" report --exclude '*' "$work/a.tt" >"$work/out" && ! grep "no sample was taken" "$work/out"
}
try "but not where a filter leaves none" filtered

finish
