/* SPDX-License-Identifier: MIT */
/* php.h - PHP on native stacks. */
#ifndef TT_PHP_H
#define TT_PHP_H

#include "interpreters.h"

struct dl_phdr_info;

/* The interpreter in this object; NULL: none, or no room. */
struct tt_interpreter *tt_php_find(const struct dl_phdr_info *);

#endif
