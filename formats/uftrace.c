/* SPDX-License-Identifier: MIT */
/* uftrace.c - the folder that uftrace records into: reading.
 *
 *      info                the command               task.txt        sessions and tasks
 *      sid-SESSION.map     which file is mapped where    FILE.sym        symbols in it
 *      TID.dat             a task's events: 8 bytes of time, 8 of kind, depth and address
 *
 * The source is `info`; the others are beside it.  The events of one task after the other
 * drive the tree of a live run, in 16 bytes of memory.  A session is the program of a
 * process from its start, or from an exec. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "events.h"
#include "formats.h"
#include "frames.h"
#include "maps.h"
#include "naming.h"
#include "pairs.h"
#include "sorted.h"

enum { ENTRY, EXIT, LOST, EVENT, MAGIC = 5, HEAD = 40, ESTIMATE_RETURN = 1 << 11 };

struct symbol {
    uint64_t address;
    size_t name; /* in the text */
};

struct file {   /* one with symbols */
    char *path; /* owned */
    struct tt_vector symbol, text;
};

struct session {
    uint64_t time, pid;
    struct tt_maps maps;
    struct tt_pairs blocks; /* of addresses: + 1 */
    char *program;          /* owned */
};

struct task {
    uint64_t tid, pid;
};

struct uftrace {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_events *events;
    struct tt_vector session, task, file; /* struct session *, task, file *; owned */
    struct tt_pairs parents;              /* of processes, + 1 */
    uint64_t features, lost, unbalanced;
    uint64_t time; /* of all tasks */
};

/* Passes an error of another file on to `info`. */
static void pass_on(struct uftrace *u, const struct tt_source *in, int error)
{
    if (error < 0 && !u->s->failed && in->failed) {
        memcpy(u->s->error, in->error, sizeof in->error);
        u->s->failed = in->failed;
    } else if (error < 0) {
        (void)tt_source_no_memory(u->s);
    }
}

/* ── Symbols ──────────────────────────────────────────────────────────────────────── */

/* "0000000000001136 [0010] T main" */
static int take_symbol(struct file *f, const char *line)
{
    char *end, *size;
    uint64_t address = strtoull(line, &end, 16);
    size_t name;

    if (end == line || *end != ' ')
        return 0;
    end += strspn(end, " ");
    if (strcspn(end, " ") > 1) { /* its size */
        (void)strtoull(end, &size, 16);
        end = size + strspn(size, " ");
    }
    if (!*end || end[1] != ' ' || !end[2])
        return 0;
    name = tt_vector_text(&f->text, end + 2, strlen(end + 2));
    return name == TT_NO_PLACE
               ? -TT_ERR_MEMORY
               : tt_vector_push(&f->symbol, &(struct symbol){address, name});
}

static int by_address(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;

    return TT_ORDER(x->address, y->address);
}

static int read_symbols(struct uftrace *u, struct file *f)
{
    const char *slash = strrchr(f->path, '/');
    struct tt_source *in;
    char name[300];
    size_t length;
    char *line;
    int error = 0;

    (void)snprintf(name, sizeof name, "%.250s.sym", slash ? slash + 1 : f->path);
    in = tt_source_beside(u->s, name);
    if (!in)
        return 0; /* only addresses are known, then */
    while (!error && (error = tt_source_line(in, &line, &length)) > 0)
        error = *line == '#' ? 0 : take_symbol(f, line);
    pass_on(u, in, error);
    tt_source_close(in);
    tt_vector_sort(&f->symbol, by_address);
    return error;
}

static struct file *find_file(struct uftrace *u, const char *path)
{
    struct file **all = u->file.item, *f;

    for (size_t i = 0; i < u->file.count; i++)
        if (strcmp(all[i]->path, path) == 0)
            return all[i];
    f = tt_memory_get(u->s->memory, sizeof *f);
    if (f)
        f->path = tt_memory_text(u->s->memory, path, strlen(path));
    all = f && f->path ? tt_vector_add(&u->file, 1) : NULL;
    if (!all) {
        (void)tt_source_no_memory(u->s);
        return NULL;
    }
    tt_vector_init(&f->symbol, u->s->memory, sizeof(struct symbol));
    tt_vector_init(&f->text, u->s->memory, 1);
    *all = f;
    return read_symbols(u, f) ? NULL : f;
}

