#!/bin/bash
# SPDX-License-Identifier: MIT
# Waits from outside: how long threads wait, in which function, and what wakes them, beside what
# the program says, and the system's own account of its threads.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
guest=$TT_BUILD/test/switches-guest
cd "$tmp" || exit

# ── Where it is not allowed ──────────────────────────────────────────────────────────
refused() # PATTERN COMMAND...
{
    local pattern=$1 status=0
    shift
    "$@" >/dev/null 2>err || status=$?
    cat err
    [ "$status" = 125 ] && [ "$(wc -l <err)" = 1 ] && grep -q "$pattern" err
}
initial=0
[ "$(stat -Lc %i /proc/self/ns/pid)" != 4026531836 ] || initial=1
as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if [ $initial = 1 ] && [ "$(id -u)" = 0 ] && [ -e /sys/kernel/tracing/events ] && "${as_nobody[@]}" "$tallytree" --version >/dev/null 2>&1 && ! "${as_nobody[@]}" ls /sys/kernel/tracing >/dev/null 2>&1; then
    mkdir theirs && chmod 711 . && chmod 777 theirs
    try "a user who may not read the tracepoints is told what to do" \
        refused "may not be read: run tallytree as root" "${as_nobody[@]}" "$tallytree" record --locks -a -o theirs/none.tt true
else
    skip "a user who may not read the tracepoints is told what to do" "every user may, there is no other one or no tracefs, or this is a container"
fi
if [ $initial = 1 ] && unshare -m mount -t tmpfs none /sys/kernel 2>/dev/null; then
    # shellcheck disable=SC2016 # the inner shell's
    try "so is one without tracefs" refused "not mounted: run 'mount -t tracefs" \
        unshare -m sh -c 'mount -t tmpfs none /sys/kernel && exec "$0" record --locks -o none.tt -p "$1"' "$tallytree" $$
else
    skip "so is one without tracefs" "nothing may be mounted here, or this is a container"
fi
if unshare -p -f --mount-proc true 2>/dev/null; then
    in_container=(unshare -p -f --mount-proc "$tallytree")
    try "so is one in a container, where tracepoints have other numbers of threads" \
        refused "need the initial PID namespace" "${in_container[@]}" record --locks -a -o none.tt true
    doubts() { "${in_container[@]}" doctor | grep '^no  *waits from outside.*initial PID namespace'; }
    try "the doctor says so" doubts
else
    skip "so is one in a container, where tracepoints have other numbers of threads" "no namespace may be made"
fi
try "processors cannot be chosen" refused "needs all processors" "$tallytree" record --locks --cpu 0 -o none.tt true
if ! "$tallytree" record --locks -a --duration 0.1 -o first.tt 2>err; then
    skip "all the rest" "$(tail -n 1 err)"
    finish
    exit
fi
"$tallytree" doctor >allowed || :
try "the doctor says that it is allowed" grep "^yes  *waits from outside" allowed

