#!/bin/bash
# SPDX-License-Identifier: MIT
# OCR's macros in unchanged sources, in C and C++: their recordings, and the focus.
. "$(dirname "$0")/tap.sh"

tallytree=$TT_BUILD/tallytree
mkdir "$tmp/profiler"
cp adapters/ocr/profiler.h "$tmp/profiler/"
flags=(-I"$tmp" -Iinclude -O2 -Wall -Wextra -Wshadow -Werror -pthread)
on=(-DOCR_RUNTIME_PROFILER -DPROFILER_KHZ=3400000)
# shellcheck disable=SC2054
libraries=(-L"$TT_BUILD/adapters/ocr" -L"$TT_BUILD" -ltallytree-ocr -ltallytree
    -Wl,-rpath,"$TT_BUILD/adapters/ocr:$TT_BUILD")

try "C builds with the macros" \
    gcc "${flags[@]}" "${on[@]}" test/ocr-source.c -o "$tmp/c" "${libraries[@]}"
try "so does C++" \
    g++ "${flags[@]}" "${on[@]}" -x c++ test/ocr-source.c -o "$tmp/c++" "${libraries[@]}"
try "and clang's C" \
    clang "${flags[@]}" "${on[@]}" -DTT_OCR_PAIRED test/ocr-source.c -o "$tmp/clang" "${libraries[@]}"
try "and without optimisation" \
    gcc "${flags[@]}" -O0 "${on[@]}" test/ocr-source.c -o "$tmp/c0" "${libraries[@]}"

# Off: as if the macros had been taken out by hand.
sed -E -e '/include "profiler/d' -e 's/(START_PROFILE\(\w*\)|(PAUSE|RESUME|EXIT)_PROFILE)//' \
    -e 's/RETURN_PROFILE\((.*)\);?$/return \1;/' test/ocr-source.c >"$tmp/without.c"
none "there is no macro in the other source" grep -n PROFILE[^R] <(grep -v RUNTIME "$tmp/without.c")
tokens() { gcc -x "$1" -I"$tmp" -E -P "$2" | tr -d ' \n' | tr -s ';'; }
for language in c c++; do
    try "off, not one token is left in $language" \
        cmp <(tokens $language test/ocr-source.c) <(tokens $language "$tmp/without.c")
    for source in test/ocr-source.c "$tmp/without.c"; do
        gcc -x $language -I"$tmp" -w -O2 -S -o - "$source" |
            grep -v '^	\.file' >"$tmp/$(basename "$source").s"
    done
    try "nor an instruction" cmp "$tmp/ocr-source.c.s" "$tmp/without.c.s"
done
none "and nothing is linked" sh -c "gcc ${flags[*]} test/ocr-source.c -o $tmp/off && nm $tmp/off | grep -i tt_"

# run PROGRAM PART [WORDS] - records it by the caller's clock; its output is in $tmp/said.
run()
{
    rm -f "$tmp/rec"
    { TALLYTREE_OCR="output=$tmp/rec,clock=caller${3:+,$3}" "$tmp/$1" "$2" >"$tmp/said"; } 2>"$tmp/err"
}

# table FLAGS... - the flat profile: a line of name, calls, total, self for each scope.
table()
{
    "$tallytree" report flat --columns calls,total,self --csv "$@" "$tmp/rec"
}

# contexts - path, calls and self of each context
contexts()
{
    "$tallytree" dump "$tmp/rec" | awk -F'\t' '$1 == "context" && $2 != "[root]" {
        for (i = 3; i <= NF; i++) { split($i, f, "="); v[f[1]] = f[2] }
        print $2, v["calls"] + 0, v["self"] + 0; delete v }' | sort
}

# are WHAT LINE... - the contexts of what was run last are these.
are()
{
    local what=$1
    shift
    printf '%s\n' "$@" | LC_ALL=C sort >"$tmp/want"
    contexts | LC_ALL=C sort >"$tmp/got"
    try "$what" diff "$tmp/want" "$tmp/got"
}

