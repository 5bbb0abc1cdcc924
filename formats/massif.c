/* SPDX-License-Identifier: MIT */
/* massif.c - the heap over time, as Valgrind's massif writes it: reading.
 *
 *      snapshot=9
 *      time=146262
 *      mem_heap_B=42080                        n2: 42080 (heap allocation functions) …
 *      mem_heap_extra_B=672                     n1: 42080 0x109166: make (leak.c:4)
 *      mem_stacks_B=0                            n0: 42080 0x1091AA: work (leak.c:5)
 *      heap_tree=peak
 *
 * Each snapshot is a point of a series.  Some snapshots have a tree, from allocating
 * functions to their callers; the tree at the peak, or else the largest, is the profile.
 * A tree is read in one pass: its nodes are kept until a larger tree comes. */
#include <stdio.h>
#include <string.h>

#include "formats.h"
#include "heap-figures.h"
#include "naming.h"
#include "pairs.h"

struct node {
    uint64_t rest; /* bytes that its children do not account for */
    uint32_t block, depth;
};

struct level { /* on the path to the node that is read */
    uint64_t node;
    uint32_t children; /* not yet read */
};

enum { TIME, HEAP, EXTRA, STACKS, SNAPSHOT_FIGURES, ALL_FIGURES = 15 };

struct massif {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_heap_profile heap;
    uint64_t scale;            /* ns of a unit of time, or 1 */
    uint32_t memory, function; /* series */
    uint64_t now[SNAPSHOT_FIGURES], last;
    unsigned has;                /* bits: which fields were there */
    struct tt_vector node, best; /* struct node */
    struct tt_vector level;      /* struct level */
    uint64_t best_bytes;
    int best_is_peak, snapshots, is_open;
};

static const char below[] = "[callers below the threshold]";

/* ── Trees ────────────────────────────────────────────────────────────────────────── */

/* Returns the block of a node from the text after its bytes. */
static uint32_t node_block(struct massif *m, const char *text, size_t length)
{
    if (strncmp(text, "0x", 2) == 0)
        return tt_heap_frame(&m->heap, text, length);
    if (strncmp(text, "in ", 3) == 0 && strstr(text, " place"))
        text = below, length = sizeof below - 1;
    return tt_frames_block(&m->heap.names, text, length);
}

static void add_point(struct massif *m, const char *text, size_t length, uint64_t bytes)
{
    char label[512];

    text = tt_heap_frame_name(text, &length);
    if (strncmp(text, "in ", 3) == 0 && strstr(text, " place"))
        text = "[below the threshold]", length = strlen(text);
    (void)snprintf(label, sizeof label, "%.*s", (int)(length < 500 ? length : 500), text);
    tt_builder_point(m->b, m->function, label, m->now[TIME], bytes);
}

/* Adds a node below the innermost one of the path, and extends the path by it. */
static int add_node(struct massif *m, uint32_t block, uint64_t bytes, uint32_t children)
{
    struct node *n = tt_vector_add(&m->node, 1), *parent = m->node.item;
    struct level *l = m->level.item;
    uint32_t depth = (uint32_t)m->level.count;

    if (block == TT_NONE || !n)
        return tt_source_no_memory(m->s);
    *n = (struct node){bytes, block, depth};
    if (depth) {
        parent += l[depth - 1].node;
        if (bytes > parent->rest)
            return tt_source_fail(m->s,
                                  "this node has more bytes than are left of the one "
                                  "that it belongs to");
        parent->rest -= bytes;
        l[depth - 1].children--;
    }
    if (tt_vector_push(&m->level, &(struct level){m->node.count - 1, children}) != 0)
        return tt_source_no_memory(m->s);
    for (l = m->level.item; m->level.count && !l[m->level.count - 1].children;)
        m->level.count--;
    return 0;
}

