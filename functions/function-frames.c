/* SPDX-License-Identifier: MIT */
/* function-frames.c - unwind information for thunks.
 *
 * While a function that is switched on is on the stack, its return address is that of a
 * thunk; only the frames have the real one.  Unwind information may be a program, and
 * this one does what function.c does: it looks for the frame of this stack address in the
 * thread's stack, and among the kept ones that lost their frame.
 *
 *      before the call    CFA = sp + 8   return address at CFA - 8
 *      after it           CFA = sp + 8   return address as found   caller's sp = CFA - 8
 *
 * After the call the thunk has nothing on the stack.  But libgcc distinguishes frames by
 * their CFA, and confuses one of no size with its caller: so it has a part of its
 * caller's. */
#include "function-frames.h"
#include "function-debugger.h"

#include <dlfcn.h>
#include <dwarf.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK_POINTER = 7, RETURN_ADDRESS = 16, ROOM = 1024 };

/* ── Writing ──────────────────────────────────────────────────────────────────────── */

struct text {
    unsigned char *at;
};

static void byte(struct text *t, unsigned value) { *t->at++ = (unsigned char)value; }

static void bytes(struct text *t, const void *from, size_t size)
{
    memcpy(t->at, from, size);
    t->at += size;
}

static void word(struct text *t, uint64_t value) { bytes(t, &value, sizeof value); }
static void half(struct text *t, uint32_t value) { bytes(t, &value, sizeof value); }

static void unsigned_number(struct text *t, uint64_t n)
{
    for (; n >= 0x80; n >>= 7)
        byte(t, (unsigned)(n & 0x7f) | 0x80);
    byte(t, (unsigned)n);
}

static void with(struct text *t, unsigned op, size_t value)
{
    byte(t, op);
    unsigned_number(t, value);
}

static void ops(struct text *t, const char *list) { bytes(t, list, strlen(list)); }

/* A backward jump. */
static void back_to(struct text *t, unsigned op, const unsigned char *target)
{
    int16_t distance;

    byte(t, op);
    distance = (int16_t)(target - (t->at + 2));
    bytes(t, &distance, 2);
}

/* A forward jump; its target is where `land` is called. */
static unsigned char *ahead(struct text *t, unsigned op)
{
    byte(t, op);
    t->at += 2;
    return t->at;
}

static void land(struct text *t, unsigned char *jump)
{
    int16_t distance = (int16_t)(t->at - jump);

    memcpy(jump - 2, &distance, 2);
}

static void load(struct text *t, const void *address)
{
    byte(t, DW_OP_addr);
    word(t, (uintptr_t)address);
    byte(t, DW_OP_deref);
}

/* Operations of one byte each. */
#define DUP "\x12"
#define DROP "\x13"
#define OVER "\x14"
#define SWAP "\x16"
#define DEREF "\x06"
#define AND "\x1a"
#define MINUS "\x1c"
#define PLUS "\x22"
#define SHL "\x24"
#define EQ "\x29"
#define GE "\x2a"
#define LT "\x2d"
#define SHR "\x25"
#define LIT0 "\x30"
#define LIT1 "\x31"
#define LIT2 "\x32"
#define LIT3 "\x33"
#define LIT4 "\x34"
#define LIT8 "\x38"
#define LIT16 "\x40"

/* ── The programs ─────────────────────────────────────────────────────────────────── */

/* Puts there whether the function has been called, in a thunk, which is in step with the
 * beginning of its area. */
static void compare_place(struct text *t, const struct tt_function_places *p)
{
    if (!p) {
        ops(t, LIT1);
        return;
    }
    byte(t, DW_OP_breg0 + RETURN_ADDRESS);
    byte(t, 0);
    with(t, DW_OP_constu, p->call);
    ops(t, MINUS);
    with(t, DW_OP_constu, p->size - 1);
    ops(t, AND);
    byte(t, DW_OP_const1u);
    byte(t, (unsigned)(p->after - p->call));
    ops(t, LT);
}

/* Stack: CFA. */
static void write_caller(struct text *t, const struct tt_function_places *p)
{
    compare_place(t, p);
    ops(t, LIT3 SHL MINUS);
}

/* Is the top frame that of the function whose caller's stack ends at address `pick`? */
static void compare_frame(struct text *t, unsigned pick)
{
    ops(t, DUP);
    with(t, DW_OP_plus_uconst, offsetof(struct tt_frame, cfa));
    ops(t, DEREF);
    byte(t, DW_OP_const1s);
    byte(t, 0xfe);
    ops(t, AND);
    byte(t, DW_OP_pick);
    byte(t, pick);
    ops(t, LIT2 PLUS EQ);
}

