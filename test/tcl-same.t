#!/bin/bash
# SPDX-License-Identifier: MIT
# Tcl programs print the same with and without the profiler, in each of its modes: what the
# language does, packages of tcllib, and where there are any, Tcl's own tests: with
# TALLYTREE_TCL_TESTS=FOLDER, that of its source.
. "$(dirname "$0")/tap.sh"

tallytree=$(realpath "$TT_BUILD/tallytree")
if [ ! -e "$TT_BUILD/adapters/tcl/libtallytree-tcl.so" ]; then
    echo "1..0 # SKIP there is no Tcl 8.6 with its private headers"
    exit
fi
top=$PWD
cd "$tmp" || exit

# same SCRIPT FLAGS... - its output, errors and status are those of tclsh.
same()
{
    local script=$1
    shift
    tclsh8.6 "$script" >want 2>want.err </dev/null
    echo "status $?" >>want
    "$tallytree" tcl -o p.tt "$@" "$script" >got 2>got.err </dev/null
    echo "status $?" >>got
    diff want got && grep -v '^tallytree: ' got.err | diff want.err -
}

cat >language.tcl <<'END'
proc show {name script} {
    set code [catch { uplevel #0 $script } result options]
    puts "$name: $code [list $result]"
    if {$code == 1} {
        puts [dict get $options -errorinfo]
        puts "[dict get $options -errorcode] [dict get $options -errorline]"
    }
}
proc fails {a} {
    set b $a
    if {$b} {
        foreach x {1 2} {
            error "no $x" {} {MY CODE}
        }
    }
}
proc frames {} { for {set i 1} {$i <= [info frame]} {incr i} { puts [dict remove [info frame $i] level] } }
proc level {} { return [list [info level] [info level 0] [uplevel 1 {info level}]] }
show error { fails 1 }
show unknown { no_such_command 1 2 }
show arguments { fails }
show syntax { if 1 { set x "a } }
show expr { expr {1 +} }
show variable { set nowhere }
show divide { expr {1 / 0} }
show throw { throw {A B} message }
show return { return -code 5 -level 0 five }
show catch { catch { return -level 0 -code 3 -opt x y } m o; dict get $o -opt }
show try { try { error a } trap {NONE} {} { set x 1 } on error {m o} { set m } finally { set z 1 } }
show nested { try { try { error inner } finally { error outer } } on error m { set m } }
show level { level }
show frame { dict get [info frame 0] cmd }
proc count {args} { return [llength $args] }
show expand { set l {1 2 3}; count {*}$l {*}[list a b] {*}{c d} }
show switch { switch -regexp -- abc { ^x { set r 1 } {^a} { set r 2 } default { set r 3 } } }
show fall { switch a { a - b { set r ab } default { set r none } } }
show while { set n 5; while 1 { if {[incr n -1] < 0} break; if {$n == 2} continue; lappend ::seen $n }; set ::seen }
show dict { set d {a 1 b 2}; dict for {k v} $d { dict set d $k [expr {$v * 2}] }; dict with d { incr a }; set d }
show lmap { lmap {a b} {1 2 3 4} { expr {$a * $b} } }
show string { string map {a b} [string repeat a 5] }
show apply { apply {{x {y 2} args} { list $x $y $args }} 1 }
show lambda { lsort -command {apply {{a b} { expr {$b - $a} }}} {3 1 2} }
show upvar { proc up {name} { upvar 1 $name v; incr v }; set n 4; up n; set n }
show uplevel { proc out {} { uplevel 1 { set made here } }; out; set made }
show tailcall { proc a {} { tailcall b 1 }; proc b {x} { level }; a }
show namespace { namespace eval deep::er { variable v 3; proc get {} { variable v; return $v$::deep::er::v } }; deep::er::get }
show ensemble { namespace eval en { proc one {x} { return one$x }; proc two {} { error two }; namespace export *; namespace ensemble create }; en one 1 }
show ensemble-error { en one }
show ensemble-inner { en two }
show rename { proc old {} { return old }; rename old new; new }
show redefine { proc again {} { return 1 }; set r [again]; proc again {} { return 2 }; append r [again] }
show itself { proc itself {} { proc itself {} { return second }; return first }; list [itself] [itself] }
show builtin { rename ::lreverse ::own_lreverse; proc ::lreverse l { return mine }; set r [lreverse {1 2}]; rename ::lreverse {}; rename ::own_lreverse ::lreverse; lappend r [lreverse {1 2}] }
show trace { proc traced args { lappend ::log $args; return }; set t 1; trace add variable t write traced; set t 2; llength $::log }
show steps { proc stepped {} { set a 1; incr a }; proc step args { incr ::steps }; trace add execution stepped {enterstep} step; stepped; trace remove execution stepped {enterstep} step; set ::steps }
show coroutine { proc numbers {} { yield [info coroutine]; foreach x {1 2 3} { yield $x }; return end }; coroutine co numbers; list [co] [co] [co] [co] [info commands co] }
show coroutine-error { proc broken {} { yield; error "in it" }; coroutine br broken; br }
show coroutine-deleted { proc waits {} { try { yield } finally { lappend ::log gone } }; coroutine w waits; rename w {}; info commands w }
show generators { proc gen {n} { yield; while {$n} { yield [incr n -1] } }; coroutine g1 gen 3; coroutine g2 gen 2; list [g1] [g2] [g1] [g2] }
show class { oo::class create P { variable x; constructor {a} { set x $a }; method get {} { return $x }; method set {a} { set x $a; return [self] }; destructor { puts "destroyed $x" } }; oo::class create Q { superclass P; method get {} { return <[next]> } }; set q [Q create qq 5]; list [$q get] [$q set 7] [$q get] [$q destroy] }
show class-error { qq get }
show filter { oo::define P { method log args { puts "log [self target]"; next {*}$args }; filter log }; set p [P new 1]; $p get }
show private { oo::class create R { method a {} { my B }; method B {} { return b } }; [R new] a }
show child { set i [interp create]; $i eval { proc p {} { error inside } }; interp alias $i back {} set ::backed; $i eval { back 1 }; catch { $i eval p } m; interp delete $i; list $m $::backed }
show safe { set s [interp create -safe]; catch { $s eval { exec ls } } m; interp delete $s; set m }
show alias { interp alias {} al {} list a b; al c }
show limit { set i [interp create]; $i limit command -value [expr {[$i eval {info cmdcount}] + 100000}]; $i eval { set x 1 }; interp delete $i }
show after { set ::x 0; after 1 { incr ::x }; after 5 { set ::done 1 }; vwait ::done; set ::x }
show bgerror { proc bgerror m { puts "background $m"; set ::bg 1 }; after 1 { error later }; vwait ::bg; set ::bg }
show time { llength [time { set x 1 } 10] }
show clock { expr {[clock seconds] > 1e9 && [clock microseconds] > 1e15 && [clock clicks] != 0} }
show clockproc { proc late {} { set a [clock microseconds]; set b [clock milliseconds]; expr {$b - $a / 1000 <= 1000 && $b > 1e12} }; late }
show regexp { regexp -inline {(a)(b)?} xab }
show deep { proc deep n { if {$n} { deep [expr {$n - 1}] } else { info level } }; deep 200 }
show recursion { proc forever {} { forever }; catch forever m; string match "too many*" $m }
show locals { proc l {a} { set b 1; lsort [info locals] }; l 1 }
show bodies { list [info body fails] [info args fails] }
show eval { set s {set e 1; incr e}; eval $s; eval {incr e}; eval [list incr e] }
show subst { set v 3; subst {a $v [expr {$v + 1}] \$v} }
show assemble { ::tcl::unsupported::assemble { push 1; push 2; add } }
show foreach { set r {}; foreach {a b} {1 2 3} c {x y} { lappend r $a$b$c }; set r }
show many { set s {}; for {set i 0} {$i < 300} {incr i} { append s "lappend ::out $i\n" }; eval $s; llength $::out }
show wide { proc wide {} [join [lmap i [lsearch -all [lrepeat 300 x] x] { list set v$i $i }] "\n"]; wide }
show source { set f [open part.tcl w]; puts $f "proc part {} \{\n    error {in part}\n\}\nset ::sourced \[info script\]\nreturn early\nset ::never 1"; close $f; list [source part.tcl] $::sourced [info exists ::never] }
show source-error { part }
proc driver {cmd chan args} {
    switch -- $cmd {
        initialize { set ::data "line1\nline2\n"; return {initialize finalize watch read} }
        read { set r $::data; set ::data ""; return $r }
    }
}
show reflected { set c [chan create read driver]; list [gets $c] [gets $c] [read $c] [eof $c] [close $c] }
frames
proc in_frames {} { frames }
in_frames
puts [lsort [info globals m*]]
puts [info commands ::tcl::unsupported::[string index t 0]allybush]
if 1 {
    proc last {} { fails 1 }
}
last
END
cat >library.tcl <<'END'
package require json
package require json::write
package require Markdown
package require sha1
package require md5
package require base64
package require csv
package require struct::list
package require struct::graph
package require struct::set
package require textutil
package require math::statistics
proc make {n} {
    set items {}
    for {set i 0} {$i < $n} {incr i} {
        lappend items [json::write object id $i name [json::write string "item $i"] tags [json::write array 1 2 3]]
    }
    return [json::write array {*}$items]
}
proc document {n} {
    set text "# Title\n\n"
    for {set i 0} {$i < $n} {incr i} {
        append text "## Part $i\n\nSome *emphasis*, **strong** and `code` with a \[link\](http://example.org/$i).\n\n* one\n* two\n\n"
    }
    return $text
}
set data [json::json2dict [make 40]]
puts [llength $data]:[dict get [lindex $data 7] name]
set html [Markdown::convert [document 6]]
puts $html
puts [sha1::sha1 $html]:[md5::md5 -hex $html]
puts [base64::encode $html]
puts [csv::split [csv::join {a b {c,d} {e"f}}]]
puts [struct::list flatten {1 {2 3} {4 {5}}}]:[struct::set union {a b} {b c}]
set g [struct::graph]
foreach n {a b c} { $g node insert $n }
$g arc insert a b; $g arc insert b c
puts [lsort [$g nodes -adj b]]
$g destroy
puts [textutil::adjust [string repeat "word " 40] -length 30]
puts [math::statistics::mean {1 2 3 4}]
puts [catch { json::json2dict "{broken" } m]:$m
END
# How a script, or what it calls at its top level, ends it.
printf 'puts s1\nreturn -code return\nputs s2\n' >ends.tcl
cat >endings <<'END'
return; puts never
return -code 7 x
return -code break
return -level 2 -code error bad
break
if 1 { return }
foreach x {1 2} { return }
namespace eval a { return }
proc stop {} { return -code return }; puts [stop]
proc stop {} { return -code continue }; stop
proc stop {} { return -code 7 a }; stop
proc stop {} { tailcall return -code return }; stop
proc stop {} { tailcall break }; stop
proc stop {} { tailcall puts hi }; stop
proc stop {} { uplevel 1 { return -code return } }; stop
tailcall puts a
set x a[return q]b
set x $tcl_platform([return])
set x $tcl_platform([error y])
puts [puts [error deep]]
apply {{} { return -code return }}
set x {*}"a {b"
while 1 { return }
source ends.tcl
puts [list [dict get [info frame 0] line] a"b[dict get [info frame 0] line]"]; puts [info frame]
trace add execution puts leave { apply { args { lappend ::log $args } } }; set b [puts c]; puts stderr $log
puts [info cmdcount]; proc p {} { set x 1; puts $x; info cmdcount }; puts [p][p]; eval { set b 1; puts [info cmdcount] }
interp recursionlimit {} 60; proc r n { global m; set m $n; r [incr n] }; puts [catch { r 0 } e]$e$m
END
endings()
{
    local line
    while IFS= read -r line; do
        printf 'puts first\n%s\nputs last\n' "$line" >ending.tcl
        same ending.tcl "$@" >differs || { echo "$line"; cat differs; }
    done <endings >differ
    [ ! -s differ ] || { cat differ; false; }
}
try "a script ends as it does without us" endings
try "and where calls alone are sampled" endings --mode sampled

for mode in statements blocks coverage procs sampled; do
    try "the language is the same, with $mode" same language.tcl --mode $mode
    try "so are packages of tcllib, with $mode" same library.tcl --mode $mode
done
for method in a b c; do
    try "and by method $method" same language.tcl --correction $method
done
for seed in 1 2 3 4 5 6; do
    "$top/test/tcl-random.py" $seed >random.tcl
    try "a program made at random does the same: $seed" same random.tcl
    try "and in blocks: $seed" same random.tcl --mode blocks
done
for seed in 1 2; do
    try "each statement of a program made at random is at its place, as often as it counts itself: $seed" \
        "$top/test/tcl-counts.py" "$tallytree" "$seed" 1
done
# A real program, its ten hottest statements, and how often each ran by a count of the
# program's own: a command more before the same statement of a copy, and no profiler.
cat >hot.tcl <<'END'
foreach dir {lib/textutil lib/json lib/markdown} { source $dir/pkgIndex.tcl }
package require json
package require Markdown
for {set i 0} {$i < 300} {incr i} { lappend items "{\"id\": $i, \"name\": \"item $i\", \"tags\": \[1, 2, 3\]}" }
for {set i 0} {$i < 12} {incr i} { append text "## Part $i\n\nSome *emphasis*, `code`, \[a link\](http://example.org/$i).\n\n* one\n\n" }
puts [llength [json::json2dict "\[[join $items ,]\]"]]:[string length [Markdown::convert $text]]
if {[info exists hits]} { foreach name [lsort [array names hits]] { puts stderr "$name $hits($name)" } }
END
cat >hottest.py <<'END'
import csv, sys
rows = [r for r in csv.DictReader(sys.stdin) if "/lib/" in r["file"] and r["calls"] != "0"]
places = {}
for r in rows:
    lines = open(r["file"], encoding="utf-8").read().split("\n")
    at = int(r["column"]) - 1
    if len(places) < 10 and lines[int(r["line"]) - 1][at:].startswith(r["name"].replace("...", "")):
        key = (r["file"], int(r["line"]), at)
        places[key] = places.get(key, 0) + int(r["calls"])
for file, line, at in sorted(places, reverse=True):
    lines = open(file, encoding="utf-8").read().split("\n")
    text, name = lines[line - 1], "%s:%d:%d" % (file.rsplit("/", 1)[1], line, at)
    lines[line - 1] = text[:at] + "incr ::hits(" + name + "); " + text[at:]
    open(file, "w", encoding="utf-8").write("\n".join(lines))
for file, line, at in sorted(places):
    print("%s:%d:%d %d" % (file.rsplit("/", 1)[1], line, at, places[file, line, at]))
END
hottest()
{
    local folder
    folder=$(dirname "$(find /usr/share/tcltk -path '*/json/pkgIndex.tcl' | head -1)")
    mkdir lib && cp -r "$folder" "$folder/../markdown" "$folder/../textutil" lib || return
    tclsh8.6 hot.tcl >want && "$tallytree" tcl -o hot.tt hot.tcl 2>/dev/null >got && diff want got || return
    "$tallytree" report tdk --source --include '*/json_tcl.tcl' hot.tt >source
    "$tallytree" report flat --csv --sort self hot.tt | python3 hottest.py | sort >hits
    cat hits
    [ "$(wc -l <hits)" = 10 ] && tclsh8.6 hot.tcl 2>&1 >got | sort | diff hits - && diff want got
}
try "the hottest statements of a real program ran as often as it counts itself" hottest
hot_line() { grep -E '^ *1 +[0-9.]+ .*regexp -all -inline -- \$tokenRE' source && grep -E '^ *2101 +[0-9.]+ .*switch -exact -- \$leadingChar' source; }
try "and its source is shown with them" hot_line
"$tallytree" tcl -o p.tt library.tcl >/dev/null 2>&1
equal_calls() { "$tallytree" report tdk --csv --include '*library.tcl' p.tt | awk -F, '$3 == 16 { print $1 }' | sort -u; }
try "with as many calls as there were" test "$(equal_calls)" = 40

# Tcl's own, where they are.
if [ -d "${TALLYTREE_TCL_TESTS:-}" ]; then
    cd "$TALLYTREE_TCL_TESTS" || exit
    for name in append apply assemble basic binary cmdIL cmdMZ compExpr compile coroutine dict error eval \
        execute expr for foreach format if incr info interp io ioCmd ioTrans join lindex linsert list lmap lrange \
        lrepeat lreplace lsearch lset mathop misc namespace nre oo ooNext2 package parse proc rename result scan \
        set source split string subst switch tailcall trace unknown uplevel upvar util var while; do
        tclsh8.6 $name.test >"$tmp/want" 2>&1 </dev/null
        "$tallytree" tcl -o "$tmp/p.tt" $name.test 2>&1 </dev/null | grep -v '^tallytree: ' >"$tmp/got"
        try "Tcl's own tests of $name" diff "$tmp/want" "$tmp/got"
    done
fi
cd "$(dirname "$0")/.." >/dev/null 2>&1 || true
finish
