/* SPDX-License-Identifier: MIT */
/* nasty.c - programs that would notice a guest: what same.t runs.
 *
 * Each prints what its system calls, signals and threads came to, and nothing that differs
 * from run to run. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

static uint64_t thread_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void burn_ms(unsigned ms)
{
    uint64_t end = thread_ns() + ms * (uint64_t)1000000;

    do
        for (int i = 0; i < 2000; i++)
            sink = sink * 1103515245u + 12345u;
    while (thread_ns() < end);
}

/* ── Cancelled threads ────────────────────────────────────────────────────────────── */

static void *spin(void *arg)
{
    (void)pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    for (;;)
        sink++;
    return arg;
}

/* Anywhere: in a handler of ours, too. */
static void run_cancel(int n)
{
    int cancelled = 0;

    for (int i = 0; i < n; i++) {
        pthread_t thread;
        void *result = NULL;
        if (pthread_create(&thread, NULL, spin, NULL) != 0)
            continue;
        usleep(500 + (unsigned)i % 7 * 900);
        (void)pthread_cancel(thread);
        (void)pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("%d cancelled\n", cancelled);
}

static int begun, worked, called, is_quiet;

static __attribute__((noinline)) void walk_left(unsigned path, int depth);

static __attribute__((noinline)) void walk(unsigned path, int depth)
{
    if (depth == 0 && !is_quiet)
        free(malloc(path + 1));
    else if (depth == 0)
        sink++;
    else if (path & 1)
        walk_left(path >> 1, depth - 1);
    else
        walk(path >> 1, depth - 1);
    sink++;
}

static void walk_left(unsigned path, int depth)
{
    walk(path, depth);
    sink += 2;
}

/* Nothing that it calls before the end is a point where a thread is cancelled. */
static void *work_cancelled(void *arg)
{
    (void)__atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
    for (unsigned path = 0; path < 1u << (uintptr_t)arg; path++)
        walk(path, (int)(uintptr_t)arg);
    burn_ms(arg ? 30 : 0);
    if (arg && !dlsym(RTLD_DEFAULT, "malloc"))
        return arg;
    (void)__atomic_fetch_add(&worked, 1, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&called, __ATOMIC_ACQUIRE))
        (void)sched_yield();
    pthread_testcancel();
    return arg;
}

static void run_pending(int n)
{
    enum { DEPTH = 13 };
    int cancelled = 0;

    for (int i = 0; i < n; i++) {
        pthread_t thread;
        void *result = NULL;
        called = 0;
        if (pthread_create(&thread, NULL, work_cancelled,
                           i % 100 ? NULL : (void *)(uintptr_t)DEPTH) != 0)
            continue;
        (void)pthread_cancel(thread);
        __atomic_store_n(&called, 1, __ATOMIC_RELEASE);
        (void)pthread_join(thread, &result);
        cancelled += result == PTHREAD_CANCELED;
    }
    printf("%d begun, %d worked, %d cancelled\n", begun, worked, cancelled);
}

/* ── Stacks ───────────────────────────────────────────────────────────────────────── */

static size_t used_stack;

static void *use_stack(void *arg)
{
    volatile char *bytes = __builtin_alloca(used_stack);

    for (size_t i = 0; i < used_stack; i += 64)
        bytes[i] = (char)i;
    burn_ms(40);
    return arg;
}

static pthread_attr_t small_stack(void)
{
    pthread_attr_t attributes;

    pthread_attr_init(&attributes);
    (void)pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN);
    return attributes;
}

static void run_tiny(int n)
{
    pthread_attr_t attributes = small_stack();
    pthread_t thread[2];
    int made = 0;

    used_stack = (size_t)n;
    for (int i = 0; i < 2; i++)
        made += pthread_create(&thread[i], &attributes, use_stack, NULL) == 0;
    for (int i = 0; i < made; i++)
        pthread_join(thread[i], NULL);
    printf("%d threads\n", made);
}

static const char *on_stack = "nowhere";
static int is_small; /* then it may have a larger stack for handlers than its own */
static char *own_low, *own_high, *set_low, *set_high;

