#!/bin/bash
# SPDX-License-Identifier: MIT
# `tallytree diff` and `tallytree check` tell changes from noise.
. "$(dirname "$0")/tap.sh"

tallytree=$TT_BUILD/tallytree

# run NAME F G - a recording in which f took F ticks and g, below it, G.
run()
{
    "$tallytree" replay -o "$tmp/$1.rec" <<END
block g file=/build/one/g.c line=$4
push f
tick $2
push g
tick $3
pop
pop
END
}

# side NAME F:G... - a profile of as many runs
side()
{
    local name=$1 i=0 figures
    shift
    for figures; do run "$name$((++i))" "${figures%:*}" "${figures#*:}" "$i"; done
    "$tallytree" merge -o "$tmp/$name.tt" "$tmp/$name"[0-9]*.rec
}

# field ROW COLUMN FILE - of a table in CSV: the column of the entry with that name
field()
{
    awk -F, -v name="$1" -v column="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["name"] == name { print $at[column] }' "$3"
}

side a 100:50 102:50 98:50
side b 130:51 128:49 132:50
side same 99:50 101:50 100:50
"$tallytree" diff --csv "$tmp/a.tt" "$tmp/b.tt" >"$tmp/ab.csv"
equal "figures are means over runs" "$(field f self.a "$tmp/ab.csv") $(field f self.b "$tmp/ab.csv")" "100 130"
equal "changes are differences" "$(field f self.change "$tmp/ab.csv")" 30
equal "the whole has changed as its root has" \
    "$(for c in total.a total.b total.change change total.verdict; do field total $c "$tmp/ab.csv"; done)" \
    "$(for c in total.a total.b total.change change total.verdict; do field "[root]" $c "$tmp/ab.csv"; done)"
equal "which is" "$(field total total.a "$tmp/ab.csv") $(field total total.b "$tmp/ab.csv") $(field total total.verdict "$tmp/ab.csv")" "150 180 more"
equal "totals have what is below" "$(field f total.a "$tmp/ab.csv") $(field f total.b "$tmp/ab.csv")" "150 180"
equal "what is beyond the spread of the runs is more" "$(field f self.verdict "$tmp/ab.csv")" more
equal "blocks match although their lines have moved" "$(field g self.a "$tmp/ab.csv") $(field g self.b "$tmp/ab.csv")" "50 50"
"$tallytree" diff --csv "$tmp/a.tt" "$tmp/same.tt" >"$tmp/same.csv"
equal "what is within it is noise" "$(field f self.verdict "$tmp/same.csv")" noise
"$tallytree" diff --csv "$tmp/b.tt" "$tmp/a.tt" >"$tmp/ba.csv"
equal "the other way round it is less" "$(field f self.verdict "$tmp/ba.csv")" less
"$tallytree" diff --csv "$tmp/a1.rec" "$tmp/b1.rec" >"$tmp/one.csv"
equal "one run tells nothing of noise" "$(field f self.verdict "$tmp/one.csv")" ""
equal "but has its change" "$(field f self.change "$tmp/one.csv")" 30
"$tallytree" diff --csv --normalise "$tmp/a1.rec" "$tmp/b1.rec" >"$tmp/norm.csv"
equal "scaled to the first's total" "$(field "[root]" total.b "$tmp/norm.csv")" 150
"$tallytree" diff --csv --tree "$tmp/a1.rec" "$tmp/b1.rec" >"$tmp/tree.csv"
equal "a tree has each context with its depth" "$(grep ^entry "$tmp/tree.csv" | cut -d, -f2 | tr '\n' ' ')" "0 1 2 "
for sum in self.a self.b; do
    equal "the columns of a tree add up: $sum" \
        "$(awk -F, -v c=$sum 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == c) at = i; next } $1 == "entry" { n += $at } END { print n }' "$tmp/tree.csv")" \
        "$(case $sum in self.a) echo 150 ;; *) echo 181 ;; esac)"
    for of in tree one norm; do
        equal "to the row of the total, and so do those of blocks: $of" "$(field total $sum "$tmp/$of.csv")" \
            "$(case $sum,$of in self.a,* | *,norm) echo 150 ;; *) echo 181 ;; esac)"
    done
done

