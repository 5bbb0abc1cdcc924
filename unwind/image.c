/* SPDX-License-Identifier: MIT */
/* image.c - the parts of an ELF object that unwinding needs, found by its program
 * headers.
 *
 * A part of the object is a link-time address and a size.  In memory it is there already;
 * from a file it is read, or mapped if the caller asks for it: a file that shrinks while it is
 * mapped kills the reader. */
#include "image.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "byte-reader.h"
#include "tallytree.h"

#if defined __x86_64__
enum { MACHINE = EM_X86_64 };
#else
enum { MACHINE = EM_AARCH64 };
#endif

enum { PHDRS_MAX = 1024 };

void tt_image_of_memory(struct tt_image *i, uint64_t bias, const Elf64_Phdr *phdr,
                        unsigned n)
{
    memset(i, 0, sizeof *i);
    i->fd = -1;
    i->bias = bias;
    i->phdr = phdr;
    i->phdrs = n;
}

void tt_image_fini(struct tt_image *i)
{
    tt_mapped_array_fini(&i->headers);
    tt_mapped_array_fini(&i->contents);
    tt_mapped_array_fini(&i->table);
    tt_mapped_array_fini(&i->debug);
    if (i->map)
        munmap((void *)(uintptr_t)i->map, i->map_size);
    i->map = NULL;
}

int tt_image_lies_at(struct tt_image *i, uint64_t start, uint64_t offset)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

    for (unsigned n = 0; n < i->phdrs; n++) {
        const Elf64_Phdr *p = &i->phdr[n];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) ||
            offset < p->p_offset / page * page || offset >= p->p_offset + p->p_filesz)
            continue;
        i->bias = start - (p->p_vaddr - p->p_offset % page) -
                  (offset - p->p_offset / page * page);
        return 1;
    }
    return 0;
}

/* ── Files ────────────────────────────────────────────────────────────────────────── */

static int read_fully(int fd, void *to, size_t size, uint64_t at)
{
    char *next = to;

    while (size) {
        ssize_t n = at <= INT64_MAX ? pread(fd, next, size, (off_t)at) : 0;
        if (n <= 0)
            return -TT_ERR_FILE;
        next += n;
        at += (uint64_t)n;
        size -= (size_t)n;
    }
    return 0;
}

int tt_image_of_file(struct tt_image *i, int fd)
{
    Elf64_Ehdr *h = &i->header;
    size_t size;
    void *to;

    memset(i, 0, sizeof *i);
    i->fd = fd;
    if (read_fully(fd, h, sizeof *h, 0) != 0 ||
        memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_machine != MACHINE ||
        h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phnum > PHDRS_MAX)
        return -TT_ERR_FORMAT;
    size = h->e_phnum * sizeof(Elf64_Phdr);
    if (!(to = tt_mapped_array_add(&i->headers, size)))
        return -TT_ERR_MEMORY;
    i->phdr = to;
    i->phdrs = h->e_phnum;
    if (read_fully(fd, to, size, h->e_phoff) != 0) {
        tt_image_fini(i);
        return -TT_ERR_FORMAT;
    }
    return 0;
}

void tt_image_map(struct tt_image *i)
{
    struct stat s;
    void *map;

    if (i->map || fstat(i->fd, &s) != 0 || s.st_size <= 0)
        return;
    map = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, i->fd, 0);
    if (map == MAP_FAILED)
        return;
    i->map = map;
    i->map_size = (size_t)s.st_size;
}

/* ── Parts ────────────────────────────────────────────────────────────────────────── */

/* The segment that has the address, and how much of the file's bytes follow there. */
static const Elf64_Phdr *find_segment(const struct tt_image *i, uint64_t address,
                                      uint64_t *left)
{
    for (unsigned n = 0; n < i->phdrs; n++) {
        const Elf64_Phdr *p = &i->phdr[n];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_R) && address >= p->p_vaddr &&
            address - p->p_vaddr < p->p_filesz) {
            *left = p->p_filesz - (address - p->p_vaddr);
            return p;
        }
    }
    return NULL;
}

/* Bytes of the mapped file; NULL: it is shorter. */
static const uint8_t *mapped_part(const struct tt_image *i, uint64_t at, size_t size)
{
    return at <= i->map_size && size <= i->map_size - at ? i->map + at : NULL;
}

/* The bytes at the address, *size at most; sets *size to how many there are; NULL: none.
 * Those of a file that is not mapped are read into `room`, replacing its contents. */
