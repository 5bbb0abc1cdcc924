#!/bin/bash
# SPDX-License-Identifier: MIT
# `tallytree report fble`: the report and the sequences, by the document's examples.
. "$(dirname "$0")/tap.sh"

tallytree=$TT_BUILD/tallytree

# 1 -> 2 -> {3, 4}, 1 -> 3 with 10, 20, 30, 40, 31; block 5 never runs.
cat >"$tmp/events" <<'END'
block 1 file=f.fble line=10 column=4
block 5 file=f.fble line=50 column=1
push 1
tick 10
push 2
tick 20
push 3
tick 30
pop
push 4
tick 40
pop
pop
push 3
tick 31
pop
pop
END
"$tallytree" replay -o "$tmp/rec" "$tmp/events"
"$tallytree" report fble "$tmp/rec" >"$tmp/out"
equal "coverage" "$(sed -n 3p "$tmp/out")" "blocks executed: 80.00% of 5"
cat >"$tmp/want" <<'END'
Flat Profile by Overall Time
----------------------------
      count     time     self  block
**        1      131       10  1[0001X] **
**        1       90       20  2[0002X] **
**        2       61       61  3[0003X] **
**        1       40       40  4[0004X] **
**        0        0        0  5[0005X] **

Flat Profile by Self Time
-------------------------
    %     self  block
46.56       61  3[0003X]
30.53       40  4[0004X]
15.27       20  2[0002X]
 7.63       10  1[0001X]
 0.00        0  5[0005X]

Call Graph
----------
      count     time  block
**        1      131       10  1[0001X] **
          1       90           2[0002X]
          1       31           3[0003X]
-------------------------------
          1       90           1[0001X]
**        1       90       20  2[0002X] **
          1       40           4[0004X]
          1       30           3[0003X]
-------------------------------
          1       30           2[0002X]
          1       31           1[0001X]
**        2       61       61  3[0003X] **
-------------------------------
          1       40           2[0002X]
**        1       40       40  4[0004X] **
-------------------------------
END
sed -n '/^Flat Profile by Overall/,/^Block Locations/p' "$tmp/out" | sed '/^Block Locations/,$d' | sed '$d' >"$tmp/got"
try "the report" diff "$tmp/want" "$tmp/got"
try "locations" grep -qF '1[0001X]: f.fble:10:4' "$tmp/out"

"$tallytree" report fble --seqs "$tmp/rec" >"$tmp/got"
cat >"$tmp/want" <<'END'
 30.53%       40 1;2;4
 23.66%       31 1;3
 22.90%       30 1;2;3
 15.27%       20 1;2
  7.63%       10 1
END
try "sequences" diff "$tmp/want" "$tmp/got"
for period in 1 2 7 131 132; do
    equal "every $period-th sample: the whole is what fits" \
        "$("$tallytree" report fble --profile-sample-period $period "$tmp/rec" | awk '{ n += $2 } END { print n + 0 }')" $((131 / period))
done
"$tallytree" report fble -s 2 "$tmp/rec" >"$tmp/out"
equal "what is squashed is its caller's" "$(grep -m1 '1\[0001X\] \*\*' "$tmp/out" | tr -s ' ')" "** 1 131 30 1[0001X] **"
try "an unknown flag is refused" sh -c "! '$tallytree' report fble --period 3 '$tmp/rec'"
# Samples have no counts of calls.
for leaf in b b c; do
    printf 'prog 1 1.0: 250000 cpu-clock:\n\t10 %s (/x)\n\t11 a (/x)\n\n' $leaf
done >"$tmp/perf"
"$tallytree" report fble "$tmp/perf" >"$tmp/out"
try "what samples found has run" grep -q '^blocks executed: 100.00% of 3$' "$tmp/out"
equal "each block of samples has its section, and no count" \
    "$(sed -n '/^Call Graph/,/^Block Loc/p' "$tmp/out" | awk '$1 == "**" { print $2, $3, $4, $5 }' | paste -sd ,)" \
    "- 750000 0 a[0001X],- 500000 500000 b[0002X],- 250000 250000 c[0003X]"

finish
