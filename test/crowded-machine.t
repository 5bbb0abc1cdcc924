#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A machine with more programs than a small budget has room for: all its time is shown, and each
thread that finds no room is counted once."""
import csv
import os
import re
import shutil
import subprocess
import sys
import tempfile

TALLYTREE = os.path.join(os.path.abspath(os.environ.get("TT_BUILD", "build")), "tallytree")
TMP = tempfile.mkdtemp()
PROGRAMS, THREADS = 60, 3
SOURCE = r"""
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
static long cpu(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
/* Each program has paths of its own. */
static __attribute__((noinline)) void odd(unsigned path, int depth);
static __attribute__((noinline)) void even(unsigned path, int depth)
{
    if (!depth)
        for (volatile int i = 0; i < 3000; i++);
    else if (path & 1)
        odd(path >> 1, depth - 1);
    else
        even(path >> 1, depth - 1);
    __asm__ volatile("");
}
static __attribute__((noinline)) void odd(unsigned path, int depth)
{
    if (!depth)
        for (volatile int i = 0; i < 2000; i++);
    else if (path & 1)
        odd(path >> 1, depth - 1);
    else
        even(path >> 1, depth - 1);
    __asm__ volatile("nop");
}
static void *work(void *arg)
{
    for (unsigned path = (unsigned)(uintptr_t)arg; cpu() < 15; path = path * 1664525u + 1013904223u)
        even(path >> 8, 20);
    return NULL;
}
int main(int argc, char **argv)
{
    pthread_t t[%d];
    for (uintptr_t i = 0; i < %d; i++)
        if (pthread_create(&t[i], NULL, work, (void *)(i + 8 * (uintptr_t)atoi(argv[argc - 1]))))
            return 1;
    for (int i = 0; i < %d; i++)
        pthread_join(t[i], NULL);
    return 0;
}
""" % (THREADS, THREADS, THREADS)
count = 0


def check(what, wrong):
    global count
    count += 1
    print(f"{'not ok' if wrong else 'ok'} {count} - {what}", flush=True)
    if wrong:
        os.write(2, "".join(f"# {line}\n" for line in str(wrong).splitlines()).encode())


def report(*words):
    out = subprocess.run([TALLYTREE, "report", *words, "--csv", "profile"], cwd=TMP, check=True,
                         capture_output=True, text=True).stdout
    return list(csv.DictReader(line for line in out.splitlines() if not line.startswith("#")))


def record(budget):
    """The message, the facts, and the time of each strand."""
    said = subprocess.run([TALLYTREE, "record", "-a", *budget, "-o", "profile", "--", "sh", "-c",
                    f"i=0; while [ $i -lt {PROGRAMS} ]; do i=$((i + 1)); ln -sf program p$i; ./p$i $i & "
                    "[ $((i % 10)) != 0 ] || wait; done; wait"],
                   cwd=TMP, check=True, capture_output=True, text=True).stderr
    facts = {row["name"]: float(row["number"] or 0) for row in report("header")}
    return said, facts, [row for row in report("strands", "--limit", "all") if row["role"] == "entry"]


if subprocess.run([TALLYTREE, "record", "-a", "--duration", "0.1", "-o", os.path.join(TMP, "none")],
                  capture_output=True, check=False).returncode == 125:
    print("1..0 # SKIP a machine cannot be recorded here")
    sys.exit()
with open(os.path.join(TMP, "program.c"), "w", encoding="ascii") as f:
    f.write(SOURCE)
subprocess.run(["cc", "-O1", "-g", "-pthread", "-o", "program", "program.c"], cwd=TMP, check=True)
for name, budget in ("256K", ["--budget", "256K"]), ("by default", []):
    message, facts, strands = record(budget)
    whole = facts["lasted"] * facts["processors"]
    seen = sum(float(row["self"]) for row in strands)
    others = [float(row["self"]) for row in strands if row["name"] == "[other threads]"]
    said = f"{facts}\n{seen:.0f} of {whole:.0f}, others {others}"
    check(f"{name}: strands have all time of all processors", abs(seen / whole - 1) > 0.02 and said)
    check("so has the root", abs(sum(float(r["self"]) for r in report("flat", "--limit", "all") if r["role"] == "entry") / whole - 1) > 0.02 and said)
    text = subprocess.run([TALLYTREE, "report", "strands", "profile"], cwd=TMP, check=True, capture_output=True, text=True).stdout
    check("different programs are no outliers", ("outliers" in text or "from median" in text) and text)
    check("each has a name", [row for row in strands if not row["name"] or row["name"].startswith("thread ")])
    check("the message has the number of threads, or of processes",
          not re.search(r" samples of [1-9]\d+ (threads|processes) in profile$", message, re.M) and message)
    if not budget:
        check("all threads have room", (facts["lost.strands"] or others) and said)
        header = subprocess.run([TALLYTREE, "report", "header", "profile"], cwd=TMP, check=True, capture_output=True, text=True).stdout
        check("in 256 MiB", "\nbudget      256 MiB\n" not in header and header)
    else:
        # The shells and the links have one each; the rest is the machine's own.
        most = PROGRAMS * (THREADS + 3) + 200
        check("a thread that finds no room is counted once", not 0 < facts["lost.strands"] <= most and said)
        check("and its time is that of the other threads", (not others or len(others) != 1) and said)
subprocess.run([TALLYTREE, "record", "-a", "--interval", "1s", "--duration", "1.5", "-o", "chain"], cwd=TMP, check=True, capture_output=True)
header = subprocess.run([TALLYTREE, "report", "header", "chain"], cwd=TMP, check=True, capture_output=True, text=True).stdout
check("each profile of a chain has 64 MiB", "\nbudget      64 MiB\n" not in header and header)
# One process with more threads than there is room for, seen from outside.  A thread takes 4
# samples or fewer, so the sums differ by chance; without those that find no room it would be a third.
subprocess.run(["sh", "-c", "sed 's/\\[3\\]/[200]/; s/i < 3;/i < 200;/' program.c >many.c && cc -O1 -g -pthread -o many many.c"], cwd=TMP, check=True)
times = []
for budget in "64M", "128K":
    subprocess.run([TALLYTREE, "record", "--force", "--kernel", "--budget", budget, "-o", "profile", "./many", "1"], cwd=TMP, check=True, capture_output=True)
    times.append(sum(float(row["self"]) for row in report("strands", "--limit", "all") if row["role"] == "entry"))
lost = [float(row["number"]) for row in report("header") if row["name"] == "lost.strands"][0]
check("the threads of one process have all time, too", (not 0.65 < times[1] / times[0] < 1.5 or not 0 < lost <= 201) and (times, lost))
if os.environ.get("TT_LONG"):
    # More programs than there are rows.
    PROGRAMS = 1500
    message, facts, strands = record(["--budget", "32M"])
    check("many programs share rows", not [row for row in strands if row["name"] == "[other threads]" and row["process"].startswith("p")] and strands)
    check("but the idle time has its own", len([row for row in strands if row["name"] == "[idle]"]) != 1 and strands)
print(f"1..{count}")
shutil.rmtree(TMP)
