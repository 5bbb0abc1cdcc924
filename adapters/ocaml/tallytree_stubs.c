/* SPDX-License-Identifier: MIT */
/* tallytree_stubs.c - passes the events of tallytree.ml to the runtime.
 *
 * An object counts for the words that it represents: if each word is sampled with
 * probability p, an object of n words is sampled with 1 - (1 - p)^n, and counts for the
 * inverse of that.  The number that OCaml keeps for an object has everything, so nothing
 * is kept here:
 *
 *      59         58        57 55  54        24 23        0
 *      │ a byte more: it, │ kind │   words    │  origin   │
 *      │ its header       │
 *
 * The key of a call stack is its frames, as OCaml's array has them; its origin is the
 * context that they lead to. */
#define CAML_NAME_SPACE
#include <caml/alloc.h>
#include <caml/fail.h>
#include <caml/memory.h>
#include <caml/misc.h>
#include <caml/mlvalues.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tallytree.h"

static tt_block major_block;
static tt_mark major_mark;

/* ── Collections ──────────────────────────────────────────────────────────────────── */

extern void (*caml_minor_gc_begin_hook)(void), (*caml_minor_gc_end_hook)(void);
extern void (*caml_major_slice_begin_hook)(void), (*caml_major_slice_end_hook)(void);

/* A minor collection empties generation 0; Memprof reports later which objects were
 * copied. */
static void begin_minor(void) { tt_gc_begin(0); }
static void end_minor(void) { tt_gc_end(); }
static void begin_major(void) { major_mark = tt_push(major_block); }
static void end_major(void) { tt_pop(major_mark); }

static void hook(int on)
{
    major_block = tt_block_get("[major gc]", "", 0, 0);
    caml_minor_gc_begin_hook = on ? begin_minor : NULL;
    caml_minor_gc_end_hook = on ? end_minor : NULL;
    caml_major_slice_begin_hook = on ? begin_major : NULL;
    caml_major_slice_end_hook = on ? end_major : NULL;
}

/* ── Origins ──────────────────────────────────────────────────────────────────────── */

enum { ORIGIN_BITS = 24, KEPT_MOST = 1 << 22 };

/* Contexts by number, and numbers by context: each is there once. */
static struct {
    tt_context *at;
    uint32_t *slot;
    uint32_t count, size;
} origins;

static uint32_t *slot_of_origin(tt_context c)
{
    uint32_t i = (uint32_t)(c * 0x9e3779b97f4a7c15u >> 32);

    while (origins.slot[i & (origins.size - 1)] &&
           origins.at[origins.slot[i & (origins.size - 1)]] != c)
        i++;
    return &origins.slot[i & (origins.size - 1)];
}

static int grow_origins(void)
{
    uint32_t size = origins.size ? origins.size * 2 : 1024;
    tt_context *at = realloc(origins.at, size / 2 * sizeof *at);
    uint32_t *slot = at ? calloc(size, sizeof *slot) : NULL;

    if (at)
        origins.at = at;
    if (!slot)
        return -1;
    free(origins.slot);
    origins.slot = slot;
    origins.size = size;
    origins.at[0] = 0; /* the root */
    origins.count += !origins.count;
    for (uint32_t i = 1; i < origins.count; i++)
        *slot_of_origin(origins.at[i]) = i;
    return 0;
}

/* If there is no memory, it is the root. */
static uint32_t origin_of(tt_context c)
{
    uint32_t *slot;

    if (!c || origins.count >> ORIGIN_BITS ||
        (origins.count * 2 >= origins.size && grow_origins() != 0))
        return 0;
    slot = slot_of_origin(c);
    if (!*slot) {
        *slot = origins.count++;
        origins.at[*slot] = c;
    }
    return *slot;
}

static void forget_origins(void)
{
    free(origins.at);
    free(origins.slot);
    memset(&origins, 0, sizeof origins);
}

/* ── Call stacks ──────────────────────────────────────────────────────────────────── */

/* A stack with its frames: `around`, the profiler's context when it was seen, and the
 * origin that both lead to. */
struct stack {
    uint64_t hash;
    tt_context around;
    uint32_t origin, frames;
    value frame[];
};

enum { RECENT = 64 };
static struct {
    struct stack **slot;
    uint32_t count, size;
    size_t words; /* of all frames */
    const struct stack
        *recent[RECENT]; /* by the innermost frame, and how many there are */
} stacks;

static uint64_t hash_of_stack(tt_context around, value stack)
{
    uint64_t hash = around + Wosize_val(stack);

    for (mlsize_t i = 0; i < Wosize_val(stack); i++)
        hash = ((hash << 7 | hash >> 57) ^ (uint64_t)Field(stack, i)) *
               0x9e3779b97f4a7c15u;
    return hash ^ hash >> 32;
}

