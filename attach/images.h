/* SPDX-License-Identifier: Apache-2.0 */
/* The program's images, as the loader has them. While its lock is held (attach.h). */
#ifndef MT_ATTACH_IMAGES_H
#define MT_ATTACH_IMAGES_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MT_MOST_IMAGES 4096u

struct mt_attach_image {
    uintptr_t base, start, end;
    const char *name;
    uintptr_t relro, relro_end; /* pages that the loader has made read-only */
    const ElfW(Phdr) * parts;
    unsigned n_parts;
    bool is_open; /* relro is writable now */
    const ElfW(Sym) * symbols;
    const char *strings;
    const ElfW(Rela) * table[2];
    size_t n[2];
};

struct mt_attach_images {
    struct mt_attach_image *of;
    size_t n;
    unsigned long long generation; /* how many images the loader has loaded so far */
};

/* Find all images with symbols. Return 0 or -ENOMEM. The caller frees `of`. */
int mt_attach_find_images(struct mt_attach_images *out);

/* Return whether the slot can be set, having made its page writable if it was not; then close the
 * image. */
bool mt_attach_is_writable(struct mt_attach_image *image, void **slot);
void mt_attach_close_image(const struct mt_attach_image *image);

#endif
