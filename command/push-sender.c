/* SPDX-License-Identifier: MIT */
/* push-sender.c - sends what waits in a queue.
 *
 * A server that is busy or gives no answer is tried again after a pause: what it asks for by
 * Retry-After, or a time that doubles from a quarter of a second to half a minute, and is
 * shortened at random by up to a half, so that a fleet does not return at the same moment.
 * A file of the queue is a line with the query, and the body. */
#include "push-sender.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "complain.h"
#include "tallytree.h"

/* ms */
enum { FIRST_PAUSE = 250, LONGEST_PAUSE = 30000 };
#define MS 1000000u

static uint64_t now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void wait_until(uint64_t when)
{
    const struct timespec t = {(time_t)(when / 1000000000u), (long)(when % 1000000000u)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
        continue;
}

/* ── The address ──────────────────────────────────────────────────────────────────── */

static int wrong_address(const char *flag, const char *url, const char *what)
{
    tt_complain("%s: %s %s; an address is http://HOST:PORT or https://HOST", flag,
                strchr(url, '@') ? "the address" : url, what);
    return -TT_ERR_OPTION;
}

int tt_sender_check(const char *flag, const char *url)
{
    const char *host = strstr(url, "://");
    size_t end;

    if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        return wrong_address(flag, url, "begins otherwise");
    host += 3;
    end = strcspn(host, "/?#");
    if (!end)
        return wrong_address(flag, url, "has no host");
    if (memchr(host, '@', end))
        return wrong_address(flag, url,
                             "has a password, which other users see among the arguments: "
                             "put it in the file of '--headers'");
    if (strpbrk(host, "?# \t\r\n"))
        return wrong_address(flag, url, "has more than a path");
    return 0;
}

/* An address without a path has the usual one. */
static int set_address(struct tt_sender *s)
{
    const char *url = s->command_url, *host = strstr(url, "://");
    size_t length, end;
    char flag[40];
    int error;

    (void)snprintf(flag, sizeof flag, "push: '--%s'", s->way->name);
    error = tt_sender_check(flag, url);
    if (error)
        return error;
    host += 3;
    end = strcspn(host, "/");
    length = strlen(url);
    while (length > (size_t)(host - url) + end && url[length - 1] == '/')
        length--;
    if ((size_t)snprintf(s->url, sizeof s->url, "%.*s%s", (int)length, url,
                         url + length == host + end ? s->way->path : "") >= sizeof s->url)
        return wrong_address(flag, url, "is too long");
    return 0;
}

int tt_sender_open(struct tt_sender *s, const char *folder, uint64_t most,
                   const struct tt_post_options *o)
{
    int error;

    s->queue.lock = -1;
    s->pause = FIRST_PAUSE;
    tt_vector_init(&s->failed, NULL, sizeof(struct tt_queued));
    error = set_address(s);
    if (error)
        return error;
    s->poster = tt_poster_new("push", o);
    if (!s->poster)
        return -TT_ERR_STATE;
    error = tt_queue_open(&s->queue, folder, s->way->name, s->url, most);
    if (error)
        tt_sender_close(s);
    return error;
}

void tt_sender_close(struct tt_sender *s)
{
    tt_queue_close(&s->queue);
    tt_vector_fini(&s->failed);
    tt_poster_free(s->poster);
    s->poster = NULL;
}

/* ── The queue ────────────────────────────────────────────────────────────────────── */

/* Drops the oldest ones. */
static void drop_for(struct tt_sender *s, const struct tt_vector *list, uint64_t size)
{
    const struct tt_queued *one = list->item;

    for (size_t i = 0; i < list->count && s->queue.size + size > s->queue.most; i++) {
        tt_queue_drop(&s->queue, &one[i]);
        s->dropped++;
    }
}

static int make_room(struct tt_sender *s, uint64_t size)
{
    struct tt_vector list;
    int error;

    if (s->queue.size + size <= s->queue.most)
        return 0;
    tt_vector_init(&list, NULL, sizeof(struct tt_queued));
    error = tt_sender_send(s, !s->follows);
    error = error ?: tt_queue_list(&s->queue, &list);
    if (!error)
        drop_for(s, &list, size);
    tt_vector_fini(&list);
    return error;
}

int tt_sender_add(struct tt_sender *s, const char *name, const char *query,
                  const void *body, size_t size, int again)
{
    const size_t line = strlen(query) + 1;
    char *bytes;
    int error;

    if (tt_queue_waits(&s->queue, name))
        return 1;
    if (!again && tt_queue_was_sent(&s->queue, name))
        return 0;
    if (line + size > s->queue.most) {
        tt_complain(
            "push: a profile of %zu bytes is larger than the queue: give a larger "
            "'--queue-size'",
            size);
        return -TT_ERR_OPTION;
    }
    error = make_room(s, line + size);
    if (error)
        return error;
    bytes = malloc(line + size);
    if (!bytes) {
        tt_complain("no memory");
        return -TT_ERR_MEMORY;
    }
    memcpy(bytes, query, line);
    bytes[line - 1] = '\n';
    memcpy(bytes + line, body, size);
    error = tt_queue_add(&s->queue, name, bytes, line + size);
    free(bytes);
    return error ?: 1;
}

size_t tt_sender_waiting(struct tt_sender *s)
{
    struct tt_vector list;
    size_t count;

    tt_vector_init(&list, NULL, sizeof(struct tt_queued));
    (void)tt_queue_list(&s->queue, &list);
    count = list.count;
    tt_vector_fini(&list);
    return count;
}

/* ── Sending ──────────────────────────────────────────────────────────────────────── */

void tt_sender_end_in(struct tt_sender *s, uint64_t ms)
{
    s->end = now() + ms * MS;
    if (!s->reason[0])
        (void)snprintf(s->reason, sizeof s->reason, "the time to send them is over");
}

int tt_sender_has_ended(const struct tt_sender *s) { return s->end && now() >= s->end; }

/* ms until the end. */
static uint64_t time_left(const struct tt_sender *s)
{
    const uint64_t t = now();

    if (!s->end)
        return UINT64_MAX;
    return t < s->end ? (s->end - t) / MS + 1 : 1;
}

static enum tt_posted post_one(struct tt_sender *s, const char *bytes, size_t size,
                               struct tt_answer *a)
{
    const char *end = memchr(bytes, '\n', size);
    char url[2 * sizeof s->url];

    *a = (struct tt_answer){.reason = "its file in the queue is damaged"};
    if (!end ||
        (size_t)snprintf(url, sizeof url, "%s%s%.*s", s->url, end == bytes ? "" : "?",
                         (int)(end - bytes), bytes) >= sizeof url)
        return TT_POST_REFUSED;
    end++;
    return tt_post(s->poster, url, s->way->header, end, size - (size_t)(end - bytes),
                   time_left(s), a);
}

/* The server has it: notes that, and what it says. */
static void note_success(struct tt_sender *s, const struct tt_queued *one,
                         const struct tt_answer *a)
{
    char reason[400];

    tt_queue_sent(&s->queue, one);
    s->pause = FIRST_PAUSE;
    if (s->way->complains && s->way->complains(a, reason, sizeof reason)) {
        s->refused++;
        tt_complain("push: %s: %s", s->url, reason);
    } else {
        s->sent++;
    }
}

/* Sets the time of the next attempt. */
static void note_failure(struct tt_sender *s, const struct tt_answer *a)
{
    uint64_t pause = s->pause;
    uint32_t number = 0;

    if (pause == FIRST_PAUSE) /* patience begins with the first failure */
        s->deadline = now() + s->patience * MS;
    (void)getrandom(&number, sizeof number, 0);
    pause -= pause / 2 * (number >> 8) / (1 << 24);
    if (a->after)
        pause = a->after < 1u << 30 ? a->after * 1000 : UINT32_MAX;
    s->next = now() + pause * MS;
    s->pause = s->pause * 2 < LONGEST_PAUSE ? s->pause * 2 : LONGEST_PAUSE;
}

/* One that follows has the signals blocked that end it, and looks at them between requests. */
static int is_asked_to_end(const struct tt_sender *s)
{
    sigset_t came;

    return s->follows && sigpending(&came) == 0 &&
           (sigismember(&came, SIGINT) == 1 || sigismember(&came, SIGTERM) == 1 ||
            sigismember(&came, SIGHUP) == 1);
}

/* May the next attempt be waited for? */
static int waits(struct tt_sender *s, int patient)
{
    if (tt_sender_has_ended(s) || is_asked_to_end(s))
        return 0;
    if (now() >= s->next)
        return 1;
    if (!patient || s->next > (s->end ? s->end : s->deadline))
        return 0;
    wait_until(s->next);
    return 1;
}

static void note_failed(struct tt_sender *s, const struct tt_queued *one)
{
    (void)tt_vector_push(&s->failed, one);
}

static int has_failed(const struct tt_sender *s, const struct tt_queued *one)
{
    const struct tt_queued *failed = s->failed.item;

    for (size_t i = 0; i < s->failed.count; i++)
        if (strcmp(failed[i].name, one->name) == 0)
            return 1;
    return 0;
}

void tt_sender_renew(struct tt_sender *s)
{
    s->is_over = 0;
    s->failed.count = 0;
}

/* Sends one of the queue; 0: it and what follows it wait. */
static int send_one(struct tt_sender *s, const struct tt_queued *one, const char *bytes,
                    size_t size, int patient)
{
    struct tt_answer a;

    while (!s->is_over && waits(s, patient)) {
        enum tt_posted posted = post_one(s, bytes, size, &a);
        if (posted == TT_POSTED) {
            note_success(s, one, &a);
            return 1;
        }
        (void)snprintf(s->reason, sizeof s->reason, "%s", a.reason);
        if (posted == TT_POST_REFUSED) {
            tt_complain("push: %s: a profile was refused: %s", s->url, a.reason);
            tt_queue_drop(&s->queue, one);
            s->refused++;
            return 1;
        }
        if (posted == TT_POST_FAILED) {
            note_failed(s, one);
            return 1;
        }
        s->is_over = posted == TT_POST_NOT_AT_ALL;
        note_failure(s, &a);
    }
    return 0;
}

int tt_sender_send(struct tt_sender *s, int patient)
{
    const struct tt_queued *one;
    struct tt_vector list;
    char *bytes;
    size_t size;
    int error, goes_on = 1;

    if (s->is_over || (!patient && now() < s->next))
        return 0;
    tt_vector_init(&list, NULL, sizeof *one);
    error = tt_queue_list(&s->queue, &list);
    one = list.item;
    for (size_t i = 0; !error && goes_on && i < list.count; i++) {
        if (has_failed(s, &one[i]))
            continue;
        if (s->is_over || !waits(s, patient))
            break;
        if (tt_queue_read(&s->queue, &one[i], &bytes, &size) == 0)
            goes_on = send_one(s, &one[i], bytes, size, patient);
        else
            note_failed(s, &one[i]);
        free(bytes);
    }
    tt_vector_fini(&list);
    return error;
}
