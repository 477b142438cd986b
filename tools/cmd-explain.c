/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/explain.h"
#include "command.h"
#include "terminal.h"

#include <errno.h>
#include <stdlib.h>

/* Device addresses are large, the ids of stacks are not. */
#define LEAST_ADDRESS (1ull << 20)

static int parse(const struct mt_command *command, const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 0);
    if (errno || *end || end == text || *text < '0' || *text > '9' || !*number) {
        mt_fail_usage(command, "'%s' is neither an address (0x7f...) nor the number of a stack",
                      text);
        return -1;
    }
    return 0;
}

static int print(const struct mt_analysis *analysis, uint64_t number)
{
    struct mt_style style = mt_terminal_style();
    if (number >= LEAST_ADDRESS)
        return mt_explain_address(analysis, stdout, &style);
    return mt_explain_stack(analysis, (uint32_t)number, stdout, &style);
}

int mt_run_explain(const struct mt_command *command, int argc, char **argv)
{
    struct mt_trace_arguments arguments;
    struct mt_analysis analysis;
    uint64_t number;
    int code = MT_EXIT_OK;
    if (mt_read_trace_arguments(command, argc, argv, &arguments) ||
        parse(command, arguments.what, &number)) {
        mt_trace_arguments_clear(&arguments);
        return MT_EXIT_BAD;
    }
    arguments.question.address = number >= LEAST_ADDRESS ? number : 0;
    int rc = mt_analysis_create(&analysis, arguments.path, &arguments.question);
    if (!rc && !mt_has_moment(&analysis, &arguments))
        code = MT_EXIT_BAD;
    else if (!rc && print(&analysis, number))
        code = number >= LEAST_ADDRESS
                   ? mt_fail("%s: nothing was ever allocated at %s", arguments.path, arguments.what)
                   : mt_fail("%s: no block of stack %s was live then; --at asks for another moment",
                             arguments.path, arguments.what);
    struct mt_trace_error fault = analysis.fault;
    mt_analysis_destroy(&analysis);
    mt_trace_arguments_clear(&arguments);
    return rc || fault.fault ? mt_fail_trace(arguments.path, &fault) : code;
}
