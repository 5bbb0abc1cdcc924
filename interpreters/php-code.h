/* SPDX-License-Identifier: MIT */
/* php-code.h - code that PHP's compiler has made: how it is left. */
#ifndef TT_PHP_CODE_H
#define TT_PHP_CODE_H

#include "unwind.h"

enum { TT_PHP_PUSHES = 8 };

struct tt_php_code {
    struct tt_generated generated; /* first */
    uint64_t current;              /* address of the innermost call's */
    uint64_t loop;                 /* the function in whose frame the code runs */
    uint64_t text, text_end;       /* the module that it is in */
    uint32_t size;                 /* of its frame, with the return address */
    uint32_t pushes;
    uint8_t pushed[TT_PHP_PUSHES]; /* registers, below the return address */
};

/* `size` is that of the loop.  0: its frame is not known, or this is not x86-64. */
int tt_php_code_init(struct tt_php_code *, uint64_t current, uint64_t loop,
                     uint64_t size);

#endif
