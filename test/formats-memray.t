#!/bin/bash
# SPDX-License-Identifier: MIT
# Files of memray: allocations that a few lines of Python have made up, and written as each version does, have the stacks
# and figures that brute force finds.
. "$(dirname "$0")/formats.sh"

cat >"$dir/make.py" <<'END'
"""make.py FOLDER VERSION all|peaks SEED [LIBRARY]: a file, and sums of each stack beside it."""
import collections, random, struct, sys
out, version, form, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
library = sys.argv[5:]  # its path, and the offsets of "name=0x12"
dice, packed, whole = random.Random(seed), version >= 12, form == "all"
native = bool(library)
KINDS = ["malloc", "free", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc", "mmap", "munmap",
         "pymalloc_malloc", "pymalloc_calloc", "pymalloc_realloc", "pymalloc_free"]
NOW = ["pymalloc_free", "pymalloc_malloc", "pymalloc_calloc", "pymalloc_realloc", "free", "malloc", "realloc", "calloc"] + KINDS[4:11]
number = {k: (NOW if packed else KINDS).index(k) + 1 for k in KINDS}
def varied(n):
    b = b""
    while n > 127: b, n = b + bytes([n & 127 | 128]), n >> 7
    return b + bytes([n])
def signed(n): return varied((n << 1 ^ n >> 63) & 2**64 - 1)
last = collections.Counter()
def delta(what, n):
    d, last[what] = n - last[what], n
    return signed(d)
def text(s): return s.encode() + b"\0"
BASE, IMAGES = 0x7f0000000000, [1]
functions = [("<module>", "/a/größe.py", 0), ("f", "/a/größe.py", 3), ("f", "/a/b.py", 3), ("<listcomp>", "/a/b.py", 70), ("g", "/a/b.py", 5)]
python, natives, symbols = [], [], dict(s.split("=") for s in library[1:])  # frames (function, entry); (address, parent)
def image():
    return struct.pack("<B", 6) + struct.pack("<B", 7) + text(library[0]) + varied(1) + struct.pack("<Q", BASE) + struct.pack("<BQ", 8, 0) + varied(1 << 20) + b"\7" + text("linux-vdso.so.1") + varied(0) + bytes(8)
# what happens: threads push and pop frames, allocate and free
main, skipped = 70000, 2 if version >= 9 and seed % 2 else 0
threads = {main: [], 70001: [], 2**63 + 5: []}
events, live, ranges, known, objects = [], {}, [], {}, []
body, sums = b"", collections.defaultdict(collections.Counter)
def stack(tid, nat):
    frames = threads[tid]
    if not nat: return ";".join(functions[f][0] for f, _ in frames[skipped if tid == main else 0:])
    chain, path = nat, []
    while chain: chain, path = natives[chain - 1][1], [natives[chain - 1][0]] + path
    todo, here = list(enumerate(frames)), []
    for a in path:
        if a != symbols["_PyEval_EvalFrameDefault"] or not todo:
            here.append(next(n for n, v in symbols.items() if v == a))
            continue
        first = True
        while todo and (first or not todo[0][1][1]):
            i, (f, _) = todo.pop(0)
            if tid == main and skipped and i == skipped: here = []
            here.append(functions[f][0])
            first = False
    return ";".join(here) if not todo else stack(tid, 0)
def make_native(tid):
    """A chain from the outermost frame on, in which the loop runs each entry frame."""
    global body
    names, entries = [], sum(1 for i, (_, e) in enumerate(threads[tid]) if e or not i)
    for _ in range(entries): names += dice.choice([["call"], []]) + ["_PyEval_EvalFrameDefault"]
    if dice.random() < .1 and names: names.pop(names.index("_PyEval_EvalFrameDefault"))
    parent = 0
    for n in names + dice.choice([["call"], ["call", "leaf"]]):
        natives.append((symbols[n], parent))
        if whole: body += b"\5" + delta("ip", BASE + int(symbols[n], 16) + 1) + delta("native", parent)
        parent = len(natives)
    return parent