/* "  n2: 1100 0x109166: make (leak.c:4)" */
static int take_node(struct massif *m, const char *line, size_t length)
{
    const char *at = line;
    uint64_t children, bytes;

    while (*at == ' ')
        at++;
    if (*at++ != 'n' || !tt_take_digits(&at, &children) || children > UINT32_MAX ||
        *at++ != ':' || *at++ != ' ' || !tt_take_digits(&at, &bytes) || *at++ != ' ')
        return tt_source_fail(m->s, "a node of the heap tree is due: 'n1: BYTES WHERE'");
    length -= (size_t)(at - line);
    if (m->level.count == 1)
        add_point(m, at, length, bytes);
    return add_node(m, node_block(m, at, length), bytes, (uint32_t)children);
}

static int take_tree(struct massif *m, int is_peak)
{
    struct tt_vector other = m->best;
    size_t length;
    char *line;
    int more;

    m->node.count = 0;
    do {
        more = tt_source_line(m->s, &line, &length);
        if (more == 0)
            return tt_source_fail(m->s, "the file ends within a heap tree");
        if (more < 0 || (more = take_node(m, line, length)) < 0)
            return more;
    } while (m->level.count);
    if (m->best_is_peak > is_peak ||
        (m->best_is_peak == is_peak && m->best.count && m->now[HEAP] <= m->best_bytes))
        return 0;
    m->best_bytes = m->now[HEAP];
    m->best_is_peak = is_peak;
    m->best = m->node;
    m->node = other;
    return 0;
}

/* ── Contexts ─────────────────────────────────────────────────────────────────────── */

/* A massif tree goes from the leaf to its callers, but contexts go from the root: a
 * node's path is read backwards.  The beginning of the path has mostly been the path of
 * another node.  The longest such beginning is found by a hash of its blocks,
 *
 *      hash[d] = hash[d - 1] · BASE + block[d]
 *      of the blocks after c up to d: hash[d] - hash[c] · BASE^(d - c)
 *
 * and only the rest costs time. */
struct paths {
    struct tt_vector block;       /* uint32_t, by depth: of the current node */
    struct tt_vector hash, power; /* uint64_t, by depth */
    struct tt_pairs known;        /* (hash, how many blocks) to a context: every STEP
                                     blocks */
};

enum { BASE = 0x3c6ef372, STEP = 16, MOST_CONTEXTS = 1 << 20 };
static const uint64_t prime = ((uint64_t)1 << 61) - 1;

static uint64_t times(uint64_t a, uint64_t b)
{
    return (uint64_t)((unsigned __int128)a * b % prime);
}

/* Sets the block of a node at its depth; those above it are set already. */
static int set_block(struct paths *p, const struct node *n)
{
    uint32_t *block;
    uint64_t *hash, *power;

    if (n->depth >= p->block.count &&
        (!tt_vector_add(&p->block, 1) || !tt_vector_add(&p->hash, 1) ||
         !tt_vector_add(&p->power, 1)))
        return -1;
    block = p->block.item;
    hash = p->hash.item;
    power = p->power.item;
    block[n->depth] = n->block;
    power[n->depth] = n->depth ? times(power[n->depth - 1], BASE) : 1;
    hash[n->depth] = n->depth ? (times(hash[n->depth - 1], BASE) + n->block + 1) % prime
                              : 0;
    return 0;
}

/* Returns the hash of the innermost `count` blocks up to a depth: the beginning of a
 * path. */
static uint64_t hash_of(const struct paths *p, uint32_t depth, uint32_t count)
{
    const uint64_t *hash = p->hash.item, *power = p->power.item;

    return (hash[depth] + prime - times(hash[depth - count], power[count])) % prime;
}

