/* SPDX-License-Identifier: MIT */
/* kernel-waits.c - what a thread waits for, by the functions of the kernel that it waits
 * in. */
#include "kernel-waits.h"

#include <stdlib.h>
#include <string.h>

#define FUTEX "[waits: futex of]"
#define PIPE "[waits: pipe of]"
#define PIPE_ROOM "[waits: room in pipe of]"
#define SOCKET "[waits: socket of]"
#define SOCKET_ROOM "[waits: room in socket of]"
#define EVENTFD "[waits: eventfd of]"
#define CHILD "[waits: child of]"
#define SLEEP "[waits: sleep of]"
#define EPOLL "[waits: epoll of]"
#define POLL "[waits: poll of]"
#define SIGNAL "[waits: signal of]"
#define ACCEPT "[waits: accept of]"
#define CONNECT "[waits: connect of]"
#define DISK "[waits: disk of]"
#define IN_KERNEL "[waits: lock of the kernel of]"
#define MESSAGE "[waits: message of]"
#define SEMAPHORE "[waits: semaphore of]"
#define TERMINAL "[waits: terminal of]"
#define TIMER "[waits: timer of]"
#define FLOCK "[waits: flock of]"
#define MEMORY "[waits: memory of]"
#define EVENTS "[waits: events of]"

static const struct {
    const char *name; /* ends in *: any that begin so */
    const char *wait; /* NULL: a role */
    enum tt_kernel_role role;
} known[] = {
    {"hrtimer_wakeup", NULL, TT_KERNEL_TIMER},
    {"hrtimer_interrupt", NULL, TT_KERNEL_TIMER},
    {"hrtimer_run_softirq", NULL, TT_KERNEL_TIMER},
    {"process_timeout", NULL, TT_KERNEL_TIMER},
    {"call_timer_fn", NULL, TT_KERNEL_TIMER},
    {"do_exit", NULL, TT_KERNEL_EXIT},
    {"__local_bh_enable_ip", NULL, TT_KERNEL_INLINE},
    {"futex_wait*", FUTEX, 0},
    {"__futex_wait", FUTEX, 0},
    {"futex_lock_pi", FUTEX, 0},
    {"futex_do_wait", FUTEX, 0},
    {"pipe_read", PIPE, 0},
    {"anon_pipe_read", PIPE, 0},
    {"fifo_pipe_read", PIPE, 0},
    {"pipe_write", PIPE_ROOM, 0},
    {"anon_pipe_write", PIPE_ROOM, 0},
    {"fifo_pipe_write", PIPE_ROOM, 0},
    {"eventfd_read", EVENTFD, 0},
    {"sk_wait_data", SOCKET, 0},
    {"tcp_recvmsg_locked", SOCKET, 0},
    {"tcp_recvmsg", SOCKET, 0},
    {"unix_stream_read_generic", SOCKET, 0},
    {"__skb_wait_for_more_packets", SOCKET, 0},
    {"unix_dgram_recvmsg", SOCKET, 0},
    {"sk_stream_wait_memory", SOCKET_ROOM, 0},
    {"sock_alloc_send_pskb", SOCKET_ROOM, 0},
    {"unix_wait_for_peer", SOCKET_ROOM, 0},
    {"inet_csk_accept", ACCEPT, 0},
    {"unix_accept", ACCEPT, 0},
    {"inet_stream_connect", CONNECT, 0},
    {"__inet_stream_connect", CONNECT, 0},
    {"do_wait", CHILD, 0},
    {"__do_wait", CHILD, 0},
    {"wait_for_vfork_done", CHILD, 0},
    {"kernel_clone", CHILD, 0},
    {"do_nanosleep", SLEEP, 0},
    {"hrtimer_nanosleep", SLEEP, 0},
    {"do_epoll_wait", EPOLL, 0},
    {"ep_poll", EPOLL, 0},
    {"do_sys_poll", POLL, 0},
    {"do_poll", POLL, 0},
    {"do_select", POLL, 0},
    {"core_sys_select", POLL, 0},
    {"do_sigtimedwait", SIGNAL, 0},
    {"sigsuspend", SIGNAL, 0},
    {"*_sys_pause", SIGNAL, 0},
    {"do_msgrcv", MESSAGE, 0},
    {"do_msgsnd", MESSAGE, 0},
    {"wq_sleep", MESSAGE, 0},
    {"do_semtimedop", SEMAPHORE, 0},
    {"__do_semtimedop", SEMAPHORE, 0},
    {"n_tty_read", TERMINAL, 0},
    {"n_tty_write", TERMINAL, 0},
    {"timerfd_read", TIMER, 0},
    {"timerfd_read_iter", TIMER, 0},
    {"signalfd_read", SIGNAL, 0},
    {"signalfd_read_iter", SIGNAL, 0},
    {"read_events", EVENTS, 0},
    {"do_io_getevents", EVENTS, 0},
    {"io_cqring_wait", EVENTS, 0},
    {"inotify_read", EVENTS, 0},
    {"locks_lock_inode_wait", FLOCK, 0},
    {"flock_lock_inode_wait", FLOCK, 0},
    {"io_schedule", DISK, 0},
    {"io_schedule_timeout", DISK, 0},
    {"folio_wait_bit_common", DISK, 0},
    {"submit_bio_wait", DISK, 0},
    {"request_wait_answer", DISK, 0},
    {"jbd2_log_wait_commit", DISK, 0},
    {"__mutex_lock", IN_KERNEL, 0},
    {"rwsem_down_*", IN_KERNEL, 0},
    {"__down_*", IN_KERNEL, 0},
    {"handle_mm_fault", MEMORY, 0},
    {"do_user_addr_fault", MEMORY, 0},
};

