#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names for addresses: what elfutils' own addr2line says of programs that we know."""
import collections
import csv
import io
import os
import re
import shutil
import subprocess
import tempfile

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
BUILD = os.path.abspath(os.environ.get("TT_BUILD", "build"))
ADDRESSES = os.path.join(BUILD, "test", "addresses")
TALLYTREE = os.path.join(BUILD, "tallytree")
TMP = tempfile.mkdtemp()
count = 0


def check(what, test):
    """Holds when test() returns nothing; what it returns is wrong."""
    global count
    count += 1
    try:
        wrong = test()
    except (subprocess.CalledProcessError, OSError, ValueError, AssertionError) as e:
        wrong = repr(e) + str(getattr(e, "stderr", "") or "")
    print(f"{'not ok' if wrong else 'ok'} {count} - {what}", flush=True)
    if wrong:
        os.write(2, "".join(f"# {line}\n" for line in str(wrong).splitlines()).encode())


def run(*command, text=None, **options):
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True,
                          cwd=TMP, **options).stdout


SOURCE = r"""
#include <algorithm>
#include <cstdio>
#include <vector>
namespace lib {
template <class T> static inline T twice(T x) { return x * 3 + (x >> 1); }
namespace {
struct Box {
    int v;
    bool operator<(const Box &o) const { return twice(v) < twice(o.v); }
};
}
template <class C> inline int deep(C &c)
{
    int s = 0;
    std::sort(c.begin(), c.end());
    for (auto &x : c)
        s += twice(x.v);
    return s;
}
}
static int helper(std::vector<lib::Box> &v) { return lib::deep(v); }
extern "C" __attribute__((noinline)) int work(int n)
{
    std::vector<lib::Box> v;
    for (int i = 0; i < n; i++)
        v.push_back({(i * 7919) % 1000});
    return helper(v);
}
int main(int c, char **)
{
    auto f = [](int x) { return lib::twice(x); };
    std::printf("%d\n", work(1000 * c));
    return f(c) & 1;
}
"""

C_SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
static inline int innermost(int x) { return x * x % 7 + rand(); }
static inline int middle(int x) { return innermost(x) + innermost(x + 1); }
static inline int outer(int x)
{
    return middle(x) ^
           middle(x + 2);
}
__attribute__((noinline)) int work(int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += outer(i);
    return s;
}
int main(int argc, char **argv)
{
    (void)argv;
    printf("%d\n", work(argc * 1000));
    return 0;
}
"""


def build(name, compiler, *flags):
    source = "a.cc" if compiler.endswith("++") else "a.c"
    run(compiler, *flags, source, "-o", name)
    return os.path.join(TMP, name)


def code(program):
    """The addresses of its instructions, without those that only fill up."""
    lines = run("objdump", "-d", "--no-show-raw-insn", "-j", ".text", program)
    return [m[1] for m in re.finditer(r"^ +([0-9a-f]+):\t(?!.*\bnop)", lines, re.M)]


def ours(program, addresses, *more, **options):
    """{address: [(function, file, line), ...]}, the innermost first"""
    lines = run(ADDRESSES, program, *more, text="\n".join(addresses) + "\n",
                **options).splitlines()
    return parse(lines)


def theirs(tool, program, addresses):
    """Status 1 of elfutils' means that an address has no line."""
    return parse(subprocess.run([tool, "-a", "-f", "-i", "-C", "-e", program],
                                input="\n".join(addresses) + "\n", capture_output=True,
                                text=True, check=False).stdout.splitlines())


def parse(lines):
    found, i = {}, 0
    while i < len(lines):
        assert re.fullmatch(r"0x[0-9a-f]+", lines[i]), lines[i]
        chain = found[int(lines[i], 16)] = []
        i += 1
        while i < len(lines) and not re.fullmatch(r"0x[0-9a-f]+", lines[i]):
            name = re.sub(r" inlined at .*", "", lines[i])
            file, line = re.match(r"(.*?):(\d+|\?)", lines[i + 1]).groups()
            line = line.replace("?", "0")
            chain.append((name, file, int(line)))
            i += 2
    return found


def is_same(a, b):
    """Theirs have no qualifiers where there is no linkage name."""
    return len(a) == len(b) and all(
        (x[0] == y[0] or x[0].endswith("::" + y[0])) and x[1:] == y[1:]
        for x, y in zip(a, b))


