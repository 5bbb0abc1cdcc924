/* SPDX-License-Identifier: MIT */
/* otlp-read.h - OpenTelemetry's profiles: the reader, and the numbers of fields. */
#ifndef TT_OTLP_READ_H
#define TT_OTLP_READ_H

#include "formats.h"

enum { TT_DATA_RESOURCE = 1, TT_DATA_DICTIONARY = 2 };
enum { TT_RESOURCE_RESOURCE = 1, TT_RESOURCE_SCOPES = 2, TT_SCOPE_PROFILES = 2 };
enum {
    TT_DICTIONARY_MAPPINGS = 1, /* start 1, end 2, offset 3, file 4 */
    TT_DICTIONARY_LOCATIONS, /* mapping 1, address 2, lines 3: function, line, column */
    TT_DICTIONARY_FUNCTIONS, /* name 1, system's name 2, file 3, line 4 */
    TT_DICTIONARY_LINKS,
    TT_DICTIONARY_STRINGS,
    TT_DICTIONARY_ATTRIBUTES,
    TT_DICTIONARY_STACKS, /* locations 1, leaf first */
};
enum { TT_OTLP_TYPE = 1, TT_OTLP_SAMPLES = 2 }; /* type: name 1, unit 2 */
enum { TT_OTLP_STACK = 1, TT_OTLP_VALUES = 4, TT_OTLP_TIMES = 5 };

enum tt_match tt_otlp_detect(const char *head, size_t size);
int tt_otlp_read(struct tt_source *, struct tt_builder *);

#endif
