/* SPDX-License-Identifier: MIT */
/* machine.h - the unwinder's parts by processor: machine-x86_64.c, machine-aarch64.c.
 *
 * Everything here is async-signal-safe. */
#ifndef TT_MACHINE_H
#define TT_MACHINE_H

#include <stddef.h>
#include <stdint.h>

#include "peek.h"

/* Registers have DWARF's numbers.  PC has a separate number if DWARF has none. */
#if defined __x86_64__
enum {
    TT_REGISTER_FP = 6,
    TT_REGISTER_SP = 7,
    TT_REGISTER_RA = 16, /* the return address, not a register of the machine */
    TT_REGISTER_PC = 16,
    TT_REGISTERS = 17,
};
#elif defined __aarch64__
enum {
    TT_REGISTER_FP = 29,
    TT_REGISTER_RA = 30,
    TT_REGISTER_SP = 31,
    TT_REGISTER_PC = 32,
    TT_REGISTERS = 33,
};
#else
#error "stacks are unwound on x86-64 and aarch64"
#endif

struct tt_registers {
    uint64_t value[TT_REGISTERS];
    uint64_t lost; /* a bit for each that is not known; its value is 0 */
};

/* The third argument of a handler with SA_SIGINFO. */
void tt_registers_of_context(struct tt_registers *, const void *ucontext);

/* For a thread of which only these two are known. */
void tt_registers_of_place(struct tt_registers *, uint64_t pc, uint64_t sp);

/* The user registers of a perf event: those of `mask`, in the order of its bits. */
void tt_registers_of_perf(struct tt_registers *, uint64_t mask, const uint64_t *value);

/* The mask to ask perf events for. */
uint64_t tt_machine_perf_mask(void);

/* Is the code at `pc` the return of a signal handler? */
int tt_machine_is_trampoline(struct tt_peek *, uint64_t pc);

/* From its frame to the interrupted one.  0 if memory is not readable. */
int tt_machine_leave_signal(struct tt_registers *, struct tt_peek *);

/* How code leaves its frame: the CFA is `base` + `offset`, and the return address is just below
 * it. */
enum { TT_DEPARTURE_SAVED = 6, TT_DEPARTURE_FP = 0 };
enum { TT_DEPARTURE_SAME = INT32_MIN, TT_DEPARTURE_LOST }; /* instead of a place */
struct tt_departure {
    uint8_t base; /* TT_REGISTERS: it is not known */
    int32_t offset;
    int32_t saved[TT_DEPARTURE_SAVED]; /* the places of registers from the CFA */
};

/* What was found of the code at a pc, besides the caller. */
struct tt_guessed {
    int endless; /* the code comes to no return; if the caller sets this, it is not followed */
    struct tt_departure departure;
};

/* Steps to the caller by the code alone, which may keep a frame pointer.  `exact`: pc is
 * the thread's current instruction, and not a return address. */
enum tt_guess {
    TT_GUESS_CALLER, /* the registers are now the caller's */
    TT_GUESS_ROOT,   /* there is no caller */
    TT_GUESS_FAILED, /* the registers are untouched */
};
enum tt_guess tt_machine_guess(struct tt_registers *, struct tt_peek *, int exact,
                               struct tt_guessed *);

/* The same step as before from the same code.  0: a word is not readable, or this is no step up
 * the stack; the registers are untouched.  The caller checks the return address. */
int tt_machine_leave(const struct tt_departure *, struct tt_registers *,
                     struct tt_peek *);

extern const struct tt_departure tt_machine_by_frame;

/* A step by the frame pointer alone, without a look at the code; 0: that is no step, and the
 * registers are untouched, or tt_machine_guess is as fast. */
int tt_machine_follow_frame(struct tt_registers *, struct tt_peek *);

/* Finds the frame pointer of a frame that keeps one but has lost it: from the stack, and
 * from the first instructions of the function.  The frame's CFA is `offset` above it;
 * `function` is its start, or 0 if unknown.  Returns 0 if no value fits. */
int tt_machine_find_frame(struct tt_registers *, struct tt_peek *, uint64_t function,
                          int32_t offset);

/* Is there a call before the address, so that it can be a return address? */
int tt_machine_follows_call(struct tt_peek *, uint64_t pc);

/* Removes the signature from a return address. */
uint64_t tt_machine_strip(uint64_t pc);

#endif
