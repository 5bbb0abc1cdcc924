/* SPDX-License-Identifier: MIT */
/* perf-events.c - perf events of all threads of processes, read in the order of time.
 *
 * Each processor's ring has its records nearly in order.  A read takes only records that
 * are older than a moment just passed, so that no ring gets an older record
 * afterwards. */
#include "perf-events.h"

#include <dirent.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "assertion.h"
#include "perf-record.h"
#include "tallytree.h"

enum {
    RECORD = 2048, /* size of a sample without its stack, about */
    LARGEST_RING = 4 << 20,
    ALL_RINGS = 64 << 20, /* for a machine with many processors */
    SMALLEST_RING = 128 << 10,
    RECORD_MAX = 1 << 16,
    ROUNDS = 8, /* of looking for new threads */
    COPIES_MAX = TT_CHAIN_FRAMES / TT_CHAIN_PART * TT_FRAME_COPY_MAX,
    COPIES = UINT16_MAX, /* the kind of an event that gets them */
};

/* Kinds of events beside time and counters: of each thread its waits, and all its switches;
 * of each processor what wakes others, and what other processes map. */
enum { SLEEPS = 1 + TT_COUNTERS_MAX, SWITCHES, WAKINGS, MAPPINGS, KINDS };

struct ring {
    struct perf_event_mmap_page *page; /* NULL: the processor has none */
    char *bytes;
    size_t size; /* of the bytes: a power of two */
    int fd;      /* the event it belongs to */
    uint64_t at, end;
    char *copies; /* owned: frames of the next sample; NULL: there were none so far */
    size_t copied;
    uint32_t copied_of; /* the thread */
};

struct pids {
    pid_t *pid;
    size_t count, room;
};

struct tt_perf {
    struct perf_event_attr attr[KINDS];
    uint32_t kinds; /* time, and the counters */
    const struct tt_sched *sched;
    int no_sched; /* its events were refused */
    const struct tt_counter *counter;
    const char *refused; /* the counter that the machine does not have */
    pid_t failed;        /* the process whose events could not be opened */
    uint32_t hz;
    struct opened { /* sorted by id */
        uint64_t id;
        pid_t tid;
        uint32_t kind;
        int fd;
    } * event;
    size_t events, event_room;
    struct pids task;    /* threads that have events */
    struct pids process; /* those that were asked for, then their children */
    struct pids denied;  /* children of other users */
    const struct tt_frame_program *frames; /* NULL: none are copied */
    struct ring *ring;                     /* of each processor; then those for waits */
    long processors, rings;
    size_t largest;                                      /* size of a ring */
    unsigned pause;                                      /* ms, while waits are read */
    char record[RECORD_MAX] __attribute__((aligned(8))); /* one that wraps around */
};

/* ── Attributes ───────────────────────────────────────────────────────────────────── */

/* perf-record.c decodes these records. */
static void describe(struct perf_event_attr *a, const struct tt_perf_options *o)
{
    memset(a, 0, sizeof *a);
    a->size = sizeof *a;
    a->type = PERF_TYPE_SOFTWARE;
    a->config = PERF_COUNT_SW_CPU_CLOCK;
    a->sample_period = 997130000u / o->hz; /* seldom in step with regular programs */
    a->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                     PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN |
                     PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    a->sample_regs_user = tt_machine_perf_mask();
    a->sample_stack_user = o->stack / 8 * 8;
    a->disabled = a->inherit = a->exclude_hv = a->exclude_callchain_user = 1;
    a->mmap = a->mmap2 = a->comm = a->comm_exec = a->task = a->sample_id_all = 1;
    a->exclude_user = o->side == TT_PERF_KERNEL;
    a->exclude_kernel = a->exclude_callchain_kernel = o->side == TT_PERF_USER;
    a->enable_on_exec = o->at_exec != 0;
    a->use_clockid = 1;
    a->clockid = CLOCK_MONOTONIC;
}

