# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# tap.sh - functions that the test scripts share.  Scripts run in the top folder, have a private
# folder $tmp, find the build in $TT_BUILD, and end with `finish`.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
# The system's programs first: version managers put shims in front of python3 and node, which
# start ten times as slowly.
PATH=/usr/bin:$PATH
tmp=$(mktemp -d) || exit
trap 'rm -rf "$tmp"' EXIT
count=0

# try WHAT COMMAND... - holds when the command succeeds; what it says is shown if not.
try()
{
    local what=$1 result=ok
    shift
    "$@" >"$tmp/log" 2>&1 </dev/null || result="not ok"
    echo "$result $((++count)) - $what"
    # On stdout, a failure's output is between the lines that a verbose prove shows.
    [ "$result" = ok ] || awk '{ print "# " $0 }' "$tmp/log" >&$((2 - ${HARNESS_IS_VERBOSE:-0}))
}

# none WHAT COMMAND... - holds when the command prints nothing; what it prints is wrong.
none()
{
    local what=$1
    shift
    try "$what" silent "$@"
}

silent()
{
    ("$@") >"$tmp/said"
    [ ! -s "$tmp/said" ] || { cat "$tmp/said"; return 1; }
}

# equal WHAT GOT WANT - holds when both are the same text.
equal() { try "$1" are_equal "$2" "$3"; }

are_equal()
{
    [ "$1" = "$2" ] || { printf 'got  %s\nwant %s\n' "$1" "$2"; return 1; }
}

# skip WHAT WHY - cannot be tried here.
skip() { echo "ok $((++count)) - $1 # SKIP $2"; }

# patiently COMMAND... - again and again, until it succeeds: 1 after a minute.
patiently()
{
    local end=$((SECONDS + 60))
    until "$@" 2>/dev/null; do
        [ $SECONDS -lt $end ] || { echo "a minute was not enough for: $*"; return 1; }
        sleep 0.02
    done
}

# `make longer` sets TT_LONG: then what is tried here with one seed, allocator or version is tried with all.
is_long() { [ "${TT_LONG:-}" ]; }
# for_long SHORT LONG - prints the one that there is time for.
for_long() { if is_long; then echo "$2"; else echo "$1"; fi; }

# unskipped FILE - removes the message that samples were skipped, which depends on the machine's load.
unskipped() { sed -i '/^tallytree: [0-9]* Hz was asked for; samples were skipped/d' "$1"; }

is_gone() { ! kill -0 "$1"; }

# reap PID - its status; one that is still there after a minute is killed.
reap()
{
    patiently is_gone "$1" || kill -KILL "$1"
    wait "$1"
}

finish()
{
    echo "1..$count"
}
