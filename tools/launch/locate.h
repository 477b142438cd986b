/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where memtap's own libraries are: beside the command in a build folder, or installed.
 */
#ifndef MT_LOCATE_H
#define MT_LOCATE_H

#include <limits.h>

#define MT_PLACE_SIZE (2 * PATH_MAX)

/* The recording library, absolute: 0; or MT_EXIT_BAD, and what is wrong with it was said. */
int mt_locate_shim(char out[MT_PLACE_SIZE]);

/* The folder of the simulated device's libraries, absolute: 0; or -ENOENT, with the place where it
 * should have been in out. */
int mt_locate_simulator(char out[MT_PLACE_SIZE]);

/* memtap.html: 0; or -ENOENT, with the place where it should have been in out. */
int mt_locate_page(char out[MT_PLACE_SIZE]);

#endif
