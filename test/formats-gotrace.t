#!/bin/bash
# SPDX-License-Identifier: MIT
# Execution traces of Go: waits and samples that a few lines of Python have simulated, and those that Go's own tool finds
# in its own traces.
. "$(dirname "$0")/formats.sh"

cat >"$dir/make.py" <<'END'
"""make.py FOLDER old|new SEED: a trace of goroutines that run, wait and go on; sums of each stack beside it."""
import collections, random, sys
out, form, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
dice, old = random.Random(seed), sys.argv[2] == "old"
tick = dice.choice([1, 4, 64])              # ns
KINDS = ("synchronization", "network", "system calls", "other waits", "samples", "waits")
sums = collections.defaultdict(collections.Counter)
def number(n):
    b = b""
    while n > 127: b, n = b + bytes([n & 127 | 128]), n >> 7
    return b + bytes([n])
def numbers(*all): return b"".join(map(number, all))
names = ["main.main", "main.größe", "main.(*T[...]).Do", "net/http.Serve", "sync.(*Mutex).Lock", "runtime.gopark"]
files = ["/src/main.go", "/usr/lib/go/src/lib.go"]
REASONS = {"chan receive": 0, "select": 0, "sync": 0, "network": 1, "sleep": 3, "wait until GC ends": 3}
OLD = {22: 0, 23: 0, 24: 0, 25: 0, 26: 0, 42: 0, 27: 1, 19: 3, 20: 3}
now, state, since, futile, runs = 10**6, {}, {}, {}, {}
G, PLACES = range(1, 8), range(4)
state = {g: "runnable" for g in G}
generations, data = 1 if old else 3, b""
def close(g):
    """The last wait of a goroutine is over, and was not futile."""
    if g in since and since[g][3] is not None:
        kind, stack, begin, end = since.pop(g)
        sums[KINDS[kind]][stack] += (end - begin) * tick
        sums["waits"][stack] += 1
