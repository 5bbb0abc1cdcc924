#!/bin/bash
# SPDX-License-Identifier: MIT
# Traces of .NET: events that a few lines of Python have put into blocks have the stacks that were meant.
. "$(dirname "$0")/formats.sh"

cat >"$dir/make.py" <<'END'
import collections, random, struct, sys
out, pointer, short = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "short"
dice = random.Random(pointer + short)
sums = collections.defaultdict(collections.Counter)
data = b"Nettrace\x14\0\0\0!FastSerialization.1"
def varint(n):
    b = b""
    while n > 127: b, n = b + bytes([n & 127 | 128]), n >> 7
    return b + bytes([n])
def text(s): return s.encode("utf-16-le") + b"\0\0"
def put(name, payload, padded=True):
    global data
    data += b"\5\5\1" + struct.pack("<iii", 2, 2, len(name)) + name + b"\6"
    if padded:
        data += struct.pack("<i", len(payload))
        data += bytes(-len(data) % 4)
    data += payload + b"\6"
def events(name, events):
    """Each is (kind, sequence, capturer, thread, stack, payload)."""
    global data
    block = struct.pack("<hhqq", 20, 1 if short else 0, 0, 0)
    before, start = (0, 0, 0, 0, 0, 0), len(data)
    for e in events:
        kind, sequence, capturer, thread, stack, payload = e
        if short:
            flags = (kind != before[0]) | (stack != before[4]) << 3 | (thread != before[3]) << 2 | (len(payload) != before[5]) << 7
            expected = before[1] + (1 if kind else 0)
            if capturer != before[2] or sequence != expected: flags |= 2
            if dice.random() < .2: flags |= 16
            if dice.random() < .2: flags |= 32
            block += bytes([flags])
            if flags & 1: block += varint(kind)
            if flags & 2: block += varint((sequence - (1 if kind else 0) - before[1]) % 2**32) + varint(capturer) + varint(3)
            if flags & 4: block += varint(thread)
            if flags & 8: block += varint(stack)
            block += varint(7)
            block += b"G" * (16 * (bool(flags & 16) + bool(flags & 32)))
            if flags & 128: block += varint(len(payload))
            block += payload
        else:
            body = struct.pack("<IIqqiiq", kind, sequence, thread, capturer, 3, stack, 9) + b"G" * 32 + struct.pack("<i", len(payload)) + payload
            block += struct.pack("<i", len(body)) + body
            block += bytes(-len(block) % 4) # blocks begin at a multiple of 4
        before = (kind, sequence, capturer, thread, stack, len(payload))
    put(name, block)
kinds = [("Microsoft-DotNETCore-SampleProfiler", 0), ("Microsoft-Windows-DotNETRuntime", 10), ("Microsoft-Windows-DotNETRuntime", 80), ("Microsoft-Windows-DotNETRuntime", 91),
         ("Microsoft-Windows-DotNETRuntime", 143), ("Microsoft-Windows-DotNETRuntimeRundown", 144), ("Microsoft-Windows-DotNETRuntimeRundown", 154), ("Microsoft-DotNETCore-EventPipe", 1), ("Mine", 0)]
SAMPLE, TICK, THROWN, WAITED, LOADED, THERE, MODULE, PROCESS, OTHER = range(1, 10)
put(b"Trace", struct.pack("<8hqqiiii", *[1] * 8, 5, 1000, pointer, 77, 2, 1000000), False)
def describe(some): events(b"MetadataBlock", [(0, 0, 0, 0, 0, struct.pack("<i", k) + text(kinds[k - 1][0]) + struct.pack("<i", kinds[k - 1][1]) + text("Name") + struct.pack("<qiii", 0, 1, 4, 0)) for k in some])
methods = [(0x1000, 0x100, "N.A", "Main", "void (string[])"), (0x1100, 0x80, "N.B`1[int32]", "größe😀", "instance class C`1<!0> (int32,bool)"), (0x2000, 0x40, "", "dynamic", ""), (0x2040, 0x10, "N.A", "Old", "void ()")]
newer = (0x2040, 0x10, "N.A", "New", "void ()") # at the same place, later
def name(s, z, space, n, sig): return (space + "." if space else "") + n + (sig[sig.index("("):] if "(" in sig else "")
def described(m): return struct.pack("<QQQIII", 1, 500, m[0], m[1], 6, 0) + text(m[2]) + text(m[3]) + text(m[4]) + struct.pack("<H", 9)
places = {m[0] + k: name(*m) for m in methods[:3] for k in (0, m[1] - 1)}
places[0x2045] = name(*newer)
places[0x2050] = name(*newer) # behind the end of its last call
places[0x9999] = "0x9999"
numbers, lost = {}, 0
def number(capturer):
    global lost
    gap = dice.randrange(3) if capturer in numbers and dice.random() < .1 else 0
    lost += gap
    numbers[capturer] = numbers.get(capturer, 2**32 - 5) % 2**32 + 1 + gap
    numbers[capturer] %= 2**32
    return numbers[capturer]
