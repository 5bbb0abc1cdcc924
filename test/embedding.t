#!/bin/bash
# SPDX-License-Identifier: MIT
# The guide for runtimes: its programs run, and give what it says, as its events do.
. "$(dirname "$0")/tap.sh"
build=${TT_BUILD:-build}

awk -v to="$tmp" '
    /^## / { title = substr($0, 4) }
    /^```c$/ { n++; print title >(to "/" n ".title"); file = to "/" n ".c"; next }
    /^```folded$/ { file = to "/" n ".folded"; next }
    /^```events$/ { file = to "/" n ".events"; next }
    /^```/ { file = ""; next }
    file { print >file }' doc/embedding.md

folded()
{
    "$build/tallytree" export --to folded --metric calls "$1" | sort
}

runs()
{
    cc -Wall -Wextra -Werror -Iinclude -o "$tmp/program" "$tmp/$1.c" "$build/libtallytree.a" \
        -pthread && "$tmp/program" "output=$tmp/recording" &&
        diff <(sort "$tmp/$1.folded") <(folded "$tmp/recording")
}

replays()
{
    "$build/tallytree" replay -o "$tmp/recording" "$tmp/$1.events" &&
        diff <(sort "$tmp/$1.folded") <(folded "$tmp/recording")
}

vanishes()
{
    cc -Wall -Wextra -Werror -Wno-unused -DTT_DISABLE -Iinclude -o "$tmp/program" "$tmp/$1.c" &&
        ! "$tmp/program"
}

i=0
while [ -e "$tmp/$((++i)).title" ]; do
    title=$(cat "$tmp/$i.title")
    try "$title: the program gives what the guide says" runs $i
    try "$title: so do the events" replays $i
    try "$title: with TT_DISABLE it needs no library" vanishes $i
done
try "the guide has six steps" test $i = 7
finish
