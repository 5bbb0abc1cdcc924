#!/bin/bash
# SPDX-License-Identifier: MIT
# Statements of Tcl programs: counts and places are right, and the program cannot notice it.
. "$(dirname "$0")/tap.sh"

tallytree=$(realpath "$TT_BUILD/tallytree")
package=$(realpath "$TT_BUILD/adapters/tcl" 2>/dev/null)
if [ ! -e "$package/libtallytree-tcl.so" ]; then
    echo "1..0 # SKIP there is no Tcl 8.6 with its private headers"
    exit
fi
cd "$tmp" || exit
export TCLLIBPATH=$package

# profile SCRIPT ARGS... - what it prints; the profile is in p.tt.
profile() { "$tallytree" tcl -o p.tt "$@" 2>/dev/null; }
# statements FLAGS... - a line for each
statements() { "$tallytree" report tdk --csv "$@" p.tt | sed 1d; }
# counts FLAGS... - calls, line, index and length of each
counts() { statements --sort line --sort index "$@" | awk -F, '{ print $1, $3, $8, $9 }'; }
# calls LINE [FILE] - of the statements on a line, in their order
calls() { counts --include "*${2:-many.tcl}" | awk -v line="$1" '$2 == line { printf "%s%s", n++ ? " " : "", $1 }'; }

# ── The document's example ───────────────────────────────────────────────────────────

printf '\nproc multiply {n m} {\n    set res 0\n    while {$n > 0} {\n\tincr n -1\n\tincr res $m\n    }\n    return $res\n}\n\nputs "    2 x  3 = [multiply     2  3]"\n' >mult.tcl
equal "the document's example runs" "$(profile mult.tcl)" "    2 x  3 = 6"
cat >mult.want <<'END'
1 2 1 105
1 3 27 10
1 4 41 47
2 5 59 10
2 6 70 12
1 8 92 12
1 11 107 40
1 11 127 17
END
counts >got
try "each statement is at its line, index and length, with its calls" diff mult.want got
equal "two commands on one line are two" "$(calls 11 mult.tcl)" "1 1"
"$tallytree" report tree --csv p.tt >tree
try "statements lie below the procedure that was called" grep -q 'multiply' tree

# ── What is run how often ────────────────────────────────────────────────────────────

cat >many.tcl <<'END'
proc f {x} { if {$x > 2} { return $x }; set x }
for {set i 0} {$i < 5} {incr i} { f $i }
proc g {} { error oops }
for {set i 0} {$i < 3} {incr i} { catch { g } }
proc h {} { uplevel 1 { incr count } }
set count 0
for {set i 0} {$i < 4} {incr i} { h }
proc t {n} { if {$n == 0} { return done }; tailcall t [incr n -1] }
t 6
proc gen {} {
    yield
    for {set i 0} {$i < 3} {incr i} { yield $i }
    return end
}
coroutine c gen
while {[c] ne "end"} { set seen 1 }
foreach x {1 2 3} { if {$x == 2} { continue }; set y $x }
foreach x {1 2 3} { if {$x == 2} { break }; set y $x }
switch b { a { set z 1 } b { set z 2 } }
try { error x } on error {} { set z 3 } finally { set z 4 }
dict for {k v} {a 1 b 2} { set z $k }
set l [lmap x {1 2 3} { expr {$x * 2} }]
eval { set z 5; set z 6 }
namespace eval n { variable v 1; proc p {} { variable v; incr v } }
n::p; n::p
oo::class create K { method m {} { set q [my q] }; method q {} { return 1 } }
set o [K new]; $o m; $o m
apply {{a} { incr a }} 1
set body { incr ::made }
proc made {} $body
made; made
proc again {} { set ::a 1 }
again
proc again {} { set ::a 2 }
again
set i [interp create]
$i eval { proc inner {} { return 1 }; inner; inner }
interp delete $i
END
profile many.tcl >out
equal "a body that returns early" "$(calls 1)" "1 5 2 3"
equal "errors that are caught" "$(calls 3) $(calls 4)" "1 3 1 1 3 3 3"
equal "what uplevel ran" "$(calls 5)" "1 4 4"
equal "tail calls" "$(calls 8)" "1 7 1 6 6"
equal "a coroutine's body" "$(calls 11) $(calls 13)" "1 1"
equal "each step of a coroutine" "$(calls 12)" "1 1 3 3"
equal "continue" "$(calls 17)" "1 3 1 2"
equal "break" "$(calls 18)" "1 2 1 1"
equal "the branch of a switch that was taken" "$(calls 19)" "1 1"
equal "try, its handler, and finally" "$(calls 20)" "1 1 1 1"
equal "dict for" "$(calls 21)" "1 2"
equal "lmap" "$(calls 22)" "1 1 3"
equal "eval" "$(calls 23)" "1 1 1"
equal "a procedure in a namespace" "$(calls 24) $(calls 25)" "1 1 1 2 2 1 1"
equal "methods" "$(calls 26) $(calls 27)" "1 1 2 2 1 2 1 1 1 1"
equal "a lambda" "$(calls 28)" "1 1"
equal "a procedure made of a text that a variable had" "$(calls 29) $(calls 30)" "1 2 1"
equal "one that is redefined" "$(calls 32) $(calls 34)" "1 1 1 1"
equal "another interpreter" "$(calls 37)" "1 1 2 1 1"

