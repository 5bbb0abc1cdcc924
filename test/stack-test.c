/* SPDX-License-Identifier: MIT */
/* stack-test.c - stacks unwound by the profiler's own tables: their root, their frames,
 * and the errors of damaged stacks. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "process.h"
#include "regions.h"
#include "registry.h"
#include "tap.h"
#include "unwind.h"

enum { ROOM = 512 };

static struct tt_native frame[ROOM];
static struct tt_unwound stack = {.frame = frame, .room = ROOM};

/* ── Looking ──────────────────────────────────────────────────────────────────────── */

static void look(const void *ucontext, const char *end)
{
    struct tt_registers r;
    struct tt_peek peek;
    struct tt_hold hold;
    const char *sp;

    tt_registers_of_context(&r, ucontext);
    sp = (const char *)(uintptr_t)r.value[TT_REGISTER_SP];
    tt_peek_own(&peek, sp, end);
    tt_modules_hold(&hold);
    tt_native_unwind(&stack, hold.modules, &r, &peek);
    tt_modules_release(&hold);
}

static void on_signal(int number, siginfo_t *info, void *ucontext)
{
    (void)number;
    (void)info;
    look(ucontext, NULL);
}

static void handle(int number)
{
    struct sigaction action = {.sa_sigaction = on_signal,
                               .sa_flags = SA_SIGINFO | SA_RESTART};

    sigaction(number, &action, NULL);
}

/* The place among the frames of the function; -1: it is not there. */
static int find(void *function)
{
    for (unsigned i = 0; i < stack.count; i++)
        if (frame[i].function == (uintptr_t)function)
            return (int)i;
    return -1;
}

/* ── Tests ────────────────────────────────────────────────────────────────────────── */

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static NOINLINE void inner(void)
{
    raise(SIGUSR1);
    __asm__ volatile("");
}

static NOINLINE void outer(void)
{
    inner();
    __asm__ volatile("");
}

TEST(a_stack_leads_from_the_signal_to_the_root)
{
    CHECK_INT(tt_modules_refresh(), 0);
    handle(SIGUSR1);
    outer();
    CHECK_STR(tt_unwind_reason(stack.end), tt_unwind_reason(TT_UNWIND_ROOT));
    CHECK(find((void *)inner) > 0);
    CHECK_INT(find((void *)outer), find((void *)inner) + 1);
}

static int compare(const void *a, const void *b)
{
    if (!stack.count)
        raise(SIGUSR1);
    return *(const int *)a - *(const int *)b;
}

TEST(a_callback_of_the_c_library_leads_to_who_called_it)
{
    int n[] = {3, 1, 2};

    stack.count = 0;
    qsort(n, 3, sizeof *n, compare);
    CHECK_INT(stack.end, TT_UNWIND_ROOT);
    CHECK(find((void *)compare) > 0);
    CHECK(find((void *)a_callback_of_the_c_library_leads_to_who_called_it) >
          find((void *)compare));
}

static void *thread(void *arg)
{
    outer();
    return arg;
}

TEST(a_thread_has_a_root_of_its_own)
{
    pthread_t t;

    stack.count = 0;
    pthread_create(&t, NULL, thread, NULL);
    pthread_join(t, NULL);
    CHECK_INT(stack.end, TT_UNWIND_ROOT);
    CHECK(find((void *)thread) > find((void *)outer));
}

static void on_alarm(int number)
{
    (void)number;
    inner();
}

TEST(a_handler_leads_to_what_it_interrupted)
{
#ifdef __SANITIZE_THREAD__
    (void)on_alarm;
    SKIP("the sanitizer calls handlers by itself, later");
#endif
    unsigned signals = 0;

    signal(SIGUSR2, on_alarm);
    raise(SIGUSR2);
    for (unsigned i = 0; i < stack.count; i++)
        signals += (frame[i].flags & TT_NATIVE_SIGNAL) != 0;
    CHECK_INT(stack.end, TT_UNWIND_ROOT);
    CHECK_INT(signals, 1);
    CHECK(find((void *)a_handler_leads_to_what_it_interrupted) > find((void *)on_alarm));
}

static volatile size_t copy_size; /* not 0: unwind a copy of as many bytes */

/* Across all that is there; a sanitizer would object to what lies between the variables. */
__attribute__((no_sanitize("address", "thread"))) static void copy_stack(
    volatile char *to, const volatile char *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = from[i];
}

