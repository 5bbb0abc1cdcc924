#!/bin/bash
# SPDX-License-Identifier: MIT
# Programs that would notice a recorder get the same results of all system calls as without it:
# output, exit status, and children.  ROUNDS=N compares N times; 52 rounds are ten thousand
# comparisons.
. "$(dirname "$0")/tap.sh"
build=$(cd "$TT_BUILD" && pwd)
nasty=$build/test/nasty
urgent=$build/test/urgent
becomes=$build/test/becomes
tallytree=$build/tallytree

# alone COMMAND... - runs it without recording.
alone()
{
    (cd "$tmp/here" && exec timeout -k 5 500 "$@") >"$tmp/out" 2>"$tmp/err" </dev/null
    echo "status $?" >>"$tmp/out"
}

# with FLAGS... -- COMMAND... - runs it with recording; our line is the last of the messages.
with()
{
    local flags=() status
    while [ "$1" != -- ]; do
        flags+=("$1")
        shift
    done
    shift
    (cd "$tmp/here" && exec timeout -k 5 500 "$tallytree" record "${flags[@]}" -o "$tmp/tt" -- "$@") \
        >"$tmp/out.with" 2>"$tmp/err.with" </dev/null
    status=$?
    echo "status $status" >>"$tmp/out.with"
    sed '/^tallytree: /d' "$tmp/err.with" >"$tmp/err.left"
}

# compare COMMAND... - with each collector.
compare()
{
    local flags wrong=0
    mkdir -p "$tmp/here"
    for ((round = 0; round < ${ROUNDS:-1}; round++)); do
        alone "$@"
        for flags in "${collectors[@]}"; do
            # shellcheck disable=SC2086
            with $flags -- "$@"
            ((compared++))
            cmp -s "$tmp/out" "$tmp/out.with" && cmp -s "$tmp/err" "$tmp/err.left" && continue
            echo "record $flags $*:"
            diff "$tmp/out" "$tmp/out.with" | head -20
            diff "$tmp/err" "$tmp/err.left" | head -5
            wrong=1
        done
    done
    return $wrong
}
only_samples()
{
    local collectors=("")
    "$@"
}

compared=0
collectors=("" --heap)

try "threads are cancelled at any moment" compare "$nasty" cancel 60
# A sample may make the file grow, which takes 3 ms here.
cancelled_late()
{
    local i
    for ((i = 0; i < $(for_long 6 20); i++)); do
        timeout -k 5 60 strace -f -qq -o "$tmp/trace" -e trace=fallocate -e inject=fallocate:delay_exit=3000 \
            "$tallytree" record --force -o "$tmp/tt" -- "$nasty" cancel 60 2>&1 || return
        grep -q fallocate "$tmp/trace" || return
    done
}
if strace -o "$tmp/trace" true 2>/dev/null; then
    try "also while a sample makes the file grow" cancelled_late
else
    skip "also while a sample makes the file grow" "strace cannot trace here"
fi
try "a thread is not cancelled where the program has no such point" compare "$nasty" pending 101
try "signals are caught, blocked, ignored and waited for, and children inherit that" \
    compare "$nasty" signals
