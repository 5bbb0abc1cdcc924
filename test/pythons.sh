# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154
# What the tests of Python's functions share.

# pythons - Debian's, those of $TT_PYTHONS, and one of each version that $PATH has.
pythons()
{
    local version found
    {
        echo /usr/bin/python3
        # shellcheck disable=SC2086 # they are several words
        printf '%s\n' ${TT_PYTHONS:-}
        for version in 8 9 10 11 12 13; do
            found=$(type -P python3.$version) && echo "$found"
        done
    } | while read -r found; do
        "$found" -c 'import os, sys
if sys.version_info >= (3, 8): print("%d.%d" % sys.version_info[:2], os.path.realpath(sys.executable))' 2>/dev/null
    done | awk '!seen[$1]++'
}

# header FACT - of $tmp/tt; its text, or the figure if it has none.
header()
{
    "$tallytree" report header --csv "$tmp/tt" |
        awk -F, -v f="$1" '$4 == f { print $5 != "" ? $5 : $NF; exit }'
}

# folded - stacks with their samples, or another $metric.
folded() { "$tallytree" export --to folded --metric "${metric:-samples}" -o "$tmp/folded" --force "$tmp/tt"; }

# Stacks in which a frame was not found, or has no place: the moments in which one is made or left.
nearly_all_placed()
{
    local all lost
    all=$(header stacks.interpreted) lost=$(header stacks.unplaced)
    echo "$lost of $all"
    [ "$all" -gt 50 ] && [ "$((lost * 50))" -lt "$all" ]
}
