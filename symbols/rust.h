/* SPDX-License-Identifier: MIT */
/* rust.h - Rust's names. */
#ifndef TT_RUST_H
#define TT_RUST_H

#include <stddef.h>

/* Rust's v0 (_R...) and legacy (_ZN...17h0123456789abcdefE) names, without hashes.
 * Writes at most `size` bytes with a NUL; returns the length, or 0: no such name, or too
 * long. */
size_t tt_demangle_rust(const char *symbol, char *text, size_t size);

#endif
