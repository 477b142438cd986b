/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the analyzer uses of jansson, made of the page's own objects: a json_t is a number that the
 * page knows an object by. 0 is NULL: no memory, as in jansson, which the page never has too little
 * of. A value that is given to another is the other's; one that is left is forgotten by number.
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

/* Bytes, ns and counts are below 2^53, which a page's numbers are exact up to. */
static inline json_t *json_integer(json_int_t value)
{
    return mt_page_number((double)value);
}

static inline json_t *json_real(double value)
{
    return mt_page_number(value);
}

/* Of { [ s (a text; s? may be NULL) o (a value) i I b f. NULL: one of them was. */
json_t *json_pack(const char *format, ...);

/* Reports in a page are given as objects, not written. */
#define JSON_COMPACT 0x20
#define JSON_INDENT(n) (n)
#define JSON_ENCODE_ANY 0x200
typedef int (*json_dump_callback_t)(const char *text, size_t size, void *data);
int json_dump_callback(const json_t *value, json_dump_callback_t take, void *data, size_t flags);

#endif