chain()
{
    run $1 chain
    equal "$1: the program does what it does" "$(cat "$tmp/said")" 1
    are "$1: the chain" 'A 1 1' 'A;B 1 2' 'A;B;A 1 4' 'A;B;A;C 1 8' 'A;B;A;C;A 1 16'
    equal "$1: OCR's figures of it" \
        "$("$tallytree" report ocr "$tmp/rec" | grep 'A R \[1\]' | head -1 | tr -s ' ')" \
        "67.74 31.000000 21.000000 3 25.000000 6.480741 A R [1]"
}
for program in c c++ clang c0; do
    [ $program = clang ] || chain $program
    run $program pauses
    are "$program: what runs within a pause is nobody's time" \
        'grandparent 1 3' 'grandparent;forgets 1 1' 'grandparent;parent 1 8' 'grandparent;parent;child 1 0'
    run $program jumps
    equal "$program: jumps end well" $? 0
done
run c jumps
are "a jump over a scope, and out of many" 'jumps 1 4' 'jumps;catcher 1 0' \
    'jumps;catcher;helper 1 100' 'jumps;catcher;helper;api_EventCreate 1 10' \
    'jumps;catcher;helper;api_EventCreate;hal_send 1 1' 'jumps;catcher;thrower 1 1' \
    'jumps;catcher;thrower;thrower 1 1' \
    'jumps;catcher;thrower;thrower;thrower 1 1' 'jumps;catcher;thrower;thrower;thrower;thrower 1 2' 'jumps;jumped 2 2'
run c direct
"$tallytree" report ocr --all-calls "$tmp/rec" | grep ' D ' | head -1 | tr -s ' ' >"$tmp/out"
equal "five direct calls of itself are one; their number is known" \
    "$(awk '{ print $2, $3, $4, $7 }' "$tmp/out")" "415.000000 415.000000 1 5"
run c deep recursion=edge
equal "ten thousand scopes within each other" "$(cat "$tmp/said")" 0
are "each is counted" 'odd 1 1' 'odd;even 5000 5000' 'odd;even;odd 5000 5000'

# The focus.
worker=('worker 1 10000' 'worker;hal_send 1 1' 'worker;userCode 1 1000'
    'worker;userCode;api_EventCreate 1 10' 'worker;userCode;api_EventCreate;hal_send 1 1'
    'worker;userCode;helper 1 100' 'worker;userCode;helper;api_EventCreate 1 10'
    'worker;userCode;helper;api_EventCreate;hal_send 1 1' 'worker;api_EventCreate 1 10'
    'worker;api_EventCreate;hal_send 1 1')
run c worker
are "without a focus all is there" "${worker[@]}"
run c worker focus=userCode
are "a focus" 'userCode 1 1000' 'userCode;api_EventCreate 1 10' \
    'userCode;api_EventCreate;hal_send 1 1' 'userCode;helper 1 100' \
    'userCode;helper;api_EventCreate 1 10' 'userCode;helper;api_EventCreate;hal_send 1 1'
run c worker focus=userCode,other
are "the rest in one scope" 'EVENT_OTHER 1 10012' 'EVENT_OTHER;userCode 1 1000' \
    'EVENT_OTHER;userCode;api_EventCreate 1 10' 'EVENT_OTHER;userCode;api_EventCreate;hal_send 1 1' \
    'EVENT_OTHER;userCode;helper 1 100' 'EVENT_OTHER;userCode;helper;api_EventCreate 1 10' \
    'EVENT_OTHER;userCode;helper;api_EventCreate;hal_send 1 1'
run c worker focus=userCode,depth=0
are "depth 0: the focus alone" 'userCode 1 1122'
run c worker focus=userCode,depth=1
are "depth 1: and what it calls" 'userCode 1 1000' 'userCode;api_EventCreate 1 11' 'userCode;helper 1 111'
run c worker focus=userCode,depth=1,other
are "depth is counted from the focus" 'EVENT_OTHER 1 10012' 'EVENT_OTHER;userCode 1 1000' \
    'EVENT_OTHER;userCode;api_EventCreate 1 11' 'EVENT_OTHER;userCode;helper 1 111'
