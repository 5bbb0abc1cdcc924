/* SPDX-License-Identifier: MIT */
/* interpose-exec.c - notes which programs are started.
 *
 *      FOLDER/.started.HASH  ->  /path/of/program         with what loads us
 *      FOLDER/.bare.HASH     ->  /path/of/program         without: it is not seen
 *
 * What can be loaded into them is looked at when all is over.  A link says its path without
 * a file being open here for a moment, which a program with several threads might notice;
 * and it may be made by a child of vfork, which has its parent's memory. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload.h"

enum { ROOM = 1000 }; /* of a path; stacks may be small */

static char folder[ROOM]; /* "": nobody wants to know */

TT_AFTER_US(int, execve, const char *, char *const[], char *const[]);
TT_AFTER_US(int, execvpe, const char *, char *const[], char *const[]);
TT_AFTER_US(int, posix_spawn, pid_t *, const char *, const posix_spawn_file_actions_t *,
            const posix_spawnattr_t *, char *const[], char *const[]);
TT_AFTER_US(int, posix_spawnp, pid_t *, const char *, const posix_spawn_file_actions_t *,
            const posix_spawnattr_t *, char *const[], char *const[]);

/* A child of fork must not ask the loader. */
void tt_preload_note_programs(const char *in)
{
    folder[0] = '\0';
    if (!in || strlen(in) >= sizeof folder - 40)
        return;
    (void)next_execve(), (void)next_execvpe();
    (void)next_posix_spawn(), (void)next_posix_spawnp();
    memcpy(folder, in, strlen(in) + 1);
}

/* ── Notes ────────────────────────────────────────────────────────────────────────── */

static int is_executable(const char *path)
{
    return tt_call_system(SYS_faccessat,
                          (long[6]){AT_FDCWD, (long)(uintptr_t)path, X_OK}) == 0;
}

/* 0 when it is too long. */
static int join(char *out, const char *before, size_t length, const char *name)
{
    size_t rest = strlen(name);

    if (length + 1 + rest >= ROOM)
        return 0;
    memcpy(out, before, length);
    if (length)
        out[length++] = '/';
    memcpy(out + length, name, rest + 1);
    return 1;
}

static int find_in_path(char *out, const char *name)
{
    const char *at = getenv("PATH"), *end;

    for (at = at ? at : "/bin:/usr/bin"; at; at = *end ? end + 1 : NULL) {
        end = at + strcspn(at, ":");
        if (join(out, at, (size_t)(end - at), name) && is_executable(out))
            return 1;
    }
    return 0;
}

static int make_absolute(char *path)
{
    char here[ROOM] = "";
    long length;

    if (path[0] == '/')
        return 1;
    while (path[0] == '.' && path[1] == '/')
        memmove(path, path + 2, strlen(path + 2) + 1);
    length = tt_call_system(SYS_getcwd, (long[6]){(long)(uintptr_t)here, sizeof here});
    if (length < 2 || here[0] != '/' ||
        (size_t)length + strlen(path) >= ROOM) /* with its NUL */
        return 0;
    memmove(path + length, path, strlen(path) + 1);
    memcpy(path, here, (size_t)length - 1);
    path[length - 1] = '/';
    return 1;
}

static int has_us(char *const environment[])
{
    static const char name[] = "LD_PRELOAD=";

    for (; environment && *environment; environment++)
        if (strncmp(*environment, name, sizeof name - 1) == 0)
            return strstr(*environment, "libtallytree-") != NULL;
    return 0;
}

static void make_note(const char *path, int is_bare)
{
    static const char digit[] = "0123456789abcdef";
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    char name[sizeof folder];
    size_t length = strlen(folder);

    for (const char *p = path; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 0x100000001b3u;
    (void)join(name, folder, length, is_bare ? ".bare." : ".started.");
    length = strlen(name);
    for (int i = 60; i >= 0; i -= 4)
        name[length++] = digit[hash >> i & 15];
    name[length] = '\0';
    (void)tt_call_system(
        SYS_symlinkat, (long[6]){(long)(uintptr_t)path, AT_FDCWD, (long)(uintptr_t)name});
}

static void note(const char *file, int in_path, char *const environment[])
{
    char path[ROOM];
    int saved = errno;

    if (folder[0] && file &&
        (in_path && !strchr(file, '/')
             ? find_in_path(path, file)
             : join(path, "", 0, file) && is_executable(path)) &&
        make_absolute(path))
        make_note(path, !has_us(environment));
    errno = saved;
}

/* ── The calls ────────────────────────────────────────────────────────────────────── */

static int start(const char *path, char *const argv[], char *const environment[])
{
    note(path, 0, environment);
    tt_preload_spend();
    return next_execve()(path, argv, environment);
}

static int start_in_path(const char *file, char *const argv[], char *const environment[])
{
    note(file, 1, environment);
    tt_preload_spend();
    return next_execvpe()(file, argv, environment);
}

TT_INTERPOSE int execve(const char *path, char *const argv[], char *const environment[])
{
    return start(path, argv, environment);
}

TT_INTERPOSE int execv(const char *path, char *const argv[])
{
    return start(path, argv, environ);
}

TT_INTERPOSE int execvp(const char *file, char *const argv[])
{
    return start_in_path(file, argv, environ);
}

TT_INTERPOSE int execvpe(const char *file, char *const argv[], char *const environment[])
{
    return start_in_path(file, argv, environment);
}

/* Behind the first one, with the NULL at the end. */
static size_t count_words(va_list list)
{
    size_t n = 1;

    while (va_arg(list, char *))
        n++;
    return n;
}

/* Some call these with no arguments at all, which the headers forbid. */
#define TAKE_WORDS(argv, list, first)                                                    \
    do {                                                                                 \
        char *word_ = (char *)(uintptr_t)(first);                                        \
        size_t count_ = 0;                                                               \
        __asm__("" : "+r"(word_));                                                       \
        va_start(list, first);                                                           \
        if (word_)                                                                       \
            count_ = count_words(list);                                                  \
        va_end(list);                                                                    \
        (argv) = __builtin_alloca((count_ + 1) * sizeof *(argv));                        \
        (argv)[0] = word_;                                                               \
        va_start(list, first);                                                           \
        for (size_t i_ = 1; i_ <= count_; i_++)                                          \
            (argv)[i_] = va_arg(list, char *);                                           \
    } while (0)

TT_INTERPOSE int execl(const char *path, const char *first, ...)
{
    char **argv;
    va_list list;

    TAKE_WORDS(argv, list, first);
    va_end(list);
    return start(path, argv, environ);
}

TT_INTERPOSE int execlp(const char *file, const char *first, ...)
{
    char **argv;
    va_list list;

    TAKE_WORDS(argv, list, first);
    va_end(list);
    return start_in_path(file, argv, environ);
}

TT_INTERPOSE int execle(const char *path, const char *first, ...)
{
    char **argv, *const *environment;
    va_list list;

    TAKE_WORDS(argv, list, first);
    environment = va_arg(list, char *const *);
    va_end(list);
    return start(path, argv, environment);
}

TT_INTERPOSE int posix_spawn(pid_t *pid, const char *path,
                             const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attributes, char *const argv[],
                             char *const environment[])
{
    note(path, 0, environment);
    return next_posix_spawn()(pid, path, actions, attributes, argv, environment);
}

TT_INTERPOSE int posix_spawnp(pid_t *pid, const char *file,
                              const posix_spawn_file_actions_t *actions,
                              const posix_spawnattr_t *attributes, char *const argv[],
                              char *const environment[])
{
    note(file, 1, environment);
    return next_posix_spawnp()(pid, file, actions, attributes, argv, environment);
}
