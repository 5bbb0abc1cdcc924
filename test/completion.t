#!/bin/bash
# SPDX-License-Identifier: MIT
# Completions of shells and help pages come from the same tables as the parser of flags.
. "$(dirname "$0")/tap.sh"
PATH=$(realpath "${TT_BUILD:-build}"):$PATH

mapfile -t commands < <(tallytree --complete '' | sed 's/\t.*//')
layouts="fble ghc mlworks ocr tdk"

# Of each command, the pages, the offered flags, and the man page's words: what more than one
# check reads.
shared()
{
    local command
    mkdir "$tmp/help" "$tmp/flags" "$tmp/words" "$tmp/flag-words"
    for command in "${commands[@]}"; do
        [ "$command" != help ] || continue
        tallytree help "$command" >"$tmp/help/$command"
        tallytree --complete "$command" -- >"$tmp/flags/$command"
        words "doc/man/tallytree-$command.1" >"$tmp/words/$command"
    done
    for command in $layouts; do tallytree --complete report "$command" -- >"$tmp/flags/report $command"; done
    sed -i 's/\t.*//' "$tmp/flags"/*
}
# words FILE... - the words of pages, with their dashes.
words() { sed 's/\\-/-/g' "$@" | grep -oE -- '[a-z_-]+' | sort -u; }
shared

# ── Help ─────────────────────────────────────────────────────────────────────────────

# fits FILE - a screen has 40 lines of 80 columns.
fits()
{
    [ -s "$1" ] && [ "$(wc -l <"$1")" -le 40 ] && [ "$(wc -L <"$1")" -le 80 ]
}

page_fits() { cat "$1" && fits "$1"; }

list_fits()
{
    tallytree >"$tmp/out" 2>"$tmp/page"
    [ $? -eq 2 ] && [ ! -s "$tmp/out" ] && fits "$tmp/page"
}

# Not "there is no command 'help'; did you mean 'help'?"
helps_itself()
{
    tallytree help >"$tmp/one" && tallytree help help >"$tmp/two" &&
        tallytree help --help >"$tmp/three" && cmp "$tmp/one" "$tmp/two" && cmp "$tmp/one" "$tmp/three"
}

same_page()
{
    tallytree "$1" --help >"$tmp/two" && tallytree "$1" -h >"$tmp/three" &&
        cmp "$tmp/help/$1" "$tmp/two" && cmp "$tmp/help/$1" "$tmp/three"
}

# Each flag of a command's help page is also in its man page.
has_man_page()
{
    local page=doc/man/tallytree-$1.1
    [ -s "$page" ] && grep -q "^\.TH TALLYTREE-${1^^} 1 " "$page" || return
    grep -oE -- '--[a-z_-]+' "$tmp/help/$1" | grep -vxFf "$tmp/words/$1" >"$tmp/lacking"
    cat "$tmp/lacking"
    [ ! -s "$tmp/lacking" ] && grep -q "doc/man/tallytree-$1.1" meson.build &&
        grep -qF "tallytree-$1 (1)" doc/man/tallytree.1
}

prints_nowhere()
{
    tallytree help record >/dev/full 2>"$tmp/said"
    [ $? -eq 2 ] && grep -q 'standard output: cannot be written' "$tmp/said"
}

try "a page that cannot be printed is an error" prints_nowhere
tallytree help >"$tmp/list"
try "the list of commands fits a screen" page_fits "$tmp/list"
try "help has no page but the list" helps_itself
try "so it does where no command is given" list_fits
for command in "${commands[@]}"; do
    [ "$command" != help ] || continue
    try "the page of $command fits a screen" page_fits "$tmp/help/$command"
    try "help $command is $command --help" same_page "$command"
    try "$command has a man page with its flags" has_man_page "$command"
done

# ── Words ────────────────────────────────────────────────────────────────────────────

# offers WORDS TYPED... - completions of the last of TYPED.
offers()
{
    local words=$1
    shift
    tallytree --complete "$@" | sed 's/\t.*//' | paste -sd ' ' >"$tmp/offered"
    cat "$tmp/offered"
    [ "$(cat "$tmp/offered")" = "$words" ]
}

# Each flag that is offered is taken: the error is about its value, or about the next flag.
flags_are_taken()
{
    local flag refusal
    while read -r flag; do
        [ "$flag" = --help ] ||
            ! refusal=$(tallytree "$1" "$flag=$tmp/x" --no-such-flag </dev/null 2>&1) ||
            { echo "$flag: a wrong flag after it is no error"; continue; }
        [[ $refusal != *"no option '$flag'"* ]] || echo "$refusal"
    done <"$tmp/flags/$1"
}

