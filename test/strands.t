#!/bin/bash
# SPDX-License-Identifier: MIT
# `report strands` over processes and ranks: sums, outliers, waits between ranks.
. "$(dirname "$0")/tap.sh"

tallytree=$TT_BUILD/tallytree

# fields FILE FLAGS... KEY,KEY - of the entries, a line each
fields()
{
    local file=$1 keys=${*: -1}
    set -- "${@:2:$#-2}"
    "$tallytree" report strands --csv "$@" "$file" | awk -F, -v keys="$keys" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = split(keys, key, ",") }
        $1 == "entry" { for (i = 1; i <= n; i++) printf "%s%s", $at[key[i]], i < n ? " " : "\n" }'
}

# Nine strands, one of which takes ten times as long.
for i in 1 2 3 4 5 6 7 8 9; do
    printf 'strand t%d\npush f\ntick %d\npop\n' $i $((100 + i + (i == 4) * 900))
done | "$tallytree" replay -o "$tmp/nine.rec"
equal "a stray is far away, in deviations of the middle half" \
    "$(fields "$tmp/nine.rec" name,away | sed -n 1p)" \
    "t4 $(python3 -c '
import statistics as s
x = [100 + i + (i == 4) * 900 for i in range(1, 10)] + [0]
m = s.median(x); d = s.median(abs(v - m) for v in x) * 1.4826
print("%.15g" % ((1004 - m) / d))')"
equal "and a note says so" "$("$tallytree" report strands "$tmp/nine.rec" | grep -c '^outliers: 2; t4 is .* above the median')" 1
for i in 1 2 3; do printf 'strand t%d\npush f\ntick 100\npop\n' $i; done | "$tallytree" replay -o "$tmp/equal.rec"
equal "equal ones are not" "$("$tallytree" report strands "$tmp/equal.rec" | grep -c '^outliers')" 0

# Two processes with three strands each.
for p in 1 2; do
    for i in 1 2 3; do printf 'strand t%d\npush f\ntick %d\npop\n' $i $((p * 10 + i)); done |
        "$tallytree" replay -o "$tmp/process$p.rec"
done
"$tallytree" merge -o "$tmp/both" "$tmp"/process?.rec
equal "strands of a process add up" "$(fields "$tmp/both" --by rank self,calls | tr '\n' ' ')" "66 3 36 3 "
equal "and how a context spreads over processes, whose threads are one" \
    "$(fields "$tmp/both" --by rank-context name,imbalance,spread_min,spread_max,strands | sed -n 's/^f //p')" \
    "$(python3 -c 'print("%.15g" % (66 / 51 - 1), 36, 66, 2)')"
equal "and over all threads" "$(fields "$tmp/both" --by context name,spread_max,strands | sed -n "s/^f //p")" "23 6"

# Waits, as the MPI library notes them.
{
    printf 'block r0 module=mpi.peer\nblock r1 module=mpi.peer\n'
    for i in 1 2; do
        printf 'strand t%d\npush MPI_Recv\n' $i
        printf 'push r0\ncount waited %d\npop\n' $((i * 5)) $((i * 7))
        printf 'push r1\ncount waited 3\npop\npop\n'
    done
} | "$tallytree" replay -o "$tmp/waits.rec"
equal "who is waited for, and how often" "$(fields "$tmp/waits.rec" --by wait name,waited_for,self,calls | tr '\n' ';')" \
    "all for r0 r0 36 4;all for r1 r1 6 2;"
try "where nobody waited that is said" sh -c "! '$tallytree' report strands --by wait '$tmp/nine.rec' 2>'$tmp/err' &&
    grep -q 'the profile has no waits' '$tmp/err'"
finish
