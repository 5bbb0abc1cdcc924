/* SPDX-License-Identifier: MIT */
/* side.c - one side of a comparison.
 *
 * Figures by strand are read once, one unit at a time; only the sum, the largest and the
 * sum of squares of each row are kept. */
#include "side.h"

#include <stdlib.h>
#include <string.h>

#include "add-profile.h"
#include "builder.h"
#include "finish.h"
#include "label.h"
#include "metric-view.h"
#include "sorted.h"

/* ── Names ────────────────────────────────────────────────────────────────────────── */

/* Blocks are compared by name and file, as other properties change from build to build.  Of a
 * path the last part counts, and as many folders as tell namesakes apart on either side; if
 * they are in one file, the module counts, too. */

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* The end of a path: its last part and that many folders. */
static const char *end_of_path(const char *path, uint32_t folders)
{
    const char *end = file_of(path);

    for (; folders && end > path; folders--)
        for (end--; end > path && end[-1] != '/'; end--)
            ;
    return end;
}

struct named {
    const char *name, *path, *module; /* borrowed from a profile */
    uint32_t kind;
    uint32_t folders,
        has_modules; /* what tells blocks of this name, kind and file apart */
};

/* Names, kinds and files of a profile, in order. */
struct names {
    struct named *named; /* owned */
    size_t count;
};

static int by_name(const void *a, const void *b)
{
    const struct named *x = a, *y = b;

    return strcmp(x->name, y->name) ?: TT_ORDER(x->kind, y->kind);
}

static int by_name_and_file(const void *a, const void *b)
{
    const struct named *x = a, *y = b;

    return by_name(a, b) ?: strcmp(file_of(x->path), file_of(y->path));
}

static int by_all(const void *a, const void *b)
{
    const struct named *x = a, *y = b;

    return by_name_and_file(a, b) ?: strcmp(x->path, y->path)
           ?: strcmp(x->module, y->module);
}

enum { FOLDERS = 8, PATHS = 32 }; /* looked at, at most */

static int are_apart(const char *const path[], size_t count, uint32_t folders)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(end_of_path(path[i], folders), end_of_path(path[j], folders)) == 0)
                return 0;
    return 1;
}

/* Of `count` with one name, kind and file, in order. */
static void tell_apart(const struct named *n, size_t count, struct named *group)
{
    const char *path[PATHS];
    size_t paths = 0;

    *group = n[0];
    for (size_t i = 0; i < count; i++) {
        if (i && strcmp(n[i - 1].path, n[i].path) == 0)
            group->has_modules |= strcmp(n[i - 1].module, n[i].module) != 0;
        else if (paths < PATHS)
            path[paths++] = n[i].path;
    }
    while (group->folders < FOLDERS && !are_apart(path, paths, group->folders))
        group->folders++;
}

static int list_names(struct names *names, const struct tt_profile *p,
                      const struct tt_memory *memory)
{
    struct named *n = tt_memory_get(memory, ((size_t)p->blocks + 1) * sizeof *n);
    const size_t blocks = p->blocks ? p->blocks - 1 : 0;

    names->named = n;
    if (!n)
        return -TT_ERR_MEMORY;
    for (uint32_t i = 1; i < p->blocks; i++) {
        const struct tt_block_row *b = &p->block[i];
        n[i - 1] = (struct named){.name = tt_profile_string(p, b->name),
                                  .path = tt_profile_string(p, b->file),
                                  .module = file_of(tt_profile_string(p, b->module)),
                                  .kind = b->kind};
    }
    tt_sort(n, blocks, sizeof *n, by_all);
    for (size_t i = 0, next; i < blocks; i = next) {
        for (next = i + 1; next < blocks && by_name_and_file(&n[i], &n[next]) == 0;)
            next++;
        tell_apart(n + i, next - i, &n[names->count++]);
    }
    return 0;
}

static const struct named *find(const struct names *names, const struct named *key,
                                int (*compare)(const void *, const void *))
{
    return bsearch(key, names->named, names->count, sizeof *key, compare);
}

/* The only file that blocks of this name are in; NULL: there are several, or none. */
static const struct named *find_only(const struct names *names, const struct named *key)
{
    const struct named *n = find(names, key, by_name), *end = names->named + names->count;

    return n && (n == names->named || by_name(n - 1, n) != 0) &&
                   (n + 1 == end || by_name(n, n + 1) != 0)
               ? n
               : NULL;
}

struct renaming {
    struct names own, other; /* of this side and the other */
};

/* A block without a file has that of its only namesake on the other side: the file may not
 * have been known when it was recorded. */
