# SPDX-License-Identifier: MIT
"""python-stress.py SECONDS - makes and leaves frames in every way, in threads, and starts programs that
end in every way; prints nothing that depends on time, and ends with a status of its own."""
import asyncio
import faulthandler
import functools
import gc
import importlib
import os
import re
import signal
import subprocess
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


# Texts of programs, and their statuses.
LIVES = {
    "import sys; sys.exit(3)": 3,
    "import os, threading; threading.Thread(target=os._exit, args=(4,)).start(); threading.Event().wait()": 4,
    "import atexit; atexit.register(lambda: sum(range(99))); raise KeyError": 1,
    """
import gc
class Node:
    def __init__(self):
        self.me = self
    def __del__(self):
        sorted(range(50), key=lambda n: -n)
gc.disable()
kept = [Node() for _ in range(500)]""": 0,
    """
import asyncio
async def never():
    try:
        await asyncio.sleep(1000)
    finally:
        sum(range(1000))
async def main():
    left = [asyncio.ensure_future(never()) for _ in range(50)]
    await asyncio.sleep(0)
asyncio.run(main())""": 0,
    """
import sys
def deep():
    deep()
try:
    deep()
except RecursionError:
    sys.exit(5)""": 5,
    "import ctypes, faulthandler; faulthandler.enable(); sum(range(100000)); ctypes.string_at(0)": -signal.SIGSEGV,
    "import os, sys; sum(range(100000)); os.execv(sys.executable, [sys.executable, '-c', 'import sys; sys.exit(6)'])": 6,
    """
import os, signal, sys
got = []
signal.signal(signal.SIGSEGV, lambda *_: got.append(1))
for n in range(100):
    os.kill(os.getpid(), signal.SIGSEGV)
    sum(range(1000))
sys.exit(len(got))""": 100,
}


def lives():
    while True:
        for text, status in LIVES.items():
            got = subprocess.run([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, check=False)
            if got.returncode != status:
                print("status", got.returncode, "not", status, text, got.stderr.decode())
        if not on_time():
            break


GOT = []


def faults():
    """Sends what the program handles."""
    for sent in range(1, 1000000):
        os.kill(os.getpid(), signal.SIGSEGV)
        while len(GOT) < sent:
            time.sleep(0.001)
        if not on_time():
            break


def endless():
    while True:
        sum(range(1000))


def run(work):
    work()
    DONE.add(work.__name__)


faulthandler.enable()
signal.signal(signal.SIGSEGV, lambda number, _: GOT.append(number))
sys.setswitchinterval(1e-6)
works = [imports, exceptions, collections, code, generators, callbacks, recursion, threads, coroutines,
         forks, tracers, lives, faults]
threading.Thread(target=endless, daemon=True).start()
several = [threading.Thread(target=run, args=(w,)) for w in works]
for t in several:
    t.start()
for t in several:
    while t.is_alive():  # the first thread has to run the handler
        t.join(0.01)
print(*sorted(DONE))
sys.exit(7)
