/* SPDX-License-Identifier: MIT */
/* symbols.c - names for addresses: chooses the file to read.
 *
 * Files are found by path and verified by build-id.  The files used last are kept open:
 * callers that finish one module before the next open each file once. */
#include "symbols.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debug-file.h"
#include "jit.h"
#include "kernel.h"

enum { MOST_OPEN = 8 };

struct opened {
    char *module, *id;         /* owned; of the look-up */
    struct tt_debug_file *elf; /* or */
    struct tt_jit *jit;        /* or neither, and */
    const char *reason;
    struct opened *next; /* the one used before it */
};

struct tt_symbols {
    struct tt_symbols_options options;
    char *debug_path;
    struct opened *opened; /* the last first */
    struct tt_kernel *kernel;
    char *jit_id, *jit_path; /* owned: the file of generated code that was found last */
};

static const char no_file[] = "there is no such file",
                  other_file[] = "the file there is another one now",
                  newer_file[] = "the file there was written after the recording",
                  bad_file[] = "it cannot be read";

/* ── Files ────────────────────────────────────────────────────────────────────────── */

static int open_regular(const char *path, int flags)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
    struct stat s;

    if (fd >= 0 && (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))) {
        close(fd);
        return -1;
    }
    return fd;
}

static int is_newer(const struct tt_symbols *s, int fd)
{
    struct stat status;

    return s->options.recorded && fstat(fd, &status) == 0 &&
           (uint64_t)status.st_mtim.tv_sec * 1000000000 +
                   (uint64_t)status.st_mtim.tv_nsec >
               s->options.recorded;
}

/* Opens a file if it is the right one; `told`: the user has named it, so its age is not
 * checked. */
static int try_file(const struct tt_symbols *s, const char *path, const char *id,
                    int told, const char **reason)
{
    char found[TT_BUILD_ID_SIZE];
    int fd = open_regular(path, 0);

    if (fd < 0)
        return -1;
    if (tt_build_id_of(fd, found) != 0)
        *reason = bad_file;
    else if (*id && strcmp(id, found) != 0)
        *reason = other_file;
    else if (!*id && !told && is_newer(s, fd))
        *reason = newer_file;
    else
        return fd;
    close(fd);
    return -1;
}

static int try_joined(const struct tt_symbols *s, const char *folder, const char *path,
                      const char *end, const char *id, const char **reason)
{
    char *joined;
    int fd;

    if (asprintf(&joined, "%s/%s%s", folder, path, end) < 0)
        return -1;
    fd = try_file(s, joined, id, 1, reason);
    free(joined);
    return fd;
}

/* FOLDER/.build-id/ab/cdef…, and with .debug appended */
static int try_build_id(const struct tt_symbols *s, const char *folder, const char *id,
                        const char **reason)
{
    char path[TT_BUILD_ID_SIZE + 16];
    int fd;

    if (strlen(id) < 3 || strlen(id) >= TT_BUILD_ID_SIZE ||
        id[strspn(id, "0123456789abcdef")])
        return -1;
    (void)snprintf(path, sizeof path, ".build-id/%.2s/%s", id, id + 2);
    fd = try_joined(s, folder, path, "", id, reason);
    return fd >= 0 ? fd : try_joined(s, folder, path, ".debug", id, reason);
}

static int try_folder(const struct tt_symbols *s, const char *folder, const char *module,
                      const char *id, const char **reason)
{
    const char *slash = strrchr(module, '/'), *base = slash ? slash + 1 : module;
    int fd = try_build_id(s, folder, id, reason);

    if (fd < 0)
        fd = try_joined(s, folder, module, "", id, reason);
    if (fd < 0)
        fd = try_joined(s, folder, base, "", id, reason);
    return fd < 0 ? try_joined(s, folder, base, ".debug", id, reason) : fd;
}

static int try_folders(const struct tt_symbols *s, const char *module, const char *id,
                       const char **reason)
{
    int fd = -1;

    for (size_t i = 0; fd < 0 && i < s->options.folders; i++)
        fd = try_folder(s, s->options.folder[i], module, id, reason);
    return fd;
}

