/* SPDX-License-Identifier: Apache-2.0 */
#include "bounds.h"
#include "analyzer/support/room.h"
#include "analyzer/support/text.h"
#include "command.h"
#include "settings/size.h"
#include "trace-format/reader.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEAST_MEMORY (64u << 20)

static struct {
    uint64_t memory, output, events; /* bytes, and their number; 0: choose by the traces */
    uint64_t written;
} limits;

static int read_size(const char *option, const char *text, uint64_t *size)
{
    char wrong[MT_SIZE_WRONG];
    if (!text)
        return mt_fail("option %s needs a value", option);
    int rc = mt_size_parse(text, size);
    if (rc)
        return mt_fail("%s '%s' %s", option, text, mt_size_wrong(text, rc, wrong, sizeof wrong));
    return *size ? 0 : mt_fail("%s '%s' is too small a size; give 1 or more", option, text);
}

static int read_count(const char *option, const char *text, uint64_t *count)
{
    char *end;
    if (!text)
        return mt_fail("option %s needs a value", option);
    errno = 0;
    *count = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    if (!*count || *end || errno)
        return mt_fail("%s %s: not a number of events, such as 50000000", option, text);
    return 0;
}

int mt_bounds_read(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*read)(const char *option, const char *text, uint64_t *value);
        uint64_t *value;
    } options[] = {{"--most-memory", read_size, &limits.memory},
                   {"--most-output", read_size, &limits.output},
                   {"--most-events", read_count, &limits.events}};
    int at = 1;
    for (unsigned i = 0; i < sizeof options / sizeof *options && at < argc; i++) {
        size_t n = strlen(options[i].name);
        if (strncmp(argv[at], options[i].name, n) || (argv[at][n] && argv[at][n] != '='))
            continue;
        const char *value = argv[at][n] ? argv[at] + n + 1 : at + 1 < argc ? argv[at + 1] : NULL;
        if (options[i].read(options[i].name, value, options[i].value))
            return -1;
        at += argv[at][n] ? 1 : 2;
        i = UINT32_MAX; /* continue with the first */
    }
    return at - 1;
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

/* Called in the middle of printing: the output so far stays, and the command ends here. */
static void end_with_message(void)
{
    char line[200], size[MT_SIZE_TEXT];
    int n = snprintf(line, sizeof line,
                     "memtap: the output ends here, at %s; memtap --most-output SIZE ... lets it "
                     "be longer\n",
                     mt_size_text(size, mt_room_of_output()));
    if (write(STDERR_FILENO, line, (size_t)n) == n)
        _exit(MT_EXIT_BAD);
    _exit(MT_EXIT_BAD);
}

static ssize_t write_counted(void *unused, const char *bytes, size_t size)
{
    (void)unused;
    uint64_t room = mt_room_of_output() - limits.written;
    size_t done = write_all(bytes, size < room ? size : (size_t)room);
    limits.written += done;
    if (done == room && size > room)
        end_with_message();
    return (ssize_t)done; /* fewer: an error, in errno */
}

static void count_output(void)
{
    const cookie_io_functions_t functions = {.write = write_counted};
    FILE *counted = fopencookie(NULL, "w", functions);
    if (!counted)
        return;
    setvbuf(counted, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, 1 << 16);
    stdout = counted;
}

void mt_bounds_begin(void)
{
    if (limits.memory && limits.memory < LEAST_MEMORY)
        limits.memory = LEAST_MEMORY;
    mt_room_begin(limits.memory, limits.events, limits.output);
    mt_reader_most_records(limits.events);
    count_output();
}