run c worker "focus=userCode ignore-rt rt=hal_*:api_*"
are "a runtime's scopes within a runtime's are ignored" 'userCode 1 1000' \
    'userCode;api_EventCreate 1 11' 'userCode;helper 1 100' 'userCode;helper;api_EventCreate 1 11'
run c worker focus=userCode,ignore-rt
are "all are a runtime's, but the focus" 'userCode 1 1000' 'userCode;api_EventCreate 1 11' 'userCode;helper 1 111'
run c worker focus=userCode,ignore-rt,peek=helper
are "and a peek" 'userCode 1 1000' 'userCode;api_EventCreate 1 11' 'userCode;helper 1 100' \
    'userCode;helper;api_EventCreate 1 11'
run c worker focus=userCode,ignore-rt,user=help*:api_*
are "and those that are said to be a user's" 'userCode 1 1000' 'userCode;api_EventCreate 1 10' \
    'userCode;api_EventCreate;hal_send 1 1' 'userCode;helper 1 100' \
    'userCode;helper;api_EventCreate 1 10' 'userCode;helper;api_EventCreate;hal_send 1 1'
run c worker ignore-rt,depth=1
are "depth without a focus" 'worker 1 11134'
run c jumps focus=catcher
are "what a longjmp left is not in the way of a focus" 'catcher 1 0' 'catcher;helper 1 100' \
    'catcher;helper;api_EventCreate 1 10' 'catcher;helper;api_EventCreate;hal_send 1 1' \
    'catcher;thrower 1 1' 'catcher;thrower;thrower 1 1' \
    'catcher;thrower;thrower;thrower 1 1' 'catcher;thrower;thrower;thrower;thrower 1 2'
run c deep focus=odd
equal "a focus at any depth" "$(cat "$tmp/said")" 0
run c chain focus=A,depth=1
are "the focus again is a call like others" 'A 1 1' 'A;B 1 30'

# Cases in which macros could fail.
for end in killed aborts exec; do
    run c $end
    "$tallytree" report ocr "$tmp/rec" >"$tmp/out"
    equal "$end: every thread's figures are there" \
        "$(grep -c '^#### Thread' "$tmp/out") $(sed -n '/TOTAL/,$p' "$tmp/out" | awk '/round/ { print $3, $4; exit }')" "3 60.000000 30"
done
TALLYTREE_OCR="output=$tmp/rec" "$tmp/c" lasts >"$tmp/said"
"$tallytree" report ocr "$tmp/rec" | awk -v range="$(cat "$tmp/said")" '
    BEGIN { split(range, r, " ") }
    / lasts / && !seen++ { good = $2 >= r[1] * 0.99 && $2 <= r[2] * 1.01; print $2, range }
    END { exit !good }' >"$tmp/out"
equal "the clock's frequency is found, within a hundredth" "${PIPESTATUS[1]}" 0
(cd "$tmp" && TALLYTREE_OCR="clock=caller" ./c threads) >/dev/null
equal "a recording without a name says whose it is" "$(find "$tmp" -name "tallytree.c.$(hostname).[0-9]*" | wc -l)" 1
TALLYTREE_OCR="output=$tmp/not,focus=userCode,depth=0" "$tallytree" record -o "$tmp/rec" -- "$tmp/c" worker >/dev/null 2>&1
equal "what the command records it records, in our focus" \
    "$("$tallytree" report flat --csv --metric calls "$tmp/rec" | grep -c '^entry,.*,1,.*\(userCode\|worker\|helper\),') $(find "$tmp" -name not | wc -l)" "1 0"
TALLYTREE_OCR=nonsense "$tmp/c" chain >"$tmp/said" 2>"$tmp/err"
equal "wrong words are told of, and the program runs" "$(cat "$tmp/said") $(grep -c 'TALLYTREE_OCR=nonsense' "$tmp/err")" "1 1"
"$tmp/c" chain >"$tmp/said" 2>"$tmp/err"
equal "without the variable nothing happens" "$(cat "$tmp/said" "$tmp/err") $(find "$tmp" -name 'tallytree.*' | wc -l)" "1 1"

