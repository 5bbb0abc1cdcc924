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
version() { printf 'Nettrace\0\0\0\0\6\0\0\0\0\0\0\0padding, and more of that' >"$dir/bad" && refused "$dir/bad" ": byte 8: this version"; }
try "another version is refused" version
none() { head -c 102 "$dir/all" >"$dir/bad" && printf '\1' >>"$dir/bad" && refused "$dir/bad" ":.*this trace of .NET has no samples.*dotnet-trace collect"; }
try "a trace without samples is refused, with what records them" none
damaged() { python3 -c 'import sys; d = open(sys.argv[1], "rb").read(); i = d.index(b"EventBlock"); open(sys.argv[2], "wb").write(d[:i + 40] + b"\xff" * 100 + d[i + 140:])' "$dir/all" "$dir/bad" && refused "$dir/bad" ": byte [0-9]*: a block of events is damaged"; }
try "a damaged block is refused" damaged
finish
