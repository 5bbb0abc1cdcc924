/* SPDX-License-Identifier: MIT */
/* load.c - reads a recording from a file into memory.
 *
 * The process may still be writing it.  The strands' counts of moves show whether figures
 * moved between contexts during the copy.  If they did, the copy is repeated, but only a
 * few times, as a process that always evicts never pauses.  Time since a strand was last
 * charged counts up to the moment when reading began. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"
#include "complain.h"
#include "format.h"
#include "large-pages.h"
#include "load.h"

static char *read_all(int fd, size_t size)
{
    char *p = tt_large_pages(malloc(size ? size : 1), size);
    size_t have = 0;

    while (p && have < size) {
        ssize_t n = pread(fd, p + have, size - have, (off_t)have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break; /* it became shorter: the rest reads as zeros */
        have += (size_t)n;
    }
    if (p)
        memset(p + have, 0, size - have);
    return p;
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
    char *image; /* NULL: no memory */
    size_t size;
};

static struct copy make_copy(int fd)
{
    const uint64_t cycles = tt_clock_cycles(), ns = tt_clock_monotonic();
    struct copy c = {NULL, 0};
    struct stat s;

    if (fstat(fd, &s) != 0 || !(c.image = read_all(fd, (size_t)s.st_size)))
        return c;
    c.size = (size_t)s.st_size;
    set_end((struct tt_header *)c.image, c.size, fd, cycles, ns);
    return c;
}

/* Returns a copy without moves meanwhile, or the last of a few. */
static struct copy make_still_copy(int fd)
{
    enum { TRIES = 5 };
    struct copy c = {NULL, 0};
    uint64_t before, after;

    for (int i = 0; i < TRIES; i++) {
        int moves = read_moves(fd, &before);
        free(c.image);
        c = make_copy(fd);
        if (!c.image || (moves == 0 && read_moves(fd, &after) == 0 && after == before))
            break;
    }
    return c;
}

/* The picture has the copy; the error is in p->error. */
static int read_copy(struct tt_picture *p, struct copy c, int live)
{
    memset(p, 0, sizeof *p);
    return c.image ? tt_picture_read(p, c.image, c.size, live) : -TT_ERR_MEMORY;
}

/* Is the recording unfinished, and was the file written to since the copy?  Only then can
 * damage come from copying it piece by piece. */
static int has_changed(int fd, struct copy c)
{
    const struct tt_header *h = (const void *)c.image;
    size_t end = sizeof h->end_ticks + offsetof(struct tt_header, end_ticks);
    struct stat s;
    char *now;
    int changed;

    if (c.size >= sizeof *h && memcmp(h->magic, TT_MAGIC, sizeof h->magic) == 0 &&
        h->state != TT_RECORDING_OPEN)
        return 0;
    usleep(1000);
    if (fstat(fd, &s) != 0 || (size_t)s.st_size != c.size)
        return 1;
    now = read_all(fd, c.size);
    /* Ignores the end, which set_end has filled in. */
    changed = now && (c.size < end ||
                      memcmp(now, c.image, offsetof(struct tt_header, end_ticks)) != 0 ||
                      memcmp(now + end, c.image + end, c.size - end) != 0);
    free(now);
    return changed;
}

static int read_whole(struct tt_picture *p, int fd)
{
    enum { TRIES = 10 };
    struct copy c = make_copy(fd);
    int error;

    if (!c.image || !has_changed(fd, c))
        return read_copy(p, c, 0);
    free(c.image);
    error = read_copy(p, make_still_copy(fd), 1);
    for (int i = 1; error == -TT_ERR_FORMAT && i < TRIES; i++) {
        tt_unload(p);
        error = read_copy(p, make_still_copy(fd), 1);
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
    free(p->image);
    p->image = NULL;
    p->header = NULL;
}
