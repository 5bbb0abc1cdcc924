#!/bin/bash
# SPDX-License-Identifier: MIT
# Folded stacks, packed or not: a short awk program finds the same figures.  Files that are
# written are read back unchanged.
. "$(dirname "$0")/formats.sh"

# fold ARGS... - FILE... as folded stacks.
fold() { "$tallytree" export --to folded "$@"; }

# gives WANT ARGS... - the output, line by line.
gives()
{
    local want=$1
    shift
    fold "$@" >"$dir/got" && diff "$dir/got" - <<<"$want"
}

# refuses WHERE FILE - with one line that says where and exit status 2, and writes nothing.
refuses()
{
    rm -f "$dir/no"
    fold -o "$dir/no" "$2" 2>"$dir/said"
    [ $? = 2 ] && [ ! -e "$dir/no" ] && cat "$dir/said" &&
        [ "$(wc -l <"$dir/said")" = 1 ] && grep -qF "tallytree: $2:$1: " "$dir/said"
}

# ── Reading ──────────────────────────────────────────────────────────────────────────

cat >"$dir/small" <<'END'
# a remark
main;parse;read 3

main;parse 2
main;operator new(unsigned long) 4
main;parse;read 1
// another
[root] 7
END
small='[root] 7
main;operator new(unsigned long) 4
main;parse 2
main;parse;read 4'
try "stacks are summed up, and remarks left out" gives "$small" "$dir/small"
sed 's/$/\r/' "$dir/small" >"$dir/crlf"
try "lines may end as on Windows" gives "$small" "$dir/crlf"
truncate -s -1 "$dir/small" && try "the last line may lack its end" gives "$small" "$dir/small"
# As of py-spy, rbspy, PHP, Erlang and Rust, and frames that are addresses or of versions.
for first in '<module> (app.py:3);run' '<main> - a.rb:1' '{main};run' '<0.34.0>;lists:map/2' '<T as X>::f' '["x"];f' '[0x12];f' '[2.0]'; do
    printf '%s 12\nmain;f 2\n' "$first" >"$dir/begins"
    try "a stack may begin as '$first'" gives "$(LC_ALL=C sort "$dir/begins")" "$dir/begins"
done
for first in '{"a": 1}' '{"a": [1,' '<a b="c"> 3</a>' '[1, 2, 3]'; do
    printf '%s\nmain;f 2\n' "$first" >"$dir/begins"
    try "but not as '$first'" sh -c "! '$tallytree' report '$dir/begins' 2>/dev/null"
done
gzip -c "$dir/small" >"$dir/small.gz"
cat "$dir/small.gz" <(echo | gzip -c) "$dir/small.gz" >"$dir/twice"
double() { awk '{ n = 2 * $NF; sub(/ [0-9]+$/, ""); print $0, n }' <<<"$small"; }
zstd -qc "$dir/small" >"$dir/small.zst"
try "gzip is unpacked" gives "$small" "$dir/small.gz"
try "zstd is unpacked" gives "$small" "$dir/small.zst"
try "members of gzip go on, as their contents would" gives "$(double)" "$dir/twice"
for code in UTF-16LE UTF-16BE UTF-8; do
    { printf '\xef\xbb\xbf'; cat "$dir/small"; } | iconv -f UTF-8 -t "$code" >"$dir/coded"
    try "$code with its mark is read" gives "$small" "$dir/coded"
done
printf 'a;\xf0\x9f\x8c\xb3\xc3\xa4 2\n' >"$dir/utf8"
{ printf '\xff\xfe'; iconv -f UTF-8 -t UTF-16LE "$dir/utf8"; } >"$dir/coded"
try "characters beyond 16 bits too" gives "$(cat "$dir/utf8")" "$dir/coded"
echo "$(seq -s ';' 40000) 2" >"$dir/deep"
{ printf '\xff\xfe'; iconv -f UTF-8 -t UTF-16LE "$dir/deep"; } >"$dir/coded"
deep() { fold "$dir/coded" | cmp - "$dir/deep"; }
try "and lines that are longer than what is read at once" deep
piped() { gives "$small" - < <(cat "$dir/small"); }
try "standard input is read" piped
for pack in bzip2 lz4 xz; do
    "$pack" -c "$dir/small" >"$dir/small.$pack"
    { cat "$dir/small.$pack"; echo | "$pack" -c; cat "$dir/small.$pack"; } >"$dir/twice.$pack"
    try "$pack is unpacked" gives "$small" "$dir/small.$pack"
    try "all members of it are, $pack" gives "$(double)" "$dir/twice.$pack"
