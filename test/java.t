#!/bin/bash
# SPDX-License-Identifier: MIT
# Methods of Java on the stacks of programs that were only started with `record`: beside the time that the program
# itself measures, interpreted and compiled; and the program runs as it does alone.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
cd "$tmp" || exit

version=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
if [ "$(uname -m)" != x86_64 ] || [ "$version" != 17 ] || ! command -v javac >/dev/null || ! python3 -c ''; then
    skip "methods of Java" "there is no javac of version 17 for x86-64, or no python3"
    finish
    exit
fi

# Each shape uses a slice of its thread's time, and says how much it was.
cat >Shapes.java <<'END'
import java.lang.management.*;
import java.util.*;
import java.util.zip.CRC32;
public class Shapes {
    static final ThreadMXBean bean = ManagementFactory.getThreadMXBean();
    static final Map<String, Long> spent = new TreeMap<>();
    static final byte[] bytes = new byte[1 << 18];
    static volatile long sink;
    static long cpu() { return bean.getCurrentThreadCpuTime(); }
    static void add(String name, long ns) { synchronized (spent) { spent.merge(name, ns, Long::sum); } }
    static long work(int n) { long s = 0; for (int i = 0; i < n; i++) s = s * 31 + (i ^ (s >>> 7)); return s; }
    static void slice(String name, long us) {
        long begin = cpu(), end;
        do { sink += work(5000); end = cpu(); } while (end < begin + 1000 * us);
        add(name, end - begin);
    }
    static void shape_plain() {
        slice("Shapes.shape_plain", 1000);
    }
    void shape_virtual() { slice("Shapes.shape_virtual", 2000); }
    static int shape_deep(int n) { if (n == 0) slice("Shapes.shape_deep", 1500); return n == 0 ? 0 : shape_deep(n - 1) + 1; }
    static void shape_lambda() { Runnable r = () -> slice("Shapes.lambda$shape_lambda$0", 1500); r.run(); }
    static class ByNumber implements Comparator<Integer> {
        public int compare(Integer x, Integer y) { slice("Shapes$ByNumber.compare", 300); return x - y; } }
    static void shape_sort() { Integer[] a = {5, 3, 1, 4, 2}; Arrays.sort(a, new ByNumber()); }
    static void shape_native() {
        long begin = cpu(), end;
        CRC32 c = new CRC32();
        do { for (int i = 0; i < 20; i++) c.update(bytes); end = cpu(); } while (end < begin + 1500000);
        sink += c.getValue();
        add("Shapes.shape_native", end - begin);
    }
    static void thrower(int n) { if (n == 0) throw new IllegalStateException("x"); thrower(n - 1); }
    static void shape_throw() {
        long begin = cpu(), end;
        do {
            for (int i = 0; i < 20; i++) try { thrower(5); } catch (IllegalStateException x) { sink++; }
            end = cpu();
        } while (end < begin + 1500000);
        add("Shapes.shape_throw", end - begin);
    }
    static void shape_garbage() {
        long begin = cpu(), end;
        do { for (int i = 0; i < 200; i++) sink += new int[100].length + String.valueOf(sink).length(); end = cpu(); } while (end < begin + 1000000);
        add("Shapes.shape_garbage", end - begin);
    }
    static void all(int rounds) {
        for (int i = 0; i < rounds; i++) { shape_plain(); new Shapes().shape_virtual(); shape_deep(20); shape_lambda(); shape_sort(); shape_native();
            shape_throw(); shape_garbage(); }
    }
    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[3 - args.length];
        for (int i = 0; i < threads.length; i++) (threads[i] = new Thread(() -> all(Integer.parseInt(args[0])))).start();
        for (Thread t : threads) t.join();
        spent.forEach((name, ns) -> System.out.println(name + " " + ns));
    }
}
END
cat >Same.java <<'END'
import java.nio.*;
import java.util.*;
public class Same {
    static List<ByteBuffer> kept = new ArrayList<>();
    static int endless(int n) { return endless(n + 1) + 1; }
    static void keep() { kept.add(ByteBuffer.allocateDirect(1000000)); }
    static int sum(int[] a) {
        int s = 0;
        for (int round = 0; round < 2000; round++)
            s += round ^ a[round % 2];
        return s;
    }
    public static void main(String[] args) {
        for (int i = 0; i < 50; i++) keep();
        try { endless(0); } catch (StackOverflowError e) { System.out.println("deep"); }
        try { System.out.println(((String) (args.length > 1 ? "" : null)).length()); } catch (NullPointerException e) { System.out.println("null"); }
        long s = 0;
        for (int i = 0; i < Integer.parseInt(args[0]); i++) s += sum(new int[2]);
        System.gc();
        System.out.println(s);
        throw new IllegalStateException("at the end");
    }
}
END
javac Shapes.java Same.java || exit

