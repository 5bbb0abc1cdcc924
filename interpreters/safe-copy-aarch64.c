/* SPDX-License-Identifier: MIT */
/* safe-copy-aarch64.c - the system copies: no load is resumed here. async-signal-safe */
#include "safe-copy.h"

int tt_safe_loads;
uint32_t tt_safe_readers;
__thread struct tt_safe_thread tt_safe_thread;
const char tt_safe_load[1], tt_safe_load_end[1], tt_safe_failed[1];

int tt_safe_copy(void *to, uint64_t from, uint64_t words, uint64_t stack)
{
    (void)stack;
    return tt_peek_take(from, to, words * 8) == (long)(words * 8);
}
