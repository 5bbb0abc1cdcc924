# SPDX-License-Identifier: MIT
"""python-stress.py SECONDS - makes and leaves frames in every way, in threads; prints nothing that
depends on time, and ends with a status of its own."""
import asyncio
import faulthandler
import functools
import gc
import importlib
import os
import re
import sys
import threading
import time
import traceback

END = time.monotonic() + float(sys.argv[1])
DONE = set()


def on_time():
    return time.monotonic() < END


def imports():
    names = ["decimal", "fractions", "statistics", "argparse", "difflib", "csv"]
    while on_time():
        for name in names:
            sys.modules.pop(name, None)
            importlib.import_module(name)


def exceptions():
    def fail(n):
        try:
            if n == 0:
                raise KeyError("x")
            fail(n - 1)
        except KeyError as error:
            if n % 3:
                raise
            try:
                raise ValueError(n) from error
            except ValueError:
                traceback.format_exc()
                raise error
        finally:
            [x for x in range(n)]

    while on_time():
        try:
            fail(30)
        except KeyError:
            pass


def collections():
    class Node:
        def __init__(self):
            self.me = self

        def __del__(self):
            self.list = [1] * 3

    while on_time():
        for _ in range(200):
            Node()
        gc.collect()


def code():
    i = 0
    while on_time():
        i += 1
        space = {}
        text = "def made_%d(n):\n  x = 0\n  for i in range(n): x += i\n  return x\n"
        exec(text % (i % 1000) + "\n" * (i % 7), space)
        space["made_%d" % (i % 1000)](300)


def generators():
    def count(n):
        for i in range(n):
            yield i

    def delegate(n):
        yield from count(n)

    def echo():
        x = yield
        while True:
            x = yield x

    while on_time():
        sum(delegate(200))
        list(zip(count(50), (x for x in delegate(50))))
        e = echo()
        next(e)
        for i in range(50):
            e.send(i)
        e.close()
        g = count(3)
        next(g)
        try:
            g.throw(KeyError)
        except KeyError:
            pass


def callbacks():
    class Odd:
        def __eq__(self, other):
            return True

        def __hash__(self):
            return 1

    while on_time():
        sorted(range(300), key=lambda x: -x)
        re.sub(r"\d", lambda m: m.group() * 2, "1a2b3c" * 30)
        functools.reduce(lambda a, b: a + b, range(200))
        {Odd(): 1, Odd(): 2}


def recursion():
    def plain(n):
        return 0 if n == 0 else 1 + plain(n - 1)

    def through_c(n):
        return 0 if n == 0 else 1 + functools.partial(through_c, n - 1)()

    while on_time():
        plain(800)
        through_c(100)


def threads():
    while on_time():
        several = [threading.Thread(target=sum, args=(range(2000),)) for _ in range(4)]
        for t in several:
            t.start()
        for t in several:
            t.join()


def coroutines():
    async def leaf(n):
        await asyncio.sleep(0)
        return sum(range(n))

    async def tree():
        while on_time():
            await asyncio.gather(*[leaf(i) for i in range(30)])

    asyncio.run(tree())


def forks():
    while on_time():
        child = os.fork()
        if child == 0:
            os._exit(sum(range(1000)) & 7)
        if os.waitpid(child, 0)[1] != (sum(range(1000)) & 7) << 8:
            print("a child failed")
        time.sleep(0.02)


def tracers():
    def trace(frame, event, _):
        return trace

    def plain(n):
        return 0 if n == 0 else plain(n - 1)

    while on_time():
        sys.settrace(trace)
        plain(20)
        sys.settrace(None)
        sys.setprofile(lambda *_: None)
        plain(20)
        sys.setprofile(None)


def endless():
    while True:
        sum(range(1000))


def run(work):
    work()
    DONE.add(work.__name__)


faulthandler.enable()
sys.setswitchinterval(1e-6)
works = [imports, exceptions, collections, code, generators, callbacks, recursion, threads, coroutines,
         forks, tracers]
threading.Thread(target=endless, daemon=True).start()
several = [threading.Thread(target=run, args=(w,)) for w in works]
for t in several:
    t.start()
for t in several:
    t.join()
print(*sorted(DONE))
sys.exit(7)
