/* SPDX-License-Identifier: MIT */
/* tcl-compile.c - marks in the byte-code that Tcl's compiler makes.
 *
 * If a command has a compiler, Tcl calls it to make the command's byte-code.  Our
 * function replaces all of them, and is added to commands that have none.  It puts a mark
 * before the code that Tcl would have made, and a mark after the last command of a
 * script.  Commands without such a call get their marks at the end, in tcl-late.c.  The
 * text of scripts is not changed, so everything that Tcl reports about it is
 * unchanged. */
#include "tcl-attach.h"
#include "tcl-emit.h"
#include "tcl-home.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct tt_tcl_globs tt_tcl_globs;
int tt_tcl_script_done;
static int calibrating;

void tt_tcl_compile_calibration(int on) { calibrating = on; }

/* Blocks of a calibration should not be visible: their kind is in a recording only if it
 * has run there. */
static enum tt_kind kind_of(enum tt_kind kind)
{
    return calibrating ? TT_KIND_SCOPE : kind;
}

/* Lists in words: more have their texts when they run, as statements. */
enum { NAME_MOST = 60, WORDS_MOST = 255, NESTED_MOST = 3 };

/* ── Pieces of byte-code ──────────────────────────────────────────────────────────── */

static int is_one_of(const char *file, char *const *globs)
{
    for (; *globs; globs++)
        if (fnmatch(*globs, file, 0) == 0)
            return 1;
    return 0;
}

int tt_tcl_is_wanted(const char *file)
{
    if (tt_tcl_globs.include && !is_one_of(file, tt_tcl_globs.include))
        return 0;
    return !tt_tcl_globs.exclude || !is_one_of(file, tt_tcl_globs.exclude);
}

static int same_unit(const struct tt_tcl_unit *u, const CompileEnv *env)
{
    return u->env == env && u->map == env->extCmdMapPtr && u->source == env->source &&
           u->size == env->numSrcBytes && env->numCommands > u->commands;
}

/* Methods and lambdas have a temporary command; Tcl keeps the name after it. */
static void name_sham(const Command *c, Tcl_DString *name)
{
    const ExtraFrameInfo *info = c ? c->clientData : NULL;
    Tcl_Obj *what = NULL;

    if (info != (const void *)(c + 1)) {
        Tcl_DStringAppend(name, "lambda", -1);
        return;
    }
    if (info->length == 2) /* a method: its text precedes */
        memcpy(&what, (const char *)c - sizeof what, sizeof what);
    else if (info->length == 1 && !info->fields[0].proc)
        what = info->fields[0].clientData;
    Tcl_DStringAppend(name, info->length == 2 ? "method" : "lambda", -1);
    if (what) {
        Tcl_DStringAppend(name, " ", 1);
        Tcl_DStringAppend(name, Tcl_GetString(what), -1);
    }
}

/* A temporary command is on the C stack, and its content cannot be trusted. */
static int is_passing(const Command *c)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0), there = (uintptr_t)c;

    return there > here && there - here < 1u << 20;
}

static void name_proc(const Proc *proc, Tcl_DString *name)
{
    const Command *c = proc->cmdPtr;

    Tcl_DStringInit(name);
    if (c && is_passing(c)) {
        Tcl_DStringAppend(name, "method", -1);
        return;
    }
    if (!c || !c->hPtr) {
        name_sham(c, name);
        return;
    }
    if (c->nsPtr && c->nsPtr->parentPtr) {
        Tcl_DStringAppend(name, c->nsPtr->fullName + 2, -1);
        Tcl_DStringAppend(name, "::", 2);
    }
    Tcl_DStringAppend(name, Tcl_GetHashKey(&c->nsPtr->cmdTable, c->hPtr), -1);
}

/* The first line, and not too much of it. */
static void cut_name(char *out, size_t size, const char *text, size_t length)
{
    size_t n = 0;

    while (n < length && text[n] != '\n' && n < NAME_MOST)
        n++;
    while (n < length && n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80)
        n--;
    (void)snprintf(out, size, "%.*s%s", (int)n, text, n < length ? "..." : "");
}

