/* SPDX-License-Identifier: MIT */
/* attach.c - processes recorded from outside.
 *
 *      sample ─ its process: its mappings ─ unwind the copied stack ─┐
 *            └─ its thread: a strand, with a tree ───── graft, charge ─┘
 *
 * The strands are of this process's recording, but not its threads.  A process is known
 * from the system's events: it was forked from a known one, or has become another
 * program.  Older processes are read from /proc at their first event.
 *
 * On a machine all processes are known from the start, each with its labels.  The idle
 * task has a separate strand, and so has processor time without a sample.  So the sum of
 * all strands is the number of processors times the elapsed time. */
#include "attach.h"

#include <dirent.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "block.h"
#include "cell.h"
#include "clock.h"
#include "descent.h"
#include "graft.h"
#include "inside-only.h"
#include "java-outside.h"
#include "kernel-waits.h"
#include "off-cpu.h"
#include "page-cache.h"
#include "places.h"
#include "process.h"
#include "python-outside.h"
#include "registry.h"
#include "strand.h"

enum {
    BUCKETS = 1 << 10,
    KERNEL_MAX = 128,
    REGIONS_MAX = 4096,
    UNSEEN_MAX = 256,
    COMM_SIZE = 16,
    CODES = 2048,          /* known blocks of code */
    USERS = 64,            /* whose names are cached */
    TABLES_MAX = 96 << 20, /* bytes of unwind tables; beyond it they are rebuilt */
    LABELS_MAX = 1024,
    ENDED = 64,
    LEAVING = 1024,
    LEAVES = 20000000, /* ns: a thread is still sampled after the event of its end */
    ENDED_LATELY = 1000000000, /* ns: its number may be another one's after that */
    SETTLED = 2000000          /* ns: older events have been written */
};

/* Threads without a number: those whose numbers are free already, pid and tid; and the time
 * that is in no sample. */
static const uint32_t DEAD = UINT32_MAX, UNKNOWN = UINT32_MAX - 1;

static const char idle_name[] = "[idle]", unknown_name[] = "[unattributed]",
                  machine_name[] = "[machine]", dead_name[] = "[ended threads]",
                  shared_name[] = "[other threads]";

struct process {
    uint32_t pid;
    struct tt_regions regions;
    struct tt_modules *modules; /* owned; NULL: made when a stack is to be unwound */
    struct tt_mapping jit; /* all code outside of files; its module is made when needed */
    struct tt_python *python; /* owned; NULL: none was found */
    struct tt_java *java;     /* the same */
    char name[TT_NAME_SIZE];
    tt_block labels; /* of a machine: the process's labels; 0: not known */
    int is_wanted, has_ended;
    int is_waker; /* it is not recorded, but has woken a thread that is */
    char *begun;  /* owned: the program that it became, until it maps something */
    struct process *next;
};

struct task { /* a thread of a process */
    uint32_t pid, tid;
    uint64_t source; /* the thread whose events it uses: itself, or an ancestor */
    char name[TT_NAME_SIZE];
    struct tt_strand self;
    struct tt_thread *thread;  /* NULL: no sample so far */
    int has_ended, is_refused; /* refused: its thread is the one that others share */
    struct tt_off_cpu off;
    struct task *next;
};

struct tt_attach {
    struct tt_perf *events;
    struct tt_perf_options options;
    uint32_t metric[1 + TT_COUNTERS_MAX]; /* of each counter; 0: CPU time */
    uint32_t pid;
    struct process *process[BUCKETS];
    struct task *task[BUCKETS];
    struct tt_mapping kernel;
    const struct process *unwound; /* the process of the current stack */
    struct tt_frame_program program;
    struct tt_frame_copies *frames; /* of the current sample, while they are read */
    struct tt_page_cache *pages;    /* owned; of processes with Java; NULL: none */
    uint32_t pythons;               /* processes that have one */
    uint64_t python_sample;         /* time of the last sample of one */
    struct tt_grafting hanging;
    struct tt_sched sched;
    struct tt_kernel_waits waits;
    struct ended { /* a process that has ended: its end may wake another one soon */
        uint32_t pid;
        uint64_t time;
        char name[TT_NAME_SIZE];
    } ended[ENDED];
    uint32_t ends;
    struct leaving { /* in the order of their ends */
        uint32_t pid, tid;
        uint64_t time;
    } leaving[LEAVING];
    uint32_t left,
        leaves; /* those before `left` are gone; those before `leaves` have ended */
    struct tt_strand shared_self;
    struct tt_thread *shared; /* for threads that find no room; NULL: none has a strand */
    char *unseen[UNSEEN_MAX]; /* owned; programs, each once */
    uint32_t unseens;
    int lost; /* events were lost: a missing one may have been among them */
    struct tt_attach_filter filter;
    uint64_t since, until;    /* of a machine: begin and end of this recording */
    uint64_t charged, others; /* since then, in ns; others: to other processes */
    uint64_t idle_sampled;
    uint64_t idle_before; /* by the kernel's account, at `since` */
    uint64_t from;        /* earlier samples are in an earlier recording */
    struct code {         /* of files, as mapped */
        uint64_t key;     /* 0: the slot is free */
        char bytes[TT_PEEK_BLOCK];
    } code[CODES];
    struct user {
        uid_t id;
        char name[TT_NAME_SIZE]; /* "": the slot is free */
    } user[USERS];
};

/* ── Processes ────────────────────────────────────────────────────────────────────── */

static void forget_modules(struct process *p)
{
    tt_modules_free(p->modules);
    p->modules = NULL;
}

static struct process **process_slot(struct tt_attach *a, uint32_t pid)
{
    struct process **p = &a->process[pid % BUCKETS];

    while (*p && (*p)->pid != pid)
        p = &(*p)->next;
    return p;
}

static void read_name(char *name, const char *path)
{
    FILE *f = fopen(path, "re");

    if (f && !fgets(name, TT_NAME_SIZE, f))
        name[0] = '\0';
    if (f)
        (void)fclose(f);
    name[strcspn(name, "\n")] = '\0';
}

/* A process of which only the number is known; NULL without memory. */
static struct process *add_process(struct tt_attach *a, uint32_t pid)
{
    struct process **at = process_slot(a, pid), *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->pid = pid;
    p->jit.end = UINT64_MAX;
    *at = p;
    return p;
}

/* ── Interpreters ─────────────────────────────────────────────────────────────────── */

/* Adds an interpreter to the list in the header, once, with the reason why its functions
 * are not shown. */
static void say_interpreter(const struct tt_interpreter *i)
{
    struct tt_header *h = tt_recording->header;
    const size_t length = strnlen(h->interpreters, sizeof h->interpreters - 1);
    char text[sizeof h->interpreters];
    int n = snprintf(text, sizeof text, "%.20s%s%.60s", i->name,
                     i->off ? ", not shown: " : "", i->off ? i->off : "");

    if (strstr(h->interpreters, text) || length + 2 + (size_t)n >= sizeof h->interpreters)
        return;
    if (length)
        memcpy(h->interpreters + length, "; ", 2);
    memcpy(h->interpreters + length + (length ? 2 : 0), text, (size_t)n + 1);
}

static int read_live(void *arg, uint64_t address, void *to, size_t size)
{
    const struct process *p = arg;
    struct iovec ours = {to, size}, theirs = {(void *)(uintptr_t)address, size};

    return process_vm_readv((pid_t)p->pid, &ours, 1, &theirs, 1, 0) == (ssize_t)size;
}

static int fetch_live(void *arg, uint64_t address, void *block)
{
    return read_live(arg, address, block, TT_PEEK_BLOCK) ? 0 : -1;
}

