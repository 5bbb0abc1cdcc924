/* SPDX-License-Identifier: MIT */
/* ruby-code-test.c - names and lines of Ruby's code in a memory that is damaged. */
#include <stdlib.h>
#include <string.h>

#include "ruby-code.h"
#include "tap.h"
#include "utf8.h"

enum { BASE = 0x10000, WORDS = 1 << 12, BODY = BASE + 0x1000, NAME = BASE + 0x2000 };

static uint64_t memory[WORDS];
static struct tt_peek peek;

static int read_memory(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    if (address < BASE || address > BASE + sizeof memory ||
        BASE + sizeof memory - address < size)
        return 0;
    memcpy(to, (const char *)memory + (address - BASE), size);
    return 1;
}

static void store(uint64_t address, uint64_t word)
{
    memory[(address - BASE) / 8] = word;
}

/* A short text, in an object. */
static void store_text(uint64_t address, const char *text)
{
    store(address, 5 | (uint64_t)strlen(text) << 14);
    memcpy((char *)memory + (address - BASE) + 16, text, strlen(text));
}

/* Code with lines 10, 11, 12: of each third instruction one. */
static void begin(void)
{
    const uint64_t lines = BASE + 0x3000, index = BASE + 0x4000;
    const uint32_t entry[9] = {10, 0, 0, 11, 0, 0, 12, 0, 0};

    memset(memory, 0, sizeof memory);
    peek = (struct tt_peek){.block = 1, .elsewhere = read_memory};
    store(BASE, 26 | TT_RUBY_CODE << TT_RUBY_INTERNAL_SHIFT);
    store(BASE + TT_RUBY_BODY, BODY);
    store(BODY + 8, BASE + 0x5000); /* instructions */
    store(BODY + 64, NAME);
    store(BODY + 72, NAME + 64);
    store(BODY + 80, NAME + 128);
    store(BODY + 88, 9 << 1 | 1);
    store(BODY + 120, lines);
    store(BODY + 136, 3);
    store(BODY + 144, index);
    store_text(NAME, "list.rb");
    store_text(NAME + 64, "each");
    store_text(NAME + 128, "block in each");
    memcpy(memory + (lines - BASE) / 8, entry, sizeof entry);
    for (uint64_t place = 0; place < 9; place++)
        memory[(index - BASE) / 8] |= (place / 3 + 1) << 7 * place;
}

static struct tt_interpreted frame_at(uint64_t instruction)
{
    return (struct tt_interpreted){.code = BASE,
                                   .print = tt_ruby_print(&peek, BASE, 0),
                                   .at = BASE + 0x5000 + 8 * instruction};
}

TEST(a_block_has_its_name_its_file_and_its_lines)
{
    struct tt_interpreted_text text;
    struct tt_interpreted f;

    begin();
    f = frame_at(5); /* the one before it runs */
    CHECK(tt_ruby_describe(&f, 0, &peek, &text));
    CHECK_STR(text.name, "block in each");
    CHECK_STR(text.file, "list.rb");
    CHECK_INT(text.line, 9);
    CHECK_INT(tt_ruby_line(&f, &peek), 11);
    f = frame_at(0);
    CHECK_INT(tt_ruby_line(&f, &peek), 10);
    f = frame_at(9);
    CHECK_INT(tt_ruby_line(&f, &peek), 12);
}

TEST(code_that_was_replaced_has_no_name)
{
    struct tt_interpreted_text text;
    struct tt_interpreted f;

    begin();
    f = frame_at(1);
    store(BODY + 88, 8 << 1 | 1);
    CHECK(!tt_ruby_describe(&f, 0, &peek, &text));
}

static int is_utf8(const char *text)
{
    uint32_t code;
    size_t size;

    for (; *text; text += size)
        if (!(size = tt_utf8(text, &code)))
            return 0;
    return 1;
}

/* A word becomes a number, or an address in this memory. */
static void damage(void)
{
    const uint64_t at = (uint64_t)rand() % WORDS,
                   any = (uint64_t)rand() << 32 | (uint64_t)rand();

    memory[at] = rand() & 1 ? any : BASE + any % sizeof memory / 8 * 8;
    if (rand() & 1)
        store(BODY + (uint64_t)rand() % 19 * 8,
              rand() & 1 ? any : BASE + any % sizeof memory);
}

/* Whatever the memory contains, all reads are within it, and names are text. */
TEST(a_damaged_memory_gives_no_name_or_a_text)
{
    struct tt_interpreted_text text;
    int named = 0;
    int wrong = 0;

    for (int round = 0; round < TAP_CASES(20000); round++) {
        if (round % 8 == 0)
            begin();
        damage();
        struct tt_interpreted f = frame_at((uint64_t)rand() % 600);
        if (f.print && tt_ruby_describe(&f, BASE, &peek, &text)) {
            named++;
            wrong += !is_utf8(text.name) || !is_utf8(text.file);
        }
        (void)tt_ruby_line(&f, &peek);
        f.code = f.method = BASE + (uint64_t)rand() % WORDS * 8;
        (void)tt_ruby_function(&peek, f.code, &f.print);
        (void)tt_ruby_describe(&f, BASE, &peek, &text);
        (void)tt_ruby_print(&peek, BASE, f.method);
    }
    (void)tt_ruby_names(&peek, BASE, BASE + sizeof memory);
    CHECK(named > 0);
    CHECK_INT(wrong, 0);
}
