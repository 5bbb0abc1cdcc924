/* SPDX-License-Identifier: MIT */
/* calls.c - system calls that a signal would end, shorten or lengthen (signal(7)), each
 * in a separate thread, again and again.  The right result of each is known: all bytes,
 * the whole time limit, the one message.  Prints wrong results, and how often each was
 * right. */
#include "calls.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>

char *pattern;
__thread long came;
__thread double took;
static volatile int handled;

/* ── Time limits ──────────────────────────────────────────────────────────────────── */

static int sleep_nano(void)
{
    struct timespec t = {0, MS * 1000000}, left = {7, 7};
    double from = now();

    return is(nanosleep(&t, &left), 0) && lasted(from) && left.tv_sec == 7;
}

static int sleep_clock(void)
{
    struct timespec t = {0, MS * 1000000};
    double from = now();

    return is(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL), 0) && lasted(from);
}

static int sleep_until(void)
{
    struct timespec t = after(CLOCK_MONOTONIC, MS);
    double from = now();

    return is(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL), 0) &&
           lasted(from);
}

static int limit_poll(void)
{
    double from = now();

    return is(poll(NULL, 0, MS), 0) && lasted(from);
}

static int limit_ppoll(void)
{
    struct timespec t = {0, MS * 1000000};
    double from = now();

    return is(ppoll(NULL, 0, &t, NULL), 0) && lasted(from);
}

/* The kernel returns the remaining time: none. */
static int limit_select(void)
{
    struct timeval t = {0, MS * 1000};
    double from = now();

    return is(select(0, NULL, NULL, NULL, &t), 0) && lasted(from) && !t.tv_sec &&
           !t.tv_usec;
}

static int limit_pselect(void)
{
    struct timespec t = {0, MS * 1000000};
    double from = now();

    return is(pselect(0, NULL, NULL, NULL, &t, NULL), 0) && lasted(from);
}

static int waits_epoll(int masked, int limit, int comes)
{
    struct epoll_event e = {.events = EPOLLIN}, got;
    struct ends p = open_ends(0);
    struct other o;
    int queue = epoll_create1(EPOLL_CLOEXEC), right;
    double from = now();
    sigset_t none;

    sigemptyset(&none);
    epoll_ctl(queue, EPOLL_CTL_ADD, p.in, &e);
    if (comes)
        begin(&o, feed_one, p.out);
    right = is(masked ? epoll_pwait(queue, &got, 1, limit, &none)
                      : epoll_wait(queue, &got, 1, limit),
               comes) &&
            lasted(from);
    if (comes)
        right &= end(&o);
    close(queue);
    close_ends(p);
    return right;
}

static int limit_epoll(void) { return waits_epoll(0, MS, 0); }
static int limit_epoll_pwait(void) { return waits_epoll(1, MS, 0); }
static int event_epoll(void) { return waits_epoll(0, 60000, 1); }
static int event_epoll_pwait(void) { return waits_epoll(1, -1, 1); }

static int event_poll(void)
{
    struct ends p = open_ends(0);
    struct pollfd f = {.fd = p.in, .events = POLLIN};
    struct other o;
    int right;

    begin(&o, feed_one, p.out);
    right = is(poll(&f, 1, 60000), 1);
    right &= end(&o);
    close_ends(p);
    return right;
}

static int limit_futex(void)
{
    struct timespec t = {0, MS * 1000000};
    double from = now();
    int word = 1;

    return is(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, &t, NULL, 0),
              -ETIMEDOUT) &&
           lasted(from);
}

static int limit_semaphore(void)
{
    struct timespec t = after(CLOCK_REALTIME, MS);
    double from = now();
    sem_t s;

    sem_init(&s, 0, 0);
    return is(sem_timedwait(&s, &t), -ETIMEDOUT) && lasted(from);
}

static int limit_condition(void)
{
    struct timespec t = after(CLOCK_REALTIME, MS);
    pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t c = PTHREAD_COND_INITIALIZER;
    double from = now();
    int result;

    pthread_mutex_lock(&m);
    result = pthread_cond_timedwait(&c, &m, &t);
    pthread_mutex_unlock(&m);
    return is(result, ETIMEDOUT) && lasted(from);
}

