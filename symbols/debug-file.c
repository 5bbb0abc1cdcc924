/* SPDX-License-Identifier: MIT */
/* debug-file.c - names and lines of addresses, from an ELF file and its debug
 * information.
 *
 * DWARF is best: functions, functions inlined into them, lines.  Without it the symbol
 * table has at least functions. libdwfl finds the parts of a file: debug information by
 * build-id or .gnu_debuglink, parts that dwz has moved out of it, and the compressed
 * symbol table in .gnu_debugdata. */
#include "debug-file.h"

#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demangle.h"
#include "image.h"
#include "inlined.h"
#include "plt.h"
#include "sorted.h"
#include "spans.h"
#include "tallytree.h"

enum { MOST_SPOTS = 256, MOST_SYMBOLS = 1 << 26 };

struct symbol {
    const char *symbol; /* borrowed */
    uint64_t low, high;
    unsigned char rank;        /* of several at one address the highest is taken */
    unsigned char is_sized;    /* or its end is only a guess */
    unsigned char is_local;    /* there may be others of this name */
    unsigned char is_namesake; /* there are */
    unsigned char is_stub;
    char *name; /* owned; NULL: not made yet */
};

struct tt_debug_file {
    Dwfl_Callbacks callbacks;
    char *debug_path; /* owned */
    Dwfl *dwfl;
    Dwfl_Module *module;
    struct tt_inlined *inlined; /* NULL: no DWARF */
    struct symbol *symbol;
    size_t symbols, room;
    struct tt_spans spans;      /* of symbols */
    struct tt_spans code;       /* sections with code */
    int fd;                     /* the file's, for */
    struct tt_rules *rules;     /* made at the first address that has no name */
    int has_looked, stays_here; /* files apart are not looked for */
    struct tt_spot spot[MOST_SPOTS];
};

/* ── Build-ids ────────────────────────────────────────────────────────────────────── */

static void to_hex(const unsigned char *bytes, size_t count, char *text)
{
    static const char digit[] = "0123456789abcdef";

    for (size_t i = 0; i < count; i++) {
        text[2 * i] = digit[bytes[i] >> 4];
        text[2 * i + 1] = digit[bytes[i] & 15];
    }
    text[2 * count] = 0;
}

int tt_build_id_of(int fd, char id[TT_BUILD_ID_SIZE])
{
    const void *bytes = NULL;
    ssize_t count;
    Elf *elf;

    *id = 0;
    (void)elf_version(EV_CURRENT);
    elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (elf_kind(elf) != ELF_K_ELF) {
        (void)elf_end(elf);
        return -1;
    }
    count = dwelf_elf_gnu_build_id(elf, &bytes);
    if (count > 0 && (size_t)count <= TT_BUILD_ID_SIZE / 2)
        to_hex(bytes, (size_t)count, id);
    (void)elf_end(elf);
    return 0;
}

/* ── The symbol table ─────────────────────────────────────────────────────────────── */

static struct symbol *add_symbol(struct tt_debug_file *m)
{
    struct symbol *more = m->symbols == MOST_SYMBOLS
                              ? NULL
                              : tt_array_grow(m->symbol, m->symbols, &m->room,
                                              sizeof *more);

    if (!more)
        return NULL;
    m->symbol = more;
    m->symbol[m->symbols] = (struct symbol){0};
    return &m->symbol[m->symbols++];
}

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
static int is_wanted(const struct tt_debug_file *m, const char *name, const GElf_Sym *s,
                     uint64_t address)
{
    int type = GELF_ST_TYPE(s->st_info);

    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE &&
        type != STT_OBJECT)
        return 0;
    if (!name || !*name || *name == '$' || strncmp(name, ".L", 2) == 0)
        return 0;
    if (type == STT_OBJECT)
        return s->st_size != 0 && !tt_spans_find(&m->code, address);
    if (!m->code.count) /* no sections are left */
        return type != STT_NOTYPE;
    return tt_spans_find(&m->code, address) != NULL;
}

