/* SPDX-License-Identifier: MIT */
/* formats-memory-test.c - readers when memory ends: after each number of allocations they end
 * in an error, and give back all they have got; and with enough, in a profile. */
#include <stdio.h>
#include <string.h>

#include "failing.h"
#include "finish.h"
#include "formats.h"
#include "json-reader.h"
#include "tap.h"

enum { MOST = 3000, ROOM = 1 << 16 };

/* 0, or the error. */
static int read_with(long pieces, const char *bytes, size_t size)
{
    struct tt_builder *b;
    const struct tt_format *format;
    struct tt_bytes stream;
    struct tt_source s;
    void *image = NULL;
    size_t image_size = 0;
    int error = -TT_ERR_MEMORY;

    failing_after = pieces;
    b = tt_builder_new(&failing);
    if (!b)
        return error;
    tt_bytes_init(&stream, bytes, size);
    tt_source_init(&s, "input", &stream.stream, &failing);
    format = tt_format_detect(&s);
    if (format)
        error = format->read(&s, b);
    if (!error)
        error = tt_builder_finish(b, &image, &image_size);
    tt_memory_put(&failing, image);
    tt_source_fini(&s);
    tt_builder_free(b);
    return error;
}

static int survives(const char *path)
{
    static char bytes[ROOM];
    FILE *f = fopen(path, "rb");
    size_t size = f ? fread(bytes, 1, sizeof bytes, f) : 0;

    if (f)
        (void)fclose(f);
    for (long pieces = 0; size && pieces < MOST; pieces++) {
        int error = read_with(pieces, bytes, size);
        if (failing_pieces || (error && error != -TT_ERR_MEMORY))
            return 0;
        if (!error)
            return pieces > 10;
    }
    return 0;
}

TEST(a_source_frees_what_was_taken_from_its_memory_and_not_given_back)
{
    struct tt_bytes stream;
    struct tt_source s;
    char *piece[4];

    failing_after = MOST;
    tt_bytes_init(&stream, "", 0);
    tt_source_init(&s, "input", &stream.stream, &failing);
    for (int i = 0; i < 4; i++)
        piece[i] = tt_memory_text(s.memory, "some text", 4);
    CHECK(strcmp(piece[3], "some") == 0 && failing_pieces == 4);
    tt_memory_put(s.memory, piece[1]);
    piece[2] = tt_memory_grow(s.memory, piece[2], 1 << 20);
    piece[0] = tt_memory_grow(s.memory, piece[0], 1 << 20);
    CHECK(strcmp(piece[2], "some") == 0 && !piece[2][(1 << 20) - 1]);
    CHECK(failing_pieces == 3);
    tt_source_fini(&s);
    CHECK(failing_pieces == 0);
}

TEST(perf_data_is_read_whole_or_not_at_all_when_memory_ends)
{
    CHECK(survives("fuzz/formats/perfdata/little"));
    CHECK(survives("fuzz/formats/perfdata/pipe"));
    CHECK(survives("fuzz/formats/perfdata/packed"));
}

TEST(so_is_what_austin_and_sample_print)
{
    CHECK(survives("fuzz/formats/austin/wall"));
    CHECK(survives("fuzz/formats/austin/full"));
    CHECK(survives("fuzz/formats/sample/graph"));
}

TEST(so_is_what_bpftrace_and_dtrace_print)
{
    CHECK(survives("fuzz/formats/bpftrace/stacks"));
    CHECK(survives("fuzz/formats/bpftrace/perf"));
    CHECK(survives("fuzz/formats/dtrace/stacks"));
}

TEST(so_is_json)
{
    static const char *const names[] = {"caliper/columns",
                                        "dhat/small",
                                        "firefox/shared",
                                        "firefox/threads",
                                        "gecko/small",
                                        "ghc/json",
                                        "heapsnapshot/small",
                                        "otlp/json",
                                        "speedscope/evented",
                                        "speedscope/sampled",
                                        "stackprof/graph",
                                        "stackprof/json",
                                        "v8/cpu",
                                        "v8/heap"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[100];
        (void)snprintf(path, sizeof path, "fuzz/formats/%s", names[i]);
        CHECK(survives(path));
    }
}

TEST(after_the_first_error_of_json_nothing_is_read_and_its_message_stays)
{
    static const char text[] = "{\"a\": [1, {\"b\": 2}, x], \"c\": \"d\"}";
    struct tt_json_part part;
    struct tt_bytes stream;
    struct tt_source s;
    struct tt_json j;
    char *copy = NULL;

    failing_after = MOST;
    tt_bytes_init(&stream, text, strlen(text));
    tt_source_init(&s, "input", &stream.stream, &failing);
    tt_json_init(&j, &s);
    CHECK(tt_json_object(&j) && tt_json_key(&j) && tt_json_array(&j));
    CHECK(tt_json_item(&j) && tt_json_whole(&j) == 1 && tt_json_item(&j));
    tt_json_part_open(&part, &s, text, strlen(text), 10);
    CHECK(!tt_json_array(&part.json) && tt_json_failed(&j));
    CHECK(strcmp(s.error, "input: byte 11: an array was wanted before this") == 0);
    tt_json_part_close(&part);
    CHECK(!tt_json_key(&j) && !tt_json_item(&j) && !tt_json_object(&j));
    CHECK(!tt_json_value(&j) && !tt_json_string(&j) && !tt_json_whole(&j));
    tt_json_copy(&j, &copy);
    tt_json_close(&j);
    tt_json_end(&j);
    CHECK(!copy && tt_source_no_memory(&s) == -TT_ERR_FORMAT);
    CHECK(strcmp(s.error, "input: byte 11: an array was wanted before this") == 0);
    tt_source_fini(&s);
    CHECK(failing_pieces == 0);
}
