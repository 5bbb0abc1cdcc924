/* SPDX-License-Identifier: MIT */
/* answer.c - answers a query with JSON. */
#include "answer.h"

#include <string.h>

#include "assertion.h"
#include "bursts.h"
#include "diff.h"
#include "filter.h"
#include "table-json.h"
#include "table-print.h"
#include "view-bursts.h"
#include "view.h"

void tt_answers_init(struct tt_answers *a, struct tt_profile *p,
                     struct tt_profile *before, const struct tt_memory *memory)
{
    memset(a, 0, sizeof *a);
    a->profile = p;
    a->before = before;
    a->memory = memory;
}

/* ── Turns ────────────────────────────────────────────────────────────────────────── */

static void lock(struct tt_answers *a)
{
    if (a->turns)
        a->turns->lock(a->turns->arg);
}

static void unlock(struct tt_answers *a)
{
    if (a->turns)
        a->turns->unlock(a->turns->arg);
}

/* Others wait only if there are others. */
static void wait(struct tt_answers *a)
{
    TT_ASSERT(a->turns);
    a->turns->wait(a->turns->arg);
}

static void wake(struct tt_answers *a)
{
    if (a->turns)
        a->turns->wake(a->turns->arg);
}

static int is_wanted(const struct tt_asked *asked)
{
    return !asked->is_wanted || asked->is_wanted(asked->asker);
}

/* 0, or -TT_ERR_STATE: it is not wanted any more. */
static int take(struct tt_answers *a, enum tt_answers_shared what,
                const struct tt_asked *asked)
{
    int error = 0;

    lock(a);
    while (a->used[what] && !error) {
        wait(a);
        error = is_wanted(asked) ? 0 : -TT_ERR_STATE;
    }
    if (!error)
        a->used[what] = 1;
    unlock(a);
    return error;
}

static void give(struct tt_answers *a, enum tt_answers_shared what)
{
    lock(a);
    a->used[what] = 0;
    wake(a);
    unlock(a);
}

/* ── Filtered profiles ────────────────────────────────────────────────────────────── */

enum state { WORKING, READY, FAILED };

struct tt_kept {
    struct tt_kept *next;
    struct tt_filtered filtered;
    enum state state;
    unsigned users; /* answers that use it, or wait for it */
    uint64_t used;  /* when, by `clock` */
    char key[];     /* the filters, as text */
};

static void forget(struct tt_answers *a, struct tt_kept *k)
{
    struct tt_kept **at = &a->kept;

    while (*at && *at != k)
        at = &(*at)->next;
    if (*at)
        *at = k->next;
    if (k->state == READY)
        tt_filter_close(&k->filtered, a->memory);
    tt_memory_put(a->memory, k);
}

void tt_answers_fini(struct tt_answers *a)
{
    while (a->kept) {
        TT_ASSERT(!a->kept->users);
        forget(a, a->kept);
    }
    tt_bursts_free(a->bursts);
    a->bursts = NULL;
}

/* Everything that filters depend on, as text. */
static void put_key(struct tt_text *key, const struct tt_query *q, int before)
{
    const struct tt_filter *f = q->filter.item;

    tt_text_printf(key, "%d\t%d\n", before, tt_filter_group(q));
    for (size_t i = 0; i < q->filter.count; i++) {
        const char *metric = f[i].metric ? f[i].metric : q->metric ? q->metric : "";
        tt_text_printf(key, "%d\t%s\t%s\t%g\n", (int)f[i].kind, f[i].pattern, metric,
                       f[i].share);
    }
}

static struct tt_kept *find(struct tt_answers *a, const char *key)
{
    struct tt_kept *k = a->kept;

    while (k && (k->state == FAILED || strcmp(k->key, key) != 0))
        k = k->next;
    return k;
}

