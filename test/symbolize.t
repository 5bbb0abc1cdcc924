#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Names for addresses: what elfutils' own addr2line says of programs that we know.
TT_LONG: with each compiler; TT_DAMAGES=N: so many damaged copies of each."""
import collections
import csv
import ctypes.util
import glob
import http.server
import io
import os
import random
import re
import shutil
import struct
import subprocess
import tempfile
import threading
import time

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
BUILD = os.path.abspath(os.environ.get("TT_BUILD", "build"))
ADDRESSES = os.path.join(BUILD, "test", "addresses")
TALLYTREE = os.path.join(BUILD, "tallytree")
LONG = bool(os.environ.get("TT_LONG"))
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


built = {}


def build(name, compiler, *flags):
    """Once: the second program of the same flags is a copy."""
    source, path = "a.cc" if compiler.endswith("++") else "a.c", os.path.join(TMP, name)
    if (compiler, flags) not in built:
        built[compiler, flags] = os.path.join(TMP, f"built-{len(built)}")
        run(compiler, *flags, source, "-o", built[compiler, flags])
    shutil.copyfile(built[compiler, flags], path)
    os.chmod(path, 0o755)
    return path


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
            file = os.path.normpath(file) if "/" in file else file
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
    for version in (4, 5) if LONG or compiler == "gcc" else (5,):
        check(f"{compiler}, DWARF {version}: functions, inlined ones and lines are addr2line's",
              lambda: agree(build(f"{compiler}-{version}", compiler, "-O2", "-g",
                                  f"-gdwarf-{version}"), 4))

RUST = r"""
use std::collections::HashMap;
use std::fmt::Debug;
trait Shape { fn area(&self) -> f64; }
#[derive(Debug)]
struct Square(f64);
#[derive(Debug)]
struct Many<T>(Vec<T>);
impl Shape for Square { fn area(&self) -> f64 { self.0 * self.0 } }
impl<T: Shape> Shape for Many<T> { fn area(&self) -> f64 { self.0.iter().map(|s| s.area()).sum() } }
fn show<T: Debug>(x: &T) -> String { format!("{:?}", x) }
fn main() {
    let n = std::env::args().count() * 40;
    let mut m: HashMap<String, Vec<usize>> = HashMap::new();
    for i in 0..n { m.entry(format!("k{}", i % 7)).or_default().push(i); }
    let mut v: Vec<String> = m.iter().map(|(k, x)| format!("{}{}", k, x.iter().sum::<usize>())).collect();
    v.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    let s: Vec<Box<dyn Shape>> = vec![Box::new(Square(1.5)), Box::new(Many(vec![Square(n as f64)]))];
    println!("{} {:?} {}", s.iter().map(|x| x.area()).sum::<f64>(), v, show(&Square(1.0)));
}
"""


def rust(count):
    """Names without what demanglers leave to choice: brackets, hashes, folders of closures."""
    def last(name):
        return re.sub(r"[<({].*", "", re.sub(r"::h[0-9a-f]{16}$", "", name)).split("::")[-1]

    program = os.path.join(TMP, "a-rust")
    with open(os.path.join(TMP, "a.rs"), "w") as f:
        f.write(RUST)
    run("rustc", "-C", "opt-level=2", "-g", "-o", program, "a.rs")
    addresses = random.Random(1).sample(code(program), count)
    a, b = ours(program, addresses), theirs("addr2line", program, addresses)
    known = [x for x in b if b[x][0][2]]
    wrong = [f"{x:x}: {a[x]} is not {b[x]}" for x in known
             if [(last(n), *place) for n, *place in a[x]] != [(last(n), *place) for n, *place in b[x]]]
    if len(known) < count / 2 or max(len(b[x]) for x in known) < 4:
        wrong.append(f"only {len(known)} addresses have lines, or nothing is inlined")
    return "\n".join(wrong[:5])


if shutil.which("rustc"):
    check("rustc: functions, inlined ones and lines are addr2line's", lambda: rust(200))


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


def expect(got, want):
    return "" if got == want else f"{got}, not {want}"


def folds_back(program):
    """Lines folded away leave what there would be without them."""
    path = profile("p.tt", *stacks_of(program))
    run(TALLYTREE, "symbolize", "-o", "plain.tt", path)
    run(TALLYTREE, "symbolize", "--lines", "-o", "lines.tt", path)
    pick = ("role", "self", "inclusive", "name", "file", "line")
    plain, folded = ([[row[k] for k in pick] for row in report(name, "flat", *fold)]
                     for name, fold in (("plain.tt", []), ("lines.tt", ["--fold", "kind:statement"])))
    return expect(sorted(folded), sorted(plain))


check("the command names a profile, and figures stay what they are",
      lambda: named_as_they_are(build("named", "gcc", "-O2", "-g", "-gdwarf-5")))
check("with --lines each line has what was spent in it",
      lambda: lines_as_they_are(os.path.join(TMP, "named")))

check("lines that are folded leave the functions", lambda: folds_back(os.path.join(TMP, "named")))


# ── Where names come from ────────────────────────────────────────────────────────────


def names(program, *addresses, id=None, folders=(), **options):
    """The innermost function at each address, None for none; and why there was none."""
    done = subprocess.run([ADDRESSES, program, build_id(program) if id is None else id,
                           *folders], input="".join(f"{a:x}\n" for a in addresses),
                          check=True, capture_output=True, text=True, cwd=TMP, **options)
    found = parse(done.stdout.splitlines())
    return [None if found[a][0][0] == "??" else found[a][0][0] for a in addresses], \
        done.stderr.strip()


def inside(program, name):
    """Two addresses of a function: its start, and one of what is inlined there."""
    low, high = functions(program, name)[name]
    return [int(a, 16) for a in code(program) if low <= int(a, 16) < high][:3][::2]


def copy(program, name):
    path = os.path.join(TMP, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    shutil.copy2(program, path)
    return path


def as_before(program, stripped, *folders, **options):
    """What the program says of all its code, a stripped one says with what was put aside."""
    addresses = code(program)
    a = ours(program, addresses)
    b = ours(stripped, addresses, build_id(program), *folders, **options)
    wrong = [f"{x:x}: {b[x]}, not {a[x]}" for x in a if a[x] != b[x]]
    return "\n".join(wrong[:5])


def debuglink(compress=False):
    program = build("linked", "gcc", "-O2", "-g", *(["-gz"] if compress else []))
    stripped = copy(program, "links/linked")
    run("objcopy", "--only-keep-debug", program, "linked.debug")
    run("strip", "-s", stripped)
    run("objcopy", f"--add-gnu-debuglink={TMP}/linked.debug", stripped)
    lost = names(stripped, *inside(program, "work"))[0]
    os.makedirs(os.path.join(TMP, "links/.debug"), exist_ok=True)
    shutil.move(os.path.join(TMP, "linked.debug"),
                os.path.join(TMP, "links/.debug/linked.debug"))
    return expect(lost, [None, None]) or as_before(program, stripped)


def wrong_debuglink():
    """A file of that name with other contents gives no names, with no build-id either."""
    program = build("other", "gcc", "-O2", "-g", "-Wl,--build-id=none")
    stripped = copy(program, "wrong/other")
    run("objcopy", "--only-keep-debug", program, "wrong/other.debug")
    run("strip", "-s", stripped)
    run("objcopy", f"--add-gnu-debuglink={TMP}/wrong/other.debug", stripped)
    with open(os.path.join(TMP, "wrong/other.debug"), "r+b") as f:
        f.seek(-1, 2)
        f.write(b"X")
    return expect(names(stripped, *inside(program, "work"))[0], [None, None])


def by_build_id():
    program = build("kept", "gcc", "-O2", "-g")
    stripped = copy(program, "gone/kept")
    run("strip", "-s", stripped)
    id = build_id(program)
    os.makedirs(os.path.join(TMP, "store/.build-id", id[:2]), exist_ok=True)
    run("objcopy", "--only-keep-debug", program, f"store/.build-id/{id[:2]}/{id[2:]}.debug")
    lost = names(stripped, *inside(program, "work"))[0]
    wrong = expect(lost, [None, None]) or as_before(program, stripped, "store")
    os.remove(stripped)
    return wrong or as_before(program, stripped, "store")


def by_name():
    """Of a program from another machine; without the right build-id it is another one."""
    program = build("far", "gcc", "-O2", "-g")
    copy(program, "near/far")
    addresses = inside(program, "work")
    right = names("/far/away/far", *addresses, id=build_id(program), folders=["near"])
    wrong = names("/far/away/far", *addresses, id="00" * 20, folders=["near"])
    return expect(right[0][0], "work") or expect(wrong, ([None, None],
                                                         "the file there is another one now"))


def replaced():
    program = build("changed", "gcc", "-O2", "-g")
    addresses, old = inside(program, "work"), build_id(program)
    build("changed", "gcc", "-O1", "-g")
    again = names(program, *addresses, id=old)
    return expect(again, ([None, None], "the file there is another one now"))


def deleted():
    """As the kernel writes it; what stands there is asked if it is the same."""
    program = build("removed", "gcc", "-O2", "-g")
    addresses, id = inside(program, "work"), build_id(program)
    there = names(program + " (deleted)", *addresses, id=id)[0]
    os.remove(program)
    gone = names(program + " (deleted)", *addresses, id=id)
    return expect(there[0], "work") or expect(gone, ([None, None], "there is no such file"))


def written_later():
    program = build("plain", "gcc", "-O2", "-g", "-Wl,--build-id=none")
    stacks = [(program, 1, a) for a in inside(program, "work")[:1]]
    old, new = time.time() - 3600, time.time() + 3600
    run(TALLYTREE, "symbolize", "-o", "new.tt", profile("p.tt", *stacks),
        env=dict(os.environ))
    for when in old, new:
        run(ADDRESSES, "-o", "p.tt", text=f"started {int(when * 1e9)}\n"
            f"{program} - 1 {stacks[0][2]:x}\n")
        run(TALLYTREE, "symbolize", "-o", f"{'old' if when == old else 'new'}.tt", "p.tt")
    return expect("work" in flat("new.tt"), True) or expect("work" in flat("old.tt"), False)


def dwz():
    a, b = build("dwz-a", "gcc", "-O2", "-g"), build("dwz-b", "gcc", "-O2", "-g")
    for program in a, b:
        copy(program, program + ".before")
    run("dwz", "-m", "shared", a, b)
    if not re.search(r"gnu_debugaltlink", run("readelf", "-S", "-W", a)):
        return "dwz has shared nothing"
    return as_before(a + ".before", a)


def mini_debug():
    """Only symbols, compressed, as Fedora's programs have them."""
    program = build("mini", "gcc", "-O2", "-g")
    run("objcopy", "--only-keep-debug", program, "mini.debug")
    run("objcopy", "-S", "--remove-section=.comment", "mini.debug", "mini.symbols")
    run("strip", "--strip-debug", "-o", "mini.symbols", "mini.debug")
    run("xz", "-f", "mini.symbols")
    stripped = copy(program, "mini.stripped")
    run("strip", "-s", stripped)
    run("objcopy", f"--add-section=.gnu_debugdata={TMP}/mini.symbols.xz", stripped)
    return expect(names(stripped, inside(program, "work")[0])[0], ["work"])


