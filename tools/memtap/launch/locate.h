/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find memtap's own libraries, in a build folder or installed.
 */
#ifndef MT_LOCATE_H
#define MT_LOCATE_H

#include <limits.h>
#include <stdbool.h>

#define MT_PLACE_SIZE (2 * PATH_MAX)

/* Find the recording library's absolute path. Return 0, or MT_EXIT_BAD after a message. */
int mt_locate_shim(char out[MT_PLACE_SIZE]);

/* Find the absolute folder of the simulated device's libraries. Return 0, or -ENOENT with the
 * expected place in `out`. */
int mt_locate_simulator(char out[MT_PLACE_SIZE]);

/* Find memtap.html. Return 0, or -ENOENT with the expected place in `out`. */
int mt_locate_page(char out[MT_PLACE_SIZE]);

/* Locate the Python package of a command that runs from its build folder. Return 0, or -ENOENT if
 * the package is installed. */
int mt_locate_package(char out[MT_PLACE_SIZE]);

/* Return 1 if a file is a program or library for memtap's own machine type, 0 if for another, -1 if
 * it is neither or cannot be read. */
int mt_match_machine(const char *path);

/* Return whether a file is a program for musl, whose loader cannot load memtap's library and would
 * end the program. */
bool mt_is_of_musl(const char *path);

/*
 * Work done by the Python package (python/memtap/fleet), whose dependencies memtap does not need
 * otherwise.
 */

/* Exec Python with the package's work ("fleet", "parquet") and n arguments. Return only on failure:
 * the exit code, after a message. */
int mt_package_become(const char *work, char *const *arguments, int n);

#endif
