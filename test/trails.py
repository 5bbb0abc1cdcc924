# SPDX-License-Identifier: MIT
"""trails.py FILE.tt CHECK... - looks at the addresses of a profile, by doc/format.md alone.

  sums        self of each context is what its addresses have; of each function too, with
              what was evicted of it
  some        there are addresses
  lines       functions and lines of addresses are those of addr2line -i, in the modules that
              are in the folder of the profile
  total       the sum of the first metric of time at addresses, and the sum of self
"""
import collections
import os
import struct
import subprocess
import sys

NONE = 0xFFFFFFFF


class Profile:
    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        (_, _, _, _, sections, _, self.contexts, self.arcs, self.blocks, self.metrics, self.strands, _) = \
            struct.unpack_from("<8sIIQIIIIIIII", self.data)
        table = [struct.unpack_from("<IIQQII", self.data, 64 + 32 * i) for i in range(sections)]
        extras = table[0][5]
        table += [struct.unpack_from("<IIQQII", self.data, 64 + 32 * (sections + i)) for i in range(extras)]
        self.table = {(kind, key): (offset, count, width) for kind, key, offset, count, width, _ in table}
        offset, count, _ = self.table[1, 0]
        self.strings = self.data[offset:offset + count]
        self.block = self.rows(3, "<IIIIIIIIQ")
        self.block_of = [row[0] for row in self.rows(5, "<I")]
        self.metric = self.rows(4, "<IIII")
        self.place = self.rows(256, "<IIQII")
        self.frame = self.rows(257, "<IIII")
        self.trail = self.rows(258, "<IIII")
        self.entry = self.rows(259, "<IIQQ")

    def rows(self, kind, form, key=0):
        offset, count, width = self.table.get((kind, key), (0, 0, struct.calcsize(form)))
        assert width == struct.calcsize(form)
        return [struct.unpack_from(form, self.data, offset + i * width) for i in range(count)]

    def text(self, at):
        return self.strings[at:self.strings.index(b"\0", at)].decode(errors="replace")

    def self_of(self, metric):
        sums = [row[0] for row in self.rows(7, "<Q", metric)]
        return [b - a for a, b in zip(sums, sums[1:])]

    def beside(self, metric):
        return [row[1] for row in self.rows(12, "<QQ", metric)]

    def function(self, trail):
        _, _, _, first, frames = self.place[self.trail[trail][2]]
        return self.frame[first + frames - 1][0]

    def has_address(self, trail):
        return self.trail[trail][2] != NONE


def sums(p, calls=False):
    for m in range(p.metrics):
        if p.metric[m][2] & 1 and not calls:
            continue
        here, of_block, want = collections.Counter(), collections.Counter(), collections.Counter()
        for _, metric, trail, amount in p.entry:
            if metric == m:
                here[p.trail[trail][1]] += amount
                if p.has_address(trail):
                    of_block[p.function(trail)] += amount
        own, beside = p.self_of(m), p.beside(m)
        for c in range(1, p.contexts):
            block = p.block_of[c]
            name, module = p.text(p.block[block][0]), p.text(p.block[block][1])
            if not module:  # a marker: "[broken stack]"
                continue
            assert here[c] == own[c], (p.text(p.metric[m][0]), name, here[c], own[c])
            want[block] += own[c]
        for block, amount in enumerate(beside):
            if p.text(p.block[block][1]):
                want[block] += amount
        has_lines = any(row[3] == 3 for row in p.block)  # which have the self of their functions
        assert has_lines or +want == +of_block, (p.text(p.metric[m][0]), want, of_block)


def total(p):
    m = next(i for i in range(p.metrics) if p.metric[i][2] & 2)
    print(sum(e[3] for e in p.entry if e[1] == m), sum(p.self_of(m)) + sum(p.beside(m)))


def lines(p, folder, most=1000):
    asked = collections.defaultdict(list)
    for module, _, address, first, frames in p.place:
        asked[p.text(module)].append((address, p.frame[first:first + frames]))
    wrong = right = 0
    for module, places in asked.items():
        if not os.path.isfile(module) or not module.startswith(folder):
            continue
        places = places[:most]
        out = subprocess.run(["addr2line", "-afiCe", module], text=True, check=True, stdout=subprocess.PIPE,
                             input="".join("%#x\n" % a for a, _ in places)).stdout.splitlines()
        answer, current = {}, []
        for line in out:
            if line.startswith("0x"):
                current = answer[int(line, 16)] = []
            else:
                current.append(line)
        for address, frames in places:
            got = []
            for block, file, line, _ in reversed(frames):
                got.append((p.text(p.block[block][0]).split("(")[0], "%s:%d" % (os.path.basename(p.text(file)), line)))
            said = answer[address]
            want = [(name.split("(")[0], os.path.basename(where.split(" ")[0]))
                    for name, where in zip(said[::2], said[1::2])]
            if want[0][1].startswith("??") or want[0][1].endswith(":?"):
                continue
            right += got == want
            if got != want:
                wrong += 1
                print("%s %#x: %s, not %s" % (module, address, got, want))
    print(right, "are right")
    assert right and not wrong


def main():
    p = Profile(sys.argv[1])
    for check in sys.argv[2:]:
        if check == "sums":
            sums(p)
        elif check == "some":
            assert p.entry and p.trail and p.place
        elif check == "lines":
            lines(p, os.path.dirname(os.path.realpath(sys.argv[1])))
        elif check == "total":
            total(p)
        else:
            sys.exit("no check is called " + check)


if __name__ == "__main__":
    main()