# Procedures that come and go, as where a server reads its code again: another one with as many
# variables may lie where one was.
cat >reload.tcl <<'END'
for {set k 0} {$k < 50} {incr k} {
    proc handler {x} {
        set a $x
        return $a
    }
    handler 1
    rename handler {}
    proc handler2 {x y} {
        set q $x
        return $q
    }
    handler2 1 2
    rename handler2 {}
}
END
profile reload.tcl
equal "procedures that are made again and again are counted each time" "$(for i in 3 4 9 10; do calls $i reload.tcl; done | tr -d '\n')" "50505050"

# A body has its continued lines joined; the file has not.
cat >joined.tcl <<'END'
namespace eval shop {
    variable prices [dict create \
        apple 3 \
        pear 4]
    proc price {name} {
        variable prices
        if {![dict exists $prices $name]} {
            return -code error \
                "no such fruit"
        }
        return [dict get $prices $name]
    }
    proc total {args} {
        set sum 0
        foreach name $args {
            incr sum [price \
                $name]
        }
        return $sum
    }
}
shop::total apple pear apple
END
profile joined.tcl
# placed CALLS LINE FIRST REST... - a line of `counts`, whose text begins and ends so in the file
placed()
{
    python3 - "$@" <<'END2'
import sys
calls, line, first, last = sys.argv[2:]
text = open(sys.argv[1]).read()
rows = [r.split() for r in open("placed")]
for c, l, index, length in rows:
    at, n = int(index), int(length)
    part = text[at:at + n].rstrip("\n;")
    if (c, l) == (calls, line) and part.startswith(first) and part.endswith(last):
        sys.exit(text.count("\n", 0, at) + 1 != int(line))
sys.exit(1)
END2
}
counts >placed
all_placed()
{
    placed joined.tcl 1 2 'variable prices [' '4]' && placed joined.tcl 3 11 return '$name]' &&
        placed joined.tcl 1 15 'foreach' '}' && placed joined.tcl 3 16 'incr sum' '$name]' &&
        placed joined.tcl 3 16 price '$name' && placed joined.tcl 0 8 return 'fruit"' && placed joined.tcl 1 19 return sum
}
try "statements behind lines that are continued are at their place" all_placed

# Code that Tcl compiles again if commands are traced or renamed: it continues in the same place.
cat >traced.tcl <<'END'
proc z {} { return 1 }
proc noop {args} {}
namespace eval en { proc a {x} { incr x }; namespace export a; namespace ensemble create }
proc loop {} {
    set a 1
    trace add execution z enter noop
    namespace ensemble configure ::en -map {b ::en::a}
    set b 2
    for {set i 0} {$i < 5} {incr i} {
        z
        en b $i
    }
    return $b
}
loop
loop
END
profile traced.tcl
got=
for i in 5 6 7 8 9 10 11 13; do got="$got$i:$(calls "$i" traced.tcl) "; done
equal "a procedure goes on in its file after a command was traced" "$got" "5:2 6:2 7:2 8:2 9:2 2 10 10:10 11:10 13:2 "

