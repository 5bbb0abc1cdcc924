# SPDX-License-Identifier: MIT
"""OCR's profiler and its analyser, worked out again from what they are said to compute.

    ocr-oracle.py make FOLDER SEED THREADS NODES EVENTS     files as its profiler writes them,
                                                            and FOLDER.events for replay
    ocr-oracle.py check FOLDER REPORT FLAGS...              is this what its analyser prints?
    ocr-oracle.py same FOLDER FOLDER                        entries but for squares of recursion
"""
import math
import os
import random
import re
import sys
from fractions import Fraction

NS = 10**6  # in a ms
NAMES = ["alpha", "beta", "delta", "epsilon", "gamma", "zeta"]


class Profiler:
    """One thread: a stack of activations, direct calls of itself being part of one."""

    def __init__(self, flaws):
        self.flaws, self.stack, self.own, self.pair = flaws, [], {}, {}

    def push(self, name):
        if self.stack and self.stack[-1]["name"] == name:
            self.stack[-1]["deep"] += 1
            return
        before = [a for a in self.stack if a["name"] == name]
        self.stack.append({"name": name, "deep": 1, "time": 0, "again": 0, "before": before[-1] if before else None})

    def tick(self, ns):
        for a in self.stack:
            a["time"] += ns

    def square(self, ns, is_pair):
        if not self.flaws:
            return ns * ns
        ms, below = divmod(ns, NS)
        return (ms * ms % 2**32 if is_pair else ms * ms) * NS * NS + below * below % 2**32

    def pop(self):
        a = self.stack[-1]
        a["deep"] -= 1
        if a["deep"]:
            return
        self.stack.pop()
        time = a["time"]
        e = self.own.setdefault(a["name"], [0, 0, 0])
        for i, x in enumerate((1, time, self.square(time, False))):
            e[i] += x
        if not self.stack:
            return
        parent = self.stack[-1]
        e = self.pair.setdefault((parent["name"], a["name"]), [0] * 7)
        for i, x in enumerate((1, time, self.square(time, True))):
            e[i] += x
        if parent["again"]:
            e[5] += parent["again"]
            e[6] += self.square(parent["again"], True)
            parent["again"] = 0
        if len(self.stack) > 1:
            e = self.pair.setdefault((self.stack[-2]["name"], parent["name"]), [0] * 7)
            e[3] += time
            e[4] += self.square(time, True)
        if a["before"]:
            a["before"]["again"] += time

    def lines(self):
        number = {n: i for i, n in enumerate(NAMES)}
        ms = lambda x: "%d.%06d" % divmod(x, NS)
        sq = lambda x: "%d.%012d" % divmod(x, NS * NS)
        yield from ("DEF %s %d" % (n, i) for n, i in number.items())
        for n, e in sorted(self.own.items()):
            yield "ENTRY %d:%d = count(%d), sum(%s), sumSq(%s)" % (number[n], number[n], e[0], ms(e[1]), sq(e[2]))
        for (p, k), e in self.pair.items():
            yield ("ENTRY %d:%d = count(%d), sum(%s), sumSq(%s), sumChild(%s), sumSqChild(%s), "
                   "sumRecurse(%s), sumSqRecurse(%s)") % (
                number[p], number[k], e[0], ms(e[1]), sq(e[2]), ms(e[3]), sq(e[4]), ms(e[5]), sq(e[6]))