/* The place of the outermost activation of a thread's own stack: the program's stacks do
 * not overlap, so the thread with the nearest one above is the right one. */
enum {
    OUTERMOST = sizeof(struct tt_thread) + offsetof(struct tt_segment, frame) +
                sizeof(struct tt_frame) + offsetof(struct tt_frame, cfa)
};

/* Stack: cfa cfa thread best.  A value that is no stack address is above all others. */
static void write_choice(struct text *t)
{
    unsigned char *next, *more, *done, *above, *nothing, *first, *nearer;

    load(t, tt_threads_head());
    ops(t, LIT0);
    next = t->at;
    ops(t, OVER);
    more = ahead(t, DW_OP_bra);
    done = ahead(t, DW_OP_skip);
    land(t, more);
    ops(t, OVER);
    with(t, DW_OP_plus_uconst, OUTERMOST);
    ops(t, DEREF LIT1 SHR DUP);
    byte(t, DW_OP_pick);
    byte(t, 4);
    ops(t, LIT1 SHR GE);
    above = ahead(t, DW_OP_bra);
    ops(t, DROP);
    nothing = t->at;
    ops(t, SWAP);
    with(t, DW_OP_plus_uconst, offsetof(struct tt_thread, next));
    ops(t, DEREF SWAP);
    back_to(t, DW_OP_skip, next);
    land(t, above);
    ops(t, OVER);
    first = ahead(t, DW_OP_bra);
    ops(t, DROP DROP DUP);
    back_to(t, DW_OP_skip, nothing);
    land(t, first);
    ops(t, OVER);
    with(t, DW_OP_plus_uconst, OUTERMOST);
    ops(t, DEREF LIT1 SHR LT);
    nearer = ahead(t, DW_OP_bra);
    back_to(t, DW_OP_skip, nothing);
    land(t, nearer);
    ops(t, DROP DUP);
    back_to(t, DW_OP_skip, nothing);
    land(t, done);
    ops(t, SWAP DROP);
}

/* Stack: cfa cfa thread segment frame.  When found, the address is on top. */
static void write_search(struct text *t, unsigned char **found, unsigned char **none)
{
    unsigned char *frame, *next, *have, *below, *maybe, *again;

    ops(t, DUP);
    have = ahead(t, DW_OP_bra);
    *none = ahead(t, DW_OP_skip); /* to here from below too: this jump is three bytes */
    land(t, have);
    ops(t, DUP);
    with(t, DW_OP_plus_uconst, offsetof(struct tt_thread, stack.fiber));
    ops(t, DEREF);
    with(t, DW_OP_plus_uconst, offsetof(struct tt_fiber, segment));
    ops(t, DEREF OVER);
    with(t, DW_OP_plus_uconst, offsetof(struct tt_thread, self));
    ops(t, DEREF DEREF);
    frame = t->at;
    ops(t, OVER);
    with(t, DW_OP_plus_uconst, offsetof(struct tt_segment, frame));
    ops(t, OVER GE);
    below = ahead(t, DW_OP_bra);
    compare_frame(t, 4);
    maybe = ahead(t, DW_OP_bra);
    next = t->at;
    byte(t, DW_OP_const1u);
    byte(t, sizeof(struct tt_frame));
    ops(t, MINUS);
    back_to(t, DW_OP_skip, frame);
    land(t, maybe);
    ops(t, DUP);
    with(t, DW_OP_plus_uconst, offsetof(struct tt_frame, slot));
    ops(t, DEREF DUP);
    *found = ahead(t, DW_OP_bra);
    ops(t, DROP);
    back_to(t, DW_OP_skip, next);
    land(t, below);
    ops(t, DROP DEREF DUP);
    again = ahead(t, DW_OP_bra);
    ops(t, SWAP DROP);
    back_to(t, DW_OP_skip, *none - 3);
    land(t, again);
    ops(t, DUP);
    with(t, DW_OP_plus_uconst, offsetof(struct tt_segment, end));
    ops(t, DEREF);
    byte(t, DW_OP_const1u);
    byte(t, sizeof(struct tt_frame));
    ops(t, MINUS);
    back_to(t, DW_OP_skip, frame);
}

/* Stack: cfa cfa 0, and then: cfa cfa slot end. */
static void write_kept(struct text *t, unsigned char **found)
{
    unsigned char *loop, *step, *none, *hit;

    ops(t, DROP);
    load(t, &tt_function_kept.slot);
    ops(t, DUP);
    load(t, &tt_function_kept.size);
    ops(t, LIT4 SHL PLUS);
    loop = t->at;
    ops(t, OVER OVER EQ);
    none = ahead(t, DW_OP_bra);
    ops(t, OVER DEREF);
    byte(t, DW_OP_pick);
    byte(t, 3);
    ops(t, EQ);
    hit = ahead(t, DW_OP_bra);
    step = t->at;
    ops(t, SWAP LIT16 PLUS SWAP);
    back_to(t, DW_OP_skip, loop);
    land(t, hit);
    ops(t, OVER LIT8 PLUS DEREF DUP);
    *found = ahead(t, DW_OP_bra);
    ops(t, DROP);
    back_to(t, DW_OP_skip, step);
    land(t, none);
    byte(t, DW_OP_lit0); /* the stack ends here */
}

