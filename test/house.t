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
    sources | xargs awk 'FNR == 1 && $0 != "/* SPDX-License-Identifier: MIT */" { print FILENAME }'
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

# strays ROOM... - functions that a header of the rooms declares and another file than the header's
# own defines, and functions that two files define.  building.h has those of builder.c that only the
# files of a builder call.  There is a file for each processor of some headers, as of machine.h.
strays()
{
    # shellcheck disable=SC2016,SC2046
    perl -e '
        local $/;
        for my $file (@ARGV) {
            open my $in, "<", $file or die;
            my $text = <$in> =~ s{/\*.*?\*/|^#(?:[^\n]*\\\n)*[^\n]*|"(?:[^"\\\n]|\\.)*"|\x27(?:[^\x27\\\n]|\\.)+\x27}{}gmsr;
            my $name = $file =~ s{^.*/}{}r =~ s{\.[ch]$}{}r =~ s{^building$}{builder}r
                =~ s{-(?:machine|x86_64|aarch64)$}{}r;
            $text =~ s/__attribute__\(\((?:[^()]|\([^()]*\))*\)\)//g;
            1 while $text =~ s/\{[^{}]*\}/\@/g;
            for (split /(?<=[;\@])/, $text) {
                next if /^\s*(?:static|typedef|extern|_Static_assert)\b/;
                my ($function, $end) = /^\s*[a-z][\w\s*]*?\b(\w+)\s*\(.*([;\@])$/s or next;
                if ($end eq "\@" and $file =~ /c$/) {
                    print "$file: $function is of $defined{$function}, too\n"
                        if ($defined{$function} // $name) ne $name;
                    $defined{$function} = $name;
                }
                push @declared, [$function, $name, $file] if $end eq ";" and $file =~ /h$/;
            }
        }
        print "only ", scalar @declared, " functions were found\n" if @declared < 1400;
        for (@declared) {
            my ($function, $name, $file) = @$_;
            print "$file: $function\n" if ($defined{$function} // "") ne $name;
        }' $(printf '%s/*.[ch] ' "$@") || echo "the files of a room cannot be read"
}

none "every source begins with its licence" without_licence
none "no function is longer than 60 lines, but for a switch of ten cases" too_long
none "no two files have one name" namesakes
none "no two types have one name" double_tags
none "the functions of a header are those of its file" strays \
    base runtime unwind symbols interpreters sample functions preload heap locks profile formats report layouts serve \
    command
none "no line ends in blanks" trailing_blanks
none "all that has a version has the same" other_versions
finish
