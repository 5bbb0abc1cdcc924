#!/bin/bash
# SPDX-License-Identifier: MIT
# Python's functions on the stacks of programs that were only started with `record`.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/pythons.sh"
tallytree=$TT_BUILD/tallytree

record() { "$tallytree" record --force -o "$tmp/tt" "$@" 2>"$tmp/messages"; }

has_shares()
{
    local python=$1
    "$python" test/python-shapes.py --pairs >"$tmp/pairs" &&
        record "$python" test/python-shapes.py "$2" && folded &&
        "$python" test/python-shares.py "$tmp/pairs" "$tmp/folded"
}

all=$(pythons) # once: what finds a version may take a second to start
while read -r version python; do
    try "Python $version: shares are what they are, and no function is next to a stranger" \
        has_shares "$python" 400
    equal "Python $version: the header says which it is" "$(header interpreter)" "python $version"
    try "Python $version: nearly all frames have a place" nearly_all_placed
done <<<"$all"

python=/usr/bin/python3
module="python $("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')"

# A function has its qualified name, its file, and the line where it begins.
cat >"$tmp/names.py" <<'END'
import time


class Außen:
    class Inner:
        def method(self):
            end = time.process_time() + 0.3
            while time.process_time() < end:
                for i in range(1000):
                    pass


Außen.Inner().method()
END
# A processor that is busy may have no sample of it: then it runs again.
record_names()
{
    local time
    for time in 1 2 3 4 5; do
        record "$@" "$python" "$tmp/names.py" && folded || return
        grep -q ';Außen.Inner.method[; ]' "$tmp/folded" && return
        echo "no sample of it, time $time"
    done
}

described()
{
    record_names || return
    "$tallytree" report flat --select kind:interpreted --limit all --csv "$tmp/tt" | "$python" -c '
import csv, sys
rows = [[row[k] for k in ("module", "file", "line")]
        for row in csv.DictReader(line for line in sys.stdin if not line.startswith("#"))
        if row["name"] == "Außen.Inner.method"]
print(rows)
sys.exit(rows != [[sys.argv[2], sys.argv[1], "6"]])' "$tmp/names.py" "$module"
}
try "a function has its qualified name, its file and its line" described

# The place of the method, by the line below it in each stack.
lines()
{
    record_names --lines &&
        sed -n 's/.*;Außen.Inner.method;\([^; ]*\).*/\1/p' "$tmp/folded" | sort | uniq -c >"$tmp/lines" &&
        cat "$tmp/lines" && grep -q ' names.py:[89]$' "$tmp/lines" &&
        ! grep -v ' names.py:\(7\|8\|9\|10\)$' "$tmp/lines"
}
try "--lines has the lines that were running, below their function" lines

# Each function makes a number of objects of a size that nothing else has.
cat >"$tmp/objects.py" <<'END'
def small():
    return [bytes(30011) for _ in range(300)]


def large():
    return [bytes(50021) for _ in range(100)]


def both():
    return small(), large()


kept = both()
END
allocates()
{
    record --heap "$python" "$tmp/objects.py" &&
        "$tallytree" export --to folded --metric allocated -o "$tmp/folded" --force "$tmp/tt" &&
        awk '/;both;small;/ { small += $NF } /;both;large;/ { large += $NF }
             END { print small, large
                   exit !(small >= 300 * 30011 && small < 330 * 30011 && large >= 100 * 50021 && large < 110 * 50021) }' "$tmp/folded"
}
try "--heap has what each function allocates" allocates

# The waiter begins a tenth of a second after the holder, which has the lock for two.
cat >"$tmp/waits.py" <<'END'
import threading
import time

lock = threading.Lock()
rounds = [threading.Barrier(2) for _ in range(3)]


def hold_it(barrier):
    with lock:
        barrier.wait()
        time.sleep(0.2)


def wait_for_it(barrier):
    barrier.wait()
    before = time.monotonic()
    lock.acquire()
    global waited
    waited += time.monotonic() - before
    lock.release()


waited = 0
for barrier in rounds:
    holder = threading.Thread(target=hold_it, args=(barrier,))
    holder.start()
    wait_for_it(barrier)
    holder.join()
