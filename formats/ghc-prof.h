/* SPDX-License-Identifier: MIT */
/* ghc-prof.h - code that both readers of GHC's time profiles share. */
#ifndef TT_GHC_PROF_H
#define TT_GHC_PROF_H

#include "formats.h"
#include "frames.h"

struct tt_ghc {
    struct tt_source *s;
    struct tt_builder *b;
    struct tt_frames calls, bytes, time;
    uint64_t tick; /* ns */
};

void tt_ghc_init(struct tt_ghc *, struct tt_source *, struct tt_builder *);
/* Returns the block of a cost centre; `place`: "Main.hs:5:27-62",
 * "Main.hs:(10,1)-(15,49)", or a text that GHC writes instead. */
uint32_t tt_ghc_block(struct tt_ghc *, const char *label, const char *module,
                      char *place);
int tt_ghc_add(struct tt_ghc *, uint32_t context, uint64_t calls, uint64_t bytes,
               uint64_t ticks); /* 0, or an error, noted */
void tt_ghc_finish(struct tt_ghc *);

#endif
