/* SPDX-License-Identifier: MIT */
/* guest.c - a program that is difficult to record, for record.t and similar tests.
 *
 *      guest threads N      N short threads, a few at a time
 *      guest storm          sends signals to its threads and itself all the time
 *      guest plugins LIB N  loads, calls and unloads a library N times
 *      guest malloc N       threads that do nothing but malloc, with fork in between
 *      guest mixed LIB N    threads that malloc, load LIB, jump, end by unwinding and are
 *                           signalled, with fork and exec in between
 *      guest timers         uses SIGPROF, ITIMER_PROF and the signal of the sampler
 *      guest masks          blocks all signals, and waits for them one by one
 *      guest files          checks the numbers of file descriptors, and closes all
 *      guest sleep          calls that a signal would interrupt
 *      guest stacks         small stacks, other stacks, longjmp
 *      guest children       fork, vfork, exec, posix_spawn, daemons
 *      guest clone          a thread that was made without a library
 *      guest truth N        N rounds: A and B use CPU time 40 : 60; prints the clock's figures
 *
 * Each prints the same text in each run, and exits with 0 if nothing differs from a run without
 * a recorder. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static int wrong;

#define EXPECT(what)                                                                     \
    do {                                                                                 \
        if (!(what)) {                                                                   \
            fprintf(stderr, "line %d: not %s\n", __LINE__, #what);                       \
            wrong = 1;                                                                   \
        }                                                                                \
    } while (0)

static uint64_t cpu_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static volatile uint64_t sink;

static __attribute__((noinline)) void burn_ns(uint64_t ns)
{
    uint64_t end = cpu_ns(CLOCK_THREAD_CPUTIME_ID) + ns;

    do
        for (int i = 0; i < 2000; i++)
            sink = sink * 1103515245u + 12345u;
    while (cpu_ns(CLOCK_THREAD_CPUTIME_ID) < end);
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

static void *short_thread(void *arg)
{
    if ((uintptr_t)arg % 50 == 0) {
        (void)pthread_setname_np(pthread_self(), "busy");
        burn_ns(8000000);
    }
    return arg;
}

static void run_threads(uintptr_t n)
{
    enum { AT_ONCE = 8 };
    pthread_t thread[AT_ONCE];
    uintptr_t sum = 0, started = 0;

    for (uintptr_t i = 0; i < n; i += AT_ONCE) {
        int count = n - i < AT_ONCE ? (int)(n - i) : AT_ONCE;
        for (int j = 0; j < count; j++)
            if (pthread_create(&thread[j], NULL, short_thread,
                               (void *)(i + (uintptr_t)j)) == 0)
                started++;
        for (int j = 0; j < count; j++) {
            void *result = NULL;
            pthread_join(thread[j], &result);
            sum += (uintptr_t)result;
        }
    }
    printf("%lu threads, sum %lu\n", (unsigned long)started, (unsigned long)sum);
}

/* ── Signals ──────────────────────────────────────────────────────────────────────── */

static volatile sig_atomic_t caught, leave;

static void on_signal(int number)
{
    (void)number;
    caught++;
    for (int i = 0; i < 100; i++)
        sink++;
}

static void *work_under_storm(void *arg)
{
    while (!leave)
        free(malloc(100 + sink % 1000));
    return arg;
}

static void run_storm(void)
{
    enum { THREADS = 4 };
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 500}, {0, 500}}, none = {{0, 0}, {0, 0}};
    pthread_t thread[THREADS];
    uint64_t end = cpu_ns(CLOCK_PROCESS_CPUTIME_ID) + 400000000;

    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    sigaction(SIGVTALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    setitimer(ITIMER_VIRTUAL, &every, NULL);
    for (int i = 0; i < THREADS; i++)
        EXPECT(pthread_create(&thread[i], NULL, work_under_storm, NULL) == 0);
    while (cpu_ns(CLOCK_PROCESS_CPUTIME_ID) < end)
        for (int i = 0; i < THREADS; i++)
            pthread_kill(thread[i], SIGUSR1);
    leave = 1;
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    setitimer(ITIMER_REAL, &none, NULL);
    setitimer(ITIMER_VIRTUAL, &none, NULL);
    EXPECT(caught > 100);
    puts("stormy");
}

