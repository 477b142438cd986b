/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A subcommand is a row in the table of commands/memtap.c and a file commands/cmd-NAME.c.
 */
#ifndef MT_COMMAND_H
#define MT_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzer/support/text.h"
#include "trace-format/reader.h"

/* Exit codes of memtap itself. `run` and `simulate` return the program's own if it ran. */
enum { MT_EXIT_OK = 0, MT_EXIT_BAD = 2, MT_EXIT_NOT_EXECUTABLE = 126, MT_EXIT_NOT_FOUND = 127 };

/* As an option's choice: every simulated card. */
#define MT_CARDS "<cards>"

/* An option that a user typed. */
struct mt_typed {
    const struct mt_command *command;
    const struct mt_option *option;
    const char *value; /* NULL: the option has none */
    void *place;       /* where its row says */
    void *arguments;   /* the command's */
    int argc;
    char **argv; /* the word behind the option is argv[optind] */
};

/* Note an option in the command's arguments. Return 0; MT_LAST_OPTION, if all that follows are
 * operands; or another number after a message. values.h has the usual ones. */
typedef int mt_option_noter(const struct mt_typed *typed);
enum { MT_LAST_OPTION = 1 };

/* A row of zeros ends a table of options. Every command also has --help. */
struct mt_option {
    char letter; /* the short form; 0: none */
    const char *name;
    const char *value;   /* "FILE"; NULL: no value */
    const char *help;    /* one or more lines; "{}" in it: the choices */
    const char *choices; /* values separated by spaces; NULL: a file, or anything */
    mt_option_noter *note;
    size_t place;         /* an offset in the command's arguments */
    uint64_t least, most; /* of a number */
};

struct mt_command {
    const char *name;
    const char *operands; /* for the usage line */
    const char *summary;  /* one line */
    const char *description;
    const struct mt_option *options;
    int takes_command; /* the words after the first operand belong to a program that is started */
    /* argv[0] is the command's name. Return the exit code. */
    int (*run)(const struct mt_command *command, int argc, char **argv);
    /* Its verbs, whose names begin with its name; a row of zeros ends them. run is NULL. */
    const struct mt_command *verbs;
};

/* Read a command line's options into the command's arguments. Return the first operand's index, or
 * -1 after a message. */
int mt_options_read(const struct mt_command *command, int argc, char **argv, void *arguments);

/* Read a command line of one operand and perhaps -o FILE (*output; NULL: none). Return the operand,
 * or NULL after a message. what: the operand, in a word. */
const char *mt_read_operand(const struct mt_command *command, int argc, char **argv,
                            const char *what, const char **output);

/* Write an option's help with its choices. */
#define MT_HELP_TEXT 1024
void mt_option_help(const struct mt_option *option, char out[MT_HELP_TEXT]);

/* Print --help's page. */
void mt_print_help(const struct mt_command *command);

/* Print to stderr: "memtap: MESSAGE", or about the command line "memtap NAME: MESSAGE (see memtap
 * NAME --help)". mt_fail and mt_fail_usage return MT_EXIT_BAD. */
__attribute__((format(printf, 1, 2))) void mt_say(const char *format, ...);
__attribute__((format(printf, 1, 2))) int mt_fail(const char *format, ...);
__attribute__((format(printf, 2, 3))) int mt_fail_usage(const struct mt_command *command,
                                                        const char *format, ...);

/* Print a path or other foreign text so that it cannot act (analyzer/support/text.h). */
void mt_print_text(const char *text);

/* Print "memtap: FILE: WHAT" for an invalid trace, after all output so far. Return MT_EXIT_BAD. */
int mt_fail_trace(const char *path, const struct mt_trace_error *error);

/* Print that memory ran out, and what allows more. Return MT_EXIT_BAD. */
int mt_fail_memory(void);

/* Print that a trace needs more work than is allowed (mt_work_is_too_much). Return MT_EXIT_BAD. */
int mt_fail_work(const char *path);

/* Print "memtap: FILE:LINE:COLUMN: WHAT" for a file that cannot be read. line: 0: it is of the
 * whole file. Return MT_EXIT_BAD. */
int mt_fail_at(const char *path, int rc, unsigned line, unsigned column, const char *text);

/* Flush stdout. Return `code`, or MT_EXIT_BAD after a message if the output could not be
 * written. */
int mt_finish_output(int code);

extern const struct mt_option mt_no_options[];

/* Note --color, one of its choices. */
int mt_note_colour(const struct mt_typed *typed);
enum mt_colour_when { MT_COLOUR_AUTO, MT_COLOUR_ALWAYS, MT_COLOUR_NEVER };
void mt_terminal_colour(enum mt_colour_when when);
#define MT_COLOR_OPTION                                                                            \
    {0,                                                                                            \
     "color",                                                                                      \
     "WHEN",                                                                                       \
     "use colours: auto (the default), always or never",                                           \
     "auto always never",                                                                          \
     mt_note_colour}

/* Return what stdout can show: UTF-8 by the locale; colour by --color, else on a terminal unless
 * NO_COLOR is set. */
struct mt_style mt_terminal_style(void);

/* Bounds on a command's memory and output, whatever the trace is. */

/* Remove memtap's own options before the command, --most-memory, --most-output and --most-events,
 * from argv, which begins with the program's name. Where one is missing, the environment says it.
 * Return how many words they were; -1 after a message. */
int mt_bounds_read(int argc, char **argv);

/* Put the bounds into the environment, for a program that reads traces in this command's place. */
void mt_bounds_pass_on(void);

/* Apply the bounds from now on: no program of the user's starts any more. */
void mt_bounds_begin(void);

#endif
