#!/bin/bash
# SPDX-License-Identifier: MIT
# The runtime as one file, and its header, in every language and compiler they are for.
. "$(dirname "$0")/tap.sh"

cat >"$tmp/program.c" <<'END'
#include "tallytree.h"

int main(void)
{
    int error = tt_start("budget=8M");
    tt_mark mark;

    TT_FUNCTION();
    TT_SCOPE("scope");
    TT_SCOPE_NAMED("named");
    TT_BEGIN(hand, "by hand");
    TT_ADD("rows", 3);
    TT_PAUSE();
    TT_RESUME();
    TT_THREAD_NAME("main");
    TT_END(hand);
    mark = tt_push(tt_block_get("block", "program.c", 1, 1));
    tt_pop(mark);
    tt_stop();
#ifdef TT_DISABLE
    return error != -TT_ERR_DISABLED;
#else
    return error;
#endif
}
END
cp "$tmp/program.c" "$tmp/program.cpp"
warnings=(-Wall -Wextra -Werror)

compiles_alone()
{
    "$1" "-std=$2" "${warnings[@]}" "$3" -c "$tmp/tallytree.c" -o "$tmp/tallytree.o"
}

# With tallytree.o, and under TT_DISABLE without.
builds_a_program()
{
    local source=$tmp/program.c
    [[ $1 != *++ ]] || source=$tmp/program.cpp
    local command=("$1" "-std=$2" "${warnings[@]}" -pedantic -Wundef -O2 -pthread "-I$tmp"
        "$source" -o "$tmp/program")
    "${command[@]}" "$tmp/tallytree.o" && "$tmp/program" &&
        "${command[@]}" -DTT_DISABLE && "$tmp/program"
}

try "the runtime becomes one file" tools/amalgamate "$tmp"
for compiler in gcc clang; do
    for language in $(for_long c99 "gnu99 c99"); do
        try "$compiler compiles it as $language without a warning" \
            compiles_alone $compiler "$language" -fsyntax-only
    done
    # gcc alone has warnings that need its optimiser.
    try "$compiler compiles it as c11 without a warning" compiles_alone $compiler c11 "-O$([ $compiler = gcc ] && for_long 1 2 || echo 0)"
done
checks_nothing() { nm "$tmp/tallytree.o" >"$tmp/names" && grep -q tt_start "$tmp/names" && ! grep assertion "$tmp/names"; }
checks_when_asked() { cc -O0 -DTT_CHECKED -c "$tmp/tallytree.c" -o "$tmp/checked.o" && nm "$tmp/checked.o" | grep assertion; }
try "a build has no assertions" checks_nothing
try "but a checked one" checks_when_asked
for compiler in gcc clang; do
    for language in $(for_long c99 "c99 c11"); do
        try "$compiler builds a $language program on it" builds_a_program $compiler "$language"
    done
done
for compiler in g++ clang++; do
    for language in $(for_long c++11 "c++11 c++17"); do
        try "$compiler builds a $language program on it" builds_a_program $compiler "$language"
    done
done
finish
