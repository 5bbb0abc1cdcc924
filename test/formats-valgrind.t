#!/bin/bash
# SPDX-License-Identifier: MIT
# Heap profiles of Valgrind: massif's figures are those that ms_print prints, DHAT's those
# that it says itself.
. "$(dirname "$0")/formats.sh"

cat >"$dir/heap.c" <<'END'
#include <stdlib.h>
#include <string.h>
static void *kept[1000];
static int count;
__attribute__((noinline)) void *make(size_t size) { return memset(malloc(size), 1, size); }
__attribute__((noinline)) void work(int i) { void *p = make((size_t)i + 100); kept[count++] = make(1000); free(p); }
__attribute__((noinline)) void again(int depth) { if (depth) again(depth - 1); else work(3); if (!depth) kept[0] = kept[0]; }
int main(void)
{
    for (int i = 0; i < 200; i++) work(i);
    for (int i = 0; i < 20; i++) again(5);
    for (int i = 0; i < 50; i++) free(kept[i]);
    return 0;
}
END
gcc -g -O1 -fno-optimize-sibling-calls "$dir/heap.c" -o "$dir/heap"
massif() { valgrind -q --tool=massif --massif-out-file="$dir/massif.$1" "${@:2}" "$dir/heap"; }
massif i --time-unit=i
massif ms --time-unit=ms --threshold=0 --detailed-freq=3
massif stacks --time-unit=B --stacks=yes --max-snapshots=20
massif pages --pages-as-heap=yes --threshold=20