/* Its own profiler, and a handler on every signal that can have one. */
static void run_timers(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART}, before;
    struct itimerval every = {{0, 4000}, {0, 4000}}, none = {{0, 0}, {0, 0}};
    int settable = 0, seen = 0;

    for (int i = 1; i <= 64; i++)
        if (i != SIGKILL && i != SIGSTOP && sigaction(i, &action, NULL) == 0)
            settable++;
    for (int i = 1; i <= 64; i++)
        if (sigaction(i, NULL, &before) == 0 && before.sa_handler == on_signal)
            seen++;
    EXPECT(settable == seen);
    for (int i = SIGRTMIN; i <= SIGRTMAX; i++) {
        int count = caught;
        raise(i);
        EXPECT(caught == count + 1);
    }
    caught = 0;
    setitimer(ITIMER_PROF, &every, NULL);
    for (int i = 0; i < 500 && caught < 20; i++)
        burn_ns(20000000);
    setitimer(ITIMER_PROF, &none, NULL);
    EXPECT(caught >= 20);
    printf("%d signals\n", settable);
}

static void run_masks(void)
{
    sigset_t all, one, now;
    struct timespec soon = {0, 1000000};
    siginfo_t info;
    int number = 0, unexpected = 0;

    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    for (int i = 0; i < 20; i++) {
        burn_ns(10000000);
        if (sigtimedwait(&all, &info, &soon) >= 0)
            unexpected++;
    }
    EXPECT(unexpected == 0);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    raise(SIGUSR2);
    EXPECT(sigwait(&one, &number) == 0 && number == SIGUSR2);
    puts("masked");
}

/* Nothing here returns early: it sends no signals itself. */
static void run_sleep(void)
{
    struct timespec nap = {0, 200000};
    struct timeval moment;
    int early = 0, queue = epoll_create1(0);
    struct epoll_event event;

    for (int i = 0; i < 3000; i++) {
        for (int j = 0; j < 2000; j++)
            sink = sink * 1103515245u + 12345u;
        early += nanosleep(&nap, NULL) != 0;
        moment = (struct timeval){0, 100};
        early += select(0, NULL, NULL, NULL, &moment) != 0;
        early += epoll_wait(queue, &event, 1, i % 20 == 0) != 0;
    }
    EXPECT(early == 0);
    puts("slept");
}

/* ── Plug-ins ─────────────────────────────────────────────────────────────────────── */

static void run_plugins(const char *path, int n)
{
    int called = 0;

    for (int i = 0; i < n; i++) {
        void *library = dlopen(path, i % 2 ? RTLD_NOW : RTLD_LAZY);
        void (*work)(int) = library ? (void (*)(int))dlsym(library, "plugin_work") : NULL;
        if (work) {
            work(20000);
            called++;
        }
        if (library)
            dlclose(library);
    }
    EXPECT(dlsym(RTLD_DEFAULT, "no_such_symbol_at_all") == NULL);
    EXPECT(dlsym(RTLD_NEXT, "malloc") != NULL);
    printf("%d calls\n", called);
}

/* ── Malloc ───────────────────────────────────────────────────────────────────────── */

static void *churn(void *arg)
{
    void *kept[64] = {NULL};
    uint32_t x = (uint32_t)(uintptr_t)arg;

    for (int i = 0; i < 200000; i++) {
        x = x * 1664525u + 1013904223u;
        free(kept[x >> 26]);
        kept[x >> 26] = malloc((x >> 8) % 5000);
    }
    for (int i = 0; i < 64; i++)
        free(kept[i]);
    return NULL;
}

