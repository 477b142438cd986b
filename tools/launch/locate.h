/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds memtap's own libraries: beside the command in a build folder, or installed.
 */
#ifndef MT_LOCATE_H
#define MT_LOCATE_H

#include <limits.h>

#define MT_PLACE_SIZE (2 * PATH_MAX)

/* Find the recording library's absolute path. Return 0, or MT_EXIT_BAD after a message. */
int mt_locate_shim(char out[MT_PLACE_SIZE]);

/* Find the absolute folder of the simulated device's libraries. Return 0, or -ENOENT with the
 * expected place in `out`. */
int mt_locate_simulator(char out[MT_PLACE_SIZE]);

/* Find memtap.html. Return 0, or -ENOENT with the expected place in `out`. */
int mt_locate_page(char out[MT_PLACE_SIZE]);

/* The folder with the Python package of a command that runs in its build folder: 0; or -ENOENT: it
 * is installed where its Python finds it. */
int mt_locate_package(char out[MT_PLACE_SIZE]);

#endif
