#!/bin/bash
# SPDX-License-Identifier: MIT
# Profiles of gperftools: each stack, once its addresses have names, has the figures that
# google-pprof gives it.
. "$(dirname "$0")/formats.sh"

cat >"$dir/program.c" <<'END'
#include <stdlib.h>
#include <string.h>
#define ALONE __attribute__((noinline))
static volatile unsigned long sum;
static void *kept[1000];
static int count;
ALONE void spin(unsigned long n) { for (unsigned long i = 0; i < n; i++) sum += i * i; }
ALONE void one(void) { spin(20000000); __asm__ volatile(""); }
ALONE void two(int depth) { if (depth) two(depth - 1); else spin(30000000); __asm__ volatile(""); }
ALONE void *make(size_t n) { void *p = malloc(n); memset(p, 1, n); __asm__ volatile(""); return p; }
ALONE void work(int i) { free(make((size_t)i + 5000)); kept[count++] = make(1000); __asm__ volatile(""); }
int main(void)
{
    for (int i = 0; i < 300; i++) work(i);
    for (int i = 0; i < 50; i++) free(kept[i]);
    for (int i = 0; i < 5; i++) one(), two(i);
    return 0;
}
END
cc() { gcc -g -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls "$@"; }
cc "$dir/program.c" -o "$dir/pie" -Wl,--no-as-needed -lprofiler
cc -no-pie "$dir/program.c" -o "$dir/fixed" -Wl,--no-as-needed -lprofiler
cc "$dir/program.c" -o "$dir/heap" -Wl,--no-as-needed -ltcmalloc
for p in pie fixed; do CPUPROFILE=$dir/$p.prof "$dir/$p" 2>/dev/null; done
HEAPPROFILE=$dir/heap.out "$dir/heap" 2>/dev/null
# shellcheck disable=SC2012
cp "$(ls "$dir"/heap.out.*.heap | tail -1)" "$dir/heap.prof"

cat >"$dir/compare.py" <<'END'
import collections, os, re, subprocess, sys
tallytree, program, file, metric, scale, *words = sys.argv[1:]
def sums(text):
    sum = collections.Counter()
    for line in text.splitlines():
        stack, count = line.rsplit(" ", 1)
        stack = [re.sub("<[0-9a-f]+>$", "", f) for f in stack.split(";")]
        if "main" in stack: sum[";".join(stack[stack.index("main"):])] += int(count)
    return sum
theirs = subprocess.run([os.environ.get("TOOL", "google-pprof"), "--collapsed", *words, program, file], capture_output=True, text=True, check=True).stdout
ours = subprocess.run([tallytree, "symbolize", "-o", file + ".tt", file], check=True)
ours = subprocess.run([tallytree, "export", "--to", "folded", "--metric", metric, file + ".tt"], capture_output=True, text=True, check=True).stdout
want, got = sums(theirs), sums(ours)
want = collections.Counter({s: n * int(scale) for s, n in want.items() if n})
assert want == got and want, (want, got)
END
try "CPU samples are google-pprof's" python3 "$dir/compare.py" "$tallytree" "$dir/pie" "$dir/pie.prof" samples 1
try "so is the time" python3 "$dir/compare.py" "$tallytree" "$dir/pie" "$dir/pie.prof" time 10000000
try "so are those of a program that is not moved" python3 "$dir/compare.py" "$tallytree" "$dir/fixed" "$dir/fixed.prof" samples 1
try "bytes that are alive are google-pprof's" python3 "$dir/compare.py" "$tallytree" "$dir/heap" "$dir/heap.prof" "live bytes" 1 --show_bytes --inuse_space
try "so are objects" python3 "$dir/compare.py" "$tallytree" "$dir/heap" "$dir/heap.prof" "live number" 1 --inuse_objects
try "so is what was allocated" python3 "$dir/compare.py" "$tallytree" "$dir/heap" "$dir/heap.prof" bytes 1 --show_bytes --alloc_space
freed() { "$tallytree" report space --csv "$dir/heap.prof" | grep -q "entry,0,0,600,1844850,0,0,0,0,350,1594850,0,1,heap"; }
try "what was freed is a row of space" freed

