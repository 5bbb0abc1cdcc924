#!/bin/bash
# SPDX-License-Identifier: MIT
# Functions of a run-time compiler have names, if it writes them to a file: recorded from inside
# and from outside.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree

# recipe PROGRAM - the flags that the manual says.
recipe() { sed -n "s/^\\.B $1 //p" doc/man/tallytree-record.1 | tr -d "\\\\"; }

# Pieces of work up to a number, or until the reader has closed the pipe.
cat >"$tmp/work.js" <<'END'
function innerJs(n) { let s = 1; for (let i = 0; i < n; i++) s = (Math.imul(s, 1103515245) + 12345 + (s % 7)) | 0; return s; }
function outerJs(k) { let t = 0; for (let i = 0; i < k; i++) t ^= innerJs(2000 + i % 100); return t; }
let t = 0;
console.log("begun");
const end = process.cpuUsage().user + 1e6 * process.argv[2];
while (process.cpuUsage().user < end) t ^= outerJs(1000);
END
read -ra flags <<<"$(recipe node)"
node=(node "${flags[@]}" "--logfile=$tmp/v8.log" --no-logfile-per-isolate)
maps=
trap 'rm -rf "$tmp" $maps' EXIT

# named OUTER INNER [LEAST] - both have their time, or at least the inner one.
# named OUTER INNER either - one of them has: a compiler may put one into the other.
named()
{
    "$tallytree" report flat --limit all --sort inclusive --json "$tmp/tt" >"$tmp/json" &&
        python3 - "$tmp/json" "$1" "$2" "${3:-0.5}" <<'END'
import json, sys
table = json.load(open(sys.argv[1]))
keys = [c['key'] for c in table['columns']]
share = {}
for r in table['rows']:
    v = dict(zip(keys, r['values']))
    if r['role'] == 'entry':
        share[v['name']] = max(share.get(v['name'], 0), v['inclusive_share'])
print(sorted(share.items(), key=lambda x: -x[1])[:12])
outer, inner = (share.get(x, 0) for x in sys.argv[2:4])
if sys.argv[4] == "either":
    sys.exit(max(outer, inner) <= 0.5)
sys.exit(outer <= float(sys.argv[4]) or inner <= 0.5)
END
}

# within LEAST FLAGS...
within()
{
    timeout -k 5 500 "$tallytree" record -o "$tmp/tt" "${node[@]}" "${@:2}" "$tmp/work.js" 0.7 >"$tmp/out" 2>"$tmp/err" || { cat "$tmp/err"; return 1; }
    maps="$maps $("$tallytree" report strands --csv "$tmp/tt" | awk -F, '
        { for (i = 1; i <= NF; i++) if (NR == 1) at[$i] = i }
        $at["role"] == "entry" { print "/tmp/perf-" $at["pid"] ".map"; exit }')"
    named outerJs innerJs "$1"
}
js="functions of JavaScript have names"
if command -v node >/dev/null; then
    try "$js by the recipe" within either
    try "$js, from within" within 0.5 --no-turbo-inlining
else
    skip "$js, from within" "there is no node"
fi

# The compiler does its work in the thread that runs the code, and so before much of it has run.
dumping=(node --perf-prof --no-turbo-inlining --no-concurrent-recompilation)

# Of code that the optimizing compiler made, lines and instructions; another function's are not
# among them.
dumped()
{
    local program
    program=$(realpath "$tallytree")
    (cd "$tmp" && timeout -k 5 500 "$program" record -o tt "${dumping[@]}" work.js 0.7 >out 2>err) || { cat "$tmp/err"; return 1; }
    "$tallytree" report assembly --block innerJs --csv "$tmp/tt" >"$tmp/instructions" &&
        "$tallytree" report source --block innerJs --csv "$tmp/tt" >"$tmp/lines" && python3 - "$tmp" <<'END'
import csv, sys
folder = sys.argv[1]
read = lambda name: [r for r in csv.DictReader(open(folder + "/" + name)) if r["role"] == "entry" and r["self"]]
instructions, lines = read("instructions"), read("lines")
print(instructions, lines)
total = sum(int(r["self"]) for r in instructions if r["function"] == "innerJs")
known = sum(int(r["self"]) for r in lines if r["line"] == "1")
sys.exit(not (total == sum(int(r["self"]) for r in lines) and known > total / 2 and all(r["bytes"] for r in instructions if r["function"] == "innerJs")))
END
}
if [ "$(uname -m)" = x86_64 ] && (cd "$tmp" && "${dumping[@]}" -e 0) >/dev/null 2>&1 && "$tallytree" report assembly "$tmp/tt" | grep -vq "without capstone"; then
    try "$js, lines and instructions, if it writes a jitdump" dumped
