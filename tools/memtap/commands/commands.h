/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subcommands, each in its cmd-NAME.c.
 */
#ifndef MT_COMMANDS_H
#define MT_COMMANDS_H

#include "tools/memtap/terminal/command.h"

/* C(name): a command, with its options if any. */
/* clang-format off */
#define MT_COMMANDS(C)                                                                             \
    C(blocks) C(budget) C(check) C(compact) C(diff) C(dump) C(explain) C(export)     \
    C(fit) C(fleet) C(history_add) C(holders) C(import) C(info) C(lib) C(nightly) C(oom) C(plan) C(report)    \
    C(run) C(simulate) C(stacks) C(symbolize) C(top) C(view)
/* clang-format on */
#define MT_COMMAND(name)                                                                           \
    int mt_run_##name(const struct mt_command *command, int argc, char **argv);                    \
    extern const struct mt_option mt_##name##_options[];
MT_COMMANDS(MT_COMMAND)
#undef MT_COMMAND

/* Run memtap completion for these commands, terminated by a zeroed row. */
int mt_complete(const struct mt_command *commands, const struct mt_command *command, int argc,
                char **argv);

extern const struct mt_command mt_history_verbs[];

#endif
