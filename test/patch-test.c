/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* patch-test.c - code that is changed while threads run in it. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "denied.h"
#include "patch.h"
#include "tap.h"

#if defined(__x86_64__) && defined(__LP64__)

/* Functions of 11 bytes, so that their sites lie across cache lines and, the first one,
 * two pages.  Each returns 0, or after its jump 1; so do those with a no-op of five
 * bytes. */
enum { SITES = 200 };
int sites(void), singles(void), beyond(void);
__asm__(".text\n"
        ".balign 4096\n"
        ".fill 4094, 1, 0x90\n"
        ".globl sites, beyond\n"
        "sites:\n"
        ".rept 200\n"
        ".byte 0x0f, 0x1f, 0x44, 0, 0\n"
        "movl $0, %eax\n"
        "ret\n"
        ".endr\n"
        "singles:\n"
        ".rept 200\n"
        ".byte 0x90, 0x90, 0x90, 0x90, 0x90\n"
        "movl $0, %eax\n"
        "ret\n"
        ".endr\n"
        "beyond:\n"
        "movl $1, %eax\n"
        "ret\n");
enum { APART = 11, SITE = 5 };

#elif defined(__aarch64__)

enum { SITES = 200, APART = 12, SITE = 4 };
int sites(void), beyond(void);
__asm__(".text\n"
        ".balign 4\n"
        ".globl sites, beyond\n"
        "sites:\n"
        ".rept 200\n"
        "nop\n"
        "mov w0, #0\n"
        "ret\n"
        ".endr\n"
        "beyond:\n"
        "mov w0, #1\n"
        "ret\n");
#endif

static unsigned char *place(int (*first)(void), int i)
{
    return (unsigned char *)(uintptr_t)first + (ptrdiff_t)i * APART;
}

static int call(const void *place) { return ((int (*)(void))(uintptr_t)place)(); }

/* An emulator that keeps translated code notices a change in it only by this. */
static void tell_emulator(void *first, void *last)
{
#ifdef __aarch64__
    char *from = (char *)((uintptr_t)first & ~(uintptr_t)4095);
    size_t size = (size_t)((char *)last + 4096 - from) & ~(size_t)4095;

    mprotect(from, size, PROT_READ | PROT_WRITE | PROT_EXEC);
    mprotect(from, size, PROT_READ | PROT_EXEC);
#else
    (void)first, (void)last;
#endif
}

static const char *aim_all(const void *to)
{
    struct tt_patch p[SITES];

    const char *refusal;

    for (int i = 0; i < SITES; i++)
        p[i] = (struct tt_patch){.at = place(sites, i), .to = to};
    refusal = tt_patch_text(p, SITES);
    tell_emulator(p[0].at, p[SITES - 1].at);
    return refusal;
}

static int how_many_jump(void)
{
    int n = 0;

    for (int i = 0; i < SITES; i++)
        n += call(place(sites, i));
    return n;
}

/* What the system says of our memory: how many lines, and whether one can be both. */
static int lines_of_maps(int *both)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "re");
    int n = 0;

    *both = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        n++;
        *both += strstr(line, " rwx") != NULL || strstr(line, " -wx") != NULL;
    }
    if (maps)
        fclose(maps);
    return n;
}

/* Whether a child ended well. */
static int ended_well(pid_t child)
{
    int status;

    return waitpid(child, &status, 0) == child && status == 0;
}

TEST(what_is_changed_jumps_and_what_is_changed_back_does_nothing)
{
    const char *refusal = aim_all((const void *)(uintptr_t)beyond);
    int both;

    if (refusal)
        SKIP(refusal);
    CHECK_INT(how_many_jump(), SITES);
    CHECK_STR(aim_all((const void *)(uintptr_t)beyond), NULL);
    CHECK_INT(how_many_jump(), SITES);
    CHECK_STR(aim_all(NULL), NULL);
    CHECK_INT(how_many_jump(), 0);
    lines_of_maps(&both);
    CHECK_INT(both, 0);
}

TEST(memory_is_mapped_as_it_was)
{
    int both, before, after;

    (void)lines_of_maps(&both); /* what it needs itself is there */
    before = lines_of_maps(&both);
    if (aim_all((const void *)(uintptr_t)beyond))
        SKIP("the code cannot be changed");
    after = lines_of_maps(&both);
    (void)aim_all(NULL);
    CHECK_INT(after, before);
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

enum { THREADS = 8 };
static int over, wrong, traps;

static void *run_sites(void *blocked)
{
    sigset_t all;
    long calls = 0;

    sigfillset(&all);
    if (blocked)
        pthread_sigmask(SIG_BLOCK, &all, NULL);
    do {
        for (int i = 0; i < SITES; i++, calls++)
            if ((unsigned)call(place(sites, i)) > 1)
                __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
    } while (!__atomic_load_n(&over, __ATOMIC_RELAXED));
    return (void *)(uintptr_t)(calls > 0);
}

static void start_threads(pthread_t thread[THREADS])
{
    over = wrong = 0;
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&thread[i], NULL, run_sites, i & 1 ? &over : NULL), 0);
}

