/* SPDX-License-Identifier: MIT */
/* chrome.c - the trace events of Chrome, and of other tools that write them: reading.
 *
 * A trace has no order: an event with a duration is written when it is over, threads are
 * mixed, and clocks tie.  So the begins and ends are gathered first, a few words each, in
 * memory that may be in a file.  Then each thread's events, in order, drive the tree of a
 * live run. */
#include "chrome.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chrome-samples.h"
#include "chrome-write.h"
#include "events.h"
#include "frames.h"
#include "json-reader.h"
#include "pairs.h"
#include "sorted.h"
#include "v8.h"

struct mark {        /* a begin or an end */
    int64_t at, end; /* ns; end: of an event with a duration, else NEVER */
    uint32_t thread, block;
    uint64_t order; /* in the file */
};
#define NEVER INT64_MAX
#define TAKEN INT64_MIN /* see tie_ends */

struct thread {
    uint64_t pid, id;
    char *name, *process; /* or NULL */
};

struct event { /* the event that is being read */
    char phase;
    int has_time, has_length, has_name;
    int64_t at, length;
    uint64_t pid, thread, id;
    uint32_t block;
    char kind[16]; /* of metadata, and of samples */
    char *text;    /* owned: what metadata say */
};

struct chrome {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_json json;
    struct tt_events *events;
    struct tt_frames names;
    struct tt_pairs threads;
    struct tt_vector thread;          /* struct thread */
    struct tt_pairs ids;              /* of processes and threads that are no numbers */
    struct tt_vector id_text;         /* char *, their texts */
    struct tt_vector begin, end;      /* struct mark */
    struct tt_v8 v8;                  /* samples */
    uint64_t order, unbalanced, lost; /* lost: without a time */
    uint64_t time;                    /* of all threads */
    uint64_t before; /* 0: how long the first event is before that, in ns */
    int is_sums;     /* events have no order in time */
    int is_too_much; /* it is more than 64 bits hold */
};

/* ── Events as they are read ──────────────────────────────────────────────────────── */

uint64_t tt_chrome_id(const char *text)
{
    uint64_t id = 14695981039346656037u; /* FNV-1a */
    int64_t n;

    if (tt_decimal(text, 0, &n))
        return (uint64_t)n;
    for (const char *c = text; *c; c++)
        id = (id ^ (unsigned char)*c) * 1099511628211u;
    return id;
}

uint64_t tt_chrome_read_id(struct tt_json *j)
{
    const enum tt_json_kind kind = tt_json_value(j);

    if (kind != TT_JSON_NUMBER && kind != TT_JSON_STRING)
        tt_json_wrong(j, "the id before this is no number");
    return tt_chrome_id(j->text);
}

/* Microseconds, with a point, in quotes or not; null is none. */
static void read_time(struct tt_json *j, int64_t *ns, int *is_there)
{
    const enum tt_json_kind kind = tt_json_value(j);

    *is_there = kind != TT_JSON_NULL;
    if (!*is_there)
        return;
    if (kind != TT_JSON_NUMBER && kind != TT_JSON_STRING)
        tt_json_wrong(j, "the time before this is no number");
    if (!tt_decimal(j->text, 3, ns) || *ns >= NEVER / 4 || *ns <= -(NEVER / 4))
        tt_json_wrong(j, "the time before this is no number, or too large");
}

static void read_name(struct chrome *c, struct event *e)
{
    int is_new;
    uint32_t *block;

    if (!tt_json_string(&c->json))
        return;
    (void)snprintf(e->kind, sizeof e->kind, "%s", c->json.text);
    e->has_name = 1;
    block = tt_frames_find(&c->names, c->json.text, c->json.length, &is_new);
    if (!block) {
        tt_source_no_memory(c->s);
        return;
    }
    if (is_new)
        *block = tt_events_block(c->events,
                                 &(struct tt_block_info){.name = c->json.text});
    e->block = *block;
}

