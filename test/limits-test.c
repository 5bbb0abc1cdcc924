/* SPDX-License-Identifier: MIT */
/* needs: internals */
/* limits-test.c - no disk, no memory, no descriptors, no folder: the program continues,
 * and losses are counted.
 *
 * Each case is a separate process, the guest's host.  It must end by itself with its own
 * status, never by a signal; its recording must be readable, and everything that it lacks
 * must be counted. */
#include <errno.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

#include "folder.h"

enum { NAMES = 3000, HOST_STATUS = 7 };

static int leaves(void) { return tap_is_long() ? 20000 : 7000; }

/* Calls `host` in a separate process; the result is its exit status. */
static int in_a_child(int (*host)(long), long argument)
{
    pid_t child = fork();
    int status;

    if (child == 0)
        _exit(host(argument));
    status = exit_status(child);
    if (status >= 256)
        fprintf(stderr, "# %ld: killed by signal %d\n", argument, status & 127);
    return status;
}

/* Many blocks, many contexts; errno is left alone. */
static int push_leaves(void)
{
    char name[24];
    int right = 1;

    for (int i = 0, n = leaves(); i < n; i++) {
        snprintf(name, sizeof name, "block %d", i % NAMES);
        tt_block block = tt_block_get(name, "limits", 0, 0);
        errno = 1234;
        tt_mark mark = tt_push(block);
        {
            TT_SCOPE("leaf");
        }
        tt_pop(mark);
        right &= errno == 1234;
    }
    return right;
}

/* 0 when all leaves are there, or known to be lost. */
static int count_leaves(struct recorded *r)
{
    const uint64_t found = recorded_calls(r, "leaf"), all = (uint64_t)leaves();
    uint64_t lost;
    int wrong = r->error != 0;

    if (!wrong) {
        lost = recorded_lost_pushes(r) + r->picture.header->lost_calls;
        wrong = found > all || found + lost < all;
        if (wrong)
            fprintf(stderr, "# %llu leaves, %llu lost\n", (unsigned long long)found,
                    (unsigned long long)lost);
    } else {
        fprintf(stderr, "# the recording: error %d\n", r->error);
    }
    recorded_free(r);
    return wrong;
}

/* Without the limit on memory that the recording was made under. */
static int check_recording(const char *file)
{
    struct rlimit none = {RLIM_INFINITY, RLIM_INFINITY};
    struct recorded r;

    CHECK_INT(setrlimit(RLIMIT_AS, &none), 0);
    r = recorded_file(file, 0);
    return count_leaves(&r);
}

/* The host's status when all is well. */
static int record(const char *words, int may_fail)
{
    int error = tt_start(output(words));

    if (error != 0)
        return may_fail && push_leaves() ? HOST_STATUS : 1;
    if (!push_leaves())
        return 2;
    if (tt_stop() != 0)
        return 3;
    return check_recording(path) ? 4 : HOST_STATUS;
}

/* ── A full disk ──────────────────────────────────────────────────────────────────── */

static int write_text(const char *file, const char *text)
{
    int fd = open(file, O_WRONLY | O_CLOEXEC);
    int written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

    close(fd);
    return written;
}

/* Becomes root in a user namespace. */
static int become_root(void)
{
    char user[32], group[32];

    snprintf(user, sizeof user, "0 %u 1", (unsigned)getuid());
    snprintf(group, sizeof group, "0 %u 1", (unsigned)getgid());
    return unshare(CLONE_NEWUSER) == 0 && write_text("/proc/self/uid_map", user) &&
           write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/gid_map", group);
}

/* A disk of a megabyte that only this process sees. */
static int mount_disk(void)
{
    return (geteuid() == 0 || become_root()) && unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("none", folder, "tmpfs", 0, "size=1m") == 0;
}

/* Leaves `room` bytes of the disk. */
static int fill_disk(long room)
{
    char ballast[160];
    int fd, full;

    snprintf(ballast, sizeof ballast, "%s/ballast", folder);
    fd = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    full = fd >= 0 && (room == 1 << 20 || fallocate(fd, 0, 0, (1 << 20) - room) == 0);
    close(fd);
    return full;
}

/* Nothing is missing, or the recording says that the disk was full. */
static int says_what_it_lacks(void)
{
    struct recorded r = recorded_file(path, 0);
    const struct tt_header *h = r.picture.header;
    int says = !r.error &&
               (h->lost_pages || !(recorded_evictions(&r) || h->lost_blocks ||
                                   h->lost_figures || h->lost_calls || h->lost_strands));

    recorded_free(&r);
    return says;
}

