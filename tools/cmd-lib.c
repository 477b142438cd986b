/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"
#include "locate.h"

#include <errno.h>
#include <stdio.h>

int mt_run_lib(const struct mt_command *command, int argc, char **argv)
{
    char path[MT_PLACE_SIZE];
    const char *value;
    int operand;
    if (mt_options_next(command, argc, argv, &value, &operand))
        return MT_EXIT_BAD;
    if (operand < argc)
        return mt_fail_usage(command, "'%s' is one argument too many", argv[operand]);
    int rc = mt_locate_shim(path);
    if (rc)
        return mt_fail("%s: the recording library is %s; build or install it", path,
                       rc == -ENOEXEC ? "not one for this machine" : "not there");
    puts(path);
    return MT_EXIT_OK;
}
