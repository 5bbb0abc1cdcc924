#!/bin/bash
# SPDX-License-Identifier: MIT
# Events become the right contexts: each policy, the arcs, the figures; by hand and against an oracle.
#
#   replay/NAME.events     its first line says what it shows; `# options:` has the flags of replay
#   replay/NAME.expected   lines of the dump, of the same kinds, with blanks for tabs, a _ for
#                          blanks in names, and only the figures that matter.  Contexts and
#                          arcs must be complete and in this order; blocks need not.
. "$(dirname "$0")/tap.sh"
tallytree()
{
    timeout -k 5 500 "${TT_BUILD:-build}/tallytree" "$@"
}

# ── By hand ──────────────────────────────────────────────────────────────────────────

# agrees EXPECTED DUMP - prints where they differ.
agrees()
{
    awk '
        function place(kind) {
            return kind == "arc" ? $2 " " $3 : $2
        }
        FNR == 1 { file++ }
        file == 1 { FS = "\t"; wanted[++lines] = $0; next }
        $1 == "strand" { strand = $2; first = first ? first : $2 }
        $1 == "context" || $1 == "arc" || $1 == "block" {
            key = ($1 == "block" ? "" : strand " ") $1 " " place($1)
            if ($1 != "block")
                order[++n] = key
            for (i = 2; i <= NF; i++)
                if (split($i, word, "=") == 2) {
                    gsub(" ", "_", word[1])
                    figure[key, word[1]] = word[2]
                }
            present[key]
        }
        END {
            strand = first
            m = 0
            for (l = 1; l <= lines; l++) {
                count = split(wanted[l], word, " ")
                if (word[1] == "strand") { strand = word[2]; continue }
                key = (word[1] == "block" ? "" : strand " ") word[1] " " word[2]
                if (word[1] == "arc")
                    key = key " " word[3]
                if (!(key in present)) { print "no " key; continue }
                if (word[1] != "block" && order[++m] != key)
                    print "not " key " but " order[m]
                for (i = word[1] == "arc" ? 4 : 3; i <= count; i++) {
                    split(word[i], pair, "=")
                    if (figure[key, pair[1]] "" != pair[2] "")
                        print key ": not " word[i] " but " figure[key, pair[1]]
                }
            }
            while (++m <= n)
                print "unexpected " order[m]
        }' FS=' ' "$1" "$2"
}

# figures - a dump without what differs from run to run: of strands the name, and all about
# contexts, arcs and blocks.  A strand that did nothing is not worth a line.
figures()
{
    awk -F '\t' '
        function show() {
            if (strand != "" && (children || root !~ /\tself=0\t/))
                print strand root
            strand = ""
            children = 0
        }
        $1 == "recording" { next }
        $1 == "strand" { show(); strand = "strand\t" $3; root = ""; next }
        strand != "" && $2 == "[root]" { root = "\n" $0; next }
        $1 == "context" { children = 1 }
        { show(); print }
        END { show() }'
}

# dumped EVENTS [OPTION...] - leaves the figures of its recording in $tmp/dump.
dumped()
{
    local events=$1
    shift
    tallytree replay "$@" -o "$tmp/recording" "$events" &&
        tallytree dump "$tmp/recording" | figures >"$tmp/dump"
}

shows()
{
    local options
    read -ra options < <(sed -n 's/^# options: //p' "$1.events")
    dumped "$1.events" "${options[@]}" && silent agrees "$1.expected" "$tmp/dump"
}

