/* SPDX-License-Identifier: MIT */
/* page-test.c - what the viewer's server does for a page that does not wait any more. */
#include "page.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "by-hand.h"

/* The status of the answer to a query that came from a connection. */
static unsigned ask(struct tt_page *page, int connection, const char *query)
{
    struct tt_reply r = {.connection = connection, .is_browser = 1};

    tt_page_answer(page, "query", query, &r);
    free(r.body);
    return r.status;
}

TEST(work_for_a_connection_that_is_gone_is_not_done)
{
    static const char query[] = "view=flat&exclude=gc";
    struct tt_page page = {0};
    struct made m;
    int ends[2];

    begin(&m);
    add(&m, "main", 1, 10);
    add(&m, "main;gc", 2, 30);
    if (!finish(&m) || !CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0))
        return;
    page.profile = &m.p;
    tt_page_init(&page);
    CHECK_INT(ask(&page, ends[0], query), 200);
    CHECK_INT(tt_answers_kept(&page.answers), 1);
    close(ends[1]);
    CHECK_INT(ask(&page, ends[0], "view=flat&exclude=main"), 500);
    CHECK_INT(tt_answers_kept(&page.answers), 1);
    CHECK_INT(ask(&page, ends[0], query),
              500); /* nor is a view of what was done before */
    CHECK_INT(ask(&page, -1, query), 200);
    CHECK_INT(ask(&page, -1, "view=flat&exclude=main"), 200);
    CHECK_INT(tt_answers_kept(&page.answers), 2);
    CHECK_INT(ask(&page, -1, "view=flat&select=main"), 200);
    CHECK_INT(tt_answers_kept(&page.answers), TT_ANSWERS_KEPT);
    CHECK_INT(ask(&page, ends[0], "view=flat&select=gc"), 500);
    CHECK_INT(tt_answers_kept(&page.answers), TT_ANSWERS_KEPT); /* none had to go */
    CHECK_INT(ask(&page, -1, query), 200);
    CHECK_INT(tt_answers_kept(&page.answers), TT_ANSWERS_KEPT);
    close(ends[0]);
    tt_page_fini(&page);
    end(&m);
}

/* ── While a filter works ─────────────────────────────────────────────────────────── */

static struct tt_page page;
static sem_t working, waits, may_go_on;
static atomic_int in_time, is_left;

/* Of the filter's request: it is asked this while it works, and waits until the others have their
 * answers, or for a minute. */
static int is_wanted(const struct tt_reply *r)
{
    struct timespec end;

    if (r->connection == 2)
        sem_post(&waits); /* for the filter of the first one */
    if (r->connection != 1)
        return 1;
    if (is_left)
        return 0;
    sem_post(&working);
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 60;
    while (sem_timedwait(&may_go_on, &end) != 0)
        if (errno != EINTR) {
            in_time = 0;
            return 0;
        }
    sem_post(&may_go_on);
    return !is_left;
}

static void *ask_filter(void *arg)
{
    *(unsigned *)arg = ask(&page, 1, "view=flat&exclude=gc");
    return NULL;
}

static void *ask_same(void *arg)
{
    *(unsigned *)arg = ask(&page, 2, "view=tree&exclude=gc");
    return NULL;
}

static int begin_page(struct made *m)
{
    begin(m);
    add(m, "main", 1, 10);
    add(m, "main;gc", 2, 30);
    if (!finish(m))
        return 0;
    page = (struct tt_page){.profile = &m->p, .live = 1};
    tt_page_init(&page);
    page.is_wanted = is_wanted;
    page.loaded = INT64_MIN / 2; /* so that it is to be read again */
    in_time = 1;
    is_left = 0;
    sem_init(&working, 0, 0);
    sem_init(&waits, 0, 0);
    sem_init(&may_go_on, 0, 0);
    return 1;
}

static void end_page(struct made *m)
{
    tt_page_fini(&page);
    end(m);
}

struct asking { /* the same filter, twice */
    unsigned filtered, same;
    pthread_t thread, other;
};

