#!/bin/bash
# SPDX-License-Identifier: MIT
# `tallytree report`: its flags, their order, its errors, its output files.
# (view-test and filter-test check the figures of views.)
. "$(dirname "$0")/tap.sh"
PATH=$(realpath "${TT_BUILD:-build}"):$PATH
unset COLUMNS NO_COLOR
export TERM=xterm

# main ─┬─ parse ─── alloc 5      ticks; in all 30
#       ├─ run 2 ─┬─ alloc 4
#       │         └─ gc 10 ── alloc 1
#       └─ print 8
cat >"$tmp/events" <<'END'
block parse file=src/parse.c line=7
push main
push parse
push alloc
tick 5
pop
pop
push run
tick 2
push alloc
tick 4
pop
push gc
tick 10
push alloc
tick 1
pop
pop
pop
push print
tick 8
count words 7
END
tallytree replay -o "$tmp/rec" "$tmp/events" || exit

# column NAME - of CSV without quotes, a line each, without the total.
column()
{
    awk -F, -v name="$1" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) at = i; next }
        $1 != "total" { print $at }'
}

# self FLAGS... - "block=self" of a flat view, in its order.
self()
{
    tallytree report --csv "$@" "$tmp/rec" >"$tmp/csv" &&
        paste -d = <(column name <"$tmp/csv") <(column self <"$tmp/csv") | paste -sd ' '
}

# gives "FIGURES" FLAGS... - the flat view has these figures.
gives()
{
    local wanted=$1
    shift
    self "$@" >"$tmp/self"
    cat "$tmp/self"
    [ "$(cat "$tmp/self")" = "$wanted" ]
}

# ── Words ────────────────────────────────────────────────────────────────────────────

try "without flags all blocks are shown" \
    gives 'alloc=10 gc=10 print=8 run=2 main=0 parse=0'
try "select keeps paths that contain a block" gives 'alloc=10 gc=10 run=2 main=0 parse=0' \
    --select '/^(parse|run)$/'
try "exclude drops paths that contain a block" gives 'alloc=9 print=8 run=2 main=0 parse=0' \
    --exclude gc
try "fold gives the caller the cost" gives 'gc=11 print=8 run=6 parse=5 main=0' --fold alloc
try "root begins with a block" gives 'gc=10 alloc=5 run=2' --root run
try "a glob finds blocks" gives 'print=8 main=0' --select 'pr*'
try "a block is found by its file" gives 'alloc=5 main=0 parse=0' --select parse.c:7
try "two selects are both kept to" gives 'alloc=1 gc=0 main=0 run=0' --select gc --select alloc
try "prune by share keeps the cost in a row of its own" \
    gives '[pruned]=10 gc=10 print=8 run=2 main=0' --prune 20%
try "prune by amount" gives '[pruned]=10 gc=10 print=8 run=2 main=0' --prune 6
try "prune by the amount of another metric" gives '[pruned]=22 print=8 main=0' --prune 'words<1'
try "prune by name" gives '[pruned]=11 alloc=9 print=8 run=2 main=0 parse=0' --prune gc

# ── Order ────────────────────────────────────────────────────────────────────────────

try "what is selected can be folded" gives 'gc=1 main=0 run=0' --select gc --select alloc --fold alloc
try "what is folded cannot be selected" gives '' --fold alloc --select alloc
missing_noted()
{
    tallytree report flat --select print --select no-such --fold nor-this "$tmp/rec" >"$tmp/out" &&
        [ "$(grep -c ^filter "$tmp/out")" = 1 ] && grep -q "^filter: no block matches 'no-such'$" "$tmp/out" &&
        grep -q "^no match for no-such$" "$tmp/out" && tallytree report flat --root 'x*' "$tmp/rec" | grep -q "^filter: no block matches 'x\*'$" &&
        ! tallytree report flat --select print --root main "$tmp/rec" | grep ^filter
}
try "what no block is called is said, where nothing is left for it" missing_noted
try "a root that was excluded is none" gives '' --exclude run --root run
try "an exclude below a root" gives 'alloc=4 run=2' --root run --exclude gc

# ── pprof's words, and Clean's ───────────────────────────────────────────────────────

