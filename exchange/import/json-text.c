/* SPDX-License-Identifier: Apache-2.0 */
/* Reads JSON of any size into the same graph that an equivalent pickle would build. */
#include "graph.h"
#include "input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DEPTH 500u
#define MOST_TEXT (1u << 20)

struct json {
    struct mt_input *input;
    struct mt_graph *graph;
    char *text; /* of MOST_TEXT + 8 bytes */
    unsigned char is_dict[MOST_DEPTH];
    unsigned depth;
};

static int wrong(struct json *json, const char *what)
{
    if (json->input->rc)
        return json->input->rc;
    return mt_graph_fail(json->graph, "at byte %" PRIu64 ": %s", mt_input_offset(json->input),
                         what);
}

static int next(struct json *json)
{
    int c;
    while ((c = mt_input_byte(json->input)) == ' ' || c == '\n' || c == '\r' || c == '\t')
        ;
    return c;
}

static int hexadecimal(struct json *json, uint32_t *out)
{
    *out = 0;
    for (int i = 0; i < 4; i++) {
        int c = mt_input_byte(json->input), digit = c >= '0' && c <= '9'   ? c - '0'
                                                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                                           : -1;
        if (digit < 0)
            return wrong(json, "\\u is not followed by four digits");
        *out = *out << 4 | (uint32_t)digit;
    }
    return 0;
}

static size_t put_utf8(char *out, uint32_t c)
{
    if (c < 0x80)
        return *out = (char)c, 1;
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n; --i; c >>= 6)
        out[i] = (char)(0x80 | (c & 0x3f));
    out[0] = (char)((0xf00 >> n & 0xff & ~(0xffu >> n)) | c);
    return n;
}

/* Read the escape after a backslash. */
static int escaped(struct json *json, size_t *size)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    int c = mt_input_byte(json->input);
    const char *found = c > 0 ? strchr(from, c) : NULL;
    uint32_t code, low;
    if (found) {
        json->text[(*size)++] = to[found - from];
        return 0;
    }
    if (c != 'u')
        return wrong(json, "unknown escape");
    int rc = hexadecimal(json, &code);
    if (!rc && code >= 0xd800 && code < 0xdc00 && mt_input_peek(json->input) == '\\') {
        mt_input_byte(json->input);
        if (mt_input_byte(json->input) != 'u')
            return wrong(json, "incomplete surrogate pair");
        rc = hexadecimal(json, &low);
        code = low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00)
                                             : 0xfffd;
    }
    if (code >= 0xd800 && code < 0xe000)
        code = 0xfffd;
    if (!rc)
        *size += put_utf8(json->text + *size, code);
    return rc;
}

static int string(struct json *json)
{
    size_t size = 0;
    int c, rc = 0;
    while ((c = mt_input_byte(json->input)) != '"') {
        if (c < 0)
            return wrong(json, "unterminated string");
        if (size >= MOST_TEXT) {
            if (c == '\\')
                mt_input_byte(json->input);
            continue;
        }
        if (c == '\\')
            rc = escaped(json, &size);
        else
            json->text[size++] = (char)c;
        if (rc)
            return rc;
    }
    return mt_graph_push_text(json->graph, json->text, size);
}

static int word(struct json *json, int first)
{
    char text[40];
    size_t n = 0;
    text[n++] = (char)first;
    for (int c; (c = mt_input_peek(json->input)) >= 0 &&
                strchr("0123456789+-.eEaflnrstuINityNaN", c) && c;) {
        if (n == sizeof text - 1)
            return wrong(json, "number too long");
        text[n++] = (char)mt_input_byte(json->input);
    }
    text[n] = 0;
    if (!strcmp(text, "true") || !strcmp(text, "false"))
        return mt_graph_push_number(json->graph, *text == 't');
    if (!strcmp(text, "null") || !strcmp(text, "NaN") || !strcmp(text, "Infinity") ||
        !strcmp(text, "-Infinity"))
        return mt_graph_push(json->graph, 0);
    char *end;
    errno = 0;
    if (!strpbrk(text, ".eE")) {
        long long value = strtoll(text, &end, 10);
        return *end ? wrong(json, "invalid JSON") : mt_graph_push_number(json->graph, value);
    }
    double value = strtod(text, &end);
    if (*end)
        return wrong(json, "invalid JSON");
    int64_t milli =
        value > -1e14 && value < 1e14 ? (int64_t)(value * 1000 + (value < 0 ? -.5 : .5)) : 0;
    return mt_graph_push(json->graph, mt_cell_make(MT_CELL_MILLI, milli));
}

/* Read one value, or the start of a list or dictionary. *is_complete: it is complete. */
static int value(struct json *json, int c, bool *is_complete)
{
    *is_complete = true;
    if (c == '"')
        return string(json);
    if (c != '{' && c != '[')
        return c < 0 ? wrong(json, "unexpected end of file") : word(json, c);
    if (json->depth == MOST_DEPTH)
        return wrong(json, "nested too deeply");
    json->is_dict[json->depth++] = c == '{';
    *is_complete = false;
    int rc = mt_graph_push_new(json->graph, c == '{' ? MT_CELL_DICT : MT_CELL_LIST);
    return rc || c == '[' ? rc : mt_graph_push(json->graph, MT_CELL_MARK);
}

static int key(struct json *json, int c)
{
    if (c != '"')
        return wrong(json, "a key is not a string");
    int rc = string(json);
    return rc ? rc : next(json) == ':' ? 0 : wrong(json, "missing colon after a key");
}

/* End a list or dictionary: a dictionary's keys and values are above a mark. */
static int end(struct json *json)
{
    return json->is_dict[--json->depth] ? mt_graph_set(json->graph, true) : 0;
}

static int read_all(struct json *json)
{
    bool is_complete, is_first = true;
    int rc = value(json, next(json), &is_complete);
    while (!rc && json->depth) {
        bool in_dict = json->is_dict[json->depth - 1];
        int c = next(json);
        if (c == (in_dict ? '}' : ']')) {
            rc = end(json);
            is_complete = true;
        } else {
            if (!is_first && c != ',')
                return wrong(json, "missing comma between values");
            if (!is_first)
                c = next(json);
            if (in_dict && (rc = key(json, c)))
                return rc;
            rc = value(json, in_dict ? next(json) : c, &is_complete);
        }
        is_first = !is_complete;
        /* Add a complete value to the list that contains it; a dictionary gets all of its values at
         * its end. */
        if (!rc && is_complete && json->depth && !json->is_dict[json->depth - 1])
            rc = mt_graph_append(json->graph, false);
    }
    return rc                                   ? rc
           : next(json) < 0 && !json->input->rc ? 0
                                                : wrong(json, "trailing data after the JSON");
}

int mt_read_json(struct mt_input *input, struct mt_graph *graph)
{
    struct json json = {.input = input, .graph = graph, .text = malloc(MOST_TEXT + 8)};
    int rc = json.text ? read_all(&json) : -ENOMEM;
    free(json.text);
    return rc;
}
