/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the verbs of memtap history. */
#ifndef MT_CMD_HISTORY_H
#define MT_CMD_HISTORY_H

#include "tools/input/history-location.h"

extern const struct mt_option mt_history_add_options[];
int mt_run_history_add(const struct mt_command *command, int argc, char **argv);

#endif
