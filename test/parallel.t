#!/bin/bash
# SPDX-License-Identifier: MIT
# How many threads run at the same time: `report parallel` and `report timeline --by state`,
# against brute force, and programs whose phases have known numbers of threads.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree

# Random threads as perf's text: each sample is a stretch that ends at its time.  The oracle
# looks at each microsecond.
cat >"$tmp/brute.py" <<'END'
import collections, csv, random, subprocess, sys
tallytree, folder, seed, waits = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "waits"
r = random.Random(seed)
threads, length = r.randrange(1, 7), 3000  # us
events, runs, sleeps = [], [], []  # of each microsecond of a thread: the path, or None
paths = [["main", "a"], ["main", "b"], ["main", "b", "a"], ["other", "a", "b", "a"], ["other"]]
for t in range(threads):
    run, sleep = [None] * length, [0] * length
    at = r.randrange(0, 300)
    end = r.randrange(at + 300, length + 1)
    while at < end:
        to = min(end, at + r.randrange(1, 200))
        path = r.choice(paths)
        if r.random() < .5:
            if waits: events.append((to, t, to - at, path + ["[waits: %s]" % r.choice(["futex", "sleep", "read"])]))
            sleep[at:to] = [1] * (to - at)
        else:
            events.append((to, t, to - at, path))
            run[at:to] = [path] * (to - at)
        at = to
    runs.append(run)
    sleeps.append(sleep)
events.sort(key=lambda e: e[:2])
with open(folder + "/log", "w") as f:  # the file's clock begins a ms before the threads
    f.write("prog 7/99 [001] 0.999000: 1 cpu-clock:u: \n\t1000 begin+0x1 (/bin/prog)\n\n")
    for to, t, us, path in events:
        f.write("prog 7/%d [001] 1.%06d: %d cpu-clock:u: \n%s\n" % (100 + t, to, us * 1000, "".join("\t1000 %s+0x1 (/bin/prog)\n" % b for b in reversed(path))))
self, incl, many, alone = (collections.Counter() for _ in range(4))
for us in range(length):
    now = [run[us] for run in runs if run[us]]
    for path in now:
        self[path[-1]] += 1
        for b in set(path):
            incl[b] += 1
            many[b] += len(now)
            alone[b] += len(now) == 1
def rows(*words):
    out = subprocess.run([tallytree, "report", *words, "--csv", folder + "/log"], check=True, text=True, stdout=subprocess.PIPE).stdout
    return list(csv.DictReader(out.splitlines()))
got = {x["name"]: x for x in rows("parallel", "--limit", "all") if x["role"] == "entry" and x["name"] != "begin"}
assert set(got) == set(incl), (set(got), set(incl))
for b, x in got.items():
    assert int(x["self"]) == self[b] * 1000 and int(x["inclusive"]) == incl[b] * 1000, (b, x, self[b], incl[b])
    assert abs(float(x["threads"]) - many[b] / incl[b]) < 1e-6, (b, x, many[b] / incl[b])
    assert int(x["alone_time"]) == alone[b] * 1000 and abs(float(x["alone"]) - alone[b] / incl[b]) < 1e-6, (b, x, alone[b])
