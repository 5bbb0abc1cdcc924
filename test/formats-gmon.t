#!/bin/bash
# SPDX-License-Identifier: MIT
# gmon.out: self, calls and, with what they called, the times that gprof prints, recursion and
# cycles included.
. "$(dirname "$0")/formats.sh"

cat >"$dir/program.c" <<'END'
#define ALONE __attribute__((noinline))
static volatile unsigned long sum;
ALONE void spin(unsigned long n) { for (unsigned long i = 0; i < 8 * n; i++) sum += i * i; }
ALONE void one(void) { spin(20000000); spin(5000000); __asm__ volatile(""); }
ALONE void two(int depth) { if (depth) two(depth - 1); else spin(30000000); __asm__ volatile(""); }
ALONE void odd(int n);
ALONE void even(int n) { spin(3000000); if (n) odd(n - 1); __asm__ volatile(""); }
ALONE void odd(int n) { spin(1000000); for (int i = 0; i < 24000000; i++) sum++; if (n) even(n - 1); __asm__ volatile(""); }
ALONE void shared(void) { for (int i = 0; i < 72000000; i++) sum += 3; spin(4000000); __asm__ volatile(""); }
ALONE void left(void) { shared(); __asm__ volatile(""); }
ALONE void right(void) { shared(); shared(); shared(); __asm__ volatile(""); }
int main(void) { one(); two(4); even(5); odd(2); left(); right(); one(); return 0; }
END
cat >"$dir/compare.py" <<'END'
import csv, io, re, subprocess, sys
tallytree, program, gmon = sys.argv[1:]
def run(*words): return subprocess.run(words, capture_output=True, text=True, check=True).stdout
flat = {}
for line in run("gprof", "-b", "-p", "-z", program, gmon).splitlines():
    w = line.split()
    if len(w) >= 4 and re.match(r"[\d.]+$", w[0]): flat[w[-1]] = (float(w[2]), int(w[3]) if len(w) == 7 or w[3].isdigit() and len(w) > 4 else 0)
# From the call graph: self and children of each function, and its cost for each caller.
own, arcs, callers, primary, total = {}, {}, [], None, 0
for line in run("gprof", "-b", "-q", program, gmon).splitlines():
    if line.startswith("---"): callers, primary = [], None
    m = re.match(r"(?:(\[\d+\])\s+([\d.]+))?\s+(?:([\d.]+)\s+([\d.]+)\s+)?(?:([\d+/]+)\s+)?(\S.*?) \[\d+\]$", line)
    if not m or "as a whole" in line: continue
    name = re.sub(r" <cycle.*", "", m[6])
    if m[1]:
        primary = name; own[name] = (float(m[3]), float(m[4]))
        for c, s, d, n in callers: arcs[c, name] = (s + d, n)
    elif primary is None and m[3] and m[5]: callers.append((name, float(m[3]), float(m[4]), int(m[5].split("/")[0])))
run(tallytree, "merge", "--executable", program, "-o", gmon + ".tt", gmon)
rows = list(csv.DictReader(io.StringIO(run(tallytree, "report", "graph", "--csv", "--limit", "all", gmon + ".tt"))))
ours = {r["name"]: r for r in rows if r["role"] == "entry"}
for name, (seconds, calls) in flat.items():
    if seconds or calls:
        r = ours[name]
        assert abs(int(r["self"]) / 1e9 - seconds) < .0051, (name, r, seconds)
        assert int(r["calls"] or 0) >= calls, (name, r, calls)  # gprof leaves recursive calls out
checked = 0
for name in ("main", "one", "two", "shared", "left", "right", "spin"):
    mine, children = own[name]
    assert abs(int(ours[name]["inclusive"]) / 1e9 - mine - children) < .0151, (name, ours[name], own[name])
group, callee_of = None, {}
for r in rows:
    if r["role"] == "entry": group = r["name"]
    if r["role"] == "callee": callee_of[group, r["name"]] = r
for pair in (("one", "spin"), ("right", "shared"), ("left", "shared"), ("shared", "spin"), ("main", "left"), ("main", "one")):
    cost, calls = arcs[pair]
    assert abs(int(callee_of[pair]["inclusive"]) / 1e9 - cost) < .0151, (pair, callee_of[pair], arcs[pair])
    assert int(callee_of[pair]["calls"]) == calls, (pair, callee_of[pair], arcs[pair])
