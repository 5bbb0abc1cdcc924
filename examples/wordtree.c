/* SPDX-License-Identifier: MIT */
/* wordtree.c - prints the ten most frequent words of its standard input.
 *
 *      wordtree [OPTIONS] <TEXT        the options of tt_start, such as output=FILE */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tallytree.h>

struct word {
    struct word *left, *right;
    unsigned long count;
    char text[];
};

static struct word *tree, **words;
static size_t count;

static int read_word(char *text, size_t size)
{
    TT_FUNCTION();
    size_t length = 0;
    int c;

    while ((c = getchar()) != EOF && !isalpha(c))
        ;
    for (; c != EOF && isalpha(c); c = getchar())
        if (length + 1 < size)
            text[length++] = (char)tolower(c);
    text[length] = '\0';
    return length != 0;
}

static struct word *make_word(const char *text)
{
    TT_FUNCTION();
    size_t size = strlen(text) + 1;
    struct word *word = calloc(1, sizeof *word + size);

    if (!word)
        exit(1);
    memcpy(word->text, text, size);
    count++;
    TT_ADD("bytes", sizeof *word + size);
    return word;
}

static void insert(struct word **at, const char *text)
{
    TT_FUNCTION();
    int order = *at ? strcmp(text, (*at)->text) : 0;

    if (!*at)
        *at = make_word(text);
    if (order)
        insert(order < 0 ? &(*at)->left : &(*at)->right, text);
    else
        (*at)->count++;
}

static size_t collect(struct word *word, size_t n)
{
    TT_FUNCTION();
    if (!word)
        return n;
    n = collect(word->left, n);
    words[n++] = word;
    return collect(word->right, n);
}

static int by_count(const void *a, const void *b)
{
    TT_FUNCTION();
    const struct word *x = *(struct word *const *)a, *y = *(struct word *const *)b;

    return x->count != y->count ? (x->count < y->count ? 1 : -1)
                                : strcmp(x->text, y->text);
}

static void print_words(void)
{
    TT_FUNCTION();
    words = calloc(count + 1, sizeof *words);
    if (!words)
        exit(1);
    collect(tree, 0);
    qsort(words, count, sizeof *words, by_count);
    for (size_t i = 0; i < count && i < 10; i++)
        printf("%7lu %s\n", words[i]->count, words[i]->text);
}

int main(int argc, char **argv)
{
    int error = tt_start(argc > 1 ? argv[1] : "");
    char text[64];

    if (error)
        fprintf(stderr, "wordtree: %s\n", tt_error_text(error)); /* and on without it */
    {
        TT_FUNCTION();
        while (read_word(text, sizeof text))
            insert(&tree, text);
        print_words();
    }
    tt_print(2);
    tt_stop();
    return 0;
}
