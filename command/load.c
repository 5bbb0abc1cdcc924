/* SPDX-License-Identifier: MIT */
/* load.c - reads a recording from a file into memory.
 *
 * The process may still be writing it.  The strands' counts of moves show whether figures
 * moved between contexts during the copy.  If they did, the copy is refreshed, but only a
 * few times, as a process that always evicts never pauses.  Refreshing takes a small part of the
 * time that it takes to read a copy, which happens once.  Time since a strand was last
 * charged counts up to the moment when copying began. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"
#include "complain.h"
#include "format.h"
#include "large-pages.h"
#include "load.h"

/* Reads a part of the file; if that became shorter, the rest reads as zeros. */
static void read_part(int fd, char *to, size_t size, size_t from)
{
    size_t have = 0;

    while (have < size) {
        ssize_t n = pread(fd, to + have, size - have, (off_t)(from + have));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        have += (size_t)n;
    }
    memset(to + have, 0, size - have);
}

/* Is a mapped file another one that has the same number on another device?  Decided by
 * its name: a mapping and a descriptor of one file may state different devices. */
static int is_elsewhere(char *path, const struct stat *s)
{
    struct stat other;

    path[strcspn(path, "\n")] = '\0';
    return stat(path, &other) == 0 &&
           (other.st_dev != s->st_dev || other.st_ino != s->st_ino);
}

/* Is the recording still mapped by the process that began it?  Not if that was killed, if
 * another process got its number, or on another machine. */
static int is_mapped(int fd, uint32_t pid)
{
    unsigned long long inode;
    char name[40], rights[8], *line = NULL;
    size_t room = 0;
    struct stat s;
    int found = 0, path;
    FILE *f;

    (void)snprintf(name, sizeof name, "/proc/%u/maps", pid);
    if (fstat(fd, &s) != 0 || !(f = fopen(name, "re")))
        return 0;
    while (!found && getline(&line, &room, f) > 0)
        found = sscanf(line, "%*s %7s %*s %*s %llu %n", rights, &inode, &path) == 2 &&
                strcmp(rights, "rw-s") == 0 && inode == (unsigned long long)s.st_ino &&
                !is_elsewhere(line + path, &s);
    free(line);
    (void)fclose(f);
    return found;
}

/* In a snapshot of a running process, time ends now, as in one that the process makes
 * itself. */
static void set_end(struct tt_header *h, size_t size, int fd, uint64_t cycles,
                    uint64_t ns)
{
    if (size < sizeof *h || memcmp(h->magic, TT_MAGIC, sizeof h->magic) != 0 ||
        h->state != TT_RECORDING_OPEN || h->end_ticks || h->clock == TT_CLOCK_CALLER ||
        !is_mapped(fd, h->pid))
        return;
    h->end_ticks = h->clock == TT_CLOCK_CYCLES ? cycles : ns;
}

/* ── Moves ────────────────────────────────────────────────────────────────────────── */

/* Adds up the moves of the strands in one page. */
static int add_moves(int fd, off_t page, uint64_t *moves)
{
    struct tt_strand_record s[TT_PAGE_SIZE / sizeof(struct tt_strand_record)];
    uint64_t odd = 0;

    if (pread(fd, s, sizeof s, page) != sizeof s)
        return -1;
    for (size_t i = 0; i < sizeof s / sizeof *s; i++) {
        *moves += s[i].moves;
        odd |= s[i].moves & 1;
    }
    return odd ? -1 : 0;
}

/* Reads how often figures have moved so far; -1: they are moving, or it is unknown. */
static int read_moves(int fd, uint64_t *moves)
{
    enum { PART = 1024 };
    uint32_t map[PART];
    struct tt_header h;
    int error = 0;

    *moves = 0;
    if (pread(fd, &h, sizeof h, 0) != sizeof h)
        return -1;
    for (uint32_t i = 0; !error && i < h.used && i < h.pages; i++) {
        off_t at = (off_t)h.map + (off_t)(i * sizeof *map);
        if (i % PART == 0 && pread(fd, map, sizeof map, at) < (ssize_t)sizeof *map)
            return -1;
        if ((map[i % PART] & 0xff) == TT_PAGE_STRAND)
            error = add_moves(fd, (off_t)h.first + (off_t)i * TT_PAGE_SIZE, moves);
    }
    return error;
}

/* ── Reading ──────────────────────────────────────────────────────────────────────── */

struct copy {
    char *image; /* a mapping, see map_size; NULL: no memory */
    size_t size;
    uint64_t cycles, ns; /* when copying began */
};

static size_t map_size(size_t size) { return size + 1; } /* of nothing, too */

/* Most of a small recording is room that was not used, as nine tenths of 270 KB: pages of zeros
 * stay untouched here. */
