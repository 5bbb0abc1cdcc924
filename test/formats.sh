# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# formats.sh - what the tests of foreign formats share; $dir is where their files are.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
dir=$tmp

# folds STACKS FILE [METRIC] - what a file holds, as folded stacks.
folds()
{
    "$tallytree" export --to folded ${3+--metric "$3"} "$2" >"$dir/got" && diff "$dir/got" - <<<"$1"
}

# refused FILE WHAT - with exit status 2 and one line, which has the pattern WHAT after the file's name.
refused()
{
    "$tallytree" report "$1" >"$dir/got" 2>"$dir/said"
    [ $? = 2 ] && [ ! -s "$dir/got" ] && cat "$dir/said" && [ "$(wc -l <"$dir/said")" = 1 ] &&
        grep -q "tallytree: $1$2" "$dir/said"
}

# refuses WHERE WHAT SED [FILE] - the file, edited, is refused in that line for that.
refuses()
{
    sed "$3" "${4-$dir/small}" >"$dir/bad" && refused "$dir/bad" ":$1: $2"
}

# refuses_byte WHAT SED FILE - the same, at some byte.
refuses_byte()
{
    sed "$2" "$3" >"$dir/bad" && refused "$dir/bad" ": byte [0-9]*: .*$1"
}

# truncated FIRST STEP BEHIND FILE - a file is refused wherever it is cut off, from byte FIRST
# on, up to BEHIND bytes before its end.
truncated()
{
    local n last=$(($(wc -c <"$4") - $3)) step
    step=$(for_long $(((last - $1) / 12 > $2 ? (last - $1) / 12 : $2)) "$2")
    for n in $(seq "$1" "$step" "$last"); do
        head -c "$n" "$4" >"$dir/bad" && refused "$dir/bad" "" || return
    done
}

# deep - a stack of a million frames, in $dir/deep.
deep()
{
    awk 'BEGIN { for (i = 0; i < 999999; i++) printf "f%d;", i % 7; print "leaf 5" }' >"$dir/deep"
}

# deep_there_and_back FORMAT [METRIC] - such a stack is written, and is the same when it is read.
deep_there_and_back()
{
    deep && "$tallytree" export --to "$1" -o "$dir/deep.written" "$dir/deep" &&
        "$tallytree" export --to folded ${2+--metric "$2"} "$dir/deep.written" | cmp - "$dir/deep"
}

# $dir/names is a program in C++ with -pg; ours PROFILE - the calls of its functions.
names_of_cpp()
{
    cat >"$dir/names.cpp" <<'END'
namespace ns {
template <class T> struct Box {
    T sum;
    __attribute__((noinline)) void fill(T n) { for (T i = 0; i < n; i++) sum += i * i; __asm__ volatile("" ::: "memory"); }
};
__attribute__((noinline)) void both(Box<int> &a, Box<long> &b) { a.fill(3); b.fill(4); }
}
int main() { ns::Box<int> a{}; ns::Box<long> b{}; ns::both(a, b); ns::both(a, b); return 0; }
END
    g++ -pg -g -O1 "$dir/names.cpp" -o "$dir/names"
}
ours() { "$tallytree" report flat --csv --limit all --metric calls "$@" | python3 -c 'import csv, sys
for r in csv.DictReader(sys.stdin):
    if "ns::" in r["name"]: print(r["self"], r["name"])' | LC_ALL=C sort; }
