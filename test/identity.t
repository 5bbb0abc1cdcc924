#!/bin/bash
# SPDX-License-Identifier: MIT
# identity.t - blocks of one name are separate blocks: each has an identity, which queries, filters
# and rows use.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree

# Two functions called init, one of which is below the other file's caller; one called 1000;
# one whose name is longer than most.
long=$(printf 'std::__detail::_Executor<%0300d>::_M_dfs' 0)
cat >"$tmp/callgrind.out" <<END
events: Ir
fl=a.c
fn=main
1 10
cfi=b.c
cfn=init
calls=1 5
1 300
cfi=c.c
cfn=init
calls=1 7
1 500
cfi=a.c
cfn=1000
calls=1 9
1 40
cfi=a.c
cfn=$long
calls=1 9
1 60

fl=b.c
fn=init
5 300

fl=c.c
fn=init
7 500

fl=a.c
fn=1000
9 40

fl=a.c
fn=$long
9 60
END

# rows KEY... - these columns of each row of a report in JSON.
cat >"$tmp/rows.py" <<'END'
import json, sys
t = json.load(sys.stdin)
key = [c["key"] for c in t["columns"]]
for r in t["rows"]:
    row = dict(zip(key, r["values"]))
    print(*[r["role"] if k == "role" else row.get(k) for k in sys.argv[1:]])
END
rows() { python3 "$tmp/rows.py" "$@"; }
report() { "$tallytree" report "$@" --json "$tmp/callgrind.out"; }
id_of() { report flat --limit all | rows file name id | awk -v f="$1" -v n="$2" '$1 == f && $2 == n { print $3 }'; }

b=$(id_of b.c init) c=$(id_of c.c init)
[[ $b =~ ^[0-9a-f]{16}$ && $c =~ ^[0-9a-f]{16}$ && $b != "$c" ]]
equal "blocks of one name have different identities" $? 0

self() { report block --block "$1" | rows role self | awk '$1 == "entry" { print $2 }'; }
equal "an identity asks about one block" "$(self "#$b") $(self "#$c")" "300 500"
equal "whatever text stands before it" "$(self "init#$b") $(self "[*?#$c")" "300 500"
equal "a name asks about both" "$(self init)" 800
report block --block init >"$tmp/both"
try "and says which they are, with their identities" \
    grep -q "2 blocks match and are added up as one: b.c:init#$b, c.c:init#$c" "$tmp/both"

total() { report flat "$@" --limit all | rows role self | awk '$1 == "total" { print $2 }'; }
of() { report flat "${@:2}" --limit all | rows file name self | awk -v n="$1" '$2 == n { print $1, $3 }'; }
equal "select keeps the paths of one of them" "$(total --select "#$b")" 300
equal "exclude drops those of one" "$(of init --exclude "#$b")" "c.c 500"
equal "fold gives the cost of one to its caller" "$(of main --fold "#$b")" "a.c 310"
equal "root begins at one" "$(total --root "#$c")" 500
equal "prune sums up one" "$(of init --prune "init#$c")" "b.c 300"

number=$(id_of a.c 1000)
equal "a block that is called as a number is pruned by its identity" \
    "$(of '[pruned]' --prune "1000#$number" | awk '{ print $2 }')" 40
equal "a name of hundreds of letters is no longer than a pattern may be" "$(self "$long")" 60

"$tallytree" export --to folded -o "$tmp/other.folded" "$tmp/callgrind.out"
"$tallytree" merge -o "$tmp/merged.tt" "$tmp/callgrind.out" "$tmp/other.folded"
equal "the identity is the same in a profile that has more blocks" \
    "$("$tallytree" report block --block "#$b" --json "$tmp/merged.tt" | rows role self | awk '$1 == "entry" { print $2 }')" 300
try "an identity that no block has is an error" \
    sh -c "! $tallytree report block --block '#0123456789abcdef' '$tmp/callgrind.out'"
finish
