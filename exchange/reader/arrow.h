/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Arrow C data interface and its streams, an ABI that stays as it is (Arrow's specification, "C
 * data interface"). Whoever has a structure whose release is not NULL owns what it points to, until
 * it calls release; moving it is copying it and setting the old one's release to NULL. A child may
 * be moved out of its parent.
 */
#ifndef MT_ARROW_H
#define MT_ARROW_H

#include <stdint.h>

#define ARROW_FLAG_NULLABLE 2

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

/* Each function returns 0 or an errno, after which get_last_error has a text that is valid until
 * the next call. get_next gives a released array at the end. One thread at a time. */
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

#endif
