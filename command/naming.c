/* SPDX-License-Identifier: MIT */
/* naming.c - a profile with names, from one with addresses.
 *
 * What a function's block has for a line is where the function is declared, since call
 * sites would split it.  Lines, when they are wanted, are blocks of their own below it:
 * folding "kind:statement" gives back what there would be without them.  Names are looked up
 * in another process, in the order of places. */
#include "naming.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "worker.h"

enum { MOST_BLOCKS = 2 * 256, LONGEST_LINE = 256 };

struct naming {
    struct tt_builder *b;
    const struct tt_profile *p;
    struct tt_worker *worker;
    uint32_t *waiting, count; /* owned; blocks without a name, by place */
    uint32_t next;            /* of them, to be asked for */
    int lines, failed;
    struct tt_block_info chain[MOST_BLOCKS];
    char line[MOST_BLOCKS / 2][LONGEST_LINE]; /* names of statements */
};

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static int waits(enum tt_kind kind, const char *name, const char *module, uint64_t offset)
{
    char address[24];
    size_t length = strlen(base_of(module));

    if (!*module)
        return 0;
    if (kind == TT_KIND_NATIVE)
        return 1;
    (void)snprintf(address, sizeof address, "+0x%llx", (unsigned long long)offset);
    return kind == TT_KIND_FUNCTION && strncmp(name, base_of(module), length) == 0 &&
           strcmp(name + length, address) == 0;
}

static int block_waits(const struct tt_profile *p, uint32_t block)
{
    const struct tt_block_row *r = &p->block[block];

    return waits((enum tt_kind)r->kind, p->strings + r->name, p->strings + r->module,
                 r->offset);
}

int tt_is_unnamed(const struct tt_profile *p)
{
    for (uint32_t i = 1; i < p->blocks; i++)
        if (block_waits(p, i))
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
                              .whole = r->kind == TT_KIND_FUNCTION};
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

static size_t chain_of(void *arg, const struct tt_block_info *block,
                       const struct tt_block_info **chain)
{
    struct naming *n = arg;
    struct tt_spots spots;
    const char *module;
    size_t count = 0;

    if (!waits(block->kind, block->name, block->module, block->offset))
        return 0;
    tt_worker_ask(n->worker, n->next++, &spots);
    if (!spots.count)
        note(n, block->module, spots.reason);
    module = spots.module ? spots.module : block->module;
    for (size_t i = 0; i < spots.count && count + 2 <= MOST_BLOCKS; i++) {
        const struct tt_spot *s = &spots.spot[i];
        n->chain[count++] = function_of(s, module);
        if (n->lines && s->at_line && block->kind == TT_KIND_NATIVE) {
            n->chain[count] = line_of(s, module, n->line[count / 2]);
            count++;
        }
    }
    *chain = n->chain;
    return count;
}

/* In the order in which they will be asked for. */
static int list_waiting(struct naming *n)
{
    n->waiting = tt_blocks_by_place(n->p, NULL);
    for (uint32_t i = 0; n->waiting && i + 1 < n->p->blocks; i++)
        if (block_waits(n->p, n->waiting[i]))
            n->waiting[n->count++] = n->waiting[i];
    return n->waiting ? 0 : -TT_ERR_MEMORY;
}

int tt_symbolize(struct tt_builder *b, const struct tt_profile *p,
                 struct tt_symbols *symbols, int lines)
{
    struct naming *n = calloc(1, sizeof *n);
    const struct tt_naming naming = {chain_of, n};
    int error;

    if (!n)
        return -TT_ERR_MEMORY;
    n->b = b;
    n->p = p;
    n->lines = lines;
    n->worker = tt_worker_new(symbols, question, n);
    error = n->worker ? list_waiting(n) : -TT_ERR_MEMORY;
    if (!error)
        error = tt_builder_named(b, p, &naming);
    if (n->failed)
        error = -TT_ERR_MEMORY;
    tt_worker_free(n->worker);
    tt_memory_put(NULL, n->waiting, 0);
    free(n);
    return error;
}
