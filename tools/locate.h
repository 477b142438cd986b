/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where memtap's own libraries are: beside the command in a build folder, or installed.
 */
#ifndef MT_LOCATE_H
#define MT_LOCATE_H

#include <limits.h>

/* The recording library / the folder of the simulated device's libraries, absolute. 0, or -ENOENT
 * with a place where it was looked for in out. */
int mt_locate_shim(char out[PATH_MAX]);
int mt_locate_simulator(char out[PATH_MAX]);

#endif
