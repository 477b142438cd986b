/* SPDX-License-Identifier: Apache-2.0 */
#include "definitions.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES (16u << 20) /* of a file: sources are smaller */

/* Return whether a file is a source file. A trace may come from anybody and name any file: only
 * open source files. */
static bool is_source(const char *path)
{
    static const char *const endings[] = {".py",  ".pyx", ".c",   ".cc", ".cpp",
                                          ".cxx", ".cu",  ".cuh", ".h",  ".hpp"};
    const char *dot = strrchr(path, '.');
    if (*path != '/' || !dot)
        return false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (!strcmp(dot, endings[i]))
            return true;
    return false;
}

/* Return whether a trace is of this machine: a path is a different file on another one. */
static bool is_this_machine(const struct mt_definitions *definitions)
{
    char name[256] = "";
    const char *host = mt_info(definitions, "host");
    FILE *file = host ? fopen("/proc/sys/kernel/hostname", "re") : NULL;
    if (!file)
        return false;
    if (!fgets(name, sizeof name, file))
        *name = '\0';
    fclose(file);
    name[strcspn(name, "\n")] = '\0';
    return *name && !strcmp(name, host);
}

/* Open a file that has not changed since the recording began; NULL: it has, or cannot be read. */
static FILE *open_unchanged(const struct mt_definitions *definitions, const char *path)
{
    struct stat status;
    const char *start = mt_info(definitions, "start_realtime_ns");
    uint64_t start_ns = start ? strtoull(start, NULL, 10) : 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    bool is_same =
        !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_size <= (off_t)MOST_BYTES &&
        (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec < start_ns;
    FILE *file = is_same ? fdopen(fd, "r") : NULL;
    if (!file)
        close(fd);
    return file;
}

/* Skip lines with any contents. 0, or -1: the file ends before. */
static int skip_lines(FILE *file, uint32_t n)
{
    for (int c; n; n -= c == '\n')
        if ((c = getc(file)) == EOF)
            return -1;
    return 0;
}

bool mt_source_line(char *out, size_t size, const struct mt_definitions *definitions,
                    uint32_t stack)
{
    const struct mt_frame *frame = mt_stack_frame(definitions, stack);
    char line[512];
    if (!frame->line || frame->is_native || !is_source(frame->file) ||
        !is_this_machine(definitions))
        return false;
    FILE *file = open_unchanged(definitions, frame->file);
    if (!file)
        return false;
    bool is_there = !skip_lines(file, frame->line - 1) && fgets(line, sizeof line, file);
    fclose(file);
    if (!is_there)
        return false;
    char *begin = line + strspn(line, " \t\r\n"), *end = begin + strlen(begin);
    while (end > begin && strchr(" \t\r\n", end[-1]))
        *--end = '\0';
    snprintf(out, size, "%s", begin);
    return *out != '\0';
}

/* Read a trace's record: "19,12;work,*". */
static void read_record(const char *text, struct mt_source_facts *out)
{
    for (char *end; *text && *text != ';' && out->n_loops < MT_SOURCE_DEPTH;
         text = *end == ',' ? end + 1 : end) {
        unsigned long line = strtoul(text, &end, 10);
        if (end == text)
            break;
        out->loops[out->n_loops++] = (uint32_t)line;
    }
    const char *twice = strchr(text, ';');
    snprintf(out->twice, sizeof out->twice, "%s", twice ? twice + 1 : "");
    out->is_known = true;
}

/* Read a file up to the line. */
static void read_source(FILE *file, uint32_t line, struct mt_source_facts *out)
{
    struct mt_source_blocks blocks = {.n = 0};
    char text[512];
    for (uint32_t i = 1; i <= line; i++) {
        if (!fgets(text, sizeof text, file))
            return;
        size_t end = strcspn(text, "\n");
        if (!text[end] && !skip_lines(file, 1) && feof(file))
            return;
        text[end] = '\0';
        mt_source_add(&blocks, i, text, i == line);
    }
    mt_source_describe(&blocks, text, out);
}

void mt_describe_frame(const struct mt_definitions *definitions, uint32_t id,
                       struct mt_source_facts *out)
{
    const struct mt_frame *frame = mt_named_frame(definitions, id);
    char key[32];
    *out = (struct mt_source_facts){0};
    if (!frame->line)
        return;
    if (!frame->is_native) {
        snprintf(key, sizeof key, MT_LOOP_INFO "%" PRIu32, id);
        const char *value = mt_info(definitions, key);
        if (value)
            read_record(value, out);
        return;
    }
    if (!is_source(frame->file) || !is_this_machine(definitions))
        return;
    FILE *file = open_unchanged(definitions, frame->file);
    if (!file)
        return;
    read_source(file, frame->line, out);
    fclose(file);
}
