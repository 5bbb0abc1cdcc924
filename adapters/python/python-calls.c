/* SPDX-License-Identifier: MIT */
/* python-calls.c - a thread's open activations, and the blocks of its functions.
 *
 * A code object has room for extra data of others.  Its block is kept there, so that a
 * freed code object's block is never used for another one.  The key of a C function is
 * its definition, which nearly always exists for good. */
#include "python-calls.h"

#include <pthread.h>
#include <stdlib.h>

/* ── What is open ─────────────────────────────────────────────────────────────────── */

struct activations {
    struct open {
        const void *key;
        tt_mark mark;
    } * open;
    uint32_t count, room, recording;
};

static __thread struct activations here;
static uint32_t recording = 1; /* counts them */

static pthread_key_t key_of_threads;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void forget_thread(void *of)
{
    struct activations *a = of;

    free(a->open);
    *a = (struct activations){0};
}

static void make_key(void) { (void)pthread_key_create(&key_of_threads, forget_thread); }

static int grow(struct activations *a)
{
    uint32_t room = a->room * 2 + 64;
    struct open *grown = realloc(a->open, room * sizeof *grown);

    if (!grown)
        return -1;
    if (!a->open) {
        (void)pthread_once(&once, make_key);
        (void)pthread_setspecific(key_of_threads, a);
    }
    a->open = grown;
    a->room = room;
    return 0;
}

void tt_python_enter(const void *key, tt_block block)
{
    struct activations *a = &here;

    if (a->recording != recording) {
        a->count = 0;
        a->recording = recording;
    }
    if (a->count == a->room && grow(a) != 0)
        return;
    a->open[a->count++] = (struct open){key, tt_push(block)};
}

void tt_python_leave(const void *key)
{
    struct activations *a = &here;
    uint32_t i = a->recording == recording ? a->count : 0;

    while (i && a->open[i - 1].key != key)
        i--;
    if (!i)
        return;
    tt_pop(a->open[i - 1].mark);
    a->count = i - 1;
}

void tt_python_forget(void) { recording++; }

/* ── Functions of Python ──────────────────────────────────────────────────────────── */

#if PY_VERSION_HEX < 0x030c0000
#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#define PyUnstable_Code_GetExtra _PyCode_GetExtra
#define PyUnstable_Code_SetExtra _PyCode_SetExtra
#endif
#if PY_VERSION_HEX < 0x030b0000
#define co_qualname co_name
#endif

static Py_ssize_t extra = -1;
#define HIDDEN ((void *)UINTPTR_MAX) /* extra data of a hidden function */

static const char *text_of(PyObject *str)
{
    const char *text = str && PyUnicode_Check(str) ? PyUnicode_AsUTF8(str) : NULL;

    return text ? text : "?";
}

/* The name that `record` has for the module of Python's functions. */
static const char *module_name(void)
{
    static char name[32];

    if (!*name)
        (void)snprintf(name, sizeof name, "python %d.%d", PY_MAJOR_VERSION,
                       PY_MINOR_VERSION);
    return name;
}

static tt_block make_block(PyCodeObject *code)
{
    struct tt_block_info info = {.name = text_of(code->co_qualname),
                                 .module = module_name(),
                                 .file = text_of(code->co_filename)};

    info.line = code->co_firstlineno > 0 ? (uint32_t)code->co_firstlineno : 0;
    return tt_block_make(&info);
}

static tt_block make_and_keep(PyObject *code)
{
    PyObject *type, *value, *trace;
    tt_block block;

    PyErr_Fetch(&type, &value, &trace);
    block = make_block((PyCodeObject *)code);
    if (extra >= 0 &&
        PyUnstable_Code_SetExtra(code, extra, (void *)(uintptr_t)block) != 0)
        PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return block;
}

static int has_extra(void)
{
    if (extra < 0)
        extra = PyUnstable_Eval_RequestCodeExtraIndex(NULL);
    return extra >= 0;
}

tt_block tt_python_block(PyObject *code)
{
    void *kept = NULL;

    if (has_extra())
        (void)PyUnstable_Code_GetExtra(code, extra, &kept);
    if (kept == HIDDEN)
        return 0;
    return kept ? (tt_block)(uintptr_t)kept : make_and_keep(code);
}

int tt_python_hide(PyObject *code)
{
    return has_extra() ? PyUnstable_Code_SetExtra(code, extra, HIDDEN) : 0;
}

/* ── Functions in C ───────────────────────────────────────────────────────────────── */

struct definition {
    const PyMethodDef *method;
    const char *name;
    PyCFunction function; /* both as they were: another one may get its address */
    tt_block block;
};

static struct {
    struct definition *at;
    uint32_t count, size; /* a power of two */
} definitions;

static struct definition *place_of(struct definition *at, uint32_t size,
                                   const PyMethodDef *method)
{
    uint64_t i = ((uintptr_t)method * 0x9e3779b97f4a7c15u) >> 32;

    while (at[i & (size - 1)].method && at[i & (size - 1)].method != method)
        i++;
    return &at[i & (size - 1)];
}

static int grow_definitions(void)
{
    uint32_t size = definitions.size ? definitions.size * 2 : 256;
    struct definition *grown = calloc(size, sizeof *grown);

    if (!grown)
        return -1;
    for (uint32_t i = 0; i < definitions.size; i++)
        if (definitions.at[i].method)
            *place_of(grown, size, definitions.at[i].method) = definitions.at[i];
    free(definitions.at);
    definitions.at = grown;
    definitions.size = size;
    return 0;
}

/* `builtins.len`, `list.append`. */
static tt_block make_c_block(PyObject *function, const PyMethodDef *method)
{
    PyObject *type, *value, *trace, *name, *module;
    struct tt_block_info info = {.name = method->ml_name, .module = "C"};
    tt_block block;

    PyErr_Fetch(&type, &value, &trace);
    name = PyObject_GetAttrString(function, "__qualname__");
    PyErr_Clear();
    module = PyObject_GetAttrString(function, "__module__");
    PyErr_Clear();
    if (name && PyUnicode_Check(name))
        info.name = text_of(name);
    if (module && PyUnicode_Check(module))
        info.module = text_of(module);
    block = tt_block_make(&info);
    Py_XDECREF(name);
    Py_XDECREF(module);
    PyErr_Restore(type, value, trace);
    return block;
}

static const PyMethodDef *definition_of(PyObject *function)
{
    if (Py_TYPE(function) == &PyMethodDescr_Type)
        return ((PyMethodDescrObject *)(void *)function)->d_method;
    return PyCFunction_Check(function) ? ((PyCFunctionObject *)(void *)function)->m_ml
                                       : NULL;
}

tt_block tt_python_c_block(PyObject *function, const void **key)
{
    const PyMethodDef *method = definition_of(function);
    struct definition *d;

    *key = method && !tt_python_is_own(method) ? method : NULL;
    if (!*key || (definitions.count * 2 >= definitions.size && grow_definitions() != 0))
        return 0;
    d = place_of(definitions.at, definitions.size, method);
    if (!d->method || d->name != method->ml_name || d->function != method->ml_meth) {
        definitions.count += !d->method;
        *d = (struct definition){method, method->ml_name, method->ml_meth,
                                 make_c_block(function, method)};
    }
    return d->block;
}
