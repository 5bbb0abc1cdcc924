/* SPDX-License-Identifier: MIT */
/* page.c - the server's side of the viewer's page.
 *
 *      TOKEN/           the page and its parts
 *      TOKEN/query?…    a view, as JSON
 *      TOKEN/source?…   lines of a source that the profile names
 *      TOKEN/state      is it live, and the current version */
#include "page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "asset.h"
#include "connections.h"
#include "hex.h"
#include "table-json.h"
#include "table-print.h"

enum {
    SOURCE_MOST = 512 << 10, /* bytes of a source in one reply */
    LINE_MOST = 4096,        /* of one line of it */
    OFTEN = 500000000,       /* ns: a live profile is read no more often than this, */
    SHARE = 4,               /* and no more than one part in so many of the time */
    MOMENT = 20000000,       /* ns between two looks whether an answer is still wanted */
    HOLD = 100000000,        /* ns that queries wait at first, for a newer profile, */
    HOLD_MOST = 2000000000,  /* and at most */
    TRIES = 40               /* readings that fail until it is lost: files are moved */
};

static int64_t now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void lock(void *arg) { pthread_mutex_lock(&((struct tt_page *)arg)->lock); }

static void unlock(void *arg) { pthread_mutex_unlock(&((struct tt_page *)arg)->lock); }

static void wake(void *arg) { pthread_cond_broadcast(&((struct tt_page *)arg)->change); }

/* Waits for a moment at most: then the caller looks whether its answer is still wanted. */
static void wait_for_change(void *arg)
{
    struct tt_page *s = arg;
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_nsec += MOMENT;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&s->change, &s->lock, &t);
}

static void begin_answers(struct tt_page *s)
{
    tt_answers_init(&s->answers, s->profile, s->before, s->memory);
    s->answers.listing = s->listing;
    s->answers.turns = &s->turns;
}

void tt_page_init(struct tt_page *s)
{
    pthread_condattr_t monotonic;

    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&s->change, &monotonic);
    pthread_condattr_destroy(&monotonic);
    s->is_wanted = tt_http_is_wanted;
    s->turns = (struct tt_turns){lock, unlock, wait_for_change, wake, s};
    begin_answers(s);
    s->version = 1;
    s->loaded = now();
    s->cost = 0;
    s->hold = HOLD;
}

void tt_page_fini(struct tt_page *s)
{
    tt_answers_fini(&s->answers);
    pthread_cond_destroy(&s->change);
    pthread_mutex_destroy(&s->lock);
}

/* ── Replies ──────────────────────────────────────────────────────────────────────── */

/* The reply gets ownership of the text. */
static void reply_json(struct tt_reply *r, unsigned status, struct tt_text *t)
{
    r->status = t->failed ? 500 : status;
    r->type = "application/json";
    r->size = t->failed ? 0 : t->bytes.count;
    r->body = malloc(r->size + 1);
    if (r->body && r->size)
        memcpy(r->body, t->bytes.item, r->size);
    if (!r->body)
        r->size = 0;
    tt_text_fini(t);
}

static void reply_error(struct tt_reply *r, unsigned status, const char *reason)
{
    struct tt_text t;

    tt_text_init(&t, NULL);
    tt_text_put(&t, "{\"tallytree\":1,\"error\":");
    tt_text_json_string(&t, reason);
    tt_text_put(&t, "}\n");
    reply_json(r, status, &t);
}

/* ── The page ─────────────────────────────────────────────────────────────────────── */

static int reply_asset(struct tt_reply *r, const char *path)
{
    const char *name = *path ? path : "index.html";
    const struct tt_asset *a = tt_assets;

    while (a->name && strcmp(a->name, name) != 0)
        a++;
    if (a->name)
        *r = (struct tt_reply){.status = 200,
                               .type = a->type,
                               .body = (char *)(uintptr_t)a->bytes,
                               .size = a->size,
                               .fixed = 1,
                               .gzipped = 1};
    return a->name != NULL;
}

/* ── A live profile ───────────────────────────────────────────────────────────────── */

