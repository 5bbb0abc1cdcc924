#!/bin/bash
# SPDX-License-Identifier: MIT
# The systemd unit: systemd's and debhelper's own tools say what it is, and what a package does
# with it.
. "$(dirname "$0")/tap.sh"
PATH=$(realpath "${TT_BUILD:-build}"):$PATH
unit=$PWD/debian/tallytree.service

if command -v systemd-analyze >/dev/null; then
    verifies()
    {
        sed "s|/usr/bin/tallytree|$(command -v tallytree)|" "$unit" >"$tmp/tallytree.service" &&
            systemd-analyze verify --man=no "$tmp/tallytree.service" 2>&1 | grep 'tallytree.service' && return 1
        return 0
    }
    try "systemd finds nothing wrong with the unit" verifies
else
    skip "systemd finds nothing wrong with the unit" "systemd-analyze is not installed"
fi

# Each flag is in the man page, and the command accepts the line, with another output.
line=$(sed -n 's/^ExecStart=//p' "$unit")
flags=$(sed -n 's/^Environment="RECORD_FLAGS=\(.*\)"$/\1/p' "$unit")
starts()
{
    local words
    words=${line/\$RECORD_FLAGS/$flags}
    words=${words/\/usr\/bin\//}
    # shellcheck disable=SC2086
    timeout 60 ${words/\/var\/lib\/tallytree/$tmp\/chain} --duration 0.2 2>"$tmp/err"
    local status=$?
    cat "$tmp/err"
    [ $status = 0 ] && ls "$tmp"/chain/chain.*.tt || grep "perf events of all processes are forbidden" "$tmp/err"
}
try "its line is one that the command takes" starts

sh_in() { (cd "$1" && "$2"); }
if command -v dh_installsystemd >/dev/null; then
    mkdir -p "$tmp/package/debian"
    cp debian/control debian/changelog debian/tallytree.service "$tmp/package/debian"
    install_unit() { (cd "$tmp/package" && eval "$(sed -n 's/^\tdh_installsystemd/dh_installsystemd -ptallytree/p' "$OLDPWD/debian/rules")"); }
    try "debhelper installs it" install_unit
    try "where systemd looks" cmp "$unit" "$(find "$tmp/package/debian/tallytree" -name tallytree.service)"
    # Without the flags, the unit is started, and enabled even if it was never installed.
    enables()
    {
        cat debian/.debhelper/generated/tallytree/postinst.* >script
        grep -E '_dh_action=start|deb-systemd-invoke start' script
        grep -q 'if deb-systemd-helper debian-installed' script || grep 'deb-systemd-helper enable' script
    }
    none "and the package does not enable or start it" sh_in "$tmp/package" enables
    mkdir -p "$tmp/plain/debian"
    cp debian/control debian/changelog debian/tallytree.service "$tmp/plain/debian"
    (cd "$tmp/plain" && dh_installsystemd -ptallytree)
    try "as it would by default" sh_in "$tmp/plain" enables
else
    skip "the package installs it, and does not enable it" "debhelper is not installed"
fi
finish
