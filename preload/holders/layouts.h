/* SPDX-License-Identifier: Apache-2.0 */
/* CPython's byte offsets for walking its objects, from its headers, one row for each version
 * (64-bit builds with the GIL); python-versions.h has those of frames. */
#ifndef MT_HOLDERS_LAYOUTS_H
#define MT_HOLDERS_LAYOUTS_H

#include <stdbool.h>
#include <stdint.h>

struct mt_holder_layout {
    int minor;               /* of 3.x */
    int16_t code_names;      /* names of local variables: co_localsplusnames, or co_varnames ... */
    int16_t code_cells;      /* ... with co_cellvars and co_freevars after them; -1: they are */
    int16_t code_free;       /* among those, the free ones last */
    int16_t code_locals;     /* int: the number of co_localsplusnames or co_varnames */
    int16_t code_stack;      /* int: words of the frame's stack after them */
    int16_t object_frame;    /* frame object: its frame; 0: it is the frame */
    int16_t generator_frame; /* generator: its frame, or (is_inline false) a pointer to it */
    bool is_inline;
    int16_t frame_variables; /* a frame's f_locals, a dict of a class body or module; 0: none */
    int16_t frame_globals;
    int16_t function_code, function_qualname, function_closure, function_defaults,
        function_keywords;  /* defaults of keywords */
    int16_t thread_handled; /* PyThreadState: exc_info, the exceptions being handled */
    int16_t thread_dict;
    int16_t thread_raised;                   /* the exception being raised */
    int16_t handled_value, handled_previous; /* of exc_info */
    int16_t error_traceback, error_context, error_cause;
    int16_t collector_generations; /* within the collector's state; -1: search for them */
    /* From the generations on: the frozen objects' list, and as follows. */
    int16_t collector_frozen;
    int16_t collector_is_running; /* int */
    int16_t collector_old;        /* words: objects that survived the last full collection; since */
};

/* Return a version's layout, or NULL if the version is unknown. */
const struct mt_holder_layout *mt_holder_layout_of(int minor);

/* Common to all versions. */
enum {
    MT_REFCOUNT = 0,
    MT_TYPE_NAME = 24,
    MT_TYPE_FLAGS = 168,
    MT_TYPE_TRAVERSE = 184,
    MT_TYPE_MEMBERS = 240,
    MT_TYPE_BASE = 256,
    MT_TYPE_DICT = 264,
    MT_TYPE_BASIC_SIZE = 32,
    MT_MODULE_DICT = 16,
    MT_ARRAY_DATA = 16, /* of numpy */
    MT_ARRAY_SIDES = 24,
    MT_ARRAY_SHAPE = 32,
    MT_ARRAY_BASE = 48,
    MT_ARRAY_TYPE = 56,
    MT_ARRAY_KIND = 24, /* of its type */
    MT_TRACEBACK_NEXT = 16,
    MT_TRACEBACK_FRAME = 24,
    MT_ERROR_ARGUMENTS = 24,
    MT_METHOD_FUNCTION = 16,
    MT_METHOD_SELF = 24,
    MT_FLAG_GC = 1 << 14,
    MT_FLAG_HEAP = 1 << 9,
    MT_FLAG_ERROR = 1 << 30,
    MT_FLAG_TYPE_BIT = 31,
    MT_COLLECTOR_YOUNGEST = 72, /* up to 3.13, after the generations: the address of the youngest */
    MT_COLLECTOR_END = 232,     /* bytes from the generations on that are read, at most */
    MT_RUNTIME_COLLECTOR = 88,  /* from 3.14 on: _Py_DebugOffsets.interpreter_state.gc */
};

#endif