tt_block tt_tcl_piece(const Proc *proc, const char *file, const struct tt_tcl_text *at,
                      const char *text, int size)
{
    struct tt_block_info info = {.kind = kind_of(TT_KIND_BLOCK),
                                 .file = file,
                                 .line = at->start.line,
                                 .column = at->start.column,
                                 .offset = at->start.index};
    struct tt_tcl_place end = at->start;
    Tcl_DString name;
    char cut[NAME_MOST + 8];
    tt_block block;

    name_proc(proc, &name);
    cut_name(cut, sizeof cut, Tcl_DStringValue(&name), (size_t)Tcl_DStringLength(&name));
    info.name = cut;
    tt_tcl_text_move(at, &end, text, 0, (size_t)size);
    info.length = (uint32_t)(end.index - at->start.index);
    block = tt_block_make(&info);
    Tcl_DStringFree(&name);
    return block;
}

static int is_in_file(const ExtCmdLoc *map)
{
    return map->type == TCL_LOCATION_SOURCE && map->path;
}

/* Returns the file of a text.  Tcl may know it, but its line may be wrong after continued
 * lines.  NULL: it is in none. */
static const char *place_text(struct tt_tcl_text *t, const ExtCmdLoc *map,
                              const void *owner, const char *text, size_t size)
{
    const char *file = is_in_file(map) ? Tcl_GetString(map->path) : NULL;
    struct tt_tcl_wanted w = {
        .file = file, .line = file ? (uint32_t)map->start : 0, .owner = owner};
    const char *home = tt_tcl_home_find(t, &w, text, size);

    if (home || !file)
        return home;
    tt_tcl_text_find(t, file, w.line, text, size);
    if (t->start.found || tt_tcl_text_search(t, file, text, size))
        return file;
    return NULL; /* put together by a command that is on that line */
}

/* A statement that is left of other code.  It has a home then, as it may be left in part, too. */
static int place_rest(struct tt_tcl_unit *u, const CompileEnv *env)
{
    size_t size = (size_t)env->numSrcBytes;
    struct tt_tcl_text whole = {.start = {.found = 0}};
    struct tt_tcl_place here;
    struct tt_tcl_rest rest;
    const Tcl_HashEntry *e;
    const char *file;

    if (!tt_tcl_site_rest((Tcl_Interp *)(void *)env->iPtr, env->source, env->numSrcBytes,
                          &rest))
        return 0;
    e = Tcl_FindHashEntry(env->iPtr->lineBCPtr, (const char *)rest.code);
    file = e ? place_text(&whole, Tcl_GetHashValue(e), rest.code->procPtr,
                          rest.code->source, (size_t)rest.code->numSrcBytes)
             : NULL;
    here = whole.start;
    tt_tcl_text_move(&whole, &here, rest.code->source, 0, (size_t)rest.from);
    tt_tcl_text_fini(&whole);
    if (!file || !here.found ||
        !tt_tcl_text_find_at(&u->text, file, here.line, here.column, env->source, size))
        return 0;
    u->file = strdup(file);
    u->terminated = rest.terminated;
    tt_tcl_home_add(0, file, &here, env->source, size);
    return 1;
}

/* Returns the file of the running code, which evaluates this text. */
static const char *running_file(const Interp *interp)
{
    for (const CmdFrame *f = interp->cmdFramePtr; f; f = f->nextPtr) {
        const Tcl_HashEntry *e;
        const ExtCmdLoc *map;
        if (f->type == TCL_LOCATION_SOURCE && f->data.eval.path)
            return Tcl_GetString(f->data.eval.path);
        e = f->type == TCL_LOCATION_BC
                ? Tcl_FindHashEntry(interp->lineBCPtr, (const char *)f->data.tebc.codePtr)
                : NULL;
        map = e ? Tcl_GetHashValue(e) : NULL;
        if (map && map->type == TCL_LOCATION_SOURCE && map->path)
            return Tcl_GetString(map->path);
    }
    return NULL;
}

/* Code without a file gets a separate file name, so that it is listed.  Code made by a
 * library is wanted if the library is.  NULL: it is not. */
static char *name_elsewhere(const CompileEnv *env)
{
    const char *runs = running_file(env->iPtr);
    Tcl_DString name;
    char *file;

    if (runs && !tt_tcl_is_wanted(runs))
        return NULL;
    if (!env->procPtr)
        return strdup("[eval]");
    name_proc(env->procPtr, &name);
    if (asprintf(&file, "[%s]", Tcl_DStringValue(&name)) < 0)
        file = NULL;
    Tcl_DStringFree(&name);
    return file;
}

