/* SPDX-License-Identifier: MIT */
/* pgcl.c - the call-graph profiles of Clean: reading.
 *
 * A file is one tree in preorder, each entry with the number of its children, so the
 * number of entries still to come is a single counter.  It is read twice: first to check
 * that it is complete, and to find the layout, which version 1 does not state; then to
 * take the figures. */
#include "pgcl-write.h"

#include <string.h>

#include "frames.h"

enum { HEADER = 16, LONGEST_ORDER = 1 << 28 };

const char *const tt_pgcl_metric[TT_PGCL_FIELDS] = {
    "ticks", "words", "tails and returns", "strict calls", "lazy calls", "curried calls",
};

struct centre {
    uint32_t module; /* from 1 */
    uint32_t block;
    const char *name; /* in the file */
};

struct entry {
    uint64_t centre, figure[TT_PGCL_FIELDS], children;
};

struct open {
    uint32_t context;
    uint64_t left; /* children not yet read */
};

struct pgcl {
    struct tt_source *s;
    struct tt_builder *b;
    const char *bytes;
    size_t size, at;
    uint32_t version, modules, centres;
    enum tt_pgcl_layout layout;
    uint64_t frequency, overhead, entries;
    size_t tree;             /* where the root begins */
    struct tt_vector module; /* const char * */
    struct tt_vector centre; /* struct centre */
    struct tt_vector open;   /* struct open */
    struct tt_vector order;  /* char */
    struct tt_frames figure[TT_PGCL_FIELDS], calls;
    int many_calls; /* they are more than 64 bits hold */
};

static int fail(struct pgcl *x, size_t at, const char *what)
{
    return tt_source_fail_at(x->s, at, "%s", what);
}

/* ── Pieces ───────────────────────────────────────────────────────────────────────── */

static uint32_t word_at(const struct pgcl *x, size_t at)
{
    return (uint32_t)tt_number_at(x->bytes + at, 4);
}

/* Returns NULL, or an error text. */
static const char *take_number(struct pgcl *x, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; x->at < x->size; shift += 7) {
        unsigned char byte = (unsigned char)x->bytes[x->at];
        if (shift == 63 && byte > 1)
            return "a number has more than 64 bits";
        x->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return NULL;
    }
    return "the file ends within a number";
}

static const char *take_text(struct pgcl *x, const char **text)
{
    const char *end = memchr(x->bytes + x->at, '\0', x->size - x->at);

    if (!end)
        return "the file ends within a name";
    *text = x->bytes + x->at;
    x->at = (size_t)(end - x->bytes) + 1;
    return NULL;
}

static const char *take_entry(struct pgcl *x, enum tt_pgcl_layout layout, struct entry *e)
{
    const char *wrong = take_number(x, &e->centre);

    for (int i = 0; !wrong && i < TT_PGCL_FIELDS; i++)
        if (i == TT_PGCL_TAILS && layout == TT_PGCL_1_SHORT)
            e->figure[i] = 0;
        else
            wrong = take_number(x, &e->figure[i]);
    return wrong ? wrong : take_number(x, &e->children);
}

/* ── Is it whole? ─────────────────────────────────────────────────────────────────── */

/* Returns NULL, or an error text for the byte x->at. */
static const char *check_tree(struct pgcl *x, enum tt_pgcl_layout layout)
{
    uint64_t left = 1;

    x->at = x->tree;
    for (x->entries = 0; left; x->entries++, left--) {
        size_t start = x->at;
        struct entry e = {0};
        const char *wrong = take_entry(x, layout, &e);
        if (wrong)
            return wrong;
        if (e.centre == 0 || e.centre > x->centres) {
            x->at = start;
            return "an entry is of a cost centre that there is not";
        }
        if (e.children > x->size - x->at || left - 1 + e.children > x->size - x->at) {
            x->at = start;
            return "an entry has more children than the file has bytes";
        }
        left += e.children;
    }
    return x->at == x->size ? NULL : "something follows the last entry";
}

static int find_layout(struct pgcl *x)
{
    const char *wrong = NULL, *first = NULL;
    size_t at = 0;

    x->layout = x->version == 2 ? TT_PGCL_2 : TT_PGCL_1;
    if (!(wrong = check_tree(x, x->layout)))
        return 0;
    first = wrong;
    at = x->at;
    if (x->version == 1) {
        x->layout = TT_PGCL_1_SHORT;
        if (!(wrong = check_tree(x, x->layout)))
            return 0;
    }
    return x->at > at ? fail(x, x->at, wrong) : fail(x, at, first);
}

/* ── Names ────────────────────────────────────────────────────────────────────────── */

