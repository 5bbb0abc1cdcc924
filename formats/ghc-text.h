/* SPDX-License-Identifier: MIT */
/* ghc-text.h - the reader of GHC's time profiles that are text. */
#ifndef TT_GHC_TEXT_H
#define TT_GHC_TEXT_H

#include "formats.h"

int tt_ghc_read_text(struct tt_source *, struct tt_builder *);

#endif
