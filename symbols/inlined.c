/* SPDX-License-Identifier: MIT */
/* inlined.c - from an address to functions and lines, by a module's DWARF.
 *
 *      units ── by address ──► unit ── by address ──► scope ─ parent ─► scope ─ … ─► 0
 *                               │                     inlined           function
 *                               └── line table
 *
 * A unit is walked once, at the first look-up of an address in it; from then on an
 * address is two binary searches.  The results of walks are dropped when they are too
 * many.
 *
 * Functions that no other file can see have no name in the symbol table, in C++ too;
 * their qualifiers come from their declaration.
 *
 * The data may be damaged or malicious: a walk only goes forward in its section, so that
 * it ends, and its depth is limited. */
#include "inlined.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "assertion.h"
#include "demangle.h"
#include "memory.h"
#include "source-paths.h"
#include "spans.h"

enum {
    OWN_ORDER = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB
};
enum { DEEPEST = 512, MOST_SCOPES = 1 << 21, MOST_PER_UNIT = 1 << 24 };

struct qualifier {    /* a namespace, a class, or a function that contains others */
    const char *name; /* borrowed; NULL: unnamed */
    uint32_t outer;   /* qualifier + 1; 0: none */
    int is_namespace;
};

struct scope { /* a function, or an inlined one; in the order of the section */
    Dwarf_Die die;
    uint32_t parent;    /* scope + 1; 0: a separate function */
    uint32_t qualifier; /* + 1; 0: none */
    int known;          /* are the following fields set? */
    char *name;         /* owned */
    struct tt_spot spot;
};

struct unit {
    Dwarf_Die die;          /* where its lines are */
    struct tt_spans ranges; /* if it was found by the list */
    int walked;
    struct tt_spans spans; /* of scopes */
    struct scope *scope;   /* owned */
    size_t scopes, room;
    struct qualifier *qualifier; /* owned */
    size_t qualifiers, qualifiers_room;
};

struct listed {      /* a unit in the section .debug_aranges */
    uint64_t offset; /* of its header */
    uint32_t unit;   /* + 1; 0: it was not needed so far */
};

struct tt_inlined {
    Dwarf *dwarf; /* borrowed */
    uint64_t bias;
    struct unit *unit; /* owned */
    size_t units, room;
    struct tt_spans spans; /* of all units, once they are known */
    int knows_all;
    struct listed *listed; /* owned */
    size_t lists, lists_room;
    struct tt_spans listed_spans; /* of those listed */
    size_t scopes;                /* of all units */
    struct tt_source_paths paths;
};

/* ── Scopes ───────────────────────────────────────────────────────────────────────── */

static int add_ranges(struct tt_spans *spans, Dwarf_Die *die, uint32_t item)
{
    Dwarf_Addr base, low, high;
    ptrdiff_t at = 0, before = 0;
    int error = 0;

    while (!error && (at = dwarf_ranges(die, before, &base, &low, &high)) > 0) {
        if (at == before) /* it would not end */
            break;
        if (low) /* or the linker has thrown it away */
            error = tt_spans_add(spans, low, high, item);
        before = at;
    }
    return error;
}

static struct scope *add_scope(struct unit *u)
{
    struct scope *more = u->scopes == MOST_PER_UNIT
                             ? NULL
                             : tt_array_grow(u->scope, u->scopes, &u->room, sizeof *more);

    if (!more)
        return NULL;
    u->scope = more;
    u->scope[u->scopes] = (struct scope){0};
    return &u->scope[u->scopes++];
}

/* The qualifier of names inside a DIE, given that around it; -1: no memory. */
static int64_t qualifier_of(struct unit *u, Dwarf_Die *die, int tag, uint32_t around)
{
    struct qualifier *more;

    if (tag != DW_TAG_subprogram && tag != DW_TAG_namespace && tag != DW_TAG_module &&
        tag != DW_TAG_class_type && tag != DW_TAG_structure_type &&
        tag != DW_TAG_union_type)
        return around;
    if (u->qualifiers == MOST_PER_UNIT)
        return -1;
    more = tt_array_grow(u->qualifier, u->qualifiers, &u->qualifiers_room, sizeof *more);
    if (!more)
        return -1;
    u->qualifier = more;
    u->qualifier[u->qualifiers++] = (struct qualifier){.name = dwarf_diename(die),
                                                       .outer = around,
                                                       .is_namespace = tag ==
                                                                       DW_TAG_namespace};
    return (int64_t)u->qualifiers;
}

