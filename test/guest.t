#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that are hard on guests do under record what they do alone.  RUNS=N, THREADS=N: so many.
. "$(dirname "$0")/tap.sh"
guest=$TT_BUILD/test/guest
plugin=$TT_BUILD/test/libguest-plugin.so

# fact NAME - of the header.
fact()
{
    "$TT_BUILD/tallytree" report header --csv "$tmp/tt" | awk -F, -v f="$1" '$4 == f { print $NF; exit }'
}

# same ARGS... - the same output, messages and status; and a profile.
same()
{
    local bare recorded
    timeout -k 5 500 "$guest" "$@" >"$tmp/bare.out" 2>"$tmp/bare.err" </dev/null
    bare=$?
    timeout -k 5 500 "$TT_BUILD/tallytree" record -o "$tmp/tt" "$guest" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    recorded=$?
    unskipped "$tmp/err"
    tail -n 1 "$tmp/err"
    [ "$bare" = "$recorded" ] || { echo "status $recorded, not $bare"; cat "$tmp/err"; return 1; }
    cmp "$tmp/bare.out" "$tmp/out" || return
    sed '$d' "$tmp/err" | cmp "$tmp/bare.err" - || return
    [ "$(fact stacks.broken)" -le "${broken:-0}" ] || { fact stacks.broken; return 1; }
}

# shows FUNCTION... - all of them have cost something.
shows()
{
    local function
    for function; do
        "$TT_BUILD/tallytree" report flat --limit all --csv "$tmp/tt" | grep -q ",$function," ||
            { echo "no $function"; return 1; }
    done
}

# Within twice the interval that is printed: one run in ten thousand may miss it.
truth()
{
    same truth "$(for_long 2000 4000)" && "$TT_BUILD/tallytree" report flat --limit all --csv "$tmp/tt" | awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
        $(column["name"]) == "part_a" { share = $(column["inclusive_share"]); error = $(column["inclusive_error"]) }
        END { print share, "+-", error; exit !(share > .4 - 2 * error && share < .4 + 2 * error && error < .25) }'
}
try "shares are what they are" truth
try "thousands of short threads" same threads "${THREADS:-$(for_long 1000 3000)}"
try "and their strands are whole" shows short_thread burn_ns
named()
{
    "$TT_BUILD/tallytree" report strands --csv "$tmp/tt" | grep -q busy
}
try "a thread that named itself late has its name" named
try "a storm of signals" same storm
broken=20 try "a library that comes and goes hundreds of times" same plugins "$plugin" "$(for_long 300 1000)"
try "SIGPROF, its timer, and every other signal are the program's own" same timers
try "signals that are blocked and waited for" same masks
try "a sample is taken where all signals are blocked" shows run_masks burn_ns
try "no call is cut short" same sleep
try "descriptors are numbered as ever, and may all be closed" same files
try "small stacks, other stacks, longjmp" same stacks
try "frames on a coroutine's stack are seen" shows coroutine need_stack
nothing_unseen() { [ "$(fact threads.unseen)" = 0 ] || fact threads.unseen; }
none "no thread goes unseen" nothing_unseen
try "a thread that no library made" same clone
unseen()
{
    [ "$(fact threads.unseen)" -gt 20000000 ] &&
        "$TT_BUILD/tallytree" report flat "$tmp/tt" | grep -E "^unsampled +[0-9.]+ (ms|s) of CPU time, in threads without a sample$"
}
try "is not sampled, and the header says so" unseen
try "children of all kinds" same children

# often FLAGS... - each of so many runs ends, and has done what it does.
often()
{
    local i
    for i in $(seq "${RUNS:-$(for_long 2 4)}"); do
        timeout -k 5 500 "$TT_BUILD/tallytree" record --sampled=2000 "$@" -o "$tmp/tt" \
            "$guest" mixed "$plugin" 1 >"$tmp/out" 2>"$tmp/err" &&
            grep -qx mixed "$tmp/out" || { echo "run $i: status $?"; cat "$tmp/err"; return 1; }
    done
}
try "malloc, plug-ins, jumps, forks, signals and ends of threads: no deadlock" often
try "nor where those that wait are looked at" often --wall
if "$TT_BUILD/tallytree" record -o "$tmp/tt" --counter page-faults true 2>/dev/null; then
    try "nor from outside" often --counter page-faults
else
    skip "nor from outside" "not permitted"
fi
finish