/* While queries are answered, the profile is not replaced.  Queries that overlap would keep
 * it for ever, so new ones wait: for twice as long each time that it was not enough, and for
 * as long in between they do not. */
static void hold_queries(struct tt_page *s, int64_t t)
{
    if (s->is_due && t - s->open < s->hold)
        return;
    if (s->is_due)
        s->hold = s->hold < HOLD_MOST / 2 ? 2 * s->hold : HOLD_MOST;
    s->is_due = 1;
    s->open = t + s->hold;
}

static void read_again(struct tt_page *s, int64_t begin)
{
    int error;

    tt_answers_fini(&s->answers);
    error = s->reload(s->arg, &s->profile, &s->live, &s->end);
    if (error >= 0) {
        s->version += error == 0;
        s->failed = 0;
    } else if (++s->failed == TRIES) {
        s->live = 0;
        s->end = TT_PAGE_LOST;
    }
    begin_answers(s);
    s->loaded = now();
    s->cost = s->loaded - begin;
    s->is_due = 0;
    s->hold = HOLD;
}

static void refresh(struct tt_page *s)
{
    const int64_t t = now(), rest = s->cost * SHARE > OFTEN ? s->cost * SHARE : OFTEN;

    if (!s->live || t - s->loaded < rest)
        return;
    if (s->users)
        hold_queries(s, t);
    else
        read_again(s, t);
}

static int is_replaced(const struct tt_page *s)
{
    return !s->live && s->is_replaced && s->is_replaced(s->arg);
}

/* A page that is loaded again shows what is there now.  Pages that are open learn of it by the
 * version. */
static void renew(struct tt_page *s)
{
    pthread_mutex_lock(&s->lock);
    if (!s->users && is_replaced(s))
        read_again(s, now());
    pthread_mutex_unlock(&s->lock);
}

/* Before a query uses the profile. */
static void wait_for_newer(struct tt_page *s, const struct tt_reply *r)
{
    while (s->is_due && s->users && now() < s->open && s->is_wanted(r))
        wait_for_change(s);
    if (s->is_due && !s->users && s->is_wanted(r))
        refresh(s);
}

/* ── Views ────────────────────────────────────────────────────────────────────────── */

struct asker {
    const struct tt_page *page;
    const struct tt_reply *reply;
};

/* A page that is left, or a search that is typed on, ends its connection. */
static int is_wanted(void *arg)
{
    const struct asker *a = arg;

    return a->page->is_wanted(a->reply);
}

/* Without the lock: others are answered meanwhile. */
static void reply_query(struct tt_page *s, const char *query, struct tt_reply *r)
{
    struct asker asker = {s, r};
    struct tt_asked asked = {query, TT_REPLY_MOST, is_wanted, &asker};
    struct tt_text t;
    int error;

    pthread_mutex_lock(&s->lock);
    wait_for_newer(s, r);
    s->users++;
    pthread_mutex_unlock(&s->lock);
    tt_text_init(&t, NULL);
    error = tt_answer(&s->answers, &asked, &t);
    pthread_mutex_lock(&s->lock);
    if (--s->users == 0 && s->is_due)
        wake(s);
    pthread_mutex_unlock(&s->lock);
    reply_json(r, !error ? 200 : error == -TT_ERR_OPTION ? 400 : 500, &t);
}

static void reply_state(struct tt_page *s, struct tt_reply *r)
{
    static const char *const ends[] = {"", "ended", "lost"};
    struct tt_text t;

    refresh(s);
    tt_text_init(&t, NULL);
    tt_text_printf(&t,
                   "{\"tallytree\":1,\"live\":%s,\"end\":\"%s\",\"before\":%s,"
                   "\"replaced\":%s,\"version\":%llu}\n",
                   s->live ? "true" : "false", ends[s->end], s->before ? "true" : "false",
                   is_replaced(s) ? "true" : "false", (unsigned long long)s->version);
    reply_json(r, 200, &t);
}

/* ── Sources ──────────────────────────────────────────────────────────────────────── */

/* Returns the value of `key` in a query, with %XX decoded; malloc'ed, NULL: it is
 * missing. */