static const struct tt_counter counters[] = {
    {"cycles", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 10000000},
    {"instructions", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 10000000},
    {"cache-misses", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES, 10000},
    {"branch-misses", "", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, 100000},
    {"page-faults", "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, 100},
    {"major-faults", "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ, 1},
    {"context-switches", "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 10},
    {"cpu-migrations", "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 1},
};

const struct tt_counter *tt_counter_find(const char *name)
{
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++)
        if (strcmp(counters[i].name, name) == 0)
            return &counters[i];
    return NULL;
}

static void describe_counter(struct perf_event_attr *a,
                             const struct perf_event_attr *time,
                             const struct tt_counter *c)
{
    *a = *time;
    a->type = c->type;
    a->config = c->config;
    a->sample_period = c->period;
    a->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD; /* else each event is a sample */
    a->mmap = a->mmap2 = a->comm = a->comm_exec = a->task = 0;
}

/* Begins at the exec if the others do.  The stack is of the thread that waits or wakes; the
 * kernel's functions say what for. */
static void describe_tracepoint(struct perf_event_attr *a, uint64_t id, uint32_t stack)
{
    a->type = PERF_TYPE_TRACEPOINT;
    a->config = id;
    a->sample_period = 1;
    a->sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
    a->sample_type |= PERF_SAMPLE_RAW;
    a->sample_stack_user = stack / 8 * 8;
    a->mmap = a->mmap2 = a->comm = a->comm_exec = a->task = 0;
    a->exclude_user = a->exclude_kernel = a->exclude_callchain_kernel = 0;
}

static void describe_dummy(struct perf_event_attr *a)
{
    a->config = PERF_COUNT_SW_DUMMY;
    a->sample_period = 0;
    a->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                     PERF_SAMPLE_TIME;
    a->sample_regs_user = 0;
    a->sample_stack_user = 0;
    a->exclude_user = a->exclude_kernel = a->exclude_callchain_kernel = 0;
}

static void describe_waits(struct perf_event_attr *attr, const struct tt_perf_options *o)
{
    for (int kind = SLEEPS; kind < KINDS; kind++)
        attr[kind] = attr[0];
    describe_tracepoint(&attr[SLEEPS], o->sched->switches, o->wait_stack);
    describe_tracepoint(&attr[WAKINGS], o->sched->wakings, o->wait_stack);
    describe_dummy(&attr[SWITCHES]);
    attr[SWITCHES].context_switch = 1;
    attr[SWITCHES].mmap = attr[SWITCHES].mmap2 = attr[SWITCHES].comm =
        attr[SWITCHES].comm_exec = attr[SWITCHES].task = 0;
    describe_dummy(&attr[MAPPINGS]);
    attr[WAKINGS].enable_on_exec = attr[MAPPINGS].enable_on_exec = 0;
}

static int open_event(const struct perf_event_attr *a, pid_t tid, long processor)
{
    return (int)syscall(SYS_perf_event_open, a, (long)tid, processor, -1L,
                        (long)PERF_FLAG_FD_CLOEXEC);
}

/* With the kernel, if that is allowed. */
static int open_allowed(struct tt_perf *e, uint32_t kind, pid_t tid, long processor)
{
    struct perf_event_attr user = e->attr[kind];
    int fd = open_event(&e->attr[kind], tid, processor);

    e->no_sched = fd < 0 && kind >= SLEEPS;
    if (fd >= 0 || kind >= SLEEPS || (errno != EACCES && errno != EPERM) ||
        e->attr[0].exclude_kernel || e->attr[0].exclude_user)
        return fd;
    user.exclude_kernel = user.exclude_callchain_kernel = 1;
    fd = open_event(&user, tid, processor);
    for (uint32_t i = 0; fd >= 0 && i < e->kinds; i++)
        e->attr[i].exclude_kernel = e->attr[i].exclude_callchain_kernel = 1;
    return fd;
}

/* ── Rings ────────────────────────────────────────────────────────────────────────── */

static int map_ring(struct ring *r, int fd, size_t largest)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);

    for (size_t size = largest; size >= SMALLEST_RING; size /= 2) {
        void *p = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (p == MAP_FAILED)
            continue;
        r->page = p;
        r->bytes = (char *)p + page;
        r->size = size;
        r->fd = fd;
        return 0;
    }
    return -TT_ERR_MEMORY;
}

static uint64_t word_at(const struct ring *r, uint64_t at)
{
    uint64_t word;

    memcpy(&word, r->bytes + (at & (r->size - 1)), sizeof word);
    return word;
}

/* Only the second half of the first word: type, misc and size. */
static size_t size_at(const struct ring *r, uint64_t at)
{
    return (size_t)(word_at(r, at) >> 48);
}

static uint64_t time_at(const struct ring *r, uint64_t at)
{
    int is_sample = (uint32_t)word_at(r, at) == PERF_RECORD_SAMPLE;

    return word_at(r, is_sample ? at + 32 : at + size_at(r, at) - 16);
}

static const void *record_at(struct tt_perf *e, const struct ring *r, size_t size)
{
    size_t offset = (size_t)(r->at & (r->size - 1)), first = r->size - offset;

    if (size <= first)
        return r->bytes + offset;
    memcpy(e->record, r->bytes + offset, first);
    memcpy(e->record + first, r->bytes, size - first);
    return e->record;
}

/* The ring with the oldest record; NULL: none before that time. */
static struct ring *oldest(struct tt_perf *e, uint64_t before)
{
    struct ring *found = NULL;
    uint64_t best = before, time;

    for (long i = 0; i < e->rings; i++) {
        struct ring *r = &e->ring[i];
        if (r->at < r->end && (time = time_at(r, r->at)) < best) {
            best = time;
            found = r;
        }
    }
    return found;
}

/* The thread that an event was opened for; a thread has one for each processor. */
static const struct opened *owner_of(const struct tt_perf *e, uint64_t id)
{
    size_t low = 0, high = e->events;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (e->event[middle].id <= id)
            low = middle;
        else
            high = middle;
    }
    return high > low ? &e->event[low] : NULL;
}

