/* SPDX-License-Identifier: MIT */
/* query.c - parses queries: "view=flat&select=parse&prune=0.5%".
 *
 * Each key is looked up in one table, whether it comes from a flag, a URL or a page.
 * pprof's keys are other names for ours, with a regular expression for a pattern.  Values
 * are checked here as far as possible without a profile: errors are reported before one
 * is opened. */
#include "query.h"

#include "groups.h"
#include "hex.h"
#include "pattern.h"
#include "range.h"
#include "views.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NEAR_SIZE = 40, TEXT_SIZE = 1 << 16 };

int tt_query_ask(const struct tt_query *q)
{
    return !q->is_wanted || q->is_wanted(q->asker) ? 0 : -TT_ERR_STATE;
}

int tt_query_wrong(struct tt_query *q, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(q->error, sizeof q->error, format, list);
    va_end(list);
    return -TT_ERR_OPTION;
}

/* ── Suggestions ──────────────────────────────────────────────────────────────────── */

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* Returns how many letters to insert, drop, change or swap with their neighbour to make
 * one word of the other; neither is longer than NEAR_SIZE. */
static size_t word_distance(const char *a, const char *b)
{
    size_t row[3][NEAR_SIZE + 1], n = strlen(b);
    size_t *before = row[0], *last = row[1], *now = row[2];

    for (size_t j = 0; j <= n; j++)
        last[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t *oldest = before;
        now[0] = i;
        for (size_t j = 1; j <= n; j++) {
            now[j] = least(least(last[j], now[j - 1]) + 1,
                           last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
        before = last;
        last = now;
        now = oldest;
    }
    return last[n];
}

const char *tt_query_suggest(const char *word, const char *const *known, size_t count)
{
    size_t length = strlen(word), best = length / 3 + 1;
    const char *nearest = NULL;

    if (length == 0 || length > NEAR_SIZE)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        size_t distance, long_one = strlen(known[i]);
        if (long_one > NEAR_SIZE)
            continue;
        /* The beginning of a word is near to it. */
        distance = length >= 3 && strncmp(known[i], word, length) == 0
                       ? 0
                       : word_distance(word, known[i]);
        /* A word without a common letter is not near. */
        if (distance < best + !nearest && distance < long_one && distance < length) {
            best = distance;
            nearest = known[i];
        }
    }
    return nearest;
}

int tt_query_is_bounded(const struct tt_query *q, const struct tt_profile *p)
{
    const char *view = q->view;

    if (q->filter.count || tt_query_other(q, "by"))
        return 0;
    if (strcmp(view, "flame") == 0 || strcmp(view, "tree") == 0 ||
        strcmp(view, "header") == 0)
        return 1;
    return !p->many_times &&
           (strcmp(view, "flat") == 0 || (strcmp(view, "graph") == 0 && p->edges));
}

int tt_query_unknown_metric(struct tt_query *q, const struct tt_profile *p,
                            const char *name)
{
    const char *known[32], *near;
    size_t count = 0, at;

    if (!p->metrics || !name)
        return tt_query_wrong(q, "this profile has no figures%s",
                              p->many_series ? ", but series over time: report series"
                                             : "");
    for (; count < p->metrics && count < sizeof known / sizeof *known; count++)
        known[count] = p->metric[count].name;
    near = tt_query_suggest(name, known, count);
    if (near)
        return tt_query_wrong(q, "there is no metric '%.40s'; did you mean '%.40s'?",
                              name, near);
    (void)tt_query_wrong(q, "there is no metric '%.40s'; there are:", name);
    for (size_t i = 0; i < count; i++) {
        at = strlen(q->error);
        (void)snprintf(q->error + at, sizeof q->error - at, "%s %s", i ? "," : "",
                       known[i]);
    }
    return -TT_ERR_OPTION;
}

/* ── Values ───────────────────────────────────────────────────────────────────────── */

/* A copy that the query owns; NULL: no memory. */
static const char *keep(struct tt_query *q, const char *text, size_t length)
{
    char **slot = tt_vector_add(&q->text, 1);

    if (!slot)
        return NULL;
    *slot = tt_memory_get(q->memory, length + 1);
    if (!*slot) {
        q->text.count--;
        return NULL;
    }
    memcpy(*slot, text, length); /* the rest is zeroed */
    return *slot;
}

static int no_memory(struct tt_query *q)
{
    (void)tt_query_wrong(q, "no memory");
    return -TT_ERR_MEMORY;
}

static int keep_text(struct tt_query *q, const char *text, const char **out)
{
    const char *copy = keep(q, text, strlen(text));

    if (!copy)
        return no_memory(q);
    *out = copy;
    return 0;
}

/* Reads a decimal number: `whole` / 10^`digits`.  Returns its end; NULL: there is none,
 * or it is too large. */
static const char *read_decimal(const char *p, uint64_t *whole, int *digits)
{
    int point = 0, some = 0;

    *whole = 0;
    *digits = 0;
    for (; (*p >= '0' && *p <= '9') || (*p == '.' && !point); p++) {
        if (*p == '.') {
            point = 1;
            continue;
        }
        if (*whole > (UINT64_MAX - 9) / 10 || *digits == 18)
            return NULL;
        *whole = *whole * 10 + (uint64_t)(*p - '0');
        *digits += point;
        some = 1;
    }
    return some ? p : NULL;
}

static uint64_t power_of_ten(int n)
{
    uint64_t power = 1;

    while (n--)
        power *= 10;
    return power;
}

/* "0.5%" */
static int read_percent(const char *text, double *share)
{
    uint64_t whole;
    int digits;
    const char *end = read_decimal(text, &whole, &digits);

    if (!end || strcmp(end, "%") != 0)
        return -TT_ERR_OPTION;
    *share = (double)whole / (double)power_of_ten(digits) / 100;
    return *share <= 1 ? 0 : -TT_ERR_OPTION;
}

/* "0.5%" or "0.005" */
static int read_share(const char *text, double *share)
{
    uint64_t whole;
    int digits;
    const char *end = read_decimal(text, &whole, &digits);

    if (!end || *end)
        return read_percent(text, share);
    *share = (double)whole / (double)power_of_ten(digits);
    return *share <= 1 ? 0 : -TT_ERR_OPTION;
}

static const struct unit {
    const char *name, *base;
    uint64_t many;
} units[] = {
    {"ns", "ns", 1},
    {"us", "ns", 1000},
    {"\302\265s", "ns", 1000}, /* µs, in both ways to write it */
    {"\316\274s", "ns", 1000},
    {"ms", "ns", 1000000},
    {"s", "ns", 1000000000},
    {"min", "ns", 60000000000},
    {"h", "ns", 3600000000000},
    {"B", "bytes", 1},
    {"kB", "bytes", 1000},
    {"MB", "bytes", 1000000},
    {"GB", "bytes", 1000000000},
    {"K", "bytes", 1 << 10},
    {"KiB", "bytes", 1 << 10},
    {"M", "bytes", 1 << 20},
    {"MiB", "bytes", 1 << 20},
    {"G", "bytes", 1 << 30},
    {"GiB", "bytes", 1 << 30},
};

/* Reads "1000", "10ms", "1.5M".  A fraction is rounded up: the same whole numbers are
 * below it. */
static int read_amount(const char *text, uint64_t *amount, const char **unit)
{
    uint64_t whole, many = 1, power;
    int digits;
    const char *end = read_decimal(text, &whole, &digits);

    *unit = NULL;
    if (!end)
        return -TT_ERR_OPTION;
    for (size_t i = 0; *end && i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].name) == 0) {
            *unit = units[i].base;
            many = units[i].many;
        }
    if ((*end && !*unit) || (!*end && digits) ||
        __builtin_mul_overflow(whole, many, &whole))
        return -TT_ERR_OPTION;
    power = power_of_ten(digits);
    *amount = whole / power + (whole % power != 0);
    return 0;
}

