/* SPDX-License-Identifier: MIT */
/* complain.c - the only place where the command prints errors. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "assertion.h"
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

/* By one write if it is not very long, as other processes may write there, too.  Names and contents of
 * files may contain control sequences of a terminal. */
static void put_line(const char *text)
{
    char line[4096] = "tallytree: ";
    size_t size = strlen(line);

    while (*text) {
        if (size + TT_TEXT_PLAIN + 2 > sizeof line) {
            (void)fwrite(line, 1, size, stderr);
            size = 0;
        }
        text += tt_text_plain(text, line + size);
        size += strlen(line + size);
    }
    line[size++] = '\n';
    TT_ASSERT(size <= sizeof line);
    (void)fwrite(line, 1, size, stderr);
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
        put_line(text);
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
