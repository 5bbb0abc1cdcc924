/* SPDX-License-Identifier: MIT */
/* tallytree-mpi.c - profiles an MPI program: every rank records, MPI's calls are blocks, and
 * MPI_Finalize makes one profile of all ranks.
 *
 *      mpicc -shared -fPIC -O2 tallytree-mpi.c -o libtallytree-mpi.so \
 *          -ltallytree-reduce -ltallytree
 *      mpirun -x LD_PRELOAD=./libtallytree-mpi.so -n 16 ./program
 *
 * Or link it to the program before MPI.  It uses MPI's profiling interface (MPI_X calls
 * PMPI_X) for C and C++, and that of Fortran's bindings.  Build it by the mpicc of the MPI that
 * the program uses.
 *
 * A rank records from MPI_Init on, into FOLDER/rank-N.  This file is readable at any time, so a
 * killed rank loses nothing.  At the end MPI's messages add up the profiles along a tree,
 * exactly:
 *
 *      0 ◀─ 1      2 ◀─ 3      4 ◀─ 5      6 ◀─ 7       then the files are removed
 *      0 ◀──────── 2           4 ◀──────── 6
 *      0 ◀──────────────────── 4
 *
 * A rank has at most two profiles in memory: its sum and one more.  A sum that grows too large
 * keeps only the spread of figures over ranks.  If a rank does not answer within the limit, it
 * is left out, and the files stay for `tallytree merge -o PROFILE FOLDER`.
 *
 * TALLYTREE_MPI in the environment has words separated by commas: those of tt_start, and
 *
 *   output=PROFILE   (default: tallytree.PROGRAM.mpi); FOLDER is PROFILE.ranks.HOST.PID
 *   limit=SECONDS    wait so long for other ranks at the end (default: 60); 0: keep the files
 *   keep             keep the files in any case
 *   most=MB          limit a profile with figures by rank (default: 64)
 *   sum=KB           limit each sum: smaller contexts go to their callers (default: 262144) */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if defined(__has_include) && __has_include("reduce.h")
#include "reduce.h"
#else
#include <tallytree/reduce.h>
#endif

#include "tallytree-mpi-calls.h"

#define MPI_TT __attribute__((visibility("default")))

static struct job {
    int ours;            /* we started the recording, and end it */
    int is_set_up;       /* MPI_Init has been here */
    int rank, size;      /* of all */
    int limit, keep;     /* seconds; 0: there is no reduction */
    size_t most, budget; /* bytes */
    tt_mark program;     /* the activation of all of it, on the thread of MPI_Init */
    tt_block *peer;      /* of each rank; NULL: not recorded */
    tt_metric waited;
    MPI_Comm all; /* a copy of MPI_COMM_WORLD, without other messages */
    char profile[PATH_MAX], folder[PATH_MAX], file[PATH_MAX + 32];
    char words[1024]; /* for tt_start */
} job;

/* ── Words ────────────────────────────────────────────────────────────────────────── */

static void take_word(const char *word)
{
    size_t length = strlen(job.words);

    if (strncmp(word, "output=", 7) == 0)
        (void)snprintf(job.profile, sizeof job.profile, "%s", word + 7);
    else if (strncmp(word, "limit=", 6) == 0)
        job.limit = atoi(word + 6);
    else if (strncmp(word, "most=", 5) == 0)
        job.most = strtoull(word + 5, NULL, 10) << 20;
    else if (strncmp(word, "sum=", 4) == 0)
        job.budget = strtoull(word + 4, NULL, 10) << 10;
    else if (strcmp(word, "keep") == 0)
        job.keep = 1;
    else
        (void)snprintf(job.words + length, sizeof job.words - length, ",%s", word);
}

static void take_words(void)
{
    const char *words = secure_getenv("TALLYTREE_MPI");
    char copy[2048], *save, *word;

    job.limit = 60;
    job.most = (size_t)64 << 20;
    job.budget = (size_t)256 << 20;
    (void)snprintf(job.profile, sizeof job.profile, "tallytree.%s.mpi",
                   program_invocation_short_name);
    (void)snprintf(copy, sizeof copy, "%s", words ? words : "");
    for (word = strtok_r(copy, ", \t\n", &save); word;
         word = strtok_r(NULL, ", \t\n", &save))
        take_word(word);
}

