#!/bin/bash
# SPDX-License-Identifier: MIT
# Tables of Instruments: rows whose parts are references have the stacks that Python gave them.
. "$(dirname "$0")/formats.sh"

cat >"$dir/make.py" <<'END'
import collections, random, sys
from xml.sax.saxutils import quoteattr, escape
out, tag, dice = sys.argv[1], sys.argv[2], random.Random(int(sys.argv[3]))
ids, count = {}, 0
sums = [collections.Counter() for _ in range(3)]
def element(name, key, attributes, content):
    """The element in full the first time, and a reference after that."""
    global count
    if (name, key) in ids: return '<%s ref="%d"/>' % (name, ids[name, key])
    count += 1
    mine = ids[name, key] = count
    inner = content()
    return "<%s id=\"%d\"%s>%s</%s>" % (name, mine, "".join(" %s=%s" % (a, quoteattr(v)) for a, v in attributes), inner, name)
def number(name, n): return element(name, n, [("fmt", str(n))], lambda: str(n))
def process(pid): return element("process", pid, [("fmt", "a (b) (%d)" % pid)], lambda: number("pid", pid))
def thread(tid): return element("thread", tid, [("fmt", "t&%d  0x%x (a (b), pid: 9)" % (tid, tid))], lambda: number("tid", tid) + process(9))
def binary(path): return element("binary", path, [("name", path.split("/")[-1]), ("path", path)], lambda: "")
def source(path): return '<source line="%d">%s</source>' % (dice.randrange(99), element("path", path, [], lambda: escape(path)))
def frame(f): return element("frame", f, [("name", f[0]), ("addr", hex(f[1]))], lambda: binary(f[2]) + (source(f[3]) if f[3] else ""))
def stack(s):
    inside = lambda: "".join(map(frame, reversed(s)))
    if tag == "plain": return element("backtrace", s, [], inside)
    return element("tagged-backtrace", s, [("fmt", "x")], lambda: element("backtrace", s, [], inside))
frames = [("f<int>(a && b)", 1, "/usr/lib/a.dylib", "/src/a.cc"), ("größe", 2, "/usr/lib/a.dylib", None), ("0x123", 3, "b", None), ('"q"\'s', 4, "/x/ü", "/src/ü.c")]
stacks = [tuple(dice.choice(frames) for _ in range(dice.randrange(1, 7))) for _ in range(20)]
rows = ""
for i in range(150):
    s, tid, weight, cycles = dice.choice(stacks), dice.choice([11, 12, 13]), dice.choice([1000000, 999, 3000000]), dice.choice([5, 1 << 33])
    rows += "<row>%s%s%s%s%s%s</row>\n" % (number("sample-time", i), thread(tid), process(9), number("weight", weight), number("cycle-weight", cycles), stack(s) if i % 10 else "<sentinel/>")
    if i % 10:
        name = ";".join(f[0] for f in s)
        for sum, n in zip(sums, (1, weight, cycles)): sum[name] += n
open(out + "/all.xml", "w").write("<?xml version='1.0'?>\n<!-- é --><trace-query-result>\n<node xpath='//trace-toc[1]'><schema name=\"time-profile\"><col><name>Sample Time</name></col></schema>" + rows + "</node></trace-query-result>\n")
for name, sum in zip(("samples", "time", "cycles"), sums): open(out + "/" + name, "w").write("".join("%s %d\n" % line for line in sum.items()))
END
same() { "$tallytree" export --to folded --metric "$2" "$dir/all.xml" | LC_ALL=C sort | diff <(LC_ALL=C sort "$dir/$2") -; }
both() { for seed in 1 2 3; do python3 "$dir/make.py" "$dir" "$1" $seed && for metric in samples time cycles; do same "$1" $metric || return; done; done; }
try "backtraces have their samples, time and cycles" both plain
try "and so have those within another element" both tagged
strand() { [ "$("$tallytree" export --to folded --metric samples --strand 't&12' "$dir/all.xml" | awk '{ n += $NF } END { print n }')" = "$(python3 - "$dir/all.xml" <<'END'
import sys, xml.etree.ElementTree as E
root, by, n = E.parse(sys.argv[1]).getroot(), {}, 0
for e in root.iter():
    if "id" in e.attrib: by[e.get("id")] = e
for row in root.iter("row"):
    t = row.find("thread")
    t = by[t.get("ref")] if "ref" in t.attrib else t
    tid = t.find("tid")
    tid = by[tid.get("ref")] if "ref" in tid.attrib else tid
    n += tid.text == "12" and row.find("tagged-backtrace") is not None
print(n)
END
)" ]; }
try "a thread has its own rows" strand
place() { "$tallytree" report flat --csv --limit all "$dir/all.xml" | grep -q '"f<int>(a && b)",/usr/lib/a.dylib,/src/a.cc\|f<int>(a && b),/usr/lib/a.dylib,/src/a.cc'; }
try "functions have their file and library" place
try "a file that is cut off is refused" truncated 300 1777 30 "$dir/all.xml"
bad() { sed "$2" "$dir/all.xml" >"$dir/bad" && refused "$dir/bad" ": byte [0-9]*: $1"; }
try "so is a reference to what there is not" bad "an element refers to one that there is not" '0,/backtrace ref="[0-9]*"/s//backtrace ref="999999"/'
try "so are two elements of one id" bad "two elements have one id" 's/id="3"/id="4"/'
try "so is a weight that is none" bad "this is no whole number" 's/>999</>x</'
try "so is a table without backtraces" bad "there are no backtraces" 's/backtrace/background/g'
finish
