/* SPDX-License-Identifier: Apache-2.0 */
/* A code object's function, file, and the line of an instruction. Reads CPython's objects and never
 * calls CPython. */
#ifndef MT_PRELOAD_PYTHON_CODE_H
#define MT_PRELOAD_PYTHON_CODE_H

#include "python-versions.h"

#include <stdbool.h>
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

#define MT_PY_TAGS 7u /* bits of a reference; objects are aligned to more */

/* Return the code object that a frame runs. */
static inline uint64_t mt_py_frame_code(const struct mt_python_layout *layout, uint64_t frame)
{
    return mt_py_word(frame, layout->frame_code) & ~(uint64_t)MT_PY_TAGS;
}

static inline uint64_t mt_word_at(const char *address)
{
    uint64_t word;
    memcpy(&word, address, sizeof word);
    return word;
}

/* Return the bits of the word at frame_instruction that are its value: a pointer or an int. */
static inline uint64_t mt_py_instruction_bits(const struct mt_python_layout *layout)
{
    return layout->code_instructions >= 0 ? UINT64_MAX : UINT32_MAX;
}

/* Write a str as UTF-8, not terminated, truncated to size. Return its length in bytes. */
size_t mt_py_utf8(const struct mt_python_layout *layout, uint64_t str, char *out, size_t size);

/* Return the line of a frame's instruction (frame_instruction's value); 0: none. */
uint32_t mt_py_line(const struct mt_python_layout *layout, uint64_t code, uint64_t instruction);

/* Return whether CPython leaves a frame out of tracebacks: it has not begun (it is creating its
 * cells, or its generator), or it is the interpreter's own around a call of __init__. */
bool mt_py_is_hidden(const struct mt_python_layout *layout, uint64_t frame, uint64_t code,
                     uint64_t instruction);

/* A torch.nn module's name in string ids: the class of the outermost module, and the path in it (0:
 * the outermost itself). */
struct mt_module_name {
    uint32_t root, path;
};

/* Intern a frame. Return its id, or 0. module is the one that it runs for; zeros: unknown. Call
 * with the intern lock. */
uint32_t mt_py_intern_frame(const struct mt_python_layout *layout, uint64_t code,
                            uint64_t instruction, struct mt_module_name module);

#endif