static void complain(const char *what, const char *why)
{
    if (job.rank == 0)
        (void)fprintf(stderr, "tallytree: %s: %s\n", what, why);
}

/* ── The beginning ────────────────────────────────────────────────────────────────── */

/* All ranks use rank 0's names. */
static void agree_on_names(void)
{
    char host[64] = "", here[PATH_MAX], *path = NULL;

    (void)gethostname(host, sizeof host - 1);
    if (job.profile[0] != '/' && getcwd(here, sizeof here) &&
        asprintf(&path, "%s/%s", here, job.profile) > 0 &&
        strlen(path) < sizeof job.profile)
        memcpy(job.profile, path, strlen(path) + 1);
    free(path);
    PMPI_Bcast(job.profile, (int)sizeof job.profile, MPI_CHAR, 0, job.all);
    memcpy(job.folder, job.profile, sizeof job.folder);
    job.folder[sizeof job.folder - 100] = '\0';
    (void)snprintf(job.folder + strlen(job.folder), 100, ".ranks.%s.%d", host, getpid());
    PMPI_Bcast(job.folder, (int)sizeof job.folder, MPI_CHAR, 0, job.all);
}

static int start_in(const char *folder)
{
    char words[sizeof job.words + sizeof job.file + 128];

    (void)snprintf(job.file, sizeof job.file, "%s/rank-%06d", folder, job.rank);
    (void)snprintf(words, sizeof words, "output=%s,rank=%d%s", job.file, job.rank,
                   job.words);
    return tt_start(words);
}

/* If this rank's machine does not have the folder, uses a local one until the end. */
static void start(void)
{
    const char *local = getenv("TMPDIR");
    int error;

    (void)mkdir(job.folder, 0777);
    error = start_in(job.folder);
    if (error == -TT_ERR_FILE && job.rank != 0) {
        (void)snprintf(job.folder, sizeof job.folder, "%s/tallytree-%d-%d",
                       local ? local : "/tmp", job.rank, getpid());
        (void)mkdir(job.folder, 0777);
        error = start_in(job.folder);
    }
    if (error) {
        (void)rmdir(job.folder);
        complain(job.folder, tt_error_text(error));
    }
    job.ours = !error;
}

/* The time between MPI's calls belongs to the program. */
static void enter_program(void)
{
    struct tt_block_info info = {
        .name = program_invocation_short_name, .module = "mpi", .kind = TT_KIND_SCOPE};

    job.program = tt_push(tt_block_make(&info));
}

/* After MPI's own initialisation, on every rank. */
static void begin(void)
{
    if (job.is_set_up)
        return;
    job.is_set_up = 1;
    PMPI_Comm_dup(MPI_COMM_WORLD, &job.all);
    PMPI_Comm_rank(job.all, &job.rank);
    PMPI_Comm_size(job.all, &job.size);
    if (__atomic_load_n(&tt_on, __ATOMIC_RELAXED))
        return; /* the program records already: only add MPI's calls */
    take_words();
    agree_on_names();
    start();
    if (job.ours)
        enter_program();
    job.waited = tt_metric_get("waited", "ns");
    job.peer = job.ours ? calloc((size_t)job.size, sizeof *job.peer) : NULL;
}

/* ── The end ──────────────────────────────────────────────────────────────────────── */

