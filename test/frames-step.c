/* SPDX-License-Identifier: MIT */
/* frames-step.c - runs a program instruction by instruction, and unwinds it from outside at
 * each: with our tables, from its files and a copy of its stack, and with elfutils.
 *
 *      frames-step INSTRUCTIONS PROGRAM ARGS...
 *
 * Starts where the program stops itself.  The same instruction is looked at a few times.
 * Says how often they agree; exit status 1 when they did not. */
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "code.h"
#include "one-cpu.h"
#include "process.h"
#include "unwind.h"

enum { ROOM = 512, COPY = 1 << 17, SEEN = 1 << 20, LOOKS = 3, EXAMPLES = 10 };

static struct {
    struct tt_modules *modules;
    Dwfl *dwfl;
    pid_t pid;
    char copy[COPY];
    struct tt_native ours[ROOM];
    Dwarf_Addr theirs[ROOM];
    uint32_t count;
    unsigned long instructions, compared, places, frames, same, longer, astray, differ,
        root;
    unsigned long guessed, read, unread, misread, alone, alone_short, alone_other;
    unsigned long again, odd, differently;
    int examples;
    struct {
        uint64_t pc;
        int looks;
    } seen[SEEN];
} state;

static void say_place(const char *who, uint64_t pc)
{
    const struct tt_mapping *m = tt_modules_find(state.modules, pc);

    printf("#   %s: %lx in %s+%lx\n", who, pc, m ? m->module->path : "?",
           m ? pc - m->bias : 0);
}

/* ── Ours ─────────────────────────────────────────────────────────────────────────── */

/* What is outside of the copy: code, and other stacks. */
static int fetch(void *arg, uint64_t address, void *block)
{
    struct iovec to = {block, TT_PEEK_BLOCK};
    struct iovec from = {(void *)(uintptr_t)address, TT_PEEK_BLOCK};

    (void)arg;
    return process_vm_readv(state.pid, &to, 1, &from, 1, 0) == TT_PEEK_BLOCK ? 0 : -1;
}

/* A perf event gives registers in this order: ax bx cx dx si di bp sp ip flags cs ss ds es
 * fs gs r8 ... r15. */
static void convert(struct tt_registers *r, const struct user_regs_struct *u)
{
    const uint64_t value[] = {u->rax, u->rbx, u->rcx, u->rdx, u->rsi, u->rdi,
                              u->rbp, u->rsp, u->rip, u->r8,  u->r9,  u->r10,
                              u->r11, u->r12, u->r13, u->r14, u->r15};

    tt_registers_of_perf(r, 0xff01ff, value);
}

/* What was found in the code must lead to the same registers. */
static void check_again(const struct tt_registers *there, struct tt_registers *again,
                        const struct tt_departure *how, struct tt_peek *peek)
{
    static const unsigned kept[] = {
        TT_REGISTER_FP, TT_REGISTER_SP, TT_REGISTER_PC, 3, 12, 13, 14, 15};
    int same;

    if (how->base == TT_REGISTERS) {
        state.odd++;
        return;
    }
    same = tt_code_follow(how, again, peek);
    for (unsigned i = 0; i < sizeof kept / sizeof *kept; i++)
        same &= again->value[kept[i]] == there->value[kept[i]];
    if (same)
        state.again++;
    else if (state.differently++ < EXAMPLES)
        say_place("not left again as before from ", state.ours[0].pc);
}

/* Reading on in the code must lead to the caller that the rule leads to. */
static void check_reading(struct tt_registers *r, struct tt_peek *peek)
{
    const struct tt_native *f = state.ours;
    struct tt_registers again = *r;
    struct tt_departure how;

    if (state.count < 2 ||
        ((f[0].flags | f[1].flags) & (TT_NATIVE_GUESSED | TT_NATIVE_SIGNAL)))
        return;
    if (tt_code_leave(r, peek, 1, &how) <= 0) {
        state.unread++;
    } else if (r->value[TT_REGISTER_PC] == f[1].pc &&
               r->value[TT_REGISTER_SP] == f[1].sp) {
        state.read++;
        check_again(r, &again, &how, peek);
    } else if (state.misread++ < EXAMPLES) {
        say_place("misread at ", f[0].pc);
        say_place("      found", r->value[TT_REGISTER_PC]);
        say_place("  should be", f[1].pc);
    }
}

