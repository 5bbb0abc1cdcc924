/* SPDX-License-Identifier: MIT */
/* screen.c - the terminal as one picture, with keys; always restored.
 *
 *      found ── enter ──► ours ── leave ──► found
 *
 * Everything that ends or stops the process calls `leave` first, in the handler itself,
 * as the program may be busy reading a large file.  Both steps use only write and
 * tcsetattr, which a handler may call.  The handlers block each other, and all of them
 * are blocked while the program itself takes a step.
 *
 * Keys stay signals (ISIG): the kernel makes SIGINT of ctrl-c and SIGTSTP of ctrl-z. */
#include "screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "tallytree.h"

static const char begin[] = "\033[?1049h\033[?25l"; /* the other screen, no cursor */
static const char end[] = "\033[0m\033[?25h\033[?1049l";

static struct termios found, ours;
static int keys = -1; /* what keys are read from, and settings are made on */
static volatile sig_atomic_t is_ours, must_draw;

/* ── The two steps ────────────────────────────────────────────────────────────────── */

/* Writes all of it, to a terminal that may be slow.  async-signal-safe */
static void put(const char *bytes, size_t count)
{
    while (count) {
        ssize_t n = write(STDOUT_FILENO, bytes, count);
        struct pollfd wait = {.fd = STDOUT_FILENO, .events = POLLOUT};
        if (n < 0 && errno == EAGAIN)
            (void)poll(&wait, 1, 100);
        else if (n < 0 && errno != EINTR)
            return;
        if (n > 0) {
            bytes += n;
            count -= (size_t)n;
        }
    }
}

/* In the background this stops the process (SIGTTOU) until it is in front.
 * async-signal-safe */
static void enter(void)
{
    if (tcsetattr(keys, TCSANOW, &ours) != 0)
        return;
    must_draw = 1;
    if (!is_ours)
        put(begin, sizeof begin - 1);
    is_ours = 1;
}

/* The settings of the terminal are left alone if it belongs to another job by now; the
 * picture is still removed.  async-signal-safe */
static void leave(void)
{
    sigset_t set, before;
    pid_t front = tcgetpgrp(keys); /* -1: it has no known foreground group */

    if (!is_ours)
        return;
    is_ours = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGTTOU); /* or it would stop us in the background */
    (void)sigprocmask(SIG_BLOCK, &set, &before);
    put(end, sizeof end - 1);
    if (front < 0 || front == getpgrp())
        (void)tcsetattr(keys, TCSANOW, &found);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

/* ── Signals ──────────────────────────────────────────────────────────────────────── */

static const int ending[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGPIPE,
                             SIGABRT, SIGBUS,  SIGSEGV, SIGFPE,  SIGILL,
                             SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU};

enum { ENDING = sizeof ending / sizeof *ending };

/* Runs the default action of a signal, now.  async-signal-safe */
static void take_default(int signal_number)
{
    struct sigaction plain = {.sa_handler = SIG_DFL}, before;
    sigset_t set, mask;

    (void)sigaction(signal_number, &plain, &before);
    sigemptyset(&set);
    sigaddset(&set, signal_number);
    (void)raise(signal_number);
    (void)sigprocmask(SIG_UNBLOCK, &set, &mask);
    (void)sigprocmask(SIG_SETMASK, &mask, NULL);
    (void)sigaction(signal_number, &before, NULL);
}

/* async-signal-safe */
static void on_end(int signal_number)
{
    leave();
    if (signal_number == SIGINT)
        _exit(0);
    take_default(signal_number);
}

/* async-signal-safe */
static void on_stop(int signal_number)
{
    int error = errno;

    leave();
    take_default(signal_number); /* returns when the process goes on */
    enter();
    errno = error;
}

/* After SIGSTOP, which cannot be handled, the terminal may have any state.
 * async-signal-safe */
static void on_continue(int signal_number)
{
    int error = errno;

    (void)signal_number;
    enter();
    errno = error;
}

static void on_resize(int signal_number)
{
    (void)signal_number;
    must_draw = 1;
}

static sigset_t handled(void)
{
    sigset_t set;

    sigemptyset(&set);
    for (size_t i = 0; i < ENDING; i++)
        sigaddset(&set, ending[i]);
    sigaddset(&set, SIGTSTP);
    sigaddset(&set, SIGCONT);
    sigaddset(&set, SIGWINCH);
    return set;
}

/* Signals that the process inherited as ignored (by nohup, say) stay ignored, and a
 * sanitizer's handlers are kept. */
static void handle(int signal_number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_mask = handled()}, before;

    if (sigaction(signal_number, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
        (void)sigaction(signal_number, &action, NULL);
}

/* These two only matter while waiting for keys: unblocked only there, they cannot arrive
 * between the check of must_draw and the wait. */
static sigset_t waited_for(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGWINCH);
    sigaddset(&set, SIGCONT);
    return set;
}

/* ── The screen ───────────────────────────────────────────────────────────────────── */

static void set_ours(void)
{
    ours = found;
    ours.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ECHONL | IEXTEN);
    ours.c_lflag |= ISIG;
    ours.c_iflag &= ~(tcflag_t)(IXON | ICRNL | INLCR | IGNCR);
    ours.c_cc[VMIN] = 1;
    ours.c_cc[VTIME] = 0;
}

int tt_screen_open(void)
{
    sigset_t all = handled(), waited = waited_for(), before;

    keys = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (keys < 0) /* a terminal that does not control us */
        keys = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    if (keys < 0 || tcgetattr(keys, &found) != 0) {
        tt_screen_close();
        return -TT_ERR_FILE;
    }
    set_ours();
    (void)sigprocmask(SIG_BLOCK, &all, &before);
    for (size_t i = 0; i < ENDING; i++)
        handle(ending[i], on_end);
    handle(SIGTSTP, on_stop);
    handle(SIGCONT, on_continue);
    handle(SIGWINCH, on_resize);
    enter();
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)sigprocmask(SIG_BLOCK, &waited, NULL);
    return 0;
}

