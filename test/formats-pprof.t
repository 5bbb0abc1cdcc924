#!/bin/bash
# SPDX-License-Identifier: MIT
# profile.proto: files that are read, and files that are written, have the totals of `go tool pprof`.
. "$(dirname "$0")/formats.sh"
export PPROF_TMPDIR=$tmp HOME=$tmp

# column NAME FILE [METRIC] - "block figure" of each block, of a column of the flat view.
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

# top COLUMN FILE [SAMPLE_INDEX] - the same of what go tool pprof says: 1 is flat, 4 cum.
top()
{
    go tool pprof -top -nodecount=100000 -nodefraction=0 -unit=ns -sample_index="${3-}" "$2" 2>"$dir/log" |
        sed '1,/flat%/d' | perl -ne '
            BEGIN { $column = shift() - 1 }
            s/ \((partial-)?inline\)$//; @n = split " ", $_, 6; chomp $n[5];
            $n[$column] =~ s/(ns|B)$//;
            print "$n[5] $n[$column]\n" if $n[$column] > 0' "$1" | LC_ALL=C sort
}

# encode - a profile of JSON on standard input: {"types": [[type, unit]…], "samples":
# [[[location…], [value…]]…], "locations": {id: [mapping, address, [[function, line]…]]},
# "functions": {id: [name, file, line]}, "mappings": {id: file}, "default": type}.
encode()
{
    python3 - "$@" <<'END'
import json, os, sys
profile = json.load(open(sys.argv[1]))
packed = "unpacked" not in sys.argv
strings = [""]
def string(s):
    if s not in strings: strings.append(s)
    return strings.index(s)
def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128]); n >>= 7
    return out + bytes([n])
def number(field, n): return varint(field << 3) + varint(n)
def message(field, body): return varint(field << 3 | 2) + varint(len(body)) + body
def numbers(field, list):
    if packed: return message(field, b"".join(map(varint, list)))
    return b"".join(number(field, n) for n in list)
out = b""
for type, unit in profile["types"]:
    out += message(1, number(1, string(type)) + number(2, string(unit)))
for locations, values in profile["samples"]:
    out += message(2, numbers(1, locations) + numbers(2, values))
for id, file in profile.get("mappings", {}).items():
    out += message(3, number(1, int(id)) + number(5, string(file)) + number(7, 1))
for id, (mapping, address, lines) in profile["locations"].items():
    out += message(4, number(1, int(id)) + number(2, mapping) + number(3, address) +
                   b"".join(message(4, number(1, f) + number(2, l)) for f, l in lines))
for id, (name, file, line) in profile["functions"].items():
    out += message(5, number(1, int(id)) + number(2, string(name)) + number(4, string(file)) + number(5, line))
for field, key in (7, "drop"), (8, "keep"):
    if key in profile: out += number(field, string(profile[key]))
if "default" in profile: tail = number(14, string(profile["default"]))
else: tail = b""
out += b"".join(message(6, s.encode()) for s in strings) + number(9, 1700000000 * 10**9) + tail
os.write(1, out)
END
}

# ── Reading ──────────────────────────────────────────────────────────────────────────

cat >"$dir/small.json" <<'END'
{"types": [["samples", "count"], ["cpu", "milliseconds"]],
 "samples": [[[18446744073709551615, 2, 1], [3, 30]], [[2, 1], [1, 10]], [[2, 2, 1], [2, 20]],
             [[7, 1], [1, 10]], [[1], [0, 0]]],
 "mappings": {"9": "/bin/x"},
 "locations": {"1": [9, 4096, [[1, 10]]], "2": [9, 8192, [[2, 7]]],
               "18446744073709551615": [9, 12288, [[4, 1], [3, 20]]], "7": [9, 48879, []]},
 "functions": {"1": ["main", "a.c", 5], "2": ["parse", "a.c", 6], "3": ["outer", "b.c", 1],
               "4": ["inner", "b.c", 2]}}
