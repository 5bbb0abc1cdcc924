#!/bin/bash
# SPDX-License-Identifier: MIT
# Traces of Perfetto: packets that protoc has encoded have the stacks and figures that were meant.
. "$(dirname "$0")/formats.sh"

cat >"$dir/t.proto" <<'END'
syntax = "proto2";
message Text { optional uint64 iid = 1; optional bytes str = 2; }
message Mapping { optional uint64 iid = 1; optional uint64 build_id = 2; repeated uint64 path = 7; }
message Frame { optional uint64 iid = 1; optional uint64 name = 2; optional uint64 mapping = 3; optional uint64 pc = 4; optional uint64 file = 5; }
message Stack { optional uint64 iid = 1; repeated uint64 frame = 2; }
message Tables { repeated Text name = 5; repeated Frame frame = 6; repeated Stack stack = 7; repeated Text id = 16; repeated Text path = 17; repeated Text file = 18; repeated Mapping mapping = 19; }
message Line { optional string name = 1; optional string file = 2; optional uint32 line = 3; }
message Address { optional uint64 address = 1; repeated Line line = 2; }
message Symbols { optional string path = 1; optional bytes id = 2; repeated Address address = 3; }
message Figure { optional uint64 stack = 1; optional uint64 bytes = 2; optional uint64 freed = 3; optional uint64 number = 5; optional uint64 frees = 6; optional uint64 peak = 8; optional uint64 peaks = 9; }
message Dump { optional uint64 pid = 1; repeated Figure figure = 2; optional string heap = 11; }
message Heap { repeated Text text = 1; repeated Frame frame = 2; repeated Stack stack = 3; repeated Mapping mapping = 4; repeated Dump dump = 5; optional bool more = 6; }
message Streamed { repeated uint64 stack = 1; repeated int64 delta = 2 [packed = true]; }
message Producer { optional uint32 reason = 1; }
message Sample { optional uint32 cpu = 1; optional uint32 pid = 2; optional uint32 tid = 3; optional uint64 stack = 4; optional uint64 count = 6; optional uint64 lost = 17; optional uint32 skipped = 18; optional Producer event = 19; }
message Point { optional string name = 1; }
message Timebase { optional Point point = 3; optional uint32 counter = 4; optional string name = 10; }
message PerfDefaults { optional Timebase timebase = 1; }
message Defaults { optional PerfDefaults perf = 12; }
message Process { optional int32 pid = 1; repeated string command = 3; }
message Member { optional int32 tid = 1; optional string name = 2; optional int32 tgid = 3; }
message Tree { repeated Process process = 1; repeated Member thread = 2; }
message Thread { optional int32 pid = 1; optional int64 tid = 2; optional string name = 5; }
message Track { optional uint64 id = 1; optional Thread thread = 4; }
message Packet { optional Tree tree = 2; optional fixed64 unknown = 8; optional uint32 sequence = 10; optional Tables tables = 12; optional uint32 flags = 13; optional Heap heap = 37; optional bool cleared = 41; optional Thread thread = 44;
  optional bytes zlib = 50; optional Streamed streamed = 54; optional Defaults defaults = 59; optional Track track = 60; optional Symbols symbols = 61; optional Sample perf = 66; optional bytes zstd = 133; }
message Trace { repeated Packet packet = 1; }
END
cat >"$dir/make.py" <<'END'
import collections, random, subprocess, sys, zlib
out = sys.argv[1]
dice = random.Random(3)
sums = collections.defaultdict(collections.Counter)
modules = [("system/lib64/libc.so", "ab01"), ("data/app/größe.so", "ff"), ("/opt/chrome", "")]
# (module, address): its name in the trace, and the lines that symbols have for it, innermost first
places = {(m, a): (dice.choice(["", "f%d" % m, "ns::g%d" % a]), []) for m in range(3) for a in (16, 4096, 1 << 40)}
for key in dice.sample(sorted(places), 4): places[key] = (places[key][0], ["in%d_%d" % key, "out%d" % key[0]][:dice.choice([1, 2])])
places[0, 4096] = "", []
quoted = lambda b: '"' + "".join("\\%03o" % c for c in b) + '"'
def shown(m, a):
    name, lines = places[m, a]
    return lines[::-1] or [name or "%s+0x%x" % (modules[m][0].split("/")[-1], a)]
