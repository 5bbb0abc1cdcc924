#!/bin/bash
# SPDX-License-Identifier: MIT
# `tallytree top`: what it shows, its keys, and the terminal that it gives back.
. "$(dirname "$0")/tap.sh"
build=$(realpath "${TT_BUILD:-build}")
PATH=$build:$PATH
unset COLUMNS NO_COLOR
export TERM=xterm
mkfifo "$tmp/words"
writer=
trap 'kill -9 $writer 2>/dev/null; rm -rf "$tmp"' EXIT

# main ─┬─ parse ─── alloc 5      ticks; in all 30
#       ├─ run 2 ─┬─ alloc 4
#       │         └─ gc 10 ── alloc 1
#       └─ print 8
cat >"$tmp/events" <<'END'
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
pop
pop
strand h*lper
push help
push alloc
count bytes 7
END
tallytree replay -o "$tmp/rec" "$tmp/events" || exit

# in_terminal STEP... -- ARGS... - see terminal.py.
in_terminal()
{
    local steps=()
    while [ "$1" != -- ]; do
        steps+=("$1")
        shift
    done
    shift
    python3 test/terminal.py "${steps[@]}" -- tallytree top "$@"
}

# ── Without a terminal ───────────────────────────────────────────────────────────────

# is_report VIEW FLAGS... - the table is that of report, byte by byte.
is_report()
{
    local view=$1 form
    shift
    for form in --json --csv; do
        tallytree report "$view" "$form" "$@" "$tmp/rec" >"$tmp/right" || return
        tallytree top -n 1 --view "$view" "$form" "$@" "$tmp/rec" | cmp - "$tmp/right" || return
    done
    tallytree report "$view" "$@" "$tmp/rec" | sed '1,/^$/d' >"$tmp/right"
    tallytree top --view "$view" "$@" "$tmp/rec" | sed '1,/^$/d' | diff "$tmp/right" - &&
        [ -s "$tmp/right" ]
}

# order NAMES FLAGS... - of the rows, from the top.
order()
{
    local names=$1
    shift
    tallytree top --csv "$@" "$tmp/rec" | awk -F, '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        NR > 1 && $1 == "entry" { print $at["name"] }' | paste -sd ' ' >"$tmp/order"
    cat "$tmp/order"
    [ "$(cat "$tmp/order")" = "$names" ]
}

# fails WITH ARGS... - exit status 2, a reason, and nothing else.
fails()
{
    local with=$1
    shift
    tallytree top "$@" >"$tmp/out" 2>"$tmp/err"
    [ $? -eq 2 ] && cat "$tmp/err" && [ ! -s "$tmp/out" ] && [ "$(wc -l <"$tmp/err")" = 1 ] &&
        grep -q "^tallytree: .*$with" "$tmp/err"
}

# A program that ends while top shows it ends top without an error.
is_left_alone()
{
    timeout -k 5 500 tallytree top -n 1000000 -i 0.05 --json "$1" | head -c 1 >/dev/null
    [ "${PIPESTATUS[*]}" = "0 0" ]
}

says_state()
{
    tallytree top "$tmp/rec" | head -n 1 | tee "$tmp/said"
    grep -qx 'tallytree top  tallytree  ended  2 strands' "$tmp/said"
}

for view in flat tree strands callers graph; do
    try "what it prints is report $view" is_report "$view"
done
try "under filters too" is_report flat --exclude gc --fold parse -m ticks
try "and with a limit" is_report tree --limit 3 --depth 2
try "a line says what it is, and that it has ended" says_state
try "an ended one is printed once, however many looks were asked for" \
    sh -c "[ \"\$(tallytree top -n 9 -i 9 '$tmp/rec' | grep -c '^tallytree top')\" = 1 ]"
try "sorted by self where nothing is new" order 'alloc gc print run help main parse'
try "sorted by inclusive" order 'main run gc alloc print parse help' --sort inclusive
try "sorted by calls" order 'alloc gc help main parse print run' --sort calls
try "a tree's parts are sorted, too" order '[root] help alloc main parse alloc print run alloc gc alloc' \
    --view tree --threshold 0 --sort -inclusive
try "a folder of recordings is one" \
    sh -c "mkdir '$tmp/folder' && cp '$tmp/rec' '$tmp/folder/a' && cp '$tmp/rec' '$tmp/folder/b' &&
        tallytree top --csv '$tmp/folder' >'$tmp/one' && tallytree report --csv '$tmp/folder' | cmp - '$tmp/one'"
try "-o writes it to a file" sh -c "tallytree top --csv -o '$tmp/file' '$tmp/rec' &&
    tallytree report --csv '$tmp/rec' | cmp - '$tmp/file'"
