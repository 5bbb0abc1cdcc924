#!/bin/bash
# SPDX-License-Identifier: MIT
# Files of OCR's profiler: a second program computes their figures and those of OCR's analyser.
# Recordings are exported in the layout of OCR's profiler.
. "$(dirname "$0")/tap.sh"

tallytree=$TT_BUILD/tallytree
oracle=test/ocr-oracle.py

# right WHAT SECTIONS FOLDER FLAGS... - `report ocr` prints so many sections, and all as the
# analyser would.
right()
{
    local what=$1 sections=$2 folder=$3
    shift 3
    "$tallytree" report ocr "$@" "$folder" >"$tmp/report"
    equal "$what" "$(python3 $oracle check "$folder" "$tmp/report" "$@")" "$sections"
}

for seed in 1 2 3; do
    python3 $oracle make "$tmp/files$seed" $seed 12 3 60
    right "files $seed: threads and their sum" 13 "$tmp/files$seed"
    right "files $seed: with recursion" 13 "$tmp/files$seed" -r
    right "files $seed: and over threads" 13 "$tmp/files$seed" -s -r
    right "files $seed: nodes, each with its sum" 16 "$tmp/files$seed" -n '*' -s
done
right "nodes from a range" 11 "$tmp/files1" -n 1:3
files=$tmp/files1
sections() { "$tallytree" report ocr "$@" "$files" | grep -c '^#.*Thread'; }
equal "a range of nodes" "$(sections -n 0:2)" 8
equal "a list of nodes" "$(sections -n 0,2)" 8
equal "all nodes" "$(sections -n '*')" 12
equal "a range of threads" "$(sections -n '*' -t 1:3)" 6
equal "a list of threads" "$(sections -n '*' -t 0,3)" 6
equal "all threads" "$(sections -t '*')" 12
equal "by their base" "$(sections -b profiler_1-)" 4
equal "of another base there is none" "$(sections -b other_)" 0
python3 $oracle make "$tmp/many" 7 3000 2 12
right "-s of three thousand threads, beside two passes" 3001 "$tmp/many" -s

"$tallytree" export --to dot "$files" >"$tmp/dot"
try "a graph of them, with edges between functions" grep -q 'b[0-9]* -> b[0-9]* .label=' "$tmp/dot"
equal "and a table, with a row a function" "$("$tallytree" report flat --csv "$files" | grep -c '^entry')" 6

# Ignored threads: those of one function.
mkdir "$tmp/except"
cp "$files"/profiler_0-* "$tmp/except"
printf 'DEF alpha 0\nENTRY 0:0 = count(2), sum(3.000000), sumSq(5.000000000000)\n' >"$tmp/except/profiler_0-9"
"$tallytree" report ocr -e alpha,none "$tmp/except" >"$tmp/report"
equal "threads with named functions alone are ignored in sums" \
    "$(grep -c '(ignored)' "$tmp/report") $(python3 $oracle check "$tmp/except" "$tmp/report")" "1 6"

# Out again.
"$tallytree" export --to ocr -o "$tmp/again" "$files"
"$tallytree" report ocr --as-ocr -s -r "$files" >"$tmp/want"
"$tallytree" report ocr --as-ocr -s -r "$tmp/again" >"$tmp/got"
try "what is written again says the same" cmp "$tmp/want" "$tmp/got"
for seed in 4 5 6; do
    python3 $oracle make "$tmp/whole$seed" $seed 8 1 80
    "$tallytree" export --to ocr -o "$tmp/whole$seed.again" "$tmp/whole$seed"
    try "functions and pairs go in and out, to the last digit" python3 $oracle same "$tmp/whole$seed" "$tmp/whole$seed.again"
    "$tallytree" replay --recursion none -o "$tmp/rec" "$tmp/whole$seed.events"
    "$tallytree" export --to ocr -o "$tmp/whole$seed.recorded" "$tmp/rec"
    try "what is recorded is what OCR's profiler writes" python3 $oracle same "$tmp/whole$seed" "$tmp/whole$seed.recorded"
    "$tallytree" report ocr -r -s --shipped "$tmp/rec" | sed 's/Thread t0*\([0-9]\)/Thread 0-\1/; s/Cum ticks/Cum ms/; s/Self ticks/Self ms/' >"$tmp/report"
    equal "and its report is that of the files" "$(python3 $oracle check "$tmp/whole$seed" "$tmp/report" -r -s)" 9
done

# The flaws: three activations in ms and ns, of which the squares are known.
cat >"$tmp/trace.json" <<'TRACE'
[{"ph":"X","name":"f","pid":1,"tid":1,"ts":0,"dur":5000.665},
 {"ph":"X","name":"g","pid":1,"tid":1,"ts":10000,"dur":1999.999},
 {"ph":"X","name":"g","pid":1,"tid":1,"ts":20000,"dur":70000000.5}]
