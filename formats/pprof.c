/* SPDX-License-Identifier: MIT */
/* pprof.c - profile.proto, which Go, gperftools and many others write: reading.
 *
 * In most files, locations, functions and strings come after the samples that refer to
 * them.  A first pass notes where everything is; the last one takes the samples, and
 * frees what it has passed.  A stack is leaf first; a location may be several frames, the
 * innermost of them first. */
#include "pprof.h"

#include <stdio.h>
#include <string.h>

#include "frames.h"
#include "pairs.h"
#include "pattern.h"
#include "pprof-write.h"
#include "re2.h"

enum { MOST_METRICS = 64 };
enum slot { NAME, FILE_NAME, MODULE, SLOTS };

/* ── What is noted ────────────────────────────────────────────────────────────────── */

struct text {
    const char *at; /* in the file; not ended by a NUL */
    size_t length;
};

enum cut { NOT_CUT, CUT_BELOW, CUT_WHOLE };
struct location { /* its frames: blocks, the innermost first */
    uint32_t first, count;
    enum cut cut;
};

struct metric {
    uint64_t type, unit; /* strings */
    uint32_t metric;     /* the builder's */
    uint64_t times;
    struct tt_frames amount;
};

struct pprof {
    struct tt_source *s;
    struct tt_builder *b;
    const unsigned char *bytes;
    size_t size;
    struct tt_vector text;        /* struct text */
    struct tt_vector slot[SLOTS]; /* char: strings in use */
    struct tt_pairs mappings,
        functions;             /* by id: where they are in the file, see below */
    struct tt_pairs locations; /* by id: an index */
    struct tt_vector place;    /* struct tt_wire: mappings and functions */
    struct tt_vector location; /* struct tt_wire, then struct location */
    struct tt_vector frame;    /* uint32_t: blocks */
    struct tt_vector open;     /* struct open: the sample before, from the root */
    struct tt_vector ids;      /* uint64_t: of the sample that is read, from the leaf */
    struct tt_pairs blocks;    /* (function, mapping) to a block + 1 */
    struct metric *metric;     /* owned; MOST_METRICS */
    uint32_t metrics;
    uint64_t default_type, drop_frames, keep_frames;
    struct tt_pattern *drop,
        *keep; /* owned, or NULL: frames that are dropped, unless kept */
    uint64_t samples;
};

struct open {
    uint64_t id;
    uint32_t context;
};

static int damaged(struct pprof *p, const struct tt_wire *m, const char *what)
{
    return tt_source_fail_at(p->s, (uint64_t)(m->at - p->bytes), "%s", what);
}

static int no_memory(struct pprof *p) { return tt_source_no_memory(p->s); }

/* Returns a string of the table as a C string, valid until the next one of that slot;
 * NULL: there is none, or no memory. */
static const char *text_of(struct pprof *p, uint64_t index, enum slot slot)
{
    static const char nul[] = "\xe2\x90\x80"; /* U+2400, its picture */
    const struct text *t = p->text.item;
    size_t nuls = 0;
    char *name, *to;

    if (index >= p->text.count)
        return NULL;
    t += index;
    for (size_t i = 0; i < t->length; i++)
        nuls += !t->at[i];
    p->slot[slot].count = 0;
    name = tt_vector_add(&p->slot[slot], t->length + nuls * (sizeof nul - 2) + 1);
    if (!name)
        return NULL;
    to = name;
    for (size_t i = 0; i < t->length; i++)
        if (t->at[i])
            *to++ = t->at[i];
        else
            to = (char *)memcpy(to, nul, sizeof nul - 1) + sizeof nul - 1;
    return name;
}

/* Returns a number of a message, 0 if it is missing. */
static uint64_t number_in(struct tt_wire m, uint32_t number)
{
    uint64_t value = 0;
    struct tt_wire_field f;

    while (tt_wire_next(&m, &f) > 0)
        if (f.number == number && f.wire == TT_WIRE_VARINT)
            value = f.value;
    return value;
}

static int is_sound(struct tt_wire m)
{
    struct tt_wire_field f;
    int result;

    while ((result = tt_wire_next(&m, &f)) > 0)
        ;
    return result == 0;
}

