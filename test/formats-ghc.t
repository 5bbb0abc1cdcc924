#!/bin/bash
# SPDX-License-Identifier: MIT
# Profiles of GHC: time as JSON and as text, and the heap over time.  hp2ps draws the same for
# our file as for GHC's.  The samples are those of one small program.
. "$(dirname "$0")/formats.sh"
sample=fuzz/formats/ghc

folded() { "$tallytree" export --to folded --metric "$1" "$2"; }

# ── Time ──
cat >"$dir/stacks.py" <<'END'
import collections, json, subprocess, sys
tallytree, file, metric, key = sys.argv[1:]
f = json.load(open(file))
label = {c["id"]: c["label"] for c in f["cost_centres"]}
want = collections.Counter()
def walk(node, path):
    if node[key]: want[";".join(path) or "[root]"] += node[key] * (f["tick_interval"] * 1000 if key == "ticks" else 1)
    for c in node["children"]: walk(c, path + [label[c["id"]]])
walk(f["profile"], [])
got = collections.Counter()
for line in subprocess.run([tallytree, "export", "--to", "folded", "--metric", metric, file], capture_output=True, text=True, check=True).stdout.splitlines():
    stack, n = line.rsplit(" ", 1); got[stack] += int(n)
got.pop("[root]", None); want.pop("[root]", None)
assert got == want and len(got) > 3, (got, want)
END
for m in "time ticks" "bytes alloc" "calls entries"; do
    # shellcheck disable=SC2086
    try "JSON: $m of each stack" python3 "$dir/stacks.py" "$tallytree" $sample/json $m
done
inherited() { "$tallytree" report ghc -P "$sample/ticks" >"$dir/got"
    python3 - "$sample/ticks" "$dir/got" <<'END'
import re, sys
def rows(file):
    table = open(file).read().split("individual")[1].splitlines()[2:]
    # label, then: entries, individual and inherited shares, ticks, bytes
    return sorted((l.split()[0], *re.split(" +", l.strip())[-7:]) for l in table if l.strip())
ours, theirs = rows(sys.argv[2]), rows(sys.argv[1])
assert ours == theirs and len(ours) > 10, [p for p in zip(ours, theirs) if p[0] != p[1]]
END
}
try "text with ticks: entries, shares, inherited shares, ticks and bytes are printed as they were" inherited
round() { "$tallytree" export --to ghc "$sample/json" >"$dir/again" && python3 -m json.tool "$dir/again" >"$dir/log2" && for m in time bytes calls; do folded $m "$dir/again" >"$dir/a" && folded $m "$sample/json" | diff - "$dir/a" || return; done; [ -s "$dir/a" ]; }
try "what was written is valid JSON, and read back the same" round
shares() { folded calls "$sample/shares" >"$dir/a" && folded calls "$sample/ticks" | diff - "$dir/a" && "$tallytree" report header "$sample/shares" | grep -q "from shares"; }
try "text without ticks: calls are exact, and shares are said to be" shares
near() { folded time "$sample/shares" | awk -v all="$(sed -n 's/.*secs *(\([0-9]*\) ticks.*/\1/p' "$sample/shares")" '{ sum += $NF } END { exit !(sum / 1e6 > all * .98 && sum / 1e6 < all * 1.02) }'; }
try "and add up to all but what was rounded" near
sed 's/"P"/"C:\\Program"/; s/"Main"/"M\\ain"/g' $sample/json >"$dir/slashes"
slashes() { "$tallytree" report header "$dir/slashes" | grep -qF 'C:\Program' && "$tallytree" report flat --csv --limit all "$dir/slashes" | grep -qF 'M\ain'; }
try "names that are not escaped are read whole" slashes
cat >"$dir/old" <<'END'
	Thu Jan  1 00:00 1998 Time and Allocation Profiling Report  (Final)

	   old +RTS -p

	total time  =        2.00 secs   (100 ticks @ 20 ms)
	total alloc =   1,000,000 bytes  (excludes profiling overheads)

COST CENTRE          MODULE         %time %alloc

a b c                Main            50.0   25.0


                                              individual    inherited
COST CENTRE          MODULE       no. entries  %time %alloc   %time %alloc

MAIN                 MAIN           1       0    0.0    0.0   100.0  100.0
 CAF                 Main           2       1   50.0   75.0   100.0  100.0
  a b c              Main           3      10   50.0   25.0    50.0   25.0
  é                  Ünï            4       1    0.0    0.0     0.0    0.0
END
old() { "$tallytree" export --to folded "$dir/old" | diff - <(printf 'CAF 1000000000\nCAF;a b c 1000000000\n') && "$tallytree" report flat --csv --limit all "$dir/old" | grep -q ',é,Ünï,'; }
try "text that was cut off is refused" refuses 17 "the file was cut off: its rows have less time than it states in all" '/^  a b c/,$d' "$dir/old"
sed 's/%alloc$/&  ticks  bytes/; s/100.0  100.0$/& 0 0/; / CAF/s/0 0$/50 750000/; s/50.0   25.0$/& 50 250000/; s/0.0    0.0$/& 0 0/' "$dir/old" >"$dir/figures"
try "figures of rows are read" folds $'CAF 1000000000\nCAF;a b c 1000000000' "$dir/figures"
try "and add up to those of the whole, or else rows are missing" refuses 19 "the file was cut off: its rows have less memory" '/^  a b c/s/250000/249999/' "$dir/figures"
try "old text has no SRC; labels may have blanks; columns are characters" old

