/* SPDX-License-Identifier: MIT */
/* wake.c - a process that pays nothing is asked to switch functions on.
 *
 *      signal ─ handler ─ a task that the system alone knows ─ pthread_create ─ worker
 *
 * The handler may have interrupted malloc or the loader, whose locks a new thread needs: so
 * it cannot make one.  But the thread that it interrupted goes on.  So it makes a task with
 * a thread's memory of its own, which waits for those locks as any thread would, and which
 * ends when the worker is there.  Until then there is no thread, no file and no memory. */
#include "wake.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "control.h"
#include "folder.h"
#include "switch.h"
#include "thin.h"

static struct {
    uint32_t requests;   /* grows; the worker waits for it to change */
    uint32_t number;     /* the last one's */
    pid_t worker;        /* in which process there is one, or is about to be */
    int taken;           /* the signal is ours */
    int recording;       /* the worker's: it has started one, */
    int joined;          /* or the program has one of its own */
    struct tt_thin thin; /* share 0: whatever it costs */
    char output[TT_PATH_SIZE];
} wake;

/* ── The worker's requests ────────────────────────────────────────────────────────── */

struct request {
    char text[TT_WAKE_ANSWER];
    const char *command, *words, *only, *output, *most;
};

struct reply {
    char text[TT_WAKE_SIZE - TT_WAKE_ANSWER];
    size_t size;
};

static __attribute__((format(printf, 2, 3))) void say(struct reply *a, const char *format,
                                                      ...)
{
    size_t room = sizeof a->text - a->size;
    va_list list;
    int n;

    va_start(list, format);
    n = vsnprintf(a->text + a->size, room, format, list);
    va_end(list);
    if (n > 0)
        a->size += (size_t)n < room ? (size_t)n : room - 1;
}

static void read_lines(struct request *r)
{
    static const char *const keys[] = {"command=", "words=", "only=", "output=", "most="};
    const char **const values[] = {&r->command, &r->words, &r->only, &r->output,
                                   &r->most};
    char *rest, *line = strtok_r(r->text, "\n", &rest);

    for (; line; line = strtok_r(NULL, "\n", &rest))
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            if (strncmp(line, keys[i], strlen(keys[i])) == 0)
                *values[i] = line + strlen(keys[i]);
}

static int start_recording(const struct request *r, struct reply *a)
{
    struct tt_options o;
    int error = tt_options_read(&o, r->words, NULL);

    if (!error && strlen(r->output) >= sizeof o.output)
        error = -TT_ERR_OPTION;
    if (!error) {
        memcpy(o.output, r->output, strlen(r->output) + 1);
        error = tt_start_with(&o);
    }
    if (error) {
        say(a, "error=%s: %s\n", r->output, tt_error_text(error));
        return error;
    }
    wake.recording = 1;
    memcpy(wake.output, r->output, strlen(r->output) + 1);
    return 0;
}

static void end_recording(void)
{
    if (wake.recording)
        (void)tt_stop();
    wake.recording = wake.joined = 0;
}

static void say_counts(struct reply *a, const struct tt_switched *s)
{
    say(a, "sites=%zu\non=%zu\nrefused=%zu\noutput=%s\n", s->sites, s->on, s->refused,
        wake.output);
}

/* What a call costs, in and out; measured. */
enum { CALL_NS = 5, EXACT_NS = 60 };

static void switch_on(const struct request *r, struct reply *a)
{
    struct tt_switched s;
    int was_idle = !wake.recording && !wake.joined, is_new = was_idle;

    if (!r->output || !r->words) {
        say(a, "error=a request without its lines\n");
        return;
    }
    wake.joined = is_new && __atomic_load_n(&tt_on, __ATOMIC_RELAXED);
    is_new &= !wake.joined;
    if (is_new && start_recording(r, a) != 0)
        return;
    tt_thin_fini(&wake.thin);
    wake.thin.share = r->most ? strtod(r->most, NULL) : 0;
    wake.thin.cost = strstr(r->words, "hooks=exact") ? EXACT_NS : CALL_NS;
    if (tt_functions_on(r->only, &s) == 0) {
        if (!is_new)
            say(a, "again=1\n");
        say_counts(a, &s);
        if (s.reason)
            say(a, "reason=%s\n", s.reason);
        return;
    }
    if (is_new) {
        end_recording();
        (void)unlink(wake.output);
    }
    if (was_idle)
        wake.joined = 0;
    say(a, "error=%s\n", s.reason ? s.reason : "it cannot be");
}

