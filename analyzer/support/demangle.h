/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of C++ types, as typeid gives them, made short: N5torch8autograd9generated14AddmmBackward0E
 * is AddmmBackward0.
 */
#ifndef MT_DEMANGLE_H
#define MT_DEMANGLE_H

#include <stddef.h>

/* The last plain part of a mangled type name, or the whole text where it is none. out is always
 * terminated; what does not fit is cut. */
void mt_short_type_name(const char *mangled, char *out, size_t size);

/* The name of a function by its symbol, without parameters and the type it returns: "at::empty". A
 * new text, NULL: no memory. A symbol that is not C++'s, or cannot be read, is itself. */
char *mt_function_name(const char *symbol);

#endif
