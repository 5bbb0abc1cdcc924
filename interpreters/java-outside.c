/* SPDX-License-Identifier: MIT */
/* java-outside.c - the Java of another process: its tables, from the symbols that its file
 * exports.  All frames are on the native stack, which the system copies at each sample. */
#include "java-outside.h"

#include <stdlib.h>
#include <unistd.h>

#include "image-symbol.h"
#include "image.h"
#include "java.h"

/* Link-time addresses; 0: the file has no Java. */
struct tables {
    uint64_t structs, types;
};

enum { FILES = 512 };
static struct known {
    const struct tt_module *module; /* NULL: the slot is free */
    struct tables tables;
} known[FILES]; /* by one thread */

static void read_tables(int fd, struct tables *t)
{
    struct tt_image i;

    if (tt_image_of_file(&i, fd) != 0)
        return;
    if ((t->structs = tt_image_symbol(&i, "gHotSpotVMStructs")) != 0)
        t->types = tt_image_symbol(&i, "gHotSpotVMTypes");
    tt_image_fini(&i);
}

/* All processes share a file's module, so most files are read once. */
static const struct tables *tables_of(const struct tt_module *m,
                                      const struct tt_region *r, pid_t pid)
{
    struct known *k = &known[m->id % FILES];
    int fd;

    if (k->module == m)
        return &k->tables;
    *k = (struct known){.module = m};
    if ((fd = tt_region_open(r, pid)) >= 0) {
        read_tables(fd, &k->tables);
        close(fd);
    }
    return &k->tables;
}

/* Until the machine has made its heaps of code, the tables may not be complete. */
static int has_begun(struct tt_peek *peek, const struct tt_java *j, const char *off)
{
    uint64_t at = 0;

    return off ? tt_peek_word(peek, j->tables, &at) && tt_peek_word(peek, at, &at) && at
               : tt_peek_word(peek, j->layout.heaps, &at) && at;
}

static struct tt_java *make(struct tt_peek *peek, const struct tables *t, uint64_t bias)
{
    static uint64_t salt;
    struct tt_java *j = calloc(1, sizeof *j);
    const char *off;

    if (!j)
        return NULL;
    j->tables = t->structs + bias;
    off = tt_java_layout(&j->layout, peek, j->tables, t->types + bias);
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
        const struct tables *t = m ? tables_of(m->module, r, pid) : NULL;
        if (t && t->structs && t->types)
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