/* ── Copies of frames ─────────────────────────────────────────────────────────────── */

/* They are in the ring of the processor, right before their sample. */
static void keep_copy(struct ring *r, const struct tt_perf_event *e)
{
    _Static_assert((int)COPIES_MAX >= (int)RECORD_MAX, "a record has room");
    const size_t size = e->of.copied.size & ~(size_t)7;

    if (!r->copies && !(r->copies = malloc(COPIES_MAX)))
        return;
    if (r->copied_of != e->tid)
        r->copied = 0;
    r->copied_of = e->tid;
    if (r->copied + size > COPIES_MAX)
        r->copied = 0;
    memcpy(r->copies + r->copied, e->of.copied.bytes, size);
    r->copied += size;
}

static void take_copies(struct ring *r, struct tt_perf_event *e)
{
    if (r->copied && r->copied_of == e->tid)
        e->of.sample.frames = (struct tt_frame_copies){r->copies, r->copied, NULL};
    r->copied = 0;
}

static void take_tracepoint(const struct tt_sched *s, struct tt_perf_event *e,
                            uint32_t kind)
{
    const char *raw = e->of.sample.raw;
    const size_t size = e->kind == TT_PERF_SAMPLE ? e->of.sample.raw_size : 0;

    if (kind == SLEEPS && tt_trace_field_read(s->state, raw, size, &e->of.sample.state))
        e->kind = TT_PERF_SLEEPS;
    else if (kind == WAKINGS &&
             tt_trace_field_read(s->woken, raw, size, &e->of.sample.woken) &&
             tt_trace_field_read(s->flags, raw, size, &e->of.sample.flags))
        e->kind = TT_PERF_WAKING;
    else
        e->kind = TT_PERF_NONE;
}

/* Decodes the record; 0: it is none for the caller. */
static int decode(struct tt_perf *e, struct ring *r, size_t size,
                  struct tt_perf_event *event)
{
    const struct opened *owner = owner_of(
        e, word_at(r, r->at + sizeof(struct perf_event_header)));
    const int is_sample = (uint32_t)word_at(r, r->at) == PERF_RECORD_SAMPLE;
    const uint32_t kind = owner && is_sample ? owner->kind : 0;

