/* SPDX-License-Identifier: MIT */
/* worker.c - a process that reads foreign binaries, so that a crash does not end the
 * command.
 *
 *      parent                    worker (forked: it knows all questions)
 *      answer 17  ◄──── pipe ◄── answer 17, 18, 19, …
 *
 * The worker does not wait for its parent: it runs ahead as far as the pipe has room.  If
 * it dies, the module that it was reading gets no names, and another worker continues
 * after it. */
#include "worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "utf8.h"

enum {
    MOST_SPOTS = 256,
    MOST_BYTES = 1 << 20, /* of an answer's texts */
    MOST_TEXTS = 3 * MOST_SPOTS + 2,
    CPU_SECONDS = 300,
    BUFFER = 1 << 16
};

struct tt_worker {
    struct tt_symbols *symbols; /* borrowed */
    tt_question_function *next;
    void *arg;
    pid_t pid;           /* 0: none */
    int in;              /* of answers; -1: none */
    char buffer[BUFFER]; /* of these, what was read and not yet taken */
    size_t first, end;
    uint32_t at;       /* the number of the next answer in it */
    char *module, *id; /* owned; of what has killed one; NULL: nothing has */
    struct tt_spot spot[MOST_SPOTS];
    char text[MOST_BYTES]; /* of the answer */
    size_t length;
};

/* ── The worker ───────────────────────────────────────────────────────────────────── */

/* A name that is too long is cut, not left out. */
static void write_text(FILE *f, const char *text, size_t *room)
{
    size_t length = strlen(text ? text : "");
    uint32_t size;

    if (length > *room)
        length = *room;
    size = (uint32_t)length;
    *room -= length;
    (void)fwrite(&size, sizeof size, 1, f);
    (void)fwrite(text ? text : "", 1, length, f);
}

static void write_answer(FILE *f, const struct tt_spots *s)
{
    uint32_t count = s->count < MOST_SPOTS ? (uint32_t)s->count : MOST_SPOTS;
    size_t room = MOST_BYTES - MOST_TEXTS;

    (void)fwrite(&count, sizeof count, 1, f);
    (void)fwrite(&s->start, sizeof s->start, 1, f);
    write_text(f, s->module, &room);
    write_text(f, s->reason, &room);
    for (uint32_t i = 0; i < count; i++) {
        const struct tt_spot *x = &s->spot[i];
        const uint64_t number[] = {x->line, x->column, x->start, x->at_line,
                                   x->at_column};
        write_text(f, x->function, &room);
        write_text(f, x->file, &room);
        write_text(f, x->at_file, &room);
        (void)fwrite(number, sizeof number, 1, f);
    }
}

/* The address sanitizer's own memory is far above any limit. */
static void limit_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
    struct rlimit data;
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

    if (getrlimit(RLIMIT_DATA, &data) == 0 && pages > 0 && size > 0) {
        rlim_t half = (rlim_t)pages / 2 * (rlim_t)size;
        if (half < data.rlim_cur)
            data.rlim_cur = half;
        (void)setrlimit(RLIMIT_DATA, &data);
    }
#endif
}

/* Disables core dumps; dies with its parent. */
static void limit(void)
{
    struct rlimit none = {0}, cpu = {CPU_SECONDS, CPU_SECONDS};

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)setrlimit(RLIMIT_CPU, &cpu);
    limit_memory();
}

/* The worker must not run the parent's signal handlers, such as the one that restores the
 * terminal, least of all when it crashes. */
static void forget_handlers(void)
{
    struct sigaction action;

    for (int i = 1; i < NSIG; i++)
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            (void)signal(i, SIG_DFL);
}

static int is_same_file(const struct tt_question *a, const struct tt_question *b)
{
    return b->module && strcmp(a->module, b->module) == 0 && strcmp(a->id, b->id) == 0;
}

static void work(struct tt_worker *w, uint32_t from, int fd)
{
    FILE *out = fdopen(fd, "w");
    FILE *silence = freopen("/dev/null", "w", stderr); /* of assertions that fail */
    struct tt_question q, before = {0};

    (void)silence;
    forget_handlers();
    limit();
    for (uint32_t i = from; out && w->next(w->arg, i, &q); i++) {
        struct tt_spots s;
        if (!is_same_file(&q, &before) && fflush(out) != 0)
            break; /* should this one kill us, all others have been answered */
        before = q;
        if (q.whole)
            tt_symbols_function(w->symbols, q.module, q.id, q.address, &s);
        else
            tt_symbols_find(w->symbols, q.module, q.id, q.address, &s);
        write_answer(out, &s);
    }
    _exit(!out || fflush(out) != 0);
}

/* ── The parent ───────────────────────────────────────────────────────────────────── */

static void stop(struct tt_worker *w)
{
    if (w->in >= 0)
        close(w->in);
    if (w->pid > 0) {
        (void)kill(w->pid, SIGKILL);
        while (waitpid(w->pid, NULL, 0) < 0)
            if (errno != EINTR)
                break;
    }
    w->in = -1;
    w->pid = 0;
    w->first = w->end = 0;
}

