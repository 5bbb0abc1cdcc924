/* SPDX-License-Identifier: MIT */
/* registry.c - modules and their tables, reused when they are loaded again.
 *
 * A program that opens and closes a plug-in in a loop has one module and one table.  The
 * identity of a module stays for ever, as recorded addresses refer to it; tables of
 * unloaded modules are kept while they are few. */
#include "registry.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tallytree.h"

enum { CHUNK = 1 << 16, KEPT = 32, MARKED = 1 << 16 };

static struct {
    struct tt_known *first, **last;
    uint32_t count;
    char *chunk; /* the rest of memory that is never freed */
    size_t left;
} registry;

/* ── Memory for ever ──────────────────────────────────────────────────────────────── */

static void *keep(size_t size)
{
    char *at;

    size = (size + 15) & ~(size_t)15;
    if (size > registry.left) {
        size_t room = size > CHUNK ? size : CHUNK;
        at = mmap(NULL, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED)
            return NULL;
        registry.chunk = at;
        registry.left = room;
    }
    at = registry.chunk;
    registry.chunk += size;
    registry.left -= size;
    return at;
}

/* ── Identity ─────────────────────────────────────────────────────────────────────── */

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

/* Without a build-id: its segments and its frame information. */
static uint64_t mark_of(struct tt_image *i)
{
    struct tt_frame_info info;
    uint64_t hash = mix(0xcbf29ce484222325u, i->phdr, i->phdrs * sizeof *i->phdr);

    if (tt_image_frame_info(i, &info) == 0)
        hash = mix(hash, info.bytes, info.size < MARKED ? info.size : MARKED);
    return hash;
}

static struct tt_known *find(const struct tt_module *m, uint64_t mark)
{
    struct tt_known *k = registry.first;

    while (k && (k->module.mark || k->mark != mark ||
                 k->module.build_id_size != m->build_id_size ||
                 memcmp(k->module.build_id, m->build_id, m->build_id_size) != 0 ||
                 strcmp(k->module.path, m->path) != 0))
        k = k->next;
    return k;
}

static struct tt_known *add(const struct tt_module *m, uint64_t mark)
{
    size_t size = strlen(m->path) + 1, marks = m->mark ? strlen(m->mark) + 1 : 0;
    struct tt_known *k = keep(sizeof *k + size + marks);

    if (!k)
        return NULL;
    memset(k, 0, sizeof *k);
    k->module = *m;
    k->module.path = memcpy(k + 1, m->path, size);
    if (marks)
        k->module.mark = memcpy((char *)(k + 1) + size, m->mark, marks);
    k->module.id = registry.count++;
    k->mark = mark;
    if (!registry.last)
        registry.last = &registry.first;
    *registry.last = k;
    registry.last = &k->next;
    return k;
}

/* If half of the code has no rules, .debug_frame may have some for it. */
static int is_covered(const struct tt_rules *r, const struct tt_frame_info *info)
{
    return r && tt_rules_covered(r) >= (info->high - info->low) / 2;
}

/* Adds what is only in a file's sections. */
static int compile_sections(struct tt_known *k, struct tt_image *file)
{
    struct tt_frame_info info;
    struct tt_rules *rules;
    int is_new = tt_image_frame_info(file, &info) == 0 && !k->rules, error;

    if (tt_image_debug_frame(file, &info) != 0 && !is_new)
        return 0;
    error = tt_rules_new(&rules, &info);
    if (error)
        return error;
    tt_rules_free(k->rules);
    k->rules = rules;
    return 0;
}

/* In memory, an object without .eh_frame_hdr does not show where its .eh_frame is, and no
 * object has .debug_frame; the file does, if it is still the same. */
static int compile_file(struct tt_known *k, const struct tt_image *loaded)
{
    struct tt_image file;
    int fd, error = 0;

    if (k->module.path[0] != '/' || (fd = open(k->module.path, O_RDONLY | O_CLOEXEC)) < 0)
        return 0;
    if (tt_image_of_file(&file, fd) == 0) {
        if (file.phdrs == loaded->phdrs &&
            memcmp(file.phdr, loaded->phdr, file.phdrs * sizeof *file.phdr) == 0)
            error = compile_sections(k, &file);
        tt_image_fini(&file);
    }
    close(fd);
    return error;
}

static int compile(struct tt_known *k, struct tt_image *i)
{
    struct tt_frame_info info;
    int error = 0;

    if (tt_image_frame_info(i, &info) == 0)
        error = tt_rules_new(&k->rules, &info);
    if (!error && !is_covered(k->rules, &info))
        error = i->fd < 0 ? compile_file(k, i) : compile_sections(k, i);
    k->module.low = info.low;
    k->compiled = !error;
    return error;
}

struct tt_known *tt_registry_find(struct tt_image *i, const char *path)
{
    struct tt_module m = {.path = path};
    struct tt_known *k;
    uint64_t mark = 0;

    m.build_id_size = tt_image_build_id(i, m.build_id);
    if (!m.build_id_size)
        mark = mark_of(i);
    if (!(k = find(&m, mark)) && !(k = add(&m, mark)))
        return NULL;
    if (!k->compiled && compile(k, i) != 0)
        return NULL;
    return k;
}

const struct tt_module *tt_modules_other(const char *path, const char *mark)
{
    const struct tt_module m = {.path = path, .mark = mark};
    struct tt_known *k = registry.first;

    while (k && (!k->module.mark || strcmp(k->module.mark, mark) != 0 ||
                 strcmp(k->module.path, path) != 0))
        k = k->next;
    if (!k)
        k = add(&m, 0);
    return k ? &k->module : NULL;
}

void tt_registry_trim(uint64_t generation)
{
    unsigned kept = 0;

    for (struct tt_known *k = registry.first; k; k = k->next) {
        if (!k->rules || k->used >= generation || ++kept <= KEPT)
            continue;
        tt_rules_free(k->rules);
        k->rules = NULL;
        k->compiled = 0;
    }
}

void tt_modules_trim(void) { tt_registry_trim(UINT64_MAX); }

size_t tt_modules_size(void)
{
    size_t size = 0;

    for (const struct tt_known *k = registry.first; k; k = k->next)
        size += k->rules ? k->rules->size : 0;
    return size;
}

void tt_modules_each(void (*each)(void *arg, const struct tt_module *), void *arg)
{
    for (const struct tt_known *k = registry.first; k; k = k->next)
        each(arg, &k->module);
}