# Each flag of the page is offered.
flags_are_offered()
{
    grep -oE -- '^ +(-[a-zA-Z], )?--[a-z_-]+' "$tmp/help/$1" | grep -oE -- '--.*' |
        grep -vxFf "$tmp/flags/$1"
}

try "a command is completed" offers replay repl
try "nothing is completed where there is nothing" offers '' zzz
try "a path may be a program's" offers @files ./
try "help is followed by a command" offers replay help repl
try "a flag is completed" offers --recursion replay --rec
try "with one dash too" offers -recursion replay -rec
try "its values are, behind a blank" offers 'repeat: recent:' replay --recursion re
try "or behind an equals sign" offers '--recursion=repeat: --recursion=recent:' replay --recursion=re
try "a file is a file" offers @files replay -o ''
try "an operand is what the command wants" offers @files dump ''
for command in "${commands[@]}"; do
    [ "$command" != help ] || continue
    none "the flags that are completed for $command are taken" flags_are_taken "$command"
    none "the flags of the page of $command are completed" flags_are_offered "$command"
done

# Each flag that is offered is in a man page: the command's or, for flags that several commands
# share, the one of report.
flags_are_described()
{
    sed 's/^--//' "$tmp/flags/$*" | grep -vx help | grep -vxFf "$tmp/flag-words/$1"
}
for command in "${commands[@]}"; do
    [ "$command" = help ] ||
        sed -n 's/^--\?//p' "$tmp/words/$command" "$tmp/words/report" >"$tmp/flag-words/$command"
done

for command in "${commands[@]}"; do
    [ "$command" = help ] || none "the man page of $command has all its flags" flags_are_described "$command"
done
for layout in $layouts; do
    none "and those of the layout $layout" flags_are_described report "$layout"
done

