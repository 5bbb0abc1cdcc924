/* SPDX-License-Identifier: MIT */
/* symbol-table.c - looks at all symbols, or puts them in order.
 *
 * A program that is short has samples in a few functions, and its libraries have tens of thousands
 * of symbols.  To look at all of them reads each once, where the file is mapped; to put them in
 * order takes new memory for each.  After MOST_LOOKS, both have taken about as long.
 *
 * Both find the same: of the symbols around an address, the one that begins last. */
#include "symbol-table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "plt.h"
#include "sorted.h"
#include "tallytree.h"

enum { MOST_SYMBOLS = 1 << 26, MOST_LOOKS = 64 };

/* ── A symbol ─────────────────────────────────────────────────────────────────────── */

/* Chooses among aliases: names that programs call are better than names internal to
 * libraries, and global ones are better; weak ones are as good as others. */
static unsigned char rank_of(const char *name, const GElf_Sym *s)
{
    int type = GELF_ST_TYPE(s->st_info), underscores = (int)strspn(name, "_");
    int is_mangled = name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');

    return (unsigned char)((type == STT_FUNC || type == STT_GNU_IFUNC ? 16 : 0) +
                           (GELF_ST_BIND(s->st_info) != STB_LOCAL ? 8 : 0) +
                           (is_mangled || underscores == 0 ? 4
                            : underscores == 1             ? 2
                                                           : 0));
}

/* Code, or data that a lock may be in. */
static int is_wanted(const struct tt_symbol_table *t, const char *name, const GElf_Sym *s,
                     uint64_t address)
{
    int type = GELF_ST_TYPE(s->st_info);

    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE &&
        type != STT_OBJECT)
        return 0;
    if (!name || !*name || *name == '$' || strncmp(name, ".L", 2) == 0)
        return 0;
    if (type == STT_OBJECT)
        return s->st_size != 0 && !tt_spans_find(&t->code, address);
    if (!t->code.count) /* no sections are left */
        return type != STT_NOTYPE;
    return tt_spans_find(&t->code, address) != NULL;
}

static int by_address(const void *a, const void *b)
{
    const struct tt_symbol *x = a, *y = b;

    return TT_ORDER(x->low, y->low) ?: TT_ORDER(y->is_sized, x->is_sized)
           ?: TT_ORDER(y->rank, x->rank) ?: TT_ORDER(strlen(y->symbol), strlen(x->symbol))
           ?: strcmp(x->symbol, y->symbol);
}

static struct tt_symbol symbol_of(const char *name, const GElf_Sym *s, uint64_t address)
{
    return (struct tt_symbol){
        .symbol = name,
        .low = address,
        .high = address + s->st_size < address ? UINT64_MAX : address + s->st_size,
        .rank = rank_of(name, s),
        .is_sized = s->st_size != 0,
        .is_local = GELF_ST_BIND(s->st_info) == STB_LOCAL};
}

const char *tt_symbol_name(struct tt_symbol *s)
{
    char *stub;

    if (s->name)
        return s->name;
    s->name = tt_demangle(s->symbol);
    if (s->name && s->is_stub && asprintf(&stub, "%s@plt", s->name) >= 0) {
        free(s->name);
        s->name = stub;
    }
    return s->name;
}

/* ── Code ─────────────────────────────────────────────────────────────────────────── */

static uint32_t has_stubs(Elf *elf, size_t names, const GElf_Shdr *h)
{
    const char *name = names ? elf_strptr(elf, names, h->sh_name) : NULL;

    return !name || strncmp(name, ".plt", 4) == 0;
}

static int add_code(struct tt_symbol_table *t)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(t->module, &bias);
    Elf_Scn *section = NULL;
    GElf_Shdr h;
    size_t names = 0;

    if (elf && elf_getshdrstrndx(elf, &names) != 0)
        names = 0;
    while (elf && (section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, &h) && (h.sh_flags & SHF_ALLOC) &&
            (h.sh_flags & SHF_EXECINSTR) && h.sh_addr + h.sh_size >= h.sh_addr &&
            tt_spans_add(&t->code, h.sh_addr + bias, h.sh_addr + bias + h.sh_size,
                         has_stubs(elf, names, &h)) != 0)
            return -1;
    tt_spans_sort(&t->code);
    return 0;
}

/* ── Looking at all of them ───────────────────────────────────────────────────────── */

