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
equal "the rest of the run has the others" "$(self "$tmp/one.rec" --time not:2s..5.5s)" \
    "$(cat <(truth "$tmp/one" 0 2000000000) <(truth "$tmp/one" 5500000000 99999999999) | awk '{ s[$1] += $2 } END { for (k in s) printf "%s %.0f\n", k, s[k] }' | sort)"
equal "in nanoseconds, too" "$(self "$tmp/one.rec" --time 2000000000ns..5500000000ns)" "$(truth "$tmp/one" 2000000000 5500000000)"
equal "also of a range" "$(self "$tmp/one.rec" --time 2s..5s --time not:3s..4s)" \
    "$(cat <(truth "$tmp/one" 2000000000 3000000000) <(truth "$tmp/one" 4000000000 5000000000) | awk '{ s[$1] += $2 } END { for (k in s) printf "%s %.0f\n", k, s[k] }' | sort)"
for wrong in 2 2s-3s 5s..2s 2x.. 200%.. 25:00.. 1s2m.. "" ..- not: not:.. not:not:2s..3s; do
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
"$tallytree" export --to pprof --time 2s..4s -o "$tmp/range.pb.gz" "$tmp/one.rec"
equal "and its length, and begin" "$("$tallytree" report header --csv "$tmp/range.pb.gz" | grep -o 'lasted,[^,]*,[0-9]*\|started,[^,]*,[0-9]*' | grep -o '[0-9]*$' | paste -sd' ')" \
    "2000000000 $(($("$tallytree" report header --csv "$tmp/one.rec" | grep -o 'started,[^,]*,[0-9]*' | grep -o '[0-9]*$') + 2000000000))"
equal "a comparison has it, of both sides" "$("$tallytree" diff --csv --limit all --time 2s..4s "$tmp/one.rec" "$tmp/one.rec" | python3 -c '
import csv, sys
for r in csv.DictReader(sys.stdin):
    if r["role"] == "entry" and r["name"] in "abcde" and r["self.a"] == r["self.b"] != "0":
        print(r["name"], r["self.b"])' | sort)" "$(truth "$tmp/one" 2000000000 4000000000)"

# A range and the rest of the run, by the figures of the truth: what each block would have had in
# the rest if it was as long, and whether its number of samples in the range is one that chance
# gives, where each sample of the run is in the range with the same probability.
cat >"$tmp/rest.py" <<'END'
import csv, os, subprocess, sys
tallytree, one, flags = os.environ["tallytree"], os.environ["tmp"] + "/one", sys.argv[3:]
begin, end = (int(float(s) * 1e9) for s in sys.argv[1:3])
truth = [(int(t), b, int(w)) for t, b, w in map(str.split, open(one + ".truth"))]
run = int(os.environ["last"])
inside, outside = {}, {}
for t, b, w in truth:
    of = inside if begin <= t < end else outside
    for name in (b, "outer"):
        of[name] = of.get(name, 0) + w
length, total = end - begin, (sum(v for k, v in of.items() if k != "outer") for of in (inside, outside))
scale = length / (run - length)
if "--normalise" in flags:
    scale = inside["outer"] / outside["outer"]
rows = subprocess.check_output([tallytree, "diff", "--csv", "--limit", "all", "--time", "%gs..%gs" % (begin / 1e9, end / 1e9), *flags, one + ".rec"], text=True)
seen = 0
for r in csv.DictReader(rows.splitlines()):
    if r["role"] != "entry" or r["name"] == "[root]":
        continue
    seen += 1
    a, b = outside.get(r["name"], 0), inside.get(r["name"], 0)
    n, of = b / w, (a + b) / w
    share = scale / (1 + scale)
    z = (n - of * share) / (of * share * (1 - share)) ** .5
    want = "noise" if abs(z) < 1.959964 else "more" if z > 0 else "less"
    assert int(r["total.b"] or 0) == b, r
    assert abs(int(r["total.a"] or 0) - a * scale) <= 1 + 1e-7 * a * scale, (r, a * scale)
    assert abs(abs(z) - 1.96) < .01 or r["total.verdict"] == want, (r, z, want)
assert seen == 6, seen
END
export last
for range in "2 5.5" "0 0.3" "7.9 8.2" "4 4.02" "1 9"; do
    # shellcheck disable=SC2086
    try "a range is compared with as much of the rest: $range" python3 "$tmp/rest.py" $range
