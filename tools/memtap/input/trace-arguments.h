/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arguments of the commands that show a trace, and its analysis.
 */
#ifndef MT_TRACE_ARGUMENTS_H
#define MT_TRACE_ARGUMENTS_H

#include <stdbool.h>

#include "analyzer/findings/analysis.h"
#include "tools/memtap/terminal/values.h"
#include "traces.h"

/* A trace is the operand of these commands. Each has some of the options in trace-arguments.c.
 * Return 0, or -1 after a message. */
struct mt_trace_arguments {
    const char *path;
    char *const *paths; /* report: all traces; path is the first */
    int n_paths;
    enum mt_format format;
    struct mt_question question;
    struct mt_user_rules *rules; /* the question's */
    const char *categories;      /* --category */
    const char *html;            /* the page to write; NULL: none */
    bool bottom_up;              /* stacks */
    bool tries;                  /* oom: run the advised setting */
    bool has_moment;             /* holders: --at was given */
    bool has_rank;               /* show only one rank's trace */
    long rank;
    const char *what;           /* explain: an address or a stack; holders: --of */
    struct mt_trace_list found; /* owns the texts of paths */
};
/* clang-format off */
#define MT_DEVICE_OPTION(type, member, help)                                                       \
    {0, "device", "N", help, NULL, mt_note_device, offsetof(struct type, member)}
#define MT_RULES_OPTION(type, member)                                                              \
    {0, "rules", "FILE", "apply your own rules first: memtap-rules(5)", NULL, mt_note_rules,       \
     offsetof(struct type, member)}
/* clang-format on */

extern const struct mt_option mt_trace_options[], mt_report_options[], mt_blocks_options[],
    mt_oom_options[], mt_explain_options[], mt_stacks_options[], mt_holders_options[];
/* Return whether the trace has the chosen moment and device. Otherwise tell the user. */
bool mt_has_moment(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments);
/* Read a file of rules in the place of *rules. Return 0, or -1 after a message. */
int mt_read_rules(const char *path, struct mt_user_rules **rules);

/* Note --at as a struct mt_moment, --device in a struct mt_question, --rules. */
int mt_note_moment(const struct mt_typed *typed);
int mt_note_device(const struct mt_typed *typed);
int mt_note_rules(const struct mt_typed *typed);
void mt_trace_arguments_clear(struct mt_trace_arguments *arguments);

/* Print a command's view of a trace. Return an exit code (MT_EXIT_BAD after a message) or a
 * negative errno. */
typedef int mt_trace_printer(const struct mt_analysis *analysis,
                             const struct mt_trace_arguments *arguments);

/* Analyze the arguments' trace, print it, report its faults and clear the arguments. Return the
 * exit code. */
int mt_on_trace(struct mt_trace_arguments *arguments, mt_trace_printer *print);

/* Print how the run ended, unless it is whole, before the view. Formats for programs have no place
 * for it: use stderr. JSON has its own member. */
void mt_print_ended(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments);

/* What stands behind the options. */
enum mt_operands { MT_ONE_TRACE, MT_TRACE_OUT_OF_MEMORY, MT_SEVERAL_TRACES, MT_TRACE_AND_PLACE };

/* Return whether memory ran out while a trace was recorded. */
bool mt_ran_out(const char *path);

/* Return the name of the trace `path` as the user gave it: that of the file it was imported from.
 */
const char *mt_trace_name(const struct mt_trace_arguments *arguments);

/* Find the operands' traces. For a folder, take the newest trace (the newest whose program ran out
 * of memory, if the command is about that and there is one), or all if the command takes several.
 * Without an operand, look into the current folder. Return 0, or -1 after a message, with nothing
 * to clear. */
int mt_read_trace_arguments(const struct mt_command *command, int argc, char **argv,
                            enum mt_operands operands, struct mt_trace_arguments *arguments);

/* Find the traces of operands alone, and the place behind one. Return 0, or -1 after a message. */
int mt_find_traces(const struct mt_command *command, char **operands, int n, enum mt_operands kind,
                   struct mt_trace_arguments *arguments);

#endif
