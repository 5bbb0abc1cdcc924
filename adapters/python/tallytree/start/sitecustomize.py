# SPDX-License-Identifier: MIT
"""Begins the recording of a script: `python3 -m tallytree --exact` has put this folder first on
PYTHONPATH.  It takes away what that needed, and runs the module that it stands in front of."""
import os
import sys


def put_back(folder):
    """As it would be without us: the path, its caches, the environment."""
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path_importer_cache.pop(folder, None)
    os.environ.pop("PYTHONPATH", None)
    before = os.environ.pop("TALLYTREE_PYTHONPATH", None)
    if before is not None:
        os.environ["PYTHONPATH"] = before
    return os.environ.pop("TALLYTREE_PYTHON", None)


def import_next():
    """The sitecustomize that the program has, if it has one."""
    here = sys.modules.pop(__name__)
    try:
        import sitecustomize  # pylint: disable=import-self,unused-import
    except ImportError as error:
        if error.name != __name__:
            raise
    finally:
        sys.modules.setdefault(__name__, here)


def say(text):
    try:
        os.write(2, f"{text}\n".encode())
    except OSError:
        pass  # it has no such file open


def begin(output, package):
    import atexit

    sys.path.insert(0, os.path.dirname(package))
    try:
        import tallytree
    finally:
        sys.path.remove(os.path.dirname(package))

    def end(process=os.getpid()):
        try:
            tallytree.stop()
        except RuntimeError as error:
            say(error)
        if os.getpid() == process:
            say(f"tallytree: the calls are in {output}")

    try:
        tallytree.start(f"output={output}")
    except (RuntimeError, ValueError) as error:
        say(f"{error}: the script runs without a recording in {output}")
        return
    tallytree.hide(end.__code__)
    atexit.register(end)


def main():
    folder = os.path.dirname(os.path.abspath(__file__))
    output = put_back(folder)
    try:
        import_next()
    finally:
        if output:
            begin(output, os.path.dirname(folder))


main()
