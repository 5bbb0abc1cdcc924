/* SPDX-License-Identifier: MIT */
/* symbol-table-test.c - a look at all symbols finds what the symbols in order do: at each
 * begin and end, and beside it, in objects that this program is made of, and in one that has
 * aliases, labels and symbols without a size. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include "symbol-table.h"
#include "tap.h"

enum { MOST = 400, ADDRESSES = 4 };

static char *no_path;

static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                         .find_debuginfo = dwfl_build_id_find_debuginfo,
                                         .debuginfo_path = &no_path};

struct opened {
    Dwfl *dwfl;
    Dwfl_Module *module;
};

static int open_file(struct opened *o, const char *path)
{
    o->dwfl = dwfl_begin(&callbacks);
    dwfl_report_begin(o->dwfl);
    o->module = dwfl_report_elf(o->dwfl, path, path, -1, 0, 1);
    return o->module && dwfl_report_end(o->dwfl, NULL, NULL) == 0;
}

static int same(struct tt_symbol_table *looks, struct tt_symbol_table *sorted,
                uint64_t address)
{
    const struct tt_symbol *x, *y = tt_symbol_table_whole(sorted, address);

    looks->looks = 0;
    x = tt_symbol_table_find(looks, address);
    if (!x || !y)
        return !x && !y;
    return x->low == y->low && strcmp(x->symbol, y->symbol) == 0 &&
           x->is_stub == y->is_stub &&
           tt_symbol_has_namesake(looks, x) == tt_symbol_has_namesake(sorted, y);
}

/* is_read: of the table that looks; less than 0: there was no memory for the order. */
static int count_differences(struct opened *o, int is_read, int *checked)
{
    struct tt_symbol_table looks, sorted;
    int differ = 0;

    *checked = 0;
    if (!CHECK_INT(tt_symbol_table_init(&looks, o->module), 0) ||
        !CHECK_INT(tt_symbol_table_init(&sorted, o->module), 0))
        return -1;
    (void)tt_symbol_table_whole(&sorted, 0);
    looks.is_read = is_read;
    for (size_t i = 0; i < sorted.symbols; i += sorted.symbols / MOST + 1) {
        const struct tt_symbol *s = &sorted.symbol[i];
        const uint64_t at[ADDRESSES] = {s->low, s->low - 1, s->high, s->high - 1};
        const struct tt_span *code = tt_spans_find(&sorted.code, s->low);
        if (code && code->item) /* stubs: these are always in order */
            continue;
        for (int j = 0; j < ADDRESSES; j++) {
            differ += !same(&looks, &sorted, at[j]);
            *checked += looks.all && looks.is_read == is_read;
        }
    }
    tt_symbol_table_fini(&looks);
    tt_symbol_table_fini(&sorted);
    return differ;
}

static int compare_table(const char *path, int is_read)
{
    struct opened o;
    int checked = 0;

    if (CHECK(open_file(&o, path)))
        CHECK_INT(count_differences(&o, is_read, &checked), 0);
    dwfl_end(o.dwfl);
    return checked;
}

static int compare_file(const char *path) { return compare_table(path, 0); }

static int compare_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    if (info->dlpi_name[0] == '/')
        *(int *)arg += compare_file(info->dlpi_name);
    return 0;
}

TEST(in_this_program_both_ways_find_the_same)
{
    CHECK(compare_file("/proc/self/exe") > 0);
}

TEST(without_memory_for_the_order_symbols_are_found_all_the_same)
{
    CHECK(compare_table("/proc/self/exe", -1) > 0);
}

TEST(in_its_libraries_both_ways_find_the_same)
{
    int checked = 0;

    dl_iterate_phdr(compare_object, &checked);
    CHECK(checked > 0);
}

/* Aliases, a label within a function, one without a size behind it, and namesakes. */
static const char program[] =
    "cat > $D/a.s <<'END'\n"
    "    .text\n"
    "    .globl one, one_alias, last\n"
    "    .type one, @function\n"
    "    .type _one, @function\n"
    "one:\n"
    "one_alias:\n"
    "_one:\n"
    "    .zero 16\n"
    "label:\n"
    "    .zero 16\n"
    "    .size one, . - one\n"
    "    .size _one, 64\n"
    "    .zero 48\n"
    "free:\n"
    "    .zero 32\n"
    "twice:\n"
    "    .zero 8\n"
    "last:\n"
    "    .zero 8\n"
    "    .section .other, \"ax\"\n"
    "    .zero 16\n"
    "unsized:\n"
    "    .zero 24\n"
    "    .data\n"
    "    .type thing, @object\n"
    "    .size thing, 8\n"
    "thing: .quad 0\n"
    "END\n"
    "printf '    .text\\ntwice:\\n    .zero 8\\nhidden: .zero 8\\n' > $D/b.s\n"
    "cc -shared -nostdlib -o $D/so $D/a.s $D/b.s";

TEST(aliases_labels_and_symbols_without_a_size_are_the_same)
{
    char folder[] = "/tmp/symbol-table.XXXXXX", command[4096], path[64];
    int checked = 0;

    if (!CHECK(mkdtemp(folder)))
        return;
    (void)snprintf(command, sizeof command, "D=%s\n%s", folder, program);
    (void)snprintf(path, sizeof path, "%s/so", folder);
    if (system(command) == 0)
        checked = compare_file(path);
    CHECK(checked > 20);
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK_INT(system(command), 0);
}

TEST(after_some_looks_symbols_are_put_in_order)
{
    struct opened o;
    struct tt_symbol_table t;

    if (!CHECK(open_file(&o, "/proc/self/exe")) ||
        !CHECK_INT(tt_symbol_table_init(&t, o.module), 0))
        return;
    CHECK(t.all && !t.is_read);
    for (int i = 0; i < 100; i++)
        (void)tt_symbol_table_find(&t, t.code.span[0].low + 1);
    CHECK(t.is_read || t.code.span[0].item);
    tt_symbol_table_fini(&t);
    dwfl_end(o.dwfl);
}
