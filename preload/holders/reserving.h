/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Notice growth where memory is requested from CUDA, which a program in a steady state no longer
 * does: turns of one loop that each need more. A turn is known by the local variables of the
 * program's functions, outside constructors, modules and optimizers, which differ from the last
 * time that the same lines called.
 */
#ifndef MT_HOLDERS_RESERVING_H
#define MT_HOLDERS_RESERVING_H

#include "preload/record/recorder.h"

#include <stdbool.h>
#include <stdint.h>

extern bool mt_reserving_is_watched;

/* Watch from now on if the settings request it. */
void mt_reserving_start(bool has_python);

/* Note a request. Return whether the thread is in a loop that requests more memory in each turn.
 * Call between mt_enter and mt_leave. Keeps errno. */
bool mt_reserving_note(struct mt_thread *self, uint64_t bytes) __attribute__((cold));

/* Search for the holders if the pause is short for what the program has done so far. Keeps errno.
 */
void mt_reserving_search(void) __attribute__((cold));

/* Reset in a forked child. */
void mt_reserving_reset(void);

#endif
