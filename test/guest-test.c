/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* guest-test.c - a recording is a guest: the program may close its descriptor, change its
 * folder, fork from a handler, record twice into one file, and neither loses anything. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

#include "folder.h"

static int files_in_folder(void)
{
    char command[160];
    FILE *f;
    int n = -1;

    snprintf(command, sizeof command, "ls %s | wc -l", folder);
    f = popen(command, "r");
    if (!f || fscanf(f, "%d", &n) != 1)
        n = -1;
    if (f)
        pclose(f);
    return n;
}

/* So many contexts that the recording has to grow. */
static void work_widely(int first, int count)
{
    char name[24];

    for (int i = first; i < first + count; i++) {
        snprintf(name, sizeof name, "wide %d", i);
        tt_mark mark = tt_push(tt_block_get(name, "", 0, 0));
        work("leaf", 1);
        tt_pop(mark);
    }
}

/* ── One path, two recordings ─────────────────────────────────────────────────────── */

TEST(a_second_process_leaves_the_first_ones_recording_alone)
{
    int to_child[2], to_parent[2];
    char byte = 0;

    make_folder();
    CHECK(pipe(to_child) == 0 && pipe(to_parent) == 0);
    pid_t child = fork();
    if (child == 0) {
        int wrong = tt_start(output("calls"));
        work("first", 5);
        wrong |= write(to_parent[1], &byte, 1) != 1 || read(to_child[0], &byte, 1) != 1;
        work_widely(0, 3000);
        work("first", 5);
        _exit(wrong || tt_stop());
    }
    CHECK_INT(read(to_parent[0], &byte, 1), 1);
    CHECK_INT(tt_start(output("calls")), 0);
    work("second", 7);
    CHECK_INT(write(to_child[1], &byte, 1), 1);
    CHECK_INT(exit_status(child), 0);
    CHECK_INT(tt_stop(), 0);
    check_file(path, "first", 10);
    check_file(path, "leaf", 3000);
    check_file(path_of(getpid()), "second", 7);
    for (int i = 0; i < 2; i++) {
        close(to_child[i]);
        close(to_parent[i]);
    }
    leave_folder();
}

TEST(a_recording_that_is_over_is_replaced_not_written_over)
{
    make_folder();
    CHECK_INT(tt_start(output("calls")), 0);
    work("old", 1);
    CHECK_INT(tt_stop(), 0);
    int old = open(path, O_RDONLY | O_CLOEXEC);
    struct stat before, after;
    CHECK_INT(fstat(old, &before), 0);
    CHECK_INT(tt_start(output("calls")), 0);
    work("new", 1);
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(fstat(old, &after), 0);
    CHECK_INT(after.st_size, before.st_size);
    close(old);
    check_file(path, "new", 1);
    check_file(path, "old", 0);
    CHECK_INT(files_in_folder(), 1);
    leave_folder();
}

TEST(a_link_is_not_followed_and_what_it_leads_to_is_left_alone)
{
    char target[160];

    make_folder();
    snprintf(target, sizeof target, "%s/target", folder);
    FILE *f = fopen(target, "w");
    CHECK(f && fputs("precious", f) >= 0 && fclose(f) == 0);
    CHECK_INT(symlink(target, path), 0);
    CHECK_INT(tt_start(output("calls")), -TT_ERR_FILE);
    struct stat s;
    CHECK(lstat(path, &s) == 0 && S_ISLNK(s.st_mode));
    CHECK(stat(target, &s) == 0 && s.st_size == 8);
    leave_folder();
}

/* ── The program's descriptors and folder ─────────────────────────────────────────── */

