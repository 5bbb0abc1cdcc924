#!/bin/bash
# SPDX-License-Identifier: MIT
# All processes of a machine, with other work on it.  Ten programs are let run while they are
# recorded; how much CPU time each has used then is what /proc says.
. "$(dirname "$0")/tap.sh"
PATH=$(realpath "${TT_BUILD:-build}"):$PATH
here=$(realpath "$(dirname "$0")")
cd "$tmp" || exit

# ── Where it is not allowed ──────────────────────────────────────────────────────────
# It is refused before anything runs, with what is missing.
forbidden()
{
    local status=0
    setpriv --reuid=65534 --regid=65534 --clear-groups tallytree record -a -o /tmp/none.$$ true 2>err || status=$?
    [ "$status" = 125 ] && grep "perf_event_paranoid is .*CAP_PERFMON.*-p PID" err || return
    setpriv --reuid=65534 --regid=65534 --clear-groups tallytree top -a -n 1 2>err
    [ $? = 2 ] && [ "$(wc -l <err)" = 1 ] && grep "perf_event_paranoid is .*CAP_PERFMON.*-p PID" err
}
if [ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups tallytree --version >/dev/null 2>&1; then
    try "a user who may not is told what is missing" forbidden
else
    skip "a user who may not is told what is missing" "every user may, or there is no other one"
fi
# Where perf events are forbidden to all, as in a container.
build_denied()
{
    printf '#include <sys/syscall.h>\n#include "denied.h"\nint main(int n, char **w) { return n > 1 && deny(SYS_perf_event_open, 0) ? execvp(w[1], w + 1) : DENIED_NOT; }\n' >denied.c
    cc -w -I"$here" -o denied denied.c
}
none_allowed()
{
    ./denied tallytree record -a --duration 0.1 -o none.tt 2>err
    [ $? = 125 ] && cat err && [ "$(wc -l <err)" = 1 ] && [ ! -e none.tt ] && grep "perf events of all processes are forbidden: .*perf_event_open.*CAP_PERFMON" err
}
if build_denied && ./denied true; then
    try "where no perf events are allowed, that is said" none_allowed
else
    skip "where no perf events are allowed, that is said" "a program cannot be denied system calls"
fi

# ── A user's programs ────────────────────────────────────────────────────────────────
# At 2, the kernel's default, users may sample their own programs, but not the kernel.
user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
paranoid=/proc/sys/kernel/perf_event_paranoid pointers=/proc/sys/kernel/kptr_restrict
paranoid_was=$(cat $paranoid) pointers_was=$(cat $pointers)
put_back()
{
    [ "$(cat $paranoid)" = "$paranoid_was" ] || echo "$paranoid_was" >$paranoid
    [ "$(cat $pointers)" = "$pointers_was" ] || echo "$pointers_was" >$pointers
}
reads='#include <fcntl.h>
#include <unistd.h>
static char room[1 << 20];
__attribute__((noinline)) static void theta_read(int fd) { for (;;) if (read(fd, room, sizeof room) < 0) _exit(1); }
__attribute__((noinline)) static void theta_spin(void) { for (volatile int i = 0; i < 3000000; i++); }
int main(int n, char **w) { (void)w; if (n > 1) for (;;) theta_spin(); theta_read(open("/dev/zero", O_RDONLY)); return 0; }'
# users_own WORDS FLAGS... - records theta, which gets these words, as its user: own/x.tt; what is said is in err.
users_own()
{
    rm -f own/x.tt
    # shellcheck disable=SC2016
    "${user[@]}" bash -c './theta $1 & shift; tallytree record -p $! --duration 0.4 -o own/x.tt "$@"; status=$?; kill -KILL $!; exit $status' own "$@" 2>err
}
kernel_is_hidden()
{
    users_own spin --kernel || { cat err; return 1; }
    cat err && [ "$(grep -c . err)" = 2 ] && grep "no time in the kernel is recorded: .*perf_event_paranoid is 2; .*CAP_PERFMON, or have that set to 1" err &&
        tallytree report header own/x.tt | grep "source .*no time in the kernel" && tallytree report flat --csv own/x.tt | grep "theta_spin"
}
kernel_was_not_asked_for()
{
    users_own spin && cat err && ! grep kernel err && tallytree report flat --csv own/x.tt | grep "theta_spin"
}
kernel_alone_is_refused()
{
    users_own spin --all-kernel
    [ $? = 125 ] && cat err && grep "samples of the kernel are forbidden: .*perf_event_paranoid is 2; .*CAP_PERFMON" err && [ ! -e own/x.tt ]
}
# At 1 they may; its functions have no names if the system hides their addresses.
addresses_are_hidden()
{
    echo 1 >$paranoid && echo 1 >$pointers && users_own "" --kernel && tallytree report flat --limit all --csv own/x.tt >rows && put_back &&
        grep "theta_read" rows && grep -F "[kernel]+0x" rows
}
capable()
{
    "${user[@]}" ./capable record -a --duration 0.3 -o own/a.tt 2>err && cat err && tallytree report header own/a.tt | grep "source .*user and kernel: of the machine"
}
users=("a user who asks for the kernel and may not is told, and has the rest" "if it was not asked for, only the header says so"
    "the kernel alone is refused" "functions of the kernel whose addresses are hidden have no names")
chmod 755 "$tmp" && mkdir own && chmod 777 own
if [ "$(id -u)" = 0 ] && [ -w $paranoid ] && [ -w $pointers ] && echo "$reads" >theta.c && cc -O1 -g -o theta theta.c &&
    "${user[@]}" tallytree --version >/dev/null 2>&1 && trap 'put_back; rm -rf "$tmp"' EXIT && echo 2 >$paranoid 2>/dev/null && users_own spin; then
    try "${users[0]}" patiently kernel_is_hidden
    try "${users[1]}" patiently kernel_was_not_asked_for
    try "${users[2]}" patiently kernel_alone_is_refused
    try "${users[3]}" patiently addresses_are_hidden
    put_back
else
    for name in "${users[@]}"; do skip "$name" "there is no other user, or the system's settings cannot be changed"; done
fi
if [ "$(id -u)" = 0 ] && command -v setcap >/dev/null && cp "$(command -v tallytree)" capable && setcap cap_perfmon+ep capable 2>/dev/null &&
    "${user[@]}" ./capable --version >/dev/null 2>&1; then
    try "a user whose tallytree has CAP_PERFMON records the machine" capable
else
    skip "a user whose tallytree has CAP_PERFMON records the machine" "no file can have capabilities here"
fi

refuses() { tallytree record "$@" 2>err; [ $? = 125 ] && cat err; }
try "-p and -a do not go together" refuses -a -p 1
try "a processor that is not there is refused" refuses --cpu 99999 true
try "so is a list that is none" refuses --cpu 0-x true
try "a user that is not there is refused" refuses --user nobody.is.called.so true
if ! tallytree record -a --duration 0.1 -o first.tt 2>err; then
    skip "all the rest" "$(tail -n 1 err)"
    finish
    exit
fi

# ── Ten programs ─────────────────────────────────────────────────────────────────────
names=() functions=() pids=()
comm() { [ "$(cat /proc/"$1"/comm)" = "$2" ]; }
# program NAME FUNCTION COMMAND... - starts it, and stops it when it burns.
program()
{
    names+=("$1")
    functions+=("$2")
    shift 2
    "$@" >/dev/null 2>&1 &
    pids+=($!)
    patiently comm $! "${names[-1]}"
    sleep 0.1
    kill -STOP $!
}
spin='{ for (;;) for (volatile int i = 0; i < 100000; i++) sum += i; }'
echo "static volatile unsigned sum; __attribute__((noinline)) static void alpha_spin(void) $spin int main(void) { alpha_spin(); return 0; }" >alpha.c
echo "static volatile unsigned sum; namespace beta { template <class T> struct Work { __attribute__((noinline)) static void spin() $spin }; } int main() { beta::Work<int>::spin(); }" >beta.cpp
sed 's/alpha/epsilon/g' alpha.c >epsilon.c
sed 's/alpha/zeta/g' alpha.c >zeta.c
cat >eta.c <<END
#define _GNU_SOURCE
#include <pthread.h>
static volatile unsigned sum;
__attribute__((noinline)) static void *eta_spin(void *unused) { (void)unused; pthread_setname_np(pthread_self(), "eta-worker"); $spin }
int main(void) { pthread_t t; pthread_create(&t, 0, eta_spin, 0); pthread_join(t, 0); return 0; }
END
echo "$reads" >theta.c
cc -O1 -g -o alpha alpha.c && c++ -O1 -g -o beta beta.cpp && cc -O1 -g -static -o epsilon epsilon.c && mkdir -p root/bin &&
    cc -O1 -g -static -o root/bin/zeta zeta.c && cc -O1 -g -pthread -o eta eta.c && cc -O1 -g -o theta theta.c || exit
program alpha alpha_spin ./alpha
program beta 'beta::Work<int>::spin' ./beta
program epsilon epsilon_spin ./epsilon
program eta eta_spin ./eta
program theta theta_read ./theta
program python3 _PyEval_EvalFrameDefault python3 -c 'while True: pass'
program perl Perl_runops_standard perl -e '1 while 1'
program sh 'sh|dash' sh -c 'while :; do :; done'
if command -v lua5.4 >/dev/null; then
    program lua5.4 'lua_pcallk|lua5.4' lua5.4 -e 'while true do end'
fi
if command -v ocamlfind >/dev/null && echo 'let rec iota_spin n = iota_spin (Sys.opaque_identity (n + 1)) let () = iota_spin 0' >iota.ml &&
    ocamlfind ocamlopt -package str -o iota iota.ml >/dev/null 2>&1; then
    program iota 'camlIota__iota_spin' ./iota
fi
if unshare --mount chroot root /bin/zeta --version >/dev/null 2>&1 & then
    sleep 0.3
    kill $! 2>/dev/null && program zeta zeta_spin unshare --mount chroot root /bin/zeta
fi
if command -v rustc >/dev/null && echo 'use std::hint::black_box; #[inline(never)] fn delta_spin() { let mut n = 0u64; loop { n = black_box(n + 1); } } fn main() { delta_spin(); }' >delta.rs &&
    timeout 60 rustc -g -o delta delta.rs 2>/dev/null; then
    program delta delta::delta_spin ./delta
fi
if command -v go >/dev/null && printf 'package main\nvar sum uint32\n//go:noinline\nfunc gammaSpin() { for { sum++ } }\nfunc main() { gammaSpin() }\n' >gamma.go &&
    timeout 60 go build -o gamma gamma.go 2>/dev/null; then
    program gamma main.gammaSpin ./gamma
fi
echo "# ${#names[@]} programs: ${names[*]}"
trap 'kill -KILL "${pids[@]}" 2>/dev/null; put_back; rm -rf "$tmp"' EXIT

# used PID - its CPU time in ns, as the scheduler has counted it for all of its threads.
used() { cat /proc/"$1"/task/*/schedstat | awk '{ sum += $1 } END { printf "%d\n", sum }'; }
sleep 0.2
for i in "${!pids[@]}"; do before[i]=$(used "${pids[i]}"); done
idle_ms() { awk -v hz="$(getconf CLK_TCK)" '/^cpu / { printf "%d\n", ($5 + $6) * 1000 / hz }' /proc/stat; }
tallytree record -a --sampled=200 -o m.tt 2>err &
recorder=$!
under_way() { ls .m.tt.*.live/machine.* && grep '^State:.S' /proc/$recorder/status; }
patiently under_way >/dev/null
idle_since=$(idle_ms)
sleep 0.5
kill -CONT "${pids[@]}"
sleep 3
kill -STOP "${pids[@]}"
sleep 1
idle_least=$(($(idle_ms) - idle_since))
sleep 0.3
for i in "${!pids[@]}"; do after[i]=$(used "${pids[i]}"); done
recorded=$(awk '{ print $14 + $15 }' /proc/$recorder/stat)
memory=$(awk '/^VmHWM/ { print $2 }' /proc/$recorder/status)
kill -INT $recorder
reap $recorder
status=$?
kill -KILL "${pids[@]}"
wait 2>/dev/null
equal "the recording of the machine ends well" "$status" 0
cat err

tallytree report strands --limit all --json m.tt >m.json
tallytree export --to folded --by process m.tt >folded
for i in "${!pids[@]}"; do
    echo "${names[i]} ${pids[i]} $((after[i] - before[i])) ${functions[i]}"
done >truth

# shares - each program's samples within what chance allows of what /proc says: with n samples
# of 5 ms, four times √n of them, and one at each end.  When a virtual machine is paused, samples count
# time that its scheduler does not count: what all have in excess, each may have.
shares()
{
    python3 - "$1" <<'END'
import json, re, sys
table = json.load(open('m.json'))
keys = [c['key'] for c in table['columns']]
rows = [dict(zip(keys, r['values'])) for r in table['rows'] if r['role'] == 'entry']
lost = [r['self'] for r in rows if r['name'] == '[unattributed]']
total = sum(r['self'] for r in rows)
lost = sum(lost) / total
folded = open('folded').read().splitlines()
truth = [line.rstrip('\n').split(' ', 3) for line in open('truth')]
used = {pid: sum(r['self'] for r in rows if r['pid'] == int(pid)) / 1e9 for _, pid, _, _ in truth}
excess = max(0, sum(used.values()) - sum(int(ns) for _, _, ns, _ in truth) / 1e9)
bad = 0
for name, pid, ns, function in truth:
    got = used[pid]
    want = int(ns) / 1e9
    stacks = [l for l in folded if l.startswith(f'{name} {pid};')]
    has = any(re.search(r'(^|;)([^; ]*/)?(' + (function if '|' in function else re.escape(function)) + r')[^;]*', l) for l in stacks)
    allowed = 4 * (want * .005) ** .5 + .04 + 2 * lost * want + excess
    ok = (abs(got - want) <= allowed) if sys.argv[1] == 'time' else has
    print('ok' if ok else 'NOT', name, pid, f'got {got:.3f} want {want:.3f} ± {allowed:.3f}', function, has, f'lost {lost:.3f}')
    bad += not ok
sys.exit(bad > 0)
END
}
ten() { [ "$(cut -d' ' -f1 truth | sort -u | wc -l)" -ge 10 ]; }
if [ ${#names[@]} -ge 10 ]; then
    try "there are ten different programs" ten
else
    skip "there are ten different programs" "only ${#names[@]} could be built: ${names[*]}"
fi
try "each program has the CPU time that /proc says" shares time
try "and its functions, also in another root and mount namespace" shares functions
whole()
{
    python3 - <<'END'
import json
table = json.load(open('m.json'))
keys = [c['key'] for c in table['columns']]
rows = [dict(zip(keys, r['values'])) for r in table['rows'] if r['role'] == 'entry']
total = sum(r['self'] for r in rows) / 1e9
header = json.load(open('h.json'))
keys = [c['key'] for c in header['columns']]
facts = {}
for r in header['rows']:
    v = dict(zip(keys, r['values']))
    facts[v.get('name')] = v
print(total, facts.get('lasted'), facts.get('processors'))
lasted = [x for x in facts['lasted'].values() if isinstance(x, (int, float)) and x > 1][0] / 1e9
processors = [x for x in facts['processors'].values() if isinstance(x, (int, float)) and x >= 1][0]
import os
assert processors == os.cpu_count(), processors
# The recording begins before the events do, and ends after them.
assert total <= lasted * processors * 1.001 and total >= (lasted - 3) * processors, (total, lasted, processors)
END
}
tallytree report header --json m.tt >h.json
try "all strands together are the processors times the time" whole
# The kernel stops the clock of some idle processors, so that they have no samples.
idle()
{
    tallytree report strands --limit all --json m.tt | python3 -c '
import json, os, sys
table = json.load(sys.stdin)
keys = [c["key"] for c in table["columns"]]
rows = [dict(zip(keys, r["values"])) for r in table["rows"] if r["role"] == "entry"]
got = sum(r["self"] for r in rows if r["name"] == "[idle]") / 1e6
lasted = [f["number"] for f in table["facts"] if f["name"] == "lasted"][0] / 1e6
print(got, sys.argv[1], lasted)
least = float(sys.argv[1])
# What was idle meanwhile, and at most all that came before and after it.
assert least * .97 - 100 <= got <= least * 1.03 + 100 + (lasted - 4500) * os.cpu_count(), (got, least)' "$idle_least"
}
try "[idle] has the time that /proc/stat says" idle
worker() { tallytree report strands --limit all --strand name:eta-worker --csv m.tt | grep "eta-worker"; }
try "threads have their names" worker
user() { tallytree report strands --by user --csv m.tt | grep -E "(^|,)$(id -un)(,|$)"; }
try "--by user adds up the processes of a user" user
programs()
{
    tallytree report flat --by program --limit all --csv m.tt | grep alpha_spin && tallytree report tree --by program --limit all --threshold 0 --csv m.tt | grep -E ",alpha(,|$)"
}
try "--by program puts the program before its functions in any view" programs
same_total()
{
    local one two
    one=$(awk '{ s += $NF } END { print s }' folded)
    two=$(tallytree export --to folded m.tt | awk '{ s += $NF } END { print s }')
    are_equal "$one" "$two"
}
try "grouping changes no sum" same_total
sparing()
{
    # Any number of processes may start meanwhile, and each costs its share.
    read -r samples processes < <(sed -n 's/.*: \([0-9]*\) samples of \([0-9]*\) process.*/\1 \2/p' err)
    echo "$recorded ticks of $(getconf CLK_TCK) in a second for $samples samples of $processes processes, $memory KiB"
    [ $((recorded * 1000 / $(getconf CLK_TCK))) -le $((samples / 2 + processes * 2)) ] && [ "$memory" -le 204800 ]
}
try "the recorder takes half a millisecond a sample and two a process at most, and 200 MB" sparing

# ── While it runs ────────────────────────────────────────────────────────────────────
# Its recording is private, and goes when top does, in whatever way that ends.
mkdir room
./alpha & alpha=$!
pids+=("$alpha")
looks() { ls -A room/.tallytree-top.*.live/machine.*; }
is_left_clean() { [ -z "$(ls -A room)" ]; }
tops()
{
    TMPDIR=$PWD/room tallytree top -a -n 3 -i 0.4 --csv --select "/^alpha_spin$/" "$@" >out 2>err || { cat err; return 1; }
    cat err
    python3 - <<'END' || return
import csv
looks = []
for row in csv.reader(open('out')):
    if row and row[0] == 'role':
        looks.append((row, []))
    elif row:
        looks[-1][1].append(dict(zip(looks[-1][0], row)))
times = [[float(r['self']) for r in rows if r['name'] == 'alpha_spin'] for _, rows in looks]
print(times)
assert len(times) == 3 and all(len(t) == 1 for t in times) and 0 < times[0][0] < times[1][0] < times[2][0]
assert 'self_rate' not in looks[0][0] and 'self_rate' in looks[2][0]
END
    is_left_clean
}
# ends_by SIGNAL
ends_by()
{
    TMPDIR=$PWD/room env --default-signal tallytree top -a -i 0.2 >out 2>err & local top=$!
    pids+=("$top")
    patiently looks && kill "-$1" $top && patiently is_gone $top || { kill -KILL $top; return 1; }
    wait $top 2>/dev/null
    patiently is_left_clean
}
goes_unread()
{
    TMPDIR=$PWD/room timeout -k 5 300 tallytree top -a -i 0.2 2>err | head -n 1 >out
    [ "${PIPESTATUS[0]}" -lt 124 ] && [ -s out ] && patiently is_left_clean
}
on_screen()
{
    TERM=xterm TMPDIR=$PWD/room python3 "$here/terminal.py" 'see machine  running[^\n]*\n.*now/?.*alpha_spin$' \
        'send \r' 'see block  alpha_spin\n.* main.*\n.* alpha_spin\n' 'send \x1b' 'see now/?.* alpha_spin$' \
        'send vv' 'see strands.* alpha' 'send q' 'exit 0' same -- tallytree top -a -i 0.3 --select '/^alpha_spin$/' && is_left_clean
}
try "top -a shows functions of the machine as they run" tops
try "and their callers, and its threads, on the screen" on_screen
for name in INT TERM HUP KILL; do try "what it has recorded is gone after SIG$name" ends_by $name; done
try "and when its reader ends" goes_unread
killed_recorder()
{
    TMPDIR=$PWD/room tallytree top -a -i 0.2 >out 2>err & local top=$!
    patiently looks && patiently test -s out || return
    kill -KILL "$(pgrep -P $top | head -n 1)"
    reap $top && grep '^tallytree top  machine  gone' out && is_left_clean
}
try "a recorder that is killed ends it, and leaves nothing" killed_recorder
# killed FLAGS... - the recorder is another process than those whose strands are there.
has_recording() { ls .k.tt.*.live/*.[0-9]*; }
see_top() { tallytree top -n 1 .k.tt.*.live 2>&1 | head -n 1 | grep "^tallytree top .* $1 "; }
killed()
{
    tallytree record "$@" -o k.tt 2>err & local recorder=$!
    patiently has_recording && patiently see_top running && kill -KILL $recorder || { kill -KILL $recorder; return 1; }
    wait $recorder 2>/dev/null
    see_top "gone before it ended" && rm -rf .k.tt.*
}
try "a recorder of the machine that is killed is gone, though what it recorded goes on" killed -a
try "so is one of a process" killed -p $alpha
kill -KILL $alpha
wait $alpha 2>/dev/null

# ── Some of it ───────────────────────────────────────────────────────────────────────
kinds() { tallytree report strands --limit all --csv "$1" | grep "^entry"; }
one_user()
{
    setpriv --reuid=65534 --regid=65534 --clear-groups ./alpha & local pid=$!
    tallytree record --user 65534 -o u.tt --duration 1 2>err
    kill -KILL $pid
    kinds u.tt >rows && grep alpha rows && ! grep -v alpha rows
}
chmod 755 "$tmp" alpha
if [ "$(id -u)" = 0 ]; then
    try "--user records the processes of that user alone" one_user
else
    skip "--user records the processes of that user alone" "no other user is at hand"
fi
one_processor()
{
    tallytree record --cpu 0 -o c.tt --duration 0.5 2>err && tallytree report header --csv c.tt | grep "processors" | grep -E ",1(,|$)"
}
try "--cpu records that processor alone" one_processor
lasts() { tallytree record -a -o p.tt -- sh -c 'sleep 0.2; exit 7' 2>err; [ $? = 7 ] && kinds p.tt | head -n 1; }
try "with a program it lasts as long as that, and ends as it does" lasts
# A filter that no process can match is refused at once; otherwise it would record until Ctrl-C.
# refused TEXT FLAGS...
refused()
{
    local text=$1
    shift
    timeout 60 tallytree record "$@" -o no.tt </dev/null 2>err
    [ $? = 125 ] && grep -F -e "$text" err && [ ! -e no.tt ] || { cat err; return 1; }
}
try "a cgroup that is not there is refused" refused "cgroup" --cgroup /there/is/none
try "so is one that is no path" refused "cgroup" --cgroup none
try "so is a user without a name" refused "there is no user ''" --user ''
try "so is the number that no user has" refused "there is no user" --user 4294967295
try "so is a processor that is not there" refused "processors" --cpu 100000
try "so is a process that has ended" refused "there is no process" -p "$(sh -c 'echo $$')"
# The cgroup of this test, in the hierarchy that the system labels processes by.
cgroup_of_test()
{
    if grep -q '^0::' /proc/self/cgroup; then
        mount=$(findmnt -n -o TARGET -t cgroup2 | head -n 1)
        group=$(sed -n 's/^0:://p' /proc/self/cgroup)
    else
        mount=$(findmnt -n -o TARGET -t cgroup -O name=systemd | head -n 1)
        group=$(sed -n 's/^[0-9]*:name=systemd://p' /proc/self/cgroup)
    fi
    [ "$mount" ] && [ "$group" ] && [ -d "$mount$group" ]
}
# below PATH - the processes that are recorded are in the cgroup, whatever way it is named.
below()
{
    tallytree record --cgroup "$1" -o g.tt -- sh -c 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done' 2>err || { cat err; return 1; }
    tallytree report strands --by cgroup --csv g.tt >rows && cat rows && grep -F "$group" rows
}
if cgroup_of_test; then
    try "--cgroup records what is below it" below "$group"
    try "--cgroup takes its folder, too" below "$mount$group/."
    if mkdir "$mount/tallytree-test-$$" 2>/dev/null; then
        empty() { timeout 60 tallytree record --cgroup "/tallytree-test-$$" -o e.tt -- sleep 0.1; }
        try "a cgroup without processes is waited for" empty
        rmdir "$mount/tallytree-test-$$"
    else
        skip "a cgroup without processes is waited for" "no cgroup may be made"
    fi
else
    skip "--cgroup records what is below it" "no cgroups are mounted that processes here are in"
fi

# Processors that are idle, and the kernel's own work, have no process.
mkdir runs
for i in 1 2; do
    tallytree record -a --duration 0.3 -o "runs/$i.tt" 2>err
done
tallytree merge -o runs.tt runs
equal "a folder of two recordings of a machine has two runs" "$(tallytree diff runs runs | grep -o 'means of.*')" "means of 2 runs, then of 2"
equal "so has their merge" "$(tallytree diff runs.tt runs | grep -o 'means of.*')" "means of 2 runs, then of 2"
finish
