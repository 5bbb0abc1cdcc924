/* SPDX-License-Identifier: MIT */
/* share.c - several copies of the runtime in one process, and the one that records.
 *
 * A program may have a copy linked into it, a plug-in a second one, and `tallytree
 * record` loads a third before them all.  They keep one recording: a copy that finds
 * another one when it is loaded forwards all calls to that one from then on, and has no
 * blocks, threads or files itself.  It is only notified whether a recording is on, for
 * the checks of its scopes.  A copy that was loaded before the program comes first, else
 * the copy that the loader finds first by name; a copy that others cannot see may still
 * find them. */
#include "share.h"

#include <dlfcn.h>

#include "block.h"
#include "control.h"

const struct tt_runtime *tt_shared;

static struct tt_sharer *sharers;

void tt_share_turn(int on)
{
    struct tt_sharer *s;

    __atomic_store_n(&tt_on, on, __ATOMIC_SEQ_CST);
    for (s = __atomic_load_n(&sharers, __ATOMIC_SEQ_CST); s; s = s->next)
        s->told(on);
}

/* Without a lock: the loader's is held, for which a start may wait. */
static void join(struct tt_sharer *s)
{
    int on;

    s->next = __atomic_load_n(&sharers, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&sharers, &s->next, s, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED))
        ;
    do {
        on = __atomic_load_n(&tt_on, __ATOMIC_SEQ_CST);
        s->told(on);
    } while (on != __atomic_load_n(&tt_on, __ATOMIC_SEQ_CST));
}

static const struct tt_runtime here = {.join = join,
#define INITIAL(function) .function = function,
                                       TT_SHARED_FUNCTIONS(INITIAL)
#undef INITIAL
};

const struct tt_runtime *tt_runtime_1(void) { return &here; }

/* Not there in a static program. */
extern __typeof__(dlsym) dlsym __attribute__((weak));
extern __typeof__(dlerror) dlerror __attribute__((weak));

static const struct tt_runtime *find(const char *name)
{
    const struct tt_runtime *(*runtime)(void) = NULL;

    *(void **)&runtime = dlsym ? dlsym(RTLD_DEFAULT, name) : NULL;
    if (!runtime && dlerror)
        (void)dlerror(); /* hides our error from the program */
    return runtime ? runtime() : NULL;
}

static void told(int on) { tt_share_turn(on); }

/* Before any other code of this program or library runs. */
__attribute__((constructor(101))) static void look(void)
{
    static struct tt_sharer self = {.told = told};
    const struct tt_runtime *first = find("tt_host_runtime_1");

    if (!first)
        first = find("tt_runtime_1");
    if (!first || first == &here || tt_block_count())
        return;
    tt_stay_loaded();
    tt_shared = first;
    first->join(&self);
}
