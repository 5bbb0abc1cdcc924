/* SPDX-License-Identifier: MIT */
/* expression.h - DWARF's expressions, as far as unwinding needs them. */
#ifndef TT_EXPRESSION_H
#define TT_EXPRESSION_H

#include "machine.h"
#include "rules.h"

/* Evaluates the expression, with `first` on its stack if that is not NULL.  1: *value is
 * the result.  0: an operation is unknown, or memory is not readable.  Async-signal-safe;
 * only goes forward, so that it ends. */
int tt_expression_evaluate(const struct tt_rules *, uint32_t place,
                           const struct tt_registers *, struct tt_peek *,
                           const uint64_t *first, uint64_t *value);

#endif
