#!/bin/bash
# SPDX-License-Identifier: MIT
# Allocations of OCaml: a trace that a few lines of Python write as memtrace does, with its
# tables of frames and names, and what comes out.
. "$(dirname "$0")/formats.sh"

cat >"$dir/write.py" <<'END'
import collections, json, random, struct, sys
out, version, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random.seed(seed)
RATE, START, CACHE = 1 / 1024, (1 << 40) + (1 << 25) - 3000, 1 << 14  # times go round soon
def vint(n): return bytes([n]) if n < 253 else b"\xfd" + struct.pack("<H", n) if n < 65536 else b"\xfe" + struct.pack("<I", n)
def event(code, time): return struct.pack("<I", code << 25 | time & 0x1ffffff)
class Recent:  # what was used last is first
    def __init__(self): self.names = []
    def code(self, key):
        for i, (k, inner) in enumerate(self.names):
            if k == key: self.names.insert(0, self.names.pop(i)); return i, inner
        inner = self.names.pop()[1] if len(self.names) == 31 else Recent()
        self.names.insert(0, (key, inner)); return 31, inner
class Domain:
    def __init__(self): self.frame, self.next, self.files, self.last, self.check = [0] * CACHE, [0] * CACHE, Recent(), [], 4242
places = {1000 + i: [("fn%d" % (i + k), "file%d.ml" % (i % 40)) for k in range(1 + i % 2)] for i in range(300)}
domains, known = collections.defaultdict(Domain), set()
def verifier(d):
    ix = d.check; d.check = (d.check + 5413) % CACHE
    return struct.pack("<HHQ", ix, d.next[ix], d.frame[ix])
def packet(dom, body, begin, end, first, last, pid=77, check=struct.pack("<HHQ", 0xffff, 0, 0)):
    head = struct.pack("<QQIHQ", begin, end, 0, version, pid) + (struct.pack("<H", dom) if version >= 3 else b"")
    head += check + struct.pack("<QQ", first, last)
    return struct.pack("<II", 0xc1fc1fc1, (8 + len(head) + len(body)) * 8) + head + body
def location(d, frame):
    b = struct.pack("<QB", frame, len(places[frame]))
    for function, file in places[frame]:
        f, functions = d.files.code(file); g, _ = functions.code(function)
        b += (7 | 3 << 20 | 9 << 28 | f << 38 | g << 43).to_bytes(6, "little")
        if f == 31: b += file.encode() + b"\0"
        if g == 31: b += function.encode() + b"\0"
    return b
def coded(d, frames):  # codewords: hits with as many right guesses as there are, or new frames
    words, count, before, i = b"", 0, 0, 0
    while i < len(frames):
        bucket = frames[i] * 7919 % CACHE
        d.next[before] = bucket; before = bucket; count += 1
        if d.frame[bucket] != frames[i]:
            d.frame[bucket] = frames[i]; words += struct.pack("<HQ", bucket << 2 | 3, frames[i]); i += 1
            continue
        i += 1; right = 0
        while i < len(frames) and right < 255 and d.frame[d.next[before]] == frames[i]: before = d.next[before]; i += 1; right += 1
        words += struct.pack("<H", bucket << 2 | min(right, 2)) + (bytes([right]) if right >= 2 else b"")
    return count, words
