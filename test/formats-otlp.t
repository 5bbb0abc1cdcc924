#!/bin/bash
# SPDX-License-Identifier: MIT
# OpenTelemetry's profiles: every figure of every stack, as a reader that follows the tables of
# the dictionary finds it.
. "$(dirname "$0")/formats.sh"

cat >"$dir/read.py" <<'END'
import collections, struct, subprocess, sys
def varint(d, i):
    n = shift = 0
    while True:
        b = d[i]; i += 1; n |= (b & 127) << shift; shift += 7
        if b < 128: return n, i
def fields(d):
    out, i = collections.defaultdict(list), 0
    while i < len(d):
        key, i = varint(d, i)
        if key & 7 == 0: v, i = varint(d, i)
        elif key & 7 == 1: v, i = struct.unpack("<Q", d[i:i + 8])[0], i + 8
        else:
            assert key & 7 == 2
            size, i = varint(d, i); v, i = d[i:i + size], i + size
            assert len(v) == size
        out[key >> 3].append(v)
    return out
def packed(d):
    out, i = [], 0
    while i < len(d): n, i = varint(d, i); out.append(n)
    return out
def one(f, n, default=0): return f[n][0] if f[n] else default
def read(path):
    data = fields(open(path, "rb").read())
    d = fields(one(data, 2))
    strings = [s.decode() for s in d[5]]
    assert strings[0] == "" and all(one_row == b"" for one_row in (d[1][0], d[2][0], d[3][0], d[4][0], d[6][0], d[7][0]))
    name = [strings[one(fields(f), 1)] for f in d[3]]
    location = []
    for l in d[2]:
        l = fields(l); assert one(l, 1) < len(d[1])
        location.append(name[one(fields(l[3][0]), 1)] if l[3] else None)
    stacks = [[location[i] for i in packed(one(fields(s), 1, b""))] for s in d[7]]
    resource = fields(one(data, 1)); profiles = {}
    for p in fields(one(resource, 2))[2]:
        p = fields(p); kind = fields(one(p, 1)); sums = collections.Counter()
        for s in p[2]:
            s = fields(s); assert len(packed(s[4][0])) == 1
            sums[";".join(reversed(stacks[one(s, 1)])) or "[root]"] += packed(s[4][0])[0]
        profiles[strings[one(kind, 1)], strings[one(kind, 2)]] = (sums, one(p, 3), one(p, 4))
    return profiles, resource
if __name__ == "__main__":
    tallytree, file, out, *metrics = sys.argv[1:]
    profiles, resource = read(out)
    assert {n for n, _ in profiles} == set(metrics), set(profiles)
    for (metric, _), (sums, _, _) in profiles.items():
        want = collections.Counter()
        for line in subprocess.run([tallytree, "export", "--to", "folded", "--metric", metric, file], capture_output=True, text=True, check=True).stdout.splitlines():
            stack, n = line.rsplit(" ", 1); want[stack] += int(n)
        assert sums == want and want, (metric, sums, want)