done
try "or by shares" python3 "$tmp/rest.py" 2 5.5 --normalise
try "or by paths" python3 "$tmp/rest.py" 2 5.5 --tree
"$tallytree" diff --csv --time not:2s..5.5s "$tmp/one.rec" >"$tmp/not.csv"
equal "the rest is compared with a range, too" "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $at["name"] == "b" { print $at["self.b"] }' "$tmp/not.csv")" \
    "$(self "$tmp/one.rec" --time not:2s..5.5s | awk '$1 == "b" { print $2 }')"
try "a note says which it is" has "$("$tallytree" diff --time 2s..5.5s "$tmp/one.rec")" "time: 2.000 s to 5.500 s of .* s; else: the other"
for wrong in "--select b" "--time 2s..3s --time 4s..5s" "--time not:.." "--time 2s..3s --metric calls" "--scaling --time 2s..3s"; do
    # shellcheck disable=SC2086
    "$tallytree" diff $wrong "$tmp/one.rec" >/dev/null 2>"$tmp/err"
    equal "one file is not compared by $wrong" "$? $(grep -c . "$tmp/err")" "2 1"
done
"$tallytree" replay --log none -o "$tmp/none.rec" "$tmp/one"
"$tallytree" diff --time 1s..2s "$tmp/none.rec" >/dev/null 2>"$tmp/err"
equal "nor is one without a log" "$? $(grep -c 'no samples by time' "$tmp/err")" "2 1"
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
# A sample has the time before it, and the loops leave no gap: what of it is in each second.
equal "a bucket has the time of the samples that cover it" "$("$tallytree" report timeline --csv --by block --buckets 7 --time 0..7s "$tmp/one.rec" | python3 -c '
import csv, sys
print(*[r["buckets"] for r in csv.DictReader(sys.stdin) if r["name"] == "b"])')" "$(python3 - "$tmp/one.truth" <<'END'
import sys
buckets = [0] * 7
for line in open(sys.argv[1]):
    to, block, weight = line.split()
    to, weight = int(to), int(weight)
    for i in range(7):
        if block == "b" and to < 7 * 10**9:
            buckets[i] += max(0, min(to, (i + 1) * 10**9) - max(to - weight, i * 10**9))
print(*buckets)
END
)"
# Threads with gaps, overlaps and weights that may not fit: brute force says which samples there are.
cat >"$tmp/threads.py" <<'END'
import csv, os, random, subprocess
tallytree, file = os.environ["tallytree"], os.environ["tmp"] + "/threads"
def report(file, *words):
    out = subprocess.run([tallytree, "report", "timeline", "--csv", "--limit", "all", *words, file], check=True, text=True, stdout=subprocess.PIPE).stdout
    rows = list(csv.DictReader(out.splitlines()))
    for r in rows:
        cells = list(map(int, r["buckets"].split()))
        assert sum(cells) == int(r["self"]), (words, r)
    assert sum(int(r["self"]) for r in rows if r["role"] != "total") == int(rows[-1]["self"]), words
    return rows
