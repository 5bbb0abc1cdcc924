/* SPDX-License-Identifier: MIT */
/* rule-builder.c - storing rows and rules, each rule once.
 *
 * A module has thousands of functions and few ways to leave them: a row points to its rule,
 * and equal rules are found by their hash. */
#include "rule-builder.h"

#include <string.h>
#include <sys/mman.h>

#include "assertion.h"
#include "tallytree.h"

enum {
    RULE_WORDS = sizeof(struct tt_rule) / sizeof(uint32_t),
    EXPRESSION_MAX = 255, /* one byte of length */
    INDEX_FIRST = 1 << 10,
};

_Static_assert(sizeof(struct tt_rule) % sizeof(uint32_t) == 0, "a rule is words");

/* ── Rules ────────────────────────────────────────────────────────────────────────── */

static int fits(int64_t n, unsigned bits)
{
    return n >= -((int64_t)1 << (bits - 1)) && n < (int64_t)1 << (bits - 1);
}

/* The rule's words, and their number; 0 when it cannot be expressed. */
static unsigned encode(const struct tt_leaving *l, uint32_t word[RULE_WORDS + 32])
{
    struct tt_rule rule = {
        .flags = l->flags, .base = l->base, .ra = l->ra, .set = l->set};
    unsigned n = RULE_WORDS, plain = !l->flags;

    if (l->base == 255 || !fits(l->offset, 32))
        return 0;
    if ((l->set & (uint32_t)1 << l->ra) && l->reg[l->ra].how == TT_HOW_LOST)
        rule.flags |= TT_RULE_ROOT;
    for (uint32_t set = l->set; set; set &= set - 1) {
        unsigned r = (unsigned)__builtin_ctz(set);
        if (!fits(l->reg[r].n, 32 - TT_HOW_BITS))
            return 0;
        word[n++] = (uint32_t)l->reg[r].n << TT_HOW_BITS | l->reg[r].how;
        plain &= l->reg[r].how == TT_HOW_SAVED;
    }
    rule.offset = (int32_t)l->offset;
    rule.flags |= plain ? TT_RULE_PLAIN : 0;
    memcpy(word, &rule, sizeof rule);
    return n;
}

