/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The values of options, read alike in every command. Each function returns 0, or MT_EXIT_BAD after
 * a message that names the option (without its "--") and the value.
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

/* Read one of the choices of the command's --format. */
int mt_read_format(const struct mt_command *command, const char *value, enum mt_format *format);

/* Read one of some choices (with blanks between); *at is its number among them. what: what such a
 * word is, "format". */
int mt_read_choice(const struct mt_command *command, const char *what, const char *value,
                   const char *choices, size_t *at);

/* Fail with what every command says of an unknown word (analyzer/support/nearest.h). */
int mt_fail_unknown(const struct mt_command *command, const char *what, const char *typed,
                    size_t length, const char *choices);

/* Read a whole number between two bounds. A message does not name a very large one. */
int mt_read_number(const struct mt_command *command, const char *option, const char *value,
                   uint64_t least, uint64_t most, uint64_t *number);

/* Read a size (settings/size.h) in bytes. */
int mt_read_size(const struct mt_command *command, const char *option, const char *value,
                 uint64_t *bytes);

/* Read a time (settings/size.h) between two bounds, in seconds. */
int mt_read_time(const struct mt_command *command, const char *option, const char *value,
                 double least, double most, double *seconds);

#endif
