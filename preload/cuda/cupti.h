/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI, where the hooks cannot see CUDA's calls, or where it is asked for (MEMTAP_CUPTI). What
 * hears its callbacks is a library of its own, libmemtap-cupti.so, which is loaded only then.
 *
 * One call is one event, whoever sees it. Within a hook, CUPTI's callbacks are left alone; and a
 * call that CUPTI tells of first is CUPTI's, with the hooks that it comes through.
 */
#ifndef MT_PRELOAD_CUPTI_H
#define MT_PRELOAD_CUPTI_H

#include <stdbool.h>

#include "cuda-memory.h"

/* What the library records with; see cuda-memory.h and multicast.h. */
struct mt_cupti_recorder {
    void (*allocated)(struct mt_cuda_call call, unsigned result, const void *address,
                      uint64_t size);
    void (*allocated_async)(struct mt_cuda_call call, unsigned result, const void *address,
                            uint64_t size, const void *stream);
    struct mt_cuda_free (*freeing)(struct mt_cuda_call call, uint64_t address);
    struct mt_cuda_free (*freeing_async)(struct mt_cuda_call call, uint64_t address,
                                         const void *stream);
    void (*freed)(const struct mt_cuda_free *free, unsigned result);
    void (*mapped)(struct mt_cuda_call call, unsigned result, uint64_t address, uint64_t size,
                   uint64_t handle);
    void (*unmapping)(struct mt_cuda_call call, uint64_t address, uint64_t size);
    void (*bound)(struct mt_cuda_call call, unsigned result, uint64_t place, uint64_t size,
                  uint64_t memory);
    void (*unbinding)(struct mt_cuda_call call, uint64_t place, uint64_t size);
    void (*object_made)(struct mt_cuda_call call, unsigned result, const void *handle,
                        uint64_t size);
    void (*object_ending)(struct mt_cuda_call call, uint64_t handle);
    /* Whether this thread is in a hook. */
    bool (*is_hooked)(void);
    /* From now on it is in a call that was told under this subscription; 0: not any more. */
    void (*tell)(unsigned subscription);
};

#define MT_CUPTI_STATUS 256 /* bytes */

/* What the library exports. start: subscribes under this number, not 0: 0, or a negative errno and
 * why in one line of text. stop: unsubscribes. */
#define MT_CUPTI_START "memtap_cupti_start"
#define MT_CUPTI_STOP "memtap_cupti_stop"
typedef int mt_cupti_start_function(const struct mt_cupti_recorder *recorder, unsigned subscription,
                                    char why[MT_CUPTI_STATUS]);
typedef void mt_cupti_stop_function(void);

/* The driver is being initialized and has loaded us (CUDA_INJECTION64_PATH): opens the library, if
 * that is wanted. was_looked_up: some function of the driver was, through our hooks. Takes the
 * loader's lock. */
void mt_cupti_open(bool was_looked_up);

/* Another client wants CUPTI's one subscription: gives it up for good. Any thread. */
void mt_cupti_step_back(void);

/* In a few words: whether it was used, and why not. */
const char *mt_cupti_status(void);

/* For a forked child: CUPTI is the parent's. */
void mt_cupti_reset(void);

#endif
