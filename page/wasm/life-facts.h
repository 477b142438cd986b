/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All facts about a block: its line and its operator, and the rest as JSON.
 */
#ifndef MT_PAGE_LIFE_FACTS_H
#define MT_PAGE_LIFE_FACTS_H

#include "lives.h"

#include <jansson.h>

#define MT_LIFE_TEXT 512u

/* A life as the analyzer's queries read blocks: all properties but the range. */
struct mt_life_verdict {
    struct mt_birth birth;
    struct mt_block block;
    struct mt_verdict verdict;
};
const struct mt_verdict *mt_life_verdict(struct mt_life_verdict *out,
                                         const struct mt_replay *replay,
                                         const struct mt_life *life);

void mt_life_line(const struct mt_definitions *definitions, const struct mt_life *life,
                  char out[MT_LIFE_TEXT]);
/* Return the frame of that line, for output. */
const struct mt_frame *mt_life_frame(const struct mt_definitions *definitions,
                                     const struct mt_life *life);
/* Write a frame's file, without its folders, and line. */
void mt_frame_place(char out[MT_LIFE_TEXT], const struct mt_frame *frame);

void mt_life_operator(const struct mt_definitions *definitions, const struct mt_life *life,
                      char out[MT_LIFE_TEXT]);

/* Return a slot's device if holders of its blocks are known; else NULL. */
const struct mt_device *mt_held_device(const struct mt_analysis *analysis, unsigned slot);

/* Return what held a block at the reported moment; NULL: not known. */
const struct mt_held_block *mt_life_held(const struct mt_lives *lives,
                                         const struct mt_analysis *analysis,
                                         const struct mt_life *life);

/* {"is_never", "is_passed", "last_ns", "line"}: when and by which line a block was last used; null:
 * not known. */
json_t *mt_life_uses_json(const struct mt_lives *lives, const struct mt_definitions *d,
                          const struct mt_life *life);

/* Return all that is known of a block, with its stacks. */
json_t *mt_life_json(const struct mt_lives *lives, const struct mt_analysis *analysis,
                     const struct mt_life *life);

/* [{"slot", "moment", "time_ns", "requested", "went_on", "is_stacked", "line"}]: the last times
 * that memory ran out. is_stacked: PyTorch's allocator failed, so the request would be on the
 * stack. */
json_t *mt_ooms_json(const struct mt_lives *lives, const struct mt_replay *replay);

/* [{"moment", "time_ns", "phase", "evaluates", "where", "iteration", "most"}] of a device. */
json_t *mt_spans_json(const struct mt_lives *lives, const struct mt_spans *spans, unsigned slot);

#endif
