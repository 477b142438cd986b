/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_WRITE_ITERATIONS_H
#define MT_WRITE_ITERATIONS_H

#include "trace-format/model.h"

#include <stddef.h>
#include <stdint.h>

/* Count iterations, if the recording is to stop after so many (0: it is not): start; note
 * definitions, and events, of which it returns how many are to be written; end; reset in a forked
 * child. */
void mt_iterations_start(uint32_t most);
void mt_iterations_define(const struct mt_definition *definition);
size_t mt_iterations_note(const struct mt_event *events, size_t n);
void mt_iterations_end(void);
void mt_iterations_reset(void);

#endif
