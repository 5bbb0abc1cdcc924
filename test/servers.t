#!/bin/bash
# SPDX-License-Identifier: MIT
# Event loops of real servers under --wall wait for events as long as the system says that their
# threads did not run, without the time in which they waited for a processor.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree

cat >"$tmp/serve.py" <<'END'
"""serve.py TALLYTREE PORT REQUEST PROFILE COMMAND... - runs the server, sends it requests for some
seconds, notes how long its threads that wait in epoll were idle, stops it, and compares that with
the profile."""
import csv, os, signal, socket, subprocess, sys, time
tallytree, port, request, profile, *command = sys.argv[1:]
EPOLL = {"232", "281", "441"} if os.uname().machine == "x86_64" else {"22", "441"}
hertz = os.sysconf("SC_CLK_TCK")
def read(path):
    try: return open(path).read()
    except OSError: return ""
def children(pid):
    below = [int(c) for t in os.listdir(f"/proc/{pid}/task") for c in read(f"/proc/{pid}/task/{t}/children").split()]
    return below + [d for c in below for d in children(c)]
def ask():
    """Whether it answers."""
    try:
        with socket.create_connection(("127.0.0.1", int(port)), 20) as s:
            s.sendall(request.encode().decode("unicode_escape").encode())
            return bool(s.recv(100))
    except OSError:
        return False
def waiting(pids):
    """Threads that are in epoll: files of theirs."""
    tasks = [f"/proc/{p}/task/{t}/" for p in pids for t in os.listdir(f"/proc/{p}/task")]
    return [t for t in tasks if read(t + "syscall").split(" ")[0] in EPOLL]
def idle(task):
    """Seconds since it began in which it did not run; and in which it wanted to, but had no processor."""
    cpu, delay = map(int, read(task + "schedstat").split()[:2])
    began = int(read(task + "stat").rsplit(")", 1)[1].split()[19]) / hertz
    return time.clock_gettime(time.CLOCK_BOOTTIME) - began - cpu / 1e9, delay / 1e9
run = subprocess.Popen([tallytree, "record", "--wall", "-o", profile, "--", *command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
end = time.time() + 60
while not ask() and time.time() < end: time.sleep(.1)
for _ in range(15):
    time.sleep(.15)
    for _ in range(10): ask()
time.sleep(1)
pids = children(run.pid)
while not (tasks := waiting(pids)) and time.time() < end: time.sleep(.01)
at = time.time()
figures = [idle(t) for t in tasks]
most = sum(f[0] for f in figures)
least = most - sum(f[1] for f in figures)
os.kill(pids[0], signal.SIGTERM)
error = run.communicate(timeout=60)[1]
late = (time.time() - at) * len(tasks)
out = subprocess.run([tallytree, "report", "flat", "--limit", "all", "--csv", profile], stdout=subprocess.PIPE, check=True, text=True).stdout
ours = sum(float(r["self"]) for r in csv.DictReader(out.splitlines()) if r["role"] == "entry" and r["name"] == "[waits: epoll]") / 1e9
print(f"{ours:.3f} s of epoll, idle for {least:.3f} to {most:.3f} s in {len(tasks)} threads, stopped within {late:.3f} s; {error.strip()}")
sys.exit(not (tasks and least > 2 and least * .85 - .3 <= ours <= most + late + .1))
END
# serves NAME REQUEST COMMAND...
serves()
{
    if ! cat /proc/self/syscall >/dev/null 2>&1 || ! cat /proc/self/schedstat >/dev/null 2>&1; then
        skip "$1" "/proc does not say here where threads wait, or how long they ran"
    elif ! command -v "$3" >/dev/null; then
        skip "$1" "$3 is not installed"
    else
        try "$1" timeout -k 5 500 python3 "$tmp/serve.py" "$tallytree" "$port" "$2" "$tmp/tt" "${@:3}"
    fi
}
port=$((20000 + $$ % 20000))

mkdir "$tmp/nginx"
cat >"$tmp/nginx.conf" <<END
daemon off;
worker_processes 2;
pid $tmp/nginx/pid;
error_log $tmp/nginx/error;
events { worker_connections 64; }
http { access_log off; keepalive_timeout 60; client_body_temp_path $tmp/nginx/a; proxy_temp_path $tmp/nginx/b; fastcgi_temp_path $tmp/nginx/c;
       uwsgi_temp_path $tmp/nginx/d; scgi_temp_path $tmp/nginx/e; server { listen 127.0.0.1:$port; location / { return 200 "x"; } } }
END
get='GET / HTTP/1.0\r\n\r\n'
serves "nginx waits for its clients as long as it is idle" "$get" nginx -p "$tmp/nginx" -c "$tmp/nginx.conf"
serves "so does redis" "PING\r\n" redis-server --port $port --save '' --bind 127.0.0.1 --dir "$tmp"
cat >"$tmp/loop.js" <<END
const s = require("http").createServer((q, r) => { const end = Date.now() + 3; while (Date.now() < end); r.end("x"); });
s.listen($port, "127.0.0.1");
process.on("SIGTERM", () => process.exit(0));
END
serves "so does node, a program of libuv" "$get" node "$tmp/loop.js"
cat >"$tmp/loop.py" <<END
import asyncio, signal, time
async def answer(reader, writer):
    await reader.readuntil(b"\r\n\r\n")
    end = time.process_time() + .003
    while time.process_time() < end: pass
    writer.write(b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx")
    writer.close()
async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async def tick():
        while True: await asyncio.sleep(.02)
    ticking = asyncio.create_task(tick())
    await asyncio.start_server(answer, "127.0.0.1", $port)
    await stop.wait()
asyncio.run(main())
END
serves "so does a loop of Python's asyncio" "$get" python3 "$tmp/loop.py"
finish
