#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many bytes each set of retainers has, of a heap that examples/lazy wrote.

    root NUMBER:NAME OBJECT...
    object OBJECT BYTES NUMBER:NAME|- OBJECT...      with a name it is a retainer itself

Each retainer is asked alone what it reaches without passing another one."""
import collections
import sys

size, owner, references, roots = {}, {}, {}, []
for line in sys.stdin:
    word = line.split()
    if word[0] == "root":
        roots.append((word[1], word[2:]))
    else:
        size[word[1]], references[word[1]] = int(word[2]), word[4:]
        if word[3] != "-":
            owner[word[1]] = word[3]

retained_by = collections.defaultdict(set)


def reach(block, found):
    seen, todo = set(), list(found)
    while todo:
        o = todo.pop()
        if o in seen or o not in size:  # of static ones others speak
            continue
        seen.add(o)
        retained_by[o].add(block)
        if o not in owner:
            todo += references[o]


for block, found in roots:
    reach(block, found)
for o, block in owner.items():
    reach(block, references[o])

total = collections.Counter()
for o, blocks in retained_by.items():
    names = sorted(b.split(":", 1)[1] for b in blocks)
    total["MANY" if len(blocks) > 8 else ",".join(names)] += size[o]
assert len(retained_by) == len(size), "all that is there is alive"
for name, amount in total.items():
    print(amount, name)
