/* SPDX-License-Identifier: MIT */
/* next-function.h - functions of ours in front of the C library's, and the way to those. */
#ifndef TT_NEXT_FUNCTION_H
#define TT_NEXT_FUNCTION_H

/* A function that programs call instead of the C library's. */
#define TT_INTERPOSE __attribute__((visibility("default")))

/* The next definition of a function after ours; NULL: there is none. */
void *tt_next_function(const char *name);

/* next_NAME(): that, looked for once. */
#define TT_NEXT_FUNCTION(result, name, ...)                                              \
    typedef result name##_function(__VA_ARGS__);                                         \
    static name##_function *next_##name(void)                                            \
    {                                                                                    \
        static name##_function *next;                                                    \
        if (!next)                                                                       \
            next = (name##_function *)tt_next_function(#name);                           \
        return next;                                                                     \
    }                                                                                    \
    struct tt_semicolon

#endif