/* As a daemon does it: whatever is open is closed, and the numbers are taken again. */
static int become_a_daemon(int with_files)
{
    char log[160], line[] = "the program's own";
    int wrong, first = 3;

    wrong = tt_start(output("calls"));
    work_widely(0, 500);
    for (int fd = first; fd < 1024; fd++)
        close(fd);
    for (int fd = first; with_files && fd < 512; fd++) {
        snprintf(log, sizeof log, "%s/log.%d", folder, fd);
        int made = open(log, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        wrong |= made != fd || write(made, line, sizeof line) != sizeof line;
    }
    work_widely(500, 4500);
    pid_t child = fork();
    if (child == 0) {
        work("child", 3);
        _exit(tt_stop() != 0);
    }
    wrong |= exit_status(child) != 0 || tt_stop() != 0;
    check_file(path_of(child), "child", 3);
    wrong |= tap.failed;
    for (int fd = first; with_files && fd < 512; fd++) {
        struct stat s;
        wrong |= fstat(fd, &s) != 0 || s.st_size != sizeof line;
    }
    return wrong;
}

static void record_a_daemon(int with_files)
{
    make_folder();
    pid_t child = fork();
    if (child == 0)
        _exit(become_a_daemon(with_files));
    CHECK_INT(exit_status(child), 0);
    struct recorded r = recorded_file(path, 0);
    if (CHECK_INT(r.error, 0)) {
        CHECK_INT(recorded_calls(&r, "leaf"), 5000);
        CHECK_INT(r.picture.header->lost_pages, 0);
        CHECK_INT(r.picture.header->state, TT_RECORDING_ENDED);
        CHECK_INT(recorded_evictions(&r), 0);
    }
    recorded_free(&r);
    leave_folder();
}

TEST(a_program_may_close_all_descriptors) { record_a_daemon(0); }
TEST(a_program_may_take_a_closed_descriptors_number_and_its_file_stays_as_it_is)
{
    record_a_daemon(1);
}

static int sum_of_new_descriptors(void)
{
    int fd[8], sum = 0;

    for (int i = 0; i < 8; i++)
        sum += fd[i] = dup(0);
    for (int i = 0; i < 8; i++)
        close(fd[i]);
    return sum;
}

TEST(descriptors_of_the_program_keep_their_numbers)
{
    make_folder();
    int before = sum_of_new_descriptors();
    CHECK_INT(tt_start(output("calls")), 0);
    CHECK_INT(sum_of_new_descriptors(), before);
    CHECK_INT(tt_stop(), 0);
    leave_folder();
}

static int change_folder(void)
{
    int wrong = chdir(folder) || tt_start("calls,output=recording");

    wrong |= chdir("/");
    pid_t child = fork();
    if (child == 0) {
        work("child", 3);
        _exit(tt_stop() != 0);
    }
    wrong |= exit_status(child);
    check_file(path_of(child), "child", 3);
    return wrong || tt_stop() || tap.failed;
}

TEST(a_program_may_change_its_folder_and_its_children_record_beside_it)
{
    make_folder();
    pid_t child = fork();
    if (child == 0)
        _exit(change_folder());
    CHECK_INT(exit_status(child), 0);
    CHECK_INT(files_in_folder(), 2);
    leave_folder();
}

/* ── Fork ─────────────────────────────────────────────────────────────────────────── */

TEST(a_fork_after_the_stop_makes_no_file)
{
    make_folder();
    CHECK_INT(tt_start(output("calls")), 0);
    work("parent", 1);
    CHECK_INT(tt_stop(), 0);
    pid_t child = fork();
    if (child == 0) {
        work("child", 1);
        int wrong = tt_stop() != -TT_ERR_STATE;
        char copy[160];
        snprintf(copy, sizeof copy, "%s/copy", folder);
        wrong |= tt_write(copy) || unlink(copy);
        wrong |= tt_start("calls") || tt_stop();
        _exit(wrong);
    }
    CHECK_INT(exit_status(child), 0);
    CHECK_INT(files_in_folder(), 1);
    check_file(path, "parent", 1);
    leave_folder();
}

TEST(a_child_that_starts_anew_knows_its_blocks_again)
{
    make_folder();
    CHECK_INT(tt_start(output("calls")), 0);
    work_widely(0, 100);
    pid_t child = fork();
    if (child == 0) {
        work_widely(50, 100);
        int wrong = tt_stop() || tt_start("calls");
        work_widely(50, 100);
        struct recorded r = recorded_here();
        wrong |= r.error || recorded_calls(&r, "leaf") != 100 ||
                 recorded_calls(&r, "wide 50") != 1 || tt_stop();
        _exit(wrong);
    }
    CHECK_INT(exit_status(child), 0);
    CHECK_INT(tt_stop(), 0);
    check_file(path_of(child), "leaf", 100);
    check_file(path, "leaf", 100);
    leave_folder();
}

/* A handler forks in the midst of whatever it interrupts; the child returns from it, and
 * goes on with what was begun. */
enum { FORKS = TAP_CASES(64) };
static volatile int in_child, forks;
static volatile pid_t forked[FORKS];

static void fork_in_handler(int signal)
{
    int saved = errno;

    (void)signal;
    if (in_child || forks == FORKS)
        return;
    pid_t child = fork();
    if (child == 0)
        in_child = 1;
    else if (child > 0)
        forked[forks++] = child;
    errno = saved;
}

static void allocate(uint32_t i)
{
    tt_type type = tt_type_get("thing");
    tt_block holder = tt_block_get("holder", "", 0, 0);
    tt_context c = tt_alloc(type, 16 + i % 7, 0);

    (void)tt_retainers_with(tt_retainers_with(0, holder + i % 50), holder + i % 300);
    tt_object_new(i + 1, type, 16, 0);
    tt_object_free(i / 2 + 1);
    tt_free(c, type, 16 + i % 7, 0, 0);
}

static void push_and_fork(const char *words)
{
#ifdef __SANITIZE_THREAD__
    (void)fork_in_handler;
    (void)words;
    SKIP("the sanitizer cannot fork in a handler");
#else
    struct sigaction action = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART};
    struct itimerval every = {{0, 1500}, {0, 1500}}, never = {{0, 0}, {0, 0}};
    uint64_t count = 0, goal = 0;
    const int allocates = strstr(words, "space=") != NULL;
    char again[300];

    make_folder();
    in_child = forks = 0;
    CHECK_INT(tt_start(output(words)), 0);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    while (in_child ? count < goal : forks < FORKS) {
        work_widely((int)(count % 4000), 10);
        for (int i = 0; i < 1000; i++) {
            TT_SCOPE("leaf");
            if (allocates)
                allocate((uint32_t)i);
        }
        count += 1010;
        if (!in_child)
            goal = count + 20000;
    }
    if (in_child) {
        snprintf(again, sizeof again, "%s/none", folder);
        (void)tt_write(again);
        work("leaf", 1);
        int error = tt_stop();
        _exit(error != 0 && error != -TT_ERR_BUSY && error != -TT_ERR_STATE);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    for (int i = 0; i < forks; i++)
        CHECK_INT(exit_status(forked[i]), 0);
    CHECK_INT(tt_stop(), 0);
    struct recorded r = recorded_file(path, 0);
    if (CHECK_INT(r.error, 0)) {
        CHECK_INT(recorded_calls(&r, "leaf") + r.picture.header->lost_calls +
                      recorded_lost_pushes(&r),
                  count);
        CHECK(r.picture.header->lost_children <= (unsigned)forks);
    }
    recorded_free(&r);
    leave_folder();
#endif
}

TEST(a_handler_may_fork_amid_a_push_in_mode_calls) { push_and_fork("calls"); }
TEST(a_handler_may_fork_amid_a_push_in_mode_exact) { push_and_fork("exact"); }
TEST(a_handler_may_fork_amid_an_eviction)
{
    push_and_fork("exact,recursion=none,budget=512nodes");
}
TEST(a_handler_may_fork_amid_the_account_of_objects)
{
    push_and_fork("calls,space=alloc+types+peak,series=type+retainers");
}

/* ── The program's signals ────────────────────────────────────────────────────────── */

static volatile int own_signals, strange_signals;

static void count_own(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    if (info->si_code == SI_TIMER) /* setitimer's are SI_KERNEL */
        strange_signals = strange_signals + 1;
    else
        own_signals = own_signals + 1;
}

/* Works until the sampler has seen it. */
static uint64_t work_until_sampled(void)
{
    uint64_t samples = 0;

    for (int i = 0; i < 1000 && samples < 5; i++) {
        struct recorded r;
        {
            TT_SCOPE("sampled");
            for (volatile int n = 0; n < 2000000; n = n + 1)
                ;
        }
        r = recorded_here();
        samples = 0;
        for (uint32_t c = 0; !r.error && c < r.picture.contexts; c++)
            samples += r.picture.context[c].samples;
        recorded_free(&r);
    }
    return samples;
}

static uint32_t is_sampled_by_thread(void)
{
    struct recorded r = recorded_here();
    uint32_t by_thread = r.error ? 99 : r.picture.header->sampler_thread;

    recorded_free(&r);
    return by_thread;
}

static int handle_and_sample(void)
{
    struct sigaction action = {.sa_sigaction = count_own, .sa_flags = SA_SIGINFO}, now;
    struct itimerval every = {{0, 10000}, {0, 10000}};

    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &every, NULL);
    CHECK_INT(tt_start("sampled=1000"), 0);
    CHECK(work_until_sampled() >= 5);
    CHECK_INT(is_sampled_by_thread(), 1);
    CHECK_INT(tt_stop(), 0);
    for (time_t end = time(NULL) + 60; !own_signals && time(NULL) < end;)
        ;
    CHECK(own_signals > 0);
    CHECK_INT(strange_signals, 0);
    CHECK(sigaction(SIGPROF, NULL, &now) == 0 && now.sa_sigaction == count_own);
    return tap.failed;
}