    TT_ASSERT(kind < KINDS || kind == COPIES);
    if (kind == COPIES) {
        tt_perf_decode_copy(event, record_at(e, r, size), size);
        if (event->kind == TT_PERF_COPIED)
            keep_copy(r, event);
        return 0;
    }
    if (kind >= SLEEPS) {
        tt_perf_decode(event, record_at(e, r, size), size, TT_PERF_HAS_RAW);
        take_tracepoint(e->sched, event, kind);
        event->source = (uint64_t)owner->tid;
        return event->kind != TT_PERF_NONE;
    }
    tt_perf_decode(event, record_at(e, r, size), size, kind ? 0 : TT_PERF_HAS_PERIOD);
    if (event->kind == TT_PERF_LOST)
        event->of.lost.is_of_waits = r >= e->ring + e->processors;
    owner = owner_of(e, event->source);
    if (kind)
        event->of.sample.weight = e->attr[kind].sample_period;
    if (event->kind == TT_PERF_SAMPLE)
        take_copies(r, event);
    event->source = owner ? (uint64_t)owner->tid : 0;
    event->counter = kind;
    return event->kind != TT_PERF_NONE;
}

/* If a ring for waits is being filled, it is read sooner. */
static void choose_pause(struct tt_perf *e)
{
    enum { SHORTEST = 1, LONGEST = 64 };
    uint64_t fullest = 0;

    for (long i = e->processors; i < e->rings; i++)
        if (e->ring[i].page) {
            const uint64_t part = (e->ring[i].end - e->ring[i].at) * 16 / e->ring[i].size;
            fullest = part > fullest ? part : fullest;
        }
    if (fullest >= 4 && e->pause > SHORTEST)
        e->pause /= 2;
    else if (!fullest && e->pause < LONGEST)
        e->pause *= 2;
}

void tt_perf_read(struct tt_perf *e, uint64_t before,
                  void (*each)(void *arg, const struct tt_perf_event *), void *arg)
{
    static struct tt_perf_event event;
    struct ring *r;

    for (long i = 0; i < e->rings; i++)
        if (e->ring[i].page)
            e->ring[i].end = __atomic_load_n(&e->ring[i].page->data_head,
                                             __ATOMIC_ACQUIRE);
    if (e->sched)
        choose_pause(e);
    while ((r = oldest(e, before))) {
        size_t size = size_at(r, r->at);
        if (size < sizeof(struct perf_event_header)) { /* never; it would not advance */
            r->at = r->end;
            continue;
        }
        if (decode(e, r, size, &event))
            each(arg, &event);
        r->at += size;
        __atomic_store_n(&r->page->data_tail, r->at, __ATOMIC_RELEASE);
    }
}

/* A third of the time in which a thread that never waits fills its ring. */
unsigned tt_perf_rest(const struct tt_perf *e)
{
    enum { SHORTEST = 5, LONGEST = 100 };
    uint64_t smallest = LARGEST_RING, ms;

    for (long i = 0; i < e->processors; i++)
        if (e->ring[i].page && e->ring[i].size < smallest)
            smallest = e->ring[i].size;
    ms = smallest / (RECORD + e->attr[0].sample_stack_user) * 1000 / e->hz / 3 / e->kinds;
    if (e->sched && ms > e->pause)
        return e->pause;
    return (unsigned)(ms < SHORTEST ? SHORTEST : ms > LONGEST ? LONGEST : ms);
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

static int has_pid(const struct pids *p, pid_t pid)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->pid[i] == pid)
            return 1;
    return 0;
}

static int keep_pid(struct pids *p, pid_t pid)
{
    pid_t *more;

    if (p->count == p->room) {
        more = reallocarray(p->pid, p->room * 2 + 64, sizeof *more);
        if (!more)
            return -TT_ERR_MEMORY;
        p->pid = more;
        p->room = p->room * 2 + 64;
    }
    p->pid[p->count++] = pid;
    return 0;
}

static int keep_event(struct tt_perf *e, uint32_t kind, pid_t tid, int fd)
{
    struct opened *more;
    uint64_t id = 0;

    if (e->events == e->event_room) {
        more = reallocarray(e->event, e->event_room * 2 + 64, sizeof *more);
        if (!more) {
            close(fd);
            return -TT_ERR_MEMORY;
        }
        e->event = more;
        e->event_room = e->event_room * 2 + 64;
    }
    (void)ioctl(fd, PERF_EVENT_IOC_ID, &id);
    e->event[e->events++] = (struct opened){id, tid, kind, fd};
    return 0;
}

/* Threads that are preempted do not wait.  The field's name is the system's; without the
 * filter more is read. */
