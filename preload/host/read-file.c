/* SPDX-License-Identifier: Apache-2.0 */
#include "read-file.h"

#include <fcntl.h>
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