static int is_stack(const struct stack *s, tt_context around, value stack)
{
    return s->around == around && s->frames == Wosize_val(stack) &&
           memcmp(s->frame, Op_val(stack), s->frames * sizeof(value)) == 0;
}

static struct stack **slot_of_stack(uint64_t hash, tt_context around, value stack)
{
    uint32_t i = (uint32_t)hash;
    struct stack **slot;

    for (;; i++) {
        slot = &stacks.slot[i & (stacks.size - 1)];
        if (!*slot || ((*slot)->hash == hash && is_stack(*slot, around, stack)))
            return slot;
    }
}

static const struct stack **slot_of_recent(value stack)
{
    uint64_t key = Wosize_val(stack) ? (uint64_t)Field(stack, 0) + Wosize_val(stack) : 0;

    return &stacks.recent[key * 0x9e3779b97f4a7c15u >> 58];
}
_Static_assert(RECENT == 1 << (64 - 58), "as many as the key has values");

static void forget_stacks(void)
{
    for (uint32_t i = 0; i < stacks.size; i++)
        free(stacks.slot[i]);
    free(stacks.slot);
    memset(&stacks, 0, sizeof stacks);
}

static int grow_stacks(void)
{
    uint32_t size = stacks.size ? stacks.size * 2 : 1024, j;
    struct stack **slot = calloc(size, sizeof *slot);

    if (!slot)
        return -1;
    for (uint32_t i = 0; i < stacks.size; i++)
        if (stacks.slot[i]) {
            for (j = (uint32_t)stacks.slot[i]->hash; slot[j & (size - 1)]; j++)
                ;
            slot[j & (size - 1)] = stacks.slot[i];
        }
    free(stacks.slot);
    stacks.slot = slot;
    stacks.size = size;
    return 0;
}

static void keep_stack(value stack, tt_context around, uint32_t origin)
{
    mlsize_t frames = Wosize_val(stack);
    struct stack *s;

    if (stacks.words > KEPT_MOST)
        forget_stacks();
    if (stacks.count * 2 >= stacks.size && grow_stacks() != 0)
        return;
    s = malloc(sizeof *s + frames * sizeof(value));
    if (!s)
        return;
    *s = (struct stack){.hash = hash_of_stack(around, stack),
                        .around = around,
                        .origin = origin,
                        .frames = (uint32_t)frames};
    memcpy(s->frame, Op_val(stack), frames * sizeof(value));
    *slot_of_stack(s->hash, around, stack) = s;
    stacks.count++;
    stacks.words += frames + sizeof *s / sizeof(value);
}

/* ── Beginning and end ────────────────────────────────────────────────────────────── */

static void check(int error)
{
    if (error)
        caml_failwith(tt_error_text(error));
}

value tt_ml_start(value words, value rate);
value tt_ml_stop(value unit);
value tt_ml_write(value path);
value tt_ml_block(value name, value file, value line);
value tt_ml_find(value stack);
value tt_ml_learn(value stack, value path);
value tt_ml_alloc(value origin, value words, value source, value is_major);
value tt_ml_promote(value it);
value tt_ml_free(value it);

static double rate;

/* What an object counts for: its bytes, and its header; `rest`: the fraction. */
enum { KNOWN = 64 };
static struct amounts {
    size_t words, bytes, overhead;
    double rest, overhead_rest;
} known[KNOWN]; /* by words */

value tt_ml_start(value words, value rate_wanted)
{
    check(tt_start(String_val(words)));
    rate = Double_val(rate_wanted);
    memset(known, 0, sizeof known);
    hook(1);
    return Val_unit;
}

value tt_ml_stop(value unit)
{
    (void)unit;
    hook(0);
    forget_stacks();
    forget_origins();
    check(tt_stop());
    return Val_unit;
}

value tt_ml_write(value path)
{
    check(tt_write(String_val(path)));
    return Val_unit;
}

/* Found on stacks, so not counted as calls. */
value tt_ml_block(value name, value file, value line)
{
    struct tt_block_info info = {.name = String_val(name),
                                 .file = String_val(file),
                                 .line = (uint32_t)Int_val(line),
                                 .kind = TT_KIND_NATIVE};

    return Val_int(tt_block_make(&info));
}

/* ── Contexts ─────────────────────────────────────────────────────────────────────── */

/* Returns the known origin of a stack at this context, or -1. */
value tt_ml_find(value stack)
{
    tt_context around = tt_context_capture();
    const struct stack **recent = slot_of_recent(stack), *s = *recent;

    if (s && is_stack(s, around, stack))
        return Val_long(s->origin);
    if (stacks.size)
        *recent = s = *slot_of_stack(hash_of_stack(around, stack), around, stack);
    return Val_long(s ? (long)s->origin : -1);
}

