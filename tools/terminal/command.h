/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What subcommands are made of: a row in the table of commands/memtap.c, a file
 * commands/cmd-NAME.c, and these.
 */
#ifndef MT_COMMAND_H
#define MT_COMMAND_H

#include <stdbool.h>

#include "analyzer/classify/user-rules.h"
#include "trace-format/reader.h"

/* Exit codes of memtap itself; `run` and `simulate` give the program's own where it ran. */
enum { MT_EXIT_OK = 0, MT_EXIT_BAD = 2, MT_EXIT_NOT_EXECUTABLE = 126, MT_EXIT_NOT_FOUND = 127 };

/* Among the choices of an option: every simulated card. */
#define MT_CARDS "<cards>"

/* Whether an option's letter is its short form. */
static inline bool mt_is_short(int letter)
{
    return letter > ' ' && letter < 127;
}

/* A table of options ends with a row of zeros. Every command has --help besides. */
struct mt_option {
    int letter; /* what mt_options_next returns; a printable one is the short form as well */
    const char *name;
    const char *value;   /* "FILE"; NULL: it takes none */
    const char *help;    /* one or more lines */
    const char *choices; /* of its value, with spaces between; NULL: a file, or anything */
};

struct mt_command {
    const char *name;
    const char *operands; /* for the usage line */
    const char *summary;  /* one line */
    const char *description;
    const struct mt_option *options;
    int takes_command; /* what follows the first operand belongs to a program that is started */
    /* argv[0] is the command's name. Returns the exit code. */
    int (*run)(const struct mt_command *command, int argc, char **argv);
    /* Commands of its own, whose names begin with its name; a row of zeros ends them. run is NULL.
     */
    const struct mt_command *verbs;
};

/* The next option's letter with *value set; 0 when they end, and *operand is the index of the
 * first operand in argv; -1 after a wrong one, about which the user has been told. */
int mt_options_next(const struct mt_command *command, int argc, char **argv, const char **value,
                    int *operand);

/* The option of that letter, which the command has. */
const struct mt_option *mt_option_of(const struct mt_command *command, int letter);

/* --help's page. */
void mt_print_help(const struct mt_command *command);

/* For users, on stderr: "memtap: MESSAGE", or about the command line "memtap NAME: MESSAGE (see
 * memtap NAME --help)". mt_fail and mt_fail_usage return MT_EXIT_BAD. */
__attribute__((format(printf, 1, 2))) void mt_say(const char *format, ...);
__attribute__((format(printf, 1, 2))) int mt_fail(const char *format, ...);
__attribute__((format(printf, 2, 3))) int mt_fail_usage(const struct mt_command *command,
                                                        const char *format, ...);

/* Prints a path, or what else somebody chose, so that it cannot act (analyzer/support/text.h). */
void mt_print_text(const char *text);

/* "memtap: FILE: WHAT" for a trace that is not sound, after everything printed so far. Returns
 * MT_EXIT_BAD. */
int mt_fail_trace(const char *path, const struct mt_trace_error *error);

/* "memtap: FILE:LINE:COLUMN: WHAT" for rules that cannot be read: what mt_user_rules_read returned.
 * Returns MT_EXIT_BAD. */
int mt_fail_rules(const char *path, int rc, const struct mt_rules_error *error);

/* Flushes stdout. The exit code: `code`, or MT_EXIT_BAD after a message where the output could not
 * be written. */
int mt_finish_output(int code);

extern const struct mt_option mt_no_options[];

#endif
