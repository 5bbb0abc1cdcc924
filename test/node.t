#!/bin/bash
# SPDX-License-Identifier: MIT
# Functions of Node: names, files and lines of JavaScript, and of V8's own code, beside the time that the script itself
# measures; and the script runs as it does alone.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
cd "$tmp" || exit

node=$(node -p 'process.execPath' 2>/dev/null)
if [ -z "$node" ] || [ "$(basename "$node")" != node ] || ! node -p process.versions.v8 | grep -Eq '^(8\.[4-9]|9|1[0-3])\.'; then
    skip "functions of Node" "there is no node of version 14 to 24"
    finish
    exit
fi

cat >shares.js <<'END'
const total = {};
let sink = 0;
const spent = () => { const u = process.cpuUsage(); return u.user + u.system; };
function work(n) { for (let i = 0; i < n; i++) sink = (sink * 31 + i) | 0; }
function slice(name, us) { const begin = spent(); let end; do { work(20000); end = spent(); } while (end < begin + us); total[name] = (total[name] || 0) + end - begin; }
function ten() { slice('ten', 1000); }
class Shape { thirty() { slice('thirty', 3000); } get sixty() { slice('sixty', 6000); return 0; } }
const shape = new Shape();
async function main() {
    for (let round = 0; round < 150; round++) {
        ten();
        shape.thirty();
        sink += shape.sixty;
        await null;
    }
    console.log(JSON.stringify(total));
}
main();
END
cat >compare.py <<'END'
# SHARES FLAT: the shares that the script has measured, and those by samples.
import csv, json, math, re, sys
said = json.load(open(sys.argv[1]))
rows = {r["name"]: r for r in csv.DictReader(open(sys.argv[2]))}
names = ["ten", "thirty", "sixty"]
ours = {n: sum(float(r["inclusive"]) for k, r in rows.items() if re.split(r" \(", k)[0] in (n, "get " + n)) for n in names}
print(said, ours)
samples = float(sys.argv[3])
for n in names:
    share, mine = said[n] / sum(said.values()), ours[n] / sum(ours.values())
    sigma = math.sqrt(share * (1 - share) / samples)
    assert abs(share - mine) <= 4 * sigma + 0.02, (n, share, mine, sigma)
END
shares()
{
    "$tallytree" record -o shares.tt node shares.js >shares.json 2>err || { cat err; return 1; }
    "$tallytree" report flat --limit all --csv shares.tt >flat.csv
    # As many as would tell the same if they weighed the same.
    python3 compare.py shares.json flat.csv "$("$tallytree" report header --csv shares.tt |
        awk -F, '$4 == "weights.times" { t = $6 } $4 == "weights.squares" { s = $6 } END { print t * t / s }')"
}
try "each function has the share that the script says" shares
try "with its file and line" grep ",ten,\[jit\],.*/shares.js,6," flat.csv
# A builtin that only functions of the script call.
centred()
{
    "$tallytree" report flat --centre '\[jit\]:*' --limit all --csv shares.tt >centred.csv && grep ",ten,\[jit\]," centred.csv && ! grep ",Builtins_" centred.csv
}
try "as cost centres, they have the time of all other code" centred
# Code without tables is read for each frame.  Calls of the system for that would take most of a sample's time.
cat >deep.js <<'END'
let sink = 0;
function deep(n) { return n ? 1 + deep(n - 1) : work(); }
function work() { for (let i = 0; i < 1e6; i++) sink = (sink * 31 + i) | 0; return 1; }
for (const end = Date.now() + 1000; Date.now() < end;) deep(300);
END
loads()
{
    strace -f -c -o calls "$tallytree" record --force -o deep.tt node deep.js 2>err || { cat err; return 1; }
    cat calls
    "$tallytree" report header --csv deep.tt | awk -F, '$4 == "weights.samples" { print $6 }' >samples
    awk -v samples="$(cat samples)" '$NF == "process_vm_readv" { n = $4 } END { exit !(samples > 0 && n < 3 * samples) }' calls
}
if type strace >/dev/null 2>&1; then
    try "its frames are read without system calls" loads
else
    skip "its frames are read without system calls" "there is no strace"
fi
try "the header says it" grep -q "^interpreter .*node, V8 [0-9.]*" <("$tallytree" report header shares.tt)
# shellcheck disable=SC2317 # called by try
no_maps() { ! ls /tmp/perf-"$1".map; }
"$tallytree" record --force -o pid.tt node -p process.pid >pid 2>err
try "the file with the names is removed" no_maps "$(cat pid)"
"$tallytree" record --force -o pid.tt node -e 'const c = require("child_process"); const r = c.spawnSync(process.execPath, ["-p", "process.pid"]); process.stdout.write(r.stdout)' >pid 2>err
try "so is that of a child" no_maps "$(cat pid)"
"$tallytree" record --force -o pid.tt node -e 'console.log(process.pid); process.kill(process.pid, "SIGTERM"); setInterval(() => {}, 1000)' >pid 2>err
try "and of one that a signal ends" no_maps "$(cat pid)"

