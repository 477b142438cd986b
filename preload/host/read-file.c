/* SPDX-License-Identifier: Apache-2.0 */
#include "read-file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

size_t mt_read_file(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : 0;
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return n > 0 ? (size_t)n : 0;
}

void mt_lines_open(struct mt_lines *lines, const char *path)
{
    lines->fd = open(path, O_RDONLY | O_CLOEXEC);
    lines->at = lines->n = 0;
}

static int next_byte(struct mt_lines *lines)
{
    if (lines->at == lines->n) {
        ssize_t n = lines->fd >= 0 ? read(lines->fd, lines->text, sizeof lines->text) : 0;
        if (n <= 0)
            return -1;
        lines->at = 0;
        lines->n = (size_t)n;
    }
    return (unsigned char)lines->text[lines->at++];
}

int mt_lines_next(struct mt_lines *lines, char *line, size_t size)
{
    size_t used = 0;
    int byte;
    bool is_there = false;
    while ((byte = next_byte(lines)) >= 0) {
        is_there = true;
        if (byte == '\n')
            break;
        if (used < size - 1)
            line[used++] = (char)byte;
    }
    line[used] = '\0';
    return is_there;
}

void mt_lines_close(struct mt_lines *lines)
{
    if (lines->fd >= 0)
        close(lines->fd);
}
