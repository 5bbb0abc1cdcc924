/* SPDX-License-Identifier: MIT */
/* disassemble-test.c - bytes of two machines, as their manuals say what they mean. */
#include <elf.h>

#include "disassemble.h"
#include "tap.h"

static struct tt_instruction *got;
static size_t count;
static const char *reason;

static int is_without(void) { return !count && strstr(reason, "capstone") != NULL; }

static void look(unsigned machine, const unsigned char *bytes, size_t size)
{
    free(got);
    count = tt_disassemble(machine, bytes, size, 0x1000, &got, &reason);
}

static void check(size_t i, uint64_t address, uint32_t size, enum tt_flow flow,
                  uint64_t target, const char *text)
{
    if (!CHECK(i < count))
        return;
    CHECK_INT(got[i].address, address);
    CHECK_INT(got[i].size, size);
    CHECK_INT(got[i].flow, flow);
    CHECK_INT(got[i].target, target);
    CHECK_STR(got[i].text, text);
}

TEST(code_of_x86_64_is_disassembled)
{
    static const unsigned char code[] = {0x55, 0xe8, 0xfa, 0xff, 0xff, 0xff, 0x75,
                                         0xf8, 0xff, 0xd0, 0x06, 0xc3, 0xff, 0xe0};

    look(EM_X86_64, code, sizeof code);
    if (is_without())
        SKIP(reason);
    check(0, 0x1000, 1, TT_FLOW_ON, 0, "push    rbp");
    check(1, 0x1001, 5, TT_FLOW_CALL, 0x1000, "call    ");
    check(2, 0x1006, 2, TT_FLOW_JUMP, 0x1000, "jne     ");
    check(3, 0x1008, 2, TT_FLOW_CALL, 0, "call    rax");
    check(4, 0x100a, 1, TT_FLOW_ON, 0, ".byte   0x06");
    check(5, 0x100b, 1, TT_FLOW_ON, 0, "ret");
    check(6, 0x100c, 2, TT_FLOW_JUMP, 0, "jmp     rax");
    CHECK_INT(count, 7);
}

TEST(code_of_aarch64_is_disassembled_on_any_machine)
{
    static const unsigned char code[] = {0x20, 0x00, 0x80, 0xd2, 0x02, 0x00, 0x00,
                                         0x14, 0xff, 0xff, 0xff, 0x97, 0x80, 0x00,
                                         0x18, 0x36, 0x60, 0x00, 0x00, 0xb4, 0xc0,
                                         0x03, 0x5f, 0xd6, 0x00, 0x02, 0x3f, 0xd6};

    look(EM_AARCH64, code, sizeof code);
    if (is_without())
        SKIP(reason);
    check(0, 0x1000, 4, TT_FLOW_ON, 0, "movz    x0, #0x1");
    check(1, 0x1004, 4, TT_FLOW_JUMP, 0x100c, "b       ");
    check(2, 0x1008, 4, TT_FLOW_CALL, 0x1004, "bl      ");
    check(3, 0x100c, 4, TT_FLOW_JUMP, 0x101c, "tbz     w0, #3, ");
    check(4, 0x1010, 4, TT_FLOW_JUMP, 0x101c, "cbz     x0, ");
    check(5, 0x1014, 4, TT_FLOW_ON, 0, "ret");
    check(6, 0x1018, 4, TT_FLOW_CALL, 0, "blr     x16");
    CHECK_INT(count, 7);
}

TEST(code_that_is_cut_off_and_other_machines_do_no_harm)
{
    static const unsigned char code[] = {0xe8, 0xfa};

    look(EM_X86_64, code, sizeof code);
    CHECK(is_without() || count == 2);
    look(EM_X86_64, code, 0);
    CHECK_INT(count, 0);
    look(EM_RISCV, code, sizeof code);
    CHECK_INT(count, 0);
    CHECK(reason != NULL);
}
