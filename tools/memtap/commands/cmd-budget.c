/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "compare/check/budget.h"
#include "tools/memtap/input/check-arguments.h"
#include "tools/memtap/input/digests.h"
#include "tools/memtap/input/trace-arguments.h"
#include "tools/memtap/input/traces.h"
#include "tools/memtap/terminal/command.h"
#include "trace-format/settings/size.h"

#include <stdio.h>

#define DEFAULT_HEADROOM 500 /* 5 % */

struct arguments {
    uint64_t headroom;
    mt_allowed_ends allowed;
    struct mt_user_rules *rules;
};

static int note_headroom(const struct mt_typed *typed)
{
    char with_unit[64];
    snprintf(with_unit, sizeof with_unit, "%.32s%s", typed->value,
             strchr(typed->value, '%') ? "" : "%");
    return mt_percent_parse(with_unit, typed->place)
               ? mt_fail_usage(typed->command, "'%s' is not a percentage; give one such as 5%%",
                               typed->value)
               : 0;
}

const struct mt_option mt_budget_options[] = {
    {0, "headroom", "PERCENT", "add this margin to the measured figures (default: 5 %)", NULL,
     note_headroom, offsetof(struct arguments, headroom)},
    MT_ALLOW_ENDED_OPTION(arguments, allowed),
    MT_RULES_OPTION(arguments, rules),
    {0}};

static int propose(char *const *paths, size_t n, const struct arguments *arguments)
{
    struct mt_digests runs;
    int rc = mt_digests_read(&runs, paths, n, arguments->rules);
    int code = rc || !mt_digests_are_complete(&runs, arguments->allowed, "a run for a budget")
                   ? MT_EXIT_BAD
                   : MT_EXIT_OK;
    if (!code && mt_propose_budget(runs.digest, runs.n, arguments->headroom, stdout))
        code = mt_fail_memory();
    mt_digests_clear(&runs);
    return code;
}

static int run(const struct mt_command *command, int argc, char **argv, struct arguments *arguments)
{
    int operand = mt_options_read(command, argc, argv, arguments);
    if (operand < 0)
        return MT_EXIT_BAD;
    if (operand == argc)
        return mt_fail_usage(command, "no trace given");
    struct mt_trace_list traces = {0};
    int code = mt_trace_list_add(&traces, argv + operand, argc - operand)
                   ? MT_EXIT_BAD
                   : propose(traces.path, traces.n, arguments);
    mt_trace_list_clear(&traces);
    return code;
}

int mt_run_budget(const struct mt_command *command, int argc, char **argv)
{
    struct arguments arguments = {.headroom = DEFAULT_HEADROOM};
    int code = run(command, argc, argv, &arguments);
    mt_user_rules_destroy(arguments.rules);
    return code;
}
