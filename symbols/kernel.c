/* SPDX-License-Identifier: MIT */
/* kernel.c - the running kernel's symbols, if it shows them.
 *
 * The kernel's address, and so those of its symbols, differ from boot to boot; names of
 * this boot are valid for recordings made in it.  Without the right to see addresses, all
 * of /proc/kallsyms are 0. */
#include "kernel.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sorted.h"

struct symbol {
    uint64_t address;
    char *name;   /* owned */
    char *module; /* owned; "[kernel]" or "[ext4]" */
};

struct tt_kernel {
    struct symbol *symbol;
    size_t symbols, room;
    int is_of_file; /* and not of this boot */
    struct tt_spot spot;
};

/* The id of "[kernel]": that of this boot; "" if unknown. */
static void kernel_id(char id[64])
{
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, id, 63);

    id[length > 0 ? length : 0] = 0;
    id[strcspn(id, "\n")] = 0;
    if (fd >= 0)
        close(fd);
}

/* The GNU note among those of the kernel. */
static void build_id(char id[64])
{
    unsigned char notes[4096];
    int fd = open("/sys/kernel/notes", O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? 0 : read(fd, notes, sizeof notes);
    size_t end = length > 0 ? (size_t)length : 0;
    uint32_t head[3]; /* sizes of name and description, type */

    if (fd >= 0)
        close(fd);
    *id = 0;
    for (size_t at = 0; at + sizeof head <= end;) {
        size_t name, size;
        memcpy(head, notes + at, sizeof head);
        name = at + sizeof head;
        size = (head[0] + (size_t)3) & ~(size_t)3;
        if (size > end - name || head[1] > end - name - size)
            return;
        if (head[2] == 3 && head[0] == 4 && memcmp(notes + name, "GNU", 4) == 0 &&
            head[1] < 32) {
            for (uint32_t i = 0; i < head[1]; i++)
                (void)snprintf(id + 2 * (size_t)i, 3, "%02x", notes[name + size + i]);
            return;
        }
        at = name + size + ((head[1] + (size_t)3) & ~(size_t)3);
    }
}

static int add_symbol(struct tt_kernel *k, uint64_t address, const char *name,
                      const char *module)
{
    struct symbol s = {address, strdup(name), strdup(module)}, *more = NULL;

    if (s.name && s.module)
        more = tt_array_grow(k->symbol, k->symbols, &k->room, sizeof s);
    if (!more) {
        free(s.name);
        free(s.module);
        return -1;
    }
    k->symbol = more;
    k->symbol[k->symbols++] = s;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct symbol *x = a, *y = b;

    return TT_ORDER(x->address, y->address);
}

static void read_symbols(struct tt_kernel *k, FILE *f)
{
    char line[1024], name[512], module[128], type;
    unsigned long long address;

    while (fgets(line, sizeof line, f)) {
        int fields = sscanf(line, "%llx %c %511s %127s", &address, &type, name, module);
        if (fields >= 3 && address && strchr("tTwW", type) &&
            add_symbol(k, address, name, fields == 4 ? module : "[kernel]") != 0)
            break;
    }
    tt_sort(k->symbol, k->symbols, sizeof *k->symbol, compare);
}

struct tt_kernel *tt_kernel_open_file(const char *path)
{
    struct tt_kernel *k = calloc(1, sizeof *k);
    FILE *f = k ? fopen(path, "re") : NULL;

    if (f) {
        k->is_of_file = 1;
        read_symbols(k, f);
        (void)fclose(f);
    }
    return k;
}

struct tt_kernel *tt_kernel_open(void)
{
    struct tt_kernel *k = tt_kernel_open_file("/proc/kallsyms");

    if (k)
        k->is_of_file = 0;
    return k;
}

void tt_kernel_close(struct tt_kernel *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < k->symbols; i++) {
        free(k->symbol[i].name);
        free(k->symbol[i].module);
    }
    free(k->symbol);
    free(k);
}

static int is_of_this_boot(const char *id)
{
    char mine[64];

    if (!*id)
        return 1;
    kernel_id(mine);
    if (strcmp(id, mine) == 0)
        return 1;
    build_id(mine);
    return strcmp(id, mine) == 0;
}

void tt_kernel_find(struct tt_kernel *k, const char *id, uint64_t address,
                    struct tt_spots *spots)
{
    size_t up_to;

    *spots = (struct tt_spots){.spot = &k->spot};
    if (!k->symbols || (!k->is_of_file && !is_of_this_boot(id))) {
        spots->reason = k->symbols ? "it was recorded in another boot of the kernel"
                                   : "/proc/kallsyms shows no addresses";
        return;
    }
    spots->reason = "there is no symbol at some addresses";
    up_to = tt_count_up_to(k->symbol, sizeof *k->symbol, k->symbols, address);
    if (up_to == 0)
        return;
    k->spot = (struct tt_spot){
        .function = k->symbol[up_to - 1].name, .file = "", .at_file = ""};
    spots->module = k->symbol[up_to - 1].module;
    spots->count = spots->module != NULL;
}
