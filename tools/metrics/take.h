/* SPDX-License-Identifier: Apache-2.0 */
/* Take a trace's figures. Call mt_figures_clear in any case. */
#ifndef MT_METRICS_TAKE_H
#define MT_METRICS_TAKE_H

#include "analyzer/replay/follow.h"
#include "figures.h"

/* Of a trace as it is now, in two passes (its end, its peak): the same as memtap report says.
 * Return 0, also if the trace is valid only up to *fault; or a negative errno and *fault (empty
 * text: out of memory). */
int mt_figures_read(struct mt_figures *figures, const char *path, const struct mt_user_rules *rules,
                    struct mt_trace_error *fault);

/* Of a trace that is followed, after the last event read. The categories at the peak are unknown
 * until it has ended. *n_stacks is the caller's, 0 at first and after a restart: the stacks that
 * the rules have looked through. Return 0 or -ENOMEM. */
int mt_figures_follow(struct mt_figures *figures, const char *path, struct mt_follow *follow,
                      uint32_t *n_stacks);

void mt_figures_clear(struct mt_figures *figures);

#endif
