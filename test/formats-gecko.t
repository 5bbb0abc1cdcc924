#!/bin/bash
# SPDX-License-Identifier: MIT
# Raw profiles of Firefox: threads, also those of other processes, have the stacks that Python gave them.
. "$(dirname "$0")/formats.sh"

cat >"$dir/make.py" <<'END'
import collections, json, random, sys
out, dice = sys.argv[1], random.Random(int(sys.argv[2]))
names = [("(root)", "(root)"), ("0x7f00", "0x7f00"), ("f (a.js:3)", "f"), ("g (https://x.y/b.js:12:7)", "g"), ("Foo::bar(int)", "Foo::bar(int)"), ("größe (z)", "größe (z)"), ("h (self-hosted:9)", "h")]
total, main = collections.Counter(), collections.Counter()
def shuffled(columns):
    order = columns[:]
    dice.shuffle(order)
    return order, {c: i for i, c in enumerate(order)}
def table(columns, rows):
    order, schema = shuffled(columns)
    parts = [("schema", schema), ("data", [[row.get(c) for c in order] for row in rows])]
    return dict(parts if dice.random() < .5 else parts[::-1])
def thread(name, tid, sum):
    strings = dice.sample(names, len(names))
    frames = [{"location": dice.randrange(len(strings)), "line": 7, "category": None, "x": {"a": [1]}} for _ in range(12)]
    stacks, paths = [], []
    for i in range(30):
        prefix, frame = (dice.randrange(i) if i and dice.random() < .8 else None), dice.randrange(12)
        stacks.append({"prefix": prefix, "frame": frame})
        paths.append((paths[prefix] if prefix is not None else []) + [strings[frames[frame]["location"]][1]])
    samples = []
    for i in range(50):
        s = dice.randrange(30)
        samples.append({"stack": s, "time": i * 1.5, "responsiveness": 0.25})
        total[";".join(paths[s])] += 1
        sum[";".join(paths[s])] += 1
    return {"name": name, "processType": "tab", "tid": tid, "pid": 5, "registerTime": 0.5, "unregisterTime": None, "markers": table(["name", "time", "data"], []),
            "samples": table(["stack", "time", "responsiveness"], samples), "stackTable": table(["prefix", "frame"], stacks),
            "frameTable": table(["location", "line", "category", "x"], frames), "stringTable": [s[0] for s in strings]}
other = collections.Counter()
meta = {"version": 27, "product": "Firefox", "interval": 1}
child = {"meta": meta, "libs": [], "threads": [thread("Child", 7, other)], "processes": []}
whole = {"meta": meta, "libs": [], "threads": [thread("GeckoMain", 1, main), thread("Idle", 2, other), json.dumps(thread("Old", 3, other))], "processes": [child], "pausedRanges": []}
json.dump(whole, open(out + "/all", "w"), ensure_ascii=False)
for name, sum in ("total", total), ("main", main): open(out + "/" + name, "w").write("".join("%s %d\n" % line for line in sum.items()))
END
same() { "$tallytree" export --to folded --metric samples "${@:2}" "$dir/all" | LC_ALL=C sort | diff <(LC_ALL=C sort "$dir/$1") -; }
all() { for seed in 1 2 3 4; do python3 "$dir/make.py" "$dir" $seed && same total || return; done; }
try "stacks of all processes have their samples" all
try "a thread has its own" same main --strand GeckoMain
place() { "$tallytree" report flat --csv --limit all "$dir/all" >"$dir/got" && grep -q ',g,.*https://x.y/b.js,12,' "$dir/got" && grep -q ',f,.*a.js,3,' "$dir/got"; }
try "functions of JavaScript have file and line" place
try "a file that is cut off is refused" truncated 200 1901 2 "$dir/all"
bad() { python3 -c 'import json, sys
p = json.load(open(sys.argv[1] + "/all"))
t = p["threads"][0]
exec(sys.argv[2])
json.dump(p, open(sys.argv[1] + "/bad", "w"))' "$dir" "$2" && refused "$dir/bad" ": byte [0-9]*: $1"; }
try "so is a frame without its string" bad "a frame has a location" 't["stringTable"] = []'
try "so is a stack within itself" bad "a stack has a frame, or a stack" 's = t["stackTable"]; s["data"][3][s["schema"]["prefix"]] = 3'
try "so is a sample without its stack" bad "a sample has a stack" 's = t["samples"]; s["data"][3][s["schema"]["stack"]] = 30'
try "so is a table without its columns" bad "the columns of a table" 'del t["samples"]["schema"]'
try "so is a thread without stacks" bad "the thread before this lacks" 'del t["stackTable"]'
finish
