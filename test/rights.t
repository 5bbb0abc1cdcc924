#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that give up their rights, or change to a root without our files; programs with more
# rights than their user; and files of other users.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
chmod 755 "$tmp"
cd "$tmp" || exit

number() { "$tallytree" report header --csv "$2" | awk -F, -v f="$1" '$4 == f { print $NF; exit }'; }

if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    skip "programs that give up root's rights are recorded" "this is not root"
    finish
    exit
fi

cat >burn.c <<'END'
#include <unistd.h>
volatile unsigned sink;
__attribute__((noinline)) void burn(void) { for (int i = 0; i < 90000000; i++) sink = sink * 5u + 1; }
int main(void) { burn(); return getuid() == 0 ? 3 : 4; }
END
cc -g -O1 -o burn burn.c || exit

# ── Rights that are given up ─────────────────────────────────────────────────────────
other=(setpriv --reuid 65534 --regid 65534 --clear-groups)
# recorded OUT COMMAND... - burn's time is in the profile, and nothing else was printed.
recorded()
{
    "$tallytree" record -o "$@" 2>err
    [ $? = 4 ] && [ "$(grep -c '' err)" = 1 ] && "$tallytree" report flat --csv "$1" | grep ',burn,' || { cat err; return 1; }
}
try "what goes on as another user is recorded" recorded drop.tt -- "${other[@]}" ./burn
try "and what a child of that is" recorded child.tt -- "${other[@]}" sh -c './burn & wait $!'
closed()
{
    mkdir -m 700 closed && recorded closed/drop.tt -- "${other[@]}" sh -c 'echo "$TALLYTREE_FOLDER" >&2; exec ./burn' || :
    [ "$(ls -A closed)" = drop.tt ] && grep ^/var/tmp/ err && ! [ -e "$(grep ^/var/tmp/ err | xargs dirname)" ] &&
        "$tallytree" report flat --csv closed/drop.tt | grep ',burn,'
}
try "where the other user cannot come to root's folder, too" closed
if command -v su >/dev/null; then
    try "what su starts is recorded" recorded su.tt -- su -s /bin/sh -c ./burn nobody
fi
none "and no folder is left" find "$tmp" -name '.*.live'

# ── Another root ─────────────────────────────────────────────────────────────────────
# A folder in which the loader and the C library are, and a program.
make_root()
{
    local file
    mkdir root && for file in $(ldd burn | grep -o '/[^ ]*'); do cp --parents -L "$file" root; done && cp burn root
}
in_another_root()
{
    make_root || return
    "$tallytree" record -o root.tt -- chroot root /burn >out 2>err
    [ $? = 3 ] && [ ! -s out ] && ! grep -i "ld.so\|preload" err && grep -q "1 program that it started is not recorded: see the header" err &&
        "$tallytree" report flat root.tt | grep "^unseen  *.*/burn was started where the preload library is missing" || { cat err; return 1; }
}
try "a program that is started after chroot is named, and its loader says nothing" in_another_root
# What the C library starts, and bare system calls.
from_another_root()
{
    cat >starts.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    char *words[] = {"sh", "-c", "echo by number", NULL};
    FILE *f;
    if (chroot("root") != 0 || chdir("/") != 0 || system("echo by system") != 0 || !(f = popen("echo by popen", "w")))
        return 1;
    pclose(f);
    if (fork() == 0) {
        syscall(SYS_execve, "/bin/sh", words, environ);
        _exit(1);
    }
    return wait(NULL) < 0 ? 1 : 3;
}
END
    # shellcheck disable=SC2046
    cc -D_GNU_SOURCE -o starts starts.c && cp --parents -L /bin/sh $(ldd /bin/sh | grep -o '/[^ ]*') root || return
    "$tallytree" record -o starts.tt ./starts >out 2>err
    [ $? = 3 ] && printf 'by system\nby popen\nby number\n' | diff - out && ! grep -v '^tallytree: ' err
}
try "nor does it where the C library or a bare system call starts one" from_another_root
# The child has opened the folder, in memory that is its parent's.
child_in_another_root()
{
    cat >rooted.c <<'END'
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    if (vfork() == 0)
        _exit(chroot("/") != 0);
    wait(NULL);
    if (vfork() == 0) {
        execl("still", "still", (char *)0);
        _exit(1);
    }
    return wait(NULL) < 0;
}
END
    cc -D_GNU_SOURCE -o rooted rooted.c && echo 'int main(void) { return 0; }' | cc -static -o still -x c - &&
        "$tallytree" record -o rooted.tt ./rooted && "$tallytree" report flat rooted.tt | grep '^unseen  *.*/still is statically linked'
}
try "a child's chroot leaves its parent's notes of programs" child_in_another_root
same_environment()
{
    # shellcheck disable=SC2046
    cp --parents -L /usr/bin/env $(ldd /usr/bin/env | grep -o '/[^ ]*') root 2>/dev/null
    "$tallytree" record -o env.tt -- env LD_PRELOAD= true 2>/dev/null
    A=1 LD_PRELOAD='' "$tallytree" record -o env.tt -- chroot root /usr/bin/env 2>err | grep '^LD_PRELOAD=$'
}
try "and is not asked to load what is not there" same_environment

