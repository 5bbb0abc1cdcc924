# SPDX-License-Identifier: MIT
# series-oracle.py TALLYTREE RUNS SEED FILES [FLAGS] - random objects of replayed programs, and
# what of them was alive at each point of their series: by type, block, cost centre, and use.
# Every row of the report has to be so, also under a budget that evicts contexts, and so has the
# live memory of all contexts at the end.  (Folded recursion hides cost centres.)  Prints the points and the runs that differ.
import bisect, collections, csv, io, random, subprocess, sys

tallytree, runs, seed, files = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
flags = sys.argv[5:]
END = 1 << 62
CENTRES = "bd"


class Thing:
    def __init__(self, type, stack, size, now):
        self.type, self.size, self.made = type, size, now
        self.block = stack[-1] if stack else "[root]"
        self.centre = ([b for b in stack if b in CENTRES] or ["[none]"])[-1]
        self.first = self.last = self.freed = END

    def label(self, which, at):
        """What it counts as shortly before a time."""
        if not self.made < at <= self.freed:
            return None
        if which != "use":
            return getattr(self, which)
        if self.first == END:
            return "VOID"
        return "LAG" if at <= self.first else "USE" if at <= self.last else "DRAG"


def program(r):
    """Its events and things; its clock has an odd time at each event."""
    now, events, things, alive, stack = 1, ["tick 1"] + ["block %s kind=centre" % b for b in CENTRES], [], [], []
    step, size = r.choice([1, 30, 1000, 100000]), r.choice([10, 1000, 1 << 20])
    for i in range(r.choice([20, 200, 1000])):
        x = r.random()
        if x < .25:
            ticks = 2 * r.randint(0, step)
            now += ticks
            events.append("tick %d" % ticks)
        elif x < .35:
            stack.append(r.choice("abcdef"))
            events.append("push " + stack[-1])
        elif x < .42 and stack:
            stack.pop()
            events.append("pop")
        elif x < .7:
            thing = Thing(r.choice("tuvw"), stack, r.randint(0, size), now)
            events.append("alloc %s %d %d o%d" % (thing.type, thing.size, r.choice([0, 8]), len(things)))
            alive.append(len(things))
            things.append(thing)
        elif alive:
            i = r.choice(alive)
            if x < .85:
                things[i].freed = now
                alive.remove(i)
            else:
                things[i].first = min(things[i].first, now)
                things[i].last = now
            events.append(("free o%d" if x < .85 else "use o%d") % i)
    return events, things


def reported(which):
    """The points of a series: time -> what is alive by label."""
    points = collections.defaultdict(collections.Counter)
    out = subprocess.run([tallytree, "report", "series", "--csv", "--limit", "all", "--series",
                          "live by " + {"centre": "cost centre"}.get(which, which), files + ".tt"], check=True, capture_output=True, text=True)
    for row in csv.DictReader(io.StringIO(out.stdout)):
        if row["role"] == "entry":
            points[int(row["time"])][row["name"]] += int(row["amount"])
    return points


def differs(which, things, points):
    """The first wrong point.  Spaces between points may be odd, so an event may be at one."""
    for at, have in sorted(points.items()):
        sums = []
        for when in (at, at + 1):
            sum = collections.Counter()
            for thing in things:
                if thing.label(which, when):
                    sum[thing.label(which, when)] += thing.size
            sums.append(+sum)
        if +have not in sums[:1 if which != "use" else 2]:
            return "%d: %s, not %s" % (at, dict(have), dict(sums[0]))
    return ""


def differs_at_end(things):
    """All contexts' live memory; contexts without room share what is missing."""
    out = subprocess.run([tallytree, "report", "flat", "--csv", "--metric", "live", files + ".tt"],
                         check=True, capture_output=True, text=True)
    total = [row for row in csv.DictReader(io.StringIO(out.stdout)) if row["role"] == "total"]
    alive = sum(thing.size for thing in things if thing.freed == END)
    have = int(total[0]["self"]) if total else 0
    return "" if have == alive else "the end: %d bytes, not %d" % (have, alive)


points = wrong = 0
for run in range(seed, seed + runs):
    r = random.Random(run)
    which = ("type", "block", "use", "centre")[run % (3 if flags else 4)]
    events, things = program(r)
    with open(files + ".events", "w") as out:
        out.write("\n".join(events) + "\n")
    subprocess.run([tallytree, "replay", "--force", "--series", which, "-o", files + ".tt",
                    *(["--recursion", "none"] if which == "centre" else flags), files + ".events"], check=True)
    if not things:
        continue
    found = reported(which)
    points += len(found)
    problem = differs(which, things, found) or differs_at_end(things)
    if problem:
        wrong += 1
        print("# run %d, live by %s, at %s" % (run, which, problem))
print("%d points, %d wrong runs" % (points, wrong))
