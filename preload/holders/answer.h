/* SPDX-License-Identifier: Apache-2.0 */
/* The child process's results, in memory that it shares with the recorder. */
#ifndef MT_HOLDERS_ANSWER_H
#define MT_HOLDERS_ANSWER_H

#include "preload/native/unwind.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MT_MOST_HOLDERS 16384u /* those of the most memory, if there are more */
#define MT_HOLDERS_TEXT (4u << 20)
#define MT_MOST_CUDA_BLOCKS 32768u
#define MT_MOST_SHARED 4u /* answers at a time */
#define MT_MOST_FRAMES 128u

/* Memory that CUDA has allocated. */
struct mt_cuda_block {
    uint64_t address, size;
    int32_t device;
    enum { MT_BLOCK_DEVICE, MT_BLOCK_MANAGED, MT_BLOCK_HOST } kind;
};

struct mt_holders_row {
    uint64_t address; /* of the memory */
    uint64_t view;    /* bytes; 0: all, or not known */
    int32_t device;
    uint32_t root;               /* enum mt_holder_root */
    uint32_t text_at, text_size; /* the path, in text */
    uint32_t path;               /* the recorder's string id of it */
};

struct mt_holders_answer {
    _Atomic uint32_t is_done;
    uint32_t result; /* enum mt_holders_result */
    uint64_t objects;
    uint64_t begin_ns, pause_ns, end_ns; /* the moment; how long its thread was blocked; the end */
    uint64_t cpu_ns;                     /* that the search took */
    /* The writer tells the child what CUDA's live memory was at the moment: 1 once it is there. */
    _Atomic uint32_t has_blocks;
    uint32_t n_blocks;
    bool are_blocks_left_out; /* there was no room for all */
    struct mt_cuda_block block[MT_MOST_CUDA_BLOCKS];
    uint32_t n_frames; /* of the thread of the moment, from the innermost on */
    struct mt_frame_place frame[MT_MOST_FRAMES];
    uint32_t n, text_used;
    struct mt_holders_row holder[MT_MOST_HOLDERS];
    char text[MT_HOLDERS_TEXT];
};

#endif
