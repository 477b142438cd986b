/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes of a nightly run's memory, a sentence for each process and device, and the commit that
 * last changed a line.
 */
#ifndef MT_NIGHT_STEPS_H
#define MT_NIGHT_STEPS_H

#include "compare/check/check.h"
#include "digests.h"

/* Return whether all runs are on one simulated card, where equal programs take equal bytes. */
bool mt_are_simulated(const struct mt_digests *runs, const struct mt_digests *others);

/* Keep only the newest run's digests, which come last. */
void mt_keep_newest_night(struct mt_digests *nights);

/* Print "peak +48.0 MiB (+1.5 %) since yesterday, +3.0 % since 12 November", if a peak differs from
 * that of the newest run that passed by more than `ignore` bytes. pinned may be empty. */
void mt_print_steps(const struct mt_digests *runs, const struct mt_digests *newest,
                    const struct mt_digests *pinned, uint64_t ignore);

/* Print the last commit of each line that a check names, if git knows it. */
void mt_print_commits(const struct mt_check *check);

#endif
