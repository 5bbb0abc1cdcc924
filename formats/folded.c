/* SPDX-License-Identifier: MIT */
/* folded.c - folded stacks: "main;parse;read 42", root first, one stack a line.
 *
 * Files of them are mostly sorted, or have runs of like stacks: what a line shares with the
 * one before it is not looked up again.  Files that were put together have the same stacks
 * over and over: those are known as a whole, by a hash and the context that they ended at. */
#include <stdio.h>
#include <string.h>

#include "add-profile.h"
#include "finish.h"
#include "formats.h"
#include "frames.h"
#include "index.h"
#include "naming.h"
#include "text-hash.h"
#include "writers.h"

/* ── Lines ────────────────────────────────────────────────────────────────────────── */

static int is_digit(char c) { return c >= '0' && c <= '9'; }

struct count {
    uint64_t whole, fraction; /* fraction: millionths */
};

/* "42", "42.", "4.25"; 1: it is one, 0: it is not, -1: it is too large. */
static int read_count(const char *text, const char *end, struct count *c)
{
    uint64_t worth = TT_MILLION / 10;

    *c = (struct count){0};
    if (text == end || !is_digit(*text))
        return 0;
    for (; text < end && is_digit(*text); text++)
        if (__builtin_mul_overflow(c->whole, 10, &c->whole) ||
            __builtin_add_overflow(c->whole, (uint64_t)(*text - '0'), &c->whole))
            return -1;
    if (text < end && *text == '.')
        for (text++; text < end && is_digit(*text); text++, worth /= 10)
            c->fraction += (uint64_t)(*text - '0') * worth;
    return text == end;
}

/* Splits a line at its last blank; the length of the stack, and whether a count follows.
 * Names may end in blanks too: perf cuts them at a bracket. */
static int split(const char *line, size_t length, size_t *stack, struct count *c)
{
    const char *end = line + length, *count;

    while (end > line && tt_is_blank(end[-1]))
        end--;
    for (count = end; count > line && !tt_is_blank(count[-1]); count--)
        ;
    *stack = (size_t)(count - line);
    *stack -= *stack > 0;
    return count == line ? 0 : read_count(count, end, c);
}

/* Nothing, or a remark: "# …", and "//…" or "#…" without a count. */
static int is_remark(const char *line, size_t length, int has_count)
{
    size_t blanks = 0;

    while (blanks < length && tt_is_blank(line[blanks]))
        blanks++;
    return blanks == length || ((line[0] == '#' || (line[0] == '/' && line[1] == '/')) &&
                                (has_count <= 0 || tt_is_blank(line[1])));
}

static int is_text(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)line[i] < ' ' && line[i] != '\t' && line[i] != '\r')
            return 0;
    return 1;
}

/* The next line of a head; 0: there is none that is whole. */
static int next_line(const char **at, const char *end, int is_all, const char **line,
                     size_t *length)
{
    const char *stop = *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;

    if (!stop && (!is_all || *at == end))
        return 0;
    stop = stop ? stop : end;
    *line = *at;
    *length = (size_t)(stop - *at);
    while (*length && (*line)[*length - 1] == '\r')
        --*length;
    *at = stop + (stop < end);
    return 1;
}

/* Does the last word of a line look like a count, but is none ("-5", "1e3")? */
static int is_like_count(const char *line, size_t length)
{
    size_t at = length;

    while (at && !tt_is_blank(line[at - 1]))
        at--;
    return at < length &&
           (is_digit(line[at]) || (line[at] == '-' && is_digit(line[at + 1]))) &&
           strspn(line + at, "0123456789.eE+-") >= length - at;
}

/* An array of JSON, and no frame as [unknown]. */
static int is_array(const char *head, size_t size)
{
    size_t at = 1;

    while (at < size && strchr(" \t\r\n", head[at]))
        at++;
    return head[0] == '[' && (at == size || strchr("{[]\"-0123456789", head[at]));
}

/* JSON or XML, unless the first line is a stack with a count, as of "<module>;f 3". */
static int is_structured(const char *head, size_t size, int is_all)
{
    const char *at = head, *line;
    size_t length, stack;
    struct count c;

    return (head[0] == '{' || head[0] == '<' || is_array(head, size)) &&
           !(next_line(&at, head + size, is_all, &line, &length) &&
             split(line, length, &stack, &c) > 0);
}

