#!/bin/bash
# SPDX-License-Identifier: MIT
# A process is woken to be switched, whatever it does, and whichever allocator it has.  RUNS=N: so
# often where it allocates.
. "$(dirname "$0")/tap.sh"
[ "$(uname -m)" = x86_64 ] || { echo "1..0 # SKIP functions are not switched on this machine"; exit; }
build=$(cd "$TT_BUILD" && pwd)
library=$build/libtallytree-switch.so.0
cd "$tmp" || exit 1

# Each way of waiting is a separate command.  Its memory must be unchanged.
cat >woken.c <<'END2'
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
enum { KEPT = 4096 };
static struct { unsigned char *at; size_t size; unsigned char fill; } kept[KEPT];
static unsigned state = 1;
static volatile unsigned sink;
static volatile sig_atomic_t done;
__attribute__((noinline)) unsigned draw(void) { state = state * 1103515245u + 12345u; return state >> 8; }
__attribute__((noinline)) void release(unsigned i)
{
    for (size_t j = 0; j < kept[i].size; j++)
        if (kept[i].at[j] != kept[i].fill)
            abort();
    free(kept[i].at);
    kept[i].at = NULL;
}
__attribute__((noinline)) void replace(unsigned i)
{
    if (kept[i].at)
        release(i);
    kept[i].size = draw() % 64 ? draw() % 600 : draw() % 300000;
    kept[i].fill = (unsigned char)draw();
    kept[i].at = malloc(kept[i].size + 1);
    memset(kept[i].at, kept[i].fill, kept[i].size);
}
static void churn(int n)
{
    while (n--)
        replace(draw() % KEPT);
}
/* Little else than malloc and free, none of them short. */
static void toil(int n)
{
    static void *block[64];
    while (n--) {
        unsigned i = draw() % 64;
        free(block[i]);
        block[i] = malloc(1500 + draw() % 60000);
    }
}
/* SIGUSR1 ends every wait. */
static void end(int number)
{
    (void)number, done = 1;
    signal(SIGALRM, SIG_IGN);
}
static void *look(void *arg)
{
    sigset_t one;
    int number;
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    sigwait(&one, &number);
    done = 1;
    return arg;
}
/* Longer than what it interrupts: mostly a handler is running. */
static void stay(int number)
{
    (void)number;
    for (int i = 0; i < 300000; i++)
        sink++;
}
/* Whoever has the processor meanwhile, each round has all of its work. */
static void toil_interrupted(void)
{
    const struct itimerval soon = {{0, 0}, {0, 1 + draw() % 300}};
    setitimer(ITIMER_REAL, &soon, NULL);
    toil(100);
}
static void wait_by(const char *how)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    struct pollfd f = {0, 0, 0};
    struct epoll_event event;
    struct timeval tenth = {0, 100000};
    volatile struct { unsigned long handler, flags, restorer, mask; } action[3];
    pthread_t thread;
    sigset_t none;
    char line[10];
    int epoll = epoll_create1(0);
    if (strcmp(how, "handler") == 0)
        signal(SIGALRM, stay);
    if (strcmp(how, "condition") == 0 || strcmp(how, "join") == 0) {
        sigset_t one;
        sigemptyset(&one);
        sigaddset(&one, SIGUSR1);
        pthread_sigmask(SIG_BLOCK, &one, NULL);
        pthread_create(&thread, NULL, look, NULL);
    }
    /* As sigaction() leaves it on the stack: the kernel's action, with the end of handlers. */
    for (int i = 0; i < 3 && strcmp(how, "action") == 0; i++)
        syscall(SYS_rt_sigaction, SIGUSR1, NULL, &action[i], sizeof action[i].mask);
    puts("begun");
    fflush(stdout);
    sigemptyset(&none);
    while (!done) {
        if (strcmp(how, "malloc") == 0)
            churn(100);
        else if (strcmp(how, "handler") == 0)
            toil_interrupted();
        else if (strcmp(how, "compute") == 0)
            sink += draw();
        else if (strcmp(how, "action") == 0)
            sink += action[draw() % 3].mask;
        else if (strcmp(how, "read") == 0)
            (void)!read(0, line, 1);
        else if (strcmp(how, "fgets") == 0)
            clearerr(stdin), (void)!fgets(line, sizeof line, stdin);
        else if (strcmp(how, "sleep") == 0)
            sleep(1000);
        else if (strcmp(how, "usleep") == 0)
            usleep(100000);
        else if (strcmp(how, "poll") == 0)
            poll(&f, 1, -1);
        else if (strcmp(how, "select") == 0)
            select(0, NULL, NULL, NULL, &tenth);
        else if (strcmp(how, "epoll") == 0)
            epoll_wait(epoll, &event, 1, 1000);
        else if (strcmp(how, "suspend") == 0)
            sigsuspend(&none);
        else if (strcmp(how, "condition") == 0) {
            struct timespec soon;
            clock_gettime(CLOCK_REALTIME, &soon);
            soon.tv_sec++;
            pthread_mutex_lock(&mutex);
            pthread_cond_timedwait(&never, &mutex, &soon);
            pthread_mutex_unlock(&mutex);
        } else if (strcmp(how, "join") == 0)
            pthread_join(thread, NULL);
        else
            exit(3);
    }
}
int main(int argc, char **argv)
{
    struct sigaction a = {.sa_handler = end};
    sigaction(SIGUSR1, &a, NULL);
    churn(20000);
    wait_by(argc > 1 ? argv[1] : "");
    churn(20000);
    for (unsigned i = 0; i < KEPT; i++)
        if (kept[i].at)
            release(i);
    puts("well");
    return 7;
}
END2
gcc -O1 -w -fpatchable-function-entry=5 -pthread -o woken woken.c || exit 1