/* From here on the system copies the frames of each sample. */
static void follow_python(struct tt_attach *a, const struct process *p)
{
    struct tt_interpreter *i = tt_python_interpreter(p->python);
    struct tt_frame_chain chain;

    if (!i->off && a->program.refused)
        i->off = a->program.refused;
    if (!i->off && tt_python_chain(p->python, (pid_t)p->pid, &chain) &&
        tt_frame_program_follow(&a->program, (pid_t)p->pid, &chain) != 0)
        i->off = "there are too many of them";
    a->pythons++;
    say_interpreter(i);
}

static void find_python(struct tt_attach *a, struct process *p, struct tt_peek *peek)
{
    if (p->python)
        return;
    p->python = tt_python_of((pid_t)p->pid, p->modules, &p->regions, peek);
    if (p->python)
        follow_python(a, p);
}

static void find_java(struct tt_attach *a, struct process *p, struct tt_peek *peek)
{
    if (p->java)
        return;
    p->java = tt_java_of((pid_t)p->pid, p->modules, &p->regions, peek);
    if (!p->java)
        return;
    if (!a->pages)
        a->pages = tt_page_cache_new();
    say_interpreter(tt_java_interpreter(p->java));
}

static void say_inside_only(const struct process *p)
{
    const struct tt_interpreter *i;

    for (size_t r = 0; r < p->regions.count; r++)
        if ((i = tt_inside_only((pid_t)p->pid, p->modules, &p->regions.at[r])))
            say_interpreter(i);
}

static void find_interpreters(struct tt_attach *a, struct process *p)
{
    struct tt_peek peek;

    if (a->filter.is_bare)
        return;
    tt_peek_copy(&peek, 0, NULL, 0);
    peek.fetch = fetch_live;
    peek.elsewhere = read_live;
    peek.arg = p;
    find_python(a, p, &peek);
    find_java(a, p, &peek);
    say_inside_only(p);
}

static void forget_java(struct process *p)
{
    if (p->java)
        say_interpreter(tt_java_interpreter(p->java)); /* it may be off since */
    free(p->java);
    p->java = NULL;
}

static void forget_python(struct tt_attach *a, struct process *p)
{
    if (!p->python)
        return;
    say_interpreter(tt_python_interpreter(p->python)); /* it may be off since */
    (void)tt_frame_program_follow(&a->program, (pid_t)p->pid, NULL);
    free(p->python);
    p->python = NULL;
    a->pythons--;
}

static void find_modules(struct tt_attach *a, struct process *p)
{
    if (p->modules)
        return;
    (void)tt_modules_of(&p->modules, (pid_t)p->pid, &p->regions);
    find_interpreters(a, p);
}

/* ── Labels of a process ──────────────────────────────────────────────────────────── */

static const char *user_name(struct tt_attach *a, uid_t id)
{
    struct user *u = &a->user[id % USERS];
    const struct passwd *p;

    if (u->name[0] && u->id == id)
        return u->name;
    p = getpwuid(id);
    u->id = id;
    if (p)
        (void)snprintf(u->name, sizeof u->name, "%s", p->pw_name);
    else
        (void)snprintf(u->name, sizeof u->name, "%u", (unsigned)id);
    return u->name;
}

/* Its effective user. */
static int read_user(uint32_t pid, uid_t *user)
{
    char path[64], line[256];
    unsigned id;
    int found = 0;
    FILE *f;

    (void)snprintf(path, sizeof path, "/proc/%u/status", pid);
    f = fopen(path, "re");
    while (f && !found && fgets(line, sizeof line, f))
        found = sscanf(line, "Uid: %*u %u", &id) == 1;
    if (f)
        (void)fclose(f);
    *user = found ? id : 0;
    return found;
}

