/* SPDX-License-Identifier: Apache-2.0 */
#include "message.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void mt_message(const char *format, ...)
{
    static const char prefix[] = "memtap: ";
    char line[1024];
    int saved = errno;
    size_t used = sizeof prefix - 1;
    __builtin_memcpy(line, prefix, used);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line + used, sizeof line - used - 1, format, args);
    va_end(args);
    if (n > 0)
        used += (size_t)n < sizeof line - used - 1 ? (size_t)n : sizeof line - used - 2;
    line[used++] = '\n';
    ssize_t written = write(STDERR_FILENO, line, used);
    (void)written; /* nowhere to say it */
    errno = saved;
}
