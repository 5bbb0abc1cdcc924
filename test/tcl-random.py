#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tcl-random.py SEED - a Tcl program made at random, whose commands are of all the kinds that
# are compiled in different ways, in bodies of bodies; it says what it did.
import random
import sys

random.seed(int(sys.argv[1]))
DEPTH = 4


def simple():
    x = random.choice("abcd")
    return random.choice([
        f"incr {x}", f"say {x} ${x}", f"$say {x}", f"late ${x}", f"late {x}",
        f"lappend log {{*}}[list ${x} 1]", f"set {x} [expr {{${x} % 7 + 1}}]",
        f"say [late [$say {x}]] [set {x} [late 2]]", f"unknown ${x}",
    ][:8 + (random.random() < 0.1)])


def body(depth):
    return "; ".join(command(depth) for _ in range(random.randint(1, 4)))


def command(depth):
    x = random.choice("abcd")
    if depth == 0 or random.random() < 0.3:
        return simple()

    def b():
        return body(depth - 1)

    return random.choice([
        lambda: f"if {{${x} % 3 == 1}} {{ {b()} }} elseif {{${x} > 4}} {{ {b()} }} else {{ {b()} }}",
        lambda: f"foreach {x} {{1 2 3}} {{ {b()} }}",
        lambda: f"for {{set i{depth} 0}} {{$i{depth} < 3}} {{incr i{depth}}} {{ {b()} }}",
        lambda: f"switch [late ${x}] {{ 1 {{ {b()} }} 2 - 3 {{ {b()} }} default {{ {b()} }} }}",
        lambda: f"catch {{ {b()} }} msg",
        lambda: f"try {{ {b()}; {random.choice(['error x', 'late 1', 'throw {A B} y'])} }} "
                f"trap {{A B}} {{m o}} {{ {b()} }} on error {{m}} {{ {b()} }} finally {{ {b()} }}",
        lambda: f"set {x} [llength [lmap z {{1 2}} {{ {b()}; late $z }}]]",
        lambda: f"dict for {{k v}} {{p 1 q 2}} {{ {b()} }}",
        lambda: f"foreach q {{1 2 3}} {{ {b()}; if {{$q == 2}} {{ {random.choice(['break', 'continue'])} }}; {b()} }}",
        lambda: f"set w 3; while {{[late $w] > 0}} {{ incr w -1; {b()} }}",
    ])()


print("proc say {args} { global log; lappend log $args; return 2 }")
for i in range(8):
    print(f"proc f{i} {{a b c d}} {{ set say say; set log {{}}; {body(DEPTH)}; return [list $a $b $c $d $log] }}")
print('proc late {x} { global n; incr n; return [expr {$x eq "a" ? 1 : [string is integer $x] ? $x : 3}] }')
for i in range(8):
    print(f"puts [catch {{ f{i} 1 2 3 4 }} r o]:$r")
    print("if {[dict exists $o -errorinfo]} { puts [dict get $o -errorinfo] }")
print(f"set say say; set a 1; set b 2; set c 3; set d 4; puts [catch {{ {body(3)} }} r]:$r")
print('puts "$n [llength $log] [lrange $log end-20 end] $a $b $c $d"')
