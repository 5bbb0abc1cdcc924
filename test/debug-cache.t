#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Copies of compressed debug information: names are the same without a copy, when it is made, and
by it; and in no case is a wrong one read."""
import os
import re
import resource
import shutil
import subprocess
import tempfile

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
ADDRESSES = os.path.abspath(os.path.join(os.environ.get("TT_BUILD", "build"), "test", "addresses"))
TMP = tempfile.mkdtemp()
CACHES = os.path.join(TMP, "caches")
FOLDER = os.path.join(CACHES, "tallytree")
SOURCE = r"""
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>
static std::map<std::string, std::vector<int>> seen;
__attribute__((noinline)) bool recognizable_function(const std::string &s)
{
    std::regex r("([a-z]+)([0-9]*)");
    std::smatch m;
    return std::regex_match(s, m, r);
}
int main(int argc, char **argv)
{
    std::unordered_map<std::string, std::function<int(int)>> f;
    for (int i = 0; i < argc; i++) {
        seen[argv[i]].push_back(recognizable_function(argv[i]));
        f[argv[i]] = [i](int x) { return x + i; };
    }
    for (auto &s : seen)
        std::sort(s.second.begin(), s.second.end());
    std::printf("%zu %zu\n", seen.size(), f.size());
}
"""
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
        os.write(2, "".join(f"# {line}\n" for line in str(wrong)[:3000].splitlines()).encode())


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=TMP,
                          **options).stdout


def begin(program, before=None, environment=None):
    """A process that prints the names."""
    plain = {k: v for k, v in os.environ.items() if k not in ("HOME", "XDG_CACHE_HOME", "DEBUGINFOD_URLS")}
    return subprocess.Popen([ADDRESSES, os.path.join(TMP, program), "", os.path.join(TMP, "store")], text=True, cwd=TMP,
                            stdin=open(os.path.join(TMP, "addresses"), encoding="ascii"),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=before,
                            env=plain | ({"XDG_CACHE_HOME": CACHES} if environment is None else environment))


def names(program, **options):
    process = begin(program, **options)
    out, err = process.communicate()
    assert process.returncode == 0, (process.returncode, err)
    return out


def debug_file(program):
    id = re.search(r"Build ID: ([0-9a-f]+)", run("readelf", "-n", program))[1]
    return os.path.join(TMP, "store", ".build-id", id[:2], id[2:] + ".debug")


def separate(program, stripped):
    file = debug_file(program)
    os.makedirs(os.path.dirname(file), exist_ok=True)
    run("objcopy", "--only-keep-debug", "--compress-debug-sections=zlib", program, file)
    run("strip", "-s", "-o", stripped, program)
    return file


def copies(folder=FOLDER):
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def fresh():
    shutil.rmtree(CACHES, ignore_errors=True)
    os.mkdir(CACHES, 0o755)


def differs(a, b):
    return "" if a == b else f"got {a[:400]}\nwant {b[:400]}"


with open(os.path.join(TMP, "a.cc"), "w", encoding="ascii") as f:
    f.write(SOURCE)
run("g++", "-O1", "-g", "-c", "a.cc")
run("g++", "-o", "large", "a.o")
FILE = separate("large", "program")
symbols = [line.split()[0] for line in run("nm", "large").splitlines() if re.match("[0-9a-f]+ [tTwW] ", line)]
with open(os.path.join(TMP, "addresses"), "w", encoding="ascii") as f:
    f.write("".join(f"{int(a, 16) + d:x}\n" for a in symbols[::5] for d in (0, 9)))
want = names("program", environment={})
assert "recognizable_function" in want and "a.cc:" in want, want[:3000]


def cold():
    fresh()
    wrong = differs(names("program"), want)
    [copy] = copies()
    modes = [os.stat(p).st_mode & 0o777 for p in (FOLDER, os.path.join(FOLDER, copy))]
    return wrong or (modes != [0o700, 0o600] and f"modes {modes}") or \
        ("COMPRESSED" in run("readelf", "-tW", os.path.join(FOLDER, copy)) and "compressed")


def warm():
    """A copy in which the function has another name is read."""
    wrong = differs(names("program"), want)
    path = os.path.join(FOLDER, copies()[0])
    with open(path, "rb") as f:
        content = f.read()
    with open(path, "wb") as f:
        f.write(content.replace(b"recognizable", b"unmistakable"))
    return wrong or differs(names("program"), want.replace("recognizable", "unmistakable"))


def cut():
    """What is cut anywhere is made again."""
    fresh()
    names("program")
    [copy] = copies()
    path = os.path.join(FOLDER, copy)
    size = os.path.getsize(path)
    for at in (0, 1, 63, 64, size // 2, size - 1):
        os.truncate(path, at)
        wrong = differs(names("program"), want) or differs(names("program"), want)
        if wrong or os.path.getsize(path) != size:
            return f"at {at}: {wrong}"
    return ""


def changed():
    """Another file of the same build-id: it has a copy of its own."""
    fresh()
    names("program")
    os.utime(FILE, (1000, 1000))
    wrong = differs(names("program"), want)
    return wrong or (len(copies()) != 2 and str(copies()))


def mistaken():
    """A file in the place of another build-id is not read, with a copy or without."""
    fresh()
    run("g++", "-Wl,--build-id=0x1234567812345678", "-o", "other", "a.o")
    separate("other", "stranger")
    shutil.copyfile(FILE, debug_file("other"))
    plain = names("stranger", environment={})
    return differs(names("stranger"), plain) or (copies() and str(copies())) or \
        ("a.cc:" in plain and "it was read")


def at_once():
    fresh()
    for process in [begin("program") for _ in range(8)]:
        wrong = differs(process.communicate()[0], want)
        if wrong or process.returncode:
            return f"status {process.returncode}: {wrong}"
    return len(copies()) != 1 and str(copies())


def home():
    os.makedirs(os.path.join(TMP, "home"))
    wrong = differs(names("program", environment={"HOME": os.path.join(TMP, "home")}), want)
    return wrong or (len(copies(os.path.join(TMP, "home", ".cache", "tallytree"))) != 1 and "no copy")


def nowhere():
    """Where there is no folder of the user's, there is no copy."""
    wrong = ""
    for path in "", "relative", os.path.join(TMP, "not-there"), "/dev/null":
        wrong += differs(names("program", environment={"XDG_CACHE_HOME": path}), want)
    wrong += differs(names("program", environment={"HOME": os.path.join(TMP, "not-there")}), want)
    return wrong or ("relative" in os.listdir(TMP) or "not-there" in os.listdir(TMP)) and "a folder was made"


