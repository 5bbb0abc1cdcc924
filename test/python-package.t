#!/bin/bash
# SPDX-License-Identifier: MIT
# The package for Python: calls are those that Python itself counts, and a script does what it
# does alone.
. "$(dirname "$0")/tap.sh"
tallytree=$(realpath "$TT_BUILD/tallytree")
export LD_LIBRARY_PATH=${TT_BUILD:?}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
TT_BUILD=$(realpath "$TT_BUILD")
built=("$TT_BUILD"/adapters/python/_tallytree.cpython-*.so)
if [ ! -e "${built[0]}" ]; then
    echo "1..0 # SKIP without the headers of Python"
    exit
fi
ulimit -c 0
here=$PWD
version=$(basename "${built[0]}" | sed 's/.*cpython-3\([0-9]*\)-.*/3.\1/')

# include PYTHON - where its headers are.
include() { "$1" -c 'import sysconfig; print(sysconfig.get_path("include"))'; }

# package PYTHON VERSION FOLDER - the package for it, built if it is another version than ours.
package()
{
    mkdir -p "$3" && cp -r adapters/python/tallytree "$3" || return
    if [ "$2" = "$version" ]; then
        cp "${built[0]}" "$3/tallytree"
        return
    fi
    local way=profile
    [ "${2#3.}" -ge 12 ] && way=monitoring
    cc -O1 -shared -fPIC -fvisibility=hidden -pthread -I"$(include "$1")" -Iinclude -Iadapters/python \
        adapters/python/python-{calls,scopes,events-$way}.c -o "$3/tallytree/_tallytree.so" \
        -L"$TT_BUILD" -ltallytree
}

# pythons - each version that the package can be built for.
pythons()
{
    local minor found
    {
        # shellcheck disable=SC2086 # they are several words
        printf '%s\n' python3 /usr/bin/python3 ${TT_PYTHONS:-}
        for minor in 8 9 10 11 12 13; do
            found=$(type -P python3.$minor) && echo "$found"
        done
    } | while read -r found; do
        "$found" -c 'import os, sys
print("%d.%d" % sys.version_info[:2], sys.executable)' 2>/dev/null
    done | awk '!seen[$1]++' | while read -r found path; do
        [ "$found" != "$version" ] && [ ! -e "$(include "$path")/Python.h" ] || echo "$found $path"
    done
}

# exactly FILE WORDS... - runs a script with the package; its output is in $tmp/out and $tmp/err.
exactly()
{
    local file=$1
    shift
    PYTHONPATH=$site "$python" -m tallytree --exact -o "$file" "$@" >"$tmp/out" 2>"$tmp/err"
}

# counts_as WAY - all calls of test/python-calls.py, as Python itself counts them.
counts_as()
{
    rm -f "$tmp/calls.tt"
    exactly "$tmp/calls.tt" test/python-calls.py run || { cat "$tmp/err"; return 1; }
    "$tallytree" report flat --metric calls --root everything --limit all --csv "$tmp/calls.tt" >"$tmp/calls.csv" &&
        "$python" test/python-calls.py "$1" "$tmp/counts" &&
        "$python" test/python-calls.py compare "$tmp/counts" "$tmp/calls.csv"
}

# A thread calls fib(6), 25 times with itself, and five raisers 1 to 5 deep.
counts_threads()
{
    rm -f "$tmp/threads.tt"
    exactly "$tmp/threads.tt" test/python-calls.py threads || { cat "$tmp/err"; return 1; }
    "$tallytree" report flat --metric calls --root in_thread --limit all --csv "$tmp/threads.tt" >"$tmp/threads.csv"
    cat "$tmp/threads.csv"
    "$python" -c '
import csv, sys
rows = csv.DictReader(line for line in open(sys.argv[1]) if not line.startswith("#"))
calls = {row["name"]: int(row["self"]) for row in rows if row["module"].startswith("python")}
sys.exit(calls != {"in_thread": 7, "fib": 7 * 25, "raises": 7, "raiser": 7 * 15, "raising_key": 14})' "$tmp/threads.csv"
}

cat >"$tmp/scopes.py" <<'PY'
import io, sys
import tallytree

tallytree.start(f"output={sys.argv[1]},calls", functions=False)
tallytree.start("calls", functions=False)  # they nest
tallytree.stop()
inner = tallytree.scope("inner")

@tallytree.scope("decorated")
def f(n):
    """Says so."""
    with inner:
        return n if n == 0 else f(n - 1)

@tallytree.function
def g():
    raise KeyError

assert (f.__name__, f.__doc__, inner.name) == ("f", "Says so.", "inner")
for _ in range(3):
    with tallytree.scope("outer"):
        assert f(4) == 0
        try:
            g()
        except KeyError:
            pass
for wrong in ({"options": "none"}, {"options": 5}):
    try:
        tallytree.start(**wrong)
        raise AssertionError
    except (ValueError, TypeError) as error:
        print(error)
async def waits():
    pass
try:
    tallytree.function(waits)
    raise AssertionError
except TypeError as error:
    print(error)
tallytree.report()
tallytree.stop()
try:
    tallytree.stop()
    raise AssertionError
except RuntimeError as error:
    print(error)
with inner:  # nothing is recorded
    pass
PY
# Each of 3 outer ones has 5 of f and of its scope, and one g.
has_scopes()
{
    rm -f "$tmp/scopes.tt"
    PYTHONPATH=$site "$python" "$tmp/scopes.py" "$tmp/scopes.tt" >"$tmp/out" || return
    cat "$tmp/out"
    grep -q "'none'" "$tmp/out" && grep -q '^waits can wait' "$tmp/out" && grep -q ' decorated$' "$tmp/out" &&
        "$tallytree" report flat --metric calls --csv "$tmp/scopes.tt" |
        "$python" -c '
import csv, sys
rows = csv.DictReader(line for line in sys.stdin if not line.startswith("#"))
calls = {row["name"]: int(row["self"]) for row in rows if row["role"] == "entry" and int(row["self"])}
print(calls)
sys.exit(calls != {"outer": 3, "decorated": 15, "inner": 15, "g": 3})'
}