static const uint8_t *part(struct tt_image *i, struct tt_mapped_array *room,
                           uint64_t address, size_t *size)
{
    uint64_t left = 0;
    const Elf64_Phdr *p = find_segment(i, address, &left);
    void *to;

    if (!p)
        return NULL;
    if (left < *size)
        *size = (size_t)left;
    if (i->fd < 0)
        return (const uint8_t *)(uintptr_t)(i->bias + address);
    if (i->map)
        return mapped_part(i, p->p_offset + (address - p->p_vaddr), *size);
    room->used = 0;
    if (!(to = tt_mapped_array_add(room, *size)) ||
        read_fully(i->fd, to, *size, p->p_offset + (address - p->p_vaddr)) != 0)
        return NULL;
    return to;
}

int tt_image_read(const struct tt_image *i, uint64_t address, void *to, size_t size)
{
    uint64_t left = 0;
    const Elf64_Phdr *p = find_segment(i, address, &left);

    if (!p || left < size || i->fd < 0)
        return -TT_ERR_FORMAT;
    return read_fully(i->fd, to, size, p->p_offset + (address - p->p_vaddr)) == 0
               ? 0
               : -TT_ERR_FORMAT;
}

static const Elf64_Phdr *find_header(const struct tt_image *i, uint32_t type)
{
    for (unsigned n = 0; n < i->phdrs; n++)
        if (i->phdr[n].p_type == type)
            return &i->phdr[n];
    return NULL;
}

/* ── .eh_frame ────────────────────────────────────────────────────────────────────── */

static void set_code(const struct tt_image *i, struct tt_frame_info *info)
{
    info->low = UINT64_MAX;
    info->high = 0;
    for (unsigned n = 0; n < i->phdrs; n++) {
        const Elf64_Phdr *p = &i->phdr[n];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
            continue;
        if (p->p_vaddr < info->low)
            info->low = p->p_vaddr;
        if (p->p_vaddr + p->p_memsz > info->high)
            info->high = p->p_vaddr + p->p_memsz;
    }
}

/* The sorted table of .eh_frame_hdr, if it has the form that linkers give it: after a number
 * of entries in 4 bytes, pairs of signed 4 bytes that count from the header. */
static void find_table(struct tt_image *i, struct tt_frame_info *info)
{
    size_t size = 12, all;
    const uint8_t *bytes = part(i, &i->table, info->header, &size);
    uint32_t entries;

    if (!bytes || size < 12 || bytes[2] != 0x03 || bytes[3] != 0x3b)
        return;
    memcpy(&entries, bytes + 8, 4);
    all = size = 12 + (size_t)entries * sizeof(struct tt_frame_entry);
    if (!(bytes = part(i, &i->table, info->header, &size)) || size < all ||
        entries > INT32_MAX)
        return;
    info->table = bytes + 12;
    info->entries = entries;
}

/* .eh_frame_hdr begins: version, three encodings, pointer to .eh_frame. */
static int from_header(struct tt_image *i, uint64_t header, struct tt_frame_info *info)
{
    size_t size = 12;
    const uint8_t *bytes = part(i, &i->table, header, &size);
    struct tt_byte_reader s;

    if (!bytes || size < 12 || bytes[0] != 1)
        return -TT_ERR_FORMAT;
    s = (struct tt_byte_reader){bytes + 4, bytes + size, 0};
    switch (bytes[1]) {
    case 0x1b: /* relative to here, 4 bytes */
        info->address = header + 4 + (uint64_t)tt_byte_reader_signed(&s, 4);
        break;
    case 0x3b: /* relative to the header */
        info->address = header + (uint64_t)tt_byte_reader_signed(&s, 4);
        break;
    case 0x03:
        info->address = tt_byte_reader_number(&s, 4);
        break;
    case 0x00:
    case 0x04:
        info->address = tt_byte_reader_number(&s, 8);
        break;
    case 0x1c:
        info->address = header + 4 + tt_byte_reader_number(&s, 8);
        break;
    default:
        return -TT_ERR_FORMAT;
    }
    info->header = header;
    info->size = SIZE_MAX; /* it ends with a terminator */
    return 0;
}

