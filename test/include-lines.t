#!/bin/bash
# SPDX-License-Identifier: MIT
# Arrows point one way: what a room of the house may include of the others.
. "$(dirname "$0")/tap.sh"

declare -A may=(
    [include]=""
    [base]="include"
    [runtime]="include base"
    [unwind]="include base"
    [symbols]="include base unwind"
    [interpreters]="include base unwind"
    [sample]="include base runtime unwind interpreters"
    [heap]="include base runtime unwind interpreters sample preload"
    [locks]="include base runtime unwind interpreters sample preload"
    [functions]="include base runtime unwind"
    [preload]="include base runtime unwind interpreters sample functions"
    [profile]="include base runtime/layout.h runtime/picture.h"
    [formats]="include base profile runtime"
    [report]="include base profile"
    [layouts]="include base profile report"
    [serve]="include base report formats"
    [web]="report"
    [adapters]="include base runtime profile"
    [command]="include base runtime unwind symbols sample functions profile formats report layouts serve adapters"
)

# included FILE - the headers of ours that it includes, by their paths in the tree.
included()
{
    local name found
    while read -r name; do
        if [ -e "$(dirname "$1")/$name" ]; then
            realpath --relative-to=. "$(dirname "$1")/$name"
        else
            found=$(find "${!may[@]}" -path "*/${name#*../}" 2>/dev/null)
            echo "${found:-$name}"
        fi
    done < <(sed -n 's/^ *# *include *"\([^"]*\)".*/\1/p' "$1")
}

# strangers ROOM - the headers that it includes and may not.
strangers()
{
    local file header room
    while read -r file; do
        while read -r header; do
            for room in "$1" ${may[$1]}; do
                [[ $header != "$room" && $header != "$room"/* ]] || continue 2
            done
            echo "$file includes $header"
        done < <(included "$file")
    done < <(find "$1" -name '*.[ch]' -o -name '*.cpp')
}

for room in "${!may[@]}"; do
    [ ! -d "$room" ] || none "$room/ includes nothing but its own and ${may[$room]:-libc}" strangers "$room"
done
finish
