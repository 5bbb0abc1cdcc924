/* SPDX-License-Identifier: MIT */
/* load.c - a recording from a file into memory.
 *
 * The process may still be writing it.  Figures that move between contexts while we read
 * show in the strands' counts of moves; then we read again. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"

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

static int is_alive(const struct tt_picture *p)
{
    return p->header && p->header->state == TT_RECORDING_OPEN;
}

/* One reading; the error is in p->error. */
static int read_once(struct tt_picture *p, int fd)
{
    struct stat s;
    char *image;

    memset(p, 0, sizeof *p);
    if (fstat(fd, &s) != 0 || !(image = read_all(fd, (size_t)s.st_size)))
        return -TT_ERR_MEMORY;
    return tt_picture_read(p, image, (size_t)s.st_size);
}

/* Twice the same count of moves, and none under way: nothing moved in between. */
static int read_whole(struct tt_picture *p, int fd)
{
    enum { TRIES = 20 };
    uint64_t before = UINT64_MAX;
    int error = 0;

    for (int i = 0; i < TRIES; i++) {
        uint64_t moves;
        int odd = 0;
        error = read_once(p, fd);
        if (!is_alive(p))
            break;
        moves = error ? UINT64_MAX : moves_of(p, &odd);
        if (!error && !odd && (moves == before || i == 0))
            if (moves == 0 || moves == before)
                break;
        before = moves;
        if (i < TRIES - 1)
            tt_unload(p);
    }
    return error;
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