/* Text that is no list of stacks may have a line that ends in a number.  With frames, or if
 * most lines are stacks, the others are errors in such a list. */
static enum tt_match detect(const char *head, size_t size)
{
    enum { ALL = 1 << 16 };
    const char *at = head, *line;
    struct count c;
    size_t length, stack, good = 0, bad = 0;

    if (is_structured(head, size, size < ALL))
        return TT_MATCH_NO;
    while (next_line(&at, head + size, size < ALL, &line, &length)) {
        int has_frames = length && memchr(line, ';', length), has_count;
        if (!is_text(line, length))
            return good > bad ? TT_MATCH_MAYBE : TT_MATCH_NO;
        has_count = split(line, length, &stack, &c);
        if (is_remark(line, length, has_count))
            continue;
        if (has_count == 0 && !(has_frames && is_like_count(line, length)))
            bad++;
        else if (!bad && has_frames)
            return TT_MATCH_MAYBE;
        else
            good++;
    }
    if (good > bad)
        return TT_MATCH_MAYBE;
    /* A single stack may be longer than this head. */
    return size >= ALL && is_text(head, size) && memchr(head, ';', size) &&
                   !memchr(head, '\n', size)
               ? TT_MATCH_MAYBE
               : TT_MATCH_NO;
}

/* ── Reading ──────────────────────────────────────────────────────────────────────── */

struct frame {
    size_t end; /* in the line */
    uint32_t context;
};

/* Stacks that come again are looked up as a whole.  Their text is not kept: it is that of
 * the names on the way from the context to the root. */
enum { MOST_KEPT = 1 << 18, MOST_ALIKE = 16 };
struct kept {
    uint64_t hash;
    uint32_t context, length;
};

struct folded {
    struct tt_source *s;
    struct tt_vector kept;           /* struct kept */
    struct tt_index index;           /* of them */
    struct tt_frames frames, before; /* before: the first of two counts */
    struct tt_vector last;           /* char: the stack before this one */
    struct tt_vector open;           /* struct frame: its frames */
    uint64_t scale, rest[2];         /* rest: millionths that are not yet counted */
    int differs;                     /* each line has two counts */
};

/* Have all lines of the first 64 KiB two counts, as difffolded.pl writes them? */
static int find_differs(struct tt_source *s)
{
    enum { HEAD = 1 << 16 };
    int64_t have = tt_source_want(s, HEAD);
    const char *at = tt_source_at(s), *end = at + (have > 0 ? have : 0), *line;
    size_t length, stack, first, lines = 0;
    struct count c;

    for (; next_line(&at, end, have < HEAD, &line, &length); lines++)
        if (is_remark(line, length, split(line, length, &stack, &c)))
            lines--;
        else if (split(line, length, &stack, &c) <= 0 ||
                 split(line, stack, &first, &c) <= 0 || !first)
            return 0;
    return lines > 0;
}

/* Are there fractions in the first 64 KiB?  Later ones are carried over to the next. */
static uint64_t find_scale(struct tt_source *s)
{
    enum { HEAD = 1 << 16 };
    int64_t have = tt_source_want(s, HEAD);
    const char *at = tt_source_at(s), *end = at + (have > 0 ? have : 0), *line;
    size_t length, stack;
    struct count c;

    while (next_line(&at, end, have < HEAD, &line, &length))
        if (split(line, length, &stack, &c) > 0 && c.fraction)
            return TT_MILLION;
    return 1;
}

static size_t common_length(const char *a, const char *b, size_t length)
{
    size_t n = 0;
    uint64_t x, y;

    for (; n + sizeof x <= length; n += sizeof x) {
        memcpy(&x, a + n, sizeof x);
        memcpy(&y, b + n, sizeof y);
        if (x != y)
            break;
    }
    while (n < length && a[n] == b[n])
        n++;
    return n;
}

/* Do the names from the root to a context make this stack?  Looked at from its end. */
static int is_stack_of(const struct folded *f, uint32_t context, const char *stack,
                       size_t length)
{
    const char *name;

    while (context != TT_BUILDER_ROOT) {
        size_t size;
        context = tt_builder_parent(f->frames.b, context, &name);
        size = strlen(name);
        if (size > length || memcmp(stack + length - size, name, size) != 0)
            return 0;
        length -= size;
        if (context == TT_BUILDER_ROOT)
            break;
        if (!length || stack[--length] != ';')
            return 0;
    }
    return length == 0;
}

