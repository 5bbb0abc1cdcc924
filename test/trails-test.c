/* SPDX-License-Identifier: MIT */
/* trails-test.c - addresses beside the tree: their figures are those of contexts, taken apart.
 *
 * The oracle is the list of samples that the profile was made of: a stack of addresses, a
 * strand, and amounts.  A function is what an address divided by ten says; an odd one lies in
 * a function that is inlined there. */
#include "add-profile.h"
#include "builder.h"
#include "failing.h"
#include "filter.h"
#include "finish.h"
#include "naming.h"
#include "query.h"
#include "samples.h"
#include "summary.h"
#include "tap.h"

enum { SAMPLES = 60, DEEPEST = 6, ADDRESSES = 40, FUNCTIONS = 5, CASES = TAP_CASES(200) };

struct sample {
    int depth, address[DEEPEST], strand;
    uint64_t amount[2];
    int evicted; /* at no context: of its block alone */
};

struct samples {
    uint64_t seed;
    struct sample at[SAMPLES];
};

static int below(struct samples *s, int limit)
{
    s->seed = s->seed * 6364136223846793005u + 1442695040888963407u;
    return (int)((s->seed >> 33) % (uint64_t)limit);
}

static struct samples samples_random(uint64_t seed)
{
    struct samples s = {.seed = seed * 0x9e3779b97f4a7c15u};

    for (int i = 0; i < SAMPLES; i++) {
        s.at[i].depth = 1 + below(&s, DEEPEST);
        for (int d = 0; d < s.at[i].depth; d++)
            s.at[i].address[d] = 10 + below(&s, d < 2 ? 3 : ADDRESSES);
        s.at[i].strand = below(&s, 3);
        s.at[i].amount[0] = (uint64_t)below(&s, 1000);
        s.at[i].amount[1] = (uint64_t)below(&s, 3);
        s.at[i].evicted = below(&s, 10) == 0;
    }
    return s;
}

/* ── A profile of them ────────────────────────────────────────────────────────────── */

static uint32_t block_of(struct tt_builder *b, int address)
{
    char name[32];

    (void)snprintf(name, sizeof name, "x+0x%x", (unsigned)address);
    return tt_builder_block(b, &(struct tt_block_info){.name = name,
                                                       .module = "/bin/x",
                                                       .file = "abcd",
                                                       .kind = TT_KIND_NATIVE,
                                                       .offset = (uint64_t)address});
}

static void add_sample(struct tt_builder *b, const struct sample *s)
{
    static const char *const names[] = {"main", "second", "third"};
    const uint32_t metric[] = {
        tt_builder_metric(b, "time", "ns", TT_METRIC_TIME | TT_METRIC_SAMPLED),
        tt_builder_metric(b, "samples", "", 0)};
    uint32_t c = TT_BUILDER_ROOT, block = 0;

    (void)tt_builder_strand(b, &(struct tt_strand_info){.host = "h",
                                                        .process = "p",
                                                        .name = names[s->strand],
                                                        .rank = TT_NONE,
                                                        .members = 1});
    for (int d = 0; d < s->depth; d++) {
        block = block_of(b, s->address[d]);
        c = tt_builder_context(b, c, block);
    }
    tt_builder_sample(b, metric[0], c, s->amount[0] % 1000, s->amount[0], 0);
    for (int k = 0; k < 2; k++)
        tt_builder_add(b, s->evicted ? TT_ROLE_BESIDE : TT_ROLE_SELF,
                       s->evicted ? block : c, metric[k], s->amount[k]);
}

static int open_finished(struct tt_builder *b, const struct tt_memory *m,
                         struct tt_profile *p)
{
    void *image;
    size_t size;
    int error = tt_builder_finish(b, &image, &size);

    tt_builder_free(b);
    memset(p, 0, sizeof *p);
    if (!error && (error = tt_profile_open(p, image, size, m)) != 0) {
        fprintf(stderr, "# %s\n", p->error);
        tt_memory_put(m, image);
    }
    return error;
}

static void forget(struct tt_profile *p, const struct tt_memory *m)
{
    void *image = (void *)(uintptr_t)p->image;

    tt_profile_close(p);
    tt_memory_put(m, image);
}

/* Every `of`-th sample from `first` on, with addresses. */
static int open_unnamed(const struct samples *s, int first, int of, struct tt_profile *p)
{
    struct tt_builder *b = tt_builder_new(NULL);

    for (int i = first; i < SAMPLES; i += of)
        add_sample(b, &s->at[i]);
    return open_finished(b, NULL, p);
}

/* ── Names ────────────────────────────────────────────────────────────────────────── */

struct naming {
    struct tt_block_info chain[2];
    struct tt_source_line line[2];
};

