#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sending profiles: a collector that takes them, is busy, fails, says nothing, closes the
connection or is away gets each of them once, or again if an answer was lost, with ids that do not
change, and with the figures of `report --json`.  What arrives is decoded here, by the protocol's numbers of fields."""
import collections
import ctypes
import email.utils
import gzip
import http.server
import json
import os
import resource
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
TALLYTREE = os.path.join(os.path.abspath(os.environ.get("TT_BUILD", "build")), "tallytree")
TMP = tempfile.mkdtemp()
ENV = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy") and k[:5] != "OTEL_"}
WAITS = ["--timeout", "60s"]  # for busy machines
ENV["XDG_STATE_HOME"] = TMP + "/state"
count = 0
try:
    ctypes.CDLL("libcurl.so.4")
except OSError:
    os.rmdir(TMP)
    print("1..0 # SKIP libcurl is not installed")
    sys.exit()


def check(what, test, why_not=None):
    """Holds when test() returns nothing; what it returns is wrong."""
    global count
    count += 1
    if why_not:
        print(f"ok {count} - {what} # SKIP {why_not}", flush=True)
        return
    try:
        wrong = test()
    except Exception as e:  # pylint: disable=broad-except
        wrong = repr(e) + str(getattr(e, "stderr", "") or "")
    print(f"{'not ok' if wrong else 'ok'} {count} - {what}", flush=True)
    if wrong:
        os.write(2, "".join(f"# {line}\n" for line in str(wrong).splitlines()).encode())


def run(*command, text=None):
    return subprocess.run(command, input=text, check=True, capture_output=True, text=True, cwd=TMP,
                          env=ENV).stdout


# ── The collector ─────────────────────────────────────────────────────────────────────

class Collector(http.server.ThreadingHTTPServer):
    """Answers requests by a plan, and by 200 when that is over: "429 1", "503", "hang", "close" (it
    closes the connection instead of reading), "half" (it does so in the middle of the body), "forget" (it keeps
    the profile, and closes), "cut" (the same in the middle of its answer), "early" (503 before it has read the body),
    "date 2" (503, and a date in so many seconds), "307 URL", "partial"."""
    daemon_threads = True

    def __init__(self, *plan, port=0):
        super().__init__(("127.0.0.1", port), Answer)
        self.plan, self.taken, self.asked = list(plan), [], []
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.held = threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def handle_error(self, request, client_address):
        pass

    def stop(self):
        self.held.set()
        self.shutdown()
        self.server_close()


