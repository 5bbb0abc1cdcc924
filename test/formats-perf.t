#!/bin/bash
# SPDX-License-Identifier: MIT
# The text of `perf script`: whatever names hold, and whatever events there are.
. "$(dirname "$0")/formats.sh"


cat >"$dir/small" <<'END'
# ========
# captured on: Sat Nov 21 10:00:00 2026
# ========
#
web (x) [y]   100/101 [002] 203265.377019:    1001001 cpu-clock:ppp:
	             6f1 operator new(unsigned long)+0x12 (/lib/x (1).so)
	             789 main (/bin/program (deleted))
	ffffffffad14d115 [unknown] ([unknown])

web (x) [y]   100/101 [002] 203265.378019:    1 cpu-clock:ppp:
	             6f1 operator new(unsigned long)+0x1f (/lib/x (1).so)
	             790 main+0x3 (/bin/program (deleted))
	ffffffffad14d115 [unknown] ([unknown])

other    7 203265.379000:    250000 cpu-clock:ppp:
	             6f1 jitted ([JIT app cache])
	             6f0 within (inlined)
	             700 plain
	             abc

quick   8 203265.379100:    5 cpu-clock:ppp:
idle     0 [000] 203265.380000:    7 cpu-clock:ppp:  ffffffff81 do_idle+0x9 ([kernel.kallsyms])
swapper     0 [000] 203265.400000: sched:sched_switch: prev_comm=a ==> next_comm=b 203265.1: 5 x:
	             6f1 main (/bin/program)