enum { TAG = 1, CHUNK = 1 << 24 };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Returns 0 if the request is done in time; otherwise it is cancelled. */
static int await(MPI_Request *request, double until)
{
    struct timespec nap = {0, 20000};
    int done = 0;

    while (PMPI_Test(request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done) {
        if (now() > until) {
            PMPI_Cancel(request);
            PMPI_Request_free(request);
            return -1;
        }
        nanosleep(&nap, NULL);
    }
    return done ? 0 : -1;
}

static int send_to(int rank, const void *bytes, size_t size, double until)
{
    MPI_Request request;
    int failed = 0;

    for (size_t at = 0; !failed && at < size; at += CHUNK) {
        size_t part = size - at < CHUNK ? size - at : CHUNK;
        failed = PMPI_Isend((const char *)bytes + at, (int)part, MPI_BYTE, rank, TAG,
                            job.all, &request) != MPI_SUCCESS ||
                 await(&request, until) != 0;
    }
    return failed;
}

static int receive_from(int rank, void *bytes, size_t size, double until)
{
    MPI_Request request;
    int failed = 0;

    for (size_t at = 0; !failed && at < size; at += CHUNK) {
        size_t part = size - at < CHUNK ? size - at : CHUNK;
        failed = PMPI_Irecv((char *)bytes + at, (int)part, MPI_BYTE, rank, TAG, job.all,
                            &request) != MPI_SUCCESS ||
                 await(&request, until) != 0;
    }
    return failed;
}

/* The first message of a rank to its parent; size 0: some ranks below it are missing. */
struct offer {
    uint64_t size;
};

/* Waits for the other side before anything large is sent. */
static int give(int parent, const struct tt_reduction *r, int whole, double until)
{
    struct offer o = {whole ? r->size : 0};
    char go = 0;

    if (send_to(parent, &o, sizeof o, until) != 0)
        return -1;
    if (!whole)
        return 0;
    return receive_from(parent, &go, 1, until) != 0 || !go ||
           send_to(parent, r->image, r->size, until) != 0;
}

static int take(int child, struct tt_reduction *r, double until)
{
    struct offer o;
    char go = 1;
    void *image;
    int failed;

    if (receive_from(child, &o, sizeof o, until) != 0 || o.size == 0)
        return -1;
    image = malloc(o.size);
    go = image != NULL;
    failed = send_to(child, &go, 1, until) != 0 || !go ||
             receive_from(child, image, o.size, until) != 0 ||
             tt_reduction_add(r, image, o.size, job.most, job.budget) != 0;
    free(image);
    return failed;
}

/* Adds up the ranks below this one, passes the sum on, and then passes the result down:
 * whether the profile was written. */
static int reduce(struct tt_reduction *r, int whole)
{
    double until = now() + job.limit;
    char done = 0;
    int bit = 1;

    for (; bit < job.size && !(job.rank & bit); bit <<= 1)
        if (job.rank + bit < job.size && take(job.rank + bit, r, until) != 0)
            whole = 0;
    if (job.rank == 0)
        done = whole && tt_reduction_write(r, job.profile) == 0;
    else if (give(job.rank - bit, r, whole, until) != 0 || !whole ||
             receive_from(job.rank - bit, &done, 1, until) != 0)
        done = 0;
    while ((bit >>= 1) > 0)
        if (job.rank + bit < job.size && whole)
            (void)send_to(job.rank + bit, &done, 1, until);
    return done;
}

/* Before MPI's own end. */
static void end(void)
{
    struct tt_reduction r = {NULL, 0};
    int whole, done;

    if (!job.ours)
        return;
    job.ours = 0;
    tt_pop(job.program);
    (void)tt_stop();
    if (!job.limit)
        return;
    whole = tt_reduction_read(&r, job.file) == 0;
    done = reduce(&r, whole);
    tt_reduction_free(&r);
    if (done && !job.keep && unlink(job.file) == 0)
        (void)rmdir(job.folder); /* works on the last rank */
    if (!done)
        complain(job.profile, "not all ranks finished in time; 'tallytree merge' merges "
                              "their files, which are in the folder beside it");
}

/* ── Waits for ranks ──────────────────────────────────────────────────────────────────
 * A call that waits for one rank has a context below it for that rank, with the ns that
 * were waited.  Ranks are those of MPI_COMM_WORLD. */

static uint32_t communicators_freed; /* whose handles may be of others since */

/* Returns the world rank of a rank in a communicator; -1: none, or one of another job. */
static int world_rank(MPI_Comm comm, int rank)
{
    enum { SLOTS = 16 };
    static __thread struct {
        MPI_Comm comm;
        int rank, world;
        uint32_t freed;
    } cache[SLOTS];
    uint32_t freed = __atomic_load_n(&communicators_freed, __ATOMIC_RELAXED) + 1;
    MPI_Group group, all;
    int slot = rank & (SLOTS - 1), inter = 1, world = -1;

    if (rank < 0 || !job.peer || comm == MPI_COMM_WORLD)
        return job.peer ? rank : -1;
    if (cache[slot].freed == freed && cache[slot].comm == comm &&
        cache[slot].rank == rank)
        return cache[slot].world;
    if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter)
        return -1;
    PMPI_Comm_group(comm, &group);
    PMPI_Comm_group(job.all, &all);
    PMPI_Group_translate_ranks(group, 1, &rank, all, &world);
    PMPI_Group_free(&group);
    PMPI_Group_free(&all);
    cache[slot].comm = comm;
    cache[slot].rank = rank;
    cache[slot].freed = freed;
    return cache[slot].world = world;
}