# Mutual recursion: a parser by descent, which counts its calls itself.
cat >"$tmp/parser.c" <<'END'
#include <stdio.h>
#include "profiler/profiler.h"
static unsigned seed = 7, depth;
static unsigned any(unsigned n) { return (seed = seed * 1103515245u + 12345u) / 65536u % n; }
#define ENTER(name) START_PROFILE(name) printf("+ " #name "\n"); tt_tick(3); puts("t 3"); depth++;
#define LEAVE depth--; tt_tick(1); puts("t 1"); puts("-"); EXIT_PROFILE
static void expr(void);
static void primary(void) { ENTER(primary) if (depth < 30 && any(3) == 0) expr(); LEAVE }
static void unary(void) { ENTER(unary) if (depth < 30 && any(5) < 2) unary(); else primary(); LEAVE }
static void term(void) { ENTER(term) do unary(); while (any(4) == 0); LEAVE }
static void expr(void) { ENTER(expr) do term(); while (any(4) == 0); LEAVE }
static void stmt(void)
{
    ENTER(stmt)
    unsigned kind = any(4);
    if (kind < 2 || depth > 20) {
        expr();
    } else if (kind == 2) {
        START_PROFILE(block) puts("+ block"); depth++;
        do stmt(); while (any(3));
        depth--; puts("-"); EXIT_PROFILE
    } else {
        expr();
        stmt();
    }
    LEAVE
}
int main(void)
{
    ENTER(parse)
    for (int i = 0; i < 60; i++)
        stmt();
    LEAVE
    return 0;
}
END
# The log has all time of each scope once, and its self time below a call of itself.
cat >"$tmp/account.py" <<'END'
import collections, sys
stack, total, again = [], collections.Counter(), collections.Counter()
for line in open(sys.argv[1]):
    if line[0] == "+":
        stack.append(line.split()[1])
    elif line[0] == "-":
        stack.pop()
    else:
        ticks, top = int(line.split()[1]), stack[-1]
        for name in set(stack):
            total[name] += ticks
        run = len(stack)
        while run and stack[run - 1] == top:
            run -= 1
        again[top] += ticks * (top in stack[:run])
for name in sorted(total):
    print(name, total[name], again[name])
END
gcc "${flags[@]}" -Wno-shadow -w "${on[@]}" "$tmp/parser.c" -o "$tmp/parser" "${libraries[@]}"
ocr_says()
{
    "$tallytree" report ocr -r "$1" | awk '/TOTAL/ { sum = 1 } /Call-graph/ { sum = 0 }
        sum && /\[[0-9]+\]$/ { r = 0; for (i = 1; i < NF; i++) if ($i ~ /^\[[0-9.]+\]$/) r = substr($i, 2) + 0
            name = $(NF - 1) == "R" ? $(NF - 2) : $(NF - 1); print name, $2 + 0, r }' | sort
}
parsed()
{
    rm -f "$tmp/rec"
    TALLYTREE_OCR="output=$tmp/rec,clock=caller" "$tmp/parser" >"$tmp/log" &&
        python3 "$tmp/account.py" "$tmp/log" >"$tmp/account" && [ "$(wc -l <"$tmp/account")" = 7 ] &&
        ocr_says "$tmp/rec" | diff - "$tmp/account"
}
try "of mutual recursion, each scope has its time once, and its calls of itself" parsed
noted()
{
    rm -f "$tmp/edge"
    TALLYTREE_OCR="output=$tmp/edge,clock=caller,recursion=edge" "$tmp/parser" >"$tmp/log" &&
        "$tallytree" report ocr -r "$tmp/edge" | grep -q '^Note: [0-9]* recursive calls were folded' &&
        ! "$tallytree" report ocr -r "$tmp/rec" | grep -q '^Note:'
}
try "where paths were folded, the report says that times may be wrong" noted

finish