try "-focus is select by regular expression" gives 'print=8 main=0' -focus=^pri
try "-focus looks into files too" gives 'alloc=5 main=0 parse=0' -focus 'src/p'
try "-ignore is exclude" gives 'alloc=9 print=8 run=2 main=0 parse=0' -ignore=g.
try "-hide is fold" gives 'gc=11 print=8 run=6 parse=5 main=0' -hide=ll
try "-show_from is root" gives 'gc=10 alloc=5 run=2' -show_from=run
try "two dashes will do" gives 'gc=10 alloc=5 run=2' --show_from run
try "-nodecount is limit" gives 'alloc=10 5 more=20' -nodecount=1
try "-nodefraction is prune" gives '[pruned]=10 gc=10 print=8 run=2 main=0' -nodefraction=0.2
try "-sample_index is metric" gives 'print=7 alloc=0 gc=0 main=0 parse=0 run=0' -sample_index=words
try "in Clean's words exclude prunes" gives '[pruned]=11 alloc=9 print=8 run=2 main=0 parse=0' \
    --exclude gc --clean
try "and so do the least ticks" gives '[pruned]=10 gc=10 print=8 run=2 main=0' --clean --min-ticks 6
try "and the least words" gives '[pruned]=22 print=8 main=0' --min-words 1

# ── Views and files ──────────────────────────────────────────────────────────────────

# shows VIEW FLAGS... - JSON says which view it is.
shows()
{
    local view=$1
    shift
    tallytree report --json "$@" >"$tmp/json" && grep -o '"view":"[a-z]*"' "$tmp/json" &&
        grep -q "\"view\":\"$view\"" "$tmp/json"
}

is_json()
{
    perl -MJSON::PP -0777 -ne 'decode_json($_)' "$1"
}

each_view()
{
    local view
    for view in flat graph tree callers groups flame lines strands header; do
        shows $view $view "$tmp/rec" && is_json "$tmp/json" &&
            tallytree report $view --csv "$tmp/rec" >/dev/null &&
            tallytree report $view "$tmp/rec" >/dev/null || return
    done
    shows block block --block gc "$tmp/rec" && is_json "$tmp/json"
}

last_form_counts()
{
    tallytree report --csv --json "$tmp/rec" >"$tmp/one" && is_json "$tmp/one" &&
        tallytree report --json --csv "$tmp/rec" >"$tmp/two" && grep -q ^role, "$tmp/two"
}

twice()
{
    tallytree report --csv "$tmp/rec" "$tmp/rec" >"$tmp/csv" &&
        [ "$(column self <"$tmp/csv" | paste -sd +)" = 20+20+16+4+0+0 ]
}

from_standard_input()
{
    printf 'main;parse 3\n' | tallytree report --csv --metric samples - "$tmp/rec" >"$tmp/csv" &&
        printf 'main;parse 3\n' >"$tmp/folded" && tallytree report --csv --metric samples "$tmp/folded" "$tmp/rec" | cmp - "$tmp/csv"
}

behind_dashes()
{
    cp "$tmp/rec" "$tmp/--json"
    (cd "$tmp" && tallytree report --csv -- --json) | grep -q ^role,
}

named_like_a_view()
{
    cp "$tmp/rec" "$tmp/tree"
    (cd "$tmp" && shows flat ./tree && shows tree tree tree && ! tallytree report tree)
}

try "every view of a tree gives text, CSV and JSON" each_view
try "the view may be a flag" shows tree --view tree "$tmp/rec"
try "the view stands before its flags or behind" shows tree --limit 3 tree "$tmp/rec"
try "the form that was asked for last counts" last_form_counts
try "several files are merged" twice
try "one of them may be standard input" from_standard_input
try "behind -- everything is a file" behind_dashes
try "a file may be called like a view" named_like_a_view

# ── What is wrong ────────────────────────────────────────────────────────────────────

# says MESSAGE FLAGS... - one line of complaint, nothing else, and status 2.
says()
{
    local message=$1 status
    shift
    tallytree report "$@" >"$tmp/out" 2>"$tmp/err"
    status=$?
    cat "$tmp/out" "$tmp/err"
    [ $status -eq 2 ] && [ ! -s "$tmp/out" ] && [ "$(cat "$tmp/err")" = "tallytree: $message" ]
}

no_command()
{
    tallytree "$1" 2>"$tmp/err"
    [ $? -eq 127 ] && cat "$tmp/err" && [ "$(cat "$tmp/err")" = "tallytree: $2" ]
}

