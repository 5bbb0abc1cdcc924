/* SPDX-License-Identifier: MIT */
/* machine-x86_64.c - registers, signal frames, and code without rules, on x86-64. */
#include "machine.h"

#include <stddef.h>
#include <string.h>
#include <ucontext.h>

#include "code.h"

enum {
    FIRST_MAX = 8, /* arguments that are looked at */
    BOTTOM = 256,  /* bytes of a first function's frame */
};

enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R15 = 15, RIP };

/* ── Registers ────────────────────────────────────────────────────────────────────── */

/* The kernel's names of the registers, in DWARF's order. */
static const unsigned char context_place[TT_REGISTERS] = {
    REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP, REG_R8,
    REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};

/* And their bits in a perf event's mask (asm/perf_regs.h). */
static const unsigned char perf_bit[TT_REGISTERS] = {0,  3,  2,  1,  4,  5,  6,  7, 16,
                                                     17, 18, 19, 20, 21, 22, 23, 8};

void tt_registers_of_context(struct tt_registers *r, const void *ucontext)
{
    const ucontext_t *c = ucontext;

    for (unsigned i = 0; i < TT_REGISTERS; i++)
        r->value[i] = (uint64_t)c->uc_mcontext.gregs[context_place[i]];
    r->lost = 0;
}

void tt_registers_of_place(struct tt_registers *r, uint64_t pc, uint64_t sp)
{
    memset(r, 0, sizeof *r);
    r->value[RIP] = pc;
    r->value[RSP] = sp;
    r->lost = ~((uint64_t)1 << RIP | (uint64_t)1 << RSP);
}

uint64_t tt_machine_perf_mask(void)
{
    uint64_t mask = 0;

    for (unsigned i = 0; i < TT_REGISTERS; i++)
        mask |= (uint64_t)1 << perf_bit[i];
    return mask;
}

void tt_registers_of_perf(struct tt_registers *r, uint64_t mask, const uint64_t *value)
{
    for (unsigned i = 0; i < TT_REGISTERS; i++) {
        uint64_t bit = (uint64_t)1 << perf_bit[i];
        unsigned place = (unsigned)__builtin_popcountll(mask & (bit - 1));
        r->value[i] = mask & bit ? value[place] : 0;
    }
    r->lost = 0;
}

uint64_t tt_machine_strip(uint64_t pc) { return pc; }

/* ── Signal frames ────────────────────────────────────────────────────────────────── */

int tt_machine_is_trampoline(struct tt_peek *p, uint64_t pc)
{
    static const uint8_t glibc[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05},
                         musl[] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
    uint8_t code[sizeof glibc];

    if (tt_peek_bytes(p, pc, code, sizeof glibc) &&
        memcmp(code, glibc, sizeof glibc) == 0)
        return 1;
    return tt_peek_bytes(p, pc, code, sizeof musl) &&
           memcmp(code, musl, sizeof musl) == 0;
}

/* The handler's return has taken its address off: the stack pointer is at the context. */
int tt_machine_leave_signal(struct tt_registers *r, struct tt_peek *p)
{
    greg_t saved[REG_RIP + 1];
    uint64_t at = r->value[RSP] + offsetof(ucontext_t, uc_mcontext.gregs);

    if (!tt_peek_bytes(p, at, saved, sizeof saved))
        return 0;
    for (unsigned i = 0; i < TT_REGISTERS; i++)
        r->value[i] = (uint64_t)saved[context_place[i]];
    r->lost = 0;
    return 1;
}

/* ── Code without rules ───────────────────────────────────────────────────────────── */

/* Does a goroutine's first function return here, as if called from there: after the first
 * of the three instructions nop, call, nop? */
static int ends_goroutine(struct tt_peek *p, uint64_t pc)
{
    uint8_t code[7];

    return tt_peek_bytes(p, pc - 1, code, sizeof code) && code[0] == 0x90 &&
           code[1] == 0xe8 && code[6] == 0x90;
}

/* call rel32, or one of the forms of call *operand. */
int tt_machine_follows_call(struct tt_peek *p, uint64_t pc)
{
    uint8_t b[7];

    if (pc < sizeof b || !tt_peek_bytes(p, pc - sizeof b, b, sizeof b))
        return 0;
    return b[2] == 0xe8 || (b[5] == 0xff && (b[6] & 0xf8) == 0xd0) ||
           (b[4] == 0xff && (b[5] & 0xf8) == 0x50) || (b[5] == 0xff && b[6] >> 3 == 2) ||
           (b[1] == 0xff && (b[2] & 0xf8) == 0x90) || (b[1] == 0xff && b[2] == 0x15) ||
           (b[3] == 0xff && b[4] == 0x54) || (b[4] == 0xff && b[5] == 0x14) ||
           (b[0] == 0xff && b[1] == 0x94) || (b[0] == 0xff && b[1] == 0x14) ||
           ends_goroutine(p, pc);
}

