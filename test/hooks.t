#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that were compiled with hooks: each call of each function is counted, in its
# context, however it is left.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
cd "$tmp" || exit
source=$OLDPWD/test/hooks.cpp

# record FLAGS... - of ./program; its output is that which it has alone.
record()
{
    timeout -k 5 500 "$tallytree" record -o tt "$@" -- ./program "${arguments[@]}" >out 2>err
    [ $? = 3 ] && cmp alone out || { echo "not what it does alone"; cat err; diff alone out; return 1; }
}

# figures VIEW COLUMN FLAGS... - NAME FIGURE of each entry
figures()
{
    "$tallytree" report "$1" --metric calls --limit all --csv "${@:3}" tt | awk -F, -v column="$2" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $1 == "entry" { print $at["name"], $at[column] }'
}

# The functions that it counts itself, and main.
counts()
{
    grep ' ' out | sort >want
    figures flat self | sed 's/(.*) / /' | grep -vE '^(main|_|fini|init|std)' | grep -E "$(cut -d' ' -f1 want | paste -sd '|' | sed 's/.*/^(&) /')" |
        awk '{ n[$1] += $2 } END { for (f in n) print f, n[f] }' | sort | diff want -
}

# Functions left by longjmp, exceptions and tail calls are closed: all callees of main are below it.
contexts()
{
    "$tallytree" export --to folded --metric calls tt | sed 's/([^;]*)//g; s/^[^;]*;*main/main/' >folded
    for path in "main;jump;jump" "main;catches;throws;throws" "main;catches;leaf" "main;leaf" "main;mixed" "main;work;spin" "main;fib;fib"; do
        grep -q "^$path [0-9]*\$" folded || { echo "no $path"; cat folded; return 1; }
    done
    for path in "main;swings;tick 5" "main;swings;tock 5" "main;swings;mixed 10"; do
        grep -qx "$path" folded || { echo "no $path"; cat folded; return 1; }
    done
    ! grep -qx 'around 1' out || grep -qx "main;around;within 2" folded || { echo "no within"; cat folded; return 1; }
    ! grep -E 'jump;(leaf|mixed|catches|work)|throws;(leaf|mixed|work)|(leaf|mixed|spin|tick|tock|within);' folded
}

# The time is where it goes.
times()
{
    "$tallytree" report flat --metric time --limit all --csv tt | awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $1 == "entry" && $at["name"] ~ /^spin/ { n = $at["self_share"] }
        END { print "spin", n; exit !(n > 0.5) }'
}

