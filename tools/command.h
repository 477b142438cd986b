/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What subcommands are made of: a row in the table of memtap.c, a file cmd-NAME.c, and these.
 */
#ifndef MT_COMMAND_H
#define MT_COMMAND_H

#include "analyzer/findings/analysis.h"
#include "trace-format/reader.h"

/* Exit codes of memtap itself; `run` and `simulate` give the program's own where it ran. */
enum { MT_EXIT_OK = 0, MT_EXIT_BAD = 2, MT_EXIT_NOT_EXECUTABLE = 126, MT_EXIT_NOT_FOUND = 127 };

/* Among the choices of an option: every simulated card. */
#define MT_CARDS "<cards>"

/* Whether an option's letter is its short form. */
static inline int mt_is_short(int letter)
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

/* The table of memtap.c, which ends with a row of zeros. */
extern const struct mt_command mt_commands[];

/* The next option's letter with *value set; 0 when they end, and *operand is the index of the
 * first operand in argv; -1 after a wrong one, about which the user has been told. */
int mt_options_next(const struct mt_command *command, int argc, char **argv, const char **value,
                    int *operand);

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
    int bottom_up;               /* stacks */
    int has_rank;                /* of several traces, only that of one rank */
    long rank;
    const char *what; /* explain: an address or a stack */
};
extern const struct mt_option mt_trace_options[], mt_report_options[], mt_blocks_options[],
    mt_oom_options[], mt_explain_options[], mt_stacks_options[];
/* Whether the moment and the device that are asked for are in the trace; else the user has been
 * told. */
int mt_has_moment(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments);
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

/* How the run ended, where it is not whole, before what is shown of it: on stderr where the output is
 * for a program that has no place for it; JSON has it. */
void mt_tell_ended(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments);

/* 0, or -1 after a message, with nothing to be cleared. */
int mt_read_trace_arguments(const struct mt_command *command, int argc, char **argv,
                            struct mt_trace_arguments *arguments);

/* Flushes stdout. The exit code: `code`, or MT_EXIT_BAD after a message where the output could not
 * be written. */
int mt_finish_output(int code);

int mt_run_info(const struct mt_command *command, int argc, char **argv);
int mt_run_budget(const struct mt_command *command, int argc, char **argv);
int mt_run_check(const struct mt_command *command, int argc, char **argv);
int mt_run_diff(const struct mt_command *command, int argc, char **argv);
int mt_run_dump(const struct mt_command *command, int argc, char **argv);
int mt_run_report(const struct mt_command *command, int argc, char **argv);
int mt_run_explain(const struct mt_command *command, int argc, char **argv);
int mt_run_stacks(const struct mt_command *command, int argc, char **argv);
int mt_run_oom(const struct mt_command *command, int argc, char **argv);
int mt_run_blocks(const struct mt_command *command, int argc, char **argv);
int mt_run_compact(const struct mt_command *command, int argc, char **argv);
int mt_run_nightly(const struct mt_command *command, int argc, char **argv);
int mt_run_recover(const struct mt_command *command, int argc, char **argv);
int mt_run_run(const struct mt_command *command, int argc, char **argv);
int mt_run_simulate(const struct mt_command *command, int argc, char **argv);
int mt_run_symbolize(const struct mt_command *command, int argc, char **argv);
int mt_run_completion(const struct mt_command *command, int argc, char **argv);
int mt_run_lib(const struct mt_command *command, int argc, char **argv);

extern const struct mt_command mt_history_verbs[];
extern const struct mt_option mt_budget_options[];
extern const struct mt_option mt_check_options[];
extern const struct mt_option mt_compact_options[];
extern const struct mt_option mt_diff_options[];
extern const struct mt_option mt_nightly_options[];
extern const struct mt_option mt_recover_options[];
extern const struct mt_option mt_run_options[];
extern const struct mt_option mt_simulate_options[];
extern const struct mt_option mt_symbolize_options[];
extern const struct mt_option mt_no_options[];

#endif