/* Frames of the stack, and of its copy. */
static void on_copy(int number, siginfo_t *info, void *ucontext)
{
    static char copy[16384];
    static struct tt_native straight[ROOM];
    struct tt_registers r;
    struct tt_peek peek;
    struct tt_hold hold;
    uint64_t sp;
    uint32_t count;

    on_signal(number, info, ucontext);
    count = stack.count;
    memcpy(straight, frame, sizeof straight);
    tt_registers_of_context(&r, ucontext);
    sp = r.value[TT_REGISTER_SP];
    copy_stack(copy, (const char *)(uintptr_t)sp, copy_size);
    tt_peek_copy(&peek, sp, copy, copy_size);
    tt_modules_hold(&hold);
    tt_native_unwind(&stack, hold.modules, &r, &peek);
    tt_modules_release(&hold);
    for (uint32_t i = 0; i < count && i < stack.count; i++)
        CHECK(frame[i].pc == straight[i].pc && frame[i].sp == straight[i].sp);
    CHECK(stack.count == count || copy_size < 1024);
}

static void signal_with(size_t size)
{
    struct sigaction action = {.sa_sigaction = on_copy, .sa_flags = SA_SIGINFO};

    copy_size = size;
    sigaction(SIGUSR1, &action, NULL);
    outer();
    handle(SIGUSR1);
}

static void *copied(void *arg)
{
    signal_with(4096);
    CHECK_INT(stack.end, TT_UNWIND_ROOT);
    CHECK(find((void *)outer) > 0);
    signal_with(256);
    CHECK_INT(stack.end, TT_UNWIND_TRUNCATED);
    CHECK(stack.count > 0);
    return arg;
}

TEST(a_copy_of_a_stack_is_unwound_like_the_stack)
{
#if defined __GLIBC__
    /* Behind the stack there are some more bytes that can be copied. */
    static _Alignas(64) char memory[(1 << 20) + 8192];
    pthread_attr_t attr;
    pthread_t t;

    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, memory, 1 << 20);
    pthread_create(&t, &attr, copied, NULL);
    pthread_join(t, NULL);
    pthread_attr_destroy(&attr);
#else
    (void)copied;
    SKIP("without tables the code is read, and it is not in the copy");
#endif
}

TEST(a_stack_that_is_deeper_than_the_room_is_said_to_be_truncated)
{
    stack.room = 2;
    outer();
    stack.room = ROOM;
    CHECK_INT(stack.end, TT_UNWIND_TRUNCATED);
    CHECK_INT(stack.count, 2);
}

#if defined __x86_64__
/* A function that returns at once was called by code without rules, whose frame pointer leads to
 * one caller, and its own instructions to another, if they are no `leave`. */
static uint64_t caller_of_compiled(const char *leaves, uint32_t called, uint64_t lost,
                                   struct tt_unwind_cache *cache)
{
    enum {
        AT = 0x10000,
        INNER = 0x100,
        COMPILED = 0x205,
        BY_FRAME = 0x305,
        BY_POP = 0x405,
        SP = 0x800
    };
    static uint64_t memory[512];
    static const struct tt_modules modules = {.generation = 1};
    struct tt_unwound out = {.frame = frame, .room = ROOM, .cache = cache};
    struct tt_registers r = {.lost = lost};
    struct tt_peek peek;
    char *at = (char *)memory;

    memset(memory, 0, sizeof memory);
    at[INNER] = '\xc3';
    for (int call = COMPILED; call <= BY_POP; call += 0x100)
        at[call - 5] = '\xe8';
    memcpy(at + COMPILED - 4, &called, sizeof called);
    memset(at + COMPILED, '\x90', 8); /* beyond what is compared */
    strcpy(at + COMPILED + 8, leaves);
    memory[SP / 8] = AT + COMPILED;
    memory[SP / 8 + 3] = AT + BY_POP;
    memory[SP / 8 + 6] = AT + BY_FRAME;
    r.value[16] = AT + INNER;
    r.value[7] = AT + SP;
    r.value[6] = AT + SP +
                 40; /* where the next frame pointer is, below the return address */
    tt_peek_copy(&peek, AT, memory, sizeof memory);
    tt_native_unwind(&out, &modules, &r, &peek);
    CHECK(out.count >= 3 && frame[1].pc == AT + COMPILED);
    return frame[2].pc - AT;
}

