#!/bin/bash
# SPDX-License-Identifier: MIT
# `tallytree serve --pprof`: what a program records, asked for as Go programs are.
. "$(dirname "$0")/tap.sh"

tallytree=$TT_BUILD/tallytree
export HOME=$tmp PPROF_TMPDIR=$tmp

# serve ARGS... - starts a server; its address is $address.
serve()
{
    rm -f "$tmp/address"
    "$tallytree" serve --pprof --listen "${listen:-127.0.0.1:0}" "$@" >"$tmp/address" 2>"$tmp/complaints" &
    server=$!
    patiently said_or_gone
    address=$(cat "$tmp/address")
}
said_or_gone() { [ -s "$tmp/address" ] || is_gone $server; }
finish_server() { kill $server && reap $server; }

# get PATH FILE - its status
get() { curl -s -m 60 -o "$2" -w '%{http_code}' "${@:3}" "$address$1"; }

# figures PROFILE METRIC - name and self of each function, as go tool pprof has them
figures()
{
    go tool pprof -sample_index="$2" -top -nodefraction=0 "$1" 2>"$tmp/err" |
        awk '/flat%/ { on = 1; next } on { print $NF, $1 }' | LC_ALL=C sort | tr '\n' ' '
}

gcc -O2 -Iinclude test/serve-program.c -o "$tmp/program" -L"$TT_BUILD" -ltallytree "-Wl,-rpath,$TT_BUILD"
mkfifo "$tmp/in" "$tmp/out"
"$tmp/program" "output=$tmp/rec clock=caller" <"$tmp/in" >"$tmp/out" &
program=$!
exec 7<>"$tmp/in" 8<>"$tmp/out"
round() { echo >&7 && read -r -t 60 -u 8 _; }
round
round

serve "$tmp/rec"
try "it says where it listens" grep -qx 'http://127.0.0.1:[1-9][0-9]*/debug/pprof/' "$tmp/address"
equal "what was recorded so far" "$(get 'profile?seconds=0' "$tmp/p")" 200
equal "calls, as pprof reads them" "$(figures "$tmp/p" calls)" "f 6 g 2 "
equal "and ticks" "$(figures "$tmp/p" ticks)" "f 600ticks g 100ticks "
equal "from pprof itself" "$(figures "$address"'profile?seconds=0' calls)" "$(figures "$tmp/p" calls)"
get 'profile?seconds=1' "$tmp/still" >/dev/null
equal "in a second in which nothing happens there is nothing" "$(figures "$tmp/still" calls)" ""
get 'profile?seconds=2' "$tmp/moving" >"$tmp/status" &
asking=$!
rounds=0
while kill -0 $asking 2>/dev/null; do
    round || break
    rounds=$((rounds + 1))
    sleep 0.01
done
wait $asking
"$tallytree" report flat --metric calls --csv "$tmp/moving" >"$tmp/csv"
calls=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $at["name"] == "f" { print $at["self"] }' "$tmp/csv")
try "of a program that goes on what it did in that time" test "${calls:-0}" -gt 0 -a "${calls:-0}" -le $((3 * rounds))
get 'profile?seconds=1' "$tmp/a" >"$tmp/status1" &
one=$!
get 'profile?seconds=1' "$tmp/b" >"$tmp/status2" &
wait $one $!
equal "two questions wait side by side" "$(cat "$tmp/status1" "$tmp/status2")" 200200
equal "an index" "$(get '' "$tmp/index") $(grep -c 'seconds=N' "$tmp/index")" "200 1"
equal "seconds that are none" "$(get 'profile?seconds=x' "$tmp/x")" 400
equal "too many" "$(get 'profile?seconds=99999' "$tmp/x")" 400
equal "what there is not" "$(get goroutine "$tmp/x")" 404
equal "nor is anything elsewhere" "$(curl -s -m 60 -o "$tmp/x" -w '%{http_code}' "${address%debug/pprof/}etc/passwd")" 404
equal "nor allocations, if none were recorded" "$(get heap "$tmp/x") $(get allocs "$tmp/x") $(grep -c 'record --heap' "$tmp/x")" "404 404 1"
equal "it only shows" "$(get profile "$tmp/x" -X POST -d x)" 405
equal "nor under a name that is not ours, as of DNS that leads here" "$(get 'profile?seconds=0' "$tmp/x" -H 'Host: evil.example' -H 'Sec-Fetch-Site: same-origin')" 421
equal "but under this machine's" "$(get 'profile?seconds=0' "$tmp/x" -H "Host: $(uname -n):6060") $(get 'profile?seconds=0' "$tmp/x" -H 'Host: localhost')" "200 200"
equal "pages of other sites may not ask" "$(get '' "$tmp/x" -H 'Origin: http://elsewhere') $(get '' "$tmp/x" -H 'Sec-Fetch-Site: cross-site')" "403 403"
mv "$tmp/rec" "$tmp/gone"
equal "a recording that is gone is an error" "$(get 'profile?seconds=0' "$tmp/x")" 500
mv "$tmp/gone" "$tmp/rec"
equal "until it is there again" "$(get 'profile?seconds=0' "$tmp/x")" 200
finish_server
equal "it ends when it is asked to" $? 0
serve -p $program
equal "a process is found by its number" "$(get 'profile?seconds=0' "$tmp/x")" 200
is_asked() { [ "$(find "/proc/$server/task" -mindepth 1 -maxdepth 1 | wc -l)" -gt 2 ]; }
get 'profile?seconds=600' "$tmp/x" >"$tmp/status" &
patiently is_asked
finish_server
equal "it ends while somebody waits for an answer, too" $? 0
wait $! # whose connection is closed