def stripped_functions():
    """Code without symbols is still divided into functions, by its rules for unwinding; who
    has the symbols later names them, without what is inlined where they start."""
    program = build("bare", "gcc", "-O2", "-g")
    run("objcopy", "--only-keep-debug", program, "bare.symbols")
    stacks = [(copy(program, "bare.stripped"), *stack) for _, *stack in stacks_of(program)]
    run("strip", "-s", stacks[0][0])
    path, of = profile("bare.tt", *stacks), functions(program, "main", "work")
    run(TALLYTREE, "symbolize", "-o", "starts.tt", path)
    starts = {f"bare.stripped+0x{of[name][0]:x}": name for name in of}
    total = sum(weight for _, weight, *_ in stacks)
    rows = {row["name"]: (int(row["self"]), int(row["inclusive"]))
            for row in report("starts.tt", "flat") if row["role"] == "entry"}
    wrong = expect({starts.get(name, name): figures for name, figures in rows.items()},
                   {"main": (0, total), "work": (total, total)})
    if wrong or "unresolved: 100.00 %" not in run(TALLYTREE, "report", "flat", "starts.tt"):
        return wrong or "they have no name, and the report does not say so"
    os.makedirs(os.path.join(TMP, "later"), exist_ok=True)
    shutil.move(os.path.join(TMP, "bare.symbols"), os.path.join(TMP, "later/bare.stripped.debug"))
    run(TALLYTREE, "symbolize", "--symbols", "later", "-o", "later.tt", "starts.tt")
    return expect(flat("later.tt"), {"main": 0, "work": total, "total": total})