/* Only files have sections.  `flags`: the section's SHF_ALLOC and SHF_COMPRESSED. */
static int find_section(const struct tt_image *i, const char *wanted, uint64_t flags,
                        Elf64_Shdr *s)
{
    const Elf64_Ehdr *h = &i->header;
    Elf64_Shdr names;
    char name[16];
    size_t size = strlen(wanted) + 1;

    if (i->fd < 0 || h->e_shentsize != sizeof *s ||
        read_fully(i->fd, &names, sizeof names,
                   h->e_shoff + (uint64_t)h->e_shstrndx * sizeof *s) != 0)
        return -TT_ERR_FORMAT;
    for (unsigned n = 0; n < h->e_shnum; n++) {
        if (read_fully(i->fd, s, sizeof *s, h->e_shoff + (uint64_t)n * sizeof *s) != 0)
            return -TT_ERR_FORMAT;
        if (s->sh_type != SHT_NOBITS &&
            (s->sh_flags & (SHF_ALLOC | SHF_COMPRESSED)) == flags &&
            read_fully(i->fd, name, size, names.sh_offset + s->sh_name) == 0 &&
            memcmp(name, wanted, size) == 0)
            return 0;
    }
    return -TT_ERR_FORMAT;
}

/* For objects without .eh_frame_hdr. */
static int from_sections(struct tt_image *i, struct tt_frame_info *info)
{
    Elf64_Shdr s;

    if (find_section(i, ".eh_frame", SHF_ALLOC, &s) != 0)
        return -TT_ERR_FORMAT;
    info->address = s.sh_addr;
    info->size = s.sh_size;
    info->header = 0;
    return 0;
}

int tt_image_frame_info(struct tt_image *i, struct tt_frame_info *info)
{
    const Elf64_Phdr *h = find_header(i, PT_GNU_EH_FRAME);

    memset(info, 0, sizeof *info);
    set_code(i, info);
    if (info->high <= info->low)
        return -TT_ERR_FORMAT;
    if ((!h || from_header(i, h->p_vaddr, info) != 0) && from_sections(i, info) != 0)
        return -TT_ERR_FORMAT;
    if (info->header)
        find_table(i, info);
    info->stays = i->stays;
    info->is_lent = i->map != NULL;
    info->bytes = part(i, &i->contents, info->address, &info->size);
    return info->bytes ? 0 : -TT_ERR_FORMAT;
}

int tt_image_debug_frame(struct tt_image *i, struct tt_frame_info *info)
{
    Elf64_Shdr s;
    void *to;

    if (!info->bytes)
        info->size = 0;
    if (info->high <= info->low || find_section(i, ".debug_frame", 0, &s) != 0)
        return -TT_ERR_FORMAT;
    i->debug.used = 0;
    if (!(to = tt_mapped_array_add(&i->debug, s.sh_size)) ||
        read_fully(i->fd, to, s.sh_size, s.sh_offset) != 0)
        return -TT_ERR_FORMAT;
    info->debug = to;
    info->debug_size = s.sh_size;
    info->table = NULL; /* does not have these */
    return 0;
}

/* ── Notes ────────────────────────────────────────────────────────────────────────── */

static unsigned find_note(struct tt_byte_reader s, uint8_t id[TT_BUILD_ID_MAX])
{
    while (s.at < s.end) {
        uint64_t name = tt_byte_reader_number(&s, 4), size = tt_byte_reader_number(&s, 4);
        uint64_t type = tt_byte_reader_number(&s, 4);
        const uint8_t *owner = tt_byte_reader_bytes(&s, (name + 3) & ~(uint64_t)3);
        const uint8_t *bytes = tt_byte_reader_bytes(&s, (size + 3) & ~(uint64_t)3);
        if (!owner || !bytes)
            return 0;
        if (type == NT_GNU_BUILD_ID && name == 4 && memcmp(owner, "GNU", 4) == 0) {
            unsigned n = size < TT_BUILD_ID_MAX ? (unsigned)size : TT_BUILD_ID_MAX;
            memcpy(id, bytes, n);
            return n;
        }
    }
    return 0;
}

unsigned tt_image_build_id(struct tt_image *i, uint8_t id[TT_BUILD_ID_MAX])
{
    unsigned found = 0;

    memset(id, 0, TT_BUILD_ID_MAX);
    for (unsigned n = 0; n < i->phdrs && !found; n++) {
        const Elf64_Phdr *p = &i->phdr[n];
        size_t size = (size_t)p->p_filesz;
        const uint8_t *bytes;
        if (p->p_type == PT_NOTE &&
            (bytes = part(i, &i->contents, p->p_vaddr, &size)) != NULL)
            found = find_note((struct tt_byte_reader){bytes, bytes + size, 0}, id);
    }
    return found;
}
