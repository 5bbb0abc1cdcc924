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
    # The others are the first with a digest, which a profile as small as it gets no more; the
    # third's has edges.
    "$tallytree" merge -o "$tmp/again.tt" "$profile"
    try "$(basename "$profile"): written again it has the first one's bytes" cmp test/golden/profile-1.tt "$tmp/again.tt"
done
finish