static uint64_t clock_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void note_wait(int peer, uint64_t ns)
{
    char name[24];
    tt_block block;
    tt_mark mark;

    if (peer < 0 || peer >= job.size || !job.peer)
        return;
    block = __atomic_load_n(&job.peer[peer], __ATOMIC_RELAXED);
    if (!block) {
        struct tt_block_info info = {
            .name = name, .module = "mpi.peer", .kind = TT_KIND_SCOPE};
        (void)snprintf(name, sizeof name, "rank %d", peer);
        block = tt_block_make(&info);
        __atomic_store_n(&job.peer[peer], block, __ATOMIC_RELAXED);
    }
    mark = tt_push(block);
    tt_add(job.waited, ns);
    tt_pop(mark);
}

/* Receives on their way to this rank, with their sources.  If a request was freed
 * elsewhere, its entry stays until its handle is used again. */
enum { REQUESTS = 1 << 12 };
static struct {
    MPI_Request request;
    int peer; /* + 1; 0: free */
} requests[REQUESTS];
static pthread_mutex_t requests_lock = PTHREAD_MUTEX_INITIALIZER;

static size_t place_of(MPI_Request request)
{
    uint64_t bits = 0;

    memcpy(&bits, &request, sizeof request);
    return bits * 0x9e3779b97f4a7c15u >> 52;
}

/* Returns its slot, or the next free one within eight, which are tried in turn. */
static void note_request(MPI_Request request, int peer)
{
    size_t at = place_of(request), found = at;

    if (peer < 0)
        return;
    pthread_mutex_lock(&requests_lock);
    for (size_t i = 8; i-- > 0;) {
        size_t slot = (at + i) & (REQUESTS - 1);
        if (!requests[slot].peer || requests[slot].request == request)
            found = slot;
    }
    requests[found].request = request;
    requests[found].peer = peer + 1;
    pthread_mutex_unlock(&requests_lock);
}

static int take_request(MPI_Request request)
{
    size_t at = place_of(request);
    int peer = -1;

    if (!job.peer)
        return -1;
    pthread_mutex_lock(&requests_lock);
    for (size_t i = 0; i < 8 && peer < 0; i++) {
        size_t slot = (at + i) & (REQUESTS - 1);
        if (requests[slot].peer && requests[slot].request == request) {
            peer = requests[slot].peer - 1;
            requests[slot].peer = 0;
        }
    }
    pthread_mutex_unlock(&requests_lock);
    return peer;
}

/* ── Calls ────────────────────────────────────────────────────────────────────────── */

static tt_mark enter(tt_block *block, const char *name)
{
    tt_block b = __atomic_load_n(block, __ATOMIC_RELAXED);

    if (!b) {
        struct tt_block_info info = {
            .name = name, .module = "mpi", .kind = TT_KIND_SCOPE};
        b = tt_block_make(&info);
        __atomic_store_n(block, b, __ATOMIC_RELAXED);
    }
    return tt_push(b);
}