static int read_count(const char *text, uint32_t *count)
{
    uint64_t n;
    int digits;
    const char *end = read_decimal(text, &n, &digits);

    if (!end || *end || strchr(text, '.') || n >= TT_NONE)
        return -TT_ERR_OPTION;
    *count = (uint32_t)n;
    return 0;
}

/* ── Keys ─────────────────────────────────────────────────────────────────────────── */

typedef int key_reader(struct tt_query *, const char *key, const char *value,
                       uint32_t argument);

static int read_view(struct tt_query *q, const char *key, const char *value,
                     uint32_t unused)
{
    const char *names[TT_VIEWS_MAX], *near;
    size_t count = 0;

    (void)key;
    (void)unused;
    for (const struct tt_named_view *v = tt_views; v->name; v++) {
        if (strcmp(v->name, value) == 0) {
            q->view = v->name;
            return 0;
        }
        names[count++] = v->name;
    }
    near = tt_query_suggest(value, names, count);
    if (near)
        return tt_query_wrong(q, "there is no view '%.40s'; did you mean '%s'?", value,
                              near);
    return tt_query_wrong(q, "there is no view '%.40s'", value);
}

/* Which of the query's texts a key sets. */
enum text_key { KEY_METRIC, KEY_SORT };

static int read_text(struct tt_query *q, const char *key, const char *value,
                     uint32_t which)
{
    if (!*value)
        return tt_query_wrong(q, "'%s' wants a name", key);
    return keep_text(q, value, which == KEY_METRIC ? &q->metric : &q->sort);
}

