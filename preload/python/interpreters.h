/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread state that runs, where a process has several interpreters. Up to Python 3.11,
 * PyGILState_GetThisThreadState returns the one that the thread began with, mostly the main
 * interpreter's. Any thread; nothing is called that needs the GIL.
 */
#ifndef MT_PRELOAD_PYTHON_INTERPRETERS_H
#define MT_PRELOAD_PYTHON_INTERPRETERS_H

#include "python-versions.h"

#include <stdint.h>

/* CPython's functions and data; NULL: not found. */
struct mt_py_runtime {
    uint64_t (*first)(void);   /* PyInterpreterState_Head */
    uint64_t (*main)(void);    /* PyInterpreterState_Main */
    uint64_t (*running)(void); /* _PyThreadState_UncheckedGet: of the thread with the GIL */
    const void *data;          /* _PyRuntime */
};

/* Where CPython keeps its newest interpreter, and the main one: equal as long as there is one. */
struct mt_py_interpreters {
    const uint64_t *newest;
    uint64_t main;
};

/* Find the interpreters of this Python. If it needs no search, or cannot be searched, *newest is
 * always `main`. */
struct mt_py_interpreters mt_py_interpreters_find(const struct mt_python_layout *layout,
                                                  const struct mt_py_runtime *runtime);

/* Return the calling thread's state in the interpreter that runs: exact with the GIL; without it,
 * the one of the newest interpreter in which the thread has a frame. tstate: the one that the
 * thread began with. */
uint64_t mt_py_running_state(const struct mt_py_interpreters *interpreters, uint64_t tstate);

#endif
