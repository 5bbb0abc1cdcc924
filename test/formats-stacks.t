#!/bin/bash
# SPDX-License-Identifier: MIT
# Pages of contention and of threads: each stack has what `go tool pprof` gives it.
. "$(dirname "$0")/formats.sh"
export PPROF_TMPDIR=$tmp HOME=$tmp

cat >"$dir/compare.py" <<'END'
import collections, re, subprocess, sys
tallytree, file, metric, column = sys.argv[1:]
raw = subprocess.run(["go", "tool", "pprof", "-raw", file], capture_output=True, text=True, check=True).stdout
address = dict(re.findall(r"^ +([0-9]+): (0x[0-9a-f]+)", raw[raw.index("Locations"):], re.M))
want = collections.Counter()
for values, ids in re.findall(r"^ +([0-9 ]+): ([0-9 ]+)$", raw[:raw.index("Locations")], re.M):
    want[";".join(address[i] for i in reversed(ids.split()))] += int(values.split()[int(column)])
out = subprocess.run([tallytree, "export", "--to", "folded", "--metric", metric, file], capture_output=True, text=True, check=True).stdout
got = {stack: int(n) for stack, n in (line.rsplit(" ", 1) for line in out.splitlines())}
assert got == want and got, (got, want)
END
compare() { python3 "$dir/compare.py" "$tallytree" "$dir/$1" "$2" "$3"; }

cat >"$dir/contention" <<'END'
--- contentionz 1 ---
cycles/second = 3201000000
sampling period = 100
ms since reset = 16502830
discarded samples = 0
  19490304       27 @ 0xbcbbf1 0xbc61c2 0x42ed5f
     768        1 @ 0xbcbbf1 0xbcbc97
   5760        2 @ 0xbcbbf1 0xbcbc97 0x42ed5f
   5760        2 @ 0xbcbbf1 0xbcbc97 0x42ed5f

--- Memory map: ---
END
try "how often a lock was waited for is go's" compare contention contentions 0
try "so is how long" compare contention delay 1
printf '%s\n' '--- mutex:' 'sampling period=1' '10 1 @ 0x10 0x20' '5 1 @ 0x10' >"$dir/mutex"
try "without a clock they are nanoseconds" compare mutex delay 1

cat >"$dir/threads" <<'END'
--- threadz 1 ---

--- Thread 7eff063d9940 (name: main/25376) stack: ---
  PC: 0xbc8f1c 0x40be31
--- Thread 7eff04b95700 (name: thread1/25380) stack: ---
  PC: 0xbc8f1c 0xbcbd00 0xa47f60
      0x7eff05b6d14e
      creator: 0xa45b96 0x40bce4
--- Thread 7eff04893700 (name: thread2/25381) stack: ---
  [same as previous thread]
--- Thread 7eff04770700 (name: thread3/25382) stack: ---
  PC: 0xbc8f1c 0x40be31
--- Memory map: ---
END
try "threads where they are and who made them are go's" compare threads threads 0
cat >"$dir/names" <<'END'
--- Thread 7eff063d9940 (name: main/25376) stack: ---
  PC:  0x00bc8f1c: helper(arg*)
  0x0040be31: main
--- Thread 7eff04e97700 (name: thread1/25379) stack: ---
  PC:  0x00bc8f1c: helper(arg*)
  0x7eff05b6d14e: start_thread
      creator:
  0x0040bce4: main
--- Memory map: ---
  00400000-00fcb000: /usr/bin/server
END
try "names that stand beside addresses are theirs" folds 'main;helper(arg*) 1
main;start_thread;helper(arg*) 1' "$dir/names"
{ cat "$dir/mutex"; printf '%s\n' '--- Memory map: ---' '00000000-00000100: /usr/bin/a program'; } >"$dir/mapped"
try "addresses lie in the files that are mapped" folds 'a program+0x1f;a program+0xf 10
a program+0xf 5' "$dir/mapped"

printf '%s\n' 'goroutine profile: total 6' '5 @ 0x4378b6 0x40619b 0x461221' '# labels: {"a": "b"}' '' '1 @ 0x42d4f6 0x4374f2 0x461221' '' >"$dir/counts"
try "Go's counts are go's" compare counts goroutine 0
try "those that were cut off are refused" refuses 4 "the file was cut off: its first line states 6, and its stacks have 5" '5,$d' "$dir/counts"
printf '%s\n' 'threadcreate profile: total 4' '4 @' $'#\t0x0' >"$dir/created"
try "so is a count without a place" folds '[root] 4' "$dir/created"
cat >"$dir/go" <<'END'
goroutine profile: total 6
5 @ 0x4378b6 0x40619b 0x4b401b 0x461221
#	0x4b401a	main.wait[...]+0x1a		/src/main.go:7
#	0x4b401a	main.main.func1+0x1a	/src/main.go:9