class Sequence:
    """One that defines what it refers to in the packet that does, or in one before it."""
    def __init__(self, n): self.n, self.cleared = n, True
    def state(self):
        text = " sequence: %d" % self.n
        if self.cleared or dice.random() < .1:
            self.iid, self.next, self.cleared = {}, dice.randrange(1, 5), False
            text += dice.choice([" cleared: true", " flags: 1"])
        return text
    def number(self, key, fields, kinds):
        if key not in self.iid:
            self.iid[key], self.next = self.next, self.next + 1
            self.text += " %s { iid: %d %s }" % (kinds.get(key[0], key[0]), self.iid[key], fields)
        return self.iid[key]
    def stack(self, frames, kinds={}):
        ids = []
        for m, a in frames:
            path, build = modules[m]
            parts = path.split("/") if path[0] != "/" else [path]
            p = [self.number(("path", x), "str: %s" % quoted(x.encode()), kinds) for x in parts]
            b = self.number(("id", build), "str: %s" % quoted(bytes.fromhex(build)), kinds)
            k = self.number(("mapping", m), "build_id: %d%s" % (b, "".join(" path: %d" % x for x in p)), kinds)
            n = self.number(("name", places[m, a][0]), "str: %s" % quoted(places[m, a][0].encode()), kinds)
            ids.append(self.number(("frame", m, a), "name: %d mapping: %d pc: %d" % (n, k, a), kinds))
        return self.number(("stack",) + tuple(frames), "".join(" frame: %d" % i for i in ids), kinds)
def draw(): return [dice.choice(sorted(places)) for _ in range(dice.randrange(1, 6))]
def folded(frames): return ";".join(n for f in frames for n in shown(*f))
packets = ["tree { process { pid: 7 command: 'com.example' command: '-x' } thread { tid: 8 tgid: 7 name: 'Render' } }"]
chrome, perf, cycles = Sequence(1), Sequence(2), Sequence(3)
for i in range(120):
    q = dice.choice([chrome, perf, perf, cycles])
    head, q.text, frames = q.state(), "", draw()
    stack = q.stack(frames)
    tables = " tables {%s }" % q.text if q.text else ""
    if q is chrome:
        more = draw(); q.text = ""; other = q.stack(more)
        tables = (tables[:-1] if tables else " tables {") + q.text + " }"
        packets.append(head + tables + " thread { pid: 7 tid: 9 } streamed { stack: %d stack: %d stack: 999 delta: 5 delta: 6 delta: 7 }" % (stack, other))
        for f in frames, more: sums["samples of stacks by time"][folded(f)] += 1
    else:
        tid = dice.choice([7, 8])
        packets.append(head + tables + " defaults { perf { timebase { %s } } }" % ("counter: 1" if q is perf else "counter: 10 name: 'my cycles'"))
        packets.append(" sequence: %d perf { cpu: 1 pid: 7 tid: %d stack: %d count: 9 }" % (q.n, tid, stack))
        sums["samples" if q is perf else "samples of my cycles"][folded(frames)] += 1
        if q is perf: sums["thread"][str(tid)] += 1
