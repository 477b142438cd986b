/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only all events of a trace can tell: a compact copy has it as lists of numbers (FORMAT.md,
 * "Summary blocks").
 */
#ifndef MT_WHOLE_H
#define MT_WHOLE_H

#include "replay.h"

typedef int mt_tell(void *data, const struct mt_definition *definition);

/* Tells each list of a trace that was replayed with whole_run. Returns what tell returns where that
 * is not 0. */
int mt_whole_tell(const struct mt_replay *whole, mt_tell *tell, void *data);

/* At the end of a replay of a compact copy: takes them for what the copy itself showed. 0 or
 * -ENOMEM. */
int mt_whole_take(struct mt_replay *replay);

#endif
