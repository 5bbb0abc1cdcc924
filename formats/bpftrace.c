/* SPDX-License-Identifier: MIT */
/* bpftrace.c - maps of stacks that bpftrace prints: reading.
 *
 *      @[                            @name[bash,
 *          leaf+12                       leaf+12
 *          main+34                   , 100]: 3
 *      , bash]: 5
 *
 * Stacks are leaf first, and so are several of one key, the kernel's before the program's.
 * The other parts of a key are the outermost frame.  Each map is a metric. */
#include <string.h>

#include "formats.h"
#include "frames.h"
#include "naming.h"

enum { MOST_MAPS = 64, KEYS = 1024 };

struct map {
    char name[64];
    uint32_t metric;
    uint64_t sum;
};

struct bpftrace {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_frames names;
    struct tt_vector stack;              /* uint32_t: blocks, leaf first */
    struct map map[MOST_MAPS], *current; /* current: NULL outside of a map */
    int maps;
    char keys[KEYS];
};

static int is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_';
}

/* What follows "@name[", or NULL. */
static const char *key_of(const char *line)
{
    const char *c = line + 1;

    if (*line != '@')
        return NULL;
    while (is_name(*c))
        c++;
    return *c == '[' ? c + 1 : NULL;
}

static struct map *find_map(struct bpftrace *x, const char *name, size_t length)
{
    struct map *m = x->map;

    if (length >= sizeof m->name)
        length = sizeof m->name - 1;
    for (int i = 0; i < x->maps; i++, m++)
        if (strlen(m->name) == length && memcmp(m->name, name, length) == 0)
            return m;
    if (x->maps == MOST_MAPS)
        return NULL;
    x->maps++;
    memcpy(m->name, name, length);
    m->metric = tt_builder_metric(x->b, length ? m->name : "samples", "", 0);
    return m;
}

/* Adds the parts of a key that are not stacks, without the commas around them. */
static void add_keys(struct bpftrace *x, const char *at, const char *end)
{
    size_t have = strlen(x->keys), length;

    while (at < end && (tt_is_blank(*at) || *at == ','))
        at++;
    while (end > at && (tt_is_blank(end[-1]) || end[-1] == ','))
        end--;
    length = (size_t)(end - at);
    if (!length || have + length + 3 > KEYS)
        return;
    if (have) {
        memcpy(x->keys + have, ", ", 2);
        have += 2;
    }
    memcpy(x->keys + have, at, length);
    x->keys[have + length] = '\0';
}

/* Returns where the "(module)" at the end begins; the module may have brackets itself.
 * `end`: there is no module. */
static const char *without_module(const char *at, const char *end)
{
    int depth = 0;

    for (const char *c = end; c > at;) {
        c--;
        depth += (*c == ')') - (*c == '(');
        if (depth <= 0)
            return *c == '(' && !depth ? c : end;
    }
    return end;
}

/* "leaf+12", or in the form of perf "55d0 leaf+12 (/bin/program)". */
static int add_frame(struct bpftrace *x, const char *line, size_t length)
{
    const char *at = tt_skip_blanks(line), *end = line + length, *digits;
    uint32_t *to = tt_vector_add(&x->stack, 1);

    if (*line == '\t' && strchr(at, ' ')) {
        at = tt_skip_blanks(strchr(at, ' '));
        end = without_module(at, end);
    }
    while (end > at && tt_is_blank(end[-1]))
        end--;
    for (digits = end; digits > at && digits[-1] >= '0' && digits[-1] <= '9';)
        digits--;
    if (digits < end && digits > at + 1 && digits[-1] == '+')
        end = digits - 1;
    if (!to)
        return tt_source_no_memory(x->s);
    *to = tt_frames_block(&x->names, at, (size_t)(end - at));
    return *to == TT_NONE ? tt_source_no_memory(x->s) : 0;
}