static void where_am_i(int number)
{
    char here;

    (void)number;
    on_stack = &here >= set_low && &here < set_high   ? "on the one that was set"
               : &here >= own_low && &here < own_high ? "on the thread's"
                                                      : "on another";
}

static void print_stack(const char *when)
{
    stack_t now;

    errno = 0;
    printf("%s: %d", when, sigaltstack(NULL, &now));
    printf(" %s%s", now.ss_flags & SS_DISABLE ? "none" : "there",
           now.ss_sp == set_low && set_low ? ", the one that was set" : "");
    printf(", handler %s\n", is_small && !set_low ? "somewhere" : on_stack);
}

/* A handler on the thread's stack, if the program has set no other: its changes end with it. */
static void change_in_handler(int number)
{
    static char memory[32 << 10];
    stack_t other = {.ss_sp = memory, .ss_size = sizeof memory},
            none = {.ss_flags = SS_DISABLE}, odd = {.ss_sp = memory, .ss_flags = 64},
            little = {.ss_sp = memory, .ss_size = 100}, now;

    (void)number;
    for (int i = 0; i < 6; i++) {
        const stack_t *set = i == 0   ? NULL
                             : i == 1 ? &odd
                             : i == 2 ? &little
                             : i == 5 ? &none
                                      : &other;
        errno = 0;
        memset(&now, 1, sizeof now);
        printf("in a handler: %d", sigaltstack(set, &now));
        printf(" %d, before: %d %zu\n", errno, now.ss_flags, now.ss_size);
    }
    errno = 0;
    printf("no address: %d", sigaltstack((void *)8, NULL));
    printf(" %d, %d", errno, sigaltstack(&other, (void *)8));
    printf(" %d\n", errno);
}

static void *change_stacks(void *arg)
{
    static char memory[32 << 10];
    stack_t other = {.ss_sp = memory, .ss_size = sizeof memory},
            none = {.ss_flags = SS_DISABLE}, little = {.ss_sp = memory, .ss_size = 100};
    pthread_attr_t attributes;
    void *low;
    size_t size;

    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    own_low = low;
    is_small = size < 64 << 10;
    own_high = own_low + size;
    set_low = set_high = NULL;
    burn_ms(20);
    raise(SIGUSR1);
    print_stack("at first");
    raise(SIGUSR2);
    print_stack("after the handler");
    printf("too small: %d", sigaltstack(&little, NULL));
    printf(" %s\n", strerror(errno));
    if (sigaltstack(&other, NULL) == 0) {
        set_low = memory;
        set_high = memory + sizeof memory;
    }
    burn_ms(20);
    raise(SIGUSR1);
    print_stack("set");
    raise(SIGUSR2);
    print_stack("after the handler");
    printf("unset: %d\n", sigaltstack(&none, &other));
    printf("it was %s\n", other.ss_sp == memory ? "that" : "another");
    set_low = set_high = NULL;
    raise(SIGUSR1);
    print_stack("unset");
    burn_ms(20);
    return arg;
}

static void run_altstack(void)
{
    struct sigaction action = {.sa_handler = where_am_i, .sa_flags = SA_ONSTACK};
    pthread_attr_t attributes = small_stack();
    pthread_t thread;

    (void)sigaction(SIGUSR1, &action, NULL);
    action.sa_handler = change_in_handler;
    (void)sigaction(SIGUSR2, &action, NULL);
    (void)change_stacks(NULL);
    if (pthread_create(&thread, NULL, change_stacks, NULL) == 0)
        pthread_join(thread, NULL);
    if (pthread_create(&thread, &attributes, change_stacks, NULL) == 0)
        pthread_join(thread, NULL);
}

/* ── Signals ──────────────────────────────────────────────────────────────────────── */

static volatile sig_atomic_t caught, last_code, last_value;

static void catch_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    caught = caught + number;
    last_code = info->si_code;
    last_value = info->si_value.sival_int;
}

static unsigned long hash_of(const void *bytes, size_t size)
{
    const unsigned char *p = bytes;
    unsigned long hash = 5381;

    while (size--)
        hash = hash * 33 + *p++;
    return hash & 0xffffffff;
}

