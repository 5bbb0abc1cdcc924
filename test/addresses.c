/* SPDX-License-Identifier: MIT */
/* addresses.c - for scripts: the functions at a module's addresses, and profiles of them.
 *
 *      addresses MODULE [ID [DIR...]]    <addresses in hex, one a line
 *
 * prints the functions around each, the innermost first, and where in them it is, as
 * addr2line -a -f -i -C does.
 *
 *      addresses -o OUT                  <MODULE ID WEIGHT ADDRESS... one stack a line
 *
 * writes a profile of these stacks, from the root inwards, as a sampler would; a line
 * "started NS" says when, and "pid PID" of which process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "finish.h"
#include "symbols.h"

static void print_spots(uint64_t address, const struct tt_spots *s)
{
    printf("0x%016llx\n", (unsigned long long)address);
    if (!s->count)
        printf("??\n??:0\n");
    for (size_t i = s->count; i-- > 0;) {
        const struct tt_spot *spot = &s->spot[i];
        printf("%s\n", spot->function);
        printf("%s:%u\n", *spot->at_file ? spot->at_file : "??", spot->at_line);
    }
}

static int print_all(int argc, char **argv)
{
    struct tt_symbols_options options = {.folder = (const char *const *)argv + 3,
                                         .folders = argc > 3 ? (size_t)argc - 3 : 0,
                                         .debuginfod = getenv("ASK_SERVERS") != NULL};
    struct tt_symbols *symbols = tt_symbols_new(&options);
    const char *reason = NULL;
    char line[256];

    while (symbols && fgets(line, sizeof line, stdin)) {
        uint64_t address = strtoull(line, NULL, 16);
        struct tt_spots spots;
        tt_symbols_find(symbols, argv[1], argc > 2 ? argv[2] : "", address, &spots);
        print_spots(address, &spots);
        if (!spots.count)
            reason = spots.reason;
    }
    if (reason)
        fprintf(stderr, "%s\n", reason);
    tt_symbols_free(symbols);
    return 0;
}

static uint32_t native_block(struct tt_builder *b, const char *module, const char *id,
                             uint64_t address)
{
    const char *slash = strrchr(module, '/');
    char name[512];

    (void)snprintf(name, sizeof name, "%s+0x%llx", slash ? slash + 1 : module,
                   (unsigned long long)address);
    return tt_builder_block(b, &(struct tt_block_info){.name = name,
                                                       .module = module,
                                                       .file = strcmp(id, "-") ? id : "",
                                                       .kind = TT_KIND_NATIVE,
                                                       .offset = address});
}

static void add_stack(struct tt_builder *b, uint32_t metric, char *line)
{
    char *rest, *module = strtok_r(line, " \n", &rest),
                *id = strtok_r(NULL, " \n", &rest),
                *weight = strtok_r(NULL, " \n", &rest), *word;
    uint32_t context = TT_BUILDER_ROOT;

    while (weight && (word = strtok_r(NULL, " \n", &rest)))
        context = tt_builder_context(
            b, context, native_block(b, module, id, strtoull(word, NULL, 16)));
    if (weight)
        tt_builder_add(b, TT_ROLE_SELF, context, metric, strtoull(weight, NULL, 10));
}

static void add_line(struct tt_builder *b, uint32_t metric, char *line)
{
    if (strncmp(line, "started ", 8) == 0)
        tt_builder_fact(b, "started", TT_FACT_MIN, strtoull(line + 8, NULL, 10), "");
    else if (strncmp(line, "pid ", 4) == 0)
        (void)tt_builder_strand(
            b, &(struct tt_strand_info){
                   .pid = strtoull(line + 4, NULL, 10), .rank = TT_NONE, .members = 1});
    else
        add_stack(b, metric, line);
}

static int write_profile(const char *path)
{
    struct tt_builder *b = tt_builder_new(NULL);
    uint32_t metric = tt_builder_metric(b, "time", "ns",
                                        TT_METRIC_TIME | TT_METRIC_SAMPLED);
    char line[4096];
    void *image;
    size_t size;
    FILE *f;
    int error;

    while (fgets(line, sizeof line, stdin))
        add_line(b, metric, line);
    error = tt_builder_finish(b, &image, &size);
    tt_builder_free(b);
    if (error || !(f = fopen(path, "we")))
        return 2;
    error = fwrite(image, 1, size, f) != size;
    tt_memory_put(NULL, image);
    return fclose(f) != 0 || error ? 2 : 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "-o") == 0)
        return write_profile(argv[2]);
    return argc > 1 ? print_all(argc, argv) : 2;
}
