#!/bin/bash
# SPDX-License-Identifier: MIT
# Files that others write into while they are read: no command dies of that.  ROUNDS=N: so often.
. "$(dirname "$0")/tap.sh"
build=$(cd "$TT_BUILD" && pwd)
tallytree=$build/tallytree
rounds=${ROUNDS:-12}
cd "$tmp" || exit 1

# Some megabytes, so that most pages are not there when the file becomes shorter.
awk 'BEGIN { for (i = 0; i < 40000; i++) printf "main;a%d;b%d;c%d %d\n", i % 200, i % 8000, i, i + 1 }' >folded
"$tallytree" merge -o whole folded || exit 1
try "the profile has many pages" [ "$(stat -c %s whole)" -gt 1000000 ]

ask() { curl -s --max-time 60 "$address$1"; }
# viewed COMMAND - the command changes the file in place while view shows it: answers before and
# after are the same, and the server still runs.
viewed()
{
    cp whole shown
    "$tallytree" view --port 0 shown >address 2>said &
    pid=$!
    patiently sh -c 'grep -q http address' || return
    address=$(sed -n 's/^.*\(http[^ ]*\).*$/\1/p' address | head -1)
    ask "query?view=flat&limit=5" >before
    eval "$1"
    ask "query?view=tree&limit=all&threshold=0" >large
    ask "query?view=flat&limit=5" >after
    kill -0 "$pid" || { cat said; return 1; }
    kill -INT "$pid"
    wait "$pid"
    [ -s before ] && grep -q '"view":"flat"' before && [ "$(stat -c %s large)" -gt 500000 ] && cmp before after
}
if command -v curl >/dev/null; then
    try "view shows a file that is emptied meanwhile" viewed ': >shown'
    try "view shows a file that another is copied over" viewed 'head -c 100000 /dev/urandom >other; cp other shown'
    try "view shows a file whose middle changes" viewed 'dd if=/dev/urandom of=shown bs=1000 seek=50 count=500 conv=notrunc 2>&1'
else
    skip "view shows a file that is emptied meanwhile" "there is no curl"
fi

# raced COMMAND... - shown changes all the time; each run ends by itself, some of them well.
raced()
{
    local i status well=0
    cp whole shown
    (while :; do cp whole shown; : >shown; head -c 300000 whole >shown; cp whole shown; sleep 0.01; done) &
    local changing=$!
    for ((i = 0; i < rounds; i++)); do
        "$tallytree" "$@" >out 2>said
        status=$?
        [ $status = 0 ] && ((well++))
        [ $status = 0 ] || { [ $status = 2 ] && grep -q '^tallytree: ' said; } || break
    done
    kill "$changing"
    wait "$changing" 2>/dev/null
    echo "status $status, $well of $i"
    [ "$i" = "$rounds" ]
}
try "report reads one that is written to" raced report tree --limit all shown
try "export does" raced export --to folded shown
try "merge does" raced merge -o merged shown whole
try "diff does" raced diff shown whole
finish
