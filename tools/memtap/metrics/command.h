/* SPDX-License-Identifier: Apache-2.0 */
/* memtap metrics. */
#ifndef MT_METRICS_COMMAND_H
#define MT_METRICS_COMMAND_H

#include "tools/memtap/terminal/command.h"

extern const struct mt_option mt_metrics_options[];

int mt_run_metrics(const struct mt_command *command, int argc, char **argv);

#endif
