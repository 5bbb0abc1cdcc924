#!/bin/bash
# SPDX-License-Identifier: MIT
# All time of all threads, with what they wait for; and the program does not notice.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
guest=$TT_BUILD/test/guest

# In the first thread, each function has the time that it measured itself.
cat >"$tmp/compare.py" <<'END'
import csv, sys
true = {k: float(v) for k, v in (line.split() for line in open(sys.argv[2]))}
whole = true.pop('all')
rows = {}
for row in csv.DictReader(line for line in open(sys.argv[1]) if not line.startswith('#')):
    if row['role'] == 'entry':
        rows.setdefault(row['name'], row)
was_right = set(open(sys.argv[3]).read().split())
for name, seconds in true.items():
    row = rows.get(name)
    ours = float(row['inclusive']) / 1e9 if row else 0
    spread = float(row['inclusive_error']) * whole * 2 if row else 0
    wrong = abs(ours - seconds) > 2 * spread + 0.02 * whole
    if not wrong:
        was_right.add(name)
    print('%-10s %.3f s, truth %.3f +- %.3f%s' % (name, ours, seconds, spread, ' WRONG' if wrong else ''))
ours = float(rows['main']['inclusive']) / 1e9
print('main', ours, 'of', whole)
if abs(ours - whole) <= 0.1 * whole:
    was_right.add('main')
open(sys.argv[3], 'w').write(' '.join(was_right))
sys.exit(was_right != set(true) | {'main'})
END

if ! cat /proc/self/syscall >/dev/null 2>&1; then
    echo "1..0 # SKIP /proc does not say here where threads wait"
    exit
fi

compared()
{
    timeout -k 5 500 "$tallytree" record --wall -o "$tmp/tt" "$tmp/wall" >"$tmp/out" 2>"$tmp/err"
    [ $? = 7 ] || { cat "$tmp/err" "$tmp/out"; return 1; }
    "$tallytree" report flat --limit all --sort inclusive --csv "$tmp/tt" >"$tmp/flat" || return
    python3 "$tmp/compare.py" "$tmp/flat" "$tmp/out" "$tmp/right"
}

# truth FLAGS... - of the program when it is compiled so.  A round that a busy machine kept
# waiting counts for all of that time, and the share's error does not know: each function is
# right in one of five runs.
truth()
{
    cc "$@" -D_GNU_SOURCE -pthread -o "$tmp/wall" test/wall.c || return
    : >"$tmp/right"
    compared || compared || compared || compared || compared
}
try "functions have the time that they waited, and no call is cut short" truth -O2 -g
try "so have those that keep frame pointers" truth -O0 -g -fno-omit-frame-pointer
says()
{
    local wait
    for wait in futex sleep read poll epoll; do
        grep -qF ",[waits: $wait]," "$tmp/flat" || { echo "no $wait"; cat "$tmp/flat"; return 1; }
    done
}
try "what they waited for is said" says
header() { "$tallytree" report header "$tmp/tt" | grep "wall *all time counts" && "$tallytree" report flat "$tmp/tt" | grep "samples of wall-clock time"; }
try "and that it is all time" header
whole() { [ "$("$tallytree" report header --csv "$tmp/tt" | awk -F, '$4 == "stacks.broken" { print $NF; exit }')" = 0 ]; }
try "all stacks are whole" whole
interrupted()
{
    timeout -k 5 500 "$tallytree" record --wall -o "$tmp/tt" "$tmp/wall" alarm >"$tmp/out" 2>"$tmp/err"
    [ $? = 7 ] || { cat "$tmp/err" "$tmp/out"; return 1; }
}
try "a signal of the program's own still ends a call" interrupted

# Whatever a signal would end, shorten or lengthen; a busy machine takes more runs until each
# wait was seen once.
calls()
{
    local wait missing
    cc -O2 -D_GNU_SOURCE -pthread -o "$tmp/calls" test/calls.c test/calls-bytes.c || return
    "$tmp/calls" 1 || return
    : >"$tmp/seen"
    for _ in {1..60}; do
        timeout -k 5 500 "$tallytree" record --wall -o "$tmp/tt" "$tmp/calls" "${RUNS:-4}" || return
        "$tallytree" report flat --limit all "$tmp/tt" >>"$tmp/seen"
        missing=
        for wait in write send receive child accept connect futex; do
            grep -qF "[waits: $wait]" "$tmp/seen" || missing="$missing $wait"
        done
        [ "$missing" ] || return 0
    done
    echo "never seen:$missing"
    return 1
}
try "calls that wait give all bytes, keep their time limits and do not end early" calls