total = sum(int(r["self"]) for r in ours.values())
assert total > 1e8 and abs(total / 1e9 - sum(s for s, _ in flat.values())) < .05, (total, flat)
END
for kind in pie no-pie; do
    gcc -pg -g -O1 -fno-optimize-sibling-calls -$kind "$dir/program.c" -o "$dir/$kind"
    (cd "$dir" && "./$kind" && mv gmon.out $kind.gmon)
    try "times and calls are gprof's: $kind" python3 "$dir/compare.py" "$tallytree" "$dir/$kind" "$dir/$kind.gmon"
done
cycle() { "$tallytree" report groups --csv "$dir/pie.gmon.tt" | grep -q 'odd' && "$tallytree" report header "$dir/pie.gmon.tt" | grep -q 'estimated from calls'; }
try "a cycle is one group, and paths are said to be estimated" cycle
beside() { cp "$dir/pie" "$dir/a.out" && "$tallytree" export --to folded "$dir/pie.gmon" | grep -q '^main;one;spin '; }
try "a.out beside the profile is its program" beside
names_of_cpp
(cd "$dir" && ./names && mv gmon.out names.gmon)
names() { "$tallytree" merge --executable "$dir/names" -o "$dir/names.tt" "$dir/names.gmon" && ours "$dir/names.tt" >"$dir/got" &&
    gprof -b -p -z "$dir/names" "$dir/names.gmon" | sed -En 's/^( *[0-9.]+){3} +([0-9]+)( +[0-9.]+){2} +(ns::.*)/\2 \4/p' | LC_ALL=C sort | diff - "$dir/got" && [ "$(wc -l <"$dir/got")" = 3 ]; }
try "names of C++ are gprof's" names
refuses() { "$tallytree" "${@:2}" "$dir/bad" >"$dir/got" 2>"$dir/said"; [ $? = 2 ] && cat "$dir/said" && grep -q "tallytree: $1" "$dir/said"; }
missing() { rm "$dir/a.out"; cp "$dir/pie.gmon" "$dir/bad"; refuses "$dir/bad: byte 0: .*--executable" report; }
try "without its program it says what is missing" missing
strip "$dir/pie" -o "$dir/stripped"
stripped() { refuses "$dir/bad: byte 0: its program: .*stripped" export --executable "$dir/stripped" --to folded; }
try "a stripped program is refused" stripped
cut() { head -c 100 "$dir/pie.gmon" >"$dir/bad"; refuses "$dir/bad: byte 99: the file ends within a record" export --executable "$dir/pie" --to folded; }
try "so is a file that was cut off" cut
tag() { { head -c 20 "$dir/pie.gmon"; printf '\7'; } >"$dir/bad"; refuses "$dir/bad: byte 21: no record has the tag 7" export --executable "$dir/pie" --to folded; }
try "so is a record that is none" tag

