/* SPDX-License-Identifier: MIT */
/* interpose-exec.c - notes which programs are started.
 *
 *      FOLDER/.started.HASH  ->  /path/of/program         with this library
 *      FOLDER/.bare.HASH     ->  /path/of/program         without: it is not seen
 *      FOLDER/.apart.HASH    ->  /path/of/program         no library or folder there
 *      FOLDER/.failed.HASH   ->  ERROR:ERRNO/path/of/program    its recording cannot begin
 *      FOLDER/.tight.HASH    ->  /path/of/program         its limit of memory is low
 *
 * Whether the library can be loaded into them is checked at the end.  A link stores the
 * path without opening a file here, which a program with several threads might notice; a
 * child of vfork, which has its parent's memory, can make one, too.
 *
 * After chroot the loader would not find this library, and would write a message to the
 * program's standard error: such a program is started without it.  The folder is then
 * reached by a descriptor, which a process has from its first chroot on. */
#include "interpose-exec.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "next-function.h"
#include "peek.h"
#include "preload.h"
#include "program-file.h"
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

/* LD_PRELOAD after chroot, without our libraries, and as it was before. */
static struct {
    char *before;
    char now[ROOM];
} shortened;

/* The LD_PRELOAD variable if it contains our libraries; else NULL. */
static const char *find_us(char *const environment[])
{
    for (; environment && *environment; environment++)
        if (*environment == shortened.now)
            return shortened.before;
        else if (strncmp(*environment, preload, sizeof preload - 1) == 0)
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

/* The loader of this program, which loads our library; "": unknown. */
static struct {
    char loader[256];
    Elf64_Half machine;
} us;

static void know_loader(void)
{
    const int fd = tt_program_file_open("/proc/self/exe");
    Elf64_Ehdr e;

    if (fd < 0)
        return;
    if (tt_program_file_header(fd, &e) &&
        tt_program_file_loader(fd, &e, us.loader, sizeof us.loader) != 1)
        us.loader[0] = '\0';
    us.machine = e.e_machine;
    tt_program_file_close(fd);
}

static int has_our_loader(int fd, const Elf64_Ehdr *e)
{
    char loader[sizeof us.loader];

    return e->e_ident[EI_CLASS] == ELFCLASS64 && e->e_machine == us.machine &&
           (tt_program_file_loader(fd, e, loader, sizeof loader) != 1 ||
            strcmp(loader, us.loader) == 0);
}

/* 0: another C library's loader, or one of another word size, does not start the program, or
 * writes a message.  A static program has none, and its children may load us. */
static int takes_us(const char *path)
{
    int is_script = 1, takes = 1;
    char interpreter[256];
    Elf64_Ehdr e;

    for (int i = 0; us.loader[0] && is_script && i < TT_SCRIPTS_MAX; i++) {
        const int fd = tt_program_file_open(path);
        if (fd < 0)
            return 1;
        is_script = tt_program_file_interpreter(fd, interpreter, sizeof interpreter);
        if (!is_script && tt_program_file_header(fd, &e))
            takes = has_our_loader(fd, &e);
        tt_program_file_close(fd);
        path = interpreter;
    }
    return takes;
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

enum note { STARTED, BARE, APART, FAILED, TIGHT };

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
    static const char *const prefix[] = {".started.", ".bare.", ".apart.", ".failed.",
                                         ".tight."};
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
static void note_self(const char *in, const char *before, enum note kind)
{
    char target[ROOM + 24], path[ROOM];
    const long length = tt_call_system(
        SYS_readlinkat, (long[6]){AT_FDCWD, (long)(uintptr_t) "/proc/self/exe",
                                  (long)(uintptr_t)path, sizeof path - 1});

    if (length <= 0 || strlen(in) >= sizeof folder - 40)
        return;
    path[length] = '\0';
    (void)snprintf(target, sizeof target, "%s%s", before, path);
    memcpy(folder, in, strlen(in) + 1);
    make_note(target, kind);
    folder[0] = '\0';
}

void tt_preload_note_failure(const char *in, int error, int reason)
{
    char numbers[24];

    (void)snprintf(numbers, sizeof numbers, "%d:%d", error, reason);
    note_self(in, numbers, FAILED);
}

void tt_preload_note_tight(const char *in) { note_self(in, "", TIGHT); }

int tt_preload_is_tight(uint64_t bytes, uint64_t data)
{
    enum { SHARE = 4 };
    struct rlimit space, private;

    return (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur / SHARE < bytes) ||
           (getrlimit(RLIMIT_DATA, &private) == 0 && private.rlim_cur / SHARE < data);
}

/* Could the loader not map our libraries into the program? */
static int has_no_room(void)
{
    enum { LIBRARY = 4 << 20 };

    return tt_preload_is_tight(LIBRARY, LIBRARY);
}

static int find_program(char *path, const char *file, int in_path)
{
    return in_path && !strchr(file, '/') ? find_in_path(path, file)
                                         : join(path, "", 0, file) && is_executable(path);
}

static int is_without_us; /* set before the system calls of this process are restricted */

/* Notes a program.  Returns whether LD_PRELOAD must not contain our libraries. */
static int note(const char *file, int in_path, char *const environment[])
{
    int saved = errno, is_tight, is_apart, is_other = 0;
    uintptr_t unit = 1;
    const char *list;
    char path[ROOM];

    if (is_without_us)
        return environment && find_us(environment);
    if (!folder[0] || !file)
        return 0;
    if (!is_text(&unit, file) || !is_environment(environment)) {
        errno = saved;
        return 0;
    }
    list = find_us(environment);
    is_tight = list && has_no_room();
    is_apart = list && !has_us_there(list);
    if (find_program(path, file, in_path)) {
        is_other = list && !is_apart && !takes_us(path);
        if (make_absolute(path))
            make_note(path, !list      ? BARE
                            : is_tight ? TIGHT
                            : is_apart || (beyond.fd && !is_executable(folder))
                                ? APART
                                : STARTED);
    }
    errno = saved;
    return is_tight || is_apart || is_other;
}

/* The same for a descriptor. */
static int note_open(int fd, char *const environment[])
{
    char link[32], path[ROOM];
    const int saved = errno;
    long length;

    if (is_without_us)
        return note(NULL, 0, environment);
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    path[0] = '\0';
    length = tt_call_system(SYS_readlinkat,
                            (long[6]){AT_FDCWD, (long)(uintptr_t)link,
                                      (long)(uintptr_t)path, sizeof path - 1});
    errno = saved;
    if (length <= 0 || path[0] != '/')
        return 0;
    path[length] = '\0';
    return note(path, 0, environment);
}

static int note_at(int at, const char *path, char *const environment[])
{
    uintptr_t unit = 1;

    if (is_without_us)
        return note(NULL, 0, environment);
    if (!is_text(&unit, path))
        return 0;
    if (!*path)
        return note_open(at, environment);
    return at == AT_FDCWD || *path == '/' ? note(path, 0, environment) : 0;
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

static void shorten(const char *list, char *rest)
{
    const char *library = list;
    size_t length = find_library(list, &library), before = (size_t)(library - list);

    memcpy(rest, list, before);
    memcpy(rest + before, library + length, strlen(library + length) + 1);
}

/* Copies the variables, without our libraries in the list; the changed list is `rest`. */
static void leave_us_out(char *const environment[], size_t count, char **copy, char *rest)
{
    const char *list = find_us(environment);

    shorten(list, rest);
    for (size_t i = 0; i <= count; i++)
        copy[i] = environment[i] == list ? rest : environment[i];
}

/* The C library's system() and popen() start programs with `environ`, unseen by us: so it is
 * changed in place.  Not in a child of vfork: it is its parent's, which is not restricted. */
void tt_preload_start_without_us(void)
{
    const char *list = find_us(environ), *library;
    size_t length = list ? find_library(list, &library) : 0;

    is_without_us = 1;
    if (length && tt_preload_is_here())
        memmove((char *)(uintptr_t)library, library + length,
                strlen(library + length) + 1);
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

/* The environment is also that of what system and popen start.  Memory of a child of vfork is
 * its parent's. */
static void follow_root(void)
{
    if (!folder[0] || !tt_preload_is_here() || !is_environment(environ))
        return;
    for (char **e = environ; e && *e; e++)
        if (*e == shortened.now) {
            if (has_us_there(shortened.before))
                *e = shortened.before;
        } else if (strncmp(*e, preload, sizeof preload - 1) == 0 && strstr(*e, ours) &&
                   !has_us_there(*e) && strlen(*e) < sizeof shortened.now) {
            shorten(*e, shortened.now);
            shortened.before = *e;
            *e = shortened.now;
        }
}

TT_INTERPOSE int chroot(const char *path)
{
    int saved = errno, result;

    keep_folder();
    errno = saved;
    result = next_chroot()(path);
    saved = errno;
    if (result == 0)
        follow_root();
    errno = saved;
    return result;
}

static int start_by(execve_function *call, const char *path, char *const argv[],
                    char *const environment[])
{
    int is_apart = note(path, 0, environment);

    tt_preload_leave();
    if (is_apart)
        WITHOUT_US(environment, tt_preload_stay(call(path, argv, environment)));
    return tt_preload_stay(call(path, argv, environment));
}

static int start(const char *path, char *const argv[], char *const environment[])
{
    return start_by(next_execve(), path, argv, environment);
}

static int call_execve(const char *path, char *const argv[], char *const environment[])
{
    return (int)tt_call_system(SYS_execve,
                               (long[6]){(long)(uintptr_t)path, (long)(uintptr_t)argv,
                                         (long)(uintptr_t)environment});
}

int tt_preload_execve(const long a[6])
{
    return start_by(call_execve, (const char *)(uintptr_t)a[0],
                    (char *const *)(uintptr_t)a[1], (char *const *)(uintptr_t)a[2]);
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

TT_INTERPOSE int fexecve(int fd, char *const argv[], char *const environment[])
{
    int is_apart = note_open(fd, environment);

    tt_preload_leave();
    if (is_apart)
        WITHOUT_US(environment, tt_preload_stay(next_fexecve()(fd, argv, environment)));
    return tt_preload_stay(next_fexecve()(fd, argv, environment));
}

int execveat(int, const char *, char *const[], char *const[], int);
TT_INTERPOSE int execveat(int at, const char *path, char *const argv[],
                          char *const environment[], int flags)
{
    int is_apart = note_at(at, path, environment);

    if (!next_execveat()) {
        errno = ENOSYS;
        return -1;
    }
    tt_preload_leave();
    if (is_apart)
        WITHOUT_US(environment,
                   tt_preload_stay(next_execveat()(at, path, argv, environment, flags)));
    return tt_preload_stay(next_execveat()(at, path, argv, environment, flags));
}

/* ── Children ─────────────────────────────────────────────────────────────────────── */

/* The call that returns to `at` may have started a child. */
static int spawned(int error, const pid_t *pid, const void *at)
{
    if (!error && pid && &tt_preload_collector && tt_preload_collector.spawned)
        tt_preload_collector.spawned(*pid, (uintptr_t)at);
    return error;
}

#define SPAWN(next, in_path)                                                             \
    do {                                                                                 \
        const void *at_ = __builtin_return_address(0);                                   \
        if (note(file, in_path, environment))                                            \
            WITHOUT_US(environment,                                                      \
                       spawned(next(pid, file, actions, attributes, argv, environment),  \
                               pid, at_));                                               \
        return spawned(next(pid, file, actions, attributes, argv, environment), pid,     \
                       at_);                                                             \
    } while (0)

TT_INTERPOSE int posix_spawn(pid_t *pid, const char *file,
                             const posix_spawn_file_actions_t *actions,
                             const posix_spawnattr_t *attributes, char *const argv[],
                             char *const environment[])
{
    SPAWN(next_posix_spawn(), 0);
}

TT_INTERPOSE int posix_spawnp(pid_t *pid, const char *file,
                              const posix_spawn_file_actions_t *actions,
                              const posix_spawnattr_t *attributes, char *const argv[],
                              char *const environment[])
{
    SPAWN(next_posix_spawnp(), 1);
}

/* Those of programs from before 2012 also start scripts without an interpreter. */
#if defined __x86_64__ && defined __GLIBC__
static posix_spawn_function *old_spawn, *old_spawnp;

static void find_old(void)
{
    old_spawn = (posix_spawn_function *)dlvsym(RTLD_NEXT, "posix_spawn", "GLIBC_2.2.5");
    old_spawnp = (posix_spawn_function *)dlvsym(RTLD_NEXT, "posix_spawnp", "GLIBC_2.2.5");
}

posix_spawn_function tt_preload_old_spawn, tt_preload_old_spawnp;
__asm__(".symver tt_preload_old_spawn, posix_spawn@GLIBC_2.2.5, remove\n\t"
        ".symver tt_preload_old_spawnp, posix_spawnp@GLIBC_2.2.5, remove");

TT_INTERPOSE int tt_preload_old_spawn(pid_t *pid, const char *file,
                                      const posix_spawn_file_actions_t *actions,
                                      const posix_spawnattr_t *attributes,
                                      char *const argv[], char *const environment[])
{
    if (!old_spawn)
        find_old();
    SPAWN(old_spawn, 0);
}

TT_INTERPOSE int tt_preload_old_spawnp(pid_t *pid, const char *file,
                                       const posix_spawn_file_actions_t *actions,
                                       const posix_spawnattr_t *attributes,
                                       char *const argv[], char *const environment[])
{
    if (!old_spawnp)
        find_old();
    SPAWN(old_spawnp, 1);
}
#else
static void find_old(void) {}
#endif

/* A child of fork must not call the loader. */
void tt_preload_note_programs(const char *in)
{
    folder[0] = '\0';
    if (!in || strlen(in) >= sizeof folder - 40)
        return;
    (void)next_execve(), (void)next_execvpe(), (void)next_chroot();
    (void)next_posix_spawn(), (void)next_posix_spawnp();
    (void)next_fexecve(), (void)next_execveat();
    find_old();
    know_loader();
    memcpy(folder, in, strlen(in) + 1);
}
