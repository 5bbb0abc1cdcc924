#!/bin/bash
# SPDX-License-Identifier: MIT
# Processes that are recorded from outside: those that run already, and programs that nothing
# can be loaded into.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree

cat >"$tmp/mix.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned sink;
static unsigned long long used[2];
__attribute__((noinline)) void leaf(unsigned n) { while (n--) sink = sink * 1103515245u + 12345u; }
__attribute__((noinline)) void often(unsigned n) { leaf(n); used[0] += n; }
__attribute__((noinline)) void seldom(unsigned n) { leaf(n); used[1] += n; }
/* Pieces of no regular length: three parts for one. */
__attribute__((noinline)) void work(int pieces)
{
    unsigned seed = 1;
    for (int i = 0; i < pieces; i++) {
        seed = seed * 1664525u + 1013904223u;
        if (seed >> 30)
            often((seed >> 8) % 40000);
        else
            seldom((seed >> 8) % 40000);
    }
}
__attribute__((noinline)) void in_kernel(void)
{
    static char room[1 << 20];
    FILE *f = fopen("/dev/zero", "r");
    for (int i = 0; i < 4000; i++)
        if (read(fileno(f), room, sizeof room) < 0)
            exit(1);
}
static void *in_thread(void *arg) { pthread_setname_np(pthread_self(), "helper"); work(2000); return arg; }
int main(int argc, char **argv)
{
    struct rusage u;
    pthread_t t;
    if (argc > 1 && strcmp(argv[1], "wait") == 0)
        getchar(); /* until somebody looks */
    if (argc > 1 && strcmp(argv[1], "kernel") == 0)
        in_kernel();
    work(argc > 2 ? atoi(argv[2]) : 10000);
    if (argc > 1 && strcmp(argv[1], "wait") == 0) {
        pthread_create(&t, NULL, in_thread, NULL);
        pthread_join(t, NULL);
        if (fork() == 0) {
            work(2000);
            execl(argv[0], "again", "child", "2000", NULL);
        }
        wait(NULL);
    }
    getrusage(RUSAGE_SELF, &u);
    printf("%f %f\n", (double)used[0] / (double)(used[0] + used[1]),
           (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
    return 5;
}
END
cc -O2 -g -D_GNU_SOURCE -pthread -o "$tmp/mix" "$tmp/mix.c" && cc -O2 -g -D_GNU_SOURCE -static -pthread -o "$tmp/static" "$tmp/mix.c" || exit
"$tmp/mix" wait <<<"" >/dev/null &
if ! timeout -k 5 500 "$tallytree" record --sampled=1000 -o "$tmp/tt" -p $! >"$tmp/err" 2>&1 && grep -q "forbid\|has no perf events" "$tmp/err"; then
    echo "1..0 # SKIP $(cat "$tmp/err")"
    exit
fi
reap $!

# fact NAME - of the header.
fact()
{
    "$tallytree" report header --csv "$tmp/tt" | awk -F, -v f="$1" '$4 == f { print $NF; exit }'
}

# truth SHARE - the share of `often` below `work` is that, within twice the interval that is
# printed: one run in ten thousand may miss it.
truth()
{
    "$tallytree" report flat --root work --limit all --sort inclusive --json "$tmp/tt" >"$tmp/json" || return
    python3 - "$1" "$tmp/json" <<'END'
import json, sys
table = json.load(open(sys.argv[2]))
keys = [c['key'] for c in table['columns']]
rows = [dict(zip(keys, r['values'])) for r in table['rows'] if r['role'] == 'entry']
row = [r for r in rows if r['name'] == 'often'][0]
spread = row.get('inclusive_interval') or row.get('inclusive_error')
n = [int(x.split()[1]) for x in table['notes'] if x.startswith('sampled:')][0]
share, true = row['inclusive_share'], float(sys.argv[1])
print('share', share, 'of', n, 'samples, truth', true, 'interval', spread)
if spread is None:
    spread = 1.96 * (true * (1 - true) / n) ** .5
sys.exit(not (n >= 50 and abs(share - true) <= 2 * spread + 0.01))
END
}

# stacks [PERCENT] - of 100 no more than 1 are broken.  Two kinds do not count: samples that the
# recorder lost for lack of a processor, and samples in the kernel while the process has no user
# stack to copy, as in execve, or has just unmapped a page of it to fault in another.
stacks()
{
    "$tallytree" export --to folded "$tmp/tt" >"$tmp/folded" || return
    awk -v allowed="${1:-1}" '
        { all += $NF }
        /^\[(broken|truncated) stack\]/ && !/;(entry_SYSCALL|asm_exc|el0t_|ret_from_fork)/ { bad += $NF; print }
        END { exit !(all > 0 && bad * 100 <= all * allowed) }' "$tmp/folded"
}

# has PATTERN... - in what a report said.
has()
{
    local pattern
    for pattern; do
        grep -q "$pattern" "$tmp/flat" || { echo "no $pattern"; head "$tmp/flat"; return 1; }
    done
}

# ── A process that runs ──────────────────────────────────────────────────────────────
# What is forked is a shell still, for a moment.
until_mix() { patiently grep -q mix "/proc/$1/comm"; }
# Samples are taken, or will never be.
sampled() { "$tallytree" report flat --csv "$tmp"/.tt.*.live/"$2".* 2>/dev/null | grep -q ^entry || ! kill -0 "$1"; }
# It has made its file, and sleeps until there is something to read.
under_way() { { ls "$tmp"/.tt.*.live/"${2:-mix}".* >/dev/null && grep -q '^State:.S' "/proc/$1/status"; } || ! kill -0 "$1"; }
mkfifo "$tmp/go"

running()
{
    "$tmp/mix" wait <"$tmp/go" >"$tmp/out" &
    local recorder status
    pid=$!
    exec 7<>"$tmp/go"
    until_mix $pid || return
    "$tallytree" record --sampled=1000 -o "$tmp/tt" -p $pid 2>"$tmp/err" &
    recorder=$!
    patiently under_way $recorder || return
    echo >&7
    exec 7>&-
    reap $recorder
    status=$?
    reap $pid
    if [ $? != 5 ] || [ $status != 0 ]; then
        echo "status $status"
        cat "$tmp/err"
        return 1
    fi
    grep -q "samples of 2 processes in" "$tmp/err" && [ "$(fact open)" = 0 ]
}
try "a process that runs is recorded until it ends" running
shares() { truth "$(tail -n 1 "$tmp/out" | cut -d' ' -f1)"; }
try "its shares are right within the interval" shares
try "its stacks are whole" stacks
says() { "$tallytree" report header "$tmp/tt" | grep "source.*$1"; }
try "the header says who took the samples, and why" says "perf events of cpu-clock.*it was running"
strands()
{
    "$tallytree" report strands --csv "$tmp/tt" >"$tmp/strands"
    awk -F, '{ for (i = 1; i <= NF; i++) if (NR == 1) at[$i] = i }
        $at["role"] == "entry" { seen[$at["name"] == "helper" || $at["name"] == "main" ? $at["name"] : "child", $at["pid"] == pid]++ }
        END { exit !(seen["main", 1] == 1 && seen["helper", 1] == 1 && seen["child", 0] == 1 && length(seen) == 3) }' \
        pid="$pid" "$tmp/strands" || { cat "$tmp/strands"; return 1; }
}
try "threads and children that came later have strands of their own" strands

whole_time()
{
    "$tallytree" report strands --json "$tmp/tt" | python3 -c '
import json, sys
t = json.load(sys.stdin)
keys = [c["key"] for c in t["columns"]]
rows = [dict(zip(keys, r["values"])) for r in t["rows"] if r["role"] == "entry"]
name = [k for k in keys if k in ("self", "time")][0]
ours = sum(r[name] for r in rows if r["pid"] == int(sys.argv[2])) / 1e9
theirs = float(sys.argv[1])
lost = int(sys.argv[3]) / 1000 # a sample is a thousandth of a second
print(ours, "of", theirs, "and", lost, "lost")
sys.exit(not -0.03 - lost <= ours - 0.9 * theirs or ours > 1.1 * theirs + 0.03)' "$(tail -n 1 "$tmp/out" | cut -d' ' -f2)" "$pid" "$(fact lost.samples)"
}
try "its time is what the system says it used" whole_time

interrupted()
{
    "$tmp/mix" wait 400 <"$tmp/go" >"$tmp/out" &
    local pid=$! recorder
    exec 7<>"$tmp/go"
    until_mix $pid || return
    "$tallytree" record --sampled=1000 -o "$tmp/tt" -p $pid 2>"$tmp/err" &
    recorder=$!
    patiently under_way $recorder || return
    kill -INT $recorder
    reap $recorder || { cat "$tmp/err"; return 1; }
    kill -0 $pid || return
    echo >&7
    exec 7>&-
    reap $pid
    [ $? = 5 ] && "$tallytree" report "$tmp/tt" >/dev/null
}
try "Ctrl-C ends the recording, keeps it, and leaves the process alone" interrupted
# A signal that comes as soon as there is something to take away again.
cat >"$tmp/early.c" <<'END'
#include <dlfcn.h>
#include <signal.h>
#include <sys/stat.h>
int mkdir(const char *path, mode_t mode)
{
    int (*next)(const char *, mode_t) = (int (*)(const char *, mode_t))dlsym(RTLD_NEXT, "mkdir"), error = next(path, mode);
    raise(SIGINT);
    return error;
}
END
early()
{
    cc -D_GNU_SOURCE -shared -fPIC -o "$tmp/early.so" "$tmp/early.c" -ldl || return
    rm -f "$tmp/tt"
    sleep 100 &
    local pid=$! status
    LD_PRELOAD=$tmp/early.so timeout -k 5 500 "$tallytree" record -o "$tmp/tt" -p $pid
    status=$?
    kill $pid
    [ $status = 0 ] && "$tallytree" report header "$tmp/tt" >/dev/null && ! compgen -G "$tmp/.tt.*.live"
}
try "and does so from the first moment on" early
for_a_while()
{
    sleep 100 &
    local pid=$!
    patiently grep -q sleep "/proc/$pid/comm" || return
    timeout -k 5 500 "$tallytree" record --sampled=1000 -o "$tmp/tt" --delay 0.1 --duration 0.2 -p $pid
    local status=$?
    kill $pid
    [ $status = 0 ] || return
    "$tallytree" report header "$tmp/tt" | grep -q "program.*sleep"
}
try "a duration ends it too, even when nothing happened" for_a_while
prepares_for_long()
{
    "$tmp/mix" spin 1000000000 &
    local pid=$! status
    patiently grep -q mix "/proc/$pid/comm" || return
    timeout -k 5 500 strace -qq -o /dev/null -e trace=pread64 -e inject=pread64:delay_enter=10000 \
        "$tallytree" record -o "$tmp/tt" --duration 1 -p $pid
    status=$?
    kill $pid
    [ $status = 0 ] || return
    "$tallytree" report flat --limit all --csv "$tmp/tt" >"$tmp/flat" && has ",leaf,"
}
if strace -o /dev/null true 2>/dev/null; then
    try "a duration begins when the files of the process were read" prepares_for_long
else
    skip "a duration begins when the files of the process were read" "there is no strace"
fi
# named COMMAND... - while it runs, the functions of what it has become, "gone", have names.
named()
{
    "$@" &
    local pid=$! status
    patiently grep -qx gone "/proc/$pid/comm" && rm -f "$tmp/gone" && patiently names_of $pid
    status=$?
    kill $pid
    return $status
}
names_of()
{
    timeout -k 5 500 "$tallytree" record --sampled=1000 -o "$tmp/tt" --duration 0.3 -p "$1" &&
        "$tallytree" report flat --limit all --csv "$tmp/tt" >"$tmp/flat" && has ",leaf,"
}
cp "$tmp/mix" "$tmp/gone"
try "a program whose file was deleted has names while it runs" named "$tmp/gone" spin 1000000000
if unshare -m true 2>/dev/null; then
    mkdir "$tmp/inside"
    try "and so has one whose files are in folders of its own" named unshare -m sh -c \
        "mount -t tmpfs none $tmp/inside && cp $tmp/mix $tmp/inside/gone && exec $tmp/inside/gone spin 1000000000"
else
    skip "and so has one whose files are in folders of its own" "not permitted"
fi

cpu_of() { cut -d' ' -f14 "/proc/$1/stat"; } # in 1/100 s
has_used() { [ "$(cpu_of "$1")" -ge "$2" ]; }
lost()
{
    "$tmp/static" any 1000000 >"$tmp/out" &
    local pid=$! recorder used
    patiently grep -q static "/proc/$pid/comm" || return
    "$tallytree" record --sampled=5000 -o "$tmp/tt" -p $pid 2>"$tmp/err" &
    recorder=$!
    patiently sampled $recorder static || return
    kill -STOP $recorder
    used=$(cpu_of $pid)
    patiently has_used $pid $((used + 100)) || return
    kill -CONT $recorder
    sleep 0.2
    kill -INT $recorder
    kill $pid
    reap $recorder || { cat "$tmp/err"; return 1; }
    reap $pid
    [ "$(fact lost.samples)" -gt 0 ] && stacks &&
        "$tallytree" report header "$tmp/tt" | grep "lost.*samples" &&
        "$tallytree" report --no-header "$tmp/tt" | grep "^lost: $(fact lost.samples) samples were lost" &&
        grep "^tallytree: $(fact lost.samples) samples are lost" "$tmp/err"
}
try "samples that found no room are counted, and the others are whole" lost

# Without tables how code looks decides, and it is not to be had from the process any more.
left_over()
{
    cc -O1 -g -fno-omit-frame-pointer -fno-asynchronous-unwind-tables -D_GNU_SOURCE -pthread -o "$tmp/bare" "$tmp/mix.c" || return
    "$tmp/bare" any 1000000 >"$tmp/out" &
    local pid=$! recorder used
    patiently grep -q bare "/proc/$pid/comm" || return
    "$tallytree" record --sampled=1000 -o "$tmp/tt" -p $pid 2>"$tmp/err" &
    recorder=$!
    patiently sampled $recorder bare || return
    kill -STOP $recorder
    used=$(cpu_of $pid)
    patiently has_used $pid $((used + 5)) || return
    kill $pid
    reap $pid
    kill -CONT $recorder
    reap $recorder || { cat "$tmp/err"; return 1; }
    stacks 3
}
try "stacks that are read when the process has ended are whole" left_over
of_threads()
{
    "$tmp/bare" wait 1000 <"$tmp/go" >"$tmp/out" &
    local pid=$! recorder
    exec 7<>"$tmp/go"
    patiently grep -q bare "/proc/$pid/comm" || return
    "$tallytree" record --sampled=1000 -o "$tmp/tt" -p $pid 2>"$tmp/err" &
    recorder=$!
    patiently under_way $recorder bare || return
    echo >&7
    exec 7>&-
    reap $recorder || { cat "$tmp/err"; return 1; }
    reap $pid
    stacks || return
    "$tallytree" report tree --limit all --csv "$tmp/tt" >"$tmp/flat"
    has ",start_thread," ",in_thread,"
}
try "and those of its threads, whose stacks lie near a library" of_threads

# ── Programs that nothing can be loaded into ─────────────────────────────────────────
statically()
{
    timeout -k 5 500 "$tallytree" record --sampled=1000 -o "$tmp/tt" "$tmp/static" >"$tmp/out" 2>"$tmp/err"
    [ $? = 5 ] && shares && stacks && says "it is statically linked"
}
try "a static program is recorded, and its shares are right" statically
cat >"$tmp/without.c" <<'END'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                   BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                                   BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    struct sock_fprog program = {4, filter};
    if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, 2, &program))
        return 2;
    return execv(argv[1], argv + 1);
}
END
without_descriptors()
{
    cc -o "$tmp/without" "$tmp/without.c" || return
    timeout -k 5 500 "$tmp/without" "$tallytree" record --sampled=1000 -o "$tmp/tt" "$tmp/static" any 100 >"$tmp/out" 2>"$tmp/err"
    [ $? = 5 ] || return
    "$tmp/static" any 1000000 >"$tmp/out" &
    local pid=$! recorder
    patiently grep -q static "/proc/$pid/comm" || return
    "$tmp/without" "$tallytree" record --sampled=1000 -o "$tmp/tt" -p $pid 2>"$tmp/err" &
    recorder=$!
    patiently sampled $recorder static || return
    kill $pid
    reap $pid
    reap $recorder || { cat "$tmp/err"; return 1; }
}
try "and where the system has no descriptors of processes its end is seen too" without_descriptors
in_kernel()
{
    timeout -k 5 500 "$tallytree" record --sampled=1000 -o "$tmp/tt" "$tmp/static" kernel 100 >"$tmp/out" 2>"$tmp/err"
    [ $? = 5 ] || return
    says "user and kernel" >/dev/null || { echo "# not allowed to see the kernel"; return 0; }
    "$tallytree" report flat --root in_kernel --sort inclusive --limit all --csv "$tmp/tt" >"$tmp/flat"
    has "read_zero\|read_iter_zero" "\[kernel\]"
}
try "functions of the kernel stand below those that called it" in_kernel
golang()
{
    command -v go >/dev/null || return 0
    mkdir -p "$tmp/go.d" && cat >"$tmp/go.d/main.go" <<'END'
package main
import "fmt"
var sink uint32
//go:noinline
func leaf(n int) { for ; n > 0; n-- { sink = sink*1103515245 + 12345 } }
//go:noinline
func work(done chan bool) { for i := 0; i < 400; i++ { leaf(300000) }; done <- true }
func main() { done := make(chan bool); go work(done); go work(done); <-done; <-done; fmt.Println("done") }
END
    (cd "$tmp/go.d" && GOCACHE=$tmp/go.cache GO111MODULE=off CGO_ENABLED=0 go build -o prog main.go) || return
    timeout -k 5 500 "$tallytree" record --sampled=1000 -o "$tmp/tt" "$tmp/go.d/prog" >"$tmp/out" 2>"$tmp/err" || { cat "$tmp/err"; return 1; }
    grep -qx "done" "$tmp/out" || return
    stacks 10 || return # those of its scheduler are not whole
    "$tallytree" report tree --limit all --csv "$tmp/tt" >"$tmp/flat"
    has ",main.work," ",main.leaf,"
}
try "a program of Go is recorded, and the stacks of its goroutines are whole" golang
passed_on()
{
    printf 'int raise(int); int main(void) { return raise(15); }\n' >"$tmp/term.c"
    cc -static -o "$tmp/term" "$tmp/term.c" && timeout -k 5 500 "$tallytree" record --sampled=1000 -o "$tmp/tt" "$tmp/term" 2>"$tmp/err"
    [ $? = 143 ] || return
    printf '#!/no/such/interpreter\n' >"$tmp/script" && chmod +x "$tmp/script"
    timeout -k 5 500 "$tallytree" record --sampled=1000 -o "$tmp/tt" "$tmp/script" 2>"$tmp/err"
    [ $? = 127 ]
}
try "the end of a static program is passed on" passed_on