for generation in range(1, generations + 1):
    # numbers mean something else in each generation
    text = {t: i for i, t in enumerate(dice.sample(names + files + list(REASONS), len(names + files + list(REASONS))), 1)}
    stacks = {dice.randrange(1, 10**6): [dice.choice(names) for _ in range(dice.randrange(1, 5))] for _ in range(9)}
    folded = {i: ";".join(reversed(s)) for i, s in stacks.items()}
    batches, open_batch, samples = collections.defaultdict(list), {}, []
    last = {}
    def put(place, kind, *args):
        if place not in open_batch or dice.random() < .1:
            open_batch[place] = [now, b""]
            last[place] = now
            batches[place].append(open_batch[place])
        body = numbers(now - last[place], *args)
        last[place] = now
        if not old: open_batch[place][1] += bytes([kind]) + body
        elif len(args) < 3: open_batch[place][1] += bytes([kind | len(args) << 6]) + body
        else: open_batch[place][1] += bytes([kind | 3 << 6]) + number(len(body)) + body
    if not old:
        for p, g in runs.items(): put(p, 25, g, p, 2) if dice.random() < .5 else put(p, 48, g, p, 2, 0)
    for step in range(700):
        now += dice.randrange(1, 900)
        if step == 0 and not data:
            for p in PLACES: put(p, *((4, 8, 0) if old else (9, 8, 0)))
        p = dice.choice(PLACES)
        g = runs.get(p)
        stack = dice.choice(list(stacks))
        if dice.random() < .1:
            samples.append((now + dice.randrange(99), p, p, g or 0, stack)); sums["samples"][folded[stack]] += 1
            continue
        if not g:
            ready = [g for g in G if state[g] == "runnable"]
            if not ready: # the network, or a timer
                other = dice.choice([g for g in G if state[g] == "waiting"] or [0])
                if other:
                    put(p, 21, other, 7, 0)
                    since[other] = since[other][:3] + (now,)
                    state[other] = "runnable"
                continue
            g = runs[p] = dice.choice(ready)
            state[g] = "running"
            put(p, *(dice.choice([(14, g, 7), (38, g), (41, g, 7, 3)]) if old else (16, g, 7)))
            if old and g in since and since[g][3] is not None and since[g][4:] == () and since[g][0] == 0 and dice.random() < .2:
                put(p, 36); futile[g] = 1
            continue
        what = dice.randrange(6)
        if what < 2: # it blocks
            kind = dice.choice(list(OLD if old else REASONS))
            if futile.get(g): kind = 24
            wait = (OLD if old else REASONS)[kind]
            put(p, *((kind, stack) if old else (20, text[kind], stack)))
            if futile.pop(g, 0): since[g] = since[g][:3] + (None,)
            else:
                close(g)
                since[g] = (wait, folded[stack], now, None)
            state[g] = "waiting"; del runs[p]
        elif what == 2: # it wakes another one up
            asleep = [g for g in G if state[g] == "waiting"]
            if not asleep: continue
            other = dice.choice(asleep)
            put(p, *(dice.choice([(21, other, 7, stack), (39, other, stack)]) if old else (21, other, 7, stack)))
            since[other] = since[other][:3] + (now,)
            state[other] = "runnable"
        elif what == 3: # a system call
            if futile.get(g): continue
            begin = now
            put(p, *((28, stack) if old else (22, 7, stack)))
            now += dice.randrange(1, 5000)
            blocked = dice.random() < .5
            if old and not blocked: # nothing says when it ended
                close(g); since.pop(g, None)
                continue
            close(g)
            if old: put(p, 30); del runs[p]
            end = now
            if old:
                now += dice.randrange(1, 500)
                q = dice.choice(PLACES)
                put(q, *dice.choice([(29, g, 7, end), (40, g, end)]))
                state[g] = "runnable"
            elif blocked: put(p, 24); state[g] = "runnable"; del runs[p]
            else: put(p, 23)
            since[g] = (2, folded[stack], begin, end)
        elif what == 4: # it has to yield
            put(p, *((18, stack) if old else (19, text["sleep"], stack)))
            state[g] = "runnable"; del runs[p]
        elif old: put(p, *dice.choice([(33, 12345), (45, 1, 2, stack, 4), (7, 3, stack)]))
        elif dice.random() < .5: put(p, 45, 10**9, 7); put(p, 45, g, 7) # a coroutine, and back
        else: put(p, *dice.choice([(37, 12345), (40, 1, 2, text["sync"], stack), (128, 1, 2, 3)]))
    def texts(kind):
        for t, i in text.items():
            b = t.encode(); yield bytes([kind]) + numbers(i, len(b)) + b
    def all_stacks(kind):
        for i, s in stacks.items():
            b = b"".join(numbers(0x400000 + names.index(f), text[f], text[files[names.index(f) % 2]], 7) for f in s)
            if kind == 3 and old: b = numbers(i, len(s)) + b; yield bytes([3 | 3 << 6]) + number(len(b)) + b
            else: yield bytes([3]) + numbers(i, len(s)) + b
    if old:
        parts = [bytes([1 | 1 << 6]) + numbers(p, t) + b for p in batches for t, b in batches[p]]
        queues = {p: [bytes([1 | 1 << 6]) + numbers(p, t) + b for t, b in batches[p]] for p in batches}
        for t, _, p, g, s in samples:
            b = numbers(1, t, p, g, s); queues.setdefault(99, []).append(bytes([1 | 1 << 6]) + numbers(99, now) + bytes([49 | 3 << 6]) + number(len(b)) + b)
        tail = b"".join(texts(37)) + b"".join(all_stacks(3)) + bytes([2]) + number(10**9 // tick)
    else:
        def batch(m, t, b): return bytes([1]) + numbers(generation, m, t, len(b)) + b
        queues = {p: [batch(p, t, b) for t, b in batches[p]] for p in batches}
        special = [b"\4" + b"".join(texts(5)), b"\2" + b"".join(all_stacks(3)), b"\6" + b"".join(bytes([7]) + numbers(*s) for s in samples),
                   (b"\x08" if generation == 1 else b"\x32\x08") + number(10**9 // tick) + (b"" if generation == 1 else b"\x33" + numbers(1, 2, 3, 4))]
        queues[-1] = [batch(2**64 - 1, now, b) for b in special]
        queues[-2] = [bytes([49, 1]) + numbers(generation, 5, now, 3) + b"abc"]
        tail = b""
    while queues: # batches of different places come in any order
        q = dice.choice(list(queues))
        data += queues[q].pop(0)
        if not queues[q]: del queues[q]
    data += tail
for g in G: close(g)
open(out + "/all", "wb").write((b"go 1.19 trace\0\0\0" if old else b"go 1.23 trace\0\0\0") + data)
for n in KINDS: open(out + "/" + n, "w").write("".join("%s %d\n" % line for line in sorted(sums[n].items()) if line[1]))
END
of() { [ -s "$1/$2" ] && "$tallytree" export --to folded --metric "$2" "$1/all" | LC_ALL=C sort | diff <(LC_ALL=C sort "$1/$2") -; }
for form in old new; do
    for seed in 1 2 3; do
        mkdir "$dir/$form$seed" && python3 "$dir/make.py" "$dir/$form$seed" "$form" "$seed" || exit
    done
    for metric in "synchronization" "network" "system calls" "other waits" "samples" "waits"; do
        all() {
            local seed
            for seed in 1 2 3; do of "$dir/$form$seed" "$metric" || return; done
        }
        try "traces of the ${form}er form: each stack has its $metric" all
    done
done
mv "$dir/new3/all" "$dir/all"
named() { "$tallytree" report flat --csv --metric waits "$dir/all" | grep -q '/src/main.go' && "$tallytree" report header "$dir/all" | silent grep lost; }
try "functions have their files, and nothing is lost" named
in_time() { "$tallytree" report timeline --csv "$dir/all" | grep -qE ',[1-9][0-9.]*$' && "$tallytree" report flat --metric samples --time 0%..50% "$dir/all" >"$dir/got"; }
try "samples have their time" in_time
unknown() { { cat "$dir/all"; printf '\1\3\1\1\2\x7e\1'; } >"$dir/more" && "$tallytree" report header "$dir/more" | grep -q 'lost  *1 events'; }
try "an event of a later version is counted as lost" unknown
cut() { head -c $(($(wc -c <"$dir/all") - 1)) "$dir/all" >"$dir/short" && "$tallytree" report header "$dir/short" | grep -q 'cut off'; }
try "a trace that was cut off is read up to there, and says so" cut
early() { printf 'go 1.5 trace\0\0\0\0' >"$dir/bad" && refused "$dir/bad" ":.*this trace is of Go 1.5, which has no names"; }
try "traces without names are refused, and say what to do" early
none() { printf 'go 1.19 trace\0\0\0' >"$dir/bad" && refused "$dir/bad" ":.*no waits with stacks, and no samples"; }
try "a trace without waits is refused" none
late() {
    { cat "$dir/old1/all"; printf '\x41\1\377\377\377\377\377\377\377\377\377\1\x24\0'; } >"$dir/bad" && refused "$dir/bad" ":.*time.*too large"
}
try "a time of more nanoseconds than 64 bits hold is refused" late

# Go's own tool finds the same waits, to a nanosecond for each, in Go's own traces.
cat >"$dir/same.py" <<'END'
import collections, re, subprocess, sys
def run(*command): return subprocess.run(command, capture_output=True, check=True).stdout
def go(kind, file):
    open(sys.argv[2] + "/pprof", "wb").write(run("go", "tool", "trace", "-pprof=" + kind, file))
    raw, names, samples = run("go", "tool", "pprof", "-raw", sys.argv[2] + "/pprof").decode(), {}, []
    for line in raw.split("\n"):
        sample, place = re.match(r"\s*(\d+)\s+(\d+): ([\d ]+)$", line), re.match(r"\s*(\d+): 0x[0-9a-f]+ (?:M=\d+ )?(\S.*?) \S+:\d+ s=\d+", line)
        if sample: samples.append((int(sample[1]), int(sample[2]), sample[3].split()))
        elif place: names[place[1]] = place[2]
    ns, waits = collections.Counter(), collections.Counter()
    for n, delay, ids in samples:
        stack = ";".join(names[i] for i in reversed(ids))
        ns[stack] += delay; waits[stack] += n
    return ns, waits
def ours(metric, file):
    lines = run(sys.argv[1], "export", "--to", "folded", "--metric", metric, file).decode().split("\n")
    return {l.rpartition(" ")[0]: int(l.rpartition(" ")[2]) for l in lines if l}
total = 0
for file in sys.argv[3:]:
    for kind, metric in ("sync", "synchronization"), ("net", "network"), ("syscall", "system calls"):
        ns, waits = go(kind, file)
        if not ns: continue
        mine = ours(metric, file)
        total += sum(waits.values())
        for stack in set(ns) | set(mine):
            if abs(ns[stack] - mine.get(stack, 0)) > waits[stack]: sys.exit("%s: %s: %d, and for Go %d" % (file, stack, mine.get(stack, 0), ns[stack]))
print("#", total, "waits")
sys.exit(total < 800)
END
traces=$(go env GOROOT 2>/dev/null)/src/internal/trace/testdata
if [ -f "$traces/http_1_19_good" ]; then
    try "Go's own tool finds the same waits in traces of three versions" \
        python3 "$dir/same.py" "$tallytree" "$dir" "$traces"/{http,stress}_1_19_good "$traces"/stress_1_{7,10}_good
else
    skip "Go's own tool finds the same waits in traces of three versions" "no traces of Go 1.19"
fi
finish