def symbols_only():
    """Aliases, sizes of 0, functions that share a name."""
    source = os.path.join(TMP, "s.S")
    with open(source, "w") as f:
        f.write("""
            .text
            .globl main, visible, __hidden_name, _start_of_it
            .weak weak_name
            .type visible, %function
            .type __hidden_name, %function
            .type weak_name, %function
            .type local_name, %function
            __hidden_name: visible: local_name: .skip 16, 0x90
            .size visible, 16
            .size __hidden_name, 16
            weak_name: local_too: .skip 16, 0x90
            .size weak_name, 16
            no_size: .skip 16, 0x90
            .type no_size, %function
            after: .skip 16, 0x90
            .type after, %function
            .size after, 8
            around: .skip 8, 0x90
            label_in_it: .skip 8, 0x90
            .type around, %function
            .size around, 16
            main: ret
            .section .note.GNU-stack,"",%progbits
            """)
    run("gcc", "-g0", source, "-o", "s")
    program = os.path.join(TMP, "s")
    base = symbol(program, "visible")
    at = [base, base + 15, base + 16, base + 32, base + 47, base + 48, base + 56, base + 64,
          base + 72, base + 79]
    return expect(names(program, *at)[0],
                  ["visible", "visible", "weak_name", "no_size", "no_size", "after", None,
                   "around", "around", "around"])


