#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""listing.t - instructions and lines with their figures, against objdump, perf, and arithmetic."""
import csv
import glob
import math
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
tallytree = os.path.join(os.environ["TT_BUILD"], "tallytree")
tmp = tempfile.mkdtemp()
count = 0

HOT = r"""
#include <stdio.h>
#include <stdlib.h>
static inline __attribute__((always_inline)) unsigned mix(unsigned x)
{
    x ^= x << 13;
    x ^= x >> 17;
    return x ^ x << 5;
}
__attribute__((noinline)) unsigned work(unsigned n, int *v)
{
    unsigned s = 1;
    for (unsigned i = 0; i < n; i++) {
        s = mix(s + i);
        if (s % 5 == 0)
            v[s & 1023] += (int)(s / 7);
    }
    return s;
}
__attribute__((noinline)) double twice(unsigned n)
{
    double d = 1e300;
    for (unsigned i = 0; i < n; i++)
        d = d / 1.0000001;
    return d;
}
__attribute__((noinline)) void keep(void *p)
{
    static void *last;
    free(last);
    last = p;
}
int main(void)
{
    static int v[1024];
    double d = 0;
    unsigned s = 0;
    for (int i = 0; i < 60; i++) {
        s += work(1500000, v);
        d += twice(300000); d += twice(300000);
    }
    for (int i = 0; i < 10; i++)
        keep(malloc(1000));
    printf("%u %g\n", s, d);
    return 0;
}
"""

# Chains of multiplications that wait for each other: each takes as long as any other.
CHAINS = """
    .text
    .globl chains, one, two, three, after
    .type chains, @function
chains:
    mov %edi, %ecx
    mov $3, %eax
one:
    .rept 40
    imul $3, %eax, %eax
    .endr
two:
    .rept 120
    imul $3, %eax, %eax
    .endr
three:
    .rept 240
    imul $3, %eax, %eax
    .endr
    dec %ecx
    jnz one
after:
    ret
    .size chains, .-chains
    .section .note.GNU-stack,"",@progbits
"""

# A run-time compiler: it writes its code and the lines of it to a jitdump, and runs it.
JIT = r"""
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static const unsigned char code[] = {
    0x89, 0xf9, 0xb8, 3, 0, 0, 0,           /* mov ecx, edi; mov eax, 3 */
    0x69, 0xc0, 0x6d, 0x4e, 0xc6, 0x41,     /* imul eax, eax, 0x41c64e6d */
    0x69, 0xc0, 0x6d, 0x4e, 0xc6, 0x41, 0x69, 0xc0, 0x6d, 0x4e, 0xc6, 0x41,
    0xff, 0xc9, 0x75, 0xea, 0xc3};          /* dec ecx; jne; ret */
static const struct { uint32_t offset, line; } lines[] = {{0, 2}, {7, 4}, {25, 3}, {29, 6}};
enum { LINES = sizeof lines / sizeof *lines };
static FILE *f;
static void put(const void *bytes, size_t size) { fwrite(bytes, 1, size, f); }
static void put4(uint32_t n) { put(&n, 4); }
static void put8(uint64_t n) { put(&n, 8); }
int main(int argc, char **argv)
{
    char name[64];
    unsigned char *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned (*spin)(unsigned) = (unsigned (*)(unsigned))(uintptr_t)at, sum = 0;
    const char *source = argv[1];
    (void)argc;
    memcpy(at, code, sizeof code);
    snprintf(name, sizeof name, "jit-%d.dump", getpid());
    f = fopen(name, "w+");
    put4(0x4a695444); put4(1); put4(40); put4(62); put4(0); put4((uint32_t)getpid()); put8(0); put8(0);
    put4(2); put4((uint32_t)(32 + LINES * 16 + strlen(source) + 1 + (LINES - 1) * 2)); put8(0);
    put8((uintptr_t)at); put8(LINES);
    for (int i = 0; i < LINES; i++) {
        put8((uintptr_t)at + lines[i].offset); put4(lines[i].line); put4(0);
        put(i ? "\377" : source, i ? 2 : strlen(source) + 1);
    }
    put4(0); put4(56 + 5 + sizeof code); put8(0); put4((uint32_t)getpid()); put4((uint32_t)getpid());
    put8((uintptr_t)at); put8((uintptr_t)at); put8(sizeof code); put8(1); put("spin", 5);
    put(code, sizeof code);
    fflush(f);
    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(f), 0);
    while (clock() < CLOCKS_PER_SEC / 2)
        sum += spin(100000);
    printf("%s %llx %u\n", name, (unsigned long long)(uintptr_t)at, sum);
    return 0;
}
"""
# Two lines of multiplications that wait for each other: a fifth, and the rest.
TWO_LINES = r"""
__attribute__((noinline)) void spin(void)
{
    unsigned x = 3;
    for (;;) {
        __asm__ volatile(".rept 2000\n imul $3, %0, %0\n.endr" : "+r"(x));
        __asm__ volatile(".rept 2000\n imul $3, %0, %0\n.endr" : "+r"(x));
    }
}
int main(void) { spin(); }
"""

