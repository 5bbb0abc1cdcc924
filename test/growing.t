#!/bin/bash
# SPDX-License-Identifier: MIT
# Recordings that are read while threads push, evict, come and go, and copies of these with
# wrong bytes, which change while they are read.  ROUNDS=N: so often; READER: another build
# of the command, such as one with sanitizers.
. "$(dirname "$0")/tap.sh"
build=$(cd "$TT_BUILD" && pwd)
reader=$(realpath "${READER:-$build/tallytree}")
export ASAN_OPTIONS=exitcode=99:detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:exitcode=99
cd "$tmp" || exit
mkdir folder && mkfifo go

commands=("report flat FILE" "report tree --limit all --json FILE" "report space FILE" "report series FILE"
    "report strands FILE" "dump FILE" "top -n 2 -i 0.05 FILE" "merge --force -o out FILE" "merge --force -o out folder"
    "export --to pprof -o out FILE" "export --to callgrind FILE" "symbolize --force -o out FILE" "diff FILE FILE")

# reads FILE MOST - each command, and none fails worse than with status MOST and a message.
reads()
{
    local command status
    for ((round = 0; round < ${ROUNDS:-1}; round++)); do
        for command in "${commands[@]}"; do
            # shellcheck disable=SC2086
            timeout 500 "$reader" ${command//FILE/$1} >said 2>err
            status=$?
            [ $status = 0 ] || { [ $status -le "$2" ] && grep -q '^tallytree: ' err; } ||
                { echo "$command: status $status"; head -50 err; return 1; }
        done
    done
}

# have_stopped PID - all of its threads.
have_stopped() { ! grep -L '^State:[[:space:]]*T' /proc/"$1"/task/*/status | grep -q .; }

# copies - of a recording whose figures always move; by the kernel's count of bytes read.
copies()
{
    local size read
    # A copy of a file that is written to is torn, and kill returns before each thread has stopped.
    kill -STOP "$writer"
    patiently have_stopped "$writer" || return
    cp folder/live restless
    kill -CONT "$writer"
    "$build/test/growing" move restless <go 7>&- >moving &
    local moving=$!
    patiently grep -q begun moving
    size=$(stat -c %s restless)
    for ((i = 0; i < 5; i++)); do
        # shellcheck disable=SC2016
        read=$(bash -c '"$0" report flat restless >said || exit; sed -n "s/^rchar: //p" /proc/$$/io' "$reader")
        echo "$read bytes of $size"
        [ "$read" -lt $((10 * size)) ] || break
    done
    kill $moving
    wait $moving
    [ $i = 5 ]
}

# while_written NAME OPTIONS - the writer ends well, and what it wrote is whole.
while_written()
{
    rm -f folder/*
    "$build/test/growing" write "$2,output=$PWD/folder/live" <go >wrote &
    local writer=$!
    exec 7>go
    patiently grep -q begun wrote
    "$build/test/growing" mirror folder/live folder/mirror <go 7>&- &
    local mirror=$!
    patiently test -s folder/mirror
    try "of what $1 everything that reads shows something" reads folder/live 0
    try "and of a copy with wrong bytes that changes meanwhile, or refuses it" reads folder/mirror 2
    [ "$1" != evicts ] || [ ! -r /proc/self/io ] || try "one whose figures never rest is copied a few times at most" copies
    exec 7>&-
    reap $mirror
    reap $writer
    try "what writes it ends well" [ "$? $(tail -n 1 wrote)" = "0 well" ]
    try "and so does the recording" "$reader" report flat folder/live
}
while_written "evicts" calls,budget=384K,histogram,recursion=none
while_written "counts objects" exact,budget=256K,space=alloc+copies+types,series=type+block
while_written "samples" sampled=1000,budget=128K,recursion=none
finish