/* Returns the context of blocks, innermost first, below the current one. */
static tt_context context_of(value path)
{
    tt_mark bottom = 0, mark;
    tt_context here;

    for (mlsize_t i = Wosize_val(path); i-- > 0;) {
        mark = tt_push((tt_block)Int_val(Field(path, i)));
        bottom = bottom ? bottom : mark;
    }
    here = tt_context_capture();
    if (bottom)
        tt_pop(bottom);
    return here;
}

value tt_ml_learn(value stack, value path)
{
    tt_context around = tt_context_capture();
    uint32_t origin = origin_of(context_of(path));

    keep_stack(stack, around, origin);
    return Val_long(origin);
}

/* ── Objects ──────────────────────────────────────────────────────────────────────── */

enum {
    WORDS_BITS = 31, /* 16 GiB */
    KIND_SHIFT = ORIGIN_BITS + WORDS_BITS,
    MORE_SHIFT = KIND_SHIFT + 3,
    OVERHEAD_MORE_SHIFT
};

struct looked_at {
    tt_context origin;
    tt_type type;
    size_t bytes, overhead;
};

/* An object that is allocated in the major heap has a separate type, and counts as copied there. */
static tt_type type_of(unsigned kind)
{
    static const char *const names[] = {
        "block",       "marshalled",       "custom",
        "large block", "large marshalled", "large custom"};
    static tt_type types[sizeof names / sizeof *names];

    if (!types[kind])
        types[kind] = tt_type_get(names[kind]);
    return types[kind];
}

static __attribute__((noinline)) void find_amounts(struct amounts *a)
{
    double chance = -expm1((double)(a->words + 1) * log1p(-rate)),
           bytes = (double)(a->words * sizeof(value)) / chance,
           overhead = (double)sizeof(header_t) / chance;

    a->bytes = (size_t)bytes;
    a->rest = bytes - (double)a->bytes;
    a->overhead = (size_t)overhead;
    a->overhead_rest = overhead - (double)a->overhead;
}

static inline const struct amounts *amounts_of(size_t words)
{
    struct amounts *a = &known[words % KNOWN];

    if (a->words != words || !a->overhead) {
        a->words = words;
        find_amounts(a);
    }
    return a;
}

static inline struct looked_at object_of(uint64_t it)
{
    uint64_t origin = it & ((1u << ORIGIN_BITS) - 1);
    const struct amounts *all = amounts_of(it >> ORIGIN_BITS & ((1ul << WORDS_BITS) - 1));

    return (struct looked_at){origin ? origins.at[origin] : 0,
                              type_of(it >> KIND_SHIFT & 7),
                              all->bytes + (it >> MORE_SHIFT & 1),
                              all->overhead + (it >> OVERHEAD_MORE_SHIFT & 1)};
}

/* Carries a rounding error to the next object: is this one a byte more? */
static uint64_t carry_over(double rest, double *carry)
{
    double all = rest + *carry;
    int is_more = all >= 1;

    *carry = all - is_more;
    return (uint64_t)is_more;
}

/* Memprof reads it at once, and there is never a second one. */
static value some(value it)
{
    static struct {
        header_t header;
        value it;
    } block = {Caml_out_of_heap_header(1, 0), 0};

    block.it = it;
    return (value)&block.it;
}

/* None: it is not recorded. */
value tt_ml_alloc(value origin, value words, value source, value is_major)
{
    static double carry, overhead_carry;
    uint64_t kind = (uint64_t)Long_val(source) + (Bool_val(is_major) ? 3 : 0);
    uint64_t n = (uint64_t)Long_val(words), it;
    const struct amounts *all;
    struct looked_at o;

    n = n >> WORDS_BITS ? (1ul << WORDS_BITS) - 1 : n;
    all = amounts_of(n);
    it = (uint64_t)Long_val(origin) | n << ORIGIN_BITS | kind << KIND_SHIFT |
         carry_over(all->rest, &carry) << MORE_SHIFT |
         carry_over(all->overhead_rest, &overhead_carry) << OVERHEAD_MORE_SHIFT;
    o = object_of(it);
    if (tt_alloc_at(o.origin, o.type, o.bytes, o.overhead) == TT_NOWHERE)
        return Val_int(0);
    return some(Val_long(it));
}

/* The same object. */
value tt_ml_promote(value it)
{
    struct looked_at o = object_of((uint64_t)Long_val(it));

    tt_survive(o.origin, o.type, o.bytes, o.overhead, 0, 1);
    return some(it);
}

/* Frees an object of generation 1; a minor collection clears its part of generation 0. */
value tt_ml_free(value it)
{
    struct looked_at o = object_of((uint64_t)Long_val(it));

    tt_free(o.origin, o.type, o.bytes, o.overhead, 1);
    return Val_unit;
}
