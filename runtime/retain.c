/* SPDX-License-Identifier: MIT */
/* retain.c - retainers: sets of blocks, and how much live memory each set retains.
 *
 *      {} ── main ── {main} ── parse ── {main, parse} ── ··· ── MANY
 *
 * A set is made once and has a number.  The step from a set to the set with one more
 * block is also stored, so that a collector that walks from each retainer needs one
 * look-up for each reference.  Sets only grow towards MANY, so every such walk ends.
 * Sets belong to the process, as blocks do. */
#include "retain.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "block.h"
#include "brief-lock.h"
#include "control.h"
#include "keys.h"
#include "rows.h"
#include "series.h"
#include "share.h"

enum {
    SET_MANY = 1,
    SET_OTHER, /* of sets that found no room */
    SET_FIRST,
    SETS_MAX = 1 << 16,
    STEPS_MAX = 1 << 20, /* that are cached */
    NAMED_MAX = 500,     /* as many as a strand has bands */
    NAME_MAX_BYTES = 512
};

static struct {
    struct tt_owned lock;
    uint32_t count;
    uint32_t named; /* in this recording */
    struct set {
        tt_block block[TT_RETAINERS]; /* in ascending order; then 0 */
        tt_type type;                 /* that has its name; 0: not yet */
    } * set;                          /* from number SET_FIRST on */
    struct tt_keys steps, sets;
    uint32_t epoch;      /* recording of the last report */
    uint64_t collection; /* and its collection; 0: no report */
} retain;

/* ── Sets ─────────────────────────────────────────────────────────────────────────── */

/* Different numbers stay different, and 0 is 0. */
static uint64_t mix_set(uint64_t x)
{
    x = (x ^ x >> 32) * 0xd6e8feb86659fd93u;
    x = (x ^ x >> 29) * 0xd1342543de82ef95u;
    return x ^ x >> 32;
}

