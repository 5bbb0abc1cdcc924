#!/bin/bash
# SPDX-License-Identifier: MIT
# Plain English: no page, help text or message has the words that doc/style.md
# forbids, and their words are spelled as in a dictionary.
. "$(dirname "$0")/tap.sh"
. tools/rooms

# Code is not a person, and sentences have a verb.
forbidden='\b(nobody|whoever|anew|told of|is told|are told|tells of|of its own|of their own|of our own)\b'
forbidden+='|\b(stands?|stood) (behind|before|beside|in the place)\b|\bwho (calls|asks|frees|reads|writes|waits)\b'
forbidden+='|\b(a|each|one|next|last) look($|[^-a-z])|\bfell to no\b|; (ours|edge|auto|[0-9]+[KMG]?)$'

# doc/style.md quotes what it forbids, and CHANGELOG.md is history.
pages() { printf '%s\n' README.md CONTRIBUTING.md doc/*.md doc/man/* | grep -vx doc/style.md; }

# Names of tests in doc/security.md are the tests'.
in_pages() { pages | xargs grep -niE "$forbidden" | grep -v ':  Test: ' || true; }

commands() { "$TT_BUILD/tallytree" help | sed -n 's/^  \([a-z]*\)  .*/\1/p'; }

in_helps()
{
    local command
    for command in $(commands); do
        "$TT_BUILD/tallytree" help "$command" | sed "s/^/$command: /"
    done >"$tmp/helps"
    grep -niE "$forbidden" "$tmp/helps" || true
}

# messages - what the sources may print, one a line: FILE:LINE, a tab, and the text.  That is a string
# of three words and more, its parts joined, without comments; but not code for other machines.
messages()
{
    git ls-files -- "${rooms[@]/%//*.[ch]}" 'adapters/*.[ch]' | xargs perl -0777 -ne '
        s{/\*.*?\*/}{$& =~ tr/\n//cdr}gse;
        while (/"(?:[^"\\\n]|\\.)*"(?:\s*(?:PRI\w+\s*)?"(?:[^"\\\n]|\\.)*")*/g) {
            my ($text, $line) = ($&, 1 + (substr($_, 0, $-[0]) =~ tr/\n//));
            $text = join "", $text =~ /"((?:[^"\\\n]|\\.)*)"/g;
            print "$ARGV:$line\t$text\n" if $text =~ /[a-z]{2}.* .*[a-z]{2}.* / && $text !~ /\\t|%r|%%|_asm/;
        }'
}

in_messages() { grep -iE "$forbidden" "$tmp/messages" || true; }

too_wide()
{
    local command
    for command in $(commands); do
        "$TT_BUILD/tallytree" help "$command" | awk -v c="$command" 'length > 80 { print c ": " $0 }'
    done
}

misspelled() { { pages; echo "$tmp/messages"; } | xargs codespell -I tools/spelling; }

# The check finds forbidden words.
finds() { grep -qiE "$forbidden" <<<"$1"; }
for example in "it is told when nobody calls" "cap on memory; 64M" "a look at the stack" "what stands behind it"; do
    try "it is refused: $example" finds "$example"
done
messages >"$tmp/messages"
has_message() { grep -qP "\t$1$" "$tmp/messages"; }
try "there are commands with help" test "$(commands | wc -l)" -ge 10
try "there are pages" test "$(pages | wc -l)" -ge 40
try "messages are found" test "$(wc -l <"$tmp/messages")" -ge 800
try "those of several lines, too" has_message '.*applies only to recording from outside.*: leave it out, or add --kernel'
none "no page has forbidden words" in_pages
none "no help text has forbidden words" in_helps
none "no message has forbidden words" in_messages
none "help texts fit 80 columns" too_wide
if command -v codespell >/dev/null; then
    try "a wrong spelling is found" grep -q separate <(echo 'two seperate words' | codespell -)
    none "no page and no message has a wrong spelling" misspelled
else
    skip "no page and no message has a wrong spelling" "codespell is not installed"
fi
# TT_MESSAGES=FILE keeps the catalogue of all messages.
[ -z "${TT_MESSAGES:-}" ] || sort "$tmp/messages" >"$TT_MESSAGES"
finish