static int limit_semop(void)
{
    struct timespec t = {0, MS * 1000000};
    struct sembuf down = {.sem_op = -1};
    int id = semget(IPC_PRIVATE, 1, 0600), right;
    double from = now();

    right = is(semtimedop(id, &down, 1, &t), -EAGAIN) && lasted(from);
    semctl(id, 0, IPC_RMID);
    return right;
}

static void raise_semaphore(struct other *o)
{
    struct sembuf up = {.sem_op = 1};

    rest(MS);
    o->wrong = semop(o->fd, &up, 1) != 0;
}

static int event_semop(void)
{
    struct sembuf down = {.sem_op = -1};
    int id = semget(IPC_PRIVATE, 1, 0600), right;
    struct other o;

    begin(&o, raise_semaphore, id);
    right = is(semop(id, &down, 1), 0);
    right &= end(&o);
    semctl(id, 0, IPC_RMID);
    return right;
}

static int limit_sigtimedwait(void)
{
    struct timespec t = {0, MS * 1000000};
    double from = now();
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    return is(sigtimedwait(&set, NULL, &t), -EAGAIN) && lasted(from);
}

static int limit_aio(void)
{
    struct timespec t = {0, MS * 1000000};
    struct io_event e;
    aio_context_t c = 0;
    double from;
    int right;

    if (syscall(SYS_io_setup, 1, &c) != 0)
        return 1; /* not every system has it */
    from = now();
    right = is(syscall(SYS_io_getevents, c, 1L, 1L, &e, &t), 0) && lasted(from);
    syscall(SYS_io_destroy, c);
    return right;
}

static int read_timer(void)
{
    struct itimerspec in = {.it_value = {0, MS * 1000000}};
    int f = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), right;
    unsigned long long n = 0;

    timerfd_settime(f, 0, &in, NULL);
    right = is(read(f, &n, sizeof n), sizeof n) && n == 1;
    close(f);
    return right;
}

/* ── One event ────────────────────────────────────────────────────────────────────── */

static void send_message(struct other *o)
{
    struct {
        long type;
        char text[4];
    } m = {1, "abc"};

    rest(MS);
    o->wrong = msgsnd(o->fd, &m, sizeof m.text, 0) != 0;
}

static int event_msgrcv(void)
{
    struct {
        long type;
        char text[4];
    } m;
    int id = msgget(IPC_PRIVATE, 0600), right;
    struct other o;

    begin(&o, send_message, id);
    right = is(msgrcv(id, &m, sizeof m.text, 0, 0), sizeof m.text);
    right &= end(&o);
    msgctl(id, IPC_RMID, NULL);
    return right;
}

static void receive_message(struct other *o)
{
    char m[9000];

    rest(MS);
    o->wrong = msgrcv(o->fd, m, sizeof m - sizeof(long), 0, 0) < 0;
}

static int event_msgsnd(void)
{
    struct {
        long type;
        char text[4000];
    } m = {.type = 1};
    int id = msgget(IPC_PRIVATE, 0600), right;
    struct other o;

    while (msgsnd(id, &m, sizeof m.text, IPC_NOWAIT) == 0)
        ;
    begin(&o, receive_message, id);
    right = is(msgsnd(id, &m, sizeof m.text, 0), 0);
    right &= end(&o);
    msgctl(id, IPC_RMID, NULL);
    return right;
}

static void unlock_file(struct other *o)
{
    rest(MS);
    o->wrong = flock(o->fd, LOCK_UN) != 0;
}

static int event_flock(void)
{
    char path[] = "/tmp/calls-XXXXXX";
    int held = mkstemp(path), wanted_too = open(path, O_RDWR | O_CLOEXEC), right;
    struct other o;

    unlink(path);
    flock(held, LOCK_EX);
    begin(&o, unlock_file, held);
    right = is(flock(wanted_too, LOCK_EX), 0);
    right &= end(&o);
    close(held);
    close(wanted_too);
    return right;
}

static void unlock_range(struct other *o)
{
    struct flock l = {.l_type = F_UNLCK};

    rest(MS);
    o->wrong = fcntl(o->fd, F_OFD_SETLK, &l) != 0;
}

static int event_fcntl(void)
{
    char path[] = "/tmp/calls-XXXXXX";
    int held = mkstemp(path), wanted_too = open(path, O_RDWR | O_CLOEXEC), right;
    struct flock l = {.l_type = F_WRLCK};
    struct other o;

    unlink(path);
    fcntl(held, F_OFD_SETLK, &l);
    begin(&o, unlock_range, held);
    l = (struct flock){.l_type = F_WRLCK};
    right = is(fcntl(wanted_too, F_OFD_SETLKW, &l), 0);
    right &= end(&o);
    close(held);
    close(wanted_too);
    return right;
}

