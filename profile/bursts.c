/* SPDX-License-Identifier: MIT */
/* bursts.c - finds stretches of a run in which a block has more samples than chance gives it.
 *
 *      a block is in    · · # · · # # · # # # # · # # · · · # · ·     samples, by time
 *                                  └─── 8 of 9 ──┘                    and 3 of 12 else
 *
 * A scan statistic.  For a block and a window: how much likelier the samples are if the block
 * has one share in the window and another outside (the gain, the log of a ratio of
 * likelihoods), less the log of how many windows of this length fit into the run, so that a
 * long window does not compete with the many short ones.  The window with the most is a burst
 * if it has more than chance makes.
 *
 * What chance makes is found by shuffling.  Samples that follow each other are not independent:
 * a program that takes turns stays in each loop for some time.  So the runs of samples with the
 * block, and those without, are shuffled as wholes:
 *
 *      1 2 1 4 2 1 with    2 2 1 1 3 2 without    →    ## · # ·· #### · # ··· …
 *
 * For independent samples, and for loops that take turns at random, each such order is as
 * likely as the real one.  A run far longer than the others is a burst itself: it is cut into
 * pieces no longer than usual runs, and these are scattered.
 *
 * Blocks differ in how much chance makes of them.  So what a window has is measured by the mean
 * and the spread of what the shuffles of its block have.  In 97 of 100 cases no block of a run
 * without bursts exceeds the threshold.
 *
 * Windows are scanned in bins of samples; then the edges move to where they are likeliest.
 *
 * All of this can take seconds.  It is done in parts, between which a viewer answers. */
#include "bursts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "assertion.h"
#include "sorted.h"
#include "view.h"

enum {
    BINS_MAX = 2048,
    IN_A_BIN = 4,    /* samples, at least */
    MEASURING = 50,  /* shuffles: of which a block's chance is measured, */
    SHUFFLES = 99,   /* and those that the run is compared with: */
    MAY_EXCEED = 2,  /* of these; (2 + 1) / (99 + 1) is how often a burst may be false */
    USUAL = 5,       /* the length of the fifth longest run is usual, */
    TIMES_USUAL = 3, /* and up to so many times that */
    STEPS = 16,      /* of moving edges */
    LENGTHS = 20,    /* of windows, at most */
    PART = 1 << 22   /* runs and windows that a part of the work looks at */
};

/* The greatest of many figures that are exponential follows Gumbel's distribution. */
#define GUMBEL_VARIANCE 1.644934 /* pi^2 / 6 */
#define LEAST_THRESHOLD 2.9      /* from its mean to 97 % */

struct chance { /* what the shuffles of a block make */
    double mean, spread;
    double clumping; /* variance of its number, relative to independent samples */
};

struct window { /* samples [from, to) of those left */
    uint32_t from, to;
    double gain, excess; /* excess: over what is usual for its length */
};

struct runs {
    uint32_t *length[2], count[2]; /* without the block, with it */
};

struct measuring { /* of chance: how far it is */
    uint32_t block, shuffles;
    struct runs runs;
    double sum, squares;
    double most[SHUFFLES]; /* of each shuffle, over the blocks */
};

struct tt_bursts {
    const struct tt_profile *p;
    const struct tt_memory *memory;
    uint32_t count;   /* samples that are left */
    uint32_t *sample; /* of each: its number in the profile; owned */
    uint64_t *mask;   /* of each: which blocks it is in; owned */
    double *xlogx;    /* of 0 to the number of samples; owned */
    uint32_t *run;    /* lengths of runs: with the block, then without; owned */
    uint32_t blocks, block[TT_BURST_BLOCKS];
    uint32_t all[TT_BURST_BLOCKS]; /* samples in each */
    struct chance chance[TT_BURST_BLOCKS];
    double threshold;
    uint32_t bins, edge[BINS_MAX + 1];
    uint32_t sum[BINS_MAX + 1]; /* samples of one block, up to a bin */
    uint64_t random;
    struct measuring now;
    uint32_t most;
    struct tt_vector found; /* struct tt_burst */
};

/* ── Blocks ───────────────────────────────────────────────────────────────────────── */

struct ranked {
    uint64_t set; /* the sum of random numbers of its samples: equal for equal sets */
    uint32_t block, count, self;
};

