/* SPDX-License-Identifier: MIT */
/* file-list.c - the files that are read when a user names files and folders. */
#include "file-list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chain.h"
#include "command.h"
#include "complain.h"
#include "profile.h"
#include "scratch.h"

static int fail(const char *path, const char *reason)
{
    tt_complain("%s: %s", path, reason);
    return -TT_ERR_FILE;
}

static int no_memory(const char *path)
{
    (void)fail(path, tt_error_text(-TT_ERR_MEMORY));
    return -TT_ERR_MEMORY;
}

int tt_is_folder(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* Is it the same folder, by a link?  Its content would count twice. */
static int is_same(const char *folder, const char *other)
{
    struct stat a, b;

    return stat(folder, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

static int is_visible(const struct dirent *d) { return d->d_name[0] != '.'; }

/* Returns the main file of a folder that is a single recording; NULL: it is not. */
static char *find_whole(const char *path)
{
    char *name, magic[8] = "";
    ssize_t n;
    int fd;

    if (asprintf(&name, "%s/info", path) < 0)
        return NULL;
    fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    n = fd < 0 ? -1 : pread(fd, magic, sizeof magic, 0); /* of a pipe there is none */
    if (fd >= 0)
        close(fd);
    if (n == sizeof magic && memcmp(magic, "Ftrace!", sizeof magic) == 0)
        return name;
    free(name);
    return NULL;
}

/* The list owns the path. */
static int add(struct tt_file_list *l, char *path, int is_named)
{
    if (path && tt_vector_push(&l->file, &(struct tt_list_file){path, is_named}) == 0)
        return 0;
    free(path);
    return no_memory("a list of files");
}

static int add_folder(struct tt_file_list *, const char *path, int depth);

/* Where the folder says that an entry is a file, it is not asked: there may be a million. */
static int add_entry(struct tt_file_list *l, const char *folder, const struct dirent *e,
                     int depth)
{
    char *path;
    int error;

    if (asprintf(&path, "%s/%s", folder, e->d_name) < 0)
        return no_memory(folder);
    if (depth > 0 || e->d_type == DT_REG || !tt_is_folder(path))
        return add(l, path, 0);
    error = is_same(folder, path) ? 0 : add_folder(l, path, depth + 1);
    free(path);
    return error;
}

static int add_entries(struct tt_file_list *l, const char *path, int depth)
{
    struct dirent **entry;
    int count = scandir(path, &entry, is_visible, alphasort), error = 0;
    char *replaced;

    if (count < 0)
        return fail(path, strerror(errno));
    replaced = tt_chain_replaced(path, entry, count);
    if (!replaced)
        error = no_memory(path);
    else if (count == 0 && depth == 0)
        error = fail(path, "this folder is empty");
    for (int i = 0; i < count; i++) {
        if (!error && !replaced[i])
            error = add_entry(l, path, entry[i], depth);
        free(entry[i]);
    }
    free(replaced);
    free(entry);
    return error;
}

static int add_folder(struct tt_file_list *l, const char *path, int depth)
{
    char *whole = find_whole(path);

    return whole ? add(l, whole, 1) : add_entries(l, path, depth);
}

int tt_file_list_make(struct tt_file_list *l, char *const *paths, int count)
{
    int error = 0;

    tt_vector_init(&l->file, &tt_scratch, sizeof(struct tt_list_file));
    for (int i = 0; !error && i < count; i++)
        error = tt_is_folder(paths[i]) ? add_folder(l, paths[i], 0)
                                       : add(l, strdup(paths[i]), 1);
    return error;
}

void tt_file_list_free(struct tt_file_list *l)
{
    struct tt_list_file *f = l->file.item;

    for (size_t i = 0; i < l->file.count; i++)
        free(f[i].path);
    tt_vector_fini(&l->file);
}
