#!/bin/bash
# SPDX-License-Identifier: MIT
# Our libraries export the names in test/exported and no others: each exported name can collide
# with a name of a program, and programs that use it need it for ever.
. "$(dirname "$0")/tap.sh"
build=${TT_BUILD:-build}

libraries()
{
    find "$build"/*.so "$build"/adapters/*/*.so -maxdepth 0 -name '*tallytree*.so' -type f,l | sort -u
}

# mapped FILE - the names of a version script with their versions, without those that another
# processor has.
mapped()
{
    awk -v machine="$(uname -m)" '
        /^[A-Z_0-9.]+ \{/ { version = $1 }
        /local:/ { version = "" }
        version && /;$/ && !/}/ {
            if (machine != "x86_64" && /tt_thunk_/) next
            gsub(/[ ;]/, ""); print $0 (machine != "x86_64" && version ~ /^GLIBC_/ ? "" : "@@" version)
        }' "$1"
}

# listed NAME - what test/exported says of this library.
listed()
{
    local word
    sed -n "s/^$1: *//p" test/exported | tr ' ' '\n' | while read -r word; do
        case $word in
        *.map) mapped "$word" ;;
        *@GLIBC_2.2.5) [ "$(uname -m)" != x86_64 ] || echo "$word" ;;
        *) echo "$word" ;;
        esac
    done | sort
}

exported()
{
    nm -D --defined-only --with-symbol-versions "$1" |
        awk '$2 ~ /[A-Z]/ && $2 != "A" { print $3 }' | sort
}

exports_what_is_listed()
{
    # Python's module has its version and the machine in its name.
    listed "$(basename "$1" .so | sed 's/[.]cpython-.*//')" >"$tmp/listed"
    exported "$1" >"$tmp/exported"
    [ -s "$tmp/listed" ] || { echo "test/exported has no $(basename "$1" .so)"; return 1; }
    diff "$tmp/listed" "$tmp/exported"
}

# The declarations of the header.
declared()
{
    cc -E -dD -Iinclude include/tallytree.h | tr '\n' ' ' |
        grep -oE '__attribute__\(\(visibility\("default"\)\)\)[^;{]*;' |
        grep -oE '\btt_[a-z_]+( __attribute__[^;]*)?(\(| ?;)' | grep -oE '^tt_[a-z_]+' | sort -u
}

# The assembler's names are in no declaration, nor is what copies of the library find.
declares_what_is_exported()
{
    diff <(mapped runtime/tallytree.map | sed 's/@.*//' | grep -v '^tt_thunk_\|^tt_runtime_' | sort) <(declared)
}

# The functions that the manual has and disabled.h must have too.
untried()
{
    sed -n 's/^TT_API [^(]*\b\(tt_[a-z_]*\)(.*/\1/p' include/tallytree.h | while read -r name; do
        grep -qw "$name" test/every-macro.h test/disabled-test.c || echo "$name"
    done
}

for library in $(libraries); do
    try "$(basename "$library") exports what is listed" exports_what_is_listed "$library"
done
try "there are libraries" [ "$count" -ge 5 ]
try "what libtallytree exports is what its header declares" declares_what_is_exported
none "every function is tried without the library too" untried
finish
