#!/bin/bash
# SPDX-License-Identifier: MIT
# Files that others write into while they are read: no command dies of that.  ROUNDS=N: so often.
. "$(dirname "$0")/tap.sh"
build=$(cd "$TT_BUILD" && pwd)
tallytree=$build/tallytree
rounds=${ROUNDS:-12}
cd "$tmp" || exit 1

# Some megabytes, so that most pages are not there when the file becomes shorter; and one that is read where it is.
awk 'BEGIN { for (i = 0; i < 40000; i++) printf "main;a%d;b%d;c%d %d\n", i % 200, i % 8000, i, i + 1 }' >folded
awk 'BEGIN { for (i = 0; i < 40000; i++) for (j = 0; j < 12; j++) printf "main;a%d;b%d;c%d;d%d %d\n", i % 200, i % 8000, i, j, i + 1 }' >folded-large
"$tallytree" merge -o whole folded && "$tallytree" merge -o large folded-large || exit 1
try "the profile has many pages" [ "$(stat -c %s whole)" -gt 1000000 ]
try "the other is large" [ "$(stat -c %s large)" -gt 10000000 ]
# yes: this system gives leases, and /proc/locks has them by the number of the file.
leases=$(python3 -c 'import fcntl, os
f = open("large")
fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_RDLCK)
print("yes" if f":{os.fstat(f.fileno()).st_ino} " in open("/proc/locks").read() else "")' 2>/dev/null)

ask() { curl -s --max-time 60 "$address$1"; }
is_leased() { grep -q "^[0-9]*: LEASE .*:$(stat -c %i shown) " /proc/locks; }
# viewed PROFILE COMMAND - the command changes the file in place while view shows it: answers before and
# after are the same, and the server still runs.
viewed()
{
    local leased=''
    cp "$1" shown
    rm -f address
    "$tallytree" view --port 0 shown >address 2>said &
    pid=$!
    patiently sh -c 'grep -q http address' || return
    address=$(sed -n 's/^.*\(http[^ ]*\).*$/\1/p' address | head -1)
    ask "query?view=flat&limit=5" >before
    is_leased && leased=yes
    eval "$2"
    ! is_leased || { echo "there still is a lease"; return 1; }
    ask "query?view=$every&limit=all&threshold=0" >all # reads the whole file
    ask "query?view=flat&limit=5" >after
    kill -0 "$pid" || { cat said; return 1; }
    kill -INT "$pid"
    wait "$pid"
    [ "$1" = whole ] || [ ! "$leases" ] || [ "$leased" ] || { echo "the file was not read where it is"; return 1; }
    [ -s before ] && grep -q '"view":"flat"' before && [ "$(stat -c %s all)" -gt 500000 ] && cmp before after
}
# No file may be larger than a megabyte: there is no copy, and the file changes as it would without us.
uncopied()
{
    cp large shown
    rm -f address
    (trap '' XFSZ; ulimit -f 1000; exec "$tallytree" view --port 0 shown) >address 2>said &
    pid=$!
    patiently sh -c 'grep -q http address' || return
    is_leased && cp whole shown && cmp whole shown || { kill "$pid"; return 1; }
    wait "$pid"
    [ $? = 2 ] && grep -q "^tallytree: $PWD/shown: another program writes into this file.*: File too large$" said || { cat said; return 1; }
}
head -c 100000 /dev/urandom >other
if command -v curl >/dev/null; then
    # It does not wait, and gets an error until the copy is made.
    shorten() { patiently truncate -s 5000 shown; }
    every=tree
    for profile in whole large; do
        try "view shows a file that is emptied meanwhile ($profile)" viewed $profile ': >shown'
        try "view shows a file that another is copied over ($profile)" viewed $profile 'cp other shown'
        try "view shows a file whose middle changes ($profile)" viewed $profile 'dd if=other of=shown bs=1000 seek=50 conv=notrunc 2>&1'
        try "view shows a file that becomes shorter by its name ($profile)" viewed $profile shorten
        every=flat
    done
    if [ "$leases" ]; then
        try "without room for a copy of a large file, view ends and says so" uncopied
    else
        skip "without room for a copy of a large file, view ends and says so" "there are no leases"
    fi
else
    skip "view shows a file that is emptied meanwhile" "there is no curl"
fi

# raced PROFILE COMMAND... - shown changes all the time; each run ends by itself, some of them well.
raced()
{
    local i status well=0 profile=$1
    shift
    cp "$profile" shown
    (while :; do cp "$profile" shown; : >shown; head -c 300000 "$profile" >shown; cp "$profile" shown; sleep 0.01; done) &
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
try "report reads one that is written to" raced whole report tree --limit all shown
try "export does" raced whole export --to folded shown
try "merge does" raced whole merge -o merged shown whole
try "diff does" raced whole diff shown whole
rounds=$((rounds / 3))
try "report does of a large one" raced large report tree shown
try "merge does" raced large merge -o merged shown whole
try "diff does" raced large diff whole shown
finish
