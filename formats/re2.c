/* SPDX-License-Identifier: MIT */
/* re2.c - regular expressions of RE2 in the syntax of POSIX. */
#include "re2.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct re2 {
    const char *at;
    char *to, *end; /* of what is written; one byte is left for the NUL */
    const char *why;
};

static void fail(struct re2 *r, const char *why)
{
    if (!r->why)
        r->why = why;
}

static void emit(struct re2 *r, const char *text, size_t length)
{
    if ((size_t)(r->end - r->to) < length) {
        fail(r, "it is too long");
        return;
    }
    memcpy(r->to, text, length);
    r->to += length;
}

static void copy(struct re2 *r, size_t length)
{
    emit(r, r->at, length);
    r->at += length;
}

/* Takes one of these, up to a NULL, and emits what POSIX has for it. */
static int take_word(struct re2 *r, const char *const (*word)[2])
{
    for (size_t length; (*word)[0]; word++) {
        length = strlen((*word)[0]);
        if (strncmp(r->at, (*word)[0], length) != 0)
            continue;
        r->at += length;
        emit(r, (*word)[1], strlen((*word)[1]));
        return 1;
    }
    return 0;
}

/* A backslash before a letter or digit has a meaning. */
static void check_escape(struct re2 *r)
{
    if (!ispunct((unsigned char)r->at[1]))
        fail(r, "it has a backslash that is not supported");
}

/* A character of a set, whatever it means there: POSIX has no backslashes in sets. */
static void take_member(struct re2 *r)
{
    char symbol[] = "[. .]";

    if (*r->at == '\\') {
        check_escape(r);
        r->at++;
    }
    symbol[2] = *r->at;
    if (r->why)
        return;
    r->at++;
    if (strchr("[]^-\\", symbol[2]))
        emit(r, symbol, sizeof symbol - 1);
    else
        emit(r, symbol + 2, 1);
}

static void take_set(struct re2 *r)
{
    static const char *const words[][2] = {
        {"\\d", "0-9"}, {"\\w", "0-9A-Za-z_"}, {"\\s", "\t\n\f\r "}, {NULL, NULL}};
    const char *begin, *end;

    copy(r, r->at[1] == '^' ? 2 : 1);
    begin = r->at;
    while (!r->why && (*r->at != ']' || r->at == begin)) {
        end = strncmp(r->at, "[:", 2) == 0 ? strstr(r->at, ":]") : NULL;
        if (!*r->at)
            fail(r, "a '[' is not closed");
        else if (end)
            copy(r, (size_t)(end - r->at) + 2);
        else if (*r->at == '\\' || *r->at == '[')
            (void)(take_word(r, words) || (take_member(r), 1));
        else
            copy(r, 1);
    }
    if (!r->why)
        copy(r, 1);
}

/* A backslash stays only where it takes a meaning away: others have one in glibc, as in \<. */
static void take_character(struct re2 *r)
{
    if (strncmp(r->at, "(?", 2) == 0)
        fail(r, "it has a '(?' that is not supported");
    if (*r->at == '\\') {
        check_escape(r);
        if (r->why)
            return;
        if (strchr(".[\\()*+?{|^$", r->at[1]))
            copy(r, 1);
        else
            r->at++;
    }
    copy(r, 1);
}

const char *tt_re2_to_posix(const char *text, char *posix, size_t size)
{
    /* Those of names need not know how long a match is: each repetition may be greedy. */
    static const char *const words[][2] = {{"\\d", "[0-9]"},
                                           {"\\D", "[^0-9]"},
                                           {"\\w", "[0-9A-Za-z_]"},
                                           {"\\W", "[^0-9A-Za-z_]"},
                                           {"\\s", "[\t\n\f\r ]"},
                                           {"\\S", "[^\t\n\f\r ]"},
                                           {"\\A", "^"},
                                           {"\\z", "$"},
                                           {"\\b", "\\b"},
                                           {"(?:", "("},
                                           {"*?", "*"},
                                           {"+?", "+"},
                                           {"??", "?"},
                                           {"}?", "}"},
                                           {NULL, NULL}};
    struct re2 r = {.at = text, .to = posix, .end = posix + size - 1};

    while (*r.at && !r.why)
        if (*r.at == '[')
            take_set(&r);
        else if (!take_word(&r, words))
            take_character(&r);
    *r.to = '\0';
    return r.why;
}
