/* SPDX-License-Identifier: MIT */
/* expression.c - evaluates DWARF expressions, for the few frames that need arithmetic.
 *
 * Linkers write one for PLTs, the C library for signal trampolines, compilers for
 * functions that realign their stack, and assembler programmers anywhere.  The machine
 * has a stack; ours has no backward jumps, so that every expression ends. */
#include "expression.h"

#include "byte-reader.h"

enum { DEPTH = 16 };

struct machine {
    const struct tt_registers *registers;
    struct tt_peek *peek;
    struct tt_byte_reader s;
    uint64_t stack[DEPTH];
    unsigned depth;
    int bad;
};

static uint64_t fail(struct machine *m)
{
    m->bad = 1;
    return 0;
}

static void push(struct machine *m, uint64_t value)
{
    if (m->depth < DEPTH)
        m->stack[m->depth++] = value;
    else
        fail(m);
}

static uint64_t pop(struct machine *m)
{
    return m->depth ? m->stack[--m->depth] : fail(m);
}

/* The n-th from the top. */
static uint64_t pick(struct machine *m, uint64_t n)
{
    return n < m->depth ? m->stack[m->depth - 1 - n] : fail(m);
}

static uint64_t register_of(struct machine *m, uint64_t reg)
{
    return reg < TT_REGISTERS && !(m->registers->lost >> reg & 1)
               ? m->registers->value[reg]
               : fail(m);
}

static void dereference(struct machine *m, uint64_t size)
{
    uint64_t value = 0;

    if (size > 8 || !tt_peek_bytes(m->peek, pop(m), &value, size))
        fail(m);
    push(m, value);
}

static void skip(struct machine *m, int64_t distance)
{
    if (distance < 0 || distance > m->s.end - m->s.at)
        fail(m);
    else
        m->s.at += distance;
}

static uint64_t compute(struct machine *m, unsigned op, uint64_t a, uint64_t b)
{
    switch (op) {
    case 0x1a:
        return a & b;
    case 0x1b:
        return b && b != ~(uint64_t)0 ? (uint64_t)((int64_t)a / (int64_t)b) : fail(m);
    case 0x1c:
        return a - b;
    case 0x1d:
        return b ? a % b : fail(m);
    case 0x1e:
        return a * b;
    case 0x21:
        return a | b;
    case 0x22:
        return a + b;
    case 0x24:
        return b < 64 ? a << b : 0;
    case 0x25:
        return b < 64 ? a >> b : 0;
    case 0x26:
        return b < 63 ? (uint64_t)((int64_t)a >> b) : -(a >> 63);
    case 0x27:
        return a ^ b;
    case 0x29:
        return a == b;
    case 0x2a:
        return (int64_t)a >= (int64_t)b;
    case 0x2b:
        return (int64_t)a > (int64_t)b;
    case 0x2c:
        return (int64_t)a <= (int64_t)b;
    case 0x2d:
        return (int64_t)a < (int64_t)b;
    case 0x2e:
        return a != b;
    default:
        return fail(m);
    }
}

static void step_binary(struct machine *m, unsigned op)
{
    uint64_t b = pop(m), a = pop(m);

    push(m, compute(m, op, a, b));
}

/* 1 if it was a constant. */
static int step_constant(struct machine *m, unsigned op)
{
    struct tt_byte_reader *s = &m->s;

    switch (op) {
    case 0x03: /* addr */
    case 0x0e: /* const8u */
    case 0x0f: /* const8s */
        push(m, tt_byte_reader_number(s, 8));
        return 1;
    case 0x08: /* const1u, const1s, and so on */
        push(m, tt_byte_reader_number(s, 1));
        return 1;
    case 0x09:
        push(m, (uint64_t)tt_byte_reader_signed(s, 1));
        return 1;
    case 0x0a:
        push(m, tt_byte_reader_number(s, 2));
        return 1;
    case 0x0b:
        push(m, (uint64_t)tt_byte_reader_signed(s, 2));
        return 1;
    case 0x0c:
        push(m, tt_byte_reader_number(s, 4));
        return 1;
    case 0x0d:
        push(m, (uint64_t)tt_byte_reader_signed(s, 4));
        return 1;
    case 0x10: /* constu */
        push(m, tt_byte_reader_uleb(s));
        return 1;
    case 0x11: /* consts */
        push(m, (uint64_t)tt_byte_reader_sleb(s));
        return 1;
    default:
        return 0;
    }
}

/* Operations that move on the stack, or within the expression. */
static int step_move(struct machine *m, unsigned op)
{
    uint64_t a, b;

    switch (op) {
    case 0x12: /* dup */
        push(m, pick(m, 0));
        return 1;
    case 0x13: /* drop */
        pop(m);
        return 1;
    case 0x14: /* over */
        push(m, pick(m, 1));
        return 1;
    case 0x15: /* pick */
        push(m, pick(m, tt_byte_reader_number(&m->s, 1)));
        return 1;
    case 0x16: /* swap */
        b = pop(m);
        a = pop(m);
        push(m, b);
        push(m, a);
        return 1;
    case 0x28: /* bra */
        a = (uint64_t)tt_byte_reader_signed(&m->s, 2);
        if (pop(m))
            skip(m, (int64_t)a);
        return 1;
    case 0x2f: /* skip */
        skip(m, tt_byte_reader_signed(&m->s, 2));
        return 1;
    case 0x96: /* nop */
        return 1;
    default:
        return 0;
    }
}

static void step_other(struct machine *m, unsigned op)
{
    uint64_t reg;

    switch (op) {
    case 0x06:
        dereference(m, 8);
        return;
    case 0x94: /* deref_size */
        dereference(m, tt_byte_reader_number(&m->s, 1));
        return;
    case 0x1f: /* neg */
        push(m, -pop(m));
        return;
    case 0x20: /* not */
        push(m, ~pop(m));
        return;
    case 0x23: /* plus_uconst */
        push(m, pop(m) + tt_byte_reader_uleb(&m->s));
        return;
    case 0x92: /* bregx */
        reg = tt_byte_reader_uleb(&m->s);
        push(m, register_of(m, reg) + (uint64_t)tt_byte_reader_sleb(&m->s));
        return;
    default:
        if (!step_constant(m, op) && !step_move(m, op))
            step_binary(m, op);
    }
}

static void step(struct machine *m, unsigned op)
{
    if (op >= 0x30 && op <= 0x4f) /* lit0 ... */
        push(m, op - 0x30);
    else if (op >= 0x70 && op <= 0x8f) /* breg0 ... */
        push(m, register_of(m, op - 0x70) + (uint64_t)tt_byte_reader_sleb(&m->s));
    else
        step_other(m, op);
}

int tt_expression_evaluate(const struct tt_rules *rules, uint32_t place,
                           const struct tt_registers *registers, struct tt_peek *peek,
                           const uint64_t *first, uint64_t *value)
{
    struct machine m = {.registers = registers, .peek = peek};
    size_t size = 0;

    *value = 0;
    if (!(m.s.at = tt_frame_bytes(&rules->info, place, &size)))
        return 0;
    m.s.end = m.s.at + size;
    size = (size_t)tt_byte_reader_uleb(&m.s);
    if ((size_t)(m.s.end - m.s.at) < size)
        return 0;
    m.s.end = m.s.at + size;
    if (first)
        push(&m, *first);
    while (m.s.at < m.s.end && !m.bad && !m.s.bad)
        step(&m, *m.s.at++);
    *value = pop(&m);
    return !m.bad && !m.s.bad;
}