static const char *const function_names[FUNCTIONS] = {"f0", "f1", "f2", "f3", "f4"};

static const char *innermost(int address)
{
    return address % 2 ? "inlined" : function_names[address / 10 - 1];
}

static size_t chain_of(void *arg, const struct tt_block_info *info,
                       const struct tt_block_info **chain)
{
    struct naming *n = arg;
    const size_t length = info->offset % 2 + 1;

    n->chain[0] = n->chain[1] = (struct tt_block_info){
        .name = function_names[info->offset / 10 - 1],
        .module = "/bin/x",
        .file = "x.c",
        .kind = TT_KIND_FUNCTION};
    n->chain[1].name = "inlined";
    n->line[0] = (struct tt_source_line){"x.c", (uint32_t)info->offset, 1};
    n->line[1] = (struct tt_source_line){"x.h", 1000 + (uint32_t)info->offset, 2};
    *chain = n->chain;
    return length;
}

static const struct tt_source_line *lines_of(void *arg)
{
    return ((struct naming *)arg)->line;
}

static int name(const struct tt_profile *p, const struct tt_memory *m,
                struct tt_profile *named)
{
    struct naming n;
    const struct tt_naming naming = {.chain = chain_of, .arg = &n, .lines = lines_of};
    struct tt_builder *b = tt_builder_new(m);
    int error = b ? tt_builder_named(b, p, &naming) : -TT_ERR_MEMORY;

    if (!error)
        return open_finished(b, m, named);
    tt_builder_free(b);
    return error;
}

static int open_named(const struct samples *s, int first, int of, struct tt_profile *p)
{
    struct tt_profile unnamed;
    int error = open_unnamed(s, first, of, &unnamed);

    if (error)
        return error;
    error = name(&unnamed, NULL, p);
    forget(&unnamed, NULL);
    return error;
}

/* ── What is so ───────────────────────────────────────────────────────────────────── */

static uint32_t metric_at(const struct tt_profile *p, int k)
{
    return tt_metric_find(p, k ? "samples" : "time");
}

/* Self of each context is what its addresses have. */
static void check_contexts(const struct tt_profile *p)
{
    uint64_t *sum = calloc(p->contexts, sizeof *sum);

    for (uint32_t m = 0; m < p->metrics; m++) {
        memset(sum, 0, p->contexts * sizeof *sum);
        for (size_t i = 0; i < p->trail_entries; i++)
            if (p->trail_entry[i].metric == m)
                sum[p->trail[p->trail_entry[i].row].context] += p->trail_entry[i].amount;
        for (uint32_t c = 1; c < p->contexts; c++)
            CHECK_INT(sum[c], tt_self_of(&p->metric[m], c));
    }
    free(sum);
}

/* The stack of a trail, outermost first. */
static int stack_of(const struct tt_profile *p, uint32_t trail, int *address)
{
    int depth = 0;

    for (uint32_t t = trail; t != TT_NONE; t = p->trail[t].parent)
        depth++;
    for (int d = depth; trail != TT_NONE; trail = p->trail[trail].parent)
        address[--d] = (int)p->place[p->trail[trail].place].address;
    return depth;
}

static int is_of_stack(const struct sample *s, const int *address, int depth)
{
    if (s->evicted)
        return depth == 1 && address[0] == s->address[s->depth - 1];
    return s->depth == depth &&
           memcmp(s->address, address, (size_t)depth * sizeof *address) == 0;
}

static int is_evicted_trail(const struct tt_profile *p, uint32_t trail)
{
    return p->trail[trail].context == 0;
}

TEST(each_stack_of_addresses_has_what_its_samples_had)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct samples s = samples_random(seed);
        struct tt_profile p;
        if (!CHECK_INT(open_named(&s, 0, 1, &p), 0))
            return;
        for (int k = 0; k < 2; k++)
            for (uint32_t t = 0; t < p.trails; t++) {
                int address[DEEPEST + 1], depth = stack_of(&p, t, address);
                uint64_t want = 0, got = 0;
                for (int i = 0; i < SAMPLES; i++)
                    if (s.at[i].evicted == is_evicted_trail(&p, t) &&
                        is_of_stack(&s.at[i], address, depth))
                        want += s.at[i].amount[k];
                for (size_t i = 0; i < p.trail_entries; i++)
                    if (p.trail_entry[i].row == t &&
                        p.trail_entry[i].metric == metric_at(&p, k))
                        got += p.trail_entry[i].amount;
                CHECK_INT(got, want);
            }
        check_contexts(&p);
        forget(&p, NULL);
    }
}