static int read_limit(struct tt_query *q, const char *key, const char *value,
                      uint32_t unused)
{
    (void)unused;
    if (strcmp(value, "all") == 0)
        q->limit = 0;
    else if (read_count(value, &q->limit) != 0)
        return tt_query_wrong(q, "'%s' wants a number of rows or 'all', not '%.40s'", key,
                              value);
    return 0;
}

static int read_depth(struct tt_query *q, const char *key, const char *value,
                      uint32_t unused)
{
    (void)unused;
    if (strcmp(value, "all") == 0)
        q->depth = 0;
    else if (read_count(value, &q->depth) != 0)
        return tt_query_wrong(q, "'%s' wants a number of levels or 'all', not '%.40s'",
                              key, value);
    return 0;
}

static int read_threshold(struct tt_query *q, const char *key, const char *value,
                          uint32_t unused)
{
    double share;

    (void)unused;
    if (read_share(value, &share) != 0)
        return tt_query_wrong(q, "'%s' wants a share such as 0.5%% or 0.005, not '%.40s'",
                              key, value);
    q->threshold = share;
    return 0;
}

/* Is it valid as a pattern? */
static int check_pattern(struct tt_query *q, const char *key, const char *text)
{
    char error[sizeof q->error - 24];
    struct tt_pattern *p;

    if (!*text)
        return tt_query_wrong(q, "'%s' wants a pattern", key);
    p = tt_pattern_new(text, error, sizeof error);
    if (!p)
        return tt_query_wrong(q, "%.20s: %s", key, error);
    tt_pattern_free(p);
    return 0;
}

static int read_block(struct tt_query *q, const char *key, const char *value,
                      uint32_t unused)
{
    int error = check_pattern(q, key, value);

    (void)unused;
    return error ?: keep_text(q, value, &q->block);
}

/* ── Filters ──────────────────────────────────────────────────────────────────────── */

static int add_filter(struct tt_query *q, const struct tt_filter *f, const char *pattern)
{
    struct tt_filter added = *f;

    added.pattern = keep(q, pattern, strlen(pattern));
    return !added.pattern || tt_vector_push(&q->filter, &added) != 0 ? no_memory(q) : 0;
}

static int read_filter(struct tt_query *q, const char *key, const char *value,
                       uint32_t kind)
{
    const struct tt_filter f = {.kind = (enum tt_filter_kind)kind};
    int error = check_pattern(q, key, value);

    return error ?: add_filter(q, &f, value);
}

static int read_time(struct tt_query *q, const char *key, const char *value,
                     uint32_t unused)
{
    const struct tt_filter f = {.kind = TT_FILTER_TIME};

    (void)unused;
    if (!tt_range_is_right(value))
        return tt_query_wrong(q,
                              "'%s' wants FROM..TO, such as 2s..1m30s, -10s.., 80%%.., "
                              "14:03:10..14:03:20 or not:2s..3s, not '%.30s'",
                              key, value);
    return add_filter(q, &f, value);
}

static struct tt_filter *find_time(struct tt_query *q)
{
    struct tt_filter *f = q->filter.item, *found = NULL;

    for (size_t i = 0; i < q->filter.count; i++)
        if (f[i].kind == TT_FILTER_TIME) {
            if (found)
                return NULL;
            found = &f[i];
        }
    return found;
}

int tt_query_turn(struct tt_query *q)
{
    const size_t length = strlen(TT_RANGE_NOT);
    struct tt_filter *f = find_time(q);
    char text[256];
    const char *kept;

    if (!f)
        return tt_query_wrong(q,
                              "a comparison with the rest of the run wants one range of "
                              "time: time=FROM..TO");
    if (strncmp(f->pattern, TT_RANGE_NOT, length) == 0) {
        f->pattern += length;
        return 0;
    }
    if (strlen(f->pattern) >= sizeof text - length)
        return tt_query_wrong(q, "time: the range is too long");
    (void)snprintf(text, sizeof text, TT_RANGE_NOT "%s", f->pattern);
    kept = keep(q, text, strlen(text));
    f->pattern = kept ? kept : f->pattern;
    return kept ? 0 : no_memory(q);
}

