#!/bin/bash
# SPDX-License-Identifier: MIT
# Self and inclusive of a block are right if recursion hides its activations from the tree, and if
# most contexts are evicted: in ticks and in a metric, over random walks, against sums over the
# true stack.
. "$(dirname "$0")/tap.sh"

cat >"$tmp/walk.py" <<'END'
import collections, csv, random, subprocess, sys
tallytree, policy, budget, folder, wanted = sys.argv[1:]
said = set()
for seed in range(12):
    chance = random.Random(seed)
    names = "abcde"[:2 + seed % 4]
    stack, events = [], []
    want = {"ticks": collections.Counter(), "m": collections.Counter()}
    own = {"m": collections.Counter(), "ticks": collections.Counter()}
    calls, below = collections.Counter(), collections.Counter()
    for _ in range(400 if budget == "1M" else 4000):
        if stack and (chance.random() < 0.4 or len(stack) > 30):
            stack.pop()
            events.append("pop")
            continue
        stack.append(chance.choice(names))
        events.append("push " + stack[-1])
        calls[stack[-1]] += 1
        below.update(set(stack))
        for metric, event in ("m", "count m %d"), ("ticks", "sample %d"):
            n = chance.randrange(4)
            if n:
                events.append(event % n)
                own[metric][stack[-1]] += n
                for block in set(stack):
                    want[metric][block] += n
    events += ["pop"] * len(stack)
    open(folder + "/events", "w").write("\n".join(events) + "\n")
    subprocess.run([tallytree, "replay", "--recursion", policy, "--budget", budget, "-o", folder + "/r", folder + "/events"], check=True)
    for metric in want:
        report = [tallytree, "report", "flat", "--limit", "all", "--metric", metric]
        rows = csv.DictReader(subprocess.run([*report, "--csv", folder + "/r"], capture_output=True, text=True, check=True).stdout.splitlines())
        rows = [row for row in rows if row["role"] == "entry"]
        for column, right in ("inclusive", want[metric]), ("self", own[metric]):
            got = {row["name"]: int(row[column]) for row in rows}
            assert got == {name: right[name] for name in got} and set(right) <= set(got), (seed, metric, column, got, right)
        text = subprocess.run([*report, folder + "/r"], capture_output=True, text=True).stdout
        said |= {word for word in ("hidden", "budget", "lost") if "\n%s: " % word in text}
    rows = csv.DictReader(subprocess.run([tallytree, "report", "flat", "--limit", "all", "--metric", "calls", "--csv", folder + "/r"], capture_output=True, text=True, check=True).stdout.splitlines())
    for row in rows:
        name = row["name"]
        if row["role"] == "entry":
            assert int(row["self"]) == calls[name] <= int(row["inclusive"]) <= below[name], (seed, row, calls, below)
assert said == set(wanted.split()), said
END
while read -r policy budget said; do
    try "recursion $policy, budget $budget" \
        python3 "$tmp/walk.py" "$TT_BUILD/tallytree" "$policy" "$budget" "$tmp" "$said"
done <<END
none 1M
block 1M hidden
edge 1M hidden
cycle 1M
none 256nodes hidden budget
edge 256nodes hidden budget
cycle 256nodes hidden budget
END

# Samples: a function that calls itself from several places is one function, also when its
# contexts are evicted or find no room at all.  All the work is below `a`.
cat >"$tmp/places.c" <<'END'
static volatile unsigned long sum;
static unsigned seed = 1;
#define DECLARE(f) __attribute__((noinline)) void f(int depth);
DECLARE(a) DECLARE(b) DECLARE(c)
#define DEFINE(f, first, second)                                      \
    void f(int depth)                                                 \
    {                                                                 \
        for (int i = 0; i < 1000; i++)                                \
            sum += (unsigned)i;                                       \
        if (depth == 0)                                               \
            return;                                                   \
        seed = seed * 1103515245u + 12345u;                           \
        switch (seed >> 16 & 7) {                                     \
        case 0: a(depth - 1); sum++; break;                           \
        case 1: b(depth - 1); sum += 2; break;                        \
        case 2: c(depth - 1); sum += 3; break;                        \
        case 3: a(depth - 1); sum += 4; b(depth / 2); sum++; break;   \
        case 4: first(depth - 1); sum += 5; break;                    \
        case 5: second(depth - 1); sum += 6; break;                   \
        case 6: first(depth / 2); sum += 7; break;                    \
        case 7: second(depth - 1); sum += 8; first(depth / 3); break; \
        }                                                             \
        sum++;                                                        \
    }
