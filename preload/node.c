/* SPDX-License-Identifier: MIT */
/* node.c - names of the functions that Node compiles.
 *
 * Node's compiler, V8, writes them into /tmp/perf-PID.map if a flag asks for it.  Its interpreter
 * is one function for all functions of a script; with the other flag, each has a copy.  Node
 * reads flags from $NODE_OPTIONS in main, before it makes its first thread.  Then the
 * variable has its former value again: scripts, workers and children do not see ours.
 *
 * V8 ends the program if it cannot make the file, and follows links.  So the file is made
 * here, and must be this user's. */
#include "node.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout.h"

/* Node's program or its library exports these. */
extern void node_module_register(void *) __attribute__((weak));
extern const char *v8_version(void) __asm__("_ZN2v82V810GetVersionEv")
    __attribute__((weak));

/* Without "only-functions", V8 writes another file, into the working directory. */
static const char compiled[] = "--perf-basic-prof-only-functions",
                  all[] = "--perf-basic-prof-only-functions "
                          "--interpreted-frames-native-stack";

static char *before; /* the value of $NODE_OPTIONS */
static int is_set;   /* now it has our flags, too */

/* Of Node 14.6 to 24.  Others have not been looked at. */
static int is_known(const char *version)
{
    unsigned major = 0, minor = 0;

    return sscanf(version, "%u.%u.", &major, &minor) == 2 && major * 100 + minor >= 804 &&
           major <= 13;
}

static int is_node(void)
{
    char path[4096];
    const ssize_t n = node_module_register && v8_version
                          ? readlink("/proc/self/exe", path, sizeof path - 1)
                          : 0;
    const char *base;

    if (n <= 0)
        return 0;
    path[n] = '\0';
    base = strrchr(path, '/');
    return base && (strcmp(base, "/node") == 0 || strcmp(base, "/nodejs") == 0);
}

static int has_option(const char *part)
{
    const char *options = getenv("NODE_OPTIONS");
    char words[4096];
    int fd, has = options && strstr(options, part);
    ssize_t n;

    if (has || (fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC)) < 0)
        return 1;
    n = read(fd, words, sizeof words - 1);
    close(fd);
    words[n > 0 ? n : 0] = '\0';
    for (const char *w = words; w < words + n && !has; w += strlen(w) + 1)
        has = strstr(w, part) != NULL;
    return has || n >= (ssize_t)sizeof words - 1;
}

/* The inode of the file; 0: it cannot be this user's.  One that was left by a process with the
 * same number is used again. */
static uint64_t make_file(void)
{
    char path[40];
    struct stat s;
    int fd, is;

    (void)snprintf(path, sizeof path, TT_PERF_MAP, (unsigned long long)getpid());
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0)
        return 0;
    is = fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && s.st_uid == geteuid() &&
         s.st_nlink == 1;
    close(fd);
    return is ? s.st_ino : 0;
}

/* A program that may write only small files gets a signal when a file grows. */
static int may_write(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

/* V8's own profiler takes its samples in a signal handler.  With the other flag that handler
 * takes a lock for each frame, and waits forever if it interrupts a holder of it. */
static int has_profiler(void)
{
    return has_option("--cpu-prof") || has_option("--prof") || has_option("--inspect");
}

static int set_flags(const char *flags)
{
    const char *options = getenv("NODE_OPTIONS");
    char *value = NULL;

    before = options ? strdup(options) : NULL;
    is_set = (!options || before) &&
             asprintf(&value, "%s%s%s", options ? options : "", options ? " " : "",
                      flags) >= 0 &&
             setenv("NODE_OPTIONS", value, 1) == 0;
    free(value);
    return is_set;
}

void tt_preload_node_has_read(void)
{
    if (!is_set)
        return;
    is_set = 0;
    if (before)
        (void)setenv("NODE_OPTIONS", before, 1);
    else
        (void)unsetenv("NODE_OPTIONS");
    free(before);
}

/* Returns why V8 is not asked; NULL: it is. */
static const char *ask(int is_partial, uint64_t *file)
{
    if (!is_known(v8_version()))
        return "this version is not supported";
    if (has_option("-snapshot"))
        return "a snapshot needs its own flags";
    if (!may_write())
        return "the size of files is limited";
    if (!(*file = make_file()))
        return "its file in /tmp cannot be made";
    return set_flags(is_partial ? compiled : all) ? NULL : "there is no memory";
}

uint64_t tt_preload_name_node(char *text, size_t size)
{
    uint64_t file = 0;
    const char *why, *what = ", not shown: ";
    int is_partial;

    if (!is_node())
        return 0;
    is_partial = has_profiler();
    why = has_option("--perf-") ? NULL
                                : ask(is_partial, &file); /* or its user has asked */
    if (!why && file && is_partial) {
        what = ", interpreted functions not shown: ";
        why = "its own profiler may run";
    }
    (void)snprintf(text, size, "node, V8 %.20s%s%s", v8_version(), why ? what : "",
                   why ? why : "");
    return file;
}
