#!/bin/bash
# SPDX-License-Identifier: MIT
# Places of Tcl statements that Tcl itself has lost or never had: stale byte-code, lambdas in
# lists, texts that are put together; and all statements of packages, compared with counters in
# a copy of them.
. "$(dirname "$0")/tap.sh"

tallytree=$(realpath "$TT_BUILD/tallytree")
if [ ! -e "$TT_BUILD/adapters/tcl/libtallytree-tcl.so" ]; then
    echo "1..0 # SKIP there is no Tcl 8.6 with its private headers"
    exit
fi
top=$PWD
cd "$tmp" || exit

# counts SCRIPT - calls, file, line, index and length of each statement that ran
counts()
{
    "$tallytree" tcl -o p.tt "$1" >/dev/null 2>&1
    "$tallytree" report tdk --csv p.tt |
        awk -F, 'NR > 1 && $1 { n = split($2, name, "/"); print $1, name[n], $3, $8, $9 }' |
        sort -k2,2 -k4,4n -k5,5nr
}

# A procedure whose name hides that of one of Tcl's commands puts all byte-code out of date.
cat >hides.tcl <<'END'
namespace eval own {
    proc list {args} {}; namespace export list
    if {[llength {a b}] == 2} {
        proc set {args} {}
        incr ::n
    }
    incr ::n
}
END
echo 'source hides.tcl' >rest.tcl
# all_once FILE - each of its statements, run once, as another reader finds them
all_once()
{
    PYTHONPATH=$top/test python3 - "$1" <<'END'
import sys
import tcl_places
text = open(sys.argv[1]).read()
for at, length, _ in sorted(tcl_places.find_statements(text), key=lambda s: (s[0], -s[1])):
    print(1, sys.argv[1], text.count("\n", 0, at) + 1, at, length)
END
}
{ all_once hides.tcl; all_once rest.tcl; } >want
counts rest.tcl >got
try "what is left of code that is out of date is counted where it was written" diff want got

cat >sorted.tcl <<'END'
catch {time {lsort -command {apply {{a b} { expr {$a - $b} }}} {1 2}}}
END
counts sorted.tcl >got
try "a lambda in a list is at its place" grep -q '^1 sorted.tcl 1 44 15$' got

# Tcl takes the line of another word for that of the method's body.
cat >made.tcl <<'END'
oo::class create K
oo::objdefine K method one {a} \
    "list \$a [list 2]"
K one 1
END
counts made.tcl >got
try "a text that is put together is in no file" grep -q '^1 \[method one\] ' got
four()
{
    cat got
    awk '$2 == "made.tcl" { n++; if ($4 == 0 && $5 != 19) n = 99 } END { exit n != 4 }' got
}
try "and at no place of one" four

# Texts that a command keeps and runs: with continued lines, in brackets of an expression, in lists.
cat >later.tcl <<'END'
proc later {script} { eval $script }
later {
    set a \
        1
    set b 2
}
if {[later {
    later {set c 3}
    set d 4
}] == 4 && \
        [later {set e 5}]} {
    set f 6
}
set list {
    one {set g 7}
    two {{x} {
        set h $x
    }}
}
eval [lindex $list 1]
apply [lindex $list 3] 8
if {[catch {
    later {set i 9}
} message]} {
    puts $message
}
END
python3 >want <<'END'
text = open("later.tcl").read()
ends = {"proc later": "}\n", "later {\n    set a": "}\n", "set a": "1\n", "if {[later": "    set f 6\n}\n",
        "later {\n    later": "\n}", "later {set c": "}\n", "later {set e": "}",
        "set list": "\n}\n", "if {[catch": "puts $message\n}\n", "catch {": "} message",
        "later {set i": "}\n", "lindex $list 1": "1", "lindex $list 3": "3",
        "set c": "3", "set e": "5", "set g": "7", "set i": "9", "eval $script": " "}
for start in ["proc later", "eval $script", "later {\n    set a", "set a", "set b", "if {[later", "later {\n    later",
              "later {set c", "set c", "set d", "later {set e", "set e", "set f", "set list", "set g",
              "set h", "eval [lindex", "lindex $list 1", "apply [", "lindex $list 3", "if {[catch",
              "catch {", "later {set i", "set i"]:
    at = text.index(start)
    end = ends.get(start, "\n")
    print(5 if start == "eval $script" else 1, "later.tcl", text.count("\n", 0, at) + 1, at,
          text.index(end, at + len(start) - (end[0] == start[-1])) + len(end) - at)
END
counts later.tcl >got
try "texts that are kept for later are at their places" diff want got
echo 'source later.tcl' >rest.tcl
counts rest.tcl | grep -v rest.tcl >got
try "and so they are in byte-code" diff want got

# ── Packages ─────────────────────────────────────────────────────────────────────────

mkdir lib
folder=$(dirname "$(find /usr/share/tcltk -path '*/json/pkgIndex.tcl' | head -1)")/..
for name in json markdown textutil csv html ncgi; do cp -r "$folder/$name" lib; done
cat >lib/use.tcl <<'END'
foreach name {json markdown textutil csv html ncgi} {
    set dir [file dirname [info script]]/$name
    source $dir/pkgIndex.tcl
}
package require json
package require json::write
package require Markdown
package require csv
package require html
for {set i 0} {$i < 5} {incr i} {
    lappend items [json::write object id $i name [json::write string "item $i"] \
        tags [json::write array 1 2]]
    append text "## Part $i\n\nSome *emphasis*, `code`, \[a link\](http://example.org/$i).\n\n* one\n\n"
}
puts [llength [json::json2dict [json::write array {*}$items]]]:[catch { json::json2dict "broken" }]
puts [string length [Markdown::convert $text]]
puts [csv::split [csv::join {a b {c,d} {e"f}}]]
puts [html::head title][html::h1 {a & b}][html::end]
END
packages()
{
    "$top/test/tcl-packages.py" "$tallytree" lib use.tcl "$@" >out || { cat out; return 1; }
    cat out
    [ "$(awk '/^# use.tcl:/ { print $3 }' out)" -ge 200 ]
}
try "each statement of packages is at its place, as often as it counts itself" packages
try "and so it is where statements are not timed" packages --mode coverage
cd "$top" || exit
finish
