/* SPDX-License-Identifier: MIT */
/* api-test.c - the public functions, as a program sees them. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "every-macro.h"
#include "tap.h"
#include "visit.h"

/* ── Macros and modes ─────────────────────────────────────────────────────────────── */

enum { ROUNDS = 1000 };

static void record_marks(const char *options)
{
    if (!CHECK_INT(tt_start(options), 0))
        return;
    for (int i = 0; i < ROUNDS; i++)
        use_every_macro();
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("outer").contexts, 1);
    CHECK_INT(visit_path("outer;by hand").contexts, 1);
    CHECK_INT(visit_path("outer;by hand;marked_function").contexts, 1);
    CHECK_INT(visit_path("outer;marked_function").contexts, 1);
    CHECK_INT(visit_path("outer;named").contexts, 1);
    CHECK_INT(visit_block("marked_function").contexts, 2);
}

static void check_marked_calls(void)
{
    CHECK_INT(visit_path("outer").calls, ROUNDS);
    CHECK_INT(visit_path("outer;by hand").calls, ROUNDS);
    CHECK_INT(visit_path("outer;by hand;marked_function").calls, ROUNDS);
    CHECK_INT(visit_path("outer;marked_function").calls, ROUNDS);
    CHECK_INT(visit_path("outer;named").calls, ROUNDS);
}

TEST(every_macro_counts_its_calls_in_mode_calls)
{
    record_marks("calls");
    check_marked_calls();
    CHECK_INT(visit_path("outer").activations, 0);
    CHECK_INT(visit_path("outer").total, 0);
}

TEST(every_macro_is_counted_and_timed_in_mode_exact)
{
    record_marks("exact");
    check_marked_calls();
    CHECK_INT(visit_path("outer").activations, ROUNDS);
    CHECK_INT(visit_path("outer;named").activations, ROUNDS);
    CHECK_INT(visit_path("outer").sum, visit_path("outer").total);
}

TEST(every_macro_is_counted_and_seldom_timed_in_mode_every)
{
    record_marks("every=64");
    check_marked_calls();
    CHECK(visit_path("outer").activations >= ROUNDS / 64);
    CHECK(visit_path("outer").activations < ROUNDS / 4);
}

TEST(every_macro_finds_its_context_in_mode_sampled)
{
    record_marks("sampled,sampler=thread");
    CHECK_INT(visit_path("outer").calls, 0);
    CHECK_INT(visit_path("outer").activations, 0);
}

TEST(kinds_have_modes_of_their_own)
{
    tt_block block = tt_block_get("block", "", 0, 0);

    CHECK_INT(tt_start("scopes=calls,blocks=exact"), 0);
    for (int i = 0; i < ROUNDS; i++) {
        TT_SCOPE("scope");
        tt_pop(tt_push(block));
    }
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("scope").calls, ROUNDS);
    CHECK_INT(visit_path("scope").activations, 0);
    CHECK_INT(visit_path("scope;block").activations, ROUNDS);
}

TEST(every_function_can_be_called_on_and_off)
{
    use_every_function();
    CHECK_INT(tt_start("calls"), 0);
    use_every_function();
    CHECK_INT(visit_path("got;made").calls, 1);
    CHECK_INT(visit_path("got;made").samples, 1);
    CHECK_INT(visit_path("got").calls, 2);
    CHECK_INT(tt_stop(), 0);
    use_every_function();
    CHECK_INT(visit_path("got").calls, 2);
}

/* ── Start and stop ───────────────────────────────────────────────────────────────── */

TEST(starts_nest)
{
    CHECK_INT(tt_stop(), -TT_ERR_STATE);
    CHECK_INT(tt_start("calls"), 0);
    CHECK_INT(tt_start("exact"), 0);
    CHECK_INT(tt_stop(), 0);
    marked_function();
    CHECK_INT(tt_stop(), 0);
    marked_function();
    CHECK_INT(visit_path("marked_function").calls, 1);
    CHECK_INT(tt_stop(), -TT_ERR_STATE);
}