head = event(0, START) + struct.pack("<dB", RATE, 64) + b"prog\0host\0params\0" + struct.pack("<Q", 77) + (b"context\0" if version >= 2 else b"")
trace = packet(0, head, START, START, 0, 0)
want, live, ids, time = collections.Counter(), {}, 0, START
for n in range(40):
    dom = random.randrange(3) if version >= 3 else 0
    d, begin, first, body, new = domains[dom], time, ids, b"", b""
    check = verifier(d)
    for _ in range(200):
        time += random.randrange(5)
        what = random.random()
        if what < .7:
            stack = [random.choice((1000, 1001, 1000 + random.randrange(300))) for _ in range(random.randrange(1, 12))]
            if d.last and random.random() < .6: stack = d.last[:random.randrange(len(d.last) + 1)] + stack[:4]
            if random.random() < .02: stack = stack + [1001] * 300
            for f in stack:
                if f not in known: known.add(f); new += event(1, begin) + location(d, f)
            common = 0
            while common < min(len(stack), len(d.last)) and stack[common] == d.last[common]: common += 1
            count, words = coded(d, stack[common:]); d.last = stack
            length, samples, source = random.choice((random.randrange(1, 17), 5000)), 1, 0
            if length > 16 or count > 255: samples, source = random.randrange(1, 9), random.randrange(3)
            if length <= 16 and count <= 255: body += event(100 + length, time) + vint(common) + bytes([count]) + words
            else: body += event(2, time) + vint(length) + vint(samples) + bytes([source]) + vint(common) + struct.pack("<H", count) + words
            path = ";".join(name for f in stack for name, _ in places[f])
            want[path] += samples * 8192; live[ids] = (path, samples * 8192, source > 0); ids += 1
        elif live:
            i = random.choice(list(live)); body += event(3 if what < .8 else 4, time) + vint(ids - 1 - i)
            if what < .8: live[i] = (*live[i][:2], True)
            else: del live[i]
    # A location packet goes before, as in the writer.
    if new: trace += packet(dom, new, begin, begin, first, first)
    trace += packet(dom, body, begin, time, first, ids, check=check)
    if n % 7 == 0: trace += packet(dom, b"garbage", begin, time, 0, 9, pid=78)
left = collections.Counter()
for path, size, _ in live.values(): left[path] += size
open(out, "wb").write(trace)
json.dump([want, left], open(out + ".json", "w"))
END

cat >"$dir/compare.py" <<'END'
import collections, json, subprocess, sys
tallytree, file = sys.argv[1:]
for metric, want in zip(("bytes", "live bytes"), json.load(open(file + ".json"))):
    got = collections.Counter()
    for line in subprocess.run([tallytree, "export", "--to", "folded", "--metric", metric, file], capture_output=True, text=True, check=True).stdout.splitlines():
        stack, n = line.rsplit(" ", 1); got[stack] += int(n)
    assert got == want and len(got) > 50, (metric, sum(got.values()), sum(want.values()), list((got - collections.Counter(want)).items())[:3])
END
for version in 1 2 3; do
    python3 "$dir/write.py" "$dir/v$version" $version $version
    try "every stack has its bytes: version $version" python3 "$dir/compare.py" "$tallytree" "$dir/v$version"
done
packets() { "$tallytree" report header "$dir/v3" | grep -q "6 *lost.packets"; }
try "packets of other processes are left out, and counted" packets
generations() { "$tallytree" report space --by generation --csv "$dir/v3" | grep -q "copied from 0 to 1"; }
try "promotions are rows of space" generations
balance() { "$tallytree" report space --by generation --json "$dir/v3" | python3 -c '
import json, sys
t = json.load(sys.stdin); c = {k["key"]: i for i, k in enumerate(t["columns"])}
b = {r["values"][c["name"]]: r["values"][c["bytes"]] for r in t["rows"] if r["role"] == "entry"}
left = sum(json.load(open(sys.argv[1] + ".json"))[1].values())
assert b["allocated"] + b["allocated in 1"] - b["freed from 0"] - b["freed from 1"] == left, (b, left)' "$dir/v3"; }
try "what was allocated and not freed is alive" balance

size=$(stat -c %s "$dir/v3")
cut() { head -c $((size - 5)) "$dir/v3" >"$dir/bad" && "$tallytree" report header "$dir/bad" | grep -q "7 *lost.packets"; }
try "a packet that was cut off is left out, and counted" cut
changed() { python3 - "$dir" <<'END'
import struct, sys
data, at = bytearray(open(sys.argv[1] + "/v1", "rb").read()), 0
while data[at + 38:at + 40] == b"\xff\xff": at += struct.unpack("<I", data[at + 4:at + 8])[0] // 8
data[at + 42] ^= 1
open(sys.argv[1] + "/bad", "wb").write(data)
END
    refused "$dir/bad" ": byte .*a packet before this is lacking"; }
try "a packet that was written with another table of frames is refused" changed
garbage() { { head -c 104 "$dir/v1"; head -c 400 /dev/zero; } >"$dir/bad" && refused "$dir/bad" ": byte 104: a packet is due here"; }
try "so is garbage" garbage
later() { { head -c 28 "$dir/v3"; printf '\4\0'; tail -c +31 "$dir/v3"; } >"$dir/bad" && refused "$dir/bad" ": byte 0: version 4 is not known"; }
try "so is a later version" later
finish
