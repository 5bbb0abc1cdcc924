/* SPDX-License-Identifier: MIT */
/* php-code.c - leaves the code that PHP's compiler (opcache.jit) has made.
 *
 *      execute_ex   pushes registers, makes room ── jumps to compiled code ── and back
 *      stack        saved registers │ locals                          stack pointer ▲
 *
 * Compiled code has no tables and no frame: it runs in the frame of the loop.  The first
 * instructions of the loop contain its size.  While compiled code runs, r14 is the innermost call.
 * async-signal-safe, except tt_php_code_init */
#include "php-code.h"

#include <string.h>

#include "machine.h"

#if defined __x86_64__
enum { CALL_REGISTER = 14, RETURN = 8, WORD = 8 };

static int is_known_return(const struct tt_php_code *c, struct tt_peek *peek, uint64_t at)
{
    return at >= c->text && at < c->text_end && tt_machine_follows_call(peek, at);
}

static int is_running(const struct tt_php_code *c, const struct tt_registers *r,
                      struct tt_peek *peek)
{
    uint64_t call;

    return !(r->lost >> CALL_REGISTER & 1) && tt_peek_word(peek, c->current, &call) &&
           call == r->value[CALL_REGISTER];
}

static int leave(const struct tt_generated *g, struct tt_registers *r,
                 struct tt_peek *peek, struct tt_native *frame)
{
    const struct tt_php_code *c = (const void *)g;
    const uint64_t sp = r->value[TT_REGISTER_SP], end = sp + c->size - RETURN;
    struct tt_registers caller = *r;
    uint64_t back;

    if (sp % WORD || ((frame->flags & TT_NATIVE_EXACT) && !is_running(c, r, peek)) ||
        !tt_peek_word(peek, end, &back) || !is_known_return(c, peek, back))
        return 0;
    for (uint32_t i = 0; i < c->pushes; i++) {
        if (!tt_peek_word(peek, end - WORD * (i + 1), &caller.value[c->pushed[i]]))
            return 0;
        caller.lost &= ~((uint64_t)1 << c->pushed[i]);
    }
    caller.value[TT_REGISTER_SP] = end + RETURN;
    caller.value[TT_REGISTER_PC] = back;
    *r = caller;
    frame->function = c->loop;
    return 1;
}

/* push %rbx, push %r12, ...: the register's number for unwinding; less than 0: another one. */
static int pushed_by(const unsigned char **at)
{
    static const int8_t number[8] = {0, 2, 1, 3,
                                     7, 6, 4, 5}; /* from that in instructions */
    const unsigned is_high = **at == 0x41, code = (*at)[is_high];

    if (code < 0x50 || code > 0x57)
        return -1;
    *at += 1 + is_high;
    return is_high ? (int)(code - 0x50) + 8 : number[code - 0x50];
}

/* endbr64, push..., sub $size, %rsp. */
static int read_frame(struct tt_php_code *c)
{
    const unsigned char *at = (const unsigned char *)(uintptr_t)c->loop;
    uint32_t room = 0;
    int reg;

    if (memcmp(at, "\xf3\x0f\x1e\xfa", 4) == 0)
        at += 4;
    while (c->pushes < TT_PHP_PUSHES && (reg = pushed_by(&at)) >= 0)
        c->pushed[c->pushes++] = (uint8_t)reg;
    if (memcmp(at, "\x48\x83\xec", 3) == 0 && at[3] < 0x80)
        room = at[3];
    else if (memcmp(at, "\x48\x81\xec", 3) == 0)
        memcpy(&room, at + 3, sizeof room);
    c->size = RETURN + WORD * c->pushes + room;
    return room && room % WORD == 0 && room < 4096;
}

int tt_php_code_init(struct tt_php_code *c, uint64_t current, uint64_t loop,
                     uint64_t size)
{
    enum { FIRST = 32 };

    c->generated = (struct tt_generated){leave};
    c->current = current;
    c->loop = loop;
    return size >= FIRST && read_frame(c);
}
#else
int tt_php_code_init(struct tt_php_code *c, uint64_t current, uint64_t loop,
                     uint64_t size)
{
    (void)c, (void)current, (void)loop, (void)size;
    return 0;
}
#endif
