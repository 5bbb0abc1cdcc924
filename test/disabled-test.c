/* SPDX-License-Identifier: MIT */
/* disabled-test.c - under TT_DISABLE nothing is left of it all. */
#define TT_DISABLE
#include "every-macro.h"
#include "tap.h"

static int visit_nothing(const struct tt_visited *v, void *arg)
{
    (void)v;
    *(int *)arg += 1;
    return 0;
}

TEST(a_disabled_profiler_cannot_be_started)
{
    CHECK_INT(tt_start(NULL), -TT_ERR_DISABLED);
    CHECK_INT(tt_start("output=/nonexistent"), -TT_ERR_DISABLED);
    CHECK_INT(tt_stop(), -TT_ERR_DISABLED);
    CHECK(tt_error_text(-TT_ERR_DISABLED) != NULL);
}

TEST(disabled_macros_vanish_with_their_arguments)
{
    effects = 0;
    for (int i = 0; i < 10; i++)
        use_every_macro();
    CHECK_INT(effects, 0);
}

TEST(disabled_functions_do_nothing_and_say_so)
{
    int visits = 0;

    use_every_function();
    CHECK_INT(tt_visit(visit_nothing, &visits), -TT_ERR_DISABLED);
    CHECK_INT(visits, 0);
    CHECK_INT(tt_write("/nonexistent"), -TT_ERR_DISABLED);
    CHECK_INT(tt_print(1), -TT_ERR_DISABLED);
    CHECK_INT(tt_print_stack(1), -TT_ERR_DISABLED);
    CHECK_INT(tt_pause(), -TT_ERR_DISABLED);
    CHECK_INT(tt_resume(), -TT_ERR_DISABLED);
    CHECK_INT(tt_block_get("a", "b", 1, 1), 0);
    CHECK_INT(tt_context_capture(), 0);
    CHECK(tt_fiber_new() == NULL);
}
