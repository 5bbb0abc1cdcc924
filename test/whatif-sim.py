#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""whatif-sim.py TALLYTREE FOLDER FROM TO - random programs in a simulator, for seeds FROM to TO.

Each has threads that wait for each other, and each thread has a processor.  Their samples, at
random times, are a file for `report whatif`.  Then the program runs again with the block faster:
that is the truth, which has to lie in the interval 9 times in 10."""
import csv
import heapq
import random
import statistics
import subprocess
import sys
from collections import deque

class Place(deque):
    """Threads that wait in a call of this name; the system's call is `wait`."""
    def __init__(self, call, wait="futex"):
        super().__init__()
        self.call, self.wait = call, wait

class Sim:
    def __init__(self, scale):
        self.scale, self.now, self.queue, self.seq, self.lanes, self.done, self.joiners = scale, 0.0, [], 0, [], {}, {}
    def start(self, thread):
        i = len(self.lanes)
        self.lanes.append([])  # (from, to, path)
        self.step(i, thread)
        return i
    def at(self, time, i, thread):
        self.seq += 1
        heapq.heappush(self.queue, (time, self.seq, i, thread))
    def wake(self, i, thread, since, path):
        self.lanes[i].append((since, self.now, path))
        self.at(self.now, i, thread)
    def step(self, i, thread):
        while True:
            try:
                what, *args = next(thread)
            except StopIteration:
                self.done[i] = self.now
                for j, t, since in self.joiners.pop(i, []): self.wake(j, t, since, "main;pthread_join;[waits: futex]")
                return
            if what == "work":
                path, ms = args
                ms *= self.scale.get(path, 1)
                self.lanes[i].append((self.now, self.now + ms, "main;" + path))
                self.at(self.now + ms, i, thread)
                return
            if what == "join":
                if args[0] in self.done: continue
                self.joiners.setdefault(args[0], []).append((i, thread, self.now))
                return
            if what == "until":  # waits while the condition does not hold: of `place`
                place, holds = args
                if holds(): continue
                place.append((i, thread, self.now, holds))
                return
            if what == "wake":
                for place in args:
                    for w in list(place):
                        if w[3]():
                            place.remove(w)
                            self.wake(w[0], w[1], w[2], "main;%s;[waits: %s]" % (place.call, place.wait))
                            break
            if what == "all":
                for w in list(args[0]):
                    args[0].remove(w)
                    self.wake(w[0], w[1], w[2], "main;%s;[waits: %s]" % (args[0].call, args[0].wait))
    def run(self, main):
        self.start(main)
        while self.queue:
            self.now, _, i, thread = heapq.heappop(self.queue)
            self.step(i, thread)
        return self.now

def noisy(r, mean): return mean * r.uniform(.6, 1.4)

class Lock:
    def __init__(self): self.held, self.place = False, Place("pthread_mutex_lock")
    def take(self):
        # a lock that was awaited is handed over
        while self.held:
            yield "until", self.place, lambda: not self.held
        self.held = True
    def give(self):
        self.held = False
        yield "wake", self.place

class Queue:
    def __init__(self, room): self.room, self.items, self.getters, self.putters = room, 0, Place("sem_wait"), Place("sem_wait")
    def put(self):
        while self.items >= self.room: yield "until", self.putters, lambda: self.items < self.room
        self.items += 1
        yield "wake", self.getters
    def get(self):
        while not self.items: yield "until", self.getters, lambda: self.items
        self.items -= 1
        yield "wake", self.putters

class Pipe(Queue):
    def __init__(self, room):
        super().__init__(room)
        self.getters, self.putters = Place("read", "read"), Place("write", "write")

def threads(sim, bodies):
    ids = [sim.start(b) for b in bodies]
    for i in ids: yield "join", i

