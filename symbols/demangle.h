/* SPDX-License-Identifier: MIT */
/* demangle.h - the names that C++ and Rust programmers wrote, from those of symbols. */
#ifndef TT_DEMANGLE_H
#define TT_DEMANGLE_H

#include <stddef.h>

/* The name of a symbol for people: demangled, without a version (@@GLIBC_2.2) and without
 * compilers' suffixes for pieces of a function (.cold, .part.0).  The caller frees it;
 * NULL: no memory. */
char *tt_demangle(const char *symbol);

#endif
