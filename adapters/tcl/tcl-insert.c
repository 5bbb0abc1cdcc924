/* SPDX-License-Identifier: MIT */
/* tcl-insert.c - puts instructions into byte-code that Tcl has compiled.
 *
 *      0  push1 3                        0  push1 9 ┐
 *      2  jumpTrue1 +4  ─┐               2  ...     ┘ inserted
 *      4  push1 5        │               8  push1 3
 *      6  pop  ◀─────────┘              10  jumpTrue1 +4 ...
 *
 * First the new place of each instruction is computed: a short jump that does not reach
 * any more becomes a long one, which moves others, until nothing moves.  Then everything
 * with an offset is written again: jumps and their tables, loops over lists, ranges of
 * exceptions, and the table of commands. */
#include "tcl-insert.h"

#include <stdlib.h>
#include <string.h>

struct layout {
    CompileEnv *env;
    const InstructionDesc *table;
    struct tt_tcl_insertion *in;
    int count, size, grown;
    int *to;    /* where a jump to an offset goes, by old offset; -1: no instruction */
    int *place; /* where the instruction itself is */
    char *longer, *fixed; /* jumps that become long ones; that may not */
};

static int byte_at(const struct layout *l, int at) { return l->env->codeStart[at]; }

static int operand_at(const unsigned char *p, int bytes)
{
    return bytes == 1 ? (signed char)*p : TclGetInt4AtPtr(p);
}

/* Returns where an instruction has its jump offset, and its size in bytes; 0: it has
 * none. */
static int jump_in(const InstructionDesc *d, int *bytes)
{
    int at = 1;

    for (int i = 0; i < d->numOperands; i++) {
        InstOperandType type = d->opTypes[i];
        *bytes = type == OPERAND_OFFSET1 ? 1 : 4;
        if (type == OPERAND_OFFSET1 || type == OPERAND_OFFSET4)
            return at;
        at += type == OPERAND_INT1 || type == OPERAND_UINT1 || type == OPERAND_LVT1 ||
                      type == OPERAND_LIT1 || type == OPERAND_SCLS1
                  ? 1
                  : 4;
    }
    return 0;
}

static int is_target(const struct layout *l, int at)
{
    return at >= 0 && at <= l->size && l->to[at] >= 0;
}

/* ── Reading ──────────────────────────────────────────────────────────────────────── */

static JumptableInfo *jumps_at(const struct layout *l, int at)
{
    return l->env->auxDataArrayPtr[TclGetUInt4AtPtr(l->env->codeStart + at + 1)]
        .clientData;
}

static ForeachInfo *loop_at(const struct layout *l, int at)
{
    return l->env->auxDataArrayPtr[TclGetUInt4AtPtr(l->env->codeStart + at + 1)]
        .clientData;
}

static int length_at(const struct layout *l, int at)
{
    return l->table[byte_at(l, at)].numBytes;
}

static int find_instructions(struct layout *l)
{
    enum { BRANCHES = 10 }; /* bytes of short jumps after a branch by return code */
    int at = 0;

    memset(l->to, 0xff, ((size_t)l->size + 1) * sizeof *l->to);
    while (at < l->size && byte_at(l, at) <= LAST_INST_OPCODE && length_at(l, at) > 0) {
        l->to[at] = 0;
        if (byte_at(l, at) == INST_RETURN_CODE_BRANCH && at + 1 + BRANCHES <= l->size)
            memset(l->fixed + at + 1, 1, BRANCHES);
        at += length_at(l, at);
    }
    l->to[l->size] = 0;
    return at == l->size ? 0 : -1;
}

static int targets_are_known(const struct layout *l, int at)
{
    int bytes, operand = jump_in(&l->table[byte_at(l, at)], &bytes);
    Tcl_HashSearch search;

    if (operand)
        return is_target(l, at + operand_at(l->env->codeStart + at + operand, bytes));
    if (byte_at(l, at) == INST_FOREACH_START)
        return is_target(l, at + 5 - loop_at(l, at)->loopCtTemp);
    if (byte_at(l, at) == INST_JUMP_TABLE)
        for (Tcl_HashEntry *e = Tcl_FirstHashEntry(&jumps_at(l, at)->hashTable, &search);
             e; e = Tcl_NextHashEntry(&search))
            if (!is_target(l, at + (int)(intptr_t)Tcl_GetHashValue(e)))
                return 0;
    return 1;
}

