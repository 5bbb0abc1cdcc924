#!/bin/bash
# SPDX-License-Identifier: MIT
# Clean's call-graph profiles: all three layouts come out as they went in, byte by byte, and
# mean what a reader of twenty lines says.
. "$(dirname "$0")/formats.sh"

# Makes files, and prints the content of one: "a;b ticks words tails strict lazy curried".
cat >"$dir/pgcl.py" <<'END'
import random, struct, sys
def leb(n):
    out = bytearray()
    while n >= 128: out.append(n & 127 | 128); n >>= 7
    return bytes(out + bytes([n]))
MAX = 2 ** 64 - 1
def file(layout, modules, centres, entries, frequency=2400000000, overhead=12345):
    out = b"prof" + struct.pack("<III", 2 if layout == "2" else 1, len(modules), len(centres))
    if layout == "2": out += leb(frequency) + leb(overhead)
    for m in modules: out += m.encode() + b"\0"
    for m, n in centres: out += leb(m) + n.encode() + b"\0"
    def entry(e):
        e = list(e)
        if layout == "short": del e[3]
        return b"".join(map(leb, e))
    return out + b"".join(map(entry, entries))
def meaning(data, short):
    version, modules, centres = struct.unpack("<III", data[4:16]); at = 16
    def number():
        nonlocal at
        n = shift = 0
        while True:
            byte = data[at]; at += 1
            n |= (byte & 127) << shift; shift += 7
            if byte < 128: return n
    def text():
        nonlocal at
        end = data.index(0, at); t = data[at:end].decode(); at = end + 1
        return t
    if version == 2: number(), number()
    for _ in range(modules): text()
    names = []
    for _ in range(centres): number(); names.append(text())
    stack, out = [[1, ""]], []
    while stack:
        if not stack[-1][0]: stack.pop(); continue
        stack[-1][0] -= 1
        path = (stack[-1][1] + ";" if stack[-1][1] else "") + names[number() - 1]
        figures = [0 if short and i == 2 else number() for i in range(6)]
        out.append((path, figures)); stack.append([number(), path])
    assert at == len(data)
    return out
what, layout = sys.argv[1], sys.argv[2]
if what == "small":
    data = file(layout, ["StdList", "System", "main"], [(3, "zeta"), (2, "_start"), (1, "map"), (3, "Start")],
        [(2, 5, 6, 7, 1, 0, 0, 1), (4, 100, 200, 3, 1, 2, 0, 2), (3, 300, 16384, 127, 128, 129, 5, 1),
         (1, 9, 0, 0, 0, 0, 7, 0), (1, 1, 2, 3, 4, 5, 6, 0)])
elif what == "extremes":
    data = file(layout, ["System", ""], [(1, "_start"), (2, "x")] + [(2, "c%d" % i) for i in range(300)],
        [(1, MAX, 0, 0, 0, 0, 0, 3), (2, 0, MAX, 0, MAX, 0, 0, 0), (302, 0, 0, 0 if layout == "short" else MAX, 0, MAX, 0, 0), (129, 0, 0, 0, 0, 0, MAX, 0)],
        MAX, 2 ** 63)
elif what == "zeros":
    data = file(layout, ["System"], [(1, "_start"), (1, "a")], [(1, 0, 0, 0, 0, 0, 0, 1), (2, 0, 0, 0, 0, 0, 0, 0)], 0, 0)
elif what == "deep":
    data = file(layout, ["m"], [(1, "a"), (1, "b")], [(1 + i % 2, 1, 2, 3, 1, 0, 0, i < 999999) for i in range(1000000)])