FAR = r"""__attribute__((noinline)) unsigned far(unsigned n)
{
    unsigned s = n;
#line 2147483640 "far.c"
    for (unsigned i = 0; i < n; i++) s = s * 5 + (s >> 9);
    return s;
}
int main(void) { return far(300000000u) == 3; }
"""

# Counts the units that libdw is asked to go through, and the files of split DWARF it opens.
COUNT = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static Dwarf_CU *seen[1024];
static unsigned units, files;
int dwarf_siblingof(Dwarf_Die *die, Dwarf_Die *next)
{
    int (*real)(Dwarf_Die *, Dwarf_Die *);
    unsigned i = 0;
    *(void **)&real = dlsym(RTLD_NEXT, "dwarf_siblingof");
    while (i < units && seen[i] != die->cu)
        i++;
    if (i == units && units < 1024)
        seen[units++] = die->cu;
    return real(die, next);
}
static int counted(const char *name, const char *path, int flags, unsigned mode)
{
    int (*real)(const char *, int, ...), fd;
    *(void **)&real = dlsym(RTLD_NEXT, name);
    fd = real(path, flags, mode);
    files += fd >= 0 && strstr(path, ".dwo") != NULL;
    return fd;
}
int open(const char *path, int flags, ...) { return counted("open", path, flags, 0600); }
int open64(const char *path, int flags, ...) { return counted("open64", path, flags, 0600); }
__attribute__((destructor)) static void say(void)
{
    FILE *f = fopen(getenv("COUNTED"), "w");
    fprintf(f, "%u %u", units, files);
    fclose(f);
}
"""
UNIT = r"""
static inline __attribute__((always_inline)) unsigned mix(unsigned x) { return x ^ x << 5 ^ x >> 7; }
unsigned hot(unsigned n)
{
    unsigned s = n;
    while (n--)
        s = mix(s + n);
    return s;
}
"""
PER_OBJECT, OBJECTS = 20, 15
SPIN = "spin(n)\n    s = 3\n    while n--\n        s = mix(s)\n    end\n    return s\n"


def run(*args, ok=True, **more):
    r = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, **more)
    if ok and r.returncode:
        raise AssertionError("%s: %s" % (args, r.stderr))
    return r


def path(name):
    return os.path.join(tmp, name)


def build(name, *files, flags=("-O2", "-g")):
    run("gcc", *flags, "-o", path(name), *[path(f) for f in files])


def write(name, text):
    with open(path(name), "w") as f:
        f.write(text)


def record(name, *args):
    run(tallytree, "record", "--force", "-o", path(name), *args)


def report(view, name, *args):
    out = run(tallytree, "report", view, "--csv", *args, path(name)).stdout
    return list(csv.DictReader(out.splitlines()))


def entries(rows):
    return [r for r in rows if r["role"] == "entry"]


def number(text):
    return int(text) if text else 0


def self_of(name, function, *args):
    return sum(number(r["self"]) for r in entries(report("flat", name, "--limit", "all", *args)) if r["name"] == function)


def test(what, function):
    global count
    count += 1
    try:
        why = function()
        print("ok %d - %s%s" % (count, what, " # SKIP " + why if why else ""))
    except (AssertionError, KeyError, ValueError, IndexError, OSError, TypeError, StopIteration) as e:
        print("not ok %d - %s" % (count, what))
        print("# %s: %s" % (type(e).__name__, e), file=sys.stderr)
    sys.stdout.flush()


def instructions_are_objdumps():
    rows = entries(report("assembly", "hot.tt", "--block", "work", "--limit", "all"))
    out = run("objdump", "-d", "--no-show-raw-insn", "-M", "intel", path("hot")).stdout
    body = out.split("<work>:\n")[1].split("\n\n")[0]
    want = [(int(a, 16), m.split()[0]) for a, m in re.findall(r"^\s*([0-9a-f]+):\t(\S.*)$", body, re.M)]
    got = [(int(r["address"], 16), r["name"].split()[0]) for r in rows]
    known = dict(want)
    assert [a for a, _ in got] == [a for a, _ in want][:len(got)] and len(got) >= len(want) - 2, (got, want)
    known = {a: "nop" if m == "xchg" else m for a, m in known.items()}  # "xchg ax,ax"
    assert all(m == known[a] for a, m in got), [(hex(a), m, known[a]) for a, m in got if m != known[a]]
    labels = {r["label"].rstrip(":"): r["address"] for r in rows if r["label"]}
    for r in rows:
        jump = re.search(r"\bL\d+\b", r["name"])
        if jump:
            line = next(m for a, m in re.findall(r"^\s*([0-9a-f]+):\t(\S.*)$", body, re.M) if int(a, 16) == int(r["address"], 16))
            assert labels[jump.group()] in line, (r["name"], labels, line)
    assert labels


def calls_have_names():
    rows = entries(report("assembly", "hot.tt", "--block", "main", "--limit", "all"))
    calls = {r["name"].split()[1] for r in rows if r["name"].startswith("call")}
    assert {"work", "twice"} <= calls and any(c.startswith("printf@plt") or "printf" in c for c in calls), calls


def instructions_add_up():
    for function in "work", "twice", "mix":
        for metric in "time", "samples":
            rows = report("assembly", "hot.tt", "--block", function, "--limit", "all", "-m", metric)
            got = sum(number(r["self"]) for r in entries(rows) if r["function"] == function)
            got += sum(number(r["self"]) for r in rows if r["name"] == "[no address known]")
            assert got == self_of("hot.tt", function, "-m", metric), (function, metric, got)


def filters_change_what_is_there():
    for words in ["--fold", "twice"], ["--prune", "twice"], ["--centre", "work"], ["--fold", "main"]:
        for function in "main", "work", "twice":
            want = self_of("hot.tt", function, *words) + (self_of("hot.tt", "mix", *words) if function == "work" else 0)
            for view in ("assembly", "source") if function != "work" else ("assembly",):
                got = [number(r["self"]) for r in report(view, "hot.tt", "--block", function, *words) if r["role"] == "total"]
                assert got == [want], (words, function, view, got, want)


def lines_add_up():
    for function in "work", "twice", "mix":
        rows = report("source", "hot.tt", "--block", function)
        got = sum(number(r["self"]) for r in entries(rows))
        assert got == self_of("hot.tt", function), (function, got)
        file = path("hot.c")
        text = open(file).read().splitlines()
        for r in entries(rows):
            assert r["file"] == file and text[int(r["line"]) - 1].rstrip() == r["name"], r


def inclusive_of_a_line():
    total = sum(number(r["self"]) for r in entries(report("flat", "hot.tt", "--select", "twice", "--limit", "all")))
    line = HOT.splitlines().index("        d += twice(300000); d += twice(300000);") + 1
    rows = [r for r in entries(report("source", "hot.tt", "--block", "main")) if int(r["line"]) == line]
    assert len(rows) == 1 and number(rows[0]["inclusive"]) == total + number(rows[0]["self"]), (rows, total)


def inlined_below_its_line():
    line = HOT.splitlines().index("        s = mix(s + i);") + 1
    rows = report("source", "hot.tt", "--block", "work")
    callee = [r for r in rows if r["role"] == "callee" and int(r["line"]) == line]
    assert len(callee) == 1 and callee[0]["function"] == "mix", callee
    assert number(callee[0]["inclusive"]) == self_of("hot.tt", "mix")


def allocated_bytes_are_at_the_call():
    record("heap.tt", "--heap", "--", path("hot"))
    rows = entries(report("assembly", "heap.tt", "--block", "main", "-m", "allocated", "--limit", "all"))
    got = [(r["name"], number(r["self"])) for r in rows if number(r["self"])]
    assert len(got) == 1 and "malloc" in got[0][0] and got[0][1] == 10 * 1000, got


def shares_of_chains():
    record("chains.tt", "--sampled=1000", "--", path("chains"))
    at = {}
    for line in run("nm", path("chains")).stdout.splitlines():
        if len(line.split()) == 3:
            at[line.split()[2]] = int(line.split()[0], 16)
    rows = entries(report("assembly", "chains.tt", "--block", "chains", "--limit", "all"))
    total = sum(number(r["self"]) for r in rows)
    samples = sum(number(r["self"]) for r in entries(report("flat", "chains.tt", "-m", "samples")) if r["name"] == "chains")
    assert samples > 50, samples
    for begin, end, share in ("one", "two", 0.1), ("two", "three", 0.3), ("three", "after", 0.6):
        got = sum(number(r["self"]) for r in rows if at[begin] <= int(r["address"], 16) < at[end]) / total
        # Four deviations, and a skid over the window of an out-of-order processor at each end.
        room = 4 * math.sqrt(share * (1 - share) / samples) + 0.12
        assert abs(got - share) < room, (begin, got, share, room, samples)


def perf_lines():
    perf = path("perf.data")
    r = run("perf", "record", "-q", "-e", "cpu-clock:u", "-F", "997", "-o", perf, path("hot"), ok=False)
    if r.returncode:
        return "perf cannot record here"
    out = run("perf", "script", "-i", perf, "-F", "ip,sym", "--no-inline", ok=False).stdout
    theirs = {}
    base = int(next(l for l in run("nm", path("hot")).stdout.splitlines() if l.endswith(" T work")).split()[0], 16)
    for line in out.splitlines():
        part = line.split()
        if len(part) == 2 and part[1] == "work":
            theirs[int(part[0], 16) & 0xfff] = theirs.get(int(part[0], 16) & 0xfff, 0) + 1
    n = sum(theirs.values())
    record("both.tt", "--sampled=1000", "--", path("hot"))
    rows = entries(report("assembly", "both.tt", "--block", "work", "--limit", "all", "-m", "samples"))
    ours = {int(r["address"], 16) & 0xfff: number(r["self"]) for r in rows if number(r["self"])}
    m = sum(ours.values())
    assert base & 0xfff in range(0x1000) and n > 30 and m > 30, (n, m)
    for address in sorted(set(ours) | set(theirs)):
        p, q = ours.get(address, 0) / m, theirs.get(address, 0) / n
        both = (ours.get(address, 0) + theirs.get(address, 0)) / (m + n)
        room = 4 * math.sqrt(both * (1 - both) * (1 / m + 1 / n)) + 0.02
        assert abs(p - q) < room, (hex(address), p, q, room, ours, theirs)


def pprof(name, *args):
    env = dict(os.environ, HOME=tmp, PPROF_TMPDIR=tmp, TZ="UTC")
    return run("go", "tool", "pprof", "-unit=ns", *args, path(name), env=env).stdout


def ns(text):
    return 0 if text == "." else int(text.removesuffix("ns"))


def pprof_lists_lines():
    run(tallytree, "export", "--to", "pprof", "--force", "-o", path("hot.pb"), path("hot.tt"))
    for function in "work", "main", "twice":
        got = {}
        for line in pprof("hot.pb", "-list=^%s$" % function).splitlines():
            m = re.match(r"\s*(\.|\d+ns)\s+(\.|\d+ns)\s+(\d+):", line)
            if m and m.group(1, 2) != (".", "."):
                got[int(m.group(3))] = ns(m.group(1)), ns(m.group(2))
        rows = entries(report("source", "hot.tt", "--block", function))
        want = {int(r["line"]): (number(r["self"]), number(r["inclusive"])) for r in rows if number(r["inclusive"])}
        assert got == want and want, (function, got, want)


def pprof_disassembles():
    got = {}
    for line in pprof("hot.pb", "-disasm=work").splitlines():
        m = re.match(r"\s*(\d+ns)\s+\S+\s+([0-9a-f]+):", line)
        if m:
            got[int(m.group(2), 16)] = ns(m.group(1))
    rows = entries(report("assembly", "hot.tt", "--block", "work"))
    want = {int(r["address"], 16): number(r["self"]) for r in rows if number(r["self"])}
    assert got == want and want, (got, want)


def program_is_the_first_mapping():
    first = pprof("hot.pb", "-raw").split("Mappings\n")[1].splitlines()[0]
    assert path("hot") in first, first


def missing_code():
    os.rename(path("hot"), path("away"))
    try:
        r = run(tallytree, "report", "assembly", "--block", "work", path("hot.tt"))
        assert path("hot") in r.stdout and "there is no such file" in r.stdout and "--symbols DIR" in r.stdout, r.stdout
        got = sum(number(x["self"]) for x in entries(report("assembly", "hot.tt", "--block", "work")) if x["function"] == "work")
        assert got == self_of("hot.tt", "work")
        os.mkdir(path("folder"))
        shutil.copy(path("away"), path("folder/hot"))
        rows = entries(report("assembly", "hot.tt", "--block", "work", "--symbols", path("folder")))
        assert any(x["name"].startswith("imul") for x in rows), rows
        shutil.copy(sys.executable, path("hot"))
        r = run(tallytree, "report", "assembly", "--block", "work", path("hot.tt"))
        assert "another one now" in r.stdout, r.stdout
    finally:
        os.rename(path("away"), path("hot"))


def lines_beyond_the_end():
    write("far.c", FAR)
    run("gcc", "-O2", "-g", "-o", "far", "far.c", cwd=tmp)
    record("far.tt", "--", path("far"))

    def limit():
        resource.setrlimit(resource.RLIMIT_CPU, (20, 20))

    r = run(tallytree, "report", "source", "--block", "far", "--limit", "all", "--csv", path("far.tt"), preexec_fn=limit)
    rows = entries(list(csv.DictReader(r.stdout.splitlines())))
    assert [r["name"] for r in rows[:-1]] == FAR.splitlines() + [""], rows
    assert rows[-1]["line"] == "2147483640" and number(rows[-1]["self"]) == self_of("far.tt", "far"), rows[-1]
    r = run(tallytree, "report", "source", "--block", "far", path("far.tt"))
    assert "has fewer lines than the one that was compiled" in r.stdout and "--source DIR" in r.stdout, r.stdout


def not_a_file():
    for make in os.mkfifo, os.mkdir:
        os.rename(path("far.c"), path("far-away.c"))
        make(path("far.c"))
        try:
            r = run(tallytree, "report", "source", "--block", "far", path("far.tt"), timeout=300)
            assert "far.c: not an ordinary file" in r.stdout and "--source DIR" in r.stdout, r.stdout
        finally:
            os.rename(path("far.c"), path("not-far-%s" % make.__name__))
            os.rename(path("far-away.c"), path("far.c"))


def viewed(name, query):
    """What `view` answers."""
    server = subprocess.Popen([tallytree, "view", "--port", "0", path(name)], stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().split()[-1]
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(address + "query?" + query) as answer:
            return answer.read().decode()
    finally:
        server.terminate()
        server.wait()


def compiled_again():
    build("again", "far.c", flags=("-O2", "-g", "-Wl,--build-id=none"))
    record("again.tt", "--", path("again"))
    right = report("assembly", "again.tt", "--block", "far")
    assert any("lea " in r["name"] or "imul" in r["name"] for r in right), right
    os.mkdir(path("ran"))
    os.rename(path("again"), path("ran/again"))
    build("again", "far.c", flags=("-O0", "-g", "-Wl,--build-id=none"))
    r = run(tallytree, "report", "assembly", "--block", "far", path("again.tt"))
    assert "was written after the recording" in r.stdout and "--symbols DIR" in r.stdout, r.stdout
    assert report("assembly", "again.tt", "--block", "far", "--symbols", path("ran")) == right
    r = run(tallytree, "top", "-n", "1", "--view", "assembly", "--block", "far", path("again.tt"))
    assert "was written after the recording" in r.stdout, r.stdout
    r = run(tallytree, "top", "-n", "1", "--view", "assembly", "--block", "far", "--symbols", path("ran"), path("again.tt"))
    assert right[0]["name"] in r.stdout and "written after" not in r.stdout, r.stdout
    answer = viewed("again.tt", "view=assembly&block=far")
    assert "was written after the recording" in answer, answer


def missing_source():
    os.rename(path("hot.c"), path("away.c"))
    try:
        r = run(tallytree, "report", "source", "--block", "work", path("hot.tt"))
        assert path("hot.c") in r.stdout and "--source DIR" in r.stdout, r.stdout
        os.mkdir(path("sources"))
        shutil.copy(path("away.c"), path("sources/hot.c"))
        rows = entries(report("source", "hot.tt", "--block", "work", "--source", path("sources")))
        assert any(x["name"].strip() == "s = mix(s + i);" for x in rows), rows
        r = run(tallytree, "top", "-n", "1", "--view", "source", "--block", "work", "--source", path("sources"), path("hot.tt"))
        assert "s = mix(s + i);" in r.stdout, r.stdout
    finally:
        os.rename(path("away.c"), path("hot.c"))


def jitdump_has_code_and_lines():
    write("jit.c", JIT)
    write("spin.src", SPIN)
    build("jit", "jit.c")
    os.mkdir(path("where"))
    out = run(os.path.abspath(tallytree), "record", "--force", "-o", path("jit.tt"), "--", path("jit"), path("spin.src"), cwd=path("where"))
    dump, base = out.stdout.split()[:2]
    base = int(base, 16)
    self = self_of("jit.tt", "spin")
    rows = entries(report("assembly", "jit.tt", "--block", "spin", "--limit", "all"))
    got = [(int(r["address"], 16) - base, r["name"].split()[0], int(r["line"]), r["bytes"]) for r in rows]
    text = [(0, "mov", 2), (2, "mov", 2), (7, "imul", 4), (13, "imul", 4), (19, "imul", 4), (25, "dec", 3), (27, "jne", 3), (29, "ret", 6)]
    assert [g[:3] for g in got] == text, got
    with open(os.path.join(path("where"), dump), "rb") as f:
        assert bytes.fromhex("".join(g[3] for g in got)) in f.read(), got
    assert sum(number(r["self"]) for r in rows) == self and self > 0, (rows, self)
    lines = {int(r["line"]): (r["name"], number(r["self"])) for r in entries(report("source", "jit.tt", "--block", "spin")) if r["self"]}
    assert sum(n for _, n in lines.values()) == self, (lines, self)
    assert all(SPIN.splitlines()[l - 1] == name for l, (name, _) in lines.items()), lines
    of = {l: sum(number(r["self"]) for r in rows if int(r["line"]) == l) for l in lines}
    # By skid, the multiplications may have less than their share.
    assert of == {l: n for l, (_, n) in lines.items()} and lines[4][1] > self / 8, (of, lines)
    os.rename(path("where"), path("moved"))
    r = run(tallytree, "report", "assembly", "--block", "spin", path("jit.tt"))
    assert dump in r.stdout and "there is no such file" in r.stdout and "--symbols DIR" in r.stdout, r.stdout
    rows = entries(report("assembly", "jit.tt", "--block", "spin", "--symbols", path("moved")))
    assert any(r["name"].startswith("imul") for r in rows), rows


def counted(program, view):
    """Units gone through, files opened, for the first look at a function."""
    env = dict(os.environ, LD_PRELOAD=path("count.so"), COUNTED=path("counted"))
    out = run(tallytree, "report", view, "--block", "hot", "--csv", path(program + ".tt"), env=env).stdout
    assert re.search(r"\bmix\b", out), out  # what is inlined there is known
    with open(path("counted")) as f:
        return [int(n) for n in f.read().split()]


def one_unit_of_many():
    write("count.c", COUNT)
    write("unit.c", UNIT)
    write("calls.c", "unsigned o7_hot9(unsigned);\nint main(void) { return o7_hot9(300000000) == 7; }\n")
    run("gcc", "-shared", "-fPIC", "-o", path("count.so"), path("count.c"))
    for program, flags, want in ("many", (), [1, 0]), ("split", ("-gsplit-dwarf",), [1, 1]):
        units, objects = ["unit-%d.o" % i for i in range(PER_OBJECT)], ["object-%d.o" % i for i in range(OBJECTS)]
        run("gcc", "-O2", "-g", *flags, "-c", "unit.c", cwd=tmp)
        for i, unit in enumerate(units):
            run("objcopy", "--redefine-sym", "hot=hot%d" % i, "unit.o", unit, cwd=tmp)
        run("ld", "-r", "-o", "units.o", *units, cwd=tmp)
        for i, made in enumerate(objects):
            run("objcopy", "--prefix-symbols=o%d_" % i, "units.o", made, cwd=tmp)
        build(program, "calls.c", *objects)
        info = run("readelf", "--debug-dump=info", "--dwarf-depth=1", path(program)).stdout
        assert info.count("Compilation Unit @") >= PER_OBJECT * OBJECTS, info
        record(program + ".tt", "--", path(program))
        got = counted(program, "assembly"), counted(program, "source")
        assert got == (want, [0, 0]), (program, got, want)


def has_shares(rows, where):
    """Of lines 6 and 7 of a table of spin's lines or instructions."""
    part = [sum(number(r["self"]) for r in rows if r["line"] == line) for line in ("6", "7")]
    # Of 200 samples, with a skid over the window of an out-of-order processor at each end.
    assert sum(part) and abs(part[0] / sum(part) - 0.5) < 4 * math.sqrt(0.25 / 200) + 0.1, (where, part)