try "pipes and sockets take and give all that was asked" compare "$nasty" partial
try "timers ring, and a last alarm ends the program" compare "$nasty" timers
try "a program finds itself as it is" compare "$nasty" self
try "threads with the smallest stacks use most of it" compare "$nasty" tiny 8000
try "stacks for signals are there when the program has set them" compare "$nasty" altstack
# A program that is its own C library in this: its thread finds what is below its signal stack.
cat >"$tmp/pages.c" <<'END'
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
long sysconf(int what) { return what == _SC_PAGESIZE ? PAGE : what == _SC_NPROCESSORS_ONLN ? 1 : -1; }
static void *run(void *arg)
{
    stack_t here;
    char line[512], rights[8];
    unsigned long from, to, low;
    FILE *maps = fopen("/proc/self/maps", "r");
    if (syscall(SYS_sigaltstack, NULL, &here) != 0 || here.ss_flags & SS_DISABLE || here.ss_size < 256 << 10)
        return arg;
    low = (unsigned long)here.ss_sp;
    while (fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) == 3 && to == low && to - from >= PAGE && strncmp(rights, "---", 3) == 0)
            puts("a guard");
    fclose(maps);
    return NULL;
}
int main(void)
{
    pthread_attr_t a;
    pthread_t t;
    void *result = &a;
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, 64 << 10);
    return pthread_create(&t, &a, run, &a) || pthread_join(t, &result) || result;
}
END
guarded()
{
    gcc -O1 -rdynamic -pthread -D_GNU_SOURCE -DPAGE="$1" -o "$tmp/pages" "$tmp/pages.c" || return
    with -- "$tmp/pages"
    cat "$tmp/out.with" && diff "$tmp/out.with" - <<<$'a guard\nstatus 0'
}
try "a page is the guard of such a stack that is lent" guarded 4096
try "a larger page is, too" guarded 16384
try "a program that filters its system calls goes on" compare "$nasty" seccomp
# What a program does after it has restricted itself; and what it starts.
cat >"$tmp/limits.c" <<'END'
#define _GNU_SOURCE
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile char selector;
static volatile int seen;
static unsigned long low, size;
static void burn(void)
{
    for (volatile long i = 0; i < 60000000; i++)
        ;
}
static void *run(void *arg)
{
    burn();
    return arg;
}
static void use_threads(void)
{
    pthread_t t;
    printf("%d", pthread_create(&t, NULL, run, NULL));
    burn();
    printf(" %d\n", pthread_join(t, NULL));
    fflush(stdout);
}
static void start(char **words)
{
    pid_t child;
    int status = 0;
    extern char **environ;
    printf("%d", posix_spawnp(&child, words[0], NULL, NULL, words, environ));
    printf(" %d", waitpid(child, &status, 0) == child);
    printf(" %d", status);
    fflush(stdout);
    printf(" %d", system("exit 5"));
    if ((child = fork()) == 0) {
        burn();
        exit(4);
    }
    printf(" %d", waitpid(child, &status, 0) == child);
    printf(" %d", status);
    fflush(stdout);
    if ((child = vfork()) == 0) {
        execve(words[0], words, environ);
        _exit(9);
    }
    printf(" %d", waitpid(child, &status, 0) == child);
    printf(" %d\n", status);
    fflush(stdout);
}
/* No call of ours: numbers that kill, as a sandbox may have. */
static void filter(void)
{
    static const int numbers[] = {SYS_timer_create, SYS_flock, SYS_fallocate, SYS_ftruncate, SYS_symlinkat, SYS_getpid};
    struct sock_filter f[32] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    struct sock_fprog p = {1, f};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        f[p.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)numbers[i], 0, 1);
        f[p.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    f[p.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    printf("%d", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    printf(" %d\n", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p));
}
static void on_call(int number) { seen++, selector = 0; }
static int find(struct dl_phdr_info *i, size_t n, void *arg)
{
    for (int k = 0; strstr(i->dlpi_name, "/libc.so.6") && k < i->dlpi_phnum; k++)
        if (i->dlpi_phdr[k].p_type == PT_LOAD && i->dlpi_phdr[k].p_flags & PF_X)
            low = i->dlpi_addr + i->dlpi_phdr[k].p_vaddr, size = i->dlpi_phdr[k].p_memsz;
    return 0;
}
/* As Wine: only the C library's code may make system calls. */
static void dispatch(void)
{
    void *p;
    stack_t none;
    dl_iterate_phdr(find, NULL);
    signal(SIGSYS, on_call);
    printf("%d", prctl(59, 1, low, size, &selector));
    selector = 1;
    burn();
    p = mmap(NULL, 10000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p = mremap(p, 10000, 100000, MREMAP_MAYMOVE);
    p = munmap(p, 100000) ? NULL : malloc(3000000);
    free(p);
    sigaltstack(NULL, &none);
    signal(SIGUSR1, SIG_IGN);
    if (syscall(SYS_getppid) != getppid() || prctl(PR_GET_DUMPABLE) < 0 || !p)
        seen += 1000;
    close(dup(1));
    selector = 0;
    printf(" %d\n", seen);
}
int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOFBF, 4096);
    burn();
    if (strcmp(argv[1], "counter") == 0)
        printf("%d\n", prctl(PR_SET_TSC, PR_TSC_SIGSEGV));
    else if (strcmp(argv[1], "filter") == 0)
        filter();
    else
        dispatch();
    use_threads();
    start(argv + 2);
    if (argc > 3)
        _exit(6);
    execvp(argv[2], argv + 2);
    return 7;
}
END
cc -O1 -w -pthread -o "$tmp/limits" "$tmp/limits.c"
# shellcheck disable=SC2317 # `try` calls it.
limited()
{
    local collectors=("" --wall --heap --locks)
    compare "$tmp/limits" "$@"
}
# ends WORDS... - the header's reason, and the message
ends() { "$tallytree" report header "$tmp/tt" | grep "; until it $*" && grep "^tallytree: a process was recorded only until it $*" "$tmp/err.with"; }
try "a program that filters its system calls starts others" limited filter /bin/true
try "and the header says that those are not recorded" ends "filtered its calls, without what it then started"
try "and ends at once" limited filter /bin/true at once
# Other processors have no such limit.
if [ "$(uname -m)" = x86_64 ]; then
    try "a program may forbid to read the processor's counter" limited counter /bin/echo
    try "and end at once" limited counter /bin/echo at once
    try "and the header says when" ends "forbade the counter, without what it then started"
    alone "$tmp/limits" dispatch /bin/true
    if grep -q "^0 0$" "$tmp/out"; then
        try "a program may handle system calls itself that are not the C library's" limited dispatch /bin/true
        try "and the header says when, then, too" ends "handled its system calls itself"
    else
        skip "a program may handle system calls itself that are not the C library's" "the system has no such calls"
    fi
