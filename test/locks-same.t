#!/bin/bash
# SPDX-License-Identifier: MIT
# With --locks a program does what it does without: all kinds of locks, with signals, threads that
# are cancelled or die with a lock, jumps out of a wait, forks, and code that is unloaded.
. "$(dirname "$0")/tap.sh"
tallytree=$TT_BUILD/tallytree
stress=$TT_BUILD/test/locks-stress
plugin=$TT_BUILD/test/locks-plugin.so
runs=${TT_RUNS:-$(for_long 2 5)}

"$stress" "$plugin" >"$tmp/alone"
alone=$?

# same FLAGS... - so many times
same()
{
    local i
    for ((i = 0; i < runs; i++)); do
        timeout -k 5 500 "$tallytree" record --force --locks "$@" -o "$tmp/tt" "$stress" "$plugin" >"$tmp/out" 2>"$tmp/err"
        [ $? = $alone ] && cmp "$tmp/alone" "$tmp/out" || { echo "run $i"; cat "$tmp/out" "$tmp/err"; return 1; }
    done
}

try "alone it ends well" [ $alone = 7 ]
try "with --locks its output and its status are the same" same
try "so they are when threads that wait are sampled too" same --wall
try "and in little memory" same --budget 256K
kinds()
{
    local kind
    "$tallytree" record --force --locks -o "$tmp/tt" "$stress" "$plugin" >"$tmp/out" 2>"$tmp/err"
    "$tallytree" report flat --limit all --metric delay "$tmp/tt" >"$tmp/flat"
    "$tallytree" report flat --limit all --metric "wait time" "$tmp/tt" >>"$tmp/flat"
    for kind in mutex 'end of'; do
        grep -qF "[waits: $kind]" "$tmp/flat" || { echo "no $kind"; cat "$tmp/flat"; return 1; }
    done
}
try "and what they waited for is recorded" kinds
# The results of each kind of mutex: of one that is free, held here, held elsewhere, left by a
# dead thread; and of times and clocks that are not valid.
cat >"$tmp/results.c" <<'END'
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
static pthread_mutex_t m;
static pthread_barrier_t b;
static const struct timespec past = {1, 0}, wrong = {1, -1};
static int priority(void)
{
    struct sched_param p;
    return sched_getparam(0, &p) ? -1 : p.sched_priority;
}
static int give_back(int error)
{
    if (!error || error == 130) /* EOWNERDEAD */
        pthread_mutex_unlock(&m);
    return error;
}
static void try_all(const char *when)
{
    printf(" %s", when);
    printf(" %d", give_back(pthread_mutex_trylock(&m)));
    printf(" %d", give_back(pthread_mutex_timedlock(&m, &past)));
    printf(" %d", give_back(pthread_mutex_timedlock(&m, &wrong)));
    printf(" %d", give_back(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &past)));
    printf(" %d", give_back(pthread_mutex_clocklock(&m, CLOCK_REALTIME, &wrong)));
    printf(" %d", give_back(pthread_mutex_clocklock(&m, CLOCK_PROCESS_CPUTIME_ID, &past)));
    printf(" unlocked %d", pthread_mutex_unlock(&m));
}
static void *die(void *arg) { return pthread_mutex_lock(&m) ? arg : NULL; }
static void *hold(void *arg)
{
    int error = pthread_mutex_lock(&m);
    pthread_barrier_wait(&b);
    pthread_barrier_wait(&b);
    give_back(error);
    return arg;
}
static void run(void *(*f)(void *))
{
    pthread_t t;
    if (pthread_create(&t, NULL, f, NULL))
        return;
    if (f == hold) {
        pthread_barrier_wait(&b);
        try_all("held");
        pthread_barrier_wait(&b);
    }
    pthread_join(t, NULL);
}
static void use(int type, int protocol, int robust)
{
    pthread_mutexattr_t a;
    pthread_mutexattr_init(&a);
    pthread_mutexattr_settype(&a, type);
    pthread_mutexattr_setprotocol(&a, protocol);
    pthread_mutexattr_setrobust(&a, robust);
    if (protocol == PTHREAD_PRIO_PROTECT)
        pthread_mutexattr_setprioceiling(&a, 10);
    printf("type %d protocol %d robust %d: init %d", type, protocol, robust, pthread_mutex_init(&m, &a));
    try_all("free");
    run(hold);
    if (robust) {
        run(die);
        printf(" left %d", pthread_mutex_lock(&m));
        printf(" consistent %d", pthread_mutex_consistent(&m));
        printf(" unlock %d", pthread_mutex_unlock(&m));
        run(die);
        try_all("left");
        for (int i = 0; i < 3; i++)
            printf(" lost %d", pthread_mutex_lock(&m));
    } else {
        int error = pthread_mutex_lock(&m);
        printf(" lock %d priority %d", error, priority());
        if (!error && (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK))
            printf(" again %d", pthread_mutex_lock(&m));
        printf(" unlock %d", pthread_mutex_unlock(&m));
        printf(" unlock %d priority %d", type == PTHREAD_MUTEX_RECURSIVE ? pthread_mutex_unlock(&m) : 0, priority());
    }
    printf(" destroy %d", pthread_mutex_destroy(&m));
    printf(" lock %d\n", pthread_mutex_lock(&m));
}
static void use_all(void)
{
    static const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
    for (int i = 0; i < 4 * 3 * 2; i++)
        use(types[i % 4], i / 4 % 3, i / 12);
}
int main(void)
{
    pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
    struct sched_param p = {5};
    pthread_barrier_init(&b, NULL, 2);
    use_all();
    printf("with a priority: %d\n", pthread_setschedparam(pthread_self(), SCHED_FIFO, &p) == 0);
    use_all();
    for (int i = 0; i < 2; i++) {
        const struct timespec *t = i ? &wrong : &past;
        printf("%d", pthread_rwlock_timedrdlock(&l, t)), pthread_rwlock_unlock(&l);
        printf(" %d", pthread_rwlock_timedwrlock(&l, t)), pthread_rwlock_unlock(&l);
        for (int clock = 0; clock < 3; clock++) {
            printf(" %d", pthread_rwlock_clockrdlock(&l, clock, t)), pthread_rwlock_unlock(&l);
            printf(" %d\n", pthread_rwlock_clockwrlock(&l, clock, t)), pthread_rwlock_unlock(&l);
        }
    }
    return 0;
}
END
# Unlocking what is not locked spoils a plain lock: each line of the program begins with a new one.
results()
{
    if ! gcc -O1 -D_GNU_SOURCE -pthread -o "$tmp/results" "$tmp/results.c" || ! timeout 60 "$tmp/results" >"$tmp/alone" ||
        ! timeout -k 5 60 "$tallytree" record --force --locks -o "$tmp/tt" "$tmp/results" >"$tmp/out" 2>"$tmp/err"; then
        cat "$tmp/out" "$tmp/err"
        return 1
    fi
    [ "$(grep -c ^type "$tmp/alone")" = 48 ] && diff "$tmp/alone" "$tmp/out"
}
try "each kind of mutex has the results that it has alone" results

