/* SPDX-License-Identifier: MIT */
/* becomes.c - replaces itself by another program repeatedly, or makes children by system calls.
 *
 *      becomes exec N      N times, by each function of exec in turn; prints the results
 *      becomes reset N     N times, in a child that has set all signals to their defaults
 *      becomes stacks N    N children on separate stacks, by system calls
 *      becomes spawn 1     starts a script without an interpreter, by functions of two versions
 *      becomes faults 1    passes pointers that lead nowhere; prints the results
 *      becomes children N  N children without handlers of fork; prints their statuses */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* ── Another program ──────────────────────────────────────────────────────────────── */

/* While the system copies so much, a timer of the thread is likely to ring. */
enum { WORD = 100 << 10, WORDS = 15 };

static void spend(long ms)
{
    clock_t end = clock() + ms * (CLOCKS_PER_SEC / 1000);

    while (clock() < end)
        ;
}

static void become(char **argv, int left)
{
    static char number[16], word[WORD];
    char *with[WORDS + 4] = {argv[0], argv[1], number};
    int fd = open(argv[0], O_RDONLY | O_CLOEXEC);

    snprintf(number, sizeof number, "%d", left - 1);
    memset(word, 'x', sizeof word - 1);
    for (int i = 0; i < WORDS; i++)
        with[3 + i] = word;
    if (execv("/nowhere", with) != -1 || errno != ENOENT)
        return;
    switch (left % 5) {
    case 0:
        execve(argv[0], with, environ);
        break;
    case 1:
        execv(argv[0], with);
        break;
    case 2:
        execvp(argv[0], with);
        break;
#ifdef __GLIBC__
    case 3:
        execveat(AT_FDCWD, argv[0], with, environ, 0);
        break;
#endif
    default:
        fexecve(fd, with, environ);
    }
    perror(argv[0]);
}

/* ── Signals ──────────────────────────────────────────────────────────────────────── */

enum { FIRST_OF_LIBRARY = 32 };

struct system_action { /* as the system has it */
    void (*handler)(int);
    unsigned long flags;
    void *restorer;
    unsigned long mask;
};

static long set_action(int number, const struct system_action *wanted,
                       struct system_action *before)
{
    return syscall(SYS_rt_sigaction, number, wanted, before, 8);
}

/* As browsers do before they start what they are made of. */
static void reset_all(void)
{
    struct system_action none = {0};

    for (int i = 1; i <= 64; i++)
        (void)set_action(i, &none, NULL);
}

static void print_action(const char *when)
{
    struct system_action is = {0};

    printf("%s: %ld", when, set_action(FIRST_OF_LIBRARY, NULL, &is));
    printf(" %s %lx\n",
           is.handler == SIG_DFL   ? "default"
           : is.handler == SIG_IGN ? "ignored"
                                   : "handled",
           is.flags);
}

static void reset_and_become(char **argv, int n)
{
    struct system_action ignore = {.handler = SIG_IGN};
    char end[] = "end", none[] = "0", *then[] = {argv[0], end, none, NULL};

    print_action("first");
    printf("%ld\n", set_action(FIRST_OF_LIBRARY, &ignore, NULL));
    print_action("then");
    printf("%d\n", raise(FIRST_OF_LIBRARY));
    printf("%ld", syscall(SYS_rt_sigaction, FIRST_OF_LIBRARY, NULL, NULL, 7));
    printf(" %s\n", strerror(errno));
    for (int i = 0; i < n; i++) {
        int status = 0;
        pid_t pid = fork();
        if (pid == 0) {
            reset_all();
            spend(30);
            syscall(SYS_execve, then[0], then, environ);
            _exit(9);
        }
        waitpid(pid, &status, 0);
        printf("%x\n", (unsigned)status);
    }
    print_action("last");
}

/* ── Children ─────────────────────────────────────────────────────────────────────── */

static __attribute__((noinline)) void *take(size_t size)
{
    void *p = malloc(size);

    __asm__ volatile("" : : "r"(p) : "memory");
    return p;
}

static void work(int n)
{
    for (int i = 0; i < n; i++)
        free(take((size_t)i % 100 + 1));
}

static int child(void *n)
{
    work(*(int *)n);
    if (fork() == 0) {
        work(100);
        _exit(0);
    }
    (void)wait(NULL);
    if (*(int *)n % 2)
        exit(3); /* what was said to be done at the end is done */
    _exit(4);
}

static pid_t make(int kind, int *n)
{
    static char stack[256 << 10] __attribute__((aligned(16)));
    pid_t pid = -1;

    if (kind % 3 == 0)
        return clone(child, stack + sizeof stack, SIGCHLD, n);
    pid = kind % 3 == 1 ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : _Fork();
    if (pid == 0)
        _exit(child(n));
    return pid;
}

static void make_children(int count)
{
    for (int i = 0; i < count; i++) {
        int n = 20000 + i, status = 0;
        pid_t pid = make(i, &n);
        work(1000);
        if (waitpid(pid, &status, 0) == pid)
            printf("%d: %x\n", i, (unsigned)status);
    }
}