def look(view):
    """top's table of a recording that is being written; None: there are few samples yet."""
    live = glob.glob(path(".live.tt.*.live"))
    if not live:
        return None
    r = run(tallytree, "top", "-n", "1", "--csv", "--view", view, "--block", "spin", "--limit", "all", "-m", "samples", *live, ok=False)
    rows = [] if r.returncode else entries(list(csv.DictReader(r.stdout.splitlines())))
    return rows if sum(number(x["self"]) for x in rows) >= 200 else None


def look_until(view, recorder):
    """The same, when there are enough; None: the recorder has ended."""
    end = time.monotonic() + 600
    while recorder.poll() is None:
        rows = look(view)
        if rows:
            return rows
        assert time.monotonic() < end, "top shows no %s of a program that runs" % view
        time.sleep(0.1)
    return None


def live_lines():
    write("two.c", TWO_LINES)
    build("two", "two.c")
    with subprocess.Popen([path("two")]) as program:
        recorder = subprocess.Popen([os.path.abspath(tallytree), "record", "-o", "live.tt", "--sampled=1000", "-p", str(program.pid)], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=tmp)
        try:
            rows = look_until("source", recorder)
            if not rows:
                why = recorder.stderr.read().decode()
                assert "perf_event_paranoid" in why, why
                return "nothing can be recorded from outside here"
            text = TWO_LINES.splitlines()
            assert all(r["name"] == text[int(r["line"]) - 1].rstrip() for r in rows if r["line"] in ("6", "7")), rows
            has_shares(rows, "top's lines")
            rows = look_until("assembly", recorder)
            has_shares(rows, "top's instructions")
            assert without or sum(r["name"].startswith("imul") for r in rows) >= 4000, rows[:10]
            recorder.send_signal(signal.SIGINT)
            assert recorder.wait() == 0, recorder.stderr.read()
        finally:
            recorder.kill()
            recorder.wait()
            program.kill()
    has_shares(entries(report("source", "live.tt", "--block", "spin")), "lines")
    has_shares(entries(report("assembly", "live.tt", "--block", "spin")), "instructions")


