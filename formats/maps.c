/* SPDX-License-Identifier: MIT */
/* maps.c - the mappings of a process, sorted by address. */
#include "maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hex.h"
#include "sorted.h"

/* Files that are mapped below this were not moved from where they were linked to. */
#define LOW (1ull << 30)

struct map {
    uint64_t start, end, offset, base, first; /* first: the file's lowest mapping */
    size_t name;                              /* in the text */
};

void tt_maps_init(struct tt_maps *m, const struct tt_memory *memory)
{
    *m = (struct tt_maps){.memory = memory};
    tt_vector_init(&m->map, memory, sizeof(struct map));
    tt_vector_init(&m->text, memory, 1);
}

/* A word in hexadecimal; NULL: it is none. */
static const char *read_hex(const char *at, uint64_t *n)
{
    const char *c = at;

    for (*n = 0;; c++) {
        const int digit = tt_hex(*c);
        if (digit < 0)
            return c == at ? NULL : c;
        if (*n >> 60)
            return NULL;
        *n = *n << 4 | (uint64_t)digit;
    }
}

/* Returns the file's name, which follows the permissions, the offset, the device and the
 * inode. */
static const char *read_rest(const char *at, uint64_t *offset)
{
    *offset = 0;
    if (*at == ':') /* "START-END: NAME" */
        at++;
    else
        for (int field = 0; field < 4; field++) {
            at += strspn(at, " \t");
            if (field == 1)
                (void)read_hex(at, offset);
            at += strcspn(at, " \t");
        }
    return at + strspn(at, " \t");
}

int tt_maps_line(struct tt_maps *m, const char *line)
{
    struct map map = {0};
    const char *at = line + strspn(line, " \t");
    size_t length;

    at = read_hex(at, &map.start);
    if (!at || *at != '-' || !(at = read_hex(at + 1, &map.end)) || map.end <= map.start ||
        !strchr(" \t:", *at))
        return 0;
    at = read_rest(at, &map.offset);
    length = strlen(at);
    while (length && strchr(" \t\r", at[length - 1]))
        length--;
    if (!length)
        return 1;
    map.name = tt_vector_text(&m->text, at, length);
    if (map.name == TT_NO_PLACE || tt_vector_push(&m->map, &map) != 0)
        return -TT_ERR_MEMORY;
    return 1;
}

static int compare(const void *a, const void *b)
{
    const struct map *x = a, *y = b;

    return TT_ORDER(x->start, y->start);
}

/* The parts of a file follow each other; each gets the base of the first. */
void tt_maps_sort(struct tt_maps *m)
{
    const char *text = m->text.item;
    struct map *map = m->map.item;

    tt_vector_sort(&m->map, compare);
    for (size_t i = 0; i < m->map.count; i++) {
        int goes_on = i && strcmp(text + map[i].name, text + map[i - 1].name) == 0;
        map[i].first = goes_on ? map[i - 1].first : map[i].start;
        map[i].base = goes_on                        ? map[i - 1].base
                      : map[i].start < LOW           ? 0
                      : map[i].start > map[i].offset ? map[i].start - map[i].offset
                                                     : 0;
    }
}

static const struct map *find(const struct tt_maps *m, uint64_t address)
{
    const struct map *map = m->map.item;
    size_t up_to = tt_count_up_to(map, sizeof *map, m->map.count, address);

    return up_to && address < map[up_to - 1].end ? &map[up_to - 1] : NULL;
}

uint32_t tt_maps_block(struct tt_maps *m, struct tt_builder *b, uint64_t address)
{
    const struct map *map = find(m, address);
    const char *path, *slash;
    char name[300];

    if (!map || ((const char *)m->text.item)[map->name] == '[') {
        (void)snprintf(name, sizeof name, "0x%llx", (unsigned long long)address);
        return tt_builder_block(
            b, &(struct tt_block_info){
                   .name = name,
                   .module = map ? (const char *)m->text.item + map->name : "",
                   .kind = TT_KIND_FUNCTION});
    }
    path = (const char *)m->text.item + map->name;
    slash = strrchr(path, '/');
    (void)snprintf(name, sizeof name, "%.250s+0x%llx", slash ? slash + 1 : path,
                   (unsigned long long)(address - map->base));
    return tt_builder_block(b, &(struct tt_block_info){.name = name,
                                                       .module = path,
                                                       .offset = address - map->base,
                                                       .kind = TT_KIND_NATIVE});
}

const char *tt_maps_file(const struct tt_maps *m, uint64_t address, uint64_t *offset)
{
    const struct map *map = find(m, address);

    *offset = map ? address - map->first : 0;
    return map ? (const char *)m->text.item + map->name : NULL;
}
