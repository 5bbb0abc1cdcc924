#!/bin/bash
# SPDX-License-Identifier: MIT
# The small lazy language of examples/lazy: what its profiles say, against what the machine
# itself knows, and against the documents' worked examples.
. "$(dirname "$0")/tap.sh"
tallytree=${TT_BUILD:-build}/tallytree
programs=examples/lazy

# lazy NAME [FLAG...] - with its profile in $tmp/profile.
lazy()
{
    local name=$1
    shift
    rm -f "$tmp/profile"
    timeout -k 5 500 "${TT_BUILD:-build}/examples/lazy" "$@" "$programs/$name.lazy"
}

# profiled WORDS NAME [FLAG...]
profiled()
{
    local words=$1 name=$2
    shift 2
    lazy "$name" --profile "output=$tmp/profile${words:+,$words}" "$@" >"$tmp/out" 2>"$tmp/err"
}

# calls [FILTER...] - paths with their calls.
calls()
{
    "$tallytree" export --to folded --metric calls "$@" "$tmp/profile"
}

# ── Programs ─────────────────────────────────────────────────────────────────────────

primes_of_2_3_5()
{
    python3 -c 'print(str(sorted(2**a * 3**b * 5**c for a in range(40) for b in range(30)
        for c in range(20))[:400]).replace(" ", ""))' >"$tmp/truth"
    lazy hamming --young 4096 >"$tmp/out" && diff "$tmp/truth" "$tmp/out"
}
try "the numbers of Hamming, while the collector moves all of them" primes_of_2_3_5
try "eight queens stand in 92 ways" test "$(lazy queens --young 8192)" = 92
try "a compiler of expressions runs what it compiled" \
    test "$(lazy compile --young 4096)" = $((((1 + 2) * (3 + 4) - 5) * 6 + 7 * (8 + 9 * (2 + 3))))
for mode in calls sampled exact exact,stacks=creation exact,stacks=ghc exact,recursion=block; do
    try "and so they do under $mode, with every object told of" \
        eval 'profiled '$mode' queens --space --young 8192 && [ "$(cat "$tmp/out")" = 92 ]'
done

# ── Whose is it? ─────────────────────────────────────────────────────────────────────

is_at()
{
    profiled "stacks=$1" "$2" && calls >"$tmp/paths" && cat "$tmp/paths" && grep -qx "$3" "$tmp/paths"
}
try "hamming's * is ham's own under creation" is_at creation hamming 'main;take;ham;\* [0-9]*'
for rule in application ghc; do
    try "and is where it is applied, in ham's map, under $rule" \
        is_at $rule hamming 'main;take;ham;map;map;\* [0-9]*'
done
try "const of f = g (const x) x is f's under creation" is_at creation const 'main;f;const 1'
try "and f.g.const under application" is_at application const 'main;f;g;const 1'
try "and f.g.const for GHC" is_at ghc const 'main;f;g;const 1'

caf()
{
    profiled "" hamming --cafs-at-top && calls >"$tmp/paths" && cat "$tmp/paths" &&
        grep -q '^ham;map' "$tmp/paths" && ! grep -q 'take;ham' "$tmp/paths"
}
try "a constant is charged to the top level, when that is asked for" caf

rule_of_record()
{
    "$tallytree" record --stacks creation -o "$tmp/profile" -- "${TT_BUILD:-build}/examples/lazy" \
        --profile "" "$programs/const.lazy" >"$tmp/out" 2>"$tmp/err" &&
        calls >"$tmp/paths" && cat "$tmp/paths" "$tmp/err" && grep -q ';f;const 1' "$tmp/paths"
}
try "the rule may be said to tallytree record" rule_of_record

try "GHC's rule leads where it led GHC" "$programs/ghc/attribution"
mkdir "$tmp/none"
printf '#!/bin/sh\nexit 1\n' >"$tmp/none/ghc"
chmod +x "$tmp/none/ghc"
try "or once did, where there is no GHC" env PATH="$tmp/none:$PATH" "$programs/ghc/attribution"

# ── Calls ────────────────────────────────────────────────────────────────────────────

# As many calls as there are of all kinds, and as many as were left.
kinds_add_up()
{
    local metric sum=0 n
    profiled "" queens || return
    for metric in "strict calls" "lazy calls" "curried calls"; do
        n=$("$tallytree" export --to folded --metric "$metric" "$tmp/profile" |
            awk '{ n += $NF } END { print n + 0 }')
        echo "$n $metric"
        [ "$n" -gt 0 ] || return
        sum=$((sum + n))
    done
    [ "$sum" = "$(calls --exclude '\[gc\]' | awk '{ n += $NF } END { print n }')" ] &&
        [ "$sum" = "$("$tallytree" export --to folded --metric "tails and returns" \
            "$tmp/profile" | awk '{ n += $NF } END { print n }')" ]
}
try "calls are strict, lazy or curried, and each is left by a tail call or a return" kinds_add_up

