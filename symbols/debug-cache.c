/* SPDX-License-Identifier: MIT */
/* debug-cache.c - decompressed copies of files with debug information, from one run to the next.
 *
 * libdw decompresses all sections of a file when it opens it, which takes most of the time at the
 * end of a short recording: 40 ms for the C library's.  A copy without compression is in the
 * user's folder of caches:
 *
 *      ~/.cache/tallytree/93ac61ec...-3f94e0-65b0a1c2d3e4f5a6.debug
 *                         build-id    size   time of modification
 *
 * A copy gets its name when it is complete.  It ends with the table of its sections, so one that
 * was cut is recognised.  Lists of locations are left out: nothing here reads them. */
#include "debug-cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debug-file.h"

static const uint64_t little = 128 << 10, /* bytes, compressed: 1 to 2 ms */
    most = 256 << 20,                     /* of one copy */
    most_of_all = 1 << 30;
static const char ending[] = ".debug";

/* ── The folder ───────────────────────────────────────────────────────────────────── */

/* -1: there is none, or it is not this user's. */
static int open_own(int parent, const char *name)
{
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat s;

    if (fd >= 0 && (fstat(fd, &s) != 0 || s.st_uid != geteuid() || s.st_mode & S_IWOTH)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Takes `parent`. */
static int open_in(int parent, const char *name, int may_add)
{
    int fd = -1;

    if (parent < 0)
        return -1;
    if (may_add)
        (void)mkdirat(parent, name, 0700);
    fd = open_own(parent, name);
    close(parent);
    return fd;
}

static int open_folder(int may_add)
{
    const char *caches = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int fd = -1;

    if (caches && *caches == '/')
        fd = open_own(AT_FDCWD, caches);
    else if (home && *home == '/')
        fd = open_in(open_own(AT_FDCWD, home), ".cache", may_add);
    return open_in(fd, "tallytree", may_add);
}

static int is_copy(const char *name)
{
    const size_t length = strlen(name), end = sizeof ending - 1;

    return length > end && strcmp(name + length - end, ending) == 0;
}

/* The size of all copies; `oldest` is the one that was not used for the longest time. */
static uint64_t look_at_copies(int folder, char oldest[NAME_MAX + 1])
{
    struct timespec least = {0, 0};
    const struct dirent *e;
    uint64_t size = 0;
    struct stat s;
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);

    *oldest = '\0';
    while (d && (e = readdir(d))) {
        if (!is_copy(e->d_name) || fstatat(folder, e->d_name, &s, AT_SYMLINK_NOFOLLOW))
            continue;
        size += (uint64_t)s.st_size;
        if (*oldest &&
            (s.st_mtim.tv_sec > least.tv_sec ||
             (s.st_mtim.tv_sec == least.tv_sec && s.st_mtim.tv_nsec >= least.tv_nsec)))
            continue;
        least = s.st_mtim;
        (void)snprintf(oldest, NAME_MAX + 1, "%s", e->d_name);
    }
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    return size;
}

static void make_room(int folder, uint64_t size)
{
    char oldest[NAME_MAX + 1];

    while (look_at_copies(folder, oldest) + size > most_of_all && *oldest)
        if (unlinkat(folder, oldest, 0) != 0)
            return;
}

/* ── Sections ─────────────────────────────────────────────────────────────────────── */

static int is_left_out(Elf *elf, const GElf_Shdr *h)
{
    size_t names;
    const char *name = elf_getshdrstrndx(elf, &names) == 0
                           ? elf_strptr(elf, names, h->sh_name)
                           : NULL;

    return name &&
           (strcmp(name, ".debug_loc") == 0 || strcmp(name, ".debug_loclists") == 0);
}

static uint64_t add(uint64_t size, uint64_t more)
{
    return more > most || size + more > most ? most + 1 : size + more;
}

/* Does a file take long to decompress, and is the copy not too large?  Where some of its parts
 * are in another file, that is found by the path of this one. */
static int is_worthwhile(Elf *elf)
{
    uint64_t compressed = 0, size = 0;
    Elf_Scn *section = NULL;
    size_t names;
    GElf_Shdr h;
    GElf_Chdr c;

    if (elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &names) != 0)
        return 0;
    while ((section = elf_nextscn(elf, section))) {
        const char *name = gelf_getshdr(section, &h) ? elf_strptr(elf, names, h.sh_name)
                                                     : NULL;
        if (!name || strcmp(name, ".gnu_debugaltlink") == 0)
            return 0;
        if (h.sh_type == SHT_NOBITS || is_left_out(elf, &h))
            continue;
        if (!(h.sh_flags & SHF_COMPRESSED)) {
            size = add(size, h.sh_size);
            continue;
        }
        if (!gelf_getchdr(section, &c))
            return 0;
        compressed = add(compressed, h.sh_size);
        size = add(size, c.ch_size);
    }
    return compressed >= little && size <= most;
}

/* Its header in the copy, without its place, and its content; NULL: it has none. */
static int expand(Elf *elf, Elf_Scn *section, GElf_Shdr *h, const Elf_Data **content)
{
    *content = NULL;
    if (!gelf_getshdr(section, h))
        return -1;
    if (is_left_out(elf, h)) {
        h->sh_type = SHT_NOBITS;
        h->sh_flags = 0;
        h->sh_size = 0;
    }
    if (h->sh_type == SHT_NOBITS)
        return 0;
    if (h->sh_flags & SHF_COMPRESSED) {
        if (elf_compress(section, 0, 0) < 0 || !gelf_getshdr(section, h))
            return -1;
        *content = elf_getdata(section, NULL);
    } else {
        *content = elf_rawdata(section, NULL);
    }
    return *content || !h->sh_size ? 0 : -1;
}

