/* SPDX-License-Identifier: Apache-2.0 */
/* memtap attach and memtap detach. */
#ifndef MT_ATTACH_COMMAND_H
#define MT_ATTACH_COMMAND_H

#include "tools/memtap/terminal/command.h"

extern const struct mt_option mt_attach_options[], mt_detach_options[];

int mt_run_attach(const struct mt_command *command, int argc, char **argv);
int mt_run_detach(const struct mt_command *command, int argc, char **argv);

#endif
