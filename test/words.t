#!/bin/bash
# SPDX-License-Identifier: MIT
# Plain English: no page, help text or message has the words that doc/style.md forbids.
. "$(dirname "$0")/tap.sh"

# Code is not a person, and sentences have a verb.
forbidden='\b(nobody|whoever|anew|told of|is told|are told|tells of|of its own|of their own|of our own)\b'
forbidden+='|\b(stands?|stood) (behind|before|beside|in the place)\b|\bwho (calls|asks|frees|reads|writes|waits)\b'
forbidden+='|\b(a|each|one|next|last) look($|[^-a-z])|\bfell to no\b|; (ours|edge|auto|[0-9]+[KMG]?)$'

# Pages that were rewritten; a page that joins them stays here.
pages=(README.md doc/{README,comparison,embedding,formats,glossary,json,mpi,recording,scale,security}.md
    doc/{switching,targets,tasks,viewer}.md doc/man/*)

in_pages()
{
    grep -niE "$forbidden" "${pages[@]}" | grep -v ':  Test: ' || true
}

commands() { "$TT_BUILD/tallytree" help | sed -n 's/^  \([a-z]*\)  .*/\1/p'; }

in_helps()
{
    local command
    for command in $(commands); do
        "$TT_BUILD/tallytree" help "$command" | sed "s/^/$command: /"
    done >"$tmp/helps"
    grep -niE "$forbidden" "$tmp/helps" || true
}

too_wide()
{
    local command
    for command in $(commands); do
        "$TT_BUILD/tallytree" help "$command" | awk -v c="$command" 'length > 80 { print c ": " $0 }'
    done
}

misspelled() { codespell -I tools/spelling "${pages[@]}"; }

# What is forbidden is found.
finds() { grep -qiE "$forbidden" <<<"$1"; }
for example in "it is told when nobody calls" "cap on memory; 64M" "a look at the stack" "what stands behind it"; do
    try "it is refused: $example" finds "$example"
done
try "there are commands with help" test "$(commands | wc -l)" -ge 10
none "no page has forbidden words" in_pages
none "no help text has forbidden words" in_helps
none "help texts fit 80 columns" too_wide
if command -v codespell >/dev/null; then
    none "no page has a wrong spelling" misspelled
else
    skip "no page has a wrong spelling" "codespell is not installed"
fi
finish