/* NULL: it is not kept, or too many stacks have similar hashes. */
static const struct kept *find_kept(const struct folded *f, uint64_t hash,
                                    const char *stack, size_t length)
{
    uint32_t n;

    for (size_t at = 0;
         at < MOST_ALIKE && (n = tt_index_next(&f->index, hash, &at)) != TT_NO_NUMBER;) {
        const struct kept *k = (const struct kept *)f->kept.item + n;
        if (k->hash == hash && k->length == length &&
            is_stack_of(f, k->context, stack, length))
            return k;
    }
    return NULL;
}

/* Notes a stack; does nothing if there is no memory.  Leaves out a stack that cannot be
 * rebuilt from its context (a frame without a name): it would never be found. */
static void note_kept(struct folded *f, uint64_t hash, const char *stack, size_t length,
                      uint32_t context)
{
    const struct kept k = {hash, context, (uint32_t)length};

    if (length && length <= UINT32_MAX && f->kept.count < MOST_KEPT &&
        is_stack_of(f, context, stack, length))
        (void)tt_index_append(&f->index, &f->kept, hash, &k, sizeof k);
}

/* Keeps the stack for the next line; their common beginning is kept already. */
static int keep(struct folded *f, const char *stack, size_t length, size_t common)
{
    f->last.count = common;
    if (length == common)
        return 0;
    if (!tt_vector_add(&f->last, length - common))
        return tt_source_no_memory(f->s);
    memcpy((char *)f->last.item + common, stack + common, length - common);
    return 0;
}

/* The context of a stack. */
static int find_context(struct folded *f, const char *stack, size_t length,
                        uint32_t *context)
{
    size_t least = length < f->last.count ? length : f->last.count;
    size_t common = least ? common_length(f->last.item, stack, least) : 0, start = 0;
    struct frame *open = f->open.item;

    while (f->open.count && open[f->open.count - 1].end >= common)
        f->open.count--;
    *context = TT_BUILDER_ROOT;
    if (f->open.count) {
        *context = open[f->open.count - 1].context;
        start = open[f->open.count - 1].end + 1;
    }
    while (start <= length) {
        const char *stop = memchr(stack + start, ';', length - start);
        size_t end = stop ? (size_t)(stop - stack) : length;
        uint32_t block = tt_frames_block(&f->frames, stack + start, end - start);
        if (block == TT_BUILDER_ROOT && start)
            block = tt_builder_inner_root(f->frames.b, "[root]");
        *context = tt_builder_context(f->frames.b, *context, block);
        if (*context == TT_NONE ||
            tt_vector_push(&f->open, &(struct frame){end, *context}) != 0)
            return tt_source_no_memory(f->s);
        start = end + 1;
    }
    return keep(f, stack, length, common);
}

static int add_to(struct folded *f, int before, uint32_t context, const struct count *c)
{
    uint64_t amount, more, *rest = &f->rest[before];
    int error;

    *rest += f->scale == 1 ? c->fraction : 0;
    more = f->scale == 1 ? *rest / TT_MILLION : c->fraction;
    *rest %= TT_MILLION;
    if (__builtin_mul_overflow(c->whole, f->scale, &amount) ||
        __builtin_add_overflow(amount, more, &amount))
        return tt_source_fail(f->s, TT_TOO_MUCH);
    error = tt_frames_add(before ? &f->before : &f->frames, context, amount);
    if (error == -TT_ERR_MEMORY)
        return tt_source_no_memory(f->s);
    return error ? tt_source_fail(f->s, TT_TOO_MUCH) : 0;
}

/* Adds the count of a line, and the count before it if there are two. */
static int add(struct folded *f, uint32_t context, const struct count c[2])
{
    int error = add_to(f, 0, context, &c[0]);

    return error || !f->differs ? error : add_to(f, 1, context, &c[1]);
}