# contexts WORDS NAME - and the arcs, with what was counted there.
contexts()
{
    profiled "$1" "$2" && "$tallytree" dump "$tmp/profile" |
        awk -F '\t' '$1 == "context" || $1 == "arc" {
            printf "%s", $1
            for (i = 2; i <= NF; i++)
                if (!/=/ || $i ~ /^(calls|tails and returns|[a-z]* calls)=/ || $i !~ /=/)
                    printf "\t%s", $i
            print ""
        }'
}
# Five queens, or six: the paths of eight, without folding, are 100 MB of text.
same_everywhere()
{
    local name words programs=$tmp/few
    mkdir "$programs" && cp examples/lazy/{hamming,const}.lazy "$programs" &&
        sed "s/queens 8 8/queens $(for_long '5 5' '6 6')/" examples/lazy/queens.lazy >"$programs/queens.lazy" || return
    for name in queens hamming const; do
        for words in application creation ghc application,recursion=none ghc,recursion=block; do
            contexts "calls,stacks=$words" $name >"$tmp/calls" && [ -s "$tmp/calls" ] &&
                contexts "exact,stacks=$words" $name | diff "$tmp/calls" - &&
                contexts "sampled,stacks=$words" $name |
                diff <(sed 's/\t[a-z ]*=[0-9]*//g' "$tmp/calls") <(sed 's/\t[a-z ]*=[0-9]*//g') ||
                { echo "$name under $words"; return 1; }
        done
    done
}
try "calls lead to the same places whether they are counted, timed or sampled" same_everywhere

# Lists that evaluate their elements once, and count each product.
products()
{
    python3 - <<'E'
import sys
sys.setrecursionlimit(100000)
count = 0
class Later:
    def __init__(self, make): self.make = make
    def get(self):
        if self.make: self.value, self.make = self.make(), None
        return self.value
def product(n, x):
    global count
    count += 1
    return n * x.get()
def mapped(n, l):
    head, rest = l.get()
    return Later(lambda: product(n, head)), Later(lambda: mapped(n, rest))
def merge(f, g):
    (a, b), (c, d) = f.get(), g.get()
    if a.get() < c.get(): return a, Later(lambda: merge(b, g))
    if a.get() == c.get(): return merge(f, d)
    return c, Later(lambda: merge(f, d))
by = lambda n: Later(lambda: mapped(n, y))
y = Later(lambda: (Later(lambda: 1), Later(lambda: merge(Later(lambda: merge(by(2), by(3))), by(5)))))
l = y
for _ in range(400):
    last, l = l.get()
    last.get()
print(count)
E
}
partial_applications_are_curried()
{
    local metric
    profiled "" hamming || return
    for metric in "strict calls" "lazy calls" "curried calls"; do
        echo "$metric: $("$tallytree" export --to folded --metric "$metric" "$tmp/profile" |
            awk '/;\* / { n += $NF } END { print n + 0 }')"
    done | tee "$tmp/kinds"
    diff "$tmp/kinds" <(printf 'strict calls: 0\nlazy calls: 0\ncurried calls: %d\n' "$(products)")
}
try "the calls of hamming's (*) 2, a partial application, are curried" partial_applications_are_curried

# figures N - the deepest stack and the most memory of a loop of so many tail calls.
figures()
{
    sed "s/loop 4096/loop $1/" "$programs/loop.lazy" >"$tmp/loop.lazy"
    "${TT_BUILD:-build}/examples/lazy" --young 4096 --figures \
        --profile "output=$tmp/profile.$1" "$tmp/loop.lazy" 2>&1 >"$tmp/out" |
        grep -E '^(deepest|most)'
}
is_constant()
{
    local n
    figures 1024 >"$tmp/small" && figures 4096 >"$tmp/large" && cat "$tmp/small" "$tmp/large" &&
        awk '$1 == "deepest" { if (d && d != $2) exit 1; d = $2 }
             $1 == "most" { if (m && $2 > m * 1.05) exit 1; m = $2 }' "$tmp/small" "$tmp/large" &&
        [ "$(cat "$tmp/out")" = $((4096 * 4097 / 2)) ] || return
    for n in 1024 4096; do
        "$tallytree" dump "$tmp/profile.$n" | grep -cE '^(context|arc)'
        stat -c %s "$tmp/profile.$n"
    done | awk 'NR % 2 { if (n && n != $1) exit 1; n = $1; next } { if (s && s != $1) exit 1; s = $1 }'
}
try "4096 tail calls take no more stack, heap and profile than 1024" is_constant

