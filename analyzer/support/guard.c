/* SPDX-License-Identifier: Apache-2.0 */
#include "guard.h"
#include "grow.h"
#include "hash.h"
#include "trace-format/block.h"
#include "trace-format/reader.h"
#include "trace-format/tail.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Paths rather than inodes, since a file system may reuse a removed file's inode number. */
static struct {
    struct {
        char *path;
        uint64_t hash;
    } *file;
    size_t n, capacity;
} inputs;

void mt_input_note(const char *path)
{
    uint64_t hash = mt_hash_text(0, path);
    for (size_t i = inputs.n; i--;)
        if (inputs.file[i].hash == hash && !strcmp(inputs.file[i].path, path))
            return;
    char *copy = strdup(path);
    if (!copy || MT_GROW(inputs.file, inputs.capacity, inputs.n)) {
        free(copy);
        return;
    }
    inputs.file[inputs.n].path = copy;
    inputs.file[inputs.n++].hash = hash;
}

/* Return whether a file is an input, by whatever name. */
static bool is_input(const struct stat *file)
{
    struct stat input;
    for (size_t i = 0; i < inputs.n; i++)
        if (!stat(inputs.file[i].path, &input) && input.st_dev == file->st_dev &&
            input.st_ino == file->st_ino)
            return true;
    return false;
}

mode_t mt_inputs_mode(void)
{
    struct stat input;
    mode_t mode = 0777;
    for (size_t i = 0; i < inputs.n; i++)
        if (!stat(inputs.file[i].path, &input) && S_ISREG(input.st_mode))
            mode &= input.st_mode;
    return mode;
}

#define MAGIC_SIZE MT_FILE_MAGIC_SIZE
_Static_assert(MAGIC_SIZE == MT_TAIL_MAGIC_SIZE, "one read finds both");

enum kind { FOREIGN, TRACE, TAIL };

static bool may_replace_traces;

void mt_guard_allow_traces(void)
{
    may_replace_traces = true;
}

static enum kind kind_of(const char *path)
{
    char magic[MAGIC_SIZE] = "";
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool is_read = fd >= 0 && !fstat(fd, &status) && S_ISREG(status.st_mode) &&
                   read(fd, magic, sizeof magic) == (ssize_t)sizeof magic;
    if (fd >= 0)
        close(fd);
    if (is_read && !memcmp(magic, MT_FILE_MAGIC, MAGIC_SIZE))
        return TRACE;
    return is_read && !memcmp(magic, MT_TAIL_MAGIC, MAGIC_SIZE) ? TAIL : FOREIGN;
}

/* Return whether the path is the name of an existing trace's tail or older segment, for which
 * readers would take it. */
static bool has_name_of_part(const char *path)
{
    static const char *const suffixes[] = {MT_TAIL_SUFFIX, MT_OLDER_SUFFIX};
    char trace[PATH_MAX];
    size_t length = strlen(path);
    for (unsigned i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t n = strlen(suffixes[i]);
        if (length <= n || length >= sizeof trace || strcmp(path + length - n, suffixes[i]) != 0)
            continue;
        snprintf(trace, sizeof trace, "%.*s", (int)(length - n), path);
        if (kind_of(trace) == TRACE)
            return true;
    }
    return false;
}

static bool is_being_written(const char *trace)
{
    struct mt_reader *reader;
    struct mt_trace_error error;
    if (mt_reader_open(&reader, trace, &error))
        return false;
    bool is_running = mt_reader_state(reader) == MT_TRACE_RUNNING;
    mt_reader_close(reader);
    return is_running;
}

int mt_guard_output(const char *path, const struct stat *status)
{
    if (has_name_of_part(path))
        return MT_OUTPUT_PART;
    if (!S_ISREG(status->st_mode))
        return 0;
    if (is_input(status))
        return MT_OUTPUT_INPUT;
    enum kind kind = kind_of(path);
    if (kind == FOREIGN)
        return 0;
    if (kind == TAIL)
        return MT_OUTPUT_PART;
    if (is_being_written(path))
        return MT_OUTPUT_LIVE;
    return may_replace_traces ? 0 : MT_OUTPUT_TRACE;
}

const char *mt_guard_error(int rc)
{
    switch (rc) {
    case MT_OUTPUT_INPUT:
        return "it is an input of this command; give another file";
    case MT_OUTPUT_TRACE:
        return "it is a trace; give another file, or --force to replace it";
    case MT_OUTPUT_PART:
        return "it belongs to a trace; give another file";
    case MT_OUTPUT_LIVE:
        return "it is a trace that a program is writing; give another file";
    default:
        return NULL;
    }
}