# headings PAGE... - the flags in the headings of man pages, as a help page writes them: "--output OUT".
headings()
{
    # shellcheck disable=SC2016
    perl -ne '
        if ($is_heading and my ($font, $rest) = /^\.(B|I|BI|BR|RB|IB|RI|IR) (.*)/) {
            $rest =~ s/\\f.//g;
            $rest =~ s/\\-/-/g;
            my $text = join length $font > 1 ? "" : " ", map { s/^"|"$//gr } $rest =~ /"[^"]*"|\S+/g;
            print "$_\n" for grep /^-/, split /, (?=-)/, $text;
        }
        $is_heading = /^\.TP/' "$@"
}

# Each flag of the help page, with what its value is called, is a heading of the man page, or of
# report's, for flags that several commands share.
flags_are_headings()
{
    sed -nE '/^  -/!d; s/^  //; s/ {2,}.*//; s/, --/\n--/; p' "$tmp/help/$1" >"$tmp/named"
    cat "$tmp/named" >>"$tmp/all-flags"
    headings "doc/man/tallytree-$1.1" doc/man/tallytree-report.1 | grep -vxFf - "$tmp/named"
}

for command in "${commands[@]}"; do
    [ "$command" = help ] || none "the man page of $command has the flags of its help page as headings" flags_are_headings "$command"
done
try "these are many" test "$(wc -l <"$tmp/all-flags")" -ge 100

# The default of a flag is the same on the help page and in the man page, or report's.
defaults_differ()
{
    local command
    # shellcheck disable=SC2016
    for command in "${commands[@]}"; do
        [ "$command" = help ] || sed "s/^/$command /" "$tmp/help/$command"
    done | perl -ne '
        BEGIN {
            for my $page (glob "doc/man/tallytree-*.1") {
                my ($command) = $page =~ /tallytree-(.*)\.1/;
                open my $in, "<", $page or die;
                local $/;
                for my $part (split /^\.(?:TP|S[HS] .*)\n/m, <$in>) {
                    my ($heading, $text) = split /\n/, $part =~ s/\\f.//gr =~ s/\\-/-/gr =~ s/"//gr, 2;
                    $text =~ s/^\.[A-Z]+ //gm;
                    $text =~ s/ *\n/ /g;
                    $about{"$command $_"} .= $text for $heading =~ /--[a-z][a-z-]*/g;
                }
            }
        }
        my ($command, $flag, $rest) = /^(\S+)   (?:-\w, )?(--[a-z-]+)(.*)/ or next;
        my $text = join " ", map { $_ // "" } @about{"$command $flag", "report $flag"};
        my ($value) = $rest =~ /\(default: (.*)\)$/;
        my ($first) = $rest =~ /(\w+) \(default\)(?:,| or)/;
        $value //= $first // next;
        $count++;
        print "$command $flag: the man page does not say that the default is $value\n"
            unless $text =~ /\(default: \Q$value\E(?!\w)/ || $first && $text =~ /\b$first \(the default\)/;
        END { print "only $count defaults were found\n" if $count < 30 }'
}
none "the defaults of help pages are those of man pages" defaults_differ

# Each flag in a man page, and in a document after a command's name, is a flag of a command or
# a layout.  Exceptions: words about flags, and flags of node.
known_flags()
{
    cat "$tmp/flags"/*
    printf -- '--%s\n' name version help no-as-needed interpreted-frames-native-stack perf-basic-prof \
        perf-basic-prof-only-functions perf-prof
}

named_flags()
{
    # shellcheck disable=SC2016
    perl -ne 's/\\-/-/g; print "$ARGV $_\n" for /(?<![a-z-])--[a-z][a-z-]+/g' doc/man/*.1
    # shellcheck disable=SC2016
    perl -ne 'for my $line (/((?:^ *|[`\$] ?)tallytree [^`\n]*)/g) { print "$ARGV $_\n" for $line =~ / (--[a-z][a-z-]+)/g }' \
        README.md doc/*.md
}
named_flags | sort >"$tmp/named-flags"

unknown_flags()
{
    known_flags >"$tmp/known"
    uniq "$tmp/named-flags" | awk 'NR == FNR { known[$1]; next } !($2 in known) { print $1 ": " $2 }' "$tmp/known" -
}

# So is each command.
unknown_commands()
{
    printf '%s\n' "${commands[@]}" help >"$tmp/known"
    grep -ohE '(^ *|[`$] ?)tallytree [a-z]+[ `]' README.md doc/*.md | grep -oE '[a-z]+.$' | tr -d ' `' |
        sort -u | grep -vxFf "$tmp/known"
}

enough_is_named() { [ "$(wc -l <"$tmp/named-flags")" -ge 200 ] || cat "$tmp/named-flags"; }

none "flags that pages and documents name are there" unknown_flags
none "so are commands" unknown_commands
none "many are named" enough_is_named

# ── Words of tt_start ────────────────────────────────────────────────────────────────

# The header and the man page have the words of the recorder's table, and no others.  `every` is a
# mode; `native` is only for other languages' packages.
words_of_start()
{
    sed -nE 's/^    \{"([a-z-]+)", (option|tt_options)_.*/\1/p' runtime/options.c | sed '$a every' |
        grep -vx native | sort >"$tmp/words"
    [ "$(wc -l <"$tmp/words")" -ge 20 ] || cat "$tmp/words"
    sed 's/\\-/-/g; s/\\f.//g' | grep -oE '[a-z][a-z-]*=|^[^a-z]*histogram\b' | grep -oE '[a-z][a-z-]*' | sort -u |
        diff "$tmp/words" -
}
words_of_header() { sed -n '/^\/\* Starts a recording of the whole/,/\*\//p' include/tallytree.h | words_of_start; }
words_of_page() { sed -n '/^\.SH OPTIONS/,/^\.SH RETURN/p' doc/man/tallytree.3 | words_of_start; }

# Each value that is offered for an option is one that the recorder takes.
values_are_taken()
{
    local flag value
    for flag in recursion stacks space series; do
        tallytree --complete record "--$flag" '' | sed 's/\t.*//' >"$tmp/values"
        [ "$(wc -l <"$tmp/values")" -ge 3 ] || echo "$flag: few are offered"
        while read -r value; do
            tallytree record "--$flag=$value" --no-such-flag </dev/null >"$tmp/refusal" 2>&1
            grep -q no-such-flag "$tmp/refusal" || echo "$flag=$value: $(cat "$tmp/refusal")"
        done < <(sed 's/:$/:3/' "$tmp/values")
    done
}

none "the header has the words of tt_start" words_of_header
none "so has the man page" words_of_page
none "the recorder takes the values that are offered" values_are_taken

# ── Shells ───────────────────────────────────────────────────────────────────────────

# bash_gives WORDS LINE - what bash completes at the end of the line.
bash_gives()
{
    (
        compopt() { :; }
        . doc/completion/tallytree.bash
        COMP_LINE=$2 COMP_POINT=${#2}
        _tallytree
        echo "${COMPREPLY[*]}"
        [ "${COMPREPLY[*]}" = "$1" ]
    )
}

# zsh_gives WORDS LINE - the same of zsh, whose own functions say here what they are given.
zsh_gives()
{
    # shellcheck disable=SC2016
    zsh -f -c '
        _describe() { local name=$@[-1]; print -rl -- "${(@P)name}" }
        _files() { print -r -- "@files" }
        compset() { print -r -- "behind $2" }
        words=("${(@s: :)1}") CURRENT=$#words
        source doc/completion/_tallytree' zsh "$2" >"$tmp/said" || return
    cat "$tmp/said"
    [ "$(sed -E 's/^(([^:\\]|\\.)*):.*/\1/' "$tmp/said" | paste -sd ' ')" = "$1" ]
}

# fish_gives WORDS LINE - the same of fish.
fish_gives()
{
    fish --no-config -c 'source doc/completion/tallytree.fish; complete -C $argv' "$2" >"$tmp/said" || return
    cat "$tmp/said"
    [ "$(sed 's/\t.*//' "$tmp/said" | paste -sd ' ')" = "$1" ]
}

try "bash completes a command" bash_gives merge 'tallytree mer'
try "bash completes a flag" bash_gives --recursion 'tallytree replay --rec'
try "bash completes a value" bash_gives 'repeat: recent:' 'tallytree replay --recursion re'
try "bash completes what stands behind an equals sign" \
    bash_gives 'repeat: recent:' 'tallytree replay --recursion=re'
try "bash completes a file" bash_gives 'doc/man/tallytree-replay.1' \
    'tallytree replay -o doc/man/tallytree-repl'
try "bash completes a file behind an equals sign" bash_gives 'doc/man/tallytree-replay.1' \
    'tallytree replay --output=doc/man/tallytree-repl'
try "zsh completes a command" zsh_gives merge 'tallytree mer'
try "zsh completes a flag" zsh_gives --recursion 'tallytree replay --rec'
try "zsh completes a value" zsh_gives 'repeat\: recent\:' 'tallytree replay --recursion re'
try "zsh completes a file" zsh_gives @files 'tallytree dump '
try "zsh completes a file behind an equals sign" zsh_gives 'behind *= @files' \
    'tallytree replay --output=doc/man/tallytree-repl'
try "fish completes a command" fish_gives merge 'tallytree mer'
try "fish completes a flag" fish_gives --recursion 'tallytree replay --rec'
try "fish completes a value" fish_gives 'recent: repeat:' 'tallytree replay --recursion re'
try "fish completes what stands behind an equals sign" \
    fish_gives '--recursion=recent: --recursion=repeat:' 'tallytree replay --recursion=re'
try "fish completes a file" fish_gives 'doc/man/tallytree-replay.1' \
    'tallytree replay -o doc/man/tallytree-repl'
try "fish completes a file behind an equals sign" fish_gives '--output=doc/man/tallytree-replay.1' \
    'tallytree replay --output=doc/man/tallytree-repl'
# ── Examples ─────────────────────────────────────────────────────────────────────────
# The examples of a man page are of its command, and their flags are flags of that.
examples()
{
    local flag
    sed 's/\\-/-/g' "doc/man/tallytree-$1.1" | sed -n '/^\.SH EXAMPLES/,/^\.SH [^E]/p' | grep -E "^tallytree $1( |$)" >"$tmp/lines" ||
        { echo "tallytree-$1(1) has none"; return; }
    { cat "$tmp/flags/$1"; tallytree --complete "$1" -; } | sed 's/\t.*//' >"$tmp/offered"
    grep -oE '^ +-[a-z],' "$tmp/help/$1" | tr -d ' ,' >>"$tmp/offered"
    grep -oE -- ' --?[a-z][a-z_-]*' "$tmp/lines" | tr -d ' ' | sort -u | while read -r flag; do
        grep -qxF -- "$flag" "$tmp/offered" || echo "$flag"
    done
}
for command in "${commands[@]}"; do
    [ "$command" = help ] || none "the man page of $command has examples, with flags that there are" examples "$command"
done
glossary()
{
    local word
    for word in block context strand fiber arc tally mark; do
        grep -q "^| .*\*\*$word\*\*" doc/glossary.md || echo "$word"
    done
}
none "the words that are Tallytree's own are explained" glossary

finish
