/* SPDX-License-Identifier: MIT */
/* page-test.c - what the viewer's server does for a page that does not wait any more. */
#include "page.h"

#include <sys/socket.h>
#include <unistd.h>

#include "by-hand.h"

static unsigned filters_kept(const struct tt_page *page)
{
    unsigned count = 0;

    for (int i = 0; i < TT_ANSWERS_KEPT; i++)
        count += page->answers.kept[i].key != NULL;
    return count;
}

/* The status of the answer to a query that came from a connection. */
static unsigned ask(struct tt_page *page, int connection, const char *query)
{
    struct tt_reply r = {.connection = connection};

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
    CHECK_INT(filters_kept(&page), 1);
    close(ends[1]);
    CHECK_INT(ask(&page, ends[0], "view=flat&exclude=main"), 500);
    CHECK_INT(filters_kept(&page), 1);
    CHECK_INT(ask(&page, ends[0], query), 200); /* that was done before */
    CHECK_INT(ask(&page, -1, "view=flat&exclude=main"), 200);
    CHECK_INT(filters_kept(&page), 2);
    CHECK_INT(ask(&page, -1, "view=flat&select=main"), 200);
    CHECK_INT(filters_kept(&page), TT_ANSWERS_KEPT);
    CHECK_INT(ask(&page, ends[0], "view=flat&select=gc"), 500);
    CHECK_INT(filters_kept(&page), TT_ANSWERS_KEPT); /* none had to go */
    CHECK_INT(ask(&page, ends[0], query), 200);
    close(ends[0]);
    tt_page_fini(&page);
    end(&m);
}
