#!/bin/bash
# SPDX-License-Identifier: MIT
# Every function of Lua and SQLite is switched while eight threads run them.  The programs' output
# is the same as without switching, and calls and times add up.  TT_TOGGLES: the number of times;
# if it is set, optimized code is tried, too.  SQLite with TT_LONG alone.
. "$(dirname "$0")/tap.sh"
[ "$(uname -m)" = x86_64 ] || { echo "1..0 # SKIP functions are not switched on this machine"; exit; }
build=$(cd "$TT_BUILD" && pwd)
top=$PWD
sources=${TT_SOURCES:-$tmp/sources}
tools/sources "$sources" "$(for_long lua "")" >"$tmp/log" 2>&1 || { echo "1..0 # SKIP $(tail -n 1 "$tmp/log")"; exit; }
cd "$tmp" || exit 1

# compiled PROGRAM FLAGS... - as ./PROGRAM: lua or sqlite.
compiled()
{
    local program=$1 files=("$sources/sqlite/sqlite3.c")
    shift
    [ "$program" != lua ] || files=("$sources"/lua/l[!u]*.c "$sources"/lua/lu[!a]*.c)
    gcc -w -O1 -D_GNU_SOURCE -I"$top/include" -I"$top/test" -I"$sources/$program" "-D${program^^}" "$@" \
        -fpatchable-function-entry=0 -fno-instrument-functions -c -o toggles.o "$top/test/toggles.c" &&
        gcc -w -fpatchable-function-entry=5 -fcf-protection=none -DLUA_USE_POSIX -DSQLITE_THREADSAFE=2 \
            -DSQLITE_OMIT_LOAD_EXTENSION "$@" -o "$program" toggles.o "${files[@]}" -pthread \
            -L"$build" -Wl,-rpath,"$build" -ltallytree-switch -lm -ldl
}

# In the profile, each context's inclusive time is its own and that of those below.
adds_up()
{
    "$build/tallytree" report tree --metric time --limit all --depth all --threshold 0 --csv toggled >tree || return
    python3 - <<END
import csv
rows = list(csv.DictReader(open("tree")))
assert len(rows) > 1000 and {row["role"] for row in rows} == {"entry"}, len(rows)
path, left = [], {}
for i, row in enumerate(rows):
    del path[int(row["depth"]):]
    left[i] = int(row["inclusive"]) - int(row["self"])
    if path:
        left[path[-1]] -= int(row["inclusive"])
    path.append(i)
assert int(rows[0]["inclusive"]) == sum(int(row["self"]) for row in rows) > 0
assert not any(left.values())
END
}

run() { timeout -k 5 3600 ./"$1" >said 2>err; local status=$?; cat said err; return $status; }

# tried PROGRAM HOW FLAGS...
tried()
{
    try "$1 compiles, $2" compiled "$1" "${@:3}"
    try "$1, $2, says what it says alone while it is switched, and all adds up" run "$1"
    try "so does its profile" adds_up
}
programs=(lua)
is_long && programs+=(sqlite)
for program in "${programs[@]}"; do
    tried "$program" "with an account of its own" -O0 -finstrument-functions
    [ -z "${TT_TOGGLES-}" ] || tried "$program" "optimised" -O2 -DPLAIN
done
finish