/* Without 32 and 33: these are the C library's, and no program can ask for them. */
static void print_masks(void)
{
    char line[200];
    FILE *f = fopen("/proc/self/status", "r");

    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0 ||
            strncmp(line, "ShdPnd", 6) == 0)
            printf("%.6s %llx\n", line,
                   strtoull(line + 7, NULL, 16) & ~(3ULL << (32 - 1)));
        else if (strncmp(line, "Threads", 7) == 0)
            fputs(line, stdout);
    if (f)
        fclose(f);
}

static void try_handlers(int number)
{
    struct sigaction wanted = {.sa_sigaction = catch_signal, .sa_flags = SA_SIGINFO},
                     found;
    union sigval value = {.sival_int = number * 3};

    sigfillset(&wanted.sa_mask);
    wanted.sa_flags = SA_SIGINFO |
                      (int)(number % 2 ? (unsigned)SA_RESETHAND : SA_RESTART);
    printf("%d: %d", number, sigaction(number, &wanted, &found));
    printf(" %d %x", found.sa_handler == SIG_DFL, (unsigned)(found.sa_flags & 0xffffff));
    caught = 0;
    printf(" %d", sigqueue(getpid(), number, value));
    burn_ms(1);
    printf(" %d %d %d", (int)caught, (int)last_code, (int)last_value);
    (void)sigaction(number, NULL, &found);
    printf(" %d %x %lx\n", found.sa_handler == SIG_DFL,
           (unsigned)(found.sa_flags & ~0x04000000), hash_of(&found.sa_mask, 8));
}

static void try_waiting(int number)
{
    const struct timespec soon = {0, 2000000};
    sigset_t one, pending;
    siginfo_t info;
    int taken = 0;

    sigemptyset(&one);
    sigaddset(&one, number);
    printf("block %d", sigprocmask(SIG_BLOCK, &one, NULL));
    (void)kill(getpid(), number);
    burn_ms(5);
    sigpending(&pending);
    printf(" %d %lx", sigismember(&pending, number), hash_of(&pending, 8));
    printf(" %d", sigwait(&one, &taken));
    printf(" %d", taken);
    printf(" %d", sigtimedwait(&one, &info, &soon));
    (void)kill(getpid(), number);
    printf(" %d", sigwaitinfo(&one, &info));
    printf(" %d\n", info.si_code);
}

static void run_signals(const char *self)
{
    sigset_t set;

    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        try_handlers(number);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        try_waiting(number);
    try_waiting(SIGPROF);
    for (int number = 1; number <= 64; number += 3)
        (void)signal(number, SIG_IGN);
    memset(&set, 0xff, sizeof set);
    printf("%d", sigprocmask(SIG_BLOCK, &set, NULL));
    (void)sigprocmask(SIG_BLOCK, NULL, &set);
    printf(" %lx\n", hash_of(&set, 8));
    for (int number = 1; number <= 64; number++)
        printf("%d", sigismember(&set, number));
    puts("");
    print_masks();
    fflush(stdout);
    execl(self, "nasty", "masks", (char *)NULL);
}

/* ── Calls that a signal would cut short ──────────────────────────────────────────── */

static void *read_slowly(void *arg)
{
    static char block[4096];
    int fd = (int)(intptr_t)arg;

    for (int i = 0; read(fd, block, sizeof block) > 0; i++)
        if (i % 64 == 0)
            usleep(2000);
    return NULL;
}

static void *write_slowly(void *arg)
{
    static char block[1000];

    for (int i = 0; i < 10; i++) {
        usleep(5000);
        if (write((int)(intptr_t)arg, block, sizeof block) != sizeof block)
            puts("not written");
    }
    return NULL;
}