TEST(a_wrong_option_is_an_error_and_starts_nothing)
{
    static const char *const wrong[] = {
        "nonsense",         "exact=1",
        "calls=",           "every=1",
        "every=x",          "sampled=0",
        "budget=1",         "budget=64Q",
        "budget=",          "budget=-1",
        "budget=1nodes",    "recursion=up",
        "recursion=repeat", "recursion=repeat:0",
        "recursion=edge:2", "clock=sun",
        "sampler=me",       "output=",
        "history=:3",       "history=a:0",
        "slowest=a:999",    "histogram=1",
        "calls,wrong",      "budget=64M,,=",
        "scopes=fast",      "budget=99999999999999999999G",
    };

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        int error = tt_start(wrong[i]);
        if (!CHECK_INT(error, -TT_ERR_OPTION))
            fprintf(stderr, "# with \"%s\"\n", wrong[i]);
        if (error == 0)
            tt_stop();
    }
    CHECK_INT(tt_stop(), -TT_ERR_STATE);
}

TEST(options_may_be_absent_or_have_dashes_and_blanks)
{
    static const char *const right[] = {
        NULL,
        "",
        " ",
        "--calls",
        "calls, --budget=1M",
        "exact\t--recursion=repeat:3",
        "history=a:b:3 slowest=a:b:3",
        "sampled=100,sampler=thread",
        "recursion=recent:6,",
        "clock=monotonic",
        "budget=1000nodes",
    };

    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        int error = tt_start(right[i]);
        if (!CHECK_INT(error, 0))
            fprintf(stderr, "# with \"%s\"\n", right[i]);
        if (error == 0)
            CHECK_INT(tt_stop(), 0);
    }
}

TEST(nothing_is_recorded_while_off)
{
    tt_block block = tt_block_get("off", "", 0, 0);
    tt_mark mark;

    CHECK_INT(tt_start("calls"), 0);
    CHECK_INT(tt_stop(), 0);
    use_every_macro();
    mark = tt_push(block);
    tt_pop(mark);
    tt_replace(block);
    tt_unwind(tt_mark_get());
    CHECK_INT(tt_context_capture(), 0);
    CHECK_INT(tt_pause(), -TT_ERR_STATE);
    CHECK_INT(tt_resume(), -TT_ERR_STATE);
    CHECK_INT(visit_block("outer").contexts, 0);
    CHECK_INT(visit_block("off").contexts, 0);
}

TEST(a_scope_left_after_the_stop_leaves_quietly)
{
    CHECK_INT(tt_start("exact"), 0);
    {
        TT_SCOPE("open");
        CHECK_INT(tt_stop(), 0);
        CHECK_INT(visit_path("open").activations, 1);
    }
    CHECK_INT(visit_path("open").activations, 1);
    CHECK_INT(tt_start("exact"), 0);
    marked_function();
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("open").contexts, 0);
    CHECK_INT(visit_path("marked_function").calls, 1);
}

TEST(a_scope_entered_while_off_stays_off)
{
    TT_SCOPE("before the start");
    CHECK_INT(tt_start("calls"), 0);
    marked_function();
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("marked_function").calls, 1);
    CHECK_INT(visit_block("before the start").contexts, 0);
}

TEST(a_block_made_before_the_start_is_the_same_after_it)
{
    tt_block block = tt_block_get("early", "f", 1, 2),
             other = tt_block_get("early", "f", 1, 3);

    CHECK(block != 0 && other != 0 && block != other);
    CHECK_INT(tt_block_get("early", "f", 1, 2), block);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(tt_start("calls"), 0);
        CHECK_INT(tt_block_get("early", "f", 1, 2), block);
        tt_pop(tt_push(block));
        CHECK_INT(tt_stop(), 0);
        CHECK_INT(visit_path("early").calls, 1);
    }
}

/* ── Time ─────────────────────────────────────────────────────────────────────────── */

