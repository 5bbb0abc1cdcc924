/* SPDX-License-Identifier: MIT */
/* java-code.c - HotSpot's code: which piece of it contains an address, and how a frame of it
 * is left, on x86-64.
 *
 *      compiled       [locals ... caller's rbp, return address]     of a fixed size
 *      interpreter    [stack ... byte-code ... method, -, caller's sp | rbp, return address]
 *      entry          [saved registers | rbp, return address]       called by native code
 *
 * An innermost frame may be incomplete.  The instruction shows whether it is being made or
 * removed; a return address is accepted only if it follows a call.  async-signal-safe */
#include "java-code.h"

#include <stddef.h>

#include "java-method.h"

enum {
    NO_PIECE = 0xff, /* in the map: this segment is not used */
    HOPS = 10000,
    NAME = 16,
    /* Registers, as DWARF numbers them. */
    RAX = 0,
    RBX = 3,
    R13 = 13,
    /* Words of an interpreter's frame, from its frame pointer: above it, */
    RETURN = 8,
    /* and below it. */
    SENDER = 8,
    METHOD = 24,
    BYTE_CODE = 64,
    FIXED = 72,      /* the size of that part of the frame */
    NEAR = 64 << 10, /* between two addresses of one frame */
    FRAME_MAX = 1 << 20,
};

/* ── Memory ───────────────────────────────────────────────────────────────────────── */

int tt_java_number(const struct tt_peek *peek, uint64_t address, unsigned size,
                   uint64_t *out)
{
    const unsigned within = address & 7;

    if (within + size > 8 || !tt_safe_word(peek, address - within, out))
        return 0;
    *out >>= 8 * within;
    if (size < 8)
        *out &= ((uint64_t)1 << 8 * size) - 1;
    return 1;
}

int tt_java_bytes(const struct tt_peek *peek, uint64_t address, void *to, size_t size)
{
    enum { ROOM = 64 };
    char words[ROOM], *at = to;

    while (size) {
        const size_t within = address & 7,
                     n = size < ROOM - within ? size : ROOM - within;
        if (!tt_safe_read(peek, address - within, words, (within + n + 7) & ~(size_t)7))
            return 0;
        memcpy(at, words + within, n);
        at += n;
        address += n;
        size -= n;
    }
    return 1;
}

static uint64_t word_of(const char *bytes, uint32_t at)
{
    uint64_t v;

    memcpy(&v, bytes + at, sizeof v);
    return v;
}

static uint32_t half_of(const char *bytes, uint32_t at)
{
    uint32_t v;

    memcpy(&v, bytes + at, sizeof v);
    return v;
}

/* ── Heaps ────────────────────────────────────────────────────────────────────────── */

static int read_heap(const struct tt_java *j, const struct tt_peek *peek, uint64_t at,
                     struct tt_java_heap *h)
{
    const struct tt_java_layout *l = &j->layout;
    const uint64_t memory = at + l->heap.memory;
    uint64_t shift;

    if (!tt_safe_word(peek, memory + l->space.low, &h->low) ||
        !tt_safe_word(peek, memory + l->space.end, &h->end) ||
        !tt_safe_word(peek, memory + l->space.begin, &h->begin) ||
        !tt_safe_word(peek, at + l->heap.map + l->space.begin, &h->map) ||
        !tt_java_number(peek, at + l->heap.shift, 4, &shift))
        return 0;
    h->shift = (uint32_t)shift;
    return shift && shift < 24 && h->begin && h->map && h->begin >= h->low &&
           h->begin < h->end;
}

/* Heaps are made one after the other when the machine begins. */
static void read_heaps(struct tt_java *j, const struct tt_peek *peek)
{
    const struct tt_java_layout *l = &j->layout;
    uint64_t array, count, data, at;

    if (!tt_safe_word(peek, l->heaps, &array) ||
        !tt_java_number(peek, array + l->array.count, 4, &count) ||
        !tt_safe_word(peek, array + l->array.data, &data) ||
        count <= __atomic_load_n(&j->heaps, __ATOMIC_RELAXED) || count > TT_JAVA_HEAPS)
        return;
    for (uint32_t i = 0; i < count; i++)
        if (!tt_safe_word(peek, data + 8 * i, &at) ||
            !read_heap(j, peek, at, &j->heap[i]))
            return;
    __atomic_store_n(&j->heaps, (uint32_t)count, __ATOMIC_RELEASE);
}