/* Forgets the one that has not been used for longest.  0: all are in use. */
static int forget_oldest(struct tt_answers *a)
{
    struct tt_kept *oldest = NULL;

    for (struct tt_kept *k = a->kept; k; k = k->next)
        if (!k->users && (!oldest || k->used < oldest->used))
            oldest = k;
    if (oldest)
        forget(a, oldest);
    return oldest != NULL;
}

static unsigned count(const struct tt_answers *a, enum state state)
{
    unsigned n = 0;

    for (const struct tt_kept *k = a->kept; k; k = k->next)
        n += k->state == state;
    return n;
}

/* Those in use stay. */
static void forget_more(struct tt_answers *a)
{
    while (count(a, READY) > TT_ANSWERS_KEPT && forget_oldest(a))
        ;
}

unsigned tt_answers_kept(struct tt_answers *a)
{
    unsigned n;

    lock(a);
    n = count(a, READY);
    unlock(a);
    return n;
}

static void leave(struct tt_answers *a, struct tt_kept *k)
{
    TT_ASSERT(k->users);
    if (--k->users == 0 && k->state == FAILED)
        forget(a, k);
    wake(a);
}

/* A question, and what it uses. */
struct question {
    const struct tt_asked *asked;
    struct tt_query q;
    const struct tt_profile *p, *before; /* before: NULL, or what p is compared with */
    struct tt_diff_options options;
    struct tt_kept *kept[2];
    unsigned uses;
};

static void release(struct tt_answers *a, struct question *k)
{
    lock(a);
    while (k->uses)
        leave(a, k->kept[--k->uses]);
    forget_more(a);
    unlock(a);
}

struct work { /* at a filter, for its asker and for others that wait for the same */
    struct tt_answers *a;
    const struct tt_kept *kept;
    const struct tt_asked *asked;
};

static int is_work_wanted(void *arg)
{
    const struct work *w = arg;
    int others;

    if (is_wanted(w->asked))
        return 1;
    lock(w->a);
    others = w->kept->users > 1;
    unlock(w->a);
    return others;
}

static int filter_for(struct tt_answers *a, struct question *k, struct tt_kept *kept,
                      const struct tt_profile *whole)
{
    struct work w = {a, kept, k->asked};
    int error, has_room;

    k->q.is_wanted = is_work_wanted;
    k->q.asker = &w;
    error = tt_filter_apply(whole, &k->q, &kept->filtered);
    lock(a);
    has_room = error == -TT_ERR_MEMORY && forget_oldest(a);
    unlock(a);
    if (has_room)
        error = tt_filter_apply(whole, &k->q, &kept->filtered);
    k->q.is_wanted = k->asked->is_wanted;
    k->q.asker = k->asked->asker;
    lock(a);
    kept->state = error ? FAILED : READY;
    forget_more(a);
    wake(a);
    unlock(a);
    return error;
}

/* A new one, which is worked at.  NULL: there is enough work already. */
static struct tt_kept *begin(struct tt_answers *a, const struct tt_text *key, int *error)
{
    struct tt_kept *kept;

    if (count(a, WORKING) >= TT_ANSWERS_WORKED)
        return NULL;
    kept = tt_memory_get(a->memory, sizeof *kept + key->bytes.count + 1);
    if (!kept) {
        *error = -TT_ERR_MEMORY;
        return NULL;
    }
    memcpy(kept->key, key->bytes.item, key->bytes.count);
    kept->next = a->kept;
    a->kept = kept;
    return kept;
}

/* Waits while another thread works at a filter.  What fails for that one is tried again. */
static int await(struct tt_answers *a, const struct question *k, struct tt_kept *kept)
{
    while (kept->state == WORKING && is_wanted(k->asked))
        wait(a);
    return kept->state == READY;
}

/* Finds the filtered profile of a key, or begins it.  The lock is held. */
static struct tt_kept *use(struct tt_answers *a, const struct question *k,
                           struct tt_text *key, int *is_new, int *error)
{
    struct tt_kept *kept;