def namesakes():
    """Static functions of one name are several, and have one block each."""
    for i in "12":
        with open(os.path.join(TMP, f"n{i}.c"), "w") as f:
            f.write("__attribute__((noinline)) static int same(int x) { return x * %s + x / 3; }"
                    "int call%s(int x) { return same(x) + 1; }" % (i, i))
    with open(os.path.join(TMP, "n.c"), "w") as f:
        f.write("int call1(int), call2(int); int main(int c, char **v)"
                "{ (void)v; return call1(c) + call2(c); }")
    run("gcc", "-O1", "n.c", "n1.c", "n2.c", "-o", "n")
    at = [int(a, 16) for a in re.findall(r"^([0-9a-f]+) t same$", run("nm", "n"), re.M)]
    path = profile("p.tt", *[(os.path.join(TMP, "n"), 5, a) for a in at])
    run(TALLYTREE, "symbolize", "-o", "n.tt", path)
    rows = [row["self"] for row in report("n.tt", "flat") if row["name"] == "same"]
    return expect((len(at), rows), (2, ["5", "5"]))


def stubs(*flags):
    program = build("plt", "gcc", "-O1", *flags)
    wrong = [f"{at}: {name}" for at, name in
             re.findall(r"^([0-9a-f]{16}) <(\w+@plt)>:", run("objdump", "-d", program), re.M)
             if names(program, int(at, 16) + 4)[0] != [name]]
    if "@plt" not in run("objdump", "-d", program):
        return "there are no stubs"
    return "\n".join(wrong)


def fixed_address():
    return agree(build("fixed", "gcc", "-O2", "-g", "-no-pie"), 4)


def lines_only():
    """clang -gline-tables-only: lines without functions; these have symbols."""
    program = build("clang-lines", "clang", "-O0", "-gline-tables-only")
    low = functions(program, "work")["work"][0]
    [(name, file, line)] = ours(program, [f"{low:x}"])[low]
    return expect((name, os.path.basename(file), line > 0), ("work", "a.c", True))


def split_dwarf():
    """-gsplit-dwarf: what the program keeps points to another file."""
    program = build("split", "gcc", "-O2", "-g", "-gsplit-dwarf")
    whole = build("whole", "gcc", "-O2", "-g")
    at = inside(whole, "work")
    return expect(ours(program, [f"{a:x}" for a in at]), ours(whole, [f"{a:x}" for a in at]))


