/* SPDX-License-Identifier: MIT */
/* frame-program.c - copies an interpreter's frames in the system's handler of a sample.
 *
 *      process's chain ─ the thread's state ─ its frames ─ copies, as records of an event
 *
 * The sampled thread is stopped while the handler runs, so the copies belong to the same
 * moment as its registers and its stack.  It is not disturbed otherwise: no signal, no
 * tracing, no call in it.
 *
 * The program is written in the system's byte-code, which the system checks before it
 * accepts it.  r6 is its context, r7 the process's chain, r8 the buffer, r9 a counter;
 * everything else is on its stack.  A thread is recognised by its id in the C library's
 * description of it, whose address the interpreter keeps (glibc).
 *
 * Systems before 6.9 check each round of a loop, which takes 0.2 s in all.  Later ones check
 * one round, if a limit of the system's can end the loop and the counter may have any
 * value. */
#include "frame-program.h"

#include <asm/unistd.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "assertion.h"
#include "tallytree.h"

enum {
    PROCESSES = 4096,
    PROCESSORS = 4096,
    THREADS = 512, /* that are looked at, at most */
    INSTRUCTIONS = 512,
    TID_IN_THREAD = 720,      /* in glibc's description of a thread, on x86-64, */
    KEYS_IN_THREAD = 784 + 8, /* and the values of its first keys, */
    KEY_SIZE = 16,
    KEYS = 32,
    FIRST_NAMESPACE = 0xeffffffc, /* inode of the namespace in which the system began */
    MAY_JUMP = 0xe0,              /* BPF_JCOND; not in older systems' headers */
};

#if defined __x86_64__
enum { IS_KNOWN = 1, PLACE = offsetof(struct bpf_perf_event_data, regs.rip) };
#else
enum { IS_KNOWN = 0, PLACE = offsetof(struct bpf_perf_event_data, regs.pc) };
#endif

/* Stack slots. */
enum {
    WORD = -8,
    IDS = -16, /* tid, pid */
    STATE = -24,
    INTERPRETER = -32,
    THREAD = -40, /* address of the C library's description */
    FRAME = -48,
    ENTRY = -56, /* the next one to be filled in */
    OTHER = -64,
    TIME = -72,
    PARTS = -80,
};

enum { R0, R1, R2, R3, R4, R5, CONTEXT, CHAIN, ROOM, COUNT, STACK };

struct assembly {
    struct bpf_insn code[INSTRUCTIONS];
    uint32_t count;
    int is_limited; /* the system can end its loops */
};

struct label { /* jumps to a place that is not known yet */
    uint32_t from[32], count;
};

/* ── Instructions ─────────────────────────────────────────────────────────────────── */

static void put(struct assembly *a, int code, int to, int from, int offset, int32_t value)
{
    enum { REGISTER = 15 };

    TT_ASSERT(a->count < INSTRUCTIONS);
    a->code[a->count++] = (struct bpf_insn){.code = (uint8_t)code,
                                            .dst_reg = (unsigned)to & REGISTER,
                                            .src_reg = (unsigned)from & REGISTER,
                                            .off = (int16_t)offset,
                                            .imm = value};
}

