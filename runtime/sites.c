/* SPDX-License-Identifier: MIT */
/* sites.c - scopes that are a no-op until they are switched on: TT_SWITCHED.
 *
 * The compiler writes a note for each place, in a section that is kept and dropped with
 * the function's.  The linker gathers them into a segment of notes, which the loader
 * lists:
 *
 *      10, 8, 1, "Tallytree\0", 0 0      sizes of name and contents, type, name
 *      place - here                      the no-op
 *      target - here                     where it jumps when on
 *
 * So nothing is registered or unregistered: to switch scopes we visit all loaded modules
 * under the loader's lock, which keeps them loaded.  Modules that are loaded later report
 * themselves in their constructors. */
#include "sites.h"

#include <link.h>
#include <stdint.h>
#include <string.h>

#include "patch.h"
#include "tallytree.h"

struct site_note {
    ElfW(Nhdr) head;
    char name[12]; /* with its padding */
    int32_t at, to;
};
enum { SITE_NOTE = 1 };

static int sites_on;
static unsigned sites_switches;
static const char *sites_refused = "the code of scopes cannot be switched on";

struct sites_walk {
    int on;
    const void *within; /* the module that it is about; NULL: all */
    const char *refusal;
};

static const void *from(const int32_t *offset) { return (const char *)offset + *offset; }

/* The next note of ours from `at` on; NULL: none. */
static const struct site_note *next_site(const char **at, const char *end)
{
    while ((size_t)(end - *at) >= sizeof(ElfW(Nhdr))) {
        const struct site_note *n = (const void *)*at;
        size_t name = ((size_t)n->head.n_namesz + 3) & ~(size_t)3;
        size_t size = sizeof n->head + name +
                      (((size_t)n->head.n_descsz + 3) & ~(size_t)3);

        if (size > (size_t)(end - *at))
            break;
        *at += size;
        if (size == sizeof *n && n->head.n_type == SITE_NOTE &&
            memcmp(n->name, "Tallytree", 10) == 0)
            return n;
    }
    return NULL;
}

/* Some at a time: there is no limit to how many there are. */
static const char *switch_notes(const char *at, const char *end, int on)
{
    enum { MANY = 256 };
    struct tt_patch patch[MANY];
    const struct site_note *n;
    const char *refusal;
    size_t count = 0;

    do {
        n = next_site(&at, end);
        if (n)
            patch[count++] = (struct tt_patch){.at = (void *)(uintptr_t)from(&n->at),
                                               .to = on ? from(&n->to) : NULL};
        if (count == MANY || (!n && count > 0)) {
            refusal = tt_patch_text(patch, count);
            if (refusal)
                return refusal;
            count = 0;
        }
    } while (n);
    return NULL;
}

static int is_within(const struct dl_phdr_info *info, const void *what)
{
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD &&
            (uintptr_t)what - info->dlpi_addr - info->dlpi_phdr[i].p_vaddr <
                info->dlpi_phdr[i].p_memsz)
            return 1;
    return 0;
}

static int switch_module(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct sites_walk *walk = arg;

    (void)size;
    if (walk->within && !is_within(info, walk->within))
        return 0;
    for (int i = 0; i < info->dlpi_phnum && !walk->refusal; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        const char *at = (const char *)(info->dlpi_addr + p->p_vaddr);

        if (p->p_type == PT_NOTE)
            walk->refusal = switch_notes(at, at + p->p_memsz, walk->on);
    }
    return walk->refusal != NULL;
}

static const char *switch_sites(int on, const void *within)
{
    struct sites_walk walk = {.on = on, .within = within};

    (void)dl_iterate_phdr(switch_module, &walk);
    return walk.refusal;
}

int tt_sites_switch(int on)
{
    const char *refusal;

    __atomic_store_n(&sites_on, on, __ATOMIC_SEQ_CST);
    if (!on)
        __atomic_add_fetch(&sites_switches, 1, __ATOMIC_SEQ_CST);
    refusal = switch_sites(on, NULL);
    if (!on || !refusal)
        return 0;
    __atomic_store_n(&sites_refused, refusal, __ATOMIC_RELAXED);
    __atomic_store_n(&sites_on, 0, __ATOMIC_SEQ_CST);
    (void)switch_sites(0, NULL);
    return -TT_ERR_CODE;
}

unsigned tt_sites_switches(void)
{
    return __atomic_load_n(&sites_switches, __ATOMIC_RELAXED);
}

const char *tt_sites_refusal(void)
{
    return __atomic_load_n(&sites_refused, __ATOMIC_RELAXED);
}

/* Until they are as they were to be while we were at it. */
void tt_sites_loaded(const void *within)
{
    int on = 0;

    for (int i = 0; i < 8; i++) {
        int wanted = __atomic_load_n(&sites_on, __ATOMIC_SEQ_CST);

        if (wanted == on)
            return;
        on = wanted;
        (void)switch_sites(on, within);
    }
}
