/* SPDX-License-Identifier: MIT */
/* options.c - whatever words tt_start is given, reading them ends in options or in an error
 * that says where. */
#include <stdlib.h>
#include <string.h>

#include "options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tt_options o;
    char *words = malloc(size + 1);
    size_t at;

    if (!words)
        return 0;
    memcpy(words, data, size);
    words[size] = '\0';
    if (tt_options_read(&o, words, &at) != 0 && at > strlen(words))
        abort();
    free(words);
    return 0;
}
