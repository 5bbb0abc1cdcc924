# SPDX-License-Identifier: MIT
"""python-signals.py WHAT SIGNAL - a program that has its own plans for SIGSEGV or SIGBUS."""
import ctypes
import faulthandler
import mmap
import os
import signal
import subprocess
import sys
import time

NAME = sys.argv[2]
FAULT = getattr(signal, NAME)
GOT = []


def burn(seconds):
    end = time.process_time() + seconds
    x = 0
    while time.process_time() < end:
        for i in range(1000):
            x += i
    return x


def child_says():
    text = f"import signal; print(signal.getsignal(signal.{NAME}))"
    return subprocess.run([sys.executable, "-c", text], stdout=subprocess.PIPE, check=True).stdout


def beyond_end_of_file():
    """An address in a page that is mapped, and not in the file."""
    fd = os.memfd_create("short")
    os.ftruncate(fd, 2 * mmap.PAGESIZE)
    pages = mmap.mmap(fd, 2 * mmap.PAGESIZE)
    os.ftruncate(fd, mmap.PAGESIZE)
    GOT.append(ctypes.c_char.from_buffer(pages))  # it stays mapped
    return ctypes.addressof(GOT[-1]) + mmap.PAGESIZE


def crash():
    ctypes.string_at(0 if FAULT == signal.SIGSEGV else beyond_end_of_file())


def misled():
    """The frame that runs has a caller which cannot be read.  CPython 3.11."""
    address = ctypes.c_uint64.from_address(id(sys._getframe()) + 24).value
    previous = ctypes.c_uint64.from_address(address + 48)
    kept = previous.value
    wrong = 8192 if FAULT == signal.SIGSEGV else beyond_end_of_file()
    clock = time.process_time
    previous.value = wrong
    end = clock() + 0.3
    while clock() < end:
        pass
    previous.value = kept
    print("as if nothing had happened")


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
    os.kill(os.getpid(), FAULT)
    burn(10)


def handled():
    signal.signal(FAULT, lambda number, _: GOT.append(number))
    burn(0.2)
    for _ in range(50):
        os.kill(os.getpid(), FAULT)
        burn(0.005)
    print(len(GOT), signal.getsignal(FAULT) is not signal.SIG_DFL)
    print(signal.signal(FAULT, signal.SIG_DFL) is signal.SIG_DFL)
    print(signal.getsignal(FAULT) is signal.SIG_DFL)


def ignored():
    signal.signal(FAULT, signal.SIG_IGN)
    os.kill(os.getpid(), FAULT)
    burn(0.2)
    print(child_says())
    signal.signal(FAULT, signal.SIG_DFL)
    burn(0.05)
    print(child_says())


def blocked():
    signal.signal(FAULT, lambda number, _: GOT.append(number))
    signal.pthread_sigmask(signal.SIG_BLOCK, [FAULT])
    os.kill(os.getpid(), FAULT)
    burn(0.2)
    print(GOT, signal.sigpending())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [FAULT])
    print(GOT)


def once():
    """A handler in C that the system forgets when it has run."""
    libc = ctypes.CDLL(None)
    kind = ctypes.CFUNCTYPE(None, ctypes.c_int)
    note = kind(GOT.append)
    libc.sysv_signal.argtypes = [ctypes.c_int, kind]
    libc.sysv_signal.restype = ctypes.c_void_p
    libc.sysv_signal(FAULT, note)
    burn(0.2)
    os.kill(os.getpid(), FAULT)
    print(GOT)
    sys.stdout.flush()
    burn(0.05)
    os.kill(os.getpid(), FAULT)
    burn(10)


globals()[sys.argv[1]]()
