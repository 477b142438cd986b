/* SPDX-License-Identifier: Apache-2.0 */
#include "message.h"
#include "no-cancel.h"
#include "quiet-write.h"
#include "trace-format/safe-text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void mt_message(const char *format, ...)
{
    MT_NO_CANCEL();
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
    line[used] = '\0';
    mt_safe_in_place(line, 1);
    used = strlen(line);
    line[used++] = '\n';
    ssize_t written = mt_write_quietly(STDERR_FILENO, line, used);
    (void)written; /* nobody is left to tell */
    errno = saved;
}
