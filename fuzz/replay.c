/* SPDX-License-Identifier: MIT */
/* replay.c - whatever events are replayed, a recording or an error comes out of it, and the
 * recording can be read. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "command.h"
#include "load.h"
#include "tallytree.h"

/* These of the list of commands come with the viewer, which is not here. */
const struct tt_command tt_command_export = {.name = "export"};
const struct tt_command tt_command_serve = {.name = "serve"};
const struct tt_command tt_command_view = {.name = "view"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char events[] = "/tmp/tallytree-fuzz-XXXXXX", out[sizeof events + 4];

static void remove_files(void)
{
    unlink(events);
    unlink(out);
}

static int make_files(void)
{
    int fd = mkstemp(events);

    if (fd < 0)
        abort();
    (void)snprintf(out, sizeof out, "%s.tt", events);
    atexit(remove_files);
    return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char *args[] = {(char[]){"replay"},
                    (char[]){"--budget"},
                    (char[]){"256K"},
                    (char[]){"-o"},
                    out,
                    events,
                    NULL};
    struct tt_picture p;

    if (fd < 0)
        fd = make_files();
    if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
        return 0;
    if (tt_command_replay.run(6, args) == TT_EXIT_DONE) {
        if (tt_load(&p, out) != 0)
            abort();
        tt_unload(&p);
    }
    while (tt_stop() == 0) /* after an error it goes on */
        ;
    return 0;
}