static void rename_block(struct tt_block_info *b, const void *arg)
{
    const struct renaming *r = arg;
    struct named key = {
        .name = b->name, .path = b->file ? b->file : "", .kind = (uint32_t)b->kind};
    const struct named *own, *other;
    uint32_t folders;

    if (!*key.path && find_only(&r->own, &key) && (other = find_only(&r->other, &key)))
        key.path = other->path;
    own = find(&r->own, &key, by_name_and_file);
    other = find(&r->other, &key, by_name_and_file);
    folders = own ? own->folders : 0;
    if (other && other->folders > folders)
        folders = other->folders;
    b->file = end_of_path(key.path, folders);
    b->module = b->module && ((own && own->has_modules) || (other && other->has_modules))
                    ? file_of(b->module)
                    : "";
    b->line = b->column = b->length = 0;
    b->offset = 0;
}

static int rename_blocks(struct tt_side *s, const struct tt_profile *p,
                         const struct tt_profile *other)
{
    struct renaming r = {0};
    struct tt_builder *b = tt_builder_new(s->memory);
    int error = b ? 0 : -TT_ERR_MEMORY;

    error = error ?: list_names(&r.own, p, s->memory);
    error = error ?: list_names(&r.other, other, s->memory);
    error = error ?: tt_builder_renamed(b, p, rename_block, &r);
    error = error ?: tt_builder_finish(b, &s->image, &s->size);
    tt_builder_free(b);
    tt_memory_put(s->memory, r.own.named);
    tt_memory_put(s->memory, r.other.named);
    return error ?: tt_profile_open(&s->p, s->image, s->size, s->memory);
}

/* ── Runs ─────────────────────────────────────────────────────────────────────────── */

static int compare_runs(const struct tt_side_strand *x, const struct tt_side_strand *y)
{
    const size_t size = x->size < y->size ? x->size : y->size;

    return memcmp(x->run, y->run, size) ?: TT_ORDER(x->size, y->size);
}

static int by_run(const void *a, const void *b)
{
    const struct tt_side_strand *x = a, *y = b;

    return compare_runs(x, y) ?: TT_ORDER(x->number, y->number);
}

/* Strands of several merged runs have a label; any other file is one run, however many
 * processes it has. */
static int find_runs(struct tt_side *s)
{
    const struct tt_profile *p = &s->p;
    struct tt_side_strand *strand = tt_memory_get(s->memory,
                                                  (p->strands + 1) * sizeof *strand);
    size_t entry = 0;

    s->strand = strand;
    if (!strand)
        return -TT_ERR_MEMORY;
    for (uint32_t i = 0; i < p->strands; i++) {
        const char *labels = tt_profile_string(p, p->strand[i].labels), *run;
        strand[i] = (struct tt_side_strand){.run = "", .number = i, .first = entry};
        if ((run = tt_label_find(labels, TT_LABEL_RUN, &strand[i].size)) != NULL)
            strand[i].run = run;
        while (entry < p->entries && p->entry[entry].strand == i)
            entry++;
        strand[i].end = entry;
    }
    tt_sort(strand, p->strands, sizeof *strand, by_run);
    for (uint32_t i = 0; i < p->strands; i++)
        s->runs += i == 0 || compare_runs(&strand[i - 1], &strand[i]) != 0;
    if (!s->runs)
        s->runs = 1;
    return 0;
}

int tt_side_open(struct tt_side *s, const struct tt_profile *profile,
                 const struct tt_profile *other)
{
    int error = rename_blocks(s, profile, other);

    return error ?: find_runs(s);
}

static int find_outermost(struct tt_side *s)
{
    uint32_t *open = tt_memory_get(s->memory, s->p.blocks * sizeof *open);
    struct tt_walk w;
    int error = tt_walk_init(&w, &s->p, 0);

    /* open: where the subtree of a block's outermost context ends */
    while (!error && open && tt_walk_next(&w)) {
        uint32_t block = tt_block_of(&s->p, w.context);
        s->outermost[w.context] = open[block] <= w.context;
        if (s->outermost[w.context])
            open[block] = tt_end_of(&s->p, w.context);
    }
    tt_walk_fini(&w);
    tt_memory_put(s->memory, open);
    return error || !open ? -TT_ERR_MEMORY : 0;
}

/* ── Figures ──────────────────────────────────────────────────────────────────────── */

static size_t amounts(const struct tt_side *s)
{
    return 2 * ((size_t)s->p.contexts + 1) + 2 * (size_t)s->p.blocks;
}

/* In `amount`: self of contexts; elsewhere of contexts; then blocks' beside and hidden. */
static void take_entry(struct tt_side *s, const struct tt_entry *e)
{
    const struct tt_profile *p = &s->p;
    uint64_t n = p->contexts, blocks = n + p->arcs,
             wide = blocks + 2 * (uint64_t)p->blocks;

    if (e->metric != s->metric)
        return;
    if (e->row < n)
        s->amount[e->row] += e->amount;
    else if (e->row >= blocks && e->row < wide)
        s->amount[2 * (n + 1) + e->row - blocks] += e->amount;
    else if (e->row >= wide && e->row < wide + n)
        s->amount[n + 1 + e->row - wide] += e->amount;
}

