# SPDX-License-Identifier: MIT
# perf-data.py FOLDER - small files as `perf record` writes them, in both orders of bytes:
# two events, mappings, two processes, records out of order.
import struct, subprocess, sys

folder = sys.argv[1]
IP, TID, TIME, CHAIN, CPU, PERIOD, IDENTIFIER = 1, 2, 4, 32, 128, 256, 1 << 16
KERNEL, USER = 1, 2
WHOLE = (1 << 64) - 1


class File:
    def __init__(self, order):
        self.order = order
        self.data = b""
        self.seen = 0

    def pack(self, form, *values):
        return struct.pack(self.order + form, *values)

    def flag(self, *bits):
        return sum(1 << (63 - b if self.order == ">" else b) for b in bits)

    # A clock with stacks, and an event that has another set of fields.
    def attributes(self, kind, config, holds):
        return self.pack("IIQQQQQ", kind, 128, config, 1000, holds, 0, self.flag(18)) + bytes(80)

    def events(self):
        return [(self.attributes(1, 0, IDENTIFIER | IP | TID | TIME | CHAIN | PERIOD), 11, b"cpu-clock"),
                (self.attributes(1, 2, IDENTIFIER | IP | TID | TIME | CPU), 12, b"page-faults")]

    def record(self, type, misc, body):
        body += bytes(-len(body) % 8)
        self.data += self.pack("IHH", type, misc, 8 + len(body)) + body

    # What is no sample ends in who, when, and which event.
    def other(self, type, misc, body, pid, time):
        body += bytes(-len(body) % 8)
        self.record(type, misc, body + self.pack("IIQQ", pid, pid, time, 11))

    def map(self, pid, start, size, offset, name, time=1, misc=USER):
        self.other(10, misc, self.pack("IIQQQIIQQII", pid, pid, start, size, offset, 0, 0, 0, 0, 5, 2) + name + b"\0", pid, time)

    def comm(self, pid, name, time):
        self.other(3, 0, self.pack("II", pid, pid) + name + b"\0", pid, time)

    def clock(self, pid, time, period, chain):
        self.record(9, USER, self.pack("QQIIQQQ%dQ" % len(chain), 11, chain[1], pid, pid, time, period, len(chain), *chain))

    def fault(self, pid, time, ip):
        self.record(9, USER, self.pack("QQIIQII", 12, ip, pid, pid, time, 3, 0))

    def records(self):
        user, kernel = WHOLE - 511, WHOLE - 127
        self.map(100, 0x400000, 0x2000, 0, b"/no/such/program")
        self.map(100, 0x7f0000001000, 0x1000, 0x1000, b"/no/such/lib.so")
        self.comm(100, b"small one", 1)
        self.record(68, 0, b"")
        self.clock(100, 50, 5, [user, 0x7f0000001010, 0x401005])
        self.clock(100, 30, 7, [user, 0x400020, 0x401005])
        self.other(7, 0, self.pack("IIIIQ", 200, 100, 200, 100, 60), 200, 60)
        # Later in the file, earlier in time: before its processor's round is over.
        self.map(200, 0x7f0000001000, 0x1000, 0, b"/no/such/other.so", 70)
        self.comm(200, b"child", 65)
        self.clock(200, 80, 11, [user, 0x7f0000001010, 0x401005])
        self.clock(200, 62, 13, [user, 0x7f0000001010, 0x401005])
        self.record(68, 0, b"")
        self.fault(100, 75, 0x400020)
        self.fault(200, 90, 0x12345)
        self.clock(100, 94, 3, [kernel, 0xFFFFFFFF81000010, 0xFFFFFFFF81000100, user, 0x401005])
        self.other(2, 0, self.pack("QQ", 11, 3), 100, 95)
        self.record(68, 0, b"")

    def feature(self, text):
        return self.pack("I", len(text) + 1) + text + b"\0"

    def features(self):
        names = self.pack("II", 2, 128)
        for attributes, id, name in self.events():
            names += attributes + self.pack("I", 1) + self.feature(name + b":u") + self.pack("Q", id)
        return [(4, self.feature(b"6.1.0")), (11, self.pack("I", 2) + self.feature(b"perf") + self.feature(b"record")), (12, names)]

    # The head: of 104 bytes; ids; attributes; then data and features.
    def whole(self, size=None):
        ids, attributes = b"", b""
        for event, id, name in self.events():
            attributes += event + self.pack("QQ", 104 + len(ids), 8)
            ids += self.pack("Q", id)
        begin = 104 + len(ids) + len(attributes)
        at = begin + len(self.data) + 16 * len(self.features())
        table, text, bits = b"", b"", 0
        for bit, content in self.features():
            table += self.pack("QQ", at + len(text), len(content))
            text += content
            bits |= 1 << bit
        head = (b"PERFILE2" if self.order == "<" else b"2ELIFREP") + self.pack(
            "12Q", 104, 144, 104 + len(ids), len(attributes), begin, len(self.data) if size is None else size, 0, 0, bits, 0, 0, 0)
        return head + ids + attributes + self.data + (table + text if size is None else b"")

    # Events and features are records.
    def pipe(self):
        data, self.data = self.data, b""
        for event, id, name in self.events():
            self.record(64, 0, event + self.pack("Q", id))
        for bit, content in self.features():
            self.record(80, 0, self.pack("Q", bit) + content)
        head = (b"PERFILE2" if self.order == "<" else b"2ELIFREP") + self.pack("Q", 16)
        return head + self.data + data


# All records as one stream of zstd, in pieces that end anywhere; marks of rounds lie within.
def packed():
    file = File("<")
    file.records()
    stream = subprocess.run(["zstd", "-c"], input=file.data, capture_output=True, check=True).stdout
    file.data = b""
    for at in range(0, len(stream), 56):
        piece = stream[at : at + 56]
        file.data += file.pack("IHHQ", 83, 0, 16 + len(piece) + -len(piece) % 8, len(piece)) + piece + bytes(-len(piece) % 8)
    return file.whole()


def write(name, content):
    open(folder + "/" + name, "wb").write(content)


for name, order in (("little", "<"), ("big", ">")):
    file = File(order)
    file.records()
    write(name, file.whole())
    write(name + "-ended", file.whole(size=0))
    write(name + "-pipe", file.pipe())
write("packed-small", packed())