static const char waits[] = "prev_state & 143";
_Static_assert(143 == ((int)TT_STATE_WAITS | (int)TT_STATE_IDLE), "all that wait");

static struct ring *ring_of(struct tt_perf *e, uint32_t kind, long processor)
{
    return &e->ring[processor + (kind == SLEEPS || kind == WAKINGS ? e->processors : 0)];
}

/* Opens an event of one thread on one processor.  0 also if there is no such
 * processor. */
static int add_event(struct tt_perf *e, uint32_t kind, pid_t tid, long processor)
{
    struct ring *r = ring_of(e, kind, processor);
    int fd = open_allowed(e, kind, tid, processor);

    if (fd < 0 && kind && kind < SLEEPS &&
        (errno == ENOENT || errno == EOPNOTSUPP || errno == EINVAL))
        e->refused = e->counter[kind - 1].name;
    if (fd < 0)
        return errno == ENODEV ? 0 : -TT_ERR_STATE;
    if (keep_event(e, kind, tid, fd) != 0) {
        errno = ENOMEM;
        return -TT_ERR_MEMORY;
    }
    if (kind == SLEEPS)
        (void)ioctl(fd, PERF_EVENT_IOC_SET_FILTER, waits);
    if (!r->page && map_ring(r, fd, e->largest) == 0)
        return 0;
    if (!r->page && !(r = &e->ring[processor])->page) /* it is the first event */
        return -TT_ERR_MEMORY;
    return ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd) == 0 ? 0 : -TT_ERR_STATE;
}

/* All events of a thread, or of whatever runs on the processor. */
static int add_events(struct tt_perf *e, pid_t tid, long processor)
{
    int error = 0;

    for (uint32_t kind = 0; kind < e->kinds && !error; kind++)
        error = add_event(e, kind, tid, processor);
    for (uint32_t kind = SLEEPS; e->sched && kind <= SWITCHES && !error; kind++)
        error = add_event(e, kind, tid, processor);
    return error;
}

/* A thread that has ended meanwhile needs none. */
static int add_task(struct tt_perf *e, pid_t tid)
{
    int error = keep_pid(&e->task, tid);

    for (long i = 0; i < e->processors && !error; i++)
        error = add_events(e, tid, i);
    return error == -TT_ERR_STATE && errno == ESRCH ? 0 : error;
}

/* Adds the running children of a thread; systems without the file report none. */
static int find_children(struct tt_perf *e, pid_t pid, pid_t tid)
{
    char path[64];
    int child, error = 0;
    FILE *f;

    (void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)tid);
    if (!(f = fopen(path, "re")))
        return 0;
    while (!error && fscanf(f, "%d", &child) == 1)
        if (!has_pid(&e->process, child) && !has_pid(&e->denied, child))
            error = keep_pid(&e->process, child);
    (void)fclose(f);
    return error;
}