/* Returns 0, or -1: there is none. */
static int start(struct tt_worker *w, uint32_t from)
{
    int fd[2];

    if (pipe2(fd, O_CLOEXEC) != 0)
        return -1;
    w->pid = fork();
    if (w->pid == 0) {
        close(fd[0]);
        work(w, from, fd[1]);
    }
    close(fd[1]);
    w->in = fd[0];
    w->at = from;
    if (w->pid > 0)
        return 0;
    stop(w);
    return -1;
}

static int fill_buffer(struct tt_worker *w)
{
    ssize_t n;

    do
        n = read(w->in, w->buffer, sizeof w->buffer);
    while (n < 0 && errno == EINTR);
    w->first = 0;
    w->end = n > 0 ? (size_t)n : 0;
    return n > 0 ? 0 : -1;
}

static int read_exactly(struct tt_worker *w, void *to, size_t size)
{
    size_t have = 0, part;

    for (; have < size; have += part) {
        if (w->first == w->end && fill_buffer(w) != 0)
            return -1;
        part = size - have < w->end - w->first ? size - have : w->end - w->first;
        memcpy((char *)to + have, w->buffer + w->first, part);
        w->first += part;
    }
    return 0;
}

/* Replaces bytes that are not UTF-8, and control characters, by question marks. */
static void clean(char *text, size_t size)
{
    for (size_t at = 0, length; at < size; at += length) {
        uint32_t c = 0;
        length = tt_utf8(text + at, &c);
        if (!length || c < ' ' || (c >= 0x7f && c < 0xa0)) {
            text[at] = '?';
            length = 1;
        }
    }
}

/* Returns NULL if it has died. */
static const char *read_text(struct tt_worker *w)
{
    char *text = w->text + w->length;
    uint32_t size;

    if (read_exactly(w, &size, sizeof size) != 0 || size >= MOST_BYTES - w->length ||
        read_exactly(w, text, size) != 0)
        return NULL;
    text[size] = 0;
    clean(text, size);
    w->length += size + 1;
    return text;
}

static int read_spot(struct tt_worker *w, struct tt_spot *s)
{
    uint64_t number[5];

    s->function = read_text(w);
    s->file = s->function ? read_text(w) : NULL;
    s->at_file = s->file ? read_text(w) : NULL;
    if (!s->at_file || read_exactly(w, number, sizeof number) != 0)
        return -1;
    s->line = (uint32_t)number[0];
    s->column = (uint32_t)number[1];
    s->start = number[2];
    s->at_line = (uint32_t)number[3];
    s->at_column = (uint32_t)number[4];
    return 0;
}

static int read_answer(struct tt_worker *w, struct tt_spots *spots)
{
    uint32_t count;

    w->length = 0;
    *spots = (struct tt_spots){.spot = w->spot};
    if (read_exactly(w, &count, sizeof count) != 0 || count > MOST_SPOTS ||
        read_exactly(w, &spots->start, sizeof spots->start) != 0 ||
        !(spots->module = read_text(w)) || !(spots->reason = read_text(w)))
        return -1;
    for (uint32_t i = 0; i < count; i++)
        if (read_spot(w, &w->spot[i]) != 0)
            return -1;
    if (!*spots->module)
        spots->module = NULL;
    spots->count = count;
    w->at++;
    return 0;
}

static int is_given_up(const struct tt_worker *w, const struct tt_question *q)
{
    const struct tt_question bad = {.module = w->module, .id = w->id};

    return bad.id && is_same_file(q, &bad);
}

static void give_up(struct tt_worker *w, const struct tt_question *q)
{
    stop(w);
    free(w->module);
    free(w->id);
    w->module = strdup(q->module);
    w->id = strdup(q->id);
}

/* Does the worker write something within that time?  Its end is something, too. */
static int await_answer(const struct tt_worker *w, int ms)
{
    struct pollfd p = {.fd = w->in, .events = POLLIN};
    int ready = 1;

    if (w->first == w->end && ms >= 0)
        while ((ready = poll(&p, 1, ms)) < 0 && errno == EINTR)
            ;
    return ready != 0;
}

int tt_worker_try(struct tt_worker *w, uint32_t number, int ms, struct tt_spots *spots)
{
    struct tt_question q;

    *spots = (struct tt_spots){.reason = "reading it failed"};
    if (!w->next(w->arg, number, &q) || is_given_up(w, &q))
        return 1;
    if (w->in >= 0 && w->at != number)
        stop(w);
    if (w->in < 0 && start(w, number) != 0) {
        spots->reason = "there is no process to read it";
        return 1;
    }
    if (!await_answer(w, ms))
        return 0;
    if (read_answer(w, spots) != 0) {
        give_up(w, &q);
        *spots = (struct tt_spots){.reason = "reading it failed"};
    }
    return 1;
}

void tt_worker_ask(struct tt_worker *w, uint32_t number, struct tt_spots *spots)
{
    (void)tt_worker_try(w, number, -1, spots);
}

/* ── Life ─────────────────────────────────────────────────────────────────────────── */

struct tt_worker *tt_worker_new(struct tt_symbols *symbols, tt_question_function *next,
                                void *arg)
{
    struct tt_worker *w = calloc(1, sizeof *w);

    if (!w)
        return NULL;
    w->in = -1;
    w->symbols = symbols;
    w->next = next;
    w->arg = arg;
    return w;
}

void tt_worker_free(struct tt_worker *w)
{
    if (!w)
        return;
    stop(w);
    free(w->module);
    free(w->id);
    free(w);
}