# Scripts that Tcl keeps for later, without their file.
cat >kept.tcl <<'END'
oo::class create K {
    constructor {a} {
        set y \
            2
        variable x $a
    }
    destructor { set z 1 }
}
[K new 1] destroy
time {
    set t 1
    incr t
} 3
proc f {} {
    time { incr ::n } 4
    after 0 { set ::done 1 }
}
set n 0
f
vwait done
proc a {} { return 7 }; proc b {} { return 7 }; a; b; b
proc g {} { return 2 }
subst {a [g] [g]}
set body {
    incr n
}
eval $body
foreach i {1 2} $body
END
profile kept.tcl
got=
for i in 3 5 7 10 11 12 15 16 21 23 25; do got="$got$i:$(calls "$i" kept.tcl) "; done
equal "scripts that are kept for later are where they were written" "$got" "3:1 5:1 7:1 1 10:1 11:3 12:3 15:1 4 16:1 1 21:1 1 1 2 1 1 1 23:1 1 1 25:3 "

# Commands that Tcl's compiler does not ask for: not known yet, from variables, expanded, an
# object's own.
cat >late.tcl <<'END'
proc all {args} { return $args }
proc f {l} {
    all {*}$l
    set c all
    $c 1 2
    later 3
    if {$l ne ""} { $c a } else { later 4 }
    foreach x $l { $c $x; later [$c 5] }
    while {[llength $l] > 1} { set l [lrange {*}[list $l 1 end]] }
    switch -exact -- $l { c { $c c } default { later d } }
    catch { later; later 5 } m
    set z [list {*}$l [$c 1]]
    foreach y $l { if {$y eq "c"} { continue }; later 6 }
    dict for {k v} {a 1 b 2} { all {*}$v; $c $k }
    try { $c; later } on error {} { $c 1; later 7 } finally { later 8 }
    later last
}
proc later {x} { return $x }
for {set i 0} {$i < 3} {incr i} { f {a b c} }
proc alone {c} { $c 1 }
alone later; alone later
END
equal "what is compiled late does the same" "$(profile late.tcl)" "$(tclsh8.6 late.tcl)"
got=
for i in $(seq 3 16) 19 20 21; do got="$got$i:$(calls "$i" late.tcl) "; done
equal "what is called late is counted" "$got" "3:3 4:3 5:3 6:3 7:3 3 0 8:3 9 9 9 9:3 9 6 6 6 10:3 3 0 11:3 3 0 12:3 3 3 13:3 3 3 0 14:3 6 6 15:3 3 3 3 3 3 16:3 19:1 1 3 3 20:1 2 21:1 1 "
"$tallytree" export --to folded --metric calls p.tt >folded
cat >want <<'END2'
foreach x $l { $c $x: later [$c 5] } 3
foreach x $l { $c $x: later [$c 5] };$c $x 9
foreach x $l { $c $x: later [$c 5] };$c $x;all 9
foreach x $l { $c $x: later [$c 5] };$c $x;all;return $args 9
foreach x $l { $c $x: later [$c 5] };later [$c 5] 9
foreach x $l { $c $x: later [$c 5] };later [$c 5];$c 5 9
foreach x $l { $c $x: later [$c 5] };later [$c 5];$c 5;all 9
foreach x $l { $c $x: later [$c 5] };later [$c 5];$c 5;all;return $args 9
foreach x $l { $c $x: later [$c 5] };later [$c 5];later 9
foreach x $l { $c $x: later [$c 5] };later [$c 5];later;return $x 9
set z [list {*}$l [$c 1]] 3
set z [list {*}$l [$c 1]];list {*}$l [$c 1] 3
set z [list {*}$l [$c 1]];list {*}$l [$c 1];$c 1 3
set z [list {*}$l [$c 1]];list {*}$l [$c 1];$c 1;all 3
set z [list {*}$l [$c 1]];list {*}$l [$c 1];$c 1;all;return $args 3
END2
sed -n 's/^.*;f;//p' folded | grep -e '^foreach x' -e '^list' -e '^set z' >got
try "and lies where it is" diff want got

# ── Nobody can tell ──────────────────────────────────────────────────────────────────