static void take_columns(struct tt_side *s)
{
    const struct tt_profile *p = &s->p;
    uint64_t n = p->contexts;

    for (uint32_t c = 0; c < n; c++) {
        s->amount[c] = tt_self_of(s->m, c);
        s->amount[n + 1 + c] = tt_elsewhere_of(s->m, c);
    }
    for (uint32_t b = 0; s->m->block && b < p->blocks; b++) {
        s->amount[2 * (n + 1) + b] = s->m->block[b].beside;
        s->amount[2 * (n + 1) + p->blocks + b] = s->m->block[b].hidden;
    }
}

static void self_of_rows(struct tt_side *s)
{
    const struct tt_profile *p = &s->p;

    memset(s->row, 0, s->rows * sizeof *s->row);
    for (uint32_t c = 0; c < p->contexts; c++)
        s->row[s->by_context ? c : tt_block_of(p, c)] += s->amount[c];
    for (uint32_t b = 0; !s->by_context && b < p->blocks; b++)
        s->row[b] += s->amount[2 * ((size_t)p->contexts + 1) + b];
}

/* Computes running sums of self and elsewhere together, in place of self. */
static void total_of_rows(struct tt_side *s)
{
    const struct tt_profile *p = &s->p;
    uint64_t sum = 0, n = p->contexts;

    for (uint32_t c = 0; c <= n; c++) {
        uint64_t here = s->amount[c] + s->amount[n + 1 + c];
        s->amount[c] = sum;
        sum += here;
    }
    memset(s->row, 0, s->rows * sizeof *s->row);
    for (uint32_t c = 0; c < n; c++) {
        uint64_t total = s->amount[tt_end_of(p, c)] - s->amount[c];
        if (s->by_context)
            s->row[c] = total;
        else if (s->outermost[c])
            s->row[tt_block_of(p, c)] += total;
    }
    for (uint32_t b = 0; !s->by_context && b < p->blocks; b++)
        s->row[b] += s->amount[2 * (n + 1) + p->blocks + b];
}

static void add_unit(struct tt_side *s, struct tt_figure *f)
{
    for (uint32_t i = 0; i < s->rows; i++) {
        double x = (double)s->row[i];
        f[i].sum += s->row[i];
        if (s->row[i] > f[i].most)
            f[i].most = s->row[i];
        f[i].sample.count++;
        f[i].sample.sum += x;
        f[i].sample.square += x * x;
    }
}

static void end_unit(struct tt_side *s)
{
    self_of_rows(s);
    add_unit(s, s->self);
    total_of_rows(s);
    add_unit(s, s->total);
    if (s->amount[s->p.contexts] > s->longest)
        s->longest = s->amount[s->p.contexts];
    s->busy += s->amount[s->p.contexts] > 0;
    memset(s->amount, 0, amounts(s) * sizeof *s->amount);
}

static void add_units(struct tt_side *s)
{
    const struct tt_profile *p = &s->p;
    const struct tt_side_strand *of = s->strand;

    if (!p->entries) {
        take_columns(s);
        end_unit(s);
        return;
    }
    for (uint32_t i = 0; i < p->strands; i++) {
        for (size_t e = of[i].first; e < of[i].end; e++)
            take_entry(s, &p->entry[e]);
        if (!s->by_run || i + 1 == p->strands || compare_runs(&of[i], &of[i + 1]) != 0)
            end_unit(s);
    }
}

int tt_side_read(struct tt_side *s)
{
    const struct tt_memory *m = s->memory;
    uint32_t samples = tt_metric_find(&s->p, "samples");

    s->rows = s->by_context ? s->p.contexts : s->p.blocks;
    s->whole = tt_grand_total(&s->p, s->m);
    if ((s->m->flags & TT_METRIC_SAMPLED) && samples != TT_NONE)
        s->samples = tt_equal_samples(&s->p,
                                      tt_grand_total(&s->p, &s->p.metric[samples]));
    s->self = tt_memory_get(m, s->rows * sizeof *s->self);
    s->total = tt_memory_get(m, s->rows * sizeof *s->total);
    s->outermost = tt_memory_get(m, s->p.contexts);
    s->amount = tt_memory_get(m, amounts(s) * sizeof *s->amount);
    s->row = tt_memory_get(m, s->rows * sizeof *s->row);
    if (!s->self || !s->total || !s->outermost || !s->amount || !s->row ||
        find_outermost(s) != 0)
        return -TT_ERR_MEMORY;
    add_units(s);
    return 0;
}

void tt_side_fini(struct tt_side *s)
{
    const struct tt_memory *m = s->memory;

    tt_memory_put(m, s->row);
    tt_memory_put(m, s->amount);
    tt_memory_put(m, s->outermost);
    tt_memory_put(m, s->total);
    tt_memory_put(m, s->self);
    tt_memory_put(m, s->strand);
    tt_profile_close(&s->p);
    tt_memory_put(m, s->image);
}