static int add_symbols(struct tt_debug_file *m)
{
    int count = dwfl_module_getsymtab(m->module);

    for (int i = 1; i < count; i++) {
        GElf_Sym s;
        GElf_Addr address;
        GElf_Word section;
        const char *name = dwfl_module_getsym_info(m->module, i, &s, &address, &section,
                                                   NULL, NULL);
        struct symbol *added;
        if (!name || section == SHN_UNDEF || section == SHN_ABS ||
            section == (GElf_Word)-1 || !is_wanted(m, name, &s, address))
            continue;
        added = add_symbol(m);
        if (!added)
            return -1;
        *added = (struct symbol){
            .symbol = name,
            .low = address,
            .high = address + s.st_size < address ? UINT64_MAX : address + s.st_size,
            .rank = rank_of(name, &s),
            .is_sized = s.st_size != 0,
            .is_local = GELF_ST_BIND(s.st_info) == STB_LOCAL};
    }
    return 0;
}

static int add_code(struct tt_debug_file *m)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(m->module, &bias);
    Elf_Scn *section = NULL;
    GElf_Shdr h;

    while (elf && (section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, &h) && (h.sh_flags & SHF_ALLOC) &&
            (h.sh_flags & SHF_EXECINSTR) && h.sh_addr + h.sh_size >= h.sh_addr &&
            tt_spans_add(&m->code, h.sh_addr + bias, h.sh_addr + bias + h.sh_size, 0) !=
                0)
            return -1;
    tt_spans_sort(&m->code);
    return 0;
}

/* Stubs of functions in the module itself are named after these. */
static const char *symbol_at(const struct tt_debug_file *m, uint64_t address)
{
    const struct symbol *best = NULL;

    for (size_t i = 0; i < m->symbols; i++) {
        const struct symbol *s = &m->symbol[i];
        if (s->low == address && !s->is_stub && (!best || s->rank > best->rank))
            best = s;
    }
    return best ? best->symbol : NULL;
}

static int add_stub(void *arg, uint64_t low, uint64_t high, const char *symbol,
                    uint64_t to)
{
    struct tt_debug_file *m = arg;
    const char *name = *symbol ? symbol : symbol_at(m, to);
    struct symbol *s = name ? add_symbol(m) : NULL;

    if (s)
        *s = (struct symbol){
            .symbol = name, .low = low, .high = high, .is_sized = 1, .is_stub = 1};
    return name && !s ? -1 : 0;
}

static int add_stubs(struct tt_debug_file *m)
{
    GElf_Addr bias;
    Elf *elf = dwfl_module_getelf(m->module, &bias);

    return elf && bias == 0 ? tt_plt_each(elf, add_stub, m) : 0;
}

static int by_address(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;

    return TT_ORDER(x->low, y->low) ?: TT_ORDER(y->is_sized, x->is_sized)
           ?: TT_ORDER(y->rank, x->rank) ?: TT_ORDER(strlen(y->symbol), strlen(x->symbol))
           ?: strcmp(x->symbol, y->symbol);
}

/* Keeps one symbol for each address, the best; as long as the longest there. */
static void drop_aliases(struct tt_debug_file *m)
{
    size_t kept = 0;

    tt_sort(m->symbol, m->symbols, sizeof *m->symbol, by_address);
    for (size_t i = 0; i < m->symbols; i++) {
        struct symbol *s = kept ? &m->symbol[kept - 1] : NULL;
        if (s && s->low == m->symbol[i].low) {
            if (m->symbol[i].high > s->high)
                s->high = m->symbol[i].high;
        } else {
            m->symbol[kept++] = m->symbol[i];
        }
    }
    m->symbols = kept;
}

static int by_name(const void *a, const void *b)
{
    const struct symbol *x = *(struct symbol *const *)a, *y = *(struct symbol *const *)b;

    return strcmp(x->symbol, y->symbol);
}

/* Static functions may share a name. */
static int find_namesakes(struct tt_debug_file *m)
{
    struct symbol **local = calloc(m->symbols + 1, sizeof(struct symbol *));
    size_t count = 0;

    if (!local)
        return -1;
    for (size_t i = 0; i < m->symbols; i++)
        if (m->symbol[i].is_local)
            local[count++] = &m->symbol[i];
    tt_sort(local, count, sizeof *local, by_name);
    for (size_t i = 1; i < count; i++)
        if (strcmp(local[i - 1]->symbol, local[i]->symbol) == 0)
            local[i - 1]->is_namesake = local[i]->is_namesake = 1;
    free(local);
    return 0;
}