elif what == "random":
    random.seed(5); names = [(random.randrange(1, 8), "f%d" % i) for i in range(200)]; random.shuffle(names)
    def tree(depth, left):
        children = random.sample(range(1, 201), min(left, random.randrange(0, 6))) if depth < 14 else []
        return [random.randrange(1 << random.randrange(40)) for _ in range(6)], children
    entries, work = [], [(1, 0)]
    while work:
        centre, depth = work.pop()
        figures, children = tree(depth, max(0, 3000 - len(entries)))
        if depth == 0: children = list(range(2, 60))
        entries.append([centre] + figures + [len(children)])
        work += [(c, depth + 1) for c in reversed(children)]
    data = file(layout, ["m%d" % i for i in range(7)], names, entries)
elif what == "meaning":
    for path, figures in sorted(meaning(open(sys.argv[3], "rb").read(), layout == "short")): print(path, *figures)
    sys.exit()
sys.stdout.buffer.write(data)
END
make() { python3 "$dir/pgcl.py" "$1" "$2" >"$dir/$1.$2"; }
# meaning FILE LAYOUT
meaning() { python3 "$dir/pgcl.py" meaning "$2" "$1"; }
export_to() { "$tallytree" export --to "$@"; }

round_trip() { export_to pgcl -o "$dir/again" "$1" && cmp "$dir/again" "$1"; }
through_profile() { "$tallytree" merge -o "$dir/p.tt" "$1" && round_trip_of "$dir/p.tt" "$1"; }
round_trip_of() { export_to pgcl -o "$dir/again" "$1" && cmp "$dir/again" "$2"; }
names=("ticks" "words" "tails and returns" "strict calls" "lazy calls" "curried calls")
# Each of the six figures of every path.
as_meant()
{
    local i
    meaning "$1" "$2" >"$dir/meaning" || return
    for i in 0 1 2 3 4 5; do
        awk -v n=$((i + 2)) '$n != "0" { print $1, $n }' "$dir/meaning" | LC_ALL=C sort >"$dir/want"
        [ -s "$dir/want" ] || continue
        export_to folded --metric "${names[i]}" "$1" | LC_ALL=C sort | cmp - "$dir/want" || return 1
    done
}

for layout in 2 1 short; do
    for what in small extremes zeros random; do
        make $what $layout
        try "version $layout, $what: comes out byte by byte" round_trip "$dir/$what.$layout"
        try "version $layout, $what: also through a profile" through_profile "$dir/$what.$layout"
    done
    try "version $layout: the figures are those of the file" as_meant "$dir/small.$layout" $layout
    try "version $layout: six of each of thousands" as_meant "$dir/random.$layout" $layout
    try "version $layout: the largest numbers" as_meant "$dir/extremes.$layout" $layout
done
make deep 2
try "a million entries below each other come out too" round_trip "$dir/deep.2"
calls() { [ "$(export_to folded --metric calls "$dir/small.2" | grep '^_start;Start ')" = "_start;Start 3" ]; }
try "calls are those of all three kinds" calls
header() { "$tallytree" report "$1" >"$dir/report" && grep -q '^frequency *2 *400 *000 *000\|^frequency *2400000000' "$dir/report" && ! grep -q "pgcl.order" "$dir/report" && ! "$tallytree" report header "$1" | grep -q pgcl.order && ! "$tallytree" report --json "$1" | grep -q pgcl.order && grep -q '^format *pgcl$' "$dir/report"; }
try "the header says the frequency, and keeps the order to itself" header "$dir/small.2"