static const struct tt_java_heap *find_heap(const struct tt_java *j, uint64_t pc)
{
    const uint32_t heaps = __atomic_load_n(&j->heaps, __ATOMIC_ACQUIRE);

    for (uint32_t i = 0; i < heaps; i++)
        if (pc >= j->heap[i].begin && pc < j->heap[i].end)
            return &j->heap[i];
    return NULL;
}

/* The blob in whose memory the address is: each byte of the map is how far back its
 * first segment is, or how far one step leads there.  0: none. */
static uint64_t find_blob(const struct tt_java *j, const struct tt_peek *peek,
                          const struct tt_java_heap *h, uint64_t pc)
{
    uint64_t segment = (pc - h->begin) >> h->shift, step = 0, used, block;

    for (int i = 0; i < HOPS; i++) {
        if (!tt_java_number(peek, h->map + segment, 1, &step) || step == NO_PIECE ||
            step > segment)
            return 0;
        if (!step)
            break;
        segment -= step;
    }
    block = h->begin + (segment << h->shift);
    return !step && tt_java_number(peek, block + j->layout.heap.used, 1, &used) && used
               ? block + j->layout.heap.head
               : 0;
}

/* ── Kinds ────────────────────────────────────────────────────────────────────────── */

static enum tt_java_kind kind_of_text(const char *name)
{
    static const struct {
        const char *name;
        enum tt_java_kind kind;
    } kinds[] = {{"nmethod", TT_JAVA_COMPILED},
                 {"native nmethod", TT_JAVA_WRAPPER},
                 {"Interpreter", TT_JAVA_INTERPRETER}};

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(name, kinds[i].name) == 0)
            return kinds[i].kind;
    return TT_JAVA_STUB;
}

/* Names are constants, except those of some stubs. */
static enum tt_java_kind kind_of(struct tt_java *j, const struct tt_peek *peek,
                                 uint64_t name)
{
    char text[NAME + 1] = {0};
    enum tt_java_kind kind;

    for (kind = TT_JAVA_COMPILED; name && kind < TT_JAVA_STUB; kind++)
        if (__atomic_load_n(&j->name[kind], __ATOMIC_RELAXED) == name)
            return kind;
    for (size_t i = 0; i < NAME; i++)
        if (!tt_java_bytes(peek, name + i, text + i, 1) || !text[i])
            break;
    kind = kind_of_text(text);
    if (kind != TT_JAVA_STUB)
        __atomic_store_n(&j->name[kind], name, __ATOMIC_RELAXED);
    return kind;
}

static void read_head(const struct tt_java_layout *l, const char *head,
                      struct tt_java_blob *out)
{
    const int has_addresses = l->blob.begin != TT_JAVA_ABSENT;

    out->name = word_of(head, l->blob.name);
    out->begin = has_addresses ? word_of(head, l->blob.begin)
                               : out->at + half_of(head, l->blob.code);
    out->end = has_addresses ? word_of(head, l->blob.end)
                             : out->at + half_of(head, l->blob.data);
    out->frame = 8 * half_of(head, l->blob.frame);
    out->complete = half_of(head, l->blob.complete);
    if (l->blob.has_short_complete)
        out->complete = (uint32_t)(int16_t)out->complete;
}

int tt_java_blob(struct tt_java *j, const struct tt_peek *peek, uint64_t pc,
                 struct tt_java_blob *out)
{
    const struct tt_java_layout *l = &j->layout;
    const struct tt_java_heap *h = find_heap(j, pc);
    char head[TT_JAVA_BLOB] = {0};

    if (!h) {
        read_heaps(j, peek);
        h = find_heap(j, pc);
    }
    out->at = h ? find_blob(j, peek, h, pc) : 0;
    if (!out->at || !tt_safe_read(peek, out->at, head, l->blob.size & ~7u))
        return 0;
    read_head(l, head, out);
    if (pc < out->begin || pc >= out->end || out->begin < out->at ||
        out->frame > FRAME_MAX)
        return 0;
    out->kind = kind_of(j, peek, out->name);
    return 1;
}

/* The address that replaces return addresses to code that is no longer valid. */
static int deopt_of(const struct tt_java *j, const struct tt_peek *peek, uint64_t blob,
                    uint64_t *out)
{
    const struct tt_java_layout *l = &j->layout;

    if (l->compiled.deopt != TT_JAVA_ABSENT)
        return tt_safe_word(peek, blob + l->compiled.deopt, out);
    if (l->compiled.deopt_offset == TT_JAVA_ABSENT ||
        !tt_java_number(peek, blob + l->compiled.deopt_offset, 4, out))
        return 0;
    *out += blob;
    return 1;
}

