#!/bin/bash
# SPDX-License-Identifier: MIT
# -o does not replace a file that Tallytree did not write, unless --force is given.
. "$(dirname "$0")/tap.sh"
build=$(cd "$TT_BUILD" && pwd)
tallytree=$build/tallytree
cd "$tmp" || exit 1
cat >kept.c <<'END2'
#include <stdio.h>
int main(void)
{
    for (int i = 0; i < 10; i++)
        printf("%d\n", i);
    return 0;
}
END2
printf 'block a file=a.c line=1\npush a\npush b\npop\npop\n' >events
"$tallytree" replay events -o recording >/dev/null 2>&1
"$tallytree" merge -o profile recording || exit 1

# refused STATUS COMMAND... - with -o: the file is as it was, and the message says what to do.
refused()
{
    local wanted=$1 status
    shift
    cp kept.c out
    "$tallytree" "$@" >said 2>&1
    status=$?
    cat said
    [ $status = "$wanted" ] && cmp kept.c out &&
        grep -qx "tallytree: out: there is a file that Tallytree did not write; --force replaces it" said
}
# replaced FILE COMMAND... - by the command, which may have --force.
replaced()
{
    local before=$1
    shift
    cp "$before" out
    "$tallytree" "$@" || return
    ! cmp -s "$before" out && [ -s out ]
}
refused_unrun()
{
    rm -f ran
    refused 125 "$@" && [ ! -e ran ] && none_left
}
none_left() { ! compgen -G '.out.*' && ! compgen -G 'out.*'; }

commands=("merge -o out recording" "symbolize -o out profile" "replay events -o out"
    "report flat -o out profile" "report flat --csv -o out profile" "report flat --json -o out profile"
    "report tdk -o out profile" "report ghc -o out profile" "report fble -o out profile"
    "report mlworks -o out profile" "report flat --no-header -o out profile" "diff -o out profile profile")
for format in csv json html dot mermaid callgrind pprof speedscope chrome otlp firefox folded \
    ghc tdk pgcl; do
    commands+=("export --to $format -o out profile")
done
for command in "${commands[@]}"; do
    # shellcheck disable=SC2086
    set -- $command
    try "a source file stays: $command" refused 2 "$@"
    try "with --force it is replaced: $command" replaced kept.c "$@" --force
    try "and that by the same command without: $command" "$tallytree" "$@"
    : >empty
    try "an empty file is replaced: $command" replaced empty "$@"
    try "and a recording: $command" replaced recording "$@"
    try "nothing else is left: $command" none_left
done
# Another figure makes another report, which is like it.
"$tallytree" report flat --no-header -o out --force recording
try "reports of other profiles are replaced" "$tallytree" report flat --no-header -o out profile
try "a page of others stays" sh -c "printf '<!doctype html>\n<html lang=\"en\">\n<p>Hello' >page; ! '$tallytree' export --to html -o page profile && grep -q Hello page"
try "a graph of others stays" sh -c "echo 'digraph G { a -> b }' >graph; ! '$tallytree' export --to dot -o graph profile && grep -q 'a -> b' graph"
try "what others have packed stays" sh -c "gzip <kept.c >packed; cp packed before; ! '$tallytree' export --to pprof -o packed profile && cmp packed before"
try "a file behind a link stays" sh -c "cp kept.c aim; ln -s aim link; ! '$tallytree' merge -o link recording && cmp kept.c aim && [ -L link ]"
try "a device is written to" "$tallytree" merge -o /dev/null recording
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 "$tmp"
    mkdir -m 777 open
    cp kept.c open/closed
    chmod 600 open/closed
    cp recording open/
    try "what cannot be read stays" sh -c "! setpriv --reuid 65534 --clear-groups '$tallytree' merge -o open/closed open/recording && cmp kept.c open/closed"
else
    skip "what cannot be read stays" "this is not root"
fi

# Programs are not run when their profile could not be written.
try "record refuses before the program runs" refused_unrun record -o out touch ran
try "record from outside too" refused_unrun record --counter instructions -o out touch ran
try "record of a process too" refused 125 record -p $$ -o out
replaces()
{
    "$tallytree" record "$@" -o out touch ran && [ -e ran ] && "$tallytree" report header out
}
try "record --force replaces it" replaces --force
rm -f ran
try "an earlier profile is replaced without" replaces
: >out
try "so is an empty file" replaces
if [ -e "$build/adapters/lua" ]; then
    echo 'os.execute("touch ran")' >a.lua
    try "lua refuses before the script runs" refused_unrun lua -o out a.lua
fi
if [ -e "$build/adapters/tcl" ]; then
    echo 'exec touch ran' >a.tcl
    try "tcl refuses before the script runs" refused_unrun tcl -o out a.tcl
fi
finish