static uint64_t align(uint64_t at, uint64_t to)
{
    return to > 1 ? (at + to - 1) / to * to : at;
}

static int add_section(Elf *out, GElf_Shdr *h, const Elf_Data *content, uint64_t *end)
{
    Elf_Scn *section = elf_newscn(out);
    Elf_Data *data = section && content ? elf_newdata(section) : NULL;

    *end = align(*end, h->sh_addralign);
    h->sh_offset = *end;
    if (data) {
        *data = *content;
        data->d_off = 0;
        *end += h->sh_size;
    }
    return section && (data || !content) && gelf_update_shdr(section, h) ? 0 : -1;
}

static int add_sections(Elf *out, Elf *elf, uint64_t *end)
{
    Elf_Scn *section = NULL;
    const Elf_Data *content;
    GElf_Shdr h;

    while ((section = elf_nextscn(elf, section)))
        if (expand(elf, section, &h, &content) != 0 ||
            add_section(out, &h, content, end) != 0)
            return -1;
    return 0;
}

static int add_segments(Elf *out, Elf *elf, size_t count)
{
    GElf_Phdr h;

    if (count && !gelf_newphdr(out, count))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (!gelf_getphdr(elf, (int)i, &h) || !gelf_update_phdr(out, (int)i, &h))
            return -1;
    return 0;
}

/* The table of sections is the last part. */
static int write_copy(Elf *elf, int to)
{
    Elf *out = elf_begin(to, ELF_C_WRITE, NULL);
    const int class = gelf_getclass(elf);
    size_t segments = 0;
    uint64_t end;
    GElf_Ehdr h;
    int done = 0;

    if (out && class != ELFCLASSNONE && gelf_newehdr(out, class) &&
        elf_getphdrnum(elf, &segments) == 0 && gelf_getehdr(elf, &h) &&
        h.e_shstrndx != SHN_XINDEX && add_segments(out, elf, segments) == 0) {
        end = gelf_fsize(elf, ELF_T_EHDR, 1, EV_CURRENT) +
              gelf_fsize(elf, ELF_T_PHDR, segments, EV_CURRENT);
        h.e_phoff = segments ? gelf_fsize(elf, ELF_T_EHDR, 1, EV_CURRENT) : 0;
        done = add_sections(out, elf, &end) == 0;
        h.e_shoff = align(end, 8);
        (void)elf_flagelf(out, ELF_C_SET, ELF_F_LAYOUT);
        done = done && gelf_update_ehdr(out, &h) && elf_update(out, ELF_C_WRITE) >= 0;
    }
    (void)elf_end(out);
    return done ? 0 : -1;
}

/* ── Copies ───────────────────────────────────────────────────────────────────────── */

static int is_complete(int fd)
{
    Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
    size_t sections = 0;
    struct stat s;
    GElf_Ehdr h;
    const int it_is = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
                      elf && gelf_getehdr(elf, &h) &&
                      elf_getshdrnum(elf, &sections) == 0 &&
                      h.e_shoff + sections * h.e_shentsize == (uint64_t)s.st_size;

    (void)elf_end(elf);
    return it_is;
}

/* -1: there is none, and one that is not complete is removed. */
static int open_copy(int folder, const char *name)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    if (fd < 0)
        return -1;
    if (!is_complete(fd)) {
        close(fd);
        (void)unlinkat(folder, name, 0);
        return -1;
    }
    (void)futimens(fd, NULL);
    return fd;
}

/* A file that grows beyond a limit would end this process. */
static int has_limit(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

/* It is read in this run even if it cannot have its name. */
static int add_copy(int folder, const char *name, Elf *elf)
{
    int fd = has_limit() ? -1 : openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char path[32];
    struct stat s;

    if (fd < 0)
        return -1;
    if (write_copy(elf, fd) != 0 || fstat(fd, &s) != 0 || !is_complete(fd)) {
        close(fd);
        return -1;
    }
    make_room(folder, (uint64_t)s.st_size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    (void)linkat(AT_FDCWD, path, folder, name, AT_SYMLINK_FOLLOW);
    return fd;
}

static void name_copy(char name[NAME_MAX + 1], const struct stat *s, const char *id)
{
    (void)snprintf(name, NAME_MAX + 1, "%s-%llx-%llx%s", id,
                   (unsigned long long)s->st_size,
                   (unsigned long long)s->st_mtim.tv_sec * 1000000000u +
                       (unsigned long long)s->st_mtim.tv_nsec,
                   ending);
}

static int find_copy(Elf *elf, const char *name, int may_add)
{
    int folder = is_worthwhile(elf) ? open_folder(may_add) : -1, copy;

    if (folder < 0)
        return -1;
    copy = open_copy(folder, name);
    if (copy < 0 && may_add)
        copy = add_copy(folder, name, elf);
    close(folder);
    return copy;
}

int tt_debug_cache_open(int fd, const char *id, int may_add)
{
    char own[TT_BUILD_ID_SIZE], name[NAME_MAX + 1];
    struct stat s;
    int copy;
    Elf *elf;

    if (tt_build_id_of(fd, own) != 0 || strcmp(own, id) != 0 || fstat(fd, &s) != 0)
        return -1;
    name_copy(name, &s, id);
    elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
    copy = find_copy(elf, name, may_add);
    (void)elf_end(elf);
    return copy;
}
