#!/bin/bash
# SPDX-License-Identifier: MIT
# `tallytree report ocr`: the chain of its document in both forms, threads, nodes, sums.
. "$(dirname "$0")/tap.sh"

tallytree=$TT_BUILD/tallytree

# A 1 -> B 2 -> A 4 -> C 8 -> A 16, as at the end of the document.
cat >"$tmp/chain" <<'END'
push A
tick 1
push B
tick 2
push A
tick 4
push C
tick 8
push A
tick 16
END
"$tallytree" replay -o "$tmp/chain.rec" "$tmp/chain"

# flat FLAGS... - the line of A in the flat profile, one blank between its fields
flat() { "$tallytree" report ocr "$@" "$tmp/chain.rec" | grep 'A R \[1\]' | head -1 | tr -s ' '; }
equal "the chain: cumulated, self, calls, average, deviation" \
    "$(flat)" "67.74 31.000000 21.000000 3 25.000000 6.480741 A R [1]"
equal "-r: t2 + t3" "$(flat -r)" "67.74 31.000000 [20.000000] 21.000000 3 25.000000 6.480741 A R [1]"
equal "-r as the program had it: (t2 + tC + t3) + t3" \
    "$(flat -r --shipped)" "67.74 31.000000 [44.000000] 21.000000 3 25.000000 6.480741 A R [1]"
equal "the average without calls to itself" "$(flat --average-without-self | awk '{ print $7 }')" 10.333333

# graph FLAGS... - the entry of A in the call graph, with its callers and callees
graph()
{
    "$tallytree" report ocr "$@" "$tmp/chain.rec" | awk '
        /Call-graph/ { on++ } on != 1 { next }
        /^-----/ { if (mine) { printf "%s", text; exit } text = ""; next }
        /^ *[0-9[]/ { gsub(/ +/, " "); text = text $0 "\n"; if (/^\[ 1\]/) mine = 1 }'
}
graph -r >"$tmp/got"
cat >"$tmp/want" <<'END'
 4.000000 28.000000 1/3 B [3]
 16.000000 16.000000 1/3 C [2]
[ 1] 100.00 21.000000 31.000000 [20.000000] 3 A [1]
 8.000000 0.000000 [16.000000] 1/1 C [2]
 2.000000 8.000000 [20.000000] 1/1 B [3]
END
try "the call graph, as the document's note has it" diff "$tmp/want" "$tmp/got"
graph -r --shipped >"$tmp/got"
cat >"$tmp/want" <<'END'
 4.000000 24.000000 1/3 B [3]
 16.000000 0.000000 1/3 C [2]
[ 1] 100.00 21.000000 10.000000 [44.000000] 3 A [1]
 8.000000 0.000000 [16.000000] 1/1 C [2]
 2.000000 0.000000 [28.000000] 1/1 B [3]
END
try "the call graph, as the program computed it" diff "$tmp/want" "$tmp/got"
"$tallytree" report ocr "$tmp/chain.rec" >"$tmp/out"
equal "rules of 110 dashes" "$(grep -c '^-\{110\}$' "$tmp/out")" 6
"$tallytree" report ocr -s "$tmp/chain.rec" >"$tmp/out"
equal "of 220 with -s, in sums alone" "$(grep -c '^-\{220\}$' "$tmp/out")" 3
head -4 "$tmp/out" | tail -1 >"$tmp/got"
printf '%s\n' '%Time      Cum ticks                             Self ticks        Calls         Avg (Cum)       Std Dev (Cum)  ' >"$tmp/want"
"$tallytree" report ocr "$tmp/chain.rec" | sed -n 4p | tr -s ' ' >"$tmp/got"
tr -s ' ' <"$tmp/want" >"$tmp/want2"
try "the columns" diff "$tmp/want2" "$tmp/got"

# Five direct calls of itself are one, and five when asked for.
{
    for i in 1 2 3 4 5; do printf 'push F\ntick %d\n' "$i"; done
} | "$tallytree" replay -o "$tmp/direct.rec"
"$tallytree" report ocr --all-calls "$tmp/direct.rec" | grep ' F ' | head -1 | tr -s ' ' >"$tmp/out"
equal "direct calls to itself are one" "$(awk '{ print $2, $3, $4 }' "$tmp/out")" "15.000000 15.000000 1"
equal "and their true number is known" "$(awk '{ print $7 }' "$tmp/out")" 5

# Two activations of 1.5 and 2.5 thousand ticks.
printf 'push F\ntick 1500\npop\npush F\ntick 2500\npop\n' | "$tallytree" replay -o "$tmp/mix.rec"
equal "a deviation is exact" "$("$tallytree" report ocr "$tmp/mix.rec" | grep ' F ' | head -1 | awk '{ print $5, $6 }')" "2000.000000 500.000000"

# Threads: f on both, g on one of them; f alone on a third.
printf 'strand s1\npush f\ntick 10\npush g\ntick 4\npop\npop\nstrand s2\npush f\ntick 20\npop\nstrand s3\npush f\ntick 6\n' |
    "$tallytree" replay -o "$tmp/threads.rec"
"$tallytree" report ocr -s "$tmp/threads.rec" >"$tmp/out"
equal "a section a thread, and one of all" "$(grep '^####' "$tmp/out" | tr '\n' ' ')" \
    "#### Thread s1 #### #### Thread s2 #### #### Thread s3 #### #### TOTAL #### "
sed -n '/TOTAL/,$p' "$tmp/out" >"$tmp/total"
equal "self times add up to what was measured" "$(sed -n 's/.*Total measured time: //p' "$tmp/total")" 40.000000
equal "a thread that lacks a function counts as 0" \
    "$(grep -A1 ' g ' "$tmp/total" | sed -n 2p | tr -s ' ')" '\ (1.333333, 1.885618) (1.333333, 1.885618) (0.333333, 0.471405) '
equal "mean and deviation over threads" \
    "$(grep -A1 ' f ' "$tmp/total" | sed -n 2p | tr -s ' ')" '\ (13.333333, 5.734884) (12.000000, 5.887841) (1.000000, 0.000000) '
equal "callers' calls add up to a function's" \
    "$("$tallytree" report ocr "$tmp/threads.rec" | sed -n '/TOTAL/,$p' |
        awk '/Call-graph/ { on = 1 } on && /1\/1 .* f \[1\]$/' | wc -l)" 1