head -c 3000 "$tmp/rec" >"$tmp/torn"
tallytree merge -o "$tmp/whole.tt" "$tmp/rec" && head -c 500 "$tmp/whole.tt" >"$tmp/torn.tt"

try "a wrong command" no_command reprot \
    "there is no command or program 'reprot'; did you mean 'report'?"
try "a command like no other" no_command zzzzz "there is no command or program 'zzzzz'"
try "a file, which is no command" no_command Makefile \
    "there is no command or program 'Makefile'; 'tallytree report Makefile' shows what was recorded"
all_127()
{
    local words
    for words in zzzzz ./zzzzz "-o $tmp/x zzzzz" "record zzzzz" "record ./zzzzz"; do
        # shellcheck disable=SC2086
        tallytree $words 2>/dev/null
        [ $? -eq 127 ] || echo "tallytree $words: not 127"
    done
}
none "a program that is not there is status 127, in whatever way it is named" all_127
wrong_word()
{
    tallytree record --recursion egde true 2>"$tmp/err"
    [ $? -eq 125 ] && grep -q "record: '--recursion' cannot be 'egde'; there are: edge repeat:" "$tmp/err"
}
try "a wrong word: those that there are, are said" wrong_word
try "a wrong flag" says "report: there is no option '--slect'; did you mean '--select'?" \
    --slect x "$tmp/rec"
try "a wrong flag with one dash" says "report: there is no option '-focsu'; did you mean '-focus'?" \
    -focsu=x "$tmp/rec"
try "a wrong view" says "there is no view or file 'tere'; did you mean 'tree'?" tere "$tmp/rec"
try "a wrong view without a file" says "there is no view or file 'tere'; did you mean 'tree'?" tere
try "a wrong view in a flag" says "report: there is no view 'tere'; did you mean 'tree'?" \
    --view tere "$tmp/rec"
try "a wrong metric" says "report: there is no metric 'wrds'; did you mean 'words'?" \
    --metric wrds "$tmp/rec"
try "a wrong metric in a filter" says "report: there is no metric 'wrds'; did you mean 'words'?" \
    --prune 'wrds<9' "$tmp/rec"
try "a metric like no other" says "report: there is no metric 'zzzz'; there are: calls, ticks, words" \
    --metric zzzz "$tmp/rec"
try "a wrong column" says "report: there is no column 'slf'; did you mean 'self'?" \
    --sort slf "$tmp/rec"
try "another view's flag" says "report: the view 'flat' has no 'by'" flat --by x "$tmp/rec"
no_file() { mkdir -p "$tmp/none" && (cd "$tmp/none" && says "report wants a recording or a profile: there is no file *.tt in this folder; 'tallytree record PROGRAM' makes one" "$@"); }
try "no file" no_file
try "a view and no file" no_file tree
try "a file that is not there" says "$tmp/absent: No such file or directory" "$tmp/absent"
try "no value" says "report: '--select' wants a value: PATTERN" "$tmp/rec" --select
try "a value too many" says "report: '--json' takes no value" --json=x "$tmp/rec"
try "an empty pattern" says "report: 'select' wants a pattern" --select= "$tmp/rec"
try "a wrong limit" says "report: 'limit' wants a number of rows or 'all', not 'x'" --limit x "$tmp/rec"
try "a wrong colour" says "there is no colour 'alway'; did you mean 'always'?" --color=alway "$tmp/rec"
try "a wrong width" says "report: '--width' wants a number of columns, not 'x'" --width x "$tmp/rec"
try "a wrong number of ticks" says "report: '--min-ticks' wants a number, not 'x'" --min-ticks x "$tmp/rec"
try "a layout behind flags" says "report: the layout 'ocr' comes before all flags" --select x ocr "$tmp/rec"
try "JSON of a layout" says "report ocr: this layout is text, not JSON" ocr --json "$tmp/rec"
try "flags are looked at before files" says "report: 'limit' wants a number of rows or 'all', not 'x'" \
    "$tmp/none" --limit x

# refuses FILE - with the reason, on one line.
refuses()
{
    tallytree report "$@" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && cat "$tmp/err" && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] &&
        grep -q "^tallytree: $1: ." "$tmp/err"
}