printf 'push f\ntick 1\npush h\ntick 5\npop\npop\n' | "$tallytree" replay -o "$tmp/h.rec"
"$tallytree" diff --csv "$tmp/a1.rec" "$tmp/h.rec" >"$tmp/new.csv"
equal "what is only in the second is new" "$(field h self.verdict "$tmp/new.csv")" new
equal "and has no figure in the first" "$(field h self.a "$tmp/new.csv")" ""
equal "what is only in the first is gone" "$(field g self.verdict "$tmp/new.csv")" gone

# names FLAGS... - prints the names of rows in their order, then the remaining self
printf 'block g file=/build/two/g.c\npush f\ntick 1\npush g\ntick 50\npop\npush h\ntick 70\npop\npop\n' | "$tallytree" replay -o "$tmp/many.rec"
names()
{
    "$tallytree" diff --csv "$@" "$tmp/a1.rec" "$tmp/many.rec" |
        awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            $at["name"] == "total" { exit }
            { printf "%s ", $at["name"]; a = $at["self.a"]; b = $at["self.b"] } END { print a, b }' | sed 's/ 0 0$//'
}
equal "the largest change stands first" "$(names)" "f h [root] g 50 50"
equal "or a column's greatest" "$(names --sort self.b)" "h g f [root]"
equal "or its least" "$(names --sort -total.b)" "g h f [root]"
equal "what is cut off then adds up, too" "$(names --sort self.b --limit 1)" "h 3 more 150 51"
equal "in a tree among siblings" "$(names --tree --sort self.b)" "[root] f h g 50 50"
equal "and of scaling" "$(names --scaling --sort b --limit 2 | cut -d' ' -f1,2)" "[root] f"
equal "no other column" "$("$tallytree" diff --sort nope "$tmp/a1.rec" "$tmp/many.rec" 2>&1)" \
    "tallytree: diff: there is no column 'nope'; did you mean 'name'?"

# status COMMAND... - its exit status
status() { "$@" >"$tmp/out" 2>"$tmp/err"; echo $?; }

# A run is a file, however many processes it has: each takes as long as before, but there are more.
# processes COUNT FIRST SAMPLES - of a run, as perf script has them
processes()
{
    awk -v count="$1" -v first="$2" -v samples="$3" 'BEGIN {
        for (p = 0; p < count; p++)
            for (i = 0; i < samples; i++)
                printf "p %d/%d 1.%06d: 1000000 cpu-clock: \n\t1000 f (/bin/p)\n\n", first + p, first + p, ++at }'
}
mkdir "$tmp/three" "$tmp/four"
processes 4 100 100 >"$tmp/p4.perf"
processes 16 200 100 >"$tmp/p16.perf"
for i in 1 2 3; do processes 3 "${i}00" "10$i" >"$tmp/three/$i"; done
for i in 1 2 3 4; do processes 5 "${i}50" "10$i" >"$tmp/four/$i"; done
equal "processes of one run are no runs: four times as many take longer" \
    "$(status "$tallytree" check "$tmp/p4.perf" "$tmp/p16.perf")" 1
# What an interrupted run has left.
folder=$tmp/.left.tt.1.live/0123456789abcdef0123456789abcdef
mkdir -p "$folder"
for i in 1 2 3; do
    printf 'push a\ntick %d00\npop\n' $i | "$tallytree" replay -o "$folder/sh.$i"
    sleep 0.01
done
none "recordings in the folder of a run are no runs" \
    grep "means of" <("$tallytree" diff "$tmp/.left.tt.1.live" "$tmp/.left.tt.1.live")
equal "a folder has as many runs as files" "$("$tallytree" diff "$tmp/three" "$tmp/four" | grep -o "means of.*")" \
    "means of 3 runs, then of 4"
"$tallytree" merge -o "$tmp/three.tt" "$tmp/three"
"$tallytree" merge -o "$tmp/four.tt" "$tmp"/four/[12]
"$tallytree" merge -o "$tmp/four.tt" "$tmp/four.tt" "$tmp"/four/[34]
equal "also after they were merged, in any groups" \
    "$("$tallytree" diff --csv "$tmp/three.tt" "$tmp/four.tt" | cksum)" \
    "$("$tallytree" diff --csv "$tmp/three" "$tmp/four" | cksum)"

# Threads with unlike work are no repeated measurements: each takes three times as long.
for times in 1 3; do
    awk -v times=$times 'BEGIN { split("5 200 10", n, " "); for (t = 1; t <= 3; t++) for (i = 0; i < times * n[t]; i++)
        printf "p 7/%d 1.%06d: 1000000 cpu-clock: \n\t1000 f (/bin/p)\n\n", 6 + t, ++at }' >"$tmp/unlike$times.perf"
