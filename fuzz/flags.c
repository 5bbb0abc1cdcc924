/* SPDX-License-Identifier: MIT */
/* flags.c - whatever a command line says, each word of it is a flag, a value or an
 * operand, or an error says what is wrong. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "flags.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct tt_flag flags[] = {
    {"output", 'o', 1, "FILE", NULL, "a value"},
    {"json", 'j', 2, NULL, NULL, "none"},
    {"color", 0, 3, "[WHEN]", NULL, "perhaps one"},
    {NULL, 'a', 4, NULL, NULL, "only a letter"},
    {"p", 'p', 5, "N", NULL, "a name as short as a letter"},
    {NULL, 0, 0, NULL, NULL, NULL},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *words = malloc(size + 1), *argv[64] = {(char[]){"command"}};
    struct tt_flags f;
    int argc = 1, id, read = 0;

    if (!words)
        return 0;
    memcpy(words, data, size);
    words[size] = '\0';
    for (char *w = words; w && argc < 63;) {
        argv[argc++] = w;
        w = strchr(w, '\n');
        if (w)
            *w++ = '\0';
    }
    tt_flags_init(&f, argc, argv, flags);
    while ((id = tt_flags_next(&f)) > 0) {
        if ((f.flag->value == NULL && f.value) ||
            (!tt_flag_may_lack_value(f.flag) && !f.value))
            abort();
        read++;
    }
    if ((id < 0) != (f.error[0] != '\0') || f.count >= argc || (size_t)read > size)
        abort();
    free(words);
    return 0;
}
