/* SPDX-License-Identifier: MIT */
/* xctrace.c - tables of samples that `xctrace export` made of Instruments' recordings:
 * reading.
 *
 *      <row> <thread id="2" fmt="main  0x84 (p, pid: 7)"> <tid id="3">132</tid> … </thread>
 *            <weight id="9" fmt="1.00 ms">1000000</weight>
 *            <backtrace id="10"> <frame id="11" name="f" addr="0x1"> <binary …/> </frame> …
 *            </backtrace> </row>
 *      <row> <thread ref="2"/> <weight ref="9"/> <backtrace ref="10"/> </row>
 *
 * Each element comes once, with an id, and then as a reference to it.  When an element
 * ends, its value is passed to the element around it; frames are leaf first. */
#include <stdlib.h>
#include <string.h>

#include "formats.h"
#include "frames.h"
#include "pairs.h"
#include "samples.h"

enum kind {
    OTHER,
    ROW,
    BACKTRACE,
    TAGGED,
    FRAME,
    BINARY,
    SOURCE,
    PATH,
    WEIGHT,
    CYCLES,
    TIME,
    THREAD,
    TID,
    PROCESS,
    PID
};

static const struct {
    const char *name;
    enum kind kind;
} kinds[] = {
    {"row", ROW},
    {"backtrace", BACKTRACE},
    {"tagged-backtrace", TAGGED},
    {"frame", FRAME},
    {"binary", BINARY},
    {"source", SOURCE},
    {"path", PATH},
    {"weight", WEIGHT},
    {"cycle-weight", CYCLES},
    {"sample-time", TIME},
    {"thread", THREAD},
    {"tid", TID},
    {"process", PROCESS},
    {"pid", PID},
};

enum { NAME = 200 };

struct element { /* an open one, or one with an id */
    enum kind kind;
    uint64_t id; /* 0: none */
    uint64_t
        number; /* WEIGHT, CYCLES, TIME, TID, PID, of THREAD its tid, of PROCESS its pid */
    uint64_t process;  /* THREAD: of its process */
    uint32_t what;     /* BACKTRACE: context; FRAME: block; TT_NONE: not yet */
    size_t text, more; /* in x->text: names; of FRAME its module, of THREAD its process */
    size_t file;       /* FRAME, SOURCE */
    size_t first;      /* BACKTRACE: its frames in x->frame */
    uint64_t weight, cycles, time; /* ROW; time: of the run, ns */
    size_t thread;                 /* ROW: index + 1 in `known` */
    int has_weight, has_cycles, has_time, has_stack;
};

struct xctrace {
    struct tt_source *s;
    struct tt_builder *b;
    const char *bytes;
    size_t size, at;
    struct tt_vector open, known; /* struct element */
    struct tt_pairs ids;          /* of elements that are known: index + 1 */
    struct tt_vector text;        /* char: texts, with a NUL each; the first is empty */
    struct tt_vector frame;       /* uint32_t: blocks, leaf first */
    uint64_t time, cycles;        /* all together */
    uint64_t rows;
};

static int wrong(struct xctrace *x, const char *what)
{
    return tt_source_fail_at(x->s, x->at, "%s", what);
}

static const char *text_at(const struct xctrace *x, size_t at)
{
    return (const char *)x->text.item + at;
}

/* ── Texts ────────────────────────────────────────────────────────────────────────── */

/* Writes a character, given by its number, as UTF-8. */
static size_t put_character(char *to, unsigned long c)
{
    if (c < 0x80) {
        to[0] = (char)(c ? c : '?');
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xc0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    to[0] = (char)(0xe0 | (c >> 12 & 0xf));
    to[1] = (char)(0x80 | (c >> 6 & 0x3f));
    to[2] = (char)(0x80 | (c & 0x3f));
    return 3;
}

/* Takes "&amp;" and the like, of up to `size` bytes; returns how many they are; 0: it is
 * none. */
static size_t take_entity(const char *at, size_t size, char *to, size_t *length)
{
    static const char names[][8] = {"&amp;", "&lt;", "&gt;", "&quot;", "&apos;"};
    static const char stands[] = "&<>\"'";
    const char *end = memchr(at, ';', size < 12 ? size : 12);

    if (!end)
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(at, names[i], strlen(names[i])) == 0) {
            *to = stands[i];
            *length = 1;
            return strlen(names[i]);
        }
    if (at[1] != '#')
        return 0;
    *length = put_character(to, at[2] == 'x' ? strtoul(at + 3, NULL, 16) & 0xffff
                                             : strtoul(at + 2, NULL, 10) & 0xffff);
    return (size_t)(end - at) + 1;
}