try "a missing file is a failure" fails 'No such file' "$tmp/nothing"
try "so is a file of another kind" fails '' "$0"
try "so is no file" fails 'wants a recording'
try "so is a file beside -p" fails 'wants a recording' -p $$ "$tmp/rec"
try "so is a file beside -a" fails 'wants a recording' -a "$tmp/rec"
try "so is -p beside -a" fails 'wants a recording' -a -p $$
try "so is a process that is not there" fails 'process 2147483647: there is no such process' -p 2147483647
try "so is one that writes none" fails "process $$ is not recorded in-process; if 'tallytree record -p $$' records it, give the PID of that command" -p $$
try "so is a metric that is not there" fails "there is no metric 'parsecs'" -m parsecs "$tmp/rec"
try "so is a view" fails "there is no view 'fla'; did you mean 'flat'" --view fla "$tmp/rec"
try "so is a column" fails "there is no column 'slef'; did you mean 'self'" --sort slef "$tmp/rec"
try "so is a pattern" fails '' --select '/(/' "$tmp/rec"
try "so is an interval that is none" fails "'--interval' wants seconds" -i nan "$tmp/rec"
try "so is part of a process" fails "'--pid' wants the number of a process" -p 1.5
try "so are no looks" fails "'--looks' wants a number" -n 0 "$tmp/rec"
try "so is a full disk" sh -c "tallytree top '$tmp/rec' >/dev/full; [ \$? = 2 ]"

# ── Keys ─────────────────────────────────────────────────────────────────────────────

try "the order follows keys" in_terminal 'see ended.* alloc\n.* print\n.* run$' \
    'send i' 'see by inclusive.* main\n.* run\n.* gc\n' 'send c' 'see by calls.* alloc\n.* gc\n.* help\n' \
    'send s' 'see by self.* alloc\n.* gc\n.* print\n' 'send N' 'see by inclusive.* main\n' \
    'send n' 'see  flat\n.* alloc\n.* gc\n' 'send q' 'exit 0' same -- "$tmp/rec"
try "v shows the tree, the strands, and the blocks again" in_terminal 'see  flat' 'send v' \
    'see  tree.*^[^\n]* {2}main$.* {6}gc$' 'send v' 'see  strands.* strand$.* h.lper$' 'send v' \
    'see  flat.* print$' 'send q' 'exit 0' same -- "$tmp/rec"
try "m looks at the next metric" in_terminal 'see  flat\n' 'send m' 'see  flat  bytes\n.* 7 [^\n]* total' \
    'send m' 'see  flat  calls\n.* 10 [^\n]* total' 'send m' 'see  flat  ticks\n.* 30 [^\n]* total' \
    'send q' 'exit 0' same -- "$tmp/rec"
try "what there is no column for is said, and the table stays" in_terminal 'see  flat\n' \
    'send c' "see there is no column 'calls' to sort by\n.* alloc$" 'send q' 'exit 0' same -- -m calls "$tmp/rec"
try "] and [ go from strand to strand" in_terminal 'see  flat\n.* help$' \
    'send ]' 'see  name:h\[\*\]lper\n.* help\n.* 0 [^\n]* total' 'send ]' 'see  flat  name:main\n(?!.* help\n).* 30 [^\n]* total' \
    'send ]' 'see  flat\n.* help$' 'send [' 'see name:main\n.* 30 [^\n]* total' 'send [' 'see name:h.*lper\n' \
    'send q' 'exit 0' same -- "$tmp/rec"
try "/ keeps the paths that contain what is typed" in_terminal 'see  print$' 'send /gx' 'see ^/gx_' \
    'send \x7f' 'see ^/g_' 'send c\r' 'see  /gc/\n(?!.* print\n).* 11 [^\n]* total' 'send /nothing\x1b' \
    'see  /gc/\n' 'send /\r' 'see  flat\n.* print$' 'send q' 'exit 0' same -- "$tmp/rec"
try "q and space are typed, too" in_terminal 'send /q ' 'see ^/q _' 'send \x1b' 'see ^q quit' \
    'send q' 'exit 0' same -- "$tmp/rec"
try "what is no pattern is said, and not taken" in_terminal 'send /gc\r' 'see  /gc/\n' 'send /(\r' \
    'see  /gc/\n[^\n]*\(.* gc$' 'send q' 'exit 0' same -- "$tmp/rec"
try "space pauses, and goes on" in_terminal 'send  ' 'see PAUSED' 'send  ' \
    'see ended((?!PAUSED).)*\n' 'send q' 'exit 0' same -- "$tmp/rec"