/* Self of a function in the tree, and what was evicted of it. */
static uint64_t self_of(const struct tt_profile *p, const char *function, uint32_t m)
{
    uint64_t self = 0;

    for (uint32_t c = 1; c < p->contexts; c++)
        if (strcmp(tt_block_name(p, p->block_of[c]), function) == 0)
            self += tt_self_of(&p->metric[m], c);
    for (uint32_t b = 0; p->metric[m].block && b < p->blocks; b++)
        if (strcmp(tt_block_name(p, b), function) == 0)
            self += p->metric[m].block[b].beside;
    return self;
}

TEST(the_addresses_of_a_function_add_up_to_its_self_figure)
{
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct samples s = samples_random(seed);
        struct tt_profile p;
        if (!CHECK_INT(open_named(&s, 0, 1, &p), 0))
            return;
        for (int k = 0; k < 2; k++)
            for (int f = 0; f <= FUNCTIONS; f++) {
                const char *function = f < FUNCTIONS ? function_names[f] : "inlined";
                uint64_t want = 0, got = 0;
                for (int i = 0; i < SAMPLES; i++)
                    if (strcmp(innermost(s.at[i].address[s.at[i].depth - 1]), function) ==
                        0)
                        want += s.at[i].amount[k];
                for (size_t i = 0; i < p.trail_entries; i++) {
                    const struct tt_entry *e = &p.trail_entry[i];
                    const struct tt_place_row *r = &p.place[p.trail[e->row].place];
                    const uint32_t last = r->first + r->frames - 1;
                    if (e->metric == metric_at(&p, k) &&
                        strcmp(tt_block_name(&p, p.place_frame[last].block), function) ==
                            0)
                        got += e->amount;
                }
                CHECK_INT(got, want);
                CHECK_INT(self_of(&p, function, metric_at(&p, k)), want);
            }
        forget(&p, NULL);
    }
}

TEST(an_address_has_the_lines_of_all_functions_there)
{
    struct samples s = samples_random(5);
    struct tt_profile p;

    if (!CHECK_INT(open_named(&s, 0, 1, &p), 0))
        return;
    for (uint32_t i = 0; i < p.places; i++) {
        const struct tt_place_row *r = &p.place[i];
        const struct tt_place_frame *f = &p.place_frame[r->first];
        CHECK_STR(tt_profile_string(&p, r->module), "/bin/x");
        CHECK_STR(tt_profile_string(&p, r->id), "abcd");
        CHECK_INT(r->frames, r->address % 2 + 1);
        CHECK_INT(f->line, r->address);
        CHECK_STR(tt_profile_string(&p, f->file), "x.c");
        CHECK_STR(tt_block_name(&p, f->block), function_names[r->address / 10 - 1]);
        if (r->frames == 2) {
            CHECK_INT(f[1].line, r->address + 1000);
            CHECK_STR(tt_profile_string(&p, f[1].file), "x.h");
        }
    }
    forget(&p, NULL);
}

/* ── Merging and filtering ────────────────────────────────────────────────────────── */

static int merge(const struct tt_profile *part, const int *order, int count,
                 struct tt_profile *p)
{
    struct tt_builder *b = tt_builder_new(NULL);

    for (int i = 0; i < count; i++)
        (void)tt_builder_profile(b, &part[order[i]]);
    return open_finished(b, NULL, p);
}

TEST(merged_in_any_order_and_grouping_it_is_the_same_file)
{
    static const int order[][3] = {{0, 1, 2}, {2, 0, 1}, {1, 2, 0}};

    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct samples s = samples_random(seed);
        struct tt_profile whole, part[3], p, two[2];
        CHECK_INT(open_named(&s, 0, 1, &whole), 0);
        for (int i = 0; i < 3; i++)
            CHECK_INT(open_named(&s, i, 3, &part[i]), 0);
        for (int i = 0; i < 3; i++) {
            if (!CHECK_INT(merge(part, order[i], 3, &p), 0))
                return;
            CHECK(p.size == whole.size && memcmp(p.image, whole.image, p.size) == 0);
            forget(&p, NULL);
        }
        CHECK_INT(merge(part, (const int[]){1, 2}, 2, &two[1]), 0);
        two[0] = part[0];
        CHECK_INT(merge(two, (const int[]){1, 0}, 2, &p), 0);
        CHECK(p.size == whole.size && memcmp(p.image, whole.image, p.size) == 0);
        forget(&p, NULL);
        forget(&two[1], NULL);
        for (int i = 0; i < 3; i++)
            forget(&part[i], NULL);
        forget(&whole, NULL);
    }
}

