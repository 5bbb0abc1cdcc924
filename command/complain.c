/* SPDX-License-Identifier: MIT */
/* complain.c - the only place where the command prints errors. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#include "command.h"
#include "complain.h"
#include "hints.h"
#include "progress.h"
#include "query.h"
#include "text.h"

static struct tt_complaints kept;

struct tt_complaints tt_complain_into(struct tt_complaints into)
{
    struct tt_complaints before = kept;

    kept = into;
    return before;
}

/* Names and contents of files may contain control sequences of a terminal. */
static void put_plainly(const char *text, FILE *out)
{
    char plain[TT_TEXT_PLAIN + 1];

    while (*text) {
        text += tt_text_plain(text, plain);
        (void)fputs(plain, out);
    }
}

void tt_complain(const char *format, ...)
{
    char text[2 * PATH_MAX + 1000];
    va_list list;

    va_start(list, format);
    if (kept.text) {
        (void)vsnprintf(kept.text, kept.size, format, list);
    } else {
        (void)vsnprintf(text, sizeof text, format, list);
        tt_progress_clear();
        fputs("tallytree: ", stderr);
        put_plainly(text, stderr);
        fputc('\n', stderr);
    }
    va_end(list);
}

int tt_complain_of(const char *what, const char *word, const char *const *known,
                   size_t count)
{
    const char *near = tt_query_suggest(word, known, count),
               *hint = tt_hint_find(what, word);

    if (hint)
        tt_complain("there is no %s '%s': %s", what, word, hint);
    else if (near)
        tt_complain("there is no %s '%s'; did you mean '%s'?", what, word, near);
    else
        tt_complain("there is no %s '%s'", what, word);
    return TT_EXIT_FAILED;
}
