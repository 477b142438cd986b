/* SPDX-License-Identifier: Apache-2.0 */
#include "checksum.h"
#include "analyzer/support/write.h"

#include <errno.h>
#include <fcntl.h>
#include <sha2.h>
#include <stdio.h>
#include <unistd.h>

int mt_checksum_file(char out[MT_CHECKSUM_TEXT], uint64_t *size, const char *path, int copy)
{
    SHA2_CTX sum;
    unsigned char bytes[65536];
    int rc = 0, fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    *size = 0;
    SHA256Init(&sum);
    for (ssize_t n = 1; !rc && n;) {
        n = read(fd, bytes, sizeof bytes);
        if (n < 0) {
            rc = -errno;
        } else {
            SHA256Update(&sum, bytes, (size_t)n);
            *size += (uint64_t)n;
            rc = copy < 0 ? 0 : mt_write_all(copy, bytes, (size_t)n);
        }
    }
    close(fd);
    SHA256End(&sum, out);
    return rc;
}