try "rows that do not fit are scrolled to" in_terminal 'resize 6 80' 'see lines 1-3 of \d+\n.* print$' \
    'send \x1b[B\x1b[B\x1b[B' 'see lines 2-4 of' 'send \x1b[6~' 'see lines 5-7 of' \
    'send \x1bOA\x1bOA\x1bOA' 'see lines 4-6 of' \
    'send \x1b[F' 'see lines (\d+)-\d+ of.* of 7$' 'send \x1b[H' 'see lines 1-3 of' 'resize 40 80' \
    'see self %.* parse$.* total' 'send q' 'exit 0' same -- "$tmp/rec"
try "return shows the callers and the callees of the first row's function, escape the table again" in_terminal \
    'see return callers.* alloc\n' 'send \r' 'see block  alloc\n.*escape back.* gc\n.* run\n.* parse\n.* alloc\n.*\[all else\]' \
    'send \x1b' 'see  flat\n.* print\n' 'send q' 'exit 0' same -- "$tmp/rec"
try "and those of a row that arrows have chosen, from caller to caller" in_terminal 'see alloc\n' \
    'send \x1b[B\r' 'see block  gc\n.* run\n.* gc\n.* alloc\n' 'send \r' 'see block  run\n.* main\n.* run\n' \
    'send \r' 'see block  main\n' 'send \x7f' 'see  flat\n' 'send q' 'exit 0' same -- "$tmp/rec"
try "a row can be chosen in another order" in_terminal 'see alloc\n' 'send i' 'see by inclusive.* main\n' \
    'send \x1b[B' 'see  by inclusive' 'send \r' 'see block  run\n' 'send v' 'see  flat' 'send q' 'exit 0' same -- "$tmp/rec"
try "return on a strand shows its functions, escape all strands" in_terminal 'see  flat\n.* help$' \
    'send v' 'see  tree' 'send v' 'see  strands.* main$' 'send \r' 'see flat  pid:\d+\n' \
    'send \x1b' 'see  flat\n.* help$' 'send q' 'exit 0' same -- "$tmp/rec"
try "return on a sum shows nothing else" in_terminal 'see  flat\n.* total' 'send \x1b[F\r' 'see  flat\n' \
    'send q' 'exit 0' same -- "$tmp/rec"
try "a screen of one line has the first" in_terminal 'resize 1 20' 'see ^tallytree top[^\n]*$' \
    'send q' 'exit 0' same -- "$tmp/rec"
try "NO_COLOR is heeded" sh -c "NO_COLOR=1 python3 test/terminal.py plain 'see alloc' 'send q' 'exit 0' same -- \
    tallytree top '$tmp/rec' && python3 test/terminal.py colored 'send q' 'exit 0' same -- tallytree top '$tmp/rec'"
try "a terminal that can do nothing gets text" sh -c \
    "TERM=dumb python3 test/terminal.py 'shown total' 'exit 0' -- tallytree top '$tmp/rec'"

# ── The terminal ─────────────────────────────────────────────────────────────────────

try "q gives the terminal back" in_terminal 'see ended' other 'send q' 'exit 0' same -- "$tmp/rec"
try "so does ctrl-c" in_terminal 'see ended' other 'send \x03' 'exit 0' same -- "$tmp/rec"
try "so does ctrl-c while a pattern is typed" in_terminal 'send /a' 'see ^/a_' 'send \x03' 'exit 0' same -- "$tmp/rec"
for name in SIGTERM SIGHUP SIGQUIT SIGSEGV SIGABRT; do
    try "so does $name" in_terminal 'see ended' other "signal $name" "killed $name" same -- "$tmp/rec"
done
try "so does ctrl-z, until it goes on" in_terminal 'see ended' 'send \x1a' stopped same \
    continue 'see ended' other 'send v' 'see tree' 'send \x1a' stopped same \
    continue 'see tree' other 'send q' 'exit 0' same -- "$tmp/rec"
try "it takes its settings again after SIGSTOP" in_terminal 'see ended' 'signal SIGSTOP' stopped \
    continue other 'see ended' 'send q' 'exit 0' same -- "$tmp/rec"
try "a missing file leaves it alone" in_terminal 'exit 2' -- "$tmp/nothing"

# ── While it is written ──────────────────────────────────────────────────────────────

"$build/examples/wordtree" "output=$tmp/live" <"$tmp/words" >/dev/null 2>&1 &
writer=$!
exec 9>"$tmp/words"

# say N - so many words more.
say()
{
    yes word | head -n "$1" >&9
}

