/* SPDX-License-Identifier: MIT */
/* interpose-exec.c - notes which programs are started.
 *
 *      FOLDER/.started.HASH  ->  /path/of/program         with this library
 *      FOLDER/.bare.HASH     ->  /path/of/program         without: it is not seen
 *      FOLDER/.apart.HASH    ->  /path/of/program         no library or folder there
 *      FOLDER/.failed.HASH   ->  ERROR:ERRNO/path/of/program    its recording cannot begin
 *
 * Whether the library can be loaded into them is checked at the end.  A link stores the
 * path without opening a file here, which a program with several threads might notice; a
 * child of vfork, which has its parent's memory, can make one, too.
 *
 * After chroot the loader would not find this library, and would write a message to the
 * program's standard error: such a program is started without it.  The folder is then
 * reached by a descriptor, which a process has from its first chroot on. */
#include "interpose-exec.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "next-function.h"
#include "peek.h"
#include "preload.h"
#include "system-call.h"

enum { ROOM = 1000 }; /* bytes of a path; stacks may be small */

static char folder[ROOM]; /* "": notes are off */

/* The folder, opened before chroot (0: none), and its identity, as the program may close
 * it, and as it is not open here if a child of vfork has opened it. */
static struct {
    int fd;
    dev_t device;
    ino_t inode;
} beyond;

TT_NEXT_FUNCTION(int, execve, const char *, char *const[], char *const[]);
TT_NEXT_FUNCTION(int, chroot, const char *);
TT_NEXT_FUNCTION(int, execvpe, const char *, char *const[], char *const[]);
TT_NEXT_FUNCTION(int, fexecve, int, char *const[], char *const[]);
TT_NEXT_FUNCTION(int, execveat, int, const char *, char *const[], char *const[], int);
TT_NEXT_FUNCTION(int, posix_spawn, pid_t *, const char *,
                 const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                 char *const[], char *const[]);
TT_NEXT_FUNCTION(int, posix_spawnp, pid_t *, const char *,
                 const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                 char *const[], char *const[]);

/* A child of fork must not call the loader. */
void tt_preload_note_programs(const char *in)
{
    folder[0] = '\0';
    if (!in || strlen(in) >= sizeof folder - 40)
        return;
    (void)next_execve(), (void)next_execvpe(), (void)next_chroot();
    (void)next_posix_spawn(), (void)next_posix_spawnp();
    (void)next_fexecve(), (void)next_execveat();
    memcpy(folder, in, strlen(in) + 1);
}

/* ── What the program passes ──────────────────────────────────────────────────────── */

enum { UNIT = 4096 }; /* divides a page */

/* Where a pointer leads nowhere, the system call fails with EFAULT, and we must not crash.
 * `unit` is where the last byte was. */
static int reaches(uintptr_t *unit, const void *at)
{
    const uintptr_t wanted = (uintptr_t)at & ~(uintptr_t)(UNIT - 1);

    if (*unit != wanted && !tt_peek_can((uintptr_t)at))
        return 0;
    *unit = wanted;
    return 1;
}

/* Is it a text that is shorter than a path may be? */
static int is_text(uintptr_t *unit, const char *text)
{
    for (size_t i = 0; i < PATH_MAX && reaches(unit, text + i); i++)
        if (!text[i])
            return 1;
    return 0;
}

static const char preload[] = "LD_PRELOAD=", ours[] = "/libtallytree-";

/* As far as we read it: the names, and the value of LD_PRELOAD. */
static int is_variable(uintptr_t *unit, const char *text)
{
    for (size_t i = 0; reaches(unit, text + i); i++)
        if (!preload[i])
            return is_text(unit, text);
        else if (text[i] != preload[i])
            return 1;
    return 0;
}

static int is_environment(char *const environment[])
{
    uintptr_t list = 1, text = 1; /* no unit begins there */

    for (; environment && reaches(&list, environment); environment++)
        if (!*environment)
            return 1;
        else if (!is_variable(&text, *environment))
            return 0;
    return !environment;
}

/* ── Notes ────────────────────────────────────────────────────────────────────────── */

static int is_executable(const char *path)
{
    return tt_call_system(SYS_faccessat,
                          (long[6]){AT_FDCWD, (long)(uintptr_t)path, X_OK}) == 0;
}

/* 0 if it is too long. */
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

/* The LD_PRELOAD variable if it contains our libraries; else NULL. */
static const char *find_us(char *const environment[])
{
    for (; environment && *environment; environment++)
        if (strncmp(*environment, preload, sizeof preload - 1) == 0)
            return strstr(*environment, ours) ? *environment : NULL;
    return NULL;
}

