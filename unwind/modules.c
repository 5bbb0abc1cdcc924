/* SPDX-License-Identifier: MIT */
/* modules.c - the snapshot of loaded modules, and when an old one may be freed.
 *
 * Handlers increment one of a few counters while they use a snapshot, so that threads
 * seldom share one.  A snapshot that was replaced may be freed when each counter was seen
 * at zero after that: later users get the new one.  No thread waits for this; the next
 * replacement checks again.
 *
 * One thread at a time refreshes.  Another one that wants to refresh meanwhile leaves a
 * note and returns: it may be inside of the loader, for whose lock the first one
 * waits. */
#include "modules.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cancel.h"
#include "frame-info.h"
#include "linked.h"
#include "registry.h"
#include "snapshot.h"
#include "tallytree.h"

enum { SHARDS = 32, AGAIN = 64, USR_FOLDERS = 6 };

static struct {
    _Alignas(64) _Atomic uint32_t holders;
} shard[SHARDS];

static struct {
    struct tt_snapshot *_Atomic current;
    _Atomic int busy, again; /* a thread is refreshing; it shall do so once more */
    /* The rest is written by the thread that has set `busy`. */
    struct tt_snapshot *retired;
    uint64_t loads, unloads; /* the loader's counters, as of the current one */
    uint32_t again_taken;    /* count_again() of those that it has */
    enum { UNKNOWN, LINKED, APART } usr[USR_FOLDERS]; /* are /lib and the like in /usr? */
} own;

/* Code of loaded modules that the program has mapped at other addresses, too.
 *
 *      FREE ─► WRITTEN ─► LIVE ─► FREE      each step adds to `turn`, whose last two bits
 *                                           are the state; what was read of a place is right
 *                                           if `turn` is the same afterwards */
enum { FREE, WRITTEN, LIVE, STATE = 3 };
static struct again {
    _Atomic uint32_t turn;
    _Atomic uint64_t bias, start, end;
    const struct tt_module *_Atomic module;
} again[AGAIN];
static _Atomic uint32_t again_live;

uint64_t tt_modules_latest;
int tt_modules_linked;

/* ── Holding ──────────────────────────────────────────────────────────────────────── */

/* async-signal-safe */
void tt_modules_hold(struct tt_hold *hold)
{
    const struct tt_snapshot *s;
    uint64_t thread = (uintptr_t)hold >> 14;

    hold->shard = (unsigned)(thread * 0x9e3779b97f4a7c15u >> 59);
    atomic_fetch_add(&shard[hold->shard].holders, 1);
    s = atomic_load(&own.current);
    hold->modules = s ? &s->modules : NULL;
}

/* async-signal-safe */
void tt_modules_release(struct tt_hold *hold)
{
    hold->modules = NULL;
    atomic_fetch_sub(&shard[hold->shard].holders, 1);
}

_Static_assert(SHARDS == 1 << (64 - 59), "the hash gives a shard");

/* ── Replacing ────────────────────────────────────────────────────────────────────── */

/* Frees snapshots that no thread can hold any more. */
static void reclaim(void)
{
    struct tt_snapshot **at = &own.retired, *s;
    uint64_t oldest = UINT64_MAX;

    while ((s = *at) != NULL) {
        for (unsigned i = 0; i < SHARDS; i++)
            if (atomic_load(&shard[i].holders) == 0)
                s->quiet |= (uint32_t)1 << i;
        if (s->quiet == UINT32_MAX) {
            *at = s->next;
            tt_snapshot_free(s);
        } else {
            oldest = s->modules.generation;
            at = &s->next;
        }
    }
    s = atomic_load(&own.current);
    if (s && s->modules.generation < oldest)
        oldest = s->modules.generation;
    tt_registry_trim(oldest);
}

static void publish(struct tt_snapshot *s)
{
    struct tt_snapshot *before = atomic_exchange(&own.current, s);

    __atomic_store_n(&tt_modules_latest, s->modules.generation, __ATOMIC_SEQ_CST);
    if (before) {
        before->quiet = 0;
        before->next = own.retired;
        own.retired = before;
    }
}

/* ── What is loaded ───────────────────────────────────────────────────────────────── */

struct walk {
    struct tt_snapshot *snapshot;
    uint64_t loads, unloads;
    int unchanged, error, first;
    struct tt_linked linked;
};

static int has(const struct dl_phdr_info *o, uint64_t address)
{
    for (unsigned n = 0; n < o->dlpi_phnum; n++) {
        const Elf64_Phdr *p = &o->dlpi_phdr[n];
        if (p->p_type == PT_LOAD && address - o->dlpi_addr - p->p_vaddr < p->p_memsz)
            return 1;
    }
    return 0;
}

/* Its path when it was found before: the working directory may have changed since. */
static const char *path_before(const struct dl_phdr_info *o, const char *name)
{
    const struct tt_snapshot *s = atomic_load(&own.current);
    const size_t length = strlen(name);

    for (uint32_t i = 0; s && i < s->modules.count; i++) {
        const struct tt_mapping *m = &s->modules.mapping[i];
        size_t n = strlen(m->module->path);
        if (m->bias == o->dlpi_addr && n > length &&
            m->module->path[n - length - 1] == '/' &&
            strcmp(m->module->path + n - length, name) == 0)
            return m->module->path;
    }
    return NULL;
}