done
{ cat "$dir/small.xz"; head -c 8 /dev/zero; echo | xz -c; cat "$dir/small.xz"; } >"$dir/padded.xz"
try "xz may be filled up with zeros" gives "$(double)" "$dir/padded.xz"
try "several files are added up" gives "$(double)" "$dir/small" "$dir/small.gz"
printf 'a;b 1.5\na 0.25\na;b 2\nc 7.\n' >"$dir/fractions"
try "fractions are kept" gives 'a 0.250000
a;b 3.500000
c 7' "$dir/fractions"
{ seq -f 'f%.0f;g 1' 20000; for i in 1 2 3 4; do echo 'a;b 0.5'; done; } >"$dir/late"
late_fractions() { [ "$(fold "$dir/late" | grep '^a;b ')" = "a;b 2" ]; }
try "and carried over when they come late" late_fractions
try "a profile says the format that it came from" grep -q '^format *folded$' <("$tallytree" report "$dir/small")

# A random file against awk.
random()
{
    awk 'BEGIN { srand(7)
        for (i = 0; i < 20000; i++) {
            s = "main"; depth = int(rand() * 12)
            for (d = 0; d < depth; d++) s = s ";f " int(rand() * rand() * 9)
            print s, int(rand() * 1000) } }'
}
random >"$dir/random"
awk '{ n = $NF; sub(/ [0-9]+$/, ""); sum[$0] += n } END { for (s in sum) if (sum[s]) print s, sum[s] }' \
    "$dir/random" | LC_ALL=C sort >"$dir/want"
as_awk() { fold "$1" | LC_ALL=C sort | cmp - "$dir/want"; }
try "twenty thousand stacks add up as awk does it" as_awk "$dir/random"
sort "$dir/random" >"$dir/sorted"
try "sorted too, where stacks share their beginnings" as_awk "$dir/sorted"
fold "$dir/random" >"$dir/again"
try "what is written is read the same" as_awk "$dir/again"

# ── Depth, length, number ────────────────────────────────────────────────────────────

deep
is_deep() { fold "$dir/deep" | cmp - "$dir/deep"; }
try "a stack of a million frames is a stack" is_deep
# 94 MB of lines take the memory of the tree.
many() { for _ in $(seq 250); do cat "$dir/random"; done; }
few() { many | (ulimit -v 80000; fold -) | awk '{ n = $NF / 250; sub(/ [0-9]+$/, ""); print $0, n }' | LC_ALL=C sort | cmp - "$dir/want"; }
try "a long file takes the memory of its tree" few

# ── Writing ──────────────────────────────────────────────────────────────────────────

"$tallytree" replay -o "$dir/recording" <<'END'
push a;b
tick 2
push c
tick 3
pop
pop
END
try "a recording is written, and what would end a frame replaced" gives 'a:b 2
a:b;c 3' "$dir/recording"
try "another metric can be chosen" gives 'a:b 1
a:b;c 1' --metric calls "$dir/recording"
try "filters apply" gives 'a:b 5' --fold c "$dir/recording"
try "and those of Clean's converter" gives 'a:b 2
a:b;[pruned] 3' --clean --exclude c "$dir/recording"
unknown_metric() { fold --metric none "$dir/recording" 2>"$dir/said"; [ $? = 2 ] && grep -q "there is no metric" "$dir/said"; }
try "a metric that is not there is an error" unknown_metric
"$tallytree" replay -o "$dir/evicted" --budget 64nodes <<END
$(for i in $(seq 300); do printf 'push f%d\npush g%d\ntick 1\npop\npop\n' "$i" "$i"; done)
END
adds_up() { [ "$(fold "$1" | awk '{ sum += $NF } END { print sum }')" = "$2" ]; }
try "what was evicted has a frame of its own" adds_up "$dir/evicted" 300
try "and it says so" grep -q 'elsewhere below' <(fold "$dir/evicted")

cat >"$dir/before" <<'END'
a;b 5
a;gone 2
END
cat >"$dir/after" <<'END'
a;b 4
a;new 1
END
try "two profiles stand beside each other, with what only one has" gives 'a;b 5 4
a;gone 2 0
a;new 0 1' --before "$dir/before" "$dir/after"

# ── What is wrong ────────────────────────────────────────────────────────────────────