/* "data": {"cpuProfile": {"nodes": …, "samples": …}, "timeDeltas": …} */
static void read_data(struct chrome *c)
{
    struct tt_json *j = &c->json;

    if (!tt_json_open_if(j, TT_JSON_OBJECT))
        return;
    while (tt_json_key(j))
        if (tt_json_is(j, "cpuProfile"))
            for (tt_json_object(j); tt_json_key(j);)
                tt_v8_member(&c->v8, j);
        else if (tt_json_is(j, "timeDeltas"))
            tt_v8_member(&c->v8, j);
        else
            tt_json_skip(j);
}

/* Reads arguments: only samples, and the name that metadata give, are used. */
static void read_arguments(struct chrome *c, struct event *e)
{
    struct tt_json *j = &c->json;

    if (!tt_json_open_if(j, TT_JSON_OBJECT))
        return;
    while (tt_json_key(j))
        if (tt_json_is(j, "data"))
            read_data(c);
        else if (tt_json_is(j, "name"))
            tt_json_copy_if(j, &e->text);
        else
            tt_json_skip(j);
}

/* An id that is a text is a name, too. */
static uint64_t read_id(struct chrome *c)
{
    const uint64_t id = tt_chrome_read_id(&c->json);
    const char *text = c->json.text;
    const size_t size = strlen(text) + 1;
    char **kept;
    int64_t n;

    if (tt_decimal(text, 0, &n))
        return id;
    kept = tt_pairs_item(&c->ids, &c->id_text, id, 0, NULL);
    if (kept && !*kept && (*kept = tt_memory_get(c->s->memory, size)) != NULL)
        memcpy(*kept, text, size);
    if (!kept || !*kept)
        tt_source_no_memory(c->s);
    return id;
}

/* NULL: it is a number. */
static const char *text_of(const struct chrome *c, uint64_t id)
{
    const uint32_t *number = tt_pairs_find(&c->ids, id, 0);

    return number ? ((char **)c->id_text.item)[*number - 1] : NULL;
}

static void read_field(struct chrome *c, struct event *e)
{
    struct tt_json *j = &c->json;

    if (tt_json_is(j, "name"))
        read_name(c, e);
    else if (tt_json_is(j, "ph"))
        e->phase = tt_json_string(j) ? j->text[0] : '\0';
    else if (tt_json_is(j, "ts"))
        read_time(j, &e->at, &e->has_time);
    else if (tt_json_is(j, "dur") || (tt_json_is(j, "tdur") && !e->has_length))
        read_time(j, &e->length, &e->has_length);
    else if (tt_json_is(j, "pid"))
        e->pid = read_id(c);
    else if (tt_json_is(j, "tid"))
        e->thread = read_id(c);
    else if (tt_json_is(j, "id") && e->phase != 'O')
        e->id = tt_json_plain(j) ? tt_chrome_id(j->text) : e->id;
    else if (tt_json_is(j, "args"))
        read_arguments(c, e);
    else
        tt_json_skip(j);
}

static struct thread *find_thread(struct chrome *c, uint64_t pid, uint64_t id,
                                  uint32_t *number)
{
    int is_new;
    struct thread *t = tt_pairs_item(&c->threads, &c->thread, pid, id, &is_new);

    if (!t)
        return NULL;
    if (is_new)
        *t = (struct thread){.pid = pid, .id = id};
    *number = (uint32_t)(t - (struct thread *)c->thread.item);
    return t;
}

static void note(struct chrome *c, struct tt_vector *to, const struct event *e)
{
    struct mark *m;
    uint32_t thread;

    if (!e->has_time) {
        c->lost++;
        return;
    }
    if (!find_thread(c, e->pid, e->thread, &thread) || !(m = tt_vector_add(to, 1))) {
        tt_source_no_memory(c->s);
        return;
    }
    if (e->at < 0 && (uint64_t)-e->at > c->before)
        c->before = (uint64_t)-e->at;
    *m = (struct mark){.at = e->at,
                       .end = NEVER,
                       .thread = thread,
                       .block = e->has_name ? e->block : TT_NONE,
                       .order = c->order++};
    if (e->phase == 'X')
        m->end = e->at + (e->length > 0 ? e->length : 0);
}

