/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of jansson that the analyzer uses, on the page's own objects. A json_t is a number by
 * which the page knows an object. 0 is NULL: no memory, as in jansson; the page never runs out. A
 * value passed to another belongs to it; a released one is forgotten by number.
 */
#ifndef MT_PAGE_JANSSON_H
#define MT_PAGE_JANSSON_H

#include <stddef.h>
#include <stdint.h>

typedef struct mt_page_value json_t;
typedef long long json_int_t;

#define MT_PAGE_IMPORT(name) __attribute__((import_module("memtap"), import_name(name)))

MT_PAGE_IMPORT("object") json_t *json_object(void);
MT_PAGE_IMPORT("array") json_t *json_array(void);
MT_PAGE_IMPORT("null") json_t *json_null(void);
MT_PAGE_IMPORT("boolean") json_t *json_boolean(int value);
MT_PAGE_IMPORT("number") json_t *mt_page_number(double value);
MT_PAGE_IMPORT("string") json_t *json_string(const char *text);
MT_PAGE_IMPORT("put") int json_object_set_new(json_t *object, const char *key, json_t *value);
MT_PAGE_IMPORT("push") int json_array_append_new(json_t *array, json_t *value);
MT_PAGE_IMPORT("at") int json_array_set_new(json_t *array, size_t index, json_t *value);
MT_PAGE_IMPORT("forget") void json_decref(json_t *value);

/* Make a number. Bytes, ns and counts are below 2^53: JavaScript's numbers are exact up to there.
 */
static inline json_t *json_integer(json_int_t value)
{
    return mt_page_number((double)value);
}

static inline json_t *json_real(double value)
{
    return mt_page_number(value);
}

/* Pack by { [ s (a text; s? may be NULL) o (a value) i I b f. Return NULL if a value was NULL. */
json_t *json_pack(const char *format, ...);

/* A page gets reports as objects: they are not written as text. */
#define JSON_COMPACT 0x20
#define JSON_INDENT(n) (n)
#define JSON_ENCODE_ANY 0x200
typedef int (*json_dump_callback_t)(const char *text, size_t size, void *data);
int json_dump_callback(const json_t *value, json_dump_callback_t take, void *data, size_t flags);

#endif
