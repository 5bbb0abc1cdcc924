/* SPDX-License-Identifier: MIT */
/* http-test.c - the server of the viewer: requests that take long, and others beside them. */
#include "http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tap.h"

enum { SLOW = TT_WORKERS }; /* more than the library has threads */

static sem_t begun, may_end;

static void reply(struct tt_reply *r, const char *text)
{
    r->type = "text/plain";
    r->body = strdup(text);
    r->size = strlen(text);
}

/* "slow" waits until it may end; "wanted" says whether its asker waits. */
static void answer(void *arg, const char *path, const char *query, struct tt_reply *r)
{
    (void)arg;
    (void)query;
    if (strcmp(path, "slow") == 0) {
        sem_post(&begun);
        sem_wait(&may_end);
        sem_post(&may_end);
    } else if (strcmp(path, "wanted") == 0) {
        sem_wait(&may_end);
    }
    /* The end of a connection is not seen at once. */
    for (int i = 0; r->is_browser && i < 600 && tt_http_is_wanted(r); i++)
        usleep(100000);
    reply(r, tt_http_is_wanted(r) ? "wanted" : "left");
}

static int is_quick(const char *path) { return strcmp(path, "quick") == 0; }

static int begin(struct tt_http *s)
{
    (void)alarm(600); /* rather than to wait for ever */
    *s = (struct tt_http){.token = "token", .answer = answer, .is_quick = is_quick};
    sem_init(&begun, 0, 0);
    sem_init(&may_end, 0, 0);
    if (tt_http_start(s) == 0)
        return 1;
    CHECK_INT(errno, ELIBACC);
    return 0;
}

/* Sends a request; the socket. */
static int ask(const struct tt_http *s, const char *path, const char *header)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(s->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char text[90000];

    (void)snprintf(text, sizeof text,
                   "GET /token/%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n%sConnection: "
                   "close\r\n\r\n",
                   path, s->port, header);
    if (connect(fd, (const struct sockaddr *)&to, sizeof to) != 0 ||
        send(fd, text, strlen(text), 0) != (ssize_t)strlen(text))
        perror("ask");
    return fd;
}

/* The last word of the answer. */
static const char *answer_of(int fd)
{
    static char text[4096];
    size_t n = 0;
    ssize_t more;
    char *end;

    while ((more = recv(fd, text + n, sizeof text - 1 - n, 0)) > 0)
        n += (size_t)more;
    close(fd);
    text[n] = '\0';
    end = strstr(text, "\r\n\r\n");
    return end ? end + 4 : text;
}

TEST(a_request_is_answered_while_others_take_long)
{
    struct tt_http s;
    int slow[SLOW];

    if (!begin(&s)) {
        SKIP("libmicrohttpd is not installed");
        return;
    }
    for (int i = 0; i < SLOW; i++)
        slow[i] = ask(&s, "slow", "");
    for (int i = 0; i < SLOW; i++)
        sem_wait(&begun);
    for (int i = 0; i < SLOW; i++) /* by whatever thread has the connection */
        CHECK_STR(answer_of(ask(&s, "quick", "")), "wanted");
    sem_post(&may_end);
    for (int i = 0; i < SLOW; i++)
        CHECK_STR(answer_of(slow[i]), "wanted");
    tt_http_stop(&s);
}

/* The answer to a query of many words. */
static const char *answer_to(const struct tt_http *s, int words)
{
    char path[80000] = "quick?";
    int length = (int)strlen(path);

    for (int i = 0; i < words; i++)
        length += snprintf(path + length, sizeof path - (size_t)length, "&fold=x%d", i);
    return answer_of(ask(s, path, ""));
}

TEST(a_query_of_many_words_is_answered_and_one_of_too_many_is_refused)
{
    struct tt_http s;

    if (!begin(&s)) {
        SKIP("libmicrohttpd is not installed");
        return;
    }
    CHECK_STR(answer_to(&s, 400), "wanted");
    CHECK_STR(answer_to(&s, 1500), "wanted");
    CHECK_STR(answer_to(&s, 3000), "wanted");
    CHECK_STR(answer_to(&s, 4000), "This address is too long.\n");
    tt_http_stop(&s);
}

static const char *half_closed(const char *header)
{
    struct tt_http s;
    const char *text;
    int fd;

    if (!begin(&s))
        return NULL;
    fd = ask(&s, "wanted", header);
    shutdown(fd, SHUT_WR);
    sem_post(&may_end);
    text = answer_of(fd);
    tt_http_stop(&s);
    return text;
}

TEST(a_program_may_close_the_half_on_which_it_sends_a_browser_leaves_then)
{
    const char *program = half_closed("");

    if (!program) {
        SKIP("libmicrohttpd is not installed");
        return;
    }
    CHECK_STR(program, "wanted");
    CHECK_STR(half_closed("Sec-Fetch-Mode: cors\r\n"), "left");
}

static void *let_end(void *arg)
{
    struct tt_http *s = arg;

    while (!tt_workers_are_ending(&s->workers))
        usleep(1000);
    sem_post(&may_end);
    return NULL;
}

TEST(a_server_ends_while_it_makes_a_reply)
{
    struct tt_http s;
    pthread_t thread;
    int fd;

    if (!begin(&s)) {
        SKIP("libmicrohttpd is not installed");
        return;
    }
    fd = ask(&s, "slow", "");
    sem_wait(&begun);
    pthread_create(&thread, NULL, let_end, &s);
    tt_http_stop(&s);
    pthread_join(thread, NULL);
    CHECK(s.daemon == NULL);
    close(fd);
}
