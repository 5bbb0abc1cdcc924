#!/bin/bash
# SPDX-License-Identifier: MIT
# Waits for locks: how long, for which lock, and because of whom, beside what the program says
# of itself.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
guest=$TT_BUILD/test/locks-guest

# The program's lines say which thread waited for which lock, how long, and for which holder.  Each
# holder has the part of the wait since the holder before it released the lock.
cat >"$tmp/truth.py" <<'END'
import collections, sys
holds, waits = collections.defaultdict(list), []
for line in open(sys.argv[1]):
    what, lock, function, start, end = line.split()
    if what == "hold":
        holds[lock].append((int(end), function))
    else:
        waits.append((lock, function, int(start), int(end)))
truth, count, longest = collections.Counter(), collections.Counter(), collections.Counter()
for lock, function, start, end in waits:
    since = start
    by = None
    for released, holder in sorted(holds[lock]):
        if start < released <= end:
            truth[function, lock, holder] += released - since
            since, by = released, holder
    if by or lock not in holds:
        truth[function, lock, by or "-"] += end - since
        count[lock] += 1
        longest[lock] = max(longest[lock], end - start)
END

# The recording has, in folded stacks: waiter;[waits: kind];lock;[held by];...;holder
cat >"$tmp/compare.py" <<'END'
import os, sys
exec(open(os.path.join(os.path.dirname(sys.argv[0]), "truth.py")).read())
helpers = {"with_lock"}  # these are called by the function that the program names
ours, kinds = collections.Counter(), set()
for line in open(sys.argv[2]):
    stack, amount = line.rsplit(" ", 1)
    stack = stack.split(";")
    at = next(i for i, f in enumerate(stack) if f.startswith("[waits: "))
    if stack[at] == "[waits: end of]":
        continue
    kinds.add(stack[at])
    waiter = [f for f in stack[:at] if f not in helpers][-1]
    holder = [f for f in stack[at + 3:] if f not in helpers]
    ours[waiter, stack[at + 1], holder[-1] if holder else "-"] += int(amount)
whole = sum(truth.values())
bad = 0
for key in sorted(set(ours) | set(truth)):
    wrong = abs(ours[key] - truth[key]) > 0.02 * whole + 5e6
    bad |= wrong
    print("%-40s %9.3f ms, truth %9.3f ms%s" % ("/".join(key), ours[key] / 1e6, truth[key] / 1e6, " WRONG" if wrong else ""))
print("whole", sum(ours.values()) / 1e6, whole / 1e6, kinds)
sys.exit(bad or abs(sum(ours.values()) - whole) > 0.02 * whole + 5e6 or kinds != set(sys.argv[3:]))
END

recorded()
{
    timeout -k 5 500 "$tallytree" record --locks -o "$tmp/$1.tt" "$guest" "$1" >"$tmp/$1.out" 2>"$tmp/err" ||
        { cat "$tmp/err"; return 1; }
}

folded() { "$tallytree" export --force --to folded --metric "$1" -o "$tmp/folded" "$2"; }

# compared WHAT METRIC KINDS... - once
compared()
{
    recorded "$1" && folded "$2" "$tmp/$1.tt" && python3 "$tmp/compare.py" "$tmp/$1.out" "$tmp/folded" "${@:3}"
}

# A thread may lose its processor between the program's look at the clock and ours.
truth() { compared "$@" || compared "$@" || compared "$@"; }

try "of a convoy each wait is charged to those that had the mutex meanwhile" truth convoy delay "[waits: mutex]"
try "of ten paths to a lock the slow one has the waits, to the amount" truth paths delay "[waits: mutex of]"

