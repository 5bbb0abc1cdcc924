/* SPDX-License-Identifier: MIT */
/* patchable.c - finds the no-ops that the compiler left for switching functions on.
 *
 * Their lists are in separate sections, and only the file has section headers: a loaded
 * module has segments.  The addresses themselves are read from memory, where the loader
 * has relocated them. */
#include "patchable.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sorted.h"

/* ── What is loaded ───────────────────────────────────────────────────────────────── */

struct visit {
    void (*each)(void *, const struct tt_loaded *);
    void *arg;
    struct tt_loaded now;
    uint64_t changes;
    int count;
};

/* 0 if it has no file: it is the system's, or deleted. */
static int name_file(struct tt_loaded *l, const char *name)
{
    ssize_t n;

    if (*name && !strchr(name, '/'))
        return 0;
    if (*name) {
        if (realpath(name, l->path))
            return 1;
        l->path[0] = '\0';
        return errno != ENOENT;
    }
    n = readlink("/proc/self/exe", l->path, sizeof l->path - 1);
    l->path[n > 0 ? n : 0] = '\0';
    return 1;
}

static void find_range(struct tt_loaded *l, const struct dl_phdr_info *info)
{
    l->start = UINTPTR_MAX;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const Elf64_Phdr *p = &info->dlpi_phdr[i];
        uintptr_t start = l->bias + p->p_vaddr;
        if (p->p_type != PT_LOAD)
            continue;
        l->start = start < l->start ? start : l->start;
        l->end = start + p->p_memsz > l->end ? start + p->p_memsz : l->end;
    }
}

static void find_build_id(struct tt_loaded *l, const struct dl_phdr_info *info)
{
    struct tt_image image;
    uint8_t id[TT_BUILD_ID_MAX];
    unsigned size;

    tt_image_of_memory(&image, l->bias, info->dlpi_phdr, info->dlpi_phnum);
    size = tt_image_build_id(&image, id);
    for (unsigned i = 0; i < size; i++)
        (void)snprintf(l->build_id + 2 * (size_t)i, 3, "%02x", id[i]);
    tt_image_fini(&image);
}

static int visit_one(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct visit *v = arg;
    struct tt_loaded *l = &v->now;

    (void)size;
    v->changes = info->dlpi_adds + info->dlpi_subs;
    memset(l, 0, sizeof *l);
    l->bias = info->dlpi_addr;
    l->phdr = info->dlpi_phdr;
    l->phdrs = info->dlpi_phnum;
    find_range(l, info);
    /* The program comes first. */
    if (name_file(l, v->count++ ? info->dlpi_name : "") &&
        ((uintptr_t)visit_one < l->start || (uintptr_t)visit_one >= l->end)) {
        find_build_id(l, info);
        v->each(v->arg, l);
    }
    return 0;
}

uint64_t tt_loaded_each(void (*each)(void *, const struct tt_loaded *), void *arg)
{
    struct visit v = {.each = each, .arg = arg};

    (void)dl_iterate_phdr(visit_one, &v);
    return v.changes;
}

static int read_changes(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    *(uint64_t *)arg = info->dlpi_adds + info->dlpi_subs;
    return 1;
}

uint64_t tt_loaded_changes(void)
{
    uint64_t changes = 0;

    (void)dl_iterate_phdr(read_changes, &changes);
    return changes;
}

/* ── Its file ─────────────────────────────────────────────────────────────────────── */

struct file {
    const char *bytes;
    size_t size;
    const Elf64_Shdr *section;
    unsigned sections;
    const char *names;
    size_t names_size;
};

static const void *bytes_at(const struct file *f, uint64_t offset, uint64_t size)
{
    return offset <= f->size && size <= f->size - offset ? f->bytes + offset : NULL;
}

static int map_file(struct tt_patchable *s, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    void *p = MAP_FAILED;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        return -1;
    s->file = p;
    s->size = (size_t)st.st_size;
    return 0;
}

