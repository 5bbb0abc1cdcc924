#!/bin/bash
# SPDX-License-Identifier: MIT
# Python's functions on the stacks of processes that are recorded from outside.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/pythons.sh"
tallytree=$TT_BUILD/tallytree

# Something that runs until it is ended, and has begun to.
start()
{
    : >"$tmp/begun"
    "$@" >"$tmp/begun" 2>"$tmp/err" &
    pid=$!
    patiently [ -s "$tmp/begun" ]
}
end() { kill "$pid" && reap "$pid"; }

attach() { "$tallytree" record --force -o "$tmp/tt" "$@" -p "$pid" 2>"$tmp/messages"; }

# The reason has commas.
not_shown() { "$tallytree" report header --csv "$tmp/tt" | grep ',interpreter,.*not shown'; }

cat >"$tmp/outer.py" <<'END'
def outer():
    while True:
        inner()


def inner():
    for i in range(1000):
        pass


print("begun", flush=True)
outer()
END

python=/usr/bin/python3
start "$python" "$tmp/outer.py" || exit
if ! attach --duration 0.3; then
    end
    echo "1..0 # SKIP $(cat "$tmp/messages")"
    exit
fi
end
if not_shown >"$tmp/reason"; then
    echo "1..0 # SKIP $(cat "$tmp/reason")"
    exit
fi

# The program is at its shapes when it is attached to, and goes on after that.
has_shares()
{
    "$1" test/python-shapes.py --pairs >"$tmp/pairs" || return
    "$1" test/python-shapes.py 100000 &
    pid=$!
    # shellcheck disable=SC2317 # called by patiently
    shapes_run() { grep -q shapes "/proc/$pid/cmdline" && [ "$(awk '{ print $14 }' "/proc/$pid/stat")" -gt 20 ]; }
    patiently shapes_run || return
    attach --sampled=997 --duration 1.5 || { cat "$tmp/messages"; return 1; }
    end
    folded && "$python" test/python-shares.py "$tmp/pairs" "$tmp/folded"
}

while read -r version python3; do
    try "Python $version, attached to: shares are what they are, and no function is next to a stranger" \
        has_shares "$python3"
    equal "Python $version, attached to: the header says which it is" "$(header interpreter)" "python $version"
    try "Python $version, attached to: nearly all frames have a place" nearly_all_placed
done < <(pythons)

lines()
{
    start "$python" "$tmp/outer.py" || return
    attach --sampled=997 --lines --duration 0.5 || return
    end
    folded
    grep -o ';outer;outer.py:[0-9]*;.*' "$tmp/folded" | sed 's/;[^;]* [0-9]*$//' | sort | uniq -c | sort -nr | head -5
    # The loop of `outer` calls in line 3; `inner` is in its own loop.
    grep -q ';outer;outer.py:3;.*inner;outer.py:[78]' "$tmp/folded" &&
        ! grep -E ';outer;outer.py:([014-9]|[1-9][0-9]+)[; ]' "$tmp/folded"
}
try "--lines has the lines of each function" lines

rate()
{
    cat >"$tmp/short.py" <<'END'
import time


def spin():
    end = time.process_time() + 0.5
    while time.process_time() < end:
        pass


spin()
END
    "$tallytree" record --force -o "$tmp/tt" -F 2000 "$python" "$tmp/short.py" 2>"$tmp/messages" || return
    folded
    header source
    header source | grep -q 'perf events' && grep -q ';<module>;spin[; ]' "$tmp/folded"
}
try "a rate above the system's ticks still has them" rate

# A child is a process with the same addresses.
cat >"$tmp/fork.py" <<'END'
import os
import signal
import threading


def parent():
    while True:
        pass


def child():
    while True:
        pass


def in_thread():
    while True:
        pass


pid = os.fork()
if not pid:
    child()
