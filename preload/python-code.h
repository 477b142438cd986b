/* SPDX-License-Identifier: Apache-2.0 */
/* What a code object says: its function, file and the line of an instruction. Reads CPython's
 * objects, never calls it. */
#ifndef MT_PRELOAD_PYTHON_CODE_H
#define MT_PRELOAD_PYTHON_CODE_H

#include "python-versions.h"

#include <string.h>

static inline uint64_t mt_py_word(uint64_t object, int offset)
{
    uint64_t word;
    memcpy(&word, (const char *)(uintptr_t)object + offset, sizeof word);
    return word;
}

static inline int32_t mt_py_int(uint64_t object, int offset)
{
    int32_t number;
    memcpy(&number, (const char *)(uintptr_t)object + offset, sizeof number);
    return number;
}

/* Differs where another code object came to live at the same address. From 3.12 on CPython numbers
 * them (0 after 2^32). Before, the addresses of its parts have to do: see mt_py_is_volatile. */
static inline uint64_t mt_py_code_stamp(const struct mt_python_layout *layout, uint64_t code)
{
    if (layout->code_version >= 0) {
        uint32_t version = (uint32_t)mt_py_int(code, layout->code_version);
        if (version)
            return version;
    }
    uint64_t lines = mt_py_word(code, layout->code_lines);
    return mt_py_word(code, layout->code_filename) ^ (lines << 20 | lines >> 44) ^
           (uint64_t)mt_py_int(code, layout->code_first_line) << 48;
}

/* Whether the code came from no file (exec, a notebook's cell) in a Python that does not number
 * code objects: such objects come and go, one after the other at the same addresses with all their
 * parts. Then mt_py_code_content tells them apart, at some cost. */
int mt_py_is_volatile(const struct mt_python_layout *layout, uint64_t code);
uint64_t mt_py_code_content(const struct mt_python_layout *layout, uint64_t code);

/* The line of a frame's instruction (frame_instruction's value); 0: it has none. */
uint32_t mt_py_line(const struct mt_python_layout *layout, uint64_t code, uint64_t instruction);

/* Interns the frame: its id, or 0. Call with the intern lock. */
uint32_t mt_py_intern_frame(const struct mt_python_layout *layout, uint64_t code,
                            uint64_t instruction);

#endif
