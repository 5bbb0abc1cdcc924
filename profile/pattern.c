/* SPDX-License-Identifier: MIT */
/* pattern.c - names, globs and regular expressions that match blocks and strands.
 *
 * A pattern is matched against a block's name.  A pattern with a colon is also matched
 * against the block's other names: "file:name", "file:line", "module:name", "name:line",
 * where leading folders of the file (and of the module) may be omitted.  A text that is
 * equal to one of these always matches, so that "operator[]" finds itself.
 *
 * A pattern that ends in "#0123456789abcdef" is the block of that identity; the text
 * before the '#' is ignored.  It distinguishes blocks with the same name. */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "groups.h"
#include "identity.h"
#include "pattern.h"
#include "query.h"
#include "utf8.h"

enum {
    REGEX_SIZE = 1000,   /* the library's parser recurses: characters, */
    REGEX_DEPTH = 100,   /* brackets within brackets, */
    REGEX_WEIGHT = 2000, /* and what repetitions expand to */
    CALLED_SIZE = 4096   /* longer names are matched without file and line */
};

struct tt_pattern {
    enum { PATTERN_NAME, PATTERN_GLOB, PATTERN_REGEX } kind;
    int colon;        /* also "file:name" and the like */
    int files;        /* also files and modules by themselves: /…/f */
    int has_identity; /* ends in "#" and 16 digits: the block of this identity */
    uint64_t identity;
    regex_t regex;
    char text[];
};

/* ── Globs ────────────────────────────────────────────────────────────────────────── */

/* Takes the UTF-8 character at *at; a byte that does not begin one is a character. */
static uint32_t next_character(const char **at)
{
    uint32_t c;
    size_t bytes = tt_utf8(*at, &c);

    *at += bytes ? bytes : 1;
    return c;
}

/* Does the set at `glob` ("[a-z]", "[!a-z]") contain c?  *end is after it; NULL: its
 * bracket is not closed, and is an ordinary character. */
static int set_has(const char *glob, uint32_t c, const char **end)
{
    const char *p = glob + 1;
    int negated = *p == '!' || *p == '^', has = 0;

    p += negated;
    for (int first = 1; first || *p != ']'; first = 0) {
        uint32_t low, high;
        if (!*p) {
            *end = NULL;
            return 0;
        }
        low = high = next_character(&p);
        if (p[0] == '-' && p[1] && p[1] != ']') {
            p++;
            high = next_character(&p);
        }
        has |= c >= low && c <= high;
    }
    *end = p + 1;
    return has != negated;
}

/* Does one character of the glob match one of the text?  If so, moves both forward. */
static int glob_step(const char **glob, const char **text)
{
    const char *g = *glob, *t = *text, *end = NULL;
    uint32_t c;

    if (!*t || !*g)
        return 0;
    c = next_character(&t);
    if (*g == '[' && set_has(g, c, &end)) {
        *glob = end;
    } else if (end) {
        return 0;
    } else if (*g == '?') {
        *glob = g + 1;
    } else {
        g += *g == '\\' && g[1];
        if (next_character(&g) != c)
            return 0;
        *glob = g;
    }
    *text = t;
    return 1;
}

/* Only the last star is ever tried again: a later one leaves the same choices. */
static int glob_matches(const char *glob, const char *text)
{
    const char *star = NULL, *again = NULL;

    for (;;) {
        if (*glob == '*') {
            star = ++glob;
            again = text;
        } else if (!*glob && !*text) {
            return 1;
        } else if (!glob_step(&glob, &text)) {
            if (!star || !*again)
                return 0;
            (void)next_character(&again);
            glob = star;
            text = again;
        }
    }
}

/* ── Regular expressions ──────────────────────────────────────────────────────────── */

/* Returns the place after the bracket expression that begins at p, or the end of the
 * text. */
static const char *skip_set(const char *p)
{
    p++;
    p += *p == '^';
    p += *p == ']';
    while (*p && *p != ']') {
        const int kind = p[0] == '[' ? p[1] : 0;
        const char *end = NULL;
        if (kind == ':' || kind == '.' || kind == '=') {
            end = p + 2;
            while (*end && (end[0] != kind || end[1] != ']'))
                end++;
        }
        p = !end ? p + 1 : *end ? end + 2 : end;
    }
    return *p ? p + 1 : p;
}