recent, now = [0] * 15, [None]
def switch(tid):
    global body
    if now[0] != tid: body += b"\x0c" + struct.pack("<Q", tid)
    now[0] = tid
def push(tid):
    global body
    f, entry = dice.randrange(len(functions)), dice.random() < .6 or not threads[tid]
    key = (f, entry)
    if key not in known and not packed:
        known[key] = len(known)
        body += bytes([3 | (0 if entry else 16)]) + delta("frame", known[key]) + text(functions[f][0]) + text(functions[f][1]) + delta("line", functions[f][2] + 2)
    if packed and f not in known:
        known[f] = 10**6 * f + 17
        body += b"\x0e" + varied(known[f]) + text(functions[f][0]) + text(functions[f][1]) + delta("line", functions[f][2]) + varied(5000) + b"\0" * 5000
    switch(tid)
    threads[tid].append((f, entry))
    body += bytes([0x40 | entry]) + varied(known[f]) + signed(dice.randrange(-1, 300)) if packed else b"\4" + delta("frame", known[key])
def pop(tid):
    global body
    n = dice.randrange(1, len(threads[tid]) + 1)
    switch(tid)
    body += bytes([0x10 | n - 1]) if packed else bytes([9 | n - 1 << 4])
    del threads[tid][-n:]
def pointer(address):
    """4 bits, and bytes."""
    if address in recent: return recent.index(address), b""
    recent[:] = [address] + recent[:-1]
    return 15, delta("pointer", address >> 3)
def record(tid, kind, address, size, nat):
    global body
    switch(tid)
    release = kind in ("free", "pymalloc_free")
    if packed:
        bits, bytes_ = pointer(address)
        n = number[kind]
        body += bytes([0x80 | bits << 3 | (n if n < 8 else 0)]) + bytes_ + (bytes([n]) if n > 7 else b"")
        if native and not release: body += delta("native", nat)
        if not release: body += varied(size)
    elif native and kind not in ("free", "pymalloc_free", "munmap"):
        body += bytes([2 | number[kind] << 4]) + delta("pointer", address) + varied(size) + delta("native", nat)
    else: body += bytes([1 | number[kind] << 4]) + delta("pointer", address) + (b"" if release else varied(size))
peak, best, heap = 0, None, 0
def note():
    global peak, best, heap
    heap = sum(s for _, _, s in live.values()) + sum(e - b for b, e, *_ in ranges)
    if heap >= peak: peak, best = heap, alive()
def alive():
    c = collections.Counter()
    for tid, s, n in live.values(): c["bytes", s, tid] += n; c["number", s, tid] += 1
    for b, e, tid, s in ranges: c["bytes", s, tid] += e - b; c["number", s, tid] += 1
    return c
def unmap(start, size):
    rest = []
    for b, e, *r in ranges:
        if min(e, start + size) <= max(b, start): rest.append((b, e, *r))
        else: rest += [(x, y, *r) for x, y in ((b, start), (start + size, e)) if x < y]
    ranges[:] = rest
def images():
    global body
    if native: body += image()
images()
for tid, name in ((70001, "worker größe"),):
    switch(tid); body += b"\x0a" + text("a longer name than it has later") + b"\x0a" + text(name)
for step in range(400):
    tid = dice.choice(list(threads))
    what = dice.random()
    if what < .3 and len(threads[tid]) < 12: push(tid)
    elif what < .4 and threads[tid]: pop(tid)
    elif what < .7:
        kind = dice.choice([k for k in KINDS if "free" not in k and k != "munmap"])
        address, size = 4096 * dice.randrange(1, 40) if kind == "mmap" else 8 * dice.randrange(1, 2**45), dice.choice([0, 7, 4096, 10**6])
        while address in live: address += 16
        nat = make_native(tid) if native and dice.random() < .9 else 0
        s = stack(tid, nat)
        record(tid, kind, address, size, nat)
        if kind == "mmap":
            unmap(address, size)
            ranges.append((address, address + size, tid, s))
        else: live[address] = tid, s, size
        sums["bytes"][s] += size; sums["allocations"][s] += 1
        objects.append((tid, kind, address, size, nat, tuple(threads[tid]), s))
        note()
    elif what < .8 and live:
        address = dice.choice(list(live) + [8])
        record(tid, dice.choice(["free", "pymalloc_free"]), address, 0, 0)
        live.pop(address, None); note()
    elif what < .9:
        start, size = 4096 * dice.randrange(1, 40), dice.choice([4096, 8192, 10**6])
        record(tid, "munmap", start, size, 0)
        unmap(start, size); note()
    elif what < .93: body += bytes([2 if packed else 11]) + varied(50 * step) + varied(step)
    elif packed and what < .96:
        switch(tid)
        bits, bytes_ = pointer(8 * dice.randrange(1, 10**6))
        new = dice.randrange(2)
        body += bytes([0x20 | bits << 1 | new]) + bytes_
        if native and new: body += delta("native", 0)