/* May it contain functions, or inlined ones? */
static int is_walked_into(int tag)
{
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_with_stmt:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
    case DW_TAG_interface_type:
    case DW_TAG_enumeration_type:
    case DW_TAG_call_site:
    case DW_TAG_GNU_call_site:
        return 1;
    default:
        return 0;
    }
}

/* The scope that things below a DIE are in, given the one around it; -1: no memory. */
static int64_t scope_of(struct unit *u, Dwarf_Die *die, int tag, uint32_t around,
                        uint32_t qualifier)
{
    struct scope *s;

    if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
        return around;
    s = add_scope(u);
    if (!s || add_ranges(&u->spans, die, (uint32_t)u->scopes - 1) != 0)
        return -1;
    s->die = *die;
    s->qualifier = qualifier;
    s->parent = tag == DW_TAG_inlined_subroutine ? around : 0;
    return (int64_t)u->scopes;
}

struct place {
    Dwarf_Die die;
    uint32_t around, qualifier;
};

/* Goes to the next DIE of a level; only forward. */
static int go_on(struct place *p)
{
    Dwarf_Off at = dwarf_dieoffset(&p->die);
    Dwarf_Die next;

    if (dwarf_siblingof(&p->die, &next) != 0 || dwarf_dieoffset(&next) <= at)
        return 0;
    p->die = next;
    return 1;
}

/* Where a unit's functions are: of split DWARF, in another file, which is opened only now. */
static Dwarf_Die body_of(const struct unit *u)
{
    Dwarf_Die sub;
    uint8_t type;

    if (dwarf_cu_info(u->die.cu, NULL, &type, NULL, &sub, NULL, NULL, NULL) == 0 &&
        type == DW_UT_skeleton && dwarf_tag(&sub) == DW_TAG_compile_unit)
        return sub;
    return u->die;
}

static void walk(struct unit *u)
{
    struct place *path = calloc(DEEPEST, sizeof *path);
    Dwarf_Die body = body_of(u);
    int depth = 0;

    u->walked = 1;
    if (!path || dwarf_child(&body, &path[0].die) != 0) {
        free(path);
        return;
    }
    while (depth >= 0) {
        struct place *p = &path[depth];
        int tag = dwarf_tag(&p->die);
        int64_t around = scope_of(u, &p->die, tag, p->around, p->qualifier),
                qualifier = -1;
        if (around < 0)
            break;
        if (depth + 1 < DEEPEST && is_walked_into(tag) &&
            dwarf_child(&p->die, &p[1].die) == 0) {
            qualifier = qualifier_of(u, &p->die, tag, p->qualifier);
            if (qualifier < 0)
                break;
            p[1].around = (uint32_t)around;
            p[1].qualifier = (uint32_t)qualifier;
            depth++;
            continue;
        }
        while (depth >= 0 && !go_on(&path[depth]))
            depth--;
    }
    free(path);
    tt_spans_sort(&u->spans);
}

static void forget(struct unit *u)
{
    for (size_t i = 0; i < u->scopes; i++)
        free(u->scope[i].name);
    free(u->scope);
    free(u->qualifier);
    tt_spans_fini(&u->spans);
    u->scope = NULL;
    u->qualifier = NULL;
    u->scopes = u->room = 0;
    u->qualifiers = u->qualifiers_room = 0;
    u->walked = 0;
}

/* ── Units ────────────────────────────────────────────────────────────────────────── */

static struct unit *add_unit(struct tt_inlined *x)
{
    struct unit *more = x->units < INT32_MAX
                            ? tt_array_grow(x->unit, x->units, &x->room, sizeof *more)
                            : NULL;

    if (!more)
        return NULL;
    x->unit = more;
    x->unit[x->units] = (struct unit){0};
    return &x->unit[x->units++];
}

static int is_unit(Dwarf_Die *die)
{
    return dwarf_tag(die) == DW_TAG_compile_unit ||
           dwarf_tag(die) == DW_TAG_skeleton_unit;
}

/* One that was in the list, among the first `count`; NULL: it was not needed so far. */
static struct unit *known_unit(struct tt_inlined *x, size_t count, Dwarf_Die *die)
{
    const Dwarf_Off offset = dwarf_dieoffset(die);

    for (size_t i = 0; i < count; i++)
        if (dwarf_dieoffset(&x->unit[i].die) == offset)
            return &x->unit[i];
    return NULL;
}