def world_writable():
    fresh()
    os.mkdir(FOLDER)
    os.chmod(FOLDER, 0o777)
    return differs(names("program"), want) or (copies() and str(copies()))


def strangers():
    """A folder of another user's, and a copy of another user's in ours."""
    fresh()
    os.chown(CACHES, 65534, 65534)
    wrong = differs(names("program"), want) or (os.listdir(CACHES) and "a folder was made")
    fresh()
    names("program")
    path = os.path.join(FOLDER, copies()[0])
    with open(path, "r+b") as f:
        content = f.read()
        f.seek(0)
        f.write(content.replace(b"recognizable", b"unmistakable"))
    os.chown(path, 65534, 65534)
    return wrong or differs(names("program"), want) or (os.stat(path).st_uid and "it was not made again")


def limited():
    fresh()
    wrong = differs(names("program", before=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))), want)
    return wrong or (copies() and str(copies()))


def full():
    fresh()
    script = f"mount -t tmpfs -o size=256k,mode=755 none {CACHES} && {ADDRESSES} $PWD/program '' $PWD/store <addresses; ls -A {FOLDER}"
    out = run("unshare", "-m", "sh", "-c", script, env=os.environ | {"XDG_CACHE_HOME": CACHES})
    return differs(out, want)


def bounded():
    """The copies that were not used for the longest time make room; other files stay."""
    fresh()
    os.mkdir(FOLDER, 0o700)
    for name, size, when in ("old.debug", 600 << 20, 1000), ("older.debug", 600 << 20, 500), ("new.debug", 900 << 20, 2000), ("notes", 4 << 30, 1):
        path = os.path.join(FOLDER, name)
        with open(path, "wb") as f:
            f.truncate(size)
        os.utime(path, (when, when))
    wrong = differs(names("program"), want)
    left = [c for c in copies() if not re.match("[0-9a-f]{40}-", c)]
    return wrong or (left != ["new.debug", "notes"] or len(copies()) != 3) and str(copies())


