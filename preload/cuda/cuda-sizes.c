/* SPDX-License-Identifier: Apache-2.0 */
#include "cuda-sizes.h"
#include "preload/host/no-cancel.h"
#include "preload/host/safe-read.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static uint64_t at_level(uint64_t texels, unsigned level)
{
    return level < 64 && texels >> level ? texels >> level : 1;
}

static uint64_t texels_of(struct mt_extent extent, unsigned levels)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < levels && i < 64; i++)
        sum += at_level(extent.width, i) * at_level(extent.height, i) * at_level(extent.depth, i);
    return sum;
}

uint64_t mt_cuda_array_bytes(const struct mt_texel *texel, struct mt_extent extent, unsigned levels)
{
    uint64_t bits = texel ? (uint64_t)(texel->x + texel->y + texel->z + texel->w) : 0;
    return texels_of(extent, levels) * (bits / 8);
}

/* Return the bytes of a texel's channel by its CUarray_format; 0 if it is packed differently. */
static uint64_t channel_bytes(unsigned format)
{
    switch (format) {
    case 0x01: /* unsigned and signed 8-bit integers */
    case 0x08:
        return 1;
    case 0x02: /* 16-bit integers, half */
    case 0x09:
    case 0x10:
        return 2;
    case 0x03: /* 32-bit integers, float */
    case 0x0a:
    case 0x20:
        return 4;
    }
    return 0;
}

uint64_t mt_cuda_flat_bytes(const struct mt_array *array)
{
    if (!array)
        return 0;
    return texels_of((struct mt_extent){array->width, array->height, 0}, 1) * array->channels *
           channel_bytes(array->format);
}

uint64_t mt_cuda_deep_bytes(const struct mt_array_3d *array, unsigned levels)
{
    if (!array)
        return 0;
    return texels_of((struct mt_extent){array->width, array->height, array->depth}, levels) *
           array->channels * channel_bytes(array->format);
}

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

/* Return the size of a fat binary or a cubin, whose tables are at its end; 0 if it is neither. */
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

/* Read the longest header only if there is one: PTX, which is text, may be shorter. */
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
