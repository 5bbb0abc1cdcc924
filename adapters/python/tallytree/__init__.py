# SPDX-License-Identifier: MIT
"""Tallytree in a Python program: calls of functions, scopes, a report.

    import tallytree

    tallytree.start("output=run.tt")
    with tallytree.scope("parse"):
        ...
    tallytree.stop()

To profile a whole script, run `python3 -m tallytree script.py`."""
import functools
import inspect
import sys

from . import _tallytree
from ._tallytree import hide, start, stop

__all__ = ["function", "report", "scope", "start", "stop"]


class scope(_tallytree.scope):
    """scope(name): charges to NAME what a `with` statement or a decorated function does."""

    __slots__ = ()

    def __call__(self, f):
        if inspect.isgeneratorfunction(f) or inspect.iscoroutinefunction(f) or inspect.isasyncgenfunction(f):
            raise TypeError(f"{f.__qualname__} can wait; a scope is for functions that do not")

        @functools.wraps(f)
        def inside(*args, **words):
            with self:
                return f(*args, **words)

        hide(inside.__code__)
        return inside


def function(f):
    """A decorator: the function is a scope of its name."""
    return scope(f.__qualname__)(f)


def report(file=None):
    """Prints a table of functions and scopes and their tree to FILE, which has a descriptor
    (default: standard output)."""
    file = file or sys.stdout
    file.flush()
    _tallytree.print_report(file.fileno())
