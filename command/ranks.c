/* SPDX-License-Identifier: MIT */
/* ranks.c - a command that a launcher of parallel programs has started several times.
 *
 * Only the launcher's environment says so: the command is linked to no MPI, and works with each of
 * them.  Ranks exchange files in a folder beside the output, where each rank has to be able to
 * write.  A file appears whole, by a rename.
 *
 * They meet first, since the folder may have files of a job that was killed.  Each rank says its
 * random number, rank 0 answers by a list of all numbers and the key of this job, and each rank that
 * finds its number there confirms it:
 *
 *      hello.1 hello.2 ──► rank 0 ──► welcome ──► KEY.here.1 KEY.here.2 */
#include "ranks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "complain.h"
#include "file.h"

enum { NUMBER = 16, LIMIT = 120, PATH = PATH_MAX + 100 }; /* digits; seconds; bytes */

/* ── The environment ──────────────────────────────────────────────────────────────── */

static int number(const char *name, unsigned *n)
{
    const char *text = getenv(name);
    char *end;
    unsigned long value = text ? strtoul(text, &end, 10) : 0;

    if (!text || text == end || *end || value > INT_MAX)
        return -1;
    *n = (unsigned)value;
    return 0;
}

int tt_ranks_find(struct tt_ranks *r)
{
    /* mpirun within a step of Slurm has the variables of both: its own are first. */
    static const char *const launcher[][2] = {
        {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
        {"PMI_RANK", "PMI_SIZE"},
        {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"},
    };

    *r = (struct tt_ranks){.size = 1};
    for (size_t i = 0; i < sizeof launcher / sizeof *launcher; i++)
        if (number(launcher[i][0], &r->rank) == 0 &&
            number(launcher[i][1], &r->size) == 0 && r->rank < r->size) {
            r->launcher = launcher[i][1];
            return r->size > 1;
        }
    return 0;
}

/* ── Files of the folder ──────────────────────────────────────────────────────────── */

/* Between two looks: longer from one to the next, as others use the file system, too. */
struct patience {
    long pause; /* ns */
};

static void look_away(struct patience *p)
{
    enum { FIRST = 2000000, LONGEST = 250000000 };
    struct timespec t = {0, 0};

    p->pause = p->pause ? p->pause + p->pause / 4 : FIRST;
    if (p->pause > LONGEST)
        p->pause = LONGEST;
    t.tv_nsec = p->pause;
    (void)nanosleep(&t, NULL);
}

static void name_file(const struct tt_ranks *r, char path[PATH], const char *name)
{
    (void)snprintf(path, PATH, "%s/%s", r->folder, name);
}

/* ROUND.NAME.RANK of this job */
static void name_part(const struct tt_ranks *r, char path[PATH], const char *name,
                      unsigned rank)
{
    char part[80];

    (void)snprintf(part, sizeof part, "%s.%u.%s.%u", r->key, r->round, name, rank);
    name_file(r, path, part);
}

static void name_failure(const struct tt_ranks *r, char path[PATH])
{
    char name[40];

    (void)snprintf(name, sizeof name, "%s.failure", r->key);
    name_file(r, path, name);
}

static int exists(const char *path) { return access(path, F_OK) == 0; }

static int cannot(const char *path)
{
    tt_complain("%s: %s", path, strerror(errno));
    return -TT_ERR_FILE;
}

/* Reads a small file as a text, or returns NULL; owned. */
static char *read_text(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat s;
    char *text = NULL;
    ssize_t n = -1;

    if (fd >= 0 && fstat(fd, &s) == 0 && (text = malloc((size_t)s.st_size + 1)))
        n = read(fd, text, (size_t)s.st_size);
    if (text)
        text[n > 0 ? n : 0] = '\0';
    if (fd >= 0)
        close(fd);
    return text;
}

int tt_ranks_put(const struct tt_ranks *r, const char *name, const void *bytes,
                 size_t size)
{
    char path[PATH];

    name_part(r, path, name, r->rank);
    return tt_file_write(path, bytes, size) ? cannot(path) : 0;
}

static int map(const char *path, void **bytes, size_t *size)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat s;

    *bytes = MAP_FAILED;
    if (fd >= 0 && fstat(fd, &s) == 0) {
        *size = (size_t)s.st_size;
        *bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    if (fd >= 0)
        close(fd);
    return *bytes == MAP_FAILED ? cannot(path) : 0;
}

/* Has rank 0 ended?  Then its folder may be gone already. */
static int has_ended(const struct tt_ranks *r)
{
    char path[PATH];

    name_part(r, path, "end", 0);
    return exists(path) || (!exists(r->folder) && errno == ENOENT);
}

static int has_failed(const struct tt_ranks *r)
{
    char path[PATH];

    name_failure(r, path);
    return exists(path) || has_ended(r);
}

int tt_ranks_get(const struct tt_ranks *r, const char *name, unsigned of, void **bytes,
                 size_t *size)
{
    struct patience patience = {0};
    char path[PATH];
    int error;

    name_part(r, path, name, of);
    while (!exists(path)) {
        if (has_failed(r))
            return -TT_ERR_STATE;
        look_away(&patience);
    }
    error = map(path, bytes, size);
    (void)unlink(path);
    return error;
}

/* ── The begin ────────────────────────────────────────────────────────────────────── */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* `limit=SECONDS` is a word of TALLYTREE_MPI, as for tallytree-mpi.c. */
static double limit(void)
{
    const char *words = getenv("TALLYTREE_MPI");
    const char *word = words ? strstr(words, "limit=") : NULL;
    const double seconds = word ? strtod(word + 6, NULL) : 0;

    return now() + (seconds > 0 && seconds < 1e6 ? seconds : LIMIT);
}

static int random_number(char text[NUMBER + 1])
{
    uint64_t n;

    if (getrandom(&n, sizeof n, 0) != sizeof n)
        return cannot("merge");
    (void)snprintf(text, NUMBER + 1, "%016" PRIx64, n);
    return 0;
}

/* In a folder that anyone may write to, such as /tmp, the name may be another user's. */
static int make_folder(struct tt_ranks *r, const char *out)
{
    const char *name = strrchr(out, '/');
    struct stat s;

    name = name ? name + 1 : out;
    if ((size_t)snprintf(r->folder, sizeof r->folder, "%.*s.%s.ranks", (int)(name - out),
                         out, name) >= sizeof r->folder)
        errno = ENAMETOOLONG;
    else if ((mkdir(r->folder, 0700) == 0 || errno == EEXIST) &&
             lstat(r->folder, &s) == 0) {
        if (S_ISDIR(s.st_mode) && s.st_uid == geteuid())
            return 0;
        errno = EEXIST;
    }
    return cannot(r->folder);
}

static int say_hello(const struct tt_ranks *r, const char mine[NUMBER + 1])
{
    char path[PATH], name[32];

    (void)snprintf(name, sizeof name, "hello.%u", r->rank);
    name_file(r, path, name);
    return tt_file_write(path, mine, NUMBER) ? cannot(path) : 0;
}

/* The folder stays if other ranks have files there. */
static void take_back_hello(const struct tt_ranks *r)
{
    char path[PATH], name[32];

    (void)snprintf(name, sizeof name, "hello.%u", r->rank);
    name_file(r, path, name);
    (void)unlink(path);
    (void)rmdir(r->folder);
}

/* Takes the key, if the list has this rank's number. */
static int is_welcome(struct tt_ranks *r, const char mine[NUMBER + 1])
{
    char path[PATH], line[64], *list;
    int found;

    name_file(r, path, "welcome");
    list = read_text(path);
    (void)snprintf(line, sizeof line, "\n%u %s\n", r->rank, mine);
    found = list && strlen(list) > NUMBER && strstr(list, line);
    if (found)
        memcpy(r->key, list, NUMBER);
    free(list);
    return found;
}

static int be_welcome(struct tt_ranks *r)
{
    const double until = limit() + 5; /* rank 0 is the first to say so */
    struct patience patience = {0};
    char mine[NUMBER + 1];

    if (random_number(mine) != 0 || say_hello(r, mine) != 0)
        return -TT_ERR_FILE;
    while (!is_welcome(r, mine)) {
        if (now() > until) {
            take_back_hello(r);
            tt_complain("merge: rank %u waits for rank 0 in %s; all ranks need the same "
                        "OUT, in a folder that they share",
                        r->rank, r->folder);
            return -TT_ERR_STATE;
        }
        look_away(&patience);
    }
    return tt_ranks_put(r, "here", "", 0);
}

/* The state of another rank, at rank 0. */
struct guest {
    char number[NUMBER + 1]; /* "": it has said nothing */
    int is_here;
};

/* Returns how many are not there yet; *news: there is another number. */
static unsigned look_for(const struct tt_ranks *r, struct guest *g, int *news)
{
    char path[PATH], name[32], *text;
    unsigned missing = 0;

    for (unsigned i = 1; i < r->size; i++) {
        if (g[i].is_here)
            continue;
        name_part(r, path, "here", i);
        g[i].is_here = exists(path);
        missing += !g[i].is_here;
        (void)snprintf(name, sizeof name, "hello.%u", i);
        name_file(r, path, name);
        text = g[i].is_here ? NULL : read_text(path);
        if (text && strlen(text) == NUMBER && strcmp(text, g[i].number) != 0) {
            memcpy(g[i].number, text, NUMBER);
            *news = 1;
        }
        free(text);
    }
    return missing;
}

static int welcome(const struct tt_ranks *r, const struct guest *g)
{
    const size_t room = ((size_t)r->size + 1) * (NUMBER + 16);
    size_t length = NUMBER + 1;
    char path[PATH], *list = malloc(room);
    int error;

    if (!list)
        return cannot("merge");
    (void)snprintf(list, room, "%s\n", r->key);
    for (unsigned i = 1; i < r->size; i++)
        length += (size_t)snprintf(list + length, room - length, "%u %s\n", i,
                                   g[i].number);
    name_file(r, path, "welcome");
    error = tt_file_write(path, list, length) ? cannot(path) : 0;
    free(list);
    return error;
}

static int is_missing(const struct tt_ranks *r, const struct guest *g, unsigned missing)
{
    unsigned i = 1;

    while (i + 1 < r->size && g[i].is_here)
        i++;
    tt_complain(
        "merge: %s is %u, but only %u have come to %s: rank %u has not; all ranks "
        "need the same OUT, in a folder that they share; if each is to merge "
        "alone, unset %s",
        r->launcher, r->size, r->size - missing, r->folder, i, r->launcher);
    return -TT_ERR_STATE;
}

static int receive(struct tt_ranks *r)
{
    const double until = limit();
    struct guest *g = calloc(r->size, sizeof *g);
    struct patience patience = {0};
    unsigned missing;
    int error = g ? random_number(r->key) : cannot("merge"), news = 0;

    while (!error && (missing = look_for(r, g, &news)) != 0) {
        if (now() > until)
            error = is_missing(r, g, missing);
        else if (news)
            error = welcome(r, g);
        news = 0;
        look_away(&patience);
    }
    free(g);
    return error;
}

static void remove_folder(const struct tt_ranks *r)
{
    DIR *d = opendir(r->folder);
    const struct dirent *e;

    while (d && (e = readdir(d)))
        (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        closedir(d);
    (void)rmdir(r->folder);
}

int tt_ranks_meet(struct tt_ranks *r, const char *out)
{
    int error;

    if (strcmp(out, "-") == 0) {
        tt_complain(
            "merge: several ranks need a file as OUT, beside which they meet, and "
            "not standard output");
        return -TT_ERR_STATE;
    }
    error = make_folder(r, out);
    if (!error && r->rank)
        return be_welcome(r);
    if (!error && (error = receive(r)) != 0)
        remove_folder(r);
    return error;
}

/* ── Stopping, and the end ────────────────────────────────────────────────────────── */

void tt_ranks_stop(const struct tt_ranks *r)
{
    char path[PATH];

    name_part(r, path, "stop", 0);
    (void)tt_file_write(path, "", 0); /* the others only work in vain */
}

int tt_ranks_is_stopped(const struct tt_ranks *r)
{
    char path[PATH];

    name_part(r, path, "stop", 0);
    return exists(path) || has_failed(r);
}

void tt_ranks_fail(struct tt_ranks *r, const char *why)
{
    char path[PATH], text[PATH_MAX + 400];

    (void)snprintf(text, sizeof text, "rank %u: %s", r->rank, why);
    name_failure(r, path);
    if (tt_file_write(path, text, strlen(text)) == 0)
        return;
    tt_complain("%s", text);
    r->is_cut_off = 1;
}

int tt_ranks_failure(const struct tt_ranks *r)
{
    char path[PATH], *text;

    name_failure(r, path);
    text = read_text(path);
    if (text)
        tt_complain("%s", text);
    free(text);
    return text ? -TT_ERR_FILE : 0;
}

int tt_ranks_repeat(struct tt_ranks *r)
{
    const int error = tt_ranks_put(r, "repeat", "", 0);

    r->round += !error;
    return error;
}

int tt_ranks_wait(struct tt_ranks *r)
{
    struct patience patience = {0};
    char path[PATH];

    name_part(r, path, "repeat", 0);
    while (!exists(path)) {
        if (has_ended(r))
            return 0;
        look_away(&patience);
    }
    r->round++;
    return 1;
}

/* Waits for rank 0's status, and says that it is known.  A launcher ends all ranks when one of them has
 * failed: rank 0 has to be ready before. */
static int take_status(const struct tt_ranks *r)
{
    struct patience patience = {0};
    char path[PATH], *text;
    double until;
    int status;

    while (!has_ended(r))
        look_away(&patience);
    until = limit();
    name_part(r, path, "end", 0);
    text = read_text(path);
    status = text ? atoi(text) : TT_EXIT_FAILED;
    free(text);
    if (exists(r->folder))
        (void)tt_ranks_put(r, "bye", "", 0);
    for (patience.pause = 0; exists(r->folder) && now() < until;)
        look_away(&patience);
    return status;
}

/* Until then, the folder has to stay. */
static void see_off(const struct tt_ranks *r)
{
    const double until = limit();
    struct patience patience = {0};
    char path[PATH];

    for (unsigned i = 1; i < r->size; i++) {
        name_part(r, path, "bye", i);
        while (!exists(path) && now() < until)
            look_away(&patience);
    }
}

int tt_ranks_end(const struct tt_ranks *r, int status)
{
    char text[16];

    if (r->rank)
        return r->is_cut_off ? TT_EXIT_FAILED : take_status(r);
    (void)snprintf(text, sizeof text, "%d", status);
    (void)tt_ranks_put(r, "end", text, strlen(text));
    see_off(r);
    remove_folder(r);
    return status;
}