DEFINE(a, b, c)
DEFINE(b, c, a)
DEFINE(c, a, b)
int main(void)
{
    for (int i = 0; i < LOOPS; i++)
        a(60);
    return 0;
}
END
loops=-DLOOPS=$(for_long 500 1500)
"${CC:-cc}" -O1 -g -fno-inline "$loops" -o "$tmp/places" "$tmp/places.c"
shares()
{
    "$TT_BUILD/tallytree" record --sampled=4000 --calls --recursion "$1" --budget "$2" --force -o "$tmp/tt" -- "$tmp/${3-places}" || return
    "$TT_BUILD/tallytree" report flat --metric time --limit all --csv "$tmp/tt" >"$tmp/csv" || return
    python3 - "$tmp/csv" <<'END'
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
total = int([row for row in rows if row["role"] == "total"][0]["inclusive"])
inclusive = {row["name"]: int(row["inclusive"]) for row in rows if row["role"] == "entry"}
print(total, inclusive)
assert inclusive["a"] > 0.9 * total or "[other blocks]" in inclusive
assert not [name for name in inclusive if inclusive[name] > total + 100]  # each is rounded to ns
END
}
for policy in none edge block; do
    for budget in 64M 256K 128K; do
        try "samples of functions with several places: recursion $policy, budget $budget" shares $policy $budget
    done
done
"${CC:-cc}" -O1 -g -fno-inline "$loops" -finstrument-functions -o "$tmp/hooked" "$tmp/places.c"
try "samples below hooks of the same functions" shares none 512nodes hooked

# A wait that finds no room is charged at each look, until it ends.
cat >"$tmp/rest.c" <<'END'
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sink;
__attribute__((noinline)) static void spin(void) { for (int i = 0; i < 4000; i++) sink += (unsigned)i; }
#define F(name, a, b, c) \
    __attribute__((noinline)) static void name(int depth) \
    { \
        int next = depth ? rand() % 3 : 3; \
        if (next == 0) a(depth - 1); \
        else if (next == 1) b(depth - 1); \
        else if (next == 2) c(depth - 1); \
        else spin(); \
        sink++; \
    }
static void g(int), h(int);
static void f(int);
F(f, f, g, h)
F(g, g, h, f)
F(h, h, f, g)
__attribute__((noinline)) static void rest(void) { usleep(1000000); sink++; }
__attribute__((noinline)) static void before(void) { rest(); sink++; }
int main(void)
{
    struct timespec t;
    do {
        f(14);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 300000000);
    before();
}
END
rests()
{
    "$TT_BUILD/tallytree" record --wall --recursion none --sampled=2000 --budget "$1" --force -o "$tmp/tt" -- "$tmp/rest" >/dev/null 2>&1 &&
        "$TT_BUILD/tallytree" report flat --limit all --csv "$tmp/tt" >"$tmp/csv" || return
    awk -F, '$10 == "[waits: sleep]" { found = $6 > 0.9 * $9 && $9 > 5e8 } { print } END { exit !found }' "$tmp/csv"
}
if cat /proc/self/syscall >/dev/null 2>&1; then
    "${CC:-cc}" -O1 -g -fno-optimize-sibling-calls -o "$tmp/rest" "$tmp/rest.c"
    for budget in 64nodes 100nodes; do
        try "a wait without room has its own time: budget $budget" rests $budget
    done
else
    skip "a wait without room has its own time" "/proc does not say here where threads wait"
fi
finish
