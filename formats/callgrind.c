/* SPDX-License-Identifier: MIT */
/* callgrind.c - the files that callgrind, cachegrind, pprof and Xdebug write for
 * KCachegrind: reading.
 *
 *      fn=(1) main            a function; ids stand for names that were given once
 *      16 20                  line 16 cost 20
 *      cfn=(2) parse          the function that is called by the next
 *      calls=1 50             once, at line 50,
 *      16 400                 from line 16, and cost 400 with all it called
 *
 * The calls make a graph, and arcs.c makes contexts of it.  Lines and addresses within
 * functions are not kept. */
#include <stdio.h>
#include <string.h>

#include "arcs.h"
#include "callgrind-write.h"
#include "formats.h"
#include "frames.h"
#include "hex.h"
#include "naming.h"

enum { MOST_EVENTS = 64, EVENT_NAME = 64 };
enum space { OBJECTS, FILES, FUNCTIONS, SPACES };

struct identity {
    uint32_t object, file, name;
};

struct reading {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_frames names; /* texts to numbers, from 1 */
    struct tt_vector text;  /* size_t: where the text of each number begins in `names` */
    struct tt_pairs
        ids; /* (id, space) to such a number; (id, SPACES) to a function + 1 */
    struct tt_vector identity; /* struct identity: of each function of `arcs` */
    struct tt_pairs blocks;    /* (object and file, name) to a function of `arcs` + 1 */
    struct tt_arcs arcs;
    int has_arcs;
    /* Names: the current ones, and those given for the callee; 0: none. */
    uint32_t object, file, function_file, callee_object, callee_file;
    uint32_t function, callee; /* of `arcs`; TT_NONE */
    uint32_t arc;              /* whose cost is in the next line; TT_NONE: none's */
    uint32_t positions;        /* columns before the costs */
    uint32_t events;           /* columns of this part */
    uint32_t column[MOST_EVENTS];
    uint64_t cost[MOST_EVENTS];
    char event[MOST_EVENTS][EVENT_NAME]; /* of all parts */
    uint32_t known;                      /* of them */
    const char *last;                    /* the line that ends each part; NULL: unknown */
    int is_callgrind, has_creator, has_last, has_calls;
};

static int no_memory(struct reading *r) { return tt_source_no_memory(r->s); }

/* ── Names ────────────────────────────────────────────────────────────────────────── */

static const char *text_of(const struct reading *r, uint32_t number)
{
    const size_t *at = r->text.item;

    return number ? (const char *)r->names.text.item + at[number - 1] : "";
}

/* The number of a text; 0: no memory. */
static uint32_t number_of(struct reading *r, const char *text)
{
    size_t length = strlen(text);
    int is_new;
    uint32_t *number = tt_frames_find(&r->names, text, length, &is_new);

    if (!number)
        return 0;
    if (is_new) {
        const size_t at = r->names.text.count - length - 1;
        if (tt_vector_push(&r->text, &at) != 0)
            return 0;
        *number = (uint32_t)r->text.count;
    }
    return *number;
}

static int read_number(const char **at, uint64_t *n)
{
    const char *c = *at;
    int base = 10;

    *n = 0;
    if (c[0] == '0' && (c[1] == 'x' || c[1] == 'X')) {
        base = 16;
        c += 2;
    }
    for (const char *first = c;; c++) {
        const int digit = tt_hex(*c);
        if (digit < 0 || digit >= base) {
            *at = c;
            return c > first;
        }
        if (__builtin_mul_overflow(*n, (uint64_t)base, n) ||
            __builtin_add_overflow(*n, (uint64_t)digit, n))
            return 0;
    }
}

/* Reads "name", "(id) name" or "(id)"; "(id)" means the name that was given with it
 * before. */
static int read_name(struct reading *r, const char *text, enum space space,
                     uint32_t *number)
{
    const char *c = tt_skip_blanks(text), *name = c;
    uint32_t *noted;
    uint64_t id;
    int is_new;

    if (*c == '(' && (c++, read_number(&c, &id)) && *c == ')') {
        name = tt_skip_blanks(c + 1);
        noted = tt_pairs_get(&r->ids, id, (uint64_t)space, &is_new);
        if (!noted)
            return no_memory(r);
        if (!*name && !*noted && space != FUNCTIONS)
            name = "???"; /* callgrind writes it, and its tools read it */
        if (!*name && !*noted)
            return tt_source_fail(r->s, "(%llu) has no name so far",
                                  (unsigned long long)id);
        if (!*name) {
            *number = *noted;
            return 0;
        }
        *number = *noted = number_of(r, name);
        return *number ? 0 : no_memory(r);
    }
    *number = number_of(r, name);
    return *number ? 0 : no_memory(r);
}

