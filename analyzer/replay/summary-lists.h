/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Figures that need all events of a trace: a compact copy has them as lists of numbers (FORMAT.md,
 * "Summary blocks").
 */
#ifndef MT_SUMMARY_LISTS_H
#define MT_SUMMARY_LISTS_H

#include "replay.h"

typedef int mt_definition_sink(void *data, const struct mt_definition *definition);

/* Gives the number that an event, or the first one after it, has in the copy; 0 for 0. */
struct mt_renumber {
    uint64_t (*number)(void *data, uint64_t event);
    void *data;
};

/* Report each list of a trace that was replayed with whole_run. Return tell's result if it is not
 * 0. */
int mt_summary_list(const struct mt_replay *whole, const struct mt_renumber *renumber,
                    mt_definition_sink *sink, void *data);

/* Put, at the end of a replay of a compact copy, the lists in place of the copy's own figures. 0 or
 * -ENOMEM. */
int mt_summary_take(struct mt_replay *replay);

#endif
