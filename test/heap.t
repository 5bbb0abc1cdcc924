#!/bin/bash
# SPDX-License-Identifier: MIT
# Allocations of programs, compared with heaptrack, valgrind and a log of every event.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
guest=$TT_BUILD/test/heap-guest
export TZ=UTC

# heap NAME COMMAND... - records every event; what the program says is in NAME.out.
heap()
{
    local name=$1
    shift
    timeout -k 5 500 "$tallytree" record --heap -o "$tmp/$name.tt" -- "$@" >"$tmp/$name.out" 2>"$tmp/$name.err"
}

# figure NAME WHAT - number, bytes, overhead, freed (bytes), peak, live or temporary of all
# objects, which one report has; or a metric.
figure()
{
    local at=$tmp/$1.tt all=$tmp/$1.figures
    case $2 in
    number | bytes | overhead | freed | peak | live | temporary)
        [ "$all" -nt "$at" ] || "$tallytree" report space --csv "$at" | awk -F, '
            NR == 1 { for (i = 1; i <= NF; i++) name[i] = $i == "freed_bytes" ? "freed" : $i }
            /^total/ { for (i = 1; i <= NF; i++) print name[i], $i }' >"$all"
        awk -v what="$2" '$1 == what { print $2 }' "$all" ;;
    *)
        "$tallytree" report flat --metric "$2" --csv "$at" 2>/dev/null |
            awk -F, '/^total/ { n = $5 } END { print n + 0 }' ;;
    esac
}