/* The length of the first of "A:B C" that is one of our libraries, and its begin. */
static size_t find_library(const char *list, const char **library)
{
    size_t length;

    for (list += sizeof preload - 1; *list; list += length) {
        list += strspn(list, ": ");
        length = strcspn(list, ": ");
        *library = list;
        if (memmem(list, length, ours, sizeof ours - 1))
            return length;
    }
    return 0;
}

static int is_readable(const char *path)
{
    return tt_call_system(SYS_faccessat,
                          (long[6]){AT_FDCWD, (long)(uintptr_t)path, R_OK}) == 0;
}

/* Can the program load our library, at its current path? */
static int has_us_there(const char *list)
{
    char path[ROOM];
    const char *library;
    size_t length = find_library(list, &library);

    if (!length || length >= sizeof path)
        return 1; /* cannot be improved */
    memcpy(path, library, length);
    path[length] = '\0';
    return is_readable(path);
}

enum note { STARTED, BARE, APART, FAILED };

static int is_ours(int fd)
{
    struct stat s;

    return fstat(fd, &s) == 0 && s.st_dev == beyond.device && s.st_ino == beyond.inode;
}

/* Has no chroot hidden the folder from this process? */
static int is_at_its_path(void)
{
    struct stat s;

    return stat(folder, &s) == 0 && s.st_dev == beyond.device && s.st_ino == beyond.inode;
}

static void make_note(const char *path, enum note kind)
{
    static const char *const prefix[] = {".started.", ".bare.", ".apart.", ".failed."};
    static const char digit[] = "0123456789abcdef";
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a */
    char name[sizeof folder];
    size_t length = 0;
    int at = AT_FDCWD;

    if (beyond.fd && is_ours(beyond.fd))
        at = beyond.fd;
    else if (beyond.fd && !is_at_its_path())
        return;
    else
        length = strlen(folder);
    for (const char *p = path; *p; p++)
        hash = (hash ^ (unsigned char)*p) * 0x100000001b3u;
    (void)join(name, folder, length, prefix[kind]);
    length = strlen(name);
    for (int i = 60; i >= 0; i -= 4)
        name[length++] = digit[hash >> i & 15];
    name[length] = '\0';
    (void)tt_call_system(SYS_symlinkat,
                         (long[6]){(long)(uintptr_t)path, at, (long)(uintptr_t)name});
}

/* A link needs no memory and no room in a file, which may be what there is none of. */
void tt_preload_note_failure(const char *in, int error, int reason)
{
    char target[ROOM + 24], path[ROOM];
    const long length = tt_call_system(
        SYS_readlinkat, (long[6]){AT_FDCWD, (long)(uintptr_t) "/proc/self/exe",
                                  (long)(uintptr_t)path, sizeof path - 1});

    if (length <= 0 || strlen(in) >= sizeof folder - 40)
        return;
    path[length] = '\0';
    (void)snprintf(target, sizeof target, "%d:%d%s", error, reason, path);
    memcpy(folder, in, strlen(in) + 1);
    make_note(target, FAILED);
    folder[0] = '\0';
}

/* Notes a program.  Returns whether LD_PRELOAD must not contain our libraries. */
static int note(const char *file, int in_path, char *const environment[])
{
    int saved = errno, is_apart;
    uintptr_t unit = 1;
    const char *list;
    enum note kind;
    char path[ROOM];

    if (!folder[0] || !file)
        return 0;
    if (!is_text(&unit, file) || !is_environment(environment)) {
        errno = saved;
        return 0;
    }
    list = find_us(environment);
    kind = list ? STARTED : BARE;
    is_apart = list && !has_us_there(list);
    if (is_apart || (list && beyond.fd && !is_executable(folder)))
        kind = APART;
    if ((in_path && !strchr(file, '/')
             ? find_in_path(path, file)
             : join(path, "", 0, file) && is_executable(path)) &&
        make_absolute(path))
        make_note(path, kind);
    errno = saved;
    return is_apart;
}

/* ── Without us ───────────────────────────────────────────────────────────────────── */

enum { MANY = 4096 }; /* the most variables that are copied onto the stack */

static size_t count_variables(char *const environment[])
{
    size_t n = 0;

    while (environment[n])
        n++;
    return n;
}

/* Copies the variables, without our libraries in the list; the changed list is `rest`. */
static void leave_us_out(char *const environment[], size_t count, char **copy, char *rest)
{
    const char *list = find_us(environment), *library;
    size_t length = find_library(list, &library), before = (size_t)(library - list);

    memcpy(rest, list, before);
    memcpy(rest + before, library + length, strlen(library + length) + 1);
    for (size_t i = 0; i <= count; i++)
        copy[i] = environment[i] == list ? rest : environment[i];
}