/* Returns the number of new ones; less than 0: an error, in errno. */
static int add_tasks(struct tt_perf *e, pid_t pid)
{
    char path[64];
    const struct dirent *entry;
    int added = 0, error = 0;
    DIR *d;

    (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    if (!(d = opendir(path))) {
        errno = ESRCH;
        return -TT_ERR_STATE;
    }
    while (!error && (entry = readdir(d))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (tid > 0 && (error = find_children(e, pid, tid)) != 0)
            errno = ENOMEM;
        if (tid <= 0 || error || has_pid(&e->task, tid))
            continue;
        error = add_task(e, tid);
        added++;
    }
    error = error ? -errno : 0;
    closedir(d);
    errno = -error;
    return error ? -TT_ERR_STATE : added;
}

/* Opens events for whatever runs on each processor. */
static int add_processors(struct tt_perf *e, const struct tt_perf_options *o)
{
    int error = 0;

    for (long i = 0; i < e->processors && !error; i++)
        if (!o->processor || o->processor[i])
            error = add_events(e, -1, i);
    if (!error && !e->events) {
        errno = ENODEV;
        error = -TT_ERR_STATE;
    }
    return error;
}

/* The thread that wakes a recorded one may be of another process, whose mappings are then
 * wanted, too.  Of a machine they are known. */
static int add_wakings(struct tt_perf *e, const struct tt_perf_options *o)
{
    const size_t first = e->events;
    int error = 0;

    for (long i = 0; i < e->processors && !error; i++) {
        error = add_event(e, WAKINGS, -1, i);
        if (!error && !o->is_machine)
            error = add_event(e, MAPPINGS, -1, i);
    }
    for (size_t i = first; i < e->events && o->at_exec; i++)
        (void)ioctl(e->event[i].fd, PERF_EVENT_IOC_ENABLE, 0);
    return error;
}

/* A child may end before we get to it, or be another user's. */
static int add_process(struct tt_perf *e, const struct tt_perf_options *o, size_t i)
{
    const pid_t pid = e->process.pid[i];
    int added = add_tasks(e, pid), error = errno;

    if (added >= 0 || i < o->pids ||
        (error != ESRCH && error != EACCES && error != EPERM))
        return added;
    if (error == ESRCH || has_pid(&e->denied, pid))
        return 0;
    return keep_pid(&e->denied, pid);
}

/* Threads that begin while events are opened may have inherited theirs or not: they get
 * their own, and the reader takes no thread's samples from two events. */
static int add_processes(struct tt_perf *e, const struct tt_perf_options *o)
{
    int added = 0, some = 1;

    for (size_t i = 0; i < o->pids; i++)
        if (!has_pid(&e->process, o->pid[i]) && keep_pid(&e->process, o->pid[i]) != 0)
            return -TT_ERR_MEMORY;
    for (int round = 0; round < ROUNDS && some; round++) {
        some = 0;
        for (size_t i = 0; i < e->process.count; i++) {
            e->failed = e->process.pid[i];
            if ((added = add_process(e, o, i)) < 0)
                return added;
            some |= added > 0;
        }
    }
    if (e->events)
        return 0;
    errno = ESRCH;
    return -TT_ERR_STATE;
}

/* ── Copies of an interpreter's frames ────────────────────────────────────────────── */

/* An event of the processor, which puts the program's output into the processor's ring:
 * samples and copies are then in order.  As the first fields of its records are a
 * sample's, time_at holds for them. */
static int open_copying(struct tt_perf *e, long processor)
{
    struct perf_event_attr a;
    int fd;

    memset(&a, 0, sizeof a);
    a.size = sizeof a;
    a.type = PERF_TYPE_SOFTWARE;
    a.config = PERF_COUNT_SW_BPF_OUTPUT;
    a.sample_period = 1;
    a.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
                    PERF_SAMPLE_TIME | PERF_SAMPLE_RAW;
    a.use_clockid = 1;
    a.clockid = CLOCK_MONOTONIC;
    fd = open_event(&a, -1, processor);
    if (fd < 0)
        return -TT_ERR_STATE;
    if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, e->ring[processor].fd) != 0 ||
        tt_frame_program_send(e->frames, (uint32_t)processor, fd) != 0) {
        close(fd);
        return -TT_ERR_STATE;
    }
    return keep_event(e, COPIES, -1, fd);
}

/* Later threads and children inherit it with the event. */
static int run_program(const struct tt_perf *e)
{
    for (size_t i = 0; i < e->events; i++)
        if (e->event[i].kind < e->kinds &&
            ioctl(e->event[i].fd, PERF_EVENT_IOC_SET_BPF, e->frames->program) != 0)
            return -TT_ERR_STATE;
    return 0;
}

/* 0, or a negative error: then no frames are copied, or not all. */
static int copy_frames(struct tt_perf *e)
{
    int error = 0;

    for (long i = 0; i < e->processors && !error; i++)
        if (e->ring[i].page)
            error = open_copying(e, i);
    return error ? error : run_program(e);
}

/* ── Reasons ──────────────────────────────────────────────────────────────────────── */

static long paranoia(void)
{
    char text[32] = "";
    FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");

    if (f && !fgets(text, sizeof text, f))
        text[0] = '\0';
    if (f)
        (void)fclose(f);
    return *text ? strtol(text, NULL, 10) : 2;
}