/* pprof's patterns are regular expressions, also for files. */
static int read_regex(struct tt_query *q, const char *key, const char *value,
                      uint32_t kind)
{
    char text[1100];
    int length;

    if (!*value)
        return tt_query_wrong(q, "'%s' wants a regular expression", key);
    length = snprintf(text, sizeof text, "/%s/f", value);
    if (length < 0 || (size_t)length >= sizeof text)
        return tt_query_wrong(q, "%s: the regular expression is too long", key);
    return read_filter(q, key, text, kind);
}

/* Reads a share or an amount, which a metric may precede: "0.5%", "10ms",
 * "calls<1000". */
static int read_size(struct tt_query *q, const char *text, struct tt_filter *f)
{
    const char *size = strchr(text, '<');

    f->share = 0;
    f->amount = 0;
    size = size ? size + 1 : text;
    if (read_percent(size, &f->share) != 0 &&
        read_amount(size, &f->amount, &f->unit) != 0)
        return -TT_ERR_OPTION;
    if (size > text && !(f->metric = keep(q, text, (size_t)(size - text - 1))))
        return no_memory(q);
    if (f->unit && !f->metric && strcmp(f->unit, "ns") == 0)
        f->metric = "time";
    return 0;
}

static int read_prune(struct tt_query *q, const char *key, const char *value,
                      uint32_t unused)
{
    struct tt_filter f = {.kind = TT_FILTER_PRUNE};
    int error = *value == '<' ? -TT_ERR_OPTION : read_size(q, value, &f);
    uint64_t whole;
    int digits;
    const char *end = read_decimal(value, &whole, &digits);

    (void)unused;
    if (error == -TT_ERR_MEMORY)
        return error;
    if (!error) /* nothing is smaller than nothing */
        return f.share > 0 || f.amount ? add_filter(q, &f, value) : 0;
    if (end && (!*end || strcmp(end, "%") == 0))
        return tt_query_wrong(
            q,
            "'%s' wants a share such as 0.5%%, an amount such as 1000 or 10ms, "
            "or a pattern, not '%.30s'",
            key, value);
    return read_filter(q, key, value, TT_FILTER_PRUNE);
}

static int read_fraction(struct tt_query *q, const char *key, const char *value,
                         uint32_t unused)
{
    struct tt_filter f = {.kind = TT_FILTER_PRUNE};

    (void)unused;
    if (read_share(value, &f.share) != 0)
        return tt_query_wrong(q, "'%s' wants a share such as 0.005, not '%.40s'", key,
                              value);
    return f.share > 0 ? add_filter(q, &f, value) : 0;
}

/* ── The table ────────────────────────────────────────────────────────────────────── */

static const struct query_key {
    const char *name;
    key_reader *read;
    uint32_t argument;
} query_keys[] = {
    {"view", read_view, 0},
    {"metric", read_text, KEY_METRIC},
    {"sort", read_text, KEY_SORT},
    {"limit", read_limit, 0},
    {"depth", read_depth, 0},
    {"threshold", read_threshold, 0},
    {"block", read_block, 0},
    {"strand", read_filter, TT_FILTER_STRAND},
    {"time", read_time, 0},
    {"select", read_filter, TT_FILTER_SELECT},
    {"exclude", read_filter, TT_FILTER_EXCLUDE},
    {"fold", read_filter, TT_FILTER_FOLD},
    {"centre", read_filter, TT_FILTER_CENTRE},
    {"prune", read_prune, 0},
    {"root", read_filter, TT_FILTER_ROOT},
    {"collapse", read_filter, TT_FILTER_COLLAPSE},
    {"focus", read_regex, TT_FILTER_SELECT},
    {"ignore", read_regex, TT_FILTER_EXCLUDE},
    {"hide", read_regex, TT_FILTER_FOLD},
    {"show_from", read_regex, TT_FILTER_ROOT},
    {"nodefraction", read_fraction, 0},
    {"nodecount", read_limit, 0},
    {"sample_index", read_text, KEY_METRIC},
};

enum { KEYS = sizeof query_keys / sizeof *query_keys, WORDS = 2 * KEYS };

/* Does any view, or the one of that name, know the key? */
static int view_knows(const char *view, const char *key)
{
    for (const struct tt_named_view *v = tt_views; v->name; v++)
        if ((!view || strcmp(v->name, view) == 0) && tt_view_key_named(v, key))
            return 1;
    return 0;
}

static int unknown_key(struct tt_query *q, const char *key)
{
    const char *names[WORDS], *near;
    size_t count = 0;

    for (size_t i = 0; i < KEYS; i++)
        names[count++] = query_keys[i].name;
    for (const struct tt_named_view *v = tt_views; v->name; v++)
        for (const struct tt_view_key *k = v->key; k->name && count < WORDS; k++)
            names[count++] = k->name;
    near = tt_query_suggest(key, names, count);
    if (near)
        return tt_query_wrong(q, "there is no key '%.40s'; did you mean '%s'?", key,
                              near);
    return tt_query_wrong(q, "there is no key '%.40s'", key);
}

