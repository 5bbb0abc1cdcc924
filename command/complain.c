/* SPDX-License-Identifier: MIT */
/* complain.c - the one place from which the command speaks of errors. */
#include <stdarg.h>
#include <stdio.h>

#include "command.h"

void tt_complain(const char *format, ...)
{
    va_list list;

    fputs("tallytree: ", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
}