static int event_child(int by_id)
{
    pid_t child = fork();
    siginfo_t info;
    int status = 0;

    if (child == 0) {
        struct timespec t = {0, MS * 1000000};
        nanosleep(&t, NULL);
        _exit(3);
    }
    if (by_id)
        return is(waitid(P_PID, (id_t)child, &info, WEXITED), 0) && info.si_status == 3;
    return is(waitpid(child, &status, 0), child) && WEXITSTATUS(status) == 3;
}

static int event_waitpid(void) { return event_child(0); }
static int event_waitid(void) { return event_child(1); }

struct listener {
    struct sockaddr_un name;
    socklen_t size;
};

static int listen_at(struct listener *l, int backlog)
{
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memset(l, 0, sizeof *l);
    l->name.sun_family = AF_UNIX;
    l->size = sizeof l->name;
    if (bind(s, (struct sockaddr *)&l->name, sizeof(sa_family_t)) != 0 ||
        getsockname(s, (struct sockaddr *)&l->name, &l->size) != 0 ||
        listen(s, backlog) != 0)
        abort();
    return s;
}

static void connect_to(struct other *o)
{
    struct sockaddr_un name;
    socklen_t size = sizeof name;
    int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    rest(MS);
    o->wrong = getsockname(o->fd, (struct sockaddr *)&name, &size) != 0 ||
               connect(s, (struct sockaddr *)&name, size) != 0;
    close(s);
}

static int accepts(int limited)
{
    struct timeval t = {60, 0};
    struct listener l;
    struct other o;
    int s = listen_at(&l, 1), got, right;

    if (limited)
        setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    begin(&o, connect_to, s);
    got = accept(s, NULL, NULL);
    right = is(got < 0 ? got : 0, 0);
    right &= end(&o);
    close(got);
    close(s);
    return right;
}

static int event_accept(void) { return accepts(0); }
static int event_accept_limited(void) { return accepts(1); }

static void accept_some(struct other *o)
{
    rest(MS);
    for (int i = 0; i < 3; i++)
        close(accept(o->fd, NULL, NULL));
}

/* A full queue makes connect wait. */
static int event_connect(void)
{
    struct listener l;
    struct other o;
    int s = listen_at(&l, 1), c[3], right = 1;

    begin(&o, accept_some, s);
    for (int i = 0; i < 3; i++) {
        c[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        right &= is(connect(c[i], (struct sockaddr *)&l.name, l.size), 0);
    }
    right &= end(&o);
    for (int i = 0; i < 3; i++)
        close(c[i]);
    close(s);
    return right;
}

static void open_fifo(struct other *o)
{
    char path[64];

    (void)snprintf(path, sizeof path, "/tmp/calls-fifo-%d", o->wants);
    rest(MS);
    close(open(path, O_WRONLY | O_CLOEXEC));
}

static int event_open(void)
{
    struct other o = {.wants = (int)syscall(SYS_gettid)};
    char path[64];
    int f, right;

    (void)snprintf(path, sizeof path, "/tmp/calls-fifo-%d", o.wants);
    unlink(path);
    if (mkfifo(path, 0600) != 0)
        abort();
    begin(&o, open_fifo, -1);
    f = open(path, O_RDONLY | O_CLOEXEC);
    right = is(f < 0 ? f : 0, 0);
    right &= end(&o);
    close(f);
    unlink(path);
    return right;
}

static void make_file(struct other *o)
{
    char path[64];
    int f;

    (void)snprintf(path, sizeof path, "/tmp/calls-dir-%d/x", o->wants);
    rest(MS);
    f = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    close(f);
    unlink(path);
}

static int read_inotify(void)
{
    struct other o = {.wants = (int)syscall(SYS_gettid)};
    char path[64], got[4096];
    int f = inotify_init1(IN_CLOEXEC), right;

    (void)snprintf(path, sizeof path, "/tmp/calls-dir-%d", o.wants);
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        abort();
    inotify_add_watch(f, path, IN_CREATE);
    begin(&o, make_file, -1);
    right = is(read(f, got, sizeof got) > 0, 1);
    right &= end(&o);
    close(f);
    rmdir(path);
    return right;
}

static void add_event(struct other *o)
{
    unsigned long long n = 5;

    rest(MS);
    o->wrong = write(o->fd, &n, sizeof n) != sizeof n;
}

static int read_event(void)
{
    int f = eventfd(0, EFD_CLOEXEC), right;
    unsigned long long n = 0;
    struct other o;

    begin(&o, add_event, f);
    right = is(read(f, &n, sizeof n), sizeof n) && n == 5;
    right &= end(&o);
    close(f);
    return right;
}

/* ── Signals of the program's own ─────────────────────────────────────────────────── */

static void on_signal(int number)
{
    (void)number;
    __atomic_fetch_add(&handled, 1, __ATOMIC_SEQ_CST);
}

/* It ends these, and once. */
static int signalled(int suspends)
{
    struct other o = {.wants = SIGUSR1};
    sigset_t blocked, before;
    int was = handled, right;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, &before);
    begin(&o, send_signal, -1);
    right = is(suspends ? sigsuspend(&before) : ppoll(NULL, 0, NULL, &before), -EINTR) &&
            handled == was + 1;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return right & end(&o);
}