# jemalloc's own, once in many bytes; what jeprof rounds down is 1 less.
if command -v jeprof >/dev/null; then
    cc "$dir/program.c" -o "$dir/je"
    MALLOC_CONF=prof:true,prof_final:true,prof_accum:true,lg_prof_sample:11,prof_prefix:$dir/je \
        LD_PRELOAD=libjemalloc.so.2 "$dir/je" 2>/dev/null
    mv "$dir"/je.*.heap "$dir/je.prof"
fi
jemalloc()
{
    "$tallytree" report header "$dir/je.prof" | grep -q gperftools && TOOL=jeprof python3 - "$@" <<END
import sys
source = open("$dir/compare.py").read().replace("assert want == got and want", "assert want.keys() == got.keys() and want and all(0 <= got[s] - want[s] <= 3 for s in want)")
exec(source)
END
}
for metric in "live bytes:--inuse_space --show_bytes" "live number:--inuse_objects" "bytes:--alloc_space --show_bytes" "allocations:--alloc_objects"; do
    name="of jemalloc's heap ${metric%%:*} are jeprof's"
    # shellcheck disable=SC2086
    if command -v jeprof >/dev/null; then try "$name" jemalloc "$tallytree" "$dir/je" "$dir/je.prof" "${metric%%:*}" 1 ${metric#*:}; else skip "$name" "jeprof is not installed"; fi
done
cat >"$dir/threads" <<'END'
heap_v2/1
  t*: 3: 300 [0: 0]
  t0: 3: 300 [0: 0]
@ 0x11 0x21
  t*: 2: 200 [0: 0]
  t0: 1: 100 [0: 0]
  t7: 1: 100 [0: 0]
@ 0x31
  t*: 1: 100 [0: 0]
  t0: 1: 100 [0: 0]

MAPPED_LIBRARIES:
00000000-00000100 r-xp 00000000 00:00 1          /usr/bin/a program
END
try "of jemalloc's figures those of all threads are taken" folds $'a program+0x20;a program+0x10 200\na program+0x30 100' "$dir/threads" "live bytes"
try "a figure of jemalloc that is none is refused" refuses 5 "a line is '@ ADDRESSES' or" '5s/200/x/' "$dir/threads"

# Words of 4 bytes and of the other order; Java's names.
python3 - "$dir" <<'END'
import struct, sys
stacks = [(3, [7, 6]), (2, [8]), (1, [6, 6, 7])]
for name, order, word, java in (("l8", "<", "Q", 0), ("b8", ">", "Q", 0), ("l4", "<", "I", 1), ("b4", ">", "I", 1)):
    words = [0, 3, java, 10000, 0]
    for count, stack in stacks: words += [count, len(stack)] + stack
    words += [0, 1, 0]
    text = b" 0x00000006 com.a.Outer (A.java:6)\n 0x0000007 com.a.Inner (A.java:7)\n 0x00000008 GC\n"
    open(sys.argv[1] + "/" + name, "wb").write(struct.pack(order + "%d" % len(words) + word, *words) + text)
END
java='GC 2
com.a.Inner;com.a.Outer;com.a.Outer 1
com.a.Outer;com.a.Inner 3'
for kind in l4 b4; do try "words of 4 bytes, names of Java, $kind" folds "$java" "$dir/$kind" samples; done
words='0x5;0x7 3
0x6;0x6 1
0x8 2'
for kind in l8 b8; do try "words of 8 bytes: callers are one byte before, $kind" folds "$words" "$dir/$kind" samples; done

# Samples are scaled up.
cat >"$dir/sampled" <<'END'
heap profile:      3:     3000 [     5:   5000] @ heap_v2/2000
     1:     1000 [     3:    3000] @ 0x11 0x21
     2:     2000 [     2:    2000] @ 0x31

MAPPED_LIBRARIES:
00000000-00000100 r-xp 00000000 00:00 1          /usr/bin/a program
END
by=$(python3 -c 'import math; f = 1 / (1 - math.exp(-.5)); print("a program+0x20;a program+0x10", round(3000 * f)); print("a program+0x30", round(2000 * f))')
try "each sample of a heap is weighed by its size" folds "$by" "$dir/sampled" bytes
cat >"$dir/go" <<'END'
heap profile: 3: 3000 [5: 5000] @ heap/4000
1: 1000 [3: 3000] @ 0x11 0x21
#	0x10	main.make+0x1	/src/main.go:3
#	0x20	main.main+0x2	/src/main.go:7

2: 2000 [2: 2000] @ 0x31

# runtime.MemStats
# Alloc = 24
END
less() { head -n 4 "$dir/go" >"$dir/bad" && refused "$dir/bad" ":4: the file was cut off: its first line states 3 allocations, and its stacks have 1"; }
try "a heap of Go that was cut off behind a stack is refused" less
try "one without stacks of which nothing is alive has a note" eval 'sed "1s/5: 5000/9: 9000/" "$dir/go" >"$dir/fewer" && "$tallytree" report flat "$dir/fewer" | grep "^cut off: 1 "'
try "one of gperftools is refused, too," refuses 2 "the file was cut off: its first line states 3 allocations" '3,$d' "$dir/sampled"
try "but gperftools itself leaves stacks out, and writes its mappings" eval 'sed 3d "$dir/sampled" >"$dir/fewer" && "$tallytree" report header "$dir/fewer"'
cat >"$dir/go.py" <<'END'
import re, subprocess, sys
tallytree, file = sys.argv[1:]
raw = subprocess.run(["go", "tool", "pprof", "-raw", file], capture_output=True, text=True, check=True).stdout
want = [list(map(int, v.split())) for v in re.findall(r"^ +([0-9 ]+): [0-9 ]+$", raw[:raw.index("Locations")], re.M)]
for column, metric in enumerate(("allocations", "bytes", "live number", "live bytes")):
    out = subprocess.run([tallytree, "export", "--to", "folded", "--metric", metric, file], capture_output=True, text=True, check=True).stdout
    got = dict(line.rsplit(" ", 1) for line in out.splitlines())
    for stack, values in zip(("main.main;main.make", "0x30"), want):
        assert 0 <= int(got[stack]) - values[column] <= 1, (metric, got, want)  # go takes the whole part
END
try "Go's heaps are weighed as go does, with the functions that stand below a stack" python3 "$dir/go.py" "$tallytree" "$dir/go"
sed 's/MAPPED_LIBRARIES:/--- Memory map: ---/' "$dir/sampled" >"$dir/map"
try "the map of memory may have its other name" folds "$by" "$dir/map" bytes
cat >"$dir/none" <<<'heap profile: 0: 0 [0: 0] @ heapprofile'
nothing() { "$tallytree" report header "$dir/none" | grep -q gperftools; }
try "a heap without anything in it is read" nothing

cut() { head -c "$1" "$dir/l8" >"$dir/bad" && refused "$dir/bad" ": byte $2: $3"; }
try "a file that ends within a sample is refused" cut 64 64 "the file ends before its samples do"
try "so is one that ends before its end" cut 72 72 "the file ends before its samples do"
deep() { { head -c 48 "$dir/l8"; printf '\0\0\0\0\0\0\0\1'; } >"$dir/bad" && refused "$dir/bad" ": byte 56: a stack cannot have"; }
try "so is a stack that is too deep" deep
bad_heap() { sed "$1" "$dir/sampled" >"$dir/bad" && refused "$dir/bad" ":$2"; }
try "so is a line of a heap without a stack" bad_heap '2s/@//' "2: a line is"
try "so is one with another word in its stack" bad_heap '2s/0x21/main/' "2: an address is due"
finish