/* The outermost node is not a function. */
static uint32_t find_context(struct massif *m, struct paths *p, uint32_t depth)
{
    const uint32_t *block = p->block.item, *known;
    uint32_t context = TT_BUILDER_ROOT, least = 0, most = depth / STEP, *noted;
    int is_new;

    while (least < most) {
        uint32_t middle = most - (most - least) / 2, count = middle * STEP;
        known = tt_pairs_find(&p->known, hash_of(p, depth, count), count);
        if (known) {
            least = middle;
            context = *known;
        } else {
            most = middle - 1;
        }
    }
    for (uint32_t count = least * STEP; count++ < depth && context != TT_NONE;) {
        context = tt_builder_context(m->b, context, block[depth - count + 1]);
        if (count % STEP)
            continue;
        noted = tt_pairs_get(&p->known, hash_of(p, depth, count), count, &is_new);
        if (!noted)
            return TT_NONE;
        *noted = context;
    }
    return context;
}

/* Adds the bytes that callers do not account for, at each node's path.  massif indents by
 * depth, so all paths together are shorter than its file. */
static int add_tree(struct massif *m)
{
    const struct node *n = m->best.item;
    struct paths p = {0};
    int error = 0;

    tt_vector_init(&p.block, m->s->memory, sizeof(uint32_t));
    tt_vector_init(&p.hash, m->s->memory, sizeof(uint64_t));
    tt_vector_init(&p.power, m->s->memory, sizeof(uint64_t));
    tt_pairs_init(&p.known, m->s->memory);
    for (size_t i = 0; !error && i < m->best.count; i++) {
        if (set_block(&p, &n[i]) != 0)
            error = tt_source_no_memory(m->s);
        else if (n[i].rest)
            error = tt_heap_add(&m->heap, TT_HEAP_PEAK_BYTES,
                                find_context(m, &p, n[i].depth), n[i].rest);
        if (!error && p.known.pair.count * STEP > MOST_CONTEXTS + tt_source_offset(m->s))
            error = tt_source_fail(m->s, "the paths of the largest tree are longer than "
                                         "the file");
    }
    tt_pairs_fini(&p.known);
    tt_vector_fini(&p.power);
    tt_vector_fini(&p.hash);
    tt_vector_fini(&p.block);
    return error;
}

/* ── Snapshots ────────────────────────────────────────────────────────────────────── */

static const char *const keys[SNAPSHOT_FIGURES] = {
    "time=", "mem_heap_B=", "mem_heap_extra_B=", "mem_stacks_B="};

/* A complete snapshot becomes points. */
static int end_snapshot(struct massif *m)
{
    if (!m->is_open)
        return 0;
    if (m->has != ALL_FIGURES)
        return tt_source_fail(m->s,
                              "a snapshot before this has no time, or not all sizes");
    tt_builder_point(m->b, m->memory, "heap", m->now[TIME], m->now[HEAP]);
    tt_builder_point(m->b, m->memory, "overhead", m->now[TIME], m->now[EXTRA]);
    tt_builder_point(m->b, m->memory, "stacks", m->now[TIME], m->now[STACKS]);
    m->last = m->now[TIME] > m->last ? m->now[TIME] : m->last;
    m->is_open = 0;
    return 0;
}

static int take_figure(struct massif *m, int which, const char *text)
{
    uint64_t n;

    if (!tt_take_digits(&text, &n) || *text ||
        (which == TIME && __builtin_mul_overflow(n, m->scale, &n)))
        return tt_source_fail(m->s, "'%s' wants a number", keys[which]);
    m->now[which] = n;
    m->has |= 1u << which;
    return 0;
}

static int take_heap_tree(struct massif *m, const char *what)
{
    int error = 0;

    if (m->has != ALL_FIGURES)
        return tt_source_fail(m->s, "a heap tree comes before the sizes of its snapshot");
    if (strcmp(what, "peak") == 0 || strcmp(what, "detailed") == 0)
        error = take_tree(m, *what == 'p');
    else if (strcmp(what, "empty") != 0)
        error = tt_source_fail(
            m->s, "a heap tree is empty, detailed or peak, and not '%s'", what);
    return error ?: end_snapshot(m);
}