/* Returns the place after the {m,n} at p; *times is at most one more than its maximum. */
static const char *interval_end(const char *p, uint64_t *times)
{
    uint64_t n = 0;

    *times = 1;
    for (p++; *p && *p != '}'; p++) {
        if (*p == ',')
            n = 0;
        else if (*p >= '0' && *p <= '9' && n < REGEX_WEIGHT)
            n = n * 10 + (uint64_t)(*p - '0');
        if (n >= *times)
            *times = n + 1;
    }
    return *p ? p + 1 : p;
}

/* Is there an anchor at p: ^, $, \b and the like? */
static int is_anchor(const char *p)
{
    return *p == '^' || *p == '$' ||
           (*p == '\\' && p[1] && strchr("bB<>`'", p[1]) != NULL);
}

/* The size that an expression, or a bracket of it, expands to. */
struct weight {
    uint64_t sum, last; /* of all of it; of what a repetition would repeat, 0: nothing */
    int anchors, last_has;
};

static const char *weigh_repetition(struct weight *w, const char **p)
{
    uint64_t times = 2;

    if (!w->last)
        return "there is nothing to repeat before '*', '+', '?' or '{'";
    if (w->last_has)
        return "it repeats an anchor";
    if (**p == '{')
        *p = interval_end(*p, &times);
    else
        ++*p;
    w->sum += w->last * (times - 1);
    w->last = 0;
    return NULL;
}

static const char *weigh_atom(struct weight *w, const char **p)
{
    if (**p == '\\' && (*p)[1] >= '1' && (*p)[1] <= '9')
        return "it refers back to a bracket";
    w->last_has = is_anchor(*p);
    w->anchors |= w->last_has;
    w->last = **p != '|';
    w->sum++;
    *p = **p == '[' ? skip_set(*p) : *p + 1 + (**p == '\\' && (*p)[1]);
    return NULL;
}

/* The library copies repeated parts: "((a+)+)+" doubles with each bracket,
 * "((a{99}){99}){99}" is a million, and "(^(^a*)*)*" takes ten times as long with each
 * bracket.  So the expanded size is computed first.  Returns NULL, or why it cannot be
 * compiled. */
static const char *too_much(const char *p)
{
    struct weight outer[REGEX_DEPTH], w = {0};
    const char *why = NULL;
    size_t depth = 0;

    if (strlen(p) > REGEX_SIZE)
        return "it is too long";
    while (*p && !why) {
        if (*p == '(') {
            if (depth == REGEX_DEPTH)
                return "its brackets are too deep";
            outer[depth++] = w;
            w = (struct weight){0};
            p++;
        } else if (*p == ')' && depth) {
            struct weight inner = w;
            w = outer[--depth];
            w.last = inner.sum + 1;
            w.last_has = inner.anchors;
            w.anchors |= inner.anchors;
            w.sum += w.last;
            p++;
        } else {
            why = strchr("+*?{", *p) ? weigh_repetition(&w, &p) : weigh_atom(&w, &p);
        }
        if (!why && w.sum > REGEX_WEIGHT)
            why = "it repeats too much";
    }
    return why;
}

static int compile(struct tt_pattern *p, int flags, char *error, size_t size)
{
    const char *why = too_much(p->text);
    char reason[100];
    int result;

    if (!why) {
        result = regcomp(&p->regex, p->text, REG_EXTENDED | REG_NOSUB | flags);
        if (!result)
            return 0;
        (void)regerror(result, &p->regex, reason, sizeof reason);
        why = reason;
    }
    (void)snprintf(error, size, "'/%.60s/' is no regular expression: %s", p->text, why);
    return -TT_ERR_OPTION;
}

/* Returns the end of the expression in "/…/", "/…/i", "/…/f"; NULL: it is not one. */
static const char *regex_end(const char *text, int *flags, int *files)
{
    const char *end = strrchr(text, '/'), *p = end;

    *flags = *files = 0;
    if (text[0] != '/' || end < text + 2)
        return NULL;
    while (*++p)
        if (*p == 'i')
            *flags = REG_ICASE;
        else if (*p == 'f')
            *files = 1;
        else
            return NULL;
    return end;
}

/* Is there a colon, other than those of "[[:alpha:]]"? */
static int has_colon(const char *text)
{
    for (const char *p = text; (p = strchr(p, ':')); p++)
        if ((p == text || p[-1] != '[') && p[1] != ']')
            return 1;
    return 0;
}

/* ── Patterns ─────────────────────────────────────────────────────────────────────── */

struct tt_pattern *tt_pattern_new(const char *text, char *error, size_t size)
{
    int flags, files;
    const char *end = regex_end(text, &flags, &files);
    const char *start = end ? text + 1 : text;
    size_t length = end ? (size_t)(end - start) : strlen(text);
    struct tt_pattern *p;

