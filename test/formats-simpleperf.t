#!/bin/bash
# SPDX-License-Identifier: MIT
# Samples of Android's simpleperf: records that protoc has encoded have the stacks that were meant.
. "$(dirname "$0")/formats.sh"

cat >"$dir/r.proto" <<'END'
syntax = "proto2";
message Entry { optional uint64 vaddr = 1; optional uint32 file = 2; optional int32 symbol = 3; optional int32 type = 4; }
message Sample { optional uint64 time = 1; optional int32 thread = 2; repeated Entry chain = 3; optional uint64 count = 4; optional uint32 event = 5; }
message Lost { optional uint64 samples = 1; optional uint64 lost = 2; }
message File { optional uint32 id = 1; optional string path = 2; repeated string symbol = 3; repeated string mangled = 4; }
message Thread { optional uint32 id = 1; optional uint32 process = 2; optional string name = 3; }
message Meta { repeated string event = 1; optional string app = 2; }
message Record { oneof data { Sample sample = 1; Lost lost = 2; File file = 3; Thread thread = 4; Meta meta = 5; } }
END
cat >"$dir/make.py" <<'END'
import collections, random, struct, subprocess, sys
out, seed = sys.argv[1], int(sys.argv[2])
dice = random.Random(seed)
files = [("/system/lib64/libc.so", ["malloc", "operator new(unsigned long)", "größe"]), ("/data/app/base.apk!classes.dex", ["com.a.B.f", "com.a.B.<init>"]), ("unknown", [])]
threads = [(7, 7, "com.example"), (8, 7, "RenderThread"), (21, 20, "other")]
events = ["cpu-clock", "sched:sched_switch"]
sums = {name: collections.Counter() for name in ("samples", "cpu-clock", "samples of sched:sched_switch", "sched:sched_switch", "thread")}
records = ['meta { event: "%s" event: "%s" app: "com.example" }' % tuple(events)]
for i in range(60):
    chain, names = "", []
    for _ in range(dice.randrange(1, 6)):
        f = dice.randrange(len(files))
        path, symbols = files[f]
        s = dice.randrange(-1, len(symbols))
        address = dice.choice([0x10, 0x123456789abc, 0x20])
        chain += " chain { vaddr: %d file: %d symbol: %d }" % (address, f, s)
        names.insert(0, symbols[s] if s >= 0 else "%s+0x%x" % (path.split("/")[-1], address))
    event, count, thread = dice.randrange(2), dice.randrange(1, 1 << 40), dice.choice(threads)[0]
    stack = ";".join(names)
    sums["samples of sched:sched_switch" if event else "samples"][stack] += 1
    sums[events[event]][stack] += count
    sums["thread"][str(thread)] += 1 if not event else 0
    sums["thread"]["7+8"] += 1 if not event and thread != 21 else 0 # their process has the first one's name
    records.append("sample { time: %d thread: %d%s count: %d event: %d }" % (i, thread, chain, count, event))
records.append("lost { samples: 60 lost: 5 }")
for i, (path, symbols) in enumerate(files):
    records.append('file { id: %d path: "%s"%s }' % (i, path, "".join(' symbol: "%s"' % s for s in symbols)))
for t in threads: records.append('thread { id: %d process: %d name: "%s" }' % t)
data = b"SIMPLEPERF" + struct.pack("<H", 1)
for r in records:
    one = subprocess.run(["protoc", "--encode=Record", "-I", out, "r.proto"], input=r.encode(), stdout=subprocess.PIPE, check=True).stdout
    data += struct.pack("<I", len(one)) + one
open(out + "/all", "wb").write(data + bytes(4))
for name, sum in sums.items():
    open(out + "/" + name.replace(":", "-"), "w").write("".join("%s %d\n" % line for line in sorted(sum.items())))
END
if ! command -v protoc >/dev/null; then
    echo "1..0 # SKIP protoc is not installed"
    exit
fi
python3 "$dir/make.py" "$dir" 1 || exit
of() { "$tallytree" export --to folded --metric "$1" "$dir/all" | LC_ALL=C sort | diff <(LC_ALL=C sort "$dir/${1/:/-}") -; }
try "each stack has its samples" of samples
try "and the time of these" of cpu-clock
try "a second event has metrics of its own" of "samples of sched:sched_switch"
try "and so have its counts" of "sched:sched_switch"
threads_of() { for id in 7+8 8 21; do grep -q "^$id $("$tallytree" export --to folded --metric samples --strand "$1" "$dir/all" 2>/dev/null | awk '{ n += $NF } END { print n + 0 }')$" "$dir/thread" && return; done; return 1; }
for name in com.example RenderThread other; do try "the samples of the thread $name are its own" threads_of "$name"; done
try "lost samples are counted" sh -c "'$tallytree' report header '$dir/all' | grep -q '5 *lost.samples'"
end() { head -c -4 "$dir/all" >"$dir/bad" && refused "$dir/bad" ": byte [0-9]*: the file ends without its last record"; }
try "a file without its end is refused" end
try "so is one that is cut off anywhere" truncated 20 211 1 "$dir/all"
version() { printf 'SIMPLEPERF\2\0\0\0\0\0' >"$dir/bad" && refused "$dir/bad" ": byte 0: this version"; }
try "so is another version" version
finish
