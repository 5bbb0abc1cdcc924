/* SPDX-License-Identifier: MIT */
/* perl.h - Perl on native stacks. */
#ifndef TT_PERL_H
#define TT_PERL_H

#include "interpreters.h"

struct dl_phdr_info;

/* The interpreter in this object; NULL: none, or no room. */
struct tt_interpreter *tt_perl_find(const struct dl_phdr_info *);

#endif