/* The loader keeps a name as it was given, which does not find the file from another
 * folder. */
static const char *absolute(const struct dl_phdr_info *o, char *room, size_t size)
{
    const char *name = o->dlpi_name, *before;
    size_t n;

    while (strncmp(name, "./", 2) == 0)
        name += 2;
    if ((before = path_before(o, name)))
        return before;
    if (!getcwd(room, size) || room[0] != '/')
        return o->dlpi_name;
    n = strlen(room);
    if (n + strlen(name) + 2 > size)
        return o->dlpi_name;
    room[n] = '/';
    memcpy(room + n + 1, name, strlen(name) + 1);
    return access(room, F_OK) == 0 ? room : o->dlpi_name;
}

/* Where /lib is a link to /usr/lib, the loader finds the same files by either, depending
 * on the program.  The kernel, and so those that record from outside, say /usr/lib. */
static const char *below_usr(const char *path, char *room, size_t size)
{
    static const char *const folders[USR_FOLDERS] = {"/lib",    "/lib64", "/lib32",
                                                     "/libx32", "/bin",   "/sbin"};
    const size_t length = strlen(path);

    for (int i = 0; i < USR_FOLDERS; i++) {
        const size_t n = strlen(folders[i]);
        if (strncmp(path, folders[i], n) != 0 || path[n] != '/')
            continue;
        if (!own.usr[i]) {
            char target[16] = "";
            (void)!readlink(folders[i], target, sizeof target - 1);
            own.usr[i] = strncmp(target + (*target == '/'), "usr/", 4) == 0 &&
                                 strcmp(strrchr(target, '/'), folders[i]) == 0
                             ? LINKED
                             : APART;
        }
        if (own.usr[i] == APART || length + sizeof "/usr" > size)
            return path;
        memcpy(room, "/usr", 4);
        memcpy(room + 4, path, length + 1);
        return room;
    }
    return path;
}

static const char *path_of(const struct dl_phdr_info *o, int first, char *room,
                           size_t size)
{
    ssize_t n;

    if (first && (n = readlink("/proc/self/exe", room, size - 1)) > 0) {
        room[n] = 0;
        return room;
    }
    if (getauxval(AT_SYSINFO_EHDR) && has(o, getauxval(AT_SYSINFO_EHDR)))
        return "[vdso]";
    if (o->dlpi_name && o->dlpi_name[0] != '/' && strchr(o->dlpi_name, '/'))
        return absolute(o, room, size);
    return o->dlpi_name ? below_usr(o->dlpi_name, room, size) : "";
}

/* What the program is linked with, this code, the C library and the loader are never unloaded.
 * Before the program begins, nothing else is loaded by a name that it needs. */
static int stays(struct tt_linked *linked, const struct dl_phdr_info *o, int first)
{
    return (tt_modules_linked && !atomic_load(&own.current) &&
            tt_linked_add(linked, o, first)) ||
           (first && has(o, getauxval(AT_PHDR))) ||
           has(o, (uintptr_t)tt_modules_refresh) || has(o, (uintptr_t)dl_iterate_phdr) ||
           has(o, getauxval(AT_BASE));
}

/* Differs after each change. */
static uint32_t count_again(void)
{
    uint32_t turns = 0;

    for (int i = 0; i < AGAIN; i++)
        turns += atomic_load(&again[i].turn);
    return turns;
}

static const struct tt_mapping *mapping_of(const struct tt_snapshot *s,
                                           const struct tt_module *module)
{
    const struct tt_mapping *m = s->mappings.bytes;

    for (size_t n = s->mappings.used / sizeof *m; n > 0; n--, m++)
        if (m->module == module)
            return m;
    return NULL;
}

/* With the rules of the same code where the loader has put it. */
static int add_again(struct tt_snapshot *s, const struct again *a)
{
    const uint32_t turn = atomic_load(&a->turn);
    struct tt_mapping m = {.start = atomic_load(&a->start),
                           .end = atomic_load(&a->end),
                           .bias = atomic_load(&a->bias),
                           .module = atomic_load(&a->module)};
    const struct tt_mapping *known;

    if ((turn & STATE) != LIVE || atomic_load(&a->turn) != turn ||
        !(known = mapping_of(s, m.module)))
        return 0;
    m.rules = known->rules;
    return tt_snapshot_add_mapping(s, &m);
}

static int add_all_again(struct tt_snapshot *s, uint32_t *taken)
{
    int error = 0;

    *taken = count_again();
    for (int i = 0; i < AGAIN && !error; i++)
        error = add_again(s, &again[i]);
    return error;
}