# Recording begins with the first allocation, before the program's first function.
cat >heap.js <<'END'
const { allocUnsafeSlow } = Buffer, kept = [];
function small() { for (let i = 0; i < 2000; i++) kept.push(allocUnsafeSlow(10007)); }
function large() { for (let i = 0; i < 1000; i++) kept.push(allocUnsafeSlow(30011)); }
function both() { small(); large(); }
both();
END
allocated()
{
    "$tallytree" record --heap --force -o heap.tt node heap.js 2>err || { cat err; return 1; }
    "$tallytree" export --to folded --metric allocated --force -o folded heap.tt &&
        awk '/;both;small;/ { small += $NF } /;both;large;/ { large += $NF }
             END { print small, large
                   exit !(small >= 2e3 * 10007 && small < 2.2e3 * 10007 && large >= 1e3 * 30011 && large < 1.1e3 * 30011) }' folded
}
try "--heap has what each function allocates" allocated

# V8 maps its own code a second time, next to what it compiles.
cat >sort.js <<'END'
const a = [];
for (let round = 0; round < 40; round++) { a.length = 0; for (let i = 0; i < 30000; i++) a.push((i * 7919) % 10007); a.sort((x, y) => x - y); }
END
builtins()
{
    "$tallytree" record --force --interpreters none -o sort.tt node sort.js 2>err || { cat err; return 1; }
    "$tallytree" report flat --limit all --csv sort.tt >flat.csv
    cut -c1-100 flat.csv
    grep "Builtins_.*Sort" flat.csv
}
try "V8's own code has its names, without any option" builtins

# Where a builtin runs without a frame, its caller is found nevertheless.  Of what calls the caller, the script
# measures the time.
cat >callers.js <<'EOF'
const shapes = [];
for (let i = 0; i < 64; i++) { const o = {}; for (let k = 0; k < i % 8; k++) o['q' + i + '_' + k] = k; o.a = i; o.b = i; o.c = String(i); shapes.push(o); }
const map = new Map(shapes.map((o, i) => [o, i])), spent = () => process.cpuUsage().user;
let sink = 0;
function busy(o, p) { let n = o.a + p.b; if (o.c === p.c) n++; n += map.get(o); n += (o.c + p.c).length; sink += n; return [n, n].indexOf(3); }
function idle(o, p) { return 1; }
function outer(i) { return busy(shapes[i & 63], shapes[(i * 7) & 63]) & 1; }
function bare(i) { return idle(shapes[i & 63], shapes[(i * 7) & 63]) & 1; }
function turn(n) { let sum = 0; for (let i = 0; i < n; i++) sum += outer(i); return sum; }
function turn_bare(n) { let sum = 0; for (let i = 0; i < n; i++) sum += bare(i); return sum; }
let rounds = 0, alone = 0, all = 0;
turn(1e5); turn_bare(1e5);
do { let t = spent(); turn_bare(1e5); alone += spent() - t; t = spent(); turn(1e5); all += spent() - t; } while (++rounds < 100);
console.log(alone / all);
EOF
callers()
{
    "$tallytree" record --force -o callers.tt -- node --no-turbo-inlining callers.js >alone 2>err || { cat err; return 1; }
    "$tallytree" report flat --limit all --csv callers.tt >flat.csv
    python3 - "$(cat alone)" <<'EOF'
import csv, re, sys
rows = list(csv.DictReader(open("flat.csv")))
busy, turn = (sum(float(r["inclusive"]) for r in rows if re.split(r" \(", r["name"])[0] == n) for n in ("busy", "turn"))
print("alone", sys.argv[1], "busy", busy / turn)
assert busy / turn >= 1 - float(sys.argv[1]) - 0.12
EOF
}
try "time of V8's code belongs to the function that calls it" callers

