/* SPDX-License-Identifier: MIT */
/* layouts.c - the layouts of `tallytree report` besides its views; a line each. */
#include "layouts.h"

#include <string.h>

#include "text.h"

const struct tt_layout tt_layouts[] = {
    {"fble", "Fble's: overall and self times, call graph, sequences", tt_fble_flags,
     tt_report_fble, NULL},
    {"ghc", "GHC's: cost centres and their stacks, -p -P -pa -pj", tt_ghc_flags,
     tt_report_ghc, NULL},
    {"mlworks", "MLWorks': time by functions and callers, space by generations",
     tt_mlworks_flags, tt_report_mlworks, "profile"},
    {"ocr", "OCR's: flat profiles and call graphs of threads, nodes, all", tt_ocr_flags,
     tt_report_ocr, NULL},
    {"tdk", "TDK's: a line for each statement, covered or not", tt_tdk_flags,
     tt_report_tdk, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* Each string keeps its place and its length. */
static void make_plain(char *strings, size_t size)
{
    char plain[TT_TEXT_PLAIN + 1];

    for (size_t at = 0; at < size;) {
        size_t length = strings[at] ? tt_text_plain(strings + at, plain) : 1;
        if (strings[at] && memcmp(plain, strings + at, length) != 0)
            memset(strings + at, '?', length);
        at += length;
    }
}

int tt_layout_run(const struct tt_layout *l, const struct tt_profile *p, int argc,
                  char **argv, struct tt_text *out, char *error, size_t size)
{
    const struct tt_memory *memory = out->bytes.memory;
    char *strings = tt_memory_get(memory, p->strings_size + 1);
    struct tt_profile plain = *p;
    int result;

    if (!strings)
        return -TT_ERR_MEMORY;
    memcpy(strings, p->strings, p->strings_size);
    strings[p->strings_size] = '\0';
    make_plain(strings, p->strings_size);
    plain.strings = strings;
    result = l->run(&plain, argc, argv, out, error, size);
    tt_memory_put(memory, strings);
    return result;
}
