/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI, for CUDA calls that the hooks cannot see, or on request (MEMTAP_CUPTI). Its callbacks are
 * in a separate library, libmemtap-cupti.so, which is loaded only then.
 *
 * One call is one event, however it is seen. Within a hook, CUPTI's callbacks do nothing. If CUPTI
 * reports a call first, the hooks within the call do nothing.
 */
#ifndef MT_PRELOAD_CUPTI_H
#define MT_PRELOAD_CUPTI_H

#include <stdbool.h>

#include "cuda-memory.h"

/* The functions that the library records with; see cuda-memory.h and multicast.h. */
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
    /* Note that this thread is in a call reported under this subscription; 0: no longer. */
    void (*report)(unsigned subscription);
};

#define MT_CUPTI_STATUS 256 /* bytes */

/* The library's exports. start subscribes under this number, which is not 0, and returns 0, or a
 * negative errno with the reason in one line. stop unsubscribes. */
#define MT_CUPTI_START "memtap_cupti_start"
#define MT_CUPTI_STOP "memtap_cupti_stop"
typedef int mt_cupti_start_function(const struct mt_cupti_recorder *recorder, unsigned subscription,
                                    char why[MT_CUPTI_STATUS]);
typedef void mt_cupti_stop_function(void);

/* Load the library if it is needed. The driver calls this during its initialization, because it has
 * loaded us (CUDA_INJECTION64_PATH). was_looked_up: our hooks saw a lookup of the driver's
 * functions. Takes the loader's lock. */
void mt_cupti_open(bool was_looked_up);

/* Give up CUPTI's only subscription permanently, because another client wants it. Any thread. */
void mt_cupti_step_back(void);

/* Return as text whether it was used, and if not, why. */
const char *mt_cupti_status(void);

/* Reset in a forked child: CUPTI is the parent's. */
void mt_cupti_reset(void);

#endif
