#!/bin/bash
# SPDX-License-Identifier: MIT
# Objects in a replay: allocation sites, survivors, live objects; against an oracle that examines
# every object.
. "$(dirname "$0")/tap.sh"
tallytree()
{
    timeout -k 5 500 "${TT_BUILD:-build}/tallytree" "$@"
}

# objects DUMP - its lines of space, summed over the strands, as the oracle has them.
objects()
{
    awk -F '\t' '
        function add(table, key, sign, text,    figure, i) {
            sub(/^[a-z]*=/, "", text)
            split(text, figure, ",")
            for (i = 1; i <= 3; i++)
                sum[table " " key, i] += sign * figure[i]
            keys[table " " key]
        }
        $1 == "space" {
            split($4, way, ">")
            last = NF
            add("all", $3 " " $2 " " $4, 1, $(last - 1))
            generation = way[2] != "-" ? way[2] : way[1] ~ /^a/ ? 0 : way[1]
            add("alive", $3 " " $2 " " generation, way[2] != "-" ? 1 : -1, $last)
        }
        END {
            for (key in keys)
                if (sum[key, 1])
                    print key, sum[key, 1], sum[key, 2], sum[key, 3]
        }' "$1" | LC_ALL=C sort
}

# walk_agrees SEED LENGTH
walk_agrees()
{
    test/space-walk.pl "$1" "$2" >"$tmp/walk" &&
        tallytree replay --recursion none -o "$tmp/walk.tallytree" "$tmp/walk" &&
        tallytree dump "$tmp/walk.tallytree" >"$tmp/dump" &&
        objects "$tmp/dump" >"$tmp/got" &&
        LC_ALL=C test/space-oracle.pl "$tmp/walk" | LC_ALL=C sort >"$tmp/truth" &&
        [ -s "$tmp/truth" ] && diff "$tmp/truth" "$tmp/got"
}

random_walks()
{
    local seed
    for seed in $(seq 1 "${TT_WALKS:-30}"); do
        walk_agrees "$seed" $((50 + seed * 10)) || echo "walk $seed"
    done
}

none "random objects end where an oracle has them" random_walks

# series NAME - its points in the profile of the walk, and the last ones as its end.
series()
{
    tallytree report series --csv --limit 99 --series "live by $1" "$tmp/walk.tallytree" |
        awk -F , -v name="$1" '
            $1 != "entry" { next }
            $4 != time { delete last; time = $4 }
            { last[$6] = $5 }
            $5 > 0 { print name, $6, $4, $5 }
            END { for (label in last) if (last[label] > 0) print name, label, "end", last[label] }'
}

# series_agree SEED LENGTH
series_agree()
{
    local interval last name
    test/space-walk.pl "$1" "$2" 1 >"$tmp/walk" &&
        tallytree replay --recursion none --series type+block+use -o "$tmp/walk.tallytree" "$tmp/walk" ||
        return
    interval=$(tallytree report series "$tmp/walk.tallytree" | sed -n 's/.*a point every \([0-9]*\) ticks.*/\1/p')
    for name in type block generation use; do
        series $name
    done | LC_ALL=C sort >"$tmp/got"
    last=$(awk '$3 > last && $3 != "end" { last = $3 } END { print last }' "$tmp/got")
    test/space-oracle.pl "$tmp/walk" "$interval" "$last" | LC_ALL=C sort >"$tmp/truth"
    [ "$interval" ] && [ -s "$tmp/truth" ] && diff "$tmp/truth" "$tmp/got" || return
    awk '{ sum[$1, $3] += $NF; times[$3] }
        END { for (t in times) if (sum["type", t] != sum["use", t]) print t, sum["type", t], sum["use", t] }' "$tmp/got" >"$tmp/unequal"
    [ ! -s "$tmp/unequal" ] || { cat "$tmp/unequal"; return 1; }
}

random_series()
{
    local seed
    for seed in $(seq 1 "${TT_WALKS:-10}"); do
        series_agree "$seed" $((200 + seed * 30)) || echo "walk $seed"
    done
}

none "what is alive over time is what an oracle says" random_series