END
encode "$dir/small.json" >"$dir/small"
small='main;0xbeef 1
main;parse 1
main;parse;outer;inner 3
main;parse;parse 2'
try "stacks are leaf first, and lines of a location innermost first" folds "$small" "$dir/small" samples
gzip -c "$dir/small" >"$dir/small.gz"
try "so they are behind gzip" folds "$small" "$dir/small.gz" samples
encode "$dir/small.json" unpacked >"$dir/unpacked"
try "numbers need not be packed" folds "$small" "$dir/unpacked" samples
try "the last type is looked at first, in its unit" folds "${small//$'\n'/$'0000000\n'}0000000" "$dir/small"
# Frames to drop: in a stack's middle, inlined into another, at its root, and with arguments.
cat >"$dir/drop.json" <<'END'
{"types": [["samples", "count"]],
 "samples": [[[1, 2, 3], [10]], [[1, 4, 3], [7]], [[2, 5], [5]], [[4, 1], [3]], [[6, 3], [2]], [[2, 1, 2, 3], [1]], [[7, 3], [20]]],
 "locations": {"1": [0, 1, [[1, 1]]], "2": [0, 2, [[2, 1]]], "3": [0, 3, [[3, 1]]], "4": [0, 4, [[1, 1], [4, 1]]], "5": [0, 5, [[4, 1], [1, 1]]], "6": [0, 6, [[5, 1]]], "7": [0, 7, [[6, 1]]]},
 "functions": {"1": ["xalloc(unsigned long)", "", 0], "2": ["work", "", 0], "3": ["main", "", 0], "4": ["user", "", 0], "5": ["kept_alloc", "", 0], "6": ["(anonymous namespace)::alloc(int)", "", 0]},
 "drop": ".*alloc", "keep": "kept.*"}