def units_listed():
    """Each address has the same names, first or last of all, with the list, without, with units that it
    lacks (clang makes none), and where it has the wrong unit of a range."""
    unit = ("#include <vector>\n#include <algorithm>\nint work%d(int n) { std::vector<int> v(n, %d);"
            " std::sort(v.begin(), v.end()); return v.back() + (int)v.size(); }\n")
    objects = []
    for i in range(4):
        with open(os.path.join(TMP, f"unit{i}.cc"), "w") as f:
            f.write(unit % (i, i))
        compiler = "clang++" if i == 2 and shutil.which("clang++") else "g++"
        run(compiler, "-O1", "-g", "-c", f"unit{i}.cc", "-o", f"unit{i}.o")
        objects.append(f"unit{i}.o")
    with open(os.path.join(TMP, "units.cc"), "w") as f:
        f.write("int work0(int), work1(int), work2(int), work3(int);"
                "int main(int c, char **) { return work0(c) + work1(c) + work2(c) + work3(c); }")
    program, other = os.path.join(TMP, "units"), os.path.join(TMP, "units-other")
    run("g++", "-O1", "-g", "units.cc", *objects, "-o", program)
    addresses = random.Random(3).sample(code(program), 60)
    run("objcopy", "--remove-section=.debug_aranges", program, other)
    want = ours(other, addresses)
    wrong = "" if sum(len(x) > 1 for x in want.values()) > 5 else "nothing is inlined"
    for a in addresses:
        alone = ours(program, [a])
        wrong = wrong or expect(alone, {int(a, 16): want[int(a, 16)]})
    wrong = wrong or expect(ours(program, addresses), want) or \
        expect(ours(program, addresses[::-1]), {int(a, 16): want[int(a, 16)] for a in addresses[::-1]})
    run("objcopy", "-O", "binary", "--only-section=.debug_aranges", "--set-section-flags",
        ".debug_aranges=alloc", program, "list")
    with open(os.path.join(TMP, "list"), "rb") as f:
        listed = bytearray(f.read())
    sets, at = [], 0
    while at < len(listed):
        sets.append(at)
        at += 4 + int.from_bytes(listed[at:at + 4], "little")
    assert len(sets) > 3, sets
    units = [listed[s + 6:s + 10] for s in sets]
    for s, u in zip(sets, units[1:] + units[:1]):
        listed[s + 6:s + 10] = u
    with open(os.path.join(TMP, "list"), "wb") as f:
        f.write(listed)
    run("objcopy", "--update-section", ".debug_aranges=list", program, other)
    return wrong or expect(ours(other, addresses), want) or \
        expect(ours(other, addresses[:1]), {int(addresses[0], 16): want[int(addresses[0], 16)]})


check("functions without a name", stripped_functions)
check("debug information in .debug, by .gnu_debuglink", debuglink)
check("compressed debug information", lambda: debuglink(True))
check("a .gnu_debuglink to a file that is not the right one gives no names", wrong_debuglink)
check("debug information by build-id, and without the program", by_build_id)
check("a program from another machine, by its name in a folder", by_name)
check("a program that was replaced gives no wrong names", replaced)
check("a program that was deleted", deleted)
check("without build-id, a program that was written after the recording gives no names",
      written_later)
check("what dwz has moved out of several programs", dwz)
check("symbols in .gnu_debugdata", mini_debug)
check("of aliases the best; without a size up to the next; labels do not cut functions",
      symbols_only)
check("static functions of one name stay apart", namesakes)
for flags in [], ["-no-pie"], ["-fcf-protection=full", "-Wl,-z,now"], ["-Wl,-z,lazy"]:
    check(" ".join(["stubs are named after what they call", *flags]), lambda: stubs(*flags))
check("programs at a fixed address", fixed_address)
check("lines without functions", lines_only)
check("split DWARF", split_dwarf)
check("a wrong or short list of units changes no name", units_listed)


# ── Code that no file has ────────────────────────────────────────────────────────────


def spots(module, id, *addresses):
    found = ours(module, [f"{a:x}" for a in addresses], id)
    return [found[a][0] for a in addresses]


def blocks(path):
    """name, module, file, line of what has figures"""
    return sorted((row["name"], row["module"], row["file"], row["line"])
                  for row in report(path, "flat") if row["role"] == "entry")


def write(name, data):
    path = os.path.join(TMP, name)
    with open(path, "wb") as f:
        f.write(data)
    return path


def jit_profile(path, *addresses):
    run(ADDRESSES, "-o", "jit.tt",
        text="".join(f"[jit] {path} 1 {a:x}\n" for a in addresses))
    run(TALLYTREE, "symbolize", "jit.tt")
    return blocks("jit.tt")


def perf_map():
    path = write("perf-1.map", b"1000 20 plain name\n"
                 b"2000 10 py::spin:/app/main.py\n"
                 b"3000 10 LazyCompile:*hot /app/x.js:12:5\n"
                 b"4000 10 JS:~hot file:///app/x.js:12:5\n"
                 b"5000 10 Builtin:ArrayMap\n"
                 b"6000 10 _ZN3foo3barEv\n"
                 b"7000 20 old\n7010 20 new\n"  # the place was used again
                 b"zzz 10 bad\n8000\n9000 10\na000 10 not finished")
    return expect(jit_profile(path, 0x1000, 0x101f, 0x2004, 0x3000, 0x400f, 0x5000, 0x6000,
                              0x7008, 0x7018, 0x7028, 0xa000, 0x1020),
                  sorted([("[jit]+0x1020", "[jit]", path, ""),
                          ("[jit]+0x7008", "[jit]", path, ""),
                          ("[jit]+0xa000", "[jit]", path, ""),
                          ("plain name", "[jit]", "", ""), ("spin", "[jit]", "/app/main.py", ""),
                          ("hot", "[jit]", "/app/x.js", "12"),
                          ("Builtin:ArrayMap", "[jit]", "", ""), ("foo::bar()", "[jit]", "", ""),
                          ("new", "[jit]", "", "")]))