1 @ 0x42d4f6 0x4374f2 0x461221
#	0x45ca04	runtime/pprof.(*Profile).WriteTo+0x24	/go/pprof.go:846
#	0x45ca04	main.wait[...]+0x24	/src/main.go:8
#	0x4374f1	runtime.main+0x211					/go/proc.go:250
END
try "functions below a stack of Go are its frames" folds 'main.main.func1;main.wait[...] 5
runtime.main;main.wait[...];runtime/pprof.(*Profile).WriteTo 1' "$dir/go"
one_block() { [ "$("$tallytree" report flat --csv "$dir/go" | grep -c ',main.wait\[...\],,/src/main.go,')" = 1 ]; }
try "lines within one are one function" one_block
cat >"$dir/java" <<'END'
--- contentionz 1 ---
format = java
resolution = microseconds
sampling period = 100
ms since reset = 6019923
            1     1 @ 0x00000003 0x00000004
           14     1 @ 0x0000000d 0x00000003
            2     3 @ 0x00000003 0x00000004

 0x0000003 com.example.three (source.java:03)
 0x0000004 com.example.four (source.java:04)
 0x000000d com.example.thirteen (source.java:0)
END
cat >"$dir/java.heap" <<'END'
--- heapz 1 ---
format = java
resolution = bytes
          7048     1 @ 0x00000003 0x00000004
       1048576     9 @ 0x0000000d 0x00000003

 0x00000003 com.example.three (Source003.java:103)
 0x00000004 com.example.four (Source004.java:104)
 0x0000000d com.example.thirteen (Source004.java:104)
END
cat >"$dir/java.py" <<'END'
import collections, re, subprocess, sys
tallytree, file, metric, column = sys.argv[1:]
raw = subprocess.run(["go", "tool", "pprof", "-raw", file], capture_output=True, text=True, check=True).stdout
name = dict(re.findall(r"^ +([0-9]+): 0x0 M=\d+ (\S+)", raw[raw.index("Locations"):], re.M))
want = collections.Counter()
for values, ids in re.findall(r"^ +([0-9 ]+): ([0-9 ]+)$", raw[:raw.index("Locations")], re.M):
    want[";".join(name[i] for i in reversed(ids.split()))] += int(values.split()[int(column)]) * (1000 if metric == "delay" else 1)
out = subprocess.run([tallytree, "export", "--to", "folded", "--metric", metric, file], capture_output=True, text=True, check=True).stdout
got = {stack: int(n) for stack, n in (line.rsplit(" ", 1) for line in out.splitlines())}
assert got.keys() == want.keys() and all(0 <= got[s] - want[s] <= (metric[0] == "l") for s in got), (got, want)  # of shares, go takes the whole part
END
java() { for i in 0 1; do python3 "$dir/java.py" "$tallytree" "$dir/$1" "${@:2+i:1}" $i || return; done; }
try "contention of Java is go's" java java contentions delay
try "so is its heap" java java.heap "live number" "live bytes"

try "a line without a stack is refused" refuses 6 "a line is 'CYCLES NUMBER @ ADDRESSES'" '6s/@//' "$dir/contention"
try "so is a word in it" refuses 7 "an address is due, and not 'main'" '7s/0xbcbc97/main/' "$dir/contention"
try "so is a clock that does not go" refuses 2 "'0' is no such number" '2s/=.*/= 0/' "$dir/contention"
try "so is more than 64 bits" refuses 6 "the figures add up" '6s/27/18446744073709551615/' "$dir/contention"
try "so is a text that is neither" refuses 8 "'nonsense' is no line" '8s/.*/nonsense/' "$dir/contention"
try "so is a first thread like the one before" refuses 5 "there is no thread before" '4s/.*/[same as previous thread]/' "$dir/threads"
try "so is a count that is none" refuses 2 "a line is 'NUMBER @ ADDRESSES'" '2s/5/five/' "$dir/counts"
try "so is a stack of no thread" refuses 2 "'0x1 0x2' is of no thread" '2s/.*/0x1 0x2/' "$dir/threads"
finish