/* This takes as long as the module has units, and as much memory.  Without memory, none is found. */
static void find_units(struct tt_inlined *x)
{
    const size_t before = x->units;
    Dwarf_CU *cu = NULL;
    Dwarf_Die die;

    x->knows_all = 1;
    while (dwarf_get_units(x->dwarf, cu, &cu, NULL, NULL, &die, NULL) == 0) {
        struct unit *u;
        if (!is_unit(&die))
            continue;
        u = known_unit(x, before, &die);
        if (!u && (u = add_unit(x)))
            u->die = die;
        if (!u || add_ranges(&x->spans, &die, (uint32_t)(u - x->unit)) != 0) {
            tt_spans_fini(&x->spans);
            return;
        }
    }
    tt_spans_sort(&x->spans);
}

/* ── Units that the compiler has listed ───────────────────────────────────────────── */

struct bytes {
    const unsigned char *at, *end;
};

/* 0 beyond the end, which then is reached. */
static uint64_t take(struct bytes *b, size_t size)
{
    uint64_t value = 0;

    if ((size_t)(b->end - b->at) < size) {
        b->at = b->end;
        return 0;
    }
    TT_ASSERT(size <= sizeof value);
    memcpy(&value, b->at, size);
    b->at += size;
    return value;
}

/* Ranges of a unit: pairs of an address and a length, aligned to their size, and a pair of
 * zeros.  Returns 0, or less: it is of an unknown form, or there is no memory. */
static int read_list(struct tt_inlined *x, struct bytes *all)
{
    const unsigned char *begin = all->at;
    uint64_t size = take(all, 4), version, offset, low, length;
    const size_t wide = size == UINT32_MAX ? 8 : 4;
    size_t address, segment;
    struct listed *more;
    struct bytes b;

    size = wide == 8 ? take(all, 8) : size;
    if (size > (size_t)(all->end - all->at))
        return -1;
    b = (struct bytes){all->at, all->at + size};
    all->at += size;
    version = take(&b, 2);
    offset = take(&b, wide);
    address = (size_t)take(&b, 1);
    segment = (size_t)take(&b, 1);
    if (version != 2 || (address != 8 && address != 4) || segment)
        return -1;
    more = tt_array_grow(x->listed, x->lists, &x->lists_room, sizeof *more);
    if (!more)
        return -1;
    x->listed = more;
    x->listed[x->lists] = (struct listed){.offset = offset};
    (void)take(&b,
               (2 * address - (size_t)(b.at - begin) % (2 * address)) % (2 * address));
    while (b.at < b.end) {
        low = take(&b, address);
        length = take(&b, address);
        if (low && tt_spans_add(&x->listed_spans, low, low + length, (uint32_t)x->lists))
            return -1;
    }
    x->lists++;
    return 0;
}

static void drop_list(struct tt_inlined *x)
{
    free(x->listed);
    x->listed = NULL;
    x->lists = x->lists_room = 0;
    tt_spans_fini(&x->listed_spans);
}

/* libdw's own reader of it opens each unit. */
static void read_lists(struct tt_inlined *x)
{
    Elf *elf = dwarf_getelf(x->dwarf);
    const Elf_Data *data = NULL;
    Elf_Scn *section = NULL;
    struct bytes b;
    size_t names;
    GElf_Ehdr file;
    GElf_Shdr h;

    if (!gelf_getehdr(elf, &file) || (file.e_type != ET_EXEC && file.e_type != ET_DYN) ||
        file.e_ident[EI_DATA] != OWN_ORDER || elf_getshdrstrndx(elf, &names) != 0)
        return;
    while (!data && (section = elf_nextscn(elf, section))) {
        const char *name = gelf_getshdr(section, &h) ? elf_strptr(elf, names, h.sh_name)
                                                     : NULL;
        if (name && strcmp(name, ".debug_aranges") == 0 && h.sh_type != SHT_NOBITS)
            data = elf_getdata(section, NULL);
    }
    if (!data || !data->d_buf)
        return;
    b = (struct bytes){data->d_buf, (unsigned char *)data->d_buf + data->d_size};
    while (b.at < b.end)
        if (read_list(x, &b) != 0) {
            drop_list(x);
            return;
        }
    tt_spans_sort(&x->listed_spans);
}

static int open_listed(struct tt_inlined *x, struct listed *l)
{
    size_t header;
    Dwarf_Off next;
    struct unit *u;
    Dwarf_Die die;

    if (dwarf_next_unit(x->dwarf, l->offset, &next, &header, NULL, NULL, NULL, NULL, NULL,
                        NULL) != 0 ||
        !dwarf_offdie(x->dwarf, l->offset + header, &die) || !is_unit(&die) ||
        !(u = add_unit(x)))
        return -1;
    u->die = die;
    l->unit = (uint32_t)x->units;
    if (add_ranges(&u->ranges, &die, 0) != 0)
        return -1;
    tt_spans_sort(&u->ranges);
    return 0;
}

