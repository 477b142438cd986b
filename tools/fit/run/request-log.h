/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run asked of PyTorch's allocator, device by device. The run's keeper writes it into a file
 * without a name, from which memtap reads it.
 */
#ifndef MT_FIT_REQUEST_LOG_H
#define MT_FIT_REQUEST_LOG_H

#include "planner/allocator/conf.h"
#include "planner/requests/gather.h"

#include <stdbool.h>
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

/* The settings and the release with which a run's requests can be replayed. False: they cannot. */
bool mt_request_log_settings(const struct mt_asked *asked, const struct mt_definitions *definitions,
                             struct mt_alloc_conf *conf, struct mt_torch_release *release);

/* A new file: its descriptor or a negative errno. */
int mt_request_log_new(void);

/* Adds a device; of a run that ran out of memory, what it asked for before. 0; -EINVAL: it cannot
 * be replayed; or another negative errno. */
int mt_request_log_write(int file, const struct mt_asked *asked,
                         const struct mt_definitions *definitions);

/* Takes it all back: nothing is known of the run. */
void mt_request_log_forget(int file);

/* Maps what was written, and closes the file. There may be nothing. */
void mt_request_log_read(struct mt_request_log *log, int file);
void mt_request_log_clear(struct mt_request_log *log);

#endif
