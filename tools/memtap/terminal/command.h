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
#include "analyzer/trace/ended.h"
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

/* Store an option in the command's arguments. Return 0, MT_LAST_OPTION if only operands follow, or
 * another number after a message. See values.h for the usual ones. */
typedef int mt_option_noter(const struct mt_typed *typed);
enum { MT_LAST_OPTION = 1 };

/* A table of options, terminated by a zeroed row. Every command also has --help. */
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
    bool runs_command; /* words after the first operand belong to the program to start */
    /* argv[0] is the command's name. Return the exit code. */
    int (*run)(const struct mt_command *command, int argc, char **argv);
    /* The command's verbs, whose names begin with its name, terminated by a zeroed row; run is then
     * NULL. */
    const struct mt_command *verbs;
    bool maps_programs; /* it maps the files of a running program, however large: no bounds */
};

/* Parse a command line's options into the command's arguments. Return the first operand's index, or
 * -1 after a message. */
int mt_options_read(const struct mt_command *command, int argc, char **argv, void *arguments);

/* Parse a command line of one operand and optionally -o FILE (*output; NULL: none). Return the
 * operand, or NULL after a message. what: a word for the operand. */
const char *mt_read_operand(const struct mt_command *command, int argc, char **argv,
                            const char *what, const char **output);

/* Write an option's help with its choices. */
#define MT_HELP_TEXT 1024
void mt_option_help(const struct mt_option *option, char out[MT_HELP_TEXT]);

/* Print --help's page. */
void mt_print_help(const struct mt_command *command);

/* Print a message to stderr: "memtap: MESSAGE", or for a wrong command line "memtap NAME: MESSAGE
 * (see memtap NAME --help)". mt_fail and mt_fail_usage return MT_EXIT_BAD. */
__attribute__((format(printf, 1, 2))) void mt_say(const char *format, ...);
__attribute__((format(printf, 1, 2))) int mt_fail(const char *format, ...);
__attribute__((format(printf, 2, 3))) int mt_fail_usage(const struct mt_command *command,
                                                        const char *format, ...);

/* Print a path or other untrusted text safely (analyzer/support/text.h). */
void mt_print_text(const char *text);

/* Print "memtap: FILE: WHAT" for an invalid trace, after flushing the output. Return MT_EXIT_BAD.
 */
int mt_fail_trace(const char *path, const struct mt_trace_error *error);

/* Return the exit code of a command that answers for the whole run: MT_EXIT_BAD, after a message,
 * if the trace may lack its end, else `code`. */
int mt_fail_open(const char *path, const struct mt_ended *ended, int code);

/* Print that memory ran out, and what allows more. Return MT_EXIT_BAD. */
int mt_fail_memory(void);

/* Print that a trace needs more work than is allowed (mt_work_is_too_much). Return MT_EXIT_BAD. */
int mt_fail_work(const char *path);

/* Print "memtap: FILE:LINE:COLUMN: WHAT" for an invalid file. line 0: about the whole file. Return
 * MT_EXIT_BAD. */
int mt_fail_at(const char *path, int rc, unsigned line, unsigned column, const char *text);

/* Flush stdout. Return `code`, or MT_EXIT_BAD after a message if writing failed. */
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

/* Return the style of stdout: UTF-8 by the locale; colours by --color, else on a terminal unless
 * NO_COLOR is set. */
struct mt_style mt_terminal_style(void);

/* Bounds on a command's memory and output, regardless of the trace. */

/* Remove memtap's own options before the command (--most-memory, --most-output, --most-events) from
 * argv, which begins with the program's name. The environment has the defaults. Return how many
 * words they were; -1 after a message. */
int mt_bounds_read(int argc, char **argv);

/* Pass the bounds in the environment to a program that reads traces in this command's place. */
void mt_bounds_pass_on(void);

/* Apply the bounds from now on. No user program may be started afterwards. */
void mt_bounds_begin(void);

#endif