static int read_modules(struct pgcl *x)
{
    for (uint32_t i = 0; i < x->modules; i++) {
        const char *text, *wrong = take_text(x, &text);
        if (wrong)
            return fail(x, x->at, wrong);
        if (tt_source_append(x->s, &x->module, &text) != 0)
            return -TT_ERR_MEMORY;
    }
    return 0;
}

static int read_centres(struct pgcl *x)
{
    for (uint32_t i = 0; i < x->centres; i++) {
        size_t start = x->at;
        uint64_t module;
        const char *name = NULL, *wrong = take_number(x, &module);
        struct centre *c;
        if (!wrong && (module == 0 || module > x->modules)) {
            x->at = start;
            wrong = "a cost centre is of a module that there is not";
        }
        wrong = wrong ? wrong : take_text(x, &name);
        if (wrong)
            return fail(x, x->at, wrong);
        if (!(c = tt_vector_add(&x->centre, 1)))
            return tt_source_no_memory(x->s);
        *c = (struct centre){.module = (uint32_t)module, .name = name};
        c->block = tt_builder_block(
            x->b,
            &(struct tt_block_info){
                .name = name, .module = ((const char **)x->module.item)[module - 1]});
    }
    return 0;
}

static int read_header(struct pgcl *x)
{
    const char *wrong;

    if (x->size < HEADER)
        return fail(x, x->size, "the file ends within its header");
    x->version = word_at(x, 4);
    x->modules = word_at(x, 8);
    x->centres = word_at(x, 12);
    x->at = HEADER;
    if (memcmp(x->bytes, "prof", 4) != 0)
        return fail(x, 0, "this does not begin with \"prof\"");
    if (x->version != 1 && x->version != 2)
        return tt_source_fail_at(x->s, 4, "version %u is not known, only 1 and 2 are",
                                 x->version);
    if (x->version == 1)
        return 0;
    wrong = take_number(x, &x->frequency);
    wrong = wrong ? wrong : take_number(x, &x->overhead);
    return wrong ? fail(x, x->at, wrong) : 0;
}

/* ── The order of the file ────────────────────────────────────────────────────────── */

static int note_number(struct pgcl *x, uint64_t n)
{
    char text[16];
    size_t length = 0;
    char *to;

    for (; n >= 32; n >>= 5)
        text[length++] = (char)('P' + (n & 31));
    text[length++] = (char)('0' + n);
    if (!(to = tt_vector_add(&x->order, length)))
        return tt_source_no_memory(x->s);
    memcpy(to, text, length);
    return 0;
}

static int note_text(struct pgcl *x, const char *text)
{
    size_t length = strlen(text);
    int error = note_number(x, length);
    char *to = error || !length ? NULL : tt_vector_add(&x->order, length);

    if (to)
        memcpy(to, text, length);
    return error || to || !length ? error : tt_source_no_memory(x->s);
}

static int note_names(struct pgcl *x)
{
    const char *const *module = x->module.item;
    const struct centre *centre = x->centre.item;
    int error = note_number(x, x->layout);

    error = error ?: note_number(x, x->modules);
    error = error ?: note_number(x, x->centres);
    error = error ?: note_number(x, x->entries);
    for (uint32_t i = 0; !error && i < x->modules; i++)
        error = note_text(x, module[i]);
    for (uint32_t i = 0; !error && i < x->centres; i++) {
        error = note_number(x, centre[i].module);
        error = error ?: note_text(x, centre[i].name);
    }
    return error;
}

static int note_entry(struct pgcl *x, const struct entry *e)
{
    int error = x->order.count > LONGEST_ORDER ? 0 : note_number(x, e->centre);

    return error || x->order.count > LONGEST_ORDER ? error : note_number(x, e->children);
}

/* ── The tree ─────────────────────────────────────────────────────────────────────── */

static int add_figures(struct pgcl *x, uint32_t context, const struct entry *e)
{
    int error;

    for (int i = 0; i < TT_PGCL_FIELDS; i++) {
        error = tt_frames_add(&x->figure[i], context, e->figure[i]);
        if (error)
            return error == -TT_ERR_MEMORY ? tt_source_no_memory(x->s)
                                           : fail(x, x->at, TT_TOO_MUCH);
    }
    for (int i = TT_PGCL_STRICT; i <= TT_PGCL_CURRIED; i++) {
        error = tt_frames_add(&x->calls, context, e->figure[i]);
        if (error == -TT_ERR_MEMORY)
            return tt_source_no_memory(x->s);
        x->many_calls |= error != 0;
    }
    return 0;
}

