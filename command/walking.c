/* SPDX-License-Identifier: MIT */
/* walking.c - unwinds stacks that other tools copied, with this machine's unwinder and
 * the mapped files, if they are still those that ran; and names the functions in them.
 *
 * The data of a space are kept for its next stack; of many spaces, those of the last used
 * ones. */
#include "walking.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "debug-file.h"
#include "process.h"
#include "regions.h"
#include "symbols.h"
#include "unwind.h"

enum { KEPT = 64, MOST_FRAMES = 1024 };

static struct space {
    uint64_t number; /* 0: none */
    struct tt_modules *modules;
} kept[KEPT];
static unsigned next;

static struct space *find_space(uint64_t number)
{
    for (unsigned i = 0; i < KEPT; i++)
        if (kept[i].number == number)
            return &kept[i];
    return NULL;
}

static int knows(void *arg, uint64_t number)
{
    (void)arg;
    return find_space(number) != NULL;
}

/* Opens a file that is still the one that ran, as far as can be determined. */
static int add_region(struct tt_regions *regions, const struct tt_walk_region *r)
{
    struct tt_region to = {
        .start = r->start, .end = r->end, .offset = r->offset, .path = r->path};
    char id[TT_BUILD_ID_SIZE] = "";
    struct stat st;
    int fd, is_it;

    if (strcmp(r->path, "[vdso]") == 0)
        return tt_regions_add(regions, &to);
    if (r->path[0] != '/' || (fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) < 0)
        return 0;
    is_it = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && tt_build_id_of(fd, id) == 0 &&
            (!r->id[0] || strcmp(r->id, id) == 0);
    close(fd);
    if (!is_it)
        return 0;
    to.inode = st.st_ino;
    to.major = major(st.st_dev);
    to.minor = minor(st.st_dev);
    return tt_regions_add(regions, &to);
}

static struct space *make_space(const struct tt_copied_stack *w)
{
    struct space *s = &kept[next++ % KEPT];
    struct tt_regions regions = {0};
    int error = 0;

    tt_modules_free(s->modules);
    *s = (struct space){0};
    for (size_t i = 0; !error && i < w->regions; i++)
        error = add_region(&regions, &w->region[i]);
    error = error ?: tt_modules_of(&s->modules, 0, &regions);
    tt_regions_fini(&regions);
    if (error)
        return NULL;
    s->number = w->space;
    return s;
}

/* The masks of different processors begin with the same bits, and differ at the end. */
static int is_of_this_machine(uint64_t mask)
{
    uint64_t own = tt_machine_perf_mask();

    return (mask & own) == own && __builtin_clzll(mask) == __builtin_clzll(own);
}

static size_t walk(void *arg, const struct tt_copied_stack *w, uint64_t *to, size_t room)
{
    static struct tt_native frame[MOST_FRAMES];
    struct tt_unwound stack = {.frame = frame, .room = MOST_FRAMES};
    struct tt_registers registers;
    struct tt_peek peek;
    struct space *s = find_space(w->space);

    (void)arg;
    if (!is_of_this_machine(w->mask) || !(s = s ? s : make_space(w)))
        return 0;
    tt_registers_of_perf(&registers, w->mask, w->value);
    tt_peek_copy(&peek, registers.value[TT_REGISTER_SP], w->stack, w->stack_size);
    if (room < stack.room)
        stack.room = (uint32_t)room;
    tt_native_unwind(&stack, s->modules, &registers, &peek);
    for (uint32_t i = 0; i < stack.count; i++)
        to[i] = frame[i].pc - !(frame[i].flags & TT_NATIVE_EXACT);
    return stack.count;
}

/* Without servers, which would be asked for each file; whether they may be is decided
 * later, so their addresses stay in the environment. */
static const char *function(void *arg, const char *path, uint64_t address)
{
    static const char servers[] = "DEBUGINFOD_URLS";
    static struct tt_symbols *symbols;
    const char *urls = getenv(servers);
    char *copy = urls ? strdup(urls) : NULL;
    struct tt_spots spots = {0};

    (void)arg;
    (void)unsetenv(servers);
    if (!symbols)
        symbols = tt_symbols_new(&(struct tt_symbols_options){.brief = 1});
    if (symbols)
        tt_symbols_find(symbols, path, "", address, &spots);
    if (copy)
        (void)setenv(servers, copy, 1);
    free(copy);
    return spots.count ? spots.spot[0].function : NULL;
}

const struct tt_walker tt_stack_walker = {
    .knows = knows, .walk = walk, .function = function};