/* ── Leaving a frame ──────────────────────────────────────────────────────────────── */

struct leaving {
    struct tt_java *j;
    struct tt_registers *r;
    const struct tt_peek *peek;
    struct tt_native *frame;
    struct tt_java_blob blob;
    uint64_t pc, sp, fp;
};

static int follows_call(const struct tt_peek *peek, uint64_t pc)
{
    struct tt_peek window;
    uint8_t code[8];

    if (pc < 4096 || !tt_java_bytes(peek, pc - sizeof code, code, sizeof code))
        return 0;
    tt_peek_copy(&window, pc - sizeof code, code, sizeof code);
    return tt_machine_follows_call(&window, pc);
}

/* The interpreter pushes the address to which a method returns, and jumps; and the address
 * is changed if its code is no longer valid. */
static int is_pushed(const struct leaving *l, uint64_t pc)
{
    struct tt_java_blob b;
    uint64_t deopt;

    if (!tt_java_blob(l->j, l->peek, pc, &b))
        return 0;
    return b.kind == TT_JAVA_INTERPRETER ||
           (b.kind == TT_JAVA_COMPILED && deopt_of(l->j, l->peek, b.at, &deopt) &&
            pc == deopt);
}

static int is_return(const struct leaving *l, uint64_t pc)
{
    return follows_call(l->peek, pc) || is_pushed(l, pc);
}

/* A word of the stack.  Beyond the end of a copied stack, the process's memory has another
 * time's data. */
static int stack_word(const struct leaving *l, uint64_t address, uint64_t *word)
{
    const struct tt_peek *p = l->peek;

    return (!p->cut ||
            (address >= p->low && address < p->high && p->high - address >= 8)) &&
           tt_safe_word(p, address, word);
}

/* Goes to the caller; other registers than these are not kept. */
static int go(struct leaving *l, uint64_t pc, uint64_t sp, uint64_t fp)
{
    memset(l->r, 0, sizeof *l->r);
    l->r->lost = ~((uint64_t)1 << TT_REGISTER_PC | (uint64_t)1 << TT_REGISTER_SP |
                   (uint64_t)1 << TT_REGISTER_FP);
    l->r->value[TT_REGISTER_PC] = pc;
    l->r->value[TT_REGISTER_SP] = sp;
    l->r->value[TT_REGISTER_FP] = fp;
    return 1;
}

/* The return address is at `at`. */
static int leave_by(struct leaving *l, uint64_t at, uint64_t fp)
{
    uint64_t pc;

    return stack_word(l, at, &pc) && is_return(l, pc) && go(l, pc, at + 8, fp);
}

/* The same, with the frame pointer saved below it. */
static int leave_saved(struct leaving *l, uint64_t at)
{
    uint64_t fp;

    return stack_word(l, at - 8, &fp) && leave_by(l, at, fp);
}

static int leave_by_pointer(struct leaving *l)
{
    return l->fp >= l->sp && l->fp - l->sp < NEAR && leave_saved(l, l->fp + RETURN);
}

/* ── Compiled code ────────────────────────────────────────────────────────────────── */

enum depth { BARE, PUSHED, UNSAVED, FULL }; /* of the innermost frame */

enum { BEFORE = 16, AFTER = 16 };

struct nearby {
    uint8_t bytes[BEFORE + AFTER];
};

static int has(const struct nearby *n, int at, const char *bytes, size_t size)
{
    return memcmp(n->bytes + BEFORE + at, bytes, size) == 0;
}
#define HAS(n, at, bytes) has(n, at, bytes, sizeof bytes - 1)

/* push %rbp; mov %rsp, %rbp; sub $n, %rsp; mov %rbp, n(%rsp): some of them, in this order. */
static enum depth depth_at_begin(const struct nearby *n)
{
    const int is_pushed = HAS(n, -1, "\x55") ||
                          ((HAS(n, -3, "\x48\x8b\xec") || HAS(n, -3, "\x48\x89\xe5")) &&
                           HAS(n, -4, "\x55"));

    if (HAS(n, 0, "\x55"))
        return BARE;
    if (HAS(n, 0, "\x48\x89\x6c\x24") || HAS(n, 0, "\x48\x89\xac\x24"))
        return UNSAVED;
    return is_pushed ? PUSHED : BARE;
}

