/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a pickle's opcodes, protocols 2 to 5: those that create numbers, texts, lists, tuples and
 * dictionaries. An opcode that would import or call something, or that is unknown, ends it with an
 * error.
 */
#include "graph.h"
#include "input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TEXT (1u << 20) /* bytes of one text that are kept */

/* Opcodes that are refused by name: O(code, name). */
/* clang-format off */
#define REFUSED_OPCODES(O)                                                                         \
    O('c', "GLOBAL") O(0x93, "STACK_GLOBAL") O('R', "REDUCE") O('b', "BUILD")                      \
    O('i', "INST") O('o', "OBJ") O(0x81, "NEWOBJ") O(0x92, "NEWOBJ_EX")                            \
    O(0x82, "EXT1") O(0x83, "EXT2") O(0x84, "EXT4") O('P', "PERSID")                               \
    O('Q', "BINPERSID") O(0x97, "NEXT_BUFFER") O(0x98, "READONLY_BUFFER")
/* clang-format on */

static const char *refused_name(int code)
{
#define REFUSED_CASE(number, name)                                                                 \
    case number:                                                                                   \
        return name;
    switch (code) {
        REFUSED_OPCODES(REFUSED_CASE)
    default:
        return NULL;
    }
}

static int number(struct mt_input *input, size_t size, uint64_t *value)
{
    unsigned char bytes[8] = {0};
    int rc = mt_input_bytes(input, bytes, size);
    *value = 0;
    for (size_t i = size; i--;)
        *value = *value << 8 | bytes[i];
    return rc;
}

/* Read a text of so many bytes; anything beyond MOST_TEXT is dropped. */
static int text(struct mt_input *input, struct mt_graph *graph, size_t length_size)
{
    uint64_t size;
    char some[512], *bytes = some;
    int rc = number(input, length_size, &size);
    if (rc)
        return rc;
    size_t kept = size < MOST_TEXT ? (size_t)size : MOST_TEXT;
    if (kept > sizeof some && !(bytes = malloc(kept)))
        return -ENOMEM;
    rc = mt_input_bytes(input, bytes, kept);
    if (!rc)
        rc = mt_input_skip(input, size - kept);
    if (!rc)
        rc = mt_graph_push_text(graph, bytes, kept);
    if (bytes != some)
        free(bytes);
    return rc;
}

/* Read a little-endian integer of any size; no snapshot has one above 64 bits. */
static int long_number(struct mt_input *input, struct mt_graph *graph, size_t length_size)
{
    uint64_t size, value = 0;
    unsigned char bytes[9] = {0};
    int rc = number(input, length_size, &size);
    if (rc)
        return rc;
    if (size > sizeof bytes)
        return mt_graph_fail(graph, "a number of %" PRIu64 " bytes", size);
    rc = mt_input_bytes(input, bytes, (size_t)size);
    for (size_t i = 8; i--;)
        value = value << 8 | bytes[i];
    if (size && size < 8 && bytes[size - 1] & 0x80)
        value |= UINT64_MAX << (8 * size);
    if (size > 8 && value > INT64_MAX) /* bytes[8] is 0: over 2^63 */
        value = INT64_MAX;
    return rc ? rc : mt_graph_push_number(graph, (int64_t)value);
}

static int real_number(struct mt_input *input, struct mt_graph *graph)
{
    unsigned char bytes[8];
    uint64_t bits = 0;
    double value;
    int rc = mt_input_bytes(input, bytes, 8);
    for (size_t i = 0; i < 8; i++)
        bits = bits << 8 | bytes[i];
    memcpy(&value, &bits, sizeof value);
    int64_t milli = value > -1e14 && value < 1e14 ? (int64_t)(value * 1000) : 0;
    return rc ? rc : mt_graph_push(graph, mt_cell_make(MT_CELL_MILLI, milli));
}

/* Push an opcode's argument of so many bytes as a number; signed: as a 32-bit integer. */
static int push_number(struct mt_input *input, struct mt_graph *graph, size_t size)
{
    uint64_t value;
    int rc = number(input, size, &value);
    return rc ? rc : mt_graph_push_number(graph, size == 4 ? (int32_t)value : (int64_t)value);
}

static int memo(struct mt_input *input, struct mt_graph *graph, size_t size,
                int (*what)(struct mt_graph *graph, size_t place))
{
    uint64_t place;
    int rc = number(input, size, &place);
    return rc ? rc : what(graph, (size_t)place);
}