# ── Counters ─────────────────────────────────────────────────────────────────────────
cat >"$tmp/faults.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
static volatile unsigned sink;
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}
__attribute__((noinline)) void touches(int n)
{
    for (int i = 0; i < n; i++) {
        char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(p, 1 << 20, MADV_NOHUGEPAGE);
        for (int j = 0; j < 1 << 20; j += 4096)
            p[j] = 1;
        munmap(p, 1 << 20);
    }
}
__attribute__((noinline)) void burns(double end) { while (now() < end) for (int i = 0; i < 10000; i++) sink = sink * 1103515245u + 12345u; }
int main(void)
{
    struct rusage u;
    for (int i = 0; i < 10; i++) {
        double begin = now(), end;
        touches(5);
        end = now();
        burns(end + 3 * (end - begin)); /* three times as long, on any machine */
    }
    getrusage(RUSAGE_SELF, &u);
    printf("%ld\n", u.ru_minflt);
    return 5;
}
END
# figure METRIC NAME - inclusive, or of the total.
figure()
{
    "$tallytree" report flat --metric "$1" --limit all --csv "$tmp/tt" |
        awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
            $at["role"] == "total" && name == "total" || $at["name"] == name { print $at["inclusive"]; exit }'
}
counts()
{
    cc -O1 -g -o "$tmp/faults" "$tmp/faults.c" || return
    timeout -k 5 500 "$tallytree" record --counter page-faults --counter context-switches=1 -o "$tmp/tt" "$tmp/faults" >"$tmp/out" 2>"$tmp/err"
    [ $? = 5 ] || { cat "$tmp/err"; return 1; }
    local true touched lost
    true=$(cat "$tmp/out") touched=$(figure page-faults touches) lost=$(fact lost.samples)
    echo "$touched of $true page faults, $lost samples lost"
    [ "$touched" -le $((true + 100)) ] && [ $((touched + 100 * lost)) -ge $((true * 95 / 100)) ] &&
        [ "$(figure time burns)" -gt "$(figure time touches)" ]
}
try "what the system counts is a metric, with the functions that cause it" counts
hardware()
{
    timeout -k 5 500 "$tallytree" record --counter cycles=100000 -o "$tmp/tt" "$tmp/faults" >"$tmp/out" 2>"$tmp/err"
    case $? in
    5) [ "$(figure cycles main)" -gt 1000000 ] ;;
    125) grep "this machine does not count cycles" "$tmp/err" ;;
    *) cat "$tmp/err"; return 1 ;;
    esac
}
try "cycles are counted, or it is said that they are not here" hardware

