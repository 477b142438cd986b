/* SPDX-License-Identifier: Apache-2.0 */
/* A program that can use no device: there is nothing to record, and memtap run says why. */
#ifndef MT_PRELOAD_NO_DEVICE_H
#define MT_PRELOAD_NO_DEVICE_H

#include <stdbool.h>

/* Return whether a call failed because of this, before anything was recorded. Report the process's
 * first such call to memtap run. Any thread; keeps errno. */
bool mt_has_no_device(const char *function, unsigned result);

#endif
