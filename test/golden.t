#!/bin/bash
# SPDX-License-Identifier: MIT
# Profiles that were written by earlier versions still say what they said.
. "$(dirname "$0")/tap.sh"

tallytree=$TT_BUILD/tallytree

# same VIEW FILE - does the view of a kept profile answer as it did?
same() { "$tallytree" report "$1" --csv "$2" | diff "${2%.tt}-$1.csv" -; }

for profile in test/golden/*.tt; do
    for view in flat tree graph strands; do
        try "$(basename "$profile"): $view" same "$view" "$profile"
    done
    "$tallytree" merge -o "$tmp/again.tt" "$profile"
    try "$(basename "$profile"): written again it has the same bytes" cmp "$profile" "$tmp/again.tt"
done
finish