#define LEAVE "\xc9\xc3"
#define POP "\x48\x83\xc4\x10\xc3"
#define JUMP "\xff\xe0"

TEST(compiled_code_that_keeps_a_frame_pointer_is_followed_once)
{
    static struct tt_unwind_cache cache, other;

    CHECK_INT(caller_of_compiled(LEAVE, 1, 0, &cache), 0x305);
    CHECK_INT(caller_of_compiled(POP, 1, 0, &cache), 0x305); /* not looked at */
    CHECK_INT(caller_of_compiled(POP, 2, 0, &cache), 0x405); /* it is new code */
    CHECK_INT(caller_of_compiled(POP, 2, 0, &cache), 0x405);
    for (int i = 0; i < 3; i++)
        CHECK_INT(caller_of_compiled(POP, 1, 0, &other), 0x405);
}

TEST(compiled_code_that_comes_to_no_return_is_followed_once)
{
    static struct tt_unwind_cache cache;
    enum { RBX = 1 << 3 };

    CHECK_INT(caller_of_compiled(JUMP, 1, 0, &cache), 0x305);
    CHECK_INT(caller_of_compiled(POP, 1, 0, &cache), 0x305); /* not looked at */
    CHECK_INT(caller_of_compiled(POP, 1, RBX, &cache),
              0x405); /* another register is lost */
    CHECK_INT(caller_of_compiled(POP, 2, 0, &cache), 0x405); /* it is new code */
}
#endif

/* Registers that may be anything: what they lead to is looked at with care. */
TEST(garbage_is_unwound_to_an_end_and_never_faults)
{
    struct tt_registers r;
    struct tt_peek peek;
    struct tt_hold hold;
    uint64_t random = 88172645, ends[TT_UNWIND_ENDS] = {0};
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                       -1, 0);

    mprotect(pages + 4096, 4096, PROT_NONE);
    for (int round = 0; round < 20000; round++) {
        const uint64_t somewhere[] = {(uintptr_t)&random, (uintptr_t)pages + 4000,
                                      (uintptr_t)outer,   (uintptr_t)stdout,
                                      (uintptr_t)qsort,   0,
                                      ~(uint64_t)0,       1ull << 63};
        tt_modules_hold(&hold);
        for (unsigned i = 0; i < TT_REGISTERS; i++) {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            r.value[i] = somewhere[random % 8] + (random >> 20) % 5000;
            ((uint64_t *)(void *)pages)[random >> 40 & 511] = r.value[i];
        }
        r.lost = round & 1 ? random & ~((uint64_t)1 << TT_REGISTER_SP) : 0;
        tt_peek_own(&peek, NULL, NULL);
        tt_native_unwind(&stack, hold.modules, &r, &peek);
        ends[stack.end]++;
        tt_modules_release(&hold);
    }
    munmap(pages, 8192);
    CHECK(ends[TT_UNWIND_NO_RULE] + ends[TT_UNWIND_UNKNOWN] > 0);
    CHECK(ends[TT_UNWIND_MEMORY] > 0);
    CHECK(ends[TT_UNWIND_STRAY] > 0);
}

static struct {
    int fetched, loads, loaded;
} asked;

static int load(uint64_t address, void *to, size_t size)
{
    asked.loaded += asked.loads;
    if (asked.loads)
        memset(to, (int)(address & 15), size);
    return asked.loads;
}

static int fetch(void *arg, uint64_t address, void *block)
{
    (void)arg;
    (void)address;
    asked.fetched++;
    memset(block, 99, TT_PEEK_BLOCK);
    return 0;
}

TEST(outside_of_the_window_the_system_is_asked_only_for_what_cannot_be_loaded)
{
    struct tt_peek peek;
    uint8_t bytes[9];

    tt_peek_own(&peek, NULL, NULL);
    peek.fetch = fetch;
    peek.load = load;
    asked.loads = 1;
    CHECK(tt_peek_bytes(&peek, 0x1003, bytes, sizeof bytes));
    CHECK_INT(bytes[8], 3);
    CHECK(tt_peek_bytes(&peek, 0x1234567, bytes, sizeof bytes));
    CHECK_INT(bytes[0], 7);
    CHECK_INT(asked.loaded, 2);
    CHECK_INT(asked.fetched, 0);
    asked.loads = 0;
    CHECK(tt_peek_bytes(&peek, 0x1003, bytes, sizeof bytes));
    CHECK_INT(bytes[8], 99);
    CHECK_INT(asked.fetched, 1);
}