# ── Space ────────────────────────────────────────────────────────────────────────────

collections_agree()
{
    profiled "" queens --space --young 8192 --figures || return
    awk '/^collections/ { print $2 + 0 }' "$tmp/err" >"$tmp/truth"
    calls | awk '/\[gc\] / { n += $NF } END { print n }' | diff "$tmp/truth" -
}
try "as many collections are told of as the collector made" collections_agree

space_adds_up()
{
    "$tallytree" report mlworks "$tmp/profile" >"$tmp/mlworks" || return
    head -n 40 "$tmp/mlworks"
    awk '$1 == "alloc" && $2 == "copied" { in_table = 1; next }
         in_table && NF >= 3 && $1 ~ /^[0-9]+$/ && !total { total = $1; next }
         in_table && NF >= 3 && $1 ~ /^[0-9]+$/ { sum += $1 }
         END { exit !(total > 0 && sum == total) }' "$tmp/mlworks"
}
try "what all functions allocate is what MLWorks' report has in its first row" space_adds_up

lives_long()
{
    lazy queens --results calls --space --young 8192 2>"$tmp/err" && cat "$tmp/err" &&
        awk '$4 == "concat" { old = $3 > $2 && $2 > 0 } $4 == "safe" { young = $3 < $2 / 4 }
             END { exit !(old && young) }' "$tmp/err"
}
try "what lives long is copied more often than what does not" lives_long

# alive SERIES - in all, at each point.
alive()
{
    "$tallytree" report series --series "live by $1" --csv --limit all "$tmp/profile" |
        awk -F, '/^entry/ { sum[$4] += $5 } END { for (t in sum) print t, sum[t] }' | sort
}
# An object may be born between two points for the one, and before both for the other.
states_add_up()
{
    profiled "series=type+use" queens --use --young 8192 && [ "$(cat "$tmp/out")" = 92 ] &&
        join <(alive use) <(alive type) >"$tmp/sums" && wc -l <"$tmp/sums" &&
        "$tallytree" report series --series "live by use" "$tmp/profile" >"$tmp/use" || return
    for state in LAG USE DRAG VOID; do
        grep -qw "$state" "$tmp/use" || return
    done
    awk '{ if ($2 == $3) same++; else if (($2 - $3) ^ 2 > 128 ^ 2) { print; exit 1 } }
         END { exit !(NR > 20 && same > NR * 0.8) }' "$tmp/sums"
}
try "LAG, USE, DRAG and VOID are together what is alive" states_add_up

# figure NAME - that the machine printed.
figure()
{
    awk -v name="$1" '$1 == name { print $2 }' "$tmp/err"
}

# last_alive SERIES - in all, at the last point.
last_alive()
{
    "$tallytree" report series --series "live by $1" --by time --csv "$tmp/profile" |
        awk -F, '/^entry/ { last = $5 } END { print last }'
}

# The machine counts its objects as they are made, and again after each collection.
peak_is_known()
{
    local young by
    for young in 4096 20000 65536; do
        profiled "space=alloc+copies+types+peak,series=type+block" queens --space --figures --young $young &&
            "$tallytree" export --to folded --metric peak "$tmp/profile" >"$tmp/peak" || return
        echo "$(figure peak) at most, $(figure alive) at last"
        [ "$(figure peak)" -gt "$(figure alive)" ] && [ "$(wc -l <"$tmp/peak")" -gt 5 ] &&
            [ "$(awk '{ n += $NF } END { print n }' "$tmp/peak")" = "$(figure peak)" ] || return
        for by in type block generation; do
            [ "$(last_alive $by)" = "$(figure alive)" ] || { echo "by $by: $(last_alive $by)"; return 1; }
        done
    done
}
try "what was alive when most was is what the machine had, and so is what is in the end" peak_is_known

# graph QUEENS - number of points, ns between two, ns of the last, bytes of the profile.
graph()
{
    sed "s/queens 8 8/queens $1 $1/" "$programs/queens.lazy" >"$tmp/some.lazy"
    "${TT_BUILD:-build}/examples/lazy" --young 8192 --space --figures "$tmp/some.lazy" \
        --profile "output=$tmp/profile,series=type+block" >"$tmp/out" 2>"$tmp/err" &&
        "$tallytree" report series --by time --csv "$tmp/profile" |
        awk -F, '/^entry/ { n++; last = $4 } END { printf "%d %.0f ", n, last }' &&
        "$tallytree" report series --by time "$tmp/profile" |
        awk '/a point every/ { printf "%.0f ", $(NF - 1) }' && stat -c %s "$tmp/profile"
}