static int take_line(struct folded *f, const char *line, size_t length)
{
    uint32_t context;
    struct count c[2] = {{0, 0}, {0, 0}};
    const struct kept *known;
    uint64_t hash;
    size_t stack;
    int has_count = split(line, length, &stack, &c[0]), error;

    if (is_remark(line, length, has_count))
        return 0;
    if (has_count < 0)
        return tt_source_fail(f->s, "the count at the end of this line is too large");
    if (!has_count)
        return tt_source_fail(f->s, is_like_count(line, length)
                                        ? "a count is a number from 0 on, as 3 or 2.5"
                                        : "a stack ends with a blank and a count");
    if (f->differs && split(line, stack, &stack, &c[1]) <= 0)
        return tt_source_fail(f->s, "this line lacks the second count that others have");
    hash = tt_text_hash(line, stack);
    known = find_kept(f, hash, line, stack);
    if (known)
        return add(f, known->context, c);
    error = find_context(f, line, stack, &context);
    if (!error)
        note_kept(f, hash, line, stack, context);
    return error ?: add(f, context, c);
}

static int read_folded(struct tt_source *s, struct tt_builder *b)
{
    struct folded f = {.s = s, .scale = find_scale(s), .differs = find_differs(s)};
    size_t length;
    char *line;
    int error;

    tt_frames_init(&f.frames, b, s->memory);
    tt_frames_init(&f.before, b, s->memory);
    tt_vector_init(&f.kept, s->memory, sizeof(struct kept));
    tt_vector_init(&f.last, s->memory, 1);
    tt_vector_init(&f.open, s->memory, sizeof(struct frame));
    while ((error = tt_source_line(s, &line, &length)) > 0)
        if ((error = take_line(&f, line, length)) != 0)
            break;
    if (!error)
        tt_frames_flush(
            &f.frames,
            tt_builder_metric(b, "samples", f.scale == 1 ? "" : TT_UNIT_MILLIONTHS, 0));
    if (!error && f.differs)
        tt_frames_flush(&f.before,
                        tt_builder_metric(b, "samples before",
                                          f.scale == 1 ? "" : TT_UNIT_MILLIONTHS, 0));
    return error;
}

/* ── Writing ──────────────────────────────────────────────────────────────────────── */

struct folding {
    const struct tt_profile *p;
    const struct tt_metric_columns *column[2]; /* the second is NULL for one profile */
    struct tt_writer *w;
    struct tt_vector path; /* char */
    size_t *end;           /* owned; of each open context's part of the path */
    int failed;
};

/* Replaces characters that would end the frame or the line, as other tools do; a line
 * that begins with "# " would be a remark. */
static void append_name(struct folding *f, const char *name, int is_first)
{
    int is_like_remark = is_first && name[0] == '#' && tt_is_blank(name[1]);
    size_t length;
    char *to;

    if (!*name) /* a line without a name would be the root's */
        name = "(unknown)";
    length = strlen(name + is_like_remark);
    to = tt_vector_add(&f->path, length + !is_first);
    if (!to) {
        f->failed |= length + !is_first > 0;
        return;
    }
    if (!is_first)
        *to++ = ';';
    if (is_like_remark) { /* "#name" is none */
        *to++ = '#';
        name += 2;
        length--;
    }
    for (size_t i = 0; i < length; i++)
        to[i] = (char)(name[i] == ';'                 ? ':'
                       : (unsigned char)name[i] < ' ' ? ' '
                                                      : name[i]);
}

static void put_line(struct folding *f, uint64_t first, uint64_t second)
{
    if (!first && !second)
        return;
    if (f->path.count)
        tt_put_bytes(f->w, f->path.item, f->path.count);
    else
        tt_put(f->w, "[root]");
    tt_put_char(f->w, ' ');
    tt_put_figure(f->w, f->column[0], first);
    if (f->column[1]) {
        tt_put_char(f->w, ' ');
        tt_put_figure(f->w, f->column[1], second);
    }
    tt_put_char(f->w, '\n');
}

static void put_context(struct folding *f, const struct tt_walk *w)
{
    const struct tt_metric_columns *a = f->column[0], *b = f->column[1];
    uint32_t c = w->context;

    f->path.count = w->depth ? f->end[w->depth - 1] : 0;
    if (w->depth)
        append_name(f, tt_block_name(f->p, tt_block_of(f->p, c)), w->depth == 1);
    f->end[w->depth] = f->path.count;
    put_line(f, tt_self_of(a, c), b ? tt_self_of(b, c) : 0);
    if (tt_elsewhere_of(a, c) || (b && tt_elsewhere_of(b, c))) {
        append_name(f, "[elsewhere below]", !w->depth);
        put_line(f, tt_elsewhere_of(a, c), b ? tt_elsewhere_of(b, c) : 0);
    }
}

