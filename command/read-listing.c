/* SPDX-License-Identifier: MIT */
/* read-listing.c - code and source text of recorded programs, from the files that ran.
 *
 * The last function's code and the last file's text are kept: views ask for line after
 * line. */
#include "read-listing.h"

#include <stdlib.h>
#include <string.h>

#include "disassemble.h"

enum { LONGEST_LINE = 400 };

struct tt_read_listing {
    struct tt_listing listing;
    struct tt_symbols *symbols; /* owned */
    struct tt_source_folders source;
    struct tt_instruction
        *instruction;   /* owned: of the function that was asked for last */
    char *file, *text;  /* owned: of the file that was; text: NULL: none */
    uint32_t *start;    /* owned: where its lines begin, and its end */
    const char *reason; /* why there is no text */
    uint32_t lines;
    char line[LONGEST_LINE];
};

/* ── Code ─────────────────────────────────────────────────────────────────────────── */

static void read_code(void *arg, const char *module, const char *id, uint64_t address,
                      struct tt_listed *listed)
{
    struct tt_read_listing *r = arg;
    struct tt_code code;

    *listed = (struct tt_listed){.count = 0};
    free(r->instruction);
    r->instruction = NULL;
    tt_symbols_code(r->symbols, module, id, address, &code);
    listed->reason = code.reason;
    if (code.bytes)
        listed->count = tt_disassemble(code.machine, code.bytes, code.size, code.start,
                                       &r->instruction, &listed->reason);
    listed->instruction = r->instruction;
    free(code.bytes);
}

static void find_where(void *arg, const char *module, const char *id, uint64_t address,
                       struct tt_where *w)
{
    struct tt_read_listing *r = arg;
    const struct tt_spot *last;
    struct tt_spots spots;

    *w = (struct tt_where){0};
    tt_symbols_find(r->symbols, module, id, address, &spots);
    if (!spots.count)
        return;
    last = &spots.spot[spots.count - 1];
    *w = (struct tt_where){.function = last->function,
                           .file = *last->at_file ? last->at_file : NULL,
                           .line = last->at_line,
                           .at_file = *spots.spot->at_file ? spots.spot->at_file : NULL,
                           .at_line = spots.spot->at_line};
}

static const char *find_name(void *arg, const char *module, const char *id,
                             uint64_t address)
{
    struct tt_read_listing *r = arg;
    struct tt_spots spots;

    tt_symbols_function(r->symbols, module, id, address, &spots);
    return spots.count ? spots.spot[0].function : NULL;
}

/* ── Text ─────────────────────────────────────────────────────────────────────────── */

static void find_lines(struct tt_read_listing *r, size_t size)
{
    uint32_t lines = 1;

    for (size_t i = 0; i < size; i++)
        lines += r->text[i] == '\n';
    r->start = calloc((size_t)lines + 1, sizeof *r->start);
    if (!r->start)
        return;
    for (size_t i = 0; i < size; i++)
        if (r->text[i] == '\n')
            r->start[++r->lines] = (uint32_t)i + 1;
    r->lines++;
    r->start[r->lines] = (uint32_t)size + 1;
}

static void open_text(struct tt_read_listing *r, const char *file)
{
    size_t size = 0;

    free(r->file);
    free(r->text);
    free(r->start);
    r->text = NULL;
    r->start = NULL;
    r->lines = 0;
    r->file = strdup(file);
    r->text = tt_source_text(&r->source, file, &size, &r->reason);
    if (r->text)
        find_lines(r, size);
}

/* Tabs are eight columns; control characters are removed. */
static void clean_line(struct tt_read_listing *r, const char *from, size_t size)
{
    size_t to = 0;

    for (size_t i = 0; i < size && to + 9 < sizeof r->line; i++) {
        unsigned char c = (unsigned char)from[i];
        if (c == '\t')
            do
                r->line[to++] = ' ';
            while (to % 8);
        else if (c >= ' ' && c != 0x7f)
            r->line[to++] = (char)c;
    }
    r->line[to] = '\0';
}

static const char *read_line(void *arg, const char *file, uint32_t line,
                             const char **reason)
{
    struct tt_read_listing *r = arg;

    if (!r->file || strcmp(r->file, file) != 0)
        open_text(r, file);
    *reason = r->reason;
    if (!r->start)
        return NULL;
    *reason = "the file has fewer lines than the one that was compiled";
    if (!line || line > r->lines)
        return NULL;
    *reason = NULL;
    clean_line(r, r->text + r->start[line - 1], r->start[line] - r->start[line - 1] - 1);
    return r->line;
}

/* ── Life ─────────────────────────────────────────────────────────────────────────── */

struct tt_read_listing *tt_read_listing_new(const struct tt_symbols_options *o,
                                            const struct tt_source_folders *source)
{
    struct tt_read_listing *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->symbols = tt_symbols_new(o);
    if (!r->symbols) {
        free(r);
        return NULL;
    }
    r->source = *source;
    r->listing = (struct tt_listing){r, read_code, find_where, find_name, read_line};
    return r;
}

void tt_read_listing_free(struct tt_read_listing *r)
{
    if (!r)
        return;
    tt_symbols_free(r->symbols);
    free(r->instruction);
    free(r->file);
    free(r->text);
    free(r->start);
    free(r);
}

void tt_read_listing_refresh(struct tt_read_listing *r)
{
    tt_symbols_refresh(r->symbols);
}

const struct tt_listing *tt_read_listing_of(struct tt_read_listing *r)
{
    return &r->listing;
}