# compiled FLAGS... - as ./program; what differs in flags of the linker alone is compiled once.
declare -A objects=()
compiled()
{
    local with=${compiler:-g++} flag flags=() how object=${#objects[@]}.o
    for flag; do [[ $flag = -[Wl]* || $flag = *.so ]] || flags+=("$flag"); done
    how="$with ${flags[*]}"
    if [ ! "${objects[$how]:-}" ]; then
        "$with" -w -pthread "${flags[@]}" -c -o "$object" "$source" || return
        objects[$how]=$object
    fi
    "$with" -w -pthread "${objects[$how]}" "$@" -o program && ./program "${arguments[@]}" >alone
    [ $? = 3 ] || return
    rm -f gmon.out
}

arguments=()
ways=("-O2 -DINLINED -finstrument-functions" "-O0 -pg" "-O2 -pg -mfentry")
is_long && ways+=("-O0 -DINLINED -finstrument-functions" "-O2 -pg" "-O2 -fno-pie -no-pie -pg")
for flags in "${ways[@]}"; do
    [[ $flags != *-mfentry* || $(uname -m) = x86_64 ]] || continue
    # shellcheck disable=SC2086
    try "$flags: a program compiles" compiled -g $flags
    try "$flags: it does what it does alone" record --calls
    try "$flags: each call is counted" counts
    try "$flags: in its context" contexts
    try "$flags: time is sampled below" times
    try "$flags: under another policy of recursion too" record --calls --recursion block
    try "$flags: each call is counted there" counts
    try "$flags: it is counted without being asked for" record
    try "$flags: as exactly" counts
    try "$flags: with exact times of what has an end" record --exact
    try "$flags: as exactly" counts
done

ways=("-O2 -DINLINED -finstrument-functions" "-O1 -pg")
is_long && ways+=("-O0 -DINLINED -finstrument-functions")
for flags in "${ways[@]}"; do
    command -v clang++ >/dev/null || continue
    # shellcheck disable=SC2086
    compiler=clang++ try "clang, $flags: a program compiles" compiled -g $flags
    try "clang, $flags: it does what it does alone" record --calls
    try "clang, $flags: each call is counted" counts
    try "clang, $flags: in its context" contexts
done

# Nothing says when their functions return: they are counted whatever was asked for.
untimed()
{
    compiled -g -O1 -pg "$@" && record --exact && counts && "$tallytree" report header tt | grep -q '^modes .*function calls'
}
for flags in -fno-plt -Wl,-z,now -Wl,--hash-style=sysv "-fno-pie -no-pie"; do
    # shellcheck disable=SC2086
    try "-pg $flags: functions are counted, and not timed" untimed $flags
done
plain_program()
{
    printf 'int plugged(int n) { return n + 1; }\n' >plugin1.c
    gcc -O0 -g -pg -shared -fPIC -o plugin1.so plugin1.c || return
    compiled -g -O1 -finstrument-functions -Wl,--no-as-needed "$tmp/plugin1.so" && record --exact && counts &&
        "$tallytree" report header tt | grep -q '^modes .*function calls'
}
try "a library of such functions is enough" plain_program

# gmon.out has the same calls as without us, as gprof prints them.
gmon()
{
    compiled -g -O1 -pg || return
    ./program >alone
    gprof -b -p --no-demangle ./program gmon.out | awk 'NR > 5 && NF >= 7 { print $NF, $4 }' | sort >without
    rm gmon.out
    record --calls || return
    [ -s without ] && gprof -b -p --no-demangle ./program gmon.out | awk 'NR > 5 && NF >= 7 { print $NF, $4 }' | sort | diff without -
}
# If two threads call at once, the C library misses one.
try "-pg: gmon.out has the calls that it has without us" eval "gmon || gmon || gmon"

plugins()
{
    for n in 1 2; do
        printf 'static int helper%d(int n) { return n + %d; }\nint plugged(int n) { return helper%d(n) + %d; }\n' $n $n $n $n >plugin$n.c
        gcc -O0 -g -finstrument-functions -shared -fPIC -o plugin$n.so plugin$n.c || return
    done
    arguments=("$tmp/plugin1.so" "$tmp/plugin2.so" "$tmp/plugin1.so")
    compiled -g -O1 -finstrument-functions -ldl && record --calls && counts || return
    figures flat self | grep helper | sort >got
    printf 'helper1 6\nhelper2 3\n' | diff - got
}
try "libraries that come and go have their functions counted, each its own" plugins

# coroutines WAY WHERE FLAGS... - each has its own paths, however stacks are switched.
coroutines()
{
    timeout -k 5 500 "$tallytree" record -o tt --recursion none "${@:3}" -- ./program "$1" "$2" 1 >out 2>err
    [ $? = 3 ] || { cat err; return 1; }
    "$tallytree" export --to folded --metric calls tt | LC_ALL=C sort >got
    [ "$(wc -l <out)" -gt 500 ] && LC_ALL=C sort out | diff - got >differs || { head differs; return 1; }
}
for flags in "-O0 -finstrument-functions" "-O2 -finstrument-functions" "-O2 -pg"; do
    # shellcheck disable=SC2086
    try "$flags: a program of coroutines compiles" "${CC:-gcc}" -g -pthread $flags -o program "${source%/*}/coroutines.c"
    try "$flags: in one thread" coroutines hand first --calls
    try "$flags: in two, with exact times" coroutines hand threads --exact
    try "$flags: going from one to the other" coroutines hand moving --calls
    try "$flags: with exact times" coroutines hand moving --exact
    try "$flags: the C library's" coroutines ucontext moving --calls
done
rm -f gmon.out

# interrupted FLAGS... - each call is counted, also while handlers evict; of the handlers' calls,
# those that interrupt the profiler are not.
interrupted()
{
    timeout -k 5 500 "$tallytree" record -o tt "$@" -- ./program >out 2>err
    [ $? = 3 ] || { cat err; return 1; }
    "$tallytree" report header tt | grep -Eq '^evictions +[1-9]' || { echo "nothing was evicted"; return 1; }
    figures flat self | sed 's/(.*) / /' | grep -E '^(f[0-9]+|handle) ' | sort >got
    sort out | awk 'NR == FNR { got[$1] = $2; next } $1 == "handle" { bad += !(got[$1] > 0 && got[$1] <= $2); next }
        got[$1] != $2 { print $1, got[$1], "not", $2; bad++ } END { exit bad || FNR != 193 }' got -
}
# For hours, not for each change: windows of a few instructions are known to be left.
[ -n "${TT_TOGGLES:-}" ] && for flags in -finstrument-functions -pg; do
    try "$flags: a program with handlers that call new functions compiles" \
        gcc -g -O2 -pthread $flags -o program "${source%/*}/hooks-signal.c"
    for mode in "--calls" "--calls --recursion none" "--calls --recursion block" "--exact"; do
        # shellcheck disable=SC2086
        try "$flags: a handler may evict what is being entered, $mode" interrupted --budget 512nodes $mode
    done
done
rm -f gmon.out

# More functions than a small budget has room for: calls of those without room lead from one
# [other blocks] to itself, and samples are below it.
crowded()
{
    perl -e '
        print "#include <stdio.h>\n#define BARE __attribute__((noinline, no_instrument_function))\n";
        print "static unsigned long calls, state = 88172645463325252ul;\nstatic void next(int depth);\n";
        print "static void __attribute__((noinline)) f$_(int d) { calls++; next(d); __asm__ volatile(\"\"); }\n" for 1 .. 900;
        print "static void (*const all[])(int) = {", join(", ", map "f$_", 1 .. 900), "};\n";
        print "static BARE unsigned pick(void) { return (state = state * 6364136223846793005ul + 1) >> 33; }\n";
        print "static BARE void next(int d) { for (int i = d ? pick() % 3 : -1; i >= 0; i--) all[pick() % 900](d - 1); }\n";
        print "int main(void) { for (int i = 0; i < '"$(for_long 3 15)"'; i++) next(12); printf(\"%lu\\n\", calls); return 3; }\n"' >program.c
    arguments=()
    gcc -g -O1 -finstrument-functions -o program program.c && ./program >alone
    [ $? = 3 ] || return
    for flags in --calls "--calls --heap" "--every 64 --wall" --exact; do
        # shellcheck disable=SC2086
        record $flags --budget 256K || return
        figures flat self >got
        awk -v want="$(cat alone)" '{ n += $NF } END { print n, want; exit n != want + 1 }' got || return
    done
}
try "functions that have no room in a small budget are counted, whatever else is recorded" crowded

# Late threads find no room at all: they have no tree.
crowd()
{
    arguments=()
    g++ -g -O1 -pthread -DTIMES="$(for_long 1 10)" -finstrument-functions -o program "$OLDPWD/test/crowd.cpp" && ./program >alone
    [ $? = 3 ] || return
    for flags in --exact "--exact --histogram --recursion recent:2" --calls "--every 64" "--heap --calls" --sampled=2000; do
        # shellcheck disable=SC2086
        record $flags --budget 192K || { echo "$flags"; return 1; }
    done
}
try "threads that have no room in a small budget do what they do alone" crowd

# The loader calls back with its lock held.  Functions that run then are not known yet, while
# another thread, which has met new code, too, waits for that lock.
loader()
{
    cat >program.c <<'END'
#define _GNU_SOURCE
#include <link.h>
#include <pthread.h>
#include <unistd.h>
static volatile int called_back, begun;
static __attribute__((noinline)) int new(int n) { return n + 1; }
static __attribute__((noinline)) int newer(int n) { return n + 2; }
static void *work(void *arg)
{
    while (!called_back)
        usleep(1000);
    begun = 1;
    return new(1) == 2 ? arg : NULL;
}
static int each(struct dl_phdr_info *info, size_t size, void *arg)
{
    called_back = 1;
    while (!begun)
        usleep(1000);
    usleep(100000);
    return newer((int)size) + (info == arg);
}
int main(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, work, NULL) != 0 || !dl_iterate_phdr(each, NULL) ||
                   pthread_join(thread, NULL) != 0 ? 1 : 3;
}
END
    arguments=()
    gcc -g -O1 -pthread -finstrument-functions -o program program.c && ./program >alone
    [ $? = 3 ] && record --calls || return
    figures flat self | grep new | sort >got
    printf 'new 1\nnewer 1\n' | diff - got
}
try "who has the loader's lock and who waits for it come upon new functions at once" loader