/* A server's, through elfutils' client where that is installed. */
static int try_server(const struct tt_symbols *s, const char *id)
{
    void *library = s->options.debuginfod && *id ? dlopen("libdebuginfod.so.1", RTLD_NOW)
                                                 : NULL;
    void *(*begin)(void) = NULL;
    int (*find)(void *, const unsigned char *, int, char **) = NULL;
    void (*end)(void *) = NULL;
    void *client;
    int fd = -1;

    if (!library)
        return -1;
    *(void **)&begin = dlsym(library, "debuginfod_begin");
    *(void **)&find = dlsym(library, "debuginfod_find_debuginfo");
    *(void **)&end = dlsym(library, "debuginfod_end");
    client = begin && find && end ? begin() : NULL;
    if (client) { /* a length of 0: it is in hex */
        fd = find(client, (const unsigned char *)id, 0, NULL);
        end(client);
    }
    dlclose(library);
    return fd < 0 ? -1 : fd;
}

/* The files of a running process: in the folders of a container, and its program even if
 * that was deleted. */
static int try_process(const struct tt_symbols *s, const char *module, const char *id)
{
    const char *ignored;
    char *path;
    int fd = -1;

    if (!s->options.pid || !*id)
        return -1;
    if (asprintf(&path, "/proc/%" PRIu64 "/root%s", s->options.pid, module) >= 0) {
        fd = try_file(s, path, id, 0, &ignored);
        free(path);
    }
    if (fd < 0 && asprintf(&path, "/proc/%" PRIu64 "/exe", s->options.pid) >= 0) {
        fd = try_file(s, path, id, 0, &ignored);
        free(path);
    }
    return fd;
}

/* The file of a module, given its path without " (deleted)"; -1, and a reason. */
static int find_file(const struct tt_symbols *s, const char *module, const char *id,
                     const char **reason)
{
    const char *not_found = no_file;
    int fd = -1;

    *reason = no_file;
    if (!*id)
        fd = try_folders(s, module, id, reason);
    if (fd < 0 && *module == '/')
        fd = try_file(s, module, id, 0, reason);
    if (*reason != no_file)
        not_found = *reason;
    if (fd < 0 && *id)
        fd = try_folders(s, module, id, reason);
    if (fd < 0)
        fd = try_process(s, module, id);
    if (fd < 0)
        fd = try_build_id(s, "/usr/lib/debug", id, reason);
    if (fd < 0)
        fd = try_server(s, id);
    if (not_found != no_file)
        *reason = not_found;
    return fd;
}

