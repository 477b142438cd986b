/* SPDX-License-Identifier: Apache-2.0 */
#include "python-code.h"
#include "preload/record/intern.h"

#include <stdbool.h>

/* A line table being read. Past its end, it yields zeros. */
struct table {
    const unsigned char *at, *end;
};

static struct table line_table(const struct mt_python_layout *layout, uint64_t code)
{
    uint64_t bytes = mt_py_word(code, layout->code_lines);
    const unsigned char *data = (const unsigned char *)(uintptr_t)bytes + MT_BYTES_DATA;
    return (struct table){data, data + mt_py_word(bytes, MT_BYTES_SIZE)};
}

static unsigned take(struct table *table)
{
    return table->at < table->end ? *table->at++ : 0;
}

/* Read an integer of 3.11: 6 bits per byte, lowest first; bit 64 means that more follow. */
static unsigned read_varint(struct table *table)
{
    unsigned byte = take(table), value = byte & 63;
    for (unsigned shift = 6; byte & 64 && shift < 32; shift += 6) {
        byte = take(table);
        value |= (byte & 63) << shift;
    }
    return value;
}

static int take_signed(struct table *table)
{
    unsigned value = read_varint(table);
    return value & 1 ? -(int)(value >> 1) : (int)(value >> 1);
}

static void skip(struct table *table, unsigned bytes)
{
    while (bytes--)
        take(table);
}

/* Find the line from 3.11 on (Objects/locations.md of CPython): an entry has a form and a length in
 * code units. Its form gives the line's change and the columns that follow. */
static uint32_t line_311(struct table table, int line, uint64_t target)
{
    for (uint64_t offset = 0; table.at < table.end;) {
        unsigned head = take(&table), form = (head >> 3) & 15;
        bool has_line = true;
        if (form == 15) {
            has_line = false;
        } else if (form == 14) { /* long */
            line += take_signed(&table);
            read_varint(&table);
            read_varint(&table);
            read_varint(&table);
        } else if (form == 13) { /* no columns */
            line += take_signed(&table);
        } else if (form >= 10) { /* on one line */
            line += (int)form - 10;
            skip(&table, 2);
        } else { /* short */
            skip(&table, 1);
        }
        offset += 2 * ((head & 7) + 1);
        if (target < offset)
            return has_line && line > 0 ? (uint32_t)line : 0;
    }
    return 0;
}

/* Find the line in 3.10, from pairs of bytes: a range's length, and the line's change at its start;
 * -128: no line. */
static uint32_t line_310(struct table table, int line, uint64_t target)
{
    for (uint64_t offset = 0; table.at < table.end;) {
        unsigned length = take(&table);
        int change = (signed char)take(&table), has_line = change != -128;
        line += has_line ? change : 0;
        offset += length;
        if (target < offset)
            return has_line && line > 0 ? (uint32_t)line : 0;
    }
    return 0;
}

/* Find the line up to 3.9, from pairs of bytes: changes of address and of line. */
static uint32_t line_lnotab(struct table table, int line, uint64_t target)
{
    for (uint64_t address = 0; table.at < table.end;) {
        address += take(&table);
        if (address > target)
            break;
        line += (signed char)take(&table);
    }
    return line > 0 ? (uint32_t)line : 0;
}

/* Return the offset in bytes from the code's first instruction. */
static uint64_t instruction_offset(const struct mt_python_layout *layout, uint64_t code,
                                   uint64_t instruction)
{
    if (layout->code_instructions >= 0)
        return instruction - (code + (uint64_t)layout->code_instructions);
    return layout->lines == MT_LINES_310 ? 2 * (uint32_t)instruction : (uint32_t)instruction;
}

uint32_t mt_py_line(const struct mt_python_layout *layout, uint64_t code, uint64_t instruction)
{
    struct table table = line_table(layout, code);
    int first = mt_py_int(code, layout->code_first_line);
    uint64_t offset = instruction_offset(layout, code, instruction);
    switch (layout->lines) {
    case MT_LINES_LNOTAB:
        return line_lnotab(table, first, offset);
    case MT_LINES_310:
        return line_310(table, first, offset);
    case MT_LINES_311:
        break;
    }
    return line_311(table, first, offset);
}

bool mt_py_is_hidden(const struct mt_python_layout *layout, uint64_t frame, uint64_t code,
                     uint64_t instruction)
{
    enum { OWNED_BY_GENERATOR = 1 }; /* it has begun: the generator exists */
    if (layout->code_instructions < 0 ||
        ((const char *)(uintptr_t)frame)[layout->frame_owner] == OWNED_BY_GENERATOR)
        return false;
    uint64_t first = code + (uint64_t)layout->code_instructions;
    int64_t units = mt_py_int(first, MT_CODE_TRACEABLE);
    return (int64_t)(instruction - first) < 2 * units;
}

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c >= 0xd800 && c < 0xe000)
        c = 0xfffd; /* half a surrogate pair: Python's form of a byte that is not UTF-8 */
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[5] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (char)(0x80 | (c & 63));
    out[0] = (char)(lead[n] | c);
    return n;
}

static uint32_t character(const unsigned char *data, unsigned kind, size_t i)
{
    uint16_t two;
    uint32_t four;
    if (kind == 1)
        return data[i];
    if (kind == 2) {
        memcpy(&two, data + 2 * i, sizeof two);
        return two;
    }
    memcpy(&four, data + 4 * i, sizeof four);
    return four & 0x1fffff;
}

size_t mt_py_utf8(const struct mt_python_layout *layout, uint64_t str, char *out, size_t size)
{
    uint32_t state = (uint32_t)mt_py_int(str, MT_STRING_STATE);
    uint64_t length = mt_py_word(str, MT_STRING_LENGTH);
    unsigned kind = (state >> 2) & 7, is_compact = (state >> 5) & 1, is_ascii = (state >> 6) & 1;
    if (!is_compact || (kind != 1 && kind != 2 && kind != 4))
        return 0;
    int offset = is_ascii ? layout->string_data : layout->string_data_wide;
    const unsigned char *data = (const unsigned char *)(uintptr_t)str + offset;
    size_t used = 0, room = size < 3 ? 0 : size - 3;
    if (is_ascii && kind == 1) {
        used = length < room ? length : room;
        memcpy(out, data, used);
        return used;
    }
    for (uint64_t i = 0; i < length && used + 4 <= size; i++)
        used += put_utf8(out + used, character(data, kind, i));
    return used;
}

/* Call with the lock: the buffer is static, because a thread's stack may be small. */
static uint32_t intern_str(const struct mt_python_layout *layout, uint64_t str)
{
    static char text[4096];
    return mt_intern_string(text, mt_py_utf8(layout, str, text, sizeof text));
}

uint32_t mt_py_intern_frame(const struct mt_python_layout *layout, uint64_t code,
                            uint64_t instruction, struct mt_module_name module)
{
    return mt_intern_call(intern_str(layout, mt_py_word(code, layout->code_name)),
                          intern_str(layout, mt_py_word(code, layout->code_filename)),
                          mt_py_line(layout, code, instruction), module.root, module.path);
}