def record(kind, body):
    return struct.pack("=IIQ", kind, 16 + len(body), 0) + body


def load(address, size, name):
    return record(0, struct.pack("=IIQQQQ", 1, 1, address, address, size, 1) + name + b"\0" +
                  b"\x90" * size)


def node_code(tier):
    """As Node 20 writes it: addresses 64 too high, and in place of names any bytes of their
    length; those of its baseline code are no addresses of instructions."""
    at = 0x7000 if tier == b"*" else 0x7100
    entries = b"".join(struct.pack("=QII", at + 0x40 + offset, line, 0) + b"\x07\x00\xffbad\x00xyz"
                       for offset, line in ((0, 3), (8, 4)))
    return (record(2, struct.pack("=QQ", at, 2) + entries) +
            load(at, 32, b"JS:" + tier + b"hot /app/x.js:3:9"))


def jit_dump():
    lines = struct.pack("=QQ", 0x2000, 3) + b"".join(
        struct.pack("=QII", at, line, 0) + file + b"\0"
        for at, line, file in ((0x2000, 5, b"/app/a.lua"), (0x2008, 7, b"\xff"),
                               (0x2010, 9, b"/app/b.lua")))
    path = write("jit-1.dump", struct.pack("=IIIIIIQQ", 0x4a695444, 1, 40, 62, 0, 1, 0, 0) +
                 load(0x1000, 16, b"first") + record(2, lines) + load(0x2000, 32, b"second") +
                 record(1, struct.pack("=IIQQQQQ", 1, 1, 0x3000, 0x1000, 0x3000, 16, 1)) +
                 record(1, struct.pack("=IIQQQQQ", 1, 1, 0x6000, 0x2000, 0x6000, 32, 2)) +
                 node_code(b"*") + node_code(b"^") +
                 record(3, b"") + load(0x1000, 16, b"third") + load(0x5000, 8, b"cut")[:-4])
    return expect(spots("[jit]", path, 0x1000, 0x2000, 0x200c, 0x201f, 0x3004, 0x600c,
                        0x7000, 0x700a, 0x7108, 0x5000),
                  [("third", "??", 0), ("second", "/app/a.lua", 5), ("second", "/app/a.lua", 7),
                   ("second", "/app/b.lua", 9), ("first", "??", 0), ("second", "/app/a.lua", 7),
                   ("hot", "/app/x.js", 3), ("hot", "/app/x.js", 4), ("hot", "??", 0),
                   ("??", "??", 0)])


def map_by_pid():
    """A recording of one process need not say where its map is."""
    pid = next(p for p in range(4000000, 5000000) if not os.path.exists(f"/tmp/perf-{p}.map"))
    path = f"/tmp/perf-{pid}.map"
    try:
        with open(path, "w") as f:
            f.write("1000 10 found\n")
        run(ADDRESSES, "-o", "jit.tt", text=f"pid {pid}\n[jit] - 1 1008\n")
        run(TALLYTREE, "symbolize", "jit.tt")
        return expect([name for name, *_ in blocks("jit.tt")], ["found"])
    finally:
        os.remove(path)


def stale_dump():
    """An earlier process with that number has left a jitdump where this one has a perf map."""
    pid = next(p for p in range(4000000, 5000000) if not os.path.exists(f"/proc/{p}"))
    path, dump, got = write(f"perf-{pid}.map", b"1000 10 mapped\n"), f"jit-{pid}.dump", []
    write(dump, struct.pack("=IIIIIIQQ", 0x4a695444, 1, 40, 62, 0, pid, 0, 0) + load(0x1000, 16, b"dumped"))
    for age in (3600, -3600):
        os.utime(os.path.join(TMP, dump), (1600000000 - age,) * 2)
        run(ADDRESSES, "-o", "jit.tt", text=f"started {1600000000 * 10**9}\n[jit] {path} 1 1008\n")
        run(TALLYTREE, "symbolize", "jit.tt")
        got += [name for name, *_ in blocks("jit.tt")]
    return expect(got, ["mapped", "dumped"])


def not_a_map():
    """What is no map by its name is not opened, whatever a recording says."""
    path = write("secret", b"1000 10 secret\n")
    return expect([name for name, *_ in jit_profile(path, 0x1000)], ["[jit]+0x1000"])


