/* SPDX-License-Identifier: Apache-2.0 */
/* memtap recover, save, start and stop. */
#ifndef MT_RECORDINGS_COMMAND_H
#define MT_RECORDINGS_COMMAND_H

#include "tools/memtap/terminal/command.h"

extern const struct mt_option mt_recover_options[], mt_save_options[], mt_start_options[];

int mt_run_recover(const struct mt_command *command, int argc, char **argv);
int mt_run_save(const struct mt_command *command, int argc, char **argv);
int mt_start_recordings(const struct mt_command *command, int argc, char **argv);
int mt_stop_recordings(const struct mt_command *command, int argc, char **argv);

/* Copy a trace, its tail and its older segment to a new file, and print the result. Return an exit
 * code. */
int mt_recover_copy(const char *trace, const char *output);

#endif
