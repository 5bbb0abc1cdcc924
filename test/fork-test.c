/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* fork-test.c - children of fork have separate recordings; a disk may be full. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "folder.h"
#include "stepping.h"
#include "strand.h"

static void start_in_folder(const char *words)
{
    make_folder();
    CHECK_INT(tt_start(output(words)), 0);
}

/* ── Fork ─────────────────────────────────────────────────────────────────────────── */

static void fork_once(const char *words)
{
    pid_t child;

    start_in_folder(words);
    {
        TT_SCOPE("open");
        work("before", 10);
        child = fork();
        if (child == 0) {
            work("child", 30);
            work("both", 3);
            _exit(tt_stop() != 0);
        }
        work("parent", 20);
        work("both", 5);
    }
    CHECK_INT(exit_status(child), 0);
    CHECK_INT(tt_stop(), 0);
    check_file(path, "open", 1);
    check_file(path, "before", 10);
    check_file(path, "parent", 20);
    check_file(path, "both", 5);
    check_file(path, "child", 0);
    check_file(path_of(child), "before", 0);
    check_file(path_of(child), "parent", 0);
    check_file(path_of(child), "both", 3);
    check_file(path_of(child), "child", 30);
    check_file(path_of(child), "open", 0);
    leave_folder();
}

static int held;

/* As the thread does that charges the time of those that sleep. */
static void *hold_tree(void *arg)
{
    struct tt_thread *t = arg;

    tt_nested_lock(&t->tree.lock, &tt_self);
    __atomic_store_n(&held, 1, __ATOMIC_RELEASE);
    usleep(20000);
    tt_nested_unlock(&t->tree.lock);
    __atomic_store_n(&held, 2, __ATOMIC_RELEASE);
    return NULL;
}

TEST(a_child_does_not_inherit_a_locked_tree)
{
    struct tt_thread *own;
    pthread_t other;
    pid_t child;

    start_in_folder("calls");
    work("before", 1);
    own = tt_self.thread;
    held = 0;
    CHECK_INT(pthread_create(&other, NULL, hold_tree, own), 0);
    pthread_detach(other); /* the child has no thread to join */
    while (__atomic_load_n(&held, __ATOMIC_ACQUIRE) == 0)
        usleep(100);
    child = fork();
    if (child == 0) {
        if (!tt_nested_try(&own->tree.lock, &tt_self))
            _exit(2);
        tt_nested_unlock(&own->tree.lock);
        _exit(tt_stop() != 0);
    }
    while (__atomic_load_n(&held, __ATOMIC_ACQUIRE) != 2)
        usleep(100);
    CHECK_INT(exit_status(child), 0);
    CHECK_INT(tt_stop(), 0);
    leave_folder();
}

TEST(a_child_has_its_own_file_in_mode_calls) { fork_once("calls"); }
TEST(a_child_has_its_own_file_in_mode_exact) { fork_once("exact"); }
TEST(a_child_has_its_own_file_in_mode_every) { fork_once("every=4"); }
TEST(a_child_has_its_own_file_when_sampled_by_timer)
{
    fork_once("blocks=calls,scopes=calls,hooks=sampled");
}
TEST(a_child_has_its_own_file_under_a_tiny_budget) { fork_once("exact,budget=64nodes"); }

TEST(a_child_that_ends_without_a_stop_leaves_a_whole_file)
{
    pid_t child;

    start_in_folder("exact");
    work("before", 1);
    child = fork();
    if (child == 0) {
        TT_SCOPE("open in the child");
        work("child", 1000);
        _exit(0);
    }
    CHECK_INT(exit_status(child), 0);
    CHECK_INT(tt_stop(), 0);
    check_file(path_of(child), "child", 1000);
    check_file(path_of(child), "open in the child", 1);
    check_file(path, "child", 0);
    leave_folder();
}

TEST(a_child_of_a_child_has_a_file_too)
{
    int ends[2];
    pid_t child, grandchild = 0;

    start_in_folder("calls");
    work("parent", 1);
    CHECK_INT(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        work("child", 2);
        pid_t next = fork();
        if (next == 0) {
            work("grandchild", 3);
            _exit(tt_stop() != 0);
        }
        work("child", 2);
        _exit(write(ends[1], &next, sizeof next) != sizeof next || exit_status(next) ||
              tt_stop());
    }
    CHECK_INT(exit_status(child), 0);
    CHECK_INT(read(ends[0], &grandchild, sizeof grandchild), sizeof grandchild);
    close(ends[0]);
    close(ends[1]);
    CHECK_INT(tt_stop(), 0);
    check_file(path, "parent", 1);
    check_file(path_of(child), "child", 4);
    check_file(path_of(grandchild), "grandchild", 3);
    check_file(path_of(grandchild), "child", 0);
    leave_folder();
}

