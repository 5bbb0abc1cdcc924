/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* sample-log-test.c - the sample log against what the test itself has charged, and when. */
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "folder.h"
#include "picture-log.h"
#include "recording.h"
#include "sample-log.h"
#include "tallytree.h"
#include "tap.h"

enum { BLOCKS = 6, RANGES = 10, CHARGES_MAX = 200000 };

static uint64_t dice_state;

static uint32_t dice(uint32_t sides)
{
    dice_state = dice_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((dice_state >> 33) % sides);
}

/* ── What was charged ─────────────────────────────────────────────────────────────── */

static struct {
    uint64_t time, weight;
    uint32_t block;
} charged[CHARGES_MAX];
static uint32_t charges;
static uint64_t clock_now; /* the caller's clock: all weights so far */
static tt_block block[BLOCKS];

static void charge(uint32_t i, uint64_t weight)
{
    tt_mark mark = tt_push(block[i]);

    tt_sample(weight);
    tt_pop(mark);
    clock_now += weight;
#ifdef TT_CHECKED
    if (charges % 50 == 0)
        CHECK_STR(tt_log_check(tt_recording_now()), "");
#endif
    if (CHECK(charges < CHARGES_MAX)) {
        charged[charges].time = clock_now;
        charged[charges].weight = weight;
        charged[charges++].block = i;
    }
}

static void begin(const char *options)
{
    char name[16];

    charges = 0;
    clock_now = 0;
    CHECK_INT(tt_start(options), 0);
    for (int i = 0; i < BLOCKS; i++) {
        snprintf(name, sizeof name, "block %d", i);
        block[i] = tt_block_get(name, "", 0, 0);
    }
}

/* Phases of known shares: in each, block i is charged so often of a hundred. */
static void run_phases(uint32_t count, uint32_t most)
{
    uint32_t share[BLOCKS];

    for (uint32_t i = 0; i < count; i++) {
        if (i % (count / 5 + 1) == 0)
            for (uint32_t k = 0; k < BLOCKS; k++)
                share[k] = dice(100);
        for (uint32_t k = dice(BLOCKS);; k = dice(BLOCKS))
            if (dice(100) <= share[k]) {
                charge(k, 1 + dice(most));
                break;
            }
    }
}

/* ── What the log says ────────────────────────────────────────────────────────────── */

struct found {
    const struct tt_picture *p;
    uint64_t width; /* of a range */
    uint64_t entries, samples, weight, lost;
    uint64_t in[RANGES][BLOCKS + 1]; /* by range and block; the last: others */
    double squares[RANGES];
};

/* The nearest of ours on the path. */
static uint32_t block_of(const struct tt_picture *p, uint32_t context)
{
    uint32_t number;

    for (; context != UINT32_MAX; context = p->context[context].parent) {
        uint32_t i = p->context[context].block;
        if (i < p->blocks && sscanf(p->block[i].info.name, "block %u", &number) == 1 &&
            number < BLOCKS)
            return number;
    }
    return BLOCKS;
}

static void find_entry(void *arg, const struct tt_picture_sample *s)
{
    struct found *f = arg;
    uint64_t range = f->width ? (s->time ? s->time - 1 : 0) / f->width : 0;

    f->entries++;
    f->samples += s->samples;
    f->weight += s->weight;
    if (range < RANGES) {
        f->in[range][block_of(f->p, s->context)] += s->weight;
        f->squares[range] += (double)s->weight * (double)s->weight;
    }
}

static int find(struct found *f, struct recorded *r)
{
    uint64_t width = f->width;

    memset(f, 0, sizeof *f);
    f->p = &r->picture;
    f->width = width;
    if (!CHECK_INT(r->error, 0)) {
        fprintf(stderr, "# %s\n", r->picture.error);
        return 0;
    }
    return CHECK_INT(tt_picture_log(&r->picture, find_entry, f, &f->lost), 0);
}

static uint64_t all_of(const struct found *f, uint32_t range)
{
    uint64_t all = 0;

    for (uint32_t k = 0; k <= BLOCKS; k++)
        all += f->in[range][k];
    return all;
}