TEST(pauses_nest_and_leave_pushes_counted)
{
    CHECK_INT(tt_start("exact,clock=caller"), 0);
    {
        TT_SCOPE("outer");
        tt_tick(5);
        CHECK_INT(tt_pause(), 0);
        tt_tick(100);
        CHECK_INT(tt_pause(), 0);
        {
            TT_SCOPE("inner");
            tt_tick(1000);
        }
        CHECK_INT(tt_resume(), 0);
        tt_tick(10000);
        CHECK_INT(tt_resume(), 0);
        CHECK_INT(tt_resume(), -TT_ERR_STATE);
        tt_tick(7);
    }
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("outer").self, 12);
    CHECK_INT(visit_path("outer").sum, 12);
    CHECK_INT(visit_path("outer;inner").calls, 1);
    CHECK_INT(visit_path("outer;inner").total, 0);
}

TEST(an_open_activation_has_its_ticks_so_far)
{
    CHECK_INT(tt_start("exact,clock=caller"), 0);
    {
        TT_SCOPE("open");
        tt_tick(100);
        CHECK_INT(visit_path("open").self, 100);
        tt_tick(5);
        CHECK_INT(visit_path("open").self, 105);
    }
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("open").sum, 105);
}

TEST(activations_have_their_statistics)
{
    CHECK_INT(tt_start("exact,clock=caller"), 0);
    for (unsigned i = 1; i <= 4; i++) {
        TT_SCOPE("timed");
        tt_tick(10 * i);
    }
    CHECK_INT(visit_path("timed").min, 10);
    CHECK_INT(visit_path("timed").max, 40);
    CHECK_INT(visit_path("timed").sum, 100);
    CHECK_INT(visit_path("timed").activations, 4);
    CHECK_INT(visit_path("").total, 100);
    CHECK_INT(tt_stop(), 0);
}

/* The same events by tt_step, and by the three calls that it replaces. */
static uint64_t walk_statements(int by_steps, struct visit_sum of[3])
{
    struct tt_block_info of_f = {.name = "f", .kind = TT_KIND_BLOCK},
                         of_s = {.name = "s", .kind = TT_KIND_STATEMENT},
                         of_r = {.name = "r", .kind = TT_KIND_STATEMENT};
    tt_block f = tt_block_make(&of_f), s = tt_block_make(&of_s), r = tt_block_make(&of_r);
    tt_mark outer = 0, mark = 0;
    uint64_t total;

    CHECK_INT(tt_start("exact,clock=caller:1000"), 0);
    for (unsigned i = 1; i <= 50; i++) {
        if (by_steps) {
            outer = tt_step(i, outer, f);
            mark = tt_step(1, 0, s);
            mark = tt_step(2 * i, mark, s);
            mark = tt_step(0, mark, r);
            (void)tt_step(3, 0, f); /* left with what it lies in */
            mark = tt_step(i % 7, mark, r);
            mark = tt_step(9, mark, s);
            (void)tt_step(5, mark, 0);
            (void)tt_step(0, 0, f);
            (void)tt_step(3, 0, s); /* left with what it lies in */
        } else {
            tt_tick(i);
            if (outer)
                tt_pop(outer);
            outer = tt_push(f);
            tt_tick(1);
            mark = tt_push(s);
            tt_tick(2 * i);
            tt_pop(mark);
            mark = tt_push(s);
            tt_pop(mark);
            mark = tt_push(r);
            tt_tick(3);
            (void)tt_push(f);
            tt_tick(i % 7);
            tt_pop(mark);
            mark = tt_push(r);
            tt_tick(9);
            tt_pop(mark);
            mark = tt_push(s);
            tt_tick(5);
            tt_pop(mark);
            (void)tt_push(f);
            tt_tick(3);
            (void)tt_push(s);
        }
    }
    (void)tt_step(7, outer, 0);
    of[0] = visit_path("f;s");
    of[1] = visit_path("f;r");
    of[2] = visit_path("f");
    total = visit_path("").total;
    CHECK_INT(tt_stop(), 0);
    return total;
}

/* f s f goes back to f, and hides s from what it does; it is over when the steps are.  A
 * checked build stops where a frame that is over still hides something. */
