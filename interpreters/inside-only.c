/* SPDX-License-Identifier: MIT */
/* inside-only.c - finds the interpreters that are only read from inside a process, by
 * the names of files, and then by a symbol that the file exports.
 *
 * The names that V8 writes are read from outside, too, if Node was started with the flags
 * for them. */
#include "inside-only.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "file-exports.h"
#include "modules.h"

enum { KINDS = 4, NODE = 3, WORDS_SIZE = 1 << 16 };

static const char from_outside[] = "it is recorded from outside";
static const struct kind {
    const char *file, *symbol; /* how the file's name begins, without "lib" */
    struct tt_interpreter interpreter;
} kinds[KINDS] = {
    {"perl", "Perl_runops_standard", {.name = "perl", .off = from_outside}},
    {"php", "execute_ex", {.name = "php", .off = from_outside}},
    {"ruby", "ruby_init", {.name = "ruby", .off = from_outside}},
    [NODE] = {"node", "node_module_register", {.name = "node", .off = from_outside}},
};
static struct tt_exports known[KINDS][TT_EXPORTS_FILES];

/* Words that end in zeros; how many bytes, and a zero more. */
static size_t read_words(pid_t pid, const char *file, char words[WORDS_SIZE])
{
    char path[64];
    ssize_t n = -1;
    int fd;

    (void)snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    if ((fd = open(path, O_RDONLY | O_CLOEXEC)) >= 0) {
        n = read(fd, words, WORDS_SIZE - 1);
        close(fd);
    }
    words[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

/* --perf-basic-prof, or --perf_basic_prof_only_functions */
static int asks_for_names(const char *word)
{
    static const char flag[] = "--perf-basic-prof";
    size_t i = 0;

    while (flag[i] && (word[i] == flag[i] || (flag[i] == '-' && word[i] == '_')))
        i++;
    return !flag[i];
}

/* Is the next word its value, and not the script? */
static int has_value(const char *option)
{
    static const char *const options[] = {
        "-e",           "--eval",   "-p",        "--print",
        "-pe",          "-r",       "--require", "-C",
        "--conditions", "--import", "--loader",  "--experimental-loader"};

    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcmp(option, options[i]) == 0)
            return 1;
    return 0;
}

/* Node's own options come before the script. */
static int options_ask(const char *words, size_t size)
{
    const char *before = "";

    for (const char *w = words + strlen(words) + 1; w < words + size;
         before = w, w += strlen(w) + 1)
        if (asks_for_names(w))
            return 1;
        else if (strcmp(w, "--") == 0 || (*w != '-' && !has_value(before)))
            return 0;
    return 0;
}

static int environment_asks(const char *words, size_t size)
{
    static const char name[] = "NODE_OPTIONS=";

    for (const char *w = words; w < words + size; w += strlen(w) + 1)
        if (strncmp(w, name, sizeof name - 1) == 0)
            for (const char *o = w + sizeof name - 1; o; o = strchr(o, ' '))
                if (asks_for_names(o += strspn(o, " \"")))
                    return 1;
    return 0;
}

static int writes_names(pid_t pid)
{
    static char words[WORDS_SIZE];

    return options_ask(words, read_words(pid, "cmdline", words)) ||
           environment_asks(words, read_words(pid, "environ", words));
}

const struct tt_interpreter *tt_inside_only(pid_t pid, const struct tt_modules *modules,
                                            const struct tt_region *r)
{
    const char *base = strrchr(r->path, '/');
    const struct tt_mapping *m;

    if (!base++ || !modules)
        return NULL;
    base += strncmp(base, "lib", 3) == 0 ? 3 : 0;
    for (int k = 0; k < KINDS; k++)
        if (strncmp(base, kinds[k].file, strlen(kinds[k].file)) == 0 &&
            (m = tt_modules_find(modules, r->start)) &&
            *tt_exports_of(known[k], &kinds[k].symbol, 1, m->module, r, pid))
            return k == NODE && writes_names(pid) ? NULL : &kinds[k].interpreter;
    return NULL;
}