class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def end_early(self, step):
        """With a reset: what is not read is lost."""
        self.close_connection = True
        if step == "half":
            self.rfile.read(int(self.headers["Content-Length"]) // 2)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            return
        if step == "early":
            self.answer(503)
        self.connection.shutdown(socket.SHUT_RDWR)

    def do_POST(self):
        server = self.server
        step, *value = (server.plan.pop(0) if server.plan else "200").split(" ", 1)
        if step in ("close", "half", "early"):
            server.asked.append((step, time.monotonic(), None))
            self.end_early(step)
            return
        body = self.rfile.read(int(self.headers["Content-Length"]))
        request = (self.path, dict(self.headers), body)
        server.asked.append((step, time.monotonic(), request))
        if step in ("200", "forget", "cut", "partial", "hold"):
            server.taken.append(request)
        if step in ("hang", "hold"):
            server.held.wait(60)
        elif step == "forget":
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        elif step == "cut":
            self.close_connection = True
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n\x0a")
        elif step == "date":
            self.answer(503, Retry_After=email.utils.formatdate(time.time() + int(value[0]), usegmt=True))
        elif step == "partial":
            message = b"\x08\x02\x12\x03bad"
            self.answer(200, b"\x0a" + bytes([len(message)]) + message)
        elif step == "429":
            self.answer(429, Retry_After=value[0])
        elif step == "307":
            self.answer(307, Location=value[0])
        else:
            self.answer(int(step), b"" if step == "200" else b"the reason\nmore")


def push(target, *arguments, way="otlp", queue=None, env=None):
    """Its status, output and complaints."""
    url = target if isinstance(target, str) else target.url
    done = subprocess.run([TALLYTREE, "push", "--" + way, url, "--queue", queue or fresh(), *WAITS, *arguments],
                          capture_output=True, text=True, cwd=TMP, env={**ENV, **(env or {})},
                          timeout=300, check=False)
    return done.returncode, done.stdout, done.stderr


children = []  # none of them outlives a check that fails


def start(*command, **how):
    children.append(subprocess.Popen(command, env=ENV, text=True, **how))
    return children[-1]


def wait_for(holds):
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end, "nothing came for two minutes"
        time.sleep(0.02)


def await_taken(c, n):
    wait_for(lambda: len(c.taken) >= n)


number = 0


def fresh():
    global number
    number += 1
    return f"{TMP}/queue{number}"


def nowhere():
    """An address where no server is."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{s.getsockname()[1]}"


# ── What it received ──────────────────────────────────────────────────────────────────

def varint(d, i):
    n = shift = 0
    while True:
        b = d[i]
        i += 1
        n |= (b & 127) << shift
        shift += 7
        if b < 128:
            return n, i


def fields(d):
    out, i = collections.defaultdict(list), 0
    while i < len(d):
        key, i = varint(d, i)
        if key & 7 == 0:
            v, i = varint(d, i)
        elif key & 7 == 1:
            v, i = struct.unpack("<Q", d[i:i + 8])[0], i + 8
        else:
            assert key & 7 == 2
            size, i = varint(d, i)
            v, i = d[i:i + size], i + size
            assert len(v) == size
        out[key >> 3].append(v)
    return out


def packed(d):
    out, i = [], 0
    while i < len(d):
        n, i = varint(d, i)
        out.append(n)
    return out


def one(f, n, default=0):
    return f[n][0] if f[n] else default


def value_of(d):
    f = fields(d)
    return f[1][0].decode() if f[1] else one(f, 3)


Profile = collections.namedtuple("Profile", "id metric unit resource leaf start length")


def otlp(body):
    """The profiles of a request: the self of each function is in `leaf`."""
    data = fields(gzip.decompress(body))
    d, out = fields(one(data, 2)), []
    text = [s.decode() for s in d[5]]
    name = [text[one(fields(f), 1)] for f in d[3]]
    leaf = []
    for stack in d[7]:
        where = packed(one(fields(stack), 1, b""))
        line = fields(d[2][where[0]])[3][0] if where else None
        leaf.append(name[one(fields(line), 1)] if line else "[root]")
    for resource in data[1]:
        resource = fields(resource)
        owner = {}
        for a in fields(one(resource, 1))[1]:
            a = fields(a)
            assert a[1][0].decode() not in owner
            owner[a[1][0].decode()] = value_of(a[2][0])
        for p in [p for scope in resource[2] for p in fields(scope)[2]]:
            p, sums = fields(p), collections.Counter()
            for s in map(fields, p[2]):
                sums[leaf[one(s, 1)]] += packed(s[4][0])[0]
            kind = fields(one(p, 1))
            out.append(Profile(p[7][0].hex(), text[one(kind, 1)], text[one(kind, 2)], owner, sums,
                               one(p, 3), one(p, 4)))
    return out


def pprof(body):
    """The same of pprof's format: sums by metric."""
    f = fields(gzip.decompress(body))
    text = [s.decode() for s in f[6]]
    name = {one(fields(x), 1): text[one(fields(x), 2)] for x in f[5]}
    where = {one(fields(x), 1): name[one(fields(fields(x)[4][0]), 1)] for x in f[4]}
    kinds, sums = [text[one(fields(k), 1)] for k in f[1]], collections.defaultdict(collections.Counter)
    for s in map(fields, f[2]):
        stack = packed(one(s, 1, b""))
        for kind, value in zip(kinds, packed(s[2][0])):
            sums[kind][where[stack[0]] if stack else "[root]"] += value
    return sums


def reported(path, metric):
    """The self of each function, as `report --json` has it."""
    table = json.loads(run(TALLYTREE, "report", "flat", "--json", "--limit", "all", "--metric", metric, path))
    keys = [c["key"] for c in table["columns"]]
    rows = [dict(zip(keys, r["values"])) for r in table["rows"] if r["role"] == "entry"]
    return {r["name"]: int(r["self"]) for r in rows if int(r["self"] or 0)}


def same_figures(got, path, metric):
    want = reported(path, metric)
    got = {k: v for k, v in got.items() if v}
    return "" if got == want and want else f"{metric}: {got}, not {want}"


def ids(request):
    return tuple(p.id for p in otlp(request[2]))


def ids_of(path):
    """Those that an export of the file has."""
    done = subprocess.run([TALLYTREE, "export", "--to", "otlp", path], capture_output=True, check=True, cwd=TMP)
    return ids((None, None, gzip.compress(done.stdout)))


def once_each(collector, paths):
    """Were these profiles taken, and no others?  Those that came twice have the same ids."""
    got, want = {ids(r) for r in collector.taken}, {ids_of(p) for p in paths}
    return "" if got == want and len(want) == len(paths) else f"{got}, not {want}"


# ── Profiles ──────────────────────────────────────────────────────────────────────────

FILES = []
for n in range(1, 7):
    FILES.append(f"{TMP}/{n}.tt")
    run(TALLYTREE, "replay", "--recursion", "none", "-o", FILES[-1],
        text="".join(f"push main\ntick 3\npush parse\ntick {n * i}\npush read\ntick 2\ncount bytes {i}\n"
                     "pop\npop\npop\n" for i in range(1, 30)))
ONE = FILES[0]
with open(TMP + "/two.austin", "w", encoding="ascii") as out:
    out.write("# austin: 3.0.0\n# mode: wall\nP12;T0:12;/x.py:main:1;/x.py:a:3 30\n"
              "P12;T0:13;/x.py:main:1;/x.py:b:4 40\nP77;T0:77;/x.py:main:1;/x.py:a:3 5\n")


def figures():
    c = Collector()
    status, said, _ = push(c, ONE)
    c.stop()
    profiles = otlp(c.taken[0][2])
    if status or said != "sent 1, waiting 0\n" or len(c.taken) != 1:
        return f"{status} {said} {c.taken}"
    if sorted(p.metric for p in profiles) != ["bytes", "calls", "ticks"] or len({p.id for p in profiles}) != 3:
        return profiles
    return "".join(same_figures(p.leaf, ONE, p.metric) for p in profiles)


check("a collector gets the figures of report --json", figures)


def request():
    c = Collector()
    push(c, ONE)
    push(c.url + "/", ONE)
    push(c.url + "/of/mine", ONE)
    c.stop()
    path, headers, _ = c.taken[0]
    if headers["Content-Type"] != "application/x-protobuf" or headers["Content-Encoding"] != "gzip":
        return headers
    paths = [r[0] for r in c.taken]
    return "" if paths == ["/v1development/profiles"] * 2 + ["/of/mine"] else f"{path} {paths}"


check("at the protocol's path, or at the one that was given, packed", request)


def hash_of(data):
    h = 0x6c62272e07bb014262b821756295c58d
    for byte in data:
        h = (h ^ byte) * 0x1000000000000000000013b % (1 << 128)
    return h.to_bytes(16, "big").hex()


def made_of_content():
    data = subprocess.run([TALLYTREE, "export", "--to", "otlp", ONE], capture_output=True, check=True).stdout
    found = [p.id for p in otlp(gzip.compress(data))]
    dictionary = fields(data)[2][0]
    blank = data[:-len(dictionary)]
    for i in found:
        blank = blank.replace(bytes.fromhex(i), bytes(16))
    while blank[-1] >= 0x80 or blank[-1] != 0x12:  # the head of the dictionary
        blank = blank[:-1]
    blank = blank[:-1] + dictionary
    want = [hash_of(blank + struct.pack("<I", k)) for k in range(len(found))]
    return "" if found == want else f"{found}, not {want}"


check("an id is the FNV-1a of the content and the number of the profile", made_of_content)


def attributes():
    c = Collector()
    push(c, ONE, "--service", "shop", "--attribute", "host.name=web1", "--attribute", "deployment.environment.name=a=b",
         env={"OTEL_RESOURCE_ATTRIBUTES": "host.name=web2,service.namespace=x%20y", "OTEL_SERVICE_NAME": "z"})
    push(c, ONE, env={"OTEL_SERVICE_NAME": "z"})
    c.stop()
    first, second = [otlp(r[2])[0].resource for r in c.taken]
    want = {"service.name": "shop", "host.name": "web1", "deployment.environment.name": "a=b", "service.namespace": "x y"}
    if {k: first.get(k) for k in want} != want or second["service.name"] != "z":
        return f"{first} {second}"
    return ""


check("attributes and the service are those of flags, then of OpenTelemetry's variables", attributes)


def processes():
    c = Collector()
    push(c, "two.austin")
    c.stop()
    got, sums = collections.defaultdict(collections.Counter), collections.Counter()
    for p in otlp(c.taken[0][2]):
        if p.metric == "time":
            got[p.resource.get("process.pid")] += p.leaf
            sums += p.leaf
    # In Austin's file, time is in microseconds.
    want = {12: {"a": 30000, "b": 40000}, 77: {"a": 5000}}
    if {k: dict(v) for k, v in got.items()} != want:
        return f"{dict(got)}, not {want}"
    return same_figures(sums, "two.austin", "time")


check("each process is a resource, and their sum is the whole", processes)


def recorded():
    run(TALLYTREE, "record", "-o", "run.tt", "--", "sh", "-c", "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done")
    c = Collector()
    push(c, "run.tt")
    c.stop()
    p = next(p for p in otlp(c.taken[0][2]) if p.metric == "time")
    facts = {f["name"]: f for f in json.loads(run(TALLYTREE, "report", "header", "--json", "run.tt"))["facts"]}
    if p.unit != "nanoseconds" or p.start != int(facts["started"]["number"]) or p.length != int(facts["lasted"]["number"]):
        return p
    if p.resource["host.name"] != socket.gethostname()[:len(p.resource["host.name"])] or not p.resource["process.pid"] > 1:
        return p
    return "" if p.resource["service.name"] == p.resource["process.executable.name"] == "sh" else p


check("a recording's have its time, host and process", recorded)


# ── Headers ───────────────────────────────────────────────────────────────────────────

def headers():
    with open(TMP + "/headers", "w", encoding="ascii") as f:
        f.write("# comment\n\nAuthorization: Bearer secret\nX-Scope-OrgID: 7\n")
    c = Collector()
    push(c, ONE, "--headers", "headers", env={"OTEL_EXPORTER_OTLP_HEADERS": "X-Other=a%3Db, authorization=no",
                                              "TALLYTREE_HEADERS": "X-Mine=2"})
    c.stop()
    got = c.taken[0][1]
    want = {"Authorization": "Bearer secret", "X-Scope-OrgID": "7", "X-Other": "a=b", "X-Mine": "2"}
    return "" if {k: got.get(k) for k in want} == want and "authorization" not in got else got


check("headers come from a file and from the environment", headers)


def wrong_headers():
    with open(TMP + "/bad", "w", encoding="ascii") as f:
        f.write("X: y\nBearer secret\n")
    status, _, said = push(nowhere(), "--headers", "bad")
    if status != 2 or "bad:2: a line has to be a header" not in said or "secret" in said:
        return said
    status, _, said = push("http://user:word@localhost", ONE)
    return "" if status == 2 and "put it in the file of '--headers'" in said and "word@" not in said else said


check("a line that is no header is refused and not shown, and so is a password in an address", wrong_headers)


def redirected():
    other = Collector()
    c = Collector("307 " + other.url + "/v1development/profiles")
    status, _, said = push(c, ONE, "--headers", "headers")
    c.stop()
    other.stop()
    return "" if status == 2 and not other.asked and "status 307" in said else said


check("a server that sends us elsewhere does not get the headers there", redirected)


# ── Failures ──────────────────────────────────────────────────────────────────────────

def busy():
    c = Collector("503", "close", "503", "forget", "hang", "200")
    status, said, wrong = push(c, *FILES, "--timeout", "1s", "--patience", "60s")
    c.stop()
    if status or said.split()[1] != "6,":
        return f"{status} {said} {wrong}"
    return once_each(c, FILES)


check("one that is busy, closes connections and says nothing gets all, with the same ids", busy)


def cut_off():
    c = Collector("half", "early", "200", "cut", "half", "close")
    status, said, wrong = push(c, *FILES, "--patience", "60s")
    c.stop()
    times = collections.Counter(ids(r)[0] for r in c.taken)
    if status or said != "sent 6, waiting 0\n" or sorted(times.values()) != [1, 1, 1, 1, 1, 2]:
        return f"{status} {said} {wrong} {times}"
    return once_each(c, FILES)


check("one that ends the connection within a request or its answer gets all, and only what it has answered by half twice", cut_off)


def later():
    c = Collector("429 2")
    status, said, wrong = push(c, ONE, "--patience", "60s")
    c.stop()
    if status or said != "sent 1, waiting 0\n" or len(c.asked) != 2:
        return f"{status} {said} {wrong}"
    (_, first, _), (_, second, _) = c.asked
    return "" if second - first >= 2 else f"after {second - first} s"


check("one that says when it is asked again is left alone until then", later)


def later_by_date():
    c = Collector("date 3")
    status, said, wrong = push(c, ONE, "--patience", "60s")
    c.stop()
    (_, first, _), (_, second, _) = c.asked
    # A date has whole seconds.
    return "" if not status and second - first >= 1.9 else f"after {second - first} s: {status} {said} {wrong}"


check("so is one that gives a date", later_by_date)


def away():
    queue, url = fresh(), nowhere()
    status, said, wrong = push(url, *FILES, "--patience", "1s", queue=queue)
    if status != 2 or said != "sent 0, waiting 6\n" or "without files sends what waits in" not in wrong:
        return f"{status} {said} {wrong}"
    c = Collector(port=int(url.rsplit(":", 1)[1]))
    status, said, wrong = push(url, queue=queue)
    if status or said != "sent 6, waiting 0\n" or len(c.taken) != 6:
        return f"{status} {said} {wrong}"
    if [ids(r) for r in c.taken] != [ids_of(f) for f in FILES]:
        return "not the oldest first"
    again = push(url, *FILES, queue=queue)
    nothing = push(url, queue=queue)
    forced = push(url, ONE, "--again", queue=queue)
    c.stop()
    if again[:2] != (1, "sent 0, waiting 0\n") or nothing[:2] != (1, "sent 0, waiting 0\n") or forced[:2] != (0, "sent 1, waiting 0\n"):
        return f"{again} {nothing} {forced}"
    return once_each(c, FILES) or ("" if len(c.taken) == 7 else len(c.taken))


check("one that was away gets all later, and nothing twice but by --again", away)


def back(url):
    return Collector(port=int(url.rsplit(":", 1)[1]))


def waiting_in(queue):
    """The files of the only address of a queue."""
    [folder] = os.listdir(queue)
    return [f"{queue}/{folder}/{f}" for f in os.listdir(f"{queue}/{folder}") if len(f) == 32]


def again_while_away():
    """Those of --again wait, too: one of them was the last one that was sent."""
    queue, c = fresh(), Collector()
    first = push(c, *FILES[:2], queue=queue)
    c.stop()
    waits = push(c.url, *FILES[:2], "--again", "--patience", "1s", queue=queue)
    c = back(c.url)
    last = push(c, queue=queue)
    c.stop()
    if [r[:2] for r in (first, waits, last)] != [(0, "sent 2, waiting 0\n"), (2, "sent 0, waiting 2\n"), (0, "sent 2, waiting 0\n")]:
        return f"{first} {waits} {last}"
    return once_each(c, FILES[:2])


check("what --again adds while the server is away is sent later", again_while_away)


def killed_after_sending():
    """Its name was written to `sent`, and its file is there still."""
    queue, url = fresh(), nowhere()
    push(url, ONE, "--patience", "1s", queue=queue)
    [path] = waiting_in(queue)
    shutil.copy(path, TMP + "/kept")
    c = back(url)
    push(c, queue=queue)
    shutil.copy(TMP + "/kept", path)
    after = push(c, queue=queue)
    c.stop()
    return "" if after[:2] == (1, "sent 0, waiting 0\n") and len(c.taken) == 1 and not waiting_in(queue) else after


check("one that was killed after the answer was noted sends it not again", killed_after_sending)


def remembered():
    """The older half of the names is forgotten when there are 32,768 of them."""
    queue, c = fresh(), Collector()
    push(c, ONE, queue=queue)
    [folder] = os.listdir(queue)
    sent = f"{queue}/{folder}/sent"
    with open(sent, encoding="ascii") as f:
        mine = f.read()
    with open(sent, "w", encoding="ascii") as f:
        f.writelines(f"{n:032x}\n" for n in range(32766))
        f.write(mine)
    push(c, FILES[1], queue=queue)
    with open(sent, encoding="ascii") as f:
        kept = f.read().split()
    after = push(c, *FILES[:2], queue=queue)
    c.stop()
    if len(kept) != 16384 or kept[0] != f"{16384:032x}" or kept[-2] != mine.strip():
        return f"{len(kept)} {kept[0]} {kept[-2:]}"
    return "" if after[:2] == (1, "sent 0, waiting 0\n") else after


check("the last 16,384 names are remembered", remembered)


def restarted():
    queue, c = fresh(), Collector("200", "200", "hang")
    url, taken = c.url, []

    def restart():
        wait_for(lambda: any(step == "hang" for step, _, _ in c.asked))
        c.stop()
        taken.extend(c.taken)

    t = threading.Thread(target=restart)
    t.start()
    child = start(TALLYTREE, "push", "--otlp", url, "--queue", queue, "--timeout", "20s", "--patience", "60s", *FILES,
                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    t.join()
    later = Collector(port=int(url.rsplit(":", 1)[1]))
    said = child.communicate(timeout=300)
    later.stop()
    later.taken = taken + later.taken
    if child.returncode or said[0] != "sent 6, waiting 0\n" or len(later.taken) != 6:
        return f"{child.returncode} {said} {len(later.taken)}"
    return once_each(later, FILES)


check("one that restarts gets all", restarted)


def killed():
    """Before the answer: the collector has the third one, which is sent again."""
    queue, c = fresh(), Collector("200", "200", "hold")
    command = [TALLYTREE, "push", "--otlp", c.url, "--queue", queue, *WAITS, *FILES]
    child = start(*command, stdout=subprocess.DEVNULL)
    await_taken(c, 3)
    child.send_signal(signal.SIGKILL)
    child.wait()
    status, said, wrong = push(c, *FILES, queue=queue)
    c.stop()
    if status or said != "sent 4, waiting 0\n" or len(c.taken) != 7:
        return f"{status} {said} {wrong} {len(c.taken)}"
    if ids(c.taken[2]) != ids(c.taken[3]):
        return "other ids"
    return once_each(c, FILES)


check("after kill -9 all is sent, and what may have arrived has the same ids", killed)


def at_once():
    queue, c = fresh(), Collector()
    command = [TALLYTREE, "push", "--otlp", c.url, "--queue", queue, *WAITS, *FILES]
    pushing = [start(*command, stdout=subprocess.PIPE) for _ in range(3)]
    said = sorted(child.communicate(timeout=300)[0] for child in pushing)
    c.stop()
    if said != ["sent 0, waiting 0\n"] * 2 + ["sent 6, waiting 0\n"] or len(c.taken) != 6:
        return f"{said} {len(c.taken)}"
    return once_each(c, FILES)


check("three processes with one queue send each profile once", at_once)


def full():
    queue, url = fresh(), nowhere()
    push(url, ONE, "--patience", "1s", queue=queue)
    [folder] = os.listdir(queue)
    size = max(os.stat(os.path.join(queue, folder, f)).st_size for f in os.listdir(os.path.join(queue, folder)))
    shutil.rmtree(queue)
    status, said, wrong = push(url, *FILES, "--patience", "1s", "--queue-size", str(int(size * 3.5)), queue=queue)
    if status != 2 or said != "sent 0, waiting 3\n" or "oldest 3 profiles were dropped" not in wrong:
        return f"{status} {said} {wrong}"
    same = push(url, *FILES[3:], "--patience", "1s", "--queue-size", str(int(size * 3.5)), queue=queue)
    if same[:2] != (2, "sent 0, waiting 3\n") or "dropped" in same[2]:
        return same
    c = Collector(port=int(url.rsplit(":", 1)[1]))
    push(url, queue=queue)
    c.stop()
    status, _, wrong = push(url, ONE, "--queue-size", "10", queue=queue)
    if status != 2 or "give a larger '--queue-size'" not in wrong:
        return wrong
    return once_each(c, FILES[3:])


check("a full queue drops its oldest, and says so, but none for a profile that waits already", full)


def refused():
    queue, c = fresh(), Collector("400", "500", "200", "partial")
    status, said, wrong = push(c, *FILES[:4], queue=queue)
    if status != 2 or said != "sent 1, waiting 1\n" or "a profile was refused: status 400: the reason" not in wrong or \
            "2 profiles were rejected: bad" not in wrong or "status 500" not in wrong:
        return f"{status} {said} {wrong}"
    status, said, wrong = push(c, queue=queue)
    c.stop()
    return "" if (status, said, len(c.asked)) == (0, "sent 1, waiting 0\n", 5) else f"{status} {said} {wrong}"


check("what is refused is dropped, and what fails is sent in the next run", refused)


def unwelcome():
    queue, c = fresh(), Collector("401")
    status, said, wrong = push(c, *FILES, queue=queue)
    if status != 2 or said != "sent 0, waiting 6\n" or "status 401: the reason;" not in wrong or len(c.asked) != 1:
        return f"{status} {said} {wrong}"
    status, said, wrong = push(c, queue=queue)
    c.stop()
    return "" if (status, said) == (0, "sent 6, waiting 0\n") else f"{status} {said} {wrong}"


check("with a wrong token all waits", unwelcome)


def unreadable():
    c = Collector()
    status, said, wrong = push(c, "nothing.tt", ONE)
    c.stop()
    return "" if status == 2 and "nothing.tt" in wrong else f"{status} {said} {wrong}"


check("a file that there is not is an error", unreadable)


def folder():
    os.mkdir(TMP + "/folder")
    for path in FILES[:3]:
        shutil.copy(path, TMP + "/folder")
    c = Collector()
    status, said, wrong = push(c, "folder")
    c.stop()
    return once_each(c, FILES[:3]) if (status, said) == (0, "sent 3, waiting 0\n") else f"{status} {said} {wrong}"


check("of a folder, each file is sent", folder)


def following():
    """Minutes are sent once each, in whatever order they appear, and not again when they are merged."""
    chain, queue, c = TMP + "/chain", fresh(), Collector()
    os.mkdir(chain)

    def minute(n, seconds=60):
        return f"{chain}/chain.20260101T000{n}00.000Z+{seconds}.000s.tt"

    def add(n):
        shutil.copy(FILES[n], TMP + "/part")
        os.rename(TMP + "/part", minute(n))

    def follow():
        return start(TALLYTREE, "push", "--otlp", c.url, "--queue", queue, *WAITS, "--follow", chain,
                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def stop(child):
        child.send_signal(signal.SIGTERM)
        said = child.communicate(timeout=300)
        return child.returncode, *said

    add(0)
    add(1)
    child = follow()
    await_taken(c, 2)
    add(3)
    await_taken(c, 3)
    add(2)
    await_taken(c, 4)
    run(TALLYTREE, "merge", "-o", minute(0, 240), *(minute(n) for n in range(4)))
    for n in range(4):
        os.remove(minute(n))
    first = stop(child)
    child = follow()
    add(4)
    await_taken(c, 5)
    second = stop(child)
    c.stop()
    if first != (0, "sent 4, waiting 0\n", "") or second != (0, "sent 1, waiting 0\n", ""):
        return f"{first} {second}"
    if len(c.taken) != 5:
        return len(c.taken)
    return once_each(c, FILES[:5])


check("a chain is followed: each of its profiles is sent once, and none again when they are merged", following)


def follower_waits():
    chain, queue, c = TMP + "/chain2", fresh(), Collector("503")
    os.mkdir(chain)
    shutil.copy(ONE, chain + "/chain.20260101T000000.000Z+60.000s.tt")
    child = start(TALLYTREE, "push", "--otlp", c.url, "--queue", queue, *WAITS, "--follow", chain,
                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    await_taken(c, 1)
    other = push(c, *FILES, queue=queue)
    child.send_signal(signal.SIGTERM)
    said = child.communicate(timeout=300)
    c.stop()
    if child.returncode or said[0] != "sent 1, waiting 0\n" or "status 503" not in said[1] or other[1] != "sent 5, waiting 0\n":
        return f"{child.returncode} {said} {other}"
    return once_each(c, FILES)


check("a follower tries again, and lets others use its queue", follower_waits)


def follow(c, chain, queue, *arguments, **how):
    """A follower of a new or old folder."""
    os.makedirs(f"{TMP}/{chain}", exist_ok=True)
    return start(TALLYTREE, "push", "--otlp", c.url, "--queue", queue, *WAITS, *arguments, "--follow", f"{TMP}/{chain}",
                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how)


def add_to(chain, path, minute, seconds=60):
    """It appears whole."""
    os.makedirs(f"{TMP}/{chain}", exist_ok=True)
    shutil.copy(path, TMP + "/part")
    os.rename(TMP + "/part", f"{TMP}/{chain}/chain.20260101T00{minute:02}00.000Z+{seconds}.000s.tt")


def ended(child):
    child.send_signal(signal.SIGTERM)
    return child.communicate(timeout=300)


def follower_is_stuck():
    """A limit on the size of files is like a full disk, and is lifted."""
    c, queue = Collector(), fresh()

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    add_to("stuck", ONE, 0)
    child = follow(c, "stuck", queue, preexec_fn=limit, restore_signals=False)
    line = child.stderr.readline()
    if "File too large" not in line or c.taken:
        return line
    most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.prlimit(child.pid, resource.RLIMIT_FSIZE, (most, most))
    await_taken(c, 1)
    said = ended(child)
    c.stop()
    return once_each(c, [ONE]) if (child.returncode, *said) == (0, "sent 1, waiting 0\n", "") else said


check("what a follower cannot queue is tried again, and said once", follower_is_stuck)


def partly_taken():
    """Minutes 0 and 1 are sent; then 0 to 3 are merged while nobody follows.  A gap between is no loss."""
    c, queue = Collector(), fresh()
    for path, n in zip(FILES, (0, 1, 10, 12)):
        add_to("merged", path, n)
    child = follow(c, "merged", queue)
    await_taken(c, 4)
    first = ended(child)
    shutil.rmtree(TMP + "/merged")
    add_to("merged", FILES[4], 0, 240)
    add_to("merged", FILES[4], 10, 180)
    child = follow(c, "merged", queue)
    line = child.stderr.readline()
    add_to("merged", FILES[5], 20)
    await_taken(c, 5)
    last = ended(child)
    c.stop()
    if "+240.000s.tt: its 120.000 s from 2026-01-01 00:02:00 UTC are not sent" not in line:
        return line
    if first != ("sent 4, waiting 0\n", "") or last != ("sent 1, waiting 0\n", ""):
        return f"{first} {last} {len(c.taken)}"
    return once_each(c, FILES[:4] + FILES[5:])


check("a follower says which time of a merged profile is not sent", partly_taken)


def largest_first():
    c = Collector()
    for n, seconds in ((0, 60), (0, 240), (1, 60), (0, 120)):
        add_to("large", FILES[3] if seconds == 240 else ONE, n, seconds)
    child = follow(c, "large", fresh())
    await_taken(c, 1)
    said = ended(child)
    c.stop()
    return once_each(c, [FILES[3]]) if said == ("sent 1, waiting 0\n", "") else said


check("of profiles that begin together, a follower sends the one with the most time", largest_first)


def follower_ends():
    """The server takes nothing any more; the request's own time of 60 s is cut."""
    c = Collector("429 2", *["hang"] * 9)
    add_to("last", ONE, 0)
    child = follow(c, "last", fresh())
    wait_for(lambda: c.asked)
    said = ended(child)
    c.stop()
    return "" if child.returncode == 2 and said[0] == "sent 0, waiting 1\n" else f"{child.returncode} {said}"


def ends_at_once():
    """By a second signal; one that comes too early or too late is as none."""
    for n in range(5):
        c = Collector(*["429 2"] * 9)
        add_to(f"second{n}", ONE, 0)
        child = follow(c, f"second{n}", fresh())
        wait_for(lambda c=c: c.asked)
        while child.poll() is None:
            child.send_signal(signal.SIGTERM)
            time.sleep(0.02)
        c.stop()
        if child.returncode == -signal.SIGTERM:
            return ""
    return child.returncode


check("a follower that is to end waits no longer than a few seconds", follower_ends)
check("and ends at once by a second signal", ends_at_once)


def follower_is_full():
    """It does not wait for the server to make room, which would be a minute here."""
    queue, url = fresh(), nowhere()
    push(url, ONE, "--patience", "1s", queue=queue)
    size = os.stat(waiting_in(queue)[0]).st_size
    shutil.rmtree(queue)
    c = Collector(*["429 10000"] * 9)
    for n in range(4):
        add_to("full", FILES[n], n)
    child = follow(c, "full", queue, "--queue-size", str(int(size * 2.5)), "--patience", "100000s")
    wait_for(lambda: c.asked)
    said = ended(child)
    c.stop()
    return "" if said[0] == "sent 0, waiting 2\n" and "oldest 2 profiles were dropped" in said[1] else said


check("a follower whose queue is full drops the oldest at once", follower_is_full)


def no_libraries():
    """An environment in which none can be loaded."""
    with open(TMP + "/no.c", "w", encoding="ascii") as f:
        f.write('#include <string.h>\nvoid *dlopen(const char *n, int f)\n{ (void)f; (void)n; return 0; }\n')
    run("gcc", "-shared", "-fPIC", "-o", "no.so", "no.c")
    # The sanitizers' library has to be the first one.
    return {"LD_PRELOAD": ":".join(filter(None, [ENV.get("LD_PRELOAD"), TMP + "/no.so"]))}


def record_and_push(address, chain, duration):
    """Of a process that runs; its child pushes."""
    busy_one = start("sh", "-c", "while :; do :; done")
    return start(TALLYTREE, "record", "-p", str(busy_one.pid), "--interval", "1s", "--duration", str(duration), "--push", address,
                 "-o", chain, stdout=subprocess.PIPE, stderr=subprocess.PIPE), busy_one


def all_arrived(c, chain, way="otlp"):
    """The pusher has 5 s at the end, which may be too few on a busy machine: the next one sends the rest."""
    paths = [f"{chain}/{f}" for f in os.listdir(chain) if f.startswith("chain.")]
    if len(c.taken) < len(paths):
        child = start(TALLYTREE, "push", "--" + way, c.url, *WAITS, "--follow", chain)
        await_taken(c, len(paths))
        ended(child)
    return paths


def recorder():
    """Each profile of the chain is sent, also the last one."""
    c, chain = Collector("503"), TMP + "/live"
    child, busy_one = record_and_push(c.url, chain, 3)
    said = child.communicate(timeout=300)
    busy_one.kill()
    paths = all_arrived(c, chain)
    c.stop()
    return once_each(c, paths) if child.returncode == 0 and paths else said


def recorder_loses():
    """The pusher is killed: a message says so, and another one goes on, to Pyroscope here."""
    c, chain = Collector(), TMP + "/live2"
    child, busy_one = record_and_push("pyroscope:" + c.url, chain, 600)
    await_taken(c, 1)
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{p}/status", encoding="ascii") as f, open(f"/proc/{p}/cmdline", "rb") as words:
                if f"PPid:\t{child.pid}\n" in f.read() and b"--follow" in words.read().split(b"\0"):
                    os.kill(int(p), signal.SIGKILL)
        except OSError:
            pass
    had = len(c.taken)
    await_taken(c, had + 2)
    said = ended(child)
    busy_one.kill()
    paths = all_arrived(c, chain, "pyroscope")
    c.stop()
    if "'tallytree push' has ended with signal 9; the next interval starts it again" not in said[1] or child.returncode:
        return said
    return "" if len(c.taken) >= len(paths) and all(r[0].startswith("/ingest?name=") for r in c.taken) else c.taken


def recorder_wants():
    def record(*arguments, env=None):
        return subprocess.run([TALLYTREE, "record", "--push", *arguments], env={**ENV, **(env or {})}, capture_output=True, text=True,
                              check=False, cwd=TMP)

    done = record("http://localhost", "true")
    if done.returncode != 125 or "wants --interval with --push" not in done.stderr:
        return done
    for url in "collector:4318", "pyroscope:http://":
        done = record(url, "--interval", "1s", "-p", str(os.getpid()), "-o", "never")
        if done.returncode != 125 or "record: '--push': " not in done.stderr or os.path.exists(TMP + "/never"):
            return done
    done = record("http://localhost", "--interval", "1s", "-p", str(os.getpid()), "-o", "never", env=no_libraries())
    return "" if done.returncode == 125 and "record: libcurl is not installed" in done.stderr else done


no_events = ("yes  perf events" not in subprocess.run([TALLYTREE, "doctor"], capture_output=True, text=True, check=False).stdout and
             "perf events are not allowed")
check("record --interval --push sends each profile", recorder, no_events)
check("a pusher that ends is started again, and a message says so", recorder_loses, no_events)
check("record --push without a chain, with a wrong address or without libcurl says what to do", recorder_wants)


def state():
    c = Collector()
    done = subprocess.run([TALLYTREE, "push", "--otlp", c.url, ONE], env=ENV, capture_output=True, check=True)
    c.stop()
    mode = os.stat(ENV["XDG_STATE_HOME"] + "/tallytree/push").st_mode & 0o777
    return "" if mode == 0o700 else f"{mode:o} {done}"


check("without --queue, what waits is in the user's state folder, for the user alone", state)


def service():
    """The folder of a service holds its chain, too."""
    home = TMP + "/service"
    os.mkdir(home)
    shutil.copy(ONE, home + "/chain.20260101T000000.000Z+60.000s.tt")
    env = {**ENV, "STATE_DIRECTORY": home}
    subprocess.run([TALLYTREE, "push", "--patience", "1s", "--otlp", nowhere(), ONE], env=env, capture_output=True, check=False)
    done = subprocess.run([TALLYTREE, "report", "header", home], env=env, capture_output=True, text=True, check=True)
    return "" if os.listdir(home + "/.push") and not done.stderr else f"{os.listdir(home)} {done}"


check("the queue of a service does not disturb reports of its folder", service)


def damaged():
    queue, url = fresh(), nowhere()
    push(url, *FILES[:3], "--patience", "1s", queue=queue)
    [folder] = os.listdir(queue)
    names = sorted(f for f in os.listdir(os.path.join(queue, folder)) if len(f) == 32)
    os.remove(os.path.join(queue, folder, names[0]))
    os.mkdir(os.path.join(queue, folder, names[0]))
    c = Collector(port=int(url.rsplit(":", 1)[1]))
    status, said, wrong = push(url, queue=queue)
    c.stop()
    return "" if len(c.taken) == 2 and names[0] in wrong and status == 2 else f"{status} {said} {wrong} {len(c.taken)} {names}"


check("a file of the queue that cannot be read does not keep the others", damaged)


# ── Pyroscope ─────────────────────────────────────────────────────────────────────────

def pyroscope():
    c = Collector("503")
    status, said, wrong = push(c, "run.tt", "--service", "a shop", "--attribute", "zone.of=x{,}&", way="pyroscope")
    c.stop()
    if status or said != "sent 1, waiting 0\n":
        return f"{status} {said} {wrong}"
    path, query = c.taken[0][0].split("?")
    query = dict(urllib.parse.parse_qsl(query, strict_parsing=True))
    facts = {f["name"]: f for f in json.loads(run(TALLYTREE, "report", "header", "--json", "run.tt"))["facts"]}
    began, lasted = int(facts["started"]["number"]), int(facts["lasted"]["number"])
    if path != "/ingest" or query["format"] != "pprof" or not query["name"].startswith("a_shop{host=") or \
            not query["name"].endswith(",zone_of=x____}"):
        return f"{path} {query}"
    if int(query["from"]) != began // 10**9 or int(query["until"]) != max((began + lasted) // 10**9, began // 10**9 + 1):
        return query
    c = Collector()
    push(c, ONE, way="pyroscope")
    c.stop()
    sums = pprof(c.taken[0][2])
    if set(sums) != {"bytes", "calls", "ticks"}:
        return f"{sums} {c.taken[0][0]}"
    return "".join(same_figures(sums[m], ONE, m) for m in sums)


def labels():
    c = Collector()
    ours = "".join(map(chr, range(0x20, 0x7f))) + "\u00e9"
    push(c, ONE, "--service", ours, "--attribute", "a-b.c/d_1=" + ours, way="pyroscope")
    push(c, "two.austin", way="pyroscope")
    c.stop()

    def kept(others):
        return "".join(t if t.isalnum() and t.isascii() or t in others else "_" * len(t.encode()) for t in ours)

    names = [dict(urllib.parse.parse_qsl(r[0].split("?")[1]))["name"] for r in c.taken]
    ours, first = kept("-._/"), kept(" -._/:@+()[]")
    if not names[0].startswith(ours + "{") or not names[0].endswith("a_b_c_d_1=" + first + "}"):
        return names
    return "" if names[1] == "unknown{}" else names


check("Pyroscope's names and labels have the characters that tallytree-push(1) says", labels)


check("Pyroscope gets pprof's format, with the figures, the time and labels", pyroscope)


# ── TLS, and libcurl ──────────────────────────────────────────────────────────────────

def tls():
    run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "key.pem",
        "-out", "cert.pem", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1")
    c, queue = Collector(), fresh()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TMP + "/cert.pem", TMP + "/key.pem")
    c.socket = context.wrap_socket(c.socket, server_side=True)
    url = c.url.replace("http:", "https:")
    status, said, wrong = push(url, ONE, queue=queue)
    if status != 2 or said != "sent 0, waiting 1\n" or "certificate" not in wrong or c.taken:
        return f"{status} {said} {wrong}"
    status, said, wrong = push(url, "--certificates", "cert.pem", queue=queue)
    c.stop()
    return "" if (status, said) == (0, "sent 1, waiting 0\n") else f"{status} {said} {wrong}"


check("a server that cannot prove its name gets nothing, and is trusted by --certificates", tls,
      not shutil.which("openssl") and "openssl is not installed")


def without_curl():
    status, _, wrong = push(nowhere(), env=no_libraries())
    return "" if status == 2 and "libcurl is not installed" in wrong else f"{status} {wrong}"


check("without libcurl it says what to install", without_curl)

for one in children:
    one.kill()
shutil.rmtree(TMP, ignore_errors=True)
print(f"1..{count}")
