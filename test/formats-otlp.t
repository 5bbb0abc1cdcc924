#!/bin/bash
# SPDX-License-Identifier: MIT
# OpenTelemetry's profiles: every figure of every stack, as a reader that follows the tables of
# the dictionary finds it.
. "$(dirname "$0")/formats.sh"

cat >"$dir/read.py" <<'END'
import collections, struct, subprocess, sys
def varint(d, i):
    n = shift = 0
    while True:
        b = d[i]; i += 1; n |= (b & 127) << shift; shift += 7
        if b < 128: return n, i
def fields(d):
    out, i = collections.defaultdict(list), 0
    while i < len(d):
        key, i = varint(d, i)
        if key & 7 == 0: v, i = varint(d, i)
        elif key & 7 == 1: v, i = struct.unpack("<Q", d[i:i + 8])[0], i + 8
        else:
            assert key & 7 == 2
            size, i = varint(d, i); v, i = d[i:i + size], i + size
            assert len(v) == size
        out[key >> 3].append(v)
    return out
def packed(d):
    out, i = [], 0
    while i < len(d): n, i = varint(d, i); out.append(n)
    return out
def one(f, n, default=0): return f[n][0] if f[n] else default
def read(path):
    data = fields(open(path, "rb").read())
    d = fields(one(data, 2))
    strings = [s.decode() for s in d[5]]
    assert strings[0] == "" and all(one_row == b"" for one_row in (d[1][0], d[2][0], d[3][0], d[4][0], d[6][0], d[7][0]))
    name = [strings[one(fields(f), 1)] for f in d[3]]
    location = []
    for l in d[2]:
        l = fields(l); assert one(l, 1) < len(d[1])
        location.append(name[one(fields(l[3][0]), 1)] if l[3] else None)
    stacks = [[location[i] for i in packed(one(fields(s), 1, b""))] for s in d[7]]
    resource = fields(one(data, 1)); profiles = {}
    for p in fields(one(resource, 2))[2]:
        p = fields(p); kind = fields(one(p, 1)); sums = collections.Counter()
        for s in p[2]:
            s = fields(s); assert len(packed(s[4][0])) == 1
            sums[";".join(reversed(stacks[one(s, 1)])) or "[root]"] += packed(s[4][0])[0]
        profiles[strings[one(kind, 1)], strings[one(kind, 2)]] = (sums, one(p, 3), one(p, 4))
    return profiles, resource
if __name__ == "__main__":
    tallytree, file, out, *metrics = sys.argv[1:]
    profiles, resource = read(out)
    assert {n for n, _ in profiles} == set(metrics), set(profiles)
    for (metric, _), (sums, _, _) in profiles.items():
        want = collections.Counter()
        for line in subprocess.run([tallytree, "export", "--to", "folded", "--metric", metric, file], capture_output=True, text=True, check=True).stdout.splitlines():
            stack, n = line.rsplit(" ", 1); want[stack] += int(n)
        assert sums == want and want, (metric, sums, want)
END
{
    echo 'block parse kind=function module=/lib/m.so file=p.c line=7 column=3'
    for i in $(seq 40); do printf 'push main\ntick 3\npush parse\ntick %d\npush parse\ntick 2\ncount bytes %d\npop\npop\npop\n' "$i" $((i * 1000000)); done
} | "$tallytree" replay --recursion none -o "$dir/rec"
same() { "$tallytree" export --to otlp -o "$dir/out" "$1" && python3 "$dir/read.py" "$tallytree" "$1" "$dir/out" "${@:2}"; }
try "each metric is a profile, each context a stack" same "$dir/rec" ticks bytes calls
python3 -c 'import random; random.seed(2); [print(";".join("f%d" % random.randrange(9) for _ in range(random.randrange(1, 30))), random.randrange(1, 1 << 40)) for _ in range(3000)]' >"$dir/random"
try "of thousands of stacks" same "$dir/random" samples
one() { "$tallytree" export --to otlp --metric bytes -o "$dir/out" "$dir/rec" && python3 -c '
import sys; sys.path.insert(0, sys.argv[1]); import read
profiles, resource = read.read(sys.argv[2])
assert list(profiles) == [("bytes", "count")], list(profiles)' "$dir" "$dir/out"; }
try "--metric chooses one" one
evicted() { python3 -c 'import random; random.seed(3); [print("push f%d\ntick 5" % random.randrange(3000) + "\npop" * random.randrange(2)) for _ in range(30000)]' | "$tallytree" replay --budget 300nodes --recursion none -o "$dir/small" && same "$dir/small" ticks calls && grep -q "elsewhere below" "$dir/out"; }
try "what was evicted is a leaf of its own" evicted
said() { "$tallytree" export --to otlp "$dir/rec" | grep -aq tallytree && "$tallytree" export --help | grep -q otlp; }
try "it says who wrote it" said
finish