/* ── The first pass ───────────────────────────────────────────────────────────────── */

static int note_text(struct pprof *p, const struct tt_wire_field *f)
{
    return tt_vector_push(&p->text,
                          &(struct text){(const char *)f->inside.at,
                                         (size_t)(f->inside.end - f->inside.at)}) != 0
               ? no_memory(p)
               : 0;
}

static int note_place(struct pprof *p, struct tt_pairs *ids, struct tt_vector *places,
                      const struct tt_wire_field *f, const char *what)
{
    uint64_t id = number_in(f->inside, 1);
    uint32_t *index;
    int is_new;

    if (!is_sound(f->inside))
        return damaged(p, &f->inside, what);
    if (!id)
        return damaged(p, &f->inside, "an id is 0");
    index = tt_pairs_get(ids, id, 0, &is_new);
    if (index && !is_new)
        return damaged(p, &f->inside,
                       "this id is there twice: raw profiles cannot be read one behind "
                       "the other");
    if (!index || tt_vector_push(places, &f->inside) != 0)
        return no_memory(p);
    *index = (uint32_t)places->count - 1;
    return 0;
}

static int note_type(struct pprof *p, const struct tt_wire_field *f)
{
    if (p->metrics == MOST_METRICS)
        return damaged(p, &f->inside, "there are too many types of samples");
    p->metric[p->metrics++] = (struct metric){.type = number_in(f->inside, 1),
                                              .unit = number_in(f->inside, 2)};
    return 0;
}

static int note_field(struct pprof *p, const struct tt_wire_field *f)
{
    static const unsigned char wire[] = {0,
                                         TT_WIRE_BYTES,
                                         TT_WIRE_BYTES,
                                         TT_WIRE_BYTES,
                                         TT_WIRE_BYTES,
                                         TT_WIRE_BYTES,
                                         TT_WIRE_BYTES};

    if (f->number < sizeof wire && f->wire != wire[f->number])
        return damaged(p, &f->inside, "a field is of the wrong kind");
    switch (f->number) {
    case TT_PROFILE_SAMPLE_TYPE:
        return note_type(p, f);
    case TT_PROFILE_MAPPING:
        return note_place(p, &p->mappings, &p->place, f, "a mapping is damaged");
    case TT_PROFILE_LOCATION:
        return note_place(p, &p->locations, &p->location, f, "a location is damaged");
    case TT_PROFILE_FUNCTION:
        return note_place(p, &p->functions, &p->place, f, "a function is damaged");
    case TT_PROFILE_STRING:
        return note_text(p, f);
    case TT_PROFILE_DEFAULT_TYPE:
        p->default_type = f->wire == TT_WIRE_VARINT ? f->value : 0;
        return 0;
    case TT_PROFILE_DROP_FRAMES:
        p->drop_frames = f->wire == TT_WIRE_VARINT ? f->value : 0;
        return 0;
    case TT_PROFILE_KEEP_FRAMES:
        p->keep_frames = f->wire == TT_WIRE_VARINT ? f->value : 0;
        return 0;
    default:
        return 0;
    }
}

static int note_all(struct pprof *p)
{
    struct tt_wire m = {p->bytes, p->bytes + p->size};
    struct tt_wire_field f = {0};
    int result, error = 0;

    while (!error && (result = tt_wire_next(&m, &f)) != 0)
        error = result < 0
                    ? damaged(p, &m, "this field is damaged, or the file ends in it")
                    : note_field(p, &f);
    if (!error && !p->metrics)
        return tt_source_fail_at(p->s, p->size, "there is no type of samples");
    if (!error && !p->text.count)
        return tt_source_fail_at(p->s, p->size, "there is no table of strings");
    return error;
}

/* ── Metrics and facts ────────────────────────────────────────────────────────────── */

uint64_t tt_pprof_read_unit(const char **unit)
{
    static const struct {
        const char *name, *unit;
        uint64_t times;
    } units[] = {{"nanoseconds", "ns", 1},
                 {"microseconds", "ns", 1000},
                 {"milliseconds", "ns", 1000000},
                 {"seconds", "ns", 1000000000},
                 {"ns", "ns", 1},
                 {"us", "ns", 1000},
                 {"ms", "ns", 1000000},
                 {"s", "ns", 1000000000},
                 {"count", "", 1},
                 {"bytes", "bytes", 1}};

    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(*unit, units[i].name) == 0) {
            *unit = units[i].unit;
            return units[i].times;
        }
    return 1;
}

