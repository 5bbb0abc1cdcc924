#!/bin/bash
# SPDX-License-Identifier: MIT
# gmon.out: self, calls and, with what they called, the times that gprof prints, recursion and
# cycles included.
. "$(dirname "$0")/formats.sh"

cat >"$dir/program.c" <<'END'
#define ALONE __attribute__((noinline))
static volatile unsigned long sum;
ALONE void spin(unsigned long n) { for (unsigned long i = 0; i < 8 * n; i++) sum += i * i; }
ALONE void one(void) { spin(20000000); spin(5000000); __asm__ volatile(""); }
ALONE void two(int depth) { if (depth) two(depth - 1); else spin(30000000); __asm__ volatile(""); }
ALONE void odd(int n);
ALONE void even(int n) { spin(3000000); if (n) odd(n - 1); __asm__ volatile(""); }
ALONE void odd(int n) { spin(1000000); for (int i = 0; i < 24000000; i++) sum++; if (n) even(n - 1); __asm__ volatile(""); }
ALONE void shared(void) { for (int i = 0; i < 72000000; i++) sum += 3; spin(4000000); __asm__ volatile(""); }
ALONE void left(void) { shared(); __asm__ volatile(""); }
ALONE void right(void) { shared(); shared(); shared(); __asm__ volatile(""); }
int main(void) { one(); two(4); even(5); odd(2); left(); right(); one(); return 0; }
END
cat >"$dir/compare.py" <<'END'
import csv, io, re, subprocess, sys
tallytree, program, gmon = sys.argv[1:]
def run(*words): return subprocess.run(words, capture_output=True, text=True, check=True).stdout
flat = {}
for line in run("gprof", "-b", "-p", "-z", program, gmon).splitlines():
    w = line.split()
    if len(w) >= 4 and re.match(r"[\d.]+$", w[0]): flat[w[-1]] = (float(w[2]), int(w[3]) if len(w) == 7 or w[3].isdigit() and len(w) > 4 else 0)
# From the call graph: self and children of each function, and its cost for each caller.
own, arcs, callers, primary, total = {}, {}, [], None, 0
for line in run("gprof", "-b", "-q", program, gmon).splitlines():
    if line.startswith("---"): callers, primary = [], None
    m = re.match(r"(?:(\[\d+\])\s+([\d.]+))?\s+(?:([\d.]+)\s+([\d.]+)\s+)?(?:([\d+/]+)\s+)?(\S.*?) \[\d+\]$", line)
    if not m or "as a whole" in line: continue
    name = re.sub(r" <cycle.*", "", m[6])
    if m[1]:
        primary = name; own[name] = (float(m[3]), float(m[4]))
        for c, s, d, n in callers: arcs[c, name] = (s + d, n)
    elif primary is None and m[3] and m[5]: callers.append((name, float(m[3]), float(m[4]), int(m[5].split("/")[0])))
run(tallytree, "merge", "--executable", program, "-o", gmon + ".tt", gmon)
rows = list(csv.DictReader(io.StringIO(run(tallytree, "report", "graph", "--csv", "--limit", "all", gmon + ".tt"))))
ours = {r["name"]: r for r in rows if r["role"] == "entry"}
for name, (seconds, calls) in flat.items():
    if seconds or calls:
        r = ours[name]
        assert abs(int(r["self"]) / 1e9 - seconds) < .0051, (name, r, seconds)
        assert int(r["calls"] or 0) >= calls, (name, r, calls)  # gprof leaves recursive calls out
checked = 0
for name in ("main", "one", "two", "shared", "left", "right", "spin"):
    mine, children = own[name]
    assert abs(int(ours[name]["inclusive"]) / 1e9 - mine - children) < .0151, (name, ours[name], own[name])
group, callee_of = None, {}
for r in rows:
    if r["role"] == "entry": group = r["name"]
    if r["role"] == "callee": callee_of[group, r["name"]] = r
for pair in (("one", "spin"), ("right", "shared"), ("left", "shared"), ("shared", "spin"), ("main", "left"), ("main", "one")):
    cost, calls = arcs[pair]
    assert abs(int(callee_of[pair]["inclusive"]) / 1e9 - cost) < .0151, (pair, callee_of[pair], arcs[pair])
    assert int(callee_of[pair]["calls"]) == calls, (pair, callee_of[pair], arcs[pair])
total = sum(int(r["self"]) for r in ours.values())
assert total > 1e8 and abs(total / 1e9 - sum(s for s, _ in flat.values())) < .05, (total, flat)
END
for kind in pie no-pie; do
    gcc -pg -g -O1 -fno-optimize-sibling-calls -$kind "$dir/program.c" -o "$dir/$kind"
    (cd "$dir" && "./$kind" && mv gmon.out $kind.gmon)
    try "times and calls are gprof's: $kind" python3 "$dir/compare.py" "$tallytree" "$dir/$kind" "$dir/$kind.gmon"
done
cycle() { "$tallytree" report groups --csv "$dir/pie.gmon.tt" | grep -q 'odd' && "$tallytree" report header "$dir/pie.gmon.tt" | grep -q 'estimated from calls'; }
try "a cycle is one group, and paths are said to be estimated" cycle
beside() { cp "$dir/pie" "$dir/a.out" && "$tallytree" export --to folded "$dir/pie.gmon" | grep -q '^main;one;spin '; }
try "a.out beside the profile is its program" beside
names_of_cpp
(cd "$dir" && ./names && mv gmon.out names.gmon)
names() { "$tallytree" merge --executable "$dir/names" -o "$dir/names.tt" "$dir/names.gmon" && ours "$dir/names.tt" >"$dir/got" &&
    gprof -b -p -z "$dir/names" "$dir/names.gmon" | sed -En 's/^( *[0-9.]+){3} +([0-9]+)( +[0-9.]+){2} +(ns::.*)/\2 \4/p' | LC_ALL=C sort | diff - "$dir/got" && [ "$(wc -l <"$dir/got")" = 3 ]; }
try "names of C++ are gprof's" names
refuses() { "$tallytree" "${@:2}" "$dir/bad" >"$dir/got" 2>"$dir/said"; [ $? = 2 ] && cat "$dir/said" && grep -q "tallytree: $1" "$dir/said"; }
missing() { rm "$dir/a.out"; cp "$dir/pie.gmon" "$dir/bad"; refuses "$dir/bad: byte 0: .*--executable" report; }
try "without its program it says what is missing" missing
strip "$dir/pie" -o "$dir/stripped"
stripped() { refuses "$dir/bad: byte 0: its program: .*stripped" export --executable "$dir/stripped" --to folded; }
try "a stripped program is refused" stripped
cut() { head -c 100 "$dir/pie.gmon" >"$dir/bad"; refuses "$dir/bad: byte 99: the file ends within a record" export --executable "$dir/pie" --to folded; }
try "so is a file that was cut off" cut
tag() { { head -c 20 "$dir/pie.gmon"; printf '\7'; } >"$dir/bad"; refuses "$dir/bad: byte 21: no record has the tag 7" export --executable "$dir/pie" --to folded; }
try "so is a record that is none" tag
finish