# ── Links of other people ────────────────────────────────────────────────────────────
links()
{
    mkdir -m 1777 sticky && echo precious >kept && chmod 666 kept && "${other[@]}" ln -s "$PWD/kept" sticky/out || return
    "$tallytree" merge -o sticky/out drop.tt 2>err
    [ $? = 2 ] && grep -q "sticky/out: cannot be written: Permission denied" err && [ "$(cat kept)" = precious ]
}
try "a link that another user has put into a sticky folder is not followed" links
own_links()
{
    ln -s ../kept sticky/own && "$tallytree" merge --force -o sticky/own drop.tt && [ -L sticky/own ] && cmp kept drop.tt
}
try "one's own is" own_links
escapes()
{
    "$tallytree" report "$(printf 'no\033[31m\302\2331mfile')" 2>err
    [ $? = 2 ] && grep -qF 'no\x1b[31m\u009b1mfile' err && ! grep -q "$(printf '\033\\|\302\233')" err
}
try "no code for the terminal is in what is said of a file" escapes

# ── A process that answers where root shall write ────────────────────────────────────
cat >answers.c <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static const char *output;
static void answer(int sig, siginfo_t *info, void *context)
{
    char text[5000];
    int fd;
    snprintf(text, sizeof text, "/tmp/tallytree.%d.%08x", getpid(), (unsigned)info->si_value.sival_int);
    fd = open(text, O_RDWR);
    snprintf(text, sizeof text, "sites=1\non=1\noutput=%s\n.\n", output);
    (void)!pwrite(fd, text, strlen(text), 8192);
    close(fd);
    (void)sig, (void)context;
}
int main(int argc, char **argv)
{
    struct sigaction a = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO};
    output = argv[argc - 1];
    (void)!mmap(0, 4096, PROT_READ, MAP_SHARED, open("libtallytree-switch.so.0", O_RDONLY), 0);
    sigaction(SIGRTMAX - 6, &a, 0);
    puts("begun");
    fflush(stdout);
    for (;;)
        pause();
}
END
cc -o answers answers.c || exit
printf 'push a\ntick 7\npop\n' >events
"$tallytree" replay -o events.live events && chmod 644 events.live && mkdir -m 755 roots && mkdir -m 777 evil &&
    head -c 4096 /dev/zero >libtallytree-switch.so.0 || exit
