/* SPDX-License-Identifier: MIT */
/* checking.h - code that the checks of a profile's sections share. */
#ifndef TT_CHECKING_H
#define TT_CHECKING_H

#include <stdarg.h>
#include <stdio.h>

#include "profile.h"

/* Sets the error text; -TT_ERR_FORMAT. */
static inline __attribute__((format(printf, 2, 3))) int tt_damaged(struct tt_profile *p,
                                                                   const char *format,
                                                                   ...)
{
    va_list list;

    va_start(list, format);
    (void)vsnprintf(p->error, sizeof p->error, format, list);
    va_end(list);
    return -TT_ERR_FORMAT;
}

static inline int tt_is_string(const struct tt_profile *p, uint32_t at)
{
    return at < p->strings_size && (at == 0 || p->strings[at - 1] == '\0');
}

static inline int tt_is_strand(const struct tt_profile *p, uint32_t strand)
{
    return strand == TT_NONE || strand < p->strands;
}

#endif
