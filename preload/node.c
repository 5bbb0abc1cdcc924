/* SPDX-License-Identifier: MIT */
/* node.c - names of the functions that Node compiles.
 *
 * Node's compiler, V8, writes /tmp/perf-PID.map if it is asked to: with $NODE_OPTIONS, which
 * Node reads in main.  Its interpreter is one function for all functions of a script; with
 * the other option, each function has a copy.
 *
 * V8 ends the program if it cannot make the file, and follows links.  So the file is made
 * here, and must be this user's.  Children inherit $NODE_OPTIONS; $TALLYTREE_NODE says that it
 * is ours. */
#include "node.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "layout.h"

/* Programs that contain Node export these, Node's binary or its library. */
extern void node_module_register(void *) __attribute__((weak));
extern const char *v8_version(void) __asm__("_ZN2v82V810GetVersionEv")
    __attribute__((weak));

static const char added[] = "--perf-basic-prof --interpreted-frames-native-stack";

static char text[96];

const char *tt_preload_node(void) { return text; }

/* Of Node 14 to 24.  Others may not know these options, and end. */
static int is_known(const char *version)
{
    unsigned major = 0, minor = 0;

    return sscanf(version, "%u.%u.", &major, &minor) == 2 && major * 100 + minor >= 804 &&
           major <= 13;
}

/* A snapshot of a program can only be read with the options with which it was made. */
static int has_snapshot(void)
{
    char words[4096];
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, words, sizeof words - 1) : -1;
    int has = 0;

    if (fd >= 0)
        close(fd);
    if (n < 0)
        return 1;
    words[n] = '\0';
    for (const char *w = words; w < words + n && !has; w += strlen(w) + 1)
        has = strstr(w, "-snapshot") != NULL;
    return has;
}

/* Not of a program that contains Node and has options of another kind. */
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

/* One that was left by a process with the same number is used, if it is this user's. */
static int make_file(void)
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
    return is;
}

/* A program that may write only small files gets a signal when a file grows. */
static int may_write(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == RLIM_INFINITY;
}

/* NULL: it can be asked for names. */
static const char *obstacle(void)
{
    if (!is_known(v8_version()))
        return "its options are not known";
    if (has_snapshot())
        return "a snapshot needs its own options";
    if (!may_write())
        return "the size of its files is limited";
    return make_file() ? NULL : "its file in /tmp cannot be written";
}

static void set(const char *options)
{
    char *all = NULL;

    if (options && asprintf(&all, "%s %s", options, added) < 0)
        return;
    (void)setenv("NODE_OPTIONS", all ? all : added, 1);
    (void)setenv("TALLYTREE_NODE", "1", 1);
    free(all);
}

/* As it was before a parent of this process has set it. */
static void take_back(char *options)
{
    char *at = options ? strstr(options, added) : NULL;

    if (at && at == options)
        (void)unsetenv("NODE_OPTIONS");
    else if (at)
        at[-1] = '\0'; /* ours are at the end */
    (void)unsetenv("TALLYTREE_NODE");
}

void tt_preload_name_node(int is_wanted)
{
    char *options = getenv("NODE_OPTIONS");
    const int is_ours = getenv("TALLYTREE_NODE") != NULL;
    const char *why;

    if (!is_node() || (options && !is_ours && strstr(options, "--perf-")))
        return; /* or the user reads the file */
    why = is_wanted ? obstacle() : "";
    if (why && is_ours)
        take_back(options);
    if (!why && !is_ours)
        set(options);
    if (is_wanted)
        (void)snprintf(text, sizeof text, "node, V8 %.24s, %s%s", v8_version(),
                       why ? "not shown: " : TT_NODE_NAMED, why ? why : "");
}