static void run_malloc(int n)
{
    enum { THREADS = 6 };
    pthread_t thread[THREADS];
    int failed = 0;

    for (int round = 0; round < n; round++) {
        for (uintptr_t i = 0; i < THREADS; i++)
            EXPECT(pthread_create(&thread[i], NULL, churn, (void *)(i + 1)) == 0);
        for (int i = 0; i < 5; i++) {
            int status = -1;
            pid_t child = fork();
            if (child == 0) {
                (void)churn((void *)(uintptr_t)7);
                exit(0);
            }
            waitpid(child, &status, 0);
            failed += status != 0;
        }
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
    }
    EXPECT(failed == 0);
    puts("churned");
}

/* ── Files ────────────────────────────────────────────────────────────────────────── */

static void run_files(void)
{
    int first = open("/dev/null", O_RDONLY), second = open("/dev/zero", O_RDONLY);
    char byte = 1;

    printf("%d %d\n", first, second);
    burn_ns(50000000);
    for (int fd = 3; fd < 4096; fd++)
        close(fd);
    for (int fd = 3; fd < 1030; fd++) /* code that uses one of these is wrong */
        EXPECT(open("/dev/zero", O_RDWR) == fd || fd >= 1000);
    for (int i = 0; i < 40; i++)
        burn_ns(5000000);
    EXPECT(read(5, &byte, 1) == 1 && byte == 0);
    close(7);
    for (int i = 0; i < 200000 && !wrong;
         i++) { /* no other code has it open, not even for a moment */
        EXPECT(open("/dev/zero", O_RDONLY) == 7);
        close(7);
    }
    puts("closed");
}

/* ── Stacks ───────────────────────────────────────────────────────────────────────── */

static ucontext_t outside, inside;
static jmp_buf back;

static void coroutine(void)
{
    for (;;) {
        burn_ns(3000000);
        swapcontext(&inside, &outside);
    }
}

static __attribute__((noinline)) void jump(int depth)
{
    if (depth > 0)
        jump(depth - 1);
    burn_ns(1000000);
    if (depth == 0)
        longjmp(back, 1);
}

static void on_small_stack(int number)
{
    (void)number;
    burn_ns(30000000);
}

static __attribute__((noinline)) uint64_t recurse(int depth)
{
    if (depth == 0) {
        burn_ns(40000000);
        return 1;
    }
    return recurse(depth - 1) + 1;
}

/* More than a handler's stack often has, and less than the thread's. */
static void need_stack(int number)
{
    volatile unsigned char bytes[80 << 10];
    int changed = 0;

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)number;
    burn_ns(50000000);
    for (size_t i = 0; i < sizeof bytes; i++)
        changed += bytes[i] != number;
    printf("%d bytes changed\n", changed);
}

static void *handle_on_small_stack(void *arg)
{
    burn_ns(10000000);
    raise(SIGUSR2);
    return arg;
}

static void run_small_stack(void)
{
    const struct sigaction action = {.sa_handler = need_stack, .sa_flags = SA_ONSTACK};
    pthread_attr_t attributes;
    pthread_t thread;

    sigaction(SIGUSR2, &action, NULL);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 192 << 10);
    pthread_create(&thread, &attributes, handle_on_small_stack, NULL);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

static void run_stacks(void)
{
    size_t size = 16384;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                        -1, 0);
    stack_t small = {.ss_sp = malloc(8192), .ss_size = 8192};
    struct sigaction action = {.sa_handler = on_small_stack, .sa_flags = SA_ONSTACK};
    int volatile jumps = 0;

    getcontext(&inside);
    inside.uc_stack.ss_sp = memory;
    inside.uc_stack.ss_size = size;
    makecontext(&inside, coroutine, 0);
    for (int i = 0; i < 30; i++)
        swapcontext(&outside, &inside);
    sigaltstack(&small, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    for (volatile int i = 0; i < 30; i++)
        if (setjmp(back) == 0)
            jump(50);
        else
            jumps++;
    printf("%d jumps, %lu deep\n", (int)jumps, (unsigned long)recurse(20000));
    run_small_stack();
}

