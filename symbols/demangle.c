/* SPDX-License-Identifier: MIT */
/* demangle.c - the names in the source, from those of symbols.
 *
 * Compilers append suffixes to the pieces that they cut a function into.  These would
 * hide that the pieces are of one function, and debug information does not have them:
 * they are removed. */
#include "demangle.h"
#include "rust.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST = 8192 };

/* C++'s own, in libstdc++ and libc++abi. */
extern char *__cxa_demangle(const char *name, char *buffer, size_t *length, int *status);

/* Is it ".part" of ".part.0"?  The number is already removed. */
static int is_piece(const char *text, size_t length)
{
    static const char *const pieces[] = {".cold", ".part",     ".isra",      ".constprop",
                                         ".llvm", ".lto_priv", ".localalias"};

    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        if (strlen(pieces[i]) == length && memcmp(pieces[i], text, length) == 0)
            return 1;
    return 0;
}

/* "foo.part.0.cold" is foo's. */
static size_t whole_length(const char *symbol, size_t length)
{
    size_t end = length, at = length;

    while (at > 1) {
        size_t dot = at;
        while (dot > 1 && symbol[dot - 1] != '.')
            dot--;
        if (dot <= 1)
            break;
        dot--;
        if (strspn(symbol + dot + 1, "0123456789") < at - dot - 1) {
            if (!is_piece(symbol + dot, at - dot))
                break;
            end = dot;
        }
        at = dot;
    }
    return end;
}

char *tt_demangle(const char *symbol)
{
    size_t length = strcspn(symbol, "@");
    char *name, *found = NULL;

    if (!length)
        length = strlen(symbol);
    length = whole_length(symbol, length);
    name = strndup(symbol, length);
    if (!name || length > LONGEST || name[0] != '_' || (name[1] != 'Z' && name[1] != 'R'))
        return name;
    found = malloc(LONGEST);
    if (found && !tt_demangle_rust(name, found, LONGEST)) {
        free(found);
        found = name[1] == 'Z' ? __cxa_demangle(name, NULL, NULL, NULL) : NULL;
    }
    if (!found)
        return name;
    free(name);
    return found;
}