# ── What cannot be done ──────────────────────────────────────────────────────────────
refused()
{
    local reason=$1
    shift
    timeout -k 5 500 "$@" 2>"$tmp/err"
    if [ $? != 125 ] || ! grep -q "$reason" "$tmp/err"; then
        cat "$tmp/err"
        return 1
    fi
}
try "a process that is not there is refused" refused "there is no process 99999999" "$tallytree" record -p 99999999
try "what is no number is refused" refused "number of a process" "$tallytree" record -p me
try "a program and a process at once are refused" refused "not both" "$tallytree" record -p $$ true
try "a counter that there is not is refused" refused "cannot be 'nonsense'" "$tallytree" record --counter nonsense true
try "scopes cannot be asked for from outside" refused "'--exact' works only in-process: the process runs already" "$tallytree" record --exact -p $$
others()
{
    [ "$(id -u)" = 0 ] && chmod 755 "$tmp" && mkdir -m 777 "$tmp/none" && cp "$tallytree" "$tmp/tallytree" || return 0
    refused "run tallytree as root" setpriv --reuid 65534 --regid 65534 --clear-groups "$tmp/tallytree" record -o "$tmp/none/tt" -p $$
}
try "the processes of others are refused, and what to do is said" others
leftovers() { find "$tmp" -name '*.live'; }
none "no folder is left" leftovers
# ── How much of a stack is copied ────────────────────────────────────────────────────
# A function with a frame of 48 KiB, which is between its leaf and main.
cat >"$tmp/frame.c" <<'END'
static volatile unsigned sink;
__attribute__((noinline)) void leaf(unsigned n) { while (n--) sink = sink * 1103515245u + 12345u; }
__attribute__((noinline)) int large(int n)
{
    volatile char frame[48 << 10];
    for (int i = n; i < (int)sizeof frame; i += 1024) /* what was never touched is not there to be copied */
        frame[i] = 1;
    leaf(400000);
    return frame[n];
}
int main(void)
{
    for (int i = 0; i < 250; i++)
        sink += (unsigned)large(i);
    return 0;
}
END
cc -O1 -fno-inline -o "$tmp/frame" "$tmp/frame.c"
# framed WORD FLAG... - all samples in leaf hang below a frame of this name, most of them.
framed()
{
    local word=$1
    shift
    "$tallytree" record "$@" --sampled=500 -o "$tmp/frame.tt" "$tmp/frame" 2>"$tmp/err" || { cat "$tmp/err"; return 1; }
    "$tallytree" export --to folded "$tmp/frame.tt" >"$tmp/folded"
    cat "$tmp/folded"
    awk -v word="$word" '/;leaf/ { all += $NF; if (index($0, word)) good += $NF } END { exit !(all > 10 && good > 0.9 * all) }' "$tmp/folded"
}
try "of a larger frame than is copied the stack ends there" framed "[truncated stack];" --kernel
try "--stack-size copies more, and the stack is whole" framed "main;large;leaf" --kernel --stack-size 60K
try "and so it is as far as the system's limit" framed "main;large;leaf" --kernel --stack-size 65528
too_much()
{
    "$tallytree" record --kernel --stack-size "$1" -o "$tmp/none.tt" true 2>"$tmp/err"
    [ $? = 125 ] && grep "wants 256 to 65528 bytes" "$tmp/err" && [ ! -e "$tmp/none.tt" ]
}
try "more than the system copies is refused" too_much 65529
try "and so is what is no size" too_much some
from_within()
{
    "$tallytree" record --stack-size 48K -o "$tmp/none.tt" true 2>"$tmp/err"
    [ $? = 125 ] && grep "stack-size.*add --kernel" "$tmp/err"
}
try "from within there is no copy, which is said" from_within