# Root's profile, which another user can neither read nor write.
"$tallytree" merge -o roots/profile.tt drop.tt && chmod 600 roots/profile.tt && cp -p roots/profile.tt before || exit
# off FLAGS OUTPUT - root switches off a process that answers that it writes into OUTPUT.
off()
{
    local status answering
    "${other[@]}" ./answers "$2" >begun &
    answering=$!
    # shellcheck disable=SC2086
    patiently grep -q begun begun && timeout 500 "$tallytree" off $1 -p "$answering" 2>err
    status=$?
    kill -9 "$answering"
    wait "$answering" 2>/dev/null
    return $status
}
evil()
{
    rm -rf evil/out evil/.[!.]* && "${other[@]}" mkdir evil/.out.1.live && "${other[@]}" cp events.live evil/.out.1.live/x
}
honest()
{
    evil && off "" "$PWD/evil/.out.1.live/x" && "$tallytree" report flat --csv evil/out | grep ',a,' &&
        [ "$(stat -c %u evil/out)" = 65534 ]
}
try "root writes the profile of another user's process as that user" honest
# kept FLAGS OUTPUT - root's files stay what they were.
kept()
{
    off "$@"
    cat err
    cmp roots/profile.tt before && [ "$(stat -c '%a %u %g' roots/profile.tt)" = "600 0 0" ] && [ "$(ls -A roots)" = "$had" ]
}
attacked()
{
    local flags had
    mkdir roots/.profile.tt.1.live && cp events.live roots/.profile.tt.1.live/x && had=$(ls -A roots)
    for flags in "" --force; do
        evil && "${other[@]}" ln -s "$PWD/roots/profile.tt" evil/out && kept "$flags" "$PWD/evil/.out.1.live/x" || return
        evil && "${other[@]}" ln -s "$PWD/roots/new" evil/out && kept "$flags" "$PWD/evil/.out.1.live/x" || return
        evil && kept "$flags" "$PWD/roots/.profile.tt.1.live/x" && kept "$flags" "$PWD/evil/../roots/.profile.tt.1.live/x" || return
        evil && "${other[@]}" ln -s "$PWD/roots" evil/.roots.1.live && kept "$flags" "$PWD/evil/.roots.1.live/.profile.tt.1.live/x" || return
    done
    cmp roots/.profile.tt.1.live/x events.live
}
try "and nothing where that user may not, whatever path the process answers" attacked

# ── More rights than the user has ────────────────────────────────────────────────────
setuid()
{
    cat >asks.c <<'END'
int main(void) { return 0; }
END
    cc -o asks asks.c -Wl,--no-as-needed -L"$TT_BUILD" -l:libtallytree-switch.so.0 -Wl,-rpath,"$TT_BUILD" || return
    mkdir -m 777 theirs mine
    TALLYTREE=calls TALLYTREE_FUNCTIONS=1 TALLYTREE_FOLDER=$PWD/theirs "${other[@]}" ./asks
    [ -n "$(ls theirs)" ] || { echo "it does not record at all"; return 1; }
    chmod u+s asks
    TALLYTREE=calls TALLYTREE_FUNCTIONS=1 TALLYTREE_FOLDER=$PWD/mine "${other[@]}" ./asks
    [ -z "$(ls mine)" ]
}
try "a set-user-ID program does not do what its environment says" setuid
if "$tallytree" record --counter page-faults -o o.tt true 2>err; then
    # The children of a shell: one has the user's rights, the other more.
    from_outside()
    {
        cp burn gains && chown 65534 gains && chmod u+s gains && "$tallytree" record --counter page-faults -o o.tt sh -c "./burn; ./gains; ./gains; $1" 2>err
        "$tallytree" report header --csv o.tt | awk -F, '$4 == "unseen" { print $5 }' >said
        cat err said
        [ "$(wc -l <said)" = 1 ] && grep 'gains has more rights' said && grep "1 program that it started is not recorded" err &&
            "$tallytree" report flat --csv o.tt | grep ',burn,'
    }
    try "a set-user-ID child of a program that is recorded from outside is named" from_outside "true"
    try "once, and its neighbours are not" from_outside "/bin/true & ./burn; wait; exec ./gains"
else
    skip "a set-user-ID child of a program that is recorded from outside is named" "$(tail -n 1 err)"
fi
finish
