/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The libraries and the program that contain code. Hooks may run under the host's allocator lock
 * while another thread's dlopen runs constructors that want that lock, so nothing here waits for
 * the loader's big lock. glibc from 2.35 on answers without a lock; older ones take the small lock
 * of their list, under which no code of the host runs.
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
    uintptr_t bias;        /* to add to the file's addresses */
    const uint8_t *frames; /* .eh_frame_hdr */
    const char *name;      /* as the loader has it: "" is the program itself */
};

/* Determine what this glibc offers. Takes the loader's lock; may be called repeatedly. */
void mt_images_prepare(void);

/* Find the image with this address. Return 0 or -ENOENT. */
int mt_image_find(uintptr_t address, struct mt_image *out);

/* Find the image by the loader's list, as with an old glibc. */
int mt_image_find_in_list(uintptr_t address, struct mt_image *out);

/* Return whether it is still loaded at the same place. */
bool mt_image_is_loaded(const struct mt_image *image);

/* Return whether some image is linked to a library whose SONAME begins with this. */
int mt_images_need(const char *beginning);

#define MT_BUILD_ID_TEXT 65

/* Write the build id in hexadecimal; "": none. */
void mt_image_build_id(const struct mt_image *image, char out[MT_BUILD_ID_TEXT]);

/* Write the absolute path of its file, as far as it is known. Keeps errno. */
void mt_image_path(const struct mt_image *image, char out[PATH_MAX]);

#endif