/* add $n, %rsp; pop %rbp; then a test whether all threads shall stop; ret.  The test is a
 * comparison with a jump, which leads to more code, or a load. */
static enum depth depth_at_end(const struct nearby *n)
{
    const int is_test = HAS(n, 0, "\x49\x3b\xa7") || HAS(n, 0, "\x49\x3b\x67") ||
                        HAS(n, 0, "\x85\x05") || HAS(n, 0, "\x41\x85");

    if (HAS(n, 0, "\x5d") &&
        (HAS(n, 1, "\xc3") || HAS(n, 1, "\x49\x3b\xa7") || HAS(n, 1, "\x49\x3b\x67") ||
         HAS(n, 1, "\x85\x05") || HAS(n, 1, "\x41\x85") || HAS(n, 1, "\x4d")))
        return PUSHED;
    if (HAS(n, 0, "\xc3") || (is_test && HAS(n, -1, "\x5d")) ||
        (HAS(n, 0, "\x0f\x87") &&
         (HAS(n, -7, "\x49\x3b\xa7") || HAS(n, -4, "\x49\x3b\x67"))))
        return BARE;
    if ((HAS(n, 0, "\x4c\x8d\x15") && HAS(n, 7, "\x4d\x89\x97")) ||
        (HAS(n, 0, "\x4d\x89\x97") && HAS(n, -7, "\x4c\x8d\x15")) ||
        (HAS(n, 0, "\xe9") && HAS(n, -7, "\x4d\x89\x97")))
        return BARE;
    return FULL;
}

static enum depth depth_of(const struct leaving *l)
{
    struct nearby n = {{0}};

    if (!tt_java_bytes(l->peek, l->pc - BEFORE, n.bytes, sizeof n.bytes))
        return FULL;
    return l->blob.complete != UINT32_MAX && l->pc < l->blob.begin + l->blob.complete
               ? depth_at_begin(&n)
               : depth_at_end(&n);
}

static int leave_at(struct leaving *l, enum depth depth)
{
    const uint64_t last = l->sp + l->blob.frame - 8;

    switch (depth) {
    case BARE:
        return leave_by(l, l->sp, l->fp);
    case PUSHED:
        return leave_saved(l, l->sp + 8);
    case UNSAVED:
        return l->blob.frame && leave_by(l, last, l->fp);
    default:
        return l->blob.frame && leave_saved(l, last);
    }
}

/* A return address to this code was changed if the code is no longer valid: then the former
 * one is in the frame. */
static void find_place(struct leaving *l)
{
    const struct tt_java_layout *y = &l->j->layout;
    uint64_t pc = l->pc, deopt, at, original;

    if (!(l->frame->flags & TT_NATIVE_EXACT) && y->compiled.original != TT_JAVA_ABSENT &&
        deopt_of(l->j, l->peek, l->blob.at, &deopt) && pc == deopt &&
        tt_java_number(l->peek, l->blob.at + y->compiled.original, 4, &at) &&
        stack_word(l, l->sp + at, &original))
        pc = original;
    l->frame->detail = pc >= l->blob.begin && pc < l->blob.end
                           ? (uint32_t)(pc - l->blob.begin)
                           : 0;
}

static int leave_compiled(struct leaving *l)
{
    const uint64_t last = l->sp + l->blob.frame - 8;
    uint64_t fp, pc;
    enum depth depth;

    if (l->blob.kind != TT_JAVA_STUB)
        find_place(l);
    if (!(l->frame->flags & TT_NATIVE_EXACT))
        return l->blob.frame >= 16 && stack_word(l, last - 8, &fp) &&
               stack_word(l, last, &pc) && pc >= 4096 && go(l, pc, last + 8, fp);
    depth = depth_of(l);
    return leave_at(l, depth) || leave_at(l, FULL) || leave_at(l, BARE) ||
           leave_at(l, PUSHED);
}

/* ── The interpreter ──────────────────────────────────────────────────────────────── */

/* One more than the index of the byte-code; 0: it is not in this method. */
static uint32_t index_of(const struct tt_java_method *m, uint64_t at)
{
    return at >= m->code && at - m->code < m->size ? (uint32_t)(at - m->code) + 1 : 0;
}

static void describe(struct leaving *l, uint64_t method, uint32_t index)
{
    l->frame->data = method;
    l->frame->detail = index;
}

/* The frame is complete.  A compiled caller has pushed arguments, which are not within its
 * frame: its stack pointer is kept. */
