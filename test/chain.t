#!/bin/bash
# SPDX-License-Identifier: MIT
# Recording for days, as a chain of profiles.  The recorded program keeps an account of what its
# functions used; the rest is arithmetic on the names of the files.
. "$(dirname "$0")/tap.sh"
PATH=$(realpath "${TT_BUILD:-build}"):$PATH
cd "$tmp" || exit
export TZ=UTC

refuses() { local text=$1; shift; timeout 60 tallytree record "$@" </dev/null 2>err; [ $? = 125 ] && grep -F -e "$text" err; }
try "an interval wants a folder" refuses "-o FOLDER" -a --interval 1s
try "and -a or -p" refuses "-a or -p" --interval 1s -o D true
try "and a time" refuses "not '5'" -a --interval 5 -o D
try "of a second at least" refuses "not '0.1s'" -a --interval 0.1s -o D
try "what limits a chain wants one" refuses "--interval" -a --keep 1h -o D
try "no profile is longer than what is kept" refuses "longer" -a --interval 1h --keep 1m -o D
none "nothing was made of that" ls -A D

# A program that burns alternately in two functions, a quarter of the time, and says what they have used.
cat >burn.c <<'END'
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned sum;
static uint64_t now(void) { struct timespec t; clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); return t.tv_sec * 1000000000ull + t.tv_nsec; }
#define BURNS(name) __attribute__((noinline)) static void name(unsigned n) { for (unsigned i = 0; i < n; i++) sum += i; }
BURNS(alpha) BURNS(beta)
int main(int count, char **word)
{
    int fd = open(word[1], O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (count != 2 || ftruncate(fd, 4096) != 0) return 1;
    volatile uint64_t *account = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    for (uint64_t t = now(), u;; nanosleep(&(struct timespec){0, 9000000}, 0))
        for (int i = 0; i < 4; i++) {
            alpha(300000); u = now(); account[0] += u - t; t = u;
            beta(100000); u = now(); account[1] += u - t; t = u;
        }
}
END
gcc -O1 -g -w -o burn burn.c || exit
./burn account & burner=$!
viewer='' other=''
trap 'kill -KILL "$burner" $viewer $other 2>/dev/null; wait; rm -rf "$tmp"' EXIT
patiently test -s account
kill -STOP "$burner"
if ! tallytree record -p $burner --duration 0.1 -o first.tt 2>err; then
    skip "all the rest" "$(tail -n 1 err)"
    finish
    exit
fi

# start FOLDER FLAGS... - records the program from outside, and waits until it does.
start()
{
    local folder=$1
    shift
    rm -f err # of the recorder before
    setsid tallytree record -p $burner --interval 1s -o "$folder" "$@" 2>err </dev/null & recorder=$!
    patiently grep -q "a profile every" err
}
stop() { kill -INT "$recorder"; reap "$recorder"; status=$?; }

# names.py FOLDER - the spans of its profiles, in ms; those within a longer one left out.
cat >names.py <<'END'
import datetime, os, re, sys
def spans(folder):
    found = []
    for name in os.listdir(folder):
        m = re.fullmatch(r'chain\.(\d{8}T\d{6})\.(\d{3})Z\+(\d+)\.(\d{3})s\.tt', name)
        if m and open(os.path.join(folder, name), 'rb').read(8) == b'Tallytr.':
            t = datetime.datetime.strptime(m[1] + '+0000', '%Y%m%dT%H%M%S%z')
            start = int(t.timestamp()) * 1000 + int(m[2])
            found.append((start, start + int(m[3]) * 1000 + int(m[4]), name))
    return sorted(s for s in found if not any(o != s and o[0] <= s[0] and s[1] <= o[1] for o in found))
END
# others FOLDER - lists files that are not profiles of a chain; chain FOLDER - lists the profiles.
others() { find "$1" -mindepth 1 ! -name 'chain.*.tt' -printf '%f\n'; }
chain() { find "$1" -name 'chain.202[1-9]*.tt' -printf '%f\n' | sort; }
# used FILE - what alpha and beta used, in ns, by a report.
used()
{
    tallytree report flat --limit all --csv "$@" | python3 -c '
import csv, sys
t = {r["name"]: int(r["self"]) for r in csv.DictReader(sys.stdin) if r["role"] == "entry"}
print(t.get("alpha", 0), t.get("beta", 0))'
}
account() { od -An -v -t u8 -N 16 account; }

# A second recorder in a folder waits ten seconds for the first one: meanwhile, the rest goes on.
tallytree record -p $burner --interval 1h -o T 2>err.first </dev/null & other=$!
patiently grep -q "a profile every" err.first
{ timeout -k 5 300 tallytree record -p $burner --interval 1s -o T 2>said.second </dev/null; echo $? >status.second; } & second=$!

# ── What is in it ────────────────────────────────────────────────────────────────────
account >before
start D
kill -CONT "$burner"
sleep 1.2
kill -STOP "$burner"
sleep 0.2
date +%s%N >paused
sleep 1.2
date +%s%N >resumed
kill -CONT "$burner"
sleep 1.2
kill -STOP "$burner"
account >after
stop
cat err
equal "a chain ends well by Ctrl-C" "$status" 0
equal "what it says is plain lines, as for a journal" "$(LC_ALL=C tr -d '\n -~' <err | wc -c)" 0
lost() { for f in "$1"/chain.*; do tallytree report header --csv "$f"; done | awk -F, '$4 == "lost.samples" { sum += $6 } END { print sum + 0 }'; }
# With n samples of 4 ms, four times √n of them, and one at each end of an interval.
sums()
{
    python3 - "$(used D)" "$(cat before)" "$(cat after)" "$(lost D)" <<'END'
import sys
from names import spans
got, before, after = ([int(n) for n in w.split()] for w in sys.argv[1:4])
bad = 0
for i, name in enumerate(('alpha', 'beta')):
    want = (after[i] - before[i]) / 1e9
    allowed = 4 * (want * .004) ** .5 + .008 * len(spans('D')) + .004 * int(sys.argv[4])
    print(name, got[i] / 1e9, want, allowed)
    bad += abs(got[i] / 1e9 - want) > allowed
sys.exit(bad)
END
}
try "its profiles together have what the functions used" sums
follow()
{
    python3 - <<'END'
from names import spans
s = spans('D')
print(s)
assert len(s) >= 3 and all(a[1] == b[0] for a, b in zip(s, s[1:]))
END
}
try "each begins where the one before ends" follow
lasted() { for f; do tallytree report header --csv "$f"; done | awk -F, '$4 == "lasted" { sum += $6 } END { printf "%.0f", sum }'; }
equal "a chain lasted as long as its profiles together" "$(lasted D)" "$(lasted D/chain.*)"
in_any_order()
{
    local profiles=(D/chain.*) other=other.tt
    tallytree merge -o first.tt "${profiles[0]}" $other && tallytree merge -o one.tt first.tt "${profiles[@]:1}" &&
        tallytree merge -o second.tt "${profiles[@]:1}" && tallytree merge -o two.tt $other second.tt "${profiles[0]}" &&
        cmp one.tt two.tt && tallytree report header --csv one.tt | grep "lasted,,$(lasted D/chain.*)"
}
tallytree record -o other.tt true 2>/dev/null
try "so it is, whatever it is merged with, in any order" in_any_order
equal "there is no gap" "$(tallytree report header --csv D | grep -c ',gap,')" 0
equal "nothing is left beside them" "$(others D)" ".chain.lock"
sum_up() { for f in D/chain.*; do used "$f"; done | awk '{ a += $1; b += $2 } END { printf "%.0f %.0f\n", a, b }'; }
equal "a report of the folder is the sum of its files" "$(used D)" "$(sum_up)"
clock() { python3 -c 'import sys; t = int(sys.argv[1]) % (86400 * 10**9); print("%02d:%02d:%02d.%09d" % (t // 3600000000000, t // 60000000000 % 60, t // 10**9 % 60, t % 10**9))' "$1"; }
pause=$(clock "$(cat paused)")..$(clock "$(cat resumed)")
equal "in the time in which it stood still it used none" "$(used --time "$pause" D)" "0 0"
parts() { for r in "..${pause%..*}" "$pause" "${pause#*..}.."; do used --time "$r" D; done | awk '{ a += $1; b += $2 } END { printf "%.0f %.0f\n", a, b }'; }
# The log rounds the weights of samples to nine bits.
nearly() { python3 -c 'import sys; a, b = (list(map(int, w.split())) for w in sys.argv[1:]); print(a, b); sys.exit(any(abs(x - y) > y / 512 for x, y in zip(a, b)))' "$@"; }
try "ranges that share no moment add up to all of it" nearly "$(parts)" "$(used D)"

# ── Restart ──────────────────────────────────────────────────────────────────────────
# What is not a profile of a chain has such names, too.
mkdir -p D/folder
echo mine >"D/chain.20200101T000000.000Z+1.000s.tt"
echo mine >D/notes.txt
echo mine >D/.chain.1.live
mkdir D/.chain.2.live
echo mine >D/.chain.2.live/spin.2
cp first.tt D/first.tt
foreign() { (cd D && cat "chain.20200101T000000.000Z+1.000s.tt" notes.txt .chain.1.live .chain.2.live/spin.2 && cksum first.tt && ls -d folder); }
foreign >foreign
chain D >old
old_sums() { (cd D && xargs cksum <../old); }
old_sums >old.sums
last=$(python3 -c 'from names import spans; print(spans("D")[-1][1])')
start D --keep 1h
kill -CONT "$burner"
sleep 1.3
kill -STOP "$burner"
stop
equal "the same folder goes on" "$(old_sums)" "$(cat old.sums)"
gap() { tallytree report header --csv "D/$(chain D | sed -n "$(($(wc -l <old) + 1))p")" | awk -F, '$4 == "gap" { print $6 / 1000000 }'; }
equal "the first new profile says how long nothing was recorded" "$(gap)" \
    "$(python3 -c 'import sys; from names import spans; print(next(s[0] for s in spans("D") if s[0] >= int(sys.argv[1])) - int(sys.argv[1]))' "$last")"
equal "files of other kinds are as they were" "$(foreign)" "$(cat foreign)"
rm -r D/folder D/chain.2020* D/notes.txt D/.chain.[12].live D/first.tt
start D --keep 2s
sleep 1.5
stop
kept() { python3 -c 'from names import spans; s = spans("D"); print(s); assert s and s[0][1] > s[-1][1] - 2000'; }
try "what is older than --keep goes" kept
start D --keep-size 1
sleep 1.2
stop
equal "and what is more than --keep-size, but for the last one" "$(chain D | wc -l)" 1

not_shared()
{
    wait $second
    cat said.second err.first
    [ "$(cat status.second)" = 125 ] && grep "another recorder" said.second
}
try "two recorders do not share a folder" not_shared
kill -INT "$other"
reap "$other"
other=

# ── A viewer ─────────────────────────────────────────────────────────────────────────
# viewed - what the viewer says that alpha and beta used; state KEY - of the viewer.
viewed()
{
    curl -s "${address}query?view=flat&limit=all" | python3 -c '
import json, sys
t = json.load(sys.stdin)
at = {c["key"]: i for i, c in enumerate(t["columns"])}
used = {r["values"][at["name"]]: r["values"][at["self"]] for r in t["rows"] if r["role"] == "entry"}
print(*(used.get(name, 0) for name in ("alpha", "beta")))'
}
state() { curl -s "${address}state" | python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)[sys.argv[1]]))' "$1"; }
follows()
{
    local first address
    start V
    kill -CONT "$burner"
    # shellcheck disable=SC2317 # called by patiently
    profiles() { [ "$(chain V | wc -l)" -ge "$1" ]; }
    patiently profiles 1 || return
    tallytree view V >address 2>&1 & viewer=$!
    patiently grep -q "^http.*/$" address || return
    address=$(grep "^http" address)
    [ "$(state live)" = true ] || return
    first=$(state version)
    # shellcheck disable=SC2317 # called by patiently
    is_newer() { [ "$(state version)" -ge $((first + 2)) ]; }
    patiently is_newer || return
    kill -STOP "$burner"
    stop
    # shellcheck disable=SC2317 # called by patiently
    has_ended() { [ "$(state live) $(state end)" = 'false "ended"' ]; }
    patiently has_ended && are_equal "$(viewed)" "$(used V)"
    local result=$?
    kill $viewer
    wait $viewer 2>/dev/null
    viewer=
    return $result
}
if command -v curl >/dev/null; then
    try "a viewer of the folder shows new profiles as they are written, up to the last one" follows
    kill -STOP "$burner"
    with_curl=1