else
    skip "$js, lines and instructions, if it writes a jitdump" "there is no node, or nothing that disassembles"
fi

outside()
{
    local pid
    "${node[@]}" --no-turbo-inlining "$tmp/work.js" 60 >"$tmp/out" &
    pid=$!
    maps="$maps /tmp/perf-$pid.map"
    patiently grep -q begun "$tmp/out"
    timeout -k 5 500 "$tallytree" record -o "$tmp/tt" --duration 1 -p $pid 2>"$tmp/err"
    local status=$?
    kill $pid
    if [ $status != 0 ]; then
        cat "$tmp/err"
        grep -q "forbid\|has no perf events" "$tmp/err"
        return
    fi
    named outerJs innerJs
}
if command -v node >/dev/null; then
    try "$js, from outside" outside
else
    skip "$js, from outside" "there is no node"
fi

# recorded PROGRAM ARGS... - by its own recipe.
recorded()
{
    timeout -k 5 500 "$tallytree" record -o "$tmp/tt" "$@" >"$tmp/out" 2>"$tmp/err" || { cat "$tmp/err" "$tmp/out"; return 1; }
}

cat >"$tmp/work.py" <<'END'
import os, sys, time
def inner_py(n):
    s = 1
    for i in range(n):
        s = (s * 1103515245 + 12345 + s % 7) & 0xffffffff
    return s
def outer_py(k):
    return [inner_py(2000) for i in range(k)]
print("/tmp/perf-%d.map" % os.getpid())
while time.process_time() < float(sys.argv[1]):
    outer_py(10)
END
in_python()
{
    read -ra flags <<<"$(recipe python3)"
    recorded "$python" "${flags[@]}" "$tmp/work.py" 0.7 && maps="$maps $(cat "$tmp/out")" && named outer_py inner_py
}
# has_trampolines PYTHON - a separate function for each of Python's, as from 3.12 on.
has_trampolines()
{
    "$1" -X perf -c 'import os, sys
here = sys.is_stack_trampoline_active()
map = "/tmp/perf-%d.map" % os.getpid()
os.path.exists(map) and os.remove(map)
sys.exit(not here)' 2>/dev/null
}
python=
for name in python3 python3.14 python3.13 python3.12; do
    [ -n "$python" ] || ! has_trampolines "$name" || python=$name
done
if [ -n "$python" ]; then
    try "functions of Python, where it has code for each" in_python
else
    skip "functions of Python, where it has code for each" "there is no Python from 3.12 on, or it is built without trampolines"
fi

cat >"$tmp/Work.java" <<'END'
public class Work {
    static int inner(int n) { int s = 1; for (int i = 0; i < n; i++) s = s * 1103515245 + 12345 + s % 7; return s; }
    static int outer(int k) { int t = 0; for (int i = 0; i < k; i++) t ^= inner(2000 + i % 100); return t; }
    public static void main(String[] words) {
        System.out.println("/tmp/perf-" + ProcessHandle.current().pid() + ".map");
        int t = 0;
        for (int i = 0; i < 300; i++) t ^= outer(1000);
        if (t == 1) System.out.println(t);
    }
}
END
# in_java LEAST FLAGS...
in_java()
{
    read -ra flags <<<"$(recipe java)"
    recorded --interpreters none java "${flags[@]}" "${@:2}" -cp "$tmp" Work &&
        maps="$maps $(head -n 1 "$tmp/out")" && named 'int Work.outer(int)' 'int Work.inner(int)' "$1"
}
java="methods of Java, if they are compiled"
if ! command -v javac >/dev/null; then
    skip "$java" "there is no JDK"
elif ! java -XX:+UnlockDiagnosticVMOptions -XX:+PrintFlagsFinal -version 2>/dev/null | grep -q DumpPerfMapAtExit; then
    skip "$java" "this JDK is older than 17, or writes no perf map"
else
    try "a class compiles" javac -d "$tmp" "$tmp/Work.java"
    try "$java, by the recipe" in_java either
    try "$java" in_java -1 -XX:-Inline
fi
finish
