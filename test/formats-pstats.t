#!/bin/bash
# SPDX-License-Identifier: MIT
# Profiles of Python: each function has the figures that pstats gives it.
. "$(dirname "$0")/formats.sh"

cat >"$dir/program.py" <<'END'
import json, re, sys
def spin(n):
    s = 0
    for i in range(n): s += i * i
    return s
def leaf(n): return spin(n) + len(sorted(range(n)))
def one(): return leaf(2000)
def two(d): return two(d - 1) + leaf(500) if d else one()
def even(n): return n == 0 or odd(n - 1)
def odd(n): return n != 0 and even(n - 1)
class Thing:
    def __init__(self): self.x = [spin(50) for i in range(20)]
    def größe(self): return max(self.x, key=lambda x: -x)
def main():
    for i in range(30): one(), two(5), even(20), odd(9), Thing().größe()
    json.dumps([list(range(500))] * 20); re.compile("a+b" * 30)
main()
END
cat >"$dir/make.py" <<'END'
import cProfile, profile, pstats, sys
out = sys.argv[1]
code = compile(open(out + "/program.py").read(), out + "/program.py", "exec")
for name, module in ("c", cProfile), ("python", profile):
    p = module.Profile()
    g = {"__name__": "x"}; p.runctx(code, g, g)
    p.dump_stats(out + "/" + name)
pstats.Stats(out + "/c", out + "/c").dump_stats(out + "/added")  # two runs are added up
p = cProfile.Profile()  # begins and ends in the middle of things
g = {"__name__": "x"}
exec(code, g)
def outer():
    p.enable(); g["two"](3); g["one"](); p.disable()
    g["one"](); p.enable(); g["even"](5); p.disable()
outer(); p.dump_stats(out + "/part")
END
python3 "$dir/make.py" "$dir"
cat >"$dir/compare.py" <<'END'
import collections, csv, pstats, subprocess, sys
tallytree, file = sys.argv[1:]
stats = pstats.Stats(file).stats
def name(f):
    f = f[:2] + (getattr(f[2], "co_name", f[2]),)  # profile has the code of what it ran
    return ("{" + f[2][1:-1] + "}", "", "") if f[:2] == ("~", 0) and f[2][0] == "<" else (f[2], f[0], str(f[1] or ""))
want = {}
for f, (cc, nc, tt, ct, callers) in stats.items(): want[name(f)] = (nc, round(tt * 1e9), round(ct * 1e9))  # names of what is built in are unique here
run = lambda *a: subprocess.run([tallytree, "report", *a, file], capture_output=True, text=True, check=True).stdout
got = {}
for r in csv.DictReader(run("flat", "--csv", "--limit", "all").splitlines()):
    if r["name"] != "[root]" and r["role"] == "entry": got[r["name"], r["file"], r["line"]] = (int(r["calls"]), int(r["self"]), int(r["inclusive"]))
assert got.keys() == want.keys() and len(got) > 5, (set(got) ^ set(want))
for f, w in want.items():
    g = got[f]
    assert g[0] == w[0] and abs(g[1] - w[1]) <= 1 and abs(g[2] - w[2]) <= 2, (f, g, w)
total = sum(round(s[2] * 1e9) for s in stats.values())
assert abs(sum(int(l.rsplit(" ", 1)[1]) for l in subprocess.run([tallytree, "export", "--to", "folded", file], capture_output=True, text=True, check=True).stdout.splitlines()) - total) <= len(stats), total
END
compare() { python3 "$dir/compare.py" "$tallytree" "$1"; }
try "calls, own and cumulative time are those of pstats" compare "$dir/c"
try "so are those of the profiler that is written in Python" compare "$dir/python"
try "so are those of two runs" compare "$dir/added"
try "so are those of a part of a run" compare "$dir/part"
python3 -c 'import marshal, sys
for version in range(5): open(sys.argv[1] + "/version" + str(version), "wb").write(marshal.dumps(marshal.load(open(sys.argv[1] + "/c", "rb")), version))' "$dir"
# A thousand functions that reach each other, called from a thousand others, each as often.
python3 - "$dir/cycle" <<'END'
import marshal, sys
N = 1000
name = lambda kind, i: ("cycle.py", i + (N if kind == "g" else 0) + 1, kind + str(i))
callers = {name("f", i): {} for i in range(N)}
for i in range(N):
    for to in {(i + 1) % N, (7 * i + 3) % N, (13 * i + 5) % N}: callers[name("f", to)][name("f", i)] = (10, 10, 1e-4, 2e-3)
    callers[name("f", 17 * i % N)][name("g", i)] = (1, 1, 1e-6, 1e-3)
stats = {f: (sum(c[0] for c in by.values()), sum(c[1] for c in by.values()), 1e-3, 1e-2, by) for f, by in callers.items()}
stats.update({name("g", i): (1, 1, 1e-6, 1e-3 + 1e-6, {}) for i in range(N)})
marshal.dump(stats, open(sys.argv[1], "wb"))
END
try "a large cycle with many callers has the figures of pstats" compare "$dir/cycle"
# A context is a hundred-thousandth of the whole or more; at most a few functions above it are, too.
few() { "$tallytree" report header --csv "$dir/cycle" | python3 -c 'import csv, sys
n = [int(r["number"]) for r in csv.DictReader(sys.stdin) if r["name"] == "contexts"][0]
sys.exit(n > 300000 and "%d contexts" % n)'; }
try "it has no context for each pair of them" few

versions() { for v in 0 1 2 3 4; do compare "$dir/version$v" || return; done; }
try "so are those in every version of marshal, which writes numbers and texts otherwise" versions
python3 -c 'import marshal, sys
def dump(name, stats): open(sys.argv[1] + "/" + name, "wb").write(marshal.dumps(stats))
f, g = ("a.py", 3, "f"), ("a.py", 9, "g")
dump("small", {f: (1, 1, 0.5, 2.0, {}), g: (2, 3, 1.5, 1.5, {f: (2, 2, 1.25, 1.5), g: (1, 1, 0.25, 0.25)})})
dump("less", {f: (1, 1, -1.0, 2.0, {})})
dump("wrapped", {f: (1, 1, 0.5, 2.0, {}), g: (-5, -5, 1.5, 1.5, {f: (-5, -5, 1.5, 1.5)})})
dump("none", {f: (1, 1 - 2**40, 1.0, 2.0, {})})
dump("short", {f: (1, 1, 1.0, 2.0)})
dump("many", {f: (1, 1, 9e9, 2.0, {})})
dump("name", {f[:2]: (1, 1, 1.0, 2.0, {})})
dump("list", [f])' "$dir"
try "what a function calls stands below it" folds 'f 500000000
f;g 1500000000' "$dir/small"
try "calls that did not fit into 32 bits are counted" folds 'f 1
f;g 4294967291' "$dir/wrapped" calls
try "those far below 0 are refused" refused "$dir/none" ": byte [0-9]*: a number of calls is not a whole number"
try "wherever it is cut off, it is refused" truncated 7 3 1 "$dir/small"
try "a time below 0 is refused" refused "$dir/less" ": byte [0-9]*: a time is no number, below 0, or too large"
try "so is one that is too large" refused "$dir/many" ": byte [0-9]*: a time is no number, below 0, or too large"
try "so is a function without callers" refused "$dir/short" ": byte [0-9]*: a function has not"
try "so is one without a name" eval '! "$tallytree" report "$dir/name"'
more() { { cat "$dir/small"; echo; } >"$dir/bad" && refused "$dir/bad" ": byte [0-9]*: something follows the profile"; }
try "so is what follows" more
finish
