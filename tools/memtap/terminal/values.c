/* SPDX-License-Identifier: Apache-2.0 */
#include "values.h"
#include "analyzer/support/guard.h"
#include "analyzer/trace/redact.h"
#include "trace-format/settings/nearest.h"
#include "trace-format/settings/size.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ENDLESS 1000000000u /* a bound that messages do not mention */

int mt_fail_unknown(const struct mt_command *command, const char *what, const char *typed,
                    size_t length, const char *choices)
{
    char why[MT_UNKNOWN_TEXT];
    return mt_fail_usage(command, "%s", mt_unknown_text(why, what, typed, length, choices));
}

int mt_read_choice(const struct mt_command *command, const char *what, const char *value,
                   const char *choices, size_t *at)
{
    size_t n = strlen(value), i = 0;
    for (const char *choice = choices; *choice; i++) {
        size_t length = strcspn(choice, " ");
        if (length == n && !strncmp(choice, value, n)) {
            *at = i;
            return 0;
        }
        choice += length;
        choice += strspn(choice, " ");
    }
    return mt_fail_unknown(command, what, value, n, choices);
}

int mt_note_text(const struct mt_typed *typed)
{
    *(const char **)typed->place = typed->value;
    return 0;
}

int mt_append_text(const struct mt_typed *typed, const char **texts, size_t *n, size_t most,
                   const char *what)
{
    if (*n == most)
        return mt_fail_usage(typed->command, "more than %zu %s", most, what);
    texts[(*n)++] = typed->value;
    return 0;
}

int mt_note_output(const struct mt_typed *typed)
{
    *(const char **)typed->place = strcmp(typed->value, "-") ? typed->value : NULL;
    return 0;
}

int mt_note_flag(const struct mt_typed *typed)
{
    *(bool *)typed->place = true;
    return 0;
}

int mt_note_force(const struct mt_typed *typed)
{
    (void)typed;
    mt_guard_allow_traces();
    return 0;
}

int mt_note_redact(const struct mt_typed *typed)
{
    (void)typed;
    mt_redact_begin();
    return 0;
}

int mt_note_number(const struct mt_typed *typed)
{
    const struct mt_option *option = typed->option;
    return mt_read_number(typed->command, option->name, typed->value, option->least, option->most,
                          typed->place);
}

int mt_note_small_number(const struct mt_typed *typed)
{
    struct mt_typed wide = *typed;
    uint64_t number = 0;
    wide.place = &number;
    int rc = mt_note_number(&wide);
    *(uint32_t *)typed->place = (uint32_t)number;
    return rc;
}

int mt_note_size(const struct mt_typed *typed)
{
    return mt_read_size(typed->command, typed->option->name, typed->value, typed->place);
}

int mt_note_format(const struct mt_typed *typed)
{
    enum mt_format *format = typed->place;
    static const char *const names[] = {
#define MT_FORMAT_NAME(id, name) name,
        MT_FORMATS(MT_FORMAT_NAME)
#undef MT_FORMAT_NAME
    };
    size_t at;
    int code = mt_read_choice(typed->command, "format", typed->value, typed->option->choices, &at);
    *format = MT_FORMAT_TEXT;
    while (!code && strcmp(typed->value, names[*format]))
        ++*format;
    return code;
}

int mt_note_colour(const struct mt_typed *typed)
{
    size_t at = MT_COLOUR_AUTO;
    int code = mt_read_choice(typed->command, "value of --color", typed->value,
                              typed->option->choices, &at);
    mt_terminal_colour((enum mt_colour_when)at);
    return code;
}

int mt_read_number(const struct mt_command *command, const char *option, const char *value,
                   uint64_t least, uint64_t most, uint64_t *number)
{
    char *end = NULL;
    errno = 0;
    *number = isdigit((unsigned char)*value) ? strtoull(value, &end, 10) : 0;
    if (end && !*end && !errno && *number >= least && *number <= most)
        return 0;
    if (most >= ENDLESS)
        return mt_fail_usage(command, "--%s %s: expected a number of at least %" PRIu64, option,
                             value, least);
    return mt_fail_usage(command, "--%s %s: expected a number from %" PRIu64 " to %" PRIu64, option,
                         value, least, most);
}

int mt_read_size(const struct mt_command *command, const char *option, const char *value,
                 uint64_t *bytes)
{
    char wrong[MT_SIZE_WRONG];
    int rc = mt_size_parse(value, bytes);
    return rc ? mt_fail_usage(command, "--%s '%s' %s", option, value,
                              mt_size_wrong(value, rc, wrong, sizeof wrong))
              : 0;
}

int mt_read_time(const struct mt_command *command, const char *option, const char *value,
                 double least, double most, double *seconds)
{
    uint64_t ns = 0;
    if (mt_time_parse(value, &ns))
        return mt_fail_usage(command, "--%s '%s' " MT_TIME_WRONG, option, value);
    *seconds = (double)ns / 1e9;
    return *seconds >= least && *seconds <= most
               ? 0
               : mt_fail_usage(command, "--%s '%s': expected a time from %gs to %gs", option, value,
                               least, most);
}
