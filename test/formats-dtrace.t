#!/bin/bash
# SPDX-License-Identifier: MIT
# Stacks as DTrace prints them.
. "$(dirname "$0")/formats.sh"

cp fuzz/formats/dtrace/stacks "$dir/small"
try "stacks are leaf first, the kernel's below the program's; other keys are outermost" folds \
    '0x104d08831;ns::f<int, g+1>(char, long) (.llvm.95990675);__pwrite;sys_syscall;fop_write 12
bash 1234;main;operator() 3
main 4' "$dir/small" samples
module() { "$tallytree" report flat --csv --limit all "$dir/small" | grep -q '__pwrite,libc.so.1,'; }
try "functions have their module" module
try "there may be no headings" folds '0x100003f60;main;read 2' fuzz/formats/dtrace/quiet
sed 's/$/\r/' "$dir/small" >"$dir/crlf"
crlf() { "$tallytree" export --to folded "$dir/crlf" | cmp - <("$tallytree" export --to folded "$dir/small"); }
try "lines may end as on Windows" crlf
try "a stack that does not end with a count is refused" refuses 11 "a stack ends with a count from 0 on, not with '-12'" 's/ 12$/-12/'
try "so is a file that ends within a stack" refuses 10 "the file ends within a stack" '11,$d'
try "so are counts that are too much together" refuses 16 "the figures add up" '11s/12/18446744073709551613/'

# A random one against a few lines of Python.
python3 - "$dir" <<'END'
import collections, random, sys
random.seed(3)
sum = collections.Counter()
with open(sys.argv[1] + "/random", "w") as out:
    print("CPU     ID                    FUNCTION:NAME\n  1  2    :tick-1s\n", file=out)
    for i in range(3000):
        stacks = [["f%d(int [%d])" % (random.randrange(9), k) for _ in range(random.randrange(1, 20))] for k in range(2)]
        key, n = "p %d" % (i % 5), random.randrange(10**6)
        sum[";".join([key] + list(reversed(stacks[0] + stacks[1])))] += n
        frames = "\n".join("".join("\n              m`%s+0x%x" % (f, random.randrange(1, 999)) for f in s) for s in stacks)
        print("\n  %-30s%s\n%20d" % (key, frames, n), file=out)
open(sys.argv[1] + "/want", "w").writelines("%s %d\n" % s for s in sum.items() if s[1])
END
as_python() { "$tallytree" export --to folded "$dir/random" | LC_ALL=C sort | cmp - <(LC_ALL=C sort "$dir/want"); }
try "three thousand keys add up as Python does it" as_python
finish
