/* SPDX-License-Identifier: MIT */
/* patch.c - changes code while threads run in it.
 *
 * No thread is stopped, and none may trap: a breakpoint kills a thread that blocks its
 * signal.  So any state of the code that a thread may execute is a whole instruction with
 * the right effect:
 *
 *      x86-64      0f 1f 44 00 00   nop               as compiled
 *                  a9 t0 t1 t2 t3   test $t, %eax     changes flags alone, whatever t is
 *                  e9 t0 t1 t2 t3   jmp  . + 5 + t
 *
 *      aarch64     d503201f         nop
 *                  14tttttt         b    . + 4 * t
 *
 * On x86-64 the first byte is stored separately, and the others while it is `test`.
 * Between these stores every processor discards the instructions that it has fetched.
 * The flags are not used where a function begins, nor after an asm that may change them.
 * On aarch64 a single store is enough: the architecture allows it between these two
 * instructions.
 *
 * If the compiler has left five one-byte no-ops, a thread may be between them for any
 * time, for instance interrupted by a signal handler.  It must be able to continue there,
 * so the other bytes may only become harmless one-byte instructions, or prefixes without
 * effect: such a place can jump only to targets with such bytes.
 *
 * The bytes are written through /proc/self/mem: the kernel gives the process its own copy
 * of the page.  Its protection and mapping do not change. */
#include "patch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char wrong_place[] = "the code that is to change is not as it was compiled";
static const char too_far[] = "the code is too far from the target of its jump";

/* Memory of this process's, as a file. */
static int memory_open(void)
{
    return (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC);
}

static int memory_store(int memory, void *at, const void *bytes, size_t size)
{
    return syscall(SYS_pwrite64, memory, bytes, size, at) == (long)size ? 0 : -1;
}

/* membarrier(2): every thread fetches its instructions again. */
enum { SYNC_CORE = 1 << 5, REGISTER_SYNC_CORE = 1 << 6 };

static int barrier(int command) { return (int)syscall(SYS_membarrier, command, 0, 0); }
static int forget_fetched(void) { return barrier(SYNC_CORE); }

/* ── The machine: x86-64 ──────────────────────────────────────────────────────────── */

#if defined(__x86_64__) && defined(__LP64__)

enum { SITE_SIZE = 5, SITE_TEST = 0xa9, SITE_JUMP = 0xe9 };
static const unsigned char site_nop[SITE_SIZE] = {0x0f, 0x1f, 0x44, 0, 0},
                           site_nop_of_clang[SITE_SIZE] = {0x0f, 0x1f, 0x44, 0, 8};

/* nop, cmc, clc, stc; es, cs, ss, ds, before any of them or another instruction. */
static int is_harmless(unsigned char byte)
{
    return byte != 0 && strchr("\x90\xf5\xf8\xf9\x26\x2e\x36\x3e", byte) != NULL;
}

/* A thread may be between these no-ops. */
static int are_many(const unsigned char tail[4])
{
    return is_harmless(tail[0]) && is_harmless(tail[1]) && is_harmless(tail[2]) &&
           is_harmless(tail[3]);
}

/* The bytes after a jump's first byte; 0: it cannot reach. */
static int site_aim(unsigned char tail[4], const void *at, const void *to)
{
    int64_t far = (int64_t)((uintptr_t)to - (uintptr_t)at - SITE_SIZE);
    int32_t near = (int32_t)far;

    memcpy(tail, &near, 4);
    return near == far;
}

static const char *site_refusal(const unsigned char *at, const void *to)
{
    unsigned char tail[4];
    int many = are_many(at + 1);

    if (at[0] != SITE_TEST && at[0] != SITE_JUMP && !(at[0] == 0x90 && many) &&
        memcmp(at, site_nop, SITE_SIZE) != 0 &&
        memcmp(at, site_nop_of_clang, SITE_SIZE) != 0)
        return wrong_place;
    if (to && !site_aim(tail, at, to))
        return too_far;
    if (to && many && !are_many(tail))
        return "a thread may be between the no-ops that are to change";
    return NULL;
}

static int site_is_done(const unsigned char *at, const void *to)
{
    unsigned char tail[4];

    (void)site_aim(tail, at, to);
    return to ? at[0] == SITE_JUMP && memcmp(at + 1, tail, 4) == 0 : at[0] != SITE_JUMP;
}

/* Stores the first byte of all that are not as they are to be. */
static int store_first(int memory, const struct tt_patch *p, size_t n, unsigned char byte)
{
    for (; n > 0; p++, n--)
        if (!site_is_done(p->at, p->to) && *(unsigned char *)p->at != byte &&
            memory_store(memory, p->at, &byte, 1) != 0)
            return -1;
    return 0;
}

static int store_tails(int memory, const struct tt_patch *p, size_t n)
{
    unsigned char tail[4];

    for (; n > 0; p++, n--) {
        (void)site_aim(tail, p->at, p->to);
        if (p->to && !site_is_done(p->at, p->to) &&
            memory_store(memory, (char *)p->at + 1, tail, 4) != 0)
            return -1;
    }
    return 0;
}

