/* SPDX-License-Identifier: MIT */
/* language.c - a small language: a letter calls the function of that name, the last one by
 * a tail call; '!' is an error, which "?f" catches when it comes from f. */
#include <setjmp.h>
#include <tallytree.h>

static const char *const code[128] = {
    ['m'] = "ll?dl", ['l'] = "xy", ['x'] = "", ['y'] = "", ['d'] = "xe", ['e'] = "y!"};
static jmp_buf *handler;

static tt_block block_of(char name)
{
    return tt_block_get((char[]){name, 0}, "code", 0, 0);
}

static void attempt(char name);

static void run(char name)
{
    tt_mark mark = tt_push(block_of(name));

    for (const char *p = code[(int)name]; *p;) {
        if (*p == '!') {
            longjmp(*handler, 1);
        } else if (*p == '?') {
            attempt(p[1]);
            p += 2;
        } else if (p[1]) {
            run(*p++);
        } else {
            tt_replace(block_of(*p)); /* the frame is the callee's from here on */
            p = code[(int)*p];
        }
    }
    tt_pop(mark);
}

static void attempt(char name)
{
    jmp_buf here, *outer = handler;
    tt_mark mark = tt_mark_get();

    handler = &here;
    if (setjmp(here) == 0)
        run(name);
    else
        tt_unwind(mark); /* what the error left open */
    handler = outer;
}

int main(int argc, char **argv)
{
    tt_start(argc > 1 ? argv[1] : "");
    run('m');
    return argc > 1 ? tt_stop() : tt_print(1);
}