done
equal "threads of unlike work are not compared with each other: three times as slow is no noise" \
    "$(status "$tallytree" check "$tmp/unlike1.perf" "$tmp/unlike3.perf")" 1

# Strong scaling: 100 ticks of f on one strand, then 60 + 40 + 20 on three; 20 of them lost.
printf 'strand s1\npush f\ntick 100\npop\n' | "$tallytree" replay -o "$tmp/s1.rec"
printf 'strand s1\npush f\ntick 60\npop\nstrand s2\npush f\ntick 40\npop\nstrand s3\npush f\ntick 20\n' |
    "$tallytree" replay -o "$tmp/s3.rec"
"$tallytree" diff --csv --scaling "$tmp/s1.rec" "$tmp/s3.rec" >"$tmp/scaling.csv"
equal "scaling says what was lost" "$(field f lost "$tmp/scaling.csv")" 20
equal "and how efficient it was" "$(field f efficiency "$tmp/scaling.csv")" 0.833333333333333
"$tallytree" diff --json --scaling "$tmp/s1.rec" "$tmp/s3.rec" >"$tmp/scaling.json"
try "as JSON too" python3 -m json.tool "$tmp/scaling.json"

equal "check says 0 when nothing grew" "$(status "$tallytree" check "$tmp/a.tt" "$tmp/same.tt")" 0
equal "and 1 when something did" "$(status "$tallytree" check "$tmp/a.tt" "$tmp/b.tt")" 1
try "which it names" grep -q ' f$' "$tmp/out"
equal "unless it may grow so much" "$(status "$tallytree" check --max-regress 40% "$tmp/a.tt" "$tmp/b.tt")" 0
equal "what is wrong with a metric's name is said" \
    "$("$tallytree" check --metric '' "$tmp/a.tt" "$tmp/a.tt" 2>&1)" "tallytree: check: 'metric' wants a name"
equal "or is not asked for" "$(status "$tallytree" check --only g "$tmp/a.tt" "$tmp/b.tt")" 0
equal "2 when a file is missing" "$(status "$tallytree" check "$tmp/a.tt" "$tmp/none.tt")" 2
equal "2 when a share is none" "$(status "$tallytree" check --max-regress much "$tmp/a.tt" "$tmp/b.tt")" 2
equal "2 when a share is a number of percents without their sign" "$(status "$tallytree" check --max-regress 5 "$tmp/a.tt" "$tmp/b.tt")" 2
equal "so is 1, which may be either" "$(status "$tallytree" check --max-regress 1 "$tmp/a.tt" "$tmp/b.tt")" 2
equal "a part of one is a share" "$(status "$tallytree" check --max-regress 0.05 "$tmp/a.tt" "$tmp/b.tt")" 1
equal "and percents may be more than 100" "$(status "$tallytree" check --max-regress 500% "$tmp/a.tt" "$tmp/b.tt")" 0
equal "2 when no block has such a share" "$(status "$tallytree" check --min-share 200% "$tmp/a.tt" "$tmp/b.tt")" 2
equal "2 when no block is like a pattern" "$(status "$tallytree" check --only prase "$tmp/a.tt" "$tmp/b.tt")" 2
equal "which is said" "$("$tallytree" check --only prase "$tmp/a.tt" "$tmp/b.tt" 2>&1)" "tallytree: check: no block matches 'prase': nothing was compared"
"$tallytree" replay -o "$tmp/nothing.rec" /dev/null
equal "2 when there is nothing to compare with" "$(status "$tallytree" check "$tmp/nothing.rec" "$tmp/b.tt")" 2
equal "and when nothing is there to be compared" "$(status "$tallytree" check "$tmp/a.tt" "$tmp/nothing.rec")" 2
equal "2 with one file" "$(status "$tallytree" check "$tmp/a.tt")" 2
try "check answers as JSON" sh -c "'$tallytree' check --json '$tmp/a.tt' '$tmp/same.tt' | python3 -m json.tool"

# Means of twelve runs are compared as they are, before they are rounded: 29 and 35 twelfths.
for side in 29 35; do
    for i in $(seq 12); do
        printf 'push f\ntick %d\npop\n' $(((side + i - 1) / 12)) | "$tallytree" replay -o "$tmp/part.$i"
    done
    "$tallytree" merge -o "$tmp/mean$side.tt" "$tmp"/part.*