def no_addresses():
    r = run(tallytree, "report", "assembly", "test/golden/profile-1.tt", ok=False)
    assert r.returncode == 2 and "has no addresses" in r.stderr, r


write("hot.c", HOT)
write("chains.s", CHAINS)
write("chains.c", "int chains(int);\nint main(void) { return chains(900000) == 1; }\n")
build("hot", "hot.c")
x86 = os.uname().machine == "x86_64"
record("hot.tt", "--", path("hot"))
without = "built without capstone" in run(tallytree, "report", "assembly", path("hot.tt")).stdout
if not without and x86:
    test("instructions are objdump's, and labels are where jumps lead", instructions_are_objdumps)
    test("calls have the names of what is called", calls_have_names)
    test("bytes are at the call that allocates them", allocated_bytes_are_at_the_call)
    build("chains", "chains.c", "chains.s")
    test("chains of instructions that wait for each other have their shares", shares_of_chains)
test("instructions add up to the self of their function", instructions_add_up)
test("under filters too, which charge it to other functions", filters_change_what_is_there)
test("lines add up to it too, and have the text of the file", lines_add_up)
test("inclusive of a line with two calls is that of what it calls", inclusive_of_a_line)
test("what is inlined stands below its line", inlined_below_its_line)
test("shares of instructions agree with perf's", perf_lines)
if shutil.which("go"):
    test("pprof lists lines with our figures", pprof_lists_lines)
    test("pprof disassembles with our figures", pprof_disassembles)
    test("the mapping that pprof names first is the program", program_is_the_first_mapping)
if not without and x86:
    test("where the code is missing it is said which file is wanted", missing_code)
if not without and x86:
    test("generated code has instructions and lines, from its jitdump", jitdump_has_code_and_lines)
if not without and not re.search("libasan|libtsan", run("ldd", tallytree).stdout):
    test("of many units of debug information, the first look at a function reads its own", one_unit_of_many)
if x86:
    test("lines and instructions of a running program have their shares, in top and after record -p", live_lines)
test("figures at lines beyond the end of the file are shown without text", lines_beyond_the_end)
test("a FIFO or a folder in place of the source is not read", not_a_file)
if not without and x86:
    test("code of a program that was compiled again is not shown as what ran, also without a build-id", compiled_again)
test("where the source is missing it is said which file is wanted", missing_source)
test("a profile without addresses says so", no_addresses)
print("1..%d" % count)
shutil.rmtree(tmp)