static int end_key(struct bpftrace *x, const char *value)
{
    const uint32_t *block = x->stack.item;
    uint32_t context = TT_BUILDER_ROOT, outermost;
    struct map *m = x->current;
    const char *at = value;
    uint64_t n;

    if (*at == '-' && at[1] >= '0' && at[1] <= '9')
        return tt_source_fail(x->s,
                              "the value %.20s of @%s is below 0: only sums and counts "
                              "from 0 on can be read; print the others apart",
                              value, m->name);
    if (!tt_take_digits(&at, &n) || *tt_skip_blanks(at))
        return tt_source_fail(x->s, "a value of @%s is no number: '%.20s'", m->name,
                              value);
    if (__builtin_add_overflow(m->sum, n, &m->sum))
        return tt_source_fail(x->s, TT_TOO_MUCH);
    if (x->keys[0]) {
        outermost = tt_frames_block(&x->names, x->keys, strlen(x->keys));
        context = tt_builder_context(x->b, context, outermost);
    }
    for (size_t i = x->stack.count; i--;)
        context = tt_builder_context(x->b, context, block[i]);
    tt_builder_add(x->b, TT_ROLE_SELF, context, m->metric, n);
    x->current = NULL;
    return context == TT_NONE ? tt_source_no_memory(x->s) : 0;
}

/* Returns the value after "]: " at the end of a line; NULL: the key continues. */
static const char *value_of(const char *line)
{
    const char *found = NULL;

    for (const char *c = line; (c = strstr(c, "]: ")) != NULL; c++)
        found = c;
    return found;
}

static int take_line(struct bpftrace *x, const char *line, size_t length)
{
    const char *key = x->current ? line : key_of(line), *end;

    if (!key)
        return 0; /* what the script prints itself */
    if (!x->current) {
        x->keys[0] = '\0';
        x->stack.count = 0;
        x->current = find_map(x, line + 1, (size_t)(key - line) - 2);
        if (!x->current)
            return tt_source_fail(x->s, "there are more than %d maps", MOST_MAPS);
    } else if (tt_is_blank(*line)) {
        return *tt_skip_blanks(line) ? add_frame(x, line, length) : 0;
    }
    end = value_of(key);
    add_keys(x, key, end ? end : line + length);
    return end ? end_key(x, end + 3) : 0;
}

static int read_bpftrace(struct tt_source *s, struct tt_builder *b)
{
    struct bpftrace *x = tt_memory_get(s->memory, sizeof *x);
    size_t length;
    char *line;
    int error;

    if (!x)
        return tt_source_no_memory(s);
    x->s = s;
    x->b = b;
    tt_frames_init(&x->names, b, s->memory);
    tt_vector_init(&x->stack, s->memory, sizeof(uint32_t));
    while ((error = tt_source_line(s, &line, &length)) > 0)
        if ((error = take_line(x, line, length)) != 0)
            break;
    if (!error && x->current)
        error = tt_source_fail(s, "the file ends within a key of @%s", x->current->name);
    return error;
}

/* The file begins with a message of bpftrace, or with a map. */
static enum tt_match detect(const char *head, size_t size)
{
    static const char attaching[] = "Attaching ";
    const char *at = head, *end = head + size;

    if (size > sizeof attaching && memcmp(head, attaching, sizeof attaching - 1) == 0) {
        at = memmem(head, size, "\n@", 2);
        at = at ? at + 1 : end;
    }
    while (at < end && (*at == '\n' || *at == '\r'))
        at++;
    if (at == end || *at++ != '@')
        return TT_MATCH_NO;
    while (at < end && is_name(*at))
        at++;
    return tt_match_if(at < end && *at == '[' &&
                       memmem(at, (size_t)(end - at), "]: ", 3));
}

const struct tt_format tt_format_bpftrace = {
    .name = "bpftrace",
    .about = "maps of stacks that bpftrace prints",
    .detect = detect,
    .read = read_bpftrace,
};
