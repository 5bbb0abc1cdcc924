/* SPDX-License-Identifier: MIT */
/* name-blocks.c - gives names to the addresses of a profile.
 *
 * The line of a function's block is where the function is declared, since call sites
 * would split the block.  Lines, if requested, are separate blocks below it: folding
 * "kind:statement" gives the same profile as without lines.  Names are looked up in
 * another process, in the order of places. */
#include "name-blocks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "add-profile.h"
#include "command.h"
#include "complain.h"
#include "finish.h"
#include "naming.h"
#include "progress.h"
#include "scratch.h"
#include "worker.h"

enum { MOST_BLOCKS = 2 * 256, LONGEST_LINE = 256 };

struct naming {
    struct tt_builder *b;
    const struct tt_profile *p;
    struct tt_worker *worker;           /* or */
    const struct tt_known_names *known; /* where the names are from */
    struct tt_symbols *symbols;
    uint32_t *waiting, count; /* owned; blocks without a name, by place */
    uint32_t next;            /* of them, to be asked for */
    int lines, no_inlines, failed;
    struct tt_block_info chain[MOST_BLOCKS];
    struct tt_source_line at[MOST_BLOCKS];    /* of each of these */
    char line[MOST_BLOCKS / 2][LONGEST_LINE]; /* names of statements */
};

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

int tt_is_unnamed(const struct tt_profile *p)
{
    for (uint32_t i = 1; i < p->blocks; i++)
        if (tt_block_is_nameless(p, i))
            return 1;
    return 0;
}

static int question(void *arg, uint32_t number, struct tt_question *q)
{
    const struct naming *n = arg;
    const struct tt_block_row *r;

    if (number >= n->count)
        return 0;
    r = &n->p->block[n->waiting[number]];
    *q = (struct tt_question){.module = n->p->strings + r->module,
                              .id = n->p->strings + r->file,
                              .address = r->offset,
                              .whole = r->kind == TT_KIND_FUNCTION || n->no_inlines};
    return 1;
}

static void note(struct naming *n, const char *module, const char *reason)
{
    char *text;

    if (asprintf(&text, "%s: %s", base_of(module), reason) < 0) {
        n->failed = 1;
        return;
    }
    tt_builder_fact(n->b, "unresolved", TT_FACT_EACH, 1, text);
    free(text);
}

static struct tt_block_info function_of(const struct tt_spot *s, const char *module)
{
    return (struct tt_block_info){.kind = TT_KIND_FUNCTION,
                                  .name = s->function,
                                  .module = module,
                                  .file = s->file,
                                  .line = s->line,
                                  .column = s->column,
                                  .offset = s->start};
}

static struct tt_block_info line_of(const struct tt_spot *s, const char *module,
                                    char name[LONGEST_LINE])
{
    (void)snprintf(name, LONGEST_LINE, "%s:%u", base_of(s->at_file), s->at_line);
    return (struct tt_block_info){.kind = TT_KIND_STATEMENT,
                                  .name = name,
                                  .module = module,
                                  .file = s->at_file,
                                  .line = s->at_line};
}

/* Code without a name is still one function, wherever in it the calls are made; it can be
 * named later, when the file is available. */
static struct tt_block_info nameless_of(const struct tt_block_info *block, uint64_t start,
                                        char name[LONGEST_LINE])
{
    struct tt_block_info info = *block;

    info.kind = TT_KIND_FUNCTION;
    (void)snprintf(name, LONGEST_LINE, "%s+0x%llx", base_of(block->module),
                   (unsigned long long)start);
    info.name = name;
    info.offset = start;
    return info;
}

/* 0: it is not known yet. */
static int find_name(struct naming *n, const struct tt_block_info *block,
                     struct tt_spots *spots)
{
    if (n->known)
        return tt_known_names_find(n->known, block, n->no_inlines, spots);
    tt_worker_ask(n->worker, n->next++, spots);
    tt_progress(n->next, n->count);
    return 1;
}

static size_t chain_of(void *arg, const struct tt_block_info *block,
                       const struct tt_block_info **chain)
{
    struct naming *n = arg;
    struct tt_spots spots;
    const char *module;
    size_t count = 0;

    if (!tt_is_nameless(block) || !find_name(n, block, &spots))
        return 0;
    if (!spots.count)
        note(n, block->module, spots.reason);
    if (!spots.count && spots.start && block->kind == TT_KIND_NATIVE)
        n->chain[count++] = nameless_of(block, spots.start, n->line[0]);
    n->at[0] = (struct tt_source_line){.file = ""};
    module = spots.module ? spots.module : block->module;
    for (size_t i = 0; i < spots.count && count + 2 <= MOST_BLOCKS; i++) {
        const struct tt_spot *s = &spots.spot[i];
        n->at[count] = (struct tt_source_line){s->at_file, s->at_line, s->at_column};
        n->chain[count++] = function_of(s, module);
        if (n->lines && s->at_line && block->kind == TT_KIND_NATIVE) {
            n->chain[count] = line_of(s, module, n->line[count / 2]);
            count++;
        }
    }
    *chain = n->chain;
    return count;
}

