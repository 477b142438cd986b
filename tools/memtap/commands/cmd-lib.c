/* SPDX-License-Identifier: Apache-2.0 */
#include "commands.h"
#include "tools/memtap/launch/locate.h"
#include "tools/memtap/terminal/command.h"

#include <stdio.h>

int mt_run_lib(const struct mt_command *command, int argc, char **argv)
{
    char path[MT_PLACE_SIZE];
    int operand = mt_options_read(command, argc, argv, NULL);
    if (operand < 0)
        return MT_EXIT_BAD;
    if (operand < argc)
        return mt_fail_usage(command, "unexpected argument '%s'", argv[operand]);
    if (mt_locate_shim(path))
        return MT_EXIT_BAD;
    puts(path);
    return MT_EXIT_OK;
}