/* ── A thread by a bare clone ─────────────────────────────────────────────────────── */

static volatile int made_ends;

/* It shares the thread-local memory of its creator, and does nothing that uses it. */
static int run_made(void *arg)
{
    for (unsigned i = 0; i < 300000000; i++)
        *(volatile unsigned *)arg = i;
    made_ends = 1;
    return 0;
}

static void run_clone(void)
{
    enum { STACK = 65536 };
    static unsigned counter;
    char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);
    struct timespec nap = {0, 5000000};

    EXPECT(clone(run_made, stack + STACK,
                 CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                     CLONE_SYSVSEM,
                 &counter) > 0);
    while (!made_ends)
        nanosleep(&nap, NULL);
    puts("made");
}

/* ── Children ─────────────────────────────────────────────────────────────────────── */

extern char **environ;

static int status_of(pid_t child)
{
    int status = -1;

    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static void execute(int how, const char *self)
{
    char *const words[] = {(char *)(uintptr_t) "guest", (char *)(uintptr_t) "exit",
                           (char *)(uintptr_t) "9", NULL};
    char folder[4096], *slash;

    snprintf(folder, sizeof folder, "%s", self);
    slash = strrchr(folder, '/');
    if (slash) {
        *slash = '\0';
        setenv("PATH", folder, 1);
    }
    if (how == 0)
        execl(self, "guest", "exit", "7", (char *)NULL);
    else if (how == 1)
        execlp("guest", "guest", "exit", "8", (char *)NULL);
    else if (how == 2)
        execle(self, "guest", "exit", "10", (char *)NULL, environ);
    else if (how == 3)
        execvp("guest", words);
    else if (how == 4)
        execvpe("guest", words, environ);
    else
        execve("/nonexistent/guest", words, environ);
    _exit(errno == ENOENT ? 98 : 99);
}

static void run_children(const char *self)
{
    char *const argv[] = {(char *)(uintptr_t)self, (char *)(uintptr_t) "exit",
                          (char *)(uintptr_t) "5", NULL};
    pid_t child = fork();

    if (child == 0) {
        burn_ns(30000000);
        exit(3);
    }
    printf("fork %d\n", status_of(child));
    child = vfork();
    if (child == 0) {
        execv(self, argv);
        _exit(99);
    }
    printf("vfork %d\n", status_of(child));
    EXPECT(posix_spawn(&child, self, NULL, NULL, argv, environ) == 0);
    printf("spawn %d\n", status_of(child));
    child = fork();
    if (child == 0)
        _exit(4);
    printf("_exit %d\n", status_of(child));
    for (int how = 0; how < 6; how++) {
        child = fork();
        if (child == 0)
            execute(how, self);
        printf("exec %d %d\n", how, status_of(child));
    }
    EXPECT(posix_spawnp(&child, "nonexistent-guest", NULL, NULL, argv, environ) ==
           ENOENT);
    child = fork();
    if (child == 0) {
        burn_ns(20000000);
        abort();
    }
    printf("abort %d\n", status_of(child) & 127);
    printf("system %d\n", WEXITSTATUS(system("exit 6")));
    fflush(stdout);
    execv(self, argv);
}

/* ── All at once ──────────────────────────────────────────────────────────────────── */

static void *load(void *path)
{
    for (int i = 0; i < 40; i++) {
        void *library = dlopen(path, RTLD_NOW);
        void (*work)(int) = library ? (void (*)(int))dlsym(library, "plugin_work") : NULL;
        if (work)
            work(20000);
        EXPECT(work && dlclose(library) == 0);
    }
    return NULL;
}

/* As an exception does, pthread_exit takes the frames off one by one. */
static __attribute__((noinline)) void go_deeper(jmp_buf *env, int depth)
{
    free(malloc((size_t)depth * 100 + 1));
    if (depth > 0)
        go_deeper(env, depth - 1);
    else if (env)
        longjmp(*env, 1);
    else if (sink != 1) /* for all that a compiler knows, it may come back */
        pthread_exit(NULL);
    sink++;
}

static void *jump_and_end(void *arg)
{
    jmp_buf env;

    for (volatile int i = 0; i < 200; i++)
        if (setjmp(env) == 0)
            go_deeper(&env, 20);
    go_deeper(NULL, 20);
    return arg;
}

static void *end_threads(void *arg)
{
    pthread_t thread;

    for (int i = 0; i < 20; i++) {
        EXPECT(pthread_create(&thread, NULL, jump_and_end, NULL) == 0);
        pthread_join(thread, NULL);
    }
    return arg;
}

static void run_mixed(const char *self, const char *path, int n)
{
    enum { THREADS = 4 };
    void *(*const body[THREADS])(void *) = {churn, churn, load, end_threads};
    char *const argv[] = {(char *)(uintptr_t)self, (char *)(uintptr_t) "exit",
                          (char *)(uintptr_t) "5", NULL};
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    pthread_t thread[THREADS];

    sigaction(SIGUSR1, &action, NULL);
    for (int round = 0; round < n; round++) {
        for (int i = 0; i < THREADS; i++)
            EXPECT(pthread_create(&thread[i], NULL, body[i], (void *)(uintptr_t)path) ==
                   0);
        for (int i = 0; i < 6; i++) {
            pid_t child = fork();
            if (child == 0 && i % 2)
                execv(self, argv);
            if (child == 0) {
                (void)churn((void *)(uintptr_t)7);
                _exit(5); /* exit waits for a dlclose that no thread of it will end */
            }
            for (int j = 0; j < 100; j++)
                pthread_kill(thread[j % THREADS], SIGUSR1);
            EXPECT(status_of(child) == 5);
        }
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
    }
    puts("mixed");
}

/* ── Truth ────────────────────────────────────────────────────────────────────────── */

void part_a(uint64_t ns);
void part_b(uint64_t ns);

__attribute__((noinline)) void part_a(uint64_t ns)
{
    burn_ns(ns);
    sink++;
}

__attribute__((noinline)) void part_b(uint64_t ns)
{
    burn_ns(ns);
    sink++;
}

static void run_truth(int rounds)
{
    uint32_t x = 1;

    for (int i = 0; i < rounds; i++) {
        x = x * 1664525u + 1013904223u; /* no rhythm that a timer could share */
        part_a(200000 + (x >> 16) % 200 * 1000);
        part_b(300000 + (x >> 16) % 200 * 1500);
    }
    puts("40 : 60");
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int n = argc > 2 ? atoi(argv[argc - 1]) : 1;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(what, "threads") == 0)
        run_threads((uintptr_t)n);
    else if (strcmp(what, "storm") == 0)
        run_storm();
    else if (strcmp(what, "plugins") == 0 && argc > 3)
        run_plugins(argv[2], n);
    else if (strcmp(what, "malloc") == 0)
        run_malloc(n);
    else if (strcmp(what, "mixed") == 0 && argc > 3)
        run_mixed(argv[0], argv[2], n);
    else if (strcmp(what, "timers") == 0)
        run_timers();
    else if (strcmp(what, "masks") == 0)
        run_masks();
    else if (strcmp(what, "files") == 0)
        run_files();
    else if (strcmp(what, "sleep") == 0)
        run_sleep();
    else if (strcmp(what, "stacks") == 0)
        run_stacks();
    else if (strcmp(what, "clone") == 0)
        run_clone();
    else if (strcmp(what, "children") == 0)
        run_children(argv[0]);
    else if (strcmp(what, "truth") == 0)
        run_truth(n);
    else if (strcmp(what, "exit") == 0)
        return n;
    else
        return 2;
    return wrong;
}