# The program prints how long these took, and each has one holder.
one_holder()
{
    recorded "$1" && folded "$2" "$tmp/$1.tt" || return
    python3 - "$tmp/$1.out" "$tmp/folded" "${@:3}" <<'END'
import sys
said = {}
for line in open(sys.argv[1]):
    what, lock, function, start, end = line.split()
    if what == "wait":
        said[lock] = (function, int(end) - int(start))
found = {}
for line in open(sys.argv[2]):
    stack, amount = line.rsplit(" ", 1)
    stack = stack.split(";")
    at = next(i for i, f in enumerate(stack) if f.startswith("[waits: "))
    if stack[at] != "[waits: end of]":
        key = (stack[at], stack[at + 1], stack[at - 1], stack[-1])
        found[key] = found.get(key, 0) + int(amount)
want = {tuple(w.split("/")) for w in sys.argv[3:]}
print(said, found)
assert set(found) == want, want
for (kind, lock, waiter, holder), ns in found.items():
    assert said[lock][0] == waiter and abs(said[lock][1] - ns) < 0.05 * ns + 10e6, (lock, ns, said[lock])
END
}
close() { one_holder "$@" || one_holder "$@" || one_holder "$@"; }
try "a writer that readers starve waits because of the readers" \
    close starvation delay "[waits: write lock]/table_lock/write_table/read_table"
try "a lock that is never given back is charged to where it was taken" \
    close kept delay "[waits: mutex]/kept_lock/give_up/keep"
try "conditions, semaphores and barriers are charged to what ended the wait" \
    close events "wait time" "[waits: condition]/filled/await_filled/fill" \
    "[waits: semaphore]/items/await_item/post_item" "[waits: barrier]/meeting/meet_early/meet_late" \
    "[waits: condition]/plain_condition/await_plain/fill_plain"

joins()
{
    folded "wait time" "$tmp/events.tt" && grep -q ';run_threads;\[waits: end of\];on_events ' "$tmp/folded"
}
try "a join waits for the function that the thread began with" joins

# For one lock, the view's figures, the program's own and the sums of the stacks.
lists()
{
    "$tallytree" report waits --csv "$tmp/$1.tt" >"$tmp/locks.csv" && "$tallytree" report waits --by pair --csv "$tmp/$1.tt" >"$tmp/pairs.csv" &&
        folded delay "$tmp/$1.tt" && python3 - "$tmp" "$tmp/$1.out" "${@:2}" <<'END'
import csv, sys
folder, said, lock, waiter, holder = sys.argv[1:]
def rows(name):
    return [r for r in csv.DictReader(l for l in open(f"{folder}/{name}.csv") if not l.startswith("#")) if r["role"] == "entry"]
stacks = sum(int(l.rsplit(" ", 1)[1]) for l in open(f"{folder}/folded"))
waits = [int(l.split()[4]) - int(l.split()[3]) for l in open(said) if l.startswith("wait ") and int(l.split()[4]) - int(l.split()[3]) > 100000]
[row], [pair] = rows("locks"), rows("pairs")
print(row, pair, stacks, max(waits))
assert row["name"] == lock and int(row["self"]) == int(pair["self"]) == stacks
assert row["waiters"] == row["holders"] == "1" and (pair["waiter"], pair["holder"]) == (waiter, holder)
assert abs(int(row["longest"]) - max(waits)) < 0.05 * max(waits) + 10e6
assert int(row["count"]) == int(pair["count"]) and abs(int(row["count"]) - len(waits)) <= 0.1 * len(waits) + 2
END
}
listed() { lists "$@" || { recorded "$1" && lists "$@"; } || { recorded "$1" && lists "$@"; }; }
try "the view of waits lists the lock, how often and how long" listed convoy "mutex convoy_lock" take_turns take_turns
try "and of a writer its longest wait" listed starvation "write lock table_lock" write_table read_table

# Go's tool reads its own format.
contention()
{
    "$tallytree" export --force --to pprof --root '[[]held by]' -o "$tmp/pb.gz" "$tmp/starvation.tt" &&
        go tool pprof -raw "$tmp/pb.gz" >"$tmp/raw" && grep -q 'contentions/' "$tmp/raw" && grep -q 'delay/nanoseconds' "$tmp/raw" && grep -q ' read_table ' "$tmp/raw"
}
if command -v go >/dev/null; then
    try "exported for pprof it is a profile of contention, by holders" contention
