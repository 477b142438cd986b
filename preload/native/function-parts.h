/* SPDX-License-Identifier: Apache-2.0 */
/* What compilers put apart of a function, ".cold", which is a function of its own to .eh_frame; its
 * name is in no table that is loaded. */
#ifndef MT_PRELOAD_FUNCTION_PARTS_H
#define MT_PRELOAD_FUNCTION_PARTS_H

#include "cfi.h"

/* Begin and end of it, of the function that an address in the image lies in; zeros: there is none.
 * Goes through the function's code. */
void mt_function_cold_part(const struct mt_image *image, uintptr_t in, uintptr_t part[2]);

#endif
