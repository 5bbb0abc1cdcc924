/* SPDX-License-Identifier: MIT */
/* worker.h - a process that reads foreign binaries, so that a crash does not end the
 * command.
 *
 * Debug information may be damaged or malicious, and libraries read it.  If they abort,
 * loop or use too much memory, only the worker does, and one module has no names. */
#ifndef TT_WORKER_H
#define TT_WORKER_H

#include "symbols.h"

/* Asks for names in an order that both processes know: `next` makes the question with a
 * number, or returns 0 if there are no more. */
struct tt_question {
    const char *module, *id;
    uint64_t address;
    int whole; /* as tt_symbols_function */
};
typedef int tt_question_function(void *arg, uint32_t number, struct tt_question *);

struct tt_worker;

/* In the worker, only `symbols` of this process's data is used.  NULL: no memory. */
struct tt_worker *tt_worker_new(struct tt_symbols *, tt_question_function *next,
                                void *arg);
void tt_worker_free(struct tt_worker *);

/* Returns the answer to question `number`; each is asked once, in ascending order.  Valid
 * until the next call. */
void tt_worker_ask(struct tt_worker *, uint32_t number, struct tt_spots *);
/* The same, unless the answer does not begin within `ms` (less than 0: however long): then
 * returns 0, and the question may be asked again. */
int tt_worker_try(struct tt_worker *, uint32_t number, int ms, struct tt_spots *);

#endif
