/* SPDX-License-Identifier: MIT */
/* plt.c - the stubs through which a module calls others, named after their targets.
 *
 *      .plt.sec          .got.plt                .rela.plt          .dynsym
 *      jmp *slot  ───►   slot  ◄── offset ─────  relocation  ───►   puts
 *
 * The linker's layout does not matter: code that jumps through a slot that a relocation
 * fills is the stub of that relocation's symbol. */
#include "plt.h"

#include <stdlib.h>
#include <string.h>

#include "sorted.h"

struct slot {
    uint64_t address, to;
    const char *symbol;
};

struct slots {
    struct slot *slot;
    size_t count, room;
};

static int add_slot(struct slots *s, const struct slot *slot)
{
    struct slot *more = tt_array_grow(s->slot, s->count, &s->room, sizeof *more);

    if (!more)
        return -1;
    s->slot = more;
    s->slot[s->count++] = *slot;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct slot *x = a, *y = b;

    return TT_ORDER(x->address, y->address);
}

static const struct slot *slot_at(const struct slots *s, uint64_t address)
{
    const struct slot key = {.address = address};

    return s->count ? bsearch(&key, s->slot, s->count, sizeof key, compare) : NULL;
}

/* ── Relocations ──────────────────────────────────────────────────────────────────── */

/* Does it fill a slot with a function's address? */
static int fills_slot(GElf_Half machine, uint64_t type)
{
    if (machine == EM_X86_64)
        return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
               type == R_X86_64_IRELATIVE;
    return machine == EM_AARCH64 &&
           (type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ||
            type == R_AARCH64_IRELATIVE);
}

static int add_relocations(struct slots *s, Elf *elf, GElf_Half machine,
                           const GElf_Shdr *header, Elf_Scn *section)
{
    Elf_Data *data = elf_getdata(section, NULL), *symbols;
    Elf_Scn *table = elf_getscn(elf, header->sh_link);
    GElf_Shdr table_header;
    GElf_Rela r;
    GElf_Sym symbol;

    if (!data || !header->sh_entsize)
        return 0;
    symbols = table && gelf_getshdr(table, &table_header) ? elf_getdata(table, NULL)
                                                          : NULL;
    for (size_t i = 0; i < data->d_size / header->sh_entsize; i++) {
        struct slot slot = {.symbol = ""};
        if (!gelf_getrela(data, (int)i, &r) ||
            !fills_slot(machine, GELF_R_TYPE(r.r_info)))
            continue;
        slot.address = r.r_offset;
        slot.to = (uint64_t)r.r_addend;
        if (GELF_R_SYM(r.r_info) && symbols &&
            gelf_getsym(symbols, (int)GELF_R_SYM(r.r_info), &symbol))
            slot.symbol = elf_strptr(elf, table_header.sh_link, symbol.st_name);
        if (slot.symbol && (*slot.symbol || slot.to) && add_slot(s, &slot) != 0)
            return -1;
    }
    return 0;
}

/* ── Stubs ────────────────────────────────────────────────────────────────────────── */

static int32_t signed_at(const unsigned char *code)
{
    int32_t value;

    memcpy(&value, code, sizeof value);
    return value;
}

/* The slot that a stub of 16 or 8 bytes at `address` jumps through: jmp *disp32(%rip),
 * perhaps after endbr64 and with a bnd prefix. */
static uint64_t slot_of_x86_64(const unsigned char *code, size_t size, uint64_t address)
{
    size_t at = size >= 4 && memcmp(code, "\xf3\x0f\x1e\xfa", 4) == 0 ? 4 : 0;

    if (at < size && code[at] == 0xf2)
        at++;
    if (at + 6 > size || code[at] != 0xff || code[at + 1] != 0x25)
        return 0;
    return address + at + 6 + (uint64_t)(int64_t)signed_at(code + at + 2);
}

/* adrp x16, page; ldr x17, [x16, offset], perhaps after bti c. */
static uint64_t slot_of_aarch64(const unsigned char *code, size_t size, uint64_t address)
{
    size_t at = size >= 4 && (uint32_t)signed_at(code) == 0xd503245f ? 4 : 0;
    uint32_t page, load;
    int64_t pages;

    if (at + 8 > size)
        return 0;
    page = (uint32_t)signed_at(code + at);
    load = (uint32_t)signed_at(code + at + 4);
    if ((page & 0x9f00001f) != 0x90000010 || (load & 0xffc003ff) != 0xf9400211)
        return 0;
    pages = (int64_t)((page >> 29 & 3) | (page >> 5 & 0x7ffff) << 2);
    pages = (int64_t)((uint64_t)pages << 43) >> 43;
    return ((address + at) & ~(uint64_t)0xfff) + (uint64_t)(pages * 4096) +
           (load >> 10 & 0xfff) * 8;
}

typedef int take_function(void *arg, uint64_t low, uint64_t high, const char *symbol,
                          uint64_t to);

/* Stubs begin at multiples of 8 or 16 bytes, or, of aarch64 with landing pads, of 24. */
static int take_stubs(const struct slots *s, GElf_Half machine, const GElf_Shdr *header,
                      Elf_Scn *section, take_function *take, void *arg)
{
    Elf_Data *data = elf_getdata(section, NULL);
    size_t length = header->sh_entsize == 8 ? 8 : 16, step = length, size;
    int error = 0;

    if (machine == EM_AARCH64)
        step = 4;
    size = data && data->d_buf ? data->d_size : 0;
    for (size_t at = 0; !error && at + length <= size;) {
        const unsigned char *code = (const unsigned char *)data->d_buf + at;
        uint64_t address = header->sh_addr + at,
                 slot = machine == EM_X86_64 ? slot_of_x86_64(code, length, address)
                                             : slot_of_aarch64(code, length, address);
        const struct slot *found = slot ? slot_at(s, slot) : NULL;
        if (found)
            error = take(arg, address, address + length, found->symbol, found->to);
        at += found ? length : step;
    }
    return error;
}

int tt_plt_each(Elf *elf, take_function *take, void *arg)
{
    struct slots s = {0};
    Elf_Scn *section = NULL;
    GElf_Ehdr file;
    GElf_Shdr header;
    size_t names;
    int error = 0;

    if (!gelf_getehdr(elf, &file) || elf_getshdrstrndx(elf, &names) != 0)
        return 0;
    while (!error && (section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA &&
            (header.sh_flags & SHF_ALLOC))
            error = add_relocations(&s, elf, file.e_machine, &header, section);
    tt_sort(s.slot, s.count, sizeof *s.slot, compare);
    for (section = NULL; !error && (section = elf_nextscn(elf, section));) {
        const char *name = gelf_getshdr(section, &header)
                               ? elf_strptr(elf, names, header.sh_name)
                               : NULL;
        if (name && strncmp(name, ".plt", 4) == 0 && header.sh_type == SHT_PROGBITS)
            error = take_stubs(&s, file.e_machine, &header, section, take, arg);
    }
    free(s.slot);
    return error;
}
