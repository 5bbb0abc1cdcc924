#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs of Debian, with their children, do under record what they do alone: the same
# output, the same messages, the same status, and the same files.  TT_RECORD has its flags.
. "$(dirname "$0")/tap.sh"
mkdir "$tmp/a" "$tmp/b"
seq 1 20000 | sed 's/7/seven\t/' >"$tmp/text"
tac "$tmp/text" | head -n 15000 >"$tmp/other"
seq 1 5000 | awk '{ printf "{\"a\": %d, \"b\": [\"%x\"]}\n", $1, $1 * 7919 }' >"$tmp/json"
cat >"$tmp/program.c" <<'END'
#include <stdio.h>
int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int main(void) { printf("%d\n", fib(20)); return 3; }
END
cc -g -c -o "$tmp/program.o" "$tmp/program.c" || exit
printf 'all: one two\none two:\n\t@echo $@; seq 3\n' >"$tmp/Makefile"
ran=0
# Of each kind one: shells, threads, children, interpreters, compilers also at run time, many processes.
few=" bash dash xz sort grep perl python3 sqlite3 cc ld make find openssl git tclsh node chromium timeout env dd "
[ "${TT_RECORD:-}" ] && few=" bash xz sort perl python3 sqlite3 cc make git node java "

# run FOLDER COMMAND... - there, with what it says beside.
run()
{
    local folder=$1
    shift
    (cd "$tmp/$folder" && timeout -k 5 500 "$@" >out 2>err </dev/null)
    echo $? >"$tmp/$folder/status"
}

same()
{
    run a sh -c "$1"
    # shellcheck disable=SC2086
    run b "$TT_BUILD/tallytree" record ${TT_RECORD:-} -o "$tmp/profile" sh -c "$1"
    grep -q "^tallytree: sh: [0-9]* samples*\( and [0-9]* objects*\)* of" "$tmp/b/err" || { cat "$tmp/b/err"; return 1; }
    sed -i '/^tallytree: sh: [0-9]* samples*\( and [0-9]* objects*\)* of/d; /^tallytree: [0-9]* of them still run/d
        /^tallytree: [0-9]* programs* that it started/d; /^tallytree: a process was recorded only until/d' "$tmp/b/err"
    unskipped "$tmp/b/err"
    diff -r "$tmp/a" "$tmp/b"
}

