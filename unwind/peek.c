/* SPDX-License-Identifier: MIT */
/* peek.c - reads memory outside of the window, by system calls.
 *
 * process_vm_readv on the process itself copies the readable bytes and reports the
 * others.  If it is forbidden (old containers) or missing (emulators), a system call that
 * reads eight bytes and then fails for another reason shows whether a page can be
 * read. */
#include "peek.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* The kernel reads the set, of eight bytes, before it rejects `how`. */
int tt_peek_can(uint64_t address)
{
    return syscall(SYS_rt_sigprocmask, -1, address & ~(uint64_t)7, NULL, 8) != 0 &&
           errno == EINVAL;
}

static const char *pointer(uint64_t address) { return (const char *)(uintptr_t)address; }

long tt_peek_take(uint64_t address, void *to, size_t size)
{
    struct iovec ours = {to, size}, theirs = {(void *)(uintptr_t)address, size};

    return syscall(SYS_process_vm_readv, (long)getpid(), &ours, 1L, &theirs, 1L, 0L);
}

/* async-signal-safe */
static int fetch_own(void *arg, uint64_t address, void *block)
{
    long n = tt_peek_take(address, block, TT_PEEK_BLOCK);

    (void)arg;
    if (n == TT_PEEK_BLOCK)
        return 0;
    if (n >= 0 || errno == EFAULT || !tt_peek_can(address))
        return -1;
    memcpy(block, pointer(address), TT_PEEK_BLOCK);
    return 0;
}

static void init(struct tt_peek *p, uint64_t low, uint64_t high, const char *window)
{
    p->low = low;
    p->high = high > low ? high : low;
    p->window = window;
    p->load = NULL;
    p->fetch = NULL;
    p->arg = NULL;
    p->block = 1;
    p->cut = 0;
    p->elsewhere = NULL;
}

void tt_peek_own(struct tt_peek *p, const void *low, const void *high)
{
    init(p, (uintptr_t)low, (uintptr_t)high, low);
    p->fetch = fetch_own;
}

void tt_peek_own_copy(struct tt_peek *p, uint64_t low, const void *copy, size_t size)
{
    init(p, low, low + size, copy);
    p->fetch = fetch_own;
}

void tt_peek_copy(struct tt_peek *p, uint64_t low, const void *copy, size_t size)
{
    init(p, low, low + size, copy);
    p->cut = 1;
}

int tt_peek_outside(struct tt_peek *p, uint64_t address, void *to, size_t size)
{
    char *at = to;

    if (p->load && p->load(address, to, size))
        return 1;
    while (size) {
        uint64_t block = address & ~(uint64_t)(TT_PEEK_BLOCK - 1);
        size_t skip = (size_t)(address - block), n = TT_PEEK_BLOCK - skip;
        if (n > size)
            n = size;
        if (block != p->block) {
            p->block = 1;
            if (!p->fetch || p->fetch(p->arg, block, p->copy) != 0)
                return 0;
            p->block = block;
        }
        memcpy(at, p->copy + skip, n);
        at += n;
        address += n;
        size -= n;
    }
    return 1;
}
