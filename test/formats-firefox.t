#!/bin/bash
# SPDX-License-Identifier: MIT
# Firefox's processed profiles: tables of each thread, or shared ones, by prefix or offset.
. "$(dirname "$0")/formats.sh"


# make FILE CODE - a profile that Python code changes: `p`, its thread `t`, `shared` makes its
# tables shared, `offset` turns prefixes into offsets.
make()
{
    python3 - "$1" "$2" <<'END'
import json, sys
t = {"samples": {"length": 4, "stack": [2, 1, None, 2], "weight": None, "weightType": "samples", "time": [0, 1, 2, 3]},
     "name": "GeckoMain", "processName": "web", "pid": "17", "tid": 18, "markers": {"length": 0, "data": []},
     "stackTable": {"length": 3, "frame": [0, 1, 1], "prefix": [None, 0, 1], "category": [0, 0, 0]},
     "frameTable": {"length": 2, "func": [0, 1], "line": [3, None]},
     "funcTable": {"length": 2, "name": [0, 2], "fileName": [1, None], "lineNumber": [7, None], "resource": [0, -1]},
     "resourceTable": {"length": 1, "name": [3], "lib": [0], "type": [1]},
     "stringArray": ["main", "a.c", "f\u00e4(\"x\")", "libx"]}
p = {"meta": {"preprocessedProfileVersion": 41, "product": "made", "startTime": 1700000000000.5}, "libs": [{"name": "x"}], "threads": [t]}
def shared():
    p["shared"] = {k: t.pop(k) for k in ("stackTable", "frameTable", "funcTable", "resourceTable", "stringArray")}
    p["meta"]["preprocessedProfileVersion"] = 60
def offset(table):
    table["prefixOffset"] = [0 if n is None else i - n for i, n in enumerate(table.pop("prefix"))]
exec(sys.argv[2])
json.dump(p, open(sys.argv[1], "w"))
END
}

small='[root] 1
main;fä("x") 1
main;fä("x");fä("x") 2'
make "$dir/small" ''
try "stacks are frames on the stacks before them" folds "$small" "$dir/small"
make "$dir/shared" 'shared()'
try "tables may be shared, and stand behind the threads" folds "$small" "$dir/shared"
make "$dir/offset" 'shared(); offset(p["shared"]["stackTable"])'
try "and have offsets for prefixes" folds "$small" "$dir/offset"
make "$dir/weighed" 't["samples"]["weight"] = [5, 0, 1, None]'
try "samples may have weights" folds '[root] 1
main;fä("x");fä("x") 6' "$dir/weighed"
make "$dir/bytes" 't["samples"]["weight"] = [5, 6, 1, 2]; t["samples"]["weightType"] = "bytes"'
try "of bytes, too" folds '[root] 1
main;fä("x") 6
main;fä("x");fä("x") 7' "$dir/bytes"
make "$dir/ms" 't["samples"]["weight"] = [0.5, 0.0004, 2, None]; t["samples"]["weightType"] = "tracing-ms"'
try "of milliseconds, with a fraction" folds '[root] 2000000
main;fä("x") 400
main;fä("x");fä("x") 1500000' "$dir/ms"
places() { "$tallytree" report flat --csv "$dir/small" | grep -q 'main.*libx.*a.c.*7'; }
try "functions have files, lines and modules" places
facts() { "$tallytree" report "$dir/small" | grep -q '^program *made$' && "$tallytree" report "$dir/small" | grep -q '2023-11-14 22:13:20'; }
try "the program and when it was are known" facts
halves() { "$tallytree" export --to folded --time ..50% "$dir/small" | diff - <(printf 'main;fä("x") 1\nmain;fä("x");fä("x") 1\n'); }
try "its samples are from its start on, and may be cut by time" halves
lasts() { "$tallytree" report timeline "$dir/small" >"$dir/line" && grep -q '^time: 60 buckets of 5[.0-9]*e-05 s' "$dir/line"; }
try "so the timeline is as long as they are" lasts
strand() { make "$dir/two" 'p["threads"].append(dict(t, name="worker", tid=19))' && "$tallytree" report strands --csv "$dir/two" | grep -q 'worker.*web.*17'; }
try "threads are strands" strand
gzip -c "$dir/small" >"$dir/packed"
try "it may be packed" folds "$small" "$dir/packed"

