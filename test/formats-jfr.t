#!/bin/bash
# SPDX-License-Identifier: MIT
# Recordings of Java's Flight Recorder: every stack of every kind of event has what `jfr print`
# gives it; small ones are written here, of what a JDK does not write by itself.
. "$(dirname "$0")/formats.sh"

cat >"$dir/write.py" <<'END'
import sys
from jfrwriter import *
symbols = {1: utf8("com/é/A"), 2: latin("caf\xe9"), 3: utf16("sp\U0001F600n"), 4: utf8("sys_read"), 5: utf8("A$$Lambda$3+0x00007f/123"), 6: utf8("[[Ljava/lang/String;"), 7: b"\2" + n(7), 8: utf8("/lib/libc.so.6")}
events = [of("jdk.ExecutionSample", n(1), b"\0" * 4, n(1), n(1)), of("other.Event", utf8("x")), of("jdk.ExecutionSample", n(2), b"\0" * 4, n(1), n(1)),
    of("jdk.ExecutionSample", n(3), b"\0" * 4, n(2), n(2)), of("jdk.ExecutionSample", n(4), b"\0" * 4, n(2), n(0)), of("profiler.WallClockSample", n(5), n(1), n(3), n(12)),
    of("profiler.LiveObject", n(5), n(1), n(1), n(4), n(1 << 40), n(2) + b"\0" * 16), of("jdk.ThreadPark", n(6), n(25), n(1), n(1)), of("jdk.ThreadPark", n(6), n((1 << 64) - 1), n(1), n(1)),
    of("jdk.ObjectAllocationSample", n(6), n(1), n(1), n(4), n(640))]
first = chunk(events, symbols)
second = chunk([of("jdk.ExecutionSample", n(1), b"\0" * 4, n(1), n(1)), of("other.Event", b"\0")], {**symbols, 2: utf8("other")})
open(sys.argv[1] + "/small", "wb").write(first); open(sys.argv[1] + "/two", "wb").write(first + second)
END
PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="test" python3 "$dir/write.py" "$dir"
park='com.é.A.sp😀n'
small() {
    folds "[root] 1
(unknown callers);com.é.A.sp😀n;sys_read;sys_read 1
com.é.A.café;com.é.A.sp😀n 2" "$dir/small" samples && folds "A\$\$Lambda\$3.pooled 12" "$dir/small" "wall samples" &&
        folds "com.é.A.café;$park 1099511627776" "$dir/small" "live bytes" && folds "com.é.A.café;$park 2500" "$dir/small" "park time" &&
        folds "com.é.A.café;$park 2" "$dir/small" parks && folds "com.é.A.café;$park 640" "$dir/small" bytes
}
try "samples, objects and waits, with texts of every kind" small
older() { sed 's|+0x00007f/123|/440307236001|' "$dir/small" >"$dir/older" && folds "A\$\$Lambda\$3.pooled 12" "$dir/older" "wall samples"; }
profiler() { sed 's|+0x00007f/123|.0x0000000080|' "$dir/small" >"$dir/profiler" && folds "A\$\$Lambda\$3.pooled 12" "$dir/profiler" "wall samples"; }
try "async-profiler writes the address of a lambda's class after a point; it is left out" profiler
try "before Java 15 the number of a lambda's class follows a slash, and is left out" older
threads() { "$tallytree" report strands --csv "$dir/small" | grep -q 'worker.*301\|301.*worker' && "$tallytree" report strands --csv "$dir/small" | grep -q 'GC thread'; }
try "threads are strands, by their Java name or the system's" threads
types() { "$tallytree" report space --csv "$dir/small" | grep -q 'java.lang.String\[\]\[\]'; }
try "allocations are of classes" types
kernel() { "$tallytree" report flat --csv "$dir/small" | grep -q 'sys_read,\[kernel\]' && "$tallytree" report flat --csv "$dir/small" | grep -q 'sys_read,/lib/libc.so.6'; }
try "functions of the kernel and of libraries are theirs" kernel
try "each chunk has constants of its own" folds "[root] 1
(unknown callers);com.é.A.sp😀n;sys_read;sys_read 1
com.é.A.café;com.é.A.sp😀n 2
com.é.A.other;com.é.A.sp😀n 1" "$dir/two" samples
try "wherever it is cut off, it is refused" truncated 5 61 1 "$dir/two"
wrong() { python3 -c 'import sys; d = bytearray(open(sys.argv[1], "rb").read()); d[int(sys.argv[2])] = int(sys.argv[3]); open(sys.argv[4], "wb").write(d)' "$dir/small" "$1" "$2" "$dir/bad" && refused "$dir/bad" ": byte [0-9]*: $3"; }
try "other versions are refused" wrong 5 1 "this is not version 2"
try "so are numbers that are not compressed" wrong 67 0 "its numbers are not compressed"
try "so is an event without a length" wrong 68 0 "an event is as long as it cannot be"
try "so is a second chunk that is none" eval '{ cat "$dir/small"; head -c 100 /dev/zero; } >"$dir/bad" && refused "$dir/bad" ": byte [0-9]*: a chunk does not begin here"'

# A recording of a program that computes, allocates, waits and throws.
if ! command -v jfr >/dev/null || ! command -v javac >/dev/null; then
    skip "figures are those of jfr print, for every kind of event" "no JDK"