/* Calls `call` with an environment, on the stack, without our libraries. */
#define WITHOUT_US(environment, call)                                                    \
    do {                                                                                 \
        size_t count_ = count_variables(environment);                                    \
        if (count_ < MANY && strlen(find_us(environment)) < PATH_MAX) {                  \
            char **copy_ = __builtin_alloca((count_ + 1) * sizeof *copy_);               \
            char *rest_ = __builtin_alloca(strlen(find_us(environment)) + 1);            \
            leave_us_out(environment, count_, copy_, rest_);                             \
            (environment) = copy_;                                                       \
            return call;                                                                 \
        }                                                                                \
    } while (0)

/* ── The calls ────────────────────────────────────────────────────────────────────── */

/* The program may open as many files as before: this descriptor has a high number. */
static void keep_folder(void)
{
    static const int high[] = {1000, 500, 200};
    int fd, moved = -1;
    struct stat s;

    if (!folder[0] || (beyond.fd && (is_ours(beyond.fd) || !is_at_its_path())))
        return;
    fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; fd >= 0 && moved < 0 && i < sizeof high / sizeof *high; i++)
        moved = fcntl(fd, F_DUPFD_CLOEXEC, high[i]);
    if (fd >= 0)
        close(fd);
    if (moved < 0 || fstat(moved, &s) != 0)
        return;
    beyond.device = s.st_dev;
    beyond.inode = s.st_ino;
    beyond.fd = moved;
}

TT_INTERPOSE int chroot(const char *path)
{
    int saved = errno;

    keep_folder();
    errno = saved;
    return next_chroot()(path);
}

static int start(const char *path, char *const argv[], char *const environment[])
{
    int is_apart = note(path, 0, environment);

    tt_preload_leave();
    if (is_apart)
        WITHOUT_US(environment, tt_preload_stay(next_execve()(path, argv, environment)));
    return tt_preload_stay(next_execve()(path, argv, environment));
}

static int start_in_path(const char *file, char *const argv[], char *const environment[])
{
    int is_apart = note(file, 1, environment);

    tt_preload_leave();
    if (is_apart)
        WITHOUT_US(environment, tt_preload_stay(next_execvpe()(file, argv, environment)));
    return tt_preload_stay(next_execvpe()(file, argv, environment));
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

/* The words after the first one, with the NULL at the end. */
static size_t count_words(va_list list)
{
    size_t n = 1;

    while (va_arg(list, char *))
        n++;
    return n;
}

/* Some programs pass no arguments at all, which the headers forbid. */
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

/* There is no path that could be noted. */
TT_INTERPOSE int fexecve(int fd, char *const argv[], char *const environment[])
{
    tt_preload_leave();
    return tt_preload_stay(next_fexecve()(fd, argv, environment));
}

int execveat(int, const char *, char *const[], char *const[], int);
TT_INTERPOSE int execveat(int at, const char *path, char *const argv[],
                          char *const environment[], int flags)
{
    if (!next_execveat()) {
        errno = ENOSYS;
        return -1;
    }
    tt_preload_leave();
    return tt_preload_stay(next_execveat()(at, path, argv, environment, flags));
}

/* The call that returns to `at` may have started a child. */
static int spawned(int error, const pid_t *pid, const void *at)
{
    if (!error && pid && &tt_preload_collector && tt_preload_collector.spawned)
        tt_preload_collector.spawned(*pid, (uintptr_t)at);
    return error;
}

TT_INTERPOSE int posix_spawn(pid_t *pid, const char *path,
                             const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attributes, char *const argv[],
                             char *const environment[])
{
    if (note(path, 0, environment))
        WITHOUT_US(environment,
                   next_posix_spawn()(pid, path, actions, attributes, argv, environment));
    return spawned(next_posix_spawn()(pid, path, actions, attributes, argv, environment),
                   pid, __builtin_return_address(0));
}

TT_INTERPOSE int posix_spawnp(pid_t *pid, const char *file,
                              const posix_spawn_file_actions_t *actions,
                              const posix_spawnattr_t *attributes, char *const argv[],
                              char *const environment[])
{
    if (note(file, 1, environment))
        WITHOUT_US(environment, next_posix_spawnp()(pid, file, actions, attributes, argv,
                                                    environment));
    return spawned(next_posix_spawnp()(pid, file, actions, attributes, argv, environment),
                   pid, __builtin_return_address(0));
}
