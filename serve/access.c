/* SPDX-License-Identifier: MIT */
/* access.c - decides by a request's headers whether it is allowed, and the form of
 * answers. */
#include "access.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ── Hosts ────────────────────────────────────────────────────────────────────────── */

/* Nothing, or a colon and digits. */
static int is_port(const char *text)
{
    return !*text || (*text == ':' && !text[1 + strspn(text + 1, "0123456789")]);
}

/* Returns the host without its port and brackets; 0: invalid. */
static int read_host(const char *host, char *out, size_t room, int *is_address)
{
    const char *end = *host == '[' ? strchr(++host, ']') : host + strcspn(host, ":");
    const int has_brackets = end && *end == ']';
    unsigned char address[16];
    size_t length;

    if (!end || !is_port(end + has_brackets))
        return 0;
    length = (size_t)(end - host);
    if (!length || length >= room)
        return 0;
    memcpy(out, host, length);
    out[length] = '\0';
    *is_address = inet_pton(has_brackets ? AF_INET6 : AF_INET, out, address) == 1;
    return !has_brackets || *is_address;
}

int tt_access_host(const struct tt_hosts *hosts, const char *host)
{
    char name[256];
    int is_address;

    if (!host || !read_host(host, name, sizeof name, &is_address))
        return 0;
    if (is_address || strcasecmp(name, "localhost") == 0)
        return 1;
    for (int i = 0; i < hosts->count; i++)
        if (strcasecmp(name, hosts->name[i]) == 0)
            return 1;
    return 0;
}

static int is_origin_of(const char *origin, const char *scheme, const char *host)
{
    size_t length = strlen(scheme);

    return strncasecmp(origin, scheme, length) == 0 &&
           strcasecmp(origin + length, host) == 0;
}

int tt_access_site(const char *host, const char *origin, const char *site)
{
    static const struct tt_hosts none = {.count = 0};

    /* A proxy, which has a name, may use TLS; this server does not. */
    if (origin && !(host && (is_origin_of(origin, "http://", host) ||
                             (is_origin_of(origin, "https://", host) &&
                              !tt_access_host(&none, host)))))
        return 0;
    return !site || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
}

int tt_access_navigation(const char *mode, const char *destination)
{
    return mode && destination && strcmp(mode, "navigate") == 0 &&
           strcmp(destination, "document") == 0;
}

/* ── Tokens ───────────────────────────────────────────────────────────────────────── */

int tt_access_equal(const char *one, const char *other, unsigned long size)
{
    unsigned wrong = 0;

    for (unsigned long i = 0; i < size; i++)
        wrong |= (unsigned char)(one[i] ^ other[i]);
    return !wrong;
}

int tt_access_bearer(const char *token, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    const char *given;

    if (!authorization || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0)
        return 0;
    given = authorization + sizeof scheme - 1;
    return strlen(given) == strlen(token) && tt_access_equal(token, given, strlen(token));
}

/* ── Encodings ────────────────────────────────────────────────────────────────────── */

static const char *skip_spaces(const char *p) { return p + strspn(p, " \t"); }

/* Returns the weight of a word of the list, up to its comma: "; q=0.5". */
static double weight_of(const char *p, const char *end)
{
    while ((p = memchr(p, ';', (size_t)(end - p)))) {
        p = skip_spaces(p + 1);
        if ((*p == 'q' || *p == 'Q') && *skip_spaces(p + 1) == '=')
            return strtod(skip_spaces(p + 1) + 1, NULL);
    }
    return 1;
}

static int is_word(const char *p, const char *end, const char *word)
{
    size_t length = strlen(word);

    return (size_t)(end - p) >= length && strncasecmp(p, word, length) == 0 &&
           strchr(" \t;,", p[length]) != NULL;
}

int tt_access_gzip(const char *accepted)
{
    int any = 0;

    while (accepted && *accepted) {
        const char *p = skip_spaces(accepted), *end = p + strcspn(p, ",");
        if (is_word(p, end, "gzip") || is_word(p, end, "x-gzip"))
            return weight_of(p, end) > 0;
        if (is_word(p, end, "*"))
            any = weight_of(p, end) > 0;
        accepted = *end ? end + 1 : end;
    }
    return any;
}