# The first function that a thread calls may be the allocator's, with its lock held.
allocates()
{
    cat >program.c <<'END'
#include <pthread.h>
#include <stddef.h>
#include <string.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char pool[64 << 20];
static size_t used;
#define UNSEEN __attribute__((no_instrument_function))
static __attribute__((noinline)) void *take(size_t n)
{
    char *p = pool + used;
    n = (n + 31) & ~(size_t)15;
    used += n;
    *(size_t *)p = n - 16;
    return p + 16;
}
static __attribute__((noinline)) void give(void *p) { *(volatile char *)p = 0; }
UNSEEN void *malloc(size_t n)
{
    void *p;
    pthread_mutex_lock(&lock);
    p = take(n);
    pthread_mutex_unlock(&lock);
    return p;
}
UNSEEN void free(void *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&lock);
    give(p);
    pthread_mutex_unlock(&lock);
}
UNSEEN void *calloc(size_t a, size_t b) { return memset(malloc(a * b), 0, a * b); }
UNSEEN void *realloc(void *p, size_t n)
{
    void *q = malloc(n);
    size_t old = p ? ((size_t *)p)[-2] : 0;
    return p ? memcpy(q, p, old < n ? old : n) : q;
}
static void *run(void *arg)
{
    free(malloc(8));
    return arg;
}
int main(void)
{
    pthread_t t;
    for (int i = 0; i < 5; i++)
        if (pthread_create(&t, NULL, run, NULL) || pthread_join(t, NULL))
            return 1;
    return 3;
}
END
    arguments=()
    gcc -g -O1 -fno-builtin -pthread -finstrument-functions -o program program.c && ./program >alone
    [ $? = 3 ] && record --calls && figures flat self | grep 'run 5'
}
try "a thread begins in an allocator with hooks, and its lock held" allocates

exactly()
{
    arguments=()
    compiled -g -O2 -DINLINED -finstrument-functions && record --exact --histogram || return
    "$tallytree" report block spin --metric time --csv tt >flat 2>&1 || true
    "$tallytree" report flat --metric time --limit all --csv tt | awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $1 == "entry" { self[$at["name"]] = $at["self"]; all[$at["name"]] = $at["inclusive"] }
        END { for (f in all) { if (f ~ /^main/) main = all[f]; if (f ~ /^work/) work = all[f]; if (f ~ /^spin/) spin = self[f] }
              print main, work, spin; exit !(spin > 0.9 * work && work < main && spin > 0) }'
}
try "-finstrument-functions: exact times add up" exactly
finish
