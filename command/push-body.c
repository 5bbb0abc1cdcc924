/* SPDX-License-Identifier: MIT */
/* push-body.c - a profile as a request: compressed, and named by its content.
 *
 * The same profile with the same attributes is the same request, on every machine and on every
 * day, so its name tells whether it was sent. */
#include "push-body.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "complain.h"
#include "pack.h"
#include "tallytree.h"
#include "writer.h"

struct packing {
    struct tt_content_hash hash; /* of what is compressed */
    struct tt_pack *pack;
    struct tt_vector *bytes;
};

static int keep(void *arg, const void *bytes, size_t size)
{
    char *to = tt_vector_add(arg, size);

    if (!to)
        return -TT_ERR_MEMORY;
    memcpy(to, bytes, size);
    return 0;
}

static int put(void *arg, const void *bytes, size_t size)
{
    struct packing *p = arg;

    p->hash = tt_content_hash_add(p->hash, bytes, size);
    return tt_pack_put(p->pack, bytes, size);
}

static void set_name(struct tt_push_body *b, struct tt_content_hash h)
{
    (void)snprintf(b->name, sizeof b->name, "%016llx%016llx", (unsigned long long)h.high,
                   (unsigned long long)h.low);
}

static int make(struct tt_export *e, const struct tt_format *format,
                struct tt_push_body *b)
{
    static struct tt_writer writer; /* too large for the stack */
    struct packing p = {.hash = TT_CONTENT_HASH_OF_NOTHING, .bytes = &b->bytes};
    int error;

    p.hash = tt_content_hash_add(p.hash, b->query, strlen(b->query));
    b->bytes.count = 0;
    p.pack = tt_pack_new(keep, &b->bytes);
    error = p.pack ? 0 : -TT_ERR_MEMORY;
    tt_writer_init(&writer, put, &p);
    error = error ?: format->write(e, &writer);
    error = error ?: tt_writer_flush(&writer);
    error = error ?: tt_pack_finish(p.pack);
    tt_pack_free(p.pack);
    set_name(b, p.hash);
    if (error)
        tt_complain("push: %s", e->error[0] ? e->error : tt_error_text(error));
    return error;
}

int tt_push_otlp(struct tt_export *e, uint64_t until, struct tt_push_body *b)
{
    (void)until;
    b->query[0] = '\0';
    return make(e, &tt_format_otlp, b);
}

/* ── Pyroscope ────────────────────────────────────────────────────────────────────── */

static void add(struct tt_push_body *b, const char *text)
{
    const size_t length = strlen(b->query);

    (void)snprintf(b->query + length, sizeof b->query - length, "%s", text);
}

/* Adds a text without the characters that divide labels, percent-encoded.  `others`: characters
 * that are kept besides letters and digits; all others become '_'. */
static void add_text(struct tt_push_body *b, const char *text, const char *others)
{
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        char one[4] = {isalnum(c) || strchr(others, c) ? (char)c : '_', '\0'};
        if (!isalnum((unsigned char)one[0]) && !strchr("-._", one[0]))
            (void)snprintf(one, sizeof one, "%%%02X", (unsigned char)one[0]);
        add(b, one);
    }
}

static void add_label(struct tt_push_body *b, const char *key, const char *value)
{
    const size_t length = strlen(b->query);
    const int is_first = length >= 3 && strcmp(b->query + length - 3, "%7B") == 0;

    if (!*value)
        return;
    add(b, is_first ? "" : "%2C");
    add_text(b, key, "_");
    add(b, "%3D");
    add_text(b, value, " -._/:@+()[]");
}

static const char *host_of(const struct tt_profile *p)
{
    for (uint32_t s = 1; s < p->strands; s++)
        if (p->strand[s].host != p->strand[0].host)
            return "";
    return p->strands ? tt_profile_string(p, p->strand[0].host) : "";
}

static const char *service_of(const struct tt_export *e)
{
    const struct tt_profile *p = e->profile;
    const char *program = tt_profile_program(p);

    if (e->service)
        return e->service;
    if ((!program || !*program) && p->strands)
        program = tt_profile_string(p, p->strand[0].process);
    return program && *program ? program : "unknown";
}

/* SERVICE{KEY=VALUE,...} */
static void add_name(struct tt_push_body *b, const struct tt_export *e)
{
    add(b, "name=");
    add_text(b, service_of(e), "-._/");
    add(b, "%7B");
    add_label(b, "host", host_of(e->profile));
    for (size_t i = 0; i < e->attributes; i++) {
        const char *equals = strchr(e->attribute[i], '=');
        char key[200];
        (void)snprintf(key, sizeof key, "%.*s", (int)(equals - e->attribute[i]),
                       e->attribute[i]);
        add_label(b, key, equals + 1);
    }
    add(b, "%7D");
}

int tt_push_pyroscope(struct tt_export *e, uint64_t until, struct tt_push_body *b)
{
    enum { NS = 1000000000 };
    const uint64_t started = tt_fact_number(e->profile, "started"),
                   lasted = tt_fact_number(e->profile, "lasted"),
                   from = started ? started : until - (lasted < until ? lasted : until),
                   end = started ? started + lasted : until;
    char span[100];

    b->query[0] = '\0';
    add_name(b, e);
    (void)snprintf(span, sizeof span,
                   "&from=%llu&until=%llu&format=pprof&spyName=tallytree",
                   (unsigned long long)(from / NS),
                   (unsigned long long)(end / NS > from / NS ? end / NS : from / NS + 1));
    add(b, span);
    if (strlen(b->query) == sizeof b->query - 1) {
        tt_complain(
            "push: the service and its attributes are longer than a request may be");
        return -TT_ERR_OPTION;
    }
    return make(e, &tt_format_pprof, b);
}
