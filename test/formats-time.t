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

# Java's Flight Recorder, with a clock of 10 MHz: a sample of a wall clock may weigh more than 1.
from jfrwriter import of, chunk, number as n, event, ids, utf8, pools
def jfr_pools(symbols):
    def pool(name, entries): return n(ids[name]) + n(len(entries)) + b"".join(n(k) + v for k, v in entries.items())
    return event(n(1) + n(5) + n(0) + n(0) + b"\0" + n(5) + pool("jdk.types.Symbol", symbols) + pool("java.lang.Class", {1: n(9) + n(0)}) +
        pool("jdk.types.Method", {k: n(1) + n(k) + n(0) for k in (1, 2, 3, 4)}) + pool("jdk.types.StackTrace", {k: b"\0" + n(1) + n(k) + n(1) + n(0) for k in (1, 2, 3, 4)}) +
        pool("java.lang.Thread", {1: utf8("t") + n(301) + utf8("t") + n(11)}))
import jfrwriter
jfrwriter.pools = jfr_pools
symbols = {9: utf8(""), **{k + 1: utf8(name) for k, name in enumerate(names)}}
begin = 5 # in ticks: see chunk()
write("jfr", chunk([of("jdk.ExecutionSample", n(begin + (t - first) * 10), b"\0" * 4, n(1), n(k + 1)) for t, k in samples], symbols), ones)
several = [r.randrange(1, 9) for _ in samples]
write("jfr-wall", chunk([of("profiler.WallClockSample", n(begin + (t - first) * 10), n(1), n(k + 1), n(w)) for (t, k), w in zip(samples, several)], symbols), several)

# .NET, before version 6 and from it on; version 6 weighs its samples.
def varint(n):
    b = b""
    while n > 127: b, n = b + bytes([n & 127 | 128]), n >> 7
    return b + bytes([n])
def utf16(s): return s.encode("utf-16-le") + b"\0\0"
def net():
    data = b"Nettrace\x14\0\0\0!FastSerialization.1"
    def put(name, payload, padded=True):
        nonlocal data
        data += b"\5\5\1" + struct.pack("<iii", 2, 2, len(name)) + name + b"\6"
        if padded:
            data += struct.pack("<i", len(payload))
            data += bytes(-len(data) % 4)
        data += payload + b"\6"
    put(b"Trace", struct.pack("<8hqqiiii", 2024, 2, 4, 29, 23, 59, 58, 7, first * 10, 10**7, 8, 77, 2, 1000000), False)
    def long(kind, sequence, stack, ticks, payload):
        body = struct.pack("<IIqqiiq", kind, sequence, 1, 1, 3, stack, ticks) + bytes(32) + struct.pack("<i", len(payload)) + payload
        one = struct.pack("<i", len(body)) + body
        return one + bytes(-len(one) % 4)
    kinds = [("Microsoft-DotNETCore-SampleProfiler", 0), ("Microsoft-Windows-DotNETRuntime", 143)]
    head = struct.pack("<hhqq", 20, 0, 0, 0)
    put(b"MetadataBlock", head + b"".join(long(0, 0, 0, 0, struct.pack("<i", i + 1) + utf16(p) + struct.pack("<i", e) + utf16("Name") + struct.pack("<qiii", 0, 1, 4, 0)) for i, (p, e) in enumerate(kinds)))
    put(b"EventBlock", head + b"".join(long(2, k + 1, 0, 0, struct.pack("<QQQIII", 1, 500, 0x1000 * (k + 1), 16, 6, 0) + utf16("") + utf16(name) + utf16("") + struct.pack("<H", 9)) for k, name in enumerate(names)))
    put(b"StackBlock", struct.pack("<ii", 1, 4) + b"".join(struct.pack("<iQ", 8, 0x1000 * (k + 1)) for k in range(4)))
    half = len(samples) // 2
    put(b"EventBlock", head + b"".join(long(1, 5 + i, k + 1, t * 10, struct.pack("<i", 2)) for i, (t, k) in enumerate(samples[:half])))
    block, last, before = struct.pack("<hhqq", 20, 1, 0, 0), 0, None
    for i, (t, k) in enumerate(samples[half:]):
        flags = 1 | 4 | 128 if before is None else 0
        flags |= 8 | (2 if before is None else 0)
        block += bytes([flags])
        if flags & 1: block += varint(1)
        if flags & 2: block += varint(4 + half + i) + varint(1) + varint(3)
        if flags & 4: block += varint(1)
        block += varint(k + 1) + varint(t * 10 - last)
        if flags & 128: block += varint(4)
        block += struct.pack("<i", 2)
        last, before = t * 10, k
    put(b"EventBlock", block)
    return data + b"\1"
write("nettrace", net(), ones)

# Protocol buffers: simpleperf's, Perfetto's, OpenTelemetry's.
def f(number, value):
    if isinstance(value, int): return varint(number << 3) + varint(value % 2**64)
    value = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(value)) + value
