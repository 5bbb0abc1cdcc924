/* SPDX-License-Identifier: MIT */
/* java.c - whatever the memory of a Java machine contains, its frames are left, and methods
 * and lines found, by reads of that memory alone; and names are text.
 *
 *      version, three numbers for registers;  then words that are stored: where, value
 *
 * The memory is that of test/java-memory.h, of which the input changes some words. */
#include <assert.h>
#include <stdint.h>

#include "../test/java-memory.h"
#include "utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEAD = 4, PATCH = 10 };

static void check_text(const char *text)
{
    uint32_t code;

    for (size_t n; *text; text += n) {
        n = tt_utf8(text, &code);
        assert(n);
    }
}

static void change(const uint8_t *data, size_t size)
{
    for (; size >= PATCH; data += PATCH, size -= PATCH) {
        uint64_t word;
        memcpy(&word, data + 2, sizeof word);
        store(BASE + (uint64_t)(data[0] | data[1] << 8) / 8 * 8, word);
    }
}

static void find_method(uint64_t method, uint32_t index)
{
    static struct tt_interpreted_text text;
    struct tt_interpreted f = {.code = method, .at = index};
    struct tt_java_method m;

    if (tt_java_method(&java, &peek, method, &m))
        f.print = tt_java_print(&java, &peek, &m);
    if (f.print && tt_java_describe(&java, &f, &peek, &text)) {
        check_text(text.name);
        check_text(text.file);
    }
    (void)tt_java_line(&java, &f, &peek);
}

static void leave(const uint8_t *head, uint64_t pc, uint32_t flags)
{
    struct tt_native frame = {.flags = flags};
    struct tt_registers r = {0};

    for (unsigned i = 0; i < TT_REGISTERS; i++)
        r.value[i] = STACK + 8 * (uint64_t)(head[1 + i % 3] & 63);
    r.value[TT_REGISTER_PC] = pc;
    if (tt_java_leave(&java.generated, &r, &peek, &frame))
        assert(frame.function <= pc);
}

static void try_all(const uint8_t *head)
{
    struct tt_java_scope scope[8];

    find_method(METHOD, head[1]);
    find_method(INNER, head[2]);
    for (uint32_t at = 0; at < 64; at += 8) {
        const uint32_t count = tt_java_scopes(&java, &peek, CODE + 16, at, scope, 8);
        assert(count <= 8);
        for (uint32_t i = 0; i < count; i++)
            find_method(scope[i].method, scope[i].at);
    }
    for (uint64_t pc = CODE + 0xf0; pc < CODE + 0x310; pc += 1 + head[3] % 32) {
        leave(head, pc, TT_NATIVE_EXACT);
        leave(head, pc, 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD)
        return 0;
    (void)make_memory(data[0] & 1 ? 25 : 17);
    change(data + HEAD, size - HEAD);
    try_all(data);
    if (!tt_java_layout(&java.layout, &peek, BASE + 8, BASE + 16)) {
        java.heaps = 0;
        try_all(data);
    }
    return 0;
}
