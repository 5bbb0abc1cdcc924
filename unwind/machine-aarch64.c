/* SPDX-License-Identifier: MIT */
/* machine-aarch64.c - registers, signal frames, and code without rules, on aarch64. */
#include "machine.h"

#include <stddef.h>
#include <ucontext.h>

enum { X29 = 29, X30, SP, PC };

/* ── Registers ────────────────────────────────────────────────────────────────────── */

void tt_registers_of_context(struct tt_registers *r, const void *ucontext)
{
    const ucontext_t *c = ucontext;

    for (unsigned i = 0; i < 31; i++)
        r->value[i] = c->uc_mcontext.regs[i];
    r->value[SP] = c->uc_mcontext.sp;
    r->value[PC] = c->uc_mcontext.pc;
    r->lost = 0;
}

void tt_registers_of_place(struct tt_registers *r, uint64_t pc, uint64_t sp)
{
    memset(r, 0, sizeof *r);
    r->value[PC] = pc;
    r->value[SP] = sp;
    r->lost = ~((uint64_t)1 << PC | (uint64_t)1 << SP);
}

/* The bits have DWARF's order, sp and pc after the others (asm/perf_regs.h). */
uint64_t tt_machine_perf_mask(void) { return ((uint64_t)1 << TT_REGISTERS) - 1; }

void tt_registers_of_perf(struct tt_registers *r, uint64_t mask, const uint64_t *value)
{
    for (unsigned i = 0; i < TT_REGISTERS; i++) {
        uint64_t bit = (uint64_t)1 << i;
        unsigned place = (unsigned)__builtin_popcountll(mask & (bit - 1));
        r->value[i] = mask & bit ? value[place] : 0;
    }
    r->lost = 0;
}

/* Addresses have 48 bits unless the program requests more; the signature is above. */
uint64_t tt_machine_strip(uint64_t pc) { return pc & (((uint64_t)1 << 48) - 1); }

/* ── Signal frames ────────────────────────────────────────────────────────────────── */

/* mov x8, #139; svc #0 */
int tt_machine_is_trampoline(struct tt_peek *p, uint64_t pc)
{
    static const uint32_t want[] = {0xd2801168, 0xd4000001};
    uint32_t code[2];

    return tt_peek_bytes(p, pc, code, sizeof code) &&
           memcmp(code, want, sizeof want) == 0;
}

/* The stack pointer is at the information, 128 bytes, and the context follows. */
int tt_machine_leave_signal(struct tt_registers *r, struct tt_peek *p)
{
    uint64_t at = r->value[SP] + 128 + offsetof(ucontext_t, uc_mcontext.regs);
    uint64_t saved[33]; /* x0 to x30, sp, pc, one after the other */

    if (!tt_peek_bytes(p, at, saved, sizeof saved))
        return 0;
    memcpy(r->value, saved, sizeof saved);
    r->lost = 0;
    return 1;
}

/* ── Code without rules ───────────────────────────────────────────────────────────── */

/* bl, or one of the forms of blr. */
int tt_machine_follows_call(struct tt_peek *p, uint64_t pc)
{
    uint32_t code;

    if (pc % 4 || pc < 4 || !tt_peek_bytes(p, pc - 4, &code, sizeof code))
        return 0;
    return (code & 0xfc000000) == 0x94000000 || (code & 0xfffff01f) == 0xd63f0000 ||
           (code & 0xfefff000) == 0xd63f0000;
}

/* Is pc where the frame record is not valid: before stp x29, x30, after ldp x29, x30, and
 * at ret?  The return address is then in x30. */
static int at_edge(struct tt_peek *p, uint64_t pc)
{
    uint32_t code;

    if (!tt_peek_bytes(p, pc, &code, sizeof code))
        return 0;
    return (code & 0xffc07fff) == 0xa9807bfd || code == 0xd65f03c0 || code == 0xd503233f;
}

enum tt_guess tt_machine_guess(struct tt_registers *r, struct tt_peek *p, int exact,
                               struct tt_guessed *g)
{
    uint64_t frame = r->value[X29], record[2], back = tt_machine_strip(r->value[X30]);

    g->departure.base = TT_REGISTERS; /* the code is not followed */
    if (exact && at_edge(p, r->value[PC]) && tt_machine_follows_call(p, back)) {
        r->value[PC] = back;
        return TT_GUESS_CALLER;
    }
    if (frame % 16 || frame < r->value[SP] ||
        !tt_peek_bytes(p, frame, record, sizeof record) ||
        (record[0] && record[0] <= frame))
        return TT_GUESS_FAILED;
    back = tt_machine_strip(record[1]);
    if (!back && !record[0])
        return TT_GUESS_ROOT;
    if (!tt_machine_follows_call(p, back))
        return TT_GUESS_FAILED;
    r->value[X29] = record[0];
    r->value[X30] = r->value[PC] = back;
    r->value[SP] = frame + 16;
    return TT_GUESS_CALLER;
}

const struct tt_departure tt_machine_by_frame = {.base = TT_REGISTERS};

int tt_machine_leave(const struct tt_departure *how, struct tt_registers *r,
                     struct tt_peek *p)
{
    (void)how, (void)r, (void)p;
    return 0;
}

int tt_machine_follow_frame(struct tt_registers *r, struct tt_peek *p)
{
    (void)r;
    (void)p;
    return 0;
}

/* A frame record is at the lowest address of the frame, or a little above: it has the
 * caller's frame record, which is above it, and the return address. */
int tt_machine_find_frame(struct tt_registers *r, struct tt_peek *p, uint64_t function,
                          int32_t offset)
{
    enum { SPAN = 64 << 10 };
    uint64_t sp = r->value[SP], record[2];

    (void)function, (void)offset;
    for (uint64_t at = (sp + 15) & ~(uint64_t)15; at < sp + SPAN; at += 16) {
        if (!tt_peek_bytes(p, at, record, sizeof record))
            return 0;
        if (record[0] % 16 || (record[0] && record[0] <= at) ||
            !tt_machine_follows_call(p, tt_machine_strip(record[1])))
            continue;
        r->value[X29] = at;
        r->lost &= ~((uint64_t)1 << X29);
        return 1;
    }
    return 0;
}
