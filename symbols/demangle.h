/* SPDX-License-Identifier: MIT */
/* demangle.h - the names that C++ and Rust programmers wrote, from those of symbols. */
#ifndef TT_DEMANGLE_H
#define TT_DEMANGLE_H

#include <stddef.h>

/* The name of a symbol for people: demangled, without a version (@@GLIBC_2.2) and without
 * compilers' suffixes for pieces of a function (.cold, .part.0).  The caller frees it;
 * NULL: no memory. */
char *tt_demangle(const char *symbol);

/* Rust's v0 (_R...) and legacy (_ZN...17h0123456789abcdefE) names, without hashes.
 * Writes at most `size` bytes with a NUL; returns the length, or 0: no such name, or too
 * long. */
size_t tt_demangle_rust(const char *symbol, char *text, size_t size);

/* Demangles a legacy name, after "_ZN". */
size_t tt_rust_legacy(const char *symbol, char *text, size_t size);

#endif
