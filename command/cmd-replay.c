/* SPDX-License-Identifier: MIT */
/* cmd-replay.c - `tallytree replay`: makes a recording from events, one a line.
 *
 * The events drive the runtime itself, in exact mode under a clock that only `tick`
 * moves: its semantics are taught and tested with this.  A strand is not a thread here:
 * switching strands exchanges the thread-local data. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "command.h"
#include "complain.h"
#include "control.h"
#include "index.h"
#include "join.h"
#include "objects.h"
#include "options.h"
#include "output.h"
#include "profile.h"
#include "replacing.h"
#include "sample-log.h"
#include "stack.h"
#include "tree-check.h"

enum { WORDS_MAX = 10 };

/* ── Names ────────────────────────────────────────────────────────────────────────── */

struct names {             /* a table of named things */
    struct tt_vector at;   /* struct named */
    struct tt_index index; /* of them */
};

struct named {
    char *name;
    uint64_t value;
};

static uint64_t *value_at(const struct names *n, size_t i)
{
    return &((struct named *)n->at.item)[i].value;
}

/* Returns the value of a name; that of a new one is 0; NULL: no memory. */
static uint64_t *name_value(struct names *n, const char *name)
{
    const uint64_t hash = tt_hash(name, strlen(name));
    struct named new = {NULL, 0};
    uint32_t i;

    for (size_t at = 0; (i = tt_index_next(&n->index, hash, &at)) != TT_NO_NUMBER;)
        if (strcmp(((struct named *)n->at.item)[i].name, name) == 0)
            return value_at(n, i);
    new.name = strdup(name);
    n->at.size = sizeof new;
    i = new.name ? tt_index_append(&n->index, &n->at, hash, &new, sizeof new)
                 : TT_NO_NUMBER;
    if (i == TT_NO_NUMBER)
        free(new.name);
    return i == TT_NO_NUMBER ? NULL : value_at(n, i);
}

static void free_names(struct names *n)
{
    for (size_t i = 0; i < n->at.count; i++)
        free(((struct named *)n->at.item)[i].name);
    tt_index_fini(&n->index, NULL);
    tt_vector_fini(&n->at);
}

/* ── State ────────────────────────────────────────────────────────────────────────── */

struct stack { /* of a strand, or of a fiber: the marks of its open blocks */
    tt_fiber *fiber;
    struct strand *strand; /* that runs it */
    struct strand *home;   /* that ran it last: its frames are in that tree */
    struct open_mark {
        tt_mark mark;
        int context;
    } * open;
    size_t count, room;
};

struct strand {
    struct tt_strand saved; /* while it is not the current one */
    struct stack own, *stack;
    uint64_t carry;
    int named, call; /* call: how the next push is, + 1 */
};

struct replay {
    const char *file;
    unsigned long line;
    char error[200];
    struct names strands, fibers, blocks, contexts, objects;
    uint64_t numbered; /* objects so far */
    int collecting;
    struct strand *strand;
    uint64_t period;
    uint32_t stacks;
};

static __attribute__((format(printf, 2, 3))) int wrong(struct replay *r,
                                                       const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(r->error, sizeof r->error, format, list);
    va_end(list);
    return -TT_ERR_FORMAT;
}

static int read_amount(struct replay *r, const char *word, uint64_t *out)
{
    return tt_flag_number(word, 0, UINT64_MAX, out) == 0
               ? 0
               : wrong(r, "'%s' is not a number", word);
}

static int open_mark(struct replay *r, tt_mark mark, int context)
{
    struct stack *s = r->strand->stack;
    void *grown;

    if (s->count == s->room) {
        grown = realloc(s->open, (s->room * 2 + 64) * sizeof *s->open);
        if (!grown)
            return wrong(r, "no memory");
        s->open = grown;
        s->room = s->room * 2 + 64;
    }
    s->open[s->count++] = (struct open_mark){mark, context};
    return 0;
}

static int close_mark(struct replay *r, int context)
{
    struct stack *s = r->strand->stack;

    if (s->count == 0)
        return wrong(r, "nothing is open");
    if (s->open[s->count - 1].context != context)
        return wrong(r, context ? "a block is open, not a context"
                                : "a context is open, not a block");
    tt_pop(s->open[--s->count].mark);
    return 0;
}

