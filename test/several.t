#!/bin/bash
# SPDX-License-Identifier: MIT
# Several metrics side by side; what they come to is worked out on paper.
. "$(dirname "$0")/tap.sh"
PATH=$(realpath "${TT_BUILD:-build}"):$PATH
cd "$tmp" || exit
# main ─┬─ parse ── alloc 5, words 3
#       └─ run 2 ─┬─ alloc 4, words 7
#                 └─ print 8
printf '%s\n' 'push main' 'push parse' 'push alloc' 'tick 5' 'count words 3' pop pop 'push run' 'tick 2' 'push alloc' 'tick 4' 'count words 7' pop 'push print' 'tick 8' pop pop pop >events
tallytree replay -o rec events || exit

# rows VIEW FLAGS... - name, self, and the figures of words.
rows()
{
    tallytree report "$@" --csv rec | python3 -c '
import csv, sys
for r in csv.DictReader(sys.stdin):
    print(r["name"], r["self"], r["words.self"], r["words.inclusive"])'
}
equal "flat has them" "$(rows flat -m ticks,words | sort | paste -sd ,)" \
    "alloc 9 10 10,main 0 0 10,parse 0 0 3,print 8 0 0,run 2 0 7,total 19 10 10"
equal "what is cut off has them in its row" "$(rows flat -m ticks,words --limit 1 | paste -sd ,)" \
    "alloc 9 10 10,4 more 10 0 0,total 19 10 10"
equal "the tree has them" "$(rows tree -m ticks,words --threshold 0 | paste -sd ,)" \
    "[root] 0 0 10,main 0 0 10,run 2 0 7,print 8 0 0,alloc 4 7 7,parse 0 0 3,alloc 5 3 3"
equal "rows are sorted by any of them" "$(rows flat -m ticks,words --sort words.inclusive --limit 3 | cut -d' ' -f1 | head -n 3 | sort | paste -sd ,)" "alloc,main,run"
equal "rows of some blocks, and the total of all" "$(tallytree report flat --csv --block 'p*' rec | cut -d, -f5,9- | sed 's/,*$//' | grep -cE 'parse|print|total')/$(tallytree report flat --csv --block 'p*' rec | wc -l)" 3/5
says() { tallytree report "${@:2}" rec 2>err; [ $? = 2 ] && grep -F "$1" err; }
try "one that there is not is named" says "no metric 'wrods'; did you mean 'words'?" flat -m ticks,wrods
try "a view of one metric says so" says "'callers' and 'graph' show several" groups -m ticks,words