def pipeline(r, sim, queue_of=Queue):
    stages, items = r.randrange(2, 5), 300
    mean = [r.uniform(.5, 4) for _ in range(stages)]
    cost = [[noisy(r, m) for _ in range(items)] for m in mean]
    queue = [queue_of(r.choice([1, 2, 8, 30])) for _ in range(stages)]
    def stage(k):
        for n in range(items):
            if k: yield from queue[k].get()
            yield "work", "stage%d" % k, cost[k][n]
            if k + 1 < stages: yield from queue[k + 1].put()
    return ["stage%d" % k for k in range(stages)], lambda s: threads(s, [stage(k) for k in range(stages)])

def pipes(r, sim): return pipeline(r, sim, Pipe)

def forkjoin(r, sim):
    workers, rounds = r.randrange(2, 5), r.choice([5, 30])
    total = r.uniform(400, 900)
    serial = [noisy(r, total / rounds * r.uniform(.1, .6)) for _ in range(rounds)]
    work = [[(noisy(r, total / rounds * r.uniform(.2, 1)), noisy(r, total / rounds * r.uniform(.1, .6))) for _ in range(workers)] for _ in range(rounds)]
    def body(n, k):
        yield "work", "left" if k % 2 else "right", work[n][k][0]
        yield "work", "common", work[n][k][1]
    def main(s):
        for n in range(rounds):
            yield "work", "serial", serial[n]
            yield from threads(s, [body(n, k) for k in range(workers)])
    return ["left", "right", "common", "serial"], main

def convoy(r, sim):
    workers, rounds = r.randrange(2, 7), 120
    inside, outside = r.uniform(.5, 3), r.uniform(.5, 6)
    cost = [[(noisy(r, outside), noisy(r, inside)) for _ in range(rounds)] for _ in range(workers)]
    lock = Lock()
    def body(k):
        for a, b in cost[k]:
            yield "work", "outside", a
            yield from lock.take()
            yield "work", "inside", b
            yield from lock.give()
    return ["inside", "outside"], lambda s: threads(s, [body(k) for k in range(workers)])

def market(r, sim):
    producers, consumers, items = r.randrange(1, 4), r.randrange(1, 4), 120
    p, c = r.uniform(1, 6), r.uniform(1, 6)
    queue = Queue(r.choice([1, 4, 50]))
    left = [items * producers]
    pre = [[noisy(r, p) for _ in range(items)] for _ in range(producers)]
    eat = [noisy(r, c) for _ in range(items * producers)]
    def produce(k):
        for ms in pre[k]:
            yield "work", "produce", ms
            yield from queue.put()
    def consume(k):
        while left[0]:
            left[0] -= 1
            ms = eat[left[0]]
            yield from queue.get()
            yield "work", "consume", ms
    return ["produce", "consume"], lambda s: threads(s, [produce(k) for k in range(producers)] + [consume(k) for k in range(consumers)])

def phases(r, sim):
    workers, rounds = r.randrange(2, 5), r.choice([6, 100])
    mean = [r.uniform(.3, 1) * 900 / rounds for _ in range(workers)]
    cost = [[(noisy(r, m * .5), noisy(r, m * .5)) for _ in range(rounds)] for m in mean]
    place, arrived = Place("pthread_barrier_wait"), [0, 0]
    def body(k):
        for a, b in cost[k]:
            yield "work", "own%d" % k, a
            yield "work", "same", b
            arrived[0] += 1
            if arrived[0] == workers:
                arrived[0] = 0
                yield "all", place
            else:
                yield "until", place, lambda: False
    return ["same"] + ["own%d" % k for k in range(workers)], lambda s: threads(s, [body(k) for k in range(workers)])

def serial(r, sim):
    cost = [(r.choice(["f", "g", "h"]), noisy(r, 3)) for _ in range(400)]
    def main(s):
        for f, ms in cost: yield "work", f, ms
    return ["f", "g", "h"], main

