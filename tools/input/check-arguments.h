/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memtap check's command line.
 */
#ifndef MT_CHECK_ARGUMENTS_H
#define MT_CHECK_ARGUMENTS_H

#include "nightly/check/check-formats.h"
#include "trace-arguments.h"
#include "traces.h"

extern const struct mt_option mt_check_options[];

/* clang-format off */
#define MT_CHECK_FORMAT_OPTION(letter)                                                             \
    {letter, "format", "FORMAT[:FILE]",                                                            \
     "text (the default), json, junit, github or gitlab, to stdout\nor into a file; may be given " \
     "several times",                                                                              \
     "text json junit github gitlab"}
#define MT_CHECK_SUMMARY_OPTION(letter)                                                            \
    {letter, "summary", "FILE", "append a summary in markdown to a file"}
/* clang-format on */

#define MT_MOST_OUTPUTS 8

struct mt_check_arguments {
    struct mt_trace_list runs, baselines;
    struct mt_budget budget;
    struct mt_user_rules *rules;
    mt_allowed_ends allowed;
    bool allows_unknown; /* sizes that hang on values which were not computed */
    const char *summary; /* a file to append to; NULL: none */
    struct {
        const struct mt_check_format *format;
        const char *path; /* "": stdout */
    } output[MT_MOST_OUTPUTS];
    size_t n_outputs;
};

/* Read the value of --format. Return 0, or an exit code after a message. */
int mt_read_check_format(const struct mt_command *command, const char *value,
                         struct mt_check_arguments *arguments);

/* Read a budget (NULL: the default one), with the allowances of today. Return 0, or an exit code
 * after a message. */
int mt_check_read_budget(struct mt_check_arguments *arguments, const char *path);

/* Choose text if no format was given; in a workflow's step, the summary too. */
void mt_check_set_outputs(struct mt_check_arguments *arguments);

/* Return 0, or -1 after a message. Call mt_check_arguments_clear in any case. */
int mt_read_check_arguments(struct mt_check_arguments *arguments, const struct mt_command *command,
                            int argc, char **argv);
void mt_check_arguments_clear(struct mt_check_arguments *arguments);

#endif
