/* SPDX-License-Identifier: MIT */
/* worker.h - a process that reads other people's files, so that we need not survive it.
 *
 * Debug information may be damaged or made to hurt, and reading it is done by libraries:
 * should they abort, loop or eat memory, the worker does, and one module has no names. */
#ifndef TT_WORKER_H
#define TT_WORKER_H

#include "symbols.h"

/* Asks for names in an order that both processes know: `next` makes the question of a
 * number, or returns 0 when there are no more. */
struct tt_question {
    const char *module, *id;
    uint64_t address;
    int whole; /* as tt_symbols_function */
};
typedef int tt_question_function(void *arg, uint32_t number, struct tt_question *);

struct tt_worker;

/* Nothing of this process's files is touched in the worker but `symbols`.  NULL: no
 * memory. */
struct tt_worker *tt_worker_new(struct tt_symbols *, tt_question_function *next,
                                void *arg);
void tt_worker_free(struct tt_worker *);

/* The answer to question `number`; each is asked once, in ascending order.  It lives until
 * the next. */
void tt_worker_ask(struct tt_worker *, uint32_t number, struct tt_spots *);

#endif