signal.signal(signal.SIGTERM, lambda *_: (os.kill(pid, signal.SIGKILL), os._exit(0)))
threading.Thread(target=in_thread, daemon=True).start()
print("begun", flush=True)
parent()
END
forked()
{
    start "$python" "$tmp/fork.py" || return
    attach --sampled=997 --duration 1
    end
    folded
    grep -q ';parent ' "$tmp/folded" && grep -q ';child ' "$tmp/folded" && grep -q ';in_thread ' "$tmp/folded" &&
        ! grep -q ';parent;.*\(child\|in_thread\)\|child;.*parent' "$tmp/folded" && nearly_all_placed
}
try "children and threads have theirs" forked

watched()
{
    start "$python" "$tmp/outer.py" || return
    "$tallytree" record --force -o "$tmp/tt" --sampled=997 -p "$pid" 2>"$tmp/messages" &
    local recorder=$!
    # shellcheck disable=SC2317 # called by patiently
    seen() { "$tallytree" top -p "$recorder" -n 1 >"$tmp/top" 2>&1 && grep -q ' outer$' "$tmp/top"; }
    patiently seen
    local status=$?
    cat "$tmp/top"
    end
    reap "$recorder"
    return $status
}
try "top shows them while they run" watched

without()
{
    start "$python" "$tmp/outer.py" || return
    attach --interpreters none --duration 0.3
    end
    folded
    [ -z "$(header interpreter)" ] && ! grep -q ';outer' "$tmp/folded"
}
try "--interpreters none leaves them out" without

# One before 6.9 refuses what limits a loop; the fourth call loads the program.
older()
{
    start "$python" "$tmp/outer.py" || return
    strace -f -qq -o "$tmp/calls" -e trace=bpf -e inject=bpf:error=EINVAL:when=4 \
        "$tallytree" record --force -o "$tmp/tt" --sampled=997 --duration 0.3 -p "$pid" 2>"$tmp/messages"
    end
    cat "$tmp/messages" "$tmp/calls"
    folded
    grep -q 'PROG_LOAD.*INJECTED' "$tmp/calls" && grep -q ';outer;inner ' "$tmp/folded" && nearly_all_placed
}
if strace -o /dev/null true 2>/dev/null; then
    try "a system that checks each round of a loop has them, too" older
else
    skip "a system that checks each round of a loop has them, too" "there is no strace"
fi

# Somebody who may not load a program into the system is told what to do.
other=(setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs)
refused()
{
    mkdir "$tmp/other" && chown 65534 "$tmp/other" && chmod 711 "$tmp" && chmod 644 "$tmp/outer.py"
    start "${other[@]}" "$python" "$tmp/outer.py" || return
    "${other[@]}" "$tallytree" record --force -o "$tmp/other/tt" --duration 0.3 -p "$pid" 2>"$tmp/messages"
    local status=$?
    end
    cat "$tmp/messages"
    cp "$tmp/other/tt" "$tmp/tt" || return
    [ $status = 0 ] && grep -q 'CAP_BPF' "$tmp/messages" && not_shown | grep -q 'CAP_BPF' &&
        [ "$(header stacks.interpreted)" = 0 ]
}
if [ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
    try "without the right, the header and the terminal say what is missing" refused
else
    skip "without the right, the header and the terminal say what is missing" "only root can be another user"
fi

# Attaching and detaching, again and again, to all that makes and leaves frames.
stressed()
{
    local bare status recorder
    timeout 500 "$python" test/python-stress.py 0.3 >"$tmp/bare.out" 2>"$tmp/bare.err"
    bare=$?
    timeout 500 "$python" test/python-stress.py 3 >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    for _ in $(seq "${TT_ATTACHES:-8}"); do
        kill -0 "$pid" || break
        attach --sampled=997 --duration 0.1 || grep -q 'no process' "$tmp/messages" || { cat "$tmp/messages"; return 1; }
    done
    reap "$pid"
    status=$?
    [ "$status" = "$bare" ] || { echo "status $status, not $bare"; return 1; }
    cmp "$tmp/bare.out" "$tmp/out" && cmp "$tmp/bare.err" "$tmp/err"
}
try "a program that is hard on its interpreter does what it does alone" stressed
finish