said() { [ -s out ] || is_gone "$pid"; }
switch() { timeout -k 5 500 "$build/tallytree" "$@"; }
# There is nothing in fifo; the signal alone ends it.
over()
{
    kill -USR1 "$pid"
    patiently is_gone "$pid" || kill -KILL "$pid"
    wait "$pid"
    [ $? = 7 ] && [ "$(cat out err)" = "begun
well" ] || { cat out err; return 1; }
}
# woken ALLOCATOR HOW - it is on, it is off, and the program ends as it would have.
woken()
{
    local result=0
    rm -f out err
    LD_PRELOAD="$1 $library" ./woken "$2" <>fifo >out 2>err &
    pid=$!
    patiently said
    switch on -p "$pid" -o "profile" && switch off -p "$pid" || result=1
    over && return $result
}
often()
{
    local i
    for ((i = 0; i < ${RUNS:-$(for_long 1 3)}; i++)); do
        woken "$@" || return
    done
}
mkfifo fifo
ways="malloc handler compute action read fgets sleep usleep poll select epoll suspend condition join"
for way in $ways; do
    try "it is woken, with $way" woken "" "$way"
done
allocators="libjemalloc.so.2 libmimalloc.so.2 libtcmalloc_minimal.so.4"
for allocator in $allocators; do
    if [ "$(LD_PRELOAD=$allocator echo 2>&1)" = "" ]; then
        try "with $allocator, in the midst of malloc" often "$allocator" malloc
        try "with $allocator, in handlers that interrupt malloc" woken "$allocator" handler
        try "with $allocator, asleep" woken "$allocator" sleep
    else
        skip "with $allocator" "it is not installed"
    fi
done
export MALLOC_ARENA_MAX=1
try "with one arena, in the midst of malloc" often "" malloc
try "with one arena, in handlers that interrupt malloc" often "" handler
unset MALLOC_ARENA_MAX
# With the smallest possible stack for handlers, and a full normal stack.
cat >small.c <<'END2'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static volatile sig_atomic_t done;
static void end(int number) { (void)number, done = 1; }
__attribute__((noinline)) void step(void) { __asm__ volatile(""); }
int main(void)
{
    size_t size = (size_t)(sysconf(_SC_MINSIGSTKSZ) + 4095) / 4096 * 4096;
    char *memory = mmap(NULL, size + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t s = {.ss_sp = memory + 4096, .ss_size = size};
    struct sigaction a = {.sa_handler = end};
    mprotect(memory + 4096, size, PROT_READ | PROT_WRITE);
    sigaltstack(&s, NULL);
    sigaction(SIGUSR1, &a, NULL);
    puts("begun");
    fflush(stdout);
    while (!done)
        step();
    puts("well");
    return 7;
}
END2
gcc -O1 -w -fpatchable-function-entry=5 -o small small.c || exit 1
small()
{
    rm -f out err
    LD_PRELOAD=$library ./small >out 2>err &
    pid=$!
    patiently said
    switch on -p "$pid" -o profile && switch off -p "$pid" && over
}
try "handlers' stacks may be small" small

# A program that has no safe point: all that it does is in the allocator.
cat >own.c <<'END2'
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t done;
static char memory[1 << 24];
static size_t used;
void *malloc(size_t n)
{
    size_t at = used;
    used += (n + 15) & ~(size_t)15;
    return memory + at;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *p, size_t n) { return p ? NULL : malloc(n); }
static void end(int number) { (void)number, done = 1; }
/* It sleeps for a millisecond, by itself: the C library is no part of it. */
__attribute__((noinline)) void step(void)
{
    const struct timespec rest = {0, 1000000};
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_nanosleep), "D"(&rest), "S"(0) : "rcx", "r11", "memory");
}
int main(void)
{
    struct sigaction a = {.sa_handler = end};
    sigaction(SIGUSR1, &a, NULL);
    (void)!write(1, "begun\n", 6);
    while (!done)
        step();
    (void)!write(1, "well\n", 5);
    return 7;
}
END2
gcc -O1 -w -fno-builtin -fpatchable-function-entry=5 -o own own.c || exit 1
own()
{
    local result=0
    rm -f out err
    LD_PRELOAD=$library ./own >out 2>err &
    pid=$!
    patiently said
    switch on -p "$pid" -o profile >said.on 2>&1 && result=1
    grep "in its allocator or the C library whenever it is interrupted" said.on || { cat said.on; result=1; }
    over && return $result
}
try "where a thread cannot be started it is refused, with the reason" own
finish