/* ── Events ───────────────────────────────────────────────────────────────────────── */

static tt_block block_of(struct replay *r, const char *name)
{
    uint64_t *value = name_value(&r->blocks, name);

    if (!value)
        return 0;
    if (!*value)
        *value = tt_block_get(name, NULL, 0, 0);
    return (tt_block)*value;
}

static int event_strand(struct replay *r, char **word)
{
    uint64_t *value = name_value(&r->strands, word[1]);
    struct strand *s;

    if (!value)
        return wrong(r, "no memory");
    s = (struct strand *)(uintptr_t)*value;
    if (!s) {
        s = calloc(1, sizeof *s);
        if (!s)
            return wrong(r, "no memory");
        s->stack = &s->own;
        *value = (uintptr_t)s;
    }
    if (r->strand)
        r->strand->saved = tt_self;
    tt_self = s->saved;
    r->strand = s;
    if (!s->named++)
        tt_thread_name(word[1]);
    return 0;
}

static int event_fiber(struct replay *r, char **word)
{
    struct strand *s = r->strand;
    uint64_t *value;
    struct stack *stack = &s->own;

    if (strcmp(word[1], "-") != 0) {
        value = name_value(&r->fibers, word[1]);
        if (!value || (!*value && !(*value = (uintptr_t)calloc(1, sizeof *stack))))
            return wrong(r, "no memory");
        stack = (struct stack *)(uintptr_t)*value;
        if (!stack->fiber && !(stack->fiber = tt_fiber_new()))
            return wrong(r, "no memory");
        if (stack->strand && stack->strand != s)
            return wrong(r, "another strand runs this fiber");
    }
    tt_fiber_switch(stack->fiber);
    s->stack->strand = NULL;
    stack->strand = stack->home = s;
    s->stack = stack;
    return 0;
}

static int event_push(struct replay *r, char **word)
{
    tt_block block = block_of(r, word[1]);
    int call = r->strand->call;

    r->strand->call = 0;
    return open_mark(
        r, call ? tt_push_as(block, (enum tt_call)(call - 1)) : tt_push(block), 0);
}

/* Popping it pops the contexts that it was entered in. */
static int leave_for_tail(struct replay *r)
{
    struct stack *s = r->strand->stack;

    if (s->count == 0 || s->open[s->count - 1].context)
        return wrong(r, "no block is open to call from");
    s->count--;
    while (s->count && s->open[s->count - 1].context)
        s->count--;
    tt_tail();
    return 0;
}

static int event_call_kind(struct replay *r, char **word)
{
    static const char *const kinds[] = {"strict", "lazy", "curried", "tail"};
    int i = 0;

    while (i < 4 && strcmp(word[1], kinds[i]) != 0)
        i++;
    if (i == 4)
        return wrong(r, "there is no call '%s'", word[1]);
    r->strand->call = i < 3 ? i + 1 : 1;
    return i < 3 ? 0 : leave_for_tail(r);
}

static int event_stacks(struct replay *r, char **word)
{
    return tt_options_stacks(word[1], &r->stacks)
               ? wrong(r, "there is no rule '%s'", word[1])
               : 0;
}

static int event_pop(struct replay *r, char **word)
{
    (void)word;
    return close_mark(r, 0);
}

static int event_replace(struct replay *r, char **word)
{
    struct stack *s = r->strand->stack;

    if (s->count == 0 || s->open[s->count - 1].context)
        return wrong(r, "nothing is open");
    tt_replace(block_of(r, word[1]));
    return 0;
}

static int event_tick(struct replay *r, char **word)
{
    uint64_t n;

    if (read_amount(r, word[1], &n))
        return -TT_ERR_FORMAT;
    tt_tick(n);
    return 0;
}

static int event_sample(struct replay *r, char **word)
{
    uint64_t n, all;

    if (read_amount(r, word[1], &n))
        return -TT_ERR_FORMAT;
    if (r->period) {
        all = n + r->strand->carry;
        n = all / r->period;
        r->strand->carry = all % r->period;
        if (n == 0)
            return 0;
    }
    tt_sample(n);
    return 0;
}