static int read_sections(struct file *f, const struct tt_patchable *s)
{
    const Elf64_Ehdr *e;
    const Elf64_Shdr *names;

    *f = (struct file){.bytes = s->file, .size = s->size};
    e = bytes_at(f, 0, sizeof *e);
    if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 ||
        e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_shentsize != sizeof *f->section ||
        e->e_shoff % 8)
        return -1;
    f->sections = e->e_shnum;
    f->section = bytes_at(f, e->e_shoff, (uint64_t)e->e_shnum * sizeof *f->section);
    if (!f->section || e->e_shstrndx >= e->e_shnum)
        return -1;
    names = &f->section[e->e_shstrndx];
    f->names = bytes_at(f, names->sh_offset, names->sh_size);
    f->names_size = names->sh_size;
    return f->names && f->names_size && !f->names[f->names_size - 1] ? 0 : -1;
}

static const Elf64_Shdr *find_section(const struct file *f, const char *name)
{
    for (unsigned i = 0; i < f->sections; i++)
        if (f->section[i].sh_name < f->names_size &&
            strcmp(f->names + f->section[i].sh_name, name) == 0)
            return &f->section[i];
    return NULL;
}

/* ── Symbols ──────────────────────────────────────────────────────────────────────── */

struct symbols {
    const Elf64_Sym *at;
    size_t count;
    const char *names;
    size_t names_size;
};

static void read_symbols(struct symbols *s, const struct file *f)
{
    const Elf64_Shdr *table = find_section(f, ".symtab");
    const Elf64_Shdr *names;

    memset(s, 0, sizeof *s);
    if (!table || table->sh_type != SHT_SYMTAB)
        table = find_section(f, ".dynsym");
    if (!table || table->sh_link >= f->sections || table->sh_offset % 8 ||
        (table->sh_type != SHT_SYMTAB && table->sh_type != SHT_DYNSYM))
        return;
    names = &f->section[table->sh_link];
    s->at = bytes_at(f, table->sh_offset, table->sh_size);
    s->names = bytes_at(f, names->sh_offset, names->sh_size);
    s->names_size = names->sh_size;
    if (s->at && s->names && s->names_size && !s->names[s->names_size - 1])
        s->count = table->sh_size / sizeof *s->at;
}

static int is_function(const Elf64_Sym *y)
{
    return ELF64_ST_TYPE(y->st_info) == STT_FUNC && y->st_shndx != SHN_UNDEF;
}

static int compare_found(const void *a, const void *b)
{
    const struct tt_found *x = a, *y = b;

    return TT_ORDER(x->offset, y->offset);
}

static void name_found(struct tt_patchable *s, const struct symbols *symbols)
{
    for (size_t i = 0; i < symbols->count; i++) {
        const Elf64_Sym *y = &symbols->at[i];
        struct tt_found key = {.offset = y->st_value}, *f;

        if (!is_function(y) || y->st_name >= symbols->names_size || !s->count)
            continue;
        f = bsearch(&key, s->found, s->count, sizeof key, compare_found);
        if (f && !f->name)
            f->name = symbols->names + y->st_name;
    }
}

/* ── Sites ────────────────────────────────────────────────────────────────────────── */

#if defined __x86_64__
enum { LANDING = 4 };
static const unsigned char landing[LANDING] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */

/* The no-op at the beginning of a function, after a landing pad of indirect jumps. */
static const unsigned char *nop_at(const unsigned char *p)
{
    static const unsigned char one[5] = {0x0f, 0x1f, 0x44, 0, 0},
                               clang[5] = {0x0f, 0x1f, 0x44, 0, 8},
                               many[5] = {0x90, 0x90, 0x90, 0x90, 0x90};

    if (memcmp(p, landing, LANDING) == 0)
        p += LANDING;
    return memcmp(p, one, 5) == 0 || memcmp(p, clang, 5) == 0 || memcmp(p, many, 5) == 0
               ? p
               : NULL;
}

static const unsigned char *function_of(const unsigned char *nop)
{
    return memcmp(nop - LANDING, landing, LANDING) == 0 ? nop - LANDING : nop;
}

static int is_one(const unsigned char *nop) { return *nop == 0x0f; }
#else
static const unsigned char *nop_at(const unsigned char *p)
{
    (void)p;
    return NULL;
}
static const unsigned char *function_of(const unsigned char *nop) { return nop; }
static int is_one(const unsigned char *nop) { return nop != NULL; }
#endif

struct finding {
    struct tt_patchable *s;
    const struct tt_loaded *l;
    size_t room;
};

