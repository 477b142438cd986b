/* SPDX-License-Identifier: Apache-2.0 */
/* Return whether a CUDA call ran out of memory. */
#ifndef MT_ANALYZER_CUDA_OOM_H
#define MT_ANALYZER_CUDA_OOM_H

#include "trace-format/reader.h"

#include <stdbool.h>

#define MT_CUDA_OUT_OF_MEMORY 2u /* the same number in the runtime and the driver */
static inline bool mt_cuda_is_oom(const struct mt_event *event)
{
    return event->kind == MT_CUDA_MALLOC && event->CUDA_MALLOC.result == MT_CUDA_OUT_OF_MEMORY;
}

#endif
