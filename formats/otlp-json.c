/* SPDX-License-Identifier: MIT */
/* otlp-json.c - translates OpenTelemetry's profiles from JSON to protocol buffers.
 *
 * Fields have the names of the protocol in lowerCamelCase, and numbers of 64 bits are
 * texts.  Fields that the reader does not use are dropped. */
#include "otlp-json.h"

enum kind {
    DATA,
    RESOURCE,
    OWNER,
    ATTRIBUTE,
    VALUE,
    SCOPE,
    PROFILE,
    TYPE,
    SAMPLE,
    DICTIONARY,
    MAPPING,
    LOCATION,
    LINE,
    FUNCTION,
    STACK,
    NUMBER,
    NUMBERS,
    TIMES,
    TEXT
};

static const struct rule {
    enum kind of;
    const char *key;
    uint32_t field;
    enum kind kind;
} rules[] = {
    {DATA, "resourceProfiles", 1, RESOURCE},
    {DATA, "dictionary", 2, DICTIONARY},
    {RESOURCE, "resource", 1, OWNER},
    {RESOURCE, "scopeProfiles", 2, SCOPE},
    {OWNER, "attributes", 1, ATTRIBUTE},
    {ATTRIBUTE, "key", 1, TEXT},
    {ATTRIBUTE, "value", 2, VALUE},
    {VALUE, "stringValue", 1, TEXT},
    {SCOPE, "profiles", 2, PROFILE},
    {PROFILE, "sampleType", 1, TYPE},
    {PROFILE, "samples", 2, SAMPLE},
    {TYPE, "typeStrindex", 1, NUMBER},
    {TYPE, "unitStrindex", 2, NUMBER},
    {SAMPLE, "stackIndex", 1, NUMBER},
    {SAMPLE, "values", 4, NUMBERS},
    {SAMPLE, "timestampsUnixNano", 5, TIMES},
    {DICTIONARY, "mappingTable", 1, MAPPING},
    {DICTIONARY, "locationTable", 2, LOCATION},
    {DICTIONARY, "functionTable", 3, FUNCTION},
    {DICTIONARY, "stringTable", 5, TEXT},
    {DICTIONARY, "stackTable", 7, STACK},
    {MAPPING, "memoryStart", 1, NUMBER},
    {MAPPING, "fileOffset", 3, NUMBER},
    {MAPPING, "filenameStrindex", 4, NUMBER},
    {LOCATION, "mappingIndex", 1, NUMBER},
    {LOCATION, "address", 2, NUMBER},
    {LOCATION, "lines", 3, LINE},
    {LINE, "functionIndex", 1, NUMBER},
    {LINE, "line", 2, NUMBER},
    {LINE, "column", 3, NUMBER},
    {FUNCTION, "nameStrindex", 1, NUMBER},
    {FUNCTION, "systemNameStrindex", 2, NUMBER},
    {FUNCTION, "filenameStrindex", 3, NUMBER},
    {FUNCTION, "startLine", 4, NUMBER},
    {STACK, "locationIndices", 1, NUMBERS},
};

static void put_object(struct tt_json *j, enum kind of, struct tt_message *to);

/* Reads a number, which may be in quotes. */
static uint64_t read_number(struct tt_json *j)
{
    const enum tt_json_kind kind = tt_json_value(j);
    const char *at = j->text;
    uint64_t number = 0;

    if (kind == TT_JSON_NULL)
        return 0;
    if ((kind != TT_JSON_NUMBER && kind != TT_JSON_STRING) ||
        !tt_take_digits(&at, &number) || *at)
        tt_json_wrong(j, "a whole number from 0 on is due before this");
    return number;
}

/* Writes repeated numbers as one field: times of 8 bytes each, others as varints. */
static void put_numbers(struct tt_json *j, const struct rule *r, struct tt_message *to)
{
    struct tt_message inner;

    tt_message_init(&inner, to->bytes.memory, to->failed);
    for (tt_json_array(j); tt_json_item(j);) {
        const uint64_t number = read_number(j);
        if (r->kind == NUMBERS)
            tt_message_varint(&inner, number);
        else
            tt_message_bytes(&inner, &number, sizeof number);
    }
    if (inner.bytes.count)
        tt_message_within(to, r->field, &inner);
    tt_message_fini(&inner);
}

static void put_one(struct tt_json *j, const struct rule *r, struct tt_message *to)
{
    struct tt_message inner;

    if (r->kind == NUMBER) {
        tt_message_number(to, r->field, read_number(j));
    } else if (r->kind == TEXT) {
        if (tt_json_string(j))
            tt_message_text(to, r->field, j->text);
    } else {
        tt_message_init(&inner, to->bytes.memory, to->failed);
        put_object(j, r->kind, &inner);
        tt_message_within(to, r->field, &inner);
        tt_message_fini(&inner);
    }
}

/* Is the field repeated? */
static int is_list(const struct rule *r)
{
    return r->of == DICTIONARY || r->kind == RESOURCE || r->kind == SCOPE ||
           r->kind == PROFILE || r->kind == SAMPLE || r->kind == LINE ||
           r->kind == ATTRIBUTE;
}

static void put_value(struct tt_json *j, const struct rule *r, struct tt_message *to)
{
    if (r->kind == NUMBERS || r->kind == TIMES)
        put_numbers(j, r, to);
    else if (!is_list(r))
        put_one(j, r, to);
    else
        for (tt_json_array(j); tt_json_item(j);)
            put_one(j, r, to);
    if (*to->failed)
        tt_source_no_memory(j->s);
}

/* Messages are nested as deep as the rules say. */
static void put_object(struct tt_json *j, enum kind of, struct tt_message *to)
{
    for (tt_json_object(j); tt_json_key(j);) {
        const struct rule *r = rules, *end = rules + sizeof rules / sizeof *rules;
        while (r < end && (r->of != of || !tt_json_is(j, r->key)))
            r++;
        if (r < end)
            put_value(j, r, to);
        else
            tt_json_skip(j);
    }
}

void tt_otlp_json(struct tt_json *j, struct tt_message *to) { put_object(j, DATA, to); }
