/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a function that compilers put elsewhere, ".cold". .eh_frame has it as a function of
 * its own, and no loaded table has its name. */
#ifndef MT_PRELOAD_FUNCTION_PARTS_H
#define MT_PRELOAD_FUNCTION_PARTS_H

#include "cfi.h"

/* Find begin and end of the cold part of the function around an address in the image; zeros: none.
 * Goes through the function's code. */
void mt_function_cold_part(const struct mt_image *image, uintptr_t in, uintptr_t part[2]);

#endif