# Programs of before 2003 have conditions that are one pointer.
cat >"$tmp/old.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#define OLD(name) __asm__(".symver " #name ", " #name "@GLIBC_2.2.5")
OLD(pthread_cond_init);
OLD(pthread_cond_wait);
OLD(pthread_cond_timedwait);
OLD(pthread_cond_signal);
OLD(pthread_cond_broadcast);
OLD(pthread_cond_destroy);
static struct { void *condition; char after[64]; } s;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int ready;
static void *run(void *arg)
{
    pthread_mutex_lock(&m);
    ready = 1;
    pthread_cond_signal((pthread_cond_t *)&s.condition);
    pthread_cond_broadcast((pthread_cond_t *)&s.condition);
    pthread_mutex_unlock(&m);
    return arg;
}
int main(void)
{
    const struct timespec past = {1, 0};
    pthread_cond_t *c = (pthread_cond_t *)&s.condition;
    pthread_t t;
    int changed = 0;
    memset(&s, 0x55, sizeof s);
    pthread_cond_init(c, NULL);
    pthread_create(&t, NULL, run, NULL);
    pthread_mutex_lock(&m);
    while (!ready)
        pthread_cond_wait(c, &m);
    printf("%d\n", pthread_cond_timedwait(c, &m, &past));
    pthread_mutex_unlock(&m);
    pthread_join(t, NULL);
    pthread_cond_destroy(c);
    for (int i = 0; i < 64; i++)
        changed += s.after[i] != 0x55;
    printf("%d bytes changed\n", changed);
    return 0;
}
END
old_conditions()
{
    gcc -O1 -D_GNU_SOURCE -pthread -o "$tmp/old" "$tmp/old.c" &&
        timeout -k 5 60 "$tallytree" record --force --locks -o "$tmp/tt" "$tmp/old" 2>&1 >"$tmp/out" | cat &&
        diff "$tmp/out" - <<<$'110\n0 bytes changed'
}
if [ "$(uname -m)" = x86_64 ]; then
    try "a condition of an old program is one pointer" old_conditions
else
    skip "a condition of an old program is one pointer" "this processor has no such programs"
fi
finish
