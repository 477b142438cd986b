/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the offsets in preload/holders/layouts.c with the headers of the Python that it is
 * compiled for; prints each that differs. test-holder-layouts.py compiles it. */
#define Py_BUILD_CORE 1
#include <Python.h>
#include <frameobject.h>
#include <stddef.h>
#include <stdio.h>
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#include <internal/pycore_interp.h>
#if PY_VERSION_HEX >= 0x030e0000
#include <internal/pycore_debug_offsets.h>
#include <internal/pycore_interpframe_structs.h>
#include <internal/pycore_runtime_structs.h>
#endif
#define CODE(now, before) offsetof(PyCodeObject, now)
#define FRAME(field) offsetof(_PyInterpreterFrame, field)
#define FRAME_OBJECT offsetof(PyFrameObject, f_frame)
#define GENERATOR offsetof(PyGenObject, gi_iframe)
#define CELLS (-1)
#define FREE (-1)
#else
#if PY_VERSION_HEX >= 0x03090000
#include <internal/pycore_interp.h>
#else
#include <internal/pycore_pymem.h>
#endif
#include <internal/pycore_pystate.h>
#define CODE(now, before) offsetof(PyCodeObject, before)
#define FRAME(field) offsetof(PyFrameObject, field)
#define FRAME_OBJECT 0
#define GENERATOR offsetof(PyGenObject, gi_frame)
#define CELLS offsetof(PyCodeObject, co_cellvars)
#define FREE offsetof(PyCodeObject, co_freevars)
#endif
#define COLLECTOR(field)                                                                           \
    (offsetof(struct _gc_runtime_state, field) - offsetof(struct _gc_runtime_state, generations))
#if PY_VERSION_HEX >= 0x030c0000
#define RAISED current_exception
#else
#define RAISED curexc_value
#endif

#include "preload/holders/layouts.c"

static int faults;

static void compare(const char *what, int have, int wanted)
{
    if (have == wanted)
        return;
    printf("3.%d: %s is %d, but in the headers %d\n", PY_MINOR_VERSION, what, have, wanted);
    faults++;
}
#define COMPARE(field, wanted) compare(#field, layout->field, (int)(wanted))
#define COMPARE_COMMON(constant, wanted) compare(#constant, constant, (int)(wanted))

int main(void)
{
    const struct mt_holder_layout *layout = mt_holder_layout_of(PY_MINOR_VERSION);
    if (!layout)
        return printf("3.%d: no row\n", PY_MINOR_VERSION), 1;
    COMPARE(code_names, CODE(co_localsplusnames, co_varnames));
    COMPARE(code_cells, CELLS);
    COMPARE(code_free, FREE);
    COMPARE(code_locals, CODE(co_nlocalsplus, co_nlocals));
    COMPARE(code_stack, CODE(co_stacksize, co_stacksize));
    COMPARE(object_frame, FRAME_OBJECT);
    COMPARE(generator_frame, GENERATOR);
    COMPARE(is_inline, PY_MINOR_VERSION >= 11);
    COMPARE(frame_variables, FRAME(f_locals));
    COMPARE(frame_globals, FRAME(f_globals));
    COMPARE(function_code, offsetof(PyFunctionObject, func_code));
    COMPARE(function_qualname, offsetof(PyFunctionObject, func_qualname));
    COMPARE(function_closure, offsetof(PyFunctionObject, func_closure));
    COMPARE(function_defaults, offsetof(PyFunctionObject, func_defaults));
    COMPARE(function_keywords, offsetof(PyFunctionObject, func_kwdefaults));
    COMPARE(thread_handled, offsetof(PyThreadState, exc_info));
    COMPARE(thread_dict, offsetof(PyThreadState, dict));
    COMPARE(thread_raised, offsetof(PyThreadState, RAISED));
    COMPARE(handled_value, offsetof(_PyErr_StackItem, exc_value));
    COMPARE(handled_previous, offsetof(_PyErr_StackItem, previous_item));
    COMPARE(error_traceback, offsetof(PyBaseExceptionObject, traceback));
    COMPARE(error_context, offsetof(PyBaseExceptionObject, context));
    COMPARE(error_cause, offsetof(PyBaseExceptionObject, cause));
    COMPARE_COMMON(MT_TYPE_FLAGS, offsetof(PyTypeObject, tp_flags));
    COMPARE_COMMON(MT_TYPE_TRAVERSE, offsetof(PyTypeObject, tp_traverse));
    COMPARE_COMMON(MT_TYPE_MEMBERS, offsetof(PyTypeObject, tp_members));
    COMPARE_COMMON(MT_TYPE_BASE, offsetof(PyTypeObject, tp_base));
    COMPARE_COMMON(MT_TYPE_DICT, offsetof(PyTypeObject, tp_dict));
    COMPARE_COMMON(MT_TYPE_BASIC_SIZE, offsetof(PyTypeObject, tp_basicsize));
    COMPARE_COMMON(MT_TRACEBACK_NEXT, offsetof(PyTracebackObject, tb_next));
    COMPARE_COMMON(MT_TRACEBACK_FRAME, offsetof(PyTracebackObject, tb_frame));
    COMPARE_COMMON(MT_ERROR_ARGUMENTS, offsetof(PyBaseExceptionObject, args));
    COMPARE_COMMON(MT_METHOD_FUNCTION, offsetof(PyMethodObject, im_func));
    COMPARE_COMMON(MT_METHOD_SELF, offsetof(PyMethodObject, im_self));
    COMPARE_COMMON(MT_FLAG_GC, Py_TPFLAGS_HAVE_GC);
    COMPARE_COMMON(MT_FLAG_HEAP, Py_TPFLAGS_HEAPTYPE);
    COMPARE_COMMON(MT_FLAG_ERROR, Py_TPFLAGS_BASE_EXC_SUBCLASS);
    COMPARE(collector_frozen, COLLECTOR(permanent_generation));
    COMPARE(collector_is_running, COLLECTOR(collecting));
    COMPARE(collector_old, COLLECTOR(long_lived_total));
    compare("the word after it", 8,
            (int)(COLLECTOR(long_lived_pending) - COLLECTOR(long_lived_total)));
#if PY_VERSION_HEX >= 0x030e0000
    COMPARE(collector_generations, offsetof(struct _gc_runtime_state, generations));
    COMPARE_COMMON(MT_RUNTIME_COLLECTOR, offsetof(_Py_DebugOffsets, interpreter_state.gc));
#else
    COMPARE(collector_generations, -1);
    COMPARE_COMMON(MT_COLLECTOR_YOUNGEST, COLLECTOR(generation0));
#endif
    return faults != 0;
}