static void place_unit(struct tt_tcl_unit *u, const CompileEnv *env)
{
    const ExtCmdLoc *map = env->extCmdMapPtr;
    struct tt_tcl_place start = {.line = (uint32_t)env->line, .column = 1};
    const char *file;

    free(u->file);
    u->file = NULL;
    u->terminated = 0;
    tt_tcl_text_fini(&u->text);
    u->text.start = start;
    if (!is_in_file(map) && place_rest(u, env))
        return;
    u->text.start = start;
    file = place_text(&u->text, map, env->procPtr, env->source, (size_t)env->numSrcBytes);
    u->file = file ? strdup(file) : name_elsewhere(env);
    if (!file && !u->text.start.found)
        u->text.start.line = (uint32_t)map->start;
}

/* The next command of a script that ends at `end`; 0: there is none, -1: it cannot be read. */
static int next_command(const char *at, const char *end, Tcl_Parse *next)
{
    while (at < end) {
        if (Tcl_ParseCommand(NULL, at, (int)(end - at), 0, next) != TCL_OK)
            return -1;
        if (next->numWords > 0)
            return 1;
        at = next->commandStart + next->commandSize;
        Tcl_FreeParse(next);
    }
    return 0;
}

/* The first command of a script has nothing before it; one in an expression, or in text that
 * is substituted, has its bracket. */
static int is_expression(const CompileEnv *env)
{
    const CmdLocation *first = env->cmdMapPtr;
    Tcl_Parse p;
    int found = next_command(env->source, env->source + env->numSrcBytes, &p);

    if (found > 0)
        Tcl_FreeParse(&p);
    return found <= 0 || p.commandStart - env->source != first->srcOffset;
}

static void begin_unit(struct tt_tcl_unit *u, const CompileEnv *env)
{
    place_unit(u, env);
    u->env = env;
    u->map = env->extCmdMapPtr;
    u->source = env->source;
    u->size = env->numSrcBytes;
    u->expression = is_expression(env);
    u->wanted = u->file && tt_tcl_is_wanted(u->file) && !tt_tcl_script_done;
    u->depth = 0;
    u->opened = u->seen = 0;
    u->inside = u->body = u->straight = u->straight_start = NULL;
    u->at = 0;
    u->here = u->text.start;
    u->piece = u->wanted && env->procPtr ? tt_tcl_piece(env->procPtr, u->file, &u->text,
                                                        env->source, env->numSrcBytes)
                                         : 0;
}

/* ── Statements ───────────────────────────────────────────────────────────────────── */

/* Without the semicolon or the newline that ends it, which TDK counts with its length. */
static size_t text_size(const Tcl_Parse *p)
{
    size_t size = (size_t)p->commandSize;

    if (p->term < p->commandStart + size)
        size = (size_t)(p->term - p->commandStart);
    while (size && strchr(" \t\n\r;", p->commandStart[size - 1]))
        size--;
    return size;
}

tt_block tt_tcl_statement(const char *file, const struct tt_tcl_place *at,
                          const Tcl_Parse *p, uint64_t length)
{
    char name[NAME_MOST + 8];
    struct tt_block_info info = {.kind = kind_of(TT_KIND_STATEMENT),
                                 .name = name,
                                 .file = file,
                                 .line = at->line,
                                 .column = at->column,
                                 .offset = at->index};

    cut_name(name, sizeof name, p->commandStart, text_size(p));
    info.length = (uint32_t)length;
    return tt_block_make(&info);
}

static tt_block block_of(struct tt_tcl_unit *u, const CompileEnv *env, const Tcl_Parse *p,
                         int length)
{
    size_t at = (size_t)(p->commandStart - env->source);
    struct tt_tcl_place place, end;
    uint64_t ends = u->terminated && at + (size_t)length == (size_t)u->size;

    if (at < u->at) {
        u->here = u->text.start;
        u->at = 0;
    }
    tt_tcl_text_move(&u->text, &u->here, env->source, u->at, at);
    u->at = at;
    place = end = u->here;
    tt_tcl_text_move(&u->text, &end, env->source, at, at + (size_t)length);
    if (!place.found)
        place.line = (uint32_t)env->line;
    return tt_tcl_statement(u->file, &place, p, end.index - place.index + ends);
}