END
sed -i 's/:ppp:$/& /' "$dir/small" # perf has a blank there
folded='[root] 5
[unknown];main;operator new(unsigned long) 1001002
abc;plain;within;jitted 250000
do_idle 7'
try "samples are weighed by their periods" folds "$folded" "$dir/small"
try "samples without a stack are the root's" folds '[root] 1
[unknown];main;operator new(unsigned long) 2
abc;plain;within;jitted 1
do_idle 1' "$dir/small" samples
try "other events are metrics of their own" folds 'main 1' "$dir/small" "samples of sched:sched_switch"
modules() { "$tallytree" report flat --csv --limit all "$dir/small" | grep -q '/lib/x (1).so' && "$tallytree" report flat --csv --limit all "$dir/small" | grep -q '\[JIT app cache\]'; }
try "modules may have blanks and brackets" modules
threads() { "$tallytree" report strands --csv --limit all "$dir/small" | python3 -c '
import csv, sys
print(sorted((r["process"], r["pid"], r["thread"] if "thread" in r else "") for r in csv.DictReader(sys.stdin) if r["role"] == "entry"))'; }
names() { [ "$(threads | grep -o "web (x) \[y\]" | wc -l)" = 1 ] && [ "$(threads | grep -o "'100'" | wc -l)" = 1 ]; }
try "names of threads may have them too" names
sed 's/$/\r/' "$dir/small" >"$dir/crlf"
try "lines may end as on Windows" folds "$folded" "$dir/crlf"
no_period() { sed -E 's/[0-9]+ (cpu-clock)/\1/' "$dir/small" >"$dir/plain" && folds '[root] 1
[unknown];main;operator new(unsigned long) 2
abc;plain;within;jitted 1
do_idle 1' "$dir/plain"; }
try "without periods, samples count" no_period

# A random one against a few lines of Python.
python3 - "$dir" <<'END'
import collections, random, sys
random.seed(1)
sum = collections.Counter()
with open(sys.argv[1] + "/random", "w") as out:
    for i in range(4000):
        stack = ["f %d(x)" % random.randrange(12) for _ in range(random.randrange(0, 20))]
        period = random.randrange(1, 10**6)
        sum[";".join(reversed(stack)) or "[root]"] += period
        print("p %d/%d [%03d] %d.%06d: %d cycles:u: " % (i % 3, i % 7, i % 4, i, i, period), file=out)
        for f in stack: print("\t%16x %s+0x%x (/bin/x)" % (random.getrandbits(40), f, random.getrandbits(8)), file=out)
        print(file=out)
open(sys.argv[1] + "/want", "w").writelines("%s %d\n" % s for s in sorted(sum.items()))
END
as_python() { "$tallytree" export --to folded "$dir/random" | LC_ALL=C sort | cmp - <(LC_ALL=C sort "$dir/want"); }
try "four thousand samples add up as Python does it" as_python

sed '20a nonsense here' "$dir/small" >"$dir/nonsense"
one_line_lost() { "$tallytree" report "$dir/nonsense" 2>&1 | grep -q "lost: 1 lines" && folds "$folded" "$dir/nonsense"; }
try "a line that is no part of a sample is counted, and the rest is read" one_line_lost

# Output of perf with other fields, and of old versions.
timeless='java 3244 cpu-clock:@
	    7f1e214c24d9 SpinPause (/lib/libjvm.so)
	    7f1e2130d999 GCTaskThread::run() (/lib/libjvm.so)

other name 12/13 [001] 250 cycles:u:@

	    7f1e214c24d9 leaf (/bin/x)

java 3244 cpu-clock:@
ffffffff8103d0ca native_write ([kernel.kallsyms])
ffffffff810275f1 enable_all ([kernel.kallsyms])'
timeless=${timeless//@/ } # no line of this file ends in a blank
echo "$timeless" >"$dir/timeless"
echo "build id event received for [kernel.kallsyms]: 4b5c [20]
$timeless" >"$dir/verbose"
timeless() { folds 'GCTaskThread::run();SpinPause 1
enable_all;native_write 1' "$1" samples && folds 'leaf 250' "$1" cycles:u; }
try "samples need no time, and an empty line may come before their stack" timeless "$dir/timeless"
try "lines that perf writes about itself are no samples" timeless "$dir/verbose"
printf '%16s %5d [000] %d.5: %10d cpu-clock:  ffff81 do_idle+0x9 ([kernel])\n' a 7 1 5 cafe 8 2 6 "a b" 9 3 7 >"$dir/padded"
try "each sample without a stack counts, its name being padded with blanks" folds 'do_idle 18' "$dir/padded"
named() { "$tallytree" report strands --csv --limit all "$dir/padded" | python3 -c '
import csv, sys
sys.exit(sorted(r["process"] for r in csv.DictReader(sys.stdin) if r["role"] == "entry") != ["a", "a b", "cafe"])'; }
try "its name is without them" named
# Fields that -F chose: without an event, and then without a time.
cat >"$dir/chosen.py" <<'END'
import sys
time, period, flat = (int(x) for x in sys.argv[1:])
for i, stack in enumerate([["leaf", "main"], ["add", "main"], ["leaf", "main"], ["operator()"]] * 20):
    head = "my w 1%d/2%d%s" % (i, i, " 27028.%06d:" % i if time else "") + (" %10d " % (i + 1) if period else " ")
    if flat: print("%20s %16x %s" % (head, 0x401136 + i, stack[0]))
    else: print(head, *("\t%16x %s" % (0x401136 + i, f) for f in stack), "", sep="\n")
END
chosen()
{
    local flat=${3-0}
    python3 "$dir/chosen.py" "$1" "$2" "$flat" >"$dir/chosen"
    [ "$flat" = 1 ] || folds "main;add 20
main;leaf 40
operator() 20" "$dir/chosen" samples || return
    [ "$flat" = 0 ] || folds "add 20
leaf 40
operator() 20" "$dir/chosen" samples || return
    "$tallytree" report header "$dir/chosen" | grep -c metric | grep -qx $((1 + $2)) || return
    # The periods are 1 to 80, so 80 * 81 / 2.
    [ "$2" = 0 ] || "$tallytree" report flat --csv --limit all --metric period "$dir/chosen" | grep -q '"*total.*3240'
}
try "each time stamp is not an event, if the file names none" chosen 1 0
try "a period needs no event" chosen 1 1
try "samples need neither time nor event" chosen 0 0
try "they may have a period" chosen 0 1
try "and no stack" chosen 0 0 1
try "and no stack, but a period" chosen 0 1 1
try "and no stack, but a time and a period" chosen 1 1 1
printf 'Chapter 12\n\nbegins with a text that is longer\n' >"$dir/text"
try "a line that ends in a number is no sample" refused "$dir/text" ": this is not a recording"
printf 'Chapter 12 begins:\nand goes on\n' >"$dir/text"
try "text is no sample without a time" refused "$dir/text" ": this is not a recording"
try "so are periods of more than 64 bits" refuses 20 "the figures add up" 's/   250000 cpu/18446744073709551615 cpu/'
finish
