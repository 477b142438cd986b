/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures that need all events of a trace: a compact copy has them as lists of numbers (FORMAT.md,
 * "Summary blocks").
 */
#ifndef MT_WHOLE_H
#define MT_WHOLE_H

#include "replay.h"

typedef int mt_tell(void *data, const struct mt_definition *definition);

/* Report each list of a trace that was replayed with whole_run. Return tell's result if it is not
 * 0. */
int mt_whole_list(const struct mt_replay *whole, mt_tell *tell, void *data);

/* At the end of a replay of a compact copy, put the lists in place of the copy's own figures. 0 or
 * -ENOMEM. */
int mt_whole_take(struct mt_replay *replay);

#endif