/* What was truly charged. */
static void find_truth(uint64_t width, uint64_t truth[RANGES][BLOCKS])
{
    memset(truth, 0, RANGES * sizeof *truth);
    for (uint32_t i = 0; i < charges; i++)
        if ((charged[i].time - 1) / width < RANGES)
            truth[(charged[i].time - 1) / width][charged[i].block] += charged[i].weight;
}

/* ── Everything fits ──────────────────────────────────────────────────────────────── */

TEST(each_sample_is_in_the_log_with_its_context_and_its_time_while_there_is_room)
{
    static uint64_t truth[RANGES][BLOCKS];
    static struct found f;
    struct recorded r;
    int wrong = 0;

    dice_state = 1;
    begin("calls,clock=caller");
    run_phases(20000, 200);
    f.width = clock_now / RANGES + 1;
    find_truth(f.width, truth);
    r = recorded_here();
    if (find(&f, &r)) {
        CHECK_INT(f.entries, charges);
        CHECK_INT(f.samples, charges);
        CHECK_INT(f.weight, clock_now);
        CHECK_INT(f.lost, 0);
        for (int i = 0; i < RANGES; i++)
            for (int k = 0; k < BLOCKS; k++)
                wrong += f.in[i][k] != truth[i][k];
        CHECK_INT(wrong, 0);
    }
    recorded_free(&r);
    CHECK_INT(tt_stop(), 0);
}

TEST(large_weights_are_rounded_and_their_sum_is_not)
{
    static struct found f;
    struct recorded r;

    dice_state = 2;
    begin("calls,clock=caller:1000000000");
    for (int i = 0; i < 5000; i++)
        charge(dice(BLOCKS), 1000003u * (1 + dice(1u << dice(20))));
    r = recorded_here();
    if (find(&f, &r))
        CHECK_INT(f.weight, clock_now);
    recorded_free(&r);
    CHECK_INT(tt_stop(), 0);
}

TEST(with_log_none_there_is_none)
{
    static struct found f;
    struct recorded r;

    begin("calls,clock=caller,log=none");
    charge(0, 5);
    r = recorded_here();
    if (find(&f, &r))
        CHECK_INT(f.entries, 0);
    recorded_free(&r);
    CHECK_INT(tt_stop(), 0);
}

/* ── It is full ───────────────────────────────────────────────────────────────────── */

/* Computes the shares of all blocks in each range, and their 95 % bounds, from the
 * effective number of entries: (sum)² / sum of squares. */
static void count_misses(const struct found *f, uint64_t truth[RANGES][BLOCKS],
                         int *tries, int *misses)
{
    for (int i = 0; i < RANGES; i++) {
        uint64_t there = all_of(f, (uint32_t)i), all = 0;
        for (int k = 0; k < BLOCKS; k++)
            all += truth[i][k];
        for (int k = 0; there && k < BLOCKS; k++) {
            double share = (double)truth[i][k] / (double)all,
                   n = (double)there * (double)there / f->squares[i],
                   got = (double)f->in[i][k] / (double)there,
                   bound = 1.96 * sqrt(share * (1 - share) / n);
            ++*tries;
            *misses += fabs(got - share) > bound;
        }
    }
}

TEST(a_full_log_is_thinned_and_shares_of_ranges_stay_within_their_bounds)
{
    static uint64_t truth[RANGES][BLOCKS];
    static struct found f;
    int tries = 0, misses = 0, rounds = tap_times(200);

    for (int round = 0; round < rounds && !tap.failed; round++) {
        struct recorded r;
        dice_state = (uint64_t)round + 100;
        begin("calls,clock=caller,log=32K");
        run_phases(20000 + dice(30000), 1 + dice(1000));
        f.width = clock_now / RANGES + 1;
        find_truth(f.width, truth);
        r = recorded_here();
        if (find(&f, &r)) {
            CHECK_INT(f.weight, clock_now);
            CHECK_INT(f.samples, charges);
            CHECK_INT(f.lost, 0);
            CHECK(f.entries < 32 * TT_LOG_ENTRIES && f.entries > 8 * TT_LOG_ENTRIES);
            CHECK(r.picture.header->used < 200);
            count_misses(&f, truth, &tries, &misses);
        }
        recorded_free(&r);
        CHECK_INT(tt_stop(), 0);
    }
    if (!CHECK(misses <= tries / 20))
        fprintf(stderr, "# %d of %d shares\n", misses, tries);
}