static const char *symbol_at(const struct file *f, uint64_t offset)
{
    const struct symbol *s = f->symbol.item;
    size_t up_to = tt_count_up_to(s, sizeof *s, f->symbol.count, offset);

    return up_to ? (const char *)f->text.item + s[up_to - 1].name : NULL;
}

/* The runtime's block of an address; TT_NONE: an error, noted. */
static uint32_t block_of(struct uftrace *u, struct session *s, uint64_t address)
{
    int is_new;
    uint32_t *at = tt_pairs_get(&s->blocks, address, 0, &is_new), block;
    struct tt_block_info info = {.kind = TT_KIND_FUNCTION};
    uint64_t offset;
    struct file *f;
    char name[24], *readable = NULL;

    if (!at) {
        (void)tt_source_no_memory(u->s);
        return TT_NONE;
    }
    if (!is_new)
        return *at - 1;
    info.module = tt_maps_file(&s->maps, address, &offset);
    if (info.module) {
        if (!(f = find_file(u, info.module)))
            return TT_NONE;
        info.name = symbol_at(f, offset);
        if (info.name && u->s->reading->demangle)
            readable = u->s->reading->demangle(info.name);
        if (readable)
            info.name = readable;
    }
    if (!info.name) {
        (void)snprintf(name, sizeof name, "0x%llx", (unsigned long long)address);
        info.name = name;
    }
    block = tt_events_block(u->events, &info);
    free(readable);
    *at = block + 1;
    return block;
}

/* ── Sessions and tasks ───────────────────────────────────────────────────────────── */

/* Returns the text after "KEY=" in a line; NULL: it is missing. */
static const char *value_of(const char *line, const char *key)
{
    const char *at = strstr(line, key);

    return at ? at + strlen(key) : NULL;
}

static uint64_t number_of(const char *line, const char *key)
{
    const char *at = value_of(line, key);

    return at ? strtoull(at, NULL, 10) : 0;
}

/* "38064.047409910" */
static uint64_t time_of(const char *line)
{
    const char *at = value_of(line, "timestamp=");
    char *end;
    uint64_t seconds = at ? strtoull(at, &end, 10) : 0;

    return at && *end == '.' && seconds < 1u << 30
               ? seconds * 1000000000 + strtoull(end + 1, NULL, 10)
               : 0;
}

static int read_maps(struct uftrace *u, struct session *s, const char *sid)
{
    char name[64], *line, *id;
    struct tt_source *in;
    size_t length;
    int error = 0;

    (void)snprintf(name, sizeof name, "sid-%.*s.map",
                   (int)strspn(sid, "0123456789abcdef") & 31, sid);
    in = tt_source_beside(u->s, name);
    if (!in)
        return tt_source_fail_at(u->s, 0, "'%s' cannot be read beside it", name);
    while (!error && (error = tt_source_line(in, &line, &length)) > 0) {
        id = strstr(line, " build-id:");
        if (id)
            *id = '\0';
        error = tt_maps_line(&s->maps, line);
        error = error < 0 ? error : 0;
    }
    pass_on(u, in, error);
    tt_source_close(in);
    tt_maps_sort(&s->maps);
    return error;
}

static int take_session(struct uftrace *u, const char *line)
{
    const char *sid = value_of(line, "sid="), *program = value_of(line, "exename=\"");
    struct session *s = tt_memory_get(u->s->memory, sizeof *s);
    struct session **to = s ? tt_vector_add(&u->session, 1) : NULL;

    if (!to)
        return tt_source_no_memory(u->s);
    *to = s;
    s->time = time_of(line);
    s->pid = number_of(line, " pid=");
    program = program ? program : "";
    s->program = tt_memory_text(u->s->memory, program, strcspn(program, "\""));
    tt_maps_init(&s->maps, u->s->memory);
    tt_pairs_init(&s->blocks, u->s->memory);
    return read_maps(u, s, sid ? sid : "");
}

