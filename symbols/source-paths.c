/* SPDX-License-Identifier: MIT */
/* source-paths.c - one name for each source file, however compilers spell it.
 *
 * Names in debug information are far fewer than look-ups of them, and stay at their
 * addresses: the address is enough to find the result. */
#include "source-paths.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t slot_of(const struct tt_source_paths *p, const char *raw)
{
    size_t at = ((uintptr_t)raw * (size_t)0x9e3779b97f4a7c15u >> 20) & (p->size - 1);

    while (p->path[at].raw && p->path[at].raw != raw)
        at = (at + 1) & (p->size - 1);
    return at;
}

static int grow(struct tt_source_paths *p)
{
    struct tt_source_paths bigger = {.size = p->size ? 2 * p->size : 64,
                                     .count = p->count};

    bigger.path = calloc(bigger.size, sizeof *bigger.path);
    if (!bigger.path)
        return -1;
    for (size_t i = 0; i < p->size; i++)
        if (p->path[i].raw)
            bigger.path[slot_of(&bigger, p->path[i].raw)] = p->path[i];
    free(p->path);
    *p = bigger;
    return 0;
}

/* The begin of the last part of path[0 … end); `end` if ".." cannot remove it. */
static size_t begin_of_last(const char *path, size_t end)
{
    size_t at = end;

    while (at && path[at - 1] != '/')
        at--;
    return end - at == 2 && memcmp(path + at, "..", 2) == 0 ? end : at;
}

/* Writes each remaining part with a slash before it, except the first. */
void tt_source_path_shorten(char *path)
{
    const size_t root = *path == '/', end = strlen(path);
    size_t to = root;

    for (size_t from = root, length; from < end; from += length + 1) {
        int is_up, is_nothing;
        size_t last = begin_of_last(path, to);
        length = strcspn(path + from, "/");
        is_up = length == 2 && memcmp(path + from, "..", 2) == 0;
        is_nothing = length == 0 || (length == 1 && path[from] == '.') ||
                     (is_up && root && to == root);
        if (is_up && last < to) {
            to = last > root ? last - 1 : root;
        } else if (!is_nothing) {
            if (to > root)
                path[to++] = '/';
            memmove(path + to, path + from, length);
            to += length;
        }
    }
    path[to] = 0;
}

static char *make(const char *folder, const char *raw)
{
    char *name = NULL;

    if (*raw == '/' || !folder || *folder != '/')
        name = strdup(raw);
    else if (asprintf(&name, "%s/%s", folder, raw) < 0)
        name = NULL;
    if (name)
        tt_source_path_shorten(name);
    return name;
}

const char *tt_source_paths_get(struct tt_source_paths *p, const char *folder,
                                const char *raw)
{
    size_t at;

    if (p->count * 2 >= p->size && grow(p) != 0)
        return raw;
    at = slot_of(p, raw);
    if (!p->path[at].raw) {
        char *name = make(folder, raw);
        if (!name)
            return raw;
        p->path[at] = (struct tt_source_path){raw, name};
        p->count++;
    }
    return p->path[at].name;
}

void tt_source_paths_fini(struct tt_source_paths *p)
{
    for (size_t i = 0; i < p->size; i++)
        free(p->path[i].name);
    free(p->path);
    *p = (struct tt_source_paths){0};
}
