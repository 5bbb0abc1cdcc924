/* SPDX-License-Identifier: MIT */
/* options.c - the words of tt_start.
 *
 * Words are separated by commas or blanks; leading dashes are allowed, so that what works
 * on the command line works here.  Each word is looked up in one table. */
#include "options.h"

#include <stdlib.h>
#include <string.h>

typedef int option_reader(struct tt_options *, const char *value, uint32_t argument);

/* ── Values ───────────────────────────────────────────────────────────────────────── */

static int read_number(const char *text, uint64_t low, uint64_t high, uint64_t *out)
{
    char *end;

    *out = 0;
    if (text[0] < '0' || text[0] > '9')
        return -TT_ERR_OPTION;
    *out = strtoull(text, &end, 10);
    return *end || *out < low || *out > high ? -TT_ERR_OPTION : 0;
}

static int read_count(const char *text, uint64_t low, uint64_t high, uint32_t *out)
{
    uint64_t n;
    int error = read_number(text, low, high, &n);

    *out = error ? 0 : (uint32_t)n;
    return error;
}

/* Rounds up to a power of two, so that the fast path needs no division. */
static int read_every(struct tt_options *o, const char *value)
{
    uint32_t n, power = 1;

    if (read_count(value, 2, 1u << 30, &n))
        return -TT_ERR_OPTION;
    while (power < n)
        power *= 2;
    o->every = power;
    return 0;
}

static int is_word(const char *word, const char *text, size_t length)
{
    return strlen(word) == length && memcmp(word, text, length) == 0;
}

/* "exact", "calls", "sampled", "sampled=1000", "every=64". */
static int read_mode(struct tt_options *o, const char *word, uint32_t *mode)
{
    size_t length = strcspn(word, "=:");
    const char *value = word[length] ? word + length + 1 : "";

    for (uint32_t i = 0; i < TT_MODES; i++) {
        if (!is_word(tt_mode_word(i), word, length))
            continue;
        if (word[length] && !*value)
            return -TT_ERR_OPTION;
        *mode = i;
        if (i == TT_MODE_EVERY)
            return read_every(o, *value ? value : "64");
        if (i == TT_MODE_SAMPLED && *value)
            return read_count(value, 1, 100000, &o->hz);
        return *value ? -TT_ERR_OPTION : 0;
    }
    return -TT_ERR_OPTION;
}

