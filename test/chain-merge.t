#!/bin/bash
# SPDX-License-Identifier: MIT
# The profiles of a chain are merged into coarser ones as they grow old.  Replayed recordings
# simulate two days, so arithmetic gives their figures.
. "$(dirname "$0")/tap.sh"
PATH=$(realpath "${TT_BUILD:-build}"):$PATH
cd "$tmp" || exit

sleep 1000 & burner=$!
trap 'kill "$burner" 2>/dev/null; wait; rm -rf "$tmp"' EXIT
if ! tallytree record -p $burner --duration 0.1 -o first.tt 2>err; then
    skip "profiles of a chain are merged" "$(tail -n 1 err)"
    finish
    exit
fi

# start FOLDER FLAGS... - records the program from outside, and waits until it does.
start()
{
    local folder=$1
    shift
    setsid tallytree record -p $burner --interval 1s -o "$folder" "$@" 2>err </dev/null & recorder=$!
    patiently grep -q "a profile every" err
}
stop() { kill -INT "$recorder"; reap "$recorder"; }

# What a recorder writes has the end of its interval, by which a profile is known as a part of a run.
mkdir one && start one
stop
echo one/chain.* >interval

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
# ── Minutes become hours, hours become days ──────────────────────────────────────────
# A profile each two minutes since the day before yesterday, of twelve recordings in turn.
for i in $(seq 12); do
    printf 'push outer\npush block%d\ntick %d\npop\ntick 1\npop\n' $((i % 5)) $((i * 1000)) >events
    tallytree replay -o rec events && tallytree merge -o "minute$i.tt" rec "$(<interval)" || exit
done
mkdir S
python3 - <<'END'
import datetime, os, shutil, time
now = int(time.time())
today = now - now % 86400
with open('truth', 'w') as truth:
    for n, t in enumerate(range(today - 2 * 86400, now - 240, 120)):
        i = n % 12 + 1
        # Bounds are some ms late, each in its own way.
        begin, end = t * 1000 + n * 7 % 13, (t + 120) * 1000 + (n + 1) * 7 % 13
        name = datetime.datetime.fromtimestamp(t, datetime.timezone.utc).strftime('%Y%m%dT%H%M%S')
        shutil.copy(f'minute{i}.tt', f'S/chain.{name}.{begin % 1000:03d}Z+{(end - begin) // 1000}.{(end - begin) % 1000:03d}s.tt')
        truth.write(f'block{i % 5} {i * 1000}\n')
END
files() { find S -name 'chain.*' -printf '%f\n' | sort; }
files >before
minutes=$(wc -l <before)
tallytree merge -o whole.tt S
truth() { awk '{ s[$1] += $2; s["outer"]++ } END { for (k in s) print k, s[k] }' truth | sort; }
ticks() { tallytree report flat --limit all --csv --metric ticks "$1" | python3 -c '
import csv, sys
for r in csv.DictReader(sys.stdin):
    if r["role"] == "entry" and r["self"] != "0": print(r["name"], r["self"])' | sort; }
equal "a simulated day has its ticks" "$(ticks S)" "$(truth)"
began=$(date +%s)
start S --keep 400d
sleep 0.3
stop
cat err
day_and_hours()
{
    python3 - "$1" <<'END'
import sys, time
from names import spans
s = spans('S')
days, hours = sum(e - b > 80000000 for b, e, _ in s), sum(3500000 < e - b < 3700000 for b, e, _ in s)
first, last = (23 + t % 86400 // 3600 for t in (int(sys.argv[1]), int(time.time())))
print(days, hours, first, last)
assert days == 1 and first <= hours <= last
END
}
try "a day and its hours are there" day_and_hours "$began"
recorded() { files | grep -vxFf before | python3 -c '
import re, sys
for n in sys.stdin.read().split():
    if float(re.search(r"\+([0-9.]+)s", n)[1]) < 100: print("S/" + n)'; }
same_bytes()
{
    tallytree merge -o one.tt S && recorded | xargs tallytree merge -o two.tt whole.tt && cmp one.tt two.tt
}
try "merging what was merged gives the bytes of merging all at once" same_bytes
equal "sums are the same" "$(ticks S)" "$(truth)"
find S -name 'chain.*+[0-9][0-9][0-9]*' -exec touch -d '1 minute ago' {} +
start S --keep 400d
stop
few() { echo "$(files | wc -l) of $minutes"; [ "$(files | wc -l)" -lt 200 ]; }
try "what was merged is removed later" few
equal "and nothing changes by that" "$(ticks S)" "$(truth)"
try "byte for byte" same_bytes
start S --keep 36h
stop
within() { python3 -c '
import time; from names import spans
s = spans("S"); now = time.time() * 1000
print(s[0], now - s[0][1]); assert s[0][1] > now - 36 * 3600000 - 60000 and s[0][0] < now - 24 * 3600000'; }
try "--keep holds for what was merged" within

finish
