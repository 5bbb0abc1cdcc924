/* SPDX-License-Identifier: MIT */
/* python-outside.c - the Python of another process: its addresses, from the symbols that
 * its file exports, and how its frames are copied while it is sampled. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file-exports.h"
#include "frame-copy.h"
#include "python-outside.h"
#include "python.h"

/* ── Exports of a file ────────────────────────────────────────────────────────────── */

enum { RUNTIME, CODE_TYPE, FRAME_TYPE, LOOP, VERSION, EXPORTS };
static const char *const exported[EXPORTS] = {"_PyRuntime", "PyCode_Type", "PyFrame_Type",
                                              "_PyEval_EvalFrameDefault", "Py_Version"};
static struct tt_exports known[TT_EXPORTS_FILES];

/* ── A process ────────────────────────────────────────────────────────────────────── */

/* "libpython3.9.so.1.0", "python3.9"; 0: another name. */
static uint32_t version_of_name(const char *path)
{
    const char *base = strrchr(path, '/'), *at = strstr(base ? base : path, "python");
    unsigned major, minor;

    return at && sscanf(at, "python%u.%u", &major, &minor) == 2 && major < 256 &&
                   minor < 256
               ? major << 8 | minor
               : 0;
}

static uint32_t version_in(struct tt_peek *peek, const uint64_t *e, uint64_t bias,
                           const char *path)
{
    uint64_t number;

    if (!e[VERSION])
        return version_of_name(path);
    return tt_peek_word(peek, e[VERSION] + bias, &number) ? (uint32_t)number >> 16 : 0;
}

static uint64_t at_run_time(uint64_t address, uint64_t bias)
{
    return address ? address + bias : 0;
}

/* Until the loader has relocated the file, the tables of its types are not complete. */
static int is_loaded(struct tt_peek *peek, const struct tt_python *p)
{
    enum { MEMBERS = 240 };
    uint64_t members, name;

    return tt_peek_word(peek, p->code_type + MEMBERS, &members) &&
           tt_peek_word(peek, members, &name) && name &&
           tt_peek_word(peek, name, &members);
}

static struct tt_python *make(struct tt_peek *peek, const uint64_t *e, uint64_t bias,
                              const char *path)
{
    static uint64_t salt;
    struct tt_python *p = calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->runtime = at_run_time(e[RUNTIME], bias);
    p->code_type = at_run_time(e[CODE_TYPE], bias);
    p->frame_type = at_run_time(e[FRAME_TYPE], bias);
    p->loop = at_run_time(e[LOOP], bias);
    if (!is_loaded(peek, p)) {
        free(p);
        return NULL;
    }
    tt_python_init(p, peek, version_in(peek, e, bias, path));
    p->base.salt = ++salt;
    return p;
}

struct tt_python *tt_python_of(pid_t pid, const struct tt_modules *modules,
                               const struct tt_regions *regions, struct tt_peek *peek)
{
    for (size_t i = 0; i < regions->count; i++) {
        const struct tt_region *r = &regions->at[i];
        const struct tt_mapping *m = *r->path == '/' && modules
                                         ? tt_modules_find(modules, r->start)
                                         : NULL;
        const uint64_t *e = m ? tt_exports_of(known, exported, EXPORTS, m->module, r, pid)
                              : NULL;
        if (e && e[RUNTIME] && e[CODE_TYPE])
            return make(peek, e, m->bias, r->path);
    }
    return NULL;
}

struct tt_python *tt_python_copy(const struct tt_python *p)
{
    struct tt_python *copy = malloc(sizeof *copy);

    if (copy)
        *copy = *p;
    return copy;
}

struct tt_interpreter *tt_python_interpreter(struct tt_python *p) { return &p->base; }
uint64_t tt_python_loop(const struct tt_python *p) { return p->loop; }

/* ── Its frames ───────────────────────────────────────────────────────────────────── */

static uint64_t state_size(const struct tt_python_layout *l)
{
    enum { CFRAME = 24 };
    uint64_t end = l->thread.frame + sizeof(uint64_t);

    if (l->has_cframe && l->thread.root + CFRAME > end)
        end = l->thread.root + CFRAME;
    return end < TT_CHAIN_STATE ? end : TT_CHAIN_STATE;
}

int tt_python_chain(const struct tt_python *p, pid_t pid, struct tt_frame_chain *out)
{
    const struct tt_python_layout *l = &p->layout;
    char path[64];
    struct stat s;

    (void)snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
    if (stat(path, &s) != 0)
        return 0;
    *out = (struct tt_frame_chain){
        .device = s.st_dev,
        .inode = s.st_ino,
        .interpreters = p->runtime + l->runtime.interpreters,
        .next_interpreter = l->interpreter.next,
        .threads = l->interpreter.threads,
        .next_thread = l->thread.next,
        .thread_id = l->thread.id,
        .key = l->runtime.key ? p->runtime + l->runtime.key : 0,
        .current = l->runtime.current ? p->runtime + l->runtime.current : 0,
        .first = l->thread.frame,
        .state_size = state_size(l),
        .cframe = l->has_cframe ? l->cframe.frame : UINT64_MAX,
        .begin = l->frame.begin,
        .size = l->frame.end - l->frame.begin,
        .previous = l->frame.previous,
        .code = l->frame.code,
        .mask = l->is_tagged ? ~(uint64_t)3 : UINT64_MAX,
        .name = l->code.name,
    };
    return 1;
}
