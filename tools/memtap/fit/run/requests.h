/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's requests to PyTorch's allocator, device by device. The run's keeper writes them to an
 * anonymous file, from which memtap reads them.
 */
#ifndef MT_FIT_REQUESTS_H
#define MT_FIT_REQUESTS_H

#include "planner/allocator/conf.h"
#include "planner/requests/gather.h"

#include <stddef.h>

#define MT_MOST_LOGGED 16u /* devices of a run */

struct mt_definitions;

struct mt_request_log_device {
    struct mt_alloc_conf conf;
    struct mt_torch_release release;
    size_t n;
    struct mt_request request[]; /* without marks, ordered by mt_requests_order */
};

struct mt_request_log {
    void *memory; /* NULL: there is none */
    size_t size;
    const struct mt_request_log_device *device[MT_MOST_LOGGED];
    size_t n_devices;
};

/* Put n requests into a canonical order, which equal runs share. Frees without an allocation
 * between them may come in any order, from two threads or Python's garbage collector, and leave the
 * allocator in the same state; sort them by when their blocks were allocated, and number the
 * blocks. Return 0 or -ENOMEM. */
int mt_requests_order(struct mt_request *request, size_t n);

/* Create a log. Return its descriptor or a negative errno. */
int mt_request_log_new(void);

/* Add a device's requests, up to where memory ran out. Return 0, -EINVAL if they cannot be
 * replayed, or another negative errno. */
int mt_request_log_write(int file, const struct mt_requests *requests,
                         const struct mt_definitions *definitions);

/* Map the log, which may be empty, and close the file. */
void mt_request_log_read(struct mt_request_log *log, int file);
void mt_request_log_clear(struct mt_request_log *log);

#endif