/* The metric of a type.  A type may have no name, and two may have the same one. */
static uint32_t add_metric(struct pprof *p, uint32_t type, const char *name,
                           const char *unit, uint32_t flags)
{
    char numbered[300];
    uint32_t metric, same = 0;

    name = *name ? name : "value";
    for (uint32_t i = 0; i < type; i++) {
        const char *other = text_of(p, p->metric[i].type, FILE_NAME);
        same += other && strcmp(*other ? other : "value", name) == 0;
    }
    (void)snprintf(numbered, sizeof numbered, "%.250s %u", name, same + 1);
    metric = tt_builder_metric(p->b, same ? numbered : name, unit, flags);
    return metric;
}

static uint32_t default_metric(struct pprof *p)
{
    uint32_t chosen = p->metrics - 1;

    for (uint32_t i = 0; p->default_type && i < p->metrics; i++) {
        const char *type = text_of(p, p->metric[i].type, NAME),
                   *wanted = text_of(p, p->default_type, MODULE);
        if (type && wanted && strcmp(type, wanted) == 0)
            chosen = i;
    }
    return chosen;
}

/* The same in each file, whatever is its default. */
static uint32_t flags_of(const char *type, const char *unit)
{
    uint32_t flags = strncmp(type, "inuse", 5) == 0 ? TT_METRIC_PEAK : 0;

    if (strcmp(unit, "ns") == 0)
        flags |= TT_METRIC_TIME;
    if (strcmp(unit, "bytes") == 0)
        flags |= TT_METRIC_SPACE;
    return flags;
}

/* The default metric, or the last one if none is named, is shown first. */
static int make_metrics(struct pprof *p)
{
    const uint32_t chosen = default_metric(p);

    for (uint32_t i = 0; i < p->metrics; i++) {
        struct metric *m = &p->metric[i];
        const char *type = text_of(p, m->type, NAME), *unit = text_of(p, m->unit, MODULE);
        if (!type || !unit)
            return tt_source_fail_at(p->s, 0, "the type of samples %u has no name", i);
        m->times = tt_pprof_read_unit(&unit);
        m->metric = add_metric(p, i, type, unit, flags_of(type, unit));
        if (i == chosen && p->metrics > 1)
            tt_builder_fact(p->b, TT_FACT_METRIC, TT_FACT_EACH, 0, type);
        tt_frames_init(&m->amount, p->b, p->s->memory);
    }
    return 0;
}

static void add_comment(struct pprof *p, uint64_t string)
{
    const char *text = text_of(p, string, NAME);

    if (text && *text)
        tt_builder_fact(p->b, "comment", TT_FACT_EACH, 1, text);
}

static void add_facts(struct pprof *p)
{
    struct tt_wire m = {p->bytes, p->bytes + p->size};
    struct tt_wire_field f;
    uint64_t string;

    while (tt_wire_next(&m, &f) > 0) {
        if (f.number == TT_PROFILE_COMMENT && f.wire == TT_WIRE_BYTES) /* packed */
            while (f.inside.at < f.inside.end && tt_wire_varint(&f.inside, &string))
                add_comment(p, string);
        if (f.wire != TT_WIRE_VARINT || !f.value)
            continue;
        if (f.number == TT_PROFILE_TIME)
            tt_builder_fact(p->b, "started", TT_FACT_MIN, f.value, "");
        if (f.number == TT_PROFILE_DURATION)
            tt_builder_fact(p->b, "lasted", TT_FACT_MAX, f.value, "");
        if (f.number == TT_PROFILE_COMMENT)
            add_comment(p, f.value);
    }
}

static int find_place(struct pprof *p, const struct tt_pairs *ids, uint64_t id,
                      struct tt_wire *m)
{
    const uint32_t *index = tt_pairs_find(ids, id, 0);

    if (index)
        *m = ((const struct tt_wire *)p->place.item)[*index];
    return index != NULL;
}

/* ── Frames that are not to be shown ──────────────────────────────────────────────── */

