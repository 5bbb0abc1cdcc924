#!/bin/bash
# SPDX-License-Identifier: MIT
# Python programs that are hard on their interpreter end as they do alone, whatever is recorded.
# TT_SECONDS=N goes on for so long, with one Python after the other; each run is between runs alone.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/pythons.sh"
tallytree=$TT_BUILD/tallytree
ulimit -c 0
mapfile -t all < <(pythons)
collectors=("--locks --sampled=10000" "--wall --sampled=1000" "" "--heap --sampled=4000" "--lines --sampled=10000" "--wall --locks --budget 256K")

# once COMMAND... - does what it does: all kinds of work, a status, and no message.
once()
{
    local status
    timeout -k 5 500 "$@" -W ignore::DeprecationWarning test/python-stress.py "${TT_SLICE:-1}" >"$tmp/out" 2>"$tmp/err"
    status=$?
    ((runs++))
    [ $status = 7 ] && [ "$(wc -w <"$tmp/out")" = 13 ] && [ "$(wc -l <"$tmp/out")" = 1 ] && ! grep -v '^tallytree: ' "$tmp/err" && return
    echo "run $runs: status $status: $*"
    cat "$tmp/out" "$tmp/err"
    return 1
}
# Says how many failed of either kind, and how many samples had functions without a place.
both()
{
    local least runs=0 alone=0 recorded=0 samples=0 lost=0 round=0 version python end=$((SECONDS + ${TT_SECONDS:-0})) failed=
    least=$(for_long 1 ${#collectors[@]})
    while
        read -r version python <<<"${all[round % ${#all[@]}]}"
        collector=${collectors[round % ${#collectors[@]}]}
        once "$python" || ((alone++))
        # shellcheck disable=SC2086 # they are several words
        if once "$tallytree" record --force $collector -o "$tmp/tt" -- "$python"; then
            samples=$((samples + $(header stacks.interpreted))) lost=$((lost + $(header stacks.unplaced)))
        else
            ((recorded++))
            failed+=" $version $collector;"
        fi
        ((round++))
        [ $SECONDS -lt $end ] || [ $round -lt "$least" ]
    do :; done
    echo "# $runs runs: failed alone $alone, recorded $recorded;$failed $lost of $samples stacks without a place" | tee "$tmp/said"
    [ $recorded = 0 ] && [ $alone = 0 ]
}
if [ ${#all[@]} = 0 ]; then
    skip "programs that are hard on Python do what they do alone" "there is no Python from 3.8 on"
else
    try "programs that are hard on Python do what they do alone" both
    cat "$tmp/said"
fi
finish