static void take_metadata(struct chrome *c, struct event *e)
{
    uint32_t number;
    struct thread *t = find_thread(c, e->pid, e->thread, &number);
    char **to, *text = e->text;

    if (!t) {
        tt_source_no_memory(c->s);
        return;
    }
    to = strcmp(e->kind, "thread_name") == 0    ? &t->name
         : strcmp(e->kind, "process_name") == 0 ? &t->process
                                                : NULL;
    if (!to || !text)
        return;
    e->text = *to;
    *to = text;
}

static void take_samples(struct chrome *c, const struct event *e)
{
    uint32_t number;

    if (strcmp(e->kind, "Profile") != 0 && strcmp(e->kind, "ProfileChunk") != 0)
        return;
    if (find_thread(c, e->pid, e->thread, &number))
        tt_v8_piece(&c->v8, e->pid, e->id, e->thread);
    else
        tt_source_no_memory(c->s);
}

static void take_event(struct chrome *c, struct event *e)
{
    if (!e->has_name && (e->phase == 'B' || e->phase == 'X'))
        return; /* nothing to call it by */
    if (e->phase == 'B' || e->phase == 'X')
        note(c, &c->begin, e);
    else if (e->phase == 'E')
        note(c, &c->end, e);
    else if (e->phase == 'M')
        take_metadata(c, e);
    else if (e->phase == 'P')
        take_samples(c, e);
    /* counters, flows, instants: nothing that takes time */
}

static void read_event(struct chrome *c)
{
    struct event e = {0};

    for (tt_json_object(&c->json); tt_json_key(&c->json);)
        read_field(c, &e);
    if (!tt_json_failed(&c->json))
        take_event(c, &e);
    tt_v8_forget(&c->v8);
    tt_memory_put(c->s->memory, e.text);
}

/* Reads the array of events.  Its end is missing if the program was killed. */
static void read_events(struct chrome *c, int may_be_open)
{
    while (tt_json_item(&c->json)) {
        read_event(c);
        may_be_open &= !tt_json_failed(&c->json);
    }
    if (may_be_open && c->json.is_cut_off)
        tt_source_forgive(c->s);
}

/* Our own sums follow one another: they have no order in time. */
static void read_other(struct chrome *c)
{
    struct tt_json *j = &c->json;

    if (!tt_json_open_if(j, TT_JSON_OBJECT))
        return;
    while (tt_json_key(j)) {
        c->is_sums |= tt_json_is(j, "tallytree");
        tt_json_skip(j);
    }
}

static void read_file(struct chrome *c)
{
    struct tt_json *j = &c->json;
    const enum tt_json_kind kind = tt_json_value(j);

    if (kind == TT_JSON_ARRAY)
        read_events(c, 1);
    else if (kind != TT_JSON_OBJECT)
        tt_json_wrong(j, "this is no list of events");
    while (kind == TT_JSON_OBJECT && tt_json_key(j))
        if (tt_json_is(j, "samples"))
            tt_chrome_samples(&c->v8, j);
        else if (tt_json_is(j, "stackFrames"))
            tt_chrome_frames(&c->v8, j);
        else if (tt_json_is(j, "otherData"))
            read_other(c);
        else if (!tt_json_is(j, "traceEvents"))
            tt_json_skip(j);
        else if (tt_json_array(j))
            read_events(c, 0);
    tt_json_end(j);
}

/* ── In order, through the tree ───────────────────────────────────────────────────── */

/* If two events begin at the same time, the longer one is the outer one. */
static int compare_begins(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;

    const int ends = x->end != NEVER && y->end != NEVER;

    return TT_ORDER(x->thread, y->thread) ?: TT_ORDER(x->at, y->at)
           ?: (ends ? TT_ORDER(y->end, x->end) : 0) ?: TT_ORDER(x->order, y->order);
}

static int compare_ends(const void *a, const void *b)
{
    const struct mark *x = a, *y = b;

    return TT_ORDER(x->thread, y->thread) ?: TT_ORDER(x->at, y->at)
           ?: TT_ORDER(x->order, y->order);
}

struct open {
    uint32_t block;
    int64_t end; /* when it, or an event around it, is over by its duration */
    int ends;    /* it has a duration; no end event closes it */
};

