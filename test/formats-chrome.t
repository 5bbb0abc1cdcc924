#!/bin/bash
# SPDX-License-Identifier: MIT
# Trace events: in any order, with ends that are missing or wrong; the tree is that of a run.
. "$(dirname "$0")/tap.sh"

tallytree=$TT_BUILD/tallytree
dir=$tmp

folds() { "$tallytree" export --to folded ${3+--metric "$3"} "$2" >"$dir/got" && diff "$dir/got" - <<<"$1"; }
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
balanced() { ! "$tallytree" report header "$1" | grep -q unbalanced; }
try "it was all balanced" balanced "$dir/trace"

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
[ {"ph": "X", "name": "a", "ts": 0, "dur": 9}, {"ph": "X", "name": "a", "ts": 1, "dur": 7}, {"ph": "X", "name": "a", "ts": 2, "dur": 4} ]
END
policy() { "$tallytree" export --to folded "${@:2}" "$dir/trace" >"$dir/got" && diff "$dir/got" - <<<"$1"; }
try "recursion is by the edge, as of a run" policy 'a 2000
a;a 7000'
try "or by the policy that is asked for" policy 'a 2000
a;a 3000
a;a;a 4000' --recursion none
wrong_policy() { ! policy '' --recursion sometimes 2>"$dir/said" && grep -q "export: '--recursion sometimes'" "$dir/said"; }
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

refuses()
{
    "$tallytree" report "$dir/trace" >"$dir/got" 2>"$dir/said"
    [ $? = 2 ] && cat "$dir/said" && grep -q "tallytree: $dir/trace: byte [0-9]*: .*$1" "$dir/said"
}
trace <<<'[ {"ph": "B", "name": "a", "ts": 0}, {"ph": "B", "na'
try "a file that ends in an event is refused" refuses "ends before"
trace <<<'{"traceEvents": [ {"ph": "B", "name": "a", "ts": 0}'
try "so is an object without an end" refuses "ends before"
trace <<<'[ {"ph": "B", "name": "a", "ts": "soon"} ]'
try "a time that is none" refuses "no number"
trace <<<'[ {"ph": "B", "name": "a"} ]'
try "an event without a time" refuses "no time"
trace <<<'[ {"ph": "C", "name": "a", "ts": 1} ]'
try "a trace in which nothing begins" refuses "no events that begin"
trace <<<'{"traceEvents": [ {"ph": "X", "name": "a", "ts": 1, "dur": 0} ], "samples": [ {"sf": 1}, {"sf": 2} ]}'
try "one of samples alone" refuses "there are samples, but no events that take time"
trace <<<'{"samples": [ {"sf": 1}, {"sf": 2} ], "traceEvents": [ {"ph": "X", "name": "a", "ts": 1, "dur": 5} ]}'
try "samples beside events are counted" sh -c "'$tallytree' report header '$dir/trace' | grep -q '^ *2  lost.samples'"
finish