END
encode "$dir/drop.json" >"$dir/drop"
if command -v go >/dev/null; then
    for kind in self:1 inclusive:4; do
        equal "frames that are to be dropped are, unless they are to be kept, as in go tool pprof: ${kind%:*}" "$(column "${kind%:*}" "$dir/drop" | sed 's/(unsigned long) / /')" "$(top "${kind#*:}" "$dir/drop" | sed 's/(unsigned long) / /')"
    done
fi
sed 's/"kept\.\*"/"(?:kept"/' "$dir/drop.json" >"$dir/undropped.json"
encode "$dir/undropped.json" >"$dir/undropped"
undropped() { "$tallytree" report "$dir/undropped" >"$dir/got" && grep -q '^comment .*no frames are dropped: ' "$dir/got" && grep -q 'xalloc' "$dir/got"; }
try "where an expression cannot be compiled, none is, and a comment says why" undropped
# RE2's expressions, by Python's, which have the same meaning here but for \z and [[:class:]]: "expression <tab> Python's".
printf '%s\n' 'f\d+' 'f[\d_]+' 'f\D' 'f\w*' 'f\W.*' 'f\s\S' '.*\bg' 'f.*?' 'f.+?x??' '(?:f|g).' 'f[^a-z]' $'\\Af1\\z\t\\Af1\\Z' \
    $'f[[:digit:]]{1,2}?\tf[0-9]{1,2}' 'f[\]\\^.[\-]' 'f[+-\]]' 'f[][]' 'f[^\w]+' 'f\.' 'f\\.' 'f\<g\>' 'f\-g' 'f1|.*z' 'f(1|)2?' >"$dir/re2.rows"
cat >"$dir/re2.py" <<'END'
import json, re, sys
names = ["f1", "f12", "fg", "f", "f.", "f-", "f\\", "f-g", "f g", "F1", "gg", "f]", "f[", "f^z", "f_1", "a g", "ag", "d", "f1d", "fD", "f<g>"]
folder = sys.argv[1]
for i, row in enumerate(open(f"{folder}/re2.rows").read().splitlines()):
    mine, theirs = (row + "\t" + row).split("\t")[:2]
    dropped = [re.compile(theirs, re.ASCII).fullmatch(n) is not None for n in names]
    json.dump({"types": [["samples", "count"]], "samples": [[[i + 2, 1], [1]] for i in range(len(names))],
               "locations": {str(i + 1): [0, i + 1, [[i + 1, 1]]] for i in range(len(names) + 1)},
               "functions": {str(i + 1): [n, "", 0] for i, n in enumerate(["main"] + names)}, "drop": mine}, open(f"{folder}/re2.{i}.json", "w"))
    kept = sorted(f"{n} 1" for n, d in zip(names, dropped) if not d) + [f"main {sum(dropped)}"] * any(dropped)
    open(f"{folder}/re2.{i}.expected", "w").write("".join(f"{line}\n" for line in kept))
END
python3 "$dir/re2.py" "$dir"
i=0
while IFS= read -r row; do
    encode "$dir/re2.$i.json" >"$dir/re2"
    column self "$dir/re2" | cmp -s "$dir/re2.$i.expected" - || echo "$row"
    ((i++))
done <"$dir/re2.rows" >"$dir/re2.different"
equal "expressions of drop_frames have the meaning that they have in RE2" "$(cat "$dir/re2.different")" ""
refused()
{
    local row
    for row in '\\\\pL+' '(?i)f' '\\\\Qf' '\\\\x31' 'f[\\\\x31]' 'f[1'; do
        sed "s/\"kept\.\*\"/\"$row\"/" "$dir/drop.json" >"$dir/refused.json"
        encode "$dir/refused.json" >"$dir/refused"
        "$tallytree" report "$dir/refused" | grep '^comment .*no frames are dropped: ' || { echo "$row"; return 1; }
    done
}
try "a comment says which are not supported" refused
sed 's/"samples": \[\[\[/"default": "samples", &/' "$dir/small.json" >"$dir/default.json"
try "recursion counts once" test "$(column inclusive "$dir/small" samples | grep '^parse ')" = "parse 6"
for type in samples cpu; do
    same_self() { [ -n "$(top 1 "$dir/small" "$type")" ] && diff <(top 1 "$dir/small" "$type" | grep -v '\[x\]') <(column self "$dir/small" "$type" | grep -v 0xbeef); }
    same_total() { diff <(top 4 "$dir/small" "$type" | grep -v '\[x\]') <(column inclusive "$dir/small" "$type" | grep -v 0xbeef); }
    try "$type of each are what go tool pprof says" same_self
    try "inclusive too" same_total
done
# As Go's heap and allocs: other types are the default.
sed 's/"types": .*/"types": [["alloc_space", "bytes"], ["inuse_space", "bytes"]],/' "$dir/small.json" >"$dir/space.json"
sed 's/"samples": \[\[\[/"default": "alloc_space", &/' "$dir/space.json" >"$dir/allocs.json"
encode "$dir/space.json" >"$dir/heap" && encode "$dir/allocs.json" >"$dir/allocs"
sum_of() { "$tallytree" report flat --csv ${1:+--metric "$1"} "${@:2}" | awk -F, '/^total/ { print $5 }'; }
both()
{
    local type one
    for type in alloc_space inuse_space; do
        one=$(sum_of $type "$dir/heap")
        [ "$one" -gt 0 ] && [ "$(sum_of $type "$dir/heap" "$dir/allocs")" = $((2 * one)) ] || return
    done
    [ "$(sum_of '' "$dir/heap")" = "$(sum_of inuse_space "$dir/heap")" ] && [ "$(sum_of '' "$dir/allocs")" = "$(sum_of alloc_space "$dir/allocs")" ]
}
try "files with other defaults have the same metrics" both
started() { "$tallytree" report header "$dir/small" | grep -q '2023-11-14 22:13:20'; }
try "when it was made is known" started

# Files of other writers: empty strings anywhere, comments packed into one field, types without names.
python3 - "$dir/small" "$dir" <<'END'
import sys
small, dir = open(sys.argv[1], "rb").read(), sys.argv[2]
def field(number, bytes): return varint(number << 3 | 2) + varint(len(bytes)) + bytes
def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128]); n >>= 7
    return out + bytes([n])
open(dir + "/empty", "wb").write(small + field(6, b""))
strings = i = 0
while i < len(small):
    tag = small[i]; i += 1
    if tag & 7 == 0:
        while small[i] > 127: i += 1
        i += 1
    else:
        strings += tag == 0x32
        i += 1 + small[i]
