/* SPDX-License-Identifier: MIT */
/* perf-event-test.c - records of perf events, taken apart: whole, cut at every byte, and with
 * every byte changed.  Each lies at the end of its memory, so that reading on is noticed. */
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel-waits.h"
#include "perf-events.h"
#include "perf-record.h"
#include "tap.h"

enum { ROOM = 8192 };

/* A record, and a copy of it at the end of a page, before an unmapped one. */
static struct {
    char bytes[ROOM];
    size_t size;
} record;
static char *room;

static void put(const void *from, size_t size)
{
    memcpy(record.bytes + record.size, from, size);
    record.size += size;
}

static void word(uint64_t n) { put(&n, sizeof n); }
static void pair(uint32_t a, uint32_t b) { word((uint64_t)b << 32 | a); }

static void begin(uint32_t type, uint16_t misc)
{
    struct perf_event_header h = {.type = type, .misc = misc};

    record.size = 0;
    put(&h, sizeof h);
}

/* What all but samples end in. */
static void trailer(uint32_t pid, uint32_t tid, uint64_t time, uint64_t id)
{
    pair(pid, tid);
    word(time);
    word(id);
}

static void end(void)
{
    struct perf_event_header h;

    memcpy(&h, record.bytes, sizeof h);
    h.size = (uint16_t)record.size;
    memcpy(record.bytes, &h, sizeof h);
}

static void decode(struct tt_perf_event *e, size_t size)
{
    if (!room) {
        room = mmap(NULL, 2 * ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                    -1, 0);
        mprotect(room + ROOM, ROOM, PROT_NONE);
    }
    memcpy(room + ROOM - size, record.bytes, size);
    tt_perf_decode(e, room + ROOM - size, size, 1);
}

/* What it points to is read. */
static volatile uint64_t touched;

static void touch(const struct tt_perf_event *e)
{
    uint64_t sum = 0;

    if (e->kind == TT_PERF_SAMPLE) {
        for (uint32_t i = 0; i < e->of.sample.kernels; i++) {
            uint64_t address;
            memcpy(&address, (const char *)e->of.sample.kernel + i * sizeof address,
                   sizeof address);
            sum += address;
        }
        for (size_t i = 0; i < e->of.sample.stack_size; i++)
            sum += (unsigned char)e->of.sample.stack[i];
    } else if (e->kind == TT_PERF_NAMED) {
        sum += strlen(e->of.named.name);
    } else if (e->kind == TT_PERF_MAPPED) {
        sum += strlen(e->of.mapped.path);
    }
    touched += sum;
}

/* A sample is none when it is cut off; whatever is changed, nothing else is read. */
static void damage(void)
{
    char whole[ROOM];
    struct tt_perf_event e;

    memcpy(whole, record.bytes, record.size);
    for (size_t size = 0; size < record.size; size++) {
        decode(&e, size);
        CHECK(e.kind != TT_PERF_SAMPLE);
        touch(&e);
    }
    for (size_t i = sizeof(struct perf_event_header); i < record.size; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            record.bytes[i] = (char)(whole[i] ^ (1 << bit));
            decode(&e, record.size);
            touch(&e);
        }
        record.bytes[i] = whole[i];
    }
}

static void put_sample(int chain, uint64_t abi, uint64_t stack, uint64_t copied)
{
    static const uint64_t chains[] = {PERF_CONTEXT_KERNEL, 0xffffffff81000010u,
                                      0xffffffff81000020u, PERF_CONTEXT_USER, 0x401000};

    begin(PERF_RECORD_SAMPLE, 0);
    word(77);
    word(0x401234);
    pair(10, 11);
    word(123456789);
    word(4000000);
    word(chain ? 5 : 0);
    if (chain)
        put(chains, sizeof chains);
    word(abi);
    for (uint64_t i = 0; abi && i < TT_REGISTERS; i++)
        word(1000 + i);
    word(stack);
    for (uint64_t i = 0; i < stack; i += 8)
        word(i);
    if (stack)
        word(copied);
    end();
}