/* The only table of an object; NULL: there is none, or more. */
static Elf_Scn *find_table(Elf *elf, GElf_Word *strings)
{
    Elf_Scn *section = NULL, *whole = NULL, *dynamic = NULL, *found;
    int wholes = 0, dynamics = 0;
    GElf_Shdr h;

    while ((section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, &h)) {
            if (h.sh_type == SHT_SYMTAB_SHNDX) /* sections by larger numbers */
                return NULL;
            wholes += h.sh_type == SHT_SYMTAB;
            dynamics += h.sh_type == SHT_DYNSYM;
            whole = h.sh_type == SHT_SYMTAB ? section : whole;
            dynamic = h.sh_type == SHT_DYNSYM ? section : dynamic;
        }
    found = whole ? whole : dynamic;
    if (!found || (whole ? wholes : dynamics) != 1 || !gelf_getshdr(found, &h))
        return NULL;
    *strings = h.sh_link;
    return found;
}

/* Is an address in the file one of the module, too? */
static int is_plain(Elf *elf, GElf_Addr bias)
{
    GElf_Ehdr h;

    return elf && bias == 0 && gelf_getehdr(elf, &h) &&
           h.e_ident[EI_CLASS] == ELFCLASS64 &&
           (h.e_type == ET_EXEC || h.e_type == ET_DYN) &&
           (h.e_machine == EM_X86_64 || h.e_machine == EM_AARCH64);
}

/* libdwfl may have joined two tables; then these are looked at in its order only. */
static void find_all(struct tt_symbol_table *t, int count)
{
    Elf *elf[2] = {NULL, NULL}, *own;
    GElf_Addr bias[2] = {0, 0}, address, own_bias;
    GElf_Word strings;
    GElf_Sym s;
    Elf_Scn *section;
    Elf_Data *data;

    own = dwfl_module_getelf(t->module, &own_bias);
    if (count < 2 || !is_plain(own, own_bias) || !t->code.count ||
        !dwfl_module_getsym_info(t->module, 1, &s, &address, NULL, &elf[0], &bias[0]) ||
        !dwfl_module_getsym_info(t->module, count - 1, &s, &address, NULL, &elf[1],
                                 &bias[1]) ||
        elf[0] != elf[1] || bias[0] != bias[1] || !is_plain(elf[0], bias[0]))
        return;
    section = find_table(elf[0], &strings);
    data = section ? elf_getdata(section, NULL) : NULL;
    if (!data || !data->d_buf || data->d_size != (size_t)count * sizeof *t->all ||
        (uintptr_t)data->d_buf % _Alignof(GElf_Sym))
        return;
    t->all = data->d_buf;
    t->count = (size_t)count;
    t->elf = elf[0];
    t->strings = strings;
}

static const char *text_of(const struct tt_symbol_table *t, size_t i)
{
    return elf_strptr(t->elf, t->strings, t->all[i].st_name);
}

/* As libdwfl has it: a symbol of what is not loaded has no address. */
static int is_loaded(const struct tt_symbol_table *t, const GElf_Sym *s)
{
    GElf_Shdr h;

    if (s->st_shndx == SHN_UNDEF || s->st_shndx == SHN_ABS)
        return 0;
    return s->st_shndx >= SHN_LORESERVE ||
           !gelf_getshdr(elf_getscn(t->elf, s->st_shndx), &h) || (h.sh_flags & SHF_ALLOC);
}

static int counts(const struct tt_symbol_table *t, size_t i)
{
    const GElf_Sym *s = &t->all[i];

    return is_loaded(t, s) && is_wanted(t, text_of(t, i), s, s->st_value);
}

/* Does one that has no size reach to an address?  Another may begin between, or end after
 * its begin. */
static int reaches(const struct tt_symbol_table *t, uint64_t low, uint64_t address)
{
    const struct tt_span *section = tt_spans_find(&t->code, low);

    if (section && address >= section->high)
        return 0;
    for (size_t i = 1; i < t->count; i++) {
        const GElf_Sym *s = &t->all[i];
        if (s->st_size && s->st_value <= address &&
            (s->st_value >= low || low - s->st_value < s->st_size) && counts(t, i))
            return 0;
    }
    return 1;
}

/* The begin of the innermost around an address.  0: there is none. */
static int find_low(const struct tt_symbol_table *t, uint64_t address, uint64_t *low)
{
    int has_sized = 0, has_other = 0;
    uint64_t sized = 0, other = 0;

    for (size_t i = 1; i < t->count; i++) {
        const GElf_Sym *s = &t->all[i];
        if (s->st_value > address || (s->st_size && address - s->st_value >= s->st_size))
            continue;
        if (s->st_size && (!has_sized || s->st_value > sized) && counts(t, i)) {
            sized = s->st_value;
            has_sized = 1;
        }
        if (!s->st_size && (!has_other || s->st_value > other) && counts(t, i)) {
            other = s->st_value;
            has_other = 1;
        }
    }
    *low = sized;
    if (has_other && (!has_sized || other > sized) && reaches(t, other, address)) {
        *low = other;
        return 1;
    }
    return has_sized;
}