print(waited)
END
# The wait for the lock, by the waiter and the holder; the program measures it, too.
waits()
{
    record --locks "$1" "$tmp/waits.py" >"$tmp/waited" &&
        "$tallytree" export --to folded --metric "wait time" -o "$tmp/folded" --force "$tmp/tt" &&
        awk -v waited="$(cat "$tmp/waited")" '
             /;wait_for_it;[^[]*\[waits: [a-z]* of\].*;\[woken by\];.*;hold_it;/ && !/;Barrier/ { seen += $NF / 1e9 }
             END { print seen, waited; exit !(seen > 0.9 * waited && seen < 1.1 * waited) }' "$tmp/folded"
}
# Each interpreter uses so much CPU time.  A busy processor takes few samples, with large weights:
# then they run again, for longer.
subinterpreter()
{
    local seconds
    for seconds in 0.4 1.2 3.6; do
        record "$1" test/python-subinterpreter.py $seconds && metric="time" folded || return
        [ "$(header stacks.interpreted)" -lt 150 ] || break
        echo "few samples of $seconds s"
    done
    awk -v used="$seconds" '{ share = $NF / (used * 1e9) }
             /;inside[; ]/ { inside += share; if (!/;main;([^;]*;)*enter;([^;]*;)*<module>;([^;]*;)*inside[; ]/) wrong += share }
             /;outside[; ]/ { outside += share; if (!/;main;([^;]*;)*outside[; ]/ || /;enter;/) wrong += share }
             END { print inside, outside, wrong
                   exit !(inside > 0.75 && inside < 1.3 && outside > 0.75 && outside < 1.3 && wrong < 0.05) }' "$tmp/folded"
}
while read -r version python3; do
    try "Python $version: --locks shows the functions that wait, and those that wake them" waits "$python3"
    try "Python $version: a second interpreter's functions are below those that entered it" subinterpreter "$python3"
done <<<"$all"

off()
{
    record --interpreters none "$python" "$tmp/names.py" && [ -z "$(header interpreter)" ] &&
        ! "$tallytree" report flat --limit all --csv "$tmp/tt" | grep Inner
}
try "--interpreters none leaves the interpreter's own functions" off
refused()
{
    "$tallytree" record --interpreters some true 2>&1 | grep -q "'some'"
}
try "there is no other such choice" refused

without() { record sha256sum "$TT_BUILD/tallytree" && [ -z "$(header interpreter)" ]; }
try "a program without an interpreter has no such facts" without

# same WHAT SIGNAL FLAG... - the same output, messages and status as without recording.
same()
{
    local bare recorded what=("$1" "$2")
    shift 2
    "$python" test/python-signals.py "${what[@]}" >"$tmp/bare.out" 2>"$tmp/bare.err"
    bare=$?
    "$tallytree" record "$@" --force -o "$tmp/tt" "$python" test/python-signals.py "${what[@]}" >"$tmp/out" 2>"$tmp/err"
    recorded=$?
    cat "$tmp/err"
    [ "$bare" = "$recorded" ] || { echo "status $recorded, not $bare"; return 1; }
    cmp "$tmp/bare.out" "$tmp/out" || return
    # Threads have other addresses.
    sed 's/0x[0-9a-f]*/ADDRESS/' "$tmp/bare.err" >"$tmp/bare.said"
    grep -v '^tallytree: ' "$tmp/err" | sed 's/0x[0-9a-f]*/ADDRESS/' | cmp "$tmp/bare.said" - || return
    [ -n "$(header interpreter)" ] # it may be too short for a sample
}
ulimit -c 0
for fault in $(for_long SIGSEGV "SIGSEGV SIGBUS"); do
    try "$fault: a program that faults ends as it does alone" same crash_plainly "$fault"
    try "$fault: faulthandler prints what it prints alone" same crash_with_faulthandler "$fault"
    try "$fault: and does not once it is disabled" same crash_without_faulthandler_again "$fault"
    try "a $fault that is sent ends a program" same killed "$fault"
    try "a handler of $fault is called each time" same handled "$fault"
    try "a $fault that is ignored is, also by a child" same ignored "$fault"
    try "a $fault that is blocked waits" same blocked "$fault"
    try "$fault: and while allocations are recorded" same blocked "$fault" --heap
    try "a handler of $fault that the system forgets is forgotten" same once "$fault"
    if [ "$module" = "python 3.11" ]; then
        try "a frame whose caller cannot be read ($fault) changes nothing" same misled "$fault"
    fi
done

# The action of a signal is changed by each of the C library's calls, and by the system's, and is what the
# program has set; also while threads are sampled, whose loads may fault.
cat >"$tmp/actions.c" <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
typedef void (*handler)(int);
static volatile int caught;
static void on(int n) { caught += n; }
static void on_too(int n) { caught += 100 * n; }
handler bsd_signal(int, handler), __sysv_signal(int, handler), sysv_signal(int, handler);
int __sigaction(int, const struct sigaction *, struct sigaction *);
struct system_action {
    handler h;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};
static const char *name(handler h)
{
    return h == SIG_DFL ? "default" : h == SIG_IGN ? "ignored" : h == on ? "on" : h == on_too ? "on_too" : "another";
}
static void show(int n)
{
    struct sigaction a;
    struct system_action system;
    if (sigaction(n, NULL, &a) != 0 || syscall(SYS_rt_sigaction, n, NULL, &system, 8L) != 0)
        exit(2);
    printf(" %s %x, %s %lx;", name(a.sa_handler), (unsigned)a.sa_flags, name(system.h), system.flags);
}
static void set(const char *what, handler (*f)(int, handler), int n)
{
    caught = 0;
    printf("%s %d:", what, n);
    printf(" was %s", name(f(n, on)));
    show(n);
    raise(n);
    show(n);
    printf(" was %s", name(f(n, on_too)));
    siginterrupt(n, 1);
    show(n);
    raise(n);
    printf(" was %s", name(f(n, SIG_IGN)));
    raise(n);
    printf(" was %s, caught %d\n", name(f(n, SIG_DFL)), caught);
}
static void set_actions(int n)
{
    struct sigaction a = {.sa_handler = on, .sa_flags = SA_RESTART}, b;
    struct system_action system;
    printf("__sigaction %d: %d", n, __sigaction(n, &a, &b));
    printf(" was %s", name(b.sa_handler));
    show(n);
    syscall(SYS_rt_sigaction, n, NULL, &system, 8L);
    system.h = on_too;
    printf(" system %ld", syscall(SYS_rt_sigaction, n, &system, NULL, 8L));
    show(n);
    caught = 0;
    raise(n);
    sigignore(n);
    show(n);
    printf(" caught %d\n", caught);
    printf("%s", name(sigset(n, SIG_DFL)));
    for (int i = 0; i < 2; i++) {
        sigset_t set;
        printf(" hold: %d", sigset(n, SIG_HOLD) == (i ? SIG_HOLD : SIG_DFL));
        sigprocmask(SIG_BLOCK, NULL, &set);
        printf(" blocked: %d", sigismember(&set, n));
    }
    printf(" free: %d", sigset(n, on) == SIG_HOLD);
    printf(" %s\n", name(sigset(n, SIG_DFL)));
}
static int done;
static void *change(void *arg)
{
    struct sigaction a = {.sa_handler = on_too}, b;
    (void)arg;
    while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
        sigaction(SIGSEGV, &a, NULL);
        for (volatile int i = 0; i < 3000; i++)
            ;
        sigaction(SIGSEGV, NULL, &b);
        if (b.sa_handler != on_too)
            exit(3);
    }
    return NULL;
}
void change_actions(int seconds)
{
    pthread_t t[2];
    struct timespec now;
    volatile unsigned sum = 0;
    for (int n = SIGBUS; n; n = n == SIGBUS ? SIGSEGV : n == SIGSEGV ? SIGPROF : 0) {
        set("signal", signal, n);
        set("bsd_signal", bsd_signal, n);
        set("ssignal", ssignal, n);
        set("sysv_signal", sysv_signal, n);
        set("__sysv_signal", __sysv_signal, n);
        set("sigset", sigset, n);
        set_actions(n);
    }
    fflush(stdout);
    caught = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&t[i], NULL, change, NULL);
    do {
        for (int i = 0; i < 100000; i++)
            sum += (unsigned)i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while (now.tv_sec < seconds);
    __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        pthread_join(t[i], NULL);
    printf("%d\n", caught);
    fflush(stdout);
}
END
actions()
{
    local run=("$python" -c "import ctypes, sys; ctypes.CDLL('$tmp/actions.so').change_actions(int(sys.argv[1]))")
    "${run[@]}" 0 >"$tmp/bare.out" || return
    "$tallytree" record "$@" --force -o "$tmp/tt" "${run[@]}" "$(for_long 1 3)" >"$tmp/out" && diff "$tmp/bare.out" "$tmp/out" && [ -n "$(header interpreter)" ]
}
if gcc -O1 -g -w -shared -fPIC -D_GNU_SOURCE -o "$tmp/actions.so" "$tmp/actions.c"; then
    try "a program's actions are what it has set, by whatever call" actions
    try "and while many samples are taken" actions --sampled=3000