/* Of a sleeping thread only the place and the stack pointer are known: the frames must be
 * the same, or fewer. */
static void check_alone(const struct tt_registers *r, struct tt_peek *peek,
                        enum tt_unwind_end end)
{
    static struct tt_native alone[ROOM];
    struct tt_unwound out = {.frame = alone, .room = ROOM};
    struct tt_registers place;
    uint32_t i = 0;

    tt_registers_of_place(&place, r->value[TT_REGISTER_PC], r->value[TT_REGISTER_SP]);
    tt_native_unwind(&out, state.modules, &place, peek);
    while (i < out.count && i < state.count && alone[i].pc == state.ours[i].pc)
        i++;
    if (i == state.count && i == out.count && out.end == end)
        state.alone++;
    else if (i == out.count && out.end != TT_UNWIND_ROOT)
        state.alone_short++;
    else if (state.alone_other++ < EXAMPLES)
        say_place("alone differs after ", alone[i ? i - 1 : 0].pc);
}

static enum tt_unwind_end unwind_ours(const struct user_regs_struct *u)
{
    struct tt_unwound out = {.frame = state.ours, .room = ROOM};
    struct iovec to = {state.copy, COPY}, from = {(void *)(uintptr_t)u->rsp, COPY};
    struct tt_registers r;
    struct tt_peek peek;
    ssize_t n = process_vm_readv(state.pid, &to, 1, &from, 1, 0);

    convert(&r, u);
    tt_peek_copy(&peek, u->rsp, state.copy, n > 0 ? (size_t)n : 0);
    peek.fetch = fetch;
    tt_native_unwind(&out, state.modules, &r, &peek);
    state.count = out.count;
    convert(&r, u);
    check_alone(&r, &peek, out.end);
    check_reading(&r, &peek);
    return out.end;
}

/* ── Theirs ───────────────────────────────────────────────────────────────────────── */

static int add_frame(Dwfl_Frame *frame, void *arg)
{
    uint32_t *n = arg;

    if (*n == ROOM || !dwfl_frame_pc(frame, &state.theirs[*n], NULL))
        return DWARF_CB_ABORT;
    ++*n;
    return DWARF_CB_OK;
}

static int attach(void)
{
    static char *debuginfo;
    static const Dwfl_Callbacks callbacks = {
        .find_elf = dwfl_linux_proc_find_elf,
        .find_debuginfo = dwfl_standard_find_debuginfo,
        .debuginfo_path = &debuginfo};

    if (state.dwfl)
        dwfl_end(state.dwfl);
    tt_modules_free(state.modules);
    state.dwfl = dwfl_begin(&callbacks);
    return state.dwfl && dwfl_linux_proc_report(state.dwfl, state.pid) == 0 &&
           dwfl_report_end(state.dwfl, NULL, NULL) == 0 &&
           dwfl_linux_proc_attach(state.dwfl, state.pid, 1) == 0 &&
           tt_modules_new(&state.modules, state.pid) == 0;
}

/* ── Comparing ────────────────────────────────────────────────────────────────────── */

static void say_example(uint32_t at, uint32_t theirs, enum tt_unwind_end end)
{
    if (state.examples++ >= EXAMPLES)
        return;
    printf("# differ at frame %u of %u, %u; ours: %s; theirs: %s\n", at, state.count,
           theirs, tt_unwind_reason(end), dwfl_errmsg(-1));
    for (uint32_t i = at > 2 ? at - 2 : 0; i < at + 2; i++) {
        if (i < state.count)
            say_place("ours  ", state.ours[i].pc);
        if (i < theirs)
            say_place("theirs", state.theirs[i]);
    }
}

/* Astray: both come to an address that is none, and ours ends there, as it should: while
 * the C++ runtime is about to leave for a handler, its own frame has the handler's
 * registers in it.  Guessed: neither has a rule, and elfutils believes the frame pointer of
 * code that has none; of our guesses see check_reading. */
