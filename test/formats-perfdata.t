#!/bin/bash
# SPDX-License-Identifier: MIT
# Files of `perf record`: stacks, threads and events are those that `perf script` prints.
. "$(dirname "$0")/formats.sh"

cat >"$dir/program.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#define ALONE __attribute__((noinline))
static volatile unsigned long sum;
ALONE void spin(unsigned long n) { for (unsigned long i = 0; i < n; i++) sum += i * i; __asm__ volatile(""); }
ALONE void one(void) { spin(3000000); __asm__ volatile(""); }
ALONE void two(int depth) { if (depth) two(depth - 1); else spin(4000000); __asm__ volatile(""); }
ALONE void pages(void)
{
    char *p = mmap(NULL, 1 << 21, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 1 << 21; i += 4096) p[i] = 1;
    munmap(p, 1 << 21);
}
static void *thread(void *arg) { one(); __asm__ volatile(""); return arg; }
int main(int argc, char **argv)
{
    pthread_t t;
    if (argc > 1 && argv[1][0] == 'x') { two(2); return 0; }
    pthread_create(&t, NULL, thread, NULL);
    for (int i = 0; i < 2; i++) one(), two(i), pages();
    pthread_join(t, NULL);
    if (fork() == 0) { two(1); execl(argv[1], argv[1], "x", NULL); _exit(1); }
    wait(NULL);
    return 0;
}
END
# Stubs of a PLT have no symbol: perf takes the one before, _init.
build() { gcc -g -O1 -fno-plt -fno-omit-frame-pointer -fno-optimize-sibling-calls -pthread "$@"; }
build "$dir/program.c" -o "$dir/pie" -Wl,-z,noseparate-code
build -no-pie "$dir/program.c" -o "$dir/fixed"
record() { perf record -N -q "$@" "$dir/pie" "$dir/fixed" 2>"$dir/said"; }
agree() { python3 test/perf-script.py ${how:+"$how"} "$tallytree" "$1" "$dir/pie" "$dir/fixed"; }

# agrees WHAT OPTION... - a recording that is made with these is read as perf reads it.
agrees()
{
    local what=$1
    shift
    if record -o "$dir/data" "$@"; then
        try "$what" agree "$dir/data"
    else
        skip "$what" "perf: $(tail -1 "$dir/said")"
    fi
}

# Made by hand: times out of order, both orders of bytes, a fork that then maps another file.
python3 test/perf-data.py "$dir"
folded='program+0x401004;lib.so+0x1010 18
program+0x401004;other.so+0x10 11
program+0x401004;program+0x400020 7
program+0x401005;[kernel]+0xffffffff81000100;[kernel]+0xffffffff81000010 3'
for file in little big little-pipe big-pipe little-ended big-ended packed-small; do
    try "records are looked at in the order of their times: $file" folds "$folded" "$dir/$file"
done
faults() { folds '[unknown] 1
program+0x400020 1' "$1" "samples of page-faults:u"; }
try "events have the names that the file tells behind them" faults "$dir/little"
try "so have those of a pipe" faults "$dir/big-pipe"
losses() { "$tallytree" report "$dir/little" | grep -q "^lost: 3 records were lost by perf"; }
try "records that perf lost are told" losses
cut() { head -c "$1" "$dir/little" >"$dir/cut" && folds "$2" "$dir/cut" && "$tallytree" report "$dir/cut" | grep -q "^cut off: 1 files"; }
half='program+0x401004;lib.so+0x1010 5
program+0x401004;program+0x400020 7'
try "of a file that was cut off, what is whole is read, and it says so" cut 1096 "$half"
whole_only() { ! grep -q "cut off" <<<"$("$tallytree" report "$dir/little")"; }
try "a whole file does not say so" whole_only
head_cut() { head -c "$1" "$dir/little" >"$dir/bad" && refused "$dir/bad" ": byte 0: the file ends within its header"; }
for n in 16 60 103 110 390; do try "a file that ends within its header is refused: at byte $n" head_cut "$n"; done
# damaged OFFSET BYTES PATTERN - so is one with these bytes there.
damaged() { { head -c "$1" "$dir/little"; printf %b "$2"; tail -c +$(($1 + 1 + $(printf %b "$2" | wc -c))) "$dir/little"; } >"$dir/bad" && refused "$dir/bad" ": byte [0-9]*: $3"; }
try "so is one whose events are elsewhere" damaged 26 '\1' "the header gives a wrong place for the events"
try "so is one whose data are elsewhere" damaged 44 '\1' "the header gives a wrong place for the data"
try "so is a record of no size" damaged 414 '\4\0' "a record says that it has 4 bytes, which is too few"
try "so is a damaged piece of zstd" sh -c "sed 's/(\xb5\/\xfd/(\xb5\/\xfc/' '$dir/packed-small' >'$dir/bad'; ! '$tallytree' report '$dir/bad' 2>'$dir/said' && grep -q 'a record that zstd has packed is damaged' '$dir/said'"

if ! record -e cpu-clock -o "$dir/plain"; then
    skip "files of perf are read" "perf cannot record here: $(head -1 "$dir/said")"
    finish
fi
try "places: every function, thread and sum of periods is perf script's" agree "$dir/plain"
agrees "so are stacks by frame pointers" -e cpu-clock -g
cp "$dir/data" "$dir/stacks" 2>/dev/null
how=--copied agrees "so are stacks that were copied, unwound" -e cpu-clock -F 1000 --call-graph dwarf
agrees "so are records that were packed" -e cpu-clock -g -z
cp "$dir/data" "$dir/packed" 2>/dev/null
agrees "so is each of several events" -e cpu-clock -e task-clock -e page-faults -g
agrees "so are events with other fields each" -e cpu-clock/call-graph=fp/ -e page-faults/call-graph=no,period=1/ -e task-clock/call-graph=no,freq=200/
how=--everywhere agrees "so is all that runs" -e cpu-clock -F 500 -a -g
agrees "so are samples of a fixed period" -e task-clock -c 200000 -g
agrees "so are mappings with build-ids" -e cpu-clock -g --buildid-mmap
agrees "so are samples with addresses, weights and processors" -e page-faults -c 1 -d -W --sample-cpu --sample-identifier -T
agrees "so are files with records of other kinds" -e cpu-clock -s --namespaces --switch-events --no-buildid
agrees "so are samples with data of their own" -e sched:sched_switch -R -g
perf record -q -e cpu-clock -g -o - "$dir/pie" "$dir/fixed" >"$dir/pipe" 2>/dev/null
try "so is what went through a pipe" agree "$dir/pipe"
through() { "$tallytree" export --to folded - <"$dir/pipe" | cmp - <("$tallytree" export --to folded "$dir/pipe"); }
try "a pipe may be read as it comes" through
finish
