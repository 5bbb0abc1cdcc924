/* SPDX-License-Identifier: MIT */
/* complain.c - the one place from which the command speaks of errors. */
#include <stdarg.h>
#include <stdio.h>

#include "command.h"
#include "query.h"

void tt_complain(const char *format, ...)
{
    va_list list;

    fputs("tallytree: ", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
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
