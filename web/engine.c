/* SPDX-License-Identifier: MIT */
/* engine.c - the engine inside a page: the same answers, compiled to WebAssembly.
 *
 * The page puts the packed profile into room() bytes and opens it; then it asks. */
#include <stdlib.h>

#include "answer.h"
#include "embedded-profile.h"

#define EXPORT(name) __attribute__((export_name(name)))

static struct tt_profile profile;
static struct tt_answers answers;
static struct tt_text text;

/* Aligned for any type; NULL: no memory. */
EXPORT("room") void *tt_engine_room(size_t size) { return malloc(size); }

EXPORT("free") void tt_engine_free(void *room) { free(room); }

/* Returns NULL if it is open now, or the error. */
EXPORT("open") const char *tt_engine_open(const void *embedded, size_t bytes)
{
    size_t size;
    void *image;
    int error = tt_embedded_unpack(embedded, bytes, NULL, &image, &size);

    if (error)
        return error == -TT_ERR_FORMAT ? "the page's profile is damaged" : "no memory";
    error = tt_profile_open(&profile, image, size, NULL);
    if (error)
        return error == -TT_ERR_FORMAT ? profile.error : "no memory";
    tt_answers_init(&answers, &profile, NULL, NULL);
    tt_text_init(&text, NULL);
    return NULL;
}

/* Returns the answer, valid until the next one. */
EXPORT("ask") const char *tt_engine_ask(const char *query)
{
    text.bytes.count = 0;
    text.failed = 0;
    (void)tt_answer(&answers, &(struct tt_asked){.query = query}, &text);
    return tt_text_string(&text);
}