else
    with_curl=
    skip "a viewer of the folder shows new profiles as they are written, up to the last one" "there is no curl"
fi
unchanged()
{
    local address
    rm -f address
    tallytree view V >address 2>&1 & viewer=$!
    patiently grep -q "^http.*/$" address || return
    address=$(grep "^http" address)
    [ "$(state live)" = false ]
    local result=$?
    kill $viewer
    wait $viewer 2>/dev/null
    viewer=
    return $result
}
if [ "$with_curl" ]; then
    try "without a recorder the folder is as any other one" unchanged
else
    skip "without a recorder the folder is as any other one" "there is no curl"
fi

# ── kill -9 ──────────────────────────────────────────────────────────────────────────
# At any moment, the recorder alone or all its processes.  While it was ready and alive, each
# moment is in a profile but for less than an interval.
kill -CONT "$burner"
rounds=$([ "${TT_LONG:-}" ] && echo 30 || echo 4)
account >before
for i in $(seq "$rounds"); do
    start K || break
    date +%s%N >ready
    sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
    [ $((i % 4)) != 0 ] || sleep 1
    echo "$(cat ready) $(date +%s%N)" >>lives
    if [ $((i % 3)) = 0 ]; then kill -KILL "$recorder"; else kill -KILL -- "-$recorder"; fi
    wait "$recorder" 2>/dev/null
