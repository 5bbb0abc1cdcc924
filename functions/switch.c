/* SPDX-License-Identifier: MIT */
/* switch.c - which functions are on, in the modules loaded now.
 *
 *      module    path, bias, range
 *        functions   no-op, block, thunk, on
 *
 * A module's thunks are made once, when it is first seen, and stay: a function may be
 * running when it is switched off, and after its module is unloaded the same one may be
 * loaded again in its place. */
#include "switch.h"

#include <fnmatch.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "function.h"
#include "patch.h"
#include "patchable.h"
#include "throttle.h"

struct module {
    struct module *next;
    char *path, *build_id;
    uint64_t bias;
    uintptr_t start, end;
    const char *reason; /* why it has no thunks; NULL: it has */
    size_t count;
    struct tt_found *found;    /* in order of their addresses */
    struct tt_site_code *code; /* thunk NULL: it cannot be switched */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct { /* all guarded by mutex */
    struct module *modules;
    int on;
    char *only; /* NULL: all */
    uint64_t changes;
    struct tt_switched counts;
    const struct tt_throttle *thin; /* while some are being thinned out */
    char thinned[4096];             /* messages about them */
} all;

/* ── Modules ──────────────────────────────────────────────────────────────────────── */

static const char *base_of(const char *path)
{
    const char *base = strrchr(path, '/');

    return base ? base + 1 : path;
}

static tt_block make_block(const struct tt_loaded *l, uint64_t offset)
{
    struct tt_block_info info = {.kind = TT_KIND_FUNCTION,
                                 .module = l->path,
                                 .file = l->build_id,
                                 .offset = offset};
    char name[256];

    (void)snprintf(name, sizeof name, "%.200s+0x%llx", base_of(l->path),
                   (unsigned long long)offset);
    info.name = name;
    return tt_block_make(&info);
}

static void fini_module(struct module *m)
{
    free(m->path);
    free(m->build_id);
    free(m->found);
    free(m->code);
    free(m);
}

/* Takes over the functions found. */
static struct module *new_module(const struct tt_loaded *l, struct tt_patchable *s)
{
    struct module *m = calloc(1, sizeof *m);

    if (!m)
        return NULL;
    m->path = strdup(l->path);
    m->build_id = strdup(l->build_id);
    m->code = calloc(s->count, sizeof *m->code);
    m->bias = l->bias;
    m->start = l->start;
    m->end = l->end;
    if (!m->path || !m->build_id || !m->code) {
        fini_module(m);
        return NULL;
    }
    m->count = s->count;
    m->found = s->found;
    s->found = NULL;
    s->count = 0;
    return m;
}

static void make_thunks(struct module *m, const struct tt_loaded *l)
{
    for (size_t i = 0; i < m->count; i++) {
        m->code[i].at = m->found[i].at;
        m->code[i].block = make_block(l, m->found[i].offset);
    }
    m->reason = tt_function_make(m->code, m->count);
    for (size_t i = 0; i < m->count; i++)
        if (m->reason || tt_patch_refusal(m->code[i].at, m->code[i].thunk))
            m->code[i].thunk = NULL;
}

static struct module *find_module(const struct tt_loaded *l)
{
    struct module *m = all.modules;

    while (m && (m->bias != l->bias || m->start != l->start || m->end != l->end ||
                 strcmp(m->path, l->path) != 0 || strcmp(m->build_id, l->build_id) != 0))
        m = m->next;
    return m;
}

/* NULL if it has no functions to switch. */
static struct module *get_module(const struct tt_loaded *l)
{
    struct module *m = find_module(l);
    struct tt_patchable s;