/* The path in the unified hierarchy, or in systemd's own in the older one: "0::/path". */
static int read_cgroup(uint32_t pid, char cgroup[LABELS_MAX])
{
    char path[64], line[LABELS_MAX];
    FILE *f;

    cgroup[0] = '\0';
    (void)snprintf(path, sizeof path, "/proc/%u/cgroup", pid);
    f = fopen(path, "re");
    while (f && fgets(line, sizeof line, f)) {
        const char *at = strchr(line, ':'), *rest = at ? strchr(at + 1, ':') : NULL;
        line[strcspn(line, "\n")] = '\0';
        if (rest && (at[1] == ':' || strncmp(at, ":name=systemd:", 14) == 0))
            (void)snprintf(cgroup, LABELS_MAX, "%s", rest + 1);
    }
    if (f)
        (void)fclose(f);
    for (char *c = cgroup; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = '?';
    return cgroup[0] != '\0';
}

static int is_below(const char *path, const char *cgroup)
{
    size_t length = strlen(cgroup);

    while (length && cgroup[length - 1] == '/')
        length--;
    return strncmp(path, cgroup, length) == 0 && (!path[length] || path[length] == '/');
}

/* A process that has already ended keeps its earlier labels. */
static void read_labels(struct tt_attach *a, struct process *p)
{
    const struct tt_attach_filter *f = &a->filter;
    char cgroup[LABELS_MAX], labels[LABELS_MAX + 64];
    uid_t user;

    if (!a->options.is_machine || !read_user(p->pid, &user))
        return;
    (void)read_cgroup(p->pid, cgroup);
    (void)snprintf(labels, sizeof labels, "%s%s%suser=%s", *cgroup ? "cgroup=" : "",
                   cgroup, *cgroup ? "\n" : "", user_name(a, user));
    if (tt_block_try()) {
        p->labels = tt_block_native(&(struct tt_block_info){
            .kind = TT_KIND_NATIVE, .module = TT_LABELS, .file = "", .name = labels});
        tt_block_done();
    }
    p->is_wanted = (!f->cgroup || is_below(cgroup, f->cgroup)) &&
                   (!f->has_user || user == f->user);
}

/* ── Known processes ──────────────────────────────────────────────────────────────── */

static struct process *get_process(struct tt_attach *a, uint32_t pid)
{
    struct process *p = *process_slot(a, pid);
    char path[64];

    if (p || !(p = add_process(a, pid)))
        return p;
    p->is_wanted = !a->filter.cgroup && !a->filter.has_user;
    if (!pid) {
        (void)snprintf(p->name, sizeof p->name, "%s", machine_name);
        return p;
    }
    (void)tt_regions_read(&p->regions, (pid_t)pid);
    (void)snprintf(path, sizeof path, "/proc/%u/comm", pid);
    read_name(p->name, path);
    read_labels(a, p);
    return p;
}

/* One whose own events are read. */
static struct process *get_recorded(struct tt_attach *a, uint32_t pid)
{
    struct process *p = get_process(a, pid);

    if (p)
        p->is_waker = 0;
    return p;
}

/* If a program ended at once, only the first 15 bytes of its file's name are known. */
static int is_same_program(const char *a, const char *b)
{
    const char *path = strchr(a, '/') ? a : b, *other = path == a ? b : a;

    if (strchr(other, '/') || !strchr(path, '/'))
        return strcmp(a, b) == 0;
    return strncmp(strrchr(path, '/') + 1, other, COMM_SIZE - 1) == 0;
}

/* A program whose events end when it begins has mapped nothing by then; every other one
 * maps its code at once. */
static void note_unseen(struct tt_attach *a, struct process *p)
{
    uint32_t i = 0;
    char *before;

    while (i < a->unseens && !is_same_program(a->unseen[i], p->begun))
        i++;
    if (a->lost || i == UNSEEN_MAX)
        return;
    before = i < a->unseens ? a->unseen[i] : NULL;
    if (before && (strchr(before, '/') || !strchr(p->begun, '/')))
        return;
    a->unseen[i] = p->begun; /* replaces a name by its path */
    a->unseens += !before;
    p->begun = before;
}

static void drop_process(struct tt_attach *a, uint32_t pid)
{
    struct process **at = process_slot(a, pid), *p = *at;

    if (!p)
        return;
    *at = p->next;
    if (p->begun)
        note_unseen(a, p);
    free(p->begun);
    forget_python(a, p);
    forget_java(p);
    forget_modules(p);
    tt_regions_fini(&p->regions);
    free(p);
}

/* A child begins with all that its parent has mapped. */
static void fork_process(struct tt_attach *a, uint32_t pid, uint32_t parent)
{
    const struct process *from = *process_slot(a, parent);
    struct process *p;

    if (!from)
        return;
    drop_process(a, pid);
    p = add_process(a, pid);
    if (!p)
        return;
    (void)tt_regions_copy(&p->regions, &from->regions);
    memcpy(p->name, from->name, sizeof p->name);
    p->labels = from->labels;
    p->is_wanted = from->is_wanted;
    p->is_waker = from->is_waker;
    if (from->python && (p->python = tt_python_copy(from->python)) != NULL)
        follow_python(a, p);
    if (from->java)
        p->java = tt_java_copy(from->java);
}

static int lies_on(const struct tt_regions *r, const struct tt_region *one)
{
    for (size_t i = 0; i < r->count; i++)
        if (one->start < r->at[i].end && one->end > r->at[i].start)
            return 1;
    return 0;
}

/* A process that loads and unloads code at ever new addresses leaves old regions; /proc
 * has the current ones. */
static void map_region(struct tt_attach *a, const struct tt_perf_event *e)
{
    struct process *p = get_process(a, e->pid);

    if (!p)
        return;
    free(p->begun);
    p->begun = NULL;
    if (!*e->of.mapped.path && !lies_on(&p->regions, &e->of.mapped))
        return; /* generated code */
    if (p->regions.count > REGIONS_MAX) {
        tt_regions_fini(&p->regions);
        (void)tt_regions_read(&p->regions, (pid_t)p->pid);
    }
    (void)tt_regions_add(&p->regions, &e->of.mapped);
    forget_modules(p);
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

static struct task **task_slot(struct tt_attach *a, uint32_t tid)
{
    struct task **t = &a->task[tid % BUCKETS];

    while (*t && (*t)->tid != tid)
        t = &(*t)->next;
    return t;
}

static struct task *get_task(struct tt_attach *a, const struct process *p, uint32_t tid)
{
    struct task **at = task_slot(a, tid), *t = *at;
    char path[64];

    if (t)
        return t;
    t = *at = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    t->pid = p->pid;
    t->tid = tid;
    (void)snprintf(path, sizeof path, "/proc/%u/task/%u/comm", p->pid, tid);
    if (tid == DEAD)
        (void)snprintf(t->name, sizeof t->name, "%s", dead_name);
    else if (p->pid)
        read_name(t->name, path);
    else
        (void)snprintf(t->name, sizeof t->name, "%s", tid ? unknown_name : idle_name);
    if (!t->name[0]) /* it has ended: use the process's name, unless it had another */
        memcpy(t->name, p->name, sizeof t->name);
    return t;
}

/* It stays in the recording as an ended one. */
static void end_strand(struct tt_thread *thread)
{
    if (!thread)
        return;
    tt_busy_enter(&thread->busy);
    tt_thread_detach(thread);
    tt_thread_free(thread);
}

static void drop_task(struct tt_attach *a, uint32_t tid)
{
    struct task **at = task_slot(a, tid), *t = *at;

    if (!t)
        return;
    *at = t->next;
    tt_off_cpu_settle(&t->off, t->thread);
    if (!t->is_refused)
        end_strand(t->thread);
    tt_off_cpu_free(&t->off);
    free(t);
}

/* Of a machine: stores the owner of a strand. */
static void name_owner(struct tt_attach *a, struct task *t)
{
    struct tt_strand_record *r = t->thread->record;
    const struct process *p = *process_slot(a, t->pid);

    r->thread = t->tid;
    r->process = t->pid;
    memcpy(r->name, t->name, TT_NAME_SIZE);
    if (!p)
        return;
    memcpy(r->owner.process, p->name, TT_NAME_SIZE);
    r->owner.labels = p->labels ? tt_block_publish(t->thread->recording, p->labels) : 0;
}

static void name_strand(struct tt_attach *a, struct task *t)
{
    struct tt_strand_record *r = t->thread->record;
    int is_main = t->pid == a->pid && t->tid == t->pid;

    if (a->options.is_machine) {
        name_owner(a, t);
        return;
    }

    r->thread = t->tid;
    r->process = t->pid == a->pid ? 0 : t->pid;
    memcpy(r->name, is_main ? "main" : t->name, is_main ? 5 : TT_NAME_SIZE);
}

static struct tt_thread *new_strand(struct tt_strand *self)
{
    struct tt_thread *thread = tt_thread_new(self);

    if (!thread)
        return NULL;
    thread->named = 1; /* by us: the system's name is of our own thread */
    if (tt_thread_attach(thread) == 0)
        return thread;
    tt_thread_free(thread);
    return NULL;
}

/* Made while there is room.  Readers do not see it until it has a sample. */
static void make_shared(struct tt_attach *a)
{
    enum { PART = 4096 }; /* of the budget, in cells */
    struct tt_strand_record *r;

    a->shared = new_strand(&a->shared_self);
    if (!a->shared)
        return;
    r = a->shared->record;
    r->thread = r->process = 0;
    memcpy(r->name, shared_name, sizeof shared_name);
    __atomic_store_n(&r->state, TT_STRAND_NONE, __ATOMIC_RELEASE);
    (void)tt_tree_reserve(&a->shared->tree,
                          tt_recording->header->pages / (PART / TT_PAGE_CELLS));
}

/* A thread that finds no room is counted once, and shares a strand with others. */
static struct tt_thread *get_strand(struct tt_attach *a, struct task *t)
{
    if (t->thread || t->is_refused)
        return t->thread;
    if (!a->shared)
        make_shared(a);
    t->thread = new_strand(&t->self);
    t->is_refused = !t->thread;
    if (t->thread) {
        name_strand(a, t);
    } else if (a->shared) {
        t->thread = a->shared;
        __atomic_store_n(&a->shared->record->state, TT_STRAND_OPEN, __ATOMIC_RELEASE);
    }
    return t->thread;
}

/* The path of its program, if it still runs; to be freed. */
static char *find_program(const struct process *p)
{
    char path[64], program[PATH_MAX];
    ssize_t length;

    (void)snprintf(path, sizeof path, "/proc/%u/exe", p->pid);
    length = readlink(path, program, sizeof program - 1);
    program[length > 0 ? length : 0] = '\0';
    return strdup(length > 0 ? program : p->name);
}

/* Its number may be that of a thread, or a process, that has ended. */
static void begin_task(struct tt_attach *a, const struct tt_perf_event *e)
{
    const struct task *t = *task_slot(a, e->tid);
    const struct process *p = *process_slot(a, e->pid);

    if (t && t->has_ended)
        drop_task(a, e->tid);
    if (p && p->has_ended && e->tid == e->pid)
        drop_process(a, e->pid);
    if (e->pid != e->of.forked.pid)
        fork_process(a, e->pid, e->of.forked.pid);
}

/* Time after exec is not this program's: ends the strand. */
static void name_task(struct tt_attach *a, const struct tt_perf_event *e)
{
    struct process *p = *process_slot(a, e->pid);
    const tt_block labels = p ? p->labels : 0;
    const int is_wanted = p ? p->is_wanted : 0, is_waker = p ? p->is_waker : 0;
    struct task *t = *task_slot(a, e->tid);

    if (e->of.named.exec && (a->options.is_machine || (t && t->has_ended)))
        drop_task(a, e->tid);
    else if (p && e->tid == e->pid)
        (void)snprintf(p->name, sizeof p->name, "%s", e->of.named.name);
    t = *task_slot(a, e->tid);
    if (t)
        (void)snprintf(t->name, sizeof t->name, "%s", e->of.named.name);
    if (t && t->thread && !t->is_refused)
        name_strand(a, t);
    if (!e->of.named.exec)
        return;
    drop_process(a, e->pid);
    p = add_process(a, e->pid);
    if (!p)
        return;
    (void)snprintf(p->name, sizeof p->name, "%s", e->of.named.name);
    p->labels = labels;
    p->is_wanted = is_wanted;
    p->is_waker = is_waker;
    read_labels(a, p);
    p->begun = find_program(p);
}

static void note_end(struct tt_attach *a, const struct process *p, uint64_t now)
{
    struct ended *e = &a->ended[a->ends++ % ENDED];

    e->pid = p->pid;
    e->time = now;
    memcpy(e->name, p->name, sizeof e->name);
}

/* Drops what ended before that time; and one more, if there is no room for another. */
static void drop_ended(struct tt_attach *a, uint64_t before)
{
    TT_ASSERT(a->leaves - a->left <= LEAVING);
    while (a->left != a->leaves) {
        const struct leaving *l = &a->leaving[a->left % LEAVING];
        const struct task *t = *task_slot(a, l->tid);
        const struct process *p = *process_slot(a, l->pid);
        if (l->time >= before && a->leaves - a->left < LEAVING)
            break;
        a->left++;
        /* Else the number is another one's by now. */
        if (t && t->has_ended)
            drop_task(a, l->tid);
        if (p && p->has_ended && l->tid == l->pid)
            drop_process(a, l->pid);
    }
}

/* The thread runs some instructions more, of which there may be samples. */
static void end_task(struct tt_attach *a, const struct tt_perf_event *e)
{
    struct process *p = *process_slot(a, e->pid);
    struct task *t = *task_slot(a, e->tid);

    drop_ended(a, e->time - LEAVES);
    if (t) {
        tt_off_cpu_settle(&t->off, t->thread);
        t->has_ended = 1;
    }
    if (p && e->tid == e->pid) {
        note_end(a, p, e->time);
        p->has_ended = 1;
    }
    a->leaving[a->leaves++ % LEAVING] = (struct leaving){e->pid, e->tid, e->time};
}

/* ── Stacks ───────────────────────────────────────────────────────────────────────── */

static int read_memory(const struct process *p, uint64_t address, void *block)
{
    struct iovec to = {block, TT_PEEK_BLOCK},
                 from = {(void *)(uintptr_t)address, TT_PEEK_BLOCK};

    return process_vm_readv((pid_t)p->pid, &to, 1, &from, 1, 0) == TT_PEEK_BLOCK ? 0 : -1;
}

/* The process may have ended since. */
static int read_file(const struct process *p, const struct tt_region *r, uint64_t address,
                     void *block)
{
    int fd = tt_region_open(r, (pid_t)p->pid);
    ssize_t n;

    if (fd < 0)
        return -1;
    n = pread(fd, block, TT_PEEK_BLOCK, (off_t)(address - r->start + r->offset));
    close(fd);
    return n == TT_PEEK_BLOCK ? 0 : -1;
}

/* The cache slot of a block of a file's code, which is the same in all processes; NULL:
 * it is in no module. */
static struct code *code_at(struct tt_attach *a, uint64_t address, uint64_t *key)
{
    const struct tt_modules *modules = a->unwound->modules;
    const struct tt_mapping *m = modules ? tt_modules_find(modules, address) : NULL;

    if (!m || address + TT_PEEK_BLOCK > m->end)
        return NULL;
    *key = (uint64_t)(m->module->id + 1) << 40 ^ (address - m->bias) / TT_PEEK_BLOCK;
    return &a->code[(*key * 0x9e3779b97f4a7c15u) >> 32 & (CODES - 1)];
}

static int fetch_anew(struct tt_attach *a, uint64_t address, void *block)
{
    enum { NEAR = 64 << 20 };
    const struct tt_peek *peek = &a->hanging.peek;
    const struct process *p = a->unwound;

    for (size_t i = 0; i < p->regions.count; i++) {
        const struct tt_region *r = &p->regions.at[i];
        if (address >= r->start && address < r->end)
            return read_memory(p, address, block) == 0 ? 0
                                                       : read_file(p, r, address, block);
    }
    if (peek->low && address - (peek->low - NEAR) < 2 * (uint64_t)NEAR)
        return -1;
    return read_memory(p, address, block);
}

/* Reads code, of a file or generated; but not memory near the stack, of which only the
 * copy is of the sample's moment. */
static int fetch(void *arg, uint64_t address, void *block)
{
    struct tt_attach *a = arg;
    uint64_t key = 0;
    struct code *c = code_at(a, address, &key);

    if (c && c->key == key) {
        memcpy(block, c->bytes, TT_PEEK_BLOCK);
        return 0;
    }
    if (fetch_anew(a, address, block) != 0)
        return -1;
    if (c) {
        c->key = key;
        memcpy(c->bytes, block, TT_PEEK_BLOCK);
    }
    return 0;
}

static void add_kernel_frames(struct tt_attach *a, const struct tt_perf_event *e)
{
    struct tt_unwound *s = &a->hanging.stack;

    for (uint32_t i = 0; i < e->of.sample.kernels && s->count < KERNEL_MAX; i++)
        a->hanging.frame[s->count++] = (struct tt_native){.pc = e->of.sample.kernel[i],
                                                          .mapping = &a->kernel,
                                                          .flags = i ? 0
                                                                     : TT_NATIVE_EXACT};
}

/* Frames are those of the sample; texts are read now, and checked. */
static int read_elsewhere(void *arg, uint64_t address, void *to, size_t size)
{
    struct tt_attach *a = arg;

    if (a->frames)
        return tt_frame_copies_read(a->frames, address, to, size);
    if (a->pages && a->unwound->java)
        return tt_page_cache_read(a->pages, (pid_t)a->unwound->pid, address, to, size);
    return read_live((void *)(uintptr_t)a->unwound, address, to, size);
}

static struct tt_interpreter *shown_java(const struct process *p)
{
    struct tt_interpreter *i = p->java ? tt_java_interpreter(p->java) : NULL;

    return i && !i->off ? i : NULL;
}

static void unwind_stack(struct tt_attach *a, const struct process *p,
                         const struct tt_perf_event *e)
{
    struct tt_grafting *h = &a->hanging;
    struct tt_unwound user = {.frame = h->frame + h->stack.count,
                              .room = TT_STEPS_MAX - 2 - h->stack.count};

    if (shown_java(p))
        user.generated = shown_java(p)->generated;
    h->registers = e->of.sample.registers;
    tt_peek_copy(&h->peek, h->registers.value[TT_REGISTER_SP], e->of.sample.stack,
                 e->of.sample.stack_size);
    h->peek.fetch = fetch;
    h->peek.elsewhere = read_elsewhere;
    h->peek.arg = a;
    a->unwound = p;
    tt_native_unwind(&user, p->modules, &h->registers, &h->peek);
    h->stack.count += user.count;
    h->stack.end = user.end;
}

/* ── Functions of interpreters ────────────────────────────────────────────────────── */

static int runs_python(const struct tt_grafting *h, const struct process *p)
{
    const uint64_t loop = tt_python_loop(p->python);

    for (uint32_t i = 0; i < h->stack.count; i++)
        if (loop && h->frame[i].function == loop)
            return 1;
    return 0;
}

/* Java's frames are all on the copied stack. */
static int find_methods(struct tt_attach *a, const struct process *p, uint32_t kernels)
{
    struct tt_interpreter *i = shown_java(p);

    if (!i)
        return 0;
    tt_graft_merge(&a->hanging, i, 0, kernels);
    return a->hanging.script.count != 0;
}

/* Without a copy that is certainly of this sample, the stack stays native. */
static void find_functions(struct tt_attach *a, const struct process *p,
                           const struct tt_perf_event *e, uint32_t kernels)
{
    enum { LATEST = 1000000 };
    const uint64_t latest = e->counter ? LATEST : tt_perf_period(a->events) / 2;
    struct tt_frame_copies copies = e->of.sample.frames;
    struct tt_grafting *h = &a->hanging;

    if (!tt_frame_copies_check(&copies, e->of.sample.place, e->time, latest)) {
        h->script.unplaced = runs_python(h, p);
        return;
    }
    a->frames = &copies;
    tt_graft_merge(h, tt_python_interpreter(p->python), tt_frame_copies_state(&copies),
                   kernels);
    a->frames = NULL;
}

/* An address in no file is in code that the program has generated.  The process's number
 * shows where its names are, if there are any. */
static void name_jit(struct tt_grafting *h, struct process *p)
{
    char map[64];

    for (uint32_t i = 0; i < h->stack.count; i++) {
        if (h->frame[i].mapping)
            continue;
        if (!p->jit.module) {
            (void)snprintf(map, sizeof map, TT_PERF_MAP, (unsigned long long)p->pid);
            p->jit.module = tt_modules_other("[jit]", map);
        }
        if (p->jit.module)
            h->frame[i].mapping = &p->jit;
    }
}

/* Time in which nothing ran, or of which nothing is known. */
static void find_nothing(struct tt_attach *a, const char *name)
{
    a->hanging.stack = (struct tt_unwound){.frame = a->hanging.frame,
                                           .end = TT_UNWIND_ROOT};
    a->hanging.script.count = 0;
    a->hanging.script.wanted = 0;
    a->hanging.wait = name;
}

/* Of a thread whose process is gone only the kernel's functions are known. */
static void find_kernel_stack(struct tt_attach *a, const struct tt_perf_event *e)
{
    find_nothing(a, NULL);
    add_kernel_frames(a, e);
    if (!a->hanging.stack.count)
        a->hanging.wait = dead_name;
}

/* Unwinds the stack; without known registers, as of a 32-bit program, uses only the
 * pc. */
static void find_stack(struct tt_attach *a, struct process *p,
                       const struct tt_perf_event *e)
{
    struct tt_grafting *h = &a->hanging;

    uint32_t kernels;
    int is_python;

    h->stack = (struct tt_unwound){.frame = h->frame, .end = TT_UNWIND_ROOT};
    h->script.count = 0;
    h->script.unplaced = 0;
    add_kernel_frames(a, e);
    find_modules(a, p);
    is_python = p->python && !tt_python_interpreter(p->python)->off;
    h->script.wanted = is_python || shown_java(p);
    if (e->of.sample.has_registers) {
        kernels = h->stack.count;
        unwind_stack(a, p, e);
        if (is_python)
            a->python_sample = e->time;
        if (!find_methods(a, p, kernels) && is_python)
            find_functions(a, p, e, kernels);
    } else if (!h->stack.count) {
        h->frame[h->stack.count++] = (struct tt_native){
            .pc = e->of.sample.place,
            .mapping = p->modules ? tt_modules_find(p->modules, e->of.sample.place)
                                  : NULL,
            .flags = TT_NATIVE_EXACT};
        h->stack.end = TT_UNWIND_NO_RULE;
    }
    name_jit(h, p);
}

struct drawn { /* `samples` samples of `amount` together, at a time in ns */
    uint64_t amount, samples, time;
    uint32_t metric;
};

/* The number of time samples gives the error of a share; samples of a counter do not
 * count there. */
static void charge_to(struct tt_grafting *h, struct tt_node *n, uint32_t made,
                      const struct drawn *d)
{
    const uint64_t start = h->thread->recording->header->start_ticks; /* in ns, too */

    tt_graft_charge(h, n, made, d->amount, d->metric);
    if (d->metric || made == h->path.count)
        tt_bump(&n->samples, d->metric ? (uint64_t)-1 : d->samples - 1);
    if (!d->metric)
        tt_log_add(h->thread, NULL, n, d->amount, d->time > start ? d->time - start : 0);
}

static void charge(struct tt_attach *a, struct tt_thread *t, struct drawn d)
{
    struct tt_grafting *h = &a->hanging;
    struct tt_node *n;
    uint32_t made;

    if (!d.metric)
        d.amount = (uint64_t)((unsigned __int128)d.amount *
                              t->recording->header->ticks_per_second / 1000000000u);
    h->thread = t;
    h->at = t->self->top;
    tt_busy_enter(&t->busy);
    if (tt_graft_find(h, &n)) {
        charge_to(h, n, h->path.count, &d);
    } else if (tt_graft_make(h, &n, &made)) {
        if (n)
            charge_to(h, n, made, &d);
        tt_graft_done(h);
    }
    tt_busy_leave(&t->busy);
}

/* The process of a sample, and the number of its thread.  Of one that ended some time ago
 * nothing is known any more. */
static struct process *get_sampled(struct tt_attach *a, const struct tt_perf_event *e,
                                   uint32_t *tid)
{
    struct process *p = e->pid == DEAD ? NULL : get_recorded(a, e->pid);

    *tid = e->tid;
    if (p && (p->name[0] || p->regions.count))
        return p;
    if (p)
        drop_process(a, e->pid);
    *tid = DEAD;
    return get_process(a, a->options.is_machine ? 0 : a->pid);
}

/* A thread that began while events were opened may have two of them. */
static void take_sample(struct tt_attach *a, const struct tt_perf_event *e)
{
    uint32_t tid = 0;
    struct process *p = e->time < a->from ? NULL : get_sampled(a, e, &tid);
    const int is_kept = p && (!a->options.is_machine || p->is_wanted);
    struct task *t = is_kept ? get_task(a, p, tid) : NULL;
    struct tt_thread *thread;

    if (p && !is_kept && !e->counter)
        a->others += e->of.sample.weight;
    if (!t || (tid != DEAD && t->source && t->source != e->source))
        return;
    t->source = e->source;
    thread = get_strand(a, t);
    if (!thread)
        return;
    if (!tid && a->options.is_machine)
        find_nothing(a, idle_name);
    else if (tid == DEAD)
        find_kernel_stack(a, e);
    else
        find_stack(a, p, e);
    charge(a, thread,
           (struct drawn){e->of.sample.weight, 1, e->time, a->metric[e->counter]});
    a->hanging.wait = NULL;
    if (!e->counter)
        a->charged += e->of.sample.weight;
    if (!e->counter && !tid && a->options.is_machine)
        a->idle_sampled += e->of.sample.weight;
}

/* Charges time without samples to a strand of the machine, in equal parts over the
 * recording: when it was is not known. */
static void charge_rest(struct tt_attach *a, uint32_t tid, const char *name,
                        uint64_t time)
{
    enum { PARTS = 256 };
    struct process *p = get_process(a, 0);
    struct task *t = p && p->is_wanted && time ? get_task(a, p, tid) : NULL;
    struct tt_thread *thread = t ? get_strand(a, t) : NULL;
    const uint64_t samples = time / tt_perf_period(a->events) ?: 1;
    const uint64_t parts = samples < PARTS ? samples : PARTS;

    if (!thread)
        return;
    find_nothing(a, name);
    for (uint64_t i = 0; i < parts; i++)
        charge(a, thread,
               (struct drawn){time / parts + (i < time % parts),
                              samples / parts + (i < samples % parts),
                              a->since + (a->until - a->since) / parts * (i + 1), 0});
    a->hanging.wait = NULL;
}

/* Charges processor time without a sample: of idle processors, whose clock the kernel may
 * stop, of lost samples, and after the last one. */
static void take_rest(struct tt_attach *a)
{
    const uint64_t all = tt_perf_processors(a->events) * (a->until - a->since),
                   known = a->charged + a->others, rest = all > known ? all - known : 0;
    const uint64_t idle = tt_perf_idle(a->events),
                   now = a->idle_before && idle > a->idle_before ? idle - a->idle_before
                                                                 : 0;
    const uint64_t unsampled = now > a->idle_sampled ? now - a->idle_sampled : 0,
                   more = unsampled < rest ? unsampled : rest;

    charge_rest(a, 0, idle_name, more);
    charge_rest(a, UNKNOWN, unknown_name, rest - more);
}

/* ── Waits ────────────────────────────────────────────────────────────────────────── */

static int is_of_library(const struct tt_native *n)
{
    static const char *const names[] = {"libc.so", "libc-", "libpthread", "ld-"};
    const char *base = n->mapping ? strrchr(n->mapping->module->path, '/') : NULL;

    for (size_t i = 0; base && i < sizeof names / sizeof *names; i++)
        if (strncmp(base + 1, names[i], strlen(names[i])) == 0)
            return 1;
    return 0;
}

/* The innermost functions, of the C library, are removed: the one that called them waits,
 * as in recordings from within. */
static void remove_library(struct tt_grafting *h)
{
    uint32_t n = 0;

    while (n < h->stack.count && is_of_library(&h->frame[n]))
        n++;
    if (n && n < h->stack.count)
        tt_graft_remove(h, n);
}

/* The stack in user code, without functions of interpreters: their frames are not copied
 * there.  Empty: the thread has none. */
static void find_user_stack(struct tt_attach *a, struct process *p,
                            const struct tt_perf_event *e)
{
    struct tt_grafting *h = &a->hanging;

    h->stack = (struct tt_unwound){.frame = h->frame, .end = TT_UNWIND_ROOT};
    h->script.count = 0;
    h->script.wanted = 0;
    h->script.unplaced = 0;
    if (!e->of.sample.has_registers || !e->of.sample.stack_size)
        return;
    find_modules(a, p);
    unwind_stack(a, p, e);
    (void)find_methods(a, p, 0);
    name_jit(h, p);
    remove_library(h);
}

/* A block for a thread or a process by its name, which is that process's choice.  With the
 * locks held. */
static tt_block named(const struct tt_thread *t, const char *kind, const char *name)
{
    char text[TT_NAME_SIZE + 16];
    const struct tt_block_info info = {
        .kind = TT_KIND_NATIVE, .module = "", .file = "", .name = text};

    (void)snprintf(text, sizeof text, "[%s %s]", kind, name);
    for (char *c = text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
    return tt_block_publish(t->recording, tt_block_interpreted(&info));
}

/* The lock or pipe is not known: the wait is named after the waiting function. */
static tt_block lock_of(struct tt_grafting *h)
{
    struct tt_native n = h->frame[0];

    if (!h->stack.count)
        return 0;
    if (n.function)
        n.pc = n.function;
    n.flags |= TT_NATIVE_EXACT;
    return tt_place_whole(h->thread->recording, &n);
}

static const char *kind_of(const struct tt_attach *a, const struct tt_perf_event *e)
{
    const char *kind = tt_kernel_wait(&a->waits, e->of.sample.kernel,
                                      e->of.sample.kernels);

    if (e->of.sample.state & (TT_STATE_STOPPED | TT_STATE_TRACED))
        return "[waits: stopped in]";
    if (kind)
        return kind;
    return e->of.sample.state & TT_STATE_UNINTERRUPTIBLE ? "[waits: in the kernel of]"
                                                         : "[waits: in the system of]";
}

static void keep_waiter(struct tt_attach *a, struct process *p, struct task *t,
                        const struct tt_perf_event *e)
{
    struct tt_grafting *h = &a->hanging;

    find_user_stack(a, p, e);
    h->thread = t->thread;
    tt_busy_enter(&t->thread->busy);
    if (tt_descent_lock(t->thread)) {
        if (tt_graft_path(h) && tt_steps_set(&t->off.waiter, 0, &h->path)) {
            t->off.kind = kind_of(a, e);
            t->off.lock = lock_of(h);
        }
        tt_descent_unlock(t->thread);
    }
    tt_busy_leave(&t->thread->busy);
}

/* A thread is about to wait.  Those of the kernel have no user code. */
static void take_sleep(struct tt_attach *a, const struct tt_perf_event *e)
{
    struct process *p = e->time < a->from ? NULL : get_recorded(a, e->pid);
    struct task *t = p && (!a->options.is_machine || p->is_wanted)
                         ? get_task(a, p, e->tid)
                         : NULL;

    if (!t || t->has_ended || (t->source && t->source != e->source))
        return;
    t->source = e->source;
    tt_off_cpu_settle(&t->off, t->thread);
    t->off.out = e->time;
    t->off.is_new = 1;
    t->off.is_ignored = !e->of.sample.has_registers ||
                        !(e->of.sample.state & TT_STATE_WAITS);
    if (!t->off.is_ignored && get_strand(a, t))
        keep_waiter(a, p, t, e);
}

/* "kworker/0:1" */
static tt_block kernel_thread(const struct tt_thread *t, const struct process *p)
{
    char name[TT_NAME_SIZE];

    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(p->name, "/"), p->name);
    return named(t, "kernel", name);
}

/* NULL: it has not ended lately. */
static const struct ended *find_ended(const struct tt_attach *a, uint32_t pid,
                                      uint64_t now)
{
    for (uint32_t i = 0; i < ENDED; i++)
        if (a->ended[i].pid == pid && a->ended[i].time + ENDED_LATELY >= now)
            return &a->ended[i];
    return NULL;
}

static const char *name_of(const struct tt_attach *a, const struct process *p,
                           const struct tt_perf_event *waking)
{
    const struct ended *e = p ? NULL : find_ended(a, waking->pid, waking->time);

    return p ? p->name : e ? e->name : unknown_name;
}

static int is_interrupt(const struct tt_attach *a, const struct tt_perf_event *e)
{
    if (!e->pid || e->of.sample.flags & TT_TRACE_INTERRUPT)
        return 1;
    return e->of.sample.flags & TT_TRACE_SOFT_INTERRUPT &&
           !tt_kernel_has(&a->waits, e->of.sample.kernel, e->of.sample.kernels,
                          TT_KERNEL_INLINE);
}

static int keep_interrupt(const struct tt_attach *a, struct task *t,
                          const struct tt_perf_event *e)
{
    const int is_timer = tt_kernel_has(&a->waits, e->of.sample.kernel,
                                       e->of.sample.kernels, TT_KERNEL_TIMER);

    t->off.waker.count = 0;
    return tt_steps_add(
        &t->off.waker,
        tt_place_wait(t->thread->recording, is_timer ? "[timer]" : "[interrupt]", 1));
}

/* Another process is named; of one that is ending, no stack may be left. */
static int keep_path(struct tt_attach *a, struct process *p, struct task *t,
                     const struct tt_perf_event *e)
{
    struct tt_grafting *h = &a->hanging;
    const int is_exit = tt_kernel_has(&a->waits, e->of.sample.kernel,
                                      e->of.sample.kernels, TT_KERNEL_EXIT);
    tt_block whose = 0;

    if (!is_exit && p && !p->regions.count && !e->of.sample.has_registers)
        whose = kernel_thread(t->thread, p);
    else if (e->pid != t->pid)
        whose = named(t->thread, "process", name_of(a, p, e));
    return tt_graft_path(h) && tt_steps_set(&t->off.waker, whose, &h->path) &&
           (!is_exit || tt_steps_add(&t->off.waker,
                                     tt_place_wait(t->thread->recording, "[exit]", 1)));
}

/* Is it here: did this thread do it, or an interrupt of the thread? */
static void keep_waker(struct tt_attach *a, struct process *p, struct task *t,
                       const struct tt_perf_event *e, int is_here)
{
    if (is_here && p)
        find_user_stack(a, p, e);
    else
        find_nothing(a, NULL);
    a->hanging.thread = t->thread;
    tt_busy_enter(&t->thread->busy);
    if (tt_descent_lock(t->thread)) {
        if (!(is_here ? keep_path(a, p, t, e) : keep_interrupt(a, t, e)))
            t->off.waker.count = 0;
        tt_descent_unlock(t->thread);
    }
    tt_busy_leave(&t->thread->busy);
}

/* The process that wakes a recorded thread; NULL if it has ended: its data are gone. */
static struct process *get_waker(struct tt_attach *a, const struct tt_perf_event *e)
{
    struct process *p = *process_slot(a, e->pid);

    if (p || find_ended(a, e->pid, e->time) ||
        tt_kernel_has(&a->waits, e->of.sample.kernel, e->of.sample.kernels,
                      TT_KERNEL_EXIT))
        return p;
    p = get_process(a, e->pid);
    if (p)
        p->is_waker = 1;
    return p;
}

static void take_waking(struct tt_attach *a, const struct tt_perf_event *e)
{
    struct task *t = *task_slot(a, (uint32_t)e->of.sample.woken);
    int is_here;

    if (!t || !t->thread || t->has_ended || e->time < a->from ||
        !tt_off_cpu_is_woken(&t->off, e->time))
        return;
    is_here = !is_interrupt(a, e);
    t->off.waker.count = 0;
    keep_waker(a, is_here ? get_waker(a, e) : NULL, t, e, is_here);
    tt_off_cpu_woken(&t->off, t->thread, e->time);
}

/* The thread that has switched.  It may lose its processor before its first sample; on a
 * machine that may also be after its end. */
static struct task *get_switched(struct tt_attach *a, const struct tt_perf_event *e)
{
    struct task *t = *task_slot(a, e->tid);
    struct process *p;

    if (t && (t->thread || t->has_ended))
        return t->has_ended ? NULL : t;
    if (e->time < a->from || a->options.is_machine || !e->of.switched.is_preempted)
        return NULL;
    p = get_recorded(a, e->pid);
    t = p ? get_task(a, p, e->tid) : NULL;
    if (t && !t->source)
        t->source = e->source;
    return t && get_strand(a, t) ? t : NULL;
}

static void take_switch(struct tt_attach *a, const struct tt_perf_event *e)
{
    struct task *t = get_switched(a, e);

    if (!t || (t->source && t->source != e->source))
        return;
    if (e->time < a->from)
        tt_off_cpu_settle(&t->off, NULL);
    else if (e->of.switched.is_in)
        tt_off_cpu_in(&t->off, t->thread, e->time);
    else
        tt_off_cpu_out(&t->off, t->thread, e->time, e->of.switched.is_preempted);
}

/* Missing switches would make two waits one. */
static void take_loss(struct tt_attach *a, const struct tt_perf_event *e)
{
    struct tt_header *h = tt_recording->header;

    if (!e->of.lost.is_of_waits) {
        a->lost = 1;
        for (size_t i = 0; i < BUCKETS; i++)
            for (struct task *t = a->task[i]; t; t = t->next)
                tt_off_cpu_settle(&t->off, t->thread);
    }
    if (e->time >= a->from)
        tt_bump_shared(e->of.lost.is_of_waits ? &h->lost_stacks : &h->lost_samples,
                       e->of.lost.samples);
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

/* Does the event belong to a process that is not recorded, and has woken no recorded thread?
 * Recorded processes report the same by their own events. */
static int is_foreign(const struct process *p, const struct tt_perf_event *e)
{
    return e->source == (uint64_t)-1 && !(p && p->is_waker);
}

static void take_record(struct tt_attach *a, const struct tt_perf_event *e)
{
    struct process *p = *process_slot(a, e->kind == TT_PERF_FORKED ? e->of.forked.pid
                                                                   : e->pid);

    if (!a->options.is_machine && is_foreign(p, e))
        return;
    if (p && e->source != (uint64_t)-1)
        p->is_waker = 0;
    if (e->kind == TT_PERF_MAPPED)
        map_region(a, e);
    else if (e->kind == TT_PERF_NAMED)
        name_task(a, e);
    else if (e->kind == TT_PERF_EXITED)
        end_task(a, e);
    else
        begin_task(a, e);
}

static void take_event(void *arg, const struct tt_perf_event *e)
{
    struct tt_attach *a = arg;

    switch (e->kind) {
    case TT_PERF_SAMPLE:
        take_sample(a, e);
        break;
    case TT_PERF_MAPPED:
    case TT_PERF_NAMED:
    case TT_PERF_FORKED:
    case TT_PERF_EXITED:
        take_record(a, e);
        break;
    case TT_PERF_SLEEPS:
        take_sleep(a, e);
        break;
    case TT_PERF_WAKING:
        take_waking(a, e);
        break;
    case TT_PERF_SWITCHED:
        take_switch(a, e);
        break;
    case TT_PERF_LOST:
        take_loss(a, e);
        break;
    case TT_PERF_COPIED:
    case TT_PERF_NONE:
        break;
    }
}

/* It is unknown which tables belong to modules without a process: frees all of them; they
 * are made again when needed. */
static void trim_tables(struct tt_attach *a)
{
    if (tt_modules_size() <= TABLES_MAX)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct process *p = a->process[i]; p; p = p->next)
            forget_modules(p);
    tt_modules_trim();
}

/* A machine nearly always has a process with Python, which seldom runs. */
static int has_python(const struct tt_attach *a)
{
    enum { LATELY = 1000000000 };

    return !a->options.is_machine ||
           (a->pythons && tt_clock_monotonic() < a->python_sample + LATELY);
}

/* Code objects are named soon, as they may be deleted; a program that may be Python is
 * found soon. */
static unsigned rest(const struct tt_attach *a)
{
    enum { SOON = 10 };
    const unsigned ms = tt_perf_rest(a->events);
    const int is_soon = !a->program.refused && has_python(a);

    return is_soon && ms > SOON ? SOON : ms;
}

uint64_t tt_attach_settled(void) { return tt_clock_monotonic() - SETTLED; }

/* Pages of Java's memory are read once for these events, and again for later ones. */
static void read_events(struct tt_attach *a, uint64_t before)
{
    if (a->pages)
        tt_page_cache_forget(a->pages);
    tt_perf_read(a->events, before, take_event, a);
}

/* Waits are as many as the system has: at most half of a processor's time is theirs, and the
 * rest is lost. */
unsigned tt_attach_step(struct tt_attach *a, uint64_t before)
{
    const uint64_t began = tt_clock_monotonic();
    unsigned ms, spent;

    read_events(a, before);
    drop_ended(a, (before < began ? before : began) - SETTLED - LEAVES);
    if (a->options.is_machine)
        trim_tables(a);
    ms = rest(a);
    spent = (unsigned)((tt_clock_monotonic() - began) / 1000000);
    return a->options.sched && spent > ms ? spent : ms;
}

/* ── Opening ──────────────────────────────────────────────────────────────────────── */

/* Names of the kernel's functions are valid for this boot. */
static void find_kernel(struct tt_attach *a)
{
    char id[64] = "";
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

    if (f && !fgets(id, sizeof id, f))
        id[0] = '\0';
    if (f)
        (void)fclose(f);
    id[strcspn(id, "\n")] = '\0';
    a->kernel.end = UINT64_MAX;
    a->kernel.module = tt_modules_other("[kernel]", id);
}

static const char no_copies[] = "this system cannot copy its frames";

static void load_program(struct tt_attach *a)
{
    a->program = TT_FRAME_PROGRAM_NONE;
    if (a->filter.is_bare)
        return;
    tt_frame_program_load(&a->program);
    a->options.frames = a->program.refused ? NULL : &a->program;
}

/* Where they are wanted. */
static int begin_waits(struct tt_attach *a, char *reason, size_t size)
{
    int error = a->options.wait_stack ? tt_sched_find(&a->sched, reason, size) : 0;

    if (error || !a->options.wait_stack)
        return error;
    a->options.sched = &a->sched;
    tt_kernel_waits_load(&a->waits);
    tt_off_cpu_start();
    return 0;
}

int tt_attach_open(struct tt_attach **out, const struct tt_perf_options *o,
                   const struct tt_attach_filter *filter, char *reason, size_t size)
{
    struct tt_attach *a = mmap(NULL, sizeof *a, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int error;

    *out = NULL;
    if (a == MAP_FAILED) {
        (void)snprintf(reason, size, "no memory");
        return -TT_ERR_MEMORY;
    }
    a->pid = o->is_machine ? (uint32_t)getpid() : (uint32_t)o->pid[0];
    a->filter = *filter;
    find_kernel(a);
    a->options = *o;
    for (uint32_t i = 0; i < o->counters; i++)
        a->metric[1 + i] = tt_metric_get(o->counter[i].name, o->counter[i].unit);
    load_program(a);
    error = begin_waits(a, reason, size);
    if (!error)
        error = tt_perf_open(&a->events, &a->options, reason, size);
    if (error) {
        tt_attach_close(a);
        return error;
    }
    if (!a->program.refused && !tt_perf_copy_frames(a->events))
        a->program.refused = no_copies;
    *out = a;
    return 0;
}

static void get_all_processes(struct tt_attach *a)
{
    DIR *d = opendir("/proc");
    const struct dirent *e;
    long pid;

    while (d && (e = readdir(d)))
        if ((pid = strtol(e->d_name, NULL, 10)) > 0)
            (void)get_process(a, (uint32_t)pid);
    if (d)
        closedir(d);
}

/* In the named processes, so that the first sample has frames. */
static void find_pythons(struct tt_attach *a)
{
    for (size_t i = 0; i < a->options.pids; i++) {
        struct process *p = get_process(a, (uint32_t)a->options.pid[i]);
        if (p)
            find_modules(a, p);
    }
}

/* They may have mapped something before the events began. */
static void read_regions_again(struct tt_attach *a)
{
    for (size_t i = 0; i < a->options.pids; i++) {
        struct process *p = get_process(a, (uint32_t)a->options.pid[i]);
        if (!p)
            continue;
        forget_modules(p);
        tt_regions_fini(&p->regions);
        (void)tt_regions_read(&p->regions, (pid_t)p->pid);
    }
}

/* For a running process the system reports only new events; it may have ended when its
 * first sample is read. */
void tt_attach_start(struct tt_attach *a)
{
    if (!a->options.is_machine)
        find_pythons(a);
    tt_perf_start(a->events);
    a->since = tt_clock_monotonic();
    a->idle_before = tt_perf_idle(a->events);
    if (a->options.is_machine)
        get_all_processes(a);
    else
        read_regions_again(a);
}

unsigned tt_attach_skip(struct tt_attach *a, uint64_t before)
{
    a->from = UINT64_MAX;
    return tt_attach_step(a, before);
}

void tt_attach_begin(struct tt_attach *a, uint64_t from)
{
    struct tt_header *h = tt_recording->header;

    TT_ASSERT(h->clock == TT_CLOCK_MONOTONIC && !a->charged);
    a->from = a->since = from;
    a->idle_before = tt_perf_idle(a->events);
    h->start_time += from - h->start_ticks;
    h->start_ticks = from;
}

void tt_attach_note_end(uint64_t until) { tt_recording->header->end_ticks = until; }

static void end_strands(struct tt_attach *a)
{
    if (a->options.is_machine && a->since)
        take_rest(a);
    for (size_t i = 0; i < BUCKETS; i++)
        while (a->task[i])
            drop_task(a, a->task[i]->tid);
    end_strand(a->shared);
    a->shared = NULL;
}

void tt_attach_stop(struct tt_attach *a, uint64_t until)
{
    const uint64_t now = tt_clock_monotonic();

    a->until = until < now ? until : now;
    tt_perf_stop(a->events);
    read_events(a, until);
    end_strands(a);
    for (size_t i = 0; i < BUCKETS; i++)
        while (a->process[i])
            drop_process(a, a->process[i]->pid);
}

void tt_attach_close(struct tt_attach *a)
{
    if (!a)
        return;
    tt_perf_close(a->events);
    tt_frame_program_unload(&a->program);
    tt_kernel_waits_free(&a->waits);
    tt_page_cache_free(a->pages);
    for (uint32_t i = 0; i < a->unseens; i++)
        free(a->unseen[i]);
    munmap(a, sizeof *a);
}

struct telling {
    void (*each)(void *arg, const char *program);
    void *arg;
};

static void tell_denied(void *arg, pid_t pid)
{
    const struct telling *t = arg;
    char path[64], name[TT_NAME_SIZE] = "";

    (void)snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
    read_name(name, path);
    if (*name)
        t->each(t->arg, name);
}

void tt_attach_unseen(const struct tt_attach *a,
                      void (*each)(void *arg, const char *program), void *arg)
{
    struct telling t = {each, arg};

    tt_perf_denied(a->events, tell_denied, &t);
    for (uint32_t i = 0; i < a->unseens; i++)
        each(arg, a->unseen[i]);
}

int tt_attach_has_kernel(const struct tt_attach *a, char *reason, size_t size)
{
    const int has = tt_perf_have_kernel(a->events);

    if (!has)
        tt_perf_why_no_kernel(reason, size);
    return has;
}

void tt_attach_describe(const struct tt_attach *a, const char *program, const char *why)
{
    struct tt_header *h = tt_recording->header;

    h->pid = a->pid;
    h->recorder = (uint64_t)getpid();
    h->processors = a->options.is_machine ? tt_perf_processors(a->events) : 0;
    memset(h->program, 0, sizeof h->program);
    (void)snprintf(h->program, sizeof h->program, "%s", program);
    (void)snprintf(h->source, sizeof h->source, "perf events of cpu-clock%s, %s: %s",
                   a->options.sched ? " and the scheduler" : "",
                   a->options.side == TT_PERF_KERNEL ? "the kernel alone"
                   : tt_perf_have_kernel(a->events)  ? "user and kernel"
                                                     : "no time in the kernel",
                   why);
}