static void set(struct assembly *a, int to, int32_t value)
{
    put(a, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}

static void copy(struct assembly *a, int to, int from)
{
    put(a, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

static void add(struct assembly *a, int to, int32_t value)
{
    put(a, BPF_ALU64 | BPF_ADD, to, 0, 0, value); /* BPF_K is 0, too */
}

static void with(struct assembly *a, int operation, int to, int from)
{
    put(a, BPF_ALU64 | operation | BPF_X, to, from, 0, 0);
}

static void load(struct assembly *a, int to, int from, int offset)
{
    put(a, BPF_LDX | BPF_MEM | BPF_DW, to, from, offset, 0);
}

static void store(struct assembly *a, int to, int offset, int from)
{
    put(a, BPF_STX | BPF_MEM | BPF_DW, to, from, offset, 0);
}

static void call(struct assembly *a, int helper)
{
    put(a, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

static void set_wide(struct assembly *a, int to, int kind, uint64_t value)
{
    put(a, BPF_LD | BPF_IMM | BPF_DW, to, kind, 0, (int32_t)(uint32_t)value);
    put(a, 0, 0, 0, 0, (int32_t)(uint32_t)(value >> 32));
}

static void set_map(struct assembly *a, int to, int fd)
{
    set_wide(a, to, BPF_PSEUDO_MAP_FD, (uint32_t)fd);
}

/* ── Jumps ────────────────────────────────────────────────────────────────────────── */

static void jump(struct assembly *a, int condition, int left, int32_t right,
                 struct label *to)
{
    TT_ASSERT(to->count < sizeof to->from / sizeof *to->from);
    to->from[to->count++] = a->count;
    put(a, BPF_JMP | condition | BPF_K, left, 0, 0, right);
}

static void jump_if_other(struct assembly *a, int left, int right, struct label *to)
{
    to->from[to->count++] = a->count;
    put(a, BPF_JMP | BPF_JNE | BPF_X, left, right, 0, 0);
}

static void go(struct assembly *a, struct label *to) { jump(a, BPF_JA, 0, 0, to); }

static void here(struct assembly *a, struct label *l)
{
    for (uint32_t i = 0; i < l->count; i++)
        a->code[l->from[i]].off = (int16_t)(a->count - l->from[i] - 1);
    l->count = 0;
}

/* Returns where a loop begins. */
static uint32_t repeat(struct assembly *a, struct label *out)
{
    const uint32_t at = a->count;

    if (a->is_limited)
        jump(a, MAY_JUMP, 0, 0, out);
    return at;
}

static void back(struct assembly *a, int left, int32_t below, uint32_t to)
{
    put(a, BPF_JMP | BPF_JLT | BPF_K, left, 0, (int)to - (int)a->count - 1, below);
}

/* ── Pieces ───────────────────────────────────────────────────────────────────────── */

static void slot(struct assembly *a, int to, int at)
{
    copy(a, to, STACK);
    add(a, to, at);
}

static void chain(struct assembly *a, int to, size_t field)
{
    load(a, to, CHAIN, (int)field);
}

#define FIELD(name) offsetof(struct tt_frame_chain, name)

/* To 0; the system does not know what is in memory. */
static void begin_count(struct assembly *a)
{
    set(a, COUNT, 0);
    store(a, ROOM, offsetof(struct tt_frame_copy, count), COUNT);
    if (a->is_limited)
        load(a, COUNT, ROOM, offsetof(struct tt_frame_copy, count));
}

/* Copies `size` bytes from the address in r3 to a slot; leaves unless it can be read. */
static void read_word(struct assembly *a, int to, int32_t size, struct label *otherwise)
{
    slot(a, R1, to);
    set(a, R2, size);
    call(a, BPF_FUNC_probe_read_user);
    jump(a, BPF_JNE, R0, 0, otherwise);
}

/* The word at a slot's address plus an offset of the chain, into a slot. */
static void follow(struct assembly *a, int to, int from, size_t field,
                   struct label *otherwise)
{
    load(a, R3, STACK, from);
    chain(a, R1, field);
    with(a, BPF_ADD, R3, R1);
    read_word(a, to, 8, otherwise);
}

static void look_up(struct assembly *a, int map, int to, struct label *otherwise)
{
    set_map(a, R1, map);
    slot(a, R2, WORD);
    call(a, BPF_FUNC_map_lookup_elem);
    jump(a, BPF_JEQ, R0, 0, otherwise);
    copy(a, to, R0);
}

/* ── The thread ───────────────────────────────────────────────────────────────────── */

/* The number of the process as this one knows it, into WORD. */
static void find_process(struct assembly *a, struct label *out)
{
    struct stat s = {.st_ino = FIRST_NAMESPACE};

    (void)stat("/proc/self/ns/pid", &s);
    if (s.st_ino == FIRST_NAMESPACE) {
        call(a, BPF_FUNC_get_current_pid_tgid);
        put(a, BPF_ALU64 | BPF_RSH | BPF_K, R0, 0, 0, 32);
    } else {
        set_wide(a, R1, 0, s.st_dev);
        set_wide(a, R2, 0, s.st_ino);
        slot(a, R3, IDS);
        set(a, R4, 8);
        call(a, BPF_FUNC_get_ns_current_pid_tgid);
        jump(a, BPF_JNE, R0, 0, out);
        put(a, BPF_LDX | BPF_MEM | BPF_W, R0, STACK, IDS + 4, 0);
    }
    store(a, STACK, WORD, R0);
}

/* The thread's number as its process knows it, into IDS. */
static void find_thread(struct assembly *a, struct label *out)
{
    chain(a, R1, FIELD(device));
    chain(a, R2, FIELD(inode));
    slot(a, R3, IDS);
    set(a, R4, 8);
    call(a, BPF_FUNC_get_ns_current_pid_tgid);
    jump(a, BPF_JNE, R0, 0, out);
}

/* Sets STATE and THREAD from the interpreters' lists. */
static void find_state(struct assembly *a, struct label *out)
{
    struct label next_interpreter = {{0}, 0}, next = {{0}, 0}, found = {{0}, 0},
                 other = {{0}, 0};
    uint32_t again;

    chain(a, R3, FIELD(interpreters));
    read_word(a, INTERPRETER, 8, out);
    set(a, R1, 0);
    store(a, STACK, STATE, R1);
    begin_count(a);
    again = repeat(a, out);
    load(a, R1, STACK, STATE);
    jump(a, BPF_JEQ, R1, 0, &next_interpreter);
    follow(a, THREAD, STATE, FIELD(thread_id), out);
    load(a, R3, STACK, THREAD);
    add(a, R3, TID_IN_THREAD);
    set(a, R1, 0);
    store(a, STACK, WORD, R1);
    slot(a, R1, WORD); /* of an ended thread it may not be readable */
    set(a, R2, 4);
    call(a, BPF_FUNC_probe_read_user);
    put(a, BPF_LDX | BPF_MEM | BPF_W, R1, STACK, WORD, 0);
    put(a, BPF_LDX | BPF_MEM | BPF_W, R2, STACK, IDS, 0);
    jump_if_other(a, R1, R2, &other);
    go(a, &found);
    here(a, &other);
    follow(a, STATE, STATE, FIELD(next_thread), out);
    go(a, &next);
    here(a, &next_interpreter);
    load(a, R1, STACK, INTERPRETER);
    jump(a, BPF_JEQ, R1, 0, out);
    follow(a, STATE, INTERPRETER, FIELD(threads), out);
    follow(a, INTERPRETER, INTERPRETER, FIELD(next_interpreter), out);
    here(a, &next);
    add(a, COUNT, 1);
    back(a, COUNT, THREADS, again);
    go(a, out);
    here(a, &found);
}

/* OTHER replaces STATE if it is the same thread's. */
static void prefer_other(struct assembly *a, struct label *otherwise)
{
    load(a, R1, STACK, OTHER);
    jump(a, BPF_JEQ, R1, 0, otherwise);
    follow(a, WORD, OTHER, FIELD(thread_id), otherwise);
    load(a, R1, STACK, WORD);
    load(a, R2, STACK, THREAD);
    jump_if_other(a, R1, R2, otherwise);
    load(a, R1, STACK, OTHER);
    store(a, STACK, STATE, R1);
}

/* A thread may have states in several interpreters: its key has the one in use; up to 3.11,
 * the one that runs is stored. */
static void choose_state(struct assembly *a)
{
    struct label no_key = {{0}, 0}, end = {{0}, 0};

    chain(a, R3, FIELD(key));
    jump(a, BPF_JEQ, R3, 0, &no_key);
    read_word(a, WORD, 8, &no_key);
    load(a, R1, STACK, WORD);
    put(a, BPF_ALU64 | BPF_RSH | BPF_K, R1, 0, 0, 32);
    jump(a, BPF_JGE, R1, KEYS, &no_key);
    put(a, BPF_ALU64 | BPF_MUL | BPF_K, R1, 0, 0, KEY_SIZE);
    load(a, R3, STACK, THREAD);
    with(a, BPF_ADD, R3, R1);
    add(a, R3, KEYS_IN_THREAD);
    read_word(a, OTHER, 8, &no_key);
    prefer_other(a, &no_key);
    here(a, &no_key);
    chain(a, R3, FIELD(current));
    jump(a, BPF_JEQ, R3, 0, &end);
    read_word(a, OTHER, 8, &end);
    prefer_other(a, &end);
    here(a, &end);
}

/* ── Frames ───────────────────────────────────────────────────────────────────────── */

static void begin_copy(struct assembly *a, struct label *out)
{
    call(a, BPF_FUNC_ktime_get_ns);
    store(a, STACK, TIME, R0);
    store(a, ROOM, offsetof(struct tt_frame_copy, time), R0);
    load(a, R1, CONTEXT, PLACE);
    store(a, ROOM, offsetof(struct tt_frame_copy, place), R1);
    load(a, R3, STACK, STATE);
    store(a, ROOM, offsetof(struct tt_frame_copy, state), R3);
    copy(a, R1, ROOM);
    add(a, R1, offsetof(struct tt_frame_copy, bytes));
    chain(a, R2, FIELD(state_size));
    jump(a, BPF_JGT, R2, TT_CHAIN_STATE, out);
    call(a, BPF_FUNC_probe_read_user);
    jump(a, BPF_JNE, R0, 0, out);
}

static void find_first_frame(struct assembly *a, struct label *out)
{
    struct label direct = {{0}, 0};

    follow(a, FRAME, STATE, FIELD(first), out);
    chain(a, R1, FIELD(cframe));
    jump(a, BPF_JEQ, R1, -1, &direct);
    follow(a, FRAME, FRAME, FIELD(cframe), out);
    here(a, &direct);
}

static void send(struct assembly *a, const struct tt_frame_program *p, struct label *out)
{
    load(a, R5, ROOM, offsetof(struct tt_frame_copy, count));
    jump(a, BPF_JEQ, R5, 0, out);
    jump(a, BPF_JGT, R5, TT_CHAIN_PART, out);
    put(a, BPF_ALU64 | BPF_MUL | BPF_K, R5, 0, 0, sizeof(struct tt_copied_frame));
    add(a, R5, sizeof(struct tt_frame_copy));
    copy(a, R1, CONTEXT);
    set_map(a, R2, p->output);
    set_wide(a, R3, 0, BPF_F_CURRENT_CPU);
    copy(a, R4, ROOM);
    call(a, BPF_FUNC_perf_event_output);
}

/* The one of this number is the current entry. */
static void find_entry(struct assembly *a, struct label *out)
{
    jump(a, BPF_JGE, COUNT, TT_CHAIN_PART, out);
    copy(a, R1, COUNT);
    put(a, BPF_ALU64 | BPF_MUL | BPF_K, R1, 0, 0, sizeof(struct tt_copied_frame));
    with(a, BPF_ADD, R1, ROOM);
    add(a, R1, sizeof(struct tt_frame_copy));
    store(a, STACK, ENTRY, R1);
}

/* To a member of the current entry, from the address in r3; 0 in r0: it was read. */
static void read_entry(struct assembly *a, size_t member, int32_t size)
{
    load(a, R1, STACK, ENTRY);
    add(a, R1, (int32_t)member);
    if (size)
        set(a, R2, size);
    call(a, BPF_FUNC_probe_read_user);
}

static void store_entry(struct assembly *a, size_t member, int from)
{
    load(a, R1, STACK, ENTRY);
    store(a, R1, (int)member, from);
}

static void copy_code(struct assembly *a)
{
    struct label none = {{0}, 0}, end = {{0}, 0};

    follow(a, OTHER, FRAME, FIELD(code), &none);
    load(a, R3, STACK, OTHER);
    chain(a, R1, FIELD(mask));
    with(a, BPF_AND, R3, R1);
    store(a, STACK, OTHER, R3);
    read_entry(a, offsetof(struct tt_copied_frame, head), TT_CHAIN_HEAD);
    jump(a, BPF_JNE, R0, 0, &none);
    load(a, R2, STACK, OTHER);
    store_entry(a, offsetof(struct tt_copied_frame, code), R2);
    follow(a, WORD, OTHER, FIELD(name), &none);
    load(a, R3, STACK, WORD);
    store_entry(a, offsetof(struct tt_copied_frame, name), R3);
    add(a, R3, TT_CHAIN_HASH);
    read_entry(a, offsetof(struct tt_copied_frame, hash), 8);
    go(a, &end);
    here(a, &none);
    set(a, R2, 0);
    store_entry(a, offsetof(struct tt_copied_frame, code), R2);
    here(a, &end);
}

/* One part, and the rest by the next one. */
static void copy_frames(struct assembly *a, const struct tt_frame_program *p,
                        struct label *out)
{
    struct label last = {{0}, 0};
    uint32_t again, part;

    set(a, R1, 0);
    store(a, STACK, PARTS, R1);
    part = a->count;
    begin_count(a);
    again = repeat(a, out);
    find_entry(a, out);
    load(a, R3, STACK, FRAME);
    jump(a, BPF_JEQ, R3, 0, &last);
    chain(a, R1, FIELD(begin));
    with(a, BPF_ADD, R3, R1);
    store_entry(a, offsetof(struct tt_copied_frame, at), R3);
    chain(a, R2, FIELD(size));
    jump(a, BPF_JGT, R2, TT_CHAIN_FRAME, out);
    read_entry(a, offsetof(struct tt_copied_frame, frame), 0);
    jump(a, BPF_JNE, R0, 0, &last);
    copy_code(a);
    follow(a, FRAME, FRAME, FIELD(previous), &last);
    add(a, COUNT, 1);
    store(a, ROOM, offsetof(struct tt_frame_copy, count), COUNT);
    back(a, COUNT, TT_CHAIN_PART, again);
    send(a, p, out);
    load(a, R1, STACK, PARTS);
    add(a, R1, 1);
    store(a, STACK, PARTS, R1);
    back(a, R1, TT_CHAIN_FRAMES / TT_CHAIN_PART, part);
    go(a, out);
    here(a, &last);
    send(a, p, out);
}

static void assemble(struct assembly *a, const struct tt_frame_program *p)
{
    struct label out = {{0}, 0};

    copy(a, CONTEXT, R1);
    find_process(a, &out);
    look_up(a, p->chains, CHAIN, &out);
    find_thread(a, &out);
    set(a, R1, 0);
    store(a, STACK, WORD, R1);
    look_up(a, p->room, ROOM, &out);
    find_state(a, &out);
    choose_state(a);
    begin_copy(a, &out);
    find_first_frame(a, &out);
    copy_frames(a, p, &out);
    here(a, &out);
    set(a, R0, 1); /* the sample is taken */
    put(a, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* ── The system ───────────────────────────────────────────────────────────────────── */

static int ask(int what, union bpf_attr *attr)
{
    return (int)syscall(__NR_bpf, what, attr, sizeof *attr);
}

static int make_map(uint32_t type, uint32_t value, uint32_t entries)
{
    union bpf_attr a;

    memset(&a, 0, sizeof a);
    a.map_type = type;
    a.key_size = sizeof(uint32_t);
    a.value_size = value;
    a.max_entries = entries;
    return ask(BPF_MAP_CREATE, &a);
}

static int set_entry(int map, uint32_t key, const void *value)
{
    union bpf_attr a;

    memset(&a, 0, sizeof a);
    a.map_fd = (uint32_t)map;
    a.key = (uintptr_t)&key;
    a.value = (uintptr_t)value;
    return ask(value ? BPF_MAP_UPDATE_ELEM : BPF_MAP_DELETE_ELEM, &a) == 0
               ? 0
               : -TT_ERR_STATE;
}

static int load_program(const struct tt_frame_program *p, int is_limited)
{
    struct assembly code = {.count = 0, .is_limited = is_limited};
    union bpf_attr a;

    assemble(&code, p);
    memset(&a, 0, sizeof a);
    a.prog_type = BPF_PROG_TYPE_PERF_EVENT;
    a.insns = (uintptr_t)code.code;
    a.insn_cnt = code.count;
    a.license = (uintptr_t) "Dual MIT/GPL"; /* as reading memory requires */
    return ask(BPF_PROG_LOAD, &a);
}

static const char *reason_of(int error)
{
    if (error == EPERM || error == EACCES)
        return "run tallytree as root, or with CAP_BPF and CAP_PERFMON";
    return "this system cannot copy its frames (no BPF of perf events)";
}

void tt_frame_program_load(struct tt_frame_program *p)
{
    *p = TT_FRAME_PROGRAM_NONE;
    errno = ENOSYS;
    if (IS_KNOWN)
        p->chains = make_map(BPF_MAP_TYPE_HASH, sizeof(struct tt_frame_chain), PROCESSES);
    if (p->chains >= 0)
        p->room = make_map(BPF_MAP_TYPE_PERCPU_ARRAY, TT_FRAME_COPY_MAX, 1);
    if (p->room >= 0)
        p->output = make_map(BPF_MAP_TYPE_PERF_EVENT_ARRAY, sizeof(uint32_t), PROCESSORS);
    if (p->output >= 0)
        p->program = load_program(p, 1);
    if (p->output >= 0 && p->program < 0)
        p->program = load_program(p, 0);
    if (p->program >= 0)
        return;
    p->refused = reason_of(errno);
    tt_frame_program_unload(p);
}

void tt_frame_program_unload(struct tt_frame_program *p)
{
    const int fds[] = {p->program, p->chains, p->room, p->output};

    for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    p->program = p->chains = p->room = p->output = -1;
}

int tt_frame_program_send(const struct tt_frame_program *p, uint32_t processor, int event)
{
    return set_entry(p->output, processor, &event);
}

int tt_frame_program_follow(const struct tt_frame_program *p, pid_t pid,
                            const struct tt_frame_chain *c)
{
    return p->program < 0 ? -TT_ERR_STATE : set_entry(p->chains, (uint32_t)pid, c);
}