done
start K
stop
account >after
equal "it was started and killed at each of these moments" "$(wc -l <lives)" "$rounds"
whole() { tallytree report flat --csv K >/dev/null 2>said && [ ! -s said ] && ! tallytree report header --csv K | grep ',missing,'; }
try "all profiles are whole" whole
equal "no recording is left" "$(others K)" ".chain.lock"
covered()
{
    python3 - <<'END'
from names import spans
s, bad = spans('K'), 0
for a, b in zip(s, s[1:]):
    if b[0] < a[1] - 2:  # rounded to ms
        print('share time:', a, b)
        bad = 1
for line in open('lives'):
    ready, killed = (int(t) / 1e6 for t in line.split())
    have = sum(max(0, min(killed, e) - max(ready, b)) for b, e, _ in s)
    if have < killed - ready - 1000:
        print('lost', killed - ready - have, 'ms of', killed - ready)
        bad = 1
assert not bad
END
}
try "nothing is lost but less than an interval, and nothing is there twice" covered
no_more()
{
    python3 - "$(used K)" "$(cat before)" "$(cat after)" <<'END'
import sys
got, before, after = ([int(n) for n in w.split()] for w in sys.argv[1:])
for g, a, b in zip(got, after, before):
    want = (a - b) / 1e9
    print(g / 1e9, want)
    assert 0 < g / 1e9 <= want + 4 * (want * .004) ** .5 + .2
END
}
try "and not more than the functions used" no_more
kill -STOP "$burner"