head = b"memray\0" + struct.pack("<i", version) + (struct.pack("<i", 0x030d0000) if packed else b"") + bytes([native]) + (bytes([not whole]) if version > 9 else b"")
head += struct.pack("<QQQQ", 5, 6, 10**12, 10**12 + 2500) + text("app.py --größe") + struct.pack("<i", 4242)
if version > 8: head += struct.pack("<QQ", main, skipped)
head += b"\1" + (b"\1" if version > 10 else b"") + (b"\0" if packed else b"")
if version > 12: head += text("/usr/lib/python3") + text("/a") + text("/b") + b"\0" + text("/c") + b"\0"
end, final = (b"\1" if packed else b"\x10") if whole else b"\x0f", alive()
if not whole: # the same, aggregated
    body, last, nodes, frames, codes = b"", collections.Counter(), {}, {}, {}
    body += b"\1" + struct.pack("<QQQ", 10**12 + 7, 999, 77)
    body += b"\x0c" + struct.pack("<Q", 70001) + b"\x0a" + text("worker größe")
    images()
    if packed:
        for f, (name, file, line) in enumerate(functions): body += b"\x0e" + varied(f + 900) + text(name) + text(file) + delta("line", line) + varied(3) + b"abc"
    for offset, parent in natives: body += b"\5" + delta("ip", BASE + int(offset, 16) + 1) + delta("native", parent)
    tail, table = b"", b""
    if packed: body += b"\x0d" + varied(5) + (varied(0) if native else b"")
    def node(frames_):
        global body, table
        at = 0
        for f in frames_:
            if f not in frames:
                frames[f] = len(frames)
                name, file, line = functions[f[0]]
                body += b"\4" + (varied(frames[f]) + varied(f[0] + 900) + signed(-1) + bytes([f[1]]) if packed else struct.pack("<Q", frames[f]) + text(name) + text(file) + struct.pack("<iB", line, f[1]))
            if (at, f) not in nodes:
                nodes[at, f] = len(nodes) + 1
                table += b"\3" + (varied(frames[f]) + varied(at) if packed else struct.pack("<QI", frames[f], at))
            at = nodes[at, f]
        return at
    for tid, kind, _, _, nat, fr, s in objects: # all that one stack and thread has goes to its first allocation
        get = lambda c, k: c.pop((k, s, tid), 0)
        figures = get(best, "number"), get(final, "number"), get(best, "bytes"), get(final, "bytes")
        for k, v in zip(("peak number", "live number", "peak bytes", "live bytes"), figures): sums[k][s] += v
        tail += b"\2" + struct.pack("<QQQQQQQQQ", tid, number[kind] | 0xabcd00, nat, node(fr), IMAGES[0] if native else 0, *figures)
    body += table + tail
else:
    for c, word in ((best, "peak"), (final, "live")):
        for (k, s, tid), v in c.items():
            sums["%s %s" % (word, k)][s] += v
            if word == "live" and k == "bytes": sums["threads"][str(tid)] += v
open(out + "/all", "wb").write(head + body + end)
open(out + "/killed", "wb").write(head + body + bytes(4096))
for n in ("bytes", "allocations", "peak bytes", "peak number", "live bytes", "live number", "threads"):
    open(out + "/" + n, "w").write("".join("%s %d\n" % (s or "[root]", v) for s, v in sorted(sums[n].items()) if v))