# However long the run: when the points are used up, each two become one.
graph_is_bounded()
{
    local n
    for n in 5 7 9; do
        graph $n >"$tmp/graph.$n" && cat "$tmp/graph.$n" &&
            [ "$(last_alive type)" = "$(figure alive)" ] &&
            awk '!($1 <= 124 && $2 <= 124 * ($3 + 1) && ($2 >= 60 * $3 || $3 < 2200000)) { exit 1 }' \
                "$tmp/graph.$n" || return
    done
    awk 'NR == 1 { size = $4 } NR == 2 && $4 > 1.5 * size { exit 1 }' "$tmp/graph.5" "$tmp/graph.9"
}
try "the graph over time has as many points as there is room for, and the last one is right" graph_is_bounded

# retained FILE - by whom, at the end of its run; against an oracle that has the same heap.
retained()
{
    timeout -k 5 500 "${TT_BUILD:-build}/examples/lazy" --young 4096 --retainers --heap "$tmp/heap" \
        --profile "output=$tmp/profile,series=type+retainers" "$1" >"$tmp/out" &&
        "$tallytree" report series --series "live by retainers" --csv --limit all "$tmp/profile" |
        python3 -c 'import csv, sys
rows = [r for r in csv.reader(sys.stdin) if r[0] == "entry"]
last = max(int(r[3]) for r in rows)
print(*(r[4] + " " + r[5] for r in rows if int(r[3]) == last and r[4] != "0"), sep="\n")' |
        LC_ALL=C sort >"$tmp/got" && test/retain-oracle.py <"$tmp/heap" | LC_ALL=C sort >"$tmp/truth" &&
        [ -s "$tmp/truth" ] && diff "$tmp/truth" "$tmp/got"
}

# A list that so many functions have delayed to look at, while others work.
shared()
{
    local i list=
    for i in $(seq "$1"); do
        printf 'f%d ys = length ys : [];\n' "$i"
        list="${list:+$list, }f$i xs"
    done
    cat <<E
main = let xs = range 1 300; in if length xs > 0 then look [$list] else 0;
look ks = if force ks > 0 then work 300 ks else 0;
force ks = case ks of [] -> 0 | x:r -> case x of [] -> 0 | y:ys -> 1 + force r;
work n ks = if n == 0 then length ks else length (range 1 20) - 20 + work (n - 1) ks;
range a b = if a > b then [] else a : range (a + 1) b;
length l = case l of [] -> 0 | x:xs -> 1 + length xs;
E
}

retained_in_programs()
{
    local name
    for name in hamming queens compile; do
        retained "$programs/$name.lazy" || { echo "of $name"; return 1; }
    done
}
try "what is alive is retained by whom an oracle finds" retained_in_programs

# The last point of what was left by the one before; the other series is not it.
retained_for_hp2ps()
{
    "$tallytree" export --to hp --metric "live by retainers" -o "$tmp/r.hp" "$tmp/profile" &&
        awk -F '\t' '/^BEGIN/ { split("", now) } NF == 2 { now[$1] = $2 }
            END { for (i in now) print now[i], i }' "$tmp/r.hp" | LC_ALL=C sort |
        diff "$tmp/truth" - &&
        ! "$tallytree" export --to hp --metric "live by age" "$tmp/profile" 2>"$tmp/err" &&
        grep -q "live by age" "$tmp/err" || return
    ! command -v hp2ps || (cd "$tmp" && hp2ps r.hp && grep -q showpage r.ps)
}
try "and is written for hp2ps" retained_for_hp2ps
by_few()
{
    shared 5 >"$tmp/few.lazy" && retained "$tmp/few.lazy" && cat "$tmp/got" &&
        [ "$(cat "$tmp/out")" = 5 ] && grep -q 'f1,f2,f3,f4,f5' "$tmp/got" && ! grep -q MANY "$tmp/got"
}
try "so is a list that five functions want" by_few
by_many()
{
    shared 9 >"$tmp/many.lazy" && retained "$tmp/many.lazy" && cat "$tmp/got" &&
        [ "$(cat "$tmp/out")" = 9 ] &&
        awk '$2 == "MANY" { n = $1 } END { exit !(n >= 300 * 16) }' "$tmp/got"
}
try "of more than eight it is MANY" by_many
wanted_by_nobody()
{
    profiled "" queens --retainers --young 8192 && [ "$(cat "$tmp/out")" = 92 ] &&
        ! "$tallytree" report series --series "live by retainers" "$tmp/profile" >"$tmp/said" 2>&1 &&
        cat "$tmp/said" && grep -q "no series 'live by retainers'" "$tmp/said"
}
try "where nobody wants to know it is not said" wanted_by_nobody

