/* SPDX-License-Identifier: MIT */
/* python-events-monitoring.c - calls and returns by sys.monitoring, from Python 3.12 on.
 *
 * It is for all threads of the interpreter, and leaves sys.setprofile to the program. */
#include "python-calls.h"

static int tool = -1; /* our number there */

/* ── Events ───────────────────────────────────────────────────────────────────────── */

static PyObject *on_enter(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    tt_block block = count > 0 && PyCode_Check(args[0]) ? tt_python_block(args[0]) : 0;

    (void)module;
    if (block)
        tt_python_enter(args[0], block);
    Py_RETURN_NONE;
}

static PyObject *on_leave(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count > 0)
        tt_python_leave(args[0]);
    Py_RETURN_NONE;
}

static PyObject *on_c_enter(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    const void *key = NULL;
    tt_block block = count > 2 ? tt_python_c_block(args[2], &key) : 0;

    (void)module;
    if (key && block)
        tt_python_enter(key, block);
    Py_RETURN_NONE;
}

static PyObject *on_c_leave(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    const void *key = NULL;

    (void)module;
    if (count > 2)
        (void)tt_python_c_block(args[2], &key);
    if (key)
        tt_python_leave(key);
    Py_RETURN_NONE;
}

#define FAST(f) ((PyCFunction)(void (*)(void))(f))

PyMethodDef tt_python_event_methods[] = {
    {"on_enter", FAST(on_enter), METH_FASTCALL, "A function begins or goes on."},
    {"on_leave", FAST(on_leave), METH_FASTCALL, "A function ends or waits."},
    {"on_c_enter", FAST(on_c_enter), METH_FASTCALL, "A call, perhaps of C."},
    {"on_c_leave", FAST(on_c_leave), METH_FASTCALL, "A function in C ends."},
    {NULL, NULL, 0, NULL},
};

static const struct {
    const char *event, *function;
} uses[] = {
    {"PY_START", "on_enter"},  {"PY_RESUME", "on_enter"},  {"PY_THROW", "on_enter"},
    {"PY_RETURN", "on_leave"}, {"PY_YIELD", "on_leave"},   {"PY_UNWIND", "on_leave"},
    {"CALL", "on_c_enter"},    {"C_RETURN", "on_c_leave"}, {"C_RAISE", "on_c_leave"},
};
enum { USES = sizeof uses / sizeof *uses };

/* ── Beginning and end ────────────────────────────────────────────────────────────── */

/* A borrowed reference; NULL with an exception set. */
static PyObject *monitoring(void)
{
    PyObject *m = PySys_GetObject("monitoring");

    if (!m)
        PyErr_SetString(PyExc_RuntimeError, "there is no sys.monitoring");
    return m;
}

static int done(PyObject *result)
{
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* Returns the profilers' number, or another one if that is in use. */
static int take_tool(PyObject *m)
{
    static const int numbers[] = {2, 3, 4};

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        PyErr_Clear();
        if (done(PyObject_CallMethod(m, "use_tool_id", "is", numbers[i], "tallytree")) ==
            0) {
            tool = numbers[i];
            return 0;
        }
    }
    return -1;
}

/* The number of an event; -1 with an exception set. */
static long number_of(PyObject *m, const char *event)
{
    PyObject *events = PyObject_GetAttrString(m, "events"), *number;
    long n = -1;

    number = events ? PyObject_GetAttrString(events, event) : NULL;
    if (number)
        n = PyLong_AsLong(number);
    Py_XDECREF(number);
    Py_XDECREF(events);
    return n;
}

static int use(PyObject *m, int i, PyObject *function, long *set)
{
    long n = number_of(m, uses[i].event);

    if (n < 0)
        return -1;
    *set |= n;
    return done(PyObject_CallMethod(m, "register_callback", "ilO", tool, n, function));
}

static int use_all(PyObject *m, PyObject *module)
{
    long set = 0;

    for (int i = 0; i < USES; i++) {
        PyObject *function = PyObject_GetAttrString(module, uses[i].function);
        int result = function ? use(m, i, function, &set) : -1;
        Py_XDECREF(function);
        if (result != 0)
            return -1;
    }
    return done(PyObject_CallMethod(m, "set_events", "il", tool, set));
}

int tt_python_events_begin(PyObject *module)
{
    PyObject *m = monitoring();

    if (!m || take_tool(m) != 0)
        return -1;
    return use_all(m, module);
}

int tt_python_events_end(PyObject *module)
{
    PyObject *m = tool < 0 ? NULL : monitoring();
    long none = 0;
    int result = 0;

    (void)module;
    if (!m)
        return tool < 0 ? 0 : -1;
    result |= done(PyObject_CallMethod(m, "set_events", "il", tool, none));
    for (int i = 0; i < USES; i++)
        result |= use(m, i, Py_None, &none);
    result |= done(PyObject_CallMethod(m, "free_tool_id", "i", tool));
    tool = -1;
    return result;
}