struct of_block {
    uint64_t open;     /* how many open activations an end can close */
    struct mark *next; /* its first end that is left at the time in question */
};

struct play {
    struct chrome *c;
    struct mark *begin, *end;   /* the next begin and end, */
    struct mark *begins, *ends; /* and the end of each array, for this thread */
    struct mark *tie, *ties;    /* the ends of one time, of which some are left */
    struct tt_vector open;      /* struct open */
    struct tt_vector of_block;  /* struct of_block; first of none, then of each block */
    int64_t last;
};

static struct of_block *of(const struct play *p, uint32_t block)
{
    return (struct of_block *)p->of_block.item + (uint32_t)(block + 1); /* TT_NONE: 0 */
}

static struct open *top(const struct play *p)
{
    return p->open.count ? (struct open *)p->open.item + p->open.count - 1 : NULL;
}

/* Advances the time; time with nothing open is not charged. */
static void advance(struct play *p, int64_t to)
{
    uint64_t passed = p->open.count && to > p->last ? (uint64_t)(to - p->last) : 0;

    p->c->is_too_much |= __builtin_add_overflow(p->c->time, passed, &p->c->time);
    if (passed)
        tt_events_pass(p->c->events, (uint64_t)p->last + p->c->before,
                       (uint64_t)to + p->c->before, !p->c->is_sums);
    p->last = to;
}

static void count_open(struct play *p, const struct open *o, uint64_t change)
{
    if (o->ends)
        return;
    of(p, o->block)->open += change;
    of(p, TT_NONE)->open += change;
}

static void leave(struct play *p)
{
    tt_events_pop(p->c->events);
    count_open(p, top(p), UINT64_MAX);
    p->open.count--;
}

static int enter(struct play *p)
{
    const struct mark *m = p->begin++;
    const struct open *outer = top(p);
    int64_t end = outer && outer->end < m->end ? outer->end : m->end;
    struct open o;

    advance(p, m->at);
    p->c->unbalanced += m->end != NEVER && end < m->end; /* it sticks out of another */
    o = (struct open){m->block, end, m->end != NEVER};
    if (tt_source_append(p->c->s, &p->open, &o) != 0)
        return -TT_ERR_MEMORY;
    count_open(p, &o, 1);
    return tt_events_push(p->c->events, m->block);
}

static int closes(const struct mark *m, const struct open *o)
{
    return o && !o->ends && (m->block == TT_NONE || m->block == o->block);
}

/* ── Ends of one time, of each block in a row ── */

static int is_tie(const struct play *p, const struct mark *m)
{
    return m >= p->tie && m < p->ties;
}

/* Links the ends of one time.  `end` of an end is the number of the next one of the same
 * block, NEVER or TAKEN. */
static void tie_ends(struct play *p)
{
    p->tie = p->ties = p->end;
    while (p->ties < p->ends && p->ties->at == p->tie->at)
        p->ties++;
    for (struct mark *m = p->ties; m-- > p->tie;) {
        struct of_block *row = of(p, m->block);
        m->end = is_tie(p, row->next) ? row->next - p->tie : NEVER;
        row->next = m;
    }
}

static void take(struct play *p, struct mark *m)
{
    of(p, m->block)->next = m->end == NEVER ? NULL : p->tie + m->end;
    m->end = TAKEN;
    while (p->end < p->ties && p->end->end == TAKEN)
        p->end++;
}

/* Returns the next end.  Of several at the same time, one of the innermost open block
 * comes first. */
static struct mark *find_end(const struct play *p)
{
    struct mark *of_any = of(p, TT_NONE)->next, *m;

    if (!top(p) || top(p)->ends)
        return p->end;
    m = of(p, top(p)->block)->next;
    if (is_tie(p, of_any) && (!is_tie(p, m) || of_any < m))
        m = of_any;
    return is_tie(p, m) ? m : p->end;
}

/* Closes the activation that the end belongs to, with all activations in it; ignores an
 * end without a begin. */