/* Adds another function of that name there. */
static int new_function(struct reading *r, const struct identity *i, uint32_t *function)
{
    const char *module = text_of(r, i->object), *path = text_of(r, i->file);
    struct tt_block_info info = {.name = text_of(r, i->name),
                                 .module = strcmp(module, "???") ? module : "",
                                 .file = strcmp(path, "???") ? path : "",
                                 .kind = TT_KIND_FUNCTION};
    int is_root = strcmp(info.name, "[root]") == 0 && !*info.file && !*info.module;

    *function = tt_arcs_namesake(&r->arcs, is_root ? TT_BUILDER_ROOT
                                                   : tt_builder_block(r->b, &info));
    return *function == TT_NONE || tt_vector_push(&r->identity, i) != 0 ? no_memory(r)
                                                                        : 0;
}

/* Finds the function of that name there. */
static int find_function(struct reading *r, const struct identity *i, uint32_t *function)
{
    int is_new, error;
    uint32_t *known = tt_pairs_get(&r->blocks, (uint64_t)i->object << 32 | i->file,
                                   i->name, &is_new);

    if (!known)
        return no_memory(r);
    if (is_new) {
        error = new_function(r, i, function);
        if (error)
            return error;
        *known = *function + 1;
    }
    *function = *known - 1;
    return 0;
}

/* "(id) name" defines the function that "(id)" means from then on.  Callgrind
 * distinguishes functions by address.  Instances of a template can have the same name;
 * they stay several functions, as one function would seem to call itself. */
static int take_id(struct reading *r, uint64_t id, int is_named, const struct identity *i,
                   uint32_t *function)
{
    int is_new, error;
    uint32_t *known = tt_pairs_get(&r->ids, id, SPACES, &is_new);

    if (!known)
        return no_memory(r);
    *function = *known - 1;
    if (*known && (!is_named || memcmp((struct identity *)r->identity.item + *function, i,
                                       sizeof *i) == 0))
        return 0;
    error = r->is_callgrind ? new_function(r, i, function)
                            : find_function(r, i, function);
    *known = *function + 1;
    return error;
}

