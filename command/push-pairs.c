/* SPDX-License-Identifier: MIT */
/* push-pairs.c - names with values.  Each function complains as of "push". */
#include "push-pairs.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "tallytree.h"

void tt_pair_list_free(struct tt_pair_list *l)
{
    while (l->count)
        free(l->pair[--l->count]);
    free(l->pair);
    *l = (struct tt_pair_list){NULL, 0};
}

/* Takes the text; NULL: there was no memory for it. */
static int take(struct tt_pair_list *l, char *text)
{
    char **more = text ? realloc(l->pair, (l->count + 1) * sizeof *more) : NULL;

    if (more) {
        l->pair = more;
        l->pair[l->count++] = text;
        return 0;
    }
    free(text);
    tt_complain("no memory");
    return -TT_ERR_MEMORY;
}

/* The length of a name that is not empty and consists of visible characters; 0: it is none. */
static size_t name_before(const char *text, char end)
{
    size_t n = 0;

    while (text[n] > ' ' && text[n] < 0x7f && text[n] != end)
        n++;
    return text[n] == end ? n : 0;
}

int tt_pair_list_add(struct tt_pair_list *l, const char *flag, const char *value)
{
    if (name_before(value, '='))
        return take(l, strdup(value));
    tt_complain("push: '--%s' wants KEY=VALUE, not '%s'", flag, value);
    return -TT_ERR_OPTION;
}

static int has(const struct tt_pair_list *l, const char *name, size_t length,
               const char *between)
{
    for (size_t i = 0; i < l->count; i++)
        if (strncasecmp(l->pair[i], name, length) == 0 &&
            l->pair[i][length] == between[0])
            return 1;
    return 0;
}

static int digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : (c | 0x20) - 'a' + 10;
}

/* Returns a copy with %XX as characters; NULL: no memory.  A control character would be the end
 * of a header, and becomes '?'. */
static char *decode(const char *from, size_t size)
{
    char *text = malloc(size + 1), *to = text;

    for (size_t i = 0; text && i < size; i++) {
        char c = from[i];
        if (c == '%' && i + 2 < size && isxdigit((unsigned char)from[i + 1]) &&
            isxdigit((unsigned char)from[i + 2])) {
            c = (char)(digit(from[i + 1]) << 4 | digit(from[i + 2]));
            i += 2;
        }
        *to++ = (unsigned char)c < ' ' || c == 0x7f ? '?' : c;
    }
    if (text)
        *to = '\0';
    return text;
}

/* "NAME", what is between, and the decoded value. */
static int take_encoded(struct tt_pair_list *l, const char *name, size_t length,
                        const char *between, const char *value, size_t size)
{
    char *decoded = decode(value, size), *text = NULL;

    if (decoded && asprintf(&text, "%.*s%s%s", (int)length, name, between, decoded) < 0)
        text = NULL;
    free(decoded);
    return take(l, text);
}

int tt_pair_list_environment(struct tt_pair_list *l, const char *variable,
                             const char *between)
{
    const char *at = getenv(variable), *value;
    int error = 0;

    for (size_t size, length; at && *at && !error; at += size + (at[size] == ',')) {
        at += strspn(at, " ");
        size = strcspn(at, ",");
        length = name_before(at, '=');
        if (!size)
            continue;
        if (!length || length > size) {
            tt_complain("push: %s wants KEY=VALUE,...", variable);
            return -TT_ERR_OPTION;
        }
        value = at + length + 1;
        if (!has(l, at, length, between))
            error = take_encoded(l, at, length, between, value, size - length - 1);
    }
    return error;
}

static int take_line(struct tt_pair_list *l, const char *path, unsigned number,
                     const char *line)
{
    const size_t length = name_before(line, ':');
    const char *value = line + length + 1;

    if (!*line || *line == '#')
        return 0;
    if (length && value[strspn(value, " \t")])
        return take(l, strdup(line));
    /* It may be a secret: the line is not shown. */
    tt_complain(
        "push: %s:%u: a line has to be a header, as 'Authorization: Bearer TOKEN'", path,
        number);
    return -TT_ERR_OPTION;
}

int tt_pair_list_file(struct tt_pair_list *l, const char *path)
{
    FILE *f = fopen(path, "re");
    char *line = NULL;
    size_t room = 0;
    int error = 0;

    if (!f) {
        tt_complain("push: %s: %s", path, strerror(errno));
        return -TT_ERR_FILE;
    }
    for (unsigned number = 1; !error && getline(&line, &room, f) >= 0; number++) {
        line[strcspn(line, "\r\n")] = '\0';
        error = take_line(l, path, number, line);
    }
    if (!error && ferror(f)) {
        tt_complain("push: %s: it cannot be read", path);
        error = -TT_ERR_FILE;
    }
    free(line);
    (void)fclose(f);
    return error;
}