done
equal "growth is that of the means, not of rounded ones" "$(status "$tallytree" check --max-regress 21% "$tmp/mean29.tt" "$tmp/mean35.tt")" 0
equal "to the percent" "$(status "$tallytree" check --max-regress 20% "$tmp/mean29.tt" "$tmp/mean35.tt")" 1

# Two functions have one name, and their files one name in two folders, which another build has elsewhere.
same_file() { printf 'block init file=%s/a/util.c\npush init\ntick %d\npop\nblock init file=%s/b/util.c\npush init\ntick %d\npop\n' "$1" "$2" "$1" "$3"; }
same_file src 100 50 | "$tallytree" replay -o "$tmp/folders1.rec"
same_file /other/src 10 140 | "$tallytree" replay -o "$tmp/folders2.rec"
equal "namesakes in files of one name are told apart by folders" \
    "$("$tallytree" diff --csv "$tmp/folders1.rec" "$tmp/folders2.rec" | awk -F, '/init/ { print $4, $5 }' | sort)" "$(printf '100 10\n50 140')"
equal "one that became slower is found" "$(status "$tallytree" check "$tmp/folders1.rec" "$tmp/folders2.rec")" 1
same_file src 100 50 | sed 's,[ab]/util.c,util.c module=/lib/lib&.so,; s,lib\([ab]\)/util.c,lib\1,; s, file=[^ ]*,,' >"$tmp/modules1"
same_file src 10 140 | sed 's,[ab]/util.c,util.c module=/usr/lib/lib&.so,; s,lib\([ab]\)/util.c,lib\1,; s, file=[^ ]*,,' >"$tmp/modules2"
for i in 1 2; do "$tallytree" replay -o "$tmp/modules$i.rec" "$tmp/modules$i"; done
equal "without files by modules" \
    "$("$tallytree" diff --csv "$tmp/modules1.rec" "$tmp/modules2.rec" | awk -F, '/init/ { print $4, $5 }' | sort)" "$(printf '100 10\n50 140')"

# Time of processors, and with waits.
waste='i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done'
if "$tallytree" record -o "$tmp/cpu.tt" sh -c "$waste" 2>"$tmp/log" && "$tallytree" record --wall -o "$tmp/wall.tt" sh -c "$waste" 2>>"$tmp/log"; then
    equal "time with waits is not checked against CPU time" "$(status "$tallytree" check "$tmp/cpu.tt" "$tmp/wall.tt")" 2
    try "diff says that they are not alike" grep "^not alike" <("$tallytree" diff "$tmp/cpu.tt" "$tmp/wall.tt")
    try "and a view of both that they are mixed" grep "^mixed: of 2 recordings, 1 " <("$tallytree" report flat "$tmp/cpu.tt" "$tmp/wall.tt")
else
    skip "time with waits is not checked against CPU time" "$(tail -n 1 "$tmp/log")"
fi

# Figures of calls alone: ticks were never given.
printf 'push f\npush g\npop\npop\n' | "$tallytree" replay -o "$tmp/few.rec"
printf 'push f\npush g\npop\npush g\npop\npop\n' | "$tallytree" replay -o "$tmp/more.rec"
"$tallytree" diff --csv "$tmp/few.rec" "$tmp/more.rec" >"$tmp/counts.csv"
equal "where there are only calls they are compared" "$(field g self.a "$tmp/counts.csv") $(field g self.b "$tmp/counts.csv")" "1 2"
equal "and checked" "$(status "$tallytree" check "$tmp/few.rec" "$tmp/more.rec")" 1
"$tallytree" diff --csv "$tmp/few.rec" "$tmp/a1.rec" >"$tmp/counts.csv"
equal "with what has ticks, too" "$(field f self.a "$tmp/counts.csv") $(field f self.b "$tmp/counts.csv")" "1 1"
"$tallytree" replay -o "$tmp/none.rec" </dev/null
"$tallytree" diff --csv "$tmp/none.rec" "$tmp/a1.rec" >"$tmp/counts.csv"
equal "and with nothing, what the other has" "$(field f self.b "$tmp/counts.csv")" 100
equal "exports have them" "$("$tallytree" export --to folded "$tmp/more.rec" | tr '\n' ' ')" "f 1 f;g 2 "
equal "a metric that is not there is refused" "$(status "$tallytree" diff --metric words "$tmp/a.tt" "$tmp/b.tt")" 2
# Verdicts on few runs, whose degrees of freedom are no whole number: Welch's test by adding up
# the density of Student's t.
cat >"$tmp/welch.py" <<'END'
import csv, random, statistics, subprocess, sys
tallytree, folder = sys.argv[1:]
rng = random.Random(11)
def outside(t, v):
    """How much of Student's t of v degrees lies beyond t; x = sqrt(v) tan(a) makes it finite."""
    import math
    steps, inside = 4000, math.atan(t / math.sqrt(v))
    area = lambda end: sum(math.cos(end * (i + .5) / steps) ** (v - 1) for i in range(steps)) * end
    return 1 - area(inside) / area(math.pi / 2)
