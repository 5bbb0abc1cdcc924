#!/bin/bash
# SPDX-License-Identifier: MIT
# Files of V8: CPU profiles that Node writes, by their own counts of hits, and heaps.
. "$(dirname "$0")/formats.sh"

cat >"$dir/program.js" <<'END'
function spin(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i); return s; }
function one() { return spin(3e6); }
function two(depth) { return depth ? two(depth - 1) : spin(5e6); }
for (let i = 0; i < 20; i++) { one(); two(3); }
END
(cd "$dir" && node --cpu-prof --cpu-prof-name=cpu program.js)
cat >"$dir/hits.py" <<'END'
import collections, json, subprocess, sys
tallytree, file = sys.argv[1:]
f = json.load(open(file))
node = {n["id"]: n for n in f["nodes"]}
above = {c: n["id"] for n in f["nodes"] for c in n.get("children", [])}
def stack(i):
    path = []
    while i in above: path.append(node[i]["callFrame"]["functionName"] or "(anonymous)"); i = above[i]
    return ";".join(reversed(path)) or "[root]"
want = collections.Counter()
for n in f["nodes"]: want[stack(n["id"])] += n["hitCount"]
got = collections.Counter()
for line in subprocess.run([tallytree, "export", "--to", "folded", "--metric", "samples", file], capture_output=True, text=True, check=True).stdout.splitlines():
    path, n = line.rsplit(" ", 1); got[path] += int(n)
own = lambda c: {p: n for p, n in c.items() if n and not p.startswith("(")}  # of (program), the first is not a hit
assert own(got) == own(want) and sum(got.values()) == len(f["samples"]) and any("two;two;spin" in p for p in got), (got - want, want - got)
time = sum(int(l.rsplit(" ", 1)[1]) for l in subprocess.run([tallytree, "export", "--to", "folded", file], capture_output=True, text=True, check=True).stdout.splitlines())
forward, at, until = 0, 0, None
for d in f["timeDeltas"]:
    at += d
    if until is not None and at > until: forward += at - until
    until = at if until is None else max(at, until)
assert time == forward * 1000, (time, forward)
END
try "samples are the hits that Node counts, time is that between them" python3 "$dir/hits.py" "$tallytree" "$dir/cpu"
cat >"$dir/heap" <<'END'
{"head": {"callFrame": {"functionName": "(root)", "lineNumber": -1}, "selfSize": 5, "children": [
  {"callFrame": {"functionName": "a", "url": "x.js", "lineNumber": 3}, "selfSize": 10, "id": 2, "children": [
    {"callFrame": {"functionName": "", "url": "x.js"}, "selfSize": 7, "children": []}, {"callFrame": {"functionName": "b"}, "selfSize": 0, "children": []}]},
  {"callFrame": {"functionName": "b"}, "children": [], "selfSize": 100}]}, "samples": []}
END
heap() { "$tallytree" export --to folded "$dir/heap" | diff - <(printf '[root] 5\na 10\na;(anonymous) 7\nb 100\n'); }
try "each node of a heap has its size" heap
cat >"$dir/live.js" <<'END'
const kept = [];
function keep(i) { kept.push({ i, text: "v" + i }); }
for (let i = 0; i < 2e5; i++) keep(i);
END
(cd "$dir" && node --heap-prof --heap-prof-interval=8192 --heap-prof-name=live.heapprofile live.js)
live()
{
    grep -q '"samples":\[{' "$dir/live.heapprofile" || return
    local sum
    sum=$(grep -o '"selfSize":[0-9]*' "$dir/live.heapprofile" | awk -F: '{ s += $2 } END { print s }')
    [ "$sum" -gt 0 ] && "$tallytree" export --to folded "$dir/live.heapprofile" | awk -v sum="$sum" '{ s += $NF } END { print s, sum; exit s != sum }'
}
try "a heap that Node writes is read, with its list of single samples" live
cat >"$dir/late" <<'END'
{"nodes": [{"id": 1, "callFrame": {"functionName": "(root)"}}, {"id": 2, "parent": 1, "callFrame": {"functionName": "a"}},
  {"id": 4, "parent": 3, "callFrame": {"functionName": "b"}}], "samples": [2, 3, 4, 4, 2], "timeDeltas": [1, 2, 3, 4, 5]}