#if defined __x86_64__ && defined __GLIBC__
static void leave(void) { _exit(6); }

/* The child returns from the call to what lies on its stack. */
static void make_on_stacks(int count)
{
    static struct {
        char below[64 << 10];
        void (*next)(void);
        char above[64];
    } stack __attribute__((aligned(64)));

    for (int i = 0; i < count; i++) {
        int status = 0;
        pid_t pid;
        stack.next = leave;
        pid = (pid_t)syscall(SYS_clone, CLONE_VM | CLONE_VFORK | SIGCHLD, &stack.next, 0,
                             0, 0);
        printf("%d", waitpid(pid, &status, 0) == pid);
        printf(" %x\n", (unsigned)status);
    }
}
#else
static void make_on_stacks(int count) { printf("%d\n", count); }
#endif

/* ── Functions of several versions ────────────────────────────────────────────────── */

typedef __typeof__(posix_spawn) spawn;

#if defined __x86_64__ && defined __GLIBC__
spawn old_spawn, old_spawnp;
__asm__(".symver old_spawn, posix_spawn@GLIBC_2.2.5\n\t"
        ".symver old_spawnp, posix_spawnp@GLIBC_2.2.5");
#else
#define old_spawn posix_spawn
#define old_spawnp posix_spawnp
#endif

static void start_script(void)
{
    static const char text[] = "echo of a script\nexit 5\n";
    spawn *const each[] = {posix_spawn, posix_spawnp, old_spawn, old_spawnp};
    int fd = open("./script", O_WRONLY | O_CREAT | O_TRUNC, 0755), error, status;
    char *argv[] = {(char *)(uintptr_t) "script", NULL};
    pid_t pid;

    if (write(fd, text, sizeof text - 1) < 0 || close(fd) != 0)
        return;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        status = 0;
        error = each[i](&pid, "./script", NULL, NULL, argv, environ);
        if (!error)
            waitpid(pid, &status, 0);
        printf("%zu: %d, %d\n", i, error, status);
    }
    unlink("./script");
}

/* ── Pointers that lead nowhere ───────────────────────────────────────────────────── */

static void say(const char *what, int result)
{
    printf("%s: %d, %d\n", what, result, errno);
}

/* A text of which the last byte is the last one of a page that no other follows. */
static char *at_the_end(const char *text, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                     -1, 0);

    (void)mprotect(two + page, page, PROT_NONE);
    return memcpy(two + page - size, text, size);
}

static void pass_nowhere(char **argv)
{
    char *const nowhere = argv[0] - (uintptr_t)argv[0] + 8,
                *one[] = {(char *)(uintptr_t) "A=1", nowhere, NULL};
    char *const cut = at_the_end("/nowhere", 8), *const whole = at_the_end("/nowhere", 9);
    char *last[] = {at_the_end("L=1", 4), at_the_end("", 1), NULL};
    char *preloads[] = {at_the_end("LD_PRELOAD=/lib", 15), NULL};
    char *const *many = (char *const *)(void *)at_the_end((const char *)one,
                                                          sizeof one[0]);
    char *const *bad = (char *const *)(void *)nowhere;
    pid_t pid;

    say("execve, path", execve(nowhere, argv, environ));
    say("execve, path without an end", execve(cut, argv, environ));
    say("execve, path with an end", execve(whole, argv, environ));
    say("execve, words", execve(argv[0], bad, environ));
    say("execve, environment", execve(argv[0], argv, bad));
    say("execve, environment without an end", execve(argv[0], argv, many));
    say("execve, variable", execve(argv[0], argv, one));
    say("execve, variable without an end", execve(argv[0], argv, preloads));
    say("execve, variables at an end", execve(whole, argv, last));
    say("execv", execv(nowhere, argv));
    say("execvpe", execvpe("true", argv, bad));
    say("posix_spawn, path", posix_spawn(&pid, nowhere, NULL, NULL, argv, environ));
    say("posix_spawn, environment", posix_spawn(&pid, argv[0], NULL, NULL, argv, bad));
    say("rt_sigaction",
        (int)syscall(SYS_rt_sigaction, FIRST_OF_LIBRARY, nowhere, NULL, 8));
}

int main(int argc, char **argv)
{
    int n = argc > 2 ? atoi(argv[2]) : 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 2 && strcmp(argv[1], "stacks") == 0) {
        make_on_stacks(n);
    } else if (argc > 2 && strcmp(argv[1], "spawn") == 0) {
        start_script();
    } else if (argc > 2 && strcmp(argv[1], "faults") == 0) {
        pass_nowhere(argv);
    } else if (argc > 2 && strcmp(argv[1], "children") == 0) {
        make_children(n);
    } else if (argc > 2 && strcmp(argv[1], "reset") == 0) {
        reset_and_become(argv, n);
    } else if (n > 0) {
        spend(5);
        become(argv, n);
        return 1;
    }
    puts("the end");
    return 7;
}
