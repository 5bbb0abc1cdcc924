#!/bin/bash
# SPDX-License-Identifier: MIT
# `tallytree report tdk`: a line for each statement.
. "$(dirname "$0")/tap.sh"

tallytree=$TT_BUILD/tallytree

cat >"$tmp/events" <<'END'
block puts kind=statement file=/t/mult.tcl line=5 offset=59 length=10
block set kind=statement file=/t/mult.tcl line=5 offset=70 length=4
block never kind=statement file=/t/mult.tcl line=8 offset=92 length=12
block odd kind=statement file=/t/a,b.tcl line=1 offset=0 length=3
push puts
tick 23
pop
push puts
tick 35
pop
push set
tick 1
pop
push odd
tick 100
pop
push nowhere
tick 7
pop
END
"$tallytree" replay -o "$tmp/rec" "$tmp/events"

# tdk FLAGS... - the report
tdk() { "$tallytree" report tdk "$@" "$tmp/rec"; }

cat >"$tmp/want" <<'END'
NrCallsToCmd,Filename,CmdLine,Min,Avg,Max,Total,CmdCharIndex,CmdLength
2,/t/mult.tcl,5,23,29.0,35,58,59,10
1,"/t/a,b.tcl",1,100,100.0,100,100,0,3
1,/t/mult.tcl,5,1,1.0,1,1,70,4
0,/t/mult.tcl,8,0,0,0,0,92,12
END
tdk --csv >"$tmp/got"
try "saved data are as they were, byte by byte" diff "$tmp/want" "$tmp/got"
equal "two commands on one line stay two" "$(grep -c 'mult.tcl,5,' "$tmp/got")" 2
equal "by calls, file, line when nothing is said" "$(cut -d, -f1 "$tmp/got" | tr '\n' ' ')" "NrCallsToCmd 2 1 1 0 "
equal "only what never ran" "$(tdk --csv --uncovered | sed 1d)" "0,/t/mult.tcl,8,0,0,0,0,92,12"
equal "only what ran" "$(tdk --csv --covered | sed 1d | wc -l)" 3
equal "only some files" "$(tdk --csv --include '*mult*' | sed 1d | wc -l)" 3
equal "all but some files" "$(tdk --csv --exclude-file '*mult*' | sed 1d | wc -l)" 1

# order FLAGS... - the totals, in the order of the rows
order() { tdk --csv "$@" | sed '1d; s/"[^"]*"/f/' | cut -d, -f7 | tr '\n' ' '; }
equal "by total" "$(order --sort total)" "100 58 1 0 "
equal "the other way round" "$(order --sort -total)" "0 1 58 100 "
equal "a second click turns it round" "$(order --sort total --sort total)" "0 1 58 100 "
equal "by line, and then by calls" "$(order --sort line)" "100 58 1 0 "
equal "by file, and then by total" "$(order --sort file --sort -total)" "100 0 1 58 "
for key in calls file line min avg max total index length heat NrCallsToCmd Filename CmdLine Min Avg Max Total \
    CmdCharIndex CmdLength; do
    equal "every row stays, by $key" "$(tdk --csv --sort $key | sed 1d | sort)" "$(sed 1d "$tmp/want" | sort)"
done
try "a column that is not there is refused, and those that there are named" \
    sh -c "'$tallytree' report tdk --sort colour '$tmp/rec' 2>&1 | grep -q 'no column .colour.; there are calls, file, '"

equal "the table says what ran" "$(tdk | tail -1)" "3 of 4 statements ran"
equal "the deviation is that of 23 and 35" "$(tdk --csv --deviation | sed -n '2s/.*,//p')" 6.000

# Twenty shades: with 400 calls at most, 21 calls are one.
{
    echo "block often kind=statement file=f line=1"
    echo "block seldom kind=statement file=f line=2"
    for _ in $(seq 400); do echo "push often"; echo pop; done
    for _ in $(seq 42); do echo "push seldom"; echo pop; done
} | "$tallytree" replay -o "$tmp/heat"
equal "shades of twenty steps" "$("$tallytree" report tdk "$tmp/heat" | awk 'NR > 1 && NF >= 6 { print $1, $6 }' | tr '\n' ' ')" "400 19 42 2 "

# The files themselves.
printf 'one\ntwo\n  three; four\n' >"$tmp/s.tcl"
{
    echo "block one kind=statement file=$tmp/s.tcl line=1 offset=0 length=4"
    echo "block two kind=statement file=$tmp/s.tcl line=2 offset=4 length=4"
    echo "block three kind=statement file=$tmp/s.tcl line=3 offset=10 length=6"
    echo "block four kind=statement file=$tmp/s.tcl line=3 offset=17 length=5"
    echo "block gone kind=statement file=/nowhere/x.tcl line=3 offset=17 length=5"
    printf 'push one\ntick 7\npop\npush three\ntick 5\npop\npush three\npop\npush four\npop\n'
} | "$tallytree" replay -o "$tmp/source"
cat >"$tmp/want" <<END
    calls      total   line
/nowhere/x.tcl: it is not here
$tmp/s.tcl
        1          7      1  one
        0                 2  two
        2          5      3    three; four
END
"$tallytree" report tdk --source "$tmp/source" >"$tmp/got"
try "lines with their hits" diff "$tmp/want" "$tmp/got"
equal "what never ran is green" "$("$tallytree" report tdk --source --color "$tmp/source" | grep -c $'^\033\[38;2;89;198;17m .*two')" 1
finish
