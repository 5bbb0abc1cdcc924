# SPDX-License-Identifier: MIT
"""python-subinterpreter.py SECONDS - uses so much CPU time in a second interpreter, which it calls,
and then as much in its own."""
import sys
import time

try:
    import _interpreters as interpreters

    run = interpreters.exec
except ImportError:
    import _xxsubinterpreters as interpreters

    run = interpreters.run_string

CODE = f"""
import time


def inside():
    end = time.process_time() + {sys.argv[1]}
    while time.process_time() < end:
        spin()


def spin():
    for i in range(1000):
        pass


inside()
"""


def enter():
    run(second, CODE)


def outside():
    end = time.process_time() + float(sys.argv[1])
    while time.process_time() < end:
        for i in range(1000):
            pass


def main():
    enter()
    outside()


second = interpreters.create()
main()
