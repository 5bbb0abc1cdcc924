/* SPDX-License-Identifier: MIT */
/* log-entry.h - an entry of the sample log: a sample in one word.
 *
 *      63        …        14+T        …        14      …      6    …    0
 *      ┌ cell (C bits) ────┬ time (T = 50 - C) ─┬ exponent (6) ┬ mantissa (8) ┐
 *
 * C is as many bits as the cells of the whole budget need.  The time is in units of the
 * page.  A weight is rounded down; the writer adds the rest to the next one.  No entry is
 * 0, as cell 0 is none. */
#ifndef TT_LOG_ENTRY_H
#define TT_LOG_ENTRY_H

#include "layout.h"

enum { TT_LOG_WEIGHT = 14, TT_LOG_MANTISSA = 8, TT_LOG_BITS_MAX = 31 };

static inline uint32_t tt_log_time_bits(uint64_t cell_bits)
{
    return 64 - TT_LOG_WEIGHT - (uint32_t)cell_bits;
}

static inline uint64_t tt_log_pack_weight(uint64_t ticks)
{
    uint32_t bits = ticks < 1u << TT_LOG_MANTISSA
                        ? 0
                        : 64 - TT_LOG_MANTISSA - (uint32_t)__builtin_clzll(ticks);

    return (uint64_t)bits << TT_LOG_MANTISSA | ticks >> bits;
}

/* The weight of an entry, or of a packed weight alone. */
static inline uint64_t tt_log_weight(uint64_t entry)
{
    return (entry & ((1u << TT_LOG_MANTISSA) - 1))
           << (entry >> TT_LOG_MANTISSA &
               ((1u << (TT_LOG_WEIGHT - TT_LOG_MANTISSA)) - 1));
}

static inline uint32_t tt_log_cell(uint64_t entry, uint64_t cell_bits)
{
    return (uint32_t)(entry >> (64 - cell_bits));
}

/* In units of its page. */
static inline uint64_t tt_log_offset(uint64_t entry, uint64_t cell_bits)
{
    return entry << cell_bits >> (cell_bits + TT_LOG_WEIGHT);
}

static inline uint64_t tt_log_pack(uint32_t cell, uint64_t offset, uint64_t weight,
                                   uint64_t cell_bits)
{
    TT_ASSERT((uint64_t)cell >> cell_bits == 0);
    TT_ASSERT(offset >> tt_log_time_bits(cell_bits) == 0);
    return (uint64_t)cell << (64 - cell_bits) | offset << TT_LOG_WEIGHT | weight;
}

#endif
