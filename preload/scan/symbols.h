/* SPDX-License-Identifier: Apache-2.0 */
/* The names of variables and functions, from the symbols of the file that the process has loaded.
 */
#ifndef MT_SCAN_SYMBOLS_H
#define MT_SCAN_SYMBOLS_H

#include "regions.h"

#include <stddef.h>

struct mt_image_symbol {
    char name[256];
    uint64_t offset, size; /* of the address in it; its bytes */
};

/* Find the variable of an image that has an address, or the program's thread-local one, that many
 * bytes below the thread's struct pthread. Return whether there is one. Reads the file; a read may
 * crash if somebody shortens it. */
bool mt_symbol_of_variable(const struct mt_image_file *image, uint64_t address,
                           struct mt_image_symbol *symbol);
bool mt_symbol_thread_local(const struct mt_image_file *program, uint64_t below,
                            struct mt_image_symbol *symbol);

/* The same for the function that has an address. */
bool mt_symbol_of_function(const struct mt_image_file *image, uint64_t address,
                           struct mt_image_symbol *symbol);

#endif
