/* SPDX-License-Identifier: MIT */
/* events.c - a recording in memory, made from a foreign trace.
 *
 * A strand is not a thread here: switching strands exchanges the thread-local data. */
#include "events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../profile/read-recording.h"
#include "activation.h"
#include "block.h"
#include "control.h"
#include "pairs.h"
#include "picture.h"
#include "sample-log.h"
#include "strand.h"
#include "stretches.h"

struct strand {
    struct tt_strand saved; /* while it is not the current one */
    struct tt_vector open;  /* tt_mark */
    char *process, *name;   /* owned */
    uint64_t pid, thread;
};

struct tt_events {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_strand outside; /* the state of the reading thread before this began */
    struct tt_vector strand;  /* struct strand *, owned */
    struct tt_pairs known;    /* (pid, thread) to its number */
    struct tt_pairs is_long;  /* of blocks: their names' place in `text` */
    struct tt_vector text; /* char: names that a recording would cut, with a NUL each */
    struct strand *current;
    uint32_t number; /* of `current` */
};

static int start(struct tt_source *s)
{
    const struct tt_reading *r = s->reading;
    struct tt_options o;
    int error = tt_options_read(&o, "exact,clock=caller", NULL);

    if (!error && r->recursion)
        error = tt_options_recursion(&o, r->recursion);
    if (!error && r->budget)
        error = tt_options_budget(&o, r->budget);
    for (int i = 0; i < TT_KINDS; i++)
        o.mode[i] = TT_MODE_EXACT;
    return error ?: tt_start_with(&o);
}

/* ── Stretches ────────────────────────────────────────────────────────────────────── */

/* Cells of a tree will go; there is one run of events at a time. */
static struct tt_events *keeper;

struct moving {
    const struct tt_tree *tree;
    uint32_t (*to)(void *, uint32_t);
    void *arg;
};

/* Cell 0 is none: such stretches are left out. */
static uint32_t move_cell(void *arg, uint32_t cell)
{
    const struct moving *m = arg;
    const struct tt_recording *r = m->tree->recording;

    return cell && tt_page_owner(r, tt_cell_page(r, cell)) == m->tree->owner
               ? m->to(m->arg, cell)
               : cell;
}

static void move_stretches(const struct tt_tree *tree, uint32_t (*to)(void *, uint32_t),
                           void *arg)
{
    struct moving m = {tree, to, arg};

    tt_builder_move_stretches(keeper->b, move_cell, &m);
}

void tt_events_pass(struct tt_events *e, uint64_t from, uint64_t to, int is_timed)
{
    const struct tt_thread *t = tt_self.thread;

    tt_tick(to - from);
    if (!t || !is_timed)
        return; /* no thread: there was no room for this thread */
    tt_builder_stretch(e->b, tt_cell_of(&t->tree, tt_stack_placed(t, t->self->top)->node),
                       e->number, from, to);
}

/* ── The beginning ────────────────────────────────────────────────────────────────── */

struct tt_events *tt_events_open(struct tt_source *s, struct tt_builder *b)
{
    struct tt_events *e = calloc(1, sizeof *e);
    int error = e ? start(s) : -TT_ERR_MEMORY;

    if (error) {
        (void)tt_source_fail(s, "its events cannot be taken: %s", tt_error_text(error));
        free(e);
        return NULL;
    }
    e->s = s;
    e->b = b;
    keeper = e;
    tt_log_moved = move_stretches;
    e->outside = tt_self;
    tt_vector_init(&e->strand, NULL, sizeof(struct strand *));
    tt_pairs_init(&e->known, NULL);
    tt_pairs_init(&e->is_long, NULL);
    tt_vector_init(&e->text, NULL, 1);
    return e;
}

/* ── Strands ──────────────────────────────────────────────────────────────────────── */

uint32_t tt_events_strand(struct tt_events *e, const char *process, const char *name,
                          uint64_t pid, uint64_t thread)
{
    int is_new;
    uint32_t *number = tt_pairs_get(&e->known, pid, thread, &is_new);
    struct strand *s, **at;

    if (!number || !is_new)
        return number ? *number : TT_NONE;
    s = calloc(1, sizeof *s);
    at = s ? tt_vector_add(&e->strand, 1) : NULL;
    if (!at) {
        free(s);
        return TT_NONE;
    }
    *at = s;
    *number = (uint32_t)e->strand.count - 1;
    tt_vector_init(&s->open, NULL, sizeof(tt_mark));
    s->process = strdup(process ? process : "");
    s->name = strdup(name ? name : "");
    s->pid = pid;
    s->thread = thread;
    return *number;
}

void tt_events_hide_numbers(struct tt_events *e, uint32_t strand, int of_process,
                            int of_thread)
{
    struct strand *s = ((struct strand **)e->strand.item)[strand];

    if (of_process)
        s->pid = 0;
    if (of_thread)
        s->thread = 0;
}