/* Keeps a text and returns where; 0 is the empty one.  SIZE_MAX: no memory. */
static size_t keep_text(struct xctrace *x, const char *at, size_t size)
{
    char *to = tt_vector_add(&x->text, size + 1);
    size_t used = 0, taken, length, first;

    if (!to)
        return SIZE_MAX;
    first = (size_t)(to - (char *)x->text.item);
    for (size_t i = 0; i < size; i += taken, used += length) {
        taken = at[i] == '&' ? take_entity(at + i, size - i, to + used, &length) : 0;
        if (taken)
            continue;
        to[used] = (char)(at[i] ? at[i] : '?');
        taken = length = 1;
    }
    to[used] = '\0';
    x->text.count = first + used + 1;
    return first;
}

/* ── The values of elements ───────────────────────────────────────────────────────── */

static struct element *innermost(struct xctrace *x, enum kind kind)
{
    struct element *e = x->open.item;

    for (size_t i = x->open.count; i-- > 0;)
        if (e[i].kind == kind)
            return &e[i];
    return NULL;
}

static int make_frame(struct xctrace *x, struct element *e)
{
    e->what = tt_builder_block(x->b,
                               &(struct tt_block_info){.name = text_at(x, e->text),
                                                       .module = text_at(x, e->more),
                                                       .file = text_at(x, e->file),
                                                       .kind = TT_KIND_FUNCTION});
    return e->what == TT_NONE ? tt_source_no_memory(x->s) : 0;
}

static int make_backtrace(struct xctrace *x, struct element *e)
{
    const uint32_t *block = x->frame.item;

    e->what = TT_BUILDER_ROOT;
    for (size_t i = x->frame.count; i-- > e->first;)
        e->what = tt_builder_context(x->b, e->what, block[i]);
    x->frame.count = e->first;
    return e->what == TT_NONE ? tt_source_no_memory(x->s) : 0;
}

/* "main  0x8480c1 (rust_test2, pid: 49374)" is main, "rust_test2 (49374)" is rust_test2. */
static void copy_name(const struct xctrace *x, size_t text, const char *end,
                      char to[NAME])
{
    const char *at = text_at(x, text), *stop = strstr(at, end);
    size_t length;

    for (const char *next = stop; next; next = strstr(next + 1, end))
        stop = next;
    length = stop ? (size_t)(stop - at) : strlen(at);
    length = length < NAME ? length : NAME - 1;
    memcpy(to, at, length);
    to[length] = '\0';
}

static int take_strand(struct xctrace *x, const struct element *row)
{
    const struct element *t = row->thread
                                  ? (struct element *)x->known.item + row->thread - 1
                                  : NULL;
    char name[NAME] = "", process[NAME] = "";
    struct tt_strand_info info = {
        .process = process, .name = name, .rank = TT_NONE, .members = 1};

    if (t) {
        copy_name(x, t->text, "  0x", name);
        copy_name(x, t->more, " (", process);
        info.thread = t->number;
        info.pid = t->process;
    }
    return tt_builder_strand(x->b, &info) == TT_NONE ? tt_source_no_memory(x->s) : 0;
}

static int add_row(struct xctrace *x, const struct element *row)
{
    struct tt_builder *b = x->b;
    uint32_t metric;
    int error;

    if (!row->has_stack)
        return 0;
    error = take_strand(x, row);
    if (error)
        return error;
    x->rows++;
    metric = tt_builder_metric(b, "samples", "", 0);
    tt_builder_add(b, TT_ROLE_SELF, row->what, metric, 1);
    if (__builtin_add_overflow(x->time, row->weight, &x->time) ||
        __builtin_add_overflow(x->cycles, row->cycles, &x->cycles))
        return wrong(x, TT_TOO_MUCH);
    if (row->has_weight) {
        metric = tt_builder_metric(b, "time", "ns", TT_METRIC_TIME | TT_METRIC_SAMPLED);
        tt_builder_add(b, TT_ROLE_SELF, row->what, metric, row->weight);
    }
    if (row->has_time)
        tt_builder_sample(b, metric, row->what, row->time,
                          row->has_weight ? row->weight : 1, 0);
    if (row->has_cycles)
        tt_builder_add(b, TT_ROLE_SELF, row->what, tt_builder_metric(b, "cycles", "", 0),
                       row->cycles);
    return 0;
}

/* Passes the element's value to the element around it; `known`: its index + 1 in
 * x->known, or 0. */