# ── A full disk ──────────────────────────────────────────────────────────────────────
mkdir full
if unshare -m true 2>/dev/null && [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=6M none full 2>/dev/null; then
    trap 'kill -KILL "$burner" $viewer $other 2>/dev/null; umount full; wait; rm -rf "$tmp"' EXIT
    kill -CONT "$burner"
    start full/D
    begun() { [ "$(chain full/D)" ]; }
    patiently begun
    chain full/D | head -n 1 >first
    (cd full/D && cksum "$(cat ../../first)") >first.sum
    cat /dev/zero >full/stuff 2>/dev/null
    # What cannot be written is a profile or the next recording.
    said() { grep -iE "no space|cannot be created, grown or written" err; }
    goes_on() { patiently said && sleep 1 && kill -0 "$recorder"; }
    try "a full disk is said, and recording goes on" goes_on
    equal "what was there is whole" "$(cd full/D && cksum "$(cat ../../first)")" "$(cat first.sum)"
    rm full/stuff
    count() { chain full/D | wc -l; }
    had=$(count)
    more() { [ "$(count)" -gt $((had + 1)) ]; }
    try "with room again there are new profiles" patiently more
    stop
    try "and all are whole" eval '! tallytree report header --csv full/D | grep ",missing,"'
    kill -STOP "$burner"
    umount full
else
    skip "a full disk is said, and recording goes on" "no file system can be mounted here"
fi
finish