static void say_machine_denied(char *reason, size_t size)
{
    if (geteuid() == 0)
        (void)snprintf(reason, size,
                       "perf events of all processes are forbidden: the container that "
                       "tallytree runs in does not allow perf_event_open; give it "
                       "CAP_PERFMON, or run tallytree outside");
    else
        (void)snprintf(
            reason, size,
            "perf events of all processes are forbidden: "
            "/proc/sys/kernel/perf_event_paranoid is %ld; run tallytree as root, "
            "give it CAP_PERFMON, or have that set to 0; -p PID,... records "
            "your own processes",
            paranoia());
}

void tt_perf_why_no_kernel(char *reason, size_t size)
{
    if (geteuid() == 0 || paranoia() <= 1)
        (void)snprintf(
            reason, size,
            "samples of the kernel are forbidden: the container that tallytree "
            "runs in does not allow them; give it CAP_PERFMON, or run tallytree "
            "outside");
    else
        (void)snprintf(reason, size,
                       "samples of the kernel are forbidden: "
                       "/proc/sys/kernel/perf_event_paranoid is %ld; run tallytree as "
                       "root, give it CAP_PERFMON, or have that set to 1",
                       paranoia());
}

static void say_denied(char *reason, size_t size, pid_t pid)
{
    int n = snprintf(reason, size,
                     "process %d: perf events of it are forbidden: ", (int)pid);

    if (n < 0 || (size_t)n >= size)
        return;
    if (geteuid() == 0)
        (void)snprintf(reason + n, size - (size_t)n,
                       "the container that tallytree runs in does not allow "
                       "perf_event_open; give it CAP_PERFMON, or run tallytree outside");
    else if (paranoia() > 2)
        (void)snprintf(reason + n, size - (size_t)n,
                       "/proc/sys/kernel/perf_event_paranoid is %ld; run tallytree as "
                       "root, or have it set to 2",
                       paranoia());
    else
        (void)snprintf(
            reason + n, size - (size_t)n,
            "it belongs to another user, or has more rights; run tallytree as root");
}

static void say_sched_denied(char *reason, size_t size)
{
    if (geteuid() == 0)
        (void)snprintf(reason, size,
                       "the system's tracepoints are forbidden: the container that "
                       "tallytree runs in does not allow them; give it CAP_PERFMON, or "
                       "run tallytree outside");
    else
        (void)snprintf(reason, size,
                       "the system's tracepoints are forbidden: "
                       "/proc/sys/kernel/perf_event_paranoid is %ld; run tallytree as "
                       "root, give it CAP_PERFMON, or have that set to -1",
                       paranoia());
}

static void say_why(char *reason, size_t size, pid_t pid, int error)
{
    if ((error == EACCES || error == EPERM) && !pid)
        say_machine_denied(reason, size);
    else if (error == ENODEV && !pid)
        (void)snprintf(reason, size, "none of these processors is there");
    else if (error == EACCES || error == EPERM)
        say_denied(reason, size, pid);
    else if (error == ESRCH)
        (void)snprintf(reason, size, "there is no process %d", (int)pid);
    else if (error == ENOSYS || error == ENOENT || error == EOPNOTSUPP)
        (void)snprintf(reason, size, "this system has no perf events (%s)",
                       strerror(error));
    else if (error == EMFILE || error == ENFILE)
        (void)snprintf(reason, size,
                       "process %d has more threads than there may be open files: raise "
                       "'ulimit -n'",
                       (int)pid);
    else
        (void)snprintf(reason, size, "process %d: perf events cannot be opened: %s",
                       (int)pid, strerror(error));
}

/* ── Opening ──────────────────────────────────────────────────────────────────────── */