static int take_task_line(struct uftrace *u, const char *line)
{
    int is_task = strncmp(line, "TASK ", 5) == 0, is_new;
    uint64_t pid = number_of(line, " pid="), parent = number_of(line, "ppid=");
    struct task t;
    uint32_t *at;

    if (strncmp(line, "SESS ", 5) == 0)
        return take_session(u, line);
    if (!is_task && strncmp(line, "FORK ", 5) != 0)
        return 0;
    if (!is_task) {
        at = tt_pairs_get(&u->parents, pid, 0, &is_new);
        if (!at)
            return tt_source_no_memory(u->s);
        *at = (uint32_t)parent + 1;
    }
    t = (struct task){is_task ? number_of(line, " tid=") : pid, pid};
    return tt_source_append(u->s, &u->task, &t);
}

static int read_tasks(struct uftrace *u)
{
    struct tt_source *in = tt_source_beside(u->s, "task.txt");
    size_t length;
    char *line;
    int error = 0;

    if (!in)
        return tt_source_fail_at(u->s, 0, "'task.txt' cannot be read beside it");
    while (!error && (error = tt_source_line(in, &line, &length)) > 0)
        error = take_task_line(u, line);
    pass_on(u, in, error);
    tt_source_close(in);
    return error;
}

/* Returns the session of a process at a time: its own, or one from before it was
 * forked. */
static struct session *session_of(struct uftrace *u, uint64_t pid, uint64_t time)
{
    struct session **s = u->session.item, *found = NULL;
    const uint32_t *parent;

