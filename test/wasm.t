#!/bin/bash
# SPDX-License-Identifier: MIT
# The engine, the reports and the formats build for WebAssembly, and need nothing there but
# libc.
. "$(dirname "$0")/tap.sh"

# Recordings are read where they are written, on machines with addresses of 64 bits, and
# traces by the runtime; a browser packs and unpacks by itself.
sources=(base/pool.c formats/*.c)
for not in chrome events formats inflate pack perfdata perfdata-packed unpack; do
    sources=("${sources[@]/formats\/$not.c/}")
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

# foreign - what they need, linked alone, that neither libc nor the engine has.
foreign()
{
    clang --target=wasm32-wasi -nostartfiles -Wl,--no-entry -Wl,--error-limit=0 \
        -Wl,--export=tt_format_folded -Wl,--export=tt_pprof_write \
        -Wl,--export=tt_callgrind_write -Wl,--export=tt_format_speedscope \
        -o "$tmp/formats.wasm" "$tmp"/*.o 2>"$tmp/errors"
    sed -n 's/.*undefined symbol: //p' "$tmp/errors" | sort -u >"$tmp/needed"
    [ "$(wc -l <"$tmp/needed")" -gt 20 ] || { echo "few names are needed"; cat "$tmp/errors"; }
    grep -v 'undefined symbol: \|linker command failed' "$tmp/errors"
    nm -gj --defined-only "$TT_BUILD"/libtallytree-{profile,report}.a | sort -u | comm -13 - "$tmp/needed"
}

engine() { tools/wasm "$tmp/engine.wasm"; }

try "every file of formats compiles" compile
none "they need the engine and libc alone" foreign
if [ -s "$TT_BUILD/engine.wasm" ]; then
    try "the engine and the reports are a module" sh -c "head -c 4 '$TT_BUILD/engine.wasm' | od -An -c | grep -q '0   a   s   m'"
else
    try "the engine and the reports become a module" engine
fi
finish
