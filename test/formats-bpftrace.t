#!/bin/bash
# SPDX-License-Identifier: MIT
# Maps of stacks as bpftrace prints them.
. "$(dirname "$0")/formats.sh"

cp fuzz/formats/bpftrace/stacks "$dir/small"
try "stacks are leaf first, the kernel's below the program's; other keys are outermost" folds \
    'clang-tidy;0x20d2d1b0;0x7f98126308d6 1
tallytree;main(int, char**);asm_exc_page_fault;obj_cgroup_charge_pages 4' "$dir/small" samples
try "a map with a name is a metric" folds 'cc1 7
cc1;ns::f<int>(ns::g&) const 5' "$dir/small" u
try "stacks may be in the form of perf" folds 'operator new (unsigned long);do_idle;exc_page_fault 18446744073709551615' fuzz/formats/bpftrace/perf
printed() { sed '2i total 5]: 3\nwhat a script prints: 12' "$dir/small" >"$dir/printed" && "$tallytree" export --to folded "$dir/printed" | cmp - <("$tallytree" export --to folded "$dir/small"); }
try "what a script prints itself is left out" printed
sed 's/$/\r/' "$dir/small" >"$dir/crlf"
crlf() { "$tallytree" export --to folded "$dir/crlf" | cmp - <("$tallytree" export --to folded "$dir/small"); }
try "lines may end as on Windows" crlf
try "a value that is no number is refused" refuses 7 "the value -1 of @ is below 0" 's/tidy]: 1/tidy]: -1/'
try "so is a histogram" refused <(printf '@us[bash]: \n[0]   3 |@@@|\n') ":1: a value of @us is no number"
try "so is a file that ends within a stack" refuses 14 "the file ends within a key of @" '15,$d'
try "so are values that are too much together" refuses 13 "the figures add up" '7s/1$/18446744073709551615/'

# A random one against a few lines of Python.
python3 - "$dir" <<'END'
import collections, random, sys
random.seed(2)
sum = collections.Counter()
with open(sys.argv[1] + "/random", "w") as out:
    print("Attaching 1 probe...\n\n", file=out)
    for i in range(3000):
        stacks = [["f%d<a, b>(int [3])" % random.randrange(9) for _ in range(random.randrange(1, 20))] for _ in range(2)]
        comm, n = "p %d" % (i % 5), random.randrange(10**6)
        sum[";".join([comm] + list(reversed(stacks[0] + stacks[1])))] += n
        frames = ["".join("\n    %s+%d" % (f, random.randrange(99)) for f in s) for s in stacks]
        print("@[%s\n, %s\n, %s]: %d" % (*frames, comm, n), file=out)
open(sys.argv[1] + "/want", "w").writelines("%s %d\n" % s for s in sum.items() if s[1])
END
as_python() { "$tallytree" export --to folded "$dir/random" | LC_ALL=C sort | cmp - <(LC_ALL=C sort "$dir/want"); }
try "three thousand keys add up as Python does it" as_python

# In output of bpftrace itself, all counts are found.
real()
{
    "$tallytree" export --to folded "$dir/real" | awk '{ n += $NF } END { print n }' >"$dir/got" &&
        sed -n 's/^.*]: \([0-9]*\)$/\1/p' "$dir/real" | awk '{ n += $1 } END { print n }' | diff - "$dir/got"
}
if bpftrace -e 'profile:hz:499 { @[kstack, ustack, comm] = count(); } interval:ms:500 { exit(); }' >"$dir/real" 2>"$dir/said" && grep -q ']: ' "$dir/real"; then
    try "what bpftrace prints is read" real
else
    skip "what bpftrace prints is read" "$(head -1 "$dir/said")"
fi
printf '@[\n    foo+12\n]: -5\n' >"$dir/below"
try "a value below 0 is refused as such" refused "$dir/below" ":3: the value -5 of @ is below 0"
finish
