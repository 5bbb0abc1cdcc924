#!/bin/bash
# SPDX-License-Identifier: MIT
# The doctor's findings about a machine agree with the system's files and with what record does.
. "$(dirname "$0")/tap.sh"
PATH=$(realpath "${TT_BUILD:-build}"):$PATH
cd "$tmp" || exit
tallytree doctor >said
status=$?
# says ANSWER WHAT [TEXT]
says() { grep -E "^$1 +$2 " said | grep -e "${3:-}" || { cat said; return 1; }; }
# agrees WHAT COMMAND... - "yes" where the command works, else "no".
agrees()
{
    local what=$1 answer=no
    shift
    "$@" 2>err && answer=yes
    says $answer "$what"
}
try "perf events are there where record can use them" agrees "perf events" tallytree record --all-user -o a.tt true
try "the whole machine is where record -a works" agrees "whole machine" tallytree record -a -o m.tt true
try "the rate is that of the system's ticks" says yes "rate of samples" "$(python3 -c 'import time; print(round(1 / time.clock_getres(6)))') Hz"
visible() { awk '{ if ($1 ~ /[1-9a-f]/) found = 1; exit } END { exit !found }' /proc/kallsyms; }
try "kernel symbols are there where their addresses are shown" agrees "kernel symbols" visible
mounted()
{
    if grep -q "^0::" /proc/self/cgroup; then
        findmnt -n -t cgroup2
    else
        grep -q ":name=systemd:" /proc/self/cgroup && findmnt -n -t cgroup -O name=systemd
    fi
}
try "cgroups are there where they are mounted" agrees cgroups mounted
first() { head -n 1 said | grep -F "perf_event_paranoid $(cat /proc/sys/kernel/perf_event_paranoid)"; }
try "the first line has the system's setting" first
status() { if grep -q "^no " said; then [ $status = 1 ]; else [ $status = 0 ]; fi; }
try "the exit status says whether something is missing" status
other()
{
    setpriv --reuid=65534 --regid=65534 --clear-groups tallytree doctor >said
    [ $? = 1 ] && says no "whole machine" "CAP_PERFMON"
}
if [ "$(id -u)" = 0 ] && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ] && setpriv --reuid=65534 --regid=65534 --clear-groups tallytree --version >/dev/null 2>&1; then
    try "to another user it says what that one lacks" other
else
    skip "to another user it says what that one lacks" "every user may, or there is no other one"
fi
finish
