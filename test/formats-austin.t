#!/bin/bash
# SPDX-License-Identifier: MIT
# Samples of Python as austin prints them.
. "$(dirname "$0")/formats.sh"

cp fuzz/formats/austin/wall "$dir/small"
try "a stack is root first, lines are added up, and time is in ns" folds \
    '[root] 7000
<module>;_load 1500000
C.größe;:GC: 5000' "$dir/small" time
row() { "$tallytree" report flat --csv --limit all "$dir/small" | grep -F "$1"; }
try "a function has its file, which may have colons" row '_load,,<frozen importlib._bootstrap>,'
strands() { "$tallytree" report strands --csv "$dir/small" | grep -c '^entry.*12,' | grep -qx 3; }
try "threads are strands" strands
cp fuzz/formats/austin/full "$dir/full"
try "mode full has times" folds 'f 40000
f;g 20000' "$dir/full" time
try "times in which it was not idle" folds 'f 40000' "$dir/full" 'CPU time'
try "bytes that were taken" folds 'f 4096' "$dir/full" bytes
try "and bytes that were freed" folds 'f;g 1024' "$dir/full" 'bytes freed'
try "mode memory has bytes alone" folds 'f 96' fuzz/formats/austin/memory 'bytes freed'
sed 's/wall/cpu/' "$dir/small" >"$dir/cpu"
try "mode cpu has the time of the processor" folds '[root] 7000
<module>;_load 1500000
C.größe;:GC: 5000' "$dir/cpu" 'CPU time'
sed 's/$/\r/' "$dir/small" >"$dir/crlf"
crlf() { "$tallytree" export --to folded "$dir/crlf" | cmp - <("$tallytree" export --to folded "$dir/small"); }
try "lines may end as on Windows" crlf
try "a mode that is not known is refused" refuses 3 "'gpu' is not a mode that is known" 's/wall/gpu/'
try "so is a sample without figures" refuses 5 "a number of microseconds was wanted, not 'x'" '5s/1459/x/'
try "so is one without a thread" refuses 7 "a sample begins with P, ;T and their numbers" '7s/.*/P12;main 7/'
try "so are too few figures" refuses 3 "three figures were wanted, not '10,0'" '3s/,4096//' "$dir/full"
try "so are figures that are too much together" refuses 6 "the figures add up" '6s/41$/18446744073709551/'

# A random one against a few lines of Python.
python3 - "$dir" <<'END'
import collections, random, sys
random.seed(7)
sum = collections.Counter()
with open(sys.argv[1] + "/random", "w") as out:
    print("# austin: 3.4.1\n# mode: wall", file=out)
    for i in range(5000):
        stack = [(random.randrange(5), random.randrange(9)) for _ in range(random.randrange(1, 30))]
        n = random.randrange(10**6)
        sum[";".join("f%d_%d" % f for f in stack)] += n * 1000
        print("P%d;T%d;%s %d" % (i % 3 + 1, i % 7, ";".join("C:\\d%d.py:f%d_%d:%d" % (*f[:1], *f, random.randrange(1, 99)) for f in stack), n), file=out)
open(sys.argv[1] + "/want", "w").writelines("%s %d\n" % s for s in sum.items() if s[1])
END
as_python() { "$tallytree" export --to folded "$dir/random" | LC_ALL=C sort | cmp - <(LC_ALL=C sort "$dir/want"); }
try "five thousand samples add up as Python does it" as_python
unnumbered() { "$tallytree" report "$1" >"$dir/got" && ! grep -q 'sampled: 0' "$dir/got"; }
printf '# austin: 3.6.0\n# interval: 100\n# mode: wall\nP1;T1;a.py:main:1 100\n' >"$dir/unnumbered"
try "no number of samples is stated where the file has none" unnumbered "$dir/unnumbered"
finish