make "$dir/random" '
import random, collections
random.seed(4)
n = 3000
t["funcTable"] = {"length": 20, "name": list(range(20)), "resource": [-1] * 20, "fileName": [None] * 20, "lineNumber": [None] * 20}
t["stringArray"] = ["f%02d" % i for i in range(20)]
t["frameTable"] = {"length": 40, "func": [random.randrange(20) for _ in range(40)]}
s = t["stackTable"] = {"length": n, "frame": [random.randrange(40) for _ in range(n)],
                       "prefix": [None if i < 3 else random.randrange(i) for i in range(n)]}
t["samples"] = {"length": 5000, "stack": [random.randrange(n) for _ in range(5000)], "weight": [random.randrange(9) for _ in range(5000)]}
sum = collections.Counter()
for stack, weight in zip(t["samples"]["stack"], t["samples"]["weight"]):
    path = []
    while stack is not None:
        path.append(t["stringArray"][t["frameTable"]["func"][s["frame"][stack]]])
        stack = s["prefix"][stack]
    sum[";".join(reversed(path))] += weight
open(sys.argv[1] + ".want", "w").writelines("%s %d\n" % x for x in sum.items() if x[1])'
as_made() { "$tallytree" export --to folded "$1" | LC_ALL=C sort | diff - <(LC_ALL=C sort "$dir/random.want"); }
try "five thousand samples are what Python makes of them" as_made "$dir/random"
"$tallytree" export --to firefox -o "$dir/written" "$dir/random"
try "what is written is read the same" as_made "$dir/written"
tables()
{
    zcat "$dir/written" | python3 -c '
import json, sys
p = json.load(sys.stdin); t = p["threads"][0]
assert p["meta"]["preprocessedProfileVersion"] == 41 and len(p["threads"]) == 1
for name in ("stackTable", "frameTable", "funcTable", "resourceTable", "samples", "markers", "nativeSymbols"):
    for column, values in t[name].items():
        assert not isinstance(values, list) or len(values) == t[name]["length"], (name, column)
assert all(n is None or n < i for i, n in enumerate(t["stackTable"]["prefix"]))
assert all(n < len(t["stringArray"]) for n in t["funcTable"]["name"] + t["resourceTable"]["name"])'
}
try "its columns are as long as their tables, and lead nowhere else" tables
"$tallytree" replay -o "$dir/evicted" --budget 64nodes <<END
$(for i in $(seq 300); do printf 'push f%d\npush g%d\ntick 1\npop\npop\n' "$i" "$i"; done)
END
evicted() { "$tallytree" export --to firefox "$dir/evicted" | "$tallytree" export --to folded - | awk '{ s += $NF } END { exit s != 300 }'; }
try "what was evicted is there" evicted
try "a stack of a million frames goes there and back" deep_there_and_back firefox

# bad WHAT CODE
bad() { make "$dir/bad" "$2" && refused "$dir/bad" ": byte [0-9]*: .*$1"; }
try "a stack on one that comes later" bad "not before it" 't["stackTable"]["prefix"][1] = 2'
try "an offset beyond the first" bad "not before it" 'offset(t["stackTable"]); t["stackTable"]["prefixOffset"][1] = 2'
try "a frame that is not there" bad "not there" 't["stackTable"]["frame"][1] = 9'
try "a function that is not there" bad "not there" 't["frameTable"]["func"][1] = 9'
try "a stack that is not there" bad "not there" 't["samples"]["stack"][1] = 9'
try "weights below 0" bad "below 0" 't["samples"]["weight"] = [1, -1, 1, 1]'
try "weights that are too much together" bad "64 bits" 't["samples"]["weight"] = [9 * 10**18, 0, 0, 0]; p["threads"] *= 3'
try "tables that are missing" bad "lacks" 'del t["frameTable"]'
try "a file that was cut off anywhere" truncated 60 41 2 "$dir/small"