/* Each call alone has the handler's count. */
static pthread_mutex_t one_signal = PTHREAD_MUTEX_INITIALIZER;

static int signal_suspend(void)
{
    int right;

    pthread_mutex_lock(&one_signal);
    right = signalled(1) & signalled(0);
    pthread_mutex_unlock(&one_signal);
    return right;
}

static int signal_sigwait(void)
{
    struct other o = {.wants = SIGUSR2};
    sigset_t set;
    int number = 0, right;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    begin(&o, send_signal, -1);
    right = is(sigwait(&set, &number), 0) && number == SIGUSR2;
    return right & end(&o);
}

/* ── All of them ──────────────────────────────────────────────────────────────────── */

static const struct call other_calls[] = {
    // clang-format off
    CALL(sleep_nano), CALL(sleep_clock), CALL(sleep_until), CALL(limit_poll),
    CALL(limit_ppoll), CALL(limit_select), CALL(limit_pselect), CALL(limit_epoll),
    CALL(limit_epoll_pwait), CALL(event_epoll), CALL(event_epoll_pwait),
    CALL(event_poll), CALL(limit_futex), CALL(limit_semaphore), CALL(limit_condition),
    CALL(limit_semop), CALL(event_semop), CALL(limit_sigtimedwait), CALL(limit_aio),
    CALL(read_timer), CALL(event_msgrcv), CALL(event_msgsnd), CALL(event_flock),
    CALL(event_fcntl), CALL(event_waitpid), CALL(event_waitid), CALL(event_accept),
    CALL(event_accept_limited), CALL(event_connect), CALL(event_open),
    CALL(read_inotify), CALL(read_event), CALL(signal_suspend), CALL(signal_sigwait),
    // clang-format on
};
enum { OTHERS = sizeof other_calls / sizeof *other_calls };

static int times;

static void *repeat(void *arg)
{
    const struct call *call = arg;
    long right = 0;

    for (int n = 0; n < times; n++) {
        came = 0;
        took = 0;
        if (call->is_right())
            right++;
        else
            fprintf(stderr, "%s came to %ld after %.1f ms\n", call->name, came, took);
    }
    return (void *)right;
}

int main(int argc, char **argv)
{
    size_t count = byte_calls_count + OTHERS;
    pthread_t *thread = calloc(count, sizeof *thread);
    sigset_t blocked;
    long right = 0;
    void *n;

    times = argc > 1 ? atoi(argv[1]) : 4;
    pattern = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < BIG; i++)
        pattern[i] = (char)(i * 31 + i / 977);
    sigaction(SIGUSR1, &(struct sigaction){.sa_handler = on_signal}, NULL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct call *c = i < OTHERS ? other_calls + i : byte_calls + (i - OTHERS);
        if (pthread_create(&thread[i], NULL, repeat, (void *)(uintptr_t)c) != 0)
            return 2;
    }
    for (size_t i = 0; i < count; i++) {
        pthread_join(thread[i], &n);
        right += (long)n;
    }
    free(thread);
    printf("%ld of %ld calls came to what they must\n", right, times * (long)count);
    return right != times * (long)count;
}
