/* SPDX-License-Identifier: MIT */
/* linked-test.c - which objects the program is linked with: all those that the loader had at
 * the start, and none that dlopen has loaded. */
#include "linked.h"

#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <unistd.h>

#include "tap.h"

enum { OBJECTS = 64 };

struct seen {
    struct tt_linked linked;
    unsigned count, linked_count;
    uint64_t bias[OBJECTS];
    int is_linked[OBJECTS];
    char name[OBJECTS][256];
};

static struct seen before, after;

static int see(struct dl_phdr_info *o, size_t size, void *arg)
{
    struct seen *s = arg;
    const unsigned i = s->count++;

    (void)size;
    s->bias[i] = o->dlpi_addr;
    s->is_linked[i] = tt_linked_add(&s->linked, o, i == 0);
    s->linked_count += (unsigned)s->is_linked[i];
    (void)snprintf(s->name[i], sizeof s->name[i], "%s", o->dlpi_name);
    return s->count == OBJECTS;
}

/* dlopen takes it for another object than the one of that name. */
static void *load_copy(const char *of, const char *folder, const char *name)
{
    char command[1024], path[512];
    void *handle;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)snprintf(command, sizeof command, "cp '%s' '%s'", of, path);
    if (!CHECK_INT(system(command), 0))
        return NULL;
    handle = dlopen(path, RTLD_NOW);
    CHECK(handle != NULL);
    (void)unlink(path);
    return handle;
}

static const char *path_of(const struct seen *s, const char *name)
{
    for (unsigned i = 0; i < s->count; i++)
        if (strstr(s->name[i], name))
            return s->name[i];
    return "";
}

TEST(what_is_there_at_the_start_is_linked)
{
    volatile double zero = 0;

    CHECK(cos(zero) > 0); /* so that libm is linked */
    (void)dl_iterate_phdr(see, &before);
    CHECK(before.count > 3);
    CHECK(before.is_linked[0]);
    for (unsigned i = 0; i < before.count; i++) {
        int has_none = getenv("LD_PRELOAD") || strstr(before.name[i], "vdso") ||
                       strstr(before.name[i], "ld-") ||
                       strstr(before.name[i], "san.so"); /* may be preloaded */
        if (!has_none && !CHECK(before.is_linked[i]))
            printf("# %s\n", before.name[i]);
    }
}

TEST(what_dlopen_loads_is_not_even_under_the_same_name)
{
    char folder[] = "/tmp/linked-test-XXXXXX";

    if (!CHECK(mkdtemp(folder) != NULL))
        return;
    CHECK(strlen(path_of(&before, "libm.so.6")) > 0);
    (void)load_copy(path_of(&before, "libm.so.6"), folder, "libm.so.6");
    (void)load_copy(path_of(&before, "libm.so.6"), folder, "other.so");
    CHECK(dlopen("libutil.so.1", RTLD_NOW) != NULL);
    (void)rmdir(folder);
    (void)dl_iterate_phdr(see, &after);
    CHECK(after.count >= before.count + 3);
    CHECK_INT(after.linked_count, before.linked_count);
    for (unsigned i = 0; i < before.count; i++)
        CHECK(after.bias[i] == before.bias[i] &&
              after.is_linked[i] == before.is_linked[i]);
}

TEST(names_without_room_fit_nothing)
{
    static struct seen full;

    for (unsigned i = 0; i < TT_LINKED_MAX; i++)
        full.linked.name[i] = "x";
    full.linked.count = TT_LINKED_MAX;
    (void)dl_iterate_phdr(see, &full);
    CHECK_INT(full.linked_count, 1);
}
