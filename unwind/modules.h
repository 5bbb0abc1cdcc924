/* SPDX-License-Identifier: MIT */
/* modules.h - the code of a process by address, and how to unwind it.
 *
 *      snapshot   [start end bias module rules] [...] ...      sorted by address
 *                                   │     └─ table of rules (rules.h)
 *      module     id, path, build-id          kept for ever: recordings refer to it
 *
 * A snapshot never changes. tt_modules_refresh replaces the one of this process as a
 * whole.  A handler holds the snapshot that it found until it is done, and a held one is
 * not freed.  No snapshot points into modules that may be unloaded. */
#ifndef TT_MODULES_H
#define TT_MODULES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "image.h"

/* Lives until the process ends, and is the same for the same file loaded again. */
struct tt_module {
    uint32_t id; /* 0, 1, ...: never reused */
    uint32_t build_id_size;
    uint8_t build_id[TT_BUILD_ID_MAX];
    const char *path; /* as the system calls it: of the file, or [vdso] */
    uint64_t low;     /* link-time address that its lowest code has */
    const char *mark; /* identifies it if it is no file; NULL: it is one */
};

struct tt_mapping {
    uint64_t start, end; /* of code: [start, end) */
    uint64_t bias;       /* run-time address = link-time address + bias */
    const struct tt_module *module;
    const struct tt_rules *rules; /* NULL: none */
};

struct tt_modules {
    uint32_t count;
    uint64_t generation; /* differs between any two */
    const struct tt_mapping *mapping;
};

/* ── This process ─────────────────────────────────────────────────────────────────── */

/* Set where the first refresh comes before the program begins. */
extern int tt_modules_linked;

/* Updates the snapshot to the modules loaded now; cheap if nothing has changed.  To be
 * called at the start, after dlopen and dlclose, and when a sample was in no known
 * module.  From any thread, but no handler; if another thread is refreshing, that one
 * does it again, and this returns at once.  Returns 0, or -TT_ERR_MEMORY and keeps the
 * old snapshot. */
int tt_modules_refresh(void);

/* A part of a file was mapped by the program itself, as code.  If it is a loaded module,
 * its functions are at these addresses, too.  From any thread, but no handler. */
void tt_modules_mapped(const void *at, size_t size, int fd, uint64_t offset);
/* Something else was mapped there: to be called first, if any code is mapped again.  It is forgotten at
 * the next refresh: not here, where an allocator may hold its locks. */
void tt_modules_replaced(const void *at, size_t size);
int tt_modules_have_again(void);

/* That of the current snapshot.  Async-signal-safe. */
extern uint64_t tt_modules_latest;
static inline uint64_t tt_modules_generation(void)
{
    return __atomic_load_n(&tt_modules_latest, __ATOMIC_SEQ_CST);
}

/* In the child of a fork: no other thread holds or refreshes anything. */
void tt_modules_forked(void);

struct tt_hold {
    const struct tt_modules *modules; /* NULL before the first refresh */
    unsigned shard;
};

/* The snapshot that is current, which lives until it is released by the same thread.
 * Async-signal-safe, may nest; some ten nanoseconds for both. */
void tt_modules_hold(struct tt_hold *);
void tt_modules_release(struct tt_hold *);

/* ── Another process ──────────────────────────────────────────────────────────────── */

/* Called for a file whose path does not lead to it from here, as it is in another
 * container: to keep a copy, from which names are resolved later.  NULL: not called. */
extern void (*tt_modules_keep)(const struct tt_module *, int fd);

/* ── Both ─────────────────────────────────────────────────────────────────────────── */

/* The code that contains the address; NULL: unknown.  Async-signal-safe. */
const struct tt_mapping *tt_modules_find(const struct tt_modules *, uint64_t address);

#endif