static Command *command_named(struct tt_tcl_interp *t, const Tcl_Token *word)
{
    Tcl_DString name;
    Tcl_Command found;

    if (word->type != TCL_TOKEN_SIMPLE_WORD)
        return NULL;
    Tcl_DStringInit(&name);
    Tcl_DStringAppend(&name, word[1].start, word[1].size);
    found = Tcl_FindCommand(t->interp, Tcl_DStringValue(&name), NULL, 0);
    Tcl_DStringFree(&name);
    return (Command *)found;
}

static int has_token(const Tcl_Parse *p, int type)
{
    for (int i = 0; i < p->numTokens; i++)
        if (p->tokenPtr[i].type == type)
            return 1;
    return 0;
}

static int is_last(const Tcl_Parse *p)
{
    Tcl_Parse next;
    int found = next_command(p->commandStart + p->commandSize, p->end, &next);

    if (found > 0)
        Tcl_FreeParse(&next);
    return found == 0;
}

/* ── Straight runs ────────────────────────────────────────────────────────────────── */

/* Commands that run nothing else and go on to the next: in blocks, a run of them is one. */
int tt_tcl_is_simple(const Tcl_Parse *p)
{
    static const char *const names[] = {"set", "incr", "append", "lappend"};
    const Tcl_Token *word = p->tokenPtr;

    if (word->type != TCL_TOKEN_SIMPLE_WORD || has_token(p, TCL_TOKEN_COMMAND) ||
        has_token(p, TCL_TOKEN_EXPAND_WORD))
        return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((size_t)word->size == strlen(names[i]) &&
            memcmp(word->start, names[i], (size_t)word->size) == 0)
            return 1;
    return 0;
}

static const char *straight_end(const Tcl_Parse *p)
{
    const char *last = p->commandStart + p->commandSize;
    Tcl_Parse next;
    int simple = 1;

    while (simple && next_command(last, p->end, &next) > 0) {
        simple = tt_tcl_is_simple(&next);
        if (simple)
            last = next.commandStart + next.commandSize;
        Tcl_FreeParse(&next);
    }
    return last;
}

/* ── Commands ─────────────────────────────────────────────────────────────────────── */

/* A command without a compiler: its name, its words, a call.  The code of [next] is most
 * similar: it pushes all words, and ends with an instruction like a call. */
static int compile_call(struct tt_tcl_interp *t, Tcl_Parse *p, Command *c,
                        CompileEnv *env)
{
    ECL *location = &env->extCmdMapPtr->loc[env->extCmdMapPtr->nuloc - 1];
    int index = env->extCmdMapPtr->nuloc - 1, result;
    Tcl_Token *word = p->tokenPtr;
    unsigned count = (unsigned)p->numWords;

    if (count > WORDS_MOST || word->type != TCL_TOKEN_SIMPLE_WORD)
        return TCL_ERROR;
    tt_tcl_put_push(env, TclRegisterLiteral(env, (char *)(uintptr_t)word[1].start,
                                            word[1].size, LITERAL_CMD_NAME));
    if (count > 1) {
        p->tokenPtr += word->numComponents + 1;
        p->numWords--;
        location->line++;
        location->next++;
        result = t->words(t->interp, p, c, env);
        location = &env->extCmdMapPtr->loc[index]; /* it may have moved */
        location->line--;
        location->next--;
        p->tokenPtr = word;
        p->numWords++;
        if (result != TCL_OK)
            return result;
        env->codeNext -= 2;
        tt_tcl_put_call(env, count);
    } else {
        tt_tcl_put_call(env, 1);
    }
    return TCL_OK;
}

static const struct tt_tcl_mark *mark_of(const struct tt_tcl_unit *u, tt_block block,
                                         uint32_t flags)
{
    struct tt_tcl_mark like = {
        .block = block, .piece = u->piece, .depth = u->depth, .flags = flags};

    return tt_tcl_mark_get(&like);
}

static CompileProc *compiler_of(struct tt_tcl_interp *t, const Command *c)
{
    const Tcl_HashEntry *e = Tcl_FindHashEntry(&t->commands, (const char *)c);

    return e ? (CompileProc *)Tcl_GetHashValue(e) : NULL;
}

