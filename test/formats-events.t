#!/bin/bash
# SPDX-License-Identifier: MIT
# Traces of events have a time axis: a range of time has what was open in it, and sums over all ranges are
# the totals.  Python makes random traces, and computes each moment from them.
. "$(dirname "$0")/formats.sh"

cat >"$dir/make.py" <<'EOF'
# make.py FOLDER SEED [EVENTS [THREADS]] - one random run in each format, and FOLDER/truth: of each thread the
# stretches [from, to) in ns, each with its stack.
import json, os, random, struct, sys
folder, dice = sys.argv[1], random.Random(int(sys.argv[2]))
events, threads = (list(map(int, sys.argv[3:])) + [150, 3][len(sys.argv) - 3:])[:2]
names = ["main", "f", "g", "h", "größe", "x::y"]
truth, calls = {}, {}  # calls: of each thread (from, to, name), and `marks`, in the order of time
for thread in range(threads):
    now = dice.randrange(0, 3_000_000) if thread else 1_000_000  # threads begin late
    stack, stretches, marks = [], [], []
    step = lambda: dice.choice([0, 1, dice.randrange(1, 2000), dice.randrange(1, 200_000), dice.randrange(1, 40_000_000) if dice.random() < .02 else 3])
    for i in range(events):
        enter = not stack or (len(stack) < 12 and dice.random() < .5)
        if not stack and i: now += dice.choice([0, 5, 70_000, 3_000_000])  # nothing runs
        if enter:
            marks.append((now, 1, dice.randrange(6)))
            stack.append(marks[-1][2])
        else:
            marks.append((now, 0, stack.pop()))
        if stack:
            length = step()
            if length: stretches.append((now, now + length, [names[k] for k in stack]))
            now += length
    while stack: marks.append((now, 0, stack.pop()))
    truth[str(100 + thread)], calls[100 + thread] = stretches, marks
json.dump(truth, open(folder + "/truth", "w"))

us = lambda ns: float("%d.%03d" % divmod(ns, 1000))
lines = []
for thread, marks in calls.items():
    # A whole trace of B and E, in order; or X, of any order.
    if thread % 2:
        lines.append([dict(name=names[k], ph="B" if o else "E", ts=us(at), pid=7, tid=thread) for at, o, k in marks])
    else:
        stack, x = [], []
        for at, o, k in marks:
            if o: stack.append((at, k, len(x))); x.append(None)
            else:
                begin, k, place = stack.pop()
                x[place] = dict(name=names[k], ph="X", ts=us(begin), dur=us(at - begin), pid=7, tid=thread)
        lines.append(x)
mixed = []
while any(lines): mixed.append(dice.choice([l for l in lines if l]).pop(0))
json.dump({"traceEvents": [dict(name="thread_name", ph="M", pid=7, tid=t, args={"name": "t"}) for t in calls] + mixed}, open(folder + "/chrome", "w"))
moved = [dict(e, ts=e["ts"] - 5_000_000) for e in mixed]
json.dump(moved, open(folder + "/negative", "w"))
json.dump({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": n} for n in names]},
    "profiles": [{"type": "evented", "name": str(t), "unit": "nanoseconds", "startValue": 0, "endValue": m[-1][0], "events": [{"type": "OC"[not o], "at": at, "frame": k} for at, o, k in m]} for t, m in calls.items()]}, open(folder + "/speedscope", "w"))
os.makedirs(folder + "/uftrace", exist_ok=True)
u = folder + "/uftrace/"
open(u + "info", "wb").write(b"Ftrace!\0" + struct.pack("<IHBBQQHHI", 4, 40, 1, 2, 0, 0, 0, 0, 0)[:32] + b"cmdline:prog\n")
open(u + "task.txt", "w").write("SESS timestamp=0.000000000 pid=7 sid=aa exename=\"/bin/prog\"\n" + "".join("TASK timestamp=0.0 tid=%d pid=7\n" % t for t in calls))
open(u + "sid-aa.map", "w").write("00400000-00500000 r-xp 00000000 08:01 1 /bin/prog\n")
open(u + "prog.sym", "w").write("".join("%016x T %s\n" % (0x1000 * (k + 1), n) for k, n in enumerate(names)))
for t, marks in calls.items():
    depth, out = 0, b""
    for at, o, k in marks:
        depth -= not o
        out += struct.pack("<QQ", at, (0x401000 + 0x1000 * k) << 16 | depth << 6 | 5 << 3 | (0 if o else 1))
        depth += o
    open(u + "%d.dat" % t, "wb").write(out)