/* The best symbol at an address.  0: there is none. */
static int find_best(const struct tt_symbol_table *t, uint64_t low,
                     struct tt_symbol *best)
{
    int has = 0;

    for (size_t i = 1; i < t->count; i++) {
        struct tt_symbol s;
        if (t->all[i].st_value != low || !counts(t, i))
            continue;
        s = symbol_of(text_of(t, i), &t->all[i], low);
        if (!has || by_address(&s, best) < 0)
            *best = s;
        has = 1;
    }
    return has;
}

/* Symbols that were found, each once. */
struct tt_found_symbol {
    struct tt_symbol symbol;
    struct tt_found_symbol *next;
};

static struct tt_symbol *find_by_looking(struct tt_symbol_table *t, uint64_t address)
{
    struct tt_found_symbol *f;
    uint64_t low;

    if (!find_low(t, address, &low))
        return NULL;
    for (f = t->found; f; f = f->next)
        if (f->symbol.low == low)
            return &f->symbol;
    f = calloc(1, sizeof *f);
    if (!f || !find_best(t, low, &f->symbol)) {
        free(f);
        return NULL;
    }
    f->next = t->found;
    t->found = f;
    return &f->symbol;
}

/* ── All of them in order ─────────────────────────────────────────────────────────── */

static struct tt_symbol *add_symbol(struct tt_symbol_table *t)
{
    struct tt_symbol *more = t->symbols == MOST_SYMBOLS
                                 ? NULL
                                 : tt_array_grow(t->symbol, t->symbols, &t->room,
                                                 sizeof *more);

    if (!more)
        return NULL;
    t->symbol = more;
    t->symbol[t->symbols] = (struct tt_symbol){0};
    return &t->symbol[t->symbols++];
}

static int add_symbols(struct tt_symbol_table *t)
{
    int count = dwfl_module_getsymtab(t->module);

    for (int i = 1; i < count; i++) {
        GElf_Sym s;
        GElf_Addr address;
        GElf_Word section;
        const char *name = dwfl_module_getsym_info(t->module, i, &s, &address, &section,
                                                   NULL, NULL);
        struct tt_symbol *added;
        if (!name || section == SHN_UNDEF || section == SHN_ABS ||
            section == (GElf_Word)-1 || !is_wanted(t, name, &s, address))
            continue;
        added = add_symbol(t);
        if (!added)
            return -1;
        *added = symbol_of(name, &s, address);
    }
    return 0;
}

/* Stubs of functions in the module itself are named after these. */
static const char *symbol_at(const struct tt_symbol_table *t, uint64_t address)
{
    const struct tt_symbol *best = NULL;

    for (size_t i = 0; i < t->symbols; i++) {
        const struct tt_symbol *s = &t->symbol[i];
        if (s->low == address && !s->is_stub && (!best || s->rank > best->rank))
            best = s;
    }
    return best ? best->symbol : NULL;
}

static int add_stub(void *arg, uint64_t low, uint64_t high, const char *symbol,
                    uint64_t to)
{
    struct tt_symbol_table *t = arg;
    const char *name = *symbol ? symbol : symbol_at(t, to);
    struct tt_symbol *s = name ? add_symbol(t) : NULL;

    if (s)
        *s = (struct tt_symbol){
            .symbol = name, .low = low, .high = high, .is_sized = 1, .is_stub = 1};
    return name && !s ? -1 : 0;
}

static int add_stubs(struct tt_symbol_table *t)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(t->module, &bias);

    return elf && bias == 0 ? tt_plt_each(elf, add_stub, t) : 0;
}

/* Keeps one symbol for each address, the best; as long as the longest there. */
static void drop_aliases(struct tt_symbol_table *t)
{
    size_t kept = 0;

    tt_sort(t->symbol, t->symbols, sizeof *t->symbol, by_address);
    for (size_t i = 0; i < t->symbols; i++) {
        struct tt_symbol *s = kept ? &t->symbol[kept - 1] : NULL;
        if (s && s->low == t->symbol[i].low) {
            if (t->symbol[i].high > s->high)
                s->high = t->symbol[i].high;
        } else {
            t->symbol[kept++] = t->symbol[i];
        }
    }
    t->symbols = kept;
}

static int by_name(const void *a, const void *b)
{
    const struct tt_symbol *x = *(struct tt_symbol *const *)a,
                           *y = *(struct tt_symbol *const *)b;

    return strcmp(x->symbol, y->symbol);
}

/* Static functions may share a name. */
static int find_namesakes(struct tt_symbol_table *t)
{
    struct tt_symbol **local = calloc(t->symbols + 1, sizeof(struct tt_symbol *));
    size_t count = 0;

    if (!local)
        return -1;
    for (size_t i = 0; i < t->symbols; i++)
        if (t->symbol[i].is_local)
            local[count++] = &t->symbol[i];
    tt_sort(local, count, sizeof *local, by_name);
    for (size_t i = 1; i < count; i++)
        if (strcmp(local[i - 1]->symbol, local[i]->symbol) == 0)
            local[i - 1]->is_namesake = local[i]->is_namesake = 1;
    free(local);
    return 0;
}