/* Each generation forks the next one; their numbers go through the pipe. */
static _Noreturn void fork_on(int generations, int end)
{
    pid_t self, next = 0;

    while (generations-- && next == 0) {
        self = getpid();
        work("generation", 1);
        if (write(end, &self, sizeof self) != sizeof self)
            _exit(3);
        if (generations)
            next = fork();
    }
    _exit((next > 0 && exit_status(next)) || tt_stop());
}

TEST(eighty_generations_have_a_file_each)
{
    enum { LAST = 80 };
    pid_t first, self;
    int ends[2];

    start_in_folder("calls,budget=128K");
    CHECK_INT(pipe(ends), 0);
    first = fork();
    if (first == 0)
        fork_on(LAST, ends[1]);
    CHECK_INT(exit_status(first), 0);
    for (int i = 0; i < LAST && CHECK_INT(read(ends[0], &self, sizeof self), sizeof self);
         i++)
        check_file(path_of(self), "generation", 1);
    close(ends[0]);
    close(ends[1]);
    CHECK_INT(tt_stop(), 0);
    leave_folder();
}

/* So that one of them has the number of the next child. */
enum { MANY = 3000 };

static void make_files_of_earlier_children(void)
{
    for (pid_t i = getpid(), end = i + MANY; i < end; i++) {
        FILE *f = fopen(path_of(i), "we");
        CHECK(f && fputs(TT_MAGIC "earlier", f) >= 0 && fclose(f) == 0);
    }
}

TEST(a_number_that_comes_again_leaves_the_earlier_file)
{
    char text[32] = "", other[200];
    pid_t child;
    FILE *f;

    start_in_folder("calls");
    make_files_of_earlier_children();
    child = fork();
    if (child == 0) {
        work("child", 7);
        _exit(tt_stop() != 0);
    }
    CHECK_INT(exit_status(child), 0);
    CHECK_INT(tt_stop(), 0);
    if (child < getpid() || child >= getpid() + MANY)
        SKIP("the system's numbers of processes have begun anew");
    f = fopen(path_of(child), "re");
    CHECK(f && fread(text, 1, sizeof text - 1, f) > 0 && fclose(f) == 0);
    CHECK(strcmp(text, TT_MAGIC "earlier") == 0);
    snprintf(other, sizeof other, "%s-2", path_of(child));
    check_file(other, "child", 7);
    leave_folder();
}

TEST(a_child_that_execs_does_no_harm)
{
    start_in_folder("exact");
    for (int i = 0; i < 20; i++) {
        TT_SCOPE("loop");
        pid_t child = fork();
        if (child == 0) {
            if (i % 2)
                work("child", 1);
            execl("/bin/true", "true", (char *)NULL);
            _exit(1);
        }
        CHECK_INT(exit_status(child), 0);
    }
    CHECK_INT(tt_stop(), 0);
    check_file(path, "loop", 20);
    check_file(path, "child", 0);
    leave_folder();
}

TEST(a_child_of_a_recording_in_memory_has_its_own_memory)
{
    pid_t child;

    CHECK_INT(tt_start("calls"), 0);
    work("parent", 3);
    child = fork();
    if (child == 0) {
        work("child", 4);
        struct recorded r = recorded_here();
        _exit(r.error || recorded_calls(&r, "child") != 4 ||
              recorded_calls(&r, "parent"));
    }
    CHECK_INT(exit_status(child), 0);
    struct recorded r = recorded_here();
    CHECK_INT(recorded_calls(&r, "parent"), 3);
    CHECK_INT(recorded_calls(&r, "child"), 0);
    recorded_free(&r);
    CHECK_INT(tt_stop(), 0);
}

TEST(a_child_may_stop_and_start_anew)
{
    pid_t child;

    start_in_folder("calls");
    child = fork();
    if (child == 0) {
        int wrong = tt_stop() || tt_start("exact");
        work("anew", 5);
        struct recorded r = recorded_here();
        wrong |= r.error || recorded_calls(&r, "anew") != 5 || tt_stop();
        _exit(wrong);
    }
    CHECK_INT(exit_status(child), 0);
    CHECK_INT(tt_stop(), 0);
    leave_folder();
}

/* ── From a thread, while others push ─────────────────────────────────────────────── */

enum { LEAST = 2000 }; /* rounds, in which all that is pushed has been */
static int over;
static pid_t children[10];

