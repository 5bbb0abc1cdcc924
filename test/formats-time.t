#!/bin/bash
# SPDX-License-Identifier: MIT
# Imported profiles keep the times of samples: a range of time has what the source file's samples
# in it add up to.
. "$(dirname "$0")/formats.sh"

cat >"$dir/write.py" <<'END'
# write.py FOLDER - samples at known times in two phases, in each format, and FORMAT.truth, in which
# each has its time (ns after the first), function and weight.
import json, random, struct, sys
folder, r = sys.argv[1], random.Random(3)
names = ["main", "parse", "eval", "gc"]
us, samples = 5_000_000, []
for i in range(3000):
    phase = (.1, .8, .1) if 1000 <= i < 1800 else (.45, .05, .5)
    samples.append((us, r.choices([1, 2, 3], phase)[0]))
    us += r.randrange(300, 1700)
first = samples[0][0]
lasting = [b[0] - a[0] for a, b in zip(samples, samples[1:])] + [0]  # until the next one

def truth(name, weights):
    with open(folder + "/" + name + ".truth", "w") as f:
        for (t, k), w in zip(samples, weights): f.write("%d %s %d\n" % ((t - first) * 1000, names[k], w))

def write(name, what, weights):
    with open(folder + "/" + name, "w" if isinstance(what, str) else "wb") as f: f.write(what)
    truth(name, weights)