open(dir + "/comments", "wb").write(small + b"".join(field(6, b) for b in (b"one", b"two", b"three")) +
                                    field(13, bytes([strings, strings + 1, strings + 2])))
open(dir + "/nul", "wb").write(small.replace(b"\5parse", b"\5pa\0se"))
open(dir + "/nameless", "wb").write(
    field(1, b"") + field(1, b"") + field(2, b"\x0a\1\1\x12\2\3\5") + field(4, b"\x08\1\x22\2\x08\1") +
    field(5, b"\x08\1\x10\1") + b"".join(field(6, b) for b in (b"", b"a", b"b")))
END
try "strings behind the first may be empty" folds "$small" "$dir/empty" samples
comments() { diff <(printf 'one\nthree\ntwo\n') <("$tallytree" report header --csv "$dir/comments" | sed -n 's|^entry,0,0,comment,\(.*\),1$|\1|p' | LC_ALL=C sort); }
try "comments in one field are all there" comments
nul() { "$tallytree" export --to folded "$dir/nul" | grep -q '^main;pa␀se '; }
try "a NUL within a name is shown" nul
nameless() { folds 'a 3' "$dir/nameless" value && folds 'a 5' "$dir/nameless" "value 2"; }
try "types without a name are metrics of their own" nameless

# A random one, with inlined frames and recursion.
python3 - >"$dir/random.json" <<'END'
import json, random
random.seed(3)
functions = {i: ["f%d" % i, "x%d.c" % (i % 3), i] for i in range(1, 30)}
locations = {i * 977: [1, i * 16, [[random.randrange(1, 30), i] for _ in range(random.choice([1, 1, 2, 3]))]] for i in range(1, 80)}
ids = list(locations)
samples = [[[random.choice(ids) for _ in range(random.randrange(1, 15))], [n, n * 100]] for n in range(1, 3000)]
print(json.dumps({"types": [["samples", "count"], ["cpu", "nanoseconds"]], "samples": samples,
                  "mappings": {1: "/bin/y"}, "locations": locations, "functions": functions}))
END
encode "$dir/random.json" >"$dir/random"
same_random() { [ "$(top 1 "$1" cpu | wc -l)" -gt 20 ] && diff <(top 1 "$1" cpu) <(column self "$dir/random" cpu) && diff <(top 4 "$1" cpu) <(column inclusive "$dir/random" cpu); }
try "three thousand samples have go tool pprof's figures" same_random "$dir/random"

# ── Writing ──────────────────────────────────────────────────────────────────────────

"$tallytree" export --to pprof -o "$dir/again" "$dir/random"
try "what is written is packed" test "$(head -c 2 "$dir/again" | od -An -tx1)" = " 1f 8b"
try "go tool pprof reads the same in it" same_random "$dir/again"
same_again() { diff <("$tallytree" export --to folded --metric "$1" "$dir/random") <("$tallytree" export --to folded --metric "$1" "$dir/again"); }
try "and so do we" same_again cpu
try "in each metric" same_again samples
"$tallytree" export --to pprof --metric samples -o "$dir/one" "$dir/random"
one() { [ "$(go tool pprof -raw "$dir/one" 2>"$dir/log" | sed -n '/^Samples/{n;p}')" = "samples/count[dflt]" ]; }
try "one metric can be written alone" one
deterministic() { "$tallytree" export --to pprof "$dir/random" | cmp - "$dir/again"; }
try "twice the same is the same file" deterministic

# A recording with recursion, everything in the tree.
python3 - <<'END' | "$tallytree" replay --recursion none -o "$dir/recording"
import random
random.seed(5)
depth = 0
for _ in range(3000):
    r = random.random()
    if r < 0.4 and depth < 40: print("push f%d" % random.randrange(7)); depth += 1
    elif r < 0.7 and depth: print("pop"); depth -= 1
    elif depth: print("tick %d" % random.randrange(100))