def fixed(number, value): return varint(number << 3 | 1) + struct.pack("<Q", value)
records = [f(5, f(1, "cpu-cycles"))] + [f(1, f(1, t * 1000) + f(2, 8) + f(3, f(1, k) + f(2, 0) + f(3, k)) + f(3, f(1, 9) + f(2, 0) + f(3, 0)) + f(4, p) + f(5, 0)) for (t, k), p in zip(samples, periods)]
records += [f(3, f(1, 0) + f(2, "prog") + b"".join(f(3, n) for n in names)), f(4, f(1, 8) + f(2, 8) + f(3, "t"))]
write("simpleperf", b"SIMPLEPERF" + struct.pack("<H", 1) + b"".join(struct.pack("<I", len(x)) + x for x in records) + bytes(4), periods)

tables = b"".join(f(5, f(1, k + 1) + f(2, n)) + f(6, f(1, k + 1) + f(2, k + 1)) + f(7, f(1, k + 1) + f(2, k + 1)) for k, n in enumerate(names))
head = f(1, f(10, 1) + f(41, 1) + f(12, tables))
write("perfetto", head + b"".join(f(1, f(8, t * 1000) + f(10, 1) + f(66, f(2, 7) + f(3, 7) + f(4, k + 1))) for t, k in samples), ones)
packets, last, at = [f(1, f(10, 1) + f(44, f(1, 7) + f(2, 7) + f(6, first - 9)))], first - 9, 0
while at < len(samples): # one by one, and packed
    some = samples[at:at + r.randrange(1, 40)]
    since = [b - a for a, b in zip([last] + [t for t, _ in some], [t for t, _ in some])]
    packed = at % 2
    body = f(1, b"".join(varint(k + 1) for _, k in some)) + f(2, b"".join(map(varint, since))) if packed else b"".join(f(1, k + 1) + f(2, d) for (_, k), d in zip(some, since))
    packets.append(f(1, f(10, 1) + f(54, body)))
    last, at = some[-1][0], at + len(some)
write("perfetto-streamed", head + b"".join(packets), ones)

# Each stack has all its samples in one message: with times alone, or with values.
strings = ["", "samples", "cpu", "nanoseconds", *names]
dictionary = f(1, b"") + f(2, b"") + b"".join(f(2, f(3, f(1, k + 1))) for k in range(4)) + f(3, b"") + b"".join(f(3, f(1, 4 + k)) for k in range(4)) + b"".join(f(5, s) for s in strings) + f(7, b"") + b"".join(f(7, f(1, varint(k + 1))) for k in range(4))
def otlp(type, unit, each): return f(1, f(1, b"") + f(2, f(2, f(1, f(1, type) + f(2, unit)) + b"".join(f(2, each(k)) for k in (1, 2, 3))))) + f(2, dictionary)
of_k = lambda k: [(i, t * 1000) for i, (t, j) in enumerate(samples) if j == k]
write("otlp", otlp(1, 0, lambda k: f(1, k + 1) + f(5, b"".join(struct.pack("<Q", t) for _, t in of_k(k)))), ones)
write("otlp-values", otlp(2, 3, lambda k: f(1, k + 1) + b"".join(f(4, ns[i]) + fixed(5, t) for i, t in of_k(k))), ns)

xml = "".join('<row><sample-time id="%d" fmt="x">%d</sample-time><weight id="%d" fmt="x">%d</weight><backtrace id="%d"><frame id="%d" name="%s" addr="0x1"></frame></backtrace></row>\n' % (4 * i + 1, t * 1000, 4 * i + 2, w, 4 * i + 3, 4 * i + 4, names[k]) for i, ((t, k), w) in enumerate(zip(samples, ns)))
write("xctrace", "<?xml version='1.0'?>\n<trace-query-result>\n<node xpath='//trace-toc[1]'><schema name=\"time-profile\"><col><name>Sample Time</name></col></schema>" + xml + "</node></trace-query-result>\n", ns)

# Caliper's traces: each record has the time since the run began, and since the last record.
cali = ["__rec=node,id=12,attr=10,data=64,parent=3", "__rec=node,id=38,attr=10,data=65,parent=5", "__rec=node,id=100,attr=8,data=time.offset.ns,parent=38", "__rec=node,id=101,attr=8,data=time.duration.ns,parent=38",
        "__rec=node,id=40,attr=10,data=276,parent=3", "__rec=node,id=41,attr=8,data=region,parent=40", *("__rec=node,id=%d,attr=41,data=%s" % (50 + k, n) for k, n in enumerate(names))]
write("cali", "\n".join(cali + ["__rec=ctx,ref=%d,attr=100=101,data=%d=%d" % (50 + k, (t - first) * 1000, w) for (t, k), w in zip(samples, ns)]) + "\n", ns)
write("caliper", json.dumps({"data": [[(t - first) / 1e6, w / 1e9, k] for (t, k), w in zip(samples, ns)], "columns": ["time.offset", "time.duration", "path"],
    "column_metadata": [{"is_value": True, "attribute.unit": "sec"}, {"is_value": True, "attribute.unit": "sec"}, {"is_value": False}], "nodes": [{"label": n, "column": "path"} for n in names]}), ns)
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
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="test" python3 "$dir/write.py" "$dir"
for format in perf perf-bare perf.data cpuprofile chrome speedscope firefox firefox-deltas gecko \
    jfr jfr-wall nettrace simpleperf perfetto perfetto-streamed otlp otlp-values xctrace cali caliper; do
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