printf '#include <tallytree.h>\nint main(int c, char **v) { tt_start(v[c - 1]); tt_tick(5000);
    tt_alloc(tt_type_get("t"), 16, 0); tt_tick(3000); return tt_stop(); }\n' >"$tmp/seconds.c"
in_seconds()
{
    cc -Iinclude -o "$tmp/seconds" "$tmp/seconds.c" -L"$TT_BUILD" -ltallytree -Wl,-rpath,"$TT_BUILD" &&
        "$tmp/seconds" "clock=caller:1000,output=$tmp/seconds.tt" || return
    tallytree report series --csv "$tmp/seconds.tt" | awk -F, '/^entry/ && $5 == 16 && $4 > 5e9 && $4 < 8.2e9 { n++ } END { exit !n }'
}
try "a clock of the caller with a known frequency gives times in seconds" in_seconds

# peak_agrees SEED LENGTH - by path; in each part of the run another maximum may be kept.
peak_agrees()
{
    test/space-walk.pl "$1" "$2" >"$tmp/walk" &&
        tallytree replay --recursion none --space alloc+copies+types+peak -o "$tmp/walk.tallytree" "$tmp/walk" &&
        tallytree export --to folded --metric peak "$tmp/walk.tallytree" | LC_ALL=C sort >"$tmp/got" &&
        test/space-oracle.pl "$tmp/walk" peak | LC_ALL=C sort >"$tmp/truth" &&
        [ -s "$tmp/truth" ] && diff "$tmp/truth" "$tmp/got"
}

random_peaks()
{
    local seed
    for seed in $(seq 1 "${TT_WALKS:-10}"); do
        peak_agrees "$seed" $((50 + seed * 20)) || echo "walk $seed"
    done
}

none "what was alive when most was is what an oracle says" random_peaks

# maxima BUDGET - of the walk: TIME MOST PATH TYPE GENERATION BYTES; evicted contexts are the row *
# below their PATH.
maxima()
{
    tallytree replay --recursion none --budget "$1" --space alloc+copies+types+peak -o "$tmp/walk.tallytree" "$tmp/walk" &&
        tallytree dump "$tmp/walk.tallytree" >"$tmp/dump" || return
    awk -F '\t' '
        $1 == "maximum" { time[n + 0] = $2 " " $3; n++ }
        $1 == "held" {
            for (i = 0; i < n; i++)
                sum[time[i] " " $2 ($5 == "below" ? ";*" : "") " " $3 " " $4] += $(NF - n + 1 + i)
        }
        END { for (key in sum) if (sum[key]) print key, sum[key] }' "$tmp/dump" | LC_ALL=C sort
}

random_maxima()
{
    local seed
    for seed in $(seq 1 "${TT_WALKS:-10}"); do
        test/space-walk.pl "$seed" $((50 + seed * 100)) >"$tmp/walk" && maxima 64M >"$tmp/got" &&
            test/space-oracle.pl "$tmp/walk" maxima | LC_ALL=C sort >"$tmp/truth" &&
            [ -s "$tmp/truth" ] && diff "$tmp/truth" "$tmp/got" || echo "walk $seed"
    done
}
none "at the maximum of each part of the run each context has what was alive of each type" random_maxima

# within - each maximum is one of the truth, in all it has as much, and no context has more
# with what was made below it.
within()
{
    awk '
        function each(path, rest, bytes, table,    i, n, part, at) {
            table["[root] " rest] += bytes
            n = path ~ /^\[root]/ ? 0 : split(path, part, ";")
            for (i = 1; i <= n && part[i] != "*"; i++) {
                at = (i > 1 ? at ";" : "") part[i]
                table[at " " rest] += bytes
            }
        }
        FNR == NR {
            most[$1] = $2
            each($3, $4 " " $5 " " $1, $6, truth)
            next
        }
        {
            sum[$1] += $6
            if (most[$1] != $2)
                print "no such maximum:", $0
            if ($3 !~ /^-/)
                each($3, $4 " " $5 " " $1, $6, found)
        }
        END {
            for (time in sum)
                if (sum[time] != most[time])
                    print time, sum[time], "not", most[time]
            for (key in found)
                if (found[key] > truth[key])
                    print key, found[key], "not at most", truth[key]
        }' "$tmp/truth" "$tmp/got"
}