# Of Windows and BSD: the file has no tags, and MinGW's program is not ELF.
cat >"$dir/windows.py" <<'END'
import struct, sys
out, width, moved = sys.argv[1], int(sys.argv[2]), int(sys.argv[3], 16)
base, text = (0x400000 if width == 4 else 0x140000000), 0x1000
functions = [("main", 0x500, 2), ("a_long_name_of_a_function", 0x580, 2), ("hidden", 0x600, 3), ("g", 0x640, 2)]
symbols, strings = b"", b""
def symbol(name, value, section, kind, aux=b""):
    global symbols, strings
    name = name.encode()
    field = name.ljust(8, b"\0") if len(name) <= 8 else struct.pack("<II", 0, 4 + len(strings))
    if len(name) > 8: strings += name + b"\0"
    symbols += field + struct.pack("<IHHBB", value, section, 0x20, kind, len(aux) // 18) + aux
symbol(".text", 0, 1, 3, bytes(18))
for name, value, kind in functions: symbol(("_" if width == 4 else "") + name, value, 1, kind)
symbol(".L7", 0x590, 1, 3)
symbol(("_" if width == 4 else "") + "elsewhere", 0x10, 2, 2)
size = 0x800
optional = (struct.pack("<HBBIIIII", 0x10b, 2, 0, size, 0, 0, text + 0x500, text) + struct.pack("<II", 0x2000, base) if width == 4 else
            struct.pack("<HBBIIIII", 0x20b, 2, 0, size, 0, 0, text + 0x500, text) + struct.pack("<Q", base))
optional += struct.pack("<IIHHHHHHIIIIHH", 0x1000, 0x200, 4, 0, 0, 0, 4, 0, 0, 0x3000, 0x400, 0, 3, 0) + bytes(4 * width) + struct.pack("<II", 0, 16) + bytes(128)
headers = [b".text\0\0\0" + struct.pack("<IIIIIIHHI", size, text, size, 0x400, 0, 0, 0, 0, 0x60000020), b".data\0\0\0" + struct.pack("<IIIIIIHHI", 0x200, 0x2000, 0x200, 0x400 + size, 0, 0, 0, 0, 0xc0000040)]
start = 0x400 + size + 0x200
pe = b"PE\0\0" + struct.pack("<HHIIIHH", 0x14c if width == 4 else 0x8664, 2, 0, start, len(symbols) // 18, len(optional), 0x103) + optional + b"".join(headers)
file = (b"MZ".ljust(60, b"\0") + struct.pack("<I", 64) + pe).ljust(0x400, b"\0") + bytes(size + 0x200) + symbols + struct.pack("<I", 4 + len(strings)) + strings
open(out + "/app.exe", "wb").write(file)
at = lambda x: base + text + x + moved
low, high = at(0x500), at(0x700)
bins = [0] * ((high - low) // 4)
for x, n in (0x500, 7), (0x5fc, 2), (0x600, 11), (0x63e, 4), (0x641, 5): bins[(at(x) - low) // 4] += n
word = "<I" if width == 4 else "<Q"
data = struct.pack(word, low) + struct.pack(word, high)
data += struct.pack("<IIIIII", len(data) + 24 + 2 * len(bins), 0x51879, 100, 0xdead, 0xbeef, 7) + struct.pack("<%dH" % len(bins), *bins)
for caller, called, n in (0x510, 0x580, 3), (0x590, 0x600, 30), (0x510, 0x640, 4), (0x650, 0x640, 9):
    data += struct.pack(word, at(caller)) + struct.pack(word, at(called)) + (struct.pack("<I", n) if width == 4 else struct.pack("<II", n, 0))
open(out + "/gmon.windows", "wb").write(data)
END
of_windows() { "$tallytree" report flat --csv --limit all --metric "$1" "$dir/w.tt" | python3 -c 'import csv, sys
for r in csv.DictReader(sys.stdin):
    if r["role"] == "entry": print(r["name"], round(float(r["self"]) / int(sys.argv[1])))' "$2" | LC_ALL=C sort; }
ours_of_windows() { "$tallytree" merge --executable "$dir/app.exe" -o "$dir/w.tt" "$dir/gmon.windows" && of_windows time 10000000 && of_windows calls 1; }
windows()
{
    python3 "$dir/windows.py" "$dir" "$1" 0 && gprof -b -p "$dir/app.exe" "$dir/gmon.windows" >"$dir/flat" &&
        awk 'NR > 5 && NF > 1 { print $NF, $3 * 100 }' "$dir/flat" | LC_ALL=C sort >"$dir/want" && [ "$(wc -l <"$dir/want")" = 4 ] &&
        printf '%s\n' "a_long_name_of_a_function 3" "g 13" "hidden 30" "main 0" >>"$dir/want" && ours_of_windows | diff "$dir/want" -
}
try "a program of Windows, of 32 bits, has the times of gprof and the calls that were meant" windows 4
try "and so has one of 64 bits" windows 8
moved() { ours_of_windows >"$dir/unmoved" && python3 "$dir/windows.py" "$dir" 8 7ff600000000 && ours_of_windows | diff "$dir/unmoved" -; }
try "one that Windows has moved has the same ones" moved
python3 "$dir/windows.py" "$dir" 4 0
short() { head -c 40 "$dir/gmon.windows" >"$dir/bad" && ! "$tallytree" merge --executable "$dir/app.exe" -o "$dir/w.tt" "$dir/bad" 2>"$dir/said" && grep -q 'the file ends within a record' "$dir/said"; }
try "a file that is cut off is refused" short
narrow() { python3 "$dir/windows.py" "$dir" 8 0 && cp "$dir/gmon.windows" "$dir/wide" && python3 "$dir/windows.py" "$dir" 4 0 && ! "$tallytree" merge --executable "$dir/app.exe" -o "$dir/w.tt" "$dir/wide" 2>"$dir/said" && grep -q 'are not as wide as its program' "$dir/said"; }
try "so is one of a program with other addresses" narrow
bad_program() { head -c 600 "$dir/app.exe" >"$dir/short.exe" && ! "$tallytree" merge --executable "$dir/short.exe" -o "$dir/w.tt" "$dir/gmon.windows" 2>"$dir/said" && grep -q "its program: .*symbols are not within it" "$dir/said"; }
try "and one whose program is damaged" bad_program
finish