def side(name, runs):
    files = []
    for i, ticks in enumerate(runs):
        files.append("%s/%s%d" % (folder, name, i))
        subprocess.run([tallytree, "replay", "-o", files[-1]], input="".join("push f%d\ntick %d\npop\n" % (n, t) for n, t in enumerate(ticks)), text=True, check=True)
    subprocess.run([tallytree, "merge", "-o", folder + "/" + name + ".tt", *files], check=True)
wrong, told = 0, 0
for case in range(4):
    base = [rng.randrange(1000, 20000) for _ in range(60)]
    shift = [b * rng.choice([1, 1.05, .9, 1.2, 1.5]) for b in base]
    spread = rng.choice([.01, .02, .05])
    a = [[max(1, int(rng.gauss(b, b * spread))) for b in base] for _ in range(rng.randrange(2, 4))]
    b = [[max(1, int(rng.gauss(s, s * spread))) for s in shift] for _ in range(rng.randrange(2, 4))]
    side("few-a", a), side("few-b", b)
    rows = subprocess.run([tallytree, "diff", "--csv", "--limit", "all", folder + "/few-a.tt", folder + "/few-b.tt"], check=True, stdout=subprocess.PIPE, text=True).stdout
    for row in csv.DictReader(rows.splitlines()):
        if not row["name"].startswith("f"):
            continue
        x, y = ([run[int(row["name"][1:])] for run in s] for s in (a, b))
        u, w = statistics.variance(x) / len(x), statistics.variance(y) / len(y)
        if not u + w:
            continue
        t = (statistics.mean(y) - statistics.mean(x)) / (u + w) ** .5
        p = outside(abs(t), (u + w) ** 2 / (u * u / (len(x) - 1) + w * w / (len(y) - 1)))
        if abs(p - .05) < .002: # the table's last digit
            continue
        want = "noise" if p > .05 else "more" if t > 0 else "less"
        told += 1
        if row["self.verdict"] != want:
            wrong += 1
            print(row["name"], row["self.verdict"], "for", want, "p", p)
sys.exit(wrong != 0 or told < 100)
END
try "verdicts on few runs are Welch's" python3 "$tmp/welch.py" "$tallytree" "$tmp"

# Functions of two samplings of threads, most of them as likely in both: a change is more than chance
# by the spread of the threads and by the number of samples, and few of those that are as before seem to
# have changed.
cat >"$tmp/sampled.py" <<'END'
import csv, math, random, statistics, subprocess, sys
tallytree, folder = sys.argv[1:]
rng = random.Random(23)
def outside(t, v):
    """How much of Student's t of v degrees lies beyond t; x = sqrt(v) tan(a) makes it finite."""
    steps, inside = 4000, math.atan(t / math.sqrt(v))
    area = lambda end: sum(math.cos(end * (i + .5) / steps) ** (v - 1) for i in range(steps)) * end
    return 1 - area(inside) / area(math.pi / 2)
def poisson(mean):
    """Knuth's: how many random numbers have a product above exp(-mean)."""
    n, product, least = 0, rng.random(), math.exp(-mean)
    while product > least:
        n, product = n + 1, product * rng.random()
    return n
