/* SPDX-License-Identifier: Apache-2.0 */
/* CPython's byte offsets for a stack walk, from its headers, one row for each version (64-bit
 * builds with the GIL). */
#ifndef MT_PRELOAD_PYTHON_VERSIONS_H
#define MT_PRELOAD_PYTHON_VERSIONS_H

#include <stdint.h>

/* How an object keeps its attributes. */
enum mt_python_attributes {
    MT_ATTRIBUTES_310, /* up to 3.10: in a dict, at an offset from the type */
    MT_ATTRIBUTES_311, /* in a dict, or in values; pointers to both precede the object */
    MT_ATTRIBUTES_312, /* in either; one word before the object says which */
    MT_ATTRIBUTES_313, /* in values after the object, and perhaps in a dict too */
    MT_ATTRIBUTES_314, /* the same, but dicts have no version */
};

enum mt_python_lines { MT_LINES_LNOTAB, MT_LINES_310, MT_LINES_311 };

struct mt_python_layout {   /* one cache line each */
    _Alignas(64) int minor; /* of 3.x */
    int16_t tstate_frame;   /* PyThreadState: the frame, or its _PyCFrame */
    int16_t cframe_frame;   /* the frame in that; -1: there is no _PyCFrame */
    int16_t frame_code;     /* from 3.14 on its low bits are tags: mt_py_frame_code */
    int16_t frame_previous;
    int16_t frame_instruction;        /* pointer into the code (3.11 on), or an int, f_lasti */
    int16_t frame_owner;              /* char; -1: none */
    int16_t code_first_line;          /* int */
    int16_t code_filename, code_name; /* code_name: the qualified one if there is one */
    int16_t code_lines;               /* bytes: line table */
    int16_t code_instructions;        /* first instruction; -1: the frame has f_lasti */
    int16_t string_data;              /* of a compact ASCII str; others: 8 bytes more a field */
    int16_t string_data_wide;
    int16_t frame_locals;   /* first local variable (mt_py_reference): the first argument */
    int16_t code_arguments; /* if this int is not 0 */
    int16_t type_keys;      /* PyHeapTypeObject: the names of attributes without a dict */
    int16_t tstate_thread; /* the thread's id, and PyInterpreterState: its first thread state ... */
    int16_t interpreter_threads; /* ... -1: PyGILState_GetThisThreadState knows the interpreter */
    enum mt_python_lines lines;
    enum mt_python_attributes attributes;
};

/* Return a version's layout, or NULL if memtap does not know the version. */
const struct mt_python_layout *mt_python_layout_of(int major, int minor);

/* Common to all versions. */
enum {
    MT_OBJECT_TYPE = 8,      /* PyObject.ob_type */
    MT_CODE_UNITS = 16,      /* PyCodeObject.ob_size, from 3.11 on: of two bytes */
    MT_CODE_TRACEABLE = -16, /* int, from code_instructions, from 3.11 on: the first unit at which
                                CPython shows the frame */
    MT_BYTES_SIZE = 16,      /* PyBytesObject.ob_size */
    MT_BYTES_DATA = 32,
    MT_STRING_LENGTH = 16, /* characters */
    MT_STRING_HASH = 24,   /* -1: not computed yet */
    MT_STRING_STATE = 32,  /* bits: 2 interned, 3 kind (bytes a character), 1 compact, 1 ascii */
};

#endif