END
{
    echo 'block parse kind=function module=/lib/m.so file=p.c line=7 column=3'
    for i in $(seq 40); do printf 'push main\ntick 3\npush parse\ntick %d\npush parse\ntick 2\ncount bytes %d\npop\npop\npop\n' "$i" $((i * 1000000)); done
} | "$tallytree" replay --recursion none -o "$dir/rec"
same() { "$tallytree" export --to otlp -o "$dir/out" "$1" && python3 "$dir/read.py" "$tallytree" "$1" "$dir/out" "${@:2}"; }
try "each metric is a profile, each context a stack" same "$dir/rec" ticks bytes calls
python3 -c 'import random; random.seed(2); [print(";".join("f%d" % random.randrange(9) for _ in range(random.randrange(1, 30))), random.randrange(1, 1 << 40)) for _ in range(3000)]' >"$dir/random"
try "of thousands of stacks" same "$dir/random" samples
one() { "$tallytree" export --to otlp --metric bytes -o "$dir/out" "$dir/rec" && python3 -c '
import sys; sys.path.insert(0, sys.argv[1]); import read
profiles, resource = read.read(sys.argv[2])
assert list(profiles) == [("bytes", "count")], list(profiles)' "$dir" "$dir/out"; }
try "--metric chooses one" one
evicted() { python3 -c 'import random; random.seed(3); [print("push f%d\ntick 5" % random.randrange(3000) + "\npop" * random.randrange(2)) for _ in range(30000)]' | "$tallytree" replay --budget 300nodes --recursion none -o "$dir/small" && same "$dir/small" ticks calls && grep -q "elsewhere below" "$dir/out"; }
try "what was evicted is a leaf of its own" evicted
said() { "$tallytree" export --to otlp "$dir/rec" | grep -aq tallytree && "$tallytree" export --help | grep -q otlp; }
try "it says who wrote it" said

# Read again, and as JSON, which is made of what the reader above finds.
again() {
    local m f=$1
    "$tallytree" export --to otlp -o "$dir/out" "$f" || return
    for m in "${@:2}"; do diff <("$tallytree" export --to folded --metric "$m" "$f") <("$tallytree" export --to folded --metric "$m" "$dir/out") || return; done
    "$tallytree" report "$dir/out" | grep -q 'format *otlp'
}
try "what is written is read again" again "$dir/rec" ticks bytes calls
try "so are thousands of stacks" again "$dir/random" samples
places() { "$tallytree" export --to otlp -o "$dir/out" "$dir/rec" && "$tallytree" report flat --csv "$dir/out" | grep -q ',parse,/lib/m.so,p.c,7,3,'; }
try "with files, modules, lines and columns" places
cat >"$dir/to-json.py" <<'END'
import json, sys
sys.path.insert(0, sys.argv[1]); from read import *
data = fields(open(sys.argv[2], "rb").read()); d = fields(one(data, 2))
def numbers(m, **names): m = fields(m); return {k: one(m, n) if n < 3 else str(one(m, n)) for k, n in names.items() if m[n]}
dictionary = {"mappingTable": [numbers(m, filenameStrindex=4) for m in d[1]], "functionTable": [numbers(f, nameStrindex=1, filenameStrindex=3, startLine=4) for f in d[3]],
    "locationTable": [dict(numbers(l, mappingIndex=1), lines=[numbers(x, functionIndex=1, line=2, column=3) for x in fields(l)[3]]) for l in d[2]],
    "stringTable": [s.decode() for s in d[5]], "stackTable": [{"locationIndices": packed(one(fields(s), 1, b""))} for s in d[7]], "linkTable": [{}], "attributeTable": [{"keyStrindex": 0}]}
profiles = []
for p in fields(one(fields(one(data, 1)), 2))[2]:
    p = fields(p)
    profiles.append({"samples": [{"stackIndex": one(fields(s), 1), "values": [str(v) for v in packed(fields(s)[4][0])], "linkIndex": 0} for s in p[2]], "profileId": "00ff",
        "sampleType": numbers(one(p, 1), typeStrindex=1, unitStrindex=2), "timeUnixNano": "12"})
owner = {"attributes": [{"key": "host", "value": {"intValue": "3"}}, {"key": "service.name", "value": {"stringValue": "shop"}}]}
document = {"resourceProfiles": [{"resource": owner, "scopeProfiles": [{"scope": {"name": "x"}, "profiles": profiles}]}], "dictionary": dictionary}
json.dump(document, open(sys.argv[3], "w"))
json.dump({k: document[k] for k in ("dictionary", "resourceProfiles")}, open(sys.argv[3] + ".pretty", "w"), indent=1)
open(sys.argv[3] + ".twice", "w").write((json.dumps(document) + "\n") * 2)
END
as_json() {
    "$tallytree" export --to otlp -o "$dir/out" "$1" && python3 "$dir/to-json.py" "$dir" "$dir/out" "$dir/json" || return
    for m in "${@:2}"; do for f in json json.pretty; do diff <("$tallytree" export --to folded --metric "$m" "$1") <("$tallytree" export --to folded --metric "$m" "$dir/$f") || return; done; done
}
try "as JSON they are the same" as_json "$dir/rec" ticks bytes calls
twice() { diff <("$tallytree" export --to folded --metric ticks "$dir/json" | awk '{ $NF *= 2; print }') <("$tallytree" export --to folded --metric ticks "$dir/json.twice"); }
try "lines of JSON add up" twice
service() { "$tallytree" report strands --csv "$dir/json" | grep -q shop; }
try "profiles are of the service that they name" service
# Values of microseconds, times alone, inlined functions, and places without a function.
cat >"$dir/small" <<'END'
{"resourceProfiles": [{"scopeProfiles": [{"profiles": [
  {"sampleType": {"typeStrindex": 1, "unitStrindex": 2}, "samples": [{"stackIndex": 1, "values": ["3", "4"]}, {"stackIndex": 2, "values": [5]}, {"values": ["1"]}]},
  {"sampleType": {"typeStrindex": 3}, "samples": [{"stackIndex": 1, "timestampsUnixNano": ["7", "8", "9"]}]}]}]}],
 "dictionary": {"stringTable": ["", "cpu", "microseconds", "events", "f", "inlined", "/bin/app"],
  "functionTable": [{}, {"nameStrindex": 4}, {"systemNameStrindex": 5}], "mappingTable": [{}, {"memoryStart": "4096", "fileOffset": "256", "filenameStrindex": 6}],
  "locationTable": [{}, {"lines": [{"functionIndex": 2}, {"functionIndex": 1}]}, {"mappingIndex": 1, "address": "4112"}],
  "stackTable": [{}, {"locationIndices": [1, 2]}, {"locationIndices": [2]}]}}
END
small() { folds '[root] 1000
app+0x110 5000
app+0x110;f;inlined 7000' "$dir/small" cpu && folds 'app+0x110;f;inlined 3' "$dir/small" events; }
try "units, times alone, inlined functions and addresses" small
try "a value below 0 is refused" eval 'sed "s/\[5\]/[-5]/" "$dir/small" >"$dir/bad"; refused "$dir/bad" ": byte [0-9]*: a whole number from 0 on"'
try "so is a stack that there is not" eval 'sed "s/\"stackIndex\": 2/\"stackIndex\": 9/" "$dir/small" >"$dir/bad"; refused "$dir/bad" ": byte [0-9]*: a sample has a stack that there is not"'
try "so is a location that there is not" eval 'sed "s/\[1, 2\]/[1, 7]/" "$dir/small" >"$dir/bad"; refused "$dir/bad" ": byte [0-9]*: a stack has a location that there is not"'
"$tallytree" export --to otlp -o "$dir/whole" "$dir/rec"
try "so is a message that is cut off" truncated 200 31 1 "$dir/whole"
finish