static const struct tt_source_line *lines_of(void *arg)
{
    return ((const struct naming *)arg)->at;
}

static const char *file_of(void *arg, const struct tt_block_info *block)
{
    const struct naming *n = arg;

    return strcmp(block->module, "[jit]") == 0 ? tt_symbols_jit(n->symbols, block->file)
                                               : block->file;
}

/* In the order in which they will be asked for. */
static int list_waiting(struct naming *n)
{
    n->waiting = tt_blocks_by_place(n->p, NULL);
    for (uint32_t i = 0; n->waiting && i + 1 < n->p->blocks; i++)
        if (tt_block_is_nameless(n->p, n->waiting[i]))
            n->waiting[n->count++] = n->waiting[i];
    return n->waiting ? 0 : -TT_ERR_MEMORY;
}

/* Prepares to ask. */
static int begin_asking(struct naming *n, const struct tt_names_wanted *wanted)
{
    n->known = wanted->known;
    if (n->known)
        return tt_known_names_ask(wanted->known, n->p, &wanted->options, n->no_inlines);
    n->worker = tt_worker_new(n->symbols, question, n);
    return n->worker ? list_waiting(n) : -TT_ERR_MEMORY;
}

/* Adds all of a profile, with names. */
static int add_named(struct tt_builder *b, const struct tt_profile *p,
                     struct tt_symbols *symbols, const struct tt_names_wanted *wanted)
{
    struct naming *n = calloc(1, sizeof *n);
    const struct tt_naming naming = {chain_of, n, lines_of, file_of};
    int error;

    if (!n)
        return -TT_ERR_MEMORY;
    n->b = b;
    n->p = p;
    n->lines = wanted->lines;
    n->no_inlines = wanted->no_inlines;
    n->symbols = symbols;
    error = begin_asking(n, wanted);
    tt_progress(0, n->count);
    error = error ?: tt_builder_named(b, p, &naming);
    if (n->failed)
        error = -TT_ERR_MEMORY;
    tt_progress(1, 1);
    tt_worker_free(n->worker);
    tt_memory_put(NULL, n->waiting);
    free(n);
    return error;
}

/* ── Images ───────────────────────────────────────────────────────────────────────── */

void tt_names_ask(struct tt_symbols_options *o, const struct tt_profile *p)
{
    uint64_t started = tt_fact_number(p, "started");

    o->started = started;
    if (started)
        o->recorded = started + tt_fact_number(p, "lasted");
    for (uint32_t i = 0; i < p->strands; i++) {
        if (i && p->strand[i].pid != o->pid) {
            o->pid = 0; /* of several processes */
            return;
        }
        o->pid = p->strand[i].pid;
    }
}

int tt_symbolize_image(struct tt_names_wanted *wanted, const struct tt_profile *p,
                       char *const unseen[], void **image, size_t *size)
{
    struct tt_builder *b = tt_builder_new(&tt_scratch);
    struct tt_symbols *symbols;
    int error = -TT_ERR_MEMORY;

    *image = NULL;
    *size = 0;
    tt_names_ask(&wanted->options, p);
    symbols = tt_symbols_new(&wanted->options);
    if (b && symbols)
        error = add_named(b, p, symbols, wanted);
    for (; !error && unseen && *unseen; unseen++)
        tt_builder_fact(b, "unseen", TT_FACT_EACH, 1, *unseen);
    if (!error && wanted->until)
        tt_builder_fact(b, "until", TT_FACT_MAX, wanted->until, "");
    if (!error && wanted->gap)
        tt_builder_fact(b, "gap", TT_FACT_SUM, wanted->gap, "");
    error = error ?: tt_builder_finish(b, image, size);
    tt_symbols_free(symbols);
    tt_builder_free(b);
    return error;
}

/* ── What is wanted ───────────────────────────────────────────────────────────────── */

int tt_names_add(struct tt_names_wanted *n, const char *folder)
{
    const char **more = reallocarray(n->folder, n->options.folders + 1, sizeof *more);

    if (!more) {
        tt_complain("%s", tt_error_text(-TT_ERR_MEMORY));
        return -TT_ERR_MEMORY;
    }
    more[n->options.folders++] = folder;
    n->folder = more;
    n->options.folder = more;
    return 0;
}

int tt_names_folder(struct tt_names_wanted *n, const char *folder)
{
    struct stat s;
    int there = stat(folder, &s) == 0;

    if (there && S_ISDIR(s.st_mode))
        return tt_names_add(n, folder);
    tt_complain("%s: %s", folder, strerror(there ? ENOTDIR : errno));
    return -TT_ERR_FILE;
}

void tt_names_fini(struct tt_names_wanted *n) { free(n->folder); }
