#!/bin/bash
# SPDX-License-Identifier: MIT
# What doc/measuring.md draws of each recursion policy is what the runtime does.
. "$(dirname "$0")/tap.sh"

# drawn POLICY - its path in the drawing.
drawn()
{
    awk -v policy="$1" '
        /^```/ { inside = !inside }
        inside && $1 == policy {
            for (i = 2; i <= NF && $i ~ /^(main|eval|list|print)$/; i++)
                path = path (i > 2 ? ";" : "") $i
            print path
            exit
        }' doc/measuring.md
}

drawn stack | tr ';' '\n' | sed 's/^/push /' >"$tmp/events"
echo 'tick 1' >>"$tmp/events"

# charged POLICY - the path that has the tick.
charged()
{
    "$TT_BUILD/tallytree" replay --recursion "$1" -o "$tmp/file" "$tmp/events" &&
        "$TT_BUILD/tallytree" dump "$tmp/file" |
        awk -F '\t' '$1 == "context" && $4 == "self=1" { print $2 }'
}

for policy in none edge repeat:3 cycle block recent:1 drop; do
    equal "a recursion under $policy has the path that is drawn" \
        "$(charged $policy)" "$(drawn $policy)"
done

finish