/* The last statement of a loop's body ends where the next round begins, or the loop ends: its
 * time has the loop's test.  A mark less in each round is worth more than that is. */
static const char *end_of_body(const struct tt_tcl_interp *t, const Tcl_Parse *p,
                               CompileProc *own)
{
    const Tcl_Token *word = p->tokenPtr;

    if (!own || (own != t->loops[0] && own != t->loops[1] && own != t->loops[2]))
        return NULL;
    for (int i = 1; i < p->numWords; i++)
        word += word->numComponents + 1;
    return word->type == TCL_TOKEN_SIMPLE_WORD ? word[1].start + word[1].size : NULL;
}

struct progress { /* of what compilers add to */
    ptrdiff_t code;
    int commands, literals, ranges, data;
};

static struct progress progress_of(const CompileEnv *env)
{
    return (struct progress){.code = env->codeNext - env->codeStart,
                             .commands = env->numCommands,
                             .literals = env->literalArrayNext,
                             .ranges = env->exceptArrayNext,
                             .data = env->auxDataArrayNext};
}

/* If its compiler fails, Tcl drops the code with our mark, and makes a call, which gets
 * its mark in tcl-late.c.  In an expression there is no such end: the call is made here, unless the
 * compiler has left a part of its work. */
static int compile_inside(struct tt_tcl_interp *t, Tcl_Parse *p, Command *c,
                          CompileEnv *env)
{
    CompileProc *own = compiler_of(t, c);
    const char *around = t->unit.inside, *body = t->unit.body;
    struct progress before = progress_of(env), after;
    int result = TCL_ERROR;

    t->unit.inside = p->commandStart;
    t->unit.body = end_of_body(t, p, own);
    if (own)
        result = own(t->interp, p, c, env);
    after = progress_of(env);
    if (!own || (result != TCL_OK && t->unit.expression &&
                 memcmp(&before, &after, sizeof before) == 0))
        result = compile_call(t, p, c, env);
    t->unit.body = body;
    t->unit.inside = around;
    return result;
}

/* Returns the block of a command; `first`: its mark is put before it, `last`: one after
 * it. */
static tt_block charged(struct tt_tcl_unit *u, const CompileEnv *env, const Tcl_Parse *p,
                        int *first, int *last)
{
    const char *next = p->commandStart + p->commandSize;

    *first = *last = 1;
    if (tt_tcl_mode != TT_TCL_BLOCKS || !tt_tcl_is_simple(p))
        return block_of(u, env, p, p->commandSize);
    *first = p->commandStart >= u->straight || p->commandStart < u->straight_start;
    if (*first) {
        u->straight_start = p->commandStart;
        u->straight = straight_end(p);
        u->straight_block = block_of(u, env, p, (int)(u->straight - p->commandStart));
    }
    *last = next >= u->straight;
    return u->straight_block;
}

/* Returns how many commands enclose the one that is being compiled, within its piece:
 * those that Tcl has begun and not ended, including those for which we were not
 * called. */
static uint32_t depth_of(struct tt_tcl_unit *u, const CompileEnv *env)
{
    const CmdLocation *map = env->cmdMapPtr;
    uint32_t count = (uint32_t)env->numCommands;

    while (u->opened && (u->open[u->opened - 1] >= count - 1 ||
                         map[u->open[u->opened - 1]].numCodeBytes >= 0))
        u->opened--;
    if (u->seen > count - 1)
        u->seen = count - 1; /* what was compiled there is no more */
    for (; u->seen < count - 1; u->seen++) {
        if (map[u->seen].numCodeBytes >= 0)
            continue;
        if (u->opened == u->open_room) {
            uint32_t room = u->open_room ? u->open_room * 2 : 32;
            uint32_t *open = realloc(u->open, room * sizeof *open);
            if (!open)
                break;
            u->open = open;
            u->open_room = room;
        }
        u->open[u->opened++] = u->seen;
    }
    return u->opened;
}

