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

static void check_rows(const struct tt_function *f)
{
    assert(f->rows && f->row[0].at == 0);
    for (uint32_t n = 0; n < f->rows; n++) {
        const struct tt_rule *rule = tt_function_rule(f, &f->row[n]);
        assert(n == 0 || f->row[n - 1].at < f->row[n].at);
        assert(f->row[n].at < f->end - f->start);
        assert(rule->base < 32 || (rule->flags & TT_RULE_EXPRESSION));
    }
}

static void check_order(const struct tt_rules *r)
{
    uint32_t end = 0;

    for (uint32_t i = 0; i < r->functions; i++) {
        const struct tt_function *f = tt_rules_function(r, i), *found;
        if (!f)
            continue; /* no room */
        assert(f == tt_rules_function(r, i) && f->start < f->end && end <= f->start);
        end = f->end;
        if (!f->rows)
            continue;
        check_rows(f);
        assert(tt_rules_find(r, f->start, &found) && found == f);
        assert(tt_rules_find(r, f->end - 1, &found) && found == f);
    }
}

/* The bytes are also the stack, the code, and the values of the registers. */
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
    for (uint32_t i = 0; i < rules->functions && i < 64; i++) {
        const struct tt_function *f = tt_rules_function(rules, i);
        for (uint32_t n = 0; f && n < f->rows; n++)
            unwind(rules, data, size, f->start + f->row[n].at);
    }
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
