# SPDX-License-Identifier: MIT
"""Seventeen ways to call a function, each with a share of the work that is known.

python-shapes.py ROUNDS   does the work
python-shapes.py --pairs  prints which function calls which, as the interpreter tells a profile
                          function, and the weight of each shape
"""
import functools
import json
import random
import re
import sys

UNITS = 1500


def work(units):
    for _ in range(units * UNITS // 100):
        x = 0
        for i in range(100):
            x += i * i


def shape_plain():
    work(1)


def shape_twice():
    work(1)
    work(1)


def shape_nested():
    def inner():
        work(3)

    inner()


def steps(n):
    for _ in range(n):
        yield work(1)


def shape_generator():
    for _ in steps(4):
        pass


def delegate(n):
    yield from steps(n)


def shape_delegate():
    list(delegate(5))


def shape_comprehension():
    [work(1) for _ in range(5)]


def recurse(n):
    work(1)
    if n > 1:
        recurse(n - 1)


def shape_recursion():
    recurse(6)


def sort_key(x):
    work(1)
    return x


def shape_sort():
    sorted(range(6), key=sort_key)


def replacement(_):
    work(1)
    return ""


def shape_regular_expression():
    re.sub("x", replacement, "xxxxxxx")


class Unknown:
    pass


def as_json(_):
    work(1)
    return 0


def shape_json():
    json.dumps([Unknown()] * 8, default=as_json)


class Finalized:
    def __del__(self):
        work(9)


def shape_finalizer():
    Finalized()


class Meta(type):
    def __call__(cls):
        work(10)
        return super().__call__()


class Made(metaclass=Meta):
    pass


def shape_metaclass():
    Made()


def raise_below(n):
    if n == 0:
        work(11)
        raise ValueError
    raise_below(n - 1)


def shape_exception():
    try:
        raise_below(5)
    except ValueError:
        pass


def shape_map():
    list(map(lambda _: work(1), range(12)))


def shape_reduce():
    functools.reduce(lambda _, __: work(1), range(14))


class Compared:
    def __lt__(self, other):
        work(14)
        return False


def shape_operator():
    Compared() < Compared()


async def awaited():
    work(15)


async def awaiting():
    await awaited()


def shape_coroutine():
    try:
        awaiting().send(None)
    except StopIteration:
        pass


SHAPES = {
    shape_plain: 1,
    shape_twice: 2,
    shape_nested: 3,
    shape_generator: 4,
    shape_delegate: 5,
    shape_comprehension: 5,
    shape_recursion: 6,
    shape_sort: 6,
    shape_regular_expression: 7,
    shape_json: 8,
    shape_finalizer: 9,
    shape_metaclass: 10,
    shape_exception: 11,
    shape_map: 12,
    shape_reduce: 13,
    shape_operator: 14,
    shape_coroutine: 15,
}


def all_shapes():
    for shape in SHAPES:
        shape()


def name_of(code):
    return getattr(code, "co_qualname", code.co_name)


def print_pairs():
    pairs = set()

    def note(frame, event, _):
        if event == "call" and frame.f_back:
            pairs.add((name_of(frame.f_back.f_code), name_of(frame.f_code)))

    sys.setprofile(note)
    all_shapes()
    sys.setprofile(None)
    for caller, callee in sorted(pairs):
        print("pair", caller, callee, sep="\t")
    for shape, weight in SHAPES.items():
        print("weight", shape.__name__, weight, sep="\t")


def main():
    if sys.argv[1] == "--pairs":
        print_pairs()
        return
    # Rounds of one length would be in step with a sampler that has nearly the same period.
    pause = random.Random(1)
    for _ in range(int(sys.argv[1])):
        all_shapes()
        work(pause.randrange(sum(SHAPES.values())))


main()