packets.append("sequence: 2 perf { cpu: 1 lost: 11 }")
packets += ["sequence: 2 perf { cpu: 1 pid: 7 tid: 7 skipped: %d }" % k for k in (2, 3, 4)] + ["sequence: 2 perf { event { reason: 1 } }"]
packets.insert(1, "sequence: 2 cleared: true defaults { perf { timebase { counter: 1 } } }")
packets.insert(2, "sequence: 2 tables { name { iid: 1 str: 'first' } frame { iid: 1 name: 1 } stack { iid: 1 frame: 1 } } perf { pid: 7 tid: 7 stack: 1 }")
sums["samples"]["first"] += 1; sums["thread"]["7"] += 1
# A heap, three times: sums that grow; old packets have their own tables, a stack may follow its figures.
heap, old = Sequence(4), Sequence(5)
for q, pid, name in (heap, 7, "libc.malloc"), (old, 20, ""), (Sequence(6), 7, "com.android.art"):
    kinds = {"path": "text", "id": "text", "name": "text"} if q is old else {}
    stacks = [draw() for _ in range(6)]
    figures = {tuple(s): [0, 0, 0, 0] for s in stacks}
    for dump in range(3):
        head, q.text = q.state(), ""
        if q is old: q.iid, q.next = {}, 1
        halves = ["", ""]
        for n, s in enumerate(sorted(figures)):
            f = figures[s]
            f[0] += dice.randrange(1000, 2000); f[1] += dice.randrange(0, 1000); f[2] += 10; f[3] += dice.randrange(9)
            halves[n % 2] += " figure { stack: %d bytes: %d freed: %d number: %d frees: %d peak: %d peaks: %d }" % (q.stack(list(s), kinds), *f, f[0] // 2, f[2] // 2)
        name_of = " heap: '%s'" % name if name else ""
        if q is old:
            packets.append("%s heap { dump { pid: %d%s } more: true }" % (head, pid, halves[0]))
            packets.append(" sequence: %d heap { %s dump { pid: %d%s } }" % (q.n, q.text, pid, halves[1]))
        else:
            packets.append("%s tables { %s } heap { dump { pid: %d%s%s%s } }" % (head, q.text, pid, name_of, *halves))
    for s, f in figures.items():
        for metric, n in ("bytes", f[0]), ("allocations", f[2]), ("peak bytes", f[0] // 2), ("peak number", f[2] // 2):
            sums[metric][folded(s)] += n
        if name != "com.android.art":
            sums["live bytes"][folded(s)] += f[0] - f[1]
            sums["live number"][folded(s)] += f[2] - f[3]
for m, (path, build) in enumerate(modules):
    addresses = "".join(" address { address: %d%s }" % (a, "".join(" line { name: '%s' }" % x for x in places[m, a][1])) for n, a in places if n == m and places[m, a][1])
    packets.append("symbols { path: '%s' id: %s%s }" % (path if path[0] == "/" else "/" + path, quoted(bytes.fromhex(build)), addresses))
packets.append("track { id: 5 thread { pid: 7 tid: 9 name: 'Chrome' } }")
def encode(packets):
    text = "".join("packet { %s }\n" % p for p in packets)
    return subprocess.run(["protoc", "--encode=Trace", "-I", out, "t.proto"], input=text.encode(), stdout=subprocess.PIPE, check=True).stdout
def zstd(data): return subprocess.run(["zstd", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout
third = len(packets) // 3
open(out + "/all", "wb").write(encode(packets))
for name, pack in ("zlib", zlib.compress), ("zstd", zstd):
    open(out + "/" + name, "wb").write(encode(["%s: %s" % (name, quoted(pack(encode(p)))) for p in (packets[:third], packets[third:])]))
open(out + "/twice", "wb").write(encode(["zlib: %s" % quoted(zlib.compress(open(out + "/zlib", "rb").read()))]))
counters = """cpu-clock page-faults task-clock context-switches cpu-migrations minor-faults major-faults alignment-faults emulation-faults
    cycles instructions cache-references cache-misses branches branch-misses bus-cycles stalled-cycles-frontend stalled-cycles-backend ref-cycles dummy""".split()
each = []
for k in range(1, len(counters) + 1):
    each.append("sequence: %d cleared: true defaults { perf { timebase { counter: %d } } } tables { name { iid: 1 str: 'f%d' } frame { iid: 1 name: 1 } stack { iid: 1 frame: 1 } }" % (k, k, k))
    each.append("sequence: %d perf { cpu: 1 pid: 7 tid: 7 stack: 1 }" % k)
open(out + "/counters", "wb").write(encode(each))
open(out + "/names", "w").write("".join("samples%s f%d\n" % ("" if k == 0 else " of " + name, k + 1) for k, name in enumerate(counters)))
open(out + "/none", "wb").write(encode(["sequence: 1 flags: 1", packets[0], "sequence: 1"]))
for name, sum in sums.items():
    open(out + "/" + name, "w").write("".join("%s %d\n" % line for line in sorted(sum.items()) if line[1]))
END
for tool in protoc zstd; do
    if ! command -v $tool >/dev/null; then
        echo "1..0 # SKIP $tool is not installed"
        exit
    fi
done
python3 "$dir/make.py" "$dir" || exit
# Functions of one name in different modules are different, but not in what was meant.
added() { awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (s in sum) printf "%s %d\n", s, sum[s] }' | LC_ALL=C sort; }
of() { "$tallytree" export --to folded --metric "$1" "$dir/all" | added | diff <(LC_ALL=C sort "$dir/$1") -; }
for metric in "samples" "samples of my cycles" "samples of stacks by time" "bytes" "allocations" "live bytes" "live number" "peak bytes" "peak number"; do
    try "each stack has its $metric" of "$metric"
done
counters()
{
    local metric
    while read -r metric; do
        [ "$("$tallytree" export --to folded --metric "${metric% f*}" "$dir/counters")" = "${metric##* } 1" ] || echo "$metric"
    done <"$dir/names"
}
none "each counter has perf's name" counters
same() { "$tallytree" merge -o "$dir/a.tt" "$dir/all" && "$tallytree" merge -o "$dir/b.tt" "$dir/$1" && cmp "$dir/a.tt" "$dir/b.tt"; }
try "packets that are packed by zlib are the same" same zlib
try "so are those that zstd packs" same zstd
thread_of() { grep -q "^$2 $("$tallytree" export --to folded --metric samples --strand "$1" "$dir/all" | awk '{ n += $NF } END { print n + 0 }')$" "$dir/thread"; }
try "the samples of a thread are its own, by its name in the tree of processes" thread_of Render 8
chrome() { "$tallytree" report strands --metric 'samples of stacks by time' "$dir/all" | grep -q 'Chrome'; }
try "a name that follows the samples is theirs" chrome
fact() { "$tallytree" report header "$dir/all" | grep -q "$2 *$1"; }
nodes() { fact lost.nodes "$(awk '{ n += $NF } END { print n / 2 }' "$dir/samples of stacks by time")"; }
try "stacks that are not defined are counted" nodes
try "so are samples that were skipped, but not those that were not wanted" fact lost.samples 2
try "and records that the kernel lost" fact lost.records 11
ids() { "$tallytree" report flat --json --limit all "$dir/all" | grep -q '"ab01"'; }
try "addresses without a name keep their file's build-id" ids
without() { refused "$dir/none" ": byte [0-9]*: this trace of Perfetto has no samples.*traceconv json FILE"; }
try "a trace without samples is refused, with what converts it" without
try "packets that are packed twice are refused" refused "$dir/twice" ": byte [0-9]*: packets are packed twice"
head -c 3000 "$dir/all" >"$dir/cut"
try "a trace that is cut off within a packet is refused" refused "$dir/cut" ": byte [0-9]*: the trace ends within a packet"
damaged() { python3 -c 'import sys; d = bytearray(open(sys.argv[1], "rb").read()); d[len(d) // 2] ^= 255; open(sys.argv[2], "wb").write(d)' "$dir/$1" "$dir/bad" && refused "$dir/bad" ": byte [0-9]*: packed packets are damaged"; }
try "damaged packets of zlib are refused" damaged zlib
try "so are those of zstd" damaged zstd
finish
