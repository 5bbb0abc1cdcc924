/* SPDX-License-Identifier: MIT */
/* frames.c - whatever .eh_frame and .debug_frame consist of, their table is in order; whatever
 * a table, a stack, and code consist of, unwinding ends, and reads nothing but what it was
 * given. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "unwind.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HERE = 0x10000, ROOM = 64, CODE = 0x100000 };

static void check_order(const struct tt_rules *r)
{
    for (uint32_t i = 0; i < r->functions; i++) {
        const struct tt_function *f = &r->function[i];
        assert(f->start < f->end && f->row < f[1].row && f[1].row <= r->rows);
        assert(i == 0 || f[-1].end <= f->start);
        assert(r->row[f->row].at == 0);
        for (uint32_t n = f->row; n < f[1].row; n++) {
            assert(n == f->row || r->row[n - 1].at < r->row[n].at);
            assert(r->row[n].at < f->end - f->start);
            assert(r->row[n].rule + sizeof(struct tt_rule) / 4 <= r->words);
        }
    }
}

/* The bytes are also the stack, the code, and what is in the registers. */
static void unwind(const struct tt_rules *rules, const uint8_t *data, size_t size,
                   uint64_t pc)
{
    static const struct tt_module module;
    const struct tt_mapping m = {0, CODE, 0, &module, rules};
    const struct tt_modules modules = {1, 1, &m};
    struct tt_native frame[ROOM];
    struct tt_unwound out = {.frame = frame, .room = ROOM};
    struct tt_registers r;
    struct tt_peek peek;

    for (unsigned i = 0; i < TT_REGISTERS; i++)
        r.value[i] = HERE + 8 * (i < size ? data[i] : i);
    r.value[TT_REGISTER_PC] = pc;
    tt_peek_copy(&peek, HERE, data, size);
    tt_native_unwind(&out, &modules, &r, &peek);
    assert(out.count <= ROOM && out.end < TT_UNWIND_ENDS);
}

static void check(const struct tt_frame_info *info, const uint8_t *data, size_t size)
{
    struct tt_rules *rules;

    if (tt_rules_new(&rules, info) != 0)
        return;
    check_order(rules);
    for (uint32_t i = 0; i < rules->functions && i < 64; i++)
        for (uint32_t n = rules->function[i].row; n < rules->function[i + 1].row; n++)
            unwind(rules, data, size, rules->function[i].start + rules->row[n].at);
    tt_rules_free(rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tt_frame_info info = {
        .bytes = data, .size = size, .address = HERE, .header = HERE - 64, .high = CODE};

    check(&info, data, size);
    info.debug = data;
    info.debug_size = size;
    check(&info, data, size);
    for (uint32_t at = 0; at < 64; at++)
        unwind(NULL, data, size, HERE + at);
    return 0;
}