ones, ns = [1] * len(samples), [1000 * d for d in lasting]
periods = [r.randrange(1, 5000) for _ in samples]
write("perf", "".join("prog 7/8 [001] %d.%06d: %d cycles:u: \n\t1234 %s+0x1 (/bin/prog)\n\t1000 main+0x2 (/bin/prog)\n\n" % (t // 10**6, t % 10**6, p, names[k]) for (t, k), p in zip(samples, periods)), periods)
write("perf-bare", "".join("prog 7/8 [001] %d.%06d: cycles:u: \n\t1234 %s+0x1 (/bin/prog)\n\t1000 main+0x2 (/bin/prog)\n\n" % (t // 10**6, t % 10**6, names[k]) for t, k in samples), ones)

# perf record: one mapping; each function is a page of it, without names.
USER, flags = (1 << 64) - 512, 1 << 18
attribute = struct.pack("<IIQQQQQ", 0, 128, 0, 1000, 1 | 2 | 4 | 32 | 256, 0, flags) + bytes(80)
records = struct.pack("<IHHIIQQQ", 1, 2, 8 + 32 + 24 + 16, 7, 7, 0x400000, 0x10000, 0) + b"/no/such/prog\0" + bytes(10) + struct.pack("<IIQ", 7, 7, 1)
for (t, k), p in zip(samples, periods):
    body = struct.pack("<QIIQQQ3Q", 0x400010 + 0x1000 * k, 7, 7, t * 1000, p, 3, USER, 0x400010 + 0x1000 * k, 0x400020)
    records += struct.pack("<IHH", 9, 2, 8 + len(body)) + body
at = 104 + len(attribute) + 16
write("perf.data", b"PERFILE2" + struct.pack("<QQQQQQQQQ", 104, len(attribute) + 16, 104, len(attribute) + 16, at, len(records), 0, 0, 0) + bytes(24) + attribute + struct.pack("<QQ", 0, 0) + records, periods)

frames = {"functionName": "", "scriptId": "1", "url": "file:///p.js", "lineNumber": 1, "columnNumber": 1}
nodes = [{"id": i + 1, "callFrame": dict(frames, functionName=n), **({"children": [2, 3, 4]} if not i else {})} for i, n in enumerate(names)]
nodes = [{"id": 9, "callFrame": dict(frames, functionName="(root)"), "children": [1]}] + nodes
deltas = [100] + lasting[:-1]
write("cpuprofile", json.dumps({"nodes": nodes, "startTime": first - 100, "endTime": us, "samples": [k + 1 for _, k in samples], "timeDeltas": deltas}), ns)
write("chrome", json.dumps({"traceEvents": [], "samples": [{"ts": str(t), "pid": 7, "tid": "1", "sf": k + 1} for t, k in samples], "stackFrames": {str(i + 1): {"name": n, **({"parent": 1} if i else {})} for i, n in enumerate(names)}}), ns)
write("speedscope", json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": n} for n in names]}, "profiles": [{"type": "sampled", "name": "p", "unit": "microseconds", "startValue": first, "endValue": us, "samples": [[0, k] for _, k in samples], "weights": lasting}]}), ns)

table = {"length": 4, "prefix": [None, 0, 0, 0], "frame": [0, 1, 2, 3]}
def firefox(times):
    thread = {"name": "t", "processName": "p", "pid": 7, "tid": 8, "stringArray": names, "samples": {"length": len(samples), "stack": [k for _, k in samples], **times},
              "stackTable": table, "frameTable": {"length": 4, "func": [0, 1, 2, 3], "line": [None] * 4}, "funcTable": {"length": 4, "name": [0, 1, 2, 3], "fileName": [None] * 4, "lineNumber": [None] * 4}}
    return json.dumps({"meta": {"version": 27, "preprocessedProfileVersion": 48, "interval": 1, "product": "x", "processType": 0}, "libs": [], "threads": [thread]})
write("firefox", firefox({"time": [t / 1000 for t, _ in samples]}), ones)
write("firefox-deltas", firefox({"timeDeltas": [(b - a) / 1000 for a, b in zip([0] + [t for t, _ in samples], [t for t, _ in samples])]}), ones)
write("gecko", json.dumps({"meta": {"version": 25, "interval": 1, "product": "x", "processType": 0}, "libs": [], "processes": [], "threads": [{"name": "t", "tid": 8, "pid": 7, "stringTable": names,
    "samples": {"schema": {"stack": 0, "time": 1}, "data": [[k, t / 1000] for t, k in samples]}, "stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [[None, 0], [0, 1], [0, 2], [0, 3]]},
    "frameTable": {"schema": {"location": 0}, "data": [[i] for i in range(4)]}}]}), ones)
END
cat >"$dir/check.py" <<'END'
# check.py TALLYTREE FILE FROM TO - of the range in seconds, and of the rest of the run.
import collections, csv, subprocess, sys
tallytree, file, begin, end = sys.argv[1], sys.argv[2], *map(float, sys.argv[3:])
def wanted(inside):
    sums = collections.Counter()
    for line in open(file + ".truth"):
        t, name, w = line.split()
        if (begin * 1e9 <= int(t) < end * 1e9) == inside: sums[name] += int(w)
    return sums
def got(time):
    rows = csv.DictReader(subprocess.check_output([tallytree, "report", "flat", "--csv", "--time", time, file], text=True).splitlines())
    return collections.Counter({pages.get(r["name"], r["name"]): int(r["self"]) for r in rows if r["role"] == "entry" and r["self"] != "0"})
pages = {"prog+0x%x" % (0x400010 + 0x1000 * k): n for k, n in enumerate(["main", "parse", "eval", "gc"])}
text = "%gs..%gs" % (begin, end)
for time, inside in (text, True), ("not:" + text, False):
    assert got(time) == wanted(inside), (time, got(time), wanted(inside))
END
python3 "$dir/write.py" "$dir"
for format in perf perf-bare perf.data cpuprofile chrome speedscope firefox firefox-deltas gecko; do
    for range in "1 1.8" "0.25 0.2505"; do
        # shellcheck disable=SC2086
        try "$format: a range of ${range/ / to } s has what its samples have" python3 "$dir/check.py" "$tallytree" "$dir/$format" $range
    done
    equal "$format: bursts are found" "$("$tallytree" report bursts --limit 1 --csv "$dir/$format" | python3 -c '
import csv, sys
print(*(r["name"] for r in csv.DictReader(sys.stdin) if r["role"] == "entry"))' | sed 's/prog+0x402010/eval/')" eval
done
# Cycles and ns are not added: a merge has the samples of the preferred metric.
"$tallytree" merge -o "$dir/both.tt" "$dir/perf" "$dir/speedscope"
"$tallytree" merge -o "$dir/other.tt" "$dir/speedscope" "$dir/perf"
"$tallytree" merge -o "$dir/cycles.tt" "$dir/perf" "$dir/perf-bare"
"$tallytree" merge -o "$dir/all.tt" "$dir/cycles.tt" "$dir/speedscope"
cp "$dir/speedscope.truth" "$dir/both.tt.truth"
cp "$dir/perf.truth" "$dir/cycles.tt.truth"
try "a merge of cycles and samples has the cycles" python3 "$dir/check.py" "$tallytree" "$dir/cycles.tt" 1 1.8
try "a merge of cycles and times has the times" python3 "$dir/check.py" "$tallytree" "$dir/both.tt" 1 1.8
try "in any order" cmp "$dir/both.tt" "$dir/other.tt"
"$tallytree" merge -o "$dir/once.tt" "$dir/perf" "$dir/perf-bare" "$dir/speedscope"
try "and grouping" cmp "$dir/all.tt" "$dir/once.tt"
# More samples than a profile keeps, of two functions at the same times: half of each stays, and the
# order of files does not matter.
python3 - "$dir" <<'END'
import sys
for name in "AB":
    with open("%s/tie%s" % (sys.argv[1], name), "w") as f:
        for i in range(140000):
            f.write("prog  7/7  %.6f:     250000 cpu-clock: \n\t      %x %s (/x)\n\t      1000 main (/x)\n\n" % (1000 + i * 0.001, 0x1000 + ord(name), name))
END
"$tallytree" merge -o "$dir/ab.tt" "$dir"/tie{A,B}
"$tallytree" merge -o "$dir/ba.tt" "$dir"/tie{B,A}
try "samples of one time are merged to the same bytes in any order" cmp "$dir/ab.tt" "$dir/ba.tt"
try "and none of them is preferred" sh -c "'$tallytree' report flat --csv --time 10%..90% '$dir/ab.tt' | python3 -c '
import csv, sys
share = {r[\"name\"]: float(r[\"self\"]) for r in csv.DictReader(sys.stdin) if r[\"role\"] == \"entry\"}
assert 0.45 < share[\"A\"] / (share[\"A\"] + share[\"B\"]) < 0.55, share'"
finish