static int by_count(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    return TT_ORDER(y->count, x->count) ?: TT_ORDER(y->set, x->set)
           ?: TT_ORDER(y->self, x->self) ?: TT_ORDER(x->block, y->block);
}

static uint64_t mix_number(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

struct below { /* by preorder: of all contexts before this one */
    uint64_t set;
    uint32_t count;
};

static struct below *count_below(const struct tt_bursts *v)
{
    struct below *sum = tt_memory_get(v->memory,
                                      ((size_t)v->p->contexts + 1) * sizeof *sum);

    for (uint32_t i = 0; sum && i < v->count; i++) {
        struct below *s = &sum[v->p->sample[v->sample[i]].context + 1];
        s->count++;
        s->set += mix_number((i + 1) * 0x9e3779b97f4a7c15u);
    }
    for (uint32_t c = 0; sum && c < v->p->contexts; c++) {
        sum[c + 1].count += sum[c].count;
        sum[c + 1].set += sum[c].set;
    }
    return sum;
}

/* A path counts once, however often the block is on it. */
static void rank_blocks(const struct tt_profile *p, const struct below *sum,
                        struct ranked *rank, uint32_t *until)
{
    for (uint32_t b = 0; b < p->blocks; b++)
        rank[b].block = b;
    for (uint32_t c = 1; c < p->contexts; c++) {
        const uint32_t b = tt_block_of(p, c), end = tt_end_of(p, c);
        rank[b].self += sum[c + 1].count - sum[c].count;
        if (c < until[b])
            continue;
        until[b] = end;
        rank[b].count += sum[end].count - sum[c].count;
        rank[b].set += sum[end].set - sum[c].set;
    }
    qsort(rank, p->blocks, sizeof *rank, by_count);
}

/* The blocks that are in most samples, but not in nearly all; of blocks in the same samples,
 * the one with most self samples. */
static void take_blocks(struct tt_bursts *v, const struct ranked *rank)
{
    for (uint32_t i = 0; i < v->p->blocks && v->blocks < TT_BURST_BLOCKS; i++) {
        const int again = i && rank[i].count == rank[i - 1].count &&
                          rank[i].set == rank[i - 1].set;
        if (rank[i].block && !again && rank[i].count >= IN_A_BIN &&
            rank[i].count + IN_A_BIN <= v->count) {
            v->all[v->blocks] = rank[i].count;
            v->block[v->blocks++] = rank[i].block;
        }
    }
}

static int choose_blocks(struct tt_bursts *v)
{
    const struct tt_profile *p = v->p;
    const size_t ranks = p->blocks * sizeof(struct ranked),
                 ends = p->blocks * sizeof(uint32_t);
    struct ranked *rank = tt_memory_get(v->memory, ranks);
    uint32_t *until = tt_memory_get(v->memory, ends);
    struct below *sum = count_below(v);
    const int error = rank && until && sum ? 0 : -TT_ERR_MEMORY;

    if (!error) {
        rank_blocks(p, sum, rank, until);
        take_blocks(v, rank);
    }
    tt_memory_put(v->memory, sum);
    tt_memory_put(v->memory, until);
    tt_memory_put(v->memory, rank);
    return error;
}

/* Of each context: which of the chosen blocks are on its path. */
static int find_masks(struct tt_bursts *v)
{
    const struct tt_profile *p = v->p;
    const size_t bits = p->blocks * sizeof(uint64_t),
                 masks = (size_t)p->contexts * sizeof(uint64_t);
    uint64_t *bit = tt_memory_get(v->memory, bits), *of = tt_memory_get(v->memory, masks);
    struct tt_walk w;
    const int error = bit && of && tt_walk_init(&w, p, 0) == 0 ? 0 : -TT_ERR_MEMORY;

    for (uint32_t i = 0; !error && i < v->blocks; i++)
        bit[v->block[i]] = (uint64_t)1 << i;
    while (!error && tt_walk_next(&w))
        of[w.context] = bit[tt_block_of(p, w.context)] |
                        (w.depth ? of[w.path[w.depth - 1]] : 0);
    for (uint32_t i = 0; !error && i < v->count; i++)
        v->mask[i] = of[p->sample[v->sample[i]].context];
    if (!error)
        tt_walk_fini(&w);
    tt_memory_put(v->memory, of);
    tt_memory_put(v->memory, bit);
    return error;
}

static int is_in(const struct tt_bursts *v, uint32_t i, uint32_t b)
{
    return (int)(v->mask[i] >> b & 1);
}

static uint32_t count_in(const struct tt_bursts *v, uint32_t b, uint32_t from,
                         uint32_t to)
{
    uint32_t count = 0;

    for (uint32_t i = from; i < to; i++)
        count += (uint32_t)is_in(v, i, b);
    return count;
}

/* ── The scan ─────────────────────────────────────────────────────────────────────── */

/* How much likelier: a share in the window and one outside, of `all` among `count`. */
static double gain_of(const struct tt_bursts *v, uint32_t in, uint32_t window,
                      uint32_t all)
{
    const double *l = v->xlogx;
    const uint32_t n = v->count, out = n - window;

    if ((uint64_t)in * n <= (uint64_t)all * window)
        return 0; /* it is no more than elsewhere */
    return l[in] + l[window - in] - l[window] + l[all - in] + l[out - (all - in)] -
           l[out] - l[all] - l[n - all] + l[n];
}

static void cut_bins(struct tt_bursts *v)
{
    v->bins = v->count / IN_A_BIN < BINS_MAX ? v->count / IN_A_BIN : BINS_MAX;
    for (uint32_t i = 0; i <= v->bins; i++)
        v->edge[i] = (uint32_t)((uint64_t)v->count * i / v->bins);
}

/* The next length of windows: 1 2 3 4 6 8 12 16 … */
static uint32_t longer(uint32_t length)
{
    return length < 2                ? length + 1
           : (length & (length - 1)) ? length / 3 * 4
                                     : length / 2 * 3;
}

/* The best of windows of so many bins, from every eighth of a length on.  A gain is at most
 * the statistic chi squared, which needs no logarithms. */
static void scan_length(const struct tt_bursts *v, uint32_t all, uint32_t length,
                        struct window *best)
{
    const double n = v->count, share = all / n, usual = log((double)v->bins / length),
                 scale = n / (share * (1 - share));

    for (uint32_t i = 0; i + length <= v->bins; i += length < 16 ? 1 : length / 8) {
        const uint32_t window = v->edge[i + length] - v->edge[i],
                       in = v->sum[i + length] - v->sum[i];
        const double more = in - share * window, excess = best->excess + usual;
        double gain;
        if (more <= 0 || more * more * scale <= excess * window * (n - window))
            continue;
        gain = gain_of(v, in, window, all);
        if (gain > excess)
            *best = (struct window){v->edge[i], v->edge[i + length], gain, gain - usual};
    }
}

/* Of one block, whose sums there are. */
static struct window scan(const struct tt_bursts *v, uint32_t all)
{
    struct window best = {0, 0, 0, -log(v->bins)};

    for (uint32_t length = 1; length <= v->bins / 2; length = longer(length))
        scan_length(v, all, length, &best);
    return best;
}

static void find_sums(struct tt_bursts *v, uint32_t b)
{
    for (uint32_t bin = 0; bin < v->bins; bin++)
        v->sum[bin + 1] = v->sum[bin] + count_in(v, b, v->edge[bin], v->edge[bin + 1]);
    v->all[b] = v->sum[v->bins];
}

/* ── Chance ───────────────────────────────────────────────────────────────────────── */

static uint32_t draw(struct tt_bursts *v, uint32_t sides)
{
    return (uint32_t)((mix_number(v->random += 0x9e3779b97f4a7c15u) >> 32) * sides >> 32);
}

static void shuffle(struct tt_bursts *v, uint32_t *length, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        const uint32_t k = draw(v, i), swapped = length[i - 1];
        length[i - 1] = length[k];
        length[k] = swapped;
    }
}