static void end_one(struct play *p)
{
    const struct open *open = p->open.item;
    size_t at = p->open.count;
    struct mark *m;

    if (!is_tie(p, p->end))
        tie_ends(p);
    m = find_end(p);
    advance(p, m->at);
    if (!of(p, m->block)->open)
        at = 0;
    while (at && !closes(m, &open[at - 1]))
        at--;
    if (!at || at < p->open.count)
        p->c->unbalanced++;
    while (at && p->open.count >= at)
        leave(p);
    take(p, m);
}

/* The innermost activation ends no later than the one around it.  Does it have an end event
 * at exactly that time? */
static int is_ended_too(struct play *p)
{
    if (p->end == p->ends || top(p)->ends || p->end->at != top(p)->end)
        return 0;
    if (!is_tie(p, p->end))
        tie_ends(p);
    return closes(find_end(p), top(p));
}

static int step(struct play *p)
{
    int64_t begin = p->begin < p->begins ? p->begin->at : NEVER,
            end = p->end < p->ends ? p->end->at : NEVER,
            over = top(p) ? top(p)->end : NEVER;

    if (over <= begin && over <= end && over != NEVER) {
        if (is_ended_too(p)) {
            end_one(p);
            return 0;
        }
        advance(p, over);
        leave(p);
        return 0;
    }
    if (end == NEVER || begin < end)
        return enter(p);
    if (begin == end && !closes(p->end, top(p)) && p->begin->order < p->end->order)
        return enter(p);
    end_one(p);
    return 0;
}

static struct mark *end_of_thread(struct mark *m, const struct mark *end, uint32_t thread)
{
    while (m < end && m->thread == thread)
        m++;
    return m;
}

static int play_thread(struct play *p, uint32_t number)
{
    const struct thread *t = (const struct thread *)p->c->thread.item + number;
    const char *pid = text_of(p->c, t->pid), *id = text_of(p->c, t->id);
    uint32_t strand = tt_events_strand(p->c->events, t->process ? t->process : pid,
                                       t->name ? t->name : id, t->pid, t->id);
    int error = 0;

    if (strand == TT_NONE)
        return tt_source_no_memory(p->c->s);
    tt_events_hide_numbers(p->c->events, strand, pid != NULL, id != NULL);
    tt_events_switch(p->c->events, strand);
    p->last = p->begin < p->begins ? p->begin->at : 0;
    while (!error && (p->begin < p->begins || p->end < p->ends ||
                      (p->open.count && top(p)->end != NEVER)))
        error = step(p);
    p->c->unbalanced += p->open.count; /* they are never closed: they last until the end
                                          of the trace */
    while (p->open.count)
        leave(p);
    return error;
}

static void name_processes(struct chrome *c)
{
    struct thread *t = c->thread.item;
    struct tt_pairs by_pid;
    int is_new;

    tt_pairs_init(&by_pid, NULL);
    for (uint32_t i = 0; i < c->thread.count; i++) {
        uint32_t *named = t[i].process ? tt_pairs_get(&by_pid, t[i].pid, 0, &is_new)
                                       : NULL;
        if (named)
            *named = i;
    }
    for (uint32_t i = 0; i < c->thread.count; i++) {
        const uint32_t *named = tt_pairs_find(&by_pid, t[i].pid, 0);
        if (!t[i].process && named)
            t[i].process = t[*named].process;
    }
    tt_pairs_fini(&by_pid);
}

/* Blocks are numbered from 0 on. */
static int make_rows(struct play *p)
{
    const struct tt_vector *marks[] = {&p->c->begin, &p->c->end};
    uint32_t most = 0;

    for (int i = 0; i < 2; i++) {
        const struct mark *m = marks[i]->item;
        for (size_t k = 0; k < marks[i]->count; k++)
            most = m[k].block != TT_NONE && m[k].block > most ? m[k].block : most;
    }
    return tt_vector_add(&p->of_block, (size_t)most + 2) ? 0
                                                         : tt_source_no_memory(p->c->s);
}

