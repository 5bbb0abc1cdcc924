/* SPDX-License-Identifier: MIT */
/* switches-guest.c - waits of known length, of each a line: function, kind, ns, and how many;
 * and of each thread what the system says about its delays.
 *
 *      switches-guest SCENE     begins when its input ends */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 12 };

static unsigned long long now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec;
}

static void pause_ms(long ms)
{
    struct timespec t = {.tv_nsec = ms * 1000000};

    nanosleep(&t, NULL);
}

/* Time in which it could run, but did not: by the system's account. */
static unsigned long long delay_so_far(void)
{
    unsigned long long run, delay = 0;
    FILE *f = fopen("/proc/thread-self/schedstat", "r");

    if (!f || fscanf(f, "%llu %llu", &run, &delay) != 2)
        exit(2);
    fclose(f);
    return delay;
}

static void say(const char *function, const char *kind, unsigned long long ns, int count)
{
    printf("%s %s %llu %d\n", function, kind, ns, count);
}

/* ── Two processes and a pipe ─────────────────────────────────────────────────────── */

static int to_read, to_write;
static unsigned long long waited;

__attribute__((noinline)) static void take_item(void)
{
    unsigned long long begin = now();
    char item;

    if (read(to_read, &item, 1) != 1)
        exit(2);
    waited += now() - begin;
}

__attribute__((noinline)) static void put_item(void)
{
    if (write(to_write, "x", 1) != 1)
        exit(2);
    __asm__ volatile("");
}

__attribute__((noinline)) static void produce(void)
{
    for (int i = 0; i < TURNS; i++) {
        pause_ms(20);
        put_item();
    }
    _exit(0);
}

/* A name as only another user would choose it. */
static void by_pipe(int is_evil)
{
    int fd[2];

    if (pipe(fd) != 0)
        exit(2);
    to_read = fd[0];
    to_write = fd[1];
    if (fork() == 0) {
        if (is_evil)
            prctl(PR_SET_NAME, "x\n\033[31m;y z");
        produce();
    }
    for (int i = 0; i < TURNS; i++)
        take_item();
    say("take_item", "pipe", waited, TURNS);
    wait(NULL);
}

/* ── Two threads and a condition ──────────────────────────────────────────────────── */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static int given;

__attribute__((noinline)) static void await_turn(void)
{
    unsigned long long begin = now();

    pthread_mutex_lock(&mutex);
    while (!given)
        pthread_cond_wait(&turn, &mutex);
    given--;
    pthread_mutex_unlock(&mutex);
    waited += now() - begin;
}

__attribute__((noinline)) static void give_turn(void)
{
    pthread_mutex_lock(&mutex);
    given++;
    pthread_mutex_unlock(&mutex);
    pthread_cond_signal(&turn);
    __asm__ volatile("");
}

static void *give_turns(void *arg)
{
    for (int i = 0; i < TURNS; i++) {
        pause_ms(20);
        give_turn();
    }
    return arg;
}

static void by_futex(void)
{
    pthread_t t;

    if (pthread_create(&t, NULL, give_turns, NULL) != 0)
        exit(2);
    for (int i = 0; i < TURNS; i++)
        await_turn();
    say("await_turn", "futex", waited, TURNS);
    pthread_join(t, NULL);
}

/* ── Time, and a child ────────────────────────────────────────────────────────────── */

__attribute__((noinline)) static void nap(void)
{
    unsigned long long begin = now();

    pause_ms(15);
    waited += now() - begin;
}

static void by_timer(void)
{
    for (int i = 0; i < TURNS; i++)
        nap();
    say("nap", "sleep", waited, TURNS);
}

__attribute__((noinline)) static void reap(void)
{
    unsigned long long begin = now();

    wait(NULL);
    waited += now() - begin;
}

static void by_child(void)
{
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) {
            pause_ms(40);
            _exit(0);
        }
        reap();
    }
    say("reap", "child", waited, 3);
}

/* ── A stop ───────────────────────────────────────────────────────────────────────── */

__attribute__((noinline)) static void halt(void)
{
    unsigned long long begin = now();

    raise(SIGSTOP);
    waited += now() - begin;
}

__attribute__((noinline)) static void go_on(pid_t pid)
{
    if (kill(pid, SIGCONT) != 0)
        exit(2);
    __asm__ volatile("");
}

static void by_stop(void)
{
    pid_t pid = fork();
    int status;

    if (pid == 0) {
        for (int i = 0; i < TURNS; i++)
            halt();
        say("halt", "stopped", waited, TURNS);
        exit(0);
    }
    while (waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status)) {
        pause_ms(20);
        go_on(pid);
    }
}

/* ── One processor for two ────────────────────────────────────────────────────────── */

static volatile unsigned sink;

/* Ends when it has had so much of the processor. */
__attribute__((noinline)) static void spin(void)
{
    struct timespec t;

    do {
        for (int i = 0; i < 100000; i++)
            sink = sink * 1103515245u + 12345u;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    } while (t.tv_nsec < 200000000 && !t.tv_sec);
}

/* Its wait for the first turn is no switch: it has not run before. */
static void *spin_too(void *delay)
{
    const unsigned long long before = delay_so_far();

    spin();
    *(unsigned long long *)delay = delay_so_far() - before;
    return NULL;
}

static void by_spinning(void)
{
    const unsigned long long before = delay_so_far();
    unsigned long long other = 0;
    cpu_set_t one;
    pthread_t t;

    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0 ||
        pthread_create(&t, NULL, spin_too, &other) != 0)
        exit(2);
    spin();
    pthread_join(t, NULL);
    say("spin", "delay", delay_so_far() - before + other, 1);
}

/* ── Very many ────────────────────────────────────────────────────────────────────── */

/* Two processes that hand a byte back and forth. */
static void many(int turns)
{
    int there[2], back[2];
    unsigned long long begin;
    char byte = 0;

    if (pipe(there) != 0 || pipe(back) != 0)
        exit(2);
    if (fork() == 0) {
        close(there[1]);
        while (read(there[0], &byte, 1) == 1)
            if (write(back[1], &byte, 1) != 1)
                exit(2);
        _exit(0);
    }
    begin = now();
    for (int i = 0; i < turns; i++)
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1)
            exit(2);
    say("many", "pipe", now() - begin, turns);
    close(there[1]);
    wait(NULL);
}

/* ── All ──────────────────────────────────────────────────────────────────────────── */

static void act(const char *scene, int turns)
{
    if (strcmp(scene, "pipe") == 0 || strcmp(scene, "evil") == 0)
        by_pipe(scene[0] == 'e');
    else if (strcmp(scene, "futex") == 0)
        by_futex();
    else if (strcmp(scene, "timer") == 0)
        by_timer();
    else if (strcmp(scene, "child") == 0)
        by_child();
    else if (strcmp(scene, "stop") == 0)
        by_stop();
    else if (strcmp(scene, "spin") == 0)
        by_spinning();
    else
        many(turns);
}

/* Of this process and its children; each switch of this kind is a wait. */
static long switches(void)
{
    struct rusage own, children;

    getrusage(RUSAGE_SELF, &own);
    getrusage(RUSAGE_CHILDREN, &children);
    return own.ru_nvcsw + children.ru_nvcsw;
}

int main(int argc, char **argv)
{
    char byte;
    long before;

    if (argc < 2)
        return 2;
    while (read(0, &byte, 1) > 0)
        ;
    before = switches();
    act(argv[1], argc > 2 ? atoi(argv[2]) : 1000);
    say("all", "switches", 0, (int)(switches() - before));
    return 0;
}
