/* SPDX-License-Identifier: MIT */
/* python-events-profile.c - calls and returns by the function that a thread may have for them,
 * up to Python 3.11.
 *
 * Each thread sets its own.  Threads of `threading` that begin during the recording do that
 * by a hook of that module, which calls us as a function of Python first. */
#include "python-calls.h"

#include <frameobject.h>

static int is_on;

#if PY_VERSION_HEX < 0x03090000
static PyCodeObject *PyFrame_GetCode(PyFrameObject *frame)
{
    Py_INCREF(frame->f_code);
    return frame->f_code;
}
#endif

static void enter_frame(PyFrameObject *frame)
{
    PyObject *code = (PyObject *)PyFrame_GetCode(frame);
    tt_block block = tt_python_block(code);

    Py_DECREF(code);
    if (block)
        tt_python_enter(frame, block);
}

static int on_event(PyObject *self, PyFrameObject *frame, int what, PyObject *function)
{
    const void *key = NULL;
    tt_block block;

    (void)self;
    if (!is_on) {
        PyEval_SetProfile(NULL, NULL);
        return 0;
    }
    if (what == PyTrace_CALL)
        enter_frame(frame);
    else if (what == PyTrace_RETURN)
        tt_python_leave(frame);
    else if (what == PyTrace_C_CALL || what == PyTrace_C_RETURN ||
             what == PyTrace_C_EXCEPTION) {
        block = tt_python_c_block(function, &key);
        if (key && block && what == PyTrace_C_CALL)
            tt_python_enter(key, block);
        else if (key)
            tt_python_leave(key);
    }
    return 0;
}

/* The hook: of a thread's first call. */
static PyObject *begin_thread(PyObject *module, PyObject *args)
{
    PyObject *frame, *event, *value;

    if (!PyArg_ParseTuple(args, "OOO:begin_thread", &frame, &event, &value))
        return NULL;
    if (is_on) {
        PyEval_SetProfile(on_event, module);
        if (PyFrame_Check(frame) && PyUnicode_Check(event) &&
            PyUnicode_CompareWithASCIIString(event, "call") == 0)
            enter_frame((PyFrameObject *)frame);
    }
    Py_RETURN_NONE;
}

PyMethodDef tt_python_event_methods[] = {
    {"begin_thread", begin_thread, METH_VARARGS, "The hook of threads that begin."},
    {NULL, NULL, 0, NULL},
};

/* NULL: no hook. */
static int set_hook(PyObject *hook)
{
    PyObject *threading = PyImport_ImportModule("threading"), *result;

    result = threading ? PyObject_CallMethod(threading, "setprofile", "O", hook) : NULL;
    Py_XDECREF(threading);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

int tt_python_events_begin(PyObject *module)
{
    PyObject *hook = PyObject_GetAttrString(module, "begin_thread");
    int result = hook ? set_hook(hook) : -1;

    Py_XDECREF(hook);
    if (result != 0)
        return -1;
    is_on = 1;
    PyEval_SetProfile(on_event, module);
    return 0;
}

/* Other threads end it at their next event. */
int tt_python_events_end(PyObject *module)
{
    (void)module;
    is_on = 0;
    if (PyThreadState_Get()->c_profilefunc == on_event)
        PyEval_SetProfile(NULL, NULL);
    return set_hook(Py_None);
}