else
    skip "exported for pprof it is a profile of contention, by holders" "there is no go"
fi
without()
{
    "$tallytree" record --locks -o "$tmp/none.tt" true && ! "$tallytree" report waits "$tmp/none.tt" 2>"$tmp/err" &&
        grep -q 'tallytree record --locks' "$tmp/err"
}

# Two threads share a line of the cache, and no lock.
nothing()
{
    recorded line && "$tallytree" report header --csv "$tmp/line.tt" >"$tmp/header" &&
        ! grep -E 'contentions|delay' "$tmp/header"
}
try "of locks that nobody waits for nothing is reported" nothing

counted()
{
    folded contentions "$tmp/convoy.tt" || return
    python3 - "$tmp/convoy.out" "$tmp/folded" "$tmp/truth.py" <<'END'
import sys
exec(open(sys.argv[3]).read())
ours = sum(int(l.rsplit(" ", 1)[1]) for l in open(sys.argv[2]))
print(ours, count)
# the program counts a turn as a wait when another one gave the lock back meanwhile
assert abs(ours - count["convoy_lock"]) <= 0.1 * count["convoy_lock"] + 2
END
}
try "each wait is counted once" counted
try "where none was recorded the view says how to record them" without

merged()
{
    "$tallytree" merge -o "$tmp/ab.tt" "$tmp/convoy.tt" "$tmp/paths.tt" && "$tallytree" merge -o "$tmp/ba.tt" "$tmp/paths.tt" "$tmp/convoy.tt" &&
        cmp "$tmp/ab.tt" "$tmp/ba.tt"
}
try "merged in any order they are the same" merged

# A recording whose process was killed has the waits that were over.
killed()
{
    timeout -k 5 500 "$tallytree" record --locks -o "$tmp/killed.tt" sh -c '"$0" forever & sleep 1; kill -9 $!; wait' "$guest" >"$tmp/out" 2>&1
    folded delay "$tmp/killed.tt" && grep -q 'take_turns;\[waits: mutex\];convoy_lock;\[held by\];.*;take_turns ' "$tmp/folded"
}
try "what is killed leaves its waits" killed

# An allocator that makes locks, as jemalloc does: also while the C library's functions are looked for.
cat >"$tmp/allocator.c" <<'END'
#include <pthread.h>
#include <stddef.h>
#include <string.h>
static _Alignas(16) char arena[1 << 26];
static size_t used;
void *malloc(size_t size)
{
    static pthread_mutex_t mutex;
    static pthread_cond_t condition;
    char *p;
    pthread_mutex_init(&mutex, NULL);
    pthread_cond_init(&condition, NULL);
    pthread_mutex_lock(&mutex);
    p = arena + __atomic_fetch_add(&used, (size + 31) / 16 * 16, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&mutex);
    *(size_t *)p = size;
    return p + 16;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *p, size_t size)
{
    void *new = malloc(size);
    if (p) memcpy(new, p, ((size_t *)p)[-2] < size ? ((size_t *)p)[-2] : size);
    return new;
}
END
cat >"$tmp/allocates.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void) { char *text = malloc(10); snprintf(text, 10, "done"); puts(text); return 7; }
END
gcc -O1 -fno-builtin -fPIC -shared -o "$tmp/liballocator.so" "$tmp/allocator.c" -pthread &&
    gcc -O1 -o "$tmp/allocates" "$tmp/allocates.c" -L"$tmp" -Wl,-rpath,"$tmp" -Wl,--no-as-needed -lallocator
allocator()
{
    timeout -k 5 500 "$tallytree" record --locks -o "$tmp/allocates.tt" "$tmp/allocates" >"$tmp/out" 2>"$tmp/err"
    [ $? = 7 ] && [ "$(cat "$tmp/out")" = "done" ]
}
try "an allocator that makes locks works" allocator

both() { "$tallytree" record --locks --heap -o "$tmp/x.tt" true; [ $? = 125 ]; }
try "with --heap it is refused" both
finish
