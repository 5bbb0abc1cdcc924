#!/bin/bash
# SPDX-License-Identifier: MIT
# The format of callgrind: files that are read have the totals of callgrind_annotate, and
# callgrind_annotate finds our totals in files that are written, also with recursion.
. "$(dirname "$0")/formats.sh"

# column NAME FILE - "block figure" of each block, of a column of the flat view.
column()
{
    local metric=()
    [ -z "${3-}" ] || metric=(--metric "$3")
    "$tallytree" report flat --csv --limit all "${metric[@]}" "$2" | python3 -c '
import csv, sys
for row in csv.DictReader(sys.stdin):
    if row["role"] == "entry" and row["name"] != "[root]" and int(row[sys.argv[1]] or 0):
        print(row["name"], row[sys.argv[1]])' "$1" | LC_ALL=C sort
}

# gives COLUMN WANT FILE [METRIC]
gives()
{
    column "$1" "$3" "${4-}" >"$dir/got" && diff "$dir/got" - <<<"$2"
}

# annotate ARGS... - "function figure" of what callgrind_annotate prints.
annotate()
{
    callgrind_annotate --show-percs=no --auto=no --threshold=100 "$@" |
        sed -nE 's/^ *([0-9,]+) +[^ ]*:(.*[^ ]) *$/\2 \1/p' | sed -E 's/ \[[^]]*\] / /; s/,//g' |
        grep -ve ' 0$' -e '^\[root\]' | LC_ALL=C sort
}

# ── Reading ──────────────────────────────────────────────────────────────────────────

cat >"$dir/small" <<'END'
# callgrind format
version: 1
creator: by hand
positions: line
events: Ir Dr

fl=(0) a.c
fn=(7) main
1 10 1
fi=(1) a.h
2 5
fe=(0)
jump=3 4
3
cfi=(2) b.c
cfn=(0) parse
calls=2 10
3 60 6
cfn=(3) leaf
calls=1 +4
* 40 4

fn=(3)
20 100 10

fl=(2)
fn=(0)
10 0
+1 0
cfi=(0)
cfn=(3)
calls=3 20
-1 60 6
END
try "names stand for what they were given once; the line behind calls= is inclusive" \
    gives self 'leaf 100
