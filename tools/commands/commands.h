/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The subcommands, each in its cmd-NAME.c.
 */
#ifndef MT_COMMANDS_H
#define MT_COMMANDS_H

#include "tools/terminal/command.h"

/* The table in memtap.c, which ends with a row of zeros. */
extern const struct mt_command mt_commands[];

int mt_run_info(const struct mt_command *command, int argc, char **argv);
int mt_run_budget(const struct mt_command *command, int argc, char **argv);
int mt_run_check(const struct mt_command *command, int argc, char **argv);
int mt_run_diff(const struct mt_command *command, int argc, char **argv);
int mt_run_export(const struct mt_command *command, int argc, char **argv);
int mt_run_import(const struct mt_command *command, int argc, char **argv);
int mt_run_dump(const struct mt_command *command, int argc, char **argv);
int mt_run_report(const struct mt_command *command, int argc, char **argv);
int mt_run_fit(const struct mt_command *command, int argc, char **argv);
int mt_run_explain(const struct mt_command *command, int argc, char **argv);
int mt_run_stacks(const struct mt_command *command, int argc, char **argv);
int mt_run_view(const struct mt_command *command, int argc, char **argv);
int mt_run_oom(const struct mt_command *command, int argc, char **argv);
int mt_run_blocks(const struct mt_command *command, int argc, char **argv);
int mt_run_compact(const struct mt_command *command, int argc, char **argv);
int mt_run_nightly(const struct mt_command *command, int argc, char **argv);
int mt_run_plan(const struct mt_command *command, int argc, char **argv);
int mt_run_run(const struct mt_command *command, int argc, char **argv);
int mt_run_simulate(const struct mt_command *command, int argc, char **argv);
int mt_run_top(const struct mt_command *command, int argc, char **argv);
int mt_run_symbolize(const struct mt_command *command, int argc, char **argv);
int mt_run_completion(const struct mt_command *command, int argc, char **argv);
int mt_run_fleet(const struct mt_command *command, int argc, char **argv);
int mt_run_lib(const struct mt_command *command, int argc, char **argv);

int mt_run_history_add(const struct mt_command *command, int argc, char **argv);

extern const struct mt_command mt_history_verbs[];
extern const struct mt_option mt_history_add_options[];
extern const struct mt_option mt_budget_options[];
extern const struct mt_option mt_compact_options[];
extern const struct mt_option mt_diff_options[];
extern const struct mt_option mt_export_options[];
extern const struct mt_option mt_fleet_options[];
extern const struct mt_option mt_import_options[];
extern const struct mt_option mt_fit_options[];
extern const struct mt_option mt_nightly_options[];
extern const struct mt_option mt_plan_options[];
extern const struct mt_option mt_run_options[];
extern const struct mt_option mt_simulate_options[];
extern const struct mt_option mt_symbolize_options[];
extern const struct mt_option mt_top_options[];
extern const struct mt_option mt_view_options[];

#endif
