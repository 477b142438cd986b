/* SPDX-License-Identifier: Apache-2.0 */
#include "json.h"
#include "analyzer/support/demangle.h"
#include "analyzer/support/text.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define INDENT 2

json_t *mt_json_text(const char *text)
{
    json_t *string = json_string(text);
    if (string)
        return string;
    char *copy = mt_valid_copy(text);
    string = copy ? json_string(copy) : NULL;
    free(copy);
    return string;
}

json_t *mt_json_number(uint64_t number)
{
    return json_integer(number > INT64_MAX ? INT64_MAX : (json_int_t)number);
}

json_t *mt_json_number_or_null(uint64_t number)
{
    return number ? mt_json_number(number) : json_null();
}

json_t *mt_json_text_or_null(const char *text)
{
    return *text ? mt_json_text(text) : json_null();
}

json_t *mt_json_frame(const struct mt_definitions *definitions, uint32_t stack)
{
    if (!mt_stack(definitions, stack)->depth)
        return json_null();
    const struct mt_frame *frame = mt_named_frame(definitions, mt_stack(definitions, stack)->frame);
    return json_pack("{s:o, s:o, s:I}", "function", mt_json_text(frame->function), "file",
                     mt_json_text(frame->file), "line", (json_int_t)frame->line);
}

json_t *mt_json_index(json_int_t number)
{
    return number < 0 ? json_null() : json_integer(number);
}

json_t *mt_json_frames(const struct mt_definitions *definitions, uint32_t stack)
{
    json_t *array = json_array();
    for (; mt_stack(definitions, stack)->depth; stack = mt_stack(definitions, stack)->parent)
        json_array_append_new(array, mt_json_frame(definitions, stack));
    return array;
}

json_t *mt_json_type_name(const struct mt_definitions *definitions, uint32_t node_name)
{
    char name[256];
    if (!node_name)
        return json_null();
    mt_short_type_name(mt_string(definitions, node_name), name, sizeof name);
    return mt_json_text(name);
}

json_t *mt_json_name(const struct mt_definitions *definitions, uint32_t name)
{
    return name ? mt_json_text(mt_string(definitions, name)) : json_null();
}

json_t *mt_json_range(const struct mt_definitions *definitions, const struct mt_ranges *ranges,
                      uint32_t path)
{
    char text[1024];
    if (!path)
        return json_null();
    size_t n = 0;
    for (uint32_t at = path; at; at = ranges->range[at].parent)
        n++;
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(array, json_null());
    for (; path && n; path = ranges->range[path].parent) {
        const struct mt_range *range = &ranges->range[path];
        mt_range_name_text(text, sizeof text, definitions, range->name, range->domain);
        json_array_set_new(array, --n, mt_json_text(text));
    }
    return array;
}

json_t *mt_json_process(const struct mt_definitions *definitions)
{
    json_t *process = json_object();
    const struct mt_info *info;
    for (size_t i = 0; process && (info = mt_info_at(definitions, i)); i++) {
        char *key = mt_info_is_apart(info) ? NULL : mt_valid_copy(info->key);
        if (key)
            json_object_set_new(process, key, mt_json_text(info->value));
        free(key);
    }
    return process;
}

/* Return the length of a character in jansson's output that must be escaped because it may control
 * a terminal (safe-text.h); 0: none. */
static size_t acting(const char *text, size_t size, uint32_t *number)
{
    char next[8] = "";
    bool is_safe;
    if (((unsigned char)*text < 0x7f && *text != '#') || ((unsigned char)*text & 0xc0) == 0x80)
        return 0; /* or within a character that stays */
    memcpy(next, text, size < sizeof next ? size : sizeof next - 1);
    size_t length = mt_safe_next(next, &is_safe);
    *number = mt_utf8_number(next, length);
    return is_safe ? 0 : length;
}