order = [int(x["alone_time"]) for x in got.values()]
assert order == sorted(order, reverse=True)
few = rows("parallel", "--limit", "1")
assert sum(int(x["self"]) for x in few if x["role"] != "total") == int(few[-1]["self"]) == sum(self.values()) * 1000 + 1
one = [x["name"] for x in rows("parallel", "--block", "b") if x["role"] == "entry"]
assert one == ["b"], one
for name, what in ("running", runs), ("waiting", sleeps if waits else []):
    for x in rows("timeline", "--by", "state", "--buckets", "7"):
        if x["name"] != name: continue
        edge = [((1000 + events[-1][0]) * 1000 + 1) * i // 7 for i in range(8)]  # the run ends 1 ns after the last sample
        for i, n in enumerate(map(int, x["buckets"].split())):
            truth = sum(max(0, min((us + 1001) * 1000, edge[i + 1]) - max((us + 1000) * 1000, edge[i])) for lane in what for us in range(length) if lane[us])
            assert n == truth, (name, i, n, truth)
END
random() { local s; for s in {1..8}; do python3 "$tmp/brute.py" "$tallytree" "$tmp" "$s" "$1" || { echo "seed $s"; return 1; }; done; }
try "of random logs with waits, threads and time alone are those of brute force" random waits
try "and of logs that have only what ran" random running

# A real program: one thread alone, then three, then two; each has fixed work or a fixed sleep.
cat >"$tmp/phases.c" <<'END'
#include <pthread.h>
#include <time.h>
#define LOOP(name) \
    __attribute__((noinline)) void name(double seconds) \
    { \
        struct timespec a, b; \
        clock_gettime(CLOCK_MONOTONIC, &a); \
        do \
            clock_gettime(CLOCK_MONOTONIC, &b); \
        while ((double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec) < seconds); \
    }
LOOP(alone) LOOP(among_three) LOOP(among_two)
static void *loop_three(void *arg) { among_three(.6); return arg; }
static void *loop_two(void *arg) { among_two(.6); return arg; }
static void together(int threads, void *(*run)(void *))
{
    pthread_t t[3];
    for (int i = 0; i < threads; i++) pthread_create(&t[i], 0, run, 0);
    for (int i = 0; i < threads; i++) pthread_join(t[i], 0);
}
int main(void)
{
    alone(.6);
    together(3, loop_three);
    together(2, loop_two);
}
END
gcc -O1 -g -pthread -o "$tmp/phases" "$tmp/phases.c"

# For so long each thread loops, whether it has a processor or not: so by elapsed time the
# number of threads is known, however busy the machine is.  The first sample of a thread may
# come late.
phases()
{
    "$tallytree" record --wall --force -o "$tmp/phases.tt" "$tmp/phases" 2>"$tmp/err" &&
        "$tallytree" report parallel --csv --limit all "$tmp/phases.tt" | python3 -c '
import csv, sys
rows = {r["name"]: r for r in csv.DictReader(sys.stdin)}
for name, threads in ("alone", 1), ("among_three", 3), ("among_two", 2):
    r = rows[name]
    print(name, r["threads"], r["threads_error"], r["alone"], r["inclusive"])
    assert abs(float(r["threads"]) - threads) < .15 * threads + float(r["threads_error"])
    assert float(r["alone"]) > .9 if threads == 1 else float(r["alone"]) < .15
main = rows["main"]
assert float(main["alone"]) > .9'
}
again() { "$@" || "$@" || "$@"; }
try "of phases with one, three and two threads these are the averages" again phases
over_time()
{
    "$tallytree" report timeline --by state --buckets 18 --csv "$tmp/phases.tt" | python3 -c '
import csv, sys
rows = {r["name"]: list(map(int, r["buckets"].split())) for r in csv.DictReader(sys.stdin)}
size = sum(rows["total"]) / 18 / 3
share = [n / max(1, w + n) for n, w in zip(rows["running"], rows["waiting"])]
print(rows)
# main waits while others run: 1 of 1, 3 of 4, 2 of 3
for at, want in (2, 1), (9, 3 / 4), (15, 2 / 3): assert abs(share[at] - want) < .2, (at, share)'
}
try "over time, so many ran and so many waited" over_time

# main, three threads, two threads: with one of the three, no other one counts.
one_strand()
{
    local thread
    thread=$("$tallytree" report strands --csv --limit all "$tmp/phases.tt" | python3 -c '
import csv, sys
print([r["thread"] for r in csv.DictReader(sys.stdin) if r["role"] == "entry"][1])') &&
        "$tallytree" report parallel --csv --limit all --strand "thread:$thread" "$tmp/phases.tt" | python3 -c '
import csv, sys
rows = [r for r in csv.DictReader(sys.stdin) if r["role"] == "entry" and int(r["inclusive"])]
print(rows)
assert rows
for r in rows: assert float(r["threads"]) == 1 and float(r["alone"]) == 1'
}
try "with --strand, only the chosen threads count" one_strand

wrong()
{
    "$tallytree" report parallel "${@:2}" 2>"$tmp/err"
    [ $? = 2 ] && grep -q "$1" "$tmp/err"
}
try "a filter that removes threads is refused" wrong "by 'block'" --select main "$tmp/phases.tt"
for filter in centre=main prune=main 'fold=*futex*' 'fold=*'; do
    try "so is $filter, which would make waits look like work" wrong "needs the waits" "--$filter" "$tmp/phases.tt"
done
try "so is the rest of a run, in which the threads are not known to have run on" wrong "one range" --time not:0.6s..1.2s "$tmp/phases.tt"
rest()
{
    total() { "$tallytree" report "${@:2}" --time not:0.6s..1.2s --csv "$tmp/phases.tt" | grep ^total | cut -d, -f"$1"; }
    local flat state
    flat=$(total 6 flat) && state=$(total 5 timeline --by state) && echo "$flat $state"
    [ "$flat" -gt 0 ] && [ $((100 * (state - flat) / flat)) -lt 5 ] && [ $((100 * (flat - state) / flat)) -lt 5 ]
}
try "over time it has only what its samples have" rest
folded() { "$tallytree" report parallel --fold alone "$tmp/phases.tt" >"$tmp/out"; }
try "other functions can be folded" folded
"$tallytree" replay --log none -o "$tmp/none.rec" <<<$'strand main\npush a\nsample 4000000\npop'
try "so is a recording without a log" wrong "no samples by time" "$tmp/none.rec"
printf 'prog 7/99 [001] 1.0: 1000 cycles:u: \n\t1000 main+0x1 (/bin/prog)\n\n' >"$tmp/cycles"
try "and samples without a length in time" wrong "no length in time" "$tmp/cycles"
cycles_over_time() { "$tallytree" report timeline --by state "$tmp/cycles" 2>"$tmp/err"; [ $? = 2 ] && grep -q "no length in time" "$tmp/err"; }
try "these are refused over time, too" cycles_over_time
in_range() { "$tallytree" report parallel --time 0s..0.5s --csv "$tmp/phases.tt" | grep -q ',alone,' && ! "$tallytree" report parallel --time 0s..0.5s --csv "$tmp/phases.tt" | grep among; }
try "a range of time has what ran in it" in_range
json() { "$tallytree" report parallel --json "$tmp/phases.tt" | python3 -c '
import json, sys
t = json.load(sys.stdin)
assert {"threads", "threads_error", "alone", "alone_error", "alone_time"} <= {c["key"] for c in t["columns"]} and t["rows"]'; }
try "JSON has the same columns" json
finish
