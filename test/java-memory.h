/* SPDX-License-Identifier: MIT */
/* java-memory.h - a memory with what HotSpot has in its own, made by hand: tables, a compiled
 * method with another one inlined, and their class; of version 17 or 25. */
#ifndef TT_JAVA_MEMORY_H
#define TT_JAVA_MEMORY_H

#include <string.h>

#include "java-code.h"
#include "java-method.h"
#include "java-scopes.h"

enum {
    BASE = 0x10000,
    SIZE = 0x10000,
    TABLE = BASE + 0x200,
    TYPES = BASE + 0x1000,
    TEXTS = BASE + 0x1400,
    HEAPS = BASE + 0x2000, /* a variable, an array, an item, a heap */
    MAP = BASE + 0x2800,
    NAMES = BASE + 0x2a00, /* of kinds of code */
    METHOD = BASE + 0x3000,
    CONSTANT = BASE + 0x3100,
    POOL = BASE + 0x3200,
    TYPE = BASE + 0x3300,
    SYMBOLS = BASE + 0x3400,
    INNER = BASE + 0x3600, /* another method, of the same class */
    CODE = BASE + 0x8000,
    FIXED = BASE + 0x2c00, /* from 25 on: tables of the compiled method */
    VARIABLE = BASE + 0x2d00,
    STACK = BASE + 0xf000,
    SEGMENT = 7,
};

static uint64_t memory[SIZE / 8];
static struct tt_peek peek;
static struct tt_java java;

static int read_memory(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    if (address < BASE || address > BASE + SIZE || BASE + SIZE - address < size)
        return 0;
    memcpy(to, (const char *)memory + (address - BASE), size);
    return 1;
}

static int fetch(void *arg, uint64_t address, void *block)
{
    return read_memory(arg, address, block, TT_PEEK_BLOCK) ? 0 : -1;
}

static void *at(uint64_t address) { return (char *)memory + (address - BASE); }
static void store(uint64_t address, uint64_t word) { memcpy(at(address), &word, 8); }
static void store_half(uint64_t address, uint32_t half) { memcpy(at(address), &half, 4); }
static void store_short(uint64_t address, uint16_t word)
{
    memcpy(at(address), &word, 2);
}

/* ── The tables ───────────────────────────────────────────────────────────────────── */

static uint64_t texts, fields, types;
static int is_25;

static uint64_t put_text(const char *text)
{
    const uint64_t where = texts;

    memcpy(at(texts), text, strlen(text) + 1);
    texts += strlen(text) + 1;
    return where;
}

static void put_field(const char *type, const char *name, uint64_t offset)
{
    store(fields, put_text(type));
    store(fields + 8, put_text(name));
    store(fields + 32, offset);
    fields += 48;
}

static void put_variable(const char *type, const char *name, uint64_t address)
{
    put_field(type, name, 0);
    store(fields - 24, 1);
    store(fields - 8, address);
}

static void put_type(const char *name, uint64_t size)
{
    store(types, put_text(name));
    store(types + 32, size);
    types += 40;
}

static void put_fields_of_17(void)
{
    put_field("CodeBlob", "_code_begin", 16);
    put_field("CodeBlob", "_code_end", 24);
    put_field("CompiledMethod", "_method", 40);
    put_field("CompiledMethod", "_scopes_data_begin", 48);
    put_field("CompiledMethod", "_deopt_handler_begin", 56);
    put_field("nmethod", "_metadata_offset", 68);
    put_field("nmethod", "_dependencies_offset", 76);
}

static void put_fields_of_25(void)
{
    put_field("CodeBlob", "_code_offset", 16);
    put_field("CodeBlob", "_data_offset", 20);
    put_field("CodeBlob", "_mutable_data", 24);
    put_field("CodeBlob", "_relocation_size", 60);
    put_field("nmethod", "_method", 40);
    put_field("nmethod", "_scopes_data_offset", 48);
    put_field("nmethod", "_deopt_handler_offset", 56);
    put_field("nmethod", "_immutable_data", 80);
}

