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
finish