static int event_pause(struct replay *r, char **word)
{
    (void)word;
    return tt_pause() == 0 ? 0 : wrong(r, "the budget has no room for this strand");
}

static int event_resume(struct replay *r, char **word)
{
    (void)word;
    return tt_resume() == 0 ? 0 : wrong(r, "nothing is paused");
}

static int event_count(struct replay *r, char **word)
{
    uint64_t n;

    if (read_amount(r, word[2], &n))
        return -TT_ERR_FORMAT;
    tt_add(tt_metric_get(word[1], ""), n);
    return 0;
}

static int event_capture(struct replay *r, char **word)
{
    uint64_t *value = name_value(&r->contexts, word[1]);

    if (!value)
        return wrong(r, "no memory");
    *value = tt_context_capture() + 1;
    return 0;
}

static int event_enter_context(struct replay *r, char **word)
{
    uint64_t *value = name_value(&r->contexts, word[1]), top = 1;

    if (strcmp(word[1], "-") == 0)
        value = &top;
    if (!value || !*value)
        return wrong(r, "no context '%s' was captured", word[1]);
    return open_mark(r, tt_context_enter_by(*value - 1, (enum tt_stacks)r->stacks), 1);
}

static int event_leave_context(struct replay *r, char **word)
{
    (void)word;
    return close_mark(r, 1);
}

/* alloc TYPE BYTES OVERHEAD [ID] */
static int event_alloc(struct replay *r, char **word)
{
    tt_type type = tt_type_get(word[1]);
    uint64_t bytes, overhead, *value;

    if (read_amount(r, word[2], &bytes) || read_amount(r, word[3], &overhead))
        return -TT_ERR_FORMAT;
    if (!word[4]) {
        (void)tt_alloc(type, bytes, overhead);
        return 0;
    }
    value = name_value(&r->objects, word[4]);
    if (!value)
        return wrong(r, "no memory");
    if (*value)
        return wrong(r, "there is an object '%s'", word[4]);
    *value = ++r->numbered;
    (void)tt_object_new(*value, type, bytes, overhead);
    return 0;
}

static uint64_t *object_of(struct replay *r, const char *name)
{
    uint64_t *value = name_value(&r->objects, name);

    if (value && *value)
        return value;
    (void)wrong(r, "there is no object '%s'", name);
    return NULL;
}

static int event_use(struct replay *r, char **word)
{
    const uint64_t *object = object_of(r, word[1]);

    if (!object)
        return -TT_ERR_FORMAT;
    tt_object_use(*object);
    return 0;
}

static int event_free(struct replay *r, char **word)
{
    uint64_t *object = object_of(r, word[1]);

    if (!object)
        return -TT_ERR_FORMAT;
    tt_object_free(*object);
    *object = 0;
    return 0;
}

static int read_generation(struct replay *r, const char *word, unsigned *out)
{
    uint64_t n;

    *out = 0;
    if (read_amount(r, word, &n))
        return -TT_ERR_FORMAT;
    *out = (unsigned)n;
    return n < TT_GENERATIONS ? 0
                              : wrong(r, "generations are 0 to %d", TT_GENERATIONS - 1);
}

static int event_gc_begin(struct replay *r, char **word)
{
    unsigned generation;

    if (r->collecting)
        return wrong(r, "a collection is under way");
    if (read_generation(r, word[1], &generation))
        return -TT_ERR_FORMAT;
    r->collecting = 1;
    tt_gc_begin(generation);
    return 0;
}

static int event_survive(struct replay *r, char **word)
{
    const uint64_t *object = object_of(r, word[1]);
    unsigned to = TT_NEXT;

    if (!object || (word[2] && read_generation(r, word[2], &to)))
        return -TT_ERR_FORMAT;
    if (!r->collecting)
        return wrong(r, "no collection is under way");
    tt_object_survive(*object, 0, to);
    return 0;
}

static int event_gc_end(struct replay *r, char **word)
{
    (void)word;
    if (!r->collecting)
        return wrong(r, "no collection is under way");
    r->collecting = 0;
    tt_gc_end();
    return 0;
}

