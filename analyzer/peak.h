/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The moment at which most memory was allocated on a device: the first, should there be several.
 */
#ifndef MT_PEAK_H
#define MT_PEAK_H

#include <stdint.h>

struct mt_peak {
    uint64_t event; /* its number in the trace, from 1; 0: there is none */
    uint64_t time_ns;
    uint64_t allocated;   /* bytes, after the event */
    uint64_t reserved;    /* by PyTorch; 0 for CUDA's level */
    uint64_t known_bytes; /* the sum of the blocks that the trace knows */
    uint64_t cuda_bytes;  /* what CUDA had handed out on the device */
};

/* Whether this moment is higher than all before it; *peak then is it. */
static inline int mt_peak_see(struct mt_peak *peak, uint64_t time_ns, uint64_t event,
                              uint64_t allocated)
{
    if (peak->event && allocated <= peak->allocated)
        return 0;
    *peak = (struct mt_peak){.event = event,
                             .time_ns = time_ns,
                             .allocated = allocated,
                             .known_bytes = allocated,
                             .cuda_bytes = allocated};
    return 1;
}

#endif
