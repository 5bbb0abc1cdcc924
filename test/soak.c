/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* soak.c - rounds of eight threads that push at random, jump out of scopes, pause, fork and
 * are killed; after each round the recording's calls are those that were made.
 *
 *     soak [SECONDS] [SEED]      default: 180 seconds, seed from the clock */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "recorded.h"

enum { THREADS = 8, NAMES = 12, DEPTH = 40 };

static struct shared {
    int over;
    struct counted {
        uint64_t begun[NAMES], done[NAMES];
    } thread[THREADS];
} * shared;

static char names[NAMES][16];

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void jump_out(jmp_buf *env, int depth)
{
    TT_SCOPE("jumped over");
    if (depth)
        jump_out(env, depth - 1);
    else if (env)
        longjmp(*env, 1);
}

static void jump(void)
{
    jmp_buf env;

    if (setjmp(env) == 0)
        jump_out(&env, 3);
}

static void fork_once(void)
{
    pid_t child = fork();

    if (child == 0) {
        for (int i = 0; i < 100; i++)
            tt_pop(tt_push(tt_block_get("in a child", "", 0, 0)));
        _exit(0);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

static void *push_at_random(void *arg)
{
    struct counted *c = arg;
    uint64_t state = (uint64_t)(uintptr_t)c ^ (uint64_t)getpid() << 20;
    tt_block block[NAMES];
    tt_mark open[DEPTH];
    int depth = 0;

    for (int i = 0; i < NAMES; i++)
        block[i] = tt_block_get(names[i], "", 0, 0);
    while (!__atomic_load_n(&shared->over, __ATOMIC_RELAXED)) {
        uint64_t dice = next_random(&state) >> 11;
        if (depth < DEPTH && dice % 100 < 54) {
            int i = (int)(dice / 100 % NAMES);
            c->begun[i]++;
            open[depth++] = tt_push(block[i]);
            c->done[i]++;
        } else if (depth) {
            depth -= 1 + (int)(dice / 100 % 3 == 0 && depth > 1);
            tt_pop(open[depth]);
        }
        if (dice % 5000 == 0)
            jump();
        if (dice % 9000 == 1 && tt_pause() == 0)
            tt_resume();
        if (dice % 400000 == 2)
            fork_once();
    }
    return NULL;
}

static void run_round(const char *words)
{
    pthread_t thread[THREADS];

    if (tt_start(words) != 0)
        _exit(3);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, push_at_random, &shared->thread[i]) != 0)
            _exit(3);
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    _exit(tt_stop() == 0 ? 0 : 3);
}

static int check_calls(const char *path, int killed)
{
    struct recorded r = recorded_file(path, 0);
    int wrong = r.error != 0;

    if (wrong)
        fprintf(stderr, "%s\n", r.picture.error);
    for (int i = 0; !wrong && i < NAMES; i++) {
        uint64_t begun = 0, done = 0, calls = recorded_calls(&r, names[i]);
        for (int t = 0; t < THREADS; t++) {
            begun += shared->thread[t].begun[i];
            done += shared->thread[t].done[i];
        }
        if (calls < done || calls > begun || (!killed && calls != done)) {
            fprintf(stderr, "%s: %llu calls, not %llu to %llu\n", names[i],
                    (unsigned long long)calls, (unsigned long long)done,
                    (unsigned long long)begun);
            wrong = 1;
        }
    }
    recorded_free(&r);
    return wrong;
}

static int soak_round(uint64_t *state, const char *folder)
{
    static const char *const modes[] = {"calls",
                                        "exact",
                                        "every=16",
                                        "sampled=1000",
                                        "sampled=1000,sampler=thread",
                                        "exact,histogram"};
    static const char *const budgets[] = {"256K", "1M", "64M", "512nodes"};
    static const char *const policies[] = {"edge", "block", "cycle", "none", "recent:6"};
    char words[300], path[200];
    uint64_t dice = next_random(state) >> 8;
    const char *mode = modes[dice % 6];
    int killed = dice / 6 % 2 == 0, status = 0;
    pid_t child;

    snprintf(path, sizeof path, "%s/recording", folder);
    snprintf(words, sizeof words, "%s,budget=%s,recursion=%s,output=%s", mode,
             budgets[dice / 12 % 4], policies[dice / 48 % 5], path);
    memset(shared, 0, sizeof *shared);
    child = fork();
    if (child == 0)
        run_round(words);
    usleep((useconds_t)(20000 + dice / 240 % 400000));
    if (killed)
        kill(child, SIGKILL);
    else
        __atomic_store_n(&shared->over, 1, __ATOMIC_RELAXED);
    waitpid(child, &status, 0);
    if (!killed && status != 0) {
        fprintf(stderr, "%s: ended with status %#x\n", words, (unsigned)status);
        return 1;
    }
    if (strncmp(mode, "sampled", 7) == 0) /* calls are not counted */
        return 0;
    if (killed && access(path, F_OK) != 0)
        return 0;
    if (check_calls(path, killed)) {
        fprintf(stderr, "in the round %s%s\n", words, killed ? ", killed" : "");
        return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    time_t end = time(NULL) + (argc > 1 ? atol(argv[1]) : 180);
    uint64_t state = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL),
             seed = state;
    char folder[] = "/tmp/tallytree-soak-XXXXXX", command[100];
    unsigned long rounds = 0;
    int wrong = 0;

    state = state * 0x9e3779b97f4a7c15u | 1;
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED || !mkdtemp(folder))
        return 2;
    for (int i = 0; i < NAMES; i++)
        snprintf(names[i], sizeof names[i], "block %d", i);
    while (!wrong && time(NULL) < end) {
        wrong = soak_round(&state, folder);
        rounds++;
        snprintf(command, sizeof command, "rm -f %s/*", folder);
        if (system(command) != 0)
            wrong = 1;
    }
    rmdir(folder);
    printf("seed %llu: %lu rounds, %s\n", (unsigned long long)seed, rounds,
           wrong ? "and the last one was wrong" : "all sums right");
    return wrong;
}
