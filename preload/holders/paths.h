/* SPDX-License-Identifier: Apache-2.0 */
/* Write the path to each storage on a device that was reached. */
#ifndef MT_HOLDERS_PATHS_H
#define MT_HOLDERS_PATHS_H

#include "answer.h"

#include <stdbool.h>

/* Return whether there was room for all paths. */
bool mt_paths_write(struct mt_holders_answer *answer);

#endif