static int read_block_field(struct replay *r, char *field, struct tt_block_info *info)
{
    char *value = strchr(field, '=');
    uint64_t n = 0;

    if (!value)
        return wrong(r, "'%s' is no FIELD=VALUE", field);
    *value++ = '\0';
    if (strcmp(field, "module") == 0 || strcmp(field, "file") == 0) {
        *(field[0] == 'm' ? &info->module : &info->file) = value;
        return 0;
    }
    if (strcmp(field, "kind") == 0) {
        while (n < TT_KINDS && strcmp(tt_kind_word((uint32_t)n), value) != 0)
            n++;
        info->kind = (enum tt_kind)n;
        return n < TT_KINDS ? 0 : wrong(r, "there is no kind '%s'", value);
    }
    if (read_amount(r, value, &n))
        return -TT_ERR_FORMAT;
    if (strcmp(field, "offset") == 0)
        info->offset = n;
    else if (n > UINT32_MAX)
        return wrong(r, "%s=%s is too large", field, value);
    else if (strcmp(field, "line") == 0)
        info->line = (uint32_t)n;
    else if (strcmp(field, "column") == 0)
        info->column = (uint32_t)n;
    else if (strcmp(field, "length") == 0)
        info->length = (uint32_t)n;
    else
        return wrong(r, "a block has no '%s'", field);
    return 0;
}

static int event_block(struct replay *r, char **word)
{
    struct tt_block_info info = {.name = word[1]};
    uint64_t *value = name_value(&r->blocks, word[1]);

    if (!value)
        return wrong(r, "no memory");
    for (int i = 2; word[i]; i++)
        if (read_block_field(r, word[i], &info))
            return -TT_ERR_FORMAT;
    *value = tt_block_make(&info);
    return 0;
}

static const struct event {
    const char *name;
    int words, more; /* that follow it: so many, or as many more */
    int (*run)(struct replay *, char **word);
} events[] = {
    {"push", 1, 0, event_push},
    {"pop", 0, 0, event_pop},
    {"replace", 1, 0, event_replace},
    {"tick", 1, 0, event_tick},
    {"sample", 1, 0, event_sample},
    {"strand", 1, 0, event_strand},
    {"fiber", 1, 0, event_fiber},
    {"pause", 0, 0, event_pause},
    {"resume", 0, 0, event_resume},
    {"count", 2, 0, event_count},
    {"capture", 1, 0, event_capture},
    {"enter-context", 1, 0, event_enter_context},
    {"leave-context", 0, 0, event_leave_context},
    {"call-kind", 1, 0, event_call_kind},
    {"stacks", 1, 0, event_stacks},
    {"block", 1, 7, event_block},
    {"alloc", 3, 1, event_alloc},
    {"use", 1, 0, event_use},
    {"free", 1, 0, event_free},
    {"gc-begin", 1, 0, event_gc_begin},
    {"survive", 1, 1, event_survive},
    {"gc-end", 0, 0, event_gc_end},
};

/* ── Lines ────────────────────────────────────────────────────────────────────────── */

static int run_event(struct replay *r, char **word, int count)
{
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        const struct event *e = &events[i];
        if (strcmp(e->name, word[0]) != 0)
            continue;
        if (count - 1 < e->words)
            return wrong(r, "'%s' wants %d word%s after it", e->name, e->words,
                         e->words == 1 ? "" : "s");
        if (count - 1 > e->words + e->more)
            return wrong(r, "'%s' is one word too many", word[e->words + e->more + 1]);
        return e->run(r, word);
    }
    return wrong(r, "there is no event '%s'", word[0]);
}

static int run_line(struct replay *r, char *line)
{
    char *word[WORDS_MAX + 2] = {NULL}, *rest = NULL;
    int count = 0;

    line[strcspn(line, "#\r\n")] = '\0';
    for (char *w = strtok_r(line, " \t", &rest); w && count <= WORDS_MAX;
         w = strtok_r(NULL, " \t", &rest))
        word[count++] = w;
    return count ? run_event(r, word, count) : 0;
}

/* In a checked build: are the runtime's structures sound?  After each of the first lines;
 * later seldom, as it takes time that grows with them. */