TEST(what_a_context_has_in_a_range_is_right_on_average)
{
    static uint64_t truth[RANGES][BLOCKS];
    static struct found f;
    enum { ROUNDS = 60 };
    double sum = 0, squares = 0, want = 0, deviation;

    for (int round = 0; round < ROUNDS; round++) {
        struct recorded r;
        double got;
        dice_state = 7; /* the same program each time; the log's own choices differ */
        begin("calls,clock=caller,log=16K");
        run_phases(30000, 100);
        f.width = clock_now / RANGES + 1;
        find_truth(f.width, truth);
        r = recorded_here();
        if (find(&f, &r)) {
            got = (double)f.in[3][1] + (double)f.in[6][1];
            sum += got;
            squares += got * got;
        }
        recorded_free(&r);
        CHECK_INT(tt_stop(), 0);
    }
    want = (double)truth[3][1] + (double)truth[6][1];
    sum /= ROUNDS;
    deviation = sqrt((squares / ROUNDS - sum * sum) / ROUNDS);
    if (!CHECK(fabs(sum - want) <= 4 * deviation + 1))
        fprintf(stderr, "# %.0f on average, not %.0f; %.0f\n", sum, want, deviation);
}

/* ── Contexts go ──────────────────────────────────────────────────────────────────── */

TEST(entries_of_evicted_contexts_go_to_those_that_are_left)
{
    static uint64_t truth[RANGES][BLOCKS];
    static struct found f;
    struct recorded r;
    int wrong = 0;

    dice_state = 3;
    begin("calls,clock=caller,budget=1024nodes");
    for (int i = 0; i < 30000; i++) { /* below one of six, a leaf of very many */
        char name[24];
        uint32_t k = dice(BLOCKS);
        tt_mark mark = tt_push(block[k]);
        snprintf(name, sizeof name, "leaf %u", dice(300));
        tt_push(tt_block_get(name, "", 0, 0));
        tt_sample(3);
        tt_pop(mark);
        clock_now += 3;
        charged[charges].time = clock_now;
        charged[charges].weight = 3;
        charged[charges++].block = k;
    }
    f.width = clock_now / RANGES + 1;
    find_truth(f.width, truth);
    r = recorded_here();
    CHECK(recorded_evictions(&r) > 0);
    if (find(&f, &r)) {
        CHECK_INT(f.weight, clock_now);
        CHECK_INT(f.lost, 0);
        for (int i = 0; i < RANGES; i++)
            for (int k = 0; k < BLOCKS; k++)
                wrong += f.in[i][k] != truth[i][k];
        CHECK_INT(wrong, 0);
    }
    recorded_free(&r);
    CHECK_INT(tt_stop(), 0);
}

/* ── Threads ──────────────────────────────────────────────────────────────────────── */

enum { THREADS = 300, EACH = 40 };

static void *charge_some(void *arg)
{
    for (int i = 0; i < EACH; i++) {
        tt_mark mark = tt_push(block[(uintptr_t)arg % BLOCKS]);
        tt_sample(10);
        tt_pop(mark);
    }
    return NULL;
}

static void run_threads(const char *options, uint64_t *by_block)
{
    pthread_t thread[4];

    begin(options);
    memset(by_block, 0, BLOCKS * sizeof *by_block);
    for (uintptr_t i = 0; i < THREADS; i += 4) {
        for (uintptr_t k = 0; k < 4; k++) {
            CHECK_INT(pthread_create(&thread[k], NULL, charge_some, (void *)(i + k)), 0);
            by_block[(i + k) % BLOCKS] += EACH * 10;
        }
        for (int k = 0; k < 4; k++)
            pthread_join(thread[k], NULL);
    }
}

static void check_threads(const char *options, int exact)
{
    static struct found f;
    uint64_t by_block[BLOCKS], all = 0, there = 0;
    struct recorded r;

    run_threads(options, by_block);
    r = recorded_here();
    f.width = 0;
    if (find(&f, &r)) {
        for (int k = 0; k < BLOCKS; k++) {
            all += by_block[k];
            there += f.in[0][k];
            if (exact && !f.lost)
                CHECK_INT(f.in[0][k], by_block[k]);
            CHECK(!exact || f.in[0][k] <= by_block[k]);
        }
        /* A new thread may find the lock held by one that has no processor. */
        if (exact) {
            CHECK_INT(there + f.lost, all);
            CHECK(f.lost * 2 <= all);
        }
        CHECK_INT(f.weight + f.lost, all);
        CHECK_INT(f.samples, f.lost ? (long long)f.samples : THREADS * EACH);
        CHECK(there <= all);
    }
    recorded_free(&r);
    CHECK_INT(tt_stop(), 0);
}