static void compare(const struct user_regs_struct *u)
{
    enum tt_unwind_end end = unwind_ours(u);
    uint32_t theirs = 0, i = 0, n;

    dwfl_getthread_frames(state.dwfl, state.pid, add_frame, &theirs);
    if (theirs && state.theirs[theirs - 1] == 0)
        theirs--; /* the zero that ends a stack */
    n = theirs < state.count ? theirs : state.count;
    while (i < n && state.ours[i].pc == state.theirs[i])
        i++;
    state.compared++;
    state.frames += i;
    state.root += end == TT_UNWIND_ROOT;
    if (i == state.count && end != TT_UNWIND_ROOT && theirs > n &&
        !tt_modules_find(state.modules, state.theirs[i])) {
        state.astray++;
    } else if (i < n && i && (state.ours[i - 1].flags & TT_NATIVE_GUESSED)) {
        state.guessed++;
    } else if (i < n || theirs > n) {
        state.differ++;
        say_example(i, theirs, end);
    } else if (state.count > n) {
        state.longer++;
    } else {
        state.same++;
    }
}

/* 1 the first few times. */
static int look_again(uint64_t pc)
{
    for (uint64_t at = pc * 0x9e3779b97f4a7c15u >> 44;; at++) {
        uint64_t *place = &state.seen[at % SEEN].pc;
        int *looks = &state.seen[at % SEEN].looks;
        if (!*place)
            state.places++;
        if (!*place || *place == pc) {
            *place = pc;
            return ++*looks <= LOOKS;
        }
    }
}

/* ── Stepping ─────────────────────────────────────────────────────────────────────── */

/* The signal it stopped at; -1: it ended. */
static int step(int signal)
{
    int status;

    if (ptrace(PTRACE_SINGLESTEP, state.pid, NULL, (long)signal) != 0 ||
        waitpid(state.pid, &status, 0) != state.pid || !WIFSTOPPED(status))
        return -1;
    return WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
}

static void run(unsigned long instructions)
{
    struct user_regs_struct u;
    int signal = 0;

    while (state.instructions < instructions && (signal = step(signal)) >= 0) {
        state.instructions++;
        if (ptrace(PTRACE_GETREGS, state.pid, NULL, &u) != 0)
            return;
        /* A plug-in came or went. */
        if (!tt_modules_find(state.modules, u.rip))
            attach();
        if (look_again(u.rip))
            compare(&u);
    }
}

static int start(char **argv)
{
    int status;

    stay_on_one_cpu();
    if ((state.pid = fork()) == 0) {
        ptrace(PTRACE_TRACEME, 0, NULL, NULL);
        execv(argv[0], argv);
        _exit(127);
    }
    /* The first stop is exec's. */
    do {
        if (waitpid(state.pid, &status, 0) != state.pid || !WIFSTOPPED(status))
            return 0;
        if (WSTOPSIG(status) == SIGSTOP)
            return attach();
    } while (ptrace(PTRACE_CONT, state.pid, NULL, NULL) == 0);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3 || !start(argv + 2)) {
        fprintf(stderr, "frames-step: cannot run and trace the program: %s\n",
                strerror(errno));
        return 2;
    }
    run(strtoul(argv[1], NULL, 10));
    kill(state.pid, SIGKILL);
    printf("instructions %lu\nplaces %lu\nsamples %lu\nframes %lu\n", state.instructions,
           state.places, state.compared, state.frames);
    printf("same %lu\nlonger %lu\nastray %lu\ndiffer %lu\nend0 %lu\n", state.same,
           state.longer, state.astray, state.differ, state.root);
    printf("guessed %lu\nread %lu\nunread %lu\nmisread %lu\n", state.guessed, state.read,
           state.unread, state.misread);
    printf("again %lu\nodd %lu\ndifferently %lu\n", state.again, state.odd,
           state.differently);
    printf("alone %lu\nshort %lu\nother %lu\n", state.alone, state.alone_short,
           state.alone_other);
    return state.differ != 0;
}
