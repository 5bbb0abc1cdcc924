/* SPDX-License-Identifier: MIT */
/* python-scopes.c - the module that is in the package `tallytree`: start, stop and scopes.
 *
 * Starts nest, as those of the library; the outermost one that wants functions has them until
 * the outermost stop. */
#include "python-calls.h"

#include <structmember.h>

static int starts, has_functions;

/* ── Scopes ───────────────────────────────────────────────────────────────────────── */

struct scope {
    PyObject_HEAD PyObject *name;
    tt_block block;
};

static int init_scope(PyObject *self, PyObject *args, PyObject *words)
{
    static char first[] = "name", *names[] = {first, NULL};
    struct scope *s = (void *)self;
    struct tt_block_info info = {.kind = TT_KIND_SCOPE};
    PyObject *name, *old = s->name;

    if (!PyArg_ParseTupleAndKeywords(args, words, "U:scope", names, &name))
        return -1;
    info.name = PyUnicode_AsUTF8(name);
    if (!info.name)
        return -1;
    s->block = tt_block_make(&info);
    Py_INCREF(name);
    s->name = name;
    Py_XDECREF(old);
    return 0;
}

static void free_scope(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    Py_CLEAR(((struct scope *)(void *)self)->name);
    type->tp_free(self);
    if (type->tp_flags & Py_TPFLAGS_HEAPTYPE)
        Py_DECREF(type);
}

static PyObject *enter_scope(PyObject *self, PyObject *none)
{
    struct scope *s = (void *)self;

    (void)none;
    if (s->block)
        tt_python_enter(s, s->block);
    Py_INCREF(self);
    return self;
}

static PyObject *leave_scope(PyObject *self, PyObject *args)
{
    (void)args;
    tt_python_leave(self);
    Py_RETURN_NONE;
}

static PyMethodDef scope_methods[] = {
    {"__enter__", enter_scope, METH_NOARGS, "Charges to the scope from here."},
    {"__exit__", leave_scope, METH_VARARGS, "Charges to what was before."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef scope_members[] = {
    {"name", T_OBJECT, offsetof(struct scope, name), READONLY, "As reports call it."},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject scope_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "tallytree.scope",
    .tp_basicsize = sizeof(struct scope),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = PyType_GenericNew,
    .tp_init = init_scope,
    .tp_dealloc = free_scope,
    .tp_methods = scope_methods,
    .tp_members = scope_members,
};

/* ── Start and stop ───────────────────────────────────────────────────────────────── */

static PyObject *failed(int error)
{
    PyErr_Format(error == -TT_ERR_OPTION ? PyExc_ValueError : PyExc_RuntimeError,
                 "tallytree: %s", tt_error_text(error));
    return NULL;
}

static PyObject *start(PyObject *module, PyObject *args, PyObject *words)
{
    static char first[] = "options", second[] = "functions",
                *names[] = {first, second, NULL};
    const char *options = "";
    int functions = 1, error;

    if (!PyArg_ParseTupleAndKeywords(args, words, "|s$p:start", names, &options,
                                     &functions))
        return NULL;
    error = tt_start(options);
    if (error != 0)
        return failed(error);
    if (functions && !has_functions && tt_python_events_begin(module) != 0) {
        (void)tt_stop();
        return NULL;
    }
    has_functions |= functions;
    starts++;
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *module, PyObject *none)
{
    int error, ended = 0;

    (void)none;
    if (!starts)
        return failed(-TT_ERR_STATE);
    if (starts == 1 && has_functions) {
        ended = tt_python_events_end(module);
        has_functions = 0;
    }
    if (--starts == 0)
        tt_python_forget();
    error = tt_stop();
    if (ended != 0)
        return NULL;
    if (error != 0)
        return failed(error);
    Py_RETURN_NONE;
}

static PyObject *print_report(PyObject *module, PyObject *args)
{
    int fd, error;

    (void)module;
    if (!PyArg_ParseTuple(args, "i:print_report", &fd))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    error = tt_print(fd);
    Py_END_ALLOW_THREADS;
    if (error != 0)
        return failed(error);
    Py_RETURN_NONE;
}

static PyObject *hide(PyObject *module, PyObject *code)
{
    (void)module;
    if (!PyCode_Check(code)) {
        PyErr_SetString(PyExc_TypeError, "hide: this is no code object");
        return NULL;
    }
    if (tt_python_hide(code) != 0)
        return NULL;
    Py_RETURN_NONE;
}

/* ── The module ───────────────────────────────────────────────────────────────────── */

static PyMethodDef methods[] = {
    {"start", (PyCFunction)(void (*)(void))start, METH_VARARGS | METH_KEYWORDS,
     "start(options='', *, functions=True)\n--\n\n"
     "Start a recording of the whole process.  OPTIONS are words as in tt_start of\n"
     "tallytree(3), for instance 'output=run.tt,calls'.  Starts nest.  Without "
     "FUNCTIONS\n"
     "only scopes are recorded."},
    {"stop", stop, METH_NOARGS, "stop()\n--\n\nEnd what the outermost start began."},
    {"print_report", print_report, METH_VARARGS, "The report, to a file descriptor."},
    {"hide", hide, METH_O, "Leaves a code object out."},
    {NULL, NULL, 0, NULL},
};

static int is_in(const PyMethodDef *method, const PyMethodDef *table)
{
    while (table->ml_name && table != method)
        table++;
    return table->ml_name != NULL;
}

int tt_python_is_own(const PyMethodDef *method)
{
    return is_in(method, methods) || is_in(method, scope_methods) ||
           is_in(method, tt_python_event_methods);
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_tallytree",
    .m_doc = "Tallytree's library, for the package `tallytree`.",
    .m_size = -1,
    .m_methods = methods,
};

TT_API PyMODINIT_FUNC PyInit__tallytree(void); /* hidden by default up to Python 3.8 */
PyMODINIT_FUNC PyInit__tallytree(void)
{
    PyObject *module;

    if (PyType_Ready(&scope_type) != 0)
        return NULL;
    module = PyModule_Create(&definition);
    if (!module)
        return NULL;
    Py_INCREF(&scope_type);
    if (PyModule_AddFunctions(module, tt_python_event_methods) != 0 ||
        PyModule_AddObject(module, "scope", (PyObject *)&scope_type) != 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
