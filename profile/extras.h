/* SPDX-License-Identifier: MIT */
/* extras.h - sections that a reader may skip. */
#ifndef TT_EXTRAS_H
#define TT_EXTRAS_H

#include "profile.h"

/* Reads the extra sections from the section table at `s`, and points into the image;
 * checks their content, after strings and contexts have been checked. */
int tt_extras_read(struct tt_profile *, const struct tt_file_header *,
                   const struct tt_section *s);
int tt_extras_check(struct tt_profile *);

#endif