static int write_all(struct folding *f)
{
    size_t size = ((size_t)f->p->depth + 1) * sizeof *f->end;
    const struct tt_memory *memory = f->p->memory;
    struct tt_walk w;

    f->end = tt_memory_get(memory, size);
    if (!f->end)
        return -TT_ERR_MEMORY;
    tt_vector_init(&f->path, memory, 1);
    f->failed |= tt_walk_init(&w, f->p, 0) != 0;
    while (!f->failed && !f->w->error && tt_walk_next(&w))
        put_context(f, &w);
    tt_walk_fini(&w);
    tt_vector_fini(&f->path);
    tt_memory_put(memory, f->end);
    return f->failed ? -TT_ERR_MEMORY : 0;
}

/* ── Two profiles beside each other ───────────────────────────────────────────────── */

/* Adds one metric of a profile under another name. */
static int add_side(struct tt_builder *b, const struct tt_profile *p, uint32_t from,
                    const char *name)
{
    const struct tt_metric_columns *m = &p->metric[from];
    uint32_t metric = tt_builder_metric(b, name, m->unit, 0), *id;
    struct tt_walk w;
    size_t size = ((size_t)p->depth + 1) * sizeof *id;
    int error = tt_walk_init(&w, p, 0);

    id = error ? NULL : tt_memory_get(p->memory, size);
    while (id && tt_walk_next(&w)) {
        id[w.depth] = TT_BUILDER_ROOT;
        if (w.depth)
            id[w.depth] = tt_builder_context(
                b, id[w.depth - 1], tt_builder_block_of(b, p, tt_block_of(p, w.context)));
        tt_builder_add(b, TT_ROLE_SELF, id[w.depth], metric, tt_self_of(m, w.context));
        tt_builder_add(b, TT_ROLE_ELSEWHERE, id[w.depth], metric,
                       tt_elsewhere_of(m, w.context));
    }
    error = id ? 0 : -TT_ERR_MEMORY;
    tt_memory_put(p->memory, id);
    tt_walk_fini(&w);
    return error;
}

/* Both in one profile, with the metrics "after" and "before". */
static int make_both(struct tt_export *e, uint32_t metric, void **image, size_t *size)
{
    const char *name = e->profile->metric[metric].name;
    uint32_t other = tt_metric_find(e->before, name);
    struct tt_builder *b;
    int error;

    if (other == TT_NONE) {
        (void)snprintf(e->error, sizeof e->error,
                       "the profile to compare with has no metric '%.80s'", name);
        return -TT_ERR_OPTION;
    }
    b = tt_builder_new(e->profile->memory);
    if (!b)
        return -TT_ERR_MEMORY;
    error = add_side(b, e->before, other, "before");
    error = error ?: add_side(b, e->profile, metric, "then");
    error = error ?: tt_builder_finish(b, image, size);
    tt_builder_free(b);
    return error;
}

/* Returns NULL for a profile without figures. */
static const struct tt_metric_columns *column(const struct tt_profile *p,
                                              const char *name)
{
    uint32_t metric = tt_metric_find(p, name);

    return metric == TT_NONE ? NULL : &p->metric[metric];
}

static int write_both(struct tt_export *e, struct folding *f, uint32_t metric)
{
    const struct tt_memory *memory = e->profile->memory;
    struct tt_profile both;
    void *image = NULL;
    size_t size = 0;
    int error = make_both(e, metric, &image, &size);

    error = error ?: tt_profile_open(&both, image, size, memory);
    if (!error) {
        f->p = &both;
        f->column[0] = column(&both, "before");
        f->column[1] = column(&both, "then");
        if (f->column[0] && f->column[1])
            error = write_all(f);
        tt_profile_close(&both);
        f->p = NULL;
    }
    tt_memory_put(memory, image);
    return error;
}

static int write_folded(struct tt_export *e, struct tt_writer *w)
{
    uint32_t metric = tt_export_metric(e);
    struct folding f = {.p = e->profile, .w = w};

    if (metric == TT_NONE)
        return -TT_ERR_OPTION;
    f.column[0] = &e->profile->metric[metric];
    return e->before ? write_both(e, &f, metric) : write_all(&f);
}

const struct tt_format tt_format_folded = {
    .name = "folded",
    .about = "folded stacks, one a line",
    .flags = TT_FORMAT_DIFFERS | TT_FORMAT_PATHS,
    .detect = detect,
    .read = read_folded,
    .write = write_folded,
};