cat >tell.tcl <<'END'
puts [list $argv0 $argc $argv [info script] [info nameofexecutable]]
proc frame {} { return [info frame 0] }
puts [frame]
puts [info frame 0]
if 1 { puts [info frame 0] }
proc deep {} { set x [info frame -1]; dict get $x line }
puts [deep]
proc bad {} {
    set x 1
    error oops
}
catch {bad} m o
puts $::errorInfo
puts [dict get $o -errorline]
puts [info body bad]
proc locals {a} { set b 1; foreach c {1} {}; lsort [info locals] }
puts [locals 1]
puts [lsort [info commands ::tallytree*]]
puts [lsort [namespace children ::]]
puts [catch {break}]
puts [catch {return -level 0 -code 7 x} m o]:$o
puts [read stdin]
puts stderr diagnostics
proc last {} { bad }
last
END
(echo in | tclsh8.6 tell.tcl a "b c" >want 2>want.err; echo $? >>want)
(echo in | "$tallytree" tcl -o p.tt tell.tcl a "b c" >got 2>got.err; echo $? >>got)
try "a script says the same of itself" diff want got
try "and of its errors" sh -c "grep -v ^tallytree: got.err | diff want.err -"
printf 'set x é; puts [string length $x]; exit 7' >latin.tcl
equal "its encoding and its exit status" "$(profile --encoding iso8859-1 latin.tcl; echo $?)" "$(tclsh8.6 -encoding iso8859-1 latin.tcl; echo $?)"
cat >around.tcl <<'END'
proc inner {x} { error "no $x" }
proc outer {args} { return $args }
puts "
   [outer 1 [outer [inner 5] 2]]"
END
tclsh8.6 around.tcl >want 2>&1
"$tallytree" tcl -o p.tt around.tcl 2>&1 | grep -v ^tallytree: >got
try "an error tells of all the commands around it" diff want got
echo 'puts "un' >broken.tcl
tclsh8.6 broken.tcl >want 2>&1
profile broken.tcl >/dev/null
"$tallytree" tcl -o p.tt broken.tcl 2>&1 | grep -v ^tallytree: >got
try "a script that cannot be read" diff want got
try "no script" sh -c "'$tallytree' tcl; test \$? -eq 125"

# is_refused FLAG... - and the script does not run.
is_refused()
{
    echo 'puts ran' >refused.tcl
    "$tallytree" tcl "$@" refused.tcl >got 2>err
    [ $? = 125 ] && [ ! -s got ] && [ "$(grep -c '^tallytree: tcl: ' err)" = 1 ]
}
for flag in '--mode foo' '--budget some' '--recursion much' '--correction d'; do
    # shellcheck disable=SC2086
    try "what no run can be is refused before there is one: $flag" is_refused $flag
done
try "nor is a factor less than nothing one" is_refused --correction 'factor -1'
try "one above it is" sh -c "'$tallytree' tcl -o p.tt --correction 'factor 1.5' refused.tcl | grep -qx ran"
"$tallytree" tcl -o p.tt nothing.tcl 2>got >/dev/null
try "one that is not there" grep -q "couldn't read file" got

# ── In a program ─────────────────────────────────────────────────────────────────────

cat >inside.tcl <<'END'
package require tallytree
proc work {n} { set s 0; for {set i 0} {$i < $n} {incr i} { incr s $i }; return $s }
work 10
tallytree::start -correction b
work 10
tallytree::pause
after 3000
tallytree::resume
tallytree::scope centre { work 5 }
set r [tallytree::results]
tallytree::stop
work 10
foreach {key value} $r {
    lassign $key file line index length text
    if {$text eq "incr s \$i"} { puts "incr [dict get $value calls]" }
    if {$text eq "work"} { puts "work [dict get $value calls]" }
    if {$text eq "centre"} { puts "centre [dict get $value calls]" }
    if {abs([dict get $value avg] * [dict get $value calls] - [dict get $value total]) > 1e-3} { puts "avg $value" }
    if {[dict get $value max] > 2500000} { puts "pause $value" }
}
puts [catch {tallytree::start -mode none} m]:$m
puts [catch {tallytree::start -correction {factor 0}} m]:$m
puts [catch {tallytree::pause x} m]
END
cat >want <<'END'
centre 1
incr 15
work 2
1:bad mode "none": must be statements, blocks, coverage, procs, or sampled
1:tallytree: a factor is a number above 0: {factor 1.5}
1
END
tclsh8.6 inside.tcl | sort -k1,1 >got
sort -k1,1 want -o want
try "a program profiles itself, with pauses and centres" diff want got