def make(folder, seed, threads, nodes, events):
    """In whole ms the events are also given for replay, and squares are exact."""
    choose = random.Random(int(seed))
    threads, nodes, events = int(threads), int(nodes), int(events)
    whole = nodes == 1
    os.mkdir(folder)
    replay = open(folder + ".events", "w")
    for t in range(threads):
        p, depth = Profiler(not whole), 0
        names = choose.sample(NAMES, choose.randint(1, len(NAMES)))
        replay.write("strand t%04d\n" % t)
        for _ in range(choose.randint(events // 2, events)):
            if depth and choose.random() < 0.45:
                p.pop()
                replay.write("pop\n")
                depth -= 1
            else:
                name = choose.choice(names)
                p.push(name)
                replay.write("push %s\n" % name)
                depth += 1
            if depth:
                ms = choose.randint(0, 100)
                p.tick(ms * NS if whole else choose.choice((ms * NS, 10**choose.randint(0, 9) + ms, 70 * 10**9 * (t == 0))))
                replay.write("tick %d\n" % ms)
        for _ in range(depth):
            p.pop()
            replay.write("pop\n")
        with open("%s/profiler_%x-%x" % (folder, t % nodes, t // nodes), "w") as f:
            f.write("\n".join(p.lines()) + "\n")


# ── The analyser ─────────────────────────────────────────────────────────────────────


def read(path):
    names, own, pair = {}, {}, {}
    number = r"([0-9.]+)"
    for line in open(path):
        m = re.match(r"DEF (\w+) (\d+)$", line)
        if m:
            names[int(m[2])] = m[1]
            continue
        m = re.match(r"ENTRY (\d+):(\d+) = count\((\d+)\), sum\(%s\), sumSq\(%s\)(?:, sumChild\(%s\), "
                     r"sumSqChild\(%s\), sumRecurse\(%s\), sumSqRecurse\(%s\))?$" % ((number,) * 6), line)
        assert m, line
        p, k = names[int(m[1])], names[int(m[2])]
        figures = [Fraction(x) for x in m.groups()[2:] if x is not None]
        if p == k:
            own[p] = figures
        else:
            pair[p, k] = figures
    return own, pair


def work_out(own, pair):
    """Of functions: cumulated, recursive, self, calls, sum, squares, descendants; of pairs:
    self, in children, calls, recursive, total."""
    functions, pairs = {}, {}
    for f, (count, total, squares) in own.items():
        below = sum(e[1] for (p, k), e in pair.items() if p == f)
        again = sum(e[5] for (p, k), e in pair.items() if p == f)
        functions[f] = [total - again, again, total - below, count, total, squares, below - again]
    for key, e in pair.items():
        pairs[key] = [e[1] - e[3], e[3], e[0], e[5], e[1]]
    return functions, pairs


def summed(threads):
    out = ({}, {})
    for one in threads:
        for i in (0, 1):
            for key, figures in one[i].items():
                old = out[i].setdefault(key, [0] * len(figures))
                out[i][key] = [a + b for a, b in zip(old, figures)]
    return out


def spread(threads, which, key, index):
    """Mean and deviation over threads in two passes; a thread that lacks it has 0."""
    values = [t[which][key][index] if key in t[which] else Fraction(0) for t in threads]
    mean = sum(values) / len(values)
    return float(mean), math.sqrt(sum((v - mean)**2 for v in values) / len(values))


def near(a, b):
    return abs(a - b) <= 1.01e-6 + 1e-9 * abs(b)


class Section:
    def __init__(self, lines):
        self.flat, self.graph, self.total, self.spread = {}, {}, None, {}
        block, last, place = [], None, "flat"
        for line in lines:
            m = re.match(r"\tTotal measured time: ([0-9.]+)", line)
            if m:
                self.total = Fraction(m[1])
            if "Call-graph" in line:
                place = "graph"
            body = line.lstrip("/ ") if line.startswith("/") else line
            numbers = [float(x) for x in re.findall(r"-?\d+\.\d+", line)]
            if line.startswith("\\") and place == "flat":
                self.spread[last] = list(zip(numbers[::2], numbers[1::2]))
            elif place == "flat":
                m = re.match(r"([0-9.]+) +([0-9.]+) +(?:\[([0-9.]+)\] +)?([0-9.]+) +(\d+) +([0-9.]+) +([0-9.]+) +(\w+) [ R] \[\d+\]$", body)
                if m:
                    self.flat[m[8]] = [float(x or 0) for x in m.groups()[:7]]
                    last = ("flat", m[8])
            elif line.startswith("\\"):
                block[-1][3] = list(zip(numbers[::2], numbers[1::2]))
            elif line.startswith("-----"):
                own = [b for b in block if b[0] == "own"]
                assert len(own) == 1, block
                name = own[0][1]
                at = block.index(own[0])
                self.graph[name] = (own[0][2], {b[1]: b[2] for b in block[:at]}, {b[1]: b[2] for b in block[at + 1:]})
                for i, b in enumerate(block):
                    if b[3]:
                        kind = "own" if i == at else "parent" if i < at else "child"
                        self.spread["graph", name, kind, b[1]] = b[3]
                block = []
            else:
                m = re.match(r"\[ *\d+\] +(.*) (\w+) \[\d+\]$", body)
                n = re.match(r" *(\S.*/ *\d+) +(\w+) \[\d+\]$", body)
                found = m or n
                if found:
                    block.append(["own" if m else "other", found[2], [float(x) for x in re.findall(r"\d+(?:\.\d+)?", found[1])], None])


def check_section(s, threads, flags, what):
    functions, pairs = summed(threads)
    stats, recurse = "-s" in flags and "TOTAL" in what.upper(), "-r" in flags
    total = sum(f[2] for f in functions.values())
    assert s.total == total, (what, s.total, float(total))
    assert s.flat.keys() == functions.keys() == s.graph.keys(), (what, s.flat.keys(), functions.keys())
    for f, (cum, again, own, calls, time, squares, below) in functions.items():
        mean = time / calls
        want = [own / total * 100 if total else 0, cum, again if recurse else 0, own, calls, mean,
                math.sqrt(max(0, squares / calls - mean**2))]
        got = s.flat[f]
        assert abs(got[0] - want[0]) < 0.00501, (what, f, got, want)
        assert all(near(g, float(w)) for g, w in zip(got[1:], want[1:])), (what, f, got, [float(w) for w in want])
        line, parents, children = s.graph[f]
        want = [cum / total * 100 if total else 0, own, below] + [again] * (recurse and again > 0) + [calls]
        assert abs(line[0] - want[0]) < 0.00501 and all(near(g, float(w)) for g, w in zip(line[1:], want[1:])), (what, f, line, want)
        for side, mine in ((parents, {p: e for (p, k), e in pairs.items() if k == f}),
                           (children, {k: e for (p, k), e in pairs.items() if p == f})):
            assert side.keys() == mine.keys(), (what, f, side, mine)
            for other, e in mine.items():
                all_calls = calls if side is parents else functions[other][3]
                inside = e[1] if side is parents else e[1] - e[3]
                brackets = [e[3]] * (recurse and side is children and e[3] > 0)
                want = [e[0], inside] + brackets + [e[2], all_calls]
                assert all(near(g, float(w)) for g, w in zip(side[other], want)) and len(side[other]) == len(want), (
                    what, f, other, side[other], [float(w) for w in want])
        assert sum(e[2] for (p, k), e in pairs.items() if k == f) <= calls
        if stats:
            want = [spread(threads, 0, f, i) for i in [0] + [1] * (recurse and again > 0) + [2, 3]]
            got = s.spread["flat", f]
            assert len(got) == len(want) and all(near(a, b) for g, w in zip(got, want) for a, b in zip(g, w)), (what, f, got, want)
            for other in [o for (o, k) in pairs if k == f]:
                want = [spread(threads, 1, (other, f), 0), spread(threads, 1, (other, f), 1),
                        spread(threads, 1, (other, f), 2), spread(threads, 0, f, 3)]
                got = s.spread["graph", f, "parent", other]
                assert len(got) == len(want) and all(near(a, b) for g, w in zip(got, want) for a, b in zip(g, w)), (what, f, other, got, want)


def check(folder, report, *flags):
    """All sections that are printed; which there must be, the caller knows."""
    threads = {}
    for name in os.listdir(folder):
        node, thread = re.match(r"profiler_([0-9a-f]+)-([0-9a-f]+)$", name).groups()
        threads[node, thread] = work_out(*read(os.path.join(folder, name)))
    sections, node, used = [], None, []
    for line in open(report).read().split("\n"):
        m = re.match(r"#+ (Node (\S+)|TOTAL|Thread (\S+)|Node \S+ total)( \(ignored\))? #+$", line)
        if m and m[2]:
            node, used = m[2], []
        elif m:
            sections.append((m[1], m[4], node, []))
        elif sections:
            sections[-1][3].append(line)
    everything, of_node = [], {}
    for what, ignored, node, lines in sections:
        if what.startswith("Thread"):
            name = what.split()[1]
            key = (node, name) if node is not None else tuple(name.split("-"))
            mine = [threads[key]]
            if not ignored:
                everything += mine
                of_node.setdefault(node, []).extend(mine)
        else:
            mine = everything if what == "TOTAL" else of_node[node]
        check_section(Section(lines), mine, flags, what)
    print(len(sections))


def same(one, other):
    assert sorted(os.listdir(one)) == sorted(os.listdir(other)), os.listdir(other)
    for name in os.listdir(one):
        a, b = ([(o, {k: e[:6] for k, e in p.items()}) for o, p in [read(os.path.join(d, name))]] for d in (one, other))
        assert a == b, (name, a, b)


{"make": make, "check": check, "same": same}[sys.argv[1]](*sys.argv[2:])
