#!/bin/bash
# SPDX-License-Identifier: MIT
# Commands that are ended at any moment: the output is whole or not there, and nothing else is
# left.  ROUNDS=N: so often.
. "$(dirname "$0")/tap.sh"
build=$(cd "$TT_BUILD" && pwd)
top=$PWD
tallytree=$build/tallytree
rounds=${ROUNDS:-4}
cd "$tmp" || exit

awk 'BEGIN { for (i = 0; i < 20000; i++) printf "main;a%d;b%d;c%d %d\n", i % 200, i % 8000, i, i + 1 }' >folded
mkdir many here
"$tallytree" merge -o one folded || exit
for i in {1..8}; do cp one "many/$i"; done

# begin COMMAND... - in the background, as $pid.  A shell ignores the interrupts of what it starts
# so, and until that is another program a signal would end the test's own.
begin()
{
    env --default-signal=INT "$@" >said 2>err &
    pid=$!
    until [ "$(readlink /proc/$pid/exe)" != "$(readlink /proc/$$/exe)" ]; do :; done
}

# after MOMENT SIGNAL COMMAND... - the signal comes so many milliseconds after its start.
after()
{
    local moment=$1 signal=$2
    shift 2
    begin "$@"
    [ "$moment" = 0 ] || sleep "$(printf '%d.%03d' $((moment / 1000)) $((moment % 1000)))"
    kill -"$signal" "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
}

# whole FILE COMMAND... - writes here/FILE or not, at whatever moment it is ended.
whole()
{
    local file=$1 from last signal ended=0
    shift
    rm -rf here/*
    from=$(date +%s%N)
    "$@" >said 2>err || { cat err; return 1; }
    last=$((($(date +%s%N) - from) / 1000000))
    mv "here/$file" good
    for ((i = 0; i < rounds; i++)); do
        for signal in INT TERM KILL; do
            after $((last * i / rounds)) $signal "$@"
            [ -e "here/$file" ] || ((ended++))
            if [ -e "here/$file" ]; then cmp good "here/$file" && rm "here/$file" || return; fi
            [ -z "$(ls -A here)" ] || { ls -A here; return 1; }
            echo old >"here/$file"
            after $((last * i / rounds)) $signal "$@" --force
            cmp -s good "here/$file" || [ "$(cat "here/$file")" = old ] || return
            rm "here/$file"
            [ -z "$(ls -A here)" ] || { ls -A here; return 1; }
        done
    done
    for ((i = 0; i < 100 && ended == 0; i++)); do # a busy machine: whoever kills was late each time
        after 0 KILL "$@"
        [ -e "here/$file" ] || ended=1
        rm -rf here/*
    done
    echo "$ended of $((3 * rounds)) were ended before"
    [ $ended -gt 0 ]
}
try "merge leaves its output whole or not at all" whole out "$tallytree" merge -o here/out many
try "export does" whole out "$tallytree" export --to html -o here/out one
try "symbolize does" whole out "$tallytree" symbolize -o here/out one
try "report does" whole out "$tallytree" report tree --limit all -o here/out one

# Long work shows on a terminal how far it has come, and ctrl-c ends it.
slow_files()
{
    printf 'a;b 3\n' >fast
    rm -f slow stuck && mkfifo slow stuck
    (exec 9>slow && sleep 1 && printf 'a;c 4\n' >&9) & # a second after it is opened to be read
    exec 8<>stuck # whoever opens it to read waits no longer, and for ever for something to read
}
in_terminal()
{
    slow_files
    rm -rf here/*
    python3 "$top/test/terminal.py" "shown 50 %" "send \\x03" "killed SIGINT" -- "$tallytree" merge -o here/out fast slow stuck fast &&
        [ -z "$(ls -A here)" ]
}
try "on a terminal it is shown how far it has come, and ctrl-c ends it" in_terminal
not_in_terminal()
{
    slow_files
    timeout 500 "$tallytree" merge -o here/out fast slow fast || echo "status $?"
}
none "elsewhere it is not" not_in_terminal

# If a file without a name cannot get one.
without_proc()
{
    rm -rf here/*
    "$tallytree" merge -o good --force one && echo Tallytr >here/out || return
    unshare -m sh -c 'umount -l /proc && exec "$@"' sh "$tallytree" merge --force -o here/out one &&
        cmp good here/out && [ "$(stat -c %a here/out) $(ls -A here)" = "$(stat -c %a good) out" ]
}
if unshare -m umount -l /proc 2>/dev/null; then
    try "without /proc, too, the output is whole" without_proc
else
    skip "without /proc, too, the output is whole" "it cannot be taken away"
fi

# If the recorder is killed, the program runs on, and its recording is complete up to then.
cat >work.sh <<'END'
echo begun
for i in 1 2 3 4 5 6; do (exit $i); done
awk 'BEGIN { for (i = 0; i < 300000; i++) s += i; print s }'
echo ended
END
recorder_killed()
{
    local i
    sh work.sh >alone
    for ((i = 0; i < rounds; i++)); do
        rm -rf here/* here/.[!.]*
        mkfifo here/done
        begin "$tallytree" record -o here/out -- sh -c 'sh work.sh >did; echo >here/done'
        sleep "0.0$((i * 8 + 10))"
        kill -KILL $pid 2>/dev/null
        wait $pid 2>/dev/null
        [ -n "$(ls -d here/.out.*.live 2>/dev/null)" ] || [ -e here/out ] || continue # it had not begun
        timeout 60 cat here/done
        cmp alone did || return
        [ -e here/out ] || timeout 500 "$tallytree" merge --force -o here/gathered here/.out.*.live || { ls -lA here/.out.*; return 1; }
    done
}
try "a program goes on when record is killed, and its recordings can be read" recorder_killed
finish
