/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/report/report.h"
#include "commands.h"
#include "tools/memtap/input/trace-arguments.h"
#include "tools/memtap/terminal/command.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* Device addresses are large, stack ids are small. */
#define LEAST_ADDRESS (1ull << 20)

static int parse(const struct mt_command *command, const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 0);
    if (errno || *end || end == text || *text < '0' || *text > '9' || !*number) {
        mt_fail_usage(command, "'%s' is neither an address (0x7f...) nor a stack number", text);
        return -1;
    }
    return 0;
}

static bool is_address(uint64_t number)
{
    return number >= LEAST_ADDRESS;
}

static int print(const struct mt_analysis *analysis, const struct mt_trace_arguments *arguments)
{
    struct mt_style style = mt_terminal_style();
    uint64_t number = strtoull(arguments->what, NULL, 0); /* parsed before */
    if (!mt_has_moment(analysis, arguments))
        return MT_EXIT_BAD;
    mt_print_ended(analysis, arguments);
    if (is_address(number))
        return mt_explain_address(analysis, stdout, &style)
                   ? mt_fail("%s: nothing was ever allocated at %s", mt_trace_name(arguments),
                             arguments->what)
                   : MT_EXIT_OK;
    return mt_explain_stack(analysis, (uint32_t)number, stdout, &style)
               ? mt_fail("%s: no block of stack %s was live at this moment; choose another with "
                         "--at",
                         mt_trace_name(arguments), arguments->what)
               : MT_EXIT_OK;
}

int mt_run_explain(const struct mt_command *command, int argc, char **argv)
{
    struct mt_trace_arguments arguments;
    uint64_t number;
    if (mt_read_trace_arguments(command, argc, argv, MT_TRACE_AND_PLACE, &arguments))
        return MT_EXIT_BAD;
    if (parse(command, arguments.what, &number)) {
        mt_trace_arguments_clear(&arguments);
        return MT_EXIT_BAD;
    }
    arguments.question.address = is_address(number) ? number : 0;
    return mt_on_trace(&arguments, print);
}
