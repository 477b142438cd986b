/* SPDX-License-Identifier: Apache-2.0 */
/* What holds CUDA's memory in a process without PyTorch: words in its memory, as preload/scan finds
 * them, and the paths to them. */
#ifndef MT_HOLDERS_NATIVE_PATHS_H
#define MT_HOLDERS_NATIVE_PATHS_H

#include "child.h"

/* Wait for the list of the blocks, and search. It may be left by a jump. */
void mt_native_search(const struct mt_holders_task *task);

/* Write what was found. Return whether that is all (enum mt_holders_result). */
uint32_t mt_native_paths_write(struct mt_holders_answer *answer);

#endif