cat >ended.tcl <<'END'
package require Thread
package require tallytree
tallytree::start -output first.tt
set t [thread::create -joinable { package require tallytree; tallytree::start; thread::wait }]
thread::send $t { set x 1 }
thread::release $t
thread::join $t
tallytree::stop
tallytree::start -output second.tt
set y 2
tallytree::stop
puts [file exists second.tt]
END
equal "a thread that ends without stopping holds no recording up" "$(tclsh8.6 ended.tcl)" 1
cat >code.tcl <<'END'
set f [open code.tcl]
catch { error x y MINE }
gets $f line
puts $errorCode
after 0 { puts [catch { gets $f rest }] }
update
puts $errorCode
END
equal "what reads changes no error code" "$(profile code.tcl)" "$(tclsh8.6 code.tcl)"

cat >history.tcl <<'END'
package require tallytree
proc f {n} { set s 0; for {set i 0} {$i < $n} {incr i} { incr s }; return $s }
tallytree::start -history 8
foreach n {1 2 3 4 5 6} { f $n }
set r [tallytree::results]
puts [lindex [split [tallytree::report -sort calls] "\n"] 1]
tallytree::stop
foreach {key value} $r {
    if {[lindex $key 4] eq {f $n}} {
        set h [lsort -real [dict get $value history]]
        foreach a [list [lindex $h 0] [lindex $h end] [expr [join $h +]]] name {min max total} {
            if {abs($a - [dict get $value $name]) > 1e-6} { puts "$name: $a, $value" }
        }
        puts [llength $h]
        puts [expr {[dict get $value low] <= [dict get $value total] && [dict get $value total] <= [dict get $value high]}]
    }
    if {[lindex $key 4] eq {incr s}} { puts "newest [llength [dict get $value history]]" }
    if {[lindex $key 4] eq "f" && [dict get $value calls] == 6} { puts "piece [llength [dict get $value history]]" }
}
puts [catch { tallytree::start -history 0 } m]:$m
puts [catch { tallytree::report -sort colour } m]
END
tclsh8.6 history.tcl | sed "s,^ *21 .*,21," | sort >got
cat >want <<'END'
21
6
1
newest 8
piece 0
1:tallytree: a history is of 1 to 100000 times
1
END
sort -o want want
try "the last times of each statement are kept" diff want got

# Calls in a loop are below the loop, round by round.
cat >rounds.tcl <<'END'
proc f {n} { set s 0; for {set i 0} {$i < $n} {incr i} { incr s }; return $s }
foreach n {1 2 3 4 5 6} { f $n }
END
"$tallytree" tcl -o rounds.tt rounds.tcl 2>/dev/null &&
    "$tallytree" export --to folded --metric calls rounds.tt |
    sed -n 's/^foreach n {1 2 3 4 5 6} { f $n }/foreach/; s/for {set i 0}[^;]*}/for/; /^foreach/p' >got
cat >want <<'END'
foreach 1
foreach;f $n 6
foreach;f $n;f 6
foreach;f $n;f;for 6
foreach;f $n;f;for;incr i 21
foreach;f $n;f;for;incr s 21
foreach;f $n;f;for;set i 0 6
foreach;f $n;f;return $s 6
foreach;f $n;f;set s 0 6
END
try "a procedure that a loop calls again is over before" diff want got

# The deviation is that of the single times.
cat >deviation.tcl <<'END'
package require tallytree
proc f {n} { for {set i 0} {$i < $n} {incr i} { set x $i } }
tallytree::start -history 1000 -correction b
for {set k 0} {$k < 400} {incr k} { f [expr {$k % 17}] }
set r [tallytree::results]
tallytree::stop
foreach {key value} $r {
    if {[string match "for *" [lindex $key 4]]} {
        set h [dict get $value history]
        set mean [expr {[tcl::mathop::+ {*}$h] / [llength $h]}]
        set squares 0
        foreach t $h { set squares [expr {$squares + ($t - $mean) ** 2}] }
        set deviation [expr {sqrt($squares / [llength $h])}]
        puts "[llength $h] [expr {abs($deviation - [dict get $value deviation]) <= 1e-6 * $deviation}]"
    }
}
END
equal "deviations are those of the single times" "$(tclsh8.6 deviation.tcl | grep ^400)" "400 1"