else
    cat >"$dir/Work.java" <<'END'
import java.util.concurrent.locks.LockSupport;
public class Work {
    static volatile long sink;
    static final Object lock = new Object();
    static long spin(int n) { long s = 0; for (int i = 0; i < n; i++) s += (long) Math.sqrt(i) * i; return s; }
    static void one() { sink += spin(300000); }
    static void two(int d) { if (d > 0) two(d - 1); else sink += spin(500000); }
    static byte[] make(int n) { return new byte[n]; }
    static void locked() { synchronized (lock) { try { Thread.sleep(25); } catch (InterruptedException e) { } } }
    static void fail(int i) { try { throw new IllegalStateException("no " + i); } catch (RuntimeException e) { sink++; } }
    public static void main(String[] a) throws Exception {
        Thread[] ts = new Thread[3];
        for (int t = 0; t < 3; t++) { ts[t] = new Thread(() -> { for (int i = 0; i < 6; i++) locked(); LockSupport.parkNanos(30000000); }, "locker-" + t); ts[t].start(); }
        for (int k = 0; k < 300; k++) { one(); two(3); for (int i = 0; i < 300; i++) sink += make(20000 + i).length; fail(k); }
        for (Thread t : ts) t.join();
        synchronized (lock) { lock.wait(30); }
    }
}
END
    for e in ExecutionSample NativeMethodSample ObjectAllocationSample ObjectAllocationInNewTLAB ObjectAllocationOutsideTLAB JavaMonitorEnter JavaMonitorWait ThreadPark ThreadSleep JavaExceptionThrow FileRead; do
        case $e in *Sample) setting='<setting name="period">10 ms</setting>' ;; *) setting='<setting name="threshold">0 ms</setting>' ;; esac
        echo "<event name=\"jdk.$e\"><setting name=\"enabled\">true</setting><setting name=\"stackTrace\">true</setting>$setting</event>"
    done | { echo '<?xml version="1.0"?><configuration version="2.0">'; cat; echo '</configuration>'; } >"$dir/all.jfc"
    (cd "$dir" && javac Work.java && java "-XX:StartFlightRecording=filename=real.jfr,settings=$dir/all.jfc" -cp . Work) >"$dir/said" 2>&1
    cat >"$dir/compare.py" <<'END'
import collections, json, re, subprocess, sys
tallytree, file = sys.argv[1:]
kinds = {"ExecutionSample": ("samples",), "NativeMethodSample": ("native samples",), "ObjectAllocationSample": ("allocation samples", "bytes", "weight"),
    "ObjectAllocationInNewTLAB": ("TLABs", "TLAB bytes", "tlabSize"), "ObjectAllocationOutsideTLAB": ("allocations outside TLABs", "bytes outside TLABs", "allocationSize"),
    "JavaMonitorEnter": ("contentions", "delay", "duration"), "JavaMonitorWait": ("waits", "wait time", "duration"), "ThreadPark": ("parks", "park time", "duration"),
    "ThreadSleep": ("sleeps", "sleep time", "duration"), "JavaExceptionThrow": ("exceptions",), "FileRead": ("file reads", "file read time", "duration")}
out = subprocess.run(["jfr", "print", "--json", "--stack-depth", "1000", "--events", ",".join("jdk." + k for k in kinds), file], capture_output=True, text=True, check=True).stdout
def frame(f):
    return re.sub(r"[+/]0x.*", "", f["method"]["type"]["name"]).replace("/", ".") + "." + f["method"]["name"]
def path(v):
    t = v["stackTrace"]
    if not t: return "[root]"
    return ";".join(["(unknown callers)"] * t["truncated"] + [frame(f) for f in reversed(t["frames"])]) or "[root]"
def amount(v):
    if not isinstance(v, str): return v
    d = re.fullmatch(r"PT(?:(\d+)M)?(?:([\d.]+)S)?", v)
    return round((int(d[1] or 0) * 60 + float(d[2] or 0)) * 1e9)
want = collections.defaultdict(collections.Counter)
events = collections.Counter()
for e in json.loads(out)["recording"]["events"]:
    v, k = e["values"], kinds[e["type"].split(".")[1]]
    want[k[0]][path(v)] += 1
    events[k[0], path(v)] += 1
    if len(k) > 1: want[k[1]][path(v)] += amount(v[k[2]])
assert all(any(want[m].values()) for m in ("samples", "bytes", "TLAB bytes", "delay", "wait time", "park time", "sleep time", "exceptions")), {m: sum(w.values()) for m, w in want.items()}
for metric, sums in want.items():
    got = collections.Counter()
    for line in subprocess.run([tallytree, "export", "--to", "folded", "--metric", metric, file], capture_output=True, text=True, check=True).stdout.splitlines():
        stack, n = line.rsplit(" ", 1); got[stack] += int(n)
    sums = {s: n for s, n in sums.items() if n}
    near = 2 * max(events.values()) if metric.endswith(("time", "delay")) else 0  # each length is rounded
    assert got.keys() == sums.keys() and all(abs(got[s] - sums[s]) <= near for s in sums), (metric, got, sums)
END
    try "figures are those of jfr print, for every kind of event" python3 "$dir/compare.py" "$tallytree" "$dir/real.jfr"
fi
finish
