#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How far a long work has come is drawn on a terminal, and nowhere else."""
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

TALLYTREE = os.path.abspath(os.environ["TT_BUILD"]) + "/tallytree"
folder = tempfile.TemporaryDirectory()
count = 0


def check(name, right, *details):
    global count
    count += 1
    print(f"{'ok' if right else 'not ok'} {count} - {name}")
    for d in () if right else details:
        print("# " + str(d).replace("\n", "\n# "))


def make(path, lines):
    with open(path, "w") as f:
        for i in range(lines):
            f.write(f"main;function_{i % 977};leaf_{i % 31} 1\n")
    return path


def has_read(pid, bytes):
    try:
        with open(f"/proc/{pid}/io") as f:
            return int(re.search(r"rchar: (\d+)", f.read())[1]) > bytes
    except (OSError, TypeError):
        return True


def pieces(screen):
    try:
        while piece := os.read(screen, 65536):
            yield piece
    except OSError:  # there is no other end any more
        return


def on_terminal(*words):
    """What is written to the terminal.  In the midst of the file, half a second goes by."""
    screen, end = pty.openpty()
    p = subprocess.Popen([TALLYTREE, *words], stdout=subprocess.PIPE, stderr=end)
    os.close(end)
    seen = []
    reader = threading.Thread(target=lambda: seen.extend(pieces(screen)))
    reader.start() # a terminal that nothing reads holds the program up
    while p.poll() is None and not has_read(p.pid, 4 << 20):
        time.sleep(0.001)
    p.send_signal(signal.SIGSTOP)
    time.sleep(0.7)
    p.send_signal(signal.SIGCONT)
    out = p.stdout.read().decode()
    p.wait()
    reader.join()
    os.close(screen)
    return p.returncode, out, b"".join(seen).decode()


large = make(folder.name + "/large", 3_000_000)
plain = subprocess.run([TALLYTREE, "report", "flat", large], capture_output=True, text=True)
status, out, seen = on_terminal("report", "flat", large)
shares = [int(n) for n in re.findall(r"\r#*-* +(\d+) %", seen)]
check("within one file a bar grows", shares and shares == sorted(shares) and shares[-1] < 100, shares)
check("it is taken away in the end", seen.endswith("\r\033[K"), repr(seen[-100:]))
check("the report is the same", status == plain.returncode == 0 and out == plain.stdout)
check("nothing is drawn where standard error is no terminal", plain.stderr == "", plain.stderr)
small = make(folder.name + "/small", 10)
status, out, seen = on_terminal("merge", "--force", "-o", folder.name + "/out.tt", small, large, small)
shares = [int(n) for n in re.findall(r"\r#*-* +(\d+) %", seen)]
check("of several files each is a part", status == 0 and shares and 33 <= shares[0] and shares[-1] <= 99, shares, seen[-200:])
# A read of a pipe in packets returns what one write has written.
end, start = os.pipe2(os.O_DIRECT)
status = subprocess.run([TALLYTREE, "report", "flat", "/is/not\there"], stderr=start, check=False).returncode
said = os.read(end, 65536).decode()
check("an error is written at once", status == 2 and said.startswith("tallytree: ") and said.endswith("\n"), said)
print(f"1..{count}")
sys.exit(0)
