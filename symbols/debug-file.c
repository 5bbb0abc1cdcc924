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

#include "debug-cache.h"
#include "image.h"
#include "inlined.h"
#include "symbol-table.h"
#include "tallytree.h"

enum { MOST_SPOTS = 256 };

struct tt_debug_file {
    Dwfl_Callbacks callbacks;
    char *debug_path; /* owned */
    Dwfl *dwfl;
    Dwfl_Module *module;
    struct tt_inlined *inlined; /* NULL: no DWARF */
    struct tt_symbol_table table;
    int fd;                 /* the file's, for */
    struct tt_image image;  /* and, with it */
    struct tt_rules *rules; /* made at the first address that has no name */
    int has_looked, brief;
    int stays_here; /* files apart are not looked for */
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

/* ── Questions ────────────────────────────────────────────────────────────────────── */

/* By the symbol table; uses the line of the function's start. */
static size_t find_by_symbol(struct tt_debug_file *m, uint64_t address)
{
    struct tt_symbol *s = tt_symbol_table_find(&m->table, address);
    struct tt_spot *f = &m->spot[0], start = {.at_file = ""};

    if (!s || !tt_symbol_name(s))
        return 0;
    if (m->inlined)
        (void)tt_inlined_line(m->inlined, s->low, &start);
    f->function = s->name;
    f->file = start.at_file;
    f->line = start.at_line;
    f->column = 0;
    f->start = !*f->file && tt_symbol_has_namesake(&m->table, s) ? s->low : 0;
    return 1;
}

/* Stripped code has its rules for unwinding still, a set of them for each function. */
static uint64_t find_start(struct tt_debug_file *m, uint64_t address)
{
    struct tt_frame_info info;
    const struct tt_function *f = NULL;

    if (!m->has_looked && tt_image_of_file(&m->image, m->fd) == 0) {
        tt_image_map(&m->image);
        if (tt_image_frame_info(&m->image, &info) == 0)
            (void)tt_rules_new(&m->rules, &info);
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
    const struct tt_symbol *s = tt_symbol_table_whole(&m->table, address);
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

/* libdwfl has to open the file that is used: a copy cannot replace what it has found. */
static int find_copy(const struct tt_debug_file *m, Dwfl_Module *module, char **found)
{
    char id[TT_BUILD_ID_SIZE], path[PATH_MAX];
    const unsigned char *bytes;
    GElf_Addr address;
    int count = dwfl_module_build_id(module, &bytes, &address), copy = -1;

    if (count < 2 || count > TT_BUILD_ID_SIZE / 2)
        return -1;
    to_hex(bytes, (size_t)count, id);
    for (const char *f = m->debug_path; copy < 0 && *f; f += *f == ':') {
        int length, fd = -1;
        f += strspn(f, "+-");
        length = (int)strcspn(f, ":");
        if (*f == '/' && snprintf(path, sizeof path, "%.*s/.build-id/%.2s/%s.debug",
                                  length, f, id, id + 2) < (int)sizeof path)
            fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0) {
            copy = tt_debug_cache_open(fd, id, !m->brief);
            close(fd);
        }
        f += length;
    }
    if (copy >= 0 && !(*found = strdup(path))) {
        close(copy);
        return -1;
    }
    return copy;
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
    fd = find_copy(m, module, found);
    if (fd >= 0)
        return fd;
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
    if (m) {
        m->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
        m->brief = brief;
    }
    if (!m || !(m->debug_path = strdup(debug_path)) || begin(m, fd, path) != 0) {
        if (!m || !m->module)
            close(fd);
        goto fail_begin;
    }
    if (tt_symbol_table_init(&m->table, m->module) != 0)
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
    tt_symbol_table_fini(&m->table);
    tt_inlined_free(m->inlined);
    tt_rules_free(m->rules);
    tt_image_fini(&m->image);
    if (m->fd >= 0)
        close(m->fd);
    dwfl_end(m->dwfl);
    free(m->debug_path);
    free(m);
}
