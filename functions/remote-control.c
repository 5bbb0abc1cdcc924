/* SPDX-License-Identifier: MIT */
/* remote-control.c - lets a process switch functions on by request, without any cost
 * before.
 *
 *      signal ─ handler ─ is this a safe point? ─ yes: pthread_create ─ worker
 *                                               └ no: "busy"; the command asks again
 *
 * The handler may have interrupted malloc or the loader, which a new thread needs.  So it
 * makes one only if the interrupted thread is in neither: see safe-point.h.  Until then
 * there is no thread, no file and no memory. */
#include "remote-control.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
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
#include "safe-point.h"
#include "switch.h"
#include "throttle.h"

static struct {
    uint32_t requests;       /* grows; the worker waits for it to change */
    uint32_t number;         /* the last one's */
    pid_t worker;            /* in which process there is one, or is about to be */
    int taken;               /* the signal is ours */
    int recording;           /* the worker's: it has started one, */
    int joined;              /* or joined one of the program */
    struct tt_throttle thin; /* share 0: whatever it costs */
    char output[TT_PATH_SIZE];
} wake;

/* ── The worker's requests ────────────────────────────────────────────────────────── */

struct request {
    char text[TT_REMOTE_MARK + 1];
    const char *command, *words, *only, *output, *most;
};

struct reply {
    char text[TT_REMOTE_SIZE - TT_REMOTE_ANSWER];
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

/* The cost of a call, in and out; measured. */
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
    tt_throttle_fini(&wake.thin);
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

/* Is the file of a user we trust, and could no other user have written it? */
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
    static const char taken = TT_REMOTE_TAKEN;
    char path[64], before = '\0';
    ssize_t n = -1;
    int fd;

    (void)snprintf(path, sizeof path, TT_REMOTE_PATH, (int)getpid(), number);
    fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    memset(&r, 0, sizeof r);
    memset(&a, 0, sizeof a);
    if (is_trusted(fd) &&
        (pread(fd, &before, 1, TT_REMOTE_MARK) < 1 || before != taken) &&
        pwrite(fd, &taken, 1, TT_REMOTE_MARK) == 1)
        n = pread(fd, r.text, sizeof r.text - 1, 0);
    if (n > 0) {
        read_lines(&r);
        if (r.command && strcmp(r.command, "on") == 0)
            switch_on(&r, &a);
        else if (r.command && strcmp(r.command, "off") == 0)
            switch_off(&a);
        else
            say(&a, "error=this library is of another version\n");
        say(&a, ".\n");
        (void)!pwrite(fd, a.text, a.size, TT_REMOTE_ANSWER);
    }
    close(fd);
}

/* ── The worker ───────────────────────────────────────────────────────────────────── */

static void wait_for(uint32_t seen, const struct timespec *most)
{
    (void)syscall(SYS_futex, &wake.requests, FUTEX_WAIT_PRIVATE, seen, most, NULL, 0);
}

/* While recording is on it checks for loaded modules, too.  Signals 32 to 34 are those by
 * which a C library lets each thread change its user, and waits for it. */
static void *work(void *arg)
{
    const struct timespec tick = {0, 50000000};
    enum { LOOK = 6 };
    uint32_t seen = 0, now, looks = 0;
    uint64_t internal = (uint64_t)7 << 31;

    (void)syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &internal, NULL, sizeof internal);
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

/* ── Starting it ──────────────────────────────────────────────────────────────────── */

/* The handler's answer, without stdio: `text` at `at` in the file of the last request. */
static void mark(const char *text, size_t size, off_t at)
{
    char path[64] = "/tmp/tallytree.", digits[12], *p = path + strlen(path), *d = digits;
    uint32_t number = __atomic_load_n(&wake.number, __ATOMIC_ACQUIRE);
    int fd;

    for (pid_t n = getpid(); n; n /= 10)
        *d++ = (char)('0' + n % 10);
    while (d > digits)
        *p++ = *--d;
    *p++ = '.';
    for (int i = 28; i >= 0; i -= 4)
        *p++ = "0123456789abcdef"[number >> i & 15];
    *p = '\0';
    fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && is_trusted(fd))
        (void)!pwrite(fd, text, size, at);
    if (fd >= 0)
        close(fd);
}

