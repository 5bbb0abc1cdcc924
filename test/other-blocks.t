#!/bin/bash
# SPDX-License-Identifier: MIT
# [other blocks] is in place of blocks of any kind that found no room.  If it has samples, time is
# still one metric.
. "$(dirname "$0")/tap.sh"
PATH=$(realpath "${TT_BUILD:-build}"):$PATH
cat >"$tmp/many.c" <<'END'
#include <stdio.h>
#include <stdlib.h>

#include "tallytree.h"

int main(int argc, char **argv)
{
    char name[200];

    if (argc < 3 || tt_start(argv[1]) != 0)
        return 1;
    for (int i = 0; i < atoi(argv[2]); i++) {
        snprintf(name, sizeof name, "%0150d", i);
        tt_pop((tt_push(tt_block_make(&(struct tt_block_info){
                    .name = name, .kind = TT_KIND_SCOPE})),
                tt_sample(10), tt_mark_get()));
    }
    return tt_stop() != 0;
}
END
gcc -O1 -Iinclude "$tmp/many.c" -o "$tmp/many" -L"$TT_BUILD" -ltallytree "-Wl,-rpath,$(realpath "$TT_BUILD")" || exit
words=scopes=sampled,blocks=exact,clock=caller,budget=128K
"$tmp/many" "$words,output=$tmp/few" 10 && "$tmp/many" "$words,output=$tmp/lots" 3000 || exit
other() { tallytree report flat --limit all "$tmp/lots" | grep -c '%.*\[other blocks\]$'; }
equal "some blocks found no room" "$(other)" 1
tallytree merge -o "$tmp/both.tt" "$tmp/few" "$tmp/lots"
metrics() { tallytree report header --csv "$tmp/both.tt" | grep -o 'metric,"ticks.*'; }
equal "ticks are one metric, with all samples" "$(metrics)" 'metric,"ticks, in ticks, sampled",30100'
finish