    if (!length) {
        (void)snprintf(error, size, "an empty pattern");
        return NULL;
    }
    p = calloc(1, sizeof *p + length + 1);
    if (!p) {
        (void)snprintf(error, size, "no memory");
        return NULL;
    }
    memcpy(p->text, start, length);
    p->has_identity = !end && tt_identity_read(p->text, &p->identity);
    p->kind = end                                             ? PATTERN_REGEX
              : !p->has_identity && strpbrk(p->text, "*?[\\") ? PATTERN_GLOB
                                                              : PATTERN_NAME;
    p->colon = has_colon(p->text);
    p->files = files;
    if (end && compile(p, flags, error, size) != 0) {
        free(p);
        return NULL;
    }
    return p;
}

void tt_pattern_free(struct tt_pattern *p)
{
    if (p && p->kind == PATTERN_REGEX)
        regfree(&p->regex);
    free(p);
}

int tt_pattern_matches(const struct tt_pattern *p, const char *text)
{
    if (p->kind == PATTERN_REGEX)
        return regexec(&p->regex, text, 0, NULL, 0) == 0;
    return strcmp(p->text, text) == 0 ||
           (p->kind == PATTERN_GLOB && glob_matches(p->text, text));
}

static int matches_pair(const struct tt_pattern *p, const char *one, const char *two)
{
    char both[CALLED_SIZE];
    int length;

    if (!*one || !*two)
        return 0;
    length = snprintf(both, sizeof both, "%s:%s", one, two);
    return length >= 0 && (size_t)length < sizeof both && tt_pattern_matches(p, both);
}

/* The same, with fewer and fewer folders before `path`. */
static int matches_path(const struct tt_pattern *p, const char *path, const char *two)
{
    for (const char *slash; !matches_pair(p, path, two); path = slash + 1)
        if (!(slash = strchr(path, '/')))
            return 0;
    return 1;
}

/* "kind:statement" matches all blocks of a kind. */
static int matches_kind(const struct tt_pattern *p, uint32_t kind)
{
    return kind < TT_KINDS && matches_pair(p, "kind", tt_kind_word(kind));
}

static int matches_block(const struct tt_pattern *p, const struct tt_profile *profile,
                         uint32_t block)
{
    const struct tt_block_row *b = &profile->block[block];
    const char *name = tt_profile_string(profile, b->name);
    const char *file = tt_profile_string(profile, b->file);
    const char *module = tt_profile_string(profile, b->module);
    char line[12];

    if (tt_pattern_matches(p, name))
        return 1;
    if (p->has_identity)
        return tt_block_identity(profile, block) == p->identity;
    if (p->files && (tt_pattern_matches(p, file) || tt_pattern_matches(p, module)))
        return 1;
    if (!p->colon)
        return 0;
    if (matches_path(p, file, name) || matches_path(p, module, name) ||
        matches_kind(p, b->kind))
        return 1;
    (void)snprintf(line, sizeof line, "%u", b->line);
    return b->line && (matches_path(p, file, line) || matches_pair(p, name, line));
}

int tt_pattern_matches_strand(const struct tt_pattern *p,
                              const struct tt_profile *profile, uint32_t strand)
{
    const struct tt_strand_row *s = &profile->strand[strand];
    const struct {
        const char *kind;
        uint32_t text;
    } names[] = {
        {"name", s->name}, {"process", s->process}, {"host", s->host}, {"node", s->node}};
    char number[24], label[TT_GROUP_SIZE];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = tt_profile_string(profile, names[i].text);
        if (tt_pattern_matches(p, text))
            return 1;
        if (p->colon && matches_pair(p, names[i].kind, text))
            return 1;
    }
    if (!p->colon)
        return 0;
    for (int i = 0; *tt_profile_string(profile, s->labels) && i < TT_GROUPS; i++)
        if (matches_pair(p, tt_group_words[i],
                         tt_group_of(profile, strand, (enum tt_group)i, label)))
            return 1;
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)s->pid);
    if (matches_pair(p, "pid", number))
        return 1;
    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)s->thread);
    if (matches_pair(p, "thread", number))
        return 1;
    (void)snprintf(number, sizeof number, "%u", s->rank);
    return s->rank != TT_NONE && matches_pair(p, "rank", number);
}

unsigned char *tt_pattern_blocks(const struct tt_pattern *p,
                                 const struct tt_profile *profile)
{
    unsigned char *matches = calloc((size_t)profile->blocks + 1, 1);

    for (uint32_t i = 0; matches && i < profile->blocks; i++)
        matches[i] = (unsigned char)matches_block(p, profile, i);
    return matches;
}