static void refuse(void)
{
    static const char text[] = "error=no thread can be made in it\n.\n";

    mark(text, sizeof text - 1, TT_REMOTE_ANSWER);
}

static void set_mask(const void *set, void *before)
{
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, set, before, sizeof(uint64_t));
}

static void call_on(char *end, void (*function)(void))
{
    __asm__ volatile("movq %%rsp, %%rbx\n\t"
                     "movq %0, %%rsp\n\t"
                     "call *%1\n\t"
                     "movq %%rbx, %%rsp"
                     : "+D"(end), "+S"(function)
                     :
                     : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "cc",
                       "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6",
                       "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
                       "xmm14", "xmm15");
}

static void try_worker(void)
{
    if (make_worker() == 0)
        return;
    refuse();
    __atomic_store_n(&wake.worker, 0, __ATOMIC_RELEASE);
}

/* On a separate stack: the program's may be full or small. */
static void start_worker(void)
{
    enum { SIZE = 256 << 10 };
    char *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (stack == MAP_FAILED) {
        refuse();
        __atomic_store_n(&wake.worker, 0, __ATOMIC_RELEASE);
        return;
    }
    call_on(stack + SIZE, try_worker);
    munmap(stack, SIZE);
}

/* ── The signal ───────────────────────────────────────────────────────────────────── */

/* In the child of a fork there is no worker. */
static int claim(void)
{
    pid_t self = getpid(), other = __atomic_load_n(&wake.worker, __ATOMIC_ACQUIRE);

    return other != self &&
           __atomic_compare_exchange_n(&wake.worker, &other, self, 0, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

static void take_request(const void *context)
{
    static const char busy = TT_REMOTE_BUSY;

    __atomic_fetch_add(&wake.requests, 1, __ATOMIC_ACQ_REL);
    if (!claim()) {
        (void)syscall(SYS_futex, &wake.requests, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    } else if (tt_safe_point(context)) {
        start_worker();
    } else {
        mark(&busy, 1, TT_REMOTE_MARK); /* before a worker can mark it */
        __atomic_store_n(&wake.worker, 0, __ATOMIC_RELEASE);
    }
}

/* With all signals blocked, so that the worker takes none; sigfillset() omits the one
 * that cancels a thread, which must not end in the middle of pthread_create. */
static void handle(int number, siginfo_t *info, void *context)
{
    uint64_t all = ~(uint64_t)0, before;
    int saved = errno;

    (void)number;
    if (info->si_code == SI_QUEUE &&
        (info->si_uid == getuid() || info->si_uid == geteuid() || info->si_uid == 0)) {
        set_mask(&all, &before);
        __atomic_store_n(&wake.number, (uint32_t)info->si_value.sival_int,
                         __ATOMIC_RELEASE);
        take_request(context);
        set_mask(&before, NULL);
    }
    errno = saved;
}

static __attribute__((constructor)) void take_signal(void)
{
    struct sigaction action = {.sa_sigaction = handle,
                               .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK},
                     old;

    sigfillset(&action.sa_mask);
    if (sigaction(tt_remote_signal(), NULL, &old) == 0 && !(old.sa_flags & SA_SIGINFO) &&
        old.sa_handler == SIG_DFL)
        wake.taken = sigaction(tt_remote_signal(), &action, NULL) == 0;
    if (wake.taken)
        tt_safe_point_init();
}

/* ── From the beginning ───────────────────────────────────────────────────────────── */

/* Started by `tallytree record`, with its options, and the folder for each process's
 * recording. */
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
    const char *words = secure_getenv("TALLYTREE"),
               *folder = secure_getenv("TALLYTREE_FOLDER");
    const int saved = errno;

    if (secure_getenv("TALLYTREE_FUNCTIONS") && words && folder)
        begin(words, folder);
    errno = saved; /* 0 when the program begins */
}

/* Ends a recording that is still running when the process ends. */
static __attribute__((destructor)) void end(void) { end_recording(); }