/* A symbol without a size reaches to the next one, or to the end of its section; one
 * inside another, as a label in a function of assembler, is ignored. */
static int add_spans(struct tt_debug_file *m)
{
    uint64_t sized_to = 0;

    for (size_t i = 0; i < m->symbols; i++) {
        struct symbol *s = &m->symbol[i];
        const struct tt_span *section = tt_spans_find(&m->code, s->low);
        if (!s->is_sized) {
            if (s->low < sized_to)
                continue;
            s->high = section ? section->high : UINT64_MAX;
            if (i + 1 < m->symbols && m->symbol[i + 1].low < s->high)
                s->high = m->symbol[i + 1].low;
        }
        if (s->is_sized && s->high > sized_to)
            sized_to = s->high;
        if (tt_spans_add(&m->spans, s->low, s->high, (uint32_t)i) != 0)
            return -1;
    }
    tt_spans_sort(&m->spans);
    return 0;
}

static int read_symbols(struct tt_debug_file *m)
{
    if (add_code(m) != 0 || add_symbols(m) != 0 || add_stubs(m) != 0)
        return -1;
    drop_aliases(m);
    return find_namesakes(m) != 0 ? -1 : add_spans(m);
}

/* ── Questions ────────────────────────────────────────────────────────────────────── */

static struct symbol *find_symbol(struct tt_debug_file *m, uint64_t address)
{
    const struct tt_span *s = tt_spans_find(&m->spans, address);

    return s ? &m->symbol[s->item] : NULL;
}

static const char *name_of(struct symbol *s)
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

/* By the symbol table; uses the line of the function's start. */
static size_t find_by_symbol(struct tt_debug_file *m, uint64_t address)
{
    struct symbol *s = find_symbol(m, address);
    struct tt_spot *f = &m->spot[0], start = {.at_file = ""};

    if (!s || !name_of(s))
        return 0;
    if (m->inlined)
        (void)tt_inlined_line(m->inlined, s->low, &start);
    f->function = s->name;
    f->file = start.at_file;
    f->line = start.at_line;
    f->column = 0;
    f->start = s->is_namesake && !*f->file ? s->low : 0;
    return 1;
}

/* Stripped code has its rules for unwinding still, a set of them for each function. */
static uint64_t find_start(struct tt_debug_file *m, uint64_t address)
{
    struct tt_image image = {.fd = -1};
    struct tt_frame_info info;
    const struct tt_function *f = NULL;

    if (!m->has_looked && tt_image_of_file(&image, m->fd) == 0) {
        if (tt_image_frame_info(&image, &info) == 0)
            (void)tt_rules_new(&m->rules, &info);
        tt_image_fini(&image);
    }
    m->has_looked = 1;
    if (m->rules && address >= m->rules->base)
        (void)tt_rules_find(m->rules, address - m->rules->base, &f);
    return f ? m->rules->base + f->start : 0;
}

void tt_debug_file_find(struct tt_debug_file *m, uint64_t address, int whole,
                        struct tt_spots *spots)
{
    size_t count = 0;

    *spots = (struct tt_spots){.spot = m->spot,
                               .reason = "there is no symbol at some addresses"};
    m->spot[0] = (struct tt_spot){.at_file = ""};
    if (m->inlined)
        count = tt_inlined_find(m->inlined, address, m->spot, MOST_SPOTS);
    if (count && whole)
        count = 1;
    if (!count || !m->spot[0].function) {
        struct tt_spot at = m->spot[0];
        size_t found = find_by_symbol(m, address);
        m->spot[0].at_file = at.at_file;
        m->spot[0].at_line = at.at_line;
        m->spot[0].at_column = at.at_column;
        count = found && count ? count : found;
    }
    for (size_t i = 0; i < count; i++)
        if (!m->spot[i].function)
            m->spot[i].function = "[inlined]";
    spots->count = count;
    if (!count)
        spots->start = find_start(m, address);
}

/* ── Code ─────────────────────────────────────────────────────────────────────────── */