TEST(the_child_of_a_fork_finds_its_stack)
{
    int status;

    stack.count = 0;
    if (fork() == 0) {
        tt_modules_forked();
        tt_modules_refresh();
        outer();
        _exit(stack.end == TT_UNWIND_ROOT && find((void *)outer) > 0 ? 0 : 1);
    }
    wait(&status);
    CHECK_INT(status, 0);
}

/* ── Modules that come and go ─────────────────────────────────────────────────────── */

static char *plugin_path(void)
{
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 32);
    char *end;

    path[n > 0 ? n : 0] = 0;
    if ((end = strrchr(path, '/')) != NULL)
        strcpy(end + 1, "frames-plugin.so");
    return path;
}

static int count_maps(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int n = 0;

    while (maps && fgets(line, sizeof line, maps))
        n++;
    if (maps)
        fclose(maps);
    return n;
}

static volatile int done;

/* Goes through all that a snapshot leads to, as long as it likes. */
static void *reader(void *arg)
{
    struct tt_hold hold;
    uint64_t *sum = arg;

    do {
        tt_modules_hold(&hold);
        for (uint32_t i = 0; i < hold.modules->count; i++) {
            const struct tt_mapping *m = &hold.modules->mapping[i];
            const struct tt_function *f;
            for (uint64_t at = 0; m->rules && at < 4096; at += 64)
                *sum += tt_rules_find(m->rules, at, &f) != NULL;
            *sum += (uint64_t)m->module->path[0];
        }
        tt_modules_release(&hold);
        usleep(1); /* a shard that is always held frees nothing */
    } while (!__atomic_load_n(&done, __ATOMIC_RELAXED));
    return NULL;
}

static void find_module(void *arg, const struct tt_module *m)
{
    *(int *)arg += strstr(m->path, "frames-plugin.so") != NULL;
}

TEST(snapshots_are_freed_only_when_nobody_holds_them)
{
    char *path = plugin_path();
    void *plugin = dlopen(path, RTLD_NOW);
    pthread_t t[3];
    uint64_t sum[3] = {0};
    int before, modules = 0;

    if (!plugin)
        SKIP("no plug-in can be loaded here");
    dlclose(plugin);
    CHECK_INT(tt_modules_refresh(), 0);
    before = count_maps();
    done = 0;
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, reader, &sum[i]);
    for (int i = 0; i < 500; i++) {
        plugin = dlopen(path, RTLD_NOW);
        CHECK_INT(tt_modules_refresh(), 0);
        dlclose(plugin);
        CHECK_INT(tt_modules_refresh(), 0);
    }
    __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    tt_modules_refresh();
    CHECK(sum[0] && sum[1] && sum[2]);
    CHECK(count_maps() < before + 40);
    tt_modules_each(find_module, &modules);
    CHECK_INT(modules, 1);
}

/* The function's page in its file, mapped at another address (or at `at`). */
static char *map_again(void *at, int fd, const struct tt_region *r, uintptr_t function)
{
    const uint64_t page = function & ~(uintptr_t)4095,
                   offset = r->offset + page - r->start;
    char *p = mmap(at, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | (at ? MAP_FIXED : 0),
                   fd, (off_t)offset);

    if (p == MAP_FAILED)
        return NULL;
    tt_modules_replaced(p, 4096);
    tt_modules_mapped(p, 4096, fd, offset);
    return p + (function & 4095);
}

static const struct tt_region *region_of(const struct tt_regions *r, uintptr_t address)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->at[i].start <= address && address < r->at[i].end)
            return &r->at[i];
    return NULL;
}

/* Is the code at `copy` the function? */
static int is_code_of(const char *copy, uintptr_t function)
{
    const struct tt_mapping *known, *again;
    struct tt_hold hold;
    int is;

    tt_modules_hold(&hold);
    known = tt_modules_find(hold.modules, function);
    again = tt_modules_find(hold.modules, (uintptr_t)copy);
    is = known && again && again->module == known->module &&
         again->rules == known->rules &&
         (uintptr_t)copy - again->bias == function - known->bias;
    tt_modules_release(&hold);
    return is;
}

