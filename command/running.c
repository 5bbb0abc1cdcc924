/* SPDX-License-Identifier: MIT */
/* running.c - runs a program with one of our libraries, and makes one profile of its
 * processes' recordings.
 *
 * They write into a folder beside the output, which is removed when the profile is
 * complete. */
#include "running.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "finish-run.h"
#include "launch.h"
#include "recording.h"
#include "replacing.h"

/* ── Paths ────────────────────────────────────────────────────────────────────────── */

/* Beside the command in a build folder, or in a folder of libraries beside its own. */
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

void tt_running_clean(char *name)
{
    name[strcspn(name, "\n")] = '\0';
    for (; *name; name++)
        if (!isascii((unsigned char)*name) ||
            (!isalnum((unsigned char)*name) && !strchr("+-._", *name)))
            *name = '_';
}

/* tallytree.PROGRAM.HOST.PID.tt, unless another name was given. */
static void name_output(struct tt_running *r, pid_t pid)
{
    char host[64] = "";

    if (gethostname(host, sizeof host - 1) != 0 || !host[0])
        (void)snprintf(host, sizeof host, "localhost");
    host[strcspn(host, "/")] = '\0';
    if (r->out)
        (void)snprintf(r->name, sizeof r->name, "%s", r->out);
    else
        (void)snprintf(r->name, sizeof r->name, "tallytree.%.200s.%s.%d.tt",
                       r->program.base, host, (int)pid);
}

/* "DIR/.OUT.PID.live" or, if an earlier run left that, "DIR/.OUT.PID-2.live": earlier
 * recordings are kept.  Absolute, as the program may change its folder.  0, or a negative
 * error. */
static int name_folder(struct tt_running *r, pid_t pid, int number)
{
    const char *slash = strrchr(r->name, '/'), *base = slash ? slash + 1 : r->name;
    char here[PATH_MAX] = "", again[16] = "";
    int n;

    if (r->name[0] != '/' && !getcwd(here, sizeof here))
        return -TT_ERR_FILE;
    if (number > 1)
        (void)snprintf(again, sizeof again, "-%d", number);
    n = snprintf(r->folder, sizeof r->folder, "%s%s%.*s.%s.%d%s.live", here,
                 *here ? "/" : "", (int)(base - r->name), r->name, base, (int)pid, again);
    return n < (int)sizeof r->folder ? 0 : -TT_ERR_FILE;
}

int tt_running_make(struct tt_running *r, pid_t pid)
{
    enum { MOST = 10000 };
    int made = -1;

    name_output(r, pid);
    for (int i = 1; made != 0 && i < MOST; i++) {
        if (name_folder(r, pid, i) != 0)
            errno = ENAMETOOLONG;
        else
            made = mkdir(r->folder, 0700);
        if (made != 0 && errno != EEXIST)
            break;
    }
    return made;
}

/* ── Programs that give up their rights ───────────────────────────────────────────── */

/* Can every user get there? */
static int is_reachable(const char *path)
{
    char part[PATH_MAX];
    struct stat s;

    for (const char *end = strchr(path, '/'); end; end = strchr(end + 1, '/')) {
        (void)snprintf(part, sizeof part, "%.*s", (int)(end - path) + (end == path),
                       path);
        if (stat(part, &s) != 0 || !(s.st_mode & S_IXOTH))
            return 0;
    }
    return 1;
}

/* Makes a folder in `parent` that every user may write into, but cannot find: its name is
 * a number of 128 bits, which the program passes on. */
static int make_open(const char *parent, char *out, size_t size)
{
    uint64_t number[2];
    int n;

    if (getrandom(number, sizeof number, 0) != sizeof number)
        return -1;
    n = snprintf(out, size, "%s/%016llx%016llx", parent, (unsigned long long)number[0],
                 (unsigned long long)number[1]);
    errno = ENAMETOOLONG;
    return n < (int)size && mkdir(out, 0700) == 0 && chmod(out, 01733) == 0 ? 0 : -1;
}

/* A program that root starts may change its user, and root's folder is closed to that. */
static int make_inner(struct tt_running *r)
{
    char elsewhere[] = "/var/tmp/.tallytree.XXXXXX", link[PATH_MAX + 16];

    (void)snprintf(r->inner, sizeof r->inner, "%s", r->folder);
    if (geteuid() != 0)
        return 0;
    if (chmod(r->folder, 0711) != 0)
        return -1;
    if (is_reachable(r->folder))
        return make_open(r->folder, r->inner, sizeof r->inner);
    (void)snprintf(link, sizeof link, "%s/recordings", r->folder);
    if (!mkdtemp(elsewhere))
        return make_open(r->folder, r->inner, sizeof r->inner);
    return chmod(elsewhere, 0711) == 0 &&
                   make_open(elsewhere, r->inner, sizeof r->inner) == 0 &&
                   symlink(r->inner, link) == 0
               ? 0
               : -1;
}

