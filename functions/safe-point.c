/* SPDX-License-Identifier: MIT */
/* safe-point.c - whether an interrupted thread may call malloc and pthread_create.
 *
 *      the thread is in                      it is safe
 *      the program, its libraries, JIT code  yes
 *      the C library, waiting                in system calls that malloc does not make
 *      the C library otherwise               no
 *      an allocator, the loader, the vdso    no
 *
 * An allocator calls only the C library and the vdso.  So a thread that is in the program's
 * own code is not below a call of malloc, unless a handler of the program interrupted that
 * call.  Then the address of the code that ends a handler is on the stack.  For x86-64. */
#include "safe-point.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/futex.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "loaded-symbol.h"
#include "peek.h"

enum kind { OTHER, LIBRARY, UNSAFE };
enum { RANGES = 32 };

/* Written once, by a constructor. */
static struct {
    size_t count;
    struct range {
        uintptr_t start, end;
        enum kind kind;
    } range[RANGES];
    uintptr_t restorer; /* where handlers return to */
    int is_known;
} safe;

/* Of the C library: the beginning of the first thread's stack. */
extern void *__libc_stack_end __attribute__((weak));

/* ── Modules ──────────────────────────────────────────────────────────────────────── */

static int defines(const struct dl_phdr_info *m, const char *name)
{
    return tt_loaded_symbol(m, name, NULL) != 0;
}

static enum kind kind_of(const struct dl_phdr_info *m)
{
    if (defines(m, "__libc_start_main") || defines(m, "pthread_create"))
        return LIBRARY;
    if (defines(m, "malloc") || defines(m, "calloc") || defines(m, "free") ||
        defines(m, "__tls_get_addr") || defines(m, "__vdso_clock_gettime"))
        return UNSAFE;
    return OTHER;
}

static int note_module(struct dl_phdr_info *m, size_t size, void *arg)
{
    uintptr_t here = (uintptr_t)arg;
    enum kind kind = kind_of(m);

    (void)size;
    for (size_t i = 0; i < m->dlpi_phnum; i++) {
        const Elf64_Phdr *p = &m->dlpi_phdr[i];
        struct range r = {m->dlpi_addr + p->p_vaddr,
                          m->dlpi_addr + p->p_vaddr + p->p_memsz, kind};
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        if (here >= r.start && here < r.end)
            r.kind = UNSAFE; /* our lock may be held */
        if (r.kind == OTHER)
            continue;
        if (safe.count == RANGES)
            return 1;
        safe.range[safe.count++] = r;
    }
    return 0;
}

/* As the kernel has it: the C library's sigaction() does not show it. */
static uintptr_t find_restorer(void)
{
    struct {
        uintptr_t handler, flags, restorer;
        uint64_t mask;
    } action = {0, 0, 0, 0};

    for (int number = 1; number < 65 && !action.restorer; number++)
        if (syscall(SYS_rt_sigaction, number, NULL, &action, sizeof action.mask) != 0)
            action.restorer = 0;
    return action.restorer;
}

void tt_safe_point_init(void)
{
    safe.count = 0;
    safe.restorer = find_restorer();
    safe.is_known = dl_iterate_phdr(note_module, (void *)(uintptr_t)tt_safe_point_init) ==
                    0;
}

/* ── The interrupted thread ───────────────────────────────────────────────────────── */

static enum kind kind_at(uintptr_t address)
{
    for (size_t i = 0; i < safe.count; i++)
        if (address >= safe.range[i].start && address < safe.range[i].end)
            return safe.range[i].kind;
    return OTHER;
}

static int is_call(const unsigned char *code) { return code[0] == 0x0f && code[1] == 5; }

/* Calls that are to be made again, which malloc and the loader never wait in. */
static int is_waiting_in(long call, long operation)
{
    switch (call) {
    case SYS_futex: /* of condition variables and semaphores, and not of locks */
        return (operation & FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    case SYS_read:
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_recvmmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_sendmmsg:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_ioctl:
    case SYS_flock:
    case SYS_fcntl:
        return 1;
    default:
        return 0;
    }
}

/* The calls that a handler ends with EINTR are those of sleeping and polling: a call that
 * waits for a lock is made again. */
static int is_waiting(const greg_t *registers)
{
    const unsigned char *code = (const unsigned char *)registers[REG_RIP];

    if (is_call(code))
        return is_waiting_in(registers[REG_RAX], registers[REG_RSI]);
    return is_call(code - 2) && registers[REG_RAX] == -EINTR;
}

/* Some allocators sleep while they wait for their lock: then the sleep was called by one. */
static int is_called_by_unsafe(struct tt_peek *p, uint64_t sp)
{
    enum { WORDS = 32 };
    uint64_t word;

    for (int i = 0; i < WORDS; i++)
        if (tt_peek_word(p, sp + (uint64_t)i * sizeof word, &word) &&
            kind_at(word) == UNSAFE)
            return 1;
    return 0;
}

/* The end of the stack, if it is the one that the thread began with. */
static uint64_t end_of(uint64_t sp)
{
    uint64_t first = &__libc_stack_end ? (uintptr_t)__libc_stack_end : 0,
             own = (uintptr_t)__builtin_thread_pointer();

    if (first > sp && (own < sp || own > first))
        return first;
    return own > sp ? own : UINT64_MAX;
}

/* After the address, the kernel's frame has the registers that were interrupted.  An action that
 * sigaction() set or returned has the address too, with a mask after it; it can be left in the
 * frame of a function that never returns. */
static int is_frame(struct tt_peek *p, uint64_t at)
{
    enum { FLAGS = 0xffff, USER_CODE = 0x33 };
    uint64_t flags, link, segments;

    return tt_peek_word(p, at + offsetof(ucontext_t, uc_flags), &flags) &&
           tt_peek_word(p, at + offsetof(ucontext_t, uc_link), &link) &&
           tt_peek_word(p, at + offsetof(ucontext_t, uc_mcontext.gregs[REG_CSGSFS]),
                        &segments) &&
           (flags & ~(uint64_t)FLAGS) == 0 && link == 0 &&
           (segments & 0xffff) == USER_CODE;
}

/* Checks each word up to the stack's end.  Remains of a handler that has returned look
 * the same, until they are overwritten: then it is tried again. */
static int is_in_handler(struct tt_peek *p, uint64_t sp)
{
    enum { MOST = 64 << 20 };
    uint64_t end = end_of(sp), word;

    for (uint64_t at = sp & ~(uint64_t)7; at < end; at += sizeof word) {
        if (at - sp > MOST)
            return 1;
        if (!tt_peek_word(p, at, &word))
            return 0;
        if (word == safe.restorer && is_frame(p, at + sizeof word))
            return 1;
    }
    return 0;
}

int tt_safe_point(const void *context)
{
    const ucontext_t *c = context;
    const greg_t *registers = c->uc_mcontext.gregs;
    uint64_t sp = (uint64_t)registers[REG_RSP], other = (uintptr_t)c->uc_stack.ss_sp;
    enum kind kind = kind_at((uintptr_t)registers[REG_RIP]);
    struct tt_peek peek;

    if (!safe.is_known || kind == UNSAFE || (kind == LIBRARY && !is_waiting(registers)))
        return 0;
    if (!(c->uc_stack.ss_flags & SS_DISABLE) && sp >= other &&
        sp - other < c->uc_stack.ss_size)
        return 0;
    tt_peek_own(&peek, NULL, NULL);
    return !(kind == LIBRARY && is_called_by_unsafe(&peek, sp)) &&
           !(safe.restorer && is_in_handler(&peek, sp));
}
