/* SPDX-License-Identifier: MIT */
/* ruby.h - Ruby on native stacks. */
#ifndef TT_RUBY_H
#define TT_RUBY_H

#include "interpreters.h"

struct dl_phdr_info;

/* The interpreter in this object; NULL: none, or no room. */
struct tt_interpreter *tt_ruby_find(const struct dl_phdr_info *);

#endif
