#!/bin/bash
# SPDX-License-Identifier: MIT
# Samples take a hundredth of a thread's time: those that would take more are skipped, which the
# recording says, and the next one has their time.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
cd "$tmp" || exit

cat >deep.c <<'END'
#include <stdlib.h>
#include <time.h>
static volatile long sink;
static double cpu(void) { return (double)clock() / CLOCKS_PER_SEC; }
static void spin(double s) { double end = cpu() + s; while (cpu() < end) for (int i = 0; i < 10000; i++) sink += i; }
#define F(n) __attribute__((noinline)) static void f##n(int d) { next(d - 1); sink++; }
static void next(int d);
F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7)
static void (*const f[])(int) = {f0, f1, f2, f3, f4, f5, f6, f7};
static void next(int d) { if (d > 0) f[rand() % 8](d); else spin(0.005); }
int main(int argc, char **argv)
{
    double end = cpu() + atof(argv[2]);
    (void)argc;
    while (cpu() < end) next(atoi(argv[1]));
}
END
gcc -O1 -fno-optimize-sibling-calls deep.c -o deep || exit

fact() { "$tallytree" report header --csv "$1.tt" | awk -F, -v fact="$2" '$4 == fact { print $5 == "" ? $6 : $5 }'; }
"$tallytree" record --force -o new.tt ./deep 4000 3 2>messages
try "new and long stacks are skipped ($(fact new stacks.skipped))" test "$(fact new stacks.skipped)" -gt 250
try "a message says so" grep -q '^tallytree: 250 Hz was asked for; samples were skipped' messages
try "and so does the header" grep -q 'samples were skipped' <(fact new rate)
charged()
{
    "$tallytree" export --force --to folded --metric time -o folded new.tt &&
        awk -v cpu="$(fact new cpu)" '{ sum += $NF } END { print sum, cpu; exit !(sum > 0.9 * cpu && sum < 1.1 * cpu) }' folded
}
try "none of the time is lost" charged

"$tallytree" record --force -o same.tt ./deep 3 2 2>messages
try "few of short stacks that come again are ($(fact same stacks.skipped))" test "$(fact same stacks.skipped)" -le 250
refute() { ! "$@"; }
try "and no message says so" refute grep -q skipped messages
finish