static void put_tables(void)
{
    fields = TABLE;
    types = TYPES;
    texts = TEXTS;
    put_variable("CodeCache", "_heaps", HEAPS);
    put_variable("StubRoutines", "_call_stub_return_address", HEAPS + 8);
    put_variable("Abstract_VM_Version", "_vm_major_version", HEAPS + 16);
    put_field("GrowableArrayBase", "_len", 0);
    put_field("GrowableArray<int>", "_data", 8);
    put_field("VirtualSpace", "_low_boundary", 0);
    put_field("VirtualSpace", "_high_boundary", 8);
    put_field("VirtualSpace", "_low", 16);
    put_field("CodeHeap", "_memory", 8);
    put_field("CodeHeap", "_segmap", 64);
    put_field("CodeHeap", "_log2_segment_size", 128);
    put_field("HeapBlock::Header", "_used", 8);
    put_field("CodeBlob", "_frame_complete_offset", 8);
    if (is_25)
        store(fields - 48 + 16, put_text("int16_t"));
    put_field("CodeBlob", "_frame_size", 12);
    put_field("CodeBlob", "_name", 32);
    put_field("nmethod", "_orig_pc_offset", 64);
    put_field("nmethod", "_scopes_pcs_offset", 72);
    if (is_25)
        put_fields_of_25();
    else
        put_fields_of_17();
    put_field("Method", "_constMethod", 8);
    put_field("ConstMethod", "_constants", 8);
    put_field("ConstMethod", is_25 ? "_flags._flags" : "_flags", 28);
    put_field("ConstMethod", "_code_size", 32);
    put_field("ConstMethod", "_name_index", 34);
    put_field("ConstantPool", "_pool_holder", 24);
    put_field("ConstantPool", "_source_file_name_index", 54);
    put_field("Klass", "_name", 24);
    put_field("InstanceKlass", "_constants", 64);
    put_field("Symbol", "_hash_and_refcount", 0);
    put_field("Symbol", "_length", 4);
    put_field("Symbol", "_body[0]", 6);
    put_type("HeapBlock", 16);
    put_type("CodeBlob", 40);
    put_type("ConstMethod", 48);
    put_type("ConstantPool", 72);
    store(BASE + 8, TABLE);
    store(BASE + 16, TYPES);
}

/* ── Code and methods ─────────────────────────────────────────────────────────────── */

static void put_symbol(uint64_t address, const char *text)
{
    store_half(address, 0x12340001);
    store_short(address + 4, (uint16_t)strlen(text));
    memcpy(at(address + 6), text, strlen(text));
}

/* Lines 10 from index 0 on, 11 from 3, 500 from 8; one escaped. */
static void put_method(uint64_t method, uint64_t constant, uint16_t name)
{
    static const uint8_t lines[2][9] = {
        {255, 0, 20, 3 << 3 | 1, 255, 10, 192 + 18, 12, 0},
        {255, 1, 21, 3 << 3 | 1, 255, 11, 192 + 19, 13, 0}};

    store(method + 8, constant);
    store(constant + 8, POOL);
    store_short(constant + 28, 1);
    store_short(constant + 32, 12);
    store_short(constant + 34, name);
    memcpy(at(constant + 48 + 12), lines[is_25], sizeof lines[is_25]);
}

static void put_methods(void)
{
    put_method(METHOD, CONSTANT, 2);
    put_method(INNER, INNER + 0x20, 3);
    store(POOL + 24, TYPE);
    store_short(POOL + 54, 4);
    for (uint64_t i = 1; i <= 4; i++)
        store(POOL + 72 + 8 * i, SYMBOLS + 64 * i);
    store(TYPE + 24, SYMBOLS + 64);
    store(TYPE + 64, POOL);
    put_symbol(SYMBOLS + 64, "java/util/List$$Lambda$7+0x80");
    put_symbol(SYMBOLS + 128, "add");
    put_symbol(SYMBOLS + 192, "grow");
    put_symbol(SYMBOLS + 256, "List.java");
}

