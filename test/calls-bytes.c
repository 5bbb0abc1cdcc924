/* SPDX-License-Identifier: MIT */
/* calls-bytes.c - calls that have done a part when a signal comes. */
#include "calls.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

/* ── All the bytes ────────────────────────────────────────────────────────────────── */

struct ends open_ends(int socket)
{
    int p[2];

    if ((socket ? socketpair(AF_UNIX, SOCK_STREAM, 0, p) : pipe(p)) != 0)
        abort();
    return (struct ends){p[0], p[1]};
}

void close_ends(struct ends e)
{
    close(e.in);
    close(e.out);
}

enum how { WRITE, WRITEV, SEND, SENDTO, SENDMSG, SENDMMSG, SENDFILE, SPLICE, VMSPLICE };

static int file_of(void)
{
    int f = memfd_create("pattern", MFD_CLOEXEC);

    if (f < 0 || write(f, pattern, BIG) != BIG)
        abort();
    return f;
}

static long send_all(enum how how, int to)
{
    struct iovec v[3] = {
        {pattern, 10}, {pattern + 10, BIG - 20}, {pattern + BIG - 10, 10}};
    struct mmsghdr m[2] = {{.msg_hdr = {.msg_iov = v, .msg_iovlen = 2}},
                           {.msg_hdr = {.msg_iov = v + 2, .msg_iovlen = 1}}};
    struct msghdr one = {.msg_iov = v, .msg_iovlen = 3};
    off_t zero = 0;
    long n;
    int f;

    switch (how) {
    case WRITE:
        return write(to, pattern, BIG);
    case WRITEV:
        return writev(to, v, 3);
    case SEND:
        return send(to, pattern, BIG, 0);
    case SENDTO:
        return sendto(to, pattern, BIG, 0, NULL, 0);
    case SENDMSG:
        return sendmsg(to, &one, 0);
    case SENDMMSG:
        n = sendmmsg(to, m, 2, 0);
        return n == 2 ? (long)m[0].msg_len + m[1].msg_len : n;
    default:
        f = file_of();
        n = sendfile(to, f, &zero, BIG);
        close(f);
        return n;
    }
}

/* Into a pipe these fill what room there is, and wait while there is none. */
static long splice_all(enum how how, int to)
{
    int f = file_of();
    off_t at = 0;
    long n = 1, done = 0;

    for (; done < BIG && n > 0; done += n > 0 ? n : 0) {
        struct iovec v = {pattern + done, (size_t)(BIG - done)};
        n = how == SENDFILE ? sendfile(to, f, &at, v.iov_len)
            : how == SPLICE ? splice(f, &at, to, NULL, v.iov_len, 0)
                            : vmsplice(to, &v, 1, 0);
    }
    close(f);
    return n < 0 ? n : done;
}

static int sends(enum how how, int socket)
{
    struct ends e = open_ends(socket);
    struct other o = {.size = BIG};
    int right;

    begin(&o, drain, e.in);
    right = is(how >= SENDFILE && !socket ? splice_all(how, e.out) : send_all(how, e.out),
               BIG);
    if (!right)
        shutdown(e.out, SHUT_WR), close(e.out), e.out = -1;
    right &= end(&o);
    close_ends(e);
    return right;
}

static int write_pipe(void) { return sends(WRITE, 0); }
static int writev_pipe(void) { return sends(WRITEV, 0); }
static int write_socket(void) { return sends(WRITE, 1); }
static int writev_socket(void) { return sends(WRITEV, 1); }
static int send_socket(void) { return sends(SEND, 1); }
static int sendto_socket(void) { return sends(SENDTO, 1); }
static int sendmsg_socket(void) { return sends(SENDMSG, 1); }
static int sendmmsg_socket(void) { return sends(SENDMMSG, 1); }
static int sendfile_pipe(void) { return sends(SENDFILE, 0); }
static int sendfile_socket(void) { return sends(SENDFILE, 1); }
static int splice_pipe(void) { return sends(SPLICE, 0); }
static int vmsplice_pipe(void) { return sends(VMSPLICE, 0); }

static int stdio_pipe(void)
{
    struct ends e = open_ends(0);
    struct other o = {.size = BIG};
    FILE *f = fdopen(e.out, "w");
    int right;

    begin(&o, drain, e.in);
    right = is((long)fwrite(pattern, 1, BIG, f), BIG) & (fclose(f) == 0);
    right &= end(&o);
    close(e.in);
    return right;
}

