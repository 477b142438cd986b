/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Short names of backward nodes, from the typeid names of C++ types:
 * N5torch8autograd9generated14AddmmBackward0E becomes AddmmBackward0.
 */
#ifndef MT_DEMANGLE_H
#define MT_DEMANGLE_H

#include <stddef.h>

/* Write the last plain part of a mangled type name. Of other text, write all of it; of a Python
 * function (an autograd.Function's "Class.backward"), the part after "<locals>.". out is always
 * terminated; text that does not fit is cut. */
void mt_short_type_name(const char *mangled, char *out, size_t size);

/* Return a function's name from its symbol, without parameters and return type: "at::empty". A
 * symbol that is invalid or not C++ is returned unchanged. The caller frees the text. NULL: no
 * memory. */
char *mt_function_name(const char *symbol);

/*
 * Functions that torch.compile generates: after a graph break, the rest of a function becomes a new
 * function, "Net.torch_dynamo_resume_in_forward_at_13".
 */

/* Shorten the name of such a function to the user's ("Net.forward"). Other names are unchanged. */
void mt_compiled_shorten(char *function);

#endif
