# SPDX-License-Identifier: MIT
"""python-same.py WHAT [ARG]... - says what a program can know about itself, then does WHAT."""
import atexit
import concurrent.futures
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import warnings


class Kept:
    """Pickled by its module's name, `__main__`."""


def square(n):
    return n * n


def know():
    print(sys.argv, __name__, __file__, sys.path, sys.flags, sys.warnoptions, sys.executable)
    print(getattr(sys, "orig_argv", None), sys.getrecursionlimit(), sys.getswitchinterval())
    print(sorted((k, v) for k, v in os.environ.items() if k != "_"))
    print([signal.getsignal(n) for n in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGTERM)])
    print(sys.modules["__main__"].__spec__, sys.modules["sitecustomize"].__file__ if "sitecustomize" in sys.modules else None)
    print(threading.current_thread(), threading.active_count(), sys.gettrace(), type(pickle.loads(pickle.dumps(Kept()))))
    subprocess.run([sys.executable, "-c", "import sys; print(sys.path, sys.flags)"], check=True)


def by_exception():
    try:
        raise KeyError("inner")
    except KeyError as error:
        raise ValueError("outer") from error


def by_atexit():
    atexit.register(print, "last words")
    atexit.register(by_exception)


def by_thread():
    thread = threading.Thread(target=by_exception, name="one")
    thread.start()
    thread.join()
    threading.Thread(target=lambda: print("a thread that is waited for")).start()


def by_pool(way):
    with multiprocessing.get_context(way).Pool(2) as pool:
        print(pool.map(square, range(20)))
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        print(list(pool.map(square, range(20))))


def by_interrupt():
    signal.raise_signal(signal.SIGINT)


def by_fork():
    sys.stdout.flush()
    child = os.fork()
    if not child:
        print("the child", square(3))
        sys.exit(3)
    print("status", os.waitpid(child, 0)[1])


def by_exec():
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-c", "import sys; print(sys.path, sys.flags); sys.exit(9)"])


def by_recursion():
    by_recursion()


def by_hook():
    """A profiler of the program's own."""
    seen = []
    sys.setprofile(lambda frame, event, arg: seen.append(event) if frame.f_code is square.__code__ else None)
    square(3)
    sys.setprofile(None)
    print(seen)


WAYS = {
    "exit": lambda: sys.exit(3),
    "exit_text": lambda: sys.exit("a text"),
    "exit_now": lambda: (print("now", flush=True), os._exit(4)),  # pylint: disable=protected-access
    "exception": by_exception,
    "warning": lambda: warnings.warn("careful"),
    "atexit": by_atexit,
    "thread": by_thread,
    "fork": lambda: by_pool("fork"),
    "spawn": lambda: by_pool("spawn"),
    "forks": by_fork,
    "exec": by_exec,
    "interrupt": by_interrupt,
    "kill": lambda: (sys.stdout.flush(), os.kill(os.getpid(), signal.SIGKILL)),
    "abort": lambda: (sys.stdout.flush(), os.abort()),
    "recursion": by_recursion,
    "hook": by_hook,
    "input": lambda: print(sys.stdin.read()),
}

if __name__ == "__main__":
    know()
    WAYS[sys.argv[1]]()
