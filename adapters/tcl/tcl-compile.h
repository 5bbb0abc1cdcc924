/* SPDX-License-Identifier: MIT */
/* tcl-compile.h - marks in the byte-code that Tcl's compiler makes. */
#ifndef TT_TCL_COMPILE_H
#define TT_TCL_COMPILE_H

#include "tcl-mark.h"
#include "tcl-text.h"

struct tt_tcl_globs {
    char **include, **exclude; /* owned, up to a NULL; or NULL */
};

enum { TT_TCL_STAND_INS = 5, TT_TCL_EXPRESSIONS = 5 };

struct tt_tcl_own { /* the state of a command before we replaced its functions */
    Command *command;
    Tcl_ObjCmdProc *proc, *nre;
    ClientData data;
    struct tt_tcl_interp *t;
};

enum { TT_TCL_SLOTS = 64, TT_TCL_SITES = 256 };

struct tt_tcl_site { /* what tt_tcl_site_of found */
    const void *code;
    const char *pc, *source;
    tt_block block;
};

struct tt_tcl_call { /* the block of a procedure that was taken over */
    const Proc *proc;
    tt_block block;
};

struct tt_tcl_interp { /* one for each interpreter; freed with it */
    Tcl_Interp *interp;
    struct tt_tcl_interp *next; /* of this thread */
    Tcl_HashTable commands;     /* Command * → its own CompileProc */
    Tcl_HashTable made;         /* Command * → Proc *: procedures made meanwhile */
    Tcl_HashTable awaited;      /* names in expressions: to be taken once they are made */
    CompileProc *words;         /* compiles the words of a command, and calls one */
    CompileProc *ensembles;     /* of all that are compiled */
    CompileProc *assembler;
    CompileProc *loops[3];                        /* of [while], [for], [foreach] */
    CompileProc *expressions[TT_TCL_EXPRESSIONS]; /* of commands with expressions */
    void (*optimizer)(void *); /* what Tcl has done with all byte-code, at its end */
    int active;
    Command *
        *lent_to; /* owned: commands with a compiler for a while; each has a reference */
    uint32_t lent, lent_room;
    struct tt_tcl_site site[TT_TCL_SITES];
    struct tt_tcl_call call[TT_TCL_SLOTS];
    struct tt_tcl_own own[TT_TCL_STAND_INS];
    struct tt_tcl_unit { /* the piece of byte-code that is being compiled */
        const CompileEnv *env;
        const ExtCmdLoc *map;
        const char *source;
        int size, commands;
        int wanted;
        char *file; /* owned */
        tt_block piece;
        struct tt_tcl_text text; /* owned */
        struct tt_tcl_place here;
        size_t at;      /* the byte that `here` is the place of */
        uint32_t depth; /* commands around */
        int terminated; /* a newline or semicolon follows it in the source */
        int expression; /* or text to be substituted: tcl-late.c does not see it */
        uint32_t *open; /* owned: those that are begun, by number */
        uint32_t opened, open_room, seen;
        const char *straight_start, *straight; /* a run of simple commands: begin, end */
        tt_block straight_block;
        const char *body;   /* where that of the innermost loop ends */
        const char *inside; /* where the innermost command that is compiled begins */
    } unit;
};

/* Files whose code gets marks. */
extern struct tt_tcl_globs tt_tcl_globs;

/* Byte-code that is compiled from now on has marks, or has none any more. */
void tt_tcl_compile_begin(struct tt_tcl_interp *);
void tt_tcl_compile_end(struct tt_tcl_interp *);

/* Makes the code that is compiled there the current unit; returns whether it gets
 * marks. */
int tt_tcl_unit_enter(struct tt_tcl_interp *, const CompileEnv *);
void tt_tcl_unit_leave(struct tt_tcl_interp *);

/* Returns the mark of a command whose compiler was not called. */
const struct tt_tcl_mark *tt_tcl_late_mark(struct tt_tcl_interp *, CompileEnv *,
                                           const Tcl_Parse *, int length, uint32_t depth,
                                           uint32_t flags);

/* The words of a statement that are in braces or quotes are remembered by their text, see
 * tcl-home.h; `here` is its place.  Those of one in the unit; length 0: it has no block. */
void tt_tcl_add_homes(const Tcl_Parse *, tt_block, const char *file,
                      const struct tt_tcl_text *, const char *source,
                      const struct tt_tcl_place *here);
void tt_tcl_unit_homes(struct tt_tcl_interp *, const CompileEnv *, const Tcl_Parse *,
                       int length);

/* Commands that run nothing else and go on to the next. */
int tt_tcl_is_simple(const Tcl_Parse *);

/* tcl-late.c: the function that Tcl calls for all byte-code, at its end. */
void tt_tcl_finish_code(void *env);

/* A command that Tcl does not compile may have expressions in its words: those are compiled
 * alone when it is called, and commands in them get their marks there.  That lasts until they
 * are given back: all but the first so many. */
void tt_tcl_take_expressions(struct tt_tcl_interp *, const Tcl_Parse *);
void tt_tcl_give_back(struct tt_tcl_interp *, uint32_t from);

/* A procedure has been made; its name may have a namespace. */
void tt_tcl_command_made(struct tt_tcl_interp *, Command *, const char *name);

/* A command's compiler is taken over, or given back. */
void tt_tcl_command_take(struct tt_tcl_interp *, Command *);
void tt_tcl_command_give(struct tt_tcl_interp *, Command *);

/* The block of a statement that begins there; the length is in characters. */
tt_block tt_tcl_statement(const char *file, const struct tt_tcl_place *,
                          const Tcl_Parse *, uint64_t length);

/* The block of a procedure, a lambda or a method, whose body begins there. */
tt_block tt_tcl_piece(const Proc *, const char *file, const struct tt_tcl_text *,
                      const char *text, int size);

/* Does code of this file get marks? */
int tt_tcl_is_wanted(const char *file);

/* Code that is compiled from now on, or no more, is only a calibration. */
void tt_tcl_compile_calibration(int on);

/* The script has ended: the rest that Tcl's shell does is not part of it. */
extern int tt_tcl_script_done;

struct tt_tcl_interp *tt_tcl_interp_of(Tcl_Interp *);

#endif