TEST(code_that_is_mapped_again_is_its_modules)
{
    const uintptr_t function = (uintptr_t)map_again, other = (uintptr_t)count_maps;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct tt_regions r = {0};
    const struct tt_region *at;
    uint64_t generation;
    char *copy, *second;

    CHECK_INT(tt_modules_refresh(), 0);
    CHECK_INT(tt_regions_read(&r, getpid()), 0);
    at = region_of(&r, function);
    copy = at ? map_again(NULL, fd, at, function) : NULL;
    second = at ? map_again(NULL, fd, at, function) : NULL;
    CHECK(copy && second);
    CHECK(is_code_of(copy, function) && is_code_of(second, function));
    second -= function & 4095;
    second = map_again(second, fd, at, other);
    CHECK(second && is_code_of(second, other) && is_code_of(copy, function));
    generation = tt_modules_generation();
    close(fd);
    fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    tt_modules_mapped(copy, 4096, fd, 0);
    CHECK(generation == tt_modules_generation());
    close(fd);
    tt_regions_fini(&r);
}

static int is_known(const char *code)
{
    struct tt_hold hold;
    int is;

    tt_modules_hold(&hold);
    is = tt_modules_find(hold.modules, (uintptr_t)code) != NULL;
    tt_modules_release(&hold);
    return is;
}

/* More often than there are places for such code. */
TEST(code_is_forgotten_where_something_else_is_mapped)
{
    const uintptr_t function = (uintptr_t)map_again;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), lost = 0, kept = 0;
    struct tt_regions r = {0};
    const struct tt_region *at;

    CHECK_INT(tt_modules_refresh(), 0);
    CHECK_INT(tt_regions_read(&r, getpid()), 0);
    at = region_of(&r, function);
    CHECK(at != NULL);
    for (int i = 0; i < 200; i++) {
        char *copy = map_again(NULL, fd, at, function), *page = copy - (function & 4095);
        lost += !copy || !is_code_of(copy, function);
        tt_modules_replaced(page - 4096, 4096);
        CHECK_INT(tt_modules_refresh(), 0);
        lost += !is_code_of(copy, function);
        tt_modules_replaced(page - 4096, 4097);
        CHECK_INT(tt_modules_refresh(), 0);
        kept += is_known(copy);
        munmap(page, 4096);
    }
    CHECK_INT(lost, 0);
    CHECK_INT(kept, 0);
    close(fd);
    tt_regions_fini(&r);
}

/* ── Tables ───────────────────────────────────────────────────────────────────────── */

/* The table of a file; with `scan`, its own index is not used. */
static int table_of(int fd, int scan, struct tt_rules **rules)
{
    struct tt_image image;
    struct tt_frame_info info;
    int error = tt_image_of_file(&image, fd);

    *rules = NULL;
    if (error)
        return error;
    if (tt_image_frame_info(&image, &info) == 0) {
        if (scan)
            info.table = NULL;
        error = tt_rules_new(rules, &info);
    }
    tt_image_fini(&image);
    return error || *rules ? error : -1;
}

static const char *c_library(void)
{
    Dl_info info;

    return dladdr((void *)(uintptr_t)qsort, &info) ? info.dli_fname : "/proc/self/exe";
}

static struct tt_rules *table_of_path(const char *path, int scan)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct tt_rules *rules = NULL;

    CHECK_INT(table_of(fd, scan, &rules), 0);
    close(fd);
    return rules;
}

static uint64_t mix(uint64_t hash, uint64_t n)
{
    return (hash ^ n) * 0x9e3779b97f4a7c15u;
}

static uint64_t hash_function(const struct tt_function *f)
{
    uint64_t hash = mix(mix(1, f->start), f->end);

    for (uint32_t i = 0; i < f->rows; i++) {
        const struct tt_rule *rule = tt_function_rule(f, &f->row[i]);
        hash = mix(mix(hash, f->row[i].at), rule->set);
        hash = mix(hash, (uint64_t)(uint32_t)rule->offset << 32 | rule->base);
        for (int n = 0; n < __builtin_popcount(rule->set); n++)
            hash = mix(hash, rule->how[n]);
    }
    return hash;
}