TEST(what_a_filter_leaves_of_contexts_it_leaves_of_addresses)
{
    static const char *const filters[] = {
        "fold=f1",    "fold=inlined",
        "root=f2",    "prune=f0",
        "exclude=f3", "select=f1",
        "prune=10%",  "strand=name:second",
        "centre=f1",  "fold=f0&root=f1&strand=name:main"};

    for (uint64_t seed = 1; seed <= CASES; seed++) {
        struct samples s = samples_random(seed);
        struct tt_profile p;
        if (!CHECK_INT(open_named(&s, 0, 1, &p), 0))
            return;
        for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
            struct tt_filtered filtered;
            struct tt_query q;
            tt_query_init(&q, NULL);
            CHECK_INT(tt_query_parse(&q, filters[i]), 0);
            if (!CHECK_INT(tt_filter_apply(&p, &q, &filtered), 0))
                fprintf(stderr, "# %s: %s\n", filters[i], q.error);
            else
                check_contexts(filtered.profile);
            tt_filter_close(&filtered, NULL);
            tt_query_fini(&q);
        }
        forget(&p, NULL);
    }
}

TEST(figures_of_all_strands_together_keep_their_addresses)
{
    struct samples s = samples_random(9);
    struct tt_builder *b = tt_builder_new(NULL);
    struct tt_profile p, sum;

    CHECK_INT(open_named(&s, 0, 1, &p), 0);
    (void)tt_builder_profile(b, &p);
    CHECK_INT(tt_builder_summarise(b), 0);
    if (!CHECK_INT(open_finished(b, NULL, &sum), 0))
        return;
    CHECK(sum.trail_entries > 0 && sum.trail_entries <= p.trail_entries);
    for (size_t i = 0; i < sum.trail_entries; i++)
        CHECK_INT(sum.trail_entry[i].strand, TT_NONE);
    check_contexts(&sum);
    forget(&sum, NULL);
    forget(&p, NULL);
}

/* ── Readers ──────────────────────────────────────────────────────────────────────── */

static struct tt_section *extra_of(struct tt_profile *p, uint32_t kind)
{
    struct tt_file_header *h = (void *)(uintptr_t)p->image;
    struct tt_section *s = (void *)(h + 1);

    for (uint32_t i = 0; i < s[0].reserved; i++)
        if (s[h->sections + i].kind == kind)
            return &s[h->sections + i];
    return NULL;
}

TEST(a_section_behind_those_that_count_is_skipped_where_its_kind_is_not_known)
{
    struct samples s = samples_random(3);
    struct tt_profile p, again;
    struct tt_section *extra;

    CHECK_INT(open_named(&s, 0, 1, &p), 0);
    extra = extra_of(&p, TT_EXTRA_TRAIL_ENTRIES);
    if (!CHECK(extra != NULL))
        return;
    extra->kind = 4711;
    extra->width = 24;
    CHECK_INT(tt_profile_open(&again, p.image, p.size, NULL), 0);
    CHECK_INT(again.trail_entries, 0);
    CHECK_INT(again.trails, p.trails);
    tt_profile_close(&again);
    forget(&p, NULL);
}

/* Whatever 32-bit word of these sections says something else, no reader goes astray. */
TEST(damage_of_addresses_is_found_or_harmless)
{
    struct samples s = samples_random(4);
    struct tt_profile p;

    CHECK_INT(open_named(&s, 0, 1, &p), 0);
    for (uint32_t kind = TT_EXTRA_PLACES; kind < TT_EXTRAS; kind++) {
        const struct tt_section *extra = extra_of(&p, kind);
        uint32_t *word = (uint32_t *)(void *)((char *)(uintptr_t)p.image + extra->offset);
        for (size_t i = 0; i < extra->count * extra->width / sizeof *word; i++) {
            const uint32_t before = word[i];
            struct tt_profile q, merged;
            word[i] = before ^ 0x80000001u;
            if (tt_profile_open(&q, p.image, p.size, NULL) == 0) {
                if (CHECK_INT(merge(&q, (const int[]){0}, 1, &merged), 0))
                    forget(&merged, NULL);
                tt_profile_close(&q);
            }
            word[i] = before;
        }
    }
    forget(&p, NULL);
}

TEST(without_memory_there_is_no_profile_and_nothing_is_left_behind)
{
    struct samples s = samples_random(8);
    struct tt_profile p, named;
    long after = 0;

    CHECK_INT(open_unnamed(&s, 0, 1, &p), 0);
    do {
        failing_after = ++after;
        failing_pieces = 0;
        memset(&named, 0, sizeof named);
        if (name(&p, &failing, &named) == 0) {
            failing_after = 1;
            forget(&named, &failing);
            after = -1;
        }
        CHECK_INT(failing_pieces, 0);
    } while (after > 0 && after < 100000);
    CHECK_INT(after, -1);
    forget(&p, NULL);
}
