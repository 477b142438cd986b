/* SPDX-License-Identifier: Apache-2.0 */
#include "unnamed-file.h"

#include <fcntl.h>
#include <unistd.h>

FILE *mt_unnamed_file(const char *folder)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w+b") : NULL;
    if (fd >= 0 && !file)
        close(fd);
    return file ? file : tmpfile();
}