static int have_sets(void)
{
    void *p;

    if (retain.set)
        return 1;
    p = mmap(NULL, SETS_MAX * sizeof *retain.set, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return 0;
    retain.set = p;
    return 1;
}

/* The one that has the same blocks, or a new one. */
static uint32_t find_or_make(const struct set *s)
{
    uint64_t key = 1;
    uint32_t i;

    for (int k = 0; k < TT_RETAINERS; k++)
        key = mix_set(key + s->block[k]) | 1;
    for (; (i = tt_keys_find(&retain.sets, key)); key = mix_set(key) | 1)
        if (memcmp(retain.set[i - SET_FIRST].block, s->block, sizeof s->block) == 0)
            return i;
    if (retain.count == SETS_MAX || !have_sets())
        return SET_OTHER;
    retain.set[retain.count] = *s;
    i = SET_FIRST + retain.count++;
    tt_keys_add(&retain.sets, key, i);
    return i;
}

static uint32_t set_with(uint32_t number, tt_block block)
{
    struct set s = {{0}, 0};
    size_t i = 0;

    if (number)
        s = retain.set[number - SET_FIRST];
    while (i < TT_RETAINERS && s.block[i] && s.block[i] < block)
        i++;
    if (i < TT_RETAINERS && s.block[i] == block)
        return number;
    if (s.block[TT_RETAINERS - 1])
        return SET_MANY;
    memmove(&s.block[i + 1], &s.block[i], (TT_RETAINERS - 1 - i) * sizeof *s.block);
    s.block[i] = block;
    s.type = 0;
    return find_or_make(&s);
}

void tt_retainers_lock(void) { tt_owned_lock(&retain.lock, &tt_self); }

void tt_retainers_unlock(void) { tt_owned_unlock(&retain.lock); }

/* Locked by a thread that is in the profiler now; 0: it was before, and must not wait for a lock
 * that may be its own. */
static int lock_sets(void)
{
    if (tt_is_at_work())
        return 0;
    tt_work.objects = 1;
    TT_BARRIER();
    tt_retainers_lock();
    return 1;
}

static void unlock_sets(void)
{
    tt_retainers_unlock();
    TT_BARRIER();
    tt_work.objects = 0;
}

static int are_wanted(const struct tt_recording *r)
{
    return __atomic_load_n(&tt_on, __ATOMIC_RELAXED) && r &&
           r->options.series & 1u << TT_BAND_RETAINERS;
}

tt_retainers tt_retainers_with(tt_retainers set, tt_block retainer)
{
    const uint64_t key = mix_set((uint64_t)set << 32 | retainer);
    uint32_t with = set;

    TT_HAND_ON(tt_retainers_with, set, retainer);
    if (!are_wanted(tt_recording_now()) || set == SET_MANY || set == SET_OTHER ||
        !retainer || !lock_sets())
        return set;
    if (set < SET_FIRST + retain.count) {
        with = tt_keys_find(&retain.steps, key);
        if (!with) {
            with = set_with(set, retainer);
            if (retain.steps.count == STEPS_MAX)
                tt_keys_clear(&retain.steps);
            tt_keys_add(&retain.steps, key, with);
        }
    }
    unlock_sets();
    return with;
}

/* ── What is alive of each ────────────────────────────────────────────────────────── */

/* The names of its blocks, sorted, so that it has the same name in each run. */
static void name_set(const struct set *s, char text[NAME_MAX_BYTES])
{
    const char *name[TT_RETAINERS];
    size_t n = 0, k, used = 0;

    for (; n < TT_RETAINERS && s->block[n]; n++) {
        const char *own = s->block[n] <= tt_block_count()
                              ? tt_block_entry(s->block[n])->info.name
                              : "";
        for (k = n; k > 0 && strcmp(name[k - 1], own) > 0; k--)
            name[k] = name[k - 1];
        name[k] = own;
    }
    for (k = 0; k < n && used < NAME_MAX_BYTES; k++)
        used += (size_t)snprintf(text + used, NAME_MAX_BYTES - used, "%s%s", k ? "," : "",
                                 name[k]);
}

/* A set's name is that of a type. */
static tt_type type_of_set(tt_retainers number)
{
    char text[NAME_MAX_BYTES];
    struct set s = {{0}, 0};

    if (number == SET_MANY)
        return tt_type_get("MANY");
    if (!lock_sets())
        return TT_BLOCK_OTHER;
    if (number >= SET_FIRST && number < SET_FIRST + retain.count)
        s = retain.set[number - SET_FIRST];
    if (s.block[0] && !s.type)
        retain.named++;
    unlock_sets();
    if (!s.type && s.block[0] && retain.named <= NAMED_MAX) {
        name_set(&s, text);
        s.type = tt_type_get(text);
        retain.set[number - SET_FIRST].type = s.type;
    }
    return s.type;
}

void tt_retained(tt_retainers set, size_t bytes)
{
    struct tt_recording *r = tt_recording_now();
    const struct tt_space_record *s;
    struct tt_thread *t;
    tt_type type;

    TT_HAND_OVER(tt_retained, set, bytes);
    if (!are_wanted(r))
        return;
    if (retain.epoch != r->epoch) {
        retain.epoch = r->epoch;
        retain.collection = retain.named = 0;
    }
    type = type_of_set(set);
    t = tt_space_enter();
    if (!t)
        return;
    s = tt_space_record(t->recording);
    if (s && __atomic_load_n(&s->collecting, __ATOMIC_RELAXED)) {
        if (retain.collection != s->collected)
            tt_bands_release(t, s->collecting_since);
        retain.collection = s->collected;
        if (tt_block_kind(type) != TT_KIND_TYPE || tt_block_publish(r, type) != type)
            type = TT_BLOCK_OTHER;
        tt_bands_retained(t, type, s->collecting_since, (int64_t)bytes);
    }
    tt_thread_leave(t);
}

/* If another thread was changing the sets at the fork, they are leaked and begun
 * again. */
void tt_retainers_forget(void)
{
    if (tt_owned_forget(&retain.lock, &tt_self))
        memset(&retain, 0, sizeof retain);
}
