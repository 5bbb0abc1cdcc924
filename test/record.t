#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that were built for nothing of ours, recorded: what they do, and where they
# spend their time.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
work=$tmp/work
mkdir "$work"

# number FACT PROFILE - of the header.
number()
{
    "$tallytree" report header --csv "$2" | awk -F, -v f="$1" '$4 == f { print $NF; exit }'
}

# same NAME COMMAND... - does the same under record, and leaves a profile with samples of
# which 99 in 100, or all but one, have whole stacks.  How many there are is the machine's: where
# many programs share it, a clock that ticks finds each of them seldom.
same()
{
    local name=$1 bare recorded samples bad
    shift
    "$@" >"$work/bare.out" 2>"$work/bare.err" </dev/null
    bare=$?
    "$tallytree" record -o "$work/$name.tt" -- "$@" >"$work/out" 2>"$work/err" </dev/null
    recorded=$?
    unskipped "$work/err"
    tail -n 1 "$work/err"
    [ "$bare" = "$recorded" ] || { echo "status $recorded, not $bare"; return 1; }
    cmp "$work/bare.out" "$work/out" || return
    sed '$d' "$work/err" | cmp "$work/bare.err" - || return
    samples=$(sed -n '$s/.*: \([0-9]*\) samples.*/\1/p' "$work/err")
    [ "$samples" -ge 3 ] || { echo "$samples samples"; return 1; }
    bad=$(($(number stacks.broken "$work/$name.tt") + $(number stacks.truncated "$work/$name.tt")))
    [ $((bad * 100)) -le $((samples < 100 ? 100 : samples)) ] || { echo "$bad stacks of $samples are broken"; return 1; }
}

# names NAME FUNCTION... - the profile knows these functions, and the first has most time.
names()
{
    local file=$work/$1.tt function
    shift
    "$tallytree" report flat --sort inclusive --limit all --csv "$file" >"$work/flat" || return
    for function; do
        grep -q ",$function," "$work/flat" || { echo "no $function"; head "$work/flat"; return 1; }
    done
}

seq 1 200000 >"$work/data"
cat >"$work/work.sql" <<'END'
create table t(a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000)
insert into t select i, 'row ' || (i * 7919 % 300000) from n;
create index u on t(b);
select count(*), max(b) from t where b in (select b from t where a % 3 = 0);
END
cat >"$work/work.lua" <<'END'
local t = {}
for i = 1, 300000 do t[i] = i * 7919 % 300007 end
table.sort(t, function(a, b) return a > b end)
print(t[1], #t)
END
cat >"$work/work.py" <<'END'
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(33), sum(hash(str(i)) % 7 >= 0 for i in range(200000)))
END

try "xz does the same, and its stacks are whole" same xz xz -c -6 -T1 "$work/data"
try "xz spends its time in compressing" names xz lzma_code
try "sqlite3 does the same, and its stacks are whole" same sqlite3 sqlite3 -init /dev/null :memory: ".read $work/work.sql"
try "sqlite3 spends its time in steps" names sqlite3 sqlite3_step
try "lua does the same, and its stacks are whole" same lua lua5.4 "$work/work.lua"
try "python3 does the same, and its stacks are whole" same python /usr/bin/python3 "$work/work.py"

children()
{
    "$tallytree" record -o "$work/children.tt" sh -c "true; xz -c $work/data >$work/z; true" &&
        "$tallytree" report flat --limit 1 --json "$work/children.tt" | grep -q '"role":"entry".*\[[01.]*[1-9]' &&
        names children lzma_code
}
try "the time of children is not lost beside processes that had none" children