says_of_torn()
{
    tallytree report "$tmp/rec" "$tmp/torn" 2>"$tmp/err"
    [ $? -eq 2 ] && grep -q "^tallytree: $tmp/torn: ." "$tmp/err"
}

: >"$tmp/empty" && head -c 100 /dev/zero >"$tmp/zeros" && head -c 100000 /dev/zero >"$tmp/many-zeros"
empties()
{
    [ "$(tallytree report "$tmp/empty" 2>&1)" = "tallytree: $tmp/empty: this file is empty" ] &&
        [ "$(tallytree report - <"$tmp/empty" 2>&1)" = "tallytree: -: this file is empty" ] &&
        [ "$(tallytree report - </dev/null 2>&1)" = "tallytree: -: this file is empty" ] &&
        tallytree report - <"$tmp/zeros" 2>&1 | grep "zeros: it is no recording and no profile" &&
        tallytree report - <"$tmp/many-zeros" 2>&1 | grep "if it is a recording, its process was killed"
}
try "an empty file, and one of zeros, is what it is" empties
try "a torn recording is refused" refuses "$tmp/torn"
try "a torn profile is refused" refuses "$tmp/torn.tt"
try "what is neither is refused" refuses test/report.t
try "a torn one among others is refused" says_of_torn
printf 'MOJ\3' >"$tmp/a.out"
try "of a file that is known and not read it is said what converts it" says "$tmp/a.out: this is a file of austin; \
converted by 'mojo2austin FILE OUT' to what is read" "$tmp/a.out"

# ── Terminals ────────────────────────────────────────────────────────────────────────

colored()
{
    grep -q "$(printf '\033')\\[" "$1"
}

# on_terminal FLAGS... - what a terminal of 105 columns is given.
on_terminal()
{
    # shellcheck disable=SC2016
    (
        export FLAGS="$*" REC=$tmp/rec
        script -qec 'stty cols 105; tallytree report $FLAGS "$REC"' /dev/null </dev/null >"$tmp/typed"
    ) && tr -d '\r' <"$tmp/typed" >"$tmp/terminal" && grep -q gc "$tmp/terminal"
}

# widest FILE - the columns of its longest line.
widest()
{
    sed "s/$(printf '\033')\\[[0-9;]*m//g" "$1" | wc -L
}

long_names()
{
    printf 'push %0200d\ntick 1\n' 0 >"$tmp/events"
    tallytree replay -o "$tmp/long" "$tmp/events" && [ "$(tallytree report "$tmp/long" | wc -L)" -gt 200 ] &&
        [ "$(tallytree report --width 110 "$tmp/long" | wc -L)" -le 110 ] &&
        [ "$(COLUMNS=100 tallytree report "$tmp/long" | wc -L)" -le 100 ] &&
        [ "$(COLUMNS=100 tallytree report --width 0 "$tmp/long" | wc -L)" -gt 200 ] &&
        COLUMNS=100 tallytree report -o "$tmp/file" "$tmp/long" && [ "$(wc -L <"$tmp/file")" -gt 200 ]
}

colours()
{
    tallytree report "$tmp/rec" >"$tmp/plain" && ! colored "$tmp/plain" &&
        tallytree report --color "$tmp/rec" >"$tmp/colour" && colored "$tmp/colour" &&
        NO_COLOR=1 tallytree report --color=always "$tmp/rec" | cmp - "$tmp/colour" &&
        tallytree report --color=never "$tmp/rec" | cmp - "$tmp/plain" &&
        sed "s/$(printf '\033')\\[[0-9;]*m//g" "$tmp/colour" | cmp - "$tmp/plain"
}

terminal_colours()
{
    on_terminal && colored "$tmp/terminal" && on_terminal --color=never && ! colored "$tmp/terminal" &&
        NO_COLOR=1 on_terminal && ! colored "$tmp/terminal" &&
        NO_COLOR='' on_terminal && colored "$tmp/terminal" &&
        TERM=dumb on_terminal && ! colored "$tmp/terminal"
}

terminal_width()
{
    on_terminal "$tmp/long" && [ "$(widest "$tmp/terminal")" -le 105 ] &&
        on_terminal --width 95 "$tmp/long" && [ "$(widest "$tmp/terminal")" -le 95 ]
}