def shop(r, sim):
    """Two stages of a market, with threads that share the work of each stage."""
    counts, items = [r.randrange(1, 4) for _ in range(3)], 200
    mean = [r.uniform(1, 5) * n for n in counts]
    cost = [[noisy(r, m) for _ in range(items)] for m in mean]
    queue = [Queue(r.choice([1, 3, 10])) for _ in range(2)]
    left = [items] * 3
    def stage(k):
        while left[k]:
            left[k] -= 1
            ms = cost[k][left[k]]
            if k: yield from queue[k - 1].get()
            yield "work", "stage%d" % k, ms
            if k < 2: yield from queue[k].put()
    return ["stage0", "stage1", "stage2"], lambda s: threads(s, [stage(k) for k in range(3) for _ in range(counts[k])])

def cache(r, sim):
    """Readers, and writers that need the cache alone."""
    readers, writers, rounds = r.randrange(2, 5), r.randrange(1, 3), 100
    read, write, outside, pause = r.uniform(.5, 3), r.uniform(1, 8), r.uniform(.5, 4), r.uniform(2, 12)
    cost = [[(noisy(r, read), noisy(r, outside)) for _ in range(rounds)] for _ in range(readers)]
    fill = [[(noisy(r, write), noisy(r, pause)) for _ in range(rounds // 2)] for _ in range(writers)]
    inside, place = [0, 0], Place("pthread_rwlock_rdlock")
    def reader(k):
        for a, b in cost[k]:
            while inside[1]: yield "until", place, lambda: not inside[1]
            inside[0] += 1
            yield "work", "read", a
            inside[0] -= 1
            yield "all", place
            yield "work", "outside", b
    def writer(k):
        for a, b in fill[k]:
            while inside[0] or inside[1]: yield "until", place, lambda: not inside[0] and not inside[1]
            inside[1] = 1
            yield "work", "fill", a
            inside[1] = 0
            yield "all", place
            yield "work", "plan", b
    return ["read", "fill", "outside", "plan"], lambda s: threads(s, [reader(k) for k in range(readers)] + [writer(k) for k in range(writers)])

def futures(r, sim):
    """A pool of threads, and one that waits for the results in their order."""
    workers, tasks = r.randrange(1, 5), 200
    ahead, pool, odd, even = r.choice([2, 6, 20]), Queue(10**6), r.uniform(1, 6), r.uniform(1, 6)
    cost = [noisy(r, odd if i % 2 else even) for i in range(tasks)]
    use = [noisy(r, r.uniform(.2, 3)) for _ in range(tasks)]
    todo, ready, place = deque(), set(), Place("pthread_cond_wait")
    def worker(k):
        while True:
            yield from pool.get()
            i = todo.popleft()
            if i < 0: return
            yield "work", "odd" if i % 2 else "even", cost[i]
            ready.add(i)
            yield "all", place
    def give(i):
        todo.append(i)
        yield from pool.put()
    def owner():
        for i in range(min(ahead, tasks)): yield from give(i)
        for i in range(tasks):
            while i not in ready: yield "until", place, lambda: i in ready
            yield "work", "use", use[i]
            if i + ahead < tasks: yield from give(i + ahead)
        for _ in range(workers): yield from give(-1)
    return ["odd", "even", "use"], lambda s: threads(s, [owner()] + [worker(k) for k in range(workers)])

def network(r, sim):
    """Stations with queues between them; each item takes a random way from left to right."""
    stations, items = r.randrange(3, 7), 150
    mean = [r.uniform(1, 4) for _ in range(stations)]
    ways = [[k for k in range(stations) if k in (0, stations - 1) or r.random() < .6] for _ in range(items)]
    cost = [[noisy(r, m) for m in mean] for _ in range(items)]
    queue = [Queue(r.choice([2, 5, 40])) for _ in range(stations)]
    lists = [deque() for _ in range(stations)]
    visits = [sum(k in w for w in ways) for k in range(stations)]
    def station(k):
        for n in range(visits[k]):
            i = n
            if k:
                yield from queue[k].get()
                i = lists[k].popleft()
            yield "work", "station%d" % k, cost[i][k]
            after = [m for m in ways[i] if m > k]
            if after:
                lists[after[0]].append(i)
                yield from queue[after[0]].put()
    return ["station%d" % k for k in range(stations)], lambda s: threads(s, [station(k) for k in range(stations)])

KINDS = [pipeline, forkjoin, convoy, market, phases, serial, shop, cache, futures, network, pipes]

def simulate(kind, seed, scale):
    sim = Sim(scale)
    blocks, main = kind(random.Random(seed), sim)
    return blocks, sim.run(main(sim)), sim

def write(sim, length, r, mean, name):
    events, t = [], 0.0
    ends = [lane[-1][1] if lane else 0 for lane in sim.lanes]
    begins = [lane[0][0] if lane else 0 for lane in sim.lanes]
    at = [0] * len(sim.lanes)
    before = list(begins)
    while t < length:
        t = min(length, t + mean * r.uniform(.5, 1.5))
        for i, lane in enumerate(sim.lanes):
            if not lane or begins[i] >= t or before[i] >= ends[i]: continue
            now = min(t, ends[i])
            while at[i] + 1 < len(lane) and lane[at[i]][1] <= now - 1e-9: at[i] += 1
            events.append((now, i, now - before[i], lane[at[i]][2]))
            before[i] = now
    events.sort()
    with open(name, "w") as f:
        f.write("p 7/6 [001] %d.000000000: %d cpu-clock:u: \n\t1000 [waits: signal]+0x1 (/p)\n\n" % (1, 1))
        for ms, i, weight, path in events:
            ns = int(round(ms * 1e6)) + 10**9
            w = int(round(weight * 1e6))
            if w > 0: f.write("p 7/%d [001] %d.%09d: %d cpu-clock:u: \n%s\n" % (7 + i, ns // 10**9, ns % 10**9, w, "".join("\t1000 %s+0x1 (/p)\n" % b for b in reversed(path.split(";")))))

def main():
    tallytree, folder = sys.argv[1:3]
    good, widths, errors = 0, [], []
    of_kind = {}
    for seed in range(int(sys.argv[3]), int(sys.argv[4])):
        kind = KINDS[seed % len(KINDS)]
        r = random.Random(seed)
        blocks, now, sim = simulate(kind, seed, {})
        block, share = r.choice(blocks), r.choice([.25, .5, .5, .75, 1])
        _, then, _ = simulate(kind, seed, {block: 1 - share})
        write(sim, now, r, 4, folder + "/sim")
        out = subprocess.run([tallytree, "report", "whatif", "--csv", "--block", block, "--speedup", "%g%%" % (100 * share), folder + "/sim"],
                             text=True, stdout=subprocess.PIPE, check=True).stdout
        row = next(csv.DictReader(out.splitlines()))
        here, time, low, high = (int(row[k]) / 1e6 for k in ("now", "time", "time_low", "time_high"))
        assert abs(here - now) < .001 * now + 1 and low <= time <= high
        is_right = low <= then <= high
        good += is_right
        of_kind.setdefault(kind.__name__, []).append((is_right, (high - low) / now, abs(time - then) / now))
        widths.append((high - low) / (share * now))
        errors.append(abs(time - then) / now)
        print("%-9s %-8s %3.0f %% now %5.0f then %5.0f estimate %5.0f [%5.0f %5.0f]%s" %
              (kind.__name__, block, 100 * share, now, then, time, low, high, "" if is_right else " OUTSIDE"))
    for name, rows in of_kind.items():
        right, width, error = zip(*rows)
        print("%-9s %3d of %3d; width / run %.3f, error / run %.3f" % (name, sum(right), len(rows), statistics.median(width), statistics.median(error)))
    middle = len(widths) // 2
    width, error = sorted(widths)[middle], sorted(errors)[middle]
    print("%d of %d; medians: interval / greatest saving %.2f, error / run %.3f" % (good, len(widths), width, error))
    sys.exit(good < .9 * len(widths) or width > .3 or error > .03)


main()