TEST(a_program_that_handles_SIGPROF_keeps_it_and_is_sampled_by_the_thread)
{
    pid_t child = fork();

    if (child == 0)
        _exit(handle_and_sample());
    CHECK_INT(exit_status(child), 0);
}

static int sample_and_raise(int before)
{
    if (before)
        raise(SIGPROF);
    CHECK_INT(tt_start("sampled=1000"), 0);
    CHECK(work_until_sampled() >= 5);
    CHECK_INT(is_sampled_by_thread(), 0);
    CHECK_INT(tt_stop(), 0);
    raise(SIGPROF);
    return tap.failed ? 1 : 2;
}

TEST(a_SIGPROF_from_elsewhere_ends_the_program_as_it_would_have)
{
    for (int before = 0; before < 2; before++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0)
            _exit(sample_and_raise(before));
        CHECK_INT(waitpid(child, &status, 0), child);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF);
    }
}

static int ignore_and_sample(void)
{
    struct sigaction now;

    signal(SIGPROF, SIG_IGN);
    CHECK_INT(tt_start("sampled=1000"), 0);
    CHECK(work_until_sampled() >= 5);
    raise(SIGPROF);
    CHECK_INT(tt_stop(), 0);
    CHECK(sigaction(SIGPROF, NULL, &now) == 0 && now.sa_handler == SIG_IGN);
    return tap.failed;
}

TEST(a_program_that_ignores_SIGPROF_goes_on_ignoring_it)
{
    pid_t child = fork();

    if (child == 0)
        _exit(ignore_and_sample());
    CHECK_INT(exit_status(child), 0);
}

static int sample_without_timers(void)
{
    struct rlimit none = {0, 0};
    struct recorded r;

    CHECK_INT(setrlimit(RLIMIT_SIGPENDING, &none), 0);
    CHECK_INT(tt_start("scopes=sampled,blocks=calls"), 0);
    {
        TT_SCOPE("sampled");
        work("counted", 5);
    }
    r = recorded_here();
    CHECK_INT(recorded_calls(&r, "counted"), 5);
    CHECK(!r.error && r.picture.header->lost_samplers == 1);
    recorded_free(&r);
    CHECK_INT(tt_stop(), 0);
    return tap.failed;
}

TEST(a_timer_that_cannot_be_had_is_counted)
{
    pid_t child = fork();

    if (child == 0)
        _exit(sample_without_timers());
    CHECK_INT(exit_status(child), 0);
}