# Start has 100 ticks and 6 calls, and 1000 calls cost 12345 ticks.  The others may be overhead alone.
brackets() { "$tallytree" report flat --csv --metric ticks "$1" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $1 == "entry" { print $at["name"], $at["self"], $at["self_low"] }' | sort | paste -sd ,; }
equal "overhead is what measuring may have added" "$(brackets "$dir/small.2")" "Start 100 26,_start 5 0,map 300 0,zeta 10 0"
equal "a file without overhead has none" "$("$tallytree" report flat --csv --metric ticks "$dir/small.1" | head -1 | grep -c self_low)" 0
in_ghc() { "$tallytree" report ghc -P "$1" | awk '/total time/ { print $4 } /total alloc/ { gsub(",", "", $4); print $4 }'; }
in_seconds() { meaning "$1" 2 | awk '{ ticks += $2; words += $3 } END { printf "%.2f\n%.0f\n", ticks / 2400000000, words * 8 }'; }
try "GHC's layout has seconds and bytes" sh -c "[ '$(in_ghc "$dir/random.2")' = '$(in_seconds "$dir/random.2")' ]"

# ── What is not Clean's ──────────────────────────────────────────────────────────────

"$tallytree" merge -o "$dir/two.tt" "$dir/small.2" "$dir/small.2"
export_to pgcl -o "$dir/two" "$dir/two.tt"
try "two of one kind add up in their order" test "$(meaning "$dir/two" 2 | sed -n 1p)" = "_start 10 12 14 2 0 0"
"$tallytree" merge -o "$dir/mixed.tt" "$dir/small.short" "$dir/small.1"
export_to pgcl -o "$dir/mixed" "$dir/mixed.tt"
try "a layout without tail calls is left where there are some" test "$(meaning "$dir/mixed" 1 | sed -n 1p)" = "_start 10 12 7 2 0 0"
pruned() { export_to pgcl -o "$dir/fewer" --exclude map "$dir/small.2" && meaning "$dir/fewer" 2; }
try "filters apply" test "$(pruned)" = '_start 5 6 7 1 0 0
_start;Start 100 200 3 1 2 0
_start;Start;zeta 1 2 3 4 5 6'
"$tallytree" replay -o "$dir/recording" <<'END'
push b
tick 2
push a
tick 3
push a
push a
tick 1
pop
pop
pop
pop
push c
END
export_to pgcl -o "$dir/ours" "$dir/recording"
meaning "$dir/ours" 2 >"$dir/got"
shows() { diff "$dir/got" "$dir/want"; }
cat >"$dir/want" <<'END'
_start 0 0 0 1 0 0
_start;b 2 0 0 1 0 0
_start;b;a 3 0 0 1 0 0
_start;b;a;a 1 0 0 2 0 0
_start;c 0 0 0 1 0 0
END
try "a recording stands below _start, calls are strict, also those that led back" shows
try "what was written comes out as it is" round_trip "$dir/ours"
"$tallytree" replay -o "$dir/evicted" --budget 64nodes <<END
$(for i in $(seq 300); do printf 'push f%d\npush g%d\ntick 1\npop\npop\n' "$i" "$i"; done)
END
evicted() { export_to pgcl "$dir/evicted" >"$dir/got" && [ "$(meaning "$dir/got" 2 | awk '{ sum += $(NF - 5) } END { print sum }')" = 300 ]; }
try "what was evicted has entries of its own" evicted

# ── What is wrong ────────────────────────────────────────────────────────────────────

refuses()
{
    rm -f "$dir/no"
    export_to pgcl -o "$dir/no" "$1" 2>"$dir/said"
    [ $? = 2 ] && [ ! -e "$dir/no" ] && cat "$dir/said" && grep -qE "$1: byte [0-9]+: ${2-}|$1:[0-9]+: ${2-}" "$dir/said"
}
cut_off()
{
    local size
    for size in $(seq 16 23 $(($(stat -c %s "$dir/small.$1") - 1))); do
        head -c "$size" "$dir/small.$1" >"$dir/bad"
        refuses "$dir/bad" || return 1
    done
}
for layout in 2 1 short; do
    try "version $layout, wherever it is cut off, is refused" cut_off $layout
done
cat "$dir/small.2" "$dir/small.2" >"$dir/bad"
try "so is what follows the last entry" refuses "$dir/bad" "something follows"
printf 'prof\3\0\0\0\0\0\0\0\0\0\0\0' >"$dir/bad"
try "and a version that there is not" refuses "$dir/bad" "version 3 is not known"
printf 'prof\2\0\0\0\1\0\0\0\1\0\0\0\0\0m\0\1f\0\2\0\0\0\0\0\0\0' >"$dir/bad"
try "and a cost centre" refuses "$dir/bad" "an entry is of a cost centre"
printf 'prof\2\0\0\0\1\0\0\0\1\0\0\0\0\0m\0\2f\0\1\0\0\0\0\0\0\0' >"$dir/bad"
try "and a module" refuses "$dir/bad" "a cost centre is of a module"
printf 'prof\2\0\0\0\377\377\377\377\377\377\377\377\0\0m\0\1f\0' >"$dir/bad"
try "more names than there are bytes take no memory" refuses "$dir/bad" "the file ends within a name"
printf 'prof\2\0\0\0\1\0\0\0\1\0\0\0\0\0m\0\1f\0\1\0\0\0\0\0\0\377\377\377\377\377\377\377\377\377\1' >"$dir/bad"
try "nor do children" refuses "$dir/bad" "an entry has more children"
printf 'prof\2\0\0\0\1\0\0\0\1\0\0\0\0\0m\0\1f\0\1\377\377\377\377\377\377\377\377\377\2\0\0\0\0\0\0' >"$dir/bad"
try "a number of 65 bits is refused" refuses "$dir/bad" "a number has more than 64 bits"

# ── Clean's converter ────────────────────────────────────────────────────────────────

# The cost of pruned contexts stays with their parent: contexts that are left keep their totals.
cat >"$dir/totals.py" <<'END'
import collections, sys
def totals(path):
    sum = collections.Counter()
    for line in open(path):
        stack, n = line.rstrip("\n").rsplit(" ", 1)
        frames = stack.split(";")
        for d in range(len(frames) + 1): sum[tuple(frames[:d])] += int(n)
    return sum
full, left = totals(sys.argv[1]), totals(sys.argv[2])
kept = {p: n for p, n in left.items() if "[pruned]" not in p}
assert all(full[p] == n for p, n in kept.items()), [(p, n, full[p]) for p, n in kept.items() if full[p] != n][:3]
assert left[()] == full[()] and 1 < len(kept) < len(full) and len(left) > len(kept), (len(kept), len(full), len(left))
END
python3 - >"$dir/events" <<'END'
import random
random.seed(3)
depth = 0
for i in range(4000):
    if depth and random.random() < .5:
        print("pop"); depth -= 1
    else:
        print("push f%d" % random.randrange(9)); depth += 1
    if depth: print("tick %d\ncount words %d" % (random.randrange(1, 50), random.randrange(30)))
END
"$tallytree" replay --recursion none -o "$dir/walk" "$dir/events"
# keeps FLAGS... - all contexts that are left, in both metrics.
keeps()
{
    local metric
    "$tallytree" export --to pgcl -o "$dir/full.pgcl" "$dir/walk" &&
        "$tallytree" export --to pgcl --clean "$@" -o "$dir/left.pgcl" "$dir/walk" || return
    for metric in ticks words; do
        "$tallytree" export --to folded --metric $metric "$dir/full.pgcl" >"$dir/full" &&
            "$tallytree" export --to folded --metric $metric "$dir/left.pgcl" >"$dir/left" &&
            python3 "$dir/totals.py" "$dir/full" "$dir/left" || return
    done
}
try "--min-ticks leaves each parent its total" keeps --min-ticks 800
try "so does --min-words" keeps --min-words 300
try "so does --exclude" keeps --exclude f3
try "so do all of them together" keeps --exclude f1 --min-ticks 300 --exclude f5 --min-words 200
least() { keeps --min-ticks 800 && "$tallytree" report tree --csv --limit all --metric ticks "$dir/left.pgcl" | python3 -c '
import csv, sys
rows = [r for r in csv.DictReader(sys.stdin) if r["role"] == "entry" and r["name"] not in ("[root]", "[pruned]")]
assert rows and all(int(r["inclusive"]) >= 800 for r in rows)'; }
try "what is left has the least ticks" least
finish