enum { MOST_CODE = 16 << 20 };

/* The segment at an address: its place in the file, and its size from there. */
static int find_segment(Elf *elf, uint64_t address, uint64_t *offset, uint64_t *size)
{
    size_t count = 0;
    GElf_Phdr h;

    if (elf_getphdrnum(elf, &count) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (!gelf_getphdr(elf, (int)i, &h) || h.p_type != PT_LOAD ||
            address < h.p_vaddr || address - h.p_vaddr >= h.p_filesz)
            continue;
        *offset = h.p_offset + (address - h.p_vaddr);
        *size = h.p_filesz - (address - h.p_vaddr);
        return 0;
    }
    return -1;
}

/* A file with debug information alone has the sections of code, and nothing in them. */
static int is_empty(Elf *elf, uint64_t address)
{
    Elf_Scn *section = NULL;
    GElf_Shdr h;

    while ((section = elf_nextscn(elf, section)))
        if (gelf_getshdr(section, &h) && (h.sh_flags & SHF_ALLOC) &&
            address >= h.sh_addr && address - h.sh_addr < h.sh_size)
            return h.sh_type == SHT_NOBITS;
    return 0;
}

static void read_code(struct tt_debug_file *m, struct tt_code *code, uint64_t end)
{
    Elf *elf = elf_begin(m->fd, ELF_C_READ, NULL);
    uint64_t offset, size;
    GElf_Ehdr h;
    ssize_t n = -1;

    if (elf && gelf_getehdr(elf, &h) && !is_empty(elf, code->start) &&
        find_segment(elf, code->start, &offset, &size) == 0) {
        code->machine = h.e_machine;
        size = end - code->start < size ? end - code->start : size;
        code->bytes = size && size <= MOST_CODE ? malloc(size) : NULL;
        n = code->bytes ? pread(m->fd, code->bytes, size, (off_t)offset) : -1;
    }
    code->size = n > 0 ? (size_t)n : 0;
    if (n <= 0) {
        free(code->bytes);
        code->bytes = NULL;
        code->reason = "its file has no code there";
    }
    (void)elf_end(elf);
}

/* A function that has no symbol begins where its rules for unwinding do, and ends where the
 * next one begins. */
void tt_debug_file_code(struct tt_debug_file *m, uint64_t address, struct tt_code *code)
{
    const struct symbol *s = find_symbol(m, address);
    const struct tt_function *f = NULL;
    uint64_t end = 0;

    *code = (struct tt_code){.reason = "its file has no function there"};
    if (s) {
        code->start = s->low;
        end = s->high;
    } else if ((code->start = find_start(m, address)) != 0) {
        (void)tt_rules_find(m->rules, address - m->rules->base, &f);
        end = f ? m->rules->base + f->end : 0;
    }
    if (end > address)
        read_code(m, code, end);
}

/* ── Life ─────────────────────────────────────────────────────────────────────────── */

static int no_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
                  char **file_name, Elf **elf)
{
    (void)module, (void)data, (void)name, (void)base, (void)file_name, (void)elf;
    return -1;
}

static int is_there(const char *folder, size_t length, const char *within,
                    size_t within_length, const char *name)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%.*s/%.*s/%s", (int)length, folder,
                     (int)within_length, within, name);

    return n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0;
}

/* In a separate folder, debug information is below the file's path, or below that without
 * some of its first folders. */
static int is_below(const char *folder, size_t length, const char *within, size_t size,
                    const char *name)
{
    int found = is_there(folder, length, ".dwz", 4, name) ||
                is_there(folder, length, "", 0, name);
    const char *end = within + size;

    while (!found && within) {
        found = is_there(folder, length, within, (size_t)(end - within), name);
        within = memchr(within, '/', (size_t)(end - within));
        within += within != NULL;
    }
    return found;
}

/* May libdwfl find a file of that name for `path`?  `beside`: also in the folder of
 * `path`. */
static int has_file(const char *folders, const char *path, const char *name, int beside)
{
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) : 0, length;
    int found = 0;

    for (const char *f = folders + strspn(folders, "+-"); !found; f += length + 1) {
        length = strcspn(f, ":");
        if (*f == '/')
            found = is_below(f, length, path, size, name);
        else if (beside)
            found = is_there(path, size, f, length, name);
        if (!f[length])
            break;
    }
    return found;
}

