/* SPDX-License-Identifier: MIT */
/* results-test.c - the profile of one call, as values; also when the call fails, or when
 * one is under way already. */
#include <setjmp.h>

#include "tallytree.h"
#include "tap.h"

static jmp_buf env;

/* f makes a pair, and g below it a record that survives a collection. */
static void work(void *arg)
{
    tt_type pair = tt_type_get("pair"), record = tt_type_get("record");
    tt_mark f = tt_push(tt_block_get("f", "work.ml", 1, 0)), g;
    tt_context made;

    tt_tick(10);
    (void)tt_alloc(pair, 16, 8);
    g = tt_push(tt_block_get("g", "work.ml", 2, 0));
    tt_tick(5);
    made = tt_alloc(record, 32, 8);
    tt_gc_begin(0);
    tt_tick(3);
    tt_profiler_begin();
    tt_survive(made, record, 32, 8, 0, 1);
    tt_tick(1);
    tt_profiler_end();
    tt_gc_end();
    if (arg)
        longjmp(env, 1);
    tt_pop(g);
    tt_pop(f);
}

static const struct tt_function_result *find(const struct tt_results *r, const char *name)
{
    static const struct tt_function_result none;

    for (size_t i = 0; r && i < r->functions; i++)
        if (strcmp(r->function[i].block.name, name) == 0)
            return &r->function[i];
    return &none;
}

static void check_work(const struct tt_results *r)
{
    const struct tt_function_result *f = find(r, "f"), *g = find(r, "g");

    CHECK_INT(r ? r->ticks : 0, 19); /* all that its clock ticked */
    CHECK_INT(f->calls, 1);
    CHECK_INT(f->self, 10);
    CHECK_INT(f->total, 19);
    CHECK_INT(f->allocated, 16);
    CHECK_INT(f->overhead, 8);
    CHECK_INT(f->copied, 0);
    CHECK_INT(f->alive, 0);
    CHECK_INT(g->self, 5);
    CHECK_INT(g->total, 9);
    CHECK_INT(g->objects, 1);
    CHECK_INT(g->copied, 32);
    CHECK_INT(g->alive, 32);
    CHECK_INT(r->collections, 1);
    CHECK_INT(r->gc, 4); /* with what the profiler did in it */
    CHECK_INT(r->profiler, 1);
    CHECK_INT(r->objects, 3);
    CHECK_STR(r->object[1].type, "record");
    CHECK_INT(r->object[1].from, 255);
    CHECK_INT(r->object[1].to, 0);
    CHECK_INT(r->object[2].from, 0);
    CHECK_INT(r->object[2].to, 1);
    CHECK_INT(r->object[2].bytes, 32);
}

TEST(a_call_gives_its_profile)
{
    struct tt_results *r = NULL;

    CHECK_INT(tt_profile_call("clock=caller", work, NULL, &r), 0);
    if (CHECK(r != NULL))
        check_work(r);
    tt_results_free(r);
    tt_results_free(NULL);
}

TEST(and_gives_it_again_without_what_was_before)
{
    struct tt_results *r = NULL;

    CHECK_INT(tt_profile_call("clock=caller", work, NULL, &r), 0);
    if (CHECK(r != NULL))
        check_work(r);
    tt_results_free(r);
}

TEST(a_call_that_fails_keeps_its_profile)
{
    struct tt_results *volatile result = NULL;
    struct tt_results *r = NULL;

    if (setjmp(env) == 0) {
        (void)tt_profile_call("clock=caller", work, env, &r);
        CHECK(0 && "left by longjmp");
    } else {
        tt_unwind(0);
        CHECK_INT(tt_profile_end(&r), 0);
        result = r;
    }
    r = result;
    if (CHECK(r != NULL))
        check_work(r);
    tt_results_free(r);
}

static void nested(void *arg)
{
    struct tt_results *r = (struct tt_results *)arg;

    CHECK_INT(tt_profile_begin(NULL), -TT_ERR_STATE);
    CHECK_INT(tt_profile_call("clock=caller", work, NULL, &r), -TT_ERR_STATE);
    CHECK(r == NULL);
}

TEST(a_nested_call_warns_and_runs_and_gives_none)
{
    struct tt_results *r = NULL;

    CHECK_INT(tt_profile_call("clock=caller", nested, &r, &r), 0);
    if (CHECK(r != NULL))
        check_work(r); /* the inner call's work is in the outer one's */
    tt_results_free(r);
}

static int wants_g(const struct tt_block_info *info, void *arg)
{
    (void)arg;
    return strcmp(info->name, "g") == 0;
}

TEST(a_call_can_be_had_of_some_functions_objects_alone)
{
    struct tt_results *r = NULL;

    CHECK_INT(tt_select(wants_g, NULL), 0);
    CHECK_INT(tt_profile_call("clock=caller", work, NULL, &r), 0);
    CHECK_INT(tt_select(NULL, NULL), 0);
    CHECK_INT(find(r, "f")->allocated, 0);
    CHECK_INT(find(r, "g")->allocated, 32);
    tt_results_free(r);
}

TEST(what_was_not_begun_cannot_be_ended)
{
    struct tt_results *r = (struct tt_results *)&env;

    CHECK_INT(tt_profile_end(&r), -TT_ERR_STATE);
    CHECK(r == NULL);
    CHECK_INT(tt_profile_call("nonsense", work, NULL, &r), -TT_ERR_OPTION);
    CHECK(r == NULL);
}
