#!/bin/bash
# SPDX-License-Identifier: MIT
# The folder that uftrace records into: times and calls are those of uftrace report.
. "$(dirname "$0")/formats.sh"

export GMON_OUT_PREFIX=$dir/gmon # what programs compiled with -pg leave

cat >"$dir/program.c" <<'END'
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#define ALONE __attribute__((noinline))
static volatile unsigned long sum;
ALONE void spin(unsigned long n) { for (unsigned long i = 0; i < n; i++) sum += i * i; }
ALONE void leaf(void) { spin(20000); __asm__ volatile(""); }
ALONE void again(int depth) { leaf(); if (depth) again(depth - 1); __asm__ volatile(""); }
ALONE void odd(int n);
ALONE void even(int n) { spin(9000); if (n) odd(n - 1); __asm__ volatile(""); }
ALONE void odd(int n) { if (n) even(n - 1); spin(4000); __asm__ volatile(""); }
ALONE void *work(void *p) { again(3); return p; }
int main(int argc, char **argv)
{
    pthread_t t;
    (void)argv;
    again(5);
    even(6);
    pthread_create(&t, NULL, work, NULL);
    for (int i = 0; i < 50; i++) leaf();
    pthread_join(t, NULL);
    if (argc > 1 && fork() == 0) { again(2); _exit(0); }
    wait(NULL);
    return 0;
}
END
cat >"$dir/compare.py" <<'END'
import csv, io, re, subprocess, sys
tallytree, folder = sys.argv[1:]
def run(*words): return subprocess.run(words, capture_output=True, text=True, check=True).stdout
unit = {"us": 1e3, "ms": 1e6, "s": 1e9}
theirs = {}
for line in run("uftrace", "report", "--no-pager", "-d", folder).splitlines():
    m = re.match(r" *([\d.]+) +(\w+) +([\d.]+) +(\w+) +(\d+) +(\S.*)$", line)
    if m: theirs[m[6]] = (float(m[1]) * unit[m[2]], unit[m[2]], float(m[3]) * unit[m[4]], unit[m[4]], int(m[5]))
rows = csv.DictReader(io.StringIO(run(tallytree, "report", "flat", "--csv", "--limit", "all", folder)))
ours = {r["name"]: r for r in rows if r["role"] == "entry" and r["name"] != "[root]"}
assert set(ours) == set(theirs) and len(ours) > 6, (set(ours) ^ set(theirs))
for name, (total, total_unit, self, self_unit, calls) in theirs.items():
    r = ours[name]
    assert int(r["calls"]) == calls, (name, r, calls)
    # They print three decimals, cut off.
    assert abs(int(r["self"]) - self) <= self_unit / 1000 + calls, (name, r, self)
    if name not in ("even", "odd"):  # inner activations of these they count again
        assert abs(int(r["inclusive"]) - total) <= total_unit / 1000 + calls, (name, r, total)
END
build() { gcc -pg -g -O1 -fno-optimize-sibling-calls "-$1" "$dir/program.c" -o "$dir/$1" -pthread; }
record() { uftrace record --no-event --no-libcall -d "$dir/$1.folder" "${@:2}" >"$dir/said" 2>&1; }
for kind in pie no-pie; do
    build $kind
    record $kind "$dir/$kind"
    try "times and calls are those of uftrace report: $kind" python3 "$dir/compare.py" "$tallytree" "$dir/$kind.folder"
done
record fork "$dir/pie" fork
try "so are those of a child" python3 "$dir/compare.py" "$tallytree" "$dir/fork.folder"
strands() { "$tallytree" report strands --csv --limit all "$dir/fork.folder" | grep -c '^entry' | grep -qx 3; }
try "tasks are strands" strands
info() { "$tallytree" export --to folded "$dir/pie.folder/info" | cmp - <("$tallytree" export --to folded "$dir/pie.folder"); }
try "the file info stands for its folder" info
bounded() { "$tallytree" merge --recursion none -o "$dir/all.tt" "$dir/pie.folder" && "$tallytree" export --to folded "$dir/all.tt" | grep -c 'again [0-9]*$' | grep -qx 10; }
try "the recursion policy is that of live runs" bounded

names_of_cpp
record names "$dir/names"
names() { ours "$dir/names.folder" >"$dir/got" && uftrace report --no-pager --demangle=full -d "$dir/names.folder" |
    sed -n 's/^.* \([0-9][0-9]*\)  *\(ns::.*\)$/\1 \2/p' | LC_ALL=C sort | diff - "$dir/got" && [ "$(wc -l <"$dir/got")" = 3 ]; }
try "names of C++ are those of uftrace report" names

copy() { rm -rf "$dir/bad" && cp -r "$dir/pie.folder" "$dir/bad"; }
data() { for f in "$dir"/bad/*.dat; do [ "$(stat -c %s "$f")" -gt 500 ] && echo "$f" && return; done; }
cut() { copy && truncate -s -5 "$(data)" && refused "$dir/bad" "/[0-9]*[.]dat: byte [0-9]*: the file ends within an event"; }
try "an event that was cut off is refused" cut
noise() { copy && printf 'garbage.garbage.' | dd of="$(data)" conv=notrunc status=none && refused "$dir/bad" "/[0-9]*[.]dat: byte [0-9]*: this is no event"; }
try "so is one that is none" noise
back() { copy && tail -c 16 "$(data)" >"$dir/last" && dd if="$dir/last" of="$(data)" conv=notrunc status=none && refused "$dir/bad" "/[0-9]*[.]dat: byte [0-9]*: the time goes back"; }
try "so is a clock that goes back" back
long() { copy && python3 - "$dir"/bad/*.dat <<'END' && refused "$dir/bad" "/[0-9]*[.]dat: byte [0-9]*: .*64 bits"
import os, sys
for name in sys.argv[1:]:
    if os.path.getsize(name) > 32:
        with open(name, "r+b") as f:
            f.seek(-16, 2)
            f.write(b"\0" * 7 + b"\xf0")
END
}
try "and times that are too much together" long
tasks() { copy && rm "$dir/bad/task.txt" && refused "$dir/bad/info" ".*: .*'task.txt' cannot be read"; }
try "so is a folder without its tasks" tasks
maps() { copy && rm "$dir"/bad/sid-*.map && refused "$dir/bad/info" ".*: .*'sid-.*' cannot be read"; }
try "and one without its maps" maps
symbols() { copy && rm "$dir"/bad/*.sym && "$tallytree" export --to folded "$dir/bad" | grep -q 0x; }
try "without symbols, addresses stand for functions" symbols
kernel() { cp -r "$dir/pie.folder" "$dir/kernel.folder" && : >"$dir/kernel.folder/kernel-cpu0.dat" && "$tallytree" report "$dir/kernel.folder" | grep -q 'left out *functions of the kernel'; }
try "functions of the kernel are left out, and that is said" kernel
arguments() { uftrace record --no-event --no-libcall -A 'spin@arg1' -d "$dir/bad" "$dir/pie" >"$dir/said" 2>&1; refused "$dir/bad" "/[0-9]*[.]dat: byte [0-9]*: arguments were recorded"; }
rm -rf "$dir/bad"
try "recorded arguments are refused, not misread" arguments
finish