TEST(samples_of_many_threads_are_all_there) { check_threads("calls,clock=caller", 1); }

TEST(threads_that_are_merged_into_one_row_keep_their_samples)
{
    check_threads("calls,clock=caller,budget=400nodes", 1);
}

TEST(pages_of_threads_that_have_ended_are_put_together)
{
    check_threads("calls,clock=caller,log=16K", 0);
}

/* ── Processes ────────────────────────────────────────────────────────────────────── */

static void charge_for_ever(const char *options)
{
    begin(options);
    for (uint32_t i = 0;; i++) {
        tt_mark mark = tt_push(block[i % BLOCKS]);
        tt_sample(1 + i % 100);
        tt_pop(mark);
    }
}

/* All charged samples are in the log, except the one that was being written. */
static void check_killed(void)
{
    struct recorded r = recorded_file(path, 0);
    static struct found f;
    uint64_t self = 0;

    f.width = 0;
    if (find(&f, &r)) {
        for (uint32_t i = 0; i < r.picture.contexts; i++)
            self += r.picture.context[i].self;
        if (!CHECK(f.weight <= self && f.weight + 200 >= self))
            fprintf(stderr, "# %llu of %llu\n", (unsigned long long)f.weight,
                    (unsigned long long)self);
    }
    recorded_free(&r);
}

TEST(the_log_of_a_killed_process_has_all_samples)
{
    make_folder();
    for (int i = 0; i < tap_times(40) && !tap.failed; i++) {
        int begun = 0;
        pid_t child = fork();
        if (child == 0)
            charge_for_ever(output("calls,clock=caller,log=16K"));
        while (!begun) { /* before its header is whole there is no recording */
            struct recorded r = recorded_file(path, 1);
            begun = r.error == 0;
            recorded_free(&r);
            usleep(500);
        }
        usleep(3000 + (unsigned)i * 2004 / (tap_is_long() ? 4 : 1));
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        check_killed();
        unlink(path);
    }
    leave_folder();
}

TEST(the_child_of_a_fork_has_a_log_that_begins_with_it)
{
    static struct found f;
    struct recorded r;
    int status;
    pid_t child;

    dice_state = 5;
    begin("calls,clock=caller");
    run_phases(1000, 10);
    child = fork();
    if (child == 0) {
        for (int i = 0; i < 77; i++)
            charge(1, 2);
        r = recorded_here();
        f.width = 0;
        _exit(find(&f, &r) && f.weight == 154 && f.entries == 77 ? 0 : 1);
    }
    waitpid(child, &status, 0);
    CHECK_INT(status, 0);
    r = recorded_here();
    if (find(&f, &r))
        CHECK_INT(f.entries, 1000);
    recorded_free(&r);
    CHECK_INT(tt_stop(), 0);
}

/* ── Handlers ─────────────────────────────────────────────────────────────────────── */

static volatile uint64_t in_handler;

static void charge_in_handler(int number)
{
    (void)number;
    tt_sample(1);
    in_handler++;
}

TEST(samples_of_a_handler_that_interrupts_one_add_up)
{
    struct itimerval every = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    static struct found f;
    struct recorded r;
    uint64_t own = 0;

    in_handler = 0;
    begin("calls,clock=caller,log=32K");
    tt_pop(tt_push(block[0])); /* from here on the thread has a strand */
    signal(SIGALRM, charge_in_handler);
    setitimer(ITIMER_REAL, &every, NULL);
    while (in_handler < 500) {
        tt_mark mark = tt_push(block[own % BLOCKS]);
        tt_sample(1);
        tt_pop(mark);
        own++;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    r = recorded_here();
    f.width = 0;
    if (find(&f, &r)) {
        CHECK_INT(f.weight + f.lost, own + in_handler);
        CHECK(f.lost <= in_handler);
    }
    recorded_free(&r);
    CHECK_INT(tt_stop(), 0);
}