TRACE
"$tallytree" export --to ocr "$tmp/trace.json" >"$tmp/exact"
equal "squares are exact" "$(grep '^ENTRY 1' "$tmp/exact")" \
    "ENTRY 1:1 = count(1), sum(5.000665), sumSq(25.006650442225)"
"$tallytree" export --to ocr --as-ocr "$tmp/trace.json" >"$tmp/flawed"
equal "or as OCR's profiler has them" "$(grep '^ENTRY 1' "$tmp/flawed")" \
    "ENTRY 1:1 = count(1), sum(5.000665), sumSq(25.000000442225)"
equal "where they wrap around, too" "$(grep '^ENTRY 2' "$tmp/flawed")" \
    "ENTRY 2:2 = count(2), sum(70002.000499), sumSq($(python3 -c '
ns = 0; ms = 0
for x in (1999999, 70000000500):
    ns += (x % 10**6)**2 % 2**32; ms += (x // 10**6)**2
print("%d.%012d" % (ms + ns // 10**12, ns % 10**12))'))"
equal "and deviations" "$("$tallytree" report ocr --as-ocr "$tmp/trace.json" | awk '$7 == "g" { print $6; exit }')" \
    "$(python3 -c '
s = (1 + 70000**2 + (999999**2 % 2**32 + 500**2) / 1e12) / 2 - (70002.000499 / 2)**2
print("%.6f" % s**.5)')"

# Names, and wrong files.
printf 'push ns::f(int)\ntick 1\n' | "$tallytree" replay -o "$tmp/rec"
equal "names are words" "$("$tallytree" export --to ocr "$tmp/rec" | head -1)" "DEF ns__f_int_ 1"
try "an older profiler's pairs have no recursion" sh -c "printf '%s\n' 'DEF a 0' 'DEF b 1' \
    'ENTRY 0:0 = count(1), sum(3.000000), sumSq(9.000000)' 'ENTRY 1:1 = count(1), sum(1.000000), sumSq(1.000000)' \
    'ENTRY 0:1 = count(1), sum(1.000000), sumSq(1.000000), sumChild(0.000000), sumSqChild(0.000000)' >$tmp/old;
    '$tallytree' report ocr $tmp/old | grep -q '66.67       3.000000'"
wrong()
{
    printf '%s\n' "${@:3}" >"$tmp/bad"
    try "$1" sh -c "! '$tallytree' report ocr '$tmp/bad' 2>$tmp/err && grep -q '^tallytree: $tmp/bad:$2' $tmp/err"
}
wrong "a function that there is not" "2: there is no function 7" 'DEF a 0' 'ENTRY 0:7 = count(1), sum(1.0), sumSq(1.0), sumChild(0.0), sumSqChild(0.0)'
wrong "an entry that is none" "2: this is no entry" 'DEF a 0' 'ENTRY 0:0 = count(x)'
wrong "two entries of a function" "3: a function has two" 'DEF a 0' 'ENTRY 0:0 = count(1), sum(1.0), sumSq(1.0)' 'ENTRY 0:0 = count(1), sum(1.0), sumSq(1.0)'
wrong "a sum that no 64 bits hold" "2: this is no entry" 'DEF a 0' 'ENTRY 0:0 = count(1), sum(99999999999999999.0), sumSq(1.0)'
wrong "sums that are too much together" "4: the figures add up to more" 'DEF a 0' 'DEF b 1' \
    'ENTRY 0:0 = count(1), sum(9999999999999.0), sumSq(1.0)' 'ENTRY 1:1 = count(1), sum(9999999999999.0), sumSq(1.0)'
printf 'strand a\npush f\ntick 1\nstrand b\npush f\ntick 1\n' | "$tallytree" replay -o "$tmp/rec"
try "many threads want a folder" sh -c "! '$tallytree' export --to ocr '$tmp/rec'"
mkdir "$tmp/one" "$tmp/to"
cp "$files"/profiler_0-[01] "$tmp/one"
"$tallytree" merge -o "$tmp/one.tt" "$tmp/one"
sed -i 's/profiler_/..\/above_/g' "$tmp/one.tt"
"$tallytree" export --to ocr -o "$tmp/to/files" "$tmp/one.tt"
equal "names of files lead out of no folder" "$(cd "$tmp/to" && echo * */*)" "files files/profiler_0-0 files/profiler_0-1"
mkdir "$tmp/full"
touch "$tmp/full/mine"
try "and one that is not somebody's" sh -c "! '$tallytree' export --to ocr -o '$tmp/full' '$tmp/rec'"
equal "nothing is left behind" "$(cd "$tmp" && echo full*)" full
finish
