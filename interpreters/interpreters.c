/* SPDX-License-Identifier: MIT */
/* interpreters.c - finds the interpreters of this process in its loaded modules. */
#include <link.h>
#include <stddef.h>

#include "java.h"
#include "perl.h"
#include "php.h"
#include "python.h"
#include "ruby.h"

struct tt_interpreter *tt_interpreters;

static struct tt_interpreter *(*const kinds[])(const struct dl_phdr_info *) = {
    tt_python_find, tt_php_find, tt_perl_find, tt_ruby_find, tt_java_find,
};

enum { KINDS = sizeof kinds / sizeof *kinds };

static uint64_t loads; /* the loader's counter at the last search */

static void add(struct tt_interpreter *i)
{
    i->next = tt_interpreters;
    __atomic_store_n(&tt_interpreters, i, __ATOMIC_RELEASE);
}

static int look_into(struct dl_phdr_info *o, size_t size, void *arg)
{
    const uint64_t *before = arg;
    struct tt_interpreter *i;

    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof o->dlpi_subs) {
        if (o->dlpi_adds == *before)
            return 1;
        loads = o->dlpi_adds;
    }
    for (int k = 0; k < KINDS; k++)
        if ((i = kinds[k](o)))
            add(i);
    return 0;
}

void tt_interpreters_find(void)
{
    uint64_t before = loads;

    (void)dl_iterate_phdr(look_into, &before);
}
