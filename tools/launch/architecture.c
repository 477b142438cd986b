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

/* Find the path of a program's loader. */
static bool read_loader(int fd, char loader[256])
{
    Elf64_Ehdr head;
    Elf64_Phdr part;
    if (pread(fd, &head, sizeof head, 0) != sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
        head.e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    for (unsigned i = 0; i < head.e_phnum; i++) {
        off_t at = (off_t)(head.e_phoff + i * sizeof part);
        if (pread(fd, &part, sizeof part, at) != sizeof part)
            return false;
        if (part.p_type == PT_INTERP && part.p_filesz && part.p_filesz < 256) {
            memset(loader, 0, 256);
            return pread(fd, loader, part.p_filesz, (off_t)part.p_offset) > 0;
        }
    }
    return false;
}

bool mt_is_of_musl(const char *path)
{
    char loader[256];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool is_read = fd >= 0 && read_loader(fd, loader);
    if (fd >= 0)
        close(fd);
    return is_read && strstr(loader, "/ld-musl-");
}

int mt_match_machine(const char *path)
{
    struct head own, other;
    if (!read_head(path, &other) || !read_head("/proc/self/exe", &own))
        return -1;
    return other.machine == own.machine && other.ident[EI_CLASS] == own.ident[EI_CLASS] &&
           other.ident[EI_DATA] == own.ident[EI_DATA];
}