/* Compiles an expression of RE2 for whole names.  Returns NULL, or why that failed. */
static const char *compile_expression(const char *text, char *reason, size_t size,
                                      struct tt_pattern **pattern)
{
    enum { LONG_EXPRESSION = 1000 }; /* tt_pattern_new has this limit, too */
    char whole[LONG_EXPRESSION + sizeof "^()$"], posix[LONG_EXPRESSION];
    char slashes[LONG_EXPRESSION + sizeof "//"];
    const char *why, *colon;

    if (strlen(text) > LONG_EXPRESSION)
        return "it is too long";
    (void)snprintf(whole, sizeof whole, "^(%s)$", text);
    if ((why = tt_re2_to_posix(whole, posix, sizeof posix)))
        return why;
    (void)snprintf(slashes, sizeof slashes, "/%s/", posix);
    if ((*pattern = tt_pattern_new(slashes, reason, size)))
        return NULL;
    colon = strrchr(reason, ':'); /* after the expression, as POSIX has it */
    return colon ? colon + 2 : reason;
}

/* If an expression cannot be compiled, a comment says why. */
static int read_expression(struct pprof *p, uint64_t string, struct tt_pattern **pattern)
{
    const char *text = string ? text_of(p, string, NAME) : NULL, *why;
    char said[300], reason[200];

    if (!text || !*text)
        return 0;
    why = compile_expression(text, reason, sizeof reason, pattern);
    if (!why)
        return 0;
    (void)snprintf(said, sizeof said, "no frames are dropped: '%.60s': %s", text, why);
    tt_builder_fact(p->b, "comment", TT_FACT_EACH, 1, said);
    return 1;
}

/* If what is to be kept cannot be compiled, too much would be dropped. */
static int read_expressions(struct pprof *p)
{
    int failed = read_expression(p, p->drop_frames, &p->drop);

    failed = failed ?: read_expression(p, p->keep_frames, &p->keep);
    if (failed > 0) {
        tt_pattern_free(p->drop);
        p->drop = NULL;
    }
    return failed < 0 ? failed : 0;
}

/* Cuts arguments, and the dot of PowerPC's functions, as go tool pprof does. */
static const char *simplify(char *name)
{
    static const char *const kept[] = {"(anonymous namespace)", "operator()"};
    char *at = name;

    while (*at) {
        size_t skip = *at != '(';
        for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
            if (strncmp(at, kept[i], strlen(kept[i])) == 0)
                skip = strlen(kept[i]);
        if (!skip)
            break;
        at += skip;
    }
    *at = '\0';
    return name + (*name == '.');
}

static int is_dropped(struct pprof *p, uint64_t function)
{
    enum { LONG_NAME = 4096 };
    struct tt_wire m;
    const char *name;

    if (!p->drop || !function || !find_place(p, &p->functions, function, &m))
        return 0;
    name = text_of(p, number_in(m, 2), NAME);
    if (!name || !*name || strlen(name) > LONG_NAME) /* each of its lines asks */
        return 0;
    name = simplify(p->slot[NAME].item);
    return tt_pattern_matches(p->drop, name) &&
           !(p->keep && tt_pattern_matches(p->keep, name));
}

/* Takes away the frames of a location up to the outermost one that is dropped. */
static void cut_location(struct location *l, uint32_t frames)
{
    l->cut = !frames ? NOT_CUT : frames == l->count ? CUT_WHOLE : CUT_BELOW;
    if (l->cut == CUT_BELOW) {
        l->first += frames;
        l->count -= frames;
    }
}

/* How many locations of a stack are left out, from the leaf on?  As those before the first
 * other one stay, something is always left. */
static size_t find_cut(struct pprof *p)
{
    const uint64_t *id = p->ids.item;
    const struct location *l = p->location.item;
    int found = 0;

    for (size_t i = p->drop ? p->ids.count : 0; i--;) {
        const uint32_t *index = tt_pairs_find(&p->locations, id[i], 0);
        const enum cut cut = index ? l[*index].cut : NOT_CUT;
        if (found && cut != NOT_CUT)
            return i + (cut == CUT_WHOLE);
        found |= cut == NOT_CUT;
    }
    return 0;
}

