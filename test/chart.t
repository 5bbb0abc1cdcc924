#!/bin/bash
# SPDX-License-Identifier: MIT
# What a thread did in the order of time: `report chart` against brute force, which finds the
# context at each column from the samples, and programs whose phases are known.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree

# Random threads as perf's text; a sample ends at its time.  The oracle has the samples as
# intervals, and adds up what each column has of each path.
cat >"$tmp/brute.py" <<'END'
import collections, json, random, subprocess, sys
tallytree, folder, seed, waits = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "waits"
r = random.Random(seed)
NS = 1000  # of a us, the unit of times in the file
START = 999000000  # ns: its clock begins a ms before the threads
paths = [["main", "a"], ["main", "b"], ["main", "b", "a"], ["other", "a", "b", "a"], ["other"]]
threads = {}
events = []
for t in range(r.randrange(1, 5)):
    at, end, lane = r.randrange(0, 300), r.randrange(600, 3000), []
    while at < end:
        to, path, asleep = at + r.randrange(1, 200), list(r.choice(paths)), r.random() < .4
        if asleep: path.append("[waits: %s]" % r.choice(["futex", "sleep", "read"]))
        if waits or not asleep:
            events.append((to, t, to - at, path))
            lane.append([1000000000 + at * NS, 1000000000 + to * NS, tuple(path), asleep, 1000000000 + to * NS])
        at = to
    for x, y in zip(lane, lane[1:]):  # a gap that is shorter than the sample before is none
        if y[0] - x[1] < x[1] - x[0]: x[1] = y[0]
    threads["prog %d" % (100 + t)] = lane
events.sort(key=lambda e: e[:2])
with open(folder + "/log", "w") as f:
    f.write("prog 7/99 [001] 0.999000: 1 cpu-clock:u: \n\t1000 begin+0x1 (/bin/prog)\n\n")
    for to, t, us, path in events:
        f.write("prog 7/%d [001] 1.%06d: %d cpu-clock:u: \n%s\n" % (100 + t, to, us * NS, "".join("\t1000 %s+0x1 (/bin/prog)\n" % b for b in reversed(path))))
run = START, 1000000000 + events[-1][0] * NS + 1

def asked(*words):
    table = json.loads(subprocess.run([tallytree, "report", "chart", *words, "--json", folder + "/log"], check=True, text=True, stdout=subprocess.PIPE).stdout)
    key = {c["key"]: i for i, c in enumerate(table["columns"])}
    rows = [dict({k: x["values"][i] for k, i in key.items()}, role=x["role"], depth=x["depth"]) for x in table["rows"]]
    return [x for x in rows if x["role"] == "entry"], rows[-1], next(x["arguments"] for x in table["remarks"] if x["kind"] == "chart")

def column(lane, low, high):
    """What each path of callers has between two moments: how long it is drawn, running and waiting, and was so."""
    has = collections.defaultdict(lambda: [0] * 4)
    for start, end, path, asleep, sure in lane:
        part = min(end, high) - max(start, low)
        for n in range(len(path) + 1) if part > 0 else []:
            has[path[:n]][asleep] += part
            has[path[:n]][2 + asleep] += max(0, min(sure, high) - max(start, low))
    return has

def choose(has, drawn):
    """The path that is drawn; of callees that are equal, the one that the view has taken."""
    path, asleep = (), not has[()][0]
    while True:
        below = {p: v[asleep] for p, v in has.items() if len(p) == len(path) + 1 and p[:-1] == path and v[asleep]}
        own = has[path][asleep] - sum(below.values())
        if not below or sum(below.values()) < own: return path
        best = [p for p, v in below.items() if v == max(below.values())]
        path = drawn[:len(path) + 1] if drawn[:len(path) + 1] in best else best[0]

