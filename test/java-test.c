/* SPDX-License-Identifier: MIT */
/* java-test.c - HotSpot's code and methods in a memory that is made by hand, and damaged. */
#include <stdlib.h>
#include <string.h>

#include "java-code.h"
#include "java-method.h"
#include "java-scopes.h"
#include "tap.h"
#include "utf8.h"

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
    put_field("CodeBlob", "_frame_size", 12);
    put_field("CodeBlob", "_code_begin", 16);
    put_field("CodeBlob", "_code_end", 24);
    put_field("CodeBlob", "_name", 32);
    put_field("CompiledMethod", "_method", 40);
    put_field("CompiledMethod", "_scopes_data_begin", 48);
    put_field("CompiledMethod", "_deopt_handler_begin", 56);
    put_field("nmethod", "_orig_pc_offset", 64);
    put_field("nmethod", "_metadata_offset", 68);
    put_field("nmethod", "_scopes_pcs_offset", 72);
    put_field("nmethod", "_dependencies_offset", 76);
    put_field("Method", "_constMethod", 8);
    put_field("ConstMethod", "_constants", 8);
    put_field("ConstMethod", "_flags", 28);
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
    static const uint8_t lines[] = {255, 0, 20, 3 << 3 | 1, 255, 10, 192 + 18, 12, 0};

    store(method + 8, constant);
    store(constant + 8, POOL);
    store_short(constant + 28, 1);
    store_short(constant + 32, 12);
    store_short(constant + 34, name);
    memcpy(at(constant + 48 + 12), lines, sizeof lines);
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

/* One compiled method of 4 segments in a heap: 512 bytes of code from 256 on. */
static void put_code(void)
{
    /* Each: its outer scope, its method, its place. The inner one is at 8, the outer at 4. */
    static const uint8_t scopes[] = {7, 7, 7, 7, 0, 1, 1, 7, 4, 2, 9};
    /* of the inner: outer is at 2 */
    const uint64_t blob = CODE + 16;

    store(HEAPS, HEAPS + 0x40);
    store_half(HEAPS + 16, 17);
    store_half(HEAPS + 0x40, 1);
    store(HEAPS + 0x48, HEAPS + 0x60);
    store(HEAPS + 0x60, HEAPS + 0x80);
    for (int i = 0; i < 3; i++)
        store(HEAPS + 0x88 + 8 * (uint64_t)i, i == 1 ? CODE + 0x2000 : CODE);
    store(HEAPS + 0x80 + 64 + 16, MAP);
    store_half(HEAPS + 0x80 + 128, SEGMENT);
    memset(at(MAP), 255, 64);
    memcpy(at(MAP), "\0\1\2\3\1\2", 6);
    store(CODE, 6);
    store(CODE + 8, 1);
    store_half(blob + 8, 12);
    store_half(blob + 12, 4);
    store(blob + 16, CODE + 0x100);
    store(blob + 24, CODE + 0x300);
    store(blob + 32, NAMES);
    store(blob + 40, METHOD);
    store(blob + 48, CODE + 0x80);
    store(blob + 56, CODE + 0x2f0);
    store_half(blob + 68, 0xa0);
    store_half(blob + 72, 0xb0);
    store_half(blob + 76, 0xe0);
    memcpy(at(CODE + 0x80), scopes, sizeof scopes);
    store(blob + 0xa0, METHOD);
    store(blob + 0xa8, INNER);
    store(blob + 0xb0, UINT32_MAX);
    store(blob + 0xc0, 0x20 | (uint64_t)8 << 32);
    store(blob + 0xd0, INT32_MAX);
    memcpy(at(NAMES), "nmethod", 8);
    memcpy(at(CODE + 0x200 - 5), "\xe8\1\2\3\4", 5);
}