TEST(a_sample_has_all_that_was_asked_for)
{
    struct tt_perf_event e;

    put_sample(1, PERF_SAMPLE_REGS_ABI_64, 256, 200);
    decode(&e, record.size);
    CHECK_INT(e.kind, TT_PERF_SAMPLE);
    CHECK_INT(e.pid, 10);
    CHECK_INT(e.tid, 11);
    CHECK_INT(e.time, 123456789);
    CHECK_INT(e.source, 77);
    CHECK_INT(e.of.sample.place, 0x401234);
    CHECK_INT(e.of.sample.weight, 4000000);
    CHECK_INT(e.of.sample.kernels, 2);
    CHECK(e.of.sample.kernel && e.of.sample.kernel[1] == 0xffffffff81000020u);
    CHECK(e.of.sample.has_registers);
    CHECK_INT(e.of.sample.stack_size, 200);
    CHECK(e.of.sample.stack && memcmp(e.of.sample.stack + 8, "\10\0", 2) == 0);
    damage();
}

TEST(registers_stand_in_the_order_of_their_bits)
{
    struct tt_perf_event e;
    uint64_t mask = tt_machine_perf_mask(), sum = 0;

    CHECK_INT(__builtin_popcountll(mask), TT_REGISTERS);
    put_sample(0, PERF_SAMPLE_REGS_ABI_64, 8, 8);
    decode(&e, record.size);
    for (int i = 0; i < TT_REGISTERS; i++)
        sum += e.of.sample.registers.value[i] - 1000;
    CHECK_INT(sum, TT_REGISTERS * (TT_REGISTERS - 1) / 2);
#ifdef __x86_64__
    CHECK_INT(e.of.sample.registers.value[TT_REGISTER_SP], 1007);
    CHECK_INT(e.of.sample.registers.value[TT_REGISTER_PC], 1008);
#endif
}

TEST(a_thread_of_the_kernel_has_no_registers_and_no_stack)
{
    struct tt_perf_event e;

    put_sample(1, PERF_SAMPLE_REGS_ABI_NONE, 0, 0);
    decode(&e, record.size);
    CHECK_INT(e.kind, TT_PERF_SAMPLE);
    CHECK(!e.of.sample.has_registers);
    CHECK_INT(e.of.sample.stack_size, 0);
    damage();
    put_sample(0, PERF_SAMPLE_REGS_ABI_32, 64, 64);
    decode(&e, record.size);
    CHECK(e.kind == TT_PERF_SAMPLE && !e.of.sample.has_registers);
}

TEST(more_stack_than_there_is_room_for_is_no_sample)
{
    struct tt_perf_event e;

    put_sample(0, PERF_SAMPLE_REGS_ABI_64, 64, 65);
    decode(&e, record.size);
    CHECK_INT(e.kind, TT_PERF_NONE);
}

static void put_mapping(const char *path)
{
    char padded[64] = "";

    begin(PERF_RECORD_MMAP2, 0);
    pair(10, 11);
    word(0x400000);
    word(0x2000);
    word(0x1000);
    pair(8, 1);
    word(4711);
    word(0);
    pair(5, 2);
    memcpy(padded, path, strlen(path));
    put(padded, sizeof padded);
    trailer(10, 11, 5, 77);
    end();
}

TEST(a_mapping_has_its_file)
{
    struct tt_perf_event e;

    put_mapping("/usr/lib/libx.so");
    decode(&e, record.size);
    CHECK_INT(e.kind, TT_PERF_MAPPED);
    CHECK(e.of.mapped.start == 0x400000 && e.of.mapped.end == 0x402000);
    CHECK(e.of.mapped.offset == 0x1000 && e.of.mapped.inode == 4711);
    CHECK_STR(e.of.mapped.path, "/usr/lib/libx.so");
    CHECK_INT(e.time, 5);
    damage();
    put_mapping("//anon");
    decode(&e, record.size);
    CHECK_INT(e.kind, TT_PERF_MAPPED);
    put_mapping("[heap]");
    decode(&e, record.size);
    CHECK_STR(e.of.mapped.path, "");
}