cat >shares.py <<'END'
import re, sys
spent = {}
for line in open(sys.argv[1]):
    name, ns = line.rsplit(" ", 1)
    spent[name] = int(ns)
above = {"Shapes.work": r"Shapes\.slice", "Shapes.slice": r"Shapes\.shape_.*|Shapes\.lambda\$shape_lambda\$0|Shapes\$ByNumber\.compare",
    "Shapes.shape_deep": r"Shapes\.(shape_deep|all)", "Shapes.shape_plain": r"Shapes\.all", "Shapes.shape_virtual": r"Shapes\.all",
    "Shapes.thrower": r"Shapes\.(thrower|shape_throw)", "Shapes.all": r"Shapes\.lambda\$main\$.*",
    "Shapes.lambda$shape_lambda$0": r"Shapes\$\$Lambda\.run", "Shapes$ByNumber.compare": r"Shapes\$ByNumber\.compare|java\.util\..*"}
seen, wrong = dict.fromkeys(spent, 0), {}
for line in open(sys.argv[2]):
    stack, samples = line.rstrip("\n").rsplit(" ", 1)
    frames = stack.split(";")
    for caller, callee in zip(frames, frames[1:]):
        if callee in above and not re.fullmatch(above[callee], caller) and not caller.startswith("["):
            wrong[caller, callee] = wrong.get((caller, callee), 0) + int(samples)
    shape = [f for f in frames if f in seen]
    if shape:
        seen[shape[-1]] += int(samples)
total, chi = sum(seen.values()), 0
for name, count in sorted(seen.items()):
    expected = total * spent[name] / sum(spent.values())
    chi += (count - expected) ** 2 / expected
    print(f"{name:30} {count:6} samples, {expected:8.1f} expected")
# With seven degrees of freedom one run in a million is above 41.
print(f"{total} samples, chi-square {chi:.1f}; wrong neighbours {wrong}")
sys.exit(total < 100 or len(seen) != 8 or chi > 41 or bool(wrong))
END
header() { "$tallytree" report header --csv run.tt | awk -F, -v fact="$1" '$4 == fact { print $5 == "" ? $6 : $5 }'; }
folded() { "$tallytree" export --force --to folded --metric samples -o folded run.tt; }
java=java flags=()
# A processor that is busy takes few samples: then it runs again, for longer.
shares()
{
    local rounds=40 time
    for time in 1 2 3 4; do
        "$tallytree" record --force "${flags[@]}" -o run.tt "$java" "$@" Shapes "$rounds" >spent 2>messages && folded || return
        [ "$(header stacks.interpreted)" -lt 115 ] || break
        echo "few samples, time $time"
        rounds=$((rounds * 3))
    done
    python3 shares.py spent folded
}
# One stack in fifty, and some while the program begins.
nearly_all_whole() { [ "$(header stacks.broken)" -le $(($(header stacks.interpreted) / 50 + 3)) ]; }
for how in -Xint -XX:+TieredCompilation; do
    try "java $how: shares are what the program measures, and no method is called by one that does not call it" shares "$how"
    try "java $how: nearly all stacks are whole" nearly_all_whole