/* Each thread needs a file for each processor. */
static void allow_files(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

int tt_perf_open(struct tt_perf **out, const struct tt_perf_options *o, char *reason,
                 size_t size)
{
    struct tt_perf *e = calloc(1, sizeof *e);
    int error = -TT_ERR_MEMORY, why;

    *out = NULL;
    errno = ENOMEM;
    if (!e)
        goto fail;
    describe(&e->attr[0], o);
    for (uint32_t i = 0; i < o->counters; i++)
        describe_counter(&e->attr[1 + i], &e->attr[0], &o->counter[i]);
    e->kinds = 1 + o->counters;
    e->counter = o->counter;
    e->hz = o->hz;
    if (o->sched)
        describe_waits(e->attr, o);
    e->sched = o->sched;
    e->pause = 8;
    e->processors = sysconf(_SC_NPROCESSORS_CONF);
    e->rings = e->processors * (o->sched ? 2 : 1);
    e->largest = LARGEST_RING;
    while (e->largest > SMALLEST_RING && e->largest > (size_t)(ALL_RINGS / e->rings))
        e->largest /= 2;
    e->ring = calloc((size_t)e->rings, sizeof *e->ring);
    if (!e->ring)
        goto fail;
    allow_files();
    error = o->is_machine ? add_processors(e, o) : add_processes(e, o);
    if (!error && o->sched)
        error = add_wakings(e, o);
    if (error)
        goto fail;
    e->frames = o->frames;
    if (e->frames && copy_frames(e) != 0)
        e->frames = NULL;
    *out = e;
    return 0;

fail:
    why = errno;
    if (e && e->refused)
        (void)snprintf(reason, size, "this machine does not count %s (%s)", e->refused,
                       strerror(why));
    else if (e && e->no_sched && (why == EACCES || why == EPERM))
        say_sched_denied(reason, size);
    else if (e && e->attr[0].exclude_user && paranoia() == 2 && geteuid() != 0 &&
             (why == EACCES || why == EPERM))
        tt_perf_why_no_kernel(reason, size);
    else
        say_why(reason, size,
                o->is_machine    ? 0
                : e && e->failed ? e->failed
                                 : o->pid[0],
                why);
    tt_perf_close(e);
    return error;
}

void tt_perf_close(struct tt_perf *e)
{
    if (!e)
        return;
    for (long i = 0; e->ring && i < e->rings; i++)
        if (e->ring[i].page)
            munmap(e->ring[i].page, (size_t)(e->ring[i].bytes + e->ring[i].size -
                                             (char *)e->ring[i].page));
    for (long i = 0; e->ring && i < e->rings; i++)
        free(e->ring[i].copies);
    for (size_t i = 0; i < e->events; i++)
        close(e->event[i].fd);
    free(e->event);
    free(e->task.pid);
    free(e->process.pid);
    free(e->denied.pid);
    free(e->ring);
    free(e);
}

static void tell_all(const struct tt_perf *e, unsigned long what)
{
    for (size_t i = 0; i < e->events; i++)
        (void)ioctl(e->event[i].fd, what, 0);
}

void tt_perf_start(struct tt_perf *e) { tell_all(e, PERF_EVENT_IOC_ENABLE); }
void tt_perf_stop(struct tt_perf *e) { tell_all(e, PERF_EVENT_IOC_DISABLE); }

uint32_t tt_perf_processors(const struct tt_perf *e)
{
    uint32_t count = 0;

    for (long i = 0; i < e->processors; i++)
        count += e->ring[i].page != NULL;
    return count;
}

uint64_t tt_perf_idle(const struct tt_perf *e)
{
    FILE *f = fopen("/proc/stat", "re");
    unsigned long long idle, waiting, sum = 0;
    char line[256];
    long i;

    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, "cpu ", 4) != 0 && /* their sum */
            sscanf(line, "cpu%ld %*u %*u %*u %llu %llu", &i, &idle, &waiting) == 3 &&
            i >= 0 && i < e->processors && e->ring[i].page)
            sum += idle + waiting;
    if (f)
        (void)fclose(f);
    return sum * (1000000000 / (uint64_t)sysconf(_SC_CLK_TCK));
}

uint64_t tt_perf_period(const struct tt_perf *e) { return e->attr[0].sample_period; }

void tt_perf_denied(const struct tt_perf *e, void (*each)(void *arg, pid_t), void *arg)
{
    for (size_t i = 0; i < e->denied.count; i++)
        each(arg, e->denied.pid[i]);
}

int tt_perf_is_allowed(void)
{
    struct tt_perf_options o = {.hz = 1, .side = TT_PERF_USER};
    struct perf_event_attr a;
    int fd;

    describe(&a, &o);
    fd = open_event(&a, 0, -1);
    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

int tt_perf_copy_frames(const struct tt_perf *e) { return e->frames != NULL; }

int tt_perf_have_kernel(const struct tt_perf *e) { return !e->attr[0].exclude_kernel; }