END
# Two functions have one name: their lines are added up.
add_up() { awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (s in sum) printf "%s %d\n", s, sum[s] }' | LC_ALL=C sort; }
of() { "$tallytree" export --to folded --metric "$1" "$dir/${2-all}" | add_up | diff <(LC_ALL=C sort "$dir/$1") -; }
figures()
{
    local metric
    for metric in "$@"; do of "$metric" || return; done
}
make() { python3 "$dir/make.py" "$dir" "$@" || exit; }
readonly left=("peak bytes" "peak number" "live bytes")

for version in 8 10 11 13; do
    make $version all $version
    try "version $version: each stack has what it allocated, and what was alive at the peak and the end" figures bytes "live number" "${left[@]}"
    [ $version = 10 ] || [ $version = 13 ] || continue
    make $version peaks $version
    try "version $version, aggregated: each stack has what was alive at the peak and the end" figures "${left[@]}"
done

cat >"$dir/loop.c" <<'END'
int call(int n) { return n + 1; }
int leaf(int n) { return n + 2; }
int _PyEval_EvalFrameDefault(int n) { return n + 3; }
END
if "${CC:-cc}" -shared -fPIC -O0 -o "$dir/loop.so" "$dir/loop.c" 2>/dev/null; then
    mapfile -t symbols < <(nm "$dir/loop.so" | awk '$3 ~ /^(call|leaf|_PyEval.*)$/ { print $3 "=0x" $1 }')
    for version in 9 12; do
        make $version all $version "$dir/loop.so" "${symbols[@]}"
        try "version $version: frames of Python replace the interpreter's loop in native stacks" figures allocations "peak bytes"
    done
    for version in 11 13; do
        make $version peaks $version "$dir/loop.so" "${symbols[@]}"
        try "version $version, aggregated: so they do" figures "peak bytes"
    done
    strip -s "$dir/loop.so" -R .dynsym -R .gnu.hash -R .dynstr 2>/dev/null || rm "$dir/loop.so"
    mv "$dir/loop.so" "$dir/gone.so"
    unnamed() { "$tallytree" report header "$dir/all" | grep -q "left out.*native frames.*symbols" && "$tallytree" export --to folded --metric "peak bytes" "$dir/all" | grep -q '^<module>\|^f\|^g'; }
    try "without the interpreter's symbols, native frames are left out, and the header says so" unnamed
else
    skip "frames of Python replace the interpreter's loop in native stacks" "there is no compiler"
fi

