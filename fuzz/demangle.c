/* SPDX-License-Identifier: MIT */
/* demangle.c - whatever a symbol is called, it has a name that ends, of bounded length. */
#include "demangle.h"
#include "rust.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { LONGEST = 1000 };
    char symbol[LONGEST + 1], text[512];
    size_t length = size < LONGEST ? size : LONGEST;

    memcpy(symbol, data, length);
    symbol[length] = 0;
    length = tt_demangle_rust(symbol, text, sizeof text);
    if (length >= sizeof text || (length && strlen(text) != length))
        abort();
    if (strncmp(symbol, "_Z", 2) != 0) /* C++'s is not ours */
        free(tt_demangle(symbol));
    return 0;
}