else
    skip "a program's actions are what it has set, by whatever call" "gcc cannot compile it"
fi

# A program may use its whole stack: there is room for our signal, and not for a fault in it.
cat >"$tmp/end.c" <<'END'
#include <alloca.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <time.h>
void work_at_end(void)
{
    const unsigned long room = getauxval(51 /* AT_MINSIGSTKSZ */) + 1024;
    volatile unsigned sum = 0;
    pthread_attr_t a;
    struct timespec t;
    char *low, *end;
    size_t size;

    pthread_getattr_np(pthread_self(), &a);
    pthread_attr_getstack(&a, (void **)&low, &size);
    pthread_attr_destroy(&a);
    end = alloca((char *)__builtin_frame_address(0) - low - room - 4096);
    end[0] = 1;
    end = alloca((unsigned long)(end - low) - room);
    end[0] = 1;
    do {
        for (int i = 0; i < 100000; i++)
            sum += (unsigned)i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 600000000);
}
END
at_end()
{
    "$tallytree" record --force -o "$tmp/tt" "$python" -c "import ctypes; ctypes.CDLL('$tmp/end.so').work_at_end(); print('done')" >"$tmp/out" 2>"$tmp/err" || { cat "$tmp/err"; return 1; }
    [ "$(cat "$tmp/out")" = done ] && "$tallytree" report flat --csv "$tmp/tt" | grep -q 'entry.*work_at_end'
}
if gcc -O1 -g -w -shared -fPIC -o "$tmp/end.so" "$tmp/end.c"; then
    try "a program at the end of its stack goes on" at_end
else
    skip "a program at the end of its stack goes on" "gcc cannot compile it"
fi
finish