done
equal "the header says which machine it is" "$(header interpreter)" "java 17"
described() { "$tallytree" report flat --select kind:interpreted --limit all --csv run.tt | grep -F "$1"; }
try "a method has its class, its file and its first line" described ",Shapes.shape_plain,java 17,Shapes.java,18,"
try "methods of the library, too" described ",java.lang.Thread.run,java 17,java/lang/Thread.java,"
try "a native method is between Java and C" grep -Eq 'sun.management.ThreadImpl.getThreadTotalCpuTime0;[^;]*jmm_|getThreadTotalCpuTime0;Java_sun' folded
for java in /usr/lib/jvm/*/bin/java; do
    case $("$java" -version 2>&1) in
    *\"25.*) try "version 25: shares are what the program measures" shares -XX:+TieredCompilation && break ;;
    esac
done
java=java

# Rates above the system's clock, and running processes, are recorded from outside.
attached()
{
    local pid time
    java Shapes 1000000 alone >spent &
    pid=$!
    patiently [ -e "/tmp/hsperfdata_$(id -un)/$pid" ]
    for time in 0.5 2 4 8; do
        "$tallytree" record --force -o run.tt -p "$pid" --duration "$time" 2>messages || break
        folded || break
        ! grep -q 'java.lang.Thread.run;.*;Shapes.all;Shapes.shape_' folded || break
    done
    { kill "$pid" && reap "$pid"; } 2>/dev/null
    grep -m1 'java.lang.Thread.run;.*;Shapes.all;Shapes.shape_' folded && [ "$(header interpreter)" = "java 17" ]
}
flags=(--sampled=1000)
if "$tallytree" record --force "${flags[@]}" -o run.tt true 2>messages; then
    try "from outside, shares are what the program measures" shares -XX:+TieredCompilation
    try "and nearly all stacks are whole" nearly_all_whole
    try "of a running process, too" attached
else
    cat messages
    skip "Java from outside" "the system does not allow it"
fi
flags=()

java -Xint Same 10000 >alone 2>alone.err
status=$?
same()
{
    "$tallytree" record --force -o run.tt "$@" -- java -Xint Same 10000 >out 2>err
    equal_status=$?
    sed '/^tallytree: /d' err | cmp - alone.err && cmp out alone && [ "$equal_status" = "$status" ]
}
try "with --lines and --heap, output and status are the same" same --lines --heap
# A processor that is busy may have no sample of it: then it runs again, for longer.
has_lines()
{
    local rounds
    for rounds in 10000 40000 160000; do
        folded && grep -q "Same.sum;Same.java:\(9\|10\)" folded && return
        "$tallytree" record --force -o run.tt --lines --heap -- java -Xint Same $rounds >out 2>err
    done
    folded && grep -q "Same.sum;Same.java:\(9\|10\)" folded
}
lines() { has_lines && ! grep -o "Same.sum;[^; ]*:[0-9]*" folded | grep -vE "Same.java:(8|9|10|11)$"; }
try "and methods have lines" lines
heap() { "$tallytree" export --force --to folded --metric allocated -o folded run.tt && awk '/;Same.main;.*Same.keep[; ]/ { sum += $NF } END { print sum; exit !(sum >= 50e6 && sum < 60e6) }' folded; }
try "and memory outside of Java's heap is that of its method" heap
try "with --wall --locks, too" same --wall --locks
map()
{
    "$tallytree" record --force --interpreters none -o run.tt java -XX:+PreserveFramePointer -XX:+UnlockDiagnosticVMOptions \
        -XX:+DumpPerfMapAtExit Shapes 10 >spent 2>messages && folded && grep -c ';[^;]* Shapes[.:]*work' folded
}
try "with --interpreters none, the machine's own map of names is read" map
equal "and nothing else has named a method" "$("$tallytree" report flat --select kind:interpreted --limit all --csv run.tt | grep -c 'Shapes')" 0
finish
