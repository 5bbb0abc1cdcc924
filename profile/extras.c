/* SPDX-License-Identifier: MIT */
/* extras.c - sections that a reader may skip: their content is checked before it is
 * used. */
#include "extras.h"
#include "checking.h"

/* Sections after the counted ones may have kinds of a later version; those are
 * skipped. */
static const uint32_t extra_widths[TT_EXTRAS - TT_EXTRA_PLACES] = {
    sizeof(struct tt_place_row), sizeof(struct tt_place_frame),
    sizeof(struct tt_trail_row), sizeof(struct tt_entry), sizeof(struct tt_sample_row)};

static int is_known_extra(const struct tt_section *s)
{
    return s->kind >= TT_EXTRA_PLACES && s->kind < TT_EXTRAS;
}

/* Checks that no section ends after the file: code that copies an image also copies
 * sections that it does not know. */
static int check_extra(struct tt_profile *p, const struct tt_section *s, uint32_t i)
{
    uint64_t bytes;

    if (__builtin_mul_overflow(s->count, (uint64_t)s->width, &bytes) || s->offset % 8 ||
        s->offset > p->size || bytes > p->size - s->offset ||
        (is_known_extra(s) &&
         (s->width != extra_widths[s->kind - TT_EXTRA_PLACES] || s->count >= TT_NONE)))
        return tt_damaged(p, "section %u of those that may be skipped is damaged", i);
    return 0;
}

static void take_extra(struct tt_profile *p, const struct tt_section *s)
{
    const void *at = p->image + s->offset;

    if (s->kind == TT_EXTRA_PLACES) {
        p->place = at;
        p->places = (uint32_t)s->count;
    } else if (s->kind == TT_EXTRA_PLACE_FRAMES) {
        p->place_frame = at;
        p->place_frames = (uint32_t)s->count;
    } else if (s->kind == TT_EXTRA_TRAILS) {
        p->trail = at;
        p->trails = (uint32_t)s->count;
    } else if (s->kind == TT_EXTRA_TRAIL_ENTRIES) {
        p->trail_entry = at;
        p->trail_entries = (size_t)s->count;
    } else if (s->kind == TT_EXTRA_SAMPLES) {
        p->sample = at;
        p->samples = (size_t)s->count;
    }
}

/* Returns how many extra sections there are; TT_NONE: more than fit in the file. */
static uint32_t extras_of(const struct tt_profile *p, const struct tt_file_header *h,
                          const struct tt_section *s)
{
    uint32_t extras = h->sections ? s->reserved : 0;

    return extras <= (p->size - sizeof *h) / sizeof *s - h->sections ? extras : TT_NONE;
}

int tt_extras_read(struct tt_profile *p, const struct tt_file_header *h,
                   const struct tt_section *s)
{
    uint32_t extras = extras_of(p, h, s);
    int error = extras == TT_NONE ? tt_damaged(p, "damaged header") : 0;

    for (uint32_t i = 0; !error && i < extras; i++)
        if (!(error = check_extra(p, &s[h->sections + i], i)))
            take_extra(p, &s[h->sections + i]);
    return error;
}

/* ── What is in them ──────────────────────────────────────────────────────────────── */

static int check_places(struct tt_profile *p)
{
    for (uint32_t i = 0; i < p->places; i++) {
        const struct tt_place_row *r = &p->place[i];
        if (!tt_is_string(p, r->module) || !tt_is_string(p, r->id) || !r->frames ||
            r->first > p->place_frames || r->frames > p->place_frames - r->first)
            return tt_damaged(p, "damaged address %u", i);
    }
    for (uint32_t i = 0; i < p->place_frames; i++)
        if (p->place_frame[i].block >= p->blocks ||
            !tt_is_string(p, p->place_frame[i].file))
            return tt_damaged(p, "damaged function %u of an address", i);
    return 0;
}

static int check_samples(struct tt_profile *p)
{
    for (size_t i = 0; i < p->samples; i++)
        if (p->sample[i].context >= p->contexts ||
            !tt_is_strand(p, p->sample[i].strand) ||
            (i && p->sample[i].time < p->sample[i - 1].time))
            return tt_damaged(p, "damaged sample %zu by time", i);
    return 0;
}

int tt_extras_check(struct tt_profile *p)
{
    for (uint32_t i = 0; i < p->trails; i++) {
        const struct tt_trail_row *t = &p->trail[i];
        if ((t->parent != TT_NONE && t->parent >= i) || t->context >= p->contexts ||
            (t->place != TT_NONE && t->place >= p->places))
            return tt_damaged(p, "damaged path %u of addresses", i);
    }
    for (size_t i = 0; i < p->trail_entries; i++) {
        const struct tt_entry *e = &p->trail_entry[i];
        if (!tt_is_strand(p, e->strand) || e->metric >= p->metrics || e->row >= p->trails)
            return tt_damaged(p, "damaged figure %zu of an address", i);
    }
    return check_samples(p) == 0 ? check_places(p) : -TT_ERR_FORMAT;
}