fi
try "children are made by a handler, wherever the program is" compare "$nasty" handler
try "and return from it, and go on" compare "$nasty" returning
try "a chain of children passes a status on" compare "$nasty" chain 20
try "a program becomes another one, again and again" compare "$becomes" exec 40
try "pointers that lead nowhere give errors, and crash nothing" compare "$becomes" faults 1
try "scripts without an interpreter are started by the functions of either version" compare "$becomes" spawn 1
try "a program gives signals their defaults behind the C library" compare "$becomes" reset 5
try "children that no handler of fork sees go on" compare "$becomes" children 6
try "children begin on stacks that the program gives them" compare "$becomes" stacks 3

# What the loader says of a failure is there until the program reads it.
cat >"$tmp/message.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>
static void *run(void *arg) { return arg; }
static int run_too(void *arg) { return arg != NULL; }
static void *rest(void *arg) { return pause() ? arg : NULL; }
static void show(const char *what)
{
    const char *text = dlerror();
    printf("%s: %s\n", what, text ? text : "nothing");
    dlopen("/no/such.so", RTLD_NOW);
}
int main(void)
{
    static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    char *words[] = {"true", NULL}, c = 'a';
    int fds[2];
    pid_t child;
    pthread_t t;
    thrd_t c11;
    show("before");
    pthread_create(&t, NULL, run, NULL), pthread_join(t, NULL), show("pthread_create");
    thrd_create(&c11, run_too, NULL), thrd_join(c11, NULL), show("thrd_create");
    pthread_create(&t, NULL, rest, NULL), pthread_cancel(t), pthread_join(t, NULL), show("pthread_cancel");
    free(realloc(malloc(10), 1000000)), show("realloc");
    free(aligned_alloc(64, 128)), free(valloc(1)), show("valloc");
    signal(SIGUSR1, SIG_IGN), sigset(SIGUSR2, SIG_IGN), siginterrupt(SIGUSR1, 1), show("signal");
    pthread_mutex_lock(&m), pthread_mutex_unlock(&m), show("mutex");
    c += (char)(pipe(fds) + (int)write(fds[1], &c, 1) + (int)read(fds[0], &c, 1)), show("pipe");
    if (fork() == 0)
        _exit(0);
    wait(NULL), show("fork");
    posix_spawnp(&child, "true", NULL, NULL, words, NULL), wait(NULL), show("posix_spawnp");
    execv("/no/such", words), execvp("/no/such", words), fexecve(-1, words, words), show("exec");
    c += (char)(chroot("/no/such") + setuid(getuid()) + setegid(getegid())), show("setuid");
    syscall(SYS_getpid), prctl(PR_GET_DUMPABLE), unshare(0), show("syscall");
    munmap(mmap(NULL, 1, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1), show("mmap");
    sigaltstack(NULL, NULL), sched_yield(), show("sigaltstack");
    return c == 0;
}
END
messages()
{
    local collectors=("" --wall --heap --locks)
    gcc -O1 -w -pthread -o "$tmp/message" "$tmp/message.c" && compare "$tmp/message" &&
        [ "$(grep -c "^[a-z_]*: /no/such.so: cannot open" "$tmp/out")" = 15 ]
}
try "a message of the loader is there until the program reads it" messages

# Programs of before 2011 start scripts without a first line that names the shell.
cat >"$tmp/spawn.c" <<'END'
#include <spawn.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
__asm__(".symver posix_spawn, posix_spawn@GLIBC_2.2.5");
__asm__(".symver posix_spawnp, posix_spawnp@GLIBC_2.2.5");
int main(void)
{
    char *none[] = {NULL}, *words[] = {"script", NULL};
    pid_t p;
    FILE *f = fopen("script", "w");
    fprintf(f, "echo here\n");
    fclose(f);
    printf("%d\n", chmod("script", 0700));
    fflush(stdout);
    if (posix_spawn(&p, "./script", NULL, NULL, words, none) == 0)
        waitpid(p, NULL, 0);
    if (posix_spawnp(&p, "./script", NULL, NULL, words, none) == 0)
        waitpid(p, NULL, 0);
    return 0;
}
END
old_spawn()
{
    gcc -O1 -o "$tmp/spawn" "$tmp/spawn.c" && compare "$tmp/spawn" &&
        diff "$tmp/out" - <<<$'0\nhere\nhere\nstatus 0'
}
if [ "$(uname -m)" = x86_64 ]; then
    try "an old program starts scripts that name no shell" old_spawn
else
    skip "an old program starts scripts that name no shell" "this processor has no such programs"
fi
unseen()
{
    with "$1" -- "$becomes" children 6
    "$tallytree" report flat "$tmp/tt" >"$tmp/unseen" && grep -qx "lost: 6 child processes could not be recorded" "$tmp/unseen"
}
try "and the report says how many were not recorded" unseen --heap
little() { local collectors=("--budget 1M"); "$@"; }
# Within the limit of 40 MB that it sets; the 8 MB that are often the limit are too few.
locks="with a small budget a program locks all its memory under a limit"
if (ulimit -l 40960) 2>/dev/null; then try "$locks" little compare "$nasty" mlock; else skip "$locks" "the limit of locked memory cannot be raised"; fi
# Limits of all memory, and of data: the program sets them, and becomes one that allocates.
cat >"$tmp/room.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    int which = argc > 1 && *argv[1] == 'd' ? RLIMIT_DATA : RLIMIT_AS;
    struct rlimit r;
    if (argc < 3)
        return printf("%d\n", malloc(20 << 20) != NULL) < 0;
    r.rlim_cur = r.rlim_max = strtoul(argv[2], NULL, 10) << 20;
    return setrlimit(which, &r) || execl(argv[0], argv[0], (char *)NULL);
}
END
"${CC:-cc}" -O1 -o "$tmp/room" "$tmp/room.c"
roomy()
{
    local collectors=("" --wall --heap --locks) limit
    for limit in "d 1" "d 30" "a 30" "a 100" "a 200"; do
        # shellcheck disable=SC2086
        compare "$tmp/room" $limit || { echo "limit $limit"; return 1; }
    done
}
try "a program has the memory that its limit allows" roomy
try "and the header says why it is not recorded" grep "room has a limit of memory (ulimit -v or -d)" <("$tallytree" report header "$tmp/tt")
tight() { (ulimit -v 200000 && with -- "$tmp/room") && [ "$(cat "$tmp/out.with")" = $'1\nstatus 0' ] && grep "nothing was recorded: .* has a limit of memory" "$tmp/err.with"; }
try "if nothing is recorded that is said" tight
enough() { (ulimit -v 200000 && with --force --budget 1M -- "$tmp/room") && grep -x "tallytree: .*room: .* of 1 process .*" "$tmp/err.with"; }
try "with a small budget it is" enough
# The compiler's sanitizers interpose the same functions.
sanitized()
{
    cat >"$tmp/work.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *work(void *arg)
{
    for (volatile long i = 0; i < 10000000; i++)
        ;
    free(malloc(100));
    return arg;
}
int main(void)
{
    pthread_t thread[3];
    puts("hello");
    for (int i = 0; i < 3; i++)
        pthread_create(&thread[i], 0, work, 0);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], 0);
    free(malloc(50));
    return 5;
}
END
    "${CC:-cc}" -O1 -fsanitize="$1" -pthread -o "$tmp/$1" "$tmp/work.c" 2>/dev/null
}
refused()
{
    with "$1" -- "$tmp/$2"
    [ "$(cat "$tmp/out.with")" = "status 125" ] && grep -q "'$1' does not work in a program with the $2" "$tmp/err.with"
}
for sanitizer in address thread; do
    if sanitized $sanitizer && alone "$tmp/$sanitizer" && grep -q "status 5" "$tmp/out"; then
        try "a program with the $sanitizer sanitizer" only_samples compare "$tmp/$sanitizer"
        try "and with --heap it is refused before it starts" refused --heap $sanitizer
    else
        skip "a program with the $sanitizer sanitizer" "it cannot be built, or does not work here"
        skip "and with --heap it is refused before it starts" "it cannot be built, or does not work here"
    fi
