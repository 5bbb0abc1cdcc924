/* SPDX-License-Identifier: MIT */
/* elf-symbols.c - the functions of a program, by address. */
#include "elf-symbols.h"

#include "pe-symbols.h"
#include "sorted.h"

#include <stdlib.h>
#include <string.h>

enum { FUNCTION = 2, SYMTAB = 2 };

struct file {
    const char *bytes;
    size_t size;
    int wide;
    uint64_t sections, section_size, count;
};

struct section {
    uint64_t type, offset, size, link;
};

static uint64_t number(const struct file *f, uint64_t at, int size)
{
    if (at > f->size || (uint64_t)size > f->size - at)
        return 0;
    return tt_number_at(f->bytes + at, size);
}

static struct section section_at(const struct file *f, uint64_t i)
{
    uint64_t at = f->sections + i * f->section_size;
    int w = f->wide ? 8 : 4, base = 8 + w; /* of the address */

    return (struct section){
        .type = number(f, at + 4, 4),
        .offset = number(f, at + (uint64_t)(base + w), w),
        .size = number(f, at + (uint64_t)(base + 2 * w), w),
        .link = number(f, at + (uint64_t)(base + 3 * w), 4),
    };
}

static int open_file(struct file *f, struct tt_source *s)
{
    if (f->size < 52 || memcmp(f->bytes, "\177ELF", 4) != 0)
        return tt_source_fail_at(s, 0,
                                 "this is no program: it does not begin as ELF does");
    f->wide = f->bytes[4] == 2;
    if (f->bytes[5] != 1)
        return tt_source_fail_at(s, 5,
                                 "programs that are not little-endian are not known");
    f->sections = number(f, f->wide ? 40 : 32, f->wide ? 8 : 4);
    f->section_size = number(f, f->wide ? 58 : 46, 2);
    f->count = number(f, f->wide ? 60 : 48, 2);
    if (f->sections > f->size || f->section_size < (f->wide ? 64u : 40u) ||
        f->count * f->section_size > f->size - f->sections)
        return tt_source_fail_at(s, f->size, "the program's sections are not within it");
    return 0;
}

static int by_address(const void *a, const void *b)
{
    const struct tt_elf_function *x = a, *y = b; /* local symbols sort first here */

    return TT_ORDER(x->start, y->start) ?: TT_ORDER(x->end, y->end);
}

static int add_symbol(struct tt_elf *e, const struct file *f, const struct section *names,
                      uint64_t at)
{
    uint64_t name = number(f, at, 4), value = number(f, at + (f->wide ? 8 : 4), e->width);
    uint64_t info = number(f, at + (f->wide ? 4 : 12), 1);
    uint64_t index = number(f, at + (f->wide ? 6 : 14), 2);
    const char *text, *stop;
    size_t copy;

    if ((info & 15) != FUNCTION || !index || name >= names->size ||
        names->offset > f->size || names->size > f->size - names->offset)
        return 0;
    text = f->bytes + names->offset + name;
    stop = memchr(text, '\0', (size_t)(names->size - name));
    if (!stop || stop == text)
        return 0;
    copy = tt_vector_text(&e->text, text, (size_t)(stop - text));
    return copy == TT_NO_PLACE
               ? -TT_ERR_MEMORY
               : tt_vector_push(&e->function,
                                &(struct tt_elf_function){value, info >> 4 != 0, copy});
}

/* If several symbols have one address, keeps the last one.  Each function ends where the
 * next one begins. */
static void finish(struct tt_elf *e)
{
    struct tt_elf_function *f = e->function.item;
    size_t kept = 0;

    tt_vector_sort(&e->function, by_address);
    for (size_t i = 0; i < e->function.count; i++)
        if (kept && f[kept - 1].start == f[i].start)
            f[kept - 1] = f[i];
        else
            f[kept++] = f[i];
    for (size_t i = 0; i < kept; i++)
        f[i].end = i + 1 < kept ? f[i + 1].start : UINT64_MAX;
    e->function.count = kept;
}

static int read_symbols(struct tt_elf *e, struct tt_source *s)
{
    struct file f = {0};
    int error = tt_source_all(s, &f.bytes, &f.size);

    if (!error && f.size > 2 && memcmp(f.bytes, "MZ", 2) == 0)
        return tt_pe_read(e, s, f.bytes, f.size);
    error = error ?: open_file(&f, s);
    e->width = f.wide ? 8 : 4;
    for (uint64_t i = 0; !error && i < f.count; i++) {
        struct section symbols = section_at(&f, i), names;
        uint64_t item = f.wide ? 24 : 16;
        if (symbols.type != SYMTAB || symbols.offset > f.size ||
            symbols.size > f.size - symbols.offset || symbols.link >= f.count)
            continue;
        names = section_at(&f, symbols.link);
        for (uint64_t at = 0; !error && at + item <= symbols.size; at += item)
            error = add_symbol(e, &f, &names, symbols.offset + at);
        if (error)
            return tt_source_no_memory(s);
    }
    return error;
}

int tt_elf_read(struct tt_elf *e, struct tt_source *s, const struct tt_memory *memory)
{
    int error;

    tt_vector_init(&e->function, memory, sizeof(struct tt_elf_function));
    tt_vector_init(&e->text, memory, 1);
    error = read_symbols(e, s);
    if (!error && !e->function.count)
        error = tt_source_fail_at(s, 0, "the program has no symbols: they were stripped");
    if (!error)
        finish(e);
    return error;
}

const struct tt_elf_function *tt_elf_find(const struct tt_elf *e, uint64_t address,
                                          int next)
{
    const struct tt_elf_function *f = e->function.item;
    size_t up_to = tt_count_up_to(f, sizeof *f, e->function.count, address);

    if (up_to)
        return &f[up_to - 1];
    return next && e->function.count ? f : NULL;
}
