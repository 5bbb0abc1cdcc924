#!/bin/bash
# SPDX-License-Identifier: MIT
# Waits for pipes, sockets, eventfds and children: how long, and what ended them, beside what
# the program says of itself.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
guest=$TT_BUILD/test/wakes-guest

# recorded MODE FLAGS...
recorded()
{
    timeout -k 5 500 "$tallytree" record --force --locks "${@:2}" -o "$tmp/$1.tt" "$guest" "$1" >"$tmp/$1.out" 2>"$tmp/err" ||
        { cat "$tmp/err"; return 1; }
    "$tallytree" export --force --to folded --metric "wait time" -o "$tmp/folded" "$tmp/$1.tt" 2>>"$tmp/err" || : >"$tmp/folded"
}

# The program's lines: wait KIND/ORIGIN/WAITER/WAKER NS DELAY.  The recording's, in folded stacks:
# ...;WAITER;KIND;ORIGIN;[woken by];...;WAKER NS.  It may lack the DELAY, for which the thread could have run.
cat >"$tmp/compare.py" <<'END'
import collections, sys
truth, delay, ours = collections.Counter(), collections.Counter(), collections.Counter()
for line in open(sys.argv[1]):
    key, ns, late = line.removeprefix("wait ").rsplit(" ", 2)
    truth[key] += int(ns)
    delay[key] += int(late)
waiters = {key.split("/")[2] for key in truth}
for line in open(sys.argv[2]):
    stack, amount = line.rsplit(" ", 1)
    stack = stack.split(";")
    at = next(i for i, f in enumerate(stack) if f.startswith("[waits: "))
    assert stack[at - 1] != "await_late", stack  # what has happened already is not waited for
    if stack[at - 1] not in waiters:
        continue
    assert len(stack) == at + 2 or stack[at + 2] == "[woken by]", stack
    waker = [f for f in stack[at + 3:] if f != "put_item"]
    if len(sys.argv) > 3:  # another process
        assert not waker or waker[0].startswith("[process "), stack
    ours["/".join([stack[at], stack[at + 1], stack[at - 1], waker[-1] if waker else "-"])] += int(amount)
whole, bad = sum(truth.values()), not truth
for key in sorted(set(ours) | set(truth)):
    slack = .02 * whole + 5e6
    wrong = not truth[key] - delay[key] - slack <= ours[key] <= truth[key] + slack
    bad |= wrong
    print("%-70s %9.3f ms, truth %9.3f ms%s" % (key, ours[key] / 1e6, truth[key] / 1e6, (" (delay %.3f) WRONG" % (delay[key] / 1e6)) if wrong else ""))
sys.exit(bad)
END

compared() { recorded "$1" && python3 "$tmp/compare.py" "$tmp/$1.out" "$tmp/folded" "${@:2}"; }

# A thread may lose its processor between the program's look at the clock and ours.
truth() { compared "$@" || compared "$@" || compared "$@"; }

try "a reader of a pipe waits for the writer, which is slow on one path" truth paths
try "so it does if the writer is in another process" truth processes other
try "read, poll, select and epoll_wait have the writer that ended them" truth calls
try "threads that an eventfd wakes have the thread that wrote there" truth event
try "a socket's reader waits for what its peer sends" truth sockets
try "a writer to a full pipe waits for the reader" truth full
try "the end of a pipe is charged to the call that closed it" truth end
try "a parent waits for a child: its end has the path in the child, or its program" truth children other

ready()
{
    recorded ready && ! grep -E '\[waits: (room|pipe|socket|eventfd)' "$tmp/folded"
}
try "where data is there already nothing is reported" ready

views()
{
    "$tallytree" report waits --metric "wait time" --csv "$tmp/processes.tt" >"$tmp/locks.csv" &&
        "$tallytree" report waits --by pair --metric "wait time" --csv "$tmp/processes.tt" >"$tmp/pairs.csv" &&
        python3 - "$tmp" <<'END'
import csv, sys
def rows(name):
    return [r for r in csv.DictReader(l for l in open(f"{sys.argv[1]}/{name}.csv") if not l.startswith("#")) if r["role"] == "entry"]
lock = next(r for r in rows("locks") if r["name"] == "pipe of make_pipe")
pair = next(r for r in rows("pairs") if r["waiter"] == "take_item")
print(lock, pair)
assert pair["holder"] == "put_item" and 0 < int(pair["self"]) <= int(lock["self"]) and 0 < int(pair["count"]) <= 25
END
}
try "the view of waits lists the pipe, the readers and the writers" views

tree()
{
    "$tallytree" report tree --metric "wait time" --limit all "$tmp/processes.tt" >"$tmp/tree" &&
        grep -A20 'take_item$' "$tmp/tree" | grep -A16 'pipe of' | grep -A12 'woken by' | grep -q 'path2$'
}
try "so does the tree" tree

# The processes meet in a file in the folder of the run.
left()
{
    "$tallytree" record --force --locks -o "$tmp/x.tt" sh -c 'ls -a "$TALLYTREE_FOLDER"; echo "$TALLYTREE_FOLDER"' >"$tmp/list" 2>"$tmp/err" &&
        grep -qx .wakes "$tmp/list" && ! [ -e "$(tail -1 "$tmp/list")" ]
}
try "no file of the run is left" left
finish