static void run_partial(void)
{
    enum { SIZE = 4 << 20 };
    char *bytes = calloc(1, SIZE);
    int pipes[2], ends[2];
    pthread_t thread;

    if (!bytes || pipe(pipes) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        return;
    if (pthread_create(&thread, NULL, read_slowly, (void *)(intptr_t)pipes[0]) != 0)
        return;
    printf("pipe %zd\n", write(pipes[1], bytes, SIZE));
    close(pipes[1]);
    pthread_join(thread, NULL);
    if (pthread_create(&thread, NULL, write_slowly, (void *)(intptr_t)ends[0]) != 0)
        return;
    printf("all %zd\n", recv(ends[1], bytes, 10000, MSG_WAITALL));
    pthread_join(thread, NULL);
    if (pthread_create(&thread, NULL, read_slowly, (void *)(intptr_t)ends[0]) != 0)
        return;
    printf("socket %zd\n", send(ends[1], bytes, SIZE, 0));
    shutdown(ends[1], SHUT_RDWR);
    pthread_join(thread, NULL);
    free(bytes);
}

static void run_timers(void)
{
    struct itimerval every = {{0, 3000}, {0, 3000}}, now, none = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_sigaction = catch_signal, .sa_flags = SA_SIGINFO};
    const enum __itimer_which clocks[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF};
    const int signals[] = {SIGALRM, SIGVTALRM, SIGPROF};
    struct pollfd nothing = {-1, 0, 0};

    for (int i = 0; i < 3; i++) {
        printf("%d", getitimer(clocks[i], &now));
        printf(" %ld %ld\n", (long)now.it_value.tv_usec, (long)now.it_interval.tv_usec);
    }
    for (int i = 0; i < 3; i++) {
        caught = 0;
        (void)sigaction(signals[i], &action, NULL);
        (void)setitimer(clocks[i], &every, NULL);
        while (caught < 3 * signals[i])
            burn_ms(2);
        (void)getitimer(clocks[i], &now);
        (void)setitimer(clocks[i], &none, NULL);
        printf("%d %ld\n", (int)last_code, (long)now.it_interval.tv_usec);
    }
    for (int i = 0, early = 0; i < 200; i++) {
        burn_ms(1);
        early += poll(&nothing, 1, 1) != 0;
        if (early || i == 199)
            printf("%d early\n", early);
    }
    (void)ualarm(2000, 2000); /* its end is the alarm's */
    (void)signal(SIGALRM, SIG_DFL);
    burn_ms(50);
}

/* ── Sandboxes ────────────────────────────────────────────────────────────────────── */