/* Is the word in braces or quotes, without substitutions?  Joined lines are allowed. */
static int is_kept_text(const Tcl_Token *word)
{
    if (word->type != TCL_TOKEN_SIMPLE_WORD && word->type != TCL_TOKEN_WORD)
        return 0;
    if ((*word->start != '{' && *word->start != '"') || word->size < 4)
        return 0;
    for (int i = 1; i <= word->numComponents; i++)
        if (word[i].type != TCL_TOKEN_TEXT &&
            (word[i].type != TCL_TOKEN_BS || word[i].start[1] != '\n'))
            return 0;
    return 1;
}

struct kept_words { /* of a statement */
    tt_block block;
    const char *file, *source;
    const struct tt_tcl_text *text;
};

static void add_words(const struct kept_words *, const Tcl_Parse *,
                      struct tt_tcl_place here, int depth);

/* A text may be a list of others: of patterns and scripts, or of lambdas. */
static void add_list(const struct kept_words *w, const char *text, size_t size,
                     struct tt_tcl_place here, int depth)
{
    const char *at = text;
    Tcl_Parse p;

    while (next_command(at, text + size, &p) > 0) {
        tt_tcl_text_move(w->text, &here, w->source, (size_t)(at - w->source),
                         (size_t)(p.commandStart - w->source));
        add_words(w, &p, here, depth);
        tt_tcl_text_move(w->text, &here, w->source, (size_t)(p.commandStart - w->source),
                         (size_t)(p.commandStart + p.commandSize - w->source));
        at = p.commandStart + p.commandSize;
        Tcl_FreeParse(&p);
    }
}

static void add_words(const struct kept_words *w, const Tcl_Parse *p,
                      struct tt_tcl_place here, int depth)
{
    const Tcl_Token *word = p->tokenPtr;
    const char *at = p->commandStart;

    for (int i = 0; i < p->numWords; i++, word += word->numComponents + 1) {
        const char *inside = word->start + 1;
        size_t size = (size_t)word->size - 2;
        if (!is_kept_text(word))
            continue;
        tt_tcl_text_move(w->text, &here, w->source, (size_t)(at - w->source),
                         (size_t)(inside - w->source));
        at = inside;
        tt_tcl_home_add(w->block, w->file, &here, inside, size);
        if (depth < NESTED_MOST)
            add_list(w, inside, size, here, depth + 1);
    }
}

void tt_tcl_add_homes(const Tcl_Parse *p, tt_block block, const char *file,
                      const struct tt_tcl_text *text, const char *source,
                      const struct tt_tcl_place *here)
{
    const struct kept_words w = {
        .block = block, .file = file, .source = source, .text = text};

    add_words(&w, p, *here, 0);
}

static void add_unit_homes(const struct tt_tcl_unit *u, const CompileEnv *env,
                           const Tcl_Parse *p, tt_block block)
{
    struct tt_tcl_place here = u->text.start;

    if (!here.found)
        return;
    tt_tcl_text_move(&u->text, &here, env->source, 0,
                     (size_t)(p->commandStart - env->source));
    tt_tcl_add_homes(p, block, u->file, &u->text, env->source, &here);
}

void tt_tcl_unit_homes(struct tt_tcl_interp *t, const CompileEnv *env, const Tcl_Parse *p,
                       int length)
{
    add_unit_homes(&t->unit, env, p, length ? block_of(&t->unit, env, p, length) : 0);
}

static int compile_marked(struct tt_tcl_interp *t, Tcl_Parse *p, Command *c,
                          CompileEnv *env)
{
    struct tt_tcl_unit *u = &t->unit;
    uint32_t depth = u->depth = depth_of(u, env);
    int first, last, result;
    tt_block block = charged(u, env, p, &first, &last);

    if (first)
        tt_tcl_put_mark(env, mark_of(u, block, env->numCommands == 1 ? TT_TCL_FIRST : 0));
    if (u->expression) /* Tcl does not call tt_tcl_finish_code for it */
        add_unit_homes(u, env, p, block);
    result = compile_inside(t, p, c, env);
    u->depth = depth;
    if (result == TCL_OK && last && is_last(p) && p->end != u->body)
        tt_tcl_put_mark(env,
                        mark_of(u, block, TT_TCL_END | (u->depth ? 0 : TT_TCL_LAST)));
    return result;
}

const struct tt_tcl_mark *tt_tcl_late_mark(struct tt_tcl_interp *t, CompileEnv *env,
                                           const Tcl_Parse *p, int length, uint32_t depth,
                                           uint32_t flags)
{
    t->unit.depth = depth;
    return mark_of(&t->unit, block_of(&t->unit, env, p, length), flags);
}