def small():
    fresh()
    with open(os.path.join(TMP, "b.c"), "w", encoding="ascii") as f:
        f.write("int main(void) { return 0; }\n")
    run("gcc", "-g", "-o", "small", "b.c")
    separate("small", "little")
    names("little")
    return copies() and str(copies())


def damaged():
    """Names are those without a copy.  If the table of sections is damaged, they are the same each time:
    libdw looks at the places of empty sections, too, which are others in a copy."""
    pristine = os.path.join(TMP, "pristine")
    shutil.copyfile(FILE, pristine)
    with open(pristine, "rb") as f:
        content = f.read()
    table, seed = int.from_bytes(content[0x28:0x30], "little"), 1
    try:
        for i in range(400 if os.environ.get("TT_LONG") else 16):
            fresh()
            changed = bytearray(content)
            for _ in range(3):
                seed = (seed * 6364136223846793005 + 1442695040888963407) % (1 << 64)
                where = table + (seed >> 33) % (len(content) - table) if i % 2 else (seed >> 33) % len(content)
                changed[where] ^= 1 << (seed >> 60 & 7)
            with open(FILE, "wb") as f:
                f.write(changed)
            plain = names("program", environment={})
            cold = names("program")
            wrong = (i % 2 == 0 and differs(cold, plain)) or differs(names("program"), cold)
            if wrong:
                return f"{i}: {wrong}"
    finally:
        shutil.copyfile(pristine, FILE)
    return ""


def in_parts():
    """dwz moves a part to another file, which is found by the path of this one."""
    fresh()
    file = debug_file("large")
    before = os.stat(file)
    shutil.copyfile(file, os.path.join(TMP, "before"))
    try:
        for name in "one", "two":
            run("objcopy", "--decompress-debug-sections", file, name)
        os.makedirs(os.path.join(TMP, "store", ".dwz"))
        run("dwz", "-m", "store/.dwz/common", "-M", "../../.dwz/common", "one", "two")
        assert ".gnu_debugaltlink" in run("readelf", "-SW", "one")
        run("objcopy", "--compress-debug-sections=zlib", "one", file)
        return differs(names("program"), names("program", environment={})) or \
            differs(re.sub(":.*", "", names("program")), re.sub(":.*", "", want)) or (copies() and str(copies()))
    finally:
        shutil.copyfile(os.path.join(TMP, "before"), file)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


try:
    check("a copy is made, which only its user may read", cold)
    check("the next run reads it", warm)
    check("one that was cut is made again", cut)
    check("one of an older file is not read", changed)
    check("nor is a file whose build-id is another", mistaken)
    check("of eight runs at once, each has the names, and there is one copy", at_once)
    check("without $XDG_CACHE_HOME it is in ~/.cache", home)
    check("without a folder there is none", nowhere)
    check("nor in a folder into which all may write", world_writable)
    if os.geteuid() == 0:
        check("nor in the folder of another user, and none of another user is read", strangers)
    check("nor where files have a limit", limited)
    if subprocess.run(["unshare", "-m", "true"], check=False, capture_output=True).returncode == 0:
        check("nor on a full disk", full)
    check("all copies have 1 GiB at most", bounded)
    check("what is decompressed at once has no copy", small)
    check("a damaged file has the same names each time", damaged)
    if shutil.which("dwz"):
        check("nor has a file with a part in another file", in_parts)
finally:
    shutil.rmtree(TMP)
print(f"1..{count}")