    *is_new = 0;
    while (!*error) {
        kept = find(a, tt_text_string(key));
        if (!kept) {
            kept = begin(a, key, error);
            *is_new = kept != NULL;
        }
        if (kept) {
            kept->users++;
            if (*is_new || await(a, k, kept))
                return kept;
            leave(a, kept);
        } else if (!*error) {
            wait(a);
        }
        if (!*error && !is_wanted(k->asked))
            *error = -TT_ERR_STATE;
    }
    return NULL;
}

/* Finds the filtered profile, computed or kept; it is used until `release`. */
static int filter(struct tt_answers *a, struct question *k, struct tt_profile *whole,
                  const struct tt_profile **p)
{
    struct tt_kept *kept;
    struct tt_text key;
    int error = 0, is_new;

    *p = whole;
    if (!k->q.filter.count && tt_filter_group(&k->q) < 0)
        return 0;
    tt_text_init(&key, a->memory);
    put_key(&key, &k->q, whole == a->before);
    if (key.failed)
        error = -TT_ERR_MEMORY;
    lock(a);
    kept = use(a, k, &key, &is_new, &error);
    if (kept) {
        kept->used = ++a->clock;
        k->kept[k->uses++] = kept;
    }
    unlock(a);
    tt_text_fini(&key);
    if (!error && is_new)
        error = filter_for(a, k, kept, whole);
    if (!error)
        *p = kept->filtered.profile;
    return error;
}

/* ── Answers ──────────────────────────────────────────────────────────────────────── */

static uint32_t entries_of(const struct tt_table *t)
{
    uint32_t entries = 0;

    for (size_t i = 0; i < tt_table_rows(t); i++)
        entries += tt_table_row_at(t, i)->role == TT_ROW_ENTRY;
    return entries;
}

static int make_table(struct question *k, struct tt_table *t)
{
    if (k->before)
        return tt_diff(k->before, k->p, &k->q, &k->options, t);
    return tt_view(k->p, &k->q, t);
}

static int write_table(struct question *k, size_t most, struct tt_text *out)
{
    size_t before = out->bytes.count;
    struct tt_table table;
    uint32_t entries = 0;
    int error;

    for (;;) {
        size_t size;
        error = tt_query_ask(&k->q);
        if (error)
            return error;
        error = make_table(k, &table);
        if (!error) {
            entries = entries_of(&table);
            tt_text_json(out, &table, k->p);
        }
        tt_table_fini(&table);
        if (error || out->failed)
            return error ?: -TT_ERR_MEMORY;
        size = out->bytes.count - before;
        if (!most || size <= most || k->q.limit == 1)
            return 0;
        /* Fewer rows, by the ratio of the sizes, less a margin; at least halved after the
         * first time. */
        entries = (uint32_t)((double)entries * 0.9 * (double)most / (double)size);
        if (k->q.limit && k->q.limit != TT_NONE && entries >= k->q.limit / 2)
            entries = k->q.limit / 2;
        k->q.limit = entries + !entries;
        out->bytes.count = before;
    }
}

static int is_word(const char **query, const char *word)
{
    size_t length = strlen(word);

    if (strncmp(*query, word, length) != 0 ||
        ((*query)[length] && (*query)[length] != '&'))
        return 0;
    *query += length + ((*query)[length] == '&');
    return 1;
}

static int check(struct tt_answers *a, const struct question *k, struct tt_profile *p)
{
    int error = take(a, TT_SHARED_CHECK, k->asked);

    if (error)
        return error;
    error = tt_profile_check(p);
    give(a, TT_SHARED_CHECK);
    return error;
}

/* 1: there is more to do. */
static int find_bursts(struct tt_answers *a, const struct question *k)
{
    const struct tt_query *q = &k->q;
    int error = a->bursts ? 0 : check(a, k, a->profile);

    if (!error && !a->bursts) {
        a->bursts = tt_view_bursts_begin(a->profile, q);
        error = a->bursts ? 0 : -TT_ERR_MEMORY;
    }
    return error ?: tt_bursts_work(a->bursts);
}

