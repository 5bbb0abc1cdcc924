#!/bin/bash
# SPDX-License-Identifier: MIT
# Heap snapshots of V8: what each constructor retains is what another way of finding dominators
# says, and in small graphs what cannot be reached without it.
. "$(dirname "$0")/formats.sh"

cat >"$dir/program.js" <<'END'
class Thing { constructor(i) { this.a = new Array(50).fill(i); this.s = 'x'.repeat(100) + i; this.self = this; } }
class Link { constructor(next) { this.next = next; this.data = new Float64Array(20); if (next) next.back = this; } }
class Shared {}
global.keep = []; global.map = new Map(); global.weak = new WeakMap();
for (let i = 0; i < 300; i++) { const t = new Thing(i); t.shared = i % 2 ? global.one : (global.one ||= new Shared()); keep.push(t); map.set(i, t); weak.set(t, new Shared()); }
let l = null; for (let i = 0; i < 600; i++) l = new Link(l);
global.list = l;
require('v8').writeHeapSnapshot(process.argv[2]);
END
(cd "$dir" && node program.js "$dir/real") >"$dir/said" 2>&1
cat >"$dir/compare.py" <<'END'
import collections, csv, json, subprocess, sys
def load(f):
    m = f["snapshot"]["meta"]; nf, ef = m["node_fields"], m["edge_fields"]
    kinds, held_by, w, e = m["node_types"][0], m["edge_types"][0], len(nf), len(ef)
    at = {k: nf.index(k) for k in ("type", "name", "self_size", "edge_count")}
    def name(row):
        t = kinds[row[at["type"]]]; n = f["strings"][row[at["name"]]]
        return {"hidden": "(system)", "code": "(compiled code)", "closure": "Function", "regexp": "RegExp", "object": n, "native": n, "synthetic": n}.get(t, "(" + t + ")") or "(unnamed)"
    nodes, edges, k = [], [], 0
    for i in range(0, len(f["nodes"]), w):
        row = f["nodes"][i:i + w]; out = []
        for _ in range(row[at["edge_count"]]):
            r = f["edges"][k:k + e]; k += e; t = held_by[r[ef.index("type")]]
            if t != "weak" and (t != "shortcut" or i == 0): out.append(r[ef.index("to_node")] // w)
        nodes.append((name(row), row[at["self_size"]])); edges.append(out)
    return nodes, edges
def reach(edges, seen, start, without=None):
    stack = [start]; seen.add(start)
    while stack:
        for t in edges[stack.pop()]:
            if t not in seen and t != without: seen.add(t); stack.append(t)
def hold_all(edges):  # what nothing reaches is held by the root
    seen, led_to = set(), {t for out in edges for t in out}; reach(edges, seen, 0)
    for late in (False, True):
        for n in range(len(edges)):
            if n not in seen and (late or n not in led_to): edges[0].append(n); reach(edges, seen, n)
def brute(edges):  # dominators by what cannot be reached without a node
    n = len(edges); without = []
    for d in range(n):
        seen = set()
        if d: reach(edges, seen, 0, d)
        without.append(set(range(n)) - seen)
    return [None if v == 0 else max((d for d in range(n) if d != v and v in without[d]), key=lambda d: sum(d in without[x] for x in range(n))) for v in range(n)]
def iterate(edges):  # after Cooper, Harvey and Kennedy
    order, seen, stack = [], {0}, [(0, iter(edges[0]))]
    while stack:
        for t in stack[-1][1]:
            if t not in seen: seen.add(t); stack.append((t, iter(edges[t]))); break
        else: order.append(stack.pop()[0])
    rank = {v: i for i, v in enumerate(order)}; into = collections.defaultdict(list)
    for v, out in enumerate(edges):
        for t in out: into[t].append(v)
    by, changed = {0: 0}, True
    while changed:
        changed = False
        for v in reversed(order[:-1]):
            new = None
            for u in into[v]:
                if u not in by: continue
                if new is None: new = u; continue
                a, b = new, u
                while a != b:
                    while rank[a] < rank[b]: a = by[a]
                    while rank[b] < rank[a]: b = by[b]
                new = a
            if by.get(v) != new: by[v] = new; changed = True
    return [None] + [by[v] for v in range(1, len(edges))]
def retained(nodes, by):  # of each name, once where it is within itself
    own, kept, number = collections.Counter(), collections.Counter(), collections.Counter()
    for v, (name, size) in enumerate(nodes):
        if v == 0: continue
        own[name] += size; number[name] += 1; names, u = set(), v
        while u: names.add(nodes[u][0]); u = by[u]
        for x in names: kept[x] += size
    return {name: (own[name], kept[name], number[name]) for name in own}
def table(tallytree, file, metric):
    out = subprocess.run([tallytree, "report", "flat", "--csv", "--limit", "all", "--metric", metric, file], capture_output=True, text=True, check=True).stdout
    return {r["name"]: (int(r["self"]), int(r["inclusive"])) for r in csv.DictReader(out.splitlines()) if r["role"] == "entry" and r["name"] != "[root]"}
def check(tallytree, file, find):
    nodes, edges = load(json.load(open(file))); hold_all(edges)
    want = retained(nodes, find(edges)); got = table(tallytree, file, "live bytes"); count = table(tallytree, file, "live number")
    assert {n: w[:2] for n, w in want.items() if w[1]} == {n: g for n, g in got.items() if g[1]} and got, [(n, got.get(n), want.get(n)) for n in got.keys() | want.keys() if got.get(n) != want.get(n, (0, 0))[:2]][:5]
    assert {n: w[2] for n, w in want.items()} == {n: g[0] for n, g in count.items()}
if sys.argv[2] == "real": check(sys.argv[1], sys.argv[3], iterate)
else:
    import random
    for seed in range(60):
        random.seed(seed); n = random.randrange(3, 30); types = ["hidden", "object", "closure", "string"]
        out = [[(random.randrange(3), random.randrange(n)) for _ in range(random.choice([0, 1, 1, 2, 3]))] for _ in range(n)]
        nodes = [x for v in range(n) for x in (random.randrange(4), random.randrange(5), v + 1, random.randrange(1, 50), len(out[v]))]
        f = {"snapshot": {"meta": {"node_fields": ["type", "name", "id", "self_size", "edge_count"], "node_types": [types, "string", "number", "number", "number"],
            "edge_fields": ["type", "name_or_index", "to_node"], "edge_types": [["property", "weak", "shortcut"], "string_or_number", "node"]}},
            "nodes": nodes, "edges": [x for v in range(n) for t, to in out[v] for x in (t, 0, to * 5)], "strings": list("ABCDé")}
        json.dump(f, open(sys.argv[3], "w")); check(sys.argv[1], sys.argv[3], brute)
END
try "what constructors retain is what another algorithm finds, in a heap of Node" python3 "$dir/compare.py" "$tallytree" real "$dir/real"
try "in random graphs it is what cannot be reached without them" python3 "$dir/compare.py" "$tallytree" random "$dir/random"
links() { "$tallytree" report flat --csv --limit all --metric "live number" "$dir/real" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i } $col["name"] == "Link" { exit !($col["self"] == 600) }'; }
try "all links of a list are there" links
meta='{"snapshot": {"meta": {"node_fields": ["type", "name", "id", "self_size", "edge_count"], "node_types": [["object"]], "edge_fields": ["type", "name_or_index", "to_node"], "edge_types": [["property"]]}}'
echo "$meta, \"nodes\": [0,0,1,5,1, 0,1,2,7,0], \"edges\": [0,0,5], \"strings\": [\"\", \"A\"]}" >"$dir/small"
try "a small one is read" folds '[root] 5
A 7' "$dir/small" "live bytes"
try "a hundred thousand objects in a row are read" eval 'python3 -c "
n = 100000
print(\"\"\"$meta\"\"\".replace(chr(92), \"\") + \", \\\"nodes\\\": [\" + \",\".join(\"0,%d,1,1,%d\" % (i % 2, i < n - 1) for i in range(n)) + \"], \\\"edges\\\": [\" + \",\".join(\"0,0,%d\" % (5 * i + 5) for i in range(n - 1)) + \"], \\\"strings\\\": [\\\"A\\\", \\\"B\\\"]}\")" >"$dir/long"; "$tallytree" report --limit 1 "$dir/long" | grep -q "100.00 %"'
bad() { sed "$2" "$dir/small" >"$dir/bad" && refused "$dir/bad" ": byte [0-9]*: $1"; }
try "an edge to nowhere is refused" bad "an edge leads nowhere" 's/0,0,5/0,0,10/'
try "so is one into the middle of a node" bad "an edge leads nowhere" 's/0,0,5/0,0,6/'
try "so are fewer edges than nodes have" bad "there are fewer edges" 's/7,0\]/7,1]/'
try "so are more" bad "there are more edges" 's/0,0,5/0,0,5,0,0,0/'
try "so is a row without all its numbers" bad "the last row lacks numbers" 's/7,0\]/7]/'
try "so is a name that there is not" bad "a node has a name" 's/, "A"//'
try "so is a snapshot without strings" bad "there are no edges, or no strings" 's/"strings"/"other"/'
try "so is one that is cut off" truncated 200 7 2 "$dir/small"
finish