TEST(threads_come_are_named_and_go)
{
    struct tt_perf_event e;

    for (int forked = 0; forked < 2; forked++) {
        begin(forked ? PERF_RECORD_FORK : PERF_RECORD_EXIT, 0);
        pair(20, 10);
        pair(21, 11);
        word(9);
        trailer(10, 11, 9, 77);
        end();
        decode(&e, record.size);
        CHECK_INT(e.kind, forked ? TT_PERF_FORKED : TT_PERF_EXITED);
        CHECK(e.pid == 20 && e.tid == 21 && e.of.forked.pid == 10);
        damage();
    }
    begin(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC);
    pair(20, 21);
    put("program", 8);
    trailer(20, 21, 10, 77);
    end();
    decode(&e, record.size);
    CHECK(e.kind == TT_PERF_NAMED && e.of.named.exec);
    CHECK_STR(e.of.named.name, "program");
    damage();
}

TEST(what_was_lost_is_told_in_two_ways)
{
    struct tt_perf_event e;

    begin(PERF_RECORD_LOST, 0);
    word(77);
    word(12);
    trailer(1, 1, 3, 77);
    end();
    decode(&e, record.size);
    CHECK(e.kind == TT_PERF_LOST && e.of.lost.samples == 12);
    damage();
    begin(PERF_RECORD_LOST_SAMPLES, 0);
    word(13);
    trailer(1, 1, 3, 77);
    end();
    decode(&e, record.size);
    CHECK(e.kind == TT_PERF_LOST && e.of.lost.samples == 13);
}

/* ── Copies of an interpreter's frames ────────────────────────────────────────────── */

enum { STATE = 0x10000, FRAME = 0x20000, CODE = 0x30000, NAME = 0x40000, APART = 0x1000 };

/* Each byte is the low one of its address. */
static void fill(char *bytes, size_t size, uint64_t address)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)(address + i);
}

static void put_part(uint64_t first, uint64_t count)
{
    struct tt_frame_copy c = {123456789, 0x401234, STATE, count, {0}};

    fill(c.bytes, sizeof c.bytes, STATE);
    put(&c, sizeof c);
    for (uint64_t i = first; i < first + count; i++) {
        struct tt_copied_frame f = {
            .at = FRAME + i * APART, .code = CODE + i * APART, .name = NAME + i * APART};
        fill(f.frame, sizeof f.frame, f.at);
        fill(f.head, sizeof f.head, f.code);
        fill((char *)&f.hash, sizeof f.hash, f.name + TT_CHAIN_HASH);
        put(&f, sizeof f);
    }
}

/* As the system writes it: the bytes after their number are a multiple of eight with it. */
static void put_copies(int parts)
{
    uint32_t size = 0;
    size_t at;

    begin(PERF_RECORD_SAMPLE, 0);
    word(77);
    word(0x401234);
    pair(10, 11);
    word(123456800);
    at = record.size;
    put(&size, sizeof size);
    for (int i = 0; i < parts; i++)
        put_part((uint64_t)i * 2, 2);
    put("pad", 4);
    size = (uint32_t)(record.size - at - sizeof size);
    memcpy(record.bytes + at, &size, sizeof size);
    end();
}

static struct tt_frame_copies copies_of(const struct tt_perf_event *e)
{
    static uint64_t bytes[ROOM / 8];

    memcpy(bytes, e->of.copied.bytes, e->of.copied.size);
    return (struct tt_frame_copies){(const char *)bytes, e->of.copied.size & ~7u, NULL};
}

