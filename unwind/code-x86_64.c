/* SPDX-License-Identifier: MIT */
/* code-x86_64.c - finds a caller by following the code ahead up to the return.
 *
 * Some code has no unwind information: a C library built without tables, start-up files,
 * assembler.  But it does return, so the instructions ahead show what it does to the
 * stack pointer until then.  They are interpreted with the real registers; values that
 * they push are stored, all others are in memory already.
 *
 * A path ends at a return, or where it cannot go on: then the branches that were passed
 * are tried.  A return address is accepted only if it follows a call. */
#include "code.h"

enum { RBX = 3, RSP, RBP, R12 = 12 }; /* as instructions number them */
enum { STEPS = 2000, BRANCHES = 6, SEEN = 64, STORED = 8 };

/* Instructions' numbers of registers, in DWARF's. */
static const uint8_t dwarf[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

/* The value of a register or of a word, and how it follows from the registers at the start. */
enum { LOST, OTHER, SUM, WORD };
struct value {
    uint64_t number;
    int32_t offset;
    uint8_t
        reg; /* SUM: the register at the start, plus the offset; WORD: what is there */
    uint8_t kind; /* LOST: not known; OTHER: known, and neither of the two */
};

struct path {
    uint64_t pc;
    struct value reg[16];
    unsigned stored;
    struct {
        uint64_t at;
        struct value value;
    } store[STORED]; /* the last ones */
};

struct instruction {
    unsigned size, opcode; /* opcode: 0x0fxx for the second table; 0: not understood */
    unsigned rex, mod, reg, rm, base;
    int has_modrm;
    int64_t offset, immediate;
};

struct reading {
    struct tt_peek *peek;
    struct path now, later[BRANCHES];
    unsigned branches, steps, targets;
    int returns;         /* a path came to a return, with a known stack pointer */
    int unread;          /* a word was not readable */
    uint64_t seen[SEEN]; /* targets of jumps */
};

/* ── Decoding ─────────────────────────────────────────────────────────────────────── */

static int has_modrm(unsigned op)
{
    if (op >= 0x0f00)
        return !((op >= 0x0f80 && op <= 0x0f8f) || (op >= 0x0fc8 && op <= 0x0fcf) ||
                 op == 0x0f05 || op == 0x0f0b || op == 0x0f31 || op == 0x0fa2 ||
                 op == 0x0f77 || op == 0x0fa0 || op == 0x0fa1 || op == 0x0fa8 ||
                 op == 0x0fa9);
    if (op < 0x40)
        return (op & 7) < 4;
    return op == 0x63 || op == 0x69 || op == 0x6b || (op >= 0x80 && op <= 0x8f) ||
           op == 0xc0 || op == 0xc1 || op == 0xc6 || op == 0xc7 ||
           (op >= 0xd0 && op <= 0xd3) || (op >= 0xd8 && op <= 0xdf) || op == 0xf6 ||
           op == 0xf7 || op == 0xfe || op == 0xff;
}

/* Bytes of the immediate; `wide` is 4, or 2 with the operand-size prefix. */
static unsigned immediate_size(const struct instruction *i, unsigned wide)
{
    unsigned op = i->opcode;

    if (op >= 0x0f80 && op <= 0x0f8f)
        return 4;
    if (op >= 0x0f00)
        return (op >= 0x0f70 && op <= 0x0f73) || op == 0x0fa4 || op == 0x0fac ||
               op == 0x0fba || op == 0x0fc2 || (op >= 0x0fc4 && op <= 0x0fc6);
    if (op < 0x40)
        return (op & 7) == 4 ? 1 : (op & 7) == 5 ? wide : 0;
    if (op >= 0xb8 && op <= 0xbf)
        return i->rex & 8 ? 8 : wide;
    if ((op >= 0x70 && op <= 0x7f) || (op >= 0xb0 && op <= 0xb7) ||
        (op >= 0xe0 && op <= 0xe7))
        return 1;
    switch (op) {
    case 0x6a:
    case 0x6b:
    case 0x80:
    case 0x83:
    case 0xa8:
    case 0xc0:
    case 0xc1:
    case 0xc6:
    case 0xcd:
    case 0xeb:
        return 1;
    case 0xc2:
        return 2;
    case 0x68:
    case 0x69:
    case 0x81:
    case 0xa9:
    case 0xc7:
        return wide;
    case 0xe8:
    case 0xe9:
        return 4;
    case 0xf6:
        return i->reg & 6 ? 0 : 1;
    case 0xf7:
        return i->reg & 6 ? 0 : wide;
    default:
        return 0;
    }
}

static int64_t number(const uint8_t *at, unsigned size)
{
    uint64_t value = 0;

    memcpy(&value, at, size);
    return size ? (int64_t)(value << (64 - 8 * size)) >> (64 - 8 * size) : 0;
}

/* ModRM, SIB and displacement; how many bytes. */
static unsigned decode_operand(struct instruction *i, const uint8_t *at)
{
    unsigned size = 1, low = at[0] & 7, displacement;

    i->mod = at[0] >> 6;
    i->reg = (at[0] >> 3 & 7) | (i->rex & 4) << 1;
    i->rm = i->base = low | (i->rex & 1) << 3;
    displacement = i->mod == 1 ? 1 : i->mod == 2 ? 4 : 0;
    if (i->mod != 3 && low == 4) {
        i->base = (at[1] & 7) | (i->rex & 1) << 3;
        if ((at[1] & 0x38) != 0x20 || (i->rex & 2))
            i->base = 16; /* with an index: no base that we would reckon with */
        if (i->mod == 0 && (at[1] & 7) == 5)
            displacement = 4;
        size++;
    } else if (i->mod == 0 && low == 5) {
        i->base = 16;
        displacement = 4;
    }
    i->offset = number(at + size, displacement);
    return size + displacement;
}

/* VEX and EVEX: vectors, which do nothing to the stack pointer. */
static unsigned decode_vector(struct instruction *i, const uint8_t *at)
{
    unsigned map = at[0] == 0xc5 ? 1 : at[1] & (at[0] == 0x62 ? 7 : 31);
    unsigned head = at[0] == 0xc5 ? 2 : at[0] == 0xc4 ? 3 : 4;

    i->opcode = 0x0f00 | at[head];
    if (map == 1 && at[head] == 0x77)
        return head + 1;
    head += 1 + decode_operand(i, at + head + 1);
    if (map == 3 || (map == 1 && immediate_size(i, 4)))
        head++;
    i->opcode = 0x0f10; /* as a move of vectors */
    return head;
}

/* 16 readable bytes. */
static struct instruction decode(const uint8_t *code)
{
    struct instruction i = {.base = 16};
    const uint8_t *at = code;
    unsigned wide = 4, n;

    while (*at == 0x66 || *at == 0xf2 || *at == 0xf3 || *at == 0x2e || *at == 0x3e ||
           *at == 0x64 || *at == 0x65 || *at == 0xf0) {
        wide = *at == 0x66 ? 2 : wide;
        if (++at == code + 8)
            return i;
    }
    if (*at == 0xc4 || *at == 0xc5 || *at == 0x62) {
        i.size = (unsigned)(at - code) + decode_vector(&i, at);
        return i;
    }
    if ((*at & 0xf0) == 0x40)
        i.rex = *at++;
    i.opcode = *at++;
    if (i.opcode == 0x0f) {
        i.opcode = 0x0f00 | *at++;
        if (i.opcode == 0x0f38 || i.opcode == 0x0f3a) {
            n = i.opcode == 0x0f3a;
            i.opcode = 0x0f10;
            at++;
            at += decode_operand(&i, at) + n;
            i.size = (unsigned)(at - code);
            return i;
        }
    }
    i.has_modrm = has_modrm(i.opcode);
    if (i.has_modrm)
        at += decode_operand(&i, at);
    n = immediate_size(&i, wide);
    i.immediate = number(at, n < 8 ? n : 8);
    i.size = (unsigned)(at - code) + n;
    return i;
}

/* ── What instructions do to the stack ────────────────────────────────────────────── */

static int knows(const struct path *p, unsigned reg)
{
    return reg < 16 && p->reg[reg].kind != LOST;
}

static void lose(struct path *p, unsigned reg)
{
    if (reg < 16)
        p->reg[reg] = (struct value){0};
}

static struct value add(struct value v, int64_t n)
{
    int64_t offset = v.offset + n;

    if (v.kind == LOST)
        return v;
    v.number += (uint64_t)n;
    if (v.kind == SUM && offset == (int32_t)offset)
        v.offset = (int32_t)offset;
    else
        v.kind = OTHER;
    return v;
}

/* Stores the later value of the word at the address. */
static void store(struct path *p, uint64_t at, struct value v)
{
    if (p->stored == STORED) {
        memmove(p->store, p->store + 1, (STORED - 1) * sizeof *p->store);
        p->stored--;
    }
    p->store[p->stored].at = at;
    p->store[p->stored++].value = v;
}

static struct value load(struct reading *r, const struct path *p, struct value at)
{
    struct value v = {.kind = OTHER};

    if (at.kind == LOST)
        return at;
    for (unsigned i = p->stored; i-- > 0;)
        if (p->store[i].at == at.number)
            return p->store[i].value;
    if (!tt_peek_word(r->peek, at.number, &v.number)) {
        r->unread = 1;
        return (struct value){0};
    }
    if (at.kind == SUM) {
        v.kind = WORD;
        v.reg = at.reg;
        v.offset = at.offset;
    }
    return v;
}

static void push(struct path *p, struct value v)
{
    p->reg[RSP] = add(p->reg[RSP], -8);
    if (knows(p, RSP))
        store(p, p->reg[RSP].number, v);
}

static void pop(struct reading *r, struct path *p, unsigned reg)
{
    struct value v = load(r, p, p->reg[RSP]);

    p->reg[RSP] = add(p->reg[RSP], 8);
    if (reg != RSP)
        p->reg[reg] = v;
    else
        lose(p, RSP);
}

/* mov between a register and the stack, where functions save registers. */
static void do_stack(struct reading *r, struct path *p, const struct instruction *i)
{
    struct value at = add(p->reg[RSP], i->offset);
    int ours = i->base == RSP && (i->rex & 8);

    if (i->opcode == 0x8b)
        p->reg[i->reg] = ours ? load(r, p, at) : (struct value){0};
    else if (ours && at.kind != LOST)
        store(p, at.number, p->reg[i->reg]);
}

/* add, sub, and the others with an immediate, on a register. */
static void do_immediate(struct path *p, const struct instruction *i)
{
    unsigned what = i->reg & 7;

    if (i->mod != 3 || what == 7) /* memory, or a comparison */
        return;
    if ((i->rex & 8) && (what == 0 || what == 5))
        p->reg[i->rm] = add(p->reg[i->rm], what == 0 ? i->immediate : -i->immediate);
    else
        lose(p, i->rm);
}

static void do_move(struct path *p, const struct instruction *i, unsigned to,
                    unsigned from)
{
    if (i->rex & 8)
        p->reg[to] = p->reg[from];
    else
        lose(p, to);
}

/* Instructions that write a register in general: its value is lost. */
static void do_other(struct path *p, const struct instruction *i)
{
    unsigned op = i->opcode, low = op & 7;

    if (op < 0x40 && (op & 0x38) != 0x38 && low < 4) { /* arithmetic, not cmp */
        if (low >= 2)
            lose(p, i->reg);
        else if (i->mod == 3)
            lose(p, i->rm);
    } else if (op == 0x63 || op == 0x69 || op == 0x6b || op == 0x8a || op == 0x0faf ||
               (op >= 0x0f40 && op <= 0x0f4f) || (op >= 0x0fb6 && op <= 0x0fbf)) {
        lose(p, i->reg);
    } else if (op >= 0xb0 && op <= 0xbf) {
        lose(p, (op & 7) | (i->rex & 1) << 3);
    } else if (i->mod == 3 && i->has_modrm &&
               (op == 0x86 || op == 0x87 || op == 0x88 || op == 0xc0 || op == 0xc1 ||
                op == 0xc6 || op == 0xc7 || (op >= 0xd0 && op <= 0xd3) || op == 0xf6 ||
                op == 0xf7 || op == 0xfe || op == 0xff ||
                (op >= 0x0f90 && op <= 0x0f9f))) {
        lose(p, i->rm);
    }
}

static void do_plain(struct reading *r, struct path *p, const struct instruction *i)
{
    unsigned op = i->opcode, reg = (op & 7) | (i->rex & 1) << 3;

    if (op >= 0x50 && op <= 0x57)
        push(p, p->reg[reg]);
    else if (op >= 0x58 && op <= 0x5f)
        pop(r, p, reg);
    else if (op == 0x68 || op == 0x6a || (op == 0xff && (i->reg & 7) == 6) || op == 0x9c)
        push(p, (struct value){0});
    else if (op == 0x8f || op == 0x9d)
        p->reg[RSP] = add(p->reg[RSP], 8); /* to memory; the flags */
    else if (op == 0x81 || op == 0x83)
        do_immediate(p, i);
    else if (op == 0x89 && i->mod == 3)
        do_move(p, i, i->rm, i->reg);
    else if (op == 0x8b && i->mod == 3)
        do_move(p, i, i->reg, i->rm);
    else if (op == 0x89 || op == 0x8b)
        do_stack(r, p, i);
    else if (op == 0x8d)
        p->reg[i->reg] = (i->rex & 8) && i->base < 16 ? add(p->reg[i->base], i->offset)
                                                      : (struct value){0};
    else if (op == 0xc9) {
        p->reg[RSP] = p->reg[RBP];
        pop(r, p, RBP);
    } else {
        do_other(p, i);
    }
}

/* After a call the registers that callees may change are lost. */
static void do_call(struct path *p)
{
    for (unsigned i = 0; i < 12; i++)
        if (i < 3 || i > 5) /* all but rbx, rsp, rbp, r12 to r15 */
            lose(p, i);
}

/* ── Paths ────────────────────────────────────────────────────────────────────────── */

enum going { GO_ON, GO_RETURN, GO_NOWHERE };

/* 1 the first time: each target of a jump is followed once, so that loops end. */
static int is_new(struct reading *r, uint64_t pc)
{
    for (unsigned i = 0; i < r->targets; i++)
        if (r->seen[i] == pc)
            return 0;
    if (r->targets == SEEN)
        return 0;
    r->seen[r->targets++] = pc;
    return 1;
}

static void branch(struct reading *r, uint64_t pc)
{
    if (r->branches < BRANCHES && is_new(r, pc)) {
        r->later[r->branches] = r->now;
        r->later[r->branches++].pc = pc;
    }
}

/* After a call that does not return there is only padding up to the next function. */
static int is_filling(const struct instruction *i, uint64_t pc)
{
    return (pc & 15) != 0 &&
           (i->opcode == 0x90 || i->opcode == 0x0f1f || i->opcode == 0xcc);
}

static enum going do_jump(struct reading *r, const struct instruction *i)
{
    struct path *p = &r->now;
    unsigned op = i->opcode;
    uint64_t target = p->pc + (uint64_t)i->immediate;

    if (op == 0xe9 || op == 0xeb) {
        p->pc = target;
        return is_new(r, target) ? GO_ON : GO_NOWHERE;
    }
    if ((op >= 0x70 && op <= 0x7f) || (op >= 0x0f80 && op <= 0x0f8f) ||
        (op >= 0xe0 && op <= 0xe3))
        branch(r, target);
    else if (op == 0xc3 || op == 0xc2)
        return GO_RETURN;
    else if (op == 0xff && (i->reg & 7) == 4) /* a call at the end, or a switch */
        return i->mod == 0 && i->base == 16 ? GO_RETURN : GO_NOWHERE;
    else if (op == 0xf4 || op == 0x0f0b || op == 0xcc)
        return GO_NOWHERE;
    else if (op == 0xe8 || (op == 0xff && (i->reg & 7) == 2))
        do_call(p);
    else
        do_plain(r, p, i);
    return GO_ON;
}

static enum going go_path(struct reading *r)
{
    struct path *p = &r->now;
    int called = 0;

    while (r->steps++ < STEPS) {
        uint8_t code[32] = {0};
        struct instruction i;
        enum going going;
        /* sixteen bytes, or fewer at the end of the page */
        if (!tt_peek_bytes(r->peek, p->pc, code, 16) &&
            !tt_peek_bytes(r->peek, p->pc, code, 16 - (p->pc & 15))) {
            r->unread = 1;
            return GO_NOWHERE;
        }
        i = decode(code);
        if (!i.opcode || (called && is_filling(&i, p->pc)))
            return GO_NOWHERE;
        called = i.opcode == 0xe8;
        p->pc += i.size;
        if ((going = do_jump(r, &i)) != GO_ON)
            return going;
    }
    return GO_NOWHERE;
}

/* Registers that callees keep: those of tt_departure.saved. */
static const uint8_t keeps[TT_DEPARTURE_SAVED] = {RBP,     RBX,     R12,
                                                  R12 + 1, R12 + 2, R12 + 3};

/* No frame is as large as the others. */
static int is_near(int32_t offset)
{
    enum { LARGE = 1 << 24 };

    return offset > -LARGE && offset < LARGE;
}

/* The place of a register's value for the caller; 0: it is not known in this way. */
static int describe_saved(const struct value *v, unsigned reg,
                          const struct tt_departure *how, int32_t *place)
{
    const int is_same = v->kind == SUM && v->reg == reg && v->offset == 0;

    *place = v->kind == LOST ? TT_DEPARTURE_LOST : TT_DEPARTURE_SAME;
    if (v->kind == LOST || is_same)
        return 1;
    *place = v->offset - how->offset;
    return is_near(v->offset) && v->kind == WORD && dwarf[v->reg] == how->base;
}

/* What the path did does not depend on the values: it is the same whenever the code is left from
 * here.  So it is described by the registers at the start. */
static void describe(const struct path *p, struct value pc, struct tt_departure *how)
{
    const struct value *sp = &p->reg[RSP];

    if (!is_near(sp->offset) || pc.kind != WORD || sp->kind != SUM || pc.reg != sp->reg ||
        pc.offset != sp->offset)
        return;
    how->base = dwarf[sp->reg];
    how->offset = sp->offset + 8;
    for (unsigned i = 0; i < TT_DEPARTURE_SAVED; i++)
        if (!describe_saved(&p->reg[keeps[i]], keeps[i], how, &how->saved[i])) {
            how->base = TT_REGISTERS;
            return;
        }
}

/* Takes the return at the end of the path; 0: it is invalid. */
static int take_return(struct reading *r, struct tt_registers *to,
                       struct tt_departure *how)
{
    struct path *p = &r->now;
    const struct value pc = load(r, p, p->reg[RSP]);

    if (pc.kind == LOST || !tt_machine_follows_call(r->peek, pc.number))
        return 0;
    if (!r->returns && !r->unread) /* else an earlier path may be right elsewhere */
        describe(p, pc, how);
    p->reg[RSP] = add(p->reg[RSP], 8);
    for (unsigned i = 0; i < 16; i++)
        if (knows(p, i)) {
            to->value[dwarf[i]] = p->reg[i].number;
            to->lost &= ~((uint64_t)1 << dwarf[i]);
        }
    to->value[TT_REGISTER_PC] = pc.number;
    return 1;
}

static void begin_reading(struct reading *r, const struct tt_registers *from,
                          struct tt_peek *peek)
{
    r->peek = peek;
    r->branches = r->steps = r->targets = 0;
    r->returns = r->unread = 0;
    r->now.pc = from->value[TT_REGISTER_PC];
    r->now.stored = 0;
    for (unsigned i = 0; i < 16; i++) {
        r->now.reg[i] = (struct value){
            .number = from->value[dwarf[i]], .reg = (uint8_t)i, .kind = SUM};
        if (from->lost >> dwarf[i] & 1)
            lose(&r->now, i);
    }
}

int tt_code_leave(struct tt_registers *registers, struct tt_peek *peek, int exact,
                  struct tt_departure *how)
{
    struct reading r;

    how->base = TT_REGISTERS;
    begin_reading(&r, registers, peek);
    if (!exact)
        do_call(&r.now);
    for (;;) {
        if (go_path(&r) == GO_RETURN) {
            if (take_return(&r, registers, how))
                return 1;
            r.returns |= knows(&r.now, RSP);
        }
        if (!r.branches || r.steps >= STEPS)
            return r.returns || r.unread ? 0 : -1;
        r.now = r.later[--r.branches];
    }
}

int tt_code_follow(const struct tt_departure *how, struct tt_registers *r,
                   struct tt_peek *peek)
{
    const uint64_t cfa = r->value[how->base] + (uint64_t)(int64_t)how->offset;
    struct tt_registers next = *r;
    uint64_t *pc = &next.value[TT_REGISTER_PC];

    if ((r->lost >> how->base & 1) || cfa % 8 || cfa <= r->value[TT_REGISTER_SP] ||
        !tt_peek_word(peek, cfa - 8, pc))
        return 0;
    next.value[TT_REGISTER_SP] = cfa;
    for (unsigned i = 0; i < TT_DEPARTURE_SAVED; i++) {
        const int32_t place = how->saved[i];
        const unsigned reg = dwarf[keeps[i]];
        if (place == TT_DEPARTURE_SAME || place == TT_DEPARTURE_LOST)
            continue;
        if (!tt_peek_word(peek, cfa + (uint64_t)(int64_t)place, &next.value[reg]))
            return 0;
        next.lost &= ~((uint64_t)1 << reg);
    }
    *r = next;
    return 1;
}

/* ── A frame pointer that is lost ─────────────────────────────────────────────────── */

static int is_jump(const struct instruction *i)
{
    unsigned op = i->opcode;

    return (op >= 0x70 && op <= 0x7f) || (op >= 0x0f80 && op <= 0x0f8f) ||
           (op >= 0xe0 && op <= 0xe3) || op == 0xe8 || op == 0xe9 || op == 0xeb ||
           op == 0xc3 || op == 0xc2 ||
           (op == 0xff && (i->reg & 7) >= 2 && (i->reg & 7) <= 5);
}

/* How far above the stack pointer the frame pointer is, once the function's first
 * instructions have made its frame, or those before `pc`. */
static int frame_size(struct tt_peek *peek, uint64_t function, uint64_t pc,
                      uint64_t *size)
{
    enum { FIRST = 64 };
    static const uint64_t top = (uint64_t)1 << 62; /* where nothing is */
    struct reading r = {.peek = peek};
    struct path *p = &r.now;

    p->pc = function;
    for (unsigned i = 0; i < 16; i++)
        lose(p, i);
    p->reg[RSP] = (struct value){.number = top, .kind = OTHER};
    for (int n = 0; n < FIRST && p->pc < pc; n++) {
        uint8_t code[32] = {0};
        struct instruction i;
        if (!tt_peek_bytes(peek, p->pc, code, 16))
            break;
        i = decode(code);
        if (!i.opcode || is_jump(&i))
            break;
        p->pc += i.size;
        do_plain(&r, p, &i);
    }
    *size = p->reg[RBP].number - p->reg[RSP].number;
    return knows(p, RBP) && knows(p, RSP) && p->reg[RBP].number >= p->reg[RSP].number;
}

/* The call before a return address: what it may have called, the likeliest last. */
enum called { CALLED_NOTHING, CALLED_OTHER, CALLED_SOMETHING, CALLED_IT };

/* Does the code at `at` continue in the function, by a jump near its beginning? */
static int jumps_to(struct tt_peek *p, uint64_t at, uint64_t function)
{
    enum { NEAR = 32, JUMP = 5 };
    uint8_t code[NEAR + JUMP];

    if (!tt_peek_bytes(p, at, code, sizeof code))
        return 0;
    for (unsigned i = 0; i < NEAR; i++)
        if (code[i] == 0xe9 &&
            at + i + JUMP + (uint64_t)number(code + i + 1, 4) == function)
            return 1;
    return 0;
}

/* The call may have gone to the function, to code that jumps to it, or to a PLT jump to
 * one of them in another library. */
static int leads_to(struct tt_peek *p, uint64_t at, uint64_t function)
{
    static const uint8_t mark[] = {0xf3, 0x0f, 0x1e, 0xfa}; /* endbr64 */
    uint8_t code[16];
    const uint8_t *c = code;

    if (at == function || jumps_to(p, at, function))
        return 1;
    if (!tt_peek_bytes(p, at, code, sizeof code))
        return 0;
    if (memcmp(c, mark, sizeof mark) == 0)
        c += sizeof mark;
    if (*c == 0xf2)
        c++;
    if (c[0] != 0xff || c[1] != 0x25)
        return 0;
    at += (uint64_t)(c - code) + 6 + (uint64_t)number(c + 2, 4);
    return tt_peek_word(p, at, &at) && (at == function || jumps_to(p, at, function));
}

static enum called find_called(struct tt_peek *p, uint64_t pc, uint64_t function)
{
    uint8_t code[6];
    uint64_t target;

    if (!tt_machine_follows_call(p, pc) || !tt_peek_bytes(p, pc - 6, code, sizeof code))
        return CALLED_NOTHING;
    if (!function)
        return CALLED_SOMETHING;
    target = pc + (uint64_t)number(code + 2, 4);
    if (code[0] == 0xff && code[1] == 0x15)
        return tt_peek_word(p, target, &target) && leads_to(p, target, function)
                   ? CALLED_IT
                   : CALLED_OTHER;
    if (code[1] != 0xe8)
        return CALLED_SOMETHING;
    return leads_to(p, target, function) ? CALLED_IT : CALLED_OTHER;
}

/* How likely is it that the caller's frame pointer is saved there, with a return address
 * above it?  0: impossible. */
static unsigned weigh(struct tt_peek *p, uint64_t at, uint64_t function)
{
    uint64_t kept, pc;
    enum called called;

    if (!tt_peek_word(p, at, &kept) || !tt_peek_word(p, at + 8, &pc) || pc < 4096 ||
        (pc >= p->low && pc < p->high))
        return 0;
    called = find_called(p, pc, function);
    return called ? 2 * called + (kept < 2 || (kept > at && kept % 8 == 0)) : 0;
}

/* Remains of earlier frames can look like a frame, too: a frame whose call was of this
 * function is preferred. */
static uint64_t search_frame(struct tt_peek *p, uint64_t sp, uint64_t function)
{
    enum { SPAN = 64 << 10 };
    uint64_t found = 0;
    unsigned best = 0, now;

    for (uint64_t at = sp; at < sp + SPAN && best < 2 * CALLED_IT; at += 8) {
        now = weigh(p, at, function);
        if (now > best) {
            best = now;
            found = at;
        }
    }
    return found;
}

int tt_code_find_frame(struct tt_registers *r, struct tt_peek *peek, uint64_t function,
                       int32_t offset)
{
    enum { FRAME = 16 }; /* the caller's frame pointer, and the return address */
    uint64_t sp = r->value[TT_REGISTER_SP], size, at;

    if (sp % 8)
        return 0;
    if (function && frame_size(peek, function, r->value[TT_REGISTER_PC], &size) &&
        size % 8 == 0 && weigh(peek, sp + size + (uint64_t)offset - FRAME, function))
        at = sp + size + (uint64_t)offset - FRAME;
    else
        at = search_frame(peek, sp, function);
    if (!at)
        return 0;
    r->value[TT_REGISTER_FP] = at + FRAME - (uint64_t)offset;
    r->lost &= ~((uint64_t)1 << TT_REGISTER_FP);
    return 1;
}