# Files of samply: addresses in modules, which symbols name afterwards.
cat >"$dir/native.c" <<'END'
__attribute__((noinline)) int leaf_function(int x) { return x * 3; }
__attribute__((noinline)) int outer_function(int x) { return leaf_function(x) + 1; }
int main(int argc, char **argv) { (void)argv; return outer_function(argc); }
END
gcc -O1 -fPIE -pie -Wl,--build-id -o "$dir/native" "$dir/native.c"
cat >"$dir/native.py" <<'END'
import json, re, subprocess, sys
program, version = sys.argv[1], int(sys.argv[2])
at = {l.split()[2]: int(l.split()[0], 16) for l in subprocess.run(["nm", program], capture_output=True, text=True, check=True).stdout.splitlines() if len(l.split()) == 3}
id = re.search("Build ID: (\\w+)", subprocess.run(["readelf", "-n", program], capture_output=True, text=True, check=True).stdout)[1]
names = ["0x%x" % (at[n] + 1) for n in ("main", "outer_function", "leaf_function")] + ["native", "named"]
tables = {"frameTable": {"length": 4, "func": [0, 1, 2, 3], "address": [at["main"] + 1, at["outer_function"] + 1, at["leaf_function"] + 1, -1]},
          "funcTable": {"length": 4, "name": [0, 1, 2, 4], "resource": [0, 0, 0, -1]},
          "resourceTable": {"length": 1, "lib": [0], "name": [3]}, "stackTable": {"length": 4, "frame": [0, 1, 2, 3], "prefix": [None, 0, 1, 2]}}
strings = {"stringArray": names}
thread = {"name": "t", "pid": 1, "tid": 1, "samples": {"length": 3, "stack": [2, 3, 2]}, **tables}
profile = {"meta": {"preprocessedProfileVersion": version, "symbolicated": False}, "threads": [thread],
           "libs": [{"name": "native", "path": program, "codeId": id}]}
if version < 56: thread.update(strings)
else: profile["shared"] = strings
json.dump(profile, open(sys.argv[3], "w"))
END
python3 "$dir/native.py" "$dir/native" 41 "$dir/native.json" && python3 "$dir/native.py" "$dir/native" 58 "$dir/native-58.json"
named='main;outer_function;leaf_function 2
main;outer_function;leaf_function;named 1'
symbolized() { "$tallytree" symbolize -o "$dir/named.tt" "$1" && folds "$named" "$dir/named.tt"; }
try "addresses in files of code are named by symbolize" symbolized "$dir/native.json"
try "strings may be shared, and the other tables a thread's own" symbolized "$dir/native-58.json"
windows() { sed "s|$dir/native|C:\\\\\\\\src\\\\\\\\native.exe|" "$dir/native.json" >"$dir/windows.json" && "$tallytree" export --to folded "$dir/windows.json" >"$dir/got" && grep -qE '^native.exe\+0x[0-9a-f]+;native.exe\+0x[0-9a-f]+;native.exe\+0x[0-9a-f]+ 2$' "$dir/got"; }
try "on Windows a file is called by the last part of its path, too" windows
mkdir "$dir/symbols" && mv "$dir/native" "$dir/symbols"
unnamed() { "$tallytree" symbolize -o "$dir/none.tt" "$dir/native.json" 2>"$dir/said"; [ $? = 1 ] && grep -q 'no name was found for any of 3 addresses' "$dir/said" && [ -s "$dir/none.tt" ]; }
try "where the files are not there, symbolize says so, and its exit status is 1" unnamed
elsewhere() { "$tallytree" symbolize --symbols "$dir/symbols" -o "$dir/named.tt" "$dir/native.json" && folds "$named" "$dir/named.tt"; }
try "the files may lie elsewhere" elsewhere
placeless() { printf '0x12;0x13 4\n' >"$dir/hex" && "$tallytree" symbolize -o "$dir/none.tt" "$dir/hex" 2>"$dir/said"; [ $? = 1 ] && grep -q 'none of 2 addresses has a name' "$dir/said"; }
try "so it is where no file is known" placeless
printf 'events: time_(ms)\nfn=main\n1 1000\nfn=b\n2 2000\n' >"$dir/times"
times() { "$tallytree" export --to firefox --force -o "$dir/times.json.gz" "$dir/times" && gzip -dc "$dir/times.json.gz" | python3 -c '
import json, sys
s = json.load(sys.stdin)["threads"][0]["samples"]
assert sorted(s["weight"]) == [1000, 2000] and s["weightType"] == "tracing-ms", s' && folds $'b 2000000000\nmain 1000000000' "$dir/times.json.gz"; }
try "a metric that is a time is written in ms, and read as a time" times
finish