/* Is it in a segment with these rights, with some room around it? */
static int is_in(const struct tt_loaded *l, uintptr_t at, size_t around, uint32_t rights)
{
    for (unsigned i = 0; i < l->phdrs; i++) {
        const Elf64_Phdr *p = &l->phdr[i];
        uintptr_t start = l->bias + p->p_vaddr;
        if (p->p_type == PT_LOAD && (p->p_flags & rights) == rights &&
            at - around >= start && at <= start + p->p_filesz - around)
            return 1;
    }
    return 0;
}

static void add_site(struct finding *f, uintptr_t at, int only_one)
{
    enum { AROUND = 16 };
    const unsigned char *nop;
    struct tt_found *more;

    if (!is_in(f->l, at, AROUND, PF_X | PF_R) ||
        !(nop = nop_at((const unsigned char *)at)) || (only_one && !is_one(nop)))
        return;
    if (f->s->count == f->room) {
        size_t room = f->room ? 2 * f->room : 256;
        more = reallocarray(f->s->found, room, sizeof *more);
        if (!more)
            return;
        f->s->found = more;
        f->room = room;
    }
    f->s->found[f->s->count++] = (struct tt_found){
        .at = (char *)(uintptr_t)nop, .offset = (uintptr_t)function_of(nop) - f->l->bias};
}

static int add_listed(struct finding *f, const struct file *file, const char *section)
{
    const Elf64_Shdr *h = find_section(file, section);
    uintptr_t site;

    if (!h || !(h->sh_flags & SHF_ALLOC))
        return 0;
    if (!is_in(f->l, f->l->bias + h->sh_addr, 0, PF_R) ||
        !is_in(f->l, f->l->bias + h->sh_addr + h->sh_size, 0, PF_R))
        return 0;
    for (size_t i = 0; i < h->sh_size / sizeof site; i++) { /* gcc aligns none of them */
        memcpy(&site, (const char *)(f->l->bias + h->sh_addr) + i * sizeof site,
               sizeof site);
        add_site(f, site, 0);
    }
    return 1;
}

/* If there is no list: most functions of a program compiled so begin with no-ops. */
static void add_beginnings(struct finding *f, const struct symbols *symbols)
{
    size_t functions = 0;

    for (size_t i = 0; i < symbols->count; i++) {
        const Elf64_Sym *y = &symbols->at[i];
        if (!is_function(y) || !y->st_size)
            continue;
        functions++;
        add_site(f, f->l->bias + y->st_value, 1);
    }
    if (f->s->count < functions / 2)
        f->s->count = 0;
}

static void drop_doubles(struct tt_patchable *s)
{
    size_t n = 0;

    tt_sort(s->found, s->count, sizeof *s->found, compare_found);
    for (size_t i = 0; i < s->count; i++)
        if (!n || s->found[n - 1].at != s->found[i].at)
            s->found[n++] = s->found[i];
    s->count = n;
}

void tt_patchable_find(struct tt_patchable *s, const struct tt_loaded *l)
{
    struct finding f = {.s = s, .l = l};
    struct symbols symbols;
    struct file file;
    int listed;

    memset(s, 0, sizeof *s);
    if (map_file(s, l->path) != 0 || read_sections(&file, s) != 0)
        return;
    listed = add_listed(&f, &file, "__patchable_function_entries");
    listed |= add_listed(&f, &file, "__mcount_loc");
    read_symbols(&symbols, &file);
    if (!listed)
        add_beginnings(&f, &symbols);
    drop_doubles(s);
    name_found(s, &symbols);
}

void tt_patchable_name(struct tt_patchable *s, const struct tt_loaded *l,
                       struct tt_found *found, size_t count)
{
    struct symbols symbols;
    struct file file;

    *s = (struct tt_patchable){.found = found, .count = count, .borrowed = 1};
    for (size_t i = 0; i < count; i++)
        found[i].name = NULL;
    if (map_file(s, l->path) != 0 || read_sections(&file, s) != 0)
        return;
    read_symbols(&symbols, &file);
    name_found(s, &symbols);
}

void tt_patchable_fini(struct tt_patchable *s)
{
    if (!s->borrowed)
        free(s->found);
    if (s->file)
        munmap(s->file, s->size);
    memset(s, 0, sizeof *s);
}