/* The loader does not let the object go while it calls. */
static int add_object(struct dl_phdr_info *o, size_t size, void *arg)
{
    struct walk *w = arg;
    struct tt_image image;
    char room[4096];
    int first = w->first;

    w->first = 0;
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof o->dlpi_subs) {
        w->loads = o->dlpi_adds;
        w->unloads = o->dlpi_subs;
        w->unchanged = own.loads == w->loads && own.unloads == w->unloads &&
                       own.again_taken == count_again() &&
                       atomic_load(&own.current) != NULL;
    }
    if (w->unchanged)
        return 1;
    tt_image_of_memory(&image, o->dlpi_addr, o->dlpi_phdr, o->dlpi_phnum);
    image.stays = stays(&w->linked, o, first);
    w->error = tt_snapshot_add(w->snapshot, &image, path_of(o, first, room, sizeof room),
                               NULL);
    return w->error;
}

static int look(void)
{
    struct walk w = {.first = 1};
    uint32_t taken = 0;

    if (!(w.snapshot = tt_snapshot_new()))
        return -TT_ERR_MEMORY;
    dl_iterate_phdr(add_object, &w);
    if (!w.error && !w.unchanged)
        w.error = add_all_again(w.snapshot, &taken);
    if (w.error || w.unchanged) {
        tt_snapshot_free(w.snapshot);
        return w.error;
    }
    tt_snapshot_finish(w.snapshot);
    publish(w.snapshot);
    own.loads = w.loads;
    own.unloads = w.unloads;
    own.again_taken = taken;
    return 0;
}

int tt_modules_refresh(void)
{
    TT_NOT_CANCELLED();
    int error = 0;

    atomic_store(&own.again, 1);
    while (atomic_load(&own.again) && !atomic_exchange(&own.busy, 1)) {
        atomic_store(&own.again, 0);
        error = look();
        reclaim();
        atomic_store(&own.busy, 0);
    }
    return error;
}

/* ── Code that is mapped again ────────────────────────────────────────────────────── */

/* The loaded module of that file; NULL: none. */
static const struct tt_module *module_of(int fd)
{
    const struct tt_module *found = NULL;
    struct stat wanted, s;
    struct tt_hold hold;

    if (fstat(fd, &wanted) != 0)
        return NULL;
    tt_modules_hold(&hold);
    for (uint32_t i = 0; hold.modules && i < hold.modules->count && !found; i++) {
        const struct tt_module *m = hold.modules->mapping[i].module;
        if (m->path[0] == '/' && stat(m->path, &s) == 0 && s.st_ino == wanted.st_ino &&
            s.st_dev == wanted.st_dev)
            found = m;
    }
    tt_modules_release(&hold);
    return found;
}

int tt_modules_have_again(void) { return atomic_load(&again_live) != 0; }

void tt_modules_replaced(const void *at, size_t size)
{
    const uint64_t start = (uintptr_t)at;

    for (struct again *a = again; a < again + AGAIN; a++) {
        uint32_t turn = atomic_load(&a->turn);
        if ((turn & STATE) != LIVE || atomic_load(&a->start) >= start + size ||
            atomic_load(&a->end) <= start ||
            !atomic_compare_exchange_strong(&a->turn, &turn, turn + STATE + 1 - LIVE))
            continue;
        atomic_fetch_sub(&again_live, 1);
    }
}

/* If all places are taken, the code has no names there. */
static void keep_again(uint64_t start, uint64_t end, uint64_t bias,
                       const struct tt_module *module)
{
    for (struct again *a = again; a < again + AGAIN; a++) {
        uint32_t turn = atomic_load(&a->turn);
        if ((turn & STATE) != FREE ||
            !atomic_compare_exchange_strong(&a->turn, &turn, turn + WRITTEN))
            continue;
        atomic_store(&a->bias, bias);
        atomic_store(&a->start, start);
        atomic_store(&a->end, end);
        atomic_store(&a->module, module);
        atomic_fetch_add(&again_live, 1);
        atomic_store(&a->turn, turn + LIVE);
        (void)tt_modules_refresh();
        return;
    }
}

void tt_modules_mapped(const void *at, size_t size, int fd, uint64_t offset)
{
    TT_NOT_CANCELLED();
    const uint64_t start = (uintptr_t)at;
    const struct tt_module *module;
    struct tt_image image;

    if (tt_image_of_file(&image, fd) != 0)
        return;
    if (tt_image_lies_at(&image, start, offset) && (module = module_of(fd)))
        keep_again(start, start + size, image.bias, module);
    tt_image_fini(&image);
}

void tt_modules_forked(void)
{
    atomic_store(&own.busy, 0);
    tt_frame_readers_forked();
    for (unsigned i = 0; i < SHARDS; i++)
        atomic_store(&shard[i].holders, 0);
}

/* ── Both ─────────────────────────────────────────────────────────────────────────── */

/* async-signal-safe */
const struct tt_mapping *tt_modules_find(const struct tt_modules *m, uint64_t address)
{
    const struct tt_mapping *at = m->mapping;
    uint32_t n = m->count;

    while (n > 1) {
        uint32_t half = n / 2;
        at += at[half].start <= address ? half : 0;
        n -= half;
    }
    return n && address >= at->start && address < at->end ? at : NULL;
}