# ── Clean's file ─────────────────────────────────────────────────────────────────────

goes_round()
{
    profiled "" hamming && "$tallytree" export --to pgcl -o "$tmp/a.pgcl" "$tmp/profile" &&
        "$tallytree" export --to pgcl -o "$tmp/b.pgcl" "$tmp/a.pgcl" &&
        cmp "$tmp/a.pgcl" "$tmp/b.pgcl" &&
        "$tallytree" report header "$tmp/a.pgcl" | grep -q '^overhead .* ticks a thousand calls' &&
        "$tallytree" export --to callgrind -o "$tmp/callgrind" "$tmp/a.pgcl" &&
        grep -q 'fn=.*merge' "$tmp/callgrind" &&
        diff <(calls | sort) <("$tallytree" export --to folded --metric calls "$tmp/a.pgcl" | sort)
}
try "its profile is written as Clean's, read back, and exported to callgrind" goes_round
try "the profile says what memory it takes itself" \
    grep -qE '^memory +[0-9]+ bytes' <("$tallytree" report header "$tmp/profile")

# ── Errors ───────────────────────────────────────────────────────────────────────────

crashes()
{
    printf 'main = g (f 7);\nf x = 1 + h (x - 7);\nh y = 1 + 1 / y;\ng z = 1 + z;\n' >"$tmp/crash.lazy"
    "${TT_BUILD:-build}/examples/lazy" --profile "" "$tmp/crash.lazy" 2>"$tmp/err"
    [ $? = 1 ] && cat "$tmp/err" && diff - <(sed 's/  \/.*$//' "$tmp/err") <<'E'
lazy: division by zero
stack:
  h
  f
  g
  main
  made, or left by a tail call, in:
    main
E
}
try "a crash prints the stack, and where the thunk was made" crashes

# The thunk `f 7` is h's by now: f has called it last, and is no activation any more.
crashes_after_a_tail_call()
{
    printf 'main = g (f 7);\nf x = h (x - 7);\nh y = 1 + 1 / y;\ng z = 1 + z;\n' >"$tmp/tail.lazy"
    "${TT_BUILD:-build}/examples/lazy" --profile "" "$tmp/tail.lazy" 2>"$tmp/err"
    [ $? = 1 ] && diff - <(sed 's/  \/.*$//' "$tmp/err") <<'E'
lazy: division by zero
stack:
  h
  g
  main
  made, or left by a tail call, in:
    f
    main
E
}
try "and names what has made a tail call as such" crashes_after_a_tail_call

keeps_its_profile()
{
    "${TT_BUILD:-build}/examples/lazy" --results "" "$tmp/crash.lazy" 2>"$tmp/err"
    [ $? = 1 ] && cat "$tmp/err" && grep -qx 'lazy: division by zero' "$tmp/err" &&
        [ "$(awk '$1 ~ /^[1-9]/ { print $4, $1 }' "$tmp/err" | paste -sd ,)" = "f 1,g 1,h 1,main 1" ]
}
try "a program that is called for its profile has one up to where it failed" keeps_its_profile
nested()
{
    profiled "" const --results "" && cat "$tmp/out" "$tmp/err" && [ "$(cat "$tmp/out")" = 7 ] &&
        grep -q '^lazy: --results: ' "$tmp/err" && ! grep -q calls "$tmp/err" &&
        calls | grep -q 'const 1'
}
try "while another profile is made it is warned, runs, and has none" nested

is_refused()
{
    printf '%b' "$2" >"$tmp/wrong.lazy"
    "${TT_BUILD:-build}/examples/lazy" "$tmp/wrong.lazy" >"$tmp/out" 2>"$tmp/err"
    [ $? = 2 ] && cat "$tmp/err" && grep -q "^lazy: $tmp/wrong.lazy:$1: " "$tmp/err"
}
try "an error in a program has its line" is_refused 2 'main = 1;\nf x = ;\n'
try "what is not defined is an error" is_refused 1 'main = f 1;\n'
try "a file that ends too early is an error" is_refused 1 'main = let x = 1;'

finish