# program NAME COMMAND - where it is installed.
program()
{
    is_long || [[ $few = *" $1 "* ]] || return
    command -v "${1%% *}" >/dev/null || return
    ran=$((ran + 1))
    rm -rf "$tmp"/[ab]/*
    try "$1" same "$2"
}

t=$tmp/text
program bash 'bash -c "for i in {1..2000}; do x=\$((x + i)); done; echo \$x; (exit 9)"'
program dash 'dash -c "trap \"echo bye\" EXIT; seq 3 | while read i; do echo \$i; done; exit 4"'
program gzip "gzip -c $t | gzip -dc | cmp - $t"
program bzip2 "bzip2 -c $t | tee z | bzip2 -dc | cmp - $t"
program xz "xz -T2 -c $t >z; xz -dc z | cmp - $t; xz -l z"
program zstd "zstd -q -T2 -c $t >z; zstd -qdc z | cmp - $t"
program tar "cp $t $tmp/other .; tar cf - text other | tar tf -"
program sort "sort --parallel=2 -S 1M -r $t"
program grep "grep -nE 'seven.*[13]+\$' $t; grep -q nowhere $t"
program sed "sed -n 's/\\(.\\)seven/\\1-/gp' $t"
program awk "awk '{ n[\$1 % 97]++ } END { for (i = 0; i < 97; i++) print i, n[i] }' $t"
program perl "perl -ne '\$n{length \$_}++; END { print map { \"\$_ \$n{\$_}\n\" } sort keys %n; exit 7 }' $t"
program python3 "python3 -c 'import threading, subprocess, json, sys
print(subprocess.run([\"seq\", \"3\"], capture_output=True).stdout)
l = [threading.Thread(target=lambda: sum(range(10000))) for i in range(8)]
[x.start() for x in l]; [x.join() for x in l]
sys.exit(5)'"
program lua5.4 "lua5.4 -e 'local t = {} for i = 1, 99999 do t[i] = i % 977 end table.sort(t) print(t[500]) os.exit(6)'"
program sqlite3 "sqlite3 db 'create table t(a); insert into t values (1), (2); select sum(a) from t;'; sqlite3 db 'select nothing'"
program cc "cc -O2 -o p $tmp/program.c && ./p; cp $tmp/program.c q.c; cc -c q.c && cc -Wall -o r q.o && ./r"
# Every event of a compiler is costly, and cc has been one.
if [ -z "${TT_RECORD:-}" ]; then
    program g++ "echo '#include <iostream>
int main() { try { throw 1; } catch (int) { std::cout << \"caught\" << std::endl; } }' >p.cpp; g++ -o p p.cpp && ./p"
    program clang "clang -O2 -o p $tmp/program.c && ./p"
fi
program ld "ld -r -o p.o $tmp/program.o && nm p.o"
program as "echo 'nop; ret' | as -o p.o && objdump -d p.o"
program readelf "readelf -aW /bin/sh"
program strings "strings -n 12 /bin/sh"
program make "make -s -j2 -Otarget -f $tmp/Makefile | sort"
program ninja "printf 'rule r\n command = seq 5 > \$out\nbuild x: r\nbuild y: r\n' >build.ninja; ninja --quiet; cat x y; rm -f .ninja_*"
program find "find /usr/include -name 'std*.h' | xargs wc -l"
program diff "diff $t $tmp/other"
program sha256sum "sha256sum $t; md5sum $t; cksum $t; b2sum $t"
program openssl "openssl enc -aes-256-cbc -k k -nosalt -pbkdf2 -in $t | openssl dgst -sha3-256"
program git "git init -q . && git add -A . && git -c user.name=a -c user.email=a@b commit -qm x --date=2020-01-01T00:00:00Z; git log --format=%s; git fsck; rm -rf .git"
program dpkg "dpkg -l | tail -n 20; dpkg -S /bin/sh; dpkg -s no-such-package"
program factor "factor 18446744073709551557 1000000016000000063"
program od "od -c $t | tail; base64 $t | base64 -d | cmp - $t"
program jq "jq -c '[.a, .b[0]]' $tmp/json | tail"
program tclsh "echo 'for {set i 0} {\$i < 20000} {incr i} {incr x \$i}; puts \$x; exit 8' >p.tcl; tclsh p.tcl"
program node "node -e 'const m = new Map(); for (let i = 0; i < 3e5; i++) m.set(i % 977, i); console.log(m.size); process.exit(9)'"
if [ -z "${TT_RECORD:-}" ]; then
    program java "echo 'public class P { public static void main(String[] a) { int n = 0; for (int i = 0; i < 9999999; i++) n += i % 7; System.out.println(n); System.exit(4); } }' >P.java; java P.java"
    program gdb "gdb -q -nx -batch -ex 'info line main' $tmp/program.o"
else
    program java "java --version"
    program gdb "gdb --version"
fi
program zsh "zsh -f -c 'print -l {1..9} | sort -r; exit 2'"
program file "file -b /bin/sh $t"
program man "man -l /dev/null; man -w sh"
program m4 "echo 'define(x, y\$1)x(3)' | m4"
program bc "echo '2^4000 % 1000007' | bc"
program eu-readelf "eu-readelf -S /bin/sh"
program valgrind "valgrind --version"
program chromium "chromium --headless --no-sandbox --disable-gpu --user-data-dir=$tmp/chromium --dump-dom 'data:text/html,<p>hello</p>' 2>/dev/null"
program timeout "timeout -s INT 0.2 sleep 5; timeout 5 false"
program env "env -i PATH=/bin sh -c 'echo \$PATH'; nice -n 5 nice"
program dd "dd if=$t bs=1000 count=7 status=none | wc -c; split -b 100k $t; ls"
enough() { [ "$ran" -ge "$1" ] || { echo "only $ran are installed"; return 1; }; }
try "that were dozens of programs" enough "$(for_long 10 30)"
finish
