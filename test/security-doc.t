#!/bin/bash
# SPDX-License-Identifier: MIT
# doc/security.md names a test for each promise, and the test is there.
. "$(dirname "$0")/tap.sh"
doc=doc/security.md

# named FILE NAME - the file has a test of that name.
named() { [ -f "$1" ] && grep -qF "\"$2\"" "$1" || grep -qF "\"$2\"" <(tr '\n' ' ' <"$1" | sed 's/  */ /g'); }
promises=$(sed -n '/^## What is promised/,/^## What is not/p' $doc | grep -c '^- ')
tests=$(grep -c 'Test:' $doc)
while IFS= read -r line; do
    file=${line#*\`}
    file=${file%%\`*}
    name=${line#*\`: }
    try "$file has the test: $name" named "$file" "$name"
done < <(grep -- 'Test:' $doc)
equal "each promise has one, but that which is the fuzzers'" "$tests" $((promises - 1))
parsers=$(find fuzz -name '*.c' | wc -l)
try "the fuzzers are there" [ "$parsers" -ge 8 ]
try "the gate runs them" grep -q '&& RUNS=.* tools/fuzz ' Makefile
finish
