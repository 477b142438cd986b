/* SPDX-License-Identifier: Apache-2.0 */
#include "analyzer/support/room.h"
#include "analyzer/support/text.h"
#include "command.h"
#include "trace-format/reader.h"
#include "trace-format/settings/limits.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAST_MEMORY (64u << 20)

static struct mt_limits limits;
static uint64_t written;

static int refuse(const char *line)
{
    mt_fail("%s", line);
    return -1;
}

int mt_bounds_read(int argc, char **argv)
{
    static const char *const options[MT_LIMITS_N] = {"--most-memory", "--most-output",
                                                     "--most-events"};
    char wrong[300];
    int at = 1;
    for (unsigned i = 0; i < MT_LIMITS_N && at < argc; i++) {
        size_t n = strlen(options[i]);
        if (strncmp(argv[at], options[i], n) || (argv[at][n] && argv[at][n] != '='))
            continue;
        const char *value = argv[at][n] ? argv[at] + n + 1 : at + 1 < argc ? argv[at + 1] : NULL;
        snprintf(wrong, sizeof wrong, "option %s needs a value", options[i]);
        if (!value || mt_limit_read(&limits.most[i], i, options[i], value, wrong, sizeof wrong))
            return refuse(wrong);
        at += argv[at][n] ? 1 : 2;
        i = UINT32_MAX; /* continue with the first */
    }
    if (mt_limits_of_environment(&limits, wrong, sizeof wrong))
        return refuse(wrong);
    return at - 1;
}

void mt_bounds_pass_on(void)
{
    char text[24];
    for (unsigned i = 0; i < MT_LIMITS_N; i++) {
        snprintf(text, sizeof text, "%llu", (unsigned long long)limits.most[i]);
        if (limits.most[i])
            setenv(mt_limit_variables[i], text, 1);
    }
}

static size_t write_all(const char *bytes, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = write(STDOUT_FILENO, bytes + done, size - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            break;
        done += (size_t)n;
    }
    return done;
}

/* Exit in the middle of printing; the output so far remains. */
static void end_with_message(void)
{
    char line[200], size[MT_SIZE_TEXT];
    int n = snprintf(line, sizeof line,
                     "memtap: output truncated at %s; memtap --most-output SIZE ... allows more\n",
                     mt_size_text(size, mt_room_of_output()));
    if (write(STDERR_FILENO, line, (size_t)n) == n)
        _exit(MT_EXIT_BAD);
    _exit(MT_EXIT_BAD);
}

static ssize_t write_counted(void *unused, const char *bytes, size_t size)
{
    (void)unused;
    uint64_t room = mt_room_of_output() - written;
    size_t done = write_all(bytes, size < room ? size : (size_t)room);
    written += done;
    if (done == room && size > room)
        end_with_message();
    return (ssize_t)done; /* fewer bytes: an error, in errno */
}

static void count_output(void)
{
    const cookie_io_functions_t functions = {.write = write_counted};
    FILE *counted = fopencookie(NULL, "w", functions);
    if (!counted)
        return;
    __fsetlocking(counted, FSETLOCKING_BYCALLER); /* one thread prints */
    setvbuf(counted, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, 1 << 16);
    stdout = counted;
}

void mt_bounds_begin(void)
{
    uint64_t *memory = &limits.most[MT_LIMIT_MEMORY];
    if (*memory && *memory < LEAST_MEMORY)
        *memory = LEAST_MEMORY;
    mt_room_begin(&limits);
    mt_reader_limit_records(limits.most[MT_LIMIT_EVENTS]);
    count_output();
}
