# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# target.sh - the C test programs on another target: with the runtime as one file, or
# with its own files for those that say in their first lines that they see its internals.
. "$(dirname "${BASH_SOURCE[0]}")/tap.sh"

# on_target RUNNER COMPILER FLAGS... - `env` runs a program natively.
on_target()
{
    runner=$1 compiler=("${@:2}")
    if [ "$runner" != env ]; then
        export TT_EMULATED=1
        compiler+=(-DTAP_EMULATED)
    fi
    try "the runtime compiles" compile_runtime
    for test in $(runtime_tests); do
        case "$runner $test" in
        # Ten thousand emulated threads take more memory than a machine may have.
        "qemu-aarch64 test/threads-test.c") continue ;;
        # The library that it loads is another target's.
        *" test/dlopen-test.c") continue ;;
        # A static C library wants its own allocator.
        *" test/memory-test.c") [[ " ${compiler[*]} " != *" -static "* ]] || continue ;;
        esac
        if is_long "$test" && [ -z "${TT_SOAK:-}" ]; then
            skip "$(basename "$test" .c)" "takes minutes here; make soak runs it"
            continue
        fi
        try "$(basename "$test" .c)" run "$test"
    done
    try "stack-test" run_unwinding
    finish
}

# Those that single-step, or start thousands of threads and processes.
is_long() { [[ " crash damage fork kill limits restart signal window " == *" $(basename "$1" -test.c) "* ]]; }

# Those of the runtime: the first list of test/meson.build.
runtime_tests()
{
    sed -n "/^tests = files(/,/^)/s|.*'\(.*-test\.c\)'.*|test/\1|p" test/meson.build
}

compile()
{
    "${compiler[@]}" -std=gnu11 -D_GNU_SOURCE -O2 -pthread -Wall -Wextra -Werror "$@"
}

compile_runtime()
{
    tools/amalgamate "$tmp" && compile -c "$tmp/tallytree.c" -o "$tmp/tallytree.o" || return
    for source in base/keys.c runtime/*.c; do
        compile -Iinclude -Ibase -Iruntime -c "$source" -o "$tmp/$(basename "$source").o" || return
    done
}

run()
{
    local with=("-I$tmp" "$tmp/tallytree.o")
    ! head -n 5 "$1" | grep -q 'needs: internals' ||
        with=(-Iinclude -Ibase -Iruntime "$tmp"/*.c.o)
    # At length they run with this machine's own C library.
    compile "$1" "${with[@]}" -o "$tmp/program" -lm &&
        env -u TT_LONG timeout -k 5 600 "$runner" "$tmp/program"
}

# The unwinder is not part of the runtime; what it knows of the machine is in
# machine- and code-MACHINE.c, and in safe-copy-MACHINE.c.
run_unwinding()
{
    local machine
    machine=$("${compiler[0]}" -dumpmachine)
    # shellcheck disable=SC2046
    compile -Iinclude -Ibase -Iruntime -Iunwind -Iinterpreters -Isample test/stack-test.c "$tmp"/*.c.o $(unwinding) \
        unwind/[cm]*-"${machine%%-*}".c interpreters/safe-copy-"${machine%%-*}".c \
        -o "$tmp/program" && timeout -k 5 500 "$runner" "$tmp/program"
}

unwinding()
{
    sed -n "/^collect_sources = files(/,/^)/s|.*'\([a-z]*/[a-z0-9-]*\.c\)'.*|\1|p" meson.build
}
