/* SPDX-License-Identifier: MIT */
/* groups.c - groups of strands: by process, program, cgroup, container, unit, user.
 *
 *      strand 1 of nginx    root ── main ── read           root ─┬─ nginx ── main ── read
 *      strand 2 of gcc      root ── main ── parse                └─ gcc ── main ── parse
 *
 * The view of strands has a row for each group.  In every other view and export, paths
 * begin with the group, so that a flame graph, a tree or folded stacks show all groups
 * side by side.  A container's id and a unit's name are parts of the cgroup's path. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "add-profile.h"
#include "builder.h"
#include "filter.h"
#include "finish.h"
#include "groups.h"
#include "label.h"
#include "query.h"
#include "sorted.h"

const char *const tt_group_words[] = {"process", "program", "cgroup", "container",
                                      "unit",    "user",    NULL};

int tt_group_find(const char *word)
{
    for (int i = 0; i < TT_GROUPS; i++)
        if (strcmp(word, tt_group_words[i]) == 0)
            return i;
    return -1;
}

/* ── What a strand is one of ──────────────────────────────────────────────────────── */

static size_t hex_digits(const char *text, size_t size)
{
    size_t n = 0;

    while (n < size && strchr("0123456789abcdef", text[n]))
        n++;
    return n;
}

/* Finds a container in a part of a path such as "docker-ID.scope": an id of 64 digits, of
 * which twelve are usually shown, or the name that lxc and systemd-nspawn give it. */
static size_t container_in(const char *part, size_t size, const char **name)
{
    enum { WHOLE = 64, BRIEF = 12 };
    static const char *const before[] = {"lxc.payload.", "machine-"};

    for (size_t i = 0; i + WHOLE <= size; i++)
        if (hex_digits(part + i, size - i) == WHOLE) {
            *name = part + i;
            return BRIEF;
        }
    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        size_t length = strlen(before[i]);
        if (size > length && strncmp(part, before[i], length) == 0) {
            *name = part + length;
            size -= length;
            return size > 6 && strncmp(part + length + size - 6, ".scope", 6) == 0
                       ? size - 6
                       : size;
        }
    }
    return 0;
}

static size_t unit_in(const char *part, size_t size, const char **name)
{
    static const char *const ends[] = {".service", ".scope", ".socket", ".mount"};

    *name = part;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t length = strlen(ends[i]);
        if (size > length && strncmp(part + size - length, ends[i], length) == 0)
            return size;
    }
    return 0;
}

/* Returns the innermost part of a path that names one. */
static const char *part_of(const char *path, size_t size, char to[TT_GROUP_SIZE],
                           size_t (*find)(const char *, size_t, const char **),
                           const char *none)
{
    const char *name;
    size_t found, start;

    for (size_t end = size; end > 0; end = start ? start - 1 : 0) {
        for (start = end; start > 0 && path[start - 1] != '/';)
            start--;
        found = find(path + start, end - start, &name);
        if (found) {
            (void)snprintf(to, TT_GROUP_SIZE, "%.*s", (int)found, name);
            return to;
        }
    }
    return none;
}

const char *tt_group_of(const struct tt_profile *p, uint32_t strand, enum tt_group group,
                        char to[TT_GROUP_SIZE])
{
    const struct tt_strand_row *s = &p->strand[strand];
    const char *labels = tt_profile_string(p, s->labels),
               *process = tt_profile_string(p, s->process), *value;
    size_t size = 0;

    if (group == TT_GROUP_PROGRAM || (group == TT_GROUP_PROCESS && !s->pid))
        return process;
    if (group == TT_GROUP_PROCESS) {
        (void)snprintf(to, TT_GROUP_SIZE, "%s %llu", process, (unsigned long long)s->pid);
        return to;
    }
    value = tt_label_find(labels, group == TT_GROUP_USER ? "user" : "cgroup", &size);
    if (!value)
        return *labels || s->pid ? "[not known]" : process;
    if (group == TT_GROUP_CONTAINER)
        return part_of(value, size, to, container_in, "[no container]");
    if (group == TT_GROUP_UNIT)
        return part_of(value, size, to, unit_in, "[no unit]");
    (void)snprintf(to, TT_GROUP_SIZE, "%.*s", (int)size, value);
    return to;
}

/* ── Groups ───────────────────────────────────────────────────────────────────────── */

struct named {
    char *name; /* owned */
    uint32_t strand;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;

    return strcmp(x->name, y->name) ?: TT_ORDER(x->strand, y->strand);
}

/* NULL: no memory. */
static struct named *names_new(const struct tt_profile *p, enum tt_group group)
{
    struct named *n = calloc(p->strands + 1u, sizeof *n);
    char text[TT_GROUP_SIZE];

    for (uint32_t s = 0; n && s < p->strands; s++) {
        n[s].strand = s;
        n[s].name = strdup(tt_group_of(p, s, group, text));
        if (n[s].name)
            continue;
        while (s--)
            free(n[s].name);
        free(n);
        return NULL;
    }
    if (n)
        qsort(n, p->strands, sizeof *n, by_name);
    return n;
}

