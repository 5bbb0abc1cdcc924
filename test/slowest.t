#!/bin/bash
# SPDX-License-Identifier: MIT
# Single activations: the slowest of a block with what they called, and the last.
. "$(dirname "$0")/tap.sh"

tallytree=$TT_BUILD/tallytree

# fails WHAT REASON COMMAND... - ends with 2, and gives the reason.
fails()
{
    local what=$1 reason=$2
    shift 2
    "$@" >"$tmp/said" 2>&1
    try "$what" test $? = 2
    try "$what: why" grep -qF "$reason" "$tmp/said"
}

cat >"$tmp/events" <<'END'
push main
# frame 1 takes 3 + 4 = 7, frame 2 takes 2 + 10 + 5 = 17, frame 3 takes 1
push frame
tick 3
push draw
tick 4
pop
pop
tick 100
push frame
tick 2
push draw
tick 6
push blit
tick 4
pop
pop
push sort
tick 5
pop
pop
push frame
tick 1
pop
pop
END
"$tallytree" replay --slowest frame:2 --history frame:5 -o "$tmp/r.tallytree" "$tmp/events"

columns()
{
    "$tallytree" report slowest "$@" --csv "$tmp/r.tallytree" | tr -d '\r' | cut -d, -f1,2,4-7,9
}

equal "the slowest first, the most expensive callee first" "$(columns)" \
"role,depth,duration,self,calls,start,name
entry,0,17,2,1,107,frame
callee,1,10,6,1,,draw
callee,2,4,4,1,,blit
callee,1,5,5,1,,sort
entry,0,7,3,1,0,frame
callee,1,4,4,1,,draw"
# Within a frame, and within each other: 9 levels of g, of which 8 are looked at.
nested()
{
    printf 'push main\npush request\ntick 5\npush query\ntick 1000\npop\ntick 1\npop\npush query\ntick 3\npop\npush request\ntick 50\npush query\ntick 30\npop\npop\npop\n' >"$tmp/nested"
    "$tallytree" replay --slowest request:3 --slowest query:3 --force -o "$tmp/nested.tt" "$tmp/nested"
    "$tallytree" report slowest --csv "$tmp/nested.tt" | awk -F, '/^entry/ { print $9, $4, $7 }'
}
equal "those within another one are kept, too" "$(nested)" "request 1006 0
query 1000 5
request 80 1009
query 30 1059
query 3 1006"
deep()
{
    { for _ in {1..9}; do printf 'push g\ntick 1\n'; done; printf 'pop\n%.0s' {1..9}; } >"$tmp/deep"
    "$tallytree" replay --recursion none --slowest g:20 --force -o "$tmp/deep.tt" "$tmp/deep"
    "$tallytree" report slowest --csv "$tmp/deep.tt" | awk -F, '/^entry/ { print $4 }'
    "$tallytree" report slowest --no-header "$tmp/deep.tt" | grep '^lost'
}
equal "recursive ones are, down to a limit, which is stated" "$(deep)" "$(seq 9 -1 2; echo 'lost: 1 figures found no room')"

equal "only so many" "$(columns --limit 1 | sed -n '$p')" "remainder,0,,,,,1 more"
equal "the last ones in the order of time" "$(columns --by last)" \
"role,depth,duration,self,calls,start,name
entry,0,7,,1,0,frame
entry,0,17,,1,107,frame
entry,0,1,,1,124,frame"
equal "no other block's" "$(columns --block main)" "role,depth,duration,self,calls,start,name"
equal "their block is looked for" "$(columns --block 'fr*' | grep -c ^entry)" 2
"$tallytree" replay -o "$tmp/plain.tallytree" "$tmp/events"
"$tallytree" report slowest --exclude draw "$tmp/r.tallytree" >"$tmp/said"
try "filters leave the subtrees of activations as they are, and a note says so" grep -q 'filters do not apply to what activations called' "$tmp/said"
fails "none were kept" "'tallytree record --slowest SCOPE:K', see tallytree-record(1), keeps those" "$tallytree" report slowest "$tmp/plain.tallytree"
fails "a wrong mark" "slowest" "$tallytree" replay --slowest frame:0 -o "$tmp/x" "$tmp/events"
finish
