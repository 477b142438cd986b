/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What PyTorch's allocator was asked for, for a replay: the requested size, the stream, the private
 * pool, and frees that wait for other streams. Recorded just before the alloc or free that it is
 * about. In a hook, under the allocator's lock.
 */
#ifndef MT_PRELOAD_REQUESTS_H
#define MT_PRELOAD_REQUESTS_H

#include "blocks.h"
#include "preload/record/recorder.h"

void mt_request_alloc(struct mt_thread *self, int device, uint64_t address, uint64_t size,
                      struct mt_caller caller);
void mt_request_free(struct mt_thread *self, int device, uint64_t address, uint64_t size,
                     struct mt_caller caller);

/* For a forked child. */
void mt_requests_reset(void);

/* For the trace: whether requests could be recorded. */
const char *mt_requests_status(char *text, size_t size);

#endif
