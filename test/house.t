#!/bin/bash
# SPDX-License-Identifier: MIT
# Rules for every file of the tree.
. "$(dirname "$0")/tap.sh"
. tools/rooms

files()
{
    find . \( -path './build*' -o -path ./.git -o -name node_modules \) -prune -o -type f \( "$@" \) -print
}

sources()
{
    files -name '*.[ch]' -o -name '*.cpp'
}

without_licence()
{
    sources | while read -r file; do
        [ "$(head -n 1 "$file")" = "/* SPDX-License-Identifier: MIT */" ] || echo "$file"
    done
}

# A file has one idea, whatever its length.  A function fits a screen, except a switch with a line
# for each case.
too_long()
{
    product | xargs awk '
        FNR == 1 { start = 0 }
        /^\{/ { start = FNR; cases = 0 }
        / case / { cases++ }
        /^\}/ && start { if (FNR - start + 1 > 60 && cases < 10) print FILENAME ":" start; start = 0 }'
}

trailing_blanks()
{
    files -name '*.[ch]' -o -name '*.cpp' -o -name '*.md' -o -name '*.t' -o -name '*.sh' \
        -o -name Makefile -o -name meson.build -o -path './tools/*' |
        xargs grep -nE '[[:blank:]]$'
}

other_versions()
{
    local version
    version=$(sed -n 's/^#define TT_VERSION "\(.*\)"/\1/p' include/tallytree.h)
    grep -q "^  version: '$version'," meson.build || echo "meson.build is not $version"
    grep -qx "version = \"$version\"" adapters/ocaml/META || echo "adapters/ocaml/META is not"
    head -n 1 debian/changelog | grep -qF "($version)" || echo "debian/changelog is not"
    grep -q "^## $version\b" CHANGELOG.md || echo "CHANGELOG.md is not"
}

# product - lists the sources of the product, without tests and examples.
product()
{
    git ls-files -co --exclude-standard -- "${rooms[@]/%//*.[ch]}" 'adapters/*.[ch]' 'web/*.c'
}

# They all have their headers on one path, and are spoken of by these names.
namesakes()
{
    product | sed 's|.*/||' | sort | uniq -d
}

# A debugger that shows a value has to know which type it is.
double_tags()
{
    product | xargs grep -hoE '^(struct|union|enum) tt_[a-z0-9_]+ \{' | sort | uniq -d
}

none "every source begins with its licence" without_licence
none "no function is longer than 60 lines, but for a switch of ten cases" too_long
none "no two files have one name" namesakes
none "no two types have one name" double_tags
none "no line ends in blanks" trailing_blanks
none "all that has a version has the same" other_versions
finish
