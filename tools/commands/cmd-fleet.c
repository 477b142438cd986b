/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "tools/launch/package.h"
#include "tools/terminal/values.h"

enum { JOB = 256, STAGES, TENSOR_PARALLEL };

/* clang-format off */
const struct mt_option mt_fleet_options[] = {
    {'f', "format", "FORMAT", "text (the default) or json", "text json"},
    {JOB, "job", "NAME", "ask about this job (default: the one with most traces)"},
    {STAGES, "stages", "N", "the ranks are N pipeline stages, one after the other"},
    {TENSOR_PARALLEL, "tensor-parallel", "N", "N ranks after each other share each layer's tensors"},
    {0}};
/* clang-format on */

#define MOST_ARGUMENTS 10

struct arguments {
    char *given[MOST_ARGUMENTS]; /* for the package: options as it has them, and the folder */
    int n;
};

static char *name_of(int letter)
{
    static char format[] = "--format", job[] = "--job", stages[] = "--stages",
                parallel[] = "--tensor-parallel";
    return letter == 'f' ? format : letter == JOB ? job : letter == STAGES ? stages : parallel;
}

static int check_value(const struct mt_command *command, int letter, const char *value)
{
    enum mt_format format;
    uint64_t ranks;
    if (letter == 'f')
        return mt_read_format(command, value, &format);
    return letter == JOB ? 0
                         : mt_read_number(command, mt_option_of(command, letter)->name, value, 1,
                                          1000000, &ranks);
}

/* An option's last value holds. */
static void keep(struct arguments *arguments, char *option, const char *value)
{
    int place = 0;
    while (place < arguments->n && arguments->given[place] != option)
        place += 2;
    if (place == arguments->n)
        arguments->n += 2;
    arguments->given[place] = option;
    arguments->given[place + 1] = (char *)value;
}

int mt_run_fleet(const struct mt_command *command, int argc, char **argv)
{
    static char no_more_options[] = "--";
    struct arguments arguments = {0};
    const char *value;
    int operand, letter;
    while ((letter = mt_options_next(command, argc, argv, &value, &operand)) > 0) {
        if (check_value(command, letter, value))
            return MT_EXIT_BAD;
        keep(&arguments, name_of(letter), value);
    }
    if (letter < 0)
        return MT_EXIT_BAD;
    if (argc - operand != 1)
        return argc == operand
                   ? mt_fail_usage(command,
                                   "no folder given; give one with the traces of a job's ranks")
                   : mt_fail_usage(command, "unexpected argument '%s'", argv[operand + 1]);
    arguments.given[arguments.n++] = no_more_options;
    arguments.given[arguments.n++] = argv[operand];
    return mt_package_become("fleet", arguments.given, arguments.n);
}