def speedscope(file, threads):
    import json
    profiles = [{"type": "sampled", "name": "t%d" % i, "unit": "nanoseconds", "startValue": 0, "endValue": sum(w), "samples": [[k % 2] for k in range(len(w))], "weights": w} for i, w in enumerate(threads)]
    json.dump({"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "a"}, {"name": "b"}]}, "profiles": profiles}, open(file + ".json", "w"))
for seed in range(4):  # samples that begin at their time, one after the other: each bucket is full
    r = random.Random(seed)
    weights = [r.choice([1, 30, 10**6, 2 * 10**9]) for _ in range(r.randrange(1, 40))]
    speedscope(file, [weights])
    length = sum(weights) + 1  # the run ends 1 ns after the last sample
    for buckets in (1, 2, 7, 60, 1000):
        total = report(file + ".json", "--buckets", str(buckets))[-1]
        edges = [length * i // buckets for i in range(buckets + 1)]
        truth = [min(edges[i + 1], length - 1) - edges[i] for i in range(buckets)]
        assert list(map(int, total["buckets"].split())) == truth, (seed, buckets, total, truth)
for seed in range(4):  # samples that end at their time, with weights as they come
    r = random.Random(seed)
    us, samples = 10**6, [(10**6, 99, 1000)]
    for _ in range(60):
        us += r.choice([1, 100, 5000])
        samples.append((us, r.randrange(100, 103), r.choice([1000, 100000, 7000000])))
    with open(file + ".perf", "w") as f:
        for us, thread, weight in samples:
            f.write("prog 7/%d [001] %d.%06d: %d cpu-clock:u: \n\t1000 f+0x1 (/bin/prog)\n\n" % (thread, us // 10**6, us % 10**6, weight))
    length = (samples[-1][0] - 10**6) * 1000 + 1
    own = {t: sum(w for _, u, w in samples if u == t) for t in range(99, 103)}
    for buckets in (1, 3, 60, 1000):
        rows = report(file + ".perf", "--buckets", str(buckets))
        for row in rows[:-1]:
            thread = int(row["name"].split()[-1])
            assert int(row["self"]) == own[thread], row
            if own[thread] <= length:
                assert float(row["most"]) <= 1, (seed, buckets, row)
        parts = [sum(int(report(file + ".perf", "--time", t, "--buckets", str(buckets))[-1]["self"]) for t in ("..30%", "30%..31%", "31%.."))]
        assert sum(parts) == sum(own.values()), (seed, parts)
END
try "a bucket has no more than its length of one thread" python3 "$tmp/threads.py"
printf 'int main(void) { for (volatile long i = 0; i < 200000000; i++) ; }' >"$tmp/loop.c"
at_once() { gcc -O1 -w -o "$tmp/loop" "$tmp/loop.c" && for way in "" --sampled=20 --wall; do
    "$tallytree" record ${way:+"$way"} --force -o "$tmp/loop.tt" -- "$tmp/loop" 2>/dev/null || return 1
    for buckets in 60 200 1000; do "$tallytree" report timeline --csv --buckets $buckets "$tmp/loop.tt" | python3 -c '
import csv, sys
assert all(float(r["most"]) <= 1 for r in csv.DictReader(sys.stdin))' || return 1; done; done; }
try "a recorded thread uses one processor at most" at_once
# Four processes of one name.
printf '#include <unistd.h>\n#include <sys/wait.h>\nint main(void) { fork(); fork(); for (volatile long i = 0; i < 100000000; i++) ; while (wait(0) > 0) ; }' >"$tmp/several.c"
gcc -O1 -w -o "$tmp/several" "$tmp/several.c" && "$tallytree" record -o "$tmp/several.tt" -- "$tmp/several" 2>/dev/null
processes() { "$tallytree" report timeline --by process --csv "$tmp/several.tt" | grep '^entry'; }
equal "processes of one name have their own rows" "$(processes | wc -l)" 4
equal "with different names" "$(processes | cut -d, -f4 | sort -u | wc -l)" 4
# Exact times have waits, samples of the CPU time have none.
printf '#include <unistd.h>\nvoid nap(void) { usleep(400000); }\nint main(void) { nap(); for (volatile long i = 0; i < 100000000; i++) ; }' >"$tmp/exact.c"
gcc -O1 -w -finstrument-functions -o "$tmp/exact" "$tmp/exact.c" && "$tallytree" record --exact -o "$tmp/exact.tt" -- "$tmp/exact" 2>/dev/null
range() { "$tallytree" report header --time 0%..100% --csv "$tmp/exact.tt" | sed -nE 's/^entry,0,0,metric,"?([a-z]*).*,([0-9]*)$/\1 \2/p'; }
equal "beside exact times, a range has samples of CPU time, and says so" "$(range | cut -d' ' -f1 | paste -sd' ')" "cpu samples"
try "it lacks the exact times" grep -q "no figures of.*time" <("$tallytree" report flat --time 0%..100% "$tmp/exact.tt")
try "text draws it" has "$("$tallytree" report timeline "$tmp/one.rec")" "█"
for view in timeline chart bursts parallel; do
    "$tallytree" report $view --metric calls "$tmp/exact.tt" >/dev/null 2>"$tmp/err"
    equal "$view refuses a metric that its samples do not have" "$? $(grep -c "'$view' shows time only" "$tmp/err")" "2 1"
done
finish
