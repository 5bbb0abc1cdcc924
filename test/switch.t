#!/bin/bash
# SPDX-License-Identifier: MIT
# `tallytree on` and `tallytree off`: functions of a process that runs.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
library=$TT_BUILD/libtallytree-switch.so.0
[ "$(uname -m)" = x86_64 ] || { echo "1..0 # SKIP functions are not switched on this machine"; exit; }
[ "${TT_BUILD#/}" != "$TT_BUILD" ] || { tallytree=$PWD/$tallytree library=$PWD/$library; }
chmod 755 "$tmp"
top=$PWD
cd "$tmp" || exit 1

# not WHAT COMMAND... - it says that it could not be done.
not()
{
    local what=$1
    shift
    try "$what" fails "$@"
}
fails() { ! "$@"; }

cat >steady.c <<'END'
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <stddef.h>
static volatile unsigned sink;
__attribute__((noinline)) unsigned leaf(unsigned n) { sink += n; return sink; }
__attribute__((noinline)) unsigned one(unsigned n) { leaf(n); leaf(n); return sink; }
__attribute__((noinline)) unsigned two(unsigned n) { one(n); return sink; }
static void deny(unsigned call)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {4, code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        exit(3);
}
static void *allocate(void *arg)
{
    for (;;)
        free(malloc(100 + (size_t)arg));
}
/* Some calls for each byte, and a byte of a file when they are done. */
static void step(void)
{
    int done = open("stepped", O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
    char c;
    while (read(0, &c, 1) > 0) {
        for (unsigned i = 0; i < 1000; i++)
            two(i);
        if (write(done, &c, 1) != 1)
            exit(4);
    }
}
/* Until its input ends; then it says that all is well. */
int main(int argc, char **argv)
{
    pthread_t t;
    char c;
    if (argc < 2 || strcmp(argv[1], "steps") != 0)
        fcntl(0, F_SETFL, O_NONBLOCK);
    if (argc > 1 && strcmp(argv[1], "membarrier") == 0)
        deny(SYS_membarrier);
    if (argc > 1 && strcmp(argv[1], "mprotect") == 0)
        deny(SYS_mprotect);
    if (argc > 1 && strcmp(argv[1], "openat") == 0)
        deny(SYS_openat);
    if (argc > 1 && strcmp(argv[1], "readlink") == 0)
        deny(SYS_readlink);
    for (int i = 0; argc > 1 && strcmp(argv[1], "malloc") == 0 && i < 4; i++)
        pthread_create(&t, NULL, allocate, (void *)(size_t)i);
    puts("begun");
    fflush(stdout);
    if (argc > 1 && strcmp(argv[1], "steps") == 0)
        step();
    while (read(0, &c, 1) != 0) {
        for (int i = 0; i < 100; i++) {
            two((unsigned)i);
            if (argc > 1 && strcmp(argv[1], "malloc") == 0)
                free(malloc(100));
        }
        if (argc < 2 || strcmp(argv[1], "busy") != 0)
            usleep(argc > 1 && strcmp(argv[1], "openat") == 0 ? 20000 : 200);
    }
    puts("well");
    return 7;
}
END
cc=(gcc -O1 -fno-optimize-sibling-calls -pthread -o)
"${cc[@]}" steady -fpatchable-function-entry=5 steady.c
"${cc[@]}" entry -pg -mfentry -mnop-mcount -fno-pie -no-pie steady.c
"${cc[@]}" plain steady.c

# begin PROGRAM ARGS... - runs it with the library; $pid is it.
begin()
{
    rm -f fifo out
    mkfifo fifo
    LD_PRELOAD=$library "$@" <fifo >out 2>err &
    pid=$!
    exec 7>fifo
    begun
}
# It has said so, or never will.
begun() { patiently said_or_gone && [ -s out ]; }
said_or_gone() { [ -s out ] || is_gone "$pid"; }

# over - the program ends as it does alone.
over()
{
    exec 7>&-
    wait "$pid"
    [ $? = 7 ] && [ "$(cat out err)" = "begun
well" ]
}

switch() { timeout -k 5 500 "$tallytree" "$@"; }

# count_of FILE NAME - calls of a function, from everywhere.
count_of() { "$tallytree" export --to folded --metric calls "$1" | awk -v n="$2" '{ c = $NF; sub(/ [0-9]+$/, ""); k = split($0, p, ";"); if (p[k] == n) s += c } END { print s + 0 }'; }

# step - it does its next calls, a thousand of `two`; while it waits nothing is called.
step()
{
    printf x >&7
    steps=$((steps + 1))
    patiently has_stepped && ! is_gone "$pid"
}
has_stepped() { [ "$(stat -c %s stepped)" = "$steps" ] || is_gone "$pid"; }

# stepped FILE MODE - one step before it is on, two while it is, one after.
stepped()
{
    steps=0
    step && switch on -p "$pid" ${2:+"$2"} -o "$1" && step && step && switch off -p "$pid" && step
}

# exact FILE - the calls of these: two calls one, which calls leaf twice.
exact()
{
    local two one leaf
    two=$(count_of "$1" two) one=$(count_of "$1" one) leaf=$(count_of "$1" leaf)
    echo "two $two one $one leaf $leaf"
    [ "$two $one $leaf" = "2000 2000 4000" ]
}

# some FILE FUNCTION... - calls of each are there.  Their number is known if functions are switched
# between steps.  It is not while the program runs: functions are switched one by one, and the
# thread that switches may have to wait.
some()
{
    local function n
    for function in "${@:2}"; do
        n=$(count_of "$1" "$function")
        [ "$n" -gt 0 ] || { echo "no $function"; return 1; }
    done
}

for program in steady entry; do
    for mode in --calls --exact --every=8; do
        rm -f stepped
        begin ./$program steps
        try "it is switched on and off between calls, $program $mode" stepped "steps$mode" "$mode"
        try "and goes on, $program $mode" over
        try "each call is counted, and no other, $program $mode" exact "steps$mode"
    done
done

# Few functions, which are found by their list alone, wherever it begins: each text moves it.
cat >small.c <<'END'
#include <stdio.h>
#include <unistd.h>
const char text[] = TEXT;
__attribute__((noinline)) void leaf(void) { __asm__ volatile(""); }
int main(void)
{
    char c;
    puts("begun");
    fflush(stdout);
    while (read(0, &c, 1) != 0)
        leaf();
    puts("well");
    return 7;
}
END
all_are_on() { switch on -p "$pid" -o small 2>&1 | grep "2 of 2 functions" && switch off -p "$pid"; }
sed -n 's/^    cc \(.*\) prog\.c.*/\1/p' "$top/doc/switching.md" >ways
equal "the page has two ways to compile" "$(wc -l <ways)" 2
while read -r way; do
    for text in '"a"' '"ab"'; do
        # shellcheck disable=SC2086
        gcc $way -DTEXT="$text" -o small-program small.c
        begin ./small-program
        try "all functions are on, compiled with $way" all_are_on
        try "and it goes on" over
    done
done <ways
switches=$(sed -n 's/.*`\(-Wl,.* -ltallytree-switch\)`.*/\1/p' "$top/doc/switching.md")
# shellcheck disable=SC2086
gcc -DTEXT='"a"' -o linked small.c -L"$(dirname "$library")" $switches
try "linked as the page says, the library is in a program that does not call it" \
    sh -c 'readelf -d linked | grep "NEEDED.*libtallytree-switch"'

begin ./steady
threads() { find "/proc/$pid/task" -mindepth 1 -maxdepth 1 | wc -l; }
equal "until it is switched on there is no thread" "$(threads)" 1
try "and no file" sh -c "! ls -l /proc/$pid/fd | grep -q tallytree"
try "it is switched on" switch on -p "$pid" -o profile
sleep 0.3
try "and off" switch off -p "$pid"
try "and goes on" over
try "its calls are in the profile" some profile two one leaf
try "under its name, and its caller's" sh -c "'$tallytree' export --to folded --metric calls profile | grep -q 'two;one;leaf '"
try "nothing else is left behind" sh -c '! ls -d .*.live /tmp/tallytree.'"$pid"'.* 2>/dev/null'

begin ./entry
try "so is what calls at its entry" switch on -p "$pid" -o profile
sleep 0.3
try "and off" switch off -p "$pid"
try "and goes on" over
try "its calls are in the profile" some profile two one leaf

begin ./steady
try "only functions of a name" switch on -p "$pid" --only 'on?' -o profile
try "others instead, while it runs" switch on -p "$pid" --only 't*' -o another
sleep 0.2
try "and off" switch off -p "$pid"
try "and goes on" over
try "are recorded" sh -c "'$tallytree' export --to folded --metric calls profile | grep -q two"
equal "the others are not" "$(count_of profile leaf)" 0

for mode in --exact --sampled=500 --every=8; do
    begin ./steady busy
    try "on with $mode" switch on -p "$pid" "$mode" -o "profile$mode"
    sleep 0.5
    try "off with $mode" switch off -p "$pid"
    try "it goes on with $mode" over
done
try "sampled functions have time" sh -c "'$tallytree' export --to folded profile--sampled=500 | grep -q 'two;one'"

# Again and again.
begin ./steady malloc
many()
{
    local i
    for ((i = 0; i < $(for_long 5 15); i++)); do
        switch on -p "$pid" -o "many.$i" && switch off -p "$pid" || return
    done
    switch on -p "$pid" -o many && sleep 0.3 && switch off -p "$pid" && some many two one leaf
}
try "again and again, in the midst of malloc" many
try "and goes on" over

# Functions whose calls cost more than they tell.
begin ./steady busy
try "on while they cost no more than this" switch on -p "$pid" --max-overhead 1% -o thin
sleep 4
try "off" sh -c "'$tallytree' off -p $pid 2>said"
try "and goes on" over
try "it is said which went off, and when" grep -Eq '^tallytree: leaf was switched off by --max-overhead, after [1-9][0-9]* calls$' said
try "by the report too" sh -c "'$tallytree' report header thin | grep -q 'off by themselves, with their calls so far: .*leaf [1-9]'"
begin ./steady busy
try "on while they may cost anything" switch on -p "$pid" --max-overhead 9000% -o thick
sleep 1
try "off" sh -c "'$tallytree' off -p $pid 2>said"
try "and goes on" over
none "none goes off" grep 'by itself' said
not "a share is wanted" switch on -p 1 --max-overhead much

# Calls that must fail.
begin ./plain
not "what was not compiled for it is refused" switch on -p "$pid" -o none
try "with the reason" sh -c "'$tallytree' on -p $pid -o none 2>&1 | grep -q 'nothing here was compiled to be switched'"
not "what is not on is not off" switch off -p "$pid"
try "and goes on" over
try "and there is no profile" sh -c '! ls -d none* 2>/dev/null'

for call in membarrier mprotect; do
    begin ./steady "$call"
    not "without $call it is refused" switch on -p "$pid" -o none
    try "with the reason, without $call" sh -c "'$tallytree' on -p $pid -o none 2>&1 | grep -Eq 'membarrier|executable|no thread'"
    try "and goes on" over
done

begin ./steady openat
try "who may not open files is told of, with the reason" sh -c "! '$tallytree' on -p $pid -o none 2>said && grep -q 'calls are denied' said"
try "and goes on" over

begin ./steady readlink
try "nor where its own code is" sh -c "! '$tallytree' on -p $pid -o none 2>said && grep -q 'readlink' said"
try "and goes on" over

./plain <fifo >out &
pid=$!
exec 7>fifo
try "who has not the library says so" sh -c "'$tallytree' on -p $pid 2>&1 | grep -q 'libtallytree-switch.so is not in it'"
exec 7>&-
wait "$pid"
not "there is no such process" switch on -p 999999999
not "a process is wanted" switch on
not "a number is wanted" switch on -p me

# Another user.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    begin ./steady
    other=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    mkdir -m 777 open
    not "another user cannot switch it" "${other[@]}" "$tallytree" on -p "$pid" -o open/profile
    try "nor wake it" sh -c "! setpriv --reuid 65534 --regid 65534 --clear-groups kill -58 $pid 2>/dev/null"
    switch on -p "$pid" -o open/profile 2>/dev/null
    not "nor read it" "${other[@]}" sh -c 'cat open/.*.live/* >/dev/null'
    not "nor switch it off" "${other[@]}" "$tallytree" off -p "$pid"
    try "its own user can" switch off -p "$pid"
    try "and it goes on" over
    mkdir -m 777 theirs
    cp "$library" theirs/ # which they may not see where it is
    rm -f out # of the program before
    LD_PRELOAD=$PWD/theirs/$(basename "$library") "${other[@]}" ./steady <fifo >out 2>err &
    pid=$!
    exec 7>fifo
    begun
    try "root switches everybody's" switch on -p "$pid" -o theirs/profile
    sleep 0.3
    try "and off" switch off -p "$pid"
    try "and it goes on" over
    try "its calls are in the profile" some theirs/profile two one leaf
else
    skip "another user cannot switch it" "this is not root"
fi

# Libraries that come and go.
cat >plugin.c <<'END'
static volatile int sink;
__attribute__((noinline)) int inner(int n) { return sink += n; }
int outer(int n) { return inner(n) + inner(1); }
END
cat >loads.c <<'END'
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    char c;
    fcntl(0, F_SETFL, O_NONBLOCK);
    puts("begun");
    fflush(stdout);
    for (int i = 0; read(0, &c, 1) != 0; i++) {
        void *plugin = dlopen(i & 1 ? "./plugin.so" : "./another.so", RTLD_NOW);
        int (*outer)(int) = (int (*)(int))dlsym(plugin, "outer");
        for (int j = 0; j < 400; j++) {
            outer(j);
            usleep(300);
        }
        dlclose(plugin);
    }
    puts("well");
    return 7;
}
END
gcc -O1 -fno-optimize-sibling-calls -shared -fPIC -fpatchable-function-entry=5 -o plugin.so plugin.c
gcc -O2 -fno-optimize-sibling-calls -shared -fPIC -fpatchable-function-entry=5 -o another.so plugin.c
"${cc[@]}" loads -fpatchable-function-entry=5 loads.c -ldl
begin ./loads
try "what is loaded later is switched too" switch on -p "$pid" -o loaded
sleep 2
try "and off" switch off -p "$pid"
try "and goes on" over
try "and its calls are in the profile" some loaded outer inner

# The same as compilers have it that optimise more, and know what a function changes.
hows=("clang -O3")
is_long && hows+=("gcc -O3" "clang -O2")
for how in "${hows[@]}"; do
    # shellcheck disable=SC2086
    set -- $how
    command -v "$1" >/dev/null || continue
    try "$how compiles functions to be switched" "$@" -w -std=gnu11 -D_GNU_SOURCE -pthread -I"$top/include" -I"$top/test" \
        -o variant "$top/test/switch-test.c" "$library" -Wl,-rpath,"${library%/*}"
    # Its threads meet more rounds in the test itself.
    # shellcheck disable=SC2016
    try "which are, as $how has them" env TT_TOGGLES="$(for_long 20 60)" sh -c './variant >said 2>&1 || exit; ! grep "^not" said; grep -q "^1\.\." said'
done

# From its start on, by one command: what it does alone, all calls, its children's too.
cat >once.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned sink;
__attribute__((noinline)) double leaf(double n) { sink += (unsigned)n; return n / 2; }
__attribute__((noinline)) double both(double n) { return leaf(n) + leaf(n); }
int main(int argc, char **argv)
{
    double sum = 0;
    for (int i = 0; i < 3000; i++)
        sum += both(i);
    if (argc > 1 && fork() == 0) {
        for (int i = 0; i < 10; i++)
            both(i);
        if (strcmp(argv[1], "exec") == 0)
            execl(argv[0], argv[0], (char *)NULL);
        exit(0);
    }
    wait(NULL);
    printf("%g\n", sum);
    return 7;
}
END
"${cc[@]}" once -fpatchable-function-entry=5 once.c
# recorded FLAG CALLS-OF-leaf ARGS...
recorded()
{
    local flag=$1 calls=$2
    shift 2
    ./once "$@" >alone
    "$tallytree" record "$flag" -o once.tt -- ./once "$@" >out 2>err
    [ $? = 7 ] && cmp alone out && [ "$(count_of once.tt leaf)" = "$calls" ] &&
        [ "$(count_of once.tt both)" = $((calls / 2)) ] || { cat err; count_of once.tt leaf; return 1; }
}
for flag in --calls --exact --every=8; do
    try "record $flag switches them on before main" recorded "$flag" 6000
done
try "in children too" recorded --calls 6020 fork
try "and in what they become" recorded --calls 12020 exec
timed()
{
    recorded --exact 6000 && "$tallytree" report flat --metric time --limit all --csv once.tt | awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $at["name"] == "both" { both = $at["inclusive"] }
        $at["name"] == "main" { main = $at["inclusive"] } END { exit !(both > 0 && main > both) }'
}
try "record --exact times them" timed
stacks() { "$tallytree" record -o once.tt -- ./once >out 2>err; [ $? = 7 ] && [ "$(count_of once.tt leaf)" = 0 ]; }
try "record without these samples stacks, and switches nothing" stacks

# Interrupted wherever it is, it is not harmed by a signal that is not ours.
begin ./steady
try "a bare signal changes nothing" sh -c "kill -58 $pid; sleep 0.1; kill -0 $pid"
equal "and begins no thread" "$(threads)" 1
try "and goes on" over

finish
