/* SPDX-License-Identifier: MIT */
/* ocr.c - the five macros of OCR's profiler: sums of the digits on each line.
 *
 *      cc -DOCR_RUNTIME_PROFILER ocr.c $(pkg-config --cflags --libs tallytree-ocr)
 *      printf '12\n34\n' | TALLYTREE_OCR=output=ocr.tt ./a.out
 *      tallytree report ocr ocr.tt */
#include <stdio.h>

#include "profiler/profiler.h"

static long digits(const char *text)
{
    START_PROFILE(digits);
    if (*text < '0' || *text > '9')
        RETURN_PROFILE(0);
    RETURN_PROFILE(*text - '0' + digits(text + 1));
}

int main(void)
{
    char line[200];
    long sum = 0;

    START_PROFILE(main);
    for (;;) {
        PAUSE_PROFILE; /* waiting for input is not measured */
        char *read = fgets(line, sizeof line, stdin);
        RESUME_PROFILE;
        if (!read)
            break;
        {
            START_PROFILE(line); /* a scope that is no function */
            sum += digits(line);
            EXIT_PROFILE;
        }
    }
    printf("%ld\n", sum);
    RETURN_PROFILE(0);
}
