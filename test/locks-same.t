#!/bin/bash
# SPDX-License-Identifier: MIT
# With --locks a program does what it does without: all kinds of locks, with signals, threads that
# are cancelled or die with a lock, jumps out of a wait, forks, and code that is unloaded.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
stress=$TT_BUILD/test/locks-stress
plugin=$TT_BUILD/test/locks-plugin.so
runs=${TT_RUNS:-$(for_long 2 5)}

"$stress" "$plugin" >"$tmp/alone"
alone=$?

# same FLAGS... - so many times
same()
{
    local i
    for ((i = 0; i < runs; i++)); do
        timeout -k 5 500 "$tallytree" record --force --locks "$@" -o "$tmp/tt" "$stress" "$plugin" >"$tmp/out" 2>"$tmp/err"
        [ $? = $alone ] && cmp "$tmp/alone" "$tmp/out" || { echo "run $i"; cat "$tmp/out" "$tmp/err"; return 1; }
    done
}

try "alone it ends well" [ $alone = 7 ]
try "with --locks its output and its status are the same" same
try "so they are when threads that wait are sampled too" same --wall
try "and in little memory" same --budget 256K
kinds()
{
    local kind
    "$tallytree" record --force --locks -o "$tmp/tt" "$stress" "$plugin" >"$tmp/out" 2>"$tmp/err"
    "$tallytree" report flat --limit all --metric delay "$tmp/tt" >"$tmp/flat"
    "$tallytree" report flat --limit all --metric "wait time" "$tmp/tt" >>"$tmp/flat"
    for kind in mutex 'end of'; do
        grep -qF "[waits: $kind]" "$tmp/flat" || { echo "no $kind"; cat "$tmp/flat"; return 1; }
    done
}
try "and what they waited for is recorded" kinds
finish