"$tallytree" report ocr -e f "$tmp/threads.rec" >"$tmp/out"
equal "threads with named functions alone are left out of sums" \
    "$(grep -c '(ignored)' "$tmp/out") $(sed -n '/TOTAL/,$p' "$tmp/out" | sed -n 's/.*Total measured time: //p')" "2 14.000000"
equal "some threads: a range" "$("$tallytree" report ocr -t 1:3 "$tmp/threads.rec" | grep -c '#### Thread')" 2
equal "some threads: a list" "$("$tallytree" report ocr -t 1,3 "$tmp/threads.rec" | grep -c '#### Thread')" 2
equal "some threads: a name" "$("$tallytree" report ocr -t s2 "$tmp/threads.rec" | grep -c '#### Thread')" 1
equal "all threads" "$("$tallytree" report ocr -t '*' "$tmp/threads.rec" | grep -c '#### Thread')" 3
no_thread() { ! "$tallytree" report ocr -t 7 "$tmp/threads.rec" >"$tmp/out" 2>"$tmp/err" && [ ! -s "$tmp/out" ] && grep -q "no thread is '7'; threads have the numbers 0 to 3" "$tmp/err"; }
try "a thread that is not there is refused" no_thread
equal "by the beginning of their names" "$("$tallytree" report ocr -b s "$tmp/threads.rec" | grep -c '#### Thread')" 3

# Nodes: two processes.
printf 'strand t\npush f\ntick 1\n' | "$tallytree" replay -o "$tmp/n1.rec"
printf 'strand t\npush f\ntick 2\n' | "$tallytree" replay -o "$tmp/n2.rec"
"$tallytree" report ocr -n '*' "$tmp/n1.rec" "$tmp/n2.rec" >"$tmp/out"
equal "nodes apart, each with its sum" "$(grep -c '^#* Node\|^#### Node . total' "$tmp/out")" 4
equal "and the sum of all" "$(sed -n '/^#* TOTAL/,$p' "$tmp/out" | sed -n 's/.*Total measured time: //p')" 3.000000
long=$(printf 'n%.0s' {1..300})
printf 'push %s\ntick 1\n' "$long" | "$tallytree" replay -o "$tmp/long.rec"
equal "a name of any length has its number behind it" \
    "$("$tallytree" report ocr "$tmp/long.rec" | grep -c "$long  *\[1\]$")" 4
try "a range that is none is refused" sh -c "! '$tallytree' report ocr -t 1:x '$tmp/n1.rec'"
# A 1 → C 2 → A 4 → A 8: the last two are one activation of A, below another.
printf 'push A\ntick 1\npush C\ntick 2\npush A\ntick 4\npush A\ntick 8\npop\npop\npop\npop\n' >"$tmp/direct.ev"
"$tallytree" replay --recursion none -o "$tmp/direct" "$tmp/direct.ev"
equal "a direct call in a call of itself is a part of it" \
    "$("$tallytree" report ocr -r "$tmp/direct" | awk '/ A R \[1\]$/ { print $2, $3, $4; exit }')" "15.000000 [12.000000] 13.000000"

finish
