# SPDX-License-Identifier: MIT
"""python-signals.py WHAT - a program that has its own plans for SIGSEGV."""
import ctypes
import faulthandler
import os
import signal
import subprocess
import sys
import time

GOT = []


def burn(seconds):
    end = time.process_time() + seconds
    x = 0
    while time.process_time() < end:
        for i in range(1000):
            x += i
    return x


def child_says():
    text = "import signal; print(signal.getsignal(signal.SIGSEGV))"
    return subprocess.run([sys.executable, "-c", text], stdout=subprocess.PIPE, check=True).stdout


def crash():
    ctypes.string_at(0)


def crash_plainly():
    burn(0.2)
    crash()


def crash_with_faulthandler():
    faulthandler.enable()
    burn(0.2)
    child_says()
    crash()


def crash_without_faulthandler_again():
    faulthandler.enable()
    burn(0.05)
    faulthandler.disable()
    burn(0.05)
    crash()


def killed():
    burn(0.2)
    os.kill(os.getpid(), signal.SIGSEGV)
    burn(10)


def handled():
    signal.signal(signal.SIGSEGV, lambda number, _: GOT.append(number))
    burn(0.2)
    for _ in range(50):
        os.kill(os.getpid(), signal.SIGSEGV)
        burn(0.005)
    print(len(GOT), signal.getsignal(signal.SIGSEGV) is not signal.SIG_DFL)
    print(signal.signal(signal.SIGSEGV, signal.SIG_DFL) is signal.SIG_DFL)
    print(signal.getsignal(signal.SIGSEGV) is signal.SIG_DFL)


def ignored():
    signal.signal(signal.SIGSEGV, signal.SIG_IGN)
    os.kill(os.getpid(), signal.SIGSEGV)
    burn(0.2)
    print(child_says())
    signal.signal(signal.SIGSEGV, signal.SIG_DFL)
    burn(0.05)
    print(child_says())


def blocked():
    signal.signal(signal.SIGSEGV, lambda number, _: GOT.append(number))
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGSEGV])
    os.kill(os.getpid(), signal.SIGSEGV)
    burn(0.2)
    print(GOT, signal.sigpending())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGSEGV])
    print(GOT)


def once():
    """A handler in C that the system forgets when it has run."""
    libc = ctypes.CDLL(None)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int)
    note = kind(GOT.append)
    libc.sysv_signal.argtypes = [ctypes.c_int, kind]
    libc.sysv_signal.restype = ctypes.c_void_p
    libc.sysv_signal(signal.SIGSEGV, note)
    burn(0.2)
    os.kill(os.getpid(), signal.SIGSEGV)
    print(GOT)
    sys.stdout.flush()
    burn(0.05)
    os.kill(os.getpid(), signal.SIGSEGV)
    burn(10)


globals()[sys.argv[1]]()
