# SPDX-License-Identifier: MIT
"""python-shares.py PAIRS FOLDED - holds a profile of python-shapes.py to what it does.

PAIRS is what `python-shapes.py --pairs` printed; the lines of FOLDED end in numbers of samples.
"""
import sys

# Of seventeen shares, sixteen degrees of freedom: one run in a million is above.
CHI_SQUARE_MOST = 60.1

pairs, weights, names = set(), {}, set()
with open(sys.argv[1]) as file:
    for line in file:
        kind, first, second = line.rstrip("\n").split("\t")
        if kind == "pair":
            pairs.add((first, second))
            names |= {first, second}
        else:
            weights[first] = int(second)

seen = dict.fromkeys(weights, 0)
wrong, direct = {}, 0
with open(sys.argv[2]) as file:
    for line in file:
        stack, samples = line.rsplit(" ", 1)
        frames = stack.split(";")
        if "all_shapes" not in frames:
            continue
        frames = frames[frames.index("all_shapes"):]
        own = [f for f in frames if f in names]
        if "work" in own and len(own) > 1 and own[1] in seen:
            seen[own[1]] += int(samples)
        for pair in zip(own, own[1:]):
            if pair not in pairs:
                wrong[pair] = wrong.get(pair, 0) + int(samples)
        # The sort is in C: its functions are in between.
        for caller, callee in zip(frames, frames[1:]):
            direct += (caller, callee) == ("shape_sort", "sort_key")

total, all_weights = sum(seen.values()), sum(weights.values())
chi = 0
for shape, weight in weights.items():
    expected = total * weight / all_weights
    chi += (seen[shape] - expected) ** 2 / expected if expected else 0
    print(f"{shape:26} {seen[shape]:6} samples, {expected:8.1f} expected")
print(f"{total} samples, chi-square {chi:.1f}; wrong neighbours {wrong}; no C between {direct}")
sys.exit(total < 50 or chi > CHI_SQUARE_MOST or bool(wrong) or direct > 0)
