#!/bin/bash
# SPDX-License-Identifier: MIT
# record and perf find the same shares of modules, and of the functions with the most time.  Both
# take samples, so shares may differ by chance.  perf does not know the functions of scripts.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree

if ! perf record -q -e cpu-clock:u -o "$tmp/p" true >/dev/null 2>&1; then
    echo "1..0 # SKIP perf events are not permitted here, or perf is not installed"
    exit
fi

seq 1 150000 >"$tmp/data"
cat >"$tmp/work.sql" <<'END'
with recursive n(i) as (select 1 union all select i + 1 from n where i < 500000)
select count(*), max(x) from (select 'row ' || (i * 7919 % 500009) x from n order by 1);
END
cat >"$tmp/work.lua" <<'END'
local t = {}
for i = 1, 900000 do t[i] = i * 7919 % 900007 end
table.sort(t, function(a, b) return a > b end)
END
cat >"$tmp/work.py" <<'END'
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(32), len(sorted(str(i * 7919 % 300007) for i in range(300000))))
END
cat >"$tmp/throws.cpp" <<'END'
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>
static std::map<std::string, int> seen;
__attribute__((noinline)) void deeper(int n)
{
    if (n == 0) throw std::runtime_error("bottom");
    std::string s(40, 'x'); /* to be destroyed on the way */
    deeper(n - 1);
    seen[s]++;
}
__attribute__((noinline)) void count(int n) { for (int i = 0; i < 200; i++) seen[std::to_string(n * 31 + i)]++; }
int main()
{
    int caught = 0;
    for (int i = 0; i < 40000; i++) {
        try { deeper(10); } catch (const std::exception &) { caught++; }
        count(i % 100);
    }
    printf("%d\n", caught);
}
END
g++ -O2 -g -o "$tmp/throws" "$tmp/throws.cpp" || exit
for i in $(seq 300); do echo "struct s$i { int a[$i]; }; int f$i(struct s$i *p) { int n = 0; for (int i = 0; i < $i; i++) n += p->a[i] * p->a[($i - i) % $i]; return n; }"; done >"$tmp/long.c"

# compare NAME COMMAND... - under perf, and under record.
compare()
{
    perf record -q -F 997 -e cpu-clock:u -o "$tmp/$1.perf" -- "${@:2}" >/dev/null 2>&1 </dev/null
    "$tallytree" record --interpreters none -o "$tmp/$1.tt" -- "${@:2}" >/dev/null 2>&1 </dev/null
    agree "$1"
}

# attached NAME COMMAND... - while it runs, by both at once; it does the same all the time.
attached()
{
    local target theirs
    "${@:2}" >/dev/null 2>&1 </dev/null &
    target=$!
    until [ "/proc/$target/exe" -ef "$(command -v "$2")" ]; do # and not the shell any more
        kill -0 $target || return
    done
    perf record -q -F 997 -e cpu-clock:u -o "$tmp/$1.perf" -p $target >/dev/null 2>&1 </dev/null &
    theirs=$!
    "$tallytree" record -p $target -o "$tmp/$1.tt" >/dev/null 2>&1 </dev/null || { kill $target; return 1; }
    wait $target $theirs
    agree "$1"
}

# agree NAME - do they?
agree()
{
    local name=$1
    # Samples and not shares, which are rounded: of thousands of functions that adds up.
    perf report -i "$tmp/$name.perf" --no-children -g none -F sample,dso,sym --stdio -t '|' 2>/dev/null |
        sed -n 's/^ *\([0-9]*\) *|\([^|]*\)|\[[.k]\] *\(.*\)$/\2|\3|\1/p' | sed 's/ *|/|/g' >"$tmp/perf"
    "$tallytree" report flat --limit all --json "$tmp/$name.tt" >"$tmp/json" || return
    "$tallytree" report header --csv "$tmp/$name.tt" >"$tmp/header" || return
    python3 - "$tmp/perf" "$tmp/json" "$tmp/header" <<'END'
import csv, json, math, os, sys
theirs, ours = {}, {}
modules_a, modules_b = {}, {}
lines = [line.rstrip('\n').rsplit('|', 2) for line in open(sys.argv[1])]
total = sum(int(samples) for _, _, samples in lines)
for module, name, samples in lines:
    module = module.split('.so')[0]
    share = int(samples) / total
    theirs[(module, name)] = theirs.get((module, name), 0) + share
    modules_a[module] = modules_a.get(module, 0) + share
table = json.load(open(sys.argv[2]))
keys = [c['key'] for c in table['columns']]
n = [int(x.split()[1]) for x in table['notes'] if x.startswith('sampled:')][0]
# On a busy machine samples stand for unequal times: they are worth fewer equal ones.
facts = {row['name']: row for row in csv.DictReader(open(sys.argv[3]))}
times, squares = (float(facts.get(f, {'number': 0})['number']) for f in ('weights.times', 'weights.squares'))
if squares: # of recordings from outside there are none
    print(f'{n} samples are worth {times * times / squares:.0f}')
    n = min(n, times * times / squares)
for row in table['rows']:
    if row['role'] != 'entry':
        continue
    v = dict(zip(keys, row['values']))
    module = os.path.basename(v.get('module') or '').split('.so')[0]
    share = v['self_share']
    ours[(module, v['name'])] = ours.get((module, v['name']), 0) + share
    modules_b[module] = modules_b.get(module, 0) + share
def close(a, b, n): # four deviations of the difference of both, and two points
    p = min(max((a + b) / 2, 2 / n), 1 - 2 / n) # nothing is known to be all
    return abs(a - b) <= 4 * math.sqrt(1.4 * p * (1 - p) / n) + 0.02
wrong = n < 10
for m in sorted(modules_a, key=modules_a.get, reverse=True)[:4]:
    b = modules_b.get(m, 0)
    ok = close(modules_a[m], b, n)
    wrong += not ok
    print('%-30s perf %.3f  ours %.3f%s' % (m, modules_a[m], b, '' if ok else '  WRONG'))
known = [k for k in theirs if k in ours]
for k in sorted(known, key=theirs.get, reverse=True)[:8]:
    ok = close(theirs[k], ours[k], n)
    wrong += not ok
    print('  %-40s perf %.3f  ours %.3f%s' % (k[1][:40], theirs[k], ours[k], '' if ok else '  WRONG'))
sys.exit(wrong != 0)
END
}
try "xz" compare xz xz -c -6 -T1 "$tmp/data"
try "sqlite3" compare sqlite3 sqlite3 -init /dev/null :memory: ".read $tmp/work.sql"
is_long && try "lua" compare lua lua5.4 "$tmp/work.lua"
try "python3" compare python3 /usr/bin/python3 "$tmp/work.py"
try "a C++ program with exceptions" compare throws "$tmp/throws"
cat >"$tmp/long.lua" <<'END'
local t = {}
for i = 1, 200000 do t[i] = i end
for _ = 1, 12 do
    for i = 1, 200000 do t[i] = i * 7919 % 200003 end
    table.sort(t, function(a, b) return a > b end)
end
END
try "a process that runs already" attached running lua5.4 "$tmp/long.lua"
try "gcc" compare gcc cc -O2 -c -o "$tmp/long.o" "$tmp/long.c"
finish
