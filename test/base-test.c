/* SPDX-License-Identifier: MIT */
/* base-test.c - tables, components and digits against plain arrays and arithmetic. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "components.h"
#include "failing.h"
#include "hex.h"
#include "index.h"
#include "open-table.h"
#include "random.h"
#include "sorted.h"
#include "tap.h"

static uint64_t state = 1;

/* ── Index ────────────────────────────────────────────────────────────────────────── */

struct item {
    uint32_t key[3];
    uint32_t value;
};

TEST(an_item_is_found_by_its_first_bytes_and_added_once)
{
    enum { KEYS = 5000 };
    static uint32_t number[KEYS]; /* + 1; 0: not added so far */
    struct tt_vector v;
    struct tt_index x = {0};
    uint32_t wrong = 0, added = 0;

    tt_vector_init(&v, NULL, sizeof(struct item));
    for (int i = 0; i < 4 * KEYS; i++) {
        const uint32_t k = (uint32_t)(tt_random(&state) >> 20) % KEYS;
        const uint32_t key[3] = {k, k % 7, ~k};
        int is_new;
        wrong += tt_index_find(&x, &v, key, sizeof key) != number[k] - 1;
        number[k] = number[k] ? number[k] : ++added;
        wrong += tt_index_get(&x, &v, key, sizeof key, &is_new) != number[k] - 1;
        wrong += is_new !=
                 (v.count == number[k] && !((struct item *)v.item)[number[k] - 1].value);
        ((struct item *)v.item)[number[k] - 1].value = 1;
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(v.count, added);
    tt_index_fini(&x, NULL);
    tt_vector_fini(&v);
}

/* Many with few hashes, so that growing could disorder them. */
TEST(numbers_of_one_hash_come_in_the_order_in_which_they_were_added)
{
    enum { HASHES = 40, NUMBERS = 3000 };
    struct tt_index x = {0};
    uint32_t wrong = 0, seen = 0;

    for (uint32_t n = 0; n < NUMBERS; n++)
        wrong += tt_index_add(&x, NULL, (n % HASHES) * 0xfffffff9u, n) != 0;
    for (uint32_t h = 0; h < HASHES; h++) {
        uint32_t n, next = h;
        for (size_t at = 0;
             (n = tt_index_next(&x, h * 0xfffffff9u, &at)) != TT_NO_NUMBER;) {
            wrong += n != next;
            next += HASHES;
            seen++;
        }
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(seen, NUMBERS);
    tt_index_fini(&x, NULL);
}

TEST(an_index_without_memory_stays_as_it_was)
{
    struct tt_vector v;
    struct tt_index x = {0};
    uint32_t added = 0;
    int is_new;

    failing_after = 3;
    tt_vector_init(&v, &failing, sizeof added);
    while (tt_index_get(&x, &v, &added, sizeof added, &is_new) != TT_NO_NUMBER)
        added++;
    CHECK(added > 10);
    CHECK_INT(v.count, added);
    for (uint32_t i = 0; i < added; i++)
        CHECK_INT(tt_index_find(&x, &v, &i, sizeof i), i);
    CHECK_INT(tt_index_find(&x, &v, &added, sizeof added), TT_NO_NUMBER);
    tt_index_fini(&x, &failing);
    tt_vector_fini(&v);
    CHECK_INT(failing_pieces, 0);
}

/* ── Open tables ──────────────────────────────────────────────────────────────────── */

/* Few homes, so that there are long rows, also across the end of the table. */
static uint64_t home_of(uint64_t key, uint64_t mask) { return (key / 8 * 61) & mask; }

TEST(what_is_left_in_an_open_table_is_found_after_removals)
{
    enum { PLACES = 64, KEYS = 60, FULL = 48 };
    struct {
        uint64_t key, value;
    } table[PLACES] = {{0, 0}};
    uint64_t value[KEYS] = {0}; /* 0: it is not there */
    uint32_t wrong = 0, count = 0;

#define FIND(key) tt_open_find(table, sizeof *table, PLACES - 1, home_of, key)
    for (uint64_t i = 1; i < 50000; i++) {
        const uint64_t k = tt_random(&state) >> 20, key = k % KEYS + 1;
        uint64_t at = FIND(key), from;
        wrong += table[at].key != (value[key - 1] ? key : 0);
        wrong += value[key - 1] && table[at].value != value[key - 1];
        if (!value[key - 1] && count < FULL) {
            table[at].key = key;
            table[at].value = value[key - 1] = i;
            count++;
        } else if (value[key - 1]) {
            while ((from = tt_open_next(table, sizeof *table, PLACES - 1, home_of, at)) !=
                   at) {
                table[at] = table[from];
                at = from;
            }
            table[at].key = value[key - 1] = 0;
            count--;
        }
        for (uint64_t n = 1; n <= KEYS && i % 64 == 0; n++)
            wrong += table[FIND(n)].key != (value[n - 1] ? n : 0);
    }
    CHECK_INT(wrong, 0);
}

/* ── Components ───────────────────────────────────────────────────────────────────── */

enum { NODES = 30 };

/* By the definition: each reaches the other. */
static void find_reachable(uint32_t nodes, const uint32_t *first, const uint32_t *to,
                           unsigned char reaches[NODES][NODES])
{
    memset(reaches, 0, NODES * sizeof *reaches);
    for (uint32_t a = 0; a < nodes; a++) {
        reaches[a][a] = 1;
        for (uint32_t e = first[a]; e < first[a + 1]; e++)
            reaches[a][to[e]] = 1;
    }
    for (uint32_t b = 0; b < nodes; b++)
        for (uint32_t a = 0; a < nodes; a++)
            for (uint32_t c = 0; c < nodes; c++)
                reaches[a][c] |= reaches[a][b] & reaches[b][c];
}

TEST(a_component_is_the_nodes_that_reach_each_other)
{
    for (int round = 0; round < 300; round++) {
        const uint32_t nodes = (uint32_t)(tt_random(&state) >> 20) % (NODES + 1);
        uint32_t first[NODES + 1] = {0}, to[NODES * 4], set[NODES], sets = 99, wrong = 0;
        unsigned char reaches[NODES][NODES];
        struct tt_digraph g = {nodes, first, to, sizeof *first, sizeof *to};
        for (uint32_t a = 0, edges = 0; a < nodes; a++) {
            for (uint32_t n = (uint32_t)(tt_random(&state) >> 20) % 4; n; n--)
                to[edges++] = (uint32_t)(tt_random(&state) >> 20) % nodes;
            first[a + 1] = edges;
        }
        CHECK_INT(tt_components_find(&g, NULL, set, &sets), 0);
        find_reachable(nodes, first, to, reaches);
        for (uint32_t a = 0; a < nodes; a++)
            for (uint32_t b = 0; b < nodes; b++) {
                wrong += (set[a] == set[b]) != (reaches[a][b] && reaches[b][a]);
                wrong += reaches[a][b] && set[b] > set[a];
                wrong += set[a] >= sets;
            }
        CHECK_INT(wrong, 0);
    }
}

/* ── Digits ───────────────────────────────────────────────────────────────────────── */

TEST(digits_are_those_of_the_library)
{
    uint32_t wrong = 0;

    for (int c = 1; c < 128; c++) {
        const char digit[] = {(char)c, '\0'}, text[] = {'%', (char)c, '7', '\0'};
        const int value = isxdigit(c) ? (int)strtol(digit, NULL, 16) : -1;
        wrong += tt_hex(c) != value;
        wrong += tt_hex_small(c) != (isupper(c) ? -1 : value);
        wrong += tt_hex_character(text) != (value < 0 ? -1 : value * 16 + 7);
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(tt_hex_character("%"), -1);
    CHECK_INT(tt_hex_character("%4"), -1);
    CHECK_INT(tt_hex_character("41"), -1);
}

/* ── Arrays, and their order ──────────────────────────────────────────────────────── */

struct place {
    uint64_t address;
    uint32_t number;
};

static int by_address(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    return TT_ORDER(x->address, y->address) ?: TT_ORDER(y->number, x->number);
}

TEST(places_are_in_order_and_counted_up_to_an_address_as_one_by_one)
{
    enum { PLACES = 300, ADDRESSES = 100 };
    struct tt_vector v;
    uint32_t wrong = 0;

    tt_vector_init(&v, NULL, sizeof(struct place));
    tt_vector_sort(&v, by_address); /* there are none */
    for (uint32_t i = 0; i < PLACES; i++) {
        const struct place p = {tt_random(&state) % ADDRESSES * 2, i};
        wrong += tt_vector_push(&v, &p) != 0;
        wrong += v.count != i + 1 || ((struct place *)v.item)[i].number != i;
    }
    tt_vector_sort(&v, by_address);
    for (uint64_t address = 0; address < ADDRESSES * 2 + 1; address++) {
        const struct place *p = v.item;
        size_t count = 0;
        while (count < v.count && p[count].address <= address)
            count++;
        wrong += tt_count_up_to(p, sizeof *p, v.count, address) != count;
    }
    for (size_t i = 1; i < v.count; i++) {
        const struct place *p = (struct place *)v.item + i;
        wrong += p[-1].address > p->address ||
                 (p[-1].address == p->address && p[-1].number <= p->number);
    }
    CHECK_INT(wrong, 0);
    tt_vector_fini(&v);
}

TEST(without_memory_nothing_is_pushed_and_no_text_kept)
{
    struct tt_vector v;
    size_t count;

    failing_after = 3;
    tt_vector_init(&v, &failing, 1);
    while (tt_vector_text(&v, "four", 4) != TT_NO_PLACE)
        ;
    count = v.count;
    CHECK_INT(count % 5, 0);
    while (tt_vector_push(&v, "x") == 0)
        count++;
    CHECK_INT(v.count, count);
    CHECK_INT(tt_vector_text(&v, "", 0) == TT_NO_PLACE, 1);
    CHECK_INT(count < 5 || strcmp(v.item, "four") == 0, 1);
    tt_vector_fini(&v);
}
