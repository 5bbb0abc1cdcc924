#!/bin/bash
# SPDX-License-Identifier: MIT
# speedscope's JSON, sampled and evented, in any order of its keys.  speedscope's page shows
# our figures for files that are written.
. "$(dirname "$0")/formats.sh"


# meaning FILE INDEX - folded stacks of a profile of the file, by what the format's page says.
meaning()
{
    python3 - "$1" "$2" <<'END'
import collections, json, sys
file = json.load(open(sys.argv[1]))
frames = [f["name"] for f in file["shared"]["frames"]]
profile = file["profiles"][int(sys.argv[2])]
sum = collections.Counter()
if profile["type"] == "sampled":
    assert len(profile["samples"]) == len(profile["weights"])
    for stack, weight in zip(profile["samples"], profile["weights"]):
        sum[";".join(frames[f] for f in stack)] += weight
else:
    stack, last = [], profile["startValue"]
    for event in profile["events"]:
        assert event["at"] >= last
        if stack: sum[";".join(frames[f] for f in stack)] += event["at"] - last
        else: assert event["at"] == last
        last = event["at"]
        if event["type"] == "O": stack.append(event["frame"])
        else: assert stack.pop() == event["frame"]
    assert not stack and last == profile["endValue"]
assert "unit" in profile and "name" in profile and "$schema" in file
for stack, weight in sorted(sum.items()):
    if weight: print(stack, weight)
END
}

# ── Reading ──────────────────────────────────────────────────────────────────────────

cat >"$dir/sampled" <<'END'
{"$schema": "https://www.speedscope.app/file-format-schema.json", "exporter": "by hand",
 "profiles": [{"type": "sampled", "name": "one", "samples": [[0, 1], [0, 1, 1], [], [0]],
   "weights": [1.5, 2, 0.25, 3e-3], "unit": "milliseconds", "startValue": 0, "endValue": 9}],
 "shared": {"frames": [{"name": "ma\u0069n \ud83c\udf33", "file": "a.c", "line": 3, "col": null}, {"name": "\"f\""}]}}
END
sampled='[root] 250000
main 🌳 3000
main 🌳;"f" 1500000
main 🌳;"f";"f" 2000000'
try "samples have weights in a unit, wherever that stands" folds "$sampled" "$dir/sampled"
cat >"$dir/evented" <<'END'
{"shared": {"frames": [{"name": "a"}, {"name": "b"}]},
 "$schema": "https://www.speedscope.app/file-format-schema.json",
 "profiles": [{"type": "evented", "name": "one", "unit": "none", "startValue": 0, "endValue": 9,
   "events": [{"type": "O", "frame": 0, "at": 1.5}, {"type": "O", "frame": 1, "at": 2},
     {"at": 2, "type": "O", "frame": 1}, {"type": "C", "frame": 1, "at": 4.5}, {"type": "C", "frame": 1, "at": 4.5},
     {"type": "C", "frame": 0, "at": 9}, {"type": "O", "frame": 1, "at": 20}, {"type": "C", "frame": 1, "at": 25}]}]}
END
try "events have times between them, what is lacking to one is carried over" folds 'a 4
a;b;b 3
b 5' "$dir/evented"
calls() { "$tallytree" export --to folded --metric calls "$dir/evented" >"$dir/got"; diff "$dir/got" - <<<$'a 1\na;b 1\na;b;b 1\nb 1'; }
try "and are calls" calls
python3 - "$dir" <<'END'
import json, sys
file = json.load(open(sys.argv[1] + "/sampled")); other = json.load(open(sys.argv[1] + "/evented"))
file["profiles"] = [dict(file["profiles"][0], name=n) for n in ("x", "y")]
json.dump(file, open(sys.argv[1] + "/two", "w"))
END
strands() { "$tallytree" report strands --csv "$dir/two" | grep -c '[,"][xy][,"]'; }
try "profiles of a file are strands" test "$(strands)" = 2

python3 - >"$dir/random" <<'END'
import json, random
random.seed(9)
samples = [[random.randrange(20) for _ in range(random.randrange(1, 12))] for _ in range(3000)]
print(json.dumps({"$schema": "https://www.speedscope.app/file-format-schema.json",
    "shared": {"frames": [{"name": "f%02d" % i, "file": "x.c"} for i in range(20)]},
    "profiles": [{"type": "sampled", "name": "r", "unit": "nanoseconds", "startValue": 0, "endValue": 1,
                  "samples": samples, "weights": [random.randrange(1, 1000) for _ in samples]}]}))
