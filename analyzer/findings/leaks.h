/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program without PyTorch never gave back: what CUDA handed out on a device and is live at
 * the end of a trace that has an end.
 */
#ifndef MT_LEAKS_H
#define MT_LEAKS_H

#include "analyzer/replay/replay.h"

/* Nothing where the program was killed, or has PyTorch, whose tensors live to the end. 0 or
 * -ENOMEM; to be cleared in any case. */
int mt_leaks_find(struct mt_origins *leaks, const struct mt_replay *replay, unsigned slot);

#endif