printf 'a;b 1\nno count\n' >"$dir/bad"
try "a line without a count is named" refuses 2 "$dir/bad"
printf 'a;b 1\na 18446744073709551616\n' >"$dir/bad"
try "so is a count that is too large" refuses 2 "$dir/bad"
printf 'a 18446744073709551615\nb 1\n' >"$dir/bad"
try "and counts that are together" refuses 2 "$dir/bad"
printf 'a 18446744073709.551615\n' >"$dir/most"
try "the largest count with a fraction is one" gives 'a 18446744073709.551615' "$dir/most"
printf 'b 0.5\na 18446744073709.551616\n' >"$dir/bad"
try "one that its fraction makes too large is named" refuses 2 "$dir/bad"
cut_off()
{
    head -c -3 "$dir/small.$1" >"$dir/bad"
    ! fold "$dir/bad" 2>"$dir/said" && grep -q "ends before it is complete" "$dir/said"
}
try "gzip that was cut off is refused" cut_off gz
try "so is zstd" cut_off zst
for pack in bzip2 lz4 xz; do try "so is $pack" cut_off $pack; done
damaged() { head -c 20 "$1" | cat - <(head -c 99 /dev/zero) >"$dir/bad"; ! fold "$dir/bad" 2>"$dir/said" && grep -q "byte [0-9]*: the $2 data is damaged" "$dir/said"; }
try "damaged gzip is named" damaged "$dir/small.gz" gzip
for pack in bzip2 lz4 xz; do try "so is damaged $pack" damaged "$dir/small.$pack" $pack; done
unknown() { ! fold "$dir/bad" >"$dir/got" 2>"$dir/said" && grep -q "$dir/bad: $1" "$dir/said"; }
echo "some text" >"$dir/bad"
try "what is in no format is refused" unknown "this is not a recording, nor a profile"
: >"$dir/bad"
try "so is an empty file" unknown "this file is empty"
wrong_format() { fold --to foldad "$dir/small" 2>"$dir/said"; [ $? = 2 ] && grep -q "did you mean 'folded'" "$dir/said"; }
try "a format that there is not is an error, with the one that was meant" wrong_format
full() { ! fold "$dir/small" >/dev/full 2>"$dir/said" && grep -q "cannot be written" "$dir/said"; }
try "a full disk is an error" full
gone() { { fold "$dir/random" && echo "${?}" >"$dir/status"; } | head -n 1 >"$dir/got"; [ "$(cat "$dir/status")" = 0 ]; }
try "a reader that goes away is none" gone
# Names that end in blanks, as perf cuts C++ ones at a bracket; and one that is like a remark.
printf 'main;std::function<void ;leaf 3\nmain;std::function<void  4\na;  2\n' >"$dir/blanks"
blanks() { [ "$("$tallytree" report flat --csv --limit all --metric samples "$dir/blanks" | grep -c 'std::function<void ')" = 1 ] && "$tallytree" export --to folded "$dir/blanks" | LC_ALL=C sort | cmp - <(LC_ALL=C sort "$dir/blanks"); }
try "a name may end in blanks, as a leaf too" blanks
# Two counts, as difffolded.pl and export --before write them.
printf 'a;b 4 3\nb 0 7\nc 2 0\n[root] 1 1\n# a remark\n' >"$dir/two"
two() { folds '[root] 1
a;b 3
b 7' "$dir/two" && folds '[root] 1
a;b 4
c 2' "$dir/two" "samples before"; }
try "two counts on each line are two metrics" two
differs() {
    printf 'a;b 3\nb 7\n' >"$dir/then" && printf 'a;b 4\nc 2\n' >"$dir/past" &&
        "$tallytree" export --to folded --before "$dir/past" -o "$dir/both" "$dir/then" && folds "$(cat "$dir/then")" "$dir/both" && folds "$(cat "$dir/past")" "$dir/both" "samples before"
}
try "what export --before writes is read so" differs
sed 's/^b .*/b 7/' "$dir/two" >"$dir/some"
try "a count on some lines alone is of a name that ends in a number" folds '[root] 1 1
a;b 4 3
b 7' "$dir/some"
# Text with a number at the end of a line, and counts that are none.
not_stacks() { printf '%b' "$1" >"$dir/bad" && unknown "this is not a recording, nor a profile"; }
for text in 'chapter 3\nit was a dark night\nand so on\n' '{"recording": \n 5 }' '[ 1,\n 2 3\n'; do
    try "text is no list of stacks: ${text:0:10}" not_stacks "$text"
done
for wrong in -5 1e3; do
    printf 'a;b 1\na;c %s\n' "$wrong" >"$dir/bad"
    try "a count of $wrong is named" refused "$dir/bad" ":2: a count is a number from 0 on"
done
# Kinds of files that are known and not read: each is called by its name, with what converts it.
known() { printf '%b' "$1" >"$dir/bad" && unknown "this is $2"; }
while IFS='|' read -r bytes what; do try "what is not read is known: $what" known "$bytes" ".*$what"; done <<'END'
\24\0\0\0!FastSerialization.1|PerfView reads
JAVA PROFILE 1.0.2\0|heap dump of Java
MOJ\3|mojo2austin
SLOW\0\1|report-sample --protobuf
hdrb\0hetb|hs-speedscope
v8-version,10,2,154|node --cpu-prof
<?xml version="1.0"?>\n<svg>|a picture
Weight\tSelf Weight\tSymbol Names\n3 ms\t0 s\tmain|xctrace export
{"label":"a","ticks":[],"profile":{"libs":[]}}|profiler.firefox.com
Flat profile:\n\nEach|gmon.out itself is read
goroutine 1 [running]:\nmain.main()|?debug=1
PK\3\4\24\0|unpack it
{"root_frame": {}}|pyinstrument -r speedscope
{"elapsed_time_sec": 1}|scalene --viewer
\177ELF\2\1\1|tallytree record
END
printf 'one 1 1.0: 5 x:\n\t12 f (y)\n\t13 # device # (z)\n\n' >"$dir/device"
there_and_back() { "$tallytree" export --to folded -o "$dir/device.folded" "$dir/device" && folds '#device #;f 5' "$dir/device.folded"; }
try "a stack that is written is never a remark" there_and_back
printf '[unknown];main 5\n[unknown] 2\nmain;f 3\n' >"$dir/unknown"
try "the first frame may be in brackets" folds '[unknown] 2
[unknown];main 5
main;f 3' "$dir/unknown"
printf '[1,\n 2]\n' >"$dir/bad"
try "an array of JSON is no stack" unknown "this is not a recording"
cat >"$dir/nameless.json" <<'END'
{"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": ""}, {"name": "f"}]}, "profiles": [{"type": "sampled",
 "name": "p", "unit": "none", "startValue": 0, "endValue": 5, "samples": [[0], [1, 0]], "weights": [3, 2]}]}
