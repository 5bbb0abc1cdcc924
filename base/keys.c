/* SPDX-License-Identifier: MIT */
/* keys.c - numbers by keys: a hash table for well-mixed keys, at most half full. */
#include "keys.h"

#include <string.h>
#include <sys/mman.h>

#include "assertion.h"
#include "tallytree.h"

enum { FIRST_KEYS = 256 };

static void set_key(struct tt_keys *k, uint64_t key, uint32_t number)
{
    uint64_t i = key & k->mask;

    TT_ASSERT(key && k->place && k->count <= k->mask);
    while (k->place[i].key && k->place[i].key != key)
        i = (i + 1) & k->mask;
    k->count += !k->place[i].key;
    k->place[i].key = key;
    k->place[i].number = number;
}

static int grow_keys(struct tt_keys *k)
{
    struct tt_keys grown = {.mask = k->place ? 2 * k->mask + 1 : FIRST_KEYS - 1};
    void *p;

    p = mmap(NULL, (grown.mask + 1) * sizeof *grown.place, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return -TT_ERR_MEMORY;
    grown.place = p;
    for (uint64_t i = 0; k->place && i <= k->mask; i++)
        if (k->place[i].key)
            set_key(&grown, k->place[i].key, k->place[i].number);
    tt_keys_fini(k);
    *k = grown;
    return 0;
}

void tt_keys_add(struct tt_keys *k, uint64_t key, uint32_t number)
{
    if ((!k->place || k->count * 2ull > k->mask) && grow_keys(k) != 0)
        tt_keys_clear(k);
    if (k->place)
        set_key(k, key, number);
}

void tt_keys_clear(struct tt_keys *k)
{
    if (k->count)
        memset(k->place, 0, (k->mask + 1) * sizeof *k->place);
    k->count = 0;
}

void tt_keys_fini(struct tt_keys *k)
{
    if (k->place)
        munmap(k->place, (k->mask + 1) * sizeof *k->place);
    *k = (struct tt_keys){0};
}
