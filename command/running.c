/* SPDX-License-Identifier: MIT */
/* running.c - runs a program with a library of ours in it, and makes one profile of what
 * its processes recorded.
 *
 * They write into a folder beside the output, which is gone when the profile is there. */
#include "running.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "gather.h"
#include "launch.h"

/* ── Where things are ─────────────────────────────────────────────────────────────── */

/* Beside the command where it was built, or in a folder of the libraries' beside its own. */
static int find_library(const char *who, const char *library, char *out, size_t size)
{
    static const char *const places[] = {"",
                                         "adapters/lua/",
                                         "adapters/tcl/",
                                         "../" TT_LIBDIR "/tallytree/",
                                         "../" TT_LIBDIR "/",
                                         "../" TT_LIBDIR "/tcltk/tallytree/"};
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    if (length < 0)
        length = 0;
    self[length] = '\0';
    if (strrchr(self, '/'))
        strrchr(self, '/')[1] = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        int n = snprintf(out, size, "%s%s%s", self, places[i], library);
        if (n > 0 && n < (int)size && access(out, R_OK) == 0)
            break;
        out[0] = '\0';
    }
    if (!out[0]) {
        tt_complain("%s: %s is not where it was installed, beside %s", who, library,
                    self);
        return -TT_ERR_FILE;
    }
    if (!strpbrk(out, " :\t\n"))
        return 0;
    tt_complain("%s: the system's loader takes no library from '%s': its path has "
                "blanks or colons",
                who, out);
    return -TT_ERR_FILE;
}

int tt_running_writes(struct tt_running *r, const char *who, const char *out)
{
    struct stat s;

    r->out = out;
    if (!*out || strcmp(out, "-") == 0)
        tt_complain("%s: standard output is the program's; -o wants a file", who);
    else if (stat(out, &s) == 0 && S_ISDIR(s.st_mode))
        tt_complain("%s: -o wants a file, and '%s' is a folder", who, out);
    else
        return 0;
    return -TT_ERR_OPTION;
}

/* tallytree.PROGRAM.HOST.PID, unless another name is wanted. */
static void name_output(struct tt_running *r, pid_t pid)
{
    char host[64] = "";

    if (gethostname(host, sizeof host - 1) != 0 || !host[0])
        (void)snprintf(host, sizeof host, "localhost");
    host[strcspn(host, "/")] = '\0';
    if (r->out)
        (void)snprintf(r->name, sizeof r->name, "%s", r->out);
    else
        (void)snprintf(r->name, sizeof r->name, "tallytree.%.200s.%s.%d", r->program.base,
                       host, (int)pid);
}

/* Absolute, as the program may go elsewhere. */
int tt_running_name(struct tt_running *r, pid_t pid)
{
    char here[PATH_MAX] = "";
    int n;

    name_output(r, pid);
    if (r->name[0] != '/' && !getcwd(here, sizeof here))
        return -TT_ERR_FILE;
    n = snprintf(r->folder, sizeof r->folder, "%s%s%s.%d.live", here, *here ? "/" : "",
                 r->name, (int)pid);
    return n < (int)sizeof r->folder ? 0 : -TT_ERR_FILE;
}

static int set_preload(const struct tt_running *r)
{
    const char *others = getenv("LD_PRELOAD");
    char *value;
    int error;

    if (asprintf(&value, "%s%s%s", r->library, others && *others ? ":" : "",
                 others ? others : "") < 0)
        return -1;
    error = setenv("LD_PRELOAD", value, 1);
    free(value);
    return error;
}

/* ── The program ──────────────────────────────────────────────────────────────────── */

struct preparation {
    struct tt_running *running;
    int (*prepare)(void *arg);
    void *arg;
};

/* In the child. */
static int prepare_all(void *arg)
{
    struct preparation *p = arg;
    struct tt_running *r = p->running;

    if (tt_running_name(r, getpid()) != 0 || mkdir(r->folder, 0700) != 0) {
        tt_complain("%s: %s%s", r->folder, strerror(errno),
                    r->out ? "" : "; -o OUT writes it elsewhere");
        return -1;
    }
    if ((r->is_module || set_preload(r) == 0) &&
        setenv("TALLYTREE_FOLDER", r->folder, 1) == 0 && p->prepare(p->arg) == 0)
        return 0;
    (void)rmdir(r->folder);
    return -1;
}

int tt_running_find(struct tt_running *r, const char *who, const char *library)
{
    int status = tt_program_find(&r->program, r->argv[0]);

    if (!status && r->is_outside && r->program.outside)
        return 0;
    if (status || r->program.reason[0]) {
        tt_complain("%s: %s", who, r->program.reason);
        return status ? status : TT_LAUNCH_FAILED;
    }
    return find_library(who, library, r->library, sizeof r->library) == 0
               ? 0
               : TT_LAUNCH_FAILED;
}

int tt_running_gather(const struct tt_running *r)
{
    const struct tt_gathering g = {.folder = r->folder,
                                   .out = r->name,
                                   .program = r->program.base,
                                   .reports = r->reports,
                                   .naming = r->naming};

    return tt_gather(&g);
}

static int know_folder(void *arg, pid_t child)
{
    const struct preparation *p = arg;

    return tt_running_name(p->running, child);
}

int tt_running_go(struct tt_running *r, int (*prepare)(void *arg), void *arg)
{
    struct preparation p = {r, prepare, arg};
    const struct tt_launching l = {prepare_all, know_folder, &p};
    pid_t child = tt_launch(r->program.path, r->argv, &l);
    int status;

    if (child < 0) {
        (void)rmdir(r->folder);
        return -child;
    }
    status = tt_launch_wait(child);
    (void)tt_running_gather(r);
    tt_launch_end(status);
}