def agree(program, depth, *more):
    """Compilers' own ideas differ: clang's programs have LLVM for a judge, gcc's elfutils.
    Where inlined functions overlap each tool takes one of them: binutils' will do."""
    addresses = code(program)
    judge = "llvm-addr2line" if "clang" in program else "eu-addr2line"
    a, b = ours(program, addresses, *more), theirs(judge, program, addresses)
    known = [x for x in b if b[x][0][2]]
    wrong = [x for x in known if not is_same(a[x], b[x])]
    other = theirs("addr2line", program, [f"{x:x}" for x in wrong])
    if len(wrong) * 50 > len(known):
        return f"{len(wrong)} of {len(known)} are others, as {a[wrong[0]]}, not {b[wrong[0]]}"
    wrong = [f"{x:x}: {a[x]} is not {b[x]}" for x in wrong
             if [spot[1:] for spot in a[x]] != [spot[1:] for spot in other[x]]]
    if len(known) < 50:
        wrong.append(f"only {len(known)} addresses have lines")
    if max(len(b[x]) for x in known) < depth:
        wrong.append("nothing is inlined so deep")
    return "\n".join(wrong[:5])


with open(os.path.join(TMP, "a.cc"), "w") as f:
    f.write(SOURCE)
with open(os.path.join(TMP, "a.c"), "w") as f:
    f.write(C_SOURCE)

for compiler in "gcc", "clang", "g++", "clang++":
    for version in 4, 5:
        check(f"{compiler}, DWARF {version}: functions, inlined ones and lines are addr2line's",
              lambda: agree(build(f"{compiler}-{version}", compiler, "-O2", "-g",
                                  f"-gdwarf-{version}"), 4))


# ── The command ──────────────────────────────────────────────────────────────────────


def symbol(program, name):
    return int(re.search(rf"^([0-9a-f]+) \w {name}$", run("nm", program), re.M)[1], 16)


def build_id(program):
    found = re.search(r"Build ID: (\w+)", run("readelf", "-n", program))
    return found[1] if found else "-"


def profile(name, *stacks):
    """Each a list of (program, address), and a weight: of one program."""
    path = os.path.join(TMP, name)
    run(ADDRESSES, "-o", path, text="".join(
        f"{program} {build_id(program)} {weight} {' '.join(f'{a:x}' for a in addresses)}\n"
        for program, weight, *addresses in stacks))
    return path


def report(path, *view):
    """Rows of a view as dictionaries."""
    return list(csv.DictReader(io.StringIO(run(TALLYTREE, "report", *view, "--csv", path))))


def flat(path, *filters):
    return {row["name"]: int(float(row["self"]))
            for row in report(path, "flat", "--limit", "0", *filters)}


def functions(program, *names):
    """[start, end) of each, as the symbol table has it."""
    sizes = re.findall(r"^([0-9a-f]+) ([0-9a-f]+) \w (\S+)$", run("nm", "-S", program), re.M)
    return {name: (int(start, 16), int(start, 16) + int(size, 16))
            for start, size, name in sizes if name in names}


def stacks_of(program):
    """A call of work in main, and every instruction of work below it."""
    of = functions(program, "main", "work")
    inside = [int(a, 16) for a in code(program)]
    work = [a for a in inside if of["work"][0] <= a < of["work"][1]]
    return [(program, 1 + i % 7, of["main"][0] + 4, a) for i, a in enumerate(work)]


def named_as_they_are(program):
    """Each function's self is the sum over addresses that it is the innermost of."""
    stacks = stacks_of(program)
    path = profile("p.tt", *stacks)
    judge = theirs("eu-addr2line", program, [f"{s[3]:x}" for s in stacks])
    want = collections.Counter()
    for _, weight, _, address in stacks:
        want[judge[address][0][0]] += weight
    run(TALLYTREE, "symbolize", "-o", "named.tt", path)
    got = {name: self for name, self in flat("named.tt").items() if self and name != "total"}
    return "" if got == want else f"{got}, not {dict(want)}"


def lines_as_they_are(program):
    stacks = stacks_of(program)
    judge = theirs("eu-addr2line", program, [f"{s[3]:x}" for s in stacks])
    want = collections.Counter()
    for _, weight, _, address in stacks:
        want["%s:%d" % judge[address][0][1:]] += weight
    run(TALLYTREE, "symbolize", "--lines", "-o", "lines.tt", profile("p.tt", *stacks))
    got = {row["name"]: int(row["self"]) for row in report("lines.tt", "lines", "--limit", "0")
           if int(row["self"]) and row["role"] == "entry"}
    return "" if got == want else f"{got}, not {dict(want)}"


check("the command names a profile, and figures stay what they are",
      lambda: named_as_they_are(build("named", "gcc", "-O2", "-g", "-gdwarf-5")))
check("with --lines each line has what was spent in it",
      lambda: lines_as_they_are(os.path.join(TMP, "named")))

shutil.rmtree(TMP)
print(f"1..{count}")