# calls N - does report see so many calls of insert?  Waits until it does.
calls()
{
    local patience=600
    while [ $((patience--)) -gt 0 ]; do
        tallytree report flat --csv --limit all "$tmp/live" >"$tmp/flat" 2>&1
        python3 - "$1" "$tmp/flat" <<'END' && return
import csv, sys
sys.exit(not any(r["name"] == "insert" and r["calls"] == sys.argv[1] for r in csv.DictReader(open(sys.argv[2]))))
END
        sleep 0.1
    done
    cat "$tmp/flat"
    return 1
}

# Looks from here to its end: each has by how much a figure has grown, and the sums are right.
cat >"$tmp/sums.py" <<'END'
import json, sys

decoder, text, looks = json.JSONDecoder(), sys.stdin.read(), []
while text.strip():
    table, end = decoder.raw_decode(text)
    text = text[end:].lstrip()
    keys = [c["key"] for c in table["columns"]]
    looks.append({r["values"][keys.index("name")]: dict(zip(keys, r["values"])) for r in table["rows"]})
    total = [r for r in table["rows"] if r["role"] == "total"][0]
    assert total["values"][keys.index("self")] == sum(
        r["values"][keys.index("self")] for r in table["rows"] if r["role"] in ("entry", "remainder"))
running = [l for l in looks if "self_since" in l["insert"]]
assert len(looks) > 3 and len(running) == len(looks) - 2, (len(looks), len(running))
for name in ("insert", "read_word", "total"):
    figure = looks[0][name]["self"]
    for look in running:
        figure += look[name]["self_since"]
        assert figure == look[name]["self"], (name, figure, look[name])
    assert looks[-1][name]["self"] >= figure
    assert any(look[name]["self_rate"] > 0 for look in running), name
assert looks[-1]["insert"]["self"] == 1167, looks[-1]["insert"]
END

add_up()
{
    tallytree top --json -m calls -i 0.05 -p "$writer" >"$tmp/looks" 9>&- &
    local top=$! i
    for ((i = 1; i <= 5; i++)); do
        say 200
        calls $((167 + i * 200)) || return
        # so that it has seen this before there is more
        local looks patience=600
        looks=$(grep -c '^{' "$tmp/looks")
        while [ "$(grep -c '^{' "$tmp/looks")" -lt $((looks + 2)) ] && [ $((patience--)) -gt 0 ]; do
            sleep 0.05
        done
    done
    exec 9>&-
    reap "$top" || return
    python3 "$tmp/sums.py" <"$tmp/looks"
}

say 100
try "a running program writes its recording" calls 100
try "its figures are those of report" in_terminal 'see running.* 100 +([0-9.]+ +)?insert$' \
    'send q' 'exit 0' same -- -i 0.1 "$tmp/live"
try "they grow while one looks" in_terminal 'see running.* 100 +([0-9.]+ +)?insert$' \
    "run yes word | head -n 50 >$tmp/words" 'see running.* 150 +([0-9.]+ +)?insert$' \
    'send q' 'exit 0' same -- -i 0.1 "$tmp/live"
try "what comes between two looks is seen by itself" in_terminal 'see now/s.* 150 [^\n]* insert$' \
    "run yes word | head -n 10 >$tmp/words" 'saw ^ *[1-9][0-9.]* [^\n]* 160 [^\n]* insert$' \
    'see ^ *0.000 [^\n]* 160 [^\n]* insert$' 'send q' 'exit 0' same -- -m calls -i 0.5 "$tmp/live"
try "a pause shows what was there before it" in_terminal 'see 160 [^\n]* insert$' 'send  ' 'see PAUSED' \
    "run yes word | head -n 7 >$tmp/words" 'run sleep 0.5' 'send s' 'see by self.* 160 [^\n]* insert$' 'send  ' \
    'see 167 [^\n]* insert$' 'send q' 'exit 0' same -- -m calls -i 0.1 "$tmp/live"
try "-p finds it by its process" in_terminal 'see wordtree  running.*insert$' 'send q' 'exit 0' \
    same -- -p "$writer"
