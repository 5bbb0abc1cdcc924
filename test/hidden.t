#!/bin/bash
# SPDX-License-Identifier: MIT
# Self and inclusive of a block are right if recursion hides its activations from the tree, and if
# most contexts are evicted: in ticks and in a metric, over random walks, against sums over the
# true stack.
. "$(dirname "$0")/tap.sh"

cat >"$tmp/walk.py" <<'END'
import collections, csv, random, subprocess, sys
tallytree, policy, budget, folder, wanted = sys.argv[1:]
said = set()
for seed in range(12):
    chance = random.Random(seed)
    names = "abcde"[:2 + seed % 4]
    stack, events = [], []
    want = {"ticks": collections.Counter(), "m": collections.Counter()}
    own = {"m": collections.Counter(), "ticks": collections.Counter()}
    for _ in range(400 if budget == "1M" else 4000):
        if stack and (chance.random() < 0.4 or len(stack) > 30):
            stack.pop()
            events.append("pop")
            continue
        stack.append(chance.choice(names))
        events.append("push " + stack[-1])
        for metric, event in ("m", "count m %d"), ("ticks", "sample %d"):
            n = chance.randrange(4)
            if n:
                events.append(event % n)
                own[metric][stack[-1]] += n
                for block in set(stack):
                    want[metric][block] += n
    events += ["pop"] * len(stack)
    open(folder + "/events", "w").write("\n".join(events) + "\n")
    subprocess.run([tallytree, "replay", "--recursion", policy, "--budget", budget, "-o", folder + "/r", folder + "/events"], check=True)
    for metric in want:
        report = [tallytree, "report", "flat", "--limit", "all", "--metric", metric]
        rows = csv.DictReader(subprocess.run([*report, "--csv", folder + "/r"], capture_output=True, text=True, check=True).stdout.splitlines())
        rows = [row for row in rows if row["role"] == "entry"]
        for column, right in ("inclusive", want[metric]), ("self", own[metric]):
            got = {row["name"]: int(row[column]) for row in rows}
            assert got == {name: right[name] for name in got} and set(right) <= set(got), (seed, metric, column, got, right)
        text = subprocess.run([*report, folder + "/r"], capture_output=True, text=True).stdout
        said |= {word for word in ("hidden", "budget", "lost") if "\n%s: " % word in text}
assert said == set(wanted.split()), said
END
while read -r policy budget said; do
    try "recursion $policy, budget $budget" \
        python3 "$tmp/walk.py" "$TT_BUILD/tallytree" "$policy" "$budget" "$tmp" "$said"
done <<END
none 1M
block 1M hidden
edge 1M hidden
cycle 1M
none 256nodes hidden budget
edge 256nodes hidden budget
cycle 256nodes hidden budget
END
finish
