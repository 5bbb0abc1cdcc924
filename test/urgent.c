/* SPDX-License-Identifier: MIT */
/* urgent.c - programs that no library can stand before, and threads that nobody may keep
 * waiting: what same.t runs.
 *
 *     urgent raw      filters its system calls by an instruction of its own; status 5
 *     urgent fifo N   a thread of real-time priority allocates N times beside another; status 1:
 *                    the system does not allow that */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t sink;

/* ── A filter ─────────────────────────────────────────────────────────────────────── */

#define ALLOWED(name)                                                                    \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, 0, 1),                               \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static const struct sock_filter little[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOWED(write),
    ALLOWED(exit_group),
    ALLOWED(rt_sigreturn),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

/* No library interposes this one. */
static long raw_call(long number, long a, long b, long c)
{
#ifdef __x86_64__
    long result;

    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(a), "S"(b), "d"(c)
                     : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b, x2 __asm__("x2") = c;

    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
    return x0;
#endif
}

/* Ends with status 5. */
static void run_raw(void)
{
    struct sock_fprog program = {sizeof little / sizeof *little,
                                 (struct sock_filter *)(uintptr_t)little};
    long error = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);

    puts("begun");
    (void)fflush(stdout);
    error |= raw_call(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&program);
    for (int i = 0; i < 150000000; i++)
        sink = sink * 1103515245u + 12345u;
    (void)!write(1, "well\n", 5);
    _exit(error ? 9 : 5);
}

/* ── A priority ───────────────────────────────────────────────────────────────────── */

/* Two threads on one processor, of which one runs whenever it can; both allocate all the
 * time.  1: the system does not allow it. */
static int over;

static void *allocate_calmly(void *arg)
{
    void *kept[64] = {NULL};

    for (unsigned i = 0; !__atomic_load_n(&over, __ATOMIC_RELAXED); i++) {
        free(kept[i % 64]);
        kept[i % 64] = malloc(1 + i % 3000);
    }
    for (int i = 0; i < 64; i++)
        free(kept[i]);
    return arg;
}

static int run_fifo(int times)
{
    struct sched_param first = {.sched_priority = 1};
    const struct timespec rest = {0, 200000};
    pthread_t calm;
    cpu_set_t one;
    void *kept[20];

    CPU_ZERO(&one);
    CPU_SET(sched_getcpu() < 0 ? 0 : (unsigned)sched_getcpu(), &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0 ||
        pthread_create(&calm, NULL, allocate_calmly, NULL) != 0 ||
        pthread_setschedparam(pthread_self(), SCHED_FIFO, &first) != 0)
        return 1;
    for (int i = 0; i < times; i++) {
        (void)nanosleep(&rest, NULL);
        for (int j = 0; j < 20; j++)
            kept[j] = malloc(100 + (size_t)(i * j) % 500);
        for (int j = 0; j < 20; j++)
            free(kept[j]);
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    pthread_join(calm, NULL);
    puts("well");
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "fifo") == 0)
        return run_fifo(atoi(argv[2]));
    if (argc == 2 && strcmp(argv[1], "raw") == 0)
        run_raw();
    return 2;
}