/* "65536", "64K", "64MiB": from `low` to 16 GiB; *end is where the digits end. */
static int read_size(const char *text, uint64_t low, uint64_t *out)
{
    static const char units[] = "KMG";
    char *end;
    unsigned long long n = strtoull(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;

    if (text[0] < '0' || text[0] > '9' || n > 16ull << 30 ||
        (*end && (!unit || (end[1] && strcmp(end + 1, "iB") != 0))))
        return -TT_ERR_OPTION;
    *out = unit ? (uint64_t)n << (10 * (unit - units + 1)) : n;
    return *out < low || *out > 16ull << 30 ? -TT_ERR_OPTION : 0;
}

int tt_options_budget(struct tt_options *o, const char *value)
{
    const size_t digits = strspn(value, "0123456789");

    if (digits && strcmp(value + digits, "nodes") == 0) {
        o->budget_nodes = strtoull(value, NULL, 10);
        return o->budget_nodes < 64 || o->budget_nodes > 1ull << 28 ? -TT_ERR_OPTION : 0;
    }
    return read_size(value, 128 * 1024, &o->budget);
}

int tt_options_log(struct tt_options *o, const char *value)
{
    o->log = 0;
    return strcmp(value, "none") == 0 ? 0 : read_size(value, 16 * 1024, &o->log);
}

int tt_options_recursion(struct tt_options *o, const char *value)
{
    size_t length = strcspn(value, ":");
    uint32_t i = 0;

    while (i < TT_RECURSIONS && !is_word(tt_recursion_word(i), value, length))
        i++;
    if (i == TT_RECURSIONS)
        return -TT_ERR_OPTION;
    o->recursion = o->unwound = i;
    o->recursion_length = o->unwound_length = 0;
    if (i != TT_RECURSION_REPEAT && i != TT_RECURSION_RECENT)
        return value[length] ? -TT_ERR_OPTION : 0;
    if (read_count(value[length] ? value + length + 1 : "", i == TT_RECURSION_REPEAT,
                   1000, &o->recursion_length))
        return -TT_ERR_OPTION;
    o->unwound_length = o->recursion_length;
    return 0;
}

/* ── Readers of the table ─────────────────────────────────────────────────────────── */

static int option_mode(struct tt_options *o, const char *value, uint32_t kind)
{
    return read_mode(o, value, &o->mode[kind]);
}

static int option_output(struct tt_options *o, const char *value, uint32_t unused)
{
    (void)unused;
    if (!*value || strlen(value) >= sizeof o->output)
        return -TT_ERR_OPTION;
    memcpy(o->output, value, strlen(value) + 1);
    return 0;
}

static int option_budget(struct tt_options *o, const char *value, uint32_t unused)
{
    (void)unused;
    return tt_options_budget(o, value);
}

static int option_log(struct tt_options *o, const char *value, uint32_t unused)
{
    (void)unused;
    return tt_options_log(o, value);
}

static int option_recursion(struct tt_options *o, const char *value, uint32_t unused)
{
    (void)unused;
    return tt_options_recursion(o, value);
}

int tt_options_stacks(const char *value, uint32_t *rule)
{
    for (*rule = 0; *rule < TT_STACKS_RULES; ++*rule)
        if (strcmp(value, tt_stacks_word(*rule)) == 0)
            return 0;
    *rule = 0;
    return -TT_ERR_OPTION;
}

static int option_stacks(struct tt_options *o, const char *value, uint32_t unused)
{
    (void)unused;
    return tt_options_stacks(value, &o->stacks);
}

static int option_sampler(struct tt_options *o, const char *value, uint32_t unused)
{
    (void)unused;
    o->sampler_thread = strcmp(value, "thread") == 0;
    return o->sampler_thread || strcmp(value, "timer") == 0 ? 0 : -TT_ERR_OPTION;
}

static int option_clock(struct tt_options *o, const char *value, uint32_t unused)
{
    static const char *const names[] = {"tsc", "monotonic", "caller"};

    (void)unused;
    if (strncmp(value, "caller:", 7) == 0) {
        o->clock = 2;
        return read_number(value + 7, 1, 1000000000000u, &o->hz_of_caller);
    }
    for (o->clock = 0; o->clock < 3; o->clock++)
        if (strcmp(value, names[o->clock]) == 0)
            return 0;
    return -TT_ERR_OPTION;
}

static int option_histogram(struct tt_options *o, const char *value, uint32_t unused)
{
    (void)unused;
    o->histogram = 1;
    return *value ? -TT_ERR_OPTION : 0;
}

/* ── MLWorks' flags, and options for objects ──────────────────────────────────────── */

enum { PROFILE_FILE = 1, PROFILE_OTHER = 2 };
enum manner_bits { CALLS_BIT = 1, TIME_BIT = 2, SPACE_BIT = 4, KIND_BITS = 0xff00 };

/* Calls are counted and times sampled where each is wanted; types are distinguished if
 * any is. */
static void follow_manner(struct tt_options *o)
{
    uint32_t manner = o->profile.manner,
             timed = o->profile.scan && manner & TIME_BIT ? TT_MODE_SAMPLED
                                                          : TT_MODE_CALLS,
             mode = manner & CALLS_BIT ? TT_MODE_CALLS : timed;

    o->mode[TT_KIND_SCOPE] = o->mode[TT_KIND_BLOCK] = mode;
    o->mode[TT_KIND_STATEMENT] = mode;
    o->mode[TT_KIND_CENTRE] = timed; /* one kind that is sampled has the sampler run */
    if (timed == TT_MODE_SAMPLED)
        o->hz = o->profile.scan > 1000 ? 1 : 1000 / o->profile.scan;
    o->space = manner & SPACE_BIT ? TT_SPACE_ALLOC | TT_SPACE_COPIES : 0;
    if (o->space && manner & KIND_BITS)
        o->space |= TT_SPACE_TYPES;
}

static int option_profile(struct tt_options *o, const char *value, uint32_t unused)
{
    (void)unused;
    if (!*value || strlen(value) >= sizeof o->output)
        return -TT_ERR_OPTION;
    memcpy(o->output, value, strlen(value) + 1);
    o->profile.given |= PROFILE_FILE;
    follow_manner(o);
    return 0;
}

enum { PROFILE_SCAN, PROFILE_DEPTH, PROFILE_MANNER };

static int option_profile_number(struct tt_options *o, const char *value, uint32_t which)
{
    static const uint64_t most[] = {1000000, 15, 0xfffff};
    uint32_t *to[] = {&o->profile.scan, &o->profile.depth, &o->profile.manner};

    o->profile.given |= PROFILE_OTHER;
    if (read_count(value, 0, most[which], to[which]))
        return -TT_ERR_OPTION;
    follow_manner(o);
    return 0;
}

static int option_profile_select(struct tt_options *o, const char *value, uint32_t unused)
{
    (void)unused;
    o->profile.given |= PROFILE_OTHER;
    if (strlen(value) >= sizeof o->select)
        return -TT_ERR_OPTION;
    memcpy(o->select, value, strlen(value) + 1);
    return 0;
}

int tt_options_complete(const struct tt_options *o)
{
    return o->profile.given == PROFILE_OTHER ? -TT_ERR_OPTION : 0;
}

/* Reads some of the names, with + between them, as bits: 1 is the second name.  The first
 * is "none", which comes alone. */
static int read_names(const char *value, const char *names, uint32_t *bits)
{
    *bits = 0;
    if (strcmp(value, "none") == 0)
        return 0;
    for (;; value++) {
        const size_t length = strcspn(value, "+");
        const char *name = names + strlen("none");
        uint32_t bit = 1;
        while (*name && !(strcspn(name + 1, " ") == length &&
                          strncmp(value, name + 1, length) == 0)) {
            name += 1 + strcspn(name + 1, " ");
            bit <<= 1;
        }
        if (!*name)
            return -TT_ERR_OPTION;
        *bits |= bit;
        value += length;
        if (!*value)
            return 0;
    }
}

int tt_options_space(struct tt_options *o, const char *value)
{
    return read_names(value, TT_SPACE_VALUES, &o->space);
}

static int option_space(struct tt_options *o, const char *value, uint32_t unused)
{
    (void)unused;
    return tt_options_space(o, value);
}

static int option_space_rate(struct tt_options *o, const char *value, uint32_t unused)
{
    (void)unused;
    return read_number(value, 0, 1ull << 40, &o->space_rate);
}

static int option_rank(struct tt_options *o, const char *value, uint32_t unused)
{
    int error = read_count(value, 0, UINT32_MAX - 2, &o->rank);

    (void)unused;
    o->rank += !error;
    return error;
}

/* The name may itself contain colons. */
int tt_options_marked(struct tt_options *o, const char *value, uint32_t slowest)
{
    const char *colon = strrchr(value, ':');
    size_t length = colon ? (size_t)(colon - value) : strlen(value);
    struct tt_marked *m = o->marked;
    uint32_t k = 10;

    if (length == 0 || length >= sizeof m->name)
        return -TT_ERR_OPTION;
    if (colon && read_count(colon + 1, 1, TT_HISTORY_MAX, &k))
        return -TT_ERR_OPTION;
    while (m < o->marked + o->marked_count &&
           (strlen(m->name) != length || memcmp(m->name, value, length) != 0))
        m++;
    if (m == o->marked + TT_MARKED_MAX)
        return -TT_ERR_OPTION;
    if (m == o->marked + o->marked_count) {
        memset(m, 0, sizeof *m);
        memcpy(m->name, value, length);
        o->marked_count++;
    }
    *(slowest ? &m->slowest : &m->history) = k;
    return 0;
}

int tt_options_series(struct tt_options *o, const char *value)
{
    return read_names(value, TT_SERIES_VALUES, &o->series);
}

static int option_series(struct tt_options *o, const char *value, uint32_t unused)
{
    (void)unused;
    return tt_options_series(o, value);
}

static const struct option_word {
    const char *word;
    option_reader *read;
    uint32_t argument;
} option_table[] = {
    {"output", option_output, 0},
    {"budget", option_budget, 0},
    {"log", option_log, 0},
    {"recursion", option_recursion, 0},
    {"stacks", option_stacks, 0},
    {"sampler", option_sampler, 0},
    {"clock", option_clock, 0},
    {"histogram", option_histogram, 0},
    {"series", option_series, 0},
    {"space", option_space, 0},
    {"space-rate", option_space_rate, 0},
    {"profile", option_profile, 0},
    {"profile-scan", option_profile_number, PROFILE_SCAN},
    {"profile-depth", option_profile_number, PROFILE_DEPTH},
    {"profile-manner", option_profile_number, PROFILE_MANNER},
    {"profile-select", option_profile_select, 0},
    {"rank", option_rank, 0},
    {"history", tt_options_marked, 0},
    {"slowest", tt_options_marked, 1},
    {"scopes", option_mode, TT_KIND_SCOPE},
    {"blocks", option_mode, TT_KIND_BLOCK},
    {"hooks", option_mode, TT_KIND_FUNCTION},
    {"statements", option_mode, TT_KIND_STATEMENT},
    {"centres", option_mode, TT_KIND_CENTRE},
    {"native", option_mode, TT_KIND_NATIVE},
};

/* A word that is a mode by itself is meant for scopes and all blocks of runtimes. */
static int read_word(struct tt_options *o, const char *word)
{
    size_t length = strcspn(word, "=");
    const char *value = word[length] ? word + length + 1 : "";
    uint32_t mode;

    for (size_t i = 0; i < sizeof option_table / sizeof *option_table; i++)
        if (strlen(option_table[i].word) == length &&
            strncmp(word, option_table[i].word, length) == 0)
            return option_table[i].read(o, value, option_table[i].argument);
    if (read_mode(o, word, &mode))
        return -TT_ERR_OPTION;
    o->mode[TT_KIND_SCOPE] = o->mode[TT_KIND_BLOCK] = mode;
    o->mode[TT_KIND_STATEMENT] = o->mode[TT_KIND_CENTRE] = mode;
    return 0;
}

/* ── The words ────────────────────────────────────────────────────────────────────── */

static void set_defaults(struct tt_options *o)
{
    memset(o, 0, sizeof *o);
    o->mode[TT_KIND_FUNCTION] = TT_MODE_CALLS;
    o->mode[TT_KIND_NATIVE] = o->mode[TT_KIND_INTERPRETED] = TT_MODE_SAMPLED;
    o->every = 64;
    o->hz_of_caller = 1;
    o->hz = 250;
    o->recursion = TT_RECURSION_EDGE;
    o->unwound = TT_RECURSION_NONE;
    o->budget = 64ull << 20;
    o->log = 8ull << 20;
    o->series = 1u << TT_BAND_TYPE;
    o->space = TT_SPACE_ALLOC | TT_SPACE_COPIES | TT_SPACE_TYPES;
    o->profile.scan = 10;
    o->profile.manner = CALLS_BIT | TIME_BIT | SPACE_BIT;
}

int tt_options_are_exact(const struct tt_options *o)
{
    for (int i = 0; i < TT_KINDS; i++)
        if (o->mode[i] == TT_MODE_EXACT && o->clock != TT_CLOCK_CALLER)
            return 1;
    return 0;
}

int tt_options_read(struct tt_options *o, const char *words, size_t *at)
{
    char word[TT_PATH_SIZE + 16];
    const char *p = words ? words : "";
    size_t where = 0;
    int error = 0;

    set_defaults(o);
    while (!error && *(p += strspn(p, TT_OPTIONS_SEPARATORS))) {
        const char *start = p + strspn(p, "-");
        size_t length = strcspn(start, TT_OPTIONS_SEPARATORS);

        where = (size_t)(p - words);
        p = start + length;
        if (length >= sizeof word) {
            error = -TT_ERR_OPTION;
            break;
        }
        memcpy(word, start, length);
        word[length] = '\0';
        error = read_word(o, word);
    }
    if (at)
        *at = error ? where : 0;
    return error;
}
