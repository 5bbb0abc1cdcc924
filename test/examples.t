#!/bin/bash
# SPDX-License-Identifier: MIT
# The programs that README shows: what they record is what it says.
. "$(dirname "$0")/tap.sh"

# record PROGRAM [OPTIONS] - runs it, and dumps its recording to $tmp/dump.
record()
{
    "$TT_BUILD/examples/$1" "output=$tmp/recording${2:+,$2}" >"$tmp/out" &&
        "$TT_BUILD/tallytree" dump "$tmp/recording" >"$tmp/dump"
}

# has PATH FIELD... - there is a context of this path with these fields.
has()
{
    local line field
    line=$(awk -F '\t' -v path="$1" '$1 == "context" && $2 == path' "$tmp/dump")
    [ -n "$line" ] || { echo "no context $1"; return 1; }
    for field in "${@:2}"; do
        [[ $line$'\t' == *$'\t'"$field"$'\t'* ]] || { echo "no $field in: $line"; return 1; }
    done
}

# contexts N - so many there are, without the root.
contexts()
{
    [ "$(grep -c '^context' "$tmp/dump")" = $(($1 + 1)) ] || grep '^context' "$tmp/dump"
}

words()
{
    printf 'the cat and the dog and the end' >"$tmp/text"
    "$TT_BUILD/examples/wordtree" "$@" <"$tmp/text" >"$tmp/out"
}

printed()
{
    printf '%7d %s\n' 3 the 2 and 1 cat 1 dog 1 end | diff - "$tmp/out"
}

for mode in exact calls every=2; do
    try "scopes.cpp records in mode $mode" record scopes $mode
    try "its rounds are counted" has round calls=100
    try "a function below them as well" has 'round;divide' calls=100
    try "an exception has left its function" has 'round;caught' calls=10
    try "a metric is on the context it was added in" has round results=2810
    none "there are no other contexts" contexts 3

    try "language.c records in mode $mode" record language $mode
    try "a call is counted" has 'm;l' calls=2
    try "what it calls is below it" has 'm;l;x' calls=2
    try "a tail call takes its caller's place" has 'm;y' calls=2
    try "even the outermost one's" has l calls=1
    try "what calls on from there stands there" has y calls=1
    try "an error leaves what it came from" has 'm;e;y' calls=1
    none "there are no other contexts" contexts 11
done

# alive PATH - how many of its pairs are alive: what came to a generation and is still there.
alive()
{
    awk -F '\t' -v path="$1" '
        $1 == "space" && $2 == path { split($NF, n, /[=,]/); sum += n[2] }
        END { print sum + 0 }' "$tmp/dump"
}

try "collector.c records" record collector calls
try "it has collected" grep -q '^9[0-9] collections' "$tmp/out"
try "its list was made where it was" grep -q $'^space\tlong_list\tpair\t->0\tall=1000,16000,8000' "$tmp/dump"
try "and is all there" [ "$(alive long_list)" = 1000 ]
try "short lists were made below it" grep -q $'^space\tlong_list;short_lists\tpair\t->0\tall=9000,' "$tmp/dump"
try "and hardly any of them is there" [ "$(alive 'long_list;short_lists')" -lt 101 ]

try "without an output the examples print" "$TT_BUILD/examples/scopes"
try "and so does the language" "$TT_BUILD/examples/language"

try "wordtree.c records" words "output=$tmp/recording"
try "wordtree.c prints the most frequent words" printed
"$TT_BUILD/tallytree" dump "$tmp/recording" >"$tmp/dump"
try "its main is there once" has main calls=1
try "each word was read" has 'main;read_word' calls=9
try "each was inserted" has 'main;insert' calls=8
try "new ones were made" has 'main;insert;make_word' calls=1
try "what is made is counted in bytes" grep -q 'make_word.*bytes=' "$tmp/dump"
try "a wrong option is told of, and the words are counted" words nonsense
try "just the same" printed
finish
