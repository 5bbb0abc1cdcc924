/* SPDX-License-Identifier: MIT */
/* function-debugger.c - registers thunks with debuggers.
 *
 * A debugger does not read frames that were registered with libgcc.  But it reads a list
 * of object files that a program has made in memory, by two names that the program
 * defines (gdb's manual, "JIT Compilation Interface").  It sets a breakpoint in the
 * function that is called when the list changes, or reads the list when it attaches. */
#include "function-debugger.h"

#include <string.h>

struct jit_descriptor {
    uint32_t version, action;
    struct tt_debugger_entry *relevant, *first;
};
enum { JIT_NOTHING, JIT_ADDED };

#define FOR_DEBUGGERS __attribute__((visibility("protected"), used))

FOR_DEBUGGERS struct jit_descriptor __jit_debug_descriptor = {1, JIT_NOTHING, NULL, NULL};

void __jit_debug_register_code(void);
FOR_DEBUGGERS __attribute__((noinline)) void __jit_debug_register_code(void)
{
    __asm__ volatile("" ::: "memory");
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

enum { NONE, TEXT, FRAMES, SYMBOLS, STRINGS, NAMES };
_Static_assert(NAMES + 1 == TT_DEBUGGER_SECTIONS, "sections");

static const char section_names[] = "\0.text\0.eh_frame\0.symtab\0.strtab\0.shstrtab";
static const char symbol_names[] = "\0tallytree_thunk";

static uint32_t name_of(const char *name)
{
    const char *at = section_names;

    while (strcmp(at, name) != 0)
        at += strlen(at) + 1;
    return (uint32_t)(at - section_names);
}

static void describe(Elf64_Shdr *s, const char *name, uint32_t type, size_t offset,
                     size_t size)
{
    s->sh_name = name_of(name);
    s->sh_type = type;
    s->sh_offset = offset;
    s->sh_size = size;
    s->sh_addralign = 8;
}

static void fill_header(Elf64_Ehdr *h)
{
    memcpy(h->e_ident, ELFMAG, SELFMAG);
    h->e_ident[EI_CLASS] = ELFCLASS64;
    h->e_ident[EI_DATA] = ELFDATA2LSB;
    h->e_ident[EI_VERSION] = EV_CURRENT;
    h->e_type = ET_EXEC;
    h->e_machine = EM_X86_64;
    h->e_version = EV_CURRENT;
    h->e_shoff = offsetof(struct tt_debugger_file, section);
    h->e_ehsize = sizeof *h;
    h->e_shentsize = sizeof(Elf64_Shdr);
    h->e_shnum = TT_DEBUGGER_SECTIONS;
    h->e_shstrndx = NAMES;
}

static void fill(struct tt_debugger_file *f, const struct tt_function_area *a,
                 size_t size_of_frames)
{
    Elf64_Shdr *s = f->section;

    fill_header(&f->header);
    memcpy(f->names, section_names, sizeof section_names);
    memcpy(f->strings, symbol_names, sizeof symbol_names);
    describe(&s[TEXT], ".text", SHT_NOBITS, 0, a->end - a->start);
    s[TEXT].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
    s[TEXT].sh_addr = a->start;
    describe(&s[FRAMES], ".eh_frame", SHT_PROGBITS, sizeof *f, size_of_frames);
    s[FRAMES].sh_flags = SHF_ALLOC;
    s[FRAMES].sh_addr = (uintptr_t)(f + 1);
    describe(&s[SYMBOLS], ".symtab", SHT_SYMTAB,
             offsetof(struct tt_debugger_file, symbol), sizeof f->symbol);
    s[SYMBOLS].sh_link = STRINGS;
    s[SYMBOLS].sh_info = 1; /* the first that is global */
    s[SYMBOLS].sh_entsize = sizeof *f->symbol;
    describe(&s[STRINGS], ".strtab", SHT_STRTAB,
             offsetof(struct tt_debugger_file, strings), sizeof f->strings);
    describe(&s[NAMES], ".shstrtab", SHT_STRTAB, offsetof(struct tt_debugger_file, names),
             sizeof f->names);
    f->symbol[1] = (Elf64_Sym){.st_name = 1,
                               .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                               .st_shndx = TEXT,
                               .st_value = a->start,
                               .st_size = a->end - a->start};
}

void tt_debugger_tell(struct tt_debugger_file *f, const struct tt_function_area *a,
                      size_t size_of_frames)
{
    struct jit_descriptor *d = &__jit_debug_descriptor;

    fill(f, a, size_of_frames);
    f->entry = (struct tt_debugger_entry){
        .next = d->first, .file = f, .size = sizeof *f + size_of_frames};
    if (d->first)
        d->first->previous = &f->entry;
    d->first = d->relevant = &f->entry;
    d->action = JIT_ADDED;
    __jit_debug_register_code();
    d->action = JIT_NOTHING;
}