static void end_threads(pthread_t thread[THREADS])
{
    void *ran;

    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &ran);
        CHECK(ran != NULL);
    }
    CHECK_INT(wrong, 0);
}

/* The soak runs it with more. */
static int toggles(void)
{
    const char *n = getenv("TT_TOGGLES");

    return n ? atoi(n) : 200;
}

TEST(threads_run_in_what_is_changed_some_of_them_with_all_signals_blocked)
{
    pthread_t thread[THREADS];

    if (aim_all(NULL))
        SKIP("the code cannot be changed");
    start_threads(thread);
    for (int i = 0; i < toggles(); i++) {
        const void *to = i & 1 ? NULL : (const void *)(uintptr_t)beyond;
        if (!CHECK_STR(aim_all(to), NULL))
            break;
        CHECK_INT(how_many_jump(), to ? SITES : 0);
    }
    end_threads(thread);
}

static void *toggle_too(void *arg)
{
    for (int i = 0; i < 100; i++)
        CHECK_STR(aim_all(i & 1 ? NULL : (const void *)(uintptr_t)beyond), NULL);
    return arg;
}

TEST(several_change_the_same_code)
{
    pthread_t thread[THREADS];

    if (aim_all(NULL))
        SKIP("the code cannot be changed");
    for (int i = 0; i < THREADS; i++)
        CHECK_INT(pthread_create(&thread[i], NULL, toggle_too, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    CHECK_STR(aim_all(NULL), NULL);
    CHECK_INT(how_many_jump(), 0);
}

static void count_trap(int signal) { traps += signal == SIGTRAP; }

TEST(a_program_handles_its_own_breakpoints)
{
    struct sigaction own = {.sa_handler = count_trap}, found;
    pthread_t thread[THREADS];

    if (aim_all(NULL))
        SKIP("the code cannot be changed");
    sigaction(SIGTRAP, &own, NULL);
    start_threads(thread);
    for (int i = 0; i < 50; i++) {
        (void)aim_all(i & 1 ? NULL : (const void *)(uintptr_t)beyond);
        raise(SIGTRAP);
    }
    end_threads(thread);
    CHECK_INT(traps, 50);
    sigaction(SIGTRAP, NULL, &found);
    CHECK(found.sa_handler == count_trap);
    signal(SIGTRAP, SIG_DFL);
}

/* ── Fork ─────────────────────────────────────────────────────────────────────────── */

static void *toggle_until_over(void *arg)
{
    while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
        (void)aim_all((const void *)(uintptr_t)beyond);
        (void)aim_all(NULL);
    }
    return arg;
}

/* Its copy may be anything in between; all of it can be run and set right. */
static int child_can_go_on(void)
{
    for (int i = 0; i < SITES; i++)
        if ((unsigned)call(place(sites, i)) > 1)
            return 0;
    return !aim_all((const void *)(uintptr_t)beyond) && how_many_jump() == SITES &&
           !aim_all(NULL) && how_many_jump() == 0;
}

TEST(a_child_forked_amid_a_change_goes_on)
{
    pthread_t thread;
    int failed = 0;

    if (getenv("TT_EMULATED"))
        SKIP("the emulator's own locks, which files are opened under, stay locked in a "
             "child");
    if (aim_all(NULL))
        SKIP("the code cannot be changed");
    over = 0;
    CHECK_INT(pthread_create(&thread, NULL, toggle_until_over, NULL), 0);
    for (int i = 0; i < 100; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(!child_can_go_on());
        failed += !ended_well(child);
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    CHECK_INT(failed, 0);
    CHECK_INT(how_many_jump(), 0);
}

/* ── Refusals ─────────────────────────────────────────────────────────────────────── */

/* In a child: where the call is denied, all of the code does what it did before. */
static int refused_in_child(long number, const void *position, int on, const char *why)
{
    const void *to = (const void *)(uintptr_t)beyond;
    const char *refusal;

    if (aim_all(on ? to : NULL))
        return DENIED_NOT;
    if (!deny(number, position))
        return DENIED_NOT;
    refusal = aim_all(on ? NULL : to);
    return !(refusal && strstr(refusal, why) && how_many_jump() == (on ? SITES : 0));
}

static int is_refused(long number, const void *position, int on, const char *why)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0)
        _exit(refused_in_child(number, position, on, why));
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(where_the_system_refuses_it_says_so_and_all_stays_as_it_was)
{
    if (is_refused(SYS_membarrier, NULL, 0, "membarrier") == DENIED_NOT)
        SKIP("no filter of system calls can be set here, or no code changed");
    CHECK_INT(is_refused(SYS_membarrier, NULL, 0, "membarrier"), 0);
    CHECK_INT(is_refused(SYS_openat, NULL, 0, "opened"), 0);
    CHECK_INT(is_refused(SYS_pwrite64, NULL, 0, "written"), 0);
    CHECK_INT(is_refused(SYS_membarrier, NULL, 1, "membarrier"), 0);
    CHECK_INT(is_refused(SYS_openat, NULL, 1, "opened"), 0);
    CHECK_INT(is_refused(SYS_pwrite64, NULL, 1, "written"), 0);
}

TEST(what_cannot_be_changed_in_full_is_changed_back)
{
    if (is_refused(SYS_pwrite64, place(sites, 100), 0, "written") == DENIED_NOT)
        SKIP("no filter of system calls can be set here, or no code changed");
    CHECK_INT(is_refused(SYS_pwrite64, place(sites, 100), 0, "written"), 0);
    CHECK_INT(is_refused(SYS_pwrite64, place(sites, 100), 1, "written"), 0);
#ifdef __x86_64__
    CHECK_INT(is_refused(SYS_pwrite64, place(sites, 100) + 1, 0, "written"), 0);
#endif
}

TEST(no_other_code_is_changed)
{
    struct tt_patch p[2] = {
        {.at = place(sites, 0), .to = (const void *)(uintptr_t)beyond},
        {.at = place(sites, 1) + SITE, .to = (const void *)(uintptr_t)beyond},
    };

    CHECK_STR(tt_patch_text(p, 2),
              "the code that is to change is not as it was compiled");
    CHECK_INT(how_many_jump(), 0);
    p[1].at = place(sites, 1);
    p[1].to = place(sites, 1) + ((ptrdiff_t)1 << 33);
    CHECK_STR(tt_patch_text(p, 2), "the code is too far from the target of its jump");
    CHECK_INT(how_many_jump(), 0);
}

/* ── Five no-ops ──────────────────────────────────────────────────────────────────── */

#ifdef __x86_64__

/* A page of code that lies where such a site may jump to. */
static unsigned char *code_at(unsigned char *to)
{
    static const unsigned char code[] = {0xb8, 1, 0, 0, 0, 0xc3}; /* as `beyond` */
    uintptr_t page = (uintptr_t)to & ~(uintptr_t)4095;
    unsigned char *map = mmap((void *)page, 8192, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (map != (void *)page) {
        if (map != MAP_FAILED)
            munmap(map, 8192);
        return NULL;
    }
    memcpy(to, code, sizeof code);
    mprotect(map, 8192, PROT_READ | PROT_EXEC);
    return to;
}

/* 0: something else is where it would jump to. */
static int check_singles(unsigned char *site, uint32_t aim)
{
    unsigned char *to = code_at(site + SITE + (int32_t)aim);
    struct tt_patch p = {.at = site, .to = to};

    if (!to)
        return 0;
    if (CHECK_STR(tt_patch_text(&p, 1), NULL)) {
        CHECK_INT(call(site), 1);
        for (int i = 1; i < SITE; i++) /* as a thread does that was there */
            CHECK_INT(call(site + i), 0);
    }
    p.to = NULL;
    CHECK_STR(tt_patch_text(&p, 1), NULL);
    for (int i = 0; i < SITE; i++)
        CHECK_INT(call(site + i), 0);
    munmap((void *)((uintptr_t)to & ~(uintptr_t)4095), 8192);
    return 1;
}

TEST(a_thread_that_stands_between_five_no_ops_goes_on_from_there)
{
    static const uint32_t aims[] = {0xf9909090, 0xf8f5f8f9, 0x9090f590, 0xf52e3690,
                                    0x2e90f526, 0x3e90903e, 0x26f9f890, 0x36363636};
    struct tt_patch p = {.at = place(singles, 0), .to = (const void *)(uintptr_t)beyond};
    int checked = 0;

    if (aim_all(NULL))
        SKIP("the code cannot be changed");
    CHECK_STR(tt_patch_text(&p, 1),
              "a thread may be between the no-ops that are to change");
    for (size_t i = 0; i < sizeof aims / sizeof aims[0]; i++) {
        checked += check_singles(place(singles, (int)i), aims[i]);
        checked += check_singles(place(singles, 20), aims[i]); /* one after the other */
    }
    CHECK(checked > 0);
}

#endif
