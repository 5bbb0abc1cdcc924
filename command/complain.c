/* SPDX-License-Identifier: MIT */
/* complain.c - the one place from which the command speaks of errors. */
#include <stdarg.h>
#include <stdio.h>

#include "command.h"
#include "progress.h"
#include "query.h"

static char *kept; /* NULL: standard error */
static size_t kept_size;

void tt_complain_into(char *text, size_t size)
{
    kept = text;
    kept_size = size;
}

void tt_complain(const char *format, ...)
{
    va_list list;

    va_start(list, format);
    if (kept) {
        (void)vsnprintf(kept, kept_size, format, list);
    } else {
        tt_progress_clear();
        fputs("tallytree: ", stderr);
        vfprintf(stderr, format, list);
        fputc('\n', stderr);
    }
    va_end(list);
}

int tt_complain_of(const char *what, const char *word, const char *const *known,
                   size_t count)
{
    const char *near = tt_query_suggest(word, known, count);

    if (near)
        tt_complain("there is no %s '%s'; did you mean '%s'?", what, word, near);
    else
        tt_complain("there is no %s '%s'", what, word);
    return TT_EXIT_FAILED;
}