/* Stack: CFA. */
static void write_return_address(struct text *t, const struct tt_function_places *p)
{
    unsigned char *behind, *done, *found, *none, *found_kept;

    ops(t, LIT8 MINUS);
    compare_place(t, p);
    behind = ahead(t, DW_OP_bra);
    ops(t, DEREF);
    done = ahead(t, DW_OP_skip);
    land(t, behind);
    ops(t, DUP); /* libgcc reads the bottom even of an empty stack */
    write_choice(t);
    write_search(t, &found, &none);
    land(t, none);
    write_kept(t, &found_kept);
    land(t, found);
    land(t, found_kept);
    land(t, done);
}

/* ── The table ────────────────────────────────────────────────────────────────────── */

/* Starts after two bytes for its length. */
static void block(struct text *t,
                  void (*write)(struct text *, const struct tt_function_places *),
                  const struct tt_function_places *p)
{
    unsigned char *length = t->at;
    size_t size;

    t->at += 2;
    write(t, p);
    size = (size_t)(t->at - length - 2);
    length[0] = (unsigned char)(size | 0x80);
    length[1] = (unsigned char)(size >> 7);
}

static void end_record(struct text *t, unsigned char *begin)
{
    uint32_t size;

    while ((t->at - begin) % 8)
        byte(t, DW_CFA_nop);
    size = (uint32_t)(t->at - begin - 4);
    memcpy(begin, &size, sizeof size);
}

static void write_common(struct text *t)
{
    unsigned char *begin = t->at;

    half(t, 0);
    half(t, 0); /* a CIE */
    byte(t, 1);
    byte(t, 0); /* no augmentation */
    unsigned_number(t, 1);
    byte(t, 0x78); /* -8 */
    byte(t, RETURN_ADDRESS);
    end_record(t, begin);
}

static unsigned char *begin_range(struct text *t, const unsigned char *common,
                                  uintptr_t start, uintptr_t end)
{
    unsigned char *begin = t->at;

    half(t, 0);
    half(t, (uint32_t)(begin + 4 - common));
    word(t, start);
    word(t, end - start);
    return begin;
}

/* For code where the function may have been called.  NULL: it was, and has returned. */
static void write_called(struct text *t, const struct tt_function_places *p)
{
    byte(t, DW_CFA_def_cfa);
    byte(t, STACK_POINTER);
    byte(t, 8);
    byte(t, DW_CFA_val_expression);
    byte(t, STACK_POINTER);
    block(t, write_caller, p);
    byte(t, DW_CFA_val_expression);
    byte(t, RETURN_ADDRESS);
    block(t, write_return_address, p);
}

/* After that, and where a thunk has called the header, as in any function. */
static void write_plain(struct text *t, size_t left)
{
    byte(t, DW_CFA_advance_loc1);
    byte(t, (unsigned)left);
    byte(t, DW_CFA_restore | STACK_POINTER);
    byte(t, DW_CFA_offset | RETURN_ADDRESS);
    byte(t, 1);
}

static void write_table(struct text *t, const struct tt_function_area *a,
                        const struct tt_function_places *p)
{
    const unsigned char *common = t->at;
    unsigned char *begin;

    write_common(t);
    begin = begin_range(t, common, a->start, a->start + p->thunks);
    write_called(t, NULL);
    write_plain(t, p->left);
    end_record(t, begin);
    begin = begin_range(t, common, a->start + p->thunks, a->end);
    write_called(t, p);
    end_record(t, begin);
    half(t, 0);
}

/* In a C program, loads the unwinder when it is needed. */
static void *find_register(void)
{
    void *library = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_GLOBAL);

    return library ? dlsym(library, "__register_frame") : NULL;
}

void tt_function_frames(const struct tt_function_area *a,
                        const struct tt_function_places *places)
{
    struct tt_debugger_file *file = mmap(NULL, sizeof *file + ROOM,
                                         PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char *table = (unsigned char *)(file + 1);
    void (*enrol)(void *);
    struct text t = {table};

    if (file == MAP_FAILED)
        return;
    write_table(&t, a, places);
    *(void **)&enrol = find_register();
    if (enrol)
        enrol(table);
    tt_debugger_tell(file, a, (size_t)(t.at - table));
}
