/* SPDX-License-Identifier: Apache-2.0 */
/* A recorded program, run again with another setting of PyTorch's allocator. */
#ifndef MT_FIT_AGAIN_H
#define MT_FIT_AGAIN_H

#include "analyzer/findings/oom.h"

/* Run the trace's command again in its folder, on the simulated card of the trace, with the first
 * setting that the story advises; fill in story->tried. Return 0, or MT_EXIT_BAD after a message:
 * without such a setting, without a single process's command, or without its files. */
int mt_run_again(struct mt_oom_story *story, const struct mt_analysis *analysis, const char *path);

#endif
