#!/bin/bash
# SPDX-License-Identifier: MIT
# Call graphs as macOS's sample prints them.
. "$(dirname "$0")/formats.sh"

cp fuzz/formats/sample/graph "$dir/small"
try "what is not below a place is its own" folds 'start;exit 25
start;main 200
start;main;main 100
start;main;ns::work(std::string, (anonymous namespace)::T) 200
start;main;ns::work(std::string, (anonymous namespace)::T);0x103748234 300
start_wqthread 7' "$dir/small" samples
place() { "$tallytree" report flat --csv --limit all "$dir/small" | grep -q ',main,program,main.c,'; }
try "functions have module and file" place
strand() { "$tallytree" report strands --csv "$dir/small" | grep "$1"; }
try "threads are strands" strand 'Thread_15758523: com.apple.main-thread.*64751'
try "also those without a queue" strand 'Thread_15758535: worker'
sed 's/$/\r/' "$dir/small" >"$dir/crlf"
crlf() { "$tallytree" export --to folded "$dir/crlf" | cmp - <("$tallytree" export --to folded "$dir/small"); }
try "lines may end as on Windows" crlf
try "a graph that was cut off is refused" refuses 14 "the file ends within the call graph" '15,$d'
try "so is a report without one" refuses 6 "there is no call graph" '7,$d'
try "so are calls that have more than their caller" refuses 11 "calls have more samples than their caller" '11s/500/801/'
try "so is a line without a count" refuses 10 "a line of the call graph has no count" '10s/800/x/'

# A random one against a few lines of Python, which goes through it from the inside out.
python3 - "$dir" <<'END'
import collections, random, sys
random.seed(5)
sum = collections.Counter()
def place(out, path, depth):
    own, lines = random.randrange(9), []
    below = [place(lines, path + [random.randrange(6)], depth + 1) for _ in range(random.randrange(4) if depth < 9 else 0)]
    n = own + __builtins__.sum(below) if below else own
    sum[";".join("f%d" % p for p in path)] += own
    out.append("    " + "".join(random.choice("+!:| ") + " " for _ in range(depth)) + "%d f%d  (in lib) + %d  [0x%x]" % (n, path[-1], random.randrange(9), random.randrange(2**40)))
    out += lines
    return n
lines = ["Analysis of sampling p (pid 1) every 1 millisecond", "Call graph:"]
for t in range(5):
    part = []
    n = place(part, [t], 1)
    lines += ["    %d Thread_%d" % (n, t)] + part
open(sys.argv[1] + "/random", "w").write("\n".join(lines + ["", ""]))
open(sys.argv[1] + "/want", "w").writelines("%s %d\n" % s for s in sum.items() if s[1])
END
as_python() { [ "$(wc -l <"$dir/want")" -gt 100 ] && "$tallytree" export --to folded "$dir/random" | LC_ALL=C sort | cmp - <(LC_ALL=C sort "$dir/want"); }
try "a random graph adds up as Python does it" as_python
finish