/* The kernel gives every process a small library; its file is our own memory. */
static int find_vdso(const char *id, const char **reason)
{
    const Elf64_Ehdr *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
    size_t size = vdso ? vdso->e_shoff + (size_t)vdso->e_shnum * vdso->e_shentsize : 0;
    char found[TT_BUILD_ID_SIZE];
    int fd = vdso ? memfd_create("vdso", MFD_CLOEXEC) : -1;

    *reason = *id ? "this kernel's is another one"
                  : "the file does not say which kernel's";
    if (fd >= 0 && write(fd, vdso, size) == (ssize_t)size &&
        tt_build_id_of(fd, found) == 0 && strcmp(id, found) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* ── Modules ──────────────────────────────────────────────────────────────────────── */

static void open_elf(const struct tt_symbols *s, struct opened *o)
{
    static const char deleted[] = " (deleted)";
    size_t length = strlen(o->module), end = sizeof deleted - 1;
    char *path = strdup(o->module);
    const char *reason = no_file;
    int fd = -1;

    if (path && length > end && strcmp(path + length - end, deleted) == 0)
        path[length - end] = 0;
    if (strcmp(o->module, "[vdso]") == 0)
        fd = find_vdso(o->id, &reason);
    if (path && fd < 0)
        fd = find_file(s, path, o->id, &o->reason);
    if (reason != no_file)
        o->reason = reason;
    if (fd >= 0) {
        o->elf = tt_debug_file_open(fd, path, s->debug_path, s->options.brief);
        o->reason = bad_file;
    }
    free(path);
}

/* A file in /tmp that belongs to another user is not used for our programs. */
static int is_trusted(int fd)
{
    struct stat s;

    return fstat(fd, &s) == 0 && (s.st_uid == geteuid() || s.st_uid == 0);
}

/* Opens a file of a run-time compiler.  A jitdump is looked for in folders of other users,
 * too, where a link could lead to any file. */
static int try_jit(const char *path, const char **reason)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    int fd = open_regular(path, strncmp(base, "jit-", 4) == 0 ? O_NOFOLLOW : 0);

    if (fd < 0 || is_trusted(fd))
        return fd;
    *reason = "its perf map or jitdump belongs to another user";
    close(fd);
    return -1;
}

/* The path of a file of that name in a folder, if it can be used; to be freed. */
static char *find_jit_in(const char *folder, const char *name)
{
    const char *ignored;
    char *path, *whole = realpath(folder, NULL);
    int fd = -1;

    if (!whole || asprintf(&path, "%s/%s", whole, name) < 0)
        path = NULL;
    free(whole);
    if (path)
        fd = try_jit(path, &ignored);
    if (fd >= 0) {
        close(fd);
        return path;
    }
    free(path);
    return NULL;
}

/* A process maps its jitdump, so that tools find it.  One of another user must not choose what
 * is opened. */
static char *find_mapped(unsigned long long pid, const char *name)
{
    char maps[48], line[PATH_MAX + 128], *found = NULL, *path, *slash;
    struct stat s;
    FILE *f;

    (void)snprintf(maps, sizeof maps, "/proc/%llu", pid);
    if (stat(maps, &s) != 0 || s.st_uid != geteuid())
        return NULL;
    (void)snprintf(maps, sizeof maps, "/proc/%llu/maps", pid);
    f = fopen(maps, "re");
    while (f && !found && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        path = strchr(line, '/');
        slash = strrchr(line, '/');
        if (!slash || strcmp(slash + 1, name) != 0)
            continue;
        *slash = '\0';
        found = find_jit_in(path < slash ? path : "/", name);
    }
    if (f)
        (void)fclose(f);
    return found;
}

/* The same, unless it was written before the recording: then an earlier process with that
 * number has left it.  Some file systems keep whole seconds. */
static char *find_fresh(const struct tt_symbols *s, const char *folder, const char *name)
{
    char *path = find_jit_in(folder, name);
    struct stat status;

    if (path && stat(path, &status) == 0 &&
        (uint64_t)status.st_mtim.tv_sec + 1 < s->options.started / 1000000000) {
        free(path);
        path = NULL;
    }
    return path;
}

/* The jitdump of the process of a perf map: in the folders of the user, as long as it runs
 * where it has it, in the working directory, or in /tmp. */
static char *find_dump(const struct tt_symbols *s, const char *map)
{
    unsigned long long pid;
    char name[48], *found = NULL;

    if (sscanf(map, "perf-%llu.map", &pid) != 1)
        return NULL;
    (void)snprintf(name, sizeof name, "jit-%llu.dump", pid);
    for (size_t i = 0; !found && i < s->options.folders; i++)
        found = find_jit_in(s->options.folder[i], name);
    if (!found)
        found = find_mapped(pid, name);
    if (!found)
        found = find_fresh(s, ".", name);
    return found ? found : find_fresh(s, "/tmp", name);
}

const char *tt_symbols_jit(struct tt_symbols *s, const char *id)
{
    const char *slash = strrchr(id, '/'), *base = slash ? slash + 1 : id;
    char *path = NULL;

    if (s->jit_id && strcmp(s->jit_id, id) == 0)
        return s->jit_path;
    if (strncmp(base, "perf-", 5) == 0)
        path = find_dump(s, base);
    for (size_t i = 0; !path && i < s->options.folders; i++)
        path = find_jit_in(s->options.folder[i], base);
    if (!path)
        path = strdup(id);
    free(s->jit_id);
    free(s->jit_path);
    s->jit_path = path;
    s->jit_id = path ? strdup(id) : NULL;
    return path ? path : id;
}

static void open_jit(struct tt_symbols *s, struct opened *o)
{
    const char *slash = strrchr(o->id, '/'), *base = slash ? slash + 1 : o->id;
    char path[64];
    int fd = -1;

    (void)snprintf(path, sizeof path, "/tmp/perf-%llu.map",
                   (unsigned long long)s->options.pid);
    o->reason = strncmp(base, "jit-", 4) == 0 ? no_file : "there is no /tmp/perf-PID.map";
    if (strncmp(base, "perf-", 5) == 0 || strncmp(base, "jit-", 4) == 0)
        fd = try_jit(tt_symbols_jit(s, o->id), &o->reason);
    else if (s->options.pid)
        fd = try_jit(tt_symbols_jit(s, path), &o->reason);
    o->jit = fd >= 0 ? tt_jit_open(fd) : NULL;
}

static void free_opened(struct opened *o)
{
    if (!o)
        return;
    tt_debug_file_close(o->elf);
    tt_jit_close(o->jit);
    free(o->module);
    free(o->id);
    free(o);
}

static struct opened *open_module(struct tt_symbols *s, const char *module,
                                  const char *id)
{
    struct opened *o = calloc(1, sizeof *o);

    if (!o || !(o->module = strdup(module)) || !(o->id = strdup(id))) {
        free_opened(o);
        return NULL;
    }
    if (strcmp(module, "[jit]") == 0)
        open_jit(s, o);
    else
        open_elf(s, o);
    return o;
}

/* Moves it to the front; of too many the last is closed. */
static struct opened *find_module(struct tt_symbols *s, const char *module,
                                  const char *id)
{
    struct opened **at = &s->opened, *o;
    int count = 0;

    for (; *at; at = &(*at)->next, count++) {
        if (strcmp((*at)->module, module) == 0 && strcmp((*at)->id, id) == 0)
            break;
        if (count == MOST_OPEN - 1) {
            free_opened(*at);
            *at = NULL;
            break;
        }
    }
    o = *at;
    if (o)
        *at = o->next;
    else
        o = open_module(s, module, id);
    if (o) {
        o->next = s->opened;
        s->opened = o;
    }
    return o;
}

/* ── Questions ────────────────────────────────────────────────────────────────────── */

static void find(struct tt_symbols *s, const char *module, const char *id,
                 uint64_t address, int whole, struct tt_spots *spots)
{
    struct opened *o;

    *spots = (struct tt_spots){.reason = "there is no memory"};
    if (strcmp(module, "[kernel]") == 0) {
        if (!s->kernel)
            s->kernel = tt_kernel_open();
        if (s->kernel)
            tt_kernel_find(s->kernel, id, address, spots);
        return;
    }
    o = find_module(s, module, id);
    if (!o)
        return;
    if (o->elf)
        tt_debug_file_find(o->elf, address, whole, spots);
    else if (o->jit)
        tt_jit_find(o->jit, address, spots);
    else
        spots->reason = o->reason;
}

void tt_symbols_find(struct tt_symbols *s, const char *module, const char *id,
                     uint64_t address, struct tt_spots *spots)
{
    find(s, module, id, address, 0, spots);
}

void tt_symbols_function(struct tt_symbols *s, const char *module, const char *id,
                         uint64_t address, struct tt_spots *spots)
{
    find(s, module, id, address, 1, spots);
}

void tt_symbols_code(struct tt_symbols *s, const char *module, const char *id,
                     uint64_t address, struct tt_code *code)
{
    struct opened *o = NULL;

    *code = (struct tt_code){.reason = "its code is in no file"};
    if (strcmp(module, "[kernel]") == 0)
        return;
    o = find_module(s, module, id);
    if (o && o->elf)
        tt_debug_file_code(o->elf, address, code);
    else if (o && o->jit)
        tt_jit_code(o->jit, address, code);
    else
        code->reason = o ? o->reason : "there is no memory";
}

/* ── Life ─────────────────────────────────────────────────────────────────────────── */

/* The search path of libdwfl for debug information: beside the file, in a folder .debug
 * there, and in these folders, with the checksums of .gnu_debuglink ("+"). */
static char *make_debug_path(const struct tt_symbols_options *o)
{
    char *path = strdup("+:.debug:/usr/lib/debug");

    for (size_t i = 0; path && i < o->folders; i++) {
        char *folder = realpath(o->folder[i], NULL), *longer = NULL;
        if (folder && !strchr(folder, ':') &&
            asprintf(&longer, "%s:%s", path, folder) >= 0) {
            free(path);
            path = longer;
        }
        free(folder);
    }
    return path;
}

struct tt_symbols *tt_symbols_new(const struct tt_symbols_options *options)
{
    struct tt_symbols *s = calloc(1, sizeof *s);

    if (!s)
        return NULL;
    s->options = *options;
    s->debug_path = make_debug_path(options);
    if (!s->debug_path) {
        free(s);
        return NULL;
    }
    if (!options->debuginfod) /* libdwfl would use it by itself */
        (void)unsetenv("DEBUGINFOD_URLS");
    return s;
}

void tt_symbols_refresh(struct tt_symbols *s)
{
    for (struct opened **at = &s->opened, *o; (o = *at) != NULL;) {
        if (o->elf) {
            at = &o->next;
            continue;
        }
        *at = o->next;
        free_opened(o);
    }
    free(s->jit_id);
    s->jit_id = NULL;
}

void tt_symbols_free(struct tt_symbols *s)
{
    if (!s)
        return;
    while (s->opened) {
        struct opened *next = s->opened->next;
        free_opened(s->opened);
        s->opened = next;
    }
    tt_kernel_close(s->kernel);
    free(s->jit_id);
    free(s->jit_path);
    free(s->debug_path);
    free(s);
}
