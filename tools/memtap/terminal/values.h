/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parsers for option values, shared by all commands. Each function returns 0, or MT_EXIT_BAD after
 * a message with the option (passed without "--") and the value.
 */
#ifndef MT_VALUES_H
#define MT_VALUES_H

#include "command.h"

#include <stddef.h>
#include <stdint.h>

/* F(enumerator, name) */
#define MT_FORMATS(F)                                                                              \
    F(TEXT, "text") F(JSON, "json") F(CSV, "csv") F(FOLDED, "folded") F(MARKDOWN, "markdown")

enum mt_format {
#define MT_FORMAT_ENUM(id, name) MT_FORMAT_##id,
    MT_FORMATS(MT_FORMAT_ENUM)
#undef MT_FORMAT_ENUM
};

/* Note an option's value at its place: a text; "-" as NULL (standard output); true (a bool); one of
 * the choices as a format; a number of 64 or of 32 bits between the
 * row's bounds; a size. */
int mt_note_text(const struct mt_typed *typed);
int mt_note_output(const struct mt_typed *typed);
int mt_note_flag(const struct mt_typed *typed);
int mt_note_force(const struct mt_typed *typed);
int mt_note_format(const struct mt_typed *typed);
int mt_note_number(const struct mt_typed *typed);
int mt_note_small_number(const struct mt_typed *typed);
int mt_note_size(const struct mt_typed *typed);

/* Append the value of a repeatable option to its texts, at most `most`. what: a word for the
 * message, "settings". */
int mt_append_text(const struct mt_typed *typed, const char **texts, size_t *n, size_t most,
                   const char *what);

/* Rows shared by several commands. Parameters: the arguments' struct tag and a member. */
#define MT_FORMAT_OPTION(type, member, help, choices)                                              \
    {'f', "format", "FORMAT", help, choices, mt_note_format, offsetof(struct type, member)}

/* Parse one of several choices, separated by spaces; *at is its index. what: a word for the
 * message, "format". */
int mt_read_choice(const struct mt_command *command, const char *what, const char *value,
                   const char *choices, size_t *at);

/* Fail with the common message about an unknown word (trace-format/settings/nearest.h). */
int mt_fail_unknown(const struct mt_command *command, const char *what, const char *typed,
                    size_t length, const char *choices);

/* Parse an integer between two bounds. Messages do not mention a very large bound. */
int mt_read_number(const struct mt_command *command, const char *option, const char *value,
                   uint64_t least, uint64_t most, uint64_t *number);

/* Parse a size (trace-format/settings/size.h) in bytes. */
int mt_read_size(const struct mt_command *command, const char *option, const char *value,
                 uint64_t *bytes);

/* Parse a time (trace-format/settings/size.h) between two bounds, in seconds. */
int mt_read_time(const struct mt_command *command, const char *option, const char *value,
                 double least, double most, double *seconds);

/* The row of commands that write a file chosen by the user. */
#define MT_FORCE_OPTION                                                                            \
    {0, "force", NULL, "replace the output file even if it is a trace", NULL, mt_note_force}

/* --redact, of commands whose output is shared. */
int mt_note_redact(const struct mt_typed *typed);

#define MT_REDACT_OPTION                                                                           \
    {0,    "redact",                                                                               \
     NULL, "hide folders and host names: a folder is shown as four\nhexadecimal digits",           \
     NULL, mt_note_redact}

#endif