void tt_screen_close(void)
{
    sigset_t all = handled(), before;

    (void)sigprocmask(SIG_BLOCK, &all, &before);
    leave();
    if (keys >= 0)
        close(keys);
    keys = -1;
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
}

void tt_screen_size(uint32_t *width, uint32_t *height)
{
    struct winsize w;

    *width = 80;
    *height = 24;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col && w.ws_row) {
        *width = w.ws_col;
        *height = w.ws_row;
    }
}

/* Writes a line up to its end or the edge of the screen.  Control characters in names are
 * removed; colours take no columns. */
static void put_line(struct tt_text *out, const char *p, uint32_t width)
{
    for (size_t used = 0; *p && *p != '\n';) {
        struct tt_character c = tt_text_character(p);
        if (*p == '\033') {
            c.bytes = strcspn(p, "m\n");
            c.bytes += p[c.bytes] == 'm';
            c.width = 0;
        }
        used += c.width;
        if (used > width)
            break;
        tt_text_bytes(out, p, c.bytes);
        p += c.bytes;
    }
    tt_text_put(out, "\033[0m");
}

/* One write, so that nothing flickers. */
void tt_screen_show(struct tt_text *lines)
{
    const char *p = tt_text_string(lines);
    uint32_t width, height;
    struct tt_text out;

    if (!is_ours)
        return;
    tt_screen_size(&width, &height);
    tt_text_init(&out, NULL);
    tt_text_put(&out, "\033[H");
    for (uint32_t i = 0; i < height && *p; i++) {
        tt_text_put(&out, i == 0 ? "\033[7m" : "\r\n");
        put_line(&out, p, width);
        tt_text_put(&out, "\033[K");
        p += strcspn(p, "\n");
        p += *p == '\n';
    }
    tt_text_put(&out, "\033[J");
    if (!out.failed)
        put(out.bytes.item, out.bytes.count);
    tt_text_fini(&out);
}

/* ── Keys ─────────────────────────────────────────────────────────────────────────── */

/* Bytes that have been read, but not yet taken. */
static unsigned char pending[64];
static size_t pendings;

static void drop(size_t count)
{
    pendings -= count;
    memmove(pending, pending + count, pendings);
}

/* Adds available bytes to the pending ones; less than 0: the terminal is gone. */
static int read_more(void)
{
    ssize_t n = read(keys, pending + pendings, sizeof pending - pendings);

    if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
        return -1;
    pendings += n > 0 ? (size_t)n : 0;
    return 0;
}

/* Is it the Escape key alone, or the beginning of another key's sequence?  Those arrive
 * at once. */
static int is_alone(void)
{
    struct pollfd wait = {.fd = keys, .events = POLLIN};

    if (pendings == 1 && poll(&wait, 1, 50) > 0)
        (void)read_more();
    return pendings == 1;
}

static int key_of(int first, int final)
{
    static const struct {
        char final, first;
        int key;
    } known[] = {
        {'A', 0, TT_KEY_UP},        {'B', 0, TT_KEY_DOWN},        {'H', 0, TT_KEY_HOME},
        {'F', 0, TT_KEY_END},       {'~', '1', TT_KEY_HOME},      {'~', '4', TT_KEY_END},
        {'~', '5', TT_KEY_PAGE_UP}, {'~', '6', TT_KEY_PAGE_DOWN}, {'~', '7', TT_KEY_HOME},
        {'~', '8', TT_KEY_END},
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].final == final && (!known[i].first || known[i].first == first))
            return known[i].key;
    return TT_KEY_NONE;
}

/* The key of one escape sequence: ESC [ … final, or ESC O final. */
static int take_escape(void)
{
    size_t i = 2;
    int key;

    if (is_alone() || (pending[1] != '[' && pending[1] != 'O')) {
        drop(1);
        return TT_KEY_ESCAPE;
    }
    while (i < pendings && (pending[i] < 0x40 || pending[i] > 0x7e))
        i++;
    if (i == pendings) { /* incomplete: no key sends this */
        drop(pendings);
        return TT_KEY_NONE;
    }
    key = key_of(pending[2], pending[i]);
    drop(i + 1);
    return key;
}

static int take_key(void)
{
    int key = pending[0];

    if (key == '\033')
        return take_escape();
    drop(1);
    return key;
}

/* Waits for bytes; returns a key if something else ends the wait. */
static int wait_for_bytes(double seconds)
{
    struct timespec time = {(time_t)seconds,
                            (long)((seconds - (double)(time_t)seconds) * 1e9)};
    struct pollfd wait = {.fd = keys, .events = POLLIN};
    sigset_t mask, waited = waited_for();
    int n;

    (void)sigprocmask(SIG_BLOCK, &waited, &mask);
    sigdelset(&mask, SIGWINCH);
    sigdelset(&mask, SIGCONT);
    n = must_draw ? -1 : ppoll(&wait, 1, &time, &mask);
    if (n < 0) {
        int again = must_draw;
        must_draw = 0;
        return again ? TT_KEY_AGAIN : TT_KEY_NONE;
    }
    if (n == 0)
        return TT_KEY_NONE;
    return read_more() == 0 ? TT_KEY_NONE : TT_KEY_GONE;
}

int tt_screen_key(double seconds)
{
    int key = pendings ? TT_KEY_NONE : wait_for_bytes(seconds);

    while (key == TT_KEY_NONE && pendings)
        key = take_key();
    return key;
}