END
"$tallytree" export --to pprof -o "$dir/written" "$dir/recording"
recorded() { diff <(top "$1" "$dir/written" ticks) <(column "$2" "$dir/recording" ticks); }
try "a recording's self is in go tool pprof what it is here" recorded 1 self
try "its inclusive figures too, however functions recur" recorded 4 inclusive
"$tallytree" replay -o "$dir/evicted" --budget 64nodes <<END
$(for i in $(seq 300); do printf 'push f%d\npush g%d\ntick 1\npop\npop\n' "$i" "$i"; done)
END
"$tallytree" export --to pprof -o "$dir/written" "$dir/evicted"
try "what was evicted is there" test "$(top 1 "$dir/written" ticks | awk '{ s += $NF } END { print s }')" = 300

# protoc knows the name of each field that is used.
cat >"$dir/profile.proto" <<'END'
syntax = "proto3";
message Type { int64 type = 1; int64 unit = 2; }
message Sample { repeated uint64 location = 1; repeated int64 value = 2; }
message Mapping { uint64 id = 1; int64 file = 5; bool has_functions = 7; }
message Line { uint64 function = 1; int64 line = 2; }
message Location { uint64 id = 1; uint64 mapping = 2; repeated Line line = 4; }
message Function { uint64 id = 1; int64 name = 2; int64 system_name = 3; int64 file = 4; int64 line = 5; }
message Profile {
  repeated Type sample_type = 1; repeated Sample sample = 2; repeated Mapping mapping = 3; repeated Location location = 4;
  repeated Function function = 5; repeated string string = 6; int64 time = 9; int64 duration = 10; repeated int64 comment = 13;
  int64 default_type = 14;
}
END
protoc_reads()
{
    "$tallytree" export --to pprof "$dir/random" | gzip -dc | protoc -I "$dir" --decode=Profile profile.proto >"$dir/decoded" || return
    ! grep -nE '^ *[0-9]+[: ]' "$dir/decoded" && [ "$(grep -c '^sample {' "$dir/decoded")" = "$("$tallytree" export --to folded "$dir/random" | wc -l)" ] &&
        [ "$(sed -n '/^function {/,/^}/s/^  id: //p' "$dir/decoded" | sort -u | wc -l)" = "$(grep -c '^function {' "$dir/decoded")" ]
}
try "protoc reads what is written: each field, each stack, each function once" protoc_reads
many_metrics()
{
    for n in $(seq 40); do printf 'a 1 1.0: %d ev%d:\n\t1 f (x)\n\n' "$n" "$n"; done >"$dir/script"
    "$tallytree" export --to pprof "$dir/script" | gzip -dc | protoc --decode_raw | grep -c '^1 {' | grep -qx 80
}
try "however many metrics there are, each is a type of samples" many_metrics
# A reader releases the bytes that it has read, a MiB at a time, in any order of fields.
python3 - >"$dir/many" <<'END'
import random
random.seed(4)
stacks = {";".join("f%d" % random.randrange(300) for _ in range(random.randrange(2, 40))) for _ in range(60000)}
print("\n".join(sorted("%s %d" % (s, random.randrange(1, 1000)) for s in stacks)))
END
cat >"$dir/reorder.py" <<'END'
import gzip, sys
bytes = gzip.open(sys.argv[1]).read()
def varint(i):
    n = shift = 0
    while True:
        n |= (bytes[i] & 127) << shift; shift += 7; i += 1
        if bytes[i - 1] < 128: return n, i
fields, i = [], 0
while i < len(bytes):
    start = i
    tag, i = varint(i)
    n, i = varint(i)
    if tag & 7 == 2: i += n
    fields.append((tag >> 3, bytes[start:i]))
fields.sort(key=lambda f: sys.argv[2].find(chr(64 + f[0])))
sys.stdout.buffer.write(b"".join(f[1] for f in fields))
END
whole_in_order()
{
    "$tallytree" export --to pprof -o "$dir/many.gz" "$dir/many" && python3 "$dir/reorder.py" "$dir/many.gz" "$1" >"$dir/ordered" &&
        [ "$(wc -c <"$dir/ordered")" -gt 2200000 ] && "$tallytree" export --to folded "$dir/ordered" | LC_ALL=C sort | cmp - <(LC_ALL=C sort "$dir/many")
}
try "samples before all that they refer to" whole_in_order ABDEF
try "samples behind all that they refer to" whole_in_order AFEDB
try "a stack of a million frames goes there and back" deep_there_and_back pprof

