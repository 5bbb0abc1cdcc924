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

struct path {
    const char *raw; /* borrowed; known by its address */
    char *name;      /* owned */
};

/* The begin of the last part of path[0 … end); `end` if ".." cannot remove it. */
static size_t begin_of_last(const char *path, size_t end)
{
    size_t at = end;

    while (at && path[at - 1] != '/')
        at--;
    return end - at == 2 && memcmp(path + at, "..", 2) == 0 ? end : at;
}

/* Writes each remaining part with a slash before it, except the first. */
static void shorten_path(char *path)
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
        shorten_path(name);
    return name;
}

const char *tt_source_paths_get(struct tt_source_paths *p, const char *folder,
                                const char *raw)
{
    struct path *path;
    uint32_t at;
    int is_new;

    p->path.size = sizeof *path;
    at = tt_index_get(&p->index, &p->path, &raw, sizeof raw, &is_new);
    if (at == TT_NO_NUMBER)
        return raw;
    path = (struct path *)p->path.item + at;
    if (!path->name)
        path->name = make(folder, raw);
    return path->name ? path->name : raw;
}

void tt_source_paths_fini(struct tt_source_paths *p)
{
    for (size_t i = 0; i < p->path.count; i++)
        free(((struct path *)p->path.item)[i].name);
    tt_index_fini(&p->index, NULL);
    tt_vector_fini(&p->path);
}