static void read_sparsely(int fd, char *to, size_t size)
{
    enum { PAGE = 4096 };
    char part[16 * PAGE];

    for (size_t from = 0; from < size; from += sizeof part) {
        const size_t have = size - from < sizeof part ? size - from : sizeof part;
        read_part(fd, part, have, from);
        for (size_t at = 0; at < have; at += PAGE) {
            const size_t n = have - at < PAGE ? have - at : PAGE;
            if (part[at] || memcmp(part + at, part + at + 1, n - 1) != 0)
                memcpy(to + from + at, part + at, n);
        }
    }
}

static struct copy make_copy(int fd)
{
    enum { SMALL = 1 << 20 };
    struct copy c = {.cycles = tt_clock_cycles(), .ns = tt_clock_monotonic()};
    struct stat s;

    if (fstat(fd, &s) != 0)
        return c;
    c.size = (size_t)s.st_size;
    c.image = mmap(NULL, map_size(c.size), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c.image == MAP_FAILED)
        c.image = NULL;
    else if (c.size <= SMALL)
        read_sparsely(fd, c.image, c.size);
    else
        read_part(fd, tt_large_pages(c.image, c.size), c.size, 0);
    return c;
}

/* Copies the file again.  Is the copy another one now? */
static int refresh(struct copy *c, int fd)
{
    const uint64_t cycles = tt_clock_cycles(), ns = tt_clock_monotonic();
    char part[1 << 16];
    struct stat s;
    int changed = 0;

    if (fstat(fd, &s) != 0 || (size_t)s.st_size != c->size) {
        munmap(c->image, map_size(c->size));
        *c = make_copy(fd);
        return 1;
    }
    for (size_t at = 0; at < c->size; at += sizeof part) {
        const size_t size = c->size - at < sizeof part ? c->size - at : sizeof part;
        read_part(fd, part, size, at);
        if (memcmp(c->image + at, part, size) == 0)
            continue;
        memcpy(c->image + at, part, size);
        changed = 1;
    }
    c->cycles = cycles;
    c->ns = ns;
    return changed;
}

/* Is it of a process that may still write to it? */
static int is_unfinished(const struct copy *c)
{
    const struct tt_header *h = (const void *)c->image;

    return c->size < sizeof *h || memcmp(h->magic, TT_MAGIC, sizeof h->magic) != 0 ||
           h->state == TT_RECORDING_OPEN;
}

/* Refreshes a copy until nothing moved meanwhile, or a few times.  Was the file written to during
 * the last pass?  Only then can damage come from copying it piece by piece. */
static int refresh_until_still(struct copy *c, int fd)
{
    enum { TRIES = 4 };
    int changed = 1, is_still = 0;
    uint64_t before, after;

    usleep(1000);
    for (int i = 0; i < TRIES && c->image && changed && !is_still; i++) {
        const int moves = read_moves(fd, &before);
        changed = refresh(c, fd);
        is_still = moves == 0 && read_moves(fd, &after) == 0 && after == before;
    }
    return changed;
}

/* The picture has the copy; the error is in p->error. */
static int read_copy(struct tt_picture *p, const struct copy *c, int fd, int live)
{
    memset(p, 0, sizeof *p);
    if (!c->image)
        return -TT_ERR_MEMORY;
    set_end((struct tt_header *)(void *)c->image, c->size, fd, c->cycles, c->ns);
    return tt_picture_read(p, c->image, c->size, live);
}

/* In a live copy, only the header and the blocks can be wrong, which is found early. */
static int read_whole(struct tt_picture *p, int fd)
{
    enum { TRIES = 10 };
    struct copy c = make_copy(fd);
    const int live = c.image && is_unfinished(&c) && refresh_until_still(&c, fd);
    int error = read_copy(p, &c, fd, live);

    for (int i = 1; live && error == -TT_ERR_FORMAT && i < TRIES; i++) {
        tt_picture_fini(p);
        (void)refresh_until_still(&c, fd);
        error = read_copy(p, &c, fd, live);
    }
    return error;
}

static int is_profile(const struct tt_picture *p)
{
    return p->size >= 8 && memcmp(p->image, TT_PROFILE_MAGIC, 8) == 0;
}

int tt_load(struct tt_picture *p, const char *path)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_CLOEXEC), error;

    memset(p, 0, sizeof *p);
    if (fd < 0) {
        tt_complain("%s: %s", path, strerror(errno));
        return -TT_ERR_FILE;
    }
    if (fstat(fd, &s) == 0 && S_ISDIR(s.st_mode)) {
        tt_complain("%s: this is a folder", path);
        close(fd);
        return -TT_ERR_FILE;
    }
    error = read_whole(p, fd);
    close(fd);
    if (error) {
        if (is_profile(p))
            tt_complain(
                "%s: this is a profile, and no recording; 'tallytree report' shows "
                "it",
                path);
        else
            tt_complain("%s: %s", path, p->error[0] ? p->error : tt_error_text(error));
        tt_unload(p);
    }
    return error;
}

void tt_unload(struct tt_picture *p)
{
    tt_picture_fini(p);
    if (p->image)
        munmap(p->image, map_size(p->size));
    p->image = NULL;
    p->header = NULL;
}