static int leave_whole(struct leaving *l)
{
    uint64_t sender;

    if (!stack_word(l, l->fp - SENDER, &sender) || !leave_by_pointer(l))
        return 0;
    if (sender > l->fp && sender - l->fp < FRAME_MAX && sender % 8 == 0)
        l->r->value[TT_REGISTER_SP] = sender;
    return 1;
}

static int leave_interpreted(struct leaving *l)
{
    struct tt_java_method m;
    uint64_t method, at;

    if (!stack_word(l, l->fp - METHOD, &method) ||
        !tt_java_method(l->j, l->peek, method, &m) ||
        !stack_word(l, l->fp - BYTE_CODE, &at) || !leave_whole(l))
        return 0;
    describe(l, method, index_of(&m, at));
    return 1;
}

/* The method begins: its caller's stack pointer is in a register, and its frame pointer may
 * still be there. */
static int leave_entry(struct leaving *l)
{
    const uint64_t method = l->r->value[RBX], sender = l->r->value[R13],
                   pc = l->r->value[RAX];
    const int is_framed = l->fp >= l->sp && l->fp - l->sp < FIXED;
    struct tt_java_method m;

    if (sender < l->sp || sender - l->sp > NEAR || sender % 8 ||
        !tt_java_method(l->j, l->peek, method, &m))
        return 0;
    if ((is_framed && leave_by_pointer(l)) || leave_by(l, l->sp, l->fp) ||
        (is_return(l, pc) && go(l, pc, sender, l->fp)) || leave_saved(l, l->sp + 8)) {
        l->r->value[TT_REGISTER_SP] = sender > l->sp ? sender : sender + 8;
        describe(l, method, 1);
        return 1;
    }
    return 0;
}

/* The byte-code is in a register while the loop runs. */
static int leave_running(struct leaving *l)
{
    struct tt_java_method m;
    uint64_t method, at = l->r->value[R13];

    if (!stack_word(l, l->fp - METHOD, &method) ||
        !tt_java_method(l->j, l->peek, method, &m) || !index_of(&m, at) ||
        !leave_whole(l))
        return 0;
    describe(l, method, index_of(&m, at));
    return 1;
}

/* ── Other code ───────────────────────────────────────────────────────────────────── */

static int leave_stub(struct leaving *l)
{
    uint64_t returns;

    l->blob.kind = TT_JAVA_STUB;
    l->frame->data = l->blob.at;
    l->frame->detail = 0;
    if (!(l->frame->flags & TT_NATIVE_EXACT)) {
        if (l->blob.frame)
            return leave_compiled(l);
        l->frame->detail = tt_safe_word(l->peek, l->j->layout.call_return, &returns) &&
                           l->pc == returns;
        return leave_by_pointer(l);
    }
    if (l->blob.frame)
        return leave_compiled(l) || leave_by_pointer(l);
    return leave_by(l, l->sp, l->fp) || leave_by_pointer(l) || leave_saved(l, l->sp + 8);
}

static int leave(struct leaving *l)
{
    const int is_exact = l->frame->flags & TT_NATIVE_EXACT;

    switch (l->blob.kind) {
    case TT_JAVA_COMPILED:
    case TT_JAVA_WRAPPER:
        l->frame->data = l->blob.at;
        return leave_compiled(l);
    case TT_JAVA_INTERPRETER:
        return (is_exact && (leave_running(l) || leave_entry(l))) ||
               leave_interpreted(l) || leave_stub(l);
    default:
        return leave_stub(l);
    }
}

int tt_java_leave(const struct tt_generated *g, struct tt_registers *r,
                  struct tt_peek *peek, struct tt_native *frame)
{
    struct tt_java *j = (struct tt_java *)(void *)((uintptr_t)g -
                                                   offsetof(struct tt_java, generated));
    struct leaving l = {.j = j,
                        .r = r,
                        .peek = peek,
                        .frame = frame,
                        .pc = r->value[TT_REGISTER_PC],
                        .sp = r->value[TT_REGISTER_SP],
                        .fp = r->value[TT_REGISTER_FP]};

    if (l.sp % 8 || !tt_java_blob(j, peek, l.pc, &l.blob) || !leave(&l)) {
        frame->data = frame->detail = 0;
        return 0;
    }
    frame->function = l.blob.begin;
    frame->flags |= (uint32_t)l.blob.kind << TT_JAVA_KIND_SHIFT;
    return 1;
}