def not_ours():
    """A link could lead to any file, and another user could write anything into a jitdump."""
    path, link = write("jit-2.dump", b"1000 10 secret\n"), os.path.join(TMP, "jit-3.dump")
    os.symlink(path, link)
    got = [jit_profile(p, 0x1000)[0][0] for p in (path, link)]
    if os.getuid() == 0:
        os.chown(path, 65534, 65534)
        got.append(jit_profile(path, 0x1000)[0][0])
    return expect(got, ["secret"] + ["[jit]+0x1000"] * (len(got) - 1))


def vdso():
    """The kernel's own library, by the names that the C library asks it for."""
    lines = run("sh", "-c", "LD_SHOW_AUXV=1 /bin/true | sed -n 's/.*SYSINFO_EHDR: *//p'")
    if not lines.strip():
        return ""
    with open("/proc/self/maps") as f:
        low, high = next((int(a, 16), int(b, 16)) for a, b in
                         (line.split()[0].split("-") for line in f if "[vdso]" in line))
    with open("/proc/self/mem", "rb") as f:
        f.seek(low)
        path = write("vdso", f.read(high - low))
    table = re.findall(r"([0-9a-f]{16}) +(\d+) FUNC +GLOBAL +DEFAULT +\d+ (__vdso_\w+)",
                       run("readelf", "--dyn-syms", "-W", path))
    at = {int(a, 16) + int(size) - 1: name for a, size, name in table}
    got = names("[vdso]", *at, id=build_id(path))[0]
    wrong = [f"{a}, not {b}" for a, b in zip(got, at.values())
             if not a or a.replace("__vdso_", "") != b.replace("__vdso_", "")]
    other = names("[vdso]", *at, id="00" * 20)[1]
    return "\n".join(wrong) or expect(other, "this kernel's is another one") or \
        expect(len(at) > 0, True)


check("perf maps, and what compilers put into names", perf_map)
check("jitdumps, with lines and code that was moved", jit_dump)
check("the perf map of the only process", map_by_pid)
check("a jitdump that was written before the recording is not used instead of the perf map", stale_dump)
check("a recording cannot name any file to be a perf map", not_a_map)
check("jitdumps that are links or of other users are not used", not_ours)
check("the vDSO's functions", vdso)


# ── Servers ──────────────────────────────────────────────────────────────────────────


class Server(http.server.BaseHTTPRequestHandler):
    asked, files = [], {}

    def do_GET(self):
        Server.asked.append(self.path)
        data = Server.files.get(self.path)
        self.send_response(200 if data else 404)
        self.send_header("Content-Length", str(len(data or b"")))
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_):
        pass


def with_server(test):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Server.asked.clear()
    env = dict(os.environ, DEBUGINFOD_URLS=f"http://127.0.0.1:{server.server_port}",
               DEBUGINFOD_CACHE_PATH=os.path.join(TMP, "cache"), HOME=TMP)
    for proxy in "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY":
        env.pop(proxy, None)
    try:
        return test(env)
    finally:
        server.shutdown()


def asked_only_when_told(env):
    program = build("served", "gcc", "-O2", "-g")
    id, [address, _] = build_id(program), inside(program, "work")
    run("objcopy", "--only-keep-debug", program, "served.debug")
    with open(os.path.join(TMP, "served.debug"), "rb") as f:
        Server.files[f"/buildid/{id}/debuginfo"] = f.read()
    os.remove(os.path.join(TMP, "served.debug"))
    run("strip", "-s", program)
    path = os.path.join(TMP, "served.tt")
    run(ADDRESSES, "-o", path, text="".join(
        f"{p} {id} 1 {address:x}\n" for p in (program, program + "-gone")))
    loads = dict(env, LD_DEBUG="files", LD_DEBUG_OUTPUT=os.path.join(TMP, "loads"))
    run(TALLYTREE, "symbolize", "-o", "not.tt", path, env=loads)
    if Server.asked:
        return f"it has asked for {Server.asked}"
    loaded = "".join(open(f).read() for f in glob.glob(os.path.join(TMP, "loads.*")))
    if "libelf.so" not in loaded or "libdebuginfod" in loaded:
        return "libraries are loaded to ask servers"
    run(TALLYTREE, "symbolize", "--debuginfod", "-o", "yes.tt", path, env=env)
    if not Server.asked and not ctypes.util.find_library("debuginfod"):
        return ""
    return expect([name for name, *_ in blocks("not.tt") if "work" in name], []) or \
        expect([name for name, *_ in blocks("yes.tt") if name == "work"], ["work"] * 2)