all=$(pythons) # once: what finds a version may take a second to start
while read -r version_of python; do
    [ "$python" ] || continue
    site=$tmp/$version_of
    try "Python $version_of: the package is there" package "$python" "$version_of" "$site"
    try "Python $version_of: each function is called as often as cProfile says" counts_as cprofile
    try "Python $version_of: and as sys.setprofile says" counts_as setprofile
    try "Python $version_of: threads have their calls" counts_threads
    try "Python $version_of: scopes, by 'with' and as decorators" has_scopes
done <<<"$all"

# ── What is run does what it does alone ────────────────────────────────────────────────────

python=$(awk -v v="$version" '$1 == v { print $2 }' <<<"$all")
site=$tmp/$version

# normal FILE - without text that differs from run to run, and without our line.
normal() { sed -e '/^tallytree: /d' -e 's/0x[0-9a-f]*/ADDRESS/g; s/started [0-9]*/started/; s/pid=[0-9]*/pid/' "$1"; }

# same WORDS... - the same output, messages and status as without the package.  The package is
# found as if it were installed: the program has no PYTHONPATH for it.
same()
{
    local bare recorded
    "$python" "${before[@]}" "$@" <"$here/test/tap.sh" >"$tmp/bare.out" 2>"$tmp/bare.err"
    bare=$?
    rm -rf "$tmp/same"
    mkdir "$tmp/same"
    "$python" "${before[@]}" -m tallytree "${way[@]}" -o "$tmp/same/tt" "$@" <"$here/test/tap.sh" >"$tmp/out" 2>"$tmp/err"
    recorded=$?
    [ "$bare" = "$recorded" ] || { echo "status $recorded, not $bare"; cat "$tmp/err"; return 1; }
    diff <(normal "$tmp/bare.out") <(normal "$tmp/out") &&
        diff <(normal "$tmp/bare.err") <(normal "$tmp/err") &&
        [ -s "$tmp/same/tt" ]
}

# A folder of packages that this Python has looked into always, in a virtual environment.
if "$python" -m venv --without-pip "$tmp/venv" 2>/dev/null; then
    python=$tmp/venv/bin/python3
    cp -r "$site/tallytree" "$tmp"/venv/lib/python3*/site-packages
    cd "$tmp" || exit
    export PATH=$TT_BUILD:$PATH
    before=() way=(--exact)
    for what in exit exit_text exit_now exception warning atexit thread fork spawn forks exec interrupt \
        kill abort recursion hook input; do
        try "a script does what it does alone: $what" same "$here/test/python-same.py" $what "two words" -x
    done
    before=(-O -W error -X utf8)
    try "so it does with flags of Python" same "$here/test/python-same.py" warning
    before=()
    mkdir "$tmp/own" && echo 'import sys; sys.own = True' >"$tmp/own/sitecustomize.py" &&
        echo 'import sys; print(__name__, __file__, sys.argv, sys.own)' >"$tmp/own/some.py"
    export PYTHONPATH=$tmp/own:
    try "a PYTHONPATH and a sitecustomize of the program's own stay" same "$here/test/python-same.py" exit
    try "a module is run as one" same -m some 1 2
    try "and a text" same -c 'import sys; print(sys.argv, sys.path, sys.own)' 1 2
    unset PYTHONPATH
    try "a script that is not there is not" same nowhere.py
    for flag in "" --lines --heap; do
        way=("${flag[@]}")
        [ "$flag" ] || way=()
        try "a script is sampled as it does what it does alone: ${flag:-without flags}" \
            same -c 'import sys; print(sys.argv, sys.path, sum(range(99999))); sys.exit(5)' 1 -m
    done

    # If nothing can be written, the script runs nevertheless.
    unwritten()
    {
        "$python" -m tallytree --exact -o "$tmp/no/where.tt" -c 'import sys; print("runs"); sys.exit(5)' \
            >"$tmp/out" 2>"$tmp/err"
        [ $? = 5 ] && cat "$tmp/out" "$tmp/err" && [ "$(cat "$tmp/out")" = runs ] &&
            [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q "^tallytree: .*no/where.tt" "$tmp/err"
    }
    try "a script runs where nothing can be recorded" unwritten
    unstopped()
    {
        "$python" -c 'import tallytree; tallytree.start("output=unstopped.tt"); sorted([3, 1])' &&
            "$tallytree" report flat --metric calls --csv unstopped.tt | grep ',sorted,'
    }
    try "a recording that is not stopped is there" unstopped

    # refuses TEXT WORDS... - with that message, and status 125.
    refuses()
    {
        local text=$1
        shift
        PATH=${search:-$PATH} "$python" "$@" >"$tmp/out" 2>"$tmp/err"
        [ $? = 125 ] && cat "$tmp/err" && grep -q "^tallytree: .*$text" "$tmp/err"
    }
    try "it takes one way" refuses "do not go together" -m tallytree --exact --heap x.py
    try "it needs a script" refuses "which script" -m tallytree --exact
    try "it knows its options" refuses "no option --fast" -m tallytree --fast x.py
    try "it needs its environment" refuses "-E, -I and -S" -I -m tallytree --exact x.py
    search=$tmp/venv/bin
    try "it needs the command, to take samples" refuses "is not in PATH" -m tallytree x.py
fi
finish