# is NAME WHAT FIGURE...
is()
{
    local name=$1
    shift
    while [ $# -gt 1 ]; do
        [ "$(figure "$name" "$1")" = "$2" ] || { echo "$1: $(figure "$name" "$1"), not $2"; return 1; }
        shift 2
    done
}

# ── What is known ─────────────────────────────────────────────────────────────────────

# The sums are the program's own: see each() there; 1001 and 22 bytes come before main.
known()
{
    heap each "$guest" each || return
    is each number $((10 + 1000 + 100 + 50 + 8 + 2)) \
        bytes $((1000 + 50000 + 505000 + 500000 + 947 + 1001 + 22)) \
        temporary $((1000 + 100 + 8 + 1)) peak $((500000 + 1000 + 22)) live $((1000 + 22)) || return
    [ $(($(figure each resized) + $(figure each moved))) = 99 ] || { echo "not 99 changed their size"; return 1; }
}
try "every event of a program is counted, with its peak, its leaks and what was temporary" known

# The last allocation is less than a thread of two may keep to itself, and the program ends at once.
cat >"$tmp/ends.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static pthread_barrier_t both;
static void *other(void *arg)
{
    pthread_barrier_wait(&both);
    pause();
    return arg;
}
int main(void)
{
    pthread_t t;
    char *volatile last;
    pthread_barrier_init(&both, NULL, 2);
    if (pthread_create(&t, NULL, other, NULL) != 0)
        return 1;
    pthread_barrier_wait(&both);
    last = calloc(1, 10000000);
    last = malloc(4000);
    _exit(last == NULL);
}
END
at_once()
{
    ${CC:-cc} -O1 -g -pthread -o "$tmp/ends" "$tmp/ends.c" &&
        timeout -k 5 500 "$tallytree" record --heap --series none -o "$tmp/ends.tt" "$tmp/ends" &&
        figure ends peak && [ "$(figure ends peak)" -ge 10004000 ] && [ "$(figure ends peak)" -lt 10020000 ]
}
try "the peak has the last allocation before _exit" at_once

# The system makes one object for each thread at most, and the recorder none.
cat >"$tmp/begins.c" <<'END'
#include <pthread.h>
static void *run(void *arg) { return arg; }
int main(void)
{
    pthread_t t;
    for (int i = 0; i < 500; i++)
        if (pthread_create(&t, NULL, run, NULL) || pthread_join(t, NULL))
            return 1;
    return 0;
}
END
begins()
{
    ${CC:-cc} -O1 -g -pthread -o "$tmp/begins" "$tmp/begins.c" &&
        timeout -k 5 500 "$tallytree" record --heap -o "$tmp/begins.tt" "$tmp/begins" 2>"$tmp/err" || { cat "$tmp/err"; return 1; }
    sed -n 's/.* and \([0-9]*\) objects* of.*/\1/p' "$tmp/err" | awk '{ print } END { exit !(NR == 1 && $1 < 100) }'
}
try "threads that begin have no objects of the recorder" begins

# at METRIC FUNCTION - its figure with all it calls.
at()
{
    "$tallytree" report flat --metric "$1" --csv "$tmp/each.tt" | awk -F, -v f="$2" '$(NF - 7) == f { print $7 }'
}
places()
{
    [ "$(at allocated leak)" = 1000 ] && [ "$(at live leak)" = 1000 ] && [ "$(at peak top)" = 500000 ] &&
        [ "$(at temporary churn)" = 1000 ] && [ "$(at allocated grow)" = 505000 ] && return
    "$tallytree" report flat --metric allocated --csv "$tmp/each.tt"
    return 1
}
try "they stand where they happened" places

# paths_agree - the figures of each path are those of the program's own tally.  Some compilers
# do not inline go().
paths_agree()
{
    "$tallytree" export --to folded --metric allocated "$tmp/walk.tt" | sed 's/;go//g; s/^.*;main;/main;/' |
        awk '/;(here|there) / { sum[$1] += $2 } END { for (path in sum) print path, sum[path] }' | LC_ALL=C sort >"$tmp/found" &&
        [ "$(wc -l <"$tmp/want")" -gt 5000 ] && cmp "$tmp/want" "$tmp/found"
}
walk() { "$tallytree" record --heap --recursion none -o "$tmp/walk.tt" "$tmp/walk" "$1" 20000 | LC_ALL=C sort >"$tmp/want"; }
walked() { gcc -g "$@" -o "$tmp/walk" "${0%/*}/heap-walk.c" && walk $# && paths_agree; }
try "each of thousands of paths has what was allocated on it" walked -O1 -fno-omit-frame-pointer
try "and so without frame pointers" walked -O2
try "and so without frame pointers and unwind tables" walked -O2 -g0 -fno-asynchronous-unwind-tables

# More call sites than the caches of the unwinder have room for.
cat >"$tmp/many.awk" <<'END'
BEGIN {
    print "#include <stdlib.h>\nextern unsigned next(void); extern void *kept[64];"
    for (i = 0; i < n; i++) printf "__attribute__((noinline, noclone)) void f%d(int);\n", i
    for (i = 0; i < n; i++) {
        printf "void f%d(int d)\n{\n", i
        if (i % 3 == 1) printf "    volatile char room[%d];\n    room[0] = 1;\n", 8 + i * 37 % 300
        printf "    if (!d) { void **at = &kept[next() %% 64]; free(*at); *at = malloc(%d); return; }\n", 16 + i % 500
        print "    switch (next() % 3) {"
        for (k = 0; k < 3; k++) printf "    case %d: f%d(d - 1); break;\n", k, (i * 7919 + k * 104729 + 13) % n
        print "    }\n    __asm__ volatile(\"\");\n}"
    }
    print "void *kept[64];\nstatic unsigned state;\nunsigned next(void) { state = state * 1664525u + 1013904223u; return state >> 16; }"
    print "int main(void)\n{\n    for (unsigned i = 0; i < 20000; i++) { state = 1 + i % 700; f0(3 + i % 9); }\n    return 0;\n}"
}
END
many()
{
    local flag
    awk -v n=600 -f "$tmp/many.awk" >"$tmp/many.c" || return
    # The same code twice: the second one without the lines that make the tables.
    gcc -O1 -g0 -fasynchronous-unwind-tables -S -o "$tmp/many-fasynchronous-unwind-tables.s" "$tmp/many.c" &&
        sed '/\.cfi_/d' "$tmp/many-fasynchronous-unwind-tables.s" >"$tmp/many-fno-asynchronous-unwind-tables.s" || return
    for flag in -fasynchronous-unwind-tables -fno-asynchronous-unwind-tables; do
        gcc -o "$tmp/many" "$tmp/many$flag.s" &&
            "$tallytree" record --heap --recursion none --force -o "$tmp/many.tt" "$tmp/many" &&
            "$tallytree" export --to folded --metric allocated "$tmp/many.tt" | sed 's/^.*;main;/main;/' | LC_ALL=C sort >"$tmp/many$flag" || return
    done
    wc -l "$tmp"/many-f*-tables
    cmp "$tmp/many-fasynchronous-unwind-tables" "$tmp/many-fno-asynchronous-unwind-tables" && [ "$(wc -l <"$tmp/many-fasynchronous-unwind-tables")" -gt 3000 ]
}
try "hundreds of functions without unwind tables have what they have with them" many

# The stripped program.  It has the same figures as the program with symbols, on the same paths
# once a file with symbols is found.
stripped()
{
    local figures what
    walk 3 && figures=$(for what in number bytes overhead freed live peak temporary; do echo $what "$(figure walk $what)"; done) || return
    mkdir "$tmp/symbols" && mv "$tmp/walk" "$tmp/symbols" && strip -o "$tmp/walk" "$tmp/symbols/walk" && walk 3 || return
    # shellcheck disable=SC2086 # names and figures, in turn
    is walk $figures && "$tallytree" export --to folded --metric allocated "$tmp/walk.tt" >"$tmp/unnamed" || return
    grep -q '__libc_start_[^;]*;.*;walk+0x[0-9a-f]* [0-9]*$' "$tmp/unnamed" && ! grep -m 1 -E ';main;|;here|;plain' "$tmp/unnamed" || return
    "$tallytree" symbolize --symbols "$tmp/symbols" "$tmp/walk.tt" && paths_agree
}
try "an optimised program that is stripped has the same figures, where its calls are" stripped

# Libraries that come and go, by names that mean nothing elsewhere, may lie where another one
# was; what they export is left when they are stripped.
late()
{
    cat >"$tmp/late.c" <<'END'
#include <stdlib.h>
void *NAME(int times)
{
    void *p = NULL;
    for (int i = 0; i < times; i++) {
        free(p);
        p = malloc(SIZE);
        __asm__ volatile("" : : "r"(p) : "memory");
    }
    return p;
}
END
    cat >"$tmp/early.c" <<'END'
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>
static int call(const char *path, const char *name, int times)
{
    void *library = dlopen(path, RTLD_NOW), *function = library ? dlsym(library, name) : NULL;
    void *p = function ? ((void *(*)(int))function)(times) : NULL;
    free(p);
    return !p || dlclose(library) != 0;
}
int main(void)
{
    return call("./first.so", "first", 10) || call("./second.so", "second", 20) ||
           call("./first.so", "first", 30) || !dlopen("./first.so", RTLD_NOW) ||
           chdir("/") != 0 || call("libutil.so.1", "malloc", 40);
}
END
    gcc -O2 -s -fPIC -shared -DNAME=first -DSIZE=1000 -o "$tmp/first.so" "$tmp/late.c" &&
        gcc -O2 -s -fPIC -shared -DNAME=second -DSIZE=3000 -o "$tmp/second.so" "$tmp/late.c" &&
        gcc -O2 -s -o "$tmp/early" "$tmp/early.c" && (cd "$tmp" && heap early ./early) || return
    "$tallytree" report flat --metric allocated --csv "$tmp/early.tt" >"$tmp/flat" && cat "$tmp/flat"
    [ "$(awk -F, '/(first|second)/ { print $(NF - 7), $7, $(NF - 6) }' "$tmp/flat" | sort)" = \
        "first 40000 $tmp/first.so
second 60000 $tmp/second.so" ]
}
try "what a library allocates that is loaded late, and gone, is its functions'" late

# ── Others ────────────────────────────────────────────────────────────────────────────

# heaptrack's own library allocates this in the program before anything else: the C++ library's
# memory for exceptions.
ours=72704

# track NAME COMMAND... - what heaptrack says, without that.
track()
{
    local name=$1 way
    shift
    rm -f "$tmp/$name.ht".*
    heaptrack -o "$tmp/$name.ht" "$@" >/dev/null 2>&1 </dev/null
    for way in leaked peak; do
        heaptrack_print -f "$tmp/$name.ht.zst" -H "$tmp/sizes" -F "$tmp/stacks" --disable-builtin-suppressions \
            --flamegraph-cost-type $way >/dev/null 2>&1
        [ $way = peak ] || awk -v ours=$ours '{ n += $2; b += $1 * $2 } END { print n - 1, b - ours }' "$tmp/sizes"
        awk -v ours="$([ $way = peak ] && echo $ours || echo 0)" '{ s += $NF } END { print s - ours }' "$tmp/stacks"
    done
}

# dhat COMMAND... - objects, bytes, 0, the peak.
dhat()
{
    valgrind --tool=dhat --dhat-out-file=/dev/null "$@" 2>&1 >/dev/null </dev/null |
        sed -n 's/,//g; s/^==[0-9]*== Total: *\([0-9]*\) bytes in \([0-9]*\) blocks/\2 \1 0/p
            s/^==[0-9]*== At t-gmax: \([0-9]*\) bytes.*/\1/p'
}

variables() { "$@" env 2>/dev/null | grep -c =; }

# agrees NAME COMMAND... - with heaptrack and with valgrind's dhat to the byte, in the number
# of objects, their bytes, the peak and the memory that is never freed.  Differences:
#  - The environment.  A program that sets a variable copies the list of variables, and each
#    tool adds some.  The cost of one more variable is measured.
#  - Temporary objects.  In heaptrack an object is temporary if the next event frees any object
#    of the same size and stack; dhat has no such figure.
#  - Memory that is never freed.  At the end, valgrind lets the C library free its memory.
agrees()
{
    local name=$1 figure i=0 here with slope track dhat
    shift
    heap "$name" "$@" && TT_ONE_MORE=1 heap more "$@" || return
    mapfile -t track < <(track "$name" "$@" | tr ' ' '\n')
    mapfile -t dhat < <(dhat "$@" | tr ' ' '\n')
    for figure in number bytes live peak; do
        here=$(figure "$name" $figure)
        slope=$(($(figure more $figure) - here))
        with=$((here - slope * they))
        [ "$with" = "${track[$i]}" ] ||
            { echo "$figure: $here, $with with its environment; heaptrack says ${track[$i]}"; return 1; }
        with=$((here - slope * it))
        [ $figure = live ] || [ "$with" = "${dhat[$i]}" ] ||
            { echo "$figure: $here, $with with its environment; dhat says ${dhat[$i]}"; return 1; }
        i=$((i + 1))
    done
}

sql="create table t(a, b); with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)
insert into t select i, hex(i) from n; select count(*), sum(a) from t; select * from t order by b limit 3;"
is_long && git init -q "$tmp/repository" && for i in 1 2 3 4 5; do
    seq $i 2000 >"$tmp/repository/file$i"
    git -C "$tmp/repository" add .
    git -C "$tmp/repository" -c user.name=a -c user.email=a@b commit -qm $i --date=2020-01-01T00:00:00Z
done
cat >"$tmp/program.c" <<'END'
int printf(const char *, ...);
int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) { printf("%d\n", fib(20)); return 0; }
END
us=$(variables "$tallytree" record --heap -o "$tmp/env" --)
they=$((us - $(variables heaptrack -o "$tmp/variables")))
it=$((us - $(variables valgrind -q)))
try "sqlite3: as heaptrack and valgrind say, to the byte" agrees sqlite sqlite3 :memory: "$sql"
if is_long; then
    try "git: as heaptrack and valgrind say, to the byte" agrees git git -C "$tmp/repository" log -p --no-color
    try "gcc: as heaptrack and valgrind say, to the byte" agrees gcc gcc '-###' -O2 "$tmp/program.c"
fi
# ── A log of every event ──────────────────────────────────────────────────────────────

# logged NAME COMMAND... - also with a library of the tests after ours: NAME.log.
logged()
{
    local name=$1
    shift
    HEAP_LOG=$tmp/events HEAP_LOG_OF=${1##*/} LD_PRELOAD=$TT_BUILD/test/heap-log.so heap "$name" "$@" || return
    "$TT_BUILD/test/heap-oracle" "$tmp/events" >"$tmp/$name.log"
}
log() { awk -v w="$2" '$1 == w { print $2 }' "$tmp/$1.log"; }

# beyond NAME WHAT - prints how much more the log has: allocations of our library.
beyond() { echo $(($(log "$1" "$2") - $(figure "$1" "$2"))); }

# like NAME BASE MORE TIMES WHAT... - our library allocates in NAME as much as in the program BASE,
# and for each of its TIMES threads as much as for the one thread that only MORE has.
like()
{
    local name=$1 base=$2 more=$3 times=$4 what
    shift 4
    for what; do
        [ "$(beyond "$name" "$what")" = $(($(beyond "$base" "$what") + times * ($(beyond "$more" "$what") - $(beyond "$base" "$what")))) ] ||
            { echo "$what: $(log "$name" "$what") in the log, $(figure "$name" "$what") here, $(beyond "$base" "$what") at the start"; return 1; }
    done
}
cc1=$(gcc -print-prog-name=cc1)
gcc -E -o "$tmp/program.i" "$tmp/program.c"

compiled()
{
    logged nothing "$guest" nothing && logged compiled "$cc1" -quiet -O2 -fpreprocessed "$tmp/program.i" -o "$tmp/program.s" &&
        like compiled nothing nothing 0 number bytes freed live resized moved || return
    # Between an event of ours and one of the program, an object may be temporary in the log alone.
    [ $(($(beyond compiled temporary) - $(beyond nothing temporary))) -le 1 ]
}
try "a compiler, with all of its events in a log: to the byte" compiled
threaded()
{
    logged none "$guest" threads 0 && logged one "$guest" threads 1 && logged many "$guest" threads 8 &&
        like many none one 8 number bytes freed live resized moved
}
try "threads that free each other's objects, and allocate when they end: to the byte" threaded
packed()
{
    seq 1 60000 >"$tmp/data"
    logged xz xz -T2 --block-size=40000 -k -f "$tmp/data" && logged xz1 xz -T1 -k -f "$tmp/data" || return
    is xz live $(($(log xz live) - $(beyond nothing live))) bytes $(($(log xz bytes) - $(beyond xz bytes)))
    [ "$(($(beyond xz bytes) - $(beyond nothing bytes)))" -lt 2000 ]
}
try "xz in threads: what is left, to the byte" packed
crowd()
{
    heap crowd "$guest" threads "$1" || return
    grep -qx done "$tmp/crowd.out" && [ "$(figure crowd number)" -gt $(($1 * 4000)) ] &&
        [ $(($(figure crowd bytes) - $(figure crowd freed))) = "$(figure crowd live)" ] &&
        [ "$(figure crowd live)" -gt 0 ]
}
try "dozens of threads: what was made, less what was freed, is what is left" crowd "$(for_long 50 200)"

# ── At odd times ──────────────────────────────────────────────────────────────────────

odd()
{
    "$guest" odd >"$tmp/out"
    [ $? = 5 ] || return
    logged odd "$guest" odd
    [ $? = 5 ] || { echo "another status"; return 1; }
    cmp "$tmp/out" "$tmp/odd.out" || return
    "$TT_BUILD/test/heap-oracle" "$tmp/events" >"$tmp/odd.log"
    [ "$(beyond odd number)" -ge "$(beyond nothing number)" ] &&
        [ "$(beyond odd number)" -le $(($(beyond nothing number) + 1)) ]
}
try "before main, in handlers, in atexit, in destructors: the same output, and every event" odd
any()
{
    heap any "$guest" any || return
    [ $(($(figure any number) + $("$tallytree" report header --csv "$tmp/any.tt" | awk -F, '$4 == "lost.objects" { print $NF }'))) -ge 2000 ]
}
try "a handler that allocates at any moment" any
forked()
{
    heap forks "$guest" forks "$1" || { cat "$tmp/forks.out"; return 1; }
    grep -qx "0 of $1 children went wrong" "$tmp/forks.out" &&
        "$tallytree" report space --csv "$tmp/forks.tt" --by block >/dev/null && grep "of $(($1 + 1)) processes" "$tmp/forks.err"
}
try "children of fork, while another thread is in the middle of it" forked "$(for_long 30 100)"

# ── Other allocators ──────────────────────────────────────────────────────────────────

other()
{
    local library=$1
    [ -e "$library" ] || { echo "$library is not there"; return 1; }
    LD_PRELOAD=$library heap other "$guest" each || return
    # Only main's: the library itself allocates, too.
    for pair in objects=1168 allocated=$((1000 + 50000 + 505000 + 500000 + 947)) live=1000 temporary=1108 peak=501000; do
        "$tallytree" report flat --metric ${pair%=*} --select main --csv "$tmp/other.tt" |
            awk -F, -v n=${pair#*=} '/^total/ { found = $5 } END { if (found != n) print found, n; exit found != n }' || return
    done
}
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
    try "behind us $library" other "/usr/lib/$(gcc -print-multiarch)/$library"
done
own()
{
    cat >"$tmp/own.c" <<'END'
#include <stdio.h>
#include <string.h>
static char room[1 << 20];
static size_t used;
void *malloc(size_t n) { void *p = room + used; used += (n + 15) & ~(size_t)15; return p; }
void *calloc(size_t n, size_t s) { return malloc(n * s); }
void *realloc(void *p, size_t n) { void *q = malloc(n); return p ? memcpy(q, p, n) : q; }
void free(void *p) { (void)p; }
int main(void) { printf("%d\n", (char *)malloc(5) >= room); return 4; }
END
    gcc -O2 -fno-builtin -o "$tmp/own" "$tmp/own.c" || return
    heap own "$tmp/own"
    [ $? = 4 ] && grep -qx 1 "$tmp/own.out"
}
try "a program with an allocator of its own runs as ever" own

# ── C++ ───────────────────────────────────────────────────────────────────────────────

made()
{
    cat >"$tmp/made.cpp" <<'END'
#include <cstdio>
#include <new>
struct alignas(64) Aligned { char bytes[64]; };
#define SEEN(p) asm volatile("" : : "r"(p) : "memory")
int main()
{
    for (int i = 0; i < 100; i++) {
        int *array = new int[25];
        SEEN(array);
        delete[] array;
        Aligned *aligned = new Aligned;
        SEEN(aligned);
        delete aligned;
        void *quiet = operator new(10, std::nothrow);
        SEEN(quiet);
        operator delete(quiet, std::nothrow);
    }
    try {
        SEEN(operator new(1ul << 60));
    } catch (std::bad_alloc &) {
        puts("there is not so much");
    }
    SEEN(new int(5));
    return 3;
}
END
    g++ -std=c++17 -O2 -o "$tmp/made" "$tmp/made.cpp" || return
    LD_PRELOAD=$1 heap made "$tmp/made"
    [ $? = 3 ] && grep -qx 'there is not so much' "$tmp/made.out" || return
    # All allocations, except those of the libraries and of the output.
    "$tallytree" report flat --metric objects --select main --csv "$tmp/made.tt" |
        awk -F, '/^total/ { n = $5 } END { print n; exit !(n >= 301 && n <= 304) }' || return
    "$tallytree" report space --by type --csv "$tmp/made.tt" | grep -qE ",$2\$"
}
try "new and delete of the C++ library are counted once" made '' malloc
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
    try "new and delete of $library are seen" made "/usr/lib/$(gcc -print-multiarch)/$library" new
done

# ── Maps ──────────────────────────────────────────────────────────────────────────────

maps()
{
    cat >"$tmp/maps.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#define MAP(n) mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
int main(void)
{
    char *a = MAP(1 << 20), *b = MAP(40960), *c = MAP(8192);
    if (mmap(NULL, 0, PROT_READ, MAP_PRIVATE, -1, 0) != MAP_FAILED)
        return 1;
    munmap(b, 4096); /* its beginning: 36864 are left, which count as a new one */
    munmap(c, 8192);
    a = mremap(a, 1 << 20, 2 << 20, MREMAP_MAYMOVE);
    a[5] = 1;
    free(malloc(300000)); /* which the allocator maps by itself */
    munmap(a, 2 << 20);
    return 6;
}
END
    gcc -D_GNU_SOURCE -O2 -fno-builtin -o "$tmp/maps" "$tmp/maps.c" || return
    "$tallytree" record --heap --maps -o "$tmp/maps.tt" "$tmp/maps"
    [ $? = 6 ] || return
    "$tallytree" report space --by type --csv "$tmp/maps.tt" | cut -d, -f4,5,10,11,14 | tee "$tmp/maps.csv"
    grep -qx "5,$(((1 << 20) + 40960 + 8192 + 36864 + (2 << 20))),4,$(((1 << 20) + 40960 + 8192 + (2 << 20))),mmap" "$tmp/maps.csv" &&
        is maps live 36864 && "$tallytree" record --heap -o "$tmp/maps.tt" "$tmp/maps"
    "$tallytree" report space --by type --csv "$tmp/maps.tt" | grep mmap && return 1
    "$tallytree" record --maps true 2>&1 | grep -e 'heap with --maps'
}
try "what the program maps is counted on request" maps

# Aligned pieces, of which only one stays; and sizes that are not whole pages.
trimmed()
{
    cat >"$tmp/trimmed.c" <<'END'
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
enum { SIZE = 2 << 20, EACH = 16 << 20 };
static char *aligned(void)
{
    char *all = mmap(NULL, SIZE + EACH, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *p = (char *)(((uintptr_t)all + EACH) & ~(uintptr_t)(EACH - 1));
    munmap(all, (size_t)(p - all));
    if (p < all + EACH)
        munmap(p + SIZE, (size_t)(all + EACH - p));
    return p;
}
int main(void)
{
    for (int i = 0; i < 10; i++)
        munmap(aligned(), SIZE);
    for (int i = 0; i < 100; i++)
        munmap(mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 5000);
    return aligned() == MAP_FAILED;
}
END
    gcc -D_GNU_SOURCE -O1 -o "$tmp/trimmed" "$tmp/trimmed.c" &&
        "$tallytree" record --heap --maps -o "$tmp/trimmed.tt" "$tmp/trimmed" && figure trimmed live && is trimmed live $((2 << 20))
}
try "the ends of mappings that are trimmed to an aligned piece are not live" trimmed

# Random calls in regions of which the program knows for each page whether it is mapped.  One call
# takes many mappings or a part of one: by munmap, by a mapping at a fixed place, or by mremap.
cat >"$tmp/places.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
enum { PAGES = 128, PAGE = 4096, THREADS = 3 };
#define MAP(at, n) mmap(at, (size_t)(n) * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
static long live;
static int next(unsigned *state, int below)
{
    return (int)((*state = *state * 1103515245u + 12345) >> 16) % below;
}
/* A part of the region is mapped, and moved elsewhere in it. */
static int move(char *all, char *mapped, unsigned *state)
{
    const int half = PAGES / 2, swap = next(state, 2);
    int from = next(state, half), n = 1 + next(state, half - from);
    int to = next(state, half), m = 1 + next(state, half - to);
    from += swap * half;
    to += !swap * half;
    if (MAP(all + from * PAGE, n) == MAP_FAILED ||
        mremap(all + from * PAGE, (size_t)n * PAGE, (size_t)m * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, all + to * PAGE) == MAP_FAILED)
        return 0;
    memset(mapped + from, 0, (size_t)n);
    memset(mapped + to, 1, (size_t)m);
    return 1;
}
static void *run(void *arg)
{
    /* Far from where the system maps anything by itself. */
    char *all = (char *)0x100000000000 + (size_t)arg * 2 * PAGES * PAGE, mapped[PAGES] = {0};
    unsigned state = (unsigned)(size_t)arg;
    for (int i = 0; i < 5000; i++) {
        int from = next(&state, PAGES), n = 1 + next(&state, PAGES - from), kind = next(&state, 4);
        if (kind == 0 && MAP(all + from * PAGE, n < 9 ? n : 9) != MAP_FAILED)
            memset(mapped + from, 1, (size_t)(n < 9 ? n : 9));
        else if (kind == 1 && munmap(all + from * PAGE, (size_t)n * PAGE - 100) == 0)
            memset(mapped + from, 0, (size_t)n);
        else if (kind == 2 && munmap(all + from * PAGE + 1, PAGE) != 0 && munmap(all + from * PAGE, 0) != 0)
            continue;
        else if (kind != 3 || !move(all, mapped, &state))
            exit(2);
    }
    for (int i = 0; i < PAGES; i++)
        __atomic_fetch_add(&live, mapped[i] * PAGE, __ATOMIC_RELAXED);
    return NULL;
}
int main(void)
{
    pthread_t t[THREADS];
    char *p;
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&t[i], NULL, run, (void *)i) != 0)
            return 3;
    for (int i = 0; i < THREADS; i++)
        pthread_join(t[i], NULL);
    p = mmap(NULL, 8 * PAGE, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    p = mremap(p, 0, 8 * PAGE, MREMAP_MAYMOVE); /* a second one of the same memory */
    p = mremap(p, 8 * PAGE, 3 * PAGE, 0);       /* shrinks */
    p = mmap(NULL, 16 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mremap(p, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
    printf("%ld\n", live + (8 + 3 + 16 + 4) * PAGE);
    return 0;
}
END
mapped()
{
    gcc -D_GNU_SOURCE -O1 -pthread -o "$tmp/places" "$tmp/places.c" &&
        timeout -k 5 500 "$tallytree" record --heap --maps -o "$tmp/places.tt" "$tmp/places" >"$tmp/places.out" &&
        "$tallytree" report flat --metric live --csv "$tmp/places.tt" >"$tmp/places.csv" || return
    # Its threads and its buffers use memory of malloc.
    cat "$tmp/places.out" && awk -F, -v all="$(cat "$tmp/places.out")" '
        $8 == "run" || $8 == "main" { n += $5 } END { print n; exit n != all }' "$tmp/places.csv"
}
try "mappings are live until their last page is unmapped, by whatever call" mapped

# A library that is loaded and unloaded again and again: what is recorded of the same functions takes no
# new memory.  The program prints by how many KiB it grew.
cat >"$tmp/reload.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static long resident(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%*d %ld", &pages) != 1)
        exit(2);
    fclose(f);
    return pages * 4;
}
int main(int argc, char **argv)
{
    long before = 0;
    for (int i = 0; i < 1100; i++) {
        void *library = dlopen(argv[1 + i % 2], RTLD_NOW), *(*make)(void);
        if (argc < 3 || !library)
            return 3;
        *(void **)&make = dlsym(library, i % 2 ? "make_second" : "make_first");
        free(make());
        dlclose(library);
        if (i == 100)
            before = resident();
    }
    printf("%ld\n", resident() - before);
    return 0;
}
END
reload()
{
    local i
    for i in first second; do
        printf '#include <stdlib.h>\nvoid *make_%s(void) { void *p = malloc(100); __asm__ volatile("" : "+r"(p)); return p; }\n' $i >"$tmp/$i.c"
        gcc -O1 -fno-builtin -shared -fPIC -o "$tmp/$i.so" "$tmp/$i.c" || return
    done
    gcc -O1 -w -o "$tmp/reload" "$tmp/reload.c" -ldl && heap reload "$tmp/reload" "$tmp/first.so" "$tmp/second.so" || return
    cat "$tmp/reload.out" "$tmp/reload.err"
    "$tallytree" report flat --metric objects --csv "$tmp/reload.tt" | cut -d, -f5,8 | grep make_ | sort | tee "$tmp/reload.csv"
    printf '550,make_first\n550,make_second\n' | cmp - "$tmp/reload.csv" && [ "$(cat "$tmp/reload.out")" -lt 256 ]
}
try "a library that is loaded a thousand times has its names, and takes no new memory" reload

# ── Samples ───────────────────────────────────────────────────────────────────────────

# A sample with probability p that counts for 1/p has the variance (1 - p)/p.
near()
{
    "$tallytree" report flat --metric "$1" --csv "$tmp/sampled.tt" |
        awk -F, -v f="$2" -v n="$3" -v size="$4" -v each="$5" '$(NF - 7) == f {
            p = 1 - exp(-size / 4096); sd = each * sqrt(n * (1 - p) / p); d = ($7 - n * each) / sd
            printf "%s: %d, truly %d: off by %.2f standard errors\n", f, $7, n * each, d
            found = d < 3 && d > -3 }
            END { exit !found }'
}
samples()
{
    export TALLYTREE_SEED=$1
    "$tallytree" record --heap=4K -o "$tmp/sampled.tt" "$guest" sampled || return
    near allocated small 400000 64 64 && near objects small 400000 64 1 && near allocated large 2000 8192 8192 &&
        near objects large 2000 8192 1 && near live large 2000 8192 8192 && near peak large 2000 8192 8192 &&
        near temporary small 400000 64 1
}
for seed in $(for_long 1 "1 2 3"); do
    try "samples are within three standard errors of the truth ($seed)" samples "$seed"
done

# A library's operator new that calls malloc, which is recorded already.
cat >"$tmp/operator.cpp" <<'END'
#include <cstdlib>
#include <new>
void *operator new(std::size_t n) { if (void *p = malloc(n)) return p; throw std::bad_alloc(); }
void operator delete(void *p) noexcept { free(p); }
void operator delete(void *p, std::size_t) noexcept { free(p); }
END
cat >"$tmp/operators.cpp" <<'END'
struct object { char bytes[100]; };
int main() { for (int i = 0; i < 100000; i++) { object *o = new object; asm volatile("" : : "r"(o) : "memory"); delete o; } }
END
operators()
{
    g++ -O1 -shared -fPIC -o "$tmp/liboperator.so" "$tmp/operator.cpp" &&
        g++ -O1 -o "$tmp/operators" "$tmp/operators.cpp" -L"$tmp" -loperator -Wl,-rpath,"$tmp" &&
        TALLYTREE_SEED=1 "$tallytree" record --heap=1K -o "$tmp/operators.tt" "$tmp/operators" || return
    figure operators number # of 100000; four standard errors are 4 %
    [ "$(figure operators number)" -gt 95000 ] && [ "$(figure operators number)" -lt 105000 ]
}
try "an operator new that calls malloc is counted once when objects are sampled" operators
# 4 KiB times each total is what it varies by, squared, at most.
estimated()
{
    "$tallytree" report flat --metric allocated "$tmp/sampled.tt" >"$tmp/flat" && grep '^estimated: one in 4096 bytes was sampled' "$tmp/flat" &&
        "$tallytree" report flat --metric allocated --json "$tmp/sampled.tt" | python3 -c '
import json, sys
t = json.load(sys.stdin)
keys = [c["key"] for c in t["columns"]]
total = [r["values"][keys.index("self")] for r in t["rows"] if r["role"] == "total"][0]
rate, metric, error = [n["arguments"] for n in t["remarks"] if n["kind"] == "memory sampled"][0]
assert rate == 4096 and abs(error - 196 * (4096 / total) ** .5) < .02 * error, (total, error)'
}
try "a view of sampled memory says so, and how much chance is in it" estimated
try "growth of such memory may be chance" grep ',unknown,total' <("$tallytree" check --max-regress 0% --metric allocated "$tmp/operators.tt" "$tmp/sampled.tt" --csv)

# Objects inside blocks of malloc, at whose begin their operator stores something; and of a pool, whose
# addresses malloc does not know.
cat >"$tmp/inside.cpp" <<'END'
#include <cstdint>
#include <cstdlib>
#include <new>
static char pool[1 << 20] __attribute__((aligned(64)));
static std::size_t used;
void *operator new(std::size_t n)
{
    if (n > 1000)
        return pool + (used += (n + 31) & ~15ul) - ((n + 15) & ~15ul);
    if (char *p = (char *)malloc(n + 16))
        return p + 16;
    throw std::bad_alloc();
}
void operator delete(void *p) noexcept { if (p && ((char *)p < pool || (char *)p >= pool + sizeof pool)) free((char *)p - 16); }
void operator delete(void *p, std::size_t) noexcept { operator delete(p); }
void *operator new(std::size_t n, std::align_val_t a)
{
    char *p = (char *)malloc(n + (std::size_t)a + 8);
    if (!p)
        throw std::bad_alloc();
    void **q = (void **)(((std::uintptr_t)p + 7 + (std::size_t)a) & ~((std::size_t)a - 1));
    q[-1] = p;
    return q;
}
void operator delete(void *p, std::align_val_t) noexcept { if (p) free(((void **)p)[-1]); }
void operator delete(void *p, std::size_t, std::align_val_t a) noexcept { operator delete(p, a); }
END
cat >"$tmp/insides.cpp" <<'END'
template <class T> static void each()
{
    for (int i = 0; i < 100; i++) {
        T *o = new T;
        asm volatile("" : : "r"(o) : "memory");
        if (i % 2)
            delete o;
    }
}
struct alignas(64) wide { char bytes[128]; };
struct small { char bytes[100]; };
struct large { char bytes[2000]; };
int main()
{
    each<small>();
    each<wide>();
    each<large>();
}
END
inside()
{
    local at
    g++ -std=c++17 -O1 -shared -fPIC -o "$tmp/libinside.so" "$tmp/inside.cpp" &&
        g++ -std=c++17 -O1 -o "$tmp/insides" "$tmp/insides.cpp" -L"$tmp" -linside -Wl,-rpath,"$tmp" || return
    heap insides "$tmp/insides" || return
    "$tallytree" report space --by type --csv "$tmp/insides.tt" | cut -d, -f4,5,10,11,14 | tee "$tmp/insides.csv"
    # The C++ library has a block for exceptions, which stays.
    at=$(sed -n 's/,malloc$//p' "$tmp/insides.csv")
    [ "$at" = "201,$((72704 + 100 * (116 + 200))),100,$((50 * (116 + 200)))" ] && grep -qx "100,200000,50,100000,new" "$tmp/insides.csv"
}
try "an object inside a block of malloc is counted once, and its size is not asked for" inside

# Rounds of allocations that fail, some of sizes that are negative numbers, and of 16 bytes; then
# 16 MB are kept.
cat >"$tmp/fails.c" <<'END'
#include <stdint.h>
#include <stdlib.h>
static char *volatile kept;
int main(void)
{
    volatile size_t huge = (size_t)1 << 46, all = SIZE_MAX - 4096;
    for (int i = 0; i < 2000; i++) {
        void *none = NULL;
        if (malloc(huge) || malloc(all) || calloc(huge, huge) || calloc(all, 1) || aligned_alloc(64, huge) ||
            realloc(NULL, huge) || !posix_memalign(&none, 64, all))
            return 1;
        kept = malloc(16);
        free(kept);
    }
    for (int i = 0; i < 16000; i++)
        kept = malloc(1000);
    return 0;
}
END
fails()
{
    gcc -O1 -fno-builtin -o "$tmp/fails" "$tmp/fails.c" &&
        TALLYTREE_SEED=1 "$tallytree" record --heap=16K -o "$tmp/fails.tt" "$tmp/fails" || return
    figure fails bytes # four standard errors are 13 %
    [ "$(figure fails bytes)" -gt 13900000 ] && [ "$(figure fails bytes)" -lt 18100000 ]
}
try "allocations that fail have no part in the choice of samples" fails

# ── Little room ───────────────────────────────────────────────────────────────────────

tight()
{
    local budget what
    heap whole setarch -R "$guest" threads 1 || return
    for budget in 128K 512K; do
        "$tallytree" record --heap --budget $budget -o "$tmp/tight.tt" setarch -R "$guest" threads 1 >/dev/null || return
        for what in number bytes freed live; do
            is tight "$what" "$(figure whole "$what")" || return
        done
    done
    "$tallytree" record --heap --budget 128K --recursion none -o "$tmp/tight.tt" sqlite3 :memory: "$sql" >/dev/null || return
    is tight number "$(figure sqlite number)" bytes "$(figure sqlite bytes)" live "$(figure sqlite live)" peak "$(figure sqlite peak)"
}
try "a small budget loses places, and no sum" tight
screen()
{
    "$tallytree" report space "$tmp/each.tt" >"$tmp/screen" && grep -E 'peak KiB +live B +temporary +name' "$tmp/screen" &&
        grep -E '^ +1060 .* 489.258 +1000 +1000 +leaf$' "$tmp/screen" || { cat "$tmp/screen"; return 1; }
}
# Threads free each other's objects while their contexts are evicted.
evicted()
{
    g++ -g -O1 -pthread -DTIMES="$(for_long 1 10)" -o "$tmp/crowd" test/crowd.cpp && "$tmp/crowd" >"$tmp/alone"
    [ $? = 3 ] || return
    # shellcheck disable=SC2046
    for _ in $(for_long 1 "1 2 3"); do
        timeout -k 5 500 "$tallytree" record --force --heap --budget 1000nodes -o "$tmp/crowd.tt" -- "$tmp/crowd" >"$tmp/crowd.out" 2>"$tmp/crowd.err"
        [ $? = 3 ] && cmp "$tmp/alone" "$tmp/crowd.out" || { cat "$tmp/crowd.err"; return 1; }
    done
}
try "threads whose contexts are evicted free each other's objects as they do alone" evicted
try "the first screen of report space says peak, leaks and what is temporary, by function" screen

# ── Probes ────────────────────────────────────────────────────────────────────────────

probes()
{
    readelf -n "$TT_BUILD/libtallytree-heap.so" >"$tmp/notes"
    [ "$(grep -c 'Provider: otel_memory' "$tmp/notes")" = 2 ] && grep -q 'Name: alloc' "$tmp/notes" &&
        grep -q 'Name: free' "$tmp/notes" && ! grep -q 'Semaphore: 0x0*$' "$tmp/notes" &&
        grep -qE 'Arguments: 8@[^ ]+ 8@[^ ]+ 8@[^ ]+$' "$tmp/notes"
}
try "OpenTelemetry's probes are there, with semaphores" probes
finish
