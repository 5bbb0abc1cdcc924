#!/bin/bash
# SPDX-License-Identifier: MIT
# Files of heaptrack: each stack has the figures that heaptrack_print prints.
. "$(dirname "$0")/formats.sh"

cat >"$dir/heap.cpp" <<'END'
#include <cstdlib>
#include <cstring>
static void *raw[400];
static char *kept[400];
static inline __attribute__((always_inline)) void *inner(size_t n) { return memset(malloc(n), 1, n); }
__attribute__((noinline)) void *make(size_t n) { return inner(n); }
__attribute__((noinline)) void work(int i) { free(make(100)); kept[i] = new char[i % 50 + 40]; raw[i] = make(1000 + i); }
__attribute__((noinline)) void again(int depth, int i) { if (depth) again(depth - 1, i); else work(i); asm volatile("" ::: "memory"); }
int main()
{
    void *first = make(7);
    for (int i = 0; i < 200; i++) work(i);
    for (int i = 0; i < 150; i++) free(raw[i]);
    for (int i = 200; i < 300; i++) again(i % 4, i);
    for (int i = 150; i < 280; i++) free(raw[i]);
    for (int i = 0; i < 50; i++) delete[] kept[i];
    for (int i = 0; i < 30; i++) again(2, i + 300);
    free(first);
    return 0;
}
END
g++ -g -O2 -fno-optimize-sibling-calls "$dir/heap.cpp" -o "$dir/heap"
heaptrack -o "$dir/v3" "$dir/heap" >"$dir/said" 2>&1
zstdcat "$dir/v3.zst" >"$dir/v3"

cat >"$dir/compare.py" <<'END'
import collections, re, subprocess, sys
tallytree, file, theirs = sys.argv[1:]
def below_main(stack):
    stack = [re.sub(r" \([^()]*\)$", "", f) for f in stack.strip().rstrip(";").split(";")]
    if "main" in stack: stack = stack[stack.index("main"):]
    return ";".join(stack[:1] + sorted(stack[1:])) # inlined functions stand there in another order
def sums(lines):
    sum = collections.Counter()
    for line in lines:
        stack, count = line.rsplit(" ", 1)
        if int(count): sum[below_main(stack)] += int(count)
    return sum
for cost, metric in {"allocations": "allocations", "leaked": "live bytes", "peak": "peak bytes"}.items():
    subprocess.run(["heaptrack_print", "--disable-builtin-suppressions", "-p0", "-a0", "-T0", "-l0", "--flamegraph-cost-type", cost, "-F", file + ".folded", theirs], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    want = sums(open(file + ".folded"))
    got = sums(subprocess.run([tallytree, "export", "--to", "folded", "--metric", metric, file], capture_output=True, text=True, check=True).stdout.splitlines())
    # While a program starts, addresses have no names: the two tools write them differently.
    want, got = ({s: c for s, c in x.items() if s.startswith("main")} for x in (want, got))
    assert want == got and len(want) >= 3, (metric, want, got)
END
try "allocations, leaks and the peak are those of heaptrack_print" python3 "$dir/compare.py" "$tallytree" "$dir/v3.zst" "$dir/v3.zst"

totals() { heaptrack_print --disable-builtin-suppressions -p0 -a0 -T0 -l0 "$dir/v3.zst" 2>&1 | tee "$dir/said"; "$tallytree" report space --csv "$dir/v3" | tee "$dir/got"
    python3 - "$dir/v3" "$dir/got" <<'END'
import csv, sys
size, live, peak, total, number, freed, freed_bytes = [], 0, 0, 0, 0, 0, 0
for line in open(sys.argv[1], errors="replace"):
    w = line.split() or ['']
    if w[0] == "a": size.append(int(w[1], 16))
    if w[0] == "+": n = size[int(w[1], 16)]; live += n; total += n; number += 1; peak = max(live, peak)
    if w[0] == "-": n = size[int(w[1], 16)]; live -= n; freed += 1; freed_bytes += n
row = next(r for r in csv.DictReader(open(sys.argv[2])) if r["name"] == "heap")
assert [int(row[k]) for k in ("number", "bytes", "freed_number", "freed_bytes")] == [number, total, freed, freed_bytes], row
END
}
try "what was allocated and freed is what the file says" totals

sed -E '1s/3$/2/; s/^s [0-9a-f]+ /s /' "$dir/v3" >"$dir/v2"
sed '1s/2$/1/' "$dir/v2" | gzip >"$dir/v1"
sed '1s/ 2$//; 1s/v .*/v 10200/' "$dir/v2" >"$dir/v0"
same() { for m in bytes "peak bytes" "live number"; do "$tallytree" export --to folded --metric "$m" "$dir/v3" >"$dir/got" && "$tallytree" export --to folded --metric "$m" "$dir/$1" | cmp - "$dir/got" || return; done; [ -s "$dir/got" ]; }
for old in v2 v1 v0; do try "so does a file of $old" same "$old"; done

cat >"$dir/small" <<'END'
v 10400 3
X ./small
I 1000 10
s 4 main
s 3 f g
s 2 m1
s 3 a.c
i 10 3 1 4 5
i 20 3 2 4 6 1 4 9
t 1 0
t 2 1
a 64 2
a 10 1
+ 1
c 5
+ 0
- 0
+ 0
c 9
R 3
- 0
- 1
+ 1
END
try "the peak is where it was largest" folds 'main 16
main;main;f g 100' "$dir/small" "peak bytes"
try "what is left in the end is alive" folds 'main 16' "$dir/small" "live bytes"
try "what is freed at once is temporary" folds 'main;main;f g 2' "$dir/small" "temporary allocations"
series() { "$tallytree" report series --csv "$dir/small" | diff - <(printf 'role,depth,group,time,amount,name\nentry,0,1,0,16,\nentry,0,2,5000000,116,\nentry,0,3,9000000,116,\n') &&
    "$tallytree" report series --series resident --csv "$dir/small" | grep -q ,9000000,12288,; }
try "the heap over time is its largest at each time" series

# `operator new` called from main, by itself and for a vector; and one that nothing is known to call.
cat >"$dir/new" <<'END'
v 10400 3
X ./new
I 1000 10
s 4 main
s 1b operator new(unsigned long)
s 1d operator new[](unsigned long)
i 10 0 1 0 0
i 20 0 2 0 0
i 30 0 3 0 0
t 1 0
t 3 1
t 2 2
t 2 0
a 64 3
a 10 1
a 8 4
+ 0
+ 1
+ 2
END
folds_new() { "$tallytree" export --to folded --metric "live bytes" "$dir/new" | diff - <(printf 'main 116\noperator new(unsigned long) 8\n'); }
try "what operator new allocates is its caller's" folds_new
try "an allocation that there is not is refused" refuses 14 "no allocation has this number" '14s/1/2/'
try "so is one that is freed twice" refuses 22 "more is freed than was allocated" '22s/1/0/'
try "so is a trace of a caller that comes later" refuses 11 "a trace has" '11s/1$/3/'
try "so is a string of another length" refuses 5 "a string has its length" '5s/3/4/'
try "so is a later version" refuses 1 "version 4 is not known" '1s/3$/4/'
try "so are raw data" refuses 2 "these are raw data" '2s/X/x/'
finish