check("servers are asked with --debuginfod, and never without",
      lambda: with_server(asked_only_when_told))


def briefly_recorded():
    """Of a few samples, debug information in a file apart is not read; of many it is."""
    source = os.path.join(TMP, "busy.c")
    with open(source, "w") as f:
        f.writelines(f"int large_{i}(int a, int b) {{ return a * {i} - b; }}\n" for i in range(500))
        f.write("""
            #include <stdlib.h>
            #include <time.h>
            static volatile unsigned sum;
            __attribute__((always_inline)) static inline void inner(void)
            { for (unsigned i = 0; i < 100000; i++) sum += i; }
            __attribute__((noinline)) void outer(void) { inner(); }
            int main(int argc, char **argv)
            {
                clock_t end = clock() + (clock_t)(atof(argv[argc - 1]) * CLOCKS_PER_SEC);
                while (clock() < end) outer();
            }""")
    program = os.path.join(TMP, "busy")
    run("gcc", "-O2", "-g", "-o", program, source)
    run("objcopy", "--only-keep-debug", "--compress-debug-sections", program, program + ".debug")
    run("strip", "-g", program)
    run("objcopy", f"--add-gnu-debuglink={program}.debug", program)
    wrong = ""
    for seconds, least, more, inlined in (0.08, 1, [], 1), (0.08, 1, ["--lines"], 1), (0.8, 100, [], 1):
        samples = 0
        while samples < least:  # a busy host does not tick as often
            run(TALLYTREE, "record", "-o", "busy.tt", *more, "--", program, str(seconds))
            [row] = [row for row in report("busy.tt", "flat", "--metric=samples") if row["role"] == "total"]
            samples, seconds = int(row["self"]), seconds * 1.5
        rows = {row["name"] for row in report("busy.tt", "flat")}
        if "outer" not in rows or ("inner" in rows) != bool(inlined):
            wrong += f"{seconds} s {more}: {sorted(rows)}; "
    return wrong


check("debug information in a file apart is read, however few the samples are",
      briefly_recorded)


# ── Files that are damaged ───────────────────────────────────────────────────────────


def sections(program, *names):
    """(offset, size) in the file of each section that there is."""
    found = re.findall(r"\] (\S+) +\w+ +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)",
                       run("readelf", "-S", "-W", program))
    return [(int(at, 16), int(size, 16)) for name, at, size in found if name in names]


def survives(program, *names):
    """Whatever is changed in a file, the command ends well and no figure is lost."""
    random.seed(program)
    stacks = [(program, 1 + i % 3, int(a, 16)) for i, a in enumerate(code(program))]
    path, total = profile("p.tt", *stacks), sum(s[1] for s in stacks)
    with open(program, "rb") as f:
        whole = f.read()
    places = sections(program, *names) or [(0, len(whole))]
    for n in range(int(os.environ.get("TT_DAMAGES", 20 if LONG else 5))):
        damaged = bytearray(whole)
        for _ in range(random.choice((1, 3, 20, 200))):
            at, size = random.choice(places)
            damaged[at + random.randrange(size)] = random.choice((0, 0xff, random.randrange(256)))
        if not names and n % 3 == 0:
            del damaged[random.randrange(len(damaged)):]
        with open(program, "wb") as f:
            f.write(damaged)
        done = subprocess.run([TALLYTREE, "symbolize", "-o", "d.tt", path], cwd=TMP,
                              capture_output=True, text=True, check=False, timeout=60)
        if done.returncode or done.stderr:
            return f"{n}: status {done.returncode}, {done.stderr}"
        [row] = [row for row in report("d.tt", "flat") if row["role"] == "total"]
        if int(row["self"]) != total:
            return f"{n}: {row['self']}, not {total}"
    return ""


check("damaged debug information",
      lambda: survives(build("damaged", "g++", "-O2", "-g"), ".debug_info", ".debug_abbrev",
                       ".debug_line", ".debug_rnglists", ".debug_str", ".debug_line_str"))
check("damaged symbols", lambda: survives(build("torn", "gcc", "-O2"), ".symtab", ".strtab",
                                          ".dynsym", ".rela.plt", ".note.gnu.build-id"))
check("damaged rules for unwinding",
      lambda: survives(build("unruly", "gcc", "-O2", "-s"), ".eh_frame", ".eh_frame_hdr"))
check("damaged files, and what is left of them", lambda: survives(build("cut", "gcc", "-g")))

shutil.rmtree(TMP)
print(f"1..{count}")
