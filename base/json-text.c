/* SPDX-License-Identifier: MIT */
/* json-text.c - text within a JSON string. */
#include <stdio.h>
#include <string.h>

#include "json-text.h"
#include "utf8.h"

/* The bytes of a character that JSON shows as it is, or 0. */
static size_t plain_size(const char *at)
{
    uint32_t code;

    if ((unsigned char)*at < 0x80)
        return *at >= ' ' && *at != 0x7f && *at != '"' && *at != '\\';
    return tt_utf8(at, &code);
}

size_t tt_json_text(const char *text, char escape[TT_JSON_ESCAPE], size_t *taken)
{
    static const char letters[] = "\b\t\n\f\r\"\\";
    const char *at = text, *letter;
    size_t size;

    while ((size = plain_size(at)) != 0)
        at += size;
    *taken = (size_t)(at - text) + (*at != '\0');
    letter = *at ? strchr(letters, *at) : NULL;
    if (letter)
        memcpy(escape, (const char[]){'\\', "btnfr\"\\"[letter - letters], '\0'}, 3);
    else if (*at)
        (void)snprintf(escape, TT_JSON_ESCAPE, "\\u%04x",
                       (unsigned char)*at < 0x80 ? (unsigned)*at : 0xfffdu);
    else
        escape[0] = '\0';
    return (size_t)(at - text);
}
