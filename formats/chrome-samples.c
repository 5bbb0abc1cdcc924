/* SPDX-License-Identifier: MIT */
/* chrome-samples.c - samples beside the events of a trace, as Hermes writes them.
 *
 *      "samples": [{"ts": "1155", "pid": 7, "tid": "1", "sf": 3}, …]
 *      "stackFrames": {"3": {"name": "f", "parent": 1}, …}
 *
 * All threads share the frames.  A sample lasts until the next one of its thread. */
#include "chrome-samples.h"
#include "chrome.h"

#include <string.h>

static void read_sample(struct tt_v8 *v, struct tt_json *j)
{
    uint64_t pid = 0, thread = 0, frame = 0;
    int64_t us = 0;
    int has_frame = 0;

    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "pid")) {
            pid = tt_chrome_read_id(j);
        } else if (tt_json_is(j, "tid")) {
            thread = tt_chrome_read_id(j);
        } else if (tt_json_is(j, "sf")) {
            has_frame = 1;
            frame = tt_chrome_read_id(j);
        } else if (tt_json_is(j, "ts")) {
            tt_json_value(j);
            if (!tt_decimal(j->text, 0, &us) || us > INT64_MAX / 4 || us < 0)
                tt_json_wrong(j, "this is no time of a sample");
        } else {
            tt_json_skip(j);
        }
    if (has_frame && !tt_json_failed(j))
        tt_v8_sample(v, pid, thread, frame, us);
}

void tt_chrome_samples(struct tt_v8 *v, struct tt_json *j)
{
    for (tt_json_array(j); tt_json_item(j);)
        read_sample(v, j);
}

static void read_frame(struct tt_v8 *v, struct tt_json *j, uint64_t id)
{
    uint32_t block = TT_NONE;
    uint64_t parent = 0;
    int has_parent = 0;

    for (tt_json_object(j); tt_json_key(j);)
        if (tt_json_is(j, "parent")) {
            has_parent = 1;
            parent = tt_chrome_read_id(j);
        } else if (!tt_json_is(j, "name")) {
            tt_json_skip(j);
        } else if (tt_json_string(j)) {
            block = tt_v8_block(v, j->text, "", 0, 0);
        }
    if (block == TT_NONE)
        tt_json_wrong(j, "the frame before this has no name");
    if (!tt_json_failed(j))
        tt_v8_shared(v, id, block, has_parent ? &parent : NULL);
}

void tt_chrome_frames(struct tt_v8 *v, struct tt_json *j)
{
    for (tt_json_object(j); tt_json_key(j);)
        read_frame(v, j, tt_chrome_id(j->text));
}