TEST(a_counted_step_ends_what_it_hides)
{
    struct tt_block_info of_f = {.name = "f", .kind = TT_KIND_BLOCK},
                         of_s = {.name = "s", .kind = TT_KIND_STATEMENT};
    tt_block f = tt_block_make(&of_f), s = tt_block_make(&of_s);
    tt_metric metric = tt_metric_get("things", NULL);
    tt_mark outer, mark, inner;

    CHECK_INT(tt_start("calls,recursion=block"), 0);
    for (unsigned i = 1; i <= 10; i++) {
        outer = tt_step(0, 0, f);
        mark = tt_step(0, 0, s);
        inner = tt_step(0, 0, f);
        tt_add(metric, 1);
        (void)tt_step(0, inner, 0);
        inner = tt_step(0, 0, s);
        inner = tt_step(0, inner, s);
        tt_add(metric, 1);
        (void)tt_step(0, inner, 0);
        (void)tt_step(0, mark, 0);
        mark = tt_step(0, 0, s);
        inner = tt_step(0, 0, s);
        tt_add(metric, 1);
        (void)tt_step(0, inner, 0);
        (void)tt_step(0, mark, 0);
        (void)tt_step(0, outer, 0);
    }
    CHECK_INT(visit_block("f").calls, 20);
    CHECK_INT(visit_block("s").calls, 50);
    CHECK_INT(tt_stop(), 0);
}

TEST(a_step_is_a_tick_a_pop_and_a_push)
{
    struct visit_sum a[3], b[3];

    CHECK_INT(walk_statements(1, a), walk_statements(0, b));
    for (int i = 0; i < 3; i++) {
        CHECK_INT(a[i].calls, b[i].calls);
        CHECK_INT(a[i].activations, b[i].activations);
        CHECK_INT(a[i].sum, b[i].sum);
        CHECK_INT(a[i].min, b[i].min);
        CHECK_INT(a[i].max, b[i].max);
        CHECK_INT(a[i].self, b[i].self);
    }
    CHECK_INT(a[0].calls, 150);
    CHECK_INT(a[0].sum, 50 * 51 + 50 * 5);
    CHECK_INT(a[1].calls, 100);
    CHECK_INT(a[1].self, 50 * 12);
}

TEST(a_captured_context_is_entered_elsewhere)
{
    tt_block a = tt_block_get("a", "", 0, 0), b = tt_block_get("b", "", 0, 0),
             c = tt_block_get("c", "", 0, 0);
    tt_context context;
    tt_mark mark, outer;

    CHECK_INT(tt_start("exact,clock=caller"), 0);
    mark = tt_push(a);
    outer = tt_push(b);
    context = tt_context_capture();
    CHECK_INT(tt_context_block(context), b);
    CHECK_INT(tt_context_block(tt_context_parent(context)), a);
    CHECK_INT(tt_context_parent(tt_context_parent(context)), 0);
    tt_pop(outer);
    tt_pop(mark);
    mark = tt_push(c);
    outer = tt_context_enter(context);
    tt_tick(3);
    tt_pop(tt_push(c));
    tt_pop(outer);
    tt_tick(4);
    tt_pop(mark);
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("a;b").self, 3);
    CHECK_INT(visit_path("a;b").calls, 1);
    CHECK_INT(visit_path("a;b;c").calls, 1);
    CHECK_INT(visit_path("c").self, 4);
}

TEST(freeing_no_fiber_changes_nothing)
{
    CHECK_INT(tt_start("calls"), 0);
    tt_fiber_free(NULL);
    marked_function();
    CHECK_INT(visit_path("marked_function").calls, 1);
    CHECK_INT(tt_stop(), 0);
}

/* ── Looking ──────────────────────────────────────────────────────────────────────── */

static int stop_at_second(const struct tt_visited *v, void *arg)
{
    marked_function(); /* a visitor may push */
    (void)v;
    return ++*(int *)arg == 2 ? 42 : 0;
}

