/* SPDX-License-Identifier: MIT */
/* tcl-calibrate.c - the cost of a mark, which is charged to no statement.
 *
 * Small loops run without marks and with them; the cost of a mark is the difference by
 * their number.  It depends on how the processor overlaps it with other work, so there
 * are loops of several kinds, which take turns: the lower quarter is the estimate, all of
 * them the bracket. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tcl-package.h"

enum { ROUNDS = 40, LOOPS = 5, TURNS = 150, KINDS = 2, ALL = LOOPS * KINDS };

#define NAME "::tcl::unsupported::tallytree_loop"
#define LEAF "::tcl::unsupported::tallytree_leaf"

/* Statements of procedures; and calls of procedures, where those alone are marked. */
static const char *const bodies[ALL] = {
    "set a 0; while {$n > 0} { incr n -1; incr a 3 }",
    "set a 0; for {set i 0} {$i < $n} {incr i} { set a $i; set b $n; incr a 2 }",
    "set a 0; while {$n > 0} { incr n -1; if {$n & 1} { incr a } }",
    "set a 0; while {$n > 0} { incr n -1; set b $n; set a [expr {$a * 2 % 7 + $b}] }",
    "set a {}; while {$n > 0} { incr n -1; set c [string length $a]; append a x }",
    "while {$n > 0} { incr n -1; " LEAF " }",
    "while {$n > 0} { incr n -1; " LEAF " $n }",
    "for {set i 0} {$i < $n} {incr i} { " LEAF " $i }",
    "while {$n > 0} { incr n -1; " LEAF "; " LEAF " 3 }",
    "while {$n > 0} { incr n -1; set a [" LEAF " [expr {$n + 1}]] }",
};

static int make(Tcl_Interp *interp, const char *name, const char *args, const char *body)
{
    Tcl_Obj *word[] = {Tcl_NewStringObj("::proc", -1), Tcl_NewStringObj(name, -1),
                       Tcl_NewStringObj(args, -1), Tcl_NewStringObj(body, -1)};
    int result;

    for (int i = 0; i < 4; i++)
        Tcl_IncrRefCount(word[i]);
    result = Tcl_EvalObjv(interp, 4, word, TCL_EVAL_GLOBAL);
    for (int i = 0; i < 4; i++)
        Tcl_DecrRefCount(word[i]);
    return result;
}

/* The loops for this mode. */
static int first_loop(void) { return tt_tcl_mode == TT_TCL_PROCS ? LOOPS : 0; }
static int end_of_loops(void) { return tt_tcl_mode == TT_TCL_PROCS ? ALL : LOOPS; }

static void name_loop(char name[sizeof NAME + 4], int loop)
{
    (void)snprintf(name, sizeof NAME + 4, NAME "%d", loop);
}

/* Calls a loop once: what it took, if that is less, and the marks in it. */
static void run(Tcl_Interp *interp, int loop, uint64_t *least, uint64_t *marks)
{
    char name[sizeof NAME + 4];
    Tcl_Obj *word[2];
    uint64_t before, start, ticks;

    name_loop(name, loop);
    word[0] = Tcl_NewStringObj(name, -1);
    word[1] = Tcl_NewIntObj(TURNS);
    Tcl_IncrRefCount(word[0]);
    Tcl_IncrRefCount(word[1]);
    before = tt_tcl_books_marks();
    start = tt_tcl_now();
    if (Tcl_EvalObjv(interp, 2, word, TCL_EVAL_GLOBAL) == TCL_OK) {
        ticks = tt_tcl_now() - start;
        *marks = tt_tcl_books_marks() - before;
        if (!*least || ticks < *least)
            *least = ticks;
    }
    Tcl_DecrRefCount(word[0]);
    Tcl_DecrRefCount(word[1]);
}

/* The least ticks of each loop's calls.  They take turns: what a busy machine does to some
 * rounds is done to all of them. */
static void run_all(Tcl_Interp *interp, uint64_t ticks[ALL], uint64_t marks[ALL])
{
    char name[sizeof NAME + 4];
    int made = make(interp, LEAF, "{n 0}", "set n") == TCL_OK;

    memset(ticks, 0, ALL * sizeof *ticks);
    memset(marks, 0, ALL * sizeof *marks);
    for (int i = first_loop(); made && i < end_of_loops(); i++) {
        name_loop(name, i);
        made = make(interp, name, "n", bodies[i]) == TCL_OK;
    }
    for (int round = 0; made && round < ROUNDS; round++)
        for (int i = first_loop(); i < end_of_loops(); i++)
            run(interp, i, &ticks[i], &marks[i]);
    for (int i = first_loop(); i < end_of_loops(); i++) {
        name_loop(name, i);
        (void)Tcl_DeleteCommand(interp, name);
    }
    (void)Tcl_DeleteCommand(interp, LEAF);
    Tcl_ResetResult(interp);
}

void tt_tcl_calibrate_bare(Tcl_Interp *interp, struct tt_tcl_bare *bare)
{
    uint64_t marks[ALL];

    _Static_assert(sizeof bare->ticks == sizeof marks, "one of each loop");
    run_all(interp, bare->ticks, marks);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* The cost of the bookkeeping if nothing is new: the same two statements by turns, or a
 * call. */
static uint64_t measure_books(Interp *interp)
{
    struct tt_block_info info = {.name = "[calibration]", .kind = TT_KIND_SCOPE};
    struct tt_tcl_mark m[2] = {{.block = tt_block_make(&info)}};
    NRE_callback run = {.nextPtr = NULL};
    uint64_t best = UINT64_MAX;

    info.line = 1;
    m[1].block = tt_block_make(&info);
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t start = tt_tcl_now(), ticks;
        for (int n = 0; n < TURNS; n++)
            if (tt_tcl_mode != TT_TCL_PROCS)
                tt_tcl_pass(interp, &m[n & 1], &run);
            else if (n & 1)
                tt_tcl_centre_leave(interp, &run);
            else
                tt_tcl_centre_enter(interp, 0, m[0].block, &run);
        ticks = tt_tcl_now() - start;
        if (ticks < best)
            best = ticks;
    }
    return best / TURNS;
}

/* The lower quarter of the loops: subtracting too much would take time from
 * statements. */
static uint64_t typical(double cost[LOOPS])
{
    qsort(cost, LOOPS, sizeof *cost, compare);
    return (uint64_t)(cost[LOOPS / 4] + 0.5);
}

void tt_tcl_calibrate(Tcl_Interp *interp, const struct tt_tcl_bare *bare)
{
    struct tt_tcl_clock *c = &tt_tcl_clock;
    uint64_t ticks[ALL], marks[ALL];
    int first = first_loop();
    double cost[ALL];

    c->cost = c->low = c->high = c->books = 0;
    c->books = measure_books((Interp *)(void *)interp);
    run_all(interp, ticks, marks);
    for (int i = 0; i < ALL; i++)
        cost[i] = marks[i] && ticks[i] > bare->ticks[i]
                      ? (double)(ticks[i] - bare->ticks[i]) / (double)marks[i]
                      : 0;
    c->cost = typical(cost + first);
    c->low = (uint64_t)cost[first];
    c->high = (uint64_t)(cost[first + LOOPS - 1] + 1);
}
