#!/bin/bash
# SPDX-License-Identifier: MIT
# The heap over time, beside a log of every event; its maxima; when it is recorded.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
guest=$TT_BUILD/test/heap-guest

# recorded NAME COMMAND... - also with a library of the tests after ours: NAME.log.
recorded()
{
    local name=$1
    shift
    HEAP_LOG=$tmp/$name.log HEAP_LOG_OF=${1##*/} LD_PRELOAD=$TT_BUILD/test/heap-log.so \
        "$tallytree" record --heap -o "$tmp/$name.tt" -- "$@" >"$tmp/$name.out" 2>"$tmp/$name.err"
}

# series NAME SERIES FLAGS... - its rows: ns, bytes, label.
series()
{
    "$tallytree" report series --csv "$tmp/$1.tt" --series "$2" "${@:3}" | awk -F, '/^entry/ { print $4, $5, $6 }'
}

# figure NAME METRIC [FUNCTION] - in all; or with all it calls.
figure()
{
    "$tallytree" report flat --metric "$2" --csv "$tmp/$1.tt" |
        awk -F, -v f="${3-}" 'f ? $(NF - 7) == f : /^total/ { print f ? $7 : $5 }'
}

# each_point NAME SERIES - each of its points was alive in the log, in the order of time.
each_point()
{
    local beyond
    beyond=$(($("$TT_BUILD/test/heap-oracle" "$tmp/$1.log" | awk '$1 == "live" { print $2 }') - $(figure "$1" live)))
    series "$1" "$2" --by time | awk '$2 { print $2 }' >"$tmp/points"
    "$TT_BUILD/test/heap-oracle" "$tmp/$1.log" $beyond <"$tmp/points"
}

waves()
{
    recorded waves "$guest" waves && each_point waves 'live by type' && each_point waves 'live by block'
}
try "what is alive over time was alive, by type and by block: as a log of all events says" waves

# The tops of the waves, as the log has them.
tops()
{
    local name metric most
    series waves maxima | awk '{ print $2, $3 }' >"$tmp/maxima"
    "$TT_BUILD/test/heap-oracle" "$tmp/waves.log" "$(($("$TT_BUILD/test/heap-oracle" "$tmp/waves.log" | awk '$1 == "live" { print $2 }') - $(figure waves live)))" \
        < <(cut -d' ' -f1 "$tmp/maxima") || return
    [ "$(sort -nr "$tmp/maxima" | sed -n '1s/.* //p')" = peak ] || return
    while read -r most metric; do
        [ "$(figure waves "$metric")" = "$most" ] || { echo "$metric: $(figure waves "$metric"), not $most"; return 1; }
        for name in first second third; do
            echo "$metric $name $(figure waves "$metric" $name)"
        done
    done <"$tmp/maxima" >"$tmp/where"
    # Each maximum has objects of one wave, and those that are always alive.
    awk '$3 > 100000 { n[$1]++; at = at " " $2 } END { for (i in n) if (n[i] != 1) exit 1; print at }' "$tmp/where" >"$tmp/waves" || return
    cat "$tmp/maxima" "$tmp/waves"
    grep -qx close "$tmp/waves.out" || [ "$(cat "$tmp/waves")" = " first second third" ]
}
try "the greatest maximum and the local ones are the tops, each with all that was alive then" tops

blocks()
{
    series waves 'live by block' | awk '$2 > 100000 { print $3 }' | sort -u | tee "$tmp/labels"
    grep -qx fill_slots "$tmp/labels"
}
try "a series by block goes by the names of functions, inlined ones too" blocks

cut_by_time()
{
    local half all=$tmp/all late=$tmp/late early=$tmp/early
    half=$("$tallytree" report header --csv "$tmp/waves.tt" | awk -F, '$0 ~ /(^|,)lasted,/ { for (i = 1; i <= NF; i++) if ($i + 0 > 0) n = $i } END { printf "%.0f", n / 2 }')
    series waves 'live by type' >"$all"
    series waves 'live by type' --time 50%.. >"$late"
    series waves 'live by type' --time ..50% >"$early"
    [ -s "$early" ] && [ -s "$late" ] && cat "$early" "$late" | diff "$all" - &&
        awk -v half="$half" '$1 < 0.99 * half { exit 1 }' "$late" && awk -v half="$half" '$1 > 1.01 * half { exit 1 }' "$early"
}
try "a range of time cuts a series" cut_by_time
cut_out()
{
    series waves 'live by type' --time not:30%..60% >"$tmp/rest" && series waves 'live by type' --time 30%..60% >"$tmp/taken" &&
        [ -s "$tmp/rest" ] && [ -s "$tmp/taken" ] && sort -n "$tmp/rest" "$tmp/taken" | diff <(sort -n "$tmp/all") - &&
        series waves 'live by type' --time not:60%.. | diff <(series waves 'live by type' --time ..60%) - &&
        series waves 'live by type' --time 30%.. --time not:60%.. | diff "$tmp/taken" -
}
try "and the rest of the run lacks its points" cut_out
refused() { ! "$tallytree" report space "$@" "$tmp/waves.tt" 2>"$tmp/err" && cat "$tmp/err" && grep -q "the filters leave no objects" "$tmp/err"; }
try "of objects there are none in a range of time, and the message says so" refused --time ..50%
try "and after a filter that matches nothing" refused --select nosuch

database()
{
    recorded sql sqlite3 :memory: "create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000)
        insert into t select i, hex(i) from n; create index u on t(b); select count(*) from t; drop table t" &&
        each_point sql 'live by type'
}
try "a program with many more events: each point was alive" database

# They equal the sums over all contexts, also if threads allocate and free.
threads()
{
    recorded threads "$guest" threads 8 || return
    [ "$(series threads 'live by type' --by time | awk '{ n = $2 } END { print n + 0 }')" = "$(figure threads live)" ] &&
        [ "$(series threads 'live by block' --by time | awk '{ n = $2 } END { print n + 0 }')" = "$(figure threads live)" ]
}
try "objects of eight threads: the last point is what is left" threads

# Six threads allocate and free at the same time, in phases, and say what is alive after each.  The series has
# these plateaus, right to a 256th of the maximum.
cat >"$tmp/phases.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
enum { THREADS = 6, PHASES = 8, MOST = 4000 };
static pthread_barrier_t all;
static void *kept[THREADS][MOST];
static size_t size[THREADS][MOST], alive[THREADS];
static void *run(void *arg)
{
    const unsigned self = (unsigned)(size_t)arg, other = (self + 1) % THREADS;
    unsigned random = self + 1;
    for (int phase = 0; phase < PHASES; phase++) {
        const unsigned wanted = (phase * 2654435761u >> 4) % MOST;
        for (unsigned i = 0; i < MOST; i++) {
            random = random * 1103515245u + 12345u;
            if (kept[self][i] && i % 3 == 0) /* moved: many events that change little */
                free(malloc(size[self][i]));
            if (i < wanted && !kept[self][i]) {
                size[self][i] = 20 + random / 65536 % 900;
                kept[self][i] = malloc(size[self][i]);
            }
        }
        pthread_barrier_wait(&all);
        for (unsigned i = wanted; i < MOST; i++) { /* of another thread */
            free(kept[other][i]);
            kept[other][i] = NULL;
        }
        pthread_barrier_wait(&all);
        alive[self] = 0;
        for (unsigned i = 0; i < MOST; i++)
            alive[self] += kept[self][i] ? size[self][i] : 0;
        pthread_barrier_wait(&all);
        if (self == 0) {
            size_t sum = 0;
            for (int i = 0; i < THREADS; i++)
                sum += alive[i];
            dprintf(1, "%zu\n", sum);
            usleep(120000);
        }
        pthread_barrier_wait(&all);
    }
    return arg;
}
int main(void)
{
    pthread_t thread[THREADS];
    pthread_barrier_init(&all, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, run, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    return 0;
}
END
phases()
{
    cc -O2 -pthread -o "$tmp/phases" "$tmp/phases.c" &&
        "$tallytree" record --heap -o "$tmp/phases.tt" -- "$tmp/phases" >"$tmp/phases.out" &&
        series phases 'live by type' --by time | awk '{ print $1, $2 }' >"$tmp/points" &&
        python3 - "$tmp/phases.out" "$tmp/points" <<'END'
import sys
wanted = [int(x) for x in open(sys.argv[1])]
points = [int(x.split()[1]) for x in open(sys.argv[2])]
most = max(points)
near = lambda a, b: abs(a - b) <= most / 256
plateaus, i = [], 0
while i < len(points):
    j = i
    while j < len(points) and near(points[j], points[i]):
        j += 1
    if j - i >= 8:
        plateaus.append(points[(i + j) // 2])
    i = j
beside = plateaus[0] - wanted[0] if plateaus else 0  # what the C library has made
print(wanted, plateaus, beside)
sys.exit(len(plateaus) < len(wanted) or not 0 <= beside < 10000 or
         any(not near(p, w + beside) for p, w in zip(plateaus, wanted)))
END
}
try "six threads at the same time: what is alive after each phase" phases

# The sum over time of a small budget is that of a large one.
tight()
{
    "$tallytree" record --heap --budget 192K -o "$tmp/tight.tt" -- "$guest" waves >"$tmp/out" &&
        "$tallytree" report flat --metric peak "$tmp/tight.tt"
}
try "with little room it is recorded as far as it goes" tight

none()
{
    "$tallytree" record --heap --series none -o "$tmp/none.tt" -- "$guest" waves >"$tmp/out" &&
        "$tallytree" report series "$tmp/none.tt" 2>&1 | grep 'no series' && [ "$(figure none peak)" = "$(figure waves peak)" ]
}
try "without a series the peak is the same" none

killed()
{
    "$tallytree" record --heap -o "$tmp/killed.tt" -- "$guest" killed
    [ $? = 137 ] || return
    [ "$(figure killed live leaf)" = 200000 ] && [ "$(figure killed peak leaf)" = 300000 ] || return
    series killed 'live by type' --by time | awk '{ n = $2 } END { print n; exit n < 200000 || n > 300000 }'
}
try "who is killed leaves what was alive, the peak and the series" killed

# An object comes every 60 ms, and a large one after 0.9 s.
window()
{
    "$tallytree" record --heap --duration 0.4 -o "$tmp/early.tt" -- "$guest" late 3 || return
    [ "$(figure early allocated leaf)" = '' ] && [ "$(figure early objects)" -ge 1 ] || return
    "$tallytree" record --heap --delay 0.5 -o "$tmp/late.tt" -- "$guest" late 3 || return
    "$tallytree" record --heap -o "$tmp/whole.tt" -- "$guest" late 3 || return
    [ "$(figure late live leaf)" = 70000 ] && [ "$(figure late objects)" -lt "$(figure whole objects)" ]
}
try "with a delay or a duration only what happens then counts" window
# Points of two runs are not at one time.
together() { "$tallytree" report series "$tmp/waves.tt" "$tmp/late.tt" | grep '^several: 2 recordings' && ! "$tallytree" report series "$tmp/waves.tt" | grep '^several'; }
try "a series of several recordings says so" together
finish