done
# Other allocators, and glibc's with one arena, in a program that does little else.
cat >"$tmp/toil.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *toil(void *arg)
{
    static __thread unsigned char *block[256];
    unsigned state = (unsigned)(size_t)arg, sum = 0;
    for (int n = 0; n < 60000; n++) {
        unsigned i = (state = state * 1103515245u + 12345u) >> 24, size = (state >> 8) % (n % 64 ? 600 : 200000) + 1;
        if (block[i])
            sum = sum * 31 + *block[i];
        if (n % 3)
            free(block[i]), block[i] = malloc(size);
        else if (n % 7)
            block[i] = realloc(block[i], size);
        else
            free(block[i]), block[i] = aligned_alloc(64, (size + 63) / 64 * 64);
        memset(block[i], n & 0xff, size);
    }
    for (int i = 0; i < 256; i++)
        free(block[i]);
    printf("%u\n", sum);
    return arg;
}
int main(void)
{
    pthread_t thread;
    for (size_t i = 0; i < 4; i++)
        if (pthread_create(&thread, NULL, toil, (void *)i) == 0)
            pthread_join(thread, NULL);
    toil((void *)9);
    return 9;
}
END
"${CC:-cc}" -O1 -pthread -o "$tmp/toil" "$tmp/toil.c"
everywhere()
{
    local collectors=("" --wall --heap)
    "$@"
}
# The allocator matters most to the library that stands before it.
before_it()
{
    local collectors=(--heap)
    [ -z "${ROUNDS:-}" ] || collectors=("" --wall --heap)
    "$@"
}
allocators=(libjemalloc.so.2)
is_long && allocators+=(libmimalloc.so.2 libtcmalloc_minimal.so.4)
for allocator in "${allocators[@]}"; do
    if [ -z "$(LD_PRELOAD=$allocator /bin/true 2>&1)" ]; then
        export LD_PRELOAD=$allocator
        try "with $allocator a program allocates as it does alone" everywhere compare "$tmp/toil"
        try "with $allocator threads are cancelled at any moment" before_it compare "$nasty" cancel 20
        # Their own locks do not survive a fork that interrupts them.
        try "with $allocator children are made by a handler" before_it compare "$nasty" handler 1
        unset LD_PRELOAD
    else
        skip "with $allocator a program allocates as it does alone" "$allocator is not installed"
    fi
