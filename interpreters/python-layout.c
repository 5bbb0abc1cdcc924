/* SPDX-License-Identifier: MIT */
/* python-layout.c - CPython's structures, by version, and whether they are so here.
 *
 * Offsets stay the same within a minor version.  Builds may differ nevertheless (debug
 * builds, vendors), so they are first compared with what the interpreter exports: the
 * members of its code and frame types have their offsets in public tables.  From 3.13 on
 * _PyRuntime begins with offsets for debuggers; those that it has are used. */
#include "python.h"

#if defined __x86_64__
static const struct tt_python_layout layouts[] = {
    {.version = 0x308,
     .runtime = {32, 1392, 1368},
     .interpreter = {0, 8},
     .thread = {8, 24, 0, 176},
     .frame = {.previous = 24, .code = 32, .at = 104},
     .code = {36, 40, 104, 112, 0, 120, 48, 0},
     .text = {48, 72}},
    {.version = 0x309,
     .runtime = {32, 584, 568},
     .interpreter = {0, 8},
     .thread = {8, 24, 0, 176},
     .frame = {.previous = 24, .code = 32, .at = 104},
     .code = {36, 40, 104, 112, 0, 120, 48, 0},
     .text = {48, 72}},
    {.version = 0x30a,
     .runtime = {32, 584, 568},
     .interpreter = {0, 8},
     .thread = {8, 24, 0, 176},
     .frame = {.previous = 24, .code = 32, .at = 96},
     .code = {36, 40, 104, 112, 0, 120, 48, 0},
     .text = {48, 72}},
    {.version = 0x30b,
     .has_cframe = 1,
     .runtime = {40, 592, 576},
     .interpreter = {0, 16},
     .thread = {8, 56, 336, 152},
     .cframe = {8, 16},
     .frame = {.previous = 48, .code = 32, .at = 56, .entry = 68, .owner = 69},
     .code = {48, 72, 112, 120, 128, 136, 184, 0},
     .text = {48, 72}},
    {.version = 0x30c,
     .has_cframe = 1,
     .has_entry_frame = 1,
     .runtime = {40, 1544, 0},
     .interpreter = {0, 72},
     .thread = {8, 56, 272, 136},
     .cframe = {0, 8},
     .frame = {.previous = 8, .code = 0, .at = 56, .owner = 70},
     .code = {48, 68, 112, 120, 128, 136, 192, 92},
     .text = {40, 56}},
    {.version = 0x30d, .runtime = {.key = 2160}},
    {.version = 0x30e, .runtime = {.key = 2336}, .is_tagged = 1},
};
#else
static const struct tt_python_layout layouts[] = {{0}};
#endif

static const char unlike[] = "its structures are not those of this version";

/* ── Offsets from the interpreter ─────────────────────────────────────────────────── */

/* From _PyRuntime, since 3.13: numbers in this order; 3.14 has others in between. */
static const char *take_debug_offsets(struct tt_python *p, struct tt_peek *peek)
{
    enum { PLAIN_OBJECT_TYPE = 8, NUMBERS = 96 };
    uint64_t all[NUMBERS];
    const uint64_t *d = all, *is, *ts, *frame, *code, *rest, *text;
    struct tt_python_layout *l = &p->layout;
    int later = l->version >= 0x30e;

    if (!tt_peek_bytes(peek, p->runtime, all, sizeof all) ||
        memcmp(d, "xdebugpy", 8) != 0 || d[1] >> 16 != l->version)
        return unlike;
    if (d[2])
        return "it has no global lock, and its structures are not known";
    d += 3;
    is = d + 3;
    ts = is + (later ? 16 : 13);
    frame = ts + 9;
    code = frame + (later ? 8 : 6);
    rest = code + (later ? 11 : 10);
    text = rest + 2 + 4 + 3 + 3 + (later ? 4 : 0) + 3 + 2 + 3 + 3;
    if (rest[1] != PLAIN_OBJECT_TYPE)
        return unlike;
    l->has_entry_frame = 1;
    l->runtime.interpreters = (uint32_t)d[2];
    l->interpreter.next = (uint32_t)is[2];
    l->interpreter.threads = (uint32_t)is[3];
    l->thread.next = (uint32_t)ts[2];
    l->thread.frame = (uint32_t)ts[4];
    l->thread.id = (uint32_t)ts[5];
    l->frame.previous = (uint32_t)frame[1];
    l->frame.code = (uint32_t)frame[2];
    l->frame.at = (uint32_t)frame[3];
    l->frame.owner = (uint32_t)frame[5];
    l->code.file = (uint32_t)code[1];
    l->code.name = (uint32_t)code[2];
    l->code.qualname = (uint32_t)code[3];
    l->code.table = (uint32_t)code[4];
    l->code.line = (uint32_t)code[5];
    l->code.bytes = (uint32_t)code[9];
    l->code.flags = 48;
    l->code.version = 92;
    l->text.ascii = (uint32_t)text[3];
    l->text.compact = (uint32_t)text[3] + 16;
    return NULL;
}