/* The end of the run that begins there. */
static uint32_t end_of_run(const struct tt_bursts *v, uint32_t b, uint32_t from)
{
    uint32_t i = from + 1;

    while (i < v->count && is_in(v, i, b) == is_in(v, from, b))
        i++;
    return i;
}

/* How long a run may be that is not cut. */
static void find_limits(const struct tt_bursts *v, uint32_t b, uint32_t limit[2])
{
    uint32_t longest[2][USUAL] = {{0}};

    for (uint32_t i = 0, end; i < v->count; i = end) {
        uint32_t *of = longest[is_in(v, i, b)], length;
        end = end_of_run(v, b, i);
        length = end - i;
        for (int k = 0; k < USUAL; k++)
            if (length > of[k]) {
                const uint32_t shorter = of[k];
                of[k] = length;
                length = shorter;
            }
    }
    for (int with = 0; with < 2; with++)
        limit[with] = longest[with][USUAL - 1] ? TIMES_USUAL * longest[with][USUAL - 1]
                                               : 1;
}

static struct runs find_runs(struct tt_bursts *v, uint32_t b)
{
    struct runs r = {{v->run + v->all[b], v->run}, {0, 0}};
    uint32_t limit[2];

    find_limits(v, b, limit);
    for (uint32_t i = 0, end; i < v->count; i = end) {
        const int with = is_in(v, i, b);
        end = end_of_run(v, b, i);
        for (uint32_t left = end - i, piece; left; left -= piece) {
            piece = left < limit[with] ? left : limit[with];
            r.length[with][r.count[with]++] = piece;
        }
    }
    TT_ASSERT(r.count[1] <= v->all[b] && r.count[0] <= v->count - v->all[b]);
    return r;
}

