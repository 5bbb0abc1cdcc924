/* SPDX-License-Identifier: MIT */
/* wall.c - waits in every way, and prints how long in each function: what `record --wall`
 * says is compared with it.  A call that is cut short, or goes on for much too long, is an
 * error. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define APART __attribute__((noinline))

enum {
    BURNS,
    SLEEPS,
    LOCKS,
    READS,
    POLLS,
    EPOLLS,
    SELECTS,
    TIMED,
    AWAITS,
    ANSWERS,
    WAYS
};
static const char *const names[WAYS] = {"burns",  "sleeps", "locks",   "reads",
                                        "polls",  "epolls", "selects", "timed",
                                        "awaits", "answers"};
static double spent[WAYS];
static int wrong, ends[2];
static volatile unsigned sink;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct timespec of_ms(int ms)
{
    return (struct timespec){ms / 1000, (long)(ms % 1000) * 1000000};
}

static void ends_after(double begin, int ms, int right)
{
    double took = now() - begin;

    wrong += !right || took < ms / 1e3 || took > ms / 1e3 + 30;
}

APART static void burns(int ms)
{
    double end = now() + ms / 1e3;

    while (now() < end)
        for (int i = 0; i < 1000; i++)
            sink = sink * 1103515245u + 12345u;
}

APART static void sleeps(int ms)
{
    struct timespec t = of_ms(ms);
    double begin = now();

    ends_after(begin, ms, nanosleep(&t, NULL) == 0);
}

APART static void locks(int ms)
{
    (void)ms;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}

APART static void reads(int ms)
{
    char c;

    (void)ms;
    wrong += read(ends[0], &c, 1) != 1;
}

APART static void polls(int ms)
{
    struct pollfd p = {.fd = ends[0], .events = POLLIN};
    double begin = now();

    ends_after(begin, ms, poll(&p, 1, ms) == 0);
}

APART static void epolls(int ms)
{
    struct epoll_event e;
    int queue = epoll_create1(0);
    double begin = now();

    ends_after(begin, ms, epoll_wait(queue, &e, 1, ms) == 0);
    close(queue);
}

APART static void selects(int ms)
{
    struct timeval t = {ms / 1000, ms % 1000 * 1000};
    double begin = now();

    ends_after(begin, ms, select(0, NULL, NULL, NULL, &t) == 0);
}

APART static void timed(int ms)
{
    struct timespec until, more = of_ms(ms);
    double begin = now();
    sem_t never;

    sem_init(&never, 0, 0);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += more.tv_sec + (until.tv_nsec + more.tv_nsec) / 1000000000;
    until.tv_nsec = (until.tv_nsec + more.tv_nsec) % 1000000000;
    ends_after(begin, ms, sem_timedwait(&never, &until) != 0 && errno == ETIMEDOUT);
}

/* An event loop: it waits with a long limit, at one place, and runs a little in between. */
static int loop = -1;

APART static void awaits(int ms)
{
    struct itimerspec in = {.it_value = of_ms(ms)};
    struct epoll_event e = {.events = EPOLLIN};
    static int timer = -1;
    unsigned long long n;

    if (loop < 0) {
        loop = epoll_create1(0);
        timer = timerfd_create(CLOCK_MONOTONIC, 0);
        wrong += epoll_ctl(loop, EPOLL_CTL_ADD, timer, &e) != 0;
    }
    wrong += timerfd_settime(timer, 0, &in, NULL) != 0;
    wrong += epoll_wait(loop, &e, 1, 60000) != 1 || read(timer, &n, sizeof n) != sizeof n;
}

APART static void answers(int ms)
{
    double end = now() + ms / 1e3;

    while (now() < end)
        sink = sink * 1103515245u + 12345u;
}

static void spend(int way, int ms)
{
    static void (*const does[WAYS])(int) = {burns,  sleeps,  locks, reads,  polls,
                                            epolls, selects, timed, awaits, answers};
    double begin = now();

    does[way](ms);
    spent[way] += now() - begin;
}

static void *hold(void *arg)
{
    struct timespec t = of_ms(60);

    pthread_mutex_lock(&lock);
    pthread_barrier_wait(&both);
    nanosleep(&t, NULL);
    pthread_mutex_unlock(&lock);
    nanosleep(&t, NULL);
    wrong += write(ends[1], "x", 1) != 1;
    return arg;
}

/* A signal of the program's own ends a call, as ever. */
static void on_alarm(int number) { sink += (unsigned)number; }

static void is_interrupted(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    double begin = now();

    sigaction(SIGALRM, &action, NULL);
    alarm(1);
    wrong += poll(NULL, 0, 60000) != -1 || errno != EINTR || now() - begin > 30;
}

int main(int argc, char **argv)
{
    double begin = now();
    pthread_t holder;

    (void)argv;
    if (pipe(ends) != 0 || pthread_barrier_init(&both, NULL, 2) != 0)
        return 2;
    for (int i = 0; i < 12; i++) {
        pthread_create(&holder, NULL, hold, NULL);
        pthread_barrier_wait(&both);
        spend(LOCKS, 0);
        spend(READS, 0);
        pthread_join(holder, NULL);
        spend(BURNS, 30);
        spend(SLEEPS, 40);
        spend(POLLS, 20);
        spend(EPOLLS, 30);
        spend(SELECTS, 20);
        spend(TIMED, 20);
        for (int j = 0; j < 10; j++)
            spend(SLEEPS, 1);
        for (int j = 0; j < 4; j++) {
            spend(AWAITS, 20);
            spend(ANSWERS, 1);
        }
    }
    if (argc > 1)
        is_interrupted();
    printf("all %f\n", now() - begin);
    for (int i = 0; i < WAYS; i++)
        printf("%s %f\n", names[i], spent[i]);
    return wrong ? 1 : 7;
}