describe([LOADED, MODULE, PROCESS, OTHER])
events(b"EventBlock", [(PROCESS, number(1), 1, 1, 0, text("/usr/bin/app --x") + text("Linux"))] + [(LOADED, number(1), 1, 1, 0, described(m)) for m in methods[2:]])
describe([SAMPLE, TICK, THROWN, WAITED])
for region in range(3):
    stacks = [[dice.choice(sorted(places)) for _ in range(dice.randrange(1, 5))] for _ in range(6)]
    first = dice.randrange(1, 4)
    for half in (stacks[:3], stacks[3:]):
        put(b"StackBlock", struct.pack("<ii", first, len(half)) + b"".join(struct.pack("<i", len(s) * pointer) + b"".join(struct.pack("<Q" if pointer == 8 else "<I", a) for a in s) for s in half))
        todo = []
        for _ in range(15):
            k, kind = dice.randrange(len(half)), dice.choice([SAMPLE, SAMPLE, SAMPLE, TICK, THROWN, WAITED, OTHER])
            stack, thread = ";".join(places[a] for a in half[k][::-1]), dice.choice([1, 2, 300])
            capturer = 99 if kind == SAMPLE else thread
            if kind == SAMPLE:
                how = dice.choice([1, 2])
                payload = struct.pack("<i", how)
                sums["samples" if how == 2 else "external samples"][stack] += 1
                sums["thread"][str(thread)] += how == 2
            elif kind == TICK:
                n = dice.randrange(1, 2**40)
                payload = struct.pack("<IIHQ", n & 0xffffffff, 0, 9, n) + bytes(pointer) + text("System.Byte[]") + bytes(8)
                sums["bytes"][stack] += n; sums["allocation samples"][stack] += 1
            elif kind == WAITED:
                n = dice.randrange(1, 2**40)
                payload = struct.pack("<BHd", 0, 9, n)
                sums["contentions"][stack] += 1; sums["delay"][stack] += n
            else:
                payload = text("System.Exception")
                if kind == THROWN: sums["exceptions"][stack] += 1
            todo.append((kind, number(capturer), capturer, thread, first + k, payload))
        events(b"EventBlock", todo)
        first += 3
    lost += 2 if region == 2 else 0
    put(b"SPBlock", struct.pack("<qi", 5, len(numbers)) + b"".join(struct.pack("<qI", t, (n + (2 if region == 2 and t == 99 else 0)) % 2**32) for t, n in numbers.items()))
    numbers[99] = (numbers[99] + (2 if region == 2 else 0)) % 2**32
describe([THERE])
events(b"EventBlock", [(MODULE, number(1), 1, 1, 0, struct.pack("<QQII", 500, 1, 0, 0) + text("/app/größe.dll") + text(""))] + [(THERE, number(1), 1, 1, 0, described(m)) for m in methods[:2] + [newer]])
whole = data + b"\1"
open(out + "/all", "wb").write(whole)
open(out + "/cut", "wb").write(data + b"\5\5\1" + struct.pack("<iii", 2, 2, 10) + b"EventBlock\6" + struct.pack("<i", 100))
open(out + "/lost", "w").write(str(lost))
for n in ("samples", "external samples", "bytes", "allocation samples", "contentions", "delay", "exceptions", "thread"):
    open(out + "/" + n, "w").write("".join("%s %d\n" % line for line in sorted(sums[n].items())))
