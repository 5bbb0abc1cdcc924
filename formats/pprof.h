/* SPDX-License-Identifier: MIT */
/* pprof.h - profile.proto: the numbers of its fields, and its units. */
#ifndef TT_PPROF_H
#define TT_PPROF_H

#include "formats.h"
#include "wire.h"

enum {
    TT_PROFILE_SAMPLE_TYPE = 1, /* type 1, unit 2: strings */
    TT_PROFILE_SAMPLE = 2,      /* locations 1, values 2 */
    TT_PROFILE_MAPPING = 3,  /* id 1, limit 3, file 5, build-id 6, has functions 7, ... */
    TT_PROFILE_LOCATION = 4, /* id 1, mapping 2, address 3, lines 4: function 1, line 2 */
    TT_PROFILE_FUNCTION = 5, /* id 1, name 2, system's name 3, file 4, line 5 */
    TT_PROFILE_STRING = 6,
    TT_PROFILE_DROP_FRAMES = 7, /* with the next: strings, regular expressions */
    TT_PROFILE_KEEP_FRAMES = 8,
    TT_PROFILE_TIME = 9,
    TT_PROFILE_DURATION = 10,
    TT_PROFILE_COMMENT = 13,
    TT_PROFILE_DEFAULT_TYPE = 14,
};

/* Replaces a unit of the format by that of Tallytree; returns the factor. */
uint64_t tt_pprof_read_unit(const char **unit);

#endif