/* ── Locations ────────────────────────────────────────────────────────────────────── */

/* Returns a string of a function or mapping; *missing: there is none of that number. */
static const char *text_in(struct pprof *p, const struct tt_wire *m, uint32_t number,
                           enum slot slot, int *missing)
{
    const char *text = text_of(p, number_in(*m, number), slot);

    *missing |= !text;
    return text ? text : "";
}

/* Finds the block of a function in a mapping; function 0: only the address is known. */
static int find_block(struct pprof *p, const struct tt_wire *where, uint64_t function,
                      uint64_t mapping, uint64_t address, uint32_t *block)
{
    struct tt_block_info info = {.kind = TT_KIND_NATIVE, .module = ""};
    struct tt_wire m;
    char hex[32];
    int is_new = 1, missing = 0;
    uint32_t *known = function ? tt_pairs_get(&p->blocks, function, mapping, &is_new)
                               : NULL;

    if (known && !is_new) {
        *block = *known - 1;
        return 0;
    }
    if (function && !known)
        return no_memory(p);
    if (mapping && !find_place(p, &p->mappings, mapping, &m))
        return damaged(p, where, "a location is in a mapping that is not there");
    if (mapping)
        info.module = text_in(p, &m, 5, MODULE, &missing);
    if (function && !find_place(p, &p->functions, function, &m))
        return damaged(p, where, "a location is in a function that is not there");
    (void)snprintf(hex, sizeof hex, "0x%llx", (unsigned long long)address);
    info.name = hex;
    if (function) {
        info.name = text_in(p, &m, 2, NAME, &missing);
        if (!*info.name)
            info.name = text_in(p, &m, 3, NAME, &missing);
        info.file = text_in(p, &m, 4, FILE_NAME, &missing);
        info.line = (uint32_t)number_in(m, 5);
        info.kind = TT_KIND_FUNCTION;
    }
    if (missing)
        return damaged(p, where, "a name of this is not in the table of strings");
    *block = tt_builder_block(p->b, &info);
    if (known)
        *known = *block + 1;
    return *block == TT_NONE ? no_memory(p) : 0;
}

static int add_frame(struct pprof *p, const struct tt_wire *where, uint64_t function,
                     uint64_t mapping, uint64_t address)
{
    uint32_t block;
    int error = find_block(p, where, function, mapping, address, &block);

    return !error && tt_vector_push(&p->frame, &block) != 0 ? no_memory(p) : error;
}

/* Reads a location into its frames. */
static int read_location(struct pprof *p, struct tt_wire m, struct location *l)
{
    const struct tt_wire all = m;
    const uint64_t mapping = number_in(m, 2), address = number_in(m, 3);
    struct tt_wire_field f;
    uint32_t dropped = 0;
    int error = 0;

    l->first = (uint32_t)p->frame.count;
    while (!error && tt_wire_next(&m, &f) > 0)
        if (f.number == 4 && f.wire == TT_WIRE_BYTES && !is_sound(f.inside))
            error = damaged(p, &f.inside, "a line of a location is damaged");
        else if (f.number == 4 && f.wire == TT_WIRE_BYTES) {
            const uint64_t function = number_in(f.inside, 1);
            error = add_frame(p, &all, function, mapping, address);
            if (!error && is_dropped(p, function))
                dropped = (uint32_t)p->frame.count - l->first;
        }
    if (!error && p->frame.count == l->first)
        error = add_frame(p, &all, 0, mapping, address);
    l->count = (uint32_t)p->frame.count - l->first;
    cut_location(l, dropped);
    return error;
}

static int read_locations(struct pprof *p)
{
    struct tt_vector read;
    int error = 0;

    tt_vector_init(&read, p->s->memory, sizeof(struct location));
    if (!tt_vector_add(&read, p->location.count))
        return no_memory(p);
    for (size_t i = 0; !error && i < p->location.count; i++)
        error = read_location(p, ((const struct tt_wire *)p->location.item)[i],
                              (struct location *)read.item + i);
    tt_vector_fini(&p->location);
    p->location = read;
    return error;
}

/* ── Samples ──────────────────────────────────────────────────────────────────────── */

