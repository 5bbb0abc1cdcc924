# SPDX-License-Identifier: MIT
# terminal.py - runs a command in a separate terminal, as a shell does, and acts on it.
#
#       terminal.py STEP... -- COMMAND...
#
# A step is a word and what follows it:
#   see REGEX             waits until the picture is like that
#   saw REGEX             until any was, since the last send or run
#   send KEYS             with \x1b and the like
#   run SHELL COMMAND     JOB is the command's number
#   resize ROWS COLUMNS
#   signal NAME, continue, stopped
#   same, other           is the terminal set, and shown, as it was before the command?
#   exit STATUS, killed NAME
#   shown TEXT            waits until it is there, in a terminal that was told nothing else
#   colored, plain        waits for colours; asks at the end whether there were none
# Each waits long: a busy machine is slow.
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

PATIENCE = 60


def lead(report, command):
    """What a shell does: a job of its own in front, behind it when it stops.  Where the job
    cannot have seen to the terminal itself, that is set as it was."""
    found = termios.tcgetattr(0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    ready, go = os.pipe()
    job = os.fork()
    if job == 0:
        os.setpgid(0, 0)
        os.read(ready, 1)
        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.execvp(command[0], command)
    try:
        os.setpgid(job, job)
    except PermissionError:
        pass
    os.tcsetpgrp(0, job)

    def resume(*_):
        os.tcsetpgrp(0, job)
        os.killpg(job, signal.SIGCONT)

    signal.signal(signal.SIGUSR1, resume)
    os.write(report, b"job %d\n" % job)
    os.write(go, b"g")
    while True:
        _, status = os.waitpid(job, os.WUNTRACED)
        os.tcsetpgrp(0, os.getpgrp())
        if os.WIFSTOPPED(status):
            if os.WSTOPSIG(status) == signal.SIGSTOP:
                termios.tcsetattr(0, termios.TCSANOW, found)
            os.write(report, b"stopped\n")
        elif os.WIFSIGNALED(status):
            os.write(report, b"killed %s\n" % signal.Signals(os.WTERMSIG(status)).name.encode())
            break
        else:
            os.write(report, b"exit %d\n" % os.WEXITSTATUS(status))
            break
    signal.pause()  # the terminal stays until it has been looked at


class Terminal:
    def __init__(self, command):
        self.shown = b""
        self.said = b""
        self.events = []
        self.mark = 0
        self.old = 0  # what was shown before is no picture any more
        report, reporting = os.pipe()
        os.set_inheritable(reporting, False)
        # Settings that no terminal begins with.
        self.main, side = pty.openpty()
        unusual = termios.tcgetattr(side)
        unusual[3] &= ~termios.ECHOK
        unusual[3] |= termios.ECHONL
        unusual[6][termios.VERASE] = b"\x08"
        unusual[6][termios.VMIN] = b"\x03"
        termios.tcsetattr(side, termios.TCSANOW, unusual)
        self.resize(24, 80)
        self.found = termios.tcgetattr(self.main)
        self.leader = os.fork()
        if self.leader == 0:
            os.close(report)
            os.setsid()
            fcntl.ioctl(side, termios.TIOCSCTTY, 0)
            for fd in range(3):
                os.dup2(side, fd)
            lead(reporting, command)
            os._exit(0)
        os.close(side)
        os.close(reporting)
        self.report = report
        self.until(lambda: self.event("job "), "the job")
        self.job = int(self.taken.split()[1])

    def resize(self, rows, columns):
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, seconds):
        for fd in select.select([self.main, self.report], [], [], seconds)[0]:
            data = os.read(fd, 65536)
            if fd == self.main:
                self.shown += data
            else:
                self.said += data
                *lines, self.said = self.said.split(b"\n")
                self.events += [line.decode() for line in lines]

    def until(self, condition, what):
        limit = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > limit:
                sys.exit(f"waited in vain for {what}; events {self.events}, picture:\n"
                         + self.picture() + f"\nlast bytes: {self.shown[-300:]!r}")
            self.read(0.05)

    def event(self, start):
        """Takes the first event when it begins like that."""
        if not self.events or not self.events[0].startswith(start):
            return False
        self.taken = self.events.pop(0)
        return True

    def pictures(self, start):
        """Those that were drawn whole."""
        for drawn in re.findall(rb"\x1b\[H(.*?)\x1b\[J", self.shown[start:], re.S):
            yield re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", drawn.decode(errors="replace"))

    def picture(self):
        """The last of them."""
        start = max(self.old, self.shown.rfind(b"\x1b[H", 0, max(self.shown.rfind(b"\x1b[J"), 0)))
        return next(self.pictures(start), "")

    def is_given_back(self):
        on, off = (self.shown.count(b"\x1b[?1049" + c) for c in (b"h", b"l"))
        hidden, visible = (self.shown.rfind(b"\x1b[?25" + c) for c in (b"l", b"h"))
        return termios.tcgetattr(self.main) == self.found and on == off > 0 and visible > hidden

    def step(self, word, rest):
        if word == "see":
            self.until(lambda: re.search(rest, self.picture(), re.M | re.S), rest)
        elif word == "saw":
            self.until(lambda: any(re.search(rest, picture, re.M | re.S)
                                   for picture in self.pictures(self.mark)), rest)
        elif word == "send":
            self.mark = len(self.shown)
            os.write(self.main, rest.encode().decode("unicode_escape").encode("latin-1"))
        elif word == "signal":
            os.kill(self.job, getattr(signal, rest))
        elif word == "continue":
            self.old = len(self.shown)
            os.kill(self.leader, signal.SIGUSR1)
        elif word == "resize":
            self.old = len(self.shown)
            self.resize(*map(int, rest.split()))
        elif word == "run":
            self.mark = len(self.shown)
            subprocess.run(rest.replace("JOB", str(self.job)), shell=True, check=True)
        elif word == "same":
            self.until(self.is_given_back, "the terminal as it was")
        elif word == "other":
            self.until(lambda: termios.tcgetattr(self.main) != self.found, "other settings")
        elif word == "shown":
            self.until(lambda: rest.encode() in self.shown, rest)
            assert b"\x1b" not in self.shown, self.shown
        elif word == "plain":
            pass
        elif word == "colored":
            self.until(lambda: b"\x1b[1m" in self.shown, "colours")
        elif word in ("stopped", "exit", "killed"):
            event = f"{word} {rest}".strip()
            self.until(lambda: self.event(event), event)
        else:
            sys.exit(f"no step '{word}'")


def main():
    split = sys.argv.index("--")
    terminal = Terminal(sys.argv[split + 1:])
    try:
        for step in sys.argv[1:split]:
            word, _, rest = step.partition(" ")
            terminal.step(word, rest)
        if "plain" in sys.argv[1:split]:
            assert not re.search(rb"\x1b\[[1234]m", terminal.shown), terminal.shown
    finally:
        for process in (terminal.job, terminal.leader):
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass


main()