static int deliver(struct xctrace *x, const struct element *e, size_t known)
{
    static const enum kind in[] = {
        [BACKTRACE] = ROW, [TAGGED] = ROW,  [FRAME] = BACKTRACE, [BINARY] = FRAME,
        [SOURCE] = FRAME,  [PATH] = SOURCE, [WEIGHT] = ROW,      [CYCLES] = ROW,
        [TIME] = ROW,      [THREAD] = ROW,  [TID] = THREAD,      [PROCESS] = THREAD,
        [PID] = PROCESS};
    struct element *to = e->kind > ROW ? innermost(x, in[e->kind]) : NULL;

    if (e->kind == BACKTRACE && innermost(x, TAGGED))
        innermost(x, TAGGED)->what = e->what;
    if (!to)
        return 0;
    switch (e->kind) {
    case TAGGED:
    case BACKTRACE:
        to->has_stack = e->what != TT_NONE;
        to->what = e->what;
        break;
    case FRAME:
        return tt_source_append(x->s, &x->frame, &e->what);
    case BINARY:
        to->more = e->more ? e->more : e->text;
        break;
    case PATH:
        to->file = e->text;
        break;
    case SOURCE:
        to->file = e->file;
        break;
    case WEIGHT:
        to->weight = e->number;
        to->has_weight = 1;
        break;
    case CYCLES:
        to->cycles = e->number;
        to->has_cycles = 1;
        break;
    case TIME:
        to->time = e->number;
        to->has_time = 1;
        break;
    case THREAD:
        to->thread = known;
        break;
    case PROCESS:
        to->more = e->text;
        to->process = e->number;
        break;
    default: /* TID, PID */
        to->number = e->number;
    }
    return 0;
}

static int end_element(struct xctrace *x)
{
    struct element *open = x->open.item, e = open[x->open.count - 1];
    uint32_t *at;
    int is_new, error = e.kind == FRAME       ? make_frame(x, &e)
                        : e.kind == BACKTRACE ? make_backtrace(x, &e)
                        : e.kind == ROW       ? add_row(x, &e)
                                              : 0;

    x->open.count--;
    if (error || e.kind == OTHER || e.kind == ROW)
        return error;
    if (tt_vector_push(&x->known, &e) != 0)
        return tt_source_no_memory(x->s);
    if (e.id) {
        at = tt_pairs_get(&x->ids, e.id, 0, &is_new);
        if (!at)
            return tt_source_no_memory(x->s);
        if (!is_new)
            return wrong(x, "two elements have one id");
        *at = (uint32_t)x->known.count;
    }
    return deliver(x, &e, x->known.count);
}

static int refer(struct xctrace *x, enum kind kind, uint64_t id)
{
    const uint32_t *at = tt_pairs_find(&x->ids, id, 0);
    struct element e;

    if (kind == OTHER)
        return 0;
    if (!at || ((struct element *)x->known.item)[*at - 1].kind != kind)
        return wrong(x, "an element refers to one that there is not");
    e = ((struct element *)x->known.item)[*at - 1];
    return deliver(x, &e, *at);
}

/* ── XML ──────────────────────────────────────────────────────────────────────────── */

static int is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
static int is_name(char c) { return c && !is_space(c) && !strchr("=/>\"'<", c); }

static size_t name_length(const struct xctrace *x, size_t at)
{
    size_t length = 0;

    while (at + length < x->size && is_name(x->bytes[at + length]))
        length++;
    return length;
}

static int is_word(const char *at, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(at, word, length) == 0;
}

/* Takes an attribute of `e`; *ref: the id that it refers to. */
static int take_attribute(struct xctrace *x, struct element *e, const char *name,
                          size_t length, const char *value, size_t size, uint64_t *ref)
{
    const char *at = value;
    size_t *text = NULL;

    if (is_word(name, length, "id") || is_word(name, length, "ref")) {
        if (!tt_take_digits(&at, *name == 'i' ? &e->id : ref) || at != value + size)
            return wrong(x, "an id is no number");
        return 0;
    }
    if (e->kind == OTHER)
        return 0;
    if (is_word(name, length, "name") || (is_word(name, length, "fmt") && !e->text))
        text = &e->text;
    if (e->kind == BINARY && is_word(name, length, "path"))
        text = &e->more;
    if (!text)
        return 0;
    *text = keep_text(x, value, size);
    return *text == SIZE_MAX ? tt_source_no_memory(x->s) : 0;
}

static int take_attributes(struct xctrace *x, struct element *e, uint64_t *ref)
{
    for (;;) {
        size_t name, length;
        const char *end;
        int error;
        while (x->at < x->size && is_space(x->bytes[x->at]))
            x->at++;
        name = x->at;
        length = name_length(x, name);
        if (!length)
            return 0;
        x->at += length;
        if (x->size - x->at < 2 || x->bytes[x->at] != '=' ||
            (x->bytes[x->at + 1] != '"' && x->bytes[x->at + 1] != '\''))
            return wrong(x, "an attribute has no value");
        x->at += 2;
        end = memchr(x->bytes + x->at, x->bytes[x->at - 1], x->size - x->at);
        if (!end)
            return wrong(x, "the file ends within a value");
        error = take_attribute(x, e, x->bytes + name, length, x->bytes + x->at,
                               (size_t)(end - (x->bytes + x->at)), ref);
        if (error)
            return error;
        x->at = (size_t)(end - x->bytes) + 1;
    }
}

