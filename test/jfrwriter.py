# SPDX-License-Identifier: MIT
"""Writes recordings of Java's Flight Recorder: chunk([of(class, values...)...], symbols)."""
import struct
def number(n):
    out = b""
    for i in range(8):
        if n < 128: return out + bytes([n])
        out += bytes([n & 127 | 128]); n >>= 7
    return out + bytes([n & 255])
strings = []
def string(s):
    if s not in strings: strings.append(s)
    return number(strings.index(s))
def element(name, attributes, children=()):
    return string(name) + number(len(attributes)) + b"".join(string(k) + string(v) for k, v in attributes.items()) + number(len(children)) + b"".join(children)
ids = {}
def cls(name, *fields):
    ids[name] = len(ids) + 20
    return lambda: element("class", {"name": name, "id": str(ids[name])}, [element("annotation", {"class": "3"})] + [
        element("field", dict([("name", f.split()[0].strip("*[]")), ("class", str(ids[f.split()[1]]))] + [("constantPool", "true")] * ("*" in f) + [("dimension", "1")] * ("[" in f)))
        for f in fields])
def event(body):
    for width in range(1, 9):
        size = len(body) + width
        if len(number(size)) == width: return number(size) + body
def utf8(s): b = s.encode(); return b"\3" + number(len(b)) + b
def latin(s): b = s.encode("latin-1"); return b"\5" + number(len(b)) + b
def utf16(s): b = s.encode("utf-16-le"); return b"\4" + number(len(b) // 2) + b"".join(number(x) for x in struct.unpack("<%dH" % (len(b) // 2), b))
classes = [cls("boolean"), cls("int"), cls("long"), cls("float"), cls("double"), cls("java.lang.String"),
    cls("jdk.types.Symbol", "string java.lang.String"), cls("java.lang.Class", "name* jdk.types.Symbol", "modifiers int"),
    cls("jdk.types.Method", "type* java.lang.Class", "name* jdk.types.Symbol", "modifiers int"),
    cls("jdk.types.FrameType", "description java.lang.String"),
    cls("jdk.types.StackFrame", "method* jdk.types.Method", "lineNumber int", "type* jdk.types.FrameType"),
    cls("jdk.types.StackTrace", "truncated boolean", "frames[] jdk.types.StackFrame"),
    cls("java.lang.Thread", "osName java.lang.String", "osThreadId long", "javaName java.lang.String", "javaThreadId long"),
    cls("jdk.ExecutionSample", "startTime long", "weight float", "sampledThread* java.lang.Thread", "stackTrace* jdk.types.StackTrace"),
    cls("profiler.WallClockSample", "startTime long", "sampledThread* java.lang.Thread", "stackTrace* jdk.types.StackTrace", "samples int"),
    cls("profiler.LiveObject", "startTime long", "eventThread* java.lang.Thread", "stackTrace* jdk.types.StackTrace", "objectClass* java.lang.Class", "allocationSize long", "x[] double"),
    cls("jdk.ThreadPark", "startTime long", "duration long", "eventThread* java.lang.Thread", "stackTrace* jdk.types.StackTrace"),
    cls("jdk.ObjectAllocationSample", "startTime long", "eventThread* java.lang.Thread", "stackTrace* jdk.types.StackTrace", "objectClass* java.lang.Class", "weight long"),
    cls("other.Event", "text java.lang.String")]
def pools(symbols):
    def pool(name, entries): return number(ids[name]) + number(len(entries)) + b"".join(number(k) + v for k, v in entries.items())
    n = number
    return event(n(1) + n(5) + n(0) + n(0) + b"\0" + n(8) + pool("java.lang.String", {7: utf8("pooled")}) + pool("jdk.types.Symbol", symbols) +
        pool("java.lang.Class", {1: n(1) + n(0), 2: n(5) + n(0), 3: n(0) + n(0), 4: n(6) + n(0), 5: n(8) + n(0)}) + pool("jdk.types.FrameType", {1: utf8("JIT compiled"), 2: utf8("Kernel"), 3: utf8("Native")}) +
        pool("jdk.types.Method", {1: n(1) + n(2) + n(0), 2: n(1) + n(3) + n(0), 3: n(3) + n(4) + n(0), 4: n(2) + n(7) + n(0), 5: n(5) + n(4) + n(0)}) +
        pool("jdk.types.StackTrace", {1: b"\0" + n(2) + n(2) + n(9) + n(1) + n(1) + n(8) + n(1), 2: b"\1" + n(3) + n(3) + n(0) + n(2) + n(5) + n(0) + n(3) + n(2) + n(5) + n(1), 3: b"\0" + n(1) + n(4) + n(1) + n(1)}) +
        pool("java.lang.Thread", {1: utf8("os-1") + n(301) + utf8("worker") + n(11), 2: utf8("GC thread") + n(302) + b"\0" + n(0)}) + pool("boolean", {0: b"\1"}))
def chunk(events, symbols):
    global strings
    strings = [""]
    tree = element("root", {}, [element("metadata", {}, [c() for c in classes]), element("region", {"locale": "en"})])
    texts = b"".join(b"\1" if not s else utf8(s) for s in strings)
    metadata = event(number(0) + number(9) + number(0) + number(1) + number(len(strings)) + texts + tree)
    body = b"".join(events[:2]) + pools(symbols) + b"".join(events[2:])
    size = 68 + len(body) + len(metadata)
    return b"FLR\0" + struct.pack(">HHQQQQQQQ", 2, 1, size, 68 + sum(map(len, events[:2])), 68 + len(body), 10**18, 10**9, 5, 10**7) + b"\0\0\0\1" + body + metadata
n = number
def of(name, *values): return event(number(ids[name]) + b"".join(values))