# ── What measuring costs ─────────────────────────────────────────────────────────────

# A loop of small statements, the fastest of many rounds, by each method; again as long as a
# busy machine says otherwise.
cat >methods.tcl <<'END'
package require tallytree
proc loop {n} { set s 0; while {$n > 0} { incr n -1; incr s 3 }; return $s }
proc fastest {method} {
    tallytree::start -correction $method
    for {set i 0} {$i < 40} {incr i} { loop 500 }
    set r [tallytree::results]
    tallytree::stop
    foreach {key value} $r {
        if {[string match "while*" [lindex $key 4]]} { return [dict get $value min] }
    }
}
set methods {a b c ours {factor 2}}
foreach m $methods { set least($m) inf }
for {set pass 0} {$pass < 20} {incr pass} {
    foreach m $methods { set least($m) [expr {min($least($m), [fastest $m])}] }
    set said [list [expr {$least(a) > 0}] \
        "ours [expr {$least(ours) < $least(b) && $least(ours) > 0}]" \
        "b [expr {$least(b) < $least(a)}]" "c [expr {$least(c) < $least(a)}]" \
        "factor [expr {$least(factor 2) < $least(c)}]"]
    if {![string match *0* $said]} { break }
}
puts [join $said \n]
END
printf '1\nours 1\nb 1\nc 1\nfactor 1\n' >want
tclsh8.6 methods.tcl >got
try "each method takes away what it says" diff want got

