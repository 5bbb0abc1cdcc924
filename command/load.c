/* SPDX-License-Identifier: MIT */
/* load.c - a recording from a file into memory.
 *
 * The process may still be writing it.  Figures that move between contexts while we read
 * show in the strands' counts of moves; then we read again.  What its strands have been
 * doing since they were last charged counts up to when reading began. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "command.h"
#include "format.h"

static char *read_all(int fd, size_t size)
{
    char *p = malloc(size ? size : 1);
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

static uint64_t moves_of(const struct tt_picture *p, int *odd)
{
    uint64_t moves = 0;

    for (uint32_t i = 0; i < p->strands; i++) {
        moves += p->strand[i]->moves;
        *odd |= (int)(p->strand[i]->moves & 1);
    }
    return moves;
}

/* Is a mapped file another one that has the same number on another device?  By its name: the
 * devices that a mapping and a descriptor tell of the same file may differ. */
static int is_elsewhere(char *path, const struct stat *s)
{
    struct stat other;

    path[strcspn(path, "\n")] = '\0';
    return stat(path, &other) == 0 &&
           (other.st_dev != s->st_dev || other.st_ino != s->st_ino);
}

/* Has the process that began a recording still mapped it?  One that was killed has not, nor
 * has another that got its number, or any on another machine. */
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

/* Time is up to now in a picture of what is running, as in one that it makes itself. */
static void set_end(struct tt_header *h, size_t size, int fd, uint64_t cycles,
                    uint64_t ns)
{
    if (size < sizeof *h || memcmp(h->magic, TT_MAGIC, sizeof h->magic) != 0 ||
        h->state != TT_RECORDING_OPEN || h->end_ticks || h->clock == TT_CLOCK_CALLER ||
        !is_mapped(fd, h->pid))
        return;
    h->end_ticks = h->clock == TT_CLOCK_CYCLES ? cycles : ns;
}

/* One reading; the error is in p->error. */
static int read_once(struct tt_picture *p, int fd, int live)
{
    const uint64_t cycles = tt_clock_cycles(), ns = tt_clock_monotonic();
    struct stat s;
    char *image;

    memset(p, 0, sizeof *p);
    if (fstat(fd, &s) != 0 || !(image = read_all(fd, (size_t)s.st_size)))
        return -TT_ERR_MEMORY;
    set_end((struct tt_header *)image, (size_t)s.st_size, fd, cycles, ns);
    return tt_picture_read(p, image, (size_t)s.st_size, live);
}

/* Has anybody written to the file since it was read into `image`?  Only then may what is
 * wrong with it come from reading it piece by piece. */
static int has_changed(int fd, const char *image, size_t size)
{
    struct stat s;
    char *now;
    int changed;

    if (fstat(fd, &s) != 0 || (size_t)s.st_size != size)
        return 1;
    now = read_all(fd, size);
    changed = now && memcmp(now, image, size) != 0;
    free(now);
    return changed;
}

/* A file that changes is read as a live one, until it was read with no moves in between. */
static int read_live(struct tt_picture *p, int fd)
{
    enum { TRIES = 20 };
    uint64_t before = UINT64_MAX;
    int error = -TT_ERR_FORMAT;

    for (int i = 0; i < TRIES; i++) {
        uint64_t moves;
        int odd = 0;
        error = read_once(p, fd, 1);
        moves = error ? UINT64_MAX : moves_of(p, &odd);
        if (!error && !odd && moves == before)
            break;
        before = moves;
        if (i < TRIES - 1)
            tt_unload(p);
    }
    return error;
}

static int read_whole(struct tt_picture *p, int fd)
{
    char *image;
    int error = read_once(p, fd, 0), changed;

    if (error == -TT_ERR_MEMORY || (p->header && p->header->state != TT_RECORDING_OPEN))
        return error;
    /* Reading has set right what an eviction left half done: compare with another copy. */
    image = read_all(fd, p->size);
    usleep(1000);
    changed = image && has_changed(fd, image, p->size);
    free(image);
    if (!changed)
        return error;
    tt_unload(p);
    return read_live(p, fd);
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
