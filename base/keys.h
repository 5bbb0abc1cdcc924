/* SPDX-License-Identifier: MIT */
/* keys.h - numbers by keys, in memory of the process's own. */
#ifndef TT_KEYS_H
#define TT_KEYS_H

#include <stdint.h>

struct tt_keys {
    struct tt_keys_place {
        uint64_t key; /* 0: free */
        uint32_t number, spare;
    } * place;
    uint64_t mask;
    uint32_t count;
};

/* 0: it is not there.  Keys are not 0, and well mixed. */
static inline uint32_t tt_keys_find(const struct tt_keys *k, uint64_t key)
{
    if (!k->place)
        return 0;
    for (uint64_t i = key & k->mask;; i = (i + 1) & k->mask)
        if (k->place[i].key == key || !k->place[i].key)
            return k->place[i].number;
}

/* Forgets all others where there is no memory. */
void tt_keys_add(struct tt_keys *, uint64_t key, uint32_t number);
void tt_keys_clear(struct tt_keys *);
void tt_keys_fini(struct tt_keys *);

#endif