try "-p prints it once, too" tallytree top -n 1 -p "$writer"
try "a block that is busy for long is busy at each look" sh -c "
    tallytree top --csv -n 2 -i 0.5 '$tmp/live' | awk -F, '\$1 == \"role\" { for (i = 1; i <= NF; i++) at[\$i] = i }
        \$at[\"name\"] == \"read_word\" { share = \$at[\"self_since\"] } END { exit !(share >= 4.9e8) }'"
# The first reading is late: its figures are of the moment when the file was read.
cat >"$tmp/slow.c" <<'END'
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int late(const char *name, const char *path, int flags)
{
    static int is_late;
    int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, name);
    if (!is_late && strcmp(path, getenv("SLOW")) == 0) {
        is_late = 1;
        usleep(1500000);
    }
    return next(path, flags, 0600);
}
int open(const char *path, int flags, ...) { return late("open", path, flags); }
int open64(const char *path, int flags, ...) { return late("open64", path, flags); }
END
is_busy_all_the_time()
{
    cc -D_GNU_SOURCE -shared -fPIC -o "$tmp/slow.so" "$tmp/slow.c" -ldl &&
        LD_PRELOAD=$tmp/slow.so SLOW=$tmp/live tallytree top -n 2 -i 2 "$tmp/live" >"$tmp/late.txt" &&
        awk '$1 == "now" { n = 1 } n && $NF == "read_word" { busy = $1 } END { exit !(busy > 60) }' "$tmp/late.txt" ||
        { cat "$tmp/late.txt"; return 1; }
}
try "a late reading does not make a busy block idle" is_busy_all_the_time
try "who reads it may go away" is_left_alone "$tmp/live"
try "what all looks saw adds up, and the end is said" add_up
writer=

# The program ends when it has been read, and before it is asked whether it is still there.
cat >"$tmp/late.c" <<'END'
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
int gethostname(char *name, size_t size)
{
    int (*next)(char *, size_t) = (int (*)(char *, size_t))dlsym(RTLD_NEXT, "gethostname");
    close(open(getenv("ASKED"), O_CREAT | O_WRONLY, 0600));
    while (access(getenv("RUNS"), F_OK) == 0)
        usleep(10000);
    return next(name, size);
}
END
ends_late()
{
    cc -D_GNU_SOURCE -shared -fPIC -o "$tmp/late.so" "$tmp/late.c" -ldl || return
    local late=$tmp/words.late writer top
    mkfifo "$late"
    "$build/examples/wordtree" "output=$tmp/ending" <"$late" >/dev/null 2>&1 &
    writer=$!
    exec 8>"$late"
    yes word | head -n 20 >&8
    patiently sh -c "tallytree report flat --csv '$tmp/ending' | grep -q ,insert," || return
    LD_PRELOAD=$tmp/late.so ASKED=$tmp/asked RUNS=/proc/$writer timeout -k 5 500 tallytree top -n 9 -i 0.1 "$tmp/ending" >"$tmp/ended" 8>&- &
    top=$!
    patiently test -e "$tmp/asked" || return
    exec 8>&-
    reap "$writer"
    reap "$top" && head -n 1 "$tmp/ended" && grep -q '^tallytree top  .*wordtree  ended ' "$tmp/ended"
}
try "a program that ends meanwhile has ended" ends_late
"$build/examples/wordtree" "output=$tmp/live" <"$tmp/words" >/dev/null 2>&1 &
writer=$!
exec 9>"$tmp/words"
say 20
try "another run takes its place" calls 20
try "a program that is killed is gone, and its figures stay" in_terminal \
    'see running.* 20 +([0-9.]+ +)?insert$' "run kill -9 $writer" 'see gone.* 20 +([0-9.]+ +)?insert$' \
    'send q' 'exit 0' same -- -i 0.1 "$tmp/live"
reap "$writer" 2>/dev/null
writer=
exec 9>&-
cat >"$tmp/busy.c" <<'END'
#include <unistd.h>
__attribute__((noinline)) static void burn(void)
{
    for (volatile int i = 0; i < 1000000; i++)
        ;
}
int main(void)
{
    char c;
    for (int n = 0; n < 100; n++)
        burn();
    while (read(0, &c, 1) > 0)
        burn();
    return 0;
}
END
gcc -g -O1 -o "$tmp/busy" "$tmp/busy.c" || exit
tallytree record -o "$tmp/busy.tt" -- "$tmp/busy" <"$tmp/words" >/dev/null 2>&1 &
recorder=$!
exec 9>"$tmp/words"
names_native() { tallytree top -n 1 --csv -p "$recorder" >"$tmp/native" && grep -q ',burn,' "$tmp/native"; }
try "native code has names, and what record runs is found by record's number" patiently names_native
exec 9>&-
reap "$recorder"
try "what takes its place begins anew, what is no recording is said" in_terminal \
    'see gone.* insert$' "run echo nothing >$tmp/other && mv $tmp/other $tmp/live" \
    'see gone[^\n]*\n[^\n]*live.* insert$' "run cp $tmp/rec $tmp/other && mv $tmp/other $tmp/live" \
    'see  tallytree  ended.* gc$' 'send q' 'exit 0' same -- -i 0.1 "$tmp/live"
finish