/* Adds the numbers of a field, packed or one by one. */
static int add_numbers(struct pprof *p, struct tt_wire_field *f, struct tt_vector *to)
{
    uint64_t value;

    if (f->wire == TT_WIRE_VARINT)
        return tt_vector_push(to, &f->value) != 0 ? no_memory(p) : 0;
    if (f->wire != TT_WIRE_BYTES)
        return damaged(p, &f->inside, "a field of a sample is of the wrong kind");
    while (f->inside.at < f->inside.end) {
        if (!tt_wire_varint(&f->inside, &value))
            return damaged(p, &f->inside, "a number of a sample is damaged");
        if (tt_vector_push(to, &value) != 0)
            return no_memory(p);
    }
    return 0;
}

static int open_location(struct pprof *p, const struct tt_wire *where, uint64_t id,
                         uint32_t *context)
{
    const uint32_t *index = tt_pairs_find(&p->locations, id, 0);
    const struct location *l = p->location.item;
    const uint32_t *frame = p->frame.item;

    if (!index)
        return tt_source_fail_at(p->s, (uint64_t)(where->at - p->bytes),
                                 "the location %llu is not there",
                                 (unsigned long long)id);
    l += *index;
    for (uint32_t i = l->count; i--;)
        *context = tt_builder_context(p->b, *context, frame[l->first + i]);
    return *context == TT_NONE ||
                   tt_vector_push(&p->open, &(struct open){id, *context}) != 0
               ? no_memory(p)
               : 0;
}

/* Finds the context of a sample; reuses the part that it shares with the sample before,
 * from the root on. */
static int find_context(struct pprof *p, const struct tt_wire *where, uint32_t *context)
{
    const size_t cut = find_cut(p), count = p->ids.count - cut;
    const uint64_t *id = p->ids.count ? (const uint64_t *)p->ids.item + cut : NULL;
    const struct open *open = p->open.item;
    size_t same = 0;
    int error = 0;

    while (same < count && same < p->open.count && open[same].id == id[count - 1 - same])
        same++;
    *context = same ? open[same - 1].context : (uint32_t)TT_BUILDER_ROOT;
    p->open.count = same;
    for (size_t i = count - same; !error && i--;)
        error = open_location(p, where, id[i], context);
    return error;
}

static int below_zero(struct pprof *p, const struct tt_wire *where, uint32_t metric,
                      int64_t value)
{
    const char *type = text_of(p, p->metric[metric].type, NAME);

    return tt_source_fail_at(p->s, (uint64_t)(where->at - p->bytes),
                             "a sample has the value %lld of '%.40s', and values below 0 "
                             "cannot be read: if the file is a difference, compare the "
                             "profiles themselves by 'tallytree diff'",
                             (long long)value, type ? type : "");
}

static int add_values(struct pprof *p, const struct tt_wire *where, uint32_t context,
                      const struct tt_vector *values)
{
    const uint64_t *value = values->item;

    if (values->count != p->metrics)
        return tt_source_fail_at(p->s, (uint64_t)(where->at - p->bytes),
                                 "a sample has %zu values of %u types", values->count,
                                 p->metrics);
    for (uint32_t i = 0; i < p->metrics; i++) {
        struct metric *m = &p->metric[i];
        uint64_t amount;
        int error;
        if (value[i] >> 63)
            return below_zero(p, where, i, (int64_t)value[i]);
        if (!value[i])
            continue;
        error = __builtin_mul_overflow(value[i], m->times, &amount)
                    ? -TT_ERR_FORMAT
                    : tt_frames_add(&m->amount, context, amount);
        if (error)
            return error == -TT_ERR_MEMORY ? no_memory(p)
                                           : damaged(p, where, TT_TOO_MUCH);
    }
    return 0;
}

static int take_sample(struct pprof *p, struct tt_wire m, struct tt_vector *values)
{
    const struct tt_wire where = m;
    struct tt_wire_field f;
    uint32_t context;
    int result, error = 0;

    p->ids.count = values->count = 0;
    while (!error && (result = tt_wire_next(&m, &f)) != 0) {
        if (result < 0)
            return damaged(p, &where, "a sample is damaged");
        if (f.number == 1)
            error = add_numbers(p, &f, &p->ids);
        else if (f.number == 2)
            error = add_numbers(p, &f, values);
    }
    error = error ?: find_context(p, &where, &context);
    return error ?: add_values(p, &where, context, values);
}

