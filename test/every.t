#!/bin/bash
# SPDX-License-Identifier: MIT
# If each N-th activation is timed, the times in reports agree with arithmetic on the program's
# own clock.
. "$(dirname "$0")/tap.sh"

# Each call of one function takes as long as any other, so that no estimate has an error.
cat >"$tmp/steady.c" <<'END_C'
#include "tallytree.h"
#include <stdio.h>
#include <stdlib.h>

static tt_block block(const char *name)
{
    return tt_block_get(name, "", 0, TT_KIND_BLOCK);
}

static void countdown(tt_block count, int n)
{
    tt_mark mark = tt_push(count);

    tt_tick(7);
    if (n > 1)
        countdown(count, n - 1);
    tt_pop(mark);
}

int main(int argc, char **argv)
{
    char options[500];
    tt_block run = block("run"), parse = block("parse"), read = block("read"),
             count = block("countdown");
    tt_mark all, mark, inner;

    snprintf(options, sizeof options, "%s,clock=caller,output=%s", argv[1], argv[2]);
    if (argc != 3 || tt_start(options) != 0)
        return 1;
    all = tt_push(run);
    for (int i = 0; i < 100; i++) {
        mark = tt_push(parse);
        tt_tick(10);
        for (int j = 0; j < 2; j++) {
            inner = tt_push(read);
            tt_tick(3);
            tt_pop(inner);
        }
        tt_pop(mark);
    }
    countdown(count, 50);
    tt_tick(5);
    tt_pop(all);
    return tt_stop() != 0;
}
END_C
cc -Iinclude -o "$tmp/steady" "$tmp/steady.c" -L"$TT_BUILD" -ltallytree \
    -Wl,-rpath,"$TT_BUILD" || { echo "Bail out! it does not compile"; exit 1; }

# times OPTIONS PROGRAM - NAME SELF INCLUSIVE of each block, in ticks.
times()
{
    rm -f "$tmp/file"
    "$tmp/${2:-steady}" "$1" "$tmp/file" &&
        "$TT_BUILD/tallytree" report flat --metric ticks --csv "$tmp/file" |
        python3 -c '
import csv, sys
for row in sorted(csv.DictReader(sys.stdin), key=lambda row: row["name"]):
    if row["role"] == "entry":
        print(row["name"], row["self"], row["inclusive"])'
}

want='countdown 350 350
parse 1000 1600
read 600 600
run 5 1955'
for every in 2 4 64; do
    equal "times are right where one in $every is timed" "$(times "every=$every")" "$want"
done
equal "and where recursion is not cut" "$(times every=4,recursion=none)" "$want"
equal "times are those of exact times" "$(times exact)" "$want"

"$tmp/steady" every=4 "$tmp/other"
try "a report says that times are estimates" \
    grep -q "^estimated: one in 4 activations of a block was timed" \
    <("$TT_BUILD/tallytree" report flat --metric ticks "$tmp/other")

# One call of a hundred takes long, and is timed: estimated, all 25 that are like it do.
sed -e 's/tt_tick(3)/tt_tick(i == 3 \&\& j == 1 ? 1000 : 1)/' -e 's/tt_tick(10)/(void)0/' \
    -e 's/countdown(count, 50)/(void)countdown/' "$tmp/steady.c" >"$tmp/uneven.c"
cc -w -Iinclude -o "$tmp/uneven" "$tmp/uneven.c" -L"$TT_BUILD" -ltallytree -Wl,-rpath,"$TT_BUILD"
equal "callees take no longer than their caller" \
    "$(times every=4 uneven | awk '{ print $1, $3 }')" "$(printf 'parse 1204\nread 1204\nrun 1204')"
finish