END
as_meant() { diff <("$tallytree" export --to folded "$1" | LC_ALL=C sort) <(meaning "$1" 0 | LC_ALL=C sort); }
try "three thousand samples are what they mean" as_meant "$dir/random"

# ── Writing ──────────────────────────────────────────────────────────────────────────

"$tallytree" export --to speedscope -o "$dir/again" "$dir/random"
same() { diff <(meaning "$dir/again" 0 | LC_ALL=C sort) <(meaning "$dir/random" 0 | LC_ALL=C sort) && as_meant "$dir/again"; }
try "what is written means the same" same
"$tallytree" replay -o "$dir/recording" <<'END'
push ma"in
tick 2
push f
tick 3
push f
tick 5
pop
pop
push never
END
"$tallytree" export --to speedscope -o "$dir/written" "$dir/recording"
try "so does a recording" test "$(meaning "$dir/written" 0)" = 'ma"in 2
ma"in;f 3
ma"in;f;f 5'
try "each metric is a profile" test "$(meaning "$dir/written" 1)" = 'ma"in 1
ma"in;f 1
ma"in;f;f 1
ma"in;never 1'
try "a stack of a million frames goes there and back" deep_there_and_back speedscope
metrics_there_and_back()
{
    local m
    printf 'events: Ir Dr\nfn=main\n1 10 2\ncfn=leaf\ncalls=3 1\n1 40 6\nfn=leaf\n2 40 6\n' >"$dir/graph"
    "$tallytree" export --to speedscope -o "$dir/metrics" "$dir/graph" || return
    for m in Ir Dr calls; do
        "$tallytree" export --to folded --metric $m "$dir/graph" >"$dir/want"
        "$tallytree" export --to folded --metric $m "$dir/metrics" | cmp - "$dir/want" || return
    done
    "$tallytree" export --to folded "$dir/metrics" | cmp - <("$tallytree" export --to folded "$dir/graph")
}
try "so does each metric, and the main one is the main one" metrics_there_and_back

# ── What is wrong ────────────────────────────────────────────────────────────────────

try "a frame that is not there" refuses_byte "is not there" 's/\[0, 1, 1\]/[0, 2, 1]/' "$dir/sampled"
try "too few weights" refuses_byte "fewer weights" 's/, 3e-3//' "$dir/sampled"
try "too many" refuses_byte "more weights" 's/, 3e-3/&, 1/' "$dir/sampled"
try "a weight below 0" refuses_byte "less than 0" 's/3e-3/-3/' "$dir/sampled"
try "events that go back" refuses_byte "earlier" 's/"at": 9}/"at": 3}/' "$dir/evented"
try "events too far apart" refuses_byte "64 bits" 's/"at": 1.5/"at": -9e12/; s/"at": 2}/"at": 9e12}/' "$dir/evented"
python3 - "$dir" <<'END'
import json, sys
file = json.load(open(sys.argv[1] + "/sampled"))
file["profiles"] = [dict(file["profiles"][0], unit="nanoseconds", weights=[9 * 10**18, 0, 0, 0])] * 3
json.dump(file, open(sys.argv[1] + "/much", "w"))
END
try "weights that are too much together" refused "$dir/much" ": byte [0-9]*: .*64 bits"
try "one that closes what is not open" refuses_byte "not open innermost" 's/"C", "frame": 0/"C", "frame": 1/' "$dir/evented"
try "frames that stay open" refuses_byte "still open" 's/, {"type": "C", "frame": 1, "at": 25}//' "$dir/evented"
try "what is no JSON" refuses_byte "comma" 's/\[0, 1, 1\]/[0, 1 1]/' "$dir/sampled"
try "a file that was cut off anywhere" truncated 70 11 4 "$dir/sampled"
printf '%s' '{"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "a"}]},
 "profiles": [{"type": "sampled", "name": "p", "unit": "samples", "startValue": 0, "endValue": 5, "samples": [[0], [0]], "weights": [2, 3]}]}' >"$dir/unit"
try "a unit that the format does not name is none" folds 'a 5' "$dir/unit" samples
printf '%s' '{"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "a"}, {"name": "b"}]}, "profiles": [
 {"type": "sampled", "name": "worker", "unit": "seconds", "startValue": 0, "endValue": 1, "samples": [[0]], "weights": [1]},
 {"type": "sampled", "name": "worker", "unit": "seconds", "startValue": 0, "endValue": 2, "samples": [[1]], "weights": [2]}]}' >"$dir/namesakes"
equal "threads of one name are two" "$("$tallytree" report strands --csv "$dir/namesakes" | awk -F, '/^entry/ { print $5 }')" "2000000000
1000000000"
finish
