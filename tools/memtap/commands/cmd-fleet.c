/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "tools/memtap/launch/locate.h"
#include "tools/memtap/terminal/values.h"

/* The options' values for the package; NULL: not given. */
enum { FORMAT, JOB, STAGES, TENSOR_PARALLEL, OPTIONS };

static int check_format(const struct mt_typed *typed)
{
    enum mt_format format;
    struct mt_typed checked = *typed;
    checked.place = &format;
    int rc = mt_note_format(&checked);
    return rc ? rc : mt_note_text(typed);
}

static int check_ranks(const struct mt_typed *typed)
{
    uint64_t ranks;
    int rc = mt_read_number(typed->command, typed->option->name, typed->value, 1, 1000000, &ranks);
    return rc ? rc : mt_note_text(typed);
}

/* clang-format off */
const struct mt_option mt_fleet_options[] = {
    {'f', "format", "FORMAT", "text (the default) or json", "text json", check_format, FORMAT * sizeof(char *)},
    {0, "job", "NAME", "analyze this job (default: the one with the most traces)", NULL, mt_note_text, JOB * sizeof(char *)},
    {0, "stages", "N", "the ranks form N consecutive pipeline stages", NULL, check_ranks, STAGES * sizeof(char *)},
    {0, "tensor-parallel", "N", "N consecutive ranks share each layer's tensors", NULL, check_ranks,
     TENSOR_PARALLEL * sizeof(char *)},
    {0}};
/* clang-format on */

int mt_run_fleet(const struct mt_command *command, int argc, char **argv)
{
    static char names[OPTIONS][20] = {"--format", "--job", "--stages", "--tensor-parallel"},
                no_more_options[] = "--";
    char *typed[OPTIONS] = {NULL}, *given[2 * OPTIONS + 2];
    int n = 0, operand = mt_options_read(command, argc, argv, typed);
    if (operand < 0)
        return MT_EXIT_BAD;
    if (argc - operand != 1)
        return argc == operand
                   ? mt_fail_usage(command,
                                   "no folder given; name the folder with the traces of a job's "
                                   "ranks")
                   : mt_fail_usage(command, "unexpected argument '%s'", argv[operand + 1]);
    for (size_t i = 0; i < OPTIONS; i++)
        if (typed[i]) {
            given[n++] = names[i];
            given[n++] = typed[i];
        }
    given[n++] = no_more_options;
    given[n++] = argv[operand];
    return mt_package_become("fleet", given, n);
}