#define ALLOWED(name)                                                                    \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                               \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* What a program needs that computes, and prints, and ends. */
static const struct sock_filter little[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOWED(read),
    ALLOWED(write),
    ALLOWED(exit),
    ALLOWED(exit_group),
    ALLOWED(rt_sigreturn),
    ALLOWED(brk),
    ALLOWED(futex),
    ALLOWED(madvise),
    ALLOWED(munmap),
    ALLOWED(mmap),
    ALLOWED(mprotect),
    ALLOWED(newfstatat),
    ALLOWED(rt_sigprocmask),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static void *end_filtered(void *go)
{
    volatile int own = 0; /* two processors would exchange the line of `sink` */

    while (!__atomic_load_n((int *)go, __ATOMIC_ACQUIRE))
        own++;
    return NULL;
}

static void fork_and_end(int number)
{
    (void)number;
    sink++;
}

/* `how`: by prctl, and by syscall.  Each ends in another way. */
static void filter_calls(int how)
{
    struct sock_fprog program = {sizeof little / sizeof *little,
                                 (struct sock_filter *)(uintptr_t)little};
    pthread_t thread;
    int go = 0, error;

    burn_ms(20);
    if (pthread_create(&thread, NULL, end_filtered, &go) != 0)
        _exit(99);
    (void)signal(SIGUSR1, fork_and_end);
    error = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    error |= prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == 0; /* is there any? */
    if (how == 0)
        error |= prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    else
        error |= (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    for (volatile int i = 0; i < 20000000; i++)
        sink++;
    __atomic_store_n(&go, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
    free(malloc(1000000));
    if (how == 1)
        _exit(5 + error);
    exit(6 + error);
}

static int status_of(pid_t child)
{
    int status = -1;

    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static void run_seccomp(void)
{
    fflush(stdout);
    for (int how = 0; how < 2; how++) {
        pid_t child = fork();
        if (child == 0)
            filter_calls(how);
        printf("%d\n", status_of(child));
        fflush(stdout);
    }
    filter_calls(1);
}

/* ── Limits ───────────────────────────────────────────────────────────────────────── */

static void run_mlock(void)
{
    struct rlimit limit = {40 << 20, 40 << 20};
    char line[200], *more;
    FILE *f;

    (void)setrlimit(RLIMIT_MEMLOCK, &limit);
    if (geteuid() == 0)
        (void)!setresuid(65534, 65534, 65534);
    errno = 0;
    printf("%d", mlockall(MCL_CURRENT));
    printf(" %s\n", strerror(errno));
    f = fopen("/proc/self/status", "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "VmLck", 5) == 0)
            printf("%d\n", atoi(line + 6) > 500);
    if (f)
        fclose(f);
    printf("%d", munlockall());
    printf(" %d", mlockall(MCL_CURRENT | MCL_FUTURE));
    more = malloc(1 << 20);
    printf(" %d\n", more != NULL);
    free(more);
    printf("%d\n", munlockall());
    burn_ms(30);
}

static void run_files(int limit)
{
    struct rlimit l = {(rlim_t)limit, (rlim_t)limit};
    int fd, opened = 0, last = -1;

    (void)setrlimit(RLIMIT_NOFILE, &l);
    for (; (fd = open("/dev/null", O_RDONLY)) >= 0; opened++)
        last = fd;
    printf("%d files, up to %d: %s\n", opened, last, strerror(errno));
    burn_ms(30);
    for (fd = 3; fd < 2000; fd++)
        (void)close(fd);
    fd = open("/dev/zero", O_RDONLY);
    burn_ms(30);
    printf("%d again\n", fd);
    (void)close_range(3, ~0u, 0);
    run_pending(4);
}

/* Under what limit it was started with. */
static void run_next(void)
{
    int first = open("/dev/null", O_RDONLY), second = open("/dev/null", O_RDONLY);

    printf("%d %d\n", first, second);
    burn_ms(20);
    printf("%d\n", open("/dev/null", O_RDONLY));
}

/* All that the limit allows; then work, while there is none. */
static void run_every(void)
{
    int fd, last = -1, opened = 0;

    for (; (fd = open("/dev/null", O_RDONLY)) >= 0; opened++)
        last = fd;
    printf("%d files, up to %d: %s\n", opened, last, strerror(errno));
    burn_ms(20);
    run_pending(4);
    printf("%d %d\n", close(last), open("/dev/null", O_RDONLY));
}

static void run_memory(int megabytes)
{
    struct rlimit l = {(rlim_t)megabytes << 20, (rlim_t)megabytes << 20};
    void *p;

    if (setrlimit(RLIMIT_AS, &l) != 0)
        return;
    p = malloc((size_t)megabytes << 20);
    printf("%d %s\n", p == NULL, strerror(errno));
    burn_ms(20);
    p = malloc(1000);
    printf("%d\n", p != NULL);
    free(p);
}

/* ── Children ─────────────────────────────────────────────────────────────────────── */

static void run_chain(int depth)
{
    for (int i = 0; i < depth; i++) {
        pid_t child = fork();
        if (child != 0) {
            int status = status_of(child);
            _exit(child < 0 ? 99 : status ? status : i % 7);
        }
        free(malloc(100));
    }
    burn_ms(2);
    _exit(3);
}

/* So many forks are looked at. */
enum { FORKS = 30 };

static volatile pid_t forked;

/* Once: its handler sets it again, so that the program goes on, however long a fork takes. */
static void set_timer(long us)
{
    const struct itimerval once = {{0, 0}, {0, us}};

    (void)setitimer(ITIMER_REAL, &once, NULL);
}

static void fork_here(int number)
{
    int saved = errno;

    (void)number;
    forked = fork();
    if (forked == 0)
        _exit(8);
    set_timer(2000);
    errno = saved;
}

/* The children return from the handler, and go on. */
static volatile int is_child, children;
static volatile pid_t child_of_handler[FORKS];

static void fork_and_return(int number)
{
    int saved = errno;
    pid_t child;

    (void)number;
    if (is_child || children == FORKS)
        return;
    child = fork();
    if (child == 0)
        is_child = 1;
    else if (child > 0)
        child_of_handler[children++] = child;
    if (child > 0)
        set_timer(1500);
    errno = saved;
}

static void run_returning_forks(void)
{
    struct sigaction action = {.sa_handler = fork_and_return, .sa_flags = SA_RESTART};
    int right = 0, left = 30000;
    char *p[256] = {0};

    (void)sigaction(SIGALRM, &action, NULL);
    set_timer(1500);
    for (unsigned i = 0; is_child ? left-- > 0 : children < FORKS; i++) {
        free(p[i * 7919 % 256]);
        p[i * 7919 % 256] = malloc(1 + i % 500);
    }
    if (is_child)
        _exit(9);
    set_timer(0);
    for (int i = 0; i < children; i++)
        right += status_of(child_of_handler[i]) == 9;
    printf("%d\n", right);
}

/* quiet: no allocator's code is interrupted. */
static void run_handler_forks(int quiet)
{
    struct sigaction action = {.sa_handler = fork_here, .sa_flags = SA_RESTART};
    int right = 0;

    (void)sigaction(SIGALRM, &action, NULL);
    is_quiet = quiet;
    set_timer(2000);
    for (int i = 0; right < FORKS; i++) {
        for (int j = 0; j < 100; j++)
            walk((unsigned)i, 8);
        if (forked > 0 && status_of(forked) == 8)
            right++;
    }
    set_timer(0);
    while (wait(NULL) > 0)
        ;
    printf("%d\n", right);
}

static void *get_errno(void *arg)
{
    *(int *)arg = errno;
    return NULL;
}

/* errno where the program, a thread and a child begin. */
static void print_errno(int at_start)
{
    int in_thread = -1;
    pthread_t thread;

    if (pthread_create(&thread, NULL, get_errno, &in_thread) == 0)
        pthread_join(thread, NULL);
    printf("errno %d %d\n", at_start, in_thread);
    errno = 77;
    if (fork() == 0) {
        printf("errno %d\n", errno);
        _exit(0);
    }
    (void)wait(NULL);
}

/* What a careful program knows of itself. */
static void run_self(int at_start)
{
    char name[64];
    ssize_t length = readlink("/proc/self/exe", name, sizeof name - 1);
    int fds[2];

    printf("%d\n", length > 0);
    print_errno(at_start);
    print_masks();
    printf("%d\n", unshare(CLONE_FS));
    printf("%d\n", unshare(CLONE_NEWUSER));
    printf("%d", pipe(fds));
    printf(" %d %d\n", fds[0], fds[1]);
    printf("%d\n", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    printf("%d %d\n", (int)prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0), nice(0));
    printf("%d", (int)wait(NULL));
    printf(" %s\n", strerror(errno));
}

static int is_command(char **argv, const char *name)
{
    return argv[1] && strcmp(argv[1], name) == 0;
}

int main(int argc, char **argv)
{
    const int at_start = errno;
    int n = argc > 2 ? atoi(argv[2]) : 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (is_command(argv, "cancel"))
        run_cancel(n);
    else if (is_command(argv, "pending"))
        run_pending(n);
    else if (is_command(argv, "tiny"))
        run_tiny(n);
    else if (is_command(argv, "altstack"))
        run_altstack();
    else if (is_command(argv, "signals"))
        run_signals(argv[0]);
    else if (is_command(argv, "masks"))
        print_masks();
    else if (is_command(argv, "partial"))
        run_partial();
    else if (is_command(argv, "timers"))
        run_timers();
    else if (is_command(argv, "seccomp"))
        run_seccomp();
    else if (is_command(argv, "mlock"))
        run_mlock();
    else if (is_command(argv, "files"))
        run_files(n);
    else if (is_command(argv, "next"))
        run_next();
    else if (is_command(argv, "every"))
        run_every();
    else if (is_command(argv, "memory"))
        run_memory(n);
    else if (is_command(argv, "chain"))
        run_chain(n);
    else if (is_command(argv, "handler"))
        run_handler_forks(n);
    else if (is_command(argv, "returning"))
        run_returning_forks();
    else if (is_command(argv, "self"))
        run_self(at_start);
    else
        return 2;
    return 0;
}