static void check_structures(const struct replay *r)
{
#ifdef TT_CHECKED
    enum { FIRST = 256, SELDOM = 4096 };

    if (r->line > FIRST && r->line % SELDOM)
        return;
    TT_ASSERT_NOTHING(tt_log_check(tt_recording_now()));
    TT_ASSERT_NOTHING(tt_objects_check());
    if (tt_self.thread && tt_self.thread->recording) /* the budget had room for it */
        TT_ASSERT_NOTHING(tt_tree_check(&tt_self.thread->tree));
#else
    (void)r;
#endif
}

static int run_lines(struct replay *r, FILE *in)
{
    char *line = NULL;
    size_t size = 0;
    int error = event_strand(r, (char *[]){NULL, (char[]){"main"}, NULL});

    while (!error && getline(&line, &size, in) >= 0) {
        r->line++;
        error = run_line(r, line);
        if (!error)
            check_structures(r);
    }
    free(line);
    if (!error && ferror(in))
        error = wrong(r, "cannot be read");
    return error;
}

/* Closes all open activations, so that their statistics are complete, and stops the
 * clock. */
static void close_stack(struct stack *s)
{
    tt_fiber_switch(s->fiber);
    tt_unwind(0);
    tt_pause();
    tt_resume();
    free(s->open);
}

static void close_fibers(struct replay *r, struct strand *s)
{
    for (size_t i = 0; i < r->fibers.at.count; i++) {
        struct stack *f = (struct stack *)(uintptr_t)*value_at(&r->fibers, i);
        if (!f || f->home != s)
            continue;
        close_stack(f);
        tt_fiber_switch(NULL);
        tt_fiber_free(f->fiber);
        free(f);
        *value_at(&r->fibers, i) = 0;
    }
}

static void close_all(struct replay *r)
{
    if (r->strand)
        r->strand->saved = tt_self;
    for (size_t i = 0; i < r->strands.at.count; i++) {
        struct strand *s = (struct strand *)(uintptr_t)*value_at(&r->strands, i);
        if (!s)
            continue;
        tt_self = s->saved;
        close_fibers(r, s);
        close_stack(&s->own);
        s->saved = tt_self;
    }
    for (size_t i = 0; i < r->strands.at.count; i++)
        free((struct strand *)(uintptr_t)*value_at(&r->strands, i));
    free_names(&r->strands);
    free_names(&r->fibers);
    free_names(&r->blocks);
    free_names(&r->contexts);
    free_names(&r->objects);
}

static int write_recording(const char *out)
{
    size_t size = 0;
    int error = tt_stop();
    void *copy = error ? NULL : tt_snapshot(&size);

    if (!copy) {
        error = error ?: -TT_ERR_MEMORY;
        tt_complain("%s: %s", out, tt_error_text(error));
        return error;
    }
    error = tt_output_write(out, copy, size);
    munmap(copy, size);
    return error;
}

static int replay(struct replay *r, const char *out)
{
    FILE *in = r->file ? fopen(r->file, "r") : stdin;
    int error;

    if (!in) {
        tt_complain("%s: %s", r->file, strerror(errno));
        return TT_EXIT_FAILED;
    }
    error = run_lines(r, in);
    if (r->file)
        fclose(in);
    close_all(r);
    if (error) {
        tt_complain("%s:%lu: %s", r->file ? r->file : "standard input", r->line,
                    r->error);
        return TT_EXIT_FAILED;
    }
    return write_recording(out) == 0 ? TT_EXIT_DONE : TT_EXIT_FAILED;
}

/* ── The command ──────────────────────────────────────────────────────────────────── */

enum {
    RECURSION = 1,
    BUDGET,
    PERIOD,
    OUTPUT,
    SLOWEST,
    HISTORY,
    LOG,
    HISTOGRAM,
    SERIES,
    SPACE
};