static void decode_copies(struct tt_perf_event *e, size_t size)
{
    memcpy(room + ROOM - size, record.bytes, size);
    tt_perf_decode_copy(e, room + ROOM - size, size);
}

static void check_read(struct tt_frame_copies *c, uint64_t address, size_t size,
                       int is_there)
{
    char bytes[TT_CHAIN_STATE];

    memset(bytes, 0x55, sizeof bytes);
    CHECK_INT(tt_frame_copies_read(c, address, bytes, size), is_there);
    for (size_t i = 0; is_there && i < size; i++)
        CHECK_INT((unsigned char)bytes[i], (unsigned char)(address + i));
}

TEST(copied_memory_is_read_where_it_was_and_nowhere_else)
{
    struct tt_frame_copies c;
    struct tt_perf_event e;

    put_sample(0, 0, 0, 0);
    decode(&e, record.size); /* makes the room */
    put_copies(2);
    decode_copies(&e, record.size);
    CHECK(e.kind == TT_PERF_COPIED && e.pid == 10 && e.tid == 11);
    c = copies_of(&e);
    CHECK(tt_frame_copies_check(&c, 0x401234, 123456800, 100));
    CHECK(tt_frame_copies_state(&c) == STATE);
    check_read(&c, STATE, TT_CHAIN_STATE, 1);
    check_read(&c, STATE + TT_CHAIN_STATE - 8, 16, 0);
    for (uint64_t i = 0; i < 4; i++) {
        check_read(&c, FRAME + i * APART, TT_CHAIN_FRAME, 1);
        check_read(&c, FRAME + i * APART + 8, TT_CHAIN_FRAME, 0);
        check_read(&c, CODE + i * APART, TT_CHAIN_HEAD, 1);
        check_read(&c, NAME + i * APART + TT_CHAIN_HASH, 8, 1);
        check_read(&c, NAME + i * APART, 8, 0);
    }
    check_read(&c, FRAME + 4 * APART, 8, 0);
    check_read(&c, UINT64_MAX - 3, 8, 0);
}

TEST(copies_of_another_sample_are_refused)
{
    struct tt_frame_copies c;
    struct tt_perf_event e;

    put_copies(1);
    decode_copies(&e, record.size);
    c = copies_of(&e);
    CHECK(tt_frame_copies_check(&c, 0x401234, 123456789, 0));
    CHECK(tt_frame_copies_check(&c, 0x401234, 123456689, 100));
    CHECK(!tt_frame_copies_check(&c, 0x401235, 123456789, 100));
    CHECK(!tt_frame_copies_check(&c, 0x401234, 123456890, 100));
    CHECK(!tt_frame_copies_check(&c, 0x401234, 123456688, 100));
}

TEST(copies_that_are_cut_or_changed_are_refused_or_read_within_their_memory)
{
    struct tt_frame_copies c;
    struct tt_perf_event e;
    char whole[ROOM];

    put_copies(2);
    memcpy(whole, record.bytes, record.size);
    for (size_t size = 0; size < record.size; size++) {
        decode_copies(&e, size);
        CHECK_INT(e.kind, TT_PERF_NONE);
    }
    for (size_t i = sizeof(struct perf_event_header); i < record.size; i += 3) {
        record.bytes[i] = (char)(whole[i] ^ 0x41);
        decode_copies(&e, record.size);
        if (e.kind == TT_PERF_COPIED) {
            c = copies_of(&e);
            if (tt_frame_copies_check(&c, 0x401234, 123456800, 100))
                (void)tt_frame_copies_read(&c, FRAME + 3 * APART, whole + ROOM - 8, 8);
        }
        record.bytes[i] = whole[i];
    }
}

TEST(other_records_are_nothing)
{
    struct tt_perf_event e;

    begin(PERF_RECORD_THROTTLE, 0);
    word(1);
    word(2);
    word(3);
    trailer(1, 1, 3, 77);
    end();
    decode(&e, record.size);
    CHECK_INT(e.kind, TT_PERF_NONE);
    decode(&e, 0);
    CHECK_INT(e.kind, TT_PERF_NONE);
}