done
export MALLOC_ARENA_MAX=1
try "with one arena a program allocates as it does alone" everywhere compare "$tmp/toil"
unset MALLOC_ARENA_MAX

# A filter that nothing of ours sees is set.
raw()
{
    with "$@" -- "$urgent" raw
    cat "$tmp/out.with" "$tmp/err.with"
}
raw_within()
{
    raw | tee "$tmp/raw" && grep "^tallytree: urgent was ended by its filter of system calls" "$tmp/raw" &&
        grep "^status 159" "$tmp/raw"
}
mkdir -p "$tmp/here"
alone "$urgent" raw
if grep -q "status 5" "$tmp/out"; then
    try "a program that sets a filter by an instruction of its own ends, with the reason" raw_within
    raw --counter page-faults >"$tmp/raw"
    if grep -q "status 125" "$tmp/raw"; then
        skip "from outside it goes on" "$(tail -n 1 "$tmp/raw")"
    else
        try "from outside it goes on" grep "^status 5" "$tmp/raw"
    fi
else
    skip "from outside it goes on" "there are no filters of system calls"
fi

# Whoever waits for a lock of ours without sleeping keeps the thread that has it from running.
if "$urgent" fifo 1 >/dev/null; then
    try "a thread that runs whenever it can allocates beside one that has to wait" compare "$urgent" fifo "$(for_long 1000 4000)"