int tt_tcl_unit_enter(struct tt_tcl_interp *t, const CompileEnv *env)
{
    if (!same_unit(&t->unit, env))
        begin_unit(&t->unit, env);
    return t->unit.wanted;
}

void tt_tcl_unit_leave(struct tt_tcl_interp *t)
{
    t->unit.env = NULL;
    t->unit.commands = 0;
}

/* An assembler compiles texts among those of the code around it. */
static int lies_in(const CompileEnv *env, const Tcl_Parse *p)
{
    uintptr_t at = (uintptr_t)p->commandStart, start = (uintptr_t)env->source;

    return at >= start &&
           at + (unsigned)p->commandSize <= start + (unsigned)env->numSrcBytes;
}

static int compile(Tcl_Interp *interp, Tcl_Parse *p, Command *c, CompileEnv *env)
{
    struct tt_tcl_interp *t = tt_tcl_interp_of(interp);
    CompileProc *own = t ? compiler_of(t, c) : NULL;
    struct tt_tcl_unit *u = t ? &t->unit : NULL;

    if (!t || !t->active || !lies_in(env, p))
        return own ? own(interp, p, c, env) : TCL_ERROR;
    if (!same_unit(u, env))
        begin_unit(u, env);
    u->commands = env->numCommands - 1;
    /* the command of an ensemble is compiled as a part of it */
    if (!u->wanted || u->inside == p->commandStart || (!own && !u->expression))
        return own ? own(interp, p, c, env) : TCL_ERROR;
    return compile_marked(t, p, c, env);
}

/* ── The compilers of commands ────────────────────────────────────────────────────── */

static void take(struct tt_tcl_interp *t, Command *c)
{
    Tcl_HashEntry *e;
    int is_new;

    if (c->compileProc == compile || !c->nsPtr || c->nsPtr->interp != t->interp)
        return;
    /* ensembles recognize each other by their compiler; an assembler needs unchanged
     * code */
    if ((c->nsPtr->parentPtr && c->compileProc == t->ensembles) ||
        (c->compileProc && c->compileProc == t->assembler))
        return;
    e = Tcl_CreateHashEntry(&t->commands, (const char *)c, &is_new);
    Tcl_SetHashValue(e, (ClientData)c->compileProc);
    c->compileProc = compile;
}

/* A command without a compiler stays without: otherwise Tcl would compile all byte-code
 * again when it is traced, renamed or deleted. */
void tt_tcl_command_take(struct tt_tcl_interp *t, Command *c)
{
    if (c->compileProc)
        take(t, c);
}

void tt_tcl_command_give(struct tt_tcl_interp *t, Command *c)
{
    Tcl_HashEntry *e = Tcl_FindHashEntry(&t->commands, (const char *)c);

    if (c->compileProc == compile)
        c->compileProc = e ? (CompileProc *)Tcl_GetHashValue(e) : NULL;
    if (e)
        Tcl_DeleteHashEntry(e);
}

/* ── Expressions ──────────────────────────────────────────────────────────────────── */

/* A command without a compiler gets one for as long as it may be compiled. */
static int lend(struct tt_tcl_interp *t, Command *c)
{
    if (c->compileProc)
        return 0;
    if (t->lent == t->lent_room) {
        uint32_t room = t->lent_room ? t->lent_room * 2 : 16;
        Command **list = realloc(t->lent_to, room * sizeof *list);
        if (!list)
            return -1;
        t->lent_to = list;
        t->lent_room = room;
    }
    c->refCount++; /* it may be deleted meanwhile */
    t->lent_to[t->lent++] = c;
    return 0;
}

void tt_tcl_give_back(struct tt_tcl_interp *t, uint32_t from)
{
    while (t->lent > from) {
        Command *c = t->lent_to[--t->lent];
        if (!(c->flags & CMD_IS_DELETED))
            tt_tcl_command_give(t, c);
        TclCleanupCommandMacro(c);
    }
}

/* Without its namespace. */
static const char *tail_of(const char *name)
{
    const char *tail = strrchr(name, ':');

    return tail ? tail + 1 : name;
}