# ── What is wrong ────────────────────────────────────────────────────────────────────

edited() { sed "$2" "$dir/small.json" >"$dir/bad.json"; encode "$dir/bad.json" >"$dir/bad"; refused "$dir/bad" ": byte [0-9]*: .*$1"; }
try "a file that was cut off anywhere" truncated 8 7 10 "$dir/small"
cat "$dir/small" "$dir/small" >"$dir/two"
try "raw files one behind the other" refused "$dir/two" ": byte [0-9]*: .*raw profiles cannot be read"
try "a location that is not there" edited "the location 3 is not there" 's/\[2, 2, 1\]/[2, 3, 1]/'
try "a function that is not there" edited "a function that is not there" 's/\[\[2, 7\]\]/[[8, 7]]/'
try "a mapping that is not there" edited "a mapping that is not there" 's/"2": \[9/"2": [8/'
try "values below 0" edited "the value -1 of 'samples', .*below 0 cannot be read: .*by 'tallytree diff'" 's/\[1, 10\]\], \[\[2, 2/[-1, 10]], [[2, 2/'
try "too few values" edited "1 values of 2 types" 's/\[1, 10\]\], \[\[2, 2/[10]], [[2, 2/'
printf '%b' '\x0a\x04\x08\x01\x10\x02\x12\x06\x0a\x01\x01\x12\x01\x05\x22\x05\x08\x01\x22\x01\x08\x32\x00\x32\x01a\x32\x01b' >"$dir/line"
try "a line that is damaged within a location" refused "$dir/line" ": byte 20: a line of a location is damaged"
try "more than 64 bits" edited "add up" 's/\[1, 10\]\], \[\[2, 2/[1, 9223372036854775807]], [[2, 2/'

# Readers take the first mapping for the program.
printf 'cmd: /opt/zebra --fast\nevents: Ir\nob=/lib/abc.so\nfn=a\n1 5\nob=/opt/zebra\nfn=main\n2 7\ncob=/lib/abc.so\ncfn=a\ncalls=1 1\n2 5\n' >"$dir/zebra"
"$tallytree" export --to pprof -o "$dir/zebra.pb.gz" "$dir/zebra"
equal "the program's mapping is the first" "$(go tool pprof -top "$dir/zebra.pb.gz" 2>"$dir/log" | grep '^File')" "File: zebra"


# ── Lines ────────────────────────────────────────────────────────────────────────────
# Ticks of lines 3, 4 and 6 of work: go's tool lists them beside the lines of its file.
printf 'line %s\n' 1 2 3 4 5 6 7 >"$dir/work.c"
{
    printf 'block %s kind=%s module=prog file=%s line=%d\n' main function "$dir/main.c" 1 work function "$dir/work.c" 2 \
        work.c:3 statement "$dir/work.c" 3 work.c:4 statement "$dir/work.c" 4 work.c:6 statement "$dir/work.c" 6
    printf 'push main\npush work\npush work.c:3\ntick 20\npop\npush work.c:4\ntick 300\npop\npush work.c:6\ntick 5\npop\npop\npop\n'
} >"$dir/events"
"$tallytree" replay -o "$dir/lines" "$dir/events" && "$tallytree" export --to pprof -m ticks -o "$dir/lines.pb.gz" "$dir/lines"
equal "lines of a function are no functions" "$(go tool pprof -top "$dir/lines.pb.gz" 2>"$dir/log" | awk 'p { print $NF, $1, $4 } /flat%/ { p = 1 }' | paste -sd ,)" "work 325ticks 325ticks,main 0 325ticks"
equal "but figures beside its source" "$(go tool pprof -list work "$dir/lines.pb.gz" 2>"$dir/log" | awk '$3 ~ /^[0-9]+:/ && $1 > 0 { print $3, $1 }' | paste -sd ,)" "3:line 20,4:line 300,6:line 5"

finish