/* ── Waits ────────────────────────────────────────────────────────────────────────── */

TEST(a_switch_says_which_way_and_whether_the_thread_could_run_on)
{
    struct tt_perf_event e;

    for (int wide = 0; wide < 2; wide++) {
        begin(wide ? PERF_RECORD_SWITCH_CPU_WIDE : PERF_RECORD_SWITCH, 1 << 13 | 1 << 14);
        if (wide)
            pair(5, 6);
        trailer(10, 11, 1234, 77);
        end();
        decode(&e, record.size);
        CHECK(e.kind == TT_PERF_SWITCHED && e.pid == 10 && e.tid == 11 && e.time == 1234);
        CHECK(!e.of.switched.is_in && e.of.switched.is_preempted);
    }
    begin(PERF_RECORD_SWITCH, 0);
    trailer(10, 11, 1234, 77);
    end();
    decode(&e, record.size);
    CHECK(e.kind == TT_PERF_SWITCHED && e.of.switched.is_in);
    CHECK(!e.of.switched.is_preempted);
}

static void put_tracepoint(uint32_t size)
{
    begin(PERF_RECORD_SAMPLE, 0);
    word(77);
    word(0x401234);
    pair(10, 11);
    word(123456789);
    word(0);         /* no chain */
    pair(size, 372); /* the size, and the record's first bytes */
    word(2);
    word(0); /* no registers */
    word(0); /* no stack */
    end();
}

TEST(a_tracepoints_record_is_within_its_sample)
{
    struct tt_perf_event e;
    char *at = room + ROOM;

    put_tracepoint(12);
    CHECK(record.size <= ROOM);
    memcpy(at - record.size, record.bytes, record.size);
    tt_perf_decode(&e, at - record.size, record.size, TT_PERF_HAS_RAW);
    CHECK(e.kind == TT_PERF_SAMPLE && e.of.sample.raw_size == 12);
    CHECK(e.of.sample.raw && e.of.sample.raw[0] == 116 && e.of.sample.raw[1] == 1);
    put_tracepoint(1 << 20);
    memcpy(at - record.size, record.bytes, record.size);
    tt_perf_decode(&e, at - record.size, record.size, TT_PERF_HAS_RAW);
    CHECK_INT(e.kind, TT_PERF_NONE);
}

static const char format[] =
    "name: sched_waking\nID: 375\nformat:\n"
    "\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
    "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
    "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
    "\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
    "\tfield:long state;\toffset:32;\tsize:8;\tsigned:1;\n"
    "\tfield:int huge;\toffset:99999999999;\tsize:4;\tsigned:1;\n"
    "\tfield:int cut;\toffset:4";

TEST(places_of_fields_are_those_of_the_format)
{
    struct tt_trace_field f;

    CHECK(tt_trace_field_find(format, "common_flags", &f) && f.offset == 2 &&
          f.size == 1);
    CHECK(tt_trace_field_find(format, "pid", &f) && f.offset == 24 && f.size == 4);
    CHECK(tt_trace_field_find(format, "state", &f) && f.offset == 32 && f.size == 8);
    CHECK(!tt_trace_field_find(format, "comm", &f)); /* an array */
    CHECK(!tt_trace_field_find(format, "comm[16]", &f));
    CHECK(!tt_trace_field_find(format, "flags", &f));
    CHECK(!tt_trace_field_find(format, "huge", &f));
    CHECK(!tt_trace_field_find(format, "cut", &f));
    CHECK(!tt_trace_field_find("", "pid", &f));
}

