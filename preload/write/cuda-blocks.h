/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MT_WRITE_CUDA_BLOCKS_H
#define MT_WRITE_CUDA_BLOCKS_H

#include "trace-format/model.h"

#include <stddef.h>
#include <stdint.h>

/* CUDA's live memory on devices, for searches for holders that began by a time. */
#define MT_CUDA_BLOCK_KINDS                                                                        \
    (1ull << MT_CUDA_MALLOC | 1ull << MT_CUDA_FREE | 1ull << MT_CUDA_MALLOC_ASYNC |                \
     1ull << MT_CUDA_FREE_ASYNC | 1ull << MT_CUDA_MAP | 1ull << MT_CUDA_UNMAP)
void mt_cuda_blocks_note(const struct mt_event *event, size_t n);
void mt_cuda_blocks_tell(uint64_t until_ns);

#endif