enum { KNOWN = sizeof known / sizeof *known };

/* Compilers add ".isra.0" and the like to a part of a function. */
static int is_called(const char *name, const char *pattern)
{
    size_t length, size;

    if (pattern[0] != name[0] && pattern[0] != '*')
        return 0;
    length = strcspn(name, ".");
    size = strlen(pattern);
    if (pattern[0] == '*')
        return length >= size - 1 &&
               strncmp(name + length - (size - 1), pattern + 1, size - 1) == 0;
    if (pattern[size - 1] == '*')
        return strncmp(name, pattern, size - 1) == 0;
    return length == size && strncmp(name, pattern, size) == 0;
}

uint32_t tt_kernel_role_of(const char *name)
{
    for (uint32_t i = 0; i < KNOWN; i++)
        if (is_called(name, known[i].name))
            return known[i].wait ? TT_KERNEL_ROLES + i : known[i].role;
    return TT_KERNEL_NONE;
}

const char *tt_kernel_role_wait(uint32_t role)
{
    return role >= TT_KERNEL_ROLES && role < TT_KERNEL_ROLES + KNOWN
               ? known[role - TT_KERNEL_ROLES].wait
               : NULL;
}

/* ── The functions ────────────────────────────────────────────────────────────────── */

static int by_start(const void *a, const void *b)
{
    const struct tt_kernel_range *x = a, *y = b;

    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->role < y->role) - (x->role > y->role); /* of aliases, one with a role */
}

static int add_function(struct tt_kernel_waits *k, uint64_t start, uint32_t role)
{
    struct tt_kernel_range *more;

    if (k->count == k->room) {
        more = reallocarray(k->range, 2 * k->room + 256, sizeof *more);
        if (!more)
            return -1;
        k->range = more;
        k->room = 2 * k->room + 256;
    }
    k->range[k->count++] = (struct tt_kernel_range){start, role};
    return 0;
}

/* Of aliases the first is kept.  Most functions have no role: neighbours of these are one
 * range. */
static void merge(struct tt_kernel_waits *k)
{
    size_t kept = 0;

    qsort(k->range, k->count, sizeof *k->range, by_start);
    for (size_t i = 0; i < k->count; i++) {
        const struct tt_kernel_range *last = kept ? &k->range[kept - 1] : NULL;
        if (!last || (last->start != k->range[i].start && last->role != k->range[i].role))
            k->range[kept++] = k->range[i];
    }
    k->count = kept;
}

void tt_kernel_waits_read(struct tt_kernel_waits *k, FILE *f)
{
    char line[512];
    unsigned long long start, seen = 0;

    while (fgets(line, sizeof line, f)) {
        char *end;
        start = strtoull(line, &end, 16);
        if (end == line || strlen(end) < 4 || !strchr("tTwW", end[1]))
            continue;
        end[3 + strcspn(end + 3, " \t\n")] = '\0';
        seen |= start;
        if (add_function(k, start, tt_kernel_role_of(end + 3)) != 0)
            break;
    }
    if (!seen)
        k->count = 0;
    if (k->count)
        merge(k);
}

void tt_kernel_waits_load(struct tt_kernel_waits *k)
{
    FILE *f = fopen("/proc/kallsyms", "re");

    if (!f)
        return;
    tt_kernel_waits_read(k, f);
    (void)fclose(f);
}

void tt_kernel_waits_free(struct tt_kernel_waits *k)
{
    free(k->range);
    *k = (struct tt_kernel_waits){NULL, 0, 0};
}

static uint32_t role_at(const struct tt_kernel_waits *k, uint64_t address)
{
    size_t low = 0, high = k->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (k->range[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? k->range[low - 1].role : TT_KERNEL_NONE;
}

static uint64_t address_at(const uint64_t *chain, uint32_t i)
{
    uint64_t address;

    memcpy(&address, chain + i, sizeof address);
    return i ? address - 1 : address; /* return addresses follow their calls */
}

const char *tt_kernel_wait(const struct tt_kernel_waits *k, const uint64_t *chain,
                           uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *wait = tt_kernel_role_wait(role_at(k, address_at(chain, i)));
        if (wait)
            return wait;
    }
    return NULL;
}

int tt_kernel_has(const struct tt_kernel_waits *k, const uint64_t *chain, uint32_t count,
                  enum tt_kernel_role role)
{
    for (uint32_t i = 0; i < count; i++)
        if (role_at(k, address_at(chain, i)) == (uint32_t)role)
            return 1;
    return 0;
}