/* Without a link it has the name of the file, or that with .debug appended. */
static int has_namesake(const char *folders, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    char *guess = NULL;
    int found = has_file(folders, path, name, 0) ||
                (asprintf(&guess, "%s.debug", name) >= 0 &&
                 has_file(folders, path, guess, 1));

    free(guess);
    return found;
}

static int may_be_found(const struct tt_debug_file *m, const char *path, const char *link)
{
    char *real = realpath(path, NULL);
    const char *paths[] = {path, real};
    int found = link && *link == '/' && access(link, F_OK) == 0;

    for (int i = 0; i < 2 && paths[i] && !found; i++)
        found = link ? has_file(m->debug_path, paths[i], link, 1)
                     : has_namesake(m->debug_path, paths[i]);
    free(real);
    return found;
}

/* libdwfl loads libdebuginfod, and some thirty libraries with it, for each file without
 * debug information, even if no server is to be used. */
static int find_debuginfo(Dwfl_Module *module, void **data, const char *name,
                          Dwarf_Addr base, const char *path, const char *link,
                          GElf_Word checksum, char **found)
{
    const struct tt_debug_file *m = *data;
    int fd;

    if (m->stays_here)
        return -1;

    if (!getenv("DEBUGINFOD_URLS")) {
        fd = dwfl_build_id_find_debuginfo(module, data, name, base, path, link, checksum,
                                          found);
        if (fd >= 0 || !path || !may_be_found(m, path, link))
            return fd;
    }
    return dwfl_standard_find_debuginfo(module, data, name, base, path, link, checksum,
                                        found);
}

static int begin(struct tt_debug_file *m, int fd, const char *path)
{
    void **data;

    m->callbacks = (Dwfl_Callbacks){.find_elf = no_elf,
                                    .find_debuginfo = find_debuginfo,
                                    .debuginfo_path = &m->debug_path};
    m->dwfl = dwfl_begin(&m->callbacks);
    if (!m->dwfl)
        return -1;
    dwfl_report_begin(m->dwfl);
    m->module = dwfl_report_elf(m->dwfl, path, path, fd, 0, true);
    if (m->module &&
        dwfl_module_info(m->module, &data, NULL, NULL, NULL, NULL, NULL, NULL))
        *data = m;
    return m->module && dwfl_report_end(m->dwfl, NULL, NULL) == 0 ? 0 : -1;
}

/* Whether its symbols were in a file apart, where its DWARF is, too. */
static int has_file_apart(const struct tt_debug_file *m)
{
    const char *apart = NULL;

    return dwfl_module_info(m->module, NULL, NULL, NULL, NULL, NULL, NULL, &apart) &&
           apart;
}

struct tt_debug_file *tt_debug_file_open(int fd, const char *path, const char *debug_path,
                                         int brief)
{
    struct tt_debug_file *m = calloc(1, sizeof *m);
    Dwarf_Addr bias;
    Dwarf *dwarf;

    (void)elf_version(EV_CURRENT);
    if (m)
        m->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (!m || !(m->debug_path = strdup(debug_path)) || begin(m, fd, path) != 0) {
        if (!m || !m->module)
            close(fd);
        goto fail_begin;
    }
    if (read_symbols(m) != 0)
        goto fail_begin;
    if (brief && has_file_apart(m))
        return m;
    m->stays_here = brief;
    dwarf = dwfl_module_getdwarf(m->module, &bias);
    if (dwarf && !(m->inlined = tt_inlined_new(dwarf, bias)))
        goto fail_begin;
    return m;
fail_begin:
    tt_debug_file_close(m);
    return NULL;
}

void tt_debug_file_close(struct tt_debug_file *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->symbols; i++)
        free(m->symbol[i].name);
    free(m->symbol);
    tt_spans_fini(&m->spans);
    tt_spans_fini(&m->code);
    tt_inlined_free(m->inlined);
    tt_rules_free(m->rules);
    if (m->fd >= 0)
        close(m->fd);
    dwfl_end(m->dwfl);
    free(m->debug_path);
    free(m);
}