tight_maxima()
{
    local seed budget
    for seed in 2 3 4; do
        test/space-walk.pl $seed 6000 2 >"$tmp/walk" &&
            test/space-oracle.pl "$tmp/walk" every-maximum >"$tmp/truth" || echo "no walk $seed"
        for budget in 300nodes 160K; do
            maxima $budget >"$tmp/got" && [ -s "$tmp/got" ] && within || echo "walk $seed within $budget"
        done
        maxima 300nodes | grep -q '\*' || echo "walk $seed: nothing was evicted"
    done
}
none "within a budget a maximum has no less in all, and no context has more" tight_maxima

# The live objects of a cost centre were made while it was the innermost one on the path.
centres()
{
    printf '%s\n' 'block c kind=centre' 'block d kind=centre' 'push f' 'alloc t 1 0' 'push c' 'push g' 'alloc t 10 0' \
        'push d' 'alloc t 100 0 x' 'push g' 'alloc t 1000 0' 'tick 5' 'free x' |
        tallytree replay --series centre -o "$tmp/centres.tallytree"
    tallytree report series --csv --series "live by cost centre" "$tmp/centres.tallytree" |
        awk -F , '$4 == 1 || $4 == 6 { print $4, $6, $5 }'
}
try "what is alive is a cost centre's" [ "$(centres | xargs)" = "1 [none] 1 1 c 10 1 d 1100 6 [none] 1 6 c 10 6 d 1000" ]

# modelled SEED FLAG... - the series of random programs are right.
modelled()
{
    python3 test/series-oracle.py "$TT_BUILD/tallytree" "${TT_SERIES:-12}" "$1" "$tmp/series" "${@:2}" >"$tmp/said" &&
        grep -q '^[1-9][0-9]* points, 0 wrong runs$' "$tmp/said"
}
try "series have what is alive by type, block, cost centre and use" modelled 1
try "so they have when contexts are evicted, and live memory is right in all" modelled 1001 --budget 256nodes
TT_SERIES=1 modelled 5073 --budget 256nodes
tallytree report flat --metric live "$tmp/series.tt" >"$tmp/out" 2>&1
try "and a note says how many were freed without room at their contexts" \
    grep -q '^lost: [1-9][0-9]* freed objects found no room at their contexts' "$tmp/out"

# says EVENTS TEXT - the replay of a line of events (; between them) fails with this text.
says()
{
    tr ';' '\n' <<<"$1" | tallytree replay -o "$tmp/out" >"$tmp/error" 2>&1
    [ $? = 2 ] && grep -qF -- "$2" "$tmp/error"
}

try "an object that is not there cannot be freed" says "free x" "1: there is no object 'x'"
try "nor used" says "push f;use x" "2: there is no object 'x'"
try "a name is one object's at a time" says "alloc t 1 0 x;alloc t 1 0 x" "2: there is an object 'x'"
try "what survives does so in a collection" says "alloc t 1 0 x;survive x" "no collection is under way"
try "a collection is ended once" says "gc-end" "no collection is under way"
try "and begun once" says "gc-begin 0;gc-begin 0" "a collection is under way"
try "generations have an end" says "gc-begin 32" "generations are 0 to 31"
try "bytes are a number" says "alloc t many 0" "'many' is not a number"
# refuses TEXT FLAG... - `record` will not run a program with these flags.
refuses()
{
    local text=$1
    shift
    tallytree record "$@" true >"$tmp/out" 2>&1
    [ $? = 125 ] && grep -qF -- "$text" "$tmp/out"
}

try "MLWorks' flags want -profile" refuses "wants -profile OUT" -profile-scan 5
try "a depth of 16 is refused" refuses "cannot be '16'" -profile "$tmp/p.tt" -profile-depth 16
try "and so is a manner beyond all bits" refuses "cannot be '1048576'" -profile "$tmp/p.tt" -profile-manner 1048576
try "their order does not matter" tallytree record -profile-scan 20 -profile "$tmp/p.tt" true
finish
