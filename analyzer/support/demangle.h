/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short names of C++ types from typeid: N5torch8autograd9generated14AddmmBackward0E becomes
 * AddmmBackward0.
 */
#ifndef MT_DEMANGLE_H
#define MT_DEMANGLE_H

#include <stddef.h>

/* Write the last plain part of a mangled type name, or the whole text if it is not one. out is
 * always terminated; text that does not fit is cut. */
void mt_short_type_name(const char *mangled, char *out, size_t size);

/* Return a function's name from its symbol, without parameters and return type: "at::empty". A new
 * text, NULL: no memory. A symbol that is not C++'s, or invalid, stays as it is. */
char *mt_function_name(const char *symbol);

#endif
