/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what would have kept memory from running out: tries allocator settings by replaying the
 * program's requests up to the failed one, and changes of the program by replaying the requests
 * that it would make then (planner/changes).
 *
 * * * struct mt_advisor advisor = {0}; mt_advisor_watch(&advisor, &question);
 * mt_analysis_create(&analysis, path, &question); mt_oom_explain(&story, &analysis);
 * mt_advise(&advisor, &analysis, &story); mt_advisor_clear(&advisor);
 *
 * * * Its memory grows with the trace's allocations, up to MT_ADVISOR_EVENTS; for a longer trace it
 * tries nothing.
 */
#ifndef MT_PLANNER_ADVICE_H
#define MT_PLANNER_ADVICE_H

#include "analyzer/findings/oom.h"
#include "planner/recording/recording.h"
#include "planner/requests/gather.h"

#define MT_ADVISOR_EVENTS 20000000u

struct mt_advisor {
    struct mt_gathering *gathering;
    struct mt_recording recording;
    struct mt_watcher watcher;
    struct mt_life_watcher lives;
    bool is_too_long;
};

/* Register the advisor as a watcher of the question's replay. Do not move it afterwards. Return 0
 * or -ENOMEM. */
int mt_advisor_watch(struct mt_advisor *advisor, struct mt_question *question);

/* Judge the story's advice, add settings that help, and find how much larger a card would suffice.
 * If the trace cannot be replayed, the story stays unchanged. Return 0 or -ENOMEM. */
int mt_advise(struct mt_advisor *advisor, const struct mt_analysis *analysis,
              struct mt_oom_story *story);
void mt_advisor_clear(struct mt_advisor *advisor);

#endif