# same ARGS... - the guest does what it does alone.
same()
{
    local bare recorded
    timeout -k 5 500 "$guest" "$@" >"$tmp/bare.out" 2>"$tmp/bare.err" </dev/null
    bare=$?
    timeout -k 5 500 "$tallytree" record --wall -o "$tmp/tt" "$guest" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    recorded=$?
    [ "$bare" = "$recorded" ] && cmp "$tmp/bare.out" "$tmp/out" || { echo "status $recorded, not $bare"; cat "$tmp/err" "$tmp/bare.err"; return 1; }
}
for what in "sleep" "masks" "timers" "storm" "children" "threads 1000" "malloc 1" "stacks" "files"; do
    # shellcheck disable=SC2086
    try "a program that is hard on guests does what it does alone: $what" same $what
done

cat >"$tmp/leaves.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>
static void *last(void *arg) { usleep(200000); puts("last"); return arg; }
int main(void) { pthread_t t; pthread_create(&t, NULL, last, NULL); pthread_exit(NULL); }
END
leaves()
{
    cc -pthread -o "$tmp/leaves" "$tmp/leaves.c" &&
        timeout -k 5 500 "$tallytree" record --wall -o "$tmp/tt" "$tmp/leaves" >"$tmp/out" 2>"$tmp/err" && grep -qx last "$tmp/out"
}
try "a program whose first thread goes first ends with its last" leaves

refused()
{
    "$tallytree" record --wall -p $$ 2>"$tmp/err"
    [ $? = 125 ] && grep -e "--wall needs the preload library, which cannot be loaded: .*--locks records waits.*--counter context-switches" "$tmp/err"
}
try "it is refused of a process that runs already" refused

# A server that gives up its rights, as nginx does, and sleeps in its workers: 4 * 0.4 s, and as
# long as the first of them in the parent.
cat >"$tmp/rights.c" <<'END'
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    for (int i = 0; i < 4; i++)
        if (fork() == 0) {
            if (setgid(65534) || setuid(65534) || (argc > 1 && prctl(PR_SET_DUMPABLE, 1)))
                _exit(1);
            usleep(400000);
            _exit(0);
        }
    while (wait(NULL) > 0)
        ;
    return argv[0] == NULL;
}
END
gcc -O1 -o "$tmp/rights" "$tmp/rights.c"
# given_up WORDS... - the seconds that were recorded, and how many threads, and pages, the
# header says were lost.
given_up()
{
    "$tallytree" record --wall -o "$tmp/rights.tt" -- "$tmp/rights" "$@" 2>"$tmp/err" || return
    "$tallytree" report header --csv "$tmp/rights.tt" | awk -F, '$4 == "lost.samplers" || $4 == "lost.pages" { lost += $6 } /"time, in ns/ { time = $NF } END { printf "%.2f %d\n", time / 1e9, lost }'
}
if [ "$(id -u)" = 0 ]; then
    read -r seconds lost < <(given_up dumpable)
    try "workers that gave up their rights have the time in which they sleep ($seconds s, $lost)" awk "BEGIN { exit !($seconds >= 1.8 && $lost == 0) }"
    read -r seconds lost < <(given_up)
    try "and where the system does not say where they sleep, that is said ($seconds s, $lost)" awk "BEGIN { exit !($seconds >= 1.8 || $lost == 4) }"
else
    skip "workers that gave up their rights have the time in which they sleep" "only root can give them up"
fi