/* A symbol without a size reaches to the next one, or to the end of its section; one
 * inside another, as a label in a function of assembler, is ignored. */
static int add_spans(struct tt_symbol_table *t)
{
    uint64_t sized_to = 0;

    for (size_t i = 0; i < t->symbols; i++) {
        struct tt_symbol *s = &t->symbol[i];
        const struct tt_span *section = tt_spans_find(&t->code, s->low);
        if (!s->is_sized) {
            if (s->low < sized_to)
                continue;
            s->high = section ? section->high : UINT64_MAX;
            if (i + 1 < t->symbols && t->symbol[i + 1].low < s->high)
                s->high = t->symbol[i + 1].low;
        }
        if (s->is_sized && s->high > sized_to)
            sized_to = s->high;
        if (tt_spans_add(&t->spans, s->low, s->high, (uint32_t)i) != 0)
            return -1;
    }
    tt_spans_sort(&t->spans);
    return 0;
}

static int read_all(struct tt_symbol_table *t)
{
    if (t->is_read)
        return t->is_read;
    t->is_read = -1;
    if (add_symbols(t) != 0 || add_stubs(t) != 0)
        return -1;
    drop_aliases(t);
    if (find_namesakes(t) != 0 || add_spans(t) != 0)
        return -1;
    return t->is_read = 1;
}

/* ── Questions ────────────────────────────────────────────────────────────────────── */

static struct tt_symbol *find_in_order(struct tt_symbol_table *t, uint64_t address)
{
    const struct tt_span *s = read_all(t) > 0 ? tt_spans_find(&t->spans, address) : NULL;

    return s ? &t->symbol[s->item] : NULL;
}

struct tt_symbol *tt_symbol_table_find(struct tt_symbol_table *t, uint64_t address)
{
    const struct tt_span *code = tt_spans_find(&t->code, address);

    if (!t->all || (code && code->item) || t->is_read > 0 ||
        (t->looks == MOST_LOOKS && read_all(t) > 0))
        return find_in_order(t, address);
    t->looks += t->looks < MOST_LOOKS;
    return find_by_looking(t, address); /* also without memory for the order */
}

const struct tt_symbol *tt_symbol_table_whole(struct tt_symbol_table *t, uint64_t address)
{
    return find_in_order(t, address);
}

/* One at another address, where no other name is better.  Each look takes as long as there
 * are symbols, so after some the order is made. */
static int look_for_namesake(struct tt_symbol_table *t, const struct tt_symbol *of)
{
    int looks = 0;

    for (size_t i = 1; i < t->count; i++) {
        const GElf_Sym *s = &t->all[i];
        const struct tt_symbol *ordered;
        const char *name;
        struct tt_symbol best;
        if (GELF_ST_BIND(s->st_info) != STB_LOCAL || s->st_value == of->low)
            continue;
        name = text_of(t, i);
        if (!name || *name != *of->symbol || strcmp(name, of->symbol) != 0 ||
            !counts(t, i))
            continue;
        if (looks++ == MOST_LOOKS && (ordered = find_in_order(t, of->low)))
            return ordered->is_namesake;
        if (find_best(t, s->st_value, &best) && best.is_local &&
            strcmp(best.symbol, name) == 0)
            return 1;
    }
    return 0;
}

int tt_symbol_has_namesake(struct tt_symbol_table *t, const struct tt_symbol *s)
{
    if (!s->is_local || s->is_namesake)
        return s->is_namesake;
    for (const struct tt_found_symbol *f = t->found; f; f = f->next)
        if (s == &f->symbol)
            return look_for_namesake(t, s);
    return 0;
}

/* ── Life ─────────────────────────────────────────────────────────────────────────── */

int tt_symbol_table_init(struct tt_symbol_table *t, Dwfl_Module *module)
{
    int count = dwfl_module_getsymtab(module);

    *t = (struct tt_symbol_table){.module = module};
    if (add_code(t) != 0)
        return -1;
    find_all(t, count);
    return t->all || read_all(t) > 0 ? 0 : -1;
}

void tt_symbol_table_fini(struct tt_symbol_table *t)
{
    for (size_t i = 0; i < t->symbols; i++)
        free(t->symbol[i].name);
    free(t->symbol);
    while (t->found) {
        struct tt_found_symbol *next = t->found->next;
        free(t->found->symbol.name);
        free(t->found);
        t->found = next;
    }
    tt_spans_fini(&t->spans);
    tt_spans_fini(&t->code);
}