void tt_events_switch(struct tt_events *e, uint32_t strand)
{
    struct strand *s = ((struct strand **)e->strand.item)[strand];
    char number[16];

    if (e->current == s)
        return;
    if (e->current)
        e->current->saved = tt_self;
    tt_self = s->saved;
    e->current = s;
    e->number = strand;
    if (tt_self.thread)
        return;
    (void)snprintf(number, sizeof number, "%u", strand);
    tt_thread_name(number);
}

/* ── Blocks ───────────────────────────────────────────────────────────────────────── */

/* A recording cuts names that are longer than 4000 bytes. */
enum { MOST_NAME = 4000, KEPT_NAME = 3900, MOST_TEXT = 1 << 30 };

static uint64_t hash_of(const char *text, uint64_t h)
{
    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 1099511628211u;
    return h;
}

/* Makes a block with a shortened name and a hash, which distinguish it as the long name
 * would.  The long name is kept here. */
static uint32_t make_long(struct tt_events *e, const struct tt_block_info *info)
{
    struct tt_block_info shorter = *info;
    char name[MOST_NAME], *to;
    size_t length = strlen(info->name) + 1;
    uint32_t block, *place;
    int is_new;

    (void)snprintf(name, sizeof name, "%.*s#%016llx%016llx", KEPT_NAME, info->name,
                   (unsigned long long)hash_of(info->name, 14695981039346656037u),
                   (unsigned long long)hash_of(info->name, 1));
    shorter.name = name;
    block = (uint32_t)tt_block_make(&shorter);
    place = tt_pairs_get(&e->is_long, block, 0, &is_new);
    if (!place || !is_new)
        return block;
    *place = TT_NONE;
    to = e->text.count + length < MOST_TEXT ? tt_vector_add(&e->text, length) : NULL;
    if (to) {
        *place = (uint32_t)(to - (char *)e->text.item);
        memcpy(to, info->name, length);
    }
    return block;
}

static const char *long_name(void *arg, uint32_t block)
{
    const struct tt_events *e = arg;
    const uint32_t *place = tt_pairs_find(&e->is_long, block, 0);

    return place && *place != TT_NONE ? (const char *)e->text.item + *place : NULL;
}

uint32_t tt_events_block(struct tt_events *e, const struct tt_block_info *info)
{
    return info->name && strlen(info->name) >= MOST_NAME ? make_long(e, info)
                                                         : (uint32_t)tt_block_make(info);
}

int tt_events_push(struct tt_events *e, uint32_t block)
{
    return tt_source_append(e->s, &e->current->open,
                            &(tt_mark){tt_push((tt_block)block)});
}

void tt_events_pop(struct tt_events *e)
{
    struct tt_vector *open = &e->current->open;

    if (open->count)
        tt_pop(((tt_mark *)open->item)[--open->count]);
}

/* ── The end ──────────────────────────────────────────────────────────────────────── */

/* Closes all open activations, so that their statistics are complete, and stops the
 * clock. */
static void end_strands(struct tt_events *e)
{
    for (uint32_t i = 0; i < e->strand.count; i++) {
        tt_events_switch(e, i);
        tt_unwind(0);
        (void)tt_pause();
        (void)tt_resume();
    }
    if (e->current)
        e->current->saved = tt_self;
    e->current = NULL;
    tt_self = e->outside;
}

static int add_picture(struct tt_events *e, void *image, size_t size)
{
    struct tt_trace_strand *strand = calloc(e->strand.count + 1, sizeof *strand);
    struct strand *const *from = e->strand.item;
    struct tt_trace trace = {strand, e->strand.count, long_name, e};
    struct tt_picture p;
    int error = strand ? tt_picture_read(&p, image, size, 0) : -TT_ERR_MEMORY;

    for (size_t i = 0; strand && i < e->strand.count; i++)
        strand[i] = (struct tt_trace_strand){from[i]->process, from[i]->name,
                                             from[i]->pid, from[i]->thread};
    error = error ?: tt_builder_trace(e->b, &p, &trace);
    if (strand)
        tt_picture_fini(&p);
    free(strand);
    return error;
}

int tt_events_finish(struct tt_events *e)
{
    size_t size;
    void *image;
    int error;

    end_strands(e);
    image = tt_snapshot(&size);
    if (!image)
        return tt_source_no_memory(e->s);
    error = add_picture(e, image, size);
    munmap(image, size);
    if (error)
        (void)tt_source_fail(e->s, "its events cannot be taken: %s",
                             tt_error_text(error));
    return error;
}

void tt_events_close(struct tt_events *e)
{
    struct strand **s;

    if (!e)
        return;
    end_strands(e);
    tt_log_moved = NULL;
    (void)tt_stop();
    s = e->strand.item;
    for (size_t i = 0; i < e->strand.count; i++) {
        tt_vector_fini(&s[i]->open);
        free(s[i]->process);
        free(s[i]->name);
        free(s[i]);
    }
    tt_vector_fini(&e->strand);
    tt_pairs_fini(&e->known);
    tt_pairs_fini(&e->is_long);
    tt_vector_fini(&e->text);
    free(e);
}