TEST(a_visit_ends_when_the_visitor_says_so)
{
    int visits = 0;

    CHECK_INT(tt_start("calls"), 0);
    use_every_macro();
    CHECK_INT(tt_visit(stop_at_second, &visits), 42);
    CHECK_INT(visits, 2);
    CHECK_INT(visit_path("marked_function").calls, 2);
    CHECK_INT(tt_stop(), 0);
}

TEST(a_recording_is_written_while_it_runs)
{
    char folder[] = "/tmp/tallytree-XXXXXX", path[64], magic[8] = "";
    int fd;

    CHECK(mkdtemp(folder) != NULL);
    snprintf(path, sizeof path, "%s/copy", folder);
    CHECK_INT(tt_start("exact"), 0);
    use_every_macro();
    CHECK_INT(tt_write(path), 0);
    CHECK_INT(tt_write("/nonexistent/folder/copy"), -TT_ERR_FILE);
    CHECK_INT(tt_write(folder), -TT_ERR_FILE); /* is a folder */
    fd = open(path, O_RDONLY);
    CHECK_INT(read(fd, magic, 8), 8);
    CHECK(memcmp(magic, "Tallytr\n", 8) == 0);
    close(fd);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(tt_write(path), 0); /* what was recorded is still there */
    unlink(path);
    CHECK_INT(rmdir(folder), 0); /* and nothing else is */
}

TEST(a_recording_is_printed_to_a_descriptor)
{
    static char text[1 << 16];
    size_t have = 0;
    ssize_t n;
    int ends[2];

    CHECK_INT(tt_start("calls"), 0);
    use_every_macro();
    CHECK_INT(pipe(ends), 0);
    CHECK_INT(tt_print(ends[1]), 0);
    close(ends[1]);
    while ((n = read(ends[0], text + have, sizeof text - 1 - have)) > 0)
        have += (size_t)n;
    close(ends[0]);
    CHECK(strstr(text, "outer") && strstr(text, "by hand") &&
          strstr(text, "marked_function"));
    CHECK_INT(tt_print(-1), -TT_ERR_FILE);
    CHECK_INT(tt_stop(), 0);
}

TEST(every_error_has_a_text)
{
    for (int error = -100; error < 100; error++)
        CHECK(tt_error_text(error) && *tt_error_text(error));
    CHECK_STR(tt_error_text(INT_MIN), "unknown error");
    CHECK_STR(tt_error_text(INT_MAX), "unknown error");
}

static void refuse(const char *words, const char *word)
{
    const char *text;

    CHECK_INT(tt_start(words), -TT_ERR_OPTION);
    text = tt_error_text(-TT_ERR_OPTION);
    CHECK(strchr(text, '\''));
    CHECK_STR(strchr(text, '\''), word);
}

TEST(the_text_of_an_error_names_the_option)
{
    char word[300] = "budget=";

    refuse("budget=1x", "'budget=1x'");
    refuse(" exact, every=x,calls", "'every=x'");
    refuse("nonsense", "'nonsense'");
    refuse("--recursion=sometimes exact", "'--recursion=sometimes'");
    refuse("calls,profile-depth=3", "'profile-...' need 'profile=PATH'");
    memset(word + 7, '1', 250);
    CHECK_INT(tt_start(word), -TT_ERR_OPTION);
    CHECK(strstr(tt_error_text(-TT_ERR_OPTION), "'budget=111111111111"));
    CHECK_INT(tt_start("calls"), 0);
    CHECK_INT(tt_stop(), 0);
    CHECK(!strchr(tt_error_text(-TT_ERR_OPTION), '\''));
}

static int take_strand_name(const struct tt_visited *v, void *arg)
{
    (void)snprintf(arg, 32, "%s", v->strand);
    return 1;
}

TEST(a_thread_that_is_given_no_name_keeps_the_one_it_has)
{
    char name[32] = "";

    CHECK_INT(tt_start("exact"), 0);
    tt_thread_name("first");
    tt_thread_name(NULL);
    CHECK_INT(tt_visit(take_strand_name, name), 1);
    CHECK_STR(name, "first");
    CHECK_INT(tt_stop(), 0);
}
