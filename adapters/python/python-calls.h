/* SPDX-License-Identifier: MIT */
/* python-calls.h - calls in a Python interpreter, as activations.
 *
 *      python-scopes.c      the module: start, stop, scopes
 *      python-events-*.c    each call and return, by the interface of the version
 *      python-calls.c       a thread's open activations, and the blocks of functions
 *
 * All of it runs with the interpreter's lock held. */
#ifndef TT_PYTHON_CALLS_H
#define TT_PYTHON_CALLS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <tallytree.h>

/* Enters a block.  Leaving it by the same key also leaves everything open in it.  An
 * unknown key is ignored: it was entered before the recording. */
void tt_python_enter(const void *key, tt_block);
void tt_python_leave(const void *key);

/* Open activations belong to a recording that is over. */
void tt_python_forget(void);

/* Returns the block of a code object, made at its first use; 0: it cannot be made, or is
 * hidden.  Keeps an exception that is set. */
tt_block tt_python_block(PyObject *code);

/* Hides its function from now on.  0, or -1 with an exception set. */
int tt_python_hide(PyObject *code);

/* Returns the block of a C function, a PyCFunction or a method's descriptor.  *key is its
 * key; NULL: it is no such function, or one of this package. */
tt_block tt_python_c_block(PyObject *function, const void **key);

/* Is this one of this package? */
int tt_python_is_own(const PyMethodDef *);

/* Begins and ends to report calls, of all threads as far as the version allows it.  0, or -1 with
 * an exception set. */
int tt_python_events_begin(PyObject *module);
int tt_python_events_end(PyObject *module);

/* Functions that the events need in the module, the last one without a name. */
extern PyMethodDef tt_python_event_methods[];

#endif
