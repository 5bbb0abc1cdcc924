#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# tcl-packages.py TALLYTREE FOLDER SCRIPT... - how often each statement of real packages runs.
#
# FOLDER has packages, and SCRIPTs that use them, whose paths are relative to it.  In a copy of FOLDER
# each statement of the packages has a counter before it.  A SCRIPT runs twice with the copy and
# Tcl's own shell, and once with FOLDER as it is, under Tallytree.  Each statement has to be at the
# same file, line, index and length, with the same count.
#
# A script that counts otherwise in its two runs is left out.  Commands of packages may run texts
# that only they know to be scripts: such statements have no counter, and are counted by themselves.
# Tests of tcllib are such scripts, with the folder of its source:
#
#   test/tcl-packages.py build/tallytree ~/tcllib-1.21 modules/json/json.test
import argparse
import concurrent.futures
import csv
import io
import os
import shutil
import subprocess
import sys
import tempfile

import tcl_places

DRIVER = """
package require tcltest
namespace import -force ::tcltest::*
rename exit driver_exit
proc exit {{code 0}} { driver_end; driver_exit $code }
proc driver_end {} {
    set out [open $::env(HITS) w]
    foreach {number count} [array get ::hits] { puts $out "$number $count" }
    close $out
}
proc driver_made {command code child op} {
    if {$code || [lindex $command 1] ne "create"} return
    interp alias $child ::driver_hit {} ::driver_hit
    interp eval $child {trace add variable ::hits write ::driver_hit}
}
proc driver_hit {name index op} { incr ::hits($index) }
if {[info exists ::env(COUNTED)]} { trace add execution interp leave driver_made }
proc driver {script} {
    global argv0
    set argv0 $script
    uplevel #0 [list source $script]
}
driver [lindex $argv 0][set argv {}]
exit
"""


def is_package(path):
    name = os.path.basename(path)
    return name.endswith(".tcl") and name != "pkgIndex.tcl"


def read(path):
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as f:
        return f.read()


def copy_with_counters(asked, copy):
    """[(path, start, length)], by number."""
    places = []
    shutil.copytree(asked.folder, copy, symlinks=True)
    for folder, _, names in sorted(os.walk(copy)):
        for path in (os.path.join(folder, n) for n in sorted(names)):
            if not is_package(path) or folder.endswith("devtools"):  # what tests use
                continue
            text = read(path)
            if "\r" in text or not text.isascii():
                continue
            first = len(places)
            found = tcl_places.find_statements(text)
            places += [(os.path.relpath(path, copy), at, length) for at, length, _ in found]
            with open(path, "w", encoding="utf-8", newline="") as f:
                f.write(tcl_places.with_counters(text, first, "::incr ::hits(%d)"))
    return places


def run(words, folder, **env):
    os.makedirs(folder, exist_ok=True)
    return subprocess.run(words, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=1200, text=True, errors="surrogateescape",
                          env=dict(os.environ, **env))


def count(asked, top, script, work):
    hits = os.path.join(work, "hits")
    if os.path.exists(hits):
        os.remove(hits)
    r = run(["tclsh8.6", asked.driver, os.path.join(top, script)], os.path.join(work, "run"),
            HITS=hits, COUNTED="1")
    if not os.path.exists(hits):
        return r, None
    with open(hits) as f:
        return r, {int(n): int(k) for n, k in (line.split() for line in f)}


def rows_of(asked, script, work):
    out, rows, elsewhere = os.path.join(work, "p.tt"), {}, []
    r = run([asked.tallytree, "tcl", "-o", out, "--force", "--mode", asked.mode, asked.driver,
             os.path.join(asked.folder, script)], os.path.join(work, "run"),
            HITS=os.path.join(work, "ours"))
    report = subprocess.run([asked.tallytree, "report", "tdk", "--csv", out], text=True,
                            capture_output=True)
    for row in csv.DictReader(io.StringIO(report.stdout)):
        calls = int(row["NrCallsToCmd"])
        path = os.path.relpath(row["Filename"], asked.folder)
        if calls and (path.startswith("..") or row["Filename"].startswith("[")):
            elsewhere.append(row)
        elif calls and is_package(path):
            key = path, int(row["CmdCharIndex"]), int(row["CmdLength"]), int(row["CmdLine"])
            rows[key] = rows.get(key, 0) + calls
    return r, rows, [e for e in elsewhere if e["Filename"].startswith("[")]


