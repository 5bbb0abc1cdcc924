#!/bin/bash
# SPDX-License-Identifier: MIT
# Folders of recordings that also have other files: the recordings are read, the other files are
# named and left out, and the reader does not wait for them.
. "$(dirname "$0")/tap.sh"
tallytree=$(cd "$TT_BUILD" && pwd)/tallytree
top=$PWD
cd "$tmp" || exit
mkdir whole
printf 'push a\ntick 5\npush b\ntick 6\npop\npop\n' | "$tallytree" replay -o whole/recording || exit

# hostile FOLDER - with two recordings of 11 ticks each.
hostile()
{
    mkdir -p "$1/sub" && cp whole/recording "$1/one" && cp whole/recording "$1/sub/two" && cd "$1" || return
    mkfifo fifo info sub/info
    ln -s . loop
    ln -s ../.. sub/up
    ln -s / root
    ln -s /dev/zero zero
    ln -s /dev/tty tty
    ln -s nothing dangling
    ln -s self self
    truncate -s 5T huge 2>/dev/null || truncate -s 500G huge
    printf x >"$(printf 'bad\033[31m\nname')"
    head -c 5000 one >torn
    { head -c 4096 one; head -c 5000000 /dev/zero; } >zeros
    : >empty
    python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'
    mkdir -p "$(printf '%0200d/%.0s' 1 2 3 4 5 6 7 8 9 10 11 12)"
    cd ..
}
hostile folder || exit
# reads COMMAND... - in bounds of time and memory; what it says is obeyed by no terminal.
reads()
{
    (ulimit -v 4000000 -t 60; timeout 500 "$tallytree" "$@") >out 2>err
    echo "status $?"
    head -c 2000 err
    ! grep -q "$(printf '\033')" out err
}
readable() { reads "$@" | grep '^status 0'; }
try "a report shows the recordings" readable report flat folder
try "and says what it left out" grep "fifo: this is no regular file" err
try "export does" readable export --to folded -o folded folder
equal "with the ticks of each recording, once" "$(awk '{ s += $NF } END { print s }' folded)" 22
try "merge does" readable merge -o merged folder
equal "and so it has them" "$("$tallytree" export --to folded merged | awk '{ s += $NF } END { print s }')" 22
try "diff does" readable diff folder folder
try "symbolize does" readable symbolize -o named folder
try "top does" readable top -n 1 folder
# A file that names others.
mkdir trace && cp "$top/fuzz/formats/uftrace/fork" trace/info && mkfifo trace/task.txt
try "a trace whose parts are pipes is refused" sh -c 'timeout 500 "$0" report flat trace 2>&1 | grep "task.txt. cannot be read"' "$tallytree"
try "dump refuses it" sh -c '"$0" dump folder 2>&1 | grep "this is a folder"' "$tallytree"
finish
