#!/bin/bash
# SPDX-License-Identifier: MIT
# Shares of ranges of time against random programs whose shares are known: `make soak` has 200.
. "$(dirname "$0")/tap.sh"

cat >"$tmp/shares.py" <<'END'
# shares.py TALLYTREE FOLDER RUNS - random programs of phases, whose shares are known: is the share
# of each block in any range within its own plus-minus?  As recorded, with a log that is too
# small, and in a tree that is too small.  At least LEAST of 100 cases must be.
import json, random, subprocess, sys
tallytree, folder, runs, least = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
MS, COUNT = 1 << 20, 12000
kinds = {"as recorded": [], "with a small log": ["--log", "64K"], "in a small tree": ["--budget", "600nodes", "--log", "64K"]}
good, cases, few = dict.fromkeys(kinds, 0), dict.fromkeys(kinds, 0), dict.fromkeys(kinds, COUNT)
def program(r):
    """Its phases: where each ends, and the shares of a to e in it."""
    ends = sorted(r.sample(range(1, COUNT), r.randrange(1, 6))) + [COUNT]
    weights = [[.15 + r.random() ** 3 for _ in "abcde"] for _ in ends]  # none is so rare that it is evicted itself
    return [(end, [x / sum(w) for x in w]) for end, w in zip(ends, weights)]
def share(phases, begin, end, k):
    """Of block k among samples [begin, end)."""
    total, at = 0, 0
    for until, shares in phases:
        total += max(0, min(until, end) - max(at, begin)) * shares[k]
        at = until
    return total / (end - begin)
for run in range(runs):
    r = random.Random(run)
    phases, events, at = program(r), ["strand main", "push main"], 0
    for until, shares in phases:
        for k in r.choices(range(5), shares, k=until - at):
            # each calls one of many others: those are evicted where the tree is small
            events += ["push " + "abcde"[k], "push callee%d" % r.randrange(400), "sample %d" % MS, "pop", "pop"]
        at = until
    text = "\n".join(events + ["pop"]) + "\n"
    ranges = []
    for _ in range(2):
        begin = r.randrange(COUNT - 700)
        ranges.append((begin, r.randrange(begin + 600, COUNT)))
    for kind, flags in kinds.items():
        file = folder + "/shares.rec"
        subprocess.run([tallytree, "replay", *flags, "--force", "-o", file], input=text, text=True, check=True)
        for begin, end in ranges:
            # sample i is charged at (i + 1) ms of 2^20 ns; time 0 is the run's beginning
            time = "%.9fs..%.9fs" % ((begin + 1) * MS / 1e9, (end + 1) * MS / 1e9)
            table = json.loads(subprocess.check_output([tallytree, "report", "flat", "--json", "--limit", "all", "--time", time, file]))
            keys = [c["key"] for c in table["columns"]]
            rows = {row["name"]: row for row in (dict(zip(keys, t["values"])) for t in table["rows"] if t["role"] == "entry")}
            note = next(n for n in table["notes"] if "kept by time" in n)
            few[kind] = min(few[kind], int(note.split("by ")[1].split()[0]))
            for k, name in enumerate("abcde"):
                row = rows.get(name)
                got = float(row["inclusive_share"]) if row else 0
                reach = float(row["inclusive_error"]) if row else 0.02
                cases[kind] += 1
                good[kind] += abs(got - share(phases, begin, end, k)) <= reach
for kind in kinds:
    print("# %s: %d of %d shares (%.1f %%) are within their own plus-minus, of %d samples at least" % (kind, good[kind], cases[kind], 100 * good[kind] / cases[kind], few[kind]))
sys.exit(any(good[k] < least / 100 * cases[k] for k in kinds))
END
runs=6 least=85
[ "${TT_LONG:-}" ] && runs=200 least=93 # the shares of one range are not independent
try "of shares of a range of time, 95 % are within their own plus-minus" python3 "$tmp/shares.py" "$TT_BUILD/tallytree" "$tmp" $runs $least
finish