# Oracle: the file itself.  Rows without figures are not written.
places()
{
    "$tallytree" export --to ghc -o "$dir/places" "$sample/json" && python3 - "$sample/json" "$dir/places" <<'END'
import json, re, sys
def places(name):
    return {(c["label"], c["module"], c["src_loc"]) for c in json.load(open(name))["cost_centres"]}
was, now = places(sys.argv[1]), places(sys.argv[2])
ended = {c for c in was if re.search(r":\d+:\d+-\d+$", c[2])}
whole = {c for c in was if c[2] == "<entire-module>"}
print(len(ended & now), "of", len(ended), "and", len(whole & now), "of", len(whole), now - was)
sys.exit(not (len(ended & now) >= 5 and len(whole & now) >= 3 and all(re.search(r":\d+:\d+$|<no loc", c[2]) for c in now - was)))
END
}
try "GHC's places keep their ends, and those of CAFs are modules" places

bad() { sed "$2" "$3" >"$dir/bad" && refused "$dir/bad" ":$1"; }
try "an id that there is not is refused" bad " byte [0-9]*: there is no cost centre" 's/"children": \[{"id": [0-9]*,/"children": [{"id": 99999,/' $sample/json
try "so is JSON that was cut off" bad " byte" '12q' $sample/json
try "so is a row without its figures" bad "17: a row ends in 6 figures" '17s/ [0-9.]* *$/ x/' "$dir/old"
try "so is a share of more than all" bad "17: a share is larger than the whole" '17s/50\.0/9e99/' "$dir/old"
try "so is a row that is nobody's child" bad "17: a row is indented" '17s/^ /   /' "$dir/old"
try "so is a file without its table" bad "14: there is no table" '14q' "$dir/old"

# ── The heap ──
drawn() { cp "fuzz/formats/hp/$1" "$dir/a.hp" && "$tallytree" export --to hp "$dir/a.hp" -o "$dir/b.hp" && (cd "$dir" && hp2ps -c a.hp && hp2ps -c b.hp && cmp a.ps b.ps && grep -q showpage a.ps); }
for h in hc hb hr; do try "hp2ps draws the same from what we wrote: $h" drawn $h; done
retained() { folded "peak bytes" fuzz/formats/hp/hr | diff - <(awk '/^BEGIN/ { delete now; sum = 0 } /\t/ { n = $NF; sub(/^\([0-9]*\)/, "", $1); now[$1] += n; sum += n } /^END/ && sum > most { most = sum; delete best; for (i in now) best[i] = now[i] } END { for (i in best) print i, best[i] }' fuzz/formats/hp/hr | LC_ALL=C sort) && grep -q ^MANY fuzz/formats/hp/hr; }
try "sets of retainers have the bytes of the largest sample, MANY too" retained
cat >"$dir/small.hp" <<'END'
JOB "p"
DATE "today"
SAMPLE_UNIT "seconds"
VALUE_UNIT "bytes"
BEGIN_SAMPLE 0.000000
END_SAMPLE 0.000000
BEGIN_SAMPLE 0.100000
(7)leaf/mid/top	30
(8)mid/top	5
4 words here	2
END_SAMPLE 0.100000
MARK 0.150000
BEGIN_SAMPLE 0.100000
(7)leaf/mid/top	3000000000
END_SAMPLE 0.100000
BEGIN_SAMPLE 0.400000
(7)leaf/mid/top	4
(9)x..
END
stacks() { folded "peak bytes" "$dir/small.hp" | diff - <(echo "top;mid;leaf 3000000000") && "$tallytree" report header "$dir/small.hp" | grep -q "1 *lost.samples"; }
try "the largest sample is the profile; one that was cut off is counted" stacks
points() { "$tallytree" report series --csv "$dir/small.hp" | diff - <(cat <<'END'
role,depth,group,time,amount,name
entry,0,1,0,0,
entry,0,2,100000000,30,(7)leaf/mid/top
entry,0,2,100000000,5,(8)mid/top
entry,0,2,100000000,2,4 words here
entry,0,3,100000001,3000000000,(7)leaf/mid/top
END
); }
try "samples are points, also empty ones and those of one time" points
cut() { "$tallytree" report series --csv --time "$1" "$dir/small.hp" | grep -c ^entry; }
equal "a range of time cuts it, though there are no samples" "$(cut 50ms..) $(cut not:50ms..)" "4 1"
any() { "$tallytree" export --to hp "$dir/small.hp" >"$dir/c.hp" && grep -q "^_4_words_here	2" "$dir/c.hp" && (cd "$dir" && hp2ps c.hp && grep -q showpage c.ps); }
try "labels that look like numbers do not disturb hp2ps" any
none_to_write() { "$tallytree" export --to hp "$sample/json" 2>&1 | grep -q "there is no series"; }
try "a profile without a series cannot be one" none_to_write
try "a line without a number is refused" bad "9: a line of a sample" '9s/5/five/' "$dir/small.hp"
try "so is a sample within a sample" bad "6: a sample begins within" '6d' "$dir/small.hp"
finish
