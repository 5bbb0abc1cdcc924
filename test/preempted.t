#!/bin/bash
# SPDX-License-Identifier: MIT
# If another program shares the processor, the recording says how long a timed thread had to wait
# for it, as the system does.
. "$(dirname "$0")/tap.sh"
PATH=$(realpath "${TT_BUILD:-build}"):$PATH
[ -r /proc/self/schedstat ] || { echo "1..0 # SKIP the system does not say for how long a thread waited"; exit; }
gcc -O1 -Iinclude test/preempted.c -o "$tmp/preempted" -L"$TT_BUILD" -ltallytree -lpthread "-Wl,-rpath,$(realpath "$TT_BUILD")" || exit
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')
taskset -c "$cpu" sh -c 'while :; do :; done' &
other=$!
read -r inner outer < <(taskset -c "$cpu" "$tmp/preempted" "scopes=exact,output=$tmp/rec" 300)
read -r gone every < <(taskset -c "$cpu" "$tmp/preempted" "scopes=exact,output=$tmp/gone" 100 3)
kill $other
wait $other 2>/dev/null
fact() { tallytree report header --csv "$1" | awk -F, '$4 == "preempted" { print $6 }'; }
said=$(fact "$tmp/rec")
# the other one has half of the processor
try "it waited for the processor ($inner ns)" test "$inner" -gt 50000000
try "the recording says for how long ($said)" test "${said:-0}" -ge "$inner" -a "${said:-0}" -le "$outer"
tallytree report flat "$tmp/rec" >"$tmp/flat"
try "and a view that brackets do not exclude it" grep -q '^preempted: .* brackets do not exclude it' "$tmp/flat"
told=$(fact "$tmp/gone")
try "threads that have ended waited for it ($gone ns)" test "$gone" -gt 50000000
try "that is said once ($told)" test "${told:-0}" -ge "$gone" -a "${told:-0}" -le "$every"
"$tmp/preempted" "sampled,output=$tmp/sampled" 20 >"$tmp/log"
equal "where CPU time is sampled it is not asked for" "$(fact "$tmp/sampled")" ""
finish
