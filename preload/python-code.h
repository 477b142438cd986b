/* SPDX-License-Identifier: Apache-2.0 */
/* What a code object says: its function, file and the line of an instruction. Reads CPython's
 * objects, never calls it. */
#ifndef MT_PRELOAD_PYTHON_CODE_H
#define MT_PRELOAD_PYTHON_CODE_H

#include "cache.h"
#include "python-modules.h"

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

#define MT_PY_TAGS 7u /* of a reference; objects are aligned to more */

/* The code object that a frame runs. */
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

/* Those bits of the word at frame_instruction that are its value: a pointer or an int. */
static inline uint64_t mt_py_instruction_bits(const struct mt_python_layout *layout)
{
    return layout->code_instructions >= 0 ? UINT64_MAX : UINT32_MAX;
}

static inline uint64_t mt_py_rotate(uint64_t word, int bits)
{
    return word << bits | word >> (64 - bits);
}

/*
 * Differs where another code object came to live at the same address, perhaps with all its parts at
 * theirs: a loop of exec, a notebook's cells. From 3.12 on CPython numbers code objects (0 after
 * 2^32). Before, the content has to do: the name, which is interned and so has its hash; the ends
 * of the line table and of the file's name, whatever the width of its characters; sizes, first
 * line.
 */
static inline uint64_t mt_py_code_stamp(const struct mt_python_layout *layout, uint64_t code)
{
    if (layout->code_version >= 0) {
        uint32_t version = (uint32_t)mt_py_int(code, layout->code_version);
        if (version)
            return version;
    }
    uint64_t file = mt_py_word(code, layout->code_filename);
    uint64_t file_end = file + mt_py_word(file, MT_STRING_LENGTH) + (uint64_t)layout->string_data;
    uint64_t lines = mt_py_word(code, layout->code_lines);
    uint64_t size = mt_py_word(lines, MT_BYTES_SIZE);
    uint64_t name_hash = mt_py_word(mt_py_word(code, layout->code_name), MT_STRING_HASH);
    uint64_t names = name_hash ^ mt_py_rotate(mt_py_word(file_end, -8), 32);
    uint64_t line_ends = mt_py_word(lines, MT_BYTES_DATA) ^
                         mt_py_rotate(mt_py_word(lines + size, MT_BYTES_DATA - 8), 29);
    uint64_t numbers = (uint64_t)mt_py_int(code, layout->code_first_line) << 32 ^ size;
    return mt_mix(mt_mix(names, line_ends), numbers);
}

/* A str as UTF-8, not terminated: how many bytes. Texts beyond the buffer lose their end. */
size_t mt_py_utf8(const struct mt_python_layout *layout, uint64_t str, char *out, size_t size);

/* The line of a frame's instruction (frame_instruction's value); 0: it has none. */
uint32_t mt_py_line(const struct mt_python_layout *layout, uint64_t code, uint64_t instruction);

/* Interns the frame: its id, or 0. module: that it is at work for, zeros: for none that is known.
 * Call with the intern lock. */
uint32_t mt_py_intern_frame(const struct mt_python_layout *layout, uint64_t code,
                            uint64_t instruction, struct mt_module_name module);

#endif
