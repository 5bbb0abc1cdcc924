/* SPDX-License-Identifier: MIT */
/* java-test.c - HotSpot's code and methods in a memory that is made by hand, and damaged. */
#include <stdlib.h>
#include <string.h>

#include "java-memory.h"
#include "tap.h"
#include "utf8.h"

static const char *begin(void) { return make_memory(17); }

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
#if defined __x86_64__
    CHECK(make_memory(25) == NULL);
#else
    (void)make_memory(25);
#endif
    CHECK_STR(java.base.name, "java 25");
    CHECK_INT(java.layout.blob.has_short_complete, 1);
    CHECK_INT(java.layout.blob.begin, TT_JAVA_ABSENT);
    CHECK_INT(java.layout.compiled.fixed, 80);
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

static void check_method(void)
{
    struct tt_interpreted_text text;
    struct tt_interpreted f;

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

TEST(a_method_has_its_class_its_file_and_its_lines)
{
    for (int version = 17; version <= 25; version += 8) {
        (void)make_memory(version);
        check_method();
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

static void check_code(void)
{
    struct tt_java_blob b;

    for (uint64_t pc = CODE; pc < CODE + 0x400; pc++) {
        const int is_inside = pc >= CODE + 0x100 && pc < CODE + 0x300;
        if (tt_java_blob(&java, &peek, pc, &b) != is_inside ||
            (is_inside && (b.at != CODE + 16 || b.kind != TT_JAVA_COMPILED)))
            CHECK_INT(pc, 0);
    }
    CHECK(tt_java_blob(&java, &peek, CODE + 0x200, &b));
    CHECK_INT(b.complete, 12);
    CHECK_INT(b.frame, 32);
    store(CODE + 8, 0); /* freed */
    CHECK(!tt_java_blob(&java, &peek, CODE + 0x200, &b));
}

TEST(code_is_found_by_any_address_in_it)
{
    for (int version = 17; version <= 25; version += 8) {
        (void)make_memory(version);
        check_code();
    }
}

static void check_scopes(void)
{
    struct tt_java_scope s[4];

    CHECK_INT(tt_java_scopes(&java, &peek, CODE + 16, 0x20, s, 4), 2);
    CHECK_INT(s[0].method, INNER);
    CHECK_INT(s[0].at, 9);
    CHECK_INT(s[1].method, METHOD);
    CHECK_INT(s[1].at, 1);
    CHECK_INT(tt_java_scopes(&java, &peek, CODE + 16, 0x21, s, 4), 0);
    CHECK_INT(tt_java_scopes(&java, &peek, CODE + 16, 0x20, s, 1), 0);
}

TEST(a_compiled_place_has_the_methods_that_were_inlined)
{
    for (int version = 17; version <= 25; version += 8) {
        (void)make_memory(version);
        check_scopes();
    }
}

/* A table without the place that ends it: the scopes behind it are none. */
TEST(a_place_behind_the_last_one_has_no_method)
{
    struct tt_java_scope s[4];

    (void)make_memory(25);
    store_half(CODE + 16 + 48, 0x30); /* now the scopes begin where the last place was */
    store(FIXED + 0x30, 0x40 | (uint64_t)8 << 32);
    CHECK_INT(tt_java_scopes(&java, &peek, CODE + 16, 0x21, s, 4), 0);
}

/* One and two methods by turns, each from its place on. */
static uint32_t methods_from(uint32_t offset, uint32_t places, uint32_t step)
{
    for (uint32_t i = 1; i + 1 < places; i++)
        if (step * i >= offset)
            return 1 + i % 2;
    return 0;
}

TEST(of_many_places_that_at_or_after_the_offset_is_found)
{
    enum { STEP = 5, MOST = 40 };
    struct tt_java_scope s[4];

    (void)make_memory(17);
    for (uint32_t n = 2; n < MOST; n++) {
        const uint64_t end = (uint64_t)BASE + SIZE - 16 * (uint64_t)n - CODE - 16;
        store_half(CODE + 16 + 72, (uint32_t)end); /* up to the end of memory */
        store_half(CODE + 16 + 76, (uint32_t)end + 16 * n);
        for (uint32_t i = 0; i < n; i++)
            store(CODE + 16 + end + 16 * i,
                  i == 0       ? UINT32_MAX
                  : i == n - 1 ? INT32_MAX
                               : STEP * i | (uint64_t)(i % 2 ? 8 : 4) << 32);
        for (uint32_t offset = 0; offset < STEP * n; offset++)
            CHECK_INT(tt_java_scopes(&java, &peek, CODE + 16, offset, s, 4),
                      methods_from(offset, n, STEP));
    }
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
            (void)make_memory(round % 16 ? 17 : 25);
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