cat >"$dir/compare.py" <<'END'
import collections, csv, io, re, subprocess, sys
tallytree, file = sys.argv[1:]
def ours(*words): return subprocess.run([tallytree, *words, file], capture_output=True, text=True, check=True).stdout
text = subprocess.run(["ms_print", "--threshold=0", file], capture_output=True, text=True, check=True).stdout
# The table of snapshots; the tree at the peak.
rows, trees, last = [], {}, None
for line in text.splitlines():
    row = re.match(r" *(\d+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+) +([\d,]+)$", line)
    if row:
        last = int(row[1])
        rows.append([int(c.replace(",", "")) for c in row.groups()])
    node = re.match(r"([ |]*)(->)?[\d.]+% \(([\d,]+)B\) (.*)", line)
    if node:
        trees.setdefault(last, []).append(((len(node[1]) + 2) // 2 if node[2] else 0, int(node[3].replace(",", "")), node[4]))
series = collections.defaultdict(dict)
scale = 1000000 if "time_unit: ms" in open(file).read() else 1
for r in csv.DictReader(io.StringIO(ours("report", "series", "--series", "memory", "--csv", "--limit", "all"))):
    if r["role"] == "entry": series[int(float(r["time"]))][r["name"]] = int(r["amount"])
want = {}
for n, time, total, heap, extra, stacks in rows:
    at = want.setdefault(time * scale, {"heap": 0, "overhead": 0, "stacks": 0}); at["heap"] += heap; at["overhead"] += extra; at["stacks"] += stacks
assert {t: {k: v for k, v in s.items() if v} for t, s in series.items()} == {t: {k: v for k, v in s.items() if v} for t, s in want.items()}, (series, want)
peak = int(re.search(r"(\d+) \(peak\)", text)[1])
def name(where):
    if re.match(r"in \d+ places?, ", where): return "[callers below the threshold]"
    m = re.match(r"(0x[0-9A-F]+): (.*?)( \(in .*\)| \([^()]*:\d+\))?$", where)
    return m[1] if m[2] == "???" else m[2]
paths, path, left = collections.Counter(), [], []
def close(depth):
    while len(path) > depth:
        rest = left.pop()
        if rest: paths[";".join(reversed(path[1:])) or "[root]"] += rest
        path.pop()
for depth, size, where in trees[peak]:
    close(depth)
    if left: left[-1] -= size
    path.append(name(where) if depth else ""); left.append(size)
close(0)
got = collections.Counter()
for line in ours("export", "--to", "folded", "--metric", "peak bytes").splitlines():
    stack, count = line.rsplit(" ", 1); got[stack] += int(count)
assert got == paths, (got, paths)
assert sum(got.values()) > 100000
END
for file in i ms stacks pages; do
    try "massif, $file: series and tree are ms_print's" python3 "$dir/compare.py" "$tallytree" "$dir/massif.$file"
done
clocks() { "$tallytree" report series --csv "$dir/massif.i" >"$dir/got" && "$tallytree" report series "$dir/massif.i" | grep -q "time instructions" && "$tallytree" report series "$dir/massif.ms" | grep -q "time [mµ]*s"; }
try "time is called what it is" clocks

bare() { sed -e 's/^heap_tree=.*/heap_tree=empty/' -e '/^ *n[0-9]*: /d' "$dir/massif.i" >"$dir/bare" && ! "$tallytree" report "$dir/bare" 2>"$dir/said" && grep -q 'no figures, but series over time: report series$' "$dir/said" && "$tallytree" report series "$dir/bare" | grep -q heap; }
try "massif without trees has series alone, and that is said" bare
bad() { sed "$3" "$dir/massif.i" >"$dir/bad" && refused "$dir/bad" ":$1: $2"; }
line=$(grep -n -m1 ' n1: 1000 ' "$dir/massif.i" | cut -d: -f1)
try "a node that is too large is named" bad "$line" "this node has more bytes" "${line}s/1000/1101/"
try "so is one that is none" bad "$line" "a node of the heap tree" "${line}s/n1/x1/"
try "so is a number that is none" bad 9 "'mem_heap_extra_B=' wants" "9s/0/-1/"
try "and a unit" bad 3 "the unit of time is" "3s/i$/years/"
try "a file that ends within a tree is refused" bad "$line" "the file ends within a heap tree" "${line}q"
try "so is one that ends within a snapshot" bad 9 "the file ends within a snapshot" 9q

# In these chains every node has one byte itself, so each node has a path; a context of the
# profile is the path of its callers in reverse order.
cat >"$dir/chain.py" <<'END'
import sys
deep, names, own = map(int, sys.argv[1:])
print("desc: x\ncmd: x\ntime_unit: i\nsnapshot=0\ntime=1\nmem_heap_B=%d\nmem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=peak" % (deep * own))
print("n1: %d (heap allocation functions) malloc/new/new[], --alloc-fns, etc." % (deep * own))
for i in range(deep):
    print("n%d: %d 0x%X: f%d (x.c:1)" % (i < deep - 1, (deep - i) * own, 4096 + i % names, i % names))
END
chain() { python3 "$dir/chain.py" "$@" >"$dir/chain"; }
same_paths()
{
    chain "$1" "$2" 3 && "$tallytree" export --to folded "$dir/chain" | LC_ALL=C sort >"$dir/got" &&
        python3 -c '
import collections, sys
deep, names = map(int, sys.argv[1:])
paths = collections.Counter()
for d in range(1, deep + 1): paths[";".join("f%d" % (i % names) for i in reversed(range(d)))] += 3
for p, n in paths.items(): print(p, n)' "$1" "$2" | LC_ALL=C sort | cmp - "$dir/got"
}
for names in 1 2 7 64 400; do
    try "massif: three hundred callers of $names functions each have their paths" same_paths 300 $names
done
deep_chain() { chain 1000000 1 1 && "$tallytree" report header --csv "$dir/chain" | tee "$dir/got" | grep -q 'depth.*1000000'; }
try "massif: a million callers, each with bytes of its own" deep_chain
longer() { chain 4000 4000 1 && refused "$dir/chain" ":[0-9]*: the paths of the largest tree are longer than the file"; }
try "massif: a tree whose paths are longer than its file is refused" longer

# ── DHAT ──
valgrind --tool=dhat --dhat-out-file="$dir/dhat" "$dir/heap" 2>"$dir/valgrind"
cat >"$dir/dhat.py" <<'END'
import collections, json, re, subprocess, sys
tallytree, file, said = sys.argv[1:]
def folded(metric):
    out = subprocess.run([tallytree, "export", "--to", "folded", "--metric", metric, file], capture_output=True, text=True, check=True).stdout
    return dict((l.rsplit(" ", 1)[0], int(l.rsplit(" ", 1)[1])) for l in out.splitlines())
said = {k: [int(n.replace(",", "")) for n in re.findall(r"[\d,]*\d", v)] for k, v in re.findall(r"==\d+== (Total|At t-\w+|Reads|Writes): +(.*)", open(said).read())}
for key, names in {"Total": ("bytes", "allocations"), "At t-gmax": ("peak bytes", "peak number"), "At t-end": ("live bytes", "live number"), "Writes": ("bytes written",)}.items():
    assert [sum(folded(n).values()) for n in names] == said[key], (key, said[key])
# Each place of the file, by name.
f = json.load(open(file))
name = [re.match(r"(?:0x\w+: )?(.*?)(?: \(.*\))?$", t)[1] for t in f["ftbl"]]
want = collections.Counter()
for p in f["pps"]: want[";".join(name[i] for i in reversed(p["fs"]))] += p["tb"]
assert folded("bytes") == want, (folded("bytes"), want)
space = json.loads(subprocess.run([tallytree, "report", "space", "--json", file], capture_output=True, text=True, check=True).stdout)
assert "heap" in json.dumps(space)
END
try "DHAT: sums are those it says, contexts those of the file" python3 "$dir/dhat.py" "$tallytree" "$dir/dhat" "$dir/valgrind"
freed() { "$tallytree" report space --csv "$dir/dhat" | python3 -c '
import csv, sys
row = next(r for r in csv.DictReader(sys.stdin) if r["name"] == "heap")
assert [int(row[k]) for k in ("number", "bytes", "freed_number", "freed_bytes")] == [440, 261960, 270, 91960], row'; }
try "DHAT: what was freed is a row of space" freed
valgrind -q --tool=dhat --mode=copy --dhat-out-file="$dir/copy" "$dir/heap"
copies() { "$tallytree" report header "$dir/copy" | grep -q copy; }
try "DHAT: the mode is said" copies
bad_dhat() { sed "$2" "$dir/dhat" >"$dir/bad" && refused "$dir/bad" ":$1"; }
try "DHAT: a frame that there is not is refused" bad_dhat " byte [0-9]*: place 0 of 'pps' has frame 99" '0,/"fs":\[1/s//"fs":[99/'
try "DHAT: so is another version" bad_dhat " byte [0-9]*: only version 2" '1s/2/3/'
try "DHAT: so is a file that was cut off" bad_dhat " byte" '20q'
finish