/* Whether the disk's size or a limit of the process ends it: a mount may be refused. */
static void have_disk(long room)
{
    struct rlimit limit = {(rlim_t)room, (rlim_t)room};

    if (!mount_disk() || !fill_disk(room))
        setrlimit(RLIMIT_FSIZE, &limit);
}

static const char *full_words;

static int fill_and_record(long room)
{
    int status;

    have_disk(room);
    status = record(full_words, room < 64 << 10);
    return status == HOST_STATUS && access(path, F_OK) == 0 && !says_what_it_lacks()
               ? 5
               : status;
}

static void record_on_full_disks(const char *words)
{
    make_folder();
    full_words = words;
    for (long kilobytes = 0; kilobytes <= 1024 && !tap.failed;
         kilobytes += tap_is_long() ? 4 : 40)
        CHECK_INT(in_a_child(fill_and_record, kilobytes << 10), HOST_STATUS);
    leave_folder();
}

TEST(a_disk_of_any_size_is_only_a_smaller_budget_in_mode_calls)
{
    record_on_full_disks("calls,budget=3M");
}

TEST(a_disk_of_any_size_is_only_a_smaller_budget_in_mode_exact)
{
    record_on_full_disks("exact,histogram,budget=3M");
}

static int record_while_it_fills(long unused)
{
    (void)unused;
    if (!mount_disk())
        return record("exact,budget=3M", 0);
    if (tt_start(output("exact,budget=3M")) != 0)
        return 1;
    for (int i = 0, n = leaves() / 2; i < n; i++) {
        TT_SCOPE("leaf");
    }
    char ballast[160];
    static char bytes[4096];
    snprintf(ballast, sizeof ballast, "%s/ballast", folder);
    int fd = open(ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    while (write(fd, bytes, sizeof bytes) > 0)
        ;
    close(fd);
    for (int i = 0, n = leaves() / 2; i < n; i++) {
        char name[24];
        snprintf(name, sizeof name, "block %d", i);
        tt_mark mark = tt_push(tt_block_get(name, "limits", 0, 0));
        {
            TT_SCOPE("leaf");
        }
        tt_pop(mark);
    }
    if (tt_write(ballast) != -TT_ERR_FILE || tt_stop() != 0)
        return 2;
    return check_recording(path) ? 3 : HOST_STATUS;
}

TEST(a_disk_that_others_fill_kills_nobody)
{
    make_folder();
    CHECK_INT(in_a_child(record_while_it_fills, 0), HOST_STATUS);
    leave_folder();
}

/* ── Limits of a process ──────────────────────────────────────────────────────────── */

/* The soft one: it can be lifted again. */
#define LIMIT(what, value)                                                               \
    do {                                                                                 \
        struct rlimit limit_;                                                            \
        getrlimit(what, &limit_);                                                        \
        limit_.rlim_cur = (value);                                                       \
        CHECK_INT(setrlimit(what, &limit_), 0);                                          \
    } while (0)

/* SIGXFSZ is neither ignored nor handled: it would end the program. */
static int record_small_files(long bytes)
{
    char copy[160];

    LIMIT(RLIMIT_FSIZE, (rlim_t)bytes);
    int status = record("calls,budget=2M", bytes < 64 << 10);
    if (status != HOST_STATUS)
        return status;
    snprintf(copy, sizeof copy, "%s/copy", folder);
    unlink(copy);
    if (tt_start("calls,budget=2M") != 0 || !push_leaves())
        return 5;
    int error = tt_write(copy);
    if (error != (access(copy, F_OK) == 0 ? 0 : -TT_ERR_FILE))
        return 6;
    if (bytes < 64 << 10 && access(copy, F_OK) == 0)
        return 8;
    return tt_stop() ? 7 : HOST_STATUS;
}

TEST(a_limit_on_the_size_of_files_raises_no_signal)
{
    make_folder();
    for (long kilobytes = 0; kilobytes <= 1024 && !tap.failed;
         kilobytes += tap_is_long() ? 16 : 48)
        CHECK_INT(in_a_child(record_small_files, kilobytes << 10), HOST_STATUS);
    CHECK_INT(in_a_child(record_small_files, 20001), HOST_STATUS);
    leave_folder();
}

static size_t memory_in_use(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    size_t pages = 0;

    if (!f || fscanf(f, "%zu", &pages) != 1)
        pages = 0;
    if (f)
        fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static int record_with_little_memory(long room)
{
    size_t used = memory_in_use();

    LIMIT(RLIMIT_AS, used + (size_t)room);
    return record("exact,histogram,budget=1M", 1);
}

static int run_out_of_memory(long room)
{
    if (tt_start(output("exact,budget=1M")) != 0)
        return 1;
    LIMIT(RLIMIT_AS, memory_in_use() + (size_t)room);
    if (!push_leaves())
        return 2;
    LIMIT(RLIMIT_AS, memory_in_use() + (size_t)room);
    pid_t child = fork();
    if (child == 0)
        _exit(push_leaves() ? HOST_STATUS : 1);
    if (exit_status(child) != HOST_STATUS)
        return 3;
    if (tt_stop() != 0)
        return 4;
    return check_recording(path) ? 5 : HOST_STATUS;
}

/* A sanitizer's shadow is larger than any limit. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SHADOW 1
#else
#define HAS_SHADOW 0
#endif

TEST(a_limit_on_memory_is_survived)
{
    if (HAS_SHADOW)
        SKIP("sanitizers need all the memory there is");
    make_folder();
    for (long kilobytes = 0; kilobytes <= 2048 && !tap.failed;
         kilobytes += tap_is_long() ? 64 : 128) {
        CHECK_INT(in_a_child(record_with_little_memory, kilobytes << 10), HOST_STATUS);
        CHECK_INT(in_a_child(run_out_of_memory, kilobytes << 10), HOST_STATUS);
    }
    leave_folder();
}

static int record_without_descriptors(long descriptors)
{
    LIMIT(RLIMIT_NOFILE, (rlim_t)descriptors);
    int error = tt_start(output("calls,budget=1M"));
    if (!push_leaves())
        return 1;
    if (error == 0 && tt_stop() != 0)
        return 2;
    LIMIT(RLIMIT_NOFILE, 100);
    return error == 0 && check_recording(path) ? 3 : HOST_STATUS;
}

TEST(a_limit_on_descriptors_is_survived)
{
    make_folder();
    for (long i = 100; i >= 0 && !tap.failed; i -= i > 8 ? 23 : 1)
        CHECK_INT(in_a_child(record_without_descriptors, i > 0 ? i : 0), HOST_STATUS);
    leave_folder();
}

/* ── Folders ──────────────────────────────────────────────────────────────────────── */

static int start_in_foreign_folder(long unused)
{
    (void)unused;
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
        return 1;
    if (tt_start(output("calls")) != -TT_ERR_FILE || !push_leaves())
        return 2;
    return tt_stop() == -TT_ERR_STATE ? HOST_STATUS : 3;
}

TEST(a_folder_that_may_not_be_written_is_an_error_and_no_more)
{
    make_folder();
    CHECK_INT(chmod(folder, 0555), 0);
    CHECK_INT(in_a_child(start_in_foreign_folder, 0), HOST_STATUS);
    CHECK_INT(chmod(folder, 0755), 0);
    CHECK(access(path, F_OK) != 0);
    leave_folder();
}

static int start_at(long length)
{
    char words[5000] = "calls,output=/";
    size_t have = strlen(words);

    for (long i = 1; i < length; i++)
        words[have++] = i % 200 ? 'a' : '/';
    words[have] = '\0';
    int error = tt_start(words);
    if ((error != -TT_ERR_FILE && error != -TT_ERR_OPTION) || !push_leaves())
        return 1;
    return tt_stop() == -TT_ERR_STATE ? HOST_STATUS : 2;
}

static int start_below_a_deep_folder(long unused)
{
    (void)unused;
    for (int i = 0; i < 40; i++)
        if (mkdir("abcdefghijabcdefghijabcdefghij", 0700) != 0 ||
            chdir("abcdefghijabcdefghijabcdefghij") != 0)
            return 1;
    if (tt_start("calls,output=recording") != -TT_ERR_FILE || !push_leaves())
        return 2;
    return tt_stop() == -TT_ERR_STATE ? HOST_STATUS : 3;
}

TEST(a_path_that_is_too_long_or_leads_nowhere_is_an_error_and_no_more)
{
    static const long lengths[] = {1, 220, 300, 1000, 1023, 1024, 1040, 4000};

    make_folder();
    CHECK_INT(chdir(folder), 0);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        CHECK_INT(in_a_child(start_at, lengths[i]), HOST_STATUS);
    CHECK_INT(in_a_child(start_below_a_deep_folder, 0), HOST_STATUS);
    CHECK_INT(chdir("/"), 0);
    leave_folder();
}
