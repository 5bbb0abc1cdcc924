#!/bin/bash
# SPDX-License-Identifier: MIT
# `tallytree report mlworks`: functions on stacks, and their callers.
. "$(dirname "$0")/tap.sh"

tallytree=$TT_BUILD/tallytree

# The two stacks of the manual: f seven times, with gaps, and ten times.
{
    for block in f f f f g f f g f; do echo "push $block"; done
    echo "sample 1"
    for _ in $(seq 9); do echo pop; done
    for block in f f f g f f f g f f f f h; do echo "push $block"; done
    echo "sample 1"
} | "$tallytree" replay --recursion none -o "$tmp/pair"
"$tallytree" report mlworks "$tmp/pair" >"$tmp/out"
equal "a pair of stacks: top, scans, found, depth, self" \
    "$(awk '$NF == "f" { print $2, $3, $4, $5, $6 }' "$tmp/out")" "1 2 17 9 3"
equal "frames" "$(grep '^frames scanned' "$tmp/out")" "frames scanned: 22"
equal "the deepest stack" "$(grep '^maximum ML' "$tmp/out")" "maximum ML stack depth: 13"
equal "the mean" "$(grep '^mean ML' "$tmp/out")" "mean ML stack depth: 11.00"

cat >"$tmp/events" <<'END'
block f module=m line=3
block g module=m line=9
push f
push g
sample 1
push h
sample 1
pop
pop
push g
push g
sample 1
pop
pop
push [gc]
sample 1
pop
END
"$tallytree" replay --recursion none -o "$tmp/rec" "$tmp/events"
cat >"$tmp/want" <<'END'
   calls       top     scans     found     depth      self   name
       1         0         3         3         0         0   f[m:3]
       3         2         3         4         1         1   g[m:9]
                 1         3         3                       g[m:9]; f[m:3]
                 1         1         1                       g[m:9]; g[m:9]
       1         1         1         1         0         0   h
                 1         1         1                       h; g[m:9]
---------------------------------------------------------
END
"$tallytree" report mlworks -profile - -profile-depth 1 -profile-manner 3 "$tmp/rec" >"$tmp/out"
sed -n '/^   calls/,$p' "$tmp/out" >"$tmp/got"
try "the table of functions and callers" diff "$tmp/want" "$tmp/got"
printf '%s\n' 'push f' 'sample 1' 'push [profiler]' 'sample 1' 'sample 1' pop 'push [gc]' 'sample 1' 'sample 1' 'sample 1' |
    "$tallytree" replay -o "$tmp/ticks"
equal "ticks in the collector and in the profiler are told apart" \
    "$("$tallytree" report mlworks -profile - "$tmp/ticks" | sed -n 's/^(\(plus .* profiler\).*/\1/p')" \
    "plus 3 ticks in GC, 2 ticks in profiler"
equal "ticks in the collector are no scans" "$(grep -c '^scans: 3$\|plus 1 ticks in GC' "$tmp/out")" 2
"$tallytree" report mlworks -profile - -profile-depth 2 "$tmp/rec" >"$tmp/out"
try "callers of callers" grep -qF '                 1         1         1                       g[m:9]; g[m:9]; f[m:3]' "$tmp/out"
"$tallytree" report mlworks -profile - -profile-manner $((3 + (2 << 16))) "$tmp/rec" >"$tmp/out2"
equal "the manner has the depth in its high bits" "$(grep -c ';.*;' "$tmp/out2")" "$(grep -c ';.*;' "$tmp/out")"
"$tallytree" report mlworks -profile - -profile-select h "$tmp/rec" >"$tmp/out"
equal "only some functions" "$(grep -c '\[m:\|  h$' "$tmp/out")" 1
"$tallytree" report mlworks -profile - -profile-manner 2 "$tmp/rec" >"$tmp/out"
try "calls that were not counted are a dash" grep -q '^       -         0         3         3' "$tmp/out"
printf 'push f\npush g\npush f\ntick 1\n' | "$tallytree" replay --recursion drop -o "$tmp/drop"
equal "calls that were dropped are calls" \
    "$("$tallytree" report mlworks -profile - "$tmp/drop" | awk '$NF == "f" { print $1 }')" 2
"$tallytree" report mlworks -profile "$tmp/file" -profile-scan 0 "$tmp/rec"
try "the report goes to the file of -profile" grep -q '^MLWorks profiler report' "$tmp/file"

# refused FLAGS... - is it an error that says why?
refused() { "$tallytree" report mlworks "$@" "$tmp/rec" >"$tmp/said" 2>&1; [ $? = 2 ] && [ -s "$tmp/said" ]; }
for flag in '-profile-scan 5' '-profile-depth 2' '-profile-select f' '-profile-manner 7'; do
    # shellcheck disable=SC2086
    try "$flag wants -profile" refused $flag
done
try "depth 16 is refused" refused -profile - -profile-depth 16
try "a manner beyond its bits is refused" refused -profile - -profile-manner 99999999

# Nobody counted calls.
printf 'main;f 5\nmain;g 2\n' >"$tmp/folded"
"$tallytree" report mlworks "$tmp/folded" >"$tmp/out"
equal "calls that were not counted are not known" "$(awk '$NF == "f" { print $1, $2 }' "$tmp/out")" "- 5"

finish
