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
    [profile]="include base runtime/layout.h runtime/picture.h runtime/figures.h runtime/picture-log.h runtime/preorder.h"
    [formats]="include base profile runtime"
    [report]="include base profile"
    [layouts]="include base profile report"
    [serve]="include base report formats"
    [web]="report"
    [adapters]="include base runtime profile"
    [command]="include base runtime unwind symbols sample functions profile formats report layouts serve adapters"
)

# includes - FILE HEADER, a line each: the header by its path in the tree, as written if it is not there.
includes()
{
    find "${!may[@]}" \( -name '*.[ch]' -o -name '*.cpp' \) -print0 | xargs -0 perl -ne '
        BEGIN { push @{$named{s{.*/}{}r}}, $_ for grep /\.h$/, @ARGV }
        next unless m{^ *# *include *"(?:\.\./)*([^"]*)"};
        my $name = $1;
        my $near = $ARGV =~ s{[^/]*$}{}r;
        my @found = grep "/$_" =~ m{/\Q$name\E$}, @{$named{$name =~ s{.*/}{}r}};
        @found = "$near$name" if grep $_ eq "$near$name", @found;
        print "$ARGV $_\n" for @found ? @found : $name'
}
includes >"$tmp/includes"

# strangers ROOM - the headers that it includes and may not.
strangers()
{
    local file header room
    while read -r file header; do
        [[ $file == "$1"/* ]] || continue
        for room in "$1" ${may[$1]}; do
            [[ $header != "$room" && $header != "$room"/* ]] || continue 2
        done
        echo "$file includes $header"
    done <"$tmp/includes"
}

try "includes are found" test "$(wc -l <"$tmp/includes")" -ge 1000
for room in "${!may[@]}"; do
    [ ! -d "$room" ] || none "$room/ includes nothing but its own and ${may[$room]:-libc}" strangers "$room"
done
finish