static void *push_along(void *count)
{
    tt_block block[8];
    char name[8];

    for (int i = 0; i < 8; i++) {
        snprintf(name, sizeof name, "p%d", i);
        block[i] = tt_block_get(name, "", 0, 0);
    }
    for (uint32_t i = 1;
         *(uint64_t *)count < LEAST || !__atomic_load_n(&over, __ATOMIC_RELAXED);
         i = i * 5 + 3) {
        TT_SCOPE("along");
        tt_mark mark = tt_push(block[i >> 13 & 7]);
        tt_pop(tt_push(block[i >> 17 & 7]));
        tt_pop(mark);
        ++*(uint64_t *)count;
    }
    return NULL;
}

static void *fork_along(void *arg)
{
    for (int i = 0; i < 10; i++) {
        TT_SCOPE("forker");
        children[i] = fork();
        if (children[i] == 0) {
            work("child", 100 + i);
            _exit(tt_stop() != 0);
        }
        CHECK_INT(exit_status(children[i]), 0);
    }
    return arg;
}

static void fork_from_a_thread(const char *words)
{
    uint64_t count[3] = {0};
    pthread_t pusher[3], forker;

    start_in_folder(words);
    over = 0;
    for (int i = 0; i < 3; i++)
        pthread_create(&pusher[i], NULL, push_along, &count[i]);
    pthread_create(&forker, NULL, fork_along, NULL);
    pthread_join(forker, NULL);
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++)
        pthread_join(pusher[i], NULL);
    CHECK_INT(tt_stop(), 0);
    check_file(path, "along", count[0] + count[1] + count[2]);
    check_file(path, "forker", 10);
    check_file(path, "child", 0);
    for (int i = 0; i < 10; i++) {
        check_file(path_of(children[i]), "child", 100 + (uint64_t)i);
        check_file(path_of(children[i]), "along", 0);
    }
    leave_folder();
}

TEST(a_thread_forks_while_others_push) { fork_from_a_thread("calls"); }
TEST(a_thread_forks_while_others_are_timed) { fork_from_a_thread("exact"); }
TEST(a_thread_forks_while_others_evict)
{
    struct recorded r;

    fork_from_a_thread("exact,budget=128nodes,recursion=none");
    r = recorded_here();
    CHECK(recorded_evictions(&r) > 0);
    recorded_free(&r);
}

/* ── Objects ──────────────────────────────────────────────────────────────────────── */

static void allocate_some(tt_type type, tt_block holder, uint32_t i)
{
    TT_SCOPE("makes");
    tt_context c = tt_alloc(type, 16 + i % 7, 0);

    (void)tt_retainers_with(tt_retainers_with(0, holder), holder + i % 3);
    tt_free(c, type, 16 + i % 7, 0, 0);
}

static void *allocate_along(void *arg)
{
    tt_type type = tt_type_get("thing");
    tt_block holder = tt_block_get("holder", "", 0, 0);

    for (uint32_t i = 0; !__atomic_load_n(&over, __ATOMIC_RELAXED); i++)
        allocate_some(type, holder, i);
    return arg;
}

