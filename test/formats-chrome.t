#!/bin/bash
# SPDX-License-Identifier: MIT
# Trace events: in any order, with ends that are missing or wrong; the tree is that of a run.
. "$(dirname "$0")/formats.sh"

trace() { cat >"$dir/trace"; }

trace <<'END'
[ {"pid": 1, "tid": 2, "ph": "B", "name": "main", "ts": 10.5},
  {"pid": 1, "tid": 2, "ph": "X", "name": "inner", "ts": 12, "dur": 1.25},
  {"pid": 1, "tid": 2, "ph": "X", "name": "outer", "ts": 12, "dur": 3, "args": {"name": [1, {"x": "}"}]}},
  {"pid": 1, "tid": 2, "ph": "E", "name": "main", "ts": "20"},
  {"pid": 1, "tid": 2, "ph": "X", "name": "late", "ts": 30, "dur": 1},
  {"pid": 1, "tid": 3, "ph": "X", "name": "late", "ts": 0.001, "dur": 1},
  {"pid": 1, "tid": 3, "ph": "M", "name": "thread_name", "args": {"name": "worker"}},
  {"pid": 1, "tid": 2, "ph": "C", "name": "counter", "ts": 1, "args": {"x": 3}}
END
folded='late 2000
main 6500
main;outer 1750
main;outer;inner 1250'
try "begin and end, complete events, fractions; the list may lack its end" folds "$folded" "$dir/trace"
{ echo '{"displayTimeUnit": "ns", "traceEvents":'; cat "$dir/trace"; echo '], "metadata": {"a": [1]}}'; } >"$dir/object"
try "the list may be in an object" folds "$folded" "$dir/object"
try "calls are counted" folds 'late 2
main 1
main;outer 1
main;outer;inner 1' "$dir/trace" calls
worker() { "$tallytree" report strands --csv "$dir/trace" | grep -q worker; }
try "threads are strands, by their names" worker
activations() { "$tallytree" report flat --csv "$dir/object" | grep -q 'outer'; "$tallytree" report flat --csv "$dir/object" | head -n 1 | grep -q 'deviation'; }
try "activations have statistics" activations
balanced() { ! "$tallytree" report header "$1" | grep -qE 'unbalanced|open:'; }
try "it was all balanced, and nothing is said to go on" balanced "$dir/trace"

trace <<'END'
[ {"pid": 1, "tid": 2, "ph": "E", "name": "early", "ts": 0},
  {"pid": 1, "tid": 2, "ph": "B", "name": "a", "ts": 0},
  {"pid": 1, "tid": 2, "ph": "B", "name": "b", "ts": 1},
  {"pid": 1, "tid": 2, "ph": "B", "name": "c", "ts": 2},
  {"pid": 1, "tid": 2, "ph": "E", "name": "b", "ts": 4},
  {"pid": 1, "tid": 2, "ph": "E", "name": "c", "ts": 5},
  {"pid": 1, "tid": 2, "ph": "B", "name": "d", "ts": 6},
  {"pid": 1, "tid": 2, "ph": "X", "name": "e", "ts": 7, "dur": 1} ]
END
try "ends that are missing, wrong or too many" folds 'a 3000
a;b 1000
a;b;c 2000
a;d 1000
a;d;e 1000' "$dir/trace"
unbalanced() { [ "$("$tallytree" report header "$dir/trace" | sed -n 's/^ *\([0-9]*\)  unbalanced$/\1/p')" = 5 ]; }
try "are counted" unbalanced

trace <<'END'
[ {"ph": "B", "name": "a", "ts": 0}, {"ph": "B", "name": "b", "ts": 0}, {"ph": "E", "name": "a", "ts": 5}, {"ph": "E", "name": "b", "ts": 5},
  {"ph": "B", "name": "a", "ts": 5}, {"ph": "E", "ts": 5}, {"ph": "X", "name": "z", "ts": 5, "dur": 0}, {"ph": "X", "name": "x", "ts": 5, "dur": 2} ]
END
try "what happens at one time is put in order" folds 'a;b 5000
x 2000' "$dir/trace"
try "and that is balanced" balanced "$dir/trace"
trace <<'END'
[ {"ph": "X", "name": "a", "ts": 0, "dur": 9}, {"ph": "X", "name": "b", "ts": 0, "dur": 9}, {"ph": "B", "name": "c", "ts": 4}, {"ph": "E", "name": "c", "ts": 9},
  {"ph": "B", "name": "d", "ts": 9}, {"ph": "E", "name": "d", "ts": 9}, {"ph": "X", "name": "e", "ts": 20, "dur": 1} ]
END
try "what ends at the time at which all that it lies in is over" folds 'a;b 4000
a;b;c 5000
e 1000' "$dir/trace"
try "is balanced too" balanced "$dir/trace"
long() {
    local x && x=$(printf 'x%.0s' $(seq 9000)) && trace <<END && folds "${x}1 5000
${x}2 7000
${x}2;${x}1 3000" "$dir/trace"
[ {"ph": "X", "name": "${x}1", "ts": 0, "dur": 5}, {"ph": "X", "name": "${x}2", "ts": 10, "dur": 10}, {"ph": "X", "name": "${x}1", "ts": 12, "dur": 3} ]
END
}
try "names of 9,000 bytes are whole, and told apart by their last" long

trace <<'END'
[ {"ph": "X", "name": "a", "ts": 0, "dur": 9}, {"ph": "X", "name": "a", "ts": 1, "dur": 7}, {"ph": "X", "name": "a", "ts": 2, "dur": 4} ]
END
policy() { "$tallytree" export --to folded "${@:2}" "$dir/trace" >"$dir/got" && diff "$dir/got" - <<<"$1"; }
try "recursion is by the edge, as of a run" policy 'a 2000
a;a 7000'
try "or by the policy that is asked for" policy 'a 2000
a;a 3000
a;a;a 4000' --recursion none
# Names in place of numbers, as other tools write them; of one worker the metadata give another.
cat >"$dir/texts" <<'END'
{"traceEvents":[{"ph":"X","name":"a","pid":"Spans","tid":"Some Profiler","ts":0,"dur":10},
{"ph":"X","name":"b","pid":"Spans","tid":"worker 1","ts":2,"dur":5},{"ph":"X","name":"b","pid":"Spans","tid":"worker 2","ts":2,"dur":7},
{"ph":"M","name":"thread_name","pid":"Spans","tid":"worker 2","args":{"name":"the second"}},{"ph":"X","name":"c","pid":7,"tid":"8","ts":1,"dur":1}]}
END
texts() { "$tallytree" report strands --csv "$dir/texts" | python3 -c 'import csv, sys
for r in csv.DictReader(sys.stdin):
    if r["role"] == "entry": print(r["self"], r["process"], r["pid"], r["name"], r["thread"], sep=",")' | sort -n; }
equal "ids that are texts are names" "$(texts)" "1000,,7,thread 8,8
5000,Spans,0,worker 1,0
7000,Spans,0,the second,0
10000,Spans,0,Some Profiler,0"
wrong_policy() { ! policy '' --recursion sometimes 2>"$dir/said" && grep -q "export: '--recursion' cannot be 'sometimes'" "$dir/said"; }
try "which must be one" wrong_policy
merged() { "$tallytree" merge --recursion block --budget 1M -o "$dir/merged.tt" "$dir/trace" && "$tallytree" report header "$dir/merged.tt" | grep -q '1 MiB'; }
try "merge takes it, and a budget, too" merged

# Random threads, well nested, shuffled, against the paths that made them.
python3 - "$dir" <<'END'
import collections, json, random, sys
random.seed(2)
sum, events = collections.Counter(), []
for tid in range(5):
    now, stack = random.randrange(1000), []
    for _ in range(4000):
        step = random.randrange(1, 50)
        if stack: sum[";".join(n for n, *_ in stack)] += step
        now += step
        if stack and (random.random() < 0.5 or len(stack) > 20):
            name, begin, complete = stack.pop()
            if complete: events.append({"ph": "X", "name": name, "ts": begin / 1000, "dur": (now - begin) / 1000, "pid": 1, "tid": tid})
            else: events += [{"ph": "B", "name": name, "ts": begin / 1000, "pid": 1, "tid": tid}, {"ph": "E", "name": name, "ts": now / 1000, "pid": 1, "tid": tid}]
        else:
            stack.append(("f%d" % len(stack) + random.choice("abc"), now, random.random() < 0.5))
    while stack:
        sum[";".join(n for n, *_ in stack)] += 1
        now += 1
        name, begin, _ = stack.pop()
        events.append({"ph": "X", "name": name, "ts": begin / 1000, "dur": (now - begin) / 1000, "pid": 1, "tid": tid})
random.shuffle(events)
json.dump({"traceEvents": events}, open(sys.argv[1] + "/random", "w"))
open(sys.argv[1] + "/want", "w").writelines("%s %d\n" % s for s in sum.items())
END
as_made() { "$tallytree" export --to folded "$1" | LC_ALL=C sort | diff - <(LC_ALL=C sort "$dir/want"); }
try "twenty thousand events of five threads, shuffled, are the paths that made them" as_made "$dir/random"
"$tallytree" export --to chrome -o "$dir/written" "$dir/random"
try "what is written is read the same" as_made "$dir/written"
valid() { python3 -c 'import json, sys; e = json.load(open(sys.argv[1]))["traceEvents"]; assert len(e) > 100 and all(x["ph"] == "X" and x["dur"] > 0 for x in e)' "$dir/written"; }
try "and is JSON" valid

# Processor time, which a busy machine does not use up.
{
    echo '[ {"ph": "B", "name": "a", "ts": 1}'
    yes ', {"ph": "E", "name": "b", "ts": 5}' | head -n 200000
    echo ']'
} >"$dir/ends"
ends() { (ulimit -t 20; "$tallytree" export --to folded "$dir/ends") | diff - <(echo 'a 4000'); }
try "ends of nothing, all at one time, are passed by" ends

# nested NAME TIME UNBALANCED - a hundred thousand that lie in each other, and as many ends, in
# whose NAME and TIME & is the number.
nested()
{
    {
        echo '['
        seq 100000 | sed 's/.*/{"ph": "B", "name": "f&", "ts": &},/'
        seq 100000 | sed "s/.*/{\"ph\": \"E\", \"name\": \"$1\", \"ts\": $2},/"
        echo ']'
    } >"$dir/nested"
    (ulimit -t 20; "$tallytree" report header --csv "$dir/nested") >"$dir/header" &&
        [ "$(awk -F, '$4 == "unbalanced" { print $NF }' "$dir/header")" = "$3" ]
}
try "deep ones that end at one time, the outermost first" nested 'f&' 200000 ''
try "deep ones, and ends of nothing at many times" nested no '&00000' 200000

trace <<<'[ {"ph": "B", "name": "a", "ts": 0}, {"ph": "B", "na'
try "a file that ends in an event is refused" refused "$dir/trace" ": byte [0-9]*: .*ends before"
trace <<<'{"traceEvents": [ {"ph": "B", "name": "a", "ts": 0}'
try "so is an object without an end" refused "$dir/trace" ": byte [0-9]*: .*ends before"
trace <<<'[ {"ph": "B", "name": "a", "ts": "soon"} ]'
try "a time that is none" refused "$dir/trace" ": byte [0-9]*: .*no number"
trace <<<'[ {"ph": "B", "name": "a"} ]'
try "a trace without any time" refused "$dir/trace" ": byte [0-9]*: .*no events that begin"
trace <<<'[ {"ph": "X", "name": "a", "ts": 1, "dur": 1} ] [ {"ph": "X", "name": "b", "ts": 1, "dur": 1} ]'
try "a trace behind another" refused "$dir/trace" ": byte [0-9]*: something follows the end"
trace <<<'{"traceEvents": [ {"ph": "X", "name": "a", "ts": 1, "dur": 1} ]} {}'
try "or whatever else follows" refused "$dir/trace" ": byte [0-9]*: something follows the end"
trace <<<"[ $(for i in $(seq 9); do printf '{"ph": "X", "name": "a", "tid": %d, "ts": 0, "dur": 2200000000000000}, ' "$i"; done) ]"
try "times that are too much together" refused "$dir/trace" ": byte [0-9]*: .*64 bits"
trace <<<'[ {"ph": "C", "name": "a", "ts": 1} ]'
try "a trace in which nothing begins" refused "$dir/trace" ": byte [0-9]*: .*no events that begin"
# ── Samples ──
trace <<'END'
[ {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "main"}},
{"args": {"data": {"startTime": 100}}, "ph": "P", "name": "Profile", "id": "0x1", "pid": 1, "tid": 2, "ts": 100},
{"ph": "P", "name": "ProfileChunk", "id": "0x1", "pid": 1, "tid": 9, "ts": 110, "args": {"data": {"cpuProfile": {"nodes": [
  {"id": 1, "callFrame": {"functionName": "(root)", "scriptId": 0}},
  {"id": 2, "parent": 1, "callFrame": {"functionName": "a", "url": "x.js", "lineNumber": 4, "columnNumber": 2}},
  {"id": 3, "parent": 2, "callFrame": {"functionName": "", "url": "x.js", "lineNumber": 9}}],
  "samples": [2, 3, 3]}, "timeDeltas": [10, 20, 30]}}},
{"ph": "X", "name": "task", "pid": 1, "tid": 2, "ts": 100, "dur": 1000},
{"args": {"data": {"timeDeltas": [40, -15, 5], "cpuProfile": {"samples": [4, 2, 2], "nodes": [{"id": 4, "parent": 3, "callFrame": {"functionName": "b"}}]}}},
  "id": "0x1", "name": "ProfileChunk", "ph": "P", "pid": 1, "tid": 9, "ts": 120},
{"ph": "X", "name": "other", "pid": 1, "tid": 2, "ts": 300, "dur": 10, "args": {"data": {"nodes": 7, "samples": "many"}}} ]
END
metric() { "$tallytree" export --to folded --metric "$1" "$dir/trace" >"$dir/got" && diff "$dir/got" - <<<"$2"; }
try "samples of all pieces are contexts" metric samples 'a 3
a;(anonymous) 2
a;(anonymous);b 1'
try "each lasts until the next one; a clock that goes back stands still" metric "sampled time" 'a 20000
a;(anonymous) 70000'
try "events beside them are what they are" metric time 'task 990000
task;other 10000'
who() { "$tallytree" report strands --metric samples --csv "$dir/trace" | grep -q '^entry.*main'; }
try "their strand is the thread that the profile is of" who
trace <<'END'
{"traceEvents": [ {"name": "t", "ph": "X", "dur": 0, "pid": 7, "ts": "50", "tid": "1"} ],
 "samples": [ {"ts": "100", "pid": 7, "tid": "1", "weight": "1", "sf": 2}, {"ts": "130", "pid": 7, "tid": "2", "sf": 3},
              {"ts": "150", "pid": 7, "tid": "1", "sf": 3}, {"ts": "160", "pid": 7, "tid": "1", "sf": 1}, {"ts": "180", "pid": 7, "tid": "2", "sf": 2} ],
 "stackFrames": {"1": {"name": "[root]"}, "2": {"name": "f", "parent": 1}, "3": {"name": "g", "parent": 2}} }
END
try "samples beside the events, with frames of all threads" metric "sampled time" 'f 50000
f;g 60000'
alone() { "$tallytree" report flat "$dir/trace" | grep -q "sampled: 5 samples"; }
try "where no event takes time, theirs is what is shown" alone
trace <<<'{"traceEvents": [], "samples": [ {"ts": 1, "sf": 1}, {"ts": 2, "sf": 2} ], "stackFrames": {"1": {"name": "f"}}}'
lost_one() { folds 'f 1' "$dir/trace" samples && "$tallytree" report "$dir/trace" | grep -q 'lost: 1 samples'; }
try "a sample in a frame that there is not is counted" lost_one
trace <<<'{"traceEvents": [], "samples": [ {"ts": 1, "sf": 1} ], "stackFrames": {"1": {"name": "f", "parent": 2}, "2": {"name": "g", "parent": 1}}}'
try "so are frames that are their own parents" refused "$dir/trace" ": byte [0-9]*: .*nodes of samples are their own parents"
trace <<<'{"traceEvents": [ {"ph": "i", "name": "a", "ts": 1} ]}'
try "so is a trace without anything" refused "$dir/trace" ": byte [0-9]*: .*there are no events that begin, and no samples"
echo '[{"ph": "X", "name": "a", "ts": 1, "dur": 5, "pid": 1, "tid": 1}, {"ph": "X", "name": "b", "ts": null, "dur": 5, "pid": 1, "tid": 1},
 {"ph": "b", "name": "c", "ts": null, "id": 1, "pid": 1, "tid": 1}, {"ph": "B", "name": "d", "pid": 1, "tid": 1}]' >"$dir/null"
null() { folds 'a 5000' "$dir/null" && "$tallytree" report "$dir/null" | grep -q 'lost: 2 events'; }
try "events without a time are counted, and the others are read" null
finish
