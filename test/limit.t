#!/bin/bash
# SPDX-License-Identifier: MIT
# test/limit ends all processes that a test leaves, in any session.
. "$(dirname "$0")/tap.sh"

cat >"$tmp/forgets" <<'END'
#!/bin/bash
sleep 1000 &
echo $!
setsid sleep 1001 &
echo $!
setsid sh -c 'sleep 1002 & echo $!; exec sleep 1003' &
echo $!
sh -c 'setsid sh -c "trap \"\" TERM HUP INT; echo \$\$; while :; do sleep 1; done" &'
while [ "$(wc -l <"$1")" -lt 5 ]; do sleep 0.02; done
exit 5
END
chmod +x "$tmp/forgets"
all_gone()
{
    local pid
    [ "$(wc -l <"$tmp/left")" = 5 ] || return
    while read -r pid; do
        ! kill -0 "$pid" || { ps -f -p "$pid"; return 1; }
    done <"$tmp/left"
}
test/limit "$tmp/forgets" "$tmp/left" >"$tmp/left"
equal "a test's status is its own" $? 5
try "what it started is gone, in other sessions too" all_gone
test/limit sh -c 'kill -SEGV $$' 2>/dev/null
equal "one that was killed has the signal's status" $? 139

# A signal: of the job alone.
test/limit "$tmp/forgets" /dev/null >"$tmp/left" &
limit=$!
patiently sh -c "[ \$(wc -l <'$tmp/left') = 5 ]"
kill -TERM $limit
wait $limit
try "and so it is when it is told to end" all_gone
finish