# ── Exports ──────────────────────────────────────────────────────────────────────────
columns() { python3 -c '
import csv, sys
for r in csv.DictReader(sys.stdin):
    print(r["name"], r["self"], r["words.self"], r["words.inclusive"], r["calls.self"])' | sort | paste -sd ,; }
want="[root] 0 0 10 0,alloc 4 7 7 1,alloc 5 3 3 1,main 0 0 10 1,parse 0 0 3 1,print 8 0 0 1,run 2 0 7 1"
equal "an exported table has all metrics" "$(tallytree export --to csv rec | columns)" "$want"
equal "and so has JSON" "$(tallytree export --to json rec | python3 -c '
import json, sys
t = json.load(sys.stdin); keys = [c["key"] for c in t["columns"]]
for r in t["rows"]:
    r = dict(zip(keys, r["values"]))
    print(r["name"], r["self"], r["words.self"], r["words.inclusive"], r["calls.self"])' | sort | paste -sd ,)" "$want"
equal "a metric that is named is alone" "$(tallytree export --to csv -m words rec | head -1 | grep -c 'calls.self')" 0
equal "a star is all others" "$(tallytree report flat --csv -m 'words,*' rec | head -1 | grep -o '[a-z]*\.self' | paste -sd ,)" "calls.self,ticks.self"

# ── Callers and calls ────────────────────────────────────────────────────────────────
# The same by a model: random programs, their paths, and what each chain of callers and each
# call comes to in three metrics.
cat >model.py <<'END'
import collections, csv, io, random, subprocess, sys
METRICS = ['ticks', 'words', 'calls']
def program(rng):
    events, path, self_ = [], [], collections.Counter()
    for _ in range(rng.randint(3, 90)):
        if path and rng.random() < 0.42:
            path.pop(); events.append('pop'); continue
        path.append(rng.choice('abcdef'[:rng.randint(2, 6)])); events.append('push ' + path[-1])
        self_[tuple(path), 'calls'] += 1
        for metric, event in (('ticks', 'tick'), ('words', 'count words')):
            n = rng.choice([0, 0, 1, 5, 70])
            if n:
                self_[tuple(path), metric] += n; events.append('%s %d' % (event, n))
    events += ['count words 1', 'tick 1'] + ['pop'] * len(path)
    if path or True:
        self_[tuple(path), 'words'] += 1; self_[tuple(path), 'ticks'] += 1
    return events, self_
def rows(view):
    text = subprocess.check_output(['tallytree', 'report', view, '-m', 'ticks,words,calls', '--csv', '--limit', 'all', '--threshold', '0', 'rec'], text=True)
    return list(csv.DictReader(io.StringIO(text)))
def number(row, metric, what):
    return int(row[what if metric == 'ticks' else '%s.%s' % (metric, what)] or 0)
def inclusive(self_, metric, wants):
    # of each path that `wants` accepts an outermost end of: all that is below it, once
    total = 0
    for (path, m), n in self_.items():
        if m == metric and any(wants(path[:i]) for i in range(1, len(path) + 1)):
            total += n
    return total
for seed in range(int(sys.argv[1])):
    rng = random.Random(seed)
    events, self_ = program(rng)
    open('events', 'w').write('\n'.join(events) + '\n')
    subprocess.check_call(['tallytree', 'replay', '--recursion', 'none', '-o', 'rec', 'events'])
    chain = []
    for r in rows('callers'):
        if r['role'] != 'entry' or r['name'] == '[root]':
            continue
        chain[int(r['depth']):] = [r['name']]
        end = tuple(reversed(chain))
        for m in METRICS:
            want = sum(n for (p, k), n in self_.items() if k == m and p[-len(end):] == end)
            assert number(r, m, 'self') == want, (seed, 'callers', end, m, want, r)
            if len(end) == 1:
                want = inclusive(self_, m, lambda p: p[-1:] == end)
                assert number(r, m, 'inclusive') == want, (seed, 'callers', end, m, want, r)
    callers, entry = [], None
    seen = 0
    table = rows('graph')
    groups = collections.defaultdict(list)
    for r in table:
        groups[r['group']].append(r)
    for group in groups.values():
        entry = next((r for r in group if r['role'] == 'entry'), None)
        if not entry or entry['name'] == '[root]':
            continue
        for r in group:
            if '[root]' in (r['name'], entry['name']) or r['role'] not in ('caller', 'callee', 'entry'):
                continue
            for m in METRICS:
                if r['role'] == 'entry':
                    want = sum(n for (p, k), n in self_.items() if k == m and p[-1:] == (r['name'],))
                    assert number(r, m, 'self') == want, (seed, 'graph', r, m, want)
                    want = inclusive(self_, m, lambda p: p[-1:] == (r['name'],))
                else:
                    edge = (r['name'], entry['name']) if r['role'] == 'caller' else (entry['name'], r['name'])
                    want = inclusive(self_, m, lambda p: p[-2:] == edge)
                assert number(r, m, 'inclusive') == want, (seed, 'graph', r, m, want)
                seen += 1
print('ok')
END
equal "callers and calls in three metrics are those of a model, in 25 programs" "$(python3 model.py 25 2>&1 | tail -n 1)" ok
finish
