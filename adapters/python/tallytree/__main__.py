# SPDX-License-Identifier: MIT
"""Run a script of Python under Tallytree.

The script is run by this interpreter as it would be without us: with --exact a package that is
put first on PYTHONPATH begins the recording before it (start/sitecustomize.py), otherwise
`tallytree record` samples it from within the process."""
import os
import shutil
import signal
import socket
import subprocess
import sys

USAGE = """\
usage: python3 -m tallytree [--exact | --lines | --heap] [-o FILE] SCRIPT [ARG]...
       python3 -m tallytree [--exact | --lines | --heap] [-o FILE] -m MODULE [ARG]...
       python3 -m tallytree [--exact | --lines | --heap] [-o FILE] -c PROGRAM [ARG]...

Run a script under Tallytree.  Its output and exit status stay as they are.

  (nothing)  sample it, as `tallytree record` does: functions of Python and of C
  --lines    sample it, with the lines that were running
  --heap     record what it allocates
  --exact    count and time each call of a function of Python or of C
  -o FILE    keep the recording there (default: tallytree.SCRIPT.HOST.PID.tt)
  --help     print this

`tallytree report FILE` shows what was recorded."""
FAILED = 125  # as of env(1) and others that run someone else's program


def fail(text):
    print(f"tallytree: {text}", file=sys.stderr)
    sys.exit(FAILED)


def parse(words):
    """The way, the file and the words for Python."""
    way = output = None
    while words:
        word, rest = words[0], words[1:]
        if word in ("--exact", "--lines", "--heap"):
            if way not in (None, word):
                fail(f"{way} and {word} do not go together")
            way = word
        elif word == "-o" and rest:
            output, rest = rest[0], rest[1:]
        elif word in ("-h", "--help"):
            print(USAGE)
            sys.exit(0)
        elif word == "--":
            words = rest
            break
        elif word in ("-m", "-c"):
            break
        elif word.startswith("-") and word != "-":
            fail(f"there is no option {word}; see `python3 -m tallytree --help`")
        else:
            break
        words = rest
    if not words or (words[0] in ("-m", "-c") and len(words) < 2):
        fail("which script?  See `python3 -m tallytree --help`")
    return way, output, words


def default_output(words):
    name = "-c" if words[0] == "-c" else words[1] if words[0] == "-m" else words[0]
    name = os.path.splitext(os.path.basename(name))[0]
    return f"tallytree.{name}.{socket.gethostname()}.{os.getpid()}.tt"


def run(path, words, environment):
    """Python ignores these signals, and what is run would inherit that."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(path, words, environment)
    except OSError as error:
        fail(f"{path} cannot be run: {error.strerror}")


def run_exactly(python, words, output):
    if sys.flags.ignore_environment or sys.flags.no_site:
        fail("--exact needs PYTHONPATH and the module site, which -E, -I and -S turn off")
    environment = dict(os.environ)
    start = os.path.join(os.path.dirname(os.path.abspath(__file__)), "start")
    before = environment.get("PYTHONPATH")
    if before is not None:
        environment["TALLYTREE_PYTHONPATH"] = before
    environment["PYTHONPATH"] = start + (os.pathsep + before if before else "")
    environment["TALLYTREE_PYTHON"] = os.path.abspath(output or default_output(words))
    run(sys.executable, python + words, environment)


def run_sampled(way, python, words, output):
    tallytree = shutil.which("tallytree")
    if not tallytree:
        fail("the command `tallytree` is not in PATH, and takes the samples; --exact does without it")
    python[0] = sys.executable
    more = ["-o", output] if output else []
    run(tallytree, ["tallytree", "record", *([way] if way else []), *more, "--", *python, *words], os.environ)


def interpreter():
    """How this one was called, without the words for us."""
    words = getattr(sys, "orig_argv", [])
    words = words[:len(words) - len(sys.argv) + 1]
    if words[-2:] == ["-m", "tallytree"]:
        return words[:-2]
    # pylint: disable-next=protected-access
    return [sys.executable, *subprocess._args_from_interpreter_flags()]


def main():
    way, output, words = parse(sys.argv[1:])
    python = interpreter()
    if way == "--exact":
        run_exactly(python, words, output)
    else:
        run_sampled(way, python, words, output)


main()