/* Takes the text up to the next element, for elements that are a number or a path. */
static int take_content(struct xctrace *x, struct element *e)
{
    const char *from = x->bytes + x->at, *end = memchr(from, '<', x->size - x->at),
               *at = from;

    if (!end)
        return wrong(x, "the file ends within an element");
    if (e->kind == PATH && end > from) {
        e->text = keep_text(x, from, (size_t)(end - from));
        return e->text == SIZE_MAX ? tt_source_no_memory(x->s) : 0;
    }
    if (e->kind == WEIGHT || e->kind == CYCLES || e->kind == TIME || e->kind == TID ||
        e->kind == PID)
        if (!tt_take_digits(&at, &e->number))
            return wrong(x, "this is no whole number");
    return 0;
}

static enum kind kind_of(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (is_word(name, length, kinds[i].name))
            return kinds[i].kind;
    return OTHER;
}

static int begin_element(struct xctrace *x)
{
    size_t length = name_length(x, x->at);
    struct element e = {.kind = kind_of(x->bytes + x->at, length),
                        .what = TT_NONE,
                        .first = x->frame.count};
    uint64_t ref = 0;
    int error, is_empty;

    x->at += length;
    error = take_attributes(x, &e, &ref);
    if (error)
        return error;
    is_empty = x->at < x->size && x->bytes[x->at] == '/';
    x->at += (size_t)is_empty;
    if (!length || x->at >= x->size || x->bytes[x->at++] != '>')
        return wrong(x, "this is no element of XML");
    if (ref)
        return is_empty ? refer(x, e.kind, ref) : wrong(x, "a reference has a content");
    error = is_empty ? 0 : take_content(x, &e);
    if (error || tt_vector_push(&x->open, &e) != 0)
        return error ?: tt_source_no_memory(x->s);
    return is_empty ? end_element(x) : 0;
}

/* Takes markup from a '<' on. */
static int take_markup(struct xctrace *x)
{
    const char *end;

    x->at++;
    if (x->at < x->size && (x->bytes[x->at] == '?' || x->bytes[x->at] == '!')) {
        end = memchr(x->bytes + x->at, '>', x->size - x->at);
        x->at = end ? (size_t)(end - x->bytes) + 1 : x->size;
        return 0;
    }
    if (x->at == x->size || x->bytes[x->at] != '/')
        return begin_element(x);
    end = memchr(x->bytes + x->at, '>', x->size - x->at);
    if (!end || !x->open.count)
        return wrong(x, "an element ends that did not begin");
    x->at = (size_t)(end - x->bytes) + 1;
    return end_element(x);
}

static int read_all(struct xctrace *x)
{
    int error = tt_source_all(x->s, &x->bytes, &x->size);
    const char *next;

    if (!error && keep_text(x, "", 0) == SIZE_MAX)
        error = tt_source_no_memory(x->s);
    while (!error && (next = memchr(x->bytes + x->at, '<', x->size - x->at))) {
        x->at = (size_t)(next - x->bytes);
        error = take_markup(x);
    }
    if (!error && x->open.count)
        return wrong(x, "the file ends within an element");
    if (!error && !x->rows)
        return wrong(x, "there are no backtraces in it; export the table time-profile or "
                        "cpu-profile");
    return error;
}

static int read_xctrace(struct tt_source *s, struct tt_builder *b)
{
    struct xctrace x = {.s = s, .b = b};

    tt_vector_init(&x.open, s->memory, sizeof(struct element));
    tt_vector_init(&x.known, s->memory, sizeof(struct element));
    tt_vector_init(&x.text, s->memory, 1);
    tt_vector_init(&x.frame, s->memory, sizeof(uint32_t));
    tt_pairs_init(&x.ids, s->memory);
    return read_all(&x);
}

static enum tt_match detect(const char *head, size_t size)
{
    static const char mark[] = "<trace-query-result";

    return tt_match_if(size > 5 && memcmp(head, "<?xml", 5) == 0 &&
                       memmem(head, size, mark, sizeof mark - 1));
}

const struct tt_format tt_format_xctrace = {
    .name = "xctrace",
    .about = "samples of Apple's Instruments (xctrace export)",
    .detect = detect,
    .read = read_xctrace,
};
