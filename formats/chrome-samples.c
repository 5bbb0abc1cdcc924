/* SPDX-License-Identifier: MIT */
/* chrome-samples.c - samples beside the events of a trace, as Hermes writes them.
 *
 *      "samples": [{"ts": "1155", "pid": 7, "tid": "1", "sf": 3}, …]
 *      "stackFrames": {"3": {"name": "f", "parent": 1}, …}
 *
 * All threads share the frames.  A sample lasts until the next one of its thread. */
#include "chrome.h"

#include <string.h>

static int read_sample(struct tt_v8 *v, struct tt_json *j)
{
    uint64_t pid = 0, thread = 0, frame = 0;
    int64_t us = 0;
    int result = tt_json_object(j), has_frame = 0;

    while (result > 0 && (result = tt_json_key(j)) > 0)
        if (tt_json_is(j, "pid")) {
            result = tt_chrome_read_id(j, &pid);
        } else if (tt_json_is(j, "tid")) {
            result = tt_chrome_read_id(j, &thread);
        } else if (tt_json_is(j, "sf")) {
            has_frame = 1;
            result = tt_chrome_read_id(j, &frame);
        } else if (tt_json_is(j, "ts")) {
            result = tt_json_value(j);
            if (result > 0 &&
                (!tt_decimal(j->text, 0, &us) || us > INT64_MAX / 4 || us < 0))
                return tt_json_wrong(j, "this is no time of a sample");
        } else {
            result = tt_json_skip(j);
        }
    if (result < 0 || !has_frame)
        return result < 0 ? result : 1;
    return tt_v8_sample(v, pid, thread, frame, us);
}

int tt_chrome_samples(struct tt_v8 *v, struct tt_json *j)
{
    int result = tt_json_array(j);

    while (result > 0 && (result = tt_json_item(j)) > 0)
        result = read_sample(v, j);
    return result < 0 ? result : 1;
}

static int read_frame(struct tt_v8 *v, struct tt_json *j, uint64_t id)
{
    uint32_t block = TT_NONE;
    uint64_t parent = 0;
    int result = tt_json_object(j), has_parent = 0;

    while (result > 0 && (result = tt_json_key(j)) > 0)
        if (tt_json_is(j, "parent")) {
            has_parent = 1;
            result = tt_chrome_read_id(j, &parent);
        } else if (!tt_json_is(j, "name")) {
            result = tt_json_skip(j);
        } else if ((result = tt_json_string(j)) > 0) {
            block = tt_v8_block(v, j->text, "", 0, 0);
            if (block == TT_NONE)
                return tt_source_no_memory(v->s);
        }
    if (result < 0)
        return result;
    if (block == TT_NONE)
        return tt_json_wrong(j, "the frame before this has no name");
    return tt_v8_shared(v, id, block, has_parent, parent);
}

int tt_chrome_frames(struct tt_v8 *v, struct tt_json *j)
{
    int result = tt_json_object(j);

    while (result > 0 && (result = tt_json_key(j)) > 0)
        result = read_frame(v, j, tt_chrome_id(j->text));
    return result < 0 ? result : 1;
}
