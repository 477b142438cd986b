/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/report/held-report.h"
#include "commands.h"
#include "tools/memtap/input/trace-arguments.h"
#include "tools/memtap/terminal/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct mt_held_choice choice;

/* Read FILE:LINE or an address. Return 0, or -1 after a message. */
static int parse(const struct mt_command *command, const char *text)
{
    const char *colon = strrchr(text, ':');
    char *end;
    uint64_t number = 0;
    errno = 0;
    if (colon && colon > text) {
        number = strtoull(colon + 1, &end, 10);
        choice.file = text;
        choice.file_size = (size_t)(colon - text);
        choice.line = (uint32_t)number;
    } else {
        choice.address = number = strtoull(text, &end, 0);
    }
    const char *digits = choice.file ? colon + 1 : text;
    if (errno || *end || !number || *digits < '0' || *digits > '9' ||
        (choice.file && number > UINT32_MAX)) {
        mt_fail_usage(command, "'%s' is neither a line (train.py:42) nor an address (0x7f...)",
                      text);
        return -1;
    }
    return 0;
}

static int print(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments)
{
    struct mt_style style = mt_terminal_style();
    if (!analysis->replay.holders.n)
        return mt_fail("%s: %s", mt_trace_name(arguments), MT_NO_HOLDERS);
    if (!mt_has_moment(analysis, arguments))
        return MT_EXIT_BAD;
    mt_print_ended(analysis, arguments);
    if (arguments->format == MT_FORMAT_JSON)
        return mt_holders_json(analysis, &choice, stdout) == -ENOMEM ? -ENOMEM : MT_EXIT_OK;
    int rc = mt_holders_text(analysis, &choice, stdout, &style);
    if (rc == -ENOENT && arguments->what)
        return mt_fail("%s: no block of %s was live then; --at chooses another moment",
                       mt_trace_name(arguments), arguments->what);
    return rc == -ENOMEM ? rc : MT_EXIT_OK;
}

int mt_run_holders(const struct mt_command *command, int argc, char **argv)
{
    struct mt_trace_arguments arguments;
    if (mt_read_trace_arguments(command, argc, argv, MT_ONE_TRACE, &arguments))
        return MT_EXIT_BAD;
    if (!arguments.has_moment)
        arguments.question.moment.kind = MT_AT_HOLDERS;
    if (arguments.what && parse(command, arguments.what)) {
        mt_trace_arguments_clear(&arguments);
        return MT_EXIT_BAD;
    }
    return mt_on_trace(&arguments, print);
}
