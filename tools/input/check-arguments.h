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

#define MT_MOST_OUTPUTS 8

struct mt_check_arguments {
    struct mt_trace_list runs, baselines;
    struct mt_budget budget;
    struct mt_user_rules *rules;
    mt_allowed_ends allowed;
    const char *summary; /* a file to add to; NULL: none is wanted */
    struct {
        const struct mt_check_format *format;
        const char *path; /* "": stdout */
    } output[MT_MOST_OUTPUTS];
    size_t n_outputs;
};

/* 0, or -1 after a message. Cleared with mt_check_arguments_clear in any case. */
int mt_read_check_arguments(struct mt_check_arguments *arguments, const struct mt_command *command,
                            int argc, char **argv);
void mt_check_arguments_clear(struct mt_check_arguments *arguments);

#endif