    if (m)
        return m;
    tt_patchable_find(&s, l);
    m = s.count ? new_module(l, &s) : NULL;
    tt_patchable_fini(&s);
    if (!m)
        return NULL;
    make_thunks(m, l);
    m->next = all.modules;
    all.modules = m;
    return m;
}

/* ── Switching ────────────────────────────────────────────────────────────────────── */

static int is_wanted(const struct module *m, size_t i)
{
    const char *name = m->found[i].name;

    if (!all.on || m->found[i].thinned)
        return 0;
    return !all.only || (name && fnmatch(all.only, name, 0) == 0);
}

/* Reads the code: the module may have been unloaded and loaded again. */
static int is_on(const struct module *m, size_t i)
{
    return m->code[i].thunk && tt_function_jumps(m->code[i].at);
}

static const char *patch(struct module *m)
{
    struct tt_patch *p = calloc(m->count, sizeof *p);
    const char *reason;
    size_t n = 0;

    if (!p)
        return "there is no memory";
    for (size_t i = 0; i < m->count; i++) {
        int wanted = is_wanted(m, i);
        if (m->code[i].thunk && is_on(m, i) != wanted)
            p[n++] = (struct tt_patch){.at = m->code[i].at,
                                       .to = wanted ? m->code[i].thunk : NULL};
    }
    reason = n ? tt_patch_text(p, n) : NULL;
    free(p);
    return reason;
}

static void count(const struct module *m)
{
    all.counts.sites += m->count;
    for (size_t i = 0; i < m->count; i++) {
        all.counts.on += (size_t)is_on(m, i);
        all.counts.refused += !m->code[i].thunk;
    }
}

/* ── Thinning out ─────────────────────────────────────────────────────────────────── */

static void tell(const struct module *m, size_t i)
{
    size_t length = strlen(all.thinned);
    const struct tt_found *f = &m->found[i];
    unsigned long long calls = tt_throttle_calls(all.thin, m->code[i].block);

    if (length > sizeof all.thinned - 400)
        return;
    if (f->name)
        (void)snprintf(all.thinned + length, sizeof all.thinned - length, "%.300s %llu\n",
                       f->name, calls);
    else
        (void)snprintf(all.thinned + length, sizeof all.thinned - length,
                       "%.200s+0x%llx %llu\n", base_of(m->path),
                       (unsigned long long)f->offset, calls);
}

static void tell_all(struct module *m)
{
    for (size_t i = 0; i < m->count; i++)
        if (m->found[i].thinned == TT_FOUND_THINNED) {
            tell(m, i);
            m->found[i].thinned = TT_FOUND_TOLD;
        }
}

/* The function called most; 0: none was called. */
static uint64_t find_hottest(struct tt_found **hottest)
{
    uint64_t most = 0;

    for (struct module *m = all.modules; m; m = m->next)
        for (size_t i = 0; i < m->count; i++) {
            uint64_t rate = m->found[i].thinned
                                ? 0
                                : tt_throttle_rate(all.thin, m->code[i].block);
            if (rate > most) {
                most = rate;
                *hottest = &m->found[i];
            }
        }
    return most;
}

static uint64_t sum_of_rates(void)
{
    uint64_t sum = 0;

    for (const struct module *m = all.modules; m; m = m->next)
        for (size_t i = 0; i < m->count; i++)
            if (!m->found[i].thinned)
                sum += tt_throttle_rate(all.thin, m->code[i].block);
    return sum;
}

/* 1 when any was. */
static int thin_out(void)
{
    uint64_t sum = sum_of_rates(), rate;
    struct tt_found *hottest = NULL;
    int any = 0;

    while (sum > all.thin->most && (rate = find_hottest(&hottest)) > 0) {
        hottest->thinned = TT_FOUND_THINNED;
        sum -= rate;
        any = 1;
    }
    return any;
}

static void forget_thinned(void)
{
    for (struct module *m = all.modules; m; m = m->next)
        for (size_t i = 0; i < m->count; i++)
            m->found[i].thinned = TT_FOUND_KEPT;
    all.thinned[0] = '\0';
}

/* ── Modules, one by one ──────────────────────────────────────────────────────────── */

static void switch_module(void *arg, const struct tt_loaded *l)
{
    struct module *m = get_module(l);
    struct tt_patchable names = {0};
    const char *reason;

    (void)arg;
    if (!l->path[0])
        all.counts.reason = "the paths of loaded files cannot be read (readlink)";
    if (!m)
        return;
    if (all.on && (all.only || all.thin))
        tt_patchable_name(&names, l, m->found, m->count);
    reason = m->reason ? m->reason : patch(m);
    if (all.thin)
        tell_all(m);
    tt_patchable_fini(&names);
    if (reason)
        all.counts.reason = reason;
    count(m);
}

static void switch_all(void)
{
    memset(&all.counts, 0, sizeof all.counts);
    all.changes = tt_loaded_each(switch_module, NULL);
    if (!all.counts.sites && !all.counts.reason)
        all.counts.reason = "nothing here was compiled to be switched";
    else if (all.on && !all.counts.on && !all.counts.reason)
        all.counts.reason = "no function has such a name";
}

/* ── From outside ─────────────────────────────────────────────────────────────────── */

static void answer(struct tt_switched *out)
{
    if (out)
        *out = all.counts;
}

/* The child of a fork has but the thread that forked. */
static void switch_forked(void)
{
    pthread_mutex_init(&mutex, NULL);
    tt_function_unlock();
}

static void begin_once(void)
{
    static int begun;

    if (begun)
        return;
    begun = 1;
    tt_function_init();
    (void)pthread_atfork(NULL, NULL, switch_forked);
}

int tt_functions_on(const char *only, struct tt_switched *out)
{
    int error;

    pthread_mutex_lock(&mutex);
    begin_once();
    forget_thinned();
    free(all.only);
    all.only = only ? strdup(only) : NULL;
    all.on = 1;
    switch_all();
    answer(out);
    error = all.counts.on ? 0 : -TT_ERR_STATE;
    pthread_mutex_unlock(&mutex);
    return error;
}

int tt_functions_off(struct tt_switched *out)
{
    int error;

    pthread_mutex_lock(&mutex);
    all.on = 0;
    switch_all();
    answer(out);
    error = all.counts.on ? -TT_ERR_STATE : 0;
    pthread_mutex_unlock(&mutex);
    return error;
}

void tt_switch_thin(struct tt_throttle *t)
{
    pthread_mutex_lock(&mutex);
    tt_throttle_look(t);
    all.thin = t;
    if (all.on && thin_out())
        switch_all();
    all.thin = NULL;
    pthread_mutex_unlock(&mutex);
}

const char *tt_switch_thinned(void) { return all.thinned; }

void tt_switch_refresh(void)
{
    if (!__atomic_load_n(&all.on, __ATOMIC_RELAXED) ||
        tt_loaded_changes() == __atomic_load_n(&all.changes, __ATOMIC_RELAXED))
        return;
    pthread_mutex_lock(&mutex);
    if (all.on)
        switch_all();
    pthread_mutex_unlock(&mutex);
}
