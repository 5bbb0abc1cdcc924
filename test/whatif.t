#!/bin/bash
# SPDX-License-Identifier: MIT
# `report whatif` beside programs that really are faster: simulated ones, and real ones.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree

try "of simulated programs that are sped up the true time is in 9 of 10 intervals" \
    test/whatif-sim.py "$tallytree" "$tmp" 0 "${TT_PROGRAMS:-100}"

# A recording: all that the only thread does is in main.
gcc -O1 -g -pthread -o "$tmp/guest" bench/whatif-guest.c
"$tallytree" record --wall -o "$tmp/serial.tt" "$tmp/guest" serial .5 cpu >"$tmp/out" 2>&1
half()
{
    "$tallytree" report whatif --block main --csv "$tmp/serial.tt" | python3 -c '
import csv, sys
rows = list(csv.DictReader(sys.stdin))
assert [float(r["speedup"]) for r in rows] == [.25, .5, .75, 1], rows
for r in rows:
    left, now = 1 - float(r["speedup"]), int(r["now"])
    print(r)
    assert abs(int(r["time"]) / now - left) < .1 and int(r["time_low"]) <= int(r["time"]) <= int(r["time_high"])
    assert abs(float(r["saved"]) + int(r["time"]) / now - 1) < 1e-6'
}
try "a run with one thread takes so much less as its main function does" half

# Two threads on one processor: 5 times 20 ms, and 60 of one thread with 90 of the block.  Half of
# those is 26 % of all.
taskset -c "$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')" "$tallytree" record --wall -o "$tmp/one.tt" "$tmp/guest" forks 1 cpu >"$tmp/out" 2>&1
one_processor()
{
    "$tallytree" report whatif --block block --speedup 50% "$tmp/one.tt" >"$tmp/out" &&
        grep -q "as if the threads have [01]\.[0-9] processors together" "$tmp/out" &&
        "$tallytree" report whatif --block block --speedup 50% --csv "$tmp/one.tt" | python3 -c '
import csv, sys
r = next(csv.DictReader(sys.stdin))
print(r)
assert abs(float(r["saved"]) - 45 / 170) < .12'
}
try "threads that share one processor share it in the estimate" one_processor
none_at_all()
{
    "$tallytree" report whatif --block run_threads --speedup 100% --csv "$tmp/serial.tt" 2>"$tmp/err"
    [ $? = 2 ] && grep -q run_threads "$tmp/err"
}
try "a block that did not run is refused" none_at_all
json() { "$tallytree" report whatif --block main --speedup .5 --json "$tmp/serial.tt" | python3 -c '
import json, sys
t = json.load(sys.stdin)
assert [c["key"] for c in t["columns"]] == ["speedup", "now", "time", "time_low", "time_high", "saved", "name"] and len(t["rows"]) == 1
assert t["remarks"][0]["kind"] in ("whatif", "whatif processors")'; }
try "JSON has the same columns" json

# wrong TEXT FLAGS... - is refused with this text
wrong()
{
    "$tallytree" report whatif "${@:2}" 2>"$tmp/err"
    [ $? = 2 ] && grep -qF -e "$1" "$tmp/err"
}
try "without a block it is refused" wrong "add 'block'" "$tmp/serial.tt"
for share in 0 0% 101% -1 nan half 50%% ''; do
    try "a speedup of '$share' is refused" wrong "'speedup' wants" --block main --speedup "$share" "$tmp/serial.tt"
done
try "so are filters" wrong "whole run" --block main --time 0s..1s "$tmp/serial.tt"
"$tallytree" record -o "$tmp/cpu.tt" "$tmp/guest" serial .2 cpu >"$tmp/out" 2>&1
try "a recording without waits names --wall" wrong "record --wall" --block main "$tmp/cpu.tt"
"$tallytree" replay --log none -o "$tmp/none.rec" <<<$'strand main\npush a\nsample 4000000\npop'
try "a recording without a log is refused" wrong "no samples by time" --block a "$tmp/none.rec"
finish
