/* SPDX-License-Identifier: Apache-2.0 */
/* libmemtap-cupti.so passes the calls that CUPTI reports to libmemtap.so, which loads it. */
#ifndef MT_CUPTI_LIBRARY_H
#define MT_CUPTI_LIBRARY_H

#include "preload/cuda/cupti.h"
#include "types.h"

/* CUPTI's functions; all return a CUptiResult. */
struct mt_cupti_library {
    unsigned (*subscribe)(void **subscriber, void *callback, void *data);
    unsigned (*unsubscribe)(void *subscriber);
    unsigned (*enable)(uint32_t on, void *subscriber, unsigned domain, uint32_t number);
    unsigned (*device_of)(void *context, uint32_t *device);
    unsigned (*text_of)(unsigned result, const char **text);
};

/* Load the CUPTI for this process's CUDA. Return 0 or -ENOENT. It stays loaded. */
int mt_cupti_find(struct mt_cupti_library *out);

/* Handle a call, as CUPTI's callback; data is a struct mt_cupti_hearer. */
void mt_cupti_hear(void *data, unsigned domain, uint32_t number, const void *info);

struct mt_cupti_hearer {
    const struct mt_cupti_recorder *recorder;
    const struct mt_cupti_library *library;
    unsigned subscription;
};

#endif
