/* SPDX-License-Identifier: MIT */
/* frames-workload.cpp - all the ways to make a stack, in turn, for some seconds.
 *
 *      frames-workload SECONDS PLUGIN
 *
 * With 0 seconds it stops itself first, does little of each, and goes on until it is
 * killed. */
#include <alloca.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static volatile unsigned long sink;
static const char *plugin;
static int rounds = 20; /* number of repetitions */

/* A leaf that uses the red zone. */
static NOINLINE unsigned long leaf(unsigned long n)
{
    volatile unsigned long local[8];

    for (unsigned i = 0; i < 8; i++)
        local[i] = n * i;
    return local[n % 8] + local[(n + 3) % 8];
}

static int compare(const void *a, const void *b)
{
    sink += leaf((unsigned long)*(const int *)a);
    return *(const int *)a - *(const int *)b;
}

static void sorting()
{
    std::vector<int> n(25 * static_cast<size_t>(rounds));

    for (unsigned i = 0; i < n.size(); i++)
        n[i] = (int)(i * 7919 % n.size());
    qsort(n.data(), n.size(), sizeof(int), compare);
    std::sort(n.begin(), n.end(),
              [](int a, int b) { return leaf((unsigned)a) > leaf((unsigned)b); });
}

static NOINLINE void throwing(int depth)
{
    std::string held(20, 'x');

    if (depth == 0)
        throw std::runtime_error(held);
    throwing(depth - 1);
    sink += held.size();
}

static void exceptions()
{
    for (int i = 0; i < rounds; i++) {
        try {
            throwing(i);
        } catch (const std::exception &e) {
            sink += strlen(e.what());
        }
    }
}

static NOINLINE unsigned long recursing(unsigned depth)
{
    unsigned long r = depth ? recursing(depth - 1) : leaf(depth);

    return r + leaf(r);
}

static NOINLINE unsigned long allocating(unsigned depth)
{
    char *room = static_cast<char *>(alloca(16 + depth * 8));

    memset(room, (int)depth, 16 + depth * 8);
    return (depth ? allocating(depth - 1) : 0) + (unsigned char)room[depth];
}

/* Realigns its stack, which takes an expression to undo. */
static NOINLINE unsigned long aligning(unsigned depth, unsigned a, unsigned b, unsigned c,
                                       unsigned d, unsigned e, unsigned f, unsigned g)
{
    alignas(64) volatile unsigned long wide[16];
    volatile char *tail = static_cast<char *>(alloca(32 + depth));

    for (unsigned i = 0; i < 16; i++)
        wide[i] = leaf(i + a + b + c + d + e + f + g);
    tail[depth] = (char)wide[depth % 16];
    return (depth ? aligning(depth - 1, g, f, e, d, c, b, a) : 0) +
           (unsigned char)tail[depth];
}

static ucontext_t main_context, coroutine_context;
alignas(16) static char coroutine_stack[65536];

static void coroutine()
{
    for (;;) {
        sink += recursing(10);
        swapcontext(&coroutine_context, &main_context);
        exceptions();
        swapcontext(&coroutine_context, &main_context);
    }
}

static void coroutines()
{
    if (!coroutine_context.uc_stack.ss_sp) {
        getcontext(&coroutine_context);
        coroutine_context.uc_stack.ss_sp = coroutine_stack;
        coroutine_context.uc_stack.ss_size = sizeof coroutine_stack;
        coroutine_context.uc_link = &main_context;
        makecontext(&coroutine_context, coroutine, 0);
    }
    for (int i = 0; i < rounds; i++)
        swapcontext(&main_context, &coroutine_context);
}

static void clocks()
{
    struct timespec t;

    for (int i = 0; i < 100 * rounds; i++) {
        clock_gettime(CLOCK_MONOTONIC, &t);
        sink += (unsigned long)t.tv_nsec + (unsigned long)time(nullptr);
    }
}

static void on_signal(int) { sink += recursing(20); }

static void signals()
{
    signal(SIGUSR1, on_signal);
    for (int i = 0; i < 2 * rounds; i++)
        raise(SIGUSR1);
}

static void on_other_stack()
{
    static char other[65536];
    stack_t s = {}, before;
    struct sigaction action = {};

    s.ss_sp = other;
    s.ss_size = sizeof other;
    sigaltstack(&s, &before);
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, nullptr);
    for (int i = 0; i < 2 * rounds; i++)
        raise(SIGUSR2);
    sigaltstack(&before, nullptr);
}

static void plugins()
{
    void *handle = dlopen(plugin, RTLD_LAZY);

    if (!handle)
        return;
    auto work = reinterpret_cast<int (*)(int (*)(const void *, const void *))>(
        dlsym(handle, "plugin_work"));
    for (int i = 0; i < rounds; i++)
        sink += (unsigned long)work(compare);
    dlclose(handle);
}

static void library()
{
    std::map<std::string, int> count;
    std::regex word("([a-z]+)([0-9]*)");
    std::smatch match;
    std::ostringstream out;
    char text[100];

    for (int i = 0; i < 2 * rounds; i++) {
        std::string s = "word" + std::to_string(i);
        count[s]++;
        if (std::regex_match(s, match, word))
            out << match[2].str() << ' ' << sqrt(i) << '\n';
        snprintf(text, sizeof text, "%d %s %f", i, s.c_str(), pow(i, 1.5));
        sink += strtoul(text, nullptr, 10) + strlen(text);
    }
    sink += out.str().size();
}

static void *thread(void *arg)
{
    for (int i = 0; i < rounds; i++)
        sink += recursing(30);
    library();
    return arg;
}

static void threads()
{
    pthread_t t[2];

    for (auto &one : t)
        pthread_create(&one, nullptr, thread, nullptr);
    for (auto &one : t)
        pthread_join(one, nullptr);
}

static void deep() { sink += recursing(250 * (unsigned)rounds); }

static void frames() { sink += allocating(50) + aligning(20, 1, 2, 3, 4, 5, 6, 7); }

int main(int argc, char **argv)
{
    static void (*const work[])() = {
        sorting,        exceptions, frames,  coroutines, clocks, signals,
        on_other_stack, plugins,    library, threads,    deep};
    int seconds;
    time_t end;

    if (argc != 3)
        return 2;
    plugin = argv[2];
    seconds = atoi(argv[1]);
    if (!seconds) {
        rounds = 2;
        raise(SIGSTOP);
    }
    for (end = time(nullptr) + seconds; !seconds || time(nullptr) < end;)
        for (auto one : work)
            one();
    return 0;
}
