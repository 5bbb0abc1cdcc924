/* SPDX-License-Identifier: MIT */
/* scopes.cpp - a C++ program that marks its scopes; they end by exceptions as well. */
#include <stdexcept>
#include <tallytree.h>

static int divide(int a, int b)
{
    TT_FUNCTION();
    if (b == 0)
        throw std::domain_error("division by zero");
    return a / b;
}

int main(int argc, char **argv)
{
    tt_start(argc > 1 ? argv[1] : "");
    for (int i = 0; i < 100; i++) {
        TT_SCOPE("round");
        try {
            TT_ADD("results", divide(100, i % 10));
        } catch (const std::domain_error &) {
            TT_SCOPE("caught");
        }
    }
    return argc > 1 ? tt_stop() : tt_print(1);
}