else
    skip "a thread that runs whenever it can allocates beside one that has to wait" "SCHED_FIFO is refused"
fi

# In valgrind's machine the program's time is not the processor's, and its loader not ours.
if command -v valgrind >/dev/null; then
    cat >"$tmp/small.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *copy(void *arg)
{
    char *p = NULL;
    for (int i = 0; i < 300; i++) {
        free(p);
        p = strdup(arg);
    }
    return p;
}
int main(void)
{
    pthread_t thread;
    void *p;
    pthread_create(&thread, NULL, copy, "hello");
    pthread_join(thread, &p);
    puts(p);
    free(p);
    return 7;
}
END
    "${CC:-cc}" -O1 -pthread -o "$tmp/small" "$tmp/small.c"
    small="valgrind -q --trace-children=yes $tmp/small"
    # shellcheck disable=SC2086
    try "valgrind runs a program as it does alone" "$(for_long before_it everywhere)" compare $small
    inside_flags=("--heap --wall")
    is_long && inside_flags+=("")
    inside()
    {
        local flags
        # shellcheck disable=SC2086
        alone $small
        for flags in "${inside_flags[@]}"; do
            # shellcheck disable=SC2086
            (cd "$tmp/here" && exec timeout -k 5 500 valgrind -q --trace-children=yes "$tallytree" record $flags -o "$tmp/tt" -- \
                "$tmp/small") >"$tmp/out.with" 2>"$tmp/err.with" </dev/null
            echo "status $?" >>"$tmp/out.with"
            diff "$tmp/out" "$tmp/out.with" && [ -z "$(sed '/^tallytree: /d' "$tmp/err.with")" ] || { cat "$tmp/err.with"; return 1; }
        done
    }
    try "and so with us in it" inside
else
    skip "valgrind runs a program as it does alone" "valgrind is not installed"
fi

# limited N COMMAND... - by so many open files: as alone, or refused with the reason.
limited()
{
    local result=0
    mkdir -p "$tmp/here"
    for flags in "" --wall --heap; do
        (ulimit -n "$1" && cd "$tmp/here" && exec "${@:2}") >"$tmp/out" 2>"$tmp/err" </dev/null
        echo "status $?" >>"$tmp/out"
        # shellcheck disable=SC2086
        (ulimit -n "$1" && cd "$tmp/here" && exec "$tallytree" record $flags -o "$tmp/tt" -- "${@:2}") \
            >"$tmp/out.with" 2>"$tmp/err.with" </dev/null
        echo "status $?" >>"$tmp/out.with"
        ((compared++))
        cmp -s "$tmp/out" "$tmp/out.with" && continue
        [ "$(cat "$tmp/out.with")" = "status 125" ] && grep -q "^tallytree: .*open files" "$tmp/err.with" && continue
        echo "$flags $*"
        cat "$tmp/out.with" "$tmp/err.with"
        result=1
    done
    return $result
}
as_alone() { limited "$@" && ! grep -q "status 125" "$tmp/out.with"; }
try "by a limit of 4 open files a program is refused, with the reason" limited 4 "$nasty" next
for limit in $(for_long "5 8 60" "5 6 7 8 10 60"); do
    try "by a limit of $limit open files a program has all of them" as_alone "$limit" "$nasty" every
done
for limit in $(for_long "20 300" "20 100 300 900"); do
    try "by a limit of $limit open files its descriptors have their numbers" as_alone "$limit" "$nasty" next
done

