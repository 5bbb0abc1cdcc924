/* SPDX-License-Identifier: MIT */
/* flags.c - parses command lines by tables. */
#include "flags.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "query.h"

enum { NAMES_MAX = 96 };

static __attribute__((format(printf, 2, 3))) int wrong(struct tt_flags *f,
                                                       const char *format, ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(f->error, sizeof f->error, format, list);
    va_end(list);
    return -TT_ERR_OPTION;
}

const struct tt_flag *tt_flag_named(const struct tt_flag *table, const char *text)
{
    size_t length = strcspn(text, "=");

    for (; table && table->id; table++)
        if (table->name && strlen(table->name) == length &&
            strncmp(table->name, text, length) == 0)
            return table;
    return NULL;
}

const struct tt_flag *tt_flag_lettered(const struct tt_flag *table, char letter)
{
    for (; table && table->id; table++)
        if (letter && table->letter == letter)
            return table;
    return NULL;
}

int tt_flag_may_lack_value(const struct tt_flag *flag)
{
    return !flag->value || flag->value[0] == '[';
}

int tt_flag_number(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    uint64_t n = 0;

    *out = 0;
    for (const char *c = text; *c || c == text; c++)
        if (*c < '0' || *c > '9' || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*c - '0'), &n))
            return -TT_ERR_OPTION;
    if (n < least || n > most)
        return -TT_ERR_OPTION;
    *out = n;
    return 0;
}

int tt_flag_bytes(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
    static const char units[] = "KkMmGg";
    size_t length = strlen(text);
    const char *unit = length ? strchr(units, text[length - 1]) : NULL;
    char digits[24] = "";
    uint64_t n;

    *out = 0;
    length -= unit != NULL;
    if (length >= sizeof digits)
        return -TT_ERR_OPTION;
    memcpy(digits, text, length);
    if (tt_flag_number(digits, 0, UINT64_MAX, &n) != 0 ||
        (unit &&
         __builtin_mul_overflow(n, 1ull << (10 * ((unit - units) / 2 + 1)), &n)) ||
        n < least || n > most)
        return -TT_ERR_OPTION;
    *out = n;
    return 0;
}

static const struct tt_flag *find_named(const struct tt_flags *f, const char *text)
{
    const struct tt_flag *flag = NULL;

    for (int i = 0; i < TT_FLAG_TABLES && !flag; i++)
        flag = tt_flag_named(f->table[i], text);
    return flag;
}

static const struct tt_flag *find_lettered(const struct tt_flags *f, char letter)
{
    const struct tt_flag *flag = NULL;

    for (int i = 0; i < TT_FLAG_TABLES && !flag; i++)
        flag = tt_flag_lettered(f->table[i], letter);
    return flag;
}

/* `word` is the original one, with its dashes. */
static int unknown(struct tt_flags *f, const char *word)
{
    const char *names[NAMES_MAX], *near, *text = word + strspn(word, "-");
    int length = (int)strcspn(word, "=");
    char name[64];
    size_t count = 0;

    for (int i = 0; i < TT_FLAG_TABLES; i++)
        for (const struct tt_flag *t = f->table[i]; t && t->id; t++)
            if (t->name && count < NAMES_MAX)
                names[count++] = t->name;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(text, "="), text);
    near = tt_query_suggest(name, names, count);
    if (near)
        return wrong(f, "there is no option '%.*s'; did you mean '%.*s%s'?",
                     length > 60 ? 60 : length, word, word[1] == '-' ? 2 : 1, word, near);
    return wrong(f, "there is no option '%.*s'", length > 60 ? 60 : length, word);
}

static const char *next_word(struct tt_flags *f)
{
    return f->next < f->argc ? f->argv[f->next++] : NULL;
}

static int lacks_value(struct tt_flags *f, const char *dashes, int length,
                       const char *name)
{
    return wrong(f, "'%s%.*s' wants a value: %s", dashes, length, name, f->flag->value);
}

/* Is the next word the value of a flag with an optional value?  Yes if it is a number, or
 * a word of its table; anything else may be an operand. */
static int is_value(const struct tt_flag *flag, const char *word)
{
    size_t length = strlen(word);
    uint64_t n;

    if (!length || strchr(word, ' '))
        return 0;
    if (!flag->words)
        return tt_flag_bytes(word, 0, UINT64_MAX, &n) == 0;
    for (const char *at = flag->words; (at = strstr(at, word)); at += length)
        if ((at == flag->words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return 1;
    return 0;
}

static const char *optional_value(struct tt_flags *f)
{
    return f->next < f->argc && is_value(f->flag, f->argv[f->next]) ? next_word(f) : NULL;
}

static int take_long(struct tt_flags *f, const char *word)
{
    const char *name = word + strspn(word, "-"), *equals = strchr(name, '=');

    if (equals && !f->flag->value)
        return wrong(f, "'%.*s' takes no value", (int)(equals - word), word);
    f->value = equals ? equals + 1 : NULL;
    if (!equals && f->flag->value)
        f->value = tt_flag_may_lack_value(f->flag) ? optional_value(f) : next_word(f);
    if (!f->value && !tt_flag_may_lack_value(f->flag))
        return lacks_value(f, "", (int)strlen(word), word);
    return f->flag->id;
}

static int take_letter(struct tt_flags *f)
{
    char letter = *f->letters++;
    const char *rest = f->letters;

    f->value = NULL;
    f->flag = find_lettered(f, letter);
    if (!f->flag)
        return wrong(f, "there is no option '-%c'", letter);
    if (!f->flag->value)
        return f->flag->id;
    f->letters = "";
    if (*rest)
        f->value = rest;
    else
        f->value = tt_flag_may_lack_value(f->flag) ? optional_value(f) : next_word(f);
    if (!f->value && !tt_flag_may_lack_value(f->flag))
        return lacks_value(f, "-", 1, rest - 1);
    return f->flag->id;
}

static int is_operand(const struct tt_flags *f, const char *word)
{
    return f->ended || word[0] != '-' || word[1] == '\0';
}

int tt_flags_next(struct tt_flags *f)
{
    const char *word;

    if (*f->letters)
        return take_letter(f);
    while ((word = next_word(f))) {
        if (is_operand(f, word)) {
            f->ended |= f->program;
            f->argv[++f->count] = f->argv[f->next - 1];
            continue;
        }
        if (strcmp(word, "--") == 0) {
            f->ended = 1;
            continue;
        }
        f->flag = find_named(f, word + 1 + (word[1] == '-'));
        if (f->flag)
            return take_long(f, word);
        if (word[1] == '-' || !find_lettered(f, word[1]))
            return unknown(f, word);
        f->letters = word + 1;
        return take_letter(f);
    }
    return 0;
}

void tt_flags_init(struct tt_flags *f, int argc, char **argv, const struct tt_flag *table)
{
    *f = (struct tt_flags){
        .table = {table}, .argv = argv, .argc = argc, .next = 1, .letters = ""};
}