static int read_function(struct reading *r, const char *text, uint32_t object,
                         uint32_t file, uint32_t *function)
{
    struct identity i = {.object = object, .file = file};
    const char *c = tt_skip_blanks(text);
    int error = read_name(r, text, FUNCTIONS, &i.name);
    uint64_t id;

    if (!error && !r->events)
        error = tt_source_fail(r->s, "a function before the events");
    if (error)
        return error;
    if (*c == '(' && (c++, read_number(&c, &id)) && *c == ')')
        return take_id(r, id, *tt_skip_blanks(c + 1) != '\0', &i, function);
    return find_function(r, &i, function);
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

/* Columns keep their names from one part to the next.  All columns get memory in the
 * first part, because the figures of a function are in one row. */
static int find_event(struct reading *r, const char *name, size_t length,
                      uint32_t *column)
{
    for (*column = 0; *column < r->known; ++*column)
        if (strlen(r->event[*column]) == length &&
            memcmp(r->event[*column], name, length) == 0)
            return 0;
    if (r->has_arcs)
        return tt_source_fail(r->s, "the event '%.*s' is in this part only",
                              (int)(length < 60 ? length : 60), name);
    if (r->known == MOST_EVENTS)
        return tt_source_fail(r->s, "there are more than %d events", MOST_EVENTS);
    if (length >= EVENT_NAME)
        return tt_source_fail(r->s, "the name '%.60s…' is too long", name);
    memcpy(r->event[r->known++], name, length);
    return 0;
}

static int read_events(struct reading *r, const char *list)
{
    int error = 0;

    r->events = 0;
    for (const char *c = tt_skip_blanks(list); *c && !error; c = tt_skip_blanks(c)) {
        size_t length = strcspn(c, " \t");
        if (r->events == MOST_EVENTS)
            return tt_source_fail(r->s, "there are more than %d events", MOST_EVENTS);
        error = find_event(r, c, length, &r->column[r->events++]);
        c += length;
    }
    if (!error && !r->events)
        return tt_source_fail(r->s, "no event is named here");
    if (!error && !r->has_arcs) {
        r->has_arcs = 1;
        if (tt_arcs_init(&r->arcs, r->b, r->s->memory, r->known) != 0)
            return no_memory(r);
    }
    return error;
}

/* "Time_(10ns)", "cpu(ms)": a name and a unit; what a figure is to be multiplied by. */
static uint64_t split_unit(char *event, const char **unit)
{
    static const struct {
        const char *text, *unit;
        uint64_t times;
    } units[] = {{"ns", "ns", 1},       {"10ns", "ns", 10},      {"us", "ns", 1000},
                 {"ms", "ns", 1000000}, {"s", "ns", 1000000000}, {"bytes", "bytes", 1},
                 {"count", "", 1},      {NULL, NULL, 0}};
    char *open = strrchr(event, '('), *close = open ? strchr(open, ')') : NULL;

    *unit = "";
    if (!open || open == event || !close || close[1])
        return 1;
    for (int i = 0; units[i].text; i++)
        if (strlen(units[i].text) == (size_t)(close - open - 1) &&
            memcmp(units[i].text, open + 1, (size_t)(close - open - 1)) == 0) {
            *unit = units[i].unit;
            if (open[-1] == '_' && open - 1 > event)
                open--;
            *open = '\0';
            return units[i].times;
        }
    return 1;
}

/* ── Lines ────────────────────────────────────────────────────────────────────────── */

/* Takes a position: "12", "0x1f", "+3", "-3", "*". */
static int take_position(const char **at)
{
    uint64_t unused;
    const char sign = **at;

    if (sign == '*' || sign == '+' || sign == '-')
        ++*at;
    return (sign == '*' || read_number(at, &unused)) && (!**at || tt_is_blank(**at));
}

/* Reads a cost.  Only positions may be relative to the line before. */
static int read_cost(struct reading *r, const char **at, uint32_t column)
{
    const char *word = *at;
    const int length = (int)strcspn(word, " \t");

    if (read_number(at, &r->cost[column]) && (!**at || tt_is_blank(**at)))
        return 0;
    if (*word != '-')
        return tt_source_fail(r->s, "'%.40s' is not a cost", word);
    return tt_source_fail(
        r->s,
        "the cost '%.*s' of the event '%s' is below 0: remove this event "
        "from the file, or, if this is a difference, compare the "
        "profiles themselves by 'tallytree diff'",
        length < 30 ? length : 30, word, r->event[column]);
}

static int read_costs(struct reading *r, const char *line)
{
    const char *c = line;
    int error = 0;

    memset(r->cost, 0, sizeof r->cost);
    for (uint32_t i = 0; i < r->positions; i++)
        if (c = tt_skip_blanks(c), !take_position(&c))
            return tt_source_fail(r->s,
                                  "a line of costs begins with its position, not "
                                  "'%.40s'",
                                  c);
    for (uint32_t i = 0; !error && *(c = tt_skip_blanks(c)); i++)
        error = i == r->events
                    ? tt_source_fail(r->s, "there are more costs than the %u events",
                                     r->events)
                    : read_cost(r, &c, r->column[i]);
    return error;
}

static int take_costs(struct reading *r, const char *line)
{
    int error;

    if (!r->events)
        return tt_source_fail(r->s, "costs before the events they are of");
    error = read_costs(r, line);
    if (error)
        return error;
    if (r->function == TT_NONE)
        return tt_source_fail(r->s, "costs of no function");
    if (r->arc == TT_NONE)
        error = tt_arcs_add_self(&r->arcs, r->function, r->cost, r->known);
    else
        error = tt_arcs_add_cost(&r->arcs, r->arc, r->cost, r->known);
    r->arc = TT_NONE;
    return error ? tt_source_fail(r->s, TT_TOO_MUCH) : 0;
}

/* Takes the callee of a call and its place, for this call only. */
static int take_calls(struct reading *r, const char *text)
{
    uint64_t calls;

    text = tt_skip_blanks(text);
    if (!read_number(&text, &calls))
        return tt_source_fail(r->s, "'calls=' wants a number");
    if (r->function == TT_NONE || r->callee == TT_NONE)
        return tt_source_fail(r->s, "this call has no %s",
                              r->callee == TT_NONE ? "callee" : "caller");
    r->has_calls |= calls > 0;
    r->arc = tt_arcs_arc(&r->arcs, r->function, r->callee, calls);
    r->callee = TT_NONE;
    r->callee_object = r->callee_file = 0;
    return r->arc == TT_NONE ? no_memory(r) : 0;
}

static int take_function(struct reading *r, const char *text)
{
    r->file = r->function_file;
    return read_function(r, text, r->object, r->file, &r->function);
}

static int take_callee(struct reading *r, const char *text)
{
    return read_function(r, text, r->callee_object ? r->callee_object : r->object,
                         r->callee_file ? r->callee_file : r->file, &r->callee);
}

static int begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* "fn=…" and its like; 1: it is none of them. */
static int take_assignment(struct reading *r, const char *line)
{
    uint32_t unused;

    switch (line[0]) {
    case 'f':
        if (begins_with(line, "fn="))
            return take_function(r, line + 3);
        if (begins_with(line, "fl=")) {
            int error = read_name(r, line + 3, FILES, &r->file);
            r->function_file = r->file;
            return error;
        }
        if (begins_with(line, "fi=") || begins_with(line, "fe="))
            return read_name(r, line + 3, FILES, &r->file);
        break;
    case 'o':
        if (begins_with(line, "ob="))
            return read_name(r, line + 3, OBJECTS, &r->object);
        break;
    case 'c':
        if (begins_with(line, "cfn="))
            return take_callee(r, line + 4);
        if (begins_with(line, "cfi=") || begins_with(line, "cfl="))
            return read_name(r, line + 4, FILES, &r->callee_file);
        if (begins_with(line, "cob="))
            return read_name(r, line + 4, OBJECTS, &r->callee_object);
        if (begins_with(line, "calls="))
            return take_calls(r, line + 6);
        break;
    case 'j':
        if (begins_with(line, "jfi="))
            return read_name(r, line + 4, FILES, &unused);
        if (begins_with(line, "jfn="))
            return read_name(r, line + 4, FUNCTIONS, &unused);
        if (begins_with(line, "jump=") || begins_with(line, "jcnd="))
            return 0; /* the line that follows has a position and no costs */
        break;
    case 'r':
        if (begins_with(line, "rfn=") || begins_with(line, "rcalls="))
            return tt_source_fail(r->s, "calls back are not known here");
        break;
    default:
        break;
    }
    return 1;
}

static int is_word(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static int take_positions(struct reading *r, const char *list)
{
    r->positions = 0;
    for (const char *c = tt_skip_blanks(list); *c; c = tt_skip_blanks(c)) {
        size_t length = strcspn(c, " \t");
        if (!is_word(c, length, "line") && !is_word(c, length, "instr") &&
            !is_word(c, length, "addr"))
            return tt_source_fail(r->s, "'%.*s' is not a kind of position",
                                  (int)(length < 40 ? length : 40), c);
        r->positions++;
        c += length;
    }
    return r->positions && r->positions <= 2
               ? 0
               : tt_source_fail(r->s, "positions are 'line', 'instr', or both");
}

/* A part begins: positions and counters may mean something else, but names keep their
 * meaning. */
static int begin_part(struct reading *r)
{
    if (r->last && r->function != TT_NONE && !r->has_last)
        return tt_source_fail(r->s, "the part before this one lacks its %s", r->last);
    r->has_last = 0;
    r->function = r->callee = r->arc = TT_NONE;
    r->object = r->file = r->function_file = r->callee_object = r->callee_file = 0;
    return 0;
}

static void take_creator(struct reading *r, const char *name)
{
    r->has_creator = 1;
    r->is_callgrind = begins_with(name, "callgrind-");
    if (r->is_callgrind || begins_with(name, "xtree-"))
        r->last = "totals";
}

/* "key: value"; 1: it is none. */
static int take_header(struct reading *r, char *line)
{
    size_t length = strspn(line, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "0123456789-_");
    const char *value = line + length + 1;

    if (!length || line[length] != ':')
        return 1;
    if (begins_with(line, "events:"))
        return read_events(r, value);
    if (begins_with(line, "positions:"))
        return take_positions(r, value);
    if (begins_with(line, "part:") || begins_with(line, "version:"))
        return begin_part(r);
    if (begins_with(line, "creator:"))
        take_creator(r, tt_skip_blanks(value));
    if (begins_with(line, "desc: I1 cache:") && !r->has_creator)
        r->last = "summary"; /* cachegrind names itself nowhere */
    if (begins_with(line, "cmd:") && *tt_skip_blanks(value))
        tt_builder_fact(r->b, "program", TT_FACT_EACH, 1, tt_skip_blanks(value));
    r->has_last |= r->last && is_word(line, length, r->last);
    return 0;
}

static int take_line(struct reading *r, char *line)
{
    int result;

    if ((line[0] >= '0' && line[0] <= '9') || line[0] == '+' || line[0] == '-' ||
        line[0] == '*')
        return take_costs(r, line);
    if (!line[0] || line[0] == '#')
        return 0;
    if (r->arc != TT_NONE)
        return tt_source_fail(r->s, "a line of costs is missing after 'calls='");
    result = take_assignment(r, line);
    if (result == 1)
        result = take_header(r, line);
    return result == 1 ? tt_source_fail(r->s, "'%.40s' is no line of this format", line)
                       : result;
}

/* ── The whole ────────────────────────────────────────────────────────────────────── */

static void multiply(struct tt_vector *figures, uint32_t events, uint32_t event,
                     uint64_t times)
{
    uint64_t *x = figures->item;

    for (size_t i = event; times != 1 && i < figures->count; i += events)
        x[i] *= times;
}

static int finish(struct reading *r)
{
    uint32_t metric[MOST_EVENTS], calls = TT_NONE;
    int has_first = 0;

    if (!r->has_arcs)
        return tt_source_fail(r->s, "the file ends before its events are named");
    if (r->arc != TT_NONE)
        return tt_source_fail(r->s, "the file ends after 'calls='");
    if (r->last && !r->has_last)
        return tt_source_fail(r->s, "the file ends before its %s", r->last);
    for (uint32_t i = 0; i < r->known; i++) {
        const char *unit;
        uint64_t times = split_unit(r->event[i], &unit);
        int is_time = strcmp(unit, "ns") == 0, is_space = strcmp(unit, "bytes") == 0;
        if (r->arcs.sum[i] > UINT64_MAX / times)
            return tt_source_fail(r->s, TT_TOO_MUCH);
        multiply(&r->arcs.self, r->known, i, times);
        multiply(&r->arcs.cost, r->known, i, times);
        /* The first is what the file is about: the clock of this profile. */
        metric[i] = tt_builder_metric(
            r->b, r->event[i], unit,
            (is_time || (i == 0 && !is_space) ? TT_METRIC_TIME : 0) |
                (is_space ? TT_METRIC_SPACE : 0));
        if (is_time && i &&
            !has_first++) /* or else the first name of the alphabet is shown */
            tt_builder_fact(r->b, TT_FACT_METRIC, TT_FACT_EACH, 0, r->event[0]);
    }
    if (r->has_calls)
        calls = tt_builder_metric(r->b, "calls", "", TT_METRIC_CALLS);
    return tt_arcs_finish(&r->arcs, metric, calls) ? no_memory(r) : 0;
}

static int read_callgrind(struct tt_source *s, struct tt_builder *b)
{
    struct reading *r = tt_memory_get(s->memory, sizeof *r);
    size_t length;
    char *line;
    int error;

    if (!r)
        return tt_source_no_memory(s);
    r->s = s;
    r->b = b;
    r->function = r->callee = r->arc = TT_NONE;
    r->positions = 1;
    tt_frames_init(&r->names, b, s->memory);
    tt_vector_init(&r->text, s->memory, sizeof(size_t));
    tt_vector_init(&r->identity, s->memory, sizeof(struct identity));
    tt_pairs_init(&r->ids, s->memory);
    tt_pairs_init(&r->blocks, s->memory);
    while ((error = tt_source_line(s, &line, &length)) > 0)
        if ((error = take_line(r, line)) != 0)
            break;
    return error ?: finish(r);
}

/* Remarks and headers, among which are the events. */
static enum tt_match detect(const char *head, size_t size)
{
    const char *at = head, *end = head + size, *stop;

    if (tt_head_begins(head, size, "# callgrind format"))
        return TT_MATCH_YES;
    for (int lines = 0; at < end && lines < 1000; at = stop + 1, lines++) {
        size_t length;
        stop = memchr(at, '\n', (size_t)(end - at));
        length = (size_t)((stop ? stop : end) - at);
        if (length > 7 && memcmp(at, "events:", 7) == 0)
            return TT_MATCH_YES;
        if (!stop || (length > 1 && *at != '#' && !memchr(at, ':', length)) ||
            memchr(at, '\0', length))
            return TT_MATCH_NO;
    }
    return TT_MATCH_NO;
}

const struct tt_format tt_format_callgrind = {
    .name = "callgrind",
    .about = "what callgrind_annotate and KCachegrind read",
    .detect = detect,
    .read = read_callgrind,
    .write = tt_callgrind_write,
};
