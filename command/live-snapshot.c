/* SPDX-License-Identifier: MIT */
/* live-snapshot.c - a snapshot of a running recording, which can be read again.
 *
 * The recorded process does not take part: its recording is a mapped file, which
 * /proc/PID/maps names. */
#include "live-snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "filter.h"
#include "layout.h"
#include "scratch.h"

/* ── The recording of a process ───────────────────────────────────────────────────── */

static int is_recording(const char *path)
{
    char magic[sizeof TT_MAGIC - 1] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), is;

    if (fd < 0)
        return 0;
    is = read(fd, magic, sizeof magic) == (ssize_t)sizeof magic &&
         memcmp(magic, TT_MAGIC, sizeof magic) == 0;
    close(fd);
    return is;
}

/* Takes a line of /proc/PID/maps: "from-to rw-s offset device inode path".  Opens only
 * shared writable mappings: opening others, such as devices, may have side effects. */
static int take_mapping(long pid, char *line, char *path, size_t size)
{
    char range[64], rights[8];
    int at = 0;

    line[strcspn(line, "\n")] = '\0';
    if (sscanf(line, "%63s %7s %*s %*s %*s %n", range, rights, &at) < 2 || !at ||
        strcmp(rights, "rw-s") != 0 || line[at] != '/' ||
        (strncmp(line + at, "/dev/", 5) == 0 && strncmp(line + at, "/dev/shm/", 9) != 0))
        return 0;
    (void)snprintf(path, size, "%s", line + at);
    if (is_recording(path))
        return 1;
    /* It may see other folders than we do; or the file has no name any more. */
    (void)snprintf(path, size, "/proc/%ld/root%s", pid, line + at);
    if (is_recording(path))
        return 1;
    (void)snprintf(path, size, "/proc/%ld/map_files/%s", pid, range);
    return is_recording(path);
}

/* Does the process have one?  *error: why its mappings could not be read, or 0. */
static int find_mapped(long pid, char *path, size_t size, int *error)
{
    char name[40], *line = NULL;
    size_t room = 0;
    int is_found = 0;
    FILE *f;

    (void)snprintf(name, sizeof name, "/proc/%ld/maps", pid);
    f = fopen(name, "re");
    *error = f ? 0 : errno;
    errno = 0;
    while (f && !is_found && getline(&line, &room, f) > 0)
        is_found = take_mapping(pid, line, path, size);
    if (f && ferror(f))
        *error = errno;
    free(line);
    if (f)
        (void)fclose(f);
    return is_found;
}

/* `tallytree record` runs the program as its child. */
static int find_in_children(long pid, char *path, size_t size)
{
    char name[60];
    long child;
    int is_found = 0, unused;
    FILE *f;

    (void)snprintf(name, sizeof name, "/proc/%ld/task/%ld/children", pid, pid);
    f = fopen(name, "re");
    while (f && !is_found && fscanf(f, "%ld", &child) == 1)
        is_found = find_mapped(child, path, size, &unused);
    if (f)
        (void)fclose(f);
    return is_found;
}

int tt_live_snapshot_find(long pid, char *path, size_t size)
{
    int error;

    if (find_mapped(pid, path, size, &error) || find_in_children(pid, path, size))
        return 0;
    if (error)
        tt_complain("process %ld: %s", pid,
                    error == ENOENT || error == ESRCH ? "there is no such process"
                                                      : strerror(error));
    else
        tt_complain("process %ld is not recorded in-process; if 'tallytree record -p "
                    "%ld' records it, give the PID of that command",
                    pid, pid);
    return -TT_ERR_FILE;
}

int tt_live_snapshot_is_alive(uint64_t pid)
{
    char name[40], text[300] = "", *state;
    FILE *f;

    if (pid == 0 || pid > INT32_MAX)
        return 1; /* unknown */
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return 0;
    (void)snprintf(name, sizeof name, "/proc/%d/stat", (int)pid);
    f = fopen(name, "re");
    if (!f)
        return 1;
    (void)!fread(text, 1, sizeof text - 1, f);
    (void)fclose(f);
    state = strrchr(text, ')');
    return !state || (strncmp(state, ") Z", 3) != 0 && strncmp(state, ") X", 3) != 0);
}