static int put_safe(FILE *out, const char *text, size_t size)
{
    const char *end = text + size;
    while (text < end) {
        const char *from = text;
        uint32_t number;
        size_t length = 0;
        while (text < end && !(length = acting(text, (size_t)(end - text), &number)))
            text++;
        if (fwrite(from, 1, (size_t)(text - from), out) != (size_t)(text - from))
            return -1;
        if (length && number > 0xffff)
            fprintf(out, "\\u%04x", 0xd7c0 + (number >> 10));
        if (length)
            fprintf(out, "\\u%04x", number > 0xffff ? 0xdc00 | (number & 0x3ff) : number);
        text += length;
    }
    return 0;
}

/* Gathers jansson's small writes for put_safe and the stream. */
struct printing {
    FILE *out;
    int spaces; /* indentation added to each line */
    size_t n;
    char text[4096];
};

/* Print what was gathered. Texts contain no newline, since jansson escapes it. */
static int print_gathered(struct printing *printing)
{
    const char *text = printing->text, *end = text + printing->n, *newline;
    printing->n = 0;
    for (; printing->spaces && (newline = memchr(text, '\n', (size_t)(end - text)));
         text = newline + 1)
        if (put_safe(printing->out, text, (size_t)(newline - text)) ||
            fprintf(printing->out, "\n%*s", printing->spaces, "") < 0)
            return -1;
    return put_safe(printing->out, text, (size_t)(end - text));
}

/* Gather a piece of whole characters. A text that exceeds the buffer has no newline. */
static int gather(const char *text, size_t size, void *data)
{
    struct printing *printing = data;
    if (size > sizeof printing->text - printing->n && print_gathered(printing))
        return -1;
    if (size > sizeof printing->text)
        return put_safe(printing->out, text, size);
    memcpy(printing->text + printing->n, text, size);
    printing->n += size;
    return 0;
}

static int print(FILE *out, json_t *value, size_t flags, int spaces)
{
    struct printing printing; /* its text needs no value */
    if (!value)
        return -ENOMEM;
    printing.out = out;
    printing.spaces = spaces;
    printing.n = 0;
    int rc = json_dump_callback(value, gather, &printing, flags | JSON_ENCODE_ANY);
    json_decref(value);
    return rc || print_gathered(&printing) ? -EIO : 0;
}

int mt_json_within(FILE *out, json_t *value, unsigned depth)
{
    return print(out, value, JSON_INDENT(INDENT), (int)depth * INDENT);
}

int mt_json_print(FILE *out, json_t *value, int compact)
{
    int rc = print(out, value, compact ? JSON_COMPACT : JSON_INDENT(INDENT), 0);
    return rc ? rc : putc('\n', out) == EOF ? -EIO : 0;
}

int mt_json_piece(FILE *out, const char *before, json_t *value)
{
    fputs(before, out);
    return print(out, value, JSON_COMPACT, 0);
}

static int put_frame(FILE *out, const void *definitions, uint32_t stack)
{
    return mt_json_piece(out, "", mt_json_frame(definitions, stack));
}

int mt_json_put_frames(FILE *out, struct mt_kept_texts *texts,
                       const struct mt_definitions *definitions, uint32_t stack)
{
    int rc = 0;
    putc('[', out);
    for (const char *before = ""; mt_stack(definitions, stack)->depth && !rc; before = ",") {
        fputs(before, out);
        rc = mt_put_kept(out, texts, mt_stack(definitions, stack)->frame, put_frame, definitions,
                         stack);
        stack = mt_stack(definitions, stack)->parent;
    }
    putc(']', out);
    return rc ? rc : ferror(out) ? -EIO : 0;
}

json_t *mt_json_ended(const struct mt_ended *ended)
{
    char text[MT_ENDED_TEXT];
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:b, s:o}", "how", mt_ended_name(ended->how),
                     "exit_code",
                     ended->exit_code < 0 ? json_null() : json_integer(ended->exit_code), "signal",
                     ended->signal ? json_integer(ended->signal) : json_null(), "killer",
                     ended->killer ? json_integer(ended->killer) : json_null(), "out_of_memory",
                     mt_json_number(ended->ooms), "recovered", ended->is_recovered, "text",
                     mt_json_text(mt_ended_text(text, ended)));
}
