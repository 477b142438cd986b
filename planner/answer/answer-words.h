/* SPDX-License-Identifier: Apache-2.0 */
/* What a way is in words, for people and for programs alike. */
#ifndef MT_PLANNER_ANSWER_WORDS_H
#define MT_PLANNER_ANSWER_WORDS_H

#include "answer.h"

#define MT_WAY_ACTIONS (MT_CHANGE_PARTS + 1)
#define MT_WAY_TEXT 400u

/* What to do: a line to paste, and what to write into the program. */
struct mt_way_words {
    char action[MT_WAY_ACTIONS][MT_WAY_TEXT];
    size_t n;
    const char *costs; /* "nothing", "time", "cards", "exactness" */
    char price[2 * MT_WAY_TEXT];
};

void mt_way_words(struct mt_way_words *words, const struct mt_plan_answer *answer,
                  const struct mt_way *way);

#endif
