/* SPDX-License-Identifier: MIT */
/* perfdata-take.h - takes the records in the order of time. */
#ifndef TT_PERFDATA_TAKE_H
#define TT_PERFDATA_TAKE_H

#include "perfdata.h"

/* Takes a record; all records before it in time have been taken: 0 or an error. */
int tt_perfdata_take(struct tt_perfdata *, const struct tt_perfdata_record *);
int tt_perfdata_short(struct tt_perfdata *); /* "a record is not whole": the error */

#endif
