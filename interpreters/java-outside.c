/* SPDX-License-Identifier: MIT */
/* java-outside.c - the Java of another process: its tables, from the symbols that its file
 * exports.  All frames are on the native stack, which the system copies at each sample. */
#include "java-outside.h"

#include <stdlib.h>

#include "file-exports.h"
#include "java.h"

enum { STRUCTS, TYPES, TABLES };
static const char *const tables[TABLES] = {"gHotSpotVMStructs", "gHotSpotVMTypes"};
static struct tt_exports known[TT_EXPORTS_FILES];

/* Until the machine has made its heaps of code, the tables may not be complete. */
static int has_begun(struct tt_peek *peek, const struct tt_java *j, const char *off)
{
    uint64_t at = 0;

    return off ? tt_peek_word(peek, j->tables, &at) && tt_peek_word(peek, at, &at) && at
               : tt_peek_word(peek, j->layout.heaps, &at) && at;
}

static struct tt_java *make(struct tt_peek *peek, const uint64_t *t, uint64_t bias)
{
    static uint64_t salt;
    struct tt_java *j = calloc(1, sizeof *j);
    const char *off;

    if (!j)
        return NULL;
    j->tables = t[STRUCTS] + bias;
    off = tt_java_layout(&j->layout, peek, j->tables, t[TYPES] + bias);
    if (!has_begun(peek, j, off)) {
        free(j);
        return NULL;
    }
    tt_java_init(j, peek, off);
    j->base.salt = ++salt;
    return j;
}

struct tt_java *tt_java_of(pid_t pid, const struct tt_modules *modules,
                           const struct tt_regions *regions, struct tt_peek *peek)
{
    for (size_t i = 0; i < regions->count; i++) {
        const struct tt_region *r = &regions->at[i];
        const struct tt_mapping *m = *r->path == '/' && modules
                                         ? tt_modules_find(modules, r->start)
                                         : NULL;
        const uint64_t *t = m ? tt_exports_of(known, tables, TABLES, m->module, r, pid)
                              : NULL;
        if (t && t[STRUCTS] && t[TYPES])
            return make(peek, t, m->bias);
    }
    return NULL;
}

struct tt_java *tt_java_copy(const struct tt_java *j)
{
    struct tt_java *copy = malloc(sizeof *copy);

    if (copy) {
        *copy = *j;
        copy->base.generated = &copy->generated;
    }
    return copy;
}

struct tt_interpreter *tt_java_interpreter(struct tt_java *j) { return &j->base; }
