/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SIM_PRINT_H
#define SIM_PRINT_H

#include <stdarg.h>
#include <stdio.h>

/* Print a line on stderr, "cudasim: ...". Names from the environment and the command line, and
 * errors of the loader, must not control a terminal: characters that are not ASCII text become
 * '?'. */
__attribute__((format(printf, 1, 0), unused)) static void sim_print_args(const char *format,
                                                                         va_list args)
{
    char line[1024];
    if (vsnprintf(line, sizeof(line), format, args) < 0)
        return;
    for (char *at = line; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    fprintf(stderr, "cudasim: %s\n", line);
}

__attribute__((format(printf, 1, 2), unused)) static void sim_print(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    sim_print_args(format, args);
    va_end(args);
}

#endif
