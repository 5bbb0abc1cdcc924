/* SPDX-License-Identifier: MIT */
/* formats.c - whatever bytes a foreign file consists of, reading them ends in a profile or
 * in an error that says where; and what was read can be written in every format.
 *
 * TT_FORMAT in the environment is the format; "any": whichever it looks like, packed or
 * not. */
#include <stdlib.h>
#include <string.h>

#include "finish.h"
#include "formats.h"
#include "swallow.h"
#include "unpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_CONTEXTS = 2000 }; /* larger ones only take longer */

static void write_all(const struct tt_profile *p)
{
    static struct tt_writer w;

    for (size_t i = 0; tt_formats[i]; i++) {
        struct tt_export e = {.profile = p, .metric = TT_NONE};
        if (!tt_formats[i]->write)
            continue;
        tt_writer_init(&w, swallow, NULL);
        if (tt_formats[i]->write(&e, &w) == 0)
            (void)tt_writer_flush(&w);
        e.before = p;
        if (tt_formats[i]->flags & TT_FORMAT_DIFFERS)
            (void)tt_formats[i]->write(&e, &w);
        e.by_time = 1;
        if (tt_formats[i]->flags & TT_FORMAT_BY_TIME)
            (void)tt_formats[i]->write(&e, &w);
    }
}

static void finish(struct tt_builder *b)
{
    struct tt_profile p;
    void *image = NULL;
    size_t size = 0;

    if (tt_builder_finish(b, &image, &size) != 0)
        abort();
    if (tt_profile_open(&p, image, size, NULL) != 0 || tt_profile_check(&p) != 0)
        abort();
    if (p.contexts <= MOST_CONTEXTS)
        write_all(&p);
    tt_profile_close(&p);
    tt_memory_put(NULL, image);
}

/* What lies beside a file follows it in the input: each of these parts begins with its
 * mark, and is the file whose name ends so; a program begins as ELF does, or follows its
 * mark. */
static const struct {
    const char *mark, *name;
} parts[] = {
    {"\177ELF", ""},           {"\377\376txt\n", ".txt"}, {"\377\376map\n", ".map"},
    {"\377\376sym\n", ".sym"}, {"\377\376dat\n", ".dat"},
};
enum { PARTS = sizeof parts / sizeof *parts };
static const char windows[] = "\377\376exe\n"; /* the mark of a program of Windows */
static const uint8_t *part_at[PARTS];
static size_t part_size[PARTS];

/* How much of the input is the file itself. */
static size_t find_parts(const uint8_t *data, size_t size)
{
    const uint8_t *program = memmem(data, size, windows, strlen(windows));
    size_t first = size;

    for (int i = 0; i < PARTS; i++) {
        part_at[i] = memmem(data, size, parts[i].mark, strlen(parts[i].mark));
        if (part_at[i] && (size_t)(part_at[i] - data) < first)
            first = (size_t)(part_at[i] - data);
    }
    if (!part_at[0] && program) {
        first = (size_t)(program - data) < first ? (size_t)(program - data) : first;
        part_at[0] = program + strlen(windows);
    }
    for (int i = 0; i < PARTS; i++) {
        const uint8_t *end = data + size;
        for (int k = 0; part_at[i] && k < PARTS; k++)
            if (part_at[k] > part_at[i] && part_at[k] < end)
                end = part_at[k];
        part_size[i] = part_at[i] ? (size_t)(end - part_at[i]) : 0;
        if (i && part_at[i]) { /* only ELF needs its mark */
            part_size[i] -= strlen(parts[i].mark);
            part_at[i] += strlen(parts[i].mark);
        }
    }
    return first;
}

static void close_beside(struct tt_source *s)
{
    tt_source_fini(s);
    free(s->stream);
    free(s);
}

static struct tt_source *open_beside(const struct tt_source *from, const char *name)
{
    const char *dot = strrchr(name, '.');
    struct tt_bytes *bytes;
    struct tt_source *s;
    int i = PARTS;

    (void)from;
    while (--i && (!dot || strcmp(dot, parts[i].name) != 0))
        ;
    bytes = part_at[i] ? malloc(sizeof *bytes) : NULL;
    s = bytes ? malloc(sizeof *s) : NULL;
    if (!s) {
        free(bytes);
        return NULL;
    }
    tt_bytes_init(bytes, part_at[i], part_size[i]);
    tt_source_init(s, name, &bytes->stream, NULL);
    s->close = close_beside;
    return s;
}

/* In one format, or in the one that it looks like. */
static void read_as(const struct tt_format *format, struct tt_stream *stream)
{
    struct tt_builder *b = tt_builder_new(NULL);
    struct tt_source s;
    int error;

    tt_source_init(&s, "input", stream, NULL);
    s.beside = open_beside;
    if (!format)
        format = tt_format_detect(&s);
    if (b && format && format->read) {
        error = format->read(&s, b);
        if (error == 0)
            finish(b);
        else if (error != -TT_ERR_MEMORY && !s.error[0])
            abort();
    }
    tt_source_fini(&s);
    tt_builder_free(b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *name = getenv("TT_FORMAT");
    const struct tt_format *format = tt_format_find(name ? name : "any");
    struct tt_stream *packed, *text;
    struct tt_bytes bytes;

    tt_bytes_init(&bytes, data, find_parts(data, size));
    if (format) {
        read_as(format, &bytes.stream);
        return 0;
    }
    if (name && strcmp(name, "any") != 0)
        abort();
    packed = tt_unpack_new(&bytes.stream);
    text = packed ? tt_unpack_new(packed) : NULL;
    if (text)
        read_as(NULL, text);
    tt_unpack_free(text);
    tt_unpack_free(packed);
    return 0;
}