END
nameless() { "$tallytree" export --to folded "$dir/nameless.json" >"$dir/one" && folds "(unknown) 3
f;(unknown) 2" "$dir/one"; }
try "a function of an empty name keeps its figures" nameless
# Counts with fractions in other formats, which have them too.
printf 'main;a 0.5\nmain;b 2.25\n' >"$dir/parts"
in_speedscope() { "$tallytree" export --to speedscope "$dir/parts" | python3 -c '
import json, sys
p = json.load(sys.stdin)["profiles"][0]
assert p["endValue"] == 2.75 and sorted({e["at"] for e in p["events"]}) in ([0, 0.5, 2.75], [0, 2.25, 2.75]), p'; }
try "fractions of counts are fractions in speedscope" in_speedscope
speedscope_again() { "$tallytree" export --to speedscope -o "$dir/parts.json" "$dir/parts" && "$tallytree" export --to folded "$dir/parts.json" | diff - <(printf 'main;a 0.500000\nmain;b 2.250000\n'); }
try "and when they are read from there" speedscope_again
in_firefox() { "$tallytree" export --to firefox "$dir/parts" | python3 -c '
import gzip, json, sys
s = json.loads(gzip.decompress(sys.stdin.buffer.read()))["threads"][0]["samples"]
assert sorted(s["weight"]) == [0.5, 2.25] and s["weightType"] == "samples", s'; }
try "so they are for Firefox" in_firefox
printf 'main;a 3\nmain;b 7\n' >"$dir/wholes"
not_added() { for files in "parts wholes" "wholes parts"; do "$tallytree" report "$dir/${files% *}" "$dir/${files#* }" >"$dir/got" 2>"$dir/said"
    [ $? = 2 ] && [ ! -s "$dir/got" ] && grep -q "^tallytree: $dir/${files#* }: counts with fractions and whole counts cannot be added up" "$dir/said" || return; done; }
try "files with fractions and files without are not added up" not_added
printf 'a;[root];b 5\na;[root] 2\na 1\n[root] 3\n' >"$dir/inner"
inner() { [ "$(fold "$dir/inner" | LC_ALL=C sort)" = "$(LC_ALL=C sort "$dir/inner")" ]; }
try "a frame called [root] that has a caller keeps its figure" inner
finish
