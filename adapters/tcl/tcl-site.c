/* SPDX-License-Identifier: MIT */
/* tcl-site.c - the statement that calls a procedure, as Tcl knows it.
 *
 * When byte-code calls something it first writes down how far it has come; only then is that
 * to be trusted.  From there the map that goes with the code leads to the statement. */
#include <stdlib.h>
#include <string.h>

#include "tcl-attach.h"

/* ── Numbers of the map: a byte, or 0xff and four ─────────────────────────────────── */

static unsigned read_4(const unsigned char *p)
{
    return (unsigned)p[0] << 24 | (unsigned)p[1] << 16 | (unsigned)p[2] << 8 | p[3];
}

static int next_length(const unsigned char **p)
{
    int value = **p;

    if (value == 0xff) {
        value = (int)read_4(*p + 1);
        *p += 4;
    }
    ++*p;
    return value;
}

static int next_delta(const unsigned char **p)
{
    int value = (signed char)**p;

    if (**p == 0xff) {
        value = (int)read_4(*p + 1);
        *p += 4;
    }
    ++*p;
    return value;
}

struct reader { /* of the commands, in the order in which they begin */
    const unsigned char *at, *lengths, *from, *sizes;
    int number, count;
    int start, length, source, size; /* of the one that was read: code, and text */
};

static void begin_reading(struct reader *r, const ByteCode *code)
{
    *r = (struct reader){.at = code->codeDeltaStart,
                         .lengths = code->codeLengthStart,
                         .from = code->srcDeltaStart,
                         .sizes = code->srcLengthStart,
                         .number = -1,
                         .count = code->numCommands};
}

static int read_command(struct reader *r)
{
    if (r->number + 1 >= r->count)
        return 0;
    r->number++;
    r->start += next_delta(&r->at);
    r->length = next_length(&r->lengths);
    r->source += next_delta(&r->from);
    r->size = next_length(&r->sizes);
    return 1;
}

struct statement {
    int from, length; /* its place in the source */
};

/* The innermost that has this instruction. */
static int find_statement(const ByteCode *code, int pc, struct statement *found)
{
    struct reader r;
    int best = -1;

    begin_reading(&r, code);
    while (read_command(&r) && r.start <= pc)
        if (pc < r.start + r.length && (best < 0 || pc - r.start <= best)) {
            *found = (struct statement){r.source, r.size};
            best = pc - r.start;
        }
    return best >= 0;
}

/* ── What is left of code that is out of date ─────────────────────────────────────── */

/* When a command that byte-code is made of becomes another one, Tcl evaluates each statement that
 * is still to be run by itself, as a text, which it says no file of. */
int tt_tcl_site_rest(const Tcl_Interp *interp, const char *text, int size,
                     struct tt_tcl_rest *rest)
{
    const CmdFrame *frame = ((const Interp *)(const void *)interp)->cmdFramePtr;
    const ByteCode *code;
    struct reader r;
    const char *end;
    int pc;

    if (!frame || frame->type != TCL_LOCATION_BC || !frame->data.tebc.codePtr)
        return 0;
    code = frame->data.tebc.codePtr;
    if (!(code->flags & TCL_BYTECODE_RECOMPILE) || !frame->data.tebc.pc)
        return 0;
    pc = (int)(frame->data.tebc.pc - (const char *)code->codeStart);
    begin_reading(&r, code);
    while (read_command(&r) && r.start <= pc)
        if (pc < r.start + r.length && r.size == size &&
            memcmp(code->source + r.source, text, (size_t)size) == 0) {
            end = code->source + r.source + size;
            *rest = (struct tt_tcl_rest){code, r.source,
                                         end < code->source + code->numSrcBytes &&
                                             strchr(";\n", *end) != NULL};
            return 1;
        }
    return 0;
}

/* ── Blocks ───────────────────────────────────────────────────────────────────────── */

static tt_block make_block(struct tt_tcl_interp *t, const ByteCode *code, int pc)
{
    Interp *i = (Interp *)(void *)t->interp;
    const Tcl_HashEntry *e = Tcl_FindHashEntry(i->lineBCPtr, (const char *)code);
    const ExtCmdLoc *map = e ? Tcl_GetHashValue(e) : NULL;
    struct statement s;
    struct tt_tcl_text text;
    struct tt_tcl_place here, end;
    const char *file;
    Tcl_Parse p;
    tt_block block;

    if (!map || map->type != TCL_LOCATION_SOURCE || !map->path ||
        !find_statement(code, pc, &s))
        return 0;
    file = Tcl_GetString(map->path);
    if (!tt_tcl_is_wanted(file) ||
        Tcl_ParseCommand(NULL, code->source + s.from, s.length, 0, &p) != TCL_OK)
        return 0;
    tt_tcl_text_find(&text, file, (uint32_t)map->start, code->source,
                     (size_t)code->numSrcBytes);
    here = text.start;
    tt_tcl_text_move(&text, &here, code->source, 0, (size_t)s.from);
    end = here;
    tt_tcl_text_move(&text, &end, code->source, (size_t)s.from,
                     (size_t)(s.from + s.length));
    block = tt_tcl_statement(file, &here, &p, end.index - here.index);
    tt_tcl_text_fini(&text);
    Tcl_FreeParse(&p);
    return block;
}

tt_block tt_tcl_site_of(struct tt_tcl_interp *t)
{
    const CmdFrame *frame = ((Interp *)(void *)t->interp)->cmdFramePtr;
    const ByteCode *code;
    struct tt_tcl_site *site;
    const char *pc;

    if (!frame || frame->type != TCL_LOCATION_BC || !frame->data.tebc.codePtr)
        return 0;
    code = frame->data.tebc.codePtr;
    pc = frame->data.tebc.pc;
    if (!pc || pc < (const char *)code->codeStart ||
        pc >= (const char *)code->codeStart + code->numCodeBytes)
        return 0;
    site = &t->site[((uintptr_t)pc ^ (uintptr_t)code >> 4) % TT_TCL_SITES];
    if (site->code != code || site->pc != pc || site->source != code->source)
        *site = (struct tt_tcl_site){
            code, pc, code->source,
            make_block(t, code, (int)(pc - (const char *)code->codeStart))};
    return site->block;
}
