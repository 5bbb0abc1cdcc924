/* SPDX-License-Identifier: MIT */
/* chrome-samples.h - the lists of samples and of frames, which are beside the events. */
#ifndef TT_CHROME_SAMPLES_H
#define TT_CHROME_SAMPLES_H

#include "v8.h"

/* They read such a list. */
void tt_chrome_samples(struct tt_v8 *, struct tt_json *);
void tt_chrome_frames(struct tt_v8 *, struct tt_json *);

#endif
