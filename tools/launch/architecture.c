/* SPDX-License-Identifier: Apache-2.0 */
#include "architecture.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* The fields that headers of 32 and of 64 bits have at the same offsets. */
struct head {
    unsigned char ident[EI_NIDENT];
    Elf64_Half type, machine;
};

static int read_head(const char *path, struct head *head)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof *head);
    if (fd >= 0)
        close(fd);
    return n == sizeof *head && !memcmp(head->ident, ELFMAG, SELFMAG);
}

int mt_match_machine(const char *path)
{
    struct head own, other;
    if (!read_head(path, &other) || !read_head("/proc/self/exe", &own))
        return -1;
    return other.machine == own.machine && other.ident[EI_CLASS] == own.ident[EI_CLASS] &&
           other.ident[EI_DATA] == own.ident[EI_DATA];
}
