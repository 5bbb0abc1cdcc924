/* SPDX-License-Identifier: MIT */
/* next-function.h - functions that replace the C library's, and call them. */
#ifndef TT_NEXT_FUNCTION_H
#define TT_NEXT_FUNCTION_H

/* A function that programs call instead of the C library's. */
#define TT_INTERPOSE __attribute__((visibility("default")))

/* The next definition of a function after ours; NULL: none. */
void *tt_next_function(const char *name);

/* next_NAME(): the same, looked up once: at the start, as a search takes away the message
 * of the loader that the program may not have read so far. */
#define TT_NEXT_FUNCTION(result, name, ...)                                              \
    typedef result name##_function(__VA_ARGS__);                                         \
    static name##_function *next_##name(void)                                            \
    {                                                                                    \
        static name##_function *next;                                                    \
        if (!next)                                                                       \
            next = (name##_function *)tt_next_function(#name);                           \
        return next;                                                                     \
    }                                                                                    \
    static __attribute__((constructor)) void find_##name(void) { (void)next_##name(); }  \
    struct tt_semicolon

#endif