static char *value_of(const char *query, const char *key)
{
    size_t length = strlen(key), n = 0;
    char *value;

    while (strncmp(query, key, length) != 0 || query[length] != '=') {
        query = strchr(query, '&');
        if (!query++)
            return NULL;
    }
    query += length + 1;
    value = malloc(strlen(query) + 1);
    for (; value && *query && *query != '&'; query++) {
        const int c = tt_hex_character(query);
        value[n++] = (char)(c >= 0 ? c : *query == '+' ? ' ' : *query);
        query += c >= 0 ? 2 : 0;
    }
    if (value)
        value[n] = '\0';
    return value;
}

static int is_string(const struct tt_profile *p, uint32_t string, uint32_t *last,
                     const char *file)
{
    if (string == *last)
        return 0;
    *last = string;
    return strcmp(tt_profile_string(p, string), file) == 0;
}

/* Only files that the profile names are opened: those of its functions, and those with
 * the lines of its addresses. */
static int is_named(const struct tt_profile *p, const char *file)
{
    uint32_t last = UINT32_MAX;

    for (uint32_t b = 0; b < p->blocks; b++)
        if (is_string(p, p->block[b].file, &last, file))
            return 1;
    for (uint32_t i = 0; i < p->place_frames; i++)
        if (is_string(p, p->place_frame[i].file, &last, file))
            return 1;
    return 0;
}

/* The next line of a text, without its end, which is at most `most` characters long and
 * gets a NUL.  NULL: there are no more. */
static char *next_line(char **at, size_t most)
{
    char *line = *at, *end;

    if (!*line)
        return NULL;
    end = strchrnul(line, '\n');
    *at = *end ? end + 1 : end;
    line[(size_t)(end - line) < most ? (size_t)(end - line) : most] = '\0';
    return line;
}

static void put_lines(char *text, unsigned long first, const char *file,
                      struct tt_text *t)
{
    unsigned long number = 0, count = 0;
    char *line;

    tt_text_put(t, "{\"tallytree\":1,\"file\":");
    tt_text_json_string(t, file);
    tt_text_printf(t, ",\"first\":%lu,\"lines\":[", first);
    while (t->bytes.count <= SOURCE_MOST &&
           (line = next_line(&text, LINE_MOST)) != NULL) {
        if (++number < first)
            continue;
        tt_text_put(t, count++ ? ",\n" : "\n");
        tt_text_json_string(t, line);
    }
    tt_text_printf(t, "],\"more\":%s}\n", *text ? "true" : "false");
}

static void reply_file(struct tt_page *s, const char *file, unsigned long first,
                       struct tt_reply *r)
{
    const char *reason;
    size_t size;
    char *text = s->source(s->arg, file, &size, &reason);
    struct tt_text t;

    if (!text) {
        reply_error(r, 404, reason);
        return;
    }
    tt_text_init(&t, NULL);
    put_lines(text, first, file, &t);
    reply_json(r, 200, &t);
    free(text);
}

static void reply_source(struct tt_page *s, const char *query, struct tt_reply *r)
{
    char *file = value_of(query, "file"), *first = value_of(query, "first");
    unsigned long line = first ? strtoul(first, NULL, 10) : 1;

    if (!file || !*file || !is_named(s->profile, file))
        reply_error(r, 404, "the profile names no such source");
    else
        reply_file(s, file, line ? line : 1, r);
    free(file);
    free(first);
}

/* ── What is where ────────────────────────────────────────────────────────────────── */

int tt_page_is_quick(const char *path)
{
    return strcmp(path, "query") != 0 && strcmp(path, "source") != 0;
}

void tt_page_answer(void *page, const char *path, const char *query, struct tt_reply *r)
{
    struct tt_page *s = page;

    if (!*path)
        renew(s);
    if (reply_asset(r, path))
        return;
    if (strcmp(path, "query") == 0) {
        reply_query(s, query, r);
        return;
    }
    pthread_mutex_lock(&s->lock);
    if (strcmp(path, "state") == 0)
        reply_state(s, r);
    else if (strcmp(path, "source") == 0)
        reply_source(s, query, r);
    else
        reply_error(r, 404, "there is nothing here");
    pthread_mutex_unlock(&s->lock);
}
