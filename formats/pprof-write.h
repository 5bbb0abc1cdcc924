/* SPDX-License-Identifier: MIT */
/* pprof-write.h - the writer of profile.proto. */
#ifndef TT_PPROF_WRITE_H
#define TT_PPROF_WRITE_H

#include "formats.h"

/* Returns the format's name of a Tallytree unit. */
const char *tt_pprof_unit(const char *unit);
int tt_pprof_write(struct tt_export *, struct tt_writer *);

#endif