# ── With scopes of its own ───────────────────────────────────────────────────────────
cat >"$work/scoped.c" <<'END'
#include <tallytree.h>
static volatile unsigned sink;
__attribute__((noinline)) void leaf(int n) { while (n--) sink = sink * 1103515245u + 12345u; }
__attribute__((noinline)) void inside(int n) { leaf(n); sink++; }
__attribute__((noinline)) void outside(int n) { leaf(n); sink += 2; }
__attribute__((noinline)) void part(int n) { TT_SCOPE("scope of part"); inside(n); }
int main(void) { for (int i = 0; i < 600; i++) { part(300000); outside(100000); } return 0; }
END
scoped()
{
    cc -O2 -Iinclude -o "$work/scoped" "$work/scoped.c" -L"$TT_BUILD" -ltallytree \
        -Wl,-rpath,"$TT_BUILD" || return
    "$tallytree" record "$@" -o "$work/scoped.tt" "$work/scoped"
}
# paths METRIC - of contexts with figures, a line each.
paths()
{
    "$tallytree" report tree -m "$1" --limit all --threshold 0 --csv "$work/scoped.tt" |
        awk -F, '$1 == "entry" { path[$2] = $(name); p = ""; for (i = 1; i <= $2; i++) p = p ";" path[i]; print p }
                 NR == 1 { for (i = 1; i <= NF; i++) if ($i == "name") name = i }' name=1
}
below()
{
    scoped "$1" || return
    paths "$2" | grep -qx ";scope of part;part;inside;leaf" &&
        paths time | grep -qx ";_start;__libc_start_main\(_impl\)\?;__libc_start_call_main;main;outside;leaf" &&
        ! paths "$2" | grep "main.*inside" || { paths "$2"; return 1; }
}
try "native frames hang below sampled scopes" below --sampled time
try "and below timed ones, with a metric of their own" below --exact cpu

# ── What is passed on ────────────────────────────────────────────────────────────────
# status WANTED COMMAND...
status()
{
    local wanted=$1 got
    shift
    "$@"
    got=$?
    [ "$got" = "$wanted" ] || { echo "status $got, not $wanted"; return 1; }
}

record=("$tallytree" record -o "$work/any.tt" --)
try "an exit status is passed on" status 3 "${record[@]}" sh -c 'exit 3'
try "a signal is passed on" status 143 "${record[@]}" sh -c 'kill -TERM $$'
try "a program that is not there is status 127" status 127 "${record[@]}" no-such-program
try "what cannot be executed is status 126" status 126 "${record[@]}" /etc/passwd
nowhere_to_write()
{
    status 125 env -C /proc "$(realpath "$tallytree")" record true 2>"$work/err" &&
        grep -q "; -o OUT writes it elsewhere" "$work/err"
}
try "where nothing can be written it is said what helps" nowhere_to_write
into_folder()
{
    mkdir -p "$work/a-folder"
    status 125 "$tallytree" record -o "$work/a-folder" -- touch "$work/has-run" 2>"$work/err" &&
        [ ! -e "$work/has-run" ] && grep -q "record: -o wants a file, and '$work/a-folder' is a folder" "$work/err"
}
try "a folder is no output, which is said before anything runs" into_folder
try "our own failure is status 125" status 125 "$tallytree" record --recursion no -- true

terminate()
{
    "${record[@]}" sh -c 'trap "echo got it; exit 7" TERM; echo ready; while :; do sleep 0.05; done' >"$work/out" &
    patiently grep -q ready "$work/out" || return
    kill -TERM $!
    reap $!
    [ $? = 7 ] && grep -q "got it" "$work/out"
}
try "a signal that is sent to us reaches the program" terminate

ignored()
{
    bash -c "trap '' CHLD; exec \"\$@\"" bash "${record[@]}" awk '/SigIgn/ { print $2 } END { exit 3 }' /proc/self/status >"$work/out"
    [ $? = 3 ] && [ $((0x$(cat "$work/out") >> 16 & 1)) = 1 ]
}
try "an exit status is passed on where SIGCHLD is ignored, and the program finds it so" ignored

# Each signal that has a handler is sent to us alone, after the program has said that it had the one before.
cat >"$work/all_signals.py" <<'END'
import os, signal, subprocess, sys
NUMBERS = sorted(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, signal.SIGCHLD})
if len(sys.argv) == 1:
    signal.pthread_sigmask(signal.SIG_BLOCK, NUMBERS)
    print(0, flush=True)
    while True:
        info = signal.sigwaitinfo(NUMBERS)
        print(info.si_signo, flush=True)
        if info.si_signo == NUMBERS[-1]:
            sys.exit(9)