make 13 all 5
cp "$dir/all" "$dir/plain"
threads() { "$tallytree" report strands --csv --metric "live bytes" "$dir/plain" >"$dir/got" && python3 -c 'import csv, sys
rows = {r["thread"]: r for r in csv.DictReader(open(sys.argv[1])) if r["role"] == "entry" and r["thread"]}
want = dict(line.split() for line in open(sys.argv[2]))
sys.exit(any(int(float(rows[t]["self"])) != int(n) for t, n in want.items()) or "worker größe" not in rows["70001"].values())' "$dir/got" "$dir/threads"; }
try "threads are strands, with their names" threads
header() { "$tallytree" report header "$dir/plain" | grep -q 'app.py --größe' && "$tallytree" report header "$dir/plain" | grep -q '2500000000.*lasted' && "$tallytree" report space --csv "$dir/plain" | grep -q 'aligned_alloc'; }
try "the command, the duration and what allocates are known" header
series() { [ "$("$tallytree" report series --csv "$dir/plain" | awk -F, '$1 == "entry" && $5 > most { most = $5 } END { print most }')" = "$(awk '{ n += $NF } END { print n }' "$dir/peak bytes")" ]; }
try "the size over time is a series, and is largest at the peak" series
killed() { of bytes killed && "$tallytree" report header "$dir/killed" | grep -q 'cut off'; }
try "a file whose program was killed is read up to the zeros, and says so" killed
if command -v lz4 >/dev/null; then
    packed() { lz4 -q -f "$dir/plain" "$dir/all" && figures bytes "${left[@]}"; }
    try "it may be packed by lz4" packed
else
    skip "it may be packed by lz4" "lz4 is not installed"
fi
version() { printf 'memray\0\7\0\0\0some more of it' >"$dir/bad" && refused "$dir/bad" ": byte 11: version 7 of memray's files is not known, only 8 to 13 are; .*'memray flamegraph FILE'"; }
try "other versions are refused, with what reads them" version
short() { printf 'memray\0\15\0\0\0' >"$dir/short" && refused "$dir/short" ": byte [0-9]*: the file ends within its head"; }
try "a file that ends within its head is refused" short
# begins HEX - a file whose first records are these bytes, after a thread's.
begins() { python3 -c 'import sys; d = open(sys.argv[1], "rb").read(); i = d.index(b"/c\0\0") + 4; open(sys.argv[2], "wb").write(d[:i] + b"\x0c" + bytes(8) + bytes.fromhex(sys.argv[3]))' "$dir/plain" "$dir/bad" "$1"; }
popped() { begins 1f && refused "$dir/bad" ": byte [0-9]*: more frames are popped than were pushed"; }
try "more pops than pushes are refused" popped
unknown() { begins 03 && refused "$dir/bad" ": byte [0-9]*: no record begins like this" && begins f8632a00 && refused "$dir/bad" ": byte [0-9]*: what allocates here is not known"; }
try "unknown records, and unknown functions that allocate, are refused" unknown
image='07 6100 01 0000000000000000 08 0000000000000000 01'
early() { begins "$image" && refused "$dir/bad" ": byte [0-9]*: an image comes before its list, or after addresses"; }
try "an image before the first list of images is refused" early

cat >"$dir/hostile.py" <<'END'
"""hostile.py ranges|deep|late FILE"""
import struct, sys
kind, out = sys.argv[1:]
def varied(n):
    b = b""
    while n > 127: b, n = b + bytes([n & 127 | 128]), n >> 7
    return b + bytes([n])
def signed(n): return varied(n << 1)
def code(n): return b"\x0e" + varied(n) + b"f%d\0a.py\0" % n + varied(0) + varied(0)
def push(n): return b"\x41" + varied(n) + varied(0)
body = b"memray\0" + struct.pack("<ii", 13, 0x030d0000) + bytes([kind != "ranges", 0]) + bytes(32) + b"app\0" + bytes(4 + 16 + 3) + b"/\0/a\0\0/b\0\0" + b"\x0c" + bytes(8)
if kind == "ranges": body += (b"\xf8" + signed(2) + b"\x0e\x08") * 60000 + (b"\xf8" + signed(2) + b"\x0f\x08") * 300000
image = b"\7a\0\1" + bytes(8) + b"\x08" + bytes(8) + varied(1 << 20)
native = b"\5" + signed(64) + signed(0) + b"\xfe" + signed(2) + signed(1) + varied(5)
if kind == "late": body += b"\6" + image + native + image + native
if kind == "deep": body += code(1) + push(1) * 100000 + native * 40000
open(out, "wb").write(body + b"\1")
END
# hostile KIND METRIC SUM - a file that takes minutes if each record takes as long as there are others
hostile() { python3 "$dir/hostile.py" "$1" "$dir/bad" && [ "$(timeout 20 "$tallytree" export --to folded --metric "$2" "$dir/bad" | awk '{ sum += $NF } END { print sum }')" = "$3" ]; }
late() { python3 "$dir/hostile.py" late "$dir/bad" && refused "$dir/bad" ": byte [0-9]*: an image comes before its list, or after addresses"; }
try "so is one after addresses that are in its list" late
try "300,000 releases beside 60,000 mappings are read at once" hostile ranges "live bytes" 480000
deep() { hostile deep bytes 200000 && "$tallytree" report header "$dir/bad" | grep -q 'native frames of stacks with more than 4096 frames of Python'; }
try "of stacks with too many frames of Python, native frames are left out, and the header says so" deep
finish