# At any depth: the statements above a statement cost nothing.  Then TDK's example: its wall time over
# the time inside the program, repeated as long as a busy machine gives other figures.
cat >depth.tcl <<'END'
package require tallytree
interp recursionlimit {} 5000
proc bottom {} {
    set n 3000
    set start [clock microseconds]
    while {$n > 0} { incr n -1 }
    return [expr {[clock microseconds] - $start}]
}
proc deep {depth} { if {$depth > 0} { deep [expr {$depth - 1}] } else { bottom } }
proc multiply {n m} { set res 0; while {$n > 0} { incr n -1; incr res $m }; return $res }
proc least {what} { for {set i 0} {$i < 10} {incr i} { lappend t [uplevel #0 $what] }; lindex [lsort -integer $t] 0 }
set bare [least { lindex [time { multiply 10000 10 }] 0 }]
tallytree::start
set tries 0
while {[incr tries] < 30 && [least { deep 1000 }] > 2 * [least { deep 10 }]} {}
puts [expr {$tries < 30}]
set tries 0
while {[incr tries] < 30 && [least { lindex [time { multiply 10000 10 }] 0 }] > 11.54 * $bare} {}
puts [expr {$tries < 30}]
tallytree::stop
END
equal "a statement below a thousand calls takes no longer" "$(tclsh8.6 depth.tcl)" "1
1"

# Looked at again and again, or once: the figures are the same.
cat >drain.tcl <<'END'
package require tallytree
proc f {x} { if {$x % 3} { set y $x } else { set z $x }; return $x }
proc work {often} {
    tallytree::start -correction b
    for {set i 0} {$i < 60} {incr i} {
        f $i
        if {$often} { tallytree::results }
    }
    set r [tallytree::results]
    tallytree::stop
    set calls {}
    foreach {key value} $r {
        if {[lindex $key 4] in {{set y $x} {set z $x} {return $x} {f $i}}} { lappend calls "[lindex $key 4] [dict get $value calls]" }
    }
    return [lsort $calls]
}
puts [expr {[work 1] eq [work 0]}]
puts [work 1]
tallytree::start
f 1
tallytree::clear
f 3
set seen {}
foreach {key value} [tallytree::results] { if {[string match "set ?*" [lindex $key 4]] && [dict get $value calls]} { lappend seen [lindex $key 4] } }
tallytree::stop
puts $seen
set out [open other.tcl w]
puts $out "proc other {} {\n    set o 1\n}"
close $out
tallytree::start -history 9
source other.tcl
proc count {} {
    foreach {key value} [tallytree::results] {
        dict set n [lindex $key 4] "[dict get $value calls] [llength [dict get $value history]]"
    }
    list [dict get $n {set o 1}] [dict get $n {f $i}]
}
proc both {} { foreach i {1 2 3} { f $i; other } }
both
puts [count]
tallytree::clear *other.tcl
puts [count]
both
puts [count]
tallytree::clear */drain.tcl
other
puts [count]
tallytree::stop
END
equal "many looks are as one, and what is cleared is gone, of all or of a file" "$(tclsh8.6 "$PWD/drain.tcl")" "1
{f \$i 60} {return \$x 60} {set y \$x 40} {set z \$x 20}
{set z \$x}
{3 3} {3 3}
{0 0} {3 3}
{3 3} {6 6}
{4 4} {0 0}"

# ── Modes ────────────────────────────────────────────────────────────────────────────

profile --mode coverage mult.tcl >/dev/null
counts >got
try "coverage counts all of them" diff mult.want got
equal "and times none" "$(statements | grep '59,10$')" "2,$tmp/mult.tcl,5,,,,,59,10"
profile --mode blocks mult.tcl >/dev/null
counts >got
sed -e 's/^2 5 59 10/2 5 59 23/' -e '/^2 6/d' mult.want >want
try "blocks take a straight run of statements as one" diff want got
cat >procs.tcl <<'END'
proc leaf {n} { if {$n == 2} { error two }; return $n }
proc middle {n} { catch { leaf $n }; leaf 0 }
namespace eval inner { proc p {} { tailcall ::middle 2 } }
for {set i 0} {$i < 5} {incr i} { middle $i }
inner::p
proc many {n} { if {$n > 0} { many [expr {$n - 1}] } }
many 30
proc gen {} { yield; leaf 1; yield; leaf 1 }
coroutine g gen
g
g
proc leaf {n} { return other }
leaf 1
puts done
END
equal "procedures run as they do" "$(profile --mode procs procs.tcl)" done
equal "and every call is counted" "$("$tallytree" report flat --csv p.tt | awk -F, '/procs.tcl/ { print $13 "=" $8 }' | sort | tr '\n' ' ')" "gen=1 inner::p=1 leaf=1 leaf=14 many=31 middle=6 "
equal "with the path that led there" "$("$tallytree" export --to folded --metric calls -o - p.tt | grep '^middle;leaf ' | head -1)" "middle;leaf 12"
printf 'proc f {} { set y 1 }\nfor {set i 0} {$i < 3} {incr i} { f }\n' >top.tcl
profile top.tcl >/dev/null
none "what follows is not in what was before it" sh -c "'$tallytree' export --to folded --metric calls -o - p.tt | grep ';incr i;'"
cat >sampled.tcl <<'END'
proc hot {n} {
    set s 0
    while {$n > 0} { incr n -1; incr s $n }
    return $s
}
proc main {} { for {set i 0} {$i < 300} {incr i} { hot 30000 } }
main
END
profile --mode sampled sampled.tcl >/dev/null
"$tallytree" export --to folded --metric samples -o - p.tt | sort -k2n -t' ' | tail -1 >got
try "samples lie below the statement that called" grep -q '^main;hot 30000;hot [1-9]' got
cat >never.tcl <<'END'
proc f {x} {
    if {$x} { set y 1 } else { set y 2 }
    return $y
}
f 1
END
profile never.tcl >/dev/null
equal "what never ran is listed" "$(statements --uncovered)" "0,$tmp/never.tcl,2,0,0,0,0,44,8"
cat >sourced.tcl <<'END'
namespace eval n { proc unused {} { if {$::x} { list inner } } }
END
cat >uncalled.tcl <<'END'
proc g {a} {
    while {$a} { incr a -1 }
}
source [file join [file dirname [info script]] sourced.tcl]
proc gone {} { list gone }
rename gone {}
puts [info procs]
exit 3
END
# not_run MODE - line and text of what did not.
not_run()
{
    profile --mode "$1" uncalled.tcl >out
    [ $? = 3 ] && [ "$(cat out)" = "$(tclsh8.6 uncalled.tcl)" ] || return
    statements --uncovered | sort -t, -k2,2r -k3,3n -k8,8n | cut -d, -f2,3 |
        while IFS=, read -r file line; do echo "$(basename "$file"):$line"; done | paste -sd ' '
}
for mode in statements coverage; do
    equal "nor did what is in procedures that were not called: $mode" \
        "$(not_run $mode)" "uncalled.tcl:2 uncalled.tcl:2 sourced.tcl:1 sourced.tcl:1"
done

# ── Together with native frames ──────────────────────────────────────────────────────

cat >native.tcl <<'END'
package require tallytree
tallytree::start
proc hot {s} { for {set i 0} {$i < 8000} {incr i} { regsub -all {a+b} $s x } }
hot [string repeat aaab 100]
tallytree::stop
END
"$tallytree" record -o n.tt -- tclsh8.6 native.tcl >/dev/null 2>&1
"$tallytree" export --to folded --metric samples n.tt >folded
try "C's frames lie below the statement that runs them" grep -qE '^hot;for .*;regsub -all .*;Tcl_RegExpExecObj(;[^;]*)* [0-9]+$' folded
try "and nothing is measured on a recording that is under way" eval '! grep -q tallytree_loop folded'
equal "whose calls are exact" "$("$tallytree" report flat --csv --metric calls n.tt | grep -c ',8000,.*,regsub ')" 1

# ── Waiting, and clocks that jump ────────────────────────────────────────────────────

cat >wait.tcl <<'END'
after 2500 { set done 1 }
vwait done
set x 1
END
profile wait.tcl >/dev/null
equal "waiting for an event is nobody's time" "$(statements | awk -F, '$7 > 2000000' | grep -c wait.tcl)" 0
cat >typed.tcl <<'END'
puts ready
flush stdout
gets stdin line
puts $line
END
cat >typist.py <<'END'
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
time.sleep(2.5)
os.write(fd, b"typed\n")
try:
    while os.read(fd, 4096):
        pass
except OSError:
    pass
os.waitpid(pid, 0)
END
python3 typist.py "$tallytree" tcl -o p.tt typed.tcl
equal "nor is what is typed" "$(statements | awk -F, '/typed.tcl,3,/ { print $1, $7 < 1500000 }')" "1 1"
cat >jump.c <<'END'
#include <sys/time.h>
#include <time.h>
/* The system's time goes back by 72 minutes every second time that it is asked for. */
int gettimeofday(struct timeval *t, void *zone)
{
    static int n;
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    t->tv_sec = now.tv_sec - (n++ & 1 ? 72 * 60 : 0);
    t->tv_usec = now.tv_nsec / 1000;
    return 0;
}
END
cc -shared -fPIC -o jump.so jump.c
cat >jump.tcl <<'END'
set jumps 0
set last [clock seconds]
for {set i 0} {$i < 200} {incr i} {
    set now [clock seconds]
    if {$now < $last} { incr jumps }
    set last $now
}
puts [expr {$jumps > 50}]
END
equal "where the clock goes back" "$(LD_PRELOAD=$PWD/jump.so profile jump.tcl)" 1
equal "no time is negative, and none is an hour" "$(statements | awk -F, '$4 < 0 || $5 < 0 || $6 < 0 || $7 < 0 || $7 > 60e6' | wc -l)" 0

# ── Threads and children ─────────────────────────────────────────────────────────────

cat >threads.tcl <<'END'
package require Thread
set body { proc work {n} { for {set i 0} {$i < $n} {incr i} { set x $i } }; work 7; thread::wait }
set t [thread::create $body]
thread::send $t { work 4 }
puts [exec [info nameofexecutable] child.tcl]
thread::release -wait $t
END
echo 'foreach x {1 2 3} { puts -nonewline $x }' >child.tcl
equal "threads and a child run as they do" "$(profile threads.tcl)" "$(tclsh8.6 threads.tcl)"
equal "statements of a thread are in the text that the thread was made with" "$(statements | grep -c '^11,.*threads.tcl,2,')" 2
equal "Tcl's own library is not among them" "$(statements | grep -c -e init.tcl -e pkgIndex)" 0
equal "a child's statements are in the same profile" "$(statements --include '*child.tcl' | cut -d, -f1 | tr '\n' ' ')" "3 1 "
cd - >/dev/null || exit
finish
