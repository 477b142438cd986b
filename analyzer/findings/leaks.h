/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that a program without PyTorch never freed: CUDA's blocks on a device that are live at the
 * end of a complete trace.
 */
#ifndef MT_LEAKS_H
#define MT_LEAKS_H

#include "analyzer/replay/replay.h"

/* Nothing if the program was killed, or has PyTorch, whose tensors live to the end. Return 0 or
 * -ENOMEM. Call mt_sums_clear in any case. */
int mt_leaks_find(struct mt_sums *leaks, const struct mt_replay *replay, unsigned slot);

#endif