void tt_tcl_command_made(struct tt_tcl_interp *t, Command *c, const char *name)
{
    tt_tcl_command_take(t, c);
    if (Tcl_FindHashEntry(&t->awaited, tail_of(name)) && lend(t, c) == 0)
        take(t, c);
}

/* If there is no such command yet, it is taken when it is made. */
static void take_or_await(struct tt_tcl_interp *t, const Tcl_Token *word)
{
    Command *c = command_named(t, word);
    Tcl_DString name;
    int is_new;

    if (c) {
        if (lend(t, c) == 0)
            take(t, c);
        return;
    }
    Tcl_DStringInit(&name);
    Tcl_DStringAppend(&name, word[1].start, word[1].size);
    Tcl_CreateHashEntry(&t->awaited, tail_of(Tcl_DStringValue(&name)), &is_new);
    Tcl_DStringFree(&name);
}

/* A command that begins there, with its name in braces, quotes or neither. */
static void take_name(struct tt_tcl_interp *t, const char *text, const char *end)
{
    const char *ends = " \t\r\n;[]{}\"$\\";
    Tcl_Token word[2] = {{.type = TCL_TOKEN_SIMPLE_WORD}};
    int size = 0;

    while (text < end && (*text == ' ' || *text == '\t'))
        text++;
    if (text < end && (*text == '{' || *text == '"'))
        ends = *text++ == '{' ? "}" : "\"";
    while (text + size < end && !strchr(ends, text[size]))
        size++;
    word[1].start = text;
    word[1].size = size;
    if (size)
        take_or_await(t, word);
}

/* Commands in the brackets of a text, and in scripts there: their compilers are asked. */
static void take_brackets(struct tt_tcl_interp *t, const char *text, int size)
{
    const char *end = text + size;
    int depth = 0;

    for (; text < end; text++) {
        if (*text == '\\') {
            text++;
            continue;
        }
        depth += *text == '[';
        if (depth && *text && strchr("[{\";\n", *text))
            take_name(t, text + 1, end);
        depth -= depth && *text == ']';
    }
}

void tt_tcl_take_expressions(struct tt_tcl_interp *t, const Tcl_Parse *p)
{
    const Command *c = p->numWords > 1 ? command_named(t, p->tokenPtr) : NULL;
    const Tcl_Token *word = p->tokenPtr;
    CompileProc *own = c ? compiler_of(t, c) : NULL;

    for (int i = 0; own && i < TT_TCL_EXPRESSIONS; i++)
        if (own == t->expressions[i])
            for (int n = 1; n < p->numWords; n++) {
                word += word->numComponents + 1;
                if (is_kept_text(word))
                    take_brackets(t, word->start + 1, word->size - 2);
            }
}

static void take_namespace(struct tt_tcl_interp *t, Namespace *ns)
{
    Tcl_HashSearch search;

    for (Tcl_HashEntry *e = Tcl_FirstHashEntry(&ns->cmdTable, &search); e;
         e = Tcl_NextHashEntry(&search))
        tt_tcl_command_take(t, Tcl_GetHashValue(e));
    for (Tcl_HashEntry *e =
             Tcl_FirstHashEntry(TclGetNamespaceChildTable((Tcl_Namespace *)ns), &search);
         e; e = Tcl_NextHashEntry(&search))
        if (strcmp(((Namespace *)Tcl_GetHashValue(e))->fullName, "::tcl") != 0)
            take_namespace(t, Tcl_GetHashValue(e)); /* those are parts of ensembles */
}

void tt_tcl_compile_begin(struct tt_tcl_interp *t)
{
    Interp *interp = (Interp *)(void *)t->interp;

    take_namespace(t, interp->globalNsPtr);
    t->optimizer = interp->extra.optimizer;
    interp->extra.optimizer = tt_tcl_finish_code;
    t->active = 1;
    interp->compileEpoch++;
}

void tt_tcl_compile_end(struct tt_tcl_interp *t)
{
    Interp *interp = (Interp *)(void *)t->interp;

    t->active = 0;
    if (interp->extra.optimizer == tt_tcl_finish_code)
        interp->extra.optimizer = t->optimizer;
    tt_tcl_each_command(t, interp->globalNsPtr, tt_tcl_command_give);
    interp->compileEpoch++;
}