try "text is as wide as was asked, as COLUMNS, or as it takes" long_names
try "colour is only where it was asked for" colours
try "on a terminal there is colour, unless NO_COLOR is set" terminal_colours
try "on a terminal no line is longer than it" terminal_width

# ── Output ───────────────────────────────────────────────────────────────────────────

goes_to_a_file()
{
    tallytree report --csv "$tmp/rec" >"$tmp/one" &&
        tallytree report --csv -o "$tmp/two" "$tmp/rec" >"$tmp/out" && [ ! -s "$tmp/out" ] &&
        cmp "$tmp/one" "$tmp/two" && tallytree report --csv -o - "$tmp/rec" | cmp - "$tmp/one" &&
        tallytree report --csv --output=/dev/stdout "$tmp/rec" | cmp - "$tmp/one"
}

# Nobody sees half a file: what was there stays until the new one is whole.
keeps_what_was_there()
{
    mkdir -p "$tmp/folder" && echo old >"$tmp/folder/out" &&
        ! tallytree report -o "$tmp/folder/out" "$tmp/torn" && ! tallytree report --slct x -o "$tmp/folder/out" "$tmp/rec" &&
        [ "$(cat "$tmp/folder/out")" = old ] && tallytree report --force -o "$tmp/folder/out" "$tmp/rec" &&
        [ "$(ls "$tmp/folder")" = out ]
}

# The target of a link is written, in the same way, and the link stays.
follows_links()
{
    ln -s out "$tmp/folder/link" && tallytree report --csv -o "$tmp/folder/link" "$tmp/rec" &&
        [ -L "$tmp/folder/link" ] && [ ! -L "$tmp/folder/out" ] && cmp "$tmp/one" "$tmp/folder/out" &&
        [ "$(cd "$tmp/folder" && echo *)" = "link out" ]
}

cannot_be_written()
{
    ! tallytree report -o "$tmp/no/such/folder" "$tmp/rec" && ! tallytree report -o "$tmp" "$tmp/rec" &&
        ! tallytree report "$tmp/rec" >/dev/full
}

# Larger than a pipe holds.
closed_pipe()
{
    awk 'BEGIN { for (i = 0; i < 20000; i++) print "push block" i "\ntick 1\npop" }' >"$tmp/events"
    tallytree replay -o "$tmp/large" "$tmp/events" || return
    tallytree report --limit all "$tmp/large" 2>"$tmp/err" | head -n 1 >"$tmp/out"
    [ "${PIPESTATUS[*]}" = "0 0" ] && [ -s "$tmp/out" ] && [ ! -s "$tmp/err" ]
}

try "output goes to a file, or to standard output" goes_to_a_file
try "a file is whole or as it was" keeps_what_was_there
try "a link stays one" follows_links
try "what cannot be written is complained of" cannot_be_written
try "a reader that has seen enough is no error" closed_pipe

# ── Pages ────────────────────────────────────────────────────────────────────────────

layouts()
{
    sed -n 's/^    {"\([a-z]*\)", ".*/\1/p' layouts/layouts.c
}

pages_fit()
{
    local layout
    for layout in $(layouts); do
        tallytree report "$layout" --help >"$tmp/page" && cat "$tmp/page" &&
            grep -q "^usage: tallytree report $layout " "$tmp/page" &&
            [ "$(wc -l <"$tmp/page")" -le 40 ] && [ "$(wc -L <"$tmp/page")" -le 80 ] || return
    done
}

# not_in_the_page - views and layouts that the man page does not have.
not_in_the_page()
{
    local word
    for word in $(tallytree --complete report '' | sed 's/\t.*//'); do
        [ "$word" = @files ] || grep -qxF ".B $word" doc/man/tallytree-report.1 || echo "$word"
    done
}