/* The process that writes it: from outside, that is none of the strands'. */
int tt_live_snapshot_is_gone(const struct tt_profile *p)
{
    const uint64_t recorder = tt_fact_number(p, "recorder");
    char host[65] = "";

    if (!tt_fact_number(p, "open") || !p->strands ||
        gethostname(host, sizeof host - 1) != 0)
        return 0;
    for (uint32_t i = 0; i < p->strands; i++) {
        /* A strand that was just begun may have no host yet. */
        const char *of = tt_profile_string(p, p->strand[i].host);
        if ((*of && strcmp(of, host) != 0) ||
            tt_live_snapshot_is_alive(recorder ? recorder : p->strand[i].pid))
            return 0;
    }
    return 1;
}

/* ── Moments ──────────────────────────────────────────────────────────────────────── */

double tt_live_snapshot_clock(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* When the figures were read, on that clock: by how long the run had lasted then.  Not before
 * `earliest`, and not after now, as the clock of dates may be set. */
static double time_of_figures(const struct tt_profile *p, double earliest)
{
    const double now = tt_live_snapshot_clock();
    struct timespec date;
    double age, time;

    (void)clock_gettime(CLOCK_REALTIME, &date);
    age = (double)date.tv_sec + (double)date.tv_nsec / 1e9 -
          (double)tt_fact_number(p, "started") / 1e9 -
          (double)tt_fact_number(p, "lasted") / 1e9;
    time = age > 0 ? now - age : now;
    return time > earliest ? time : earliest;
}

static struct tt_live_snapshot *read_once(char *const *paths, int count,
                                          struct tt_names_wanted *names)
{
    struct tt_live_snapshot *m = calloc(1, sizeof *m);
    const struct tt_profile *p;

    if (!m) {
        tt_complain("no memory");
        return NULL;
    }
    p = &m->in.profile;
    m->time = tt_live_snapshot_clock();
    if (tt_input_open(&m->in, paths, count, TT_INPUT_QUIET | TT_INPUT_UNNAMED) != 0) {
        free(m);
        return NULL;
    }
    tt_input_name(&m->in, names);
    if (tt_profile_check(&m->in.profile) != 0) {
        tt_complain("%s: %s", paths[0], p->error);
        tt_live_snapshot_free(m);
        return NULL;
    }
    m->time = time_of_figures(p, m->time);
    m->state = !tt_fact_number(p, "open")    ? TT_LIVE_SNAPSHOT_ENDED
               : tt_live_snapshot_is_gone(p) ? TT_LIVE_SNAPSHOT_GONE
                                             : TT_LIVE_SNAPSHOT_RUNNING;
    return m;
}

/* The process may have ended it after it was read: the file is final now, so it is read
 * again. */
struct tt_live_snapshot *tt_live_snapshot_read(char *const *paths, int count,
                                               struct tt_names_wanted *names)
{
    struct tt_live_snapshot *m = read_once(paths, count, names);

    if (!m || m->state != TT_LIVE_SNAPSHOT_GONE)
        return m;
    tt_live_snapshot_free(m);
    return read_once(paths, count, names);
}

void tt_live_snapshot_free(struct tt_live_snapshot *m)
{
    if (!m)
        return;
    tt_filter_close(&m->filtered, &tt_scratch);
    tt_input_close(&m->in);
    free(m);
}

int tt_live_snapshot_filter(struct tt_live_snapshot *m, struct tt_query *q,
                            uint64_t filters)
{
    int error;

    if (m->filters == filters)
        return 0;
    tt_filter_close(&m->filtered, &tt_scratch);
    error = tt_filter_apply(&m->in.profile, q, &m->filtered);
    m->filters = error ? 0 : filters;
    return error;
}

static int is_same_fact(const struct tt_profile *p, const struct tt_profile *q,
                        const char *name)
{
    const char *a = tt_fact_text(p, name), *b = tt_fact_text(q, name);

    return strcmp(a ? a : "", b ? b : "") == 0;
}

int tt_live_snapshot_is_of(const struct tt_live_snapshot *m,
                           const struct tt_live_snapshot *other)
{
    const struct tt_profile *p = &m->in.profile, *q = &other->in.profile;

    /* Not by the program: of several, the fact is the first by name, and one may have started
     * since. */
    return tt_fact_number(p, "started") == tt_fact_number(q, "started") &&
           is_same_fact(p, q, "host");
}