/* Adds samples [at, at + length) of the block to its bins. */
static void fill_bins(struct tt_bursts *v, uint32_t at, uint32_t length, uint32_t *bin)
{
    while (length) {
        uint32_t part;
        while (v->edge[*bin + 1] <= at)
            ++*bin;
        part = v->edge[*bin + 1] - at;
        part = part < length ? part : length;
        v->sum[*bin + 1] += part;
        at += part;
        length -= part;
    }
}

/* Runs of both kinds take turns; where one kind has more, the others are among them at
 * random. */
static void lay_runs(struct tt_bursts *v, const struct runs *r)
{
    const int many = r->count[1] > r->count[0];
    uint32_t at = 0, bin = 0, next = 0;

    memset(v->sum, 0, (v->bins + 1) * sizeof *v->sum);
    for (uint32_t i = 0; i < r->count[many]; i++)
        for (int with = many, turn = 0; turn < 2; turn++, with = !many) {
            uint32_t length = 0;
            if (turn == 0)
                length = r->length[many][i];
            else if (draw(v, r->count[many] - i) < r->count[!many] - next)
                length = r->length[!many][next++];
            if (with)
                fill_bins(v, at, length, &bin);
            at += length;
        }
    TT_ASSERT(at == v->count && next == r->count[!many]);
    for (uint32_t i = 0; i < v->bins; i++)
        v->sum[i + 1] += v->sum[i];
}

static void find_mean(const uint32_t *length, uint32_t count, double *mean,
                      double *variance)
{
    double sum = 0, squares = 0;

    for (uint32_t i = 0; i < count; i++) {
        sum += length[i];
        squares += (double)length[i] * length[i];
    }
    *mean = sum / count;
    *variance = squares / count - *mean * *mean;
}

/* Of a process that takes turns: the variance of the time in one of both states, per time,
 * relative to that of independent samples. */
static double find_clumping(const struct runs *r)
{
    double mean[2], variance[2], both;

    for (int i = 0; i < 2; i++)
        find_mean(r->length[i], r->count[i], &mean[i], &variance[i]);
    both = mean[0] + mean[1];
    both = (mean[0] * mean[0] * variance[1] + mean[1] * mean[1] * variance[0]) /
           (both * mean[0] * mean[1]);
    return both > 1 ? both : 1;
}

static double shuffle_runs(struct tt_bursts *v, uint32_t b, const struct runs *r)
{
    shuffle(v, r->length[0], r->count[0]);
    shuffle(v, r->length[1], r->count[1]);
    lay_runs(v, r);
    return scan(v, v->all[b]).excess;
}

/* The spread is at least that of independent samples, of which a gain g is exp(g) times
 * rarer. */
static struct chance chance_of(const struct measuring *m)
{
    const double mean = m->sum / MEASURING,
                 variance = m->squares / MEASURING - mean * mean;

    return (struct chance){
        mean, variance > GUMBEL_VARIANCE ? sqrt(variance / GUMBEL_VARIANCE) : 1,
        find_clumping(&m->runs)};
}