static int sites_change(int memory, const struct tt_patch *p, size_t n)
{
    if (store_first(memory, p, n, SITE_TEST) != 0 || forget_fetched() != 0 ||
        store_tails(memory, p, n) != 0 || forget_fetched() != 0)
        return -1;
    return store_first(memory, p, n, SITE_JUMP) != 0 ? -1 : forget_fetched();
}

/* Restores the code: some sites may have only the first byte changed. */
static void sites_restore(int memory, const struct tt_patch *p, size_t n)
{
    static const unsigned char test = SITE_TEST;

    for (int step = 0; step < 3; step++) {
        for (size_t i = 0; i < n; i++) {
            unsigned char *at = p[i].at;

            if (memcmp(at, p[i].was, SITE_SIZE) == 0)
                continue;
            if (step == 1)
                (void)memory_store(memory, at + 1, p[i].was + 1, 4);
            else
                (void)memory_store(memory, at, step == 0 ? &test : p[i].was, 1);
        }
        (void)forget_fetched();
    }
}

/* ── The machine: aarch64 ─────────────────────────────────────────────────────────── */

#elif defined(__aarch64__)

enum { SITE_SIZE = 4 };
static const uint32_t site_nop = 0xd503201f, site_jump = 0x14000000, site_far = 1u << 25;

/* The instruction; 0: it cannot reach. */
static uint32_t site_code(const void *at, const void *to)
{
    int64_t far = ((intptr_t)to - (intptr_t)at) >> 2;

    if (!to)
        return site_nop;
    if (far < -(int64_t)site_far || far >= (int64_t)site_far)
        return 0;
    return site_jump | ((uint32_t)far & (2 * site_far - 1));
}

static uint32_t site_now(const void *at)
{
    return __atomic_load_n((const uint32_t *)at, __ATOMIC_RELAXED);
}

static const char *site_refusal(const unsigned char *at, const void *to)
{
    uint32_t now = site_now(at);

    if (now != site_nop && (now & ~(2 * site_far - 1)) != site_jump)
        return wrong_place;
    return site_code(at, to) ? NULL : too_far;
}

static int sites_change(int memory, const struct tt_patch *p, size_t n)
{
    for (; n > 0; p++, n--) {
        uint32_t code = site_code(p->at, p->to);

        if (site_now(p->at) != code && memory_store(memory, p->at, &code, 4) != 0)
            return -1;
    }
    return forget_fetched();
}

static void sites_restore(int memory, const struct tt_patch *p, size_t n)
{
    for (; n > 0; p++, n--)
        if (memcmp(p->at, p->was, SITE_SIZE) != 0)
            (void)memory_store(memory, p->at, p->was, 4);
    (void)forget_fetched();
}
#endif

/* ── All of them ──────────────────────────────────────────────────────────────────── */

#if defined(__aarch64__) || (defined(__x86_64__) && defined(__LP64__))

/* The process that has a thread at work here: in the child of a fork it is another one's. */
static int patching_process;

static int patching_begin(void)
{
    const struct timespec pause = {0, 1000000};
    int self = (int)getpid();

    for (int i = 0; i < 10000; i++) {
        int other = 0;

        if (__atomic_compare_exchange_n(&patching_process, &other, self, 0,
                                        __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) ||
            (other != self &&
             __atomic_compare_exchange_n(&patching_process, &other, self, 0,
                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
            return 1;
        (void)syscall(SYS_nanosleep, &pause, NULL);
    }
    return 0;
}

static const char *patch_all(struct tt_patch *p, size_t n)
{
    const char *refusal = NULL;
    int memory;

    for (size_t i = 0; i < n; i++) {
        refusal = site_refusal(p[i].at, p[i].to);
        if (refusal)
            return refusal;
        memcpy(p[i].was, p[i].at, SITE_SIZE);
    }
    if (barrier(REGISTER_SYNC_CORE) != 0 || forget_fetched() != 0)
        return "the system call membarrier is refused";
    memory = memory_open();
    if (memory < 0)
        return "/proc/self/mem cannot be opened";
    if (sites_change(memory, p, n) != 0) {
        sites_restore(memory, p, n);
        refusal = "the code cannot be written through /proc/self/mem";
    }
    (void)syscall(SYS_close, memory);
    return refusal;
}

const char *tt_patch_text(struct tt_patch *p, size_t n)
{
    const char *refusal = "another thread has been changing the code for too long";
    int error = errno;

    if (patching_begin()) {
        refusal = patch_all(p, n);
        __atomic_store_n(&patching_process, 0, __ATOMIC_RELEASE);
    }
    errno = error;
    return refusal;
}

const char *tt_patch_refusal(const void *at, const void *to)
{
    return site_refusal(at, to);
}

#else

static const char no_patches[] =
    "the code of this processor architecture cannot be changed";

const char *tt_patch_text(struct tt_patch *p, size_t n)
{
    return (void)p, n ? no_patches : NULL;
}

const char *tt_patch_refusal(const void *at, const void *to)
{
    return (void)at, (void)to, no_patches;
}
#endif