# More than may wait, then all of them go away.
serve "$tmp/rec"
asking=()
for _ in {1..60}; do
    curl -s -m 300 -o /dev/null -w '%{http_code}\n' "$address"'profile?seconds=600' >>"$tmp/waiting" 2>/dev/null &
    asking+=($!)
done
# On a busy machine many connections are closed before curl has read why.
are_refused() { [ "$(wc -l <"$tmp/waiting")" -ge 28 ] && [ "$(grep -c 503 "$tmp/waiting")" -ge 5 ]; }
try "of many questions that wait, those beyond 32 are refused" patiently are_refused
equal "while others are answered" "$(get 'profile?seconds=0' "$tmp/x")" 200
kill "${asking[@]}" 2>/dev/null
wait "${asking[@]}" 2>/dev/null
waits_again() { [ "$(get 'profile?seconds=1' "$tmp/x")" = 200 ]; }
try "questions of clients that have gone do not wait on" patiently waits_again
has_few_threads() { [ "$(find "/proc/$server/task" -mindepth 1 -maxdepth 1 | wc -l)" -le 4 ]; }
try "and have no threads any more" patiently has_few_threads

# Connections that say nothing.
python3 - "$address" "$tmp/idle" <<'END' &
import re, socket, sys, time
host, port = re.match(r"http://([^:]*):(\d+)", sys.argv[1]).groups()
all = []
for i in range(400):
    s = socket.socket()
    s.connect((host, int(port)))
    all.append(s)
open(sys.argv[2], "w").close()
time.sleep(600)
END
idle=$!
patiently test -e "$tmp/idle"
equal "four hundred idle connections keep nobody out" "$(get 'profile?seconds=0' "$tmp/x")" 200
kill $idle
finish_server

# Tokens.
umask 077
echo "correct horse battery" >"$tmp/token"
echo short >"$tmp/short"
serve --token-file "$tmp/token" "$tmp/rec"
equal "with a token, requests without it, or with another one, are refused" \
    "$(get 'profile?seconds=0' "$tmp/x") $(get 'profile?seconds=0' "$tmp/x" -H 'Authorization: Bearer wrong horse battery') $(get '' "$tmp/x" -H 'Authorization: Bearer correct horse batter') $(get '' "$tmp/x" -H 'Authorization: Basic correct horse battery')" "401 401 401 401"
equal "and those with it are answered, whatever host they name" "$(get 'profile?seconds=0' "$tmp/x" -H 'Authorization: Bearer correct horse battery' -H 'Host: elsewhere.example')" 200
none "no argument of the server has it" grep -z horse "/proc/$server/cmdline"
finish_server
listen=:0 serve --token-file "$tmp/token" "$tmp/rec"
try "with one, other machines may be served" grep -q '^http://' "$tmp/address"
finish_server
refused() { timeout -k 5 500 "$tallytree" serve --pprof "${@:2}" "$tmp/rec" 2>"$tmp/err"; [ $? = 2 ] && grep -q -e "$1" "$tmp/err"; }
try "without one they are not" refused "token-file" --listen :0
try "nor at an address that others can reach" refused "token-file" --listen 0.0.0.0:0
try "a token that is short is refused" refused "16 to" --listen 127.0.0.1:0 --token-file "$tmp/short"
try "a file that is not there too" refused "No such file" --listen 127.0.0.1:0 --token-file "$tmp/none"
serve --host profiles.example "$tmp/rec"
equal "a host can be added" "$(get 'profile?seconds=0' "$tmp/x" -H 'Host: profiles.example:99') $(get 'profile?seconds=0' "$tmp/x" -H 'Host: profiles.example.org')" "200 421"
finish_server

try "a file beside a process is one too many" sh -c "timeout -k 5 500 '$tallytree' serve --pprof --listen 127.0.0.1:0 -p $program '$tmp/rec' 2>'$tmp/err'
    [ \$? = 2 ] && grep -q 'wants a recording, or -p PID' '$tmp/err'"
exec 7>&- 8<&-
reap $program