for events in test/replay/*.events; do
    try "$(sed -n '1s/^# //p' "$events")" shows "${events%.events}"
done

# ── Other input ──────────────────────────────────────────────────────────────────────

# has LINE... - the dump has these lines, as far as they go.
has()
{
    local line
    for line in "$@"; do
        grep -qF -- "$(printf '%b' "$line")" "$tmp/dump" && continue
        echo "no $line in"
        head -n 20 "$tmp/dump" | cut -c 1-200
        return 1
    done
}

reads_standard_input()
{
    printf 'push a\ntick 3\n' | tallytree replay -o "$tmp/recording" "$@" &&
        tallytree dump "$tmp/recording" | figures >"$tmp/dump" && has 'context\ta\tcalls=1\tself=3\t'
}

reads_nothing()
{
    : >"$tmp/events"
    dumped "$tmp/events" && [ "$(head -n 1 "$tmp/dump")" = "tallytree 1" ] &&
        ! grep -q '^block' "$tmp/dump" && ! grep -qE '^context	[^[]' "$tmp/dump"
}

lasts_without_a_newline()
{
    printf 'push a\ntick 3' >"$tmp/events"
    dumped "$tmp/events" && has 'context\ta\tcalls=1\tself=3\t'
}

spells_edge_as_repeat_2()
{
    "$tmp/walk" 77 2000 >"$tmp/events"
    dumped "$tmp/events" --recursion edge && mv "$tmp/dump" "$tmp/edge" &&
        dumped "$tmp/events" --recursion repeat:2 && diff "$tmp/edge" "$tmp/dump"
}

spells_block_as_repeat_1()
{
    "$tmp/walk" 78 2000 >"$tmp/events"
    dumped "$tmp/events" --recursion block && mv "$tmp/dump" "$tmp/block" &&
        dumped "$tmp/events" --recursion repeat:1 && diff "$tmp/block" "$tmp/dump"
}

try "events come from the standard input where no file is given" reads_standard_input
try "or where - is, as everywhere" reads_standard_input -
writes_standard_output()
{
    printf 'push a\ntick 3\n' | (cd "$tmp" && tallytree replay -o -) >"$tmp/recording" &&
        [ ! -e "$tmp/-" ] && tallytree dump "$tmp/recording" | figures >"$tmp/dump" &&
        has 'context\ta\tcalls=1\tself=3\t'
}
try "-o - is standard output, as everywhere" writes_standard_output
try "no events make an empty recording" reads_nothing
try "the last line needs no newline" lasts_without_a_newline

# ── Errors ───────────────────────────────────────────────────────────────────────────

# refuses LINE EVENTS - the error names the line, nothing is left, the status is 2.
refuses()
{
    local status
    rm -f "$tmp/left"
    printf '%b' "$2" >"$tmp/wrong"
    tallytree replay -o "$tmp/left" "$tmp/wrong" >"$tmp/out" 2>"$tmp/err"
    status=$?
    cat "$tmp/out" "$tmp/err"
    [ $status -eq 2 ] && [ ! -s "$tmp/out" ] && [ ! -e "$tmp/left" ] &&
        [ "$(wc -l <"$tmp/err")" -eq 1 ] && grep -qF "tallytree: $tmp/wrong:$1: " "$tmp/err"
}

refuses_options()
{
    local status
    rm -f "$tmp/left"
    tallytree replay "$@" -o "$tmp/left" /dev/null >"$tmp/out" 2>"$tmp/err"
    status=$?
    cat "$tmp/out" "$tmp/err"
    [ $status -eq 2 ] && [ ! -s "$tmp/out" ] && [ ! -e "$tmp/left" ] && [ -s "$tmp/err" ]
}

keeps_what_was_there()
{
    printf 'push a\npush a\n' >"$tmp/events"
    tallytree replay -o "$tmp/kept" "$tmp/events" && cp "$tmp/kept" "$tmp/copy" || return
    printf 'pop\n' >"$tmp/events"
    ! tallytree replay -o "$tmp/kept" "$tmp/events" || return
    [ ! -e "$tmp/kept" ] || cmp "$tmp/kept" "$tmp/copy"
}

try "a pop with nothing open is an error" refuses 2 'tick 1\npop\n'
try "a pop too many is an error" refuses 4 'push a\n# so\npop\npop\ntick 1\n'
try "a replace with nothing open is an error" refuses 1 'replace a\n'
try "another strand's push is not ours to pop" refuses 3 'push a\nstrand b\npop\n'
try "a strand's push is not its fiber's to pop" refuses 3 'push a\nfiber f\npop\n'
try "a resume without a pause is an error" refuses 2 'push a\nresume\n'
try "a resume too many is an error" refuses 3 'pause\nresume\nresume\n'
try "an unknown event is an error" refuses 1 'pusk a\n'
try "an event is written in small letters" refuses 1 'PUSH a\n'
for line in call-kind stacks push replace tick sample count 'count m' capture enter-context strand fiber block; do
    try "'$line' lacks a word" refuses 2 "push a\n$line\n"
done
for line in 'push a b' 'pop a' 'tick 1 2' 'sample 1 2' 'pause 1' 'resume 1' 'replace a b' \
    'count m 1 2' 'capture a b' 'leave-context a' 'strand a b' 'fiber a b'; do
    try "'$line' has a word too many" refuses 4 "pause\npush a\n\n$line\n"
done
for number in x 1x -1 1.5 +1 0x10 18446744073709551616 99999999999999999999 ''\'\'; do
    try "'tick $number' is not a number" refuses 1 "tick $number\n"
done
try "'sample x' is not a number" refuses 1 'sample x\n'
try "'count m x' is not a number" refuses 1 'count m x\n'
try "what was never captured cannot be entered" refuses 1 'enter-context k\n'
try "no context is left that was not entered" refuses 2 'push a\nleave-context\n'
try "an entered context is not left below what is open in it" \
    refuses 4 'capture k\nenter-context k\npush a\nleave-context\n'
try "an entered context is not replaced" refuses 3 'capture k\nenter-context k\nreplace a\n'
try "an entered context is not left by pop" refuses 3 'capture k\nenter-context k\npop\n'
try "a kind of calls that there is not is an error" refuses 1 'call-kind slow\n'
try "a rule that there is not is an error" refuses 2 'push a\nstacks haskell\n'
try "no tail call is made from outside of all blocks" refuses 1 'call-kind tail\n'
try "no tail call is made from a context" \
    refuses 3 'capture k\nenter-context k\ncall-kind tail\n'
try "what a tail call left is not there to be left again" \
    refuses 5 'push a\npush b\ncall-kind tail\npop\npop\n'
try "a block of no known kind is an error" refuses 1 'block a kind=nothing\n'
try "a block of no known property is an error" refuses 1 'block a colour=red\n'
try "a block's line is a number" refuses 1 'block a line=x\n'
try "a fiber is run by one strand at a time" refuses 4 'strand a\nfiber f\nstrand b\nfiber f\n'
try "an error leaves no half a recording in place of one" keeps_what_was_there
for policy in '' edges repeat repeat: repeat:0 repeat:x recent recent:-1 block:1 edge:2; do
    try "--recursion '$policy' is no policy" refuses_options --recursion "$policy"
done
for period in x -1 1.5 ''; do
    try "--period '$period' is no period" refuses_options --period "$period"
done
for budget in x 1 -5 12nodules; do
    try "--budget '$budget' is no budget" refuses_options --budget "$budget"
done

no_such_file()
{
    tallytree replay -o "$tmp/left" "$tmp/no such file" 2>"$tmp/err"
    [ $? -eq 2 ] && grep -q 'no such file' "$tmp/err" && [ ! -e "$tmp/left" ]
}

no_such_folder()
{
    tallytree replay -o "$tmp/no/such/folder" /dev/null 2>"$tmp/err"
    [ $? -eq 2 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ]
}

dump_refuses()
{
    tallytree dump "$1" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && [ "$(wc -l <"$tmp/err")" -eq 1 ] && [ ! -s "$tmp/out" ]
}

try "events that are not there are an error" no_such_file
try "a folder that is not there is an error" no_such_folder
try "dump refuses what is no recording" dump_refuses test/replay.t
says_it_is_a_profile() { dump_refuses test/golden/profile-1.tt && grep -q "this is a profile" "$tmp/err"; }
try "of a profile it says what it is" says_it_is_a_profile
try "dump refuses a file that is not there" dump_refuses "$tmp/no such file"

# ── Period ───────────────────────────────────────────────────────────────────────────

# samples EVENTS N - how many there are with this period.
samples()
{
    dumped "$1" --period "$2" &&
        awk -F '[\t=]' '$1 == "context" { n += $6 } END { print n + 0 }' "$tmp/dump"
}

counts_in_periods()
{
    printf 'push a\nsample 1\nsample 1\npush b\nsample 1\nsample 7\npop\nsample 3\n' \
        >"$tmp/events"
    for period in 1 2 3 4 5 13 14; do
        [ "$(samples "$tmp/events" $period)" -eq $((13 / period)) ] || return
    done
}

carries()
{
    printf 'push a\nsample 2\npush b\nsample 2\npop\nsample 5\n' >"$tmp/events"
    dumped "$tmp/events" --period 3 && awk -F '[\t=]' '
        $1 == "context" { found[$2] = $6 }
        END { exit !(found["a"] == 2 && found["a;b"] == 1) }' "$tmp/dump"
}

repeats()
{
    "$tmp/walk" 5 1000 >"$tmp/events"
    dumped "$tmp/events" --period 7 && mv "$tmp/dump" "$tmp/first" &&
        dumped "$tmp/events" --period 7 && diff "$tmp/first" "$tmp/dump"
}

try "the oracle is built" cc -O2 -Wall -Wextra -Werror -o "$tmp/oracle" test/oracle.c
try "the walk is built" cc -O2 -Wall -Wextra -Werror -o "$tmp/walk" test/walk.c
try "in periods of P there are N/P samples, rounded down" counts_in_periods
try "what is left of a period is carried to the next sample" carries
try "the same events give the same figures" repeats
try "edge is repeat:2" spells_edge_as_repeat_2
try "block is repeat:1" spells_block_as_repeat_1

# ── Size and depth ───────────────────────────────────────────────────────────────────

tail_calls()
{
    awk -v n="$1" 'BEGIN {
        print "push main\npush x"
        for (i = 0; i < n; i++) {
            print "replace " substr("abc", i % 3 + 1, 1)
            print "tick 1"
        }
    }' >"$tmp/events"
    dumped "$tmp/events" --recursion "$2" && grep -cE '^(context|arc)' "$tmp/dump" &&
        stat -c %s "$tmp/recording"
}

do_not_grow()
{
    [ "$(tail_calls 4096 "$1")" = "$(tail_calls 1024 "$1")" ] && tail_calls 4096 "$1" &&
        has 'block\ta\tcalls=1366\tself=1366\t'
}

# sink DEPTH POLICY BLOCKS - as deep as that, then up again, with a tick at each step.
sink()
{
    awk -v n="$1" -v blocks="$3" 'BEGIN {
        for (i = 0; i < n; i++)
            print "push b" i % blocks "\ntick 1"
        for (i = 0; i < n; i++)
            print "pop\ntick 1"
    }' >"$tmp/events"
    dumped "$tmp/events" --recursion "$2" && has "context\t[root]\tcalls=0\tself=1\tsamples=0\ttotal=$((2 * $1))\t"
}

sinks_as_one()
{
    sink 10000 block 1 && has 'context\tb0\tcalls=10000\tself=19999\tsamples=0\ttotal=19999\t' \
        'arc\tb0\tb0\tcalls=9999\t' \
        'activations=10000\tsum=100000000\tmin=1\tmax=19999\tsquare=1333333330000\t'
}

sinks_by_turns()
{
    local policy
    for policy in edge block cycle drop repeat:3 recent:6; do
        sink 10000 $policy 7 || return
        [ "$(awk -F '[\t=]' '$1 == "block" { n += $4 } END { print n }' "$tmp/dump")" -eq 10000 ] || return
    done
}

sinks_without_a_policy()
{
    sink 1500 none 3 && [ "$(grep -c '^context' "$tmp/dump")" -eq 1501 ] &&
        has 'block\tb0\tcalls=500\tself=1000\tinclusive=2999\thidden=0\t'
}

for policy in edge block cycle none; do
    try "4096 tail calls take as much as 1024, under $policy" do_not_grow $policy
done
try "a recursion 10 000 deep is counted to the end" sinks_as_one
try "so is one of seven blocks by turns, under each policy" sinks_by_turns
try "without a policy each level has its context" sinks_without_a_policy

# ── Random walks ─────────────────────────────────────────────────────────────────────

lengths=(50 80 120 200 300 500 800 2000)
walks=${TT_WALKS:-$(for_long 4 10)}
for ((seed = 1; seed <= walks; seed++)); do
    "$tmp/walk" $seed "${lengths[seed % 8]}" >"$tmp/walk.$seed"
done

# dumps POLICY - of all walks, one after the other.
dumps()
{
    local seed
    for ((seed = 1; seed <= walks; seed++)); do
        echo "walk $seed of ${lengths[seed % 8]}"
        "$TT_BUILD/tallytree" replay --recursion "$1" -o "$tmp/walked" "$tmp/walk.$seed" &&
            "$TT_BUILD/tallytree" dump "$tmp/walked" || echo "tallytree ended with $?"
    done
}

truths()
{
    local seed
    for ((seed = 1; seed <= walks; seed++)); do
        echo "walk $seed of ${lengths[seed % 8]}"
        "$tmp/oracle" "$tmp/walk.$seed" --recursion "$1"
    done
}

# walks POLICY - the dumps of all walks are the oracle's.
walks()
{
    dumps "$1" 2>&1 | figures >"$tmp/dump" && truths "$1" | figures >"$tmp/truth" || return
    [ "$(grep -c '^walk' "$tmp/truth")" -eq "$walks" ] || return
    cmp -s "$tmp/truth" "$tmp/dump" && return
    # The walk that differs is the last one named above the difference.
    diff -U 100000 "$tmp/truth" "$tmp/dump" | awk '/^ walk/ { walk = $0 } /^[-+]/ { if (walk) print walk; walk = ""; print }' | head -n 20
    return 1
}

# The total of self is what the clock and the samples gave.
adds_up()
{
    local seed given
    for ((seed = 1; seed <= walks; seed++)); do
        given=$(awk '
            BEGIN { strand = "s0" }
            $1 == "strand" { strand = $2 }
            $1 == "pause" { paused[strand]++ }
            $1 == "resume" { paused[strand]-- }
            ($1 == "sample" || $1 == "tick") && !paused[strand] { n += $2 }
            END { print n + 0 }' "$tmp/walk.$seed")
        dumped "$tmp/walk.$seed" || return
        awk -F '[\t=]' -v given="$given" '
            $1 == "context" { n += $6 }
            END { if (n != given) { print n " of " given; exit 1 } }' "$tmp/dump" || return
    done
}

for policy in edge repeat:1 repeat:2 repeat:3 block cycle drop recent:0 recent:6 none; do
    try "random walks under $policy are as the oracle says" walks $policy
done
try "self times add up to all that went by" adds_up

# ── Budget ───────────────────────────────────────────────────────────────────────────

# bounded BOUNDED TRUTH DUMP - prints where a dump has more than the truth or, if BOUNDED is 1,
# lacks more than it admits.  Blocks must be exact, and contexts above the threshold must be
# there.  If BOUNDED is "self", inclusive figures of blocks need not be exact; if it is "blocks",
# contexts may differ from the truth, too.
bounded()
{
    awk -F '\t' -v bounded="$1" '
        function read(from, i, word) {
            delete figure
            for (i = from; i <= NF; i++)
                if (split($i, word, "=") == 2)
                    figure[word[1]] = word[2]
        }
        FNR == 1 { file++ }
        $1 == "strand" {
            read(4)
            strand = $3
            threshold[strand] = figure["threshold"]
        }
        $1 == "context" {
            read(3)
            key = strand " " $2
        }
        $1 == "context" && file == 1 {
            self[key] = figure["self"]
            total[key] = figure["total"]
            calls[key] = figure["calls"]
            samples[key] = figure["samples"]
            given += figure["self"]
        }
        $1 == "context" && file == 2 {
            found += figure["self"] + figure["elsewhere"]
            if (bounded == "blocks")
                next
            if (!(key in self) && figure["total"] > 0)
                print "never was: " $0
            if (!(key in self))
                next
            if (figure["self"] > self[key])
                print "self is " self[key] ": " $0
            if (figure["calls"] > calls[key] || figure["samples"] > samples[key])
                print calls[key] " calls, " samples[key] " samples: " $0
            if (bounded != 1)
                next
            if (self[key] > figure["self"] + figure["missed"])
                print "self is " self[key] ": " $0
            if (figure["total"] > total[key] || total[key] > figure["total"] + figure["missed"])
                print "total is " total[key] ": " $0
            delete total[key]
        }
        $1 == "block" && $2 !~ /^\[/ {
            read(3)
            line = figure["calls"] " " figure["self"]
            if (bounded != "self" && bounded != "blocks")
                line = line " " figure["inclusive"]
            if (file == 1)
                block[$2] = line
            else if (block[$2] != line)
                print "not " block[$2] ": " $0
            if (file == 2)
                delete block[$2]
        }
        END {
            for (key in total) {
                split(key, word, " ")
                if (bounded == 1 && total[key] > threshold[word[1]])
                    print "lost " total[key] " of " key
            }
            for (name in block)
                print "no block " name
            if (found != given)
                print "self and elsewhere add up to " found " of " given
        }' "$2" "$3"
}

# Blocks that tail calls leave on the path make it longer without a limit.
long_walks=$(for_long 1 3)
for i in $(seq "$long_walks"); do
    "$tmp/walk" $((900 + i)) 20000 12 | sed '/context/d; s/call-kind tail/pop/; /call-kind/d' >"$tmp/shallow.$i"
    "$tmp/walk" $((910 + i)) 10000 200 | sed '/context/d; s/call-kind tail/pop/; /call-kind/d' >"$tmp/deep.$i"
    "$tmp/walk" $((920 + i)) 10000 40 still | grep -v context >"$tmp/tails.$i"
done

# keeps_to DEPTH BOUNDED POLICY
keeps_to()
{
    local i
    for i in $(seq "$long_walks"); do
        tallytree replay --recursion "$3" --budget 640nodes -o "$tmp/small" "$tmp/$1.$i" &&
            tallytree dump "$tmp/small" >"$tmp/dump" &&
            "$tmp/oracle" "$tmp/$1.$i" --recursion "$3" >"$tmp/truth" &&
            bounded "$2" "$tmp/truth" "$tmp/dump" >"$tmp/wrong" && [ ! -s "$tmp/wrong" ] &&
            continue
        echo "$1.$i"
        head -n 20 "$tmp/wrong" | cut -c 1-200
        return 1
    done
}

for policy in edge repeat:3 block cycle drop recent:6 none; do
    try "with 640 nodes under $policy, blocks are exact and contexts as far as they say" \
        keeps_to shallow 1 $policy
    # No frame knows the blocks that a tail call under cycle left on the path, so they are lost
    # if there is no room for the path.
    [ $policy = cycle ] && continue
    try "even when what is open needs more, blocks are exact under $policy" \
        keeps_to deep 0 $policy
    # If a tail call's caller has no room, only the last is known.
    [ $policy = none ] || try "and with tail calls, but for inclusive figures" \
        keeps_to tails self $policy
done

# Captured contexts continue below the remaining part of their path.  Dropped blocks, and the blocks
# that GHC's rule adds, depend on the path; these walks have neither.
captures()
{
    awk -v seed="$1" '
        BEGIN { srand(seed) }
        /^capture / { print "capture k" made++ % 64; next }
        /^enter-context / && made { print "enter-context k" int(rand() * (made < 64 ? made : 64)); next }
        /^stacks ghc$/ { next }
        { print }'
}
contexts=${TT_CAPTURES:-$(for_long 1 3)}
for ((i = 1; i <= contexts; i++)); do
    "$tmp/walk" $((1000 + i)) 20000 $((8 + i % 5 * 8)) | captures $i >"$tmp/contexts.$i"
done

# truth_of I POLICY - what the oracle says of contexts.I, in $tmp/truth.I.POLICY: once for all
# budgets.
truth_of()
{
    [ -s "$tmp/truth.$1.$2" ] || "$tmp/oracle" "$tmp/contexts.$1" --recursion "$2" >"$tmp/truth.$1.$2"
}

# keeps_captured BUDGET POLICY
keeps_captured()
{
    for ((i = 1; i <= contexts; i++)); do
        tallytree replay --recursion "$2" --budget "$1" -o "$tmp/small" "$tmp/contexts.$i" &&
            tallytree dump "$tmp/small" >"$tmp/dump" && truth_of "$i" "$2" &&
            bounded blocks "$tmp/truth.$i.$2" "$tmp/dump" >"$tmp/wrong" && [ ! -s "$tmp/wrong" ] &&
            continue
        echo "contexts.$i"
        head -n 20 "$tmp/wrong" | cut -c 1-200
        return 1
    done
}

metrics=(m0 m1 m2 "strict calls" "tails and returns")
# metrics_of DUMP - each metric by the last block of each context, in $tmp/metric.NAME.
metrics_of()
{
    printf '%s\n' "${metrics[@]}" >"$tmp/metrics"
    awk -v out="$tmp/metric." '
        NR == FNR { all[$0]; next }
        FNR == 1 { FS = "\t"; $0 = $0 }
        $1 == "context" {
            n = split($2, path, ";")
            for (i = 3; i <= NF; i++)
                if (split($i, word, "=") == 2 && word[1] in all)
                    sum[word[1], path[n]] += word[2]
        }
        END {
            for (key in sum)
                if (sum[key]) {
                    split(key, word, SUBSEP)
                    print word[2], sum[key] >(out word[1])
                    total[word[1]] += sum[key]
                }
            for (metric in all)
                print "total", total[metric] + 0 >(out metric)
        }' "$tmp/metrics" "$1"
}

# adds_metrics BUDGET [total] - each block's sums of each metric, or the totals alone, are right.
adds_metrics()
{
    local metric
    for ((i = 1; i <= contexts; i++)); do
        tallytree replay --budget "$1" -o "$tmp/small" "$tmp/contexts.$i" &&
            truth_of "$i" edge && metrics_of "$tmp/truth.$i.edge" || return
        for metric in "${metrics[@]}"; do
            sort "$tmp/metric.$metric" | grep "^${2:-}" >"$tmp/wanted"
            tallytree report flat --metric "$metric" --limit all --csv "$tmp/small" |
                awk -F, 'NR > 1 && ($5 > 0 || $9 == "total") { print $9, $5 }' | sort |
                grep "^${2:-}" >"$tmp/found"
            diff "$tmp/wanted" "$tmp/found" && continue
            echo "contexts.$i $metric"
            return 1
        done
    done
}
try "metrics are their blocks' when contexts are evicted" adds_metrics 2000nodes
try "and their totals are right when there is no room for each block" adds_metrics 256nodes total

for policy in edge repeat:3 block cycle recent:6 none; do
    for budget in 512nodes 256nodes; do
        try "blocks are exact with captured contexts, $budget and $policy" \
            keeps_captured $budget $policy
    done
done

finish