static int play_all(struct chrome *c)
{
    struct play p = {.c = c, .begin = c->begin.item, .end = c->end.item};
    const struct mark *begins = c->begin.count ? p.begin + c->begin.count : p.begin;
    const struct mark *ends = c->end.count ? p.end + c->end.count : p.end;
    int error;

    tt_vector_sort(&c->begin, compare_begins);
    tt_vector_sort(&c->end, compare_ends);
    name_processes(c);
    tt_vector_init(&p.open, c->s->memory, sizeof(struct open));
    tt_vector_init(&p.of_block, c->s->memory, sizeof(struct of_block));
    error = make_rows(&p);
    for (uint32_t i = 0; !error && i < c->thread.count; i++) {
        p.begins = end_of_thread(p.begin, begins, i);
        p.ends = end_of_thread(p.end, ends, i);
        if (p.begin < p.begins)
            error = play_thread(&p, i);
        else
            c->unbalanced += (uint64_t)(p.ends - p.end);
        p.begin = p.begins;
        p.end = p.ends;
    }
    tt_vector_fini(&p.of_block);
    tt_vector_fini(&p.open);
    return error;
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

/* Is there an event with a duration, or a begin that an end of another kind may close? */
static int has_time(const struct chrome *c)
{
    const struct mark *m = c->begin.item;
    size_t i = 0;

    while (i < c->begin.count && m[i].end == m[i].at)
        i++;
    return i < c->begin.count;
}

static void name_thread(void *arg, uint64_t pid, uint64_t id, const char **process,
                        const char **name)
{
    const struct chrome *c = arg;
    const uint32_t *number = tt_pairs_find(&c->threads, pid, id);
    const struct thread *t = c->thread.item;

    *process = number && t[*number - 1].process ? t[*number - 1].process
                                                : text_of(c, pid);
    *name = number && t[*number - 1].name ? t[*number - 1].name : text_of(c, id);
}

static int read_all(struct chrome *c)
{
    const struct tt_v8_names names = {name_thread, c};
    int error;

    read_file(c);
    if (!c->begin.count && !c->v8.samples)
        tt_json_wrong(&c->json, "there are no events that begin, and no samples");
    error = tt_source_failed(c->s) ? tt_source_failed(c->s) : play_all(c);
    if (!error && c->is_too_much)
        error = tt_source_fail(c->s, TT_TOO_MUCH);
    error = error ?: tt_events_finish(c->events);
    if (!error && c->v8.samples)
        error = tt_v8_finish(&c->v8, &names, !has_time(c));
    if (!error && c->unbalanced)
        tt_builder_fact(c->b, "unbalanced", TT_FACT_SUM, c->unbalanced, "");
    if (!error && c->lost)
        tt_builder_fact(c->b, "lost.events", TT_FACT_SUM, c->lost, "");
    return error;
}

static int read_chrome(struct tt_source *s, struct tt_builder *b)
{
    struct chrome c = {.s = s, .b = b, .events = tt_events_open(s, b)};
    int error;

    if (!c.events)
        return -TT_ERR_FORMAT;
    tt_json_init(&c.json, s);
    tt_frames_init(&c.names, b, s->memory);
    tt_v8_init(&c.v8, s, b);
    tt_pairs_init(&c.threads, s->memory);
    tt_pairs_init(&c.ids, s->memory);
    tt_vector_init(&c.id_text, s->memory, sizeof(char *));
    tt_vector_init(&c.thread, s->memory, sizeof(struct thread));
    tt_vector_init(&c.begin, s->memory, sizeof(struct mark));
    tt_vector_init(&c.end, s->memory, sizeof(struct mark));
    error = read_all(&c);
    tt_events_close(c.events);
    return error;
}

static enum tt_match detect(const char *head, size_t size)
{
    const char first = tt_head_first(head, size);

    return tt_match_if((first == '{' && tt_head_has(head, size, "\"traceEvents\"")) ||
                       (first == '[' && tt_head_has(head, size, "\"ph\"")));
}

const struct tt_format tt_format_chrome = {
    .name = "chrome",
    .about = "trace events, as Chrome and Perfetto read them",
    .flags = TT_FORMAT_PATHS | TT_FORMAT_BY_TIME,
    .detect = detect,
    .read = read_chrome,
    .write = tt_chrome_write,
};