static const char *begin(void)
{
    const char *off;

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

/* ── Tests ────────────────────────────────────────────────────────────────────────── */

TEST(the_tables_say_where_things_are)
{
#if defined __x86_64__
    CHECK(begin() == NULL);
#else
    (void)begin();
#endif
    CHECK_STR(java.base.name, "java 17");
    CHECK_INT(java.layout.pool.file, 54);
    CHECK_INT(java.layout.type.file, TT_JAVA_ABSENT);
}

TEST(a_table_without_a_needed_field_is_refused)
{
    begin();
    memcpy(at(TEXTS), "Other", 6);
    CHECK(tt_java_layout(&java.layout, &peek, BASE + 8, BASE + 16) != NULL);
    CHECK(tt_java_layout(&java.layout, &peek, 8, BASE + 16) != NULL);
}

static struct tt_interpreted frame_of(uint64_t method, uint32_t index)
{
    struct tt_java_method m;
    struct tt_interpreted f = {.code = method, .at = index};

    if (tt_java_method(&java, &peek, method, &m))
        f.print = tt_java_print(&java, &peek, &m);
    return f;
}

TEST(a_method_has_its_class_its_file_and_its_lines)
{
    struct tt_interpreted_text text;
    struct tt_interpreted f;

    begin();
    f = frame_of(METHOD, 0);
    CHECK(tt_java_describe(&java, &f, &peek, &text));
    CHECK_STR(text.name, "java.util.List$$Lambda.add");
    CHECK_STR(text.file, "java/util/List.java");
    CHECK_INT(text.line, 10);
    CHECK_INT(tt_java_line(&java, &f, &peek), 0);
    for (uint32_t index = 1; index <= 12; index++) {
        f.at = index;
        CHECK_INT(tt_java_line(&java, &f, &peek), index <= 3   ? 10
                                                  : index <= 8 ? 11
                                                               : 500);
    }
}

TEST(a_method_that_was_replaced_has_no_name)
{
    struct tt_interpreted_text text;
    struct tt_interpreted f;

    begin();
    f = frame_of(METHOD, 0);
    put_symbol(SYMBOLS + 128, "sub");
    CHECK(!tt_java_describe(&java, &f, &peek, &text));
    begin();
    store_half(SYMBOLS + 128, 0x12340002); /* the text has one more user */
    CHECK(tt_java_describe(&java, &f, &peek, &text));
    store_half(SYMBOLS + 128, 0x12350002); /* another text */
    CHECK(!tt_java_describe(&java, &f, &peek, &text));
}

TEST(memory_that_is_no_method_is_none)
{
    struct tt_java_method m;

    begin();
    CHECK(tt_java_method(&java, &peek, METHOD, &m));
    CHECK(!tt_java_method(&java, &peek, METHOD + 8, &m));
    store(TYPE + 64, POOL + 8);
    CHECK(!tt_java_method(&java, &peek, METHOD, &m));
}

TEST(code_is_found_by_any_address_in_it)
{
    struct tt_java_blob b;

    begin();
    for (uint64_t pc = CODE; pc < CODE + 0x400; pc++) {
        const int is_inside = pc >= CODE + 0x100 && pc < CODE + 0x300;
        if (tt_java_blob(&java, &peek, pc, &b) != is_inside ||
            (is_inside && (b.at != CODE + 16 || b.kind != TT_JAVA_COMPILED)))
            CHECK_INT(pc, 0);
    }
    store(CODE + 8, 0); /* freed */
    CHECK(!tt_java_blob(&java, &peek, CODE + 0x200, &b));
}

TEST(a_compiled_place_has_the_methods_that_were_inlined)
{
    struct tt_java_scope s[4];

    begin();
    CHECK_INT(tt_java_scopes(&java, &peek, CODE + 16, 0x20, s, 4), 2);
    CHECK_INT(s[0].method, INNER);
    CHECK_INT(s[0].at, 9);
    CHECK_INT(s[1].method, METHOD);
    CHECK_INT(s[1].at, 1);
    CHECK_INT(tt_java_scopes(&java, &peek, CODE + 16, 0x21, s, 4), 0);
    CHECK_INT(tt_java_scopes(&java, &peek, CODE + 16, 0x20, s, 1), 0);
}

TEST(numbers_are_decoded_as_the_machine_writes_them)
{
    static const struct {
        uint8_t bytes[5];
        uint32_t size, base, value;
    } known[] = {{{0}, 1, 0, 0},
                 {{191}, 1, 0, 191},
                 {{192, 0}, 2, 0, 192},
                 {{255, 1}, 2, 0, 319},
                 {{1}, 1, 1, 0},
                 {{191}, 1, 1, 190},
                 {{192, 1}, 2, 1, 191},
                 {{255, 191}, 2, 0, 12479},
                 {{192, 192, 0}, 3, 0, 12480},
                 {{192, 193, 1}, 3, 1, 12479}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const uint8_t *p = known[i].bytes;
        uint32_t value;
        CHECK(tt_java_compressed(&p, p + 5, known[i].base, &value));
        CHECK_INT(value, known[i].value);
        CHECK_INT(p - known[i].bytes, known[i].size);
        p = known[i].bytes;
        CHECK(!tt_java_compressed(&p, p + known[i].size - 1, known[i].base, &value));
    }
}

#if defined __x86_64__
enum { RBP = 6, RSP = 7, RIP = 16 };

/* Leaves the frame of the compiled method; the code around `pc` is `code`, of which `before`
 * bytes are before it.  The return address is at STACK + at. */
static int leaves(const char *code, size_t size, size_t before, uint64_t pc, uint64_t ret,
                  uint64_t saved)
{
    struct tt_registers r = {0};
    struct tt_native frame = {.flags = TT_NATIVE_EXACT};

    begin();
    memcpy(at(pc - before), code, size);
    r.value[RIP] = pc;
    r.value[RSP] = STACK;
    r.value[RBP] = 77;
    store(STACK + ret, CODE + 0x200);
    if (saved != UINT64_MAX)
        store(STACK + saved, 88);
    return tt_java_leave(&java.generated, &r, &peek, &frame) &&
           r.value[RIP] == CODE + 0x200 && r.value[RSP] == STACK + ret + 8 &&
           r.value[RBP] == (saved == UINT64_MAX ? 77u : 88u) && frame.data == CODE + 16 &&
           frame.detail == pc - CODE - 0x100;
}

TEST(compiled_code_is_left_from_each_instruction_that_changes_its_frame)
{
    const uint64_t none = UINT64_MAX, start = CODE + 0x100, inside = CODE + 0x180;

    CHECK(leaves("\x55\x48\x83\xec\x10", 5, 0, start, 0, none));
    CHECK(leaves("\x55\x48\x83\xec\x10", 5, 1, start + 1, 8, 0));
    CHECK(leaves("\x48\x83\xec\x18\x48\x89\x6c\x24\x10", 9, 4, start + 4, 24, none));
    CHECK(leaves("\x90\x90\x90\x90", 4, 0, inside, 24, 16));
    CHECK(leaves("\x48\x83\xc4\x10\x5d\xc3", 6, 4, inside, 8, 0));
    CHECK(leaves("\x48\x83\xc4\x10\x5d\xc3", 6, 5, inside, 0, none));
    CHECK(leaves("\x5d\x49\x3b\xa7\1\1\0\0\x0f\x87\0\0\0\0\xc3", 15, 1, inside, 0, none));
    CHECK(leaves("\x5d\x49\x3b\xa7\1\1\0\0\x0f\x87\0\0\0\0\xc3", 15, 8, inside, 0, none));
}
#endif

static int is_utf8(const char *text)
{
    uint32_t code;
    size_t size;

    for (; *text; text += size)
        if (!(size = tt_utf8(text, &code)))
            return 0;
    return 1;
}

/* A word becomes a number, or an address in this memory; mostly where something is. */
static void damage(void)
{
    const uint64_t any = (uint64_t)rand() << 32 | (uint64_t)rand(),
                   where = BASE + (rand() & 3 ? (uint64_t)rand() % 0x4000
                                              : 0x8000 + (uint64_t)rand() % 0x400) /
                                      8 * 8;

    store(where, rand() & 1 ? any : BASE + any % SIZE);
}

static void leave_anywhere(void)
{
    struct tt_registers r = {0};
    struct tt_native frame = {.flags = rand() & 1 ? TT_NATIVE_EXACT : 0};

    for (unsigned i = 0; i < TT_REGISTERS; i++)
        r.value[i] = BASE + (uint64_t)rand() % SIZE;
    r.value[TT_REGISTER_PC] = CODE + 0xf0 + (uint64_t)rand() % 0x220;
    r.value[TT_REGISTER_SP] = STACK + (uint64_t)rand() % 16 * 8;
    for (int i = 0; i < 4; i++)
        store(STACK + (uint64_t)rand() % 64 * 8, CODE + 0x200);
    (void)tt_java_leave(&java.generated, &r, &peek, &frame);
}

/* Whatever the memory contains, all reads are within it, and names are text. */
TEST(a_damaged_memory_gives_no_name_or_a_text)
{
    struct tt_interpreted_text text;
    struct tt_java_scope scope[8];
    int named = 0, wrong = 0;

    for (int round = 0; round < TAP_CASES(20000); round++) {
        if (round % 8 == 0)
            begin();
        damage();
        struct tt_interpreted f = frame_of(rand() & 1 ? METHOD : INNER,
                                           (uint32_t)rand() % 20);
        if (f.print && tt_java_describe(&java, &f, &peek, &text)) {
            named++;
            wrong += !is_utf8(text.name) || !is_utf8(text.file);
        }
        (void)tt_java_line(&java, &f, &peek);
        (void)tt_java_scopes(&java, &peek, CODE + 16, (uint32_t)rand() % 64, scope, 8);
        leave_anywhere();
        if (round % 8 == 7 && !tt_java_layout(&java.layout, &peek, BASE + 8, BASE + 16)) {
            (void)tt_java_line(&java, &f, &peek);
            leave_anywhere();
        }
    }
    CHECK(named > 0);
    CHECK_INT(wrong, 0);
}