# A child whose name sorts before its parent's starts meanwhile.
mkdir "$tmp/family"
cp "$tmp/program" "$tmp/zz"
cp "$tmp/program" "$tmp/aa"
echo | "$tmp/zz" "output=$tmp/family/zz clock=caller" >"$tmp/out1"
serve "$tmp/family"
get 'profile?seconds=3' "$tmp/late" >"$tmp/status" &
late=$!
patiently is_asked
sleep 0.5
echo | "$tmp/aa" "output=$tmp/family/aa clock=caller" >"$tmp/out1"
wait $late
"$tallytree" report flat --metric calls --csv "$tmp/late" >"$tmp/csv"
calls=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $at["name"] == "f" { print $at["self"] }' "$tmp/csv")
try "where a child starts, what was before is left out" test "$(cat "$tmp/status")" = 200 -a "${calls:-0}" -le 3
finish_server

# The heap.
printf 'push f\nalloc node 100 0 a\nalloc node 60 0 b\nfree b\npop\n' | "$tallytree" replay -o "$tmp/heap.rec"
serve "$tmp/heap.rec"
get heap "$tmp/heap" >/dev/null
equal "what was allocated" "$(figures "$tmp/heap" alloc_space) $(figures "$tmp/heap" alloc_objects)" "f 160B  f 2 "
# usual PAGE - the first line of pprof's report that says what it is of, when nothing was asked.
usual() { get "$1" "$tmp/usual" >/dev/null && go tool pprof -top "$tmp/usual" 2>/dev/null | sed -n 's/^Type: //p'; }
if command -v go >/dev/null; then
    equal "go tool pprof looks at what is alive first, as in Go's programs" "$(usual heap)" inuse_space
    equal "and of allocs at what was allocated" "$(usual allocs)" alloc_space
else
    skip "go tool pprof looks at what is alive first" "there is no go"
fi
equal "and what is alive" "$(figures "$tmp/heap" inuse_space) $(figures "$tmp/heap" inuse_objects)" "f 100B  f 1 "
finish_server
if grep -q ' lo$' /proc/net/if_inet6 2>/dev/null; then
    listen='[::1]:0' serve "$tmp/rec"
    try "an address of IPv6 is said in brackets" grep -qx 'http://\[::1\]:[1-9][0-9]*/debug/pprof/' "$tmp/address"
    equal "and answers" "$(get 'profile?seconds=0' "$tmp/p" -g)" 200
    finish_server
fi
listen=:0 serve --insecure "$tmp/rec"
address=$(sed 's|//.*:\([0-9]*\)/d|//127.0.0.1:\1/d|' "$tmp/address")
equal "all addresses are those of IPv4 too" "$(get 'profile?seconds=0' "$tmp/p")" 200
address=${address/127.0.0.1/[::1]}
! grep -qF '[::]' "$tmp/address" || equal "and of IPv6" "$(get 'profile?seconds=0' "$tmp/p" -g)" 200
finish_server
printf '%s\n' 'push a' 'push b' 'push a' pop pop pop >"$tmp/events"
"$tallytree" replay --recursion drop -o "$tmp/dropped" "$tmp/events"
serve "$tmp/dropped"
get 'profile?seconds=0' "$tmp/p" >/dev/null
equal "a call that the policy dropped is there" "$("$tallytree" export --to folded -m calls "$tmp/p" | paste -sd ,)" "a 1,a;b 1,a;b;a 1"
finish_server
unsaid() { timeout -k 5 500 "$tallytree" serve --pprof --listen 127.0.0.1:0 "$tmp/dropped" >/dev/full 2>"$tmp/err"; [ $? = 2 ] && grep -q 'standard output' "$tmp/err"; }
try "an address that cannot be written is an error" unsaid
unseen() { timeout -k 5 500 "$tallytree" view "$tmp/dropped" >/dev/full 2>"$tmp/err"; [ $? = 2 ] && grep -q 'standard output' "$tmp/err"; }
try "of the viewer, too" unseen
try "an address that is none" sh -c "! '$tallytree' serve --pprof --listen nowhere '$tmp/rec' 2>'$tmp/err' && grep -q HOST:PORT '$tmp/err'"
try "or not ours" sh -c "! '$tallytree' serve --pprof --listen 192.0.2.1:0 '$tmp/rec'"
documented() { sed -n 's/^    tallytree serve .*--listen \([^ ]*\) [^ ]*\.live.*/\1/p' doc/tour.md doc/tasks.md >"$tmp/listen" && [ "$(grep -c '^127.0.0.1:' "$tmp/listen")" = 2 ] && [ "$(wc -l <"$tmp/listen")" = 2 ]; }
try "documents serve without a token at addresses of this machine only" documented
try "no recording" sh -c "! '$tallytree' serve --pprof --listen :0 '$tmp/none'"
finish