# A capability is given up by one thread; the calls after it are made by all of them.
cat >"$tmp/drop.c" <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static void print(const char *what, int result)
{
    printf("%s: %d %d\n", what, result, result ? errno : 0);
    errno = 0;
}
#define PRINT(call) print(#call, call)
static void limit(int has_none)
{
    struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct d[2];
    PRINT((int)syscall(SYS_capget, &h, d));
    for (int i = 0; i < 2; i++)
        if (has_none)
            d[i].effective = d[i].permitted = 0;
        else
            d[i].effective = d[i].permitted;
    PRINT((int)syscall(SYS_capset, &h, d));
}
int main(int argc, char **argv)
{
    const gid_t group = 65534;
    if (argc > 1) {
        PRINT(prctl(PR_SET_KEEPCAPS, 1));
        PRINT(setresuid(65534, 65534, 65534));
        limit(0);
    } else {
        limit(1);
    }
    PRINT(setgroups(1, &group));
    PRINT(initgroups("root", 65534));
    PRINT(setegid(65534));
    PRINT(setregid(65534, 65534));
    PRINT(setresgid(65534, 65534, 65534));
    PRINT(setgid(65534));
    PRINT(seteuid(65534));
    PRINT(setreuid(65534, 65534));
    PRINT(setresuid(65534, 65534, 65534));
    PRINT(setuid(65534));
    printf("%d %d %d %d\n", getuid(), geteuid(), getgid(), getegid());
    PRINT(prctl(PR_SET_DUMPABLE, 1));
    fflush(stdout);
    if (fork() == 0)
        _exit(0);
    wait(NULL);
    usleep(600000);
    return 3;
}
END
gcc -O1 -o "$tmp/drop" "$tmp/drop.c"
dropped()
{
    local status
    "$tmp/drop" "$@" >"$tmp/bare"
    "$tallytree" record --wall --force -o "$tmp/tt" -- "$tmp/drop" "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
    diff "$tmp/bare" "$tmp/out" && [ $status = 3 ] || { cat "$tmp/err"; return 1; }
}
slept() { "$tallytree" report flat --limit all --csv "$tmp/tt" | awk -F, '/waits: sleep/ { found = $6 > 3e8 } { print } END { exit !found }'; }
if [ "$(id -u)" = 0 ]; then
    try "a program that gives up a capability in one thread goes on" dropped
    try "and its sleep after that is recorded" slept
    try "so does one that keeps capabilities" dropped keeps
    try "and its sleep after that is recorded, too" slept
else
    skip "a program that gives up a capability in one thread goes on" "only root can give it up"
fi

# Calls that need the process to have one thread.
cat >"$tmp/alone.c" <<'END'
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
static void print(int result)
{
    printf("%d %d\n", result, errno);
    errno = 0;
}
int main(int argc, char **argv)
{
    print(setns(open("/proc/self/ns/mnt", O_RDONLY), CLONE_NEWNS));
    for (int i = 0; i < 20; i++)
        print(i & 1 ? unshare(CLONE_NEWUSER) : (int)syscall(SYS_unshare, CLONE_NEWUSER));
    print(unshare(CLONE_THREAD | CLONE_SIGHAND | CLONE_VM));
    print(unshare(argc > 1 ? CLONE_NEWPID : CLONE_FS | CLONE_FILES));
    print(argc > 1 ? unshare(CLONE_NEWUSER) : 0);
    usleep(600000);
    return argv[0] == NULL;
}
END
gcc -D_GNU_SOURCE -o "$tmp/alone" "$tmp/alone.c"
alone()
{
    "$tmp/alone" "$@" >"$tmp/bare" &&
        "$tallytree" record --wall --force -o "$tmp/tt" -- "$tmp/alone" "$@" >"$tmp/out" 2>"$tmp/err" || return
    diff "$tmp/bare" "$tmp/out"
}
try "calls that need a process of one thread have the results that they have alone" alone
try "and the sleep after them is recorded" slept
try "and if no thread can be created after them" alone pid
says_so() { "$tallytree" report header "$tmp/tt" | grep -q "no waits after it changed its namespaces" || tail -n 2 "$tmp/out" | grep -q "^-1"; }
try "that is said" says_so
zygote()
{
    [ "$("$tallytree" record --wall --force -o "$tmp/tt" -- bash -c 'set -- /proc/self/task/*; echo $#; sleep 0.1' bash --type=zygote)" = 1 ] &&
        "$tallytree" report header "$tmp/tt" | grep -q "no waits: a zygote must have one thread"
}
try "Chromium's zygote, which counts its threads, has none of ours, and that is said" zygote
# At its end the program waits for our threads.
end()
{
    printf '#include <unistd.h>\nint main(void) { for (volatile long n = 0; n < 30000000; n++); usleep(50000); return 0; }\n' >"$tmp/end.c" &&
        cc -O1 -g -o "$tmp/end" "$tmp/end.c" || return
    for _ in 1 2 3 4 5; do
        "$tallytree" record --wall --force -o "$tmp/tt" "$tmp/end" && "$tallytree" report flat --csv --limit all "$tmp/tt" >"$tmp/flat" &&
            grep nanosleep "$tmp/flat" && ! grep -E 'clockjoin|waits: futex' "$tmp/flat" || return
    done
}
try "the wait for our own threads at the end is no wait of the program" end
finish