process = subprocess.Popen(sys.argv[1:] + [sys.executable, __file__], stdout=subprocess.PIPE, restore_signals=False)
for number in [0] + NUMBERS:
    if number:
        os.kill(process.pid, number)
    line = process.stdout.readline()
    if line != b"%d\n" % number:
        sys.exit("%d: %r" % (number, line))
sys.exit(process.wait() != 9)
END
all_signals() { python3 "$work/all_signals.py" "${record[@]}" 2>&1; }
try "any signal that another process sends us reaches the program" all_signals

# ── Stops ────────────────────────────────────────────────────────────────────────────
cat >"$work/stops.py" <<'END'
import os, signal, sys
child = os.fork()
if child == 0:
    os.execv(sys.argv[2], sys.argv[2:])
_, status = os.waitpid(child, os.WUNTRACED)
print("stopped by", os.WSTOPSIG(status) if os.WIFSTOPPED(status) else "nothing", flush=True)
if sys.argv[1] == "wake":
    os.kill(child, signal.SIGCONT)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
END
stops() # MODE SIGNAL RECORD... -- SCRIPT
{
    local mode=$1 number=$2
    shift 2
    status 6 timeout -k 5 500 setsid python3 "$work/stops.py" "$mode" "$@" >"$work/out" && grep "^stopped by $number$" "$work/out"
}
try "our parent sees that a program stops, and continues it" stops wake 19 "${record[@]}" sh -c 'kill -STOP $$; exit 6'
try "what continues the program alone need not know of us" stops none 19 "${record[@]}" \
    sh -c '(until grep -q "^State:.T" /proc/$$/status; do sleep 0.02; done; kill -CONT $$) & kill -STOP $$; exit 6'
if "$tallytree" record -o "$work/any.tt" --counter page-faults true 2>/dev/null; then
    try "also where it is recorded from outside" stops wake 19 "$tallytree" record -o "$work/any.tt" --counter page-faults -- sh -c 'kill -STOP $$; exit 6'
else
    skip "also where it is recorded from outside" "not permitted"
fi
cat >"$work/shell.py" <<'END'
import os, pty, sys
command = " ".join("'%s'" % word for word in sys.argv[1:])
child, terminal = pty.fork()
if child == 0:
    os.environ["PS1"] = "$ "
    os.execlp("bash", "bash", "--norc", "--noprofile", "-i")
seen = b""
def expect(text):
    global seen
    while text not in seen:
        seen += os.read(terminal, 4096)
    seen = seen[seen.index(text) + len(text):]
def say(text):
    os.write(terminal, text)
expect(b"$ ")
say(command.encode() + b"\n")
expect(b"begun 7")
say(b"\x1a")
expect(b"Stopped")
say(b"echo =$((6 * 7))=\n")
expect(b"=42=")
say(b"fg\n")
expect(b"going on 8")
say(b"\x03")
say(b"echo =$?=\n")
expect(b"=130=")
say(b"exit\n")
END
job() { timeout -k 5 500 python3 "$work/shell.py" "${record[@]}" bash -c 'trap "echo going on \$((4 + 4))" CONT; echo begun $((3 + 4)); while :; do sleep 0.1; done' || { echo "status $?"; return 1; }; }
try "a shell stops it by ctrl-z, continues it, and ends it by ctrl-c" job