static int is_range(const struct layout *l, int at, int length)
{
    return is_target(l, at) && length >= 0 && is_target(l, at + length);
}

/* An offset of -1 is none. */
static int is_none_or_target(const struct layout *l, int at)
{
    return at == -1 || is_target(l, at);
}

static int ranges_are_known(const struct layout *l)
{
    for (int i = 0; i < l->env->exceptArrayNext; i++) {
        const ExceptionRange *r = &l->env->exceptArrayPtr[i];
        if (!is_range(l, r->codeOffset, r->numCodeBytes) ||
            (r->type == CATCH_EXCEPTION_RANGE
                 ? !is_none_or_target(l, r->catchOffset)
                 : !is_none_or_target(l, r->breakOffset) ||
                       !is_none_or_target(l, r->continueOffset)))
            return 0;
    }
    for (int i = 0; i < l->env->numCommands; i++)
        if (!is_range(l, l->env->cmdMapPtr[i].codeOffset,
                      l->env->cmdMapPtr[i].numCodeBytes))
            return 0;
    return 1;
}

static int is_known(const struct layout *l)
{
    for (int at = 0; at < l->size; at += length_at(l, at))
        if (!targets_are_known(l, at))
            return 0;
    for (int i = 0; i < l->count; i++)
        if (!is_target(l, l->in[i].at) || l->fixed[l->in[i].at])
            return 0;
    return ranges_are_known(l);
}

/* ── Placing ──────────────────────────────────────────────────────────────────────── */

