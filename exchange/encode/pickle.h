/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes pickles of protocol 4, plain values only, with the opcodes that memory_viz supports: no
 * BINUNICODE8, no long LONG4, and lists in pieces of 1,000.
 */
#ifndef MT_PICKLE_H
#define MT_PICKLE_H

#include "sink.h"

#define MT_PICKLE_KEYS 64u

struct mt_pickle {
    struct mt_sink *sink;
    uint32_t memos; /* values that were memoized */
    struct {
        const char *text; /* a literal: compared by address */
        uint32_t memo;
    } key[MT_PICKLE_KEYS];
    size_t n_keys;
};

struct mt_pickle_list {
    size_t n;
};

void mt_pickle_begin(struct mt_pickle *pickle, struct mt_sink *sink);
void mt_pickle_end(struct mt_pickle *pickle);

void mt_pickle_number(struct mt_pickle *pickle, uint64_t number);
void mt_pickle_bool(struct mt_pickle *pickle, int value);

/* Write a text of any bytes; what is not UTF-8 becomes U+FFFD. */
void mt_pickle_text(struct mt_pickle *pickle, const char *text);

/* Write a string literal, which is stored once. */
void mt_pickle_key(struct mt_pickle *pickle, const char *literal);

/* Memoize the last value written and return its number, for mt_pickle_get. */
uint32_t mt_pickle_memoize(struct mt_pickle *pickle);
void mt_pickle_get(struct mt_pickle *pickle, uint32_t memo);

/* Write {key: value, ...}: begin, then keys and values, then end. */
void mt_pickle_dict(struct mt_pickle *pickle);
void mt_pickle_dict_end(struct mt_pickle *pickle);

/* Write [item, ...]: begin; before each item mt_pickle_item; end. */
void mt_pickle_list(struct mt_pickle *pickle, struct mt_pickle_list *list);
void mt_pickle_item(struct mt_pickle *pickle, struct mt_pickle_list *list);
void mt_pickle_list_end(struct mt_pickle *pickle, const struct mt_pickle_list *list);

/* Write (a, b) from the last two values written. */
void mt_pickle_pair(struct mt_pickle *pickle);

#endif
