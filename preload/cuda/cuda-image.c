/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-image.h"
#include "preload/host/no-cancel.h"
#include "preload/host/safe-read.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The compiler puts a wrapper into a program, which points to a fat binary. */
struct wrapper {
    uint32_t magic, version;
    const void *fat;
};
#define WRAPPER_MAGIC 0x466243b1u

struct fat {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size; /* behind the header */
};
#define FAT_MAGIC 0xba55ed50u

/* The beginning of any of them. */
union head {
    struct wrapper wrapper;
    struct fat fat;
    Elf64_Ehdr elf;
};

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Return the bytes of a fat binary or a cubin, whose tables stand at its end; 0: neither. */
static uint64_t bytes_of(const union head *head)
{
    const Elf64_Ehdr *elf = &head->elf;
    if (head->fat.magic == FAT_MAGIC)
        return head->fat.header_size + head->fat.size;
    if (memcmp(elf->e_ident, ELFMAG, SELFMAG))
        return 0;
    return larger(elf->e_shoff + (uint64_t)elf->e_shnum * elf->e_shentsize,
                  elf->e_phoff + (uint64_t)elf->e_phnum * elf->e_phentsize);
}

/* Read the longest header only where there is one: PTX, which is text, may be shorter. */
static int read_head(union head *head, const void *image)
{
    memset(head, 0, sizeof *head);
    return mt_safe_read(image, head, sizeof head->fat) ||
           (!memcmp(head->elf.e_ident, ELFMAG, SELFMAG) &&
            mt_safe_read(image, &head->elf, sizeof head->elf));
}

uint64_t mt_cuda_image_bytes(const void *image)
{
    union head head;
    if (!image || read_head(&head, image))
        return 0;
    if (head.wrapper.magic == WRAPPER_MAGIC && read_head(&head, head.wrapper.fat))
        return 0;
    return bytes_of(&head);
}

uint64_t mt_cuda_file_bytes(const char *path)
{
    MT_NO_CANCEL();
    int saved = errno;
    union head head = {0};
    int file = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    uint64_t bytes = file >= 0 && read(file, &head, sizeof head) > 0 ? bytes_of(&head) : 0;
    if (file >= 0)
        close(file);
    errno = saved;
    return bytes;
}
