#!/bin/bash
# SPDX-License-Identifier: MIT
# Samples take a hundredth of a thread's time: those that would take more are skipped, which the
# recording says, and the next one has their time.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
cd "$tmp" || exit

cat >deep.c <<'END'
#include <stdlib.h>
#include <time.h>
static volatile long sink;
static double cpu(void) { return (double)clock() / CLOCKS_PER_SEC; }
static void spin(double s) { double end = cpu() + s; while (cpu() < end) for (int i = 0; i < 10000; i++) sink += i; }
#define F(n) __attribute__((noinline)) static void f##n(int d) { next(d - 1); sink++; }
static void next(int d);
F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
/* Of half of the time, whichever stack it is in. */
__attribute__((noinline)) static void half(double s) { spin(s); sink++; }
static void (*const f[])(int) = {f0, f1, f2, f3, f4, f5, f6, f7};
static void next(int d) { if (d > 0) f[rand() % 8](d); else { spin(0.0025); half(0.0025); } }
__attribute__((noinline)) static void deep(int d, double s) { double end = cpu() + s; while (cpu() < end) next(d); sink++; }
__attribute__((noinline)) static void shallow(double s) { spin(s); sink++; }
int main(int argc, char **argv)
{
    double end = cpu() + atof(argv[2]), phase = argc > 3 ? atof(argv[3]) : 0.2;
    while (cpu() < end) {
        deep(atoi(argv[1]), phase);
        if (argc > 3) shallow(phase);
    }
}
END
gcc -O1 -fno-optimize-sibling-calls deep.c -o deep || exit

fact() { "$tallytree" report header --csv "$1.tt" | awk -F, -v fact="$2" '$4 == fact { print $5 == "" ? $6 : $5 }'; }
"$tallytree" record --force -o new.tt ./deep 4000 3 2>messages
try "new and long stacks are skipped ($(fact new stacks.skipped))" test "$(fact new stacks.skipped)" -gt 150
try "a message says so" grep -q '^tallytree: 250 Hz was asked for; samples were skipped' messages
try "and so does the header" grep -q 'samples were skipped' <(fact new rate)
charged()
{
    "$tallytree" export --force --to folded --metric time -o folded new.tt &&
        awk -v cpu="$(fact new cpu)" '{ sum += $NF } END { print sum, cpu; exit !(sum > 0.7 * cpu && sum < 1.1 * cpu) }' folded
}
# The time after the last sample is in none.
try "their time is in others" charged

interval()
{
    "$tallytree" report flat --limit all --csv new.tt >flat.csv && python3 - flat.csv "$(fact new weights.times)" "$(fact new weights.squares)" "$(fact new weights.samples)" <<'END'
import csv, math, sys
times, squares, samples = map(float, sys.argv[2:])
n, z = math.ceil(times * times / squares), 1.959964
print(f"{samples:.0f} samples are worth {n}")
rows = [r for r in csv.DictReader(open(sys.argv[1])) if r["role"] == "entry" and 0.02 < float(r["inclusive_share"]) < 0.98]
for r in rows:
    p = float(r["inclusive_share"])
    half = z * math.sqrt(p * (1 - p) / n + z * z / 4 / n / n) / (1 + z * z / n)
    assert abs(half - float(r["inclusive_error"])) < 0.03 * half, (r, half)
assert rows and n <= samples
END
}
try "each ± is that of as many equal samples as these are worth" interval

# If it did, what runs after a long stack would have the time of all that are skipped.
after()
{
    "$tallytree" record --force -o both.tt ./deep 1000 "$(for_long 3 6)" 0.2 2>messages &&
        "$tallytree" export --force --by-time --to v8 -o both.json both.tt && python3 - both.json <<'END'
import json, statistics, sys
profile = json.load(open(sys.argv[1]))
names = {n["id"]: n["callFrame"]["functionName"] for n in profile["nodes"]}
above = {c: n["id"] for n in profile["nodes"] for c in n.get("children", [])}
def phase(at):
    while at in names and names[at] not in ("deep", "shallow"):
        at = above.get(at)
    return names.get(at)
# Between them are those in which the thread did not run.
looks = [(phase(at), us) for at, us in zip(profile["samples"], profile["timeDeltas"][1:]) if phase(at)]
waits = {"deep": [], "shallow": []}
for (before, _), (_, us) in zip(looks, looks[1:]):
    waits[before].append(us)
means = {k: statistics.mean(v) for k, v in waits.items()}
print(means)
sys.exit(not means["deep"] < 4 * means["shallow"])
END
}
try "how long the next sample waits does not depend on what one cost" after

"$tallytree" record --force -o same.tt ./deep 3 2 2>messages
try "few of short stacks that come again are ($(fact same stacks.skipped))" test "$(fact same stacks.skipped)" -le 250
refute() { ! "$@"; }
try "and no message says so" refute grep -q skipped messages
finish
