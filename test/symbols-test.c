/* SPDX-License-Identifier: MIT */
/* symbols-test.c - ranges in ranges, against a search through all; the kernel's symbols. */
#include <stdlib.h>
#include <unistd.h>

#include "kernel.h"
#include "spans.h"
#include "tap.h"

/* ── Spans ────────────────────────────────────────────────────────────────────────── */

enum { CASES = 3000, MOST = 40, ADDRESSES = 100 };

static uint64_t state;

static uint32_t below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

struct range {
    uint64_t low, high;
};

/* Nested ranges, as scopes are: each lies in one before it, or touches none. */
static int make_nested(struct range *r)
{
    int count = 0;

    for (int tries = 0; tries < 200 && count < MOST; tries++) {
        uint64_t low = below(ADDRESSES), high = low + 1 + below(30);
        int fits = 1;
        for (int i = 0; i < count; i++)
            fits &= high <= r[i].low || low >= r[i].high ||
                    (low >= r[i].low && high <= r[i].high);
        if (fits)
            r[count++] = (struct range){low, high};
    }
    return count;
}

/* The smallest around an address; of equal ones the last. */
static int find_by_search(const struct range *r, int count, uint64_t address)
{
    int found = -1;

    for (int i = 0; i < count; i++)
        if (r[i].low <= address && address < r[i].high &&
            (found < 0 || r[i].high - r[i].low <= r[found].high - r[found].low))
            found = i;
    return found;
}

TEST(the_innermost_of_nested_ranges_is_found)
{
    for (int n = 0; n < CASES; n++) {
        struct range r[MOST];
        struct tt_spans s = {0};
        int count;
        state = (uint64_t)n + 1;
        count = make_nested(r);
        for (int i = 0; i < count; i++)
            CHECK_INT(tt_spans_add(&s, r[i].low, r[i].high, (uint32_t)i), 0);
        tt_spans_sort(&s);
        for (uint64_t at = 0; at < ADDRESSES + 40; at++) {
            const struct tt_span *got = tt_spans_find(&s, at);
            CHECK_INT(got ? (int)got->item : -1, find_by_search(r, count, at));
        }
        tt_spans_fini(&s);
    }
}

TEST(of_ranges_that_overlap_one_that_is_there_is_found)
{
    for (int n = 0; n < CASES; n++) {
        struct range r[MOST];
        struct tt_spans s = {0};
        state = (uint64_t)n + 77;
        for (int i = 0; i < MOST; i++) {
            r[i].low = below(ADDRESSES);
            r[i].high = r[i].low + below(20);
            CHECK_INT(tt_spans_add(&s, r[i].low, r[i].high, (uint32_t)i), 0);
        }
        tt_spans_sort(&s);
        for (uint64_t at = 0; at < ADDRESSES + 40; at++) {
            const struct tt_span *got = tt_spans_find(&s, at);
            CHECK_INT(got != NULL, find_by_search(r, MOST, at) >= 0);
            if (got)
                CHECK(got->low <= at && at < got->high && got->low == r[got->item].low &&
                      got->high == r[got->item].high);
        }
        tt_spans_fini(&s);
    }
}

/* ── The kernel ───────────────────────────────────────────────────────────────────── */

static const char symbols[] = "ffffffff81000000 T _text\n"
                              "ffffffff81000100 t do_work\n"
                              "ffffffff81000200 D some_data\n"
                              "ffffffff81000180 W weak_one\n"
                              "ffffffffc0000000 t ext4_read\t[ext4]\n"
                              "damaged\n"
                              "ffffffffc0000100 T ext4_write [ext4]\n";

static void is_at(struct tt_kernel *k, uint64_t address, const char *name,
                  const char *module)
{
    struct tt_spots s;

    tt_kernel_find(k, "", address, &s);
    CHECK_STR(s.count ? s.spot[0].function : "(none)", name);
    if (s.count)
        CHECK_STR(s.module, module);
}

TEST(kernel_symbols_reach_to_the_next_one)
{
    char path[] = "/tmp/kallsyms-XXXXXX";
    int fd = mkstemp(path);
    struct tt_kernel *k;

    CHECK_INT(write(fd, symbols, sizeof symbols - 1), sizeof symbols - 1);
    close(fd);
    k = tt_kernel_open_file(path);
    (void)unlink(path);
    if (!CHECK(k))
        return;
    is_at(k, 0xffffffff80ffffffu, "(none)", NULL);
    is_at(k, 0xffffffff81000000u, "_text", "[kernel]");
    is_at(k, 0xffffffff8100017fu, "do_work", "[kernel]");
    is_at(k, 0xffffffff81000250u, "weak_one", "[kernel]");
    is_at(k, 0xffffffffc0000010u, "ext4_read", "[ext4]");
    is_at(k, 0xffffffffc0000100u, "ext4_write", "[ext4]");
    tt_kernel_close(k);
}

TEST(what_was_recorded_in_another_boot_has_no_names)
{
    struct tt_kernel *k = tt_kernel_open();
    struct tt_spots s;

    if (!CHECK(k))
        return;
    tt_kernel_find(k, "00000000-0000-0000-0000-000000000000", 0xffffffff81000000u, &s);
    CHECK_INT(s.count, 0);
    CHECK(strstr(s.reason, "another boot") || strstr(s.reason, "shows no addresses"));
    tt_kernel_close(k);
}

TEST(without_a_file_of_symbols_there_are_no_names)
{
    struct tt_kernel *k = tt_kernel_open_file("/nowhere");
    struct tt_spots s;

    if (!CHECK(k))
        return;
    tt_kernel_find(k, "", 0xffffffff81000000u, &s);
    CHECK_INT(s.count, 0);
    tt_kernel_close(k);
}
