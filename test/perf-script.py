# SPDX-License-Identifier: MIT
# perf-script.py [--copied] [--everywhere] TALLYTREE FILE PROGRAM... - what perf script says of a perf.data, held against
# what we read: the samples and periods of each stack, by event, and of each thread.  Functions
# are compared by name in the programs and the kernel, elsewhere by their file alone: names
# that one address has, and what was inlined, are a matter of taste.  Of a whole system (--everywhere) only
# what is in these programs is, as what else runs may do anything.
import collections, csv, io, os, re, subprocess, sys

copied = "--copied" in sys.argv
everywhere = "--everywhere" in sys.argv
tallytree, file, *programs = [a for a in sys.argv[1:] if a[:2] != "--"]
KERNEL = "[kernel.kallsyms]"


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def frame(name, path):
    base = os.path.basename(path)
    return name + "@" + base if path in programs or base == KERNEL else "@" + base


def stack(frames):
    kept = []
    for f in frames:
        if f[0] != "@" or not kept or kept[-1] != f:
            kept.append(f)
    return ";".join(kept)


def theirs():
    samples, periods, threads = (collections.defaultdict(collections.Counter) for _ in range(3))
    head, frames = None, []

    def end():
        if head:
            comm, pid, tid, period, event = head
            key = stack(reversed(frames))
            samples[event][key] += 1
            periods[event][key] += int(period or 0)
            threads[event][comm, pid, tid] += 1

    out = run("perf", "script", "--no-inline", "-F", "comm,pid,tid,event,period,ip,sym,dso", "-i", file)
    for line in out.split("\n"):
        m = re.match(r" *(\S.*?) +(-?\d+)/(-?\d+) +(\d+) +(\S+): ?(.*)$", line) if line[:1] != "\t" else None
        if m:
            end()
            head, frames = m.group(1, 2, 3, 4, 5), []
            line = "\t" + m[6]
        m = re.match(r"\s+([0-9a-f]+) (.*) \((.*)\)\s*$", line)
        if m:
            frames.append(frame(m[2], m[3]) if m[3] != "[unknown]" else "@[unknown]")
    end()
    return samples, periods, threads


def ours(metric):
    sums, path = collections.Counter(), []
    for row in csv.DictReader(io.StringIO(run(tallytree, "export", "--to", "csv", "--metric", metric, file))):
        if row["role"] != "entry":
            continue
        module = row["module"].replace("[kernel]", KERNEL)
        del path[int(row["depth"]):]
        path.append(frame(row["name"], module) if module else "@" + row["name"])
        if int(row["self"]):
            sums[stack(path[1:])] += int(row["self"])
    return sums


def strands(metric):
    sums = collections.Counter()
    for row in csv.DictReader(io.StringIO(run(tallytree, "report", "strands", "--csv", "--limit", "all", "--metric", metric, file))):
        if row["role"] == "entry":
            sums[row["process"], row["pid"], row["thread"]] += int(row["self"])
    return sums


def unwound(want, got):
    """Copied stacks: perf gives some up, at the leaf or at _start.  The leaves are the same, and
    where it reached main or thread we have as many."""
    def below(stacks):
        cut = collections.Counter()
        for s, n in stacks.items():
            m = re.search(r"(^|;)((main|thread)@.*)", s)
            cut[m[2] if m else ""] += n
        return cut

    def leaves(stacks):
        sums = collections.Counter()
        for s, n in stacks.items():
            sums[s.split(";")[-1]] += n
        return sums

    same("leaf", leaves(want), leaves(got))
    mine, main = below(got), below(want)
    same("stack", main, collections.Counter({s: min(n, mine[s]) if s else n for s, n in main.items()}))


# A stack, or a thread.
def is_ours(key):
    names = [os.path.basename(p) for p in programs]
    return key[0] in names if isinstance(key, tuple) else any(f.rsplit("@")[-1] in names for f in key.split(";"))


def same(what, want, got):
    want, got = +collections.Counter(want), collections.Counter(got)
    if everywhere:
        want, got = (collections.Counter({k: n for k, n in c.items() if is_ours(k)}) for c in (want, got))
    for key in sorted(set(want) | set(got), key=str):
        if want[key] != got[key]:
            print("%s %s: perf has %d, we have %d" % (what, key, want[key], got[key]))
            same.failed = True


same.failed = False
samples, periods, threads = theirs()
subprocess.run([tallytree, "symbolize", "-o", file + ".tt", file])
file += ".tt"
assert samples, "perf script has no samples"
for i, event in enumerate(samples):
    first = len(samples) == 1 or "samples of " + event not in run(tallytree, "report", "header", "--csv", file)
    metric = "samples" if first else "samples of " + event
    (unwound if copied else lambda *of: same(event, *of))(samples[event], ours(metric))
    same(event, threads[event], strands(metric))
    if sum(periods[event].values()) and not copied:
        same("period of " + event, periods[event], ours(event))
sys.exit(same.failed)