    for (size_t hops = 0; !found && hops <= u->task.count; hops++) {
        for (size_t i = 0; i < u->session.count; i++)
            if (s[i]->pid == pid && (!found || s[i]->time <= time))
                found = s[i];
        parent = tt_pairs_find(&u->parents, pid, 0);
        if (!parent)
            break;
        pid = *parent - 1;
    }
    return found ? found : u->session.count ? s[0] : NULL;
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

struct playing {
    struct uftrace *u;
    const struct task *task;
    struct session *session;
    uint64_t last, depth;
    uint64_t
        base; /* the depth of the outermost one: a child continues where it was forked */
};

/* Pops down to the depth of the event. */
static void leave(struct playing *p, uint64_t depth)
{
    for (; p->depth > depth; p->depth--)
        tt_events_pop(p->u->events);
}

static int take_event(struct playing *p, struct tt_source *in, uint64_t time,
                      uint64_t what)
{
    struct uftrace *u = p->u;
    uint64_t depth = what >> 6 & 1023, address = what >> 16;
    uint32_t block;

    if ((what >> 3 & 7) != MAGIC)
        return tt_source_fail(in, "this is no event");
    if (what & 4)
        return tt_source_fail(in, "arguments were recorded: these cannot be read");
    if (p->last && time < p->last)
        return tt_source_fail(in, "the time goes back");
    if (p->last && p->depth) {
        if (__builtin_add_overflow(u->time, time - p->last, &u->time))
            return tt_source_fail(in, TT_TOO_MUCH);
        tt_events_pass(u->events, p->last, time, 1);
    }
    p->last = time;
    if (!p->depth)
        p->base = depth;
    depth = depth > p->base ? depth - p->base : 0;
    switch (what & 3) {
    case ENTRY:
        u->unbalanced += p->depth > depth ? p->depth - depth : 0;
        leave(p, depth);
        p->session = session_of(u, p->task->pid, time);
        block = block_of(u, p->session, address);
        p->depth++;
        return block == TT_NONE ? -TT_ERR_FORMAT : tt_events_push(u->events, block);
    case EXIT:
        u->unbalanced += p->depth && p->depth != depth + 1;
        leave(p, depth);
        return 0;
    case LOST:
        u->lost += address;
        return 0;
    default:
        return 0;
    }
}

static int play(struct uftrace *u, const struct task *t)
{
    struct playing p = {.u = u, .task = t};
    struct session *s = session_of(u, t->pid, UINT64_MAX);
    struct tt_source *in;
    uint32_t strand;
    int64_t have;
    char name[40];
    int error = 0;

    (void)snprintf(name, sizeof name, "%llu.dat", (unsigned long long)t->tid);
    in = tt_source_beside(u->s, name);
    if (!in)
        return 0; /* a task that did nothing */
    strand = tt_events_strand(u->events, s->program, "", t->pid, t->tid);
    if (strand == TT_NONE)
        error = tt_source_no_memory(u->s);
    else
        tt_events_switch(u->events, strand);
    while (!error && (have = tt_source_want(in, 16)) != 0) {
        const char *at = tt_source_at(in);
        if (have < 0)
            error = (int)have;
        else if (have < 16)
            error = tt_source_fail(in, "the file ends within an event");
        else
            error = take_event(&p, in, tt_number_at(at, 8), tt_number_at(at + 8, 8));
        if (!error)
            tt_source_skip(in, 16);
    }
    u->unbalanced += p.depth;
    leave(&p, 0);
    pass_on(u, in, error);
    tt_source_close(in);
    return error;
}

/* ── The folder ───────────────────────────────────────────────────────────────────── */

static int read_info(struct uftrace *u)
{
    int64_t have = tt_source_want(u->s, HEAD);
    const char *at = tt_source_at(u->s);
    size_t length;
    char *line;
    int error;

    if (have < HEAD)
        return have < 0 ? (int)have
                        : tt_source_fail(u->s, "the file ends within its head");
    if (at[14] != 1)
        return tt_source_fail(u->s,
                              "recordings that are not little-endian are not known");
    u->features = tt_number_at(at + 16, 8);
    if (u->features & ESTIMATE_RETURN)
        return tt_source_fail(u->s,
                              "it was recorded without returns, which cannot be read");
    tt_source_skip(u->s, HEAD);
    while ((error = tt_source_line(u->s, &line, &length)) > 0)
        if (strncmp(line, "cmdline:", 8) == 0)
            tt_builder_fact(u->b, "program", TT_FACT_EACH, 1, line + 8);
    u->s->line = 0;
    return error;
}

static int has_task_before(const struct uftrace *u, size_t i)
{
    const struct task *t = u->task.item;

    for (size_t k = 0; k < i; k++)
        if (t[k].tid == t[i].tid)
            return 1;
    return 0;
}

static int read_all(struct uftrace *u)
{
    struct tt_source *kernel;
    int error = read_info(u);

    error = error ?: read_tasks(u);
    if (!error && !u->session.count)
        error = tt_source_fail_at(u->s, 0, "'task.txt' has no session");
    for (size_t i = 0; !error && i < u->task.count; i++)
        if (!has_task_before(u, i))
            error = play(u, (struct task *)u->task.item + i);
    error = error ?: tt_events_finish(u->events);
    if (error)
        return error;
    if (u->unbalanced)
        tt_builder_fact(u->b, "unbalanced", TT_FACT_SUM, u->unbalanced, "");
    if (u->lost)
        tt_builder_fact(u->b, "lost.events", TT_FACT_SUM, u->lost, "");
    if ((kernel = tt_source_beside(u->s, "kernel-cpu0.dat")))
        tt_builder_fact(u->b, "left out", TT_FACT_EACH, 1, "functions of the kernel");
    tt_source_close(kernel);
    return 0;
}

static int read_uftrace(struct tt_source *s, struct tt_builder *b)
{
    struct uftrace u = {.s = s, .b = b, .events = tt_events_open(s, b)};
    int error;

    if (!u.events)
        return -TT_ERR_FORMAT;
    tt_vector_init(&u.session, s->memory, sizeof(struct session *));
    tt_vector_init(&u.task, s->memory, sizeof(struct task));
    tt_vector_init(&u.file, s->memory, sizeof(struct file *));
    tt_pairs_init(&u.parents, s->memory);
    error = read_all(&u);
    tt_events_close(u.events);
    return error;
}

static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if(size >= HEAD && memcmp(head, "Ftrace!", 8) == 0);
}

const struct tt_format tt_format_uftrace = {
    .name = "uftrace",
    .about = "the folder that uftrace records into",
    .detect = detect,
    .read = read_uftrace,
};
