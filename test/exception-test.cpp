/* SPDX-License-Identifier: MIT */
/* exception-test.cpp - scopes in C++: exceptions, templates, lambdas, constructors. */
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tap.h"
#include "visit.h"

#define NOINLINE __attribute__((noinline))

enum { ROUNDS = 10000 };

static volatile int steps;

static NOINLINE void step()
{
    TT_FUNCTION();
    steps = steps + 1;
}

static NOINLINE void fail_below(int depth)
{
    TT_FUNCTION();
    TT_SCOPE("inside");
    if (depth == 0)
        throw std::runtime_error("thrown");
    fail_below(depth - 1);
    step();
}

static NOINLINE void attempt(int depth)
{
    TT_SCOPE("attempt");
    try {
        TT_SCOPE("try");
        fail_below(depth);
    } catch (const std::exception &) {
        TT_SCOPE("catch");
        step();
    }
}

static void check_exceptions(const char *options)
{
    CHECK_INT(tt_start(options), 0);
    for (int i = 0; i < ROUNDS; i++) {
        attempt(i % 3);
        step();
    }
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("attempt").calls, ROUNDS);
    CHECK_INT(visit_path("attempt;try").calls, ROUNDS);
    CHECK_INT(visit_path("attempt;try;fail_below").calls, ROUNDS);
    CHECK_INT(visit_path("attempt;catch").calls, ROUNDS);
    CHECK_INT(visit_path("attempt;catch;step").calls, ROUNDS);
    CHECK_INT(visit_path("step").calls, ROUNDS);
    CHECK_INT(visit_block("step").contexts, 2);
    CHECK_INT(visit_block("fail_below").calls, 2 * ROUNDS - 1);
}

TEST(exceptions_leave_their_scopes_in_mode_calls) { check_exceptions("calls"); }
TEST(exceptions_leave_their_scopes_in_mode_exact)
{
    check_exceptions("exact");
    CHECK_INT(visit_path("attempt").activations, ROUNDS);
    CHECK_INT(visit_block("fail_below").activations, 2 * ROUNDS - 1);
}
TEST(exceptions_leave_their_scopes_in_mode_every) { check_exceptions("every=64"); }
TEST(exceptions_leave_their_scopes_when_sampled)
{
    CHECK_INT(tt_start("sampled,sampler=thread"), 0);
    for (int i = 0; i < ROUNDS; i++)
        attempt(i % 3);
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("attempt;catch;step").contexts, 1);
    CHECK_INT(visit_block("attempt").contexts, 1);
}

TEST(a_stop_in_the_middle_of_a_throw_does_no_harm)
{
    for (int i = 0; i < 100; i++) {
        CHECK_INT(tt_start("exact"), 0);
        try {
            TT_SCOPE("stopped");
            TT_SCOPE_NAMED(std::string("named ").append("late").c_str());
            CHECK_INT(tt_stop(), 0);
            throw 1;
        } catch (int) {
            step();
        }
        CHECK_INT(visit_path("stopped;named late").activations, 1);
    }
}

template <typename T> struct measured {
    T value;
    explicit measured(T v) : value(v)
    {
        TT_SCOPE("construct");
        step();
        if (v == T(13))
            throw std::invalid_argument("13");
    }
    ~measured()
    {
        TT_SCOPE("destroy");
        step();
    }
    template <typename U> NOINLINE void add(U u)
    {
        TT_FUNCTION();
        value = T(value + T(u));
        step();
    }
};

TEST(scopes_stand_in_templates_constructors_and_destructors)
{
    CHECK_INT(tt_start("exact"), 0);
    for (int i = 0; i < 20; i++) {
        TT_SCOPE("loop");
        try {
            measured<int> whole(i);
            measured<double> part(i / 2.0 + 100);
            whole.add(1.5);
            part.add(1);
        } catch (const std::invalid_argument &) {
            TT_SCOPE("caught");
        }
    }
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("loop").calls, 20);
    CHECK_INT(visit_path("loop;construct").calls, 39);
    CHECK_INT(visit_path("loop;destroy").calls, 38);
    CHECK_INT(visit_path("loop;destroy;step").calls, 38);
    CHECK_INT(visit_path("loop;add;step").calls, 38);
    CHECK_INT(visit_path("loop;caught").calls, 1);
}

TEST(scopes_stand_in_lambdas)
{
    std::vector<std::function<int(int)>> calls;

    for (int i = 0; i < 3; i++)
        calls.push_back([i](int n) {
            TT_SCOPE("lambda");
            step();
            return n + i;
        });
    CHECK_INT(tt_start("calls"), 0);
    {
        TT_SCOPE("caller");
        auto recursive = [&](auto &self, int n) -> int {
            TT_SCOPE("recursive");
            return n ? self(self, n - 1) : calls[1](n);
        };
        for (const auto &call : calls)
            call(1);
        CHECK_INT(recursive(recursive, 5), 1);
    }
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("caller;lambda;step").calls, 3);
    CHECK_INT(visit_block("recursive").calls, 6);
    CHECK_INT(visit_block("lambda").calls, 4);
}

struct in_a_destructor {
    ~in_a_destructor() { attempt(2); } /* a whole throw and catch while another unwinds */
};

TEST(a_throw_within_a_destructor_during_a_throw_keeps_its_place)
{
    CHECK_INT(tt_start("exact"), 0);
    for (int i = 0; i < 1000; i++) {
        TT_SCOPE("outer");
        try {
            TT_SCOPE("first");
            in_a_destructor guard;
            fail_below(1);
        } catch (const std::runtime_error &) {
            step();
        }
    }
    CHECK_INT(tt_stop(), 0);
    CHECK_INT(visit_path("outer;first").calls, 1000);
    CHECK_INT(visit_path("outer;first;attempt;catch;step").calls, 1000);
    CHECK_INT(visit_path("outer;step").calls, 1000);
    CHECK_INT(visit_path("outer").activations, 1000);
}
