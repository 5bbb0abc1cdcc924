#!/bin/bash
# SPDX-License-Identifier: MIT
# The data that TDK saves: read and written byte by byte.
. "$(dirname "$0")/formats.sh"

cat >"$dir/timed" <<'END'
NrCallsToCmd,Filename,CmdLine,Min,Avg,Max,Total,CmdCharIndex,CmdLength
300,/t/mult.tcl,3,2,7.3,400,2201,0,29
2,/t/mult.tcl,5,23,29.0,35,58,59,10
1,"/t/a,""b.tcl",1,100,100.0,100,100,0,3
1,/t/mult.tcl,5,1,1.0,1,1,70,4
0,/t/mult.tcl,8,0,0,0,0,92,12
END
cat >"$dir/coverage" <<'END'
NrCallsToCmd,Filename,CmdLine,Min,Avg,Max,Total,CmdCharIndex,CmdLength
2,/t/mult.tcl,5,,,,,59,10
0,/t/mult.tcl,8,,,,,92,12
END
same() { "$tallytree" export --to tdk "$dir/$1" | cmp - "$dir/$1"; }
for f in timed coverage; do try "written as it was: $f" same $f; done
kept() { "$tallytree" merge -o "$dir/kept.tt" "$dir/timed" && "$tallytree" export --to tdk "$dir/kept.tt" | cmp - "$dir/timed"; }
try "so it is when it was kept as a profile" kept
sed 's/$/\r/' "$dir/timed" >"$dir/crlf"
crlf() { "$tallytree" export --to tdk "$dir/crlf" | cmp - "$dir/timed"; }
try "lines may end as on Windows" crlf
folds() { "$tallytree" export --to folded "$dir/timed" | diff - <(printf '%s\n' 'a,"b.tcl:1 100000' 'mult.tcl:3 2201000' 'mult.tcl:5 58000' 'mult.tcl:5 1000'); }
try "each statement is a context of its own" folds
native() {
    printf 'block s kind=statement file=/x/y.tcl line=3 offset=7 length=5\npush s\ntick 4\npop\npush s\ntick 6\npop\n' | "$tallytree" replay -o "$dir/rec" &&
        "$tallytree" export --to tdk "$dir/rec" | sed -n '2s/,[^,]*,[^,]*,[^,]*,[^,]*,7,5$/ 7 5/p' | grep -qx '2,/x/y.tcl,3 7 5'
}
try "a recording is written too" native

try "a row that lacks a field is named" refuses 3 "a row has 9 fields" '3s/,10$//' "$dir/timed"
try "so is one with a field too many" refuses 3 "a row has 9 fields" '3s/$/,1/' "$dir/timed"
try "so is a word where a number should be" refuses 3 "'two' is no number" '3s/^2/two/' "$dir/timed"
try "so is a least above the largest" refuses 3 "the least is above" '3s/,23,/,90,/' "$dir/timed"
try "so is a quote that is not closed" refuses 4 "a row has 9 fields" '4s/tcl"/tcl/' "$dir/timed"

# All of a tree with all metrics as JSON and CSV: what the report says, without limits.
as_report() { "$tallytree" export --to "$1" "$dir/timed" | cmp - <("$tallytree" report tree --metric time,calls "--$1" --limit all --threshold 0 "$dir/timed"); }
for f in json csv; do try "export --to $f is report tree --$f" as_report $f; done
# Contexts of a millionth of the total are there too: every line of a folded file is found again.
awk 'BEGIN { print "big 1000000"; for (i = 0; i < 300; i++) print "a;b" i % 7 ";c" i " " 1 + i % 3 }' >"$dir/small-parts"
cat >"$dir/whole.py" <<'END'
import csv, json, subprocess, sys
tallytree, file = sys.argv[1:]
want = sorted(line.rsplit(" ", 1) for line in open(file).read().splitlines())
run = lambda to: subprocess.run([tallytree, "export", "--to", to, file], capture_output=True, text=True, check=True).stdout
def paths(rows):  # rows: (depth, name, self), in preorder
    open_, found = [], []
    for depth, name, own in rows:
        del open_[depth:]; open_.append(name)
        if own: found.append([";".join(open_[1:]), str(own)])
    return sorted(found)
rows = list(csv.DictReader(run("csv").splitlines()))
assert paths((int(r["depth"]), r["name"], int(r["self"])) for r in rows) == want, "csv"
table = json.loads(run("json")); keys = [c["key"] for c in table["columns"]]; name, own = keys.index("name"), keys.index("self")
assert paths((r["depth"], r["values"][name], r["values"][own]) for r in table["rows"]) == want, "json"
END
whole() { python3 "$dir/whole.py" "$tallytree" "$dir/small-parts"; }
try "every context is in them, however small its share" whole
printf 'main;a 5\n' >"$dir/none"
nothing() { "$tallytree" export --to tdk -o "$dir/none.csv" "$dir/none" 2>"$dir/said"; [ $? = 2 ] && grep -q 'there are no statements in it' "$dir/said" && [ ! -s "$dir/none.csv" ]; }
try "a profile that has nothing for its table is not written" nothing
finish
