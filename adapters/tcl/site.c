/* SPDX-License-Identifier: MIT */
/* site.c - the statement that calls a procedure, as Tcl knows it.
 *
 * When byte-code calls something it first writes down how far it has come; only then is that
 * to be trusted.  From there the map that goes with the code leads to the statement. */
#include <stdlib.h>
#include <string.h>

#include "attach.h"

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

struct statement {
    int command, from, length; /* its number, and its place in the source */
};

/* The innermost that has this instruction. */
static int find_statement(const ByteCode *code, int pc, struct statement *found)
{
    const unsigned char *at = code->codeDeltaStart, *lengths = code->codeLengthStart,
                        *from = code->srcDeltaStart, *sizes = code->srcLengthStart;
    int start = 0, source = 0, length, size, best = -1;

    for (int i = 0; i < code->numCommands; i++) {
        start += next_delta(&at);
        length = next_length(&lengths);
        source += next_delta(&from);
        size = next_length(&sizes);
        if (start > pc)
            break;
        if (pc < start + length && (best < 0 || pc - start <= best)) {
            *found = (struct statement){i, source, size};
            best = pc - start;
        }
    }
    return best >= 0;
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
