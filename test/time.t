#!/bin/bash
# SPDX-License-Identifier: MIT
# A range of time: its figures, how it is written, what merging leaves; and the view timeline.
. "$(dirname "$0")/tap.sh"

tallytree=$TT_BUILD/tallytree
export tallytree tmp

# A program of phases: which block has which weight when, as events and as the truth.
cat >"$tmp/phases.py" <<'END'
import random, sys
out, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
r = random.Random(seed)
events, truth, now = ["strand main"], open(out + ".truth", "w"), 0
weight = 1 << 20  # ticks: nearly a millisecond of a clock whose tick is a nanosecond
for i in range(count):
    if i % (count // 7 + 1) == 0:
        shares = [r.random() for _ in range(5)]
    block = r.choices("abcde", shares)[0]
    events += ["push outer", "push " + block, "sample %d" % weight, "pop", "pop"]
    now += weight
    truth.write("%d %s %d\n" % (now, block, weight))
open(out, "w").write("\n".join(events) + "\n")
END

# truth FILE FROM TO - what each block had in [FROM, TO) ns
truth() { awk -v a="$2" -v b="$3" '$1 >= a && $1 < b { s[$2] += $3 }
    END { for (k in s) printf "%s %.0f\n", k, s[k] }' "$1.truth" | sort; }

# self FILE FLAGS... - what each of these blocks has
self() { "$tallytree" report flat --csv "$@" | python3 -c '
import csv, sys
for r in csv.DictReader(sys.stdin):
    if r["role"] == "entry" and r["name"] in "abcde" and r["self"] != "0":
        print(r["name"], r["self"])' | sort; }

python3 "$tmp/phases.py" "$tmp/one" 1 9000
"$tallytree" replay -o "$tmp/one.rec" "$tmp/one"

equal "a range has what was charged in it" "$(self "$tmp/one.rec" --time 2s..5.5s)" "$(truth "$tmp/one" 2000000000 5500000000)"
equal "from the beginning" "$(self "$tmp/one.rec" --time ..1500ms)" "$(truth "$tmp/one" 0 1500000000)"
end=$(tail -1 "$tmp/one.truth" | cut -d' ' -f1)
equal "to the end" "$(self "$tmp/one.rec" --time 7.25s..)" "$(truth "$tmp/one" 7250000000 99999999999)"
lasted=$("$tallytree" report header --csv "$tmp/one.rec" | sed -n 's/.*lasted,[^,]*,\([0-9]*\).*/\1/p' | head -1)
last=$((end + 1)); [ "${lasted:-0}" -gt "$last" ] && last=$lasted
equal "before the end" "$(self "$tmp/one.rec" --time -2s..-1s)" "$(truth "$tmp/one" $((last - 2000000000)) $((last - 1000000000)))"
equal "by shares of the run" "$(self "$tmp/one.rec" --time 25%..50%)" "$(truth "$tmp/one" $((last / 4)) $((last / 2)))"
equal "a moment alone is the second from there on" "$(self "$tmp/one.rec" --time 3s)" "$(truth "$tmp/one" 3000000000 4000000000)"
equal "by the time of day" "$(self "$tmp/one.rec" --time "$(python3 -c '
import os, subprocess, csv
rows = csv.DictReader(subprocess.check_output([os.environ["tallytree"], "report", "header", "--csv", os.environ["tmp"] + "/one.rec"], text=True).splitlines())
start = next(int(r["number"]) for r in rows if r["name"] == "started")
day = 86400 * 10**9
def clock(t):
    t %= day
    return "%02d:%02d:%02d.%09d" % (t // 3600000000000, t // 60000000000 % 60, t // 10**9 % 60, t % 10**9)
print(clock(start + 2 * 10**9) + ".." + clock(start + 4 * 10**9))')")" "$(truth "$tmp/one" 2000000000 4000000000)"
equal "ranges that share no moment add up to all of it" "$(for r in ..2s 2s..2.1s 2.1s..60% 60%..-1s -1s..; do self "$tmp/one.rec" --time $r; done |
    awk '{ s[$1] += $2 } END { for (k in s) printf "%s %.0f\n", k, s[k] }' | sort)" "$(self "$tmp/one.rec")"
for wrong in 2 2s-3s 5s..2s 2x.. 200%.. 25:00.. 1s2m.. "" ..-; do
    "$tallytree" report flat --time "$wrong" "$tmp/one.rec" >/dev/null 2>"$tmp/err"
    equal "'$wrong' is no range of it" "$? $(grep -c . "$tmp/err")" "2 1"
done
has() { grep -q "$2" <<<"$1"; }
try "a note says that calls are not known then" has "$("$tallytree" report flat --time 2s..3s "$tmp/one.rec")" "time: a range of time has no figures of calls"
equal "and none are shown" "$("$tallytree" report flat --csv --time 2s..3s "$tmp/one.rec" | head -1 | grep -c calls)" 0
try "shares have their intervals" has "$("$tallytree" report flat --time 2s..3s "$tmp/one.rec")" "±"
equal "other filters go with it, in any order" \
    "$("$tallytree" report tree --csv --time 2s..4s --select b "$tmp/one.rec" | grep -v '^note')" \
    "$("$tallytree" report tree --csv --select b --time 2s..4s "$tmp/one.rec" | grep -v '^note')"
equal "exports have it" "$("$tallytree" export --to folded --time 2s..4s "$tmp/one.rec" | awk '{ print $NF }' | paste -sd+ | bc)" \
    "$(truth "$tmp/one" 2000000000 4000000000 | awk '{ s += $2 } END { printf "%.0f", s }')"
equal "a comparison has it, of both sides" "$("$tallytree" diff --csv --limit all --time 2s..4s "$tmp/one.rec" "$tmp/one.rec" | python3 -c '
import csv, sys
for r in csv.DictReader(sys.stdin):
    if r["role"] == "entry" and r["name"] in "abcde" and r["self.a"] == r["self.b"] != "0":
        print(r["name"], r["self.b"])' | sort)" "$(truth "$tmp/one" 2000000000 4000000000)"
"$tallytree" replay --log none -o "$tmp/none.rec" "$tmp/one"
"$tallytree" report flat --time 1s..2s "$tmp/none.rec" >/dev/null 2>"$tmp/err"
equal "without a log that is said" "$? $(grep -c 'no samples by time' "$tmp/err")" "2 1"

# Merging: two files that are thinned together, and one more.
for i in 2 3 4; do
    python3 "$tmp/phases.py" "$tmp/many$i" $i 120000
    "$tallytree" replay -o "$tmp/many$i.rec" "$tmp/many$i"
    "$tallytree" merge -o "$tmp/many$i.tt" "$tmp/many$i.rec"
done
"$tallytree" merge -o "$tmp/234.tt" "$tmp"/many{2,3,4}.tt
"$tallytree" merge -o "$tmp/432.tt" "$tmp"/many{4,3,2}.tt
"$tallytree" merge -o "$tmp/23.tt" "$tmp"/many{2,3}.tt
"$tallytree" merge -o "$tmp/23_4.tt" "$tmp/23.tt" "$tmp/many4.tt"
try "merging gives the same bytes in any order" cmp "$tmp/234.tt" "$tmp/432.tt"
try "and in any grouping" cmp "$tmp/234.tt" "$tmp/23_4.tt"
try "within the cap" test "$(stat -c %s "$tmp/234.tt")" -lt 9000000
equal "and sums stay exact" "$(for r in ..40% 40%..41% 41%..; do self "$tmp/234.tt" --time $r; done | awk '{ s += $2 } END { printf "%.0f", s }')" \
    "$((3 * 120000 * 1048576))"

# The view.
columns() { "$tallytree" report timeline --csv "$@" "$tmp/one.rec" | python3 -c '
import csv, sys
for r in csv.DictReader(sys.stdin):
    print(r["role"], r["name"], r["self"], sum(map(int, r["buckets"].split())))'; }
equal "each row of the timeline adds up to its buckets" "$(columns --by block | awk '$NF != $(NF - 1)' | wc -l)" 0
equal "and rows to the total" "$(columns --by block --limit 2 | awk '$1 != "total" { s += $NF } $1 == "total" { printf "%.0f", s - $NF }')" 0
equal "a bucket has what was charged in it" "$("$tallytree" report timeline --csv --by block --buckets 7 --time 0..7s "$tmp/one.rec" | python3 -c '
import csv, sys
print(*[r["buckets"] for r in csv.DictReader(sys.stdin) if r["name"] == "b"])')" \
    "$(for i in 0 1 2 3 4 5 6; do truth "$tmp/one" ${i}000000000 $((i + 1))000000000 | awk '$1 == "b" { printf "%.0f", n = $2 } END { if (!n) printf 0 }'; echo; done | paste -sd' ')"
# Four processes of one name.
printf '#include <unistd.h>\n#include <sys/wait.h>\nint main(void) { fork(); fork(); for (volatile long i = 0; i < 100000000; i++) ; while (wait(0) > 0) ; }' >"$tmp/several.c"
gcc -O1 -w -o "$tmp/several" "$tmp/several.c" && "$tallytree" record -o "$tmp/several.tt" -- "$tmp/several" 2>/dev/null
processes() { "$tallytree" report timeline --by process --csv "$tmp/several.tt" | grep '^entry'; }
equal "processes of one name have their own rows" "$(processes | wc -l)" 4
equal "with different names" "$(processes | cut -d, -f4 | sort -u | wc -l)" 4
try "text draws it" has "$("$tallytree" report timeline "$tmp/one.rec")" "█"
finish
