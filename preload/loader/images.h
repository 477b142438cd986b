/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libraries and the program that code lies in. Hooks may run under the host's allocator lock
 * while another thread is in dlopen, whose constructors want that lock: nothing here waits for the
 * loader's big lock. glibc from 2.35 on answers without any; older ones take the small one that
 * guards their list, in which no code of the host's runs.
 */
#ifndef MT_PRELOAD_IMAGES_H
#define MT_PRELOAD_IMAGES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A loaded library or program. */
struct mt_image {
    uintptr_t start, end;  /* its mapping */
    uintptr_t bias;        /* added to the file's addresses */
    const uint8_t *frames; /* .eh_frame_hdr */
    const char *name;      /* as the loader has it: "" is the program itself */
};

/* Finds what this glibc has to offer. Takes the loader's lock; any number of times. */
void mt_images_prepare(void);

/* The image that an address lies in: 0, or -ENOENT. */
int mt_image_find(uintptr_t address, struct mt_image *out);

/* The same by the loader's list, as it is done with an old glibc. */
int mt_image_find_in_list(uintptr_t address, struct mt_image *out);

/* Whether it is still there, at the same place. */
bool mt_image_is_loaded(const struct mt_image *image);

/* Whether some image is linked to a library whose SONAME begins so. */
int mt_images_need(const char *beginning);

#define MT_BUILD_ID_TEXT 65

/* The build id in hexadecimal; "" where it has none. */
void mt_image_build_id(const struct mt_image *image, char out[MT_BUILD_ID_TEXT]);

/* Its file's absolute path, as far as that is known. */
void mt_image_path(const struct mt_image *image, char out[PATH_MAX]);

#endif