TEST(fields_are_read_within_the_record_alone)
{
    const char bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    uint64_t n = 0;

    CHECK(tt_trace_field_read((struct tt_trace_field){2, 1}, bytes, 8, &n) && n == 3);
    CHECK(tt_trace_field_read((struct tt_trace_field){4, 4}, bytes, 8, &n));
    CHECK_INT(n, 0x08070605);
    CHECK(tt_trace_field_read((struct tt_trace_field){6, 2}, bytes, 8, &n) && n == 0x807);
    CHECK(!tt_trace_field_read((struct tt_trace_field){5, 4}, bytes, 8, &n));
    CHECK(!tt_trace_field_read((struct tt_trace_field){8, 1}, bytes, 8, &n));
    CHECK(!tt_trace_field_read((struct tt_trace_field){UINT32_MAX, 8}, bytes, 8, &n));
}

static const char *wait_of(const char *function)
{
    const char *wait = tt_kernel_role_wait(tt_kernel_role_of(function));

    return wait ? wait : "";
}

TEST(functions_of_the_kernel_say_what_is_awaited)
{
    CHECK_STR(wait_of("anon_pipe_read"), "[waits: pipe of]");
    CHECK_STR(wait_of("do_wait.cold"), "[waits: child of]");
    CHECK_STR(wait_of("futex_wait_queue"), "[waits: futex of]");
    CHECK_STR(wait_of("__x64_sys_pause"), "[waits: signal of]");
    CHECK_STR(wait_of("do_waiter"), "");
    CHECK_STR(wait_of("schedule"), "");
    CHECK_STR(wait_of(""), "");
    CHECK_INT(tt_kernel_role_of("do_exit"), TT_KERNEL_EXIT);
    CHECK_INT(tt_kernel_role_of("hrtimer_wakeup"), TT_KERNEL_TIMER);
}

TEST(the_innermost_known_function_counts)
{
    static const char *const name[] = {"io_schedule", "schedule", "anon_pipe_read"};
    struct tt_kernel_range range[3];
    const struct tt_kernel_waits k = {range, 3, 3};
    const uint64_t chain[] = {0x1500, 0x2501, 0x3001}, both[] = {0x2500, 0x3500, 0x1500};

    for (uint64_t i = 0; i < 3; i++)
        range[i] = (struct tt_kernel_range){0x1000 * (i + 1), tt_kernel_role_of(name[i])};
    CHECK_STR(tt_kernel_wait(&k, both, 3), "[waits: pipe of]");
    CHECK_STR(tt_kernel_wait(&k, chain, 3), "[waits: disk of]");
    CHECK(!tt_kernel_wait(&k, both, 1) && !tt_kernel_wait(&k, both, 0));
    CHECK(!tt_kernel_has(&k, both, 3, TT_KERNEL_EXIT));
}

/* Symbols of modules are not in the order of addresses. */
TEST(functions_of_the_kernel_are_found_in_any_order)
{
    static char lines[] = "0000000000001000 T first\n"
                          "0000000000005000 t third\n"
                          "0000000000004000 t other\t[one]\n"
                          "0000000000003000 t pipe_read\t[module]\n"
                          "0000000000003000 t alias\t[module]\n"
                          "0000000000003800 d pipe_data\n"
                          "0000000000007000 t do_exit\n";
    struct tt_kernel_waits k = {NULL, 0, 0};
    const uint64_t inside[] = {0x3fff}, before[] = {0x2fff}, after[] = {0x4000},
                   far[] = {0x6000}, ends[] = {0x7000};
    FILE *f = fmemopen(lines, sizeof lines - 1, "r");

    CHECK(f != NULL);
    if (!f)
        return;
    tt_kernel_waits_read(&k, f);
    fclose(f);
    CHECK_STR(tt_kernel_wait(&k, inside, 1), "[waits: pipe of]");
    CHECK(!tt_kernel_wait(&k, before, 1) && !tt_kernel_wait(&k, after, 1));
    CHECK(!tt_kernel_wait(&k, far, 1) && tt_kernel_has(&k, ends, 1, TT_KERNEL_EXIT));
    CHECK_INT(k.count, 4);
    tt_kernel_waits_free(&k);
}