class Result:
    def __init__(self, script):
        self.script, self.why = script, None
        self.calls = self.elsewhere = 0
        self.right, self.others, self.wrong = set(), set(), []


def shown(asked, path, at):
    return asked.texts(path)[at:at + 60].split("\n")[0]


def compare(asked, result, counts, rows):
    """Files of which a part only has a counter in the copy are not there: they count nowhere."""
    seen = {row[:3] for row in rows}
    for number, (path, at, length) in enumerate(asked.places):
        if number not in counts and (path, at, length) not in seen:
            continue
        line = asked.line(path, at)
        want, got = counts.get(number, 0), rows.pop((path, at, length, line), 0)
        if want == got:
            if want:
                result.right.add(number)
            result.calls += want
        else:
            result.wrong.append("%s:%d: index %d, length %d: %d, and ran %d times: %s" %
                                (path, line, at, length, got, want, shown(asked, path, at)))
    for (path, at, length, line), calls in sorted(rows.items()):
        if path in asked.counted:
            result.others.add((path, at))
            if asked.verbose:
                print("# without a counter: %s:%d: index %d, length %d: %d: %s" %
                      (path, line, at, length, calls, shown(asked, path, at)))


def check(asked, script):
    result = Result(script)
    with tempfile.TemporaryDirectory() as work:
        try:
            first, counts = count(asked, asked.copy, script, work)
            second, again = count(asked, asked.copy, script, work)
            if counts is None or counts != again:
                result.why = "counts otherwise each time" if counts else "does not run with counters"
                return result
            ours, rows, elsewhere = rows_of(asked, script, work)
        except subprocess.TimeoutExpired:
            result.why = "takes too long"
            return result
    compare(asked, result, counts, rows)
    result.elsewhere = len(elsewhere)
    if asked.verbose:
        for row in elsewhere:
            print("# elsewhere: %s" % dict(row))
    return result


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("tallytree", type=os.path.abspath)
    p.add_argument("folder", type=os.path.realpath)
    p.add_argument("script", nargs="+")
    p.add_argument("--mode", default="statements", choices=["statements", "coverage"])
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--verbose", action="store_true")
    return p.parse_args()


class Texts(dict):
    def __missing__(self, path):
        text = self[path] = read(path)
        return text


def summary(right, calls, wrong, others, elsewhere):
    return ("%d statements that ran %d times are right, %d wrong; %d have no counter; %d are in "
            "no file" % (right, calls, wrong, others, elsewhere))


def say(results):
    right, others, left = set(), set(), [r for r in results if r.why]
    for r in results:
        right |= r.right
        others |= r.others
    wrong = sum(len(r.wrong) for r in results)
    print("# %d scripts, %d left out: " % (len(results), len(left)) +
          summary(len(right), sum(r.calls for r in results), wrong, len(others),
                  sum(r.elsewhere for r in results)))
    return 1 if wrong or not right else 0


def say_one(r):
    for line in r.wrong:
        print("# %s: %s" % (r.script, line))
    print("# %s: " % r.script + (("left out, as it " + r.why) if r.why else summary(
        len(r.right), r.calls, len(r.wrong), len(r.others), r.elsewhere)), flush=True)


def main():
    asked, texts, results = arguments(), Texts(), []
    asked.texts = lambda path: texts[os.path.join(asked.folder, path)]
    asked.line = lambda path, at: asked.texts(path).count("\n", 0, at) + 1
    with tempfile.TemporaryDirectory() as top:
        asked.copy = os.path.join(os.path.realpath(top), "copy")
        asked.driver = os.path.join(top, "driver.tcl")
        with open(asked.driver, "w") as f:
            f.write(DRIVER)
        asked.places = copy_with_counters(asked, asked.copy)
        asked.counted = {path for path, _, _ in asked.places}
        with concurrent.futures.ThreadPoolExecutor(asked.jobs) as pool:
            for r in pool.map(lambda s: check(asked, s), asked.script):
                results.append(r)
                say_one(r)
    return say(results)


sys.exit(main())
