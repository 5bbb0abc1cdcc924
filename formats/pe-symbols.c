/* SPDX-License-Identifier: MIT */
/* pe-symbols.c - the functions of a program of Windows, from its COFF symbol table, which
 * MinGW leaves in it.
 *
 * A symbol has a place in a section; the section has an address in the image, and the
 * image one in memory.  Of 32 bits, names have an underscore in front. */
#include "pe-symbols.h"

#include <string.h>

enum { COFF = 24, SYMBOL = 18, SECTION = 40, EXTERNAL = 2, STATIC = 3 };

struct image {
    struct tt_elf *elf;
    const char *bytes;
    size_t size;
    uint64_t sections, section_count, symbols, symbol_count;
};

static uint64_t number(const struct image *m, uint64_t at, int size)
{
    if (at > m->size || (uint64_t)size > m->size - at)
        return 0;
    return tt_number_at(m->bytes + at, size);
}

/* Returns the name of a symbol, `length` bytes: 8 at most, or in the table behind. */
static const char *name_at(const struct image *m, uint64_t at, size_t *length)
{
    uint64_t start = number(m, at, 4)
                         ? at
                         : m->symbols + m->symbol_count * SYMBOL + number(m, at + 4, 4);
    size_t most = number(m, at, 4) ? 8 : m->size;

    if (start >= m->size)
        return NULL;
    most = most < m->size - start ? most : m->size - (size_t)start;
    *length = strnlen(m->bytes + start, most);
    return m->bytes + start;
}

static int add_symbol(struct image *m, uint64_t at)
{
    const uint64_t is_code = 0x20;
    const uint64_t section = number(m, at + 12, 2), kind = number(m, at + 16, 1);
    const uint64_t head = m->sections + (section - 1) * SECTION;
    const char *name;
    size_t length;
    size_t copy;

    if (!section || section > m->section_count || (kind != EXTERNAL && kind != STATIC) ||
        !(number(m, head + 36, 4) & is_code))
        return 0;
    name = name_at(m, at, &length);
    if (name && length && m->elf->width == 4 && *name == '_')
        name++, length--;
    if (!name || !length || memchr(name, '.', length) || memchr(name, '$', length))
        return 0; /* sections and labels */
    copy = tt_vector_text(&m->elf->text, name, length);
    if (copy == TT_NO_PLACE)
        return -TT_ERR_MEMORY;
    return tt_vector_push(&m->elf->function, &(struct tt_elf_function){
                                                 m->elf->base + number(m, head + 12, 4) +
                                                     number(m, at + 8, 4),
                                                 kind == EXTERNAL, copy});
}

int tt_pe_read(struct tt_elf *e, struct tt_source *s, const char *bytes, size_t size)
{
    struct image m = {.elf = e, .bytes = bytes, .size = size};
    const uint64_t head = number(&m, 60, 4), is_wide = 0x20b;
    uint64_t magic = number(&m, head + COFF, 2);
    int error = 0;

    if (number(&m, head, 4) != 0x4550 || (magic != 0x10b && magic != is_wide))
        return tt_source_fail_at(s, head, "the program's head is not one of Windows");
    e->width = magic == is_wide ? 8 : 4;
    e->base = number(&m, head + COFF + (e->width == 8 ? 24 : 28), e->width);
    e->size = number(&m, head + COFF + 56, 4);
    m.section_count = number(&m, head + 6, 2);
    m.symbols = number(&m, head + 12, 4);
    m.symbol_count = number(&m, head + 16, 4);
    m.sections = head + COFF + number(&m, head + 20, 2);
    if (m.symbols > size || m.symbol_count > (size - m.symbols) / SYMBOL)
        return tt_source_fail_at(s, head + 12, "the program's symbols are not within it");
    for (uint64_t i = 0; !error && i < m.symbol_count; i++) {
        uint64_t at = m.symbols + i * SYMBOL;
        error = add_symbol(&m, at);
        i += number(&m, at + 17, 1); /* what else is said of it */
    }
    return error ? tt_source_no_memory(s) : 0;
}