enum { PART = PIECES * 500 };

static int waits_for_all(int by_message)
{
    struct ends e = open_ends(1);
    struct other o = {.size = PART};
    char got[PART];
    struct iovec v = {got, PART};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    int right;

    begin(&o, feed, e.out);
    right = is(by_message ? recvmsg(e.in, &m, MSG_WAITALL)
                          : recv(e.in, got, PART, MSG_WAITALL),
               PART) &&
            memcmp(got, pattern, PART) == 0;
    right &= end(&o);
    close_ends(e);
    return right;
}

static int recv_all(void) { return waits_for_all(0); }
static int recvmsg_all(void) { return waits_for_all(1); }

static int recvmmsg_all(void)
{
    struct mmsghdr m[PIECES];
    struct iovec v[PIECES];
    struct other o;
    char got[PIECES];
    int p[2], right;

    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, p) != 0)
        abort();
    memset(m, 0, sizeof m);
    for (int i = 0; i < PIECES; i++) {
        v[i] = (struct iovec){got + i, 1};
        m[i].msg_hdr.msg_iov = v + i;
        m[i].msg_hdr.msg_iovlen = 1;
    }
    begin(&o, send_messages, p[1]);
    right = is(recvmmsg(p[0], m, PIECES, 0, NULL), PIECES);
    right &= end(&o);
    close(p[0]);
    close(p[1]);
    return right;
}

static int reads_one(int fd_in, int fd_out, int by_recv)
{
    struct other o;
    char c = 0;
    int right;

    begin(&o, feed_one, fd_out);
    right = is(by_recv ? recv(fd_in, &c, 1, 0) : read(fd_in, &c, 1), 1) && c == 'x';
    return right & end(&o);
}

static int read_pipe(void)
{
    struct ends e = open_ends(0);
    int right = reads_one(e.in, e.out, 0);

    close_ends(e);
    return right;
}

static int recv_limited(void)
{
    struct ends e = open_ends(1);
    struct timeval t = {60, 0};
    int right;

    setsockopt(e.in, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    right = reads_one(e.in, e.out, 1);
    close_ends(e);
    return right;
}

static int recv_times_out(void)
{
    struct ends e = open_ends(1);
    struct timeval t = {0, MS * 1000};
    double from;
    char c;
    int right;

    setsockopt(e.in, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    from = now();
    right = is(recv(e.in, &c, 1, 0), -EAGAIN) && lasted_ticks(from);
    close_ends(e);
    return right;
}

/* How much fits is known of what comes out again. */
static int send_times_out(void)
{
    struct ends e = open_ends(1);
    struct timeval t = {0, MS * 1000};
    double from = now();
    long n, got = 0;
    char some[4096];
    int right;

    setsockopt(e.out, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
    came = n = send(e.out, pattern, BIG, 0);
    right = n > 0 && lasted_ticks(from);
    close(e.out);
    while ((came = read(e.in, some, sizeof some)) > 0)
        got += came;
    close(e.in);
    return right && got == n;
}

static int read_zeros(void)
{
    enum { SIZE = 24 << 20 };
    int f = open("/dev/zero", O_RDONLY | O_CLOEXEC), right;
    char *to = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                    0);

    right = is(read(f, to, SIZE), SIZE);
    munmap(to, SIZE);
    close(f);
    return right;
}

static int get_random(void)
{
    enum { SIZE = 2 << 20 };
    char *to = malloc(SIZE);
    int right = is(getrandom(to, SIZE, 0), SIZE);

    free(to);
    return right;
}

const struct call byte_calls[] = {
    // clang-format off
    CALL(write_pipe), CALL(writev_pipe), CALL(write_socket), CALL(writev_socket),
    CALL(send_socket), CALL(sendto_socket), CALL(sendmsg_socket), CALL(sendmmsg_socket),
    CALL(sendfile_pipe), CALL(sendfile_socket), CALL(splice_pipe), CALL(vmsplice_pipe),
    CALL(stdio_pipe), CALL(recv_all), CALL(recvmsg_all), CALL(recvmmsg_all),
    CALL(read_pipe), CALL(recv_limited), CALL(recv_times_out), CALL(send_times_out),
    CALL(read_zeros), CALL(get_random),
    // clang-format on
};
const size_t byte_calls_count = sizeof byte_calls / sizeof *byte_calls;
