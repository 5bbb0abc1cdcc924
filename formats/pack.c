/* SPDX-License-Identifier: MIT */
/* pack.c - gzip for output; the same content always gives the same bytes. */
#include "pack.h"

#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#include "tallytree.h"

struct tt_pack {
    int (*put)(void *arg, const void *bytes, size_t size);
    void *arg;
    z_stream z;
    unsigned char out[1 << 16];
};

struct tt_pack *tt_pack_new(int (*put)(void *, const void *, size_t), void *arg)
{
    struct tt_pack *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->put = put;
    p->arg = arg;
    if (deflateInit2(&p->z, Z_BEST_SPEED, Z_DEFLATED, 16 + MAX_WBITS, 8,
                     Z_DEFAULT_STRATEGY) == Z_OK)
        return p;
    free(p);
    return NULL;
}

static int deflate_all(struct tt_pack *p, int flush)
{
    int error = 0;

    do {
        p->z.next_out = p->out;
        p->z.avail_out = sizeof p->out;
        if (deflate(&p->z, flush) == Z_STREAM_ERROR)
            return -TT_ERR_STATE;
        if (p->z.avail_out < sizeof p->out)
            error = p->put(p->arg, p->out, sizeof p->out - p->z.avail_out);
    } while (!error && p->z.avail_out == 0);
    return error;
}

int tt_pack_put(void *pack, const void *bytes, size_t size)
{
    struct tt_pack *p = pack;
    const size_t most = 1u << 30;
    const unsigned char *from = bytes;
    int error = 0;

    for (size_t n; !error && size; from += n, size -= n) {
        n = size < most ? size : most;
        p->z.next_in = (Bytef *)(uintptr_t)from; /* zlib only reads it */
        p->z.avail_in = (uInt)n;
        error = deflate_all(p, Z_NO_FLUSH);
    }
    return error;
}

int tt_pack_finish(struct tt_pack *p) { return deflate_all(p, Z_FINISH); }

void tt_pack_free(struct tt_pack *p)
{
    if (p)
        (void)deflateEnd(&p->z);
    free(p);
}
