#!/bin/bash
# SPDX-License-Identifier: MIT
# Scopes that are switched, through compilers and linkers: where they are is known of all
# that the program has, and of nothing that it has not.
. "$(dirname "$0")/tap.sh"
build=${TT_BUILD:-build}

cat >"$tmp/one.cpp" <<'END'
#include "tallytree.h"
int both(int x);
inline int shared(int x) { TT_FUNCTION(); return x + 1; }
int unused_function(int x) { TT_FUNCTION(); return x; }
static int calls(const tt_visited *v, void *sum)
{
    if (v->depth) *static_cast<unsigned long *>(sum) += v->calls;
    return 0;
}
int main()
{
    for (int i = 0; i < 3; i++) {
        unsigned long sum = 0;
        both(shared(1));
        if (tt_start("calls") != 0) return 2;
        both(shared(1));
        if (tt_stop() != 0 || tt_visit(calls, &sum) != 0 || sum != 4) return 1;
    }
    return 0;
}
END
cat >"$tmp/two.cpp" <<'END'
#include "tallytree.h"
inline int shared(int x) { TT_FUNCTION(); return x + 1; }
int both(int x) { TT_FUNCTION(); TT_SCOPE("in it"); return shared(x); }
END

# works COMPILER FLAGS...
works()
{
    "$@" -DTT_SWITCHED -Wall -Wextra -Werror -Iinclude "$tmp/one.cpp" "$tmp/two.cpp" \
        "$build/libtallytree.a" -pthread -o "$tmp/program" && "$tmp/program"
}

# Sections as small as can be; nothing is kept for the sake of its scopes.
drops()
{
    works "$@" -ffunction-sections -Wl,--gc-sections &&
        ! nm -C "$tmp/program" | grep -q unused_function
}

for compiler in g++ clang++; do
    try "$compiler -O0" works $compiler -O0
    try "$compiler, position independent" works $compiler -O2 -fPIE -pie
    try "$compiler, in one place" works $compiler -O2 -fno-pie -no-pie -DTT_STATIC
    try "$compiler drops what is not used" drops $compiler -O2
    try "$compiler, without a section of its own for what is shared" drops $compiler -Os -fno-inline
done
finish