struct member { /* PyMemberDef; addresses of the process */
    uint64_t name;
    int type;
    int64_t offset;
    int flags;
    uint64_t doc;
};

/* 1 if the name at this address is this one. */
static int is_named(struct tt_peek *peek, uint64_t at, const char *name)
{
    char text[32];
    size_t size = strlen(name) + 1;

    return size <= sizeof text && tt_peek_bytes(peek, at, text, size) &&
           memcmp(text, name, size) == 0;
}

/* The offset of a type's member; -1: not listed. */
static int64_t member_of(struct tt_peek *peek, uint64_t type, const char *name)
{
    enum { MEMBERS = 240, MOST = 64 };
    struct member m;
    uint64_t at;

    if (!tt_peek_word(peek, type + MEMBERS, &at))
        return -1;
    for (int i = 0; at && i < MOST; i++) {
        if (!tt_peek_bytes(peek, at + (uint64_t)i * sizeof m, &m, sizeof m) || !m.name)
            break;
        if (is_named(peek, m.name, name))
            return m.offset;
    }
    return -1;
}

static int is_at(struct tt_peek *peek, uint64_t type, const char *name, uint32_t offset)
{
    return member_of(peek, type, name) == offset;
}

static const char *check(const struct tt_python *p, struct tt_peek *peek)
{
    enum { BASIC_SIZE = 32 };
    const struct tt_python_layout *l = &p->layout;
    uint64_t size = 0;

    if (!is_at(peek, p->code_type, "co_filename", l->code.file) ||
        !is_at(peek, p->code_type, "co_name", l->code.name) ||
        !is_at(peek, p->code_type, "co_firstlineno", l->code.line) ||
        !is_at(peek, p->code_type, "co_flags", l->code.flags))
        return unlike;
    if (l->code.qualname &&
        (!is_at(peek, p->code_type, "co_qualname", l->code.qualname) ||
         !tt_peek_word(peek, p->code_type + BASIC_SIZE, &size) || size != l->code.bytes))
        return unlike;
    if (!l->code.qualname && p->frame_type &&
        !is_at(peek, p->frame_type, "f_back", l->frame.previous))
        return unlike;
    return NULL;
}

/* Limits reads of a frame to the part that is used. */
static void bound_frame(struct tt_python_layout *l)
{
    const uint32_t at[] = {l->frame.previous, l->frame.code, l->frame.at, l->frame.entry,
                           l->frame.owner};

    l->frame.begin = l->frame.code;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        if (i < 3 && at[i] < l->frame.begin)
            l->frame.begin = at[i] & ~7u;
        if (at[i] >= l->frame.end)
            l->frame.end = (at[i] & ~7u) + 8;
    }
}

/* ── Both ─────────────────────────────────────────────────────────────────────────── */

const char *tt_python_layout(struct tt_python *p, struct tt_peek *peek, uint32_t version)
{
    const struct tt_python_layout *known = NULL;
    const char *reason = NULL;

    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].version == version)
            known = &layouts[i];
    if (!known || !version)
        return "the structures of this version are not known";
    p->layout = *known;
    if (version >= 0x30d)
        reason = take_debug_offsets(p, peek);
    bound_frame(&p->layout);
    if (!reason && p->layout.frame.end > TT_PYTHON_FRAME)
        reason = unlike;
    return reason ? reason : check(p, peek);
}
