/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run asked of PyTorch's allocator, device by device. The run's keeper writes it into a file
 * without a name, from which memtap reads it.
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
    struct mt_request request[]; /* without marks, in the order of mt_requests_order */
};

struct mt_request_log {
    void *memory; /* NULL: there is none */
    size_t size;
    const struct mt_request_log_device *device[MT_MOST_LOGGED];
    size_t n_devices;
};

/* Put n requests into the one order that they share with those of an equal run. Frees with no
 * allocation between them may come in any order: two threads free, or Python's garbage collector
 * does. They leave the allocator in the same state, so they are sorted by when their blocks began;
 * each block has a number of its own. 0 or -ENOMEM. */
int mt_requests_order(struct mt_request *request, size_t n);

/* Make a file: its descriptor or a negative errno. */
int mt_request_log_new(void);

/* Add a device; of a run that ran out of memory, what it asked for before. 0; -EINVAL: it cannot
 * be replayed; or another negative errno. */
int mt_request_log_write(int file, const struct mt_asked *asked,
                         const struct mt_definitions *definitions);

/* Map what was written, and close the file. There may be nothing. */
void mt_request_log_read(struct mt_request_log *log, int file);
void mt_request_log_clear(struct mt_request_log *log);

#endif