# ── What the program says ────────────────────────────────────────────────────────────
slept() { sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$1/status" 2>/dev/null || echo 0; }

# attach SCENE - records a program that runs already.  It begins when its input ends, which is
# when the recorder watches it, and has rested some times between two looks.
attach()
{
    local pid recorder first
    rm -f begin
    mkfifo begin
    "$guest" "$@" <begin >"$1.out" &
    pid=$!
    exec 3>begin
    "$tallytree" record --locks -o "$1.tt" -p "$pid" >"$1.err" 2>&1 3>&- &
    recorder=$!
    until readlink "/proc/$recorder/fd/"* 2>/dev/null | grep -q pidfd || ! kill -0 "$recorder" 2>/dev/null; do
        sleep 0.05
    done
    first=$(slept "$recorder")
    until [ "$(slept "$recorder")" -ge $((first + 5)) ] || ! kill -0 "$recorder" 2>/dev/null; do
        sleep 0.05
    done
    exec 3>&-
    if ! wait "$pid" || ! wait "$recorder"; then
        cat "$1.err"
        return 1
    fi
}

cat >compare.py <<'END'
# SCENE FUNCTION KIND WAKER: the waits of a function have the length that the program has
# measured, less the time in which the thread could run; all have been ended by the waker.
import subprocess, sys
tallytree, scene, function, kind, waker = sys.argv[1:]

def folded(metric):
    text = subprocess.run([tallytree, "export", "--to", "folded", "--metric", metric, scene + ".tt"], capture_output=True, text=True).stdout
    return {tuple(path.split(";")): int(n) for path, n in (line.rsplit(" ", 1) for line in text.splitlines())}

said = {}
delays = 0
for line in open(scene + ".out"):
    what, of, ns, count = line.split()
    said[what, of] = int(ns), int(count)
    delays += int(ns) if of == "delay" else 0
time, delay, waits, preempted = (folded(m) for m in ("wait time", "scheduling delay", "waits", "preempted"))

def sums(table):
    wait = "[waits: stopped in]" if kind == "stopped" else "[waits: %s of]" % kind
    mine = {p: n for p, n in table.items() if wait in p and function in p[:p.index(wait)]}
    return sum(mine.values()), sum(n for p, n in mine.items() if "[woken by]" in p and p[-1] == waker)

print(said, time, delay, waits, preempted, sep="\n")
if function != "-":
    (ours, known), (late, _), (count, _) = map(sums, (time, delay, waits))
    theirs, turns = said[function, kind]
    runnable = sum(preempted.values())
    assert 0 < count <= turns
    assert known >= 0.85 * ours, (known, ours)  # of one a waker may be missing, on a busy machine
    assert ours + late <= theirs + 1e6, (ours, late, theirs)
    assert ours + late >= 0.95 * theirs - runnable - 3e6, (ours, late, runnable, theirs)
if delays: # of its threads by /proc/thread-self/schedstat
    ours = sum(delay.values()) + sum(preempted.values())
    assert abs(ours - delays) <= 0.1 * delays + 10e6, (ours, delays)
count, switches = sum(waits.values()), said["all", "switches"][1]
assert abs(count - switches) <= 0.01 * switches + 6, (count, switches)
END

# Without the kernel's symbols the system does not say what is awaited.
if ! grep -q "^yes  *kernel symbols" allowed; then
    skip "all the rest" "the kernel's symbols are hidden"
    finish
    exit
fi
scene() { attach "$1" && python3 compare.py "$tallytree" "$@"; }
try "a wait for another process is as long as the program says, and has the writer's path" scene pipe take_item pipe put_item
try "so has one for another thread" scene futex await_turn futex give_turn
# Some systems have no events of a processor that is idle, for perf either.  So none is.
timer()
{
    local i spinning=() status
    for ((i = 0; i < $(nproc); i++)); do
        taskset -c "$i" nice -n 19 sh -c 'while :; do :; done' &
        spinning+=($!)
    done
    scene timer nap sleep "[timer]"
    status=$?
    kill "${spinning[@]}"
    wait "${spinning[@]}" 2>/dev/null
    return "$status"
}
try "a timer wakes the thread that sleeps" timer
try "the end of a child wakes its parent" scene child reap child "[exit]"
try "a signal that lets a process go on wakes it" scene stop halt stopped go_on
try "of two threads on one processor the system says the same delays" scene spin - - -

process()
{
    "$tallytree" export --to folded --metric "wait time" pipe.tt | grep -q 'take_item;\[waits: pipe of\];take_item;\[woken by\];\[process switches-guest\];.*;put_item '
}
try "another process has its name" process

plainly()
{
    attach evil && "$tallytree" report tree --metric "wait time" --limit all evil.tt >text && "$tallytree" export --to folded --metric "wait time" evil.tt >stacks || return
    grep '\[process x??' text && ! grep -P '[\x00-\x08\x0b-\x1f\x7f]' text stacks && ! grep -v ' [0-9]*$' stacks
}
try "whatever name a process has chosen, it is shown plainly" plainly

view()
{
    "$tallytree" report waits --csv pipe.tt >csv && "$tallytree" report waits --by pair --csv pipe.tt >pairs || return
    cat csv pairs
    grep -q 'pipe of take_item' csv && grep -q 'take_item for pipe of take_item, held by put_item' pairs
}
try "the view of waits shows it as it shows waits from within" view

# ── Very many ────────────────────────────────────────────────────────────────────────
# Stacks may be lost, and are then counted; switches are not.
very_many()
{
    attach many 5000 && python3 compare.py "$tallytree" many - - - &&
        [ "$(stat -c %s many.tt)" -lt 200000 ]
}
try "of very many waits each is counted, and the profile is small" very_many

# ── Other ways to record ─────────────────────────────────────────────────────────────
started()
{
    timeout -k 5 300 "$tallytree" record --locks --kernel -o pipe.tt "$guest" pipe </dev/null >pipe.out 2>err || { cat err; return 1; }
    python3 compare.py "$tallytree" pipe take_item pipe put_item
}
try "a program that is started is recorded from its begin" started
# Each program is one that is recorded; its events are read once.  Each takes so long that the shell
# waits for it, however busy the machine is.
shell()
{
    cp "$(command -v sleep)" naps
    timeout -k 5 300 "$tallytree" record --locks --kernel -o shell.tt sh -c './naps 0.3; ./naps 0.3; env ./naps 0.3; sleep 0.3; :' </dev/null >said 2>&1 || { cat said; return 1; }
    cat said
    "$tallytree" export --to folded --metric "wait time" shell.tt >stacks || return
    cat stacks
    ! grep 'more rights' said && grep '\[process naps\]' stacks && grep '\[process sleep\]' stacks && ! grep '\[process \(sh\|env\)\];\[exit\]' stacks
}
try "programs that a program starts have their names, and are seen" shell
machine()
{
    timeout -k 5 300 "$tallytree" record --locks -a -o all.tt "$guest" pipe </dev/null >pipe.out 2>err || { cat err; return 1; }
    "$tallytree" export --to folded --metric "wait time" all.tt | grep -q 'take_item;\[waits: pipe of\];take_item;\[woken by\];\[process switches-guest\];.*;put_item '
}
try "so are all processes of the machine" machine
finish
