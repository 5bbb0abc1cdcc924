/* SPDX-License-Identifier: MIT */
/* rust-legacy.h - Rust's names before v0. */
#ifndef TT_RUST_LEGACY_H
#define TT_RUST_LEGACY_H

#include <stddef.h>

/* Demangles a legacy name, after "_ZN". */
size_t tt_rust_legacy(const char *symbol, char *text, size_t size);

#endif