static int read_value(struct mt_input *input, struct mt_graph *graph, int code)
{
    switch (code) {
    case 'N': /* NONE */
        return mt_graph_push(graph, 0);
    case 0x88: /* NEWTRUE */
    case 0x89: /* NEWFALSE */
        return mt_graph_push_number(graph, code == 0x88);
    case 'K': /* BININT1 */
        return push_number(input, graph, 1);
    case 'M': /* BININT2 */
        return push_number(input, graph, 2);
    case 'J': /* BININT */
        return push_number(input, graph, 4);
    case 0x8a: /* LONG1 */
        return long_number(input, graph, 1);
    case 0x8b: /* LONG4 */
        return long_number(input, graph, 4);
    case 'G': /* BINFLOAT */
        return real_number(input, graph);
    case 0x8c: /* SHORT_BINUNICODE */
    case 'C':  /* SHORT_BINBYTES */
    case 'U':  /* SHORT_BINSTRING */
        return text(input, graph, 1);
    case 'X': /* BINUNICODE */
    case 'B': /* BINBYTES */
    case 'T': /* BINSTRING */
        return text(input, graph, 4);
    case 0x8d: /* BINUNICODE8 */
    case 0x8e: /* BINBYTES8 */
    case 0x96: /* BYTEARRAY8 */
        return text(input, graph, 8);
    default:
        return -ENOSYS;
    }
}

static int read_structure(struct mt_input *input, struct mt_graph *graph, int code)
{
    switch (code) {
    case '}': /* EMPTY_DICT */
        return mt_graph_push_new(graph, MT_CELL_DICT);
    case ']': /* EMPTY_LIST */
        return mt_graph_push_new(graph, MT_CELL_LIST);
    case '(': /* MARK */
        return mt_graph_push(graph, MT_CELL_MARK);
    case 'a': /* APPEND */
    case 'e': /* APPENDS */
        return mt_graph_append(graph, code == 'e');
    case 's': /* SETITEM */
    case 'u': /* SETITEMS */
        return mt_graph_set(graph, code == 'u');
    case ')': /* EMPTY_TUPLE */
        return mt_graph_tuple(graph, 0);
    case 0x85: /* TUPLE1 .. TUPLE3 */
    case 0x86:
    case 0x87:
        return mt_graph_tuple(graph, (size_t)code - 0x84);
    case 't': /* TUPLE */
        return mt_graph_tuple_above_mark(graph);
    case '0': /* POP */
        return mt_graph_pop(graph);
    case '1': /* POP_MARK */
        return mt_graph_pop_mark(graph);
    case 0x94: /* MEMOIZE */
        return mt_graph_put(graph, graph->n_memo);
    case 'q': /* BINPUT, LONG_BINPUT */
    case 'r':
        return memo(input, graph, code == 'q' ? 1 : 4, mt_graph_put);
    case 'h': /* BINGET, LONG_BINGET */
    case 'j':
        return memo(input, graph, code == 'h' ? 1 : 4, mt_graph_get);
    case 0x95: /* FRAME: how long the next part is */
        return mt_input_skip(input, 8);
    case 0x80: /* PROTO */
        return mt_input_skip(input, 1);
    default:
        return -ENOSYS;
    }
}

static int refuse(struct mt_graph *graph, int code, uint64_t offset)
{
    const char *name = refused_name(code);
    if (name)
        return mt_graph_fail(graph,
                             "at byte %" PRIu64
                             ": opcode %s runs code or loads other data, which no snapshot does",
                             offset, name);
    return mt_graph_fail(graph, "at byte %" PRIu64 ": opcode 0x%02x, which no snapshot has", offset,
                         code);
}

int mt_read_pickle(struct mt_input *input, struct mt_graph *graph)
{
    for (;;) {
        uint64_t offset = mt_input_offset(input);
        int code = mt_input_byte(input);
        if (code == '.') /* STOP */
            return graph->n == 1 ? 0
                                 : mt_graph_fail(graph, "the pickle does not end with one value");
        if (code < 0)
            return input->rc ? input->rc
                             : mt_graph_fail(graph, "truncated at byte %" PRIu64, offset);
        int rc = read_value(input, graph, code);
        if (rc == -ENOSYS)
            rc = read_structure(input, graph, code);
        if (rc == -ENOSYS)
            return refuse(graph, code, offset);
        if (rc == -ENODATA)
            return mt_graph_fail(graph, "truncated within the opcode at byte %" PRIu64, offset);
        if (rc)
            return rc;
    }
}
