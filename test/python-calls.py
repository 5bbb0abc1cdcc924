# SPDX-License-Identifier: MIT
"""python-calls.py run           calls functions in all ways that there are
python-calls.py cprofile FILE   the same under cProfile, whose counts go to FILE
python-calls.py setprofile FILE and under a function for sys.setprofile
python-calls.py compare FILE CSV   holds a report's calls to them
python-calls.py threads         calls functions in THREADS threads

Functions are told apart by name and line, those in C by name."""
import cProfile
import csv
import functools
import json
import re
import sys
import threading

THREADS = 7


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def numbers(n):
    for i in range(n):
        got = yield i
        if got:
            yield got


def delegating(n):
    yield from numbers(n)
    return n


def closed_early():
    g = numbers(100)
    next(g)
    g.send(5)
    g.close()


def thrown_into():
    def catcher():
        while True:
            try:
                yield 1
            except KeyError:
                yield 2

    g = catcher()
    next(g)
    for _ in range(3):
        g.throw(KeyError("x"))
        next(g)
    try:
        g.throw(ValueError("y"))
    except ValueError:
        pass


def raiser(n):
    if n == 0:
        raise LookupError(n)
    raiser(n - 1)


def raises():
    for n in range(5):
        try:
            raiser(n)
        except LookupError:
            pass
    try:
        sorted([3, 1, 2], key=raising_key)
    except ZeroDivisionError:
        pass
    try:
        int("no number")
    except ValueError:
        pass


def raising_key(n):
    return 1 // (n - 1)


async def leaf(n):
    return n


async def coroutine(n):
    total = 0
    for i in range(n):
        total += await leaf(i)
    return total


def runs_coroutine():
    c = coroutine(6)
    try:
        c.send(None)
    except StopIteration as stop:
        return stop.value


class Thing:
    def __init__(self, n):
        self.n = n

    def __lt__(self, other):
        return self.n < other.n

    @property
    def double(self):
        return self.n * 2

    @staticmethod
    def same():
        return 1

    def __call__(self):
        return self.double


class Other:
    @staticmethod
    def same():
        return 2


def calls_back():
    sorted(Thing(i * 7 % 13) for i in range(13))
    list(map(lambda t: t(), [Thing(3)] * 4))
    functools.reduce(lambda a, b: a + b, range(9))
    re.sub("a", lambda m: m.group().upper(), "banana")
    [Thing.same() for _ in range(3)]
    Other.same()
    max((1, 2, 3), key=float)


def makes_functions():
    for i in range(50):
        space = {}
        exec(f"def made(x):\n    return x + {i}\nmade(1)\n", space)
        exec(f"def other(x):\n    return [x] * {i}\nother(1)\nother(2)\n", space)


@functools.lru_cache(None)
def cached(n):
    return n if n < 2 else cached(n - 1) + cached(n - 2)


def everything():
    fib(12)
    even(40)
    sum(numbers(20))
    list(delegating(8))
    closed_early()
    thrown_into()
    raises()
    runs_coroutine()
    calls_back()
    makes_functions()
    cached(20)
    [].append(1)
    "a b".split()
    dict(a=1).get("a")


def in_thread():
    fib(6)
    raises()


def all_threads():
    threads = [threading.Thread(target=in_thread) for _ in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()


# ── Counts ─────────────────────────────────────────────────────────────────────────────────


def plain(name):
    """A function in C, without module or type."""
    return re.sub(r"[<>']", "", name).split(" of ")[0].split()[-1].split(".")[-1]


def by_cprofile():
    profile = cProfile.Profile()
    profile.runcall(everything)
    counts = {}
    for entry in profile.getstats():
        code = entry.code
        key = f"C {plain(code)}" if isinstance(code, str) else f"{code.co_name}:{code.co_firstlineno}"
        counts[key] = counts.get(key, 0) + entry.callcount
    return counts


def by_setprofile():
    counts = {}

    def note(frame, event, arg):
        key = None
        if event == "call":
            key = f"{frame.f_code.co_name}:{frame.f_code.co_firstlineno}"
        elif event == "c_call":
            key = f"C {arg.__name__}"
        if key:
            counts[key] = counts.get(key, 0) + 1

    sys.setprofile(note)
    everything()
    sys.setprofile(None)
    return counts


def of_report(path):
    counts = {}
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            name = row["name"].split(".")[-1]
            if row["module"]:
                key = f"{name}:{row['line']}" if row["file"] else f"C {name}"
                counts[key] = counts.get(key, 0) + int(row["self"])
    return counts


def compare(wanted, found):
    """What ends a profile is in it."""
    wrong = 0
    for key in sorted(wanted.keys() | found.keys()):
        own, theirs = found.get(key, 0), wanted.get(key, 0)
        if own != theirs and key not in ("C setprofile", "C disable"):
            print(f"{key}: {own} calls, not {theirs}")
            wrong += 1
    print(f"{len(wanted)} functions, {sum(wanted.values())} calls, {wrong} differ")
    sys.exit(wrong != 0 or len(wanted) < 50)


def main():
    what = sys.argv[1]
    if what == "run":
        everything()
    elif what in ("cprofile", "setprofile"):
        counts = by_cprofile() if what == "cprofile" else by_setprofile()
        with open(sys.argv[2], "w", encoding="utf-8") as file:
            json.dump(counts, file)
    elif what == "threads":
        all_threads()
    elif what == "compare":
        with open(sys.argv[2], encoding="utf-8") as file:
            compare(json.load(file), of_report(sys.argv[3]))


if __name__ == "__main__":
    main()