static void begin_block(struct tt_bursts *v)
{
    if (v->now.block == 0)
        cut_bins(v);
    v->now.runs = find_runs(v, v->now.block);
    v->now.shuffles = 0;
    v->now.sum = v->now.squares = 0;
}

/* Separate shuffles give mean and spread, so that the run and the other shuffles are treated
 * alike. */
static void take_shuffle(struct tt_bursts *v, double excess)
{
    struct measuring *m = &v->now;
    struct chance *c = &v->chance[m->block];
    const uint32_t i = m->shuffles++;
    double x;

    if (i < MEASURING) {
        m->sum += excess;
        m->squares += excess * excess;
        if (i + 1 == MEASURING)
            *c = chance_of(m);
        return;
    }
    x = (excess - c->mean) / c->spread;
    if (m->block == 0 || x > m->most[i - MEASURING])
        m->most[i - MEASURING] = x;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return TT_ORDER(x, y);
}

static void find_threshold(struct tt_bursts *v)
{
    v->threshold = LEAST_THRESHOLD;
    qsort(v->now.most, SHUFFLES, sizeof *v->now.most, by_value);
    if (v->now.most[SHUFFLES - 1 - MAY_EXCEED] > v->threshold)
        v->threshold = v->now.most[SHUFFLES - 1 - MAY_EXCEED];
}

/* Shuffles for a part of the work. */
static void measure_chance(struct tt_bursts *v)
{
    struct measuring *m = &v->now;

    for (size_t done = 0; m->block < v->blocks && done < PART;) {
        if (m->shuffles == 0)
            begin_block(v);
        take_shuffle(v, shuffle_runs(v, m->block, &m->runs));
        done += m->runs.count[0] + m->runs.count[1] + (size_t)v->bins * LENGTHS;
        if (m->shuffles < MEASURING + SHUFFLES)
            continue;
        m->shuffles = 0;
        if (++m->block == v->blocks)
            find_threshold(v);
    }
}

/* ── Edges ────────────────────────────────────────────────────────────────────────── */

/* Moves one edge, up to half of the window each way, to where it is likeliest. */
static int move_edge(const struct tt_bursts *v, uint32_t b, struct window *w, int is_end)
{
    const uint32_t half = (w->to - w->from) / 2 + IN_A_BIN, at = is_end ? w->to : w->from;
    uint32_t low = at > half ? at - half : 0, high = at + half, in;
    struct window best = *w;

    if (is_end && low <= w->from)
        low = w->from + 1;
    if (!is_end && high >= w->to)
        high = w->to - 1;
    high = high > v->count ? v->count : high;
    in = is_end ? count_in(v, b, w->from, low) : count_in(v, b, low, w->to);
    for (uint32_t i = low; i <= high; i++) {
        const uint32_t window = is_end ? i - w->from : w->to - i;
        const double gain = window < v->count ? gain_of(v, in, window, v->all[b]) : 0;
        if (gain > best.gain) {
            best.gain = gain;
            *(is_end ? &best.to : &best.from) = i;
        }
        if (i < v->count && is_in(v, i, b))
            in += is_end ? 1u : (uint32_t)-1;
    }
    if (best.gain <= w->gain)
        return 0;
    *w = best;
    return 1;
}

static void move_edges(const struct tt_bursts *v, uint32_t b, struct window *w)
{
    for (int i = 0; i < STEPS; i++)
        if (!(move_edge(v, b, w, 0) | move_edge(v, b, w, 1)))
            return;
}

/* ── Bursts ───────────────────────────────────────────────────────────────────────── */

static double share_error(double share, uint32_t samples, double clumping)
{
    const double independent = samples / clumping;

    return tt_share_error(share, independent < 1 ? 1 : (uint64_t)independent);
}

static struct tt_burst_share share_of(const struct tt_bursts *v, uint32_t b,
                                      const struct window *w)
{
    const uint32_t window = w->to - w->from, in = count_in(v, b, w->from, w->to);
    const double then = (double)in / window,
                 rest = (double)(v->all[b] - in) / (v->count - window),
                 e = share_error(then, window, v->chance[b].clumping),
                 f = share_error(rest, v->count - window, v->chance[b].clumping);

    return (struct tt_burst_share){v->block[b], then, rest, sqrt(e * e + f * f)};
}

/* The block whose share falls most. */
static struct tt_burst_share find_less(const struct tt_bursts *v, const struct window *w)
{
    struct tt_burst_share best = {.block = TT_NONE};

