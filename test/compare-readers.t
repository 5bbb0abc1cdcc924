#!/bin/bash
# SPDX-License-Identifier: MIT
# tools/compare-readers finds figures that differ from those of a format's own tool.
. "$(dirname "$0")/tap.sh"
dir=$tmp

printf 'main;a;b 3\nmain;a 4\nmain;c;a;b 5\n' >"$dir/folded"
python3 -c 'import cProfile, sys; cProfile.run("sorted(str(x) for x in range(100))", sys.argv[1])' "$dir/python"
compare() { tools/compare-readers --tallytree "$1" "${@:2}" >"$dir/said" 2>&1; }
both() { compare "$TT_BUILD/tallytree" "$dir/folded" "$dir/python" && grep -q '^same *folded' "$dir/said" && grep -q '^same *pstats' "$dir/said"; }
try "what is read right is the same" both
printf '#!/bin/sh\n"$TT_BUILD/tallytree" "$@" | sed "s/,8,1,12,/,8,1,11,/;s/,8,\\(0.6[0-9]*\\),8,/,9,\\1,8,/"\n' >"$dir/wrong"
chmod +x "$dir/wrong"
wrong() { ! compare "$dir/wrong" "$dir/folded" && grep -q '^differs *folded' "$dir/said" && grep -q 'self 9, its tool 8' "$dir/said"; }
try "a figure that is wrong is found, and the exit status says so" wrong
echo 'int main(void) { return 0; }' >"$dir/other"
refused() { compare "$TT_BUILD/tallytree" "$dir/other"; grep -q '^refused' "$dir/said"; }
try "a file that is not read is said to be refused" refused
finish