EOF

cat >"$dir/check.py" <<'EOF'
# check.py TALLYTREE FOLDER FILE SEED MODE - exact: ranges whose ends are events; all: any ranges, and sums over
# ranges that cover the run; sums: these alone; moments: each thread's stack at each moment.
import collections, csv, json, random, subprocess, sys
tallytree, folder, file, seed, mode = sys.argv[1:]
dice, truth = random.Random(int(seed)), json.load(open(folder + "/truth"))
first, last = min(s[0][0] for s in truth.values()), max(s[-1][1] for s in truth.values())
whole = sum(b - a for s in truth.values() for a, b, _ in s)
unit = 1
while whole // 2**14 >= unit: unit *= 2
def run(*words): return subprocess.check_output([tallytree, *words], text=True)
def got(*options):
    rows = csv.DictReader(run("report", "flat", "--metric", "time", "--csv", "--limit", "all", *options, file).splitlines())
    return collections.Counter({r["name"]: int(r["self"]) for r in rows if r["role"] == "entry" and r["self"] != "0"})
def wanted(begin, end):
    sums = collections.Counter()
    for s in truth.values():
        for a, b, stack in s: sums[stack[-1]] += max(0, min(b, end) - max(a, begin))
    return +sums
def text(a, b): return "%dns..%dns" % (a - first, b - first)
edges = sorted({t for s in truth.values() for a, b, _ in s for t in (a, b)})
if mode == "exact":
    # A thread's own events, and no other thread within a stretch: then nothing is cut.
    assert got() == wanted(first, last)
    inside = [t for t in edges if all(not a < t < b for s in truth.values() for a, b, _ in s)] or [first, last]
    for _ in range(3):
        a, b = sorted(dice.sample(inside, 2)) if len(inside) > 2 else (first, last)
        if wanted(a, b): assert got("--time", text(a, b)) == wanted(a, b), (a, b)
elif mode == "sums":
    cuts = [first] + sorted(dice.sample(range(first + 1, last), 4)) + [last]
    assert sum(sum(got("--time", text(a, b)).values()) for a, b in zip(cuts, cuts[1:])) == whole
elif mode == "all":
    for _ in range(4):
        a, b = sorted(dice.sample(range(first, last + 1), 2))
        g, w = got("--time", text(a, b)), wanted(a, b)
        # A stretch counts by where its part ends: at each end of the range, each thread may be wrong by a part.
        assert sum(abs(g[n] - w[n]) for n in g | w) <= 2 * unit * len(truth), (a, b, g, w)
    cuts = [first] + sorted(dice.sample(range(first + 1, last), 3)) + [last]
    sums = collections.Counter()
    for a, b in zip(cuts, cuts[1:]):
        if wanted(a, b): sums += got("--time", text(a, b))
    assert sums == wanted(first, last), (sums, wanted(first, last))
else:
    run("export", "--by-time", "--to", "speedscope", "--force", "-o", folder + "/out", file)
    out = json.load(open(folder + "/out"))
    names, found = [f["name"] for f in out["shared"]["frames"]], []
    def joined(stretches):
        j = []
        for a, b, p in stretches:
            if j and j[-1][1] == a and j[-1][2] == p: j[-1][1] = b
            else: j.append([a, b, p])
        return j
    for p in out["profiles"]:
        open_, at, s = [], 0, []
        for e in p["events"]:
            if open_ and e["at"] > at: s.append((at, e["at"], list(open_)))
            at = e["at"]
            if e["type"] == "O": open_.append(names[e["frame"]])
            else: assert open_.pop() == names[e["frame"]]
        found.append(joined(s))
    assert sorted(found) == sorted(joined((a - first, b - first, p) for a, b, p in s) for s in truth.values())
EOF