# A child exists, but its number is not known yet: a signal comes, or it fails.
cat >"$work/early.c" <<'END'
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
pid_t fork(void)
{
    static int forks;
    pid_t (*next)(void) = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork"), child = next(), killer;
    siginfo_t info;
    if (child <= 0 || forks++)
        return child;
    if (getenv("LATE") || getenv("STOPPED"))
        return child;
    if (getenv("FAILS"))
        waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
    else if ((killer = next()) == 0)
        _exit(kill(getppid(), SIGTERM));
    else
        waitid(P_PID, (id_t)killer, &info, WEXITED);
    return child;
}
END
cat >>"$work/early.c" <<'END'
/* STOPPED, or LATE: the child is stopped, or killed, when it has made its folder, of which the parent does not know yet. */
int mkdir(const char *path, mode_t mode)
{
    static int mkdirs;
    int (*next)(const char *, mode_t) = (int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir"), result = next(path, mode);
    if (getenv("LATE"))
        raise(SIGTERM);
    if (getenv("STOPPED") && !mkdirs++)
        raise(SIGSTOP);
    return result;
}
END
cc -D_GNU_SOURCE -shared -fPIC -o "$work/early.so" "$work/early.c" -ldl
early() { timeout -k 5 500 env LD_PRELOAD="$work/early.so" "$@"; }
try "be it as early as can be" status 143 early "${record[@]}" sleep 100
# None of the folders that recordings are in while a program runs.
nothing_left() { ! compgen -G "$work/.any.tt.*.live" || { ls -laR "$work"/.any.tt.*.live/; return 1; }; }
late()
{
    status 143 early LATE=1 "${record[@]}" sleep 100 2>"$work/err" && nothing_left &&
        grep "sleep: nothing was recorded: its process was killed before its recording began" "$work/err"
}
try "or when its folder has just been made" late
try "a child that stops before the program begins is one that has stopped" \
    stops wake 19 "$(command -v env)" LD_PRELOAD="$work/early.so" STOPPED=1 "${record[@]}" sh -c 'exit 6'
try "what cannot begin is our own failure, however soon" \
    status 125 early FAILS=1 "$tallytree" record -o "$work/no/such/folder" true

input()
{
    [ "$(seq 5 | "${record[@]}" cat 2>"$work/err")" = "$(seq 5)" ]
}
try "standard input is the program's" input

killed()
{
    "${record[@]}" sh -c 'i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done; kill -KILL $$'
    [ $? = 137 ] && [ "$(number open "$work/any.tt")" -ge 1 ]
}
try "a program that is killed keeps its samples" killed

became_another()
{
    "${record[@]}" sh -c 'exec sh -c "exec true"' 2>"$work/err" && [ "$(number open "$work/any.tt")" = 0 ] &&
        [ "$(number recordings "$work/any.tt")" -ge 3 ] && grep -q " of 1 process in" "$work/err" || {
        cat "$work/err"
        return 1
    }
}
try "a process that becomes another program is one, and ended" became_another

# A script that starts what nothing can be loaded into, in every way that shells do.
unseen()
{
    printf 'int main(void) { return 0; }\n' >"$work/zero.c"
    cc -static -o "$work/zero" "$work/zero.c" && printf '#!/bin/sh\ncd %s\n./zero\nzero\nenv zero\nenv -i /bin/true\n/bin/true\n' "$work" >"$work/script" &&
        chmod +x "$work/script" && PATH=$PATH:$work "${record[@]}" "$work/script" 2>"$work/err" || { cat "$work/err"; return 1; }
    "$tallytree" report header --csv "$work/any.tt" | grep '^entry.*,unseen,' | cut -d, -f5 | sed "s|$work/||" >"$work/said"
    printf '%s\n' "/bin/true was started without LD_PRELOAD" "zero is statically linked: nothing can be loaded into it" | diff - "$work/said" &&
        grep -q "2 programs that it started are not recorded" "$work/err" && nothing_left
}
try "programs that it starts, and that cannot be recorded, are named in the header" unseen

# A loader at another path is one of another C library: our library is not in the environment.
other_loader()
{
    local loader
    loader=$(readelf -l "$tallytree" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
    cp "$loader" "$work/loader" && printf '#include <stdio.h>\n#include <stdlib.h>\nint main(void) { puts(getenv("LD_PRELOAD")); return 5; }\n' >"$work/other.c" &&
        cc -Wl,--dynamic-linker="$work/loader" -o "$work/other" "$work/other.c" && printf '#! %s\n' "$work/other" >"$work/other.script" &&
        chmod +x "$work/other.script" || return
    for way in 'other' 'other.script' ; do
        status 5 "${record[@]}" sh -c "$work/$way" >"$work/said" 2>"$work/err" && [ "$(cat "$work/said")" = "" ] &&
            grep -q "1 program that it started is not recorded" "$work/err" || { cat "$work/said" "$work/err"; return 1; }
    done
    status 5 "${record[@]}" /usr/bin/python3 -c 'import os, sys; os.execve(os.open(sys.argv[1], os.O_RDONLY), ["x"], os.environ)' "$work/other" >"$work/said" &&
        [ "$(cat "$work/said")" = "" ] && "$tallytree" report header --csv "$work/any.tt" | grep "^entry.*,unseen,.*/other is started by $work/loader"
}
try "a program with another loader is started without our library, and named" other_loader
other_library()
{
    "$@" -o "$work/seven.other" "$work/seven.c" && status 7 "${record[@]}" sh -c "$work/seven.other" 2>"$work/err" &&
        grep -v "^tallytree: " "$work/err"
    [ $? = 1 ]
}
printf 'int main(void) { return 7; }\n' >"$work/seven.c"
for compiler in "musl-gcc" "cc -m32"; do
    # shellcheck disable=SC2086
    if $compiler -o "$work/seven.other" "$work/seven.c" 2>/dev/null && { "$work/seven.other"; [ $? = 7 ]; }; then
        try "what $compiler makes runs as ever" other_library $compiler
    else
        skip "what $compiler makes runs as ever" "it cannot be built"
    fi
done

# The limits are too low for a recording, and not for the program.
no_room()
{
    local limit
    printf 'int main(void) { return 7; }\n' >"$work/seven.c" && cc -o "$work/seven" "$work/seven.c" || return
    for limit in "-f 8:: its recording could not begin: .*created.*File too large" "-v 40000: has a limit of memory"; do
        status 7 "${record[@]}" bash -c "ulimit ${limit%%:*}; exec $work/seven" &&
            "$tallytree" report header --csv "$work/any.tt" | grep "^entry.*,unseen,.*/seven${limit#*:}" || return
    done
}
try "a program whose recording cannot begin is named there, too, with the reason" no_room

# with_disk SIZE COMMAND... - with an empty file system of that size as $work/disk.  Recordings are in it, as every user can get there.
with_disk() { mkdir -p "$work/disk" && chmod o+x "$tmp" "$work" && unshare -m bash -c 'mount -t tmpfs -o size='"$1"' none "$0" && cd "$0" && "$@"' "$work/disk" "${@:2}"; }
# Nothing can begin there: the program is not run.
no_beginning()
{
    with_disk 64k bash -c '"$@"; [ $? = 125 ] && [ ! "$(ls -A)" ]' bash "$tallytree" record "$@" -o tt touch "$work/was-run" 2>"$work/err"
    local status=$?
    cat "$work/err"
    [ $status = 0 ] && [ ! -e "$work/was-run" ] && grep -q "$work/disk.*No space left on device" "$work/err"
}
# The program fills the disk: its status is kept, and a message says that there is no profile, and how to make it.
no_end()
{
    # shellcheck disable=SC2016
    with_disk 8M bash -c '"$@"; [ $? = 7 ] && [ ! -e tt ] && rm stuff && "$1" merge -o tt .tt.*.live && "$1" report tt >/dev/null' \
        bash "$tallytree" record -o tt "$@" bash -c 'cat /dev/zero >stuff 2>/dev/null; exit 7' 2>"$work/err"
    local status=$?
    cat "$work/err"
    [ $status = 0 ] && grep -q "tt: cannot be written: No space left on device" "$work/err" && grep -q "merge -o OUT" "$work/err" &&
        grep -q "tt was not written; the exit status is that of bash" "$work/err"
}
if with_disk 8M true 2>/dev/null; then
    try "without room for a recording, the program is not run" no_beginning
    try "without room for the profile, the status is the program's" no_end
else
    skip "without room for a recording, the program is not run" "no file system can be mounted here"
    skip "without room for the profile, the status is the program's" "no file system can be mounted here"
fi

at_once()
{
    printf '#include <stdlib.h>\n#include <sys/wait.h>\n#include <unistd.h>\nint main(void) { if (fork() == 0) _Exit(3); if (vfork() == 0) _exit(5); while (wait(NULL) > 0); _exit(4); }\n' >"$work/once.c"
    cc -o "$work/once" "$work/once.c" && status 4 "${record[@]}" "$work/once" && [ "$(number open "$work/any.tt")" = 0 ]
}
try "what ends at once has ended its recording" at_once

# A process prints the time that it used, in main and in all, however it ends.
cat >"$work/spends.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static unsigned long long spent(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}
int main(int argc, char **argv)
{
    unsigned long long begun = spent();
    if (argc < 3)
        return 0;
    while (spent() - begun < strtoull(argv[2], NULL, 10) * 1000000)
        ;
    if (strcmp(argv[1], "exec") == 0)
        fprintf(stderr, "%llu\n", spent() - begun), execl("/bin/true", "true", NULL);
    fprintf(stderr, "%llu %llu\n", spent() - begun, spent());
    if (strcmp(argv[1], "_exit") == 0)
        _exit(0);
    return 0;
}
END
cc -o "$work/spends" "$work/spends.c"
spends() # HOW
{
    local main all cpu
    "$tallytree" record -o "$work/any.tt" "$work/spends" "$1" 30 2>"$work/err"
    read -r main all <"$work/err"
    cpu=$(number cpu "$work/any.tt")
    [ "$cpu" -ge "$main" ] && [ "$cpu" -le "${all:-$((main + 500000000))}" ] && return
    echo "$cpu, not $main to $all"
    return 1
}
for how in return _exit exec; do
    try "the header says what CPU time there was, by $how" spends $how
done

# Each is over before its first period; what no sample met is said, to the last digit.
short()
{
    local total cpu
    "$tallytree" record -o "$work/any.tt" sh -c 'for i in $(seq 60); do "$0" return 3; done' "$work/spends" 2>"$work/err"
    unskipped "$work/err"
    cpu=$(number cpu "$work/any.tt")
    total=$("$tallytree" report --csv "$work/any.tt" | awk -F, '$1 == "total" { print $6 }')
    "$tallytree" report "$work/any.tt" >"$work/out"
    [ "$(sed -n '$s/.*: \([0-9]*\) samples.*/\1/p' "$work/err")" -ge 5 ] &&
        grep "^unsampled: $(echo "$cpu $total" | awk '{ printf "%.2f", 100 * ($1 - $2) / $1 }') % of CPU time" "$work/out" &&
        "$tallytree" report --exclude main "$work/any.tt" >"$work/out" && ! grep unsampled "$work/out" &&
        "$tallytree" report --prune main "$work/any.tt" | grep -q "^unsampled: " && return
    echo "$total of $cpu"
    tail -n 1 "$work/err"
    cat "$work/out"
    return 1
}
try "processes that are short have their samples, and what they lack is said" short

# The reader of its output closes the pipe after a line.
unread()
{
    mkfifo "$work/fifo"
    read -r _ <"$work/fifo" &
    "$tallytree" record -o "$work/unread.tt" seq 3 >"$work/fifo" 2>&1
    wait $!
    [ -s "$work/unread.tt" ] && ! compgen -G "$work/.unread.tt.*.live"
}
try "what is left is the profile, even where nobody reads to the end" unread

# A child that continues has not waited for its own child, which was killed.
cat >"$work/goes_on.c" <<'END'
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    int ends[2];
    pid_t child, killed;
    siginfo_t info;
    char byte;
    if (pipe(ends) != 0)
        return 1;
    child = fork();
    if (child == 0) {
        killed = fork();
        if (killed == 0)
            raise(SIGKILL);
        waitid(P_PID, (id_t)killed, &info, WEXITED | WNOWAIT);
        if (write(ends[1], "x", 1) != 1)
            return 1;
        for (;;)
            pause();
    }
    if (read(ends[0], &byte, 1) != 1)
        return 1;
    printf("%d\n", (int)child);
    return 6;
}
END
goes_on()
{
    cc -o "$work/goes_on" "$work/goes_on.c" && "${record[@]}" "$work/goes_on" >"$work/out" 2>"$work/err"
    local status=$?
    kill "$(cat "$work/out")"
    rm -rf "$work"/.any.tt.*.live
    [ $status = 6 ] && grep "tallytree: 1 of them still runs" "$work/err" || { cat "$work/err"; return 1; }
}
try "who goes on is said, and who was killed does not" goes_on

# ── What is left of other runs, and of processes that were killed ────────────────────
# A container's processes have the same numbers again: here all have that come next.
stale()
{
    mkdir "$work/stale" && (
        cd "$work/stale" && eval "mkdir .a.tt.{$$..$(($$ + 4000))}.live" && touch before && find . >../stale.before
        "$tallytree" record -o a.tt sh -c 'ls; exit 4' >out 2>err
        [ $? = 4 ] && [ "$(cat out)" = "$(printf 'before\nerr\nout')" ] && [ -s a.tt ] || { cat out err; exit 1; }
        rm a.tt out err
        find . | cmp - ../stale.before
    )
}
try "folders of earlier runs stay, and their names stop no program" stale
rm -r "$work/stale"

begun()
{
    "${record[@]}" bash -c ': >"$TALLYTREE_FOLDER/killed.1"; head -c 4096 /dev/zero >"$TALLYTREE_FOLDER/killed.2"; exit 5' 2>"$work/err"
    [ $? = 5 ] && grep -q "^tallytree: 2 of [0-9]* recordings have nothing in them: their processes were killed at their start$" "$work/err" &&
        "$tallytree" report flat "$work/any.tt" | grep "^missing .*2 of " && ! compgen -G "$work/.any.tt.*.live"
}
try "processes that are killed at birth take nothing from the others, and are told of" begun

cat >"$work/twice.c" <<'END'
volatile unsigned sink;
__attribute__((noinline)) void here(void) { for (int i = 0; i < 3000000; i++) sink = sink * 5u + 1; for (int i = 0; i < 3000000; i++) sink = sink * 3u + 1; }
int main(void) { for (;;) here(); }
END
# live COMMAND... - of a program that runs, when it has been sampled a few times.
live()
{
    "$@" "$work"/.live.tt.*.live >"$work/shown" 2>"$work/err" && grep -q here "$work/shown"
}
live_names()
{
    cc -g -O1 -o "$work/twice" "$work/twice.c" || return
    "$tallytree" record -o "$work/live.tt" "$work/twice" &
    local recorder=$! status=0
    patiently live "$tallytree" report flat --csv && [ "$(grep -c 'here' "$work/shown")" = 1 ] &&
        ! grep 'twice+0x' "$work/shown" && live "$tallytree" report tree && live "$tallytree" export --to folded || status=1
    kill -TERM $recorder
    wait $recorder
    [ $status = 0 ] || { cat "$work/shown"; return 1; }
}
try "what still runs has names already, and a function is one row" live_names

# A recorder that is recorded hands on what it was asked for, and not what its own recorder was.
recorded_itself()
{
    "$tallytree" record --wall --heap --maps --delay 0.001 -o "$work/outer.tt" "$tallytree" record -o "$work/inner.tt" sh -c 'env >"$0"; exit 3' "$work/env"
    [ $? = 3 ] && grep ^TALLYTREE "$work/env" && ! grep -E '^TALLYTREE_(WALL|HEAP|MAPS|WHEN)=' "$work/env"
}
try "a program that is recorded may record" recorded_itself

sanitized()
{
    printf 'int main(void) { volatile int *p = __builtin_malloc(4); *p = 1; return *p + 6; }\n' >"$work/seven.c"
    cc -fsanitize=address -o "$work/seven" "$work/seven.c" && ASAN_OPTIONS=detect_leaks=0 status 7 "${record[@]}" "$work/seven"
}
try "a program with the address sanitizer runs" sanitized

# ── What cannot be recorded ──────────────────────────────────────────────────────────
printf 'int main(void) { return 5; }\n' >"$work/five.c"
refused()
{
    local reason=$1
    shift
    status 125 "$@" 2>"$work/err" && grep -q "$reason" "$work/err"
}
statically()
{
    cc -static -o "$work/five" "$work/five.c" && refused "statically linked" "$tallytree" record --exact -o "$work/any.tt" "$work/five"
}
try "scopes of a static program are refused with the reason" statically
setuid()
{
    cc -o "$work/five" "$work/five.c" && chown 1:1 "$work/five" && chmod u+s "$work/five" || return 0
    refused "is setuid" "${record[@]}" "$work/five"
}
try "a setuid program is refused with the reason" setuid

report()
{
    (cd "$work" && "$tallytree" lua5.4 work.lua 2>err) && grep -q "inclusive" "$work/err" &&
        ls "$work"/tallytree.lua5.4.*
}
try "a program alone is recorded and reported" report
# ── Names ────────────────────────────────────────────────────────────────────────────
# A program whose debug information lies elsewhere.
printf 'static volatile unsigned sink;\n__attribute__((noinline)) void hidden_leaf(int n)\n{\n    while (n--)\n        sink = sink * 1103515245u + 12345u;\n}\nint main(int c, char **v) { (void)v; for (int i = 0; i < (c > 1 ? 30 : 300); i++) hidden_leaf(300000); return 0; }\n' >"$work/hidden.c"
cc -O2 -g -o "$work/hidden" "$work/hidden.c" && mkdir "$work/elsewhere" &&
    objcopy --only-keep-debug "$work/hidden" "$work/elsewhere/hidden.debug" && strip "$work/hidden"
hidden()
{
    "$tallytree" record "$@" -o "$work/hidden.tt" "$work/hidden" &&
        "$tallytree" report flat --limit all --csv "$work/hidden.tt" >"$work/flat"
}
elsewhere()
{
    hidden && ! grep -q ",hidden_leaf," "$work/flat" && hidden --symbols "$work/elsewhere" && grep -q ",hidden_leaf," "$work/flat"
}
try "names are found where --symbols says" elsewhere
# few - of a program that is short, the same function as of a longer run
few()
{
    "$tallytree" record --symbols "$work/elsewhere" -o "$work/few.tt" "$work/hidden" few && "$tallytree" report flat --limit all --csv "$work/few.tt" >"$work/few" &&
        grep -q "hidden_leaf,.*hidden\.c" "$work/flat" && grep -q "hidden_leaf,.*hidden\.c" "$work/few"
}
try "few samples have the names, files and lines that many have" few
nowhere()
{
    status 125 "$tallytree" record --symbols "$work/nowhere" -- true 2>"$work/err" && grep -q "$work/nowhere: No such file or directory" "$work/err" &&
        status 2 "$tallytree" symbolize --symbols "$work/err" "$work/any.tt" 2>"$work/says" && grep -q "$work/err: Not a directory" "$work/says"
}
try "and a folder that is not there is told of" nowhere
lines()
{
    hidden --symbols "$work/elsewhere" --lines &&
        "$tallytree" report lines --limit 1 --csv "$work/hidden.tt" | grep -q "hidden.c"
}
try "lines have costs of their own" lines
in_report()
{
    (cd "$work" && "$tallytree" --lines --symbols elsewhere ./hidden 2>err) && grep -q " hidden_leaf$" "$work/err" &&
        ! grep -q "hidden.c:" "$work/err"
}
try "and functions stand in the report as ever" in_report

terminal_colours()
{
    (cd "$work" && NO_COLOR='' TERM=xterm script -qec "'$tallytree' ./hidden" /dev/null </dev/null >colored &&
        TERM=dumb script -qec "'$tallytree' ./hidden" /dev/null </dev/null >plain) && grep -q inclusive "$work/plain" &&
        grep -q $'\033\\[[0-9;]*m' "$work/colored" && ! grep $'\033\\[[0-9;]*m' "$work/plain"
}
try "which has colours where other reports have them" terminal_colours

leftovers()
{
    find "$work" -name '*.live'
}
none "no folder is left" leftovers
finish
