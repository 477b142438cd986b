/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of a block: its line and its operator.
 */
#ifndef MT_PAGE_LIFE_NAMES_H
#define MT_PAGE_LIFE_NAMES_H

#include "lives.h"

#define MT_LIFE_TEXT 512u

/* Return what the analyzer's properties of blocks read: stacks, names and the size. */
struct mt_block mt_life_block(const struct mt_life *life);

void mt_life_line(const struct mt_definitions *definitions, const struct mt_life *life,
                  char out[MT_LIFE_TEXT]);
/* Return the frame of that line, for output. */
const struct mt_frame *mt_life_frame(const struct mt_definitions *definitions,
                                     const struct mt_life *life);
/* Write a frame's file, without its folders, and line. */
void mt_frame_place(char out[MT_LIFE_TEXT], const struct mt_frame *frame);

void mt_life_operator(const struct mt_definitions *definitions, const struct mt_life *life,
                      char out[MT_LIFE_TEXT]);

#endif
