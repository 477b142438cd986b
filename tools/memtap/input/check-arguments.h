/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memtap check's command line.
 */
#ifndef MT_CHECK_ARGUMENTS_H
#define MT_CHECK_ARGUMENTS_H

#include "analyzer/trace/ended.h"
#include "compare/check/check-formats.h"
#include "tools/memtap/terminal/command.h"
#include "trace-arguments.h"
#include "traces.h"

#include <time.h>

extern const struct mt_option mt_check_options[];

/* clang-format off */
/* Rows for a struct mt_check_arguments within the command's arguments. */
#define MT_CHECK_OPTIONS(place)                                                                    \
    {'f', "format", "FORMAT[:FILE]",                                                            \
     "text (the default), json, junit, github or gitlab, to stdout\nor into a file; may be given " \
     "several times",                                                                              \
     "text json junit github gitlab", mt_note_check_format, place},         \
        MT_FORCE_OPTION,                                                                           \
    {0, "summary", "FILE", "append a Markdown summary to a file", NULL, mt_note_text,           \
     (place) + offsetof(struct mt_check_arguments, summary)},                                      \
    {0, "allow-missing", "KIND:NAME", "accept that this process, rank, device or phase of the\n" \
     "baselines is missing: rank:3, process:worker.py, device:1;\nmay be repeated", NULL, mt_note_missing, place}
/* clang-format on */

#define MT_MOST_OUTPUTS 8
#define MT_MOST_MISSING 256

struct mt_check_arguments {
    struct mt_trace_list runs, baselines;
    struct mt_budget budget;
    const char *budget_path; /* --budget; NULL: none */
    struct tm today;         /* --today; zeros: none */
    struct mt_user_rules *rules;
    struct mt_check_allowed allowed;
    const char *missing[MT_MOST_MISSING]; /* of allowed */
    bool are_nights;                      /* each folder contains the traces of one run */
    struct mt_trace_list pinned;          /* a run from which limits also count */
    struct mt_trace_list since;           /* a run from which changes are also counted */
    bool allows_unknown;                  /* sizes that depend on values that are not simulated */
    const char *summary;                  /* a file to append to; NULL: none */
    struct {
        const struct mt_check_format *format;
        const char *path; /* "": stdout */
    } output[MT_MOST_OUTPUTS];
    size_t n_outputs;
};

/* Add a format. */
int mt_note_check_format(const struct mt_typed *typed);

/* Add a part that may be missing. */
int mt_note_missing(const struct mt_typed *typed);

/* Read a budget (NULL: the default one) with today's allowances. Return 0, or an exit code after a
 * message. */
int mt_check_read_budget(struct mt_check_arguments *arguments, const char *path);

/* Choose text if no format was given; in a workflow's step, the summary too. */
void mt_check_set_outputs(struct mt_check_arguments *arguments);

/* Return 0, or -1 after a message. Call mt_check_arguments_clear in any case. */
int mt_read_check_arguments(struct mt_check_arguments *arguments, const struct mt_command *command,
                            int argc, char **argv);
void mt_check_arguments_clear(struct mt_check_arguments *arguments);

/* --allow-ended HOW: the ends of a run that the user accepts. */

#define MT_ALLOWED_CHOICES "any oom exit killed running executed stopped open cut"

/* clang-format off */
#define MT_ALLOW_ENDED_OPTION(type, member)                                                        \
    {0, "allow-ended", "HOW",                                                                 \
     "accept a run that ended this way: any, oom, exit, killed,\n"                         \
     "running, executed, stopped, open or cut; may be repeated", MT_ALLOWED_CHOICES, \
     mt_note_allowed, offsetof(struct type, member)}
/* clang-format on */

/* Add the ends that the option names, separated by commas. */
int mt_note_allowed(const struct mt_typed *typed);

#endif