# checked FORMAT MODE SEED - of a random run.
checked()
{
    mkdir -p "$dir/$3"
    [ -e "$dir/$3/truth" ] || python3 "$dir/make.py" "$dir/$3" "$3"
    "$tallytree" merge --recursion none -o "$dir/kept.tt" "$dir/$3/$1" 2>"$dir/said" &&
        python3 "$dir/check.py" "$tallytree" "$dir/$3" "$dir/kept.tt" "$3" "$2"
}
for format in chrome negative speedscope uftrace; do
    try "$format: a range from event to event is exact" checked $format exact 1
    try "$format: any range is right to a part at each end, and ranges add up to the total" checked $format all 1
    try "$format: each thread has its stack at each moment" checked $format moments 2
done
evicted()
{
    mkdir -p "$dir/deep" && python3 "$dir/make.py" "$dir/deep" 3 8000 2 &&
        "$tallytree" merge --recursion none --budget 256K -o "$dir/few.tt" "$dir/deep/uftrace" &&
        "$tallytree" report header --csv "$dir/few.tt" | grep -q ',evictions,,[1-9]' &&
        python3 "$dir/check.py" "$tallytree" "$dir/deep" "$dir/few.tt" 3 sums
}
try "what was evicted is in the sums of ranges" evicted

# More stretches than the log holds: a block of odd seconds, and one of even ones.
cat >"$dir/many.py" <<'EOF'
import random
dice, at, lines = random.Random(4), 0, []
sums = [0, 0, 0, 0]
for i in range(600_000):
    length, gap = dice.randrange(1, 60), dice.randrange(5)
    odd = at // 1_000_000 % 2
    lines.append('{"name":"%s","ph":"X","ts":%d,"dur":%d,"pid":1,"tid":1}' % ("eo"[odd], at, length))
    at += length + gap
print("[" + ",\n".join(lines) + "]")
EOF
many()
{
    local time
    python3 "$dir/many.py" >"$dir/many" && "$tallytree" merge -o "$dir/many.tt" "$dir/many" || return
    for time in 0..4s 4s..8s 8s..16s 16s..; do "$tallytree" report flat --csv --time $time "$dir/many.tt"; done >"$dir/got"
    "$tallytree" report flat --csv --metric time "$dir/many.tt" | cat - "$dir/got" >"$dir/all"
    python3 - "$dir/all" <<'EOF'
import csv, sys
tables, totals = [], []
for line in csv.reader(open(sys.argv[1])):
    if line[0] == "role": keys = line; tables.append({}); continue
    row = dict(zip(keys, line))
    if row["role"] == "entry": tables[-1][row["name"]] = int(row["self"])
whole, *parts = tables
assert sum(sum(t.values()) for t in parts) == sum(whole.values()), tables
for t in parts[:3]: assert abs(t["e"] - t["o"]) < .02 * sum(t.values()), tables
EOF
}
try "a trace with more stretches than the log holds: sums are kept, and its phases are found" many

# shown JSON TIME - the blocks of a range, each with its self time in ns.
shown()
{
    echo "$1" >"$dir/small.json"
    "$tallytree" report flat --csv --time "$2" "$dir/small.json" | python3 -c '
import csv, sys
print(*sorted(r["name"] + "=" + r["self"] for r in csv.DictReader(sys.stdin) if r["role"] == "entry" and r["self"] != "0"))'
}
x() { echo '{"name":"'"$1"'","ph":"X","ts":'"$2"',"dur":'"$3"',"pid":1,"tid":1}'; }
equal "an event that sticks out of another is cut off there" "$(shown "[$(x a 0 10),$(x b 5 10)]" 4us..)" "a=1000 b=5000"
equal "events of no length are in no range" "$(shown "[$(x a 3 0),$(x b 3 2),$(x c 4 0)]" 0..)" "b=2000"
equal "the run begins with the first event that has a length" "$(shown "[$(x a -7 2),$(x b -2305843009000 1)]" 0..1us)" "b=1000"
equal "a run of 30 years is cut into parts" "$(shown "[$(x a 0 1000000000000000),$(x b 1000000000000000 7)]" 1000000000s..)" "b=7000"
equal "a file that was cut off after an event has the time of what is complete" "$(shown "[$(x a 0 10),$(x b 20 5)," 10us..)" "b=5000"
sums() { "$tallytree" export --to "$1" --metric time --force -o "$dir/sums" "$dir/1/chrome" && "$tallytree" report header --csv "$dir/sums" | grep -q ',log,,0$'; }
for format in chrome speedscope; do try "$format: sums of Tallytree have no order in time" sums $format; done
finish