/* NULL: the list does not have it, or is wrong.  It may lack units of other compilers. */
static struct unit *listed_unit(struct tt_inlined *x, uint64_t address)
{
    const struct tt_span *s = tt_spans_find(&x->listed_spans, address);
    struct listed *l = s ? &x->listed[s->item] : NULL;
    struct unit *u;

    if (!l || (!l->unit && open_listed(x, l) != 0))
        return NULL;
    u = &x->unit[l->unit - 1];
    return tt_spans_find(&u->ranges, address) ? u : NULL;
}

static struct unit *unit_at(struct tt_inlined *x, uint64_t address)
{
    struct unit *u = x->knows_all ? NULL : listed_unit(x, address);
    const struct tt_span *s;

    if (u)
        return u;
    if (!x->knows_all)
        find_units(x);
    s = tt_spans_find(&x->spans, address);
    return s ? &x->unit[s->item] : NULL;
}

static struct scope *scope_at(struct tt_inlined *x, struct unit *u, uint64_t address)
{
    const struct tt_span *s;

    if (!u->walked) {
        for (size_t i = 0; x->scopes > MOST_SCOPES && i < x->units; i++)
            forget(&x->unit[i]);
        x->scopes = x->scopes > MOST_SCOPES ? 0 : x->scopes;
        walk(u);
        x->scopes += u->scopes;
    }
    s = tt_spans_find(&u->spans, address);
    return s ? &u->scope[s->item] : NULL;
}

/* ── Names and places ─────────────────────────────────────────────────────────────── */

static const char *string_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    const char *text = dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));

    return text && *text ? text : NULL;
}

/* The scope of a DIE of this unit; NULL: none. */
static const struct scope *scope_of_die(const struct unit *u, Dwarf_Die *wanted)
{
    size_t low = 0, high = u->scopes;
    Dwarf_Off at = dwarf_dieoffset(wanted);
    Dwarf_Die die;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        die = u->scope[middle].die;
        if (dwarf_dieoffset(&die) < at)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == u->scopes)
        return NULL;
    die = u->scope[low].die;
    return die.addr == wanted->addr ? &u->scope[low] : NULL;
}

/* The declaration that a scope is an instance of; NULL: it is of another unit. */
static const struct scope *declaration_of(const struct unit *u, const struct scope *s)
{
    static const unsigned ways[] = {DW_AT_abstract_origin, DW_AT_specification};

    for (size_t i = 0; s && i < sizeof ways / sizeof *ways; i++) {
        Dwarf_Attribute attribute;
        Dwarf_Die die = s->die, origin;
        if (dwarf_attr(&die, ways[i], &attribute))
            s = dwarf_formref_die(&attribute, &origin) ? scope_of_die(u, &origin) : NULL;
    }
    return s;
}

static char *put_before(char *end, const char *text)
{
    for (size_t length = strlen(text); length; length--)
        *--end = text[length - 1];
    return end;
}

/* Puts "outer::inner::" before `end`; returns its begin. */
static char *put_qualifiers(const struct unit *u, uint32_t at, char *start, char *end)
{
    for (; at; at = u->qualifier[at - 1].outer) {
        const struct qualifier *q = &u->qualifier[at - 1];
        const char *name = q->name           ? q->name
                           : q->is_namespace ? "(anonymous namespace)"
                                             : "(anonymous class)";
        if ((size_t)(end - start) < strlen(name) + 2)
            break;
        end = put_before(put_before(end, "::"), name);
    }
    return end;
}

/* A linkage name contains all qualifiers; a name that is only known in its own source
 * file is short. */
static char *name_of(const struct unit *u, struct scope *s)
{
    enum { LONGEST = 4096 };
    const char *text = string_of(&s->die, DW_AT_linkage_name);
    const struct scope *declared;
    char full[LONGEST], *start;
    size_t length;

    if (!text)
        text = string_of(&s->die, DW_AT_MIPS_linkage_name);
    if (text)
        return tt_demangle(text);
    text = string_of(&s->die, DW_AT_name);
    length = text ? strlen(text) + 1 : LONGEST;
    if (length >= LONGEST)
        return text ? strdup(text) : NULL;
    start = full + LONGEST - length;
    memcpy(start, text, length);
    declared = declaration_of(u, s);
    return strdup(put_qualifiers(u, declared ? declared->qualifier : 0, full, start));
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number;

    if (dwarf_formudata(dwarf_attr(die, name, &attribute), &number) != 0 ||
        number > INT32_MAX)
        return 0;
    return (uint32_t)number;
}

