/* SPDX-License-Identifier: MIT */
/* worker-test.c - what becomes of names when reading a file goes wrong.
 *
 * The symbols here are made up by the module's name: it says what reading does. */
#include "worker.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

struct tt_symbols {
    char name[64];
    struct tt_spot spot[2];
};

/* The process that reads may say how often it has been asked. */
static int *asked;

static void misbehave(const char *module)
{
    if (strcmp(module, "abort") == 0)
        abort();
    if (strcmp(module, "crash") == 0)
        (void)raise(SIGSEGV);
    if (strcmp(module, "exit") == 0)
        exit(0);
    if (strcmp(module, "eat") == 0)
        for (;;) { /* until there is none */
            char *p = malloc(16 << 20);
            if (!p)
                abort();
            memset(p, 1, 4096);
        }
}

void tt_symbols_find(struct tt_symbols *s, const char *module, const char *id,
                     uint64_t address, struct tt_spots *spots)
{
    (void)id;
    ++*asked;
    if (address >= 3)
        misbehave(module);
    (void)snprintf(s->name, sizeof s->name, "%s%llu", module,
                   (unsigned long long)address);
    s->spot[0] = (struct tt_spot){.function = s->name,
                                  .file = "a.c",
                                  .at_file = "b.h",
                                  .line = 7,
                                  .column = 8,
                                  .start = 9,
                                  .at_line = 10,
                                  .at_column = 11};
    s->spot[1] = (struct tt_spot){.function = "inner", .file = "", .at_file = ""};
    *spots = (struct tt_spots){
        .spot = s->spot, .count = address == 2 ? 0 : 2, .reason = "2 has no name"};
}

void tt_symbols_function(struct tt_symbols *s, const char *module, const char *id,
                         uint64_t address, struct tt_spots *spots)
{
    tt_symbols_find(s, module, id, address, spots);
    spots->count = 1;
    s->spot[0].function = "\033[2J\xff ok \u017e\n\xc3";
}

struct questions {
    const char *const *module;
    uint32_t each; /* addresses of each module */
};

static int question(void *arg, uint32_t number, struct tt_question *q)
{
    const struct questions *all = arg;
    const char *module = NULL;

    for (uint32_t i = 0; i <= number / all->each; i++)
        if (!(module = all->module[i]))
            return 0;
    *q = (struct tt_question){.whole = strcmp(module, "odd") == 0,
                              .module = module,
                              .id = "",
                              .address = number % all->each};
    return 1;
}

static struct tt_symbols symbols;

static struct tt_worker *begin(struct questions *q)
{
    if (!asked)
        asked = mmap(NULL, sizeof *asked, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *asked = 0;
    return tt_worker_new(&symbols, question, q);
}

TEST(an_answer_has_all_that_was_said)
{
    static const char *const modules[] = {"libm", "libc", NULL};
    struct questions q = {modules, 3};
    struct tt_worker *w = begin(&q);
    struct tt_spots s;

    tt_worker_ask(w, 0, &s);
    if (CHECK_INT(s.count, 2)) {
        CHECK_STR(s.spot[0].function, "libm0");
        CHECK_STR(s.spot[0].file, "a.c");
        CHECK_STR(s.spot[0].at_file, "b.h");
        CHECK_INT(s.spot[0].line, 7);
        CHECK_INT(s.spot[0].column, 8);
        CHECK_INT(s.spot[0].start, 9);
        CHECK_INT(s.spot[0].at_line, 10);
        CHECK_INT(s.spot[0].at_column, 11);
        CHECK_STR(s.spot[1].function, "inner");
    }
    tt_worker_ask(w, 2, &s); /* one may be left out */
    CHECK_INT(s.count, 0);
    CHECK_STR(s.reason, "2 has no name");
    tt_worker_ask(w, 4, &s);
    CHECK_STR(s.count ? s.spot[0].function : "", "libc1");
    tt_worker_free(w);
}

TEST(names_are_text_whatever_a_file_says)
{
    static const char *const modules[] = {"odd", NULL};
    struct questions q = {modules, 1};
    struct tt_worker *w = begin(&q);
    struct tt_spots s;

    tt_worker_ask(w, 0, &s);
    CHECK_STR(s.count ? s.spot[0].function : "", "?[2J? ok \u017e??");
    tt_worker_free(w);
}

static void bad_module_is_given_up(const char *bad)
{
    const char *const modules[] = {"libm", bad, "libc", NULL};
    struct questions q = {modules, 100};
    struct tt_worker *w = begin(&q);
    struct tt_spots s;
    int named = 0;

    for (uint32_t i = 0; i < 300; i++) {
        tt_worker_ask(w, i, &s);
        named += s.count != 0;
        if (!s.count && i % 100 != 2)
            CHECK_STR(s.reason, "reading it failed");
        if (i >= 200 && i % 100 != 2)
            CHECK(s.count == 2 && strncmp(s.spot[0].function, "libc", 4) == 0);
    }
    CHECK(named >= 99 + 99); /* of the bad one at most its first two */
    CHECK(named <= 99 + 2 + 99);
    tt_worker_free(w);
    CHECK(waitpid(-1, NULL, WNOHANG) < 0); /* no child is left */
}

TEST(a_module_whose_reading_aborts_has_no_names_and_the_others_have)
{
    bad_module_is_given_up("abort");
}

TEST(a_module_whose_reading_crashes_has_no_names_and_the_others_have)
{
    bad_module_is_given_up("crash");
}

TEST(a_module_whose_reading_ends_the_process_has_no_names_and_the_others_have)
{
    bad_module_is_given_up("exit");
}

TEST(a_module_whose_reading_eats_memory_has_no_names_and_the_others_have)
{
#ifdef __SANITIZE_ADDRESS__
    SKIP("the sanitizer ends a program that has no memory left");
#endif
    struct rlimit before, less;

    if (getrlimit(RLIMIT_DATA, &before) != 0)
        SKIP("there are no limits");
    less = before;
    less.rlim_cur = 256 << 20; /* or a machine with much memory would take long */
    if (setrlimit(RLIMIT_DATA, &less) != 0)
        SKIP("limits cannot be set");
    bad_module_is_given_up("eat");
    (void)setrlimit(RLIMIT_DATA, &before);
}

/* What it says is seen by both. */
static int *said;

static void on_crash(int number)
{
    (void)number;
    ++*said;
    _exit(1);
}

/* As top gives the terminal back, which is the parent's. */
TEST(a_crash_is_none_of_the_parents_handlers_business)
{
    static const int signals[] = {SIGSEGV, SIGABRT};
    struct sigaction action = {.sa_handler = on_crash}, before[2];

    said = mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                -1, 0);
    for (int i = 0; i < 2; i++)
        sigaction(signals[i], &action, &before[i]);
    bad_module_is_given_up("crash");
    bad_module_is_given_up("abort");
    for (int i = 0; i < 2; i++)
        sigaction(signals[i], &before[i], NULL);
    CHECK_INT(*said, 0);
}

TEST(many_questions_are_answered_by_one_process)
{
    static const char *const modules[] = {"libm", NULL};
    struct questions q = {modules, 50000};
    struct tt_worker *w = begin(&q);
    struct tt_spots s;
    int wrong = 0;

    for (uint32_t i = 0; i < 50000; i++) {
        char want[64];
        tt_worker_ask(w, i, &s);
        (void)snprintf(want, sizeof want, "libm%u", i);
        wrong += i != 2 && (s.count != 2 || strcmp(s.spot[0].function, want) != 0);
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(*asked, 50000);
    tt_worker_free(w);
}
