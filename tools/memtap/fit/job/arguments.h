/* SPDX-License-Identifier: Apache-2.0 */
/* memtap fit's command line. */
#ifndef MT_FIT_ARGUMENTS_H
#define MT_FIT_ARGUMENTS_H

#include "job.h"
#include "tools/memtap/terminal/values.h"

#include <stdbool.h>

struct mt_fit_arguments {
    struct mt_job job;
    const char *environment[MT_MOST_VARIABLES]; /* --env */
    size_t n_environment;
    char **program; /* the command's words, referenced by the job; freed with the arguments */
    const char *picture, *folder; /* NULL: none */
    unsigned jobs;                /* 0: as many as the machine has room for */
    enum mt_format format;        /* text or JSON */
    bool is_quiet, is_list;       /* is_list: only list the cards */
};

extern const struct mt_option mt_fit_options[];

/* Read the arguments. Return 0, or an exit code after a message. Clear them in any case. */
int mt_fit_arguments_read(struct mt_fit_arguments *arguments, const struct mt_command *command,
                          int argc, char **argv);
void mt_fit_arguments_clear(struct mt_fit_arguments *arguments);

#endif
