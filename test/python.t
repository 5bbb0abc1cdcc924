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

while read -r version python; do
    try "Python $version: shares are what they are, and no function is next to a stranger" \
        has_shares "$python" 400
    equal "Python $version: the header says which it is" "$(header interpreter)" "python $version"
    try "Python $version: nearly all frames have a place" nearly_all_placed
done < <(pythons)

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
rounds = [threading.Barrier(2) for _ in range(5)]


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
# Each interpreter uses 0.4 s of CPU time, however many samples a busy processor allows.
subinterpreter()
{
    record "$1" test/python-subinterpreter.py 0.4 && metric="time" folded &&
        awk '{ share = $NF / 4e8 }
             /;inside[; ]/ { inside += share; if (!/;main;([^;]*;)*enter;([^;]*;)*<module>;([^;]*;)*inside[; ]/) wrong += share }
             /;outside[; ]/ { outside += share; if (!/;main;([^;]*;)*outside[; ]/ || /;enter;/) wrong += share }
             END { print inside, outside, wrong
                   exit !(inside > 0.75 && inside < 1.3 && outside > 0.75 && outside < 1.3 && wrong < 0.05) }' "$tmp/folded"
}
while read -r version python3; do
    try "Python $version: --locks shows the functions that wait, and those that wake them" waits "$python3"
    try "Python $version: a second interpreter's functions are below those that entered it" subinterpreter "$python3"
done < <(pythons)

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

# same WHAT FLAG... - the same output, messages and status as without recording.
same()
{
    local bare recorded what=$1
    shift
    "$python" test/python-signals.py "$what" >"$tmp/bare.out" 2>"$tmp/bare.err"
    bare=$?
    "$tallytree" record "$@" --force -o "$tmp/tt" "$python" test/python-signals.py "$what" >"$tmp/out" 2>"$tmp/err"
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
try "a program that faults ends as it does alone" same crash_plainly
try "faulthandler prints what it prints alone" same crash_with_faulthandler
try "and does not once it is disabled" same crash_without_faulthandler_again
try "SIGSEGV that is sent ends a program" same killed
try "a handler of SIGSEGV is called each time" same handled
try "SIGSEGV that is ignored is, also by a child" same ignored
try "SIGSEGV that is blocked waits" same blocked
try "and while allocations are recorded" same blocked --heap
try "a handler that the system forgets is forgotten" same once

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
