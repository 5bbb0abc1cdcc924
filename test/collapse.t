#!/bin/bash
# SPDX-License-Identifier: MIT
# The work of --collapse, counted in instructions: a path of many different functions takes as
# much for each of them, however long it is.
. "$(dirname "$0")/tap.sh"
PATH=$(realpath "${TT_BUILD:-build}"):$PATH

# One path of N functions, and below it the first and the last of them.
path()
{
    awk -v n="$1" 'BEGIN { for (i = 1; i <= n; i++) s = s "f" i ";"; print s "f1 5"; print s "f" n " 7" }' >"$tmp/$1.folded"
}

instructions()
{
    path "$1" &&
        valgrind --tool=callgrind --callgrind-out-file=/dev/null tallytree report --csv --collapse '*' --limit 2 "$tmp/$1.folded" 2>&1 >"$tmp/$1.out" |
        sed -n 's/.*Collected : //p'
}

linear()
{
    local n m
    n=$(instructions 4000) && m=$(instructions 8000)
    echo "$n, then $m instructions"
    grep -q '^entry,.*,7,.*,f8000,' "$tmp/8000.out" && grep -q '^entry,.*,5,.*,f1,' "$tmp/8000.out" &&
        [ "$n" -gt 0 ] && [ "$m" -lt $((n * 5 / 2)) ]
}
what="a path twice as long takes twice as many instructions"
if command -v valgrind >/dev/null; then
    try "$what" linear
else
    skip "$what" "valgrind is not installed"
fi
finish
