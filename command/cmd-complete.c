/* SPDX-License-Identifier: MIT */
/* cmd-complete.c - completion for shells: `tallytree --complete WORD…`.
 *
 * The shells' files (doc/completion) pass the words up to the cursor, and show the
 * output: lines of "word<TAB>description", and "@files" if any file will do.  The words
 * come from the tables that the commands read their flags by. */
#include <stdio.h>
#include <string.h>

#include "cmd-complete.h"
#include "cmd-export.h"
#include "command.h"
#include "foreign.h"
#include "layouts.h"
#include "query.h"
#include "views.h"

static int begins_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* `before` is printed before the word: "--color=", "--". */
static void offer(const char *before, const char *word, const char *about,
                  const char *typed)
{
    size_t length = strlen(before);

    if (strncmp(typed, before, length) != 0 || !begins_with(word, typed + length))
        return;
    printf("%s%s\t%s\n", before, word, about ? about : "");
}

static void offer_views(const char *before, const char *typed)
{
    for (const struct tt_named_view *v = tt_views; v->name; v++)
        offer(before, v->name, v->about, typed);
}

static void offer_layouts(const char *before, const char *typed)
{
    for (const struct tt_layout *l = tt_layouts; l->name; l++)
        offer(before, l->name, l->about, typed);
}

static void offer_formats(const char *before, const char *typed)
{
    for (size_t i = 0; tt_export_format(i); i++)
        offer(before, tt_export_format(i)->name, tt_export_format(i)->about, typed);
}

/* The words of tt_flag.words. */
static void offer_words(const char *before, const char *words, const char *typed)
{
    char word[40];

    for (const char *p = words ? words : ""; *p; p += strspn(p, " ")) {
        size_t length = strcspn(p, " ");
        (void)snprintf(word, sizeof word, "%.*s", (int)length, p);
        p += length;
        if (strcmp(word, "@views") == 0)
            offer_views(before, typed);
        else if (strcmp(word, "@layouts") == 0)
            offer_layouts(before, typed);
        else if (strcmp(word, "@formats") == 0)
            offer_formats(before, typed);
        else if (word[0] == '@')
            puts(word);
        else
            offer(before, word, NULL, typed);
    }
}

static void offer_flags(const struct tt_command *c, const struct tt_flags *f, int number,
                        const char *typed)
{
    const struct tt_flag *table = f->table[number];
    const char *dashes = typed[1] && typed[1] != '-' ? "-" : "--";
    char letter[2] = "";

    for (; table && table->id; table++) {
        if (!tt_command_offers(c, f, number, table))
            continue;
        if (table->name)
            offer(dashes, table->name, table->about, typed);
        letter[0] = table->letter;
        if (letter[0] && !table->name)
            offer("-", letter, table->about, typed);
    }
}

/* Returns the flag whose value follows the word before, or NULL. */
static const struct tt_flag *waiting(const struct tt_flags *f, const char *word)
{
    const struct tt_flag *flag = NULL;

    if (word[0] != '-' || !word[1] || strchr(word, '='))
        return NULL;
    for (int i = 0; i < TT_FLAG_TABLES && !flag; i++) {
        flag = tt_flag_named(f->table[i], word + 1 + (word[1] == '-'));
        if (!flag && !word[2])
            flag = tt_flag_lettered(f->table[i], word[1]);
    }
    return flag && !tt_flag_may_lack_value(flag) ? flag : NULL;
}

/* "--color=al": offers the values, after the equals sign. */
static void offer_values(const struct tt_flags *f, const char *typed)
{
    const struct tt_flag *flag = NULL;
    char before[60];

    for (int i = 0; i < TT_FLAG_TABLES && !flag; i++)
        flag = tt_flag_named(f->table[i], typed + strspn(typed, "-"));
    (void)snprintf(before, sizeof before, "%.*s=", (int)strcspn(typed, "="), typed);
    if (flag)
        offer_words(before, flag->words, typed);
}

static void complete_arguments(const struct tt_command *c, int argc, char **argv)
{
    const char *typed = argv[argc - 1];
    const struct tt_flag *flag;
    struct tt_flags f;

    tt_command_flags(c, &f, argc, argv);
    flag = argc > 2 ? waiting(&f, argv[argc - 2]) : NULL;
    if (flag) {
        offer_words("", flag->words, typed);
    } else if (typed[0] == '-' && strchr(typed, '=')) {
        offer_values(&f, typed);
    } else if (typed[0] == '-') {
        for (int i = 0; i < TT_FLAG_TABLES; i++)
            offer_flags(c, &f, i, typed);
    } else {
        offer_words("", c->operands, typed);
    }
}

static void offer_commands(const char *typed)
{
    for (size_t i = 0; tt_commands[i]; i++)
        offer("", tt_commands[i]->name, tt_commands[i]->about, typed);
}

int tt_command_complete(int argc, char **argv)
{
    const struct tt_command *c;

    if (argc == 2) {
        offer_commands(argv[1]);
        offer("", "help", "a command's page", argv[1]);
        if (strchr(argv[1], '/'))
            puts("@files"); /* a program */
    } else if (argc == 3 && strcmp(argv[1], "help") == 0) {
        offer_commands(argv[2]);
    } else if (argc > 2 && (c = tt_command_find(argv[1]))) {
        complete_arguments(c, argc - 1, argv + 1);
    }
    return TT_EXIT_DONE;
}