static int take_samples(struct pprof *p)
{
    struct tt_wire m = {p->bytes, p->bytes + p->size};
    struct tt_vector values;
    struct tt_wire_field f;
    int error = 0;

    tt_vector_init(&values, NULL, sizeof(uint64_t));
    while (!error && tt_wire_next(&m, &f) > 0) {
        if (f.number == TT_PROFILE_SAMPLE)
            error = take_sample(p, f.inside, &values);
        tt_source_forget(p->s, (const char *)m.at);
    }
    tt_vector_fini(&values);
    return error;
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

static void init(struct pprof *p, struct tt_source *s, struct tt_builder *b)
{
    const struct tt_memory *m = s->memory;

    p->s = s;
    p->b = b;
    tt_vector_init(&p->text, m, sizeof(struct text));
    for (int i = 0; i < SLOTS; i++)
        tt_vector_init(&p->slot[i], m, 1);
    tt_vector_init(&p->place, m, sizeof(struct tt_wire));
    tt_vector_init(&p->location, m, sizeof(struct tt_wire));
    tt_vector_init(&p->frame, m, sizeof(uint32_t));
    tt_vector_init(&p->open, m, sizeof(struct open));
    tt_vector_init(&p->ids, m, sizeof(uint64_t));
    tt_pairs_init(&p->mappings, m);
    tt_pairs_init(&p->functions, m);
    tt_pairs_init(&p->locations, m);
    tt_pairs_init(&p->blocks, m);
}

static int read_profile(struct pprof *p)
{
    const char *bytes;
    int error = tt_source_all(p->s, &bytes, &p->size);

    p->bytes = (const unsigned char *)bytes;
    error = error ?: note_all(p);
    error = error ?: make_metrics(p);
    error = error ?: read_expressions(p);
    error = error ?: read_locations(p);
    if (!error)
        add_facts(p);
    error = error ?: take_samples(p);
    tt_source_drop(p->s);
    for (uint32_t i = 0; !error && i < p->metrics; i++)
        tt_frames_flush(&p->metric[i].amount, p->metric[i].metric);
    return error;
}

static int read_pprof(struct tt_source *s, struct tt_builder *b)
{
    struct metric *metric = tt_memory_get(s->memory, MOST_METRICS * sizeof *metric);
    struct pprof p = {.metric = metric};
    int error;

    if (!metric)
        return tt_source_no_memory(s);
    init(&p, s, b);
    error = read_profile(&p);
    tt_pattern_free(p.drop);
    tt_pattern_free(p.keep);
    return error;
}

/* The format has no magic number: a file matches if all messages in the head are valid,
 * and one is a type of samples.  If the type has no name, a location must be there as
 * well. */
static enum tt_match detect(const char *head, size_t size)
{
    struct tt_wire m = {(const unsigned char *)head, (const unsigned char *)head + size};
    struct tt_wire_field f;
    int types = 0, nameless = 0, parts = 0;

    while (tt_wire_next(&m, &f) > 0) {
        if (f.number > 15 || (f.number <= TT_PROFILE_STRING && f.wire != TT_WIRE_BYTES) ||
            f.wire == TT_WIRE_64 || f.wire == TT_WIRE_32)
            return TT_MATCH_NO;
        if (f.number < TT_PROFILE_STRING && !is_sound(f.inside))
            return TT_MATCH_NO;
        types += f.number == TT_PROFILE_SAMPLE_TYPE && f.inside.end - f.inside.at <= 12 &&
                 number_in(f.inside, 1) > 0;
        nameless += f.number == TT_PROFILE_SAMPLE_TYPE && f.inside.at == f.inside.end;
        parts += f.number == TT_PROFILE_LOCATION && number_in(f.inside, 1) > 0;
    }
    return tt_match_if(types || (nameless && parts));
}

const struct tt_format tt_format_pprof = {
    .name = "pprof",
    .about = "what go tool pprof reads",
    .flags = TT_FORMAT_PACKED | TT_FORMAT_PATHS,
    .detect = detect,
    .read = read_pprof,
    .write = tt_pprof_write,
};
