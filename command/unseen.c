/* SPDX-License-Identifier: MIT */
/* unseen.c - programs that a recorded one started, and that were not recorded.
 *
 * Links name the started programs.  Processes make them beside their recordings, see
 * preload/interpose-exec.c; the command makes them for programs recorded from outside.
 * Each program is checked for why it was not recorded, if its file still exists. */
#include "unseen.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memory.h"
#include "program.h"
#include "sorted.h"
#include "tallytree.h"

static const char started[] = ".started.", bare[] = ".bare.", apart[] = ".apart.",
                  failed[] = ".failed.", tight[] = ".tight.";

static int begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

/* "ERROR:ERRNO/path" */
static char *describe_failure(const char *note)
{
    char *path, *text;
    const int error = (int)strtol(note, &path, 10),
              reason = *path == ':' ? (int)strtol(path + 1, &path, 10) : 0;

    return asprintf(&text, "%s: its recording could not begin: %s%s%s", path,
                    tt_error_text(error), reason ? ": " : "",
                    reason ? strerror(reason) : "") < 0
               ? NULL
               : text;
}

/* NULL: it was recorded, or the reason is unknown. */
static char *describe(const char *path, const char *note)
{
    int is_bare = begins(note, bare);
    const char *why = "";
    struct tt_program p;
    char *text = NULL;

    if (begins(note, failed))
        return describe_failure(path);
    if (begins(note, apart))
        why = " was started where the preload library is missing, as after chroot: "
              "--counter "
              "page-faults records it from outside";
    else if (begins(note, tight))
        why = " has a limit of memory (ulimit -v or -d) of which a recording would take "
              "a large part: raise the limit, or use a smaller --budget";
    else if (begins(note, TT_UNSEEN_EVENTS))
        why = " has more rights than the user that started it, or cannot be read: the "
              "system "
              "ends the events of such programs";
    if (*why)
        return asprintf(&text, "%s%s", path, why) < 0 ? NULL : text;
    if (tt_program_find(&p, path) != 0)
        return NULL;
    if (p.reason[0])
        return strdup(p.reason);
    if (is_bare && asprintf(&text, "%s was started without LD_PRELOAD", path) < 0)
        return NULL;
    return text;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void take_note(struct tt_vector *texts, DIR *d, const char *name)
{
    char path[PATH_MAX], *text, **place;
    ssize_t length = readlinkat(dirfd(d), name, path, sizeof path - 1);

    if (length < 0)
        return;
    path[length] = '\0';
    (void)unlinkat(dirfd(d), name, 0);
    text = describe(path, name);
    place = text ? tt_vector_add(texts, 2) : NULL; /* one for the end */
    if (!place) {
        free(text);
        return;
    }
    *place = text;
    texts->count--;
}

char **tt_unseen_take(const char *folder)
{
    struct tt_vector texts;
    const struct dirent *e;
    DIR *d = opendir(folder);

    tt_vector_init(&texts, NULL, sizeof(char *));
    while (d && (e = readdir(d)))
        if (begins(e->d_name, started) || begins(e->d_name, bare) ||
            begins(e->d_name, apart) || begins(e->d_name, failed) ||
            begins(e->d_name, tight) || begins(e->d_name, TT_UNSEEN_EVENTS))
            take_note(&texts, d, e->d_name);
    if (d)
        closedir(d);
    tt_vector_sort(&texts, compare_texts);
    (void)tt_vector_add(&texts, 1); /* the NULL, for which there is room */
    return texts.item;
}

void tt_unseen_free(char **texts)
{
    for (char **t = texts; t && *t; t++)
        free(*t);
    tt_memory_put(NULL, texts);
}