# strangers - words that a view asks for and the query does not know.
strangers()
{
    grep -hoE 'tt_query_other\(q, "[a-z]+"' profile/*.c | grep -oE '"[a-z]+"' | while read -r key; do
        grep -qF "{$key, " profile/views.c || echo "$key"
    done
}

# f runs for 10, and comes back to itself for 5 and for 2.
cat >"$tmp/again" <<'END'
push main
push f
tick 5
push f
tick 3
push f
tick 2
END
returns()
{
    tallytree replay -o "$tmp/again.tt" "$tmp/again" &&
        tallytree report tree --csv "$tmp/again.tt" >"$tmp/tree" || return
    diff <(cut -d, -f 2,8-10 "$tmp/tree") - <<'END2'
depth,calls,average,min
0,0,,
1,1,10,10
2,1,10,10
3,2,3.5,2
END2
}
try "activations that came back by an arc are in the averages of a tree, as in its calls" returns

# Code without a name, whose file is a build-id; and some that has a line.
tallytree replay -o "$tmp/nameless" <<'END'
block libz.so+0x10 module=libz.so file=6f03384c2e3c kind=function offset=16
block libz.so+0x80 module=libz.so file=6f03384c2e3c kind=function offset=128
block f file=f.c line=3
push libz.so+0x10
tick 5
pop
push libz.so+0x80
tick 3
push f
tick 1
END
places() { tallytree report lines --csv --by "$1" "$tmp/nameless" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } $1 == "entry" { print $at["name"], $at["self"] }' | paste -sd ,; }
equal "code without a file stands under its name" "$(places line)" "libz.so+0x10 5,libz.so+0x80 3,f.c:3 1"
equal "by file, too" "$(places file)" "libz.so+0x10 5,libz.so+0x80 3,f.c 1"
equal "--no-header leaves the table" "$(tallytree report flat --no-header "$tmp/rec" | head -1 | grep -c 'self %.*name')" 1
by_name() { tallytree export -o "$tmp/$1" "$tmp/rec" && tallytree export --to "$2" "$tmp/rec" | cmp - "$tmp/$1"; }
try "the output's name says the format" by_name run.folded folded
try "at its beginning, too" by_name callgrind.out.7 callgrind
unknown_name() { ! tallytree export -o "$tmp/run.xyz" "$tmp/rec" 2>"$tmp/said" && [ ! -e "$tmp/run.xyz" ] && grep -q -- --to "$tmp/said"; }
try "a name that says nothing is not enough" unknown_name
sampled_ticks() { printf 'push a\nsample 16\npop\n' | tallytree replay -o "$tmp/ticks" && tallytree report flat --csv "$tmp/ticks" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "average") at = i } $1 == "entry" && at && $at != "" { exit 1 }'; }
try "ticks of samples have no average" sampled_ticks
filtered_coverage() { ! tallytree report flat --fold parse "$tmp/rec" | grep -q 'blocks executed' && tallytree report flat "$tmp/rec" | grep -q 'blocks executed'; }
try "coverage is that of the program, and not of what filters leave" filtered_coverage

# Two functions of one name are two, in whatever file they are.
cat >"$tmp/namesakes" <<'END'
events: Ir
ob=libx.so
fl=list.c
fn=append
10 5
fl=text.c
fn=append
10 30
fn=main
1 1
cfi=list.c
cfn=append
calls=2 10
1 5
cfi=text.c
cfn=append
calls=3 10
1 30
END
names() { tallytree report "$@" "$tmp/namesakes" | grep -o '[a-z]* ([a-z.:]*)$\|main$' | paste -sd ,; }
figures() { tallytree report flat --csv "$@" "$tmp/namesakes" | column self | paste -sd ' '; }
notes() { tallytree report "$@" "$tmp/namesakes" | grep -- "$said"; }
equal "blocks of one name show what tells them apart" "$(names flat)" \
    "append (libx.so:text.c),append (libx.so:list.c),main"
equal "so do callers and callees" "$(names graph --block main)" \
    "main,append (libx.so:text.c),append (libx.so:list.c)"
said="filter: 'append' is 2 blocks: libx.so:list.c:append#[0-9a-f]*, libx.so:text.c:append#[0-9a-f]*$"
try "a filter says that a name is that of several blocks" notes flat --exclude append
id=$(tallytree report flat --exclude append "$tmp/namesakes" | grep -o '[^:]*append#[0-9a-f]*$')
equal "one of them is excluded alone" "$(figures --exclude "$id")" "5 1"
silent_of() { ! tallytree report flat --select main "$tmp/namesakes" | grep -q "is . blocks"; }
try "a name of one block is not remarked on" silent_of

try "each layout has a page that fits a screen" pages_fit
none "the man page has every view and layout" not_in_the_page
none "each word of a view is known to the query" strangers
finish