static uint64_t hash(const uint32_t *word, unsigned n)
{
    uint64_t h = n;

    for (unsigned i = 0; i < n; i++)
        h = (h ^ word[i]) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static unsigned words_of(const uint32_t *word)
{
    const struct tt_rule *rule = (const struct tt_rule *)(const void *)word;

    return RULE_WORDS + (unsigned)__builtin_popcount(rule->set);
}

/* How long a rule is stands in its first words: those of another length differ there. */
static int is_same(const uint32_t *a, const uint32_t *b, unsigned n)
{
    while (n && *a == *b)
        a++, b++, n--;
    return !n;
}

/* Where the rule stands in the index, or could. */
static struct tt_indexed *slot(const struct tt_rule_builder *b, const uint32_t *word,
                               unsigned n, uint64_t h)
{
    const uint32_t *all = b->word.bytes;
    uint64_t mask = b->index.used / sizeof(struct tt_indexed) - 1;
    struct tt_indexed *index = b->index.bytes;

    for (uint64_t at = h;; at++) {
        struct tt_indexed *s = &index[at & mask];
        if (!s->place ||
            (s->hash == (uint32_t)(h >> 32) && is_same(all + s->place - 1, word, n)))
            return s;
    }
}

static int grow_index(struct tt_rule_builder *b)
{
    size_t size = b->index.used ? b->index.used : INDEX_FIRST * sizeof(struct tt_indexed);
    const uint32_t *all = b->word.bytes;
    size_t words = b->word.used / sizeof *all;

    if (!tt_mapped_array_add(&b->index, size))
        return -TT_ERR_MEMORY;
    memset(b->index.bytes, 0, b->index.used);
    for (size_t at = 0, n; at < words; at += n) {
        n = words_of(all + at);
        uint64_t h = hash(all + at, (unsigned)n);
        *slot(b, all + at, (unsigned)n, h) = (struct tt_indexed){(uint32_t)at + 1,
                                                                 (uint32_t)(h >> 32)};
    }
    return 0;
}

/* The first word of the rule, new or not. */
static int intern(struct tt_rule_builder *b, const uint32_t *word, unsigned n,
                  uint32_t *rule)
{
    uint64_t h = hash(word, n);
    struct tt_indexed *s;
    void *place;

    if (b->rules >= b->index.used / sizeof *s / 2 && grow_index(b) != 0)
        return -TT_ERR_MEMORY;
    s = slot(b, word, n, h);
    TT_ASSERT(b->rules < b->index.used / sizeof *s);
    if (!s->place) {
        uint32_t at = (uint32_t)(b->word.used / sizeof *word);
        if (!(place = tt_mapped_array_add(&b->word, n * sizeof *word)))
            return -TT_ERR_MEMORY;
        memcpy(place, word, n * sizeof *word);
        *s = (struct tt_indexed){at + 1, (uint32_t)(h >> 32)};
        b->rules++;
    }
    *rule = s->place - 1;
    return 0;
}

/* ── Rows and functions ───────────────────────────────────────────────────────────── */

static struct tt_function *last_function(const struct tt_rule_builder *b)
{
    TT_ASSERT(b->function.used);
    return (struct tt_function *)b->function.bytes +
           b->function.used / sizeof(struct tt_function) - 1;
}

int tt_rule_builder_function(struct tt_rule_builder *b, uint32_t start, uint32_t end)
{
    struct tt_function *f = tt_mapped_array_add(&b->function, sizeof *f);

    if (!f)
        return -TT_ERR_MEMORY;
    TT_ASSERT(start <= end);
    f->start = start;
    f->end = end;
    f->row = (uint32_t)(b->row.used / sizeof(struct tt_unwind_row));
    return 0;
}

void tt_rule_builder_drop(struct tt_rule_builder *b)
{
    b->row.used = last_function(b)->row * sizeof(struct tt_unwind_row);
    b->function.used -= sizeof(struct tt_function);
}

int tt_rule_builder_row(struct tt_rule_builder *b, uint32_t at,
                        const struct tt_leaving *l)
{
    uint32_t word[RULE_WORDS + 32], rule;
    unsigned n = encode(l, word);
    size_t rows = b->row.used / sizeof(struct tt_unwind_row);
    struct tt_unwind_row *row = b->row.bytes;
    int error = n ? intern(b, word, n, &rule) : -TT_ERR_FORMAT;

    if (error)
        return error;
    if (rows > last_function(b)->row && row[rows - 1].rule == rule)
        return 0;
    if (!(row = tt_mapped_array_add(&b->row, sizeof *row)))
        return -TT_ERR_MEMORY;
    row->at = at;
    row->rule = rule;
    return 0;
}

int tt_rule_builder_expression(struct tt_rule_builder *b, const uint8_t *bytes,
                               size_t size, int64_t *place)
{
    uint8_t *to;

    *place = (int64_t)b->expression.used;
    if (size > EXPRESSION_MAX)
        return -TT_ERR_FORMAT;
    if (!(to = tt_mapped_array_add(&b->expression, size + 1)))
        return -TT_ERR_MEMORY;
    to[0] = (uint8_t)size;
    memcpy(to + 1, bytes, size);
    return 0;
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

static char *copy(char *to, const struct tt_mapped_array *from)
{
    if (from->used)
        memcpy(to, from->bytes, from->used);
    return to + from->used;
}

int tt_rule_builder_finish(struct tt_rule_builder *b, uint64_t base,
                           struct tt_rules **rules)
{
    struct tt_rules *r;
    size_t size;
    char *at;

    *rules = NULL;
    if (tt_rule_builder_function(b, UINT32_MAX, UINT32_MAX) != 0)
        return -TT_ERR_MEMORY;
    size = sizeof *r + b->function.used + b->row.used + b->word.used + b->expression.used;
    r = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (r == MAP_FAILED)
        return -TT_ERR_MEMORY;
    r->size = size;
    r->base = base;
    r->functions = (uint32_t)(b->function.used / sizeof(struct tt_function)) - 1;
    r->rows = (uint32_t)(b->row.used / sizeof(struct tt_unwind_row));
    r->words = (uint32_t)(b->word.used / sizeof(uint32_t));
    r->bytes = (uint32_t)b->expression.used;
    at = (char *)(r + 1);
    r->function = (const struct tt_function *)(void *)at;
    r->row = (const struct tt_unwind_row *)(void *)(at = copy(at, &b->function));
    r->word = (const uint32_t *)(void *)(at = copy(at, &b->row));
    r->expression = (const uint8_t *)(at = copy(at, &b->word));
    copy(at, &b->expression);
    mprotect(r, size, PROT_READ);
    *rules = r;
    return 0;
}

void tt_rule_builder_fini(struct tt_rule_builder *b)
{
    tt_mapped_array_fini(&b->function);
    tt_mapped_array_fini(&b->row);
    tt_mapped_array_fini(&b->word);
    tt_mapped_array_fini(&b->expression);
    tt_mapped_array_fini(&b->index);
}