END
late() { folds '(unknown callers);b 2
a 2' "$dir/late" samples && "$tallytree" report "$dir/late" | grep -q 'lost: 1 samples were in a node'; }
try "a sample in a node that there is not is counted, and the others are read" late
# The same profile, as older engines wrote it: a tree, with the time of each sample.
cat >"$dir/older.py" <<'END'
import json, sys
f = json.load(open(sys.argv[1]))
node = {n["id"]: n for n in f["nodes"]}
def tree(n):
    c = n["callFrame"]
    return {"functionName": c["functionName"], "url": c["url"], "lineNumber": c["lineNumber"] + 1, "columnNumber": c["columnNumber"] + 1,
            "bailoutReason": "", "id": n["id"], "hitCount": n["hitCount"], "children": [tree(node[i]) for i in n.get("children", [])]}
times, at = [], f["startTime"]
for d in f["timeDeltas"]: at += d; times.append(at)
json.dump({"typeId": "CPU", "head": tree(f["nodes"][0]), "startTime": f["startTime"] / 1e6, "samples": f["samples"], "timestamps": times}, sys.stdout)
END
python3 "$dir/older.py" "$dir/cpu" >"$dir/older"
older() { for m in samples "sampled time"; do diff <("$tallytree" export --to folded --metric "$m" "$dir/cpu") <("$tallytree" export --to folded --metric "$m" "$dir/older") || return; done
    diff <("$tallytree" report flat --csv --limit all "$dir/cpu") <("$tallytree" report flat --csv --limit all "$dir/older"); }
try "a profile of the older form is read as that of the newer one" older
deep() { python3 -c 'print("{\"head\":" + "{\"callFrame\":{\"functionName\":\"f\"},\"selfSize\":1,\"children\":[" * 100000 + "]}" * 100000 + "}")' >"$dir/deep" && "$tallytree" report flat "$dir/deep" | grep -q 'total'; }
try "however deep it is" deep
bad() { printf '%s
' "$2" >"$dir/bad" && refused "$dir/bad" ": byte [0-9]*: $1"; }
try "children before what they are of are refused" bad "the children of a node come before" '{"head": {"children": [], "callFrame": {"functionName": "a"}}}'
try "so is a node without a function" bad "the node before this has no callFrame" '{"head": {"selfSize": 3, "x": {"callFrame": 1}}}'
try "and children before the id of their parent" bad "the children of a node come before its id" '{"head": {"functionName": "a", "children": [{"functionName": "b", "id": 2, "children": []}], "hitCount": 0}}'
try "so is one that was cut off" bad "" '{"head": {"callFrame": {"functionName": "a"}, "children": [{'
try "so is a file with no sample in a node that it has" bad "all samples are in nodes that there are not" '{"nodes": [{"id": 1, "callFrame": {"functionName": "(root)"}}], "samples": [2], "timeDeltas": [1]}'
# Writing.
written() { printf 'main 3\nmain;a 5\nmain;a;b 7\nmain;c 2\n' >"$dir/sums" && "$tallytree" export --force -o "$dir/sums.cpuprofile" "$dir/sums"; }
try "a file whose name ends in .cpuprofile is written" written
try "sums: each context has a sample of its length" folds $'main 3000\nmain;a 5000\nmain;a;b 7000\nmain;c 2000' "$dir/sums.cpuprofile" "sampled time"
again()
{
    "$tallytree" export ${1:+"$1"} --to v8 --metric "sampled time" --force -o "$dir/again" "$dir/cpu" &&
        "$tallytree" export --to folded --metric "sampled time" "$dir/cpu" >"$dir/wanted" && [ -s "$dir/wanted" ] &&
        "$tallytree" export --to folded --metric "sampled time" "$dir/again" | diff - "$dir/wanted"
}
try "a file of Node is written with the same time in each context" again
try "by time, too" again --by-time
order()
{
    "$tallytree" export --by-time --to v8 --force -o "$dir/again" "$dir/cpu" && python3 - "$dir/cpu" "$dir/again" <<'END'
import json, sys
def moments(file):
    """Each sample that lasts: its time since the first, its length and its stack."""
    f = json.load(open(file))
    node = {n["id"]: n["callFrame"]["functionName"] or "(anonymous)" for n in f["nodes"]}
    above = {c: n["id"] for n in f["nodes"] for c in n.get("children", [])}
    def stack(i): return (stack(above[i]) if i in above else []) + [node[i]]
    at, until, out = 0, [], []
    for i, d in enumerate(f["timeDeltas"]):
        at += d if i else 0
        until.append(max(at, until[-1] if until else at))  # V8 sorts late samples nowhere
    for i, (a, b) in enumerate(zip(until, until[1:])):
        if b > a: out.append((a - until[0], b - a, stack(f["samples"][i])))
    return out
a, b = map(moments, sys.argv[1:])
skip = a[0][0] - b[0][0]
assert [(t - skip, n, s) for t, n, s in a] == b and len(a) > 20, (a[:3], b[:3])
END
}
try "its samples keep their order and their lengths" order
cat >"$dir/inner" <<'END'
{"nodes": [{"id": 1, "callFrame": {"functionName": "(root)"}}, {"id": 2, "parent": 1, "callFrame": {"functionName": "a"}},
  {"id": 3, "parent": 2, "callFrame": {"functionName": "(root)"}}], "samples": [2, 3, 3, 1], "timeDeltas": [1, 2, 3, 4]}
END
try "a function called (root) that has a caller keeps its samples" folds '[root] 1
a 1
a;(root) 2' "$dir/inner" samples
cat >"$dir/inner" <<'END'
{"head": {"callFrame": {"functionName": "(root)"}, "selfSize": 5, "children": [
  {"callFrame": {"functionName": "a"}, "selfSize": 10, "children": [{"callFrame": {"functionName": "(root)"}, "selfSize": 7, "children": []}]}]}}
END
try "so does one in a heap" folds '[root] 5
a 10
a;(root) 7' "$dir/inner"
finish
