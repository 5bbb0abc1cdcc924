#!/bin/bash
# SPDX-License-Identifier: MIT
# Profiles are written in every format that Tallytree reads, and read again: each function has the
# figures that Python computes from the stacks.
. "$(dirname "$0")/formats.sh"

cat >"$dir/make.py" <<'END'
import collections, random, sys
out, dice = sys.argv[1], random.Random(int(sys.argv[2]))
names = ["main", "f", "g", "größe", "operator()(int, char)", "a b", "x::y<z>", "h"]
stacks = collections.Counter()
for _ in range(60): # a call graph has no paths of recursion
    stack = ["main"] + (dice.choices(names, k=dice.randrange(9)) if sys.argv[3:] else dice.sample(names[1:], dice.randrange(6)))
    stacks[";".join(stack)] += dice.choice([1, 7, 1000, 123456789])
self, all = collections.Counter(), collections.Counter()
for stack, n in stacks.items():
    frames = stack.split(";")
    self[frames[-1]] += n
    for f in set(frames): all[f] += n
open(out + "/stacks", "w").write("".join("%s %d\n" % s for s in sorted(stacks.items())))
open(out + "/truth", "w").write("".join("%s\t%d\t%d\n" % (f, self[f], all[f]) for f in sorted(all)))
END
cat >"$dir/flat.py" <<'END'
import collections, csv, sys
self, all = collections.Counter(), collections.Counter()
scale = int(sys.argv[1])
for r in csv.DictReader(sys.stdin):
    if r["role"] == "entry" and r["name"] not in ("_start", "[root]"):
        self[r["name"]] += int(r["self"])
        all[r["name"]] += int(r["inclusive"])
print("".join("%s\t%d\t%d\n" % (f, self[f] / scale, all[f] / scale) for f in sorted(all)), end="")
END
# written FORMAT SCALE - figures of each function are what they were, times so many.
written()
{
    "$tallytree" export --to "$1" --force -o "$dir/again" "$dir/stacks" &&
        "$tallytree" report flat --csv --limit all --threshold 0 "$dir/again" | python3 "$dir/flat.py" "$2" | diff "$dir/truth" -
}
# kept FORMAT - stacks, too.
kept() { "$tallytree" export --to "$1" --force -o "$dir/again" "$dir/stacks" && "$tallytree" export --to folded "$dir/again" | LC_ALL=C sort | diff <(LC_ALL=C sort "$dir/stacks") -; }
python3 "$dir/make.py" "$dir" 1
for format in folded pprof otlp speedscope firefox; do
    try "figures that are written as $format and read again are the same" written $format 1
    try "so are stacks: $format" kept $format
done
python3 "$dir/make.py" "$dir" 2 recursive
for format in folded pprof otlp speedscope firefox; do
    try "so are those of recursive functions: $format" eval "written $format 1 && kept $format"
done
python3 "$dir/make.py" "$dir" 3
try "figures that are written as callgrind and read again are the same" written callgrind 1
try "so are those of pgcl" written pgcl 1
cat >"$dir/named.c" <<'END'
#include <tallytree.h>
int main(int argc, char **argv)
{
    static const char *const name[] = {"calls", "samples", "ticks", "time"}, *const unit[] = {"", "", "ticks", "ns"};
    tt_mark m;
    tt_start(argv[argc - 1]);
    m = tt_push(tt_block_get("f", "", 0, 0));
    tt_tick(1000);
    tt_sample(30);
    for (int i = 0; i < 4; i++)
        tt_add(tt_metric_get(name[i], unit[i]), 2 + (unsigned)i);
    tt_pop(m);
    return tt_stop();
}
END
named()
{
    cc -Iinclude -o "$dir/named" "$dir/named.c" -L"$TT_BUILD" -ltallytree -Wl,-rpath,"$TT_BUILD" && "$dir/named" "clock=caller:1000000000,output=$dir/named.tt" || return
    "$tallytree" export --to pprof --force -o "$dir/again" "$dir/named.tt"
    local m f
    for f in named.tt again; do
        for m in calls samples time "calls of the program" "samples of the program" "ticks of the program" "time of the program"; do
            "$tallytree" report flat --csv --metric "$m" "$dir/$f" | grep ^total | cut -d, -f5
        done | paste -sd' '
    done | diff <(printf '1 1 1030 2 3 4 5\n%.0s' 1 2) -
}
try "metrics of a program with names of ours are not ours" named
printf 'events: time_(ns) cpu_(ns)\n\nfl=a.c\nfn=f\n1 7 3\n' >"$dir/clocks"
for format in callgrind otlp pprof speedscope; do
    "$tallytree" export --to $format --force -o "$dir/again" "$dir/clocks"
    equal "beside another time, that of the recording is shown first: $format" "$("$tallytree" report flat --csv "$dir/again" | grep ^total | cut -d, -f5)" 7
done
finish