# ── The kernel's functions ───────────────────────────────────────────────────────────
# From within the first touch of a page is memset's; from outside, where one may look, the kernel's.
cat >"$tmp/touch.c" <<'END'
#include <string.h>
#include <sys/mman.h>
int main(void)
{
    for (int i = 0; i < 5; i++) {
        void *m = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(m, 64 << 20, MADV_NOHUGEPAGE);
        memset(m, 1, 64 << 20);
        munmap(m, 64 << 20);
    }
    return 0;
}
END
cc -O2 -o "$tmp/touch" "$tmp/touch.c"
kernel()
{
    "$tallytree" record --kernel -o "$tmp/touch.tt" "$tmp/touch" 2>"$tmp/err" &&
        "$tallytree" report header "$tmp/touch.tt" | grep "^source.*with the kernel" &&
        "$tallytree" export --to folded "$tmp/touch.tt" | awk '
            /memset[^;]*;.*(exc_page_fault|do_user_addr_fault|el0_da|do_mem_abort)/ { faults += $NF } { all += $NF }
            END { print faults, all; exit !(faults > 0.2 * all) }'
}
if grep -q "user and kernel" <<<"$("$tallytree" record --kernel -o "$tmp/k.tt" true 2>/dev/null; "$tallytree" report header "$tmp/k.tt")"; then
    try "--kernel shows where the time of page faults goes" kernel
else
    skip "--kernel shows where the time of page faults goes" "the kernel cannot be looked at here"
fi
finish
