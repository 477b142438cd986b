/* SPDX-License-Identifier: Apache-2.0 */
/* Commands as functions, for `nightly`, which runs several of them. */
#ifndef MT_STEPS_H
#define MT_STEPS_H

#include "tools/memtap/input/check-arguments.h"
#include "tools/memtap/launch/simulation.h"
#include "trace-format/settings/table.h"

#include <stdbool.h>

/* The options of `memtap run`. */
struct mt_run_request {
    const char *setting[MT_SETTINGS_COUNT]; /* NULL: as in the environment */
    struct mt_simulation simulation;
    bool is_night; /* report only traces that ended badly: the others are moved */
};

/* Record the operands' program or module. The environment is afterwards that of the program. Return
 * its exit code, or memtap's after a message. */
int mt_run_record(const struct mt_command *command, const struct mt_run_request *request,
                  char *const *operands);

/* Check runs. Before printing, call `found` (may be NULL), which may move the runs and change their
 * paths. For nightly runs, also print how much their peaks changed. */
struct mt_digests;
typedef void mt_check_found(void *data, bool is_broken, struct mt_digests *runs);
int mt_check_traces(const struct mt_check_arguments *arguments, mt_check_found *found, void *data);

/* Print what changed between runs. */
int mt_diff_traces(const struct mt_trace_list *old, const struct mt_trace_list *now,
                   struct mt_user_rules *rules);

/* Add runs to a history by their traces; print its trend. */
int mt_history_add_traces(const struct mt_command *command, const char *db,
                          struct mt_user_rules *rules, char *const *paths, size_t n);
int mt_history_print_trend(const struct mt_command *command, const char *db);

#endif
