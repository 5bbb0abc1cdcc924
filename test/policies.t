#!/bin/bash
# SPDX-License-Identifier: MIT
# The runtime does what doc/measuring.md draws of each recursion policy.  Folded places are
# marked, and recordings that unwind stacks keep whole stacks by default.
. "$(dirname "$0")/tap.sh"

# drawn POLICY - its path in the drawing.
drawn()
{
    awk -v policy="$1" '
        /^```/ { inside = !inside }
        inside && $1 == policy {
            for (i = 2; i <= NF && $i ~ /^(main|eval|list|print)$/; i++)
                path = path (i > 2 ? ";" : "") $i
            print path
            exit
        }' doc/measuring.md
}

drawn stack | tr ';' '\n' | sed 's/^/push /' >"$tmp/events"
echo 'tick 1' >>"$tmp/events"

# charged POLICY - the path that has the tick.
charged()
{
    "$TT_BUILD/tallytree" replay --recursion "$1" -o "$tmp/file" "$tmp/events" &&
        "$TT_BUILD/tallytree" dump "$tmp/file" |
        awk -F '\t' '$1 == "context" && $4 == "self=1" { print $2 }'
}

for policy in none edge repeat:3 cycle block recent:1 drop; do
    equal "a recursion under $policy has the path that is drawn" \
        "$(charged $policy)" "$(drawn $policy)"
done

# The contexts to which calls led back: a model that implements only the definition.
cat >"$tmp/model.py" <<'END'
import collections, csv, random, subprocess, sys
tallytree, folder, policy, seed = sys.argv[1:]
rng = random.Random(int(seed))
length = {"edge": 2, "block": 1, "repeat:3": 3, "none": 10 ** 9}[policy]
def lead(path, block):
    now = path + (block,)
    for n in range(len(path), 0, -1):
        if n >= length and path[n - length:n] == now[-length:]:
            return path[:n]
    return None
events, stack, back = [], [()], collections.Counter()
for _ in range(rng.randrange(20, 300)):
    if rng.random() < 0.6 and len(stack) < 40:
        block = rng.choice("abcd")
        to = lead(stack[-1], block)
        if to is None:
            to = stack[-1] + (block,)
        else:
            back[to] += 1
        stack.append(to)
        events += ["push " + block, "tick 1"]
    elif len(stack) > 1:
        stack.pop()
        events.append("pop")
with open(folder + "/events", "w") as f:
    f.write("\n".join(events) + "\n")
run = lambda *words: subprocess.run([tallytree, *words], check=True, stdout=subprocess.PIPE, text=True).stdout
run("replay", "--recursion", policy, "-o", folder + "/r", folder + "/events")
for view in "tree", "flame":
    path, got = [], {}
    for row in csv.DictReader(run("report", view, "--csv", "--limit", "all", "--threshold", "0", folder + "/r").splitlines()):
        if row["role"] == "entry":
            path[int(row["depth"]):] = [row["name"]]
            if row["by_arcs"]:
                got[tuple(path[1:])] = int(row["by_arcs"])
    if got != dict(back):
        sys.exit("%s: %r for %r" % (view, got, dict(back)))
text = run("report", "tree", "--limit", "all", "--threshold", "0", folder + "/r")
marked = sum("↺ " in line and not line.startswith("folded:") for line in text.splitlines())
if marked != len(back) or ("folded: calls led back" in text) != bool(back):
    sys.exit(text)
comments = subprocess.run([tallytree, "export", "--to", "pprof", folder + "/r"], check=True, stdout=subprocess.PIPE).stdout
import gzip
raw = gzip.decompress(comments) if comments[:2] == b"\x1f\x8b" else comments
if (b"recursion is folded" in raw) != bool(back):
    sys.exit("pprof")
END
modelled()
{
    for seed in 1 2 3 4 5 6 7 8 9 10; do
        python3 "$tmp/model.py" "$TT_BUILD/tallytree" "$tmp" "$1" $seed || return
    done
}
for policy in edge block repeat:3 none; do
    try "under $policy the contexts that calls led back to are marked" modelled $policy
done

# Samples and objects have whole stacks, unless a policy is asked for.
cat >"$tmp/deep.c" <<'END'
#include <stdlib.h>
#include <time.h>
static volatile long sink;
static void *volatile kept;
__attribute__((noinline)) static void print(void)
{
    struct timespec t;
    kept = malloc(100000);
    do {
        for (int i = 0; i < 100000; i++)
            sink += i;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    } while (t.tv_sec == 0 && t.tv_nsec < 300000000);
}
__attribute__((noinline)) static void list(int depth);
__attribute__((noinline)) static void eval(int depth)
{
    if (depth)
        list(depth - 1);
    else
        print();
    sink++;
}
__attribute__((noinline)) static void list(int depth) { eval(depth); sink++; }
int main(void) { eval(5); return 0; }
END
${CC:-cc} -O1 -g -fno-optimize-sibling-calls -o "$tmp/deep" "$tmp/deep.c"

# stacks FLAG... - those that were recorded, from main on.
stacks()
{
    "$TT_BUILD/tallytree" record "$@" -o "$tmp/deep.tt" "$tmp/deep" 2>/dev/null &&
        "$TT_BUILD/tallytree" export --to folded "${metric[@]}" "$tmp/deep.tt" |
        sed -n 's,.*;\(main;.*print\).*,\1,p' | sort -u
}
whole='main;eval;list;eval;list;eval;list;eval;list;eval;list;eval;print'
metric=()
equal "a sample has its whole stack" "$(stacks)" "$whole"
equal "and is folded where that is asked for" "$(stacks --recursion edge)" \
    'main;eval;list;eval;print'
policy_of() { "$TT_BUILD/tallytree" report header "$tmp/deep.tt" | sed -n 's/^recursion *//p'; }
equal "the header names that policy" "$(policy_of)" edge
stacks >"$tmp/out"
equal "and the default one" "$(policy_of)" none
metric=(--metric allocated)
equal "an object has its whole stack" "$(stacks --heap)" "$whole"

finish