# ── As it does alone ─────────────────────────────────────────────────────────────────
same() # NODE'S ARGUMENTS...
{
    local alone with
    node "$@" >alone.out 2>alone.err
    alone=$?
    "$tallytree" record --force -o same.tt -- node "$@" >with.out 2>with.err
    with=$?
    diff alone.out with.out && diff alone.err <(grep -v ^tallytree: with.err) && [ $alone = $with ]
}
try "an error has the same trace and status" same -e 'function f() { throw new Error("x") } try { f() } catch (e) { console.log(e.stack) } process.exit(3)'
try "an uncaught one, too" same -e 'null.x'
try "workers run" same -e 'const { Worker, isMainThread, parentPort } = require("worker_threads"); const w = new Worker("for (let i = 0; i < 1e6; i++); require(\"worker_threads\").parentPort.postMessage(42)", { eval: true }); w.on("message", m => console.log(m)); w.on("exit", c => console.log("exit", c))'
try "signals end it" same -e 'process.kill(process.pid, "SIGTERM"); setTimeout(() => {}, 60000)'
echo 'globalThis.n = 5; require("v8").startupSnapshot.setDeserializeMainFunction(() => console.log(globalThis.n))' >snap.js
if node --snapshot-blob snap.blob --build-snapshot snap.js >/dev/null 2>&1; then
    try "a snapshot that was made without it is read" same --snapshot-blob snap.blob
else
    skip "a snapshot that was made without it is read" "this Node makes none"
fi

try "a fault that is sent ends it" same -e 'process.kill(process.pid, "SIGSEGV"); setTimeout(() => {}, 60000)'
# V8 lets code of WebAssembly fault, and its own handler goes on.
try "a fault of WebAssembly is its own" same -e 'const code = [0,97,115,109,1,0,0,0,1,6,1,96,1,127,1,127,3,2,1,0,5,3,1,0,1,7,5,1,1,102,0,0,10,9,1,7,0,32,0,40,2,0,11];
const f = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(code))).exports.f; let n = 0, end = Date.now() + 300, text;
do { try { f(1 << 20) } catch (e) { n++; text = e.message } } while (Date.now() < end); console.log(text, n > 10, f(0))'

try "a worker with other variables runs" same -e 'const { Worker } = require("worker_threads"); new Worker("require(\"worker_threads\").parentPort.postMessage(process.env.NODE_OPTIONS)", { eval: true, env: { ...process.env, A: "b" } }).on("message", m => console.log(m))'
mkdir empty
left() { (cd empty && "$tallytree" record --force -o ../left.tt node ../sort.js) 2>err && [ -z "$(ls -A empty)" ]; }
try "no file is left in the folder" left

options() { "$tallytree" record --force -o options.tt -- node -p 'process.env.NODE_OPTIONS' 2>err; }
equal "a script does not see the options" "$(options)" "undefined"
equal "those of the user stay" "$(NODE_OPTIONS=--no-deprecation options)" "--no-deprecation"
# own FLAG... - the file stays that the user has asked for.
own()
{
    local pid is=0
    "$tallytree" record --force -o own.tt -- node "$@" -p process.pid >own 2>err
    pid=$(cat own)
    [ -f "/tmp/perf-$pid.map" ] || is=1
    rm -f "/tmp/perf-$pid.map"
    "$tallytree" report header own.tt | grep "node, V8" | grep -v "not shown" && return $is
}
try "the user's own file stays" own --perf-basic-prof-only-functions
NODE_OPTIONS=--perf-basic-prof-only-functions try "so it does if a variable asks for it" own --no-warnings
none_wanted() { "$tallytree" record --force --interpreters none -o off.tt -- node -p process.pid >pid 2>err; no_maps "$(cat pid)" && ! "$tallytree" report header off.tt | grep "node, V8"; }
try "with --interpreters none there is none" none_wanted
# V8's own profiler would wait for itself if interpreted functions had names.
with_profiler()
{
    "$tallytree" record --force -o own.tt -- node "$@" sort.js 2>err || return
    "$tallytree" report header own.tt | grep "node, V8 [0-9.]*.*, interpreted functions not shown: its own profiler may run"
}
try "beside V8's own profiler, compiled functions alone have names" with_profiler --cpu-prof --cpu-prof-dir=prof
try "so they do beside a debugger" with_profiler --inspect=0
limited() { (ulimit -f 1000000; options) && "$tallytree" report header options.tt | grep "node, V8 .*not shown: the size of files is limited"; }
try "nor where files may not grow" limited
# A link, or another user's file, is there already: the child has this shell's number.
cat >linked <<'END'
echo $$ >number
ln -s "$PWD/target" /tmp/perf-$$.map && exec "$@"
END
linked()
{
    "$tallytree" record --force -o linked.tt -- sh ./linked node -p process.pid >linked.out 2>err
    cat linked.out err
    rm "/tmp/perf-$(cat number).map"
    diff number linked.out && [ ! -e target ] && "$tallytree" report header linked.tt | grep "not shown: its file in /tmp cannot be made"
}
try "a link in place of the file is not followed" linked
finish