END
of() { "$tallytree" export --to folded --metric "$1" "$dir/${2-all}" | LC_ALL=C sort | diff <(LC_ALL=C sort "$dir/$1") -; }
fact() { "$tallytree" report header "$dir/${3-all}" | grep -q "$2 *$1\|$1 *$2"; }
lost() { fact "$(cat "$dir/lost")" "lost"; }
for form in "8 short" "4 short" "8 long"; do
    # shellcheck disable=SC2086
    python3 "$dir/make.py" "$dir" $form || exit
    for metric in "samples" "external samples" "bytes" "allocation samples" "contentions" "delay" "exceptions"; do
        try "addresses of ${form% *} bytes, heads that are ${form#* }: each stack has its $metric" of "$metric"
    done
    try "events that are missing are counted" lost
done
threads() { "$tallytree" report strands --csv --metric samples "$dir/all" >"$dir/got" && python3 -c 'import csv, sys
rows = {r["thread"]: int(float(r["self"])) for r in csv.DictReader(open(sys.argv[1])) if r["role"] == "entry" and r["thread"]}
want = dict(line.split() for line in open(sys.argv[2]))
sys.exit(any(rows[t] != int(n) for t, n in want.items()))' "$dir/got" "$dir/thread"; }
try "threads are strands" threads
try "the command line is the program's" fact /usr/bin/app program
module() { "$tallytree" report flat --csv --metric samples "$dir/all" | grep -q 'größe.dll' && "$tallytree" report space --csv "$dir/all" | grep -q 'System.Byte\[\]'; }
try "methods have their module, allocations their type" module
cut() { of samples cut && "$tallytree" report header "$dir/cut" | grep -q 'cut off'; }
try "a trace that was cut off is read up to there, and says so" cut
# Version 6.
cat >"$dir/six.py" <<'END'
"""six.py FOLDER long|short SEED: a trace of two processes, which share the numbers of stacks; sums of each stack beside it."""
import collections, random, struct, sys
out, short, seed = sys.argv[1], sys.argv[2] == "short", int(sys.argv[3])
dice, pointer, ticks = random.Random(seed), 8 if seed % 3 else 4, 10**7
sums, data = collections.defaultdict(collections.Counter), b"Nettrace" + struct.pack("<III", 0, 6, 3)
def varint(n):
    b = b""
    while n > 127: b, n = b + bytes([n & 127 | 128]), n >> 7
    return b + bytes([n])
def text(s): return varint(len(s.encode())) + s.encode()
def wide(s): return s.encode("utf-16-le") + b"\0\0"
def brief(s): return struct.pack("<H", len(s.encode())) + s.encode()
def block(kind, payload):
    global data
    data += struct.pack("<I", len(payload) | kind << 24) + payload
def row(b): return struct.pack("<H", len(b)) + b
kinds = {"cpu": ("Universal.Events", 0, "cpu", 1), "off": ("Universal.Events", 2, "cswitch", 1), "page": ("Universal.Events", 3, "faults größe", 1), "odd": ("Universal.Events", 9, "odd", 0),
         "map": ("Universal.System", 3, "ProcessMapping", 0), "symbol": ("Universal.System", 4, "ProcessSymbol", 0), "about": ("Universal.System", 5, "ProcessMappingMetadata", 0),
         "method": ("Microsoft-Windows-DotNETRuntime", 143, "MethodLoadVerbose", 0), "sample": ("Microsoft-DotNETCore-SampleProfiler", 0, "", 0)}
number = {}
def describe():
    numbers = dice.sample(range(1, 400), len(kinds))
    rows = b""
    for k, n in zip(kinds, numbers):
        provider, event, name, value = kinds[k]
        field = row(text("Value") + b"\x15" + b"later") if value else row(text("Name") + b"\x13\x17")
        rows += row(varint(n) + text(provider) + varint(event) + text(name) + struct.pack("<H", 2 if k == "odd" else 1) + field * (2 if k == "odd" else 1) + struct.pack("<H", 2) + b"\x09\1" + b"more")
        number[k] = n
    block(3, struct.pack("<H", 3) + b"new" + rows)
sequence, lost, index, now = collections.Counter(), 0, {}, 1000
def threads():
    """Each thread gets a number, which meant another one before."""
    rows = b""
    for (pid, tid), n in zip(THREADS, dice.sample(range(300), len(THREADS))):
        index[pid, tid] = n
        rows += row(varint(n) + b"\2" + varint(pid) + b"\4" + text("key") + text("value") + b"\3" + varint(tid) + (b"\1" + text("name größe") if tid == 11 else b""))
    block(6, rows)
def events(todo):
    global now
    payload, before = struct.pack("<HHQQ", 23, 1 if short else 0, 0, 0) + b"new", dict(k=0, s=0, c=0, t=0, i=0, l=0, z=0)
    last = 0
    for kind, capturer, thread, stack, body in todo:
        global lost
        gap = dice.choice([0, 0, 0, 2]) if capturer in sequence else 0
        lost += gap
        sequence[capturer] += 1 + gap
        now += dice.randrange(9)
        label = dice.randrange(3)
        e = dict(k=number[kind], s=sequence[capturer], c=capturer, t=thread, i=stack, l=label, z=len(body))
        if short:
            flags, rest = 0, b""
            if e["k"] != before["k"] or dice.random() < .2: flags |= 1; rest += varint(e["k"])
            if e["s"] != before["s"] + 1 or e["c"] != before["c"]: flags |= 2; rest += varint((e["s"] - before["s"] - 1) % 2**32) + varint(e["c"]) + varint(7)
            if e["t"] != before["t"]: flags |= 4; rest += varint(e["t"])
            if e["i"] != before["i"]: flags |= 8; rest += varint(e["i"])
            rest += varint(now - last)
            if e["l"] != before["l"]: flags |= 16; rest += varint(e["l"])
            if e["z"] != before["z"]: flags |= 128; rest += varint(e["z"])
            payload += bytes([flags | dice.choice([0, 64])]) + rest + body
        else:
            head = struct.pack("<IIQQIIQII", e["k"] | dice.choice([0, 2**31]), e["s"] % 2**32, thread, capturer, 7, stack, now, label, len(body))
            payload += struct.pack("<I", len(head + body)) + head + body
        before, last = e, now
    block(2, payload)
THREADS = [(100, 11), (100, 12), (200, 21)]
top = 2**64 if pointer == 8 else 2**32
kernel = top - 4096
maps = {100: [(1, 0x1000, 0x5000, 0x2000, "/lib/libgröße.so", 9), (2, 0x100000, 0x200000, 0, "/memfd:doublemapper", 0)], 200: [(3, 0x1000, 0x5000, 0, "/bin/other", 0)], 0: [(4, kernel, top - 1, 0, "[kernel]", 0)]}
symbols = [(2, 0x100000, 0x1000ff, "instance class [System]X`1<!0> [App] N.A::Main(int32)[Tier1]"), (2, 0x100100, 0x1001ff, "helper [1]"), (3, 0x1000, 0x1fff, "other_main"), (4, kernel, kernel + 99, "do_idle")]
name = {(100, 0x100010): "N.A::Main(int32)", (100, 0x100110): "helper [1]", (200, 0x1010): "other_main", (200, 0x3000): "other+0x%x", (100, 0x1010): "libgröße.so+0x%x", (100, kernel + 5): "do_idle",
        (200, kernel + 5): "do_idle", (200, 0x100010): "0x%x", (100, 0x700000): "N.B.Jit(bool)", (200, 0x700000): "0x%x", (100, 0x3000): "libgröße.so+0x%x", (200, 0x100110): "0x%x"}
place = {(200, 0x3000): 0x2000, (100, 0x1010): 0x2010, (200, 0x100010): 0x100010, (200, 0x700000): 0x700000, (100, 0x3000): 0x4000, (200, 0x100110): 0x100110}
addresses = [0x100010, 0x1010, 0x3000, kernel + 5, 0x700000, 0x100110]
def folded(pid, stack):
    names = []
    for i, a in enumerate(stack):
        n = name[pid, a]
        # of all but the innermost, the call is before the address
        names.append(n % (place[pid, a] - (i > 0)) if "%" in n else n)
    return ";".join(reversed(names))
pairs = text("ProcessId") + text("77") + text("HardwareThreadCount") + text("4")
block(1, bytes(16) + struct.pack("<QQII", 5, ticks, pointer, 2) + pairs)
describe()
threads()
for pid in (100, 200, 0):
    t = index.get(next((k for k in THREADS if k[0] == pid), None))
    if t is None: block(6, row(varint(999) + b"\2\0")); t = 999
    events([("map", 0, t, 0, varint(i) + varint(a) + varint(e) + varint(o) + brief(n) + varint(m) + brief("{}")) for i, a, e, o, n, m in maps[pid]])
    if pid == 100:
        events([("about", 0, t, 0, varint(9) + brief('{"type": "ELF","build_id": "c0ffee"}') + brief("{}"))])
        events([("method", 0, t, 0, struct.pack("<QQQIII", 1, 5, 0x700000, 64, 6, 0) + wide("N.B") + wide("Jit") + wide("instance void (bool)") + bytes(2))])
events([("symbol", 0, 0, 0, varint(i) + varint(m) + varint(a) + varint(e) + brief(n)) for i, (m, a, e, n) in enumerate(symbols)])
for round_ in range(6):
    stacks = [[dice.choice(addresses) for _ in range(dice.randrange(1, 6))] for _ in range(5)]
    first = dice.randrange(1, 9)
    block(5, struct.pack("<II", first, len(stacks)) + b"".join(struct.pack("<I", len(s) * pointer) + b"".join(struct.pack("<Q" if pointer == 8 else "<I", a) for a in s) for s in stacks))
    block(8, struct.pack("<II", 1, 1) + b"\x81" + bytes(16))
    block(77, b"what may come later")
    todo = []
    for _ in range(30):
        pid, tid = dice.choice(THREADS)
        kind, k, value = dice.choice(["cpu", "cpu", "off", "page", "odd", "sample"]), dice.randrange(5), dice.randrange(1, 2**dice.randrange(1, 40))
        body = varint(value) if kind != "sample" else struct.pack("<I", 2)
        if kind == "cpu": sums["samples"][folded(pid, stacks[k])] += value; sums["threads"][str(tid)] += value
        if kind == "sample": sums["samples"][folded(pid, stacks[k])] += 1; sums["threads"][str(tid)] += 1
        if kind == "off": sums["off-CPU"][folded(pid, stacks[k])] += value * 10**9 // ticks
        if kind == "page": sums["faults größe"][folded(pid, stacks[k])] += value
        todo.append((kind, dice.choice([0, index[pid, tid]]), index[pid, tid], first + k, body))
    events(todo)
    if round_ == 2: # a thread has gone, and its number is given to a new one
        gone = index.pop((200, 21))
        block(7, varint(gone) + varint((sequence[gone] + 3) % 2**32))
        lost += 3 if gone in sequence else 0
        sequence.pop(gone, 0)
        THREADS[2] = (200, 22)
        index[200, 22] = gone
        block(6, row(varint(gone) + b"\2" + varint(200) + b"\3" + varint(22)))
    flags = dice.randrange(4)
    more = dice.choice(list(sequence))
    block(4, struct.pack("<QII", now, flags, 1) + varint(more) + varint(sequence[more] + 5))
    lost, sequence[more] = lost + 5, sequence[more] + 5
    if flags & 1: sequence.clear(); threads()
    if flags & 2: describe()
open(out + "/cut", "wb").write(data + struct.pack("<I", 500 | 2 << 24) + b"cut off")
block(0, b"")
open(out + "/all", "wb").write(data)
open(out + "/lost", "w").write(str(lost))
for n in ("samples", "off-CPU", "faults größe", "threads"):
    open(out + "/" + n, "w").write("".join("%s %d\n" % line for line in sorted(sums[n].items())))
END
sums() { of samples && of "off-CPU" && of "faults größe"; }
for form in "short 1" "long 2" "short 3"; do
    # shellcheck disable=SC2086
    python3 "$dir/six.py" "$dir" $form || exit
    mv "$dir/threads" "$dir/thread"
    try "version 6, heads that are ${form% *}: each stack of each process has what its events weigh" sums
    try "threads are strands, whatever numbers they have" threads
    try "events that are missing are counted" lost
done
try "a trace that was cut off is read up to there, and says so" cut
identity() { "$tallytree" export --to json "$dir/all" | grep -q c0ffee && "$tallytree" report strands "$dir/all" | grep -q 'name größe'; }
try "files have their build-ids, threads their names" identity
again() { python3 -c 'import sys
d, at, trace = open(sys.argv[1], "rb").read(), 20, b""
while d[at + 3] != 3:
    trace, at = trace or d[at:at + 28] + bytes(8) + d[at + 36:at + 4 + d[at]], at + 4 + int.from_bytes(d[at:at + 3], "little")
at += 4 + int.from_bytes(d[at:at + 3], "little")
open(sys.argv[2], "wb").write(d[:at] + trace + d[at:])' "$dir/all" "$dir/again" && of samples again; }
try "a second description of the trace, with a clock without ticks, changes no samples" again
version() { printf 'Nettrace\0\0\0\0\7\0\0\0\0\0\0\0padding, and more of that' >"$dir/bad" && refused "$dir/bad" ": byte 8: this version"; }
try "another version is refused" version
python3 "$dir/make.py" "$dir" 8 short || exit
none() { head -c 102 "$dir/all" >"$dir/bad" && printf '\1' >>"$dir/bad" && refused "$dir/bad" ":.*this trace of .NET has no samples.*dotnet-trace collect"; }
try "a trace without samples is refused, with what records them" none
damaged() { python3 -c 'import sys; d = open(sys.argv[1], "rb").read(); i = d.index(b"EventBlock"); open(sys.argv[2], "wb").write(d[:i + 40] + b"\xff" * 100 + d[i + 140:])' "$dir/all" "$dir/bad" && refused "$dir/bad" ": byte [0-9]*: a block of events is damaged"; }
try "a damaged block is refused" damaged
# Two processes take turns with one stack: minutes, if each event walks it.
cat >"$dir/deep.py" <<'END'
import struct, sys
def text(s): return bytes([len(s)]) + s
def block(kind, payload): return struct.pack("<I", len(payload) | kind << 24) + payload
def row(b): return struct.pack("<H", len(b)) + b
DEPTH = 100000
kind = b"\1" + text(b"Universal.Events") + b"\0" + text(b"cpu") + struct.pack("<H", 1) + row(text(b"Value") + b"\x15") + struct.pack("<H", 0)
data = b"Nettrace" + struct.pack("<III", 0, 6, 3) + block(1, bytes(16) + struct.pack("<QQII", 5, 10**7, 8, 0)) + block(3, struct.pack("<H", 0) + row(kind))
data += block(6, b"".join(row(bytes([n, 2, n, 3, n])) for n in (1, 2)))
data += block(5, struct.pack("<III", 1, 1, 8 * DEPTH) + struct.pack("<QQ", 0x1000, 0x2000) * (DEPTH // 2))
first, other = (bytes([1 | 4 | 8 | 128]) + b"\1" + bytes([n]) + b"\1\1\1" + b"\1" for n in (1, 2))
data += block(2, struct.pack("<HHQQ", 20, 1, 0, 0) + (first + other) * 20000) + block(0, b"")
open(sys.argv[1], "wb").write(data)
END
deep() { python3 "$dir/deep.py" "$dir/deep" && timeout 20 "$tallytree" report header "$dir/deep" >"$dir/got" && grep -q ' 40000  metric' "$dir/got" && grep -q ' 4096  depth' "$dir/got" && grep -q 'truncated stacks' "$dir/got"; }
try "processes take turns with one stack in no time, and of a huge one the innermost frames are read" deep
finish
