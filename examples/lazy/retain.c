/* SPDX-License-Identifier: MIT */
/* retain.c - who retains what.
 *
 * What the machine holds is retained by [machine], what a definition knows by that definition,
 * and what a thunk knows by the function that made it: until it is forced.
 *
 *      [machine] → cell → thunk of f ┆→ frame → cell       the first cell and the thunk are
 *                                                          [machine]'s, the others f's
 *
 * From each retainer on, all is met that can be reached without passing another one. */
#include <stdio.h>
#include <stdlib.h>

#include "lazy.h"

int retainers_profiled;
const char *heap_file;

static struct list thunks, to_walk;
static FILE *out;

static tt_block machine_block(void) { return tt_block_get("[machine]", "", 0, 0); }

/* The function of a definition, whether its value is known or not. */
static const struct function *defined(const struct object *o)
{
    return o->at[o->type == CLOSURE ? 1 : 2].pointer;
}

static tt_block retainer_of(const struct object *o)
{
    tt_block block;

    if (o->generation == STATIC)
        return defined(o)->block;
    block = tt_context_block(o->at[2].context);
    return block ? block : machine_block();
}

/* ── The walk ─────────────────────────────────────────────────────────────────────── */

static void meet(struct object *o, tt_block block)
{
    tt_retainers set = tt_retainers_with(o->retained, block);

    if (o->generation == STATIC || set == o->retained)
        return;
    if (o->type != THUNK)
        list_add(&to_walk, o);
    else if (!o->retained)
        list_add(&thunks, o);
    o->retained = set;
}

static void walk_from(const struct object *o, tt_block block)
{
    for (unsigned i = 0; i < o->references; i++)
        meet(o->at[i].reference, block);
    while (to_walk.count) {
        o = to_walk.at[--to_walk.count];
        for (unsigned i = 0; i < o->references; i++)
            meet(o->at[i].reference, block);
    }
}

static void walk_from_root(struct object **reference)
{
    struct object *o = *reference;
    struct object holder = {.references = 0};

    if (o == &nil)
        return;
    if (o->generation == STATIC) {
        walk_from(o, retainer_of(o));
    } else {
        meet(o, machine_block());
        walk_from(&holder, machine_block());
    }
}

static void tell(struct object *o)
{
    if (o->retained)
        tt_retained(o->retained, o->fields * sizeof *o->at);
}

/* ── The heap as text, for who wants to know it better ────────────────────────────── */

static void write_block(tt_block block)
{
    const char *name = program_block_name(block);

    fprintf(out, " %u:%s", block, name ? name : "[machine]");
}

static void write_object(struct object *o)
{
    fprintf(out, "object %p %zu", (void *)o, o->fields * sizeof *o->at);
    if (o->type == THUNK)
        write_block(retainer_of(o));
    else
        fputs(" -", out);
    for (unsigned i = 0; i < o->references; i++)
        fprintf(out, " %p", (void *)o->at[i].reference);
    fputc('\n', out);
}

static void write_root(struct object **reference)
{
    const struct object *o = *reference;

    if (o == &nil)
        return;
    fputs("root", out);
    write_block(o->generation == STATIC ? retainer_of(o) : machine_block());
    if (o->generation != STATIC)
        fprintf(out, " %p", (const void *)o);
    for (unsigned i = 0; o->generation == STATIC && i < o->references; i++)
        fprintf(out, " %p", (void *)o->at[i].reference);
    fputc('\n', out);
}

static void write_heap(void)
{
    out = fopen(heap_file, "w");
    if (!out) {
        perror(heap_file);
        exit(2);
    }
    machine_roots(write_root);
    heap_each(write_object);
    fclose(out);
}

void retainers_tell(void)
{
    tt_profiler_begin();
    machine_roots(walk_from_root);
    for (size_t i = 0; i < thunks.count; i++)
        walk_from(thunks.at[i], retainer_of(thunks.at[i]));
    thunks.count = 0;
    heap_each(tell);
    if (heap_file)
        write_heap();
    tt_profiler_end();
}
