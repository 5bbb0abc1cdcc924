#!/bin/bash
# SPDX-License-Identifier: MIT
# export --by-time: at each moment each thread has the frames that the source's samples have, and nothing
# in its gaps.  Python makes the samples, and reads what is written.
. "$(dirname "$0")/formats.sh"

cat >"$dir/make.py" <<'END'
"""make.py OUT TRUTH SEED [jitter]: samples of six threads of two processes as Firefox's JSON; of each thread its stretches."""
import json, random, sys
dice = random.Random(int(sys.argv[3]))
jitter = sys.argv[4:] == ["jitter"]
names = ["main", "größe", 'a"b\\', "operator()(int, char)", "x::y<z>", "h"]
paths = [[0]] + [[0] + [dice.randrange(6) for _ in range(dice.randrange(1, 6))] for _ in range(20)] + [None]
threads, truth = [], {}
for process in range(2):
    for number in range(3):
        stacks = {}
        def stack(path):
            key = tuple(path)
            if key not in stacks:
                before = stack(path[:-1]) if len(path) > 1 else None
                stacks[key] = (len(stacks), before, path[-1])
            return stacks[key][0]
        now, rows, stretches = dice.randrange(10**6, 10**7), [], []
        for _ in range(dice.choice([1, 40, 150])):
            length, path = dice.randrange(100_000, 4_000_000), dice.choice(paths)
            gap = dice.randrange(0, length // 2) if jitter else dice.choice([0, 0, 0, length, dice.randrange(length, 10 * length)])
            now += gap + length
            rows.append((stack(path) if path else None, length, now))
            stretches.append((now - length, now, [names[f] for f in path or []]))
        ms = lambda ns: float("%d.%06d" % divmod(ns, 10**6))
        table = sorted(stacks.values())
        threads.append({"name": "t%d" % number, "processName": "p%d" % process, "pid": 100 + process, "tid": 100 + 10 * process + number, "stringArray": names,
            "samples": {"length": len(rows), "stack": [r[0] for r in rows], "weight": [ms(r[1]) for r in rows], "time": [ms(r[2]) for r in rows], "weightType": "tracing-ms"},
            "stackTable": {"length": len(table), "prefix": [t[1] for t in table], "frame": [t[2] for t in table]},
            "frameTable": {"length": 6, "func": list(range(6)), "line": [None] * 6},
            "funcTable": {"length": 6, "name": list(range(6)), "fileName": [None] * 6, "lineNumber": [None] * 6}})
        truth["p%d t%d %d" % (process, number, 100 + 10 * process + number)] = stretches
first = min(s[0][0] for s in truth.values())
json.dump({"meta": {"version": 27, "preprocessedProfileVersion": 41, "interval": 1, "product": "x", "startTime": 1700000000000, "processType": 0}, "libs": [], "threads": threads}, open(sys.argv[1], "w"))
print("%.6fms" % (first / 1e6 + 4))
json.dump({k: [(a - first, b - first, p) for a, b, p in v] for k, v in truth.items()}, open(sys.argv[2], "w"))
END

cat >"$dir/read.py" <<'END'
"""read.py FORMAT FILE TRUTH [jitter]: are its frames the truth's?"""
import collections, gzip, json, sys
form, file, truth = sys.argv[1], sys.argv[2], json.load(open(sys.argv[3]))
jitter = sys.argv[4:] == ["jitter"]
whole = json.loads((gzip.open if form == "firefox" else open)(file, "rb").read())
ns = lambda x: round(x * 1000) if form == "chrome" else round(x * 10**6)
def stretches_of(events):
    """B opens a frame, E closes it: each stretch, and its stack, outermost first."""
    open, last, out = [], 0, []
    for kind, at, name in events:
        if open and at > last: out.append((last, at, list(open)))
        assert at >= last
        last = at
        if kind in "BO": open.append(name)
        else: assert open.pop() == name
    assert not open
    return out
got = {}
if form == "chrome":
    events, process, thread = collections.defaultdict(list), {}, {}
    for e in whole["traceEvents"]:
        key = e["pid"], e["tid"]
        if e["ph"] == "M": (process if e["name"] == "process_name" else thread)[key] = e["args"]["name"]
        else: events[key].append((e["ph"], ns(e["ts"]), e["name"]))
    for key in events: got["%s %s %d" % (process[key], thread[key], key[1])] = stretches_of(events[key])
elif form == "speedscope":
    names = [f["name"] for f in whole["shared"]["frames"]]
    for p in whole["profiles"]:
        assert p["unit"] == "nanoseconds" and p["startValue"] == 0 and p["endValue"] == p["events"][-1]["at"]
        got[p["name"]] = stretches_of([(e["type"], e["at"], names[e["frame"]]) for e in p["events"]])
else:
    for t in whole["threads"]:
        names = [t["stringArray"][t["funcTable"]["name"][f]] for f in t["frameTable"]["func"]]
        def stack(s):
            if s is None: return []
            b = t["stackTable"]["prefix"][s]
            assert b is None or b < s
            return stack(b) + [names[t["stackTable"]["frame"][s]]]
        s, out = t["samples"], []
        for i, (k, w, a) in enumerate(zip(s["stack"], s["weight"], s["time"])):
            if w: out.append((ns(a), ns(a) + ns(w), stack(k) or ["[root]"]))
            else: assert k is None and (i + 1 == s["length"] or s["time"][i + 1] > a)
            assert i + 1 == s["length"] or ns(s["time"][i + 1]) == ns(a) + ns(w) or not w
            assert s["threadCPUDelta"][i] == (ns(s["weight"][i - 1]) if i else 0)
        got["%s %s %d" % (t["processName"], t["name"], t["tid"])] = out
def joined(stretches):
    out = []
    for a, b, p in stretches:
        if out and out[-1][1] == a and out[-1][2] == p: out[-1][1] = b
        else: out.append([a, b, p])
    return out
assert len(got) == 6, len(got)
for key, stretches in truth.items():
    process, name, number = key.split(" ")
    stretches = [(a, b, p or ["[root]"]) for a, b, p in stretches]
    mine = got["%s: %s %s" % (process, name, number) if form == "speedscope" else "%s %s %s" % (process, "GeckoMain" if form == "firefox" and name == "t0" else name, number)]
    if not jitter:
        assert joined(mine) == joined(stretches), (key, joined(mine)[:5], joined(stretches)[:5])
        continue
    # Lengths are kept; no stretch is moved by more than half of its sample, and some follow at once.
    total = lambda s: {q: sum(b - a for a, b, p in s if tuple(p) == q) for q in {tuple(p) for _, _, p in s}}
    assert total(mine) == total(stretches), key
    if form == "firefox":
        assert all(0 <= a - c <= (b - a) / 2 for (a, b, _), (c, _, _) in zip(stretches, mine)), key
        assert len(mine) < 10 or sum(x[1] == y[0] for x, y in zip(mine, mine[1:])) > len(mine) / 3, key
END
# written FORMAT SEED [jitter]
written()
{
    python3 "$dir/make.py" "$dir/source" "$dir/truth" "$2" ${3:+"$3"} >"$dir/begun" &&
        "$tallytree" export --by-time --to "$1" --force -o "$dir/out" "$dir/source" &&
        python3 "$dir/read.py" "$1" "$dir/out" "$dir/truth" ${3:+"$3"}
}
for format in chrome speedscope firefox; do
    several() { for seed in 1 2 3 4 5; do written "$format" $seed || return; done; }
    try "$format: each thread has its frames at each moment" several
    try "$format: samples with small gaps follow each other, and keep their lengths" written "$format" 6 jitter
done

# same FORMAT - functions have the same time when the file is read.
figures()
{
    "$tallytree" report flat --metric time --json --limit all "$1" | python3 -c '
import json, sys
t = json.load(sys.stdin)
key = [c["key"] for c in t["columns"]]
rows = [dict(zip(key, r["values"])) for r in t["rows"] if r["role"] == "entry"]
for r in sorted((r["name"], r["self"], r["inclusive"]) for r in rows if r["inclusive"] and r["name"] != "[root]"): print(*r)'
}
same()
{
    "$tallytree" export --by-time --to "$1" --force -o "$dir/out" "$dir/source" && figures "$dir/out" >"$dir/again" &&
        [ -s "$dir/again" ] && figures "$dir/source" | diff - "$dir/again"
}
# V8's file has one thread: choose each.
cat >"$dir/v8.py" <<'END'
"""v8.py TALLYTREE SOURCE TRUTH: are the samples of each thread the truth's, to the microsecond?"""
import json, subprocess, sys
tallytree, source, truth = sys.argv[1], sys.argv[2], json.load(open(sys.argv[3]))
for key, stretches in truth.items():
    out = json.loads(subprocess.check_output([tallytree, "export", "--by-time", "--to", "v8", "--strand", "thread:" + key.split()[2], source]))
    nodes = {n["id"]: n for n in out["nodes"]}
    parent = {c: n["id"] for n in out["nodes"] for c in n.get("children", [])}
    assert len(nodes) == len(out["nodes"]) == len(parent) + 1 and nodes[1]["callFrame"]["functionName"] == "(root)"
    def path(n): return ["[root]"] if n == 1 else (path(parent[n]) if parent[n] != 1 else []) + [nodes[n]["callFrame"]["functionName"]]
    at, starts = 0, []
    for n, d in zip(out["samples"], out["timeDeltas"]):
        at += d
        starts.append((at, path(n)))
    assert out["startTime"] == 0 and out["endTime"] == at and starts[0][0] == 0 and min(out["timeDeltas"]) >= 0
    first, wanted, end = stretches[0][0], [], stretches[0][0]
    for a, b, p in stretches:
        if a > end: wanted.append((end, ["(idle)"]))
        wanted.append((a, p or ["[root]"]))
        end = b
    wanted.append((end, ["[root]"]))
    assert [p for _, p in starts] == [p for _, p in wanted], key
    assert all(t == (w - first) // 1000 for (t, _), (w, _) in zip(starts, wanted)), key
    assert all(n["hitCount"] == out["samples"].count(n["id"]) for n in out["nodes"] if n["callFrame"]["functionName"] != "(idle)"), key
END
one_by_one() { for seed in 1 2; do python3 "$dir/make.py" "$dir/source" "$dir/truth" $seed >"$dir/begun" && python3 "$dir/v8.py" "$tallytree" "$dir/source" "$dir/truth" || return; done; }
try "v8: each thread has its samples in their order" one_by_one

for format in chrome speedscope firefox; do try "$format: read again, functions have the same time" same $format; done
calls()
{
    "$tallytree" export --by-time --to speedscope --force -o "$dir/out" "$dir/source" || return
    "$tallytree" report flat --metric calls "$dir/out" >"$dir/got" 2>"$dir/err"
    [ $? = 2 ] && grep -q calls "$dir/err"
}
try "frames by time are not calls" calls
part()
{
    "$tallytree" export --by-time --time "0..$(cat "$dir/begun")" --to speedscope --force -o "$dir/out" "$dir/source" &&
        python3 -c 'import json,sys; p = json.load(open(sys.argv[1]))["profiles"]; sys.exit(not 0 < len(p) < 6)' "$dir/out"
}
try "threads without a sample in --time are left out" part

twice()
{
    python3 -c '
import json, sys
p = json.load(open(sys.argv[1] + "/source"))
p["threads"] += [dict(p["threads"][0], processName="another"), dict(p["threads"][1], processName="none", pid=0, tid=0), dict(p["threads"][2], processName="large", pid=2**40, tid=2**40)]
json.dump(p, open(sys.argv[1] + "/twice", "w"))' "$dir" &&
        "$tallytree" export --by-time --to chrome --force -o "$dir/out" "$dir/twice" && python3 -c '
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
threads = [e["tid"] for e in events if e["name"] == "thread_name"]
processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
assert len(threads) == len(set(threads)) == 9 and sorted(processes.values()) == ["another", "large", "none", "p0", "p1"], (threads, processes)
assert all(0 < n < 2**31 for n in threads + list(processes))' "$dir/out"
}
try "threads and processes of one number, of none, or of a large one have numbers of 31 bits in a trace" twice

# wrong MESSAGE ARGUMENT... - refused, and nothing is written.
wrong()
{
    "$tallytree" export --by-time -o "$dir/none" "${@:2}" 2>"$dir/err"
    [ $? = 2 ] && [ ! -e "$dir/none" ] && grep -q "$1" "$dir/err"
}
try "other formats are refused" wrong "is for chrome, firefox, speedscope and v8" --to pprof "$dir/source"
echo "main;f 5" >"$dir/folded"
try "profiles without samples by time are refused" wrong "no samples by time" --to chrome "$dir/folded"
printf 'prog 7/8 [001] 1.000001: 5 cycles:u: \n\t1234 f+0x1 (/bin/prog)\n\n' >"$dir/perf"
try "samples whose weights are no times are refused" wrong "no length in time" --to firefox "$dir/perf"
echo '{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2]},{"id":2,"callFrame":{"functionName":"f"}}],"startTime":0,"endTime":9,"samples":[2,2],"timeDeltas":[3,4]}' >"$dir/v8"
try "a file of V8 has one thread" wrong "room for one thread, and 6 have samples" --to v8 "$dir/source"
try "other metrics are refused" wrong "of the metric .* alone" --to speedscope --metric samples "$dir/v8"
finish