def side(name, threads):
    at, path = 0, "%s/%s.perf" % (folder, name)
    with open(path, "w") as out:
        for tid, counts in enumerate(threads):
            for f, count in enumerate(counts):
                for _ in range(count):
                    at += 1
                    out.write("prog 7/%d %d.%06d: 4000000 cpu-clock: \n\t%x f%d (/bin/prog)\n\n" % (10 + tid, at // 1000, at % 1000, 4096 + f, f))
    return path
def verdict(a, b):
    """Of each thread's samples: more than chance by the threads' spread, and by the number of samples."""
    x, y = sum(a), sum(b)
    if not x + y:
        return None
    by_samples = abs(y - x) > 1.959964 * math.sqrt(x + y)
    equal = lambda t: 4 * statistics.mean(t) + statistics.mean(t) ** 2 / 25
    if any(statistics.variance(t) > equal(t) for t in (a, b)) or abs(y - x) > 1.959964 * math.sqrt(len(a) * equal(a) + len(b) * equal(b)):
        return "noise" if not by_samples else "new" if not x else "gone" if not y else "more" if y > x else "less"
    u, w = statistics.variance(a) / len(a), statistics.variance(b) / len(b)
    change = statistics.mean(b) - statistics.mean(a)
    if u + w:
        p = outside(abs(change) / math.sqrt(u + w), (u + w) ** 2 / (u * u / (len(a) - 1) + w * w / (len(b) - 1)))
        if abs(p - .05) < .002: # the table's last digit
            return None
    else:
        p = 0 if change else 1
    if not x or not y: # all are on one side, which is no chance if they are more than samples vary by
        return "noise" if not by_samples else "new" if y else "gone"
    return "noise" if p > .05 or not by_samples else "more" if change > 0 else "less"
wrong = cases = false = found = real = new = 0
for case in range(8):
    threads = rng.choice([2, 2, 3, 8])
    means = [rng.choice([.4, 1, 2, 6, 20]) for _ in range(70)]
    grown = [1] * 60 + [4] * 10 # the last ten functions take four times as long
    a = [[poisson(m) for m in means] + [0] for _ in range(threads)]
    b = [[poisson(m * g) for m, g in zip(means, grown)] + [50 * (t == 0)] for t in range(threads)] # one thread has a new function
    rows = subprocess.run([tallytree, "diff", "--csv", "--limit", "all", side("a", a), side("b", b)], check=True, stdout=subprocess.PIPE, text=True).stdout
    for row in csv.DictReader(rows.splitlines()):
        if not row["name"].startswith("f"):
            continue
        n = int(row["name"][1:])
        x, y = [t[n] for t in a], [t[n] for t in b]
        want = verdict(x, y)
        if want is None:
            continue
        got = row["self.verdict"]
        if n == 70:
            new += got == "new"
        elif n < 60:
            cases += 1
            false += got != "noise"
        else:
            real += 1
            found += got != "noise"
        if got != want:
            wrong += 1
            print(row["name"], got, "for", want, x, y)
print("of %d functions that are as before, %d have changed; of %d that have changed, %d" % (cases, false, real, found))
sys.exit(wrong != 0 or new != 8 or cases < 400 or false > .05 * cases or found < real / 4)
END
try "sampled functions that are as before seldom seem to have changed" python3 "$tmp/sampled.py" "$tallytree" "$tmp"


# A block without a file is its namesake that has one, if there is only one.
placed() { printf 'block f file=/src/f.c line=3\nblock g file=/src/g.c line=1\nblock h file=/src/h.c\npush f\ntick 50\npush g\ntick 10\npop\npush h\ntick 1\npop\npop\n' | "$tallytree" replay -o "$tmp/placed"; }
unplaced() { printf 'block h file=/src/h.c\npush f\ntick 70\npush g\ntick 10\npop\npush h\ntick 1\npop\npop\n' | "$tallytree" replay -o "$tmp/unplaced"; }
twice() { printf 'block f file=/src/other.c\npush f\ntick 30\npop\n' | "$tallytree" replay -o "$tmp/other" && "$tallytree" merge -o "$tmp/twice" "$tmp/placed" "$tmp/other"; }
matched() { "$tallytree" diff --csv "$@" | python3 -c '
import csv, sys
for r in csv.DictReader(sys.stdin):
    if r["role"] == "entry" and r["name"] in ("f", "g", "h"): print(r["name"], r["file"], r["self.a"] or "-", r["self.b"] or "-")' | LC_ALL=C sort; }
placed && unplaced && twice
equal "a block without a file is its only namesake that has one" "$(matched "$tmp/placed" "$tmp/unplaced")" 'f f.c 50 70
g g.c 10 10
h h.c 1 1'
equal "on either side, and in trees" "$(matched --tree "$tmp/unplaced" "$tmp/placed")" 'f f.c 70 50
g g.c 10 10
h h.c 1 1'
equal "of two namesakes it is neither" "$(matched "$tmp/unplaced" "$tmp/twice" | grep ^f)" 'f  70 -
f f.c - 25
f other.c - 15'
finish
