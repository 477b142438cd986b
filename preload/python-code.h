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

/* Differs where another code object came to live at the same address. */
static inline uint64_t mt_py_code_stamp(const struct mt_python_layout *layout, uint64_t code)
{
    uint64_t lines = mt_py_word(code, layout->code_lines);
    return mt_py_word(code, layout->code_filename) ^ (lines << 20 | lines >> 44) ^
           (uint64_t)mt_py_int(code, layout->code_first_line) << 48;
}

/* The line of a frame's instruction (frame_instruction's value); 0: it has none. */
uint32_t mt_py_line(const struct mt_python_layout *layout, uint64_t code, uint64_t instruction);

/* Interns the frame: its id, or 0. Call with the intern lock. */
uint32_t mt_py_intern_frame(const struct mt_python_layout *layout, uint64_t code,
                            uint64_t instruction);

#endif