static int by_place(const void *a, const void *b)
{
    const struct tt_tcl_insertion *x = a, *y = b;

    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static void place_all(struct layout *l)
{
    const struct tt_tcl_insertion *in = l->in, *end = l->in + l->count;
    int now = 0, at = 0;

    for (;;) {
        l->to[at] = now;
        for (; in < end && in->at == at; in++)
            now += in->size;
        l->place[at] = now;
        if (at == l->size)
            break;
        now += length_at(l, at) + (l->longer[at] ? 3 : 0);
        at += length_at(l, at);
    }
    l->grown = now;
}

static int jump_from(const struct layout *l, int at, int operand, int bytes)
{
    return l->to[at + operand_at(l->env->codeStart + at + operand, bytes)] - l->place[at];
}

/* 1: some jumps became longer, 0: none, -1: one cannot. */
static int lengthen(struct layout *l)
{
    int changed = 0, bytes, operand, jump;

    for (int at = 0; at < l->size; at += length_at(l, at)) {
        operand = jump_in(&l->table[byte_at(l, at)], &bytes);
        if (!operand || bytes != 1 || l->longer[at])
            continue;
        jump = jump_from(l, at, operand, bytes);
        if (jump >= -128 && jump <= 127)
            continue;
        if (l->fixed[at])
            return -1;
        l->longer[at] = 1;
        changed = 1;
    }
    return changed;
}

/* ── Writing ──────────────────────────────────────────────────────────────────────── */

static void put_jump(unsigned char *to, int jump, int bytes)
{
    if (bytes == 1)
        TclStoreInt1AtPtr(jump, to);
    else
        TclStoreInt4AtPtr(jump, to);
}

static int long_form(int instruction)
{
    switch (instruction) {
    case INST_JUMP1:
        return INST_JUMP4;
    case INST_JUMP_TRUE1:
        return INST_JUMP_TRUE4;
    default:
        return INST_JUMP_FALSE4;
    }
}

static void move_tables(const struct layout *l, int at)
{
    Tcl_HashSearch search;
    ForeachInfo *loop;

    if (byte_at(l, at) == INST_FOREACH_START) {
        loop = loop_at(l, at);
        loop->loopCtTemp = l->place[at] + 5 - l->place[at + 5 - loop->loopCtTemp];
    }
    if (byte_at(l, at) != INST_JUMP_TABLE)
        return;
    for (Tcl_HashEntry *e = Tcl_FirstHashEntry(&jumps_at(l, at)->hashTable, &search); e;
         e = Tcl_NextHashEntry(&search)) {
        int to = l->to[at + (int)(intptr_t)Tcl_GetHashValue(e)];
        Tcl_SetHashValue(e, (ClientData)(intptr_t)(to - l->place[at]));
    }
}

static void write_instruction(const struct layout *l, unsigned char *out, int at)
{
    int bytes, operand = jump_in(&l->table[byte_at(l, at)], &bytes);
    unsigned char *to = out + l->place[at];

    memcpy(to, l->env->codeStart + at, (size_t)length_at(l, at));
    if (l->longer[at]) {
        *to = (unsigned char)long_form(*to);
        put_jump(to + 1, jump_from(l, at, operand, bytes), 4);
    } else if (operand) {
        put_jump(to + operand, jump_from(l, at, operand, bytes), bytes);
    }
    move_tables(l, at);
}

static void write_insertions(const struct layout *l, unsigned char *out)
{
    int now = 0, at = -1;

    for (int i = 0; i < l->count; i++) {
        const struct tt_tcl_insertion *in = &l->in[i];
        if (in->at != at)
            now = l->to[in->at];
        at = in->at;
        memcpy(out + now, in->code, (size_t)in->size);
        now += in->size;
    }
}

static void move(const struct layout *l, int *offset)
{
    if (*offset >= 0)
        *offset = l->to[*offset];
}

static void move_ranges(const struct layout *l)
{
    for (int i = 0; i < l->env->exceptArrayNext; i++) {
        ExceptionRange *r = &l->env->exceptArrayPtr[i];
        r->numCodeBytes = l->to[r->codeOffset + r->numCodeBytes] - l->to[r->codeOffset];
        r->codeOffset = l->to[r->codeOffset];
        if (r->type == CATCH_EXCEPTION_RANGE) {
            move(l, &r->catchOffset);
        } else {
            move(l, &r->breakOffset);
            move(l, &r->continueOffset);
        }
    }
    for (int i = 0; i < l->env->numCommands; i++) {
        CmdLocation *c = &l->env->cmdMapPtr[i];
        c->numCodeBytes = l->to[c->codeOffset + c->numCodeBytes] - l->to[c->codeOffset];
        c->codeOffset = l->to[c->codeOffset];
    }
}

static void write_all(const struct layout *l, unsigned char *out)
{
    CompileEnv *env = l->env;

    for (int at = 0; at < l->size; at += length_at(l, at))
        write_instruction(l, out, at);
    write_insertions(l, out);
    move_ranges(l);
    while (env->codeEnd - env->codeStart < l->grown)
        TclExpandCodeArray(env);
    memcpy(env->codeStart, out, (size_t)l->grown);
    env->codeNext = env->codeStart + l->grown;
}

int tt_tcl_insert(CompileEnv *env, struct tt_tcl_insertion *in, int count)
{
    struct layout l = {.env = env,
                       .table = TclGetInstructionTable(),
                       .in = in,
                       .count = count,
                       .size = (int)(env->codeNext - env->codeStart)};
    size_t size = (size_t)l.size + 1;
    int *offsets = calloc(size, 2 * sizeof *offsets), longer = -1;
    char *flags = calloc(size, 2);
    unsigned char *out = NULL;

    if (!offsets || !flags)
        goto done;
    l.to = offsets;
    l.place = offsets + size;
    l.longer = flags;
    l.fixed = flags + size;
    if (find_instructions(&l) != 0 || !is_known(&l))
        goto done;
    qsort(in, (size_t)count, sizeof *in, by_place);
    do {
        place_all(&l);
        longer = lengthen(&l);
    } while (longer > 0);
    out = longer == 0 ? malloc((size_t)l.grown + 1) : NULL;
    if (out)
        write_all(&l, out);

done:
    free(offsets);
    free(flags);
    free(out);
    return out ? 0 : -1;
}
