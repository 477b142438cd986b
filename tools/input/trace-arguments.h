/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the commands have in common that show something of a trace: its arguments, and how it is
 * analyzed.
 */
#ifndef MT_TRACE_ARGUMENTS_H
#define MT_TRACE_ARGUMENTS_H

#include <stdbool.h>

#include "analyzer/findings/analysis.h"
#include "tools/terminal/command.h"
#include "traces.h"

/* The commands that read a trace take it as their operand, and some of these options
 * (trace-arguments.c). 0, or -1 after a message. */
enum mt_format { MT_FORMAT_TEXT, MT_FORMAT_JSON, MT_FORMAT_CSV, MT_FORMAT_FOLDED };
struct mt_trace_arguments {
    const char *path;
    char *const *paths; /* report: all traces; path is the first */
    int n_paths;
    enum mt_format format;
    struct mt_question question;
    struct mt_user_rules *rules; /* the question's */
    const char *categories;      /* --category */
    const char *html;            /* the page to be written; NULL: none */
    int bottom_up;               /* stacks */
    bool has_rank;               /* of several traces, only that of one rank */
    long rank;
    const char *what;           /* explain: an address or a stack */
    struct mt_trace_list found; /* what paths points into */
};
extern const struct mt_option mt_trace_options[], mt_report_options[], mt_blocks_options[],
    mt_oom_options[], mt_explain_options[], mt_stacks_options[];
/* Whether the moment and the device that are asked for are in the trace; else the user has been
 * told. */
bool mt_has_moment(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments);
/* Reads a file of rules instead of those that *rules has. 0, or -1 after a message. */
int mt_read_rules(const char *path, struct mt_user_rules **rules);
void mt_trace_arguments_clear(struct mt_trace_arguments *arguments);

/* What a command shows of a trace: an exit code (MT_EXIT_BAD after a message), or a negative errno.
 */
typedef int mt_trace_printer(const struct mt_analysis *analysis,
                             const struct mt_trace_arguments *arguments);

/* Analyzes the trace that the arguments ask for, lets it be printed, tells what is wrong with it,
 * and clears the arguments. The exit code. */
int mt_on_trace(struct mt_trace_arguments *arguments, mt_trace_printer *print);

/* How the run ended, where it is not whole, before what is shown of it: on stderr where the output
 * is for a program that has no place for it; JSON has it. */
void mt_tell_ended(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments);

/* Traces that the operands name; of a folder its newest one, or all where the command takes several.
 * Without an operand the newest of the current folder. 0, or -1 after a message, with nothing to be
 * cleared. */
int mt_read_trace_arguments(const struct mt_command *command, int argc, char **argv,
                            struct mt_trace_arguments *arguments);

#endif
