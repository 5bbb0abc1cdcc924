#!/bin/bash
# SPDX-License-Identifier: MIT
# `report bursts` finds planted bursts in an event trace and in a real program, and no others.
. "$(dirname "$0")/tap.sh"

tallytree=$TT_BUILD/tallytree

# A minute at 250 Hz: main > work > one of a to e.  From 30 s to 30.5 s c has 60 %, else 20 %;
# b has one of two callers, and calls itself.
cat >"$tmp/minute.py" <<'END'
import random, sys
r = random.Random(1)
planted = sys.argv[1] == "planted"
print("strand main\npush main\npush work")
for i in range(15000):
    shares = [10, 10, 60, 10, 10] if planted and 7500 <= i < 7625 else [20] * 5
    block = r.choices("abcde", shares)[0]
    path = {"b": [r.choice(["x", "y"]), "b", "b"]}.get(block, [block])
    print("\n".join("push " + p for p in path) + "\nsample 4000000" + "\npop" * len(path))
print("pop\npop")
END
for kind in planted nothing; do
    python3 "$tmp/minute.py" $kind | "$tallytree" replay -o "$tmp/$kind.rec"
done

# entries FILE FLAGS... - name, from and to in ms, more by and its error in per cent
entries() { "$tallytree" report bursts --csv "$@" | python3 -c '
import csv, sys
for r in csv.DictReader(sys.stdin):
    if r["role"] == "entry":
        assert int(r["length"]) == int(r["to"]) - int(r["from"])
        print(r["name"], int(r["from"]) // 10**6, int(r["to"]) // 10**6,
              round(100 * float(r["more"])), round(100 * float(r["more_error"])))'; }

near() { [ $((${1:-0} - $2)) -ge -"$3" ] && [ $((${1:-0} - $2)) -le "$3" ] || { echo "# $1, not $2"; false; }; }
has() { grep -q "$2" <<<"$1"; }

read -r name from to more error <<<"$(entries --limit 1 "$tmp/planted.rec")"
equal "the planted block has more in its burst" "$name" c
try "which begins when it began" near "$from" 30000 200
try "and ends when it ended" near "$to" 30500 200
try "the change is what was planted, within its interval" near "$more" 40 "$error"
try "and the interval is that of 125 samples" near "$error" 9 2
equal "JSON has the same burst" "$("$tallytree" report bursts --json --limit 1 "$tmp/planted.rec" | python3 -c '
import json, sys
t = json.load(sys.stdin)
row = dict(zip((c["key"] for c in t["columns"]), t["rows"][0]["values"]))
print(row["name"], row["from"] // 10**6, row["to"] // 10**6)')" "$name $from $to"
equal "the range of the burst has its share" \
    "$("$tallytree" report flat --csv --time "${from}ms..$((to + 1))ms" "$tmp/planted.rec" | python3 -c '
import csv, sys
print(*(0.5 < float(r["self_share"]) < 0.7 for r in csv.DictReader(sys.stdin) if r["name"] == "c"))')" True
try "where nothing changes a note says that there is none" has "$("$tallytree" report bursts "$tmp/nothing.rec")" "bursts: none; in 15000 samples"
equal "before the burst there is none" "$(entries --time ..29s "$tmp/planted.rec")" ""
equal "in a range, times are those of the run" "$(entries --limit 1 --time 20s..40s "$tmp/planted.rec" | cut -d' ' -f1-3)" "$name $from $to"
# A range, or what is left beside one, may begin in the midst of the burst.
for range in 30.16s..34s not:29s..30.16s; do
    read -r name from to _ <<<"$(entries --limit 1 --time $range "$tmp/planted.rec")"
    equal "a burst that has begun before $range has its name" "$name" c
    try "and begins with what is shown" near "$from" 30160 4
    try "and ends when it ended" near "$to" 30500 200
done
"$tallytree" merge -o "$tmp/planted.tt" "$tmp/planted.rec"
equal "a merged profile has the same bursts" "$(entries "$tmp/planted.tt")" "$(entries "$tmp/planted.rec")"

"$tallytree" report bursts --sort from "$tmp/planted.rec" >/dev/null 2>"$tmp/err"
equal "another order is refused" "$? $(grep -c "the view 'bursts' has no 'sort'" "$tmp/err")" "2 1"
"$tallytree" replay --log none -o "$tmp/none.rec" <<<$'strand main\npush a\nsample 4000000\npop'
"$tallytree" report bursts "$tmp/none.rec" >/dev/null 2>"$tmp/err"
equal "a recording without a log is refused" "$? $(grep -c 'no samples by time' "$tmp/err")" "2 1"
"$tallytree" replay -o "$tmp/few.rec" <<<$'strand main\npush a\nsample 4000000\npop'
try "of few samples a note says how many it takes" has "$("$tallytree" report bursts "$tmp/few.rec")" "1 samples by time are too few; 100 are needed"

# A real program: two loops take turns, and once another one runs.
cat >"$tmp/turns.c" <<'END'
#include <time.h>
static volatile long sink;
static double used(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
#define LOOP(name) \
    __attribute__((noinline)) void name(double seconds) \
    { \
        const double end = used() + seconds; \
        while (used() < end) \
            for (int i = 0; i < 100000; i++) \
                sink += i; \
    }
LOOP(parse)
LOOP(eval)
LOOP(collect)
int main(void)
{
    unsigned x = 1;
    int done = 0;
    while (used() < 4) {
        x = x * 1103515245u + 12345u;
        parse(1e-3 * (1 + (x >> 16) % 30));
        eval(1e-3 * (1 + (x >> 20) % 30));
        if (!done && used() > 2) {
            collect(0.4);
            done = 1;
        }
    }
    return 0;
}
END
gcc -O1 -o "$tmp/turns" "$tmp/turns.c" && "$tallytree" record -o "$tmp/turns.tt" -- "$tmp/turns" 2>/dev/null
read -r name from to _ <<<"$(entries --limit 1 "$tmp/turns.tt")"
equal "what a program does once is found among loops that take turns" "$name" collect
self() { "$tallytree" report flat --csv "$@" "$tmp/turns.tt" | python3 -c '
import csv, sys
print(sum(int(r["inclusive"]) for r in csv.DictReader(sys.stdin) if r["name"] == "collect") // 10**6)'; }
most() { [ $((${1:-0} * 10)) -ge $((9 * $2)) ] && [ "$2" -gt 0 ] || { echo "# $1 of $2"; false; }; }
try "and nearly all of it lies between the edges" most "$(self --time "${from:-0}ms..$((${to:-0} + 1))ms")" "$(self)"
finish
