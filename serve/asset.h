/* SPDX-License-Identifier: MIT */
/* asset.h - the viewer's page, as web/build.mjs embeds it. */
#ifndef TT_ASSET_H
#define TT_ASSET_H

#include <stddef.h>

struct tt_asset {
    const char *name, *type;    /* name: as in its address; ends with one that is NULL */
    const unsigned char *bytes; /* packed with gzip */
    size_t size;
};
extern const struct tt_asset tt_assets[];

#endif