# Ordinary programs, each with something to read; none prints what changes from run to run.
mkdir -p "$tmp/here"
seq 3000 | awk '{ printf "%d line %s of %d\n", $1 * 7919 % 3001, substr("abcdefghij", $1 % 10 + 1), $1 * $1 }' >"$tmp/here/text"
sort "$tmp/here/text" >"$tmp/here/sorted"
tail -n +50 "$tmp/here/text" >"$tmp/here/other"
gzip -9n <"$tmp/here/text" >"$tmp/here/text.gz"
xz <"$tmp/here/text" >"$tmp/here/text.xz"
printf 'int twice(int n) { return 2 * n; }\nint main(void) { return twice(4); }\n' >"$tmp/here/a.c"
(cd "$tmp/here" && "${CC:-cc}" -c a.c)
printf 'all: b\nb: text\n\tsort text | head -3\n' >"$tmp/here/makefile"
cat >"$tmp/ordinary" <<'END'
awk '{ s += $1 } END { print s }' text
sed -n 's/line \(.\)/<\1>/p' text
grep -c 'abc\|j ' text
sort -n text
uniq -c sorted
wc text
tr a-j A-J <text
od -c text
sha256sum text
sha512sum text other
md5sum text
cksum text
base64 text
diff text other
cmp text other
comm sorted other
join sorted sorted
paste text other
cut -d ' ' -f 2-3 text
head -c 1000 text
tail -n 20 text
tac text
rev text
fold -w 20 text
fmt text
expand text
nl text
factor 1234567890123 99999999977
expr 6 '*' 7
printf '%05d\n' 1 2 3
split -n 3/7 text
shuf --random-source=text text
ptx text
find . -name 'te*' | sort
xargs -n 500 -a text echo
gzip -9nc text
gzip -dc text.gz
xz -c text
xz -T 2 -c text
xz -dc text.xz
bzip2 -c text
zstd -qc -T2 text
tar --sort=name --mtime=@0 --owner=0 --group=0 -cf - text other
perl -ne 'print if /7.*3/; END { exit 3 }' text
perl -e 'fork or exit 4; wait; print $? >> 8, qq(\n)'
bash -c 'for i in 1 2 3; do (exit $i); echo $?; done | cat; kill -TERM $$'
dash -c 'trap "echo got it" USR1; kill -USR1 $$; echo $((1 + 2)); exit 6'
bc -l <<<'2^2000; scale=50; 4*a(1)'
dc -e '2 300 ^ p'
gcc -O2 -S -o - a.c
g++ -x c++ -O2 -S -o - a.c
cpp a.c
ld -r -o b.o a.o && sha256sum b.o
nm a.o
objdump -d a.o
readelf -a a.o
strings a.o
ar rDc a.a a.o && ar t a.a && rm a.a
make -s
make -j3 -s
git --no-pager diff --no-index --stat text other
/usr/bin/python3 -c 'import json, sys; print(json.dumps(sorted(open("text"))[:50])); sys.exit(5)'
/usr/bin/python3 -c 'import subprocess, threading; [threading.Thread(target=sum, args=(range(9**5),)).start() for _ in range(4)]; print(subprocess.call(["false"]))'
sqlite3 :memory: 'create table t(a); insert into t values(1), (2); select sum(a) from t'
lua5.4 -e 'local t = {} for i = 1, 1e5 do t[i] = i * 2 end print(#t) os.exit(7)'
openssl dgst -sha3-256 text
jq -c -n '[range(100)] | map(. * 2)'
date -u -d @0
timeout 5 cat text
nice -n 3 nice
setsid -w sh -c 'exit 9'
dd if=text bs=7 count=1000 status=none
cat text nothere
ls -1 text nowhere
END
known=0
both=("${collectors[@]}")
# Without TT_LONG: filters, children, compilers, programs that fail.
few=" tr split join xargs gcc cpp nice setsid cat ls ar objdump tac shuf printf uniq "
# once - whether debian.t and debian-heap.t leave this program to us.
once() { [ "${ROUNDS:-}" ] || ! grep -qE "^ *program ${1##*/} " test/debian.t; }
while read -r line; do
    program=${line%% *}
    [ "${ROUNDS:-}" ] || is_long || [[ $few = *" $program "* ]] || continue
    once "$program" || continue
    if command -v "$program" >/dev/null; then
        [ "${ROUNDS:-}" ] || collectors=("${both[known % 2]}")
        ((known++))
        try "$program: ${line:0:60}" compare bash -c "$line"
    else
        skip "$program: ${line:0:60}" "it is not installed"
    fi
done <"$tmp/ordinary"
try "they are many" [ $known -ge "$(for_long 10 31)" ]
echo "# $compared comparisons"
[ "${ROUNDS:-1}" -lt 52 ] || try "they were ten thousand" [ $compared -ge 10000 ]
finish