MPI_TT int MPI_Init(int *argc, char ***argv)
{
    int result = PMPI_Init(argc, argv);

    if (result == MPI_SUCCESS)
        begin();
    return result;
}

MPI_TT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int result = PMPI_Init_thread(argc, argv, required, provided);

    if (result == MPI_SUCCESS)
        begin();
    return result;
}

MPI_TT int MPI_Finalize(void)
{
    end();
    return PMPI_Finalize();
}

#define WRAP(name, fortran, count, declared, given)                                      \
    MPI_TT int MPI_##name declared                                                       \
    {                                                                                    \
        static tt_block block;                                                           \
        tt_mark mark = enter(&block, "MPI_" #name);                                      \
        int result = PMPI_##name given;                                                  \
                                                                                         \
        tt_pop(mark);                                                                    \
        return result;                                                                   \
    }
CALLS(WRAP)

#define OWN_STATUS(s)                                                                    \
    MPI_Status own_status;                                                               \
    if (s == MPI_STATUS_IGNORE)                                                          \
        s = &own_status;
#define WRAP_PEER(name, fortran, count, declared, given, before, peer, comm)             \
    MPI_TT int MPI_##name declared                                                       \
    {                                                                                    \
        static tt_block block;                                                           \
        tt_mark mark = enter(&block, "MPI_" #name);                                      \
        uint64_t since = clock_now();                                                    \
        int result;                                                                      \
                                                                                         \
        before result = PMPI_##name given;                                               \
        if (result == MPI_SUCCESS)                                                       \
            note_wait(world_rank(comm, peer), clock_now() - since);                      \
        tt_pop(mark);                                                                    \
        return result;                                                                   \
    }
CALLS_OF_PEERS(WRAP_PEER)

MPI_TT int MPI_Irecv(void *a, int b, MPI_Datatype c, int d, int e, MPI_Comm f,
                     MPI_Request *g)
{
    static tt_block block;
    tt_mark mark = enter(&block, "MPI_Irecv");
    int result = PMPI_Irecv(a, b, c, d, e, f, g);

    if (result == MPI_SUCCESS && job.peer)
        note_request(*g, world_rank(f, d));
    tt_pop(mark);
    return result;
}

MPI_TT int MPI_Wait(MPI_Request *a, MPI_Status *b)
{
    static tt_block block;
    tt_mark mark = enter(&block, "MPI_Wait");
    int peer = take_request(*a);
    uint64_t since = clock_now();
    int result = PMPI_Wait(a, b);

    note_wait(peer, clock_now() - since);
    tt_pop(mark);
    return result;
}

/* MPI does not report which of them came last: each gets an equal share. */
MPI_TT int MPI_Waitall(int a, MPI_Request b[], MPI_Status *c)
{
    enum { PEERS = 64 };
    static tt_block block;
    tt_mark mark = enter(&block, "MPI_Waitall");
    int peer[PEERS], peers = 0, result;
    uint64_t since;

    for (int i = 0; i < a; i++) {
        int one = take_request(b[i]);
        if (one >= 0 && peers < PEERS)
            peer[peers++] = one;
    }
    since = clock_now();
    result = PMPI_Waitall(a, b, c);
    since = clock_now() - since;
    for (int i = 0; i < peers; i++)
        note_wait(peer[i], since / (uint64_t)peers);
    tt_pop(mark);
    return result;
}

MPI_TT int MPI_Waitany(int a, MPI_Request b[], int *c, MPI_Status *d)
{
    enum { MOST = 64 };
    static tt_block block;
    tt_mark mark = enter(&block, "MPI_Waitany");
    MPI_Request before[MOST];
    uint64_t since = clock_now();
    int result;

    for (int i = 0; i < a && i < MOST; i++) /* a count below 0 is MPI's to refuse */
        before[i] = b[i];
    result = PMPI_Waitany(a, b, c, d);
    if (result == MPI_SUCCESS && *c >= 0 && *c < MOST)
        note_wait(take_request(before[*c]), clock_now() - since);
    tt_pop(mark);
    return result;
}

MPI_TT int MPI_Comm_free(MPI_Comm *a)
{
    static tt_block block;
    tt_mark mark = enter(&block, "MPI_Comm_free");
    int result;

    __atomic_add_fetch(&communicators_freed, 1, __ATOMIC_RELAXED);
    result = PMPI_Comm_free(a);
    tt_pop(mark);
    return result;
}

/* ── Fortran ──────────────────────────────────────────────────────────────────────────
 * Its calls bypass ours.  All arguments are addresses, the error code is the last one;
 * the bindings are there only if the program has them. */

#define DECLARE_0 void *e
#define DECLARE_1 void *a, DECLARE_0
#define DECLARE_2 void *b, DECLARE_1
#define DECLARE_3 void *c, DECLARE_2
#define DECLARE_4 void *d, DECLARE_3
#define DECLARE_5 void *f, DECLARE_4
#define DECLARE_6 void *g, DECLARE_5
#define DECLARE_7 void *h, DECLARE_6
#define DECLARE_8 void *i, DECLARE_7
#define DECLARE_9 void *j, DECLARE_8
#define DECLARE_10 void *k, DECLARE_9
#define DECLARE_11 void *l, DECLARE_10
#define DECLARE_12 void *m, DECLARE_11
#define GIVE_0 e
#define GIVE_1 a, GIVE_0
#define GIVE_2 b, GIVE_1
#define GIVE_3 c, GIVE_2
#define GIVE_4 d, GIVE_3
#define GIVE_5 f, GIVE_4
#define GIVE_6 g, GIVE_5
#define GIVE_7 h, GIVE_6
#define GIVE_8 i, GIVE_7
#define GIVE_9 j, GIVE_8
#define GIVE_10 k, GIVE_9
#define GIVE_11 l, GIVE_10
#define GIVE_12 m, GIVE_11

#define FORTRAN(symbol, name, count)                                                     \
    extern void p##symbol(DECLARE_##count) __attribute__((weak));                        \
    MPI_TT void symbol(DECLARE_##count);                                                 \
    void symbol(DECLARE_##count)                                                         \
    {                                                                                    \
        static tt_block block;                                                           \
        tt_mark mark = enter(&block, "MPI_" #name);                                      \
                                                                                         \
        p##symbol(GIVE_##count);                                                         \
        tt_pop(mark);                                                                    \
    }
#define WRAP_FORTRAN(name, fortran, count, declared, given)                              \
    FORTRAN(mpi_##fortran##_, name, count) FORTRAN(mpi_##fortran##_f08_, name, count)
#define WRAP_FORTRAN_PEER(name, fortran, count, declared, given, before, peer, comm)     \
    WRAP_FORTRAN(name, fortran, count, declared, given)
CALLS(WRAP_FORTRAN)
CALLS_BY_HAND(WRAP_FORTRAN)
CALLS_OF_PEERS(WRAP_FORTRAN_PEER)

#define FORTRAN_ENDS(suffix)                                                             \
    extern void pmpi_init##suffix(void *e) __attribute__((weak));                        \
    extern void pmpi_init_thread##suffix(void *a, void *b, void *e)                      \
        __attribute__((weak));                                                           \
    extern void pmpi_finalize##suffix(void *e) __attribute__((weak));                    \
    MPI_TT void mpi_init##suffix(void *e);                                               \
    MPI_TT void mpi_init_thread##suffix(void *a, void *b, void *e);                      \
    MPI_TT void mpi_finalize##suffix(void *e);                                           \
    void mpi_init##suffix(void *e)                                                       \
    {                                                                                    \
        pmpi_init##suffix(e);                                                            \
        begin();                                                                         \
    }                                                                                    \
    void mpi_init_thread##suffix(void *a, void *b, void *e)                              \
    {                                                                                    \
        pmpi_init_thread##suffix(a, b, e);                                               \
        begin();                                                                         \
    }                                                                                    \
    void mpi_finalize##suffix(void *e)                                                   \
    {                                                                                    \
        end();                                                                           \
        pmpi_finalize##suffix(e);                                                        \
    }
FORTRAN_ENDS(_)
FORTRAN_ENDS(_f08_)
