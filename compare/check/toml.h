/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A TOML document as a tree for C, with the place of each value in the file. The parser is toml++
 * (toml.cc).
 */
#ifndef MT_TOML_H
#define MT_TOML_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum mt_toml_kind {
    MT_TOML_TABLE,
    MT_TOML_ARRAY,
    MT_TOML_STRING,
    MT_TOML_INTEGER,
    MT_TOML_DATE,
    MT_TOML_OTHER
};

/* Other numbers, booleans, times of day and dates with one are MT_TOML_OTHER. */
struct mt_toml {
    enum mt_toml_kind kind;
    const char *kind_name; /* "a table", "a number" */
    unsigned line, column; /* from 1; of the key, or else of the value */
    char *key;             /* "": an element of an array, or the document */
    char *text;            /* of a string; of an integer, its digits; else "" */
    int year, month, day;  /* of a date */
    struct mt_toml *child; /* of tables and arrays, in the order of the file */
    size_t n;
};

struct mt_toml_error {
    unsigned line, column;
    char text[200];
};

/* Parse a document of `size` bytes. Return 0, -EINVAL with *error filled, or -ENOMEM. Call
 * mt_toml_clear in any case. */
int mt_toml_parse(struct mt_toml *document, const char *text, size_t size,
                  struct mt_toml_error *error);
void mt_toml_clear(struct mt_toml *document);

#ifdef __cplusplus
}
#endif

#endif