    for (uint32_t b = 0; b < v->blocks; b++) {
        const struct tt_burst_share s = share_of(v, b, w);
        if (s.then - s.rest < best.then - best.rest)
            best = s;
    }
    return best;
}

static void take_out(struct tt_bursts *v, const struct window *w)
{
    const uint32_t after = v->count - w->to;

    memmove(v->mask + w->from, v->mask + w->to, after * sizeof *v->mask);
    memmove(v->sample + w->from, v->sample + w->to, after * sizeof *v->sample);
    v->count -= w->to - w->from;
}

/* The block of the clearest window; TT_NONE: none is clear enough. */
static uint32_t find_clearest(struct tt_bursts *v, struct window *best)
{
    double clearest = v->threshold;
    uint32_t of = TT_NONE;

    cut_bins(v);
    for (uint32_t b = 0; b < v->blocks; b++) {
        struct window w;
        double x;
        find_sums(v, b);
        if (!v->all[b] || v->all[b] == v->count)
            continue;
        w = scan(v, v->all[b]);
        x = (w.excess - v->chance[b].mean) / v->chance[b].spread;
        if (x > clearest) {
            clearest = x;
            *best = w;
            of = b;
        }
    }
    return of;
}

/* The clearest burst of what is left, which is then taken out.  Is there one? */
static int find_next(struct tt_bursts *v)
{
    struct tt_burst *burst;
    struct window w;
    uint32_t b;

    if (v->count < TT_BURST_LEAST || v->found.count >= v->most)
        return 0;
    b = find_clearest(v, &w);
    if (b == TT_NONE)
        return 0;
    burst = tt_vector_add(&v->found, 1);
    if (!burst)
        return -TT_ERR_MEMORY;
    move_edges(v, b, &w);
    *burst = (struct tt_burst){v->sample[w.from], v->sample[w.to - 1] + 1, w.to - w.from,
                               share_of(v, b, &w), find_less(v, &w)};
    take_out(v, &w);
    return 1;
}

int tt_bursts_work(struct tt_bursts *v)
{
    if (v->count < TT_BURST_LEAST || v->now.block == v->blocks)
        return find_next(v);
    measure_chance(v);
    return 1;
}

const struct tt_burst *tt_bursts_found(const struct tt_bursts *v, size_t *count)
{
    *count = v->found.count;
    return v->found.item;
}

/* ── Begin and end ────────────────────────────────────────────────────────────────── */

static int prepare(struct tt_bursts *v)
{
    const size_t n = v->p->samples;

    v->sample = tt_memory_get(v->memory, n * sizeof *v->sample);
    v->mask = tt_memory_get(v->memory, n * sizeof *v->mask);
    v->run = tt_memory_get(v->memory, n * sizeof *v->run);
    v->xlogx = tt_memory_get(v->memory, (n + 1) * sizeof *v->xlogx);
    if (!v->sample || !v->mask || !v->run || !v->xlogx)
        return -TT_ERR_MEMORY;
    for (uint32_t i = 0; i < n; i++)
        if (v->p->sample[i].context < v->p->contexts)
            v->sample[v->count++] = i;
    for (uint32_t i = 1; i <= v->count; i++)
        v->xlogx[i] = i * log(i);
    return choose_blocks(v) != 0 || find_masks(v) != 0 ? -TT_ERR_MEMORY : 0;
}

struct tt_bursts *tt_bursts_new(const struct tt_profile *p, uint32_t most,
                                const struct tt_memory *memory)
{
    struct tt_bursts *v = tt_memory_get(memory, sizeof *v);

    if (!v)
        return NULL;
    v->p = p;
    v->most = most;
    v->memory = memory;
    tt_vector_init(&v->found, memory, sizeof(struct tt_burst));
    if (prepare(v) != 0) {
        tt_bursts_free(v);
        return NULL;
    }
    return v;
}

void tt_bursts_free(struct tt_bursts *v)
{
    if (!v)
        return;
    tt_vector_fini(&v->found);
    tt_memory_put(v->memory, v->xlogx);
    tt_memory_put(v->memory, v->run);
    tt_memory_put(v->memory, v->mask);
    tt_memory_put(v->memory, v->sample);
    tt_memory_put(v->memory, v);
}