static const char *path_of(struct tt_inlined *x, struct unit *u, const char *file)
{
    Dwarf_Attribute attribute;

    if (!file)
        return "";
    return tt_source_paths_get(
        &x->paths, dwarf_formstring(dwarf_attr(&u->die, DW_AT_comp_dir, &attribute)),
        file);
}

/* The file that an attribute numbers, in the table of the unit it comes from; or NULL. */
static const char *file_of(Dwarf_Attribute *attribute)
{
    Dwarf_Word index;
    Dwarf_Files *files;
    Dwarf_Die unit;
    size_t count;

    if (!attribute || dwarf_formudata(attribute, &index) != 0 ||
        !dwarf_cu_die(attribute->cu, &unit, NULL, NULL, NULL, NULL, NULL, NULL) ||
        dwarf_getsrcfiles(&unit, &files, &count) != 0 || index >= count)
        return NULL;
    return dwarf_filesrc(files, index, NULL, NULL);
}

/* Finds its declaration, and its call site. */
static void learn(struct tt_inlined *x, struct unit *u, struct scope *s)
{
    struct tt_spot *f = &s->spot;
    Dwarf_Attribute attribute;
    int line;

    s->known = 1;
    s->name = name_of(u, s);
    f->function = s->name;
    f->file = path_of(
        x, u, file_of(dwarf_attr_integrate(&s->die, DW_AT_decl_file, &attribute)));
    f->line = dwarf_decl_line(&s->die, &line) == 0 && line > 0 ? (uint32_t)line : 0;
    f->at_file = "";
    if (!s->parent)
        return;
    f->at_file = path_of(x, u, file_of(dwarf_attr(&s->die, DW_AT_call_file, &attribute)));
    f->at_line = number_of(&s->die, DW_AT_call_line);
    f->at_column = number_of(&s->die, DW_AT_call_column);
}

static int line_at(struct tt_inlined *x, struct unit *u, uint64_t address,
                   struct tt_spot *f)
{
    Dwarf_Line *line = dwarf_getsrc_die(&u->die, address);
    const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    int number = 0, column = 0;

    f->at_file = path_of(x, u, file);
    (void)dwarf_lineno(line, &number);
    (void)dwarf_linecol(line, &column);
    f->at_line = file && number > 0 ? (uint32_t)number : 0;
    f->at_column = file && column > 0 ? (uint32_t)column : 0;
    return file != NULL;
}

int tt_inlined_line(struct tt_inlined *x, uint64_t address, struct tt_spot *f)
{
    struct unit *u = unit_at(x, address - x->bias);

    return u && line_at(x, u, address - x->bias, f);
}

size_t tt_inlined_find(struct tt_inlined *x, uint64_t address, struct tt_spot *spot,
                       size_t most)
{
    struct unit *u = unit_at(x, address - x->bias);
    struct scope *s, *innermost;
    struct tt_spot at = {.at_file = ""};
    size_t count = 0, depth;

    spot[0] = at;
    if (!u)
        return 0;
    (void)line_at(x, u, address - x->bias, &at);
    spot[0] = at;
    innermost = scope_at(x, u, address - x->bias);
    for (s = innermost; s; s = s->parent ? &u->scope[s->parent - 1] : NULL)
        count++;
    depth = count;
    for (s = innermost; s; s = s->parent ? &u->scope[s->parent - 1] : NULL) {
        if (!s->known)
            learn(x, u, s);
        if (--depth < most) {
            spot[depth] = s->spot;
            spot[depth].at_file = at.at_file;
            spot[depth].at_line = at.at_line;
            spot[depth].at_column = at.at_column;
        }
        at = s->spot;
    }
    return count < most ? count : most;
}

/* ── Life ─────────────────────────────────────────────────────────────────────────── */

struct tt_inlined *tt_inlined_new(Dwarf *dwarf, uint64_t bias)
{
    struct tt_inlined *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->dwarf = dwarf;
    x->bias = bias;
    read_lists(x);
    return x;
}

void tt_inlined_free(struct tt_inlined *x)
{
    if (!x)
        return;
    for (size_t i = 0; i < x->units; i++) {
        forget(&x->unit[i]);
        tt_spans_fini(&x->unit[i].ranges);
    }
    free(x->unit);
    tt_spans_fini(&x->spans);
    drop_list(x);
    tt_source_paths_fini(&x->paths);
    free(x);
}
