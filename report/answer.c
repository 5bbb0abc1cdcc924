/* SPDX-License-Identifier: MIT */
/* answer.c - answers a query with JSON. */
#include "answer.h"

#include <string.h>

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

static void forget(struct tt_answers *a, struct tt_kept *k)
{
    if (!k->key)
        return;
    tt_filter_close(&k->filtered, a->memory);
    tt_memory_put(a->memory, k->key);
    memset(k, 0, sizeof *k);
}

void tt_answers_fini(struct tt_answers *a)
{
    for (int i = 0; i < TT_ANSWERS_KEPT; i++)
        forget(a, &a->kept[i]);
    tt_bursts_free(a->bursts);
    a->bursts = NULL;
}

/* ── Filters ──────────────────────────────────────────────────────────────────────── */

/* Everything that filters depend on, as text. */
static void put_key(struct tt_text *key, const struct tt_query *q, int before)
{
    const struct tt_filter *f = q->filter.item;

    tt_text_put(key, before ? "before\n" : "");
    for (size_t i = 0; i < q->filter.count; i++) {
        const char *metric = f[i].metric ? f[i].metric : q->metric ? q->metric : "";
        tt_text_printf(key, "%d\t%s\t%s\t%g\n", (int)f[i].kind, f[i].pattern, metric,
                       f[i].share);
    }
}

/* The kept profile of a key, or the one that has not been used for longest. */
static struct tt_kept *find(struct tt_answers *a, const char *key)
{
    struct tt_kept *oldest = &a->kept[0];

    for (int i = 0; i < TT_ANSWERS_KEPT; i++) {
        struct tt_kept *k = &a->kept[i];
        if (k->key && strcmp(k->key, key) == 0)
            return k;
        if (k->used < oldest->used)
            oldest = k;
    }
    return oldest;
}

/* Returns the filtered profile, computed or kept. */
static int filter(struct tt_answers *a, struct tt_query *q, struct tt_profile *whole,
                  const struct tt_profile **p)
{
    struct tt_filtered filtered;
    struct tt_text key;
    struct tt_kept *k;
    int error = -TT_ERR_MEMORY;

    *p = whole;
    if (!q->filter.count)
        return 0;
    tt_text_init(&key, a->memory);
    put_key(&key, q, whole == a->before);
    k = find(a, tt_text_string(&key));
    if (!k->key || strcmp(k->key, tt_text_string(&key)) != 0) {
        size_t size = key.bytes.count + 1;
        char *copy = key.failed ? NULL : tt_memory_get(a->memory, size);
        if (!copy)
            goto fail_key;
        error = tt_filter_apply(whole, q, &filtered);
        if (error == -TT_ERR_MEMORY && k->key) { /* there is some in the oldest */
            forget(a, k);
            error = tt_filter_apply(whole, q, &filtered);
        }
        if (error) {
            tt_memory_put(a->memory, copy);
            goto fail_key;
        }
        forget(a, k);
        k->filtered = filtered;
        if (filtered.profile == &filtered.own)
            k->filtered.profile = &k->filtered.own;
        memcpy(copy, tt_text_string(&key), size);
        k->key = copy;
        k->key_size = size;
    }
    k->used = ++a->clock;
    *p = k->filtered.profile;
    error = 0;
fail_key:
    tt_text_fini(&key);
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

/* Parses the query, and finds its profile. */
struct question {
    struct tt_query q;
    const struct tt_profile *p, *before; /* before: NULL, or what p is compared with */
    struct tt_diff_options options;
};

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
        error = make_table(k, &table);
        if (!error) {
            entries = entries_of(&table);
            tt_text_json(out, &table, k->p);
        }
        tt_table_fini(&table);
        if (error || out->failed)
            return error ? error : -TT_ERR_MEMORY;
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

/* Other queries are answered between the parts.  1: there is more to do. */
static int find_bursts(struct tt_answers *a, const struct tt_query *q)
{
    int error = a->bursts ? 0 : tt_profile_check(a->profile);

    if (!error && !a->bursts) {
        a->bursts = tt_view_bursts_begin(a->profile, q);
        error = a->bursts ? 0 : -TT_ERR_MEMORY;
    }
    return error ? error : tt_bursts_work(a->bursts);
}

static int answer_part(struct tt_answers *a, struct question *k, size_t most,
                       struct tt_text *out)
{
    int more = tt_query_set(&k->q, "view", "bursts");

    if (!more && a->profile->samples)
        more = find_bursts(a, &k->q);
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
        return error ? error : filter(a, &k->q, a->profile, &k->before);
    }
    if (!a->before)
        return tt_query_wrong(&k->q,
                              "nothing to compare with: give it by '--before FILE'");
    error = tt_profile_check(a->before);
    return error ? error : filter(a, &k->q, a->before, &k->before);
}

static int answer(struct tt_answers *a, struct question *k, const char *query,
                  size_t most, struct tt_text *out)
{
    int all = is_word(&query, "all"), diff = is_word(&query, "diff"), more = diff, error;

    if (all)
        most = 0;
    if (strcmp(query, "part") == 0)
        return answer_part(a, k, most, out);
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
        error = tt_profile_check(a->profile);
    if (!error)
        error = filter(a, &k->q, a->profile, &k->p);
    if (!error && diff)
        error = find_before(a, k);
    return error ? error : write_table(k, most, out);
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

int tt_answer(struct tt_answers *a, const char *query, size_t most, struct tt_text *out)
{
    size_t before = out->bytes.count;
    struct question k = {0};
    int error;

    tt_query_init(&k.q, a->memory);
    k.q.is_wanted = a->is_wanted;
    k.q.asker = a->asker;
    error = answer(a, &k, query, most, out);
    if (error) {
        out->bytes.count = before;
        out->failed = 0;
        tt_text_put(out, "{\"tallytree\":1,\"error\":");
        tt_text_json_string(out, reason_of(a, &k.q, error));
        tt_text_put(out, "}\n");
    }
    tt_query_fini(&k.q);
    return error;
}