/* The return address is at `at`; r already has the caller's frame pointer. */
static int return_from(struct tt_registers *r, struct tt_peek *p, uint64_t at)
{
    uint64_t pc;

    if (!tt_peek_word(p, at, &pc) || !tt_machine_follows_call(p, pc))
        return 0;
    r->value[RIP] = pc;
    r->value[RSP] = at + 8;
    return 1;
}

/* Is this the code of a C library without rules after the first function of a thread,
 * which ends the thread? */
static int ends_thread(struct tt_peek *p, uint64_t pc)
{
    static const uint8_t musl[] = {0x89, 0xc7, 0x31, 0xc0, 0xb0, 0x3c, 0x0f, 0x05};
    uint8_t code[sizeof musl];

    return tt_peek_bytes(p, pc, code, sizeof code) &&
           memcmp(code, musl, sizeof musl) == 0;
}

/* Is this what the kernel leaves on the stack for a program: the number of arguments,
 * pointers to them, which point further up, each above the one before, and a zero? */
static int is_first(struct tt_peek *p, uint64_t at)
{
    uint64_t arguments, last = at, next;

    if (at % 16 || !tt_peek_word(p, at, &arguments) || !arguments || arguments >= 1 << 20)
        return 0;
    for (uint64_t i = 1; i <= arguments && i <= FIRST_MAX; i++, last = next)
        if (!tt_peek_word(p, at + 8 * i, &next) || next <= last)
            return 0;
    return tt_peek_word(p, at + 8 * (arguments + 1), &next) && next == 0;
}

/* Does the result of the call go to another function: mov %eax, %edi; call? */
static int exits(struct tt_peek *p, uint64_t pc)
{
    uint8_t b[4];

    return tt_peek_bytes(p, pc, b, sizeof b) &&
           (memcmp(b, "\x89\xc7\xe8", 3) == 0 || memcmp(b, "\x48\x89\xc7\xe8", 4) == 0);
}

/* Is this the caller of a thread's or a program's first function?  Its result goes to a
 * function that does not return, and the stack began near above. */
static int is_bottom(const struct tt_registers *r, struct tt_peek *p)
{
    uint64_t sp = r->value[RSP], word;

    if (!exits(p, r->value[RIP]))
        return 0;
    for (uint64_t at = sp; at < sp + BOTTOM && tt_peek_word(p, at, &word); at += 8)
        if (is_first(p, at) || ends_thread(p, word))
            return 1;
    return 0;
}

/* May a stack end at this code? */
static int ends_stack(struct tt_peek *p, uint64_t pc)
{
    return exits(p, pc) || ends_thread(p, pc) || ends_goroutine(p, pc);
}

const struct tt_departure tt_machine_by_frame = {
    .base = TT_REGISTER_FP,
    .offset = 16,
    .saved = {-16, TT_DEPARTURE_SAME, TT_DEPARTURE_SAME, TT_DEPARTURE_SAME,
              TT_DEPARTURE_SAME, TT_DEPARTURE_SAME}};

int tt_machine_follow_frame(struct tt_registers *r, struct tt_peek *p)
{
    uint64_t frame = r->value[RBP], saved;

    if ((r->lost >> RBP & 1) || frame % 8 || frame < r->value[RSP] ||
        !tt_peek_word(p, frame, &saved) || (saved && saved <= frame) ||
        !return_from(r, p, frame + 8))
        return 0;
    r->value[RBP] = saved;
    return 1;
}

/* Whatever registers are known? */
static int is_endless(struct tt_registers r, struct tt_peek *p, int exact)
{
    struct tt_departure how;

    if (!r.lost)
        return 1;
    r.lost = 0;
    return tt_code_leave(&r, p, exact, &how) < 0;
}

enum tt_guess tt_machine_guess(struct tt_registers *r, struct tt_peek *p, int exact,
                               struct tt_guessed *g)
{
    const uint64_t frame = r->value[RBP];
    int found = 0, ends;

    g->departure.base = TT_REGISTERS;
    if (!exact && frame == 0 &&
        (ends_thread(p, r->value[RIP]) || ends_goroutine(p, r->value[RIP])))
        return TT_GUESS_ROOT;
    if (!g->endless)
        found = tt_code_leave(r, p, exact, &g->departure);
    if (found > 0)
        return TT_GUESS_CALLER;
    g->endless |= found < 0 && is_endless(*r, p, exact);
    /* Words of other frames may look like a program's arguments: so only code that does not
     * return is first. */
    if (!exact && (is_first(p, r->value[RSP]) || is_bottom(r, p)))
        return TT_GUESS_ROOT;
    ends = ends_stack(p, r->value[RIP]);
    if (!tt_machine_follow_frame(r, p))
        return TT_GUESS_FAILED;
    if (g->endless && !ends)
        g->departure = tt_machine_by_frame;
    return TT_GUESS_CALLER;
}

int tt_machine_leave(const struct tt_departure *how, struct tt_registers *r,
                     struct tt_peek *p)
{
    return tt_code_follow(how, r, p);
}

int tt_machine_find_frame(struct tt_registers *r, struct tt_peek *p, uint64_t function,
                          int32_t offset)
{
    return tt_code_find_frame(r, p, function, offset);
}