static int read_entry(struct pgcl *x)
{
    struct open *open = x->open.item;
    uint32_t parent = TT_BUILDER_ROOT, context;
    struct entry e = {0};
    int error;

    (void)take_entry(x, x->layout, &e); /* it has been checked */
    if (x->open.count) {
        parent = open[x->open.count - 1].context;
        open[x->open.count - 1].left--;
    }
    context = tt_builder_context(x->b, parent,
                                 ((struct centre *)x->centre.item)[e.centre - 1].block);
    error = note_entry(x, &e);
    error = error ?: add_figures(x, context, &e);
    if (error)
        return error;
    if (tt_vector_push(&x->open, &(struct open){context, e.children}) != 0)
        return tt_source_no_memory(x->s);
    for (open = x->open.item; x->open.count && !open[x->open.count - 1].left;)
        x->open.count--;
    return 0;
}

/* Adds the ticks that profiling itself took: the file has an estimate for 1000 calls.
 * They are at most the ticks of the context. */
static void add_overhead(struct pgcl *x, uint32_t metric)
{
    const uint64_t *ticks = x->figure[TT_PGCL_TICKS].amount.item;
    const size_t contexts = x->figure[TT_PGCL_TICKS].amount.count;

    for (size_t c = 0; x->overhead && c < contexts; c++) {
        unsigned __int128 calls = 0, added;
        for (int i = TT_PGCL_TAILS; i <= TT_PGCL_CURRIED; i++)
            if (c < x->figure[i].amount.count)
                calls += ((const uint64_t *)x->figure[i].amount.item)[c];
        added = calls * x->overhead / 1000;
        if (added > ticks[c])
            added = ticks[c];
        if (added)
            tt_builder_add(x->b, TT_ROLE_OWN, (uint32_t)c, metric, (uint64_t)added);
    }
}

static void finish(struct pgcl *x)
{
    static const uint32_t flags[TT_PGCL_FIELDS] = {TT_METRIC_TIME, TT_METRIC_SPACE};
    static const char *const units[TT_PGCL_FIELDS] = {"ticks", "words", "", "", "", ""};
    char *end = x->order.count > LONGEST_ORDER ? NULL : tt_vector_add(&x->order, 1);

    add_overhead(x, tt_builder_metric(x->b, tt_pgcl_metric[0], units[0], flags[0]));
    if (!x->many_calls)
        tt_frames_flush(&x->calls, tt_builder_metric(x->b, "calls", "", TT_METRIC_CALLS));
    for (int i = 0; i < TT_PGCL_FIELDS; i++)
        tt_frames_flush(&x->figure[i],
                        tt_builder_metric(x->b, tt_pgcl_metric[i], units[i], flags[i]));
    tt_builder_fact(x->b, TT_PGCL_FREQUENCY, TT_FACT_MAX, x->frequency, "");
    tt_builder_fact(x->b, TT_PGCL_OVERHEAD, TT_FACT_MAX, x->overhead, "");
    if (end)
        tt_builder_fact(x->b, TT_PGCL_ORDER, TT_FACT_EACH, 0, x->order.item);
}

static int read_all(struct pgcl *x)
{
    int error = read_header(x);

    error = error ?: read_modules(x);
    error = error ?: read_centres(x);
    x->tree = x->at;
    error = error ?: find_layout(x);
    error = error ?: note_names(x);
    x->at = x->tree;
    for (uint64_t i = 0; !error && i < x->entries; i++)
        error = read_entry(x);
    if (!error)
        finish(x);
    return error;
}

static int read_pgcl(struct tt_source *s, struct tt_builder *b)
{
    struct pgcl x = {.s = s, .b = b};
    int error = tt_source_all(s, &x.bytes, &x.size);

    if (error)
        return error;
    tt_vector_init(&x.module, s->memory, sizeof(const char *));
    tt_vector_init(&x.centre, s->memory, sizeof(struct centre));
    tt_vector_init(&x.open, s->memory, sizeof(struct open));
    tt_vector_init(&x.order, s->memory, 1);
    for (int i = 0; i < TT_PGCL_FIELDS; i++)
        tt_frames_init(&x.figure[i], b, s->memory);
    tt_frames_init(&x.calls, b, s->memory);
    return read_all(&x);
}

static enum tt_match detect(const char *head, size_t size)
{
    return tt_match_if(size >= HEADER && memcmp(head, "prof", 4) == 0 && !head[6] &&
                       !head[7]);
}

const struct tt_format tt_format_pgcl = {
    .name = "pgcl",
    .about = "call-graph profiles of Clean",
    .flags = TT_FORMAT_PATHS,
    .detect = detect,
    .read = read_pgcl,
    .write = tt_pgcl_write,
};