/* Each: its outer scope, its method, its place.  The inner one is at 8, the outer one at 4. */
static void put_scopes(uint64_t scopes, uint64_t places, uint64_t methods)
{
    static const uint8_t numbers[] = {7, 7, 7, 7, 0, 1, 1, 7, 4, 2, 9};

    for (size_t i = 0; i < sizeof numbers; i++)
        *(uint8_t *)at(scopes + i) = (uint8_t)(numbers[i] + is_25);
    store(methods, METHOD);
    store(methods + 8, INNER);
    store(places, UINT32_MAX);
    store(places + 0x10, 0x20 | (uint64_t)8 << 32);
    store(places + 0x20, INT32_MAX);
}

static void put_blob_of_17(uint64_t blob)
{
    store(blob + 16, CODE + 0x100);
    store(blob + 24, CODE + 0x300);
    store(blob + 48, CODE + 0x80);
    store(blob + 56, CODE + 0x2f0);
    store_half(blob + 68, 0xa0);
    store_half(blob + 72, 0xb0);
    store_half(blob + 76, 0xe0);
    put_scopes(CODE + 0x80, blob + 0xb0, blob + 0xa0);
}

/* The places are between the beginning of the fixed tables and the scopes. */
static void put_blob_of_25(uint64_t blob)
{
    store_short(blob + 10, 0x7777);
    store_half(blob + 16, 0xf0);
    store_half(blob + 20, 0x2f0);
    store(blob + 24, VARIABLE);
    store_half(blob + 48, 0x40);
    store_half(blob + 56, 0x2e0);
    store_half(blob + 60, 0x18);
    store_half(blob + 72, 0x10);
    store(blob + 80, FIXED);
    put_scopes(FIXED + 0x40, FIXED + 0x10, VARIABLE + 0x18);
}

static void put_heap(void)
{
    store(HEAPS, HEAPS + 0x40);
    store_half(HEAPS + 16, is_25 ? 25 : 17);
    store_half(HEAPS + 0x40, 1);
    store(HEAPS + 0x48, HEAPS + 0x60);
    store(HEAPS + 0x60, HEAPS + 0x80);
    for (int i = 0; i < 3; i++)
        store(HEAPS + 0x88 + 8 * (uint64_t)i, i == 1 ? CODE + 0x2000 : CODE);
    store(HEAPS + 0x80 + 64 + 16, MAP);
    store_half(HEAPS + 0x80 + 128, SEGMENT);
    memset(at(MAP), 255, 64);
    memcpy(at(MAP), "\0\1\2\3\1\2", 6);
}

/* One compiled method of 4 segments: 512 bytes of code from 256 on. */
static void put_code(void)
{
    const uint64_t blob = CODE + 16;

    put_heap();
    store(CODE, 6);
    store(CODE + 8, 1);
    store_half(blob + 8, 12);
    store_half(blob + 12, 4);
    store(blob + 32, NAMES);
    store(blob + 40, METHOD);
    if (is_25)
        put_blob_of_25(blob);
    else
        put_blob_of_17(blob);
    memcpy(at(NAMES), "nmethod", 8);
    memcpy(at(CODE + 0x200 - 5), "\xe8\1\2\3\4", 5);
}

/* Makes it all again; returns why it cannot be used, or NULL. */
static const char *make_memory(int version)
{
    const char *off;

    is_25 = version == 25;
    memset(memory, 0, sizeof memory);
    peek = (struct tt_peek){.block = 1, .fetch = fetch, .elsewhere = read_memory};
    put_tables();
    put_methods();
    put_code();
    java = (struct tt_java){0};
    off = tt_java_layout(&java.layout, &peek, BASE + 8, BASE + 16);
    tt_java_init(&java, &peek, off);
    return java.base.off;
}

#endif