/* Returns when the first one works and the other one waits for it. */
static void begin_asking(struct asking *k)
{
    k->filtered = k->same = 0;
    pthread_create(&k->thread, NULL, ask_filter, &k->filtered);
    sem_wait(&working);
    pthread_create(&k->other, NULL, ask_same, &k->same);
    sem_wait(&waits);
}

static void end_asking(struct asking *k, unsigned filtered, unsigned kept)
{
    sem_post(&may_go_on);
    pthread_join(k->thread, NULL);
    pthread_join(k->other, NULL);
    CHECK_INT(in_time, 1);
    CHECK_INT(k->filtered, filtered);
    CHECK_INT(k->same, 200);
    CHECK_INT(tt_answers_kept(&page.answers), kept);
}

TEST(others_are_answered_while_a_filter_works)
{
    struct tt_reply state = {.connection = -1};
    struct asking k;
    struct made m;

    if (!begin_page(&m))
        return;
    begin_asking(&k);
    CHECK_INT(ask(&page, -1, "view=flat"), 200);
    CHECK_INT(ask(&page, -1, "view=flat&exclude=main"), 200);
    tt_page_answer(&page, "state", "",
                   &state); /* which does not read a profile that is used */
    CHECK_INT(state.status, 200);
    CHECK_INT(page.version, 1);
    free(state.body);
    end_asking(&k, 200, 2); /* the same is worked at once */
    end_page(&m);
}

TEST(a_filter_that_is_left_is_made_for_others)
{
    struct asking k;
    struct made m;

    if (!begin_page(&m))
        return;
    begin_asking(&k);
    is_left = 1;
    end_asking(&k, 500, 1);
    end_page(&m);
}

/* ── Queries that overlap ─────────────────────────────────────────────────────────── */

static int read_newer(void *arg, struct tt_profile **profile, int *live,
                      enum tt_page_end *end)
{
    (void)arg, (void)profile, (void)live, (void)end;
    return 0;
}

static void *ask_after(void *arg)
{
    *(unsigned *)arg = ask(&page, 2, "view=flat");
    return NULL;
}

TEST(a_live_profile_is_read_between_queries_that_overlap)
{
    struct tt_reply state = {.connection = -1};
    unsigned first = 0, second = 0;
    pthread_t one, other;
    struct made m;

    if (!begin_page(&m))
        return;
    page.reload = read_newer;
    page.hold = INT64_MAX / 4; /* until the first one ends, however busy the machine is */
    pthread_create(&one, NULL, ask_filter, &first);
    sem_wait(&working);
    tt_page_answer(&page, "state", "", &state); /* it is to be read, and cannot be */
    free(state.body);
    CHECK_INT(page.version, 1);
    pthread_create(&other, NULL, ask_after, &second);
    sem_wait(&waits); /* it begins before the first one has ended, and waits */
    sem_post(&may_go_on);
    pthread_join(one, NULL);
    pthread_join(other, NULL);
    CHECK_INT(first, 200);
    CHECK_INT(second, 200);
    CHECK_INT(page.version, 2);
    CHECK_INT(page.is_due, 0);
    end_page(&m);
}

TEST(a_query_that_takes_long_holds_others_up_for_a_moment_only)
{
    struct tt_reply state = {.connection = -1};
    unsigned first = 0;
    pthread_t one;
    struct made m;

    if (!begin_page(&m))
        return;
    page.reload = read_newer;
    pthread_create(&one, NULL, ask_filter, &first);
    sem_wait(&working);
    tt_page_answer(&page, "state", "", &state);
    free(state.body);
    CHECK_INT(page.is_due, 1);
    CHECK_INT(ask(&page, -1, "view=flat"), 200); /* and the first one works still */
    CHECK_INT(page.version, 1);
    sem_post(&may_go_on);
    pthread_join(one, NULL);
    CHECK_INT(first, 200);
    CHECK_INT(ask(&page, -1, "view=flat"), 200);
    CHECK_INT(page.version, 2); /* the next one finds a newer one */
    end_page(&m);
}
