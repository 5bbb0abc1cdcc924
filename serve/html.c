/* SPDX-License-Identifier: MIT */
/* html.c - the viewer's page with a profile in it. */
#include "html.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "asset.h"
#include "embedded-profile.h"

enum { GZIP = 15 + 16, PIECE = 48 << 10 }; /* PIECE: a multiple of 3 */

static const struct tt_asset *find(const char *name)
{
    const struct tt_asset *a = tt_assets;

    while (a->name && strcmp(a->name, name) != 0)
        a++;
    return a->name ? a : NULL;
}

/* Returns an unpacked asset, with a NUL; malloc'ed. */
static char *unpack(const struct tt_asset *a)
{
    uint32_t size;
    z_stream z;
    char *text;

    memcpy(&size, a->bytes + a->size - 4, sizeof size); /* gzip's last word */
    memset(&z, 0, sizeof z);
    if (inflateInit2(&z, GZIP) != Z_OK)
        return NULL;
    text = calloc(1, (size_t)size + 1);
    z.next_in = (unsigned char *)(uintptr_t)a->bytes;
    z.avail_in = (unsigned)a->size;
    z.next_out = (unsigned char *)text;
    z.avail_out = size;
    if (text && inflate(&z, Z_FINISH) != Z_STREAM_END) {
        free(text);
        text = NULL;
    }
    (void)inflateEnd(&z);
    return text;
}

static void put_base64(struct tt_writer *w, const unsigned char *bytes, size_t size)
{
    static const char digit[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char four[4];

    for (size_t i = 0; i < size; i += 3) {
        size_t left = size - i;
        uint32_t word = (uint32_t)bytes[i] << 16;
        word |= left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        word |= left > 2 ? bytes[i + 2] : 0;
        for (int k = 0; k < 4; k++)
            four[k] = digit[word >> (18 - 6 * k) & 63];
        if (left < 3)
            four[3] = '=';
        if (left < 2)
            four[2] = '=';
        tt_put_bytes(w, four, sizeof four);
    }
}

/* Writes it packed and as text, piece by piece. */
static int put_packed(struct tt_writer *w, const void *bytes, size_t size)
{
    unsigned char *piece = malloc(PIECE);
    const char *next = bytes;
    size_t left = size;
    int status = Z_OK;
    z_stream z;

    memset(&z, 0, sizeof z);
    if (!piece || deflateInit2(&z, 6, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        free(piece);
        return -TT_ERR_MEMORY;
    }
    while (status != Z_STREAM_END && !w->error) {
        z.next_out = piece;
        z.avail_out = PIECE;
        do {
            unsigned some = left < 1u << 30 ? (unsigned)left : 1u << 30;
            z.next_in = (unsigned char *)(uintptr_t)next;
            z.avail_in = some;
            status = deflate(&z, some == left ? Z_FINISH : Z_NO_FLUSH);
            next += some - z.avail_in;
            left -= some - z.avail_in;
        } while (status != Z_STREAM_END && z.avail_out);
        put_base64(w, piece, PIECE - z.avail_out);
    }
    (void)deflateEnd(&z);
    free(piece);
    return 0;
}

static int put_profile(struct tt_writer *w, const struct tt_profile *p)
{
    struct tt_vector embedded;
    int error;

    tt_vector_init(&embedded, p->memory, 1);
    error = tt_embedded_pack(p, &embedded);
    error = error ?: put_packed(w, embedded.item, embedded.count);
    tt_vector_fini(&embedded);
    return error;
}

/* Writes the page up to where an element's data belong; returns the rest, NULL: the page
 * has no such element. */
static const char *put_until(struct tt_writer *w, const char *page, const char *mark)
{
    const char *at = strstr(page, mark);

    if (at) {
        at += strlen(mark);
        tt_put_bytes(w, page, (size_t)(at - page));
    }
    return at;
}

static int write_html(struct tt_export *e, struct tt_writer *w)
{
    char *page = unpack(find("single.html"));
    const char *rest = page ? put_until(w, page, "id=\"profile\">") : NULL;
    int error = rest ? put_profile(w, e->profile) : -TT_ERR_MEMORY;

    if (!error)
        rest = put_until(w, rest, "id=\"sources\">");
    if (!error && e->sources)
        error = put_packed(w, e->sources, strlen(e->sources));
    if (!error)
        tt_put(w, rest);
    free(page);
    return error;
}

const struct tt_format tt_format_html = {
    .name = "html",
    .about = "the viewer with the profile in it, as one file",
    .write = write_html,
};