static int set_other(struct tt_query *q, const char *key, const char *value)
{
    struct tt_setting *s = tt_vector_add(&q->other, 1);

    if (!s)
        return no_memory(q);
    s->key = keep(q, key, strlen(key));
    s->value = s->key ? keep(q, value, strlen(value)) : NULL;
    if (s->value)
        return 0;
    q->other.count--;
    return no_memory(q);
}

int tt_query_set(struct tt_query *q, const char *key, const char *value)
{
    q->error[0] = '\0';
    if (strlen(value) > TEXT_SIZE)
        return tt_query_wrong(q, "%.40s: the value is too long", key);
    for (size_t i = 0; i < KEYS; i++)
        if (strcmp(query_keys[i].name, key) == 0)
            return query_keys[i].read(q, key, value, query_keys[i].argument);
    return view_knows(NULL, key) ? set_other(q, key, value) : unknown_key(q, key);
}

/* All views have these keys. */
static int is_group(const struct tt_setting *s)
{
    return strcmp(s->key, "by") == 0 && tt_group_find(s->value) >= 0;
}

int tt_query_check(struct tt_query *q)
{
    const struct tt_setting *s = q->other.item;

    for (size_t i = 0; i < q->other.count; i++)
        if (!view_knows(q->view, s[i].key) && !is_group(&s[i]))
            return tt_query_wrong(q, "the view '%s' has no '%s'", q->view, s[i].key);
    return 0;
}

const char *tt_query_other(const struct tt_query *q, const char *key)
{
    const struct tt_setting *s = q->other.item;

    for (size_t i = q->other.count; i--;)
        if (strcmp(s[i].key, key) == 0)
            return s[i].value;
    return NULL;
}

/* ── The text of a query ──────────────────────────────────────────────────────────── */

/* Decodes %XX and + in place, up to `end`, and puts a NUL after it.  The last % may be
 * literal, as in "prune=0.5%". */
static int decode(struct tt_query *q, char *p, char *end)
{
    char *to = p;

    for (; p < end; p++) {
        int c;
        if (*p != '%' || p + 1 == end) {
            *to++ = (char)(*p == '+' ? ' ' : *p);
            continue;
        }
        c = end - p > 2 ? tt_hex_character(p) : 0;
        if (c <= 0)
            return tt_query_wrong(q, "'%.*s' is no character; %% is written %%25",
                                  end - p < 3 ? (int)(end - p) : 3, p);
        *to++ = (char)c;
        p += 2;
    }
    *to = '\0';
    return 0;
}

/* One "key=value" of the text, ended by a NUL or '&'. */
static int parse_piece(struct tt_query *q, char *piece, char *end)
{
    char *value = memchr(piece, '=', (size_t)(end - piece));
    int error;

    if (!value)
        value = end;
    error = value < end ? decode(q, value + 1, end) : 0;
    error = error ?: decode(q, piece, value);
    return error ? error : tt_query_set(q, piece, value < end ? value + 1 : "");
}

int tt_query_parse(struct tt_query *q, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy;
    int error = 0;

    q->error[0] = '\0';
    if (size > 16 * TEXT_SIZE)
        return tt_query_wrong(q, "the query is too long");
    copy = tt_memory_get(q->memory, size);
    if (!copy)
        return no_memory(q);
    memcpy(copy, text, size);
    for (char *p = copy; !error && *p;) {
        char *end = p + strcspn(p, "&");
        int more = *end == '&';
        if (end > p)
            error = parse_piece(q, p, end);
        p = end + more;
    }
    tt_memory_put(q->memory, copy);
    return error ?: tt_query_check(q);
}

void tt_query_init(struct tt_query *q, const struct tt_memory *memory)
{
    *q = (struct tt_query){
        .view = "flat", .limit = TT_NONE, .threshold = -1, .memory = memory};
    tt_vector_init(&q->filter, memory, sizeof(struct tt_filter));
    tt_vector_init(&q->other, memory, sizeof(struct tt_setting));
    tt_vector_init(&q->text, memory, sizeof(char *));
}

void tt_query_fini(struct tt_query *q)
{
    char **text = q->text.item;

    for (size_t i = 0; i < q->text.count; i++)
        tt_memory_put(q->memory, text[i]);
    tt_vector_fini(&q->filter);
    tt_vector_fini(&q->other);
    tt_vector_fini(&q->text);
}
