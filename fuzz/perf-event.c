/* SPDX-License-Identifier: MIT */
/* perf-event.c - whatever bytes a record of perf events consists of, only those are read; and
 * of a tracepoint's format only the text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "perf-events.h"
#include "perf-record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t sum_of(const struct tt_perf_event *e)
{
    uint64_t sum = e->pid + e->tid + e->time, address;

    switch (e->kind) {
    case TT_PERF_SAMPLE:
        for (uint32_t i = 0; i < e->of.sample.kernels; i++) {
            memcpy(&address, (const char *)e->of.sample.kernel + i * sizeof address,
                   sizeof address);
            sum += address;
        }
        for (size_t i = 0; i < e->of.sample.stack_size; i++)
            sum += (unsigned char)e->of.sample.stack[i];
        for (size_t i = 0; e->of.sample.raw && i < e->of.sample.raw_size; i++)
            sum += (unsigned char)e->of.sample.raw[i];
        break;
    case TT_PERF_NAMED:
        sum += strlen(e->of.named.name);
        break;
    case TT_PERF_MAPPED:
        sum += strlen(e->of.mapped.path);
        if (e->of.mapped.end < e->of.mapped.start)
            abort();
        break;
    default:
        break;
    }
    return sum;
}

/* Copies of frames: reads at the addresses that they name. */
static void read_copies(const char *bytes, size_t size)
{
    struct tt_frame_copies c = {bytes, size, NULL};
    struct tt_frame_copy first;
    char to[TT_CHAIN_HEAD];

    if (size < sizeof first)
        return;
    memcpy(&first, bytes, sizeof first);
    if (!tt_frame_copies_check(&c, first.place, first.time, 0))
        return;
    for (size_t i = 0; i + 8 <= size; i += 8) {
        uint64_t address;
        memcpy(&address, bytes + i, sizeof address);
        (void)tt_frame_copies_read(&c, address, to, sizeof to);
        (void)tt_frame_copies_read(&c, address, to, 8);
    }
}

static void decode_copy(const void *record, size_t size)
{
    static struct tt_perf_event e;
    char *aligned;

    tt_perf_decode_copy(&e, record, size);
    if (e.kind != TT_PERF_COPIED || !(aligned = malloc(e.of.copied.size + 1)))
        return;
    memcpy(aligned, e.of.copied.bytes, e.of.copied.size);
    read_copies(aligned, e.of.copied.size);
    free(aligned);
}

/* The data as the format, and as the record that it describes. */
static void find_field(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    struct tt_trace_field f;
    uint64_t value;

    if (!text)
        return;
    memcpy(text, data, size);
    text[size] = '\0';
    if (tt_trace_field_find(text, "pid", &f))
        (void)tt_trace_field_read(f, text, size, &value);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct tt_perf_event e;
    void *record = malloc(size + !size); /* its end is that of the memory */

    if (!record)
        return 0;
    memcpy(record, data, size);
    for (unsigned fields = 0; fields <= (TT_PERF_HAS_PERIOD | TT_PERF_HAS_RAW);
         fields++) {
        tt_perf_decode(&e, record, size, fields);
        __asm__ volatile("" ::"r"(sum_of(&e)));
    }
    decode_copy(record, size);
    find_field(data, size);
    free(record);
    return 0;
}