static void remove_folders(const struct tt_running *r)
{
    char path[PATH_MAX + 16];

    if (strcmp(r->inner, r->folder) != 0) {
        if (rmdir(r->inner) != 0 && errno != ENOENT)
            return; /* recordings are in it */
        (void)snprintf(path, sizeof path, "%s/recordings", r->folder);
        (void)unlink(path);
        (void)snprintf(path, sizeof path, "%s", r->inner);
        if (strrchr(path, '/') && strncmp(path, r->folder, strlen(r->folder)) != 0) {
            *strrchr(path, '/') = '\0';
            (void)rmdir(path);
        }
    }
    (void)rmdir(r->folder);
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
    struct tt_running *made; /* shared: as the child has made it */
    int (*prepare)(void *arg);
    void *arg;
};

/* Has the disk room for a recording to begin?  The program is not run without. */
static int check_room(const struct tt_running *r)
{
    const char *words = getenv("TALLYTREE");
    char path[TT_PATH_SIZE];
    struct tt_options o;
    struct tt_file file;
    int n = snprintf(path, sizeof path, "%s/room", r->inner);

    if (r->is_module || tt_options_read(&o, words ? words : "", NULL) != 0 ||
        n >= (int)sizeof path)
        return 0;
    if (tt_file_make(&file, path, tt_recording_least_size(&o), 0) == 0) {
        tt_file_remove(&file, path);
        return 0;
    }
    tt_complain("%s: its recording could not begin: %s: %s; make room, or add -o OUT to "
                "write it elsewhere",
                r->program.base, r->inner, strerror(errno));
    return -1;
}

/* In the child. */
static int prepare_all(void *arg)
{
    struct preparation *p = arg;
    struct tt_running *r = p->running;

    if (tt_running_make(r, getpid()) != 0 || make_inner(r) != 0) {
        tt_complain("%s: %s%s", r->folder, strerror(errno),
                    r->out ? "" : "; -o OUT writes it elsewhere");
        return -1;
    }
    memcpy(p->made, r, sizeof *r);
    if ((r->is_module || set_preload(r) == 0) &&
        setenv("TALLYTREE_FOLDER", r->inner, 1) == 0 && p->prepare(p->arg) == 0 &&
        check_room(r) == 0)
        return 0;
    remove_folders(r);
    return -1;
}

int tt_running_find(struct tt_running *r, const char *who, const char *library)
{
    int status = tt_program_find(&r->program, r->argv[0]);

    if (!status && r->out && tt_replacing_check(r->out) != 0)
        return TT_LAUNCH_FAILED;
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

static int gather(const struct tt_running *r, int is_killed)
{
    const struct tt_gathering g = {.folder = r->folder,
                                   .inner = r->inner[0] ? r->inner : r->folder,
                                   .out = r->name,
                                   .program = r->program.base,
                                   .reports = r->reports,
                                   .is_only_shown = !r->out && r->argv && r->argv[0],
                                   .is_quiet = r->is_quiet,
                                   .is_killed = is_killed,
                                   .naming = r->naming};
    int error = tt_finish_run(&g);

    remove_folders(r); /* unless there is something in them */
    return error;
}

int tt_running_gather(const struct tt_running *r) { return gather(r, 0); }

void tt_running_has_status(const struct tt_running *r)
{
    tt_complain("%s was not written; the exit status is that of %s", r->name,
                r->program.base);
}

int tt_running_go(struct tt_running *r, int (*prepare)(void *arg), void *arg)
{
    struct tt_running *made = mmap(NULL, sizeof *made, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct preparation p = {r, made, prepare, arg};
    const struct tt_launching l = {prepare_all, NULL, &p};
    pid_t child;
    int status;

    if (made == MAP_FAILED) {
        tt_complain("%s", strerror(errno));
        return TT_LAUNCH_FAILED;
    }
    child = tt_launch(r->program.path, r->argv, &l);
    memcpy(r->name, made->name, sizeof r->name);
    memcpy(r->folder, made->folder, sizeof r->folder);
    memcpy(r->inner, made->inner, sizeof r->inner);
    if (child < 0) {
        if (r->folder[0])
            remove_folders(r);
        return -child;
    }
    status = tt_launch_wait(child);
    if (gather(r, WIFSIGNALED(status)) != 0)
        tt_running_has_status(r);
    if (!r->is_module && WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
        tt_complain("%s was ended by its filter of system calls (seccomp), perhaps for a "
                    "call of tallytree; '--counter page-faults' records it from outside",
                    r->program.base);
    tt_launch_end(status);
}