/* Every function that has rules, found by an address in its middle. */
static uint64_t hash_table(const struct tt_rules *r)
{
    uint64_t hash = 0;

    for (uint32_t i = 0; i < r->functions; i++) {
        const struct tt_function *f = tt_rules_function(r, i), *found;
        uint32_t middle = f ? f->start / 2 + f->end / 2 : 0;
        if (f && f->rows && tt_rules_find(r, middle, &found) && found->start == f->start)
            hash = mix(hash, hash_function(found));
    }
    return hash;
}

TEST(a_table_is_the_same_by_the_index_of_its_file_and_by_a_scan)
{
    const char *const path[] = {"/proc/self/exe", c_library()};

    for (int i = 0; i < 2; i++) {
        struct tt_rules *indexed = table_of_path(path[i], 0),
                        *scanned = table_of_path(path[i], 1);
        if (!indexed || !scanned)
            continue;
        CHECK(scanned->functions > 100);
        CHECK_INT(indexed->functions, scanned->functions);
        CHECK(hash_table(indexed) == hash_table(scanned));
        CHECK(tt_rules_covered(scanned) > 0);
        tt_rules_free(indexed);
        tt_rules_free(scanned);
    }
}

static void *look_up(void *arg)
{
    const struct tt_rules *r = arg;

    return (void *)(uintptr_t)hash_table(r);
}

TEST(threads_look_functions_up_in_one_table_at_once)
{
    for (int round = 0; round < 20; round++) {
        struct tt_rules *r = table_of_path(c_library(), 0);
        uintptr_t alone;
        pthread_t t[12]; /* more than there are readers */
        void *hash;
        for (int i = 0; r && i < 12; i++)
            pthread_create(&t[i], NULL, look_up, r);
        alone = r ? hash_table(r) : 0;
        for (int i = 0; r && i < 12; i++) {
            pthread_join(t[i], &hash);
            CHECK((uintptr_t)hash == alone);
        }
        tt_rules_free(r);
    }
}

/* ── Without memory ───────────────────────────────────────────────────────────────── */

static int mappings_left = -1; /* -1: as many as there are */

static int may_map(void)
{
    if (mappings_left <= 0)
        return mappings_left < 0;
    mappings_left--;
    return 1;
}

/* Replaces the C library's function for code that is linked into this program. */
void *mmap(void *at, size_t size, int mode, int flags, int fd, off_t offset)
{
    if (!may_map())
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, size, mode, flags, fd, offset);
}

void *mremap(void *at, size_t before, size_t size, int flags, ...)
{
    if (!may_map())
        return MAP_FAILED;
    return (void *)syscall(SYS_mremap, at, before, size, flags, 0);
}

static int make_table(int fd)
{
    struct tt_rules *rules;
    int error = table_of(fd, 0, &rules);

    tt_rules_free(rules);
    return error;
}

TEST(a_table_without_memory_is_an_error_and_leaves_nothing)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    int maps = count_maps(), error = -1, n;

    for (n = 0; n < 100 && error; n++) {
        mappings_left = n;
        error = make_table(fd);
        mappings_left = -1;
    }
    CHECK_INT(error, 0);
    CHECK(n > 3);
    CHECK(count_maps() < maps + 3);
    close(fd);
}

TEST(a_function_without_memory_is_looked_up_again_later)
{
    struct tt_rules *r = table_of_path("/proc/self/exe", 0);
    const struct tt_function *f = NULL;

    mappings_left = 0;
    for (uint32_t i = 0; r && i < r->functions && !f; i++)
        f = tt_rules_function(r, i);
    mappings_left = -1;
    CHECK(!f);
    for (uint32_t i = 0; r && i < r->functions && !f; i++)
        f = tt_rules_function(r, i);
    CHECK(f && f->rows);
    tt_rules_free(r);
}

TEST(a_snapshot_without_memory_is_an_error)
{
    struct tt_modules *modules;
    int error = -1, n;

    for (n = 0; n < 100 && error; n++) {
        mappings_left = n;
        error = tt_modules_new(&modules, getpid());
        mappings_left = -1;
        CHECK(error == 0 || !modules);
    }
    CHECK_INT(error, 0);
    CHECK(n > 1);
    CHECK(modules && modules->count > 0);
    tt_modules_free(modules);
}