/* A line each, and one of them all for the report. */
static void say_thinned(struct reply *a)
{
    const char *line = tt_switch_thinned(), *end;
    struct tt_recording *r = tt_recording_now();

    if (*line && r)
        (void)snprintf(r->header->source, sizeof r->header->source,
                       "functions; off by themselves, with their calls so far: %s", line);
    for (; (end = strchr(line, '\n')); line = end + 1)
        say(a, "thinned=%.*s\n", (int)(end - line), line);
    for (char *p = r ? strchr(r->header->source, '\n') : NULL; p; p = strchr(p, '\n'))
        *p = p[1] ? ';' : '\0';
}

static void switch_off(struct reply *a)
{
    struct tt_switched s;

    if (!wake.recording && !wake.joined) {
        say(a, "error=nothing is on\n");
        return;
    }
    if (tt_functions_off(&s) != 0) /* then they find that nothing is recorded */
        say(a, "reason=%s\n", s.reason);
    say_thinned(a);
    end_recording();
    say_counts(a, &s);
    wake.output[0] = '\0';
}

/* Whose file it is, and that nobody else could have written it. */
static int is_trusted(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 1 &&
           (st.st_uid == geteuid() || st.st_uid == 0) &&
           (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static void serve(uint32_t number)
{
    static struct request r;
    static struct reply a;
    char path[64];
    ssize_t n;
    int fd;

    (void)snprintf(path, sizeof path, TT_WAKE_PATH, (int)getpid(), number);
    fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    memset(&r, 0, sizeof r);
    memset(&a, 0, sizeof a);
    n = is_trusted(fd) ? pread(fd, r.text, sizeof r.text - 1, 0) : -1;
    if (n > 0) {
        read_lines(&r);
        if (r.command && strcmp(r.command, "on") == 0)
            switch_on(&r, &a);
        else if (r.command && strcmp(r.command, "off") == 0)
            switch_off(&a);
        else
            say(&a, "error=this library is of another version\n");
        say(&a, ".\n");
        (void)!pwrite(fd, a.text, a.size, TT_WAKE_ANSWER);
    }
    close(fd);
}

/* ── The worker ───────────────────────────────────────────────────────────────────── */

static void wait_for(uint32_t seen, const struct timespec *most)
{
    (void)syscall(SYS_futex, &wake.requests, FUTEX_WAIT_PRIVATE, seen, most, NULL, 0);
}

/* While something is on it looks at what has been loaded, too. */
static void *work(void *arg)
{
    const struct timespec tick = {0, 50000000};
    enum { LOOK = 6 };
    uint32_t seen = 0, now, looks = 0;

    (void)prctl(PR_SET_NAME, "tallytree");
    for (;;) {
        now = __atomic_load_n(&wake.requests, __ATOMIC_ACQUIRE);
        if (now != seen)
            serve(__atomic_load_n(&wake.number, __ATOMIC_ACQUIRE));
        else
            wait_for(now, wake.recording || wake.joined ? &tick : NULL);
        seen = now;
        tt_switch_refresh();
        if (wake.thin.share > 0 && ++looks % LOOK == 0 && (wake.recording || wake.joined))
            tt_switch_thin(&wake.thin);
    }
    return arg;
}

static int make_worker(void)
{
    pthread_attr_t a;
    pthread_t thread;
    int error;

    if (pthread_attr_init(&a) != 0)
        return -1;
    (void)pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    error = pthread_create(&thread, &a, work, NULL);
    (void)pthread_attr_destroy(&a);
    return error ? -1 : 0;
}

/* ── The task ─────────────────────────────────────────────────────────────────────── */

#if defined __GLIBC__ && defined __x86_64__
/* A thread's memory as the C library lays it out: what it has of its own lies below `self`,
 * and above it is what the system must be told.  All of it is zero at first, but what is
 * the same in each thread, and its number, by which it holds locks. */
enum {
    TASK_SIZE = 256 << 10,
    TASK_SELF = 192 << 10, /* below: thread-local variables; the stack is below 64 KiB */
    TASK_STACK = 64 << 10,
    WORD = sizeof(void *),
    SELF_DTV = 8,
    SELF_SELF = 16,
    SELF_GUARDS = 40, /* two words */
    SELF_NUMBER = 0x2d0
};

/* Without stdio, which wants more of a thread than this one is. */
static void refuse(void)
{
    static const char text[] = "error=no thread can be made in it\n.\n";
    char path[64] = "/tmp/tallytree.", digits[12], *p = path + strlen(path), *d = digits;
    uint32_t number = wake.number;
    int fd;

    for (pid_t n = getpid(); n; n /= 10)
        *d++ = (char)('0' + n % 10);
    while (d > digits)
        *p++ = *--d;
    *p++ = '.';
    for (int i = 28; i >= 0; i -= 4)
        *p++ = "0123456789abcdef"[number >> i & 15];
    fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && is_trusted(fd))
        (void)!pwrite(fd, text, sizeof text - 1, TT_WAKE_ANSWER);
    if (fd >= 0)
        close(fd);
}

static __attribute__((noreturn, used)) void run_task(void)
{
    if (make_worker() != 0) {
        refuse();
        __atomic_store_n(&wake.worker, 0, __ATOMIC_RELEASE);
    }
    for (;;)
        (void)syscall(SYS_exit, 0);
}

static long clone_task(char *memory)
{
    const long flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
                       CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID;
    register char *number __asm__("rdx") = memory + TASK_SELF + SELF_NUMBER;
    register char *cleared __asm__("r10") = number;
    register char *self __asm__("r8") = memory + TASK_SELF;
    register void (*run)(void) __asm__("r9") = run_task;
    long result;

    __asm__ volatile("syscall\n\t"
                     "testq %%rax, %%rax\n\t"
                     "jne 1f\n\t"
                     "xorl %%ebp, %%ebp\n\t"
                     "call *%7\n\t"
                     "hlt\n"
                     "1:"
                     : "=a"(result)
                     : "0"((long)SYS_clone), "D"(flags), "S"(memory + TASK_STACK),
                       "r"(number), "r"(cleared), "r"(self), "r"(run)
                     : "rcx", "r11", "memory");
    return result;
}

static int make_task(void)
{
    char *memory, *self, *own = __builtin_thread_pointer();

    if (*(const int *)(const void *)(own + SELF_NUMBER) != (int)syscall(SYS_gettid))
        return -1; /* this C library lays it out in another way */
    memory = mmap(NULL, TASK_SIZE, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return -1;
    self = memory + TASK_SELF;
    memcpy(self, &self, WORD);
    memcpy(self + SELF_SELF, &self, WORD);
    memcpy(self + SELF_DTV, own + SELF_DTV, WORD);
    memcpy(self + SELF_GUARDS, own + SELF_GUARDS, (size_t)2 * WORD);
    if (clone_task(memory) > 0)
        return 0;
    munmap(memory, TASK_SIZE);
    return -1;
}
#else
static int make_task(void) { return make_worker(); }
#endif

/* ── The signal ───────────────────────────────────────────────────────────────────── */

/* In the child of a fork there is no worker. */
static int claim(void)
{
    pid_t self = getpid(), other = __atomic_load_n(&wake.worker, __ATOMIC_ACQUIRE);

    return other != self &&
           __atomic_compare_exchange_n(&wake.worker, &other, self, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

/* With all signals blocked, so that neither the task nor the worker takes any. */
static void handle(int number, siginfo_t *info, void *context)
{
    int saved = errno;

    (void)number, (void)context;
    if (info->si_code == SI_QUEUE &&
        (info->si_uid == getuid() || info->si_uid == geteuid() || info->si_uid == 0)) {
        __atomic_store_n(&wake.number, (uint32_t)info->si_value.sival_int,
                         __ATOMIC_RELEASE);
        __atomic_fetch_add(&wake.requests, 1, __ATOMIC_ACQ_REL);
        if (claim()) {
            if (make_task() != 0)
                __atomic_store_n(&wake.worker, 0, __ATOMIC_RELEASE);
        } else {
            (void)syscall(SYS_futex, &wake.requests, FUTEX_WAKE_PRIVATE, 1, NULL, NULL,
                          0);
        }
    }
    errno = saved;
}

static __attribute__((constructor)) void take_signal(void)
{
    struct sigaction action = {.sa_sigaction = handle,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK},
                     old;

    sigfillset(&action.sa_mask);
    if (sigaction(tt_wake_signal(), NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) &&
        old.sa_handler == SIG_DFL)
        wake.taken = sigaction(tt_wake_signal(), &action, NULL) == 0;
}

/* ── From the beginning ───────────────────────────────────────────────────────────── */

/* Started by `tallytree record`: it says how, and where each process puts its recording. */
static void begin(const char *words, const char *folder)
{
    struct tt_switched s;
    struct tt_options o;

    if (tt_options_read(&o, words, NULL) != 0 || tt_folder_output(&o, folder) != 0 ||
        tt_start_with(&o) != 0)
        return;
    wake.recording = 1;
    memcpy(wake.output, o.output, sizeof o.output);
    (void)tt_functions_on(NULL, &s);
    (void)snprintf(tt_recording->header->source, sizeof tt_recording->header->source,
                   "functions%s%s", s.reason ? "; not all: " : "",
                   s.reason ? s.reason : "");
}

static __attribute__((constructor)) void begin_at_once(void)
{
    const char *words = getenv("TALLYTREE"), *folder = getenv("TALLYTREE_FOLDER");

    if (getenv("TALLYTREE_FUNCTIONS") && words && folder)
        begin(words, folder);
}

/* The recording ends with the process, if nobody has ended it. */
static __attribute__((destructor)) void end(void) { end_recording(); }