ran = {name: sum(e - s for s, e, _, asleep, _ in lane if not asleep) for name, lane in threads.items()}
for _ in range(4):
    name, many = r.choice(list(threads)), r.choice([1, 7, 40, 150])
    low = r.randrange(0, run[1] - run[0] - 3000)
    high = r.choice([run[1] - run[0], low + r.randrange(1000, 400000)])
    high = min(high, run[1] - run[0])
    rows, total, about = asked("--thread", name, "--columns", str(many), "--span", "%.9fs..%.9fs" % (low / 1e9, high / 1e9), "--limit", "all")
    assert about[0] == name and about[1] == many, about
    assert (total["from"], total["to"]) == (low, high)
    edges = [low + (high - low) * i // many for i in range(many + 1)]
    drawn, number, before = [()] * many, {}, {}
    for x in rows:
        first, end = edges.index(x["from"]), edges.index(x["to"])
        assert first < end
        for i in range(first, end):
            assert len(drawn[i]) == x["depth"], (x, drawn[i])
            drawn[i] += (x["name"],)
        path = drawn[first]
        assert number.setdefault(path, x["context"]) == x["context"]
        last = before.get(x["depth"])
        # neighbours of one context in one box of their caller are one
        assert not (last and last[0] == path and last[1] == first and all(drawn[first - 1][:d] == path[:d] for d in range(len(path) + 1))), x
        before[x["depth"]] = path, end
    sums = collections.Counter()
    for i in range(many):
        has = column(threads[name], START + edges[i], START + edges[i + 1])
        assert drawn[i] == choose(has, drawn[i]), (seed, name, i, drawn[i], dict(has))
        for n in range(1, len(drawn[i]) + 1):
            sums[i, n - 1] = has[drawn[i][:n]]
    for x in rows:
        parts = [sums[i, x["depth"]] for i in range(edges.index(x["from"]), edges.index(x["to"]))]
        assert (x["ran"], x["waited"] or 0) == (sum(p[2] for p in parts), sum(p[3] for p in parts)), (x, parts)
    few = asked("--thread", name, "--columns", str(many), "--limit", str(many), "--depth", "1", "--span", "%.9fs..%.9fs" % (low / 1e9, high / 1e9))[0]
    assert few == [x for x in rows if x["depth"] == 0]
assert ran[asked()[2][0]] == max(ran.values())  # without a name, the busiest
END
random() { local s; for s in {1..5}; do python3 "$tmp/brute.py" "$tallytree" "$tmp" "$s" "$1" || { echo "seed $s"; return 1; }; done; }
try "of random logs with waits, each column has the context of brute force" random waits
try "and of logs that have only what ran" random running

# A recording: its log rounds times by less than 0.1 ms.
{
    echo 'strand main
push outer'
    for block in parse print parse; do
        echo "push $block"
        for ((i = 0; i < 500; i++)); do echo 'sample 1000000'; done
        echo pop
    done
    echo pop
} >"$tmp/events"
"$tallytree" replay -o "$tmp/phases.rec" "$tmp/events"
boxes() { "$tallytree" report chart --csv --columns "$1" --span "$2" "$tmp/phases.rec" | python3 -c '
import csv, sys
for r in csv.DictReader(sys.stdin):
    if r["role"] == "entry": print(r["name"], *(round(int(r[k]) / 1e6) for k in ("from", "to", "ran")))'; }
equal "of a recording the phases are boxes" "$(boxes 1500 0..1.5s)" "outer 0 1500 1500
parse 0 500 500
print 500 1000 500
parse 1000 1500 500"
equal "down to a part of one sample" "$(boxes 10 0.7102s..0.7106s)" "outer 710 711 0
print 710 711 0"
in_text() { "$tallytree" report chart "$tmp/phases.rec" | grep -q " print$"; }
try "the text shows them" in_text

# What it refuses, with the reason.
refuses() { local words=$1; shift; "$tallytree" report chart "$@" "$tmp/phases.rec" >"$tmp/out" 2>"$tmp/err"; [ $? = 2 ] && grep -q -- "$words" "$tmp/err"; }
try "an unknown thread" refuses "no thread is called" --thread nobody
try "a number of columns that is none" refuses "from 1 to 4000" --columns 4001
try "an empty range" refuses "the range is empty" --span 1s..1s
try "the rest of a run" refuses "one range" --span not:0.5s..1s
try "another order" refuses "the view 'chart' has no 'sort'" --sort ran
"$tallytree" replay --log none -o "$tmp/none.rec" "$tmp/events"
none_here() { "$tallytree" report chart "$tmp/none.rec" 2>"$tmp/err"; [ $? = 2 ] && grep -q "no samples by time" "$tmp/err"; }
try "a recording without a log" none_here
finish
