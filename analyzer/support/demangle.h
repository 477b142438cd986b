/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short names of backward nodes: of C++ types from typeid:
 * N5torch8autograd9generated14AddmmBackward0E becomes AddmmBackward0.
 */
#ifndef MT_DEMANGLE_H
#define MT_DEMANGLE_H

#include <stddef.h>

/* Write the last plain part of a mangled type name. If it is none: the whole text, of a Python
 * function (an autograd.Function's "Class.backward") what stands behind "<locals>.". out is always
 * terminated; text that does not fit is cut. */
void mt_short_type_name(const char *mangled, char *out, size_t size);

/* Return a function's name from its symbol, without parameters and return type: "at::empty". A new
 * text, NULL: no memory. A symbol that is not C++'s, or invalid, stays as it is. */
char *mt_function_name(const char *symbol);

/*
 * Functions that torch.compile makes from the user's: after a graph break, the rest of a function
 * becomes its own function, "Net.torch_dynamo_resume_in_forward_at_13".
 */

/* Shorten the name of such a function to the user's ("Net.forward"). Other names stay. */
void mt_compiled_shorten(char *function);

#endif
