/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* kill-test.c - a recording survives `kill -9`, except for the push in flight. */
#include <signal.h>
#include <sys/wait.h>

#include "recorded.h"
#include "tallytree.h"
#include "tap.h"

enum { BLOCKS = 30, ROUNDS = 8 };

struct counts { /* shared with the child */
    volatile uint64_t begun[BLOCKS], done[BLOCKS], scopes_begun, scopes_done;
};

static uint32_t dice_state;

static uint32_t dice(uint32_t sides)
{
    dice_state = dice_state * 1664525u + 1013904223u;
    return (dice_state >> 8) % sides;
}

static void push_below(struct counts *c, const tt_block *block, int depth)
{
    c->scopes_begun++;
    TT_SCOPE("scope");
    c->scopes_done++;
    while (dice(8)) {
        uint32_t i = dice(BLOCKS);
        tt_mark mark;
        c->begun[i]++;
        mark = tt_push(block[i]);
        c->done[i]++;
        if (depth && dice(2))
            push_below(c, block, depth - 1);
        tt_pop(mark);
    }
}

static void push_for_ever(struct counts *c, const char *options)
{
    tt_block block[BLOCKS];
    char name[16];

    if (tt_start(options) != 0)
        _exit(1);
    for (int i = 0; i < BLOCKS; i++) {
        snprintf(name, sizeof name, "block %d", i);
        block[i] = tt_block_get(name, "", 0, 0);
    }
    for (;;)
        push_below(c, block, 12);
}

/* However long it takes; it ends by itself only when it cannot start. */
static void wait_for_work(const struct counts *c, pid_t child)
{
    siginfo_t ended = {0};

    while (c->scopes_done < 1000 && !ended.si_pid) {
        usleep(1000);
        (void)waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT);
    }
}

/* While it grows it can be read at any moment. */
static void read_while_it_runs(const char *path)
{
    for (int i = 0; i < tap_times(8); i++) {
        struct recorded r = recorded_file(path, 1);
        if (!CHECK_INT(r.error, 0))
            fprintf(stderr, "# %s\n", r.picture.error);
        recorded_free(&r);
        usleep(dice(2000));
    }
}

static int check_between(const char *name, uint64_t least, uint64_t calls, uint64_t most)
{
    if (CHECK(least <= calls && calls <= most))
        return 1;
    fprintf(stderr, "# %s: %llu is not from %llu to %llu\n", name,
            (unsigned long long)calls, (unsigned long long)least,
            (unsigned long long)most);
    return 0;
}

static void check_counts(const struct counts *c, const char *path)
{
    struct recorded r = recorded_file(path, 0);
    char name[16];

    if (!CHECK_INT(r.error, 0)) {
        fprintf(stderr, "# %s\n", r.picture.error);
        recorded_free(&r);
        return;
    }
    CHECK_INT(r.picture.header->state, TT_RECORDING_OPEN);
    CHECK_INT(recorded_lost_pushes(&r), 0);
    for (int i = 0; i < BLOCKS; i++) {
        snprintf(name, sizeof name, "block %d", i);
        if (!check_between(name, c->done[i], recorded_calls(&r, name), c->begun[i]))
            break;
    }
    check_between("scope", c->scopes_done, recorded_calls(&r, "scope"), c->scopes_begun);
    recorded_free(&r);
}

static void kill_once(const char *folder, const char *mode, int round)
{
    struct counts *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    char path[64], options[160];
    int status;
    pid_t child;

    snprintf(path, sizeof path, "%s/recording", folder);
    snprintf(options, sizeof options, "output=%s,%s", path, mode);
    dice_state = (uint32_t)round * 7919 + 1;
    child = fork();
    if (child == 0)
        push_for_ever(c, options);
    wait_for_work(c, child);
    if (round == 0)
        read_while_it_runs(path);
    dice_state ^= (uint32_t)child * 2654435761u;
    usleep(dice(30000));
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status));
    check_counts(c, path);
    unlink(path);
    munmap(c, sizeof *c);
}

static void kill_often(const char *mode)
{
    char folder[] = "/tmp/tallytree-XXXXXX";

    if (!CHECK(mkdtemp(folder) != NULL))
        return;
    for (int i = 0; i < tap_times(ROUNDS) && !tap.failed; i++)
        kill_once(folder, mode, i);
    rmdir(folder);
}

TEST(a_killed_recording_has_all_calls_in_mode_calls) { kill_often("calls"); }
TEST(a_killed_recording_has_all_calls_in_mode_exact) { kill_often("exact"); }
TEST(a_killed_recording_has_all_calls_in_mode_every) { kill_often("every=8,histogram"); }
TEST(a_killed_recording_has_all_calls_amid_evictions)
{
    kill_often("calls,budget=512nodes");
}
TEST(a_killed_recording_has_all_calls_amid_evictions_in_mode_exact)
{
    kill_often("exact,budget=512nodes");
}
TEST(a_killed_recording_has_all_calls_with_the_smallest_budgets)
{
    kill_often("exact,budget=64nodes");
    kill_often("calls,budget=128K");
}
TEST(a_killed_recording_has_all_calls_with_a_full_tree)
{
    kill_often("calls,recursion=none,budget=1M");
}