/* A child that waits for a lock of a thread that it does not have is killed by the alarm. */
TEST(a_thread_forks_while_others_allocate)
{
    pthread_t thread[2];
    pid_t child;

    start_in_folder("calls,space=alloc+types+peak,series=type+retainers");
    over = 0;
    for (int i = 0; i < 2; i++)
        pthread_create(&thread[i], NULL, allocate_along, NULL);
    for (int i = 0; i < TAP_CASES(60); i++) {
        child = fork();
        if (child == 0) {
            alarm(30);
            for (uint32_t n = 0; n < 10; n++)
                allocate_some(tt_type_get("thing"), tt_block_get("holder", "", 0, 0), n);
            _exit(tt_stop() != 0);
        }
        CHECK_INT(exit_status(child), 0);
        unlink(path_of(child));
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    CHECK_INT(tt_stop(), 0);
    leave_folder();
}

/* ── Without a place to write ─────────────────────────────────────────────────────── */

TEST(an_output_that_cannot_be_made_is_an_error_and_the_program_goes_on)
{
    CHECK_INT(tt_start("output=/nonexistent/folder/file"), -TT_ERR_FILE);
    CHECK_INT(tt_start("output=/"), -TT_ERR_FILE);
    work("off", 10);
    CHECK_INT(tt_stop(), -TT_ERR_STATE);
    CHECK_INT(tt_start("calls"), 0);
    work("on", 10);
    CHECK_INT(tt_stop(), 0);
}

TEST(an_output_that_is_no_file_is_left_alone)
{
    struct stat s;

    start_in_folder("calls");
    CHECK_INT(tt_stop(), 0);
    snprintf(path, sizeof path, "%s/fifo", folder);
    CHECK_INT(mkfifo(path, 0600), 0);
    CHECK_INT(tt_start(output("calls")), -TT_ERR_FILE);
    CHECK(stat(path, &s) == 0 && S_ISFIFO(s.st_mode));
    leave_folder();
}

TEST(a_file_that_is_no_recording_is_not_replaced)
{
    static const char source[] = "int main(void) { return 0; }\n";
    char text[64] = "";
    FILE *f;

    make_folder();
    f = fopen(path, "we");
    CHECK(f && fputs(source, f) >= 0 && fclose(f) == 0);
    CHECK_INT(tt_start(output("calls")), -TT_ERR_FILE);
    f = fopen(path, "re");
    CHECK(f && fread(text, 1, sizeof text - 1, f) > 0 && fclose(f) == 0);
    CHECK(strcmp(text, source) == 0);
    CHECK_INT(truncate(path, 0), 0);
    CHECK_INT(tt_start(output("calls")), 0);
    work("anew", 2);
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(tt_start(output("calls")), 0);
    work("again", 3);
    CHECK_INT(tt_stop(), 0);
    check_file(path, "again", 3);
    leave_folder();
}

TEST(a_child_that_cannot_make_a_file_goes_on_in_memory_and_is_counted)
{
    struct recorded r;
    pid_t child;

    start_in_folder("calls");
    leave_folder(); /* from under it */
    child = fork();
    if (child == 0) {
        work("child", 10);
        struct recorded c = recorded_here();
        _exit(c.error || recorded_calls(&c, "child") != 10 || tt_stop());
    }
    CHECK_INT(exit_status(child), 0);
    work("parent", 5);
    r = recorded_here();
    CHECK_INT(recorded_calls(&r, "parent"), 5);
    if (!r.error)
        CHECK_INT(r.picture.header->lost_children, 1);
    recorded_free(&r);
    CHECK_INT(tt_stop(), 0);
}

/* ── A lock that a handler interrupts ─────────────────────────────────────────────── */

/* Not with the thread sanitizer: its own code would be stepped through, too. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)

static struct tt_nested nested;
static volatile int step, fork_at;
static volatile pid_t forked;

/* The child goes on where the handler interrupted. */
static void fork_at_step(int number, siginfo_t *info, void *context)
{
    ucontext_t *at = context;

    (void)number, (void)info;
    if (step++ != fork_at)
        return;
    forked = fork();
    if (forked == 0) {
        alarm(20);
        tt_nested_forget(&nested, &tt_self);
        at->uc_mcontext.gregs[17] &= ~0x100; /* flags */
    }
}

static void lock_in_each_way(void)
{
    tt_nested_lock(&nested, &tt_self);
    tt_nested_lock(&nested, &tt_self);
    (void)tt_nested_try(&nested, &tt_self);
    tt_nested_unlock(&nested);
    tt_nested_unlock(&nested);
    tt_nested_unlock(&nested);
    if (tt_nested_try(&nested, &tt_self))
        tt_nested_unlock(&nested);
}

static int is_free(void)
{
    return nested.lock.word == TT_BRIEF_FREE && !nested.lock.holder && !nested.again;
}

/* Returns how many instructions there were. */
static int fork_at_each(void)
{
    for (fork_at = 0, step = 1; step > fork_at; fork_at++) {
        step = 0;
        forked = -1;
        set_stepping(1);
        lock_in_each_way();
        set_stepping(0);
        if (forked == 0) {
            lock_in_each_way();
            _exit(is_free() ? 42 : 1);
        }
        CHECK(is_free());
        if (forked > 0)
            CHECK_INT(exit_status(forked), 42);
    }
    return fork_at;
}

TEST(a_lock_survives_a_fork_at_any_instruction)
{
    struct sigaction action = {.sa_sigaction = fork_at_step, .sa_flags = SA_SIGINFO},
                     before;
    const char alone = __libc_single_threaded;

    sigaction(SIGTRAP, &action, &before);
    for (int i = 0; i < 2; i++) {
        __libc_single_threaded = (char)i;
        CHECK(fork_at_each() > 20);
    }
    __libc_single_threaded = alone;
    sigaction(SIGTRAP, &before, NULL);
}

#endif

/* ── Children that no handler of fork sees ────────────────────────────────────────── */

/* It has the parent's file, and locks that another thread may have held. */
static int do_all(void)
{
    struct tt_results *results = NULL;
    char other[300];

    work("new in the child", 10);
    snprintf(other, sizeof other, "%s/other", folder);
    if (tt_start("calls") == 0 || tt_stop() == 0 || tt_pause() == 0 || tt_resume() == 0)
        return 1;
    if (tt_write(other) == 0 || tt_print(STDERR_FILENO) == 0 ||
        tt_profile_end(&results) == 0)
        return 2;
    tt_pop(tt_push(tt_block_get("pushed in the child", "", 0, 0)));
    tt_object_free(1);
    if (fork() == 0)
        _exit(tt_start("calls") == 0);
    return exit_status(-1);
}

/* A machine that is simulated may say that it does, and not do so. */
static int clears_for_children(void)
{
    enum { WIPE_ON_FORK = 18 };
    volatile int *page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pid_t child;

    if (madvise((void *)(uintptr_t)page, sizeof *page, WIPE_ON_FORK) != 0)
        return 0;
    *page = 1;
    child = fork();
    if (child == 0)
        _exit(*page);
    return exit_status(child) == 0;
}

static void make_unseen(const char *words)
{
    struct recorded r;
    pid_t child;

    if (!clears_for_children())
        SKIP("this system clears no memory for children");
    start_in_folder(words);
    {
        TT_SCOPE("open");
        work("before", 10);
        child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (child == 0)
            _exit(do_all());
        CHECK_INT(exit_status(child), 0);
        work("parent", 20);
    }
    r = recorded_here();
    CHECK_INT(recorded_calls(&r, "new in the child"), 0);
    CHECK_INT(recorded_calls(&r, "pushed in the child"), 0);
    CHECK_INT(recorded_calls(&r, "parent"), 20);
    if (!r.error)
        CHECK_INT(r.picture.header->lost_children, 1);
    recorded_free(&r);
    CHECK_INT(tt_stop(), 0);
    check_file(path, "open", 1);
    check_file(path, "before", 10);
    leave_folder();
}

TEST(a_child_of_a_bare_call_after_the_end_is_not_lost)
{
    struct recorded r;
    pid_t child;

    if (!clears_for_children())
        SKIP("this system clears no memory for children");
    start_in_folder("calls");
    work("before", 10);
    CHECK_INT(tt_stop(), 0);
    child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(do_all());
    CHECK_INT(exit_status(child), 0);
    r = recorded_file(path, 0);
    if (CHECK_INT(r.error, 0))
        CHECK_INT(r.picture.header->lost_children, 0);
    recorded_free(&r);
    leave_folder();
}

TEST(a_child_of_a_bare_call_leaves_counts_as_they_are) { make_unseen("calls"); }
TEST(a_child_of_a_bare_call_leaves_times_as_they_are) { make_unseen("exact"); }
TEST(a_child_of_a_bare_call_leaves_a_tiny_budget) { make_unseen("exact,budget=64nodes"); }

/* In a separate child, since the limit is permanent. */
static int run_out_of_disk(const char *words, rlim_t bytes)
{
    struct rlimit limit = {bytes, bytes};
    struct recorded r;
    int wrong;
    char name[24];

    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    snprintf(path, sizeof path, "%s/limited", folder);
    if (tt_start(output(words)) != 0)
        return 1;
    for (int i = 0; i < 20000; i++) {
        snprintf(name, sizeof name, "block %d", i % 3000);
        tt_mark mark = tt_push(tt_block_get(name, "", 0, 0));
        work("leaf", 1);
        tt_pop(mark);
    }
    r = recorded_here();
    wrong = r.error || recorded_calls(&r, "leaf") + r.picture.header->lost_calls +
                               recorded_lost_pushes(&r) !=
                           20000;
    if (wrong)
        fprintf(stderr, "# %s: error %d, leaf %llu, lost %llu\n", words, r.error,
                (unsigned long long)recorded_calls(&r, "leaf"),
                (unsigned long long)recorded_lost_pushes(&r));
    recorded_free(&r);
    return wrong || tt_stop() ? 2 : 0;
}

TEST(a_full_disk_is_a_budget_used_up)
{
    static const char *const words[] = {"calls,budget=1M", "exact,budget=1M",
                                        "exact,budget=1M,histogram"};
    static const rlim_t sizes[] = {300, 600, 1000};

    start_in_folder("calls");
    CHECK_INT(tt_stop(), 0);
    for (int i = 0; i < 9; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(run_out_of_disk(words[i % 3], sizes[i / 3] << 10));
        CHECK_INT(exit_status(child), 0);
        struct recorded r = recorded_file(
            (snprintf(path, sizeof path, "%s/limited", folder), path), 0);
        CHECK_INT(r.error, 0);
        recorded_free(&r);
    }
    leave_folder();
}