uint32_t *tt_groups_of(const struct tt_profile *p, enum tt_group group,
                       const struct tt_memory *m, uint32_t **first, uint32_t *groups)
{
    struct named *n = names_new(p, group);
    uint32_t *of = n ? tt_memory_get(m, p->strands * sizeof *of) : NULL;

    *groups = 0;
    *first = of ? tt_memory_get(m, p->strands * sizeof **first) : NULL;
    for (uint32_t i = 0; *first && i < p->strands; i++) {
        if (!i || strcmp(n[i].name, n[i - 1].name) != 0)
            (*first)[(*groups)++] = n[i].strand;
        of[n[i].strand] = *groups - 1;
    }
    for (uint32_t i = 0; n && i < p->strands; i++)
        free(n[i].name);
    free(n);
    if (*first)
        return of;
    tt_memory_put(m, of);
    return NULL;
}

/* ── Paths ────────────────────────────────────────────────────────────────────────── */

struct grouping {
    const struct tt_profile *p;
    struct tt_builder *b;
    enum tt_group group;
    uint32_t *of, *first, groups;
    uint32_t *block, *context; /* the builder's, of the profile's */
    unsigned char *chosen;     /* of each strand: is it of this group? */
    unsigned char *used;       /* of each context: has a strand of it figures there? */
};

static void use_row(struct grouping *g, uint64_t row)
{
    const struct tt_profile *p = g->p;
    const uint64_t n = p->contexts, arcs = n + p->arcs,
                   elsewhere = arcs + 2 * (uint64_t)p->blocks;

    if (row < n) {
        g->used[row] = 1;
    } else if (row < arcs) {
        g->used[p->arc[row - n].from] = 1;
        g->used[p->arc[row - n].to] = 1;
    } else if (row >= elsewhere) {
        g->used[(row - elsewhere) % n] = 1;
    }
}

static void find_used(struct grouping *g)
{
    const struct tt_profile *p = g->p;

    memset(g->used, !p->entries, p->contexts);
    for (size_t i = 0; i < p->entries; i++)
        if (g->chosen[p->entry[i].strand])
            use_row(g, p->entry[i].row);
}

static uint32_t group_context(struct grouping *g, uint32_t group)
{
    char text[TT_GROUP_SIZE];
    struct tt_block_info info = {.kind = TT_KIND_BLOCK, .module = "", .file = ""};

    info.name = tt_group_of(g->p, g->first[group], g->group, text);
    return tt_builder_context(g->b, TT_BUILDER_ROOT, tt_builder_block(g->b, &info));
}

/* Finds the contexts that have figures, or lead to one that has, in preorder. */
static int place_contexts(struct grouping *g, uint32_t group)
{
    const struct tt_profile *p = g->p;
    struct tt_walk w;
    int error = tt_walk_init(&w, p, 0);

    for (uint32_t c = 0; c < p->contexts; c++)
        g->context[c] = TT_NONE;
    while (!error && tt_walk_next(&w)) {
        for (uint32_t d = 0; g->used[w.context] && d <= w.depth; d++) {
            uint32_t c = w.path[d];
            if (g->context[c] == TT_NONE)
                g->context[c] = d ? tt_builder_context(g->b, g->context[w.path[d - 1]],
                                                       g->block[tt_block_of(p, c)])
                                  : group_context(g, group);
        }
    }
    tt_walk_fini(&w);
    return error;
}

static int add_group(struct grouping *g, uint32_t group)
{
    const struct tt_parts parts = {
        .context = g->context, .strand = g->chosen, .facts_are_there = group > 0};
    int error;

    for (uint32_t s = 0; s < g->p->strands; s++)
        g->chosen[s] = g->of[s] == group;
    find_used(g);
    error = place_contexts(g, group);
    return error ?: tt_builder_filtered(g->b, g->p, &parts);
}

static int build(struct grouping *g, const struct tt_memory *m, struct tt_filtered *o)
{
    int error = 0;

    for (uint32_t i = 1; i < g->p->blocks; i++)
        g->block[i] = tt_builder_block_of(g->b, g->p, i);
    for (uint32_t i = 0; !error && i < g->groups; i++)
        error = add_group(g, i);
    error = error ?: tt_builder_finish(g->b, &o->image, &o->size);
    error = error ?: tt_profile_open(&o->own, o->image, o->size, m);
    return error;
}

int tt_groups_apply(const struct tt_profile *p, struct tt_query *q, enum tt_group group,
                    struct tt_filtered *o)
{
    const struct tt_memory *m = q->memory;
    struct grouping g = {.p = p, .group = group};
    int error = -TT_ERR_MEMORY;

    *o = (struct tt_filtered){.profile = p};
    if (!p->strands)
        return 0;
    if (p->strands > 1 && !p->entries)
        return tt_query_wrong(q, "by=%s: the profile has no figures of each strand",
                              tt_group_words[group]);
    g.of = tt_groups_of(p, group, m, &g.first, &g.groups);
    g.b = tt_builder_new(m);
    g.block = tt_memory_get(m, p->blocks * sizeof *g.block);
    g.context = tt_memory_get(m, p->contexts * sizeof *g.context);
    g.chosen = tt_memory_get(m, p->strands);
    g.used = tt_memory_get(m, p->contexts);
    if (g.of && g.b && g.block && g.context && g.chosen && g.used)
        error = build(&g, m, o);
    tt_memory_put(m, g.used);
    tt_memory_put(m, g.chosen);
    tt_memory_put(m, g.context);
    tt_memory_put(m, g.block);
    tt_memory_put(m, g.first);
    tt_memory_put(m, g.of);
    tt_builder_free(g.b);
    return error;
}