static int answer_part(struct tt_answers *a, struct question *k, size_t most,
                       struct tt_text *out)
{
    int more = tt_query_set(&k->q, "view", "bursts");

    if (!more && a->profile->samples)
        more = find_bursts(a, k);
    if (more > 0) {
        tt_text_put(out, "{\"tallytree\":1,\"more\":true}\n");
        return 0;
    }
    k->q.bursts = a->bursts;
    k->p = a->profile;
    return more ? more : write_table(k, most, out);
}

/* What the profile is compared with: the rest of its run, or the one before it. */
static int find_before(struct tt_answers *a, struct question *k)
{
    int error;

    if (k->options.rest) {
        error = tt_query_turn(&k->q);
        return error ?: filter(a, k, a->profile, &k->before);
    }
    if (!a->before)
        return tt_query_wrong(&k->q,
                              "nothing to compare with: give it by '--before FILE'");
    error = check(a, k, a->before);
    return error ?: filter(a, k, a->before, &k->before);
}

/* Views of code share what reads it. */
static int write_view(struct tt_answers *a, struct question *k, size_t most,
                      struct tt_text *out)
{
    const char *view = k->q.view;
    int is_code = a->listing &&
                  (strcmp(view, "assembly") == 0 || strcmp(view, "source") == 0),
        error = is_code ? take(a, TT_SHARED_LISTING, k->asked) : 0;

    if (error)
        return error;
    error = write_table(k, most, out);
    if (is_code)
        give(a, TT_SHARED_LISTING);
    return error;
}

static int answer(struct tt_answers *a, struct question *k, struct tt_text *out)
{
    const char *query = k->asked->query;
    size_t most = k->asked->most;
    int all = is_word(&query, "all"), diff = is_word(&query, "diff"), more = diff, error;

    if (all)
        most = 0;
    if (strcmp(query, "part") == 0) {
        error = take(a, TT_SHARED_BURSTS, k->asked);
        if (error)
            return error;
        error = answer_part(a, k, most, out);
        give(a, TT_SHARED_BURSTS);
        return error;
    }
    while (more) {
        more = 0;
        if (is_word(&query, "normalise"))
            more = k->options.normalise = 1;
        if (is_word(&query, "rest"))
            more = k->options.rest = 1;
    }
    error = tt_query_parse(&k->q, query);
    k->q.listing = a->listing;
    if (!error && (diff || !tt_query_is_bounded(&k->q, a->profile)))
        error = check(a, k, a->profile);
    error = error ?: filter(a, k, a->profile, &k->p);
    if (!error && diff)
        error = find_before(a, k);
    return error ?: write_view(a, k, most, out);
}

static const char *reason_of(const struct tt_answers *a, const struct tt_query *q,
                             int error)
{
    if (error == -TT_ERR_OPTION)
        return q->error;
    if (error == -TT_ERR_STATE)
        return "the request was cancelled";
    if (error != -TT_ERR_FORMAT)
        return "no memory";
    return *a->profile->error || !a->before ? a->profile->error : a->before->error;
}

int tt_answer(struct tt_answers *a, const struct tt_asked *asked, struct tt_text *out)
{
    size_t before = out->bytes.count;
    struct question k = {.asked = asked};
    int error;

    tt_query_init(&k.q, a->memory);
    k.q.is_wanted = asked->is_wanted;
    k.q.asker = asked->asker;
    error = answer(a, &k, out);
    if (error) {
        out->bytes.count = before;
        out->failed = 0;
        tt_text_put(out, "{\"tallytree\":1,\"error\":");
        tt_text_json_string(out, reason_of(a, &k.q, error));
        tt_text_put(out, "}\n");
    }
    release(a, &k);
    tt_query_fini(&k.q);
    return error;
}