main 15' "$dir/small"
try "a function has what it called" gives inclusive 'leaf 100
main 115
parse 60' "$dir/small"
try "calls are counted" gives calls 'leaf 4
parse 2' "$dir/small"
try "each event is a metric, and costs that are not there are 0" gives inclusive 'leaf 10
main 11
parse 6' "$dir/small" Dr
callees() { [ "$("$tallytree" export --to folded "$dir/small")" = 'main 15
main;leaf 40
main;parse;leaf 60' ]; }
try "of a function that several call, each has what its calls cost" callees
files() { "$tallytree" report flat --csv "$dir/small" | grep -q '"\{0,1\}a.c"\{0,1\}.*main\|main.*a.c'; }
try "a function is in the file that it began in, and a callee in its own for one call" files

cat >"$dir/instr" <<'END'
positions: instr line
events: Time_(10ns) Memory_(bytes)
ob=/bin/x
fl=x.c
fn=f
0x1000 1 1100
cob=/lib/y
cfn=g
calls=1 * 4
+4096 2 300 64
fn=g
ob=/lib/y
END
sed -i '/^fn=g/d; s/^ob=.lib.y$/ob=\/lib\/y\nfn=g\n0x2000 9 300 64/' "$dir/instr"
try "positions may be addresses too, and units are known" gives inclusive 'f 14000
g 3000' "$dir/instr"
units() { "$tallytree" report flat --csv --metric Memory "$dir/instr" | grep -q 64; }
try "so of bytes" units

{ cat "$dir/small"; echo 'part: 2'; sed -n '/^events/,$p' "$dir/small"; } >"$dir/parts"
try "parts add up" gives self 'leaf 200
main 30' "$dir/parts"

cat >"$dir/cycle" <<'END'
events: Ir
fn=main
1 1
cfn=f
calls=1 1
1 99
fn=f
1 20
cfn=f
calls=4 1
1 50
cfn=g
calls=2 1
1 79
fn=g
1 30
cfn=f
calls=1 1
1 10
cfn=leaf
calls=9 1
1 49
fn=leaf
1 49
END
try "a cycle costs what its members do" gives inclusive 'f 99
g 79
leaf 49
main 100' "$dir/cycle"
try "and each member keeps its self" gives self 'f 20
g 30
leaf 49
main 1' "$dir/cycle"
try "and its calls" gives calls 'f 6
g 2
leaf 9' "$dir/cycle"
one_path() { "$tallytree" report header "$1" | grep -q 'estimated from calls'; }
try "that paths are estimates is said" one_path "$dir/cycle"
sed '/^cfn=f/,+2d; s/^1 1$/1 1\ncfn=f\ncalls=1 1\n1 99/' "$dir/cycle" >"$dir/tree"
exact() { ! one_path "$dir/tree"; }
try "where no function has two callers they are none" exact

# ── A real one ───────────────────────────────────────────────────────────────────────

cat >"$dir/program.c" <<'END'
#include <stdlib.h>
#define ALONE __attribute__((noinline, noclone))
ALONE static int leaf(int n) { volatile int s = 0; for (int i = 0; i < n; i++) s += i; return s; }
ALONE static int fib(int n) { return n < 2 ? n + leaf(3) : fib(n - 1) + fib(n - 2); }
ALONE static int odd(int n);
ALONE static int even(int n) { return n == 0 ? leaf(10) : odd(n - 1) + 1; }
ALONE static int odd(int n) { return n == 0 ? leaf(20) : even(n - 1) + 2; }
ALONE static int a(void) { return leaf(1000) + even(10) + fib(5); }
ALONE static int b(void) { return leaf(2000) + even(21) + fib(8); }
int main(void) { int s = 0; for (int i = 0; i < 10; i++) s += a() + b(); return s == 1; }
END
run_program()
{
    cc -O1 -g -o "$dir/program" "$dir/program.c" &&
        valgrind -q --tool=callgrind --callgrind-out-file="$dir/real" "$@" "$dir/program"
}
try "callgrind runs a program" run_program
# Its inclusive figures of what calls itself count inner calls again: those are left out.
same_as_annotate()
{
    annotate --show=Ir --inclusive="$2" "$dir/real" | grep -E "^(leaf|fib|even|odd|a|b|main)('2)? " >"$dir/want"
    [ "$2" = no ] || sed -i "/'2/d" "$dir/want"
    sort -o "$dir/want" "$dir/want"
    column "$1" "$dir/real" Ir | grep -E "^(leaf|fib|even|odd|a|b|main)('2)? " >"$dir/got"
    [ "$2" = no ] || sed -i "/'2/d" "$dir/got"
    sort -o "$dir/got" "$dir/got"
    [ "$(wc -l <"$dir/want")" -ge 7 ] && diff "$dir/got" "$dir/want"
}
try "self is what callgrind_annotate prints" same_as_annotate self no
try "inclusive too" same_as_annotate inclusive yes
again()
{
    "$tallytree" export --to callgrind -o "$dir/written" "$dir/real" &&
        annotate --inclusive=yes "$dir/written" >"$dir/got" && column inclusive "$dir/real" |
        sed 's/???//' | LC_ALL=C sort >"$dir/want" && [ "$(wc -l <"$dir/got")" -gt 20 ] &&
        grep -E '^(leaf|fib|even|odd|a|b|main)' "$dir/got" | diff - <(grep -E '^(leaf|fib|even|odd|a|b|main)' "$dir/want")
}
try "written again, callgrind_annotate prints what we do" again
run_program --cache-sim=yes --branch-sim=yes --dump-instr=yes --collect-jumps=yes --separate-threads=yes 2>"$dir/log"
mv "$dir"/real-* "$dir/real" 2>/dev/null
try "with caches, branches, jumps and addresses" same_as_annotate self no

# ── Writing ──────────────────────────────────────────────────────────────────────────

# Random programs that call each other and themselves, under every policy.
random()
{
    python3 - "$1" <<'END'
import random, sys
random.seed(int(sys.argv[1]))
depth = 0
for _ in range(3000):
    r = random.random()
    if r < 0.4 and depth < 40:
        print("push f%d" % random.randrange(7)); depth += 1
    elif r < 0.7 and depth:
        print("pop"); depth -= 1
    else:
        print("tick %d" % random.randrange(100))
print("pop\n" * depth)
END
}
for policy in none edge block cycle drop recent:6 repeat:1; do
    written()
    {
        local seed
        for seed in 1 2 3; do
            random $seed | "$tallytree" replay --recursion "$policy" -o "$dir/recording" &&
                "$tallytree" export --to callgrind --metric ticks -o "$dir/written" "$dir/recording" || return
            annotate --inclusive=no "$dir/written" | diff - <(column self "$dir/recording") || return
            annotate --inclusive=yes "$dir/written" | diff - <(column inclusive "$dir/recording") || return
        done
    }
    try "callgrind_annotate has our self and inclusive figures under $policy" written
done
calls_written()
{
    printf '%s\n' 'push a' 'push b' pop 'push b' 'push b' 'tick 1' pop pop 'push c' 'push b' |
        "$tallytree" replay --recursion block -o "$dir/recording" &&
        "$tallytree" export --to callgrind --metric ticks "$dir/recording" |
        sed -nE 's/^c?fn=\(([0-9]*)\).*/\1/p; s/^calls=([0-9]*) .*/x\1/p' | paste -sd ' ' | tee "$dir/got"
    [ "$(cat "$dir/got")" = "1 3 x1 3 4 x2 5 x1 4 4 x1 5 4 x1" ]
}
try "calls are written, by arcs too" calls_written
many_metrics()
{
    for n in $(seq 40); do printf 'a 1 1.0: %d ev%d:\n\t1 f (x)\n\n' "$n" "$n"; done >"$dir/script"
    "$tallytree" export --to callgrind "$dir/script" | sed -n 's/^events: //p' | wc -w | grep -qx 80
}
try "however many metrics there are, each is an event" many_metrics
all_deep() { deep && "$tallytree" export --to callgrind -o "$dir/written" "$dir/deep" && [ "$(annotate --inclusive=yes "$dir/written" | grep -c ' 5$')" = 8 ]; }
try "a million frames are eight functions" all_deep

# ── What is wrong ────────────────────────────────────────────────────────────────────

try "an id that stands for nothing" refuses 19 "(99) has no name" 's/^cfn=(3) leaf/cfn=(99)/'
try "a cost that is none" refuses 9 "'x' is not a cost" 's/^1 10 1/1 10 x/'
try "a cost below 0, though positions may go back" refuses 9 "the cost '-60' of the event 'Dr' is below 0: remove this event .*'tallytree diff'" 's/^1 10 1/-1 10 -60/'
try "a cost that is relative" refuses 9 "'+3 1' is not a cost" 's/^1 10 1/1 +3 1/'
try "one that is that of the line before" refuses 9 "'\* 1' is not a cost" 's/^1 10 1/1 * 1/'
plain() { printf 'events: Ir\n\033[31mred\377 \302\233 \303\244\n' >"$dir/bad" && refused "$dir/bad" ":2: '?\[31mred? ?? ä' is no line"; }
try "what is quoted of a file does nothing on a terminal" plain
try "too many costs" refuses 9 "there are more costs than the 2 events" 's/^1 10 1/1 10 1 1/'
try "a line that is none" refuses 9 "'nonsense' is no line" 's/^1 10 1/nonsense/'
try "a call that costs nothing at all" refuses 18 "a line of costs is missing after 'calls='" '/^3 60/d'
try "costs before a function" refuses 6 "costs of no function" '6s/.*/1 1/'
try "no events" refuses 7 "a function before the events" '/^events/d'
try "more than 64 bits" refuses 24 "the figures add up" 's/^20 100/20 18446744073709551600/'
sed -i 's/creator: by hand/creator: callgrind-3.19/' "$dir/small"
xtree() { printf 'creator: xtree-1\npositions: line\nevents: curB\nfn=(1) main\n1 5\n\n%s' "$1" >"$dir/xtree"; }
xtree ''
try "a tree of Valgrind's that was cut off" refused "$dir/xtree" ":6: the file ends before its totals"
xtree 'totals: 5
'
try "the whole of it is read" folds 'main 5' "$dir/xtree"
cachegrind() { printf 'desc: I1 cache:         32768 B, 64 B, 8-way associative\ncmd: ./c\nevents: Ir\nfl=c.c\nfn=main\n1 5\n%s' "$1" >"$dir/cachegrind"; }
cachegrind ''
try "cachegrind's that was cut off" refused "$dir/cachegrind" ":6: the file ends before its summary"
cachegrind 'summary: 5
'
try "the whole of it is read, too" folds 'main 5' "$dir/cachegrind"
try "callgrind's own that was cut off" refuses 33 "the file ends before its totals" ''

# Files that are not consistent: an id with several functions, calls that cost more than the callee.
cat >"$dir/stated" <<'END'
version: 1
creator: callgrind-3.19.0
positions: line
events: Ir

ob=(1) /bin/x
fl=(1) a.c
fn=(1) main
1 10
cob=(9)
cfn=(2) resolve
calls=2 1
1 90
cfn=(3) twin
calls=1 1
2 70
cfn=(6) other
calls=1 1
2 5

fn=(2)
1 20

fn=(3)
1 10
cfn=(4) twin
calls=1 1
2 60

fn=(4)
1 60

fl=(2) b.c
fn=(5) late
3 1

fl=(1)
fn=(6)
5 4
fi=(2)
6 0
cfn=(5)
calls=1 3
6 1

totals: 105
END
stated='late 1
main 175
other 5
resolve 90
twin 70'
try "inclusive figures are what the calls of a file state" gives inclusive "$stated" "$dir/stated"
annotated() { callgrind_annotate --inclusive=yes --threshold=100 --auto=no "$dir/stated" >"$dir/log" && grep -q '^ *90 .*:resolve' "$dir/log" && grep -q '^ *175 .*:main' "$dir/log"; }
try "callgrind_annotate says so too" annotated
total_kept() { "$tallytree" export --to folded "$dir/stated" | awk '{ s += $NF } END { exit s != 105 }'; }
try "the tree has what functions cost themselves" total_kept
one_late() { [ "$("$tallytree" report flat --csv --limit all "$dir/stated" | grep -c ',late,')" = 1 ]; }
try "an id is one function, whatever file is current where it is called" one_late
cat >"$dir/shared" <<'END'
# callgrind format
events: Ir
fn=main
1 10
cfn=a
calls=1 1
2 200
cfn=b
calls=1 1
3 600
fn=a
1 100
cfn=f
calls=1 1
2 100
fn=b
1 200
cfn=f
calls=3 1
2 400
fn=f
1 250
cfn=g
calls=4 1
2 250
fn=g
1 250
END
# The file says what f cost a and b, and g f; on which of the two paths g was, it does not say.
marks() { "$tallytree" report "$@" --limit all --threshold 0 "$dir/shared" | awk '/ main$| [abfg]$/ { printf "%s%s ", $(NF - 1) == "≈" ? "≈" : "", $NF }'; }
try "in a tree, what stands below several callers is marked as an estimate" [ "$(marks tree)" = "main b ≈f ≈g a ≈f ≈g " ]
try "of callers, those beyond a function that has several" [ "$(marks callers --block g)" = "g f ≈b ≈main ≈a ≈main " ]
try "and no others" [ "$(marks callers --block f)" = "f b main a main " ]
one_note() { [ "$("$tallytree" report tree "$dir/shared" | grep -c '^estimated: ')" = 1 ] && ! "$tallytree" report flat "$dir/shared" | grep -q '^estimated: '; }
try "a note says so" one_note
sed '/^fn=b/,/^2 400/d; /^cfn=b/,/^3 600/d; s/ 250$/ 50/' "$dir/shared" >"$dir/alone"
no_marks() { ! "$tallytree" report tree "$dir/alone" | grep -q "≈\|^estimated: "; }
try "where each stands once nothing is marked" no_marks
no_cycle() { "$tallytree" export --to folded "$dir/stated" | grep -q '^main;twin;twin '; }
try "namesakes with ids of their own are no cycle" no_cycle
# Calls that claim more than they led to could be followed without an end.
claims()
{
    python3 - >"$dir/claims" <<'END'
print("events: Ir")
for i in range(2000):
    for side in "ab":
        print("fn=f%d%s\n1 10" % (i, side))
        for to in "ab" if i < 1999 else "":
            print("cfn=f%d%s\ncalls=3 1\n2 %d" % (i + 1, to, 10 * (1999 - i)))
END
    (ulimit -v 400000 && "$tallytree" report flat --csv --limit all "$dir/claims") >"$dir/out" || return
    awk -F, '$1 == "entry" && $5 != 10 { print; wrong = 1 } END { exit wrong || NR < 4000 }' "$dir/out"
}
try "calls that claim too much cost no more memory than others" claims
try "another kind of position" refuses 3 "'lines' is not a kind of position" 's/^positions: line/positions: lines/' "$dir/stated"
printf 'events: samples delay_(ns) bytes\nfn=main\n1 100 5 3\n' >"$dir/first"
first() { "$tallytree" report flat --csv "$dir/first" | grep -q ',100,'; }
try "the first event is shown, though another is a time" first
finish
