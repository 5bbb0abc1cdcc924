#!/bin/bash
# SPDX-License-Identifier: MIT
# `tallytree report ghc`: cost centres, their stacks, and the same as JSON.
. "$(dirname "$0")/tap.sh"

tallytree=$TT_BUILD/tallytree

cat >"$tmp/events" <<'END'
block fib module=Main file=P.hs line=1 column=1
block unused module=Main file=P.hs line=9 column=1
push fib
tick 600
count alloc 300000
push fib
tick 10
pop
push go
tick 390
count alloc 100000
pop
pop
push idle
pop
END
"$tallytree" replay --recursion block -o "$tmp/rec" "$tmp/events"
"$tallytree" report ghc -p "$tmp/rec" >"$tmp/out"
try "total time" grep -qF 'total time  =        1.00 secs   (1000 ticks @ 1000 us, 1 processor)' "$tmp/out"
try "total alloc" grep -qF 'total alloc =     400,000 bytes  (excludes profiling overheads)' "$tmp/out"
cat >"$tmp/want" <<'END'
COST CENTRE MODULE SRC                 %time %alloc

fib         Main   P.hs:1:1             61.0   75.0
go                 <no location info>   39.0   25.0


                                                         individual      inherited
COST CENTRE MODULE SRC                no.     entries  %time %alloc   %time %alloc

MAIN        MAIN   <built-in>           0           0    0.0    0.0   100.0  100.0
 fib        Main   P.hs:1:1             1           2   61.0   75.0   100.0  100.0
  go               <no location info>   2           1   39.0   25.0    39.0   25.0
 idle              <no location info>   3           1    0.0    0.0     0.0    0.0
END
sed -n '/^COST/,$p' "$tmp/out" >"$tmp/got"
try "-p: the list above 1 %, and the stacks" diff "$tmp/want" "$tmp/got"
"$tallytree" report ghc -P "$tmp/rec" >"$tmp/out"
equal "-P: ticks and bytes too" "$(grep '^ fib' "$tmp/out" | awk '{ print $(NF - 1), $NF }')" "610 300000"
equal "-pa: all cost centres" "$("$tallytree" report ghc -pa "$tmp/rec" | sed -n '/^COST/,/individual/p' | grep -c 'unused')" 1
"$tallytree" report ghc -pj "$tmp/rec" >"$tmp/json"
try "-pj is JSON with GHC's fields" python3 - "$tmp/json" <<'END'
import json, sys
p = json.load(open(sys.argv[1]))
for field in ("program arguments rts_arguments end_time initial_capabilities total_time "
              "total_ticks tick_interval total_alloc cost_centres profile").split():
    assert field in p, field
names = {c["id"]: c["label"] for c in p["cost_centres"]}
def walk(node):
    ticks, alloc = node["ticks"], node["alloc"]
    for child in node["children"]:
        t, a = walk(child)
        ticks, alloc = ticks + t, alloc + a
    return ticks, alloc
assert walk(p["profile"]) == (p["total_ticks"], p["total_alloc"]) == (1000, 400000)
assert names[p["profile"]["id"]] == "MAIN"
assert [names[c["id"]] for c in p["profile"]["children"]] == ["fib", "idle"]
END
equal "inherited is a stack's own and its children's" \
    "$("$tallytree" report ghc -p "$tmp/rec" | awk '/^ fib/ { own = $6; all = $8 } /^  go/ { child = $7 } END { print (own + child == all) }')" 1
try "an unknown form is refused" sh -c "! '$tallytree' report ghc -px '$tmp/rec'"
finish
