#!/bin/bash
# SPDX-License-Identifier: MIT
# The engine, the reports and the formats build for WebAssembly, and need nothing there but
# libc.
. "$(dirname "$0")/tap.sh"

# Recordings are read where they are written, on machines with addresses of 64 bits, and
# traces by the runtime; a browser packs and unpacks by itself.
sources=(base/components.c base/index.c base/memory.c base/utf8.c profile/*.c report/*.c formats/*.c)
for not in profile/read-*.c formats/chrome.c formats/events.c formats/formats.c formats/inflate.c formats/pack.c formats/perfdata.c formats/perfdata-packed.c formats/unpack.c; do
    sources=("${sources[@]/$not/}")
done

compile()
{
    local source
    for source in "${sources[@]}"; do
        [ -n "$source" ] || continue
        clang --target=wasm32-wasi -std=gnu11 -D_GNU_SOURCE -O0 -Wall -Wextra -Wconversion \
            -Wshadow -Werror -Iinclude -Ibase -Iprofile -Iruntime -Ireport -Iformats -c "$source" \
            -o "$tmp/${source//\//-}.o" || return
    done
}

link()
{
    clang --target=wasm32-wasi -nostartfiles -Wl,--no-entry -Wl,--strip-all \
        -Wl,--export=tt_profile_open -Wl,--export=tt_query_parse \
        -Wl,--export=tt_filter_apply -Wl,--export=tt_view -Wl,--export=tt_text_json \
        -Wl,--export=tt_format_folded -Wl,--export=tt_pprof_write \
        -Wl,--export=tt_callgrind_write -Wl,--export=tt_format_speedscope \
        -o "$tmp/engine.wasm" "$tmp"/*.o
}

try "every file of profile, report and formats compiles" compile
try "they link with libc alone" link
try "to a module" sh -c "head -c 4 '$tmp/engine.wasm' | od -An -c | grep -q '0   a   s   m'"
finish
