/* SPDX-License-Identifier: Apache-2.0 */
/* Messages, and the end of the output. */
#include "command.h"
#include "trace-format/encoder.h"
#include "trace-format/safe-text.h"
#include "trace-format/tail.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Flush the output first, so that it precedes the message. */
static void say(const char *name, const char *end, const char *format, va_list args)
{
    char text[4096];
    vsnprintf(text, sizeof text, format, args);
    mt_safe_in_place(text, mt_terminal_style().utf8);
    fflush(stdout);
    fprintf(stderr, "memtap%s%s: %s%s\n", *name ? " " : "", name, text, end);
}

void mt_say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("", "", format, args);
    va_end(args);
}

int mt_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say("", "", format, args);
    va_end(args);
    return MT_EXIT_BAD;
}

int mt_fail_usage(const struct mt_command *command, const char *format, ...)
{
    char hint[64];
    va_list args;
    snprintf(hint, sizeof hint, " (see memtap%s%s --help)", *command->name ? " " : "",
             command->name);
    va_start(args, format);
    say(command->name, hint, format, args);
    va_end(args);
    return MT_EXIT_BAD;
}

/* Return advice about the reader's fault. */
static const char *advice(const char *path, const struct mt_trace_error *error)
{
    switch (error->fault) {
    case MT_FAULT_SYSTEM:
        return access(path, F_OK) ? "; give the path of a trace (*.mtap)" : "";
    case MT_FAULT_CUT:
    case MT_FAULT_DAMAGED:
    case MT_FAULT_MISSING:
    case MT_FAULT_ROOM:
        return error->offset < MT_FILE_HEADER_SIZE ? "; nothing in it is readable"
                                                   : "; showing what was read";
    default:
        return "";
    }
}

int mt_fail_trace(const char *path, const struct mt_trace_error *error)
{
    if (!*error->text)
        return mt_fail("%s: out of memory; memtap --most-memory SIZE ... allows more", path);
    return mt_fail("%s: %s%s", path, error->text, advice(path, error));
}

int mt_fail_open(const char *path, const struct mt_ended *ended, int code)
{
    if (!ended->lacks_tail)
        return code;
    return mt_fail("%s: the recording was not closed and has no tail (*" MT_TAIL_SUFFIX
                   "); the trace may lack its end",
                   path);
}

int mt_fail_memory(void)
{
    return mt_fail("out of memory; memtap --most-memory SIZE ... allows more");
}

int mt_fail_work(const char *path)
{
    return mt_fail("%s: the trace expands beyond the safety limit; memtap --most-events NUMBER "
                   "... allows more",
                   path);
}

int mt_fail_at(const char *path, int rc, unsigned line, unsigned column, const char *text)
{
    if (rc == -ENOMEM)
        return mt_fail("%s: out of memory", path);
    if (line)
        return mt_fail("%s:%u:%u: %s", path, line, column, text);
    return mt_fail("%s: %s", path, text);
}

void mt_print_text(const char *text)
{
    struct mt_style style = mt_terminal_style();
    char *safe = malloc(strlen(text) * 3 + 1);
    if (safe)
        mt_safe_text(safe, strlen(text) * 3 + 1, text, 0, MT_CUT_END, &style);
    fputs(safe ? safe : "?", stdout);
    free(safe);
}

/* Finish the output: if its reader is gone, SIGPIPE has ended the process already. */
int mt_finish_output(int code)
{
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout))
        return code;
    if (!errno) { /* an earlier write failed; write again to get errno */
        clearerr(stdout);
        putchar('\n');
        fflush(stdout);
    }
    return mt_fail("cannot write the output: %s", strerror(errno ? errno : EIO));
}
