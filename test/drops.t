#!/bin/bash
# SPDX-License-Identifier: MIT
# Pushes that the policy `drop` has no context for are in files of paths too: random programs
# beside a naive model of the policy.
. "$(dirname "$0")/tap.sh"
PATH=$(realpath "${TT_BUILD:-build}"):$PATH
cd "$tmp" || exit

# Writes events of each seed, and what they come to: calls by path, with each dropped push below
# where it was; one of the block that is innermost is a call of that.
cat >model.py <<'END'
import collections, random, sys
for seed in range(1, int(sys.argv[1]) + 1):
    random.seed(seed)
    calls, path, stack, events = collections.Counter(), [], [], []
    names = 'abcde'[:random.randint(2, 5)]
    for _ in range(random.randint(1, 120)):
        if stack and random.random() < 0.4:
            events.append('pop')
            path = stack.pop()
        else:
            name = random.choice(names)
            events.append('push ' + name)
            stack.append(path)
            # as GHC: a block that is on the path is not pushed again, and the path stays
            calls[';'.join(path if path and path[-1] == name else path + [name])] += 1
            path = path if name in path else path + [name]
    events += ['pop'] * len(stack)
    open('events.%d' % seed, 'w').write('\n'.join(events) + '\n')
    with open('want.%d' % seed, 'w') as f:
        for p in sorted(calls):
            f.write('%s %d\n' % (p, calls[p]))
END
cat >unpack.py <<'END'
import collections, json, sys
d = json.load(open(sys.argv[1]))
frames, calls = [f['name'] for f in d['shared']['frames']], collections.Counter()
for p in d['profiles']:
    for s, w in zip(p.get('samples', []), p.get('weights', [])):
        calls[';'.join(frames[i] for i in s)] += w
    path, at = [], p['startValue']
    for e in p.get('events', []):
        calls[';'.join(path)] += e['at'] - at
        at = e['at']
        path = path + [frames[e['frame']]] if e['type'] == 'O' else path[:-1]
for p in sorted(calls):
    if p and calls[p]:
        print(p, calls[p])
END
models()
{
    local seed want
    python3 model.py "$1" || return
    for seed in $(seq 1 "$1"); do
        want=want.$seed
        tallytree replay --recursion drop -o rec "events.$seed" &&
            tallytree export --to folded -m calls rec | LC_ALL=C sort >folded && LC_ALL=C sort "$want" | diff - folded || { echo "folded, seed $seed"; return 1; }
        [ $((seed % 5)) = 0 ] || continue
        tallytree export --to speedscope -m calls -o rec.json rec && python3 unpack.py rec.json | LC_ALL=C sort | diff <(LC_ALL=C sort "$want") - || { echo "speedscope, seed $seed"; return 1; }
        for format in pprof pgcl callgrind; do
            tallytree export --to $format -o "rec.$format" rec && tallytree report flat --csv --limit all -m calls "rec.$format" >flat &&
                awk '{ n = split($1, path, ";"); calls[path[n]] += $2 } END { for (c in calls) print c, calls[c] }' "$want" | sort >blocks &&
                awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $1 == "entry" && $at["name"] ~ /^[a-e]$/ { print $at["name"], $at["self"] }' flat | sort | diff blocks - ||
                { echo "$format, seed $seed"; return 1; }
        done
    done
}
try "in 60 random programs no call is lost in files of paths" models 60

# ── Kinds of calls ───────────────────────────────────────────────────────────────────
# a: one strict call and one without a kind; b: a lazy one.
kinds()
{
    printf 'push main\ncall-kind strict\npush a\npop\npush a\npop\ncall-kind lazy\npush b\npop\n' >events
    tallytree replay -o rec events && tallytree export --to pgcl -o rec.pgcl rec || return
    for kind in strict lazy; do
        tallytree report flat --csv -m "$kind calls" rec.pgcl |
            python3 -c 'import csv, sys; print(sys.argv[1], *["%s=%s" % (r["name"], r["self"]) for r in csv.DictReader(sys.stdin) if r["name"] in "a b main" and r["self"] != "0"])' $kind
    done >got
    cat got
    printf 'strict a=2 main=1\nlazy b=1\n' | diff - got
}
try "calls without a kind are strict in Clean's profiles, beside others that have one" kinds
finish