static const struct tt_flag replay_flags[] = {
    {"output", 'o', OUTPUT, "OUT", "@files",
     "write the recording to OUT; - is standard output"},
    TT_REPLACING_FLAG,
    {"recursion", 0, RECURSION, "POLICY", TT_RECURSION_VALUES,
     "edge, repeat:K, block, cycle, drop, recent:K or none"},
    {"budget", 0, BUDGET, "SIZE", NULL,
     "limit memory, as 64M or 65536nodes (default: 64M)"},
    {"log", 0, LOG, "SIZE", "none", "limit the log of samples by time (default: 8M)"},
    {"period", 0, PERIOD, "N", NULL,
     "`sample n` adds (n + carry) / N, and carries the rest"},
    {"slowest", 0, SLOWEST, "BLOCK[:K]", NULL, "keep the K slowest activations of BLOCK"},
    {"history", 0, HISTORY, "BLOCK[:K]", NULL, "keep the last K activations of BLOCK"},
    {"series", 0, SERIES, "WHICH", "none type block centre use",
     "live memory over time by type, block or centre, or none"},
    {"space", 0, SPACE, "WHICH", TT_SPACE_VALUES,
     "what to keep of objects (default: alloc+copies+types)"},
    {"histogram", 0, HISTOGRAM, NULL, NULL, "count activations by duration"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

static int read_flag(int flag, const char *value, struct tt_options *o, struct replay *r,
                     const char **out)
{
    switch (flag) {
    case RECURSION:
        return tt_options_recursion(o, value);
    case BUDGET:
        return tt_options_budget(o, value);
    case LOG:
        return tt_options_log(o, value);
    case SLOWEST:
    case HISTORY:
        return tt_options_marked(o, value, flag == SLOWEST);
    case SERIES:
        return tt_options_series(o, value);
    case SPACE:
        return tt_options_space(o, value);
    case HISTOGRAM:
        o->histogram = 1;
        return 0;
    case PERIOD:
        return tt_flag_number(value, 0, UINT64_MAX, &r->period);
    default:
        *out = value;
        return 0;
    }
}

/* Returns the status if the command is over; less than 0 to continue. */
static int read_flags(int argc, char **argv, struct tt_options *o, struct replay *r,
                      const char **out)
{
    struct tt_flags f;
    int id, status;

    tt_command_flags(&tt_command_replay, &f, argc, argv);
    while ((id = tt_command_next(&tt_command_replay, &f, &status)) > 0)
        if (read_flag(id, f.value, o, r, out) != 0) {
            (void)tt_command_refuse("replay", f.flag, f.value);
            return TT_EXIT_FAILED;
        }
    if (id < 0)
        return status;
    if (!*out)
        return tt_command_wants(&tt_command_replay, "-o OUT");
    if (f.count > 1)
        return tt_command_wants(&tt_command_replay, "one file of events");
    r->file = f.count && strcmp(argv[1], "-") != 0 ? argv[1] : NULL;
    return -1;
}

static int run(int argc, char **argv)
{
    struct replay r = {.stacks = TT_STACKS_CREATION};
    struct tt_options o;
    const char *out = NULL;
    int error = tt_options_read(&o, "exact,clock=caller", NULL), status;

    status = error ? -1 : read_flags(argc, argv, &o, &r, &out);
    if (status >= 0)
        return status;
    for (int i = 0; i < TT_KINDS; i++)
        o.mode[i] = TT_MODE_EXACT;
    error = error ?: tt_start_with(&o);
    if (error) {
        tt_complain("%s", tt_error_text(error));
        return TT_EXIT_FAILED;
    }
    return replay(&r, out);
}

const struct tt_command tt_command_replay = {
    .name = "replay",
    .synopsis = "[FLAGS] -o OUT [EVENTS]",
    .about = "make a recording from a list of events",
    .details = "Makes a recording from events, one a line; # begins a comment:\n"
               "  strand NAME | fiber NAME | push BLOCK | pop | replace BLOCK | pause\n"
               "  resume | tick N | sample N | count METRIC N | capture NAME\n"
               "  enter-context NAME | leave-context | use ID | free ID\n"
               "  alloc TYPE BYTES OVERHEAD [ID] | gc-begin G | survive ID [G] | gc-end\n"
               "  call-kind strict|lazy|curried|tail (of the next push)\n"
               "  stacks creation|application|ghc (the rule of entered contexts)\n"
               "  block NAME kind=K module=M file=F line=L column=C offset=O length=N\n",
    .flags = replay_flags,
    .operands = "@files",
    .run = run,
};