static int take_line(struct massif *m, const char *line)
{
    if (!*line || *line == '#')
        return 0;
    if (strncmp(line, "snapshot=", 9) == 0) {
        m->snapshots++;
        m->is_open = 1;
        m->has = 0;
        return 0;
    }
    if (!m->is_open)
        return tt_source_fail(m->s, "a snapshot is due: 'snapshot=NUMBER'");
    for (int i = 0; i < SNAPSHOT_FIGURES; i++)
        if (strncmp(line, keys[i], strlen(keys[i])) == 0)
            return take_figure(m, i, line + strlen(keys[i]));
    if (strncmp(line, "heap_tree=", 10) == 0)
        return take_heap_tree(m, line + 10);
    return tt_source_fail(m->s, "no line of a snapshot begins like this");
}

/* ── The file ─────────────────────────────────────────────────────────────────────── */

static int take_unit(struct massif *m, const char *unit)
{
    m->scale = 1;
    if (strcmp(unit, "ms") == 0)
        m->scale = 1000000;
    else if (strcmp(unit, "i") == 0)
        tt_heap_clock(m->b, "instructions");
    else if (strcmp(unit, "B") == 0)
        tt_heap_clock(m->b, "bytes");
    else
        return tt_source_fail(m->s, "the unit of time is i, ms or B, and not '%s'", unit);
    return 0;
}

static int read_header(struct massif *m)
{
    static const char *const starts[] = {"desc: ", "cmd: ", "time_unit: "};
    size_t length;
    char *line;
    int more;

    for (int i = 0; i < 3; i++) {
        more = tt_source_line(m->s, &line, &length);
        if (more < 0)
            return more;
        if (!more || strncmp(line, starts[i], strlen(starts[i]) - 1) != 0)
            return tt_source_fail(m->s, "a line '%s' is due", starts[i]);
        line += strlen(starts[i]) - (length < strlen(starts[i]));
        if (i == 1)
            tt_builder_fact(m->b, "program", TT_FACT_EACH, 1, line);
        if (i == 2)
            return take_unit(m, line);
    }
    return 0;
}

static int read_snapshots(struct massif *m)
{
    size_t length;
    char *line;
    int error = read_header(m);

    m->memory = tt_builder_series(m->b, "memory", "bytes", "kind", 0);
    m->function = tt_builder_series(m->b, "heap by function", "bytes", "function", 0);
    while (!error && (error = tt_source_line(m->s, &line, &length)) > 0)
        error = take_line(m, line);
    if (!error && m->is_open)
        error = tt_source_fail(m->s, "the file ends within a snapshot");
    if (!error && !m->snapshots)
        error = tt_source_fail(m->s, "there is no snapshot in it");
    error = error ?: add_tree(m);
    if (error)
        return error;
    tt_heap_finish(&m->heap, NULL);
    if (m->scale != 1)
        tt_builder_fact(m->b, "lasted", TT_FACT_MAX, m->last, "");
    return 0;
}

static int read_massif(struct tt_source *s, struct tt_builder *b)
{
    struct massif m = {.s = s, .b = b};

    tt_heap_init(&m.heap, s, b);
    tt_vector_init(&m.node, s->memory, sizeof(struct node));
    tt_vector_init(&m.best, s->memory, sizeof(struct node));
    tt_vector_init(&m.level, s->memory, sizeof(struct level));
    return read_snapshots(&m);
}

static enum tt_match detect(const char *head, size_t size)
{
    const char *end = memchr(head, '\n', size);

    return tt_match_if(end && size > 6 && memcmp(head, "desc:", 5) == 0 &&
                       (size_t)(head + size - end) > 5 &&
                       memcmp(end + 1, "cmd:", 4) == 0);
}

const struct tt_format tt_format_massif = {
    .name = "massif",
    .about = "the heap over time, by Valgrind's massif",
    .detect = detect,
    .read = read_massif,
};
